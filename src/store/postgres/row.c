/* SPDX-License-Identifier: MIT
 *
 * Decoding results, all of them in binary form. The tables may have been
 * written by other programs, so every value is checked; what makes no sense is
 * CASCADE_ERR_CORRUPT with table, column and id. A reader keeps the first such
 * finding, so a row is decoded straight through and checked once at its end.
 */
#include "store/postgres/internal.h"

#include <arpa/inet.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/status.h"
#include "cascade/cascade.h"

static void
corrupt(csc_postgres_reader *reader, int column, const char *why)
{
    csc_assert(column >= reader->first);
    if (reader->err != CASCADE_OK)
        return;
    reader->err =
        csc_fail(CASCADE_ERR_CORRUPT, "%s.%s %s%s: %s", reader->table,
                 reader->columns[column - reader->first].name,
                 reader->id[0] == '\0' ? "" : "of row ", reader->id, why);
}

/* The bytes of a value that must be there and have `len` of them. */
static const void *
fixed(csc_postgres_reader *reader, int column, int len)
{
    csc_assert(reader->row < PQntuples(reader->result));
    if (PQgetisnull(reader->result, reader->row, column)) {
        corrupt(reader, column, "is NULL");
        return NULL;
    }
    if (PQgetlength(reader->result, reader->row, column) != len) {
        corrupt(reader, column, "has an unexpected type");
        return NULL;
    }
    return PQgetvalue(reader->result, reader->row, column);
}

cascade_uuid
csc_postgres_row_uuid(csc_postgres_reader *reader, int column)
{
    cascade_uuid id;
    const void *bytes = fixed(reader, column, sizeof(id.bytes));

    memset(&id, 0, sizeof(id));
    if (bytes != NULL)
        memcpy(id.bytes, bytes, sizeof(id.bytes));
    if (column == reader->first)
        (void)cascade_uuid_format(&id, reader->id);
    return id;
}

int32_t
csc_postgres_row_i32(csc_postgres_reader *reader, int column)
{
    uint32_t wire = 0;
    const void *bytes = fixed(reader, column, sizeof(wire));

    if (bytes != NULL)
        memcpy(&wire, bytes, sizeof(wire));
    return (int32_t)ntohl(wire);
}

static int64_t
read_i64(csc_postgres_reader *reader, int column)
{
    uint64_t wire = 0;
    const void *bytes = fixed(reader, column, sizeof(wire));

    if (bytes != NULL)
        memcpy(&wire, bytes, sizeof(wire));
    return (int64_t)be64toh(wire);
}

static int64_t
read_time_us(csc_postgres_reader *reader, int column)
{
    int64_t time_us = read_i64(reader, column);

    if (time_us == INT64_MAX || time_us == INT64_MIN) {
        corrupt(reader, column, "is infinite");
        return 0;
    }
    return csc_clock_add(time_us, CSC_POSTGRES_EPOCH_US);
}

/* Cut to the millisecond below. */
int64_t
csc_postgres_row_time(csc_postgres_reader *reader, int column)
{
    return csc_clock_us_to_ms(read_time_us(reader, column));
}

static const char *
read_text(csc_postgres_reader *reader, int column)
{
    if (!PQgetisnull(reader->result, reader->row, column))
        return PQgetvalue(reader->result, reader->row, column);
    corrupt(reader, column, "is NULL");
    return "";
}

static int
read_status(csc_postgres_reader *reader, int column,
            int (*read)(const char *word, size_t len))
{
    const char *text = read_text(reader, column);
    int status = read(text, strlen(text));

    if (status != 0)
        return status;
    corrupt(reader, column, "is no status");
    return CASCADE_ERROR;
}

/* In canonical form, in the first room that has none yet. */
static const char *
read_json(csc_postgres_reader *reader, int column)
{
    const char *name = reader->columns[column - reader->first].name;
    const char *text = read_text(reader, column);
    csc_buf *room = reader->payloads[0];
    size_t len;
    cascade_err err;

    if (reader->err != CASCADE_OK)
        return NULL;
    csc_assert(room != NULL);
    len = (size_t)PQgetlength(reader->result, reader->row, column);
    csc_buf_clear(room);
    err = csc_json_canon_stored(name, text, len, room);
    if (err == CASCADE_ERR_NO_MEMORY)
        reader->err = err;
    else if (err != CASCADE_OK)
        corrupt(reader, column, csc_json_why(name));
    return err == CASCADE_OK ? room->data : NULL;
}

static int64_t
check_count(csc_postgres_reader *reader, int column, int64_t number)
{
    unsigned rules = reader->columns[column - reader->first].rules;

    if ((rules & CSC_COLUMN_COUNT) != 0 && number < 0)
        corrupt(reader, column, "is negative");
    return number;
}

/* The number of a row tells it from others where it has no id. */
static int64_t
read_number(csc_postgres_reader *reader, int column)
{
    int64_t number = read_i64(reader, column);

    if (column == reader->first)
        (void)snprintf(reader->id, sizeof(reader->id), "%" PRId64, number);
    return check_count(reader, column, number);
}

static void
read_column(csc_postgres_reader *reader, int column, csc_column_kind kind,
            void *at)
{
    switch (kind) {
    case CSC_COLUMN_UUID:
        *(cascade_uuid *)at = csc_postgres_row_uuid(reader, column);
        break;
    case CSC_COLUMN_STATUS:
        *(cascade_status *)at =
            (cascade_status)read_status(reader, column, csc_status_read);
        break;
    case CSC_COLUMN_EXECUTION_STATUS:
        *(cascade_execution_status *)at = (cascade_execution_status)read_status(
            reader, column, csc_status_read_execution);
        break;
    case CSC_COLUMN_I32:
        *(int32_t *)at = (int32_t)check_count(
            reader, column, csc_postgres_row_i32(reader, column));
        break;
    case CSC_COLUMN_I64:
    case CSC_COLUMN_SERIAL:
        *(int64_t *)at = read_number(reader, column);
        break;
    case CSC_COLUMN_TEXT:
        *(const char **)at = read_text(reader, column);
        break;
    case CSC_COLUMN_JSON:
    case CSC_COLUMN_PAYLOAD:
        *(const char **)at = read_json(reader, column);
        break;
    case CSC_COLUMN_TIME:
        *(int64_t *)at = csc_postgres_row_time(reader, column);
        break;
    case CSC_COLUMN_TIME_US:
        *(int64_t *)at = read_time_us(reader, column);
        break;
    }
}

static void
set_null(csc_column_kind kind, void *at)
{
    if (kind == CSC_COLUMN_UUID)
        memset(at, 0, sizeof(cascade_uuid));
    else if (kind == CSC_COLUMN_I64 || kind == CSC_COLUMN_TIME)
        *(int64_t *)at = CASCADE_TIME_NONE;
    else
        *(const char **)at = NULL;
}

cascade_err
csc_postgres_row_read(csc_postgres_reader *reader, const csc_table *table,
                      void *row)
{
    int first = reader->first;

    csc_assert(reader->err == CASCADE_OK &&
               reader->row < PQntuples(reader->result));
    reader->table = table->name;
    reader->columns = table->columns;
    for (size_t i = 0; i < table->count; i++) {
        const csc_column *column = &table->columns[i];
        int place = first + (int)i;
        void *at = (char *)row + column->at;

        if ((column->rules & CSC_COLUMN_NULL) != 0 &&
            PQgetisnull(reader->result, reader->row, place))
            set_null(column->kind, at);
        else
            read_column(reader, place, column->kind, at);
        if (column->kind == CSC_COLUMN_JSON)
            reader->payloads[0] = reader->payloads[1];
    }
    return reader->err;
}

int64_t
csc_postgres_result_i64(const PGresult *result, int row, int column)
{
    uint64_t wide;
    uint32_t narrow;

    if (row >= PQntuples(result) || PQgetisnull(result, row, column))
        return 0;
    if (PQgetlength(result, row, column) == (int)sizeof(wide)) {
        memcpy(&wide, PQgetvalue(result, row, column), sizeof(wide));
        return (int64_t)be64toh(wide);
    }
    if (PQgetlength(result, row, column) == (int)sizeof(narrow)) {
        memcpy(&narrow, PQgetvalue(result, row, column), sizeof(narrow));
        return (int32_t)ntohl(narrow);
    }
    return 0;
}

cascade_uuid
csc_postgres_result_uuid(const PGresult *result, int row, int column)
{
    cascade_uuid id;

    memset(&id, 0, sizeof(id));
    if (row < PQntuples(result) &&
        PQgetlength(result, row, column) == (int)sizeof(id.bytes))
        memcpy(id.bytes, PQgetvalue(result, row, column), sizeof(id.bytes));
    return id;
}
