-- SPDX-License-Identifier: MIT
--
-- Transactions of nodes, and those of others: see node_txn.c and borrowed.c.

-- name: native_mark
--
-- Raises 22012 in another transaction than that of the mark. Runs under
-- whatever search_path the function has set, as the next two do.
--
-- $1 the mark, $2 statement_timeout, for what was deferred
SELECT 1 OPERATOR(pg_catalog./) (COALESCE(
  pg_catalog.current_setting('cascade.transaction', true), '')
  OPERATOR(pg_catalog.=) $1::pg_catalog.text)::pg_catalog.int4,
  pg_catalog.set_config('statement_timeout', $2::pg_catalog.text,
    true);

-- name: native_constraints
--
-- Checks what was deferred.
SET CONSTRAINTS ALL IMMEDIATE;

-- name: native_reset
--
-- Sets what could change the meaning of what follows, or whether it is
-- allowed, as when the connection was made. (SETTINGS comes behind it.) Only
-- who has set session_replication_role may set it. A role may have another one
-- as its default.
SELECT pg_catalog.set_config('client_encoding', 'UTF8', true),
  pg_catalog.set_config('row_security', NULL, true),
  CASE WHEN pg_catalog.current_setting('session_replication_role')
    OPERATOR(pg_catalog.<>) 'origin'
  THEN pg_catalog.set_config('session_replication_role', 'origin',
    true) END,
  pg_catalog.set_config('session_authorization', NULL, true),
  pg_catalog.set_config('role', NULL, true);

-- name: native_settle
--
-- Takes a batch back that has not come, whose number is spent with it. The
-- lock of the row makes it wait for a finish that is under way.
--
-- Index: cascade_lanes_pkey.
--
-- $1 engine, $2 lane, $3 number
UPDATE public.cascade_lanes
SET batch = $3::int8 + 1
WHERE engine_id = $1::uuid
  AND lane = $2::int4
  AND batch = $3::int8 - 1;

-- name: native_end
--
-- Ends a backend of ours that works for nobody any more.
--
-- $1 the backend
SELECT count(pg_terminate_backend(pid))
FROM pg_stat_activity
WHERE pid = $1::int4
  AND datname = current_database()
  AND usename = current_user;

-- name: native_clean
--
-- Makes a session clean, outside a transaction. What fails in it ends the
-- connection.
RESET SESSION AUTHORIZATION;
RESET ROLE;
RESET ALL;
CLOSE ALL;
UNLISTEN *;
SELECT pg_catalog.pg_advisory_unlock_all();
DISCARD TEMP;
DISCARD SEQUENCES;

-- name: native_open
-- form: native_open_direct = keepalives
--
-- Begins the transaction that is lent to a function. It is sent as a script,
-- in which the parameters are replaced. The keepalives: against a backend
-- whose client the network has cut off.
--
-- $1 limit in ms, $2 the mark
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL statement_timeout = $1;
SET LOCAL idle_in_transaction_session_timeout = $1;
SET LOCAL cascade.transaction = '$2';
-- if keepalives
SET LOCAL tcp_keepalives_idle = 5;
SET LOCAL tcp_keepalives_interval = 2;
SET LOCAL tcp_keepalives_count = 3;
-- end
;

-- name: guest_save
--
-- A place to go back to, within a transaction of the application's.
SAVEPOINT cascade_guest;

-- name: guest_path
--
-- The search_path as the application has it.
SELECT pg_catalog.current_setting('search_path');

-- name: guest_undo
--
-- Goes back.
ROLLBACK TO SAVEPOINT cascade_guest;

-- name: guest_restore
--
-- Gives the application its search_path back.
--
-- $1 the search_path as it was
SELECT pg_catalog.set_config('search_path', $1::pg_catalog.text,
  true);

-- name: guest_release
--
-- Drops the place.
RELEASE SAVEPOINT cascade_guest;
