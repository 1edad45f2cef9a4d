/* SPDX-License-Identifier: MIT
 *
 * The handle's begin and end: options with their defaults and limits, what is
 * made of them, and how it is freed again. An engine is made in the order of
 * create_engine(): what fails there ends what was made before it, by hand as
 * long as csc_open_free() would end more than there is.
 */
#include "engine/open.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "claim/hydrate.h"
#include "claim/peers.h"
#include "claim/stream.h"
#include "engine/housekeeper.h"
#include "engine/lease.h"
#include "engine/retention.h"
#include "engine/threads.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/node_def.h"
#include "held/room/answers.h"
#include "held/room/mailbox.h"
#include "held/room/reload.h"
#include "held/run/ready_queue.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "held/run/timer.h"
#include "held/wakeup.h"
#include "node/node.h"
#include "node/worker.h"
#include "store/store.h"

/* ---- Options ------------------------------------------------------------ */

static void
default_size(size_t *value, size_t standard)
{
    if (*value == 0)
        *value = standard;
}

static void
default_ms(int64_t *value, int64_t standard)
{
    if (*value == 0)
        *value = standard;
}

static void
apply_defaults(cascade_engine_options *o)
{
    if (o->worker_count == 0)
        o->worker_count = 64;
    if (o->lane_count == 0)
        o->lane_count = 2;
    if (o->transaction_count == 0)
        o->transaction_count = 4;
    if (o->poison_limit == 0)
        o->poison_limit = 5;
    if (o->fiber_max == 0)
        o->fiber_max = 1000;
    if (o->mode != CASCADE_MODE_THREADS || o->suspend_steps)
        o->fibers = 0;
    default_size(&o->worker_stack_size, (size_t)256 * 1024);
    default_size(&o->capacity, 20000);
    default_size(&o->batch_bytes_max, (size_t)4 * 1024 * 1024);
    default_size(&o->batch_cascades_max, 500);
    default_size(&o->backlog_bytes_max, (size_t)64 * 1024 * 1024);
    default_size(&o->held_bytes_max, (size_t)512 * 1024 * 1024);
    default_size(&o->execution_bytes_max, (size_t)4 * 1024 * 1024);
    default_ms(&o->lease_ms, CSC_LEASE_MS);
    default_ms(&o->poll_interval_ms, 2000);
    default_ms(&o->park_after_ms, 5000);
    default_ms(&o->retain_interval_ms, 3600000);
    if (o->depth_max == 0)
        o->depth_max = 1000;
    if (o->location == NULL)
        o->location = "server";
}

static cascade_err
check_number(const char *name, int64_t value, int64_t min, int64_t max)
{
    if (value >= min && value <= max)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "engine option %s is %lld; give %lld to %lld, or 0 for the "
                    "default",
                    name, (long long)value, (long long)min, (long long)max);
}

static cascade_err
check_queue(const char *const *queues, size_t at)
{
    cascade_err err = csc_check_name("queue", queues[at]);

    for (size_t i = 0; i < at && err == CASCADE_OK; i++)
        if (strcmp(queues[i], queues[at]) == 0)
            err = csc_fail(CASCADE_ERR_INVALID,
                           "engine option queues names %s twice", queues[at]);
    return err;
}

static cascade_err
check_options(const cascade_engine_options *o)
{
    const int64_t day_ms = INT64_C(86400000);
    const struct {
        const char *name;
        int64_t value;
        int64_t min;
        int64_t max;
    } limits[] = {
        {"mode", (int64_t)o->mode, 0, CASCADE_MODE_INLINE},
        {"worker_count", o->worker_count, 1, CSC_WORKERS_MAX},
        {"lane_count", o->lane_count, 1, CSC_LANES_MAX},
        {"transaction_count", o->transaction_count, 1, CSC_NATIVES_MAX},
        {"poison_limit", o->poison_limit, -1, 1000000},
        {"fibers", o->fibers, -1, 1},
        {"fiber_max", o->fiber_max, 1, CSC_FIBERS_MAX},
        {"worker_stack_size", (int64_t)o->worker_stack_size, INT64_C(64) * 1024,
         INT64_C(1) << 30},
        {"capacity", (int64_t)o->capacity, 1, INT64_C(100000000)},
        {"batch_bytes_max", (int64_t)o->batch_bytes_max, 1024, 1 << 26},
        {"batch_cascades_max", (int64_t)o->batch_cascades_max, 1, 10000},
        {"backlog_bytes_max", (int64_t)o->backlog_bytes_max, 1024,
         INT64_C(1) << 40},
        {"held_bytes_max", (int64_t)o->held_bytes_max, INT64_C(1) << 20,
         INT64_C(1) << 40},
        {"execution_bytes_max", (int64_t)o->execution_bytes_max, 1024, 1 << 26},
        {"lease_ms", o->lease_ms, CSC_LEASE_MIN_MS, day_ms},
        {"poll_interval_ms", o->poll_interval_ms, 1, day_ms},
        {"park_after_ms", o->park_after_ms, 1, 365 * day_ms},
        {"priority_age_ms", o->priority_age_ms, 0, 365 * day_ms},
        {"depth_max", o->depth_max, 1, 1000000},
        {"retain_completed_ms", o->retain_completed_ms, 0, 36500 * day_ms},
        {"retain_failed_ms", o->retain_failed_ms, 0, 36500 * day_ms},
        {"retain_interval_ms", o->retain_interval_ms, 1000, 365 * day_ms},
        {"queue_count", (int64_t)o->queue_count, 0, 1000},
    };
    cascade_err err = csc_check_text("engine option location", o->location);

    for (size_t i = 0;
         i < sizeof(limits) / sizeof(limits[0]) && err == CASCADE_OK; i++)
        err = check_number(limits[i].name, limits[i].value, limits[i].min,
                           limits[i].max);
    for (size_t i = 0; i < o->queue_count && err == CASCADE_OK; i++)
        err = check_queue(o->queues, i);
    return err;
}

static cascade_err
copy_texts(cascade_engine *engine)
{
    static const char *const standard[] = {CSC_QUEUE_DEFAULT};
    cascade_engine_options *o = &engine->options;
    const char *const *queues = o->queues;

    if (o->queue_count == 0 || queues == NULL) {
        queues = standard;
        o->queue_count = 1;
    }
    engine->location = csc_mem_strdup(o->location);
    engine->queues = csc_mem_zalloc(o->queue_count, sizeof(char *));
    engine->queues_paused = csc_mem_zalloc(o->queue_count, sizeof(bool));
    engine->queues_kept = csc_mem_zalloc(o->queue_count, sizeof(bool));
    engine->claims->queues_told = csc_mem_zalloc(o->queue_count, sizeof(bool));
    engine->claims->kept_told = csc_mem_zalloc(o->queue_count, sizeof(bool));
    if (engine->location == NULL || engine->queues == NULL ||
        engine->queues_paused == NULL || engine->queues_kept == NULL ||
        engine->claims->queues_told == NULL ||
        engine->claims->kept_told == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < o->queue_count; i++) {
        engine->queues[i] = csc_mem_strdup(queues[i]);
        if (engine->queues[i] == NULL)
            return csc_fail_memory();
    }
    o->queues = NULL;
    o->location = engine->location;
    return CASCADE_OK;
}

/* ---- Open and close ----------------------------------------------------- */

static void
free_nodes(cascade_engine *engine)
{
    for (size_t i = 0; i < engine->node_count; i++) {
        csc_node_def *node = &engine->nodes[i];

        if (node->destroy != NULL)
            node->destroy(node->user);
        csc_mem_free(node->name);
        csc_mem_free(node->instead);
    }
    csc_mem_free(engine->nodes);
    csc_mem_free(engine->node_names);
}

static void
close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static void
free_spares(cascade_engine *engine)
{
    while (engine->reloads.spares != NULL) {
        csc_reload *next = engine->reloads.spares->next;

        csc_mem_free(engine->reloads.spares);
        engine->reloads.spares = next;
    }
}

static void
free_workers(cascade_engine *engine)
{
    for (size_t i = 0;
         engine->workers->list != NULL && i < engine->options.worker_count; i++)
        csc_worker_fini(&engine->workers->list[i]);
    csc_mem_free(engine->workers->list);
}

void
csc_open_free(cascade_engine *engine)
{
    free_nodes(engine);
    for (size_t i = 0;
         engine->queues != NULL && i < engine->options.queue_count; i++)
        csc_mem_free(engine->queues[i]);
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++) {
        csc_lock_fini_cond(&engine->lanes[i].cond);
        csc_mem_free(engine->lanes[i].items); /* where it never started */
    }
    csc_mem_free(engine->queues);
    csc_mem_free(engine->queues_paused);
    csc_mem_free(engine->queues_kept);
    csc_mem_free(engine->claims->queues_told);
    csc_mem_free(engine->claims->kept_told);
    csc_mem_free(engine->location);
    free_workers(engine);
    csc_mem_free(engine->timers.heap);
    free_spares(engine);
    csc_map_fini(&engine->runs);
    csc_retention_fini(engine);
    csc_stream_fini(engine);
    csc_run_clear_wrecks(engine);
    close_fd(engine->wakeup.house_fd);
    close_fd(engine->wakeup.poll_fd);
    close_fd(engine->wakeup.stop_fd);
    csc_lock_fini_cond(&engine->ready.work_cond);
    csc_lock_fini_cond(&engine->wakeup.quiet_cond);
    csc_lock_fini_cond(&engine->threads->keeper_cond);
    csc_lock_fini_mutex(&engine->mutex);
    csc_mem_free(engine);
}

static cascade_err
open_fds(cascade_engine *engine)
{
    engine->wakeup.house_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->wakeup.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->wakeup.poll_fd = -1;
    if (engine->options.mode != CASCADE_MODE_THREADS)
        engine->wakeup.poll_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (engine->wakeup.house_fd < 0 || engine->wakeup.stop_fd < 0 ||
        (engine->options.mode != CASCADE_MODE_THREADS &&
         engine->wakeup.poll_fd < 0))
        return csc_fail(CASCADE_ERR_SYSTEM,
                        "cannot make an eventfd (errno %d): raise the limit of "
                        "open files",
                        errno);
    return CASCADE_OK;
}

static cascade_err
init_lanes(cascade_engine *engine)
{
    uint32_t count = engine->options.lane_count;

    if (count > engine->store->driver->lane_max)
        count = engine->store->driver->lane_max;
    for (uint32_t i = 0; i < count; i++) {
        cascade_err err = csc_lock_init_cond(&engine->lanes[i].cond);

        if (err != CASCADE_OK)
            return err;
        engine->lanes[i].engine = engine;
        engine->lanes[i].index = i;
        engine->lane_count = i + 1;
    }
    return CASCADE_OK;
}

static cascade_err
init_engine(cascade_engine *engine)
{
    cascade_err err = copy_texts(engine);

    engine->clock.min_ns = 0;
    engine->clock.max_ns = 0;
    engine->clock.confirmed_ms = 0;
    engine->mailbox.next_wake_ms = CASCADE_TIME_NONE;
    engine->calls.at_ns = INT64_MAX;
    csc_map_init(&engine->runs);
    csc_clock_host(engine->host);
    if (err == CASCADE_OK)
        err = open_fds(engine);
    if (err == CASCADE_OK)
        err = init_lanes(engine);
    return err;
}

static cascade_err
init_locks(cascade_engine *engine)
{
    cascade_err err = csc_lock_init_mutex(&engine->mutex);

    if (err != CASCADE_OK)
        return err;
    err = csc_lock_init_cond(&engine->ready.work_cond);
    if (err != CASCADE_OK)
        goto no_work_cond;
    err = csc_lock_init_cond(&engine->wakeup.quiet_cond);
    if (err != CASCADE_OK)
        goto no_quiet_cond;
    err = csc_lock_init_cond(&engine->threads->keeper_cond);
    if (err == CASCADE_OK)
        return CASCADE_OK;
    csc_lock_fini_cond(&engine->wakeup.quiet_cond);
no_quiet_cond:
    csc_lock_fini_cond(&engine->ready.work_cond);
no_work_cond:
    csc_lock_fini_mutex(&engine->mutex);
    return err;
}

/* The engine with what the higher floors keep for it. */
typedef struct whole {
    cascade_engine engine; /* the first: freed as this is */
    csc_workers workers;
    csc_threads threads;
    csc_claims claims;
    csc_house house;
    csc_retention retention;
    csc_peers peers;
} whole;

static cascade_engine *
alloc_engine(void)
{
    whole *w = csc_mem_zalloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->engine.workers = &w->workers;
    w->engine.threads = &w->threads;
    w->engine.claims = &w->claims;
    w->engine.house = &w->house;
    w->engine.retention = &w->retention;
    w->engine.peers = &w->peers;
    return &w->engine;
}

static cascade_err
create_engine(cascade_store *store, const cascade_engine_options *options,
              cascade_engine **out)
{
    cascade_engine *engine = alloc_engine();
    cascade_err err = CASCADE_OK;

    if (engine == NULL)
        return csc_fail_memory();
    csc_origin_mark(&engine->origin);
    engine->store = store;
    engine->options = *options;
    engine->wakeup.house_fd = -1;
    engine->wakeup.poll_fd = -1;
    engine->wakeup.stop_fd = -1;
    err = init_locks(engine);
    if (err != CASCADE_OK) {
        csc_mem_free(engine);
        return err;
    }
    err = init_engine(engine);
    if (err != CASCADE_OK) {
        csc_open_free(engine);
        return err;
    }
    engine->workers->looper.engine = engine;
    engine->workers->looper.own.worker = &engine->workers->looper;
    csc_retention_init(engine);
    csc_reload_init(engine);
    *out = engine;
    return CASCADE_OK;
}

/* A connection that is not the library's has room for a poll at most. */
static cascade_err
check_guest(const cascade_store *store, cascade_mode mode)
{
    const char *native = csc_driver_native(store->driver);

    if (store->guest == NULL)
        return CASCADE_OK;
    if (store->native)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "engine open: the store of a node ends with its "
                        "function; open the engine on another store");
    if (native == NULL || strcmp(native, CASCADE_NATIVE_SQLITE) != 0)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "engine open: engines do not run on a store that has a "
                        "connection of the application's; open one with "
                        "cascade_store_open()");
    if (mode != CASCADE_MODE_INLINE)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "engine open: on a store that has a connection of the "
                        "application's engines run in CASCADE_MODE_INLINE "
                        "only");
    return CASCADE_OK;
}

cascade_err
cascade_engine_open(cascade_store *store, const cascade_engine_options *options,
                    cascade_engine **engine)
{
    cascade_engine_options known = {0};
    cascade_engine *made = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "engine open: %s is NULL",
                        store == NULL ? "store" : "engine");
    err = csc_check_options("engine options", options, &known, sizeof(known));
    if (err == CASCADE_OK)
        err = check_guest(store, known.mode);
    if (err != CASCADE_OK)
        return err;
    if (known.queue_count > 0 && known.queues == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "engine option queue_count is %zu, but queues is NULL",
                        known.queue_count);
    apply_defaults(&known);
    err = check_options(&known);
    if (err == CASCADE_OK)
        err = create_engine(store, &known, &made);
    if (err == CASCADE_OK)
        err = csc_store_add_engine(store, made, &csc_answers);
    if (err != CASCADE_OK) {
        if (made != NULL)
            csc_open_free(made);
        return err;
    }
    *engine = made;
    return csc_ok();
}
