/* SPDX-License-Identifier: MIT
 *
 * Latency: how long one piece of work takes from the moment it is asked for.
 *
 *   one in flight   start -> first node running -> completed, one cascade after
 *                   the other: cascade_start() is called, its node takes the
 *                   time, cascade_wait() tells the end
 *   half load       the same while cascades arrive on a schedule, at half the
 *                   rate that a short burst of the same starters came to
 *   step            latency_step.c: one step of a straight-line node, beside
 *                   the same rows written by hand
 *   other process   latency_other.c: started here, runs there
 *
 * At half load an arrival does not wait for the one before it: a schedule gives
 * each its time, and the next starter that is free takes it. Where all of them
 * are busy the time counts from the schedule, not from the call, so that a
 * stall is seen by everything that should have arrived during it.
 *
 *   schedule   |    |    |    |    |        asked: by the clock where a starter
 *   starter 1  [start][wait]  [start]...    was there in time, else by the
 *   starter 2       [start][wait] ...       schedule
 */
#include "latency.h"

#include "child.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define STARTERS 32
#define WARM_UP 50
#define BURST_MAX 200000

/* ---- Printing ------------------------------------------------------------ */

static void
make_name(char name[128], const char *kind, const char *what, const char *end)
{
    snprintf(name, 128, "latency.%s.%s%s", kind, what, end);
}

void
latency_print_one(const char *kind, const char *what, double ns)
{
    char name[128];

    make_name(name, kind, what, "");
    bench_print(name, ns / 1000, "us");
}

void
latency_print_max(const char *kind, const char *what, double value,
                  const char *unit, double target, bool counts)
{
    char name[128];

    make_name(name, kind, what, "");
    bench_print_target(name, value, unit, BENCH_MAX, target, counts);
}

void
latency_print(const char *kind, const char *what, double *values, size_t count)
{
    static const struct {
        const char *end;
        double share;
        size_t least;
    } points[] = {
        {".p50", 0.5, 1}, {".p99", 0.99, 100}, {".p99.9", 0.999, 1000}};
    char name[128];

    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        make_name(name, kind, what, points[i].end);
        if (count < points[i].least) {
            bench_note("%s needs %zu samples instead of %zu", name,
                       points[i].least, count);
            continue;
        }
        bench_print(name,
                    bench_percentile(values, count, points[i].share) / 1000,
                    "us");
    }
}

/* ---- Starting ------------------------------------------------------------ */

typedef struct sample {
    int64_t asked_ns;
    _Atomic int64_t began_ns; /* by the node */
    int64_t ended_ns;
} sample;

typedef struct load {
    cascade_store *store;
    sample *samples;
    size_t count;
    int64_t begun_ns;
    double every_ns;  /* of the schedule; 0: one follows the other */
    int64_t until_ns; /* nothing is begun after that; 0: no limit */
    atomic_size_t next;
    atomic_size_t ended;
} load;

/* `user` is the place where the load of the moment is found. */
static cascade_err
note_time(cascade_node *node, void *user)
{
    int64_t now_ns = bench_now_ns();
    load *const *at = user;
    const cJSON *number =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "sample");

    atomic_store(&(*at)->samples[(size_t)number->valuedouble].began_ns, now_ns);
    return CASCADE_OK;
}

static void
sleep_until(int64_t at_ns)
{
    struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000),
                          .tv_nsec = (long)(at_ns % 1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
        continue;
}

/* When the sample counts as asked for; waits until then. */
static int64_t
await_turn(const load *l, size_t i)
{
    int64_t due_ns = l->begun_ns + (int64_t)((double)i * l->every_ns);

    if (l->every_ns <= 0)
        return bench_now_ns();
    if (due_ns <= bench_now_ns())
        return due_ns;
    sleep_until(due_ns);
    return bench_now_ns();
}

static void
start_and_wait(load *l, size_t i)
{
    sample *at = &l->samples[i];
    cJSON *input = cJSON_CreateObject();
    cascade_started started;
    cascade_status status;

    cJSON_AddNumberToObject(input, "sample", (double)i);
    at->asked_ns = await_turn(l, i);
    bench_check("start",
                cascade_start(l->store, "note", input, NULL, &started));
    bench_check("wait", cascade_wait(l->store, &started.id, -1, &status));
    at->ended_ns = bench_now_ns();
    if (status != CASCADE_COMPLETED)
        bench_die("a cascade did not complete");
    atomic_fetch_add(&l->ended, 1);
}

static void *
starter_main(void *context)
{
    load *l = context;

    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    for (;;) {
        size_t i = atomic_fetch_add(&l->next, 1);

        if (i >= l->count ||
            (l->until_ns != 0 && bench_now_ns() >= l->until_ns))
            return NULL;
        start_and_wait(l, i);
    }
}

static void
run_load(load *l, size_t starters)
{
    pthread_t threads[STARTERS];

    l->begun_ns = bench_now_ns();
    for (size_t i = 0; i < starters; i++)
        if (pthread_create(&threads[i], NULL, starter_main, l) != 0)
            bench_die("cannot create a thread");
    for (size_t i = 0; i < starters; i++)
        pthread_join(threads[i], NULL);
}

static void
print_load(const load *l, bench_kind kind, const char *what)
{
    double *running = bench_alloc(l->count, sizeof(double));
    double *ended = bench_alloc(l->count, sizeof(double));
    char name[64];

    for (size_t i = 0; i < l->count; i++) {
        const sample *at = &l->samples[i];

        running[i] = (double)(atomic_load(&at->began_ns) - at->asked_ns);
        ended[i] = (double)(at->ended_ns - at->asked_ns);
    }
    snprintf(name, sizeof(name), "%s.start_to_running", what);
    latency_print(bench_kind_name(kind), name, running, l->count);
    snprintf(name, sizeof(name), "%s.start_to_completed", what);
    latency_print(bench_kind_name(kind), name, ended, l->count);
    free(running);
    free(ended);
}

/* ---- The two loads ------------------------------------------------------- */

typedef struct place {
    cascade_store *store;
    load *load; /* of the moment: where the node writes to */
} place;

/* Runs `l` from a clean sheet of samples, which the caller frees. */
static void
begin_load(place *p, load *l, size_t starters)
{
    l->store = p->store;
    l->samples = bench_alloc(l->count, sizeof(sample));
    p->load = l;
    run_load(l, starters);
}

static void
measure_one(const bench *b, place *p, bench_kind kind)
{
    load warm_up = {.count = WARM_UP};
    load l = {.count = bench_pick(b, 1000, 5000, 20000)};

    begin_load(p, &warm_up, 1);
    begin_load(p, &l, 1);
    print_load(&l, kind, "one");
    free(warm_up.samples);
    free(l.samples);
}

/* Cascades a second of a burst. */
static double
measure_burst(const bench *b, place *p)
{
    load l = {.count = BURST_MAX};
    int64_t span_ns = (int64_t)bench_pick(b, 800, 2000, 5000) * 1000000;
    double rate;

    l.until_ns = bench_now_ns() + span_ns;
    begin_load(p, &l, STARTERS);
    rate = (double)atomic_load(&l.ended) * 1e9 /
           (double)(bench_now_ns() - l.begun_ns);
    free(l.samples);
    return rate;
}

static void
measure_half(const bench *b, place *p, bench_kind kind)
{
    double rate = measure_burst(b, p) / 2;
    double span_s = (double)bench_pick(b, 1500, 5000, 15000) / 1000;
    load l = {.count = (size_t)(rate * span_s) + 1, .every_ns = 1e9 / rate};
    char name[64];

    begin_load(p, &l, STARTERS);
    snprintf(name, sizeof(name), "latency.%s.half.rate", bench_kind_name(kind));
    bench_print(name, rate, "cascades/s");
    print_load(&l, kind, "half");
    free(l.samples);
}

static void
measure_start(const bench *b, bench_kind kind)
{
    place p = {.store = bench_open_new(b, kind, "latency")};
    cascade_engine *engine = NULL;

    bench_check("open the engine", cascade_engine_open(p.store, NULL, &engine));
    bench_check("register", cascade_engine_register(engine, "note", note_time,
                                                    &p.load, NULL));
    bench_check("start the engine", cascade_engine_start(engine));
    measure_one(b, &p, kind);
    measure_half(b, &p, kind);
    bench_check("close the engine", cascade_engine_close(engine));
    bench_close(p.store);
    bench_drop(b, kind, "latency");
}

int
main(int argc, char **argv)
{
    static const bench_kind here[] = {BENCH_MEMORY, BENCH_SQLITE,
                                      BENCH_POSTGRES};
    static const bench_kind other[] = {BENCH_SQLITE, BENCH_POSTGRES,
                                       BENCH_POOLER};
    const char *part;
    bench b;

    part = bench_child_part(&b, argc, argv);
    if (part != NULL)
        return latency_runner(&b, part);
    bench_init(&b, argc, argv);
    for (size_t i = 0; i < 3; i++)
        if (bench_has(&b, here[i]))
            measure_start(&b, here[i]);
    for (size_t i = 0; i < 3; i++)
        if (bench_has(&b, here[i]))
            latency_step(&b, here[i]);
    for (size_t i = 0; i < 3; i++)
        if (bench_has(&b, other[i]))
            latency_other(&b, other[i]);
    return 0;
}
