/* SPDX-License-Identifier: MIT
 *
 * Guests: stores on a connection that is not the library's. The application has
 * it (cascade_sqlite_open(), cascade_postgres_open()), or it is that of a
 * transactional node (cascade_node_store()). Either may have a transaction open
 * on it, of which the library's calls are a part then; so a call that waits for
 * others, or that commits, has no place there.
 *
 * A thread that is in a transactional node has the locks of that transaction. A
 * call with the engine's own store would wait for them, on SQLite for certain,
 * so it is refused.
 */
#include "store/store.h"

#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/postgres.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"

static _Thread_local const cascade_store *inside;

static cascade_err
open_guest(csc_store_opener *opener, const cascade_store_options *options,
           cascade_store **store)
{
    csc_ok();
    if (opener->handle == NULL || store == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "opening a store: %s is NULL",
                        opener->handle == NULL ? "the connection"
                                               : "the place for the store");
    if (opener->guest == NULL)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "the store of that connection is not built into this "
                        "library");
    opener->driver = opener->guest->driver;
    return csc_store_open(opener, options, store);
}

cascade_err
csc_store_open_guest(const csc_store_guest *guest, void *handle,
                     const cascade_store_options *options,
                     const cascade_native *native, cascade_store **store)
{
    csc_store_opener opener = {
        .guest = guest, .handle = handle, .native = native};

    return open_guest(&opener, options, store);
}

cascade_err
cascade_sqlite_open(sqlite3 *db, const cascade_store_options *options,
                    cascade_store **store)
{
    return csc_store_open_guest(csc_store_sqlite_guest(), db, options, NULL,
                                store);
}

cascade_err
cascade_postgres_open(PGconn *conn, const cascade_store_options *options,
                      cascade_store **store)
{
    return csc_store_open_guest(csc_store_postgres_guest(), conn, options, NULL,
                                store);
}

#ifndef CASCADE_HAVE_SQLITE
cascade_err
cascade_sqlite_functions(sqlite3 *db, const cascade_store_options *options)
{
    (void)db;
    (void)options;
    return csc_fail(CASCADE_ERR_UNSUPPORTED,
                    "the SQLite store is not built into this library");
}
#endif

static const csc_store_guest *
find_guest(const char *native)
{
    if (native != NULL && strcmp(native, CASCADE_NATIVE_SQLITE) == 0)
        return csc_store_sqlite_guest();
    if (native != NULL && strcmp(native, CASCADE_NATIVE_POSTGRES) == 0)
        return csc_store_postgres_guest();
    return NULL;
}

cascade_err
csc_store_open_native(const cascade_store *store, const cascade_native *native,
                      cascade_store **guest)
{
    const cascade_store_config *config = &store->config;
    cascade_store_options options = {
        .size = sizeof(options),
        .schema = config->schema,
        .migrate = CASCADE_MIGRATE_NEVER,
        .deadline_ms = config->deadline_ms,
        .payload_max = config->payload_max,
        .clock = config->clock,
        .random = config->random,
        .log = config->log,
        .log_context = config->log_context,
        .log_level = config->log_level,
    };
    csc_store_opener opener = {.guest =
                                   find_guest(csc_driver_native(store->driver)),
                               .handle = native->handle,
                               .native = native,
                               .ring = store->ring};

    return open_guest(&opener, &options, guest);
}

bool
csc_store_is_within(const cascade_store *store)
{
    return store->guest != NULL && store->guest->within(store->self);
}

const cascade_store *
csc_store_set_inside(const cascade_store *store)
{
    const cascade_store *before = inside;

    inside = store;
    return before;
}

cascade_err
csc_store_refuse_inside(const cascade_store *store, const char *what)
{
    if (inside != store)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_MISUSE,
                    "%s: inside a transactional node, on the store of its "
                    "engine: it would wait for the node's own transaction; "
                    "call cascade_node_store() for a store within that",
                    what);
}

cascade_err
csc_store_refuse_within(const cascade_store *store, const char *what)
{
    if (csc_store_is_within(store))
        return csc_fail(CASCADE_ERR_MISUSE,
                        "%s: a transaction is open on the connection of this "
                        "store: call it before that begins, after it has "
                        "ended, or with another store",
                        what);
    return csc_store_refuse_inside(store, what);
}
