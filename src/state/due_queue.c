/* SPDX-License-Identifier: MIT
 *
 * What may run next: a binary heap of the executions that are RUNNING, not
 * blocked and not dispatched (nor those that no time ends: awaits without a
 * limit, external ones without a deadline), ordered by (due, function_id). Each
 * one knows its place, so that it can be taken out.
 */
#include "state/state.h"

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "state/internal.h"

int64_t
csc_due_queue_time(const csc_exec *exec)
{
    return exec->external != NULL ? exec->external->deadline_ms
                                  : exec->not_before_ms;
}

/* What ends it is no time. */
static bool
waits_for_ever(const csc_exec *exec)
{
    if (exec->part == CSC_PART_CANCEL || exec->part == CSC_PART_CHILD)
        return true;
    return (exec->part == CSC_PART_AWAIT || exec->external != NULL) &&
           csc_due_queue_time(exec) == CASCADE_TIME_NONE;
}

static bool
goes_before(const csc_exec *a, const csc_exec *b)
{
    csc_assert(a != b);
    if (csc_due_queue_time(a) != csc_due_queue_time(b))
        return csc_due_queue_time(a) < csc_due_queue_time(b);
    return a->function_id < b->function_id;
}

static void
place(csc_state *state, size_t at, csc_exec *exec)
{
    csc_assert(at < state->queue_count && exec->stage == CSC_STAGE_QUEUED);
    state->queue[at] = exec;
    exec->queued_at = at + 1;
}

static void
sift_up(csc_state *state, size_t at, csc_exec *exec)
{
    csc_assert(at < state->queue_count);
    while (at > 0 && goes_before(exec, state->queue[(at - 1) / 2])) {
        place(state, at, state->queue[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(state, at, exec);
}

static void
sift_down(csc_state *state, size_t at, csc_exec *exec)
{
    csc_assert(at < state->queue_count);
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= state->queue_count)
            break;
        if (child + 1 < state->queue_count &&
            goes_before(state->queue[child + 1], state->queue[child]))
            child++;
        if (!goes_before(state->queue[child], exec))
            break;
        place(state, at, state->queue[child]);
        at = child;
    }
    place(state, at, exec);
}

cascade_err
csc_due_queue_enqueue(csc_state *state, csc_exec *exec)
{
    void *queue = state->queue;

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    if (exec->stage != CSC_STAGE_RESTING || exec->blocked != 0)
        return CASCADE_OK;
    if (waits_for_ever(exec))
        return CASCADE_OK;
    if (csc_mem_grow(&queue, &state->queue_room, state->queue_count + 1,
                     sizeof(csc_exec *)) != 0)
        return csc_fail_memory();
    state->queue = queue;
    state->queue_count++;
    exec->stage = CSC_STAGE_QUEUED;
    sift_up(state, state->queue_count - 1, exec);
    csc_due_enter_overdue(state, exec);
    csc_assert(csc_due_queue_is_sound(state, exec));
    return CASCADE_OK;
}

void
csc_due_queue_dequeue(csc_state *state, csc_exec *exec)
{
    size_t at = exec->queued_at;
    csc_exec *last = NULL;

    if (exec->stage != CSC_STAGE_QUEUED)
        return;
    csc_assert(at > 0 && state->queue[at - 1] == exec);
    csc_due_leave_overdue(state, exec);
    at--;
    exec->queued_at = 0;
    exec->stage = CSC_STAGE_RESTING;
    state->queue_count--;
    last = state->queue[state->queue_count];
    if (last == exec)
        return;
    if (at > 0 && goes_before(last, state->queue[(at - 1) / 2]))
        sift_up(state, at, last);
    else
        sift_down(state, at, last);
}

csc_exec *
csc_due_queue_take(csc_state *state, int64_t now_ms)
{
    csc_exec *first = NULL;

    if (state->queue_count == 0 || csc_due_queue_time(state->queue[0]) > now_ms)
        return NULL;
    first = state->queue[0];
    csc_due_queue_dequeue(state, first);
    first->stage = CSC_STAGE_DISPATCHED;
    csc_assert(csc_due_queue_is_sound(state, first));
    return first;
}

void
csc_due_queue_dispatch(csc_state *state, csc_exec *exec)
{
    csc_due_queue_dequeue(state, exec);
    exec->stage = CSC_STAGE_DISPATCHED;
    csc_assert(csc_due_queue_is_sound(state, exec));
}

void
csc_due_queue_rest(csc_state *state, csc_exec *exec)
{
    csc_due_queue_dequeue(state, exec);
    exec->stage = CSC_STAGE_RESTING;
    csc_assert(csc_due_queue_is_sound(state, exec));
}

#ifdef CASCADE_ASSERTS
/* In its place, behind the one above it, and before those below. */
static bool
is_placed(const csc_state *state, const csc_exec *exec)
{
    size_t at = exec->queued_at - 1;
    size_t child = 2 * at + 1;

    if (exec->queued_at == 0 || at >= state->queue_count ||
        state->queue[at] != exec)
        return false;
    if (at > 0 && !goes_before(state->queue[(at - 1) / 2], exec))
        return false;
    for (size_t i = child; i < child + 2 && i < state->queue_count; i++)
        if (!goes_before(exec, state->queue[i]))
            return false;
    return true;
}

bool
csc_due_queue_is_sound(const csc_state *state, const csc_exec *exec)
{
    switch (exec->stage) {
    case CSC_STAGE_RESTING:
        return exec->queued_at == 0;
    case CSC_STAGE_QUEUED:
        return exec->blocked == 0 && is_placed(state, exec);
    case CSC_STAGE_DISPATCHED:
        return exec->queued_at == 0 &&
               exec->status == CASCADE_EXECUTION_RUNNING;
    }
    return false;
}
#endif

cascade_err
csc_due_queue_untake(csc_state *state, csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    if (exec->held)
        err = csc_state_replace_held(state, &exec);
    csc_due_queue_rest(state, exec);
    csc_due_limit_again(state, exec);
    return err == CASCADE_OK ? csc_due_queue_enqueue(state, exec) : err;
}

int64_t
csc_due_queue_wake_at(const csc_state *state)
{
    int64_t at_ms = state->deadline_ms;

    csc_assert(state->queue_count == 0 || state->queue[0]->queued_at == 1);
    if (state->queue_count > 0 && (at_ms == CASCADE_TIME_NONE ||
                                   csc_due_queue_time(state->queue[0]) < at_ms))
        at_ms = csc_due_queue_time(state->queue[0]);
    else if (at_ms == CASCADE_TIME_NONE)
        return at_ms;
    return at_ms > 0 ? at_ms : 0;
}
