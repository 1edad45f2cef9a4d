/* SPDX-License-Identifier: MIT
 *
 * What an incarnation says about itself: written and read back, and what of it
 * counts where somebody else wrote it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/data/arena.h"
#include "base/mem.h"
#include "query/capabilities.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const nodes[] = {"charge", "ship:2"};
static const char *const queues[] = {"default"};

static void
what_is_said_is_canonical(void **state)
{
    const csc_about full = {.version = "1.2.3",
                            .brief = true,
                            .queues = queues,
                            .queue_count = 1,
                            .nodes = nodes,
                            .node_count = 2};
    const csc_about bare = {.version = "1.2.3"};
    char *text = csc_capabilities_encode(&full);

    (void)state;
    assert_string_equal(text, "{\"brief\":true,"
                              "\"nodes\":[\"charge\",\"ship:2\"],"
                              "\"queues\":[\"default\"],"
                              "\"version\":\"1.2.3\"}");
    csc_mem_free(text);
    text = csc_capabilities_encode(&bare);
    assert_string_equal(text, "{\"nodes\":[],\"queues\":[],"
                              "\"version\":\"1.2.3\"}");
    csc_mem_free(text);
}

static void
what_is_said_is_read_back(void **state)
{
    const csc_about said = {.version = "0.2.0",
                            .brief = true,
                            .queues = queues,
                            .queue_count = 1,
                            .nodes = nodes,
                            .node_count = 2};
    char *text = csc_capabilities_encode(&said);
    csc_arena arena = {0};
    csc_about read;

    (void)state;
    assert_true(csc_capabilities_decode(&arena, text, &read));
    csc_mem_free(text);
    assert_string_equal(read.version, "0.2.0");
    assert_true(read.brief);
    assert_int_equal(read.queue_count, 1);
    assert_string_equal(read.queues[0], "default");
    assert_int_equal(read.node_count, 2);
    assert_string_equal(read.nodes[0], "charge");
    assert_string_equal(read.nodes[1], "ship:2");
    csc_arena_fini(&arena);
}

static void
who_says_nothing_sensible_knows_nothing(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "{}",
        "[]",
        "null",
        "{\"nodes\":",
        "{\"brief\":1,\"nodes\":\"a\",\"queues\":{\"q\":\"q\"},\"version\":1}",
        "{\"nodes\":[],\"queues\":[1,null,[\"q\"]]}",
        "{\"version\":\"1\",\"version\":\"2\"}"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        csc_arena arena = {0};
        csc_about read;

        assert_true(csc_capabilities_decode(&arena, texts[i], &read));
        assert_string_equal(read.version, "");
        assert_false(read.brief);
        assert_int_equal(read.queue_count, 0);
        assert_int_equal(read.node_count, 0);
        csc_arena_fini(&arena);
    }
}

/* As a store gives it that keeps it as jsonb, and one of a later release. */
static void
blanks_and_unknown_members_do_no_harm(void **state)
{
    csc_arena arena = {0};
    csc_about read;

    (void)state;
    assert_true(
        csc_capabilities_decode(&arena,
                                "{\"nodes\": [\"a\", 7, \"b\"], "
                                "\"later\": {\"nodes\": []}, "
                                "\"queues\": [\"q\"], \"version\": \"9\"}",
                                &read));
    assert_int_equal(read.node_count, 2);
    assert_string_equal(read.nodes[1], "b");
    assert_string_equal(read.queues[0], "q");
    assert_string_equal(read.version, "9");
    csc_arena_fini(&arena);
}

static void
a_single_member_is_read(void **state)
{
    csc_arena arena = {0};
    const char *text = "{\"reason\": \"a \\\"b\\\"\", \"request\": 7}";

    (void)state;
    assert_string_equal(csc_capabilities_member(&arena, text, "reason"),
                        "a \"b\"");
    assert_string_equal(csc_capabilities_member(&arena, text, "request"), "");
    assert_string_equal(csc_capabilities_member(&arena, text, "other"), "");
    assert_string_equal(csc_capabilities_member(&arena, NULL, "reason"), "");
    assert_false(arena.failed);
    csc_arena_fini(&arena);
}

static void
running_out_of_memory_is_told(void **state)
{
    const char *text = "{\"nodes\":[\"a\",\"b\"],\"version\":\"1\"}";
    csc_about read = {0};
    size_t nth = 1;
    bool done = false;

    (void)state;
    for (; !done; nth++) {
        csc_arena arena = {0};

        (void)csc_mem_fail_at(nth, 0);
        done = csc_capabilities_decode(&arena, text, &read);
        (void)csc_mem_fail_at(0, 0);
        assert_int_equal(done, !arena.failed);
        if (done)
            assert_int_equal(read.node_count, 2);
        csc_arena_fini(&arena);
    }
    assert_true(nth > 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_canonical),
        cmocka_unit_test(what_is_said_is_read_back),
        cmocka_unit_test(who_says_nothing_sensible_knows_nothing),
        cmocka_unit_test(blanks_and_unknown_members_do_no_harm),
        cmocka_unit_test(a_single_member_is_read),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests_name("about", tests, NULL, NULL);
}
