/* SPDX-License-Identifier: MIT
 *
 * Functions that stand in for those of SQLite which can fail: the linker sends
 * the library's calls of sqlite3_X here (--wrap, tests.cmake), and __real_ is
 * SQLite's own. What each does when it is struck is what SQLite may do:
 *
 *   a code          nothing happened; an open transaction stays open
 *   rolled back     SQLite has ended the transaction by itself, as it does for
 *                   some errors (disk full, input and output, memory)
 *   had effect      the statement was carried out, and its result lost: a
 *                   COMMIT whose last flush failed
 *
 * Opening gives a handle all the same, which the caller must close. What gives
 * no code (a text of a row, a name) is NULL: no memory.
 */
#include "sweep/calls_sqlite.h"

#include "sweep/events.h"

/* The linker's names. */
#define REAL(type, name, ...)                \
    type __real_sqlite3_##name(__VA_ARGS__); \
    type __wrap_sqlite3_##name(__VA_ARGS__)

REAL(int, step, sqlite3_stmt *);
REAL(int, exec, sqlite3 *, const char *, int (*)(void *, int, char **, char **),
     void *, char **);
REAL(int, prepare_v2, sqlite3 *, const char *, int, sqlite3_stmt **,
     const char **);
REAL(int, prepare_v3, sqlite3 *, const char *, int, unsigned, sqlite3_stmt **,
     const char **);
REAL(int, open_v2, const char *, sqlite3 **, int, const char *);
REAL(int, bind_text, sqlite3_stmt *, int, const char *, int, void (*)(void *));
REAL(int, bind_null, sqlite3_stmt *, int);
REAL(int, bind_int64, sqlite3_stmt *, int, sqlite3_int64);
REAL(int, bind_blob64, sqlite3_stmt *, int, const void *, sqlite3_uint64,
     void (*)(void *));
REAL(int, wal_checkpoint_v2, sqlite3 *, const char *, int, int *, int *);
REAL(int, extended_result_codes, sqlite3 *, int);
REAL(const unsigned char *, column_text, sqlite3_stmt *, int);
REAL(const unsigned char *, value_text, sqlite3_value *);
REAL(int, bind_pointer, sqlite3_stmt *, int, void *, const char *,
     void (*)(void *));
REAL(int, create_function_v2, sqlite3 *, const char *, int, int, void *,
     void (*)(sqlite3_context *, int, sqlite3_value **),
     void (*)(sqlite3_context *, int, sqlite3_value **),
     void (*)(sqlite3_context *), void (*)(void *));
REAL(const char *, db_filename, sqlite3 *, const char *);

static int
code(void)
{
    static const int codes[] = {
        [CALLS_BUSY] = SQLITE_BUSY,
        [CALLS_FULL] = SQLITE_FULL,
        [CALLS_IOERR] = SQLITE_IOERR_WRITE,
        [CALLS_NOMEM] = SQLITE_NOMEM,
        [CALLS_CORRUPT] = SQLITE_CORRUPT,
        [CALLS_ROLLED_BACK] = SQLITE_IOERR_FSYNC,
        [CALLS_HAD_EFFECT] = SQLITE_IOERR_FSYNC,
    };

    return codes[events_variant()];
}

static void
roll_back(sqlite3 *db)
{
    if (events_variant() == CALLS_ROLLED_BACK && !sqlite3_get_autocommit(db))
        (void)__real_sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- What changes something ---------------------------------------------- */

int
__wrap_sqlite3_step(sqlite3_stmt *statement)
{
    int result = SQLITE_OK;

    if (events_strike()) {
        if (events_variant() == CALLS_HAD_EFFECT)
            (void)__real_sqlite3_step(statement);
        else
            roll_back(sqlite3_db_handle(statement));
        return code();
    }
    result = __real_sqlite3_step(statement);
    events_done();
    return result;
}

int
__wrap_sqlite3_exec(sqlite3 *db, const char *sql,
                    int (*row)(void *, int, char **, char **), void *context,
                    char **error)
{
    int result = SQLITE_OK;

    if (events_strike()) {
        if (events_variant() == CALLS_HAD_EFFECT)
            (void)__real_sqlite3_exec(db, sql, row, context, error);
        else
            roll_back(db);
        return code();
    }
    result = __real_sqlite3_exec(db, sql, row, context, error);
    events_done();
    return result;
}

int
__wrap_sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *name, int mode,
                                 int *log, int *done)
{
    int result = SQLITE_OK;

    if (events_strike())
        return code();
    result = __real_sqlite3_wal_checkpoint_v2(db, name, mode, log, done);
    events_done();
    return result;
}

int
__wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags,
                       const char *vfs)
{
    bool fails = events_strike();
    int result = __real_sqlite3_open_v2(path, db, flags, vfs);

    events_done();
    return fails && result == SQLITE_OK ? code() : result;
}

/* ---- What prepares it ---------------------------------------------------- */

int
__wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int len,
                          sqlite3_stmt **statement, const char **tail)
{
    int result = SQLITE_OK;

    *statement = NULL;
    if (events_strike())
        return code();
    result = __real_sqlite3_prepare_v2(db, sql, len, statement, tail);
    events_done();
    return result;
}

int
__wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int len, unsigned flags,
                          sqlite3_stmt **statement, const char **tail)
{
    int result = SQLITE_OK;

    *statement = NULL;
    if (events_strike())
        return code();
    result = __real_sqlite3_prepare_v3(db, sql, len, flags, statement, tail);
    events_done();
    return result;
}

int
__wrap_sqlite3_bind_text(sqlite3_stmt *statement, int at, const char *text,
                         int len, void (*destroy)(void *))
{
    int result = SQLITE_OK;

    if (events_strike())
        return code();
    result = __real_sqlite3_bind_text(statement, at, text, len, destroy);
    events_done();
    return result;
}

int
__wrap_sqlite3_bind_null(sqlite3_stmt *statement, int at)
{
    int result = SQLITE_OK;

    if (events_strike())
        return code();
    result = __real_sqlite3_bind_null(statement, at);
    events_done();
    return result;
}

int
__wrap_sqlite3_bind_int64(sqlite3_stmt *statement, int at, sqlite3_int64 number)
{
    int result = SQLITE_OK;

    if (events_strike())
        return code();
    result = __real_sqlite3_bind_int64(statement, at, number);
    events_done();
    return result;
}

int
__wrap_sqlite3_bind_blob64(sqlite3_stmt *statement, int at, const void *data,
                           sqlite3_uint64 len, void (*destroy)(void *))
{
    int result = SQLITE_OK;

    if (events_strike())
        return code();
    result = __real_sqlite3_bind_blob64(statement, at, data, len, destroy);
    events_done();
    return result;
}

int
__wrap_sqlite3_extended_result_codes(sqlite3 *db, int on)
{
    int result = SQLITE_OK;

    if (events_strike())
        return code();
    result = __real_sqlite3_extended_result_codes(db, on);
    events_done();
    return result;
}

/* ---- What reads ---------------------------------------------------------- */

const unsigned char *
__wrap_sqlite3_column_text(sqlite3_stmt *statement, int at)
{
    const unsigned char *result = NULL;

    if (events_strike() && events_variant() == CALLS_NOMEM)
        return NULL;
    result = __real_sqlite3_column_text(statement, at);
    events_done();
    return result;
}

const char *
__wrap_sqlite3_db_filename(sqlite3 *db, const char *name)
{
    const char *result = NULL;

    if (events_strike() && events_variant() == CALLS_NOMEM)
        return NULL;
    result = __real_sqlite3_db_filename(db, name);
    events_done();
    return result;
}

const unsigned char *
__wrap_sqlite3_value_text(sqlite3_value *value)
{
    const unsigned char *text = NULL;

    if (events_strike())
        return NULL;
    text = __real_sqlite3_value_text(value);
    events_done();
    return text;
}

int
__wrap_sqlite3_bind_pointer(sqlite3_stmt *statement, int at, void *pointer,
                            const char *type, void (*destroy)(void *))
{
    int result = SQLITE_OK;

    if (events_strike())
        return code();
    result = __real_sqlite3_bind_pointer(statement, at, pointer, type, destroy);
    events_done();
    return result;
}

/* One that fails destroys. */
int
__wrap_sqlite3_create_function_v2(
    sqlite3 *db, const char *name, int count, int flags, void *context,
    void (*run)(sqlite3_context *, int, sqlite3_value **),
    void (*step)(sqlite3_context *, int, sqlite3_value **),
    void (*final)(sqlite3_context *), void (*destroy)(void *))
{
    int result = SQLITE_OK;

    if (events_strike()) {
        if (destroy != NULL)
            destroy(context);
        return code();
    }
    result = __real_sqlite3_create_function_v2(db, name, count, flags, context,
                                               run, step, final, destroy);
    events_done();
    return result;
}
