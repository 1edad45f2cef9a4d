/* SPDX-License-Identifier: MIT
 *
 * What a transactional node may ask of its transaction, and what it may not:
 * anything that is a commit of its own, or waits for one. That would be apart
 * from what the node does, and wait for it besides.
 */
#include "node/node.h"

#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/postgres.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "held/engine_state.h"
#include "held/run/time_limit.h"
#include "store/store.h"

cascade_err
csc_txn_refuse(const cascade_node *node, const char *what)
{
    if (node == NULL || !node->def->transactional)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_MISUSE,
                    "%s in node %s, which is transactional: all it does is one "
                    "commit, and this would be another; do it in a node before "
                    "or after it",
                    what, node->def->name);
}

static cascade_err
check_native(const cascade_node *node, const char *what, const void *out)
{
    if (csc_node_check_origin(node) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (node == NULL || out == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "%s: an argument is NULL", what);
    if (node->native == NULL)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "%s: node %s is not registered as `transactional`",
                        what, node->def->name);
    return csc_time_limit_check_call(node->call);
}

/* The connection, where it is of that kind. */
static cascade_err
give_handle(const cascade_node *node, const char *what, const char *kind,
            void **handle)
{
    const cascade_store_driver *driver = node->engine->store->driver;

    if (strcmp(csc_driver_native(driver), kind) != 0)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "%s: node %s runs on the %s store, whose transactions "
                        "are of another kind",
                        what, node->def->name, driver->name);
    *handle = node->native->transaction.handle;
    return csc_ok();
}

cascade_err
cascade_node_sqlite(cascade_node *node, sqlite3 **db)
{
    void *handle = NULL;
    cascade_err err = check_native(node, "cascade_node_sqlite()", db);

    if (err == CASCADE_OK)
        err = give_handle(node, "cascade_node_sqlite()", CASCADE_NATIVE_SQLITE,
                          &handle);
    if (err == CASCADE_OK)
        *db = handle;
    return err;
}

cascade_err
cascade_node_postgres(cascade_node *node, PGconn **conn)
{
    void *handle = NULL;
    cascade_err err = check_native(node, "cascade_node_postgres()", conn);

    if (err == CASCADE_OK)
        err = give_handle(node, "cascade_node_postgres()",
                          CASCADE_NATIVE_POSTGRES, &handle);
    if (err == CASCADE_OK)
        *conn = handle;
    return err;
}

cascade_err
cascade_node_store(cascade_node *node, cascade_store **store)
{
    cascade_err err = check_native(node, "cascade_node_store()", store);

    if (err == CASCADE_OK && node->guest == NULL)
        err = csc_store_open_native(node->engine->store,
                                    &node->native->transaction, &node->guest);
    if (err != CASCADE_OK)
        return err;
    *store = node->guest;
    return csc_ok();
}
