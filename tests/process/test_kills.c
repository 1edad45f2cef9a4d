/* SPDX-License-Identifier: MIT
 *
 * Worker processes are killed again and again, at random moments of a random
 * amount of progress, and started again (G1, G2, G3, G4). At the end nothing is
 * lost, nothing ran again after it was seen recorded, and every execution and
 * value is recorded once.
 *
 * Few cascades are in flight at a time, and new ones come where there are too
 * few, so that there is always something to be killed in the middle.
 */
#include <string.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/worker.h"

#define WORKERS 3
#define KILLS 40         /* at least, and */
#define KILLS_BUSY 30    /* so many in the middle of something, */
#define KILLS_MAX 400    /* but no more than that */
#define CASCADES_MORE 25 /* twice the greatest progress */
#define CASCADES_FEW 150 /* that run: then there are more */
#define MARK_EVERY_MS 200
#define ROUNDS 10
/* Who is dead is known by his pid; nobody who lives is ever too late. */
#define LEASE_MS 120000
#define PROGRESS_MIN_BYTES 600
#define PROGRESS_SPREAD_BYTES 16000
#define PROGRESS_LIMIT_MS 60000
#define END_LIMIT_MS 90000

/* The test as it goes on. */
typedef struct course {
    test_place place;
    test_ledger ledger;
    test_worker workers[WORKERS];
    size_t cascades;
    size_t until;     /* how long the log is to be */
    int64_t marks_ms; /* when next, meanwhile */
} course;

static void
start_more(course *c)
{
    flow_start(c->ledger.store, CASCADES_MORE);
    c->cascades += CASCADES_MORE;
}

/* What is left may be less than it needs. */
static bool
is_that_long(void *context)
{
    course *c = context;

    if (ledger_log_size(&c->place) >= c->until)
        return true;
    if (place_now_ms() < c->marks_ms)
        return false;
    ledger_mark(&c->ledger);
    if (c->ledger.running == 0)
        start_more(c);
    c->marks_ms = place_now_ms() + MARK_EVERY_MS;
    return false;
}

/* A random amount of progress from here. */
static void
wait_for_progress(course *c)
{
    c->until = ledger_log_size(&c->place) + PROGRESS_MIN_BYTES +
               place_random(PROGRESS_SPREAD_BYTES);
    c->marks_ms = place_now_ms() + MARK_EVERY_MS;
    if (!place_wait(is_that_long, c, PROGRESS_LIMIT_MS))
        fail_msg("no progress for %d ms", PROGRESS_LIMIT_MS);
}

static void
spawn(course *c, size_t worker)
{
    const worker_options options = {.lease_ms = LEASE_MS, .work_us = 2000};

    worker_spawn(&c->workers[worker], &c->place, &options);
}

static void
begin(course *c, place_kind kind)
{
    *c = (course){.cascades = 0};
    place_create(&c->place, kind);
    ledger_open(&c->ledger, &c->place);
}

static void
finish(course *c)
{
    ledger_wait_ended(&c->ledger, END_LIMIT_MS);
    for (size_t i = 0; i < WORKERS; i++)
        worker_end(&c->workers[i]);
    ledger_check(&c->ledger, c->cascades);
    ledger_close(&c->ledger);
    place_destroy(&c->place);
}

/* Whether it was in the middle of something: on a slow machine the others may
 * be done by the time of the mark. */
static bool
kill_one(course *c, size_t worker)
{
    if (c->ledger.running <= CASCADES_FEW)
        start_more(c);
    wait_for_progress(c);
    worker_kill(&c->workers[worker]);
    ledger_mark(&c->ledger);
    spawn(c, worker);
    return c->ledger.running > 0;
}

static void
kills_at_random_moments_lose_nothing(void **state)
{
    size_t kills = 0;
    size_t busy = 0;
    course c;

    begin(&c, place_of(state));
    for (size_t i = 0; i < WORKERS; i++)
        spawn(&c, i);
    for (; kills < KILLS || busy < KILLS_BUSY; kills++) {
        assert_true(kills < KILLS_MAX);
        busy += kill_one(&c, place_random(WORKERS));
    }
    finish(&c);
}

/* All at once: nobody is left to take over until they are started again. */
static void
killing_all_at_once_loses_nothing(void **state)
{
    course c;

    begin(&c, place_of(state));
    for (int i = 0; i < ROUNDS; i++) {
        start_more(&c);
        for (size_t w = 0; w < WORKERS; w++)
            spawn(&c, w);
        wait_for_progress(&c);
        for (size_t w = 0; w < WORKERS; w++)
            worker_kill(&c.workers[w]);
        ledger_mark(&c.ledger);
    }
    for (size_t w = 0; w < WORKERS; w++)
        spawn(&c, w);
    finish(&c);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(kills_at_random_moments_lose_nothing) /**/
    PLACE_EACH(killing_all_at_once_loses_nothing)    /**/
};

WORKER_MAIN(tests)
