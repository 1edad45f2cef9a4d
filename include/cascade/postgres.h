/* SPDX-License-Identifier: MIT
 *
 * One transaction with the application's own data, on PostgreSQL: transactional
 * nodes, and calls inside the application's open transaction. sqlite.h is the
 * same for SQLite.
 *
 * TRANSACTIONAL NODES
 *   A node registered with `transactional` runs inside the transaction that
 *   will record its completion, its context writes and what it spawns, on a
 *   connection that is its alone meanwhile:
 *
 *       static cascade_err
 *       transfer(cascade_node *node, void *user)
 *       {
 *           PGconn *conn = NULL;
 *           cascade_err err = cascade_node_postgres(node, &conn);
 *
 *           if (err == CASCADE_OK && !move_money(conn, ...))
 *               err = CASCADE_ERR_FAILED;
 *           return err;
 *       }
 *
 *   It returns CASCADE_OK: both are committed, or neither (G11: exactly once).
 *   Anything else: it is rolled back, and the failed attempt is recorded by
 *   itself. Where the process dies before the commit, nothing of either is
 *   there, and the node runs again. Where the reply to the COMMIT is lost, the
 *   engine's row in cascade_lanes tells what became of it, never a guess.
 *
 *   WHAT IT MAY DO: statements of its own, savepoints, put, spawn, output, read
 *   its input and its context, continue as new, and starts, signals,
 *   completions and commands to other cascades by cascade_node_store(): these
 *   are part of the same commit. SET TRANSACTION ISOLATION LEVEL as its first
 *   statement, and SET LOCAL.
 *   WHAT IT MAY NOT DO, and what it gets:
 *     steps, sleeps, awaits, children,     CASCADE_ERR_MISUSE from the call:
 *     updates, heartbeats                  they would be commits of their own
 *     COMMIT, ROLLBACK, PREPARE            seen when it returns, whatever that
 *     TRANSACTION, PQreset()               is: the execution FAILS for good,
 *                                          since what it had committed stays,
 *                                          unrecorded
 *     RESET ALL, RESET or SET of           taken for one of these, as the mark
 *     cascade.transaction                  of the transaction is gone then: the
 *                                          execution FAILS for good
 *     SET, LISTEN, advisory locks of the   undone as soon as the transaction is
 *     session, temporary tables, cursors   over; not with `pooler`: then leave
 *     WITH HOLD                            nothing on the session
 *     a named prepared statement           it stays: use none
 *     DEALLOCATE ALL                       the library's own are gone: the
 *                                          attempt is lost, and that connection
 *     another PGconn state at its return   leave neither pipeline mode nor COPY
 *     (COPY, pipeline mode, results not    nor results behind: the attempt
 *     fetched)                             fails. A COMMIT among the results is
 *                                          seen, one behind a COPY is not
 *     keep the handle                      not seen; do not
 *   It begins as READ COMMITTED, with the settings that the role has, whatever
 *   was set before. What it sets, its role too, holds until it returns: then
 *   what it has deferred is checked (SET CONSTRAINTS ALL IMMEDIATE), and only
 *   the library's own statements come after that, under the role and the
 *   settings of the connection.
 *   A statement that failed leaves the transaction failed: the attempt has
 *   failed, whatever the node returns, unless it went back to a savepoint. So
 *   do a serialization failure and a deadlock, also one that the COMMIT tells.
 *   TIME. `transaction_max_ms`: statement_timeout and
 *   idle_in_transaction_session_timeout of the transaction, and how old it may
 *   be when the node returns. Another engine that takes over never waits for
 *   the node: the fence is the last statement before the COMMIT.
 *   transaction_count of them run at once in an engine; others wait, and the
 *   engine's other cascades keep their pace. No other commit of the same
 *   cascade is in flight meanwhile: what its parallel executions have to record
 *   waits, and with CASCADE_MODE_THREADS a step of theirs keeps its worker
 *   until then. A command, or a signal, for the cascade is received behind it.
 *
 * INSIDE YOUR TRANSACTION
 *   cascade_postgres_open() makes a store of a connection that the application
 *   has. While a transaction is open on that, cascade_start() and its kin,
 *   cascade_signal(), cascade_complete() and commands that do not wait write
 *   into it, each within a savepoint: they take effect when it commits, and
 *   never if it rolls back. Reading sees what the transaction sees. What must
 *   wait or ends transactions of its own is CASCADE_ERR_MISUSE: waiting,
 *   updates, migrating, purge, verify, adopt, import.
 *   cascade_wake() after the COMMIT tells the engines at once. Without it they
 *   find it when they poll: every poll_interval_ms where they do not listen,
 *   and every fifth time where they do: within 10 s by default.
 *   A start with a key, or with an id of your own, holds that until your
 *   COMMIT or ROLLBACK: others who start with the same one wait for it, up to
 *   their deadline_ms; the last try may begin just before that is over, and
 *   then takes up to deadline_ms more. What is known not to be made by then is
 *   CASCADE_ERR_UNAVAILABLE; where a try had no answer, as when the server went
 *   away meanwhile, it is CASCADE_ERR_OUTCOME_UNKNOWN. So commit soon.
 *   Other cascades do not: what an engine has to commit together with such a
 *   start is held up for a quarter of a second, once in each engine for each
 *   cascade that you started there, as long as somebody waits for it. One that
 *   goes on as the next run of its own key, or starts children with it, cannot
 *   go on without: where you have started that, what its lane has to commit
 *   waits for your transaction too.
 *   With READ COMMITTED what is read of a cascade that others write meanwhile
 *   may be of several moments, as with your own statements.
 *   Outside a transaction each call is a transaction of its own, as always; but
 *   commands are carried out when there is an engine, never by the call itself.
 *
 *   RULES OF THE CONNECTION
 *     - One thread at a time uses it, and any store on it.
 *     - It is in neither pipeline mode nor COPY, with no results unfetched, and
 *       speaks UTF8. Nonblocking connections are fine.
 *     - In your transaction your isolation level and settings hold. With
 *       REPEATABLE READ or SERIALIZABLE a start with a key that another
 *       transaction has just used is a serialization failure:
 *       CASCADE_ERR_UNAVAILABLE, and the transaction is to be begun anew.
 *     - A start with a key, or an id, holds that until the COMMIT: a start of
 *       the same elsewhere waits for it, as told above. Once it has waited, it
 *       is no engine's own from birth, but claimed by any. Keep such a
 *       transaction short.
 *     - A transaction that has failed takes no calls: CASCADE_ERR_MISUSE.
 *     - A connection that is lost is the application's to make anew, with a new
 *       store: CASCADE_ERR_UNAVAILABLE. One that is lost while a call outside a
 *       transaction commits: CASCADE_ERR_OUTCOME_UNKNOWN.
 *     - In your transaction your lock_timeout and statement_timeout hold. Where
 *       a call has no answer within `deadline_ms` all the same, the connection
 *       is cut off (CONNECTION_BAD): CASCADE_ERR_UNAVAILABLE.
 *     - Your notice receiver stays. Where a standby confirms commits, what it
 *       is told of a wait that was cancelled is not seen by the store. Your
 *       notifications that come during a call wait in PQnotifies().
 *     - No named prepared statements are made on it, and nothing of its session
 *       is set, so it may come from a pooler.
 *     - Your search_path is yours again when a call returns. During it the
 *       library has its own, `pg_catalog, pg_temp`, so that no operator of
 *       somebody else's is called: also for triggers of yours on its tables,
 *       which name their schemas, or SET search_path.
 *     - Close the store before the connection. One store to a connection.
 *     - Engines do not run on such a store: CASCADE_ERR_UNSUPPORTED.
 *
 * FUNCTIONS FOR SQL (for other languages, scripts and triggers)
 *   The schema has, with the same checks:
 *     cascade_start(node text, input jsonb DEFAULT NULL, key text DEFAULT NULL,
 *                   user_id text DEFAULT 'anonymous',
 *                   queue text DEFAULT 'default', priority int DEFAULT 0,
 *                   delay_ms bigint DEFAULT 0)
 *         returns the uuid of the cascade; of the current run of the key where
 *         that is taken
 *     cascade_signal(cascade_id uuid, name text, payload jsonb DEFAULT NULL,
 *                    request_id text DEFAULT NULL)
 *         returns true when it was accepted, false when that cascade has ended,
 *         and with it those that it continued as, or the request was known
 *     cascade_key_id(user_id text, key text, run_number int)
 *         returns the id of a run of a key
 *     cascade_wake()
 *         tells the engines, as above. It takes effect with the COMMIT too, but
 *         PostgreSQL lets transactions that have called it commit one after the
 *         other: call it by itself after the COMMIT, or in the transaction
 *         where commits are few
 *   They take effect with the transaction they are called in, with the rights
 *   of the caller (sql/roles.sql). Engines find it as above. The functions name
 *   their tables with the schema, and no operator or function of the schema is
 *   used in them but their own.
 *   After ALTER SCHEMA ... RENAME they mean the old name: run
 *   sql/postgres/005_functions.sql once more, with the new name first in the
 *   search_path. Opening a store looks whether they are there still, and is
 *   CASCADE_ERR_SCHEMA where one is not (unless with CASCADE_MIGRATE_NEVER);
 *   it does not look whether they mean that schema, nor who may call them.
 *   SQLSTATE 22023: an argument is not allowed, its text says why; a payload
 *   may have 1 MiB there whatever `payload_max` is. P0002: there is no such
 *   cascade. 40001: another transaction was first, as above. 54000: the
 *   cascade has continued as new more than 1,000 times since: signal a later
 *   run.
 */
#ifndef CASCADE_POSTGRES_H
#define CASCADE_POSTGRES_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As libpq-fe.h has it. */
typedef struct pg_conn PGconn;

/* The connection of the transaction that a transactional node runs in; valid
 * until its function returns. CASCADE_ERR_MISUSE for a node that is not
 * registered as transactional, CASCADE_ERR_UNSUPPORTED on another store. */
CASCADE_API cascade_err cascade_node_postgres(cascade_node *node,
                                              PGconn **conn);

/* A store on a connection of the application's: see above. `conn` stays the
 * caller's. CASCADE_ERR_MISUSE while a transaction is open on it. Options:
 * `durability`, `pooler`, `connection_max` and `application_name` are not
 * read. */
CASCADE_API cascade_err cascade_postgres_open(
    PGconn *conn, const cascade_store_options *options, cascade_store **store);

#ifdef __cplusplus
}
#endif

#endif
