/* SPDX-License-Identifier: MIT
 *
 * The ceiling: the rows that the library writes for a piece of work, written
 * without it, by libpq and sqlite3 alone.
 *
 * The work is cascades that move in step, `batch` of them a transaction, as
 * they do when an engine holds many: the next execution of a cascade cannot
 * begin before the last one is durable. One transaction for the start, one for
 * each execution, and in the straight line one for the end of the node:
 *
 *                start              execution k               end
 *   cascades     insert             update                    update
 *   runs         insert                                       delete
 *   line         node RUNNING       step COMPLETED, an event  node COMPLETED
 *   graph        node 0 RUNNING     node k - 1 COMPLETED,     (with the last
 *                                   node k RUNNING            execution)
 *
 * Every transaction moves its lane row first, as the library's does.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "bench.h"

#define RAW_TEXT_MAX 128

typedef enum raw_style {
    RAW_LINE,
    RAW_GRAPH,
    RAW_START /* one transaction, which starts them; `steps` is 1 */
} raw_style;

typedef enum raw_method {
    RAW_ARRAYS, /* one statement a table, its rows as arrays */
    RAW_CTE,    /* one statement for all tables */
    RAW_ROWS,   /* one statement a row */
    RAW_METHODS
} raw_method;

typedef struct raw_work {
    raw_style style;
    raw_method method; /* SQLite knows RAW_ROWS alone */
    size_t steps;      /* executions of a cascade, the straight line's node not
                          counted */
    size_t batch;      /* cascades in a transaction */
    size_t groups;     /* of `batch` cascades, on each connection */
    size_t connections;
} raw_work;

const char *raw_style_name(raw_style style);
/* Transactions of a cascade. */
size_t raw_style_commits(raw_style style, size_t steps);
const char *raw_method_name(raw_method method);

/* Connections that stay open from one run to the next, as those of an engine
 * do: their caches stay warm, and SQLite's WAL is written over. The store
 * `name` has the tables; a store for each keeps them at one size. */
typedef struct raw raw;

raw *raw_open(const bench *b, bench_kind kind, const char *name,
              const raw_work *work);
/* Does the work once: executions recorded in a second. */
double raw_run(raw *r);
/* Whether SQLite's WAL has been through a checkpoint: one that still grows is
 * flushed more slowly. True on PostgreSQL. */
bool raw_is_warm(const raw *r);
/* Transactions of one run. */
size_t raw_commits(const raw *r);
void raw_close(raw *r);

/* The two behind it; a run tells the seconds that it took. */
typedef struct raw_postgres raw_postgres;
typedef struct raw_sqlite raw_sqlite;

raw_postgres *raw_postgres_open(const bench *b, const char *name,
                                const raw_work *work);
double raw_postgres_run(raw_postgres *r);
void raw_postgres_close(raw_postgres *r);
raw_sqlite *raw_sqlite_open(const bench *b, const char *name,
                            const raw_work *work);
double raw_sqlite_run(raw_sqlite *r);
bool raw_sqlite_is_warm(const raw_sqlite *r);
void raw_sqlite_close(raw_sqlite *r);

/* ---- raw_rows.c: what is in the rows ------------------------------------- */

typedef struct raw_cascade {
    cascade_uuid id;
    char text[CASCADE_UUID_TEXT_SIZE];
} raw_cascade;

/* Time-ordered ids; `seed` is the caller's, never 0. */
cascade_uuid raw_id(uint64_t *seed);
raw_cascade raw_cascade_make(uint64_t *seed);
const char *raw_node_name(raw_style style, size_t function_id);
const char *raw_path(char text[RAW_TEXT_MAX], const raw_cascade *cascade,
                     raw_style style, size_t function_id);
const char *raw_input(char text[RAW_TEXT_MAX], const raw_work *work,
                      size_t function_id);
/* Of an execution that is COMPLETED. */
const char *raw_output(char text[RAW_TEXT_MAX], const raw_work *work,
                       size_t function_id);
int64_t raw_now_ms(void);
/* As the tables have it. */
#define RAW_TIME_SIZE 32
void raw_now_text(char text[RAW_TIME_SIZE]);

#define RAW_QUEUE "default"
#define RAW_USER "anonymous"
#define RAW_LOCATION "server"
#define RAW_KEY "total"
#define RAW_VALUE "{\"amount\":12,\"currency\":\"EUR\"}"
#define RAW_FIRST_OUTPUT "{\"cascade\":{\"queue\":\"default\",\"priority\":0}}"

#endif
