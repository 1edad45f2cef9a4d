-- SPDX-License-Identifier: MIT
--
-- The tables of libcascade. The library applies this file when a store is
-- opened; by hand, into the first schema of the search_path:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 001_initial.sql
--
-- The first three tables determine the state of every cascade and are those of
-- Cascaide, name by name; where they exist already they are left as they are.
-- Two things are new in new ones: context_events.id has 64 bits, and pages are
-- filled to 70 %, so that most updates find room on their own page. Times are
-- UTC. The library sets every column itself; the defaults are for others.
--
-- The tables cascade_* hold dispatch: who runs what, and when. Their times are
-- milliseconds since 1970-01-01 UTC by this server's clock.

DO $$
BEGIN
    CREATE TYPE cascade_status AS ENUM ('RUNNING', 'COMPLETED', 'ERROR');
EXCEPTION
    WHEN duplicate_object THEN NULL;
END
$$;

DO $$
BEGIN
    CREATE TYPE execution_status AS ENUM ('RUNNING', 'COMPLETED', 'FAILED');
EXCEPTION
    WHEN duplicate_object THEN NULL;
END
$$;

CREATE TABLE IF NOT EXISTS cascades (
    id         UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    status     cascade_status NOT NULL DEFAULT 'RUNNING',
    fn_id      INTEGER NOT NULL DEFAULT 0,
    user_id    TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT now(),
    updated_at TIMESTAMP NOT NULL DEFAULT now()
) WITH (fillfactor = 70);

CREATE INDEX IF NOT EXISTS cascades_user_id_status_idx
    ON cascades (user_id, status);

CREATE TABLE IF NOT EXISTS node_executions (
    id               UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    node_instance_id TEXT NOT NULL UNIQUE,
    cascade_id       UUID NOT NULL,
    node_name        TEXT NOT NULL,
    function_id      INTEGER NOT NULL,
    input_context    JSONB NOT NULL,
    full_output      JSONB,
    location         TEXT NOT NULL,
    status           execution_status NOT NULL DEFAULT 'RUNNING',
    error            TEXT,
    started_at       TIMESTAMP NOT NULL DEFAULT now(),
    completed_at     TIMESTAMP,
    CONSTRAINT fk_node_executions_cascade
        FOREIGN KEY (cascade_id)
        REFERENCES cascades (id)
        ON DELETE CASCADE,
    CONSTRAINT node_executions_cascade_function_unique
        UNIQUE (cascade_id, function_id)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS context_events (
    id          BIGSERIAL PRIMARY KEY,
    key         TEXT NOT NULL,
    value       JSONB NOT NULL,
    ui_value    JSONB,
    function_id INTEGER NOT NULL,
    cascade_id  UUID NOT NULL,
    created_at  TIMESTAMP NOT NULL DEFAULT now(),
    CONSTRAINT fk_context_events_cascade
        FOREIGN KEY (cascade_id)
        REFERENCES cascades (id)
        ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS context_events_cascade_function_idx
    ON context_events (cascade_id, function_id);

-- One row for each cascade that has not ended. engine_id names the incarnation
-- that owns it; NULL: free, and claimable from wake_at on. A run whose
-- engine_id names no row of cascade_engines is orphaned and will be freed.
CREATE TABLE IF NOT EXISTS cascade_runs (
    cascade_id UUID PRIMARY KEY
        REFERENCES cascades (id)
        ON DELETE CASCADE,
    queue      TEXT NOT NULL,
    priority   INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    wake_at    BIGINT NOT NULL,
    engine_id  UUID,
    claim_no   BIGINT NOT NULL,
    takeovers  INTEGER NOT NULL, -- since the last commit
    needs      TEXT              -- the node that its last owner did not know
) WITH (fillfactor = 70);

-- A claim probes each priority level for what is due. Runs that need a node are
-- apart, so that those nobody here knows are not walked over each time; so are
-- those that were taken over, of which few among many due ones are looked for.
CREATE INDEX IF NOT EXISTS cascade_runs_claim_idx
    ON cascade_runs (queue, priority, wake_at)
    WHERE engine_id IS NULL AND needs IS NULL;

CREATE INDEX IF NOT EXISTS cascade_runs_needs_idx
    ON cascade_runs (needs, queue, priority DESC, wake_at)
    WHERE engine_id IS NULL AND needs IS NOT NULL;

-- When the next of them is due. That needs >= '' says the same as IS NOT NULL,
-- but keeps the index from being taken for the one above.
CREATE INDEX IF NOT EXISTS cascade_runs_needs_wake_idx
    ON cascade_runs (queue, wake_at)
    WHERE engine_id IS NULL AND needs >= '';

CREATE INDEX IF NOT EXISTS cascade_runs_suspect_idx
    ON cascade_runs (queue, priority DESC, wake_at, takeovers)
    WHERE engine_id IS NULL AND takeovers > 0;

CREATE INDEX IF NOT EXISTS cascade_runs_engine_idx
    ON cascade_runs (engine_id)
    WHERE engine_id IS NOT NULL;

-- One row for each live incarnation of an engine. The lease alone means
-- nothing: an engine is gone when its row is.
CREATE TABLE IF NOT EXISTS cascade_engines (
    engine_id     UUID PRIMARY KEY,
    host          TEXT NOT NULL,
    pid           BIGINT NOT NULL,
    process_start BIGINT NOT NULL,
    lane_count    INTEGER NOT NULL,
    lease_until   BIGINT NOT NULL
) WITH (fillfactor = 50);

-- The number of the last batch of each lane: what a commit is fenced by.
-- Updated once a batch, so most of a page is left free.
CREATE TABLE IF NOT EXISTS cascade_lanes (
    engine_id UUID NOT NULL,
    lane      INTEGER NOT NULL,
    batch     BIGINT NOT NULL,
    PRIMARY KEY (engine_id, lane)
) WITH (fillfactor = 20);

CREATE TABLE IF NOT EXISTS cascade_schema (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT, -- SHA-256 of the file; NULL: applied by hand
    applied_at TIMESTAMP NOT NULL
);

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (1, '001_initial', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
