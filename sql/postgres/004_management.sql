-- SPDX-License-Identifier: MIT
--
-- Paused queues, and what an engine says of itself. By hand as the files before
-- it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 004_management.sql
--
-- Engines of the release before may go on running: their statements name none
-- of this, and what they insert gets the defaults. They do not know of paused
-- queues.

-- A row: the queue is paused. `about` is JSON, of whoever paused it.
CREATE TABLE IF NOT EXISTS cascade_queues (
    queue     TEXT PRIMARY KEY,
    paused_at BIGINT NOT NULL,
    about     TEXT NOT NULL
);

-- `about` is JSON, of the engine. As text both: they are kept as they come.
ALTER TABLE cascade_engines
    ADD COLUMN IF NOT EXISTS about TEXT NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS started_at BIGINT NOT NULL DEFAULT 0;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (4, '004_management', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
