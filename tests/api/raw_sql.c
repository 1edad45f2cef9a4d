/* SPDX-License-Identifier: MIT */
#include "api/raw_sql.h"

#include <stdio.h>
#include <string.h>

#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif
#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif

typedef struct first_value {
    char *text; /* or NULL */
    size_t size;
} first_value;

static void
note(first_value *answer, const char *value)
{
    if (answer->text != NULL && value != NULL)
        snprintf(answer->text, answer->size, "%s", value);
}

#ifdef CASCADE_HAVE_SQLITE
static int
note_row(void *context, int count, char **values, char **names)
{
    (void)names;
    note(context, count > 0 ? values[0] : NULL);
    return 0;
}

static void
run_sqlite(const test_db *db, const char *sql, first_value *answer)
{
    sqlite3 *connection = NULL;

    assert_int_equal(SQLITE_OK,
                     sqlite3_open(db->url + strlen("sqlite:"), &connection));
    assert_int_equal(SQLITE_OK, sqlite3_busy_timeout(connection, DB_WAIT_MS));
    if (sqlite3_exec(connection, sql, note_row, answer, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(connection));
    sqlite3_close(connection);
}
#endif

#ifdef CASCADE_HAVE_POSTGRES
static PGresult *
exec_postgres(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(connection));
    return result;
}

static void
run_postgres(const test_db *db, const char *sql, first_value *answer)
{
    PGconn *connection = PQconnectdb(db->url);
    PGresult *result = NULL;
    char path[128];

    snprintf(path, sizeof(path),
             "SET client_min_messages = warning; SET search_path = %s",
             db->schema);
    PQclear(exec_postgres(connection, path));
    result = exec_postgres(connection, sql);
    note(answer, PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : NULL);
    PQclear(result);
    PQfinish(connection);
}
#endif

static void
run(const test_db *db, const char *sql, first_value *answer)
{
#ifdef CASCADE_HAVE_SQLITE
    if (strcmp(db->backend->name, "sqlite") == 0) {
        run_sqlite(db, sql, answer);
        return;
    }
#endif
#ifdef CASCADE_HAVE_POSTGRES
    if (strcmp(db->backend->name, "postgres") == 0) {
        run_postgres(db, sql, answer);
        return;
    }
#endif
    (void)answer;
    fail_msg("there is no SQL on %s: %s", db->backend->name, sql);
}

void
raw_sql(const test_db *db, const char *sql)
{
    first_value none = {.text = NULL};

    run(db, sql, &none);
}

void
raw_sql_text(const test_db *db, const char *sql, char *text, size_t size)
{
    first_value answer = {.text = text, .size = size};

    text[0] = '\0';
    run(db, sql, &answer);
}
