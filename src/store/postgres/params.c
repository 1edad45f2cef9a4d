/* SPDX-License-Identifier: MIT
 *
 * Parameters in PostgreSQL's binary form: no quoting to get wrong, no parsing
 * for the server. Many rows go as one array for each column, which the
 * statement puts together again with unnest(). An array is (big-endian int32s)
 *
 *   1 dimension | has NULLs | type of the elements | count | first index 1
 *   then for each element: its length, or -1 for NULL, and its bytes
 *
 * A timestamp is microseconds since 2000-01-01. What does not fit becomes a
 * value that the server refuses: never one of its two infinities.
 */
#include "store/postgres/internal.h"

#include <arpa/inet.h>
#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cascade/cascade.h"

#define HEADER_SIZE 20
#define TIME_REFUSED (INT64_MAX - 1) /* INT64_MAX itself is 'infinity' */
#define TIME_MIN_MS INT64_C(-210866803200000) /* 4714 BC */
#define TIME_END_MS INT64_C(9224318016000000) /* 294277 */

static void
add_param(csc_postgres_params *params, const char *value, size_t len,
          int format)
{
    int at = params->count;

    csc_assert(at >= 0 && at < CSC_POSTGRES_PARAMS_MAX);
    params->values[at] = value;
    params->lengths[at] = len > INT_MAX ? INT_MAX : (int)len;
    params->formats[at] = format;
    params->count = at + 1;
}

/* The place for the bytes of a number that is a parameter by itself. */
static char *
scalar(csc_postgres_params *params)
{
    csc_assert(params->count < CSC_POSTGRES_PARAMS_MAX);
    return (char *)params->scalars[params->count];
}

void
csc_postgres_params_init(csc_postgres_params *params)
{
    params->count = 0;
}

void
csc_postgres_params_uuid(csc_postgres_params *params, const cascade_uuid *id)
{
    if (id == NULL)
        add_param(params, NULL, 0, 1);
    else
        add_param(params, (const char *)id->bytes, sizeof(id->bytes), 1);
}

void
csc_postgres_params_i64(csc_postgres_params *params, int64_t number)
{
    uint64_t wire = htobe64((uint64_t)number);

    memcpy(scalar(params), &wire, sizeof(wire));
    add_param(params, scalar(params), sizeof(wire), 1);
}

void
csc_postgres_params_i32(csc_postgres_params *params, int32_t number)
{
    uint32_t wire = htonl((uint32_t)number);

    memcpy(scalar(params), &wire, sizeof(wire));
    add_param(params, scalar(params), sizeof(wire), 1);
}

void
csc_postgres_params_bool(csc_postgres_params *params, bool value)
{
    *scalar(params) = value ? 1 : 0;
    add_param(params, scalar(params), 1, 1);
}

void
csc_postgres_params_bound(csc_postgres_params *params, int64_t time_ms)
{
    if (time_ms < TIME_MIN_MS)
        csc_postgres_params_i64(params, INT64_MIN);
    else if (time_ms >= TIME_END_MS)
        csc_postgres_params_i64(params, INT64_MAX);
    else
        csc_postgres_params_i64(
            params, (time_ms - CSC_POSTGRES_EPOCH_US / CSC_MS_US) * CSC_MS_US);
}

void
csc_postgres_params_text(csc_postgres_params *params, const char *text)
{
    add_param(params, text, strlen(text), 0);
}

/* ---- Arrays -------------------------------------------------------------- */

static void
put_u32(char *at, uint32_t number)
{
    uint32_t wire = htonl(number);

    memcpy(at, &wire, sizeof(wire));
}

static uint32_t
type_oid(char type)
{
    switch (type) {
    case 'u':
        return 2950; /* uuid */
    case 'i':
        return 23; /* int4 */
    case 'l':
        return 20; /* int8 */
    case 't':
        return 1114; /* timestamp */
    default:
        return 25; /* text */
    }
}

static void
start_array(csc_postgres_array *array, char type)
{
    char header[HEADER_SIZE];

    csc_buf_clear(&array->bytes);
    put_u32(header, 1);
    put_u32(header + 4, 0); /* these two are known at the end */
    put_u32(header + 8, type_oid(type));
    put_u32(header + 12, 0);
    put_u32(header + 16, 1);
    csc_buf_add(&array->bytes, header, sizeof(header));
    array->count = 0;
    array->has_null = false;
}

static void
add_element(csc_postgres_rows *rows, size_t column, const void *bytes,
            size_t len)
{
    csc_postgres_array *array = &rows->columns[column];
    char size[4];

    csc_assert(column < rows->column_count);
    put_u32(size, (uint32_t)len);
    csc_buf_add(&array->bytes, size, sizeof(size));
    csc_buf_add(&array->bytes, bytes, len);
    array->count++;
}

static void
add_null(csc_postgres_rows *rows, size_t column)
{
    csc_postgres_array *array = &rows->columns[column];
    char size[4];

    csc_assert(column < rows->column_count);
    put_u32(size, UINT32_MAX);
    csc_buf_add(&array->bytes, size, sizeof(size));
    array->count++;
    array->has_null = true;
}

void
csc_postgres_rows_start(csc_postgres_rows *rows, const char *types)
{
    csc_assert(strlen(types) <= CSC_POSTGRES_COLUMNS_MAX);
    rows->column_count = strlen(types);
    rows->count = 0;
    for (size_t i = 0; i < rows->column_count; i++)
        start_array(&rows->columns[i], types[i]);
}

void
csc_postgres_rows_fini(csc_postgres_rows *rows)
{
    for (size_t i = 0; i < CSC_POSTGRES_COLUMNS_MAX; i++)
        csc_buf_fini(&rows->columns[i].bytes);
}

bool
csc_postgres_rows_good(const csc_postgres_rows *rows)
{
    for (size_t i = 0; i < rows->column_count; i++) {
        if (rows->columns[i].bytes.failed)
            return false;
    }
    return true;
}

void
csc_postgres_rows_uuid(csc_postgres_rows *rows, size_t column,
                       const cascade_uuid *id)
{
    if (id == NULL)
        add_null(rows, column);
    else
        add_element(rows, column, id->bytes, sizeof(id->bytes));
}

void
csc_postgres_rows_i32(csc_postgres_rows *rows, size_t column, int32_t number)
{
    uint32_t wire = htonl((uint32_t)number);

    add_element(rows, column, &wire, sizeof(wire));
}

void
csc_postgres_rows_i64(csc_postgres_rows *rows, size_t column, int64_t number)
{
    uint64_t wire = htobe64((uint64_t)number);

    add_element(rows, column, &wire, sizeof(wire));
}

void
csc_postgres_rows_text(csc_postgres_rows *rows, size_t column, const char *text)
{
    if (text == NULL)
        add_null(rows, column);
    else
        add_element(rows, column, text, strlen(text));
}

void
csc_postgres_rows_time(csc_postgres_rows *rows, size_t column, int64_t time_ms)
{
    if (time_ms == CASCADE_TIME_NONE)
        add_null(rows, column);
    else
        csc_postgres_rows_time_us(rows, column, csc_clock_ms_to_us(time_ms));
}

void
csc_postgres_rows_time_us(csc_postgres_rows *rows, size_t column,
                          int64_t time_us)
{
    if (time_us == INT64_MAX ||
        __builtin_sub_overflow(time_us, CSC_POSTGRES_EPOCH_US, &time_us))
        time_us = TIME_REFUSED;
    csc_postgres_rows_i64(rows, column, time_us);
}

static void
add_column(csc_postgres_rows *rows, size_t at, const csc_column *column,
           const void *value)
{
    bool nullable = (column->rules & CSC_COLUMN_NULL) != 0;

    switch (column->kind) {
    case CSC_COLUMN_UUID:
        csc_postgres_rows_uuid(
            rows, at, nullable && csc_uuid_is_nil(value) ? NULL : value);
        break;
    case CSC_COLUMN_STATUS:
        csc_postgres_rows_text(rows, at,
                               csc_status_word(*(const cascade_status *)value));
        break;
    case CSC_COLUMN_EXECUTION_STATUS:
        csc_postgres_rows_text(rows, at,
                               csc_status_execution_word(
                                   *(const cascade_execution_status *)value));
        break;
    case CSC_COLUMN_I32:
        csc_postgres_rows_i32(rows, at, *(const int32_t *)value);
        break;
    case CSC_COLUMN_I64:
    case CSC_COLUMN_SERIAL:
        if (nullable && *(const int64_t *)value == CASCADE_TIME_NONE)
            add_null(rows, at);
        else
            csc_postgres_rows_i64(rows, at, *(const int64_t *)value);
        break;
    case CSC_COLUMN_TEXT:
    case CSC_COLUMN_JSON:
    case CSC_COLUMN_PAYLOAD:
        csc_postgres_rows_text(rows, at, *(const char *const *)value);
        break;
    case CSC_COLUMN_TIME:
        csc_postgres_rows_time(rows, at, *(const int64_t *)value);
        break;
    case CSC_COLUMN_TIME_US:
        csc_postgres_rows_time_us(rows, at, *(const int64_t *)value);
        break;
    }
}

static char
type_letter(csc_column_kind kind)
{
    switch (kind) {
    case CSC_COLUMN_UUID:
        return 'u';
    case CSC_COLUMN_I32:
        return 'i';
    case CSC_COLUMN_I64:
    case CSC_COLUMN_SERIAL:
        return 'l';
    case CSC_COLUMN_TIME:
    case CSC_COLUMN_TIME_US:
        return 't';
    default:
        return 's';
    }
}

void
csc_postgres_rows_start_table(csc_postgres_rows *rows, const csc_table *table,
                              const char *more)
{
    char types[CSC_POSTGRES_COLUMNS_MAX + 1];
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++)
        if ((table->columns[i].rules & CSC_COLUMN_GIVEN) == 0)
            types[count++] = type_letter(table->columns[i].kind);
    csc_assert(count + strlen(more) <= CSC_POSTGRES_COLUMNS_MAX);
    (void)snprintf(types + count, sizeof(types) - count, "%s", more);
    csc_postgres_rows_start(rows, types);
}

void
csc_postgres_rows_add(csc_postgres_rows *rows, const csc_table *table,
                      const void *row)
{
    size_t at = 0;

    for (size_t i = 0; i < table->count; i++) {
        const csc_column *column = &table->columns[i];

        if ((column->rules & CSC_COLUMN_GIVEN) == 0)
            add_column(rows, at++, column, (const char *)row + column->at);
    }
    csc_assert(at <= rows->column_count);
    rows->count++;
}

void
csc_postgres_params_rows(csc_postgres_params *params, csc_postgres_rows *rows)
{
    for (size_t i = 0; i < rows->column_count; i++) {
        csc_postgres_array *array = &rows->columns[i];

        csc_assert(array->count == rows->columns[0].count);
        put_u32(array->bytes.data + 4, array->has_null ? 1 : 0);
        put_u32(array->bytes.data + 12, (uint32_t)array->count);
        add_param(params, array->bytes.data, array->bytes.len, 1);
    }
}

void
csc_postgres_params_row(csc_postgres_params *params,
                        const csc_postgres_rows *rows)
{
    csc_assert(rows->count >= 1);
    for (size_t i = 0; i < rows->column_count; i++) {
        const char *element = rows->columns[i].bytes.data + HEADER_SIZE;
        uint32_t len = 0;

        memcpy(&len, element, sizeof(len));
        len = ntohl(len);
        if (len == UINT32_MAX)
            add_param(params, NULL, 0, 1);
        else
            add_param(params, element + sizeof(len), len, 1);
    }
}

void
csc_postgres_links_add(csc_postgres_rows *rows, const cascade_uuid *root,
                       const cascade_uuid *next, int32_t run_number,
                       const cascade_uuid *first_id)
{
    csc_postgres_rows_uuid(rows, 0, root);
    csc_postgres_rows_uuid(rows, 1, next);
    csc_postgres_rows_i32(rows, 2, run_number);
    csc_postgres_rows_uuid(rows, 3, first_id);
    rows->count++;
}
