-- SPDX-License-Identifier: MIT
--
-- Whole cascades. The casts keep the types that are decoded, whatever an older
-- table has.

-- name: load_cascades
--
-- Cascades that are there.
--
-- Index: cascades_pkey, cascade_erasures_pkey.
--
-- $1 cascades
SELECT id, status::text, fn_id, user_id::text, created_at,
  updated_at
FROM public.cascades
WHERE id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))
ORDER BY id;

-- name: load_executions
--
-- Their executions.
--
-- Index: node_executions_cascade_function_unique, cascade_erasures_pkey.
--
-- $1 cascades
SELECT id, cascade_id, function_id, status::text,
  node_instance_id::text, node_name::text, input_context::text,
  full_output::text, location::text, error::text, started_at,
  completed_at
FROM public.node_executions
WHERE cascade_id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))
ORDER BY cascade_id, function_id;

-- name: load_family
--
-- Their execution 0, and of each the first of its children.
--
-- Index: node_executions_cascade_function_unique,
-- node_executions_children_idx, cascades_pkey, cascade_erasures_pkey.
--
-- $1 cascades
SELECT id, cascade_id, function_id, status::text,
  node_instance_id::text, node_name::text, input_context::text,
  full_output::text, location::text, error::text, started_at,
  completed_at
FROM public.node_executions
WHERE cascade_id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))
  AND function_id = 0
UNION ALL
SELECT id, cascade_id, function_id, status::text,
  node_instance_id::text, node_name::text, input_context::text,
  full_output::text, location::text, error::text, started_at,
  completed_at
FROM (
  SELECT id AS parent
  FROM public.cascades
  WHERE id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))) AS c
CROSS JOIN LATERAL (
  SELECT *
  FROM public.node_executions
  WHERE cascade_id = c.parent
    AND function_id > 0
    AND node_name LIKE 'cascade.child:%'
    AND status = 'RUNNING'
  ORDER BY function_id
  LIMIT 100 /* CASCADE_LOAD_FAMILY_MAX */) AS e
ORDER BY cascade_id, function_id;

-- name: load_events
--
-- Their events.
--
-- Index: context_events_cascade_function_idx, cascade_erasures_pkey.
--
-- $1 cascades
SELECT id::int8, cascade_id, function_id, key::text, value::text,
  ui_value::text, created_at
FROM public.context_events
WHERE cascade_id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))
ORDER BY cascade_id, function_id, id;

-- name: load_messages
--
-- The first messages for each; not for cascades that are not there.
--
-- Index: cascades_pkey, cascade_messages_cascade_idx,
-- node_executions_node_instance_id_key, cascade_links_pkey.
--
-- $1 cascades
SELECT m.id, m.cascade_id, m.kind, m.name, m.path, m.payload::text,
  m.sent_at, m.seal, (SELECT true FROM public.node_executions AS n
    WHERE n.node_instance_id = m.path) IS TRUE
  OR (SELECT true FROM public.cascade_links AS l
    WHERE l.path = m.path) IS TRUE
FROM public.cascades AS c
CROSS JOIN LATERAL (
  SELECT *
  FROM public.cascade_messages
  WHERE cascade_id = c.id
  ORDER BY id
  LIMIT 100 /* CASCADE_LOAD_MESSAGES_MAX */) AS m
WHERE c.id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))
ORDER BY m.cascade_id, m.id;

-- name: load_ends
--
-- Of the last messages for each those that end it.
--
-- Index: as LOAD_MESSAGES.
--
-- $1 cascades
SELECT m.id, m.cascade_id, m.kind, m.name, m.path, m.payload::text,
  m.sent_at, m.seal, (SELECT true FROM public.node_executions AS n
    WHERE n.node_instance_id = m.path) IS TRUE
  OR (SELECT true FROM public.cascade_links AS l
    WHERE l.path = m.path) IS TRUE
FROM public.cascades AS c
CROSS JOIN LATERAL (
  SELECT *
  FROM public.cascade_messages
  WHERE cascade_id = c.id
  ORDER BY id DESC
  LIMIT 1000 /* CASCADE_LOAD_ENDS_MAX */) AS m
WHERE c.id = ANY (ARRAY(
    SELECT u.id
    FROM unnest($1::uuid[]) AS u (id)
    WHERE (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = u.id) IS NULL))
  AND m.kind IN ('delete', 'family')
ORDER BY m.cascade_id, m.id;
