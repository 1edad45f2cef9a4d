/* SPDX-License-Identifier: MIT
 *
 * The list of starts that wait for a transaction of somebody else's.
 */
#ifndef CSC_HELD_LANE_BLOCKED_H
#define CSC_HELD_LANE_BLOCKED_H

#include <stdbool.h>

#include "cascade/cascade.h"
#include "store/store.h"

typedef struct csc_start csc_start;

/* Starts that wait for a transaction which is not the library's. Each of these
 * leaves to the caller of the start that it calls
 * csc_blocked_start_submit(). */
void csc_blocked_add(cascade_store *store, csc_start *start);
/* Adds it where another that waits starts the same cascade. */
bool csc_blocked_join(cascade_store *store, csc_start *start);

/* Behind all that are in the list. Under the mutex of the list. */
void csc_blocked_append(csc_store_held *held, csc_start *start);

#endif
