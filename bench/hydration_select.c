/* SPDX-License-Identifier: MIT */
#include "hydration_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "pg.h"

#define TABLES 3
#define PORTION 256 /* ids of one statement */
#define FETCH "FETCH 5000 FROM rows"
#define BLOCK_SIZE ((size_t)1 << 20)
#define SQL_MAX 1024
#define ID_SIZE 37

/* What was read: fields behind one another, in blocks. */
typedef struct block {
    struct block *next;
    size_t len;
    char bytes[BLOCK_SIZE];
} block;

struct bench_select {
    PGconn *pg;
    sqlite3 *db;
    const char *schema;
    char (*ids)[ID_SIZE];
    size_t id_count;
    sqlite3_stmt *by_id[TABLES];
    sqlite3_stmt *all[TABLES];
    block *kept;
    uint64_t rows;
};

static void
keep(bench_select *s, const void *bytes, size_t len)
{
    if (s->kept == NULL || s->kept->len + len > BLOCK_SIZE) {
        block *more = malloc(sizeof(*more));

        if (more == NULL || len > BLOCK_SIZE)
            bench_die("out of memory");
        more->next = s->kept;
        more->len = 0;
        s->kept = more;
    }
    memcpy(s->kept->bytes + s->kept->len, bytes, len);
    s->kept->len += len;
}

static void
forget(bench_select *s)
{
    while (s->kept != NULL) {
        block *next = s->kept->next;

        free(s->kept);
        s->kept = next;
    }
    s->rows = 0;
}

/* ---- PostgreSQL ---------------------------------------------------------- */

#define PG_CASCADES                                                     \
    "SELECT id, status::text, fn_id, user_id, created_at, updated_at\n" \
    "FROM %s.cascades\n"
#define PG_EXECUTIONS                                                         \
    "SELECT id, cascade_id, function_id, status::text, node_instance_id,\n"   \
    "  node_name, input_context::text, full_output::text, location, error,\n" \
    "  started_at, completed_at\n"                                            \
    "FROM %s.node_executions\n"
#define PG_EVENTS                                             \
    "SELECT id, cascade_id, function_id, key, value::text,\n" \
    "  ui_value::text, created_at\n"                          \
    "FROM %s.context_events\n"

static const char *const pg_by_ids[TABLES] = {
    PG_CASCADES "WHERE id = ANY ($1::uuid[])\n"
                "ORDER BY id",
    PG_EXECUTIONS "WHERE cascade_id = ANY ($1::uuid[])\n"
                  "ORDER BY cascade_id, function_id",
    PG_EVENTS "WHERE cascade_id = ANY ($1::uuid[])\n"
              "ORDER BY cascade_id, function_id, id",
};

static const char *const pg_all[TABLES] = {
    PG_CASCADES "ORDER BY id",
    PG_EXECUTIONS "ORDER BY cascade_id, function_id",
    PG_EVENTS "ORDER BY cascade_id, function_id, id",
};

static void
schema_text(const bench_select *s, const char *before, const char *text,
            char sql[SQL_MAX])
{
    char pattern[SQL_MAX];

    snprintf(pattern, sizeof(pattern), "%s%s", before, text);
    /* The texts are those above: one %s. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(sql, SQL_MAX, pattern, s->schema);
#pragma GCC diagnostic pop
}

static void
pg_open(bench_select *s, const bench *b)
{
    char sql[SQL_MAX];
    char name[8];
    PGresult *result;

    s->pg = bench_pg_connect(b);
    schema_text(s, "", "SELECT id FROM %s.cascades ORDER BY id", sql);
    result = PQexec(s->pg, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_die("%s", PQerrorMessage(s->pg));
    s->id_count = (size_t)PQntuples(result);
    s->ids = bench_alloc(s->id_count, sizeof(*s->ids));
    for (size_t i = 0; i < s->id_count; i++)
        snprintf(s->ids[i], ID_SIZE, "%s", PQgetvalue(result, (int)i, 0));
    PQclear(result);
    for (int i = 0; i < TABLES; i++) {
        schema_text(s, "", pg_by_ids[i], sql);
        snprintf(name, sizeof(name), "t%d", i);
        result = PQprepare(s->pg, name, sql, 1, NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            bench_die("%s", PQerrorMessage(s->pg));
        PQclear(result);
    }
    bench_pg_run(s->pg, "SET cursor_tuple_fraction = 1");
}

static void
pg_keep(bench_select *s, const PGresult *result)
{
    int rows = PQntuples(result);
    int columns = PQnfields(result);

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_die("%s", PQerrorMessage(s->pg));
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            keep(s, PQgetvalue(result, row, column),
                 (size_t)PQgetlength(result, row, column));
    s->rows += (uint64_t)rows;
}

static void
pg_array(const bench_select *s, size_t from, char array[PORTION * ID_SIZE + 2])
{
    size_t len = 0;

    for (size_t i = from; i < s->id_count && i < from + PORTION; i++) {
        array[len++] = i == from ? '{' : ',';
        memcpy(array + len, s->ids[i], ID_SIZE - 1);
        len += ID_SIZE - 1;
    }
    array[len++] = '}';
    array[len] = '\0';
}

static void
pg_portion(bench_select *s, size_t from)
{
    char array[PORTION * ID_SIZE + 2];
    const char *const values[] = {array};
    char name[8];

    pg_array(s, from, array);
    for (int i = 0; i < TABLES; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        if (PQsendQueryPrepared(s->pg, name, 1, values, NULL, NULL, 1) != 1)
            bench_die("%s", PQerrorMessage(s->pg));
    }
    if (PQpipelineSync(s->pg) != 1)
        bench_die("%s", PQerrorMessage(s->pg));
    for (int i = 0; i < TABLES; i++) {
        PGresult *result = PQgetResult(s->pg);

        pg_keep(s, result);
        PQclear(result);
        PQclear(PQgetResult(s->pg));
    }
    PQclear(PQgetResult(s->pg));
}

static void
pg_portions(bench_select *s)
{
    bench_pg_run(s->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    if (PQenterPipelineMode(s->pg) != 1)
        bench_die("%s", PQerrorMessage(s->pg));
    for (size_t i = 0; i < s->id_count; i += PORTION)
        pg_portion(s, i);
    if (PQexitPipelineMode(s->pg) != 1)
        bench_die("%s", PQerrorMessage(s->pg));
    bench_pg_run(s->pg, "COMMIT");
}

static void
pg_table(bench_select *s, const char *text)
{
    char sql[SQL_MAX];
    int rows = 1;

    schema_text(s, "DECLARE rows NO SCROLL CURSOR FOR\n", text, sql);
    bench_pg_run(s->pg, sql);
    while (rows > 0) {
        PGresult *result =
            PQexecParams(s->pg, FETCH, 0, NULL, NULL, NULL, NULL, 1);

        pg_keep(s, result);
        rows = PQntuples(result);
        PQclear(result);
    }
    bench_pg_run(s->pg, "CLOSE rows");
}

static void
pg_whole(bench_select *s)
{
    bench_pg_run(s->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    for (int i = 0; i < TABLES; i++)
        pg_table(s, pg_all[i]);
    bench_pg_run(s->pg, "COMMIT");
}

/* ---- SQLite -------------------------------------------------------------- */

#define LITE_CASCADES                                             \
    "SELECT id, status, fn_id, user_id, created_at, updated_at\n" \
    "FROM cascades\n"
#define LITE_EXECUTIONS                                                       \
    "SELECT id, cascade_id, function_id, status, node_instance_id,\n"         \
    "  node_name, input_context, full_output, location, error, started_at,\n" \
    "  completed_at\n"                                                        \
    "FROM node_executions\n"
#define LITE_EVENTS                                                          \
    "SELECT id, cascade_id, function_id, key, value, ui_value, created_at\n" \
    "FROM context_events\n"

static const char *const lite_by_id[TABLES] = {
    LITE_CASCADES "WHERE id = ?1",
    LITE_EXECUTIONS "WHERE cascade_id = ?1\n"
                    "ORDER BY function_id",
    LITE_EVENTS "WHERE cascade_id = ?1\n"
                "ORDER BY function_id, id",
};

static const char *const lite_all[TABLES] = {
    LITE_CASCADES "ORDER BY id",
    LITE_EXECUTIONS "ORDER BY cascade_id, function_id",
    LITE_EVENTS "ORDER BY cascade_id, function_id, id",
};

static sqlite3_stmt *
lite_prepare(bench_select *s, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK)
        bench_die("%s: %s", sql, sqlite3_errmsg(s->db));
    return statement;
}

static void
lite_open(bench_select *s, const bench *b, const char *name)
{
    char path[BENCH_PATH_MAX];
    sqlite3_stmt *ids;

    bench_sqlite_path(b, name, path);
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        bench_die("%s: %s", path, sqlite3_errmsg(s->db));
    sqlite3_wal_autocheckpoint(s->db, 0);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    ids = lite_prepare(s, "SELECT count(*) FROM cascades");
    if (sqlite3_step(ids) != SQLITE_ROW)
        bench_die("%s", sqlite3_errmsg(s->db));
    s->ids = bench_alloc((size_t)sqlite3_column_int64(ids, 0), ID_SIZE);
    sqlite3_finalize(ids);
    ids = lite_prepare(s, "SELECT id FROM cascades ORDER BY id");
    while (sqlite3_step(ids) == SQLITE_ROW)
        snprintf(s->ids[s->id_count++], ID_SIZE, "%s",
                 (const char *)sqlite3_column_text(ids, 0));
    if (sqlite3_finalize(ids) != SQLITE_OK)
        bench_die("%s", sqlite3_errmsg(s->db));
    for (int i = 0; i < TABLES; i++) {
        s->by_id[i] = lite_prepare(s, lite_by_id[i]);
        s->all[i] = lite_prepare(s, lite_all[i]);
    }
}

static void
lite_run(bench_select *s, const char *sql)
{
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die("%s: %s", sql, sqlite3_errmsg(s->db));
}

static void
lite_keep(bench_select *s, sqlite3_stmt *statement)
{
    int columns = sqlite3_column_count(statement);
    int result = sqlite3_step(statement);

    for (; result == SQLITE_ROW; result = sqlite3_step(statement)) {
        for (int i = 0; i < columns; i++) {
            int64_t number;

            if (sqlite3_column_type(statement, i) == SQLITE_TEXT) {
                keep(s, sqlite3_column_text(statement, i),
                     (size_t)sqlite3_column_bytes(statement, i));
                continue;
            }
            number = sqlite3_column_int64(statement, i);
            keep(s, &number, sizeof(number));
        }
        s->rows++;
    }
    if (result != SQLITE_DONE)
        bench_die("reading: %s", sqlite3_errmsg(s->db));
    sqlite3_reset(statement);
}

static void
lite_read(bench_select *s, bench_select_way way)
{
    size_t times = way == BENCH_SELECT_ALL ? 1 : s->id_count;

    lite_run(s, "BEGIN");
    for (size_t i = 0; i < times; i++)
        for (int t = 0; t < TABLES; t++) {
            if (way == BENCH_SELECT_ALL) {
                lite_keep(s, s->all[t]);
                continue;
            }
            sqlite3_bind_text(s->by_id[t], 1, s->ids[i], ID_SIZE - 1,
                              SQLITE_STATIC);
            lite_keep(s, s->by_id[t]);
        }
    lite_run(s, "COMMIT");
}

/* ---- Both ---------------------------------------------------------------- */

bench_select *
bench_select_open(const bench *b, bench_kind kind, const char *name)
{
    bench_select *s = bench_alloc(1, sizeof(*s));

    s->schema = name;
    if (kind == BENCH_SQLITE)
        lite_open(s, b, name);
    else
        pg_open(s, b);
    return s;
}

void
bench_select_close(bench_select *s)
{
    for (int i = 0; i < TABLES; i++) {
        sqlite3_finalize(s->by_id[i]);
        sqlite3_finalize(s->all[i]);
    }
    sqlite3_close(s->db);
    PQfinish(s->pg);
    free(s->ids);
    free(s);
}

int64_t
bench_select_read(bench_select *s, bench_select_way way, uint64_t *rows)
{
    int64_t begun_ns = bench_now_ns();
    int64_t took_ns;

    if (s->db != NULL)
        lite_read(s, way);
    else if (way == BENCH_SELECT_ALL)
        pg_whole(s);
    else
        pg_portions(s);
    took_ns = bench_now_ns() - begun_ns;
    *rows = s->rows;
    forget(s);
    return took_ns;
}
