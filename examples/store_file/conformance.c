/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on the file store: how a store is tested. An argument
 * names some of the tests: "*claim*".
 */
#include <cascade/conformance.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store_file.h"

static int
create(conformance_place *place)
{
    const char *folder = getenv("TMPDIR");

    snprintf(place->schema, sizeof(place->schema), "%s", "");
    snprintf(place->url, sizeof(place->url), "file:%s/cascade-file.XXXXXX",
             folder != NULL ? folder : "/tmp");
    return mkdtemp(place->url + 5) != NULL ? 0 : -1;
}

static void
destroy(conformance_place *place)
{
    static const char *const names[] = {"rows", "rows.lock", "rows.new"};
    char path[1100];

    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", place->url + 5, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(place->url + 5);
}

static cascade_err
open_file(conformance_place *place, const cascade_store_options *options,
          cascade_store **store)
{
    char url[1100];

    snprintf(url, sizeof(url), "%s/rows", place->url);
    return cascade_store_open_driver(&store_file, url, options, store);
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "file",
        .virtual_time = true,
        .create = create,
        .open = open_file,
        .destroy = destroy,
    };

    return conformance_run(&backend, argc, argv);
}
