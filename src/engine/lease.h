/* SPDX-License-Identifier: MIT
 *
 * Renewing the lease: see lease.c.
 */
#ifndef CSC_ENGINE_LEASE_H
#define CSC_ENGINE_LEASE_H

#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_LEASE_MS 10000 /* by default */
#define CSC_LEASE_MIN_MS 100

/* The incarnation has a lease, asked for at `sent_ns`. */
void csc_lease_begin_locked(cascade_engine *engine, int64_t sent_ns);
/* Renews it, when it is due and nothing hangs. Not locked. */
void csc_lease_renew(cascade_engine *engine);
/* A round of the keeper; in how many ms the next is due. Not locked. */
int64_t csc_lease_keep(cascade_engine *engine);

#endif
