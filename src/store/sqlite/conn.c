/* SPDX-License-Identifier: MIT
 *
 * One connection to the database file: how it is set up, its prepared
 * statements, and how long it waits for others.
 *
 *   WAL           readers do not wait for the writer, a commit is one flush;
 *                 entered by the first write, so that a file which is refused
 *                 is left as it is
 *   synchronous   FULL: a commit survives power loss. NORMAL (relaxed): only a
 *                 killed process loses nothing
 *   checkpoints   by nobody but transaction.c: autocheckpoint is off, and so is
 *                 the one at close, but for the last handle's
 *   defensive, no trusted schema, no extensions, no views, no triggers, limits:
 *                 a database file is data, and whoever made it must not run
 *                 code here. See trust.c too
 *
 * A connection whose transaction could not be rolled back is closed; the next
 * user opens it anew. All waiting is bounded by the deadline of the move, in
 * real time also where the injected clock is a test's.
 */
#include "store/sqlite/internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "store/store.h"

#define PAUSE_MIN_NS INT64_C(50000)
#define PAUSE_MAX_NS INT64_C(5000000)
/* Instructions of SQLite's machine between two looks at the clock: some
 * microseconds, and milliseconds where each calls a function over a payload. */
#define PROGRESS_STEPS 500
/* Bytes of a text, and of a row: more than a row of ours has with the largest
 * payloads. */
#define LENGTH_MAX (256 << 20)
int64_t
csc_sqlite_conn_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t
csc_sqlite_conn_end_ns(int64_t span_ms)
{
    int64_t span_ns = 0;

    if (__builtin_mul_overflow(span_ms, CSC_MS_NS, &span_ns))
        span_ns = INT64_MAX;
    return csc_clock_add(csc_sqlite_conn_now_ns(), span_ns);
}

/* Doubles from 50 us to 5 ms, each time between half and all of it: those who
 * wait for one lock should not try in step. */
bool
csc_sqlite_conn_pause(int64_t deadline_ns, unsigned round)
{
    int64_t now_ns = csc_sqlite_conn_now_ns();
    int64_t span_ns = PAUSE_MAX_NS;
    struct timespec pause = {0, 0};

    if (now_ns >= deadline_ns)
        return false;
    if (round < 7 && (PAUSE_MIN_NS << round) < PAUSE_MAX_NS)
        span_ns = PAUSE_MIN_NS << round;
    span_ns = span_ns / 2 + now_ns % (span_ns / 2 + 1);
    if (span_ns > deadline_ns - now_ns)
        span_ns = deadline_ns - now_ns;
    pause.tv_nsec = (long)span_ns;
    (void)nanosleep(&pause, NULL);
    return true;
}

/* ---- What SQLite calls --------------------------------------------------- */

static int
on_busy(void *context, int round)
{
    csc_sqlite_conn *conn = context;

    return csc_sqlite_conn_pause(conn->deadline_ns, (unsigned)round);
}

static int
on_progress(void *context)
{
    csc_sqlite_conn *conn = context;

    return csc_sqlite_conn_now_ns() > conn->deadline_ns;
}

static int
on_wal(void *context, sqlite3 *db, const char *name, int pages)
{
    csc_sqlite_conn *conn = context;

    (void)db;
    (void)name;
    conn->wal_pages = pages;
    return SQLITE_OK;
}

/* ---- Opening ------------------------------------------------------------- */

/* What a file may make SQLite do is bounded where no statement of ours needs
 * it. Limits that hold for the texts of the schema are SQLite's own defaults,
 * which some builds do not have: other tables are none of our business. */
static void
set_limits(sqlite3 *db)
{
    static const int limits[][2] = {
        {SQLITE_LIMIT_LENGTH, LENGTH_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, 1000000},
        {SQLITE_LIMIT_COLUMN, 2000},
        {SQLITE_LIMIT_EXPR_DEPTH, 1000},
        {SQLITE_LIMIT_COMPOUND_SELECT, 500},
        {SQLITE_LIMIT_FUNCTION_ARG, 127},
        {SQLITE_LIMIT_VDBE_OP, 100000},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 100},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        (void)sqlite3_limit(db, limits[i][0], limits[i][1]);
}

/* `nodes`: functions of nodes run statements of the application's on it, which
 * may have views and triggers on its own tables. */
static int
configure(sqlite3 *db, bool nodes)
{
    const int options[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, nodes ? 1 : 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, nodes ? 1 : 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    int code = sqlite3_extended_result_codes(db, 1);

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (code == SQLITE_OK)
            code = sqlite3_db_config(db, options[i][0], options[i][1], NULL);
    }
    if (!nodes)
        set_limits(db);
    return code;
}

cascade_err
csc_sqlite_conn_exec(csc_sqlite_conn *conn, const char *verb, const char *sql)
{
    int code = sqlite3_exec(conn->db, sql, NULL, NULL, NULL);

    if (code == SQLITE_OK)
        return CASCADE_OK;
    return csc_sqlite_error_set(conn, code, verb);
}

/* Asks for WAL; `*wal` tells whether the database is one now. */
static int
ask_for_wal(sqlite3 *db, bool *wal)
{
    sqlite3_stmt *statement = NULL;
    int code =
        sqlite3_prepare_v2(db, csc_sqlite_statements[CSC_SQLITE_ENTER_WAL].sql,
                           -1, &statement, NULL);
    const unsigned char *mode;

    *wal = false;
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        mode = sqlite3_column_text(statement, 0);
        *wal = mode != NULL && sqlite3_stricmp((const char *)mode, "wal") == 0;
        code = mode != NULL ? SQLITE_OK : SQLITE_NOMEM;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

/* The change of mode does not use the busy handler in every case, so two that
 * create one database at once need a loop. */
cascade_err
csc_sqlite_conn_enter_wal(csc_sqlite_conn *conn)
{
    bool wal = false;
    int code;

    if (conn->wal)
        return CASCADE_OK;
    code = ask_for_wal(conn->db, &wal);
    for (unsigned round = 0; (code & 0xff) == SQLITE_BUSY; round++) {
        if (!csc_sqlite_conn_pause(conn->deadline_ns, round))
            break;
        code = ask_for_wal(conn->db, &wal);
    }
    if (code != SQLITE_OK)
        return csc_sqlite_error_set(conn, code, "open the database");
    if (!wal)
        return cascade_store_fail(
            CASCADE_ERR_UNSUPPORTED,
            "SQLite: the database cannot use a write-ahead log; put it on a "
            "local file system");
    conn->wal = true;
    return CASCADE_OK;
}

cascade_err
csc_sqlite_conn_set_durability(csc_sqlite_conn *conn, const char *verb)
{
    bool relaxed =
        conn->store->config->durability == CASCADE_DURABILITY_RELAXED;

    return csc_sqlite_conn_exec(
        conn, verb,
        relaxed ? csc_sqlite_statements[CSC_SQLITE_SET_NORMAL].sql
                : csc_sqlite_statements[CSC_SQLITE_SET_FULL].sql);
}

cascade_err
csc_sqlite_conn_set_up(csc_sqlite_conn *conn)
{
    cascade_err err =
        csc_sqlite_conn_exec(conn, "set up the connection",
                             csc_sqlite_statements[CSC_SQLITE_SET_UP].sql);

    if (err == CASCADE_OK)
        err = csc_sqlite_conn_set_durability(conn, "set up the connection");
    if (err == CASCADE_OK)
        err = csc_sqlite_conn_exec(
            conn, "set up the connection",
            conn->writer ? csc_sqlite_statements[CSC_SQLITE_SET_UP_WRITER].sql
                         : csc_sqlite_statements[CSC_SQLITE_SET_UP_READER].sql);
    (void)sqlite3_wal_hook(conn->db, on_wal, conn); /* behind the pragma */
    return err;
}

int
csc_sqlite_conn_install(csc_sqlite_conn *conn)
{
    (void)sqlite3_busy_handler(conn->db, on_busy, conn);
    sqlite3_progress_handler(conn->db, PROGRESS_STEPS, on_progress, conn);
    (void)sqlite3_wal_hook(conn->db, on_wal, conn);
    return configure(conn->db, conn == &conn->store->native.conn);
}

/* The path is absolute, so it never begins with "file:", which would make it a
 * URI where SQLite was built so. */
cascade_err
csc_sqlite_conn_open(csc_sqlite_conn *conn)
{
    csc_sqlite *store = conn->store;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE;
    int code;

    if (conn == &store->writer && !store->noted)
        flags |= SQLITE_OPEN_CREATE; /* once: not in the place of a lost one */
    code = sqlite3_open_v2(store->path, &conn->db, flags, NULL);
    if (code == SQLITE_OK)
        code = csc_sqlite_conn_install(conn);
    if (code != SQLITE_OK) {
        cascade_err err = csc_sqlite_error_set(conn, code, "open the database");

        csc_sqlite_conn_close(conn);
        return err;
    }
    conn->wal_pages = 0;
    conn->wal = false;
    return CASCADE_OK;
}

cascade_err
csc_sqlite_conn_ready(csc_sqlite_conn *conn)
{
    cascade_err err;

    if (conn->db != NULL)
        return CASCADE_OK;
    err = csc_sqlite_conn_open(conn);
    if (err == CASCADE_OK)
        err = csc_sqlite_path_check_opened(conn);
    if (err == CASCADE_OK)
        err = csc_sqlite_conn_set_up(conn);
    if (err != CASCADE_OK)
        csc_sqlite_conn_close(conn);
    return err;
}

void
csc_sqlite_conn_finalize(csc_sqlite_conn *conn)
{
    for (size_t i = 0; i < CSC_SQLITE_STATEMENTS; i++) {
        (void)sqlite3_finalize(conn->statements[i]);
        conn->statements[i] = NULL;
    }
}

/* Closing lets go of what virtual tables have prepared. What is left then is of
 * a node's function, and lives as long as its owner wants, unless it keeps a
 * transaction open. */
void
csc_sqlite_conn_close(csc_sqlite_conn *conn)
{
    sqlite3_stmt *left = NULL;

    if (conn->db == NULL)
        return;
    csc_sqlite_conn_finalize(conn);
    if (sqlite3_close(conn->db) != SQLITE_OK) {
        if (!sqlite3_get_autocommit(conn->db))
            left = sqlite3_next_stmt(conn->db, NULL);
        while (left != NULL) {
            (void)sqlite3_finalize(left);
            left = sqlite3_next_stmt(conn->db, NULL);
        }
        (void)sqlite3_close_v2(conn->db);
    }
    conn->db = NULL;
}

/* SQLite says "no such table" from a schema that it remembers, also when it
 * could not look whether that is still so. Looking brings to light why. */
static int
compile(sqlite3 *db, const char *sql, unsigned flags, sqlite3_stmt **statement)
{
    int code = sqlite3_prepare_v3(db, sql, -1, flags, statement, NULL);

    if (code != SQLITE_ERROR)
        return code;
    code = sqlite3_exec(db, csc_sqlite_statements[CSC_SQLITE_READ_VERSION].sql,
                        NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(db, sql, -1, flags, statement, NULL);
    return code;
}

cascade_err
csc_sqlite_conn_compile(csc_sqlite_conn *conn, const char *verb,
                        const char *sql, unsigned flags,
                        sqlite3_stmt **statement)
{
    int code = compile(conn->db, sql, flags, statement);

    if (code == SQLITE_OK)
        return CASCADE_OK;
    return csc_sqlite_error_set(conn, code, verb);
}

cascade_err
csc_sqlite_conn_prepare(csc_sqlite_conn *conn, csc_sqlite_statement id,
                        sqlite3_stmt **statement)
{
    cascade_err err = CASCADE_OK;

    if (conn->statements[id] == NULL)
        err = csc_sqlite_conn_compile(
            conn, csc_sqlite_statements[id].verb, csc_sqlite_statements[id].sql,
            SQLITE_PREPARE_PERSISTENT, &conn->statements[id]);
    *statement = conn->statements[id];
    return err;
}
