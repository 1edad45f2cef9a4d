/* SPDX-License-Identifier: MIT
 *
 * What becomes of a batch that was not committed.
 *
 *   refused       half of it is tried, down to the one that is refused alone
 *   unavailable   the same batch again, later and later
 *   owner lost    the runs go; starts are handed over, owned by nobody
 *   held up       a start that waits for a transaction of somebody else's: it
 *                 leaves the lane
 */
#include "commit/outcome.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/op.h"
#include "commit/lane.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/blocked.h"
#include "held/lane/lane_queue.h"
#include "held/lane/start_request.h"
#include "held/room/reload.h"
#include "held/run/drop.h"
#include "held/run/run.h"
#include "held/run/sealing.h"
#include "state/reset_plan.h"
#include "store/store.h"

#define BACKOFF_FIRST_MS 10
#define BACKOFF_MAX_MS 1000

int64_t
csc_outcome_backoff_ms(int64_t last_ms)
{
    csc_assert(last_ms >= 0);
    if (last_ms == 0)
        return BACKOFF_FIRST_MS;
    return last_ms * 2 < BACKOFF_MAX_MS ? last_ms * 2 : BACKOFF_MAX_MS;
}

void
csc_outcome_set_backoff_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    lane->backoff_ms = csc_outcome_backoff_ms(lane->backoff_ms);
    csc_assert(lane->backoff_ms > 0 && lane->backoff_ms <= BACKOFF_MAX_MS);
    lane->retry_at_ns =
        csc_clock_now_ns(lane->engine) + lane->backoff_ms * CSC_MS_NS;
}

void
csc_outcome_part_with_locked(csc_lane *lane, csc_start *start)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex) && !start->queued);
    if (!start->left)
        csc_blocked_add(lane->engine->store, start);
    csc_start_request_done_locked(lane->engine, start, CASCADE_ERR_AGAIN);
}

void
csc_outcome_put_back_locked(csc_lane *lane, csc_item *item)
{
    csc_run *run = item->run;
    csc_post *last = item->posts;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) && last != NULL);
    csc_assert(!lane->native && !csc_run_is_gone(run));
    csc_assert(run->lane == lane->index);
    while (last->next != NULL)
        last = last->next;
    last->next = run->first_post;
    run->first_post = item->posts;
    if (run->last_post == NULL)
        run->last_post = last;
    csc_run_end_commit(run);
    csc_lane_queue_add_run_locked(lane, run);
    csc_assert(csc_run_is_sound(run));
    csc_run_unref(run);
}

/* Several posts were refused together: they are tried one by one. */
static void
put_back_singly(csc_lane *lane, csc_item *item)
{
    csc_assert(item->posts->next != NULL);
    item->run->one_by_one = true;
    csc_outcome_put_back_locked(lane, item);
}

/* The messages are still there: each is received by itself; one that is refused
 * even so, by a run that was loaded whole, is dropped. */
static void
take_apart(const csc_run *run, const csc_post *post, csc_reload *reload)
{
    csc_assert(post->kind == CSC_POST_RECEIVE);
    reload->single = true;
    reload->hopeless = post->message_count == 1 && !post->messages->repeated &&
                       run->extent == CSC_EXTENT_WHOLE;
}

static void
expel(csc_lane *lane, csc_item *item)
{
    cascade_engine *engine = lane->engine;
    csc_run *run = item->run;
    csc_post_kind kind = item->posts->kind;
    csc_reload reload = {.claimed = csc_run_claimed(run),
                         .fail_id = item->posts->function_id,
                         .give_up =
                             kind == CSC_POST_FAIL || kind == CSC_POST_FREE};

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    if (run->plan != NULL && kind == CSC_POST_SLICE) {
        reload.fail_id = -1;
        reload.refused = !run->plan->at.in_force;
        reload.at_ns = csc_clock_now_ns(engine);
        if (!reload.refused || run->plan->refusal != CSC_REFUSAL_NONE)
            reload.at_ns += CSC_FREE_LATER_MS * CSC_MS_NS;
        reload.plans = true;
        reload.from = run->plan->from;
        reload.receipt = run->plan->at.receipt;
    }
    if (kind == CSC_POST_RECEIVE)
        take_apart(run, item->posts, &reload);
    if (run->extent == CSC_EXTENT_UNREAD) /* nothing else can be tried */
        reload.at_ns = csc_clock_now_ns(engine) + CSC_FREE_LATER_MS * CSC_MS_NS;
    csc_run_end_commit(run);
    csc_run_free_posts(item->posts, CASCADE_ERR_REFUSED);
    csc_drop_expel(engine, run, &reload, CASCADE_ERR_REFUSED);
    csc_run_unref(run);
}

void
csc_outcome_refuse(csc_lane *lane, cascade_err err)
{
    cascade_engine *engine = lane->engine;
    csc_item *item = &lane->items[lane->from];
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_log_add(&engine->store->log, CASCADE_LOG_ERROR,
                "the store refuses what cascade %s has to record: %s",
                cascade_uuid_format(csc_batch_item_id(item), id),
                cascade_errmsg());
    csc_lock_take(&engine->mutex);
    csc_assert(lane->from < lane->item_count);
    engine->stats.refusals++;
    if (item->start != NULL)
        csc_start_request_done_locked(engine, item->start, err);
    else if (!csc_run_is_gone(item->run) && item->posts->next != NULL)
        put_back_singly(lane, item);
    else
        expel(lane, item);
    csc_apply_go_on_locked(lane, 1);
    csc_lock_give(&engine->mutex);
}

/* Runs lose what they posted; starts stay, for `csc_outcome_rescue`. */
void
csc_outcome_abandon_locked(csc_lane *lane)
{
    size_t kept = 0;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(csc_lane_queue_is_owned_locked(lane));
    csc_assert(lane->from <= lane->item_count);
    for (size_t i = lane->from; i < lane->item_count; i++) {
        csc_item *item = &lane->items[i];

        if (item->start != NULL) {
            item->start->doubtful = lane->tried && i < lane->from + lane->slice;
            lane->items[kept++] = *item;
            continue;
        }
        csc_run_end_commit(item->run);
        csc_run_free_posts(item->posts, CASCADE_ERR_FENCED);
        csc_run_unref(item->run);
    }
    lane->item_count = kept;
    lane->from = 0;
    lane->state = CSC_LANE_RESCUE;
    lane->slow = false;
    lane->retry_at_ns = 0;
    lane->backoff_ms = 0;
    if (kept == 0)
        csc_apply_end_batch_locked(lane);
    csc_assert(lane->state == CSC_LANE_IDLE || kept > 0);
}

/* What a start is told of which an earlier try had no answer. */
static cascade_err
tell_doubt_locked(csc_lane *lane, cascade_err err)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    err = csc_error_in_doubt(err, "start");
    if (err == CASCADE_ERR_OUTCOME_UNKNOWN)
        (void)snprintf(lane->trouble, sizeof(lane->trouble), "%s",
                       cascade_errmsg());
    return err;
}

/* Hands the next start to `submit`, owned by nobody; one nobody waits for any
 * more is let go: it was reported as unknown. */
void
csc_outcome_rescue(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    csc_start *start = lane->items[lane->from].start;
    cascade_submission submission = {.starts = start->changes,
                                     .start_count = start->count,
                                     .existed = start->existed,
                                     .brief = true};
    cascade_err err = csc_sealing_submit(engine->store, &submission);

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_lock_take(&engine->mutex);
    csc_assert(lane->state == CSC_LANE_RESCUE && !start->done);
    if (err == CASCADE_ERR_LOST)
        (void)snprintf(lane->trouble, sizeof(lane->trouble), "%s",
                       cascade_errmsg());
    if (err == CASCADE_ERR_UNAVAILABLE && start->refs > 1) {
        start->doubtful = true;
        csc_outcome_set_backoff_locked(lane);
    } else {
        if (start->doubtful)
            err = tell_doubt_locked(lane, err);
        if (err == CASCADE_ERR_AGAIN)
            csc_outcome_part_with_locked(lane, start);
        else
            csc_start_request_done_locked(engine, start, err);
        lane->backoff_ms = 0;
        lane->from++;
        if (lane->from == lane->item_count)
            csc_apply_end_batch_locked(lane);
    }
    csc_lock_give(&engine->mutex);
}

void
csc_outcome_try_later(csc_lane *lane, cascade_err err)
{
    csc_assert(csc_lock_is_none_held());
    csc_log_add(&lane->engine->store->log, CASCADE_LOG_WARNING,
                "lane %u: batch of %zu not committed, trying again: %s",
                (unsigned)lane->index, lane->slice, cascade_errmsg());
    csc_lock_take(&lane->engine->mutex);
    csc_assert(lane->in_round && csc_lane_queue_is_owned_locked(lane));
    (void)snprintf(lane->trouble, sizeof(lane->trouble), "%s",
                   cascade_errmsg());
    lane->tried = lane->tried || err == CASCADE_ERR_UNAVAILABLE;
    csc_outcome_set_backoff_locked(lane);
    csc_lock_give(&lane->engine->mutex);
}

void
csc_outcome_lose(csc_lane *lane, cascade_err err)
{
    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_lock_take(&lane->engine->mutex);
    csc_drop_lose(lane->engine, err);
    csc_outcome_abandon_locked(lane);
    csc_lock_give(&lane->engine->mutex);
}
