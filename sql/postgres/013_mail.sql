-- SPDX-License-Identifier: MIT
--
-- Messages by the queue that their receivers are in: what waits for queues that
-- an engine does not serve is none of its business. By hand as the files before
-- it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 013_mail.sql
--
-- Engines of the release before may go on running. What they send has no queue,
-- and is looked at by all. The function that sends is made anew, with the queue:
-- that of 011_sealed.sql. After ALTER SCHEMA ... RENAME run this file once more,
-- behind that one.

-- The queue of the run as the message was sent; '': there was no run, or
-- somebody else has sent it. A hint: a run may be in another queue by now, and
-- looks come past every message in time.
ALTER TABLE cascade_messages
    ADD COLUMN IF NOT EXISTS queue TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE cascade_messages AS m
SET queue = r.queue
FROM cascade_runs AS r
WHERE r.cascade_id OPERATOR(pg_catalog.=) m.cascade_id;

CREATE INDEX IF NOT EXISTS cascade_messages_queue_idx
    ON cascade_messages (queue, cascade_id);

-- The body is looked into when it has the name of the schema.
SET LOCAL check_function_bodies = off;

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
        (cascade_id, kind, name, path, payload, sent_at, queue)
    SELECT run, 'signal', cascade_signal.name, place, content, now_ms,
        coalesce((
            SELECT r.queue
            FROM cascade_here.cascade_runs AS r
            WHERE r.cascade_id = run), '')
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

-- Names in it mean these tables only, whatever the caller's search_path and
-- temporary tables are, and operators PostgreSQL's, whatever the schema has.
DO $$
DECLARE
    schema    CONSTANT TEXT := pg_catalog.current_schema();
    path      CONSTANT TEXT := pg_catalog.current_setting('search_path');
    functions CONSTANT TEXT[] := ARRAY[
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
VALUES (13, '013_mail', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
