-- SPDX-License-Identifier: MIT
--
-- What outlives runs that have continued as new, and were deleted. By hand,
-- after 006_trial.sql:
--
--     sqlite3 orders.db < 007_links.sql
--
-- Applying it again changes nothing. It is data, and is backed up with the
-- tables: without it what is sent to such a run does not come to the next, and
-- a request that it has received is received again.
--
-- An engine of a release that does not know this file may go on beside others.
-- It writes no links, and finds none.

-- path: <root>, the run that was started: one row for all its runs, where
--       next_id is the last of them, and number its number, negative;
--       the id of a later run that is gone; or
--       <root>/message/..., of what a run that is gone has received.
-- number: of these two, in the order in which they came.
CREATE TABLE IF NOT EXISTS cascade_links (
    path TEXT NOT NULL PRIMARY KEY,
    root TEXT NOT NULL
        CHECK (length(root) = 36 AND root = lower(root)),
    next_id TEXT
        CHECK (length(next_id) = 36 AND next_id = lower(next_id)),
    number INTEGER NOT NULL,
    CHECK ((next_id IS NOT NULL) = (number < 0))
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS cascade_links_root
    ON cascade_links (root, number);
CREATE INDEX IF NOT EXISTS cascade_links_chain
    ON cascade_links (root) WHERE next_id IS NOT NULL;

INSERT INTO cascade_schema (number, name)
    VALUES (7, '007_links')
    ON CONFLICT (number) DO NOTHING;
