/* SPDX-License-Identifier: MIT
 *
 * Whether more work may be taken. Results that wait for their commit are
 * counted in bytes, and a lease that may be over lets nothing begin. Tested
 * before work is taken; what is under way never waits for it.
 */
#include "held/room/backlog.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/lane/txn_slot.h"
#include "held/room/mailbox.h"
#include "held/room/room.h"
#include "held/run/ready_queue.h"
#include "held/vital.h"
#include "held/wakeup.h"

/* Nothing new begins while the lease may have run out: another engine may own
 * the cascades already. The fence would refuse the results; this spares the
 * outside most of the repeated effects. */
bool
csc_backlog_may_begin(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->life == CSC_LIFE_RUNNING && engine->incarnation.attached &&
           !atomic_load_explicit(&engine->stop_requested,
                                 memory_order_relaxed) &&
           csc_clock_now_ns(engine) < engine->lease.until_ns;
}

/* Results that wait for their commit are held in memory: while they are as many
 * as may be, nothing is begun that would make more. Posts never wait for that,
 * and one whose turn it is (txn_slot.c) begins all the same: the posts of
 * its run wait for it. */
static bool
has_room(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->txn.turn != NULL ||
           atomic_load(&engine->backlog) +
                   atomic_load(&engine->backlog_behind) <
               engine->options.backlog_bytes_max;
}

bool
csc_backlog_may_take(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->ready.count > 0 && csc_backlog_may_begin(engine) &&
           has_room(engine);
}

/* Only csc_backlog_let_begin() takes it back: it may not be for this caller
 * alone. / */
bool
csc_backlog_note_wait(cascade_engine *engine)
{
    bool held_back = engine->ready.count > 0 && csc_backlog_may_begin(engine) &&
                     !has_room(engine);

    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->ready.held_back = engine->ready.held_back || held_back;
    return held_back;
}

void
csc_backlog_let_begin(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (csc_mailbox_is_due(engine))
        csc_wakeup_house_locked(engine);
    if (engine->room.held_back && csc_room_may_receive(engine)) {
        engine->room.held_back = false;
        engine->reloads.at_ns = 0;
        csc_wakeup_house_locked(engine);
    }
    if (!engine->ready.held_back || !has_room(engine))
        return;
    engine->ready.held_back = false;
    csc_ready_queue_call_all(engine);
    csc_wakeup_host_locked(engine);
}
