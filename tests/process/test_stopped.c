/* SPDX-License-Identifier: MIT
 *
 * The owner is stopped, not dead, for longer than its lease (G5, G6): the other
 * takes over all the same. Continued, the owner can commit nothing of what it
 * had; it attaches anew and works on. Every execution is recorded once.
 */
#include <stdio.h>
#include <string.h>

#include "process/check.h"
#include "process/flow.h"
#include "process/ledger.h"
#include "process/worker.h"

#define CASCADES 60
#define MORE 20
#define LEASE_MS 1000
#define POLL_MS 200
#define ROUNDS 4
#define LIMIT_MS 30000
#define THREADS 8

static worker_options
options(const char *freeze)
{
    worker_options it = {.lease_ms = LEASE_MS,
                         .poll_ms = POLL_MS,
                         .work_us = 3000,
                         .threads = THREADS};

    snprintf(it.freeze, sizeof(it.freeze), "%s", freeze);
    return it;
}

typedef struct counter {
    const test_worker *worker;
    uint64_t takeovers;
    uint64_t fences;
    uint64_t executions;
} counter;

/* Whether the worker has got beyond what is noted. */
static bool
has_moved_on(void *context)
{
    const counter *it = context;
    const worker_figures *figures = &it->worker->shared->figures;

    return figures->takeovers >= it->takeovers &&
           figures->fences >= it->fences &&
           figures->executions >= it->executions;
}

static void
wait_until(const test_worker *worker, counter wanted)
{
    wanted.worker = worker;
    if (!place_wait(has_moved_on, &wanted, LIMIT_MS))
        fail_msg("takeovers %llu of %llu, fences %llu of %llu",
                 (unsigned long long)worker->shared->figures.takeovers,
                 (unsigned long long)wanted.takeovers,
                 (unsigned long long)worker->shared->figures.fences,
                 (unsigned long long)wanted.fences);
}

/* The first stops by itself in a commit; the second finishes everything while
 * it stands; it goes on, is fenced, and finishes what is started then. */
static void
stop_in_commit(test_place *place, const char *how)
{
    worker_options first = options(how);
    worker_options second = options("");
    test_ledger ledger;
    test_worker workers[2];
    int64_t stopped_ms = 0;

    ledger_open(&ledger, place);
    ledger.late_max = THREADS;
    flow_start(ledger.store, CASCADES);
    worker_start(&workers[0], place, &first);
    worker_await_stop(&workers[0]);
    stopped_ms = place_now_ms();
    worker_start(&workers[1], place, &second);
    wait_until(&workers[1], (counter){.takeovers = 1});
    print_message("taken over after %lld ms\n",
                  (long long)(place_now_ms() - stopped_ms));
    ledger_wait_ended(&ledger, LIMIT_MS);
    assert_int_equal(0, workers[0].shared->figures.fences);
    worker_continue(&workers[0]);
    wait_until(&workers[0], (counter){.fences = 1});
    worker_end(&workers[1]);
    flow_start(ledger.store, MORE);
    ledger_wait_ended(&ledger, LIMIT_MS);
    worker_end(&workers[0]);
    ledger_check(&ledger, CASCADES + MORE);
    ledger_close(&ledger);
}

static void
owner_stopped_before_its_commit(void **state)
{
    test_place place;

    place_create(&place, place_of(state));
    stop_in_commit(&place, "commit");
    place_destroy(&place);
}

#ifdef CASCADE_HAVE_POSTGRES
static void
owner_stopped_within_its_pipeline(void **state)
{
    test_place place;

    place_create(&place, place_of(state));
    stop_in_commit(&place, "pipeline");
    place_destroy(&place);
}
#endif

/* The owner goes on when the other has taken over and recorded nothing yet:
 * only the fence can keep its commit out then. Had it taken effect, the store
 * would refuse what the other has to record. */
static void
late_commit_has_no_effect(void **state)
{
    worker_options first = options("commit");
    worker_options second = options("");
    test_place place;
    test_ledger ledger;
    test_worker workers[2];

    second.work_us = 150000;
    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    ledger.late_max = THREADS;
    flow_start(ledger.store, MORE);
    worker_start(&workers[0], &place, &first);
    worker_await_stop(&workers[0]);
    worker_start(&workers[1], &place, &second);
    wait_until(&workers[1], (counter){.takeovers = 1});
    worker_continue(&workers[0]);
    wait_until(&workers[0], (counter){.fences = 1});
    ledger_wait_ended(&ledger, LIMIT_MS);
    assert_int_equal(0, workers[0].shared->figures.refusals);
    assert_int_equal(0, workers[1].shared->figures.refusals);
    for (int i = 0; i < 2; i++)
        worker_end(&workers[i]);
    ledger_check(&ledger, MORE);
    ledger_close(&ledger);
    place_destroy(&place);
}

#ifdef CASCADE_HAVE_POSTGRES
/* Two workers, and which of them was the first to get on by so much. */
typedef struct race {
    const test_worker *workers;
    uint64_t executions[2];
    int first;
} race;

static bool
has_won(void *context)
{
    race *it = context;

    for (int i = 0; i < 2; i++) {
        it->first = i;
        if (it->workers[i].shared->figures.executions >= it->executions[i])
            return true;
    }
    return false;
}

/* The worker that is in the middle of something. */
static int
await_busy(const test_worker workers[2])
{
    race it = {.workers = workers};
    uint64_t more = 1 + place_random(40);

    for (int i = 0; i < 2; i++)
        it.executions[i] = workers[i].shared->figures.executions + more;
    if (!place_wait(has_won, &it, LIMIT_MS))
        fail_msg("nothing is done");
    return it.first;
}

static void
stop_a_busy_one(test_worker workers[2], test_ledger *ledger)
{
    int busy = 0;
    uint64_t fences = 0;

    flow_start(ledger->store, CASCADES);
    busy = await_busy(workers);
    fences = workers[busy].shared->figures.fences;
    worker_stop(&workers[busy]);
    flow_start(ledger->store, MORE);
    ledger_wait_ended(ledger, LIMIT_MS);
    worker_continue(&workers[busy]);
    wait_until(&workers[busy], (counter){.fences = fences + 1});
}

/* At whatever it is doing, several times. */
static void
owner_stopped_at_random_moments(void **state)
{
    worker_options both = options("");
    test_place place;
    test_ledger ledger;
    test_worker workers[2];

    both.work_us = 30000; /* not over before the signal is there */
    place_create(&place, place_of(state));
    ledger_open(&ledger, &place);
    ledger.late_max = ROUNDS * THREADS;
    for (int i = 0; i < 2; i++)
        worker_start(&workers[i], &place, &both);
    for (int i = 0; i < ROUNDS; i++)
        stop_a_busy_one(workers, &ledger);
    for (int i = 0; i < 2; i++)
        worker_end(&workers[i]);
    ledger_check(&ledger, ROUNDS * (CASCADES + MORE));
    ledger_close(&ledger);
    place_destroy(&place);
}
#endif

static const struct CMUnitTest tests[] = {
    PLACE_EACH(late_commit_has_no_effect)                  /**/
    PLACE_EACH(owner_stopped_before_its_commit)            /**/
    PLACE_POSTGRES_TEST(owner_stopped_within_its_pipeline) /**/
    PLACE_POSTGRES_TEST(owner_stopped_at_random_moments)   /**/
};

WORKER_MAIN(tests)
