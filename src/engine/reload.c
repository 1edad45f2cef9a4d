/* SPDX-License-Identifier: MIT */
#include "engine/reload.h"

#include "base/check.h"

void
csc_reload_spare(cascade_engine *engine, csc_reload *reload)
{
    reload->next = engine->spares;
    engine->spares = reload;
    engine->spare_count++;
}

cascade_err
csc_reload_reserve(cascade_engine *engine, size_t more)
{
    size_t owned = engine->runs.count + engine->births + engine->claiming +
                   engine->in_hand;

    while (engine->spare_count < owned + more) {
        csc_reload *spare = csc_mem_alloc(sizeof(*spare));

        if (spare == NULL)
            return csc_fail_memory();
        csc_reload_spare(engine, spare);
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
    copy->next = engine->reloads;
    if (engine->reloads == NULL || copy->at_ns < engine->reload_at_ns)
        engine->reload_at_ns = copy->at_ns;
    engine->reloads = copy;
    csc_engine_wake_house(engine);
}

void
csc_reload_forget(cascade_engine *engine)
{
    while (engine->reloads != NULL) {
        csc_reload *next = engine->reloads->next;

        csc_reload_spare(engine, engine->reloads);
        engine->reloads = next;
    }
}
