-- SPDX-License-Identifier: MIT
--
-- The functions for SQL refuse where cascades are sealed: SQL has no key, and
-- what has no seal is not run or received. By hand as the files before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 011_sealed.sql
--
-- cascade_start() is that of 006_erasures.sql, cascade_signal() that of
-- 008_links.sql, each with one more line. Who calls them needs SELECT on
-- cascade_seals, which roles.sql gives to the worker. After ALTER SCHEMA ...
-- RENAME run 005_functions.sql, 006_erasures.sql, 008_links.sql and this file
-- once more. Engines of releases before may go on running.

-- The bodies are looked into when they have the name of the schema.
SET LOCAL check_function_bodies = off;

-- The store's own row is there, whichever mode it tells of.
CREATE OR REPLACE FUNCTION cascade_check_sealed(what TEXT)
RETURNS VOID
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (
        SELECT 1
        FROM cascade_here.cascade_seals AS s
        WHERE s.cascade_id = '00000000-0000-0000-0000-000000000000') THEN
        RAISE EXCEPTION '%: the cascades of this schema have seals, which SQL cannot make; call the library, or the cascade command, with the options of integrity',
            what USING ERRCODE = '0A000';
    END IF;
END
$$;

-- The id of the cascade; with a key that was used already, of its current run,
-- whatever has become of that. A run that was deleted is started anew, as the
-- next one, so that no id is given twice.
CREATE OR REPLACE FUNCTION cascade_start(
    node TEXT, input JSONB DEFAULT NULL, key TEXT DEFAULT NULL,
    user_id TEXT DEFAULT 'anonymous', queue TEXT DEFAULT 'default',
    priority INTEGER DEFAULT 0, delay_ms BIGINT DEFAULT 0)
RETURNS UUID
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    whose   TEXT := coalesce(cascade_start.user_id, 'anonymous');
    lane    TEXT := coalesce(cascade_start.queue, 'default');
    rank    INTEGER := coalesce(cascade_start.priority, 0);
    delay   BIGINT := coalesce(cascade_start.delay_ms, 0);
    payload JSONB := cascade_here.cascade_check_payload(
        'cascade_start: input', cascade_start.input);
    number  INTEGER;
    run     UUID;
BEGIN
    PERFORM cascade_here.cascade_check_sealed('cascade_start');
    PERFORM cascade_here.cascade_check_name('cascade_start: node',
        cascade_start.node);
    PERFORM cascade_here.cascade_check_text('cascade_start: key',
        cascade_start.key);
    PERFORM cascade_here.cascade_check_text('cascade_start: user_id', whose);
    PERFORM cascade_here.cascade_check_name('cascade_start: queue', lane);
    IF rank NOT BETWEEN 0 AND 9 THEN
        RAISE EXCEPTION 'cascade_start: priority is %; give 0 to 9', rank
            USING ERRCODE = '22023';
    ELSIF delay NOT BETWEEN 0 AND 3153600000000 THEN
        RAISE EXCEPTION 'cascade_start: delay_ms is %; give 0 to 3153600000000, which is 100 years',
            delay USING ERRCODE = '22023';
    END IF;
    IF cascade_start.key IS NULL THEN
        run := cascade_here.cascade_random_id(
            floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT);
        PERFORM cascade_here.cascade_start_run(run, cascade_start.node,
            payload, NULL, 1, whose, lane, rank, delay);
        RETURN run;
    END IF;
    -- Others may start and delete it as well.
    FOR round IN 1 .. 100 LOOP
        SELECT k.run_number
        INTO number
        FROM cascade_here.cascade_keys AS k
        WHERE k.user_id = whose AND k.key = cascade_start.key;
        number := coalesce(number, 1);
        run := cascade_here.cascade_key_id(whose, cascade_start.key, number);
        IF number = 1 AND cascade_here.cascade_start_run(run,
            cascade_start.node, payload, cascade_start.key, number, whose,
            lane, rank, delay) THEN
            RETURN run;
        END IF;
        IF cascade_here.cascade_is_there(run) THEN
            RETURN run;
        END IF;
        number := number + 1;
        run := cascade_here.cascade_key_id(whose, cascade_start.key, number);
        IF cascade_here.cascade_start_run(run, cascade_start.node, payload,
            cascade_start.key, number, whose, lane, rank, delay)
            OR cascade_here.cascade_is_there(run) THEN
            RETURN run;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'cascade_start: the runs of a key come and go too fast; begin the transaction anew'
        USING ERRCODE = '40001';
END
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
    PERFORM cascade_here.cascade_check_sealed('cascade_signal');
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
        'cascade_check_sealed(text)',
        'cascade_start(text, jsonb, text, text, text, integer, bigint)',
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
VALUES (11, '011_sealed', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
