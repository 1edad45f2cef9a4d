/* SPDX-License-Identifier: MIT
 *
 * The order of a context's values: (function_id, created_at, id), which is that
 * of Cascaide. Stores give events by (function_id, id), and other programs'
 * clocks may step back between two writes of one execution; so whoever keeps
 * events sorts them by this.
 */
#ifndef CSC_STATE_MOMENT_H
#define CSC_STATE_MOMENT_H

#include <stdint.h>

#include "cascade/cascade.h"

/* The place of an event. */
typedef struct csc_moment {
    int64_t created_at_us;
    int32_t function_id;
    uint32_t number; /* in the order of coming, which is that of ids. Memory
                        ends before the numbers do */
} csc_moment;

/* Below 0, 0, above 0: as for qsort(). */
int csc_moment_order(const csc_moment *a, const csc_moment *b);

#endif
