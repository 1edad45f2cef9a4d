/* SPDX-License-Identifier: MIT
 *
 * What a lane has committed is applied: the rows to the states, what may run
 * then to the ready list, and whoever waits is told. Under the lock, in the
 * thread that is in the lane; what is told to others follows without it.
 *
 * If the process dies before, the rows tell all of it to whoever claims the
 * cascades (G7).
 */
#include "commit/lane.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/op.h"
#include "commit/happened.h"
#include "held/engine_state.h"
#include "held/erasure_due.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/lane/start_request.h"
#include "held/lane/txn_slot.h"
#include "held/room/mailbox.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/run/advance.h"
#include "held/run/carrier.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/pause.h"
#include "held/run/run.h"
#include "held/run/sealing.h"
#include "held/run/sequel.h"
#include "held/wakeup.h"
#include "state/kind.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "store/move.h"
#include "store/store.h"

static void
count_posts(cascade_engine *engine, const csc_post *posts)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    for (const csc_post *p = posts; p != NULL; p = p->next) {
        if (p->kind == CSC_POST_COMPLETE || p->kind == CSC_POST_FAIL ||
            p->kind == CSC_POST_STEP)
            engine->stats.executions++;
        engine->stats.messages += p->message_count;
    }
}

/* A node that left in the middle, to wait for its step, comes back. */
static cascade_err
reenter(csc_run *run, const csc_post *posts)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&run->engine->mutex) && !csc_run_is_gone(run));
    for (const csc_post *p = posts; p != NULL && err == CASCADE_OK;
         p = p->next) {
        csc_exec *exec =
            p->reenter ? csc_view_find(&run->state, p->function_id) : NULL;

        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING)
            err = csc_due_queue_untake(&run->state, exec);
    }
    return err;
}

/* It is given up for an engine that knows a node. */
static bool
is_passed_on(const cascade_change *change)
{
    return change->run.needs != NULL &&
           strcmp(change->run.needs, CSC_PAUSE_NAME) != 0;
}

/* A parked run is claimed again when its time comes, not at the next poll. */
static void
note_freed(cascade_engine *engine, const cascade_change *change)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (change->run_action != CASCADE_RUN_FREE)
        return;
    if (is_passed_on(change)) {
        engine->stats.unknown_nodes++;
        return;
    }
    engine->mailbox.frees++;
    if (engine->mailbox.next_wake_ms != CASCADE_TIME_NONE &&
        engine->mailbox.next_wake_ms <= change->run.wake_at_ms)
        return;
    engine->mailbox.next_wake_ms = change->run.wake_at_ms;
    csc_wakeup_house_locked(engine);
}

/* What came for the run meanwhile was passed over. */
static void
note_received(cascade_engine *engine, csc_run *run, const csc_post *posts)
{
    bool looked = false;

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (const csc_post *p = posts; p != NULL; p = p->next) {
        if (p->kind == CSC_POST_RECEIVE)
            csc_mailbox_done(engine, run);
        else
            run->worked = true;
        if (p->kind == CSC_POST_SLICE)
            run->slicing = false;
        looked =
            looked || p->kind == CSC_POST_RECEIVE || p->kind == CSC_POST_FREE;
    }
    if (looked || !(csc_run_is_receiving(run) || csc_run_is_leaving(run)))
        csc_mailbox_again(engine, run);
}

/* Those who wait for these posts go on with what is recorded now. */
static void
release_waiters(csc_run *run, csc_post *posts, csc_told *told)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex) &&
               !csc_run_is_committing(run));
    for (csc_post *p = posts; p != NULL; p = p->next) {
        const csc_exec *node = NULL;
        csc_part part = {.occurrence = p->part_occurrence};

        if (p->waiter == NULL)
            continue;
        part.kind = csc_kind_of(p->part_name);
        part.name = p->part_name + strlen(csc_kind_prefix(part.kind));
        node = csc_view_find(&run->state, p->function_id);
        if (node != NULL)
            p->waiter->step = csc_view_part(&run->state, node, &part);
        csc_carrier_release(p->waiter, told);
        p->waiter = NULL;
    }
}

/* The change is the last of the run in this engine. */
static bool
leaves(const cascade_change *change)
{
    return change->run_action == CASCADE_RUN_END ||
           change->run_action == CASCADE_RUN_DELETE ||
           change->run_action == CASCADE_RUN_FREE;
}

/* What ends with the cascade may be ready, or be run: then it goes with the
 * run. */
static cascade_err
apply_change(csc_run *run, const cascade_change *change)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&run->engine->mutex) && run->plan == NULL);
    csc_assert(csc_uuid_equal(&run->state.id, &change->cascade.id));
    if (leaves(change) && run->active > 0)
        csc_state_keep_all(&run->state);
    err = csc_build_apply(&run->state, change);
    return err == CASCADE_OK ? csc_sealing_apply(run) : err;
}

/* How far its retry or rerun is carried out now. The state stays that of the
 * rows before it. */
static cascade_err
apply_reset(csc_run *run, const cascade_change *change)
{
    csc_plan *plan = run->plan;

    csc_assert(csc_lock_is_held(&run->engine->mutex) && run->plan != NULL);
    if (plan->next.receipt == CSC_COURSE_NONE)
        return CASCADE_OK;
    plan->at = plan->next;
    run->state.fn_id = change->cascade.fn_id;
    run->state.recorded = change->cascade.status;
    return csc_sealing_apply(run);
}

/* Whether it tells what came of a retry or a rerun that is carried out in
 * slices. */
static bool
answers_reset(const csc_run *run)
{
    const csc_plan *plan = run != NULL ? run->plan : NULL;

    return plan != NULL && plan->next.receipt != CSC_COURSE_NONE &&
           (plan->next.in_force != plan->at.in_force || plan->next.done);
}

/* The run goes on after a commit of its own. */
static void
go_on(cascade_engine *engine, csc_run *run, bool reset)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && !csc_run_is_committing(run));
    csc_assert(csc_run_is_held(run) && run->extent == CSC_EXTENT_WHOLE);
    if (reset && engine->reloads.suspect == run) {
        engine->reloads.suspect = NULL;
        csc_wakeup_house_locked(engine);
    }
    run->linger_until_ms = 0;
    if (run->first_post != NULL && !csc_txn_slot_give_turn_locked(engine, run))
        csc_lane_queue_add_run_locked(&engine->lanes[run->lane], run);
    csc_advance_run(engine, run);
}

/* Of one that was not read whole, what is known of the next run is known
 * already. */
static void
note_end(cascade_engine *engine, const csc_run *run,
         const cascade_change *change)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (change->run_action == CASCADE_RUN_END && !csc_run_is_gone(run) &&
        run->extent == CSC_EXTENT_WHOLE && run->plan == NULL &&
        run->state.recorded == CASCADE_COMPLETED)
        csc_sequel_note_locked(engine, &run->state);
}

/* Without memory for the next slice it is loaded anew, and goes on then; where
 * the engine stops, the next owner goes on. */
static bool
goes_on_with_reset(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->life == CSC_LIFE_RUNNING && run->life == CSC_RUN_FREEING &&
           run->plan != NULL && csc_reset_plan_goes_on(run->plan) &&
           csc_op_queue_add_slice(engine, run, run->plan->at.receipt) ==
               CASCADE_OK;
}

/* It may have been there, or be no start. */
static void
note_started(const csc_lane *lane, size_t at)
{
    const cascade_change *change = &lane->changes[at];

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    if (change->run_action == CASCADE_RUN_START && !lane->existed[at])
        csc_happened_start_locked(lane->engine, change);
}

static cascade_err
hold_born(cascade_engine *engine, const cascade_change *change)
{
    csc_run *run = csc_run_create(engine, &change->cascade.id);
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run == NULL)
        return csc_fail_memory();
    err = csc_build_apply(&run->state, change);
    if (err == CASCADE_OK)
        err = csc_sealing_born(run, change);
    csc_run_note_claim(run, &(cascade_claimed){.slot = change->run.slot != 0});
    if (err == CASCADE_OK)
        err = csc_run_add(engine, run);
    if (err == CASCADE_OK)
        csc_advance_run(engine, run);
    csc_run_unref(run);
    return err;
}

/* A cascade that was born here is held here, or loaded. */
static void
adopt(cascade_engine *engine, const cascade_change *change)
{
    const csc_reload reload = {.claimed = {.cascade_id = change->cascade.id,
                                           .slot = change->run.slot != 0},
                               .fail_id = -1};

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               change->run_action == CASCADE_RUN_START);
    if (!engine->incarnation.attached ||
        !csc_uuid_equal(&change->run.engine_id, &engine->incarnation.id))
        return;
    csc_assert(csc_map_get(&engine->runs, &change->cascade.id) == NULL);
    csc_mailbox_born(engine);
    if (hold_born(engine, change) != CASCADE_OK)
        csc_reload_add(engine, &reload);
}

/* What continues a run is held in its place, if it was born owned. */
static void
adopt_next(csc_lane *lane, const csc_item *item)
{
    size_t last = item->first + item->count - 1;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    if (item->count > 1 && !lane->existed[last])
        adopt(lane->engine, &lane->changes[last]);
}

/* A slot is given up, and not to the run that continues it: a claim of ours may
 * have missed that. */
static void
note_slot_left(const csc_lane *lane, const csc_item *item)
{
    csc_mailbox *mailbox = &lane->engine->mailbox;
    size_t last = item->first + item->count - 1;
    bool kept = item->count > 1 && !lane->existed[last] &&
                lane->changes[last].run.slot != 0;
    bool left = item->run->slot && !kept;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    mailbox->slots_left += left;
    mailbox->turns_more = mailbox->turns_more || left;
}

/* It may be in another queue now. */
static void
note_revived(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_run_note_claim(run, &(cascade_claimed){.slot = false});
    csc_pause_note_place(engine, run);
}

/* Of one that was dropped before, what is to be loaded is forgotten. */
static void
let_go(cascade_engine *engine, csc_run *run)
{
    bool again = run->claimed_anew && !csc_run_is_gone(run);

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_drop_run(engine, run, CASCADE_ERR_FENCED);
    if (again)
        csc_reload_add(engine, &run->reload);
}

static void
apply_run(csc_lane *lane, csc_item *item, csc_told *told)
{
    cascade_engine *engine = lane->engine;
    csc_run *run = item->run;
    const cascade_change *change = &lane->changes[item->first];
    cascade_status was = run->state.recorded;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) && item->posts != NULL);
    csc_assert(csc_run_is_sound(run));
    csc_assert(item->first < lane->change_room);
    csc_run_end_commit(run);
    run->has_waited = true;
    csc_pace_make_up_locked(run);
    count_posts(engine, item->posts);
    csc_happened_attempts_locked(run, item->posts, change);
    csc_happened_ends_locked(run, item->posts, change);
    note_received(engine, run, item->posts);
    if (!csc_run_is_gone(run))
        err = run->plan == NULL ? apply_change(run, change)
                                : apply_reset(run, change);
    csc_happened_change_locked(run, change, was);
    for (size_t i = 1; i < item->count; i++)
        note_started(lane, item->first + i);
    if (!csc_run_is_gone(run) && err == CASCADE_OK)
        err = reenter(run, item->posts);
    if (err == CASCADE_OK)
        release_waiters(run, item->posts, told);
    if (!leaves(change))
        csc_run_free_posts(item->posts, CASCADE_ERR_FENCED);
    if (change->run_action == CASCADE_RUN_RESET)
        csc_run_note_claim(run, &(cascade_claimed){.slot = run->slot});
    if (leaves(change) || change->run_action == CASCADE_RUN_REVIVE)
        note_slot_left(lane, item);
    if (change->run_action == CASCADE_RUN_REVIVE)
        note_revived(engine, run);
    if (leaves(change)) {
        note_end(engine, run, change);
        note_freed(engine, change);
        csc_mailbox_left(engine, run);
        let_go(engine, run);
        adopt_next(lane, item); /* it is written from the posts */
        csc_run_free_posts(item->posts, CASCADE_ERR_FENCED);
    } else if (err != CASCADE_OK) {
        csc_drop_load_anew(engine, run, err);
    } else if (goes_on_with_reset(engine, run)) {
        csc_assert(run->first_post != NULL);
    } else if (run->plan != NULL || run->life == CSC_RUN_RELOADING) {
        csc_mailbox_leave(engine, run);
    } else if (!csc_run_is_gone(run)) {
        csc_room_count(engine, run);
        go_on(engine, run, change->run_action == CASCADE_RUN_RESET);
    }
    csc_assert(csc_run_is_sound(run));
    if (engine->mailbox.turns_more)
        csc_wakeup_house_locked(engine); /* there may be a worker now */
    csc_run_unref(run);
}

static void
apply_start(csc_lane *lane, csc_item *item)
{
    cascade_engine *engine = lane->engine;
    csc_start *start = item->start;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(start->count == item->count && !start->done);
    for (size_t i = 0; i < start->count; i++) {
        start->existed[i] = lane->existed[item->first + i];
        note_started(lane, item->first + i);
        if (!start->existed[i])
            adopt(engine, &lane->changes[item->first + i]);
    }
    csc_start_request_done_locked(engine, start, CASCADE_OK);
}

void
csc_apply_go_on_locked(csc_lane *lane, size_t decided)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(decided > 0 && decided <= lane->item_count - lane->from);
    lane->from += decided;
    lane->slice = lane->item_count - lane->from;
    if (lane->slice > csc_pace_items_max(lane))
        lane->slice = csc_pace_items_max(lane);
    if (lane->from == lane->item_count)
        csc_apply_end_batch_locked(lane);
    csc_assert(lane->state == CSC_LANE_IDLE || lane->slice > 0);
}

void
csc_apply_end_batch_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(csc_lane_queue_is_busy_locked(lane));
    lane->item_count = 0;
    lane->state = CSC_LANE_IDLE;
    lane->tried = false;
    lane->slow = false;
    pthread_cond_broadcast(&lane->engine->wakeup.quiet_cond);
    csc_txn_slot_ended_locked(lane);
    if (!lane->engine->incarnation.attached)
        csc_wakeup_house_locked(lane->engine);
}

/* There may be something for this engine too. */
static void
tell_house(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->wakeup.told = true;
    csc_wakeup_house_locked(engine);
}

/* The answer to an update, or what came of a completion or a command. */
static bool
has_answer(const csc_post *posts)
{
    static const char answer[] = CSC_STEP_PREFIX CSC_ANSWER_NAME;

    for (const csc_post *p = posts; p != NULL; p = p->next) {
        if (p->kind == CSC_POST_STEP &&
            strncmp(p->part_name, answer, sizeof(answer) - 1) == 0)
            return true;
        for (const csc_message *m = p->messages; m != NULL; m = m->next)
            if (strcmp(m->kind, CSC_MESSAGE_SIGNAL) != 0 &&
                strcmp(m->kind, CSC_MESSAGE_CHILD) != 0)
                return true;
    }
    return false;
}

static bool
ends(const cascade_change *change)
{
    return change->run_action == CASCADE_RUN_END ||
           change->run_action == CASCADE_RUN_DELETE;
}

/* Their posts are gone by now. */
static void
tell_watchers(const csc_lane *lane, size_t from, size_t count)
{
    csc_assert(csc_lock_is_none_held() && from + count <= lane->item_room);
    for (size_t i = from; i < from + count; i++) {
        const cascade_change *change = &lane->changes[lane->items[i].first];
        bool end = change->run_action == CASCADE_RUN_END;

        if (lane->items[i].tells)
            csc_watch_tell(&lane->engine->store->watches, &change->cascade.id,
                           end ? change->cascade.status : 0);
    }
}

/* Then it takes the slots that have become free itself. */
static bool
has_idle_worker(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return csc_room_for_claims(engine) > 0 &&
           (engine->options.mode != CASCADE_MODE_THREADS ||
            engine->calls.running + engine->ready.count <
                engine->options.worker_count);
}

/* It is freed as it lacks a slot, and could go on. */
static bool
begins_to_wait(const cascade_engine *engine, const csc_run *run,
               const cascade_change *change)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return change->run_action == CASCADE_RUN_FREE && !is_passed_on(change) &&
           change->run.wake_at_ms <= csc_clock_now_ms(engine) &&
           !csc_run_is_gone(run) && csc_pause_lacks_slot(engine, run);
}

/* Whether others have to be told of the item, or (`waits`) if there is nobody
 * here to take what is to be had. */
static bool
is_for_others(const csc_lane *lane, const csc_item *item, bool *waits)
{
    const cascade_change *change = &lane->changes[item->first];

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    if (is_passed_on(change) || change->send_count > 0)
        return true;
    if (item->run == NULL)
        return false;
    for (size_t i = 1; i < item->count; i++)
        if (csc_uuid_is_nil(&change[i].run.engine_id))
            return true;
    if (!begins_to_wait(lane->engine, item->run, change))
        return false;
    *waits = true;
    return item->run->foreign;
}

void
csc_apply_batch(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    size_t from = lane->from;
    size_t count = lane->slice;
    csc_told told = {.count = 0};
    uint64_t slots_left = 0;
    bool left = false;
    bool waits = false;

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_assert(lane->state == CSC_LANE_BUILT && count > 0);
    csc_pace_set(lane);
    csc_lock_take(&engine->mutex);
    slots_left = engine->mailbox.slots_left;
    lane->number++;
    lane->trouble[0] = '\0';
    engine->stats.commits++;
    engine->stats.changes += count;
    for (size_t i = from; i < from + count; i++) {
        csc_item *item = &lane->items[i];
        const cascade_change *change = &lane->changes[item->first];

        item->tells =
            ends(change) || has_answer(item->posts) || answers_reset(item->run);
        left = is_for_others(lane, item, &waits) || left;
        if (change->run_action == CASCADE_RUN_DELETE &&
            lane->existed[item->first])
            csc_erasure_due_soon_locked(engine);
        if (item->run != NULL)
            apply_run(lane, item, &told);
        else
            apply_start(lane, item);
    }
    waits = waits || engine->mailbox.slots_left != slots_left;
    left = left || (waits && !has_idle_worker(engine));
    lane->tried = false;
    lane->backoff_ms = 0;
    csc_apply_go_on_locked(lane, lane->slice);
    if (left)
        tell_house(engine);
    csc_lock_give(&engine->mutex);
    csc_carrier_tell(&told);
    tell_watchers(lane, from, count);
    if (left)
        (void)csc_move_wake(engine->store);
}
