-- SPDX-License-Identifier: MIT
--
-- Queues and counts: on demand only, since they read more than they tell.

-- name: pause_queue
--
-- Pauses a queue.
--
-- $1 queue, $2 words about it
INSERT INTO public.cascade_queues (queue, paused_at, about)
SELECT $1::text, floor(extract(epoch FROM now()) * 1000)::int8, $2::text
ON CONFLICT (queue) DO NOTHING
RETURNING 1;

-- name: resume_queue
--
-- Resumes a queue.
--
-- $1 queue
DELETE FROM public.cascade_queues WHERE queue = $1::text RETURNING 1;

-- name: look_paused
--
-- Whether a queue is paused with these words: behind a try without an answer.
--
-- $1 queue, $2 words about it
SELECT count(*)
FROM public.cascade_queues
WHERE queue = $1::text
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
  min(g.wake_at) FILTER (WHERE g.kind = 3)
FROM (
  SELECT queue, NULL::int8 AS paused_at, NULL::text AS about,
    wake_at, CASE
    WHEN engine_id IS NOT NULL THEN 1
    WHEN needs IS NOT NULL THEN 2
    WHEN wake_at <= floor(extract(epoch FROM now()) * 1000)::int8 THEN 3
    ELSE 4 END AS kind
  FROM public.cascade_runs
  UNION ALL
  SELECT queue, paused_at, about, NULL, 0
  FROM public.cascade_queues) AS g
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
