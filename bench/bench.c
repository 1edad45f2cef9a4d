/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <errno.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pg.h"

/* ---- Options ------------------------------------------------------------- */

_Noreturn static void
usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--quick | --full] [--pg CONNINFO] [--dir FOLDER] "
            "[--rounds N] [--count N] [--only NAME] [--deadline MS] "
            "[--integrity none | checksum | hmac]\n",
            program);
    exit(2);
}

static cascade_integrity_mode
read_mode(const char *program, const char *word)
{
    static const char *const words[] = {"none", "checksum", "hmac"};

    for (int mode = CASCADE_INTEGRITY_NONE; mode <= CASCADE_INTEGRITY_HMAC;
         mode++)
        if (strcmp(words[mode], word) == 0)
            return (cascade_integrity_mode)mode;
    usage(program);
}

void
bench_init(bench *b, int argc, char **argv)
{
    *b = (bench){.size = BENCH_NORMAL, .dir = "."};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--quick") == 0) {
            b->size = BENCH_QUICK;
            continue;
        }
        if (strcmp(argv[i], "--full") == 0) {
            b->size = BENCH_FULL;
            continue;
        }
        if (value == NULL)
            usage(argv[0]);
        if (strcmp(argv[i], "--pg") == 0)
            b->pg = value;
        else if (strcmp(argv[i], "--dir") == 0)
            b->dir = value;
        else if (strcmp(argv[i], "--rounds") == 0)
            b->rounds = strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            b->count = strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--only") == 0)
            b->only = value;
        else if (strcmp(argv[i], "--deadline") == 0)
            b->deadline_ms = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--integrity") == 0)
            b->integrity = read_mode(argv[0], value);
        else
            usage(argv[0]);
        i++;
    }
    if (b->rounds == 0)
        b->rounds = bench_pick(b, 5, 9, 15);
    if (b->rounds < 5 || b->rounds > BENCH_ROUNDS_MAX)
        bench_die("--rounds: 5 to %d", BENCH_ROUNDS_MAX);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

size_t
bench_pick(const bench *b, size_t quick, size_t normal, size_t full)
{
    switch (b->size) {
    case BENCH_QUICK:
        return quick;
    case BENCH_NORMAL:
        return normal;
    case BENCH_FULL:
        return full;
    }
    return normal;
}

size_t
bench_count(const bench *b, size_t quick, size_t normal, size_t full)
{
    return b->count > 0 ? b->count : bench_pick(b, quick, normal, full);
}

bool
bench_wants(const bench *b, const char *name)
{
    return b->only == NULL || strstr(name, b->only) != NULL;
}

_Noreturn void
bench_die(const char *format, ...)
{
    va_list args;

    fputs("error: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void
bench_check(const char *what, cascade_err err)
{
    if (err != CASCADE_OK)
        bench_die("%s: %s: %s", what, cascade_err_name(err), cascade_errmsg());
}

void *
bench_alloc(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);

    if (memory == NULL)
        bench_die("out of memory");
    return memory;
}

/* ---- Measuring ----------------------------------------------------------- */

int64_t
bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t
bench_cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

int64_t
bench_memory_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return (int64_t)(info.uordblks + info.hblkhd) - sqlite3_memory_used();
}

void
bench_sleep_ms(int64_t ms)
{
    struct timespec span = {.tv_sec = (time_t)(ms / 1000),
                            .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&span, &span) != 0 && errno == EINTR)
        continue;
}

#define STUCK_S 600

void
bench_not_stuck(int64_t begun_ns, const char *what)
{
    if (bench_now_ns() - begun_ns > STUCK_S * INT64_C(1000000000))
        bench_die("%s: not done after %d s", what, STUCK_S);
}

void
bench_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, const char *what)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += STUCK_S;
    if (pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until) != 0)
        bench_die("%s: nothing has come for %d s", what, STUCK_S);
}

/* The program's own fsync and fdatasync come before those of libc, for the
 * shared libraries too: they count and go on to the kernel. */
static atomic_ullong syncs;

int
fsync(int fd)
{
    atomic_fetch_add(&syncs, 1);
    return (int)syscall(SYS_fsync, fd);
}

int
fdatasync(int fd)
{
    atomic_fetch_add(&syncs, 1);
    return (int)syscall(SYS_fdatasync, fd);
}

uint64_t
bench_syncs(void)
{
    return atomic_load(&syncs);
}

static int
compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

double
bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof(double), compare_doubles);
    if (count == 0)
        return 0;
    if (count % 2 == 1)
        return values[count / 2];
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}

double
bench_percentile(double *values, size_t count, double share)
{
    size_t at = (size_t)(share * (double)count);

    qsort(values, count, sizeof(double), compare_doubles);
    if (count == 0)
        return 0;
    return values[at < count ? at : count - 1];
}

/* ---- Printing ------------------------------------------------------------ */

static int
decimals(double value)
{
    if (value < 0)
        value = -value;
    return value >= 1000 ? 0 : value >= 10 ? 1 : 3;
}

void
bench_print(const char *name, double value, const char *unit)
{
    printf("%-54s %12.*f %-12s\n", name, decimals(value), value, unit);
}

void
bench_print_target(const char *name, double value, const char *unit,
                   bench_target kind, double target, bool counts)
{
    bool met = kind == BENCH_MIN ? value >= target : value <= target;

    if (kind == BENCH_NONE) {
        bench_print(name, value, unit);
        return;
    }
    printf("%-54s %12.*f %-12s %s %-8g %s\n", name, decimals(value), value,
           unit, kind == BENCH_MIN ? ">=" : "<=", target,
           !counts ? "suspect"
           : met   ? "ok"
                   : "short");
}

void
bench_note(const char *format, ...)
{
    va_list args;

    fputs("# ", stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* A file in the folder marks it. */
static void
make_mark(const bench *b, bench_kind kind, char path[BENCH_PATH_MAX])
{
    bool sqlite = kind == BENCH_SQLITE;
    int len = snprintf(path, BENCH_PATH_MAX, "%s/%s.suspect", b->dir,
                       sqlite ? "sqlite" : "postgres");

    if (len < 0 || len >= BENCH_PATH_MAX)
        bench_die("the path of --dir is too long");
}

void
bench_distrust(const bench *b, bench_kind kind)
{
    char path[BENCH_PATH_MAX];
    FILE *file;

    make_mark(b, kind, path);
    file = fopen(path, "w");
    if (file == NULL)
        bench_die("%s: %s", path, strerror(errno));
    fclose(file);
}

bool
bench_trusts(const bench *b, bench_kind kind)
{
    char path[BENCH_PATH_MAX];

    make_mark(b, kind, path);
    return access(path, F_OK) != 0;
}

/* ---- Stores -------------------------------------------------------------- */

const char *
bench_kind_name(bench_kind kind)
{
    switch (kind) {
    case BENCH_MEMORY:
        return "memory";
    case BENCH_SQLITE:
        return "sqlite";
    case BENCH_POSTGRES:
        return "postgres";
    case BENCH_POOLER:
        return "pooler";
    }
    return "?";
}

bool
bench_has(const bench *b, bench_kind kind)
{
    return (kind != BENCH_POSTGRES && kind != BENCH_POOLER) || b->pg != NULL;
}

void
bench_sqlite_path(const bench *b, const char *name, char path[BENCH_PATH_MAX])
{
    int len = snprintf(path, BENCH_PATH_MAX - 8, "%s/%s.db", b->dir, name);

    if (len < 0 || len >= BENCH_PATH_MAX - 8)
        bench_die("the path of --dir is too long");
}

static void
drop_schema(const bench *b, const char *name)
{
    PGconn *pg = bench_pg_connect(b);
    char sql[256];

    snprintf(sql, sizeof(sql), "DROP SCHEMA IF EXISTS %s CASCADE", name);
    bench_pg_run(pg, sql);
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", name);
    bench_pg_run(pg, sql);
    PQfinish(pg);
}

static void
drop_file(const bench *b, const char *name)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    char path[BENCH_PATH_MAX];
    size_t len;

    bench_sqlite_path(b, name, path);
    len = strlen(path);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(path + len, BENCH_PATH_MAX - len, "%s", ends[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            bench_die("%s: %s", path, strerror(errno));
    }
}

void
bench_drop(const bench *b, bench_kind kind, const char *name)
{
    if (kind == BENCH_SQLITE)
        drop_file(b, name);
    else if (kind != BENCH_MEMORY)
        drop_schema(b, name);
}

static cascade_err
give_secret(void *context, size_t number, cascade_secret *secret)
{
    (void)context;
    if (number > 0)
        return CASCADE_ERR_NOT_FOUND;
    *secret = (cascade_secret){"bench", "a secret of the benchmarks", 26};
    return CASCADE_OK;
}

cascade_store *
bench_open(const bench *b, bench_kind kind, const char *name)
{
    const cascade_integrity integrity = {
        .size = sizeof(integrity),
        .mode = b->integrity,
        .secret = b->integrity == CASCADE_INTEGRITY_HMAC ? give_secret : NULL};
    cascade_store_options options = {.size = sizeof(options),
                                     .deadline_ms = b->deadline_ms,
                                     .pooler = kind == BENCH_POOLER,
                                     .integrity = &integrity};
    cascade_store *store = NULL;
    char url[BENCH_PATH_MAX + 8];
    char path[BENCH_PATH_MAX];

    if (kind == BENCH_SQLITE) {
        bench_sqlite_path(b, name, path);
        snprintf(url, sizeof(url), "sqlite:%s", path);
    } else if (kind == BENCH_MEMORY) {
        snprintf(url, sizeof(url), "memory:%s", name);
    } else {
        options.schema = name;
    }
    bench_check("open the store",
                cascade_store_open(options.schema == NULL ? url : b->pg,
                                   &options, &store));
    return store;
}

cascade_store *
bench_open_new(const bench *b, bench_kind kind, const char *name)
{
    bench_drop(b, kind, name);
    return bench_open(b, kind, name);
}

void
bench_close(cascade_store *store)
{
    bench_check("close the store", cascade_store_close(store));
}
