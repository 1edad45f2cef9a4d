-- SPDX-License-Identifier: MIT
--
-- What a batch writes: see commit.c for the order.

-- name: fence
--
-- Moves a lane on to this batch. Raises 22012 where it stands elsewhere: the
-- engine was removed, or the batch is in.
--
-- Index: cascade_lanes_pkey. Locks: the row of the lane, first of all rows.
--
-- $1 engine, $2 lane, $3 number of the batch
WITH moved AS (
  UPDATE public.cascade_lanes
  SET batch = $3::int8
  WHERE engine_id = $1::uuid
    AND lane = $2::int4
    AND batch = $3::int8 - 1
  RETURNING 1)
SELECT 1 / count(*) FROM moved;

-- name: insert_executions
-- one: insert_execution
--
-- Inserts executions.
--
-- $1-$12 rows, an array for each column
INSERT INTO public.node_executions
  (id, cascade_id, function_id, status, node_instance_id,
   node_name, input_context, full_output, location, error,
   started_at, completed_at)
SELECT g.id, g.cascade_id, g.function_id,
  g.status::public.execution_status, g.path, g.node_name,
  g.input::jsonb, g.full_output::jsonb, g.location, g.error,
  g.started_at, g.completed_at
FROM unnest($1::uuid[], $2::uuid[], $3::int4[], $4::text[],
    $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::timestamp[], $12::timestamp[])
  AS g (id, cascade_id, function_id, status, path, node_name,
    input, full_output, location, error, started_at, completed_at);

-- name: update_executions
-- one: update_execution
--
-- Ends executions that are RUNNING; raises 22012 where one was not met.
--
-- Index: node_executions_cascade_function_unique.
--
-- $1-$6 rows, $7 how many must be met
WITH met AS (
  UPDATE public.node_executions AS n
  SET status = g.status::public.execution_status,
    full_output = g.full_output::jsonb,
    error = g.error,
    completed_at = g.completed_at
  FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[],
      $5::text[], $6::timestamp[])
    AS g (cascade_id, function_id, status, full_output, error,
      completed_at)
  WHERE n.cascade_id = ANY (ARRAY[g.cascade_id])
    AND n.function_id = g.function_id
    AND n.status = 'RUNNING'
  RETURNING 1)
SELECT 1 / (count(*) = $7::int8)::int4 FROM met;

-- name: insert_events
-- one: insert_event
--
-- Inserts events. Rows get their ids in the order of the arrays.
--
-- $1-$6 rows, $7 the sequence
INSERT INTO public.context_events
  (id, cascade_id, function_id, key, value, ui_value, created_at)
SELECT nextval($7::regclass), g.cascade_id, g.function_id, g.key,
  g.value::jsonb, g.ui_value::jsonb, g.created_at
FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[],
    $5::text[], $6::timestamp[])
  AS g (cascade_id, function_id, key, value, ui_value, created_at);

-- name: update_cascades
-- one: update_cascade
--
-- Updates cascades; raises 22012 where one was not met.
--
-- Index: cascades_pkey.
--
-- $1-$4 rows, $5 how many must be met
WITH met AS (
  UPDATE public.cascades AS c
  SET status = g.status::public.cascade_status,
    fn_id = g.fn_id,
    updated_at = g.updated_at
  FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::timestamp[])
    AS g (id, status, fn_id, updated_at)
  WHERE c.id = ANY (ARRAY[g.id])
  RETURNING 1)
SELECT 1 / (count(*) = $5::int8)::int4 FROM met;

-- name: reset_runs
-- one: reset_run
--
-- Takes it that runs are well: raises 22012 where one is not of this engine.
-- IS NOT DISTINCT FROM, because no index can answer it: the planner might go
-- through all the runs of the engine for a few of them. So do the next two.
--
-- Index: cascade_runs_pkey.
--
-- $1 cascades, $2 engine, $3 how many must be met
WITH met AS (
  UPDATE public.cascade_runs AS r
  SET takeovers = 0,
    trial = 0
  FROM unnest($1::uuid[]) AS g (cascade_id)
  WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])
    AND r.engine_id IS NOT DISTINCT FROM $2::uuid
  RETURNING 1)
SELECT 1 / (count(*) = $3::int8)::int4 FROM met;

-- name: free_runs
-- one: free_run
--
-- Gives runs up, until their time; raises 22012 where one is not of this
-- engine.
--
-- Index: cascade_runs_pkey.
--
-- $1-$3 cascades, their times and the nodes that they need, $4 engine, $5 how
-- many must be met
WITH met AS (
  UPDATE public.cascade_runs AS r
  SET engine_id = NULL,
    wake_at = g.wake_at,
    needs = g.needs,
    takeovers = 0,
    trial = 0,
    slot = 0
  FROM unnest($1::uuid[], $2::int8[], $3::text[])
    AS g (cascade_id, wake_at, needs)
  WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])
    AND r.engine_id IS NOT DISTINCT FROM $4::uuid
  RETURNING 1)
SELECT 1 / (count(*) = $5::int8)::int4 FROM met;

-- name: revive_runs
-- one: revive_run
--
-- Moves runs to another queue, priority and limit key; raises 22012 where one
-- is not of this engine.
--
-- Index: cascade_runs_pkey.
--
-- $1-$4 cascades, queues, priorities and limit keys, $5 engine, $6 how many
-- must be met
WITH met AS (
  UPDATE public.cascade_runs AS r
  SET queue = g.queue,
    priority = g.priority,
    takeovers = 0,
    trial = 0,
    limit_key = COALESCE(g.limit_key, ''),
    slot = 0
  FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::text[])
    AS g (cascade_id, queue, priority, limit_key)
  WHERE r.cascade_id = ANY (ARRAY[g.cascade_id])
    AND r.engine_id IS NOT DISTINCT FROM $5::uuid
  RETURNING 1)
SELECT 1 / (count(*) = $6::int8)::int4 FROM met;

-- name: end_runs
-- one: end_run
--
-- Deletes the runs of cascades that have ended.
--
-- Index: cascade_runs_pkey.
--
-- $1 cascades
DELETE FROM public.cascade_runs AS r
USING unnest($1::uuid[]) AS g (id)
WHERE r.cascade_id = ANY (ARRAY[g.id]);

-- name: delete_received
-- one: delete_received_one
--
-- Deletes messages that were received.
--
-- Index: cascade_messages_pkey.
--
-- $1 ids, $2 the cascades that received them
DELETE FROM public.cascade_messages AS m
USING unnest($1::int8[], $2::uuid[]) AS g (id, cascade_id)
WHERE m.id = ANY (ARRAY[g.id])
  AND m.cascade_id IS NOT DISTINCT FROM g.cascade_id;

-- name: read_lane
--
-- The last batch of a lane.
--
-- Index: cascade_lanes_pkey.
--
-- $1 engine, $2 lane
SELECT batch
FROM public.cascade_lanes
WHERE engine_id = $1::uuid
  AND lane = $2::int4;

-- name: read_first
--
-- The execution 0 of cascades: tells an own start from another one's.
--
-- Index: node_executions_cascade_function_unique.
--
-- $1 cascades
SELECT cascade_id, id
FROM public.node_executions
WHERE cascade_id = ANY ($1::uuid[])
  AND function_id = 0;
