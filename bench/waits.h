/* SPDX-License-Identifier: MIT
 *
 * What the parts of the benchmark of waiting share; waits.c tells what is
 * measured.
 *
 * All parts of a store use one engine, in turn, round after round. Where a part
 * has prepared what it needs it opens a span, has the work done, and closes the
 * span; then it waits until nothing is left in the engine (waits_drain()). The
 * figures of a round go into series of their names, which are printed at the
 * end. Those of the first round, which warms up, are dropped.
 */
#ifndef BENCH_WAITS_H
#define BENCH_WAITS_H

#include "pg.h"

#include <pthread.h>
#include <stdatomic.h>

#define WAITS_CALLERS 8 /* threads that call at once */

typedef struct waits_series waits_series;

typedef struct waits_span {
    int64_t begun_ns;
    int64_t cpu_us;
    uint64_t commits;
    bench_pg_figures server;
} waits_span;

typedef struct waits {
    const bench *b;
    bench_kind kind;
    cascade_store *store;
    cascade_engine *engine;
    PGconn *pg; /* NULL: not PostgreSQL */
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    size_t wanted; /* of what nodes count, somebody waits for that many */
    atomic_size_t counted;
    _Atomic int64_t counted_ns; /* when the last was counted */
    bool counts;                /* whether the round's figures do */
    waits_series *series;
    waits_span span;
    double submissions; /* transactions besides the engine's */
} waits;

/* ---- The parts: each registers its nodes, then does a round -------------- */

void waits_register_signals(waits *w);
void waits_signals(waits *w);
void waits_register_children(waits *w);
void waits_children(waits *w);
void waits_register_joins(waits *w);
void waits_joins(waits *w);
void waits_register_timers(waits *w);
void waits_timers(waits *w);
void waits_register_outside(waits *w);
void waits_outside(waits *w);

/* ---- The engine (waits_engine.c) ----------------------------------------- */

void waits_open(waits *w, const bench *b, bench_kind kind);
void waits_close(waits *w);
void waits_register(waits *w, const char *name, cascade_node_fn fn);

/* Starts `count` cascades with that node and input; the caller frees their ids.
 */
cascade_started *waits_start(waits *w, const char *node, const char *input,
                             size_t count);
/* A number of a node's input. */
double waits_number(cascade_node *node, const char *name);

/* A node tells that it is where the part wants it; waits_await() waits for so
 * many of them since waits_expect(). */
cascade_err waits_count(waits *w);
void waits_expect(waits *w, size_t wanted);
void waits_await(waits *w);

/* Waits until that many cascades do nothing but wait; whether they do. */
void waits_rest(waits *w, size_t count);
bool waits_do_rest(const waits *w, size_t count);
/* Waits until all have ended. */
void waits_drain(waits *w);
cascade_engine_stats waits_stats(const waits *w);

/* Calls `call` for 0 to `count` - 1, by several threads at once. */
void waits_call(waits *w, size_t count, void (*call)(void *context, size_t i),
                void *context);

/* ---- Figures (waits_figures.c) ------------------------------------------- */

/* From now on time, CPU and commits are the work's. */
void waits_begin(waits *w);
/* The work is done: "<name>" in `unit`, which is items a second, of `items` in
 * the time since waits_begin(), and what else one of them cost. */
void waits_end(waits *w, const char *name, const char *unit, double items);
/* The same where the time counts from `from_ns` to `to_ns`. */
void waits_end_at(waits *w, const char *name, const char *unit, double items,
                  int64_t from_ns, int64_t to_ns);
/* One value a round: their median is printed. */
void waits_note(waits *w, const char *name, double value, const char *unit);
/* One of many times: percentiles are printed. */
void waits_note_time(waits *w, const char *name, double ns);
/* Prints all, in the order of their first notes, and frees them. */
void waits_print(waits *w);

#endif
