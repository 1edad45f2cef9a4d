-- SPDX-License-Identifier: MIT
--
-- Paused queues, and what each engine says of itself. By hand, after
-- 003_children.sql:
--
--     sqlite3 -bail orders.db < 004_management.sql
--
-- SQLite refuses to add a column that is there: applying this again ends with
-- that error and changes nothing. All of it is applied, or nothing is.
--
-- Like messages and keys, paused queues are data, and are backed up. An engine
-- of a release that does not know this file goes on beside others, and claims
-- from paused queues too.

SAVEPOINT management;

-- A row: the queue is paused. `about` is JSON: by whom, and why. paused_at is in
-- milliseconds since 1970, UTC.
CREATE TABLE IF NOT EXISTS cascade_queues (
    queue TEXT NOT NULL PRIMARY KEY,
    paused_at INTEGER NOT NULL,
    about TEXT NOT NULL
) WITHOUT ROWID;

-- JSON: what it serves.
ALTER TABLE cascade_engines
    ADD COLUMN about TEXT NOT NULL DEFAULT '{}';

INSERT INTO cascade_schema (number, name)
    VALUES (4, '004_management')
    ON CONFLICT (number) DO NOTHING;

RELEASE management;
