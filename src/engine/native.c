/* SPDX-License-Identifier: MIT
 *
 * Transactional nodes: executions whose function runs inside the transaction
 * that records their completion (G11). store.h has the moves.
 *
 *   ready
 *     |  popped: its cascade is busy         --> waits in the run
 *     |          no lane is free             --> waits in the engine (`aside`)
 *     v                                          ...and is ready again later
 *   taken: lane and run have each other; what the cascade has to commit
 *     |    otherwise waits in the run
 *     |  begin    the store is in trouble, or the lease may be over behind it,
 *     |           or the engine stops: not an attempt; `aside` again
 *     v
 *   open: the function runs in a worker
 *     |   \-- anything but a completion, or out of time, or the run is gone:
 *     |       abandon; then what is to be recorded is posted as always
 *     v
 *   finishing: the lane has a batch of one item, `committing` as in any lane
 *     |  \--> refused, failed, too late: nothing took effect; a failed attempt,
 *     |       posted as always
 *     |  \--> UNAVAILABLE: undecided, until settle tells
 *     v
 *   committed: applied as in any lane
 *
 * LANES. The incarnation has further lanes behind the ordinary ones, each with
 * a connection of the store's while a function has it. They have no threads:
 * the worker that runs the function commits. What it finds undecided it decides
 * too, in THREADS, and stays until then; in the poll modes the rounds of the
 * lanes do (csc_lane_round), so that no host is kept.
 *
 * ONE COMMIT IN FLIGHT FOR A CASCADE, whichever lane carries it, holds here
 * too. A cascade is busy while it is in a batch, or has posts for one; then its
 * transactional executions wait. While one of them has a transaction, posts of
 * the cascade stay in the run. So the state that the batch is built of is what
 * the tables have, and on SQLite no lane of ours waits for the write lock that
 * our own function has, for want of which that could not go on.
 *   In a cascade whose parallel executions post all the time there would always
 * be something posted: after PASSED_MAX commits it is the other's `turn`, and
 * what is posted waits until that has begun. Only where a worker is idle, and
 * for no longer than until one takes anything: those that wait for a step to be
 * durable may be all the workers there are.
 *
 * FAIR. Those of one cascade wait in the run, first come, first served; one of
 * each run at most waits in the engine. What may begin goes in front of the
 * others of its cascade, for that one's turn (ready.c). It has the next turn of
 * all where it had one and found no lane, or where commits of its cascade have
 * gone before it.
 *
 * OUT OF TIME. Nothing can stop a C function: the execution is taken from it
 * (limits.c), when its transaction was open for too long if not before, and its
 * run has the lane no more. So what the run has posted is
 * committed, if the store's locks allow; when the function returns, its
 * transaction is rolled back. Once it has returned in time the outcome of its
 * commit counts, however long that takes.
 *
 * STOPPED before the function returns: its cascade is dropped, and what it did
 * is rolled back when it returns. Where a database has one writer (native_max =
 * 1) nothing can be detached before: so the stop does not wait for lanes and
 * housekeeper, which may ask for that lock as well, nor for workers that do. It
 * leaves the detachment, and them, to the thread that has the lane (`put_off`,
 * csc_engine_release()). That has it alone, so it is done once; and a close
 * waits for that thread. Elsewhere the stop detaches at once: no takeover waits
 * for a function (S29).
 *
 * IF THE PROCESS DIES
 *   before the commit of the transaction   nothing of it is there; the
 *              execution runs again, as any other (G4)
 *   after it   the rows and what the function wrote are both there
 *   There is no moment in between (S29). A COMMIT on its way to a server when
 *   the process dies takes effect before the incarnation is removed, and
 *   whoever claims the cascade sees it, or is fenced (S4).
 * If only the connection dies, settle decides (S32). Nothing runs again before
 * that (G12); an engine that is stopped undecided is detached, which decides it
 * as well: its lanes are gone.
 */
#include "engine/native.h"

#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "engine/lane.h"
#include "engine/node.h"

#define PASSED_MAX 3 /* commits that go before a waiting execution */

/* ---- Lanes -------------------------------------------------------------- */

static uint32_t
count_lanes(const cascade_engine *engine)
{
    uint32_t count = engine->options.transaction_count;

    return count < engine->driver->native_max ? count
                                              : engine->driver->native_max;
}

static cascade_err
init_lane(cascade_engine *engine, uint32_t index)
{
    csc_lane *lane = &engine->lanes[index];
    cascade_err err = CASCADE_OK;

    lane->items = csc_mem_zalloc(1, sizeof(*lane->items));
    if (lane->items == NULL)
        return csc_fail_memory();
    err = csc_lock_init_cond(&lane->cond);
    if (err != CASCADE_OK) {
        csc_mem_free(lane->items);
        lane->items = NULL;
        return err;
    }
    lane->engine = engine;
    lane->index = index;
    lane->item_room = 1;
    lane->native = true;
    return CASCADE_OK;
}

cascade_err
csc_native_init(cascade_engine *engine)
{
    bool wanted = false;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < engine->node_count; i++)
        wanted = wanted || engine->nodes[i].transactional;
    while (wanted && err == CASCADE_OK &&
           engine->native_count < count_lanes(engine)) {
        err = init_lane(engine, csc_engine_lanes(engine));
        if (err == CASCADE_OK)
            engine->native_count++;
    }
    return err;
}

/* Whoever settled its last commit may be in it for a while yet. */
static bool
is_free(const csc_lane *lane)
{
    return !lane->taken && !lane->busy && !lane->in_round;
}

bool
csc_native_blocks(const cascade_engine *engine)
{
    return engine->driver->native_max == 1 && engine->native_count > 0 &&
           engine->lanes[engine->lane_count].taken;
}

/* NULL without one. */
static csc_lane *
find_free(cascade_engine *engine)
{
    for (uint32_t i = 0; i < engine->native_count; i++) {
        csc_lane *lane = &engine->lanes[engine->lane_count + i];

        if (is_free(lane) && engine->native_at_ns == 0)
            return lane;
    }
    return NULL;
}

/* ---- Waiting for one ---------------------------------------------------- */

/* Whether a commit of it is in flight or about to be. */
static bool
is_busy(const cascade_engine *engine, const csc_run *run)
{
    return run->native != NULL || run->committing || run->freeing ||
           (engine->turn != run && (run->dirty || run->first_post != NULL));
}

bool
csc_native_holds(const cascade_engine *engine, const csc_run *run)
{
    return run->native != NULL || engine->turn == run;
}

/* What it has posted need wait no longer. */
static void
let_commit(cascade_engine *engine, csc_run *run)
{
    if (!run->gone && run->first_post != NULL && !run->committing &&
        !csc_native_holds(engine, run))
        csc_lane_add_run(&engine->lanes[run->lane], run);
}

void
csc_native_end_turn(cascade_engine *engine)
{
    csc_run *run = engine->turn;

    engine->turn = NULL;
    if (run != NULL)
        let_commit(engine, run);
}

/* Until a lane is free, or until its cascade is. */
static void
set_aside(cascade_engine *engine, csc_exec *exec, bool for_lane, bool first)
{
    csc_run *run = exec->run;

    if (!for_lane && exec->waited)
        run->passed++;
    exec->waited = true;
    if (for_lane && run->aside == NULL) {
        run->aside = exec;
        csc_ready_set_aside(engine, &engine->aside[csc_ready_priority(exec)],
                            exec, first);
    } else {
        csc_ready_set_aside(engine, &run->waiting, exec, first);
    }
}

static bool
is_transactional(const cascade_engine *engine, const csc_exec *exec)
{
    return !csc_run_is_unwanted(exec) &&
           csc_engine_node(engine, exec->name)->transactional;
}

bool
csc_native_take(cascade_engine *engine, csc_exec *exec, csc_lane **taken)
{
    csc_run *run = exec->run;
    csc_lane *lane = NULL;

    *taken = NULL;
    if (engine->native_count == 0)
        return true;
    if (is_transactional(engine, exec)) {
        exec->turned = !is_busy(engine, run);
        if (exec->turned)
            lane = find_free(engine);
        if (lane == NULL)
            set_aside(engine, exec, exec->turned, exec->waited);
        else
            run->native = lane;
    }
    csc_native_end_turn(engine);
    if (lane == NULL) {
        csc_native_resume(engine);
        return exec->ready_list == NULL;
    }
    lane->taken = true;
    lane->run = run;
    lane->exec = exec;
    run->passed = 0;
    exec->waited = false;
    *taken = lane;
    return true;
}

/* Of the highest priority, first come, first served; NULL without one. */
static csc_exec *
first_aside(const cascade_engine *engine)
{
    csc_exec *exec = NULL;

    for (int p = CSC_PRIORITIES - 1; p >= 0 && exec == NULL; p--)
        exec = engine->aside[p].first;
    return exec;
}

/* One that waits for a lane may go on to where it is taken from; where
 * its cascade has become busy, it waits for that. */
static void
resume_one(cascade_engine *engine, csc_exec *exec)
{
    csc_run *run = exec->run;

    csc_ready_take_out(engine, exec);
    if (is_busy(engine, run)) {
        csc_ready_set_aside(engine, &run->waiting, exec, true);
        return;
    }
    exec->resumed = true;
    engine->resumed_count++;
    csc_ready_add(engine, exec,
                  exec->turned ? CSC_PLACE_NEXT : CSC_PLACE_FIRST);
}

/* A lane is free: as many as there are such go on. Those that do and are not
 * begun yet count; one that leaves the ready list for anything else makes room
 * for the next. */
void
csc_native_resume(cascade_engine *engine)
{
    size_t count = 0;

    for (uint32_t i = 0; i < engine->native_count; i++) {
        const csc_lane *lane = &engine->lanes[engine->lane_count + i];

        count += is_free(lane);
    }
    while (count > engine->resumed_count && engine->native_at_ns == 0 &&
           first_aside(engine) != NULL)
        resume_one(engine, first_aside(engine));
}

void
csc_native_ended(csc_lane *lane)
{
    if (lane->native && !lane->taken)
        csc_native_resume(lane->engine);
}

/* All that wait are ready again. */
static void
release(cascade_engine *engine, csc_run *run)
{
    while (run->waiting.first != NULL || run->aside != NULL) {
        csc_exec *exec = run->aside != NULL ? run->aside : run->waiting.first;

        csc_ready_take_out(engine, exec);
        csc_ready_add(engine, exec, CSC_PLACE_FIRST);
    }
}

void
csc_native_go_on(cascade_engine *engine, csc_run *run)
{
    csc_exec *exec = run->waiting.first;

    if (run->state.cancel != CSC_NO_PARENT) {
        release(engine, run); /* most need no transaction any more */
        return;
    }
    if (exec == NULL || run->aside != NULL || is_busy(engine, run))
        return;
    csc_ready_take_out(engine, exec);
    if (find_free(engine) != NULL)
        csc_ready_add(engine, exec,
                      run->passed > 0 ? CSC_PLACE_NEXT : CSC_PLACE_FIRST);
    else
        set_aside(engine, exec, true, false);
}

/* Somebody who is not in a function takes the next that is ready. */
static bool
is_idle(const cascade_engine *engine)
{
    return engine->options.mode != CASCADE_MODE_THREADS ||
           engine->work_waiting > 0;
}

bool
csc_native_give_turn(cascade_engine *engine, csc_run *run)
{
    csc_exec *exec = run->waiting.first;

    if (exec == NULL || run->freeing || ++run->passed <= PASSED_MAX ||
        engine->turn != NULL || !is_idle(engine) ||
        !csc_run_may_begin(engine) || find_free(engine) == NULL)
        return false;
    engine->turn = run;
    csc_ready_take_out(engine, exec);
    csc_ready_add(engine, exec, CSC_PLACE_NEXT);
    return true;
}

void
csc_native_look(cascade_engine *engine)
{
    if (engine->native_at_ns == 0 ||
        engine->native_at_ns > csc_engine_monotonic_ns(engine))
        return;
    engine->native_at_ns = 0;
    csc_native_resume(engine);
}

/* ---- Letting go --------------------------------------------------------- */

/* From now on the lane is the worker's alone. */
static void
let_go(cascade_engine *engine, csc_lane *lane)
{
    csc_run *run = lane->run;

    if (run->native != lane)
        return;
    run->native = NULL;
    let_commit(engine, run);
}

void
csc_native_doom(cascade_engine *engine, csc_run *run, const csc_exec *exec)
{
    if (run->native != NULL && run->native->exec == exec)
        let_go(engine, run->native);
}

void
csc_native_drop(cascade_engine *engine, csc_run *run)
{
    run->native = NULL;
    if (engine->turn == run)
        engine->turn = NULL;
    release(engine, run);
}

/* ---- Beginning ---------------------------------------------------------- */

/* Nothing transactional begins for a moment. */
static void
hold(cascade_engine *engine)
{
    int64_t backoff_ms = csc_lane_backoff_ms(engine->native_backoff_ms);

    engine->native_backoff_ms = backoff_ms;
    engine->native_at_ns =
        csc_engine_monotonic_ns(engine) + backoff_ms * CSC_MS_NS;
    csc_engine_wake_house(engine);
    csc_engine_wake_host(engine);
}

/* The function was not called: that is no attempt. Locked. */
static void
put_back(cascade_engine *engine, csc_lane *lane)
{
    csc_run *run = lane->run;

    if (lane->begun != CASCADE_ERR_STOPPED)
        hold(engine);
    let_go(engine, lane);
    lane->taken = false;
    set_aside(engine, lane->exec, true, true);
    engine->stats.attempts--;
    engine->running--;
    if (engine->running == 0)
        pthread_cond_broadcast(&engine->quiet_cond);
    csc_run_advance(engine, run);
}

/* Whether anything is to begin still. */
static cascade_err
check_turn(cascade_engine *engine)
{
    bool stops = false;
    bool may = false;

    pthread_mutex_lock(&engine->mutex);
    may = csc_run_may_begin(engine);
    stops = atomic_load_explicit(&engine->stop_requested, memory_order_relaxed);
    pthread_mutex_unlock(&engine->mutex);
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
    cascade_err err = engine->driver->begin(
        engine->driver_self, def->transaction_ms, &lane->transaction);

    if (err != CASCADE_OK)
        return err;
    err = check_turn(engine);
    if (err == CASCADE_OK)
        return CASCADE_OK;
    csc_error_keep(&kept, err);
    (void)engine->driver->abandon(engine->driver_self, &lane->transaction);
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
csc_native_begin(cascade_engine *engine, csc_lane *lane, csc_call *call)
{
    csc_run *run = lane->run;
    const csc_node_def *def = csc_engine_node(engine, lane->exec->name);
    cascade_err err = begin(lane, def);
    bool back = false;

    if (err != CASCADE_OK)
        (void)snprintf(lane->trouble, sizeof(lane->trouble), "%s",
                       cascade_errmsg());
    if (err != CASCADE_OK && err != CASCADE_ERR_STOPPED)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "node %s: its transaction was not begun: %s", def->name,
                    cascade_errmsg());
    pthread_mutex_lock(&engine->mutex);
    lane->begun = err;
    lane->open = err == CASCADE_OK;
    lane->guest_used = false;
    if (lane->open)
        engine->native_backoff_ms = 0;
    back = is_no_attempt(err) && !run->gone;
    if (back) {
        put_back(engine, lane);
    } else {
        csc_limits_begin(engine, call, lane->exec);
        csc_run_advance(engine, run); /* its time may be over since */
    }
    pthread_mutex_unlock(&engine->mutex);
    return !back;
}

/* ---- The function ------------------------------------------------------- */

/* What it fails with is kept before the thread's text is overwritten. */
static void
close_guest(cascade_node *node, cascade_err err)
{
    if (node->guest == NULL)
        return;
    node->native->guest_used = true;
    if (err != CASCADE_OK && node->error_err != err &&
        csc_error_last() == err) {
        node->error = csc_node_clean(&node->arena, cascade_errmsg());
        node->error_err = err;
    }
    csc_store_close_native(node->guest);
    node->guest = NULL;
}

cascade_err
csc_native_call(cascade_node *node)
{
    const csc_lane *lane = node->native;
    const cascade_store *before = NULL;
    cascade_err err = CASCADE_OK;

    if (lane->begun != CASCADE_OK)
        return csc_fail(lane->begun, "the transaction was not begun: %s",
                        lane->trouble);
    if (csc_node_is_gone(node))
        return csc_fail(CASCADE_ERR_FENCED, "the cascade has ended or is owned "
                                            "by another engine");
    err = csc_limits_check_call(node->call);
    if (err != CASCADE_OK)
        return err;
    before = csc_store_set_inside(node->engine->store);
    err = csc_guard_node(node);
    (void)csc_store_set_inside(before);
    if (csc_node_check_origin(node) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    close_guest(node, err);
    return err;
}

/* Nothing of it is to be. CASCADE_ERR_MISUSE where the function had ended it.
 * Not locked. */
static cascade_err
roll_back(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    cascade_err err = CASCADE_OK;

    if (lane->open)
        err = engine->driver->abandon(engine->driver_self, &lane->transaction);
    lane->open = false;
    return err;
}

bool
csc_native_keep(csc_lane *lane, csc_post *post)
{
    csc_run *run = lane->run;

    lane->keeps = lane->open && post != NULL && run->native == lane;
    if (!lane->keeps) {
        let_go(lane->engine, lane);
        return false;
    }
    run->native = NULL;
    run->committing = true;
    run->receives = lane->engine->receives;
    csc_run_ref(run);
    lane->items[0] = (csc_item){.run = run, .posts = post, .count = 1};
    lane->item_count = 1;
    lane->in_round = true;
    csc_lane_begin_batch(lane);
    return true;
}

/* ---- What becomes of its commit ----------------------------------------- */

/* The completion becomes a failed attempt, or, `final` or as the last one, the
 * end of the execution. CASCADE_ERR_NO_MEMORY. Locked. */
static cascade_err
make_failure(cascade_engine *engine, const csc_run *run, csc_post *post,
             const char *text, bool final)
{
    const csc_exec *exec = csc_state_find(&run->state, post->function_id);
    const csc_attempts *attempts =
        &csc_engine_node(engine, exec->name)->attempts;
    int32_t failed = exec->attempts + 1;

    post->effects = (csc_effects){0};
    post->next_run = (csc_next_run){.node = NULL};
    post->attempts = failed;
    post->error = csc_node_clean(&post->arena, text);
    if (post->error == NULL)
        return csc_fail_memory();
    if (final || run->state.cancel != CSC_NO_PARENT ||
        !csc_attempts_left(attempts, failed)) {
        post->kind = CSC_POST_FAIL;
        return csc_run_fail(engine, exec, post);
    }
    post->kind = CSC_POST_ATTEMPT;
    post->delay_ms =
        csc_attempts_delay_ms(attempts, failed, &engine->store->random);
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

    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    pthread_mutex_lock(&engine->mutex);
    if (run->native == lane)
        err = make_failure(engine, run, post, text, true);
    pthread_mutex_unlock(&engine->mutex);
    return err;
}

cascade_err
csc_native_returned(csc_lane *lane, csc_post *post)
{
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

    pthread_mutex_lock(&engine->mutex);
    run->committing = false;
    if (!run->gone)
        err = make_failure(engine, run, post, text, final);
    if (err == CASCADE_OK) {
        csc_run_post(engine, run, post);
    } else {
        csc_post_free(post);
        csc_run_load_anew(engine, run, err);
    }
    csc_run_unref(run);
    csc_lane_end_batch(lane);
    pthread_mutex_unlock(&engine->mutex);
}

static void
fail_as_told(csc_lane *lane, bool final)
{
    char text[CSC_NOTE_SIZE];

    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    fail(lane, text, final);
}

static void
apply(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;

    pthread_mutex_lock(&engine->mutex);
    engine->stats.transactions++;
    pthread_mutex_unlock(&engine->mutex);
    csc_lane_apply(lane);
    if (!lane->guest_used)
        return;
    csc_submit_tell(engine->store);
    (void)engine->driver->wake(engine->driver_self);
}

/* The lane row shows number + 1 now. */
static void
give_up(csc_lane *lane)
{
    char text[CSC_NOTE_SIZE];

    pthread_mutex_lock(&lane->engine->mutex);
    lane->number += 2;
    (void)snprintf(text, sizeof(text), "the transaction was not committed: %s",
                   lane->trouble);
    lane->trouble[0] = '\0';
    pthread_mutex_unlock(&lane->engine->mutex);
    fail(lane, text, false);
}

void
csc_native_settle(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    bool committed = false;
    cascade_err err = CASCADE_OK;

    csc_lease_sign(&lane->vital);
    err = engine->driver->settle(engine->driver_self, &engine->id, lane->index,
                                 lane->number + 1, &committed);

    if (err == CASCADE_OK && committed)
        apply(lane);
    else if (err == CASCADE_OK)
        give_up(lane);
    else if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST)
        csc_lane_lose(lane, err);
    else
        csc_lane_try_later(lane, err);
}

static cascade_err
finish(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    cascade_batch batch = {.engine_id = engine->id,
                           .lane = lane->index,
                           .number = lane->number + 1,
                           .changes = lane->changes,
                           .change_count = lane->items[0].count};

    lane->open = false;
    return engine->driver->finish(engine->driver_self, &lane->transaction,
                                  &batch, lane->existed);
}

/* Rolls back; the thread's text goes on saying why. */
static cascade_err
give_back(csc_lane *lane, cascade_err err)
{
    csc_error_kept kept;

    csc_error_keep(&kept, err);
    (void)roll_back(lane);
    return csc_error_restore(&kept);
}

static void
commit(csc_lane *lane)
{
    cascade_err err = csc_lane_build(lane);

    if (err == CASCADE_OK && lane->items[0].err != CASCADE_OK) {
        (void)give_back(lane, lane->items[0].err);
        csc_lane_refuse(lane, CASCADE_ERR_TOO_LARGE);
        return;
    }
    err = err == CASCADE_OK ? finish(lane) : give_back(lane, err);
    if (err == CASCADE_OK)
        apply(lane);
    else if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST)
        csc_lane_lose(lane, err);
    else if (err == CASCADE_ERR_REFUSED)
        csc_lane_refuse(lane, err);
    else if (err == CASCADE_ERR_UNAVAILABLE)
        csc_lane_try_later(lane, err);
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

    pthread_mutex_lock(&engine->mutex);
    while (lane->busy && !due && !engine->threads_end) {
        int64_t left_ns = lane->retry_at_ns - csc_engine_monotonic_ns(engine);

        if (!engine->attached)
            csc_lane_abandon(lane);
        else if (left_ns <= 0)
            due = true;
        else
            csc_engine_wait(engine, &lane->cond, left_ns / CSC_MS_NS + 1);
    }
    pthread_mutex_unlock(&engine->mutex);
    return due;
}

bool
csc_native_end(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    bool threads = engine->options.mode == CASCADE_MODE_THREADS;
    bool put_off = false;

    if (lane->keeps)
        commit(lane);
    else
        (void)roll_back(lane);
    while (threads && await_try(lane))
        csc_native_settle(lane);
    pthread_mutex_lock(&engine->mutex);
    lane->taken = false;
    lane->in_round = false;
    pthread_cond_broadcast(&engine->quiet_cond);
    if (lane->busy)
        csc_lane_wake(lane);
    else
        csc_native_resume(engine);
    put_off = engine->put_off;
    pthread_mutex_unlock(&engine->mutex);
    return put_off;
}
