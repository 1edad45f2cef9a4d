/* SPDX-License-Identifier: MIT
 *
 * G7 for rows of which no engine writes all: the state that has seen them one
 * after the other, and the one that is hydrated from them, are the same. Found
 * by fuzz_rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "state/state.h"
#include "state/supersede.h"
#include "support/dump.h"

#define ID "01890000-0000-7000-8000-00000000abcd"
#define RUNNING CASCADE_EXECUTION_RUNNING
#define COMPLETED CASCADE_EXECUTION_COMPLETED
#define FAILED CASCADE_EXECUTION_FAILED
#define STEP "cascade.step:pay"
#define CHILD "cascade.child:of"
#define GATHER "cascade.gather:all"
#define AWAIT "cascade.await:news"
#define SIGNAL "cascade.signal:news"
#define BEGAN_MS 1000
#define ENDED_MS 2000

/* ---- Both ways ---------------------------------------------------------- */

typedef struct both {
    dump_rows rows;
    csc_state live;
    size_t blocks; /* before */
} both;

static void
begin(both *b)
{
    size_t blocks = csc_mem_live();

    *b = (both){.blocks = blocks};
    (void)cascade_uuid_parse(ID, &b->rows.cascade.id);
    b->rows.cascade.status = CASCADE_RUNNING;
    b->rows.cascade.user_id = "user";
    csc_state_init(&b->live, &b->rows.cascade.id);
    assert_int_equal(csc_state_apply_cascade(&b->live, &b->rows.cascade),
                     CASCADE_OK);
}

static bool
is_new(const both *b, int32_t function_id)
{
    for (size_t i = 0; i < b->rows.execution_count; i++)
        if (b->rows.executions[i].function_id == function_id)
            return false;
    return true;
}

/* A commit of one row, at its end. `path` is what follows the cascade's id. */
static void
apply(both *b, int32_t function_id, const char *path, const char *name,
      cascade_execution_status status, const char *full_output)
{
    cascade_execution_row row = {
        .cascade_id = b->live.id,
        .function_id = function_id,
        .status = status,
        .node_instance_id = path,
        .node_name = name,
        .input = "{}",
        .full_output = full_output,
        .location = "server",
        .started_at_ms = BEGAN_MS,
        .completed_at_ms = status != RUNNING ? ENDED_MS : CASCADE_TIME_NONE,
        .error = status == FAILED ? "why" : NULL};
    cascade_change change = {.cascade = b->rows.cascade};

    if (is_new(b, function_id)) {
        change.inserts = &row;
        change.insert_count = 1;
    } else {
        row.node_instance_id = NULL; /* as the builder leaves it */
        change.updates = &row;
        change.update_count = 1;
    }
    assert_int_equal(csc_state_apply_execution(&b->live, &row), CASCADE_OK);
    dump_rows_apply(&b->rows, &change);
}

/* The end of a commit. */
static void
settle(both *b)
{
    csc_state other;
    csc_buf live = {0};
    csc_buf read = {0};

    csc_state_settle(&b->live);
    assert_int_equal(dump_rows_hydrate(&b->rows, &other), CASCADE_OK);
    dump_state(&live, &b->live);
    dump_state(&read, &other);
    csc_state_fini(&other);
    assert_string_equal(live.data, read.data);
    csc_buf_fini(&live);
    csc_buf_fini(&read);
}

static void
take(both *b, int32_t function_id)
{
    csc_exec *exec = csc_due_queue_take(&b->live, 0);

    assert_non_null(exec);
    assert_int_equal(exec->function_id, function_id);
}

static void
done(both *b)
{
    dump_rows_fini(&b->rows);
    csc_state_fini(&b->live);
    assert_int_equal(csc_mem_live(), b->blocks);
}

/* ---- Joins -------------------------------------------------------------- */

/* No end of a step says for which joins it comes too late. 3 is decided with
 * 1, and has joined nothing else. */
static void
a_join_comes_after_no_step(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", COMPLETED, "{\"at\":0}");
    apply(&b, 1, ID "/0/b#0", "b", COMPLETED, "{\"at\":1}");
    apply(&b, 2, ID "/0/" STEP "#0", STEP, RUNNING, NULL);
    apply(&b, 3, ID "/0/c#0", "c", RUNNING, "{\"after\":[1,2],\"first\":1}");
    apply(&b, 4, ID "/0/d#0", "d", RUNNING, "{\"after\":[3]}");
    settle(&b);
    apply(&b, 3, ID "/0/c#0", "c", COMPLETED,
          "{\"at\":4,\"after\":[1,2],\"first\":1}");
    settle(&b);
    apply(&b, 2, ID "/0/" STEP "#0", STEP, COMPLETED, "{\"at\":4}");
    settle(&b);
    assert_false(csc_view_has(&csc_view_find(&b.live, 4)->seen, 2));
    done(&b);
}

/* 3 runs, decided by 1: what a step that fails spawns does not hold it up. */
static void
no_step_runs_instead(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", COMPLETED, "{\"at\":0}");
    apply(&b, 1, ID "/0/b#0", "b", COMPLETED, "{\"at\":1}");
    apply(&b, 3, ID "/0/c#0", "c", RUNNING, "{\"after\":[1]}");
    apply(&b, 4, ID "/0/" STEP "#0", STEP, RUNNING, "{\"instead_of\":1}");
    settle(&b);
    take(&b, 3);
    apply(&b, 4, ID "/0/" STEP "#0", STEP, FAILED,
          "{\"at\":4,\"continue\":true,\"instead_of\":1}");
    assert_int_equal(csc_view_find(&b.live, 4)->stands_for, CSC_NO_PARENT);
    apply(&b, 5, ID "/4/e#0", "e", RUNNING, "{\"instead_of\":4}");
    settle(&b);
    done(&b);
}

/* ---- Gathers ------------------------------------------------------------ */

/* Nor does the end of a child: a gather has all of them, or none. */
static void
a_gather_waits_for_all_its_children(void **unused)
{
    static const char *const after =
        "{\"after\":[1,2],\"first\":1,\"on_failure\":\"fail\"}";
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", RUNNING, NULL);
    apply(&b, 1, ID "/0/" CHILD "#0", CHILD, RUNNING, NULL);
    apply(&b, 2, ID "/0/" CHILD "#1", CHILD, RUNNING, NULL);
    apply(&b, 3, ID "/0/" GATHER "#0", GATHER, RUNNING, after);
    settle(&b);
    apply(&b, 1, ID "/0/" CHILD "#0", CHILD, COMPLETED, "{\"at\":3}");
    settle(&b);
    assert_null(csc_due_queue_take(&b.live, 0));
    apply(&b, 2, ID "/0/" CHILD "#1", CHILD, COMPLETED, "{\"at\":3}");
    settle(&b);
    take(&b, 3);
    done(&b);
}

static void
a_gather_comes_after_children_only(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", RUNNING, NULL);
    apply(&b, 1, ID "/-/b#0", "b", RUNNING, NULL);
    apply(&b, 2, ID "/1/" GATHER "#0", GATHER, RUNNING, "{\"after\":[0]}");
    apply(&b, 3, ID "/-/c#0", "c", RUNNING, "{\"instead_of\":0}");
    settle(&b);
    assert_int_equal(csc_view_find(&b.live, 0)->holders, 0);
    assert_int_equal(csc_view_find(&b.live, 3)->holders, 0);
    done(&b);
}

/* The cancellation of 0 has ended the gather, and 1 goes on. */
static void
a_child_may_end_after_its_gather(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", RUNNING, NULL);
    apply(&b, 1, ID "/0/" CHILD "#0", CHILD, RUNNING, NULL);
    apply(&b, 2, ID "/0/" GATHER "#0", GATHER, RUNNING, "{\"after\":[1]}");
    settle(&b);
    apply(&b, 2, ID "/0/" GATHER "#0", GATHER, FAILED,
          "{\"at\":2,\"after\":[1],\"continue\":true,\"cancelled\":true}");
    settle(&b);
    take(&b, 0);
    apply(&b, 1, ID "/0/" CHILD "#0", CHILD, COMPLETED, "{\"at\":2}");
    settle(&b);
    done(&b);
}

/* ---- Parts -------------------------------------------------------------- */

/* All end in one commit, and all go. */
static void
parts_of_parts_go_too(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", RUNNING, NULL);
    apply(&b, 1, ID "/0/" STEP "#0", STEP, RUNNING, NULL);
    apply(&b, 2, ID "/1/" STEP "#0", STEP, COMPLETED, "{\"at\":1}");
    settle(&b);
    apply(&b, 1, ID "/0/" STEP "#0", STEP, COMPLETED, "{\"at\":2}");
    apply(&b, 0, ID "/-/a#0", "a", COMPLETED, "{\"at\":2}");
    settle(&b);
    assert_null(csc_view_find(&b.live, 2));
    done(&b);
}

/* Nor is it an heir: what an await records as it takes a signal does not say
 * so. */
static void
no_part_resumes(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", RUNNING, NULL);
    apply(&b, 1, ID "/0/" AWAIT "#0", AWAIT, RUNNING, "{\"resumes\":0}");
    settle(&b);
    apply(&b, 1, NULL, AWAIT, COMPLETED, "{\"at\":1,\"attempts\":1}");
    settle(&b);
    done(&b);
}

/* What ends a child does not repeat what execution 0 tells of the cascade. */
static void
no_part_tells_of_the_cascade(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/" CHILD "#0", CHILD, RUNNING,
          "{\"cascade\":{\"priority\":2}}");
    apply(&b, 1, ID "/-/a#0", "a", RUNNING, NULL);
    settle(&b);
    apply(&b, 0, NULL, CHILD, FAILED, "{\"at\":1,\"continue\":true}");
    settle(&b);
    assert_int_equal(b.live.priority, 0);
    done(&b);
}

/* ---- Heirs -------------------------------------------------------------- */

/* Without a receipt there are none: 3 joins another parent's child, whose
 * output is not kept for it. */
static void
an_heir_of_no_receipt_asks_for_nothing(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", COMPLETED, "{\"at\":0}");
    apply(&b, 1, ID "/7/b#0", "b", RUNNING, NULL);
    apply(&b, 2, ID "/0/c#0", "c", COMPLETED, "{\"at\":2}");
    apply(&b, 3, ID "/0/d#0", "d", RUNNING, "{\"after\":[1],\"resumes\":2}");
    settle(&b);
    apply(&b, 1, NULL, "b", COMPLETED, "{\"at\":3,\"output\":{\"a\":1}}");
    settle(&b);
    done(&b);
}

#define MARK "\"written_by_libcascade\":{}"

/* It names no receipt of ours, and a row that updates it no path. */
static void
an_heir_of_nobody_is_updated(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", COMPLETED, "{\"at\":0}");
    apply(&b, 1, "7", "b", RUNNING, "{\"resumes\":0," MARK "}");
    settle(&b);
    take(&b, 1);
    apply(&b, 1, NULL, "b", RUNNING, "{\"attempts\":1,\"resumes\":0," MARK "}");
    settle(&b);
    take(&b, 1);
    done(&b);
}

/* 4 is that of 0, which the rerun has superseded; 3 says it is that of 1. */
static void
what_counts_has_no_heir(void **unused)
{
    csc_state state;
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", COMPLETED, "{\"at\":0}");
    apply(&b, 1, ID "/-/b#0", "b", COMPLETED, "{\"at\":1}");
    apply(&b, 2, ID "/message/x", "cascade.rerun", COMPLETED,
          "{\"at\":1,\"supersedes\":[0]}");
    apply(&b, 3, ID "/2/b#0", "b", RUNNING, "{\"resumes\":1}");
    apply(&b, 4, ID "/2/a#0", "a", RUNNING, "{\"resumes\":0}");
    assert_int_equal(dump_rows_hydrate(&b.rows, &state), CASCADE_OK);
    assert_int_equal(csc_supersede_heir_of(&state.course, 0), 4);
    assert_int_equal(csc_supersede_heir_of(&state.course, 1), 1);
    csc_state_fini(&state);
    done(&b);
}

/* ---- What a row brings -------------------------------------------------- */

/* Execution 0 says whose child the cascade is: before it nobody knows. */
static void
nothing_before_execution_0_has_a_result(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, -1, ID "/-/z#0", "z", RUNNING, NULL);
    apply(&b, 0, ID "/-/a#0", "a", RUNNING,
          "{\"cascade\":{\"parent\":\"" ID "\"}}");
    settle(&b);
    apply(&b, -1, NULL, "z", COMPLETED, "{\"at\":0,\"output\":{\"a\":1}}");
    settle(&b);
    assert_null(b.live.result);
    done(&b);
}

/* It stays for the join, and how far it was is in its row. */
static void
what_has_ended_saves_no_progress(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", COMPLETED, "{\"at\":0}");
    apply(&b, 1, ID "/0/b#0", "b", RUNNING, "{\"progress\":[1]}");
    apply(&b, 2, ID "/0/c#0", "c", RUNNING, NULL);
    apply(&b, 3, ID "/0/d#0", "d", RUNNING, "{\"after\":[1,2]}");
    settle(&b);
    apply(&b, 1, NULL, "b", FAILED,
          "{\"at\":3,\"continue\":true,\"progress\":[1]}");
    settle(&b);
    done(&b);
}

/* A row that no longer has the token is no heartbeat. */
static void
what_no_longer_waits_outside_is_queued_again(void **unused)
{
    both b;

    (void)unused;
    begin(&b);
    apply(&b, 0, ID "/-/a#0", "a", RUNNING,
          "{\"deadline\":0,\"token\":\"" ID "\"}");
    settle(&b);
    take(&b, 0);
    apply(&b, 0, NULL, "a", RUNNING, "{\"progress\":[1]}");
    settle(&b);
    take(&b, 0);
    done(&b);
}

/* The row that ends an execution refers to what the state has of it. */
static void
a_row_may_refer_to_what_it_ends(void **unused)
{
    cascade_execution_row row = {.function_id = 0,
                                 .status = RUNNING,
                                 .node_instance_id = ID "/-/" SIGNAL "#0",
                                 .node_name = SIGNAL,
                                 .input = "{\"some\":\"input of this one\"}",
                                 .location = "server"};
    both b;

    (void)unused;
    begin(&b);
    row.cascade_id = b.live.id;
    assert_int_equal(csc_state_apply_execution(&b.live, &row), CASCADE_OK);
    row.status = COMPLETED;
    row.input = csc_view_find(&b.live, 0)->input;
    assert_int_equal(csc_state_apply_execution(&b.live, &row), CASCADE_OK);
    csc_state_settle(&b.live);
    assert_string_equal(
        csc_signals_signal(&b.live, "news", CSC_STATE_FIRST)->payload,
        "{\"some\":\"input of this one\"}");
    done(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_comes_after_no_step),
        cmocka_unit_test(no_step_runs_instead),
        cmocka_unit_test(a_gather_waits_for_all_its_children),
        cmocka_unit_test(a_gather_comes_after_children_only),
        cmocka_unit_test(a_child_may_end_after_its_gather),
        cmocka_unit_test(parts_of_parts_go_too),
        cmocka_unit_test(no_part_resumes),
        cmocka_unit_test(no_part_tells_of_the_cascade),
        cmocka_unit_test(an_heir_of_no_receipt_asks_for_nothing),
        cmocka_unit_test(an_heir_of_nobody_is_updated),
        cmocka_unit_test(what_counts_has_no_heir),
        cmocka_unit_test(nothing_before_execution_0_has_a_result),
        cmocka_unit_test(what_has_ended_saves_no_progress),
        cmocka_unit_test(what_no_longer_waits_outside_is_queued_again),
        cmocka_unit_test(a_row_may_refer_to_what_it_ends),
    };

    return cmocka_run_group_tests_name("state_rows", tests, NULL, NULL);
}
