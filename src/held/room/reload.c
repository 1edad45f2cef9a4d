/* SPDX-License-Identifier: MIT */
#include "held/room/reload.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/room.h"
#include "held/run/drop.h"
#include "held/wakeup.h"

void
csc_reload_init(cascade_engine *engine)
{
    csc_assert(engine->reloads.first == NULL);
    engine->reloads.end = &engine->reloads.first;
}

static void
spare(cascade_engine *engine, csc_reload *record)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    record->next = engine->reloads.spares;
    engine->reloads.spares = record;
    engine->reloads.spare_count++;
}

cascade_err
csc_reload_reserve(cascade_engine *engine, size_t more)
{
    size_t owned = engine->runs.count + engine->room.births +
                   engine->room.claiming + engine->reloads.in_hand;

    csc_assert(csc_lock_is_held(&engine->mutex));
    while (engine->reloads.spare_count < owned + more) {
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
    csc_reload *copy = engine->reloads.spares;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(copy != NULL);
    if (copy == NULL) { /* then all of them are claimed anew */
        csc_drop_lose(engine, CASCADE_ERR_NO_MEMORY);
        return;
    }
    csc_assert(engine->reloads.spare_count > 0 && *engine->reloads.end == NULL);
    engine->reloads.spares = copy->next;
    engine->reloads.spare_count--;
    *copy = *reload;
    copy->next = NULL;
    if (engine->reloads.first == NULL || copy->at_ns < engine->reloads.at_ns)
        engine->reloads.at_ns = copy->at_ns;
    *engine->reloads.end = copy;
    engine->reloads.end = &copy->next;
    engine->room.large_waiting += copy->large;
    engine->reloads.due +=
        !copy->large && copy->at_ns <= csc_clock_now_ns(engine);
    csc_wakeup_house_locked(engine);
}

csc_reload
csc_reload_take(cascade_engine *engine, csc_reload **at)
{
    csc_reload *record = *at;
    csc_reload taken = *record;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert((record->next == NULL) ==
               (engine->reloads.end == &record->next));
    *at = record->next;
    if (record->next == NULL)
        engine->reloads.end = at;
    csc_assert(engine->room.large_waiting >= (size_t)record->large);
    engine->room.large_waiting -= record->large;
    spare(engine, record);
    return taken;
}

void
csc_reload_forget(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    while (engine->reloads.first != NULL)
        (void)csc_reload_take(engine, &engine->reloads.first);
    engine->reloads.due = 0;
    csc_assert(engine->reloads.end == &engine->reloads.first &&
               engine->room.large_waiting == 0);
}
