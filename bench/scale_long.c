/* SPDX-License-Identifier: MIT
 *
 * What the next execution costs in a cascade that has very many already, and in
 * one that has few: the next step of a straight-line node, and the next node of
 * a chain in which each spawns the next. Each puts a value to the context.
 *
 * Four cascades run in one engine, each only when it is its turn. In between
 * their nodes wait in their function.
 */
#include "scale.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME "bench_scale_long"
#define TARGET 1.2
#define TURN 10 /* executions */
#define TURNS_MAX 20

typedef enum track_kind {
    STEP_SHORT,
    STEP_LONG,
    NODE_SHORT,
    NODE_LONG,
    TRACKS
} track_kind;

static const char *const track_names[TRACKS] = {"step.short", "step.long",
                                                "node.short", "node.long"};

/* One cascade. */
typedef struct track {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    size_t left;   /* executions it may still run */
    size_t steps;  /* recorded so far */
    size_t replay; /* of those, what it has yet to pass */
    bool idle;     /* it waits for its turn */
    bool stop;
    int64_t begun_ns; /* the last one; 0: the first of a turn */
    double us[TURN * TURNS_MAX];
    size_t count; /* of the round; more than there is room for while it grows */
    double p50[BENCH_ROUNDS_MAX];
} track;

/* Waits until there is something to run; false: leave. */
static bool
wait_turn(track *t)
{
    bool stop;

    pthread_mutex_lock(&t->mutex);
    while (t->left == 0 && !t->stop) {
        t->idle = true;
        t->begun_ns = 0;
        pthread_cond_broadcast(&t->cond);
        pthread_cond_wait(&t->cond, &t->mutex);
    }
    if (t->left > 0)
        t->left--;
    stop = t->stop;
    pthread_mutex_unlock(&t->mutex);
    return !stop;
}

static void
note(track *t, int64_t took_ns)
{
    if (t->count < TURN * TURNS_MAX)
        t->us[t->count] = (double)took_ns / 1e3;
    t->count++;
}

static void
wait_idle(track *t)
{
    pthread_mutex_lock(&t->mutex);
    while (!t->idle)
        bench_wait(&t->cond, &t->mutex, "a cascade of many executions");
    pthread_mutex_unlock(&t->mutex);
}

/* Lets it run `count` executions, and waits until that is done. */
static void
give_turn(track *t, size_t count)
{
    wait_idle(t);
    pthread_mutex_lock(&t->mutex);
    t->idle = false;
    t->left = count;
    pthread_cond_broadcast(&t->cond);
    pthread_mutex_unlock(&t->mutex);
    wait_idle(t);
}

static void
stop_track(track *t)
{
    pthread_mutex_lock(&t->mutex);
    t->stop = true;
    pthread_cond_broadcast(&t->cond);
    pthread_mutex_unlock(&t->mutex);
}

/* ---- Nodes --------------------------------------------------------------- */

static cascade_err
straight(cascade_node *node, void *user)
{
    track *t = user;

    for (; t->replay > 0; t->replay--) {
        cascade_err err =
            cascade_node_step(node, "work", bench_scale_work, NULL, NULL, NULL);

        if (err != CASCADE_OK)
            return err;
    }
    for (;;) {
        bool on = wait_turn(t);
        int64_t begun_ns = bench_now_ns();
        cascade_err err =
            cascade_node_step(node, "work", bench_scale_work, NULL, NULL, NULL);

        if (err != CASCADE_OK || !on)
            return err;
        t->steps++;
        note(t, bench_now_ns() - begun_ns);
    }
}

/* From one node of the chain to the next. */
static cascade_err
hop(cascade_node *node, void *user)
{
    track *t = user;
    int64_t now_ns = bench_now_ns();
    cascade_err err;

    if (t->begun_ns != 0)
        note(t, now_ns - t->begun_ns);
    (void)wait_turn(t);
    t->begun_ns = bench_now_ns();
    err = cascade_node_put(node, "progress", bench_scale_value());
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, cascade_node_name(node),
                              bench_scale_value(), NULL);
}

/* ---- Measuring ----------------------------------------------------------- */

static cascade_engine *
open_engine(cascade_store *store, track *tracks)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = TRACKS};
    cascade_engine *engine = NULL;

    bench_check("open the engine",
                cascade_engine_open(store, &options, &engine));
    for (int i = 0; i < TRACKS; i++)
        bench_check("register",
                    cascade_engine_register(engine, track_names[i],
                                            i < NODE_SHORT ? straight : hop,
                                            &tracks[i], NULL));
    bench_check("start the engine", cascade_engine_start(engine));
    return engine;
}

static void
start_tracks(cascade_store *store)
{
    cascade_started started;

    for (int i = 0; i < TRACKS; i++)
        bench_check("start",
                    cascade_start(store, track_names[i], NULL, NULL, &started));
}

/* In a round each has many short turns, so that what disturbs one of them
 * disturbs all. */
static void
run_round(track *tracks, size_t round, size_t turns)
{
    for (int i = 0; i < TRACKS; i++)
        tracks[i].count = 0;
    for (size_t turn = 0; turn < turns; turn++)
        for (int i = 0; i < TRACKS; i++)
            give_turn(&tracks[i], TURN);
    for (int i = 0; i < TRACKS; i++)
        tracks[i].p50[round] =
            bench_percentile(tracks[i].us, tracks[i].count, 0.5);
}

static void
print_pair(const bench *b, bench_kind kind, const char *what, track *shorter,
           track *longer)
{
    double small = bench_median(shorter->p50, b->rounds);
    double large = bench_median(longer->p50, b->rounds);
    char name[80];

    snprintf(name, sizeof(name), "scale.%s.short.%s.p50", bench_kind_name(kind),
             what);
    bench_print(name, small, "us");
    snprintf(name, sizeof(name), "scale.%s.long.%s.p50", bench_kind_name(kind),
             what);
    bench_print(name, large, "us");
    snprintf(name, sizeof(name), "scale.%s.long.%s.p50_ratio",
             bench_kind_name(kind), what);
    bench_print_target(name, large / small, "x short", BENCH_MAX, TARGET,
                       bench_trusts(b, kind));
}

/* Has the long ones run up to `count` executions; what that took of
 * memory. */
static void
grow(bench_kind kind, track *tracks, size_t count)
{
    static const track_kind longs[] = {STEP_LONG, NODE_LONG};
    char name[80];

    for (size_t i = 0; i < 2; i++) {
        int64_t before = bench_memory_bytes();

        give_turn(&tracks[longs[i]], count);
        snprintf(name, sizeof(name), "scale.%s.%s.memory",
                 bench_kind_name(kind), track_names[longs[i]]);
        bench_print(name,
                    (double)(bench_memory_bytes() - before) / (double)count,
                    "B/execution");
    }
}

/* The engine leaves all of them as they are. */
static void
close_engine(cascade_engine *engine, track *tracks)
{
    cascade_engine_request_stop(engine);
    for (int i = 0; i < TRACKS; i++)
        stop_track(&tracks[i]);
    bench_check("stop", cascade_engine_stop(engine, -1));
    bench_check("close the engine", cascade_engine_close(engine));
}

/* Another engine reads them back, and repeats what is recorded, until each is
 * where it was. */
static void
resume(bench_kind kind, cascade_store *store, track *tracks)
{
    int64_t begun_ns = bench_now_ns();
    cascade_engine *engine;
    char name[80];

    for (int i = 0; i < TRACKS; i++) {
        tracks[i].idle = false;
        tracks[i].stop = false;
        tracks[i].replay = tracks[i].steps;
    }
    engine = open_engine(store, tracks);
    for (int i = 0; i < TRACKS; i++)
        wait_idle(&tracks[i]);
    snprintf(name, sizeof(name), "scale.%s.long.resume", bench_kind_name(kind));
    bench_print(name, (double)(bench_now_ns() - begun_ns) / 1e6, "ms");
    close_engine(engine, tracks);
}

void
bench_scale_long(const bench *b, bench_kind kind)
{
    size_t count = bench_pick(b, 10000, 100000, 100000);
    track *tracks = bench_alloc(TRACKS, sizeof(*tracks));
    cascade_store *store = bench_open_new(b, kind, NAME);
    cascade_engine *engine;

    for (int i = 0; i < TRACKS; i++) {
        pthread_mutex_init(&tracks[i].mutex, NULL);
        pthread_cond_init(&tracks[i].cond, NULL);
    }
    bench_note("long: %zu executions", count);
    engine = open_engine(store, tracks);
    start_tracks(store);
    grow(kind, tracks, count);
    for (size_t i = 0; i < b->rounds; i++)
        run_round(tracks, i, bench_pick(b, 10, TURNS_MAX, TURNS_MAX));
    close_engine(engine, tracks);
    resume(kind, store, tracks);
    bench_close(store);
    print_pair(b, kind, "step", &tracks[STEP_SHORT], &tracks[STEP_LONG]);
    print_pair(b, kind, "node", &tracks[NODE_SHORT], &tracks[NODE_LONG]);
    bench_drop(b, kind, NAME);
    free(tracks);
}
