/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on PostgreSQL: each test has a schema of its own in the
 * database that CASCADE_TEST_PG names (a conninfo), dropped at its end. Without
 * the variable the program fails: nothing is skipped silently.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/schema_fixture.h"

static const char *conninfo;

static int
create(conformance_place *place)
{
    snprintf(place->url, sizeof(place->url), "%s", conninfo);
    return schema_create(place, conninfo, "cascade_test");
}

static void
destroy(conformance_place *place)
{
    schema_destroy(place, conninfo);
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "postgres",
        .virtual_time = false,
        .on_disk = true,
        .native = true,
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
