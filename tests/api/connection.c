/* SPDX-License-Identifier: MIT */
#include "api/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>

#include "cascade/sqlite.h"

static void *
open_sqlite(const test_db *db)
{
    sqlite3 *handle = NULL;

    assert_int_equal(SQLITE_OK,
                     sqlite3_open(strchr(db->url, ':') + 1, &handle));
    assert_int_equal(SQLITE_OK, sqlite3_busy_timeout(handle, DB_WAIT_MS));
    return handle;
}

/* It must be closable: SQLITE_BUSY would tell of a statement of ours. */
static void
close_sqlite(void *handle)
{
    assert_int_equal(SQLITE_OK, sqlite3_close(handle));
}

static cascade_err
open_sqlite_store(void *handle, const cascade_store_options *options,
                  cascade_store **store)
{
    return cascade_sqlite_open(handle, options, store);
}

static bool
run_sqlite(void *handle, const char *sql, char *first, size_t size)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (first != NULL && code == SQLITE_ROW &&
        sqlite3_column_text(statement, 0) != NULL)
        snprintf(first, size, "%s",
                 (const char *)sqlite3_column_text(statement, 0));
    while (code == SQLITE_ROW)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        print_message("%s: %s\n", sql, sqlite3_errmsg(handle));
    return code == SQLITE_DONE;
}
#endif

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>

#include "cascade/postgres.h"

static void *
open_postgres(const test_db *db)
{
    PGconn *handle = PQconnectdb(db->url);
    PGresult *result = NULL;
    char path[128];

    if (PQstatus(handle) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(handle));
    snprintf(path, sizeof(path), "SET search_path = %s", db->schema);
    result = PQexec(handle, path);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s", PQerrorMessage(handle));
    PQclear(result);
    return handle;
}

/* It must be as it was: out of any transaction, and blocking. */
static void
close_postgres(void *handle)
{
    assert_int_equal(PQTRANS_IDLE, PQtransactionStatus(handle));
    assert_int_equal(0, PQisnonblocking(handle));
    PQfinish(handle);
}

static cascade_err
open_postgres_store(void *handle, const cascade_store_options *options,
                    cascade_store **store)
{
    return cascade_postgres_open(handle, options, store);
}

static bool
run_postgres(void *handle, const char *sql, char *first, size_t size)
{
    PGresult *result = PQexec(handle, sql);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!good)
        print_message("%s: %s\n", sql, PQerrorMessage(handle));
    if (first != NULL && PQntuples(result) > 0)
        snprintf(first, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return good;
}
#endif

static const connection_kind kinds[] = {
#ifdef CASCADE_HAVE_SQLITE
    {"sqlite", "BEGIN IMMEDIATE",
     "CREATE TABLE orders (id INTEGER PRIMARY KEY, node TEXT NOT NULL)",
     open_sqlite, close_sqlite, open_sqlite_store, run_sqlite},
#endif
#ifdef CASCADE_HAVE_POSTGRES
    {"postgres", "BEGIN",
     "CREATE TABLE orders (id SERIAL PRIMARY KEY, node TEXT NOT NULL)",
     open_postgres, close_postgres, open_postgres_store, run_postgres},
#endif
};

void
connection_open(test_db *db, connection *it)
{
    cascade_store_options options = db_store_options(db);

    *it = (connection){0};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].backend, db->backend->name) == 0)
            it->kind = &kinds[i];
    assert_non_null(it->kind);
    it->handle = it->kind->open(db);
    assert_ok(it->kind->open_store(it->handle, &options, &it->store));
}

void
connection_close(connection *it)
{
    assert_ok(cascade_store_close(it->store));
    it->kind->close(it->handle);
}

void
connection_run(connection *it, const char *sql)
{
    assert_true(it->kind->run(it->handle, sql, NULL, 0));
}

void
connection_begin(connection *it)
{
    connection_run(it, it->kind->begin);
}

int
connection_count(connection *it, const char *sql)
{
    char text[64] = "";

    assert_true(it->kind->run(it->handle, sql, text, sizeof(text)));
    return atoi(text);
}
