/* SPDX-License-Identifier: MIT
 *
 * Reading rows back, with suspicion: SQLite keeps whatever a program puts into
 * a column, and other programs may write these tables.
 *
 *   ids        36 lower-case characters, as every comparison expects them
 *   status     one of the enum's words
 *   times      our text, with or without a fraction, with 'T' or a blank; or
 *              milliseconds since 1970, as a number or as digits
 *   payloads   pass the JSON gate, so that blanks and the order of members are
 *              canonical, whoever wrote them
 *   texts      not NULL where the table says so, and without a NUL byte; a key
 *              is UTF-8, since it becomes a member of JSON objects
 *
 * What does not fit is CASCADE_ERR_CORRUPT and names table, column and the
 * row's cascade; never the value, but for what stands in the place of the id
 * where that is all there is to find the row by.
 *
 * A reader keeps its first error, and the functions behind it do nothing: a row
 * is a plain list of columns, checked once.
 */
#include "store/sqlite/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/status.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"

#define NAME_MAX_LEN 40

typedef struct reader {
    sqlite3_stmt *statement;
    const char *table;
    int at; /* the next column */
    cascade_err err;
    const cascade_uuid *id; /* of the cascade, once known */
    int key;                /* the column that tells the row from others */
    unsigned reformed;      /* the payloads that were */
} reader;

/* The key as it stands there, as far as it can be shown. */
static void
name_row(const reader *row, char *name, size_t size)
{
    const unsigned char *text = sqlite3_column_text(row->statement, row->key);
    size_t len = text != NULL ? strlen((const char *)text) : 0;
    size_t at = 0;

    if (text == NULL) {
        (void)snprintf(name, size, "the row without one");
        return;
    }
    at = (size_t)snprintf(name, size, "the row '");
    for (size_t i = 0; i < len && i < NAME_MAX_LEN; i++)
        name[at++] = text[i] > ' ' && text[i] < 0x7f ? (char)text[i] : '?';
    (void)snprintf(name + at, size - at, "%s",
                   len > NAME_MAX_LEN ? "...'" : "'");
}

static void
fail(reader *row, const char *column, const char *why)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char name[NAME_MAX_LEN + sizeof("the row '...'")];

    if (row->err != CASCADE_OK)
        return;
    name_row(row, name, sizeof(name));
    row->err = cascade_store_fail(
        CASCADE_ERR_CORRUPT, "table %s, column %s of %s%s: %s", row->table,
        column, row->id != NULL ? "cascade " : "",
        row->id != NULL ? cascade_uuid_format(row->id, id) : name, why);
}

static bool
is_null(const reader *row)
{
    return sqlite3_column_type(row->statement, row->at) == SQLITE_NULL;
}

/* NULL when the column is, or when memory is out. */
static const char *
next_nullable(reader *row, const char *column)
{
    bool null = is_null(row);
    const char *text =
        (const char *)sqlite3_column_text(row->statement, row->at);
    int len = sqlite3_column_bytes(row->statement, row->at);

    row->at++;
    if (null)
        return NULL;
    if (text == NULL) {
        if (row->err == CASCADE_OK)
            row->err = csc_fail_memory();
        return NULL;
    }
    if (memchr(text, '\0', (size_t)len) != NULL)
        fail(row, column, "a text with a NUL byte");
    return text;
}

static const char *
next_text(reader *row, const char *column)
{
    const char *text = next_nullable(row, column);

    if (text == NULL)
        fail(row, column, "must not be NULL");
    return text != NULL ? text : "";
}

static int64_t
next_i64(reader *row, const char *column, int64_t min, int64_t max)
{
    int64_t number = sqlite3_column_int64(row->statement, row->at);

    if (sqlite3_column_type(row->statement, row->at) != SQLITE_INTEGER)
        fail(row, column, "not an integer");
    else if (number < min || number > max)
        fail(row, column, "a number out of range");
    row->at++;
    return number;
}

static int32_t
next_i32(reader *row, const char *column, int32_t min)
{
    return (int32_t)next_i64(row, column, min, INT32_MAX);
}

static cascade_uuid
next_uuid(reader *row, const char *column)
{
    const char *text = next_text(row, column);
    cascade_uuid id;

    memset(&id, 0, sizeof(id));
    if (row->err != CASCADE_OK)
        return id;
    if (cascade_uuid_parse(text, &id) != CASCADE_OK ||
        strpbrk(text, "ABCDEF") != NULL)
        fail(row, column, "not a UUID in lower case");
    return id;
}

/* What comes behind names the cascade by it. */
static void
note_id(reader *row, const cascade_uuid *id)
{
    if (row->err == CASCADE_OK)
        row->id = id;
}

/* Milliseconds that a column of type TEXT has turned to text; ".0" behind them
 * when the program's numbers are doubles. */
static bool
read_digits(const char *text, int64_t *number)
{
    csc_json_span span = {text, strlen(text)};

    if (span.len > 2 && strcmp(text + span.len - 2, ".0") == 0)
        span.len -= 2;
    return csc_json_read_i64(span, number);
}

static int64_t
next_time(reader *row, const char *column)
{
    int64_t time_ms = 0;
    const char *text;

    if (sqlite3_column_type(row->statement, row->at) == SQLITE_INTEGER)
        return next_i64(row, column, INT64_MIN + 1, INT64_MAX);
    text = next_text(row, column);
    if (row->err == CASCADE_OK && csc_clock_parse(text, &time_ms) != 0 &&
        !read_digits(text, &time_ms))
        fail(row, column, "not a time");
    return time_ms;
}

/* To the microsecond, where our text has it. */
static int64_t
next_time_us(reader *row, const char *column)
{
    const char *text = NULL;
    int64_t time_us = 0;

    if (sqlite3_column_type(row->statement, row->at) == SQLITE_TEXT &&
        csc_sqlite_call_text(row->statement, row->at, &text) != CASCADE_OK &&
        row->err == CASCADE_OK)
        row->err = CASCADE_ERR_NO_MEMORY;
    if (text == NULL || csc_clock_parse_us(text, &time_us) != 0)
        return csc_clock_ms_to_us(next_time(row, column));
    row->at++;
    return time_us;
}

/* ---- Payloads ------------------------------------------------------------ */

/* `which`: CASCADE_REFORMED_*. */
static const char *
next_payload(reader *row, const char *column, csc_buf *room, unsigned which)
{
    const char *text = next_nullable(row, column);
    size_t len = text == NULL ? 0 : strlen(text);
    cascade_err err;

    csc_buf_clear(room);
    if (text == NULL || row->err != CASCADE_OK)
        return NULL;
    err = csc_json_canon_stored(column, text, len, room);
    if (err == CASCADE_ERR_NO_MEMORY)
        row->err = err;
    else if (err != CASCADE_OK)
        fail(row, column, csc_json_why(column));
    else if (strcmp(room->data, text) != 0)
        row->reformed |= which;
    return room->data;
}

void
csc_sqlite_row_fini(csc_sqlite_row_room *room)
{
    csc_buf_fini(&room->first);
    csc_buf_fini(&room->second);
}

/* ---- Rows ---------------------------------------------------------------- */

static int
next_status(reader *row, int (*read)(const char *word, size_t len))
{
    const char *text = next_text(row, "status");
    int status = read(text, strlen(text));

    if (status != 0)
        return status;
    fail(row, "status", "not a status");
    return 1;
}

cascade_err
csc_sqlite_row_cascade(sqlite3_stmt *statement, cascade_row *row)
{
    reader from = {.statement = statement, .table = "cascades"};

    row->id = next_uuid(&from, "id");
    note_id(&from, &row->id);
    row->status = (cascade_status)next_status(&from, csc_status_read);
    row->fn_id = next_i32(&from, "fn_id", INT32_MIN);
    row->user_id = next_text(&from, "user_id");
    row->created_at_ms = next_time(&from, "created_at");
    row->updated_at_ms = next_time(&from, "updated_at");
    return from.err;
}

cascade_err
csc_sqlite_row_execution(sqlite3_stmt *statement, csc_sqlite_row_room *room,
                         cascade_execution_row *row)
{
    reader from = {.statement = statement, .table = "node_executions"};

    row->id = next_uuid(&from, "id");
    row->cascade_id = next_uuid(&from, "cascade_id");
    note_id(&from, &row->cascade_id);
    row->function_id = next_i32(&from, "function_id", INT32_MIN);
    row->status =
        (cascade_execution_status)next_status(&from, csc_status_read_execution);
    row->node_instance_id = next_text(&from, "node_instance_id");
    row->node_name = next_text(&from, "node_name");
    row->input = next_payload(&from, "input_context", &room->first,
                              CASCADE_REFORMED_FIRST);
    if (row->input == NULL)
        fail(&from, "input_context", "must not be NULL");
    row->full_output = next_payload(&from, "full_output", &room->second,
                                    CASCADE_REFORMED_SECOND);
    row->location = next_text(&from, "location");
    row->error = next_nullable(&from, "error");
    row->started_at_ms = next_time(&from, "started_at");
    row->completed_at_ms = CASCADE_TIME_NONE;
    if (!is_null(&from))
        row->completed_at_ms = next_time(&from, "completed_at");
    row->reformed = from.reformed;
    return from.err;
}

cascade_err
csc_sqlite_row_event(sqlite3_stmt *statement, csc_sqlite_row_room *room,
                     cascade_event_row *row)
{
    reader from = {.statement = statement, .table = "context_events"};

    row->id = next_i64(&from, "id", INT64_MIN, INT64_MAX);
    row->cascade_id = next_uuid(&from, "cascade_id");
    note_id(&from, &row->cascade_id);
    row->function_id = next_i32(&from, "function_id", INT32_MIN);
    row->key = next_text(&from, "key");
    if (!csc_json_utf8_is(row->key, strlen(row->key)))
        fail(&from, "key", "not UTF-8");
    row->value =
        next_payload(&from, "value", &room->first, CASCADE_REFORMED_FIRST);
    if (row->value == NULL)
        fail(&from, "value", "must not be NULL");
    row->ui_value =
        next_payload(&from, "ui_value", &room->second, CASCADE_REFORMED_SECOND);
    row->created_at_us = next_time_us(&from, "created_at");
    row->reformed = from.reformed;
    return from.err;
}

cascade_err
csc_sqlite_row_message(sqlite3_stmt *statement, csc_sqlite_row_room *room,
                       cascade_message_row *row, bool *repeated)
{
    reader from = {.statement = statement, .table = "cascade_messages"};

    row->id = next_i64(&from, "id", INT64_MIN, INT64_MAX);
    row->cascade_id = next_uuid(&from, "cascade_id");
    note_id(&from, &row->cascade_id);
    row->kind = next_text(&from, "kind");
    row->name = next_text(&from, "name");
    row->path = next_text(&from, "path");
    row->payload = next_payload(&from, "payload", &room->first, 0);
    if (row->payload == NULL)
        fail(&from, "payload", "must not be NULL");
    row->sent_at_ms = next_i64(&from, "sent_at", INT64_MIN, INT64_MAX);
    *repeated = next_i64(&from, "repeated", 0, 1) != 0;
    row->seal = next_nullable(&from, "seal");
    return from.err;
}

cascade_err
csc_sqlite_row_seal(sqlite3_stmt *statement, cascade_seal_row *row)
{
    reader from = {.statement = statement, .table = "cascade_seals"};

    row->cascade_id = next_uuid(&from, "cascade_id");
    from.id = &row->cascade_id;
    row->number = next_i64(&from, "number", INT64_MIN, INT64_MAX);
    row->seal = next_text(&from, "seal");
    return from.err;
}

cascade_err
csc_sqlite_row_run(sqlite3_stmt *statement, int at, cascade_run_row *row)
{
    reader from = {
        .statement = statement, .table = "cascade_runs", .at = at, .key = at};

    row->cascade_id = next_uuid(&from, "cascade_id");
    note_id(&from, &row->cascade_id);
    row->queue = next_text(&from, "queue");
    row->priority = next_i32(&from, "priority", 0);
    row->wake_at_ms = next_i64(&from, "wake_at", INT64_MIN, INT64_MAX);
    memset(&row->engine_id, 0, sizeof(row->engine_id));
    if (is_null(&from))
        from.at++;
    else
        row->engine_id = next_uuid(&from, "engine_id");
    row->claim_no = next_i64(&from, "claim_no", 0, INT64_MAX);
    row->takeovers = next_i32(&from, "takeovers", 0);
    row->trial = next_i32(&from, "trial", 0);
    row->needs = next_text(&from, "needs");
    if (row->needs[0] == '\0')
        row->needs = NULL;
    return from.err;
}

cascade_err
csc_sqlite_row_engine(sqlite3_stmt *statement, cascade_incarnation *row)
{
    reader from = {.statement = statement, .table = "cascade_engines"};

    row->engine_id = next_uuid(&from, "engine_id");
    row->host = next_text(&from, "host");
    row->pid = next_i64(&from, "pid", INT64_MIN, INT64_MAX);
    row->process_start = next_i64(&from, "process_start", INT64_MIN, INT64_MAX);
    row->lease_ms = next_i64(&from, "lease_until_ms", INT64_MIN, INT64_MAX);
    row->lane_count = (uint32_t)next_i32(&from, "lanes", 0);
    row->about = next_text(&from, "about");
    row->started_at_ms = next_i64(&from, "attached_at", INT64_MIN, INT64_MAX);
    return from.err;
}

cascade_err
csc_sqlite_row_queue(sqlite3_stmt *statement, cascade_queue_row *row)
{
    reader from = {.statement = statement, .table = "cascade_queues"};

    row->queue = next_text(&from, "queue");
    row->paused_at_ms = CASCADE_TIME_NONE;
    row->paused = !is_null(&from);
    if (row->paused)
        row->paused_at_ms = next_i64(&from, "paused_at", INT64_MIN, INT64_MAX);
    else
        from.at++;
    row->about = next_text(&from, "about");
    row->owned = next_i64(&from, "owned", 0, INT64_MAX);
    row->due = next_i64(&from, "due", 0, INT64_MAX);
    row->later = next_i64(&from, "later", 0, INT64_MAX);
    row->needing = next_i64(&from, "needing", 0, INT64_MAX);
    row->due_since_ms = CASCADE_TIME_NONE;
    if (!is_null(&from))
        row->due_since_ms = next_i64(&from, "wake_at", INT64_MIN, INT64_MAX);
    return from.err;
}

cascade_err
csc_sqlite_row_applied(sqlite3_stmt *statement, int64_t *number,
                       int64_t *applied_at_ms)
{
    reader from = {.statement = statement, .table = "cascade_schema"};

    *number = next_i64(&from, "number", INT64_MIN, INT64_MAX);
    *applied_at_ms = next_time(&from, "applied_at");
    return from.err;
}

cascade_err
csc_sqlite_row_uuid(sqlite3_stmt *statement, int at, const char *table,
                    const char *column, cascade_uuid *id)
{
    reader from = {.statement = statement, .table = table, .at = at, .key = at};

    *id = next_uuid(&from, column);
    return from.err;
}

cascade_err
csc_sqlite_row_give_execution(sqlite3_stmt *statement,
                              csc_sqlite_row_room *room,
                              const cascade_load_sink *sink)
{
    cascade_execution_row row;
    cascade_err err = csc_sqlite_row_execution(statement, room, &row);

    return err == CASCADE_OK ? sink->on_execution(sink->context, &row) : err;
}

cascade_err
csc_sqlite_row_give_event(sqlite3_stmt *statement, csc_sqlite_row_room *room,
                          const cascade_load_sink *sink)
{
    cascade_event_row row;
    cascade_err err = csc_sqlite_row_event(statement, room, &row);

    return err == CASCADE_OK ? sink->on_event(sink->context, &row) : err;
}
