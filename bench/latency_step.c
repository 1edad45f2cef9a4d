/* SPDX-License-Identifier: MIT
 *
 * One step at one in flight: the time from one call of cascade_node_step() to
 * the next in a node that does nothing else, beside a program that writes the
 * same rows by hand, in one transaction:
 *
 *   BEGIN                       the fence of a batch:
 *   UPDATE cascade_lanes        batch = batch + 1
 *   INSERT node_executions      the step, COMPLETED
 *   INSERT context_events       the one value it puts
 *   UPDATE cascades             fn_id, updated_at
 *   COMMIT
 *
 * By hand that is: statements prepared once; on PostgreSQL all six sent in the
 * pipeline mode with one Sync, so one round trip and one flush; on SQLite WAL
 * and synchronous = FULL, a checkpoint at about as many pages as the engine's,
 * between two rounds. The tables are the library's own, in a store beside the
 * one that is measured, and the texts are as long as the engine's.
 *
 * The two take turns: a round of the one, a round of the other. The figures are
 * the medians of the rounds' p50, and their ratio is what has a target. The
 * engine's rounds run one cascade each, as do those by hand. What comes first
 * does not count: on SQLite both have to be through a checkpoint, since a WAL
 * that is written over is flushed faster than one that still grows.
 */
#include "latency.h"

#include "pg.h"
#include "raw.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 250 /* of a round */
#define VALUE "{\"amount\":12,\"currency\":\"EUR\"}"
#define FULL_OUTPUT "{\"at\":0,\"keys\":[\"total\"],\"attempts\":1}"
#define RATIO_MAX 1.25
/* By hand, at 0.8 of 3,000 and of 4,000 steps a second: a slower machine makes
 * the ratio suspect. */
#define SLOWEST_PG_NS (1e9 / (0.8 * 3000))
#define SLOWEST_SQLITE_NS (1e9 / (0.8 * 4000))
#define WARM_UP 1         /* rounds */
#define WARM_UP_SQLITE 16 /* the same: more than 20,000 pages of either */
#define CHECKPOINT_ROUNDS 10

/* ---- The engine's -------------------------------------------------------- */

typedef struct steps {
    int64_t at_ns[STEPS + 1];
} steps;

static cascade_err
put_total(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
    return cascade_node_put_text(node, "total", VALUE, NULL);
}

static cascade_err
run_steps(cascade_node *node, void *user)
{
    steps *s = user;

    for (size_t i = 0; i < STEPS; i++) {
        cascade_err err;

        s->at_ns[i] = bench_now_ns();
        err = cascade_node_step(node, "step", put_total, NULL, NULL, NULL);
        if (err != CASCADE_OK)
            return err;
    }
    s->at_ns[STEPS] = bench_now_ns();
    return CASCADE_OK;
}

static void
run_engine_round(cascade_store *store)
{
    cascade_started started;
    cascade_status status;

    bench_check("start", cascade_start(store, "steps", NULL, NULL, &started));
    bench_check("wait", cascade_wait(store, &started.id, -1, &status));
    if (status != CASCADE_COMPLETED)
        bench_die("the cascade of steps did not complete");
}

/* ---- By hand: the rows --------------------------------------------------- */

/* The texts of one step, as both databases take them. */
typedef struct step_rows {
    char engine[CASCADE_UUID_TEXT_SIZE];
    char cascade[CASCADE_UUID_TEXT_SIZE];
    char id[CASCADE_UUID_TEXT_SIZE];
    char path[96];
    char number[16]; /* function_id */
    char now[RAW_TIME_SIZE];
} step_rows;

void
latency_make_uuid(char text[CASCADE_UUID_TEXT_SIZE])
{
    static uint64_t seed = 1;
    cascade_uuid id = raw_id(&seed);

    cascade_uuid_format(&id, text);
}

static void
make_step(step_rows *rows, int number)
{
    latency_make_uuid(rows->id);
    raw_now_text(rows->now);
    snprintf(rows->number, sizeof(rows->number), "%d", number);
    snprintf(rows->path, sizeof(rows->path), "%s/0/cascade.step:step#%d",
             rows->cascade, number);
}

/* A program by hand: one of the two below. */
typedef struct by_hand {
    PGconn *pg;
    sqlite3 *sqlite;
    sqlite3_stmt *statements[6];
    step_rows rows;
    size_t round;
} by_hand;

/* ---- By hand: PostgreSQL ------------------------------------------------- */

/* The parameters are those of bind_sqlite() below. */
static const char *const texts[6] = {
    "BEGIN",
    "UPDATE cascade_lanes\n"
    "SET batch = batch + 1\n"
    "WHERE engine_id = $1\n"
    "  AND lane = 0",
    "INSERT INTO node_executions\n"
    "  (id, node_instance_id, cascade_id, node_name, function_id,\n"
    "  input_context, full_output, location, status, started_at,\n"
    "  completed_at)\n"
    "VALUES ($1, $2, $3, 'cascade.step:step', $4, '{}', $5, 'server',\n"
    "  'COMPLETED', $6, $6)",
    "INSERT INTO context_events\n"
    "  (key, value, function_id, cascade_id, created_at)\n"
    "VALUES ('total', $1, $2, $3, $4)",
    "UPDATE cascades\n"
    "SET fn_id = $2,\n"
    "  updated_at = $3\n"
    "WHERE id = $1",
    "COMMIT"};

#define PARAMS_MAX 6

/* The parameters of each of `texts`, NULL behind the last. */
static void
list_params(const step_rows *r, const char *params[6][PARAMS_MAX])
{
    const char *const all[6][PARAMS_MAX] = {
        {NULL},
        {r->engine},
        {r->id, r->path, r->cascade, r->number, FULL_OUTPUT, r->now},
        {VALUE, r->number, r->cascade, r->now},
        {r->cascade, r->number, r->now},
        {NULL}};

    memcpy(params, all, sizeof(all));
}

static int
count_params(const char *const params[PARAMS_MAX])
{
    int count = 0;

    while (count < PARAMS_MAX && params[count] != NULL)
        count++;
    return count;
}

static void
check_pg(PGconn *pg, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if (result != NULL && status != PGRES_COMMAND_OK &&
        status != PGRES_PIPELINE_SYNC)
        bench_die("a step by hand: %s", PQerrorMessage(pg));
    PQclear(result);
}

/* Each statement gives a result and a NULL, the Sync a result alone. */
static void
write_pg(by_hand *hand)
{
    const char *params[6][PARAMS_MAX];
    char name[2] = "0";

    list_params(&hand->rows, params);
    for (int i = 0; i < 6; i++) {
        name[0] = (char)('0' + i);
        if (PQsendQueryPrepared(hand->pg, name, count_params(params[i]),
                                params[i], NULL, NULL, 0) != 1)
            bench_die("a step by hand: %s", PQerrorMessage(hand->pg));
    }
    if (PQpipelineSync(hand->pg) != 1)
        bench_die("a step by hand: %s", PQerrorMessage(hand->pg));
    for (int i = 0; i < 2 * 6 + 1; i++)
        check_pg(hand->pg, PQgetResult(hand->pg));
}

static void
add_cascade_pg(by_hand *hand)
{
    const char *params[] = {hand->rows.cascade, hand->rows.now};

    if (PQexitPipelineMode(hand->pg) != 1)
        bench_die("a step by hand: %s", PQerrorMessage(hand->pg));
    check_pg(hand->pg,
             PQexecParams(hand->pg,
                          "INSERT INTO cascades\n"
                          "  (id, status, fn_id, user_id, created_at,\n"
                          "  updated_at)\n"
                          "VALUES ($1, 'RUNNING', 0, 'anonymous', $2, $2)",
                          2, NULL, params, NULL, NULL, 0));
    if (PQenterPipelineMode(hand->pg) != 1)
        bench_die("a step by hand: %s", PQerrorMessage(hand->pg));
}

static void
open_pg(const bench *b, by_hand *hand, const char *schema)
{
    const char *params[] = {hand->rows.engine};
    char sql[128];
    char name[2] = "0";

    hand->pg = bench_pg_connect(b);
    snprintf(sql, sizeof(sql), "SET search_path = %s", schema);
    bench_pg_run(hand->pg, sql);
    check_pg(hand->pg, PQexecParams(hand->pg,
                                    "INSERT INTO cascade_lanes\n"
                                    "VALUES ($1, 0, 0)",
                                    1, NULL, params, NULL, NULL, 0));
    for (int i = 0; i < 6; i++) {
        name[0] = (char)('0' + i);
        check_pg(hand->pg, PQprepare(hand->pg, name, texts[i], 0, NULL));
    }
    if (PQenterPipelineMode(hand->pg) != 1)
        bench_die("a step by hand: %s", PQerrorMessage(hand->pg));
}

/* ---- By hand: SQLite ----------------------------------------------------- */

static void
run_sqlite(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die("%s: %s", sql, sqlite3_errmsg(db));
}

static void
write_sqlite(by_hand *hand)
{
    const char *params[6][PARAMS_MAX];

    list_params(&hand->rows, params);
    for (int i = 0; i < 6; i++) {
        sqlite3_stmt *statement = hand->statements[i];

        for (int p = 0; p < count_params(params[i]); p++)
            sqlite3_bind_text(statement, p + 1, params[i][p], -1,
                              SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE)
            bench_die("a step by hand: %s", sqlite3_errmsg(hand->sqlite));
        sqlite3_reset(statement);
    }
}

static void
add_cascade_sqlite(by_hand *hand)
{
    char sql[256];

    if (hand->round % CHECKPOINT_ROUNDS == 0)
        run_sqlite(hand->sqlite, "PRAGMA wal_checkpoint(PASSIVE)");
    snprintf(sql, sizeof(sql),
             "INSERT INTO cascades\n"
             "  (id, status, fn_id, user_id, created_at, updated_at)\n"
             "VALUES ('%s', 'RUNNING', 0, 'anonymous', '%s', '%s')",
             hand->rows.cascade, hand->rows.now, hand->rows.now);
    run_sqlite(hand->sqlite, sql);
}

static void
open_sqlite(const bench *b, by_hand *hand, const char *name)
{
    char path[BENCH_PATH_MAX];
    char sql[128];

    bench_sqlite_path(b, name, path);
    if (sqlite3_open(path, &hand->sqlite) != SQLITE_OK)
        bench_die("%s: %s", path, sqlite3_errmsg(hand->sqlite));
    run_sqlite(hand->sqlite, "PRAGMA journal_mode = WAL;\n"
                             "PRAGMA synchronous = FULL;\n"
                             "PRAGMA wal_autocheckpoint = 0;\n"
                             "PRAGMA foreign_keys = ON;\n"
                             "PRAGMA cache_size = -32768");
    snprintf(sql, sizeof(sql), "INSERT INTO cascade_lanes VALUES ('%s', 0, 0)",
             hand->rows.engine);
    run_sqlite(hand->sqlite, sql);
    for (int i = 0; i < 6; i++)
        if (sqlite3_prepare_v3(hand->sqlite,
                               i == 0 ? "BEGIN IMMEDIATE" : texts[i], -1,
                               SQLITE_PREPARE_PERSISTENT, &hand->statements[i],
                               NULL) != SQLITE_OK)
            bench_die("prepare: %s", sqlite3_errmsg(hand->sqlite));
}

/* ---- By hand: rounds ----------------------------------------------------- */

static void
hand_open(const bench *b, by_hand *hand, bench_kind kind, const char *name)
{
    bench_close(bench_open_new(b, kind, name)); /* makes the tables */
    *hand = (by_hand){0};
    latency_make_uuid(hand->rows.engine);
    if (kind == BENCH_SQLITE)
        open_sqlite(b, hand, name);
    else
        open_pg(b, hand, name);
}

static void
hand_close(by_hand *hand)
{
    for (int i = 0; i < 6; i++)
        sqlite3_finalize(hand->statements[i]);
    sqlite3_close(hand->sqlite);
    PQfinish(hand->pg);
}

/* That what was measured was written at all. */
static void
check_rows(by_hand *hand)
{
    static const char *const sql = "SELECT count(*)\n"
                                   "FROM node_executions AS n\n"
                                   "JOIN context_events AS e\n"
                                   "  ON e.cascade_id = n.cascade_id\n"
                                   "  AND e.function_id = n.function_id";
    int64_t expected = (int64_t)hand->round * STEPS;
    int64_t found = 0;
    sqlite3_stmt *statement = NULL;

    if (hand->pg != NULL && PQexitPipelineMode(hand->pg) == 1) {
        found = bench_pg_number(hand->pg, sql);
    } else if (sqlite3_prepare_v2(hand->sqlite, sql, -1, &statement, NULL) ==
                   SQLITE_OK &&
               sqlite3_step(statement) == SQLITE_ROW) {
        found = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    if (found != expected)
        bench_die("by hand %lld steps were written instead of %lld",
                  (long long)found, (long long)expected);
}

static void
run_hand_round(by_hand *hand, steps *s)
{
    hand->round++;
    latency_make_uuid(hand->rows.cascade);
    raw_now_text(hand->rows.now);
    if (hand->pg != NULL)
        add_cascade_pg(hand);
    else
        add_cascade_sqlite(hand);
    for (int i = 0; i < STEPS; i++) {
        s->at_ns[i] = bench_now_ns();
        make_step(&hand->rows, i + 1);
        if (hand->pg != NULL)
            write_pg(hand);
        else
            write_sqlite(hand);
    }
    s->at_ns[STEPS] = bench_now_ns();
}

/* ---- Side by side -------------------------------------------------------- */

/* The times of a round, added to `all`; gives their p50. */
static double
take_round(const steps *s, double *all)
{
    double values[STEPS];

    for (size_t i = 0; i < STEPS; i++)
        values[i] = (double)(s->at_ns[i + 1] - s->at_ns[i]);
    memcpy(all, values, sizeof(values));
    return bench_percentile(values, STEPS, 0.5);
}

/* The times of all the rounds, and each one's p50. */
typedef struct series {
    double *all;
    double p50[BENCH_ROUNDS_MAX];
} series;

/* `hand` NULL: the engine alone. */
static void
run_rounds(const bench *b, cascade_store *store, size_t warm_up,
           steps *engine_steps, by_hand *hand, series *engine, series *manual)
{
    steps hand_steps;

    for (size_t i = 0; i < warm_up + b->rounds; i++) {
        size_t at = i < warm_up ? 0 : i - warm_up;

        run_engine_round(store);
        engine->p50[at] = take_round(engine_steps, engine->all + at * STEPS);
        if (hand == NULL)
            continue;
        run_hand_round(hand, &hand_steps);
        manual->p50[at] = take_round(&hand_steps, manual->all + at * STEPS);
    }
}

static void
measure(const bench *b, bench_kind kind, cascade_store *store, steps *s)
{
    const char *name = bench_kind_name(kind);
    series engine = {.all = bench_alloc(b->rounds * STEPS, sizeof(double))};
    series manual = {.all = bench_alloc(b->rounds * STEPS, sizeof(double))};
    double slowest = kind == BENCH_SQLITE ? SLOWEST_SQLITE_NS : SLOWEST_PG_NS;
    by_hand hand;

    if (kind != BENCH_MEMORY)
        hand_open(b, &hand, kind, "latency_hand");
    run_rounds(b, store, kind == BENCH_SQLITE ? WARM_UP_SQLITE : WARM_UP, s,
               kind == BENCH_MEMORY ? NULL : &hand, &engine, &manual);
    latency_print(name, "step", engine.all, b->rounds * STEPS);
    if (kind != BENCH_MEMORY) {
        latency_print(name, "step_by_hand", manual.all, b->rounds * STEPS);
        latency_print_max(name, "step_ratio",
                          bench_median(engine.p50, b->rounds) /
                              bench_median(manual.p50, b->rounds),
                          "x", RATIO_MAX,
                          bench_trusts(b, kind) &&
                              bench_median(manual.p50, b->rounds) <= slowest);
        check_rows(&hand);
        hand_close(&hand);
        bench_drop(b, kind, "latency_hand");
    }
    free(engine.all);
    free(manual.all);
}

void
latency_step(const bench *b, bench_kind kind)
{
    steps *s = bench_alloc(1, sizeof(*s));
    cascade_store *store = bench_open_new(b, kind, "latency");
    cascade_engine *engine = NULL;

    bench_check("open the engine", cascade_engine_open(store, NULL, &engine));
    bench_check("register",
                cascade_engine_register(engine, "steps", run_steps, s, NULL));
    bench_check("start the engine", cascade_engine_start(engine));
    measure(b, kind, store, s);
    bench_check("close the engine", cascade_engine_close(engine));
    bench_close(store);
    bench_drop(b, kind, "latency");
    free(s);
}
