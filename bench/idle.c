/* SPDX-License-Identifier: MIT
 *
 * What an engine costs that has nothing to do.
 *
 *                     parent
 *            .-----------+-----------+-----------.
 *   sqlite.empty  sqlite.parked  postgres.empty  postgres.parked
 *
 * Each child is a process with one engine in threads on a store of its own,
 * with nothing in it, or with cascades that are parked: started to run in some
 * hours. All idle at the same time, so the span is spent once. It is a multiple
 * of both a third of the lease, when the engine renews it, and of the poll
 * interval, and it begins once the engines have settled.
 *
 * On PostgreSQL each child has a database of its own, by which the server tells
 * apart what they send (pg_stat_statements, each statement of a pipeline
 * counted, BEGIN and COMMIT too). The CPU of the server is that of
 * all its processes, for both engines together. On SQLite a child counts the
 * statements that its own connections begin, and its flushes to the disk.
 */
#include "child.h"
#include "pg.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_MS 2500
#define DELAY_MS (6 * 3600 * 1000)
#define STATEMENTS_MAX 0.5 /* a second */
#define CPU_MAX 0.1        /* percent */
#define SHOWN 4            /* of the statements that come most often */

typedef struct part {
    const char *name; /* of the child, and of the figures */
    const char *base; /* the store's; on PostgreSQL the database's too */
    bench_kind kind;
    bool parked;
} part;

static const part parts[] = {
    {"sqlite.empty", "idle_empty", BENCH_SQLITE, false},
    {"sqlite.parked", "idle_parked", BENCH_SQLITE, true},
    {"postgres.empty", "idle_empty", BENCH_POSTGRES, false},
    {"postgres.parked", "idle_parked", BENCH_POSTGRES, true}};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* What `part` is measured on, with room for its conninfo. */
static bench
get_place(const bench *b, const part *p, char conninfo[BENCH_PATH_MAX])
{
    bench place = *b;

    if (p->kind != BENCH_POSTGRES)
        return place;
    snprintf(conninfo, BENCH_PATH_MAX, "%s dbname=%s", b->pg, p->base);
    place.pg = conninfo;
    return place;
}

/* ---- The child ----------------------------------------------------------- */

static atomic_ullong sqlite_statements;

static int
count_statement(unsigned type, void *context, void *statement, void *text)
{
    (void)type;
    (void)context;
    (void)statement;
    (void)text;
    atomic_fetch_add(&sqlite_statements, 1);
    return 0;
}

static int
trace_connection(sqlite3 *db, const char **error, const void *api)
{
    (void)error;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

static void
trace_sqlite(void)
{
    /* The type that the function is declared to take is not its own. */
    if (sqlite3_auto_extension((void (*)(void))trace_connection) != SQLITE_OK)
        bench_die("sqlite3_auto_extension failed");
}

/* The parent sends how long; the answers are CPU, statements and flushes. */
static void
idle(void)
{
    int64_t span_ms = bench_child_get(BENCH_CHILD_FD);
    int64_t cpu_us = bench_cpu_us();
    unsigned long long statements = atomic_load(&sqlite_statements);
    uint64_t syncs = bench_syncs();

    bench_sleep_ms(span_ms);
    cpu_us = bench_cpu_us() - cpu_us;
    statements = atomic_load(&sqlite_statements) - statements;
    syncs = bench_syncs() - syncs;
    bench_child_put(BENCH_CHILD_FD, cpu_us);
    bench_child_put(BENCH_CHILD_FD, (int64_t)statements);
    bench_child_put(BENCH_CHILD_FD, (int64_t)syncs);
}

static cascade_err
complete(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static int
run_child(const bench *b, const char *name)
{
    cascade_engine *engine = NULL;
    const part *p = parts;
    char conninfo[BENCH_PATH_MAX];
    cascade_store *store;
    bench place;

    while (strcmp(p->name, name) != 0)
        p++;
    place = get_place(b, p, conninfo);
    trace_sqlite();
    store = bench_open(&place, p->kind, p->base);
    bench_check("open the engine", cascade_engine_open(store, NULL, &engine));
    bench_check("register",
                cascade_engine_register(engine, "node", complete, NULL, NULL));
    bench_check("start the engine", cascade_engine_start(engine));
    bench_child_put(BENCH_CHILD_FD, 0);
    idle();
    bench_child_await_end(BENCH_CHILD_FD);
    bench_check("close the engine", cascade_engine_close(engine));
    bench_close(store);
    return 0;
}

/* ---- What is parked ------------------------------------------------------ */

#define PORTION 2000

static void
park(cascade_store *store, size_t count)
{
    static cascade_start_spec specs[PORTION];
    static cascade_started started[PORTION];
    cascade_start_options options = {.size = sizeof(options),
                                     .delay_ms = DELAY_MS};
    cascade_first first = {.size = sizeof(first), .node = "node"};

    for (size_t i = 0; i < PORTION; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1,
                                        .options = &options};
    for (size_t i = 0; i < count; i += PORTION)
        bench_check("start",
                    cascade_start_many(store, specs, PORTION, started));
}

static void
make_database(const bench *b, const char *name, bool make)
{
    PGconn *pg = bench_pg_connect(b);
    char sql[128];

    snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s WITH (FORCE)", name);
    bench_pg_run(pg, sql);
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s", name);
    if (make)
        bench_pg_run(pg, sql);
    PQfinish(pg);
}

/* Nothing is left for the server to do by itself later. */
static void
tidy_database(const bench *place)
{
    PGconn *pg = bench_pg_connect(place);

    bench_pg_run(pg, "VACUUM ANALYZE");
    bench_pg_run(pg, "CHECKPOINT");
    PQfinish(pg);
}

static void
prepare(const bench *b, const part *p, size_t count)
{
    char conninfo[BENCH_PATH_MAX];
    bench place = get_place(b, p, conninfo);
    cascade_store *store;

    if (p->kind == BENCH_POSTGRES)
        make_database(b, p->base, true);
    store = bench_open_new(&place, p->kind, p->base);
    if (p->parked)
        park(store, count);
    bench_close(store);
    if (p->kind == BENCH_POSTGRES)
        tidy_database(&place);
}

static void
clean_up(const bench *b, const part *p)
{
    if (p->kind == BENCH_POSTGRES)
        make_database(b, p->base, false);
    else
        bench_drop(b, p->kind, p->base);
}

/* ---- The parent ---------------------------------------------------------- */

static int64_t
get_number(PGconn *pg, const char *format, const part *p)
{
    char sql[512];

    if (pg == NULL || p->kind != BENCH_POSTGRES)
        return 0;
    snprintf(sql, sizeof(sql), format, p->base);
    return bench_pg_number(pg, sql);
}

/* Each statement's rate, the most frequent first. */
static void
show_statements(PGconn *pg, const part *p, double span_s)
{
    char sql[512];
    PGresult *result;

    snprintf(sql, sizeof(sql),
             "SELECT calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 80)\n"
             "FROM pg_stat_statements AS s\n"
             "JOIN pg_database AS d ON d.oid = s.dbid\n"
             "WHERE d.datname = '%s'\n"
             "ORDER BY calls DESC, query\n"
             "LIMIT %d",
             p->base, SHOWN);
    result = PQexec(pg, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_die("%s", PQerrorMessage(pg));
    for (int i = 0; i < PQntuples(result); i++)
        bench_note("%s: %.2f/s %s", p->name,
                   strtod(PQgetvalue(result, i, 0), NULL) / span_s,
                   PQgetvalue(result, i, 1));
    PQclear(result);
}

static void
print_rate(const part *p, const char *what, double value, double max)
{
    char name[128];

    snprintf(name, sizeof(name), "idle.%s.%s", p->name, what);
    bench_print_target(name, value, "/s", max > 0 ? BENCH_MAX : BENCH_NONE, max,
                       true);
}

static const char statements_sql[] = "SELECT coalesce(sum(calls), 0)::int8\n"
                                     "FROM pg_stat_statements AS s\n"
                                     "JOIN pg_database AS d ON d.oid = s.dbid\n"
                                     "WHERE d.datname = '%s'";

static void
print_part(PGconn *pg, const part *p, int fd, double span_s)
{
    double cpu_us = (double)bench_child_get(fd);
    double statements = (double)bench_child_get(fd);
    double syncs = (double)bench_child_get(fd);
    char name[128];

    if (p->kind == BENCH_POSTGRES) {
        statements = (double)get_number(pg, statements_sql, p);
        show_statements(pg, p, span_s);
        print_rate(p, "statements", statements / span_s, STATEMENTS_MAX);
    } else {
        print_rate(p, "statements", statements / span_s, 0);
        print_rate(p, "syncs", syncs / span_s, 0);
    }
    snprintf(name, sizeof(name), "idle.%s.cpu", p->name);
    bench_print_target(name, cpu_us / span_s / 1e4, "%", BENCH_MAX, CPU_MAX,
                       true);
}

static void
idle_together(PGconn *pg, const bench_child *children, int64_t span_ms)
{
    double span_s = (double)span_ms / 1000;
    bench_pg_figures before = {0};
    bench_pg_figures after;

    if (pg != NULL) {
        bench_pg_run(pg, "SELECT pg_stat_statements_reset()");
        before = bench_pg_get(pg);
    }
    for (size_t i = 0; i < PARTS; i++)
        if (children[i].pid != 0)
            bench_child_put(children[i].fd, span_ms);
    bench_sleep_ms(span_ms);
    if (pg != NULL) {
        after = bench_pg_get(pg);
        after = bench_pg_since(&before, &after);
        bench_print("idle.postgres.server_cpu",
                    (double)after.cpu_us / span_s / 1e4, "%");
    }
    for (size_t i = 0; i < PARTS; i++)
        if (children[i].pid != 0)
            print_part(pg, &parts[i], children[i].fd, span_s);
}

int
main(int argc, char **argv)
{
    bench_child children[PARTS] = {{0}};
    PGconn *pg = NULL;
    const char *name;
    size_t count;
    bench b;

    name = bench_child_part(&b, argc, argv);
    if (name != NULL)
        return run_child(&b, name);
    bench_init(&b, argc, argv);
    count = 100000;
    bench_note("parked: %zu cascades", count);
    for (size_t i = 0; i < PARTS; i++)
        if (bench_has(&b, parts[i].kind))
            prepare(&b, &parts[i], count);
    if (b.pg != NULL) {
        pg = bench_pg_connect(&b);
        bench_pg_run(pg, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    }
    for (size_t i = 0; i < PARTS; i++)
        if (bench_has(&b, parts[i].kind))
            children[i] = bench_child_start(&b, parts[i].name);
    for (size_t i = 0; i < PARTS; i++)
        if (children[i].pid != 0)
            bench_child_get(children[i].fd); /* it is ready */
    bench_sleep_ms(SETTLE_MS);
    idle_together(pg, children, (int64_t)bench_pick(&b, 20000, 60000, 60000));
    for (size_t i = 0; i < PARTS; i++)
        if (children[i].pid != 0) {
            bench_child_stop(&children[i]);
            clean_up(&b, &parts[i]);
        }
    PQfinish(pg);
    return 0;
}
