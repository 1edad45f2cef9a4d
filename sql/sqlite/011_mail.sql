-- SPDX-License-Identifier: MIT
--
-- Messages by the queue that their receivers are in: what waits for queues that
-- an engine does not serve is none of its business. By hand, after
-- 010_lists.sql:
--
--     sqlite3 -bail orders.db < 011_mail.sql
--
-- SQLite refuses to add a column that is there: applying this again ends with
-- that error and changes nothing. All of it is applied, or nothing is.
--
-- An engine of a release that does not know this file may go on beside others.
-- What it sends has no queue, and is looked at by all.

SAVEPOINT mail;

-- The queue of the run as the message was sent; '': there was no run, or
-- somebody else has sent it. A hint: a run may be in another queue by now, and
-- looks come past every message in time.
ALTER TABLE cascade_messages
    ADD COLUMN queue TEXT NOT NULL DEFAULT '';

UPDATE cascade_messages
    SET queue = ifnull((
        SELECT r.queue
        FROM cascade_runs AS r
        WHERE r.cascade_id = cascade_messages.cascade_id), '');

CREATE INDEX IF NOT EXISTS cascade_messages_queue_idx
    ON cascade_messages (queue, cascade_id);

INSERT INTO cascade_schema (number, name)
    VALUES (11, '011_mail')
    ON CONFLICT (number) DO NOTHING;

RELEASE mail;
