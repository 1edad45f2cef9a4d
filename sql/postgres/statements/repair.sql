-- SPDX-License-Identifier: MIT
--
-- Repairs and purges.

-- name: lock_cascades
--
-- Locks cascades. Who inserts a run, or anything else that refers to one of
-- them, waits for this lock.
--
-- Index: cascades_pkey.
--
-- $1 cascades
SELECT count(*)
FROM (
  SELECT 1
  FROM public.cascades
  WHERE id = ANY ($1::uuid[])
  ORDER BY id
  FOR UPDATE) AS locked;

-- name: repair
--
-- Repairs cascades that are as they were read and have no run. Tells the
-- places of those that were repaired, counted from 1.
--
-- Index: cascades_pkey, cascade_runs_pkey, cascade_erasures_pkey,
-- cascade_keys_pkey, cascade_seals_pkey.
--
-- $1-$10 repairs: cascade, status and count of executions as they were and as
-- they are to be, queue (NULL: no run), priority, time, key and its run;
-- $11-$14 number and text of the seal as it was read (NULL: none) and as it is
-- to be (NULL: it stays); $15 the limit key of the run (NULL: its user's)
WITH met AS (
  UPDATE public.cascades AS c
  SET status = g.status::public.cascade_status,
    fn_id = g.fn_id
  FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::text[],
      $5::int4[], $6::text[], $7::int4[], $8::int8[], $9::text[],
      $10::int4[], $11::int8[], $12::text[], $13::int8[],
      $14::text[], $15::text[]) WITH ORDINALITY
    AS g (id, was_status, was_fn_id, status, fn_id, queue, priority,
      wake_at, key, run_number, was_number, was_seal, number, seal, limit_key,
      place)
  WHERE c.id = ANY (ARRAY[g.id])
    AND c.status = g.was_status::public.cascade_status
    AND c.fn_id = g.was_fn_id
    AND (SELECT true FROM public.cascade_runs AS r
      WHERE r.cascade_id = g.id) IS NULL
    AND (SELECT true FROM public.cascade_erasures AS marked
        WHERE marked.cascade_id = c.id) IS NULL
    AND (g.seal IS NULL
      OR (SELECT coalesce(s.number = g.was_number AND s.seal = g.was_seal,
          false)
        FROM public.cascade_seals AS s
        WHERE s.cascade_id = g.id)
        IS NOT DISTINCT FROM CASE WHEN g.was_seal IS NOT NULL THEN true END)
  RETURNING c.id, c.user_id, g.queue, g.priority, g.wake_at, g.key,
    g.run_number, g.number, g.seal, g.limit_key, g.place),
seals AS (
  INSERT INTO public.cascade_seals (cascade_id, number, seal)
  SELECT id, number, seal
  FROM met
  WHERE seal IS NOT NULL
  ON CONFLICT (cascade_id) DO UPDATE
  SET number = excluded.number,
    seal = excluded.seal),
runs AS (
  INSERT INTO public.cascade_runs
    (cascade_id, queue, priority, wake_at, engine_id, claim_no,
     takeovers, needs, limit_key)
  SELECT id, queue, priority, wake_at, NULL, 0, 0, NULL,
    COALESCE(limit_key, '')
  FROM met
  WHERE queue IS NOT NULL),
keys AS (
  INSERT INTO public.cascade_keys AS k (user_id, key, run_number)
  SELECT user_id, key, max(run_number)
  FROM met
  WHERE key IS NOT NULL
    AND run_number > 1
  GROUP BY user_id, key
  ORDER BY user_id, key
  ON CONFLICT (user_id, key) DO UPDATE
  SET run_number = excluded.run_number
  WHERE k.run_number < excluded.run_number)
SELECT place FROM met;

-- name: purge
--
-- Marks those that have ended, have no messages, and were written long ago.
--
-- Index: cascades_pkey, cascade_runs_pkey, cascade_messages_cascade_idx.
--
-- $1 cascades, $2 written before
WITH chosen AS MATERIALIZED (
  SELECT c.id
  FROM unnest($1::uuid[]) AS g (cascade_id)
  JOIN public.cascades AS c ON c.id = ANY (ARRAY[g.cascade_id])
  WHERE c.status <> 'RUNNING'
    AND c.updated_at < $2::timestamp
    AND (SELECT true FROM public.cascade_runs AS r
      WHERE r.cascade_id = g.cascade_id) IS NULL
    AND (SELECT true FROM public.cascade_messages AS m
        WHERE m.cascade_id = g.cascade_id
        ORDER BY m.id
        LIMIT 1) IS NULL),
marked AS (
  INSERT INTO public.cascade_erasures (cascade_id, engine_id, marked_at)
  SELECT id, NULL, floor(extract(epoch FROM now()) * 1000)::int8 FROM chosen
  ON CONFLICT (cascade_id) DO NOTHING
  RETURNING 1)
SELECT count(*) FROM marked;
