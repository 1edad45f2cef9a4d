/* SPDX-License-Identifier: MIT
 *
 * One transaction with the application's own data, on SQLite: transactional
 * nodes, calls inside the application's open transaction, stores and engines on
 * a connection that the application has, and functions for SQL. postgres.h is
 * the same for PostgreSQL.
 *
 * TRANSACTIONAL NODES
 *   A node registered with `transactional` runs inside the transaction that
 *   will record its completion, its context writes and what it spawns:
 *
 *       static cascade_err
 *       transfer(cascade_node *node, void *user)
 *       {
 *           sqlite3 *db = NULL;
 *           cascade_err err = cascade_node_sqlite(node, &db);
 *
 *           if (err == CASCADE_OK && move_money(db, ...) != SQLITE_OK)
 *               err = CASCADE_ERR_FAILED;
 *           return err;
 *       }
 *
 *   It returns CASCADE_OK: both are committed, or neither (G11: exactly once).
 *   Anything else: it is rolled back, and the failed attempt is recorded by
 *   itself. Where the process dies before the commit, nothing of either is
 *   there, and the node runs again.
 *
 *   WHAT IT MAY DO: statements of its own, savepoints, put, spawn, output, read
 *   its input and its context, continue as new, and starts, signals,
 *   completions and commands to other cascades by cascade_node_store(): these
 *   are part of the same commit.
 *   WHAT IT MAY NOT DO, and what it gets:
 *     steps, sleeps, awaits, children,     CASCADE_ERR_MISUSE from the call:
 *     updates, heartbeats                  they would be commits of their own
 *     calls with the store of its engine   CASCADE_ERR_MISUSE: they would wait
 *                                          for this very transaction
 *     BEGIN, COMMIT, ROLLBACK, ATTACH,     SQLITE_AUTH from the statement
 *     DETACH, PRAGMA that sets something,
 *     TEMP tables, views and triggers,
 *     writing the library's tables (or a
 *     name that begins with cascade_)
 *     keep the handle, or its statements   nothing is committed by them; what
 *     and blobs, beyond its return         is under way is reset. Finalize
 *                                          them: the library cannot
 *     install hooks, handlers, functions   not seen; do not. Each transaction
 *     or an authorizer, or set options     begins with those of the library
 *     on the handle
 *   Not seen either, so do not: writing the library's tables by
 *   sqlite3_blob_open(), ALTER TABLE ... RENAME TO a name that begins with
 *   cascade_, and deleting or renaming rows of sqlite_sequence (setting them is
 *   denied).
 *   An error that makes SQLite roll back (RAISE(ROLLBACK), ON CONFLICT
 *   ROLLBACK, a full disk) fails the attempt, CASCADE_ERR_FAILED, and what the
 *   function runs after it is refused: calls by cascade_node_store() too. So
 *   does a deferred foreign key, at the commit.
 *   THE CONNECTION has foreign keys on, is in defensive mode, does not trust
 *   the schema (triggers and views call no functions but SQLite's own harmless
 *   ones), and takes "words" in double quotes for names only. It belongs to the
 *   thread of the function.
 *   TIME. SQLite has one writer for a file: while the node runs, nothing else
 *   of any engine is committed there, nor anything else of the application. So
 *   its transaction has a limit, `transaction_max_ms`, of half of the lease at
 *   most, beyond which its statements are interrupted and the attempt has
 *   failed with CASCADE_ERR_TIMEOUT. Do what takes long in a node before it.
 *   Each commit renews the lease. The lock itself is held until the function
 *   returns. cascade_engine_stop() does not wait for that beyond its timeout,
 *   where the function is of the engine that stops: it leaves the function's
 *   thread to roll back and to detach then, from when on other engines have the
 *   cascades without waiting for the lease. For the function of another engine
 *   on the same file it waits as for any writer, up to deadline_ms. Starts
 *   that wait for a commit of that engine wait as long, up to deadline_ms.
 *   Those who wait for the lock ask for it now and then only (SQLite's own
 *   busy_timeout each 100 ms in the end): so behind one that took 10 ms or more
 *   an engine begins the next after a tenth of that time, 120 ms at most. Where
 *   long ones follow each other without a pause, give your own writes a
 *   busy_timeout of many times `transaction_max_ms`: nothing queues for the
 *   lock between connections, and several engines leave gaps of their own only.
 *   On a single connection (below) there are none: write between your polls.
 *   One runs at a time in an engine; and no other commit of its cascade is in
 *   flight meanwhile: what its parallel executions have to record waits, and
 *   with CASCADE_MODE_THREADS a step of theirs keeps its worker until then.
 *
 * INSIDE YOUR TRANSACTION
 *   cascade_sqlite_open() makes a store of a connection that the application
 *   has. While a transaction is open on that, cascade_start() and its kin,
 *   cascade_signal(), cascade_complete() and commands that do not wait write
 *   into it, each within a savepoint: they take effect when it commits, and
 *   never if it rolls back. Reading sees what the transaction sees. What must
 *   wait or ends transactions of its own is CASCADE_ERR_MISUSE: waiting,
 *   updates, cascade_engine_poll(), migrating, purge, verify, adopt, import.
 *   Engines of any process hear of it when it commits, within the usual time.
 *   Outside a transaction each call is a transaction of its own, as always.
 *   A call that fails takes back what it wrote, and your transaction goes on.
 *   Some errors make SQLite roll all of it back (a full disk, I/O, no memory):
 *   the error text says so, and sqlite3_get_autocommit() tells. Where SQLite
 *   cannot even do that the text ends with "do not COMMIT", or, within a
 *   statement of yours (below), with "let this statement fail".
 *   While a statement of yours is writing (from a function of yours that it
 *   calls, say), SQLite has no savepoints: then a call that starts one cascade,
 *   or sends one message, works, and others are CASCADE_ERR_MISUSE.
 *
 *   RULES OF THE CONNECTION
 *     - One thread at a time uses it, and any store on it. A call from within
 *       another, by a callback, is CASCADE_ERR_MISUSE.
 *     - It is a read-write connection to a file; that file, as `main`, is the
 *       store, whatever is attached, or has the same names in temp. WAL is
 *       entered where it was not. It may be in any threading mode but that of a
 *       library built without threads.
 *     - Opening sets, and leaves, what must hold for every connection to such a
 *       file: wal_autocheckpoint = 0 and SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
 *       (SQLite up to 3.51.2 can damage a database when one connection runs a
 *       checkpoint while another writes: checkpoints are run by the library,
 *       under the lock of PATH-lock); and foreign keys on. Run no checkpoint
 *       yourself. It uses the connection's WAL hook: have none of your own.
 *       There a commit of yours may run the checkpoint that is due; the log of
 *       an attached database is copied as SQLite would. Authorizer, busy and
 *       progress handlers, other hooks and settings stay yours, and hold for
 *       the library's statements too. It adds a function, cascade_link(), which
 *       does nothing for you.
 *     - From the first write of a call in your transaction on, no checkpoint
 *       runs until you COMMIT; after a ROLLBACK, until the next call of the
 *       library or commit on the connection, for it hears of it only then: an
 *       idle connection lets the log of the file grow meanwhile. Any call that
 *       reads settles it, cascade_get() say.
 *     - Durability is the connection's own: with PRAGMA synchronous below FULL
 *       a power cut may take back what was committed.
 *     - Outside a transaction a call waits for the write lock as PRAGMA
 *       busy_timeout says; without that, up to deadline_ms, asking your busy
 *       handler again and again where you have one. Inside, your handler or
 *       timeout alone decides.
 *     - A transaction begun with BEGIN DEFERRED that has read before may find,
 *       as SQLite has it, that it cannot write any more:
 *       CASCADE_ERR_UNAVAILABLE (SQLITE_BUSY_SNAPSHOT). Begin with BEGIN
 *       IMMEDIATE. Without a transaction, a SELECT that is still being stepped
 *       does the same: CASCADE_ERR_MISUSE.
 *     - sqlite3_interrupt() and your progress handler interrupt the library's
 *       statements too: CASCADE_ERR_UNAVAILABLE, and of that call nothing
 *       stays. Where it meets a write, or the end of the call's savepoint, your
 *       whole transaction is rolled back; the text says so. A commit hook of
 *       yours that refuses the commit of a call outside a transaction:
 *       CASCADE_ERR_UNAVAILABLE.
 *     - Close the store before the connection, outside a transaction. One store
 *       to a connection (and the functions below).
 *
 *   AN ENGINE on such a store (one connection for everything, for small
 *   devices) runs in the INLINE mode only, transactional nodes included, which
 *   get that same connection. Poll it outside your transactions. Nothing guards
 *   such a node's transaction, since authorizer, handlers and hooks are yours:
 *   BEGIN, COMMIT and ROLLBACK are seen when it returns only, as
 *   CASCADE_ERR_MISUSE (a mere ROLLBACK as CASCADE_ERR_FAILED), what it changed
 *   on the connection stays, and its time limit is looked at in the end. What
 *   your commit hook refuses the engine repeats until it does not, and nothing
 *   is lost by it; but the attempt of a transactional node has failed then.
 *
 * FUNCTIONS FOR SQL
 *   cascade_sqlite_functions() adds to a connection, with the same checks:
 *     cascade_start(node, input [, key [, user_id [, queue [, priority
 *                   [, delay_ms]]]]])
 *         the id of the cascade, as text; of the one that exists where the key
 *         is taken. Every argument but `node` may be NULL
 *     cascade_signal(cascade_id, name, payload [, request_id])
 *         1 when it was accepted, 0 when that cascade has ended or the request
 *         was known
 *   They write into the transaction that the statement is in, also from
 *   triggers (not with PRAGMA trusted_schema = OFF, nor on a connection without
 *   them: there the statement that fires the trigger fails). In a SELECT
 *   outside a transaction each call is one of its own. What is wrong is the
 *   error of the statement (SQLITE_BUSY where trying again may help,
 *   SQLITE_INTERRUPT where you interrupted it): of that call nothing stays, and
 *   of earlier ones in the statement neither, but where it is a SELECT, or
 *   inserts a single row. The rules of the connection above hold; it is closed
 *   as any other.
 */
#ifndef CASCADE_SQLITE_H
#define CASCADE_SQLITE_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As sqlite3.h has it. */
typedef struct sqlite3 sqlite3;

/* The connection of the transaction that a transactional node runs in; valid
 * until its function returns. CASCADE_ERR_MISUSE for a node that is not
 * registered as transactional, CASCADE_ERR_UNSUPPORTED on another store. */
CASCADE_API cascade_err cascade_node_sqlite(cascade_node *node, sqlite3 **db);

/* A store on a connection of the application's: see above. `db` stays the
 * caller's; where it fails its settings are as they were. CASCADE_ERR_INVALID
 * for one that is read-only or in memory, CASCADE_ERR_MISUSE while a
 * transaction is open on it or a statement of yours is writing, or where WAL is
 * to be entered while a SELECT is being stepped. Options: `durability` and
 * `connection_max` are not read. */
CASCADE_API cascade_err cascade_sqlite_open(
    sqlite3 *db, const cascade_store_options *options, cascade_store **store);

/* Adds the functions for SQL to a connection, until it is closed: all of them,
 * or none. Functions of these names and argument counts that it has are
 * replaced, and where it fails they may be gone. `options` as of
 * cascade_sqlite_open(), whose errors it has too; what they point at for the
 * log must outlive the connection. A second time, or while any statement is
 * being stepped: CASCADE_ERR_MISUSE. */
CASCADE_API cascade_err
cascade_sqlite_functions(sqlite3 *db, const cascade_store_options *options);

#ifdef __cplusplus
}
#endif

#endif
