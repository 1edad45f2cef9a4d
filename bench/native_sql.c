/* SPDX-License-Identifier: MIT */
#include "native_sql.h"

#include "pg.h"

#include <cascade/postgres.h>
#include <cascade/sqlite.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define BUSY_MS 30000

static void
open_sqlite(native_sql *sql, const char *path, bool shared)
{
    sqlite3 *db = NULL;
    int status = sqlite3_open(path, &db);

    sql->handle = db;
    if (status != SQLITE_OK || sqlite3_busy_timeout(db, BUSY_MS) != SQLITE_OK ||
        !native_sql_run(sql, "PRAGMA journal_mode = WAL") ||
        !native_sql_run(sql, "PRAGMA synchronous = FULL"))
        bench_die("open %s: %s", path, sqlite3_errmsg(db));
    if (shared && (!native_sql_run(sql, "PRAGMA wal_autocheckpoint = 0") ||
                   sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                     NULL) != SQLITE_OK))
        bench_die("%s: %s", path, sqlite3_errmsg(db));
}

native_sql
native_sql_open(const bench *b, bench_kind kind, const char *name, bool shared)
{
    native_sql sql = {.kind = kind};
    char path[BENCH_PATH_MAX];
    char text[128];

    if (kind == BENCH_POSTGRES) {
        sql.handle = bench_pg_connect(b);
        snprintf(text, sizeof(text),
                 "SET client_min_messages = warning; SET search_path = %s",
                 name);
        bench_pg_run(sql.handle, text);
        return sql;
    }
    bench_sqlite_path(b, name, path);
    open_sqlite(&sql, path, shared);
    return sql;
}

void
native_sql_close(native_sql *sql)
{
    if (sql->kind == BENCH_POSTGRES)
        PQfinish(sql->handle);
    else
        sqlite3_close(sql->handle);
}

/* In the search path's first schema. */
void
native_sql_prepare(native_sql *sql)
{
    char text[256];
    bool good = native_sql_run(
        sql, "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER)");

    good = good &&
           native_sql_run(sql, "CREATE TABLE moves (account INTEGER, amount "
                               "INTEGER)");
    snprintf(text, sizeof(text),
             "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n "
             "WHERE i < %d) INSERT INTO accounts SELECT i, 1000 FROM n",
             NATIVE_ACCOUNTS - 1);
    if (!good || !native_sql_run(sql, text))
        bench_die("the application's tables cannot be made");
}

cascade_err
native_sql_take(native_sql *sql, bench_kind kind, cascade_node *node)
{
    PGconn *conn = NULL;
    sqlite3 *db = NULL;
    cascade_err err = kind == BENCH_POSTGRES
                          ? cascade_node_postgres(node, &conn)
                          : cascade_node_sqlite(node, &db);

    *sql =
        (native_sql){kind, kind == BENCH_POSTGRES ? (void *)conn : (void *)db};
    return err;
}

static bool
run_sqlite(sqlite3 *db, const char *text)
{
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(db, text, -1, &statement, NULL);

    while (status == SQLITE_OK || status == SQLITE_ROW)
        status = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return status == SQLITE_DONE;
}

bool
native_sql_run(native_sql *sql, const char *text)
{
    PGresult *result;
    ExecStatusType status;

    if (sql->kind != BENCH_POSTGRES)
        return run_sqlite(sql->handle, text);
    result = PQexec(sql->handle, text);
    status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

bool
native_sql_work(native_sql *sql, const char *schema, unsigned account)
{
    char update[128];
    char insert[128];

    if (sql->kind != BENCH_POSTGRES)
        schema = "main";
    snprintf(update, sizeof(update),
             "UPDATE %s.accounts SET balance = balance - 1 WHERE id = %u",
             schema, account % NATIVE_ACCOUNTS);
    snprintf(insert, sizeof(insert),
             "INSERT INTO %s.moves (account, amount) VALUES (%u, 1)", schema,
             account % NATIVE_ACCOUNTS);
    return native_sql_run(sql, update) && native_sql_run(sql, update) &&
           native_sql_run(sql, insert);
}

static int64_t
sqlite_number(sqlite3 *db, const char *text)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

int64_t
native_sql_moves(native_sql *sql, const char *schema)
{
    char text[128];

    if (sql->kind != BENCH_POSTGRES)
        return sqlite_number(sql->handle, "SELECT count(*) FROM moves");
    snprintf(text, sizeof(text), "SELECT count(*) FROM %s.moves", schema);
    return bench_pg_number(sql->handle, text);
}

bool
native_sql_transact(native_sql *sql, const char *schema, unsigned account)
{
    return native_sql_run(sql, sql->kind == BENCH_POSTGRES
                                   ? "BEGIN"
                                   : "BEGIN IMMEDIATE") &&
           native_sql_work(sql, schema, account) &&
           native_sql_run(sql, "COMMIT");
}
