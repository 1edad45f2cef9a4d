/* SPDX-License-Identifier: MIT
 *
 * CASCADE_FINAL_INSTEAD: when an execution has failed for good another node
 * runs in its place, told what failed and why, and whoever comes after the one
 * that failed comes after it too.
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/play.h"

/* ---- The nodes ---------------------------------------------------------- */

static cascade_err
root(cascade_node *node, void *user)
{
    uint32_t one = 1;
    cascade_spawn_options after = {
        .size = sizeof(after), .after = &one, .after_count = 1};
    cJSON *input = cJSON_CreateObject();

    (void)user;
    cJSON_AddStringToObject(input, "who", "a \"guest\"");
    expect(cascade_node_spawn(node, "first", input, NULL) == CASCADE_OK);
    return cascade_node_spawn(node, "join", NULL, &after);
}

static cascade_err
first(cascade_node *node, void *user)
{
    (void)user;
    expect(cascade_node_put(node, "k", cJSON_CreateNumber(1)) == CASCADE_OK);
    return cascade_node_fail(node, "no \"first\" today");
}

static void
expect_input(cascade_node *node, const char *text)
{
    char *input = cJSON_PrintUnformatted(cascade_node_input(node));

    if (!expect(strcmp(input, text) == 0))
        fprintf(stderr, "the input is %s\n", input);
    cJSON_free(input);
}

#define FIRST_INPUT "{\"who\":\"a \\\"guest\\\"\"}"
#define FIRST_FAILED                                    \
    "{\"node\":\"first\",\"error\":\"no \\\"first\\\" " \
    "today\",\"input\":" FIRST_INPUT "}"

static cascade_err
second(cascade_node *node, void *user)
{
    (void)user;
    expect_input(node, FIRST_FAILED);
    return cascade_node_put(node, "k", cJSON_CreateNumber(2));
}

static cascade_err
second_fails(cascade_node *node, void *user)
{
    (void)user;
    expect_input(node, FIRST_FAILED);
    return cascade_node_fail(node, "nor this");
}

static cascade_err
third(cascade_node *node, void *user)
{
    (void)user;
    expect_input(
        node,
        "{\"node\":\"second\",\"error\":\"nor this\",\"input\":" FIRST_INPUT
        "}");
    return cascade_node_put(node, "k", cJSON_CreateNumber(3));
}

/* What failed wrote nothing; what ran instead did. */
static cascade_err
join(cascade_node *node, void *user)
{
    const cJSON *values = NULL;

    (void)user;
    expect(cascade_node_history(node, "k", &values) == CASCADE_OK);
    return cascade_node_output(node, cJSON_Duplicate(values, true));
}

/* ---- One, and one after another ----------------------------------------- */

static void
another_node_runs_instead(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root},
                        {"first", first},
                        {"second", second},
                        {"join", join}},
              .instead = {[1] = "second"}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 4);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_ERRORS), 1);
    assert_null(cascade_snapshot_error(snapshot));
    assert_string_equal(play_execution(snapshot, 1)->node_name, "first");
    assert_int_equal(play_execution(snapshot, 1)->status,
                     CASCADE_EXECUTION_FAILED);
    assert_string_equal(play_execution(snapshot, 3)->node_name, "second");
    assert_int_equal(play_execution(snapshot, 3)->parent_function_id, 1);
    assert_string_equal(play_execution(snapshot, 2)->output, "[2]");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
what_runs_instead_may_fail_too(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root},
                        {"first", first},
                        {"second", second_fails},
                        {"third", third},
                        {"join", join}},
              .instead = {[1] = "second", [2] = "third"}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 5);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_ERRORS), 2);
    assert_string_equal(play_execution(snapshot, 2)->output, "[3]");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
the_last_failure_ends_the_cascade(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root},
                        {"first", first},
                        {"second", second_fails},
                        {"join", join}},
              .instead = {[1] = "second"}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "root", NULL, CASCADE_ERROR);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_error(snapshot), "nor this");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_ERRORS), 2);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

#define ROUNDS 200 /* far more than a payload may be deep */

/* The one that stands for the other, in turn. */
static cascade_err
fail_in_a_circle(cascade_node *node, void *user)
{
    int *rounds = ((play *)user)->user;
    const cJSON *input = cascade_node_input(node);

    if (!expect(input != NULL))
        return CASCADE_OK;
    if (++*rounds < ROUNDS)
        return cascade_node_fail(node, "not yet");
    expect(strcmp(cJSON_GetStringValue(
                      cJSON_GetObjectItemCaseSensitive(input, "error")),
                  "not yet") == 0);
    return cascade_node_output(
        node, cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(input, "input"),
                              true));
}

/* G7, G13: the input does not grow, so any process can read the cascade. */
static void
nodes_may_stand_for_each_other(test_db *db, cascade_mode mode)
{
    int rounds = 0;
    play p = {.nodes = {{"a", fail_in_a_circle}, {"b", fail_in_a_circle}},
              .instead = {"b", "a"},
              .attempts_max = 1,
              .user = &rounds};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "a", "{\"n\":[1]}", CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                     ROUNDS);
    assert_string_equal(cascade_snapshot_result(snapshot), "{\"n\":[1]}");
    assert_string_equal(
        play_execution(snapshot, ROUNDS - 1)->input,
        "{\"node\":\"a\",\"error\":\"not yet\",\"input\":{\"n\":[1]}}");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Options ------------------------------------------------------------ */

static void
options_that_make_no_sense_are_refused(test_db *db)
{
    cascade_node_options options = {.size = sizeof(options)};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);

    options.final_failure = CASCADE_FINAL_INSTEAD;
    assert_int_equal(
        cascade_engine_register(engine, "n", first, NULL, &options),
        CASCADE_ERR_INVALID);
    options.instead = "n";
    assert_int_equal(
        cascade_engine_register(engine, "n", first, NULL, &options),
        CASCADE_ERR_INVALID);
    options.instead = "cascade.n";
    assert_int_equal(
        cascade_engine_register(engine, "n", first, NULL, &options),
        CASCADE_ERR_INVALID);
    options.instead = "m";
    options.final_failure = CASCADE_FINAL_CONTINUE;
    assert_int_equal(
        cascade_engine_register(engine, "n", first, NULL, &options),
        CASCADE_ERR_INVALID);
    options.final_failure = CASCADE_FINAL_INSTEAD;
    assert_ok(cascade_engine_register(engine, "n", first, NULL, &options));
    db_close_engine(db, engine);
    db_close_store(db, store);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(another_node_runs_instead)
PLAY_MODES(what_runs_instead_may_fail_too)
PLAY_MODES(the_last_failure_ends_the_cascade)
PLAY_MODES(nodes_may_stand_for_each_other)

static void
a_stand_in_that_is_not_there_is_told(test_db *db)
{
    play p = {.nodes = {{"a", fail_in_a_circle}}, .instead = {"nowhere"}};
    size_t before = atomic_load(&db->warnings);

    play_open(&p, db, CASCADE_MODE_THREADS);
    assert_int_equal(atomic_load(&db->warnings) - before, 1);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(another_node_runs_instead),
        PLAY_TESTS(what_runs_instead_may_fail_too),
        PLAY_TESTS(the_last_failure_ends_the_cascade),
        PLAY_TESTS(nodes_may_stand_for_each_other),
        {"a_stand_in_that_is_not_there_is_told",
         a_stand_in_that_is_not_there_is_told, STORES_MEMORY},
        {"options_that_make_no_sense_are_refused",
         options_that_make_no_sense_are_refused, STORES_ALL},
    };

    return stores_run("instead", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
