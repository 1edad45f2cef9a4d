/* SPDX-License-Identifier: MIT
 *
 * The connection of transactional nodes: what a function may do on it, and
 * until when. What is begun and committed on it is told in node_txn.c.
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
#include "store/sqlite/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "store/store.h"

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
    (void)sqlite3_prepare_v2(
        it->conn.db, csc_sqlite_statements[CSC_SQLITE_ASK_AUTHORIZER].sql, -1,
        &statement, NULL);
    (void)sqlite3_finalize(statement);
    if (!it->asked)
        (void)sqlite3_set_authorizer(it->conn.db, authorize, it);
}

/* Options and callbacks as they should be. Those that the library has no use
 * for are taken away: what they lead to may be gone. */
cascade_err
csc_sqlite_native_install(csc_sqlite_native *it)
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
    csc_assert(it->inside >= 0);
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

void
csc_sqlite_native_reset(csc_sqlite_native *it)
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

/* What a function can have set that is not set by
 * csc_sqlite_native_install(). */
static cascade_err
set_pragmas(csc_sqlite_native *it)
{
    cascade_err err =
        csc_sqlite_conn_set_durability(&it->conn, "set up the connection");

    if (err == CASCADE_OK)
        err = csc_sqlite_conn_exec(
            &it->conn, "set up the connection",
            csc_sqlite_statements[CSC_SQLITE_ALLOW_WRITES].sql);
    return err;
}

cascade_err
csc_sqlite_native_take(csc_sqlite_native *it)
{
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_sqlite_native_enter(it);
    it->may_commit = true;
    err = csc_sqlite_native_install(it);
    csc_sqlite_native_reset(it);
    if (err == CASCADE_OK && !sqlite3_get_autocommit(it->conn.db))
        err = csc_sqlite_conn_exec(
            &it->conn, "set up the connection",
            csc_sqlite_statements[CSC_SQLITE_ROLL_BACK].sql);
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
    csc_assert(limit_ms > 0);
    it->limit_ms = limit_ms;
    it->limit_ns = csc_sqlite_conn_end_ns(limit_ms);
    it->conn.deadline_ns = it->limit_ns;
}

cascade_err
csc_sqlite_native_check_time(const csc_sqlite_native *it)
{
    csc_assert(it->limit_ns > 0);
    if (csc_sqlite_conn_now_ns() < it->limit_ns)
        return CASCADE_OK;
    return cascade_store_fail(CASCADE_ERR_TIMEOUT,
                              "finish: the transaction of the node took "
                              "longer than %lld ms; it was rolled back",
                              (long long)it->limit_ms);
}

void
csc_sqlite_native_fini(csc_sqlite_native *it)
{
    it->conn.deadline_ns = INT64_MAX;
    csc_sqlite_conn_close(&it->conn);
}
