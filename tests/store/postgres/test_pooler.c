/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on PostgreSQL behind a pgbouncer in transaction mode
 * with fewer connections to the server than the tests have handles.
 */
#include <stdio.h>
#include <stdlib.h>

#include "faults/pooler.h"
#include "process/server.h"
#include "store/schema_fixture.h"

#define POOL 8

static test_server server;
static test_pooler pooler;

static int
create(conformance_place *place)
{
    snprintf(place->url, sizeof(place->url), "%s", pooler.conninfo);
    return schema_create(place, server.conninfo, "cascade_pooler");
}

static void
destroy(conformance_place *place)
{
    schema_destroy(place, server.conninfo);
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
        .native = true,
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
