/* SPDX-License-Identifier: MIT
 *
 * How much room the library takes.
 *
 *   library    the file of the shared library this program runs with, stripped
 *   cascades   bytes of the heap for each cascade that is held, and for each
 *              that is parked. The heap is what malloc() has handed out, so it
 *              knows neither memory that was freed nor the code. The rows are
 *              on PostgreSQL; without one in SQLite, whose own is not counted
 *   ready      from cascade_store_open() to the return of
 *              cascade_engine_start(), for a store that is new (its tables are
 *              made) and for one that is there
 *
 * A cascade in flight here has ended its first node, which spawned two others
 * that become due in a while, and one value of its context is kept:
 *
 *   first (COMPLETED, put) ---> later (RUNNING, delayed)
 *                          `--> later (RUNNING, delayed)
 *
 * It is held as long as the wait is shorter than park_after_ms. The parked ones
 * are the same with a wait that is longer, so the engine has held each before
 * it gave it up. Both come a portion at a time:
 *
 *   parked      what a portion leaves behind, the median of the later half of
 *               the portions: now and then a buffer grows in which the others
 *               come and go, which is no cost of any cascade. In whole bytes
 *   in flight   what all portions add
 *
 * The blocks that malloc() keeps for each thread count as handed out, so this
 * part runs in a process whose malloc() keeps none.
 */
#include "child.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY_MAX_KIB 400
#define IN_FLIGHT_MAX 2048 /* bytes */
#define PORTION 1000
#define WAIT_MS (3600 * 1000)
#define PATIENCE_MS 120000

/* ---- The library --------------------------------------------------------- */

static void
strip_to(const char *from, const char *to)
{
    char *argv[] = {strdup("strip"), strdup("-o"), strdup(to), strdup(from),
                    NULL};
    pid_t pid;
    int status = 1;

    if (posix_spawnp(&pid, "strip", NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("strip does not work here");
    for (size_t i = 0; argv[i] != NULL; i++)
        free(argv[i]);
}

static void
measure_library(const bench *b)
{
    char stripped[BENCH_PATH_MAX];
    struct stat status;
    Dl_info info;

    if (dladdr(cascade_version(), &info) == 0)
        bench_die("the shared library is not found");
    snprintf(stripped, sizeof(stripped), "%s/stripped.so", b->dir);
    strip_to(info.dli_fname, stripped);
    if (stat(stripped, &status) != 0)
        bench_die("%s is not there", stripped);
    unlink(stripped);
    bench_print_target("footprint.library.stripped",
                       (double)status.st_size / 1024, "KiB", BENCH_MAX,
                       LIBRARY_MAX_KIB, true);
}

/* ---- Cascades ------------------------------------------------------------ */

static cascade_err
spawn_later(cascade_node *node, void *user)
{
    cascade_spawn_options options = {.size = sizeof(options),
                                     .delay_ms = WAIT_MS};
    cascade_err err = cascade_node_put_text(
        node, "total", "{\"amount\":12,\"currency\":\"EUR\"}", NULL);

    (void)user;
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "later", NULL, &options);
    return err;
}

static cascade_err
complete(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static void
open_engine(cascade_store *store, const cascade_engine_options *options,
            cascade_engine **engine)
{
    bench_check("open the engine", cascade_engine_open(store, options, engine));
    bench_check("register", cascade_engine_register(*engine, "first",
                                                    spawn_later, NULL, NULL));
    bench_check("register", cascade_engine_register(*engine, "later", complete,
                                                    NULL, NULL));
    bench_check("start the engine", cascade_engine_start(*engine));
}

/* Until the first nodes have ended, and the engine holds `held`. */
static void
await_engine(cascade_engine *engine, uint64_t executions, uint64_t held)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};
    int64_t until_ns = bench_now_ns() + (int64_t)PATIENCE_MS * 1000000;

    do {
        bench_sleep_ms(10);
        bench_check("stats", cascade_engine_get_stats(engine, &stats));
        if (bench_now_ns() > until_ns)
            bench_die("%llu ended and %llu held instead of %llu and %llu",
                      (unsigned long long)stats.executions,
                      (unsigned long long)stats.held,
                      (unsigned long long)executions, (unsigned long long)held);
    } while (stats.executions != executions || stats.held != held ||
             stats.running != 0);
}

static void
start_portion(cascade_store *store)
{
    static cascade_start_spec specs[PORTION];
    static cascade_started started[PORTION];
    cascade_first first = {.size = sizeof(first), .node = "first"};

    for (size_t i = 0; i < PORTION; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    bench_check("start", cascade_start_many(store, specs, PORTION, started));
}

/* Bytes of the heap, per cascade. */
typedef struct growth {
    double mean;
    double median; /* of the later half of the portions */
} growth;

static void
grow(cascade_store *store, cascade_engine *engine, bool parked, size_t portions,
     growth *each)
{
    double *added = bench_alloc(portions, sizeof(double));
    int64_t first = 0;
    int64_t last = 0;

    for (size_t i = 0; i <= portions; i++) {
        int64_t before = last;

        start_portion(store);
        await_engine(engine, (i + 1) * PORTION, parked ? 0 : (i + 1) * PORTION);
        last = bench_memory_bytes();
        if (i == 0)
            first = last;
        else
            added[i - 1] = (double)(last - before) / PORTION;
    }
    each->mean = (double)(last - first) / (double)(portions * PORTION);
    each->median = bench_median(added + portions / 2, portions - portions / 2);
    free(added);
}

static growth
measure_cascades(const bench *b, bool parked)
{
    size_t portions = bench_pick(b, 40, 60, 100);
    cascade_engine_options options = {.size = sizeof(options),
                                      .capacity = (portions + 2) * PORTION,
                                      .park_after_ms =
                                          parked ? 1000 : WAIT_MS * 2};
    bench_kind kind =
        bench_has(b, BENCH_POSTGRES) ? BENCH_POSTGRES : BENCH_SQLITE;
    cascade_store *store = bench_open_new(b, kind, "footprint");
    cascade_engine *engine = NULL;
    growth each;

    open_engine(store, &options, &engine);
    grow(store, engine, parked, portions, &each);
    bench_check("close the engine", cascade_engine_close(engine));
    bench_close(store);
    bench_drop(b, kind, "footprint");
    return each;
}

/* The child: it sends both, in whole bytes. */
static int
run_child(const bench *b)
{
    bench_child_put(BENCH_CHILD_FD, (int64_t)measure_cascades(b, true).median);
    bench_child_put(BENCH_CHILD_FD, (int64_t)measure_cascades(b, false).mean);
    bench_child_await_end(BENCH_CHILD_FD);
    return 0;
}

/* ---- Ready --------------------------------------------------------------- */

static double
measure_ready(const bench *b, bench_kind kind)
{
    int64_t begun_ns = bench_now_ns();
    cascade_store *store = bench_open(b, kind, "footprint");
    cascade_engine *engine = NULL;
    double took_ms;

    open_engine(store, NULL, &engine);
    took_ms = (double)(bench_now_ns() - begun_ns) / 1e6;
    bench_check("close the engine", cascade_engine_close(engine));
    bench_close(store);
    return took_ms;
}

static void
print_ready(const bench *b, bench_kind kind)
{
    double created[BENCH_ROUNDS_MAX];
    double there[BENCH_ROUNDS_MAX];
    char name[64];

    for (size_t i = 0; i < b->rounds; i++) {
        bench_drop(b, kind, "footprint");
        created[i] = measure_ready(b, kind);
        there[i] = measure_ready(b, kind);
    }
    bench_drop(b, kind, "footprint");
    snprintf(name, sizeof(name), "footprint.%s.ready_new",
             bench_kind_name(kind));
    bench_print(name, bench_median(created, b->rounds), "ms");
    snprintf(name, sizeof(name), "footprint.%s.ready", bench_kind_name(kind));
    bench_print(name, bench_median(there, b->rounds), "ms");
}

int
main(int argc, char **argv)
{
    static const bench_kind kinds[] = {BENCH_MEMORY, BENCH_SQLITE,
                                       BENCH_POSTGRES};
    bench_child child;
    int64_t parked;
    int64_t held;
    bench b;

    if (bench_child_part(&b, argc, argv) != NULL)
        return run_child(&b);
    bench_init(&b, argc, argv);
    setenv("GLIBC_TUNABLES",
           "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0", 1);
    measure_library(&b);
    for (size_t i = 0; i < 3; i++)
        if (bench_has(&b, kinds[i]))
            print_ready(&b, kinds[i]);
    child = bench_child_start(&b, "cascades");
    parked = bench_child_get(child.fd);
    held = bench_child_get(child.fd);
    bench_child_stop(&child);
    bench_print_target("footprint.parked", (double)parked, "B", BENCH_MAX, 0,
                       true);
    bench_print_target("footprint.in_flight", (double)held, "B", BENCH_MAX,
                       IN_FLIGHT_MAX, true);
    return 0;
}
