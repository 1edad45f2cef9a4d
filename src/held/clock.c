/* SPDX-License-Identifier: MIT
 *
 * The times an engine knows: its own monotonic clock, and what the store's
 * clock shows, which is learned with each answer and never guessed ahead.
 */
#include "held/clock.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "held/log_queue.h"
#include "store/move.h"
#include "store/store.h"

#define RETRY_MS 100

int64_t
csc_clock_now_ns(const cascade_engine *engine)
{
    return engine->store->clock.monotonic_ns(engine->store->clock.context);
}

int64_t
csc_clock_now_ms(const cascade_engine *engine)
{
    return (csc_clock_now_ns(engine) + engine->clock.min_ns) / CSC_MS_NS;
}

int64_t
csc_clock_now_max_ms(const cascade_engine *engine)
{
    return (csc_clock_now_ns(engine) + engine->clock.max_ns) / CSC_MS_NS;
}

int64_t
csc_clock_after_ms(const cascade_engine *engine, int64_t ms)
{
    csc_assert(ms >= 0);
    return csc_clock_now_ns(engine) + ms * CSC_MS_NS;
}

bool
csc_clock_has_lease_locked(const cascade_engine *engine)
{
    return engine->incarnation.attached &&
           csc_clock_now_ns(engine) < engine->lease.until_ns;
}

void
csc_clock_hold(cascade_engine *engine)
{
    csc_lock_take(&engine->mutex);
    engine->clock.hold_until_ns = csc_clock_after_ms(engine, RETRY_MS);
    csc_lock_give(&engine->mutex);
}

void
csc_clock_note_now_locked(cascade_engine *engine, int64_t asked_ns,
                          int64_t now_ms)
{
    int64_t now_ns = now_ms * CSC_MS_NS;

    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->clock.min_ns = now_ns - csc_clock_now_ns(engine);
    engine->clock.max_ns = now_ns + CSC_MS_NS - 1 - asked_ns;
    engine->clock.confirmed_ms = now_ms;
    csc_assert(engine->clock.min_ns <= engine->clock.max_ns);
}

cascade_err
csc_clock_sync(cascade_engine *engine)
{
    int64_t asked_ns = csc_clock_now_ns(engine);
    int64_t now_ms = 0;
    cascade_err err = csc_move_now(engine->store, &now_ms);

    if (err != CASCADE_OK) {
        csc_log_queue_add_failure(engine, "reading the store's clock");
        return err;
    }
    csc_lock_take(&engine->mutex);
    csc_clock_note_now_locked(engine, asked_ns, now_ms);
    csc_lock_give(&engine->mutex);
    return CASCADE_OK;
}
