/* SPDX-License-Identifier: MIT
 *
 * What an operation costs in a cascade that has grown to a giant: the same as
 * in a small one, or nearly. One cascade of each size, held in memory by an
 * engine without threads, on the memory store, which adds little of its own:
 *
 *   signal    from cascade_signal() until the one node that awaits it, of
 *             very many that await others, has returned
 *   unread    the same of a signal that nobody awaits, until it is received
 *   child     from the end of one of very many children, from outside, until
 *             their parent has recorded it
 *   get       cascade_node_get() behind very many values of the key
 *   history   the last ten of these
 *
 * The target is a factor of 1.2 for each ten times of size. A million children,
 * and with less than --full a million waits, would take too long to make.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define NAME "bench_giants"
#define GROWTH 1.2
#define SMALL 1000
#define SIZES_MAX 3
#define SAMPLES 9
#define BURST 100 /* at once: the wait for a poll counts for all of them */
#define LOOKS 1000
#define BATCH 1000
#define LATER_MS ((int64_t)60 * 60 * 1000)
#define FAR_MS ((int64_t)30 * 24 * 60 * 60 * 1000)
#define MEASURES 5

typedef enum measure {
    SIGNAL,
    UNREAD,
    CHILD,
    GET,
    HISTORY
} measure;

static const char *const names[MEASURES] = {"signal", "unread", "child", "get",
                                            "history"};

typedef struct giant {
    cascade_store *outside;
    cascade_store *store;
    cascade_engine *engine;
    size_t sizes[SIZES_MAX];
    size_t size_count;
    size_t size;       /* of the cascade that is made */
    size_t made;       /* executions that wait, or values, so far */
    size_t entered;    /* nodes that have begun to wait */
    size_t hits;       /* nodes whose signal has come */
    cascade_uuid *ids; /* of the children */
    bool awaits;       /* the parent has begun to wait for them */
    double small[MEASURES];
} giant;

/* ---- Printing ------------------------------------------------------------ */

static double
target_of(size_t size)
{
    double target = 1;

    for (; size > SMALL; size /= 10)
        target *= GROWTH;
    return target;
}

static void
tell(giant *g, measure what, size_t size, double *us)
{
    double p50 = bench_percentile(us, SAMPLES, 0.5);
    char name[80];

    snprintf(name, sizeof(name), "giants.%s.%zu.p50", names[what], size);
    bench_print(name, p50, "us");
    if (size == SMALL) {
        g->small[what] = p50;
        return;
    }
    snprintf(name, sizeof(name), "giants.%s.%zu.ratio", names[what], size);
    bench_print_target(name, p50 / g->small[what], "x 1000", BENCH_MAX,
                       target_of(size), true);
}

/* ---- Nodes --------------------------------------------------------------- */

/* What is due later keeps a cascade in memory, which would be parked. */
static cascade_err
keep(cascade_node *node, void *user)
{
    static const cascade_spawn_options later = {.size = sizeof(later),
                                                .delay_ms = LATER_MS};

    (void)user;
    return cascade_node_spawn(node, "keep", NULL, &later);
}

static cascade_err
sow(cascade_node *node, void *user)
{
    giant *g = user;
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < BATCH && g->made < g->size && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "wait",
                                 cJSON_CreateNumber((double)g->made++), NULL);
    if (err == CASCADE_OK && g->made < g->size)
        err = cascade_node_spawn(node, "sow", NULL, NULL);
    return err;
}

static cascade_err
await_own(cascade_node *node, void *user)
{
    giant *g = user;
    char name[40];
    cascade_err err;

    snprintf(name, sizeof(name), "s%s", cascade_node_input_text(node));
    err = cascade_node_await(node, name, -1, NULL);
    if (err == CASCADE_OK)
        g->hits++;
    else
        g->entered++;
    return err;
}

static cascade_err
parent(cascade_node *node, void *user)
{
    static const cascade_child_options far = {.size = sizeof(far),
                                              .delay_ms = FAR_MS};
    cJSON *inputs[BATCH] = {NULL};
    giant *g = user;

    for (size_t i = 0; i < g->size; i += BATCH) {
        cascade_err err = cascade_node_start_children(
            node, "c", "child", inputs, BATCH, &far, &g->ids[i]);

        if (err != CASCADE_OK)
            return err;
    }
    g->awaits = true;
    return cascade_node_await_children(node);
}

static void
look_back(giant *g, cascade_node *node)
{
    const cJSON *value = NULL;
    double get[SAMPLES];
    double history[SAMPLES];
    size_t count = 0;

    for (int i = 0; i < SAMPLES; i++) {
        int64_t begun_ns = bench_now_ns();

        for (int n = 0; n < LOOKS; n++)
            bench_check("get", cascade_node_get(node, "k", &value));
        get[i] = (double)(bench_now_ns() - begun_ns) / 1e3 / LOOKS;
        begun_ns = bench_now_ns();
        for (int n = 0; n < LOOKS; n++)
            bench_check("history", cascade_node_history_part(node, "k", -10, 10,
                                                             &value, &count));
        history[i] = (double)(bench_now_ns() - begun_ns) / 1e3 / LOOKS;
    }
    tell(g, GET, g->made, get);
    tell(g, HISTORY, g->made, history);
}

/* One value each, and now and then a look at them. */
static cascade_err
tick(cascade_node *node, void *user)
{
    giant *g = user;
    cascade_err err = cascade_node_put(node, "k", cJSON_CreateNumber(1));

    for (size_t i = 0; i < g->size_count; i++)
        if (g->made == g->sizes[i])
            look_back(g, node);
    if (err == CASCADE_OK && g->made++ < g->sizes[g->size_count - 1])
        err = cascade_node_spawn(node, "tick", NULL, NULL);
    return err;
}

/* ---- Giants -------------------------------------------------------------- */

static void
open_giant(const bench *b, giant *g)
{
    static const struct {
        const char *name;
        cascade_node_fn fn;
    } nodes[] = {{"keep", keep},     {"sow", sow},    {"wait", await_own},
                 {"parent", parent}, {"child", keep}, {"tick", tick}};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .park_after_ms = 2 * LATER_MS,
                                            .poll_interval_ms = 1};

    g->store = bench_open_new(b, BENCH_MEMORY, NAME);
    g->outside = bench_open(b, BENCH_MEMORY, NAME);
    bench_check("open the engine",
                cascade_engine_open(g->store, &options, &g->engine));
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        bench_check("register",
                    cascade_engine_register(g->engine, nodes[i].name,
                                            nodes[i].fn, g, NULL));
    bench_check("start the engine", cascade_engine_start(g->engine));
    g->made = 0;
    g->entered = 0;
    g->hits = 0;
    g->awaits = false;
}

static void
close_giant(giant *g)
{
    bench_check("close the engine", cascade_engine_close(g->engine));
    bench_close(g->store);
    bench_close(g->outside);
}

static void
poll_once(giant *g)
{
    bench_check("poll", cascade_engine_poll(g->engine, 0, NULL));
}

static cascade_engine_stats
stats_of(giant *g)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    bench_check("stats", cascade_engine_get_stats(g->engine, &stats));
    return stats;
}

static cascade_uuid
start_giant(giant *g, const char *node)
{
    const cascade_first first[2] = {{.size = sizeof(first[0]), .node = node},
                                    {.size = sizeof(first[0]), .node = "keep"}};
    const cascade_start_spec spec = {
        .size = sizeof(spec), .first = first, .first_count = 2};
    cascade_started started;

    bench_check("start", cascade_start_many(g->outside, &spec, 1, &started));
    return started.id;
}

/* Until so many messages more are received. */
static void
poll_messages(giant *g, uint64_t before, uint64_t more)
{
    int64_t begun_ns = bench_now_ns();

    while (stats_of(g).messages < before + more) {
        bench_not_stuck(begun_ns, "a message");
        poll_once(g);
    }
}

/* Microseconds of each of a burst of signals. */
static double
send(giant *g, const cascade_uuid *id, size_t first, bool awaited)
{
    int64_t begun_ns = bench_now_ns();
    uint64_t messages = stats_of(g).messages;
    size_t hits = g->hits;
    char name[40];

    for (size_t i = 0; i < BURST; i++) {
        snprintf(name, sizeof(name), awaited ? "s%zu" : "nobody%zu",
                 (first + i) * (g->size / SMALL));
        bench_check("signal", cascade_signal(g->outside, id, name, NULL, NULL));
    }
    poll_messages(g, messages, BURST);
    while (awaited && g->hits < hits + BURST) {
        bench_not_stuck(begun_ns, "signals");
        poll_once(g);
    }
    return (double)(bench_now_ns() - begun_ns) / 1e3 / BURST;
}

static void
measure_signals(const bench *b, giant *g, size_t size)
{
    double us[SAMPLES];
    double unread[SAMPLES];
    cascade_uuid id;

    open_giant(b, g);
    g->size = size;
    id = start_giant(g, "sow");
    while (g->entered < size)
        poll_once(g);
    for (size_t i = 0; i < SAMPLES; i++) {
        us[i] = send(g, &id, i * BURST, true);
        unread[i] = send(g, &id, i * BURST, false);
    }
    close_giant(g);
    tell(g, SIGNAL, size, us);
    tell(g, UNREAD, size, unread);
}

/* The children are not in memory: each is loaded to be ended. */
static double
end_some(giant *g, size_t first)
{
    uint64_t before = stats_of(g).messages;
    int64_t begun_ns = bench_now_ns();

    for (size_t i = 0; i < BURST; i++)
        bench_check("terminate",
                    cascade_terminate(g->outside,
                                      &g->ids[(first + i) * (g->size / SMALL)],
                                      NULL));
    poll_messages(g, before, 2 * (uint64_t)BURST); /* theirs, the parent's */
    return (double)(bench_now_ns() - begun_ns) / 1e3 / BURST;
}

static void
measure_children(const bench *b, giant *g, size_t size)
{
    double us[SAMPLES];

    open_giant(b, g);
    g->size = size;
    g->ids = bench_alloc(size, sizeof(*g->ids));
    (void)start_giant(g, "parent");
    while (!g->awaits)
        poll_once(g);
    for (size_t i = 0; i < SAMPLES; i++)
        us[i] = end_some(g, i * BURST);
    close_giant(g);
    free(g->ids);
    tell(g, CHILD, size, us);
}

static void
measure_context(const bench *b, giant *g)
{
    open_giant(b, g);
    (void)start_giant(g, "tick");
    while (g->made <= g->sizes[g->size_count - 1])
        poll_once(g);
    close_giant(g);
}

int
main(int argc, char **argv)
{
    bench b;
    giant g = {.sizes = {SMALL}};

    bench_init(&b, argc, argv);
    g.sizes[1] = bench_pick(&b, 10000, 100000, 100000);
    g.sizes[2] = 1000000;
    g.size_count = bench_pick(&b, 2, 3, 3);
    measure_context(&b, &g);
    for (size_t i = 0; i < bench_pick(&b, 2, 2, 3); i++)
        measure_signals(&b, &g, g.sizes[i]);
    for (size_t i = 0; i < 2; i++)
        measure_children(&b, &g, g.sizes[i]);
    return 0;
}
