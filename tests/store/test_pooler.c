/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on PostgreSQL behind a pgbouncer in transaction mode
 * with fewer connections to the server than the tests have handles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "faults/pooler.h"
#include "process/server.h"
#include "store/conformance.h"

#include <libpq-fe.h>

#define POOL 8

static test_server server;
static test_pooler pooler;

/* Runs one statement on a connection of its own, not through the pooler. */
static int
run(const char *sql)
{
    PGconn *connection = PQconnectdb(server.conninfo);
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

    snprintf(db->url, sizeof(db->url), "%s", pooler.conninfo);
    snprintf(db->schema, sizeof(db->schema), "cascade_pooler_%d", number++);
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

static void
clean_up(void)
{
    if (pooler.folder[0] != '\0')
        pooler_remove(&pooler);
    if (server.folder[0] != '\0')
        server_remove(&server);
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "pooler",
        .on_disk = true,
        .pooler = true,
        .create = create,
        .destroy = destroy,
    };
    int status = 0;

    if (argc > 1 && argv[1][0] == '-')
        return conformance_run(&backend, argc, argv);
    server_create(&server, "");
    pooler_create(&pooler, &server, POOL);
    status = conformance_run(&backend, argc, argv);
    clean_up();
    return status;
}
