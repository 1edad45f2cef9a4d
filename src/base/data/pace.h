/* SPDX-License-Identifier: MIT
 *
 * How much one piece of long work takes at once, learned from piece to piece:
 * about as much as is done in the time that others may wait for it. What takes
 * twice as long is halved at once; else it is more or less by an eighth.
 */
#ifndef CSC_BASE_DATA_PACE_H
#define CSC_BASE_DATA_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

typedef struct csc_pace_bounds {
    size_t least;
    size_t most;
} csc_pace_bounds;

/* The size of the next piece, behind one of `size` that took `took_ns` where
 * `limit_ns` are right. `full`: that one was as large as it might be, so it
 * tells whether there is room for more. */
size_t csc_pace_next(size_t size, int64_t took_ns, int64_t limit_ns, bool full,
                     const csc_pace_bounds *bounds);

#endif
