-- SPDX-License-Identifier: MIT
--
-- Queues and counts: on demand only, since they read more than they tell.

-- name: pause_queue
-- verb: pause a queue
--
-- Pauses a queue.
--
-- ?1 queue, ?2 now, ?3 words about it
INSERT INTO main.cascade_queues (queue, paused_at, about)
VALUES (?1, ?2, ?3)
ON CONFLICT (queue) DO NOTHING;

-- name: resume_queue
-- verb: resume a queue
--
-- Resumes a queue.
--
-- ?1 queue
DELETE FROM main.cascade_queues
WHERE queue = ?1;

-- name: list_queues
-- verb: list the queues
--
-- All queues. The free runs in the order of their index, where nothing has to
-- be sorted; those that are owned are few. With the plus their queues are not
-- read from an index, which has all runs.
--
-- ?1 now
SELECT u.queue, q.paused_at, ifnull(q.about, '{}'),
  sum(owned), sum(due), sum(later), sum(needing), min(due_since)
FROM (
  SELECT queue, 0 AS owned,
    count(*) FILTER (WHERE needs = '' AND wake_at <= ?1) AS due,
    count(*) FILTER (WHERE needs = '' AND wake_at > ?1) AS later,
    count(*) FILTER (WHERE needs <> '') AS needing,
    min(wake_at) FILTER (WHERE needs = '' AND wake_at <= ?1)
    AS due_since
  FROM main.cascade_runs
  WHERE engine_id IS NULL
  GROUP BY queue
  UNION ALL
  SELECT queue, count(*), 0, 0, 0, NULL
  FROM main.cascade_runs
  WHERE engine_id IS NOT NULL
  GROUP BY +queue
  UNION ALL
  SELECT queue, 0, 0, 0, 0, NULL
  FROM main.cascade_queues) AS u
LEFT JOIN main.cascade_queues AS q ON q.queue = u.queue
GROUP BY u.queue
ORDER BY u.queue;

-- name: count_all
-- verb: count the cascades
--
-- Cascades by status, without those that are marked, which are looked up; and
-- the numbers of messages and of marks.
SELECT count(*) FILTER (WHERE status = 'RUNNING')
  - (SELECT count(*) FROM main.cascade_erasures AS x
    WHERE (SELECT c.status FROM main.cascades AS c
      WHERE c.id = x.cascade_id) = 'RUNNING'),
  count(*) FILTER (WHERE status = 'COMPLETED')
  - (SELECT count(*) FROM main.cascade_erasures AS x
    WHERE (SELECT c.status FROM main.cascades AS c
      WHERE c.id = x.cascade_id) = 'COMPLETED'),
  count(*) FILTER (WHERE status = 'ERROR')
  - (SELECT count(*) FROM main.cascade_erasures AS x
    WHERE (SELECT c.status FROM main.cascades AS c
      WHERE c.id = x.cascade_id) = 'ERROR'),
  (SELECT count(*) FROM main.cascade_messages),
  (SELECT count(*) FROM main.cascade_erasures)
FROM main.cascades;
