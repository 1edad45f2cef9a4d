-- SPDX-License-Identifier: MIT
--
-- Pages: see scan.c.

-- name: scan_all
-- verb: read executions
--
-- A page of all executions.
--
-- ?1 after, ?2 1 for those that are RUNNING, else 0, ?3 limit
SELECT id, cascade_id, function_id, status, node_instance_id,
  node_name, input_context, full_output, location, error,
  started_at, completed_at
FROM main.node_executions
WHERE id > ?1 AND (?2 = 0 OR status = 'RUNNING')
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS unmarked
    WHERE unmarked.cascade_id = node_executions.cascade_id)
ORDER BY id
LIMIT ?3;

-- name: scan_executions
-- verb: read executions
--
-- A page of a cascade's executions.
--
-- ?1 cascade, ?2 from, ?3 1 for those that are RUNNING, else 0, ?4 limit
SELECT id, cascade_id, function_id, status, node_instance_id,
  node_name, input_context, full_output, location, error,
  started_at, completed_at
FROM main.node_executions
WHERE cascade_id = ?1 AND function_id >= ?2
  AND (?3 = 0 OR status = 'RUNNING')
ORDER BY function_id
LIMIT ?4;

-- name: scan_children
-- verb: read executions
--
-- A page of its children. What the index of children says, word by word.
--
-- ?1 cascade, ?2 from, ?3 limit
SELECT id, cascade_id, function_id, status, node_instance_id,
  node_name, input_context, full_output, location, error,
  started_at, completed_at
FROM main.node_executions
WHERE cascade_id = ?1 AND status = 'RUNNING'
  AND function_id >= ?2
  AND node_name >= 'cascade.child:'
  AND node_name < 'cascade.child;'
ORDER BY function_id
LIMIT ?3;

-- name: scan_events
-- verb: read events
--
-- A page of its events: the rest of one execution's. One statement with a row
-- value would walk the first part from its beginning.
--
-- ?1 cascade, ?2 from, ?3 after, ?4 limit
SELECT id, cascade_id, function_id, key, value, ui_value, created_at
FROM main.context_events
WHERE cascade_id = ?1 AND function_id = ?2 AND id > ?3
ORDER BY id
LIMIT ?4;

-- name: scan_events_behind
-- verb: read events
--
-- Behind them come those of the following executions.
--
-- ?1 cascade, ?2 from, ?3 limit
SELECT id, cascade_id, function_id, key, value, ui_value, created_at
FROM main.context_events
WHERE cascade_id = ?1 AND function_id > ?2
ORDER BY function_id, id
LIMIT ?3;
