/* SPDX-License-Identifier: MIT
 *
 * See driver.h. A table that was built with another header may be shorter or
 * longer than the one known here: `size` tells. So it is looked at by places,
 * never beyond its own end, and copied to one of the size that is known.
 *
 *     given   |abi size name ... wake close chain manage|
 *     copy    |abi size name ... wake close chain manage|NULL ...
 *
 * All moves that there are were there from CASCADE_STORE_ABI on: each must be.
 * One that is added later is not in these lists, but tested for where it is
 * called (move.c).
 */
#include "store/driver.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

typedef struct place {
    const char *name;
    size_t at;
} place;

#define MOVE(table, name)            \
    {                                \
#name, offsetof(table, name) \
    }
#define CORE(name) MOVE(cascade_store_driver, name)
#define CHAIN(name) MOVE(cascade_store_chain, name)
#define MANAGE(name) MOVE(cascade_store_manage, name)
#define INTEGRITY(name) MOVE(cascade_store_integrity, name)
#define NODE_TXN(name) MOVE(cascade_store_node_txn, name)
#define LIMITS(name) MOVE(cascade_store_limits, name)

static const place core[] = {
    CORE(open),    CORE(migrate), CORE(now),    CORE(attach), CORE(renew),
    CORE(detach),  CORE(engines), CORE(remove), CORE(claim),  CORE(load),
    CORE(receive), CORE(scan),    CORE(list),   CORE(commit), CORE(submit),
    CORE(settle),  CORE(wait),    CORE(wake),   CORE(close),
};
static const place chain[] = {
    CHAIN(key),
    CHAIN(find),
    CHAIN(link),
    CHAIN(sweep),
};
static const place manage[] = {
    MANAGE(pause),  MANAGE(queues), MANAGE(totals), MANAGE(schema),
    MANAGE(repair), MANAGE(purge),  MANAGE(erase),  MANAGE(strays),
};
static const place integrity[] = {
    INTEGRITY(seal),
    INTEGRITY(seals),
};
static const place node_txn[] = {
    NODE_TXN(native),
    NODE_TXN(begin),
    NODE_TXN(finish),
    NODE_TXN(abandon),
};
static const place limits[] = {
    LIMITS(set),
    LIMITS(list),
    LIMITS(drop),
    LIMITS(slots),
};

#define COUNT(places) (sizeof(places) / sizeof((places)[0]))

/* ---- Checking ------------------------------------------------------------ */

typedef void (*any_move)(void);

static bool
has_move(const void *table, size_t size, size_t at)
{
    any_move move = NULL;

    if (at + sizeof(move) > size)
        return false;
    memcpy(&move, (const char *)table + at, sizeof(move));
    return move != NULL;
}

static cascade_err
check_moves(const char *store, const void *table, size_t size,
            const place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!has_move(table, size, places[i].at))
            return csc_fail(CASCADE_ERR_INVALID,
                            "the store driver %s lacks `%s`; a store has all "
                            "moves of the core",
                            store, places[i].name);
    return CASCADE_OK;
}

/* `table` begins with its size. */
static cascade_err
check_sub_table(const char *store, const char *name, const void *table,
                const place *places, size_t count)
{
    size_t size = 0;

    if (table == NULL)
        return CASCADE_OK;
    memcpy(&size, table, sizeof(size));
    for (size_t i = 0; i < count; i++)
        if (!has_move(table, size, places[i].at))
            return csc_fail(CASCADE_ERR_INVALID,
                            "the store driver %s lacks `%s` of its sub-table "
                            "`%s`; give all moves of that, or NULL in its "
                            "place",
                            store, places[i].name, name);
    return CASCADE_OK;
}

static cascade_err
check_sub_tables(const cascade_store_driver *given)
{
    const struct {
        const char *name;
        const void *table;
        const place *places;
        size_t count;
    } tables[] = {
        {"chain", given->chain, chain, COUNT(chain)},
        {"manage", given->manage, manage, COUNT(manage)},
        {"integrity", given->integrity, integrity, COUNT(integrity)},
        {"node_txn", given->node_txn, node_txn, COUNT(node_txn)},
        {"limits", given->limits, limits, COUNT(limits)},
    };
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < COUNT(tables) && err == CASCADE_OK; i++)
        err = check_sub_table(given->name, tables[i].name, tables[i].table,
                              tables[i].places, tables[i].count);
    return err;
}

static cascade_err
check_numbers(const cascade_store_driver *given)
{
    if (given->lane_max < 1)
        return csc_fail(CASCADE_ERR_INVALID,
                        "the store driver %s: lane_max is 0; give 1 or more",
                        given->name);
    if (given->node_txn != NULL && given->node_txn->native_max < 1)
        return csc_fail(CASCADE_ERR_INVALID,
                        "the store driver %s: native_max of its sub-table "
                        "`node_txn` is 0; give 1 or more",
                        given->name);
    return CASCADE_OK;
}

cascade_err
csc_driver_check(const cascade_store_driver *given)
{
    cascade_err err = CASCADE_OK;

    if (given == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "the store driver is NULL");
    if (given->abi != CASCADE_STORE_ABI)
        return csc_fail(CASCADE_ERR_INVALID,
                        "the store driver has abi %u, this library %d; build "
                        "it with this library's store.h",
                        (unsigned)given->abi, CASCADE_STORE_ABI);
    if (given->size < offsetof(cascade_store_driver, limits) + sizeof(void *))
        return csc_fail(CASCADE_ERR_INVALID,
                        "the store driver has size %zu, which is less than "
                        "abi %d has; give sizeof(cascade_store_driver)",
                        given->size, CASCADE_STORE_ABI);
    if (given->name == NULL || given->name[0] == '\0')
        return csc_fail(CASCADE_ERR_INVALID, "the store driver has no name");
    err = check_moves(given->name, given, given->size, core, COUNT(core));
    if (err == CASCADE_OK)
        err = check_sub_tables(given);
    return err == CASCADE_OK ? check_numbers(given) : err;
}

/* ---- Copying ------------------------------------------------------------- */

/* The shorter of both. */
static void
copy_table(void *copy, size_t size, const void *given, size_t given_size)
{
    memcpy(copy, given, given_size < size ? given_size : size);
}

/* NULL stays NULL. */
static const void *
copy_sub_table(void *copy, size_t size, const void *given)
{
    size_t given_size = 0;

    if (given == NULL)
        return NULL;
    memcpy(&given_size, given, sizeof(given_size));
    copy_table(copy, size, given, given_size);
    return copy;
}

void
csc_driver_init(csc_driver *copy, const cascade_store_driver *given)
{
    cascade_store_driver *driver = &copy->driver;

    memset(copy, 0, sizeof(*copy));
    copy_table(driver, sizeof(*driver), given, given->size);
    driver->chain =
        copy_sub_table(&copy->chain, sizeof(copy->chain), given->chain);
    driver->manage =
        copy_sub_table(&copy->manage, sizeof(copy->manage), given->manage);
    driver->integrity = copy_sub_table(
        &copy->integrity, sizeof(copy->integrity), given->integrity);
    driver->node_txn = copy_sub_table(&copy->node_txn, sizeof(copy->node_txn),
                                      given->node_txn);
    driver->limits =
        copy_sub_table(&copy->limits, sizeof(copy->limits), given->limits);
}

/* ---- Transactions of nodes ----------------------------------------------- */

const char *
csc_driver_native(const cascade_store_driver *driver)
{
    return driver->node_txn != NULL ? driver->node_txn->native : NULL;
}

uint32_t
csc_driver_native_max(const cascade_store_driver *driver)
{
    return driver->node_txn != NULL ? driver->node_txn->native_max : 0;
}
