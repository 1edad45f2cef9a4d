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
#include <string.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/status.h"
#include "cascade/cascade.h"

void
csc_postgres_row_corrupt(csc_postgres_reader *reader, int column,
                         const char *why)
{
    if (reader->err != CASCADE_OK)
        return;
    reader->err =
        csc_fail(CASCADE_ERR_CORRUPT, "%s.%s %s%s: %s", reader->table,
                 reader->columns[column],
                 reader->id[0] == '\0' ? "" : "of row ", reader->id, why);
}

/* The bytes of a value that must be there and have `len` of them. */
static const void *
fixed(csc_postgres_reader *reader, int column, int len)
{
    if (PQgetisnull(reader->result, reader->row, column)) {
        csc_postgres_row_corrupt(reader, column, "is NULL");
        return NULL;
    }
    if (PQgetlength(reader->result, reader->row, column) != len) {
        csc_postgres_row_corrupt(reader, column, "has an unexpected type");
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
    if (column == 0)
        cascade_uuid_format(&id, reader->id);
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

int64_t
csc_postgres_row_i64(csc_postgres_reader *reader, int column)
{
    uint64_t wire = 0;
    const void *bytes = fixed(reader, column, sizeof(wire));

    if (bytes != NULL)
        memcpy(&wire, bytes, sizeof(wire));
    return (int64_t)be64toh(wire);
}

const char *
csc_postgres_row_text_or_null(csc_postgres_reader *reader, int column)
{
    if (PQgetisnull(reader->result, reader->row, column))
        return NULL;
    return PQgetvalue(reader->result, reader->row, column);
}

const char *
csc_postgres_row_text(csc_postgres_reader *reader, int column)
{
    const char *text = csc_postgres_row_text_or_null(reader, column);

    if (text != NULL)
        return text;
    csc_postgres_row_corrupt(reader, column, "is NULL");
    return "";
}

int64_t
csc_postgres_row_time_us(csc_postgres_reader *reader, int column)
{
    int64_t time_us = csc_postgres_row_i64(reader, column);

    if (time_us == INT64_MAX || time_us == INT64_MIN) {
        csc_postgres_row_corrupt(reader, column, "is infinite");
        return 0;
    }
    return csc_clock_add(time_us, CSC_POSTGRES_EPOCH_US);
}

/* Cut to the millisecond below. */
int64_t
csc_postgres_row_time(csc_postgres_reader *reader, int column)
{
    return csc_clock_us_to_ms(csc_postgres_row_time_us(reader, column));
}

int64_t
csc_postgres_row_time_or_none(csc_postgres_reader *reader, int column)
{
    if (PQgetisnull(reader->result, reader->row, column))
        return CASCADE_TIME_NONE;
    return csc_postgres_row_time(reader, column);
}

const char *
csc_postgres_row_json(csc_postgres_reader *reader, int column, csc_buf *buf)
{
    const char *text = csc_postgres_row_text_or_null(reader, column);
    size_t len;
    cascade_err err;

    if (text == NULL || reader->err != CASCADE_OK)
        return NULL;
    len = (size_t)PQgetlength(reader->result, reader->row, column);
    csc_buf_clear(buf);
    err = csc_json_canon_stored(reader->columns[column], text, len, buf);
    if (err == CASCADE_ERR_NO_MEMORY)
        reader->err = err;
    else if (err != CASCADE_OK)
        csc_postgres_row_corrupt(reader, column,
                                 csc_json_why(reader->columns[column]));
    return err == CASCADE_OK ? buf->data : NULL;
}

static int
read_status(csc_postgres_reader *reader, int column,
            int (*read)(const char *word, size_t len))
{
    const char *text = PQgetvalue(reader->result, reader->row, column);
    int status = read(text, strlen(text));

    if (status != 0)
        return status;
    csc_postgres_row_corrupt(reader, column, "is no status");
    return CASCADE_ERROR;
}

cascade_status
csc_postgres_row_status(csc_postgres_reader *reader, int column)
{
    return (cascade_status)read_status(reader, column, csc_status_read);
}

cascade_execution_status
csc_postgres_row_execution_status(csc_postgres_reader *reader, int column)
{
    return (cascade_execution_status)read_status(reader, column,
                                                 csc_status_read_execution);
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
