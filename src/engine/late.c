/* SPDX-License-Identifier: MIT
 *
 * See late.h.
 */
#include "engine/late.h"

/* Whether a verdict on it may come before all of its slots have ended. */
static bool
may_be_early(const csc_join *join)
{
    return join->first > 0 || join->on_failure != CASCADE_JOIN_WAIT;
}

static csc_late_tally *
tally_of(csc_late *late, int32_t join)
{
    const csc_state *state = late->state;
    size_t from = 0;
    size_t to = state->exec_count;

    if (late->tallies == NULL)
        late->tallies =
            csc_arena_alloc(late->arena, to, sizeof(*late->tallies));
    while (late->tallies != NULL && from + 1 < to) {
        size_t middle = from + (to - from) / 2;

        if (state->execs[middle].function_id <= join)
            from = middle;
        else
            to = middle;
    }
    return late->tallies != NULL ? &late->tallies[from] : NULL;
}

/* Whether the join is decided before this end; otherwise the end is counted. */
static bool
is_decided(csc_late *late, const csc_exec *waiter, const csc_late_end *end)
{
    const csc_join *join = waiter->join;
    csc_late_tally *tally = NULL;

    if (waiter->status != CASCADE_EXECUTION_RUNNING)
        return true;
    if (join == NULL || (!may_be_early(join) && late->tallies == NULL))
        return false;
    tally = tally_of(late, waiter->function_id);
    if (tally == NULL)
        return false;
    if (tally->ended)
        return true;
    if (csc_state_judge(join, waiter->after.count, join->good + tally->good,
                        join->bad + tally->bad) != CSC_VERDICT_PENDING)
        return true;
    if (end->replaced)
        return false;
    if (csc_state_is_bad(join, end->status, end->skipped))
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

    if (csc_state_verdict(exec) == CSC_VERDICT_PENDING)
        tally = tally_of(late, exec->function_id);
    if (tally != NULL)
        tally->ended = true;
}

const int32_t *
csc_late_find(csc_late *late, const csc_exec *exec, const csc_late_end *end,
              size_t *count)
{
    int32_t *ids = NULL;

    *count = 0;
    note_ended(late, exec);
    if (exec->waiters.count == 0 || exec->part != CSC_PART_NONE)
        return NULL;
    ids = csc_arena_alloc(late->arena, exec->waiters.count, sizeof(*ids));
    for (size_t i = 0; i < exec->waiters.count && ids != NULL; i++) {
        int32_t id = exec->waiters.items[i];
        const csc_exec *waiter = csc_state_find(late->state, id);

        if (waiter == NULL || is_decided(late, waiter, end))
            ids[(*count)++] = id;
    }
    return ids;
}
