/* SPDX-License-Identifier: MIT */
#include "load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK_MAX 500 /* cascades a call */

struct load {
    cascade_store *store;
    cascade_engine *engine;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    size_t wanted; /* ended cascades somebody waits for */
    atomic_size_t ended;
};

/* ---- Nodes --------------------------------------------------------------- */

static int
left(cascade_node *node)
{
    const cJSON *input = cascade_node_input(node);

    return (int)cJSON_GetNumberValue(
        cJSON_GetObjectItemCaseSensitive(input, "left"));
}

static void
count_end(load *l)
{
    size_t ended = atomic_fetch_add(&l->ended, 1) + 1;

    pthread_mutex_lock(&l->mutex);
    if (ended >= l->wanted)
        pthread_cond_signal(&l->cond);
    pthread_mutex_unlock(&l->mutex);
}

static cascade_err
put_value(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
    return cascade_node_put_text(node, RAW_KEY, RAW_VALUE, NULL);
}

static cascade_err
line(cascade_node *node, void *user)
{
    int steps = left(node);

    for (int i = 0; i < steps; i++) {
        cascade_err err =
            cascade_node_step(node, "step", put_value, NULL, NULL, NULL);

        if (err != CASCADE_OK)
            return err;
    }
    count_end(user);
    return CASCADE_OK;
}

static cascade_err
graph(cascade_node *node, void *user)
{
    int more = left(node);
    cJSON *input;

    if (more == 0) {
        count_end(user);
        return CASCADE_OK;
    }
    input = cJSON_CreateObject();
    cJSON_AddNumberToObject(input, "left", more - 1);
    return cascade_node_spawn(node, "graph", input, NULL);
}

/* ---- The engine ---------------------------------------------------------- */

load *
load_open(const bench *b, bench_kind kind, const char *name,
          const load_setting *setting)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = setting->workers,
                                      .worker_stack_size = 64 * 1024,
                                      .suspend_steps = setting->suspend,
                                      .fibers = setting->fibers};
    load *l = bench_alloc(1, sizeof(load));

    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->cond, NULL);
    l->store = bench_open_new(b, kind, name);
    bench_check("engine", cascade_engine_open(l->store, &options, &l->engine));
    bench_check("register",
                cascade_engine_register(l->engine, "line", line, l, NULL));
    bench_check("register",
                cascade_engine_register(l->engine, "graph", graph, l, NULL));
    if (setting->also != NULL)
        bench_check("register", setting->also(l->engine, setting->context));
    bench_check("start", cascade_engine_start(l->engine));
    return l;
}

cascade_store *
load_store(load *l)
{
    return l->store;
}

void
load_close(load *l)
{
    bench_check("close", cascade_engine_close(l->engine));
    bench_close(l->store);
    pthread_mutex_destroy(&l->mutex);
    pthread_cond_destroy(&l->cond);
    free(l);
}

/* ---- The closed loop ----------------------------------------------------- */

static cascade_engine_stats
get_stats(load *l)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    bench_check("stats", cascade_engine_get_stats(l->engine, &stats));
    return stats;
}

static void
start_chunk(load *l, const load_run *run, size_t count)
{
    static cascade_start_spec specs[CHUNK_MAX];
    static cascade_started started[CHUNK_MAX];
    char input[32];
    cascade_first first = {.size = sizeof(first),
                           .node = raw_style_name(run->style),
                           .input_text = input};

    snprintf(input, sizeof(input), "{\"left\":%zu}",
             run->style == RAW_LINE ? run->steps : run->steps - 1);
    for (size_t i = 0; i < count; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    bench_check("start many",
                cascade_start_many(l->store, specs, count, started));
}

static void
wait_ended(load *l, size_t wanted)
{
    pthread_mutex_lock(&l->mutex);
    l->wanted = wanted;
    while (atomic_load(&l->ended) < wanted)
        bench_wait(&l->cond, &l->mutex, "cascades under load");
    pthread_mutex_unlock(&l->mutex);
}

static void
keep_in_flight(load *l, const load_run *run)
{
    size_t begun = 0;
    size_t chunk = run->in_flight / 8;

    chunk = chunk == 0 ? 1 : chunk > CHUNK_MAX ? CHUNK_MAX : chunk;
    while (begun < run->cascades) {
        size_t count =
            run->cascades - begun < chunk ? run->cascades - begun : chunk;

        if (begun + count > run->in_flight)
            wait_ended(l, begun + count - run->in_flight);
        start_chunk(l, run, count);
        begun += count;
    }
    wait_ended(l, run->cascades);
}

load_figures
load_do(load *l, const load_run *run)
{
    cascade_engine_stats before = get_stats(l);
    size_t each = run->steps + (run->style == RAW_LINE ? 1 : 0);
    uint64_t until = before.executions + each * run->cascades;
    int64_t cpu_us = bench_cpu_us();
    int64_t begun_ns = bench_now_ns();
    cascade_engine_stats after;

    atomic_store(&l->ended, 0);
    keep_in_flight(l, run);
    for (after = get_stats(l); after.executions < until; after = get_stats(l)) {
        bench_not_stuck(begun_ns, "the last executions");
        bench_sleep_ms(1);
    }
    return (load_figures){.seconds = (double)(bench_now_ns() - begun_ns) / 1e9,
                          .executions = (double)(run->steps * run->cascades),
                          .commits = (double)(after.commits - before.commits),
                          .cpu_us = (double)(bench_cpu_us() - cpu_us)};
}
