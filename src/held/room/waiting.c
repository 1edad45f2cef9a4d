/* SPDX-License-Identifier: MIT
 *
 * A large cascade waits until the one that has the place leaves memory.
 */
#include "held/room/waiting.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/log_queue.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/run/advance.h"
#include "held/run/run.h"

void
csc_waiting_add(cascade_engine *engine, const csc_reload *reload)
{
    csc_reload later = *reload;
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_log_queue_add(engine, CASCADE_LOG_INFO,
                      "cascade %s takes more than half of held_bytes_max: it "
                      "waits until another one that does has left memory",
                      cascade_uuid_format(&reload->claimed.cascade_id, id));
    later.large = true;
    later.apart = CSC_APART_ALONE;
    later.at_ns = csc_clock_now_ns(engine);
    csc_reload_add(engine, &later);
    if (engine->room.large != NULL && csc_run_is_held(engine->room.large))
        csc_advance_run(engine, engine->room.large); /* it may be at rest */
}
