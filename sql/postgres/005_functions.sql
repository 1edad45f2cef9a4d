-- SPDX-License-Identifier: MIT
--
-- Functions that start cascades and send signals from SQL: from other
-- languages, scripts and triggers. By hand as the files before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 005_functions.sql
--
--   SELECT cascade_start('ship', '{"order": 7}', key => 'order-7');
--   SELECT cascade_signal(id, 'paid', '{"amount": 12}');
--
-- They write what cascade_start() and cascade_signal() of the library write,
-- row by row, with the same checks, and take effect with the transaction they
-- are called in. Nobody is told unless cascade_wake() is called, after the
-- COMMIT at best: engines find it when they poll, which those that listen do
-- every fifth poll interval. They run with the rights of the caller.
--
-- In the bodies `cascade_here` stands for the schema, which is written there at
-- the end: the search_path that they run with has nothing but pg_catalog, so
-- that no operator or function of anybody's is taken for one of PostgreSQL's.
-- After ALTER SCHEMA ... RENAME they mean the old name: run this file once
-- more, with the new one first in the search_path.
--
-- An argument that is refused is SQLSTATE 22023. A payload is counted in the
-- text that PostgreSQL makes of it, blanks included; the limit is that of the
-- library's option payload_max where that is not set.
--
-- Engines of the release before may go on running: functions only are added.

-- The bodies are looked into when they have the name of the schema.
SET LOCAL check_function_bodies = off;

-- Of nodes, queues and signals.
CREATE OR REPLACE FUNCTION cascade_check_name(what TEXT, name TEXT)
RETURNS VOID
LANGUAGE plpgsql
AS $$
BEGIN
    IF name IS NULL OR name = '' THEN
        RAISE EXCEPTION '% is %; give 1 to 128 bytes of [A-Za-z0-9._:-]',
            what, CASE WHEN name IS NULL THEN 'NULL' ELSE 'empty' END
            USING ERRCODE = '22023';
    ELSIF octet_length(name) > 128 THEN
        RAISE EXCEPTION '% is longer than 128 bytes; give a shorter one', what
            USING ERRCODE = '22023';
    ELSIF name COLLATE "C" !~ '^[A-Za-z0-9._:-]+$' THEN
        RAISE EXCEPTION '% has other bytes than [A-Za-z0-9._:-]; use only these, at most 128',
            what USING ERRCODE = '22023';
    ELSIF starts_with(name, 'cascade.') THEN
        RAISE EXCEPTION '% begins with "cascade.", which is reserved; choose another name',
            what USING ERRCODE = '22023';
    END IF;
END
$$;

-- Of users, keys and requests.
CREATE OR REPLACE FUNCTION cascade_check_text(what TEXT, given TEXT)
RETURNS VOID
LANGUAGE plpgsql
AS $$
BEGIN
    IF given = '' THEN
        RAISE EXCEPTION '% is empty; give a text of 1 to 255 bytes', what
            USING ERRCODE = '22023';
    ELSIF octet_length(given) > 255 THEN
        RAISE EXCEPTION '% is longer than 255 bytes; give a shorter one', what
            USING ERRCODE = '22023';
    ELSIF given COLLATE "C" ~ E'[\\u0001-\\u001f\\u007f-\\u009f]' THEN
        RAISE EXCEPTION '% has a control character; leave control characters out',
            what USING ERRCODE = '22023';
    END IF;
END
$$;

-- The payload to be written: an empty object for none. Too long a number has at
-- least 201 digits on one side of its point, which shows in the text; whether
-- it is that, and not a piece of a string, is looked at only then.
CREATE OR REPLACE FUNCTION cascade_check_payload(what TEXT, payload JSONB)
RETURNS JSONB
LANGUAGE plpgsql
AS $$
BEGIN
    IF octet_length(payload::TEXT) > 1048576 THEN
        RAISE EXCEPTION '% is longer than 1048576 bytes; keep it elsewhere and give a reference, or use the library with a larger payload_max',
            what USING ERRCODE = '22023';
    ELSIF jsonb_path_exists(payload, 'strict $.**{128} ? (@.type() == "array" || @.type() == "object")') THEN
        RAISE EXCEPTION '% is more than 128 levels deep; give a flatter one',
            what USING ERRCODE = '22023';
    ELSIF position(repeat('0', 201)
            IN translate(payload::TEXT, '123456789', '000000000')) > 0
        AND EXISTS (
        SELECT 1
        FROM jsonb_path_query(payload, 'strict $.** ? (@.type() == "number")')
            AS number
        WHERE length(translate(number::TEXT, '-.', '')) > 400) THEN
        RAISE EXCEPTION '% has a number of more than 400 digits, written out; give it as a string',
            what USING ERRCODE = '22023';
    END IF;
    RETURN coalesce(payload, '{}');
END
$$;

-- RFC 9562, version 7: time-ordered. gen_random_uuid() has the variant bits.
CREATE OR REPLACE FUNCTION cascade_random_id(now_ms BIGINT)
RETURNS UUID
LANGUAGE plpgsql
AS $$
DECLARE
    bytes BYTEA := overlay(uuid_send(gen_random_uuid())
        PLACING substring(int8send(now_ms) FROM 3) FROM 1);
BEGIN
    RETURN encode(set_byte(bytes, 6, get_byte(bytes, 6) & 15 | 112), 'hex');
END
$$;

-- RFC 9562, version 8: the id of a run of a key.
CREATE OR REPLACE FUNCTION cascade_key_id(
    user_id TEXT, key TEXT, run_number INTEGER)
RETURNS UUID
LANGUAGE plpgsql
AS $$
DECLARE
    nul   BYTEA := decode('00', 'hex');
    bytes BYTEA := substring(sha256(convert_to(user_id, 'UTF8') || nul
        || convert_to(key, 'UTF8') || nul
        || convert_to(run_number::TEXT, 'UTF8')) FROM 1 FOR 16);
BEGIN
    bytes := set_byte(bytes, 6, get_byte(bytes, 6) & 15 | 128);
    RETURN encode(set_byte(bytes, 8, get_byte(bytes, 8) & 63 | 128), 'hex');
END
$$;

-- One run, unless it is there, or another run of the key is the current one:
-- false. The row of the cascade decides between two who start one run, and only
-- who inserted that moves the number of the key on.
CREATE OR REPLACE FUNCTION cascade_start_run(
    id UUID, node TEXT, input JSONB, key TEXT, run_number INTEGER,
    user_id TEXT, queue TEXT, priority INTEGER, delay_ms BIGINT)
RETURNS BOOLEAN
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    now_at  TIMESTAMP := date_trunc('milliseconds',
        clock_timestamp() AT TIME ZONE 'UTC');
    now_ms  BIGINT := round(extract(epoch FROM now_at) * 1000);
    wake_ms BIGINT := now_ms + cascade_start_run.delay_ms;
BEGIN
    INSERT INTO cascade_here.cascades
        (id, status, fn_id, user_id, created_at, updated_at)
    SELECT cascade_start_run.id, 'RUNNING', 0, cascade_start_run.user_id,
        now_at, now_at
    WHERE cascade_start_run.key IS NULL
        OR coalesce((
            SELECT k.run_number
            FROM cascade_here.cascade_keys AS k
            WHERE k.user_id = cascade_start_run.user_id
                AND k.key = cascade_start_run.key),
            (cascade_start_run.run_number = 2)::INTEGER)
            = cascade_start_run.run_number - 1
    ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF cascade_start_run.run_number > 1 THEN
        INSERT INTO cascade_here.cascade_keys AS k (user_id, key, run_number)
        VALUES (cascade_start_run.user_id, cascade_start_run.key,
            cascade_start_run.run_number)
        ON CONFLICT (user_id, key) DO UPDATE
        SET run_number = excluded.run_number
        WHERE k.run_number = excluded.run_number - 1;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'cascade_start: the run of a key was started, and its cascade deleted, at the same time; begin the transaction anew'
                USING ERRCODE = '40001';
        END IF;
    END IF;
    INSERT INTO cascade_here.cascade_runs
        (cascade_id, queue, priority, wake_at, engine_id, claim_no, takeovers,
         needs)
    VALUES (cascade_start_run.id, cascade_start_run.queue,
        cascade_start_run.priority, wake_ms, NULL, 0, 0, NULL);
    INSERT INTO cascade_here.node_executions
        (id, cascade_id, function_id, status, node_instance_id, node_name,
         input_context, full_output, location, error, started_at, completed_at)
    VALUES (cascade_here.cascade_random_id(now_ms), cascade_start_run.id, 0,
        'RUNNING',
        cascade_start_run.id || '/-/' || cascade_start_run.node || '#0',
        cascade_start_run.node, cascade_start_run.input,
        jsonb_strip_nulls(jsonb_build_object(
            'cascade', jsonb_build_object(
                'key', cascade_start_run.key,
                'queue', cascade_start_run.queue,
                'priority', cascade_start_run.priority,
                'run_number', CASE WHEN cascade_start_run.run_number > 1
                    THEN cascade_start_run.run_number END),
            'not_before', CASE WHEN cascade_start_run.delay_ms > 0
                THEN wake_ms END)),
        'server', NULL, now_at, NULL);
    RETURN true;
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
        IF number > 1 THEN
            IF EXISTS (
                SELECT 1 FROM cascade_here.cascades AS c WHERE c.id = run) THEN
                RETURN run;
            END IF;
            number := number + 1;
            run := cascade_here.cascade_key_id(whose, cascade_start.key,
                number);
        END IF;
        IF cascade_here.cascade_start_run(run, cascade_start.node, payload,
            cascade_start.key, number, whose, lane, rank, delay)
            OR EXISTS (
                SELECT 1 FROM cascade_here.cascades AS c WHERE c.id = run) THEN
            RETURN run;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'cascade_start: the runs of a key come and go too fast; begin the transaction anew'
        USING ERRCODE = '40001';
END
$$;

-- Where a run that has continued as new goes on; NULL for another.
CREATE OR REPLACE FUNCTION cascade_next_run(id UUID)
RETURNS UUID
LANGUAGE sql
STABLE
AS $$
    SELECT (n.full_output ->> 'continued_as')::UUID
    FROM cascade_here.node_executions AS n
    WHERE n.cascade_id = cascade_next_run.id
        AND n.status = 'COMPLETED'
        AND n.full_output ->> 'continued_as'
            ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    ORDER BY n.function_id DESC
    LIMIT 1
$$;

-- True when it was sent. False when the request was known already, or when the
-- cascade has ended, and the last run after it too: then it is recorded there
-- as undelivered. Its run sends on what comes after it has continued as new.
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
    place   TEXT := cascade_signal.cascade_id || '/message/signal/';
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
    SELECT c.status INTO state FROM cascade_here.cascades AS c WHERE c.id = run;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'cascade_signal: there is no such cascade'
            USING ERRCODE = 'P0002';
    END IF;
    INSERT INTO cascade_here.cascade_messages
        (cascade_id, kind, name, path, payload, sent_at)
    SELECT run, 'signal', cascade_signal.name, place, content, now_ms
    WHERE NOT EXISTS (
        SELECT 1
        FROM cascade_here.node_executions AS n
        WHERE n.node_instance_id = place)
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
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END
$$;

-- Has the engines that listen look at once. The commit of a transaction that
-- has called it waits for others that have, since PostgreSQL keeps the order of
-- notifications: where many commit, call it by itself after the COMMIT.
CREATE OR REPLACE FUNCTION cascade_wake()
RETURNS VOID
LANGUAGE sql
AS $$
    SELECT pg_notify('cascade_channel_here', '')
$$;

-- Names in them mean these tables only, whatever the caller's search_path and
-- temporary tables are, and operators PostgreSQL's, whatever the schema has.
-- The name of the channel is that of src/store/postgres.c.
DO $$
DECLARE
    schema    CONSTANT TEXT := pg_catalog.current_schema();
    path      CONSTANT TEXT := pg_catalog.current_setting('search_path');
    functions CONSTANT TEXT[] := ARRAY[
        'cascade_check_name(text, text)',
        'cascade_check_text(text, text)',
        'cascade_check_payload(text, jsonb)',
        'cascade_random_id(bigint)',
        'cascade_key_id(text, text, integer)',
        'cascade_start_run(uuid, text, jsonb, text, integer, text, text, '
            'integer, bigint)',
        'cascade_start(text, jsonb, text, text, text, integer, bigint)',
        'cascade_next_run(uuid)',
        'cascade_signal(uuid, text, jsonb, text)',
        'cascade_wake()'];
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
VALUES (5, '005_functions', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
