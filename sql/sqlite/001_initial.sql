-- SPDX-License-Identifier: MIT
--
-- The tables of libcascade in SQLite. The library applies this file when it
-- opens a database (CASCADE_MIGRATE_AUTO); by hand:
--
--     sqlite3 orders.db < 001_initial.sql
--
-- Applying it again changes nothing. Tables that exist are left as they are;
-- the library checks their columns when it opens the database. UUID, JSONB and
-- enums are TEXT; a TIMESTAMP is TEXT 'YYYY-MM-DD HH:MM:SS.sss' in UTC. The
-- defaults are for other programs: libcascade sets every column.

-- ---- The truth: three tables ----------------------------------------------

CREATE TABLE IF NOT EXISTS cascades (
    id TEXT NOT NULL PRIMARY KEY DEFAULT (
        lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' ||
              substr(hex(randomblob(2)), 2) || '-8' ||
              substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))
        CHECK (length(id) = 36 AND id = lower(id)),
    status TEXT NOT NULL DEFAULT 'RUNNING'
        CHECK (status IN ('RUNNING', 'COMPLETED', 'ERROR')),
    fn_id INTEGER NOT NULL DEFAULT 0,
    user_id TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);

CREATE INDEX IF NOT EXISTS cascades_user_id_status_idx
    ON cascades (user_id, status, id);

CREATE TABLE IF NOT EXISTS node_executions (
    id TEXT NOT NULL PRIMARY KEY DEFAULT (
        lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' ||
              substr(hex(randomblob(2)), 2) || '-8' ||
              substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))
        CHECK (length(id) = 36 AND id = lower(id)),
    node_instance_id TEXT NOT NULL UNIQUE,
    cascade_id TEXT NOT NULL,
    node_name TEXT NOT NULL,
    function_id INTEGER NOT NULL,
    input_context TEXT NOT NULL,
    full_output TEXT,
    location TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'RUNNING'
        CHECK (status IN ('RUNNING', 'COMPLETED', 'FAILED')),
    error TEXT,
    started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    completed_at TEXT,
    CONSTRAINT fk_node_executions_cascade
        FOREIGN KEY (cascade_id)
        REFERENCES cascades (id)
        ON DELETE CASCADE,
    CONSTRAINT node_executions_cascade_function_unique
        UNIQUE (cascade_id, function_id)
);

-- An id may come back after the row with the highest one was deleted. That
-- harms nobody: ids only order the events of one cascade, and the new one is
-- above all that are there.
CREATE TABLE IF NOT EXISTS context_events (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    ui_value TEXT,
    function_id INTEGER NOT NULL,
    cascade_id TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    CONSTRAINT fk_context_events_cascade
        FOREIGN KEY (cascade_id)
        REFERENCES cascades (id)
        ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS context_events_cascade_function_idx
    ON context_events (cascade_id, function_id);

-- ---- Dispatch: can be rebuilt from the truth ------------------------------

-- One row for each cascade that has not ended. Times here are milliseconds
-- since 1970, UTC.
CREATE TABLE IF NOT EXISTS cascade_runs (
    cascade_id TEXT NOT NULL PRIMARY KEY
        REFERENCES cascades (id) ON DELETE CASCADE,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    wake_at INTEGER NOT NULL,            -- free, and not to be run before that
    engine_id TEXT,                      -- the owner; NULL: free
    claim_no INTEGER NOT NULL,           -- raised by every claim
    takeovers INTEGER NOT NULL,          -- since the last commit
    needs TEXT NOT NULL DEFAULT ''       -- the node its last owner lacked
) WITHOUT ROWID;

-- For claims. What all but the last two columns have in common is a shelf: a
-- claim takes or passes it as a whole, so it never walks over parked rows or
-- rows it may not have.
CREATE INDEX IF NOT EXISTS cascade_runs_free_idx
    ON cascade_runs (queue, needs, takeovers, priority, wake_at)
    WHERE engine_id IS NULL;

CREATE INDEX IF NOT EXISTS cascade_runs_owner_idx
    ON cascade_runs (engine_id)
    WHERE engine_id IS NOT NULL;

-- One row for each live incarnation of an engine. The lease ends at
-- lease_until_ms of the monotonic clock of the machine boot `boot`.
CREATE TABLE IF NOT EXISTS cascade_engines (
    engine_id TEXT NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process_start INTEGER NOT NULL,
    boot TEXT NOT NULL,
    lease_ms INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    attached_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The number of the last batch that each lane of an incarnation committed.
CREATE TABLE IF NOT EXISTS cascade_lanes (
    engine_id TEXT NOT NULL,
    lane INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    PRIMARY KEY (engine_id, lane)
) WITHOUT ROWID;

-- ---- What was applied. Last: a file that was cut short is not recorded. ----

CREATE TABLE IF NOT EXISTS cascade_schema (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT,     -- SHA-256 of the file; NULL until the library fills it
    applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);

INSERT INTO cascade_schema (number, name)
    VALUES (1, '001_initial')
    ON CONFLICT (number) DO NOTHING;
