/* SPDX-License-Identifier: MIT
 *
 * What limits of a queue cost, and what they keep apart.
 *
 *   limits.KIND.none            cascades of one node a second, started by
 *                               hundreds, in a queue without limits
 *   limits.KIND.unreached       in one with a maximum that is never reached
 *   limits.KIND.unreached.ratio of the first
 *   limits.KIND.one_key         cascades a second with a maximum of 8, and
 *                               1,000 that wait by one key
 *   limits.KIND.many_keys       the same where many wait by 10,000 keys
 *   limits.KIND.many_keys.ratio time of one, of that before
 *   limits.KIND.alone           p99 from start to end of one user's, one at a
 *                               time, with a maximum of 4
 *   limits.KIND.beside          the same while another user's wait
 *   limits.KIND.beside.ratio    of the one before
 *
 * How many wait: 10,000 (--quick), 100,000, 1,000,000 (--full), or --count.
 */
#include "bench.h"

#include <cascade/manage.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE "kept"
#define GROUP 100 /* started by one call */
#define KEYS 10000
#define KEY_SIZE 24

/* A store with an engine, whose only node counts how often it was called. */
typedef struct stage {
    cascade_store *store;
    cascade_engine *engine;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    size_t count;
    size_t wanted;
} stage;

static cascade_err
count_call(cascade_node *node, void *context)
{
    stage *s = context;

    (void)node;
    pthread_mutex_lock(&s->mutex);
    if (++s->count >= s->wanted)
        pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->mutex);
    return CASCADE_OK;
}

/* Without an engine yet; no limits where `running_max` is below 0. */
static void
open_stage(const bench *b, bench_kind kind, const char *name, stage *s,
           int running_max)
{
    const cascade_queue_limits limits = {.size = sizeof(limits),
                                         .running_max = running_max};

    memset(s, 0, sizeof(*s));
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->ended, NULL);
    s->store = bench_open_new(b, kind, name);
    if (running_max >= 0)
        bench_check("set limits",
                    cascade_queue_set(s->store, QUEUE, &limits, NULL));
}

static void
begin_engine(stage *s)
{
    static const char *const queues[] = {QUEUE};
    const cascade_engine_options options = {
        .size = sizeof(options), .queues = queues, .queue_count = 1};

    bench_check("open the engine",
                cascade_engine_open(s->store, &options, &s->engine));
    bench_check("register", cascade_engine_register(s->engine, "node",
                                                    count_call, s, NULL));
    bench_check("start the engine", cascade_engine_start(s->engine));
}

static void
close_stage(const bench *b, bench_kind kind, const char *name, stage *s)
{
    if (s->engine != NULL)
        cascade_engine_close(s->engine);
    bench_close(s->store);
    bench_drop(b, kind, name);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->mutex);
}

/* A group, whose keys go round. */
static void
start_group(const stage *s, size_t first, size_t keys)
{
    static const cascade_first node = {.size = sizeof(node), .node = "node"};
    cascade_start_options options[GROUP];
    cascade_start_spec specs[GROUP];
    cascade_started started[GROUP];
    char names[GROUP][KEY_SIZE];

    for (size_t i = 0; i < GROUP; i++) {
        (void)snprintf(names[i], KEY_SIZE, "key-%zu", (first + i) % keys);
        options[i] = (cascade_start_options){
            .size = sizeof(options[i]), .queue = QUEUE, .limit_key = names[i]};
        specs[i] = (cascade_start_spec){.size = sizeof(specs[i]),
                                        .first = &node,
                                        .first_count = 1,
                                        .options = &options[i]};
    }
    bench_check("start", cascade_start_many(s->store, specs, GROUP, started));
}

static void
start_all(const stage *s, size_t count, size_t keys)
{
    for (size_t i = 0; i < count; i += GROUP)
        start_group(s, i, keys);
}

/* Until the node was called so many times more than before. */
static void
await_more(stage *s, size_t before, size_t more)
{
    pthread_mutex_lock(&s->mutex);
    s->wanted = before + more;
    while (s->count < s->wanted)
        bench_wait(&s->ended, &s->mutex, "an end");
    pthread_mutex_unlock(&s->mutex);
}

static size_t
count_of(stage *s)
{
    size_t count = 0;

    pthread_mutex_lock(&s->mutex);
    count = s->count;
    pthread_mutex_unlock(&s->mutex);
    return count;
}

static void
show(bench_kind kind, const char *what, double value, const char *unit)
{
    char name[96];

    (void)snprintf(name, sizeof(name), "limits.%s.%s", bench_kind_name(kind),
                   what);
    bench_print(name, value, unit);
}

static void
show_target(bench_kind kind, const char *what, double value, const char *unit,
            bench_target type, double target)
{
    char name[96];

    (void)snprintf(name, sizeof(name), "limits.%s.%s", bench_kind_name(kind),
                   what);
    bench_print_target(name, value, unit, type, target, true);
}

/* ---- A maximum that is never reached ------------------------------------- */

static double
run_some(stage *s, size_t count)
{
    size_t before = count_of(s);
    int64_t begun_ns = bench_now_ns();

    start_all(s, count, KEYS);
    await_more(s, before, count);
    return (double)count * 1e9 / (double)(bench_now_ns() - begun_ns);
}

static void
measure_unreached(const bench *b, bench_kind kind)
{
    size_t count = bench_pick(b, 2000, 5000, 20000);
    stage with;
    stage without;
    double kept[BENCH_ROUNDS_MAX];
    double none[BENCH_ROUNDS_MAX];
    double rate = 0;
    double reference = 0;

    open_stage(b, kind, "bench_limits", &with, 1000000);
    open_stage(b, kind, "bench_none", &without, -1);
    begin_engine(&with);
    begin_engine(&without);
    for (size_t round = 0; round <= b->rounds; round++) {
        size_t at = round == 0 ? 0 : round - 1; /* the first warms up */

        none[at] = run_some(&without, count);
        kept[at] = run_some(&with, count);
    }
    close_stage(b, kind, "bench_limits", &with);
    close_stage(b, kind, "bench_none", &without);
    reference = bench_median(none, b->rounds);
    rate = bench_median(kept, b->rounds);
    show(kind, "none", reference, "cascades/s");
    show(kind, "unreached", rate, "cascades/s");
    show_target(kind, "unreached.ratio", rate / reference, "x", BENCH_MIN, 0.8);
}

/* ---- Many that wait ------------------------------------------------------ */

/* Ends of cascades a second while `count` wait, of which a part runs. */
static double
run_backlog(const bench *b, bench_kind kind, size_t count, size_t keys)
{
    size_t some = bench_pick(b, 500, 800, 800);
    int64_t begun_ns = 0;
    double rate = 0;
    stage s;

    open_stage(b, kind, "bench_limits", &s, 8);
    start_all(&s, count, keys);
    begin_engine(&s);
    await_more(&s, 0, some / 10); /* it has begun */
    begun_ns = bench_now_ns();
    await_more(&s, count_of(&s), some);
    rate = (double)some * 1e9 / (double)(bench_now_ns() - begun_ns);
    close_stage(b, kind, "bench_limits", &s);
    return rate;
}

static void
measure_keys(const bench *b, bench_kind kind)
{
    size_t waiting = bench_count(b, 10000, 100000, 1000000);
    double one[BENCH_ROUNDS_MAX];
    double many[BENCH_ROUNDS_MAX];
    size_t rounds = bench_pick(b, 3, 3, 1);
    double reference = 0;
    double rate = 0;

    for (size_t round = 0; round < rounds; round++) {
        one[round] = run_backlog(b, kind, 1000, 1);
        many[round] = run_backlog(b, kind, waiting, KEYS);
    }
    reference = bench_median(one, rounds);
    rate = bench_median(many, rounds);
    show(kind, "one_key", reference, "cascades/s");
    show(kind, "many_keys", rate, "cascades/s");
    show_target(kind, "many_keys.ratio", reference / rate, "x", BENCH_MAX, 1.3);
}

/* ---- Beside a crowd ------------------------------------------------------ */

static double
start_and_wait(const stage *s, const char *user)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = user, .queue = QUEUE};
    int64_t begun_ns = bench_now_ns();
    cascade_started started;

    bench_check("start",
                cascade_start(s->store, "node", NULL, &options, &started));
    bench_check("wait", cascade_wait(s->store, &started.id, 60000, NULL));
    return (double)(bench_now_ns() - begun_ns) / 1000;
}

/* p99 of `count` of a user's, one at a time, while so many others wait. */
static double
run_beside(const bench *b, bench_kind kind, size_t count, size_t waiting)
{
    double *us = bench_alloc(count, sizeof(*us));
    double p99 = 0;
    stage s;

    open_stage(b, kind, "bench_limits", &s, 4);
    start_all(&s, waiting, 1);
    begin_engine(&s);
    (void)start_and_wait(&s, "anna");
    for (size_t i = 0; i < count; i++)
        us[i] = start_and_wait(&s, "anna");
    p99 = bench_percentile(us, count, 0.99);
    close_stage(b, kind, "bench_limits", &s);
    free(us);
    return p99;
}

static void
measure_beside(const bench *b, bench_kind kind)
{
    size_t waiting = bench_count(b, 10000, 100000, 1000000);
    size_t count = bench_pick(b, 200, 500, 1000);
    double alone[BENCH_ROUNDS_MAX];
    double beside[BENCH_ROUNDS_MAX];
    size_t rounds = bench_pick(b, 3, 3, 1);
    double reference = 0;
    double p99 = 0;

    for (size_t round = 0; round < rounds; round++) {
        alone[round] = run_beside(b, kind, count, 0);
        beside[round] = run_beside(b, kind, count, waiting);
    }
    reference = bench_median(alone, rounds);
    p99 = bench_median(beside, rounds);
    show(kind, "alone", reference, "us");
    show(kind, "beside", p99, "us");
    show_target(kind, "beside.ratio", p99 / reference, "x", BENCH_MAX, 1.1);
}

int
main(int argc, char **argv)
{
    static const bench_kind kinds[] = {BENCH_SQLITE, BENCH_POSTGRES};
    bench b;

    bench_init(&b, argc, argv);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!bench_has(&b, kinds[i]))
            continue;
        measure_unreached(&b, kinds[i]);
        measure_keys(&b, kinds[i]);
        measure_beside(&b, kinds[i]);
    }
    return 0;
}
