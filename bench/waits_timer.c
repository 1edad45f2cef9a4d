/* SPDX-License-Identifier: MIT
 *
 * Timers: cascades in memory that sleep until the same moment, and how late a
 * lone one is entered again. The store's clock is that of this machine.
 */
#include "waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LONE_MS 15         /* how long a lone one sleeps */
#define AHEAD_MS 500       /* what is left of many sleeps once all have begun */
#define NS_IN_MS 1000000LL /* also a node that has come too early shows */

static int64_t
wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 * NS_IN_MS + now.tv_nsec;
}

static cascade_err
sleeper(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_sleep_until(
        node, "nap", (int64_t)waits_number(node, "until_ms"));

    return err == CASCADE_OK ? waits_count(user) : err;
}

void
waits_register_timers(waits *w)
{
    waits_register(w, "sleeper", sleeper);
}

static void
start_sleepers(waits *w, size_t count, int64_t until_ms)
{
    char input[64];

    snprintf(input, sizeof(input), "{\"until_ms\":%lld}", (long long)until_ms);
    waits_expect(w, count);
    free(waits_start(w, "sleeper", input, count));
}

/* How long it takes from starting so many until all of them sleep. */
static int64_t
measure_begin(waits *w, size_t count)
{
    int64_t begun_ns = bench_now_ns();

    start_sleepers(w, count, 0);
    waits_await(w);
    waits_drain(w);
    return (bench_now_ns() - begun_ns) / NS_IN_MS;
}

/* False when some were due before all were asleep; then all have ended. */
static bool
all_sleep(waits *w, size_t count, int64_t due_ns)
{
    start_sleepers(w, count, due_ns / NS_IN_MS);
    while (wall_ns() < due_ns) {
        if (waits_do_rest(w, count) && wall_ns() < due_ns)
            return true;
        bench_sleep_ms(1);
    }
    waits_await(w);
    waits_drain(w);
    return false;
}

/* By the clock of the store: when they are due, and when the last has come. A
 * machine that was too slow gets twice the time. */
static void
measure_many(waits *w)
{
    size_t count = bench_pick(w->b, 1000, 5000, 10000);
    int64_t begun_ns = bench_now_ns();
    int64_t ahead_ms = AHEAD_MS + 2 * measure_begin(w, count);
    int64_t due_ns = (wall_ns() / NS_IN_MS + ahead_ms) * NS_IN_MS;
    int64_t came_ns;

    while (!all_sleep(w, count, due_ns)) {
        bench_not_stuck(begun_ns, "cascades that are to sleep");
        ahead_ms *= 2;
        due_ns = (wall_ns() / NS_IN_MS + ahead_ms) * NS_IN_MS;
    }
    waits_begin(w);
    waits_await(w);
    came_ns = wall_ns();
    waits_end_at(w, "timers", "timers/s", (double)count, due_ns, came_ns);
    waits_drain(w);
}

static void
measure_lone(waits *w)
{
    int64_t due_ms = wall_ns() / NS_IN_MS + LONE_MS;

    start_sleepers(w, 1, due_ms);
    waits_await(w);
    waits_note_time(w, "timer.lateness",
                    (double)(wall_ns() - due_ms * NS_IN_MS));
    waits_drain(w);
}

void
waits_timers(waits *w)
{
    size_t samples = bench_pick(w->b, 20, 40, 100);

    measure_many(w);
    for (size_t i = 0; i < samples; i++)
        measure_lone(w);
}
