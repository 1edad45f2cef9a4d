/* SPDX-License-Identifier: MIT
 *
 * What the parts of the latency benchmark share; latency.c tells what is
 * measured.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include "bench.h"

/* "latency.<kind>.<what>.p50" and so on, of `count` times in nanoseconds; p99.9
 * where there are enough. Sorts `values`. */
void latency_print(const char *kind, const char *what, double *values,
                   size_t count);
/* "latency.<kind>.<what>", in microseconds. */
void latency_print_one(const char *kind, const char *what, double ns);
/* "latency.<kind>.<what>", with a target it must not be above; `counts` as in
 * bench_print_target(). */
void latency_print_max(const char *kind, const char *what, double value,
                       const char *unit, double target, bool counts);

/* A time-ordered id. */
void latency_make_uuid(char text[CASCADE_UUID_TEXT_SIZE]);

/* One step at one in flight, beside the same rows written by hand. */
void latency_step(const bench *b, bench_kind kind);

/* Started here, runs in another process. */
void latency_other(const bench *b, bench_kind kind);
/* What that other process does, with the kind's name. */
int latency_runner(const bench *b, const char *kind_name);

#endif
