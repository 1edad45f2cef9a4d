/* SPDX-License-Identifier: MIT
 *
 * What the callers of starts are told whose time is over, G12; starts that go
 * on without their lane (blocked_start.c), and that they take turns; and a lane
 * whose number cannot be used up, S32.
 *
 * Only the calls have a short deadline, and only where it is to pass: what the
 * store does has all the time that it needs.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/uuid.h"
#include "held/engine_state.h"
#include "held/lane/start_request.h"
#include "store/store.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define IMPATIENT_MS 500
#define PATIENT_MS 100000
#define TRIES 20 /* of a start that is to be submitted twice */

/* ---- A store behind a wrap, with an engine or without ------------------- */

typedef struct bench {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine;
    /* Of the hooks. */
    atomic_size_t commits;
    atomic_size_t under_way;
    atomic_size_t at_once;
    atomic_size_t tries;
    atomic_size_t before;
    atomic_bool awaits; /* the innocent one */
    cascade_uuid innocent;
    cascade_uuid id; /* that is looked for, or was started */
} bench;

static bench *
bench_open(test_db *db, int64_t deadline_ms, size_t connection_max)
{
    cascade_store_options options = db_store_options(db);
    bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    (void)db_store(db); /* for what is looked at in the end */
    b->db = db;
    b->wrap = wrap_store_create(db->url);
    assert_non_null(b->wrap);
    b->wrap->context = b;
    b->wrap->inner_deadline_ms = PATIENT_MS;
    options.deadline_ms = deadline_ms;
    options.connection_max = connection_max;
    assert_ok(cascade_store_open_driver(&b->wrap->driver, b->wrap->url,
                                        &options, &b->store));
    return b;
}

static void
bench_start(bench *b)
{
    const cascade_engine_options one_lane = {.size = sizeof(one_lane),
                                             .worker_count = 2,
                                             .lane_count = 1,
                                             .lease_ms = 60000,
                                             .poll_interval_ms = 20};

    b->engine = db_engine(b->db, b->store, &one_lane);
    assert_ok(
        cascade_engine_register(b->engine, "work", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(b->engine));
}

static void
bench_close(bench *b)
{
    if (b->engine != NULL)
        db_close_engine(b->db, b->engine);
    assert_ok(cascade_store_close(b->store));
    wrap_store_free(b->wrap);
    free(b);
}

static void
say(bench *b, wrap_move move, size_t times, cascade_err err)
{
    wrap_store_fail(b->wrap, move, 0, times, WRAP_BEFORE, err);
}

static void
say_nothing(bench *b)
{
    say(b, WRAP_COMMIT, 0, CASCADE_OK);
    say(b, WRAP_SUBMIT, 0, CASCADE_OK);
    say(b, WRAP_SETTLE, 0, CASCADE_OK);
}

static void
pause_ms(int ms)
{
    const struct timespec pause = {0, ms * 1000000L};

    (void)nanosleep(&pause, NULL);
}

/* Nobody is in the list, nor has a turn. */
static void
check_nobody_waits(bench *b)
{
    pthread_mutex_lock(&b->store->held.mutex);
    assert_null(b->store->held.first);
    assert_null(b->store->held.last);
    assert_int_equal(b->store->held.tries, 0);
    pthread_mutex_unlock(&b->store->held.mutex);
}

/* ---- How a start is made ------------------------------------------------ */

typedef cascade_err (*start_how)(cascade_store *store,
                                 cascade_started *started);

static cascade_err
by_lane(cascade_store *store, cascade_started *started)
{
    return cascade_start(store, "work", NULL, NULL, started);
}

static cascade_err
later(cascade_store *store, cascade_started *started)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .delay_ms = 1};

    return cascade_start(store, "work", NULL, &options, started);
}

static cascade_err
with_signal(cascade_store *store, cascade_started *started)
{
    return cascade_start_with_signal(store, "work", NULL, NULL, "go", NULL,
                                     NULL, started);
}

static const start_how ways[] = {by_lane, later, with_signal};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* ---- What the caller is told -------------------------------------------- */

static bool
is_there(void *context)
{
    bench *b = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(b->store, &b->id, &info);

    cascade_info_free(info);
    expect(err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND);
    return err == CASCADE_OK;
}

/* A process that stands still may miss the deadline: then once more. */
static bool
is_started(void *context)
{
    bench *b = context;
    cascade_started started;
    cascade_err err = by_lane(b->store, &started);

    if (err == CASCADE_ERR_UNAVAILABLE || err == CASCADE_ERR_OUTCOME_UNKNOWN)
        return false;
    assert_ok(err);
    b->id = started.id;
    return true;
}

static void
check_goes_on(bench *b)
{
    assert_true(stores_until(is_started, b));
    db_await(b->store, &b->id, CASCADE_COMPLETED);
}

/* A start that fails so at its deadline. How often it was submitted: once
 * where the process stood still for so long. */
static size_t
start_in_vain(bench *b, start_how how, cascade_err expected)
{
    size_t commits = wrap_store_count(b->wrap, WRAP_COMMIT);
    size_t submits = wrap_store_count(b->wrap, WRAP_SUBMIT);
    cascade_started started = {0};

    assert_fails(expected, how(b->store, &started));
    if (expected == CASCADE_ERR_OUTCOME_UNKNOWN)
        assert_false(csc_uuid_is_nil(&started.id));
    if (how == by_lane && b->engine != NULL)
        assert_int_equal(wrap_store_count(b->wrap, WRAP_COMMIT), commits + 1);
    b->id = started.id;
    return wrap_store_count(b->wrap, WRAP_SUBMIT) - submits;
}

/* All the tries of a start are answered so. */
static void
answer_tries(test_db *db, start_how how, cascade_err answer,
             cascade_err expected)
{
    bench *b = bench_open(db, IMPATIENT_MS, 0);

    bench_start(b);
    say(b, WRAP_COMMIT, SIZE_MAX, CASCADE_ERR_AGAIN);
    say(b, WRAP_SUBMIT, SIZE_MAX, answer);
    for (int i = 0; start_in_vain(b, how, expected) < 2; i++)
        assert_true(i < TRIES);
    check_nobody_waits(b);
    say_nothing(b);
    check_goes_on(b);
    bench_close(b);
}

/* G12: however it is sent, one that was held up all the time was not made. */
static void
whatever_is_held_up_to_the_end_is_not_made(test_db *db)
{
    for (size_t i = 0; i < WAYS; i++)
        answer_tries(db, ways[i], CASCADE_ERR_AGAIN, CASCADE_ERR_UNAVAILABLE);
}

/* G12: unless a try of it had no answer. */
static void
whatever_had_no_answer_may_have_been_made(test_db *db)
{
    for (size_t i = 0; i < WAYS; i++)
        answer_tries(db, ways[i], CASCADE_ERR_UNAVAILABLE,
                     CASCADE_ERR_OUTCOME_UNKNOWN);
}

/* The second submit finds no memory. */
static cascade_err
fail_second(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move != WRAP_SUBMIT)
        return CASCADE_OK;
    return atomic_fetch_add(&b->tries, 1) == 0
               ? csc_fail(CASCADE_ERR_UNAVAILABLE, "no answer")
               : csc_fail(CASCADE_ERR_NO_MEMORY, "no memory");
}

static void
fail_behind_doubt(test_db *db, bool engine, start_how how)
{
    bench *b = bench_open(db, PATIENT_MS, 0);
    cascade_started started = {0};

    b->wrap->before = fail_second;
    if (engine)
        bench_start(b);
    say(b, WRAP_COMMIT, SIZE_MAX, CASCADE_ERR_AGAIN);
    assert_fails(CASCADE_ERR_OUTCOME_UNKNOWN, how(b->store, &started));
    assert_int_equal(atomic_load(&b->tries), 2);
    assert_false(csc_uuid_is_nil(&started.id));
    say_nothing(b);
    bench_close(b);
}

/* G12: an error does not say "not made" where a try before may have made it. */
static void
an_error_behind_a_try_without_answer_decides_nothing(test_db *db)
{
    for (size_t i = 0; i < WAYS; i++)
        fail_behind_doubt(db, true, ways[i]);
    fail_behind_doubt(db, false, by_lane);
}

/* G12: an outcome is unknown only when the deadline has passed, and the id is
 * there to be looked up. */
static void
an_outcome_is_unknown_only_after_the_deadline(test_db *db)
{
    bench *b = bench_open(db, IMPATIENT_MS, 0);
    cascade_started started = {0};
    int64_t begun_ms = 0;

    bench_start(b);
    say(b, WRAP_COMMIT, SIZE_MAX, CASCADE_ERR_UNAVAILABLE);
    begun_ms = csc_clock_monotonic_ms(&csc_clock_system);
    assert_fails(CASCADE_ERR_OUTCOME_UNKNOWN, by_lane(b->store, &started));
    assert_true(csc_clock_monotonic_ms(&csc_clock_system) - begun_ms >=
                IMPATIENT_MS);
    assert_false(csc_uuid_is_nil(&started.id));
    b->id = started.id;
    assert_false(is_there(b));
    say_nothing(b);
    assert_true(stores_until(is_there, b));
    db_await(b->store, &b->id, CASCADE_COMPLETED);
    bench_close(b);
}

static void
a_submit_without_reply_is_unknown_with_its_id(test_db *db)
{
    bench *b = bench_open(db, IMPATIENT_MS, 0);
    size_t submitted = 0;

    wrap_store_fail(b->wrap, WRAP_SUBMIT, 0, SIZE_MAX, WRAP_AFTER,
                    CASCADE_ERR_UNAVAILABLE);
    for (int i = 0; submitted < 2; i++) {
        assert_true(i < TRIES);
        submitted = start_in_vain(b, by_lane, CASCADE_ERR_OUTCOME_UNKNOWN);
        assert_true(is_there(b));
    }
    bench_close(b);
}

/* ---- Callers that leave ------------------------------------------------- */

static bool
has_given_way(void *context)
{
    bench *b = context;
    bool busy = false;

    pthread_mutex_lock(&b->engine->mutex);
    busy = csc_lane_queue_is_busy_locked(&b->engine->lanes[0]);
    pthread_mutex_unlock(&b->engine->mutex);
    return !busy;
}

/* Its caller has been told, and is not there to go on with it. */
static void
a_start_whose_caller_has_left_is_let_go(test_db *db)
{
    bench *b = bench_open(db, IMPATIENT_MS, 0);
    cascade_started started = {0};

    bench_start(b);
    say(b, WRAP_COMMIT, SIZE_MAX, CASCADE_ERR_UNAVAILABLE);
    assert_fails(CASCADE_ERR_OUTCOME_UNKNOWN, by_lane(b->store, &started));
    say(b, WRAP_SETTLE, 0, CASCADE_OK);
    say(b, WRAP_COMMIT, 1, CASCADE_ERR_AGAIN);
    assert_true(stores_until(has_given_way, b));
    check_nobody_waits(b);
    say_nothing(b);
    check_goes_on(b);
    bench_close(b);
}

typedef struct waiter {
    bench *b;
    cascade_started started;
    cascade_err err;
} waiter;

static void *
start_one(void *context)
{
    waiter *w = context;

    w->err = by_lane(w->b->store, &w->started);
    return NULL;
}

static bool
commits_are_tried(void *context)
{
    return wrap_store_count(((bench *)context)->wrap, WRAP_COMMIT) > 1;
}

/* A start that is not in a batch yet can be taken back: it is known not to
 * have happened. */
static void
a_start_that_waits_for_its_turn_can_be_taken_back(test_db *db)
{
    bench *b = bench_open(db, IMPATIENT_MS, 0);
    waiter first = {.b = b};
    cascade_started second = {0};
    cascade_page *page = NULL;
    pthread_t thread;

    bench_start(b);
    say(b, WRAP_COMMIT, SIZE_MAX, CASCADE_ERR_UNAVAILABLE);
    assert_int_equal(pthread_create(&thread, NULL, start_one, &first), 0);
    assert_true(stores_until(commits_are_tried, b));
    assert_fails(CASCADE_ERR_UNAVAILABLE, by_lane(b->store, &second));
    pthread_join(thread, NULL);
    assert_int_equal(first.err, CASCADE_ERR_OUTCOME_UNKNOWN);
    say_nothing(b);
    b->id = first.started.id;
    assert_true(stores_until(is_there, b));
    db_await(b->store, &b->id, CASCADE_COMPLETED);
    assert_ok(cascade_list(b->store, NULL, &page));
    assert_int_equal(cascade_page_count(page), 1);
    cascade_page_free(page);
    bench_close(b);
}

/* ---- The number of a batch that is given up ----------------------------- */

/* UNAVAILABLE, then AGAIN: its number is to be used up. */
static cascade_err
lose_and_hold_up(void *context, const wrap_call *call)
{
    bench *b = context;
    size_t number = 0;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    number = atomic_fetch_add(&b->commits, 1);
    if (number == 0)
        return csc_fail(CASCADE_ERR_UNAVAILABLE, "no answer");
    return number == 1 ? csc_fail(CASCADE_ERR_AGAIN, "held") : CASCADE_OK;
}

static void
settle_with(test_db *db, wrap_when when, size_t times, cascade_err err,
            bool lost)
{
    bench *b = bench_open(db, PATIENT_MS, 0);
    cascade_started started = {0};

    b->wrap->before = lose_and_hold_up;
    bench_start(b);
    wrap_store_fail(b->wrap, WRAP_SETTLE, 0, times, when, err);
    assert_ok(by_lane(b->store, &started));
    assert_false(started.existed);
    db_await(b->store, &started.id, CASCADE_COMPLETED);
    assert_int_equal(wrap_store_count(b->wrap, WRAP_SETTLE),
                     lost ? times : times + 1);
    assert_int_equal(db_stats(b->engine).losses,
                     lost && err == CASCADE_ERR_LOST);
    assert_int_equal(db_stats(b->engine).fences,
                     lost && err == CASCADE_ERR_FENCED);
    check_nobody_waits(b);
    bench_close(b);
}

/* S32: used up once or several times, whichever try it was. */
static void
a_number_is_used_up_until_there_is_an_answer(test_db *db)
{
    settle_with(db, WRAP_BEFORE, 3, CASCADE_ERR_UNAVAILABLE, false);
    settle_with(db, WRAP_AFTER, 3, CASCADE_ERR_UNAVAILABLE, false);
}

static void
a_number_may_be_lost_with_the_incarnation(test_db *db)
{
    settle_with(db, WRAP_BEFORE, 1, CASCADE_ERR_FENCED, true);
    settle_with(db, WRAP_BEFORE, 1, CASCADE_ERR_LOST, true);
}

/* ---- Turns -------------------------------------------------------------- */

#define CALLERS 12

typedef struct caller {
    bench *b;
    const cascade_uuid *id;
    cascade_started started;
    cascade_err err;
    pthread_t thread;
} caller;

static void *
start_later(void *context)
{
    caller *c = context;
    const cascade_start_options options = {
        .size = sizeof(options), .delay_ms = 1, .id = c->id};

    c->err = cascade_start(c->b->store, "work", NULL, &options, &c->started);
    return NULL;
}

static void
begin(caller *c, bench *b, const cascade_uuid *id)
{
    c->b = b;
    c->id = id;
    assert_int_equal(pthread_create(&c->thread, NULL, start_later, c), 0);
}

static void
end(caller *c)
{
    pthread_join(c->thread, NULL);
    assert_ok(c->err);
    db_await(c->b->store, &c->started.id, CASCADE_COMPLETED);
}

/* One is held up. Of the others each try takes a while; where none is held up,
 * until all are under way. */
static cascade_err
count_in(void *context, const wrap_call *call)
{
    bench *b = context;
    bool held = atomic_load(&b->tries) > 0;
    size_t now = 0;
    size_t most = atomic_load(&b->at_once);

    if (call->move != WRAP_SUBMIT)
        return CASCADE_OK;
    if (csc_uuid_equal(&call->starts[0].cascade.id, &b->innocent)) {
        atomic_store(&b->tries, 1);
        return atomic_load(&b->before) == CALLERS
                   ? CASCADE_OK
                   : csc_fail(CASCADE_ERR_AGAIN, "held");
    }
    now = atomic_fetch_add(&b->under_way, call->start_count);
    now += call->start_count;
    while (now > most && !atomic_compare_exchange_weak(&b->at_once, &most, now))
        continue;
    for (int i = 0; i < PATIENT_MS && !held; i += 20) {
        held = atomic_load(&b->at_once) == CALLERS;
        pause_ms(20);
    }
    pause_ms(20);
    return CASCADE_OK;
}

static cascade_err
count_out(void *context, const wrap_call *call, cascade_err answer)
{
    bench *b = context;

    if (call->move != WRAP_SUBMIT ||
        csc_uuid_equal(&call->starts[0].cascade.id, &b->innocent))
        return answer;
    atomic_fetch_sub(&b->under_way, call->start_count);
    atomic_fetch_add(&b->before, call->start_count);
    return answer;
}

static bool
one_is_held_up(void *context)
{
    bench *b = context;
    bool waits = false;

    pthread_mutex_lock(&b->store->held.mutex);
    waits = b->store->held.first != NULL;
    pthread_mutex_unlock(&b->store->held.mutex);
    return waits;
}

/* What no lane takes, `CALLERS` at a time. How many of them were under way,
 * each by itself or with others. */
static size_t
send_beside(test_db *db, bool one_held)
{
    bench *b = bench_open(db, PATIENT_MS, 8);
    caller callers[CALLERS] = {0};
    caller held = {0};
    size_t at_once = 0;

    b->innocent = (cascade_uuid){{255, 1}};
    b->wrap->before = count_in;
    b->wrap->after = count_out;
    b->store->pipeline.most = CALLERS;
    bench_start(b);
    if (one_held) {
        begin(&held, b, &b->innocent);
        assert_true(stores_until(one_is_held_up, b));
    }
    for (size_t i = 0; i < CALLERS; i++)
        begin(&callers[i], b, NULL);
    for (size_t i = 0; i < CALLERS; i++)
        end(&callers[i]);
    if (one_held)
        end(&held);
    at_once = atomic_load(&b->at_once);
    check_nobody_waits(b);
    bench_close(b);
    return at_once;
}

/* From their first try on they have a quarter of the connections. */
static void
starts_that_go_by_themselves_take_turns(test_db *db)
{
    assert_in_range(send_beside(db, true), 1, 2);
}

static void
where_nobody_is_held_nobody_takes_turns(test_db *db)
{
    assert_int_equal(send_beside(db, false), CALLERS);
}

/* Or has had its turn. Guarded as in blocked_start.c, which is in none here. */
static bool
innocent_is_in_line(void *context)
{
    bench *b = context;
    const csc_start *at = NULL;
    bool is = false;

    pthread_mutex_lock(&b->store->held.mutex);
    at = b->store->held.first;
    while (at != NULL &&
           !csc_uuid_equal(&at->changes[0].cascade.id, &b->innocent))
        at = at->held_next;
    is = at != NULL && at->in_line;
    pthread_mutex_unlock(&b->store->held.mutex);
    return is || atomic_load(&b->under_way) == 1;
}

/* All are held up but the innocent one; that one is to count. Once it begins,
 * nobody is tried before it is in line: its thread may begin slowly. */
static cascade_err
hold_up_others(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move != WRAP_SUBMIT)
        return CASCADE_OK;
    if (csc_uuid_equal(&call->starts[0].cascade.id, &b->innocent)) {
        atomic_store(&b->before, atomic_load(&b->tries));
        atomic_store(&b->under_way, 1);
        return CASCADE_OK;
    }
    if (atomic_load(&b->awaits))
        expect(stores_until(innocent_is_in_line, b));
    atomic_fetch_add(&b->tries, 1);
    if (atomic_load(&b->under_way) == 1)
        return CASCADE_OK;
    pause_ms(20);
    return csc_fail(CASCADE_ERR_AGAIN, "held");
}

static bool
all_were_held_up(void *context)
{
    return atomic_load(&((bench *)context)->tries) >= 2 * CALLERS;
}

/* Whoever has not been tried alone does not wait behind all that are held. */
static void
an_innocent_start_is_tried_next(test_db *db)
{
    bench *b = bench_open(db, PATIENT_MS, 4);
    caller callers[CALLERS] = {0};
    caller innocent = {0};
    cascade_uuid ids[CALLERS];
    size_t before = 0;

    b->innocent = (cascade_uuid){{255, 1}};
    b->wrap->before = hold_up_others;
    bench_start(b);
    for (size_t i = 0; i < CALLERS; i++) {
        ids[i] = (cascade_uuid){{(unsigned char)(i + 1), 9}};
        begin(&callers[i], b, &ids[i]);
    }
    assert_true(stores_until(all_were_held_up, b));
    atomic_store(&b->awaits, true);
    before = atomic_load(&b->tries);
    begin(&innocent, b, &b->innocent);
    end(&innocent);
    /* One was under way, one had its turn, and threads begin slowly. */
    assert_in_range(atomic_load(&b->before) - before, 0, CALLERS / 2);
    for (size_t i = 0; i < CALLERS; i++)
        end(&callers[i]);
    check_nobody_waits(b);
    bench_close(b);
}

int
main(int argc, char **argv)
{
#define TEST(name, stores)  \
    {                       \
#name, name, stores \
    }
    static const stores_test tests[] = {
        TEST(whatever_is_held_up_to_the_end_is_not_made, STORES_ALL),
        TEST(whatever_had_no_answer_may_have_been_made, STORES_ALL),
        TEST(an_error_behind_a_try_without_answer_decides_nothing, STORES_ALL),
        TEST(an_outcome_is_unknown_only_after_the_deadline, STORES_ALL),
        TEST(a_submit_without_reply_is_unknown_with_its_id, STORES_ALL),
        TEST(a_start_whose_caller_has_left_is_let_go, STORES_ALL),
        TEST(a_start_that_waits_for_its_turn_can_be_taken_back, STORES_ALL),
        TEST(a_number_is_used_up_until_there_is_an_answer, STORES_FILES),
        TEST(a_number_may_be_lost_with_the_incarnation, STORES_ALL),
        TEST(starts_that_go_by_themselves_take_turns, STORES_ALL),
        TEST(where_nobody_is_held_nobody_takes_turns, STORES_ALL),
        TEST(an_innocent_start_is_tried_next, STORES_ALL),
    };
#undef TEST

    return stores_run("lane_held", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
