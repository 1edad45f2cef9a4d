/* SPDX-License-Identifier: MIT
 *
 * Many cascades without running them: copies of one that an engine has run,
 * made by SQL. Only ids differ, so the rows have the very form that the engine
 * writes. The ids are in the order of time, as those of version 7 are, and all
 * older than now: what is started later goes to the right edge of each index.
 *
 * While a store is filled nobody else may have it open: foreign keys and
 * flushes are off meanwhile. At the end everything has reached the disk, and
 * PostgreSQL's tables are vacuumed and analysed as by autovacuum.
 */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include "bench.h"

/* Copies the only cascade of the store `name`, with its run if it has one,
 * `count` times. */
void bench_fill(const bench *b, bench_kind kind, const char *name,
                size_t count);

/* Lets the database tidy up, as it would on its own after a while. */
void bench_fill_settle(const bench *b, bench_kind kind, const char *name);

#endif
