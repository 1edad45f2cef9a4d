/* SPDX-License-Identifier: MIT */
#include "store/schema_fixture.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <unistd.h>

/* Runs one statement on a connection of its own. */
static int
run(const char *conninfo, const char *sql)
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

int
schema_create(conformance_db *db, const char *conninfo, const char *prefix)
{
    static int number;
    char sql[128];

    snprintf(db->schema, sizeof(db->schema), "%s_%ld_%d", prefix,
             (long)getpid(), number++);
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", db->schema);
    return run(conninfo, sql);
}

void
schema_destroy(const conformance_db *db, const char *conninfo)
{
    char sql[192];

    snprintf(sql, sizeof(sql),
             "SET client_min_messages = warning; DROP SCHEMA %s CASCADE",
             db->schema);
    run(conninfo, sql);
}
