-- SPDX-License-Identifier: MIT
--
-- Messages and keys. By hand, after 001_initial.sql:
--
--     sqlite3 orders.db < 002_messages.sql
--
-- Applying it again changes nothing. Unlike the runs, both tables are data: they
-- cannot be rebuilt from the three tables and are backed up with them.

-- What somebody asked of a cascade and it has not received yet. `path` is the
-- node_instance_id that the receipt will have. No foreign key: the cascade may
-- be started later, or be gone. sent_at is in milliseconds since 1970, UTC.
--
-- AUTOINCREMENT: an id never comes back, so who deletes what it received cannot
-- delete another message.
CREATE TABLE IF NOT EXISTS cascade_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cascade_id TEXT NOT NULL
        CHECK (length(cascade_id) = 36 AND cascade_id = lower(cascade_id)),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    payload TEXT NOT NULL,
    sent_at INTEGER NOT NULL
);

CREATE INDEX IF NOT EXISTS cascade_messages_cascade_idx
    ON cascade_messages (cascade_id, id);

-- The number of the current run of a key; no row where that is the first.
CREATE TABLE IF NOT EXISTS cascade_keys (
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    run_number INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
) WITHOUT ROWID;

INSERT INTO cascade_schema (number, name)
    VALUES (2, '002_messages')
    ON CONFLICT (number) DO NOTHING;
