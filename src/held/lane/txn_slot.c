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
 *   finishing: the lane has a batch of one item, whose commit has BEGUN, as
 *     |       in any lane
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
 * others of its cascade, for that one's turn (ready_queue.c). It has the next
 * turn of all where it had one and found no lane, or where commits of its
 * cascade have gone before it.
 *
 * OUT OF TIME. Nothing can stop a C function: the execution is taken from it
 * (time_limit_call.c), when its transaction was open for too long if not
 * before, and its run has the lane no more. So what the run has posted is
 * committed, if the store's locks allow; when the function returns, its
 * transaction is rolled back. Once it has returned in time the outcome of its
 * commit counts, however long that takes.
 *
 * STOPPED before the function returns: its cascade is dropped, and what it did
 * is rolled back when it returns. Where a database has one writer (native_max =
 * 1) nothing can be detached before: so the stop does not wait for lanes and
 * housekeeper, which may ask for that lock as well, nor for workers that do. It
 * leaves the detachment, and them, to the thread that has the lane (`put_off`;
 * engine.c does it). That has it alone, so it is done once; and a close waits
 * for that thread. Elsewhere the stop detaches at once: no takeover waits
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
#include "held/lane/txn_slot.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/node_def.h"
#include "held/room/backlog.h"
#include "held/run/ready_queue.h"
#include "held/run/run.h"
#include "state/state.h"
#include "store/store.h"

#define PASSED_MAX 3 /* commits that go before a waiting execution */

/* ---- Lanes -------------------------------------------------------------- */

static uint32_t
count_lanes(const cascade_engine *engine)
{
    uint32_t count = engine->options.transaction_count;
    uint32_t max = csc_driver_native_max(engine->store->driver);

    return count < max ? count : max;
}

static cascade_err
init_lane(cascade_engine *engine, uint32_t index)
{
    csc_lane *lane = &engine->lanes[index];
    cascade_err err = CASCADE_OK;

    csc_assert(index >= engine->lane_count && lane->items == NULL);
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
csc_txn_slot_init(cascade_engine *engine)
{
    bool wanted = false;
    cascade_err err = CASCADE_OK;

    csc_assert(engine->life == CSC_LIFE_NEW);
    for (size_t i = 0; i < engine->node_count; i++)
        wanted = wanted || engine->nodes[i].transactional;
    while (wanted && err == CASCADE_OK &&
           engine->native_count < count_lanes(engine)) {
        err = init_lane(engine, csc_lane_queue_lane_count(engine));
        if (err == CASCADE_OK)
            engine->native_count++;
    }
    return err;
}

/* Whoever settled its last commit may be in it for a while yet. */
static bool
is_free(const csc_lane *lane)
{
    csc_assert(lane->native);
    return !lane->taken && !csc_lane_queue_is_busy_locked(lane) &&
           !lane->in_round;
}

bool
csc_txn_slot_blocks_locked(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return csc_driver_native_max(engine->store->driver) == 1 &&
           engine->native_count > 0 && engine->lanes[engine->lane_count].taken;
}

/* NULL without one. */
static csc_lane *
find_free(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    for (uint32_t i = 0; i < engine->native_count; i++) {
        csc_lane *lane = &engine->lanes[engine->lane_count + i];

        if (is_free(lane) && engine->txn.begin_at_ns == 0)
            return lane;
    }
    return NULL;
}

/* ---- Waiting for one ---------------------------------------------------- */

/* Whether a commit of it is in flight or about to be. */
static bool
is_busy(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return run->native != NULL || csc_run_is_committing(run) ||
           csc_run_is_leaving(run) ||
           (engine->txn.turn != run &&
            (run->commit == CSC_COMMIT_QUEUED || run->first_post != NULL));
}

bool
csc_txn_slot_holds_locked(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return run->native != NULL || engine->txn.turn == run;
}

/* What it has posted need wait no longer. */
static void
let_commit(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!csc_run_is_gone(run) && run->first_post != NULL &&
        !csc_run_is_committing(run) && !csc_txn_slot_holds_locked(engine, run))
        csc_lane_queue_add_run_locked(&engine->lanes[run->lane], run);
}

void
csc_txn_slot_end_turn_locked(cascade_engine *engine)
{
    csc_run *run = engine->txn.turn;

    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->txn.turn = NULL;
    if (run != NULL)
        let_commit(engine, run);
}

/* Until a lane is free, or until its cascade is. */
void
csc_txn_slot_set_aside_locked(cascade_engine *engine, csc_exec *exec,
                              bool for_lane, bool first)
{
    csc_run *run = exec->run;

    csc_assert(csc_lock_is_held(&engine->mutex) && exec->turn == CSC_TURN_NONE);
    if (!for_lane && exec->waited)
        run->passed++;
    exec->waited = true;
    if (for_lane && run->aside == NULL) {
        run->aside = exec;
        csc_ready_queue_set_aside(
            engine, &engine->txn.aside[csc_ready_queue_priority(exec)], exec,
            first);
    } else {
        csc_ready_queue_set_aside(engine, &run->waiting, exec, first);
    }
}

static bool
is_transactional(const cascade_engine *engine, const csc_exec *exec)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return !csc_run_is_unwanted(exec) &&
           csc_node_def_find(engine, exec->name)->transactional;
}

bool
csc_txn_slot_take_locked(cascade_engine *engine, csc_exec *exec,
                         csc_lane **taken)
{
    csc_run *run = exec->run;
    csc_lane *lane = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(exec->turn == CSC_TURN_NONE && !csc_run_is_gone(run));
    *taken = NULL;
    if (engine->native_count == 0)
        return true;
    if (is_transactional(engine, exec)) {
        exec->turned = !is_busy(engine, run);
        if (exec->turned)
            lane = find_free(engine);
        if (lane == NULL)
            csc_txn_slot_set_aside_locked(engine, exec, exec->turned,
                                          exec->waited);
        else
            run->native = lane;
    }
    csc_txn_slot_end_turn_locked(engine);
    if (lane == NULL) {
        csc_txn_slot_resume_locked(engine);
        return exec->turn == CSC_TURN_NONE;
    }
    csc_assert(is_free(lane) && lane->native && run->native == lane);
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

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (int p = CSC_PRIORITIES - 1; p >= 0 && exec == NULL; p--)
        exec = engine->txn.aside[p].first;
    return exec;
}

/* One that waits for a lane may go on to where it is taken from; where
 * its cascade has become busy, it waits for that. */
static void
resume_one(cascade_engine *engine, csc_exec *exec)
{
    csc_run *run = exec->run;

    csc_assert(exec->turn == CSC_TURN_ASIDE);
    csc_ready_queue_take_out(engine, exec);
    if (is_busy(engine, run)) {
        csc_ready_queue_set_aside(engine, &run->waiting, exec, true);
        return;
    }
    csc_ready_queue_add(engine, exec,
                        exec->turned ? CSC_PLACE_NEXT : CSC_PLACE_FIRST);
    exec->turn = CSC_TURN_RESUMED;
    engine->txn.resumed_count++;
}

/* A lane is free: as many as there are such go on. Those that do and are not
 * begun yet count; one that leaves the ready list for anything else makes room
 * for the next. */
void
csc_txn_slot_resume_locked(cascade_engine *engine)
{
    size_t count = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (uint32_t i = 0; i < engine->native_count; i++) {
        const csc_lane *lane = &engine->lanes[engine->lane_count + i];

        count += is_free(lane);
    }
    while (count > engine->txn.resumed_count && engine->txn.begin_at_ns == 0 &&
           first_aside(engine) != NULL)
        resume_one(engine, first_aside(engine));
    csc_assert(engine->txn.resumed_count <= engine->native_count);
}

void
csc_txn_slot_ended_locked(csc_lane *lane)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    if (lane->native && !lane->taken)
        csc_txn_slot_resume_locked(lane->engine);
}

/* All that wait are ready again. */
static void
release(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    while (run->waiting.first != NULL || run->aside != NULL) {
        csc_exec *exec = run->aside != NULL ? run->aside : run->waiting.first;

        csc_ready_queue_take_out(engine, exec);
        csc_ready_queue_add(engine, exec, CSC_PLACE_FIRST);
    }
    csc_assert(run->waiting.first == NULL && run->aside == NULL);
}

void
csc_txn_slot_go_on_locked(cascade_engine *engine, csc_run *run)
{
    csc_exec *exec = run->waiting.first;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run->state.cancel != CSC_NO_PARENT) {
        release(engine, run); /* most need no transaction any more */
        return;
    }
    if (exec == NULL || run->aside != NULL || is_busy(engine, run))
        return;
    csc_ready_queue_take_out(engine, exec);
    if (find_free(engine) != NULL)
        csc_ready_queue_add(engine, exec,
                            run->passed > 0 ? CSC_PLACE_NEXT : CSC_PLACE_FIRST);
    else
        csc_txn_slot_set_aside_locked(engine, exec, true, false);
}

/* Somebody who is not in a function takes the next that is ready. */
static bool
is_idle(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->options.mode != CASCADE_MODE_THREADS ||
           engine->ready.waiting > 0;
}

bool
csc_txn_slot_give_turn_locked(cascade_engine *engine, csc_run *run)
{
    csc_exec *exec = run->waiting.first;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (exec == NULL || csc_run_is_leaving(run) ||
        ++run->passed <= PASSED_MAX || engine->txn.turn != NULL ||
        !is_idle(engine) || !csc_backlog_may_begin(engine) ||
        find_free(engine) == NULL)
        return false;
    csc_assert(run->native == NULL && run->commit == CSC_COMMIT_NONE);
    engine->txn.turn = run;
    csc_ready_queue_take_out(engine, exec);
    csc_ready_queue_add(engine, exec, CSC_PLACE_NEXT);
    return true;
}

void
csc_txn_slot_look_locked(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->txn.begin_at_ns == 0 ||
        engine->txn.begin_at_ns > csc_clock_now_ns(engine))
        return;
    engine->txn.begin_at_ns = 0;
    csc_txn_slot_resume_locked(engine);
}

/* ---- Letting go --------------------------------------------------------- */

/* From now on the lane is the worker's alone. */
void
csc_txn_slot_let_go_locked(cascade_engine *engine, csc_lane *lane)
{
    csc_run *run = lane->run;

    csc_assert(csc_lock_is_held(&engine->mutex) && lane->native);
    if (run->native != lane)
        return;
    run->native = NULL;
    let_commit(engine, run);
}

void
csc_txn_slot_doom_locked(cascade_engine *engine, csc_run *run,
                         const csc_exec *exec)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run->native != NULL && run->native->exec == exec)
        csc_txn_slot_let_go_locked(engine, run->native);
}

void
csc_txn_slot_drop_locked(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && csc_run_is_gone(run));
    run->native = NULL;
    if (engine->txn.turn == run)
        engine->txn.turn = NULL;
    release(engine, run);
}
