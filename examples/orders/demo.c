/* SPDX-License-Identifier: MIT
 *
 * The supervisor:
 *
 *   start worker -> wait for the moment -> SIGKILL -> record -+
 *        ^                                                    |
 *        +---------------------- again, N times --------------+
 *   start worker -> wait until it has ended by itself -> proof
 *
 * The moments are spread over the work, a random delay after enough orders have
 * ended, but early enough that many are still in flight. Every third kill comes
 * at once instead, up to 60 ms after the restart: it hits the worker while it
 * opens the store and reads back what was in flight.
 *
 * However late the supervisor is, the work must not be over by then. So every
 * effect takes a permit. Whenever the worker has reported, the supervisor fills
 * up its permits to a fixed number. By the time of the kill it cannot have made
 * more than twice as many effects since its last report. One that is killed at
 * once gets no permit.
 *
 * SIGKILL cannot be caught: the worker gets no chance to write anything.
 */
#include "demo.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "child.h"
#include "order_file.h"
#include "progress.h"
#include "proof.h"
#include "record.h"
#include "report.h"

#define DELAY_MAX_US 100000
#define AT_ONCE_MAX_US 60000
#define SILENCE_MAX_US \
    60000000 /* a worker that makes no progress that long
                                   hangs */
#define POLL_US 50000

struct demo {
    const struct settings *settings;
    size_t orders;
    uint64_t random;
    int64_t begun_us;
    struct child worker;
    struct status status;
    size_t permits; /* for each report */
    struct kill_report kills[RECORDS_MAX];
    size_t kill_count;
};

static int64_t
now_us(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* splitmix64, to below `bound`. */
static int64_t
random_below(struct demo *demo, int64_t bound)
{
    demo->random += 0x9e3779b97f4a7c15u;
    uint64_t x = demo->random;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (int64_t)((x ^ (x >> 31)) % (uint64_t)bound);
}

static void
show(const struct demo *demo)
{
    char remark[64];
    snprintf(remark, sizeof(remark), "%zu of %u kills, %.1f s",
             demo->kill_count, (unsigned)demo->settings->kills,
             (double)(now_us() - demo->begun_us) / 1e6);
    progress_show(&demo->status, demo->orders, remark);
}

/* What the worker says of its start belongs to the kill before it. */
static void
note_restart(struct demo *demo)
{
    if (demo->kill_count > 0 && demo->status.back)
        demo->kills[demo->kill_count - 1].after = demo->status;
}

static bool
start_worker(struct demo *demo)
{
    demo->status = (struct status){.back = false};
    return child_start(demo->settings, "run", true, &demo->worker);
}

/* Takes what the worker reports in `timeout_us`. False when it has ended. */
static bool
look(struct demo *demo, int64_t timeout_us, size_t permits)
{
    size_t reports = demo->worker.reports;
    if (!child_poll(&demo->worker, timeout_us, &demo->status))
        return false;
    if (demo->worker.reports > reports)
        child_permit(&demo->worker, permits);
    show(demo);
    return true;
}

/* Lets the worker run until `until_us`. False when it ends before. */
static bool
run_until(struct demo *demo, int64_t until_us, size_t permits)
{
    for (int64_t left_us = until_us - now_us(); left_us > 0;
         left_us = until_us - now_us())
        if (!look(demo, left_us < POLL_US ? left_us : POLL_US, permits))
            return false;
    return true;
}

/* Enough that there still are when no report comes any more. */
static bool
are_in_flight(const struct demo *demo)
{
    return demo->status.in_flight >=
           demo->settings->in_flight_min + 2 * demo->permits;
}

/* Lets the worker run until `ended` orders have ended and enough are in flight;
 * with `ended` SIZE_MAX, until the worker itself has. */
static bool
run_until_ended(struct demo *demo, size_t ended)
{
    size_t last = demo->status.ended;
    int64_t last_us = now_us();

    while (demo->status.ended < ended || !are_in_flight(demo)) {
        if (!look(demo, POLL_US, demo->permits))
            return false;
        if (demo->status.ended != last)
            last_us = now_us();
        last = demo->status.ended;
        if (now_us() - last_us > SILENCE_MAX_US) {
            fprintf(stderr, "orders: the worker hangs\n");
            child_kill(&demo->worker);
            return false;
        }
    }
    return true;
}

/* How many orders have ended when kill `number` comes. After the last kill a
 * full window is still to be started. */
static size_t
ended_at(const struct demo *demo, size_t number)
{
    const struct settings *settings = demo->settings;
    size_t rest = settings->window + 2 * settings->in_flight_min;
    if (demo->orders <= rest)
        return 0;
    return (demo->orders - rest) * number / settings->kills;
}

static bool
run_to_the_kill(struct demo *demo)
{
    size_t number = demo->kill_count + 1;
    size_t ended = ended_at(demo, number);
    if (number % 3 == 0)
        return run_until(demo, now_us() + random_below(demo, AT_ONCE_MAX_US),
                         0);
    return run_until_ended(demo, ended) &&
           run_until(demo, now_us() + random_below(demo, DELAY_MAX_US),
                     demo->permits) &&
           run_until_ended(demo, ended);
}

static bool
take_record(struct demo *demo)
{
    struct child child;
    return child_start(demo->settings, "record", false, &child) &&
           child_wait(&child);
}

static void
tell_kill(const struct demo *demo)
{
    struct record record;
    size_t number = demo->kill_count;
    if (!record_read(demo->settings, number, &record))
        return;
    progress_end();
    printf("  kill %zu after %.1f s: %zu orders in flight, %zu executions "
           "recorded\n",
           number, (double)demo->kills[number - 1].at_ms / 1000,
           record.in_flight, record.ended);
    record_free(&record);
}

static bool
kill_once(struct demo *demo)
{
    if (!run_to_the_kill(demo)) {
        progress_end();
        fprintf(stderr, "orders: the worker ended before kill %zu could come\n",
                demo->kill_count + 1);
        return false;
    }
    note_restart(demo);
    demo->kills[demo->kill_count].at_ms = (now_us() - demo->begun_us) / 1000;
    if (!child_kill(&demo->worker)) {
        fprintf(stderr, "orders: the worker had ended before the kill\n");
        return false;
    }
    demo->kill_count++;
    if (!take_record(demo))
        return false;
    tell_kill(demo);
    return start_worker(demo);
}

static bool
run_with_kills(struct demo *demo)
{
    if (!start_worker(demo))
        return false;
    while (demo->kill_count < demo->settings->kills)
        if (!kill_once(demo))
            return false;
    demo->permits = SIZE_MAX / 4; /* no moment is to be met any more */
    (void)run_until_ended(demo, SIZE_MAX);
    note_restart(demo);
    progress_end();
    if (child_wait(&demo->worker))
        return true;
    fprintf(stderr, "orders: the worker failed\n");
    return false;
}

/* Some for each thread, but so few that most of the window stays in flight. */
static size_t
permits_for(const struct settings *settings)
{
    size_t spare = settings->window > settings->in_flight_min
                       ? settings->window - settings->in_flight_min
                       : 0;
    size_t permits = settings->workers * 4;
    if (permits > spare / 4)
        permits = spare / 4;
    return permits > 0 ? permits : 1;
}

static bool
is_unused(const struct settings *settings)
{
    if (!record_exists(settings, 1))
        return true;
    fprintf(stderr, "orders: %s holds another run; give an empty --dir\n",
            settings->folder);
    return false;
}

static bool
count_orders(struct demo *demo)
{
    struct order_file file;
    if (!order_file_read(demo->settings->orders, demo->settings->orders_max,
                         &file))
        return false;
    demo->orders = file.count;
    order_file_free(&file);
    return true;
}

bool
demo_run(const struct settings *settings)
{
    struct demo demo = {.settings = settings,
                        .random = settings->seed,
                        .permits = permits_for(settings),
                        .begun_us = now_us()};
    struct proof proof;

    if (!is_unused(settings) || !count_orders(&demo))
        return false;
    printf("  %zu orders; the process at work is killed %u times (seed %llu)\n",
           demo.orders, (unsigned)settings->kills,
           (unsigned long long)settings->seed);
    if (!run_with_kills(&demo) || !proof_make(settings, &proof))
        return false;
    printf("  done after %.1f s\n", (double)(now_us() - demo.begun_us) / 1e6);
    return report_print(settings, &proof, demo.kills);
}
