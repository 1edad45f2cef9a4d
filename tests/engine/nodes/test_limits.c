/* SPDX-License-Identifier: MIT
 *
 * Time limits (see TIME LIMITS in cascade.h): each of them, with and without
 * attempts left, parked, and while no engine lives; what becomes of a function
 * that does not return.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "engine/support/stage.h"
#include "held/engine_state.h"
#include "store/store.h"

/* Where a limit in real time may pass before the function is entered, it is
 * tried again with one so many times longer. */
#define LONGER 10

/* ---- What is looked at -------------------------------------------------- */

static cascade_uuid
start_with_deadline(stage *s, const char *node, int64_t deadline_ms)
{
    cascade_start_options options = {.size = sizeof(options),
                                     .deadline_ms = deadline_ms};
    cascade_started started;

    assert_ok(cascade_start(s->store, node, NULL, &options, &started));
    return started.id;
}

/* How long after its being recorded execution `index` ended. */
static int64_t
took_ms(const stage *s, size_t index)
{
    cascade_snapshot *snapshot = stage_snapshot(s);
    const cascade_execution_info *info = stage_execution(snapshot, index);
    int64_t ms = info->completed_at_ms - info->started_at_ms;

    cascade_snapshot_free(snapshot);
    return ms;
}

static bool
was_entered(const stage *s)
{
    cascade_snapshot *snapshot = stage_snapshot(s);
    bool entered = stage_execution(snapshot, 0)->attempts > 0;

    cascade_snapshot_free(snapshot);
    return entered;
}

/* ---- Nodes -------------------------------------------------------------- */

static cascade_err
count_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    atomic_fetch_add((atomic_int *)arg, 1);
    return CASCADE_OK;
}

/* All that a late node may call is refused, and its steps are not entered. */
static void
call_everything(cascade_node *node, stage *s)
{
    atomic_int steps = 0;
    const cJSON *value = NULL;

    expect(cascade_node_is_cancelled(node));
    expect(cascade_node_step(node, "late", count_step, &steps, NULL, NULL) ==
           CASCADE_ERR_FENCED);
    expect(cascade_node_sleep(node, "late", 1) == CASCADE_ERR_FENCED);
    expect(cascade_node_put_text(node, "late", "1", NULL) ==
           CASCADE_ERR_FENCED);
    expect(cascade_node_spawn(node, "late", NULL, NULL) == CASCADE_ERR_FENCED);
    expect(cascade_node_output(node, cJSON_CreateString("late")) ==
           CASCADE_ERR_FENCED);
    expect(cascade_node_heartbeat(node, cJSON_CreateNumber(1)) ==
           CASCADE_ERR_FENCED);
    expect(cascade_node_progress(node, &value) == CASCADE_ERR_FENCED);
    expect(cascade_node_outcomes(node, &value) == CASCADE_ERR_FENCED);
    expect(atomic_load(&steps) == 0);
    expect(strlen(cascade_node_name(node)) > 0);
    expect(cascade_node_input(node) != NULL);
    atomic_fetch_add(&s->refused, 1);
}

/* The first attempt blocks, after a step; the others come to their end. */
static cascade_err
block_once(cascade_node *node, void *user)
{
    stage *s = user;
    atomic_int steps = 0;
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&s->entered, 1);
    if (cascade_node_attempt(node) == 1) {
        err = cascade_node_step(node, "first", count_step, &steps, NULL, NULL);
        atomic_store(&s->stepped, err == CASCADE_OK);
        (void)cascade_node_put_text(node, "k", "1", NULL);
        stage_block(&s->go);
        call_everything(node, s);
        atomic_fetch_add(&s->left, 1);
        return CASCADE_OK;
    }
    err = cascade_node_step(node, "first", count_step, &steps, NULL, NULL);
    if (err == CASCADE_OK && atomic_load(&s->stepped))
        expect(atomic_load(&steps) == 0); /* it was recorded before */
    return err == CASCADE_OK
               ? cascade_node_output(node, cJSON_CreateString("again"))
               : err;
}

static cascade_err
hold_worker(cascade_node *node, void *user)
{
    stage *s = user;

    (void)node;
    atomic_fetch_add(&s->entered, 1);
    stage_block(&s->go);
    return CASCADE_OK;
}

/* Takes its time by the fake clock. */
static cascade_err
take_time(cascade_node *node, void *user)
{
    stage *s = user;

    atomic_fetch_add(&s->entered, 1);
    fake_clock_advance(&s->db->clock, s->take_ms[cascade_node_attempt(node)]);
    return cascade_node_put_text(node, "k", "1", NULL);
}

static cascade_err
fail_always(cascade_node *node, void *user)
{
    atomic_fetch_add(&((stage *)user)->entered, 1);
    return cascade_node_error(node, "no");
}

static cascade_err
oversleep(cascade_node *node, void *user)
{
    atomic_fetch_add(&((stage *)user)->entered, 1);
    return cascade_node_sleep(node, "hour", HOUR_MS);
}

static cascade_err
count_entry(cascade_node *node, void *user)
{
    (void)node;
    atomic_fetch_add(&((stage *)user)->entered, 1);
    return CASCADE_OK;
}

/* ---- Functions that do not return --------------------------------------- */

static bool
nothing_is_overdue(void *engine)
{
    return db_stats(engine).overdue == 0 && db_stats(engine).running == 0;
}

static void
the_next_attempt_runs_while_a_function_does_not_return(test_db *db)
{
    stage s = {
        .nodes = {{"blocks",
                   block_once,
                   {.attempts_max = -1, .attempt_timeout_ms = SHORT_MS}}}};
    cascade_snapshot *snapshot = NULL;

    stage_open(&s, db, CASCADE_MODE_THREADS);
    stage_run(&s, "blocks", CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.left), 0);
    assert_true(db_stats(s.engine).running >= 1);
    assert_true(db_stats(s.engine).overdue >= 1);
    atomic_store(&s.go, true);
    assert_true(stores_until(nothing_is_overdue, s.engine));
    assert_int_equal(atomic_load(&s.left), 1);
    assert_int_equal(atomic_load(&s.refused), 1);
    assert_true(atomic_load(&s.entered) >= 2);
    snapshot = stage_snapshot(&s);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    assert_string_equal(cascade_snapshot_result(snapshot), "\"again\"");
    assert_string_equal(cascade_snapshot_context(snapshot), "{}");
    cascade_snapshot_free(snapshot);
    stage_end(&s);
}

static void
without_attempts_left_the_limit_is_final(test_db *db)
{
    stage s = {
        .nodes = {{"blocks",
                   block_once,
                   {.attempts_max = 1, .attempt_timeout_ms = SHORT_MS}}}};
    cascade_snapshot *snapshot = NULL;

    stage_open(&s, db, CASCADE_MODE_THREADS);
    stage_run(&s, "blocks", CASCADE_ERROR);
    stage_check(&s, 0, 1, "attempt 1 timed out after 100 ms");
    snapshot = stage_snapshot(&s);
    assert_non_null(strstr(cascade_snapshot_error(snapshot), "timed out"));
    cascade_snapshot_free(snapshot);
    atomic_store(&s.go, true);
    assert_true(stores_until(nothing_is_overdue, s.engine));
    assert_int_equal(atomic_load(&s.refused), 1);
    stage_end(&s);
}

/* In place of what does not return another one runs. */
static void
an_overdue_node_is_replaced(test_db *db)
{
    stage s = {.nodes = {{"blocks",
                          block_once,
                          {.attempts_max = 1,
                           .final_failure = CASCADE_FINAL_INSTEAD,
                           .instead = "other",
                           .attempt_timeout_ms = SHORT_MS}},
                         {"other", count_entry, {0}}}};

    stage_open(&s, db, CASCADE_MODE_THREADS);
    stage_run(&s, "blocks", CASCADE_COMPLETED);
    atomic_store(&s.go, true);
    assert_true(stores_until(nothing_is_overdue, s.engine));
    assert_int_equal(atomic_load(&s.entered), 2);
    stage_end(&s);
}

/* A worker that is taken for good is one less; stop and close say which node
 * has it, and close succeeds when it has returned. */
static void
an_overdue_function_delays_stop_and_close(test_db *db)
{
    stage s = {
        .nodes = {{"blocks",
                   block_once,
                   {.attempts_max = 1, .attempt_timeout_ms = SHORT_MS}}}};

    stage_open(&s, db, CASCADE_MODE_THREADS);
    stage_run(&s, "blocks", CASCADE_ERROR);
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(s.engine, 1));
    assert_non_null(strstr(cascade_errmsg(), "blocks"));
    assert_fails(CASCADE_ERR_AGAIN, cascade_engine_close(s.engine));
    atomic_store(&s.go, true);
    stage_end(&s);
    assert_int_equal(atomic_load(&s.left), 1);
}

/* ---- Limits of an attempt, to the millisecond --------------------------- */

static void
an_attempt_that_takes_its_limit_is_refused(test_db *db)
{
    stage s = {.nodes = {{"takes", take_time, {.attempt_timeout_ms = 1000}}},
               .take_ms = {0, 1000, 7000, 999}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    stage_run(&s, "takes", CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.entered), 3);
    stage_check(&s, 0, 3, NULL);
    assert_int_equal(db_stats(s.engine).overdue, 0);
    s.take_ms[3] = s.take_ms[4] = s.take_ms[5] = 1000;
    stage_run(&s, "takes", CASCADE_ERROR);
    stage_check(&s, 0, 5, "attempt 5 timed out after 1000 ms");
    stage_end(&s);
}

/* Blocks without a heartbeat in its first attempt. */
static void
a_function_without_heartbeats_loses_its_attempt(test_db *db)
{
    stage s = {.nodes = {{"blocks",
                          block_once,
                          {.attempts_max = 1,
                           .attempt_timeout_ms = HOUR_MS,
                           .heartbeat_timeout_ms = SHORT_MS}}}};

    stage_open(&s, db, CASCADE_MODE_THREADS);
    stage_run(&s, "blocks", CASCADE_ERROR);
    stage_check(&s, 0, 1, "attempt 1 timed out: no heartbeat for 100 ms");
    atomic_store(&s.go, true);
    stage_end(&s);
}

/* ---- Not begun in time -------------------------------------------------- */

static void
an_execution_that_is_not_begun_in_time_fails(test_db *db)
{
    stage s = {.nodes = {{"counts", count_entry, {.start_timeout_ms = 1000}}}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "counts");
    fake_clock_advance(&db->clock, 999);
    stage_await(&s, CASCADE_COMPLETED);
    s.id = db_start(s.store, "counts");
    fake_clock_advance(&db->clock, 1000);
    stage_await(&s, CASCADE_ERROR);
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_check(&s, 0, 0, "start timeout");
    stage_end(&s);
}

static bool
is_entered(void *s)
{
    return atomic_load(&((stage *)s)->entered) > 0;
}

/* The only worker is taken: it fails in the list of those that are ready. */
static void
what_waits_for_a_worker_fails_in_time(test_db *db)
{
    stage s = {.nodes = {{"holds", hold_worker, {0}},
                         {"counts",
                          count_entry,
                          {.attempts_max = 3, .start_timeout_ms = SHORT_MS}}},
               .worker_count = 1};
    cascade_uuid held;

    stage_open(&s, db, CASCADE_MODE_THREADS);
    held = db_start(s.store, "holds");
    assert_true(stores_until(is_entered, &s));
    s.id = db_start(s.store, "counts");
    stage_await(&s, CASCADE_ERROR);
    stage_check(&s, 0, 0, "start timeout");
    assert_int_equal(db_stats(s.engine).ready, 0);
    atomic_store(&s.go, true);
    db_await(s.store, &held, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_end(&s);
}

/* In its first entry its engine dies over it, and its time to begin passes. */
static cascade_err
outlive_engine(cascade_node *node, void *user)
{
    stage *s = user;
    cascade_engine *dead = s->engine;
    size_t freed = 0;

    (void)node;
    if (atomic_fetch_add(&s->entered, 1) > 0)
        return CASCADE_OK;
    expect(dead->store->driver->remove(dead->store->self, &dead->incarnation.id,
                                       1, 10, &freed) == CASCADE_OK);
    expect(freed == 1);
    cascade_engine_request_stop(dead);
    fake_clock_advance(&s->db->clock, 1000);
    return CASCADE_OK;
}

static bool
is_entered_by_polls(void *context)
{
    stage *s = context;

    assert_ok(cascade_engine_poll(s->engine, 0, NULL));
    return is_entered(s);
}

/* Before any row tells that it was. */
static void
what_was_taken_over_may_have_been_begun(test_db *db)
{
    stage s = {
        .nodes = {{"outlives", outlive_engine, {.start_timeout_ms = 1000}}}};
    cascade_engine *dead = NULL;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "outlives");
    dead = s.engine;
    assert_true(stores_until(is_entered_by_polls, &s));
    stage_start_engine(&s);
    stage_await(&s, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.entered), 2);
    db_close_engine(db, dead);
    stage_end(&s);
}

/* `takes` takes 5 seconds, and `joins` comes after it; `later` runs in 7. */
static cascade_err
spawn_waiting(cascade_node *node, void *user)
{
    static const uint32_t first = 1;
    const cascade_spawn_options after = {
        .size = sizeof(after), .after = &first, .after_count = 1};
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = 7000};
    cascade_err err = cascade_node_spawn(node, "takes", NULL, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "counts", NULL, &after);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "counts", NULL, &later);
    return err;
}

/* What it comes after, and its delay, do not count; nor does parking. */
static void
what_may_not_run_yet_is_not_late(test_db *db)
{
    stage s = {.nodes = {{"spawns", spawn_waiting, {0}},
                         {"takes", take_time, {0}},
                         {"counts", count_entry, {.start_timeout_ms = 900}}},
               .park_after_ms = 10,
               .take_ms = {0, 5000}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    stage_run(&s, "spawns", CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&s.entered), 3);
    stage_end(&s);
}

/* ---- The deadline of an execution --------------------------------------- */

static void
attempts_end_at_the_deadline(test_db *db)
{
    stage s = {.nodes = {{"fails",
                          fail_always,
                          {.attempts_max = -1,
                           .backoff_ms = 3000,
                           .backoff_percent = 100,
                           .jitter_percent = -1,
                           .deadline_ms = 10000}}}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    stage_run(&s, "fails", CASCADE_ERROR);
    assert_int_equal(took_ms(&s, 0), 10000);
    assert_int_equal(atomic_load(&s.entered), 4); /* at 0, 3, 6 and 9 */
    stage_check(&s, 0, 4, "deadline passed: after 4 attempts");
    stage_end(&s);
}

static bool
is_parked(const stage *s, int64_t *wake_at_ms)
{
    cascade_info *info = NULL;
    bool parked = false;

    assert_ok(cascade_get(s->store, &s->id, &info));
    parked = !info->owned && db_stats(s->engine).held == 0;
    *wake_at_ms = info->wake_at_ms;
    cascade_info_free(info);
    return parked;
}

/* Parked, it wakes for it; its sleep ends with it, and the cascade, which goes
 * on without it, is not held up by that. */
static void
a_node_that_sleeps_ends_at_its_deadline(test_db *db)
{
    stage s = {.nodes = {{"sleeps",
                          oversleep,
                          {.final_failure = CASCADE_FINAL_CONTINUE,
                           .deadline_ms = 20000}}},
               .park_after_ms = 1000};
    cascade_snapshot *snapshot = NULL;
    int64_t begun_ms = 0;
    int64_t wake_at_ms = 0;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    assert_ok(cascade_store_now(s.store, &begun_ms));
    s.id = db_start(s.store, "sleeps");
    stage_poll(&s);
    assert_true(is_parked(&s, &wake_at_ms));
    assert_int_equal(wake_at_ms, begun_ms + 20000);
    stage_await(&s, CASCADE_COMPLETED);
    assert_int_equal(took_ms(&s, 0), 20000);
    assert_int_equal(took_ms(&s, 1), 20000);
    stage_check(&s, 0, 0, "deadline passed");
    snapshot = stage_snapshot(&s);
    assert_int_equal(stage_execution(snapshot, 0)->status,
                     CASCADE_EXECUTION_FAILED);
    assert_int_equal(stage_execution(snapshot, 1)->status,
                     CASCADE_EXECUTION_FAILED);
    cascade_snapshot_free(snapshot);
    stage_end(&s);
}

/* In its function: at once where others look, else when it returns. */
static void
a_function_ends_at_its_deadline(test_db *db, cascade_mode mode)
{
    cascade_node_fn fn = mode == CASCADE_MODE_INLINE ? take_time : block_once;
    int64_t limit_ms = SHORT_MS;
    stage s = {.nodes = {{"0", fn, {.attempts_max = 9}},
                         {"1", fn, {.attempts_max = 9}},
                         {"2", fn, {.attempts_max = 9}}},
               .take_ms = {0, SHORT_MS}};
    size_t at = 0;

    for (size_t i = 0; i < 3; i++, limit_ms *= LONGER)
        s.nodes[i].options.deadline_ms = limit_ms;
    stage_open(&s, db, mode);
    do {
        assert_true(at < 3);
        stage_run(&s, s.nodes[at].name, CASCADE_ERROR);
        assert_true(took_ms(&s, 0) >= s.nodes[at++].options.deadline_ms);
    } while (!was_entered(&s));
    atomic_store(&s.go, true);
    assert_true(stores_until(nothing_is_overdue, s.engine));
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_check(&s, 0, 1, "deadline passed");
    stage_end(&s);
}

static void
a_function_ends_at_its_deadline_threads(test_db *db)
{
    a_function_ends_at_its_deadline(db, CASCADE_MODE_THREADS);
}

static void
a_function_ends_at_its_deadline_inline(test_db *db)
{
    a_function_ends_at_its_deadline(db, CASCADE_MODE_INLINE);
}

/* What comes after others is blocked until they end: not beyond its time. */
static cascade_err
spawn_join(cascade_node *node, void *user)
{
    static const uint32_t first = 1;
    const cascade_spawn_options after = {
        .size = sizeof(after), .after = &first, .after_count = 1};
    cascade_err err = cascade_node_spawn(node, "sleeps", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "counts", NULL, &after)
                             : err;
}

static void
a_join_ends_at_its_deadline(test_db *db)
{
    stage s = {.nodes = {{"spawns", spawn_join, {0}},
                         {"sleeps", oversleep, {0}},
                         {"counts", count_entry, {.deadline_ms = 3000}}}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    stage_run(&s, "spawns", CASCADE_ERROR);
    assert_int_equal(took_ms(&s, 2), 3000);
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_end(&s);
}

static cascade_err
spawn_strict_join(cascade_node *node, void *user)
{
    static const uint32_t first = 1;
    const cascade_spawn_options after = {.size = sizeof(after),
                                         .after = &first,
                                         .after_count = 1,
                                         .on_failure = CASCADE_JOIN_FAIL};
    cascade_err err = cascade_node_spawn(node, "fails", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "counts", NULL, &after)
                             : err;
}

/* Which is decided, but left for an engine that knows the node: the deadline
 * passes meanwhile. */
static void
a_join_that_is_not_to_be_run_has_no_deadline(test_db *db)
{
    stage s = {.nodes = {{"spawns", spawn_strict_join, {0}},
                         {"fails",
                          fail_always,
                          {.attempts_max = 1,
                           .final_failure = CASCADE_FINAL_CONTINUE}},
                         {NULL, count_entry, {.deadline_ms = 3000}}}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    s.id = db_start(s.store, "spawns");
    stage_poll(&s);
    assert_int_equal(atomic_load(&s.entered), 1);
    db_close_engine(db, s.engine);
    fake_clock_advance(&db->clock, 3000);
    s.nodes[2].name = "counts";
    stage_start_engine(&s);
    stage_await(&s, CASCADE_ERROR);
    stage_check(&s, 2, 0, "not run: execution 1 (node fails)");
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_end(&s);
}

/* ---- While no engine lives ---------------------------------------------- */

static void
limits_hold_while_no_engine_lives(test_db *db)
{
    stage s = {.nodes = {{"counts", count_entry, {.deadline_ms = 5000}},
                         {"sleeps", oversleep, {.deadline_ms = 9000}}}};
    cascade_uuid asleep;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    asleep = db_start(s.store, "sleeps");
    stage_poll(&s);
    db_close_engine(db, s.engine);
    s.id = db_start(s.store, "counts");
    fake_clock_advance(&db->clock, 5000);
    stage_start_engine(&s);
    stage_await(&s, CASCADE_ERROR);
    stage_check(&s, 0, 0, "deadline passed");
    s.id = asleep;
    stage_await(&s, CASCADE_ERROR);
    assert_int_equal(took_ms(&s, 0), 9000);
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_end(&s);
}

/* ---- The deadline of a cascade ------------------------------------------ */

/* The last execution says why. */
static void
check_cascade_deadline(const stage *s, size_t count)
{
    cascade_snapshot *snapshot = stage_snapshot(s);
    const cascade_execution_info *last = stage_execution(snapshot, count - 1);

    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                     count);
    assert_string_equal(last->node_name, "cascade.deadline");
    assert_int_equal(last->status, CASCADE_EXECUTION_FAILED);
    assert_int_equal(last->parent_function_id, -1);
    assert_non_null(
        strstr(cascade_snapshot_error(snapshot), "deadline passed"));
    cascade_snapshot_free(snapshot);
}

static void
a_cascade_ends_at_its_deadline(test_db *db)
{
    stage s = {
        .nodes = {{"sleeps", oversleep, {0}}, {"counts", count_entry, {0}}},
        .park_after_ms = 1000};
    int64_t begun_ms = 0;
    int64_t now_ms = 0;
    int64_t wake_at_ms = 0;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    assert_ok(cascade_store_now(s.store, &begun_ms));
    s.id = start_with_deadline(&s, "sleeps", 5000);
    stage_poll(&s);
    assert_true(is_parked(&s, &wake_at_ms));
    assert_int_equal(wake_at_ms, begun_ms + 5000);
    fake_clock_advance(&db->clock, 4999);
    stage_poll(&s);
    assert_true(is_parked(&s, &wake_at_ms));
    fake_clock_advance(&db->clock, 1);
    stage_poll(&s);
    stage_await(&s, CASCADE_ERROR);
    assert_ok(cascade_store_now(s.store, &now_ms));
    assert_int_equal(now_ms, begun_ms + 5000);
    check_cascade_deadline(&s, 3);
    s.id = start_with_deadline(&s, "counts", 1);
    stage_await(&s, CASCADE_COMPLETED);
    stage_end(&s);
}

/* Runs, one after another, of a second each. */
static cascade_err
sleep_and_continue(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_sleep(node, "second", 1000);

    atomic_fetch_add(&((stage *)user)->entered, 1);
    return err == CASCADE_OK ? cascade_node_continue_as_new(node, NULL, NULL)
                             : err;
}

/* It is that of all the runs. */
static void
a_deadline_goes_with_the_cascade(test_db *db)
{
    stage s = {.nodes = {{"continues", sleep_and_continue, {0}}}};
    cascade_start_options options = {
        .size = sizeof(options), .key = "key", .deadline_ms = 2500};
    cascade_started started;
    int64_t begun_ms = 0;
    int64_t now_ms = 0;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    assert_ok(cascade_store_now(s.store, &begun_ms));
    assert_ok(cascade_start(s.store, "continues", NULL, &options, &started));
    for (int run = 1; run <= 2; run++) {
        s.id = started.id;
        stage_await(&s, CASCADE_COMPLETED);
        assert_ok(
            cascade_start(s.store, "continues", NULL, &options, &started));
        assert_true(started.existed);
    }
    s.id = started.id;
    stage_await(&s, CASCADE_ERROR);
    assert_ok(cascade_store_now(s.store, &now_ms));
    assert_in_range(now_ms, begun_ms + 2500, begun_ms + 2600);
    check_cascade_deadline(&s, 3);
    assert_int_equal(atomic_load(&s.entered), 5);
    stage_end(&s);
}

/* Its function runs beyond the deadline of the cascade. */
static cascade_err
overrun_and_continue(cascade_node *node, void *user)
{
    stage *s = user;

    atomic_fetch_add(&s->entered, 1);
    fake_clock_advance(&s->db->clock, 5000);
    return cascade_node_continue_as_new(node, NULL, NULL);
}

static void
nothing_continues_beyond_the_deadline(test_db *db)
{
    stage s = {.nodes = {{"overruns", overrun_and_continue, {0}}}};
    cascade_snapshot *snapshot = NULL;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    s.id = start_with_deadline(&s, "overruns", 2000);
    stage_await(&s, CASCADE_ERROR);
    snapshot = stage_snapshot(&s);
    assert_null(cascade_snapshot_continued_as(snapshot));
    cascade_snapshot_free(snapshot);
    assert_int_equal(atomic_load(&s.entered), 1);
    stage_end(&s);
}

/* A child has its own. */
static cascade_err
bear_limited(cascade_node *node, void *user)
{
    const cascade_child_options options = {.size = sizeof(options),
                                           .deadline_ms = 2000};
    cascade_child_options bad = options;
    cascade_uuid id;
    cascade_err err = CASCADE_OK;

    (void)user;
    bad.delay_ms = 2000;
    expect(cascade_node_start_child(node, "bad", "sleeps", NULL, &bad, &id) ==
           CASCADE_ERR_INVALID);
    err = cascade_node_start_child(node, "one", "sleeps", NULL, &options, &id);
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, NULL);
    if (err == CASCADE_SUSPENDED)
        return err;
    expect(err == CASCADE_ERR_FAILED &&
           strstr(cascade_errmsg(), "deadline passed") != NULL);
    return CASCADE_OK;
}

static void
a_child_ends_at_its_deadline(test_db *db)
{
    stage s = {
        .nodes = {{"bears", bear_limited, {0}}, {"sleeps", oversleep, {0}}}};
    int64_t begun_ms = 0;
    int64_t now_ms = 0;

    stage_open(&s, db, CASCADE_MODE_INLINE);
    assert_ok(cascade_store_now(s.store, &begun_ms));
    stage_run(&s, "bears", CASCADE_COMPLETED);
    assert_ok(cascade_store_now(s.store, &now_ms));
    assert_in_range(now_ms, begun_ms + 2000, begun_ms + 2100);
    stage_end(&s);
}

static void
a_deadline_passes_while_no_engine_lives(test_db *db)
{
    stage s = {.nodes = {{"counts", count_entry, {0}}}};

    stage_open(&s, db, CASCADE_MODE_INLINE);
    db_close_engine(db, s.engine);
    s.id = start_with_deadline(&s, "counts", 5000);
    fake_clock_advance(&db->clock, 5000);
    stage_start_engine(&s);
    stage_await(&s, CASCADE_ERROR);
    check_cascade_deadline(&s, 2);
    assert_int_equal(atomic_load(&s.entered), 0);
    stage_end(&s);
}

/* Runs until it is told that it is wanted no more. */
static cascade_err
run_until_cancelled(cascade_node *node, void *user)
{
    stage *s = user;
    const struct timespec pause = {0, 1000000};

    atomic_fetch_add(&s->entered, 1);
    for (int i = 0; i < DB_WAIT_MS && !cascade_node_is_cancelled(node); i++)
        (void)nanosleep(&pause, NULL);
    expect(cascade_node_heartbeat(node, NULL) == CASCADE_ERR_FENCED);
    atomic_fetch_add(&s->left, 1);
    return CASCADE_OK;
}

static void
a_deadline_passes_while_a_function_runs(test_db *db)
{
    stage s = {.nodes = {{"runs", run_until_cancelled, {0}}}};

    stage_open(&s, db, CASCADE_MODE_THREADS);
    for (int64_t ms = SHORT_MS; atomic_load(&s.entered) == 0; ms *= LONGER) {
        s.id = start_with_deadline(&s, "runs", ms);
        stage_await(&s, CASCADE_ERROR);
        check_cascade_deadline(&s, 2);
    }
    assert_true(stores_until(nothing_is_overdue, s.engine));
    assert_int_equal(atomic_load(&s.left), atomic_load(&s.entered));
    stage_end(&s);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_next_attempt_runs_while_a_function_does_not_return",
         the_next_attempt_runs_while_a_function_does_not_return, STORES_ALL},
        {"without_attempts_left_the_limit_is_final",
         without_attempts_left_the_limit_is_final, STORES_ALL},
        {"an_overdue_node_is_replaced", an_overdue_node_is_replaced,
         STORES_ALL},
        {"an_overdue_function_delays_stop_and_close",
         an_overdue_function_delays_stop_and_close, STORES_MEMORY},
        {"an_attempt_that_takes_its_limit_is_refused",
         an_attempt_that_takes_its_limit_is_refused, STORES_VIRTUAL},
        {"a_function_without_heartbeats_loses_its_attempt",
         a_function_without_heartbeats_loses_its_attempt, STORES_ALL},
        {"an_execution_that_is_not_begun_in_time_fails",
         an_execution_that_is_not_begun_in_time_fails, STORES_VIRTUAL},
        {"what_waits_for_a_worker_fails_in_time",
         what_waits_for_a_worker_fails_in_time, STORES_ALL},
        {"what_was_taken_over_may_have_been_begun",
         what_was_taken_over_may_have_been_begun, STORES_VIRTUAL},
        {"what_may_not_run_yet_is_not_late", what_may_not_run_yet_is_not_late,
         STORES_VIRTUAL},
        {"attempts_end_at_the_deadline", attempts_end_at_the_deadline,
         STORES_VIRTUAL},
        {"a_node_that_sleeps_ends_at_its_deadline",
         a_node_that_sleeps_ends_at_its_deadline, STORES_VIRTUAL},
        {"a_function_ends_at_its_deadline_with_threads",
         a_function_ends_at_its_deadline_threads, STORES_ALL},
        {"a_function_ends_at_its_deadline_inline",
         a_function_ends_at_its_deadline_inline, STORES_VIRTUAL},
        {"a_join_ends_at_its_deadline", a_join_ends_at_its_deadline,
         STORES_VIRTUAL},
        {"a_join_that_is_not_to_be_run_has_no_deadline",
         a_join_that_is_not_to_be_run_has_no_deadline, STORES_VIRTUAL},
        {"limits_hold_while_no_engine_lives", limits_hold_while_no_engine_lives,
         STORES_VIRTUAL},
        {"a_cascade_ends_at_its_deadline", a_cascade_ends_at_its_deadline,
         STORES_VIRTUAL},
        {"a_deadline_goes_with_the_cascade", a_deadline_goes_with_the_cascade,
         STORES_VIRTUAL},
        {"nothing_continues_beyond_the_deadline",
         nothing_continues_beyond_the_deadline, STORES_VIRTUAL},
        {"a_child_ends_at_its_deadline", a_child_ends_at_its_deadline,
         STORES_VIRTUAL},
        {"a_deadline_passes_while_no_engine_lives",
         a_deadline_passes_while_no_engine_lives, STORES_VIRTUAL},
        {"a_deadline_passes_while_a_function_runs",
         a_deadline_passes_while_a_function_runs, STORES_ALL},
    };

    return stores_run("limits", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
