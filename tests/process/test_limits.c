/* SPDX-License-Identifier: MIT
 *
 * A queue with limits, served by several processes, which are killed and
 * stopped while the limits are raised and lowered: at no time did more run at
 * once, of the queue and of each key, than might (verdict.h), and nothing is
 * lost.
 *
 * Functions stand at gates, so that the test knows when the queue is full: it
 * is filled to the maximum in each stage, again where slots of the dead and the
 * stopped are taken over, and changed while it is.
 */
#include <string.h>

#include "process/check.h"
#include "process/remains.h"
#include "process/verdict.h"
#include "process/watch.h"
#include "process/worker.h"

#define WORKERS 4
/* Of a worker: so few that the queue is full by several, and so many that what
 * has a slot finds a thread, also beside what a lost incarnation left. */
#define CAPACITY 6
#define THREADS 18
#define LEASE_MS 1500
#define POLL_MS 50
#define WORK_US 6000
#define LIMIT_MS 60000
#define KEYS 6
#define PORTION_FLOOD 8
#define PORTION_EACH 3 /* at least as many as any key may run */
#define PASS_LINES 24
#define FEW 20 /* that have not ended: then there are more */
#define SIGNALS 8
#define NOBODY WORKERS

/* One who floods the queue, and two who are one key. */
static const verdict_start users[] = {
    {"flood", NULL, 0}, {"ann", NULL, 1},      {"bea", NULL, 2},
    {"cid", NULL, 3},   {"pair-a", "pair", 4}, {"pair-b", "pair", 4},
    {"dan", NULL, 5}};

typedef enum disturbance {
    KILL,        /* one in the middle of something */
    STOP,        /* one stops, in a commit, for longer than its lease */
    STOP_AT_GATE /* one is stopped, where readers do not wait for it */
} disturbance;

/* What is set, while the queue is full with what was set before. */
typedef struct stage {
    int running_max;
    int key_max;
    disturbance how;
} stage;

static const stage stages[] = {
    {6, 2, KILL}, {3, 1, STOP}, {8, 0, KILL},
    {2, 2, KILL}, {0, 2, STOP}, {5, 3, STOP_AT_GATE},
};

#define STAGES (sizeof(stages) / sizeof(stages[0]))

typedef struct course {
    test_place place;
    test_worker workers[WORKERS];
    size_t stopped; /* of the workers, or NOBODY */
    int full;       /* so many run when it is */
    size_t lines;   /* to be waited for */
} course;

static verdict book;

/* ---- Workers ------------------------------------------------------------- */

static void
spawn(course *c, size_t at)
{
    const worker_options options = {.lease_ms = LEASE_MS,
                                    .poll_ms = POLL_MS,
                                    .work_us = WORK_US,
                                    .threads = THREADS,
                                    .capacity = CAPACITY,
                                    .gated = true,
                                    .crowd = true};

    worker_start(&c->workers[at], &c->place, &options);
    verdict_born(&book, &c->workers[at]);
}

/* What one that is stopped has begun is to end when that goes on. */
static void
set_gates(course *c, bool open)
{
    for (size_t i = 0; i < WORKERS; i++)
        c->workers[i].shared->gate.open = open || i == c->stopped;
}

/* At the gates of those who are not stopped. */
static int
waiting(const course *c)
{
    int count = 0;

    for (size_t i = 0; i < WORKERS; i++)
        if (i != c->stopped)
            count += c->workers[i].shared->gate.waiting;
    return count;
}

/* Somebody of whom something stands at the gate. */
static size_t
pick_busy(const course *c)
{
    size_t at = place_random(WORKERS);

    for (size_t i = 0; i < WORKERS; i++, at = (at + 1) % WORKERS)
        if (at != c->stopped && c->workers[at].shared->gate.waiting > 0)
            return at;
    return at;
}

static void
replace(course *c, size_t at)
{
    verdict_kill(&book, &c->workers[at]);
    spawn(c, at);
}

/* ---- The crowd ----------------------------------------------------------- */

static void
start_more(void)
{
    verdict_start
        starts[PORTION_FLOOD + PORTION_EACH * sizeof(users) / sizeof(users[0])];
    size_t count = 0;

    while (count < PORTION_FLOOD)
        starts[count++] = users[0];
    for (size_t i = 1; i < sizeof(users) / sizeof(users[0]); i++)
        for (int n = 0; n < PORTION_EACH; n++)
            starts[count++] = users[i];
    verdict_begin(&book, starts, count);
}

static bool
is_full(void *context)
{
    const course *c = context;

    (void)verdict_look_now(&book);
    return waiting(c) >= c->full;
}

static void
await_full(course *c)
{
    if (place_wait(is_full, c, LIMIT_MS))
        return;
    verdict_tell(&book);
    for (size_t i = 0; i < WORKERS; i++)
        print_message("%s: %d at its gate\n", c->workers[i].name,
                      c->workers[i].shared->gate.waiting);
    fail_msg("%d stand at the gates, of %d that may run", waiting(c), c->full);
}

/* The gates are shut, and there is enough to run of each key. */
static void
fill(course *c)
{
    set_gates(c, false);
    start_more();
    await_full(c);
}

static size_t
lines(const course *c)
{
    size_t count = 0;

    for (size_t i = 0; i < WORKERS; i++)
        count += crowd_lines(&c->place, c->workers[i].name);
    return count;
}

/* All who stood at the gates are through, and there was more. */
static bool
has_passed(void *context)
{
    course *c = context;

    if (verdict_look_now(&book) < FEW)
        start_more();
    return waiting(c) == 0 && lines(c) >= c->lines;
}

static void
let_pass(course *c)
{
    set_gates(c, true);
    c->lines = lines(c) + PASS_LINES + place_random(PASS_LINES);
    if (!place_wait(has_passed, c, LIMIT_MS))
        fail_msg("nothing goes on");
}

/* ---- Signals ------------------------------------------------------------- */

static bool
are_received(void *context)
{
    (void)verdict_look_now(&book);
    return remains_rows(context, "cascade_messages") == 0;
}

/* To those who came last, and wait for their turn: they are claimed for these,
 * without a slot. */
static void
signal_waiting(course *c)
{
    for (size_t i = 1; i <= SIGNALS; i++)
        assert_ok(cascade_signal(book.store,
                                 &book.cascades[book.cascade_count - i].id,
                                 "word", NULL, NULL));
    if (!place_wait(are_received, &c->place, LIMIT_MS))
        fail_msg("who waits for his turn receives nothing");
}

/* ---- Disturbances -------------------------------------------------------- */

static bool
has_stopped(void *context)
{
    const course *c = context;

    if (verdict_look_now(&book) < FEW)
        start_more();
    return watch_has_stopped(&c->workers[c->stopped]);
}

/* By itself, in one of its next commits. */
static void
stop_in_commit(course *c)
{
    c->stopped = place_random(WORKERS);
    watch_arm(&c->workers[c->stopped], WATCH_APART, (int)place_random(4));
    if (!place_wait(has_stopped, c, LIMIT_MS))
        fail_msg("a worker does not stop");
}

typedef struct loss {
    const worker_figures *figures;
    uint64_t fenced;
} loss;

static bool
has_lost(void *context)
{
    const loss *it = context;

    (void)verdict_look_now(&book);
    return it->figures->fenced > it->fenced;
}

static bool
is_removed(void *context)
{
    const course *c = context;

    (void)verdict_look_now(&book);
    return !verdict_list(&book, c->workers[c->stopped].pid).listed;
}

/* What it had was taken over, and others have filled the queue. */
static void
go_on(course *c)
{
    test_worker *worker = &c->workers[c->stopped];
    loss it = {&worker->shared->figures, worker->shared->figures.fenced};

    if (!place_wait(is_removed, c, LIMIT_MS))
        fail_msg("one that is stopped is not removed");
    await_full(c);
    worker_continue(worker);
    if (!place_wait(has_lost, &it, LIMIT_MS))
        fail_msg("one that was stopped has lost nothing");
    c->stopped = NOBODY;
    set_gates(c, false);
}

/* While all go on. Whoever is stopped stays it. */
static void
disturb(course *c, disturbance how)
{
    if (how == KILL)
        replace(c, place_random(WORKERS));
    if (how == STOP)
        stop_in_commit(c);
}

/* While the queue is full. */
static void
disturb_full(course *c, disturbance how)
{
    size_t busy = pick_busy(c);

    if (how == STOP_AT_GATE && c->place.kind == PLACE_POSTGRES) {
        c->stopped = busy;
        worker_stop(&c->workers[busy]);
        set_gates(c, false);
        go_on(c);
    } else {
        replace(c, busy);
    }
    await_full(c);
}

/* ---- The course ---------------------------------------------------------- */

static void
set_limits(course *c, const stage *s)
{
    int keys = KEYS * s->key_max;

    verdict_limit(&book, s->running_max, s->key_max);
    (void)verdict_look_now(&book);
    c->full = keys == 0 || (s->running_max > 0 && s->running_max < keys)
                  ? s->running_max
                  : keys;
}

static void
run_stage(course *c, const stage *s)
{
    set_limits(c, s);
    let_pass(c);
    disturb(c, s->how);
    fill(c);
    if (c->stopped != NOBODY)
        go_on(c);
    signal_waiting(c);
    disturb_full(c, s->how);
}

static bool
all_ended(void *context)
{
    (void)context;
    return verdict_look_now(&book) == 0;
}

/* The limits go while the queue is full. */
static void
finish(course *c)
{
    verdict_unlimit(&book);
    set_gates(c, true);
    if (!place_wait(all_ended, NULL, LIMIT_MS))
        fail_msg("%zu cascades do not end", verdict_look_now(&book));
    start_more();
    if (!place_wait(all_ended, NULL, LIMIT_MS))
        fail_msg("nothing runs in a queue without limits");
    for (size_t i = 0; i < WORKERS; i++)
        verdict_end(&book, &c->workers[i]);
}

static void
limits_hold_whoever_dies(void **state)
{
    static course c;
    int64_t begun_ms = place_now_ms();

    c = (course){.stopped = NOBODY};
    place_create(&c.place, place_of(state));
    verdict_open(&book, &c.place);
    set_limits(&c, &stages[STAGES - 1]);
    for (size_t i = 0; i < WORKERS; i++)
        spawn(&c, i);
    fill(&c);
    for (size_t i = 0; i < STAGES; i++)
        run_stage(&c, &stages[i]);
    finish(&c);
    print_message("after %lld ms: ", (long long)(place_now_ms() - begun_ms));
    verdict_pass(&book);
    verdict_close(&book);
    remains_check(&c.place);
    place_destroy(&c.place);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(limits_hold_whoever_dies) /**/
};

WORKER_MAIN(tests)
