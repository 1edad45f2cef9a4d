-- SPDX-License-Identifier: MIT
--
-- Pages of cascades are look-ups, whatever is asked for: of a user, of a status
-- that few have, of a queue. By hand as the files before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 012_lists.sql
--
-- On a large table each index takes a while (a million cascades some seconds),
-- during which nobody can write.
--
-- Engines of the release before may go on running.

-- With the id behind it: a page of a user is read in the order of ids, where
-- the one before had all of the user's cascades sorted for each page.
DROP INDEX IF EXISTS cascades_user_id_status_idx;
CREATE INDEX cascades_user_id_status_idx
    ON cascades (user_id, status, id);

-- Of all users. Most cascades have completed: those are not in it.
CREATE INDEX IF NOT EXISTS cascades_status_idx
    ON cascades (status, id)
    WHERE status OPERATOR(pg_catalog.<>) 'COMPLETED';

CREATE INDEX IF NOT EXISTS cascade_runs_queue_idx
    ON cascade_runs (queue, cascade_id);

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (12, '012_lists', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
