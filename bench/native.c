/* SPDX-License-Identifier: MIT
 *
 * What does it cost that a node runs inside the transaction that records it?
 *
 *   beside   PostgreSQL: ordinary cascades, with and without four transactional
 *            nodes that take their time all the while. Each has a connection of
 *            its own, so the others should keep their pace
 *   cost     one execution that changes two rows and inserts one of the
 *            application's: in a transactional node; the same transaction by
 *            hand, on as many connections, without the library; and, beside
 *            them, an execution that does nothing
 *   stall    SQLite has one writer: the longest that a start waits while a node
 *            stays in its transaction, and while one would do so for longer
 *            than its limit allows
 */
#include "native_sql.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "load.h"

#define NAME "native"
#define SLOW 4 /* transactional nodes at once: the engine's default */
#define BESIDE_MIN 0.9
#define COST_MIN 0.5
#define CHUNK 500

/* What its nodes know. */
typedef struct scene {
    const bench *b;
    bench_kind kind;
    cascade_engine *engine;
    atomic_bool stop;   /* the slow ones */
    atomic_size_t slow; /* so many of them have begun */
    atomic_uint account;
} scene;

static void
show(const scene *s, const char *what, double value, const char *unit)
{
    char name[80];

    snprintf(name, sizeof(name), "native.%s.%s", bench_kind_name(s->kind),
             what);
    bench_print(name, value, unit);
}

static void
show_target(const scene *s, const char *what, double value, const char *unit,
            bench_target kind, double target)
{
    char name[80];

    snprintf(name, sizeof(name), "native.%s.%s", bench_kind_name(s->kind),
             what);
    bench_print_target(name, value, unit, kind, target, true);
}

/* ---- Nodes --------------------------------------------------------------- */

static cascade_err
nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
work(cascade_node *node, void *user)
{
    scene *s = user;
    native_sql sql;
    cascade_err err = native_sql_take(&sql, s->kind, node);

    if (err == CASCADE_OK &&
        !native_sql_work(&sql, NAME, atomic_fetch_add(&s->account, 1)))
        err = CASCADE_ERR_FAILED;
    return err;
}

/* Again and again, until it is to stop; the first time it has an input. */
static cascade_err
take_time(cascade_node *node, void *user)
{
    scene *s = user;
    cascade_err err = work(node, user);
    native_sql sql;

    if (err == CASCADE_OK)
        err = native_sql_take(&sql, s->kind, node);
    if (err == CASCADE_OK && cJSON_IsNumber(cascade_node_input(node)))
        atomic_fetch_add(&s->slow, 1);
    if (err == CASCADE_OK && !native_sql_run(&sql, "SELECT pg_sleep(0.2)"))
        err = CASCADE_ERR_FAILED;
    if (err == CASCADE_OK && !atomic_load(&s->stop))
        err = cascade_node_spawn(node, "slow", NULL, NULL);
    return err;
}

/* Stays in its transaction for as many milliseconds as its input says. */
static cascade_err
stay(cascade_node *node, void *user)
{
    cascade_err err = work(node, user);

    if (err == CASCADE_OK)
        bench_sleep_ms(cascade_node_input(node)->valueint);
    return err;
}

/* One statement that has no end of its own. */
static cascade_err
spin(cascade_node *node, void *user)
{
    scene *s = user;
    native_sql sql;
    cascade_err err = native_sql_take(&sql, s->kind, node);

    if (err == CASCADE_OK &&
        !native_sql_run(&sql, "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL "
                              "SELECT i + 1 FROM n) SELECT max(i) FROM n"))
        err = CASCADE_ERR_FAILED;
    return err;
}

#define LIMIT_MS 500 /* of "spin" */

static cascade_err
register_nodes(cascade_engine *engine, void *context)
{
    const cascade_node_options in_one = {.size = sizeof(in_one),
                                         .transactional = true};
    const cascade_node_options limited = {.size = sizeof(limited),
                                          .attempts_max = 1,
                                          .transactional = true,
                                          .transaction_max_ms = LIMIT_MS};
    scene *s = context;
    cascade_err err =
        cascade_engine_register(engine, "nothing", nothing, NULL, NULL);

    s->engine = engine;
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "work", work, context, &in_one);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "slow", take_time, context,
                                      &in_one);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "stay", stay, context, &in_one);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "spin", spin, context, &limited);
    return err;
}

static load *
open_load(scene *s)
{
    const load_setting setting = {.also = register_nodes, .context = s};
    load *l = load_open(s->b, s->kind, NAME, &setting);
    native_sql sql = native_sql_open(s->b, s->kind, NAME, true);

    native_sql_prepare(&sql);
    native_sql_close(&sql);
    return l;
}

/* ---- Beside -------------------------------------------------------------- */

static double
run_others(load *l, const bench *b)
{
    const load_run run = {.style = RAW_GRAPH,
                          .steps = 10,
                          .in_flight = 100,
                          .cascades = bench_pick(b, 2000, 5000, 10000)};
    load_figures f = load_do(l, &run);

    return f.executions / f.seconds;
}

static void
start_slow(load *l, scene *s, cascade_started slow[SLOW])
{
    int64_t begun_ns = bench_now_ns();

    atomic_store(&s->stop, false);
    atomic_store(&s->slow, 0);
    for (int i = 0; i < SLOW; i++)
        bench_check("start",
                    cascade_start(load_store(l), "slow", cJSON_CreateNumber(i),
                                  NULL, &slow[i]));
    while (atomic_load(&s->slow) < SLOW) {
        bench_not_stuck(begun_ns, "slow nodes");
        bench_sleep_ms(1);
    }
}

static double
run_beside(load *l, scene *s)
{
    cascade_started slow[SLOW];
    double rate;

    start_slow(l, s, slow);
    rate = run_others(l, s->b);
    atomic_store(&s->stop, true);
    for (int i = 0; i < SLOW; i++) {
        cascade_status status;

        bench_check("wait",
                    cascade_wait(load_store(l), &slow[i].id, -1, &status));
        if (status != CASCADE_COMPLETED)
            bench_die("a slow node has failed");
    }
    return rate;
}

static void
measure_beside(scene *s)
{
    double rates[2][BENCH_ROUNDS_MAX];
    double medians[2];
    load *l = open_load(s);

    (void)run_others(l, s->b);
    for (size_t i = 0; i < s->b->rounds; i++) {
        rates[0][i] = run_others(l, s->b);
        rates[1][i] = run_beside(l, s);
    }
    load_close(l);
    for (int i = 0; i < 2; i++)
        medians[i] = bench_median(rates[i], s->b->rounds);
    show(s, "alone", medians[0], "exec/s");
    show(s, "beside", medians[1], "exec/s");
    show_target(s, "beside.ratio", medians[1] / medians[0], "x alone",
                BENCH_MIN, BESIDE_MIN);
}

/* ---- Cost ---------------------------------------------------------------- */

typedef struct hand {
    scene *s;
    native_sql sql;
    size_t count;
    pthread_t thread;
} hand;

/* On SQLite in a file that the library does not know, with SQLite's own
 * checkpoints. */
static void
open_hands(scene *s, hand *hands, size_t connections)
{
    bool postgres = s->kind == BENCH_POSTGRES;
    const char *name = postgres ? NAME : NAME "_hand";

    if (!postgres)
        bench_drop(s->b, s->kind, name);
    for (size_t i = 0; i < connections; i++)
        hands[i].sql = native_sql_open(s->b, s->kind, name, postgres);
    if (!postgres)
        native_sql_prepare(&hands[0].sql);
}

static void *
work_by_hand(void *argument)
{
    hand *h = argument;

    for (size_t i = 0; i < h->count; i++)
        if (!native_sql_transact(&h->sql, NAME,
                                 atomic_fetch_add(&h->s->account, 1)))
            bench_die("a transaction by hand failed");
    return NULL;
}

static double
rate_by_hand(scene *s, hand *hands, size_t connections, size_t count)
{
    int64_t begun_ns = bench_now_ns();

    for (size_t i = 0; i < connections; i++) {
        hands[i].s = s;
        hands[i].count = count / connections;
        if (pthread_create(&hands[i].thread, NULL, work_by_hand, &hands[i]) !=
            0)
            bench_die("no thread");
    }
    for (size_t i = 0; i < connections; i++)
        pthread_join(hands[i].thread, NULL);
    return (double)count * 1e9 / (double)(bench_now_ns() - begun_ns);
}

static uint64_t
recorded(const scene *s)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    bench_check("stats", cascade_engine_get_stats(s->engine, &stats));
    return stats.executions;
}

static double
rate_of(scene *s, load *l, const char *node, size_t count)
{
    static cascade_start_spec specs[CHUNK];
    static cascade_started started[CHUNK];
    const cascade_first first = {.size = sizeof(first), .node = node};
    uint64_t until = recorded(s) + count;
    int64_t begun_ns = bench_now_ns();

    for (size_t i = 0; i < CHUNK; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    for (size_t i = 0; i < count; i += CHUNK)
        bench_check("start",
                    cascade_start_many(load_store(l), specs, CHUNK, started));
    while (recorded(s) < until) {
        bench_not_stuck(begun_ns, node);
        bench_sleep_ms(1);
    }
    return (double)count * 1e9 / (double)(bench_now_ns() - begun_ns);
}

enum {
    HAND,
    NATIVE,
    ORDINARY,
    SIDES
};

/* What was measured has been done: on PostgreSQL all in one table. */
static void
check_moves(scene *s, native_sql *by_hand, int64_t each)
{
    native_sql sql = native_sql_open(s->b, s->kind, NAME, true);
    int64_t nodes = native_sql_moves(&sql, NAME);
    int64_t hands = native_sql_moves(by_hand, NAME);

    native_sql_close(&sql);
    if (nodes != (s->kind == BENCH_POSTGRES ? 2 * each : each) ||
        hands != (s->kind == BENCH_POSTGRES ? 2 * each : each))
        bench_die("%lld and %lld moves were made, not %lld by each side",
                  (long long)nodes, (long long)hands, (long long)each);
}

static void
measure_cost(scene *s)
{
    size_t connections = s->kind == BENCH_POSTGRES ? SLOW : 1;
    size_t count = bench_pick(s->b, 1000, 4000, 8000);
    double all = (double)(count * s->b->rounds);
    double rates[SIDES][BENCH_ROUNDS_MAX];
    double medians[SIDES];
    uint64_t flushes[SIDES] = {0}; /* calls of this process: SQLite's */
    hand hands[SLOW];
    load *l = open_load(s);

    open_hands(s, hands, connections);
    (void)rate_by_hand(s, hands, connections, count);
    (void)rate_of(s, l, "work", count);
    for (size_t i = 0; i < s->b->rounds; i++) {
        uint64_t begun = bench_syncs();

        rates[HAND][i] = rate_by_hand(s, hands, connections, count);
        flushes[HAND] += bench_syncs() - begun;
        begun = bench_syncs();
        rates[NATIVE][i] = rate_of(s, l, "work", count);
        flushes[NATIVE] += bench_syncs() - begun;
        rates[ORDINARY][i] = rate_of(s, l, "nothing", count);
    }
    check_moves(s, &hands[0].sql, (int64_t)(count * (s->b->rounds + 1)));
    for (size_t i = 0; i < connections; i++)
        native_sql_close(&hands[i].sql);
    load_close(l);
    for (int i = 0; i < SIDES; i++)
        medians[i] = bench_median(rates[i], s->b->rounds);
    show(s, "by_hand", medians[HAND], "tx/s");
    show(s, "transactional", medians[NATIVE], "exec/s");
    show(s, "ordinary", medians[ORDINARY], "exec/s");
    show_target(s, "transactional.ratio", medians[NATIVE] / medians[HAND],
                "x by hand", BENCH_MIN, COST_MIN);
    if (s->kind == BENCH_SQLITE) {
        show_target(s, "by_hand.fsyncs", (double)flushes[HAND] / all, "/tx",
                    BENCH_MIN, 1);
        show_target(s, "transactional.fsyncs", (double)flushes[NATIVE] / all,
                    "/exec", BENCH_MIN, 1);
    }
}

/* ---- Stall --------------------------------------------------------------- */

#define SLACK_MS 50

/* The longest start while a cascade of that node runs, up to that end. */
static double
longest_start(load *l, const char *node, int input, cascade_status end)
{
    cascade_status status = CASCADE_RUNNING;
    cascade_started held;
    double longest = 0;

    bench_check("start", cascade_start(load_store(l), node,
                                       cJSON_CreateNumber(input), NULL, &held));
    while (status == CASCADE_RUNNING) {
        int64_t begun_ns = bench_now_ns();
        cascade_started started;
        cascade_err err = CASCADE_OK;
        double ms;

        bench_check("start", cascade_start(load_store(l), "nothing", NULL, NULL,
                                           &started));
        ms = (double)(bench_now_ns() - begun_ns) / 1e6;
        longest = ms > longest ? ms : longest;
        err = cascade_wait(load_store(l), &held.id, 0, &status);
        if (err != CASCADE_ERR_TIMEOUT)
            bench_check("wait", err);
    }
    if (status != end)
        bench_die("node %s came to another end", node);
    return longest;
}

static void
measure_stall(scene *s)
{
    static const int stays[] = {10, 100, 1000};
    double longest[BENCH_ROUNDS_MAX];
    load *l = open_load(s);
    char name[32];

    for (size_t n = 0; n < sizeof(stays) / sizeof(stays[0]); n++) {
        for (size_t i = 0; i < s->b->rounds; i++)
            longest[i] = longest_start(l, "stay", stays[n], CASCADE_COMPLETED);
        snprintf(name, sizeof(name), "stall.node%d", stays[n]);
        show_target(s, name, bench_median(longest, s->b->rounds), "ms",
                    BENCH_MAX, stays[n] + SLACK_MS);
    }
    for (size_t i = 0; i < s->b->rounds; i++)
        longest[i] = longest_start(l, "spin", 0, CASCADE_ERROR);
    snprintf(name, sizeof(name), "stall.limit%d", LIMIT_MS);
    show_target(s, name, bench_median(longest, s->b->rounds), "ms", BENCH_MAX,
                LIMIT_MS + SLACK_MS);
    load_close(l);
}

int
main(int argc, char **argv)
{
    bench b;
    scene postgres = {.b = &b, .kind = BENCH_POSTGRES};
    scene sqlite = {.b = &b, .kind = BENCH_SQLITE};

    bench_init(&b, argc, argv);
    if (bench_has(&b, BENCH_POSTGRES)) {
        measure_beside(&postgres);
        measure_cost(&postgres);
    } else {
        bench_note("PostgreSQL is not measured: --pg is missing");
    }
    measure_cost(&sqlite);
    measure_stall(&sqlite);
    return 0;
}
