/* SPDX-License-Identifier: MIT
 *
 * How fast cascades that were in flight run again after their process was
 * killed.
 *
 * Each cascade is one straight-line node with three finished steps, each with a
 * context event: 1 + 4 + 3 rows. This program runs itself as a child, which is
 * killed while its nodes are running. Where they are too many to be run one by
 * one, the child runs a single cascade, and the tables are filled with copies
 * of its rows, owned by the killed engine like the original.
 *
 * Measured once, after the kill:
 *   restart   from cascade_engine_start() until all are in memory, ready or in
 *             their function; part of it is `freed`, until the dead engine was
 *             noticed and its last run set free. How many may be in a function
 *             at once is a matter of threads: at the lower count there is one
 *             for each.
 *   memory    what malloc() has handed out more, for each cascade
 *
 * Measured in turns: an engine that finds the runs free, from
 * cascade_engine_start() until all are in memory, against plain SELECTs of the
 * same rows in two ways, of which the faster one counts. The engine claims each
 * run and rebuilds its state in that time.
 */
#include "bench.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fill.h"
#include "hydration_select.h"

#define STEPS 3
#define NAME "bench_hydration"
#define NODE "order"
#define STACK_SIZE (128 * 1024)
#define WORKERS 64
#define LOOK_MS 1
#define LIMIT_MS 300000
#define TARGET 0.7

/* ---- The node ------------------------------------------------------------ */

/* The nodes of one engine stay in their function until they are let go. */
typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool open;
    unsigned workers;
    atomic_size_t entered;
} gate;

static cascade_err
work(cascade_node *node, void *arg, cJSON **result)
{
    const int *number = arg;
    cJSON *value = cJSON_CreateObject();
    cascade_err err;

    cJSON_AddNumberToObject(value, "number", *number);
    cJSON_AddStringToObject(value, "state", "reserved in the warehouse");
    err = cascade_node_put(node, "progress", value);
    if (err != CASCADE_OK)
        return err;
    *result = cJSON_CreateObject();
    cJSON_AddNumberToObject(*result, "receipt", 1000 + *number);
    cJSON_AddTrueToObject(*result, "accepted");
    return CASCADE_OK;
}

static cascade_err
order(cascade_node *node, void *user)
{
    gate *g = user;
    int number = 0;

    for (; number < STEPS; number++) {
        cascade_err err =
            cascade_node_step(node, "reserve", work, &number, NULL, NULL);

        if (err != CASCADE_OK)
            return err;
    }
    atomic_fetch_add(&g->entered, 1);
    pthread_mutex_lock(&g->mutex);
    while (!g->open)
        pthread_cond_wait(&g->cond, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
    /* The engine is stopping: this does not run, and the node leaves. */
    return cascade_node_step(node, "never", work, &number, NULL, NULL);
}

static void
gate_open(gate *g)
{
    pthread_mutex_lock(&g->mutex);
    g->open = true;
    pthread_cond_broadcast(&g->cond);
    pthread_mutex_unlock(&g->mutex);
}

/* ---- Engines ------------------------------------------------------------- */

/* One for each cascade where that is possible. */
static unsigned
workers_for(size_t count)
{
    return count <= 1000 ? (unsigned)count : WORKERS;
}

static cascade_engine *
open_engine(cascade_store *store, size_t count, unsigned workers, gate *g)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .capacity = count + 1000,
                                      .worker_count = workers,
                                      .worker_stack_size = STACK_SIZE};
    cascade_engine *engine = NULL;

    *g = (gate){.workers = workers};
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->cond, NULL);
    bench_check("open the engine",
                cascade_engine_open(store, &options, &engine));
    bench_check("register",
                cascade_engine_register(engine, NODE, order, g, NULL));
    return engine;
}

static cascade_engine_stats
stats_of(cascade_engine *engine)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    bench_check("stats", cascade_engine_get_stats(engine, &stats));
    return stats;
}

/* Gives the milliseconds spent in claiming and hydrating: those of the last
 * round are added as it ends. */
static int64_t
close_engine(cascade_engine *engine, gate *g)
{
    int64_t inside_ms;

    cascade_engine_request_stop(engine);
    gate_open(g);
    bench_check("stop", cascade_engine_stop(engine, -1));
    inside_ms = stats_of(engine).hydrate_ms;
    bench_check("close the engine", cascade_engine_close(engine));
    pthread_cond_destroy(&g->cond);
    pthread_mutex_destroy(&g->mutex);
    return inside_ms;
}

/* What one hydration took, by the monotonic clock. */
typedef struct measure {
    int64_t freed_ns; /* from start until the last was free */
    int64_t held_ns;  /* until all were in memory, the workers in functions */
} measure;

/* Starts `engine` and waits until all `count` cascades run again. */
static measure
run_until_held(cascade_engine *engine, gate *g, size_t count)
{
    int64_t begun_ns = bench_now_ns();
    int64_t took_ns = 0;
    uint64_t takeovers = 0;
    measure m = {.freed_ns = 0};

    bench_check("start the engine", cascade_engine_start(engine));
    for (;;) {
        cascade_engine_stats stats = stats_of(engine);

        took_ns = bench_now_ns() - begun_ns;
        if (stats.takeovers > takeovers)
            m.freed_ns = took_ns;
        takeovers = stats.takeovers;
        if (stats.held >= count && atomic_load(&g->entered) == g->workers) {
            m.held_ns = took_ns;
            break;
        }
        if (took_ns / 1000000 > LIMIT_MS)
            bench_die("hydration: %llu of %zu cascades after %d s",
                      (unsigned long long)stats.held, count, LIMIT_MS / 1000);
        bench_sleep_ms(LOOK_MS);
    }
    return m;
}

/* ---- The child ----------------------------------------------------------- */

static void
start_cascades(cascade_store *store, size_t count)
{
    static const char input[] =
        "{\"order\": 4711, \"customer\": \"c-1234567\", \"express\": true}";
    const cascade_first first = {
        .size = sizeof(first), .node = NODE, .input_text = input};
    const cascade_start_options options = {.size = sizeof(options),
                                           .user_id = "customer-17"};
    cascade_start_spec *specs = bench_alloc(count, sizeof(*specs));
    cascade_started *started = bench_alloc(count, sizeof(*started));

    for (size_t i = 0; i < count; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1,
                                        .options = &options};
    bench_check("start cascades",
                cascade_start_many(store, specs, count, started));
    free(specs);
    free(started);
}

/* Runs `count` cascades up to where they stay, tells so, and never ends. */
_Noreturn static void
be_child(const bench *b, bench_kind kind, size_t count)
{
    gate g;
    cascade_store *store = bench_open_new(b, kind, NAME);
    cascade_engine *engine = open_engine(store, count, workers_for(count), &g);
    int64_t begun_ns = bench_now_ns();

    bench_check("start the engine", cascade_engine_start(engine));
    start_cascades(store, count);
    while (atomic_load(&g.entered) < count) {
        bench_not_stuck(begun_ns, "cascades that are to be killed");
        bench_sleep_ms(LOOK_MS);
    }
    if (write(STDOUT_FILENO, "r", 1) != 1)
        bench_die("the parent is gone");
    for (;;)
        pause();
}

static pid_t
spawn_child(const bench *b, bench_kind kind, const char *count, int out)
{
    pid_t pid = fork();

    if (pid < 0)
        bench_die("fork failed");
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it never ends by itself */
    dup2(out, STDOUT_FILENO);
    execl("/proc/self/exe", "hydration", "--child", bench_kind_name(kind),
          count, "--dir", b->dir, b->pg != NULL ? "--pg" : NULL, b->pg,
          (char *)NULL);
    _exit(127);
}

/* Has `count` cascades run by a process that is killed in the midst. */
static void
run_and_kill(const bench *b, bench_kind kind, size_t count)
{
    char number[24];
    char told = '\0';
    int status = 0;
    int fds[2];
    pid_t pid;

    snprintf(number, sizeof(number), "%zu", count);
    fflush(stdout);
    if (pipe(fds) != 0)
        bench_die("pipe failed");
    pid = spawn_child(b, kind, number, fds[1]);
    close(fds[1]);
    if (read(fds[0], &told, 1) != 1)
        bench_die("the child ended before its cascades ran");
    if (kill(pid, SIGKILL) != 0 || waitpid(pid, &status, 0) != pid ||
        !WIFSIGNALED(status))
        bench_die("the child ended before it was killed");
    close(fds[0]);
}

/* ---- Measuring ----------------------------------------------------------- */

typedef struct task {
    const bench *b;
    bench_kind kind;
    size_t count;
    uint64_t rows; /* of the three tables */
} task;

static void
print(const task *t, const char *what, double value, const char *unit)
{
    char name[80];

    snprintf(name, sizeof(name), "hydration.%s.%zu.%s",
             bench_kind_name(t->kind), t->count, what);
    bench_print(name, value, unit);
}

/* The cascades in flight, by a child that is gone now. */
static void
prepare(const task *t)
{
    size_t real = workers_for(t->count) < t->count ? 1 : t->count;

    run_and_kill(t->b, t->kind, real);
    if (real < t->count)
        bench_fill(t->b, t->kind, NAME, t->count - real);
    else
        bench_fill_settle(t->b, t->kind, NAME);
}

static void
measure_restart(const task *t)
{
    gate g;
    cascade_store *store = bench_open(t->b, t->kind, NAME);
    unsigned workers = workers_for(t->count);
    cascade_engine *engine = open_engine(store, t->count, workers, &g);
    int64_t memory = bench_memory_bytes();
    measure m = run_until_held(engine, &g, t->count);

    memory = bench_memory_bytes() - memory;
    print(t, "restart", (double)m.held_ns / 1e6, "ms");
    print(t, "restart.freed", (double)m.freed_ns / 1e6, "ms");
    print(t, "restart.hydrating", (double)close_engine(engine, &g), "ms");
    print(t, "memory", (double)memory / (double)t->count, "B/cascade");
    bench_close(store);
}

/* One turn of the engine: rows a second, by the clock and by its own figure. */
static void
turn_engine(const task *t, double *by_wall, double *by_stats)
{
    gate g;
    cascade_store *store = bench_open(t->b, t->kind, NAME);
    cascade_engine *engine = open_engine(store, t->count, WORKERS, &g);
    measure m = run_until_held(engine, &g, t->count);
    int64_t inside_ms = close_engine(engine, &g);

    *by_wall = (double)t->rows * 1e9 / (double)m.held_ns;
    *by_stats = (double)t->rows * 1e3 / (double)(inside_ms > 0 ? inside_ms : 1);
    bench_close(store);
    bench_fill_settle(t->b, t->kind, NAME);
}

/* One turn of a plain SELECT: rows a second. */
static double
turn_select(task *t, bench_select *select, bench_select_way way)
{
    uint64_t rows = 0;
    int64_t took_ns = bench_select_read(select, way, &rows);

    if (rows != t->rows && t->rows != 0)
        bench_die("hydration: %llu rows instead of %llu",
                  (unsigned long long)rows, (unsigned long long)t->rows);
    t->rows = rows;
    return (double)t->rows * 1e9 / (double)took_ns;
}

static void
print_ratios(const task *t, double *wall, double *stats, double *by_ids,
             double *at_once)
{
    size_t rounds = t->b->rounds;
    double engine = bench_median(wall, rounds);
    double inside = bench_median(stats, rounds);
    double portions = bench_median(by_ids, rounds);
    double all = bench_median(at_once, rounds);
    double raw = portions > all ? portions : all;
    char name[80];

    print(t, "rate", engine, "rows/s");
    print(t, "rate.hydrating", inside, "rows/s");
    print(t, "select.by_ids", portions, "rows/s");
    print(t, "select.at_once", all, "rows/s");
    snprintf(name, sizeof(name), "hydration.%s.%zu.ratio",
             bench_kind_name(t->kind), t->count);
    bench_print_target(name, engine / raw, "x select", BENCH_MIN, TARGET,
                       bench_trusts(t->b, t->kind));
    print(t, "ratio.hydrating", inside / raw, "x select");
}

static void
measure_rate(task *t)
{
    double wall[BENCH_ROUNDS_MAX];
    double stats[BENCH_ROUNDS_MAX];
    double by_ids[BENCH_ROUNDS_MAX];
    double at_once[BENCH_ROUNDS_MAX];
    bench_select *select;

    bench_fill_settle(t->b, t->kind, NAME);
    select = bench_select_open(t->b, t->kind, NAME);
    (void)turn_select(t, select, BENCH_SELECT_PORTIONS); /* to warm up */
    (void)turn_select(t, select, BENCH_SELECT_ALL);
    for (size_t i = 0; i < t->b->rounds; i++) {
        turn_engine(t, &wall[i], &stats[i]);
        by_ids[i] = turn_select(t, select, BENCH_SELECT_PORTIONS);
        at_once[i] = turn_select(t, select, BENCH_SELECT_ALL);
    }
    bench_select_close(select);
    print_ratios(t, wall, stats, by_ids, at_once);
}

static void
measure_all(const bench *b, bench_kind kind)
{
    size_t counts[] = {1000, bench_pick(b, 20000, 100000, 100000)};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        task t = {.b = b, .kind = kind, .count = counts[i]};

        prepare(&t);
        measure_restart(&t);
        measure_rate(&t);
    }
    bench_drop(b, kind, NAME);
}

/* hydration --child KIND COUNT [options] */
_Noreturn static void
child_main(int argc, char **argv)
{
    bench_kind kind =
        strcmp(argv[2], "sqlite") == 0 ? BENCH_SQLITE : BENCH_POSTGRES;
    size_t count = strtoul(argv[3], NULL, 10);
    bench b;

    bench_init(&b, argc - 3, argv + 3);
    be_child(&b, kind, count);
}

int
main(int argc, char **argv)
{
    bench b;

    if (argc > 3 && strcmp(argv[1], "--child") == 0)
        child_main(argc, argv);
    bench_init(&b, argc, argv);
    measure_all(&b, BENCH_SQLITE);
    if (bench_has(&b, BENCH_POSTGRES))
        measure_all(&b, BENCH_POSTGRES);
    else
        bench_note("PostgreSQL is not measured: --pg is missing");
    return 0;
}
