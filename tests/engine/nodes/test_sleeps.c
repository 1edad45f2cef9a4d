/* SPDX-License-Identifier: MIT
 *
 * Sleeps of a node: recorded once (G3), never over early (G8), without a thread
 * and, when they are long, without memory; matched by name and occurrence.
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/play.h"
#include "held/clock.h"
#include "node/node.h"

#define NAP_MS 20

/* What the node did in one play. */
typedef struct course {
    int entries;
    int steps;
    int64_t until_ms;
    int64_t long_ms;
    cascade_err errs[6];
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

/* Of a sleep until a time: however long that was, or however late. */
#define UNTIL (-1)

/* A sleep that is over, with its times. */
static void
check_sleep(const cascade_snapshot *snapshot, size_t index, const char *name,
            int64_t ms)
{
    const cascade_execution_info *info = play_execution(snapshot, index);

    assert_string_equal(info->node_name, name);
    assert_int_equal(info->status, CASCADE_EXECUTION_COMPLETED);
    assert_int_equal(info->parent_function_id, 0);
    if (ms != UNTIL)
        assert_true(info->not_before_ms >= info->started_at_ms + ms);
    assert_true(info->completed_at_ms >= info->not_before_ms);
}

/* ---- Recorded once ------------------------------------------------------ */

static cascade_err
count_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    (*(int *)arg)++;
    return CASCADE_OK;
}

/* Step, sleep, step, and a second sleep under the same name; a step that bears
 * it too is another thing. Then the node fails once. */
static cascade_err
nap_twice(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err =
        cascade_node_step(node, "nap", count_step, &c->steps, NULL, NULL);

    c->entries++;
    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "nap", NAP_MS);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "nap", count_step, &c->steps, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "nap", NAP_MS);
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "after the sleeps");
    return err;
}

static void
a_sleep_is_recorded_once(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"naps", nap_twice}}, .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "naps", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.steps, 2);
    assert_true(c.entries >=
                4); /* and again after each step, without threads */
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 5);
    check_sleep(snapshot, 2, "cascade.sleep:nap", NAP_MS);
    check_sleep(snapshot, 4, "cascade.sleep:nap", NAP_MS);
    assert_non_null(strstr(play_execution(snapshot, 2)->node_instance_id,
                           "/0/cascade.sleep:nap#0"));
    assert_non_null(strstr(play_execution(snapshot, 4)->node_instance_id,
                           "/0/cascade.sleep:nap#1"));
    assert_true(play_execution(snapshot, 3)->started_at_ms >=
                play_execution(snapshot, 2)->not_before_ms);
    assert_int_equal(play_execution(snapshot, 0)->attempts, 2);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Until -------------------------------------------------------------- */

/* The time is worked out anew at each entry, as programs do: when the node is
 * entered again, it is over. */
static cascade_err
sleep_until_then(cascade_node *node, void *user)
{
    course *c = course_of(user);
    int64_t now_ms = csc_clock_now_ms(node->engine);
    cascade_err err = CASCADE_OK;

    c->entries++;
    if (c->until_ms == 0)
        c->until_ms = now_ms + 2 * NAP_MS;
    err = cascade_node_sleep_until(node, "then", c->until_ms);
    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "rest", c->until_ms + NAP_MS - now_ms);
    if (err == CASCADE_OK)
        err = cascade_node_sleep_until(node, "past", -5);
    if (err == CASCADE_OK) /* recorded: whatever is asked for now */
        err = c->entries > 3 ? CASCADE_OK : CASCADE_ERR_FINAL;
    return err;
}

static void
a_node_sleeps_until_a_time(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"until", sleep_until_then}}, .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "until", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.entries, 4);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 4);
    check_sleep(snapshot, 1, "cascade.sleep:then", UNTIL);
    assert_int_equal(play_execution(snapshot, 1)->not_before_ms, c.until_ms);
    check_sleep(snapshot, 2, "cascade.sleep:rest", 0);
    assert_int_equal(play_execution(snapshot, 3)->not_before_ms, 0);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Parked ------------------------------------------------------------- */

static cascade_err
sleep_long(cascade_node *node, void *user)
{
    course *c = course_of(user);

    c->entries++;
    return cascade_node_sleep(node, "long", c->long_ms);
}

/* False when the sleep was over before it could be parked. */
static bool
is_parked(test_db *db, cascade_mode mode, int64_t long_ms)
{
    course c = {.long_ms = long_ms};
    play p = {.nodes = {{"long", sleep_long}}, .park_after_ms = 1, .user = &c};
    cascade_snapshot *snapshot = NULL;
    bool parked = false;

    play_run(&p, db, mode, "long", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.entries, 2);
    parked = db_stats(p.engine).parked > 0;
    assert_true(!parked || db_stats(p.engine).hydrations > 0);
    snapshot = play_snapshot(&p);
    check_sleep(snapshot, 1, "cascade.sleep:long", long_ms);
    cascade_snapshot_free(snapshot);
    play_end(&p);
    return parked;
}

static void
a_long_sleep_is_parked(test_db *db, cascade_mode mode)
{
    int64_t long_ms = 50;

    while (!is_parked(db, mode, long_ms)) {
        assert_true(long_ms < DB_WAIT_MS);
        long_ms *= 2;
    }
}

/* ---- Others go on ------------------------------------------------------- */

/* Its sleep of an hour is what the cascade does not wait for: the other node
 * ends it. */
static cascade_err
oversleep(cascade_node *node, void *user)
{
    course_of(user)->entries++;
    return cascade_node_sleep(node, "hour", INT64_C(3600) * 1000);
}

static cascade_err
give_up(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "now", -1, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_fail(node, "no time") : err;
}

static cascade_err
spawn_both(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "oversleep", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "give_up", NULL, NULL)
                             : err;
}

static void
a_cascade_may_end_while_a_node_sleeps(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"both", spawn_both},
                        {"oversleep", oversleep},
                        {"give_up", give_up}},
              .user = &c};

    play_begin(&p, db, mode, "both");
    play_until(&p, "cascade.sleep:hour", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p.store, &p.id, "now", NULL, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(c.entries, 1);
    play_end(&p);
}

/* ---- Against the contract ----------------------------------------------- */

static cascade_err
sleep_in_step(cascade_node *node, void *arg, cJSON **result)
{
    course *c = arg;

    (void)result;
    c->errs[0] = cascade_node_sleep(node, "nap", 1);
    c->errs[1] = cascade_node_sleep_until(node, "nap", 1);
    return CASCADE_OK;
}

static cascade_err
sleep_badly(cascade_node *node, void *user)
{
    course *c = course_of(user);
    const int64_t century_ms = INT64_C(100) * 366 * 86400 * 1000;

    c->errs[2] = cascade_node_sleep(node, "nap", century_ms);
    c->errs[3] = cascade_node_sleep_until(node, "nap", INT64_MAX);
    c->errs[4] = cascade_node_sleep(node, "a name with blanks", 1);
    c->errs[5] = cascade_node_sleep(NULL, "nap", 1);
    return cascade_node_step(node, "step", sleep_in_step, c, NULL, NULL);
}

static void
bad_sleeps_are_refused_and_leave_no_trace(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"badly", sleep_badly}}, .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "badly", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.errs[0], CASCADE_ERR_MISUSE);
    assert_int_equal(c.errs[1], CASCADE_ERR_MISUSE);
    for (int i = 2; i < 6; i++)
        assert_int_equal(c.errs[i], CASCADE_ERR_INVALID);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static cascade_err
ignore_the_sleep(cascade_node *node, void *user)
{
    course *c = course_of(user);

    c->entries++;
    c->errs[0] = cascade_node_sleep(node, "nap", 1);
    c->errs[1] = cascade_node_sleep(node, "other", 1);
    return CASCADE_OK;
}

static void
a_node_that_does_not_leave_fails(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"ignores", ignore_the_sleep}}, .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "ignores", NULL, CASCADE_ERROR);
    assert_int_equal(c.entries, 1);
    assert_int_equal(c.errs[0], CASCADE_SUSPENDED);
    assert_int_equal(c.errs[1], CASCADE_SUSPENDED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 1);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_sleep_is_recorded_once)
PLAY_MODES(a_node_sleeps_until_a_time)
PLAY_MODES(a_long_sleep_is_parked)
PLAY_MODES(a_cascade_may_end_while_a_node_sleeps)
PLAY_MODES(bad_sleeps_are_refused_and_leave_no_trace)
PLAY_MODES(a_node_that_does_not_leave_fails)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_sleep_is_recorded_once),
        PLAY_TESTS(a_node_sleeps_until_a_time),
        PLAY_TESTS(a_long_sleep_is_parked),
        PLAY_TESTS(a_cascade_may_end_while_a_node_sleeps),
        PLAY_TESTS(bad_sleeps_are_refused_and_leave_no_trace),
        PLAY_TESTS(a_node_that_does_not_leave_fails),
    };

    return stores_run("sleeps", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
