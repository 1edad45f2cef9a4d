-- SPDX-License-Identifier: MIT
--
-- Pages of cascades, of those that a query asks for. Conditions that it does not
-- have are left out, so that SQLite plans for what is asked. after and
-- behind exclude each other: the second is for an id that was read as a text
-- and is bound as bytes.
--
-- ?1 id, ?2 behind that one, ?3 user, ?4 status, ?5 node, ?6 queue, ?7 limit

-- name: list
--
-- That a status is not COMPLETED is said once more where it is so: the index of
-- the others is taken for that alone.
SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
  r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
  r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
FROM main.cascades AS c
LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
WHERE true
  -- if id
  AND c.id = ?1
  -- if after
  AND c.id > ?2
  -- if behind
  AND c.id > CAST(?2 AS TEXT)
  -- if user
  AND c.user_id = ?3
  -- if status
  AND c.status = ?4
  -- if node
  AND EXISTS (
    SELECT 1 FROM main.node_executions AS n
    WHERE n.cascade_id = c.id AND n.node_name = ?5)
  -- if unfinished
  AND c.status <> 'COMPLETED'
  -- end
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS x
    WHERE x.cascade_id = c.id)
ORDER BY c.id
LIMIT ?7;

-- name: list_queue
--
-- Runs are far fewer than cascades, so those of a queue are found among the
-- runs: CROSS JOIN keeps them outside. The parts are those of LIST.
SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
  r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
  r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
FROM main.cascade_runs AS r
CROSS JOIN main.cascades AS c ON c.id = r.cascade_id
WHERE r.queue = ?6
  -- if id
  AND r.cascade_id = ?1
  -- if after
  AND r.cascade_id > ?2
  -- if behind
  AND r.cascade_id > CAST(?2 AS TEXT)
  -- if user
  AND c.user_id = ?3
  -- if status
  AND c.status = ?4
  -- if node
  AND EXISTS (
    SELECT 1 FROM main.node_executions AS n
    WHERE n.cascade_id = c.id AND n.node_name = ?5)
  -- end
  AND NOT EXISTS (
    SELECT 1 FROM main.cascade_erasures AS x
    WHERE x.cascade_id = c.id)
ORDER BY r.cascade_id
LIMIT ?7;

-- name: list_user
--
-- Those of a user in all statuses. The index by user has the status before the
-- id: its cascades in the order of their ids come from the three parts of the
-- index, merged. Otherwise all of them would be sorted for every page. What
-- stands between these has no status, and cannot be read: it is told (S86), and
-- only that is sorted.
SELECT * FROM (
  SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
    r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
    r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
  FROM main.cascades AS c
  LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
  WHERE true
    -- if after
    AND c.id > ?2
    -- if behind
    AND c.id > CAST(?2 AS TEXT)
    -- end
    AND c.user_id = ?3
    AND c.status = 'RUNNING'
    -- if node
    AND EXISTS (
      SELECT 1 FROM main.node_executions AS n
      WHERE n.cascade_id = c.id AND n.node_name = ?5)
    -- end
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS x
      WHERE x.cascade_id = c.id)
  ORDER BY c.id
  LIMIT ?7)
UNION ALL
SELECT * FROM (
  SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
    r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
    r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
  FROM main.cascades AS c
  LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
  WHERE true
    -- if after
    AND c.id > ?2
    -- if behind
    AND c.id > CAST(?2 AS TEXT)
    -- end
    AND c.user_id = ?3
    AND c.status = 'COMPLETED'
    -- if node
    AND EXISTS (
      SELECT 1 FROM main.node_executions AS n
      WHERE n.cascade_id = c.id AND n.node_name = ?5)
    -- end
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS x
      WHERE x.cascade_id = c.id)
  ORDER BY c.id
  LIMIT ?7)
UNION ALL
SELECT * FROM (
  SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
    r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
    r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
  FROM main.cascades AS c
  LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
  WHERE true
    -- if after
    AND c.id > ?2
    -- if behind
    AND c.id > CAST(?2 AS TEXT)
    -- end
    AND c.user_id = ?3
    AND c.status = 'ERROR'
    -- if node
    AND EXISTS (
      SELECT 1 FROM main.node_executions AS n
      WHERE n.cascade_id = c.id AND n.node_name = ?5)
    -- end
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS x
      WHERE x.cascade_id = c.id)
  ORDER BY c.id
  LIMIT ?7)
UNION ALL
SELECT * FROM (
  SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
    r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
    r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
  FROM main.cascades AS c
  LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
  WHERE true
    -- if after
    AND c.id > ?2
    -- if behind
    AND c.id > CAST(?2 AS TEXT)
    -- end
    AND c.user_id = ?3
    AND c.status < 'COMPLETED'
    -- if node
    AND EXISTS (
      SELECT 1 FROM main.node_executions AS n
      WHERE n.cascade_id = c.id AND n.node_name = ?5)
    -- end
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS x
      WHERE x.cascade_id = c.id)
  ORDER BY c.id
  LIMIT ?7)
UNION ALL
SELECT * FROM (
  SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
    r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
    r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
  FROM main.cascades AS c
  LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
  WHERE true
    -- if after
    AND c.id > ?2
    -- if behind
    AND c.id > CAST(?2 AS TEXT)
    -- end
    AND c.user_id = ?3
    AND c.status > 'COMPLETED'
    AND c.status < 'ERROR'
    -- if node
    AND EXISTS (
      SELECT 1 FROM main.node_executions AS n
      WHERE n.cascade_id = c.id AND n.node_name = ?5)
    -- end
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS x
      WHERE x.cascade_id = c.id)
  ORDER BY c.id
  LIMIT ?7)
UNION ALL
SELECT * FROM (
  SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
    r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
    r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
  FROM main.cascades AS c
  LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
  WHERE true
    -- if after
    AND c.id > ?2
    -- if behind
    AND c.id > CAST(?2 AS TEXT)
    -- end
    AND c.user_id = ?3
    AND c.status > 'ERROR'
    AND c.status < 'RUNNING'
    -- if node
    AND EXISTS (
      SELECT 1 FROM main.node_executions AS n
      WHERE n.cascade_id = c.id AND n.node_name = ?5)
    -- end
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS x
      WHERE x.cascade_id = c.id)
  ORDER BY c.id
  LIMIT ?7)
UNION ALL
SELECT * FROM (
  SELECT c.id, c.status, c.fn_id, c.user_id, c.created_at, c.updated_at,
    r.cascade_id, r.queue, r.priority, r.wake_at, r.engine_id,
    r.claim_no, r.takeovers, r.trial, r.needs, r.limit_key,
  r.slot
  FROM main.cascades AS c
  LEFT JOIN main.cascade_runs AS r ON r.cascade_id = c.id
  WHERE true
    -- if after
    AND c.id > ?2
    -- if behind
    AND c.id > CAST(?2 AS TEXT)
    -- end
    AND c.user_id = ?3
    AND c.status > 'RUNNING'
    -- if node
    AND EXISTS (
      SELECT 1 FROM main.node_executions AS n
      WHERE n.cascade_id = c.id AND n.node_name = ?5)
    -- end
    AND NOT EXISTS (
      SELECT 1 FROM main.cascade_erasures AS x
      WHERE x.cascade_id = c.id)
  ORDER BY c.id
  LIMIT ?7)
ORDER BY 1
LIMIT ?7;
