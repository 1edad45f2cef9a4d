-- SPDX-License-Identifier: MIT
--
-- Queues and counts: on demand only, since they read more than they tell.

-- name: pause_queue
-- verb: pause a queue
--
-- Pauses a queue; what limits it has stay.
--
-- ?1 queue, ?2 now, ?3 words about it
INSERT INTO main.cascade_queues (queue, paused_at, about)
VALUES (?1, ?2, ?3)
ON CONFLICT (queue) DO UPDATE
SET paused_at = excluded.paused_at, about = excluded.about
WHERE paused_at = 0;

-- name: resume_queue
-- verb: resume a queue
--
-- Resumes a queue.
--
-- ?1 queue
UPDATE main.cascade_queues
SET paused_at = 0, about = '{}'
WHERE queue = ?1 AND paused_at <> 0;

-- name: clear_queue
-- verb: resume a queue
--
-- Deletes the row of a queue that is not paused and has no limits.
--
-- ?1 queue
DELETE FROM main.cascade_queues
WHERE queue = ?1 AND paused_at = 0 AND version = 0;

-- name: set_limits
-- verb: set the limits of a queue
--
-- Sets the limits of a queue.
--
-- ?1 queue, ?2 version, ?3, ?4 maxima, ?5 words about them
INSERT INTO main.cascade_queues
  (queue, paused_at, about, version, running_max, key_running_max,
   limits_about)
VALUES (?1, 0, '{}', ?2, ?3, ?4, ?5)
ON CONFLICT (queue) DO UPDATE
SET version = excluded.version, running_max = excluded.running_max,
  key_running_max = excluded.key_running_max,
  limits_about = excluded.limits_about;

-- name: drop_limits
-- verb: set the limits of a queue
--
-- Takes the limits of a queue away, if it has any.
--
-- ?1 queue
UPDATE main.cascade_queues
SET version = 0, running_max = 0, key_running_max = 0, limits_about = '{}'
WHERE queue = ?1 AND version <> 0;

-- name: get_limits
-- verb: list the limits of queues
--
-- The limits of a queue, if it has any.
--
-- ?1 queue
SELECT queue, version, running_max, key_running_max, limits_about
FROM main.cascade_queues
WHERE queue = ?1 AND version <> 0;

-- name: list_limits
-- verb: list the limits of queues
--
-- Those of all queues, by name.
--
-- ?1 above, ?2 at most
SELECT queue, version, running_max, key_running_max, limits_about
FROM main.cascade_queues
WHERE queue > ?1 AND version <> 0
ORDER BY queue
LIMIT ?2;

-- name: list_queues
-- verb: list the queues
--
-- All queues. The free runs in the order of their index, where nothing has to
-- be sorted; those that are owned are few. With the plus their queues are not
-- read from an index, which has all runs.
--
-- ?1 now
SELECT u.queue, q.paused_at, ifnull(q.about, '{}'),
  sum(owned), sum(due), sum(later), sum(needing), min(due_since),
  sum(slots)
FROM (
  SELECT queue, 0 AS owned,
    count(*) FILTER (WHERE needs IN ('', 'cascade.turn')
      AND wake_at <= ?1) AS due,
    count(*) FILTER (WHERE needs IN ('', 'cascade.turn')
      AND wake_at > ?1) AS later,
    count(*) FILTER (WHERE needs NOT IN ('', 'cascade.turn')) AS needing,
    min(wake_at) FILTER (WHERE needs IN ('', 'cascade.turn')
      AND wake_at <= ?1) AS due_since,
    0 AS slots
  FROM main.cascade_runs
  WHERE engine_id IS NULL
  GROUP BY queue
  UNION ALL
  SELECT queue, count(*), 0, 0, 0, NULL, sum(slot)
  FROM main.cascade_runs
  WHERE engine_id IS NOT NULL
  GROUP BY +queue
  UNION ALL
  SELECT queue, 0, 0, 0, 0, NULL, 0
  FROM main.cascade_queues
  WHERE paused_at <> 0) AS u
LEFT JOIN main.cascade_queues AS q
  ON q.queue = u.queue AND q.paused_at <> 0
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
