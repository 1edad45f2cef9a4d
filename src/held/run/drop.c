/* SPDX-License-Identifier: MIT
 *
 * How a cascade leaves memory.
 *
 *   ended, freed     by the commit that says so
 *   expelled         its rows were refused, or a retry changes what counts:
 *                    loaded anew, once nothing of it is in a function
 *   fenced           the incarnation is lost, and all cascades with it
 *
 * One that is GONE is out of the map. What still refers to it holds `refs`,
 * and its late posts are dropped.
 */
#include "held/run/drop.h"

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/event.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/event_queue.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/log_queue.h"
#include "held/room/backlog.h"
#include "held/room/mailbox.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/room/suspect.h"
#include "held/run/ready_queue.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "held/run/timer.h"
#include "held/wakeup.h"
#include "state/state.h"

#define RELOAD_MS 200 /* until memory may be there again */

void
csc_drop_run(cascade_engine *engine, csc_run *run, cascade_err err)
{
    csc_post *posts = run->first_post;
    bool full = csc_room_for_claims(engine) == 0;
    bool held = csc_run_is_held(run);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (csc_run_is_gone(run))
        return;
    run->life = CSC_RUN_GONE;
    csc_room_give_place(engine, run);
    run->first_post = NULL;
    run->last_post = NULL;
    csc_run_free_posts(posts, err);
    csc_mailbox_forget(engine, run);
    csc_timer_remove(engine, run);
    csc_txn_slot_drop_locked(engine, run);
    if (engine->reloads.suspect == run) {
        engine->reloads.suspect = NULL;
        csc_wakeup_house_locked(engine);
    }
    csc_assert(csc_run_is_sound(run));
    if (!held)
        return;
    csc_backlog_let_begin(engine);
    csc_assert(engine->mailbox.slots_held >= run->slot);
    engine->mailbox.slots_held -= run->slot;
    (void)csc_map_remove(&engine->runs, &run->state.id);
    if (engine->mailbox.claim_more ||
        full) /* nothing to claim was waited for */
        csc_wakeup_house_locked(engine);
    csc_run_unref(run);
}

/* A run whose rows were refused is loaded anew when that was the last one:
 * nothing runs twice here at a time, but for what was taken from a function
 * that does not return. Not by a later incarnation, which owns only what it
 * claimed: perhaps this very cascade, and then it has loaded it. */
void
csc_drop_let_go(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(run->active > 0);
    run->active--;
    if (run->active > 0 || run->life != CSC_RUN_EXPELLED)
        return;
    csc_assert(engine->reloads.in_hand > 0);
    run->life = CSC_RUN_GONE;
    engine->reloads.in_hand--;
    if (!engine->incarnation.attached ||
        !csc_uuid_equal(&run->expelled_by, &engine->incarnation.id))
        return;
    if (csc_suspect_is_one(engine, &run->reload.claimed)) {
        csc_assert(engine->reloads.suspects_out > 0);
        engine->reloads.suspects_out--;
    }
    csc_reload_add(engine, &run->reload);
}

void
csc_drop_unready(cascade_engine *engine, csc_exec *exec)
{
    csc_run *run = exec->run;

    csc_assert(csc_lock_is_held(&engine->mutex) && run->active > 0);
    csc_ready_queue_take_out(engine, exec);
    if (engine->txn.turn == run)
        csc_txn_slot_end_turn_locked(engine);
    csc_txn_slot_resume_locked(engine);
    csc_drop_let_go(engine, run);
    csc_run_unref(run);
}

void
csc_drop_expel(cascade_engine *engine, csc_run *run, const csc_reload *reload,
               cascade_err err)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && !csc_run_is_committing(run));
    if (csc_run_is_gone(run))
        return;
    csc_assert(!run->claimed_anew); /* its commit has taken effect */
    run->reload = *reload;
    csc_run_ref(run);
    csc_drop_run(engine, run, err);
    run->expelled_by = engine->incarnation.id;
    if (run->active > 0) {
        run->life = CSC_RUN_EXPELLED;
        engine->reloads.in_hand++;
        engine->reloads.suspects_out +=
            csc_suspect_is_one(engine, &reload->claimed);
    } else {
        csc_reload_add(engine, &run->reload);
    }
    csc_assert(csc_run_is_sound(run));
    csc_run_unref(run);
}

/* RELOADING as for a retry: nothing of it begins, and it goes behind the commit
 * in flight. */
void
csc_drop_load_anew(cascade_engine *engine, csc_run *run, cascade_err err)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run->life >= CSC_RUN_RELOADING)
        return;
    csc_log_queue_add(
        engine, CASCADE_LOG_WARNING, "cascade %s is loaded anew: %s",
        cascade_uuid_format(&run->state.id, id), cascade_err_text(err));
    run->reload =
        (csc_reload){.claimed = csc_run_claimed(run),
                     .at_ns = csc_clock_now_ns(engine) + RELOAD_MS * CSC_MS_NS,
                     .fail_id = -1};
    csc_run_close(run, CSC_RUN_RELOADING);
    if (!csc_run_is_committing(run))
        csc_mailbox_leave(engine, run);
}

static void
count_loss(cascade_engine *engine, cascade_err err)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (err == CASCADE_ERR_FENCED)
        engine->stats.fences++;
    else if (err == CASCADE_ERR_LOST)
        engine->stats.losses++;
    csc_log_queue_add(engine, CASCADE_LOG_WARNING,
                      "%s: all cascades in memory are dropped, and the engine "
                      "attaches anew",
                      cascade_err_text(err));
    csc_event_queue_add_locked(
        engine,
        &(cascade_event){.kind = CASCADE_EVENT_ENGINE_FENCED,
                         .function_id = -1,
                         .node = "",
                         .step = "",
                         .error = cascade_err_text(err)},
        false);
}

/* A removal moves later slots up, so a pass may miss some; the next one does
 * not begin before the end. */
void
csc_drop_all(cascade_engine *engine, cascade_err err)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    while (engine->runs.count > 0) {
        size_t at = 0;
        csc_run *run = csc_map_next(&engine->runs, &at);

        while (run != NULL) {
            csc_drop_run(engine, run, err);
            run = csc_map_next(&engine->runs, &at);
        }
    }
    csc_reload_forget(engine);
    for (uint32_t i = 0; i < engine->lane_count; i++)
        csc_lane_queue_forget_locked(&engine->lanes[i]);
    csc_assert(engine->runs.count == 0 && engine->reloads.first == NULL);
}

void
csc_drop_lose(cascade_engine *engine, cascade_err err)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!engine->incarnation.attached)
        return;
    engine->incarnation.attached = false;
    engine->incarnation.attach_at_ns = 0;
    engine->reloads.suspects_out = 0;
    engine->incarnation.dead_id = engine->incarnation.id;
    engine->incarnation.has_dead_id = true;
    count_loss(engine, err);
    csc_drop_all(engine, err);
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++) {
        csc_lane_queue_return_starts_locked(&engine->lanes[i]);
        csc_lane_queue_wake_locked(&engine->lanes[i]);
    }
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    csc_wakeup_house_locked(engine);
}

bool
csc_drop_quiet(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->calls.running > 0)
        return false;
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++) {
        const csc_lane *lane = &engine->lanes[i];

        if (csc_lane_queue_is_busy_locked(lane) || lane->first_dirty != NULL ||
            lane->first_slicing != NULL)
            return false;
        if (lane->first_start != NULL && engine->incarnation.attached)
            return false;
    }
    return true;
}
