/* SPDX-License-Identifier: MIT
 *
 * The links between the runs of a chain: see chain.c.
 */
#ifndef CSC_STORE_CHAIN_H
#define CSC_STORE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* The place of a receipt among those of all runs of a root (S44); function_id
 * CSC_STORE_LINK_ID: that of the run's own id. Positive. */
int64_t csc_store_link_number(int32_t run_number, int32_t function_id);

/* The number of the row that has the root's id, and stands for run 1; and what
 * a path of a message has behind the root's id. The SQL of the stores says both
 * once more. */
#define CSC_STORE_LINK_CHAIN (-1)
#define CSC_STORE_LINK_MESSAGE "/message/"

/* The place of a receipt of the run whose id, or root's row, has `number`. */
int64_t csc_store_link_beside(int64_t number, int32_t function_id);

/* What a sweep looks at, for stores whose cursor is the last root that was
 * looked at: roots above `after`, up to `to`. */
void csc_store_sweep_range(const cascade_uuid *root, const cascade_uuid *cursor,
                           cascade_uuid *after, cascade_uuid *to);

#endif
