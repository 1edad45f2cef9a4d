/* SPDX-License-Identifier: MIT
 *
 * The housekeeper: everything an engine does with the store that is not a
 * commit of its cascades.
 *
 *   not attached   wait until no lane is in the store, detach the incarnation
 *                  that was lost, attach a new one
 *   renew          one UPDATE every half of the lease, however much is held; it
 *                  tells the store's time too. Where this thread is late
 *                  another one does it: see lease.c.
 *                  FENCED: somebody removed us; drop everything, attach anew
 *   limits         functions that are over their time: see time_limit_call.c
 *   timers         never by a guess of the clock: before one fires, the store
 *                  is asked for its time
 *   reloads        cascades owned but not in memory: loaded again; large ones
 *                  a portion in each round: see stream.c
 *   remove         incarnations that are dead: see peers.c
 *   receive        messages for what is owned, when a claim has seen some, or
 *                  when there is no room for a claim to be made
 *   claim          runs that are free and due, up to the capacity; then load.
 *                  When somebody says that there are some, when the earliest
 *                  that is known comes due, when the last one was full and
 *                  there is room again, and every poll interval; where
 *                  wakes are heard, every few of them. It tells of paused
 *                  queues too; at a poll where there is no room for it, one is
 *                  made that claims nothing. Before it, slots of queues with
 *                  limits are given back that no worker came to in a second
 *   erasures       a piece of what was deleted: see erasure.c
 *   retention      a portion of what has ended long ago: see retention.c
 *
 * Each failure is logged, answered with a pause, and leaves the others
 * running: a housekeeper that dies of its first database error would be the
 * end of recovery.
 *
 * A claim whose reply is lost may have made runs ours unseen. Such runs would
 * be held by a living engine that does not know of them, so the engine gives
 * up its incarnation: deleting it frees them, and it attaches anew.
 */
#include "engine/housekeeper.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "cascade/store_limits.h"
#include "claim/claim.h"
#include "claim/hydrate.h"
#include "claim/peers.h"
#include "claim/receive.h"
#include "claim/stream.h"
#include "engine/erasure.h"
#include "engine/lease.h"
#include "engine/retention.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/erasure_due.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/log_queue.h"
#include "held/room/backlog.h"
#include "held/room/mailbox.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/room/suspect.h"
#include "held/run/advance.h"
#include "held/run/pause.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "held/run/timer.h"
#include "held/vital.h"
#include "held/wakeup.h"
#include "query/capabilities.h"
#include "store/move.h"
#include "store/store.h"

#define ASKED_QUEUES_MAX 16 /* for their limits, before it is attached */
#define ATTACH_BACKOFF_MS 50
#define ATTACH_BACKOFF_MAX_MS 2000
#define LONG_POLLS 5 /* every how many polls work is looked for all the same */
#define SUSPECT_SLOT_MS 100
#define IDLE_WAIT_MS 60000

/* ---- The incarnation ---------------------------------------------------- */

static bool
lanes_are_out(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++)
        if (csc_lane_queue_is_owned_locked(&engine->lanes[i]))
            return false;
    return true;
}

/* Inserts the incarnation, which tells what this engine serves. */
static cascade_err
insert(const cascade_engine *engine, const cascade_uuid *id)
{
    csc_about about = {.version = cascade_version(),
                       .brief = engine->incarnation.brief,
                       .queues = (const char *const *)engine->queues,
                       .queue_count = engine->options.queue_count,
                       .nodes = engine->node_names,
                       .node_count = engine->node_count};
    char *text = csc_capabilities_encode(&about);
    cascade_incarnation incarnation = {
        .engine_id = *id,
        .host = engine->host,
        .pid = getpid(),
        .process_start = csc_clock_process_start(getpid()),
        .lease_ms = engine->options.lease_ms,
        .lane_count = csc_lane_queue_lane_count(engine),
        .about = text};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held() && !engine->incarnation.attached);
    if (text == NULL)
        return csc_fail_memory();
    err = csc_move_attach(engine->store, &incarnation);
    csc_mem_free(text);
    return err;
}

static cascade_err
note_limits(void *context, const cascade_limits_row *row)
{
    (void)row;
    *(bool *)context = true;
    return CASCADE_OK;
}

/* Which of its queues have limits. Where that cannot be read, or there are so
 * many that the lease would wait for it, claims tell it: until then nothing is
 * born there. */
static void
read_limits(cascade_engine *engine)
{
    bool *kept = engine->claims->kept_told;

    csc_assert(csc_lock_is_none_held() && !engine->incarnation.attached);
    for (size_t i = 0; i < engine->options.queue_count; i++) {
        cascade_err err = CASCADE_OK;

        kept[i] = engine->options.queue_count > ASKED_QUEUES_MAX;
        if (kept[i])
            continue;
        err = csc_move_list_limits(engine->store, engine->queues[i], "", 1,
                                   note_limits, &kept[i]);
        if (err != CASCADE_OK && err != CASCADE_ERR_UNSUPPORTED)
            kept[i] = true;
    }
}

static cascade_err
attach_as(cascade_engine *engine, const cascade_uuid *id, int64_t sent_ns)
{
    cascade_err err = insert(engine, id);

    if (err != CASCADE_OK)
        return err;
    read_limits(engine);
    csc_lock_take(&engine->mutex);
    engine->incarnation.id = *id;
    engine->incarnation.attached = true;
    csc_pause_begin(engine, engine->claims->kept_told);
    csc_lease_begin_locked(engine, sent_ns);
    engine->peers->look_at_ns = 0;
    engine->peers->count = 0;
    engine->claims->suspects_due = true;
    engine->house->poll_at_ns = 0;
    engine->erasure.at_ns = 0;
    engine->house->attach_backoff_ms = 0;
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++) {
        engine->lanes[i].number = 0;
        csc_lane_queue_wake_locked(&engine->lanes[i]);
    }
    csc_lock_give(&engine->mutex);
    engine->house->announced = false;
    return CASCADE_OK;
}

/* Others look at whom they do not know when somebody wakes them: see peers.c.
 */
static void
announce(cascade_engine *engine)
{
    csc_assert(csc_lock_is_none_held());
    if (engine->house->announced)
        return;
    engine->house->announced = csc_move_wake(engine->store) == CASCADE_OK;
    if (!engine->house->announced)
        csc_log_queue_add_failure(engine, "waking other engines");
}

cascade_err
csc_housekeeper_attach(cascade_engine *engine)
{
    cascade_uuid id;
    int64_t sent_ns = csc_clock_now_ns(engine);
    cascade_err err = csc_clock_sync(engine);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK && engine->incarnation.has_dead_id) {
        err = csc_move_detach(engine->store, &engine->incarnation.dead_id);
        engine->incarnation.has_dead_id = err != CASCADE_OK;
    }
    if (err != CASCADE_OK)
        return err;
    id = csc_uuid_v7(csc_clock_now_ms(engine), &engine->store->random);
    if (engine->incarnation.brief)
        csc_uuid_mark_brief(&id);
    return attach_as(engine, &id, sent_ns);
}

/* False when it is not attached and cannot be yet. */
static bool
ensure_attached(cascade_engine *engine)
{
    bool attached = false;
    bool ready = false;

    csc_lock_take(&engine->mutex);
    attached = engine->incarnation.attached;
    ready = engine->life == CSC_LIFE_RUNNING && lanes_are_out(engine) &&
            engine->incarnation.attach_at_ns <= csc_clock_now_ns(engine);
    csc_lock_give(&engine->mutex);
    if (attached || !ready)
        return attached;
    if (csc_housekeeper_attach(engine) == CASCADE_OK)
        return true;
    csc_log_queue_add_failure(engine, "attaching to the store");
    csc_lock_take(&engine->mutex);
    engine->house->attach_backoff_ms =
        engine->house->attach_backoff_ms == 0
            ? ATTACH_BACKOFF_MS
            : engine->house->attach_backoff_ms * 2;
    if (engine->house->attach_backoff_ms > ATTACH_BACKOFF_MAX_MS)
        engine->house->attach_backoff_ms = ATTACH_BACKOFF_MAX_MS;
    engine->incarnation.attach_at_ns =
        csc_clock_after_ms(engine, engine->house->attach_backoff_ms);
    csc_lock_give(&engine->mutex);
    return false;
}

/* ---- The round ---------------------------------------------------------- */

/* A suspect has waited for a slot, and may have one now: it is asked for, but
 * not at each of many wakes. */
static bool
asks_for_slot(cascade_engine *engine)
{
    csc_claims *claims = engine->claims;
    int64_t now_ns = csc_clock_now_ns(engine);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (claims->suspect_later &&
        (engine->wakeup.told || csc_claim_has_turns_locked(engine)))
        claims->suspect_slot = true;
    if (!claims->suspect_slot || now_ns < claims->suspect_at_ns)
        return false;
    claims->suspect_slot = false;
    claims->suspect_at_ns = now_ns + SUSPECT_SLOT_MS * CSC_MS_NS;
    return true;
}

/* What is to be looked for now. Where wakes are heard, the poll is only there
 * for those that were lost, and most of them are left out. A wake may be about
 * a suspect too; those are looked for at the next poll. */
static void
look_for_work(cascade_engine *engine)
{
    bool poll = false;
    bool peers = false;
    bool suspects = false;
    bool awaits = false;
    bool claim = false;
    bool receive = false;
    bool ask = false;

    csc_lock_take(&engine->mutex);
    csc_claim_yield_locked(engine);
    poll = csc_clock_now_ns(engine) >= engine->house->poll_at_ns;
    if (poll)
        engine->house->poll_at_ns =
            csc_clock_after_ms(engine, engine->options.poll_interval_ms);
    peers = csc_peers_are_due_locked(engine, engine->wakeup.told, poll);
    if (poll &&
        (engine->house->suspects_soon || engine->claims->suspect_later)) {
        engine->house->suspects_soon = false;
        engine->claims->suspect_later = false;
        engine->claims->suspects_due = true;
    }
    csc_lock_give(&engine->mutex);
    if (poll)
        announce(engine);
    if (peers)
        csc_peers_look(engine);
    csc_lock_take(&engine->mutex);
    ask = poll && !engine->incarnation.brief && csc_backlog_may_begin(engine) &&
          csc_room_for_claims(engine) == 0;
    if (poll && engine->wakeup.listening &&
        ++engine->house->polls % LONG_POLLS != 0)
        poll = false;
    awaits = csc_suspect_is_awaited(engine);
    suspects = asks_for_slot(engine);
    suspects = !awaits && (suspects || engine->claims->suspects_due ||
                           engine->claims->suspect_more ||
                           (poll && !engine->wakeup.listening));
    engine->claims->suspect_more = engine->claims->suspect_more && !awaits;
    claim = poll || suspects || engine->wakeup.told ||
            engine->mailbox.claim_more || csc_claim_has_turns_locked(engine) ||
            (engine->mailbox.next_wake_ms != CASCADE_TIME_NONE &&
             engine->mailbox.next_wake_ms <= csc_clock_now_ms(engine));
    if (claim)
        engine->mailbox.left_seen = engine->mailbox.left;
    engine->house->suspects_soon =
        engine->house->suspects_soon || engine->wakeup.told;
    if (csc_room_for_claims(engine) > 0)
        engine->claims->suspects_due = awaits;
    else
        engine->mailbox.receive_due =
            engine->mailbox.receive_due || engine->wakeup.told || poll;
    engine->wakeup.told = false;
    csc_lock_give(&engine->mutex);
    if (claim)
        csc_claim_round(engine, suspects);
    if (ask)
        csc_claim_ask(engine);
    csc_lock_take(&engine->mutex);
    receive = csc_mailbox_is_due(engine) && engine->incarnation.attached;
    csc_lock_give(&engine->mutex);
    if (receive)
        csc_receive_look(engine);
}

bool
csc_housekeeper_is_busy(cascade_engine *engine)
{
    bool busy = false;

    csc_lock_take(&engine->mutex);
    busy = engine->reloads.streams != NULL || engine->reloads.wrecks != NULL;
    csc_lock_give(&engine->mutex);
    return busy;
}

/* When the next thing is to be done by the monotonic clock. */
static int64_t
next_at_ns(const cascade_engine *engine)
{
    int64_t at_ns = engine->lease.renew_at_ns;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!engine->incarnation.attached)
        return engine->life == CSC_LIFE_RUNNING && lanes_are_out(engine)
                   ? engine->incarnation.attach_at_ns
                   : INT64_MAX; /* the last lane to come out tells */
    if (engine->life != CSC_LIFE_RUNNING)
        return at_ns;
    if (engine->house->poll_at_ns < at_ns)
        at_ns = engine->house->poll_at_ns;
    if (engine->peers->look_at_ns < at_ns)
        at_ns = engine->peers->look_at_ns;
    if (engine->erasure.at_ns < at_ns)
        at_ns = engine->erasure.at_ns;
    if (engine->retention->at_ns < at_ns)
        at_ns = engine->retention->at_ns;
    if (engine->reloads.first != NULL && engine->reloads.at_ns < at_ns)
        at_ns = engine->reloads.at_ns;
    if (engine->reloads.wrecks != NULL)
        at_ns = 0;
    if (csc_stream_next_ns_locked(engine) < at_ns)
        at_ns = csc_stream_next_ns_locked(engine);
    if (csc_room_for_claims(engine) > 0 &&
        (engine->mailbox.claim_more || engine->claims->suspect_more ||
         csc_claim_has_turns_locked(engine)))
        at_ns = 0;
    if (engine->claims->suspect_slot && engine->claims->suspect_at_ns < at_ns)
        at_ns = engine->claims->suspect_at_ns;
    if (csc_claim_yield_at_locked(engine) < at_ns)
        at_ns = csc_claim_yield_at_locked(engine);
    if (csc_mailbox_next_ns(engine) < at_ns)
        at_ns = csc_mailbox_next_ns(engine);
    if (engine->wakeup.told)
        at_ns = 0; /* nobody else wakes the host of an INLINE engine */
    return at_ns;
}

/* The same by the store's clock: timers here, and wake_at in the store. */
static int64_t
next_at_ms(const cascade_engine *engine)
{
    int64_t at_ms = csc_timer_next_ms(engine);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!engine->incarnation.attached || engine->life != CSC_LIFE_RUNNING)
        return CASCADE_TIME_NONE;
    if (engine->mailbox.next_wake_ms != CASCADE_TIME_NONE &&
        csc_room_for_claims(engine) > 0 &&
        (at_ms == CASCADE_TIME_NONE || engine->mailbox.next_wake_ms < at_ms))
        at_ms = engine->mailbox.next_wake_ms;
    return at_ms;
}

int64_t
csc_housekeeper_wait_ms_locked(const cascade_engine *engine)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    int64_t call_at_ns = csc_time_limit_next_ns_locked(engine);
    int64_t at_ns = next_at_ns(engine);
    int64_t at_ms = next_at_ms(engine);
    int64_t wait_ms = IDLE_WAIT_MS;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (call_at_ns < at_ns)
        at_ns = call_at_ns;
    if (engine->txn.begin_at_ns != 0 && engine->txn.begin_at_ns < at_ns)
        at_ns = engine->txn.begin_at_ns;
    if (at_ns != INT64_MAX)
        wait_ms = (at_ns - now_ns + CSC_MS_NS - 1) / CSC_MS_NS;
    if (at_ms != CASCADE_TIME_NONE &&
        at_ms - csc_clock_now_ms(engine) < wait_ms)
        wait_ms = at_ms - csc_clock_now_ms(engine);
    if (engine->clock.hold_until_ns - now_ns > wait_ms * CSC_MS_NS)
        wait_ms = (engine->clock.hold_until_ns - now_ns) / CSC_MS_NS + 1;
    return wait_ms > 0 ? wait_ms : 0;
}

void
csc_housekeeper_round(cascade_engine *engine, int64_t *wait_ms)
{
    bool works = false;
    bool claims = false;

    csc_assert(csc_lock_is_none_held());
    csc_vital_sign(&engine->lease.house);
    csc_lock_take(&engine->mutex);
    csc_time_limit_watch_locked(engine);
    csc_txn_slot_look_locked(engine);
    if (!csc_backlog_may_begin(engine))
        csc_txn_slot_end_turn_locked(engine);
    claims = engine->life == CSC_LIFE_RUNNING &&
             csc_clock_now_ns(engine) >= engine->clock.hold_until_ns;
    works =
        engine->life == CSC_LIFE_RUNNING || engine->life == CSC_LIFE_DRAINING;
    csc_lock_give(&engine->mutex);
    if (works && ensure_attached(engine)) {
        csc_lease_renew(engine);
        csc_run_clear_wreck(engine);
        if (claims) {
            csc_advance_fire_due(engine);
            csc_hydrate_reloads(engine);
            csc_lease_renew(engine);
            csc_stream_round(engine);
            csc_lease_renew(engine);
            look_for_work(engine);
            csc_erasure_round(engine);
            csc_retention_round(engine);
        }
    }
    csc_log_queue_tell(engine);
    csc_vital_sign(&engine->lease.house);
    csc_lock_take(&engine->mutex);
    *wait_ms = csc_housekeeper_wait_ms_locked(engine);
    csc_lock_give(&engine->mutex);
}
