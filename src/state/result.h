/* SPDX-License-Identifier: MIT
 *
 * Whose output is the result of a cascade: of those that were set as that by
 * their nodes (cascade_node_result()) the one with the highest function_id;
 * where there is none, of all.
 */
#ifndef CSC_STATE_RESULT_H
#define CSC_STATE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

/* The one so far; all zero: none. */
typedef struct csc_result_rank {
    bool any;
    bool set;
    int32_t function_id;
} csc_result_rank;

/* Whether the output of an execution takes its place: then `rank` is its. */
bool csc_result_take(csc_result_rank *rank, bool set, int32_t function_id);

#endif
