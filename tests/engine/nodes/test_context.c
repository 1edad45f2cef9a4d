/* SPDX-License-Identifier: MIT
 *
 * What an execution sees of a key, as it is found without a walk, against the
 * rule itself asked of each event in turn; and how few events are looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/data/tree.h"
#include "base/mem.h"
#include "state/context.h"
#include "state/state.h"
#include "support/hand.h"

#define RUNNING CASCADE_EXECUTION_RUNNING
#define COMPLETED CASCADE_EXECUTION_COMPLETED
#define WORLDS 60
#define WORLD_SIZE 120
#define MANY 50000
#define LOOKS_MAX 1000

static void
apply(csc_state *state, int32_t function_id, int32_t parent, const char *name,
      cascade_execution_status status, const char *full_output)
{
    hand_apply_under(state, function_id, parent, name, (uint32_t)function_id,
                     status, full_output);
}

/* Ended before the commit that found the cascade at `at`. */
static void
apply_ended(csc_state *state, int32_t function_id, int32_t parent,
            const char *name, int32_t at)
{
    char output[40];

    snprintf(output, sizeof(output), "{\"at\":%d}", at);
    apply(state, function_id, parent, name, COMPLETED, output);
}

static void
put(csc_state *state, int32_t function_id, const char *key)
{
    char value[40];
    static int number;

    snprintf(value, sizeof(value), "%d", number++);
    hand_put(state, function_id, key, value);
}

/* ---- Against the rule --------------------------------------------------- */

static uint32_t
below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (uint32_t)(*seed >> 33) % limit;
}

/* Nodes that have ended or run, steps of those that run, and joins. */
static void
apply_random(csc_state *s, uint64_t *seed, int32_t id)
{
    int32_t parent = (int32_t)below(seed, (uint32_t)id);
    const csc_exec *node = csc_view_find(s, parent);
    uint32_t kind = below(seed, 10);
    char after[100];
    int32_t first = (int32_t)below(seed, (uint32_t)id);

    if (kind < 4 && node != NULL && node->part == CSC_PART_NONE &&
        node->status == RUNNING)
        apply_ended(s, id, parent, CSC_STEP_PREFIX "s",
                    id + (int32_t)below(seed, 3));
    else if (kind < 8)
        apply_ended(s, id, 0, "n",
                    id + (int32_t)below(seed, below(seed, 2) != 0 ? 80 : 3));
    else if (kind < 9)
        apply(s, id, 0, "n", RUNNING, NULL);
    else {
        snprintf(after, sizeof(after), "{\"after\":[%d,%d,%d]}", first,
                 (first + id) / 2, id - 1);
        apply(s, id, 0, "n", RUNNING, after);
    }
}

static csc_state *
random_world(uint64_t *seed)
{
    csc_state *s = hand_fresh();

    apply(s, 0, CSC_NO_PARENT, "n", RUNNING, NULL);
    for (int32_t id = 1; id < WORLD_SIZE; id++)
        apply_random(s, seed, id);
    for (int i = 0; i < WORLD_SIZE; i++) {
        int32_t id = (int32_t)below(seed, WORLD_SIZE);

        if (csc_view_find(s, id)->status != RUNNING)
            put(s, id, "k");
    }
    return s;
}

/* What it sees before its place, or behind, asked of each event in turn. */
static size_t
ask_each(const csc_state *s, const csc_context *c, bool behind,
         const char **values)
{
    const csc_key *key = csc_events_key(s, "k");
    size_t count = 0;

    for (size_t i = 0; i < csc_tree_count(&key->events); i++) {
        const csc_event *e = csc_events_nth_event(key, i);
        bool own = e->parent == c->exec->function_id &&
                   csc_view_has(c->passed, e->when.function_id);

        if ((own || csc_view_sees(e, c->exec->place, &c->exec->seen)) &&
            (e->when.function_id >= c->exec->place) == behind)
            values[count++] = e->value;
    }
    return count;
}

static void
check_row(const csc_state *s, csc_context *c, bool behind, uint64_t *seed)
{
    const char *wanted[WORLD_SIZE];
    const char *values[WORLD_SIZE];
    size_t count = ask_each(s, c, behind, wanted);
    const char *last = csc_context_last(c, behind);

    assert_ptr_equal(last, count > 0 ? wanted[count - 1] : NULL);
    assert_int_equal(csc_context_count(c, behind), count);
    for (size_t nth = 0; nth <= count; nth++) {
        size_t limit = below(seed, WORLD_SIZE);
        size_t read = csc_context_read(c, behind, nth, limit, values);

        assert_int_equal(read, count - nth < limit ? count - nth : limit);
        for (size_t i = 0; i < read; i++)
            assert_ptr_equal(values[i], wanted[nth + i]);
    }
}

/* The node has passed its first parts, or a few of them. */
static void
check_world(const csc_state *s, uint64_t *seed)
{
    for (int32_t id = 0; id < WORLD_SIZE; id++) {
        const csc_exec *exec = csc_view_find(s, id);
        csc_ids passed = {0};
        uint32_t holes = below(seed, 3);
        csc_context c = {.exec = exec, .passed = &passed};
        size_t end = below(seed, (uint32_t)exec->parts.count + 1);

        if (exec->status != RUNNING)
            continue;
        for (size_t i = 0; i < end; i++)
            if (holes != 0 || below(seed, 2) != 0)
                assert_int_equal(
                    csc_state_add_id(&passed, exec->parts.items[i]),
                    CASCADE_OK);
        c.key = csc_events_key(s, "k");
        assert_int_equal(csc_context_open(&c), CASCADE_OK);
        check_row(s, &c, false, seed);
        check_row(s, &c, true, seed);
        csc_context_fini(&c);
        csc_mem_free(passed.items);
    }
}

static void
what_is_found_is_what_the_rule_says(void **unused)
{
    const char *given = getenv("CASCADE_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 20240229;

    (void)unused;
    print_message("context: CASCADE_TEST_SEED=%llu\n",
                  (unsigned long long)seed);
    for (int i = 0; i < WORLDS; i++) {
        csc_state *s = random_world(&seed);

        check_world(s, &seed);
        hand_done(s);
    }
}

/* ---- Looks -------------------------------------------------------------- */

static void
assert_few_looks(void)
{
    size_t looks = csc_count_looks();

    if (looks > LOOKS_MAX)
        print_error("%zu looks\n", looks);
    assert_true(looks <= LOOKS_MAX);
}

/* The last, the count, and ten from the middle: each within the bound. */
static void
look(csc_state *s, int32_t id, const csc_ids *passed, bool behind, size_t count)
{
    const char *values[10];
    csc_context c = {.exec = csc_view_find(s, id), .passed = passed};

    (void)csc_count_looks();
    c.key = csc_events_key(s, "k");
    assert_int_equal(csc_context_last(&c, behind) != NULL, count > 0);
    assert_few_looks();
    assert_int_equal(csc_context_open(&c), CASCADE_OK);
    assert_few_looks();
    assert_int_equal(csc_context_count(&c, behind), count);
    assert_int_equal(csc_context_read(&c, behind, count / 2, 10, values),
                     count - count / 2 < 10 ? count - count / 2 : 10);
    assert_few_looks();
    csc_context_fini(&c);
}

/* One after another, some of them ended late; and readers anywhere. */
static void
few_events_of_a_long_cascade_are_looked_at(void **unused)
{
    csc_state *s = hand_fresh();
    csc_ids none = {0};

    (void)unused;
    for (int32_t id = 0; id < MANY; id++) {
        bool reads = id % 5000 == 4999;

        if (reads)
            apply(s, id, 0, "n", RUNNING, NULL);
        else
            apply_ended(s, id, 0, "n", id % 1000 == 995 ? id + 8 : id);
        (void)csc_count_looks();
        if (!reads)
            put(s, id, "k");
        assert_few_looks();
    }
    for (int32_t id = 4999; id < MANY; id += 5000)
        look(s, id, &none, false, (size_t)(id - id / 5000 - 1));
    hand_done(s);
}

/* A straight line that is entered again: its steps are ahead of it. */
static void
few_events_of_a_long_line_are_looked_at(void **unused)
{
    csc_state *s = hand_fresh();
    csc_ids passed = {0};

    (void)unused;
    apply(s, 0, CSC_NO_PARENT, "n", RUNNING, NULL);
    for (int32_t id = 1; id <= MANY; id++) {
        apply_ended(s, id, 0, CSC_STEP_PREFIX "s", id);
        put(s, id, "k");
    }
    for (int32_t id = 1; id <= MANY; id++) {
        if (id % 5000 == 1)
            look(s, 0, &passed, true, (size_t)id - 1);
        assert_int_equal(csc_state_add_id(&passed, id), CASCADE_OK);
    }
    csc_mem_free(passed.items);
    hand_done(s);
}

/* Of very many that ran beside it and wrote later, a join sees two. */
static void
few_events_beside_a_join_are_looked_at(void **unused)
{
    csc_state *s = hand_fresh();
    csc_ids none = {0};

    (void)unused;
    for (int32_t id = 0; id < MANY; id++)
        apply_ended(s, id, 0, "n", MANY + 1);
    apply(s, MANY, 0, "n", RUNNING, "{\"after\":[1,2]}");
    for (int32_t id = 0; id < MANY; id++)
        put(s, id, "k");
    look(s, MANY, &none, false, 2);
    hand_done(s);
}

static void
one_of_many_keys_is_found(void **unused)
{
    csc_state *s = hand_fresh();
    char name[40];

    (void)unused;
    apply_ended(s, 0, CSC_NO_PARENT, "n", 0);
    for (int i = 0; i < MANY; i++) {
        (void)csc_count_looks();
        snprintf(name, sizeof(name), "key %d", MANY - i);
        put(s, 0, name);
        assert_few_looks();
    }
    assert_non_null(csc_events_key(s, name));
    assert_few_looks();
    hand_done(s);
}

/* An event that cannot be kept leaves the others as they were. */
static void
without_memory_an_event_changes_nothing(void **unused)
{
    csc_state *s = hand_fresh();
    const cascade_event_row row = {.cascade_id = s->id,
                                   .function_id = 0,
                                   .key = "k",
                                   .value = "1",
                                   .ui_value = "2"};
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    (void)unused;
    apply_ended(s, 0, CSC_NO_PARENT, "n", 0);
    for (size_t nth = 1; err != CASCADE_OK; nth++) {
        (void)csc_mem_fail_at(nth, 0);
        err = csc_events_apply_event(s, &row);
        (void)csc_mem_fail_at(0, 0);
        assert_true(err == CASCADE_OK || err == CASCADE_ERR_NO_MEMORY);
        if (csc_events_key(s, "k") != NULL)
            assert_int_equal(csc_tree_count(&csc_events_key(s, "k")->events),
                             err == CASCADE_OK ? 1 : 0);
    }
    hand_done(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_is_what_the_rule_says),
        cmocka_unit_test(few_events_of_a_long_cascade_are_looked_at),
        cmocka_unit_test(few_events_of_a_long_line_are_looked_at),
        cmocka_unit_test(few_events_beside_a_join_are_looked_at),
        cmocka_unit_test(one_of_many_keys_is_found),
        cmocka_unit_test(without_memory_an_event_changes_nothing),
    };

    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
