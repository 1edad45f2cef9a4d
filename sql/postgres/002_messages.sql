-- SPDX-License-Identifier: MIT
--
-- Messages to cascades, and the current run of each key. By hand as the file
-- before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 002_messages.sql

-- What somebody asks of a cascade, until its receipt is committed: signals,
-- commands, completions from outside. Ids ascend in the order of sending: the
-- sequence hands out one at a time (CACHE 1). `path` is the node_instance_id of
-- the receipt. There is no foreign key: a sender may name any cascade, and
-- touches no row but its own. Times are milliseconds since 1970-01-01 UTC.
CREATE TABLE IF NOT EXISTS cascade_messages (
    id         BIGSERIAL PRIMARY KEY,
    cascade_id UUID NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    path       TEXT NOT NULL UNIQUE,
    payload    JSONB NOT NULL,
    sent_at    BIGINT NOT NULL
) WITH (
    -- Rows come and go: a claim walks over this table's index, so what is dead
    -- in it is cleared away early, however large the table is.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX IF NOT EXISTS cascade_messages_cascade_idx
    ON cascade_messages (cascade_id, id);

-- No row: the current run is the first.
CREATE TABLE IF NOT EXISTS cascade_keys (
    user_id    TEXT NOT NULL,
    key        TEXT NOT NULL,
    run_number INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
);

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (2, '002_messages', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
