/* SPDX-License-Identifier: MIT */
#include "fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "pg.h"

#define PORTION 50000 /* cascades of one transaction */
#define SQL_MAX 2048

/* In the texts below @ is the schema with its dot, ?1 the time of the first
 * copy, ?2 and ?3 the numbers of the first and the last one. Each copy is a
 * millisecond younger than the one before. */
typedef struct portion {
    int64_t base_ms;
    int64_t first;
    int64_t last;
} portion;

/* The first text of each list copies the cascade itself. */
static void
check_copies(const portion *p, int64_t made)
{
    if (made != p->last - p->first + 1)
        bench_die("filling the tables: %lld cascades instead of %lld",
                  (long long)made, (long long)(p->last - p->first + 1));
}

static int64_t
wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- PostgreSQL ---------------------------------------------------------- */

#define PG_COPIES                                                   \
    "WITH copies AS MATERIALIZED (\n"                               \
    "  SELECT g, (lpad(to_hex($1::int8 + g), 12, '0') || '70008'\n" \
    "    || lpad(to_hex(g), 15, '0'))::uuid AS id\n"                \
    "  FROM generate_series($2::int8, $3::int8) AS g)\n"

static const char *const pg_texts[] = {
    PG_COPIES "INSERT INTO @cascades\n"
              "  (id, status, fn_id, user_id, created_at, updated_at)\n"
              "SELECT copies.id, t.status, t.fn_id, t.user_id, t.created_at,\n"
              "  t.updated_at\n"
              "FROM copies, @bench_cascades AS t\n"
              "ORDER BY copies.id",

    PG_COPIES
    "INSERT INTO @node_executions\n"
    "  (id, cascade_id, function_id, status, node_instance_id, node_name,\n"
    "   input_context, full_output, location, error, started_at,\n"
    "   completed_at)\n"
    "SELECT (lpad(to_hex($1::int8 + g), 12, '0') || '7'\n"
    "    || lpad(to_hex(t.function_id + 1), 3, '0') || '8'\n"
    "    || lpad(to_hex(g), 15, '0'))::uuid,\n"
    "  copies.id, t.function_id, t.status,\n"
    "  replace(t.node_instance_id, t.cascade_id::text, copies.id::text),\n"
    "  t.node_name, t.input_context, t.full_output, t.location, t.error,\n"
    "  t.started_at, t.completed_at\n"
    "FROM copies, @bench_executions AS t\n"
    "ORDER BY copies.id, t.function_id",

    PG_COPIES
    "INSERT INTO @context_events\n"
    "  (id, cascade_id, function_id, key, value, ui_value, created_at)\n"
    "SELECT nextval(pg_get_serial_sequence('@context_events', 'id')),\n"
    "  c.id, c.function_id, c.key, c.value, c.ui_value, c.created_at\n"
    "FROM (\n"
    "  SELECT copies.id, t.function_id, t.key, t.value, t.ui_value,\n"
    "    t.created_at\n"
    "  FROM copies, @bench_events AS t\n"
    "  ORDER BY copies.id, t.function_id, t.id) AS c",

    PG_COPIES "INSERT INTO @cascade_runs\n"
              "  (cascade_id, queue, priority, wake_at, engine_id, claim_no,\n"
              "   takeovers, needs)\n"
              "SELECT copies.id, t.queue, t.priority, t.wake_at, t.engine_id,\n"
              "  t.claim_no, t.takeovers, t.needs\n"
              "FROM copies, @bench_runs AS t\n"
              "ORDER BY copies.id",
};

/* Writes `text` with the schema in place of each '@'. */
static void
expand(const char *text, const char *schema, char sql[SQL_MAX])
{
    size_t len = 0;

    for (; *text != '\0' && len < SQL_MAX; text++) {
        int more = *text == '@'
                       ? snprintf(sql + len, SQL_MAX - len, "%s.", schema)
                       : snprintf(sql + len, SQL_MAX - len, "%c", *text);

        len += (size_t)more;
    }
    if (len >= SQL_MAX)
        bench_die("the name of the schema is too long");
}

static void
pg_run(PGconn *pg, const char *schema, const char *text)
{
    char sql[SQL_MAX];

    expand(text, schema, sql);
    bench_pg_run(pg, sql);
}

static void
pg_copy(PGconn *pg, const char *schema, const char *text, const portion *p)
{
    char sql[SQL_MAX];
    char numbers[3][24];
    const char *const values[] = {numbers[0], numbers[1], numbers[2]};
    PGresult *result;

    expand(text, schema, sql);
    snprintf(numbers[0], sizeof(numbers[0]), "%lld", (long long)p->base_ms);
    snprintf(numbers[1], sizeof(numbers[1]), "%lld", (long long)p->first);
    snprintf(numbers[2], sizeof(numbers[2]), "%lld", (long long)p->last);
    result = PQexecParams(pg, sql, 3, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        bench_die("filling the tables: %s", PQerrorMessage(pg));
    if (text == pg_texts[0])
        check_copies(p, strtoll(PQcmdTuples(result), NULL, 10));
    PQclear(result);
}

static void
pg_portion(PGconn *pg, const char *schema, const portion *p)
{
    bench_pg_run(pg, "BEGIN");
    for (size_t i = 0; i < sizeof(pg_texts) / sizeof(pg_texts[0]); i++)
        pg_copy(pg, schema, pg_texts[i], p);
    bench_pg_run(pg, "COMMIT");
}

static PGconn *
pg_begin(const bench *b, const char *schema)
{
    PGconn *pg = bench_pg_connect(b);

    bench_pg_run(pg, "SET session_replication_role = replica");
    pg_run(pg, schema,
           "CREATE TABLE @bench_cascades AS SELECT * FROM @cascades;\n"
           "CREATE TABLE @bench_executions AS SELECT * FROM @node_executions;\n"
           "CREATE TABLE @bench_events AS SELECT * FROM @context_events;\n"
           "CREATE TABLE @bench_runs AS SELECT * FROM @cascade_runs");
    return pg;
}

static void
pg_end(PGconn *pg, const char *schema)
{
    pg_run(pg, schema,
           "DROP TABLE @bench_cascades, @bench_executions, @bench_events,\n"
           "  @bench_runs");
    PQfinish(pg);
}

static void
pg_settle(const bench *b, const char *schema)
{
    static const char *const texts[] = {
        "VACUUM (ANALYZE) @cascades", "VACUUM (ANALYZE) @node_executions",
        "VACUUM (ANALYZE) @context_events", "VACUUM (ANALYZE) @cascade_runs",
        "CHECKPOINT"};
    PGconn *pg = bench_pg_connect(b);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        pg_run(pg, schema, texts[i]);
    PQfinish(pg);
}

/* ---- SQLite -------------------------------------------------------------- */

#define LITE_COPIES                                                    \
    "WITH RECURSIVE numbers (g) AS (\n"                                \
    "  SELECT ?2 UNION ALL SELECT g + 1 FROM numbers WHERE g < ?3),\n" \
    "copies (g, id) AS (\n"                                            \
    "  SELECT g, printf('%08x-%04x-7000-8000-%012x',\n"                \
    "    (?1 + g) / 65536, (?1 + g) % 65536, g)\n"                     \
    "  FROM numbers)\n"

static const char *const lite_texts[] = {
    LITE_COPIES "INSERT INTO cascades\n"
                "  (id, status, fn_id, user_id, created_at, updated_at)\n"
                "SELECT copies.id, t.status, t.fn_id, t.user_id,\n"
                "  t.created_at, t.updated_at\n"
                "FROM copies CROSS JOIN temp.bench_cascades AS t",

    LITE_COPIES
    "INSERT INTO node_executions\n"
    "  (id, cascade_id, function_id, status, node_instance_id, node_name,\n"
    "   input_context, full_output, location, error, started_at,\n"
    "   completed_at)\n"
    "SELECT printf('%08x-%04x-7%03x-8000-%012x', (?1 + g) / 65536,\n"
    "    (?1 + g) % 65536, t.function_id + 1, g),\n"
    "  copies.id, t.function_id, t.status,\n"
    "  replace(t.node_instance_id, t.cascade_id, copies.id), t.node_name,\n"
    "  t.input_context, t.full_output, t.location, t.error, t.started_at,\n"
    "  t.completed_at\n"
    "FROM copies CROSS JOIN temp.bench_executions AS t",

    LITE_COPIES
    "INSERT INTO context_events\n"
    "  (cascade_id, function_id, key, value, ui_value, created_at)\n"
    "SELECT copies.id, t.function_id, t.key, t.value, t.ui_value,\n"
    "  t.created_at\n"
    "FROM copies CROSS JOIN temp.bench_events AS t",

    LITE_COPIES "INSERT INTO cascade_runs\n"
                "  (cascade_id, queue, priority, wake_at, engine_id,\n"
                "   claim_no, takeovers, needs)\n"
                "SELECT copies.id, t.queue, t.priority, t.wake_at,\n"
                "  t.engine_id, t.claim_no, t.takeovers, t.needs\n"
                "FROM copies CROSS JOIN temp.bench_runs AS t",
};

static void
lite_run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die("%s: %s", sql, sqlite3_errmsg(db));
}

static void
lite_copy(sqlite3 *db, const char *sql, const portion *p)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        bench_die("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_bind_int64(statement, 1, p->base_ms);
    sqlite3_bind_int64(statement, 2, p->first);
    sqlite3_bind_int64(statement, 3, p->last);
    if (sqlite3_step(statement) != SQLITE_DONE)
        bench_die("filling the tables: %s", sqlite3_errmsg(db));
    if (sql == lite_texts[0])
        check_copies(p, sqlite3_changes64(db));
    sqlite3_finalize(statement);
}

static void
lite_portion(sqlite3 *db, const portion *p)
{
    lite_run(db, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < sizeof(lite_texts) / sizeof(lite_texts[0]); i++)
        lite_copy(db, lite_texts[i], p);
    lite_run(db, "COMMIT");
}

static sqlite3 *
lite_open(const bench *b, const char *name)
{
    char path[BENCH_PATH_MAX];
    sqlite3 *db = NULL;

    bench_sqlite_path(b, name, path);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        bench_die("%s: %s", path, sqlite3_errmsg(db));
    return db;
}

static sqlite3 *
lite_begin(const bench *b, const char *name)
{
    sqlite3 *db = lite_open(b, name);

    lite_run(db, "PRAGMA synchronous = OFF;\n"
                 "PRAGMA foreign_keys = OFF;\n"
                 "PRAGMA cache_size = -400000;\n"
                 "CREATE TEMP TABLE bench_cascades AS\n"
                 "  SELECT * FROM main.cascades;\n"
                 "CREATE TEMP TABLE bench_executions AS\n"
                 "  SELECT * FROM main.node_executions;\n"
                 "CREATE TEMP TABLE bench_events AS\n"
                 "  SELECT * FROM main.context_events;\n"
                 "CREATE TEMP TABLE bench_runs AS\n"
                 "  SELECT * FROM main.cascade_runs");
    return db;
}

static void
lite_settle(const bench *b, const char *name)
{
    sqlite3 *db = lite_open(b, name);

    lite_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_close(db);
    sync(); /* what was written without a flush */
}

/* ---- Both ---------------------------------------------------------------- */

static void
fill_pg(const bench *b, const char *name, portion p, int64_t count)
{
    PGconn *pg = pg_begin(b, name);

    for (; p.first < count; p.first = p.last + 1) {
        p.last = p.first + PORTION > count ? count - 1 : p.first + PORTION - 1;
        pg_portion(pg, name, &p);
    }
    pg_end(pg, name);
}

static void
fill_lite(const bench *b, const char *name, portion p, int64_t count)
{
    sqlite3 *db = lite_begin(b, name);

    for (; p.first < count; p.first = p.last + 1) {
        p.last = p.first + PORTION > count ? count - 1 : p.first + PORTION - 1;
        lite_portion(db, &p);
    }
    sqlite3_close(db);
}

void
bench_fill(const bench *b, bench_kind kind, const char *name, size_t count)
{
    portion p = {.base_ms = wall_ms() - (int64_t)count - 1000};

    if (kind == BENCH_SQLITE)
        fill_lite(b, name, p, (int64_t)count);
    else
        fill_pg(b, name, p, (int64_t)count);
    bench_fill_settle(b, kind, name);
}

void
bench_fill_settle(const bench *b, bench_kind kind, const char *name)
{
    if (kind == BENCH_SQLITE)
        lite_settle(b, name);
    else
        pg_settle(b, name);
}
