/* SPDX-License-Identifier: MIT
 *
 * Started in one process, running in another.
 *
 *   starter (this program)                runner (the same program, exec'ed)
 *   cascade_start()                       an engine, waiting in its store
 *     rows durable, others woken   ---->  wakes up, claims, loads
 *   reads the time              <-------  the node takes the time, sends it
 *
 * The figure is the time from the call of cascade_start() to the node's own, by
 * the monotonic clock that both processes share. The starter has a store and no
 * engine. Between two starts it pauses for some milliseconds, drawn by lot, so
 * that the runner is at rest and no poll is in step with the starts.
 *
 *   PostgreSQL   compared with what the server takes by itself between the same
 *                two processes (latency_hand.c): a bare round trip of
 *                notifications, which has the target, and the same durable
 *                start by hand. They take turns, one sample of each
 *   pooler       without LISTEN: the poll interval is what it takes at most
 *   SQLite       the sidecar file wakes
 *
 * The runner sends a time for each node that runs, and 0 at first, when it is
 * ready.
 */
#include "child.h"
#include "latency.h"
#include "latency_hand.h"

#include <stdlib.h>
#include <string.h>

#define WARM_UP 10
#define POLL_INTERVAL_MS 50 /* of the runner behind a pooler */
#define SQLITE_MAX_US 20000
#define NOTIFY_RATIO_MAX 1.6

/* ---- The runner ---------------------------------------------------------- */

static cascade_err
tell_time(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    bench_child_put(BENCH_CHILD_FD, bench_now_ns());
    return CASCADE_OK;
}

static bench_kind
find_kind(const char *name)
{
    bench_kind kind = BENCH_MEMORY;

    while (strcmp(bench_kind_name(kind), name) != 0 && kind != BENCH_POOLER)
        kind++;
    return kind;
}

int
latency_runner(const bench *b, const char *kind_name)
{
    cascade_engine_options options = {.size = sizeof(options)};
    bench_kind kind = find_kind(kind_name);
    cascade_engine *engine = NULL;
    cascade_store *store;

    if (kind == BENCH_POOLER)
        options.poll_interval_ms = POLL_INTERVAL_MS;
    store = bench_open(b, kind, "latency");
    bench_check("open", cascade_engine_open(store, &options, &engine));
    bench_check("register",
                cascade_engine_register(engine, "tell", tell_time, NULL, NULL));
    bench_check("start", cascade_engine_start(engine));
    if (kind == BENCH_POSTGRES)
        latency_hand_serve(b);
    bench_child_put(BENCH_CHILD_FD, 0);
    bench_child_await_end(BENCH_CHILD_FD);
    bench_check("close the engine", cascade_engine_close(engine));
    bench_close(store);
    return 0;
}

/* ---- The starter --------------------------------------------------------- */

typedef struct times {
    double *running; /* start called -> the node runs there */
    double *call;    /* of cascade_start() itself */
    double *ping;    /* the bare round trip */
    double *hand;    /* the start by hand */
    size_t count;
} times;

static void
measure_start(cascade_store *store, const bench_child *runner, double *running,
              double *call)
{
    int64_t begun_ns = bench_now_ns();
    cascade_started started;

    bench_check("start", cascade_start(store, "tell", NULL, NULL, &started));
    *call = (double)(bench_now_ns() - begun_ns);
    *running = (double)(bench_child_get(runner->fd) - begun_ns);
}

/* Long enough to come to rest; behind a pooler, anywhere in an interval. */
static void
rest(bench_kind kind)
{
    bench_sleep_ms(kind == BENCH_POOLER ? 4 + random() % POLL_INTERVAL_MS
                                        : 4 + random() % 4);
}

/* The i-th of each; the first WARM_UP of them do not count. */
static void
measure_round(bench_kind kind, cascade_store *store, const bench_child *runner,
              latency_hand *hand, times *t, size_t i)
{
    size_t at = i < WARM_UP ? 0 : i - WARM_UP;

    measure_start(store, runner, &t->running[at], &t->call[at]);
    rest(kind);
    if (hand == NULL)
        return;
    t->ping[at] = latency_hand_ping(hand);
    rest(kind);
    t->hand[at] = latency_hand_start(hand, runner->fd);
    rest(kind);
}

static void
print_times(const bench *b, bench_kind kind, times *t)
{
    const char *name = bench_kind_name(kind);
    double p50 = bench_percentile(t->running, t->count, 0.5);

    latency_print(name, "other.start_call", t->call, t->count);
    latency_print(name, "other.start_to_running", t->running, t->count);
    if (kind != BENCH_POSTGRES) {
        latency_print_max(name, "other.median", p50 / 1000, "us",
                          kind == BENCH_SQLITE ? SQLITE_MAX_US
                                               : POLL_INTERVAL_MS * 1000,
                          true);
        return;
    }
    latency_print(name, "other.notify_round_trip", t->ping, t->count);
    latency_print(name, "other.by_hand", t->hand, t->count);
    latency_print_max(name, "other.ratio",
                      p50 / bench_percentile(t->ping, t->count, 0.5), "x",
                      NOTIFY_RATIO_MAX, bench_trusts(b, kind));
    bench_print("latency.postgres.other.ratio_by_hand",
                p50 / bench_percentile(t->hand, t->count, 0.5), "x");
    bench_print("latency.postgres.other.by_hand_ratio",
                bench_percentile(t->hand, t->count, 0.5) /
                    bench_percentile(t->ping, t->count, 0.5),
                "x");
}

static size_t
get_count(const bench *b, bench_kind kind)
{
    if (kind == BENCH_POOLER)
        return bench_pick(b, 100, 1000, 1000);
    return bench_pick(b, 200, 1000, 5000);
}

void
latency_other(const bench *b, bench_kind kind)
{
    cascade_store *store = bench_open_new(b, kind, "latency");
    latency_hand *hand = kind == BENCH_POSTGRES ? latency_hand_open(b) : NULL;
    bench_child runner = bench_child_start(b, bench_kind_name(kind));
    times t = {.count = get_count(b, kind)};

    t.running = bench_alloc(t.count, sizeof(double));
    t.call = bench_alloc(t.count, sizeof(double));
    t.ping = bench_alloc(t.count, sizeof(double));
    t.hand = bench_alloc(t.count, sizeof(double));
    bench_child_get(runner.fd); /* it is ready */
    for (size_t i = 0; i < WARM_UP + t.count; i++)
        measure_round(kind, store, &runner, hand, &t, i);
    print_times(b, kind, &t);
    bench_child_stop(&runner);
    if (hand != NULL)
        latency_hand_close(b, hand);
    bench_close(store);
    bench_drop(b, kind, "latency");
    free(t.running);
    free(t.call);
    free(t.ping);
    free(t.hand);
}
