-- SPDX-License-Identifier: MIT
--
-- Queues with limits, whose runs are served by their keys. By hand, after
-- 010_lists.sql:
--
--     sqlite3 -bail orders.db < 011_limits.sql
--
-- SQLite refuses to add a column that is there: applying this again ends with
-- that error and changes nothing. All of it is applied, or nothing is.
--
-- An engine of a release that does not know this file may go on beside others.
-- To it a queue with limits is one that is paused. If it resumes such a queue,
-- it takes its limits away.

SAVEPOINT limits;

-- A row: the queue is paused (paused_at is not 0), or has limits (version is
-- not 0, and grows with each change). 0 as a maximum: there is none.
-- limits_about is JSON: by whom, and why.
ALTER TABLE cascade_queues
    ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cascade_queues
    ADD COLUMN running_max INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cascade_queues
    ADD COLUMN key_running_max INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cascade_queues
    ADD COLUMN limits_about TEXT NOT NULL DEFAULT '{}';

-- slot: 1 while it is owned and counts for the limits.
ALTER TABLE cascade_runs
    ADD COLUMN limit_key TEXT NOT NULL DEFAULT '';
ALTER TABLE cascade_runs
    ADD COLUMN slot INTEGER NOT NULL DEFAULT 0;

-- Runs that are due in a queue with limits, by key. What they need is no node,
-- so those who know nothing of limits pass them.
CREATE INDEX IF NOT EXISTS cascade_runs_turn_idx
    ON cascade_runs (queue, limit_key, priority DESC, wake_at)
    WHERE engine_id IS NULL AND needs = 'cascade.turn';

-- What is in use.
CREATE INDEX IF NOT EXISTS cascade_runs_slot_idx
    ON cascade_runs (queue, limit_key)
    WHERE engine_id IS NOT NULL AND slot > 0;

INSERT INTO cascade_schema (number, name)
    VALUES (11, '011_limits')
    ON CONFLICT (number) DO NOTHING;

RELEASE limits;
