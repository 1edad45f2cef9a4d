/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on the store of the examples, which has the core alone;
 * so its random moves compare the memory store with one of plain arrays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/conformance/conformance.h"
#include "store_file.h"

static int
create(conformance_db *db)
{
    const char *folder = getenv("TMPDIR");

    snprintf(db->schema, sizeof(db->schema), "%s", "");
    snprintf(db->url, sizeof(db->url), "file:%s/cascade-file.XXXXXX",
             folder != NULL ? folder : "/tmp");
    return mkdtemp(db->url + 5) != NULL ? 0 : -1;
}

static void
destroy(conformance_db *db)
{
    static const char *const names[] = {"rows", "rows.lock", "rows.new"};
    char path[1100];

    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", db->url + 5, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(db->url + 5);
}

static cascade_err
open_file(conformance_db *db, const cascade_store_options *options,
          cascade_store **store)
{
    char url[1100];

    snprintf(url, sizeof(url), "%s/rows", db->url);
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
