-- SPDX-License-Identifier: MIT
--
-- Engines, their lanes and leases, and the removal of dead ones.

-- name: insert_engine
-- verb: attach
--
-- Enters an engine.
--
-- ?1 engine, ?2 host, ?3 pid, ?4 process start, ?5 boot, ?6 lease in ms, ?7
-- its end by the monotonic clock, ?8 now, ?9 words about it
INSERT INTO main.cascade_engines
  (engine_id, host, pid, process_start, boot, lease_ms,
   lease_until_ms, attached_at, about)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (engine_id) DO NOTHING;

-- name: insert_lane
-- verb: attach
--
-- Enters a lane of it.
--
-- ?1 engine, ?2 lane
INSERT INTO main.cascade_lanes (engine_id, lane, batch)
VALUES (?1, ?2, 0)
ON CONFLICT (engine_id, lane) DO NOTHING;

-- name: renew_engine
-- verb: renew the lease
--
-- Renews a lease.
--
-- ?1 engine, ?2 lease in ms, ?3 its end by the monotonic clock, ?4 boot
UPDATE main.cascade_engines
SET lease_ms = ?2, lease_until_ms = ?3, boot = ?4
WHERE engine_id = ?1;

-- name: extend_engine
-- verb: renew the lease
--
-- Renews a lease by what it was.
--
-- ?1 engine, ?2 now by the monotonic clock, ?3 boot
UPDATE main.cascade_engines
SET lease_until_ms = ?2 + lease_ms, boot = ?3
WHERE engine_id = ?1;

-- name: get_engine
-- verb: look up an incarnation
--
-- A row if the engine is there, with the batches of its lanes.
--
-- ?1 engine
SELECT (SELECT sum(batch)
  FROM main.cascade_lanes
  WHERE engine_id = ?1)
FROM main.cascade_engines
WHERE engine_id = ?1;

-- name: list_engines
-- verb: list the incarnations
--
-- All engines. A lease of another boot has expired.
--
-- ?1 this boot, ?2 now by the monotonic clock
SELECT engine_id, host, pid, process_start,
  CASE WHEN boot = ?1 THEN lease_until_ms - ?2 ELSE -1 END,
  (SELECT count(*) FROM main.cascade_lanes AS l
 WHERE l.engine_id = e.engine_id),
  about, attached_at
FROM main.cascade_engines AS e
ORDER BY engine_id;

-- name: list_expired
-- verb: look for expired incarnations
--
-- Engines whose lease is over. Only ids by which a walk can go on: S74.
--
-- ?1 this boot, ?2 now by the monotonic clock
SELECT engine_id
FROM main.cascade_engines
WHERE (boot <> ?1 OR lease_until_ms <= ?2)
  AND typeof(engine_id) = 'text' AND length(engine_id) = 36
  AND substr(engine_id, 9, 1) || substr(engine_id, 14, 1)
    || substr(engine_id, 19, 1) || substr(engine_id, 24, 1) = '----'
  AND length(replace(engine_id, '-', '')) = 32
  AND engine_id NOT GLOB '*[^0-9a-f-]*'
  AND substr(engine_id, 1, 36) = engine_id
ORDER BY engine_id;

-- name: delete_engine
-- verb: remove an incarnation
--
-- Deletes an engine.
--
-- ?1 engine
DELETE FROM main.cascade_engines
WHERE engine_id = ?1;

-- name: delete_lanes
-- verb: remove an incarnation
--
-- Deletes its lanes.
--
-- ?1 engine
DELETE FROM main.cascade_lanes
WHERE engine_id = ?1;

-- name: release_runs
-- verb: detach
--
-- Frees its runs, for all who come. Index: cascade_runs by engine.
--
-- ?1 engine, ?2 now
UPDATE main.cascade_runs
SET engine_id = NULL, wake_at = ?2,
  trial = max(trial - 1, 0), slot = 0
WHERE engine_id = ?1;

-- name: next_owner
-- verb: look for abandoned runs
--
-- The next owner of runs, and whether it is there: one seek for each owner,
-- however many runs it has. Only ids by which a walk can go on: S74.
--
-- ?1 above
SELECT r.engine_id,
  EXISTS (
    SELECT 1 FROM main.cascade_engines AS e
    WHERE e.engine_id = r.engine_id)
FROM main.cascade_runs AS r
WHERE r.engine_id IS NOT NULL AND r.engine_id > ?1
  AND typeof(r.engine_id) = 'text' AND length(r.engine_id) = 36
  AND substr(r.engine_id, 9, 1) || substr(r.engine_id, 14, 1)
    || substr(r.engine_id, 19, 1) || substr(r.engine_id, 24, 1) = '----'
  AND length(replace(r.engine_id, '-', '')) = 32
  AND r.engine_id NOT GLOB '*[^0-9a-f-]*'
  AND substr(r.engine_id, 1, 36) = r.engine_id
ORDER BY r.engine_id
LIMIT 1;

-- name: free_runs
-- verb: free abandoned runs
--
-- Frees runs of an engine that is gone, as taken over once more.
--
-- ?1 engine, ?2 now, ?3 at most
UPDATE main.cascade_runs
SET engine_id = NULL, wake_at = ?2,
  takeovers = min(takeovers + 1, 2147483647), slot = 0
WHERE cascade_id IN (
  SELECT cascade_id
  FROM main.cascade_runs
  WHERE engine_id = ?1
  LIMIT ?3);
