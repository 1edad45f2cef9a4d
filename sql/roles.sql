-- SPDX-License-Identifier: MIT
--
-- Three roles of PostgreSQL, each with no more rights than it needs:
--
--   owner    owns the tables and applies migrations
--   worker   runs engines, starts cascades, also by the functions for SQL;
--            migrate = CASCADE_MIGRATE_CHECK
--   reader   looks: cascade_list(), cascade_get(), cascade_snapshot_load()
--
-- Run it before the first migration, and again after each: before, there is no
-- table to give a right to, and rights to tables to come are given to nobody.
-- It can be run any number of times, by a superuser, or by a role that may
-- create roles and schemas and is a member of the owner, which it can make
-- itself:
--
--   CREATE ROLE cascade_owner LOGIN; GRANT cascade_owner TO CURRENT_USER;
--
--   psql -X -v ON_ERROR_STOP=1 -v schema=cascade -v owner=cascade_owner
--        -v worker=cascade_worker -v reader=cascade_reader -f roles.sql DBNAME
--
-- The roles can log in and have no password: give them one (\password), or let
-- pg_hba.conf say how they prove who they are. All engines on a schema log in
-- as one role: one of them has to end the backend of another that was stopped
-- in mid-commit, and a role may do that to its own backends.
\set QUIET on
BEGIN;
SET LOCAL client_min_messages = warning;
-- No function or operator of anybody's runs with the rights of who runs this.
SET LOCAL search_path = pg_catalog, pg_temp;

SELECT format('CREATE ROLE %I LOGIN', name)
FROM (VALUES (:'owner'), (:'worker'), (:'reader')) AS r (name)
WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = r.name)
\gexec
CREATE SCHEMA IF NOT EXISTS :"schema" AUTHORIZATION :"owner";
REVOKE ALL ON SCHEMA :"schema" FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA :"schema" TO :"owner";
GRANT USAGE ON SCHEMA :"schema" TO :"worker", :"reader";

-- The first version of this file gave the worker and the reader rights to all
-- tables and sequences that the owner would ever make in the schema. Where that
-- stands it is withdrawn, of what was made since too; what is meant of it is to
-- be granted anew, and stays then.
SELECT DISTINCT format('REVOKE ALL ON %s %I.%I FROM %I',
              CASE WHEN c.relkind = 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
              n.nspname, c.relname, g.rolname)
FROM pg_default_acl AS d
JOIN pg_namespace AS n ON n.oid = d.defaclnamespace AND n.nspname = :'schema'
JOIN pg_roles AS o ON o.oid = d.defaclrole AND o.rolname = :'owner'
CROSS JOIN aclexplode(d.defaclacl) AS a
JOIN pg_roles AS g ON g.oid = a.grantee
    AND g.rolname IN (:'worker', :'reader')
JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relowner = o.oid
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
\gexec
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"schema"
    REVOKE ALL ON TABLES FROM :"worker", :"reader";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"schema"
    REVOKE ALL ON SEQUENCES FROM :"worker", :"reader";

-- Tables that are there. Of the worker's rights: those to write a table, per
-- table; what is not named here loses them.
SELECT format('REVOKE ALL ON %1$I.%2$I FROM %3$I, %4$I; '
              'GRANT SELECT%5$s ON %1$I.%2$I TO %3$I; '
              'GRANT SELECT ON %1$I.%2$I TO %4$I',
              :'schema', c.relname, :'worker', :'reader', coalesce(g.rights, ''))
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = :'schema'
LEFT JOIN (VALUES
    ('cascades', ', INSERT, UPDATE, DELETE'),
    ('node_executions', ', INSERT, UPDATE, DELETE'),
    ('context_events', ', INSERT, DELETE'),
    ('cascade_messages', ', INSERT, DELETE'),
    ('cascade_keys', ', INSERT, UPDATE'),
    ('cascade_queues', ', INSERT, UPDATE, DELETE'),
    ('cascade_erasures', ', INSERT, UPDATE, DELETE'),
    ('cascade_links', ', INSERT, UPDATE, DELETE'),
    ('cascade_seals', ', INSERT, UPDATE, DELETE'),
    ('cascade_runs', ', INSERT, UPDATE, DELETE'),
    ('cascade_engines', ', INSERT, UPDATE, DELETE'),
    ('cascade_lanes', ', INSERT, UPDATE, DELETE')) AS g (name, rights)
    ON g.name = c.relname
WHERE c.relkind = 'r'
    AND (g.name IS NOT NULL OR c.relname = 'cascade_schema')
\gexec
SELECT format('GRANT USAGE ON SEQUENCE %s TO %I', s.name, :'worker')
FROM (
    SELECT pg_get_serial_sequence(format('%I.%I', :'schema', t.name), 'id')
        AS name
    FROM (VALUES ('context_events'), ('cascade_messages')) AS t (name)
    WHERE to_regclass(format('%I.%I', :'schema', t.name)) IS NOT NULL
    ) AS s
WHERE s.name IS NOT NULL
\gexec

-- The functions for SQL, which run with the rights of who calls them.
SELECT format('REVOKE ALL ON FUNCTION %1$s FROM PUBLIC, %3$I; '
              'GRANT EXECUTE ON FUNCTION %1$s TO %2$I',
              p.oid::regprocedure, :'worker', :'reader')
FROM pg_proc AS p
JOIN pg_namespace AS n ON n.oid = p.pronamespace AND n.nspname = :'schema'
JOIN pg_roles AS r ON r.oid = p.proowner AND r.rolname = :'owner'
WHERE p.proname IN ('cascade_start', 'cascade_signal', 'cascade_start_run',
    'cascade_next_run', 'cascade_is_there', 'cascade_root_run',
    'cascade_last_run', 'cascade_is_known', 'cascade_check_sealed',
    'cascade_key_id', 'cascade_random_id', 'cascade_check_name',
    'cascade_check_text', 'cascade_check_payload', 'cascade_wake')
\gexec
COMMIT;
