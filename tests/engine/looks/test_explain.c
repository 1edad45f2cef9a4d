/* SPDX-License-Identifier: MIT
 *
 * What the executions of a cascade wait for, by their rows and the time: each
 * reason as long as it holds, and just after.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "query/engines.h"
#include "query/explain/explain.h"
#include "state/state.h"

#define ID "01890000-0000-7000-8000-00000000abcd"
#define CHILD "01890000-0000-7000-8000-0000000000ff"
#define RUNNING CASCADE_EXECUTION_RUNNING
#define COMPLETED CASCADE_EXECUTION_COMPLETED
#define FAILED CASCADE_EXECUTION_FAILED
#define NOON_MS INT64_C(1769860800000)
#define NOON "2026-01-31 12:00:00 UTC"
#define AT_NOON "1769860800000"
#define NOBODY ": it waits for an engine to take the cascade"

/* ---- A cascade made of rows --------------------------------------------- */

typedef struct scene {
    cascade_store *store; /* without engines */
    cascade_engine_list *engines;
    csc_state state;
    cascade_info info;
    cascade_explanation *explanation;
    int64_t now_ms;
} scene;

static void
scene_init(scene *s)
{
    cascade_uuid id;

    *s = (scene){.info = {.user_id = "u", .queue = "default", .needs = ""},
                 .now_ms = NOON_MS - 1};
    (void)cascade_uuid_parse(ID, &id);
    csc_state_init(&s->state, &id);
    s->info.id = id;
    assert_int_equal(cascade_store_open("memory:", NULL, &s->store),
                     CASCADE_OK);
    assert_int_equal(csc_engines_read(s->store, true, &s->engines), CASCADE_OK);
}

static void
scene_fini(scene *s)
{
    cascade_explanation_free(s->explanation);
    cascade_engine_list_free(s->engines);
    csc_state_fini(&s->state);
    assert_int_equal(cascade_store_close(s->store), CASCADE_OK);
}

/* An execution of `parent` (-1: a first one). */
static void
apply(scene *s, int32_t function_id, int32_t parent, const char *name,
      cascade_execution_status status, const char *full_output)
{
    char path[100];
    cascade_execution_row row = {.cascade_id = s->state.id,
                                 .function_id = function_id,
                                 .status = status,
                                 .node_instance_id = path,
                                 .node_name = name,
                                 .input = "{}",
                                 .full_output = full_output,
                                 .location = "server",
                                 .error = status == FAILED ? "why" : NULL};

    if (parent < 0)
        snprintf(path, sizeof(path), ID "/-/%s#0", name);
    else
        snprintf(path, sizeof(path), ID "/%d/%s#0", (int)parent, name);
    assert_int_equal(csc_state_apply_execution(&s->state, &row), CASCADE_OK);
}

/* Explains the executions, as of now. */
static void
explain(scene *s)
{
    const csc_facts facts = {.now_ms = s->now_ms,
                             .info = &s->info,
                             .state = &s->state,
                             .engines = s->engines,
                             .queue_paused_ms = CASCADE_TIME_NONE};

    cascade_explanation_free(s->explanation);
    csc_state_settle(&s->state);
    s->explanation = csc_mem_zalloc(1, sizeof(*s->explanation));
    assert_non_null(s->explanation);
    csc_explain_execution_all(&facts, s->explanation);
    assert_false(s->explanation->arena.failed);
}

/* The cause of execution `function_id`, which has that reason and text. */
static const cascade_cause *
check(const scene *s, int32_t function_id, cascade_reason reason,
      const char *text)
{
    const cascade_cause *found = NULL;

    for (size_t i = 0; i < cascade_explanation_count(s->explanation); i++) {
        const cascade_cause *cause = cascade_explanation_get(s->explanation, i);

        if (cause->function_id != function_id)
            continue;
        assert_null(found);
        found = cause;
    }
    assert_non_null(found);
    assert_string_equal(cascade_reason_name(found->reason),
                        cascade_reason_name(reason));
    assert_string_equal(found->text, text);
    return found;
}

static void
check_none(const scene *s, int32_t function_id)
{
    for (size_t i = 0; i < cascade_explanation_count(s->explanation); i++)
        assert_int_not_equal(
            cascade_explanation_get(s->explanation, i)->function_id,
            function_id);
}

/* ---- RUNS --------------------------------------------------------------- */

static void
what_could_run_runs_until_it_has_ended(void **unused)
{
    const cascade_cause *cause = NULL;
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING, NULL);
    explain(&s);
    cause = check(&s, 0, CASCADE_REASON_RUNS, "0 n could run" NOBODY);
    assert_string_equal(cause->node, "n");
    assert_string_equal(cause->name, "");
    assert_true(csc_uuid_is_nil(&cause->id));
    assert_true(cause->at_ms == CASCADE_TIME_NONE);
    assert_int_equal(cause->count, 0);
    assert_int_equal(cause->other, -1);
    apply(&s, 1, 0, "m", RUNNING, NULL);
    apply(&s, 0, -1, "n", COMPLETED, "{\"at\":0}");
    explain(&s);
    check_none(&s, 0);
    check(&s, 1, CASCADE_REASON_RUNS, "1 m could run" NOBODY);
    scene_fini(&s);
}

static void
executions_are_told_in_their_order(void **unused)
{
    scene s;

    (void)unused;
    scene_init(&s);
    for (int32_t i = 0; i < 20; i++)
        apply(&s, i, i - 1, "n", RUNNING, NULL);
    apply(&s, 7, 6, "n", COMPLETED, "{\"at\":19}");
    explain(&s);
    assert_int_equal(cascade_explanation_count(s.explanation), 19);
    for (size_t i = 0; i < 19; i++)
        assert_int_equal(cascade_explanation_get(s.explanation, i)->function_id,
                         i < 7 ? i : i + 1);
    assert_null(cascade_explanation_get(s.explanation, 19));
    scene_fini(&s);
}

/* ---- Times -------------------------------------------------------------- */

static void
a_failed_attempt_backs_off_until_the_next_is_due(void **unused)
{
    const cascade_cause *cause = NULL;
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING,
          "{\"attempts\":2,\"not_before\":" AT_NOON "}");
    explain(&s);
    cause = check(&s, 0, CASCADE_REASON_BACKOFF,
                  "0 n failed in attempt 2, the next is due at " NOON);
    assert_int_equal(cause->count, 2);
    assert_true(cause->at_ms == NOON_MS);
    s.now_ms = NOON_MS;
    explain(&s);
    check(&s, 0, CASCADE_REASON_RUNS, "0 n could run" NOBODY);
    scene_fini(&s);
}

static void
what_is_delayed_waits_for_its_time(void **unused)
{
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING, "{\"not_before\":" AT_NOON "}");
    explain(&s);
    assert_true(
        check(&s, 0, CASCADE_REASON_DELAYED, "0 n is not to run before " NOON)
            ->at_ms == NOON_MS);
    s.now_ms = NOON_MS;
    explain(&s);
    check(&s, 0, CASCADE_REASON_RUNS, "0 n could run" NOBODY);
    scene_fini(&s);
}

static void
a_sleep_sleeps_and_its_node_waits_for_it(void **unused)
{
    const cascade_cause *cause = NULL;
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING, NULL);
    apply(&s, 1, 0, "cascade.sleep:nap", RUNNING,
          "{\"not_before\":" AT_NOON "}");
    explain(&s);
    cause = check(&s, 1, CASCADE_REASON_SLEEPS,
                  "1 cascade.sleep:nap sleeps until " NOON);
    assert_string_equal(cause->name, "nap");
    assert_true(cause->at_ms == NOON_MS);
    cause = check(&s, 0, CASCADE_REASON_WAITS,
                  "0 n waits for its own wait 1 to end");
    assert_int_equal(cause->other, 1);
    s.now_ms = NOON_MS;
    explain(&s);
    check(&s, 1, CASCADE_REASON_RUNS,
          "1 cascade.sleep:nap has waited to the end, which is to be "
          "recorded" NOBODY);
    check(&s, 0, CASCADE_REASON_WAITS, "0 n waits for its own wait 1 to end");
    apply(&s, 1, 0, "cascade.sleep:nap", COMPLETED, "{\"at\":1}");
    explain(&s);
    check_none(&s, 1);
    check(&s, 0, CASCADE_REASON_RUNS, "0 n could run" NOBODY);
    scene_fini(&s);
}

/* ---- Signals ------------------------------------------------------------ */

static void
an_await_waits_for_its_signal_until_its_time(void **unused)
{
    const cascade_cause *cause = NULL;
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING, NULL);
    apply(&s, 1, 0, "cascade.await:paid", RUNNING,
          "{\"not_before\":" AT_NOON "}");
    apply(&s, 2, -1, "m", RUNNING, NULL);
    apply(&s, 3, 2, "cascade.await:update/rename", RUNNING, NULL);
    explain(&s);
    cause = check(&s, 1, CASCADE_REASON_SIGNAL,
                  "1 cascade.await:paid awaits signal paid until " NOON);
    assert_string_equal(cause->name, "paid");
    assert_true(cause->at_ms == NOON_MS);
    cause = check(&s, 3, CASCADE_REASON_SIGNAL,
                  "3 cascade.await:update/rename awaits update rename");
    assert_true(cause->at_ms == CASCADE_TIME_NONE);
    s.now_ms = NOON_MS;
    explain(&s);
    check(&s, 1, CASCADE_REASON_RUNS,
          "1 cascade.await:paid has waited to the end, which is to be "
          "recorded" NOBODY);
    apply(&s, 4, -1, "cascade.signal:paid", COMPLETED, "{\"at\":3}");
    apply(&s, 1, 0, "cascade.await:paid", COMPLETED, "{\"at\":3,\"signal\":4}");
    explain(&s);
    check_none(&s, 1);
    check(&s, 0, CASCADE_REASON_RUNS, "0 n could run" NOBODY);
    check(&s, 3, CASCADE_REASON_SIGNAL,
          "3 cascade.await:update/rename awaits update rename");
    scene_fini(&s);
}

/* ---- What comes after others -------------------------------------------- */

static void
a_join_comes_after_those_that_have_not_ended(void **unused)
{
    const cascade_cause *cause = NULL;
    scene s;

    (void)unused;
    scene_init(&s);
    for (int32_t i = 0; i < 3; i++)
        apply(&s, i, -1, "n", RUNNING, NULL);
    apply(&s, 3, -1, "j", RUNNING, "{\"after\":[0,1,2]}");
    apply(&s, 0, -1, "n", COMPLETED, "{\"at\":3}");
    explain(&s);
    cause = check(&s, 3, CASCADE_REASON_JOIN,
                  "3 j comes after 2 others that have not ended, of which 1 is "
                  "the first");
    assert_int_equal(cause->count, 2);
    assert_int_equal(cause->other, 1);
    apply(&s, 2, -1, "n", COMPLETED, "{\"at\":3}");
    explain(&s);
    cause = check(&s, 3, CASCADE_REASON_JOIN,
                  "3 j comes after execution 1, which has not ended");
    assert_int_equal(cause->count, 1);
    apply(&s, 1, -1, "n", COMPLETED, "{\"at\":3}");
    explain(&s);
    check(&s, 3, CASCADE_REASON_RUNS, "3 j could run" NOBODY);
    scene_fini(&s);
}

/* In the place of what failed another one runs: that is what it waits for. */
static void
a_join_comes_after_what_runs_instead(void **unused)
{
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING, NULL);
    apply(&s, 1, -1, "j", RUNNING, "{\"after\":[0]}");
    apply(&s, 0, -1, "n", FAILED, "{\"at\":1,\"continue\":true}");
    apply(&s, 2, 0, "m", RUNNING, "{\"instead_of\":0}");
    explain(&s);
    assert_int_equal(check(&s, 1, CASCADE_REASON_JOIN,
                           "1 j comes after execution 2, which has not ended")
                         ->other,
                     2);
    apply(&s, 2, 0, "m", COMPLETED, "{\"at\":2,\"instead_of\":0}");
    explain(&s);
    check(&s, 1, CASCADE_REASON_RUNS, "1 j could run" NOBODY);
    scene_fini(&s);
}

static void
a_gather_waits_for_children_and_these_for_their_cascades(void **unused)
{
    const cascade_cause *cause = NULL;
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING, NULL);
    apply(&s, 1, 0, "cascade.child:pay", RUNNING,
          "{\"child\":\"" CHILD "\",\"policy\":\"cancel\"}");
    apply(&s, 2, 0, "cascade.gather:all", RUNNING, "{\"after\":[1]}");
    explain(&s);
    cause = check(&s, 1, CASCADE_REASON_CHILD,
                  "1 cascade.child:pay stands for child cascade " CHILD
                  ", which has not ended");
    assert_true(csc_uuid_equal(&cause->id, &csc_view_find(&s.state, 1)->child));
    cause = check(&s, 2, CASCADE_REASON_CHILDREN,
                  "2 cascade.gather:all comes after its child 1, which has "
                  "not ended");
    assert_int_equal(cause->count, 1);
    assert_int_equal(cause->other, 1);
    check(&s, 0, CASCADE_REASON_WAITS, "0 n waits for its own wait 2 to end");
    apply(&s, 1, 0, "cascade.child:pay", COMPLETED, "{\"at\":2}");
    explain(&s);
    check_none(&s, 1);
    check(&s, 2, CASCADE_REASON_RUNS,
          "2 cascade.gather:all has waited to the end, which is to be "
          "recorded" NOBODY);
    scene_fini(&s);
}

/* ---- From outside ------------------------------------------------------- */

static void
an_external_one_waits_until_its_deadline(void **unused)
{
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "task", RUNNING, NULL);
    explain(&s);
    check(&s, 0, CASCADE_REASON_RUNS, "0 task could run" NOBODY);
    apply(&s, 0, -1, "task", RUNNING,
          "{\"token\":\"" CHILD "\",\"deadline\":" AT_NOON "}");
    apply(&s, 1, -1, "task", RUNNING, "{\"token\":\"" CHILD "\"}");
    explain(&s);
    assert_true(check(&s, 0, CASCADE_REASON_EXTERNAL,
                      "0 task waits to be completed from outside until " NOON)
                    ->at_ms == NOON_MS);
    assert_true(check(&s, 1, CASCADE_REASON_EXTERNAL,
                      "1 task waits to be completed from outside")
                    ->at_ms == CASCADE_TIME_NONE);
    s.now_ms = NOON_MS;
    explain(&s);
    check(&s, 0, CASCADE_REASON_RUNS,
          "0 task is past its deadline, which is to be recorded" NOBODY);
    apply(&s, 1, -1, "task", COMPLETED, "{\"at\":1}");
    explain(&s);
    check_none(&s, 1);
    scene_fini(&s);
}

static void
a_cancellation_waits_for_all_else(void **unused)
{
    const cascade_cause *cause = NULL;
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "n", RUNNING, NULL);
    apply(&s, 1, -1, "m", RUNNING, NULL);
    apply(&s, 2, -1, "cascade.cancel", RUNNING, NULL);
    explain(&s);
    cause = check(&s, 2, CASCADE_REASON_CANCEL,
                  "2 cascade.cancel ends the cascade once the other executions "
                  "(2) have ended");
    assert_int_equal(cause->count, 2);
    apply(&s, 0, -1, "n", COMPLETED, "{\"at\":2}");
    explain(&s);
    assert_int_equal(check(&s, 2, CASCADE_REASON_CANCEL,
                           "2 cascade.cancel ends the cascade once the other "
                           "executions (1) have ended")
                         ->count,
                     1);
    apply(&s, 1, -1, "m", COMPLETED, "{\"at\":2}");
    apply(&s, 2, -1, "cascade.cancel", FAILED, "{\"at\":2}");
    explain(&s);
    assert_int_equal(cascade_explanation_count(s.explanation), 0);
    scene_fini(&s);
}

/* ---- Texts -------------------------------------------------------------- */

/* The names that other programs give, and their lack of times. */
static void
a_text_is_one_line_whatever_the_names(void **unused)
{
    scene s;

    (void)unused;
    scene_init(&s);
    apply(&s, 0, -1, "a\nb\x1b[31m", RUNNING, NULL);
    explain(&s);
    check(&s, 0, CASCADE_REASON_RUNS, "0 a?b?[31m could run" NOBODY);
    scene_fini(&s);
}

static void
every_reason_has_a_name(void **unused)
{
    (void)unused;
    for (int i = CASCADE_REASON_ENDED; i <= CASCADE_REASON_TURN; i++)
        assert_string_not_equal(cascade_reason_name((cascade_reason)i),
                                "UNKNOWN");
    for (int i = CASCADE_REASON_RUNS; i <= CASCADE_REASON_CANCEL; i++)
        assert_string_not_equal(cascade_reason_name((cascade_reason)i),
                                "UNKNOWN");
    assert_string_equal(cascade_reason_name(CASCADE_REASON_OWNED), "OWNED");
    assert_string_equal(cascade_reason_name((cascade_reason)0), "UNKNOWN");
    assert_string_equal(
        cascade_reason_name((cascade_reason)(CASCADE_REASON_TURN + 1)),
        "UNKNOWN");
    assert_string_equal(
        cascade_reason_name((cascade_reason)(CASCADE_REASON_CANCEL + 1)),
        "UNKNOWN");
    assert_string_equal(cascade_reason_name((cascade_reason)-1), "UNKNOWN");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_could_run_runs_until_it_has_ended),
        cmocka_unit_test(executions_are_told_in_their_order),
        cmocka_unit_test(a_failed_attempt_backs_off_until_the_next_is_due),
        cmocka_unit_test(what_is_delayed_waits_for_its_time),
        cmocka_unit_test(a_sleep_sleeps_and_its_node_waits_for_it),
        cmocka_unit_test(an_await_waits_for_its_signal_until_its_time),
        cmocka_unit_test(a_join_comes_after_those_that_have_not_ended),
        cmocka_unit_test(a_join_comes_after_what_runs_instead),
        cmocka_unit_test(
            a_gather_waits_for_children_and_these_for_their_cascades),
        cmocka_unit_test(an_external_one_waits_until_its_deadline),
        cmocka_unit_test(a_cancellation_waits_for_all_else),
        cmocka_unit_test(a_text_is_one_line_whatever_the_names),
        cmocka_unit_test(every_reason_has_a_name),
    };

    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
