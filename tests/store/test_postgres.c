/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on PostgreSQL: each test has a schema of its own in the
 * database that CASCADE_TEST_PG names (a conninfo), dropped at its end. Without
 * the variable the program fails: nothing is skipped silently.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/conformance.h"

static const char *conninfo;

/* Runs one statement on a connection of its own. */
static int
run(const char *sql)
{
    PGconn *connection = PQconnectdb(conninfo);
    PGresult *result = PQexec(connection, sql);
    int failed = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : -1;

    if (failed != 0)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
    return failed;
}

static int
create(conformance_db *db)
{
    static int number;
    char sql[128];

    snprintf(db->url, sizeof(db->url), "%s", conninfo);
    snprintf(db->schema, sizeof(db->schema), "cascade_test_%ld_%d",
             (long)getpid(), number++);
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", db->schema);
    return run(sql);
}

static void
destroy(conformance_db *db)
{
    char sql[192];

    snprintf(sql, sizeof(sql),
             "SET client_min_messages = warning; DROP SCHEMA %s CASCADE",
             db->schema);
    run(sql);
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "postgres",
        .virtual_time = false,
        .on_disk = true,
        .create = create,
        .destroy = destroy,
    };

    conninfo = getenv("CASCADE_TEST_PG");
    if (conninfo == NULL || conninfo[0] == '\0') {
        fprintf(stderr, "CASCADE_TEST_PG is not set: give the conninfo of a "
                        "PostgreSQL database for tests\n");
        return 1;
    }
    return conformance_run(&backend, argc, argv);
}
