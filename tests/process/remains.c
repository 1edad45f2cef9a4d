/* SPDX-License-Identifier: MIT */
#include "process/remains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/check.h"
#include "support/sound.h"

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif

#define VALUE_SIZE 256
#define BUSY_MS 60000

/* The only value of a query. */
#ifdef CASCADE_HAVE_SQLITE
static void
ask_sqlite(const test_place *place, const char *sql, char value[VALUE_SIZE])
{
    sqlite3 *file = NULL;
    sqlite3_stmt *statement = NULL;
    const char *path = strchr(place->url, ':') + 1;

    assert_int_equal(SQLITE_OK,
                     sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE, NULL));
    sqlite3_busy_timeout(file, BUSY_MS);
    sqlite3_db_config(file, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    assert_int_equal(SQLITE_OK,
                     sqlite3_prepare_v2(file, sql, -1, &statement, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(statement));
    snprintf(value, VALUE_SIZE, "%s",
             (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    assert_int_equal(SQLITE_OK, sqlite3_close(file));
}
#endif

#ifdef CASCADE_HAVE_POSTGRES
/* Kept open, for some ask again and again until they are content: to begin a
 * connection costs more than all they ask. */
static void
ask_postgres(const test_place *place, const char *sql, char value[VALUE_SIZE])
{
    static PGconn *connection;
    static char url[sizeof(place->url)];
    PGresult *result = NULL;

    if (strcmp(url, place->url) != 0 || PQstatus(connection) != CONNECTION_OK) {
        PQfinish(connection);
        connection = PQconnectdb(place->url);
        snprintf(url, sizeof(url), "%s", place->url);
    }
    result = PQexec(connection, sql);
    if (PQntuples(result) != 1)
        fail_msg("%s: %s", sql, PQerrorMessage(connection));
    snprintf(value, VALUE_SIZE, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}
#endif

static void
ask(const test_place *place, const char *sql, char value[VALUE_SIZE])
{
#ifdef CASCADE_HAVE_SQLITE
    if (place->kind == PLACE_SQLITE)
        ask_sqlite(place, sql, value);
#endif
#ifdef CASCADE_HAVE_POSTGRES
    if (place->kind == PLACE_POSTGRES)
        ask_postgres(place, sql, value);
#endif
}

int64_t
remains_rows(const test_place *place, const char *table)
{
    char value[VALUE_SIZE] = "";
    char sql[320];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s%s%s", place->schema,
             place->schema[0] == '\0' ? "" : ".", table);
    ask(place, sql, value);
    return strtoll(value, NULL, 10);
}

int64_t
remains_engines(const test_place *place)
{
    return remains_rows(place, "cascade_engines");
}

int64_t
remains_open(const test_place *place)
{
    return remains_rows(place, "cascade_messages") +
           remains_rows(place, "cascades WHERE status = 'RUNNING'");
}

int64_t
remains_backends(const test_place *place)
{
    char value[VALUE_SIZE] = "0";
    char sql[192];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM pg_stat_activity "
             "WHERE application_name = '%s'",
             place->schema);
    if (place->kind == PLACE_POSTGRES)
        ask(place, sql, value);
    return strtoll(value, NULL, 10);
}

/* Each row that is left is as the library writes it. */
static void
check_rows(const test_place *place)
{
    cascade_store *store = place_open(place);

    assert_true(sound_all(store));
    assert_ok(cascade_store_close(store));
}

void
remains_check(const test_place *place)
{
    static const char *const tables[] = {"cascade_runs", "cascade_engines",
                                         "cascade_lanes"};
    char sound[VALUE_SIZE] = "";

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        int64_t left = remains_rows(place, tables[i]);

        if (left != 0)
            fail_msg("%lld rows are left in %s", (long long)left, tables[i]);
    }
    check_rows(place);
    if (place->kind != PLACE_SQLITE)
        return;
    ask(place, "PRAGMA integrity_check", sound);
    assert_string_equal("ok", sound);
}
