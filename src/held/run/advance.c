/* SPDX-License-Identifier: MIT
 *
 * What a cascade does next. Called whenever something of it has changed: after
 * a load, after a commit, when its time has come.
 *
 *   something may run          ready (ready_queue.c)
 *   something is to be told    a post: a failure, a skipped join, a deadline
 *   nothing for a while        a timer, or it is parked: a FREE post
 */
#include "held/run/advance.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/log_queue.h"
#include "held/node_def.h"
#include "held/room/backlog.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/room/suspect.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/pause.h"
#include "held/run/ready_queue.h"
#include "held/run/run.h"
#include "held/run/skipped_join.h"
#include "held/run/time_limit.h"
#include "held/run/timer.h"
#include "held/wakeup.h"
#include "state/state.h"

#define PARK_SOON_MS 100 /* a wait that is parked where memory is full */

/* Advances the runs whose timers are due. */
static void
fire(cascade_engine *engine, int64_t now_ms)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    while (engine->timers.count > 0 &&
           engine->timers.heap[0]->timer_ms <= now_ms) {
        csc_run *run = engine->timers.heap[0];

        csc_timer_remove(engine, run);
        csc_advance_run(engine, run);
    }
}

void
csc_advance_fire_due(cascade_engine *engine)
{
    int64_t first = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    first = csc_timer_next_ms(engine);
    csc_lock_give(&engine->mutex);
    if (first == CASCADE_TIME_NONE || first > csc_clock_now_ms(engine))
        return;
    if (csc_clock_sync(engine) != CASCADE_OK) {
        csc_clock_hold(engine);
        return;
    }
    csc_lock_take(&engine->mutex);
    fire(engine, engine->clock.confirmed_ms);
    csc_lock_give(&engine->mutex);
}

csc_exec *
csc_advance_next(cascade_engine *engine, csc_lane **native)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    while (csc_backlog_may_take(engine)) {
        csc_exec *exec = csc_ready_queue_pop(engine);

        if (csc_run_is_gone(exec->run)) {
            csc_txn_slot_resume_locked(engine);
            csc_drop_let_go(engine, exec->run);
            csc_run_unref(exec->run);
        } else if (csc_txn_slot_take_locked(engine, exec, native)) {
            engine->calls.running++;
            engine->stats.attempts++;
            return exec;
        }
    }
    return NULL;
}

void
csc_advance_left(cascade_engine *engine, csc_run *run, bool late)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && (late || run->active > 0));
    csc_assert(engine->calls.running > 0);
    engine->calls.running--;
    if (engine->calls.running == 0)
        pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    if (!late)
        csc_drop_let_go(engine, run);
    if (!late && !csc_run_is_gone(run))
        csc_advance_run(engine, run);
    csc_run_unref(run);
}

static cascade_err
post_poisoned(cascade_engine *engine, csc_run *run, const csc_exec *exec)
{
    csc_post *post = csc_op_create(CSC_POST_FAIL, exec->function_id);

    csc_assert(exec->run == NULL || exec->run == run);
    if (post == NULL)
        return csc_fail_memory();
    post->attempts = exec->attempts + 1;
    post->error = csc_arena_format(
        &post->arena,
        "poisoned: %d engines in turn died while they held this cascade",
        (int)run->takeovers);
    if (post->error == NULL ||
        csc_op_queue_add_failure(engine, exec, post) != CASCADE_OK) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    csc_log_queue_add(
        engine, CASCADE_LOG_ERROR,
        "node %s is poisoned: its execution failed after %d takeovers",
        exec->name, (int)run->takeovers);
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}

/* A wait is over. */
static cascade_err
post_waited(cascade_engine *engine, csc_run *run, const csc_exec *wait)
{
    csc_post *post = csc_op_create(CSC_POST_COMPLETE, wait->function_id);

    csc_assert(csc_view_is_wait(wait));
    if (post == NULL)
        return csc_fail_memory();
    post->attempts = 1;
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}

/* It waits for its completion from outside from now on. */
static cascade_err
post_external(cascade_engine *engine, csc_run *run, const csc_exec *exec,
              const csc_node_def *node)
{
    csc_post *post = csc_op_create(CSC_POST_EXTERNAL, exec->function_id);

    csc_assert(node->fn == NULL);
    if (post == NULL)
        return csc_fail_memory();
    post->waiting = node->waiting;
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}

static void
note_unknown(cascade_engine *engine, csc_run *run, csc_exec *exec)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!run->unknown)
        csc_log_queue_add(
            engine, CASCADE_LOG_WARNING,
            "cascade %s needs node %s, which is not registered here; "
            "it is left for an engine that knows it",
            cascade_uuid_format(&run->state.id, id), exec->name);
    run->unknown = true;
    csc_due_queue_rest(&run->state, exec); /* aside, and has not begun */
}

/* The node of the first execution that was left aside and still is; NULL
 * without one. */
static const char *
find_unknown(csc_run *run)
{
    const csc_state *state = &run->state;

    csc_assert(csc_lock_is_held(&run->engine->mutex));
    for (size_t i = 0; run->unknown && i < state->exec_count; i++) {
        const csc_exec *exec = state->execs[i].exec;

        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING &&
            exec->part == CSC_PART_NONE && exec->stage == CSC_STAGE_RESTING &&
            exec->blocked == 0 && exec->external == NULL)
            return exec->name;
    }
    run->unknown = false;
    return NULL;
}

/* The executions of a suspect run one at a time, each recorded before the next
 * begins: what dies then is to blame. */
static bool
may_add(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->reloads.suspect != run ||
           (run->active == 0 && run->first_post == NULL &&
            !csc_run_is_committing(run));
}

static cascade_err
make_ready(cascade_engine *engine, csc_run *run)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex) && !csc_run_is_committing(run));
    while (err == CASCADE_OK && may_add(engine, run)) {
        csc_exec *exec =
            csc_due_queue_take(&run->state, engine->clock.confirmed_ms);
        const csc_node_def *node = NULL;

        if (exec == NULL)
            break;
        node = csc_node_def_find(engine, exec->name);
        if (csc_view_is_wait(exec)) {
            err = post_waited(engine, run, exec);
        } else if (csc_join_verdict(exec) == CSC_VERDICT_SKIP ||
                   (csc_join_verdict(exec) == CSC_VERDICT_FAIL &&
                    node != NULL)) {
            err = csc_skipped_join_post(engine, run, exec);
        } else if (exec->external != NULL) {
            err = csc_op_queue_add_overdue(engine, run, exec);
        } else if (node == NULL) {
            note_unknown(engine, run, exec);
        } else if (node->fn == NULL) {
            err = post_external(engine, run, exec, node);
        } else if (csc_suspect_is_poisoned(engine, run)) {
            err = post_poisoned(engine, run, exec);
            break;
        } else {
            csc_assert(exec->turn == CSC_TURN_NONE && exec->call == NULL);
            exec->run = run;
            run->active++;
            csc_run_ref(run);
            csc_time_limit_note_locked(engine, run, exec);
            csc_ready_queue_add(engine, exec, CSC_PLACE_LAST);
        }
    }
    return err;
}

/* It waits for a signal, which may come any moment: for as long as a wait is
 * held in memory it is not given up after its last commit. */
static bool
lingers(const cascade_engine *engine, csc_run *run, int64_t now)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run->linger_until_ms == 0)
        run->linger_until_ms =
            csc_clock_add(now, engine->options.park_after_ms);
    return run->state.awaiting > 0 && now < run->linger_until_ms;
}

/* Whether a message can end what it waits for, where no time does: a signal, a
 * completion, the end of a child (also one that a cancelled cascade waits for).
 */
static bool
is_to_be_told(const csc_state *state)
{
    return state->awaiting > 0 || state->externals > 0 || state->children > 0;
}

/* When the next of the run may be due; 0: at once, CASCADE_TIME_NONE: never. */
static int64_t
next_due(const cascade_engine *engine, const csc_run *run)
{
    int64_t wake_at = csc_pause_is_on(engine, run)
                          ? csc_pause_until(run)
                          : csc_due_queue_wake_at(&run->state);
    int64_t limit_ms = csc_time_limit_first_ms_locked(run);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (limit_ms != CASCADE_TIME_NONE &&
        (wake_at == CASCADE_TIME_NONE || limit_ms < wake_at))
        wake_at = limit_ms;
    return wake_at;
}

/* A suspect that waits is parked: while it is held, nothing else is claimed. So
 * is what waits where there is no memory for others, or with a slot that others
 * may want. */
static bool
may_linger(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->reloads.suspect != run && !run->slot &&
           !csc_room_is_full(engine) && !csc_room_is_wanted(engine, run);
}

/* The longest wait for which it is held. */
static int64_t
hold_ms(const cascade_engine *engine, const csc_run *run)
{
    if (may_linger(engine, run) || engine->options.park_after_ms < PARK_SOON_MS)
        return engine->options.park_after_ms;
    return engine->reloads.suspect == run ? 0 : PARK_SOON_MS;
}

/* Of what goes on one slice after the other: its cancellation, or the end of
 * its children. CSC_NO_PARENT: of nothing. */
static int32_t
sliced(const csc_state *state)
{
    if (state->cancel_from != CSC_NO_PARENT)
        return state->cancel;
    return csc_view_has_only_children(state) ? state->family_from
                                             : CSC_NO_PARENT;
}

/* Nothing of the run is active or under way: it waits, or is given up. What is
 * due already was made ready, so a timer is never set in the past. */
static cascade_err
rest(cascade_engine *engine, csc_run *run)
{
    int64_t now = csc_clock_now_ms(engine);
    int64_t wake_at = next_due(engine, run);
    const char *unknown = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex) && run->active == 0 &&
               run->first_post == NULL);
    if (sliced(&run->state) != CSC_NO_PARENT &&
        csc_room_must_leave(engine, run))
        return csc_pause_rest_later(engine, run, now);
    if (csc_pause_is_on(engine, run))
        return csc_pause_rest_paused(engine, run, wake_at);
    unknown = find_unknown(run);
    if (csc_view_status(&run->state) != CASCADE_RUNNING || unknown != NULL)
        return csc_op_queue_add_free(engine, run, now, unknown);
    if (csc_room_must_leave(engine, run))
        return csc_pause_rest_later(engine, run, wake_at);
    if (wake_at == CASCADE_TIME_NONE)
        wake_at =
            csc_clock_add(now, is_to_be_told(&run->state) ? CSC_DELAY_MAX_MS
                                                          : CSC_IDLE_RUN_MS);
    if (wake_at - now > hold_ms(engine, run)) {
        if (may_linger(engine, run) && lingers(engine, run, now))
            return csc_timer_set(engine, run, run->linger_until_ms);
        engine->stats.parked++;
        return csc_op_queue_add_free(engine, run, wake_at, NULL);
    }
    return csc_timer_set(engine, run, wake_at);
}

static cascade_err
post_slice(cascade_engine *engine, csc_run *run)
{
    int32_t function_id = sliced(&run->state);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (function_id == CSC_NO_PARENT || run->slicing)
        return CASCADE_OK;
    run->slicing = true;
    return csc_op_queue_add_slice(engine, run, function_id);
}

/* Makes ready what may run, unless its time is over. */
static cascade_err
go_on(cascade_engine *engine, csc_run *run)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_run_is_held(run) && !csc_run_is_committing(run));
    if (!csc_room_must_leave(engine, run))
        err = post_slice(engine, run);
    if (err == CASCADE_OK)
        err = csc_time_limit_look_locked(engine, run);
    if (err != CASCADE_OK || csc_run_is_leaving(run))
        return err;
    if (!csc_time_limit_are_known_locked(engine, run))
        return csc_timer_set(engine, run, engine->clock.confirmed_ms);
    err = csc_time_limit_fail_due_locked(engine, run);
    if (err != CASCADE_OK)
        return err;
    return csc_pause_is_held_back(engine, run)
               ? csc_pause_hold_back(engine, run)
               : make_ready(engine, run);
}

void
csc_advance_run(cascade_engine *engine, csc_run *run)
{
    cascade_err err = CASCADE_OK;
    int64_t wake_at = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(csc_run_is_sound(run));
    if (csc_run_is_leaving(run) || engine->life != CSC_LIFE_RUNNING)
        return;
    if (csc_view_status(&run->state) == CASCADE_RUNNING &&
        !csc_run_is_committing(run))
        err = go_on(engine, run);
    if (csc_run_is_leaving(run))
        return;
    wake_at = next_due(engine, run);
    if (err == CASCADE_OK && run->active == 0 && run->first_post == NULL &&
        !csc_run_is_committing(run))
        err = rest(engine, run);
    else if (err == CASCADE_OK && wake_at > engine->clock.confirmed_ms)
        err = csc_timer_set(engine, run, wake_at);
    if (err != CASCADE_OK)
        csc_drop_load_anew(engine, run, err);
    else
        csc_txn_slot_go_on_locked(engine, run);
}
