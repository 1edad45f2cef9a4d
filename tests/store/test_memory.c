/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on the memory store: each test has a model with a name
 * of its own, so that a second handle finds it.
 */
#include <stdio.h>

#include "store/conformance/conformance.h"

static int
create(conformance_place *place)
{
    static int number;

    snprintf(place->url, sizeof(place->url), "memory:conformance-%d", number++);
    return 0;
}

static void
destroy(conformance_place *place)
{
    (void)place;
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
