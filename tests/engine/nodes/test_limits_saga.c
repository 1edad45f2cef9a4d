/* SPDX-License-Identifier: MIT
 *
 * Sagas and time limits: what has run out of its time for good is undone like
 * what has failed, in a further entry, wherever it was: in a function that does
 * not return, asleep, parked, or in an engine that has died. A compensation has
 * the time of an attempt, and attempts of its own.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "engine/support/stage.h"
#include "held/engine_state.h"
#include "held/run/run.h"

/* One letter for each call of a compensation, in their order. */
static atomic_char undone[16];
static atomic_int undone_count;
/* How many calls of the compensation of the hotel block. */
static atomic_int hotel_blocks;

/* ---- Nodes -------------------------------------------------------------- */

static cascade_err
book(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

static cascade_err
note_undone(char letter)
{
    int at = atomic_fetch_add(&undone_count, 1);

    if ((size_t)at < sizeof(undone) - 1)
        atomic_store(&undone[at], letter);
    return CASCADE_OK;
}

static cascade_err
undo_flight(cascade_node *node, void *user, const cJSON *input)
{
    (void)node;
    (void)user;
    (void)input;
    return note_undone('f');
}

static cascade_err
undo_hotel(cascade_node *node, void *user, const cJSON *input)
{
    stage *s = user;

    (void)input;
    if (atomic_fetch_sub(&hotel_blocks, 1) > 0) {
        stage_block(&s->go);
        expect(cascade_node_put_text(node, "late", "1", NULL) ==
               CASCADE_ERR_FENCED);
        atomic_fetch_add(&s->refused, 1);
        return CASCADE_OK;
    }
    return note_undone('h');
}

static cascade_err
book_all(cascade_node *node)
{
    static const cascade_step_options quick = {
        .size = sizeof(quick), .attempts_max = 2, .backoff_ms = 1};
    cascade_err err = cascade_node_step(node, "flight", book, NULL, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "flight", undo_flight, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "hotel", book, NULL, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "hotel", undo_hotel, NULL, &quick);
    return err;
}

/* The first entry comes no further than to where it blocks; what is asked for
 * behind that is not recorded, so that the one that undoes leaves there. */
static cascade_err
travel_and_block(cascade_node *node, void *user)
{
    stage *s = user;
    bool first = atomic_fetch_add(&s->entered, 1) == 0;
    cascade_err err = book_all(node);

    if (err != CASCADE_OK)
        return err;
    if (first) {
        atomic_store(&s->stepped, true);
        stage_block(&s->go);
        atomic_fetch_add(&s->left, 1);
    }
    return cascade_node_step(node, "car", book, NULL, NULL, NULL);
}

static cascade_err
travel_and_sleep(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&((stage *)user)->entered, 1);
    err = book_all(node);
    return err == CASCADE_OK ? cascade_node_sleep(node, "hour", HOUR_MS) : err;
}

static cascade_err
travel_and_fail(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&((stage *)user)->entered, 1);
    err = book_all(node);
    return err == CASCADE_OK ? cascade_node_error(node, "full") : err;
}

/* Takes time by the fake clock; nothing of it is to be undone. */
static cascade_err
book_only(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&((stage *)user)->entered, 1);
    err = cascade_node_step(node, "flight", book, NULL, NULL, NULL);
    return err == CASCADE_OK ? cascade_node_sleep(node, "hour", HOUR_MS) : err;
}

static cascade_err
fail_then_book(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&((stage *)user)->entered, 1);
    err = cascade_node_step(node, "flight", book, NULL, NULL, NULL);
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "no");
    return err == CASCADE_OK ? cascade_node_sleep(node, "hour", HOUR_MS) : err;
}

static cascade_err
book_flight(cascade_node *node)
{
    cascade_err err = cascade_node_step(node, "flight", book, NULL, NULL, NULL);

    return err == CASCADE_OK ? cascade_node_compensate(node, "flight",
                                                       undo_flight, NULL, NULL)
                             : err;
}

static cascade_err
book_and_sleep(cascade_node *node, void *user)
{
    cascade_err err = book_flight(node);

    (void)user;
    return err == CASCADE_OK ? cascade_node_sleep(node, "hour", HOUR_MS) : err;
}

/* Keeps the engine from all else, until the deadline of the other. */
static cascade_err
dawdle(cascade_node *node, void *user)
{
    (void)node;
    fake_clock_advance(&((stage *)user)->db->clock, 9000);
    return CASCADE_OK;
}

/* The last part that is recorded is a child that runs. */
static cascade_err
bear_and_fail(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err = book_flight(node);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_start_child(node, "kid", "books", NULL, NULL, &id);
    return err == CASCADE_OK ? cascade_node_error(node, "full") : err;
}

/* In its function when it is cancelled, and until its time is over. */
static cascade_err
run_until_late(cascade_node *node, void *user)
{
    stage *s = user;
    bool first = atomic_fetch_add(&s->entered, 1) == 0;
    cascade_err err = book_flight(node);

    if (err != CASCADE_OK)
        return err;
    atomic_store(&s->stepped, true);
    if (first)
        stage_block(&s->go);
    return cascade_node_error(node, "full");
}

/* ---- What is recorded --------------------------------------------------- */

static void
reset_undone(void)
{
    for (size_t i = 0; i < sizeof(undone); i++)
        atomic_store(&undone[i], '\0');
    atomic_store(&undone_count, 0);
    atomic_store(&hotel_blocks, 0);
}

static void
open_stage(stage *s, test_db *db, cascade_mode mode)
{
    reset_undone();
    stage_open(s, db, mode);
}

static void
check_undone(const char *expected)
{
    char letters[sizeof(undone)];

    for (size_t i = 0; i < sizeof(undone); i++)
        letters[i] = atomic_load(&undone[i]);
    assert_string_equal(letters, expected);
}

/* The parts of the node: their names without the prefix, with ! for FAILED. */
static void
check_parts(const stage *s, const char *expected)
{
    cascade_snapshot *snapshot = stage_snapshot(s);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    char rows[400] = "";

    for (size_t i = 1; i < count; i++) {
        const cascade_execution_info *info = stage_execution(snapshot, i);
        size_t len = strlen(rows);

        snprintf(rows + len, sizeof(rows) - len, "%s%s%s", i > 1 ? " " : "",
                 info->node_name + strlen("cascade."),
                 info->status == CASCADE_EXECUTION_FAILED ? "!" : "");
    }
    cascade_snapshot_free(snapshot);
    assert_string_equal(rows, expected);
}

#define BOOKED "step:flight step:hotel "
#define UNDONE "saga:fail undo:hotel undo:flight"

static bool
nothing_is_overdue(void *engine)
{
    return db_stats(engine).overdue == 0 && db_stats(engine).running == 0;
}

static void
let_go(stage *s)
{
    atomic_store(&s->go, true);
    assert_true(stores_until(nothing_is_overdue, s->engine));
}

static void
finish(stage *s)
{
    let_go(s);
    check_undone("hf");
    stage_end(s);
}

/* ---- In real time ------------------------------------------------------- */

/* Plays with that limit. False where more than what is to run out of time may
 * have done so: then what came of it is another play. */
typedef bool (*play_within)(test_db *db, int64_t limit_ms);

static void
play_in_time(test_db *db, play_within play)
{
    static const int64_t limits_ms[] = {400, 4000, 40000};
    size_t at = 0;

    while (!play(db, limits_ms[at]))
        assert_true(++at < sizeof(limits_ms) / sizeof(limits_ms[0]));
}

/* Runs the first node, which fails. Whether no more than `times` limits have
 * passed meanwhile. */
static bool
run_in_time(stage *s, int64_t limit_ms, int times)
{
    int64_t began_ms = csc_clock_monotonic_ms(&csc_clock_system);

    stage_run(s, s->nodes[0].name, CASCADE_ERROR);
    return csc_clock_monotonic_ms(&csc_clock_system) - began_ms <
           (times + 1) * limit_ms;
}

/* ---- Out of time -------------------------------------------------------- */

/* While the function still runs, another worker undoes. */
static bool
undo_last_attempt(test_db *db, int64_t limit_ms)
{
    stage s = {
        .nodes = {{"travels",
                   travel_and_block,
                   {.attempts_max = 1, .attempt_timeout_ms = limit_ms}}}};
    char error[80];

    snprintf(error, sizeof(error), "attempt 1 timed out after %d ms",
             (int)limit_ms);
    open_stage(&s, db, CASCADE_MODE_THREADS);
    if (!run_in_time(&s, limit_ms, 1) || !atomic_load(&s.stepped)) {
        let_go(&s);
        stage_end(&s);
        return false;
    }
    assert_int_equal(atomic_load(&s.left), 0);
    assert_int_equal(atomic_load(&s.entered), 2);
    stage_check(&s, 0, 1, error);
    check_parts(&s, BOOKED UNDONE);
    finish(&s);
    return true;
}

static void
undone_after_last_attempt(test_db *db)
{
    play_in_time(db, undo_last_attempt);
}

static bool
undo_at_deadline(test_db *db, int64_t limit_ms)
{
    stage s = {.nodes = {{"travels",
                          travel_and_block,
                          {.attempts_max = -1, .deadline_ms = limit_ms}}}};

    open_stage(&s, db, CASCADE_MODE_THREADS);
    stage_run(&s, "travels", CASCADE_ERROR);
    if (!atomic_load(&s.stepped)) {
        let_go(&s);
        stage_end(&s);
        return false;
    }
    stage_check(&s, 0, 1, "deadline passed");
    check_parts(&s, BOOKED UNDONE);
    finish(&s);
    return true;
}

static void
undone_after_deadline(test_db *db)
{
    play_in_time(db, undo_at_deadline);
}

/* As the row of the sleep tells, by whoever hydrates it. */
static void
undone_after_parked(test_db *db)
{
    stage s = {.nodes = {{"travels", travel_and_sleep, {.deadline_ms = 9000}}},
               .park_after_ms = 1000};

    open_stage(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "travels");
    stage_poll(&s);
    db_close_engine(db, s.engine);
    stage_start_engine(&s);
    stage_await(&s, CASCADE_ERROR);
    stage_check(&s, 0, 0, "deadline passed");
    check_parts(&s, BOOKED "sleep:hour! " UNDONE);
    finish(&s);
}

static void
undone_between_attempts(test_db *db)
{
    stage s = {.nodes = {{"travels",
                          travel_and_fail,
                          {.attempts_max = -1,
                           .backoff_ms = 4000,
                           .backoff_percent = 100,
                           .jitter_percent = -1,
                           .deadline_ms = 9000}}}};

    open_stage(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "travels");
    stage_poll(&s);
    db_close_engine(db, s.engine);
    stage_start_engine(&s);
    stage_await(&s, CASCADE_ERROR);
    stage_check(&s, 0, 3, "deadline passed: after 3 attempts");
    check_parts(&s, BOOKED UNDONE);
    finish(&s);
}

static void
undone_behind_a_child(test_db *db)
{
    stage s = {.nodes = {{"bears",
                          bear_and_fail,
                          {.attempts_max = 2,
                           .backoff_ms = 20000,
                           .jitter_percent = -1,
                           .deadline_ms = 9000}},
                         {"books", book_only, {0}}},
               .park_after_ms = 1000};

    open_stage(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "bears");
    stage_poll(&s);
    stage_poll(&s);
    db_close_engine(db, s.engine);
    stage_start_engine(&s);
    stage_await(&s, CASCADE_ERROR);
    check_undone("f");
    stage_end(&s);
}

/* The step is to be recorded, and the node was not entered since. */
static void
undone_behind_a_step(test_db *db)
{
    stage s = {.nodes = {{"books", book_and_sleep, {.deadline_ms = 9000}},
                         {"dawdles", dawdle, {0}}}};
    const cascade_first first[] = {
        {.size = sizeof(first[0]), .node = "books"},
        {.size = sizeof(first[0]), .node = "dawdles"}};
    const cascade_start_spec spec = {
        .size = sizeof(spec), .first = first, .first_count = 2};
    cascade_started started;

    open_stage(&s, db, CASCADE_MODE_INLINE);
    assert_ok(cascade_start_many(s.store, &spec, 1, &started));
    s.id = started.id;
    stage_await(&s, CASCADE_ERROR);
    stage_check(&s, 0, 0, "deadline passed");
    check_undone("f");
    stage_end(&s);
}

static bool
is_entered(void *s)
{
    return atomic_load(&((stage *)s)->entered) > 0;
}

static bool
has_stepped(void *s)
{
    return atomic_load(&((stage *)s)->stepped);
}

static bool
undo_cancelled(test_db *db, int64_t limit_ms)
{
    stage s = {
        .nodes = {{"runs",
                   run_until_late,
                   {.attempts_max = -1, .attempt_timeout_ms = limit_ms}}}};
    bool in_time = false;

    open_stage(&s, db, CASCADE_MODE_THREADS);
    s.id = db_start(s.store, "runs");
    assert_true(stores_until(has_stepped, &s));
    assert_ok(cascade_cancel(s.store, &s.id, NULL));
    in_time = atomic_load(&s.entered) == 1;
    stage_await(&s, CASCADE_ERROR);
    check_undone("f");
    let_go(&s);
    stage_end(&s);
    return in_time;
}

static void
undone_though_cancelled(test_db *db)
{
    play_in_time(db, undo_cancelled);
}

/* ---- A cancellation that comes first ------------------------------------ */

/* Holds what receives a cancellation until the failure is posted behind it. */
typedef struct crossing {
    wrap_store *wrap;
    stage s;
} crossing;

static bool
receives_cancel(const cascade_change *change)
{
    for (size_t i = 0; i < change->insert_count; i++)
        if (strcmp(change->inserts[i].node_name, "cascade.cancel") == 0)
            return true;
    return false;
}

static bool
is_posted(void *context)
{
    const crossing *c = context;
    const csc_run *run = NULL;
    size_t at = 0;
    bool posted = false;

    pthread_mutex_lock(&c->s.engine->mutex);
    run = csc_map_next(&c->s.engine->runs, &at);
    posted = run != NULL && run->first_post != NULL;
    pthread_mutex_unlock(&c->s.engine->mutex);
    return posted;
}

static cascade_err
hold_receipt(void *context, const wrap_call *call)
{
    crossing *c = context;

    if (call->move != WRAP_COMMIT || !receives_cancel(call->batch->changes))
        return CASCADE_OK;
    atomic_store(&c->s.go, true);
    expect(stores_until(is_posted, c));
    return CASCADE_OK;
}

/* The attempt fails when the cancellation is about to be recorded. */
static cascade_err
book_and_fail(cascade_node *node, void *user)
{
    stage *s = user;
    cascade_err err = book_flight(node);

    if (err == CASCADE_OK && atomic_fetch_add(&s->entered, 1) == 0)
        stage_block(&s->go);
    return err == CASCADE_OK ? cascade_node_error(node, "full") : err;
}

/* It would have been tried again, but for what is recorded before it. */
static void
undone_behind_a_cancellation(test_db *db)
{
    crossing *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    c->wrap = wrap_store_create(db->url);
    assert_non_null(c->wrap);
    c->wrap->context = c;
    c->wrap->before = hold_receipt;
    c->s = (stage){.nodes = {{"books", book_and_fail, {.attempts_max = -1}}}};
    reset_undone();
    c->s.db = db;
    c->s.worker_count = 2;
    c->s.store = db_wrapped(db, c->wrap);
    stage_start_engine(&c->s);
    c->s.id = db_start(c->s.store, "books");
    assert_true(stores_until(is_entered, &c->s));
    assert_ok(cascade_cancel(c->s.store, &c->s.id, NULL));
    stage_await(&c->s, CASCADE_ERROR);
    stage_check(&c->s, 0, 1, "full");
    check_parts(&c->s, "step:flight cancel! saga:fail undo:flight");
    check_undone("f");
    stage_end(&c->s);
    wrap_store_free(c->wrap);
    free(c);
}

/* What registers none is not entered again for it. */
static void
nothing_to_undo(test_db *db)
{
    stage s = {.nodes = {{"books", book_only, {.deadline_ms = 9000}}},
               .park_after_ms = 1000};

    open_stage(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "books");
    stage_poll(&s);
    stage_await(&s, CASCADE_ERROR);
    check_parts(&s, "step:flight sleep:hour!");
    assert_int_equal(atomic_load(&s.entered), 2); /* INLINE: for the step */
    stage_end(&s);
}

/* Hydrated behind a step it might have; entered since, it has not. */
static void
nothing_to_undo_after_all(test_db *db)
{
    stage s = {.nodes = {{"books",
                          fail_then_book,
                          {.attempts_max = 2,
                           .backoff_ms = 4000,
                           .jitter_percent = -1,
                           .deadline_ms = 9000}}}};

    open_stage(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "books");
    stage_poll(&s);
    db_close_engine(db, s.engine);
    atomic_store(&s.entered, 0);
    stage_start_engine(&s);
    stage_await(&s, CASCADE_ERROR);
    check_parts(&s, "step:flight sleep:hour!");
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_end(&s);
}

/* ---- Compensations that do not return ----------------------------------- */

/* So often the compensation of the hotel does not return. */
static bool
let_compensation_time_out(test_db *db, int64_t limit_ms, int blocks,
                          const char *order, const char *parts,
                          const char *error)
{
    stage s = {
        .nodes = {{"travels",
                   travel_and_fail,
                   {.attempts_max = 1, .attempt_timeout_ms = limit_ms}}}};
    bool in_time = false;

    open_stage(&s, db, CASCADE_MODE_THREADS);
    atomic_store(&hotel_blocks, blocks);
    in_time = run_in_time(&s, limit_ms, blocks);
    if (in_time) {
        stage_check(&s, 0, 1, error);
        check_parts(&s, parts);
    }
    let_go(&s);
    if (in_time) {
        assert_int_equal(atomic_load(&s.refused), blocks);
        check_undone(order);
    }
    stage_end(&s);
    return in_time;
}

static bool
time_out_once(test_db *db, int64_t limit_ms)
{
    return let_compensation_time_out(db, limit_ms, 1, "hf", BOOKED UNDONE,
                                     "full");
}

static void
a_compensation_is_called_again(test_db *db)
{
    play_in_time(db, time_out_once);
}

static bool
time_out_for_good(test_db *db, int64_t limit_ms)
{
    return let_compensation_time_out(
        db, limit_ms, 2, "f", BOOKED "saga:fail undo:hotel! undo:flight",
        "full; of 2 compensations 1 failed: hotel");
}

static void
a_compensation_fails_for_good(test_db *db)
{
    play_in_time(db, time_out_for_good);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_last_attempt_that_times_out_is_undone", undone_after_last_attempt,
         STORES_ALL},
        {"a_deadline_in_a_function_is_undone", undone_after_deadline,
         STORES_ALL},
        {"a_deadline_of_what_is_parked_is_undone", undone_after_parked,
         STORES_VIRTUAL},
        {"a_deadline_between_attempts_is_undone", undone_between_attempts,
         STORES_VIRTUAL},
        {"a_deadline_behind_a_child_is_undone", undone_behind_a_child,
         STORES_VIRTUAL},
        {"a_deadline_behind_a_step_is_undone", undone_behind_a_step,
         STORES_VIRTUAL},
        {"a_limit_in_a_cancelled_cascade_is_undone", undone_though_cancelled,
         STORES_ALL},
        {"a_failure_behind_a_cancellation_is_undone",
         undone_behind_a_cancellation, STORES_ALL},
        {"where_nothing_is_to_be_undone_nothing_is_entered", nothing_to_undo,
         STORES_VIRTUAL},
        {"where_nothing_was_to_be_undone_nothing_is_entered",
         nothing_to_undo_after_all, STORES_VIRTUAL},
        {"a_compensation_that_times_out_is_called_again",
         a_compensation_is_called_again, STORES_ALL},
        {"a_compensation_that_times_out_for_good_is_passed_over",
         a_compensation_fails_for_good, STORES_ALL},
    };

    return stores_run("limits_saga", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
