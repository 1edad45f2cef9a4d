-- SPDX-License-Identifier: MIT
--
-- Transactions, settings and what a connection is asked first.

-- name: begin
--
-- Begins a transaction that writes.
BEGIN ISOLATION LEVEL READ COMMITTED;

-- name: begin_read
--
-- Begins a transaction that reads several tables as of one moment.
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- name: commit
--
-- Commits.
COMMIT;

-- name: rollback
--
-- Rolls back.
ROLLBACK;

-- name: settings
--
-- Sets a session up, or a transaction. It runs under whatever search_path
-- there is, so no name in it is left to that.
--
-- The planner's settings: every prepared statement is a look-up by key, but a
-- plan that was made while the tables were small, and is kept, would go on
-- reading them from end to end as they grow.
--
-- The keepalives: a backend whose client the network has cut off in mid-batch
-- holds its lane until the server notices. Not behind a pooler, whose
-- connection it is.
--
-- $1 until the end of the transaction only, $2 synchronous_commit, $3
-- lock_timeout, $4 statement_timeout, $5 idle in transaction
SELECT pg_catalog.count(pg_catalog.set_config(s.name, s.value,
    $1::pg_catalog.bool))
FROM (VALUES
    ('search_path', 'pg_catalog, pg_temp'),
    ('synchronous_commit', CASE
      WHEN $2::pg_catalog.text OPERATOR(pg_catalog.=) 'on'
        AND pg_catalog.current_setting('synchronous_commit')
          OPERATOR(pg_catalog.=) 'remote_apply'
      THEN 'remote_apply'
      ELSE $2::pg_catalog.text END),
    ('lock_timeout', $3::pg_catalog.text),
    ('statement_timeout', $4::pg_catalog.text),
    ('idle_in_transaction_session_timeout', $5::pg_catalog.text),
    ('default_transaction_isolation', 'read committed'),
    ('client_min_messages', 'warning'),
    ('plan_cache_mode', 'force_generic_plan'),
    ('enable_nestloop', 'on'),
    ('enable_indexscan', 'on'),
    ('enable_seqscan', 'off'),
    ('enable_bitmapscan', 'off'),
    ('enable_hashjoin', 'off'),
    ('enable_mergejoin', 'off'),
    ('enable_material', 'off'),
    ('jit', 'off'),
    ('tcp_keepalives_idle', CASE WHEN $1::pg_catalog.bool
      THEN pg_catalog.current_setting('tcp_keepalives_idle')
      ELSE '5' END),
    ('tcp_keepalives_interval', CASE WHEN $1::pg_catalog.bool
      THEN pg_catalog.current_setting('tcp_keepalives_interval')
      ELSE '2' END),
    ('tcp_keepalives_count', CASE WHEN $1::pg_catalog.bool
      THEN pg_catalog.current_setting('tcp_keepalives_count')
      ELSE '3' END)) AS s (name, value);

-- name: path
--
-- Sets the search_path, until the end of the transaction, or of the exchange
-- without one.
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

-- name: now
--
-- The server's clock, in ms.
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8;

-- name: sequence
--
-- The sequence of context_events.id, by which START and INSERT_EVENTS count.
SELECT pg_get_serial_sequence('public.context_events', 'id');

-- name: lock_timeout
--
-- Limits waits for locks, to the end of the transaction. Tells the backend's
-- number too, which behind a pooler is not what libpq knows.
--
-- $1 milliseconds
SELECT pg_backend_pid(), set_config('lock_timeout', $1::text, true);

-- name: confirm
--
-- With synchronous replication, a transaction with this in it is not done
-- before the standby has it, and so has all that this one could see: see
-- commit.c.
SELECT CASE
  WHEN current_setting('synchronous_standby_names') <> ''
  THEN pg_logical_emit_message(true, 'cascade', '') END;
