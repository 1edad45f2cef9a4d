/* SPDX-License-Identifier: MIT
 *
 * The conformance suite on guests: each handle is a store on a connection of
 * the application's, outside its transactions. One thread at a time uses such a
 * store: so the moves of all handles take turns here, but for waiting.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "store/conformance/conformance.h"
#include "store/sqlite/internal.h"
#include "store/store.h"
#include "support/wrap_store.h"

typedef struct folder {
    char path[256];
    cascade_store_driver driver; /* of a guest, with its connection */
    wrap_store wrap;
    pthread_mutex_t turn;
} folder;

static cascade_err
open_guest(const char *url, const cascade_store_config *config, void **self)
{
    sqlite3 *db = NULL;
    cascade_err err;

    if (sqlite3_open(strchr(url, ':') + 1, &db) != SQLITE_OK) {
        sqlite3_close(db);
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "no such file");
    }
    err = csc_store_sqlite_guest()->open(db, NULL, config, self);
    if (err != CASCADE_OK)
        sqlite3_close(db);
    return err;
}

static void
close_guest(void *self)
{
    sqlite3 *db = ((csc_sqlite *)self)->writer.db;

    csc_sqlite_driver.close(self);
    if (sqlite3_close(db) != SQLITE_OK)
        abort();
}

static cascade_err
take_turn(void *context, const wrap_call *call)
{
    folder *made = context;

    if (call->move != WRAP_WAIT && call->move != WRAP_CLOSE)
        pthread_mutex_lock(&made->turn);
    return CASCADE_OK;
}

static cascade_err
give_turn_back(void *context, const wrap_call *call, cascade_err answer)
{
    folder *made = context;

    if (call->move != WRAP_WAIT && call->move != WRAP_CLOSE)
        pthread_mutex_unlock(&made->turn);
    return answer;
}

static cascade_err
open_handle(conformance_place *place, const cascade_store_options *options,
            cascade_store **store)
{
    folder *made = place->own;

    return cascade_store_open_driver(&made->wrap.driver, made->wrap.url,
                                     options, store);
}

static int
create(conformance_place *place)
{
    const char *base = getenv("TMPDIR");
    folder *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return -1;
    snprintf(made->path, sizeof(made->path), "%s/cascade-guest.XXXXXX",
             base == NULL ? "/tmp" : base);
    if (mkdtemp(made->path) == NULL) {
        perror(made->path);
        free(made);
        return -1;
    }
    place->own = made;
    snprintf(place->url, sizeof(place->url), "sqlite:%s/cascade.db",
             made->path);
    made->driver = csc_sqlite_driver;
    made->driver.open = open_guest;
    made->driver.close = close_guest;
    if (wrap_store_init(&made->wrap, place->url) != 0)
        return -1;
    made->wrap.inner = &made->driver;
    made->wrap.context = made;
    made->wrap.before = take_turn;
    made->wrap.after = give_turn_back;
    return pthread_mutex_init(&made->turn, NULL);
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
    wrap_store_fini(&made->wrap);
    pthread_mutex_destroy(&made->turn);
    free(made);
}

int
main(int argc, char **argv)
{
    static const conformance_backend backend = {
        .name = "sqlite_guest",
        .native = true,
        .single = true,
        .virtual_time = true,
        .on_disk = true,
        .create = create,
        .open = open_handle,
        .destroy = destroy,
    };

    return conformance_run(&backend, argc, argv);
}
