/* SPDX-License-Identifier: MIT
 *
 * What the benchmark programs share.
 *
 * Each program answers one question and prints one line a figure:
 *
 *   name                                      value unit        target verdict
 *
 * The verdict is "ok" or "short" where there is a target, "suspect" where the
 * ceiling of the same run was too slow for its ratio to count. A program that
 * cannot measure says why and ends with status 1. Nothing here asserts a speed:
 * a figure that falls short is printed, never an error.
 *
 * Whatever is compared runs side by side: one round of each in turn, the
 * medians of the rounds are the figures.
 *
 * These are programs: unlike the library they print, and end where something
 * fails.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <cascade/cascade.h>
#include <cascade/integrity.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS_MAX 64
#define BENCH_PATH_MAX 512

typedef enum bench_size {
    BENCH_QUICK,
    BENCH_NORMAL,
    BENCH_FULL
} bench_size;

typedef enum bench_kind {
    BENCH_MEMORY,
    BENCH_SQLITE,
    BENCH_POSTGRES,
    BENCH_POOLER /* PostgreSQL without session state and LISTEN */
} bench_kind;

typedef struct bench {
    bench_size size;
    const char *pg;      /* conninfo of a server to measure on; NULL: none */
    const char *dir;     /* a folder for files, on the disk to measure */
    size_t rounds;       /* of what is compared; at least 5 */
    size_t count;        /* of --count; 0: the program's own */
    const char *only;    /* of --only: what has this in its name; NULL: all */
    int64_t deadline_ms; /* of stores; 0: the library's own */
    cascade_integrity_mode integrity; /* of stores, but those of children */
} bench;

/* Reads --quick, --full, --pg CONNINFO, --dir FOLDER, --rounds N, and of
 * programs that tell so --count N, --only NAME, --deadline MS, --integrity MODE
 * (none, checksum, hmac). */
void bench_init(bench *b, int argc, char **argv);
/* The size's own of three. */
size_t bench_pick(const bench *b, size_t quick, size_t normal, size_t full);
/* The same, unless --count says another. */
size_t bench_count(const bench *b, size_t quick, size_t normal, size_t full);
/* Whether it is to be measured, as --only says. */
bool bench_wants(const bench *b, const char *name);

_Noreturn void bench_die(const char *format, ...) CASCADE_PRINTF(1, 2);
/* Ends the program, with cascade_errmsg(), unless `err` is OK. */
void bench_check(const char *what, cascade_err err);
void *bench_alloc(size_t count, size_t size); /* zeroed */

/* ---- Measuring ----------------------------------------------------------- */

int64_t bench_now_ns(void); /* monotonic */
int64_t bench_cpu_us(void); /* of this process, user and system */
/* What malloc() has handed out, SQLite's cache of pages not counted: that has a
 * limit of its own. Nor are threads' stacks and the code. */
int64_t bench_memory_bytes(void);
/* fsync and fdatasync calls of this process, SQLite's included. */
uint64_t bench_syncs(void);
void bench_sleep_ms(int64_t ms);
/* Ends the program when what was begun then has taken ten minutes: nothing that
 * is measured takes that long, so what is waited for never comes. */
void bench_not_stuck(int64_t begun_ns, const char *what);
/* Waits for the condition as long as that. */
void bench_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, const char *what);

/* These sort `values`. */
double bench_median(double *values, size_t count);
/* `share` of 0.99: p99. */
double bench_percentile(double *values, size_t count, double share);

/* ---- Printing ------------------------------------------------------------ */

typedef enum bench_target {
    BENCH_NONE,
    BENCH_MIN,
    BENCH_MAX
} bench_target;

/* `counts` false: the ceiling was suspect. */
void bench_print(const char *name, double value, const char *unit);
void bench_print_target(const char *name, double value, const char *unit,
                        bench_target kind, double target, bool counts);
/* A ceiling of that database was slow: from now on no ratio on it counts, in
 * any program that is given the same folder. */
void bench_distrust(const bench *b, bench_kind kind);
bool bench_trusts(const bench *b, bench_kind kind);
/* A line that begins with "# ": a reason, a setting. */
void bench_note(const char *format, ...) CASCADE_PRINTF(1, 2);

/* ---- Stores -------------------------------------------------------------- */

const char *bench_kind_name(bench_kind kind);
/* Whether it can be measured here: PostgreSQL needs --pg. */
bool bench_has(const bench *b, bench_kind kind);
/* Removes what is there under `name`: the schema, the file. */
void bench_drop(const bench *b, bench_kind kind, const char *name);
/* Opens the store `name`: the schema, the file, the shared memory. */
cascade_store *bench_open(const bench *b, bench_kind kind, const char *name);
/* bench_drop(), then bench_open(). */
cascade_store *bench_open_new(const bench *b, bench_kind kind,
                              const char *name);
void bench_close(cascade_store *store);
/* The file of a SQLite store. */
void bench_sqlite_path(const bench *b, const char *name,
                       char path[BENCH_PATH_MAX]);

#endif
