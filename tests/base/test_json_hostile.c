/* SPDX-License-Identifier: MIT
 *
 * Texts made to hurt: each is answered within a second or two even under the
 * sanitizers. A quadratic step over a mebibyte would take hours.
 */
#include <string.h>
#include <time.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/support.h"

#define MIB ((size_t)1 << 20)

/* Of processor time, so that a busy machine changes nothing; and far more than
 * a slow one takes under valgrind. */
#define SECONDS_MAX 60

static clock_t began;

static int
begin(void **state)
{
    (void)state;
    began = clock();
    return 0;
}

static int
end(void **state)
{
    (void)state;
    return (clock() - began) / CLOCKS_PER_SEC < SECONDS_MAX ? 0 : -1;
}

static void
a_mebibyte_of_opening_brackets_is_refused(void **state)
{
    char *arrays = support_repeat("[", MIB);
    char *objects = support_repeat("{\"a\":", MIB / 5);

    (void)state;
    support_refuses(arrays, MIB, CASCADE_ERR_JSON, "byte 128: nested more");
    support_refuses(objects, strlen(objects), CASCADE_ERR_JSON,
                    "nested more than 128 deep");
    csc_mem_free(arrays);
    csc_mem_free(objects);
}

static void
a_mebibyte_of_members_in_reverse_order_is_sorted(void **state)
{
    enum {
        COUNT = 95000
    };
    csc_buf text = {0};
    csc_buf expected = {0};

    (void)state;
    for (int i = COUNT; i > 0; i--)
        csc_buf_add_format(&text, "%c\"%06d\":1", i == COUNT ? '{' : ',', i);
    for (int i = 1; i <= COUNT; i++)
        csc_buf_add_format(&expected, "%c\"%06d\":1", i == 1 ? '{' : ',', i);
    csc_buf_add_char(&text, '}');
    csc_buf_add_char(&expected, '}');
    assert_true(text.len > MIB / 10 * 9);
    support_accepts(text.data, expected.data);
    csc_buf_fini(&text);
    csc_buf_fini(&expected);
}

static void
a_mebibyte_of_members_in_random_order_is_sorted(void **state)
{
    enum {
        COUNT = 90000
    };
    support_rng rng = support_rng_open("random_order");
    csc_buf text = {0};
    csc_buf once = {0};
    csc_buf twice = {0};

    (void)state;
    csc_buf_add_text(&text, "{\"\":0");
    for (unsigned i = 0; i < COUNT; i++)
        csc_buf_add_format(&text, ",\"%u%05u\":1",
                           (unsigned)support_rng_below(&rng, 10), i);
    csc_buf_add_char(&text, '}');
    assert_int_equal(csc_json_canon("x", text.data, text.len, 2 * MIB, &once),
                     CASCADE_OK);
    assert_int_equal(csc_json_canon("x", once.data, once.len, 2 * MIB, &twice),
                     CASCADE_OK);
    assert_string_equal(once.data, twice.data);
    csc_buf_fini(&text);
    csc_buf_fini(&once);
    csc_buf_fini(&twice);
}

/* The second makes every comparison unescape. */
static void
a_mebibyte_of_equal_keys_is_refused(void **state)
{
    char *adjacent = support_repeat("\"a\":1,", MIB / 6 - 1);
    char *escaped = support_repeat("\"\\n\":1,", MIB / 7 - 2);
    csc_buf text = {0};

    (void)state;
    csc_buf_add_format(&text, "{%s\"b\":1}", adjacent);
    support_refuses(text.data, text.len, CASCADE_ERR_JSON, "a key twice");
    csc_buf_clear(&text);
    csc_buf_add_format(&text, "{\"bb\":1,%s\"b\":1}", escaped);
    support_refuses(text.data, text.len, CASCADE_ERR_JSON, "a key twice");
    csc_buf_fini(&text);
    csc_mem_free(adjacent);
    csc_mem_free(escaped);
}

/* One equal pair among keys that differ in their last byte only. */
static void
long_keys_with_a_common_beginning_are_compared_in_time(void **state)
{
    char *common = support_repeat("\\n", 4000);
    csc_buf text = {0};

    (void)state;
    csc_buf_add_char(&text, '{');
    for (int i = 125; i > 0; i--)
        csc_buf_add_format(&text, "\"%s%03d\":1,", common, i);
    csc_buf_add_format(&text, "\"%s077\":1}", common);
    assert_true(text.len < MIB);
    support_refuses(text.data, text.len, CASCADE_ERR_JSON, "a key twice");
    csc_buf_fini(&text);
    csc_mem_free(common);
}

/* Each of 128 levels is out of order and holds the mebibyte below it. */
static void
unsorted_members_on_every_level_are_sorted_in_time(void **state)
{
    enum {
        LEVELS = 128
    };
    char *payload = support_repeat("x", MIB - 40 * LEVELS);
    csc_buf text = {0};
    csc_buf expected = {0};

    (void)state;
    for (int i = 0; i < LEVELS; i++) {
        csc_buf_add_text(&text, "{\"b\":");
        csc_buf_add_text(&expected, "{\"a\":1,\"b\":");
    }
    csc_buf_add_format(&text, "\"%s\"", payload);
    csc_buf_add_format(&expected, "\"%s\"", payload);
    for (int i = 0; i < LEVELS; i++) {
        csc_buf_add_text(&text, ",\"a\":1}");
        csc_buf_add_text(&expected, "}");
    }
    support_accepts(text.data, expected.data);
    csc_buf_fini(&text);
    csc_buf_fini(&expected);
    csc_mem_free(payload);
}

static void
numbers_that_would_explode_are_refused_at_the_limit(void **state)
{
    char *numbers = support_repeat("1e399,", MIB / 6 - 1);
    char *zeros = support_repeat("0", MIB - 20);
    csc_buf text = {0};

    (void)state;
    csc_buf_add_format(&text, "[%s0]", numbers);
    support_refuses(text.data, text.len, CASCADE_ERR_TOO_LARGE, "larger than");
    csc_buf_clear(&text);
    csc_buf_add_format(&text, "0.%s1", zeros);
    support_refuses(text.data, text.len, CASCADE_ERR_JSON, "400 digits");
    csc_buf_clear(&text);
    csc_buf_add_format(&text, "0.%s1e%zu", zeros, strlen(zeros) + 1);
    support_accepts(text.data, "1");
    csc_buf_fini(&text);
    csc_mem_free(numbers);
    csc_mem_free(zeros);
}

static void
random_bytes_are_refused_or_canonical(void **state)
{
    static const char bytes[] = "{}[]\",:\\u0019adetrulsn-+.eE \xc3\xa9\x01";
    support_rng rng = support_rng_open("random_bytes");

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[24];
        size_t len = support_rng_below(&rng, sizeof(text)) + 1;
        csc_buf once = {0};
        csc_buf twice = {0};

        for (size_t at = 0; at < len; at++)
            text[at] = bytes[support_rng_below(&rng, sizeof(bytes))];
        if (csc_json_canon("x", text, len, 1000, &once) == CASCADE_OK) {
            assert_int_equal(
                csc_json_canon("x", once.data, once.len, 1000, &twice),
                CASCADE_OK);
            assert_string_equal(once.data, twice.data);
        }
        csc_buf_fini(&once);
        csc_buf_fini(&twice);
    }
}

int
main(void)
{
#define HOSTILE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        HOSTILE(a_mebibyte_of_opening_brackets_is_refused),
        HOSTILE(a_mebibyte_of_members_in_reverse_order_is_sorted),
        HOSTILE(a_mebibyte_of_members_in_random_order_is_sorted),
        HOSTILE(a_mebibyte_of_equal_keys_is_refused),
        HOSTILE(long_keys_with_a_common_beginning_are_compared_in_time),
        HOSTILE(unsorted_members_on_every_level_are_sorted_in_time),
        HOSTILE(numbers_that_would_explode_are_refused_at_the_limit),
        HOSTILE(random_bytes_are_refused_or_canonical),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
