/* SPDX-License-Identifier: MIT
 *
 * The table of moves of a backend, as a store handle keeps it: whole, whatever
 * of it the backend was built with.
 */
#ifndef CSC_STORE_DRIVER_H
#define CSC_STORE_DRIVER_H

#include "cascade/cascade.h"
#include "cascade/store.h"

/* The sub-tables of `driver` are the members behind it, or NULL. */
typedef struct csc_driver {
    cascade_store_driver driver;
    cascade_store_chain chain;
    cascade_store_manage manage;
    cascade_store_integrity integrity;
    cascade_store_node_txn node_txn;
    cascade_store_limits limits;
} csc_driver;

/* CASCADE_ERR_INVALID, with a text that names it: no driver, another abi, a
 * move that is missing, a number that cannot be. */
cascade_err csc_driver_check(const cascade_store_driver *given);

/* Copies one that was checked. What is behind the end of a table of `given` is
 * missing in the copy; what this library does not know of it is left out. */
void csc_driver_init(csc_driver *copy, const cascade_store_driver *given);

/* What a transactional node is given (CASCADE_NATIVE_*), or NULL: it has none.
 */
const char *csc_driver_native(const cascade_store_driver *driver);
/* How many of them at once in one handle; 0: it has none. */
uint32_t csc_driver_native_max(const cascade_store_driver *driver);

#endif
