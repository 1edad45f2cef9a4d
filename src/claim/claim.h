/* SPDX-License-Identifier: MIT
 *
 * Claiming runs: see claim.c.
 */
#ifndef CSC_CLAIM_CLAIM_H
#define CSC_CLAIM_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_CLAIM_MAX 256 /* runs claimed and loaded in one go */

/* Claims what is due, within the capacity, and loads it; when there is nothing,
 * and `suspects`, a suspect. */
void csc_claim_round(cascade_engine *engine, bool suspects);
/* Whether runs of queues with limits may be had, and begun. */
bool csc_claim_has_turns_locked(const cascade_engine *engine);
/* Gives slots back that no worker has come to, from time to time; and when that
 * is: INT64_MAX, there are none. */
void csc_claim_yield_locked(cascade_engine *engine);
int64_t csc_claim_yield_at_locked(const cascade_engine *engine);
/* Asks the store which queues are paused, where there is no room for a claim:
 * by one that claims nothing. */
void csc_claim_ask(cascade_engine *engine);

#endif
