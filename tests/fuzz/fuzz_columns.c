/* SPDX-License-Identifier: MIT
 *
 * Decoding what a database gives back. The bytes are a row of a SQLite query
 * and of a PostgreSQL result: columns, each led by a letter, up to a newline:
 *
 *     n           NULL
 *     u           a UUID
 *     i NUMBER    f NUMBER    t TEXT    b TEXT (as a blob)
 *
 * where ~ in a text stands for a NUL byte and ^ for the one of value 255. A row
 * is decoded, or refused as CORRUPT with a text. What is decoded is what the
 * engine may rely on: a status of the enum, canonical payloads, ids that are
 * written as they were read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#ifdef CASCADE_HAVE_SQLITE
#include "store/sqlite/internal.h"
#endif
#ifdef CASCADE_HAVE_POSTGRES
#include "store/postgres/internal.h"
#endif

#define COLUMNS 12

typedef struct column {
    char type; /* n, i, f, t or b; u became t */
    char *text;
    size_t len;
} column;

static column columns[COLUMNS];

/* ---- The row ------------------------------------------------------------- */

static void
read_column(column *to, char *line, size_t len)
{
    static char id[] = "01890000-0000-7000-8000-00000000abcd";

    to->type = 'n';
    to->text = line + (len > 0) + (len > 1);
    to->len = len > 1 ? len - 2 : 0;
    if (len > 0 && strchr("niftb", line[0]) != NULL)
        to->type = line[0];
    if (len > 0 && line[0] == 'u') {
        *to = (column){'t', id, sizeof(id) - 1};
        return;
    }
    for (size_t i = 0; i < to->len; i++) {
        if (to->text[i] == '~')
            to->text[i] = '\0';
        else if (to->text[i] == '^')
            to->text[i] = (char)0xff;
    }
}

static void
read_columns(char *text)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t len = strcspn(text, "\n");
        size_t skip = text[len] == '\n' ? len + 1 : len;

        text[len] = '\0';
        read_column(&columns[i], text, len);
        text += skip;
    }
}

static void
check_refusal(cascade_err err)
{
    const char *why = cascade_errmsg();

    fuzz_check(err == CASCADE_ERR_CORRUPT);
    fuzz_check(why[0] != '\0' && csc_json_utf8_is(why, strlen(why)));
}

/* ---- SQLite -------------------------------------------------------------- */

#ifdef CASCADE_HAVE_SQLITE
static sqlite3_stmt *
get_statement(void)
{
    static sqlite3 *db;
    static sqlite3_stmt *statement;

    if (statement != NULL)
        return statement;
    fuzz_check(sqlite3_open(":memory:", &db) == SQLITE_OK);
    fuzz_check(sqlite3_prepare_v2(
                   db,
                   "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12",
                   -1, &statement, NULL) == SQLITE_OK);
    return statement;
}

static void
bind(sqlite3_stmt *statement, int at, const column *from)
{
    switch (from->type) {
    case 'i':
        (void)sqlite3_bind_int64(statement, at, strtoll(from->text, NULL, 10));
        break;
    case 'f':
        (void)sqlite3_bind_double(statement, at, strtod(from->text, NULL));
        break;
    case 't':
        (void)sqlite3_bind_text(statement, at, from->text, (int)from->len,
                                SQLITE_STATIC);
        break;
    case 'b':
        (void)sqlite3_bind_blob(statement, at, from->text, (int)from->len,
                                SQLITE_STATIC);
        break;
    default: /* a letter, not an enum of ours */
        (void)sqlite3_bind_null(statement, at);
        break;
    }
}

/* Decodes one row, anew each time: reading a column may change its type. */
static sqlite3_stmt *
step(void)
{
    sqlite3_stmt *statement = get_statement();

    (void)sqlite3_reset(statement);
    for (int i = 0; i < COLUMNS; i++)
        bind(statement, i + 1, &columns[i]);
    fuzz_check(sqlite3_step(statement) == SQLITE_ROW);
    return statement;
}

/* A text is all that the column holds. */
static void
check_text(int at, const char *text)
{
    fuzz_check(text != NULL);
    fuzz_check(strlen(text) ==
               (size_t)sqlite3_column_bytes(get_statement(), at));
}

static void
check_number(int at, int64_t number)
{
    fuzz_check(number == sqlite3_column_int64(get_statement(), at));
}

static void
check_sqlite_cascade(void)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_row row;
    cascade_err err = csc_sqlite_row_read(step(), 0, &csc_table_cascades, &row);

    if (err != CASCADE_OK) {
        check_refusal(err);
        return;
    }
    fuzz_check(strcmp(cascade_uuid_format(&row.id, id),
                      (const char *)sqlite3_column_text(get_statement(), 0)) ==
               0);
    fuzz_check(row.status >= CASCADE_RUNNING && row.status <= CASCADE_ERROR);
    check_number(2, row.fn_id);
    check_text(3, row.user_id);
}

static void
check_sqlite_execution(void)
{
    csc_sqlite_row_room room = {{0}, {0}};
    cascade_execution_row row;
    cascade_err err = csc_sqlite_row_execution(step(), &room, &row);

    if (err == CASCADE_OK) {
        fuzz_check(row.status >= CASCADE_EXECUTION_RUNNING &&
                   row.status <= CASCADE_EXECUTION_FAILED);
        check_number(2, row.function_id);
        check_text(4, row.node_instance_id);
        check_text(5, row.node_name);
        fuzz_check(fuzz_is_canonical(row.input));
        if (row.full_output != NULL)
            fuzz_check(fuzz_is_canonical(row.full_output));
        check_text(8, row.location);
        if (row.error != NULL)
            check_text(9, row.error);
    } else {
        check_refusal(err);
    }
    csc_sqlite_row_fini(&room);
}

static void
check_sqlite_event(void)
{
    csc_sqlite_row_room room = {{0}, {0}};
    cascade_event_row row;
    cascade_err err = csc_sqlite_row_event(step(), &room, &row);

    if (err == CASCADE_OK) {
        check_number(0, row.id);
        check_number(2, row.function_id);
        check_text(3, row.key);
        fuzz_check(csc_json_utf8_is(row.key, strlen(row.key)));
        fuzz_check(fuzz_is_canonical(row.value));
        if (row.ui_value != NULL)
            fuzz_check(fuzz_is_canonical(row.ui_value));
    } else {
        check_refusal(err);
    }
    csc_sqlite_row_fini(&room);
}

static void
check_sqlite(void)
{
    cascade_run_row run;
    cascade_incarnation engine;
    cascade_err err;

    check_sqlite_cascade();
    check_sqlite_execution();
    check_sqlite_event();
    err = csc_sqlite_row_run(step(), 0, &run);
    if (err != CASCADE_OK)
        check_refusal(err);
    else
        fuzz_check((run.needs == NULL || run.needs[0] != '\0') &&
                   run.priority >= 0 && run.claim_no >= 0);
    err = csc_sqlite_row_engine(step(), &engine);
    if (err != CASCADE_OK)
        check_refusal(err);
    (void)sqlite3_reset(get_statement());
}
#endif

/* ---- PostgreSQL ---------------------------------------------------------- */

#ifdef CASCADE_HAVE_POSTGRES
static PGresult *
make_result(void)
{
    static PGresAttDesc attributes[COLUMNS];
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    for (int i = 0; i < COLUMNS; i++)
        attributes[i].name = (char *)(uintptr_t) "column";
    fuzz_check(result != NULL);
    fuzz_check(PQsetResultAttrs(result, COLUMNS, attributes) != 0);
    for (int i = 0; i < COLUMNS; i++) {
        bool null = columns[i].type == 'n';

        fuzz_check(PQsetvalue(result, 0, i, null ? NULL : columns[i].text,
                              null ? -1 : (int)columns[i].len) != 0);
    }
    return result;
}

/* All columns as one kind. A reader goes on behind an error; of payloads the
 * last that was read is in its room. */
static void
check_kind(const PGresult *result, csc_column_kind kind, unsigned rules)
{
    csc_column as[COLUMNS];
    union {
        cascade_uuid id;
        int64_t number;
        const char *text;
    } row[COLUMNS];
    csc_table table = {"table", as, COLUMNS, sizeof(row)};
    csc_buf rooms[2] = {{0}, {0}};
    csc_postgres_reader reader = {.result = result,
                                  .payloads = {&rooms[0], &rooms[1]}};

    for (size_t i = 0; i < COLUMNS; i++)
        as[i] = (csc_column){"column", kind, rules, i * sizeof(row[0])};
    if (csc_postgres_row_read(&reader, &table, row) != CASCADE_OK)
        check_refusal(reader.err);
    else if (kind == CSC_COLUMN_JSON && rooms[1].len > 0)
        fuzz_check(fuzz_is_canonical(rooms[1].data));
    csc_buf_fini(&rooms[0]);
    csc_buf_fini(&rooms[1]);
}

static void
check_postgres(void)
{
    PGresult *result = make_result();

    for (int kind = CSC_COLUMN_UUID; kind <= CSC_COLUMN_TIME_US; kind++) {
        check_kind(result, (csc_column_kind)kind, 0);
        check_kind(result, (csc_column_kind)kind,
                   CSC_COLUMN_NULL | CSC_COLUMN_COUNT);
    }
    PQclear(result);
}
#endif

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    size_t live = csc_mem_live();

    read_columns(text);
#ifdef CASCADE_HAVE_SQLITE
    check_sqlite();
#endif
#ifdef CASCADE_HAVE_POSTGRES
    check_postgres();
#endif
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
