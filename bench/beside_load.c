/* SPDX-License-Identifier: MIT */
#include "beside.h"

#include <stdlib.h>

#define PAUSE_MS 1

/* ---- The calls ----------------------------------------------------------- */

static void
start_in(cascade_store *store)
{
    cascade_started started;

    bench_check("start",
                cascade_start(store, BESIDE_NODE, NULL, NULL, &started));
}

/* By a store of its own, as in another process. */
static void
start_apart(beside *s)
{
    start_in(s->outside);
}

/* By the engine's store. */
static void
start_within(beside *s)
{
    start_in(s->store);
}

const beside_load beside_loads[] = {
    {"start", start_apart},
    {"start_within", start_within},
};

const size_t beside_load_count = sizeof(beside_loads) / sizeof(*beside_loads);

/* ---- One after the other ------------------------------------------------- */

typedef struct samples {
    double *ms;
    size_t count;
    size_t room;
} samples;

static void
add_sample(samples *to, double ms)
{
    if (to->count == to->room) {
        to->room = to->room * 2 + 1024;
        to->ms = realloc(to->ms, to->room * sizeof(*to->ms));
        if (to->ms == NULL)
            bench_die("out of memory");
    }
    to->ms[to->count++] = ms;
}

static beside_figures
take_figures(samples *from)
{
    beside_figures figures = {
        .count = from->count,
        .p50 = bench_percentile(from->ms, from->count, 0.5),
        .p99 = bench_percentile(from->ms, from->count, 0.99),
        .max = bench_percentile(from->ms, from->count, 1)};

    free(from->ms);
    return figures;
}

beside_figures
beside_run(beside *s, const beside_load *load, int64_t for_ms,
           bool (*is_over)(void *context), void *context)
{
    int64_t begun_ns = bench_now_ns();
    int64_t end_ns = begun_ns + for_ms * 1000000;
    samples taken = {.ms = NULL};

    while (is_over != NULL ? !is_over(context) : bench_now_ns() < end_ns) {
        int64_t call_ns = bench_now_ns();

        load->call(s);
        add_sample(&taken, (double)(bench_now_ns() - call_ns) / 1e6);
        bench_not_stuck(begun_ns, "what is done to a giant");
        bench_sleep_ms(PAUSE_MS);
    }
    return take_figures(&taken);
}
