/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include "bench.h"

/* A payload of the usual size, and a step that puts one and results in one. */
cJSON *bench_scale_value(void);
cascade_err bench_scale_work(cascade_node *node, void *arg, cJSON **result);

/* A cascade of many executions beside one of few. */
void bench_scale_long(const bench *b, bench_kind kind);

/* The end, from outside, of a cascade of many executions, and of few. */
void bench_scale_end(const bench *b, bench_kind kind);

#endif
