/* SPDX-License-Identifier: MIT
 *
 * The housekeeper: see housekeeper.c.
 */
#ifndef CSC_ENGINE_HOUSEKEEPER_H
#define CSC_ENGINE_HOUSEKEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* The housekeeper's own. */
typedef struct csc_house {
    /* The housekeeper's own. */
    int64_t poll_at_ns; /* when to look for work of others */
    int64_t attach_backoff_ms;
    bool announced;     /* the others were woken since it attached */
    unsigned polls;     /* counts them */
    bool suspects_soon; /* at the next poll */
} csc_house;

/* One round of housekeeping; tells how long the next may wait. */
void csc_housekeeper_round(cascade_engine *engine, int64_t *wait_ms);
/* How long nothing is to be done, unless somebody says so. */
int64_t csc_housekeeper_wait_ms_locked(const cascade_engine *engine);

/* Whether it has something large in hand, and does not wait for others: then it
 * only looks whether they have told something. Not locked. */
bool csc_housekeeper_is_busy(cascade_engine *engine);
/* Attaches as a new incarnation. */
cascade_err csc_housekeeper_attach(cascade_engine *engine);

#endif
