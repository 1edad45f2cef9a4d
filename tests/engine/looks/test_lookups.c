/* SPDX-License-Identifier: MIT
 *
 * Nothing is found by walking: in a cascade of very many executions, signals,
 * waits and children an operation looks at few of them. What is counted is each
 * item that a look-up looks at, not time.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/data/arena.h"
#include "base/data/tree.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "change/build/build.h"
#include "change/op.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "state/supersede.h"
#include "support/hand.h"

#define ID HAND_ID
#define RUNNING CASCADE_EXECUTION_RUNNING
#define COMPLETED CASCADE_EXECUTION_COMPLETED
#define FAILED CASCADE_EXECUTION_FAILED
#define MANY 20000
/* Of MANY a look in a tree needs some twenty, at most forty; an operation has a
 * few of them. */
#define LOOKS_MAX 400

/* A cascade whose node 0 runs, and what is built for it. */
typedef struct site {
    csc_arena arena;
    csc_state state;
    csc_build_env env;
    cascade_change change;
} site;

static size_t blocks_before; /* a test that failed leaves some behind */

static void
apply_under(site *s, int32_t function_id, int32_t parent, const char *name,
            uint32_t nth, cascade_execution_status status,
            const char *full_output)
{
    hand_apply_under(&s->state, function_id, parent, name, nth, status,
                     full_output);
}

/* Its first of that name under execution 0. */
static void
apply(site *s, int32_t function_id, const char *name,
      cascade_execution_status status, const char *full_output)
{
    apply_under(s, function_id, 0, name, 0, status, full_output);
}

static site *
site_open(void)
{
    static site s;
    cascade_row row = {.status = CASCADE_RUNNING, .user_id = "user"};

    blocks_before = csc_mem_live();
    memset(&s, 0, sizeof(s));
    (void)cascade_uuid_parse(ID, &row.id);
    s.env = (csc_build_env){
        .arena = &s.arena, .random = &csc_random_system, .location = "here"};
    csc_state_init(&s.state, &row.id);
    assert_int_equal(csc_state_apply_cascade(&s.state, &row), CASCADE_OK);
    apply_under(&s, 0, CSC_NO_PARENT, "n", 0, RUNNING, NULL);
    (void)csc_count_looks();
    return &s;
}

static void
site_close(site *s)
{
    csc_state_fini(&s->state);
    csc_arena_fini(&s->arena);
    assert_int_equal(csc_mem_live(), blocks_before);
}

static void
assert_few_looks(void)
{
    size_t looks = csc_count_looks();

    if (looks > LOOKS_MAX)
        print_error("%zu looks\n", looks);
    assert_true(looks <= LOOKS_MAX);
}

/* Builds and applies what one message brings. */
static void
receive(site *s, csc_message *message)
{
    csc_post post = {.kind = CSC_POST_RECEIVE,
                     .messages = message,
                     .last_message = message,
                     .message_count = 1};

    csc_arena_clear(&s->arena);
    (void)csc_count_looks();
    assert_int_equal(csc_build_change(&s->env, &s->state, &post, &s->change),
                     CASCADE_OK);
    assert_int_equal(csc_build_apply(&s->state, &s->change), CASCADE_OK);
    assert_few_looks();
}

static void
receive_signal(site *s, const char *name)
{
    static int32_t number;
    char path[100];
    csc_message message = {.kind = CSC_MESSAGE_SIGNAL,
                           .name = name,
                           .path = path,
                           .payload = "{}"};

    snprintf(path, sizeof(path), ID "/message/signal/%d", number++);
    receive(s, &message);
}

static void
name_of(char *name, size_t size, const char *prefix, int32_t i)
{
    snprintf(name, size, "%s%d", prefix, i);
}

/* ---- Signals ------------------------------------------------------------ */

static site *
open_with_awaits(void)
{
    site *s = site_open();

    for (int32_t i = 1; i <= MANY; i++) {
        char name[40];

        name_of(name, sizeof(name), CSC_AWAIT_PREFIX, i % (MANY / 2));
        apply(s, i, name, RUNNING, NULL);
        assert_few_looks();
    }
    csc_state_settle(&s->state);
    return s;
}

/* The first await of the name, then the second; then it is unread. */
static void
a_signal_finds_its_await(void **unused)
{
    site *s = open_with_awaits();
    int32_t first = MANY / 2 - 1;

    (void)unused;
    for (int32_t i = 0; i < 2; i++) {
        char name[40];

        name_of(name, sizeof(name), "", first);
        receive_signal(s, name);
        assert_int_equal(s->change.update_count, 1);
        assert_int_equal(s->change.updates[0].function_id,
                         first + i * (MANY / 2));
    }
    site_close(s);
}

static void
a_signal_that_nobody_awaits_costs_no_more(void **unused)
{
    site *s = open_with_awaits();

    (void)unused;
    receive_signal(s, "other");
    assert_int_equal(s->change.update_count, 0);
    assert_int_equal(s->change.insert_count, 1);
    site_close(s);
}

/* An await takes the lowest of its name, and leaves the others. */
static void
an_await_finds_its_signal(void **unused)
{
    site *s = site_open();
    csc_post post = {.kind = CSC_POST_WAIT,
                     .part_name = CSC_AWAIT_PREFIX "9999",
                     .forever = true};

    (void)unused;
    for (int32_t i = 1; i <= MANY; i++) {
        char name[40];

        name_of(name, sizeof(name), CSC_SIGNAL_PREFIX, i % (MANY / 2));
        apply(s, i, name, COMPLETED, NULL);
        assert_few_looks();
    }
    csc_state_settle(&s->state);
    for (uint32_t i = 0; i < 3; i++) {
        csc_arena_clear(&s->arena);
        post.part_occurrence = i;
        (void)csc_count_looks();
        assert_int_equal(
            csc_build_change(&s->env, &s->state, &post, &s->change),
            CASCADE_OK);
        assert_int_equal(csc_build_apply(&s->state, &s->change), CASCADE_OK);
        assert_few_looks();
        assert_int_equal(s->change.inserts[0].status,
                         i < 2 ? COMPLETED : RUNNING);
    }
    site_close(s);
}

/* As rows come on hydration: awaits that have ended before their signals. */
static void
a_signal_finds_the_await_that_has_taken_it(void **unused)
{
    site *s = site_open();

    (void)unused;
    for (int32_t i = 1; i <= MANY; i++) {
        char output[60];

        snprintf(output, sizeof(output), "{\"at\":%d,\"signal\":%d}", MANY + i,
                 2 * MANY + 1 - i);
        apply_under(s, i, 0, CSC_AWAIT_PREFIX "a", (uint32_t)i, COMPLETED,
                    output);
        assert_few_looks();
    }
    for (int32_t i = MANY + 1; i <= 2 * MANY; i++) {
        apply(s, i, CSC_SIGNAL_PREFIX "a", COMPLETED, NULL);
        assert_few_looks();
    }
    csc_state_settle(&s->state);
    assert_int_equal(csc_tree_count(&s->state.signals), 0);
    site_close(s);
}

/* ---- Children and executions outside ------------------------------------ */

static cascade_uuid
id_of(int32_t i)
{
    cascade_uuid id = {{0}};

    id.bytes[0] = 1;
    for (int b = 0; b < 4; b++)
        id.bytes[15 - b] =
            (unsigned char)((uint32_t)i * 2654435761U >> (8 * b));
    return id;
}

static void
apply_with_id(site *s, int32_t i, const char *name, const char *member)
{
    cascade_uuid id = id_of(i);
    char text[CASCADE_UUID_TEXT_SIZE];
    char output[100];

    snprintf(output, sizeof(output), "{\"%s\":\"%s\"}", member,
             cascade_uuid_format(&id, text));
    apply_under(s, i, 0, name, (uint32_t)i, RUNNING, output);
    assert_few_looks();
}

static void
the_end_of_a_child_finds_its_part(void **unused)
{
    site *s = site_open();
    char text[CASCADE_UUID_TEXT_SIZE];
    char payload[100];
    csc_message message = {.kind = CSC_MESSAGE_CHILD,
                           .name = "",
                           .path = ID "/message/child/1",
                           .payload = payload};

    (void)unused;
    for (int32_t i = 1; i <= MANY; i++)
        apply_with_id(s, i, CSC_CHILD_PREFIX "c", "child");
    for (int32_t i = MANY; i > MANY - 2; i--) {
        cascade_uuid id = id_of(i);

        snprintf(payload, sizeof(payload), "{\"id\":\"%s\"}",
                 cascade_uuid_format(&id, text));
        receive(s, &message);
        assert_int_equal(s->change.update_count, 1);
        assert_int_equal(s->change.updates[0].function_id, i);
        receive(s, &message); /* told again: for nothing */
        assert_int_equal(s->change.update_count, 0);
    }
    site_close(s);
}

static void
a_completion_finds_its_execution(void **unused)
{
    site *s = site_open();
    csc_completion completion = {.token = id_of(MANY)};
    csc_message message = {.kind = CSC_MESSAGE_COMPLETE,
                           .name = "",
                           .path = ID "/message/complete/1",
                           .payload = "{}",
                           .completion = &completion};

    (void)unused;
    for (int32_t i = 1; i <= MANY; i++)
        apply_with_id(s, i, "x", "token");
    receive(s, &message);
    assert_int_equal(s->change.update_count, 1);
    assert_int_equal(s->change.updates[0].function_id, MANY);
    receive(s, &message);
    assert_int_equal(s->change.update_count, 0);
    site_close(s);
}

/* Of those that wait from outside, the one whose deadline comes next. */
static void
deadlines_come_in_their_order(void **unused)
{
    site *s = site_open();
    int64_t last_ms = 0;

    (void)unused;
    for (int32_t i = 1; i <= MANY; i++) {
        cascade_uuid id = id_of(i);
        char text[CASCADE_UUID_TEXT_SIZE];
        char output[120];

        snprintf(output, sizeof(output), "{\"deadline\":%d,\"token\":\"%s\"}",
                 1 + (i * 7919) % MANY, cascade_uuid_format(&id, text));
        apply_under(s, i, 0, "x", (uint32_t)i, RUNNING, output);
        assert_few_looks();
    }
    for (int32_t i = 1; i <= MANY; i++) {
        csc_exec *exec = csc_due_first_overdue(&s->state);

        assert_non_null(exec);
        assert_true(csc_due_queue_time(exec) >= last_ms);
        last_ms = csc_due_queue_time(exec);
        csc_due_queue_dispatch(&s->state, exec);
        assert_few_looks();
    }
    assert_null(csc_due_first_overdue(&s->state));
    site_close(s);
}

/* ---- Parts -------------------------------------------------------------- */

static void
a_part_is_found_in_any_order(void **unused)
{
    site *s = site_open();
    const csc_exec *node = NULL;

    (void)unused;
    for (int32_t i = 1; i <= MANY; i++)
        apply_under(s, i, 0, CSC_STEP_PREFIX "s", (uint32_t)i, COMPLETED, NULL);
    node = csc_view_find(&s->state, 0);
    (void)csc_count_looks();
    for (int32_t i = 1; i <= 2 * MANY; i += 777) {
        const csc_part step = {CSC_PART_STEP, "s", (uint32_t)i};
        const csc_part sleep = {CSC_PART_SLEEP, "s", (uint32_t)i};
        const csc_part other = {CSC_PART_STEP, "t", (uint32_t)i};
        const csc_exec *found = csc_view_part(&s->state, node, &step);
        const csc_ids passed = {.items = &i, .count = 1};

        assert_int_equal(found != NULL ? found->function_id : 0,
                         i <= MANY ? i : 0);
        assert_null(csc_view_part(&s->state, node, &sleep));
        assert_null(csc_view_part(&s->state, node, &other));
        assert_ptr_equal(csc_view_rival(&s->state, node, &sleep, &(csc_ids){0}),
                         found);
        assert_null(csc_view_rival(&s->state, node, &sleep, &passed));
        assert_few_looks();
    }
    site_close(s);
}

/* ---- Retries ------------------------------------------------------------- */

static void
plan_node(csc_plan *plan, site *s, int32_t i, cascade_execution_status status)
{
    char path[100];
    char name[40];
    const cascade_execution_row row = {.cascade_id = s->state.id,
                                       .function_id = i,
                                       .node_name = name,
                                       .node_instance_id = path,
                                       .location = "",
                                       .input = "{}",
                                       .status = status};

    name_of(name, sizeof(name), "n", i);
    (void)snprintf(path, sizeof(path), ID "/0/n%d#0", i);
    assert_int_equal(csc_reset_plan_add(plan, &row), CASCADE_OK);
    assert_int_equal(csc_state_apply_execution(&s->state, &row), CASCADE_OK);
}

/* As many names as there are heirs. */
static void
a_retry_numbers_its_heirs(void **unused)
{
    site *s = site_open();
    csc_plan *plan = csc_reset_plan_create(CSC_COURSE_NONE);

    (void)unused;
    assert_non_null(plan);
    for (int32_t i = 1; i <= MANY; i++)
        plan_node(plan, s, i, i == MANY ? FAILED : RUNNING);
    (void)csc_count_looks();
    assert_int_equal(csc_reset_plan_decide(plan, &s->state), CASCADE_OK);
    assert_int_equal(plan->refusal, CSC_REFUSAL_NONE);
    assert_int_equal(plan->afresh_count, MANY);
    assert_in_range(csc_count_looks(), MANY, MANY * 40);
    csc_reset_plan_free(plan);
    site_close(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_finds_its_await),
        cmocka_unit_test(a_signal_that_nobody_awaits_costs_no_more),
        cmocka_unit_test(an_await_finds_its_signal),
        cmocka_unit_test(a_signal_finds_the_await_that_has_taken_it),
        cmocka_unit_test(the_end_of_a_child_finds_its_part),
        cmocka_unit_test(a_completion_finds_its_execution),
        cmocka_unit_test(deadlines_come_in_their_order),
        cmocka_unit_test(a_part_is_found_in_any_order),
        cmocka_unit_test(a_retry_numbers_its_heirs),
    };

    return cmocka_run_group_tests_name("lookups", tests, NULL, NULL);
}
