-- SPDX-License-Identifier: MIT
--
-- The schema: what is there, and migrations. Asked seldom, so never prepared.

-- name: find_schema
--
-- Whether the schema is there, and the table of what was applied.
--
-- $1 schema
SELECT count(*), count(c.oid)
FROM pg_catalog.pg_namespace AS n
LEFT JOIN pg_catalog.pg_class AS c
  ON c.relnamespace = n.oid AND c.relname = 'cascade_schema'
WHERE n.nspname = $1::text;

-- name: create_schema
--
-- Makes the schema.
CREATE SCHEMA IF NOT EXISTS public;

-- name: list_applied
--
-- What was applied.
--
-- $1 at most
SELECT number::int8, name, checksum,
  applied_at
FROM public.cascade_schema
ORDER BY number
LIMIT $1::int8;

-- name: create_applied
--
-- Makes the table of what was applied, as the first migration makes it.
CREATE TABLE IF NOT EXISTS public.cascade_schema (
  number     INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  checksum   TEXT,
  applied_at TIMESTAMP NOT NULL);

-- name: lock_applied
--
-- Keeps two who migrate apart, to the end of the transaction.
LOCK TABLE public.cascade_schema IN SHARE ROW EXCLUSIVE MODE;

-- name: sign_applied
--
-- Notes the checksum of a file that was applied.
--
-- $1 number, $2 checksum
UPDATE public.cascade_schema
SET checksum = $2::text
WHERE number = $1::int4
  AND checksum IS NULL;

-- name: enter_schema
--
-- Before the text of a migration: names of tables mean those of the schema.
SET LOCAL search_path = public, pg_temp;

-- name: leave_schema
--
-- Behind it.
SET LOCAL search_path = pg_catalog, pg_temp;

-- name: list_columns
--
-- The columns of tables.
--
-- $1 schema, $2 tables
SELECT c.relname::text, a.attname::text, tn.nspname::text,
  t.typname::text, a.attnotnull,
  a.atthasdef OR a.attidentity <> '', a.attgenerated <> ''
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.typnamespace
WHERE n.nspname = $1::text
  AND c.relname = ANY ($2::text[])
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND a.attnum > 0
  AND NOT a.attisdropped;

-- name: find_others
--
-- How many enums have all the labels that are written, the first function that
-- is missing, and the first columns over which no unique index holds for all
-- rows.
--
-- $1 schema, $2 functions, $3 TABLE, column COLUMN[, COLUMN], sorted by name
SELECT (
  SELECT count(*)
  FROM (
    SELECT t.typname
    FROM pg_catalog.pg_type AS t
    JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
    JOIN pg_catalog.pg_enum AS e ON e.enumtypid = t.oid
    WHERE n.nspname = $1::text
      AND (t.typname = 'cascade_status'
          AND e.enumlabel IN ('RUNNING', 'COMPLETED', 'ERROR')
        OR t.typname = 'execution_status'
          AND e.enumlabel IN ('RUNNING', 'COMPLETED', 'FAILED'))
    GROUP BY t.typname
    HAVING count(*) = 3) AS enums), (
  SELECT f.name
  FROM unnest($2::text[])
    WITH ORDINALITY AS f (name, place)
  WHERE NOT EXISTS (
    SELECT 1
    FROM pg_catalog.pg_proc AS p
    JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.nspname = $1::text
      AND p.proname = split_part(f.name, '(', 1)
      AND p.proname || '(' || oidvectortypes(p.proargtypes) || ')' = f.name)
  ORDER BY f.place
  LIMIT 1), (
  SELECT u.name
  FROM unnest($3::text[])
    WITH ORDINALITY AS u (name, place)
  WHERE NOT EXISTS (
    SELECT 1
    FROM pg_catalog.pg_index AS i
    JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = $1::text
      AND c.relname = split_part(u.name, ',', 1)
      AND i.indisunique
      AND i.indisvalid
      AND i.indpred IS NULL
      AND i.indexprs IS NULL
      AND i.indnkeyatts = i.indnatts
      AND c.relname::text || ', column ' || (
        SELECT string_agg(a.attname::text, ', ' ORDER BY a.attname)
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = c.oid
          AND a.attnum = ANY (i.indkey::int2[])) = u.name)
  ORDER BY u.place
  LIMIT 1);

-- name: place
--
-- Which server this is, and how far its log is written: see place.c.
SELECT (pg_catalog.pg_control_system()).system_identifier,
  pg_catalog.pg_walfile_name(p.lsn),
  p.lsn
FROM (SELECT pg_catalog.pg_current_wal_flush_lsn() AS lsn) AS p;

-- name: end_silent
--
-- Ends a backend whose connection fell silent. One that waits for a standby
-- has committed: ended, it would show what that may not have. Runs under
-- whatever search_path there is.
--
-- $1 the backend, that began at least $2 and at most $3 ago
SELECT pg_catalog.count(pg_catalog.pg_terminate_backend(a.pid))
FROM pg_catalog.pg_stat_activity AS a
WHERE a.pid OPERATOR(pg_catalog.=) $1::pg_catalog.int4
  AND a.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
  AND a.usename OPERATOR(pg_catalog.=) CURRENT_USER
  AND COALESCE(a.wait_event, '')
    OPERATOR(pg_catalog.<>) 'SyncRep'
  AND a.backend_start OPERATOR(pg_catalog.<=)
    (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-)
    $2::pg_catalog.interval)
  AND a.backend_start OPERATOR(pg_catalog.>=)
    (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-)
    $3::pg_catalog.interval);
