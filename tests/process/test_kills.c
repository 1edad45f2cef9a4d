/* SPDX-License-Identifier: MIT
 *
 * Worker processes are killed again and again, at random moments of a random
 * amount of progress, and started again (G1, G2, G3, G4). At the end nothing is
 * lost, nothing ran again after it was seen recorded, and every execution and
 * value is recorded once.
 *
 * Few cascades are in flight at a time and new ones come with every kill, so
 * that there is always something to be killed in the middle.
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
#define ROUNDS 10
/* Who is dead is known by his pid; nobody who lives is ever too late. */
#define LEASE_MS 120000
#define PROGRESS_MIN_BYTES 600
#define PROGRESS_SPREAD_BYTES 16000
#define PROGRESS_LIMIT_MS 60000
#define END_LIMIT_MS 60000

typedef struct progress {
    const test_place *place;
    size_t until;
} progress;

static bool
is_that_long(void *context)
{
    const progress *it = context;

    return ledger_log_size(it->place) >= it->until;
}

/* A random amount of progress from here. */
static void
wait_for_progress(const test_place *place)
{
    progress some = {.place = place};

    some.until = ledger_log_size(place) + PROGRESS_MIN_BYTES +
                 place_random(PROGRESS_SPREAD_BYTES);
    if (!place_wait(is_that_long, &some, PROGRESS_LIMIT_MS))
        fail_msg("no progress for %d ms", PROGRESS_LIMIT_MS);
}

/* Whether it was in the middle of something: on a slow machine the others may
 * be done by the time of the mark. */
static bool
kill_one(test_worker *worker, const test_place *place, test_ledger *ledger,
         const worker_options *options)
{
    flow_start(ledger->store, CASCADES_MORE);
    wait_for_progress(place);
    worker_kill(worker);
    ledger_mark(ledger);
    worker_spawn(worker, place, options);
    return ledger->running > 0;
}

static void
kills_at_random_moments_lose_nothing(void **state)
{
    const worker_options options = {.lease_ms = LEASE_MS, .work_us = 2000};
    test_place place;
    test_ledger ledger;
    test_worker workers[WORKERS];
    size_t kills = 0;
    size_t busy = 0;

    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    for (int i = 0; i < WORKERS; i++)
        worker_spawn(&workers[i], &place, &options);
    for (; kills < KILLS || busy < KILLS_BUSY; kills++) {
        assert_true(kills < KILLS_MAX);
        busy += kill_one(&workers[place_random(WORKERS)], &place, &ledger,
                         &options);
    }
    ledger_wait_ended(&ledger, END_LIMIT_MS);
    for (int i = 0; i < WORKERS; i++)
        worker_end(&workers[i]);
    ledger_check(&ledger, kills * CASCADES_MORE);
    ledger_close(&ledger);
    place_destroy(&place);
}

/* All at once: nobody is left to take over until they are started again. */
static void
killing_all_at_once_loses_nothing(void **state)
{
    const worker_options options = {.lease_ms = LEASE_MS, .work_us = 2000};
    test_place place;
    test_ledger ledger;
    test_worker workers[WORKERS];

    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    for (int i = 0; i < ROUNDS; i++) {
        flow_start(ledger.store, CASCADES_MORE);
        for (int w = 0; w < WORKERS; w++)
            worker_spawn(&workers[w], &place, &options);
        wait_for_progress(&place);
        for (int w = 0; w < WORKERS; w++)
            worker_kill(&workers[w]);
        ledger_mark(&ledger);
    }
    for (int w = 0; w < WORKERS; w++)
        worker_spawn(&workers[w], &place, &options);
    ledger_wait_ended(&ledger, END_LIMIT_MS);
    for (int w = 0; w < WORKERS; w++)
        worker_end(&workers[w]);
    ledger_check(&ledger, ROUNDS * CASCADES_MORE);
    ledger_close(&ledger);
    place_destroy(&place);
}

static const struct CMUnitTest tests[] = {
    PLACE_EACH(kills_at_random_moments_lose_nothing) /**/
    PLACE_EACH(killing_all_at_once_loses_nothing)    /**/
};

WORKER_MAIN(tests)
