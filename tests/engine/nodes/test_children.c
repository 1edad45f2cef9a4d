/* SPDX-License-Identifier: MIT
 *
 * Children: started in a commit of their parent's, their end told once; what
 * becomes of them when the parent is cancelled or ends; how deep they may go.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/support/play.h"

#define MANY 20
#define HOUR_MS (INT64_C(3600) * 1000)

/* What the nodes of a play met. */
typedef struct course {
    atomic_int begun;
    atomic_int sum;
    _Atomic cascade_err err;
    cascade_child_end policy;
    char text[300];
} course;

static course *
course_of(void *user)
{
    return ((play *)user)->user;
}

static cJSON *
number(const char *name, double n)
{
    cJSON *object = cJSON_CreateObject();

    assert_non_null(object);
    assert_non_null(cJSON_AddNumberToObject(object, name, n));
    return object;
}

static int
read_number(const cJSON *object, const char *name)
{
    return (int)cJSON_GetNumberValue(
        cJSON_GetObjectItemCaseSensitive(object, name));
}

/* ---- Nodes -------------------------------------------------------------- */

/* Gives the double of its input. */
static cascade_err
double_it(cascade_node *node, void *user)
{
    int n = read_number(cascade_node_input(node), "n");

    atomic_fetch_add(&course_of(user)->begun, 1);
    return cascade_node_output(node, number("double", 2 * n));
}

static cascade_err
break_down(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "out of order");
}

static cascade_err
wait_for_ever(cascade_node *node, void *user)
{
    atomic_fetch_add(&course_of(user)->begun, 1);
    return cascade_node_await(node, "never", -1, NULL);
}

/* One child, of which the result is given. */
static cascade_err
ask_one(cascade_node *node, void *user)
{
    cJSON *result = NULL;
    cascade_uuid id;
    cascade_err err = cascade_node_start_child(node, "one", "doubles",
                                               number("n", 21), NULL, &id);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, &result);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, result);
}

/* Many, all awaited; their results are added up. */
static cascade_err
ask_many(cascade_node *node, void *user)
{
    cJSON *inputs[MANY] = {NULL};
    cascade_uuid ids[MANY];
    cascade_err err = CASCADE_OK;
    int sum = 0;

    for (int i = 0; i < MANY; i++)
        inputs[i] = number("n", i);
    err = cascade_node_start_children(node, "many", "doubles", inputs, MANY,
                                      NULL, ids);
    if (err == CASCADE_OK)
        err = cascade_node_await_children(node);
    for (int i = 0; i < MANY && err == CASCADE_OK; i++) {
        cJSON *result = NULL;

        err = cascade_node_await_child(node, &ids[i], &result);
        sum += read_number(result, "double");
        cJSON_Delete(result);
    }
    atomic_store(&course_of(user)->sum, sum);
    return err;
}

static cascade_err
ask_the_broken(cascade_node *node, void *user)
{
    course *c = course_of(user);
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, "broken", "breaks", NULL, NULL, &id);

    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, NULL);
    if (err == CASCADE_SUSPENDED)
        return err;
    atomic_store(&c->err, err);
    (void)snprintf(c->text, sizeof(c->text), "%s", cascade_errmsg());
    return CASCADE_OK;
}

/* Has a child that waits for ever. */
static cascade_err
have_one(cascade_node *node, void *user, cascade_uuid *id)
{
    cascade_child_options options = {
        .size = sizeof(options), .when_parent_ends = course_of(user)->policy};

    return cascade_node_start_child(node, "left", "waits", NULL, &options, id);
}

static cascade_err
leave_behind(cascade_node *node, void *user)
{
    cascade_uuid id;

    return have_one(node, user, &id);
}

/* Waits for it. */
static cascade_err
stay_with(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err = have_one(node, user, &id);

    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, NULL);
    atomic_store(&course_of(user)->err, err);
    return err;
}

/* Each level has one below it, and gives its result on. */
static cascade_err
go_down(cascade_node *node, void *user)
{
    course *c = course_of(user);
    int left = read_number(cascade_node_input(node), "n");
    cJSON *result = NULL;
    cascade_uuid id;
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&c->begun, 1);
    if (left == 0)
        return cascade_node_output(node, number("deep", 1));
    err = cascade_node_start_child(node, "below", "down", number("n", left - 1),
                                   NULL, &id);
    if (err == CASCADE_ERR_TOO_LARGE) {
        (void)snprintf(c->text, sizeof(c->text), "%s", cascade_errmsg());
        return cascade_node_output(node, number("deep", 0));
    }
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, &result);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, result);
}

/* ---- Results ------------------------------------------------------------ */

static const char *
result_of(const play *p, char *text, size_t size)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    const char *result = cascade_snapshot_result(snapshot);

    (void)snprintf(text, size, "%s", result != NULL ? result : "");
    cascade_snapshot_free(snapshot);
    return text;
}

static void
a_child_gives_its_result(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask_one}, {"doubles", double_it}}, .user = &c};
    char text[100];
    cascade_info *child = NULL;
    cascade_uuid id;

    play_run(&p, db, mode, "asks", NULL, CASCADE_COMPLETED);
    assert_string_equal(result_of(&p, text, sizeof(text)), "{\"double\":42}");
    assert_int_equal(
        play_count(&p, "cascade.child:one", CASCADE_EXECUTION_COMPLETED), 1);
    id = play_find(&p, "doubles", 0);
    assert_ok(cascade_get(p.store, &id, &child));
    assert_int_equal(child->status, CASCADE_COMPLETED);
    cascade_info_free(child);
    play_end(&p);
}

static void
many_children_are_awaited(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask_many}, {"doubles", double_it}},
              .user = &c};

    play_run(&p, db, mode, "asks", NULL, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.sum), MANY * (MANY - 1));
    assert_int_equal(atomic_load(&c.begun), MANY);
    assert_int_equal(
        play_count(&p, "cascade.child:many", CASCADE_EXECUTION_COMPLETED),
        MANY);
    play_end(&p);
}

static void
the_error_of_a_child_is_told(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"asks", ask_the_broken}, {"breaks", break_down}},
              .user = &c};

    play_run(&p, db, mode, "asks", NULL, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c.err), CASCADE_ERR_FAILED);
    assert_non_null(strstr(c.text, "out of order"));
    play_end(&p);
}

/* ---- When the parent ends ----------------------------------------------- */

static void
leave(test_db *db, cascade_mode mode, cascade_child_end policy,
      const char *error)
{
    course c = {.policy = policy};
    play p = {.nodes = {{"leaves", leave_behind}, {"waits", wait_for_ever}},
              .user = &c};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "leaves", NULL, CASCADE_COMPLETED);
    p.id = play_find(&p, "waits", 0);
    if (error == NULL) { /* it goes on by itself */
        play_until(&p, "cascade.await:never", CASCADE_EXECUTION_RUNNING, 1);
        play_end(&p);
        return;
    }
    play_await(&p, &p.id, CASCADE_ERROR);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_error(snapshot), error);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
a_parent_that_ends_cancels_its_child(test_db *db, cascade_mode mode)
{
    leave(db, mode, CASCADE_CHILD_CANCEL, "cancelled: its parent has ended");
}

static void
a_parent_that_ends_terminates_its_child(test_db *db, cascade_mode mode)
{
    leave(db, mode, CASCADE_CHILD_TERMINATE,
          "terminated: its parent has ended");
}

static void
a_parent_that_ends_abandons_its_child(test_db *db, cascade_mode mode)
{
    leave(db, mode, CASCADE_CHILD_ABANDON, NULL);
}

/* The parent waits until the child has ended. */
static void
a_cancelled_parent_cancels_its_child(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"stays", stay_with}, {"waits", wait_for_ever}},
              .user = &c};
    cascade_uuid parent;

    play_begin(&p, db, mode, "stays");
    play_until(&p, "cascade.gather:left", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(atomic_load(&c.err), CASCADE_ERR_CANCELLED);
    assert_int_equal(
        play_count(&p, "cascade.child:left", CASCADE_EXECUTION_FAILED), 1);
    parent = p.id;
    p.id = play_find(&p, "waits", 0);
    play_await(&p, &p.id, CASCADE_ERROR);
    p.id = parent;
    play_end(&p);
}

static void
a_terminated_parent_ends_its_child(test_db *db, cascade_mode mode)
{
    course c = {.policy = CASCADE_CHILD_TERMINATE};
    play p = {.nodes = {{"stays", stay_with}, {"waits", wait_for_ever}},
              .user = &c};
    cascade_uuid child;

    play_begin(&p, db, mode, "stays");
    play_until(&p, "cascade.gather:left", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    child = play_find(&p, "waits", 0);
    play_await(&p, &child, CASCADE_ERROR);
    play_end(&p);
}

/* ---- When the child's parent is deleted --------------------------------- */

typedef struct lost {
    const play *p;
    cascade_uuid id;
} lost;

static bool
is_gone(void *context)
{
    const lost *l = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(l->p->store, &l->id, &info);

    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND;
}

static void
the_child_of_a_deleted_parent_ends(test_db *db, cascade_mode mode)
{
    course c = {.policy = CASCADE_CHILD_ABANDON};
    play p = {.nodes = {{"leaves", leave_behind}, {"waits", wait_for_ever}},
              .user = &c};
    lost parent = {.p = &p};

    play_run(&p, db, mode, "leaves", NULL, CASCADE_COMPLETED);
    parent.id = p.id;
    assert_ok(cascade_delete(p.store, &p.id, NULL));
    play_on(&p, is_gone, &parent);
    p.id = play_find(&p, "waits", 0);
    play_until(&p, "cascade.await:never", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p.store, &p.id, "never", NULL, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- Depth -------------------------------------------------------------- */

static void
children_go_deep_without_threads(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"down", go_down}}, .park_after_ms = 1, .user = &c};
    char text[100];

    play_run(&p, db, mode, "down", "{\"n\":40}", CASCADE_COMPLETED);
    assert_string_equal(result_of(&p, text, sizeof(text)), "{\"deep\":1}");
    play_end(&p);
}

static void
the_depth_is_limited(test_db *db, cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"down", go_down}}, .depth_max = 3, .user = &c};
    char text[100];

    play_run(&p, db, mode, "down", "{\"n\":40}", CASCADE_COMPLETED);
    assert_string_equal(result_of(&p, text, sizeof(text)), "{\"deep\":0}");
    assert_non_null(strstr(c.text, "depth_max is 3"));
    play_end(&p);
}

#define PASSES 20 /* of waiting: ten minutes */

/* Waits for its end for as long as it goes on: there is much to be done. */
static void
await_end(const play *p, const course *c)
{
    cascade_err err = CASCADE_ERR_TIMEOUT;
    int before = -1;

    for (int i = 0; i < PASSES && err == CASCADE_ERR_TIMEOUT &&
                    before != atomic_load(&c->begun);
         i++) {
        before = atomic_load(&c->begun);
        err = cascade_wait(p->store, &p->id, DB_WAIT_MS / 4, NULL);
    }
    db_await(p->store, &p->id, CASCADE_COMPLETED);
}

/* One worker, and a thousand parents that wait. No poll finds them: each is
 * woken, first by its start and then by its child's end. */
static void
a_thousand_levels_need_one_worker(test_db *db)
{
    course c = {0};
    play p = {.nodes = {{"down", go_down}},
              .park_after_ms = 1,
              .poll_interval_ms = HOUR_MS,
              .worker_count = 1,
              .user = &c};
    char text[100];

    play_open(&p, db, CASCADE_MODE_THREADS);
    p.id = db_start_text(p.store, "down", "{\"n\":1000}");
    await_end(&p, &c);
    assert_string_equal(result_of(&p, text, sizeof(text)), "{\"deep\":1}");
    play_end(&p);
}

/* In a queue that nobody serves. */
static cascade_err
leave_unserved(cascade_node *node, void *user)
{
    const cascade_child_options options = {.size = sizeof(options),
                                           .queue = "nobody"};
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, "one", "waits", NULL, &options, &id);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &id, NULL);
    return err;
}

/* It waits for the child alone then. */
static void
a_cancelled_parent_is_left_alone_until_its_child_ends(test_db *db,
                                                      cascade_mode mode)
{
    course c = {0};
    play p = {.nodes = {{"leaves", leave_unserved}, {"waits", wait_for_ever}},
              .park_after_ms = 1,
              .user = &c};

    play_begin(&p, db, mode, "leaves");
    play_until(&p, "cascade.gather:one", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_until(&p, "leaves", CASCADE_EXECUTION_FAILED, 1);
    play_until_left(&p);
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_child_gives_its_result)
PLAY_MODES(many_children_are_awaited)
PLAY_MODES(the_error_of_a_child_is_told)
PLAY_MODES(a_parent_that_ends_cancels_its_child)
PLAY_MODES(a_parent_that_ends_terminates_its_child)
PLAY_MODES(a_parent_that_ends_abandons_its_child)
PLAY_MODES(a_cancelled_parent_cancels_its_child)
PLAY_MODES(a_cancelled_parent_is_left_alone_until_its_child_ends)
PLAY_MODES(a_terminated_parent_ends_its_child)
PLAY_MODES(the_child_of_a_deleted_parent_ends)
PLAY_MODES(children_go_deep_without_threads)
PLAY_MODES(the_depth_is_limited)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_child_gives_its_result),
        PLAY_TESTS(many_children_are_awaited),
        PLAY_TESTS(the_error_of_a_child_is_told),
        PLAY_TESTS(a_parent_that_ends_cancels_its_child),
        PLAY_TESTS(a_parent_that_ends_terminates_its_child),
        PLAY_TESTS(a_parent_that_ends_abandons_its_child),
        PLAY_TESTS(a_cancelled_parent_cancels_its_child),
        PLAY_TESTS(a_cancelled_parent_is_left_alone_until_its_child_ends),
        PLAY_TESTS(a_terminated_parent_ends_its_child),
        PLAY_TESTS(the_child_of_a_deleted_parent_ends),
        PLAY_TESTS(children_go_deep_without_threads),
        PLAY_TESTS(the_depth_is_limited),
        {"a_thousand_levels_need_one_worker", a_thousand_levels_need_one_worker,
         STORES_ALL},
    };

    return stores_run("children", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
