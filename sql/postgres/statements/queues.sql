-- SPDX-License-Identifier: MIT
--
-- Queues and counts: on demand only, since they read more than they tell.

-- name: pause_queue
--
-- Pauses a queue; what limits it has stay.
--
-- $1 queue, $2 words about it
INSERT INTO public.cascade_queues AS q (queue, paused_at, about)
SELECT $1::text, floor(extract(epoch FROM now()) * 1000)::int8, $2::text
ON CONFLICT (queue) DO UPDATE
SET paused_at = excluded.paused_at,
  about = excluded.about
WHERE q.paused_at = 0
RETURNING 1;

-- name: resume_queue
--
-- Resumes a queue.
--
-- $1 queue
UPDATE public.cascade_queues
SET paused_at = 0,
  about = '{}'
WHERE queue = $1::text
  AND paused_at <> 0
RETURNING 1;

-- name: clear_queue
--
-- Deletes the row of a queue that is not paused and has no limits.
--
-- $1 queue
DELETE FROM public.cascade_queues
WHERE queue = $1::text
  AND paused_at = 0
  AND version = 0;

-- name: make_limits
--
-- Sets the limits of a queue that has none, or ($5) whatever it has.
--
-- $1 queue, $2, $3 maxima, $4 words about them, $5 any version
INSERT INTO public.cascade_queues AS q
  (queue, paused_at, about, version, running_max, key_running_max,
   limits_about)
SELECT $1::text, 0, '{}', 1, $2::int4, $3::int4, $4::text
ON CONFLICT (queue) DO UPDATE
SET version = q.version + 1,
  running_max = excluded.running_max,
  key_running_max = excluded.key_running_max,
  limits_about = excluded.limits_about
WHERE q.version = 0
  OR $5::bool
RETURNING 1;

-- name: change_limits
--
-- Sets the limits of a queue that has some, if they have that version.
--
-- $1 queue, $2, $3 maxima, $4 words about them, $5 version
UPDATE public.cascade_queues
SET version = version + 1,
  running_max = $2::int4,
  key_running_max = $3::int4,
  limits_about = $4::text
WHERE queue = $1::text
  AND version = $5::int8
RETURNING 1;

-- name: drop_limits
--
-- Takes the limits of a queue away, if it has any.
--
-- $1 queue
UPDATE public.cascade_queues
SET version = 0,
  running_max = 0,
  key_running_max = 0,
  limits_about = '{}'
WHERE queue = $1::text
  AND version <> 0
RETURNING 1;

-- name: read_limits
--
-- The limits of a queue, if it has any.
--
-- $1 queue
SELECT queue, version, running_max, key_running_max, limits_about
FROM public.cascade_queues
WHERE queue = $1::text
  AND version <> 0;

-- name: list_limits
--
-- Those of all queues, by name.
--
-- $1 above, $2 at most
SELECT queue, version, running_max, key_running_max, limits_about
FROM public.cascade_queues
WHERE queue COLLATE "C" > $1::text
  AND version <> 0
ORDER BY queue COLLATE "C"
LIMIT $2::int8;

-- name: list_slots
--
-- Runs of a queue that have a slot, by key.
--
-- $1 queue, $2 at most
SELECT cascade_id, limit_key
FROM public.cascade_runs
WHERE engine_id IS NOT NULL
  AND slot > 0
  AND queue = $1::text
ORDER BY limit_key
LIMIT $2::int8;

-- name: list_key_slots
--
-- Those of a key.
--
-- $1 queue, $2 at most, $3 key
SELECT cascade_id, limit_key
FROM public.cascade_runs
WHERE engine_id IS NOT NULL
  AND slot > 0
  AND queue = $1::text
  AND limit_key = $3::text
LIMIT $2::int8;

-- name: look_paused
--
-- Whether a queue is paused with these words: behind a try without an answer.
--
-- $1 queue, $2 words about it
SELECT count(*)
FROM public.cascade_queues
WHERE queue = $1::text
  AND paused_at <> 0
  AND about = $2::text;

-- name: list_queues
--
-- All queues, with one pass over all runs. What a row is: 0 a pause, 1 owned,
-- 2 needs a node, 3 due, 4 later.
SELECT g.queue, max(g.paused_at), coalesce(max(g.about), '{}'::text),
  count(*) FILTER (WHERE g.kind = 1),
  count(*) FILTER (WHERE g.kind = 3),
  count(*) FILTER (WHERE g.kind = 4),
  count(*) FILTER (WHERE g.kind = 2),
  min(g.wake_at) FILTER (WHERE g.kind = 3),
  count(*) FILTER (WHERE g.kind = 1 AND g.slot > 0)
FROM (
  SELECT queue, NULL::int8 AS paused_at, NULL::text AS about,
    wake_at, CASE
    WHEN engine_id IS NOT NULL THEN 1
    WHEN needs <> 'cascade.turn' THEN 2
    WHEN wake_at <= floor(extract(epoch FROM now()) * 1000)::int8 THEN 3
    ELSE 4 END AS kind, slot
  FROM public.cascade_runs
  UNION ALL
  SELECT queue, paused_at, about, NULL, 0, 0
  FROM public.cascade_queues
  WHERE paused_at <> 0) AS g
GROUP BY g.queue
ORDER BY g.queue COLLATE "C";

-- name: count_totals
--
-- Cascades by status, without those that are marked, which are looked up; and
-- the numbers of messages and of marks. Of the tables nothing is read where
-- their pages are known to be visible to all: status is in an index.
SELECT count(*) FILTER (WHERE status = 'RUNNING')
    - (SELECT count(*)
      FROM public.cascade_erasures AS x
      WHERE (SELECT c.status
        FROM public.cascades AS c
        WHERE c.id = x.cascade_id) = 'RUNNING'),
  count(*) FILTER (WHERE status = 'COMPLETED')
    - (SELECT count(*)
      FROM public.cascade_erasures AS x
      WHERE (SELECT c.status
        FROM public.cascades AS c
        WHERE c.id = x.cascade_id) = 'COMPLETED'),
  count(*) FILTER (WHERE status = 'ERROR')
    - (SELECT count(*)
      FROM public.cascade_erasures AS x
      WHERE (SELECT c.status
        FROM public.cascades AS c
        WHERE c.id = x.cascade_id) = 'ERROR'),
  (SELECT count(*) FROM public.cascade_messages),
  (SELECT count(*) FROM public.cascade_erasures)
FROM public.cascades;
