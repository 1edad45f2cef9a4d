/* SPDX-License-Identifier: MIT
 *
 * How many executions a second does an engine record, at what cost, and how
 * near is that to what the database takes at all?
 *
 * First the ratios: the best of a few settings of the engine beside the fastest
 * way to write the same rows without it, in turn. The memory store is held
 * against SQLite's ceiling. Then the matrix: cascades of 1, 5 and 10 executions
 * in both styles, 1 to 10,000 of them in flight, by an engine of 512 workers
 * whose steps block them.
 */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "pg.h"

#define WORKERS_MAX 512
#define WARM_UP_SQLITE 4 /* rounds: more than 20,000 pages of each side */

/* ---- The matrix ---------------------------------------------------------- */

typedef struct observer {
    PGconn *pg; /* NULL: not PostgreSQL */
    bench_pg_figures before;
    double commits; /* of all runs */
} observer;

static void
show_load(const char *name, const char *what, double value, const char *unit)
{
    char full[128];

    snprintf(full, sizeof(full), "%s.%s", name, what);
    bench_print(full, value, unit);
}

static void
show_server(const char *name, const observer *o, const load_figures *f)
{
    bench_pg_figures now;
    bench_pg_figures used;

    if (o->pg == NULL)
        return;
    now = bench_pg_get(o->pg);
    used = bench_pg_since(&o->before, &now);
    show_load(name, "server_cpu", (double)used.cpu_us / f->executions,
              "us/exec");
    show_load(name, "wal", (double)used.wal_bytes / f->executions,
              "bytes/exec");
}

static void
measure(load *l, const char *kind, const load_run *run, observer *o)
{
    uint64_t syncs = bench_syncs();
    load_figures f;
    char name[96];

    if (o->pg != NULL)
        o->before = bench_pg_get(o->pg);
    f = load_do(l, run);
    snprintf(name, sizeof(name), "throughput.%s.%s%zu.flight%zu", kind,
             raw_style_name(run->style), run->steps, run->in_flight);
    show_load(name, "executions", f.executions / f.seconds, "exec/s");
    show_load(name, "cascades", (double)run->cascades / f.seconds,
              "cascades/s");
    show_load(name, "process_cpu", f.cpu_us / f.executions, "us/exec");
    show_load(name, "commits", f.commits / f.executions, "commits/exec");
    o->commits += f.commits;
    if (bench_syncs() > syncs)
        show_load(name, "fsyncs", (double)(bench_syncs() - syncs), "calls");
    show_server(name, o, &f);
}

/* The server's, while nobody else is connected. */
static int64_t
count_flushes(const observer *o)
{
    if (o->pg == NULL)
        return 0;
    bench_pg_await_alone(o->pg);
    return bench_pg_get(o->pg).wal_syncs;
}

/* Three commits at most share one: those of two lanes, and a start. */
static void
show_flushes(const observer *o, int64_t before)
{
    if (o->pg == NULL)
        return;
    bench_print_target("throughput.postgres.flushes",
                       (double)(count_flushes(o) - before) / o->commits,
                       "/commit", BENCH_MIN, 1.0 / 3, true);
    PQfinish(o->pg);
}

static size_t
cascades_for(const bench *b, bench_kind kind, const load_run *run)
{
    size_t per_second = run->in_flight == 1      ? 2000
                        : kind == BENCH_MEMORY   ? 100000
                        : run->in_flight >= 1000 ? 30000
                                                 : 10000;
    size_t count = per_second * bench_pick(b, 1, 4, 8) / 4 / run->steps;

    return count < run->in_flight ? run->in_flight : count;
}

static void
show_matrix(const bench *b, bench_kind kind)
{
    static const size_t all_steps[] = {1, 5, 10};
    static const size_t flights[] = {1, 10, 100, 1000, 10000};
    observer o = {.pg = kind == BENCH_POSTGRES ? bench_pg_connect(b) : NULL};
    const load_setting blocking = {.workers = WORKERS_MAX};
    int64_t first_flushes = count_flushes(&o);
    load *l = load_open(b, kind, "bench_load", &blocking);

    for (int style = RAW_LINE; style <= RAW_GRAPH; style++) {
        for (size_t i = b->size == BENCH_QUICK ? 2 : 0; i < 3; i++) {
            for (size_t j = 0; j < sizeof(flights) / sizeof(flights[0]);
                 j += b->size == BENCH_QUICK ? 2 : 1) {
                load_run run = {.style = (raw_style)style,
                                .steps = all_steps[i],
                                .in_flight = flights[j]};

                run.cascades = cascades_for(b, kind, &run);
                measure(l, bench_kind_name(kind), &run, &o);
            }
        }
    }
    load_close(l);
    show_flushes(&o, first_flushes);
}

/* ---- The ratios ---------------------------------------------------------- */

#define STEPS 10
#define SIDES_MAX 6
#define SUSPECT_BELOW 0.8

/* One of those that are compared: a way to write the rows without the library,
 * or a setting of the engine. Each has a store of its own. */
typedef struct side {
    size_t batch; /* 0: the engine */
    raw_method method;
    load_setting setting;
    size_t in_flight; /* 0: 1,000 */
    raw *raw;
    load *load;
    double rates[BENCH_ROUNDS_MAX];
    double cpu[BENCH_ROUNDS_MAX];
    double commits;
    double syncs; /* of this process */
} side;

/* Of each list the best of the ceiling's sides and the best of the engine's are
 * held together. */
static const side pg_line_sides[SIDES_MAX] = {
    {.batch = 100, .method = RAW_ARRAYS},
    {.batch = 100, .method = RAW_CTE},
    {.batch = 500, .method = RAW_ARRAYS},
    {.batch = 500, .method = RAW_CTE},
    {.setting = {.workers = 2, .suspend = true}, .in_flight = 500},
    {.setting = {.workers = WORKERS_MAX}},
};
static const side pg_graph_sides[SIDES_MAX] = {
    {.batch = 100, .method = RAW_ARRAYS}, {.batch = 100, .method = RAW_CTE},
    {.batch = 500, .method = RAW_ARRAYS}, {.batch = 500, .method = RAW_CTE},
    {.setting = {.workers = 4}},          {.setting = {.workers = 2}},
};
static const side sqlite_line_sides[] = {
    {.batch = 100, .method = RAW_ROWS},
    {.batch = 500, .method = RAW_ROWS},
    {.setting = {.workers = 4, .suspend = true}},
    {.setting = {.workers = WORKERS_MAX}},
};
static const side memory_line_sides[] = {
    {.batch = 100, .method = RAW_ROWS},
    {.batch = 500, .method = RAW_ROWS},
    {.setting = {.workers = 2, .suspend = true}},
    {.setting = {.workers = 1}}, /* commits each step by itself */
};
static const side graph_sides[] = {
    {.batch = 100, .method = RAW_ROWS},
    {.batch = 500, .method = RAW_ROWS},
    {.setting = {.workers = 4}},
    {.setting = {.workers = 2}},
};

typedef struct contest {
    bench_kind kind;    /* of the engine's store */
    bench_kind ceiling; /* of the ceiling's */
    raw_style style;
    const side *sides;
    size_t count;
    double expected_100; /* of the fastest ceiling in batches of 100, of 500: */
    double expected_500; /* under 0.8 of either, no ratio counts */
    double target;
} contest;

static const contest contests[] = {
    {BENCH_POSTGRES, BENCH_POSTGRES, RAW_LINE, pg_line_sides, 6, 40000, 45000,
     0.8},
    {BENCH_POSTGRES, BENCH_POSTGRES, RAW_GRAPH, pg_graph_sides, 6, 24000, 36000,
     0.8},
    {BENCH_SQLITE, BENCH_SQLITE, RAW_LINE, sqlite_line_sides, 4, 27000, 27000,
     0.8},
    {BENCH_SQLITE, BENCH_SQLITE, RAW_GRAPH, graph_sides, 4, 27000, 27000, 0.8},
    {BENCH_MEMORY, BENCH_SQLITE, RAW_LINE, memory_line_sides, 4, 27000, 27000,
     8},
    {BENCH_MEMORY, BENCH_SQLITE, RAW_GRAPH, graph_sides, 4, 27000, 27000, 8},
};

static size_t
executions_for(const bench *b, bench_kind kind)
{
    size_t count =
        bench_pick(b, kind == BENCH_POSTGRES ? 20000 : 10000, 40000, 80000);

    return kind == BENCH_MEMORY ? 10 * count : count;
}

static void
open_side(const bench *b, const contest *c, side *s, size_t number)
{
    raw_work work = {.style = c->style,
                     .method = s->method,
                     .steps = STEPS,
                     .batch = s->batch,
                     .connections = c->ceiling == BENCH_SQLITE ? 1 : 2};
    char name[32];

    snprintf(name, sizeof(name), "bench_side%zu", number);
    if (s->batch == 0) {
        s->load = load_open(b, c->kind, name, &s->setting);
        return;
    }
    bench_close(bench_open_new(b, c->ceiling, name));
    work.groups =
        executions_for(b, c->ceiling) / (STEPS * s->batch * work.connections);
    s->raw = raw_open(b, c->ceiling, name, &work);
}

static void
close_side(const bench *b, const contest *c, side *s, size_t number)
{
    char name[32];

    snprintf(name, sizeof(name), "bench_side%zu", number);
    if (s->batch == 0)
        load_close(s->load);
    else
        raw_close(s->raw);
    bench_drop(b, s->batch == 0 ? c->kind : c->ceiling, name);
}

static void
run_engine(const bench *b, const contest *c, side *s, size_t round)
{
    load_run run = {.style = c->style,
                    .steps = STEPS,
                    .in_flight = s->in_flight > 0 ? s->in_flight : 1000,
                    .cascades = executions_for(b, c->kind) / STEPS};
    load_figures f = load_do(s->load, &run);

    s->rates[round] = f.executions / f.seconds;
    s->cpu[round] = f.cpu_us / f.executions;
    s->commits += f.commits;
}

static void
run_side(const bench *b, const contest *c, side *s, size_t round)
{
    uint64_t syncs = bench_syncs();

    if (s->batch == 0) {
        run_engine(b, c, s, round);
    } else {
        s->rates[round] = raw_run(s->raw);
        s->commits += (double)raw_commits(s->raw);
    }
    s->syncs += (double)(bench_syncs() - syncs);
}

/* The first rounds are for warming up, the same for all. SQLite's are as many
 * as it takes until each WAL has been through a checkpoint. */
static void
run_rounds(const bench *b, const contest *c, side *sides)
{
    size_t warm_up = c->ceiling == BENCH_SQLITE ? WARM_UP_SQLITE : 1;

    for (size_t round = 0; round < warm_up + b->rounds; round++)
        for (size_t i = 0; i < c->count; i++)
            run_side(b, c, &sides[i], round < warm_up ? 0 : round - warm_up);
}

static void
name_side(const contest *c, const side *s, char *name, size_t size)
{
    const char *kind = bench_kind_name(c->kind);
    const char *style = raw_style_name(c->style);

    if (s->batch > 0)
        snprintf(name, size, "throughput.%s.%s.ceiling.batch%zu.%s", kind,
                 style, s->batch, raw_method_name(s->method));
    else
        snprintf(name, size, "throughput.%s.%s.engine.workers%u%s", kind, style,
                 s->setting.workers, s->setting.suspend ? ".suspending" : "");
}

/* The best of the ceiling's sides with that batch, of the engine's for 0. */
static const side *
best_of(const bench *b, const contest *c, side *sides, size_t batch,
        double *best)
{
    const side *found = NULL;

    *best = 0;
    for (size_t i = 0; i < c->count; i++) {
        double rate = bench_median(sides[i].rates, b->rounds);

        if (sides[i].batch != batch || (found != NULL && rate <= *best))
            continue;
        *best = rate;
        found = &sides[i];
    }
    return found;
}

/* SQLite's flushes are calls of this process: one for each commit at least. */
static void
show_sides(const bench *b, const contest *c, side *sides)
{
    char name[96];

    for (size_t i = 0; i < c->count; i++) {
        bool sqlite =
            (sides[i].batch == 0 ? c->kind : c->ceiling) == BENCH_SQLITE;

        name_side(c, &sides[i], name, sizeof(name));
        bench_print(name, bench_median(sides[i].rates, b->rounds), "exec/s");
        strcat(name, ".fsyncs");
        if (sqlite)
            bench_print_target(name, sides[i].syncs / sides[i].commits,
                               "/commit", BENCH_MIN, 1, true);
    }
}

static void
show_contest(const bench *b, const contest *c, side *sides)
{
    double cpu[BENCH_ROUNDS_MAX];
    double small;
    double large;
    double rate;
    const side *best;
    char name[96];

    show_sides(b, c, sides);
    (void)best_of(b, c, sides, 100, &small);
    (void)best_of(b, c, sides, 500, &large);
    best = best_of(b, c, sides, 0, &rate);
    memcpy(cpu, best->cpu, sizeof(cpu));
    snprintf(name, sizeof(name), "throughput.%s.%s.ratio",
             bench_kind_name(c->kind), raw_style_name(c->style));
    bench_print_target(name, rate / (small > large ? small : large),
                       "x ceiling", BENCH_MIN, c->target,
                       bench_trusts(b, c->ceiling) &&
                           small >= SUSPECT_BELOW * c->expected_100 &&
                           large >= SUSPECT_BELOW * c->expected_500);
    snprintf(name, sizeof(name), "throughput.%s.%s.process_cpu",
             bench_kind_name(c->kind), raw_style_name(c->style));
    bench_print_target(name, bench_median(cpu, b->rounds), "us/exec",
                       c->kind == BENCH_POSTGRES ? BENCH_MAX : BENCH_NONE, 15,
                       true);
}

static void
hold(const bench *b, const contest *c)
{
    static side sides[SIDES_MAX];

    memcpy(sides, c->sides, c->count * sizeof(*sides));
    for (size_t i = 0; i < c->count; i++)
        open_side(b, c, &sides[i], i);
    run_rounds(b, c, sides);
    for (size_t i = 0; i < c->count; i++)
        close_side(b, c, &sides[i], i);
    show_contest(b, c, sides);
}

int
main(int argc, char **argv)
{
    bench b;

    bench_init(&b, argc, argv);
    for (size_t i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
        if (bench_has(&b, contests[i].kind))
            hold(&b, &contests[i]);
    for (int kind = BENCH_MEMORY; kind <= BENCH_POSTGRES; kind++)
        if (bench_has(&b, (bench_kind)kind))
            show_matrix(&b, (bench_kind)kind);
    return 0;
}
