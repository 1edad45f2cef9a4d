-- SPDX-License-Identifier: MIT
--
-- What outlives runs that have continued as new, and were deleted. By hand as
-- the files before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 008_links.sql
--
-- It is data, and is backed up with the tables: without it what is sent to such
-- a run does not come to the next, and a request that it has received is
-- received again.
--
-- Engines of the release before may go on running. They write no links, and
-- find none.

-- path: <root>, the run that was started: one row for all its runs, where
--       next_id is the last of them, and number its number, negative;
--       the id of a later run that is gone; or
--       <root>/message/..., of what a run that is gone has received.
-- number: of these two, in the order in which they came.
CREATE TABLE IF NOT EXISTS cascade_links (
    path    TEXT COLLATE "C" PRIMARY KEY,
    root    UUID NOT NULL,
    next_id UUID,
    number  BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS cascade_links_root
    ON cascade_links (root, number);
CREATE INDEX IF NOT EXISTS cascade_links_chain
    ON cascade_links (root) WHERE next_id IS NOT NULL;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (8, '008_links', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
