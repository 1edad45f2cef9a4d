/* SPDX-License-Identifier: MIT
 *
 * From posts to rows: function ids, paths, `at`, the status after, what becomes
 * of the run, and full_output in canonical form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "change/build/build.h"
#include "change/build/start.h"
#include "change/op.h"
#include "state/state.h"

#define ID "01890000-0000-7000-8000-00000000abcd"
#define NOW INT64_C(1700000000000)

/* A cascade with first nodes 0 and 1, and what is built for it. */
typedef struct site {
    csc_arena arena;
    csc_state state;
    csc_build_env env;
    cascade_change change;
} site;

static size_t blocks_before; /* a test that failed leaves some behind */

static site *
site_open(void)
{
    static site s;
    static const csc_build_first first[] = {{"a", "{\"x\":1}"}, {"a", "{}"}};
    csc_build_start start = {.user_id = "user",
                             .queue = "q\"q",
                             .key = "k\\k",
                             .priority = 4,
                             .first = first,
                             .first_count = 2};

    blocks_before = csc_mem_live();
    memset(&s, 0, sizeof(s));
    (void)cascade_uuid_parse(ID, &start.id);
    s.env = (csc_build_env){.arena = &s.arena,
                            .random = &csc_random_system,
                            .location = "here",
                            .now_ms = NOW,
                            .delay_from_ms = NOW};
    csc_state_init(&s.state, &start.id);
    assert_int_equal(csc_start_add_rows(&s.env, &start, &s.change), CASCADE_OK);
    return &s;
}

static void
site_apply(site *s)
{
    assert_int_equal(csc_build_apply(&s->state, &s->change), CASCADE_OK);
}

static void
assert_canonical(const char *text)
{
    csc_buf out = {0};

    if (text == NULL)
        return;
    assert_int_equal(csc_json_canon("x", text, strlen(text), 1 << 20, &out),
                     CASCADE_OK);
    assert_string_equal(out.data, text);
    csc_buf_fini(&out);
}

static void
site_build(site *s, const csc_post *posts)
{
    assert_int_equal(csc_build_change(&s->env, &s->state, posts, &s->change),
                     CASCADE_OK);
    for (size_t i = 0; i < s->change.update_count; i++)
        assert_canonical(s->change.updates[i].full_output);
    for (size_t i = 0; i < s->change.insert_count; i++)
        assert_canonical(s->change.inserts[i].full_output);
}

static void
site_close(site *s)
{
    csc_state_fini(&s->state);
    csc_arena_fini(&s->arena);
    assert_int_equal(csc_mem_live(), blocks_before);
}

static csc_spawn *
add_spawn(csc_post *post, const char *name)
{
    csc_spawn *spawn = csc_arena_alloc(&post->arena, 1, sizeof(*spawn));

    assert_non_null(spawn);
    spawn->name = name;
    spawn->input = "{}";
    csc_op_add_spawn(&post->effects, spawn);
    return spawn;
}

static void
add_put(csc_post *post, const char *key, const char *value)
{
    csc_put *put = csc_arena_alloc(&post->arena, 1, sizeof(*put));

    assert_non_null(put);
    put->key = key;
    put->value = value;
    csc_op_add_put(&post->effects, put);
}

static csc_post *
make_post(csc_post_kind kind, int32_t function_id)
{
    csc_post *post = csc_op_create(kind, function_id);

    assert_non_null(post);
    post->attempts = 1;
    return post;
}

/* ---- Starts ------------------------------------------------------------- */

static void
a_start_numbers_its_first_nodes(void **unused)
{
    site *s = site_open();
    const cascade_change *c = &s->change;

    (void)unused;
    assert_int_equal(c->run_action, CASCADE_RUN_START);
    assert_int_equal(c->cascade.status, CASCADE_RUNNING);
    assert_int_equal(c->cascade.fn_id, 1);
    assert_int_equal(c->run.claim_no, 0);
    assert_int_equal(c->run.wake_at_ms, NOW);
    assert_int_equal(c->insert_count, 2);
    assert_string_equal(c->inserts[0].node_instance_id, ID "/-/a#0");
    assert_string_equal(c->inserts[1].node_instance_id, ID "/-/a#1");
    assert_string_equal(c->inserts[0].full_output,
                        "{\"cascade\":{\"key\":\"k\\\\k\",\"queue\":"
                        "\"q\\\"q\",\"priority\":4}}");
    assert_null(c->inserts[1].full_output);
    assert_canonical(c->inserts[0].full_output);
    site_apply(s);
    assert_int_equal(s->state.priority, 4);
    assert_int_equal(s->state.running, 2);
    site_close(s);
}

static void
a_delayed_start_delays_all_first_nodes(void **unused)
{
    site *s = site_open();
    static const csc_build_first first[] = {{"a", "{}"}, {"b", "{}"}};
    csc_build_start start = {.id = s->state.id,
                             .user_id = "user",
                             .queue = "q",
                             .delay_ms = 500,
                             .first = first,
                             .first_count = 2};

    (void)unused;
    start.engine_id = start.id;
    assert_int_equal(csc_start_add_rows(&s->env, &start, &s->change),
                     CASCADE_OK);
    assert_int_equal(s->change.run.claim_no, 1);
    assert_int_equal(s->change.run.wake_at_ms, NOW + 500);
    for (size_t i = 0; i < 2; i++)
        assert_canonical(s->change.inserts[i].full_output);
    site_apply(s);
    assert_int_equal(csc_due_queue_wake_at(&s->state), NOW + 500);
    assert_null(csc_due_queue_take(&s->state, NOW + 499));
    assert_non_null(csc_due_queue_take(&s->state, NOW + 500));
    assert_non_null(csc_due_queue_take(&s->state, NOW + 500));
    site_close(s);
}

/* ---- Changes ------------------------------------------------------------ */

/* Ids go on from fn_id, in the order of the posts; `at` is the fn_id before. */
static void
ids_are_given_in_the_order_of_the_posts(void **unused)
{
    site *s = site_open();
    csc_post *first = make_post(CSC_POST_COMPLETE, 1);
    csc_post *second = make_post(CSC_POST_COMPLETE, 0);
    uint32_t after[] = {1, 2};
    csc_spawn *join = NULL;
    const cascade_change *c = &s->change;

    (void)unused;
    site_apply(s);
    add_put(first, "k\"", "1");
    add_put(first, "j", "2");
    add_put(first, "k\"", "3");
    add_spawn(first, "b");
    add_spawn(first, "b");
    join = add_spawn(first, "c");
    join->after = after;
    join->after_count = 2;
    join->priority = 7;
    join->delay_ms = 5;
    second->effects.output = "{\"o\":[]}";
    add_spawn(second, "b");
    first->next = second;
    site_build(s, first);
    assert_int_equal(c->cascade.fn_id, 5);
    assert_int_equal(c->cascade.status, CASCADE_RUNNING);
    assert_int_equal(c->run_action, CASCADE_RUN_KEEP);
    assert_string_equal(c->inserts[0].node_instance_id, ID "/1/b#0");
    assert_string_equal(c->inserts[1].node_instance_id, ID "/1/b#1");
    assert_string_equal(c->inserts[2].node_instance_id, ID "/1/c#0");
    assert_string_equal(c->inserts[3].node_instance_id, ID "/0/b#0");
    assert_int_equal(c->inserts[3].function_id, 5);
    assert_string_equal(c->inserts[2].full_output,
                        "{\"after\":[2,3],\"priority\":7,\"not_before\":"
                        "1700000000005}");
    assert_string_equal(c->updates[0].full_output,
                        "{\"at\":1,\"keys\":[\"k\\\"\",\"j\"],\"spawned\":"
                        "[2,3,4],\"attempts\":1}");
    assert_string_equal(
        c->updates[1].full_output,
        "{\"at\":1,\"output\":{\"o\":[]},\"cascade\":{\"key\":\"k\\\\k\","
        "\"queue\":\"q\\\"q\",\"priority\":4},\"spawned\":[5],\"attempts\":"
        "1}");
    assert_int_equal(c->event_count, 3);
    assert_int_equal(c->events[2].function_id, 1);
    assert_string_equal(c->events[2].value, "3");
    csc_op_free(first);
    csc_op_free(second);
    site_close(s);
}

static void
a_step_gets_a_place_and_keeps_its_node_running(void **unused)
{
    site *s = site_open();
    csc_post *step = make_post(CSC_POST_STEP, 0);
    csc_post *failed = make_post(CSC_POST_STEP, 0);
    const cascade_change *c = &s->change;

    (void)unused;
    site_apply(s);
    step->part_name = "cascade.step:x";
    step->part_occurrence = 3;
    step->effects.output = "7";
    step->started_at_ms = NOW - 9;
    add_put(step, "k", "1");
    add_spawn(step, "b");
    failed->part_name = "cascade.step:y";
    failed->failed = true;
    failed->error = "no";
    step->next = failed;
    site_build(s, step);
    assert_int_equal(c->update_count, 0);
    assert_int_equal(c->insert_count, 3);
    assert_string_equal(c->inserts[0].node_instance_id,
                        ID "/0/cascade.step:x#3");
    assert_int_equal(c->inserts[0].status, CASCADE_EXECUTION_COMPLETED);
    assert_int_equal(c->inserts[0].started_at_ms, NOW - 9);
    assert_int_equal(c->inserts[0].completed_at_ms, NOW);
    assert_string_equal(c->inserts[1].node_instance_id, ID "/2/b#0");
    assert_int_equal(c->events[0].function_id, 2);
    assert_int_equal(c->inserts[2].status, CASCADE_EXECUTION_FAILED);
    assert_int_equal(c->cascade.status, CASCADE_RUNNING);
    site_apply(s);
    assert_int_equal(csc_view_status(&s->state), CASCADE_RUNNING);
    csc_op_free(step);
    csc_op_free(failed);
    site_close(s);
}

/* Its completion was recorded while that it is overdue was on its way; a join
 * keeps it in memory. */
static void
a_deadline_that_comes_too_late_changes_nothing(void **unused)
{
    site *s = site_open();
    csc_post *spawns = make_post(CSC_POST_COMPLETE, 1);
    csc_post *ends = make_post(CSC_POST_COMPLETE, 2);
    csc_post *late = make_post(CSC_POST_FAIL, 2);
    uint32_t after[] = {1};
    csc_spawn *join = NULL;

    (void)unused;
    site_apply(s);
    add_spawn(spawns, "b");
    join = add_spawn(spawns, "c");
    join->after = after;
    join->after_count = 1;
    site_build(s, spawns);
    site_apply(s);
    site_build(s, ends);
    site_apply(s);
    assert_non_null(csc_view_find(&s->state, 2));
    late->overdue = true;
    late->error = "the deadline passed";
    site_build(s, late);
    assert_int_equal(s->change.update_count, 0);
    csc_op_free(spawns);
    csc_op_free(ends);
    csc_op_free(late);
    site_close(s);
}

static void
an_attempt_remembers_what_scheduling_needs(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_ATTEMPT, 0);

    (void)unused;
    site_apply(s);
    post->attempts = 2;
    post->delay_ms = 30;
    post->error = "again";
    post->step_attempts = "{\"x#0\":1}";
    site_build(s, post);
    assert_string_equal(
        s->change.updates[0].full_output,
        "{\"steps\":{\"x#0\":1},\"cascade\":{\"key\":\"k\\\\k\",\"queue\":"
        "\"q\\\"q\",\"priority\":4},\"attempts\":2,\"not_before\":"
        "1700000000030}");
    assert_int_equal(s->change.updates[0].status, CASCADE_EXECUTION_RUNNING);
    assert_int_equal(s->change.cascade.fn_id, 1);
    site_apply(s);
    assert_int_equal(csc_view_find(&s->state, 0)->attempts, 2);
    assert_string_equal(csc_view_find(&s->state, 0)->error, "again");
    csc_op_free(post);
    site_close(s);
}

/* A heartbeat keeps all but the progress, and gives way to what follows it in
 * the same commit: a row is written once. */
static void
a_heartbeat_saves_progress(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_ATTEMPT, 1);
    csc_post *beat = make_post(CSC_POST_BEAT, 1);

    (void)unused;
    site_apply(s);
    post->attempts = 2;
    post->error = "again";
    post->progress = "[1]";
    site_build(s, post);
    site_apply(s);
    beat->progress = "[2]";
    site_build(s, beat);
    assert_string_equal(s->change.updates[0].full_output,
                        "{\"attempts\":2,\"progress\":[2],\"not_before\":"
                        "1700000000000}");
    assert_string_equal(s->change.updates[0].error, "again");
    site_apply(s);
    assert_string_equal(csc_view_find(&s->state, 1)->progress, "[2]");
    post->kind = CSC_POST_FAIL;
    post->attempts = 3;
    post->progress = NULL;
    beat->next = post;
    site_build(s, beat);
    assert_int_equal(s->change.update_count, 1);
    assert_string_equal(s->change.updates[0].full_output,
                        "{\"at\":1,\"attempts\":3,\"progress\":[2]}");
    csc_op_free(beat);
    csc_op_free(post);
    site_close(s);
}

/* ---- What becomes of cascade and run ------------------------------------ */

static void
the_last_completion_ends_the_run(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_COMPLETE, 0);
    csc_post *other = make_post(CSC_POST_COMPLETE, 1);

    (void)unused;
    site_apply(s);
    site_build(s, post);
    assert_int_equal(s->change.cascade.status, CASCADE_RUNNING);
    assert_int_equal(s->change.run_action, CASCADE_RUN_KEEP);
    post->next = other;
    site_build(s, post);
    assert_int_equal(s->change.cascade.status, CASCADE_COMPLETED);
    assert_int_equal(s->change.run_action, CASCADE_RUN_END);
    site_apply(s);
    assert_int_equal(csc_view_status(&s->state), CASCADE_COMPLETED);
    csc_op_free(post);
    csc_op_free(other);
    site_close(s);
}

static void
a_terminating_failure_ends_the_run(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_FAIL, 0);

    (void)unused;
    site_apply(s);
    post->error = "no";
    add_put(post, "k", "1"); /* not recorded */
    site_build(s, post);
    assert_int_equal(s->change.cascade.status, CASCADE_ERROR);
    assert_int_equal(s->change.run_action, CASCADE_RUN_END);
    assert_int_equal(s->change.event_count, 0);
    post->continued = true;
    site_build(s, post);
    assert_int_equal(s->change.cascade.status, CASCADE_RUNNING);
    assert_int_equal(s->change.run_action, CASCADE_RUN_KEEP);
    csc_op_free(post);
    site_close(s);
}

static void
a_deadline_ends_the_run(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_DEADLINE, -1);
    const cascade_change *c = &s->change;

    (void)unused;
    site_apply(s);
    post->error = "deadline passed";
    site_build(s, post);
    assert_int_equal(c->insert_count, 1);
    assert_string_equal(c->inserts[0].node_instance_id,
                        ID "/-/cascade.deadline#0");
    assert_string_equal(c->inserts[0].full_output, "{\"at\":1,\"attempts\":1}");
    assert_int_equal(c->inserts[0].completed_at_ms, NOW);
    assert_int_equal(c->cascade.status, CASCADE_ERROR);
    assert_int_equal(c->run_action, CASCADE_RUN_END);
    site_apply(s);
    assert_int_equal(csc_view_status(&s->state), CASCADE_ERROR);
    csc_op_free(post);
    site_close(s);
}

static void
a_run_is_freed_or_reset_when_told(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_FREE, -1);

    (void)unused;
    site_apply(s);
    post->wake_at_ms = NOW + 77;
    post->needs = "z";
    site_build(s, post);
    assert_int_equal(s->change.run_action, CASCADE_RUN_FREE);
    assert_int_equal(s->change.run.wake_at_ms, NOW + 77);
    assert_string_equal(s->change.run.needs, "z");
    assert_int_equal(s->change.update_count + s->change.insert_count, 0);
    csc_op_free(post);
    post = make_post(CSC_POST_COMPLETE, 0);
    s->env.reset = true;
    site_build(s, post);
    assert_int_equal(s->change.run_action, CASCADE_RUN_RESET);
    csc_op_free(post);
    site_close(s);
}

static void
function_ids_can_be_used_up(void **unused)
{
    site *s = site_open();
    csc_post *post = make_post(CSC_POST_COMPLETE, 0);

    (void)unused;
    site_apply(s);
    add_spawn(post, "b");
    add_spawn(post, "b");
    s->state.fn_id = INT32_MAX - 2 - CSC_FUNCTION_IDS_KEPT;
    assert_int_equal(csc_build_change(&s->env, &s->state, post, &s->change),
                     CASCADE_ERR_TOO_LARGE);
    s->state.fn_id = INT32_MAX - 3 - CSC_FUNCTION_IDS_KEPT;
    site_build(s, post);
    assert_int_equal(s->change.cascade.fn_id,
                     INT32_MAX - 1 - CSC_FUNCTION_IDS_KEPT);
    csc_op_free(post);
    site_close(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_numbers_its_first_nodes),
        cmocka_unit_test(a_delayed_start_delays_all_first_nodes),
        cmocka_unit_test(ids_are_given_in_the_order_of_the_posts),
        cmocka_unit_test(a_step_gets_a_place_and_keeps_its_node_running),
        cmocka_unit_test(a_deadline_that_comes_too_late_changes_nothing),
        cmocka_unit_test(an_attempt_remembers_what_scheduling_needs),
        cmocka_unit_test(a_heartbeat_saves_progress),
        cmocka_unit_test(a_deadline_ends_the_run),
        cmocka_unit_test(the_last_completion_ends_the_run),
        cmocka_unit_test(a_terminating_failure_ends_the_run),
        cmocka_unit_test(a_run_is_freed_or_reset_when_told),
        cmocka_unit_test(function_ids_can_be_used_up),
    };

    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
