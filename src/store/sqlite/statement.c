/* SPDX-License-Identifier: MIT
 *
 * Running one prepared statement:
 *
 *     csc_sqlite_call call;
 *     csc_sqlite_call_begin(&call, conn, CSC_SQLITE_RENEW_ENGINE);
 *     csc_sqlite_call_add_i64(&call, lease_ms);      ?1
 *     csc_sqlite_call_add_uuid(&call, engine_id);    ?2
 *     err = csc_sqlite_call_run(&call, &changes);
 *
 * An error on the way is kept, the functions behind it do nothing, and the last
 * one returns it: a caller checks once. Nothing is copied but ids and times,
 * which are made into text inside the call itself.
 */
#include "store/sqlite/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "store/store.h"

static void
init(csc_sqlite_call *call, csc_sqlite_conn *conn, const char *verb)
{
    call->conn = conn;
    call->statement = NULL;
    call->verb = verb;
    call->err = CASCADE_OK;
    call->code = SQLITE_OK;
    call->at = 0;
    call->text_count = 0;
}

void
csc_sqlite_call_begin(csc_sqlite_call *call, csc_sqlite_conn *conn,
                      csc_sqlite_statement id)
{
    csc_assert(conn->db != NULL);
    init(call, conn, csc_sqlite_statements[id].verb);
    call->err = csc_sqlite_conn_prepare(conn, id, &call->statement);
}

void
csc_sqlite_call_begin_with(csc_sqlite_call *call, csc_sqlite_conn *conn,
                           const char *verb, sqlite3_stmt *statement)
{
    csc_assert(statement != NULL);
    init(call, conn, verb);
    call->statement = statement;
}

/* Keeps the first result that is no success. */
static void
note(csc_sqlite_call *call, int code)
{
    if (call->code == SQLITE_OK)
        call->code = code;
}

void
csc_sqlite_call_add_text(csc_sqlite_call *call, const char *text)
{
    if (call->err != CASCADE_OK)
        return;
    call->at++;
    note(call, text == NULL ? sqlite3_bind_null(call->statement, call->at)
                            : sqlite3_bind_text(call->statement, call->at, text,
                                                -1, SQLITE_STATIC));
}

/* A number that a column with the affinity NUMERIC would not give back as it
 * is: 1.50 as 1.5, and of long ones only the first digits. */
static bool
is_changed_by_numeric(const char *json)
{
    size_t digits = strspn(json, "0123456789-");

    if (json[0] != '-' && (json[0] < '0' || json[0] > '9'))
        return false;
    return json[digits] != '\0' || digits > 15;
}

void
csc_sqlite_call_add_blob(csc_sqlite_call *call, const void *data, size_t len)
{
    if (call->err != CASCADE_OK)
        return;
    call->at++;
    note(call, sqlite3_bind_blob64(call->statement, call->at, data, len,
                                   SQLITE_STATIC));
}

/* Such a number goes in as a BLOB, which no affinity touches. */
void
csc_sqlite_call_add_json(csc_sqlite_call *call, const char *json)
{
    if (json == NULL || call->err != CASCADE_OK ||
        !atomic_load(&call->conn->store->numeric_json) ||
        !is_changed_by_numeric(json)) {
        csc_sqlite_call_add_text(call, json);
        return;
    }
    csc_sqlite_call_add_blob(call, json, strlen(json));
}

void
csc_sqlite_call_add_i64(csc_sqlite_call *call, int64_t number)
{
    if (call->err != CASCADE_OK)
        return;
    call->at++;
    note(call, sqlite3_bind_int64(call->statement, call->at, number));
}

static char *
next_text(csc_sqlite_call *call)
{
    csc_assert(call->text_count < CSC_SQLITE_CALL_TEXTS);
    return call->texts[call->text_count++];
}

void
csc_sqlite_call_add_uuid(csc_sqlite_call *call, const cascade_uuid *id)
{
    csc_sqlite_call_add_text(
        call, id != NULL ? cascade_uuid_format(id, next_text(call)) : NULL);
}

void
csc_sqlite_call_add_status(csc_sqlite_call *call, cascade_status status)
{
    csc_sqlite_call_add_text(call, csc_status_word(status));
}

void
csc_sqlite_call_add_time(csc_sqlite_call *call, int64_t time_ms)
{
    if (time_ms == CASCADE_TIME_NONE)
        csc_sqlite_call_add_text(call, NULL);
    else
        csc_sqlite_call_add_text(call,
                                 csc_clock_format(time_ms, next_text(call)));
}

void
csc_sqlite_call_add_time_us(csc_sqlite_call *call, int64_t time_us)
{
    csc_sqlite_call_add_text(call,
                             csc_clock_format_us(time_us, next_text(call)));
}

static void
add_column(csc_sqlite_call *call, const csc_column *column, const void *at)
{
    csc_assert(call->err != CASCADE_OK ||
               call->at < sqlite3_bind_parameter_count(call->statement));
    switch (column->kind) {
    case CSC_COLUMN_UUID: {
        const cascade_uuid *id = at;
        bool none =
            (column->rules & CSC_COLUMN_NULL) != 0 && csc_uuid_is_nil(id);

        csc_sqlite_call_add_uuid(call, none ? NULL : id);
        break;
    }
    case CSC_COLUMN_STATUS:
        csc_sqlite_call_add_status(call, *(const cascade_status *)at);
        break;
    case CSC_COLUMN_EXECUTION_STATUS:
        csc_sqlite_call_add_text(
            call,
            csc_status_execution_word(*(const cascade_execution_status *)at));
        break;
    case CSC_COLUMN_I32:
        csc_sqlite_call_add_i64(call, *(const int32_t *)at);
        break;
    case CSC_COLUMN_I64:
    case CSC_COLUMN_SERIAL:
        if ((column->rules & CSC_COLUMN_NULL) != 0 &&
            *(const int64_t *)at == CASCADE_TIME_NONE)
            csc_sqlite_call_add_text(call, NULL);
        else
            csc_sqlite_call_add_i64(call, *(const int64_t *)at);
        break;
    case CSC_COLUMN_TEXT:
    case CSC_COLUMN_PAYLOAD:
        csc_sqlite_call_add_text(call, *(const char *const *)at);
        break;
    case CSC_COLUMN_JSON:
        csc_sqlite_call_add_json(call, *(const char *const *)at);
        break;
    case CSC_COLUMN_TIME:
        csc_sqlite_call_add_time(call, *(const int64_t *)at);
        break;
    case CSC_COLUMN_TIME_US:
        csc_sqlite_call_add_time_us(call, *(const int64_t *)at);
        break;
    }
}

void
csc_sqlite_call_add_row(csc_sqlite_call *call, const csc_table *table,
                        const void *row)
{
    csc_assert(table->count <= CSC_COLUMNS_MAX);
    for (size_t i = 0; i < table->count; i++) {
        const csc_column *column = &table->columns[i];

        if ((column->rules & CSC_COLUMN_GIVEN) == 0)
            add_column(call, column, (const char *)row + column->at);
    }
}

/* While another process recovers the log, which a slow disk or a stop can make
 * long, nobody can begin to read: SQLite tries for some ten seconds, whatever
 * the busy handler says, and then tells of locks that do not work. Nothing has
 * happened yet. */
static int
step(csc_sqlite_call *call)
{
    int code = SQLITE_OK;

    csc_assert(call->at == sqlite3_bind_parameter_count(call->statement));
    code = sqlite3_step(call->statement);
    for (unsigned round = 0; code == SQLITE_PROTOCOL; round++) {
        if (!csc_sqlite_conn_pause(call->conn->deadline_ns, round))
            break;
        (void)sqlite3_reset(call->statement);
        code = sqlite3_step(call->statement);
    }
    return code;
}

cascade_err
csc_sqlite_call_next(csc_sqlite_call *call, bool *row)
{
    *row = false;
    if (call->err != CASCADE_OK)
        return call->err;
    if (call->code == SQLITE_OK)
        call->code = step(call);
    *row = call->code == SQLITE_ROW;
    if (call->code == SQLITE_ROW || call->code == SQLITE_DONE)
        call->code = SQLITE_OK;
    else
        call->err = csc_sqlite_error_set(call->conn, call->code, call->verb);
    return call->err;
}

cascade_err
csc_sqlite_call_text(sqlite3_stmt *statement, int at, const char **text)
{
    bool null = sqlite3_column_type(statement, at) == SQLITE_NULL;

    csc_assert(at >= 0 && at < sqlite3_column_count(statement));
    *text = (const char *)sqlite3_column_text(statement, at);
    return *text != NULL || null ? CASCADE_OK : csc_fail_memory();
}

void
csc_sqlite_call_end(csc_sqlite_call *call)
{
    if (call->statement != NULL)
        (void)sqlite3_reset(call->statement); /* repeats the step's error */
}

/* SQLite asks the progress handler once more behind the last step: a statement
 * that was interrupted there is done, and within one of the application's it
 * stays. One that was interrupted before has changed nothing. */
static bool
is_done(const csc_sqlite_call *call, int changes_before)
{
    const csc_sqlite_guest *guest = &call->conn->store->guest;
    sqlite3 *db = call->conn->db;

    csc_assert(call->err != CASCADE_OK);
    return (call->code & 0xff) == SQLITE_INTERRUPT && guest->open &&
           guest->span == CSC_SQLITE_SPAN_STATEMENT &&
           sqlite3_changes(db) > 0 &&
           sqlite3_total_changes(db) != changes_before;
}

cascade_err
csc_sqlite_call_run(csc_sqlite_call *call, int *changes)
{
    int before = sqlite3_total_changes(call->conn->db);
    bool row = false;
    cascade_err err = csc_sqlite_call_next(call, &row);

    if (err == CASCADE_OK && row) /* PRAGMA count_changes of an application */
        err = csc_sqlite_call_next(call, &row);
    if (err != CASCADE_OK && is_done(call, before)) {
        call->conn->store->guest.interrupted = false;
        err = csc_ok();
    }
    if (err == CASCADE_OK && changes != NULL)
        *changes = sqlite3_changes(call->conn->db);
    csc_sqlite_call_end(call);
    return err;
}
