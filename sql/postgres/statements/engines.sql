-- SPDX-License-Identifier: MIT
--
-- Engines, their lanes and leases, and the removal of dead ones.

-- name: attach_engine
--
-- Enters an engine, or renews its lease.
--
-- $1 engine, $2 host, $3 pid, $4 process start, $5 lanes, $6 lease in ms, $7
-- words about it
INSERT INTO public.cascade_engines
  (engine_id, host, pid, process_start, lane_count, lease_until,
   about, started_at)
SELECT $1::uuid, $2::text, $3::int8, $4::int8, $5::int4,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 + $6::int8,
  $7::text, floor(extract(epoch FROM now()) * 1000)::int8
ON CONFLICT (engine_id) DO UPDATE
SET lease_until = excluded.lease_until;

-- name: attach_lanes
--
-- Enters its lanes.
--
-- $1 engine, $2 lanes
INSERT INTO public.cascade_lanes (engine_id, lane, batch)
SELECT $1::uuid, g.lane, 0
FROM generate_series(0, $2::int4 - 1) AS g (lane)
ON CONFLICT (engine_id, lane) DO NOTHING;

-- name: renew
--
-- Renews a lease; tells whether the engine is there, and the time.
--
-- Index: cascade_engines_pkey.
--
-- $1 engine, $2 lease in ms
WITH renewed AS (
  UPDATE public.cascade_engines
  SET lease_until = floor(extract(epoch FROM now()) * 1000)::int8 + $2::int8
  WHERE engine_id = $1::uuid
  RETURNING 1)
SELECT count(*), floor(extract(epoch FROM clock_timestamp()) * 1000)::int8
FROM renewed;

-- name: delete_engine
--
-- Detaches an engine; its row is the first to be locked.
--
-- Index: cascade_engines_pkey.
--
-- $1 engine
DELETE FROM public.cascade_engines
WHERE engine_id = $1::uuid;

-- name: delete_lanes
--
-- Deletes its lanes: a batch that is under way finishes first.
--
-- Index: cascade_lanes_pkey.
--
-- $1 engine
DELETE FROM public.cascade_lanes
WHERE engine_id = $1::uuid;

-- name: detach_runs
--
-- Frees its runs, for all who come.
--
-- Index: cascade_runs_engine_idx.
--
-- $1 engine
UPDATE public.cascade_runs
SET engine_id = NULL,
  wake_at = floor(extract(epoch FROM now()) * 1000)::int8,
  trial = GREATEST(trial, 1) - 1,
  slot = 0
WHERE engine_id = $1::uuid;

-- name: list_engines
--
-- All engines. The last column counts owners of runs that are gone, up to one.
-- Owners are few: one look-up for each.
--
-- Index: cascade_engines_pkey, cascade_runs_engine_idx.
SELECT engine_id, host, pid, process_start,
  GREATEST(lease_until, 0) - floor(extract(epoch FROM now()) * 1000)::int8,
  lane_count, about, started_at,
  (WITH RECURSIVE owners (engine_id) AS (
    (SELECT engine_id
      FROM public.cascade_runs
      WHERE engine_id IS NOT NULL
      ORDER BY engine_id
      LIMIT 1)
    UNION ALL
    SELECT (
      SELECT r.engine_id
      FROM public.cascade_runs AS r
      WHERE r.engine_id > o.engine_id
      ORDER BY r.engine_id
      LIMIT 1)
    FROM owners AS o
    WHERE o.engine_id IS NOT NULL)
  SELECT count(*)
  FROM (
    SELECT 1
    FROM owners AS o
    WHERE o.engine_id IS NOT NULL
      AND NOT EXISTS (
        SELECT 1
        FROM public.cascade_engines AS e
        WHERE e.engine_id = o.engine_id)
    LIMIT 1) AS gone)
FROM public.cascade_engines
ORDER BY engine_id;

-- name: find_dead
--
-- Engines whose lease is over, or that are named.
--
-- $1 those named dead
SELECT engine_id
FROM public.cascade_engines
WHERE lease_until <= floor(extract(epoch FROM now()) * 1000)::int8
  OR engine_id = ANY ($1::uuid[])
ORDER BY engine_id;

-- name: delete_dead
--
-- Deletes one of them, if it is still dead. Locks its row: who claims for it
-- waits.
--
-- Index: cascade_engines_pkey.
--
-- $1 engine, $2 named dead
DELETE FROM public.cascade_engines
WHERE engine_id = $1::uuid
  AND ($2::bool
    OR lease_until <= floor(extract(epoch FROM now()) * 1000)::int8);

-- name: delete_dead_lanes
--
-- Deletes the lanes of an engine that is gone.
--
-- Index: cascade_lanes_pkey.
--
-- $1 engine
DELETE FROM public.cascade_lanes
WHERE engine_id = $1::uuid
  AND NOT EXISTS (
    SELECT 1 FROM public.cascade_engines WHERE engine_id = $1::uuid);

-- name: unblock
--
-- Ends those that a backend waits for, if they wait for their own client: a
-- process that is stopped, or gone without a word. One that waits for a lock
-- itself is another remover, and one that works will be done soon.
--
-- $1 a backend that waits for a lock
SELECT count(pg_terminate_backend(a.pid))
FROM unnest(pg_blocking_pids($1::int4)) AS b (pid)
JOIN pg_stat_activity AS a ON a.pid = b.pid
WHERE a.datname = current_database()
  AND a.usename = current_user
  AND a.wait_event_type = 'Client';

-- name: find_orphan
--
-- The next owner of runs. The bounds are living engines.
--
-- Index: cascade_runs_engine_idx.
--
-- $1, $2 between these engines, both exclusive
SELECT engine_id
FROM public.cascade_runs
WHERE engine_id > $1::uuid
  AND engine_id < $2::uuid
ORDER BY engine_id
LIMIT 1;

-- name: check_orphan
--
-- Raises 22012 when the engine lives.
--
-- Index: cascade_engines_pkey.
--
-- $1 engine
SELECT 1 / (count(*) = 0)::int4
FROM public.cascade_engines
WHERE engine_id = $1::uuid;

-- name: free_orphans
--
-- Frees runs of an engine that is gone, as taken over once more.
--
-- Index: cascade_runs_engine_idx, cascade_runs_pkey.
--
-- $1 engine, $2 at most
WITH chosen AS (
  SELECT cascade_id
  FROM public.cascade_runs
  WHERE engine_id = $1::uuid
  LIMIT $2::int8),
freed AS (
  UPDATE public.cascade_runs AS r
  SET engine_id = NULL,
    wake_at = floor(extract(epoch FROM now()) * 1000)::int8,
    takeovers = LEAST(r.takeovers, 2147483646) + 1,
    slot = 0
  FROM chosen
  WHERE r.cascade_id = ANY (ARRAY[chosen.cascade_id])
    AND r.engine_id IS NOT DISTINCT FROM $1::uuid
  RETURNING 1)
SELECT count(*) FROM freed;
