-- SPDX-License-Identifier: MIT
--
-- Keys that are texts are compared byte by byte in tables that are empty yet. By
-- the collation of the database, an upgrade of its library may change how they
-- sort, and what an index holds is not found any more: two rows with one key
-- then. Tables that have rows are left as they are; the library warns when it
-- opens them with another version of their collation. By hand as the files
-- before it:
--
--   psql --single-transaction -v ON_ERROR_STOP=1 -f 014_collation.sql
--
-- Engines of the release before may go on running.
DO $$
DECLARE
    place RECORD;
    rows  BOOLEAN;
BEGIN
    FOR place IN
        SELECT k.tab, k.col
        FROM (VALUES
            ('cascades', 'user_id'),
            ('node_executions', 'node_instance_id'),
            ('cascade_runs', 'queue'),
            ('cascade_runs', 'needs'),
            ('cascade_messages', 'path'),
            ('cascade_keys', 'user_id'),
            ('cascade_keys', 'key'),
            ('cascade_queues', 'queue')) AS k (tab, col)
        JOIN pg_attribute AS a
            ON a.attrelid OPERATOR(pg_catalog.=)
                pg_catalog.to_regclass(
                    pg_catalog.format('%I', k.tab))::pg_catalog.OID
            AND a.attname OPERATOR(pg_catalog.=) k.col::pg_catalog.NAME
            AND a.atttypid OPERATOR(pg_catalog.=)
                'pg_catalog.text'::pg_catalog.REGTYPE::pg_catalog.OID
    LOOP
        EXECUTE pg_catalog.format(
            'SELECT EXISTS (SELECT FROM %I)', place.tab)
            INTO rows;
        IF NOT rows THEN
            EXECUTE pg_catalog.format(
                'ALTER TABLE %I ALTER COLUMN %I TYPE TEXT COLLATE "C"',
                place.tab, place.col);
        END IF;
    END LOOP;
END
$$;

INSERT INTO cascade_schema (number, name, checksum, applied_at)
VALUES (14, '014_collation', NULL, clock_timestamp() AT TIME ZONE 'UTC')
ON CONFLICT (number) DO NOTHING;
