-- SPDX-License-Identifier: MIT
--
-- Starts of cascades.

-- name: start
-- form: start_keyed = keyed
-- form: start_sealed = sealed
-- form: start_keyed_sealed = keyed sealed
--
-- The four forms of a start: with keys and without, with seals and without, so
-- that a batch pays only for what it brings. Only the rows of a cascade that
-- was not there go in. IS TRUE keeps the planner from making a join of what is
-- a look-up in a small set.
--
-- KEYED. The number is read in the statement's snapshot, the cascade's own row
-- decides between two starts of one run, and only who inserted that moves the
-- number on. A number that has moved meanwhile all the same (the run was
-- started, ended and deleted between the snapshot and the insert) raises
-- 22012: who tries again sees it. Not so for run 1, which has no row: then the
-- deleted run is made once more. Key rows are only ever locked behind the row
-- of a cascade that no other transaction can be inserting, so their order does
-- not matter.
--
-- LIMITS. A run that is due in a queue with limits waits by its key. The first
-- look is one for all rows: where no queue has a row there is no other.
--
-- Index: the primary keys. Locks: the rows of the keys that move on.
--
-- $1-$6 cascades, $7-$16 runs, $17-$28 executions, $29-$34 events, $35 the
-- sequence, $36 key and $37 run number of each cascade, $38-$40 seals
WITH fresh AS (
  INSERT INTO public.cascades
    (id, status, fn_id, user_id, created_at, updated_at)
  SELECT g.id, g.status::public.cascade_status, g.fn_id, g.user_id,
    g.created_at, g.updated_at
  FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::text[],
      $5::timestamp[], $6::timestamp[]
      -- if keyed
      , $36::text[], $37::int4[]
      -- end
      )
    AS g (id, status, fn_id, user_id, created_at, updated_at
      -- if keyed
      , key, run_number
      -- end
      )
  -- if keyed
  WHERE g.key IS NULL
    OR COALESCE((
      SELECT k.run_number
      FROM public.cascade_keys AS k
      WHERE k.user_id = g.user_id
        AND k.key = g.key), (g.run_number = 2)::int4)
      = g.run_number - 1
  -- end
  ON CONFLICT (id) DO NOTHING
  RETURNING id),
runs AS (
  INSERT INTO public.cascade_runs
    (cascade_id, queue, priority, wake_at, engine_id, claim_no,
     takeovers, needs, limit_key, slot)
  SELECT g.cascade_id, g.queue, g.priority, g.wake_at, g.engine_id,
    g.claim_no, g.takeovers,
    CASE WHEN (SELECT true FROM public.cascade_queues LIMIT 1)
      AND g.engine_id IS NULL
      AND g.needs IS NULL
      AND g.limit_key <> ''
      AND g.takeovers = 0
      AND g.wake_at <= floor(extract(epoch FROM now()) * 1000)::int8
      AND (SELECT true FROM public.cascade_queues AS q
        WHERE q.queue = g.queue
          AND q.version <> 0) THEN 'cascade.turn'
      ELSE g.needs END,
    coalesce(g.limit_key, ''), g.slot
  FROM unnest($7::uuid[], $8::text[], $9::int4[], $10::int8[],
      $11::uuid[], $12::int8[], $13::int4[], $14::text[], $15::text[],
      $16::int4[])
    AS g (cascade_id, queue, priority, wake_at, engine_id, claim_no,
      takeovers, needs, limit_key, slot)
  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS TRUE),
executions AS (
  INSERT INTO public.node_executions
    (id, cascade_id, function_id, status, node_instance_id,
     node_name, input_context, full_output, location, error,
     started_at, completed_at)
  SELECT g.id, g.cascade_id, g.function_id,
    g.status::public.execution_status, g.path, g.node_name,
    g.input::jsonb, g.full_output::jsonb, g.location, g.error,
    g.started_at, g.completed_at
  FROM unnest($17::uuid[], $18::uuid[], $19::int4[], $20::text[],
      $21::text[], $22::text[], $23::text[], $24::text[],
      $25::text[], $26::text[], $27::timestamp[], $28::timestamp[])
    AS g (id, cascade_id, function_id, status, path, node_name,
      input, full_output, location, error, started_at, completed_at)
  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS TRUE),
events AS (
  INSERT INTO public.context_events
    (id, cascade_id, function_id, key, value, ui_value, created_at)
  SELECT nextval($35::regclass), g.cascade_id, g.function_id, g.key,
    g.value::jsonb, g.ui_value::jsonb, g.created_at
  FROM unnest($29::uuid[], $30::int4[], $31::text[], $32::text[],
      $33::text[], $34::timestamp[])
    AS g (cascade_id, function_id, key, value, ui_value, created_at)
  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS TRUE)
-- if keyed
, due AS (
  SELECT g.user_id, g.key, g.run_number
  FROM unnest($1::uuid[], $4::text[], $36::text[], $37::int4[])
    AS g (id, user_id, key, run_number)
  WHERE g.key IS NOT NULL
    AND g.run_number > 1
    AND (g.id IN (SELECT id FROM fresh)) IS TRUE),
moved AS (
  INSERT INTO public.cascade_keys AS k (user_id, key, run_number)
  SELECT user_id, key, run_number FROM due
  ON CONFLICT (user_id, key) DO UPDATE
  SET run_number = excluded.run_number
  WHERE k.run_number = excluded.run_number - 1
  RETURNING 1),
checked AS (
  SELECT 1 / ((SELECT count(*) FROM moved)
    = (SELECT count(*) FROM due))::int4 AS good)
-- if sealed
, seals AS (
  INSERT INTO public.cascade_seals (cascade_id, number, seal)
  SELECT g.cascade_id, g.number, g.seal
  FROM unnest($38::uuid[], $39::int8[], $40::text[])
    AS g (cascade_id, number, seal)
  WHERE (g.cascade_id IN (SELECT id FROM fresh)) IS TRUE
  ON CONFLICT (cascade_id) DO UPDATE
  SET number = excluded.number,
    seal = excluded.seal)
-- end
SELECT id FROM fresh
-- if keyed
WHERE (SELECT good FROM checked) = 1
-- end
;
