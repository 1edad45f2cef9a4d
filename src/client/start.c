/* SPDX-License-Identifier: MIT
 *
 * Starting cascades.
 *
 *   one cascade, and an engine of this process runs on the store, serves the
 *   queue and has room  --> born owned: through its lane, in a batch with
 *                           whatever else is committed
 *   else                --> submit: a transaction of its own, owned by nobody;
 *                           engines are told, and one claims it
 *   it waits for a transaction of somebody else's that starts the same cascade
 *                       --> out of its lane, and by submits: blocked_start.c
 *
 * Ids are made here, before anything is sent, so a repeated try is the same
 * start: the store recognises execution 0 by its id (S6). If the process dies
 * in between, the cascade is there or it is not; with a key the caller finds
 * out by starting it again (G10).
 *
 * A key whose current run was deleted starts anew, as the next run, and so does
 * one whose run has ended where the caller wants that (`reuse`): the store
 * keeps the number, so that no id is given twice. Of two who find that, one
 * starts it (S22), and the other is told of it, whatever has become of it. So
 * the run that a call may replace is the one it has seen before it sent
 * anything: a later one was started by somebody else meanwhile.
 */
#include "cascade/cascade.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/build/start.h"
#include "client/blocked_start.h"
#include "client/key_reuse.h"
#include "client/signal.h"
#include "client/start_spec.h"
#include "client/submit.h"
#include "commit/lane.h"
#include "engine/erasure.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/lane/blocked.h"
#include "held/lane/lane_queue.h"
#include "held/lane/start_request.h"
#include "held/room/backlog.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/run/pause.h"
#include "held/run/run.h"
#include "held/wakeup.h"
#include "query/link.h"
#include "query/run_chain.h"
#include "store/move.h"
#include "store/store.h"

#define START_MANY_MAX 10000

/* Where and when a start is made. */
typedef struct place {
    int64_t now_ms; /* may be a little behind */
    bool exact;     /* it is not: the store was asked for it */
    const char *location;
    int32_t run_number; /* of its key; 0 stands for 1 */
    int64_t after_ms;   /* as in csc_build_start */
} place;

/* ---- Making -------------------------------------------------------------- */

static cascade_err
create_start(size_t count, csc_start **out)
{
    csc_start *start = csc_mem_zalloc(1, sizeof(*start));
    cascade_err err = CASCADE_OK;

    if (start == NULL)
        return csc_fail_memory();
    err = csc_lock_init_cond(&start->cond);
    if (err != CASCADE_OK) {
        csc_mem_free(start);
        return err;
    }
    start->refs = 1;
    start->changes =
        csc_arena_alloc(&start->arena, count, sizeof(*start->changes));
    start->existed =
        csc_arena_alloc(&start->arena, count, sizeof(*start->existed));
    if (start->arena.failed) {
        csc_start_request_unref(start);
        return csc_fail_memory();
    }
    *out = start;
    return CASCADE_OK;
}

static void
choose_id(const cascade_store *store, const cascade_start_options *options,
          const place *here, cascade_uuid *id)
{
    if (options->id != NULL)
        *id = *options->id;
    else if (options->key != NULL)
        *id = csc_uuid_v8(options->user_id, options->key,
                          here->run_number > 1 ? here->run_number : 1);
    else
        *id = csc_uuid_v7(here->now_ms, &store->random);
}

/* A delay and a deadline count from now by the store's clock itself. */
static cascade_err
ask_now(const cascade_store *store, place *here)
{
    cascade_err err = CASCADE_OK;

    if (!here->exact)
        err = csc_move_now(store, &here->now_ms);
    here->exact = err == CASCADE_OK;
    return err;
}

/* One cascade of a call becomes a change in `start`. */
static cascade_err
make_change(cascade_store *store, const csc_start_spec *spec, place *here,
            csc_start *start)
{
    const cascade_start_options *options = &spec->options;
    csc_build_env env = {.arena = &start->arena,
                         .random = &store->random,
                         .location = here->location};
    csc_build_start build = {0};
    cascade_err err = CASCADE_OK;

    if (options->key != NULL)
        err = csc_move_check_keys(store);
    if (err == CASCADE_OK && options->reuse == CASCADE_REUSE_TERMINATE)
        err = csc_store_refuse_within(store, "start with "
                                             "CASCADE_REUSE_TERMINATE");
    if (err == CASCADE_OK &&
        (options->delay_ms > 0 || options->deadline_ms > 0))
        err = ask_now(store, here);
    if (err == CASCADE_OK && options->id != NULL)
        err = csc_link_begin_first(store, options->id, "start");
    if (err != CASCADE_OK)
        return err;
    env.now_ms = here->now_ms;
    env.delay_from_ms = here->now_ms;
    choose_id(store, options, here, &build.id);
    build.run_number = here->run_number;
    build.after_ms = here->after_ms;
    build.user_id = csc_arena_strdup(&start->arena, options->user_id);
    build.queue = csc_arena_strdup(&start->arena, options->queue);
    build.key = csc_arena_strdup(&start->arena, options->key);
    build.limit_key = csc_arena_strdup(&start->arena, options->limit_key);
    build.priority = options->priority;
    build.delay_ms = options->delay_ms;
    build.deadline_ms = options->deadline_ms;
    err = csc_start_spec_keep_first(spec, store, &start->arena, &start->bytes,
                                    &build);
    if (err == CASCADE_OK && start->arena.failed)
        err = csc_fail_memory();
    if (err == CASCADE_OK)
        err = csc_start_add_rows(&env, &build, &start->changes[start->count]);
    if (err == CASCADE_OK)
        start->count++;
    return err;
}

static bool
serves(const cascade_engine *engine, const char *queue)
{
    for (size_t i = 0; i < engine->options.queue_count; i++)
        if (strcmp(engine->queues[i], queue) == 0)
            return true;
    return false;
}

/* A delayed one would only be parked, one of a paused queue too. */
static bool
may_be_born_locked(const cascade_engine *engine, const csc_start *start,
                   int64_t now_ms)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->options.mode != CASCADE_MODE_THREADS ||
        engine->life != CSC_LIFE_RUNNING || !engine->incarnation.attached ||
        !csc_backlog_may_begin(engine) ||
        csc_room_for_claims(engine) < start->count)
        return false;
    for (size_t i = 0; i < start->count; i++)
        if (start->changes[i].run.wake_at_ms > now_ms ||
            !serves(engine, start->changes[i].run.queue) ||
            csc_pause_is_on_queue(engine, start->changes[i].run.queue))
            return false;
    return true;
}

/* Several cascades go through the lane of the first: their ids do not matter
 * before they are born. */
static csc_lane *
lane_of(cascade_engine *engine, const csc_start *start)
{
    return &engine->lanes[csc_run_lane(engine, &start->changes[0].cascade.id)];
}

/* Whether the engine takes it; then it is in its lane. */
static bool
give_to_locked(cascade_engine *engine, csc_start *start, int64_t now_ms)
{
    csc_lane *lane = lane_of(engine, start);

    csc_assert(csc_lock_is_held(&engine->mutex) && !start->queued);
    if (!may_be_born_locked(engine, start, now_ms) ||
        csc_reload_reserve(engine, start->count) != CASCADE_OK)
        return false;
    engine->room.births += start->count;
    engine->wakeup.callers++;
    start->entered = csc_lane_enter_locked(lane);
    csc_lane_queue_add_start_locked(lane, start);
    return true;
}

static cascade_engine *
find_engine(cascade_store *store, csc_start *start, int64_t now_ms)
{
    cascade_engine *found = NULL;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    for (size_t i = 0; i < store->engine_count && found == NULL; i++) {
        cascade_engine *engine = store->engines[i];

        csc_lock_take(&engine->mutex);
        if (give_to_locked(engine, start, now_ms))
            found = engine;
        csc_lock_give(&engine->mutex);
    }
    csc_lock_give(&store->mutex);
    return found;
}

static bool
take_back(cascade_engine *engine, csc_start *start)
{
    csc_lane *lane = lane_of(engine, start);
    csc_start *previous = NULL;
    csc_start *at = lane->first_start;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!start->queued)
        return false;
    while (at != start) {
        previous = at;
        at = at->next;
    }
    if (previous != NULL)
        previous->next = start->next;
    else
        lane->first_start = start->next;
    if (lane->last_start == start)
        lane->last_start = previous;
    start->queued = false;
    csc_start_request_done_locked(engine, start, CASCADE_ERR_UNAVAILABLE);
    return true;
}

/* With what the lane has met, where that is why. */
static cascade_err
fail_start_locked(const csc_lane *lane, cascade_err err)
{
    bool unknown = err == CASCADE_ERR_OUTCOME_UNKNOWN;
    bool told =
        lane->trouble[0] != '\0' &&
        (unknown || err == CASCADE_ERR_UNAVAILABLE || err == CASCADE_ERR_LOST);

    csc_assert(csc_lock_is_held(&lane->engine->mutex) && err != CASCADE_OK);
    return csc_fail(err, "start: %s%s%s%s", cascade_err_text(err),
                    unknown ? "; look the cascade up by its id" : "",
                    told ? ": " : "", told ? lane->trouble : "");
}

/* Waits for the lane, at most until `end_ms`. */
static cascade_err
await_lane(cascade_engine *engine, csc_start *start, int64_t end_ms)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex));
    while (!start->done) {
        int64_t left = csc_clock_left_ms(end_ms);

        if (left <= 0)
            break;
        csc_wakeup_wait_locked(engine, &start->cond, left);
    }
    if (start->done)
        err = start->err;
    else if (take_back(engine, start))
        err = CASCADE_ERR_UNAVAILABLE;
    else
        err = CASCADE_ERR_OUTCOME_UNKNOWN;
    start->left = !start->done;
    if (err == CASCADE_OK || err == CASCADE_ERR_AGAIN)
        return err;
    return fail_start_locked(lane_of(engine, start), err);
}

/* CASCADE_ERR_STOPPED: the engine stopped, or was lost, before it had sent
 * anything.
 * CASCADE_ERR_AGAIN: the start is among those that are held. */
static cascade_err
start_by_engine(cascade_engine *engine, csc_start *start, int64_t end_ms)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (start->entered)
        csc_lane_serve(lane_of(engine, start));
    csc_lock_take(&engine->mutex);
    err = await_lane(engine, start, end_ms);
    engine->wakeup.callers--;
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    csc_lock_give(&engine->mutex);
    return err;
}

/* ---- By a transaction of its own ---------------------------------------- */

static int
compare_changes(const void *a, const void *b, void *context)
{
    const cascade_change *changes = context;
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    int order =
        csc_uuid_compare(&changes[left].cascade.id, &changes[right].cascade.id);

    if (order != 0)
        return order;
    return left < right ? -1 : left > right;
}

/* Sorted by id; of several with one id the first mentioned stays. */
static cascade_err
sort_changes(csc_start *start)
{
    cascade_change *sorted =
        csc_arena_alloc(&start->arena, start->count, sizeof(*sorted));
    size_t *order =
        csc_arena_alloc(&start->arena, start->count, sizeof(*order));
    size_t kept = 0;

    if (sorted == NULL || order == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < start->count; i++)
        order[i] = i;
    qsort_r(order, start->count, sizeof(*order), compare_changes,
            start->changes);
    for (size_t i = 0; i < start->count; i++) {
        const cascade_change *change = &start->changes[order[i]];

        if (kept == 0 ||
            !csc_uuid_equal(&sorted[kept - 1].cascade.id, &change->cascade.id))
            sorted[kept++] = *change;
    }
    start->changes = sorted;
    start->count = kept;
    return CASCADE_OK;
}

/* `ids` in the order of the call; a repeated one existed, as far as the second
 * mention is concerned. */
static void
write_started(const csc_start *start, const cascade_uuid *ids, size_t count,
              cascade_started *started)
{
    for (size_t i = 0; i < count; i++)
        started[i] = (cascade_started){
            .id = ids[i],
            .existed = start->existed[csc_start_request_find(start, &ids[i])]};
    if (count == start->count)
        return;
    for (size_t i = 1; i < count; i++)
        for (size_t e = 0; e < i && !started[i].existed; e++)
            started[i].existed = csc_uuid_equal(&ids[e], &ids[i]);
}

/* It may have had an effect, and what its outcome is cannot be told. */
static cascade_err
fail_unknown(cascade_err err)
{
    if (err == CASCADE_OK || err == CASCADE_ERR_NO_MEMORY ||
        err == CASCADE_ERR_AGAIN)
        return err;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "start: it was made, and which run of its key is the "
                    "current one cannot be read: %s",
                    cascade_errmsg());
}

/* An id that existed may be that of a cascade which was deleted: it is taken
 * until the last of its rows is erased (S40 of store.h). */
static cascade_err
check_there(cascade_store *store, const cascade_uuid *id)
{
    csc_key_run run = {.id = *id};
    cascade_err err = csc_key_reuse_look(store, &run);

    if (err != CASCADE_OK || run.status != 0)
        return fail_unknown(err);
    return csc_erasure_fail("start", id);
}

/* A key that existed may have later runs: the current one is given. Where that
 * was deleted `anew` is the number of the run to be started, else 0. */
static cascade_err
find_current(cascade_store *store, const cascade_change *change,
             cascade_started *started, int32_t *anew)
{
    csc_key_run run;
    cascade_err err = CASCADE_OK;

    *anew = 0;
    if (!started->existed)
        return CASCADE_OK;
    if (change->key == NULL)
        return check_there(store, &change->cascade.id);
    err = csc_key_reuse_read(store, change->cascade.user_id, change->key,
                             CASCADE_REUSE_NEVER, &run);
    if (err == CASCADE_OK && run.number == 1)
        err = csc_key_reuse_look(store, &run);
    if (err == CASCADE_OK) {
        started->id = run.id;
        err = csc_key_reuse_next(store, CASCADE_REUSE_NEVER, &run, anew);
    }
    return fail_unknown(err);
}

/* The same, where `reuse` decides over the run that was seen when the call
 * began: over one that was started since, it does not. */
static cascade_err
use_seen(cascade_store *store, const cascade_change *change,
         cascade_reuse reuse, csc_key_run *seen, cascade_started *started,
         int32_t *anew)
{
    cascade_err err = CASCADE_OK;

    if (!started->existed || change->key == NULL || !csc_key_reuse_has(seen))
        return find_current(store, change, started, anew);
    err = csc_key_reuse_next(store, reuse, seen, anew);
    started->id = seen->id;
    return fail_unknown(err);
}

static int64_t
end_of_call(const cascade_store *store)
{
    return csc_clock_monotonic_ms(&csc_clock_system) +
           store->config.deadline_ms;
}

static bool
has_engines(cascade_store *store)
{
    bool has = false;

    csc_lock_take(&store->mutex);
    has = store->engine_count > 0;
    csc_lock_give(&store->mutex);
    return has;
}

/* Without an engine it may keep its connection for as long as it waits. */
static cascade_err
start_by_submit(cascade_store *store, csc_start *start,
                cascade_submission *submission, int64_t end_ms)
{
    submission->brief = has_engines(store);
    if (!submission->brief)
        return csc_submit(store, submission, "start");
    return csc_blocked_start_send(store, start, submission, end_ms);
}

/* The store's time and the location; an engine of this process knows both
 * without asking. Without one the handle does, most of the time. */
static cascade_err
find_place(cascade_store *store, csc_arena *arena, place *here)
{
    bool known = false;

    here->location = "server";
    here->exact = false;
    csc_lock_take(&store->mutex);
    for (size_t i = 0; i < store->engine_count && !known; i++) {
        cascade_engine *engine = store->engines[i];

        csc_lock_take(&engine->mutex);
        known = engine->incarnation.attached;
        if (known) {
            here->now_ms = csc_clock_now_ms(engine);
            here->location = csc_arena_strdup(arena, engine->location);
        }
        csc_lock_give(&engine->mutex);
    }
    csc_lock_give(&store->mutex);
    if (here->location == NULL)
        return csc_fail_memory();
    return known ? CASCADE_OK : csc_store_get_now(store, &here->now_ms);
}

/* ---- Public ------------------------------------------------------------- */

/* Through an engine of this process, born owned, where one takes it. */
static cascade_err
send_start(cascade_store *store, csc_start *start, int64_t now_ms)
{
    cascade_submission submission = {.starts = start->changes,
                                     .start_count = start->count,
                                     .existed = start->existed,
                                     .brief = true};
    int64_t end_ms = end_of_call(store);
    cascade_engine *engine = NULL;
    cascade_err err = CASCADE_ERR_STOPPED;

    if (csc_blocked_join(store, start))
        err = CASCADE_ERR_AGAIN;
    else
        engine = find_engine(store, start, now_ms);
    if (engine != NULL)
        err = start_by_engine(engine, start, end_ms);
    if (err == CASCADE_ERR_AGAIN)
        err = csc_blocked_start_submit(store, start, &submission, end_ms);
    else if (err == CASCADE_ERR_STOPPED)
        err = start_by_submit(store, start, &submission, end_ms);
    return err;
}

static cascade_err
send_all(cascade_store *store, csc_start *start, int64_t now_ms,
         cascade_started *started)
{
    size_t count = start->count;
    cascade_uuid *ids = csc_arena_alloc(&start->arena, count, sizeof(*ids));
    cascade_err err = CASCADE_OK;

    if (ids == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < count; i++)
        ids[i] = start->changes[i].cascade.id;
    err = sort_changes(start);
    if (err == CASCADE_OK)
        err = send_start(store, start, now_ms);
    if (err == CASCADE_ERR_OUTCOME_UNKNOWN)
        for (size_t i = 0; i < count; i++)
            started[i] = (cascade_started){.id = ids[i]};
    if (err == CASCADE_OK)
        write_started(start, ids, count, started);
    return err;
}

/* One of a call whose others were made: a run of that number. */
static cascade_err
start_run(cascade_store *store, const csc_start_spec *spec, place *here,
          cascade_started *started, int32_t *anew)
{
    csc_start *start = NULL;
    cascade_err err = create_start(1, &start);

    if (err != CASCADE_OK)
        return err;
    here->run_number = *anew;
    err = find_place(store, &start->arena, here);
    if (err == CASCADE_OK)
        err = make_change(store, spec, here, start);
    if (err == CASCADE_OK)
        err = send_all(store, start, here->now_ms, started);
    if (err == CASCADE_OK)
        err = find_current(store, &start->changes[0], started, anew);
    csc_start_request_unref(start);
    return err;
}

/* Others may start and delete it as well. */
static cascade_err
start_anew(cascade_store *store, const csc_start_spec *spec, place *here,
           cascade_started *started, int32_t anew)
{
    cascade_err err = CASCADE_OK;

    while (anew > 0 && err == CASCADE_OK)
        err = start_run(store, spec, here, started, &anew);
    if (err == CASCADE_OK || err == CASCADE_ERR_NO_MEMORY ||
        err == CASCADE_ERR_OUTCOME_UNKNOWN)
        return err;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "start: a key has no run any more, and could not be "
                    "started anew; what else was asked for was made: %s",
                    cascade_errmsg());
}

/* Before anything is sent: what is there of the keys that may be used again. */
static cascade_err
look_at_keys(cascade_store *store, const csc_start_spec *specs, size_t count,
             const csc_start *start, csc_key_run *seen)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        const cascade_change *change = &start->changes[i];
        cascade_reuse reuse = specs[i].options.reuse;

        if (reuse != CASCADE_REUSE_NEVER)
            err = csc_key_reuse_read(store, change->cascade.user_id,
                                     change->key, reuse, &seen[i]);
    }
    return err;
}

/* Of several with one key the first mentioned decides, and the others get the
 * same. */
static cascade_err
find_all_current(cascade_store *store, const csc_start_spec *specs,
                 csc_start *start, csc_key_run *seen, place *here, size_t count,
                 cascade_started *started)
{
    const cascade_started **known =
        csc_arena_alloc(&start->arena, start->count, sizeof(*known));
    cascade_err err = known != NULL ? CASCADE_OK : csc_fail_memory();

    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        size_t at = csc_start_request_find(start, &started[i].id);
        int32_t anew = 0;

        if (known[at] != NULL) {
            started[i] =
                (cascade_started){.id = known[at]->id, .existed = true};
            continue;
        }
        err = use_seen(store, &start->changes[at], specs[i].options.reuse,
                       &seen[i], &started[i], &anew);
        here->after_ms = seen[i].updated_at_ms;
        if (err == CASCADE_OK)
            err = start_anew(store, &specs[i], here, &started[i], anew);
        known[at] = &started[i];
    }
    return err;
}

static cascade_err
start_all(cascade_store *store, const cascade_start_spec *given, size_t count,
          cascade_started *started)
{
    csc_start *start = NULL;
    csc_start_spec *specs = NULL;
    csc_key_run *seen = NULL;
    place here = {0};
    cascade_err err = create_start(count, &start);

    if (err != CASCADE_OK)
        return err;
    specs = csc_arena_alloc(&start->arena, count, sizeof(*specs));
    seen = csc_arena_alloc(&start->arena, count, sizeof(*seen));
    if (specs == NULL || seen == NULL)
        err = csc_fail_memory();
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = csc_start_spec_read(given, i, &specs[i]);
    if (err == CASCADE_OK)
        err = find_place(store, &start->arena, &here);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = make_change(store, &specs[i], &here, start);
    if (err == CASCADE_OK)
        err = look_at_keys(store, specs, count, start, seen);
    if (err == CASCADE_OK)
        err = send_all(store, start, here.now_ms, started);
    if (err == CASCADE_OK)
        err =
            find_all_current(store, specs, start, seen, &here, count, started);
    csc_start_request_unref(start);
    return err == CASCADE_OK ? csc_ok() : err;
}

/* The key's first run was deleted: the signal goes to the current one; where
 * that was too, `anew` tells. */
static cascade_err
signal_current(cascade_store *store, csc_start *start,
               const csc_signal_spec *signal, cascade_message_row *message,
               cascade_submission *submission, int32_t *anew)
{
    cascade_started current = {.id = message->cascade_id, .existed = true};
    cascade_err err = find_current(store, &start->changes[0], &current, anew);

    submission->start_count = 0;
    if (err != CASCADE_OK || *anew > 0)
        return err;
    err = csc_signal_make(store, &start->arena, signal, &current.id, message);
    return err == CASCADE_OK ? csc_submit(store, submission, "start") : err;
}

/* What became of both, where they were sent. */
static cascade_err
answer_both(cascade_store *store, const csc_start *start,
            const cascade_message_row *message, cascade_sent sent,
            cascade_started *started, int32_t *anew)
{
    cascade_err err =
        csc_run_chain_sent(store, &message->cascade_id, message->path, &sent);

    if (err == CASCADE_OK)
        err = csc_signal_answer(sent, "start with signal");
    if (err != CASCADE_OK)
        return err;
    err = find_current(store, &start->changes[0], started, anew);
    if (err == CASCADE_OK)
        return csc_ok();
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "start: the signal was sent: %s", cascade_err_text(err));
}

/* Both are submitted together. */
static cascade_err
start_and_signal(cascade_store *store, csc_start *start,
                 const csc_signal_spec *signal, cascade_started *started,
                 int32_t *anew)
{
    cascade_message_row message = {0};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    cascade_submission submission = {.starts = start->changes,
                                     .start_count = 1,
                                     .existed = start->existed,
                                     .messages = &message,
                                     .message_count = 1,
                                     .sent = &sent};
    const cascade_uuid *id = &start->changes[0].cascade.id;
    cascade_err err =
        csc_signal_make(store, &start->arena, signal, id, &message);

    if (err == CASCADE_OK)
        err = start_by_submit(store, start, &submission, end_of_call(store));
    if (err == CASCADE_OK || err == CASCADE_ERR_OUTCOME_UNKNOWN)
        *started = (cascade_started){
            .id = *id, .existed = err == CASCADE_OK && start->existed[0]};
    if (err == CASCADE_OK && sent == CASCADE_SENT_ABSENT)
        err = signal_current(store, start, signal, &message, &submission, anew);
    if (err != CASCADE_OK || *anew > 0)
        return err;
    return answer_both(store, start, &message, sent, started, anew);
}

/* A run of the number in `here` (0: the first); writes 0, or the next to try.
 */
static cascade_err
try_with_signal(cascade_store *store, const csc_start_spec *spec,
                const csc_signal_spec *signal, place *here,
                cascade_started *started, int32_t *anew)
{
    csc_start *start = NULL;
    cascade_err err = create_start(1, &start);

    *anew = 0;
    if (err != CASCADE_OK)
        return err;
    csc_assert(start != NULL);
    err = find_place(store, &start->arena, here);
    if (err == CASCADE_OK)
        err = make_change(store, spec, here, start);
    if (err == CASCADE_OK)
        err = start_and_signal(store, start, signal, started, anew);
    csc_start_request_unref(start);
    return err;
}

/* The run that is to have the signal: one that was sent to another one is not
 * taken back. Its number is 0: the first, or that is to be found out. */
static cascade_err
choose_run(cascade_store *store, const csc_start_spec *spec, place *here)
{
    const cascade_start_options *options = &spec->options;
    csc_key_run run;
    cascade_err err = CASCADE_OK;

    if (options->key == NULL)
        return CASCADE_OK;
    err = csc_key_reuse_read(store, options->user_id, options->key,
                             options->reuse, &run);
    if (err != CASCADE_OK || !csc_key_reuse_has(&run))
        return err;
    err = csc_key_reuse_next(store, options->reuse, &run, &here->run_number);
    here->after_ms = run.updated_at_ms;
    if (err == CASCADE_OK && here->run_number == 0 && run.number > 1)
        here->run_number = run.number;
    return err;
}

/* What is wrong with either is found before a run is terminated for them. */
static cascade_err
check_both(cascade_store *store, const csc_start_spec *spec,
           const csc_signal_spec *signal)
{
    csc_arena scratch = {0};
    csc_build_start build = {0};
    size_t bytes = 0;
    cascade_err err = csc_signal_check(store, signal);

    if (err == CASCADE_OK)
        err = csc_start_spec_keep_first(spec, store, &scratch, &bytes, &build);
    csc_arena_fini(&scratch);
    return err;
}

static cascade_err
start_with_signal(cascade_store *store, const cascade_start_spec *given,
                  const csc_signal_spec *signal, cascade_started *started)
{
    csc_start_spec spec;
    place here = {0};
    int32_t anew = 0;
    cascade_err err = csc_start_spec_read(given, 0, &spec);

    if (err == CASCADE_OK && spec.options.reuse == CASCADE_REUSE_TERMINATE)
        err = check_both(store, &spec, signal);
    if (err == CASCADE_OK)
        err = choose_run(store, &spec, &here);
    if (err == CASCADE_OK)
        do {
            err = try_with_signal(store, &spec, signal, &here, started, &anew);
            here.run_number = anew;
        } while (err == CASCADE_OK && anew > 0);
    return err;
}

static cascade_err
start_one_with_signal(cascade_store *store, const cascade_first *first,
                      const cascade_start_options *options,
                      const csc_signal_spec *signal, cascade_started *started)
{
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = first,
                                     .first_count = 1,
                                     .options = options};
    cascade_err err = CASCADE_OK;

    if (store == NULL || started == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "start: %s is NULL",
                       store == NULL ? "store" : "started");
    else
        err = csc_origin_check(store);
    if (err == CASCADE_OK)
        err = csc_store_refuse_inside(store, "cascade_start_with_signal()");
    return err == CASCADE_OK ? start_with_signal(store, &spec, signal, started)
                             : err;
}

cascade_err
cascade_start_with_signal(cascade_store *store, const char *node, cJSON *input,
                          const cascade_start_options *start_options,
                          const char *name, cJSON *payload,
                          const cascade_signal_options *signal_options,
                          cascade_started *started)
{
    const cascade_first first = {
        .size = sizeof(first), .node = node, .input = input};
    const csc_signal_spec signal = {name, csc_json_given_tree(payload),
                                    signal_options};
    cascade_err err =
        start_one_with_signal(store, &first, start_options, &signal, started);

    cJSON_Delete(input);
    cJSON_Delete(payload);
    return err;
}

cascade_err
cascade_start_with_signal_text(cascade_store *store, const char *node,
                               const char *input,
                               const cascade_start_options *start_options,
                               const char *name, const char *payload,
                               const cascade_signal_options *signal_options,
                               cascade_started *started)
{
    const cascade_first first = {
        .size = sizeof(first), .node = node, .input_text = input};
    const csc_signal_spec signal = {name, csc_json_given_text(payload),
                                    signal_options};
    cascade_err err = csc_json_given_check("input", csc_json_given_text(input));

    return err == CASCADE_OK
               ? start_one_with_signal(store, &first, start_options, &signal,
                                       started)
               : err;
}

cascade_err
cascade_start_many(cascade_store *store, const cascade_start_spec *specs,
                   size_t count, cascade_started *started)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || specs == NULL || started == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "start: %s is NULL",
                        store == NULL   ? "store"
                        : specs == NULL ? "specs"
                                        : "started");
    if (count < 1 || count > START_MANY_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "start: give 1 to %d cascades in one call, not %zu",
                        START_MANY_MAX, count);
    err = csc_store_refuse_inside(store, "cascade_start()");
    return err == CASCADE_OK ? start_all(store, specs, count, started) : err;
}

static cascade_err
start_one(cascade_store *store, const cascade_first *first,
          const cascade_start_options *options, cascade_started *started)
{
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = first,
                                     .first_count = 1,
                                     .options = options};

    return cascade_start_many(store, &spec, 1, started);
}

cascade_err
cascade_start(cascade_store *store, const char *node, cJSON *input,
              const cascade_start_options *options, cascade_started *started)
{
    const cascade_first first = {
        .size = sizeof(first), .node = node, .input = input};
    cascade_err err = start_one(store, &first, options, started);

    cJSON_Delete(input);
    return err;
}

cascade_err
cascade_start_text(cascade_store *store, const char *node, const char *text,
                   const cascade_start_options *options,
                   cascade_started *started)
{
    const cascade_first first = {
        .size = sizeof(first), .node = node, .input_text = text};
    cascade_err err = csc_json_given_check("input", csc_json_given_text(text));

    return err == CASCADE_OK ? start_one(store, &first, options, started) : err;
}
