/* SPDX-License-Identifier: MIT
 *
 * From one process to another by libpq alone, at default settings:
 *
 *   ping    NOTIFY bench_ping -> the other, that LISTENs, wakes up from poll()
 *           NOTIFY bench_pong <- and sends one in turn
 *
 *           Nothing in this reaches the disk: a transaction that only notifies
 *           writes nothing that would have to be flushed.
 *
 *   start   what a durable start that runs elsewhere cannot do without:
 *           starter   BEGIN, cascade, run and execution, COMMIT, and a NOTIFY
 *                     in a transaction of its own, all in one exchange
 *           runner    wakes up; claims the run (a commit that is flushed);
 *                     reads the cascade's rows in a second exchange; tells the
 *                     time, as a node does
 *
 * Both use the database "postgres" of the same server: there its notifications
 * do not wake the engine's connections, nor the engine's these.
 */
#include "latency_hand.h"

#include "child.h"
#include "latency.h"
#include "pg.h"
#include "raw.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "latency_hand"

struct latency_hand {
    PGconn *pg;
};

static const char *const start_texts[] = {
    "BEGIN",
    "INSERT INTO cascades\n"
    "  (id, status, fn_id, user_id, created_at, updated_at)\n"
    "VALUES ($1, 'RUNNING', 0, 'anonymous', $2, $2)",
    "INSERT INTO cascade_runs\n"
    "  (cascade_id, queue, priority, wake_at, claim_no, takeovers)\n"
    "VALUES ($1, 'default', 0, 0, 0, 0)",
    "INSERT INTO node_executions\n"
    "  (id, node_instance_id, cascade_id, node_name, function_id,\n"
    "  input_context, location, status, started_at)\n"
    "VALUES ($1, $2, $3, 'tell', 0, '{}', 'server', 'RUNNING', $4)",
    "COMMIT",
    "NOTIFY bench_start"};

#define START_TEXTS (sizeof(start_texts) / sizeof(start_texts[0]))

static const char *const run_texts[] = {
    "UPDATE cascade_runs\n"
    "SET engine_id = $1,\n"
    "  claim_no = claim_no + 1\n"
    "WHERE engine_id IS NULL\n"
    "  AND needs IS NULL\n"
    "  AND queue = 'default'\n"
    "  AND priority = 0\n"
    "  AND wake_at <= floor(extract(epoch FROM now()) * 1000)::int8\n"
    "RETURNING cascade_id",
    "SELECT * FROM cascades WHERE id = $1",
    "SELECT * FROM node_executions WHERE cascade_id = $1",
    "SELECT * FROM context_events WHERE cascade_id = $1"};

#define RUN_TEXTS (sizeof(run_texts) / sizeof(run_texts[0]))

/* ---- Exchanges ----------------------------------------------------------- */

static bench
get_place(const bench *b, char conninfo[BENCH_PATH_MAX])
{
    bench place = *b;

    snprintf(conninfo, BENCH_PATH_MAX, "%s dbname=postgres", b->pg);
    place.pg = conninfo;
    return place;
}

static PGconn *
open_connection(const bench *b, const char *const *texts, size_t count)
{
    char conninfo[BENCH_PATH_MAX];
    bench place = get_place(b, conninfo);
    PGconn *pg = bench_pg_connect(&place);
    char name[2] = "0";

    bench_pg_run(pg, "SET search_path = " SCHEMA);
    for (size_t i = 0; i < count; i++) {
        PGresult *result;

        name[0] = (char)('0' + i);
        result = PQprepare(pg, name, texts[i], 0, NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            bench_die("by hand: %s", PQerrorMessage(pg));
        PQclear(result);
    }
    return pg;
}

/* The statement `number`, with as many parameters as come before a NULL. */
static void
send(PGconn *pg, int number, const char *const *params)
{
    char name[2] = {(char)('0' + number), '\0'};
    int count = 0;

    while (params[count] != NULL)
        count++;
    if (PQsendQueryPrepared(pg, name, count, params, NULL, NULL, 0) != 1)
        bench_die("by hand: %s", PQerrorMessage(pg));
}

/* Takes `statements` results, and one of a Sync. */
static void
receive(PGconn *pg, int statements)
{
    for (int i = 0; i < 2 * statements + 1; i++) {
        PGresult *result = PQgetResult(pg);
        ExecStatusType status = PQresultStatus(result);

        if (result != NULL && status != PGRES_COMMAND_OK &&
            status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC)
            bench_die("by hand: %s", PQerrorMessage(pg));
        PQclear(result);
    }
}

static void
await_notification(PGconn *pg)
{
    struct pollfd at = {.fd = PQsocket(pg), .events = POLLIN};

    for (;;) {
        PGnotify *notify = PQnotifies(pg);

        if (notify != NULL) {
            PQfreemem(notify);
            return;
        }
        if (poll(&at, 1, -1) < 0 && errno != EINTR)
            bench_die("poll: %s", strerror(errno));
        if (PQconsumeInput(pg) != 1)
            bench_die("by hand: %s", PQerrorMessage(pg));
    }
}

/* ---- The runner ---------------------------------------------------------- */

static void *
echo_main(void *context)
{
    PGconn *pg = context;

    for (;;) {
        await_notification(pg);
        bench_pg_run(pg, "NOTIFY bench_pong");
    }
    return NULL;
}

/* False when there was nothing to claim. */
static bool
claim(PGconn *pg, char cascade[CASCADE_UUID_TEXT_SIZE])
{
    static const char *const engine[] = {
        "019a0000-0000-7000-8000-000000000001"};
    PGresult *result = PQexecPrepared(pg, "0", 1, engine, NULL, NULL, 0);
    bool found = PQntuples(result) == 1;

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_die("by hand: %s", PQerrorMessage(pg));
    if (found)
        snprintf(cascade, CASCADE_UUID_TEXT_SIZE, "%s",
                 PQgetvalue(result, 0, 0));
    PQclear(result);
    return found;
}

static void
load(PGconn *pg, const char *cascade)
{
    const char *const params[] = {cascade, NULL};

    if (PQenterPipelineMode(pg) != 1)
        bench_die("by hand: %s", PQerrorMessage(pg));
    for (int i = 1; i < (int)RUN_TEXTS; i++)
        send(pg, i, params);
    if (PQpipelineSync(pg) != 1)
        bench_die("by hand: %s", PQerrorMessage(pg));
    receive(pg, (int)RUN_TEXTS - 1);
    if (PQexitPipelineMode(pg) != 1)
        bench_die("by hand: %s", PQerrorMessage(pg));
}

static void *
run_main(void *context)
{
    PGconn *pg = context;
    char cascade[CASCADE_UUID_TEXT_SIZE];

    for (;;) {
        await_notification(pg);
        if (!claim(pg, cascade))
            continue;
        load(pg, cascade);
        bench_child_put(BENCH_CHILD_FD, bench_now_ns());
    }
    return NULL;
}

static void
begin_thread(void *(*thread_main)(void *), PGconn *pg, const char *listen)
{
    pthread_t thread;

    bench_pg_run(pg, listen);
    if (pthread_create(&thread, NULL, thread_main, pg) != 0)
        bench_die("cannot create a thread");
    pthread_detach(thread);
}

void
latency_hand_serve(const bench *b)
{
    begin_thread(echo_main, open_connection(b, NULL, 0), "LISTEN bench_ping");
    begin_thread(run_main, open_connection(b, run_texts, RUN_TEXTS),
                 "LISTEN bench_start");
}

/* ---- The starter --------------------------------------------------------- */

latency_hand *
latency_hand_open(const bench *b)
{
    latency_hand *hand = bench_alloc(1, sizeof(*hand));
    char conninfo[BENCH_PATH_MAX];
    bench place = get_place(b, conninfo);

    bench_close(bench_open_new(&place, BENCH_POSTGRES, SCHEMA));
    hand->pg = open_connection(b, start_texts, START_TEXTS);
    bench_pg_run(hand->pg, "LISTEN bench_pong");
    return hand;
}

void
latency_hand_close(const bench *b, latency_hand *hand)
{
    char conninfo[BENCH_PATH_MAX];
    bench place = get_place(b, conninfo);

    PQfinish(hand->pg);
    bench_drop(&place, BENCH_POSTGRES, SCHEMA);
    free(hand);
}

double
latency_hand_ping(latency_hand *hand)
{
    int64_t begun_ns = bench_now_ns();

    bench_pg_run(hand->pg, "NOTIFY bench_ping");
    await_notification(hand->pg);
    return (double)(bench_now_ns() - begun_ns);
}

double
latency_hand_start(latency_hand *hand, int fd)
{
    int64_t begun_ns = bench_now_ns();
    char cascade[CASCADE_UUID_TEXT_SIZE];
    char execution[CASCADE_UUID_TEXT_SIZE];
    char now[RAW_TIME_SIZE];
    char path[96];
    const char *const params[START_TEXTS][5] = {
        {NULL},          {cascade, now, NULL},
        {cascade, NULL}, {execution, path, cascade, now, NULL},
        {NULL},          {NULL}};

    latency_make_uuid(cascade);
    latency_make_uuid(execution);
    raw_now_text(now);
    snprintf(path, sizeof(path), "%s/-/tell#1", cascade);
    if (PQenterPipelineMode(hand->pg) != 1)
        bench_die("by hand: %s", PQerrorMessage(hand->pg));
    for (size_t i = 0; i < START_TEXTS; i++) {
        send(hand->pg, (int)i, params[i]);
        if (i >= START_TEXTS - 2 && PQpipelineSync(hand->pg) != 1)
            bench_die("by hand: %s", PQerrorMessage(hand->pg));
    }
    receive(hand->pg, (int)START_TEXTS - 1);
    receive(hand->pg, 1);
    if (PQexitPipelineMode(hand->pg) != 1)
        bench_die("by hand: %s", PQerrorMessage(hand->pg));
    return (double)(bench_child_get(fd) - begun_ns);
}
