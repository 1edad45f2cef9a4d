/* SPDX-License-Identifier: MIT
 *
 * Messages, births and ends that meet in one commit, or in an order that is
 * rare: commands that cross, children that are born while their parent ends,
 * cancellations of what is put off or not known here.
 */
#include <sched.h>
#include <string.h>

#include "engine/support/play.h"

#define HOUR_MS (INT64_C(3600) * 1000)

typedef struct course {
    play *p;
    cascade_uuid child;
    cascade_child_end policy;
    int entered;
    cascade_err err;
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

/* A cascade of two first nodes, which run in one round. */
static void
begin_two(play *p, test_db *db, const char *first, const char *second)
{
    cascade_first nodes[2] = {{.size = sizeof(nodes[0]), .node = first},
                              {.size = sizeof(nodes[0]), .node = second}};
    cascade_start_spec spec = {
        .size = sizeof(spec), .first = nodes, .first_count = 2};
    cascade_started started;

    play_open(p, db, CASCADE_MODE_INLINE);
    assert_ok(cascade_start_many(p->store, &spec, 1, &started));
    p->id = started.id;
}

static cascade_err
wait_for_ever(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "never", -1, NULL);
}

static cascade_err
fail_at_once(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "at once");
}

static cascade_err
start_one(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_child_options options = {.size = sizeof(options),
                                     .when_parent_ends = c->policy};

    return cascade_node_start_child(node, "one", "waits", NULL, &options,
                                    &c->child);
}

static cascade_err
start_and_await(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = start_one(node, user);

    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &c->child, NULL);
    if (err != CASCADE_SUSPENDED)
        c->err = err;
    return err;
}

/* ---- Births ------------------------------------------------------------- */

/* Both are recorded in one commit. */
static void
a_child_born_as_its_parent_ends_is_ended(test_db *db)
{
    course c = {.policy = CASCADE_CHILD_TERMINATE};
    play p = {.nodes = {{"starts", start_one},
                        {"fails", fail_at_once},
                        {"waits", wait_for_ever}},
              .user = &c};
    cascade_uuid child;

    begin_two(&p, db, "starts", "fails");
    play_await(&p, &p.id, CASCADE_ERROR);
    child = play_find(&p, "waits", 0);
    play_await(&p, &child, CASCADE_ERROR);
    play_end(&p);
}

/* The cancellation is recorded between the call and the commit of the birth. */
static cascade_err
start_and_cancel(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = start_and_await(node, user);

    if (err != CASCADE_SUSPENDED || c->entered++ > 0)
        return err;
    expect(cascade_cancel(c->p->store, cascade_node_cascade_id(node), NULL) ==
           CASCADE_OK);
    while (!cascade_node_is_cancelled(node))
        (void)sched_yield();
    return err;
}

static void
a_child_to_be_abandoned_holds_no_cancellation_up(test_db *db)
{
    course c = {.policy = CASCADE_CHILD_ABANDON};
    play p = {.nodes = {{"starts", start_and_cancel}, {"waits", wait_for_ever}},
              .user = &c};

    c.p = &p;
    play_begin(&p, db, CASCADE_MODE_THREADS, "starts");
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(
        play_count(&p, "cascade.child:one", CASCADE_EXECUTION_FAILED), 1);
    play_end(&p);
}

/* ---- Commands ----------------------------------------------------------- */

/* The parent is told of the end all the same. */
static void
a_termination_and_a_deletion_may_come_together(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"starts", start_and_await}, {"waits", wait_for_ever}},
              .user = &c};

    play_begin(&p, db, CASCADE_MODE_INLINE, "starts");
    play_until(&p, "cascade.gather:one", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_terminate(p.store, &c.child, NULL));
    assert_ok(cascade_delete(p.store, &c.child, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(c.err, CASCADE_ERR_FAILED);
    play_end(&p);
}

/* Request ids of signals and of commands are apart. */
static void
a_command_may_have_the_request_id_of_a_signal(test_db *db)
{
    cascade_signal_options signal = {.size = sizeof(signal),
                                     .request_id = "order-7"};
    cascade_request_options request = {.size = sizeof(request),
                                       .request_id = "order-7"};
    play p = {.nodes = {{"waits", wait_for_ever}}};

    play_begin(&p, db, CASCADE_MODE_INLINE, "waits");
    assert_ok(cascade_signal(p.store, &p.id, "other", NULL, &signal));
    play_until(&p, "cascade.signal:other", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_cancel(p.store, &p.id, &request));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_end(&p);
}

/* ---- Cancellation ------------------------------------------------------- */

static cascade_err
nothing(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

/* Something is recorded; then it fails, and is put off for an hour. */
static cascade_err
do_and_fail(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_step(node, "do", nothing, NULL, NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_error(node, "later") : err;
}

static void
what_is_put_off_for_long_is_cancelled_at_once(test_db *db)
{
    play p = {.nodes = {{"fails", do_and_fail}}, .backoff_ms = HOUR_MS};
    cascade_snapshot *snapshot = NULL;

    play_begin(&p, db, CASCADE_MODE_INLINE, "fails");
    play_until(&p, "cascade.step:do", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    snapshot = play_snapshot(&p);
    assert_true(play_execution(snapshot, 0)->completed_at_ms -
                    play_execution(snapshot, 0)->started_at_ms <
                HOUR_MS);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* Goes on, step by step, until it is told; its child, which nobody knows, keeps
 * the cascade from ending with it. */
static cascade_err
go_on_until_told(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_err err = cascade_node_start_child(node, "one", "unknown.child",
                                               NULL, NULL, &c->child);

    if (err == CASCADE_OK && c->entered++ == 0)
        expect(cascade_cancel(c->p->store, cascade_node_cascade_id(node),
                              NULL) == CASCADE_OK);
    while (err == CASCADE_OK && !cascade_node_is_cancelled(node))
        err = cascade_node_step(node, "on", nothing, NULL, NULL, NULL);
    return err;
}

static void
a_node_nobody_knows_is_cancelled(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"goes", go_on_until_told}}, .user = &c};

    c.p = &p;
    begin_two(&p, db, "goes", "unknown.node");
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(play_count(&p, "unknown.node", CASCADE_EXECUTION_FAILED),
                     1);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_child_born_as_its_parent_ends_is_ended",
         a_child_born_as_its_parent_ends_is_ended, STORES_ALL},
        {"a_child_to_be_abandoned_holds_no_cancellation_up",
         a_child_to_be_abandoned_holds_no_cancellation_up, STORES_ALL},
        {"a_termination_and_a_deletion_may_come_together",
         a_termination_and_a_deletion_may_come_together, STORES_ALL},
        {"a_command_may_have_the_request_id_of_a_signal",
         a_command_may_have_the_request_id_of_a_signal, STORES_ALL},
        {"what_is_put_off_for_long_is_cancelled_at_once",
         what_is_put_off_for_long_is_cancelled_at_once, STORES_ALL},
        {"a_node_nobody_knows_is_cancelled", a_node_nobody_knows_is_cancelled,
         STORES_ALL},
    };

    return stores_run("crossings", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
