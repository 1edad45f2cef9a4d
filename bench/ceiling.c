/* SPDX-License-Identifier: MIT
 *
 * How fast do the databases take these rows at all, here and now?
 *
 * The floors are what the design was measured with on machines of this kind:
 * under 0.8 of them the machine is too busy or too slow for any ratio of this
 * run to count, and this line and theirs say "suspect".
 */
#include "raw.h"

#include <stdio.h>
#include <string.h>

#include "pg.h"

#define FLOOR 0.8

typedef struct ceiling {
    bench_kind kind;
    raw_style style;
    size_t steps;
    size_t batch;
    size_t connections;
    double expected; /* executions a second; 0: for information */
} ceiling;

static const ceiling ceilings[] = {
    {BENCH_POSTGRES, RAW_LINE, 10, 1, 1, 0},
    {BENCH_POSTGRES, RAW_LINE, 10, 10, 2, 0},
    {BENCH_POSTGRES, RAW_LINE, 10, 100, 1, 0},
    {BENCH_POSTGRES, RAW_LINE, 10, 100, 2, 40000},
    {BENCH_POSTGRES, RAW_LINE, 10, 500, 2, 45000},
    {BENCH_POSTGRES, RAW_GRAPH, 1, 100, 2, 25000},
    {BENCH_POSTGRES, RAW_GRAPH, 10, 1, 1, 0},
    {BENCH_POSTGRES, RAW_GRAPH, 10, 100, 2, 24000},
    {BENCH_POSTGRES, RAW_GRAPH, 10, 500, 2, 36000},
    {BENCH_SQLITE, RAW_LINE, 10, 1, 1, 4000},
    {BENCH_SQLITE, RAW_LINE, 10, 100, 1, 27000},
    {BENCH_SQLITE, RAW_GRAPH, 10, 100, 1, 0},
};

/* Enough transactions that one run takes a good part of a second; a few tenths
 * in a quick one. */
static size_t
groups(const bench *b, const ceiling *c)
{
    size_t executions = c->batch >= 100 ? 6000 : c->batch > 1 ? 2000 : 500;
    size_t count = bench_pick(b, executions, executions * 6, executions * 12) /
                   (c->batch * c->steps * c->connections);

    return count == 0 ? 1 : count;
}

/* Flushes so far: the server's, or SQLite's, which are this process's. */
static double
count_flushes(const bench *b, const ceiling *c)
{
    bench_pg_figures now;
    PGconn *pg;

    if (c->kind == BENCH_SQLITE)
        return (double)bench_syncs();
    pg = bench_pg_connect(b);
    bench_pg_await_alone(pg);
    now = bench_pg_get(pg);
    PQfinish(pg);
    return (double)now.wal_syncs;
}

/* Runs it until it is warm, then the rounds; counts the commits of all. */
static double
run_rounds(const bench *b, const ceiling *c, const raw_work *work,
           double *commits)
{
    raw *r = raw_open(b, c->kind, "bench_raw", work);
    double rates[BENCH_ROUNDS_MAX];
    size_t runs = 0;

    do {
        (void)raw_run(r);
        runs++;
    } while (!raw_is_warm(r));
    for (size_t i = 0; i < b->rounds; i++)
        rates[i] = raw_run(r);
    *commits = (double)((runs + b->rounds) * raw_commits(r));
    raw_close(r);
    return bench_median(rates, b->rounds);
}

/* Each commit waits for a flush, which it may share with those of the other
 * connections: fewer flushes than that, and it is not durable. */
static double
show(const bench *b, const ceiling *c, raw_method method)
{
    raw_work work = {.style = c->style,
                     .method = method,
                     .steps = c->steps,
                     .batch = c->batch,
                     .groups = groups(b, c),
                     .connections = c->connections};
    double before = count_flushes(b, c);
    double commits;
    double rate = run_rounds(b, c, &work, &commits);
    char name[96];

    snprintf(name, sizeof(name), "ceiling.%s.%s%zu.batch%zu.conn%zu.%s",
             bench_kind_name(c->kind), raw_style_name(c->style), c->steps,
             c->batch, c->connections, raw_method_name(method));
    bench_print(name, rate, "exec/s");
    strcat(name, ".flushes");
    bench_print_target(name, (count_flushes(b, c) - before) / commits,
                       "/commit", BENCH_MIN, 1.0 / (double)c->connections,
                       true);
    return rate;
}

static void
show_best(const bench *b, const ceiling *c, double rate)
{
    double target = FLOOR * c->expected;
    char name[96];

    if (c->expected == 0)
        return;
    snprintf(name, sizeof(name), "ceiling.%s.%s%zu.batch%zu.conn%zu.best",
             bench_kind_name(c->kind), raw_style_name(c->style), c->steps,
             c->batch, c->connections);
    bench_print_target(name, rate, "exec/s", BENCH_MIN, target, rate >= target);
    if (rate < target)
        bench_distrust(b, c->kind);
}

/* The fastest of the methods. */
static double
measure(const bench *b, const ceiling *c)
{
    double best = 0;

    bench_close(bench_open_new(b, c->kind, "bench_raw"));
    for (int method = RAW_ARRAYS; method < RAW_METHODS; method++) {
        double rate = 0;

        if (c->kind == BENCH_SQLITE && method != RAW_ROWS)
            continue;
        rate = show(b, c, (raw_method)method);
        if (rate > best)
            best = rate;
    }
    return best;
}

/* Once more where it was too slow: what keeps a disk busy for a second should
 * not spoil a run of minutes. */
static void
measure_twice(const bench *b, const ceiling *c)
{
    double best = measure(b, c);

    if (best < FLOOR * c->expected) {
        bench_note("too slow; once more");
        best = measure(b, c);
    }
    show_best(b, c, best);
}

int
main(int argc, char **argv)
{
    bench b;

    bench_init(&b, argc, argv);
    for (size_t i = 0; i < sizeof(ceilings) / sizeof(ceilings[0]); i++)
        if (bench_has(&b, ceilings[i].kind))
            measure_twice(&b, &ceilings[i]);
    return 0;
}
