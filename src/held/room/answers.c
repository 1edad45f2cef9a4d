/* SPDX-License-Identifier: MIT
 *
 * An engine is asked with its own lock held, behind that of the handle, which
 * keeps it from closing. What engines have set aside they keep among what they
 * are to load, which is short, or is worked off; so it is walked.
 */
#include "held/room/answers.h"

#include "base/clock.h"
#include "base/data/map.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "held/run/run.h"

static csc_aside
find_locked(const cascade_engine *engine, const cascade_uuid *id)
{
    const csc_reload *reload = engine->reloads.first;
    int64_t left_ns = 0;

    while (reload != NULL && (reload->slow == 0 ||
                              !csc_uuid_equal(&reload->claimed.cascade_id, id)))
        reload = reload->next;
    if (reload == NULL)
        return (csc_aside){.tries = 0};
    left_ns = reload->at_ns - csc_clock_now_ns(engine);
    return (csc_aside){.tries = reload->slow,
                       .left_ms = left_ns > 0 ? left_ns / CSC_MS_NS : 0};
}

static csc_aside
find_aside(cascade_store *store, const cascade_uuid *id)
{
    csc_aside aside = {.tries = 0};

    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->engine_count && aside.tries == 0; i++) {
        cascade_engine *engine = store->engines[i];

        pthread_mutex_lock(&engine->mutex);
        aside = find_locked(engine, id);
        pthread_mutex_unlock(&engine->mutex);
    }
    pthread_mutex_unlock(&store->mutex);
    return aside;
}

/* Without a lease another engine may have it by now; and what has ended is held
 * too while it is retried, or answers a message. */
static bool
holds_locked(const cascade_engine *engine, const cascade_uuid *id)
{
    const csc_run *run = csc_map_get(&engine->runs, id);

    return run != NULL && run->life > CSC_RUN_LOADING &&
           run->state.recorded == CASCADE_RUNNING &&
           engine->incarnation.attached &&
           csc_clock_now_ns(engine) < engine->lease.until_ns;
}

static bool
is_held(cascade_store *store, const cascade_uuid *id)
{
    bool held = false;

    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < store->engine_count && !held; i++) {
        cascade_engine *engine = store->engines[i];

        pthread_mutex_lock(&engine->mutex);
        held = holds_locked(engine, id);
        pthread_mutex_unlock(&engine->mutex);
    }
    pthread_mutex_unlock(&store->mutex);
    return held;
}

const csc_store_answers csc_answers = {
    .find_aside = find_aside,
    .is_held = is_held,
};
