-- SPDX-License-Identifier: MIT
--
-- Claims of queues that have limits: see turns.c. A run waits by its key while
-- it needs 'cascade.turn'. Keys that cannot be walked from are left out, as in
-- claim.sql. The index is said, because the one of free runs begins with more
-- that is known, and all that wait would be sorted by their keys.

-- name: count_slots
-- verb: count the slots
--
-- How many runs of a queue have a slot.
--
-- ?1 queue, ?2 up to so many
SELECT count(*)
FROM (
  SELECT 1
  FROM main.cascade_runs INDEXED BY cascade_runs_slot_idx
  WHERE engine_id IS NOT NULL AND slot > 0 AND queue = ?1
  LIMIT ?2);

-- name: count_key_slots
-- verb: count the slots
--
-- How many of a key.
--
-- ?1 queue, ?2 key, ?3 up to so many
SELECT count(*)
FROM (
  SELECT 1
  FROM main.cascade_runs INDEXED BY cascade_runs_slot_idx
  WHERE engine_id IS NOT NULL AND slot > 0 AND queue = ?1
    AND limit_key = ?2
  LIMIT ?3);

-- name: list_slots
-- verb: list the slots
--
-- Which they are.
--
-- ?1 queue, ?2 at most
SELECT cascade_id, limit_key
FROM main.cascade_runs INDEXED BY cascade_runs_slot_idx
WHERE engine_id IS NOT NULL AND slot > 0 AND queue = ?1
ORDER BY limit_key
LIMIT ?2;

-- name: list_key_slots
-- verb: list the slots
--
-- Which of a key.
--
-- ?1 queue, ?2 at most, ?3 key
SELECT cascade_id, limit_key
FROM main.cascade_runs INDEXED BY cascade_runs_slot_idx
WHERE engine_id IS NOT NULL AND slot > 0 AND queue = ?1
  AND limit_key = ?3
LIMIT ?2;

-- name: next_turn
-- verb: look for free runs
--
-- The next key that has runs which wait by it: one seek, however many they are.
--
-- ?1 queue, ?2 behind that key, ?3 1: '' is one, too
SELECT * FROM (
  SELECT limit_key
  FROM main.cascade_runs INDEXED BY cascade_runs_turn_idx
  WHERE engine_id IS NULL AND needs = 'cascade.turn' AND queue = ?1
    AND limit_key = '' AND ?3 = 1
  LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT limit_key
  FROM main.cascade_runs INDEXED BY cascade_runs_turn_idx
  WHERE engine_id IS NULL AND needs = 'cascade.turn' AND queue = ?1
    AND limit_key > ?2
    AND typeof(limit_key) = 'text'
    AND length(CAST(limit_key AS BLOB)) <= 510
    AND substr(limit_key, 1, 255) = limit_key
  ORDER BY limit_key
  LIMIT 1)
LIMIT 1;

-- name: list_turns
-- verb: look for free runs
--
-- The first runs of a key.
--
-- ?1 queue, ?2 key, ?3 at most
SELECT cascade_id, wake_at, claim_no, trial, takeovers
FROM main.cascade_runs INDEXED BY cascade_runs_turn_idx
WHERE engine_id IS NULL AND needs = 'cascade.turn' AND queue = ?1
  AND limit_key = ?2
  AND typeof(cascade_id) = 'text' AND length(cascade_id) = 36
  AND substr(cascade_id, 9, 1) || substr(cascade_id, 14, 1)
    || substr(cascade_id, 19, 1) || substr(cascade_id, 24, 1) = '----'
  AND length(replace(cascade_id, '-', '')) = 32
  AND cascade_id NOT GLOB '*[^0-9a-f-]*'
  AND substr(cascade_id, 1, 36) = cascade_id
ORDER BY priority DESC, wake_at
LIMIT ?3;

-- name: get_limit_key
-- verb: look up a run
--
-- The key of a run; of one without, its user.
--
-- ?1 cascade
SELECT CASE WHEN limit_key <> '' THEN limit_key ELSE ifnull((
    SELECT user_id FROM main.cascades
    WHERE id = ?1 AND typeof(user_id) = 'text'
      AND length(CAST(user_id AS BLOB)) <= 255), '') END
FROM main.cascade_runs
WHERE cascade_id = ?1;

-- name: sort_run
-- verb: claim
--
-- A run that is due begins to wait by its key; one without, by its user.
--
-- ?1 cascade
UPDATE main.cascade_runs
SET needs = 'cascade.turn',
  limit_key = CASE WHEN limit_key <> '' THEN limit_key ELSE ifnull((
    SELECT user_id FROM main.cascades
    WHERE id = ?1 AND typeof(user_id) = 'text'
      AND length(CAST(user_id AS BLOB)) <= 255), '') END
WHERE cascade_id = ?1 AND engine_id IS NULL;
