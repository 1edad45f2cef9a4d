/* SPDX-License-Identifier: MIT
 *
 * Each connection has a thread of its own, prepared statements, the pipeline
 * mode and one Sync a transaction. The three methods differ in how rows become
 * statements; parameters are binary, arrays are put together again by unnest().
 */
#include "raw.h"

#include <arpa/inet.h>
#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pg.h"

#define COLUMNS_MAX 10
#define EPOCH_2000_MS INT64_C(946684800000)

/* Rows of one table, column by column; RAW_ROWS sends them one by one. */
typedef struct column {
    char *bytes; /* the binary array */
    size_t len;
    size_t room;
} column;

typedef struct table {
    const char *types; /* of the columns: u i l t x, x being text */
    column columns[COLUMNS_MAX];
    size_t count;
} table;

typedef enum table_id {
    NEW_CASCADES,
    NEW_RUNS,
    NEW_EXECUTIONS,
    NEW_EVENTS,
    OLD_EXECUTIONS,
    OLD_CASCADES,
    OLD_RUNS,
    TABLES
} table_id;

static const char *const table_types[TABLES] = {
    [NEW_CASCADES] = "uxixtt",
    [NEW_RUNS] = "uxilul",
    [NEW_EXECUTIONS] = "uuixxxxxtt",
    [NEW_EVENTS] = "uixxt",
    [OLD_EXECUTIONS] = "uixxt",
    [OLD_CASCADES] = "uxit",
    [OLD_RUNS] = "u",
};

/* '%' stands for the parameters: FROM unnest(...) or VALUES (...). */
static const char *const table_texts[TABLES] = {
    [NEW_CASCADES] = "INSERT INTO cascades\n"
                     "  (id, status, fn_id, user_id, created_at, updated_at)\n"
                     "SELECT g.a, g.b::cascade_status, g.c, g.d, g.e, g.f\n%",
    [NEW_RUNS] = "INSERT INTO cascade_runs\n"
                 "  (cascade_id, queue, priority, wake_at, engine_id,\n"
                 "   claim_no, takeovers)\n"
                 "SELECT g.a, g.b, g.c, g.d, g.e, g.f, 0\n%",
    [NEW_EXECUTIONS] =
        "INSERT INTO node_executions\n"
        "  (id, cascade_id, function_id, status, node_instance_id,\n"
        "   node_name, input_context, full_output, location, started_at,\n"
        "   completed_at)\n"
        "SELECT g.a, g.b, g.c, g.d::execution_status, g.e, g.f, g.g::jsonb,\n"
        "  g.h::jsonb, '" RAW_LOCATION "', g.i, g.j\n%",
    [NEW_EVENTS] = "INSERT INTO context_events\n"
                   "  (cascade_id, function_id, key, value, created_at)\n"
                   "SELECT g.a, g.b, g.c, g.d::jsonb, g.e\n%",
    [OLD_EXECUTIONS] = "UPDATE node_executions AS n\n"
                       "SET status = g.c::execution_status,\n"
                       "  full_output = g.d::jsonb, completed_at = g.e\n%"
                       "WHERE n.cascade_id = g.a AND n.function_id = g.b\n"
                       "  AND n.status = 'RUNNING'",
    [OLD_CASCADES] = "UPDATE cascades AS n\n"
                     "SET status = g.b::cascade_status, fn_id = g.c,\n"
                     "  updated_at = g.d\n%"
                     "WHERE n.id = g.a",
    [OLD_RUNS] = "DELETE FROM cascade_runs AS n\n"
                 "USING %"
                 "WHERE n.cascade_id = g.a",
};

/* Which tables a commit of each kind writes: for the CTE. */
typedef enum commit_kind {
    START,
    MIDDLE,
    END,
    COMMITS
} commit_kind;

typedef struct writer {
    pthread_t thread;
    PGconn *pg;
    const raw_work *work;
    pthread_barrier_t *barrier;
    raw_cascade *cascades;
    table tables[TABLES];
    uint64_t seed;
    int64_t now_us; /* as PostgreSQL counts */
    cascade_uuid engine;
    size_t sent;
    int64_t begun_ns; /* as it has passed the barrier */
} writer;

/* ---- Columns ------------------------------------------------------------- */

static unsigned
type_oid(char type)
{
    const char *names = "uiltx";
    static const unsigned oids[] = {2950, 23, 20, 1114, 25};

    return oids[strchr(names, type) - names];
}

static const char *
type_name(char type)
{
    const char *names = "uiltx";
    static const char *const types[] = {"uuid", "int4", "int8", "timestamp",
                                        "text"};

    return types[strchr(names, type) - names];
}

static void
add_bytes(column *c, const void *bytes, size_t len)
{
    if (c->len + len > c->room) {
        c->room = (c->len + len) * 2;
        c->bytes = realloc(c->bytes, c->room);
        if (c->bytes == NULL)
            bench_die("out of memory");
    }
    memcpy(c->bytes + c->len, bytes, len);
    c->len += len;
}

static void
add_u32(column *c, uint32_t number)
{
    uint32_t wire = htonl(number);

    add_bytes(c, &wire, sizeof(wire));
}

static void
clear(table *t, const char *types)
{
    t->types = types;
    t->count = 0;
    for (size_t i = 0; types[i] != '\0'; i++) {
        t->columns[i].len = 0;
        add_u32(&t->columns[i], 1);
        add_u32(&t->columns[i], 1); /* there may be NULLs */
        add_u32(&t->columns[i], type_oid(types[i]));
        add_u32(&t->columns[i], 0);
        add_u32(&t->columns[i], 1);
    }
}

static void
add(table *t, size_t at, const void *bytes, size_t len)
{
    column *c = &t->columns[at];
    uint32_t wire = htonl((uint32_t)(t->count + 1));

    memcpy(c->bytes + 12, &wire, sizeof(wire));
    add_u32(c, bytes == NULL ? UINT32_MAX : (uint32_t)len);
    if (bytes != NULL)
        add_bytes(c, bytes, len);
}

static void
add_text(table *t, size_t at, const char *text)
{
    add(t, at, text, text == NULL ? 0 : strlen(text));
}

static void
add_id(table *t, size_t at, const cascade_uuid *id)
{
    add(t, at, id->bytes, sizeof(id->bytes));
}

static void
add_int(table *t, size_t at, size_t number)
{
    uint32_t wire = htonl((uint32_t)number);

    add(t, at, &wire, sizeof(wire));
}

static void
add_long(table *t, size_t at, int64_t number)
{
    uint64_t wire = htobe64((uint64_t)number);

    add(t, at, &wire, sizeof(wire));
}

/* ---- Rows ---------------------------------------------------------------- */

static void
new_cascade(writer *w, const raw_cascade *cascade)
{
    table *t = &w->tables[NEW_CASCADES];

    add_id(t, 0, &cascade->id);
    add_text(t, 1, "RUNNING");
    add_int(t, 2, 0);
    add_text(t, 3, RAW_USER);
    add_long(t, 4, w->now_us);
    add_long(t, 5, w->now_us);
    t->count++;
    t = &w->tables[NEW_RUNS];
    add_id(t, 0, &cascade->id);
    add_text(t, 1, RAW_QUEUE);
    add_int(t, 2, 0);
    add_long(t, 3, w->now_us / 1000);
    add_id(t, 4, &w->engine);
    add_long(t, 5, 1);
    t->count++;
}

static void
new_execution(writer *w, const raw_cascade *cascade, size_t function_id,
              bool completed)
{
    char path[RAW_TEXT_MAX], input[RAW_TEXT_MAX], output[RAW_TEXT_MAX];
    table *t = &w->tables[NEW_EXECUTIONS];
    cascade_uuid id = raw_id(&w->seed);

    add_id(t, 0, &id);
    add_id(t, 1, &cascade->id);
    add_int(t, 2, function_id);
    add_text(t, 3, completed ? "COMPLETED" : "RUNNING");
    add_text(t, 4, raw_path(path, cascade, w->work->style, function_id));
    add_text(t, 5, raw_node_name(w->work->style, function_id));
    add_text(t, 6, raw_input(input, w->work, function_id));
    add_text(t, 7,
             completed          ? raw_output(output, w->work, function_id)
             : function_id == 0 ? RAW_FIRST_OUTPUT
                                : NULL);
    add_long(t, 8, w->now_us);
    if (completed)
        add_long(t, 9, w->now_us);
    else
        add_text(t, 9, NULL);
    t->count++;
}

static void
new_event(writer *w, const raw_cascade *cascade, size_t function_id)
{
    table *t = &w->tables[NEW_EVENTS];

    add_id(t, 0, &cascade->id);
    add_int(t, 1, function_id);
    add_text(t, 2, RAW_KEY);
    add_text(t, 3, RAW_VALUE);
    add_long(t, 4, w->now_us);
    t->count++;
}

static void
old_execution(writer *w, const raw_cascade *cascade, size_t function_id)
{
    char output[RAW_TEXT_MAX];
    table *t = &w->tables[OLD_EXECUTIONS];

    add_id(t, 0, &cascade->id);
    add_int(t, 1, function_id);
    add_text(t, 2, "COMPLETED");
    add_text(t, 3, raw_output(output, w->work, function_id));
    add_long(t, 4, w->now_us);
    t->count++;
}

static void
old_cascade(writer *w, const raw_cascade *cascade, size_t fn_id, bool end)
{
    table *t = &w->tables[OLD_CASCADES];

    add_id(t, 0, &cascade->id);
    add_text(t, 1, end ? "COMPLETED" : "RUNNING");
    add_int(t, 2, fn_id);
    add_long(t, 3, w->now_us);
    t->count++;
    if (!end)
        return;
    add_id(&w->tables[OLD_RUNS], 0, &cascade->id);
    w->tables[OLD_RUNS].count++;
}

/* Commit `at` of a cascade: 0 is the start. */
static void
advance(writer *w, const raw_cascade *cascade, size_t at)
{
    size_t steps = w->work->steps;

    if (at == 0) {
        new_cascade(w, cascade);
        new_execution(w, cascade, 0, false);
    } else if (w->work->style == RAW_GRAPH) {
        old_execution(w, cascade, at - 1);
        if (at < steps)
            new_execution(w, cascade, at, false);
        old_cascade(w, cascade, at < steps ? at : at - 1, at == steps);
    } else if (at <= steps) {
        new_execution(w, cascade, at, true);
        new_event(w, cascade, at);
        old_cascade(w, cascade, at, false);
    } else {
        old_execution(w, cascade, 0);
        old_cascade(w, cascade, steps, true);
    }
}

/* ---- Statements ---------------------------------------------------------- */

static size_t
append(char *sql, size_t len, size_t room, const char *text)
{
    int more = snprintf(sql + len, room - len, "%s", text);

    if (more < 0 || len + (size_t)more >= room)
        bench_die("a statement is too long");
    return len + (size_t)more;
}

/* The parameters of a table from number `first` on. */
static size_t
append_source(char *sql, size_t len, size_t room, table_id id, bool arrays,
              size_t first)
{
    const char *types = table_types[id];
    char piece[48];

    len = append(sql, len, room, id == OLD_RUNS ? "" : "FROM ");
    len = append(sql, len, room, arrays ? "unnest(" : "(VALUES (");
    for (size_t i = 0; types[i] != '\0'; i++) {
        snprintf(piece, sizeof(piece), "%s$%zu::%s%s", i == 0 ? "" : ", ",
                 first + i, type_name(types[i]), arrays ? "[]" : "");
        len = append(sql, len, room, piece);
    }
    len = append(sql, len, room, arrays ? ") AS g (" : ")) AS g (");
    for (size_t i = 0; types[i] != '\0'; i++) {
        snprintf(piece, sizeof(piece), "%s%c", i == 0 ? "" : ", ",
                 (char)('a' + i));
        len = append(sql, len, room, piece);
    }
    return append(sql, len, room, ")\n");
}

static size_t
append_table(char *sql, size_t len, size_t room, table_id id, bool arrays,
             size_t first)
{
    const char *mark = strchr(table_texts[id], '%');
    char before[1024];

    snprintf(before, sizeof(before), "%.*s", (int)(mark - table_texts[id]),
             table_texts[id]);
    len = append(sql, len, room, before);
    len = append_source(sql, len, room, id, arrays, first);
    return append(sql, len, room, mark + 1);
}

/* The tables that a commit writes; TABLES ends the list. */
static const table_id *
commit_tables(raw_style style, commit_kind kind)
{
    static const table_id start[] = {NEW_CASCADES, NEW_RUNS, NEW_EXECUTIONS,
                                     TABLES};
    static const table_id line[] = {NEW_EXECUTIONS, NEW_EVENTS, OLD_CASCADES,
                                    TABLES};
    static const table_id graph[] = {OLD_EXECUTIONS, NEW_EXECUTIONS,
                                     OLD_CASCADES, TABLES};
    static const table_id end[] = {OLD_EXECUTIONS, OLD_CASCADES, OLD_RUNS,
                                   TABLES};

    if (kind == START)
        return start;
    if (kind == END)
        return end;
    return style == RAW_LINE ? line : graph;
}

static const char *const fence = "UPDATE cascade_lanes SET batch = batch + 1\n"
                                 "WHERE engine_id = $1::uuid AND lane = 0";

static void
prepare(writer *w, const char *name, const char *sql)
{
    PGresult *result = PQprepare(w->pg, name, sql, 0, NULL);

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        bench_die("%s\n%s", sql, PQerrorMessage(w->pg));
    PQclear(result);
}

static void
prepare_cte(writer *w, commit_kind kind, char *sql, size_t room)
{
    const table_id *tables = commit_tables(w->work->style, kind);
    char name[16];
    size_t first = 2;
    size_t len = append(sql, 0, room, "WITH fence AS (");

    len = append(sql, len, room, fence);
    for (; *tables != TABLES; tables++) {
        snprintf(name, sizeof(name), "),\nt%d AS (", (int)*tables);
        len = append(sql, len, room, name);
        len = append_table(sql, len, room, *tables, true, first);
        first += strlen(table_types[*tables]);
    }
    append(sql, len, room, ")\nSELECT 1");
    snprintf(name, sizeof(name), "c%d", (int)kind);
    prepare(w, name, sql);
}

static void
prepare_all(writer *w)
{
    char sql[8192];
    char name[8];

    prepare(w, "begin", "BEGIN");
    prepare(w, "commit", "COMMIT");
    prepare(w, "fence", fence);
    for (size_t i = 0; i < TABLES; i++) {
        append_table(sql, 0, sizeof(sql), (table_id)i,
                     w->work->method != RAW_ROWS, 1);
        snprintf(name, sizeof(name), "t%zu", i);
        prepare(w, name, sql);
    }
    for (int kind = START; w->work->method == RAW_CTE && kind < COMMITS; kind++)
        prepare_cte(w, (commit_kind)kind, sql, sizeof(sql));
}

/* ---- Sending ------------------------------------------------------------- */

typedef struct params {
    const char *values[64];
    int lens[64];
    int formats[64];
    int count;
} params;

static void
add_param(params *p, const char *bytes, size_t len)
{
    p->values[p->count] = bytes;
    p->lens[p->count] = (int)len;
    p->formats[p->count++] = 1;
}

static void
send_call(writer *w, const char *name, const params *p)
{
    int sent = p == NULL
                   ? PQsendQueryPrepared(w->pg, name, 0, NULL, NULL, NULL, 1)
                   : PQsendQueryPrepared(w->pg, name, p->count, p->values,
                                         p->lens, p->formats, 1);

    if (sent != 1)
        bench_die("send: %s", PQerrorMessage(w->pg));
    w->sent++;
}

static void
add_arrays(params *p, const table *t)
{
    for (size_t i = 0; t->types[i] != '\0'; i++)
        add_param(p, t->columns[i].bytes, t->columns[i].len);
}

/* One statement for each row: its parts are cut out of the arrays. */
static void
send_rows(writer *w, const char *name, const table *t)
{
    size_t at[COLUMNS_MAX];

    for (size_t i = 0; i < COLUMNS_MAX; i++)
        at[i] = 20;
    for (size_t row = 0; row < t->count; row++) {
        params p = {.count = 0};

        for (size_t i = 0; t->types[i] != '\0'; i++) {
            const char *cell = t->columns[i].bytes + at[i];
            uint32_t wire;

            memcpy(&wire, cell, sizeof(wire));
            wire = ntohl(wire);
            at[i] += 4 + (wire == UINT32_MAX ? 0 : wire);
            add_param(&p, wire == UINT32_MAX ? NULL : cell + 4,
                      wire == UINT32_MAX ? 0 : wire);
        }
        send_call(w, name, &p);
    }
}

static void
send_tables(writer *w, const params *fence_params)
{
    char name[8];

    send_call(w, "begin", NULL);
    send_call(w, "fence", fence_params);
    for (size_t i = 0; i < TABLES; i++) {
        params p = {.count = 0};

        snprintf(name, sizeof(name), "t%zu", i);
        if (w->tables[i].count == 0)
            continue;
        if (w->work->method == RAW_ROWS) {
            send_rows(w, name, &w->tables[i]);
            continue;
        }
        add_arrays(&p, &w->tables[i]);
        send_call(w, name, &p);
    }
    send_call(w, "commit", NULL);
}

static void
receive(writer *w)
{
    PGresult *sync;

    for (; w->sent > 0; w->sent--) {
        PGresult *result = PQgetResult(w->pg);
        ExecStatusType status = PQresultStatus(result);

        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            bench_die("ceiling: %s", PQerrorMessage(w->pg));
        PQclear(result);
        if (PQgetResult(w->pg) != NULL)
            bench_die("ceiling: a result too many");
    }
    sync = PQgetResult(w->pg);
    if (PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
        bench_die("ceiling: %s", PQerrorMessage(w->pg));
    PQclear(sync);
}

static void
commit(writer *w, commit_kind kind)
{
    params fence_params = {.count = 0};
    char name[16];

    add_param(&fence_params, (const char *)w->engine.bytes, 16);
    if (w->work->method == RAW_CTE) {
        const table_id *tables = commit_tables(w->work->style, kind);

        for (; *tables != TABLES; tables++)
            add_arrays(&fence_params, &w->tables[*tables]);
        snprintf(name, sizeof(name), "c%d", (int)kind);
        send_call(w, name, &fence_params);
    } else {
        send_tables(w, &fence_params);
    }
    if (PQpipelineSync(w->pg) != 1)
        bench_die("send: %s", PQerrorMessage(w->pg));
    receive(w);
}

static void
run_group(writer *w)
{
    size_t commits = raw_style_commits(w->work->style, w->work->steps);

    for (size_t i = 0; i < w->work->batch; i++)
        w->cascades[i] = raw_cascade_make(&w->seed);
    for (size_t at = 0; at < commits; at++) {
        for (size_t i = 0; i < TABLES; i++)
            clear(&w->tables[i], table_types[i]);
        w->now_us = (raw_now_ms() - EPOCH_2000_MS) * 1000;
        for (size_t i = 0; i < w->work->batch; i++)
            advance(w, &w->cascades[i], at);
        commit(w, at == 0 ? START : at == commits - 1 ? END : MIDDLE);
    }
}

static void *
run_thread(void *context)
{
    writer *w = context;

    pthread_barrier_wait(w->barrier);
    w->begun_ns = bench_now_ns();
    for (size_t i = 0; i < w->work->groups; i++)
        run_group(w);
    return NULL;
}

/* ---- Connections --------------------------------------------------------- */

struct raw_postgres {
    const raw_work *work;
    writer *writers; /* one for each connection */
    pthread_barrier_t barrier;
};

static void
open_writer(const bench *b, const char *name, writer *w)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char sql[256];

    w->cascades = bench_alloc(w->work->batch, sizeof(raw_cascade));
    w->pg = bench_pg_connect(b);
    w->engine = raw_id(&w->seed);
    snprintf(sql, sizeof(sql), "SET search_path = %s", name);
    bench_pg_run(w->pg, sql);
    bench_pg_run(w->pg, "SET synchronous_commit = on");
    /* As the engine's: each statement is a look-up by key, planned once. */
    bench_pg_run(w->pg, "SET plan_cache_mode = force_generic_plan;\n"
                        "SET enable_seqscan = off;\n"
                        "SET enable_bitmapscan = off;\n"
                        "SET enable_hashjoin = off;\n"
                        "SET enable_mergejoin = off;\n"
                        "SET enable_material = off;\n"
                        "SET jit = off");
    snprintf(sql, sizeof(sql),
             "INSERT INTO cascade_lanes (engine_id, lane, batch)\n"
             "VALUES ('%s', 0, 0)",
             cascade_uuid_format(&w->engine, id));
    bench_pg_run(w->pg, sql);
    prepare_all(w);
    if (PQenterPipelineMode(w->pg) != 1)
        bench_die("pipeline mode: %s", PQerrorMessage(w->pg));
}

static void
close_writer(writer *w)
{
    PQfinish(w->pg);
    free(w->cascades);
    for (size_t i = 0; i < TABLES; i++)
        for (size_t j = 0; j < COLUMNS_MAX; j++)
            free(w->tables[i].columns[j].bytes);
}

raw_postgres *
raw_postgres_open(const bench *b, const char *name, const raw_work *work)
{
    raw_postgres *r = bench_alloc(1, sizeof(*r));

    r->work = work;
    r->writers = bench_alloc(work->connections, sizeof(writer));
    for (size_t i = 0; i < work->connections; i++) {
        r->writers[i].work = work;
        r->writers[i].barrier = &r->barrier;
        r->writers[i].seed = ((uint64_t)bench_now_ns() << 8) + i + 1;
        open_writer(b, name, &r->writers[i]);
    }
    return r;
}

double
raw_postgres_run(raw_postgres *r)
{
    size_t count = r->work->connections;
    int64_t begun_ns = INT64_MAX;
    int64_t ended_ns;

    pthread_barrier_init(&r->barrier, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&r->writers[i].thread, NULL, run_thread,
                           &r->writers[i]))
            bench_die("no thread");
    for (size_t i = 0; i < count; i++)
        pthread_join(r->writers[i].thread, NULL);
    ended_ns = bench_now_ns();
    pthread_barrier_destroy(&r->barrier);
    for (size_t i = 0; i < count; i++)
        if (r->writers[i].begun_ns < begun_ns)
            begun_ns = r->writers[i].begun_ns;
    return (double)(ended_ns - begun_ns) / 1e9;
}

void
raw_postgres_close(raw_postgres *r)
{
    for (size_t i = 0; i < r->work->connections; i++)
        close_writer(&r->writers[i]);
    free(r->writers);
    free(r);
}
