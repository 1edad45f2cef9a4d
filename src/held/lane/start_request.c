/* SPDX-License-Identifier: MIT
 *
 * The starts of one call, shared by the caller and the lane.
 */
#include "held/lane/start_request.h"

#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "held/room/mailbox.h"
#include "held/room/room.h"
#include "held/wakeup.h"

void
csc_start_request_unref(csc_start *start)
{
    csc_assert(start->refs > 0);
    if (atomic_fetch_sub(&start->refs, 1) > 1)
        return;
    csc_assert(!start->queued && !start->in_line);
    csc_lock_fini_cond(&start->cond);
    csc_arena_fini(&start->arena);
    csc_mem_free(start);
}

void
csc_start_request_done_locked(cascade_engine *engine, csc_start *start,
                              cascade_err err)
{
    bool full = csc_room_for_claims(engine) == 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(!start->done && !start->queued);
    csc_assert(engine->room.births >= start->count);
    engine->room.births -= start->count;
    if (engine->mailbox.claim_more || full) /* what was not born leaves room */
        csc_wakeup_house_locked(engine);
    start->done = true;
    start->err = err;
    pthread_cond_signal(&start->cond);
    csc_start_request_unref(start);
}

size_t
csc_start_request_find(const csc_start *start, const cascade_uuid *id)
{
    size_t from = 0;
    size_t to = start->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = csc_uuid_compare(id, &start->changes[middle].cascade.id);

        if (order == 0)
            return middle;
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return start->count;
}
