/* SPDX-License-Identifier: MIT
 *
 * When to look at a cascade again: a heap of times.
 */
#include "held/run/timer.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "held/run/run.h"
#include "held/wakeup.h"

static void
place_timer(cascade_engine *engine, size_t at, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(at < engine->timers.count);
    engine->timers.heap[at] = run;
    run->timer_at = at + 1;
}

static void
sift_timer(cascade_engine *engine, size_t at, csc_run *run)
{
    while (at > 0 &&
           engine->timers.heap[(at - 1) / 2]->timer_ms > run->timer_ms) {
        place_timer(engine, at, engine->timers.heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < engine->timers.count &&
            engine->timers.heap[child + 1]->timer_ms <
                engine->timers.heap[child]->timer_ms)
            child++;
        if (child >= engine->timers.count ||
            engine->timers.heap[child]->timer_ms >= run->timer_ms)
            break;
        place_timer(engine, at, engine->timers.heap[child]);
        at = child;
    }
    csc_assert(at == 0 ||
               engine->timers.heap[(at - 1) / 2]->timer_ms <= run->timer_ms);
    place_timer(engine, at, run);
}

void
csc_timer_remove(cascade_engine *engine, csc_run *run)
{
    size_t at = run->timer_at;
    csc_run *last = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (at == 0)
        return;
    csc_assert(at <= engine->timers.count &&
               engine->timers.heap[at - 1] == run);
    run->timer_at = 0;
    engine->timers.count--;
    last = engine->timers.heap[engine->timers.count];
    if (last != run)
        sift_timer(engine, at - 1, last);
}

cascade_err
csc_timer_set(cascade_engine *engine, csc_run *run, int64_t at_ms)
{
    void *timers = engine->timers.heap;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run->timer_at != 0 && run->timer_ms == at_ms)
        return CASCADE_OK;
    csc_timer_remove(engine, run);
    if (csc_mem_grow(&timers, &engine->timers.room, engine->timers.count + 1,
                     sizeof(csc_run *)) != 0)
        return csc_fail_memory();
    csc_assert(csc_run_is_held(run) && run->timer_at == 0);
    engine->timers.heap = timers;
    run->timer_ms = at_ms;
    engine->timers.count++;
    sift_timer(engine, engine->timers.count - 1, run);
    if (run->timer_at == 1)
        csc_wakeup_house_locked(engine);
    return CASCADE_OK;
}

int64_t
csc_timer_next_ms(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->timers.count > 0 ? engine->timers.heap[0]->timer_ms
                                    : CASCADE_TIME_NONE;
}
