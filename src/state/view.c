/* SPDX-License-Identifier: MIT
 *
 * Readers of the state: finding executions and their parts, what an execution
 * sees of the context, and how the cascade is.
 */
#include "state/state.h"

#include "base/error.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/search.h"
#include "base/data/tree.h"
#include "cascade/cascade.h"
#include "state/internal.h"

size_t
csc_view_place(const csc_state *state, int64_t function_id)
{
    return csc_search_i32(state->execs, state->exec_count,
                          sizeof(state->execs[0]),
                          offsetof(csc_slot, function_id), function_id);
}

bool
csc_view_has_only_children(const csc_state *state)
{
    csc_assert(state->children <= state->running);
    return state->children > 0 && state->running == state->children;
}

csc_slot *
csc_view_slot(const csc_state *state, int32_t function_id)
{
    size_t at = csc_view_place(state, function_id);

    return at < state->exec_count && state->execs[at].function_id == function_id
               ? &state->execs[at]
               : NULL;
}

csc_exec *
csc_view_find(const csc_state *state, int32_t function_id)
{
    const csc_slot *slot = csc_view_slot(state, function_id);

    return slot != NULL ? slot->exec : NULL;
}

bool
csc_view_is_wait(const csc_exec *exec)
{
    return exec->part == CSC_PART_SLEEP || exec->part == CSC_PART_AWAIT ||
           exec->part == CSC_PART_GATHER;
}

const csc_exec *
csc_view_part(const csc_state *state, const csc_exec *parent,
              const csc_part *part)
{
    const csc_exec *exec = NULL;

    if (parent->parts.count == 0)
        return NULL; /* it may be one that is late: see HELD */
    exec = csc_index_next_part(state, parent, part, NULL);
    return exec != NULL && exec->part == part->kind ? exec : NULL;
}

bool
csc_view_is_work(csc_part_kind kind)
{
    switch (kind) {
    case CSC_PART_STEP:
    case CSC_PART_SLEEP:
    case CSC_PART_AWAIT:
    case CSC_PART_CHILD:
        return true;
    case CSC_PART_NONE:
    case CSC_PART_GATHER:
    case CSC_PART_CANCEL:
    case CSC_PART_VERSION:
    case CSC_PART_SAGA:
    case CSC_PART_UNDO:
        break;
    }
    return false;
}

const csc_exec *
csc_view_rival(const csc_state *state, const csc_exec *parent,
               const csc_part *part, const csc_ids *passed)
{
    const csc_part any = {CSC_PART_NONE, part->name, part->occurrence};
    const csc_exec *exec = NULL;
    const csc_exec *first = NULL;

    if (!csc_view_is_work(part->kind) || passed->count >= parent->parts.count)
        return NULL;
    do {
        exec = csc_index_next_part(state, parent, &any, exec);
        if (exec != NULL && csc_view_is_work(exec->part) &&
            !csc_view_has(passed, exec->function_id) &&
            (first == NULL || exec->function_id < first->function_id))
            first = exec;
    } while (exec != NULL);
    return first;
}

/* ---- What is visible ---------------------------------------------------- */

size_t
csc_view_id_place(const csc_ids *ids, int32_t id)
{
    return csc_search_i32(ids->items, ids->count, sizeof(ids->items[0]), 0, id);
}

bool
csc_view_has(const csc_ids *ids, int32_t id)
{
    size_t at = csc_view_id_place(ids, id);

    return at < ids->count && ids->items[at] == id;
}

bool
csc_view_sees(const csc_event *event, int32_t function_id, const csc_ids *seen)
{
    if (event->when.function_id <= function_id && event->at < function_id)
        return true;
    if (seen == NULL || seen->count == 0)
        return false;
    return csc_view_has(seen, event->when.function_id) ||
           (event->parent != CSC_NO_PARENT &&
            csc_view_has(seen, event->parent));
}

/* ---- How it is ---------------------------------------------------------- */

void
csc_view_find_torn(csc_state *state)
{
    state->torn =
        state->recorded != CASCADE_RUNNING && state->highest < state->fn_id;
    if (state->torn && state->recorded == CASCADE_ERROR &&
        state->terminated == CSC_NOT_TERMINATED)
        state->terminated = state->fn_id;
}

int32_t
csc_view_unfinished(const csc_state *state)
{
    return state->torn || state->as_of > 0
               ? CSC_COURSE_NONE
               : csc_supersede_unfinished(&state->course, state->fn_id);
}

bool
csc_view_is_paused(const csc_state *state)
{
    csc_assert(state->paused == CSC_NO_PARENT || state->paused <= state->fn_id);
    return state->paused != CSC_NO_PARENT && state->cancel == CSC_NO_PARENT &&
           csc_view_status(state) == CASCADE_RUNNING;
}

cascade_status
csc_view_status(const csc_state *state)
{
    if (state->terminated != CSC_NOT_TERMINATED)
        return CASCADE_ERROR;
    return state->running > 0 ? CASCADE_RUNNING : CASCADE_COMPLETED;
}

#ifdef CASCADE_ASSERTS
/* An await is no child; what is queued, or waits from outside, is RUNNING. */
static bool
is_counted(const csc_state *state)
{
    return state->awaiting + state->children <= state->running &&
           state->externals <= state->running &&
           state->queue_count <= state->running;
}

bool
csc_view_is_sound(const csc_state *state)
{
    if (state->exec_count > state->exec_room ||
        state->exec_freed > state->exec_count || !is_counted(state))
        return false;
    if (state->settled > state->ended.count ||
        (state->held == 0 && state->kept != NULL))
        return false;
    if (state->cancel == CSC_NO_PARENT && state->cancel_from != CSC_NO_PARENT)
        return false;
    return csc_tree_count(&state->signals) ==
               csc_tree_count(&state->signals_by_name) &&
           csc_tree_count(&state->overdue) <= state->externals;
}
#endif
