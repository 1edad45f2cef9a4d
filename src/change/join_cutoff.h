/* SPDX-License-Identifier: MIT
 *
 * For which joins an end comes too late. See JOINS in state.h: the answer is
 * recorded with the end. Pure, a helper of the builder: it reads the state as
 * it is before the commit, and counts what the posts of the same change end
 * before this one. So `first` n is n also where more end in one commit; those
 * in front are the ones whose posts came first. A join that such a post ends
 * before it is decided (time_limit_call.c) has ended for those behind it.
 */
#ifndef CSC_CHANGE_JOIN_CUTOFF_H
#define CSC_CHANGE_JOIN_CUTOFF_H

#include "base/data/arena.h"
#include "base/data/tree.h"
#include "cascade/cascade.h"
#include "state/state.h"

/* What ends of one join in this change: slots, or the join itself. */
typedef struct csc_late_tally {
    csc_tree_node by_join;
    int32_t join;
    uint32_t good;
    uint32_t bad;
    bool ended;
} csc_late_tally;

typedef struct csc_late {
    const csc_state *state;
    csc_arena *arena;
    csc_tree tallies; /* of the joins that were looked at */
} csc_late;

typedef struct csc_late_end {
    cascade_execution_status status;
    bool skipped;
    bool replaced; /* it failed, and another runs instead */
} csc_late_end;

/* The ids of the joins, ascending, in the arena; out of memory the arena has
 * failed. Call it once for each end, in the order of the posts. */
const int32_t *csc_join_cutoff_find(csc_late *late, const csc_exec *exec,
                                    const csc_late_end *end, size_t *count);

#endif
