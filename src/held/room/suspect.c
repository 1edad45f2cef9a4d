/* SPDX-License-Identifier: MIT */
#include "held/room/suspect.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "held/run/run.h"
#include "store/store.h"

int32_t
csc_suspect_from(const cascade_engine *engine)
{
    int limit = engine->options.poison_limit;

    if (limit < 0)
        return INT32_MAX;
    return limit < CSC_SUSPECT_FROM ? limit : CSC_SUSPECT_FROM;
}

bool
csc_suspect_is_one(const cascade_engine *engine, const cascade_claimed *claimed)
{
    return claimed->takeovers >= csc_suspect_from(engine);
}

bool
csc_suspect_is_awaited(const cascade_engine *engine)
{
    const csc_reload *reload = engine->reloads.first;

    csc_assert(csc_lock_is_held(&engine->mutex));
    while (reload != NULL && !csc_suspect_is_one(engine, &reload->claimed))
        reload = reload->next;
    return reload != NULL;
}

bool
csc_suspect_is_alone(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->reloads.suspect != NULL ||
           engine->reloads.suspects_out > 0 ||
           engine->reloads.stream_suspects > 0;
}

bool
csc_suspect_is_poisoned(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->options.poison_limit > 0 &&
           run->trials > engine->options.poison_limit;
}

bool
csc_suspect_is_deadly(const cascade_engine *engine, int32_t trials)
{
    return engine->options.poison_limit > 0 &&
           trials > engine->options.poison_limit + 1;
}
