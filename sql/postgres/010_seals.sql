-- SPDX-License-Identifier: MIT
--
-- Seals of cascades, and of messages: by them an edit of their rows is found.
-- By hand as the files before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 010_seals.sql
--
-- Applying it again changes nothing. Nothing is written here by stores without
-- integrity. An engine of a release that does not know this file may go on
-- beside others of such a store.

-- One row for each cascade of a store with integrity, and one for the store
-- itself, with the id that is all zero. number: how often it was written. Each
-- commit of a cascade writes its row anew; there is room for that in the page.
CREATE TABLE IF NOT EXISTS cascade_seals (
    cascade_id UUID PRIMARY KEY,
    number     BIGINT NOT NULL,
    seal       TEXT NOT NULL
) WITH (fillfactor = 70);

ALTER TABLE cascade_messages
    ADD COLUMN IF NOT EXISTS seal TEXT;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (10, '010_seals', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
