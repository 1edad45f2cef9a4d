/* SPDX-License-Identifier: MIT
 *
 * How small cascades fare beside giants. One small cascade after the other is
 * started, and waited for until it has ended, a thousand of them: first alone,
 * then beside giants of each kind, one after the other, each from its start
 * until it has grown, ended, been deleted, and the last of its rows is gone.
 *
 *   executions   a thousand in a commit
 *   fan_out      nine thousand in a commit
 *   joins        a thousand, and what comes after all of them
 *   children     a thousand in a commit
 *   context      a thousand values of one key in a commit
 *   payload      outputs of 256 KiB, a KiB for each of its size
 *   messages     signals that nobody awaits, one after the other
 *
 * The size of a giant is --count. With --quick there are 200 small ones; and as
 * many as end in a minute, if that is less. The target is that p99 is at most
 * three times that of alone.
 */
#include "soak.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define RATIO 3.0
#define BESIDE_MS 60000 /* that small ones go on for */
#define WAIT_MS 600000
#define LOOK_MS 5

/* Giants of a kind, whose lives another thread leads. */
typedef struct lives {
    soak *s;
    const soak_giant *giant;
    size_t count;
    double grown_ms; /* of the last one: from its start to its end, */
    double gone_ms;  /* and until it was gone */
    atomic_bool enough;
} lives;

/* ---- Small ones ---------------------------------------------------------- */

static double
run_small(const soak *s)
{
    int64_t begun_ns = bench_now_ns();
    cascade_status status = CASCADE_RUNNING;
    cascade_started started;

    bench_check("start",
                cascade_start(s->outside, SOAK_SMALL, NULL, NULL, &started));
    bench_check("wait",
                cascade_wait(s->outside, &started.id, WAIT_MS, &status));
    if (status != CASCADE_COMPLETED)
        bench_die("a small cascade has failed");
    return (double)(bench_now_ns() - begun_ns) / 1e6;
}

/* So many, or as many as there is time for: how many. */
static size_t
run_many(const soak *s, double *ms, size_t count)
{
    int64_t end_ns = bench_now_ns() + BESIDE_MS * INT64_C(1000000);
    size_t done = 0;

    while (done < count && bench_now_ns() < end_ns)
        ms[done++] = run_small(s);
    return done;
}

static size_t
small_count(const soak *s)
{
    return bench_pick(s->b, 200, 1000, 1000);
}

/* ---- The giant ----------------------------------------------------------- */

static bool
is_erased(const soak *s)
{
    cascade_counts counts = {.size = sizeof(counts)};

    bench_check("count", cascade_counts_load(s->leader, &counts));
    return counts.erasing == 0;
}

static void
lead_one(lives *l)
{
    const soak *s = l->s;
    int64_t begun_ns = bench_now_ns();
    cascade_status status = CASCADE_RUNNING;
    cascade_started started;

    bench_check("start",
                cascade_start(s->leader, l->giant->name, NULL, NULL, &started));
    if (l->giant->mail)
        soak_send(s, &started.id);
    bench_check("wait", cascade_wait(s->leader, &started.id, WAIT_MS, &status));
    if (status != CASCADE_COMPLETED)
        bench_die("the giant of %s has failed", l->giant->name);
    l->grown_ms = (double)(bench_now_ns() - begun_ns) / 1e6;
    bench_check("delete", cascade_delete(s->leader, &started.id, NULL));
    while (!is_erased(s))
        bench_sleep_ms(LOOK_MS);
    l->gone_ms = (double)(bench_now_ns() - begun_ns) / 1e6;
    l->count++;
}

static void *
lead(void *context)
{
    lives *l = context;

    while (!atomic_load(&l->enough))
        lead_one(l);
    return NULL;
}

/* ---- Measuring ----------------------------------------------------------- */

static void
print_one(const soak *s, const char *what, const char *name, double value)
{
    char text[120];

    snprintf(text, sizeof(text), "soak.%s.%s.%s", bench_kind_name(s->kind),
             what, name);
    bench_print(text, value, "ms");
}

static double
print_figures(const soak *s, const char *what, double *ms, size_t count)
{
    double p99 = bench_percentile(ms, count, 0.99);

    print_one(s, what, "p50", bench_percentile(ms, count, 0.5));
    print_one(s, what, "p99", p99);
    print_one(s, what, "max", bench_percentile(ms, count, 1));
    return p99;
}

static void
measure(soak *s, const soak_giant *giant, double *ms, double alone)
{
    lives l = {.s = s, .giant = giant};
    pthread_t thread;
    char text[120];
    size_t count = 0;
    double p99 = 0;

    snprintf(text, sizeof(text), "soak.%s.%s.ratio", bench_kind_name(s->kind),
             giant->name);
    if (!bench_wants(s->b, text))
        return;
    if (pthread_create(&thread, NULL, lead, &l) != 0)
        bench_die("no thread");
    count = run_many(s, ms, small_count(s));
    atomic_store(&l.enough, true);
    pthread_join(thread, NULL);
    print_one(s, giant->name, "grown", l.grown_ms);
    print_one(s, giant->name, "gone", l.gone_ms);
    bench_note("%zu small ones beside %zu giants", count, l.count);
    p99 = print_figures(s, giant->name, ms, count);
    bench_print_target(text, p99 / alone, "x alone", BENCH_MAX, RATIO,
                       bench_trusts(s->b, s->kind));
}

static void
open_all(soak *s)
{
    const cascade_engine_options options = {.size = sizeof(options)};

    s->store = bench_open_new(s->b, s->kind, SOAK_NAME);
    s->outside = bench_open(s->b, s->kind, SOAK_NAME);
    s->leader = bench_open(s->b, s->kind, SOAK_NAME);
    bench_check("open the engine",
                cascade_engine_open(s->store, &options, &s->engine));
    soak_register(s);
    bench_check("start the engine", cascade_engine_start(s->engine));
}

static void
measure_kind(soak *s)
{
    double *ms = bench_alloc(small_count(s), sizeof(*ms));
    double alone = 0;

    open_all(s);
    (void)run_many(s, ms, small_count(s) / 4);
    alone = print_figures(s, "alone", ms, run_many(s, ms, small_count(s)));
    for (size_t i = 0; i < soak_giant_count; i++)
        measure(s, &soak_giants[i], ms, alone);
    bench_check("close the engine", cascade_engine_close(s->engine));
    bench_close(s->store);
    bench_close(s->outside);
    bench_close(s->leader);
    bench_drop(s->b, s->kind, SOAK_NAME);
    free(ms);
}

int
main(int argc, char **argv)
{
    static const bench_kind kinds[] = {BENCH_SQLITE, BENCH_POSTGRES};
    bench b;

    bench_init(&b, argc, argv);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        soak s = {.b = &b,
                  .kind = kinds[i],
                  .size = bench_count(&b, 2000, 20000, 100000)};

        if (bench_has(&b, s.kind))
            measure_kind(&s);
    }
    return 0;
}
