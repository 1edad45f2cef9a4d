/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on the memory store: each test has a model with a name
 * of its own, so that a second handle finds it.
 */
#include <stdio.h>

#include "store/conformance/conformance.h"

static int
create(conformance_db *db)
{
    static int number;

    snprintf(db->url, sizeof(db->url), "memory:conformance-%d", number++);
    return 0;
}

static void
destroy(conformance_db *db)
{
    (void)db;
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "memory",
        .virtual_time = true,
        .create = create,
        .destroy = destroy,
    };

    return conformance_run(&backend, argc, argv);
}
