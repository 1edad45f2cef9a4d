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
#define ROUNDS 4      /* in which the stopped one was in the middle */
#define ROUNDS_MAX 40 /* of all */
#define LIMIT_MS 60000
/* Of one commit: so few that there are more than WATCH_FREEZE_AFTER, however
 * long each takes. Each cascade is in seven, one after the other. */
#define BATCH 4

typedef struct stage {
    test_place place;
    test_ledger ledger;
    test_worker workers[2];
    worker_crew crew;
} stage;

static worker_options
options(const char *freeze)
{
    worker_options it = {.lease_ms = LEASE_MS,
                         .poll_ms = POLL_MS,
                         .work_us = 3000,
                         .batch = BATCH};

    snprintf(it.freeze, sizeof(it.freeze), "%s", freeze);
    return it;
}

static void
open_stage(stage *s, place_kind kind)
{
    place_create(&s->place, kind);
    ledger_open(&s->ledger, &s->place);
    s->crew = (worker_crew){s->workers, 2};
    s->ledger.may_be_late = worker_may_be_late;
    s->ledger.context = &s->crew;
}

/* Nobody runs any more. */
static void
close_stage(stage *s, size_t cascades)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(0, s->workers[i].last.refusals);
        assert_int_equal(0, s->workers[i].last.robbed);
    }
    ledger_check(&s->ledger, cascades);
    ledger_close(&s->ledger);
    place_destroy(&s->place);
}

typedef struct counter {
    const test_worker *worker;
    uint64_t freed;
    uint64_t fenced;
} counter;

/* Whether the worker has got as far as is noted. */
static bool
has_moved_on(void *context)
{
    const counter *it = context;
    const worker_figures *figures = &it->worker->shared->figures;

    return figures->freed >= it->freed && figures->fenced >= it->fenced;
}

static void
wait_until(const test_worker *worker, counter wanted)
{
    wanted.worker = worker;
    if (!place_wait(has_moved_on, &wanted, LIMIT_MS))
        fail_msg("freed %llu of %llu, fenced %llu times of %llu",
                 (unsigned long long)worker->shared->figures.freed,
                 (unsigned long long)wanted.freed,
                 (unsigned long long)worker->shared->figures.fenced,
                 (unsigned long long)wanted.fenced);
}

/* The first stops by itself in a commit, in the middle of all that it owns. */
static void
begin_stopped(stage *s, const char *how, size_t cascades)
{
    worker_options first = options(how);

    flow_start(s->ledger.store, cascades);
    worker_spawn(&s->workers[0], &s->place, &first);
    worker_await_stop(&s->workers[0]);
}

/* The second finishes everything while the first stands; that goes on, is
 * fenced, and finishes what is started then. */
static void
stop_in_commit(place_kind kind, const char *how)
{
    worker_options second = options("");
    int64_t stopped_ms = 0;
    stage s;

    open_stage(&s, kind);
    begin_stopped(&s, how, CASCADES);
    stopped_ms = place_now_ms();
    worker_start(&s.workers[1], &s.place, &second);
    wait_until(&s.workers[1], (counter){.freed = 1});
    print_message("taken over after %lld ms\n",
                  (long long)(place_now_ms() - stopped_ms));
    ledger_wait_ended(&s.ledger, LIMIT_MS);
    assert_int_equal(0, s.workers[0].shared->figures.fenced);
    worker_continue(&s.workers[0]);
    wait_until(&s.workers[0], (counter){.fenced = 1});
    worker_end(&s.workers[1]);
    flow_start(s.ledger.store, MORE);
    ledger_wait_ended(&s.ledger, LIMIT_MS);
    worker_end(&s.workers[0]);
    close_stage(&s, CASCADES + MORE);
}

static void
owner_stopped_before_its_commit(void **state)
{
    stop_in_commit(place_of(state), "commit");
}

#ifdef CASCADE_HAVE_POSTGRES
static void
owner_stopped_within_its_pipeline(void **state)
{
    stop_in_commit(place_of(state), "pipeline");
}
#endif

/* The owner goes on when the other has taken over and recorded of no node that
 * it worked: only the fence can keep its commit out then. Had it taken effect,
 * the store would refuse what the other has to record. */
static void
late_commit_has_no_effect(void **state)
{
    worker_options second = options("");
    stage s;

    second.gated = true;
    open_stage(&s, place_of(state));
    begin_stopped(&s, "commit", MORE);
    worker_start(&s.workers[1], &s.place, &second);
    wait_until(&s.workers[1], (counter){.freed = 1});
    worker_await_gate(&s.workers[1]);
    worker_continue(&s.workers[0]);
    wait_until(&s.workers[0], (counter){.fenced = 1});
    worker_open_gate(&s.workers[1]);
    ledger_wait_ended(&s.ledger, LIMIT_MS);
    for (int i = 0; i < 2; i++)
        worker_end(&s.workers[i]);
    close_stage(&s, MORE);
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

typedef struct listing {
    test_ledger *ledger;
    pid_t pid;
} listing;

static bool
is_listed(void *context)
{
    const listing *it = context;

    return ledger_lists(it->ledger, it->pid, NULL);
}

static bool
is_forgotten(void *context)
{
    return !is_listed(context);
}

/* One that was removed has attached again. */
static void
await_attached(stage *s)
{
    for (int i = 0; i < 2; i++) {
        listing it = {&s->ledger, s->workers[i].pid};

        if (!place_wait(is_listed, &it, LIMIT_MS))
            fail_msg("a worker is not attached");
    }
}

/* One that stands, and is listed, is removed; it goes on, and is told. */
static void
remove_stopped(stage *s, test_worker *worker)
{
    uint64_t fenced = worker->shared->figures.fenced;
    listing it = {&s->ledger, worker->pid};

    if (!place_wait(is_forgotten, &it, LIMIT_MS))
        fail_msg("one that is stopped is not removed");
    ledger_wait_ended(&s->ledger, LIMIT_MS);
    worker_continue(worker);
    wait_until(worker, (counter){.fenced = fenced + 1});
}

/* Whether anything had to be taken from it: all may have been over when the
 * signal came, and where everything stood still it may have been removed. */
static bool
stop_a_busy_one(stage *s)
{
    test_worker *busy = NULL;
    const worker_figures *other = NULL;
    uint64_t freed = 0;
    int at = 0;

    await_attached(s);
    flow_start(s->ledger.store, CASCADES);
    at = await_busy(s->workers);
    busy = &s->workers[at];
    other = &s->workers[1 - at].shared->figures;
    freed = other->freed;
    worker_stop(busy);
    flow_start(s->ledger.store, MORE);
    if (!ledger_lists(&s->ledger, busy->pid, NULL)) {
        worker_continue(busy);
        ledger_wait_ended(&s->ledger, LIMIT_MS);
        return false;
    }
    remove_stopped(s, busy);
    return other->freed > freed;
}

/* At whatever it is doing, several times. */
static void
owner_stopped_at_random_moments(void **state)
{
    worker_options both = options("");
    size_t rounds = 0;
    stage s;

    both.work_us = 10000; /* mostly not over before the signal is there */
    open_stage(&s, place_of(state));
    for (int i = 0; i < 2; i++)
        worker_start(&s.workers[i], &s.place, &both);
    for (int busy = 0; busy < ROUNDS; rounds++) {
        assert_true(rounds < ROUNDS_MAX);
        busy += stop_a_busy_one(&s);
    }
    for (int i = 0; i < 2; i++)
        worker_end(&s.workers[i]);
    close_stage(&s, rounds * (CASCADES + MORE));
}
#endif

static const struct CMUnitTest tests[] = {
    PLACE_EACH(late_commit_has_no_effect)                  /**/
    PLACE_EACH(owner_stopped_before_its_commit)            /**/
    PLACE_POSTGRES_TEST(owner_stopped_within_its_pipeline) /**/
    PLACE_POSTGRES_TEST(owner_stopped_at_random_moments)   /**/
};

WORKER_MAIN(tests)
