/* SPDX-License-Identifier: MIT
 *
 * Signs of life, and the lease that depends on them.
 */
#ifndef CSC_HELD_VITAL_H
#define CSC_HELD_VITAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether a part of the engine is alive: lease.c. */
typedef struct csc_vital {
    _Atomic uint64_t signs; /* counts them */
    uint64_t seen;          /* up to the last look */
    int64_t alive_ns;       /* when it last was, as far as looks tell; 0: there
                               was none */
} csc_vital;

/* The lease of the incarnation. Under the engine's mutex. */
typedef struct csc_lease {
    int64_t renew_at_ns; /* when attached */
    int64_t until_ns;    /* as far as this side knows */
    csc_vital house;
    bool withheld; /* the lease is not renewed, as something hangs */
} csc_lease;
/* A sign of life. Locked or not. */
void csc_vital_sign(csc_vital *vital);

#endif
