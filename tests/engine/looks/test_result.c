/* SPDX-License-Identifier: MIT
 *
 * What comes of a cascade, in one call: its result, its error, that of its last
 * run; and a start that waits for it.
 */
#include <string.h>

#include "engine/support/play.h"

#define LIMIT_MS 60000
#define RUNS 3

static cascade_err
echo(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_output(node,
                               cJSON_Duplicate(cascade_node_input(node), true));
}

static cascade_err
refuse_order(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "no such order");
}

static cascade_err
wait_for_word(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "word", -1, NULL);
}

/* {"n":n}: continues until n is RUNS. */
static cascade_err
go_on(cascade_node *node, void *user)
{
    int n = play_read_number(cascade_node_input(node));

    (void)user;
    if (n < RUNS)
        return cascade_node_continue_as_new(node, NULL, play_number(n + 1));
    return cascade_node_output(node, play_number(n));
}

/* ---- What a node says is the result -------------------------------------- */

static cascade_err
set_in_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
    expect(cascade_node_result(node, cJSON_CreateTrue()) == CASCADE_ERR_MISUSE);
    return CASCADE_OK;
}

/* Its reminder comes later, and puts out something too. */
static cascade_err
decide(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_step(node, "s", set_in_step, NULL, NULL, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_result(node, cJSON_CreateString("yes"));
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "echo", cJSON_CreateFalse(), NULL);
    return err;
}

/* The last word is that of the later one. */
static cascade_err
decide_twice(cascade_node *node, void *user)
{
    const cJSON *input = cascade_node_input(node);
    cascade_err err = CASCADE_OK;

    (void)user;
    expect(cascade_node_result(NULL, cJSON_CreateTrue()) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_result(node, NULL) == CASCADE_ERR_INVALID);
    if (cJSON_IsNumber(input))
        return cascade_node_result_text(node, cascade_node_input_text(node));
    err = cascade_node_result(node, cJSON_CreateNumber(1));
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "decides-twice", cJSON_CreateNumber(2),
                                 NULL);
    return err;
}

static cascade_err
ask_child(cascade_node *node, void *user)
{
    cascade_uuid id;
    cJSON *result = NULL;
    cascade_err err =
        cascade_node_start_child(node, "c", "decides", NULL, NULL, &id);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, &result);
    return err == CASCADE_OK ? cascade_node_output(node, result) : err;
}

static void
open_play(play *p, test_db *db)
{
    *p = (play){.nodes = {{"echo", echo},
                          {"fail", refuse_order},
                          {"waits", wait_for_word},
                          {"goes-on", go_on},
                          {"decides", decide},
                          {"decides-twice", decide_twice},
                          {"asks-child", ask_child}},
                .attempts_max = 1};
    play_open(p, db, CASCADE_MODE_THREADS);
}

static void
a_start_is_told_what_came_of_it(test_db *db)
{
    play p;
    cascade_outcome *outcome = NULL;
    cascade_started started;

    open_play(&p, db);
    assert_ok(
        cascade_run_result(p.store, "echo", cJSON_Parse("{\"b\":2,\"a\":[1]}"),
                           CASCADE_OPTIONS(cascade_start_options, .key = "k"),
                           LIMIT_MS, &started, &outcome));
    assert_int_equal(outcome->status, CASCADE_COMPLETED);
    assert_string_equal(outcome->result, "{\"a\":[1],\"b\":2}");
    assert_null(outcome->error);
    assert_memory_equal(&outcome->id, &started.id, sizeof(started.id));
    cascade_outcome_free(outcome);
    /* The key was started: that one is told. */
    assert_ok(
        cascade_run_result(p.store, "echo", NULL,
                           CASCADE_OPTIONS(cascade_start_options, .key = "k"),
                           LIMIT_MS, NULL, &outcome));
    assert_string_equal(outcome->result, "{\"a\":[1],\"b\":2}");
    cascade_outcome_free(outcome);
    outcome = NULL;
    assert_int_equal(cascade_run_result_text(p.store, "echo", "{\"a\":", NULL,
                                             LIMIT_MS, NULL, &outcome),
                     CASCADE_ERR_JSON);
    assert_null(outcome);
    assert_ok(cascade_run_result_text(p.store, "echo", "9007199254740993", NULL,
                                      LIMIT_MS, NULL, &outcome));
    assert_string_equal(outcome->result, "9007199254740993");
    cascade_outcome_free(outcome);
    play_end(&p);
}

static void
an_error_is_an_outcome(test_db *db)
{
    play p;
    cascade_outcome *outcome = NULL;

    open_play(&p, db);
    assert_ok(cascade_run_result(p.store, "fail", NULL, NULL, LIMIT_MS, NULL,
                                 &outcome));
    assert_int_equal(outcome->status, CASCADE_ERROR);
    assert_null(outcome->result);
    assert_non_null(strstr(outcome->error, "no such order"));
    cascade_outcome_free(outcome);
    play_end(&p);
}

static void
the_last_run_is_told(test_db *db)
{
    play p;
    cascade_outcome *outcome = NULL;
    cascade_started started;

    open_play(&p, db);
    assert_ok(cascade_run_result(p.store, "goes-on", play_number(1), NULL,
                                 LIMIT_MS, &started, &outcome));
    assert_string_equal(outcome->result, "{\"n\":3}");
    assert_memory_not_equal(&outcome->id, &started.id, sizeof(started.id));
    cascade_outcome_free(outcome);
    play_end(&p);
}

static void
expect_result(play *p, const char *node, const char *result)
{
    cascade_outcome *outcome = NULL;

    assert_ok(cascade_run_result(p->store, node, NULL, NULL, LIMIT_MS, NULL,
                                 &outcome));
    assert_int_equal(outcome->status, CASCADE_COMPLETED);
    assert_string_equal(outcome->result, result);
    cascade_outcome_free(outcome);
}

static void
what_is_set_is_the_result(test_db *db)
{
    play p;

    open_play(&p, db);
    expect_result(&p, "decides", "\"yes\"");
    expect_result(&p, "decides-twice", "2");
    expect_result(&p, "asks-child", "\"yes\"");
    play_end(&p);
}

static void
its_time_may_be_over(test_db *db)
{
    play p;
    cascade_outcome *outcome = NULL;
    cascade_started started;

    open_play(&p, db);
    assert_int_equal(
        cascade_run_result(p.store, "waits", NULL, NULL, 0, &started, &outcome),
        CASCADE_ERR_TIMEOUT);
    assert_null(outcome);
    assert_ok(cascade_signal(p.store, &started.id, "word", NULL, NULL));
    assert_ok(cascade_wait_result(p.store, &started.id, -1, &outcome));
    assert_int_equal(outcome->status, CASCADE_COMPLETED);
    assert_null(outcome->result);
    cascade_outcome_free(outcome);
    play_end(&p);
}

static void
what_cannot_be_waited_for_is_not_started(test_db *db)
{
    play p;
    cascade_outcome *outcome = NULL;
    cascade_uuid id = {{1}};
    cascade_page *page = NULL;

    open_play(&p, db);
    assert_int_equal(cascade_run_result(p.store, "echo", cJSON_CreateObject(),
                                        NULL, 0, NULL, NULL),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_run_result(NULL, "echo", cJSON_CreateObject(),
                                        NULL, 0, NULL, &outcome),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_run_result(p.store, "no good name", NULL, NULL, 0,
                                        NULL, &outcome),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_wait_result(p.store, &id, 0, &outcome),
                     CASCADE_ERR_NOT_FOUND);
    assert_int_equal(cascade_wait_result(p.store, NULL, 0, &outcome),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_wait_result(NULL, &id, 0, &outcome),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_wait_result(p.store, &id, 0, NULL),
                     CASCADE_ERR_INVALID);
    assert_null(outcome);
    cascade_outcome_free(NULL);
    assert_ok(cascade_list(p.store, NULL, &page));
    assert_int_equal(cascade_page_count(page), 0);
    cascade_page_free(page);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_start_is_told_what_came_of_it", a_start_is_told_what_came_of_it,
         STORES_ALL},
        {"an_error_is_an_outcome", an_error_is_an_outcome, STORES_ALL},
        {"the_last_run_is_told", the_last_run_is_told, STORES_ALL},
        {"what_is_set_is_the_result", what_is_set_is_the_result, STORES_ALL},
        {"its_time_may_be_over", its_time_may_be_over, STORES_ALL},
        {"what_cannot_be_waited_for_is_not_started",
         what_cannot_be_waited_for_is_not_started, STORES_ALL},
    };

    return stores_run("result", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
