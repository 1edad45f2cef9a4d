/* SPDX-License-Identifier: MIT
 *
 * Looking for what engines have set aside. They keep it among what they are to
 * load, which is short, or is worked off; so it is walked.
 */
#include "held/room/aside.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "store/store.h"

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

csc_aside
csc_aside_find(cascade_store *store, const cascade_uuid *id)
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
