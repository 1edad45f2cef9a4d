/* SPDX-License-Identifier: MIT
 *
 * The lane of a transactional node, from the begin of its transaction to the
 * outcome of the commit. Who may have such a lane is decided in
 * held/lane/txn_slot.c; what the states of a lane are is drawn there.
 */
#include "commit/node_txn.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/data/text.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/backoff.h"
#include "change/op.h"
#include "commit/batch.h"
#include "commit/lane.h"
#include "commit/outcome.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/log_queue.h"
#include "held/node_def.h"
#include "held/room/backlog.h"
#include "held/room/mailbox.h"
#include "held/run/advance.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "held/vital.h"
#include "held/wakeup.h"
#include "state/state.h"
#include "store/move.h"
#include "store/store.h"

/* Nothing transactional begins for a moment. */
static void
hold(cascade_engine *engine)
{
    int64_t backoff_ms = csc_outcome_backoff_ms(engine->txn.backoff_ms);

    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->txn.backoff_ms = backoff_ms;
    engine->txn.begin_at_ns = csc_clock_now_ns(engine) + backoff_ms * CSC_MS_NS;
    csc_wakeup_house_locked(engine);
    csc_wakeup_host_locked(engine);
}

/* The function was not called: that is no attempt. */
static void
put_back_locked(cascade_engine *engine, csc_lane *lane)
{
    csc_run *run = lane->run;

    csc_assert(csc_lock_is_held(&engine->mutex) && lane->taken);
    if (lane->begun != CASCADE_ERR_STOPPED)
        hold(engine);
    csc_txn_slot_let_go_locked(engine, lane);
    lane->taken = false;
    csc_txn_slot_set_aside_locked(engine, lane->exec, true, true);
    engine->stats.attempts--;
    csc_assert(engine->calls.running > 0);
    engine->calls.running--;
    if (engine->calls.running == 0)
        pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    csc_advance_run(engine, run);
}

/* Whether anything is to begin still. */
static cascade_err
check_turn(cascade_engine *engine)
{
    bool stops = false;
    bool may = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    may = csc_backlog_may_begin(engine);
    stops = atomic_load_explicit(&engine->stop_requested, memory_order_relaxed);
    csc_lock_give(&engine->mutex);
    if (may)
        return CASCADE_OK;
    return stops ? csc_fail(CASCADE_ERR_STOPPED, "the engine stops")
                 : csc_fail(CASCADE_ERR_UNAVAILABLE,
                            "the lease of the engine may be over");
}

/* However long that takes: the lease may be over by then. */
static cascade_err
begin(csc_lane *lane, const csc_node_def *def)
{
    cascade_engine *engine = lane->engine;
    csc_error_kept kept;
    cascade_err err =
        csc_move_begin(engine->store, def->transaction_ms, &lane->transaction);

    csc_assert(csc_lock_is_none_held() && lane->txn == CSC_TXN_NONE);
    if (err != CASCADE_OK)
        return err;
    err = check_turn(engine);
    if (err == CASCADE_OK)
        return CASCADE_OK;
    csc_error_keep(&kept, err);
    (void)csc_move_abandon(engine->store, &lane->transaction);
    return csc_error_restore(&kept);
}

/* The store is in trouble, as it may be when a lane commits, and the function
 * had no part in that: it is tried again, in this engine or in another. Not so
 * what would fail each time. */
static bool
is_no_attempt(cascade_err err)
{
    return err != CASCADE_OK && err != CASCADE_ERR_UNSUPPORTED &&
           err != CASCADE_ERR_MISUSE;
}

bool
csc_node_txn_begin(cascade_engine *engine, csc_lane *lane, csc_call *call,
                   const char **inside)
{
    csc_run *run = lane->run;
    const csc_node_def *def = csc_node_def_find(engine, lane->exec->name);
    cascade_err err = begin(lane, def);
    bool back = false;

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        (void)snprintf(lane->trouble, sizeof(lane->trouble), "%s",
                       cascade_errmsg());
    if (err != CASCADE_OK && err != CASCADE_ERR_STOPPED)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "node %s: its transaction was not begun: %s", def->name,
                    cascade_errmsg());
    csc_lock_take(&engine->mutex);
    csc_assert(lane->taken && !csc_lane_queue_is_busy_locked(lane));
    lane->begun = err;
    lane->txn = err == CASCADE_OK ? CSC_TXN_OPEN : CSC_TXN_NONE;
    lane->guest_used = false;
    if (err == CASCADE_OK)
        engine->txn.backoff_ms = 0;
    back = is_no_attempt(err) && !csc_run_is_gone(run);
    if (back) {
        *inside = NULL; /* before a stop can see that nothing runs */
        put_back_locked(engine, lane);
    } else {
        csc_time_limit_begin_locked(engine, call, lane->exec);
        csc_advance_run(engine, run); /* its time may be over since */
    }
    csc_lock_give(&engine->mutex);
    return !back;
}

/* Nothing of it is to be. CASCADE_ERR_MISUSE where the function had ended it.
 * Not locked. */
static cascade_err
roll_back(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held() && lane->taken);
    if (lane->txn != CSC_TXN_NONE)
        err = csc_move_abandon(engine->store, &lane->transaction);
    lane->txn = CSC_TXN_NONE;
    return err;
}

bool
csc_node_txn_keep_locked(csc_lane *lane, csc_post *post)
{
    csc_run *run = lane->run;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    csc_assert(lane->txn != CSC_TXN_KEPT);
    if (lane->txn == CSC_TXN_NONE || post == NULL || run->native != lane) {
        csc_txn_slot_let_go_locked(lane->engine, lane);
        return false;
    }
    csc_assert(lane->taken && lane->item_count == 0);
    csc_assert(run->commit == CSC_COMMIT_NONE);
    lane->txn = CSC_TXN_KEPT;
    run->native = NULL;
    run->commit = CSC_COMMIT_BEGUN;
    run->receives = lane->engine->mailbox.receives;
    csc_run_ref(run);
    lane->items[0] = (csc_item){.run = run, .posts = post, .count = 1};
    lane->item_count = 1;
    lane->in_round = true;
    csc_batch_begin_locked(lane);
    return true;
}

/* The completion becomes a failed attempt, or, `final` or as the last one, the
 * end of the execution. CASCADE_ERR_NO_MEMORY. */
static cascade_err
make_failure_locked(cascade_engine *engine, const csc_run *run, csc_post *post,
                    const char *text, bool final)
{
    const csc_exec *exec = csc_view_find(&run->state, post->function_id);
    const csc_attempts *attempts =
        &csc_node_def_find(engine, exec->name)->attempts;
    int32_t failed = exec->attempts + 1;

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               (post->kind == CSC_POST_COMPLETE ||
                (post->kind == CSC_POST_ATTEMPT && final)));
    post->effects = (csc_effects){0};
    post->next_run = (csc_next_run){.node = NULL};
    post->attempts = failed;
    post->error = csc_text_clean(&post->arena, text);
    if (post->error == NULL)
        return csc_fail_memory();
    if (final || run->state.cancel != CSC_NO_PARENT ||
        !csc_backoff_left(attempts, failed)) {
        post->kind = CSC_POST_FAIL;
        return csc_op_queue_add_failure(engine, exec, post);
    }
    post->kind = CSC_POST_ATTEMPT;
    post->delay_ms =
        csc_backoff_delay_ms(attempts, failed, &engine->store->random);
    return CASCADE_OK;
}

/* What the function had committed itself would be committed by each attempt. */
static cascade_err
make_final(csc_lane *lane, csc_post *post)
{
    cascade_engine *engine = lane->engine;
    csc_run *run = lane->run;
    cascade_err err = CASCADE_OK;
    char text[CSC_NOTE_SIZE];

    csc_assert(csc_lock_is_none_held() && lane->txn == CSC_TXN_NONE);
    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    csc_lock_take(&engine->mutex);
    if (run->native == lane)
        err = make_failure_locked(engine, run, post, text, true);
    csc_lock_give(&engine->mutex);
    return err;
}

cascade_err
csc_node_txn_returned(csc_lane *lane, csc_post *post)
{
    csc_assert(csc_lock_is_none_held() && lane->txn != CSC_TXN_KEPT);
    if ((post == NULL || post->kind != CSC_POST_COMPLETE) &&
        roll_back(lane) == CASCADE_ERR_MISUSE && post != NULL &&
        post->kind == CSC_POST_ATTEMPT)
        return make_final(lane, post);
    return CASCADE_OK;
}

/* Nothing took effect, as `text` says: that is posted as anything else. */
static void
fail(csc_lane *lane, const char *text, bool final)
{
    cascade_engine *engine = lane->engine;
    csc_post *post = lane->items[0].posts;
    csc_run *run = lane->items[0].run;
    cascade_err err = CASCADE_OK;

    csc_assert(lane->in_round && lane->item_count == 1);
    csc_lock_take(&engine->mutex);
    csc_run_end_commit(run);
    if (!csc_run_is_gone(run))
        err = make_failure_locked(engine, run, post, text, final);
    if (err == CASCADE_OK) {
        csc_op_queue_add(engine, run, post);
    } else {
        csc_op_free(post);
        csc_drop_load_anew(engine, run, err);
    }
    csc_run_unref(run);
    csc_apply_end_batch_locked(lane);
    csc_lock_give(&engine->mutex);
}

static void
fail_as_told(csc_lane *lane, bool final)
{
    char text[CSC_NOTE_SIZE];

    csc_assert(lane->txn == CSC_TXN_NONE);
    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    fail(lane, text, final);
}

static void
apply(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;

    csc_lock_take(&engine->mutex);
    csc_assert(lane->txn == CSC_TXN_NONE);
    engine->stats.transactions++;
    csc_lock_give(&engine->mutex);
    csc_apply_batch(lane);
    if (!lane->guest_used)
        return;
    csc_wakeup_tell_all(engine->store);
    (void)csc_move_wake(engine->store);
}

/* The lane row shows number + 1 now. */
static void
give_up(csc_lane *lane)
{
    char text[CSC_NOTE_SIZE];

    csc_assert(lane->in_round && lane->txn == CSC_TXN_NONE);
    csc_lock_take(&lane->engine->mutex);
    lane->number += 2;
    (void)snprintf(text, sizeof(text), "the transaction was not committed: %s",
                   lane->trouble);
    lane->trouble[0] = '\0';
    csc_lock_give(&lane->engine->mutex);
    fail(lane, text, false);
}

void
csc_node_txn_settle(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    bool committed = false;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_vital_sign(&lane->vital);
    csc_assert(lane->item_count == 1 && lane->txn == CSC_TXN_NONE);
    err = csc_move_settle(engine->store, &engine->incarnation.id, lane->index,
                          lane->number + 1, &committed);

    if (err == CASCADE_OK && committed)
        apply(lane);
    else if (err == CASCADE_OK)
        give_up(lane);
    else if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST)
        csc_outcome_lose(lane, err);
    else
        csc_outcome_try_later(lane, err);
}

static cascade_err
finish(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    cascade_batch batch = {.engine_id = engine->incarnation.id,
                           .lane = lane->index,
                           .number = lane->number + 1,
                           .changes = lane->changes,
                           .change_count = lane->items[0].count};

    csc_assert(lane->in_round && lane->state == CSC_LANE_BUILT);
    csc_assert(lane->txn == CSC_TXN_KEPT);
    lane->txn = CSC_TXN_NONE;
    return csc_move_finish(engine->store, &lane->transaction, &batch,
                           lane->existed);
}

/* Rolls back; the thread's text goes on saying why. */
static cascade_err
give_back(csc_lane *lane, cascade_err err)
{
    csc_error_kept kept;

    csc_assert(err != CASCADE_OK && lane->txn == CSC_TXN_KEPT);
    csc_error_keep(&kept, err);
    (void)roll_back(lane);
    return csc_error_restore(&kept);
}

static void
commit(csc_lane *lane)
{
    cascade_err err = csc_batch_build(lane);

    csc_assert(csc_lock_is_none_held() && lane->txn == CSC_TXN_KEPT);
    if (err == CASCADE_OK && lane->items[0].err != CASCADE_OK) {
        (void)give_back(lane, lane->items[0].err);
        csc_outcome_refuse(lane, CASCADE_ERR_TOO_LARGE);
        return;
    }
    err = err == CASCADE_OK ? finish(lane) : give_back(lane, err);
    if (err == CASCADE_OK)
        apply(lane);
    else if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST)
        csc_outcome_lose(lane, err);
    else if (err == CASCADE_ERR_REFUSED)
        csc_outcome_refuse(lane, err);
    else if (err == CASCADE_ERR_UNAVAILABLE)
        csc_outcome_try_later(lane, err);
    else
        fail_as_told(lane, err == CASCADE_ERR_MISUSE);
}

/* Whether it is to be settled now; waits for that. An incarnation that is lost
 * settles nothing, and an engine that is ending leaves it to the detachment. */
static bool
await_try(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    bool due = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    while (csc_lane_queue_is_busy_locked(lane) && !due &&
           !engine->wakeup.threads_end) {
        int64_t left_ns = lane->retry_at_ns - csc_clock_now_ns(engine);

        if (!engine->incarnation.attached)
            csc_outcome_abandon_locked(lane);
        else if (left_ns <= 0)
            due = true;
        else
            csc_wakeup_wait_locked(engine, &lane->cond,
                                   left_ns / CSC_MS_NS + 1);
    }
    csc_lock_give(&engine->mutex);
    return due;
}

bool
csc_node_txn_end(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    bool threads = engine->options.mode == CASCADE_MODE_THREADS;
    bool put_off = false;

    csc_assert(csc_lock_is_none_held() && lane->taken);
    if (lane->txn == CSC_TXN_KEPT)
        commit(lane);
    else
        (void)roll_back(lane);
    while (threads && await_try(lane))
        csc_node_txn_settle(lane);
    csc_lock_take(&engine->mutex);
    csc_assert(csc_lane_queue_is_sound_locked(lane));
    csc_assert(lane->native && lane->taken && lane->txn == CSC_TXN_NONE);
    lane->taken = false;
    lane->in_round = false;
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    if (csc_lane_queue_is_busy_locked(lane))
        csc_lane_queue_wake_locked(lane);
    else
        csc_txn_slot_resume_locked(engine);
    put_off = engine->txn.put_off;
    csc_lock_give(&engine->mutex);
    return put_off;
}
