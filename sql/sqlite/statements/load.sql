-- SPDX-License-Identifier: MIT
--
-- Whole cascades: see read.c.

-- name: load_cascades
-- verb: read cascades
--
-- ?1 from, ?2 to
SELECT id, status, fn_id, user_id, created_at, updated_at
FROM main.cascades
WHERE id >= ?1 AND id <= ?2
ORDER BY id;

-- name: load_seals
-- verb: read seals
--
-- The seals of cascades that are there.
--
-- ?1 from, ?2 to
SELECT cascade_id, number, seal
FROM main.cascade_seals AS s
WHERE cascade_id >= ?1 AND cascade_id <= ?2
  AND EXISTS (
    SELECT 1
    FROM main.cascades AS c
    WHERE c.id = s.cascade_id)
ORDER BY cascade_id;

-- name: load_executions
-- verb: read executions
--
-- ?1 from, ?2 to
SELECT id, cascade_id, function_id, status, node_instance_id,
  node_name, input_context, full_output, location, error,
  started_at, completed_at
FROM main.node_executions
WHERE cascade_id >= ?1 AND cascade_id <= ?2
ORDER BY cascade_id, function_id;

-- name: load_family
-- verb: read executions
--
-- The execution 0 of a cascade and the first of its children.
--
-- ?1 cascade, ?2 children at most
SELECT id, cascade_id, function_id, status, node_instance_id,
  node_name, input_context, full_output, location, error,
  started_at, completed_at
FROM main.node_executions
WHERE cascade_id = ?1 AND function_id = 0
UNION ALL
SELECT *
FROM (SELECT id, cascade_id, function_id, status, node_instance_id,
    node_name, input_context, full_output, location, error,
    started_at, completed_at
  FROM main.node_executions
  WHERE cascade_id = ?1 AND status = 'RUNNING'
    AND function_id > 0
    AND node_name >= 'cascade.child:'
    AND node_name < 'cascade.child;'
  ORDER BY function_id
  LIMIT ?2)
ORDER BY 3;

-- name: load_events
-- verb: read events
--
-- ?1 from, ?2 to
SELECT id, cascade_id, function_id, key, value, ui_value, created_at
FROM main.context_events
WHERE cascade_id >= ?1 AND cascade_id <= ?2
ORDER BY cascade_id, function_id, id;

-- name: load_messages
-- verb: read messages
--
-- The messages for cascades that are there, and whether each was received.
--
-- ?1 from, ?2 to
SELECT id, cascade_id, kind, name, path, payload, sent_at, seal,
  EXISTS (
    SELECT 1 FROM main.node_executions AS e
    WHERE e.node_instance_id = m.path)
  OR EXISTS (
    SELECT 1 FROM main.cascade_links AS l
    WHERE l.path = m.path)
FROM main.cascade_messages AS m
WHERE cascade_id >= ?1 AND cascade_id <= ?2
  AND EXISTS (
    SELECT 1 FROM main.cascades AS c
    WHERE c.id = m.cascade_id)
ORDER BY cascade_id, id;

-- name: load_ends
-- verb: read messages
--
-- Of the last messages for a cascade those that end it.
--
-- ?1 cascade, ?2 how many of its last
SELECT id, cascade_id, kind, name, path, payload, sent_at, seal,
  EXISTS (
    SELECT 1 FROM main.node_executions AS e
    WHERE e.node_instance_id = m.path)
  OR EXISTS (
    SELECT 1 FROM main.cascade_links AS l
    WHERE l.path = m.path)
FROM (SELECT *
  FROM main.cascade_messages
  WHERE cascade_id = ?1
  ORDER BY id DESC
  LIMIT ?2) AS m
WHERE kind IN ('delete', 'family')
ORDER BY id;

-- name: receive_messages
-- verb: read messages
--
-- The first messages for a cascade, and whether each was received.
--
-- ?1 cascade, ?2 limit
SELECT id, cascade_id, kind, name, path, payload, sent_at, seal,
  EXISTS (
    SELECT 1 FROM main.node_executions AS e
    WHERE e.node_instance_id = m.path)
  OR EXISTS (
    SELECT 1 FROM main.cascade_links AS l
    WHERE l.path = m.path)
FROM main.cascade_messages AS m
WHERE cascade_id = ?1
ORDER BY id
LIMIT ?2;
