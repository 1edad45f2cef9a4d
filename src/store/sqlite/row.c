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
#include "store/columns.h"

#define NAME_MAX_LEN 40

typedef struct reader {
    sqlite3_stmt *statement;
    const char *table;
    int at; /* the next column */
    cascade_err err;
    const cascade_uuid *id; /* of the cascade, once known */
    int key;                /* the column that tells the row from others */
    csc_sqlite_row_room *room;
    unsigned payloads; /* that were read */
    unsigned reformed; /* which of them were */
} reader;

/* The key as it stands there, as far as it can be shown. */
static void
name_row(const reader *row, char *name, size_t size)
{
    const unsigned char *text = sqlite3_column_text(row->statement, row->key);
    size_t len = text != NULL ? strlen((const char *)text) : 0;
    size_t at = 0;

    csc_assert(row->key < sqlite3_column_count(row->statement));
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

    csc_assert(row->table != NULL);
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
    csc_assert(row->at < sqlite3_column_count(row->statement));
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

    csc_assert(row->at < sqlite3_column_count(row->statement));
    if (sqlite3_column_type(row->statement, row->at) != SQLITE_INTEGER)
        fail(row, column, "not an integer");
    else if (number < min || number > max)
        fail(row, column, "a number out of range");
    row->at++;
    return number;
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
    csc_assert(row->table != NULL);
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

    csc_assert(which != 0);
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

/* Steps over a NULL, which the column may be. */
static bool
pass_null(reader *row, const csc_column *column)
{
    if ((column->rules & CSC_COLUMN_NULL) == 0 || !is_null(row))
        return false;
    row->at++;
    return true;
}

static void
read_uuid(reader *row, const csc_column *column, cascade_uuid *id)
{
    memset(id, 0, sizeof(*id));
    if (!pass_null(row, column))
        *id = next_uuid(row, column->name);
    if ((column->rules & CSC_COLUMN_OWNER) != 0)
        note_id(row, id);
}

static const char *
read_text(reader *row, const csc_column *column)
{
    const char *text;

    if (pass_null(row, column))
        return NULL;
    text = next_text(row, column->name);
    if ((column->rules & CSC_COLUMN_UTF8) != 0 &&
        !csc_json_utf8_is(text, strlen(text)))
        fail(row, column->name, "not UTF-8");
    return text;
}

/* The first JSON of a row is made canonical in the first room, and so on. */
static const char *
read_json(reader *row, const csc_column *column)
{
    csc_buf *room = row->payloads == 0 ? &row->room->first : &row->room->second;
    const char *text = next_payload(row, column->name, room,
                                    CASCADE_REFORMED_FIRST << row->payloads);

    csc_assert(row->room != NULL && row->payloads < 2);
    row->payloads++;
    if (text == NULL && (column->rules & CSC_COLUMN_NULL) == 0)
        fail(row, column->name, "must not be NULL");
    return text;
}

static int64_t
read_i64(reader *row, const csc_column *column, int64_t min, int64_t max)
{
    if ((column->rules & CSC_COLUMN_COUNT) != 0)
        min = 0;
    return pass_null(row, column) ? CASCADE_TIME_NONE
                                  : next_i64(row, column->name, min, max);
}

static int64_t
read_time(reader *row, const csc_column *column)
{
    return pass_null(row, column) ? CASCADE_TIME_NONE
                                  : next_time(row, column->name);
}

static void
read_column(reader *row, const csc_column *column, void *at)
{
    switch (column->kind) {
    case CSC_COLUMN_UUID:
        read_uuid(row, column, at);
        break;
    case CSC_COLUMN_STATUS:
        *(cascade_status *)at =
            (cascade_status)next_status(row, csc_status_read);
        break;
    case CSC_COLUMN_EXECUTION_STATUS:
        *(cascade_execution_status *)at = (cascade_execution_status)next_status(
            row, csc_status_read_execution);
        break;
    case CSC_COLUMN_I32:
        *(int32_t *)at = (int32_t)read_i64(row, column, INT32_MIN, INT32_MAX);
        break;
    case CSC_COLUMN_I64:
    case CSC_COLUMN_SERIAL:
        *(int64_t *)at = read_i64(row, column, INT64_MIN, INT64_MAX);
        break;
    case CSC_COLUMN_TEXT:
        *(const char **)at = read_text(row, column);
        break;
    case CSC_COLUMN_JSON:
    case CSC_COLUMN_PAYLOAD:
        *(const char **)at = read_json(row, column);
        break;
    case CSC_COLUMN_TIME:
        *(int64_t *)at = read_time(row, column);
        break;
    case CSC_COLUMN_TIME_US:
        *(int64_t *)at = next_time_us(row, column->name);
        break;
    }
}

static void
read_row(reader *from, const csc_table *table, void *row)
{
    csc_assert(table->count <= CSC_COLUMNS_MAX);
    from->table = table->name;
    from->key = from->at;
    for (size_t i = 0; i < table->count; i++)
        read_column(from, &table->columns[i],
                    (char *)row + table->columns[i].at);
}

cascade_err
csc_sqlite_row_read(sqlite3_stmt *statement, int at, const csc_table *table,
                    void *row)
{
    reader from = {.statement = statement, .at = at};

    csc_assert(at + (int)table->count <= sqlite3_column_count(statement));
    read_row(&from, table, row);
    return from.err;
}

cascade_err
csc_sqlite_row_execution(sqlite3_stmt *statement, csc_sqlite_row_room *room,
                         cascade_execution_row *row)
{
    reader from = {.statement = statement, .room = room};

    read_row(&from, &csc_table_executions, row);
    row->reformed = from.reformed;
    return from.err;
}

cascade_err
csc_sqlite_row_event(sqlite3_stmt *statement, csc_sqlite_row_room *room,
                     cascade_event_row *row)
{
    reader from = {.statement = statement, .room = room};

    read_row(&from, &csc_table_events, row);
    row->reformed = from.reformed;
    return from.err;
}

cascade_err
csc_sqlite_row_message(sqlite3_stmt *statement, csc_sqlite_row_room *room,
                       cascade_message_row *row, bool *repeated)
{
    reader from = {.statement = statement, .room = room};

    read_row(&from, &csc_table_messages, row);
    *repeated = next_i64(&from, "repeated", 0, 1) != 0;
    return from.err;
}

/* No needs are '' there. */
cascade_err
csc_sqlite_row_run(sqlite3_stmt *statement, int at, cascade_run_row *row)
{
    cascade_err err = csc_sqlite_row_read(statement, at, &csc_table_runs, row);

    if (err == CASCADE_OK && row->needs != NULL && row->needs[0] == '\0')
        row->needs = NULL;
    return err;
}

#define AT(member) offsetof(cascade_incarnation, member)
static const csc_column listed_engine_columns[] = {
    {"engine_id", CSC_COLUMN_UUID, 0, AT(engine_id)},
    {"host", CSC_COLUMN_TEXT, 0, AT(host)},
    {"pid", CSC_COLUMN_I64, 0, AT(pid)},
    {"process_start", CSC_COLUMN_I64, 0, AT(process_start)},
    {"lease_until_ms", CSC_COLUMN_I64, 0, AT(lease_ms)},
    {"lanes", CSC_COLUMN_I32, CSC_COLUMN_COUNT, AT(lane_count)},
    {"about", CSC_COLUMN_TEXT, 0, AT(about)},
    {"attached_at", CSC_COLUMN_I64, 0, AT(started_at_ms)},
};
#undef AT

cascade_err
csc_sqlite_row_engine(sqlite3_stmt *statement, cascade_incarnation *row)
{
    static const csc_table table = {"cascade_engines", listed_engine_columns,
                                    sizeof(listed_engine_columns) /
                                        sizeof(listed_engine_columns[0]),
                                    sizeof(*row)};

    return csc_sqlite_row_read(statement, 0, &table, row);
}

cascade_err
csc_sqlite_row_queue(sqlite3_stmt *statement, cascade_queue_row *row)
{
    cascade_err err =
        csc_sqlite_row_read(statement, 0, &csc_table_queue_list, row);

    row->paused = row->paused_at_ms != CASCADE_TIME_NONE;
    return err;
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

    csc_assert(at < sqlite3_column_count(statement));
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
