/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <stdlib.h>

#define NAME "bench_waits"
#define WORKERS 4
#define CHUNK_MAX 500         /* cascades a call */
#define PARK_AFTER_MS 3600000 /* later than anything here is due */

void
waits_open(waits *w, const bench *b, bench_kind kind)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = WORKERS,
                                      .suspend_steps = true,
                                      .park_after_ms = PARK_AFTER_MS};

    w->b = b;
    w->kind = kind;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->cond, NULL);
    w->store = bench_open_new(b, kind, NAME);
    bench_check("engine", cascade_engine_open(w->store, &options, &w->engine));
}

void
waits_close(waits *w)
{
    bench_check("close", cascade_engine_close(w->engine));
    bench_close(w->store);
    bench_drop(w->b, w->kind, NAME);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->cond);
}

void
waits_register(waits *w, const char *name, cascade_node_fn fn)
{
    bench_check("register",
                cascade_engine_register(w->engine, name, fn, w, NULL));
}

/* ---- Starting ------------------------------------------------------------ */

static void
start_chunk(waits *w, const cascade_first *first, size_t count,
            cascade_started *started)
{
    static cascade_start_spec specs[CHUNK_MAX];

    for (size_t i = 0; i < count; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = first,
                                        .first_count = 1};
    bench_check("start many",
                cascade_start_many(w->store, specs, count, started));
}

cascade_started *
waits_start(waits *w, const char *node, const char *input, size_t count)
{
    cascade_started *started = bench_alloc(count, sizeof(*started));
    const cascade_first first = {
        .size = sizeof(first), .node = node, .input_text = input};

    for (size_t begun = 0; begun < count; begun += CHUNK_MAX)
        start_chunk(w, &first,
                    count - begun < CHUNK_MAX ? count - begun : CHUNK_MAX,
                    &started[begun]);
    return started;
}

double
waits_number(cascade_node *node, const char *name)
{
    const cJSON *number =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), name);

    return cJSON_GetNumberValue(number);
}

/* ---- Counting ------------------------------------------------------------ */

cascade_err
waits_count(waits *w)
{
    size_t counted = atomic_fetch_add(&w->counted, 1) + 1;

    if (counted < w->wanted)
        return CASCADE_OK;
    atomic_store(&w->counted_ns, bench_now_ns());
    pthread_mutex_lock(&w->mutex);
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mutex);
    return CASCADE_OK;
}

void
waits_expect(waits *w, size_t wanted)
{
    w->wanted = wanted;
    atomic_store(&w->counted_ns, 0);
    atomic_store(&w->counted, 0);
}

void
waits_await(waits *w)
{
    pthread_mutex_lock(&w->mutex);
    while (atomic_load(&w->counted_ns) == 0)
        bench_wait(&w->cond, &w->mutex, "nodes that are waited for");
    pthread_mutex_unlock(&w->mutex);
}

/* ---- Waiting ------------------------------------------------------------- */

cascade_engine_stats
waits_stats(const waits *w)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    bench_check("stats", cascade_engine_get_stats(w->engine, &stats));
    return stats;
}

bool
waits_do_rest(const waits *w, size_t count)
{
    cascade_engine_stats stats = waits_stats(w);

    return stats.waiting >= count && stats.running + stats.ready == 0;
}

void
waits_rest(waits *w, size_t count)
{
    int64_t begun_ns = bench_now_ns();

    while (!waits_do_rest(w, count)) {
        bench_not_stuck(begun_ns, "cascades that are to wait");
        bench_sleep_ms(1);
    }
}

void
waits_drain(waits *w)
{
    int64_t begun_ns = bench_now_ns();

    while (waits_stats(w).held > 0) {
        bench_not_stuck(begun_ns, "cascades that are to end");
        bench_sleep_ms(1);
    }
}

/* ---- Callers ------------------------------------------------------------- */

typedef struct calls {
    void (*call)(void *context, size_t i);
    void *context;
    size_t count;
    atomic_size_t next;
} calls;

static void *
caller_main(void *context)
{
    calls *c = context;

    for (;;) {
        size_t i = atomic_fetch_add(&c->next, 1);

        if (i >= c->count)
            return NULL;
        c->call(c->context, i);
    }
}

void
waits_call(waits *w, size_t count, void (*call)(void *context, size_t i),
           void *context)
{
    calls c = {.call = call, .context = context, .count = count};
    pthread_t threads[WAITS_CALLERS];

    for (size_t i = 0; i < WAITS_CALLERS; i++)
        if (pthread_create(&threads[i], NULL, caller_main, &c) != 0)
            bench_die("cannot create a thread");
    for (size_t i = 0; i < WAITS_CALLERS; i++)
        pthread_join(threads[i], NULL);
    w->submissions += (double)count;
}
