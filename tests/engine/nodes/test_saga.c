/* SPDX-License-Identifier: MIT
 *
 * Sagas: what a node has done is undone when it fails for good, in reverse
 * order, each compensation recorded once (G3), wherever the process dies (G4).
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/crash.h"
#include "engine/support/play.h"

#define STEPS 3

/* What a journey does in one test, and what it did. */
typedef struct journey {
    int fails_at;      /* after so many steps; STEPS + 1: never */
    int fails_undoing; /* which of them, from 1; 0: none */
    int undo_fails;    /* so many attempts */
    int last_attempt; /* which attempt of the node fails for good; 0: the first,
                          by cascade_node_fail() */
    bool patient;     /* with its compensations */
    size_t cancels_after; /* so many are undone when the cascade is cancelled */
    bool forgets;         /* registers at its first entry only */
    bool slept;           /* when the process died */
    int entries;
    int steps[STEPS];
    int undone[STEPS];
    char order[32]; /* the letters that were undone, one a call */
    char ids[STEPS][200];
} journey;

static const char *const names[STEPS] = {"flight", "hotel", "car"};
static const cascade_step_options quick = {
    .size = sizeof(quick), .attempts_max = 3, .backoff_ms = 2};
/* Until it is told of something. */
static const cascade_step_options patient = {.size = sizeof(patient),
                                             .attempts_max = -1,
                                             .backoff_ms = 2,
                                             .backoff_max_ms = 2};

static cascade_err
book(cascade_node *node, void *arg, cJSON **result)
{
    (*(int *)arg)++;
    *result = cJSON_CreateNumber(7);
    return cascade_node_put(node, "booked", cJSON_CreateTrue());
}

static journey *
journey_of(void *user)
{
    return ((play *)user)->user;
}

/* Its input is the number of the step and what that gave. */
static cascade_err
cancel(cascade_node *node, void *user, const cJSON *input)
{
    journey *j = user;
    const cJSON *booked = NULL;
    int i = cJSON_GetObjectItem(input, "i")->valueint;

    expect(cJSON_GetObjectItem(input, "result")->valueint == 7);
    expect(cascade_node_history(node, "booked", &booked) == CASCADE_OK);
    expect(cJSON_GetArraySize(booked) >= i + 1);
    expect(cascade_node_get(node, "dropped", &booked) == CASCADE_ERR_NOT_FOUND);
    snprintf(j->ids[i], sizeof(j->ids[i]), "%s", cascade_node_request_id(node));
    j->undone[i]++;
    j->order[strlen(j->order)] = names[i][0];
    expect(cascade_node_put(node, "cancelled", cJSON_CreateString(names[i])) ==
           CASCADE_OK);
    if (i + 1 == j->fails_undoing &&
        cascade_node_attempt(node) <= j->undo_fails)
        return cascade_node_error(node, "no answer");
    return CASCADE_OK;
}

static cascade_err
book_one(cascade_node *node, journey *j, int i, cascade_undo_fn undo)
{
    cJSON *result = NULL;
    cJSON *input = cJSON_CreateObject();
    cascade_err err =
        cascade_node_step(node, names[i], book, &j->steps[i], NULL, &result);

    cJSON_AddNumberToObject(input, "i", i);
    cJSON_AddItemToObject(input, "result", result);
    if (err == CASCADE_OK && (!j->forgets || j->entries <= j->fails_at + 1))
        return cascade_node_compensate(node, names[i], undo, input,
                                       j->patient ? &patient : &quick);
    cJSON_Delete(input);
    return err;
}

static cascade_err
travel_by(cascade_node *node, journey *j, cascade_undo_fn undo)
{
    cascade_err err = CASCADE_OK;

    j->entries++;
    for (int i = 0; i < STEPS && i < j->fails_at && err == CASCADE_OK; i++)
        err = book_one(node, j, i, undo);
    if (err != CASCADE_OK || j->fails_at > STEPS)
        return err;
    err = cascade_node_put(node, "dropped", cJSON_CreateTrue());
    expect(err == CASCADE_OK);
    return j->last_attempt > 0 ? cascade_node_error(node, "full")
                               : cascade_node_fail(node, "full");
}

static cascade_err
cancel_in_play(cascade_node *node, void *user, const cJSON *input)
{
    return cancel(node, journey_of(user), input);
}

static cascade_err
travel(cascade_node *node, void *user)
{
    return travel_by(node, journey_of(user), cancel_in_play);
}

/* ---- What is recorded --------------------------------------------------- */

/* The rows behind the node: one for each word of `expected`. */
static void
check_rows(const cascade_snapshot *snapshot, const char *expected)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    char rows[500] = "";

    for (size_t i = 1; i < count; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);
        size_t len = strlen(rows);

        assert_int_equal(info->parent_function_id,
                         strncmp(info->node_name, "cascade.", 8) == 0 ? 0 : -1);
        snprintf(rows + len, sizeof(rows) - len, "%s%s%s", i > 1 ? " " : "",
                 strncmp(info->node_name, "cascade.", 8) == 0
                     ? info->node_name + 8
                     : info->node_name,
                 info->status == CASCADE_EXECUTION_FAILED ? "!" : "");
    }
    assert_string_equal(rows, expected);
}

static void
check_undone(const play *p, const char *rows, const char *error)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    check_rows(snapshot, rows);
    assert_string_equal(cascade_snapshot_error(snapshot), error);
    assert_string_equal(play_execution(snapshot, 0)->error, error);
    cascade_snapshot_free(snapshot);
}

/* ---- In reverse --------------------------------------------------------- */

static const char *const rows_after[STEPS + 1] = {
    "",
    "step:flight saga:fail undo:flight",
    "step:flight step:hotel saga:fail undo:hotel undo:flight",
    "step:flight step:hotel step:car saga:fail undo:car undo:hotel undo:flight",
};
static const char *const orders_after[STEPS + 1] = {"", "f", "hf", "chf"};

static void
what_was_done_is_undone_in_reverse(test_db *db, cascade_mode mode)
{
    for (int k = 0; k <= STEPS; k++) {
        journey j = {.fails_at = k};
        play p = {.nodes = {{"travel", travel}}, .user = &j};
        cascade_snapshot *snapshot = NULL;

        play_run(&p, db, mode, "travel", NULL, CASCADE_ERROR);
        assert_string_equal(j.order, orders_after[k]);
        check_undone(&p, rows_after[k], "full");
        snapshot = play_snapshot(&p);
        assert_null(strstr(cascade_snapshot_context(snapshot), "dropped"));
        if (k == 2)
            assert_non_null(strstr(cascade_snapshot_context(snapshot),
                                   "\"cancelled\":[\"hotel\",\"flight\"]"));
        cascade_snapshot_free(snapshot);
        play_end(&p);
    }
}

static void
what_succeeds_is_not_undone(test_db *db, cascade_mode mode)
{
    journey j = {.fails_at = STEPS + 1};
    play p = {.nodes = {{"travel", travel}}, .user = &j};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "travel", NULL, CASCADE_COMPLETED);
    assert_string_equal(j.order, "");
    snapshot = play_snapshot(&p);
    check_rows(snapshot, "step:flight step:hotel step:car");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
nothing_is_undone_while_attempts_are_left(test_db *db, cascade_mode mode)
{
    journey j = {.fails_at = 1, .last_attempt = 3};
    play p = {.nodes = {{"travel", travel}}, .attempts_max = 3, .user = &j};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "travel", NULL, CASCADE_ERROR);
    assert_true(j.entries >= 3);
    assert_string_equal(j.order, "f");
    check_undone(&p, rows_after[1], "full");
    snapshot = play_snapshot(&p);
    assert_int_equal(play_execution(snapshot, 0)->attempts, 3);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- A compensation fails ----------------------------------------------- */

static void
a_compensation_has_attempts(test_db *db, cascade_mode mode)
{
    journey j = {.fails_at = 3, .fails_undoing = 2, .undo_fails = 2};
    play p = {.nodes = {{"travel", travel}}, .user = &j};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "travel", NULL, CASCADE_ERROR);
    assert_string_equal(j.order, "chhhf");
    check_undone(&p, rows_after[3], "full");
    snapshot = play_snapshot(&p);
    assert_int_equal(play_execution(snapshot, 6)->attempts, 3);
    assert_string_equal(play_execution(snapshot, 6)->node_instance_id,
                        j.ids[1]);
    assert_non_null(strstr(cascade_snapshot_context(snapshot),
                           "\"cancelled\":[\"car\",\"hotel\",\"flight\"]"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
one_that_fails_for_good_is_named_and_the_others_run(test_db *db,
                                                    cascade_mode mode)
{
    journey j = {.fails_at = 3, .fails_undoing = 2, .undo_fails = 9};
    play p = {.nodes = {{"travel", travel}}, .user = &j};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "travel", NULL, CASCADE_ERROR);
    assert_string_equal(j.order, "chhhf");
    check_undone(&p,
                 "step:flight step:hotel step:car saga:fail undo:car "
                 "undo:hotel! undo:flight",
                 "full; of 3 compensations 1 failed: hotel");
    snapshot = play_snapshot(&p);
    assert_string_equal(play_execution(snapshot, 6)->error, "no answer");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- What comes after --------------------------------------------------- */

static cascade_err
apologise(cascade_node *node, void *user)
{
    const cJSON *input = cascade_node_input(node);

    expect(strlen(journey_of(user)->order) == 2);
    expect(strcmp(cJSON_GetObjectItem(input, "error")->valuestring, "full") ==
           0);
    return cascade_node_output(node, cJSON_CreateString("sorry"));
}

static void
another_node_runs_instead_once_all_is_undone(test_db *db, cascade_mode mode)
{
    journey j = {.fails_at = 2};
    play p = {.nodes = {{"travel", travel}, {"apologise", apologise}},
              .instead = {"apologise"},
              .user = &j};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "travel", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_result(snapshot), "\"sorry\"");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 7);
    assert_string_equal(play_execution(snapshot, 6)->node_name, "apologise");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static void
a_cascade_may_go_on_once_all_is_undone(test_db *db, cascade_mode mode)
{
    journey j = {.fails_at = 2};
    play p = {.nodes = {{"travel", travel}},
              .final_failure = CASCADE_FINAL_CONTINUE,
              .user = &j};

    play_run(&p, db, mode, "travel", NULL, CASCADE_COMPLETED);
    assert_string_equal(j.order, "hf");
    play_end(&p);
}

/* ---- Cancelled meanwhile ------------------------------------------------- */

/* Has the cascade cancelled, and waits until it is. */
static cascade_err
cancel_the_cascade(cascade_node *node, void *user, const cJSON *input)
{
    const cascade_request_options once = {
        .size = sizeof(once), .request_id = "once", .reason = "enough"};
    play *p = user;
    journey *j = p->user;

    if (strlen(j->order) < j->cancels_after || cascade_node_is_cancelled(node))
        return cancel(node, j, input);
    expect(cascade_cancel(p->store, cascade_node_cascade_id(node), &once) ==
           CASCADE_OK);
    return cascade_node_error(node, "not cancelled yet");
}

static cascade_err
travel_cancelled(cascade_node *node, void *user)
{
    return travel_by(node, journey_of(user), cancel_the_cascade);
}

/* Each of them completed, in that order, whatever came in between. */
static void
check_undo_rows(const cascade_snapshot *snapshot)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t undone = 0;

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);

        if (strncmp(info->node_name, "cascade.undo:", 13) != 0)
            continue;
        assert_true(undone < STEPS);
        assert_string_equal(info->node_name + 13, names[STEPS - 1 - undone]);
        assert_int_equal(info->status, CASCADE_EXECUTION_COMPLETED);
        undone++;
    }
    assert_int_equal(undone, STEPS);
}

static void
what_is_undone_is_so_though_the_cascade_is_cancelled(test_db *db,
                                                     cascade_mode mode)
{
    for (size_t after = 0; after < STEPS; after++) {
        journey j = {
            .fails_at = STEPS, .patient = true, .cancels_after = after};
        play p = {.nodes = {{"travel", travel_cancelled}}, .user = &j};
        cascade_snapshot *snapshot = NULL;

        play_run(&p, db, mode, "travel", NULL, CASCADE_ERROR);
        assert_string_equal(j.order, orders_after[STEPS]);
        snapshot = play_snapshot(&p);
        check_undo_rows(snapshot);
        assert_string_equal(cascade_snapshot_error(snapshot),
                            "cancelled: enough");
        assert_string_equal(play_execution(snapshot, 0)->error, "full");
        cascade_snapshot_free(snapshot);
        play_end(&p);
    }
}

/* ---- Against the contract ----------------------------------------------- */

static cascade_err
compensate_in_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    (void)result;
    expect(cascade_node_compensate(node, "x", cancel_in_play,
                                   cJSON_CreateObject(),
                                   NULL) == CASCADE_ERR_MISUSE);
    return CASCADE_OK;
}

static cascade_err
compensate_badly(cascade_node *node, void *user)
{
    const cascade_step_options bad = {.size = sizeof(bad),
                                      .backoff_percent = 50};
    char much[3000] = "";

    (void)user;
    memset(much, 'x', sizeof(much) - 1);
    expect(cascade_node_compensate(node, "", cancel_in_play, NULL, NULL) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_compensate(node, "x", NULL, cJSON_CreateTrue(), NULL) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_compensate(NULL, "x", cancel_in_play, NULL, NULL) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_compensate(node, "x", cancel_in_play, NULL, &bad) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_compensate(node, "x", cancel_in_play,
                                   cJSON_CreateString(much),
                                   NULL) == CASCADE_ERR_TOO_LARGE);
    for (int i = 0; i < 1000; i++)
        expect(cascade_node_compensate(node, "x", cancel_in_play, NULL, NULL) ==
               CASCADE_OK);
    expect(cascade_node_compensate(node, "x", cancel_in_play, NULL, NULL) ==
           CASCADE_ERR_TOO_LARGE);
    return cascade_node_step(node, "s", compensate_in_step, NULL, NULL, NULL);
}

static void
bad_compensations_are_refused(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"badly", compensate_badly}},
              .execution_bytes_max = 2000};

    play_run(&p, db, mode, "badly", NULL, CASCADE_COMPLETED);
    play_end(&p);
}

/* Goes on although its sleep told it to leave, and is undone for that. */
static cascade_err
ignore_the_sleep(cascade_node *node, void *user)
{
    journey *j = journey_of(user);
    cascade_err err = book_one(node, j, 0, cancel_in_play);

    if (err == CASCADE_OK) {
        (void)cascade_node_sleep(node, "nap", 1);
        expect(cascade_node_compensate(node, "late", cancel_in_play, NULL,
                                       NULL) == CASCADE_SUSPENDED);
    }
    return err;
}

static void
a_node_that_does_not_leave_is_undone(test_db *db, cascade_mode mode)
{
    journey j = {0};
    play p = {.nodes = {{"travel", ignore_the_sleep}}, .user = &j};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "travel", NULL, CASCADE_ERROR);
    assert_string_equal(j.order, "f");
    snapshot = play_snapshot(&p);
    check_rows(snapshot, rows_after[1]);
    assert_non_null(
        strstr(cascade_snapshot_error(snapshot), "CASCADE_SUSPENDED"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* Entered again, it does not register what it had: that fails, with the
 * attempts of the node, and is named. */
static void
a_compensation_that_is_gone_fails(test_db *db)
{
    journey j = {.fails_at = 2, .forgets = true};
    play p = {.nodes = {{"travel", travel}}, .attempts_max = 2, .user = &j};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, CASCADE_MODE_INLINE, "travel", NULL, CASCADE_ERROR);
    assert_string_equal(j.order, "");
    check_undone(&p,
                 "step:flight step:hotel saga:fail undo:hotel! undo:flight!",
                 "full; of 2 compensations 2 failed: hotel, flight");
    snapshot = play_snapshot(&p);
    assert_int_equal(play_execution(snapshot, 4)->attempts, 2);
    assert_non_null(
        strstr(play_execution(snapshot, 4)->error, "not registered"));
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Nothing new --------------------------------------------------------- */

/* Fails in a step that leaves no record, at its last attempt: when it is
 * entered again that step is not tried once more, nor what comes behind. */
static cascade_err
fail_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    ((journey *)arg)->steps[2]++;
    return cascade_node_error(node, "no cars");
}

static cascade_err
go_on_regardless(cascade_node *node, void *user)
{
    journey *j = journey_of(user);
    int fee = 0;
    cascade_err err = book_one(node, j, 0, cancel_in_play);

    j->entries++;
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "car", fail_step, j, NULL, NULL);
    if (err == CASCADE_SUSPENDED && cascade_node_attempt(node) == 2) {
        expect(cascade_node_sleep(node, "nap", 1) == CASCADE_SUSPENDED);
        expect(cascade_node_version(node, "fee", 0, 1, &fee) ==
               CASCADE_SUSPENDED);
        return CASCADE_OK; /* counts for nothing */
    }
    return err;
}

static void
nothing_new_begins_once_it_has_failed(test_db *db, cascade_mode mode)
{
    journey j = {0};
    play p = {
        .nodes = {{"travel", go_on_regardless}}, .attempts_max = 2, .user = &j};

    play_run(&p, db, mode, "travel", NULL, CASCADE_ERROR);
    assert_string_equal(j.order, "f");
    assert_int_equal(j.steps[2], 2);
    check_undone(&p, rows_after[1], "no cars");
    play_end(&p);
}

/* ---- The process dies --------------------------------------------------- */

static cascade_err
travel_or_die(cascade_node *node, void *user)
{
    return travel_by(node, user, cancel);
}

/* Wherever it dies, the same rows are there in the end; what was recorded when
 * it died is not called again, and what was not is. */
static void
note_undone(crash *c)
{
    journey *j = c->user;
    cascade_snapshot *snapshot = crash_load(c);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    memset(j->undone, 0, sizeof(j->undone));
    for (size_t i = 1; i < count; i++)
        for (int k = 0; k < STEPS; k++)
            if (strcmp(play_execution(snapshot, i)->node_instance_id,
                       j->ids[k]) == 0)
                j->undone[k] = -1; /* recorded */
    cascade_snapshot_free(snapshot);
}

static void
each_is_recorded_once_wherever_the_process_dies(test_db *db)
{
    size_t at = 0;
    bool dead = true;

    for (; dead; at++) {
        journey j = {.fails_at = 3, .fails_undoing = 2, .undo_fails = 1};
        crash c = {.node = "travel",
                   .before = travel_or_die,
                   .after = travel_or_die,
                   .between = note_undone,
                   .user = &j};
        cascade_snapshot *snapshot = NULL;

        dead = crash_play(&c, db, at);
        snapshot = crash_load(&c);
        check_rows(snapshot, rows_after[3]);
        assert_string_equal(cascade_snapshot_error(snapshot), "full");
        assert_int_equal(play_execution(snapshot, 6)->attempts, 2);
        for (int i = 0; i < STEPS && dead; i++)
            assert_true(j.undone[i] == -1 ||
                        (j.undone[i] >= 1 && j.undone[i] <= 2));
        for (int i = 0; i < STEPS; i++)
            assert_string_equal(
                play_execution(snapshot, (size_t)(7 - i))->node_instance_id,
                j.ids[i]);
        cascade_snapshot_free(snapshot);
        crash_end(&c);
    }
    assert_true(at > 2 * 9); /* commits of this saga, each way */
}

static cascade_err
book_and_rest(cascade_node *node, void *user)
{
    cascade_err err = book_one(node, user, 0, cancel);

    return err == CASCADE_OK ? cascade_node_sleep(node, "b", 1) : err;
}

static cascade_err
book_and_go_on(cascade_node *node, void *user)
{
    journey *j = user;
    cascade_err err = book_one(node, j, 0, cancel);

    return err == CASCADE_OK
               ? cascade_node_step(node, "b", book, &j->steps[1], NULL, NULL)
               : err;
}

static void
note_sleep(crash *c)
{
    journey *j = c->user;
    cascade_snapshot *snapshot = crash_load(c);

    j->slept = cascade_snapshot_info(snapshot)->status == CASCADE_RUNNING &&
               cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY) == 3;
    cascade_snapshot_free(snapshot);
}

static void
a_build_that_does_not_fit_undoes_nothing(test_db *db)
{
    bool dead = true;
    int slept = 0;

    for (size_t at = 0; dead; at++) {
        journey j = {0};
        crash c = {.node = "travel",
                   .before = book_and_rest,
                   .after = book_and_go_on,
                   .between = note_sleep,
                   .user = &j};
        cascade_snapshot *snapshot = NULL;

        dead = crash_play(&c, db, at);
        snapshot = crash_load(&c);
        assert_string_equal(j.order, "");
        if (j.slept) {
            slept++;
            check_rows(snapshot, "step:flight sleep:b");
            assert_non_null(strstr(cascade_snapshot_error(snapshot),
                                   "recorded is a sleep"));
        }
        cascade_snapshot_free(snapshot);
        crash_end(&c);
    }
    assert_true(slept > 0);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(what_was_done_is_undone_in_reverse)
PLAY_MODES(what_succeeds_is_not_undone)
PLAY_MODES(nothing_is_undone_while_attempts_are_left)
PLAY_MODES(a_compensation_has_attempts)
PLAY_MODES(one_that_fails_for_good_is_named_and_the_others_run)
PLAY_MODES(another_node_runs_instead_once_all_is_undone)
PLAY_MODES(a_cascade_may_go_on_once_all_is_undone)
PLAY_MODES(what_is_undone_is_so_though_the_cascade_is_cancelled)
PLAY_MODES(bad_compensations_are_refused)
PLAY_MODES(a_node_that_does_not_leave_is_undone)
PLAY_MODES(nothing_new_begins_once_it_has_failed)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(what_was_done_is_undone_in_reverse),
        PLAY_TESTS(what_succeeds_is_not_undone),
        PLAY_TESTS(nothing_is_undone_while_attempts_are_left),
        PLAY_TESTS(a_compensation_has_attempts),
        PLAY_TESTS(one_that_fails_for_good_is_named_and_the_others_run),
        PLAY_TESTS(another_node_runs_instead_once_all_is_undone),
        PLAY_TESTS(a_cascade_may_go_on_once_all_is_undone),
        PLAY_TESTS(what_is_undone_is_so_though_the_cascade_is_cancelled),
        PLAY_TESTS(bad_compensations_are_refused),
        PLAY_TESTS(a_node_that_does_not_leave_is_undone),
        PLAY_TESTS(nothing_new_begins_once_it_has_failed),
        {"a_compensation_that_is_gone_fails", a_compensation_that_is_gone_fails,
         STORES_ALL},
        {"each_is_recorded_once_wherever_the_process_dies",
         each_is_recorded_once_wherever_the_process_dies, STORES_ALL},
        {"a_build_that_does_not_fit_undoes_nothing",
         a_build_that_does_not_fit_undoes_nothing, STORES_ALL},
    };

    return stores_run("saga", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
