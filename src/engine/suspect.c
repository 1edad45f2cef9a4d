/* SPDX-License-Identifier: MIT
 *
 * Suspects: cascades that several owners in turn have died with. One of them is
 * on trial at a time, so that it is known which execution to blame; see the
 * head of run.c.
 */
#include "engine/engine.h"

/* Where nothing is ever poisoned nobody is blamed. */
int32_t
csc_run_suspect_from(const cascade_engine *engine)
{
    int limit = engine->options.poison_limit;

    if (limit < 0)
        return INT32_MAX;
    return limit < CSC_SUSPECT_FROM ? limit : CSC_SUSPECT_FROM;
}

bool
csc_run_awaits_suspect(const cascade_engine *engine)
{
    const csc_reload *reload = engine->reloads;

    while (reload != NULL &&
           reload->claimed.takeovers < csc_run_suspect_from(engine))
        reload = reload->next;
    return reload != NULL;
}

bool
csc_run_is_deadly(const cascade_engine *engine, int32_t trials)
{
    return engine->options.poison_limit > 0 &&
           trials > engine->options.poison_limit + 1;
}
