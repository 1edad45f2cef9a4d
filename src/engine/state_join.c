/* SPDX-License-Identifier: MIT
 *
 * Joins: who waits for whom, what runs in the place of what failed, and what a
 * joined execution sees.
 */
#include "engine/state_internal.h"

#include "base/mem.h"

/* `waiter` may see what `exec`, which has ended, wrote and joined. What ended
 * before the waiter was spawned (at < function_id) is visible anyway. */
static cascade_err
extend_seen(csc_exec *waiter, const csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    if (exec->at < waiter->function_id)
        return CASCADE_OK;
    err = csc_state_add_id(&waiter->seen, exec->function_id);
    for (size_t i = 0; i < exec->seen.count && err == CASCADE_OK; i++)
        err = csc_state_add_id(&waiter->seen, exec->seen.items[i]);
    return err;
}

/* `waiter` comes after `exec`, which may have ended. */
static cascade_err
come_after(csc_state *state, csc_exec *waiter, csc_exec *exec)
{
    if (exec->status != CASCADE_EXECUTION_RUNNING)
        return extend_seen(waiter, exec);
    if (waiter->status != CASCADE_EXECUTION_RUNNING ||
        csc_state_has(&exec->waiters, waiter->function_id))
        return CASCADE_OK;
    csc_state_dequeue(state, waiter);
    waiter->blocked++;
    return csc_state_add_id(&exec->waiters, waiter->function_id);
}

/* And after whatever runs in the place of execution `id`. */
static cascade_err
come_after_stand_ins(csc_state *state, csc_exec *waiter, int32_t id)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0;
         state->has_stand_ins && i < state->exec_count && err == CASCADE_OK;
         i++) {
        csc_exec *exec = state->execs[i].exec;

        if (exec != NULL && exec != waiter && exec->stands_for == id)
            err = come_after(state, waiter, exec);
    }
    return err;
}

cascade_err
csc_state_insert_after(csc_state *state, csc_exec *exec, csc_json_span after)
{
    csc_json_iter iter;
    int64_t id = 0;
    cascade_err err = CASCADE_OK;

    csc_json_iter_init(&iter, after.data, after.len);
    while (err == CASCADE_OK && csc_json_next(&iter)) {
        csc_exec *other = NULL;

        if (!csc_json_span_i64(iter.value, &id) || id < 0 ||
            id >= exec->function_id || csc_state_has(&exec->after, (int32_t)id))
            continue;
        err = csc_state_add_id(&exec->after, (int32_t)id);
        other = csc_state_find(state, (int32_t)id);
        if (err == CASCADE_OK && other != NULL)
            err = come_after(state, exec, other);
        if (err == CASCADE_OK)
            err = come_after_stand_ins(state, exec, (int32_t)id);
    }
    return err;
}

cascade_err
csc_state_release_waiters(csc_state *state, csc_exec *exec)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < exec->waiters.count && err == CASCADE_OK; i++) {
        csc_exec *waiter = csc_state_find(state, exec->waiters.items[i]);

        if (waiter == NULL || waiter->blocked == 0 ||
            waiter->status != CASCADE_EXECUTION_RUNNING)
            continue;
        if (exec->part == CSC_PART_NONE || exec->parent != waiter->function_id)
            err = extend_seen(waiter, exec);
        waiter->blocked--;
        if (err == CASCADE_OK && waiter->blocked == 0)
            err = csc_state_enqueue(state, waiter);
    }
    exec->waiters.count = 0;
    return err;
}

/* Whether `waiter` comes after the one that `exec` stands for, or after one
 * that does: those are in ascending `joined`. */
static bool
joins(const csc_exec *waiter, const csc_exec *exec, const csc_ids *joined)
{
    if (csc_state_has(&waiter->after, exec->stands_for))
        return true;
    for (size_t i = 0; i < joined->count; i++)
        if (csc_state_has(&waiter->after, joined->items[i]))
            return true;
    return false;
}

cascade_err
csc_state_stand_in(csc_state *state, csc_exec *exec)
{
    cascade_err err = CASCADE_OK;
    csc_ids joined = {0};

    if (exec->stands_for == CSC_NO_PARENT)
        return CASCADE_OK;
    state->has_stand_ins = true;
    for (size_t i = 0; i < state->exec_count && err == CASCADE_OK; i++) {
        csc_exec *waiter = state->execs[i].exec;

        if (waiter == NULL || waiter == exec || !joins(waiter, exec, &joined))
            continue;
        if (exec->status != CASCADE_EXECUTION_RUNNING ||
            csc_state_has(&waiter->after, exec->stands_for))
            err = come_after(state, waiter, exec);
        if (err == CASCADE_OK && waiter->status != CASCADE_EXECUTION_RUNNING)
            err = csc_state_add_id(&joined, waiter->function_id);
    }
    csc_mem_free(joined.items);
    return err;
}
