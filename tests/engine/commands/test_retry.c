/* SPDX-License-Identifier: MIT
 *
 * Retry: a cascade that ended as ERROR goes on from where that was, whatever
 * ended it. What is done stays done, and what was superseded counts no more.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine/support/again.h"

static void
mend(again *a)
{
    atomic_store(&a->mended, true);
}

/* ---- What failed -------------------------------------------------------- */

static void
a_graph_goes_on_where_it_failed(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {AGAIN_GRAPH}, .user = &a};

    play_run(&p, db, mode, "fork", NULL, CASCADE_ERROR);
    mend(&a);
    assert_ok(again_retry(&p, "one"));
    again_check(&p, CASCADE_COMPLETED, "{\"seen\":[\"left\",\"right\"]}", "3");
    assert_int_equal(a.steps[1], 2);
    assert_int_equal(a.joined, 1);
    assert_int_equal(again_superseded(&p, 2), again_find(&p, "cascade.retry"));
    assert_int_equal(again_superseded(&p, 0), -1);
    play_end(&p);
}

static void
steps_that_were_recorded_are_not_repeated(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"line", again_line}}, .user = &a};

    play_run(&p, db, mode, "line", NULL, CASCADE_ERROR);
    mend(&a);
    assert_ok(again_retry(&p, "one"));
    again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
    for (int i = 0; i < AGAIN_STEPS; i++)
        assert_int_equal(a.steps[i], 1);
    assert_int_equal(again_superseded(&p, 0), again_find(&p, "cascade.retry"));
    assert_int_equal(again_superseded(&p, 1), -1);
    play_end(&p);
}

static void
it_may_be_retried_again_and_again(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"line", again_line}}, .user = &a};
    char id[8];

    play_run(&p, db, mode, "line", NULL, CASCADE_ERROR);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        assert_ok(again_retry(&p, id));
        again_check(&p, CASCADE_ERROR, "{\"steps\":[1,2]}", NULL);
    }
    mend(&a);
    again_hand_over(&p);
    assert_ok(again_retry(&p, "last"));
    again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
    for (int i = 0; i < AGAIN_STEPS; i++)
        assert_int_equal(a.steps[i], 1);
    assert_int_equal(
        play_count(&p, "cascade.retry", CASCADE_EXECUTION_COMPLETED), 4);
    play_end(&p);
}

/* What fails for good and lets the cascade go on stays as it is. */
static cascade_err
fail_always(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "always");
}

static cascade_err
note(cascade_node *node, void *user)
{
    (void)node;
    atomic_fetch_add(&again_of(user)->joined, 1);
    return CASCADE_OK;
}

static cascade_err
fork_and_fail(cascade_node *node, void *user)
{
    (void)user;
    expect(cascade_node_spawn(node, "fails", NULL, NULL) == CASCADE_OK);
    return cascade_node_spawn(node, "right", NULL, NULL);
}

static void
what_was_replaced_stays(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"begins", fork_and_fail},
                        {"fails", fail_always},
                        {"note", note},
                        {"right", again_right}},
              .instead = {NULL, "note"},
              .worker_count = 1,
              .user = &a};

    play_run(&p, db, mode, "begins", NULL, CASCADE_ERROR);
    mend(&a);
    assert_ok(again_retry(&p, "one"));
    again_check(&p, CASCADE_COMPLETED, "{\"seen\":[\"right\"]}", "2");
    assert_int_equal(play_count(&p, "fails", CASCADE_EXECUTION_FAILED), 1);
    assert_int_equal(play_count(&p, "note", CASCADE_EXECUTION_COMPLETED), 1);
    assert_int_equal(again_superseded(&p, 1), -1);
    play_end(&p);
}

/* ---- What was ended ----------------------------------------------------- */

static cascade_err
count_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)result;
    atomic_fetch_add((atomic_int *)arg, 1);
    return CASCADE_OK;
}

/* Waits for a signal between two steps. */
static cascade_err
wait_between(cascade_node *node, void *user)
{
    again *a = again_of(user);
    cJSON *payload = NULL;
    cascade_err err =
        cascade_node_step(node, "before", count_step, &a->steps[0], NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_await(node, "go", -1, &payload);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "after", count_step, &a->steps[1], NULL,
                                NULL);
    if (err == CASCADE_OK)
        return cascade_node_output(node, payload);
    cJSON_Delete(payload);
    return err;
}

/* It waits again, and goes on with what comes then. */
static void
check_waits_again(play *p, const again *a)
{
    size_t waits = play_count(p, "cascade.await:go", CASCADE_EXECUTION_RUNNING);

    assert_ok(again_retry(p, "one"));
    play_until(p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_true(waits <= 1);
    again_hand_over(p);
    assert_ok(cascade_signal(p->store, &p->id, "go", play_number(5), NULL));
    again_check(p, CASCADE_COMPLETED, "{}", "{\"n\":5}");
    assert_int_equal(a->steps[0], 1);
    assert_int_equal(a->steps[1], 1);
}

static void
what_was_cancelled_waits_again(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", wait_between}}, .user = &a};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    check_waits_again(&p, &a);
    assert_int_equal(again_superseded(&p, again_find(&p, "cascade.cancel")),
                     again_find(&p, "cascade.retry"));
    play_end(&p);
}

static void
what_was_terminated_waits_again(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", wait_between}}, .user = &a};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    check_waits_again(&p, &a);
    play_end(&p);
}

static void
a_deadline_holds_no_more(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", wait_between}}, .user = &a};
    cascade_start_options options = {.size = sizeof(options),
                                     .deadline_ms = 50};
    cascade_started started;

    play_open(&p, db, mode);
    assert_ok(cascade_start(p.store, "waits", NULL, &options, &started));
    p.id = started.id;
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(
        play_count(&p, "cascade.deadline", CASCADE_EXECUTION_FAILED), 1);
    assert_ok(again_retry(&p, "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    again_hand_over(&p);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(5), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "{\"n\":5}");
    assert_int_equal(
        play_count(&p, "cascade.deadline", CASCADE_EXECUTION_FAILED), 1);
    play_end(&p);
}

static cascade_err
undo(cascade_node *node, void *user, const cJSON *input)
{
    (void)input;
    atomic_fetch_add(&again_of(user)->undone, 1);
    return cascade_node_put(node, "undone", cJSON_CreateTrue());
}

static cascade_err
spawn_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    atomic_fetch_add(&((again *)arg)->steps[0], 1);
    expect(cascade_node_put(node, "done", cJSON_CreateTrue()) == CASCADE_OK);
    return cascade_node_spawn(node, "left", NULL, NULL);
}

static cascade_err
do_or_undo(cascade_node *node, void *user)
{
    again *a = again_of(user);
    cascade_err err = cascade_node_step(node, "do", spawn_step, a, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_compensate(node, "undo", undo, NULL, NULL);
    if (err == CASCADE_OK && !atomic_load(&a->mended))
        err = cascade_node_fail(node, "broken");
    return err;
}

/* Its steps are done anew, and what they had spawned is spawned anew. */
static void
what_was_undone_is_done_anew(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"does", do_or_undo}, {"left", again_left}},
              .user = &a};

    play_run(&p, db, mode, "does", NULL, CASCADE_ERROR);
    assert_int_equal(a.undone, 1);
    mend(&a);
    assert_ok(again_retry(&p, "one"));
    again_check(&p, CASCADE_COMPLETED, "{\"done\":[true],\"seen\":[\"left\"]}",
                "1");
    assert_int_equal(a.undone, 1);
    play_end(&p);
}

/* ---- What an heir sees -------------------------------------------------- */

/* Takes a step that is named after how much it sees of "seen". */
static cascade_err
read_and_step(cascade_node *node, void *user)
{
    again *a = again_of(user);
    const cJSON *seen = NULL;
    char name[16];
    cascade_err err = cascade_node_history(node, "seen", &seen);

    (void)snprintf(name, sizeof(name), "saw-%d", cJSON_GetArraySize(seen));
    if (err == CASCADE_OK)
        err =
            cascade_node_step(node, name, count_step, &a->steps[1], NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "go", -1, NULL);
    if (err == CASCADE_OK && !atomic_load(&a->mended))
        err = cascade_node_fail(node, "broken");
    return err;
}

static cascade_err
fork_reader(cascade_node *node, void *user)
{
    (void)user;
    expect(cascade_node_spawn(node, "reads", NULL, NULL) == CASCADE_OK);
    return cascade_node_spawn(node, "left", NULL, NULL);
}

/* What was written since it was spawned it does not see now either: else it
 * would not find its step. */
static void
it_sees_what_it_saw(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"begins", fork_reader},
                        {"reads", read_and_step},
                        {"left", again_left}},
              .user = &a};

    play_begin(&p, db, mode, "begins");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    play_until(&p, "left", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", NULL, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    mend(&a);
    assert_ok(again_retry(&p, "one"));
    again_check(&p, CASCADE_COMPLETED, "{\"seen\":[\"left\"]}", "1");
    assert_int_equal(a.steps[1], 1);
    play_end(&p);
}

/* ---- Children ----------------------------------------------------------- */

static cascade_err
run_child(cascade_node *node, const char *name, const char *child_node)
{
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, name, child_node, NULL, NULL, &id);

    return err == CASCADE_OK ? cascade_node_await_child(node, &id, NULL) : err;
}

static cascade_err
gather(cascade_node *node, void *user)
{
    cascade_err err = run_child(node, "one", "left");

    (void)user;
    if (err == CASCADE_OK)
        err = run_child(node, "two", "right");
    if (err == CASCADE_ERR_FAILED)
        return cascade_node_fail(node, "a child failed");
    return err == CASCADE_OK ? cascade_node_output(node, cJSON_CreateTrue())
                             : err;
}

/* One that has completed is not started again, one that failed is. */
static void
children_that_failed_are_started_anew(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"gathers", gather},
                        {"left", again_left},
                        {"right", again_right}},
              .user = &a};

    play_run(&p, db, mode, "gathers", NULL, CASCADE_ERROR);
    mend(&a);
    assert_ok(again_retry(&p, "one"));
    again_check(&p, CASCADE_COMPLETED, "{}", "true");
    assert_int_equal(a.steps[0], 1);
    assert_int_equal(a.steps[1], 2);
    play_end(&p);
}

/* ---- What cannot be retried --------------------------------------------- */

static void
what_runs_or_has_completed_is_not_retried(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"waits", wait_between}}, .user = &a};
    cascade_uuid unknown = {{1}};

    play_begin(&p, db, CASCADE_MODE_THREADS, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_fails(CASCADE_ERR_MISUSE, again_retry(&p, "one"));
    assert_fails(CASCADE_ERR_MISUSE, again_retry(&p, "one"));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(5), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "{\"n\":5}");
    assert_fails(CASCADE_ERR_REFUSED, again_retry(&p, "two"));
    assert_int_equal(play_count(&p, "cascade.retry", CASCADE_EXECUTION_FAILED),
                     2);
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_retry(p.store, &unknown, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_retry(p.store, NULL, NULL));
    assert_int_equal(a.steps[0], 1);
    play_end(&p);
}

static cascade_err
go_on_as_new(cascade_node *node, void *user)
{
    again *a = again_of(user);

    if (atomic_fetch_add(&a->entered, 1) == 0)
        return cascade_node_continue_as_new(node, NULL, NULL);
    return CASCADE_OK;
}

static void
a_run_that_has_continued_is_not_retried(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"runs", go_on_as_new}}, .user = &a};

    play_run(&p, db, CASCADE_MODE_THREADS, "runs", NULL, CASCADE_COMPLETED);
    assert_fails(CASCADE_ERR_MISUSE, again_retry(&p, "one"));
    assert_fails(CASCADE_ERR_MISUSE, again_rerun(&p, 0, "two"));
    play_end(&p);
}

/* ---- At the same time --------------------------------------------------- */

typedef struct asker {
    pthread_t thread;
    cascade_store *store;
    const cascade_uuid *id;
    cascade_err err;
} asker;

static void *
ask(void *context)
{
    asker *me = context;
    cascade_request_options options = {.size = sizeof(options),
                                       .wait_ms = DB_WAIT_MS};

    me->err = cascade_retry(me->store, me->id, &options);
    return NULL;
}

/* The retried cascade waits, so the second finds it RUNNING. */
static void
of_two_who_retry_one_succeeds(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"waits", wait_between}}, .user = &a};
    asker askers[2];
    int won = 0;

    play_begin(&p, db, CASCADE_MODE_THREADS, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    for (int i = 0; i < 2; i++) {
        askers[i] = (asker){.store = db_store(db), .id = &p.id};
        assert_int_equal(
            pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        won += askers[i].err == CASCADE_OK;
        assert_true(askers[i].err == CASCADE_OK ||
                    askers[i].err == CASCADE_ERR_MISUSE);
    }
    assert_int_equal(won, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(5), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "{\"n\":5}");
    assert_int_equal(a.steps[0], 1);
    play_end(&p);
}

/* With no engine alive the call does it; the next engine goes on. */
static void
it_is_retried_where_no_engine_is_alive(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"line", again_line}}, .user = &a};
    cascade_request_options wait = {.size = sizeof(wait),
                                    .wait_ms = DB_WAIT_MS};
    cascade_store *former = NULL;

    play_run(&p, db, CASCADE_MODE_THREADS, "line", NULL, CASCADE_ERROR);
    former = p.store;
    db_close_engine(db, p.engine);
    mend(&a);
    assert_ok(cascade_retry(p.store, &p.id, &wait));
    play_open(&p, db, CASCADE_MODE_THREADS);
    db_close_store(db, former);
    again_check(&p, CASCADE_COMPLETED, "{\"steps\":[1,2,3]}", "[1,2,3]");
    assert_int_equal(a.steps[0], 1);
    play_end(&p);
}

PLAY_MODES(a_graph_goes_on_where_it_failed)
PLAY_MODES(steps_that_were_recorded_are_not_repeated)
PLAY_MODES(it_may_be_retried_again_and_again)
PLAY_MODES(what_was_replaced_stays)
PLAY_MODES(what_was_cancelled_waits_again)
PLAY_MODES(what_was_terminated_waits_again)
PLAY_MODES(a_deadline_holds_no_more)
PLAY_MODES(what_was_undone_is_done_anew)
PLAY_MODES(it_sees_what_it_saw)
PLAY_MODES(children_that_failed_are_started_anew)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_graph_goes_on_where_it_failed),
        PLAY_TESTS(steps_that_were_recorded_are_not_repeated),
        PLAY_TESTS(it_may_be_retried_again_and_again),
        PLAY_TESTS(what_was_replaced_stays),
        PLAY_TESTS(what_was_cancelled_waits_again),
        PLAY_TESTS(what_was_terminated_waits_again),
        PLAY_TESTS(a_deadline_holds_no_more),
        PLAY_TESTS(what_was_undone_is_done_anew),
        PLAY_TESTS(it_sees_what_it_saw),
        PLAY_TESTS(children_that_failed_are_started_anew),
        {"what_runs_or_has_completed_is_not_retried",
         what_runs_or_has_completed_is_not_retried, STORES_ALL},
        {"a_run_that_has_continued_is_not_retried",
         a_run_that_has_continued_is_not_retried, STORES_ALL},
        {"of_two_who_retry_one_succeeds", of_two_who_retry_one_succeeds,
         STORES_ALL},
        {"it_is_retried_where_no_engine_is_alive",
         it_is_retried_where_no_engine_is_alive, STORES_ALL},
    };

    return stores_run("retry", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
