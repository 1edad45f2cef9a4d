/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on SQLite: each test has a file in a folder of its own,
 * and the folder is gone afterwards.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/conformance/conformance.h"

typedef struct folder {
    char path[256];
} folder;

static int
create(conformance_place *place)
{
    const char *base = getenv("TMPDIR");
    folder *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return -1;
    snprintf(made->path, sizeof(made->path), "%s/cascade-sqlite.XXXXXX",
             base == NULL ? "/tmp" : base);
    if (mkdtemp(made->path) == NULL) {
        perror(made->path);
        free(made);
        return -1;
    }
    place->own = made;
    snprintf(place->url, sizeof(place->url), "sqlite:%s/cascade.db",
             made->path);
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void
destroy(conformance_place *place)
{
    folder *made = place->own;

    nftw(made->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(made);
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "sqlite",
        .virtual_time = true,
        .on_disk = true,
        .native = true,
        .create = create,
        .destroy = destroy,
    };

    return conformance_run(&backend, argc, argv);
}
