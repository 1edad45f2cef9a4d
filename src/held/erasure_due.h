/* SPDX-License-Identifier: MIT
 *
 * When pieces of deleted cascades are due.
 */
#ifndef CSC_HELD_ERASURE_DUE_H
#define CSC_HELD_ERASURE_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* When to take a piece of what is erased. Under the engine's mutex. */
typedef struct csc_erasure_due {
    /* Of erasure.c. */
    int64_t at_ns; /* when to take the next piece, or to look for one */
    bool due;      /* there may be more than the last piece told of */
    bool paused;   /* a piece is under way, or the pause behind one */
} csc_erasure_due;

/* Something may have been marked. */
void csc_erasure_due_soon_locked(cascade_engine *engine);

#endif
