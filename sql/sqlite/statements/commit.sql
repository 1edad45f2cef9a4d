-- SPDX-License-Identifier: MIT
--
-- What a batch writes: see commit.c for the order.

-- name: advance_lane
-- verb: commit
--
-- The fence: moves a lane on to this batch.
--
-- ?1 engine, ?2 lane, ?3 number of the batch
UPDATE main.cascade_lanes
SET batch = ?3
WHERE engine_id = ?1 AND lane = ?2 AND batch = ?3 - 1;

-- name: get_lane
-- verb: commit
--
-- The last batch of a lane.
--
-- ?1 engine, ?2 lane
SELECT batch
FROM main.cascade_lanes
WHERE engine_id = ?1 AND lane = ?2;

-- name: settle_lane
-- verb: settle
--
-- Takes a batch back that has not come, whose number is spent with it.
--
-- ?1 engine, ?2 lane, ?3 number of the batch
UPDATE main.cascade_lanes
SET batch = ?3 + 1
WHERE engine_id = ?1 AND lane = ?2 AND batch = ?3 - 1;

-- name: insert_cascade
-- verb: insert a cascade
--
-- Inserts a cascade.
--
-- ?1-?6 its columns
INSERT INTO main.cascades
  (id, status, fn_id, user_id, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO NOTHING;

-- name: touch_cascade
-- verb: update a cascade
--
-- The common case: the status stays, so the index need not be touched.
--
-- ?1 cascade, ?2 executions, ?3 updated
UPDATE main.cascades
SET fn_id = ?2, updated_at = ?3
WHERE id = ?1 AND status = 'RUNNING';

-- name: update_cascade
-- verb: update a cascade
--
-- Updates a cascade.
--
-- ?1 cascade, ?2 status, ?3 executions, ?4 updated
UPDATE main.cascades
SET status = ?2, fn_id = ?3, updated_at = ?4
WHERE id = ?1;

-- name: insert_execution
-- verb: insert an execution
--
-- Inserts an execution.
--
-- ?1-?12 its columns
INSERT INTO main.node_executions
  (id, cascade_id, function_id, status, node_instance_id,
   node_name, input_context, full_output, location, error,
   started_at, completed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);

-- name: update_execution
-- verb: update an execution
--
-- Ends an execution that is RUNNING.
--
-- ?1 cascade, ?2 number, ?3 status, ?4 full output, ?5 error, ?6 completed
UPDATE main.node_executions
SET status = ?3, full_output = ?4, error = ?5, completed_at = ?6
WHERE cascade_id = ?1 AND function_id = ?2 AND status = 'RUNNING';

-- name: get_first_execution
-- verb: look up a cascade
--
-- A row when the cascade is there; NULL when it has no execution 0.
--
-- ?1 cascade
SELECT e.id
FROM main.cascades AS c
LEFT JOIN main.node_executions AS e
  ON e.cascade_id = c.id AND e.function_id = 0
WHERE c.id = ?1;

-- name: insert_event
-- verb: insert an event
--
-- Inserts an event.
--
-- ?1-?6 its columns
INSERT INTO main.context_events
  (cascade_id, function_id, key, value, ui_value, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: insert_run
-- verb: insert a run
--
-- Inserts a run. One that is due in a queue with limits waits by its key.
--
-- ?1-?10 its columns, ?11 now
INSERT INTO main.cascade_runs
  (cascade_id, queue, priority, wake_at, engine_id,
   claim_no, takeovers, needs, limit_key, slot)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
  CASE WHEN ?5 IS NULL AND ?8 = '' AND ?7 = 0 AND ?4 <= ?11 AND ?9 <> ''
    AND EXISTS (SELECT 1 FROM main.cascade_queues
      WHERE queue = ?2 AND version <> 0) THEN 'cascade.turn' ELSE ?8 END,
  ifnull(?9, ''), ?10);

-- name: reset_run
-- verb: update a run
--
-- Takes it that a run is well.
--
-- ?1 cascade, ?2 engine
UPDATE main.cascade_runs
SET takeovers = 0, trial = 0
WHERE cascade_id = ?1 AND engine_id = ?2;

-- name: free_run
-- verb: update a run
--
-- Gives a run up, until its time.
--
-- ?1 cascade, ?2 engine, ?3 time, ?4 the node that it needs
UPDATE main.cascade_runs
SET engine_id = NULL, takeovers = 0, trial = 0,
  wake_at = ?3, needs = ?4, slot = 0
WHERE cascade_id = ?1 AND engine_id = ?2;

-- name: revive_run
-- verb: update a run
--
-- Moves a run to another queue, priority and limit key.
--
-- ?1 cascade, ?2 engine, ?3 queue, ?4 priority, ?5 key
UPDATE main.cascade_runs
SET queue = ?3, priority = ?4, limit_key = ifnull(?5, ''), takeovers = 0,
  trial = 0, slot = 0
WHERE cascade_id = ?1 AND engine_id = ?2;

-- name: delete_run
-- verb: delete a run
--
-- Deletes the run of a cascade that has ended.
--
-- ?1 cascade
DELETE FROM main.cascade_runs
WHERE cascade_id = ?1;
