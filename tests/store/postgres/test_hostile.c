/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on PostgreSQL beside what somebody else has made in
 * `public`: see hostile.h. The store's role finds that before PostgreSQL's own.
 * With the option `pooler`, so that nothing is set for the session and each
 * exchange stands for itself. Transactions of nodes are in
 * test_postgres_hostile.c, since what the functions here say would be misled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres/hostile.h"
#include "store/schema_fixture.h"
#include "support/unique.h"

static char database[UNIQUE_SIZE];
static char role[UNIQUE_SIZE];
static char conninfo[900]; /* of that database, as a superuser */

static int
create(conformance_place *place)
{
    snprintf(place->url, sizeof(place->url), "%s user=%s", conninfo, role);
    return schema_create(place, place->url, "cascade_hostile");
}

static void
destroy(conformance_place *place)
{
    schema_destroy(place, conninfo);
}

static int
run(const char *format, const char *name)
{
    PGconn *conn = PQconnectdb(getenv("CASCADE_TEST_PG"));
    PGresult *result;
    char sql[200];
    int failed;

    snprintf(sql, sizeof(sql), format, name);
    result = PQexec(conn, sql);
    failed = PQresultStatus(result) != PGRES_COMMAND_OK;
    if (failed)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
    return failed;
}

static bool
make(void)
{
    PGconn *admin = PQconnectdb(conninfo);
    bool good = hostile_make(admin, "public") &&
                hostile_make_role(admin, role, "public");

    PQfinish(admin);
    return good;
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "hostile",
        .on_disk = true,
        .native = true,
        .pooler = true,
        .hostile = true,
        .create = create,
        .destroy = destroy,
    };
    int status = 1;

    if (argc > 1 && strcmp(argv[1], "--wake") == 0)
        return conformance_run(&backend, argc, argv);
    unique_name(database, sizeof(database), "cascade_hostile");
    unique_name(role, sizeof(role), "cascade_hostile_role");
    snprintf(conninfo, sizeof(conninfo), "%s dbname=%s",
             getenv("CASCADE_TEST_PG"), database);
    if (run("CREATE DATABASE %s TEMPLATE template0", database) != 0)
        return 1;
    if (make())
        status = conformance_run(&backend, argc, argv);
    if (run("DROP DATABASE %s WITH (FORCE)", database) != 0 ||
        run("DROP ROLE %s", role) != 0)
        status = 1;
    return status;
}
