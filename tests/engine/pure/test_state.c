/* SPDX-License-Identifier: MIT
 *
 * The pure state, row by row: the door, the status rule, joins and what they
 * see, the queue, rows of other programs, and what leaves memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/data/tree.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "state/kind.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "state/supersede.h"
#include "support/hand.h"

#define ID HAND_ID
#define RUNNING CASCADE_EXECUTION_RUNNING
#define COMPLETED CASCADE_EXECUTION_COMPLETED
#define FAILED CASCADE_EXECUTION_FAILED

/* ---- Building by hand --------------------------------------------------- */

static void
apply(csc_state *state, int32_t function_id, cascade_execution_status status,
      const char *full_output)
{
    char path[100];

    snprintf(path, sizeof(path), ID "/0/n#%d", function_id);
    hand_apply(state, function_id, path, "n", status, full_output);
}

static void
apply_event(csc_state *state, int32_t function_id, const char *value)
{
    hand_put(state, function_id, "k", value);
}

/* The values that execution `function_id`, still in memory, sees: "1,2". */
static void
assert_sees(const csc_state *state, int32_t function_id, const char *wanted)
{
    const csc_exec *exec = csc_view_find(state, function_id);
    const csc_key *key = csc_events_key(state, "k");
    char text[200] = "";

    assert_non_null(exec);
    for (size_t i = 0; key != NULL && i < csc_tree_count(&key->events); i++) {
        const csc_event *event = csc_events_nth_event(key, i);

        if (!csc_view_sees(event, function_id, &exec->seen))
            continue;
        if (text[0] != '\0')
            strcat(text, ",");
        strcat(text, event->value);
    }
    assert_string_equal(text, wanted);
}

/* Takes all that may run at `now_ms`, in order: "1,2". */
static void
assert_takes(csc_state *state, int64_t now_ms, const char *wanted)
{
    char text[200] = "";
    csc_exec *exec = csc_due_queue_take(state, now_ms);

    for (; exec != NULL; exec = csc_due_queue_take(state, now_ms)) {
        char one[16];

        snprintf(one, sizeof(one), "%s%d", text[0] != '\0' ? "," : "",
                 exec->function_id);
        strcat(text, one);
        assert_true(exec->stage == CSC_STAGE_DISPATCHED);
    }
    assert_string_equal(text, wanted);
}

/* ---- Status ------------------------------------------------------------- */

static void
a_cascade_runs_while_any_execution_does(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    assert_int_equal(csc_view_status(s), CASCADE_RUNNING);
    apply(s, 0, COMPLETED, "{\"at\":0}");
    apply(s, 1, RUNNING, NULL);
    apply(s, 2, RUNNING, NULL);
    apply(s, 2, COMPLETED, "{\"at\":2}");
    csc_state_settle(s);
    assert_int_equal(csc_view_status(s), CASCADE_RUNNING);
    apply(s, 1, COMPLETED, "{\"at\":2}");
    csc_state_settle(s);
    assert_int_equal(csc_view_status(s), CASCADE_COMPLETED);
    hand_done(s);
}

/* Whatever ends afterwards, and whatever still runs. */
static void
a_terminating_failure_ends_it_as_error(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    apply(s, 1, RUNNING, NULL);
    apply(s, 1, FAILED, "{\"at\":1,\"attempts\":3}");
    assert_int_equal(csc_view_status(s), CASCADE_ERROR);
    assert_int_equal(s->terminated, 1);
    assert_string_equal(s->error, "why");
    apply(s, 0, COMPLETED, "{\"at\":1}");
    csc_state_settle(s);
    assert_int_equal(csc_view_status(s), CASCADE_ERROR);
    hand_done(s);
}

static void
a_failure_that_continues_does_not_end_it(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    apply(s, 1, RUNNING, NULL);
    apply(s, 1, FAILED, "{\"at\":1,\"continue\":true}");
    assert_int_equal(csc_view_status(s), CASCADE_RUNNING);
    apply(s, 0, COMPLETED, "{\"at\":1}");
    assert_int_equal(csc_view_status(s), CASCADE_COMPLETED);
    assert_null(s->error);
    hand_done(s);
}

/* The first in the total order, not in that of arrival. */
static void
the_error_is_that_of_the_lowest_place(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    apply(s, 3, FAILED, "{\"at\":2}");
    apply(s, 1, FAILED, "{\"at\":3}");
    assert_int_equal(s->terminated, 1);
    hand_done(s);
}

/* G3 */
static void
what_has_ended_stays_as_it_is(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, COMPLETED, "{\"at\":0}");
    apply(s, 0, RUNNING, NULL);
    apply(s, 0, FAILED, "{\"at\":0}");
    assert_int_equal(csc_view_status(s), CASCADE_COMPLETED);
    assert_takes(s, 0, "");
    hand_done(s);
}

/* ---- Joins and visibility ----------------------------------------------- */

/* 1 and 2 in parallel, 3 joins 2; 2 ends last but is seen, 1 is not. */
static void
a_join_sees_what_it_joined_and_nothing_else(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, COMPLETED, "{\"at\":0}");
    apply_event(s, 0, "10");
    apply(s, 1, RUNNING, NULL);
    apply(s, 2, RUNNING, NULL);
    apply(s, 3, RUNNING, "{\"after\":[2]}");
    assert_takes(s, 0, "1,2");
    assert_int_equal(csc_view_find(s, 3)->blocked, 1);
    apply(s, 1, COMPLETED, "{\"at\":3}");
    apply_event(s, 1, "11");
    csc_state_settle(s);
    assert_takes(s, 0, "");
    apply(s, 2, COMPLETED, "{\"at\":3}");
    apply_event(s, 2, "12");
    csc_state_settle(s);
    assert_takes(s, 0, "3");
    assert_sees(s, 3, "10,12");
    hand_done(s);
}

/* 3 joins 2, which joined 1: it sees both. */
static void
a_join_sees_what_its_predecessors_joined(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, COMPLETED, "{\"at\":0}");
    apply(s, 1, RUNNING, NULL);
    apply(s, 2, RUNNING, "{\"after\":[1]}");
    apply(s, 3, RUNNING, "{\"after\":[2]}");
    apply(s, 1, COMPLETED, "{\"at\":3}");
    apply_event(s, 1, "11");
    apply(s, 2, COMPLETED, "{\"at\":3,\"after\":[1]}");
    apply_event(s, 2, "12");
    csc_state_settle(s);
    assert_sees(s, 3, "11,12");
    hand_done(s);
}

/* The events of a joined execution's steps, which have places of their own. */
static void
a_join_sees_the_steps_of_what_it_joined(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 1, RUNNING, NULL);
    apply(s, 2, RUNNING, "{\"after\":[1]}");
    hand_apply(s, 3, ID "/1/cascade.step:x#0", "cascade.step:x", COMPLETED,
               "{\"at\":2}");
    apply_event(s, 3, "13");
    csc_state_settle(s);
    apply(s, 1, COMPLETED, "{\"at\":3}");
    csc_state_settle(s);
    assert_sees(s, 2, "13");
    hand_done(s);
}

/* 2 was spawned before 1's commit, 4 after it. */
static void
visibility_is_a_matter_of_at_not_of_arrival(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 1, RUNNING, NULL);
    apply(s, 2, RUNNING, NULL);
    apply(s, 3, RUNNING, NULL);
    apply(s, 1, COMPLETED, "{\"at\":3}");
    apply_event(s, 1, "11");
    apply(s, 4, RUNNING, NULL);
    csc_state_settle(s);
    assert_sees(s, 2, "");
    assert_sees(s, 3, "");
    assert_sees(s, 4, "11");
    hand_done(s);
}

/* Whatever the order of arrival, events are sorted by their writers. */
static void
events_are_kept_by_writer_then_arrival(void **unused)
{
    csc_state *s = hand_fresh();
    const csc_key *key = NULL;

    (void)unused;
    apply(s, 1, COMPLETED, "{\"at\":2}");
    apply(s, 2, COMPLETED, "{\"at\":2}");
    apply_event(s, 2, "1");
    apply_event(s, 1, "2");
    apply_event(s, 2, "3");
    apply_event(s, 1, "4");
    key = csc_events_key(s, "k");
    assert_string_equal(csc_events_nth_event(key, 0)->value, "2");
    assert_string_equal(csc_events_nth_event(key, 1)->value, "4");
    assert_string_equal(csc_events_nth_event(key, 2)->value, "1");
    assert_string_equal(csc_events_nth_event(key, 3)->value, "3");
    hand_done(s);
}

/* ---- The queue ---------------------------------------------------------- */

static void
the_queue_is_by_time_then_place(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 5, RUNNING, "{\"not_before\":200}");
    apply(s, 2, RUNNING, "{\"not_before\":300}");
    apply(s, 4, RUNNING, NULL);
    apply(s, 3, RUNNING, "{\"not_before\":200}");
    apply(s, 1, RUNNING, NULL);
    assert_int_equal(csc_due_queue_wake_at(s), 0);
    assert_takes(s, 0, "1,4");
    assert_int_equal(csc_due_queue_wake_at(s), 200);
    assert_takes(s, 199, "");
    assert_takes(s, 200, "3,5");
    assert_takes(s, 1000, "2");
    assert_int_equal(csc_due_queue_wake_at(s), CASCADE_TIME_NONE);
    hand_done(s);
}

static void
a_failed_attempt_is_queued_again(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    assert_takes(s, 0, "0");
    apply(s, 0, RUNNING, "{\"attempts\":2,\"not_before\":50}");
    assert_int_equal(csc_view_find(s, 0)->attempts, 2);
    assert_int_equal(csc_due_queue_wake_at(s), 50);
    assert_takes(s, 50, "0");
    assert_int_equal(csc_due_queue_untake(s, csc_view_find(s, 0)), CASCADE_OK);
    assert_takes(s, 50, "0");
    hand_done(s);
}

/* A heartbeat leaves it where it is: in its function, or in the queue. */
static void
a_heartbeat_changes_nothing_but_progress(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, "{\"steps\":{\"x#0\":1},\"attempts\":2}");
    assert_takes(s, 0, "0");
    apply(s, 0, RUNNING,
          "{\"steps\":{\"x#0\":1},\"attempts\":2,\"progress\":[7]}");
    assert_string_equal(csc_view_find(s, 0)->progress, "[7]");
    assert_true(csc_view_find(s, 0)->stage == CSC_STAGE_DISPATCHED);
    assert_takes(s, 0, "");
    apply(s, 0, RUNNING,
          "{\"steps\":{\"x#0\":2},\"attempts\":2,\"progress\":[7]}");
    assert_string_equal(csc_view_find(s, 0)->progress, "[7]");
    assert_takes(s, 0, "0");
    hand_done(s);
}

/* What a function that runs on can see stays as it is, whatever becomes of its
 * execution and its parts. */
static void
what_is_held_stays_as_it_was(void **unused)
{
    csc_state *s = hand_fresh();
    csc_exec *held = NULL;
    const csc_exec *step = NULL;

    (void)unused;
    apply(s, 0, RUNNING, "{\"attempts\":2}");
    hand_apply(s, 1, ID "/0/cascade.step:x#0", "cascade.step:x", COMPLETED,
               "{\"at\":0,\"output\":\"o\"}");
    assert_takes(s, 0, "0");
    held = csc_view_find(s, 0);
    step = csc_view_find(s, 1);
    csc_state_hold(s, held);
    apply(s, 0, RUNNING, "{\"attempts\":3}");
    assert_true(csc_view_find(s, 0) != held);
    assert_int_equal(csc_view_find(s, 0)->attempts, 3);
    assert_int_equal(csc_view_find(s, 0)->parts.count, 1);
    assert_takes(s, 0, "0");
    apply(s, 0, COMPLETED, "{\"at\":1,\"attempts\":4}");
    csc_state_settle(s);
    assert_null(csc_view_find(s, 0));
    assert_null(csc_view_find(s, 1));
    assert_int_equal(held->attempts, 2);
    assert_string_equal(held->name, "n");
    assert_string_equal(step->output, "\"o\"");
    csc_state_release(s, held);
    assert_null(s->kept);
    hand_done(s);
}

/* Its slots are those of the copy then, and are let go of when that ends. */
static void
a_held_join_hands_on_its_slots(void **unused)
{
    csc_state *s = hand_fresh();
    csc_exec *held = NULL;
    const csc_exec *copy = NULL;

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    apply(s, 1, RUNNING, "{\"after\":[0]}");
    apply(s, 0, COMPLETED, "{\"at\":1,\"attempts\":1}");
    csc_state_settle(s);
    assert_takes(s, 0, "1");
    held = csc_view_find(s, 1);
    csc_state_hold(s, held);
    apply(s, 1, RUNNING, "{\"after\":[0],\"attempts\":1}");
    copy = csc_view_find(s, 1);
    assert_true(copy != held);
    assert_null(held->join);
    assert_int_equal(csc_join_verdict(copy), CSC_VERDICT_RUN);
    assert_true(csc_view_has(&copy->seen, 0));
    assert_int_equal(csc_view_find(s, 0)->holders, 1);
    apply(s, 1, COMPLETED, "{\"at\":1,\"after\":[0],\"attempts\":2}");
    csc_state_settle(s);
    assert_null(csc_view_find(s, 0));
    csc_state_release(s, held);
    assert_null(s->kept);
    hand_done(s);
}

/* The deadline of the cascade counts beside the queue. */
static void
a_deadline_is_a_time_to_wake(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING,
          "{\"cascade\":{\"queue\":\"q\",\"deadline\":70,\"priority\":0},"
          "\"not_before\":90}");
    assert_int_equal(csc_due_queue_wake_at(s), 70);
    apply(s, 1, RUNNING, "{\"not_before\":60}");
    assert_int_equal(csc_due_queue_wake_at(s), 60);
    hand_apply(s, 2, ID "/-/cascade.deadline#0", "cascade.deadline",
               CASCADE_EXECUTION_FAILED, "{\"at\":1,\"attempts\":1}");
    assert_int_equal(csc_view_status(s), CASCADE_ERROR);
    hand_done(s);
}

/* Takes one out of the middle of a large queue again and again. */
static void
a_large_queue_stays_in_order(void **unused)
{
    enum {
        COUNT = 500
    };
    csc_state *s = hand_fresh();
    int32_t previous = -1;

    (void)unused;
    for (int32_t i = 0; i < COUNT; i++) {
        int32_t id = i * 263 % COUNT;
        char record[64];

        snprintf(record, sizeof(record), "{\"not_before\":%d}", 1000 + id);
        apply(s, id, RUNNING, record);
    }
    for (int32_t i = 0; i < COUNT; i += 7)
        csc_due_queue_dispatch(s, csc_view_find(s, i));
    for (csc_exec *e = csc_due_queue_take(s, 99999); e != NULL;
         e = csc_due_queue_take(s, 99999)) {
        assert_true(e->function_id > previous);
        assert_true(e->function_id % 7 != 0);
        previous = e->function_id;
    }
    assert_int_equal(previous, COUNT - 1);
    hand_done(s);
}

/* ---- Rows of other programs --------------------------------------------- */

static void
foreign_rows_without_at_count_by_their_place(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    hand_apply(s, 0, "n_0189_0", "n", COMPLETED, "{\"whatever\":[1]}");
    hand_apply(s, 2, "not-a-path", "n", COMPLETED, NULL);
    hand_apply(s, 9, "", "n", RUNNING, NULL);
    apply_event(s, 0, "10");
    apply_event(s, 2, "12");
    apply_event(s, 7, "17"); /* its writer has no row */
    csc_state_settle(s);
    assert_int_equal(s->fn_id, 9);
    assert_int_equal(csc_view_find(s, 9)->parent, CSC_NO_PARENT);
    assert_sees(s, 9, "10,12,17");
    assert_takes(s, 0, "9");
    hand_done(s);
}

static void
negative_places_and_gaps_are_borne(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, -3, COMPLETED, NULL);
    apply(s, 1000000, RUNNING, NULL);
    apply(s, 5, RUNNING, NULL);
    apply_event(s, -3, "1");
    assert_takes(s, 0, "5,1000000");
    assert_sees(s, 5, "1");
    assert_int_equal(s->fn_id, 1000000);
    hand_done(s);
}

static void
odd_records_count_as_absent(void **unused)
{
    static const char *const odd[] = {"[]",
                                      "1",
                                      "\"text\"",
                                      "null",
                                      "{\"at\":\"x\"}",
                                      "{\"at\":-4}",
                                      "{\"attempts\":99999999999}",
                                      "{\"after\":{\"a\":1}}",
                                      "{\"after\":[-1,\"x\",7,null]}",
                                      "{\"cascade\":[1]}"};

    (void)unused;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        csc_state *s = hand_fresh();

        apply(s, 4, RUNNING, odd[i]);
        assert_int_equal(csc_view_find(s, 4)->attempts, 0);
        assert_int_equal(csc_view_find(s, 4)->after.count, 0);
        assert_int_equal(csc_view_find(s, 4)->at, 4);
        assert_takes(s, 0, "4");
        hand_done(s);
    }
}

static void
paths_are_read_strictly(void **unused)
{
    static const char *const bad[] = {
        "",
        "#",
        ID,
        ID "/",
        ID "/-",
        ID "/-/n",
        ID "/-/n#",
        ID "/-/n#x",
        ID "/-/n#1x",
        ID "/x/n#1",
        ID "/-1/n#1",
        ID "-/n#1",
        ID "/99999999999/n#1",
        ID "/1/n#99999999999",
        "01890000-0000-7000-8000-00000000abce/-/n#0"};
    cascade_uuid id;
    int32_t parent = 7;
    uint32_t occurrence = 7;

    (void)unused;
    (void)cascade_uuid_parse(ID, &id);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(csc_kind_path(bad[i], &id, &parent, &occurrence));
    assert_int_equal(parent, 7);
    assert_true(csc_kind_path(ID "/-/n#0", &id, &parent, &occurrence));
    assert_int_equal(parent, CSC_NO_PARENT);
    assert_true(csc_kind_path(ID "/12/a#b/c#34", &id, &parent, &occurrence));
    assert_int_equal(parent, 12);
    assert_int_equal(occurrence, 34);
}

/* ---- Sleeps ------------------------------------------------------------- */

#define SLEEP "cascade.sleep:s"

static void
a_sleep_holds_its_node_until_its_time(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    hand_apply(s, 1, ID "/0/" SLEEP "#0", SLEEP, RUNNING,
               "{\"not_before\":200}");
    csc_state_settle(s);
    assert_int_equal(csc_due_queue_wake_at(s), 200);
    assert_takes(s, 199, "");
    assert_takes(s, 200, "1");
    hand_apply(s, 1, ID "/0/" SLEEP "#0", SLEEP, COMPLETED,
               "{\"at\":1,\"attempts\":1,\"not_before\":200}");
    csc_state_settle(s);
    assert_takes(s, 200, "0");
    hand_done(s);
}

/* It ends in one commit with its sleep: nobody is to be woken. */
static void
a_node_that_has_ended_is_not_woken(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    hand_apply(s, 1, ID "/0/" SLEEP "#0", SLEEP, RUNNING,
               "{\"not_before\":200}");
    apply(s, 2, RUNNING, NULL);
    apply(s, 0, FAILED, "{\"at\":2,\"continue\":true}");
    hand_apply(s, 1, ID "/0/" SLEEP "#0", SLEEP, COMPLETED, "{\"at\":2}");
    csc_state_settle(s);
    assert_takes(s, 200, "2");
    hand_done(s);
}

/* It goes on by itself, and is not freed with its node. */
static void
a_sleep_may_outlast_its_node(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    hand_apply(s, 1, ID "/0/" SLEEP "#0", SLEEP, RUNNING,
               "{\"not_before\":200}");
    apply(s, 0, FAILED, "{\"at\":1,\"continue\":true}");
    csc_state_settle(s);
    assert_int_equal(csc_view_status(s), CASCADE_RUNNING);
    assert_takes(s, 200, "1");
    hand_apply(s, 1, ID "/0/" SLEEP "#0", SLEEP, COMPLETED, "{\"at\":1}");
    csc_state_settle(s);
    assert_int_equal(csc_view_status(s), CASCADE_COMPLETED);
    hand_done(s);
}

/* As another program may have written it: neither would ever go on. */
static void
a_sleep_does_not_come_after_its_node(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    hand_apply(s, 1, ID "/0/" SLEEP "#0", SLEEP, RUNNING, "{\"after\":[0]}");
    csc_state_settle(s);
    assert_takes(s, 0, "1");
    hand_done(s);
}

/* ---- Instead ------------------------------------------------------------ */

/* 1 fails, 3 and then 4 run instead; 2 comes after all of them. */
static void
a_join_comes_after_what_runs_instead(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, COMPLETED, "{\"at\":0}");
    apply(s, 1, RUNNING, NULL);
    apply(s, 2, RUNNING, "{\"after\":[1]}");
    csc_state_settle(s);
    assert_takes(s, 0, "1");
    apply(s, 1, FAILED, "{\"at\":2,\"continue\":true}");
    apply(s, 3, RUNNING, "{\"instead_of\":1}");
    csc_state_settle(s);
    assert_takes(s, 0, "3");
    apply(s, 3, FAILED, "{\"at\":3,\"continue\":true,\"instead_of\":1}");
    apply(s, 4, RUNNING, "{\"instead_of\":1}");
    csc_state_settle(s);
    assert_takes(s, 0, "4");
    apply(s, 4, COMPLETED, "{\"at\":4,\"instead_of\":1}");
    apply_event(s, 4, "\"by 4\"");
    csc_state_settle(s);
    assert_true(csc_view_has(&csc_view_find(s, 2)->seen, 4));
    assert_takes(s, 0, "2");
    hand_done(s);
}

/* 3 comes after 2, which came after 1, in whose place 4 ran. */
static void
a_join_sees_what_ran_instead_for_others(void **unused)
{
    csc_state *s = hand_fresh();

    (void)unused;
    apply(s, 0, COMPLETED, "{\"at\":0}");
    apply(s, 1, FAILED, "{\"at\":3,\"continue\":true}");
    apply(s, 2, COMPLETED, "{\"after\":[1],\"at\":5}");
    apply(s, 3, RUNNING, "{\"after\":[2]}");
    apply(s, 4, COMPLETED, "{\"at\":4,\"instead_of\":1}");
    csc_state_settle(s);
    assert_true(csc_view_has(&csc_view_find(s, 3)->seen, 2));
    assert_true(csc_view_has(&csc_view_find(s, 3)->seen, 4));
    assert_takes(s, 0, "3");
    hand_done(s);
}

/* ---- What stays in memory ----------------------------------------------- */

static const csc_exec *
find_step(const csc_state *s, const char *name, uint32_t occurrence)
{
    const csc_part step = {
        .kind = CSC_PART_STEP, .name = name, .occurrence = occurrence};

    return csc_view_part(s, csc_view_find(s, 0), &step);
}

/* ---- What a deletion has left (S39) ------------------------------------- */

static csc_state *
left_of(cascade_status status, int32_t fn_id)
{
    csc_state *state = hand_fresh();
    cascade_row row = {
        .id = state->id, .status = status, .fn_id = fn_id, .user_id = "user"};

    assert_int_equal(csc_state_apply_cascade(state, &row), CASCADE_OK);
    apply(state, 0, COMPLETED, NULL);
    apply(state, 1, RUNNING, NULL);
    csc_state_settle(state);
    csc_view_find_torn(state);
    return state;
}

/* The row that ended it went first. What has all its rows is judged by them. */
static void
what_a_deletion_has_left_has_ended(void **unused)
{
    csc_state *state = left_of(CASCADE_ERROR, 5);

    (void)unused;
    assert_int_equal(csc_view_status(state), CASCADE_ERROR);
    assert_int_equal(csc_reset_plan_refuse(state, 0), CSC_REFUSAL_TORN);
    assert_int_equal(csc_reset_plan_refuse(state, CSC_COURSE_NONE),
                     CSC_REFUSAL_TORN);
    csc_state_fini(state);
    state = left_of(CASCADE_ERROR, 1);
    assert_int_equal(csc_view_status(state), CASCADE_RUNNING);
    csc_state_fini(state);
    state = left_of(CASCADE_RUNNING, 5);
    assert_int_equal(csc_view_status(state), CASCADE_RUNNING);
    assert_int_equal(csc_reset_plan_refuse(state, 0), CSC_REFUSAL_NONE);
    csc_state_fini(state);
}

static void
steps_stay_while_their_node_runs(void **unused)
{
    csc_state *s = hand_fresh();
    const csc_exec *step = NULL;

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    hand_apply(s, 1, ID "/0/cascade.step:x#0", "cascade.step:x", COMPLETED,
               "{\"at\":0,\"output\":{\"y\":1}}");
    hand_apply(s, 2, ID "/0/cascade.step:x#1", "cascade.step:x", FAILED,
               "{\"at\":1,\"continue\":true}");
    csc_state_settle(s);
    step = find_step(s, "x", 0);
    assert_non_null(step);
    assert_string_equal(step->output, "{\"y\":1}");
    step = find_step(s, "x", 1);
    assert_int_equal(step->status, FAILED);
    assert_null(find_step(s, "x", 2));
    assert_null(find_step(s, "y", 0));
    apply(s, 0, COMPLETED, "{\"at\":2}");
    csc_state_settle(s);
    for (int32_t i = 0; i < 3; i++)
        assert_null(csc_view_find(s, i));
    hand_done(s);
}

/* A long chain takes no more memory than a short one. */
static void
what_has_ended_leaves_memory(void **unused)
{
    csc_state *s = hand_fresh();
    size_t live = 0;

    (void)unused;
    apply(s, 0, RUNNING, NULL);
    for (int32_t i = 0; i < 2000; i++) {
        char record[32];

        snprintf(record, sizeof(record), "{\"at\":%d}", i);
        apply(s, i, COMPLETED, record);
        apply(s, i + 1, RUNNING, NULL);
        csc_state_settle(s);
        if (i == 100)
            live = csc_mem_live();
    }
    assert_int_equal(csc_mem_live(), live);
    assert_true(s->exec_count < 10);
    hand_done(s);
}

/* Heirs of a void rerun that are read behind those that count, by the second
 * load: no other program's rows lead beyond what is known of them. */
static void
heirs_of_a_void_rerun_are_passed_over(void **unused)
{
    csc_state *s = hand_fresh();
    bool again = true;

    (void)unused;
    for (int load = 0; again; load++) {
        char path[100];

        assert_true(load < 3);
        apply(s, 0, COMPLETED, "{\"at\":0}");
        hand_apply(s, 1, ID "/message/rerun/a", "cascade.rerun", COMPLETED,
                   "{\"at\":0,\"from\":0}");
        hand_apply(s, 2, ID "/1/n#0", "n", RUNNING, "{\"resumes\":0}");
        hand_apply(s, 3, ID "/message/rerun/b", "cascade.rerun", COMPLETED,
                   "{\"at\":2,\"from\":3}");
        for (int32_t i = 0; i < 2000; i++) {
            snprintf(path, sizeof(path), ID "/3/n#%d", i);
            hand_apply(s, 4 + i, path, "n", FAILED, "{\"resumes\":0}");
        }
        hand_apply(s, 2004, ID "/message/rerun/c", "cascade.rerun", COMPLETED,
                   "{\"at\":2003,\"from\":3}");
        hand_apply(s, 2005, ID "/0/cascade.step:s#0", "cascade.step:s",
                   COMPLETED, "{\"at\":2004}");
        assert_int_equal(csc_state_begin_again(s, &again), CASCADE_OK);
    }
    assert_int_equal(csc_supersede_heir_of(&s->course, 0), 2);
    assert_int_equal(csc_view_find(s, 2005)->parent, 2);
    assert_int_equal(s->running, 1);
    hand_done(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cascade_runs_while_any_execution_does),
        cmocka_unit_test(a_terminating_failure_ends_it_as_error),
        cmocka_unit_test(a_failure_that_continues_does_not_end_it),
        cmocka_unit_test(the_error_is_that_of_the_lowest_place),
        cmocka_unit_test(what_has_ended_stays_as_it_is),
        cmocka_unit_test(a_join_sees_what_it_joined_and_nothing_else),
        cmocka_unit_test(a_join_sees_what_its_predecessors_joined),
        cmocka_unit_test(a_join_sees_the_steps_of_what_it_joined),
        cmocka_unit_test(visibility_is_a_matter_of_at_not_of_arrival),
        cmocka_unit_test(events_are_kept_by_writer_then_arrival),
        cmocka_unit_test(the_queue_is_by_time_then_place),
        cmocka_unit_test(a_failed_attempt_is_queued_again),
        cmocka_unit_test(a_heartbeat_changes_nothing_but_progress),
        cmocka_unit_test(what_is_held_stays_as_it_was),
        cmocka_unit_test(a_held_join_hands_on_its_slots),
        cmocka_unit_test(a_deadline_is_a_time_to_wake),
        cmocka_unit_test(a_large_queue_stays_in_order),
        cmocka_unit_test(foreign_rows_without_at_count_by_their_place),
        cmocka_unit_test(negative_places_and_gaps_are_borne),
        cmocka_unit_test(odd_records_count_as_absent),
        cmocka_unit_test(paths_are_read_strictly),
        cmocka_unit_test(a_sleep_holds_its_node_until_its_time),
        cmocka_unit_test(a_node_that_has_ended_is_not_woken),
        cmocka_unit_test(a_sleep_may_outlast_its_node),
        cmocka_unit_test(a_sleep_does_not_come_after_its_node),
        cmocka_unit_test(a_join_comes_after_what_runs_instead),
        cmocka_unit_test(a_join_sees_what_ran_instead_for_others),
        cmocka_unit_test(what_a_deletion_has_left_has_ended),
        cmocka_unit_test(steps_stay_while_their_node_runs),
        cmocka_unit_test(what_has_ended_leaves_memory),
        cmocka_unit_test(heirs_of_a_void_rerun_are_passed_over),
    };

    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
