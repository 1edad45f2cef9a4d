/* SPDX-License-Identifier: MIT
 *
 * What it costs to end a cascade that waits, by how much there is of it: one of
 * a hundred executions, and one of very many, half of which have ended. From
 * cascade_terminate(), by a store of its own, until the cascade has ended; the
 * engine has no threads and holds nothing.
 */
#include "scale.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME "bench_scale_end"
#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)
#define TARGET 1.2
#define WIDTH 50 /* spawned by one execution for later, and for now */
#define FEW 100
#define SAMPLES_MAX 10

typedef struct field {
    cascade_store *outside;
    cascade_store *store;
    cascade_engine *engine;
    size_t left; /* executions that are still to be spawned */
} field;

/* Some that are due in a month, as many that do nothing, and the next of its
 * kind. */
static cascade_err
sow(cascade_node *node, void *user)
{
    static const cascade_spawn_options later = {.size = sizeof(later),
                                                .delay_ms = 30 * DAY_MS};
    field *f = user;
    cascade_err err = cascade_node_put(node, "progress", bench_scale_value());

    for (int i = 0; i < 2 * WIDTH && f->left > 0 && err == CASCADE_OK; i++) {
        err = cascade_node_spawn(node, "rest", bench_scale_value(),
                                 i % 2 == 0 ? &later : NULL);
        f->left--;
    }
    if (err == CASCADE_OK && f->left > 0)
        err = cascade_node_spawn(node, "sow", NULL, NULL);
    return err;
}

static cascade_err
rest(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_put(node, "progress", bench_scale_value());
}

static void
open_field(const bench *b, bench_kind kind, field *f)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .poll_interval_ms = 1};

    f->outside = bench_open_new(b, kind, NAME);
    f->store = bench_open(b, kind, NAME);
    bench_check("open the engine",
                cascade_engine_open(f->store, &options, &f->engine));
    bench_check("register",
                cascade_engine_register(f->engine, "sow", sow, f, NULL));
    bench_check("register",
                cascade_engine_register(f->engine, "rest", rest, f, NULL));
    bench_check("start the engine", cascade_engine_start(f->engine));
}

static void
poll_once(field *f)
{
    bench_check("poll", cascade_engine_poll(f->engine, 0, NULL));
}

static cascade_engine_stats
stats_of(field *f)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    bench_check("stats", cascade_engine_get_stats(f->engine, &stats));
    return stats;
}

static bool
has_ended(field *f, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    bool ended;

    bench_check("get", cascade_get(f->outside, id, &info));
    ended = info->status != CASCADE_RUNNING;
    cascade_info_free(info);
    return ended;
}

/* One of `count` executions, which waits. */
static cascade_uuid
park_one(field *f, size_t count)
{
    uint64_t parked = stats_of(f).parked;
    int64_t begun_ns = bench_now_ns();
    cascade_started started;

    f->left = count;
    bench_check("start",
                cascade_start(f->outside, "sow", NULL, NULL, &started));
    while (stats_of(f).parked == parked || stats_of(f).held > 0) {
        bench_not_stuck(begun_ns, "a cascade that is to wait");
        poll_once(f);
    }
    return started.id;
}

/* Microseconds until it has ended. */
static double
end_one(field *f, const cascade_uuid *id)
{
    int64_t begun_ns = bench_now_ns();

    bench_check("terminate", cascade_terminate(f->outside, id, NULL));
    while (!has_ended(f, id)) {
        bench_not_stuck(begun_ns, "a cascade that was terminated");
        poll_once(f);
    }
    return (double)(bench_now_ns() - begun_ns) / 1e3;
}

/* Both are there before the first is ended, now the one and now the other: what
 * has just been written is in the way of either. */
static void
end_pair(field *f, size_t many, size_t sample, double *small, double *large)
{
    cascade_uuid large_id = park_one(f, many);
    cascade_uuid small_id = park_one(f, FEW);

    if (sample % 2 == 0)
        *small = end_one(f, &small_id);
    *large = end_one(f, &large_id);
    if (sample % 2 != 0)
        *small = end_one(f, &small_id);
}

void
bench_scale_end(const bench *b, bench_kind kind)
{
    size_t many = bench_pick(b, 20000, 100000, 100000);
    size_t samples = bench_pick(b, 6, SAMPLES_MAX, SAMPLES_MAX);
    double small[SAMPLES_MAX];
    double large[SAMPLES_MAX];
    char name[80];
    field f;

    bench_note("end: %d and %zu executions", FEW, many);
    open_field(b, kind, &f);
    end_pair(&f, FEW, 0, &small[0], &large[0]); /* to warm up */
    for (size_t i = 0; i < samples; i++)
        end_pair(&f, many, i, &small[i], &large[i]);
    bench_check("close the engine", cascade_engine_close(f.engine));
    bench_close(f.store);
    bench_close(f.outside);
    bench_drop(b, kind, NAME);
    snprintf(name, sizeof(name), "scale.%s.end.small.p50",
             bench_kind_name(kind));
    bench_print(name, bench_median(small, samples), "us");
    snprintf(name, sizeof(name), "scale.%s.end.large.p50",
             bench_kind_name(kind));
    bench_print(name, bench_median(large, samples), "us");
    snprintf(name, sizeof(name), "scale.%s.end.large.p50_ratio",
             bench_kind_name(kind));
    bench_print_target(
        name, bench_median(large, samples) / bench_median(small, samples),
        "x small", BENCH_MAX, TARGET, bench_trusts(b, kind));
}
