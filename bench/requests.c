/* SPDX-License-Identifier: MIT
 *
 * What a request handler does: threads that each start a cascade and wait for
 * its end, one after the other, with the options that one gets for nothing.
 *
 *   requests.KIND.STEPS.threadsN           cascades a second
 *   requests.KIND.STEPS.threadsN.p50       from the call to the end
 *   requests.KIND.STEPS.threadsN.ratio     of the same rows, written by hand in
 *                                          batches of 100
 *   requests.KIND.STEPS.threadsN.fibers    cascades a second where nodes run on
 *                                          fibers, .ratio: of those without, in
 *                                          rounds that take turns; .cpu.ratio:
 *                                          of what this process computes
 *
 * The threads, the engine and the database share the machine.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "load.h"

#define THREADS_MAX 1000

typedef struct contest {
    load *load;
    size_t steps;
    size_t threads;
    size_t cascades; /* in all */
    double *ns;      /* of each */
    atomic_size_t taken;
} contest;

static void
request(contest *c, size_t at)
{
    cascade_store *store = load_store(c->load);
    cJSON *input = cJSON_CreateObject();
    cascade_started started = {0};
    cascade_status status = CASCADE_RUNNING;
    int64_t begun_ns = bench_now_ns();

    if (cJSON_AddNumberToObject(input, "left", (double)c->steps) == NULL)
        bench_die("no memory");
    bench_check("start", cascade_start(store, "line", input, NULL, &started));
    bench_check("wait", cascade_wait(store, &started.id, -1, &status));
    if (status != CASCADE_COMPLETED)
        bench_die("a cascade has failed");
    c->ns[at] = (double)(bench_now_ns() - begun_ns);
}

static void *
run_thread(void *context)
{
    contest *c = context;

    for (;;) {
        size_t at = atomic_fetch_add(&c->taken, 1);

        if (at >= c->cascades)
            return NULL;
        request(c, at);
    }
}

/* Cascades a second. */
static double
run_round(contest *c)
{
    static pthread_t threads[THREADS_MAX];
    int64_t begun_ns = bench_now_ns();

    atomic_store(&c->taken, 0);
    for (size_t i = 0; i < c->threads; i++)
        if (pthread_create(&threads[i], NULL, run_thread, c) != 0)
            bench_die("no thread");
    for (size_t i = 0; i < c->threads; i++)
        pthread_join(threads[i], NULL);
    return (double)c->cascades * 1e9 / (double)(bench_now_ns() - begun_ns);
}

/* ---- Beside the rows by hand --------------------------------------------- */

static size_t
count_for(const bench *b, size_t steps, size_t threads)
{
    size_t count = bench_count(b, 1000, 4000, 12000) / (steps > 1 ? 4 : 1);

    if (threads == 1)
        return count / 10;
    return count < 2 * threads ? 2 * threads : count;
}

static raw *
open_hand(const bench *b, bench_kind kind, size_t steps)
{
    raw_work work = {.style = RAW_LINE,
                     .method = kind == BENCH_POSTGRES ? RAW_ARRAYS : RAW_ROWS,
                     .steps = steps,
                     .batch = 100,
                     .groups = bench_pick(b, 4, 10, 20),
                     .connections = kind == BENCH_POSTGRES ? 2 : 1};

    bench_close(bench_open_new(b, kind, "bench_hand"));
    return raw_open(b, kind, "bench_hand", &work);
}

static void
show(const char *name, const char *what, double value, const char *unit)
{
    char full[128];

    (void)snprintf(full, sizeof(full), "%s%s", name, what);
    bench_print(full, value, unit);
}

/* A straight line of n steps is n executions to who writes by hand. */
static void
compare(const bench *b, contest *c, raw *hand, const char *name)
{
    double rates[BENCH_ROUNDS_MAX];
    double by_hand[BENCH_ROUNDS_MAX];
    double p50[BENCH_ROUNDS_MAX];
    double ratio;
    char full[128];

    for (size_t round = 0; round <= b->rounds; round++) {
        size_t at = round == 0 ? 0 : round - 1; /* the first warms up */

        rates[at] = run_round(c);
        p50[at] = bench_median(c->ns, c->cascades);
        by_hand[at] = raw_run(hand) / (double)c->steps;
    }
    show(name, "", bench_median(rates, b->rounds), "cascades/s");
    show(name, ".p50", bench_median(p50, b->rounds) / 1000, "us");
    ratio = bench_median(rates, b->rounds) / bench_median(by_hand, b->rounds);
    (void)snprintf(full, sizeof(full), "%s.ratio", name);
    if (c->threads == 1)
        return;
    bench_print_target(full, ratio, "x by hand", BENCH_MIN, 0.6, true);
}

/* The same, and what this process computes for each. */
static double
run_counted(contest *c, double *cpu_us)
{
    int64_t before_us = bench_cpu_us();
    double rate = run_round(c);

    *cpu_us = (double)(bench_cpu_us() - before_us) / (double)c->cascades;
    return rate;
}

/* With fibers and without, in turn. */
static void
compare_fibers(const bench *b, contest *with, contest *without,
               const char *name)
{
    double rates[BENCH_ROUNDS_MAX];
    double others[BENCH_ROUNDS_MAX];
    double cpu_us[BENCH_ROUNDS_MAX];
    double other_cpu_us[BENCH_ROUNDS_MAX];

    for (size_t round = 0; round <= b->rounds; round++) {
        size_t at = round == 0 ? 0 : round - 1; /* the first warms up */

        rates[at] = run_counted(with, &cpu_us[at]);
        others[at] = run_counted(without, &other_cpu_us[at]);
    }
    show(name, "", bench_median(rates, b->rounds), "cascades/s");
    show(name, ".ratio",
         bench_median(rates, b->rounds) / bench_median(others, b->rounds),
         "x without");
    show(name, ".cpu.ratio",
         bench_median(cpu_us, b->rounds) /
             bench_median(other_cpu_us, b->rounds),
         "x without");
}

static void
measure_fibers(const bench *b, bench_kind kind, size_t steps)
{
    static const size_t threads[] = {1, 50, 200};
    const load_setting on = {.fibers = 1};
    const load_setting off = {.fibers = -1};
    contest with = {.load = load_open(b, kind, "bench_fibers", &on),
                    .steps = steps};
    contest without = {.load = load_open(b, kind, "bench_requests", &off),
                       .steps = steps};

    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        char name[96];

        (void)snprintf(name, sizeof(name),
                       "requests.%s.steps%zu.threads%zu.fibers",
                       bench_kind_name(kind), steps, threads[i]);
        if (!bench_wants(b, name))
            continue;
        with.threads = without.threads = threads[i];
        with.cascades = without.cascades = count_for(b, steps, threads[i]);
        with.ns = bench_alloc(with.cascades, sizeof(*with.ns));
        without.ns = bench_alloc(without.cascades, sizeof(*without.ns));
        compare_fibers(b, &with, &without, name);
        free(with.ns);
        free(without.ns);
    }
    load_close(with.load);
    load_close(without.load);
}

static void
measure(const bench *b, bench_kind kind, size_t steps)
{
    static const size_t threads[] = {1, 50, 200, 1000};
    const load_setting defaults = {.workers = 0};
    raw *hand = open_hand(b, kind, steps);
    contest c = {.load = load_open(b, kind, "bench_requests", &defaults),
                 .steps = steps};

    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        char name[96];

        (void)snprintf(name, sizeof(name), "requests.%s.steps%zu.threads%zu",
                       bench_kind_name(kind), steps, threads[i]);
        if (!bench_wants(b, name))
            continue;
        c.threads = threads[i];
        c.cascades = count_for(b, steps, threads[i]);
        c.ns = bench_alloc(c.cascades, sizeof(*c.ns));
        compare(b, &c, hand, name);
        free(c.ns);
    }
    load_close(c.load);
    raw_close(hand);
}

int
main(int argc, char **argv)
{
    bench b;

    bench_init(&b, argc, argv);
    for (bench_kind kind = BENCH_SQLITE; kind <= BENCH_POSTGRES; kind++) {
        if (!bench_has(&b, kind))
            continue;
        measure(&b, kind, 1);
        measure(&b, kind, 10);
        measure_fibers(&b, kind, 1);
        measure_fibers(&b, kind, 10);
        bench_drop(&b, kind, "bench_fibers");
        bench_drop(&b, kind, "bench_requests");
        bench_drop(&b, kind, "bench_hand");
    }
    return 0;
}
