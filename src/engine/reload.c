/* SPDX-License-Identifier: MIT */
#include "engine/reload.h"

#include "base/check.h"

void
csc_reload_init(cascade_engine *engine)
{
    engine->reloads_end = &engine->reloads;
}

static void
spare(cascade_engine *engine, csc_reload *record)
{
    record->next = engine->spares;
    engine->spares = record;
    engine->spare_count++;
}

cascade_err
csc_reload_reserve(cascade_engine *engine, size_t more)
{
    size_t owned = engine->runs.count + engine->births + engine->claiming +
                   engine->in_hand;

    while (engine->spare_count < owned + more) {
        csc_reload *record = csc_mem_alloc(sizeof(*record));

        if (record == NULL)
            return csc_fail_memory();
        spare(engine, record);
    }
    return CASCADE_OK;
}

void
csc_reload_add(cascade_engine *engine, const csc_reload *reload)
{
    csc_reload *copy = engine->spares;

    csc_assert(copy != NULL);
    if (copy == NULL) { /* then all of them are claimed anew */
        csc_run_lose(engine, CASCADE_ERR_NO_MEMORY);
        return;
    }
    engine->spares = copy->next;
    engine->spare_count--;
    *copy = *reload;
    copy->next = NULL;
    if (engine->reloads == NULL || copy->at_ns < engine->reload_at_ns)
        engine->reload_at_ns = copy->at_ns;
    *engine->reloads_end = copy;
    engine->reloads_end = &copy->next;
    engine->large_waiting += copy->large;
    csc_engine_wake_house(engine);
}

csc_reload
csc_reload_take(cascade_engine *engine, csc_reload **at)
{
    csc_reload *record = *at;
    csc_reload taken = *record;

    *at = record->next;
    if (record->next == NULL)
        engine->reloads_end = at;
    engine->large_waiting -= record->large;
    spare(engine, record);
    return taken;
}

void
csc_reload_forget(cascade_engine *engine)
{
    while (engine->reloads != NULL)
        (void)csc_reload_take(engine, &engine->reloads);
}
