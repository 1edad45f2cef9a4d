/* SPDX-License-Identifier: MIT
 *
 * See join_cutoff.h.
 */
#include "change/join_cutoff.h"

#include "base/data/arena.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "state/state.h"

/* Whether a verdict on it may come before all of its slots have ended. */
static bool
may_be_early(const csc_join *join)
{
    return join->first > 0 || join->on_failure != CASCADE_JOIN_WAIT;
}

static const csc_late_tally *
item_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_late_tally, by_join);
}

static int
side_of_join(const void *key, const csc_tree_node *node)
{
    int32_t join = *(const int32_t *)key;

    return (join > item_of(node)->join) - (join < item_of(node)->join);
}

static int
order_joins(const csc_tree_node *a, const csc_tree_node *b)
{
    return side_of_join(&item_of(a)->join, b);
}

/* NULL when the arena has failed. */
static csc_late_tally *
tally_of(csc_late *late, int32_t join)
{
    csc_tree_node *node = csc_tree_from(&late->tallies, &join, side_of_join);
    csc_late_tally *tally = NULL;

    if (node != NULL && item_of(node)->join == join)
        return CSC_TREE_ITEM(node, csc_late_tally, by_join);
    tally = csc_arena_alloc(late->arena, 1, sizeof(*tally));
    if (tally == NULL)
        return NULL;
    tally->join = join;
    csc_tree_put(&late->tallies, &tally->by_join, order_joins, NULL);
    return tally;
}

/* Whether the join is decided before this end; otherwise the end is counted. */
static bool
is_decided(csc_late *late, const csc_exec *waiter, const csc_late_end *end)
{
    const csc_join *join = waiter->join;
    csc_late_tally *tally = NULL;

    csc_assert(end->status != CASCADE_EXECUTION_RUNNING);
    if (waiter->status != CASCADE_EXECUTION_RUNNING)
        return true;
    if (join == NULL ||
        (!may_be_early(join) && csc_tree_count(&late->tallies) == 0))
        return false;
    tally = tally_of(late, waiter->function_id);
    if (tally == NULL)
        return false;
    if (tally->ended)
        return true;
    if (csc_join_judge(join, waiter->after.count, join->good + tally->good,
                       join->bad + tally->bad) != CSC_VERDICT_PENDING)
        return true;
    if (end->replaced)
        return false;
    if (csc_join_is_bad(join, end->status, end->skipped))
        tally->bad++;
    else
        tally->good++;
    return false;
}

/* `exec` ends before it is decided. */
static void
note_ended(csc_late *late, const csc_exec *exec)
{
    csc_late_tally *tally = NULL;

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    if (csc_join_verdict(exec) == CSC_VERDICT_PENDING)
        tally = tally_of(late, exec->function_id);
    if (tally != NULL)
        tally->ended = true;
}

const int32_t *
csc_join_cutoff_find(csc_late *late, const csc_exec *exec,
                     const csc_late_end *end, size_t *count)
{
    int32_t *ids = NULL;

    *count = 0;
    note_ended(late, exec);
    if (exec->waiters.count == 0 || exec->part != CSC_PART_NONE)
        return NULL;
    ids = csc_arena_alloc(late->arena, exec->waiters.count, sizeof(*ids));
    for (size_t i = 0; i < exec->waiters.count && ids != NULL; i++) {
        int32_t id = exec->waiters.items[i];
        const csc_exec *waiter = csc_view_find(late->state, id);

        if (waiter == NULL || is_decided(late, waiter, end))
            ids[(*count)++] = id;
    }
    csc_assert(*count <= exec->waiters.count);
    return ids;
}
