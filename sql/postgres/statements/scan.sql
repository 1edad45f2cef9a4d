-- SPDX-License-Identifier: MIT
--
-- Pages of rows, up to so many bytes: those of the rows before are summed up
-- as they come. Payloads are looked at no further than to their length, and
-- become texts behind that.

-- name: list
--
-- A page of cascades, of those that a query asks for: conditions that it does
-- not have are left out, so that PostgreSQL plans for what is asked. That a
-- status is not COMPLETED is said once more where it is so: the index of the
-- others is taken for that alone.
--
-- Index: cascades_pkey, cascades_user_id_status_idx, cascades_status_idx,
-- cascade_runs_pkey, cascade_erasures_pkey,
-- node_executions_cascade_function_unique.
--
-- $1 id, $2 user, $3 status, $4 behind that one, $5 updated before, $6 node, $7
-- at most
SELECT c.id, c.status::text, c.fn_id, c.user_id::text,
  c.created_at, c.updated_at, r.cascade_id, r.queue, r.priority,
  r.wake_at, r.engine_id, r.claim_no, r.takeovers, r.trial, r.needs,
  r.limit_key, r.slot
FROM public.cascades AS c
LEFT JOIN public.cascade_runs AS r ON r.cascade_id = c.id
WHERE (SELECT true FROM public.cascade_erasures AS x
    WHERE x.cascade_id = c.id) IS NULL
  -- if id
  AND c.id = $1::uuid
  -- if user
  AND c.user_id = $2::text
  -- if status
  AND c.status = $3::text::public.cascade_status
  -- if unfinished
  AND c.status <> 'COMPLETED'
  -- if after
  AND c.id > $4::uuid
  -- if before
  AND c.updated_at < $5::timestamp
  -- if node
  AND EXISTS (SELECT 1 FROM public.node_executions AS n
    WHERE n.cascade_id = c.id AND n.node_name = $6::text)
  -- end
ORDER BY c.id
LIMIT $7::int8;

-- name: look
--
-- One cascade. Asked most of all, so prepared.
--
-- Index: cascades_pkey, cascade_runs_pkey, cascade_erasures_pkey.
--
-- $1 id
SELECT c.id, c.status::text, c.fn_id, c.user_id::text,
  c.created_at, c.updated_at, r.cascade_id, r.queue, r.priority,
  r.wake_at, r.engine_id, r.claim_no, r.takeovers, r.trial, r.needs,
  r.limit_key, r.slot
FROM public.cascades AS c
LEFT JOIN public.cascade_runs AS r ON r.cascade_id = c.id
WHERE c.id = ANY (ARRAY[$1::uuid])
  AND (SELECT true FROM public.cascade_erasures AS x
    WHERE x.cascade_id = c.id) IS NULL;

-- name: list_queue
--
-- The same of a queue, from its runs: those are fewer. From and to that queue,
-- in the order of queues: only its own index has that. With r.queue = $5 the
-- planner may go through all runs by their ids instead, to find those of the
-- queue.
--
-- Index: cascade_runs_queue_idx, cascades_pkey, cascade_erasures_pkey,
-- node_executions_cascade_function_unique.
--
-- $1 id, $2 user, $3 status, $4 behind that one, $5 queue, $6 updated before,
-- $7 node, $8 at most
SELECT c.id, c.status::text, c.fn_id, c.user_id::text,
  c.created_at, c.updated_at, r.cascade_id, r.queue, r.priority,
  r.wake_at, r.engine_id, r.claim_no, r.takeovers, r.trial, r.needs,
  r.limit_key, r.slot
FROM public.cascade_runs AS r
JOIN public.cascades AS c ON c.id = ANY (ARRAY[r.cascade_id])
WHERE (r.queue, r.cascade_id) > ($5::text, $4::uuid)
  AND r.queue <= $5::text
  AND (SELECT true FROM public.cascade_erasures AS x
    WHERE x.cascade_id = c.id) IS NULL
  -- if id
  AND r.cascade_id = $1::uuid
  -- if user
  AND c.user_id = $2::text
  -- if status
  AND c.status = $3::text::public.cascade_status
  -- if before
  AND c.updated_at < $6::timestamp
  -- if node
  AND EXISTS (SELECT 1 FROM public.node_executions AS n
    WHERE n.cascade_id = c.id AND n.node_name = $7::text)
  -- end
ORDER BY r.queue, r.cascade_id
LIMIT $8::int8;

-- name: list_user
--
-- The same of a user in all statuses. The index has the status before the id:
-- what each status has of a page is looked up, and the page is the first of
-- these. Whatever statuses there are, each is one of the labels.
--
-- Index: cascades_user_id_status_idx, cascade_runs_pkey,
-- cascade_erasures_pkey, node_executions_cascade_function_unique.
--
-- $1 user, $2 behind that one, $3 updated before, $4 node, $5 at most
SELECT c.id, c.status::text, c.fn_id, c.user_id::text,
  c.created_at, c.updated_at, r.cascade_id, r.queue, r.priority,
  r.wake_at, r.engine_id, r.claim_no, r.takeovers, r.trial, r.needs,
  r.limit_key, r.slot
FROM (
  SELECT l.*
  FROM unnest(enum_range(NULL::public.cascade_status)) AS s (status)
  CROSS JOIN LATERAL (
    SELECT *
    FROM public.cascades AS u
    WHERE u.user_id = $1::text
      AND u.status = s.status
      AND (SELECT true FROM public.cascade_erasures AS x
        WHERE x.cascade_id = u.id) IS NULL
      -- if after
      AND u.id > $2::uuid
      -- if before
      AND u.updated_at < $3::timestamp
      -- if node
      AND EXISTS (SELECT 1 FROM public.node_executions AS n
        WHERE n.cascade_id = u.id AND n.node_name = $4::text)
      -- end
    ORDER BY u.id
    LIMIT $5::int8) AS l
  ORDER BY l.id
  LIMIT $5::int8) AS c
LEFT JOIN public.cascade_runs AS r ON r.cascade_id = c.id
ORDER BY c.id;

-- name: scan_executions
-- form: scan_children = children
--
-- A page of a cascade's executions, or of its children.
--
-- Index: node_executions_cascade_function_unique, or
-- node_executions_children_idx.
--
-- $1 cascade, $2 from, $3 only RUNNING, $4 at most, $5 bytes
SELECT id, cascade_id, function_id, status::text,
  node_instance_id::text, node_name::text, input_context::text,
  full_output::text, location::text, error::text, started_at,
  completed_at
FROM (
  SELECT *, sum(100 + coalesce(pg_column_size(input_context), 0)
      + coalesce(pg_column_size(full_output), 0)
      + coalesce(pg_column_size(error), 0))
      OVER (ORDER BY function_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
  FROM public.node_executions
  WHERE cascade_id = $1::uuid
    AND (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = $1::uuid) IS NULL
    AND function_id >= $2::int4
    AND ($3::bool IS NOT TRUE OR status = 'RUNNING')
    -- if children
    AND function_id > 0
    AND node_name LIKE 'cascade.child:%'
    -- end
  ORDER BY function_id
  LIMIT $4::int8) AS e
WHERE bytes_before IS NULL
  OR bytes_before < $5::int8
ORDER BY e.function_id;

-- name: scan_events
--
-- A page of a cascade's events. The index has no ids. So it first tells up to
-- where the page goes, and what is sorted then is the page, and what is left
-- of its last execution.
--
-- Index: context_events_cascade_function_idx.
--
-- $1 cascade, $2 from, $3 of that one ids above this, $4 at most, $5 bytes
SELECT id::int8, cascade_id, function_id, key::text, value::text,
  ui_value::text, created_at
FROM (
  SELECT *, sum(100 + coalesce(pg_column_size(value), 0)
      + coalesce(pg_column_size(ui_value), 0))
      OVER (ORDER BY function_id, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
  FROM (
    SELECT *
    FROM public.context_events
    WHERE cascade_id = $1::uuid
      AND (SELECT true FROM public.cascade_erasures AS marked
          WHERE marked.cascade_id = $1::uuid) IS NULL
      AND function_id >= $2::int4
      AND (function_id > $2::int4 OR id > $3::int8)
      AND function_id <= (
        SELECT max(p.function_id)
        FROM (
          SELECT function_id
          FROM public.context_events
          WHERE cascade_id = $1::uuid
            AND (SELECT true FROM public.cascade_erasures AS marked
                WHERE marked.cascade_id = $1::uuid) IS NULL
            AND function_id >= $2::int4
            AND (function_id > $2::int4 OR id > $3::int8)
          ORDER BY function_id
          LIMIT $4::int8) AS p)
    ORDER BY function_id, id
    LIMIT $4::int8) AS l) AS e
WHERE bytes_before IS NULL
  OR bytes_before < $5::int8
ORDER BY e.function_id, e.id;

-- name: scan_all
--
-- A page of all executions.
--
-- Index: node_executions_pkey, cascade_erasures_pkey.
--
-- $1 from, $2 that one too, $3 only RUNNING, $4 at most, $5 bytes
SELECT id, cascade_id, function_id, status::text,
  node_instance_id::text, node_name::text, input_context::text,
  full_output::text, location::text, error::text, started_at,
  completed_at
FROM (
  SELECT *, sum(100 + coalesce(pg_column_size(input_context), 0)
      + coalesce(pg_column_size(full_output), 0)
      + coalesce(pg_column_size(error), 0))
      OVER (ORDER BY id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
  FROM public.node_executions AS n
  WHERE id >= $1::uuid
    AND (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = n.cascade_id) IS NULL
    AND (id > $1::uuid OR $2::bool)
    AND ($3::bool IS NOT TRUE OR status = 'RUNNING')
  ORDER BY id
  LIMIT $4::int8) AS e
WHERE bytes_before IS NULL
  OR bytes_before < $5::int8
ORDER BY e.id;
