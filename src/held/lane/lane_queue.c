/* SPDX-License-Identifier: MIT
 *
 * What waits for a lane: cascades that have posts, and starts. The protocol of
 * the lane itself is in commit/lane.c.
 */
#include "held/lane/lane_queue.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "held/lane/start_request.h"
#include "held/run/run.h"
#include "held/wakeup.h"

uint32_t
csc_lane_queue_lane_count(const cascade_engine *engine)
{
    csc_assert(engine->lane_count <= CSC_LANES_MAX &&
               engine->native_count <= CSC_NATIVES_MAX);
    return engine->lane_count + engine->native_count;
}

void
csc_lane_queue_wake_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    if (lane->thread_started || lane->native)
        pthread_cond_signal(&lane->cond);
    if (!lane->thread_started)
        csc_wakeup_house_locked(lane->engine);
    if (lane->engine->options.mode == CASCADE_MODE_INLINE)
        csc_wakeup_host_locked(lane->engine);
}

static void
append(csc_run **first, csc_run **last, csc_run *run)
{
    csc_assert(run->commit == CSC_COMMIT_QUEUED);
    csc_assert((*first == NULL) == (*last == NULL));
    run->dirty_next = NULL;
    if (*last != NULL)
        (*last)->dirty_next = run;
    else
        *first = run;
    *last = run;
}

/* To those that the next batch takes. */
void
csc_lane_queue_let_slice_in_locked(csc_lane *lane)
{
    csc_run *run = lane->first_slicing;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(run->commit == CSC_COMMIT_QUEUED);
    lane->first_slicing = run->dirty_next;
    if (lane->first_slicing == NULL)
        lane->last_slicing = NULL;
    append(&lane->first_dirty, &lane->last_dirty, run);
}

void
csc_lane_queue_let_slices_in_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    while (lane->first_slicing != NULL)
        csc_lane_queue_let_slice_in_locked(lane);
}

bool
csc_lane_queue_is_busy_locked(const csc_lane *lane)
{
    csc_assert(lane->in_round || csc_lock_is_held(&lane->engine->mutex));
    return lane->state != CSC_LANE_IDLE;
}

bool
csc_lane_queue_is_owned_locked(const csc_lane *lane)
{
    return csc_lane_queue_is_busy_locked(lane) &&
           lane->state != CSC_LANE_RESCUE;
}

#ifdef CASCADE_ASSERTS
/* What is tried is a part of what is not decided yet. */
static bool
has_part(const csc_lane *lane)
{
    return lane->from < lane->item_count && lane->slice > 0 &&
           lane->slice <= lane->item_count - lane->from;
}

static bool
has_starts_alone(const csc_lane *lane)
{
    for (size_t i = lane->from; i < lane->item_count; i++)
        if (lane->items[i].start == NULL)
            return false;
    return lane->from < lane->item_count;
}

bool
csc_lane_queue_is_sound_locked(const csc_lane *lane)
{
    if (lane->native && lane->item_count > 1)
        return false;
    switch (lane->state) {
    case CSC_LANE_IDLE:
        return lane->item_count == 0 && !lane->tried && !lane->slow;
    case CSC_LANE_FILLED:
        return has_part(lane) && !lane->tried && !lane->slow;
    case CSC_LANE_BUILT:
        return has_part(lane) && lane->changes != NULL && !lane->slow;
    case CSC_LANE_SETTLING:
        return has_part(lane) && (lane->tried || lane->slow);
    case CSC_LANE_RESCUE:
        return has_starts_alone(lane) && !lane->slow;
    }
    return false;
}
#endif

/* Where it has nothing else to commit: what comes behind waits with it. */
static bool
is_slice(const csc_post *post)
{
    return post != NULL && post->kind == CSC_POST_SLICE && post->next == NULL;
}

void
csc_lane_queue_add_run_locked(csc_lane *lane, csc_run *run)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(!lane->native && run->lane == lane->index);
    if (run->commit == CSC_COMMIT_QUEUED)
        return;
    csc_assert(run->commit == CSC_COMMIT_NONE);
    run->commit = CSC_COMMIT_QUEUED;
    for (csc_post *p = run->first_post; p != NULL; p = p->next)
        csc_op_move_charge(p, &lane->engine->backlog);
    if (is_slice(run->first_post))
        append(&lane->first_slicing, &lane->last_slicing, run);
    else
        append(&lane->first_dirty, &lane->last_dirty, run);
    csc_run_ref(run);
    if (!lane->in_round)
        csc_lane_queue_wake_locked(lane);
}

void
csc_lane_queue_add_start_locked(csc_lane *lane, csc_start *start)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(!start->queued && !start->done && !lane->native);
    csc_assert((lane->first_start == NULL) == (lane->last_start == NULL));
    start->next = NULL;
    start->queued = true;
    start->refs++;
    if (lane->last_start != NULL)
        lane->last_start->next = start;
    else
        lane->first_start = start;
    lane->last_start = start;
    if (!lane->in_round)
        csc_lane_queue_wake_locked(lane);
}

void
csc_lane_queue_forget_locked(csc_lane *lane)
{
    csc_run *run = NULL;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_lane_queue_let_slices_in_locked(lane);
    run = lane->first_dirty;
    lane->first_dirty = NULL;
    lane->last_dirty = NULL;
    while (run != NULL) {
        csc_run *next = run->dirty_next;

        csc_assert(run->commit == CSC_COMMIT_QUEUED);
        run->commit = CSC_COMMIT_NONE;
        if (!csc_run_is_gone(run))
            csc_lane_queue_add_run_locked(lane, run);
        csc_run_unref(run);
        run = next;
    }
}

void
csc_lane_queue_take_start_locked(csc_lane *lane, csc_item *item)
{
    csc_start *start = lane->first_start;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    lane->first_start = start->next;
    if (lane->first_start == NULL)
        lane->last_start = NULL;
    csc_assert(start->queued && start->count > 0);
    start->queued = false;
    *item = (csc_item){.start = start, .count = start->count};
}

void
csc_lane_queue_return_starts_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    while (lane->first_start != NULL) {
        csc_item item;

        csc_lane_queue_take_start_locked(lane, &item);
        csc_start_request_done_locked(lane->engine, item.start,
                                      CASCADE_ERR_STOPPED);
    }
}
