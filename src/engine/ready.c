/* SPDX-License-Identifier: MIT
 *
 * What may run: a list for each priority, first come, first served. Those that
 * wait for a transaction (native.c) are in lists of their own meanwhile.
 *
 * A suspect goes in front of everything: nothing else is claimed until it has
 * shown what it does.
 */
#include "engine/engine.h"

static void
put(csc_ready *list, csc_exec *exec, bool first)
{
    csc_exec *before = first ? NULL : list->last;
    csc_exec *next = first ? list->first : NULL;

    exec->ready_list = list;
    exec->ready_before = before;
    exec->ready_next = next;
    if (before != NULL)
        before->ready_next = exec;
    else
        list->first = exec;
    if (next != NULL)
        next->ready_before = exec;
    else
        list->last = exec;
}

static void
take_out(csc_exec *exec)
{
    csc_ready *list = exec->ready_list;

    if (exec->ready_before != NULL)
        exec->ready_before->ready_next = exec->ready_next;
    else
        list->first = exec->ready_next;
    if (exec->ready_next != NULL)
        exec->ready_next->ready_before = exec->ready_before;
    else
        list->last = exec->ready_before;
    exec->ready_list = NULL;
}

int32_t
csc_ready_priority(const csc_exec *exec)
{
    return exec->priority != 0 ? exec->priority : exec->run->state.priority;
}

void
csc_ready_add(cascade_engine *engine, csc_exec *exec, bool first)
{
    if (engine->suspect == exec->run)
        put(&engine->ready[CSC_PRIORITIES - 1], exec, true);
    else
        put(&engine->ready[csc_ready_priority(exec)], exec, first);
    engine->ready_count++;
    if (engine->work_waiting > 0)
        pthread_cond_signal(&engine->work_cond);
    csc_engine_wake_host(engine);
}

void
csc_ready_set_aside(cascade_engine *engine, csc_ready *list, csc_exec *exec,
                    bool first)
{
    put(list, exec, first);
    exec->set_aside = true;
    engine->aside_count++;
}

void
csc_ready_take_out(cascade_engine *engine, csc_exec *exec)
{
    take_out(exec);
    if (!exec->set_aside) {
        engine->ready_count--;
        engine->resumed_count -= exec->resumed;
        exec->resumed = false;
        return;
    }
    exec->set_aside = false;
    engine->aside_count--;
    if (exec->run->aside == exec)
        exec->run->aside = NULL;
}

csc_exec *
csc_ready_pop(cascade_engine *engine)
{
    for (int p = CSC_PRIORITIES - 1; p >= 0; p--) {
        csc_exec *exec = engine->ready[p].first;

        if (exec == NULL)
            continue;
        csc_ready_take_out(engine, exec);
        return exec;
    }
    return NULL;
}
