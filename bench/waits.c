/* SPDX-License-Identifier: MIT
 *
 * What cascades wait for: how fast does it come, and what does it cost?
 *
 *   signals      waits_signal.c: sent by several threads to cascades that wait
 *                in memory; the way of a lone one, from the call to the node;
 *                cascades started by their first signal
 *   children     waits_child.c: parents that start 10 children, and 1,000, and
 *                await them
 *   joins        waits_join.c: a fan-out of 1,000 branches with a join, beside
 *                the same branches without
 *   timers       waits_timer.c: many sleeps that are due at the same moment,
 *                and how late a lone one is
 *   outside      waits_outside.c: external executions that are completed,
 *                updates that are answered
 *
 * Each store has one engine, of 4 workers whose steps suspend their nodes. All
 * parts are done once a round, one after the other; the figures are medians of
 * the rounds, and percentiles of the times of all rounds. Nothing is parked:
 * what a parked cascade costs is measured by `scale`.
 *
 * Durability is full. At the end stands how many flushes there were for each
 * commit of the engine, and for each transaction of a sender where the store is
 * SQLite: there are no fewer of them. On PostgreSQL several transactions may
 * share one.
 */
#include "waits.h"

typedef struct part {
    void (*prepare)(waits *w); /* registers its nodes */
    void (*measure)(waits *w); /* one round */
} part;

static const part parts[] = {
    {waits_register_signals, waits_signals},
    {waits_register_children, waits_children},
    {waits_register_joins, waits_joins},
    {waits_register_timers, waits_timers},
    {waits_register_outside, waits_outside},
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

/* Of the server, while nobody else is connected. */
static int64_t
count_flushes(PGconn *pg)
{
    bench_pg_await_alone(pg);
    return bench_pg_get(pg).wal_syncs;
}

/* The flushes of a store since it was opened: of SQLite they are calls of this
 * process. Senders and two lanes share those of PostgreSQL. */
static void
show_flushes(bench_kind kind, double flushes, double commits,
             double submissions)
{
    if (kind == BENCH_SQLITE)
        bench_print_target("waits.sqlite.fsyncs",
                           flushes / (commits + submissions), "/commit",
                           BENCH_MIN, 1, true);
    else if (kind == BENCH_POSTGRES)
        bench_print_target("waits.postgres.flushes", flushes / commits,
                           "/commit", BENCH_MIN, 1.0 / 3, true);
}

static void
measure(const bench *b, bench_kind kind)
{
    PGconn *pg = kind == BENCH_POSTGRES ? bench_pg_connect(b) : NULL;
    int64_t flushes = pg != NULL ? count_flushes(pg) : 0;
    uint64_t syncs = bench_syncs();
    waits w = {.pg = pg};
    double commits;

    waits_open(&w, b, kind);
    for (size_t i = 0; i < PART_COUNT; i++)
        parts[i].prepare(&w);
    bench_check("start", cascade_engine_start(w.engine));
    for (size_t round = 0; round <= b->rounds; round++) {
        w.counts = round > 0;
        for (size_t i = 0; i < PART_COUNT; i++)
            parts[i].measure(&w);
    }
    commits = (double)waits_stats(&w).commits;
    waits_print(&w);
    waits_close(&w);
    show_flushes(kind,
                 pg != NULL ? (double)(count_flushes(pg) - flushes)
                            : (double)(bench_syncs() - syncs),
                 commits, w.submissions);
    if (pg != NULL)
        PQfinish(pg);
}

int
main(int argc, char **argv)
{
    bench b;

    bench_init(&b, argc, argv);
    for (int kind = BENCH_MEMORY; kind <= BENCH_POSTGRES; kind++)
        if (bench_has(&b, (bench_kind)kind))
            measure(&b, (bench_kind)kind);
    return 0;
}
