/* SPDX-License-Identifier: MIT
 *
 * Fork: a new cascade with the past of another one, up to any function_id,
 * which comes to the same end; and what of the past can be given otherwise.
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/again.h"
#include "support/sound.h"

/* Forks the play's cascade, which then is the play's. */
static cascade_err
fork_play(play *p, cascade_fork_options *options)
{
    cascade_started started;
    cascade_err err = CASCADE_OK;

    options->size = sizeof(*options);
    err = cascade_fork(p->store, &p->id, options, &started);
    if (err == CASCADE_OK)
        p->id = started.id;
    return err;
}

static size_t
history(const play *p)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    cascade_snapshot_free(snapshot);
    return count;
}

static cascade_err
give(cascade_node *node, void *user)
{
    (void)user;
    expect(cascade_node_spawn(node, "wait", NULL, NULL) == CASCADE_OK);
    return cascade_node_output(node, cJSON_CreateNumber(1));
}

static cascade_err
await_go(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

/* ---- A mixed cascade ---------------------------------------------------- */

static cascade_err
put_step(cascade_node *node, void *arg, cJSON **result)
{
    *result = cJSON_CreateNumber(7);
    return cascade_node_put(node, arg, cJSON_CreateNumber(7));
}

/* A step, a signal, a graph of two that are joined. */
static cascade_err
mixed(cascade_node *node, void *user)
{
    cJSON *result = NULL;
    cJSON *payload = NULL;
    cascade_err err =
        cascade_node_step(node, "first", put_step, "step", NULL, &result);

    cJSON_Delete(result);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "go", -1, &payload);
    cJSON_Delete(payload);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "second", put_step, "step", NULL, NULL);
    return err == CASCADE_OK ? again_fork(node, user) : err;
}

/* At each function_id; what had come by signals has to come again where it
 * had not come by then. */
static void
each_place_is_forked_and_ends_alike(test_db *db, cascade_mode mode)
{
    static const char context[] =
        "{\"seen\":[\"left\",\"right\"],\"step\":[7,7]}";
    again a = {.mended = true};
    play p = {.nodes = {{"mixed", mixed},
                        {"left", again_left},
                        {"right", again_right},
                        {"join", again_join}},
              .user = &a};
    cascade_uuid origin;
    size_t count = 0;
    int32_t signal = 0;

    play_begin(&p, db, mode, "mixed");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(1), NULL));
    again_check(&p, CASCADE_COMPLETED, context, "3");
    origin = p.id;
    count = history(&p);
    signal = again_find(&p, "cascade.signal:go");
    for (size_t i = 0; i < count; i++) {
        cascade_fork_options options = {.from = (int32_t)i};

        p.id = origin;
        assert_ok(fork_play(&p, &options));
        if ((int32_t)i <= signal)
            assert_ok(
                cascade_signal(p.store, &p.id, "go", play_number(1), NULL));
        again_check(&p, CASCADE_COMPLETED, context, "3");
        assert_int_equal(play_count(&p, "mixed", CASCADE_EXECUTION_COMPLETED),
                         1);
        again_hand_over(&p);
    }
    p.id = origin;
    assert_int_equal(history(&p), count);
    again_check(&p, CASCADE_COMPLETED, context, "3");
    play_end(&p);
}

/* The steps that it has are not done again. */
static void
a_line_is_forked_from_a_step(test_db *db, cascade_mode mode)
{
    again a = {.mended = true};
    play p = {.nodes = {{"line", again_line}}, .user = &a};
    cascade_fork_options options = {.from = 2, .reason = "to look at it"};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "line", NULL, CASCADE_COMPLETED);
    assert_ok(fork_play(&p, &options));
    again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
    assert_int_equal(a.steps[0], 1);
    assert_int_equal(a.steps[1], 2);
    assert_int_equal(a.steps[2], 2);
    snapshot = play_snapshot(&p);
    assert_non_null(strstr(play_execution(snapshot, 0)->full_output,
                           "\"reason\":\"to look at it\",\"function_id\":2}"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* What has failed can be forked in front of its failure, and what a retry or a
 * rerun has made as well. */
static void
what_was_put_back_is_forked(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"line", again_line}}, .user = &a};
    cascade_uuid origin;
    size_t count = 0;

    play_run(&p, db, mode, "line", NULL, CASCADE_ERROR);
    atomic_store(&a.mended, true);
    assert_ok(again_retry(&p, "one"));
    again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
    assert_ok(again_rerun(&p, 2, "two"));
    again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
    origin = p.id;
    count = history(&p);
    for (size_t i = 0; i < count; i++) {
        cascade_fork_options options = {.from = (int32_t)i};
        cascade_err err = CASCADE_OK;

        p.id = origin;
        err = fork_play(&p, &options);
        if (err == CASCADE_ERR_INVALID) /* it had ended just before */
            continue;
        assert_ok(err);
        again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
        again_hand_over(&p);
    }
    p.id = origin;
    play_end(&p);
}

/* What an earlier rerun had put back is there as well: a rerun of the new one
 * from that place puts it back again. */
static void
a_fork_is_put_back_to_before_an_earlier_rerun(test_db *db, cascade_mode mode)
{
    again a = {.mended = true};
    play p = {.nodes = {{"begins", give}, {"wait", await_go}}, .user = &a};
    cascade_fork_options options = {.from = 0};
    int32_t first = -1;

    play_begin(&p, db, mode, "begins");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(again_rerun(&p, 2, "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    first = again_find(&p, "cascade.rerun");
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "1");
    options.from = again_find(&p, "cascade.signal:go");
    assert_ok(fork_play(&p, &options));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_true(sound_all(p.store));
    assert_ok(again_rerun(&p, first, "two"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_int_equal(again_superseded(&p, first),
                     again_find(&p, "cascade.rerun"));
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "1");
    play_end(&p);
}

/* ---- Outputs ------------------------------------------------------------ */

static void
an_output_that_had_not_come_is_not_given(test_db *db, cascade_mode mode)
{
    again a = {.mended = true};
    play p = {.nodes = {AGAIN_GRAPH}, .worker_count = 1, .user = &a};
    cascade_fork_output outputs[] = {
        {.size = sizeof(outputs[0]), .node = "left", .output = "10"},
        {.size = sizeof(outputs[0]), .function_id = 2, .output = " 20 "}};
    cascade_fork_options options = {
        .from = 3, .outputs = outputs, .output_count = 2};

    play_run(&p, db, mode, "fork", NULL, CASCADE_COMPLETED);
    /* Both ended after join was spawned: none had completed by then. */
    assert_fails(CASCADE_ERR_NOT_FOUND, fork_play(&p, &options));
    options.outputs = NULL;
    options.output_count = 0;
    assert_ok(fork_play(&p, &options));
    again_check(&p, CASCADE_COMPLETED, "{\"seen\":[\"left\",\"right\"]}", "3");
    play_end(&p);
}

static void
the_result_is_what_was_given(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"gives", give}, {"wait", await_go}}, .user = &a};
    cascade_fork_output output = {
        .size = sizeof(output), .node = "gives", .output = "{\"b\":1,\"a\":2}"};
    cascade_fork_output by_id = {
        .size = sizeof(by_id), .function_id = 0, .output = "\"zero\""};
    cascade_fork_options options = {
        .from = 2, .outputs = &output, .output_count = 1, .user_id = "me"};
    cascade_snapshot *snapshot = NULL;
    cascade_uuid origin;

    play_begin(&p, db, mode, "gives");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    origin = p.id;
    assert_ok(fork_play(&p, &options));
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "{\"a\":2,\"b\":1}");
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_info(snapshot)->user_id, "me");
    cascade_snapshot_free(snapshot);
    p.id = origin;
    options.outputs = &by_id;
    assert_ok(fork_play(&p, &options));
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "\"zero\"");
    p.id = origin; /* it waits still */
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_end(&p);
}

/* ---- What is refused ---------------------------------------------------- */

static void
what_is_not_there_is_not_forked(test_db *db)
{
    again a = {.mended = true};
    play p = {.nodes = {{"line", again_line}}, .user = &a};
    cascade_uuid id = {{9}}; /* of the new one */
    cascade_fork_output output = {
        .size = sizeof(output), .node = "none", .output = "1"};
    cascade_fork_options options = {.size = sizeof(options), .id = &id};
    cascade_started started;

    play_run(&p, db, CASCADE_MODE_THREADS, "line", NULL, CASCADE_COMPLETED);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_fork(p.store, &id, &options, &started));
    options.from = 4;
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_fork(p.store, &p.id, &options, &started));
    options.from = -1;
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_fork(p.store, &p.id, &options, &started));
    options.from = 1;
    options.outputs = &output;
    options.output_count = 1;
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_fork(p.store, &p.id, &options, &started));
    output = (cascade_fork_output){
        .size = sizeof(cascade_fork_output), .function_id = 1, .output = "{"};
    assert_fails(CASCADE_ERR_JSON,
                 cascade_fork(p.store, &p.id, &options, &started));
    options.output_count = 0;
    assert_ok(cascade_fork(p.store, &p.id, &options, &started));
    assert_false(started.existed);
    assert_ok(cascade_fork(p.store, &p.id, &options, &started));
    assert_true(started.existed);
    assert_memory_equal(&started.id, &id, sizeof(id));
    p.id = id;
    again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
    play_end(&p);
}

PLAY_MODES(each_place_is_forked_and_ends_alike)
PLAY_MODES(a_line_is_forked_from_a_step)
PLAY_MODES(what_was_put_back_is_forked)
PLAY_MODES(a_fork_is_put_back_to_before_an_earlier_rerun)
PLAY_MODES(an_output_that_had_not_come_is_not_given)
PLAY_MODES(the_result_is_what_was_given)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(each_place_is_forked_and_ends_alike),
        PLAY_TESTS(a_line_is_forked_from_a_step),
        PLAY_TESTS(what_was_put_back_is_forked),
        PLAY_TESTS(a_fork_is_put_back_to_before_an_earlier_rerun),
        PLAY_TESTS(an_output_that_had_not_come_is_not_given),
        PLAY_TESTS(the_result_is_what_was_given),
        {"what_is_not_there_is_not_forked", what_is_not_there_is_not_forked,
         STORES_ALL},
    };

    return stores_run("fork", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
