/* SPDX-License-Identifier: MIT
 *
 * When pieces of deleted cascades are due; they are taken by engine/erasure.c.
 */
#include "held/erasure_due.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "held/wakeup.h"

void
csc_erasure_due_soon_locked(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->erasure.due = true;
    if (engine->erasure.paused)
        return;
    engine->erasure.at_ns = 0;
    csc_wakeup_house_locked(engine);
}
