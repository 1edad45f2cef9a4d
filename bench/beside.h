/* SPDX-License-Identifier: MIT
 *
 * What is done to a giant, and what others do meanwhile.
 *
 *   beside.c         a deed with each load, alone and beside it
 *   beside_giant.c   cascades of very many executions, made by SQL
 *   beside_load.c    the loads: one call after the other, each timed
 */
#ifndef BENCH_BESIDE_H
#define BENCH_BESIDE_H

#include <cascade/manage.h>

#include "fill.h"

#define BESIDE_NAME "bench_beside"
#define BESIDE_NODE "small" /* returns at once */

typedef struct beside {
    const bench *b;
    bench_kind kind;
    cascade_store *outside; /* of the loads and of whoever asks */
    cascade_store *store;   /* of the engine */
    cascade_engine *engine;
} beside;

/* ---- beside_giant.c ------------------------------------------------------ */

/* A cascade of `count` executions and events more. RUNNING: all of these are
 * due in a year. COMPLETED: all have ended. No engine may be there. */
cascade_uuid beside_giant(const beside *s, size_t count, cascade_status status);

/* ---- beside_load.c ------------------------------------------------------- */

/* One call, which tells how it went by its time alone. */
typedef struct beside_load {
    const char *name;
    void (*call)(beside *s);
} beside_load;

extern const beside_load beside_loads[];
extern const size_t beside_load_count;

typedef struct beside_figures {
    size_t count; /* of calls */
    double p50;   /* milliseconds */
    double p99;
    double max;
} beside_figures;

/* Calls it, 1 ms behind each other, until `is_over`, or for so long. */
beside_figures beside_run(beside *s, const beside_load *load, int64_t for_ms,
                          bool (*is_over)(void *context), void *context);

#endif
