/* SPDX-License-Identifier: MIT
 *
 * A store on a connection that is not the library's: of the application, or of
 * a transactional node. It has the one connection for everything, and leaves
 * to the application what is the application's: when a transaction begins and
 * ends, how long locks are waited for, who may do what.
 *
 * WHAT A MOVE IS PART OF, which is looked up when it begins (find_span):
 *
 *   SPAN_OWN        no transaction is open: BEGIN [IMMEDIATE] ... COMMIT, the
 *                   sidecar held, as in transaction.c
 *   SPAN_SAVEPOINT  one of the application's is: SAVEPOINT ... RELEASE, so that
 *                   a move that fails takes back what it wrote and no more
 *   SPAN_STATEMENT  one of its statements is writing, and calls us by a
 *                   function or trigger: SQLite has no savepoints there. The
 *                   moves that may come so (one start or one message, pause)
 *                   take back what they wrote themselves: commit.c
 *   SPAN_NONE       inside either, and the move only reads: nothing to do
 *
 *   The first kind is over when the move is. Of the others something is left
 *   over until the application commits: the share of the sidecar, and that
 *   others are to be told.
 *
 *                       first move that writes            its COMMIT: on_wal
 *     nothing left over -----------------------> left over ---------------->
 *                       <-----------------------          <----------------
 *                        the move failed         ROLLBACK, or a COMMIT that was
 *                                                interrupted when it was done:
 *                                                seen by the next call on the
 *                                                connection
 *
 *   SQLite has one rollback hook for a connection, and it is the application's:
 *   so after its ROLLBACK the share is held until its next call of the library,
 *   or its next commit. That only keeps the checkpoints of others waiting.
 *
 * IF WE DIE
 *   As in transaction.c: what was not committed is not there. Between the
 *   COMMIT of the application and the wake in its hook nobody is told; the
 *   others find the work one poll later.
 *
 * ROLLED BACK BY SQLITE
 *   A full disk, an I/O error or no memory may end the application's whole
 *   transaction in the middle of a move. The error text says so: what the
 *   application writes next would be committed by itself. Where SQLite cannot
 *   even go back to the savepoint, we roll all of it back: half of a start must
 *   not be committed. Where that fails as well the text says what to do.
 *
 * INTERRUPTED
 *   By sqlite3_interrupt(), or by the application's progress handler: at any
 *   statement of ours, COMMIT and ROLLBACK among them. A write that is
 *   interrupted takes the whole transaction with it; for what is left open then
 *   see interrupt_all().
 *
 * LIMITS
 *   Nobody waits here: a second call on a connection in use is the fault of the
 *   caller, who would wait for himself.
 */
#include "store/sqlite/internal.h"

#include <sys/stat.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "store/store.h"

#define ROLLBACKS_MAX 3

/* ---- What is left over --------------------------------------------------- */

static bool
is_in_transaction(const csc_sqlite *store)
{
    return !sqlite3_get_autocommit(store->writer.db);
}

/* SQLite opens no savepoint then, and commits nothing. */
static bool
is_writing(const csc_sqlite *store)
{
    sqlite3_stmt *statement = sqlite3_next_stmt(store->writer.db, NULL);

    while (statement != NULL) {
        if (sqlite3_stmt_busy(statement) && !sqlite3_stmt_readonly(statement))
            return true;
        statement = sqlite3_next_stmt(store->writer.db, statement);
    }
    return false;
}

bool
csc_sqlite_guest_is_busy(sqlite3 *db)
{
    sqlite3_stmt *statement = sqlite3_next_stmt(db, NULL);

    while (statement != NULL && !sqlite3_stmt_busy(statement))
        statement = sqlite3_next_stmt(db, statement);
    return statement != NULL;
}

bool
csc_sqlite_guest_is_within(const csc_sqlite *store)
{
    return store->guest.native != NULL || is_in_transaction(store) ||
           is_writing(store);
}

static void
release_share(csc_sqlite *store)
{
    if (store->writer.locked)
        csc_sqlite_lock_release(&store->lock);
    store->writer.locked = false;
}

static void
end_left_over(csc_sqlite *store)
{
    bool tell = store->guest.tell;

    release_share(store);
    store->guest.tell = false;
    if (tell)
        (void)csc_sqlite_wait_wake(store); /* a hint */
}

/* With a transaction of its own the move does the rest by itself. The hook of a
 * COMMIT that was interrupted comes with the next statement that is done, which
 * may be one of ours within a write: that has the share. */
void
csc_sqlite_guest_note_commit(csc_sqlite *store, int pages)
{
    store->writer.wal_pages = pages;
    if (store->guest.open && store->guest.span == CSC_SQLITE_SPAN_OWN) {
        store->guest.committed = true;
        return;
    }
    if (!csc_sqlite_guest_is_within(store))
        end_left_over(store);
}

/* A transaction that is over without on_wal was rolled back, wrote nothing, or
 * its COMMIT was interrupted when it was done: others are told in any case. */
void
csc_sqlite_guest_settle(csc_sqlite *store)
{
    if (!csc_sqlite_guest_is_within(store))
        end_left_over(store);
}

/* Behind the transaction of a node the engine wakes. */
static bool
guest_put_off_wake(csc_sqlite *store)
{
    if (!csc_sqlite_guest_is_within(store))
        return false;
    store->guest.tell = true;
    return true;
}

/* ---- Begin --------------------------------------------------------------- */

static cascade_err
run(csc_sqlite_conn *conn, csc_sqlite_statement id, int *code)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, id);
    err = csc_sqlite_call_run(&call, NULL);
    if (code != NULL)
        *code =
            err == CASCADE_OK ? SQLITE_OK : sqlite3_extended_errcode(conn->db);
    return err;
}

static csc_sqlite_span
find_span(const csc_sqlite *store, bool writes)
{
    bool writing = is_writing(store);

    if (!writing && !is_in_transaction(store))
        return CSC_SQLITE_SPAN_OWN;
    if (!writes)
        return CSC_SQLITE_SPAN_NONE;
    return writing ? CSC_SQLITE_SPAN_STATEMENT : CSC_SQLITE_SPAN_SAVEPOINT;
}

int
csc_sqlite_guest_read_number(sqlite3 *db, const char *sql, int *number)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *number = sqlite3_column_int(statement, 0);
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

/* A handler of the application's cannot be seen; its timeout can. */
static bool
has_busy_timeout(sqlite3 *db)
{
    int timeout_ms = 0;

    (void)csc_sqlite_guest_read_number(
        db, csc_sqlite_statements[CSC_SQLITE_READ_BUSY_TIMEOUT].sql,
        &timeout_ms);
    return timeout_ms > 0;
}

/* Compiled before it is needed, for interrupt_all(): where that fails it is
 * done without. */
static void
arm(csc_sqlite_conn *conn)
{
    sqlite3_stmt **begin = &conn->statements[CSC_SQLITE_BEGIN_WRITE];

    if (*begin == NULL && conn->store->guest.session->is_hooked(conn->store))
        (void)sqlite3_prepare_v3(
            conn->db, csc_sqlite_statements[CSC_SQLITE_BEGIN_WRITE].sql, -1,
            SQLITE_PREPARE_PERSISTENT, begin, NULL);
}

/* An interruption holds as long as any statement is under way on the
 * connection, a SELECT of the application's say, and interrupts ROLLBACK too.
 * But with a statement that would write, SQLite takes the transaction back by
 * itself. BEGIN IMMEDIATE is one, and does nothing else in a transaction. */
static void
interrupt_all(csc_sqlite_conn *conn)
{
    sqlite3_stmt *begin = conn->statements[CSC_SQLITE_BEGIN_WRITE];

    if (begin == NULL)
        return;
    (void)sqlite3_step(begin);
    (void)sqlite3_reset(begin);
}

/* A progress handler may interrupt the one and not the other. ROLLBACK first,
 * twice: BEGIN IMMEDIATE may wait for the write lock, on behalf of a read. */
static void
end_all(csc_sqlite_conn *conn)
{
    int code = SQLITE_INTERRUPT;

    for (int i = 0; i < ROLLBACKS_MAX && code == SQLITE_INTERRUPT; i++) {
        code = sqlite3_exec(conn->db,
                            csc_sqlite_statements[CSC_SQLITE_ROLL_BACK].sql,
                            NULL, NULL, NULL);
        if (!is_in_transaction(conn->store))
            return;
        if (code == SQLITE_INTERRUPT && i > 0)
            interrupt_all(conn);
    }
}

/* Rolls all of it back. Where not even that works, as without any memory, the
 * application has to: what is left of a call must not be committed. */
static cascade_err
roll_back(csc_sqlite_conn *conn, cascade_err err)
{
    csc_error_kept kept;

    if (!is_in_transaction(conn->store))
        return err;
    csc_error_keep(&kept, err);
    end_all(conn);
    if (!is_in_transaction(conn->store))
        return csc_error_restore(&kept);
    return cascade_store_fail(err,
                              "%s; nor could what it had written be rolled "
                              "back: ROLLBACK, and do not COMMIT",
                              kept.text);
}

static cascade_err
tell_rolled_back(csc_sqlite *store, cascade_err err)
{
    store->guest.told = true;
    return cascade_store_fail(err,
                              "%s; the whole transaction of the application "
                              "was rolled back with it",
                              cascade_errmsg());
}

/* Also where SQLite has. Without a transaction there is but the statement of
 * the application's that the move is part of, which is SQLite's to take back.
 */
static cascade_err
roll_back_all(csc_sqlite_conn *conn, cascade_err err)
{
    csc_sqlite *store = conn->store;

    err = roll_back(conn, err);
    if (is_in_transaction(store))
        return err;
    if (store->guest.within)
        return tell_rolled_back(store, err);
    if (!is_writing(store))
        return err;
    return cascade_store_fail(err,
                              "%s; nor could what it had written be taken "
                              "back: let this statement fail",
                              cascade_errmsg());
}

/* Reads something too: a transaction that only says BEGIN has seen nothing,
 * and may still find the file locked. */
static cascade_err
try_begin(csc_sqlite_conn *conn, bool writes, int *code)
{
    cascade_err err;

    if (writes)
        return run(conn, CSC_SQLITE_BEGIN_WRITE, code);
    err = run(conn, CSC_SQLITE_BEGIN_READ, code);
    if (err == CASCADE_OK)
        err = run(conn, CSC_SQLITE_TOUCH, code);
    if (err != CASCADE_OK)
        err = roll_back(conn, err); /* the next try begins anew */
    return err;
}

/* Not while a statement reads on the connection: all of them are the
 * application's here. */
static cascade_err
enter_wal(csc_sqlite_conn *conn)
{
    cascade_err err = csc_sqlite_conn_enter_wal(conn);

    if (err != CASCADE_ERR_SCHEMA || !csc_sqlite_guest_is_busy(conn->db))
        return err;
    return cascade_store_fail(
        CASCADE_ERR_MISUSE,
        "SQLite: the database has no write-ahead log yet, and none can be "
        "begun while a statement of the application is reading on this "
        "connection, a SELECT say: run PRAGMA journal_mode = WAL before it, or "
        "step it to its end, or reset it");
}

static cascade_err
begin_own(csc_sqlite_conn *conn, bool writes)
{
    int code = SQLITE_OK;
    cascade_err err = CASCADE_OK;

    if (writes)
        err = enter_wal(conn);
    if (err == CASCADE_OK)
        err = try_begin(conn, writes, &code);
    for (unsigned round = 0; (code & 0xff) == SQLITE_BUSY; round++) {
        if (code == SQLITE_BUSY_SNAPSHOT)
            return cascade_store_fail(
                CASCADE_ERR_MISUSE,
                "SQLite: a statement of the application is still reading an "
                "older state on this connection, so nothing can be written: "
                "step it to its end, or reset it, or BEGIN IMMEDIATE before "
                "it");
        if (has_busy_timeout(conn->db) ||
            !csc_sqlite_conn_pause(conn->deadline_ns, round))
            return csc_sqlite_error_set(conn, code, "begin a transaction");
        err = try_begin(conn, writes, &code);
    }
    return err;
}

/* WAL cannot be entered inside a transaction; asking for it where it is already
 * does no harm. */
static cascade_err
require_wal(csc_sqlite_conn *conn)
{
    cascade_err err = csc_sqlite_conn_enter_wal(conn);

    if (err != CASCADE_ERR_SCHEMA)
        return err;
    return cascade_store_fail(
        CASCADE_ERR_MISUSE,
        "SQLite: the database has no write-ahead log, and a transaction is "
        "open: run PRAGMA journal_mode = WAL, or a call of the library, "
        "before it");
}

static cascade_err
take_share(csc_sqlite *store)
{
    csc_sqlite_conn *conn = &store->writer;
    cascade_err err;

    if (conn->locked || store->guest.native != NULL)
        return CASCADE_OK;
    err = csc_sqlite_lock_share(&store->lock, conn->deadline_ns);
    conn->locked = err == CASCADE_OK;
    store->guest.fresh = conn->locked;
    return err;
}

/* One that was interrupted may have been made all the same. It must not stay: a
 * later ROLLBACK TO would find it, and take back what came between. */
static cascade_err
save(csc_sqlite_conn *conn)
{
    csc_error_kept kept;
    int code = SQLITE_OK;
    cascade_err err = run(conn, CSC_SQLITE_SAVE, &code);
    cascade_err released;

    if ((code & 0xff) != SQLITE_INTERRUPT ||
        conn->statements[CSC_SQLITE_SAVE] == NULL) /* not even compiled */
        return err;
    csc_error_keep(&kept, err);
    released = run(conn, CSC_SQLITE_RELEASE, NULL);
    (void)csc_error_restore(&kept);
    if (released == CASCADE_OK || released == CASCADE_ERR_SCHEMA) /* none */
        return err;
    return roll_back_all(conn, err);
}

static cascade_err
begin_span(csc_sqlite_conn *conn, bool writes)
{
    csc_sqlite *store = conn->store;
    cascade_err err = CASCADE_OK;

    if (writes)
        err = take_share(store);
    if (err != CASCADE_OK)
        return err;
    switch (store->guest.span) {
    case CSC_SQLITE_SPAN_OWN:
        arm(conn);
        return begin_own(conn, writes);
    case CSC_SQLITE_SPAN_SAVEPOINT:
        arm(conn);
        err = require_wal(conn);
        return err == CASCADE_OK ? save(conn) : err;
    case CSC_SQLITE_SPAN_STATEMENT:
        arm(conn);
        return require_wal(conn);
    case CSC_SQLITE_SPAN_NONE:
        break;
    }
    return CASCADE_OK;
}

/* The transaction of a node, where the library guards that; or NULL. */
static csc_sqlite_native *
find_guarded(const csc_sqlite *store)
{
    csc_sqlite_native *it =
        store->guest.native != NULL ? store->guest.native->own : NULL;

    return it == NULL || it->conn.store->guest.session != NULL ? NULL : it;
}

static bool
guest_is_hooked(const csc_sqlite *store)
{
    return store->guest.session != NULL && find_guarded(store) == NULL;
}

static void
give_back(csc_sqlite *store)
{
    csc_sqlite_guest *guest = &store->guest;
    csc_sqlite_native *guarded = find_guarded(store);

    if (guarded != NULL)
        csc_sqlite_native_leave(guarded);
    if (guest->fleeting)
        csc_sqlite_conn_finalize(&store->writer);
    guest->fresh = false;
    guest->open = false;
}

/* Where the application's transaction, in which the move began, is over. */
static cascade_err
tell_if_gone(csc_sqlite *store, cascade_err err)
{
    bool gone = store->guest.within && !is_in_transaction(store);

    if (err != CASCADE_OK && gone && !store->guest.told)
        return tell_rolled_back(store, err);
    return err;
}

/* Whether the transaction of the node is over already: what is written then
 * would be committed by itself. */
static bool
is_node_over(const csc_sqlite *store)
{
    return store->guest.native != NULL && !is_in_transaction(store);
}

static cascade_err
guest_begin(csc_sqlite *store, bool writes, csc_sqlite_conn **out)
{
    csc_sqlite_conn *conn = &store->writer;
    csc_sqlite_native *guarded = find_guarded(store);
    cascade_err err;

    *out = conn;
    if (store->guest.open)
        return cascade_store_fail(
            CASCADE_ERR_MISUSE,
            "SQLite: a call on this store is under way, and its connection "
            "serves one at a time: do not call it from a callback, or from "
            "another thread");
    if (is_node_over(store))
        return cascade_store_fail(
            CASCADE_ERR_FAILED,
            "SQLite: the transaction of this node was rolled back, by an error "
            "in one of its statements or by its function; return from the "
            "node");
    if (guarded != NULL)
        csc_sqlite_native_enter(guarded);
    store->guest.open = true;
    store->guest.committed = false;
    store->guest.told = false;
    store->guest.interrupted = false;
    csc_sqlite_link_hold(store);
    conn->deadline_ns = csc_sqlite_txn_get_deadline(store);
    store->guest.span = find_span(store, writes);
    store->guest.within = is_in_transaction(store);
    err = begin_span(conn, writes);
    if (err != CASCADE_OK) {
        if (store->guest.span == CSC_SQLITE_SPAN_OWN)
            err = roll_back(conn, err);
        if (store->guest.fresh)
            release_share(store);
        give_back(store);
        return tell_if_gone(store, err);
    }
    return CASCADE_OK;
}

/* ---- End ----------------------------------------------------------------- */

static cascade_err
guest_leave_own(csc_sqlite_conn *conn, cascade_err err)
{
    if (err != CASCADE_OK)
        err = roll_back(conn, err);
    release_share(conn->store);
    if (err == CASCADE_OK)
        csc_sqlite_txn_tend_log(conn);
    return err;
}

/* Another one behind each commit of this connection, and not behind a
 * ROLLBACK. */
static unsigned
get_data_version(sqlite3 *db)
{
    unsigned version = 0;

    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

/* SQLite asks the progress handler once more behind the last step: a COMMIT
 * that was interrupted may be done. That it has left no transaction does not
 * tell: the application's virtual tables run statements in it, FTS4 say, whose
 * interruption rolls all of it back. */
static cascade_err
commit(csc_sqlite_conn *conn)
{
    int code = SQLITE_OK;
    unsigned before = get_data_version(conn->db);
    cascade_err err = run(conn, CSC_SQLITE_COMMIT, &code);

    if ((code & 0xff) == SQLITE_INTERRUPT && !is_in_transaction(conn->store) &&
        get_data_version(conn->db) != before)
        return csc_ok();
    return err;
}

static cascade_err
end_own(csc_sqlite_conn *conn, cascade_err err)
{
    if (err == CASCADE_OK)
        err = commit(conn);
    return csc_sqlite_txn_leave(conn, err);
}

/* `err` stays, whatever comes of it. */
static cascade_err
undo_savepoint(csc_sqlite_conn *conn, cascade_err err)
{
    csc_error_kept kept;
    bool undone;

    if (!is_in_transaction(conn->store))
        return tell_rolled_back(conn->store, err);
    csc_error_keep(&kept, err);
    undone = run(conn, CSC_SQLITE_ROLL_BACK_TO, NULL) == CASCADE_OK &&
             run(conn, CSC_SQLITE_RELEASE, NULL) == CASCADE_OK;
    err = csc_error_restore(&kept);
    return undone ? err : roll_back_all(conn, err);
}

static cascade_err
end_savepoint(csc_sqlite_conn *conn, cascade_err err)
{
    if (err == CASCADE_OK)
        err = run(conn, CSC_SQLITE_RELEASE, NULL);
    return err == CASCADE_OK ? err : undo_savepoint(conn, err);
}

static cascade_err
guest_end(csc_sqlite_conn *conn, cascade_err err)
{
    csc_sqlite *store = conn->store;

    switch (store->guest.span) {
    case CSC_SQLITE_SPAN_OWN:
        err = end_own(conn, err);
        break;
    case CSC_SQLITE_SPAN_SAVEPOINT:
        err = end_savepoint(conn, err);
        break;
    case CSC_SQLITE_SPAN_STATEMENT:
    case CSC_SQLITE_SPAN_NONE:
        err = tell_if_gone(store, err);
        break;
    }
    if (err != CASCADE_OK && store->guest.fresh)
        release_share(store);
    give_back(store);
    return err;
}

static cascade_err
guest_take_back(csc_sqlite_conn *conn, const cascade_uuid *id, cascade_err err)
{
    csc_error_kept kept;
    cascade_err undone;

    csc_error_keep(&kept, err);
    undone = csc_sqlite_delete_whole(conn, id);
    err = csc_error_restore(&kept);
    return undone == CASCADE_OK ? err : roll_back_all(conn, err);
}

/* ---- Transactions of nodes ----------------------------------------------- */

/* A savepoint in it tells, when it is released, whether the transaction is the
 * same still. */
static cascade_err
guest_native_begin(csc_sqlite *store, int64_t limit_ms, cascade_native *native)
{
    csc_sqlite_conn *conn = NULL;
    cascade_err err = csc_sqlite_txn_begin_write(store, &conn);

    if (err != CASCADE_OK)
        return err;
    if (store->guest.span != CSC_SQLITE_SPAN_OWN)
        err = cascade_store_fail(CASCADE_ERR_MISUSE,
                                 "SQLite: a transaction of the application is "
                                 "open on the connection that the node is to "
                                 "have");
    store->guest.committed = false; /* WAL was entered, or a late hook came */
    if (err == CASCADE_OK)
        err = run(conn, CSC_SQLITE_SAVE_NODE, NULL);
    if (err != CASCADE_OK)
        return guest_end(conn, err);
    csc_sqlite_native_set_limit(&store->native, limit_ms);
    *native = (cascade_native){.handle = conn->db, .own = &store->native};
    return CASCADE_OK;
}

static cascade_err
check_committed(const csc_sqlite *store)
{
    if (!store->guest.committed)
        return CASCADE_OK;
    return cascade_store_fail(CASCADE_ERR_MISUSE,
                              "finish: the node's function has committed its "
                              "transaction itself; leave that to the library");
}

static cascade_err
check_node(csc_sqlite *store)
{
    cascade_err err = csc_sqlite_native_check_time(&store->native);

    if (err == CASCADE_OK)
        err = check_committed(store);
    if (err != CASCADE_OK)
        return err;
    if (!is_in_transaction(store))
        return cascade_store_fail(CASCADE_ERR_FAILED,
                                  "finish: the transaction of the node was "
                                  "rolled back, by SQLite for an error in one "
                                  "of its statements, or by its function");
    if (is_writing(store))
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "finish: a statement of the node's function "
                                  "is writing still; step it to its end, and "
                                  "finalize it");
    err = run(&store->writer, CSC_SQLITE_RELEASE_NODE, NULL);
    if (err != CASCADE_ERR_SCHEMA) /* else there is no such savepoint */
        return err;
    return cascade_store_fail(CASCADE_ERR_MISUSE,
                              "finish: the node's function has rolled its "
                              "transaction back and begun another one; leave "
                              "that to the library");
}

static cascade_err
guest_native_finish(csc_sqlite *store, const cascade_batch *batch,
                    bool *existed)
{
    csc_sqlite_conn *conn = &store->writer;
    bool claimable = false;
    cascade_err err;

    conn->deadline_ns = csc_sqlite_txn_get_deadline(store);
    err = check_node(store);
    if (err == CASCADE_OK)
        err = csc_sqlite_commit_within(conn, batch, existed, &claimable);
    if (err == CASCADE_OK)
        err = csc_sqlite_native_commit(conn);
    err = csc_sqlite_txn_leave(conn, err);
    give_back(store);
    if (err == CASCADE_OK && claimable)
        (void)csc_sqlite_wait_wake(store);
    return err;
}

static cascade_err
guest_native_abandon(csc_sqlite *store)
{
    cascade_err err = check_committed(store);

    (void)csc_sqlite_txn_leave(&store->writer, CASCADE_ERR_FAILED);
    give_back(store);
    return err;
}

/* ---- The schema ---------------------------------------------------------- */

/* CREATE INDEX ... ON a table of ours would be made on that one. */
static cascade_err
guest_check_shadows(csc_sqlite_conn *conn)
{
    csc_sqlite_call call;
    bool found = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_FIND_SHADOW);
    err = csc_sqlite_call_next(&call, &found);
    csc_sqlite_call_end(&call);
    if (err == CASCADE_OK && found)
        err = cascade_store_fail(
            CASCADE_ERR_MISUSE,
            "SQLite: a temporary table or view on this connection has the "
            "name of a table of the library, which is still to be made: drop "
            "it until then");
    return err;
}

static cascade_err
guest_enter_wal(csc_sqlite *store)
{
    csc_sqlite_conn *conn = &store->writer;

    conn->deadline_ns = csc_sqlite_txn_get_deadline(store);
    return enter_wal(conn);
}

/* ---- Open and close: borrowed_open.c -------------------------------- */

const csc_sqlite_session *
csc_sqlite_guest_session(void)
{
    static const csc_sqlite_session session = {
        .begin = guest_begin,
        .end = guest_end,
        .leave_own = guest_leave_own,
        .take_back = guest_take_back,
        .native_begin = guest_native_begin,
        .native_finish = guest_native_finish,
        .native_abandon = guest_native_abandon,
        .put_off_wake = guest_put_off_wake,
        .check_shadows = guest_check_shadows,
        .enter_wal = guest_enter_wal,
        .refuse = csc_sqlite_guest_refuse,
        .leave = csc_sqlite_guest_leave,
        .is_hooked = guest_is_hooked,
    };

    return &session;
}
