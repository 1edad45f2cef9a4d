-- SPDX-License-Identifier: MIT
--
-- Cascades that are deleted, while something of them is left. By hand, after
-- 004_management.sql:
--
--     sqlite3 orders.db < 005_erasures.sql
--
-- Applying it again changes nothing. Whoever reads the tables leaves out what
-- has a row here. It is data, and is backed up with the tables: without it a
-- cascade that was deleted would be there again, in part.
--
-- An engine of a release that does not know this file may go on beside others.
-- It sees what is left of such a cascade, and goes on deleting in its own way.

-- engine_id: who erases it; NULL: nobody yet. marked_at is in milliseconds
-- since 1970, UTC.
CREATE TABLE IF NOT EXISTS cascade_erasures (
    cascade_id TEXT NOT NULL PRIMARY KEY
        CHECK (length(cascade_id) = 36 AND cascade_id = lower(cascade_id)),
    engine_id TEXT,
    marked_at INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO cascade_schema (number, name)
    VALUES (5, '005_erasures')
    ON CONFLICT (number) DO NOTHING;
