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
-- find none. The function that sends is made anew, with what is linked: that of
-- 006_erasures.sql. After ALTER SCHEMA ... RENAME run 005_functions.sql,
-- 006_erasures.sql and this file once more.

-- path: <root>, the run that was started: one row for all its runs, where
--       next_id is the last of them, and number its number, negative;
--       the id of a later run that is gone; or
--       <root>/message/..., of what a run that is gone has received.
-- number: of these two, in the order in which they came.
CREATE TABLE IF NOT EXISTS cascade_links (
    path    TEXT COLLATE "C" PRIMARY KEY,
    root    UUID NOT NULL,
    next_id UUID,
    number  BIGINT NOT NULL,
    CHECK ((next_id IS NOT NULL) = (number < 0))
);

CREATE INDEX IF NOT EXISTS cascade_links_root
    ON cascade_links (root, number);
CREATE INDEX IF NOT EXISTS cascade_links_chain
    ON cascade_links (root) WHERE next_id IS NOT NULL;

-- The bodies are looked into when they have the name of the schema.
SET LOCAL check_function_bodies = off;

-- The run that was started, of which this is a later one: a request is known by
-- that one's id, whichever run it is sent to.
CREATE OR REPLACE FUNCTION cascade_root_run(id UUID)
RETURNS UUID
LANGUAGE sql
STABLE
AS $$
    SELECT coalesce((
        SELECT (n.full_output -> 'cascade' ->> 'root')::UUID
        FROM cascade_here.node_executions AS n
        WHERE n.cascade_id = cascade_root_run.id
            AND n.function_id = 0
            AND n.full_output -> 'cascade' ->> 'root'
                ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        ), (
        SELECT l.root
        FROM cascade_here.cascade_links AS l
        WHERE l.path = cascade_root_run.id::TEXT
        ), cascade_root_run.id)
$$;

-- Where one that is gone leads; NULL: nowhere.
CREATE OR REPLACE FUNCTION cascade_last_run(id UUID)
RETURNS UUID
LANGUAGE sql
STABLE
AS $$
    SELECT c.next_id
    FROM cascade_here.cascade_links AS l
    JOIN cascade_here.cascade_links AS c ON c.path = l.root::TEXT
    WHERE l.path = cascade_last_run.id::TEXT
$$;

-- Whether a request was received, also by a run that is gone.
CREATE OR REPLACE FUNCTION cascade_is_known(path TEXT)
RETURNS BOOLEAN
LANGUAGE sql
STABLE
AS $$
    SELECT EXISTS (
        SELECT 1
        FROM cascade_here.node_executions AS n
        WHERE n.node_instance_id = cascade_is_known.path)
    OR EXISTS (
        SELECT 1
        FROM cascade_here.cascade_links AS l
        WHERE l.path = cascade_is_known.path)
$$;

-- True when it was sent. False when the request was known already, or when the
-- cascade has ended, and the last run after it too: then it is recorded there
-- as undelivered. Its run sends on what comes after it has continued as new; to
-- one that is gone the last run stands in.
CREATE OR REPLACE FUNCTION cascade_signal(
    cascade_id UUID, name TEXT, payload JSONB DEFAULT NULL,
    request_id TEXT DEFAULT NULL)
RETURNS BOOLEAN
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    content JSONB := cascade_here.cascade_check_payload(
        'cascade_signal: payload', cascade_signal.payload);
    now_ms  BIGINT :=
        floor(extract(epoch FROM clock_timestamp()) * 1000);
    place   TEXT := cascade_here.cascade_root_run(cascade_signal.cascade_id)
        || '/message/signal/';
    run     UUID := cascade_signal.cascade_id;
    state   TEXT;
    hops    INTEGER := 0;
BEGIN
    PERFORM cascade_here.cascade_check_name('cascade_signal: name',
        cascade_signal.name);
    PERFORM cascade_here.cascade_check_text('cascade_signal: request_id',
        cascade_signal.request_id);
    place := place || coalesce(cascade_signal.request_id,
        cascade_here.cascade_random_id(now_ms)::TEXT);
    IF NOT cascade_here.cascade_is_there(run) THEN
        IF cascade_here.cascade_is_known(place) OR EXISTS (
            SELECT 1
            FROM cascade_here.cascade_messages AS m
            WHERE m.path = place) THEN
            RETURN false;
        END IF;
        run := cascade_here.cascade_last_run(run);
    END IF;
    SELECT c.status
    INTO state
    FROM cascade_here.cascades AS c
    WHERE c.id = run;
    IF NOT FOUND OR NOT cascade_here.cascade_is_there(run) THEN
        RAISE EXCEPTION 'cascade_signal: there is no such cascade'
            USING ERRCODE = 'P0002';
    END IF;
    INSERT INTO cascade_here.cascade_messages
        (cascade_id, kind, name, path, payload, sent_at)
    SELECT run, 'signal', cascade_signal.name, place, content, now_ms
    WHERE NOT cascade_here.cascade_is_known(place)
    ON CONFLICT (path) DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    WHILE state <> 'RUNNING' LOOP
        hops := hops + 1;
        IF hops > 1000 THEN
            RAISE EXCEPTION 'cascade_signal: the cascade has continued as new more than 1000 times since; give the id of a later run'
                USING ERRCODE = '54000';
        END IF;
        run := cascade_here.cascade_next_run(run);
        SELECT c.status
        INTO state
        FROM cascade_here.cascades AS c
        WHERE c.id = run;
        IF NOT FOUND OR NOT cascade_here.cascade_is_there(run) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END
$$;

-- Names in them mean these tables only, whatever the caller's search_path and
-- temporary tables are, and operators PostgreSQL's, whatever the schema has.
DO $$
DECLARE
    schema    CONSTANT TEXT := pg_catalog.current_schema();
    path      CONSTANT TEXT := pg_catalog.current_setting('search_path');
    functions CONSTANT TEXT[] := ARRAY[
        'cascade_root_run(uuid)',
        'cascade_last_run(uuid)',
        'cascade_is_known(text)',
        'cascade_signal(uuid, text, jsonb, text)'];
    digest    TEXT;
    mark      TEXT;
    signature TEXT;
    body      TEXT;
    made      TEXT;
BEGIN
    SET LOCAL check_function_bodies = on;
    -- From here on also for what this block itself names.
    SET LOCAL search_path = pg_catalog, pg_temp;
    digest := encode(sha256(convert_to(schema, 'UTF8')), 'hex');
    mark := '$cascade_' || digest || '$';
    FOREACH signature IN ARRAY functions LOOP
        signature := format('%I.%s', schema, signature);
        SELECT p.prosrc
        INTO STRICT body
        FROM pg_proc AS p
        WHERE p.oid = signature::REGPROCEDURE;
        made := replace(body, 'cascade_channel_here',
            'cascade_' || left(digest, 16));
        made := replace(made, 'cascade_here.', quote_ident(schema) || '.');
        -- The body alone is exchanged: what stands before it has the name of
        -- the schema already, whatever that is. No such name can end a body
        -- that is quoted so.
        EXECUTE replace(pg_get_functiondef(signature::REGPROCEDURE),
            '$function$' || body || '$function$', mark || made || mark);
        EXECUTE format('ALTER FUNCTION %s '
            'SET search_path = pg_catalog, pg_temp', signature);
    END LOOP;
    PERFORM set_config('search_path', path, true);
END
$$;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (8, '008_links', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
