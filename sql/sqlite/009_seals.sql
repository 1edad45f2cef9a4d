-- SPDX-License-Identifier: MIT
--
-- Seals of cascades, and of messages: by them an edit of their rows is found.
-- By hand, after 008_chains.sql:
--
--     sqlite3 -bail orders.db < 009_seals.sql
--
-- SQLite refuses to add a column that is there: applying this again ends with
-- that error and changes nothing. All of it is applied, or nothing is.
--
-- Nothing is written here by stores without integrity. An engine of a release
-- that does not know this file may go on beside others of such a store.

SAVEPOINT seals;

-- One row for each cascade of a store with integrity, and one for the store
-- itself, with the id that is all zero. number: how often it was written.
CREATE TABLE IF NOT EXISTS cascade_seals (
    cascade_id TEXT NOT NULL PRIMARY KEY
        CHECK (length(cascade_id) = 36 AND cascade_id = lower(cascade_id)),
    number INTEGER NOT NULL,
    seal TEXT NOT NULL
) WITHOUT ROWID;

ALTER TABLE cascade_messages
    ADD COLUMN seal TEXT;

INSERT INTO cascade_schema (number, name)
    VALUES (9, '009_seals')
    ON CONFLICT (number) DO NOTHING;

RELEASE seals;
