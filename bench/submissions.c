/* SPDX-License-Identifier: MIT
 *
 * What a process without an engine sends: threads of one store handle, each in
 * a closed loop, that start cascades, or signal some.
 *
 *   submissions.KIND.starts.threadsN          starts a second
 *   submissions.KIND.starts.threadsN.p50      of one call
 *   submissions.KIND.starts.threadsN.ratio    of the same rows, written by hand
 *                                             N at a time by one connection
 *   submissions.KIND.signals.threadsN         signals a second, that nobody
 *                                             receives; and their p50
 *
 * The threads and the database share the machine.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "raw.h"

#define THREADS_MAX 64
#define RECEIVERS 64 /* cascades that are signalled in turn */

typedef struct contest {
    cascade_store *store;
    size_t threads;
    size_t calls;               /* in all */
    double *ns;                 /* of each */
    cascade_started *receivers; /* NULL: the calls start */
    atomic_size_t taken;
} contest;

static void
start(cascade_store *store, cascade_started *started)
{
    bench_check("start", cascade_start(store, "line", NULL, NULL, started));
}

static void
signal_nth(const contest *c, size_t at)
{
    cJSON *payload = cJSON_CreateObject();

    if (cJSON_AddStringToObject(payload, "text", "what it tells") == NULL)
        bench_die("no memory");
    bench_check("signal",
                cascade_signal(c->store, &c->receivers[at % RECEIVERS].id, "go",
                               payload, NULL));
}

static void *
run_thread(void *context)
{
    contest *c = context;
    cascade_started started;

    for (;;) {
        size_t at = atomic_fetch_add(&c->taken, 1);
        int64_t begun_ns = bench_now_ns();

        if (at >= c->calls)
            return NULL;
        if (c->receivers != NULL)
            signal_nth(c, at);
        else
            start(c->store, &started);
        c->ns[at] = (double)(bench_now_ns() - begun_ns);
    }
}

/* Calls a second. */
static double
run_round(contest *c)
{
    pthread_t threads[THREADS_MAX];
    int64_t begun_ns = bench_now_ns();

    atomic_store(&c->taken, 0);
    for (size_t i = 0; i < c->threads; i++)
        if (pthread_create(&threads[i], NULL, run_thread, c) != 0)
            bench_die("no thread");
    for (size_t i = 0; i < c->threads; i++)
        pthread_join(threads[i], NULL);
    return (double)c->calls * 1e9 / (double)(bench_now_ns() - begun_ns);
}

static void
show(const char *name, const char *what, double value, const char *unit)
{
    char full[128];

    (void)snprintf(full, sizeof(full), "%s%s", name, what);
    bench_print(full, value, unit);
}

/* ---- Starts, beside the rows by hand ------------------------------------- */

static raw *
open_hand(const bench *b, bench_kind kind, size_t threads)
{
    raw_work work = {.style = RAW_START,
                     .method = kind == BENCH_POSTGRES ? RAW_ARRAYS : RAW_ROWS,
                     .steps = 1,
                     .batch = threads,
                     .groups = bench_pick(b, 100, 200, 400),
                     .connections = 1};

    bench_close(bench_open_new(b, kind, "bench_hand"));
    return raw_open(b, kind, "bench_hand", &work);
}

/* The targets are a server's; of one thread it is its share of one commit. */
static void
show_starts(const contest *c, bench_kind kind, const char *name, double rate,
            double by_hand)
{
    char full[128];
    double target = c->threads == 16 ? 8000 : 15000;

    if (c->threads > 1 && kind == BENCH_POSTGRES)
        bench_print_target(name, rate, "starts/s", BENCH_MIN, target, true);
    else
        bench_print(name, rate, "starts/s");
    (void)snprintf(full, sizeof(full), "%s.ratio", name);
    if (c->threads == 1)
        bench_print_target(full, rate / by_hand, "x by hand", BENCH_MIN, 0.85,
                           true);
    else
        bench_print(full, rate / by_hand, "x by hand");
}

static void
compare_starts(const bench *b, bench_kind kind, contest *c, const char *name)
{
    raw *hand = open_hand(b, kind, c->threads);
    double rates[BENCH_ROUNDS_MAX];
    double by_hand[BENCH_ROUNDS_MAX];
    double p50[BENCH_ROUNDS_MAX];

    for (size_t round = 0; round <= b->rounds; round++) {
        size_t at = round == 0 ? 0 : round - 1; /* the first warms up */

        rates[at] = run_round(c);
        p50[at] = bench_median(c->ns, c->calls);
        by_hand[at] = raw_run(hand);
    }
    raw_close(hand);
    bench_drop(b, kind, "bench_hand");
    show_starts(c, kind, name, bench_median(rates, b->rounds),
                bench_median(by_hand, b->rounds));
    show(name, ".p50", bench_median(p50, b->rounds) / 1000, "us");
}

/* ---- Signals ------------------------------------------------------------- */

static void
measure_signals(const bench *b, contest *c, const char *name)
{
    cascade_started receivers[RECEIVERS];
    double rates[BENCH_ROUNDS_MAX];
    double p50[BENCH_ROUNDS_MAX];

    for (size_t i = 0; i < RECEIVERS; i++)
        start(c->store, &receivers[i]);
    c->receivers = receivers;
    for (size_t round = 0; round <= b->rounds; round++) {
        size_t at = round == 0 ? 0 : round - 1;

        rates[at] = run_round(c);
        p50[at] = bench_median(c->ns, c->calls);
    }
    c->receivers = NULL;
    show(name, "", bench_median(rates, b->rounds), "signals/s");
    show(name, ".p50", bench_median(p50, b->rounds) / 1000, "us");
}

static void
measure(const bench *b, bench_kind kind)
{
    static const size_t threads[] = {1, 16, 64};
    contest c = {.store = bench_open_new(b, kind, "bench_submissions")};

    for (size_t i = 0; i < 2 * sizeof(threads) / sizeof(threads[0]); i++) {
        bool signals = i % 2 == 1;
        char name[96];

        c.threads = threads[i / 2];
        (void)snprintf(name, sizeof(name), "submissions.%s.%s.threads%zu",
                       bench_kind_name(kind), signals ? "signals" : "starts",
                       c.threads);
        if (!bench_wants(b, name))
            continue;
        c.calls = bench_count(b, 2000, 4000, 12000) / (c.threads > 1 ? 1 : 8);
        c.ns = bench_alloc(c.calls, sizeof(*c.ns));
        if (signals)
            measure_signals(b, &c, name);
        else
            compare_starts(b, kind, &c, name);
        free(c.ns);
    }
    bench_close(c.store);
    bench_drop(b, kind, "bench_submissions");
}

int
main(int argc, char **argv)
{
    bench b;

    bench_init(&b, argc, argv);
    for (bench_kind kind = BENCH_SQLITE; kind <= BENCH_POSTGRES; kind++)
        if (bench_has(&b, kind))
            measure(&b, kind);
    return 0;
}
