/* SPDX-License-Identifier: MIT
 *
 * The threads of an engine, each a loop around one round.
 *
 *   THREADS  worker_count workers, a thread for each lane, a housekeeper, and
 *            a keeper of the lease
 *   LOOP     one thread for the lanes and the housekeeping, and the keeper
 *   INLINE   none
 *
 * Signals are blocked in all of them: they belong to the host's threads.
 */
#include "engine/threads.h"

#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/thread.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "commit/lane.h"
#include "engine/engine.h"
#include "engine/housekeeper.h"
#include "engine/lease.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/node_def.h"
#include "held/room/backlog.h"
#include "held/run/carrier.h"
#include "held/run/ready_queue.h"
#include "held/run/time_limit.h"
#include "held/wakeup.h"
#include "node/worker.h"
#include "store/move.h"

#define RETRY_MS 100 /* when the store cannot wait */
#define JOIN_POLL_MS 10

/* ---- Loops -------------------------------------------------------------- */

static void *
lane_main(void *context)
{
    csc_lane *lane = context;
    cascade_engine *engine = lane->engine;

    csc_lock_take(&engine->mutex);
    while (!engine->wakeup.threads_end) {
        int64_t at_ns = 0;

        if (csc_lane_pending_locked(lane, &at_ns)) {
            csc_lock_give(&engine->mutex);
            (void)csc_lane_round(lane);
            csc_lock_take(&engine->mutex);
        } else if (at_ns == INT64_MAX) {
            csc_wakeup_wait_locked(engine, &lane->cond, -1);
        } else {
            csc_wakeup_wait_locked(
                engine, &lane->cond,
                (at_ns - csc_clock_now_ns(engine)) / CSC_MS_NS + 1);
        }
    }
    csc_lock_give(&engine->mutex);
    return NULL;
}

/* Waits for something to do: what the store tells, what this process tells, or
 * the time. */
static void
wait_for_work(cascade_engine *engine, int64_t wait_ms)
{
    struct pollfd fd = {.fd = engine->wakeup.house_fd, .events = POLLIN};
    cascade_waited result = {.seen = engine->threads->seen};
    bool waits =
        wait_ms > 0 || csc_housekeeper_is_busy(engine); /* or listens */
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (waits)
        err = csc_move_wait(engine->store, engine->wakeup.house_fd, wait_ms,
                            &result);
    if (err != CASCADE_OK)
        (void)poll(&fd, 1, wait_ms < RETRY_MS ? (int)wait_ms : RETRY_MS);
    engine->threads->seen = result.seen;
    csc_lock_take(&engine->mutex);
    csc_wakeup_house_awake_locked(engine);
    if (waits)
        engine->wakeup.listening = err == CASCADE_OK && result.listening;
    engine->wakeup.told = engine->wakeup.told || result.woken;
    csc_lock_give(&engine->mutex);
}

static bool
is_ending(cascade_engine *engine)
{
    bool ending = false;

    csc_lock_take(&engine->mutex);
    ending = engine->wakeup.threads_end;
    csc_lock_give(&engine->mutex);
    return ending;
}

static void *
house_main(void *context)
{
    cascade_engine *engine = context;

    while (!is_ending(engine)) {
        int64_t wait_ms = 0;

        csc_housekeeper_round(engine, &wait_ms);
        wait_for_work(engine, wait_ms);
    }
    return NULL;
}

/* The soonest a lane has something to do; 0: now. */
static int64_t
lanes_wait_ms(cascade_engine *engine, int64_t wait_ms)
{
    csc_lock_take(&engine->mutex);
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++) {
        int64_t at_ns = 0;
        int64_t in_ms = 0;

        if (csc_lane_pending_locked(&engine->lanes[i], &at_ns))
            wait_ms = 0;
        if (at_ns == INT64_MAX)
            continue;
        in_ms = (at_ns - csc_clock_now_ns(engine)) / CSC_MS_NS + 1;
        if (in_ms < wait_ms)
            wait_ms = in_ms > 0 ? in_ms : 0;
    }
    csc_lock_give(&engine->mutex);
    return wait_ms;
}

static void *
io_main(void *context)
{
    cascade_engine *engine = context;

    while (!is_ending(engine)) {
        int64_t wait_ms = 0;

        for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++)
            (void)csc_lane_round(&engine->lanes[i]);
        csc_housekeeper_round(engine, &wait_ms);
        wait_for_work(engine, lanes_wait_ms(engine, wait_ms));
    }
    return NULL;
}

static void *
keeper_main(void *context)
{
    cascade_engine *engine = context;

    while (!is_ending(engine)) {
        int64_t wait_ms = csc_lease_keep(engine);

        csc_lock_take(&engine->mutex);
        if (!engine->wakeup.threads_end)
            csc_wakeup_wait_locked(engine, &engine->threads->keeper_cond,
                                   wait_ms);
        csc_lock_give(&engine->mutex);
    }
    return NULL;
}

static bool
begin_worker(cascade_engine *engine)
{
    cascade_err err = CASCADE_OK;

    if (engine->options.worker_init != NULL)
        err = engine->options.worker_init(engine->options.worker_context);
    csc_lock_take(&engine->mutex);
    engine->workers->initialised++;
    if (err != CASCADE_OK)
        engine->workers->err = err;
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    csc_lock_give(&engine->mutex);
    return err == CASCADE_OK;
}

static void
sleep_locked(csc_worker *worker)
{
    cascade_engine *engine = worker->engine;

    if (csc_node_def_has_fibers(engine)) {
        csc_carrier_sleep(&worker->carrier);
        return;
    }
    engine->ready.waiting++;
    csc_wakeup_wait_locked(engine, &engine->ready.work_cond, -1);
    engine->ready.waiting--;
}

static void
work(csc_worker *worker)
{
    cascade_engine *engine = worker->engine;

    csc_assert(csc_lock_is_none_held());
    for (;;) {
        while (csc_engine_work(engine, worker))
            ;
        if (!csc_origin_is_here(engine))
            return; /* a node has forked: this is the child */
        csc_lock_take(&engine->mutex);
        if (engine->life == CSC_LIFE_STOPPED && worker->carrier.fibers == 0) {
            csc_lock_give(&engine->mutex);
            return;
        }
        if (!csc_worker_has_work_locked(worker)) {
            (void)csc_backlog_note_wait(engine);
            sleep_locked(worker);
        }
        csc_lock_give(&engine->mutex);
    }
}

static void *
worker_main(void *context)
{
    csc_worker *worker = context;
    cascade_engine *engine = worker->engine;

    if (begin_worker(engine)) {
        work(worker);
        if (!csc_origin_is_here(engine))
            return NULL;
        csc_worker_free_stacks(worker);
        if (engine->options.worker_exit != NULL)
            engine->options.worker_exit(engine->options.worker_context);
    }
    csc_lock_take(&engine->mutex);
    worker->ended = true;
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    csc_lock_give(&engine->mutex);
    return NULL;
}

/* Waits until every worker's init hook is through. */
static cascade_err
await_workers(cascade_engine *engine)
{
    cascade_err err = CASCADE_OK;

    csc_lock_take(&engine->mutex);
    while (engine->workers->initialised < engine->options.worker_count)
        csc_wakeup_wait_locked(engine, &engine->wakeup.quiet_cond, -1);
    err = engine->workers->err;
    csc_lock_give(&engine->mutex);
    return err;
}

static cascade_err
start_workers(cascade_engine *engine)
{
    size_t count = engine->options.worker_count;
    cascade_err err = CASCADE_OK;

    engine->workers->list =
        csc_mem_zalloc(count, sizeof(*engine->workers->list));
    if (engine->workers->list == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        csc_worker *worker = &engine->workers->list[i];

        err = csc_worker_init(engine, worker);
        if (err == CASCADE_OK)
            err = csc_thread_create(&worker->thread,
                                    engine->options.worker_stack_size +
                                        CSC_WORKER_STACK_MORE,
                                    worker_main, worker);
        worker->started = err == CASCADE_OK;
    }
    return err == CASCADE_OK ? await_workers(engine) : err;
}

static cascade_err
start_lanes(cascade_engine *engine)
{
    cascade_err err = CASCADE_OK;

    for (uint32_t i = 0; i < engine->lane_count && err == CASCADE_OK; i++) {
        csc_lane *lane = &engine->lanes[i];

        csc_lock_take(&engine->mutex);
        err = csc_thread_create(&lane->thread, 0, lane_main, lane);
        lane->thread_started = err == CASCADE_OK;
        csc_lock_give(&engine->mutex);
    }
    return err;
}

cascade_err
csc_threads_start(cascade_engine *engine)
{
    cascade_err err = CASCADE_OK;
    bool threads = engine->options.mode == CASCADE_MODE_THREADS;

    csc_assert(csc_lock_is_none_held());
    if (engine->options.mode == CASCADE_MODE_INLINE)
        return CASCADE_OK;
    if (threads)
        err = start_workers(engine);
    if (threads && err == CASCADE_OK)
        err = start_lanes(engine);
    if (err == CASCADE_OK) {
        err = csc_thread_create(&engine->threads->house_thread, 0,
                                threads ? house_main : io_main, engine);
        engine->threads->house_started = err == CASCADE_OK;
    }
    if (err == CASCADE_OK) {
        err = csc_thread_create(&engine->threads->keeper_thread, 0, keeper_main,
                                engine);
        engine->threads->keeper_started = err == CASCADE_OK;
    }
    return err;
}

void
csc_threads_request_end_locked(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->wakeup.threads_end = true;
    csc_wakeup_house_locked(engine);
    pthread_cond_broadcast(&engine->threads->keeper_cond);
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++)
        pthread_cond_broadcast(&engine->lanes[i].cond);
}

void
csc_threads_end(cascade_engine *engine)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    csc_threads_request_end_locked(engine);
    csc_lock_give(&engine->mutex);
    for (uint32_t i = 0; i < engine->lane_count; i++) {
        csc_lane *lane = &engine->lanes[i];
        bool started = false;

        csc_lock_take(&engine->mutex);
        started = lane->thread_started;
        lane->thread_started = false;
        csc_lock_give(&engine->mutex);
        if (started)
            (void)pthread_join(lane->thread, NULL);
    }
    if (engine->threads->house_started)
        (void)pthread_join(engine->threads->house_thread, NULL);
    engine->threads->house_started = false;
    if (engine->threads->keeper_started)
        (void)pthread_join(engine->threads->keeper_thread, NULL);
    engine->threads->keeper_started = false;
}

void
csc_threads_await_left_locked(cascade_engine *engine, int64_t end_ms)
{
    int64_t left = csc_clock_left_ms(end_ms);

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->life == CSC_LIFE_STOPPED);
    while ((engine->txn.put_off || engine->calls.running > 0) && left > 0) {
        csc_wakeup_wait_locked(engine, &engine->wakeup.quiet_cond,
                               left < JOIN_POLL_MS ? left : JOIN_POLL_MS);
        left = csc_clock_left_ms(end_ms);
    }
}

/* The node whose function has the transaction that all that write wait for;
 * NULL without one. */
static const char *
find_blocking_locked(const cascade_engine *engine)
{
    size_t count =
        engine->workers->list != NULL ? engine->options.worker_count : 0;
    const csc_worker *worker = &engine->workers->looper;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!csc_txn_slot_blocks_locked(engine))
        return NULL;
    for (size_t i = 0; i < count && worker->node == NULL; i++)
        if (engine->workers->list[i].native != NULL)
            worker = &engine->workers->list[i];
    return worker->node;
}

/* NULL when it is joined, else the node it is in or waits for. One that is not
 * in a node ends by itself in no time, unless it is to commit what was posted
 * and cannot. */
static const char *
join_worker(cascade_engine *engine, csc_worker *worker)
{
    const char *node = NULL;
    bool ended = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    while (!worker->ended && worker->node == NULL &&
           find_blocking_locked(engine) == NULL)
        csc_wakeup_wait_locked(engine, &engine->wakeup.quiet_cond,
                               JOIN_POLL_MS);
    ended = worker->ended;
    if (!ended)
        node =
            worker->node != NULL ? worker->node : find_blocking_locked(engine);
    csc_lock_give(&engine->mutex);
    if (ended) {
        (void)pthread_join(worker->thread, NULL);
        worker->started = false;
    }
    return node;
}

/* The one that all wait for is named, if there is one. In the poll modes the
 * host's thread may be in a node, or be giving up what a stop has left to
 * it. */
const char *
csc_threads_join_workers(cascade_engine *engine)
{
    const char *node = NULL;
    const char *blocking = NULL;
    size_t count =
        engine->workers->list != NULL ? engine->options.worker_count : 0;

    csc_assert(csc_lock_is_none_held());
    for (size_t i = 0; i < count; i++) {
        const char *found = NULL;

        if (engine->workers->list[i].started)
            found = join_worker(engine, &engine->workers->list[i]);
        if (found != NULL)
            node = found;
    }
    csc_lock_take(&engine->mutex);
    while (engine->txn.put_off && find_blocking_locked(engine) == NULL)
        csc_wakeup_wait_locked(engine, &engine->wakeup.quiet_cond,
                               JOIN_POLL_MS);
    blocking = find_blocking_locked(engine);
    if (blocking != NULL)
        node = blocking;
    else if (node == NULL)
        node = engine->workers->looper.node;
    csc_lock_give(&engine->mutex);
    return node;
}
