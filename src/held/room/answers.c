/* SPDX-License-Identifier: MIT
 *
 * An engine is asked with its own lock held, behind that of the handle, which
 * keeps it from closing. What engines have set aside they keep among what they
 * are to load, which is short, or is worked off; so it is walked.
 */
#include "held/room/answers.h"

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "held/run/run.h"

bool
csc_answers_ask(cascade_store *store, csc_question *answer_locked,
                const cascade_uuid *id, void *context)
{
    bool answered = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    for (size_t i = 0; i < store->engine_count && !answered; i++) {
        cascade_engine *engine = store->engines[i];

        csc_lock_take(&engine->mutex);
        answered = answer_locked(engine, id, context);
        csc_lock_give(&engine->mutex);
    }
    csc_lock_give(&store->mutex);
    return answered;
}

static bool
has_aside_locked(cascade_engine *engine, const cascade_uuid *id, void *context)
{
    csc_aside *aside = context;
    const csc_reload *reload = engine->reloads.first;
    int64_t left_ns = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    while (reload != NULL && (reload->slow == 0 ||
                              !csc_uuid_equal(&reload->claimed.cascade_id, id)))
        reload = reload->next;
    if (reload == NULL)
        return false;
    left_ns = reload->at_ns - csc_clock_now_ns(engine);
    *aside = (csc_aside){.tries = reload->slow,
                         .left_ms = left_ns > 0 ? left_ns / CSC_MS_NS : 0};
    return true;
}

static csc_aside
find_aside(cascade_store *store, const cascade_uuid *id)
{
    csc_aside aside = {.tries = 0};

    (void)csc_answers_ask(store, has_aside_locked, id, &aside);
    return aside;
}

/* Without a lease another engine may have it by now; and what has ended is held
 * too while it is retried, or answers a message. */
static bool
holds_locked(cascade_engine *engine, const cascade_uuid *id, void *context)
{
    const csc_run *run = csc_map_get(&engine->runs, id);

    csc_assert(csc_lock_is_held(&engine->mutex));
    (void)context;
    return run != NULL && csc_run_is_held(run) &&
           run->state.recorded == CASCADE_RUNNING &&
           csc_clock_has_lease_locked(engine);
}

static bool
is_held(cascade_store *store, const cascade_uuid *id)
{
    return csc_answers_ask(store, holds_locked, id, NULL);
}

static bool
serves_locked(cascade_engine *engine, const cascade_uuid *id, void *context)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    (void)id;
    (void)context;
    return engine->life == CSC_LIFE_RUNNING && !engine->incarnation.brief &&
           csc_clock_has_lease_locked(engine);
}

static bool
is_served(cascade_store *store)
{
    return csc_answers_ask(store, serves_locked, NULL, NULL);
}

const csc_store_answers csc_answers = {
    .find_aside = find_aside,
    .is_held = is_held,
    .is_served = is_served,
};
