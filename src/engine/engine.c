/* SPDX-License-Identifier: MIT
 *
 * The handle: options, registration, start, poll, stop, close.
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
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "engine/native.h"

#define CLOSE_TIMEOUT_MS 10000
#define SILENT_TIMEOUT_MS 60000
#define DRAIN_POLL_MS 20

/* ---- Time and wakes ----------------------------------------------------- */

int64_t
csc_engine_monotonic_ns(const cascade_engine *engine)
{
    return engine->store->clock.monotonic_ns(engine->store->clock.context);
}

int64_t
csc_engine_now(const cascade_engine *engine)
{
    return (csc_engine_monotonic_ns(engine) + engine->now_offset_ns) /
           CSC_MS_NS;
}

int64_t
csc_engine_now_max(const cascade_engine *engine)
{
    return (csc_engine_monotonic_ns(engine) + engine->now_offset_max_ns) /
           CSC_MS_NS;
}

static void
signal_fd(int fd)
{
    uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof(one));

    (void)written; /* full means readable, which is all that is wanted */
}

static void
drain_fd(int fd)
{
    uint64_t count = 0;
    ssize_t got = read(fd, &count, sizeof(count));

    (void)got;
}

uint32_t
csc_engine_lanes(const cascade_engine *engine)
{
    return engine->lane_count + engine->native_count;
}

void
csc_engine_wake_house(cascade_engine *engine)
{
    if (engine->house_signalled)
        return;
    engine->house_signalled = true;
    signal_fd(engine->house_fd);
}

void
csc_engine_house_awake(cascade_engine *engine)
{
    if (engine->house_signalled)
        drain_fd(engine->house_fd);
    engine->house_signalled = false;
}

void
csc_engine_wake_host(cascade_engine *engine)
{
    if (engine->poll_fd < 0 || engine->poll_signalled)
        return;
    engine->poll_signalled = true;
    signal_fd(engine->poll_fd);
}

cascade_err
csc_engine_init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    int failed = pthread_condattr_init(&attr);

    if (failed == 0) {
        (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        failed = pthread_cond_init(cond, &attr);
        (void)pthread_condattr_destroy(&attr);
    }
    if (failed != 0)
        return csc_fail(CASCADE_ERR_SYSTEM,
                        "cannot make a condition variable: error %d", failed);
    return CASCADE_OK;
}

void
csc_engine_wait_on(pthread_mutex_t *mutex, pthread_cond_t *cond,
                   int64_t timeout_ms)
{
    struct timespec until;

    if (timeout_ms < 0 || timeout_ms > SILENT_TIMEOUT_MS)
        timeout_ms = SILENT_TIMEOUT_MS;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_cond_timedwait(cond, mutex, &until);
}

void
csc_engine_wait(cascade_engine *engine, pthread_cond_t *cond,
                int64_t timeout_ms)
{
    csc_engine_wait_on(&engine->mutex, cond, timeout_ms);
}

/* ---- Log lines born under the lock -------------------------------------- */

void
csc_engine_note(cascade_engine *engine, cascade_log_level level,
                const char *format, ...)
{
    csc_note *note = NULL;
    csc_note **at = &engine->notes;
    va_list args;

    if (engine->store->log.fn == NULL ||
        atomic_load(&engine->note_count) >= CSC_NOTES_MAX)
        return;
    note = csc_mem_zalloc(1, sizeof(*note));
    if (note == NULL)
        return;
    note->level = level;
    va_start(args, format);
    (void)vsnprintf(note->line, sizeof(note->line), format, args);
    va_end(args);
    while (*at != NULL)
        at = &(*at)->next;
    *at = note;
    atomic_fetch_add(&engine->note_count, 1);
}

void
csc_engine_tell(cascade_engine *engine)
{
    csc_note *note = NULL;

    if (atomic_load(&engine->note_count) == 0)
        return;
    pthread_mutex_lock(&engine->mutex);
    note = engine->notes;
    engine->notes = NULL;
    atomic_store(&engine->note_count, 0);
    pthread_mutex_unlock(&engine->mutex);
    while (note != NULL) {
        csc_note *next = note->next;

        csc_log_add(&engine->store->log, note->level, "%s", note->line);
        csc_mem_free(note);
        note = next;
    }
}

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
    default_size(&o->worker_stack_size, (size_t)256 * 1024);
    default_size(&o->capacity, 20000);
    default_size(&o->batch_bytes_max, (size_t)4 * 1024 * 1024);
    default_size(&o->batch_cascades_max, 500);
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
        {"worker_stack_size", (int64_t)o->worker_stack_size, INT64_C(64) * 1024,
         INT64_C(1) << 30},
        {"capacity", (int64_t)o->capacity, 1, INT64_C(100000000)},
        {"batch_bytes_max", (int64_t)o->batch_bytes_max, 1024, 1 << 26},
        {"batch_cascades_max", (int64_t)o->batch_cascades_max, 1, 10000},
        {"execution_bytes_max", (int64_t)o->execution_bytes_max, 1024, 1 << 26},
        {"lease_ms", o->lease_ms, CSC_LEASE_MIN_MS, day_ms},
        {"poll_interval_ms", o->poll_interval_ms, 1, day_ms},
        {"park_after_ms", o->park_after_ms, 1, 365 * day_ms},
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
    static const char *const standard[] = {"default"};
    cascade_engine_options *o = &engine->options;
    const char *const *queues = o->queues;

    if (o->queue_count == 0 || queues == NULL) {
        queues = standard;
        o->queue_count = 1;
    }
    engine->location = csc_mem_strdup(o->location);
    engine->queues = csc_mem_zalloc(o->queue_count, sizeof(char *));
    engine->queues_paused = csc_mem_zalloc(o->queue_count, sizeof(bool));
    engine->queues_told = csc_mem_zalloc(o->queue_count, sizeof(bool));
    if (engine->location == NULL || engine->queues == NULL ||
        engine->queues_paused == NULL || engine->queues_told == NULL)
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

/* Frees what was made so far; nothing of it runs. */
static void
free_engine(cascade_engine *engine)
{
    free_nodes(engine);
    for (size_t i = 0;
         engine->queues != NULL && i < engine->options.queue_count; i++)
        csc_mem_free(engine->queues[i]);
    for (uint32_t i = 0; i < csc_engine_lanes(engine); i++) {
        pthread_cond_destroy(&engine->lanes[i].cond);
        csc_mem_free(engine->lanes[i].items); /* where it never started */
    }
    csc_mem_free(engine->queues);
    csc_mem_free(engine->queues_paused);
    csc_mem_free(engine->queues_told);
    csc_mem_free(engine->location);
    csc_mem_free(engine->workers);
    csc_mem_free(engine->timers);
    csc_map_fini(&engine->runs);
    csc_retain_fini(engine);
    close_fd(engine->house_fd);
    close_fd(engine->poll_fd);
    close_fd(engine->stop_fd);
    pthread_cond_destroy(&engine->work_cond);
    pthread_cond_destroy(&engine->quiet_cond);
    pthread_mutex_destroy(&engine->mutex);
    csc_mem_free(engine);
}

static cascade_err
open_fds(cascade_engine *engine)
{
    engine->house_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->poll_fd = -1;
    if (engine->options.mode != CASCADE_MODE_THREADS)
        engine->poll_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (engine->house_fd < 0 || engine->stop_fd < 0 ||
        (engine->options.mode != CASCADE_MODE_THREADS && engine->poll_fd < 0))
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

    if (count > engine->driver->lane_max)
        count = engine->driver->lane_max;
    for (uint32_t i = 0; i < count; i++) {
        cascade_err err = csc_engine_init_cond(&engine->lanes[i].cond);

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

    engine->now_offset_ns = 0;
    engine->now_offset_max_ns = 0;
    engine->now_confirmed_ms = 0;
    engine->next_wake_ms = CASCADE_TIME_NONE;
    engine->call_at_ns = INT64_MAX;
    csc_map_init(&engine->runs);
    csc_clock_host(engine->host);
    if (err == CASCADE_OK)
        err = open_fds(engine);
    if (err == CASCADE_OK)
        err = init_lanes(engine);
    return err;
}

static cascade_err
create_engine(cascade_store *store, const cascade_engine_options *options,
              cascade_engine **out)
{
    cascade_engine *engine = csc_mem_zalloc(1, sizeof(*engine));
    cascade_err err = CASCADE_OK;

    if (engine == NULL)
        return csc_fail_memory();
    engine->store = store;
    engine->driver = store->driver;
    engine->driver_self = store->self;
    engine->options = *options;
    engine->house_fd = -1;
    engine->poll_fd = -1;
    engine->stop_fd = -1;
    if (pthread_mutex_init(&engine->mutex, NULL) != 0 ||
        csc_engine_init_cond(&engine->work_cond) != CASCADE_OK ||
        csc_engine_init_cond(&engine->quiet_cond) != CASCADE_OK) {
        csc_mem_free(engine);
        return csc_fail(CASCADE_ERR_SYSTEM, "cannot make a mutex");
    }
    err = init_engine(engine);
    if (err != CASCADE_OK) {
        free_engine(engine);
        return err;
    }
    csc_retain_init(engine);
    *out = engine;
    return CASCADE_OK;
}

/* A connection that is not the library's has room for a poll at most. */
static cascade_err
check_guest(const cascade_store *store, cascade_mode mode)
{
    const char *native = store->driver->native;

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
        err = csc_store_add_engine(store, made);
    if (err != CASCADE_OK) {
        if (made != NULL)
            free_engine(made);
        return err;
    }
    *engine = made;
    return csc_ok();
}

/* ---- Nodes -------------------------------------------------------------- */

const csc_node_def *
csc_engine_node(const cascade_engine *engine, const char *name)
{
    size_t from = 0;
    size_t to = engine->node_count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strcmp(name, engine->nodes[middle].name);

        if (order == 0)
            return &engine->nodes[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

const csc_waiting *
csc_engine_external(const void *engine, const char *name)
{
    const csc_node_def *node = csc_engine_node(engine, name);

    return node != NULL && node->fn == NULL ? &node->waiting : NULL;
}

/* ---- Start -------------------------------------------------------------- */

static cascade_err
list_names(cascade_engine *engine)
{
    engine->node_names = csc_mem_zalloc(engine->node_count + 1, sizeof(char *));
    if (engine->node_names == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < engine->node_count; i++)
        engine->node_names[i] = engine->nodes[i].name;
    engine->node_names[engine->node_count] = CSC_PAUSE_NAME;
    return CASCADE_OK;
}

cascade_err
cascade_engine_start(cascade_engine *engine)
{
    cascade_err err = CASCADE_OK;

    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "start: engine is NULL");
    if (engine->life != CSC_LIFE_NEW)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "start: the engine was started before");
    err = csc_store_refuse_within(engine->store, "cascade_engine_start()");
    if (err != CASCADE_OK)
        return err;
    err = list_names(engine);
    if (err == CASCADE_OK)
        err = csc_native_init(engine);
    if (err == CASCADE_OK)
        err = csc_house_attach(engine);
    if (err != CASCADE_OK) {
        csc_mem_free(engine->node_names);
        engine->node_names = NULL;
        return err;
    }
    pthread_mutex_lock(&engine->mutex);
    engine->life = CSC_LIFE_RUNNING;
    csc_engine_wake_host(engine);
    pthread_mutex_unlock(&engine->mutex);
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
    for (uint32_t i = 0; i < csc_engine_lanes(engine); i++)
        while (csc_lane_round(&engine->lanes[i]))
            ;
}

static void
do_store_work(cascade_engine *engine)
{
    int64_t wait_ms = 0;

    pthread_mutex_lock(&engine->mutex);
    csc_engine_house_awake(engine);
    pthread_mutex_unlock(&engine->mutex);
    run_lanes(engine);
    csc_house_round(engine, &wait_ms);
    run_lanes(engine);
}

/* False where the engine has not been started. */
static bool
begin_poll(cascade_engine *engine)
{
    bool started = false;

    pthread_mutex_lock(&engine->mutex);
    started = engine->life != CSC_LIFE_NEW;
    if (started && engine->poll_signalled)
        drain_fd(engine->poll_fd);
    if (started) {
        engine->poll_signalled = false;
        engine->callers++;
    }
    pthread_mutex_unlock(&engine->mutex);
    return started;
}

cascade_err
cascade_engine_poll(cascade_engine *engine, size_t max, size_t *ran)
{
    size_t count = 0;
    cascade_err err = CASCADE_OK;

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
    pthread_mutex_lock(&engine->mutex);
    engine->looper.thread = pthread_self();
    if (max == 0)
        max = engine->ready_count;
    pthread_mutex_unlock(&engine->mutex);
    while (count < max && csc_worker_round(engine, &engine->looper))
        count++;
    if (engine->options.mode == CASCADE_MODE_INLINE)
        run_lanes(engine);
    pthread_mutex_lock(&engine->mutex);
    if (engine->ready_count > 0)
        csc_engine_wake_host(engine);
    engine->callers--;
    pthread_cond_broadcast(&engine->quiet_cond);
    pthread_mutex_unlock(&engine->mutex);
    if (ran != NULL)
        *ran = count;
    return csc_ok();
}

int
cascade_engine_fd(const cascade_engine *engine)
{
    return engine != NULL ? engine->poll_fd : -1;
}

int64_t
cascade_engine_timeout_ms(cascade_engine *engine)
{
    int64_t wait_ms = SILENT_TIMEOUT_MS;

    if (engine == NULL)
        return wait_ms;
    pthread_mutex_lock(&engine->mutex);
    if (engine->options.mode == CASCADE_MODE_INLINE)
        wait_ms = csc_house_wait_ms(engine);
    for (uint32_t i = 0; i < csc_engine_lanes(engine) && wait_ms > 0 &&
                         engine->options.mode == CASCADE_MODE_INLINE;
         i++) {
        int64_t at_ns = 0;
        int64_t in_ms = 0;

        if (csc_lane_pending(&engine->lanes[i], &at_ns))
            wait_ms = 0;
        else if (at_ns != INT64_MAX)
            in_ms = (at_ns - csc_engine_monotonic_ns(engine)) / CSC_MS_NS + 1;
        if (in_ms > 0 && in_ms < wait_ms)
            wait_ms = in_ms;
    }
    if (engine->ready_count > 0 && csc_run_may_begin(engine))
        wait_ms = 0;
    pthread_mutex_unlock(&engine->mutex);
    return wait_ms < SILENT_TIMEOUT_MS ? wait_ms : SILENT_TIMEOUT_MS;
}

/* ---- Stop --------------------------------------------------------------- */

void
cascade_engine_request_stop(cascade_engine *engine)
{
    int saved = errno;

    if (engine == NULL)
        return;
    atomic_store_explicit(&engine->stop_requested, true, memory_order_relaxed);
    signal_fd(engine->stop_fd);
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

    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "wait: engine is NULL");
    fd.fd = engine->stop_fd;
    for (;;) {
        int64_t left = csc_clock_left_ms(end_ms);
        int ready = 0;

        ready = poll(&fd, 1,
                     left > SILENT_TIMEOUT_MS ? SILENT_TIMEOUT_MS : (int)left);
        if (ready > 0)
            return csc_ok();
        if (ready == 0 && left == 0)
            return csc_fail(CASCADE_ERR_TIMEOUT,
                            "no stop was requested within %lld ms",
                            (long long)timeout_ms);
    }
}

/* Waits until nothing is in a function or a lane; false when `end_ms` passed
 * first. Locked. */
static bool
drain(cascade_engine *engine, int64_t end_ms)
{
    while (!csc_run_quiet(engine)) {
        int64_t left = csc_clock_left_ms(end_ms);

        if (left <= 0)
            return false;
        if (engine->options.mode == CASCADE_MODE_INLINE &&
            !csc_native_blocks(engine)) {
            pthread_mutex_unlock(&engine->mutex);
            run_lanes(engine);
            pthread_mutex_lock(&engine->mutex);
        }
        csc_engine_wait(engine, &engine->quiet_cond,
                        left < DRAIN_POLL_MS ? left : DRAIN_POLL_MS);
    }
    return true;
}

static void
detach(cascade_engine *engine, const cascade_uuid *id)
{
    if (engine->driver->detach(engine->driver_self, id) != CASCADE_OK)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "detaching failed; the lease will run out: %s",
                    cascade_errmsg());
}

/* What is in a function reports to nobody from now on. Locked. */
static void
drop(cascade_engine *engine)
{
    csc_run_drop_all(engine, CASCADE_ERR_STOPPED);
    engine->life = CSC_LIFE_STOPPED;
    pthread_cond_broadcast(&engine->work_cond);
}

void
csc_engine_release(cascade_engine *engine)
{
    bool attached = false;

    csc_threads_end(engine);
    pthread_mutex_lock(&engine->mutex);
    drop(engine);
    attached = engine->attached;
    engine->attached = false;
    pthread_mutex_unlock(&engine->mutex);
    for (uint32_t i = 0; i < csc_engine_lanes(engine); i++)
        csc_lane_fini(&engine->lanes[i]);
    if (attached)
        detach(engine, &engine->id);
    if (engine->has_dead_id)
        detach(engine, &engine->dead_id);
    (void)engine->driver->wake(engine->driver_self);
    csc_engine_tell(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->put_off = false;
    pthread_cond_broadcast(&engine->quiet_cond);
    pthread_mutex_unlock(&engine->mutex);
}

/* Behind a transaction that does not end, or is being settled or rolled back
 * just now, nothing can be given up: that is left to the thread that has it
 * (native.c). */
static void
give_up(cascade_engine *engine)
{
    bool put_off = false;

    pthread_mutex_lock(&engine->mutex);
    put_off = csc_native_blocks(engine);
    engine->put_off = put_off;
    if (put_off) {
        csc_threads_request_end(engine);
        drop(engine);
    }
    pthread_mutex_unlock(&engine->mutex);
    if (!put_off)
        csc_engine_release(engine);
    csc_engine_tell(engine);
}

/* Drains, and gives everything up; false when something was not decided. */
static bool
end_work(cascade_engine *engine, int64_t end_ms)
{
    bool works = false;
    bool quiet = true;

    pthread_mutex_lock(&engine->mutex);
    works = engine->life == CSC_LIFE_RUNNING;
    if (works) {
        engine->life = CSC_LIFE_DRAINING;
        csc_native_end_turn(engine);
        quiet = drain(engine, end_ms);
    } else {
        engine->life = CSC_LIFE_STOPPED;
        csc_threads_await_left(engine, end_ms);
    }
    pthread_mutex_unlock(&engine->mutex);
    if (works)
        give_up(engine);
    return quiet;
}

static cascade_err
fail_stop(cascade_engine *engine, const char *node, int64_t timeout_ms)
{
    bool put_off = false;

    pthread_mutex_lock(&engine->mutex);
    put_off = engine->put_off;
    pthread_mutex_unlock(&engine->mutex);
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

    if (engine == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "stop: engine is NULL");
    pthread_mutex_lock(&engine->mutex);
    inside = csc_worker_is_inside(engine);
    started = engine->life != CSC_LIFE_NEW;
    pthread_mutex_unlock(&engine->mutex);
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
    csc_exec *exec = csc_ready_pop(engine);

    while (exec != NULL) {
        csc_run_unref(exec->run);
        exec = csc_ready_pop(engine);
    }
}

cascade_err
cascade_engine_close(cascade_engine *engine)
{
    const char *node = NULL;
    bool stopped = false;

    if (engine == NULL)
        return csc_ok();
    pthread_mutex_lock(&engine->mutex);
    stopped = engine->life == CSC_LIFE_STOPPED;
    pthread_mutex_unlock(&engine->mutex);
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
    pthread_mutex_lock(&engine->mutex);
    while (engine->callers > 0)
        csc_engine_wait(engine, &engine->quiet_cond, DRAIN_POLL_MS);
    drop_ready(engine);
    pthread_mutex_unlock(&engine->mutex);
    csc_engine_tell(engine);
    free_engine(engine);
    return csc_ok();
}

cascade_err
cascade_engine_get_stats(cascade_engine *engine, cascade_engine_stats *stats)
{
    cascade_engine_stats now;
    size_t size = 0;

    if (engine == NULL || stats == NULL || stats->size < sizeof(size_t))
        return csc_fail(CASCADE_ERR_INVALID,
                        "get stats: give an engine, and stats with their size "
                        "set to sizeof(cascade_engine_stats)");
    size = stats->size < sizeof(now) ? stats->size : sizeof(now);
    pthread_mutex_lock(&engine->mutex);
    now = engine->stats;
    now.held = engine->runs.count;
    now.ready = engine->ready_count + engine->aside_count;
    now.running = engine->running;
    now.overdue = engine->overdue;
    now.waiting = engine->timer_count;
    now.hydrate_ms = (engine->hydrate_ns + CSC_MS_NS / 2) / CSC_MS_NS;
    pthread_mutex_unlock(&engine->mutex);
    now.size = stats->size;
    memcpy(stats, &now, size);
    return csc_ok();
}
