-- SPDX-License-Identifier: MIT
--
-- Deletes whole cascades, at once or in pieces: see delete.c.

-- name: delete_events
-- verb: delete a cascade
--
-- ?1 cascade
DELETE FROM main.context_events
WHERE cascade_id = ?1;

-- name: delete_executions
-- verb: delete a cascade
--
-- ?1 cascade
DELETE FROM main.node_executions
WHERE cascade_id = ?1;

-- name: delete_messages
-- verb: delete a cascade
--
-- ?1 cascade
DELETE FROM main.cascade_messages
WHERE cascade_id = ?1;

-- name: delete_cascade
-- verb: delete a cascade
--
-- ?1 cascade
DELETE FROM main.cascades
WHERE id = ?1;

-- name: size_events
-- verb: delete a cascade
--
-- The bytes of each row that a piece may take.
--
-- ?1 cascade, ?2 up to so many rows
SELECT length(CAST(value AS BLOB))
  + ifnull(length(CAST(ui_value AS BLOB)), 0)
FROM main.context_events
WHERE cascade_id = ?1
ORDER BY function_id DESC, id DESC
LIMIT ?2;

-- name: cut_events
-- verb: delete a cascade
--
-- Deletes as many of the same.
--
-- ?1 cascade, ?2 rows
DELETE FROM main.context_events
WHERE id IN (
  SELECT id
  FROM main.context_events
  WHERE cascade_id = ?1
  ORDER BY function_id DESC, id DESC
  LIMIT ?2);

-- name: size_executions
-- verb: delete a cascade
--
-- ?1 cascade, ?2 up to so many rows
SELECT length(CAST(input_context AS BLOB))
  + ifnull(length(CAST(full_output AS BLOB)), 0)
  + ifnull(length(CAST(error AS BLOB)), 0)
FROM main.node_executions
WHERE cascade_id = ?1
ORDER BY function_id DESC
LIMIT ?2;

-- name: keep_receipts
-- verb: keep what was received
--
-- Of executions that are cut next, those of a run that leads on, the paths that
-- they have received (S83): p leads from the run to its chain, c. The numbers
-- are those of chain.h: 2147483648 is one run.
--
-- ?1 the run, ?2 how many executions are cut
INSERT INTO main.cascade_links (path, root, number)
SELECT n.node_instance_id, p.root, n.function_id + 1
  + iif(p.number < 0, 2147483648, p.number - 2147483648)
FROM main.cascade_links AS p
CROSS JOIN main.cascade_links AS c
CROSS JOIN (
  SELECT function_id, node_instance_id
  FROM main.node_executions
  WHERE cascade_id = ?1
  ORDER BY function_id DESC
  LIMIT ?2) AS n
WHERE p.path = ?1 AND c.path = p.root AND c.next_id <> ?1
  AND substr(n.node_instance_id, 1, 45) = p.root || '/message/'
ON CONFLICT (path) DO NOTHING;

-- name: trim_receipts
-- verb: trim links
--
-- Deletes all but the last paths of the chain of a run.
--
-- ?1 the run, ?2 how many to keep
DELETE FROM main.cascade_links
WHERE root = (SELECT root FROM main.cascade_links WHERE path = ?1)
  AND number > 0 AND number <= (
    SELECT number FROM main.cascade_links
    WHERE root = (SELECT root FROM main.cascade_links WHERE path = ?1)
      AND number > 0
    ORDER BY number DESC
    LIMIT 1 OFFSET ?2);

-- name: cut_executions
-- verb: delete a cascade
--
-- ?1 cascade, ?2 rows
DELETE FROM main.node_executions
WHERE cascade_id = ?1
  AND function_id IN (
    SELECT function_id
    FROM main.node_executions
    WHERE cascade_id = ?1
    ORDER BY function_id DESC
    LIMIT ?2);

-- name: size_messages
-- verb: delete a cascade
--
-- ?1 cascade, ?2 up to so many rows
SELECT length(CAST(payload AS BLOB))
FROM main.cascade_messages
WHERE cascade_id = ?1
ORDER BY id
LIMIT ?2;

-- name: cut_messages
-- verb: delete a cascade
--
-- ?1 cascade, ?2 rows
DELETE FROM main.cascade_messages
WHERE id IN (
  SELECT id
  FROM main.cascade_messages
  WHERE cascade_id = ?1
  ORDER BY id
  LIMIT ?2);

-- name: mark
-- verb: mark a cascade
--
-- Marks a cascade: from now on it is not there. S40.
--
-- ?1 cascade, ?2 now
INSERT INTO main.cascade_erasures
  (cascade_id, engine_id, marked_at)
VALUES (?1, NULL, ?2)
ON CONFLICT (cascade_id) DO NOTHING;

-- name: is_marked
-- verb: look up an erasure
--
-- A row if it is marked.
--
-- ?1 cascade
SELECT 1 FROM main.cascade_erasures
WHERE cascade_id = ?1;

-- name: any_marked
-- verb: look for erasures
--
-- A row if any is.
SELECT 1 FROM main.cascade_erasures LIMIT 1;

-- name: next_erasure
-- verb: look for erasures
--
-- The first mark of an engine, or one that nobody who lives works at.
--
-- ?1 the engine that asks, NULL for a caller without
SELECT cascade_id
FROM main.cascade_erasures AS x
WHERE (engine_id IS NULL OR engine_id = ?1
    OR NOT EXISTS (
      SELECT 1 FROM main.cascade_engines AS e
      WHERE e.engine_id = x.engine_id))
  AND typeof(cascade_id) = 'text' AND length(cascade_id) = 36
  AND substr(cascade_id, 9, 1) || substr(cascade_id, 14, 1)
    || substr(cascade_id, 19, 1) || substr(cascade_id, 24, 1) = '----'
  AND length(replace(cascade_id, '-', '')) = 32
  AND cascade_id NOT GLOB '*[^0-9a-f-]*'
  AND substr(cascade_id, 1, 36) = cascade_id
ORDER BY cascade_id
LIMIT 1;

-- name: claim_erasure
-- verb: claim an erasure
--
-- Takes a mark.
--
-- ?1 cascade, ?2 engine
UPDATE main.cascade_erasures
SET engine_id = ?2
WHERE cascade_id = ?1
  AND engine_id IS NOT ?2;

-- name: delete_erasure
-- verb: delete an erasure
--
-- Deletes a mark.
--
-- ?1 cascade
DELETE FROM main.cascade_erasures
WHERE cascade_id = ?1;
