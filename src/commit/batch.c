/* SPDX-License-Identifier: MIT
 *
 * A lane's batch becomes changes: the rows of each of its items (build.h), in
 * the order in which the batch locks them. Only whoever is in the lane calls
 * this, without the engine's lock: nobody else changes the states of runs that
 * are in a batch.
 */
#include "commit/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/op.h"
#include "commit/lane.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/lane/start_request.h"
#include "held/node_def.h"
#include "held/run/sealing.h"
#include "store/store.h"

/* Random bytes come from the system a few hundred at a time: asking for each id
 * would cost a call into the kernel. */
static void
fill_random(void *context, void *bytes, size_t len)
{
    csc_lane *lane = context;
    const cascade_random *source = &lane->engine->store->random;

    csc_assert(lane->random_left <= sizeof(lane->random));
    if (len > sizeof(lane->random)) {
        source->fill(source->context, bytes, len);
        return;
    }
    if (lane->random_left < len) {
        source->fill(source->context, lane->random, sizeof(lane->random));
        lane->random_left = sizeof(lane->random);
    }
    lane->random_left -= len;
    memcpy(bytes, lane->random + lane->random_left, len);
}

/* They are born the property of the incarnation that commits them, which may be
 * another one than they were handed to. What the start has itself stays free,
 * for `rescue`. */
static void
copy_start(csc_lane *lane, const csc_item *item)
{
    csc_assert(item->first + item->count <= lane->change_room);
    csc_assert(item->run == NULL && item->count == item->start->count);
    for (size_t i = 0; i < item->count; i++) {
        cascade_change *change = &lane->changes[item->first + i];

        *change = item->start->changes[i];
        change->run.engine_id = lane->engine->incarnation.id;
        change->run.claim_no = 1;
    }
}

/* Whether it does more than to receive messages, or to go on with what one has
 * begun: a node that takes the process down is not forgiven for those that come
 * meanwhile. */
static bool
has_progress(const csc_post *posts)
{
    while (posts != NULL &&
           (posts->kind == CSC_POST_RECEIVE || posts->kind == CSC_POST_SLICE))
        posts = posts->next;
    return posts != NULL;
}

/* Once all of an item is built. */
static cascade_err
seal_item(csc_lane *lane, csc_item *item)
{
    cascade_err err = CASCADE_OK;

    csc_assert(item->count > 0 &&
               item->first + item->count <= lane->change_room);
    for (size_t i = 0; i < item->count && err == CASCADE_OK; i++)
        err = csc_sealing_make(lane->engine->store, item->run, &lane->arena,
                               &lane->changes[item->first + i]);
    return err;
}

/* The run that continues one which has a slot, and ends in the same commit,
 * goes on with it, and is born owned: nobody gets it in between. */
static void
keep_slot(csc_lane *lane, const csc_item *item)
{
    const cascade_change *change = &lane->changes[item->first];
    cascade_change *next = &lane->changes[item->first + item->count - 1];

    csc_assert(item->run != NULL && item->count > 1);
    if (!item->run->slot || change->run_action != CASCADE_RUN_END ||
        next->root == NULL)
        return;
    next->run.engine_id = lane->engine->incarnation.id;
    next->run.claim_no = 1;
    next->run.slot = 1;
}

static cascade_err
build_item(csc_lane *lane, csc_item *item, int64_t now_ms,
           int64_t delay_from_ms)
{
    cascade_engine *engine = lane->engine;
    const cascade_random random = {.context = lane, .fill = fill_random};
    csc_build_env env = {.arena = &lane->arena,
                         .random = &random,
                         .location = engine->location,
                         .now_ms = now_ms,
                         .delay_from_ms = delay_from_ms,
                         .find_external = csc_node_def_is_external,
                         .find_context = engine};
    size_t bytes_max = engine->options.batch_bytes_max;

    csc_assert(lane->in_round && lane->state == CSC_LANE_FILLED);
    csc_assert((item->run == NULL) != (item->start == NULL));
    env.slice_bytes = csc_pace_slice_bytes(lane);
    if (bytes_max < env.slice_bytes)
        env.slice_bytes = bytes_max;
    env.whole_bytes = CSC_SLICE_BYTES;
    if (bytes_max < env.whole_bytes)
        env.whole_bytes = bytes_max;
    if (item->start != NULL) {
        copy_start(lane, item);
        return seal_item(lane, item);
    }
    csc_assert(csc_run_is_committing(item->run) && item->posts != NULL);
    env.plan = item->run->plan;
    env.unread = item->run->extent == CSC_EXTENT_UNREAD;
    env.deletes = item->run->deletes;
    env.family_to = item->run->family_to;
    env.reset = item->run->takeovers > 0 && has_progress(item->posts);
    item->err = csc_build_change(&env, &item->run->state, item->posts,
                                 &lane->changes[item->first]);
    if (item->err == CASCADE_OK && item->count > 1)
        item->err = csc_child_births(&env, &item->run->state, item->posts,
                                     &lane->changes[item->first],
                                     &lane->changes[item->first + 1]);
    if (item->err == CASCADE_OK && item->count > 1)
        keep_slot(lane, item);
    if (item->err == CASCADE_OK)
        item->err = seal_item(lane, item);
    return item->err == CASCADE_ERR_NO_MEMORY ? item->err : CASCADE_OK;
}

static cascade_err
grow_changes(csc_lane *lane, size_t count)
{
    void *changes = lane->changes;
    void *existed = NULL;
    size_t room = lane->change_room;

    csc_assert(lane->state == CSC_LANE_FILLED);
    if (csc_mem_grow(&changes, &room, count, sizeof(cascade_change)) != 0)
        return csc_fail_memory();
    lane->changes = changes;
    existed = csc_mem_realloc(lane->existed, room, sizeof(bool));
    if (existed == NULL)
        return csc_fail_memory();
    lane->existed = existed;
    lane->change_room = room;
    csc_assert(count <= lane->change_room);
    return CASCADE_OK;
}

const cascade_uuid *
csc_batch_item_id(const csc_item *item)
{
    csc_assert((item->run == NULL) != (item->start == NULL));
    return item->run != NULL ? &item->run->state.id
                             : &item->start->changes[0].cascade.id;
}

static int
compare_items(const void *a, const void *b)
{
    return csc_uuid_compare(csc_batch_item_id(a), csc_batch_item_id(b));
}

/* Items in the order of their cascades' ids: the order in which a batch locks
 * rows. (A start of several cascades is the only item, and sorted itself.) */
cascade_err
csc_batch_build(csc_lane *lane)
{
    int64_t now_ms = csc_clock_now_ms(lane->engine);
    int64_t now_max_ms = csc_clock_now_max_ms(lane->engine);
    size_t count = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_assert(lane->state == CSC_LANE_FILLED);
    csc_arena_clear(&lane->arena);
    qsort(lane->items, lane->item_count, sizeof(csc_item), compare_items);
    for (size_t i = 0; i < lane->item_count; i++) {
        if (lane->items[i].run != NULL)
            lane->items[i].count =
                1 + csc_child_birth_count(&lane->items[i].run->state,
                                          lane->items[i].posts);
        csc_assert(i == 0 ||
                   compare_items(&lane->items[i - 1], &lane->items[i]) <= 0);
        lane->items[i].first = count;
        count += lane->items[i].count;
    }
    err = grow_changes(lane, count);
    for (size_t i = 0; i < lane->item_count && err == CASCADE_OK; i++)
        err = build_item(lane, &lane->items[i], now_ms, now_max_ms);
    if (err != CASCADE_OK)
        return err;
    csc_lock_take(&lane->engine->mutex);
    lane->state = CSC_LANE_BUILT;
    csc_lock_give(&lane->engine->mutex);
    return CASCADE_OK;
}

void
csc_batch_begin_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(lane->state == CSC_LANE_IDLE);
    csc_assert(lane->item_count <= lane->item_room);
    if (lane->item_count > 0)
        lane->state = CSC_LANE_FILLED;
    lane->from = 0;
    lane->slice = lane->item_count;
    lane->retry_at_ns = 0;
    lane->backoff_ms = 0;
}
