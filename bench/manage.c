/* SPDX-License-Identifier: MIT
 *
 * What looking after a store costs, by how much there is in it.
 *
 *   verify    every cascade of a store with few and of one with many; and the
 *             memory that it takes at the most, which must not grow
 *   adopt     the same, of cascades that wait and have lost their runs
 *   purge     the cascades of both stores that have ended
 *   ask       a command to all that wait, until it is durable; an engine is
 *             alive, and does not look
 *   explain   one cascade of a few executions and one of many
 *   export    that of many executions as a document, and back as another one
 *
 * Cascades are filled in as copies of one that an engine has run (fill.h). Each
 * part is done once: it takes seconds, and changes what it works on. Durability
 * is full.
 */
#include "bench.h"
#include "fill.h"
#include "pg.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cascade/manage.h>

#define NAME "bench_manage"
#define MONTH_MS ((int64_t)30 * 24 * 60 * 60 * 1000)
#define STEPS 8            /* of a cascade that is copied */
#define WIDE 5000          /* executions of the large one */
#define SAMPLES 20         /* of what is quick */
#define MEMORY_TARGET 1.25 /* x that of few */
#define QUEUE "default"

typedef struct place {
    const bench *b;
    bench_kind kind;
    cascade_store *store;
    int64_t memory; /* before the part began */
    int64_t peak;   /* beyond that, while it ran */
} place;

/* ---- Cascades ------------------------------------------------------------ */

static cascade_err
take_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = cJSON_CreateString("a result of the usual size, about as long");
    return cascade_node_put(node, "progress", cJSON_CreateNumber(1));
}

static cascade_err
work(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;
    char name[16];

    (void)user;
    for (int i = 0; i < STEPS && err == CASCADE_OK; i++) {
        snprintf(name, sizeof(name), "step-%d", i);
        err = cascade_node_step(node, name, take_step, NULL, NULL, NULL);
    }
    return err;
}

/* Half of what it spawns is due in a month. */
static cascade_err
spread(cascade_node *node, void *user)
{
    static const cascade_spawn_options later = {.size = sizeof(later),
                                                .delay_ms = MONTH_MS};
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < WIDE && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "work", NULL, i % 2 ? &later : NULL);
    return err;
}

static cascade_engine *
open_engine(cascade_store *store)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .lease_ms = 600000,
                                            .poll_interval_ms = 1};
    cascade_engine *engine = NULL;

    bench_check("open the engine",
                cascade_engine_open(store, &options, &engine));
    bench_check("register",
                cascade_engine_register(engine, "work", work, NULL, NULL));
    bench_check("register",
                cascade_engine_register(engine, "spread", spread, NULL, NULL));
    bench_check("start the engine", cascade_engine_start(engine));
    return engine;
}

/* Starts one and runs it until nothing of it is due. */
static cascade_uuid
run_one(place *p, const char *node, int64_t delay_ms)
{
    cascade_start_options options = {.size = sizeof(options),
                                     .delay_ms = delay_ms};
    cascade_engine *engine = open_engine(p->store);
    cascade_engine_stats stats = {.size = sizeof(stats)};
    cascade_started started;
    size_t ran = 1;
    int64_t begun_ns = bench_now_ns();

    bench_check("start",
                cascade_start(p->store, node, NULL, &options, &started));
    while (delay_ms == 0 &&
           (ran > 0 || stats.executions == 0 || stats.held > 0)) {
        bench_not_stuck(begun_ns, "a cascade that is to be copied");
        bench_check("poll", cascade_engine_poll(engine, 0, &ran));
        bench_check("stats", cascade_engine_get_stats(engine, &stats));
    }
    bench_check("close the engine", cascade_engine_close(engine));
    return started.id;
}

/* A store of copies of one cascade that has ended, or that waits. */
static void
fill(place *p, int64_t delay_ms, size_t count)
{
    p->store = bench_open_new(p->b, p->kind, NAME);
    (void)run_one(p, "work", delay_ms);
    bench_close(p->store);
    bench_fill(p->b, p->kind, NAME, count);
    p->store = bench_open(p->b, p->kind, NAME);
}

static void
empty(place *p)
{
    bench_close(p->store);
    bench_drop(p->b, p->kind, NAME);
}

/* Runs are what can be rebuilt. */
static void
lose_runs(place *p)
{
    char path[BENCH_PATH_MAX];
    sqlite3 *db = NULL;
    PGconn *pg = NULL;

    if (p->kind == BENCH_POSTGRES) {
        pg = bench_pg_connect(p->b);
        bench_pg_run(pg, "DELETE FROM " NAME ".cascade_runs");
        PQfinish(pg);
        return;
    }
    bench_sqlite_path(p->b, NAME, path);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "DELETE FROM cascade_runs", NULL, NULL, NULL) !=
            SQLITE_OK)
        bench_die("cannot delete the runs: %s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* ---- Measuring ----------------------------------------------------------- */

static bool
note_memory(void *context, const cascade_progress *progress)
{
    place *p = context;
    int64_t more = bench_memory_bytes() - p->memory;

    (void)progress;
    if (more > p->peak)
        p->peak = more;
    return true;
}

static void
print(const place *p, const char *part, double value, const char *unit)
{
    char name[128];

    snprintf(name, sizeof(name), "manage.%s.%s", bench_kind_name(p->kind),
             part);
    bench_print(name, value, unit);
}

static void
begin(place *p)
{
    p->memory = bench_memory_bytes();
    p->peak = 0;
}

typedef void (*part_fn)(place *p, size_t count);

/* Cascades a second. */
static double
rate(place *p, part_fn part, size_t count)
{
    int64_t begun_ns = bench_now_ns();

    begin(p);
    part(p, count);
    return (double)count * 1e9 / (double)(bench_now_ns() - begun_ns);
}

static void
must_be(const char *what, int64_t is, size_t expected)
{
    if (is != (int64_t)expected)
        bench_die("manage: %s %lld cascades instead of %zu", what,
                  (long long)is, expected);
}

static void
verify(place *p, size_t count)
{
    const cascade_check_options options = {
        .size = sizeof(options), .progress = note_memory, .context = p};
    cascade_check_report report = {.size = sizeof(report)};

    bench_check("verify", cascade_verify(p->store, &options, &report));
    must_be("verified", report.cascades, count);
    must_be("found fault with", report.findings, 0);
}

static void
adopt(place *p, size_t count)
{
    const cascade_check_options options = {
        .size = sizeof(options), .progress = note_memory, .context = p};
    cascade_check_report report = {.size = sizeof(report)};

    bench_check("adopt", cascade_adopt(p->store, &options, &report));
    must_be("adopted", report.repaired, count);
}

static void
purge(place *p, size_t count)
{
    const cascade_purge_options options = {.size = sizeof(options),
                                           .failed_ms = -1,
                                           .progress = note_memory,
                                           .context = p};
    cascade_progress total = {0};

    bench_check("purge", cascade_purge(p->store, &options, &total));
    must_be("purged", total.done, count);
}

static void
ask(place *p, size_t count)
{
    const cascade_many_options options = {.size = sizeof(options),
                                          .queue = QUEUE,
                                          .progress = note_memory,
                                          .context = p};
    cascade_progress total = {0};

    bench_check("ask", cascade_request_many(p->store, CASCADE_REQUEST_PAUSE,
                                            &options, &total));
    must_be("asked", total.done, count);
}

/* Of few, then of many. */
static void
compare(const place *p, const char *part, const double rates[2],
        const int64_t peaks[2])
{
    char name[80];

    snprintf(name, sizeof(name), "%s.few", part);
    print(p, name, rates[0], "/s");
    snprintf(name, sizeof(name), "%s.many", part);
    print(p, name, rates[1], "/s");
    if (peaks == NULL)
        return;
    snprintf(name, sizeof(name), "manage.%s.%s.memory",
             bench_kind_name(p->kind), part);
    bench_print_target(name, (double)peaks[1] / (double)(peaks[0] + 1), "x few",
                       BENCH_MAX, MEMORY_TARGET, true);
}

/* ---- Stores of few and of many ------------------------------------------- */

static size_t
pick_count(const bench *b, int many)
{
    return many ? bench_pick(b, 20000, 100000, 1000000)
                : bench_pick(b, 5000, 10000, 10000);
}

static void
measure_ended(place *p)
{
    double rates[2][2];
    int64_t peaks[2];

    for (int many = 0; many < 2; many++) {
        size_t count = pick_count(p->b, many);

        fill(p, 0, count);
        rates[0][many] = rate(p, verify, count + 1);
        peaks[many] = p->peak;
        rates[1][many] = rate(p, purge, count + 1);
        empty(p);
    }
    compare(p, "verify", rates[0], peaks);
    compare(p, "purge", rates[1], NULL);
}

static void
measure_waiting(place *p)
{
    double rates[2][2];
    int64_t peaks[2];

    for (int many = 0; many < 2; many++) {
        size_t count = pick_count(p->b, many);
        cascade_engine *engine = NULL;

        fill(p, MONTH_MS, count);
        lose_runs(p);
        rates[0][many] = rate(p, adopt, count + 1);
        peaks[many] = p->peak;
        engine = open_engine(p->store);
        rates[1][many] = rate(p, ask, count + 1);
        bench_check("close the engine", cascade_engine_close(engine));
        empty(p);
    }
    compare(p, "adopt", rates[0], peaks);
    compare(p, "ask", rates[1], NULL);
}

/* ---- One cascade --------------------------------------------------------- */

static double
explain_one(place *p, const cascade_uuid *id)
{
    double us[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        cascade_explanation *explanation = NULL;
        int64_t begun_ns = bench_now_ns();

        bench_check("explain", cascade_explain(p->store, id, &explanation));
        us[i] = (double)(bench_now_ns() - begun_ns) / 1e3;
        cascade_explanation_free(explanation);
    }
    return bench_median(us, SAMPLES);
}

static void
carry_over(place *p, const cascade_uuid *id)
{
    const cascade_import_options options = {.size = sizeof(options),
                                            .new_ids = true};
    double ms[2][SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        char *document = NULL;
        cascade_started started;
        int64_t begun_ns = bench_now_ns();
        int64_t half_ns;

        bench_check("export", cascade_export(p->store, id, NULL, &document));
        half_ns = bench_now_ns();
        bench_check("import",
                    cascade_import(p->store, document, &options, &started));
        ms[0][i] = (double)(half_ns - begun_ns) / 1e6;
        ms[1][i] = (double)(bench_now_ns() - half_ns) / 1e6;
        cascade_document_free(document);
    }
    print(p, "export.p50", bench_median(ms[0], SAMPLES), "ms");
    print(p, "import.p50", bench_median(ms[1], SAMPLES), "ms");
}

static void
measure_one(place *p)
{
    cascade_uuid few;
    cascade_uuid many;

    p->store = bench_open_new(p->b, p->kind, NAME);
    few = run_one(p, "work", MONTH_MS);
    many = run_one(p, "spread", 0);
    print(p, "explain.few.p50", explain_one(p, &few), "us");
    print(p, "explain.many.p50", explain_one(p, &many), "us");
    carry_over(p, &many);
    empty(p);
}

int
main(int argc, char **argv)
{
    static const bench_kind kinds[] = {BENCH_SQLITE, BENCH_POSTGRES};
    bench b;

    bench_init(&b, argc, argv);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        place p = {.b = &b, .kind = kinds[i]};

        if (!bench_has(&b, kinds[i])) {
            bench_note("PostgreSQL is not measured: --pg is missing");
            continue;
        }
        bench_note("%zu and %zu cascades; %d executions", pick_count(&b, 0),
                   pick_count(&b, 1), WIDE);
        measure_ended(&p);
        measure_waiting(&p);
        measure_one(&p);
    }
    return 0;
}
