/* SPDX-License-Identifier: MIT
 *
 * Reading cascades as a program without the library would: plain SELECTs of the
 * rows of the three tables, in the columns and the order that hydration needs.
 * Each field is copied out once and kept; JSON stays text.
 */
#ifndef BENCH_HYDRATION_SELECT_H
#define BENCH_HYDRATION_SELECT_H

#include "bench.h"

typedef enum bench_select_way {
    BENCH_SELECT_PORTIONS, /* by arrays of 256 ids; SQLite: id by id */
    BENCH_SELECT_ALL       /* one ordered SELECT of each table */
} bench_select_way;

typedef struct bench_select bench_select;

/* Notes the ids of all cascades of the store `name`. */
bench_select *bench_select_open(const bench *b, bench_kind kind,
                                const char *name);
void bench_select_close(bench_select *select);

/* Reads all of them; tells how long that took and how many rows it was. */
int64_t bench_select_read(bench_select *select, bench_select_way way,
                          uint64_t *rows);

#endif
