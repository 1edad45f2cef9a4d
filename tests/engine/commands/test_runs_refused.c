/* SPDX-License-Identifier: MIT
 *
 * When nothing is continued: in a cascade that is cancelled, and where others
 * run beside the node, or are to.
 */
#include <string.h>

#include "engine/support/play.h"

static cascade_err
hear(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "news", -1, NULL);
}

static cascade_err
clean_up(cascade_node *node, void *user)
{
    cascade_err *told = ((play *)user)->user;
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    if (err != CASCADE_ERR_CANCELLED)
        return err;
    *told = cascade_node_continue_as_new(node, NULL, NULL);
    return *told;
}

static void
a_cancelled_cascade_does_not_continue(test_db *db, cascade_mode mode)
{
    cascade_err told = CASCADE_ERR_FAILED;
    play p = {.nodes = {{"cleans", clean_up}}, .user = &told};
    cascade_snapshot *snapshot = NULL;

    play_begin(&p, db, mode, "cleans");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(told, CASCADE_OK);
    snapshot = play_snapshot(&p);
    assert_null(cascade_snapshot_continued_as(snapshot));
    assert_string_equal(cascade_snapshot_error(snapshot), "cancelled");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* Beside "hears", which waits. */
static cascade_err
continue_beside(cascade_node *node, void *user)
{
    cascade_err *told = ((play *)user)->user;

    *told = cascade_node_continue_as_new(node, NULL, NULL);
    return *told;
}

static cascade_err
spawn_two(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "hears", NULL, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, "continues", NULL, NULL);
}

static cascade_err
spawn_and_continue(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_continue_as_new(node, NULL, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_spawn(node, "hears", NULL, NULL);
}

static void
expect_error(const play *p, const char *words)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_non_null(strstr(cascade_snapshot_error(snapshot), words));
    assert_null(cascade_snapshot_continued_as(snapshot));
    cascade_snapshot_free(snapshot);
}

static void
only_the_last_execution_can_continue(test_db *db, cascade_mode mode)
{
    cascade_err told = CASCADE_OK;
    play p = {.nodes = {{"spawns", spawn_two},
                        {"hears", hear},
                        {"continues", continue_beside}},
              .user = &told};

    play_run(&p, db, mode, "spawns", NULL, CASCADE_ERROR);
    assert_int_equal(told, CASCADE_ERR_FINAL);
    expect_error(&p, "other executions");
    play_end(&p);
}

static void
a_node_that_spawns_cannot_continue(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"both", spawn_and_continue}, {"hears", hear}}};

    play_run(&p, db, mode, "both", NULL, CASCADE_ERROR);
    expect_error(&p, "spawned others");
    play_end(&p);
}

static cascade_err
spawn_it(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
    return cascade_node_spawn(node, "hears", NULL, NULL);
}

static cascade_err
continue_and_step(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_continue_as_new(node, NULL, NULL);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    return cascade_node_step(node, "spawns", spawn_it, NULL, NULL, NULL);
}

/* It is recorded, and runs, when the node returns. */
static void
a_node_whose_step_spawns_cannot_continue(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"both", continue_and_step}, {"hears", hear}}};

    play_run(&p, db, mode, "both", NULL, CASCADE_ERROR);
    expect_error(&p, "other executions");
    play_end(&p);
}

PLAY_MODES(a_cancelled_cascade_does_not_continue)
PLAY_MODES(only_the_last_execution_can_continue)
PLAY_MODES(a_node_that_spawns_cannot_continue)
PLAY_MODES(a_node_whose_step_spawns_cannot_continue)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_cancelled_cascade_does_not_continue),
        PLAY_TESTS(only_the_last_execution_can_continue),
        PLAY_TESTS(a_node_that_spawns_cannot_continue),
        PLAY_TESTS(a_node_whose_step_spawns_cannot_continue),
    };

    return stores_run("runs_refused", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
