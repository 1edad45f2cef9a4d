/* SPDX-License-Identifier: MIT
 *
 * The handle: start, poll, stop, close; open.c makes it.
 *
 *   NEW --start--> RUNNING --stop--> DRAINING --quiet, or too late--> STOPPED
 *
 * Draining begins nothing new and lets what runs be recorded. Then ownership
 * is given up in any case: the incarnation is detached, so other engines take
 * over at once; a node that still runs reports to nobody. But where it is a
 * transactional one, for which all wait that write, that is done by its thread
 * when it returns.
 */
#include "engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "claim/hydrate.h"
#include "commit/lane.h"
#include "engine/housekeeper.h"
#include "engine/open.h"
#include "engine/threads.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/event_queue.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/log_queue.h"
#include "held/node_def.h"
#include "held/room/backlog.h"
#include "held/room/room.h"
#include "held/run/drop.h"
#include "held/run/ready_queue.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "held/run/timer.h"
#include "held/wakeup.h"
#include "node/worker.h"
#include "state/state.h"
#include "store/move.h"
#include "store/store.h"

#define CLOSE_TIMEOUT_MS 10000
#define DRAIN_POLL_MS 20

/* ---- Start -------------------------------------------------------------- */

static cascade_err
list_names(cascade_engine *engine)
{
    csc_assert(engine->life == CSC_LIFE_NEW && engine->node_names == NULL);
    engine->node_names = csc_mem_zalloc(engine->node_count + 1, sizeof(char *));
    if (engine->node_names == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < engine->node_count; i++)
        engine->node_names[i] = engine->nodes[i].name;
    engine->node_names[engine->node_count] = CSC_PAUSE_NAME;
    return CASCADE_OK;
}

/* Another engine may know it: so it is no error. */
static void
tell_unknown(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_none_held() && engine->life == CSC_LIFE_NEW);
    for (size_t i = 0; i < engine->node_count; i++) {
        const csc_node_def *node = &engine->nodes[i];

        if (node->instead != NULL &&
            csc_node_def_find(engine, node->instead) == NULL)
            csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                        "node %s is not registered here: it is to run instead "
                        "of node %s, and would wait for an engine that knows "
                        "it",
                        node->instead, node->name);
    }
}

cascade_err
cascade_engine_start(cascade_engine *engine)
{
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "start: engine is NULL");
    if (engine->life != CSC_LIFE_NEW)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "start: the engine was started before");
    err = csc_store_refuse_within(engine->store, "cascade_engine_start()");
    if (err != CASCADE_OK)
        return err;
    err = list_names(engine);
    tell_unknown(engine);
    if (err == CASCADE_OK)
        err = csc_txn_slot_init(engine);
    if (err == CASCADE_OK)
        err = csc_housekeeper_attach(engine);
    if (err != CASCADE_OK) {
        csc_mem_free(engine->node_names);
        engine->node_names = NULL;
        return err;
    }
    csc_lock_take(&engine->mutex);
    engine->life = CSC_LIFE_RUNNING;
    csc_wakeup_host_locked(engine);
    csc_lock_give(&engine->mutex);
    err = csc_threads_start(engine);
    if (err != CASCADE_OK) {
        (void)cascade_engine_stop(engine, CLOSE_TIMEOUT_MS);
        return csc_fail(err,
                        "start: the threads of the engine did not start: "
                        "%s",
                        cascade_err_text(err));
    }
    return csc_ok();
}

/* ---- Poll --------------------------------------------------------------- */

static void
run_lanes(cascade_engine *engine)
{
    csc_assert(csc_lock_is_none_held());
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++)
        while (csc_lane_round(&engine->lanes[i]))
            ;
}

static void
do_store_work(cascade_engine *engine)
{
    int64_t wait_ms = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    csc_wakeup_house_awake_locked(engine);
    csc_lock_give(&engine->mutex);
    run_lanes(engine);
    csc_housekeeper_round(engine, &wait_ms);
    run_lanes(engine);
}

/* False where the engine has not been started. */
static bool
begin_poll(cascade_engine *engine)
{
    bool started = false;

    csc_lock_take(&engine->mutex);
    started = engine->life != CSC_LIFE_NEW;
    if (started && engine->wakeup.poll_signalled)
        csc_wakeup_drain(engine->wakeup.poll_fd);
    if (started) {
        engine->wakeup.poll_signalled = false;
        engine->wakeup.callers++;
    }
    csc_lock_give(&engine->mutex);
    return started;
}

cascade_err
cascade_engine_poll(cascade_engine *engine, size_t max, size_t *ran)
{
    size_t count = 0;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "poll: engine is NULL");
    if (engine->options.mode == CASCADE_MODE_THREADS)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "poll: the engine runs in threads of its own; open it "
                        "with CASCADE_MODE_LOOP or CASCADE_MODE_INLINE");
    err = csc_store_refuse_within(engine->store, "cascade_engine_poll()");
    if (err != CASCADE_OK)
        return err;
    if (!begin_poll(engine))
        return csc_fail(CASCADE_ERR_MISUSE, "poll: start the engine first");
    if (engine->options.mode == CASCADE_MODE_INLINE)
        do_store_work(engine);
    csc_lock_take(&engine->mutex);
    engine->workers->looper.thread = pthread_self();
    if (max == 0)
        max = engine->ready.count;
    csc_lock_give(&engine->mutex);
    while (count < max && csc_engine_work(engine, &engine->workers->looper))
        count++;
    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE; /* a node has forked: this is the child */
    if (engine->options.mode == CASCADE_MODE_INLINE)
        run_lanes(engine);
    csc_lock_take(&engine->mutex);
    if (engine->ready.count > 0 && !csc_backlog_note_wait(engine))
        csc_wakeup_host_locked(engine);
    engine->wakeup.callers--;
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    csc_lock_give(&engine->mutex);
    if (ran != NULL)
        *ran = count;
    return csc_ok();
}

int
cascade_engine_fd(const cascade_engine *engine)
{
    return engine != NULL && csc_origin_is_here(engine) ? engine->wakeup.poll_fd
                                                        : -1;
}

int64_t
cascade_engine_timeout_ms(cascade_engine *engine)
{
    int64_t wait_ms = CSC_WAIT_MAX_MS;

    if (!csc_origin_is_here(engine))
        return wait_ms;
    if (engine == NULL)
        return wait_ms;
    csc_lock_take(&engine->mutex);
    if (engine->options.mode == CASCADE_MODE_INLINE)
        wait_ms = csc_housekeeper_wait_ms_locked(engine);
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine) && wait_ms > 0 &&
                         engine->options.mode == CASCADE_MODE_INLINE;
         i++) {
        int64_t at_ns = 0;
        int64_t in_ms = 0;

        if (csc_lane_pending_locked(&engine->lanes[i], &at_ns))
            wait_ms = 0;
        else if (at_ns != INT64_MAX)
            in_ms = (at_ns - csc_clock_now_ns(engine)) / CSC_MS_NS + 1;
        if (in_ms > 0 && in_ms < wait_ms)
            wait_ms = in_ms;
    }
    if (csc_backlog_may_take(engine))
        wait_ms = 0;
    csc_lock_give(&engine->mutex);
    return wait_ms < CSC_WAIT_MAX_MS ? wait_ms : CSC_WAIT_MAX_MS;
}

/* ---- Stop --------------------------------------------------------------- */

void
cascade_engine_request_stop(cascade_engine *engine)
{
    int saved = errno;

    if (!csc_origin_is_here(engine))
        return;
    if (engine == NULL)
        return;
    atomic_store_explicit(&engine->stop_requested, true, memory_order_relaxed);
    csc_wakeup_signal(engine->wakeup.stop_fd);
    errno = saved;
}

static int64_t
end_after(int64_t timeout_ms)
{
    return csc_clock_add(csc_clock_monotonic_ms(&csc_clock_system),
                         timeout_ms < 0 ? INT64_MAX : timeout_ms);
}

cascade_err
cascade_engine_wait(cascade_engine *engine, int64_t timeout_ms)
{
    struct pollfd fd = {.events = POLLIN};
    int64_t end_ms = end_after(timeout_ms);

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "wait: engine is NULL");
    fd.fd = engine->wakeup.stop_fd;
    for (;;) {
        int64_t left = csc_clock_left_ms(end_ms);
        int ready = 0;

        ready =
            poll(&fd, 1, left > CSC_WAIT_MAX_MS ? CSC_WAIT_MAX_MS : (int)left);
        if (ready > 0)
            return csc_ok();
        if (ready == 0 && left == 0)
            return csc_fail(CASCADE_ERR_TIMEOUT,
                            "no stop was requested within %lld ms",
                            (long long)timeout_ms);
    }
}

/* Waits until nothing is in a function or a lane; false when `end_ms` passed
 * first. */
static bool
drain_locked(cascade_engine *engine, int64_t end_ms)
{
    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->life == CSC_LIFE_DRAINING);
    while (!csc_drop_quiet(engine)) {
        int64_t left = csc_clock_left_ms(end_ms);

        if (left <= 0)
            return false;
        if (engine->options.mode == CASCADE_MODE_INLINE &&
            !csc_txn_slot_blocks_locked(engine)) {
            csc_lock_give(&engine->mutex);
            run_lanes(engine);
            csc_lock_take(&engine->mutex);
        }
        csc_wakeup_wait_locked(engine, &engine->wakeup.quiet_cond,
                               left < DRAIN_POLL_MS ? left : DRAIN_POLL_MS);
    }
    return true;
}

static void
detach(cascade_engine *engine, const cascade_uuid *id)
{
    csc_assert(csc_lock_is_none_held());
    if (csc_move_detach(engine->store, id) != CASCADE_OK)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "detaching failed; the lease will run out: %s",
                    cascade_errmsg());
}

/* What is in a function reports to nobody from now on. */
static void
drop_locked(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_drop_all(engine, CASCADE_ERR_STOPPED);
    engine->life = CSC_LIFE_STOPPED;
    csc_ready_queue_call_all(engine);
}

/* Ends lanes and housekeeper, drops what there is and detaches: what a stop
 * does in the end. Not locked. */
static void
release(cascade_engine *engine)
{
    bool attached = false;

    csc_assert(csc_lock_is_none_held());
    csc_threads_end(engine);
    csc_lock_take(&engine->mutex);
    drop_locked(engine);
    attached = engine->incarnation.attached;
    engine->incarnation.attached = false;
    csc_lock_give(&engine->mutex);
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++)
        csc_lane_fini(&engine->lanes[i]);
    if (attached)
        detach(engine, &engine->incarnation.id);
    if (engine->incarnation.has_dead_id)
        detach(engine, &engine->incarnation.dead_id);
    (void)csc_move_wake(engine->store);
    csc_log_queue_tell(engine);
    csc_lock_take(&engine->mutex);
    engine->txn.put_off = false;
    pthread_cond_broadcast(&engine->wakeup.quiet_cond);
    csc_lock_give(&engine->mutex);
}

bool
csc_engine_work(cascade_engine *engine, csc_worker *worker)
{
    bool releases = false;
    bool works = csc_worker_round(engine, worker, &releases);

    csc_assert(csc_lock_is_none_held());
    if (releases)
        release(engine);
    return works;
}

/* Behind a transaction that does not end, or is being settled or rolled back
 * just now, nothing can be given up: that is left to the thread that has it
 * (txn_slot.c). */
static void
give_up(cascade_engine *engine)
{
    bool put_off = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    put_off = csc_txn_slot_blocks_locked(engine);
    engine->txn.put_off = put_off;
    if (put_off) {
        csc_threads_request_end_locked(engine);
        drop_locked(engine);
    }
    csc_lock_give(&engine->mutex);
    if (!put_off)
        release(engine);
    csc_log_queue_tell(engine);
}

/* Drains, and gives everything up; false when something was not decided. */
static bool
end_work(cascade_engine *engine, int64_t end_ms)
{
    bool works = false;
    bool quiet = true;

    csc_lock_take(&engine->mutex);
    works = engine->life == CSC_LIFE_RUNNING;
    if (works) {
        engine->life = CSC_LIFE_DRAINING;
        csc_txn_slot_end_turn_locked(engine);
        quiet = drain_locked(engine, end_ms);
    } else {
        engine->life = CSC_LIFE_STOPPED;
        csc_threads_await_left_locked(engine, end_ms);
    }
    csc_lock_give(&engine->mutex);
    if (works)
        give_up(engine);
    return quiet;
}

static cascade_err
fail_stop(cascade_engine *engine, const char *node, int64_t timeout_ms)
{
    bool put_off = false;

    csc_lock_take(&engine->mutex);
    put_off = engine->txn.put_off;
    csc_lock_give(&engine->mutex);
    return csc_fail(CASCADE_ERR_TIMEOUT,
                    "stop: node %s has not returned within %lld ms; its "
                    "cascades are given up%s",
                    node, (long long)timeout_ms,
                    put_off ? " when the transaction ends that all wait for"
                            : "");
}

cascade_err
cascade_engine_stop(cascade_engine *engine, int64_t timeout_ms)
{
    int64_t end_ms = end_after(timeout_ms);
    bool quiet = false;
    bool inside = false;
    bool started = false;
    const char *node = NULL;

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "stop: engine is NULL");
    csc_lock_take(&engine->mutex);
    inside = csc_worker_is_inside_locked(engine);
    started = engine->life != CSC_LIFE_NEW;
    csc_lock_give(&engine->mutex);
    if (inside)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "stop: called inside a node, which it would wait for; "
                        "use cascade_engine_request_stop()");
    if (started && csc_store_refuse_within(
                       engine->store, "cascade_engine_stop()") != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    cascade_engine_request_stop(engine);
    quiet = end_work(engine, end_ms);
    node = csc_threads_join_workers(engine);
    if (node != NULL)
        return fail_stop(engine, node, timeout_ms);
    if (!quiet)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "stop: the store did not decide the last commits "
                        "within %lld ms; the cascades are given up",
                        (long long)timeout_ms);
    return csc_ok();
}

static void
drop_ready(cascade_engine *engine)
{
    csc_exec *exec = csc_ready_queue_pop(engine);

    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->life == CSC_LIFE_STOPPED);
    while (exec != NULL) {
        csc_run_unref(exec->run);
        exec = csc_ready_queue_pop(engine);
    }
}

cascade_err
cascade_engine_close(cascade_engine *engine)
{
    const char *node = NULL;
    bool stopped = false;

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL)
        return csc_ok();
    csc_lock_take(&engine->mutex);
    stopped = engine->life == CSC_LIFE_STOPPED;
    csc_lock_give(&engine->mutex);
    if (!stopped &&
        cascade_engine_stop(engine, CLOSE_TIMEOUT_MS) == CASCADE_ERR_MISUSE)
        return CASCADE_ERR_MISUSE;
    node = csc_threads_join_workers(engine);
    if (node != NULL)
        return csc_fail(CASCADE_ERR_AGAIN,
                        "close: node %s has not returned; call close again "
                        "when it has",
                        node);
    csc_store_remove_engine(engine->store, engine);
    csc_lock_take(&engine->mutex);
    while (engine->wakeup.callers > 0)
        csc_wakeup_wait_locked(engine, &engine->wakeup.quiet_cond,
                               DRAIN_POLL_MS);
    drop_ready(engine);
    csc_lock_give(&engine->mutex);
    csc_event_queue_end(engine);
    csc_log_queue_tell(engine);
    csc_open_free(engine);
    return csc_ok();
}

cascade_err
cascade_engine_get_stats(cascade_engine *engine, cascade_engine_stats *stats)
{
    cascade_engine_stats now;
    size_t size = 0;

    if (csc_origin_check(engine) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (engine == NULL || stats == NULL || stats->size < sizeof(size_t))
        return csc_fail(CASCADE_ERR_INVALID,
                        "get stats: give an engine, and stats with their size "
                        "set to sizeof(cascade_engine_stats)");
    size = stats->size < sizeof(now) ? stats->size : sizeof(now);
    csc_lock_take(&engine->mutex);
    now = engine->stats;
    now.held = engine->runs.count;
    now.held_bytes = engine->room.small_bytes + engine->room.large_bytes;
    now.ready = engine->ready.count + engine->txn.aside_count;
    now.running = engine->calls.running;
    now.overdue = engine->calls.overdue;
    now.waiting = engine->timers.count;
    now.fibers = engine->ready.carriers.fibers;
    now.hydrate_ms = (engine->claims->hydrate_ns + CSC_MS_NS / 2) / CSC_MS_NS;
    csc_lock_give(&engine->mutex);
    now.size = stats->size;
    memcpy(stats, &now, size);
    return csc_ok();
}
