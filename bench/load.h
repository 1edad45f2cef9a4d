/* SPDX-License-Identifier: MIT
 *
 * Load for an engine of this process: the work of raw.h done by the library.
 *
 * The node "line" runs its steps one after the other; "graph" spawns itself
 * until none is left. A closed loop keeps so many cascades in flight and starts
 * as many as have ended, in calls of cascade_start_many().
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "raw.h"

typedef struct load load;

typedef struct load_setting {
    unsigned workers; /* 0: the library's default */
    bool suspend;     /* steps suspend their node instead of its worker */
    int fibers;       /* as in cascade_engine_options */
    /* Registers further nodes; NULL: none. */
    cascade_err (*also)(cascade_engine *engine, void *context);
    void *context;
} load_setting;

load *load_open(const bench *b, bench_kind kind, const char *name,
                const load_setting *setting);
void load_close(load *l);
cascade_store *load_store(load *l);

typedef struct load_run {
    raw_style style;
    size_t steps;
    size_t in_flight;
    size_t cascades; /* in all */
} load_run;

typedef struct load_figures {
    double seconds;
    double executions; /* recorded; a straight line's node is not counted */
    double commits;
    double cpu_us; /* of this process */
} load_figures;

load_figures load_do(load *l, const load_run *run);

#endif
