/* SPDX-License-Identifier: MIT
 *
 * Claiming runs, in bursts.
 *
 * A claim that comes back full is the first of a burst: more is due, after a
 * crash a whole engine's runs. With threads of its own an engine then loads one
 * batch in a helper while it claims the next:
 *
 *   housekeeper   claim 1 | claim 2 | claim 3 | load 3       | claim 4 | ...
 *   helper                | load 1       | load 2        | load 4    | ...
 *
 * One batch may wait for the helper; when another does already the housekeeper
 * loads its batch itself, so neither is idle, and no more than three are in
 * hand. Only the housekeeper claims. The helper is gone when the burst ends,
 * which is soon: there is a lease to renew, and timers are to fire.
 *
 * If the process dies after a claim: the runs are owned by an incarnation that
 * is gone, and any engine frees and claims them (S11).
 */
#include "claim/claim.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "claim/end_unloaded.h"
#include "claim/hydrate.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/room/mailbox.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/room/suspect.h"
#include "held/run/drop.h"
#include "held/run/pause.h"
#include "store/move.h"
#include "store/store.h"

#define BURST_MS 50
#define HOST_SLOTS 2 /* where the host's thread runs the nodes */
#define AHEAD_MAX 16 /* runs with a slot that wait for a worker, of each, */
#define AHEAD_NS INT64_C(20000000) /* and about as long as that; a slot that */
#define YIELD_NS INT64_C(1000000000) /* waits so long for one is given back */

/* What one claim brought. `places` of the capacity are taken until it is
 * loaded: meanwhile cascades are born here. */
typedef struct batch {
    csc_reload wanted[CSC_CLAIM_MAX];
    size_t count;
    size_t places;
} batch;

/* How many to ask for. */
static size_t
take_places(cascade_engine *engine)
{
    size_t room = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    if (engine->incarnation.attached && !csc_room_waits(engine))
        room = csc_room_for_claims(engine);
    if (room > CSC_CLAIM_MAX)
        room = CSC_CLAIM_MAX;
    err = csc_reload_reserve(engine, room);
    if (err != CASCADE_OK)
        room = 0;
    engine->room.claiming += room;
    csc_lock_give(&engine->mutex);
    if (err != CASCADE_OK)
        csc_clock_hold(engine);
    return room;
}

static void
give_places(cascade_engine *engine, size_t places)
{
    csc_lock_take(&engine->mutex);
    csc_assert(engine->room.claiming >= places);
    engine->room.claiming -= places;
    csc_lock_give(&engine->mutex);
}

/* What the store says is still to come may be due by the time as this process
 * knows it: then that has gone ahead, and would make it ask again at once. */
static void
note_next_wake(cascade_engine *engine, int64_t wake_at_ms, uint64_t frees)
{
    csc_lock_take(&engine->mutex);
    if (engine->mailbox.frees != frees &&
        engine->mailbox.next_wake_ms != CASCADE_TIME_NONE &&
        (wake_at_ms == CASCADE_TIME_NONE ||
         engine->mailbox.next_wake_ms < wake_at_ms))
        wake_at_ms =
            engine->mailbox.next_wake_ms; /* parked while the store looked */
    engine->mailbox.next_wake_ms = wake_at_ms;
    csc_lock_give(&engine->mutex);
    if (wake_at_ms != CASCADE_TIME_NONE &&
        wake_at_ms <= csc_clock_now_ms(engine))
        (void)csc_clock_sync(engine);
}

/* A claim failed. One that has done nothing (S34) costs nothing but time: what
 * is held here is held by us as before. */
static void
note_unclaimed(cascade_engine *engine, cascade_err err)
{
    csc_log_add(&engine->store->log, CASCADE_LOG_WARNING, "claiming failed: %s",
                cascade_errmsg());
    csc_lock_take(&engine->mutex);
    if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST ||
        err == CASCADE_ERR_UNAVAILABLE)
        csc_drop_lose(engine, err);
    csc_lock_give(&engine->mutex);
    csc_clock_hold(engine);
}

static size_t
count_slots(const cascade_claim_result *result, const cascade_claimed *claimed)
{
    size_t count = 0;

    for (size_t i = 0; i < result->count; i++)
        count += claimed[i].slot;
    return count;
}

static size_t
worker_count(const cascade_engine *engine)
{
    return engine->options.mode == CASCADE_MODE_THREADS
               ? engine->options.worker_count
               : HOST_SLOTS;
}

static bool
has_kept(const cascade_claim *claim, const cascade_claim_result *result)
{
    for (size_t i = 0; i < claim->queue_count; i++)
        if (result->kept[i])
            return true;
    return false;
}

/* Whether another claim may give runs of queues with limits: once there is an
 * idle worker, or as one of these has left its slot meanwhile. */
static bool
has_more_turns(const cascade_engine *engine, const cascade_claim *claim,
               const cascade_claim_result *result,
               const cascade_claimed *claimed, uint64_t slots_left)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return result->again || (has_kept(claim, result) &&
                             (count_slots(result, claimed) >= claim->slots ||
                              engine->mailbox.slots_left != slots_left));
}

/* How many slots are left in the time of AHEAD_NS, as it was last. */
static size_t
pace_of_turns(cascade_engine *engine)
{
    csc_claims *claims = engine->claims;
    int64_t now_ns = csc_clock_now_ns(engine);
    int64_t span_ns = now_ns - claims->turns_at_ns;
    uint64_t left = engine->mailbox.slots_left - claims->turns_left;

    csc_assert(csc_lock_is_held(&engine->mutex) && span_ns >= 0);
    if (span_ns < AHEAD_NS)
        return claims->turns_pace;
    claims->turns_pace =
        (size_t)((double)left * (double)AHEAD_NS / (double)span_ns);
    claims->turns_at_ns = now_ns;
    claims->turns_left = engine->mailbox.slots_left;
    return claims->turns_pace;
}

/* Who got all that he asked for asks for more the next time, as a claim costs a
 * commit: for what will begin within moments, as functions are short. Who got
 * less has met a maximum, or the end: what others could run is left to them. */
static size_t
turns_ahead(cascade_engine *engine)
{
    size_t most = AHEAD_MAX * worker_count(engine);
    size_t pace = pace_of_turns(engine);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->claims->turns_scarce)
        return 0;
    return pace < most ? pace : most;
}

/* What it told beside the runs. */
static void
note_claimed(cascade_engine *engine, const cascade_claim *claim,
             const cascade_claim_result *result, const cascade_claimed *claimed,
             uint64_t slots_left)
{
    csc_lock_take(&engine->mutex);
    engine->mailbox.receive_due =
        engine->mailbox.receive_due || result->messages;
    if (claim->suspects) {
        if (claim->suspect_from < INT32_MAX) /* else it asked for none */
            engine->claims->suspect_later = result->suspects;
    } else {
        engine->mailbox.turns_more =
            has_more_turns(engine, claim, result, claimed, slots_left);
        if (claim->slots > 0)
            engine->claims->turns_scarce =
                !result->again && count_slots(result, claimed) < claim->slots;
    }
    csc_pause_note_queues(engine, result->paused, result->kept);
    csc_lock_give(&engine->mutex);
}

/* Whether there is a suspect nobody knows: it is asked for again. */
static void
note_unasked(cascade_engine *engine)
{
    csc_lock_take(&engine->mutex);
    engine->claims->suspects_due = true;
    csc_lock_give(&engine->mutex);
}

/* Runs of queues with limits are claimed by who can begin them now, or soon:
 * others would wait for them. One that has a slot is in a function, or is about
 * to be. */
static size_t
slots_for(const cascade_engine *engine)
{
    size_t busy = engine->calls.running + engine->ready.count;
    size_t held = engine->mailbox.slots_held;
    size_t most = worker_count(engine) + engine->claims->turns_ahead;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (busy < held)
        busy = held;
    return busy < most ? most - busy : 0;
}

/* By half of those that are asked for ahead, not one by one. */
bool
csc_claim_has_turns_locked(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->mailbox.turns_more &&
           slots_for(engine) > engine->claims->turns_ahead / 2;
}

/* A function that is slower than those before it keeps what was asked for ahead
 * from whoever could begin it; so do those of queues without limits. */
int64_t
csc_claim_yield_at_locked(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->mailbox.slots_held > 0 && engine->ready.count > 0
               ? engine->claims->yield_at_ns
               : INT64_MAX;
}

void
csc_claim_yield_locked(cascade_engine *engine)
{
    int64_t now_ns = csc_clock_now_ns(engine);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (now_ns < csc_claim_yield_at_locked(engine))
        return;
    csc_pause_yield(engine, now_ns - YIELD_NS);
    engine->claims->yield_at_ns = now_ns + YIELD_NS;
}

static size_t
claim_some(cascade_engine *engine, size_t limit, bool suspects,
           int32_t suspect_from, csc_reload *wanted)
{
    cascade_claimed claimed[CSC_CLAIM_MAX];
    cascade_claim_result result = {.next_wake_at_ms = CASCADE_TIME_NONE,
                                   .paused = engine->claims->queues_told,
                                   .kept = engine->claims->kept_told};
    cascade_claim claim = {.engine_id = engine->incarnation.id,
                           .queues = (const char *const *)engine->queues,
                           .queue_count = engine->options.queue_count,
                           .nodes = engine->node_names,
                           .node_count = engine->node_count + 1,
                           .limit = limit,
                           .suspect_from = suspect_from,
                           .suspects = suspects,
                           .own_kinds = csc_build_own_kinds,
                           .own_kind_count = CSC_BUILD_OWN_KINDS};
    cascade_err err = CASCADE_OK;
    uint64_t frees = 0;
    uint64_t slots_left = 0;

    csc_assert(csc_lock_is_none_held() && limit > 0 && limit <= CSC_CLAIM_MAX);
    csc_lock_take(&engine->mutex);
    frees = engine->mailbox.frees;
    slots_left = engine->mailbox.slots_left;
    engine->claims->turns_ahead = turns_ahead(engine);
    claim.slots = slots_for(engine);
    if (claim.slots > limit)
        claim.slots = limit;
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++)
        claim.batches += engine->lanes[i].number;
    csc_lock_give(&engine->mutex);
    err = csc_move_claim(engine->store, &claim, claimed, &result);
    if (err != CASCADE_OK) {
        note_unclaimed(engine, err);
        if (suspects)
            note_unasked(engine);
        return 0;
    }
    if (!suspects)
        note_next_wake(engine, result.next_wake_at_ms, frees);
    note_claimed(engine, &claim, &result, claimed, slots_left);
    for (size_t i = 0; i < result.count; i++)
        wanted[i] = (csc_reload){.claimed = claimed[i],
                                 .fail_id = -1,
                                 .is_new = true,
                                 .may_end = true};
    csc_assert(result.count <= limit);
    return result.count;
}

static void
claim_batch(cascade_engine *engine, batch *b)
{
    b->count = 0;
    b->places = take_places(engine);
    if (b->places > 0)
        b->count = claim_some(engine, b->places, false,
                              csc_suspect_from(engine), b->wanted);
    csc_assert(b->places <= CSC_CLAIM_MAX && b->count <= b->places);
}

/* What is claimed to be ended is not loaded. The rest waits, if it `may_wait`,
 * where others of the burst have taken the memory. */
static void
load_claimed(cascade_engine *engine, csc_reload *wanted, size_t count,
             bool may_wait)
{
    size_t left = csc_end_unloaded(engine, wanted, count);

    csc_assert(count <= CSC_CLAIM_MAX);
    if (left == 0 || (may_wait && csc_hydrate_put_off(engine, wanted, left)))
        return;
    csc_hydrate_load(engine, wanted, left);
}

static void
load_batch(cascade_engine *engine, batch *b)
{
    csc_assert(b->count <= b->places);
    load_claimed(engine, b->wanted, b->count, true);
    give_places(engine, b->places);
}

typedef struct burst {
    cascade_engine *engine;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t cond;
    batch next; /* for the helper, while its count is not 0 */
    bool over;
} burst;

static void *
helper_main(void *context)
{
    burst *u = context;
    batch mine;

    csc_lock_take(&u->mutex);
    for (;;) {
        while (u->next.count == 0 && !u->over)
            pthread_cond_wait(&u->cond, &u->mutex);
        if (u->next.count == 0)
            break;
        mine = u->next;
        u->next.count = 0;
        csc_lock_give(&u->mutex);
        load_batch(u->engine, &mine);
        csc_lock_take(&u->mutex);
    }
    csc_lock_give(&u->mutex);
    return NULL;
}

/* False when the helper has one waiting. */
static bool
hand_over(burst *u, const batch *b)
{
    bool free = false;

    csc_assert(b->count > 0);
    csc_lock_take(&u->mutex);
    free = u->next.count == 0;
    if (free) {
        u->next = *b;
        pthread_cond_signal(&u->cond);
    }
    csc_lock_give(&u->mutex);
    return free;
}

/* Loads what `b` holds and claims on; the last claim is in `b`, and loaded. */
static void
go_on(burst *u, batch *b)
{
    cascade_engine *engine = u->engine;
    int64_t until_ns = csc_clock_now_ns(engine) + BURST_MS * CSC_MS_NS;

    csc_assert(b->count == CSC_CLAIM_MAX);
    while (b->count == CSC_CLAIM_MAX && csc_clock_now_ns(engine) < until_ns) {
        if (!hand_over(u, b))
            load_batch(engine, b);
        claim_batch(engine, b);
    }
    load_batch(engine, b);
}

static void
end_helper(burst *u)
{
    csc_lock_take(&u->mutex);
    u->over = true;
    pthread_cond_signal(&u->cond);
    csc_lock_give(&u->mutex);
    (void)pthread_join(u->thread, NULL);
}

static burst *
create_burst(cascade_engine *engine)
{
    burst *u = csc_mem_zalloc(1, sizeof(*u));

    if (u == NULL)
        return NULL;
    u->engine = engine;
    if (csc_lock_init_mutex(&u->mutex) != CASCADE_OK)
        goto no_mutex;
    if (csc_lock_init_cond(&u->cond) == CASCADE_OK)
        return u;
    csc_lock_fini_mutex(&u->mutex);
no_mutex:
    csc_mem_free(u);
    return NULL;
}

static void
free_burst(burst *u)
{
    csc_lock_fini_cond(&u->cond);
    csc_lock_fini_mutex(&u->mutex);
    csc_mem_free(u);
}

/* Without what a helper needs, or a thread, there is one batch at a time. */
static void
run_burst(cascade_engine *engine, batch *b)
{
    burst *u = create_burst(engine);

    csc_assert(b->count == CSC_CLAIM_MAX);
    if (u == NULL) {
        load_batch(engine, b);
        return;
    }
    if (csc_thread_create(&u->thread, 0, helper_main, u) == CASCADE_OK) {
        go_on(u, b);
        end_helper(u);
    } else {
        load_batch(engine, b);
    }
    free_burst(u);
}

/* True when there was one. While another is held there is no place: whether
 * more of them follow is then as the last claim has told. */
static bool
claim_suspect(cascade_engine *engine)
{
    csc_reload wanted;
    size_t places = take_places(engine);
    size_t found = 0;

    csc_assert(csc_lock_is_none_held());
    if (places == 0) {
        note_unasked(engine);
        return false;
    }
    found = claim_some(engine, 1, true, csc_suspect_from(engine), &wanted);
    load_claimed(engine, &wanted, found, false);
    give_places(engine, places);
    csc_lock_take(&engine->mutex);
    engine->claims->suspect_more = found > 0;
    csc_lock_give(&engine->mutex);
    return found > 0;
}

/* No run has been taken over so often: it claims nothing. */
void
csc_claim_ask(cascade_engine *engine)
{
    csc_reload wanted;
    size_t found = claim_some(engine, 1, true, INT32_MAX, &wanted);

    csc_assert(csc_lock_is_none_held());
    load_claimed(engine, &wanted, found, false);
}

/* A suspect is asked for first, so that a stream of others cannot keep it out;
 * when there is one nothing else is claimed. */
void
csc_claim_round(cascade_engine *engine, bool suspects)
{
    int64_t begun_ns = csc_clock_now_ns(engine);
    bool found = suspects && claim_suspect(engine);
    batch b = {.count = 0};

    csc_assert(csc_lock_is_none_held());
    if (!found)
        claim_batch(engine, &b);
    if (b.count == CSC_CLAIM_MAX &&
        engine->options.mode == CASCADE_MODE_THREADS)
        run_burst(engine, &b);
    else
        load_batch(engine, &b);
    csc_lock_take(&engine->mutex);
    engine->mailbox.claim_more = found || b.count == b.places;
    if (found || b.count > 0)
        engine->claims->hydrate_ns += csc_clock_now_ns(engine) - begun_ns;
    csc_lock_give(&engine->mutex);
}
