/* SPDX-License-Identifier: MIT
 *
 * What start, claim, execution and step cost when the tables are large.
 *
 *   full     many cascades have ended: 1 + 3 + 2 rows each
 *   parked   many wait, for a month
 *   grown    many wait, that have come since the engine was started, and since
 *            the database has last looked at the size of its tables
 *   long     one cascade has many executions: see scale_long.c
 *   end      such a cascade is ended from outside: see scale_end.c
 *
 * A store of each kind, and an empty one, are there at the same time. One
 * cascade is run in each of them in turn, by an engine without threads, so that
 * each piece of work can be timed by itself:
 *
 *   start      cascade_start(), with no engine of the process on that store
 *   claim      from cascade_engine_poll() until its first node is entered: it
 *              looks for dead engines, claims, and loads
 *   execution  a node that puts a value and spawns the next; until its commit
 *   step       a step that puts a value; until its commit
 */
#include "scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)
#define TARGET 1.2
#define WARM_UP 10
#define SAMPLES_MAX 200
#define GROW_BY 10000
#define PARKED_COUNT 100000

typedef enum cost {
    START,
    CLAIM,
    EXECUTION,
    STEP,
    COSTS
} cost;

typedef enum place_kind {
    EMPTY,
    FULL,
    PARKED,
    GROWN,
    PLACES
} place_kind;

static const char *const cost_names[COSTS] = {"start", "claim", "execution",
                                              "step"};
static const char *const place_names[PLACES] = {"empty", "full", "parked",
                                                "grown"};
static const char *const store_names[PLACES] = {
    "bench_scale_empty", "bench_scale_full", "bench_scale_parked",
    "bench_scale_grown"};

/* A store, and what is being measured in it. */
typedef struct place {
    cascade_store *outside; /* starts; no engine is open on it */
    cascade_store *store;
    cascade_engine *engine;
    int64_t first_ns;  /* the first node was entered, or 0 */
    int64_t second_ns; /* the second one was, for the first time */
    bool ended;
    double us[COSTS][SAMPLES_MAX]; /* of one round */
    double p50[COSTS][BENCH_ROUNDS_MAX];
} place;

/* ---- Nodes --------------------------------------------------------------- */

cJSON *
bench_scale_value(void)
{
    cJSON *value = cJSON_CreateObject();

    cJSON_AddNumberToObject(value, "number", 4711);
    cJSON_AddStringToObject(value, "state", "reserved in the warehouse");
    return value;
}

static cascade_err
first(cascade_node *node, void *user)
{
    place *p = user;
    cascade_err err;

    p->first_ns = bench_now_ns();
    err = cascade_node_put(node, "progress", bench_scale_value());
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, "second", bench_scale_value(), NULL);
}

cascade_err
bench_scale_work(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = bench_scale_value();
    return cascade_node_put(node, "progress", bench_scale_value());
}

static cascade_err
second(cascade_node *node, void *user)
{
    place *p = user;
    cascade_err err;

    if (p->second_ns == 0)
        p->second_ns = bench_now_ns();
    err = cascade_node_step(node, "work", bench_scale_work, NULL, NULL, NULL);
    p->ended = err == CASCADE_OK;
    return err;
}

/* ---- Places -------------------------------------------------------------- */

static void
open_place(const bench *b, bench_kind kind, const char *name, place *p)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .poll_interval_ms = 1};

    p->outside = bench_open(b, kind, name);
    p->store = bench_open(b, kind, name);
    bench_check("open the engine",
                cascade_engine_open(p->store, &options, &p->engine));
    bench_check("register",
                cascade_engine_register(p->engine, "first", first, p, NULL));
    bench_check("register",
                cascade_engine_register(p->engine, "second", second, p, NULL));
    bench_check("start the engine", cascade_engine_start(p->engine));
}

static void
close_place(place *p)
{
    bench_check("close the engine", cascade_engine_close(p->engine));
    bench_close(p->store);
    bench_close(p->outside);
}

static void
start_one(cascade_store *store, int64_t delay_ms)
{
    cascade_start_options options = {.size = sizeof(options),
                                     .user_id = "customer-17",
                                     .delay_ms = delay_ms};
    cascade_started started;

    bench_check("start", cascade_start(store, "first", bench_scale_value(),
                                       &options, &started));
}

/* Polls until *what is set: tells when that poll began. */
static int64_t
poll_until(place *p, const int64_t *what)
{
    int64_t since_ns = bench_now_ns();
    int64_t begun_ns = 0;

    while (*what == 0) {
        bench_not_stuck(since_ns, "a cascade that was started");
        begun_ns = bench_now_ns();
        bench_check("poll", cascade_engine_poll(p->engine, 0, NULL));
    }
    return begun_ns;
}

/* Runs one cascade and notes what each part of it cost. */
static void
run_one(place *p, size_t sample)
{
    int64_t ns[COSTS];
    int64_t begun_ns = bench_now_ns();

    p->first_ns = 0;
    p->second_ns = 0;
    p->ended = false;
    start_one(p->outside, 0);
    ns[START] = bench_now_ns() - begun_ns;
    begun_ns = poll_until(p, &p->first_ns);
    ns[EXECUTION] = bench_now_ns() - p->first_ns;
    ns[CLAIM] = p->first_ns - begun_ns;
    poll_until(p, &p->second_ns);
    ns[STEP] = bench_now_ns() - p->second_ns;
    for (begun_ns = bench_now_ns(); !p->ended;) {
        bench_not_stuck(begun_ns, "a cascade that runs");
        bench_check("poll", cascade_engine_poll(p->engine, 0, NULL));
    }
    for (int c = 0; c < COSTS; c++)
        p->us[c][sample] = (double)ns[c] / 1e3;
}

/* ---- Rounds -------------------------------------------------------------- */

static size_t
full_count(const bench *b)
{
    return bench_pick(b, 100000, 1000000, 10000000);
}

/* With one cascade, copied or not. The tables of the empty one are new to the
 * database: it would not look at so few rows on its own. */
static void
prepare(const bench *b, bench_kind kind, place_kind which)
{
    const char *name = store_names[which];
    cascade_store *store = bench_open_new(b, kind, name);
    place *p = bench_alloc(1, sizeof(*p));

    if (which == PARKED)
        start_one(store, 30 * DAY_MS);
    bench_close(store);
    if (which != PARKED) {
        open_place(b, kind, name, p);
        run_one(p, 0);
        close_place(p);
    }
    free(p);
    if (which == FULL)
        bench_fill(b, kind, name, full_count(b));
    else if (which == PARKED)
        bench_fill(b, kind, name, PARKED_COUNT);
    else if (which == GROWN)
        bench_fill_settle(b, kind, name);
}

/* Cascades that wait, all at once. */
static void
grow(const bench *b, place *p)
{
    const cascade_first one = {.size = sizeof(one), .node = "first"};
    const cascade_start_options options = {.size = sizeof(options),
                                           .delay_ms = 30 * DAY_MS};
    cascade_start_spec *specs = bench_alloc(GROW_BY, sizeof(*specs));
    cascade_started *started = bench_alloc(GROW_BY, sizeof(*started));

    for (size_t i = 0; i < GROW_BY; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &one,
                                        .first_count = 1,
                                        .options = &options};
    for (size_t i = 0; i < bench_pick(b, 1, 5, 5); i++)
        bench_check("start",
                    cascade_start_many(p->outside, specs, GROW_BY, started));
    free(specs);
    free(started);
}

static void
run_round(place *places, size_t round, size_t samples)
{
    for (size_t i = 0; i < samples; i++)
        for (int k = 0; k < PLACES; k++)
            run_one(&places[k], i);
    for (int k = 0; k < PLACES; k++)
        for (int c = 0; c < COSTS; c++)
            places[k].p50[c][round] =
                bench_percentile(places[k].us[c], samples, 0.5);
}

static void
print_costs(const bench *b, bench_kind kind, place *places)
{
    double empty[COSTS];
    char name[80];

    for (int k = 0; k < PLACES; k++)
        for (int c = 0; c < COSTS; c++) {
            double us = bench_median(places[k].p50[c], b->rounds);

            snprintf(name, sizeof(name), "scale.%s.%s.%s.p50",
                     bench_kind_name(kind), place_names[k], cost_names[c]);
            bench_print(name, us, "us");
            if (k == EMPTY) {
                empty[c] = us;
                continue;
            }
            strcat(name, "_ratio");
            bench_print_target(name, us / empty[c], "x empty", BENCH_MAX,
                               TARGET, bench_trusts(b, kind));
        }
}

static void
measure_sizes(const bench *b, bench_kind kind)
{
    size_t samples = bench_pick(b, 40, 100, 100);
    place *places = bench_alloc(PLACES, sizeof(*places));

    bench_note("full: %zu cascades; parked: %d", full_count(b), PARKED_COUNT);
    for (int k = 0; k < PLACES; k++) {
        prepare(b, kind, (place_kind)k);
        open_place(b, kind, store_names[k], &places[k]);
    }
    run_round(places, 0, WARM_UP);
    grow(b, &places[GROWN]);
    for (size_t i = 0; i < b->rounds; i++)
        run_round(places, i, samples);
    for (int k = 0; k < PLACES; k++) {
        close_place(&places[k]);
        bench_drop(b, kind, store_names[k]);
    }
    print_costs(b, kind, places);
    free(places);
}

int
main(int argc, char **argv)
{
    static const bench_kind kinds[] = {BENCH_SQLITE, BENCH_POSTGRES};
    bench b;

    bench_init(&b, argc, argv);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!bench_has(&b, kinds[i])) {
            bench_note("PostgreSQL is not measured: --pg is missing");
            continue;
        }
        measure_sizes(&b, kinds[i]);
        bench_scale_long(&b, kinds[i]);
        bench_scale_end(&b, kinds[i]);
    }
    return 0;
}
