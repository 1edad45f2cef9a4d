-- SPDX-License-Identifier: MIT
--
-- Repairs and purges: see repair.c.

-- name: repair_cascade
-- verb: repair a cascade
--
-- Repairs a cascade that is as it was read and has no run.
--
-- ?1 cascade, ?2 status and ?3 executions as they were, ?4 and ?5 as they are
-- to be
UPDATE main.cascades
SET status = ?4, fn_id = ?5
WHERE id = ?1 AND status = ?2 AND fn_id = ?3
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_runs
    WHERE cascade_id = ?1)
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = ?1);

-- name: raise_key
-- verb: write a key
--
-- Moves the key of a cascade on, never back.
--
-- ?1 cascade, ?2 key, ?3 run
INSERT INTO main.cascade_keys (user_id, key, run_number)
SELECT user_id, ?2, ?3
FROM main.cascades
WHERE id = ?1
ON CONFLICT (user_id, key) DO UPDATE
SET run_number = max(run_number, excluded.run_number);

-- name: get_spent
-- verb: look up a cascade
--
-- A row if a cascade has ended, and has neither a run nor messages.
--
-- ?1 cascade
SELECT id, status, fn_id, user_id, created_at, updated_at
FROM main.cascades
WHERE id = ?1 AND status <> 'RUNNING'
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_runs
    WHERE cascade_id = ?1)
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_messages
    WHERE cascade_id = ?1)
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = ?1);
