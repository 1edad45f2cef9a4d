/* SPDX-License-Identifier: MIT
 *
 * The application's own table; see ledger.h.
 */
#include "engine/support/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "base/error.h"
#include "cascade/postgres.h"
#include "cascade/sqlite.h"

#define SQL_SIZE 512
#define BUSY_MS 100000 /* until it gives up */

static bool
is_sqlite(const test_db *db)
{
    return strncmp(db->url, "sqlite:", 7) == 0;
}

/* ---- One statement ------------------------------------------------------ */

#ifdef CASCADE_HAVE_SQLITE
static int
take_number(void *context, int count, char **values, char **names)
{
    (void)names;
    if (count > 0 && values[0] != NULL)
        *(int *)context = atoi(values[0]);
    return 0;
}

static cascade_err
run_sqlite(sqlite3 *db, const char *sql, int *number)
{
    char *text = NULL;
    int code = sqlite3_exec(db, sql, take_number, number, &text);

    if (code == SQLITE_OK)
        return CASCADE_OK;
    (void)csc_fail(CASCADE_ERR_FAILED, "ledger: %s", text);
    sqlite3_free(text);
    return CASCADE_ERR_FAILED;
}
#endif

#ifdef CASCADE_HAVE_POSTGRES
static cascade_err
run_postgres(PGconn *conn, const char *sql, int *number)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (good && number != NULL && PQntuples(result) > 0)
        *number = atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    return good ? CASCADE_OK
                : csc_fail(CASCADE_ERR_FAILED, "ledger: %s",
                           PQerrorMessage(conn));
}
#endif

/* ---- From outside ------------------------------------------------------- */

static cascade_err
run_outside(const test_db *db, const char *sql, int *number)
{
    cascade_err err = CASCADE_ERR_UNSUPPORTED;

#ifdef CASCADE_HAVE_SQLITE
    if (is_sqlite(db)) {
        sqlite3 *connection = NULL;

        err = CASCADE_ERR_FAILED;
        if (sqlite3_open(strchr(db->url, ':') + 1, &connection) == SQLITE_OK &&
            sqlite3_busy_timeout(connection, BUSY_MS) == SQLITE_OK)
            err = run_sqlite(connection, sql, number);
        sqlite3_close(connection);
        return err;
    }
#endif
#ifdef CASCADE_HAVE_POSTGRES
    PGconn *connection = PQconnectdb(db->url);

    err = run_postgres(connection, sql, number);
    PQfinish(connection);
#endif
    return err;
}

/* The table by a name that any connection knows. */
static const char *
table(const test_db *db, char *name, size_t size)
{
    if (is_sqlite(db))
        return "ledger";
    (void)snprintf(name, size, "%s.ledger", db->schema);
    return name;
}

void
ledger_create(test_db *db)
{
    char name[SQL_SIZE / 2];
    char sql[SQL_SIZE];

    (void)snprintf(sql, sizeof(sql), "CREATE TABLE %s (what TEXT NOT NULL)",
                   table(db, name, sizeof(name)));
    assert_int_equal(run_outside(db, sql, NULL), CASCADE_OK);
}

int
ledger_count(test_db *db, const char *what)
{
    char name[SQL_SIZE / 2];
    char sql[SQL_SIZE];
    int number = -1;

    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s%s%s%s",
                   table(db, name, sizeof(name)),
                   what != NULL ? " WHERE what = '" : "",
                   what != NULL ? what : "", what != NULL ? "'" : "");
    expect(run_outside(db, sql, &number) == CASCADE_OK);
    return number;
}

/* ---- From a node -------------------------------------------------------- */

cascade_err
ledger_run(const test_db *db, cascade_node *node, const char *sql)
{
    cascade_err err = CASCADE_ERR_UNSUPPORTED;

#ifdef CASCADE_HAVE_SQLITE
    if (is_sqlite(db)) {
        sqlite3 *connection = NULL;

        err = cascade_node_sqlite(node, &connection);
        return err == CASCADE_OK ? run_sqlite(connection, sql, NULL) : err;
    }
#endif
#ifdef CASCADE_HAVE_POSTGRES
    PGconn *connection = NULL;

    err = cascade_node_postgres(node, &connection);
    if (err == CASCADE_OK)
        err = run_postgres(connection, sql, NULL);
#endif
    return err;
}

cascade_err
ledger_write(const test_db *db, cascade_node *node, const char *what)
{
    char name[SQL_SIZE / 2];
    char sql[SQL_SIZE];

    (void)snprintf(sql, sizeof(sql), "INSERT INTO %s (what) VALUES ('%s')",
                   table(db, name, sizeof(name)), what);
    return ledger_run(db, node, sql);
}
