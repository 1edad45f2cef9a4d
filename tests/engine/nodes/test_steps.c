/* SPDX-License-Identifier: MIT
 *
 * Steps: recorded once (G3), matched by name and occurrence, with attempts of
 * their own, and what is recorded when an engine dies between two of them (G4).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/support/play.h"

/* How often things were called in one play. */
typedef struct calls {
    int node;
    int step[4];
    char ids[8][200]; /* request ids, as they came */
    size_t id_count;
} calls;

static calls *
calls_of(void *user)
{
    return ((play *)user)->user;
}

static cascade_err
count_step(cascade_node *node, void *arg, cJSON **result)
{
    int *count = arg;

    (void)node;
    (*count)++;
    *result = cJSON_CreateNumber(*count);
    return CASCADE_OK;
}

/* ---- Recorded once ------------------------------------------------------ */

/* The same name twice, and another one; the node fails after them, once. */
static cascade_err
three_steps(cascade_node *node, void *user)
{
    static const char *const names[] = {"a", "a", "b"};
    calls *c = calls_of(user);

    c->node++;
    for (size_t i = 0; i < 3; i++) {
        cJSON *result = NULL;
        cascade_err err = cascade_node_step(node, names[i], count_step,
                                            &c->step[i], NULL, &result);

        if (err != CASCADE_OK)
            return err;
        expect(cJSON_IsNumber(result) && result->valueint == 1);
        cJSON_Delete(result);
    }
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "after the steps");
    return CASCADE_OK;
}

static void
a_recorded_step_is_not_repeated(test_db *db, cascade_mode mode)
{
    calls c = {0};
    play p = {.nodes = {{"steps", three_steps}}, .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "steps", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.step[0] + c.step[1] + c.step[2], 3);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 4);
    assert_int_equal(play_execution(snapshot, 0)->attempts, 2);
    assert_non_null(strstr(play_execution(snapshot, 2)->node_instance_id,
                           "/0/cascade.step:a#1"));
    assert_int_equal(play_execution(snapshot, 3)->parent_function_id, 0);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- What a step produces ----------------------------------------------- */

static cascade_err
put_and_spawn(cascade_node *node, void *arg, cJSON **result)
{
    const cJSON *value = NULL;
    uint32_t one = 1;
    cascade_spawn_options after = {
        .size = sizeof(after), .after = &one, .after_count = 1};

    (void)arg;
    (void)result;
    expect(cascade_node_spawned(node) == 0);
    expect(cascade_node_spawn(node, "child", NULL, NULL) == CASCADE_OK);
    expect(cascade_node_spawn(node, "joined", NULL, &after) == CASCADE_OK);
    expect(cascade_node_put(node, "k", cJSON_CreateNumber(2)) == CASCADE_OK);
    expect(cascade_node_get(node, "k", &value) == CASCADE_OK);
    expect(value->valueint == 2);
    return CASCADE_OK;
}

/* What the step put is seen behind it, and stays although the node fails. */
static cascade_err
around_a_step(cascade_node *node, void *user)
{
    const cJSON *values = NULL;
    cascade_err err = cascade_node_put(node, "k", cJSON_CreateNumber(1));

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "s", put_and_spawn, NULL, NULL, NULL);
    if (err != CASCADE_OK)
        return err;
    expect(cascade_node_spawned(node) == 0);
    expect(cascade_node_history(node, "k", &values) == CASCADE_OK);
    expect(cJSON_GetArraySize(values) == 2);
    expect(cJSON_GetArrayItem(values, 1)->valueint == 2);
    return cascade_node_fail(node, "all the same");
}

static cascade_err
sees_the_step(cascade_node *node, void *user)
{
    const cJSON *values = NULL;

    (void)user;
    expect(cascade_node_history(node, "k", &values) == CASCADE_OK);
    expect(cJSON_GetArraySize(values) == 1);
    return CASCADE_OK;
}

static void
what_a_step_produced_stays(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"around", around_a_step},
                        {"child", sees_the_step},
                        {"joined", sees_the_step}},
              .final_failure = CASCADE_FINAL_CONTINUE};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "around", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_context(snapshot), "{\"k\":[2]}");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 4);
    assert_int_equal(play_execution(snapshot, 2)->parent_function_id, 1);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Attempts of its own ------------------------------------------------ */

/* Fails `step[3]` times. */
static cascade_err
shaky(cascade_node *node, void *arg, cJSON **result)
{
    calls *c = arg;

    c->step[0]++;
    expect(cascade_node_attempt(node) == c->step[0]);
    snprintf(c->ids[c->id_count++ % 8], sizeof(c->ids[0]), "%s",
             cascade_node_request_id(node));
    if (c->step[0] <= c->step[3])
        return cascade_node_error(node, "shaky %d", c->step[0]);
    *result = cJSON_CreateString("at last");
    return CASCADE_OK;
}

/* Goes on after a step that failed for good. */
static cascade_err
with_shaky_step(cascade_node *node, void *user)
{
    calls *c = calls_of(user);
    cascade_step_options options = {
        .size = sizeof(options), .attempts_max = 3, .backoff_ms = 2};
    cJSON *result = NULL;
    cascade_err err = CASCADE_OK;

    c->node++;
    expect(cascade_node_attempt(node) == 1);
    err = cascade_node_step(node, "s", count_step, &c->step[1], NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "shaky", shaky, c, &options, &result);
    if (err == CASCADE_OK)
        expect(strcmp(result->valuestring, "at last") == 0);
    cJSON_Delete(result);
    if (err != CASCADE_ERR_FINAL)
        return err;
    expect(c->step[3] == 3);
    return cascade_node_input(node)->child != NULL ? err : CASCADE_OK;
}

static void
run_shaky(test_db *db, cascade_mode mode, int fails, const char *input,
          cascade_status status)
{
    calls c = {.step = {0, 0, 0, fails}};
    play p = {.nodes = {{"n", with_shaky_step}}, .user = &c};
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *step = NULL;

    play_run(&p, db, mode, "n", input, status);
    assert_int_equal(c.step[0], 3);
    assert_int_equal(c.step[1], 1);
    for (size_t i = 1; i < c.id_count; i++)
        assert_string_equal(c.ids[i], c.ids[0]);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 3);
    step = play_execution(snapshot, 2);
    assert_int_equal(step->attempts, 3);
    assert_string_equal(step->node_instance_id, c.ids[0]);
    assert_int_equal(step->status, fails < 3 ? CASCADE_EXECUTION_COMPLETED
                                             : CASCADE_EXECUTION_FAILED);
    if (status == CASCADE_ERROR)
        assert_string_equal(cascade_snapshot_error(snapshot), "shaky 3");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
a_step_has_attempts_of_its_own(test_db *db, cascade_mode mode)
{
    run_shaky(db, mode, 2, "{}", CASCADE_COMPLETED);
}

static void
a_node_may_go_on_after_a_failed_step(test_db *db, cascade_mode mode)
{
    run_shaky(db, mode, 3, "{}", CASCADE_COMPLETED);
}

static void
a_failed_step_may_fail_its_node(test_db *db, cascade_mode mode)
{
    run_shaky(db, mode, 3, "{\"give\":1}", CASCADE_ERROR);
}

/* Without options nothing is recorded, and the node's attempts count. */
static cascade_err
fail_twice(cascade_node *node, void *arg, cJSON **result)
{
    int *count = arg;

    (void)result;
    (*count)++;
    expect(cascade_node_attempt(node) == *count);
    return *count < 3 ? cascade_node_error(node, "not yet") : CASCADE_OK;
}

static cascade_err
plain_failing_step(cascade_node *node, void *user)
{
    calls *c = calls_of(user);

    c->node++;
    return cascade_node_step(node, "s", fail_twice, &c->step[0], NULL, NULL);
}

static void
a_step_without_options_uses_the_attempts_of_its_node(test_db *db,
                                                     cascade_mode mode)
{
    calls c = {0};
    play p = {.nodes = {{"n", plain_failing_step}}, .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "n", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.step[0], 3);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    assert_int_equal(play_execution(snapshot, 0)->attempts, 3);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Misuse ------------------------------------------------------------- */

static cascade_err
nest(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    expect(cascade_node_step(node, "inner", count_step, arg, NULL, NULL) ==
           CASCADE_ERR_MISUSE);
    expect(cascade_node_output(node, cJSON_CreateTrue()) == CASCADE_ERR_MISUSE);
    return CASCADE_OK;
}

static cascade_err
misuse_steps(cascade_node *node, void *user)
{
    calls *c = calls_of(user);
    cascade_step_options bad = {.size = sizeof(bad), .backoff_percent = 50};

    expect(cascade_node_step(node, "", count_step, &c->step[0], NULL, NULL) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_step(node, "s", NULL, NULL, NULL, NULL) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_step(node, "s", count_step, &c->step[0], &bad, NULL) ==
           CASCADE_ERR_INVALID);
    return cascade_node_step(node, "outer", nest, &c->step[0], NULL, NULL);
}

static void
steps_out_of_place_are_refused(test_db *db, cascade_mode mode)
{
    calls c = {0};
    play p = {.nodes = {{"n", misuse_steps}}, .user = &c};

    play_run(&p, db, mode, "n", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.step[0], 0);
    play_end(&p);
}

/* Does as if nothing had happened. */
static cascade_err
ignore_suspension(cascade_node *node, void *user)
{
    calls *c = calls_of(user);
    cascade_step_options options = {
        .size = sizeof(options), .attempts_max = 3, .backoff_ms = 1};

    c->step[3] = 3;
    expect(cascade_node_step(node, "shaky", shaky, c, &options, NULL) ==
           CASCADE_SUSPENDED);
    expect(cascade_node_step(node, "more", count_step, &c->step[1], NULL,
                             NULL) == CASCADE_SUSPENDED);
    return CASCADE_OK;
}

static void
a_node_that_ignores_its_suspension_fails(test_db *db, cascade_mode mode)
{
    calls c = {0};
    play p = {.nodes = {{"n", ignore_suspension}}, .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "n", NULL, CASCADE_ERROR);
    assert_int_equal(c.step[0], 1);
    assert_int_equal(c.step[1], 0);
    snapshot = play_snapshot(&p);
    assert_non_null(
        strstr(cascade_snapshot_error(snapshot), "CASCADE_SUSPENDED"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static cascade_err
suspend_by_itself(cascade_node *node, void *user)
{
    calls_of(user)->node++;
    return cascade_node_attempt(node) < 3 ? CASCADE_SUSPENDED : CASCADE_OK;
}

static void
a_node_cannot_suspend_itself(test_db *db, cascade_mode mode)
{
    calls c = {0};
    play p = {.nodes = {{"n", suspend_by_itself}}, .user = &c};

    play_run(&p, db, mode, "n", NULL, CASCADE_COMPLETED);
    assert_int_equal(c.node, 3);
    play_end(&p);
}

/* ---- An engine dies between two steps ----------------------------------- */

typedef struct death {
    wrap_store wrap;
    size_t lives; /* commits until it reaches no store any more */
    bool dead;
} death;

static cascade_err
die_after(void *context, const wrap_call *call)
{
    death *d = context;

    if (call->move == WRAP_COMMIT && d->lives-- == 0)
        d->dead = true;
    return d->dead ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

static cascade_err
note_step(cascade_node *node, void *arg, cJSON **result)
{
    calls *c = arg;

    (void)result;
    snprintf(c->ids[c->id_count++ % 8], sizeof(c->ids[0]), "%s",
             cascade_node_request_id(node));
    return CASCADE_OK;
}

static cascade_err
two_steps(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_step(node, "first", note_step, user, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_step(node, "second", note_step, user, NULL, NULL);
    return err;
}

static bool
is_dead(void *context)
{
    return ((death *)context)->dead;
}

/* INLINE, one engine after the other; the first dies at its commit number
 * `lives` + 1: that of the second step. */
static void
a_step_runs_again_only_if_it_was_not_recorded(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = 200,
                                      .poll_interval_ms = 20};
    death *d = calloc(1, sizeof(*d));
    calls *c = calloc(1, sizeof(*c));
    cascade_store *store = NULL;
    cascade_engine *engines[2];
    cascade_uuid id;
    db_ends ends;

    assert_non_null(d);
    assert_non_null(c);
    db->fake_time = db->backend->virtual_time;
    assert_int_equal(wrap_store_init(&d->wrap, db->url), 0);
    d->wrap.context = d;
    d->wrap.before = die_after;
    d->lives = 1;
    for (size_t i = 0; i < 2; i++) {
        store = i == 0 ? db_wrapped(db, &d->wrap) : db_store(db);
        engines[i] = db_engine(db, store, &options);
        assert_ok(cascade_engine_register(engines[i], "n", two_steps, c, NULL));
        assert_ok(cascade_engine_start(engines[i]));
    }
    id = db_start(store, "n");
    assert_true(db_poll_until(db, &engines[0], 1, is_dead, d));
    assert_int_equal(c->id_count, 2);
    ends = (db_ends){store, &id, 1, 0};
    assert_true(db_poll_until(db, &engines[1], 1, db_all_ended, &ends));
    assert_int_equal(c->id_count, 3);
    assert_non_null(strstr(c->ids[0], "first"));
    assert_non_null(strstr(c->ids[1], "second"));
    assert_string_equal(c->ids[2], c->ids[1]);
    (void)cascade_engine_stop(engines[0], 0);
    db_close_engine(db, engines[0]);
    db_close_engine(db, engines[1]);
    db_close_store(db, db->stores[0]);
    wrap_store_fini(&d->wrap);
    free(c);
    free(d);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_recorded_step_is_not_repeated)
PLAY_MODES(what_a_step_produced_stays)
PLAY_MODES(a_step_has_attempts_of_its_own)
PLAY_MODES(a_node_may_go_on_after_a_failed_step)
PLAY_MODES(a_failed_step_may_fail_its_node)
PLAY_MODES(a_step_without_options_uses_the_attempts_of_its_node)
PLAY_MODES(steps_out_of_place_are_refused)
PLAY_MODES(a_node_that_ignores_its_suspension_fails)
PLAY_MODES(a_node_cannot_suspend_itself)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_recorded_step_is_not_repeated),
        PLAY_TESTS(what_a_step_produced_stays),
        PLAY_TESTS(a_step_has_attempts_of_its_own),
        PLAY_TESTS(a_node_may_go_on_after_a_failed_step),
        PLAY_TESTS(a_failed_step_may_fail_its_node),
        PLAY_TESTS(a_step_without_options_uses_the_attempts_of_its_node),
        PLAY_TESTS(steps_out_of_place_are_refused),
        PLAY_TESTS(a_node_that_ignores_its_suspension_fails),
        PLAY_TESTS(a_node_cannot_suspend_itself),
        {"a_step_runs_again_only_if_it_was_not_recorded",
         a_step_runs_again_only_if_it_was_not_recorded, STORES_ALL},
    };

    return stores_run("steps", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
