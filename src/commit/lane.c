/* SPDX-License-Identifier: MIT
 *
 * The commit pipeline: one lane.
 *
 * A lane takes what was posted for many cascades and writes it in one batch:
 * one transaction, one durable flush, one round trip. While a batch is in the
 * store the next one fills, so batches grow with the load and a lone post
 * waits for nothing but its own commit. No delay is added to fill a batch.
 *
 *   idle --collect--> taken --build--> built --commit--> decided --> idle
 *                       ^ |              ^  |
 *             no memory +-+  UNAVAILABLE +--+  the same batch, same number
 *
 * WHAT THE STORE MAY ANSWER, and what follows
 *   OK           the rows are applied to the states, the ready list fills,
 *                waiters are told. The number counts up.
 *   UNAVAILABLE  nobody knows whether it took effect. Until that is decided
 *                the lane sends nothing else: the identical batch is repeated
 *                with the same number, and the lane row tells (store.h, S3).
 *   NOT_DONE     nothing took effect, nor will (S34): the batch is tried again
 *                later, and nobody is in doubt about it.
 *   REFUSED      nothing took effect. The batch is halved, and halved again,
 *                until the culprit stands alone (`slice`); the number stays
 *                until something is committed. The culprit's cascade loses what
 *                it had posted, is loaded anew, and the execution is recorded
 *                FAILED. If it had posted several things they are first tried
 *                one by one.
 *   AGAIN        nothing took effect: a start in it waits for a transaction
 *                that is not the store's (S33), which may stay open for long.
 *                Its starts are taken out, and their callers go on without the
 *                lane (blocked_start.c); the rest is built anew, as a batch
 *                with the same number.
 *   FENCED,LOST  the incarnation is no more. Everything in memory is dropped;
 *                starts in the batch, which need no ownership, are handed to
 *                `submit`, which recognises those that had taken effect
 *                (`csc_outcome_rescue`). So a start is never in doubt
 *                while the store can be reached (G12). Starts that are in no
 *                batch yet go back to their callers, who send them without the
 *                engine: it may not attach for long.
 *
 * WHAT TAKES TOO LONG. A try that fails after half of the store's deadline may
 * fail for what is in it, and would fail so for ever (B3). So its number is
 * settled: while the store does not even answer that, it is the store, and the
 * lane waits. Once it is settled as not done, the batch is divided, down to one
 * item, which is set aside (pace.c).
 *
 * A NUMBER WITH A PAST. Where an earlier try was UNAVAILABLE it might still
 * come to the store, and be taken for another batch with its number. So before
 * the batch is halved, or its starts are taken out, that number is used up, by
 * `settle`, and again until that has an answer (`settling`). Of a store without
 * settle, REFUSED says that no such try can come (store.h); where it answers
 * AGAIN it is asked with the same batch again.
 *
 * IF THE PROCESS DIES
 *   before the commit   nothing is recorded; the executions run again (G4)
 *   after it, before the apply   the rows tell all that memory would have (G7)
 *   So there is no moment at which memory knows something that the tables do
 *   not, but for results that nobody was told of yet.
 *
 * WHO COMMITS. One thread at a time is in a lane (`in_round`). Where the lane
 * is idle, the thread that has something to commit and would only wait goes in
 * itself: a lone post costs no thread's wake-up. Whatever came meanwhile is
 * left to the lane's own thread, so nobody serves others for long.
 *
 * SLICES of a cancellation (command.c), or of the end of a family
 * (family_end.c), follow each other for as long as there is something left.
 * So one is in a batch at most; the next waits as long as that batch took, and
 * is as large as takes about twice the time of a commit without one
 * (pace.c): others wait for a slice hardly longer than for each other.
 * What is told of a family once its cascade has ended is as large, and waits
 * for a claim.
 *
 * ONE COMMIT IN FLIGHT FOR A CASCADE: a run in a batch (its commit has BEGUN)
 * gets into no other; what is posted meanwhile waits in the run. And a cascade
 * has one lane for good (by its id), so its commits are in order. The lanes of
 * transactional nodes (txn_slot.c) have one item at a time, and take a cascade
 * only where this lane has nothing of it.
 */
#include "commit/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/op.h"
#include "commit/batch.h"
#include "commit/node_txn.h"
#include "commit/outcome.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/lane/blocked.h"
#include "held/lane/lane_queue.h"
#include "held/lane/start_request.h"
#include "held/lane/txn_slot.h"
#include "held/log_queue.h"
#include "held/room/backlog.h"
#include "held/room/mailbox.h"
#include "held/run/run.h"
#include "held/vital.h"
#include "held/wakeup.h"
#include "store/move.h"
#include "store/store.h"

#define BIRTHS_MAX 4000 /* in one batch, and those of one run more */
#define POSTS_MAX 500   /* of one run in a batch */

static bool
has_work(const csc_lane *lane, int64_t *at_ns)
{
    bool waiting = csc_lane_queue_is_busy_locked(lane) ||
                   (lane->engine->incarnation.attached &&
                    (lane->first_dirty != NULL || lane->first_start != NULL));

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    *at_ns = waiting ? lane->retry_at_ns : INT64_MAX;
    if (!waiting && lane->engine->incarnation.attached &&
        lane->first_slicing != NULL)
        *at_ns = lane->retry_at_ns > lane->slice_at_ns ? lane->retry_at_ns
                                                       : lane->slice_at_ns;
    return *at_ns != INT64_MAX && *at_ns <= csc_clock_now_ns(lane->engine);
}

/* Whoever is in the lane tells when leaving it. */
bool
csc_lane_pending_locked(const csc_lane *lane, int64_t *at_ns)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    *at_ns = INT64_MAX;
    return !lane->in_round && has_work(lane, at_ns);
}

/* Takes posts of a run, within `room` bytes but one at least (just one when it
 * goes one by one). The bytes taken. */
static size_t
take_run(csc_lane *lane, csc_item *item, size_t room)
{
    csc_run *run = lane->first_dirty;
    csc_post *last = run->first_post;
    size_t bytes = last != NULL ? csc_op_bytes(last) : 0;
    size_t count = 1;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(run->commit == CSC_COMMIT_QUEUED);
    csc_assert(last != NULL || csc_run_is_gone(run));
    lane->first_dirty = run->dirty_next;
    if (lane->first_dirty == NULL)
        lane->last_dirty = NULL;
    *item = (csc_item){.run = run, .posts = run->first_post, .count = 1};
    while (last != NULL && last->next != NULL && !run->one_by_one &&
           count < POSTS_MAX && bytes + csc_op_bytes(last->next) <= room) {
        last = last->next;
        bytes += csc_op_bytes(last);
        count++;
    }
    run->first_post = last != NULL ? last->next : NULL;
    if (last != NULL)
        last->next = NULL;
    if (run->first_post == NULL)
        run->last_post = NULL;
    run->commit = item->posts != NULL ? CSC_COMMIT_BEGUN : CSC_COMMIT_NONE;
    run->receives = lane->engine->mailbox.receives;
    return bytes;
}

/* A start of a cascade that is held here is answered at once: it exists. */
static bool
answer_existing(csc_lane *lane, csc_start *start)
{
    cascade_engine *engine = lane->engine;
    csc_item item;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) &&
               start == lane->first_start);
    if (start->count > 1)
        return false;
    if (csc_map_get(&engine->runs, &start->changes[0].cascade.id) == NULL)
        return false;
    csc_lane_queue_take_start_locked(lane, &item);
    csc_assert(item.start == start);
    start->existed[0] = true;
    csc_start_request_done_locked(engine, start, CASCADE_OK);
    return true;
}

/* A start of what others wait for is not put to the test. */
static bool
join_held(csc_lane *lane, csc_start *start)
{
    csc_item item;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) &&
               start == lane->first_start);
    if (!csc_blocked_join(lane->engine->store, start))
        return false;
    csc_lane_queue_take_start_locked(lane, &item);
    csc_assert(item.start == start);
    csc_start_request_done_locked(lane->engine, start, CASCADE_ERR_AGAIN);
    return true;
}

/* Whether the batch has a start of that cascade already: two starts with one
 * key may come at the same time, and a batch names a cascade once. A start of
 * several is a batch by itself, which keeps batches sorted. */
static bool
is_apart(const csc_lane *lane, const csc_start *start)
{
    csc_assert(lane->state == CSC_LANE_IDLE);
    if (start->count > 1 && lane->item_count > 0)
        return true;
    for (size_t i = 0; i < lane->item_count; i++) {
        const csc_start *other = lane->items[i].start;

        if (other != NULL && csc_uuid_equal(&other->changes[0].cascade.id,
                                            &start->changes[0].cascade.id))
            return true;
    }
    return false;
}

static cascade_err
grow_items(csc_lane *lane)
{
    void *items = lane->items;

    csc_assert(lane->item_count <= lane->item_room);
    if (csc_mem_grow(&items, &lane->item_room, lane->item_count + 1,
                     sizeof(csc_item)) != 0)
        return csc_fail_memory();
    lane->items = items;
    return CASCADE_OK;
}

/* Whether the batch, of `bytes` so far, may have one more item. */
static bool
has_room(csc_lane *lane, size_t bytes)
{
    const cascade_engine_options *options = &lane->engine->options;

    csc_assert(lane->state == CSC_LANE_IDLE);
    return lane->item_count < options->batch_cascades_max &&
           lane->item_count < csc_pace_items_max(lane) &&
           lane->births < BIRTHS_MAX && bytes < options->batch_bytes_max &&
           grow_items(lane) == CASCADE_OK;
}

/* What is written of its children, should it end. */
static size_t
family_bytes(const csc_lane *lane, const csc_run *run)
{
    size_t most = csc_pace_slice_bytes(lane);
    size_t bytes = run->state.children * CSC_ROW_BYTES;

    csc_assert(run->lane == lane->index);
    return bytes < most ? bytes : most;
}

/* The bytes of the batch then. One that was slow is a batch by itself. */
static size_t
collect_runs(csc_lane *lane, size_t bytes)
{
    size_t bytes_max = lane->engine->options.batch_bytes_max;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) &&
               lane->state == CSC_LANE_IDLE);
    while (lane->first_dirty != NULL && has_room(lane, bytes)) {
        csc_item *item = &lane->items[lane->item_count];
        bool alone = lane->first_dirty->slow > 0;

        csc_assert(lane->item_count < lane->item_room);
        if (alone && lane->item_count > 0)
            break;
        bytes += take_run(lane, item, bytes_max - bytes);
        bytes += family_bytes(lane, item->run);
        lane->births += csc_child_birth_count(&item->run->state, item->posts);
        if (item->posts != NULL)
            lane->item_count++;
        else
            csc_run_unref(item->run);
        if (alone && lane->item_count > 0)
            return bytes_max;
    }
    return bytes;
}

/* The same, until it has `items_max`. */
static size_t
collect_starts(csc_lane *lane, size_t bytes, size_t items_max)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex) &&
               lane->state == CSC_LANE_IDLE);
    while (lane->first_start != NULL && lane->item_count < items_max &&
           has_room(lane, bytes)) {
        csc_item *item = &lane->items[lane->item_count];

        csc_assert(lane->item_count < lane->item_room);
        if (answer_existing(lane, lane->first_start) ||
            join_held(lane, lane->first_start))
            continue;
        if (is_apart(lane, lane->first_start))
            break;
        csc_lane_queue_take_start_locked(lane, item);
        lane->item_count++;
        bytes += item->start->bytes + CSC_ROW_BYTES;
        if (item->count > 1)
            return lane->engine->options.batch_bytes_max;
    }
    return bytes;
}

/* Moves what is waiting into the lane's batch, within its bounds. Runs that go
 * on could fill every batch; so in turn the starts come first, with up to half
 * of it. */
static void
collect_locked(csc_lane *lane)
{
    size_t items_max = lane->engine->options.batch_cascades_max;
    size_t bytes = 0;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(lane->item_count == 0 && !lane->native);
    if (lane->starts_first)
        bytes = collect_starts(lane, bytes, (items_max + 1) / 2);
    lane->starts_first = !lane->starts_first;
    lane->births = 0;
    if (lane->first_slicing != NULL &&
        lane->slice_at_ns <= csc_clock_now_ns(lane->engine))
        csc_lane_queue_let_slice_in_locked(lane);
    bytes = collect_runs(lane, bytes);
    (void)collect_starts(lane, bytes, items_max);
    csc_batch_begin_locked(lane);
    /* Nothing was taken, though something waits: there was no memory. */
    if (!csc_lane_queue_is_busy_locked(lane) &&
        (lane->first_dirty != NULL || lane->first_start != NULL))
        csc_outcome_set_backoff_locked(lane);
}

static cascade_err
commit_slice(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    const csc_item *first = &lane->items[lane->from];
    const csc_item *last = &lane->items[lane->from + lane->slice - 1];
    cascade_batch batch = {.engine_id = engine->incarnation.id,
                           .lane = lane->index,
                           .number = lane->number + 1,
                           .changes = &lane->changes[first->first]};

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    batch.change_count = last->first + last->count - first->first;
    csc_assert(lane->state == CSC_LANE_BUILT && first <= last);
    csc_assert(batch.change_count <= lane->change_room - first->first);
    return csc_move_commit(engine->store, &batch, &lane->existed[first->first]);
}

/* Items whose rows could not even be built are refused before the store is
 * asked; they stand alone, as culprits do. */
static bool
find_unbuilt(csc_lane *lane)
{
    csc_assert(lane->from + lane->slice <= lane->item_count);
    for (size_t i = lane->from; i < lane->from + lane->slice; i++) {
        if (lane->items[i].err == CASCADE_OK)
            continue;
        lane->slice = i > lane->from ? i - lane->from : 1;
        return i == lane->from;
    }
    return false;
}

static bool
has_starts(const csc_lane *lane)
{
    csc_assert(lane->in_round);
    csc_assert(lane->from + lane->slice <= lane->item_count);
    for (size_t i = lane->from; i < lane->from + lane->slice; i++)
        if (lane->items[i].start != NULL)
            return true;
    return false;
}

/* Takes the starts out of what was tried. What is decided is left out too, as
 * the rows of the rest are made anew. How many they are. */
static size_t
take_starts_out_locked(csc_lane *lane)
{
    size_t to = lane->from + lane->slice;
    size_t count = lane->item_count - lane->from;
    size_t kept = 0;
    size_t slice = 0;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) &&
               lane->state == CSC_LANE_BUILT);
    csc_assert(to <= lane->item_count);
    for (size_t i = lane->from; i < lane->item_count; i++) {
        if (i < to && lane->items[i].start != NULL) {
            csc_outcome_part_with_locked(lane, lane->items[i].start);
            continue;
        }
        slice += i < to;
        lane->items[kept++] = lane->items[i];
    }
    csc_assert(slice <= kept && kept <= count);
    lane->item_count = kept;
    lane->from = 0;
    lane->slice = slice > 0 ? slice : kept;
    lane->state = CSC_LANE_FILLED;
    lane->tried = false;
    lane->trouble[0] = '\0';
    lane->backoff_ms = 0;
    if (kept == 0)
        csc_apply_end_batch_locked(lane);
    return count - kept;
}

/* Decides the earlier tries of the batch, which is BUILT again then. When that
 * is OK, either none can take effect any more, and `tried` is false; or one
 * has, and the same batch once more is told so. Where it is neither OK nor
 * CASCADE_ERR_UNSUPPORTED, what is next has been said. */
static cascade_err
settle_number(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    bool committed = false;
    cascade_err err =
        csc_move_settle(engine->store, &engine->incarnation.id, lane->index,
                        lane->number + 1, &committed);

    csc_assert(lane->in_round && csc_lane_queue_is_owned_locked(lane));
    if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST) {
        csc_outcome_lose(lane, err);
        return err;
    }
    csc_lock_take(&engine->mutex);
    lane->state = err == CASCADE_OK || err == CASCADE_ERR_UNSUPPORTED
                      ? CSC_LANE_BUILT
                      : CSC_LANE_SETTLING;
    if (err == CASCADE_OK && !committed) {
        lane->number += 2;
        lane->tried = false;
    }
    csc_lock_give(&engine->mutex);
    csc_assert(csc_lane_queue_is_owned_locked(lane));
    if (lane->state == CSC_LANE_SETTLING)
        csc_outcome_try_later(lane, err);
    return err;
}

static void
let_starts_go(csc_lane *lane, const char *why)
{
    cascade_engine *engine = lane->engine;
    size_t count = 0;

    csc_assert(lane->in_round && !lane->tried);
    csc_lock_take(&engine->mutex);
    count = take_starts_out_locked(lane);
    csc_lock_give(&engine->mutex);
    csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                "lane %u: %zu starts go on by themselves: %s",
                (unsigned)lane->index, count, why);
}

/* One that has only what nodes start is tried again as it is. */
static void
give_way(csc_lane *lane)
{
    cascade_err err = CASCADE_OK;
    char why[CSC_TROUBLE_SIZE];

    csc_assert(lane->in_round && lane->state == CSC_LANE_BUILT);
    (void)snprintf(why, sizeof(why), "%s", cascade_errmsg());
    if (!has_starts(lane)) {
        csc_outcome_try_later(lane, CASCADE_ERR_AGAIN);
        return;
    }
    if (lane->tried)
        err = settle_number(lane);
    if (err == CASCADE_ERR_UNSUPPORTED)
        csc_outcome_try_later(lane, csc_fail(CASCADE_ERR_AGAIN, "%s", why));
    else if (err == CASCADE_OK && !lane->tried)
        let_starts_go(lane, why);
}

/* The culprit is looked for, unless the batch has a past: then that is decided
 * first, and the batch is tried once more. */
static void
take_refusal(csc_lane *lane)
{
    csc_assert(lane->in_round && lane->state == CSC_LANE_BUILT);
    if (lane->tried) {
        csc_error_kept kept;

        csc_error_keep(&kept, CASCADE_ERR_REFUSED);
        if (settle_number(lane) != CASCADE_ERR_UNSUPPORTED)
            return;
        (void)csc_error_restore(&kept);
        lane->tried = false;
    }
    if (lane->slice > 1)
        lane->slice /= 2;
    else
        csc_outcome_refuse(lane, CASCADE_ERR_REFUSED);
}

/* Once the number is settled, what was slow is divided, unless it was done, or
 * may have been: then it is tried once more as it is. */
static void
settle_first(csc_lane *lane)
{
    bool slow = lane->slow;

    csc_assert(lane->state == CSC_LANE_SETTLING);
    (void)settle_number(lane);
    if (lane->state != CSC_LANE_BUILT)
        return;
    lane->slow = false;
    if (slow && !lane->tried)
        csc_pace_divide(lane);
}

/* The outcome of a slow try is settled before the next one. */
static void
note_slow(csc_lane *lane, cascade_err err)
{
    csc_assert(lane->in_round && lane->state == CSC_LANE_BUILT);
    csc_lock_take(&lane->engine->mutex);
    lane->slow = csc_pace_was_slow(lane, err);
    if (lane->slow)
        lane->state = CSC_LANE_SETTLING;
    csc_lock_give(&lane->engine->mutex);
}

static void
attempt(csc_lane *lane)
{
    cascade_err err =
        lane->state == CSC_LANE_FILLED ? csc_batch_build(lane) : CASCADE_OK;

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_assert(csc_lane_queue_is_busy_locked(lane));
    if (err != CASCADE_OK) {
        csc_outcome_try_later(lane, err);
        return;
    }
    if (lane->state == CSC_LANE_SETTLING) {
        settle_first(lane);
        return;
    }
    lane->begun_ns = csc_clock_now_ns(lane->engine);
    if (find_unbuilt(lane)) {
        csc_outcome_refuse(lane, CASCADE_ERR_TOO_LARGE);
        return;
    }
    err = commit_slice(lane);
    if (err == CASCADE_OK) {
        csc_apply_batch(lane);
    } else if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST) {
        csc_outcome_lose(lane, err);
    } else if (err == CASCADE_ERR_REFUSED) {
        take_refusal(lane);
    } else if (err == CASCADE_ERR_AGAIN) {
        give_way(lane);
    } else {
        note_slow(lane, err);
        csc_outcome_try_later(lane, err);
    }
}

/* Whether there is something to try; takes it if need be. */
static bool
begin_round_locked(csc_lane *lane)
{
    int64_t at_ns = 0;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) && lane->in_round);
    if (!has_work(lane, &at_ns))
        return false;
    csc_assert(csc_lane_queue_is_sound_locked(lane));
    if (!csc_lane_queue_is_busy_locked(lane))
        collect_locked(lane);
    if (csc_lane_queue_is_owned_locked(lane) &&
        !lane->engine->incarnation.attached)
        csc_outcome_abandon_locked(lane);
    csc_assert(csc_lane_queue_is_sound_locked(lane));
    return csc_lane_queue_is_busy_locked(lane);
}

/* One round by the thread that has entered; then it is out of the lane. */
static void
go_round(csc_lane *lane, bool tell)
{
    cascade_engine *engine = lane->engine;
    int64_t at_ns = 0;
    bool busy = false;
    bool rescuing = false;

    csc_assert(csc_lock_is_none_held());
    csc_vital_sign(&lane->vital);
    csc_lock_take(&engine->mutex);
    csc_assert(lane->in_round);
    busy = begin_round_locked(lane);
    rescuing = lane->state == CSC_LANE_RESCUE;
    csc_lock_give(&engine->mutex);
    if (rescuing)
        csc_outcome_rescue(lane);
    else if (busy && lane->native)
        csc_node_txn_settle(lane);
    else if (busy)
        attempt(lane);
    csc_vital_sign(&lane->vital);
    csc_lock_take(&engine->mutex);
    csc_assert(lane->in_round && csc_lane_queue_is_sound_locked(lane));
    lane->in_round = false;
    csc_txn_slot_ended_locked(lane);
    csc_backlog_let_begin(engine);
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    (void)csc_lane_pending_locked(lane, &at_ns);
    if (tell && at_ns != INT64_MAX)
        csc_lane_queue_wake_locked(lane);
    csc_lock_give(&engine->mutex);
    csc_log_queue_tell(engine);
}

bool
csc_lane_enter_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex) && !lane->native);
    if (lane->in_round || lane->engine->options.mode != CASCADE_MODE_THREADS)
        return false;
    lane->in_round = true;
    return true;
}

void
csc_lane_serve(csc_lane *lane)
{
    csc_assert(csc_lock_is_none_held() && lane->in_round);
    go_round(lane, true);
}

bool
csc_lane_round(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    int64_t at_ns = 0;
    bool entered = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    entered = csc_lane_pending_locked(lane, &at_ns);
    if (entered)
        lane->in_round = true;
    csc_lock_give(&engine->mutex);
    if (entered)
        go_round(lane, false);
    return entered;
}

/* What is still in the lane when it ends is not decided. */
void
csc_lane_fini(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    bool tried = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    while (lane->in_round)
        csc_wakeup_wait_locked(engine, &engine->wakeup.quiet_cond, -1);
    tried = lane->tried;
    if (csc_lane_queue_is_owned_locked(lane))
        csc_outcome_abandon_locked(lane);
    for (; csc_lane_queue_is_busy_locked(lane) && lane->from < lane->item_count;
         lane->from++)
        csc_start_request_done_locked(engine, lane->items[lane->from].start,
                                      tried ? CASCADE_ERR_OUTCOME_UNKNOWN
                                            : CASCADE_ERR_STOPPED);
    csc_lane_queue_return_starts_locked(lane);
    csc_lane_queue_let_slices_in_locked(lane);
    while (lane->first_dirty != NULL) {
        csc_item item;

        (void)take_run(lane, &item, SIZE_MAX);
        csc_run_free_posts(item.posts, CASCADE_ERR_STOPPED);
        csc_run_unref(item.run);
    }
    lane->state = CSC_LANE_IDLE;
    csc_lock_give(&engine->mutex);
    csc_arena_fini(&lane->arena);
    csc_mem_free(lane->items);
    csc_mem_free(lane->changes);
    csc_mem_free(lane->existed);
    lane->items = NULL;
    lane->changes = NULL;
    lane->existed = NULL;
}
