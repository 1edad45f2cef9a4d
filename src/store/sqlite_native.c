/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes: begin, finish, abandon, settle.
 *
 * A node's function is given the connection of the transaction that will record
 * its completion, and does with it what it likes. So it is a connection of its
 * own, which no other move uses: whatever the function leaves behind, commits
 * and claims do not meet it. It is opened at its first use, and kept.
 *
 *   begin     1. the handle's writer, the guard, the sidecar, BEGIN IMMEDIATE:
 *                as in sqlite_txn.c. SQLite has one writer for a file, so the
 *                turn is held until 5, and our own lanes queue for it instead
 *                of spinning in SQLITE_BUSY
 *             2. the guard is on
 *             -- the function --
 *   finish    3. is it the same transaction still, and in time?
 *             4. the changes, their messages, the lane row, the lease; COMMIT
 *             5. the guard's callbacks again, the sidecar and the writer given
 *                back, and now and then a checkpoint
 *   abandon   ROLLBACK, 5
 *
 * IF WE DIE
 *   before the COMMIT of 4: the frames in the WAL have no commit mark; nobody
 *             ever sees a row of the function's, or of ours.
 *   in it:    the mark is there, and all of both; or it is not, and nothing is.
 *   after it: both are there. The node's completion is among the rows, so
 *             nobody runs it again.
 *   If the process lives but does not know (an I/O error in COMMIT), settle
 *   asks the lane row, in a transaction of its own: this handle's transaction
 *   has ended by then in each case, so what settle finds stays so.
 *
 *             the lane row shows      settle makes it     the answer
 *             number - 1              number + 1          not committed
 *             number + 1              -                   not committed
 *             number                  -                   committed
 *             another number          -                   LOST
 *             (no row)                -                   FENCED
 *
 *   A finish of `number` that comes later (of a process that was stopped
 *   meanwhile, say) finds number + 1, and is LOST.
 *
 * THE GUARD
 *   The function must not end the transaction, make anything that outlives it,
 *   or write the library's tables:
 *     an authorizer     denies these when the statement is compiled, also in
 *                       triggers and views: SQLITE_AUTH
 *     a commit hook     refuses each COMMIT that is not finish's. That is the
 *                       second line, for whoever has replaced the authorizer;
 *                       and what the function runs after SQLite has rolled back
 *                       by itself would be committed statement by statement
 *     a rollback hook   sees that. With the authorizer in place only an error
 *                       can have done it: RAISE(ROLLBACK), ON CONFLICT
 *                       ROLLBACK, a full disk, out of memory, an interrupted
 *                       write. The attempt has failed, and nobody is to blame:
 *                       FAILED
 *     a progress        interrupts the function's statements from its limit on.
 *     handler           Real time, also where the clock is injected
 *   They stay on the connection between transactions, for a function that has
 *   kept the handle; and each begin and end puts back what a function has
 *   replaced. While the library itself works on the connection (begin, finish,
 *   and calls of cascade_node_store() by enter and leave) nothing is denied.
 *
 * WHAT IT LEAVES
 *   Statements that it has not finished would hold a read transaction on this
 *   connection, and the next write could not begin: they are reset, at the end,
 *   and for whoever has kept one and stepped it since, at begin. They are
 *   not finalized, since sqlite3_next_stmt() gives those of virtual tables (of
 *   full-text search, say) too, which finalize them themselves, and nothing
 *   tells the ones from the others. So one that is forgotten costs its memory.
 */
#include <string.h>

#include "base/error.h"
#include "store/sqlite_internal.h"

/* ---- What the function may do -------------------------------------------- */

/* With an argument these read as well. */
static const char *const readers[] = {
    "foreign_key_check", "foreign_key_list", "index_info",  "index_list",
    "index_xinfo",       "integrity_check",  "quick_check", "table_info",
    "table_list",        "table_xinfo",
};

/* These do when they have none. */
static const char *const getters[] = {
    "application_id", "busy_timeout",  "collation_list", "compile_options",
    "data_version",   "database_list", "encoding",       "foreign_keys",
    "freelist_count", "function_list", "journal_mode",   "module_list",
    "page_count",     "page_size",     "pragma_list",    "recursive_triggers",
    "schema_version", "synchronous",   "user_version",
};

static bool
is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sqlite3_stricmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool
is_reading(const char *pragma, const char *argument)
{
    if (is_among(pragma, readers, sizeof(readers) / sizeof(readers[0])))
        return true;
    return argument == NULL &&
           is_among(pragma, getters, sizeof(getters) / sizeof(getters[0]));
}

/* One of the library's tables, or a name that is kept for them. */
static bool
is_ours(const char *table)
{
    static const char *const names[] = {"cascades", "node_executions",
                                        "context_events"};

    if (table == NULL)
        return false;
    return sqlite3_strnicmp(table, "cascade_", strlen("cascade_")) == 0 ||
           is_among(table, names, sizeof(names) / sizeof(names[0]));
}

/* The counters of AUTOINCREMENT, ours among them. SQLite itself counts without
 * asking; what it does ask about is the name when a table is renamed, and the
 * row when one is dropped, and nothing tells these from a statement's. */
static bool
is_counter(int action, const char *table, const char *column)
{
    if (table == NULL || sqlite3_stricmp(table, "sqlite_sequence") != 0)
        return false;
    return action == SQLITE_INSERT ||
           (action == SQLITE_UPDATE && column != NULL &&
            sqlite3_stricmp(column, "name") != 0);
}

static bool
is_allowed(int action, const char *first, const char *second)
{
    if (is_counter(action, first, second))
        return false;
    switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_CREATE_TEMP_VIEW:
        return false;
    case SQLITE_PRAGMA:
        return is_reading(first, second);
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_VTABLE:
        return !is_ours(first);
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_ALTER_TABLE:
        return !is_ours(second);
    default: /* not an enum of ours: reading, functions, savepoints */
        return true;
    }
}

static int
authorize(void *context, int action, const char *first, const char *second,
          const char *schema, const char *trigger)
{
    csc_sqlite_native *it = context;

    (void)schema;
    (void)trigger;
    it->asked = true;
    if (it->inside > 0)
        return SQLITE_OK;
    if (action == SQLITE_SAVEPOINT && sqlite3_get_autocommit(it->conn.db))
        return SQLITE_DENY; /* it would begin a transaction */
    return is_allowed(action, first, second) ? SQLITE_OK : SQLITE_DENY;
}

/* ---- The guard ----------------------------------------------------------- */

static int
on_commit(void *context)
{
    csc_sqlite_native *it = context;

    if (it->may_commit)
        return 0;
    if (it->end == CSC_SQLITE_NATIVE_OPEN)
        it->end = CSC_SQLITE_NATIVE_COMMITTING;
    return 1;
}

static void
on_rollback(void *context)
{
    csc_sqlite_native *it = context;

    if (it->end == CSC_SQLITE_NATIVE_OPEN)
        it->end = CSC_SQLITE_NATIVE_ROLLED_BACK;
}

/* Setting an authorizer makes SQLite compile all statements anew, which takes
 * longer than the rest of a transaction without flushes. So it is set where it
 * is not asked any more: on a new connection, and where it was replaced. */
static void
install_authorizer(csc_sqlite_native *it)
{
    sqlite3_stmt *statement = NULL;

    it->asked = false;
    (void)sqlite3_prepare_v2(it->conn.db, "SELECT 1", -1, &statement, NULL);
    (void)sqlite3_finalize(statement);
    if (!it->asked)
        (void)sqlite3_set_authorizer(it->conn.db, authorize, it);
}

/* Options and callbacks as they should be. Those that the library has no use
 * for are taken away: what they lead to may be gone. */
static cascade_err
install(csc_sqlite_native *it)
{
    sqlite3 *db = it->conn.db;
    int code = csc_sqlite_conn_install(&it->conn);

    (void)sqlite3_commit_hook(db, on_commit, it);
    (void)sqlite3_rollback_hook(db, on_rollback, it);
    (void)sqlite3_update_hook(db, NULL, NULL);
    (void)sqlite3_trace_v2(db, 0, NULL, NULL);
    install_authorizer(it);
    if (code != SQLITE_OK)
        return csc_sqlite_error_set(&it->conn, code, "set up the connection");
    return CASCADE_OK;
}

void
csc_sqlite_native_enter(csc_sqlite_native *it)
{
    it->inside++;
    (void)sqlite3_extended_result_codes(it->conn.db, 1);
}

void
csc_sqlite_native_leave(csc_sqlite_native *it)
{
    csc_assert(it->inside > 0);
    it->inside--;
    if (it->inside == 0)
        (void)sqlite3_extended_result_codes(it->conn.db, 0);
}

static void
reset_statements(csc_sqlite_native *it)
{
    sqlite3_stmt *statement = sqlite3_next_stmt(it->conn.db, NULL);
    int count = 0;

    while (statement != NULL) {
        if (sqlite3_stmt_busy(statement)) {
            (void)sqlite3_reset(statement);
            count++;
        }
        statement = sqlite3_next_stmt(it->conn.db, statement);
    }
    if (count > 0)
        csc_log_add(&it->conn.store->log, CASCADE_LOG_WARNING,
                    "sqlite: a transactional node has left %d statements under "
                    "way; finalize them",
                    count);
}

/* ---- Begin and end ------------------------------------------------------- */

/* What a function can have set that is not set by install(). */
static cascade_err
set_pragmas(csc_sqlite_native *it)
{
    cascade_err err =
        csc_sqlite_conn_set_durability(&it->conn, "set up the connection");

    if (err == CASCADE_OK)
        err = csc_sqlite_conn_exec(&it->conn, "set up the connection",
                                   "PRAGMA query_only = OFF");
    return err;
}

cascade_err
csc_sqlite_native_take(csc_sqlite_native *it)
{
    cascade_err err;

    csc_sqlite_native_enter(it);
    it->may_commit = true;
    err = install(it);
    reset_statements(it);
    if (err == CASCADE_OK && !sqlite3_get_autocommit(it->conn.db))
        err = csc_sqlite_conn_exec(&it->conn, "set up the connection",
                                   "ROLLBACK");
    return err == CASCADE_OK ? set_pragmas(it) : err;
}

void
csc_sqlite_native_give_back(csc_sqlite_native *it)
{
    it->may_commit = false;
    it->inside = 0;
    if (it->conn.db != NULL)
        (void)sqlite3_extended_result_codes(it->conn.db, 0);
}

void
csc_sqlite_native_set_limit(csc_sqlite_native *it, int64_t limit_ms)
{
    it->limit_ms = limit_ms;
    it->limit_ns = csc_sqlite_conn_end_ns(limit_ms);
    it->conn.deadline_ns = it->limit_ns;
}

cascade_err
csc_sqlite_native_begin(void *self, int64_t limit_ms, cascade_native *native)
{
    csc_sqlite *store = self;
    csc_sqlite_native *it = &store->native;
    csc_sqlite_conn *conn = NULL;
    cascade_err err;

    if (store->guest.session != NULL)
        return store->guest.session->native_begin(store, limit_ms, native);
    err = csc_sqlite_txn_begin_native(store, &conn);
    if (err != CASCADE_OK)
        return err;
    it->end = CSC_SQLITE_NATIVE_OPEN;
    it->may_commit = false;
    it->began_ns = csc_sqlite_conn_now_ns();
    csc_sqlite_native_set_limit(it, limit_ms);
    csc_sqlite_native_leave(it);
    *native = (cascade_native){.handle = conn->db, .own = it};
    return CASCADE_OK;
}

/* The connection is the library's again. */
static cascade_err
take_back(csc_sqlite_native *it)
{
    it->conn.deadline_ns = csc_sqlite_txn_get_deadline(it->conn.store);
    csc_sqlite_native_enter(it);
    reset_statements(it);
    return install(it);
}

cascade_err
csc_sqlite_native_check_time(const csc_sqlite_native *it)
{
    if (csc_sqlite_conn_now_ns() < it->limit_ns)
        return CASCADE_OK;
    return cascade_store_fail(CASCADE_ERR_TIMEOUT,
                              "finish: the transaction of the node took "
                              "longer than %lld ms; it was rolled back",
                              (long long)it->limit_ms);
}

/* Whether the transaction is the one that begin began. */
static cascade_err
check_open(const csc_sqlite_native *it)
{
    switch (it->end) {
    case CSC_SQLITE_NATIVE_OPEN:
        break;
    case CSC_SQLITE_NATIVE_COMMITTING:
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "finish: the node's function has run COMMIT "
                                  "itself, which was refused; leave that to "
                                  "the library");
    case CSC_SQLITE_NATIVE_ROLLED_BACK:
        return cascade_store_fail(CASCADE_ERR_FAILED,
                                  "finish: SQLite has rolled the transaction "
                                  "of the node back, for an error in one of "
                                  "its statements");
    }
    if (sqlite3_get_autocommit(it->conn.db))
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "finish: the node's function has ended its "
                                  "transaction and removed the hooks that tell "
                                  "of it; what it wrote may be committed");
    return CASCADE_OK;
}

/* A COMMIT that fails may have been made durable all the same. */
cascade_err
csc_sqlite_native_commit(csc_sqlite_conn *conn)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_COMMIT);
    err = csc_sqlite_call_run(&call, NULL);
    if (err == CASCADE_OK || call.code == SQLITE_OK) /* not run at all */
        return err;
    if (csc_sqlite_error_extend(conn->db, call.code) ==
        SQLITE_CONSTRAINT_COMMITHOOK)
        return cascade_store_fail(CASCADE_ERR_FAILED, "%s", cascade_errmsg());
    if ((call.code & 0xff) == SQLITE_CONSTRAINT)
        return cascade_store_fail(CASCADE_ERR_FAILED,
                                  "finish: what the node's function wrote "
                                  "violates a deferred constraint (code %d)",
                                  call.code);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "%s", cascade_errmsg());
}

cascade_err
csc_sqlite_native_finish(void *self, cascade_native *native,
                         const cascade_batch *batch, bool *existed)
{
    const csc_sqlite *store = self;
    csc_sqlite_native *it = native->own;
    bool claimable = false;
    cascade_err err;

    if (store->guest.session != NULL)
        return store->guest.session->native_finish(self, batch, existed);
    err = take_back(it);
    if (err == CASCADE_OK)
        err = csc_sqlite_native_check_time(it);
    if (err == CASCADE_OK)
        err = check_open(it);
    if (err == CASCADE_OK)
        err = csc_sqlite_commit_within(&it->conn, batch, existed, &claimable);
    if (err == CASCADE_OK) {
        it->may_commit = true;
        err = csc_sqlite_native_commit(&it->conn);
        it->may_commit = false;
    }
    err = csc_sqlite_txn_leave(&it->conn, err);
    if (err == CASCADE_OK && claimable)
        (void)csc_sqlite_wait_wake(self);
    return err;
}

cascade_err
csc_sqlite_native_abandon(void *self, cascade_native *native)
{
    csc_sqlite *store = self;
    csc_sqlite_native *it = native->own;
    cascade_err err;

    if (store->guest.session != NULL)
        return store->guest.session->native_abandon(store);
    (void)take_back(it);
    err = check_open(it);
    (void)csc_sqlite_txn_leave(&it->conn, CASCADE_ERR_FAILED);
    return err == CASCADE_ERR_MISUSE ? err : CASCADE_OK;
}

void
csc_sqlite_native_fini(csc_sqlite_native *it)
{
    it->conn.deadline_ns = INT64_MAX;
    csc_sqlite_conn_close(&it->conn);
}

/* ---- Settling ------------------------------------------------------------ */

static cascade_err
settle(csc_sqlite_conn *conn, const cascade_uuid *engine_id, uint32_t lane,
       int64_t number, bool *committed)
{
    csc_sqlite_call call;
    int64_t shown = number + 1;
    int changes = 0;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_SETTLE_LANE);
    csc_sqlite_call_add_uuid(&call, engine_id);
    csc_sqlite_call_add_i64(&call, lane);
    csc_sqlite_call_add_i64(&call, number);
    err = csc_sqlite_call_run(&call, &changes);
    if (err == CASCADE_OK && changes == 0)
        err = csc_sqlite_commit_get_lane(conn, engine_id, lane, &shown);
    if (err != CASCADE_OK)
        return err;
    if (shown != number && shown != number + 1)
        return cascade_store_fail(
            CASCADE_ERR_LOST,
            "settle: lane %u shows batch %lld, which comes neither of batch "
            "%lld nor of settling it; the store lost commits, attach anew",
            (unsigned)lane, (long long)shown, (long long)number);
    *committed = shown == number;
    return CASCADE_OK;
}

/* Where it was committed, the others have not been told. */
cascade_err
csc_sqlite_native_settle(void *self, const cascade_uuid *engine_id,
                         uint32_t lane, int64_t number, bool *committed)
{
    csc_sqlite *store = self;
    csc_sqlite_conn *conn = NULL;
    bool found = false;
    cascade_err err = csc_sqlite_txn_begin_write(store, &conn);

    if (err != CASCADE_OK)
        return err;
    err = settle(conn, engine_id, lane, number, &found);
    err = csc_sqlite_txn_end(conn, err);
    if (err != CASCADE_OK)
        return err;
    if (found)
        (void)csc_sqlite_wait_wake(store);
    *committed = found;
    return CASCADE_OK;
}
