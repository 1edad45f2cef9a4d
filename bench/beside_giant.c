/* SPDX-License-Identifier: MIT */
#include "beside.h"

#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "pg.h"

#define SQL_MAX 2048
#define YEAR_MS ((int64_t)365 * 24 * 60 * 60 * 1000)
#define FAR_MS INT64_C(4102444800000) /* 2100 */
#define VALUE "{\"amount\":12,\"currency\":\"EUR\"}"

/* Ids in the order of function_id, as those of version 7 are. The next number
 * is that of the giant. */
#define PG_ID                                    \
    "(lpad(to_hex(g), 8, '0') || '-0000-7000-8'" \
    " || lpad(to_hex(%d), 15, '0'))::uuid"
#define LITE_ID "printf('%%08x-0000-7000-8000-%%012x', g, %d)"

#define NUMBERS                         \
    "WITH RECURSIVE numbers (g) AS (\n" \
    "  SELECT 1 UNION ALL SELECT g + 1 FROM numbers WHERE g < %zu)\n"

/* What a giant is made of. */
typedef struct plan {
    char id[CASCADE_UUID_TEXT_SIZE];
    size_t count;
    int number;
    bool ended;
    const char *schema; /* with its dot, or "" */
} plan;

static void
run_lite(const beside *s, const char *sql)
{
    char path[BENCH_PATH_MAX];
    sqlite3 *db = NULL;

    bench_sqlite_path(s->b, BESIDE_NAME, path);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA cache_size = -400000", NULL, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void
run(const beside *s, const char *sql)
{
    PGconn *pg = NULL;

    if (strlen(sql) >= SQL_MAX - 1)
        bench_die("a statement is too long: %s", sql);
    if (s->kind == BENCH_SQLITE) {
        run_lite(s, sql);
        return;
    }
    pg = bench_pg_connect(s->b);
    bench_pg_run(pg, sql);
    PQfinish(pg);
}

static void
add_executions(const beside *s, const plan *p)
{
    char id[256];
    char record[64];
    char sql[SQL_MAX];

    snprintf(id, sizeof(id), s->kind == BENCH_SQLITE ? LITE_ID : PG_ID,
             p->number);
    snprintf(record, sizeof(record), "{\"%s\":%lld}",
             p->ended ? "at" : "not_before",
             p->ended ? (long long)p->count : (long long)FAR_MS);
    snprintf(sql, sizeof(sql),
             NUMBERS
             "INSERT INTO %snode_executions\n"
             "  (id, cascade_id, function_id, status, node_instance_id,\n"
             "   node_name, input_context, full_output, location, started_at,\n"
             "   completed_at)\n"
             "SELECT %s, t.cascade_id, g, '%s', '%s/0/%s#' || g, '%s',\n"
             "  t.input_context, '%s', t.location, t.started_at, %s\n"
             "FROM numbers, %snode_executions AS t\n"
             "WHERE t.cascade_id = '%s' AND t.function_id = 0",
             p->count, p->schema, id, p->ended ? "COMPLETED" : "RUNNING", p->id,
             BESIDE_NODE, BESIDE_NODE, record,
             p->ended ? "t.started_at" : "NULL", p->schema, p->id);
    run(s, sql);
}

static void
add_events(const beside *s, const plan *p)
{
    char sql[SQL_MAX];

    snprintf(sql, sizeof(sql),
             NUMBERS "INSERT INTO %scontext_events\n"
                     "  (cascade_id, function_id, key, value, created_at)\n"
                     "SELECT t.cascade_id, g, 'total', '%s', t.started_at\n"
                     "FROM numbers, %snode_executions AS t\n"
                     "WHERE t.cascade_id = '%s' AND t.function_id = 0",
             p->count, p->schema, VALUE, p->schema, p->id);
    run(s, sql);
}

static void
set_row(const beside *s, const plan *p)
{
    char sql[SQL_MAX];

    snprintf(sql, sizeof(sql),
             "UPDATE %scascades SET fn_id = %zu%s\n"
             "WHERE id = '%s'",
             p->schema, p->count, p->ended ? ", status = 'COMPLETED'" : "",
             p->id);
    run(s, sql);
    if (!p->ended)
        return;
    snprintf(sql, sizeof(sql),
             "DELETE FROM %scascade_runs\n"
             "WHERE cascade_id = '%s'",
             p->schema, p->id);
    run(s, sql);
    snprintf(sql, sizeof(sql),
             "UPDATE %snode_executions\n"
             "SET status = 'COMPLETED', completed_at = started_at\n"
             "WHERE cascade_id = '%s' AND function_id = 0",
             p->schema, p->id);
    run(s, sql);
}

cascade_uuid
beside_giant(const beside *s, size_t count, cascade_status status)
{
    static int number;
    const cascade_start_options options = {.size = sizeof(options),
                                           .delay_ms = YEAR_MS};
    plan p = {.count = count,
              .number = ++number,
              .ended = status == CASCADE_COMPLETED,
              .schema = s->kind == BENCH_SQLITE ? "" : BESIDE_NAME "."};
    cascade_started started;

    bench_check("start", cascade_start(s->outside, BESIDE_NODE, NULL, &options,
                                       &started));
    cascade_uuid_format(&started.id, p.id);
    add_executions(s, &p);
    add_events(s, &p);
    set_row(s, &p);
    return started.id;
}
