/* SPDX-License-Identifier: MIT
 *
 * Memory, its faults, and texts that grow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/mem.h"
#include "base/support.h"

static void
sizes_that_would_wrap_give_null(void **state)
{
    size_t half = SIZE_MAX / 2 + 1;
    void *items = NULL;
    size_t room = 0;

    (void)state;
    assert_null(csc_mem_zalloc(half, 2));
    assert_null(csc_mem_realloc(NULL, half, 2));
    assert_null(csc_mem_strndup("a", SIZE_MAX));
    assert_int_equal(csc_mem_grow(&items, &room, half, 4), -1);
    assert_int_equal(csc_mem_grow(&items, &room, SIZE_MAX, 1), -1);
    assert_null(items);
    assert_int_equal(room, 0);
}

static void
nothing_can_be_allocated_too(void **state)
{
    void *none[] = {csc_mem_alloc(0), csc_mem_zalloc(0, 8),
                    csc_mem_zalloc(8, 0), csc_mem_realloc(NULL, 0, 8)};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(none[i]);
        csc_mem_free(none[i]);
    }
    csc_mem_free(NULL);
    assert_null(csc_mem_strdup(NULL));
}

static void
copies_are_independent(void **state)
{
    char text[] = "text";
    char *whole = csc_mem_strdup(text);
    char *part = csc_mem_strndup(text, 2);

    (void)state;
    text[0] = 'n';
    assert_string_equal(whole, "text");
    assert_string_equal(part, "te");
    csc_mem_free(whole);
    csc_mem_free(part);
}

static void
growing_keeps_the_items(void **state)
{
    int *numbers = NULL;
    size_t room = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        void *items = numbers;

        assert_int_equal(
            csc_mem_grow(&items, &room, (size_t)i + 1, sizeof(*numbers)), 0);
        numbers = items;
        numbers[i] = i;
    }
    assert_int_equal(room, 1024);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], i);
    csc_mem_free(numbers);
}

static void
the_nth_allocation_fails(void **state)
{
    size_t live = csc_mem_live();
    void *first;
    void *third;

    (void)state;
    (void)csc_mem_fail_at(2, 0);
    first = csc_mem_alloc(1);
    assert_non_null(first);
    assert_null(csc_mem_zalloc(1, 1));
    third = csc_mem_strdup("x");
    assert_non_null(third);
    assert_int_equal(csc_mem_live(), live + 2);
    assert_int_equal(csc_mem_fail_at(1, 1), 3);
    assert_null(csc_mem_realloc(first, 2, 1)); /* first is as before */
    assert_null(csc_mem_alloc(1));
    assert_int_equal(csc_mem_fail_at(0, 0), 2);
    first = csc_mem_realloc(first, 100, 1);
    assert_non_null(first);
    assert_int_equal(csc_mem_live(), live + 2);
    csc_mem_free(first);
    csc_mem_free(third);
    assert_int_equal(csc_mem_live(), live);
}

/* ---- Texts -------------------------------------------------------------- */

static void
a_text_grows_by_all_means(void **state)
{
    csc_buf buf;
    char *text;

    (void)state;
    csc_buf_init(&buf);
    csc_buf_add(&buf, "abc", 2);
    csc_buf_add_text(&buf, "-");
    csc_buf_add_char(&buf, 'c');
    csc_buf_add_i64(&buf, -12);
    csc_buf_add_format(&buf, "%s%03d", "x", 7);
    csc_buf_add(&buf, NULL, 0);
    assert_string_equal(buf.data, "ab-c-12x007");
    assert_int_equal(buf.len, strlen(buf.data));
    text = csc_buf_take(&buf);
    assert_string_equal(text, "ab-c-12x007");
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    csc_mem_free(text);
    text = csc_buf_take(&buf);
    assert_string_equal(text, "");
    csc_mem_free(text);
}

static void
numbers_are_written_as_printf_does(void **state)
{
    static const int64_t table[] = {
        0, 1, -1, 9, 10, -10, 99, 100, INT64_MAX, INT64_MIN, INT64_MIN + 1,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        csc_buf buf = {0};
        char expected[32];

        (void)snprintf(expected, sizeof(expected), "%" PRId64, table[i]);
        csc_buf_add_i64(&buf, table[i]);
        assert_string_equal(buf.data, expected);
        csc_buf_fini(&buf);
    }
}

static void
a_text_grows_across_every_size(void **state)
{
    csc_buf buf = {0};

    (void)state;
    for (size_t i = 0; i < 5000; i++) {
        csc_buf_add_format(&buf, "%zu,", i % 10);
        assert_int_equal(buf.len, 2 * i + 2);
        assert_int_equal(buf.data[buf.len], '\0');
        assert_int_equal(buf.data[2 * i], '0' + (char)(i % 10));
    }
    assert_true(buf.len < buf.room);
    csc_buf_fini(&buf);
}

static void
a_text_grows_in_few_allocations(void **state)
{
    csc_buf buf = {0};

    (void)state;
    (void)csc_mem_fail_at(0, 0);
    for (size_t i = 0; i < 100000; i++)
        csc_buf_add_char(&buf, 'x');
    assert_in_range(csc_mem_fail_at(0, 0), 1, 20);
    csc_buf_fini(&buf);
}

static void
a_failure_is_remembered_until_it_is_cleared(void **state)
{
    csc_buf buf = {0};
    size_t live = csc_mem_live();

    (void)state;
    csc_buf_add_text(&buf, "kept");
    (void)csc_mem_fail_at(1, 0);
    csc_buf_add_format(&buf, "%200d", 1);
    (void)csc_mem_fail_at(0, 0);
    assert_true(buf.failed);
    csc_buf_add_text(&buf, "x");
    csc_buf_add_format(&buf, "x");
    assert_string_equal(buf.data, "kept");
    assert_null(csc_buf_take(&buf));
    assert_int_equal(csc_mem_live(), live);
    buf.failed = true;
    csc_buf_clear(&buf);
    assert_false(buf.failed);
    csc_buf_add_text(&buf, "again");
    csc_buf_clear(&buf);
    assert_string_equal(buf.data, "");
    csc_buf_add(&buf, "x", SIZE_MAX); /* would wrap */
    assert_true(buf.failed);
    csc_buf_fini(&buf);
    assert_false(buf.failed);
}

static void
texts_are_joined_in_an_arena(void **state)
{
    static const char none[] = "";
    char large[300];
    csc_arena arena = {0};

    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    assert_string_equal(csc_arena_join(&arena, "a", "", "bc", "d"), "abcd");
    assert_string_equal(csc_arena_join(&arena, none), "");
    assert_int_equal(strlen(csc_arena_join(&arena, large, "/", large)),
                     2 * (sizeof(large) - 1) + 1);
    csc_arena_fini(&arena);
    (void)csc_mem_fail_at(1, 0);
    assert_null(csc_arena_join(&arena, "a", "b"));
    (void)csc_mem_fail_at(0, 0);
    assert_true(arena.failed);
    csc_arena_fini(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_would_wrap_give_null),
        cmocka_unit_test(nothing_can_be_allocated_too),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(growing_keeps_the_items),
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(a_text_grows_by_all_means),
        cmocka_unit_test(numbers_are_written_as_printf_does),
        cmocka_unit_test(a_text_grows_across_every_size),
        cmocka_unit_test(a_text_grows_in_few_allocations),
        cmocka_unit_test(a_failure_is_remembered_until_it_is_cleared),
        cmocka_unit_test(texts_are_joined_in_an_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
