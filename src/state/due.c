/* SPDX-License-Identifier: MIT
 *
 * Whose time is over first, without a walk.
 *
 *   limits    executions that have a time limit of their node's: the engine
 *             says when each is to be looked at, which may be too early.
 *             One that has a post or the beginning of a transaction under way
 *             then is taken out, and is in again as soon as it is queued,
 *             blocked, or in a function
 *   overdue   those that wait from outside with a deadline, and are queued
 *
 * By time, and then by function_id. Of what has ended, or is freed, nothing is
 * there.
 */
#include "state/state.h"

#include "base/data/tree.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "state/internal.h"

static int
compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static csc_exec *
limited_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_exec, as_limited);
}

static csc_exec *
overdue_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, csc_external, as_overdue)->exec;
}

static int
order_limits(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_exec *left = limited_of(a);
    const csc_exec *right = limited_of(b);
    int order = compare(left->limit_ms, right->limit_ms);

    csc_assert(left->limit_ms != CASCADE_TIME_NONE &&
               right->limit_ms != CASCADE_TIME_NONE);
    return order != 0 ? order : compare(left->function_id, right->function_id);
}

static int
order_overdue(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_exec *left = overdue_of(a);
    const csc_exec *right = overdue_of(b);
    int order = compare(csc_due_queue_time(left), csc_due_queue_time(right));

    csc_assert(left->external != NULL && right->external != NULL);
    return order != 0 ? order : compare(left->function_id, right->function_id);
}

/* ---- Limits ------------------------------------------------------------- */

void
csc_due_pass_limit(csc_state *state, csc_exec *exec)
{
    csc_tree_take(&state->limits, &exec->as_limited, order_limits, NULL);
    csc_assert(exec->as_limited.count == 0);
}

void
csc_due_limit_again(csc_state *state, csc_exec *exec)
{
    if (exec->limit_ms != CASCADE_TIME_NONE && exec->as_limited.count == 0)
        csc_tree_put(&state->limits, &exec->as_limited, order_limits, NULL);
}

void
csc_due_limit(csc_state *state, csc_exec *exec, int64_t at_ms)
{
    csc_due_pass_limit(state, exec);
    exec->limit_ms = at_ms;
    csc_due_limit_again(state, exec);
    csc_assert((at_ms == CASCADE_TIME_NONE) == (exec->as_limited.count == 0));
}

csc_exec *
csc_due_first_limit(const csc_state *state)
{
    const csc_tree_node *node = csc_tree_at(&state->limits, 0);

    csc_assert(node == NULL ||
               limited_of(node)->status == CASCADE_EXECUTION_RUNNING);
    return node != NULL ? limited_of(node) : NULL;
}

/* ---- From outside ------------------------------------------------------- */

void
csc_due_enter_overdue(csc_state *state, csc_exec *exec)
{
    if (exec->external == NULL || csc_due_queue_time(exec) == CASCADE_TIME_NONE)
        return;
    csc_assert(exec->stage == CSC_STAGE_QUEUED);
    exec->external->exec = exec;
    csc_tree_put(&state->overdue, &exec->external->as_overdue, order_overdue,
                 NULL);
}

void
csc_due_leave_overdue(csc_state *state, csc_exec *exec)
{
    if (exec->external != NULL)
        csc_tree_take(&state->overdue, &exec->external->as_overdue,
                      order_overdue, NULL);
}

csc_exec *
csc_due_first_overdue(const csc_state *state)
{
    const csc_tree_node *node = csc_tree_at(&state->overdue, 0);

    csc_assert(node == NULL || overdue_of(node)->stage == CSC_STAGE_QUEUED);
    return node != NULL ? overdue_of(node) : NULL;
}
