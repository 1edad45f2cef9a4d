-- SPDX-License-Identifier: MIT
--
-- Queues with limits, whose runs are served by their keys. By hand as the files
-- before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 013_limits.sql
--
-- Run roles.sql again where it is used: limits and pauses of a queue share a
-- row, which is updated now.
--
-- Engines of the release before may go on running. To them a queue with limits
-- is one that is paused: they claim of it what a message names, and nothing
-- else. One that resumes such a queue takes its limits away.

-- A row: the queue is paused (paused_at is not 0), or has limits (version is
-- not 0, and grows with each change). 0 as a maximum: there is none.
-- limits_about is JSON, of whoever has set them.
ALTER TABLE cascade_queues
    ADD COLUMN IF NOT EXISTS version BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS running_max INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS key_running_max INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS limits_about TEXT NOT NULL DEFAULT '{}';

-- slot: 1 while it is owned and counts for the limits. Keys are walked over in
-- the order of their bytes.
ALTER TABLE cascade_runs
    ADD COLUMN IF NOT EXISTS limit_key TEXT COLLATE "C" NOT NULL DEFAULT ''
        CHECK (pg_catalog.octet_length(limit_key) OPERATOR(pg_catalog.<=) 255),
    ADD COLUMN IF NOT EXISTS slot INTEGER NOT NULL DEFAULT 0;

-- Runs that are due in a queue with limits, by key. What they need is no node,
-- so those who know nothing of limits pass them.
CREATE INDEX IF NOT EXISTS cascade_runs_turn_idx
    ON cascade_runs (queue, limit_key, priority DESC, wake_at)
    WHERE engine_id IS NULL AND needs OPERATOR(pg_catalog.=) 'cascade.turn';

-- What is in use.
CREATE INDEX IF NOT EXISTS cascade_runs_slot_idx
    ON cascade_runs (queue, limit_key)
    WHERE engine_id IS NOT NULL AND slot OPERATOR(pg_catalog.>) 0;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (13, '013_limits', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
