/* SPDX-License-Identifier: MIT */
#include "store/schema_fixture.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/unique.h"

/* For the schemas of all tests of a program. */
static PGconn *admin;

static void
close_admin(void)
{
    PQfinish(admin);
}

static void
connect_admin(const char *conninfo)
{
    if (admin == NULL) {
        admin = PQconnectdb(conninfo);
        (void)atexit(close_admin);
    } else if (PQstatus(admin) != CONNECTION_OK) {
        PQreset(admin);
    }
}

static int
run(const char *conninfo, const char *sql)
{
    PGresult *result;
    int failed;

    connect_admin(conninfo);
    result = PQexec(admin, sql);
    failed = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : -1;
    if (failed != 0)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(admin));
    PQclear(result);
    return failed;
}

int
schema_create(conformance_place *place, const char *conninfo,
              const char *prefix)
{
    char sql[128];

    unique_name(place->schema, sizeof(place->schema), prefix);
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", place->schema);
    return run(conninfo, sql);
}

void
schema_destroy(const conformance_place *place, const char *conninfo)
{
    char sql[192];

    snprintf(sql, sizeof(sql),
             "SET client_min_messages = warning; DROP SCHEMA %s CASCADE",
             place->schema);
    run(conninfo, sql);
}
