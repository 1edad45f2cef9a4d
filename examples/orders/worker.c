/* SPDX-License-Identifier: MIT
 *
 * The worker knows nothing of kills. It opens the store, starts the engine, and
 * starts the orders of the file one portion after the other, so that a bounded
 * number is in flight. An order's id is the key of its cascade: after a restart
 * the worker simply goes through the file from the beginning, and the starts of
 * those that exist already change nothing.
 *
 * What was in flight when the last worker died is taken over by the engine on
 * its own. The worker only watches how long that takes, to report it.
 */
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include <cascade/cascade.h>

#include "effects.h"
#include "order_file.h"
#include "order_flow.h"
#include "progress.h"
#include "status.h"
#include "view.h"

#define PORTION_MAX 50 /* orders started in one commit */
#define TICK_MS 20     /* how often it looks at the store and reports */

struct worker {
    const struct settings *settings;
    struct order_file orders;
    struct effects effects;
    cascade_store *store;
    cascade_engine *engine;
    size_t next; /* the order to start next */
    struct status status;
    size_t to_hydrate; /* cascades in flight at the start */
    int64_t begun_ms;
};

/* For the signal handler: cascade_engine_request_stop() may be called in one.
 */
static cascade_engine *volatile stop_target;

static void
on_signal(int number)
{
    (void)number;
    if (stop_target != NULL)
        cascade_engine_request_stop(stop_target);
}

static bool
complain(void)
{
    fprintf(stderr, "orders: %s\n", cascade_errmsg());
    return false;
}

static int64_t
now_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
log_to_stderr(void *context, cascade_log_level level, const char *line)
{
    (void)context;
    (void)level;
    fprintf(stderr, "orders: %s\n", line);
}

/* ---- Opening ------------------------------------------------------------ */

static cascade_err
open_engine(struct worker *worker)
{
    const struct settings *settings = worker->settings;
    const cascade_engine_options options = {
        .size = sizeof(options),
        .queues = &settings->name,
        .queue_count = 1,
        .worker_count = (unsigned)settings->workers,
        /* An execution whose process dies again and again fails as poisoned.
         * Not here, where it is we who kill. */
        .poison_limit = -1,
    };
    cascade_err err =
        cascade_engine_open(worker->store, &options, &worker->engine);
    if (err != CASCADE_OK)
        return err;
    err = order_flow_register(worker->engine, &worker->effects);
    if (err != CASCADE_OK)
        return err;
    return cascade_engine_start(worker->engine);
}

static cascade_err
open_store(struct worker *worker)
{
    const cascade_store_options options = {
        .size = sizeof(options),
        .log = log_to_stderr,
        .log_level = CASCADE_LOG_ERROR,
    };
    const char *name = worker->settings->name;
    cascade_err err =
        cascade_store_open(worker->settings->store, &options, &worker->store);
    if (err != CASCADE_OK)
        return err;
    err = view_count(worker->store, name, CASCADE_RUNNING,
                     &worker->status.in_flight);
    if (err != CASCADE_OK)
        return err;
    worker->to_hydrate = worker->status.in_flight;
    return view_count(worker->store, name, 0, &worker->status.started);
}

static bool
open_worker(struct worker *worker)
{
    const struct settings *settings = worker->settings;
    if (!order_file_read(settings->orders, settings->orders_max,
                         &worker->orders) ||
        !effects_open(settings->effects, settings->seed,
                      (int)settings->permits_fd, &worker->effects))
        return false;
    if (open_store(worker) != CASCADE_OK || open_engine(worker) != CASCADE_OK)
        return complain();
    stop_target = worker->engine;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    return true;
}

static bool
close_worker(struct worker *worker)
{
    stop_target = NULL;
    bool ok = cascade_engine_close(worker->engine) == CASCADE_OK;
    ok = cascade_store_close(worker->store) == CASCADE_OK && ok;
    if (!ok)
        complain();
    effects_close(&worker->effects);
    order_file_free(&worker->orders);
    return ok;
}

/* ---- Hydration ---------------------------------------------------------- */

/* Reports, once, when all that was in flight at the start is in memory again.
 * The engine works on it by itself; this is for the report alone. */
static bool
watch_hydration(struct worker *worker)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};
    struct status *status = &worker->status;

    if (status->back)
        return true;
    if (cascade_engine_get_stats(worker->engine, &stats) != CASCADE_OK)
        return complain();
    if (stats.hydrations < worker->to_hydrate)
        return true;
    status->back = true;
    status->hydrated = worker->to_hydrate;
    status->hydrate_ms = stats.hydrate_ms;
    status->back_ms = now_ms() - worker->begun_ms;
    return status_write_back((int)worker->settings->status_fd, status);
}

/* ---- Starting ----------------------------------------------------------- */

/* Starts the next `count` orders in one commit and tells how many were new. */
static cascade_err
start_portion(struct worker *worker, size_t count, size_t *started_count)
{
    cascade_first first[PORTION_MAX];
    cascade_start_options options[PORTION_MAX];
    cascade_start_spec specs[PORTION_MAX] = {{.size = sizeof(specs[0])}};
    cascade_started started[PORTION_MAX];
    const char *name = worker->settings->name;

    for (size_t i = 0; i < count; i++) {
        const struct order *order = &worker->orders.orders[worker->next + i];
        first[i] = (cascade_first){.size = sizeof(first[i]),
                                   .node = NODE_RESERVE,
                                   .input = order->json};
        options[i] = (cascade_start_options){.size = sizeof(options[i]),
                                             .user_id = name,
                                             .key = order->id,
                                             .queue = name};
        specs[i] = (cascade_start_spec){.size = sizeof(specs[i]),
                                        .first = &first[i],
                                        .first_count = 1,
                                        .options = &options[i]};
    }
    cascade_err err = cascade_start_many(worker->store, specs, count, started);
    if (err != CASCADE_OK)
        return err;
    *started_count = 0;
    for (size_t i = 0; i < count; i++)
        *started_count += started[i].existed ? 0 : 1;
    worker->next += count;
    return CASCADE_OK;
}

/* New orders wait until the old ones are in memory again or have ended, so that
 * the figures of the hydration are about the old ones alone. */
static bool
may_start(const struct worker *worker)
{
    return worker->status.back || worker->status.in_flight == 0;
}

/* Fills the window. If the process dies between two portions, the rest of the
 * orders is started by the next one. */
static cascade_err
start_orders(struct worker *worker)
{
    struct status *status = &worker->status;
    while (worker->next < worker->orders.count &&
           status->in_flight < worker->settings->window) {
        size_t started_count = 0;
        size_t count = worker->settings->window - status->in_flight;
        if (count > worker->orders.count - worker->next)
            count = worker->orders.count - worker->next;
        if (count > PORTION_MAX)
            count = PORTION_MAX;
        cascade_err err = start_portion(worker, count, &started_count);
        if (err != CASCADE_OK)
            return err;
        status->started += started_count;
        status->in_flight += started_count;
    }
    return CASCADE_OK;
}

/* ---- Working ------------------------------------------------------------ */

static bool
report(struct worker *worker)
{
    struct status *status = &worker->status;
    status->ended = status->started - status->in_flight;
    if (worker->settings->progress)
        progress_show(status, worker->orders.count, NULL);
    return status_write_now((int)worker->settings->status_fd, status);
}

/* One look at the store; `*done` once every order has ended. */
static bool
tick(struct worker *worker, bool *done)
{
    bool all_started = worker->next == worker->orders.count;
    cascade_err err = view_count(worker->store, worker->settings->name,
                                 CASCADE_RUNNING, &worker->status.in_flight);
    if (err != CASCADE_OK)
        return complain();
    *done = all_started && worker->status.in_flight == 0;
    if (may_start(worker) && start_orders(worker) != CASCADE_OK)
        return complain();
    return report(worker);
}

/* Lets the engine work until the next tick. While it still hydrates, looks at
 * it every millisecond. */
static cascade_err
pause_for_engine(struct worker *worker)
{
    int64_t until_ms = now_ms() + TICK_MS;
    cascade_err err = CASCADE_ERR_TIMEOUT;

    while (!worker->status.back && now_ms() < until_ms) {
        err = cascade_engine_wait(worker->engine, 1);
        if (err != CASCADE_ERR_TIMEOUT)
            return err;
        if (!watch_hydration(worker))
            return CASCADE_ERR_SYSTEM;
    }
    int64_t rest_ms = until_ms - now_ms();
    return rest_ms > 0 ? cascade_engine_wait(worker->engine, rest_ms) : err;
}

static bool
work(struct worker *worker)
{
    bool done = false;
    while (tick(worker, &done)) {
        if (done)
            return true;
        cascade_err err = pause_for_engine(worker);
        if (err == CASCADE_OK) {
            fprintf(stderr, "orders: stopped; run it again to go on\n");
            return false;
        }
        if (err != CASCADE_ERR_TIMEOUT)
            return complain();
    }
    return false;
}

bool
worker_run(const struct settings *settings)
{
    struct worker worker = {
        .settings = settings, .effects = {.fd = -1}, .begun_ms = now_ms()};
    bool ok = open_worker(&worker) && work(&worker);
    if (settings->progress)
        progress_end();
    return close_worker(&worker) && ok;
}
