/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on PostgreSQL: each test has a schema in the database
 * that CASCADE_TEST_PG names (a conninfo): that of a test before it, where
 * nothing but rows was changed in it (schemas.h) and it need not be empty.
 * Without the variable the program fails: nothing is skipped silently.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/schema_fixture.h"
#include "support/schemas.h"

static const char *conninfo;

static int
create(conformance_place *place)
{
    snprintf(place->url, sizeof(place->url), "%s", conninfo);
    return schema_create(place, conninfo, "cascade_test");
}

static int
take(conformance_place *place)
{
    snprintf(place->url, sizeof(place->url), "%s", conninfo);
    return schemas_take(place->schema, sizeof(place->schema));
}

static void
destroy(conformance_place *place)
{
    schemas_give(place->schema, false);
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
        .take = take,
        .destroy = destroy,
    };
    int failed = 1;

    conninfo = getenv("CASCADE_TEST_PG");
    if (conninfo == NULL || conninfo[0] == '\0') {
        fprintf(stderr, "CASCADE_TEST_PG is not set: give the conninfo of a "
                        "PostgreSQL database for tests\n");
        return 1;
    }
    failed = conformance_run(&backend, argc, argv);
    schemas_end();
    return failed;
}
