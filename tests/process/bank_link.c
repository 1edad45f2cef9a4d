/* SPDX-License-Identifier: MIT */
#include "process/bank_link.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/postgres.h"
#include "cascade/sqlite.h"

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif

#define SQL_SIZE 2400
#define BUSY_MS 60000 /* at least */

static void
note_error(bank_link *link, bool conflict, const char *text)
{
    link->conflict = conflict;
    snprintf(link->error, sizeof(link->error), "%s", text);
}

/* ---- SQLite -------------------------------------------------------------- */

#ifdef CASCADE_HAVE_SQLITE
/* More often than SQLite's own, which leaves one who waits behind those that
 * commit all the time. */
static int
wait_a_little(void *context, int tries)
{
    (void)context;
    poll(NULL, 0, 1);
    return tries < BUSY_MS;
}

static bool
open_sqlite(bank_link *link, const char *path)
{
    sqlite3 *db = NULL;
    int status = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);

    link->handle = db;
    if (status != SQLITE_OK ||
        sqlite3_busy_handler(db, wait_a_little, NULL) != SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) !=
            SQLITE_OK) {
        note_error(link, false, sqlite3_errmsg(db));
        return false;
    }
    return bank_link_run(link, "PRAGMA wal_autocheckpoint = 0", NULL, 0);
}

static bool
run_sqlite(bank_link *link, const char *sql, int64_t *values, int count)
{
    sqlite3 *db = link->handle;
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (status == SQLITE_OK)
        status = sqlite3_step(statement);
    for (int i = 0; i < count && status == SQLITE_ROW; i++)
        values[i] = sqlite3_column_int64(statement, i);
    while (status == SQLITE_ROW)
        status = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (status == SQLITE_DONE)
        return true;
    note_error(link, (status & 0xff) == SQLITE_BUSY, sqlite3_errmsg(db));
    return false;
}
#endif

/* ---- PostgreSQL ---------------------------------------------------------- */

#ifdef CASCADE_HAVE_POSTGRES
static bool
open_postgres(bank_link *link, const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);

    link->handle = conn;
    if (PQstatus(conn) == CONNECTION_OK)
        return bank_link_run(link, "SET client_min_messages = warning", NULL,
                             0);
    note_error(link, false, PQerrorMessage(conn));
    return false;
}

static bool
run_postgres(bank_link *link, const char *sql, int64_t *values, int count)
{
    PGresult *result = PQexec(link->handle, sql);
    ExecStatusType status = PQresultStatus(result);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    for (int i = 0; i < count && PQntuples(result) > 0; i++)
        values[i] = strtoll(PQgetvalue(result, 0, i), NULL, 10);
    if (!good)
        note_error(link, state != NULL && strncmp(state, "40", 2) == 0,
                   PQresultErrorMessage(result));
    PQclear(result);
    return good;
}
#endif

/* ---- Either -------------------------------------------------------------- */

bool
bank_link_open(bank_link *link, const test_place *place)
{
    *link = (bank_link){.kind = place->kind, .schema = place->schema};
#ifdef CASCADE_HAVE_SQLITE
    if (place->kind == PLACE_SQLITE)
        return open_sqlite(link, strchr(place->url, ':') + 1);
#endif
#ifdef CASCADE_HAVE_POSTGRES
    if (place->kind == PLACE_POSTGRES)
        return open_postgres(link, place->url);
#endif
    return false;
}

void
bank_link_close(bank_link *link)
{
#ifdef CASCADE_HAVE_SQLITE
    if (link->kind == PLACE_SQLITE)
        sqlite3_close(link->handle);
#endif
#ifdef CASCADE_HAVE_POSTGRES
    if (link->kind == PLACE_POSTGRES)
        PQfinish(link->handle);
#endif
    link->handle = NULL;
}

cascade_err
bank_link_take(bank_link *link, const test_place *place, cascade_node *node)
{
    cascade_err err = CASCADE_OK;
    sqlite3 *db = NULL;
    PGconn *conn = NULL;

    *link = (bank_link){.kind = place->kind, .schema = place->schema};
    err = place->kind == PLACE_SQLITE ? cascade_node_sqlite(node, &db)
                                      : cascade_node_postgres(node, &conn);
    link->handle = place->kind == PLACE_SQLITE ? (void *)db : (void *)conn;
    return err;
}

/* `text` with the schema in it, cut where it does not fit. */
static void
name_schema(const bank_link *link, const char *sql, char text[SQL_SIZE])
{
    size_t at = 0;

    while (*sql != '\0' && at < SQL_SIZE - 80) {
        if (strncmp(sql, "{}", 2) != 0) {
            text[at++] = *sql++;
            continue;
        }
        at += (size_t)snprintf(text + at, 80, "%s%s", link->schema,
                               link->schema[0] == '\0' ? "" : ".");
        sql += 2;
    }
    text[at] = '\0';
}

bool
bank_link_run(bank_link *link, const char *sql, int64_t *values, int count)
{
    char text[SQL_SIZE];

    link->conflict = false;
    for (int i = 0; i < count; i++)
        values[i] = 0;
    name_schema(link, sql, text);
#ifdef CASCADE_HAVE_SQLITE
    if (link->kind == PLACE_SQLITE)
        return run_sqlite(link, text, values, count);
#endif
#ifdef CASCADE_HAVE_POSTGRES
    if (link->kind == PLACE_POSTGRES)
        return run_postgres(link, text, values, count);
#endif
    return false;
}
