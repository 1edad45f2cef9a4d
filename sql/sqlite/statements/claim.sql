-- SPDX-License-Identifier: MIT
--
-- Claims: see claim.c. A walk seeks the next row by the last one, which has to
-- come back as it is bound, or the walk would never end: what stands behind a
-- NUL does not, nor what no UTF-8 says in a database of UTF-16. Bytes do not
-- tell: there are twice as many of them there. So rows that cannot be walked
-- from are left out: S74.
--
-- "needs IS ?2", where an equals sign would do: a partial index has
-- needs = 'cascade.turn', and SQLite would prepare the statement anew for each
-- value, to see whether that one may be used.

-- name: look_queue
-- verb: look for paused queues
--
-- A row if a queue is paused, which it tells, or has limits.
--
-- ?1 queue
SELECT paused_at <> 0, version <> 0, running_max, key_running_max
FROM main.cascade_queues
WHERE queue = ?1;

-- name: next_shelf
-- verb: look for free runs
--
-- The shelf behind (?2, ?3), by two seeks. A row value comparison would be
-- shorter, but SQLite walks all rows that are equal. Names of nodes have up to
-- 128 bytes: NEEDS_SIZE of claim.c. The sign before takeovers keeps that
-- bound from being what the index is searched by.
--
-- ?1 queue, ?2 needs, ?3 takeovers
SELECT * FROM (
  SELECT needs, takeovers
  FROM main.cascade_runs
  WHERE engine_id IS NULL AND queue = ?1 AND needs IS ?2
    AND takeovers > ?3
    AND typeof(takeovers) = 'integer'
    AND +takeovers BETWEEN 0 AND 2147483647
  ORDER BY takeovers
  LIMIT 1)
UNION ALL
SELECT * FROM (
  SELECT needs, takeovers
  FROM main.cascade_runs
  WHERE engine_id IS NULL AND queue = ?1 AND needs > ?2
    AND typeof(needs) = 'text' AND length(CAST(needs AS BLOB)) <= 256
    AND substr(needs, 1, 256) = needs
    AND typeof(takeovers) = 'integer'
    AND +takeovers BETWEEN 0 AND 2147483647
  ORDER BY needs, takeovers
  LIMIT 1)
ORDER BY 1, 2
LIMIT 1;

-- name: list_shelf
-- verb: look for free runs
--
-- The due runs of a shelf and a priority.
--
-- ?1 queue, ?2 needs, ?3 takeovers, ?4 priority, ?5 now, ?6 at most
SELECT cascade_id, wake_at, claim_no, trial
FROM main.cascade_runs
WHERE engine_id IS NULL AND queue = ?1 AND needs IS ?2
  AND takeovers = ?3 AND priority = ?4 AND wake_at <= ?5
  AND typeof(wake_at) = 'integer'
  AND typeof(cascade_id) = 'text' AND length(cascade_id) = 36
  AND substr(cascade_id, 9, 1) || substr(cascade_id, 14, 1)
    || substr(cascade_id, 19, 1) || substr(cascade_id, 24, 1) = '----'
  AND length(replace(cascade_id, '-', '')) = 32
  AND cascade_id NOT GLOB '*[^0-9a-f-]*'
  AND substr(cascade_id, 1, 36) = cascade_id
ORDER BY wake_at
LIMIT ?6;

-- name: next_wake
-- verb: look for free runs
--
-- When the next run of a shelf and a priority is due.
--
-- ?1 queue, ?2 needs, ?3 takeovers, ?4 priority, ?5 now
SELECT wake_at
FROM main.cascade_runs
WHERE engine_id IS NULL AND queue = ?1 AND needs IS ?2
  AND takeovers = ?3 AND priority = ?4 AND wake_at > ?5
  AND typeof(wake_at) = 'integer'
  AND typeof(cascade_id) = 'text' AND length(cascade_id) = 36
  AND substr(cascade_id, 9, 1) || substr(cascade_id, 14, 1)
    || substr(cascade_id, 19, 1) || substr(cascade_id, 24, 1) = '----'
  AND length(replace(cascade_id, '-', '')) = 32
  AND cascade_id NOT GLOB '*[^0-9a-f-]*'
  AND substr(cascade_id, 1, 36) = cascade_id
ORDER BY wake_at
LIMIT 1;

-- name: claim_run
-- verb: claim
--
-- Takes a free run.
--
-- ?1 cascade, ?2 engine, ?3 the trial, ?4 the slot
UPDATE main.cascade_runs
SET engine_id = ?2, claim_no = claim_no + 1,
  needs = '', trial = ?3, slot = ?4
WHERE cascade_id = ?1 AND engine_id IS NULL;

-- name: next_named
-- verb: look for messages
--
-- The next cascade that messages name: one seek, however many they are. Its
-- run, if it has one; whether it exists; the kind of the first; whether
-- messages of no id, which are passed over, stand in front. Where there are
-- only such, its id is NULL.
--
-- ?1 above
SELECT m.cascade_id, r.wake_at, r.claim_no, r.takeovers,
  r.priority, r.queue, r.engine_id,
  r.cascade_id IS NOT NULL OR EXISTS (
    SELECT 1 FROM main.cascades AS c
    WHERE c.id = m.cascade_id
      AND NOT EXISTS (
        SELECT 1 FROM main.cascade_erasures AS unmarked
        WHERE unmarked.cascade_id = c.id)),
  m.kind, r.trial, m.cascade_id IS NOT f.id
FROM (SELECT (
    SELECT cascade_id
    FROM main.cascade_messages
    WHERE cascade_id > ?1
    ORDER BY cascade_id
    LIMIT 1) AS id) AS f
LEFT JOIN main.cascade_messages AS m ON m.id = (
  SELECT s.id
  FROM main.cascade_messages AS s
  WHERE s.cascade_id > ?1
    AND typeof(s.cascade_id) = 'text' AND length(s.cascade_id) = 36
    AND substr(s.cascade_id, 9, 1) || substr(s.cascade_id, 14, 1)
      || substr(s.cascade_id, 19, 1) || substr(s.cascade_id, 24, 1) = '----'
    AND length(replace(s.cascade_id, '-', '')) = 32
    AND s.cascade_id NOT GLOB '*[^0-9a-f-]*'
    AND substr(s.cascade_id, 1, 36) = s.cascade_id
  ORDER BY s.cascade_id, s.id
  LIMIT 1)
LEFT JOIN main.cascade_runs AS r ON r.cascade_id = m.cascade_id
WHERE f.id IS NOT NULL;

-- name: delete_unnamed
-- verb: claim
--
-- Deletes messages of no id, of so many rows.
--
-- ?1 behind that one, ?2 rows
DELETE FROM main.cascade_messages
WHERE id IN (
  SELECT m.id
  FROM (
    SELECT id, cascade_id
    FROM main.cascade_messages
    WHERE cascade_id > ?1
    ORDER BY cascade_id
    LIMIT ?2) AS m
  WHERE (true
    AND typeof(m.cascade_id) = 'text' AND length(m.cascade_id) = 36
    AND substr(m.cascade_id, 9, 1) || substr(m.cascade_id, 14, 1)
      || substr(m.cascade_id, 19, 1) || substr(m.cascade_id, 24, 1) = '----'
    AND length(replace(m.cascade_id, '-', '')) = 32
    AND m.cascade_id NOT GLOB '*[^0-9a-f-]*'
    AND substr(m.cascade_id, 1, 36) = m.cascade_id) IS NOT TRUE);

-- name: claim_named
-- verb: claim
--
-- Takes a run that messages name, if it is still as it was seen.
--
-- ?1 cascade, ?2 engine, ?3 claim_no, ?4 takeovers, ?5 queue, ?6 the trial
UPDATE main.cascade_runs
SET engine_id = ?2, claim_no = claim_no + 1, needs = '',
  trial = ?6, slot = 0
WHERE cascade_id = ?1 AND engine_id IS NULL
  AND claim_no = ?3 AND takeovers = ?4 AND queue = ?5
  AND EXISTS (
    SELECT 1 FROM main.cascade_messages
    WHERE cascade_id = ?1);

-- name: claim_ended
-- verb: claim
--
-- Gives an ended cascade that messages name a run once more.
--
-- ?1 cascade, ?2 engine, ?3 queue, ?4 now
INSERT INTO main.cascade_runs
  (cascade_id, queue, priority, wake_at, engine_id,
   claim_no, takeovers, needs)
SELECT ?1, ?3, 0, ?4, ?2, 1, 0, ''
WHERE EXISTS (
  SELECT 1 FROM main.cascades
  WHERE id = ?1
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS unmarked
      WHERE unmarked.cascade_id = ?1))
  AND EXISTS (
    SELECT 1 FROM main.cascade_messages
    WHERE cascade_id = ?1)
ON CONFLICT (cascade_id) DO NOTHING;

-- name: delete_strays
-- verb: delete messages
--
-- Deletes messages of a cascade that is not there: those of these kinds, and
-- where nothing leads on all.
--
-- ?1 cascade, ?2 how many, ?3 kinds, each between commas
DELETE FROM main.cascade_messages
WHERE id IN (
  SELECT id
  FROM main.cascade_messages
  WHERE cascade_id = ?1
    AND NOT EXISTS (
      SELECT 1 FROM main.cascades WHERE id = ?1
        AND NOT EXISTS (
          SELECT 1 FROM main.cascade_erasures AS unmarked
          WHERE unmarked.cascade_id = ?1))
    AND (instr(?3, ',' || kind || ',') > 0
        OR NOT EXISTS (
          SELECT 1
          FROM main.cascade_links AS p
          JOIN main.cascade_links AS l ON l.path = p.root
          JOIN main.cascades AS c ON c.id = l.next_id
          WHERE p.path = ?1
            AND NOT EXISTS (
              SELECT 1 FROM main.cascade_erasures AS unmarked
              WHERE unmarked.cascade_id = c.id)))
  LIMIT ?2);

-- name: move_strays
-- verb: send messages on
--
-- The others go to its last run. They are replaced, since none has its path
-- twice.
--
-- ?1 cascade, ?2 how many, ?3 kinds, each between commas
INSERT OR REPLACE INTO main.cascade_messages
  (cascade_id, kind, name, path, payload, sent_at)
SELECT (
  SELECT l.next_id
  FROM main.cascade_links AS p
  JOIN main.cascade_links AS l ON l.path = p.root
  JOIN main.cascades AS c ON c.id = l.next_id
  WHERE p.path = ?1
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS unmarked
      WHERE unmarked.cascade_id = c.id)), kind, name, path, payload,
  sent_at
FROM main.cascade_messages
WHERE cascade_id = ?1
  AND NOT EXISTS (
    SELECT 1 FROM main.cascades WHERE id = ?1
      AND NOT EXISTS (
        SELECT 1 FROM main.cascade_erasures AS unmarked
        WHERE unmarked.cascade_id = ?1))
  AND instr(?3, ',' || kind || ',') = 0
  AND EXISTS (
    SELECT 1
    FROM main.cascade_links AS p
    JOIN main.cascade_links AS l ON l.path = p.root
    JOIN main.cascades AS c ON c.id = l.next_id
    WHERE p.path = ?1
      AND NOT EXISTS (
        SELECT 1 FROM main.cascade_erasures AS unmarked
        WHERE unmarked.cascade_id = c.id))
ORDER BY id
LIMIT ?2;
