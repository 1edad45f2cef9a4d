/* SPDX-License-Identifier: MIT
 *
 * The server as seen from outside: what it has done and what that cost. These
 * use a connection of their own, and count themselves: a handful of statements.
 */
#ifndef BENCH_PG_H
#define BENCH_PG_H

#include "bench.h"

#include <libpq-fe.h>

typedef struct bench_pg_figures {
    int64_t cpu_us; /* of the server's processes, ended backends included */
    int64_t wal_bytes;
    int64_t wal_syncs; /* flushes of the WAL; see bench_pg_await_alone() */
} bench_pg_figures;

PGconn *bench_pg_connect(const bench *b);
/* Runs statements; ends the program where one fails. */
void bench_pg_run(PGconn *pg, const char *sql);
/* The first column of the first row, 0 for none. */
int64_t bench_pg_number(PGconn *pg, const char *sql);
/* Everything so far, backends that are idle included. */
bench_pg_figures bench_pg_get(PGconn *pg);
/* `after` - `before`. */
bench_pg_figures bench_pg_since(const bench_pg_figures *before,
                                const bench_pg_figures *after);
/* Waits until no other connection is left. A backend tells of its flushes only
 * now and then while it is busy, but always as it ends: they are to be counted
 * from one such moment to another. */
void bench_pg_await_alone(PGconn *pg);

#endif
