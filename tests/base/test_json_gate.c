/* SPDX-License-Identifier: MIT
 *
 * The text gate: what it accepts and in what form, what it refuses and why, and
 * every limit at one less, at it, and at one more.
 */
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/support.h"

static void
values_come_out_in_canonical_form(void **state)
{
    static const char *const table[][2] = {
        {"{}", "{}"},
        {"[]", "[]"},
        {" \t\r\n[ 1 , 2 ] \n", "[1,2]"},
        {"true", "true"},
        {"false", "false"},
        {"null", "null"},
        {"\"\"", "\"\""},
        {"[[],{},[{}],{\"a\":[]}]", "[[],{},[{}],{\"a\":[]}]"},
        {"{\"bb\":1,\"a\":1e2,\"c\":-0,\"e\":1E-2}",
         "{\"a\":100,\"c\":0,\"e\":0.01,\"bb\":1}"},
        {"{ \"a\" : { \"c\" : 1 , \"b\" : [ ] } }",
         "{\"a\":{\"b\":[],\"c\":1}}"},
        {"\"\x7f/\xc2\x80\xf4\x8f\xbf\xbf\"",
         "\"\x7f/\xc2\x80\xf4\x8f\xbf\xbf\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_accepts(table[i][0], table[i][1]);
}

static void
numbers_are_written_out_as_numeric_prints_them(void **state)
{
    static const char *const table[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "0.0"},
        {"-0e0", "0"},
        {"0e5", "0"},
        {"0e-5", "0.00000"},
        {"-0.00e1", "0.0"},
        {"-0E+1073741822", "0"},
        {"1", "1"},
        {"-1", "-1"},
        {"1e2", "100"},
        {"1E+2", "100"},
        {"1e02", "100"},
        {"1E-2", "0.01"},
        {"1.50", "1.50"},
        {"1.0e2", "100"},
        {"1.23e1", "12.3"},
        {"1.000e1", "10.00"},
        {"1.5e0", "1.5"},
        {"0.5e1", "5"},
        {"0.05e1", "0.5"},
        {"0.0012e4", "12"},
        {"0.00e1", "0.0"},
        {"120e-1", "12.0"},
        {"120e-3", "0.120"},
        {"120e-4", "0.0120"},
        {"-12.5e-1", "-1.25"},
        {"123456789012345678901234567890.5",
         "123456789012345678901234567890.5"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_accepts(table[i][0], table[i][1]);
}

static void
strings_keep_only_the_escapes_of_jsonb(void **state)
{
    static const char *const table[][2] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\"\\u0008\\u000C\\u000a\\u000D\\u0009\"", "\"\\b\\f\\n\\r\\t\""},
        {"\"\\u0001\\u001F\\u000B\"", "\"\\u0001\\u001f\\u000b\""},
        {"\"\\u0022\\u005C\\u002f\"", "\"\\\"\\\\/\""},
        {"\"\\u0041\\u007f\\u00e9\\u20AC\"", "\"A\x7f\xc3\xa9\xe2\x82\xac\""},
        {"\"\\ud83d\\uDE00\"", "\"\xf0\x9f\x98\x80\""},
        {"\"\\ud800\\udc00\\udbff\\udfff\"",
         "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
        {"\"\\uffff\\ud7ff\\ue000\"",
         "\"\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_accepts(table[i][0], table[i][1]);
}

static void
members_are_ordered_by_length_and_then_bytes(void **state)
{
    static const char *const table[][2] = {
        {"{\"b\":1,\"aa\":2,\"a\":3,\"\":4}",
         "{\"\":4,\"a\":3,\"b\":1,\"aa\":2}"},
        /* unescaped: 0x0a is one byte and sorts before 'a' */
        {"{\"a\":1,\"\\n\":2,\"\\u0001\":3}",
         "{\"\\u0001\":3,\"\\n\":2,\"a\":1}"},
        /* escapes are longer as written, not unescaped */
        {"{\"bb\":1,\"\\u0001\\u0002\":2,\"\\\"\":3}",
         "{\"\\\"\":3,\"\\u0001\\u0002\":2,\"bb\":1}"},
        /* bytes are unsigned */
        {"{\"\xc3\xa9\":1,\"zz\":2,\"\x7f\x7f\":3}",
         "{\"zz\":2,\"\x7f\x7f\":3,\"\xc3\xa9\":1}"},
        {"{\"\\\\x\":1,\"\\\\\\n\":2}", "{\"\\\\\\n\":2,\"\\\\x\":1}"},
        {"{\"z\":{\"y\":{\"d\":1,\"c\":{\"b\":2,\"a\":3}},\"x\":0},\"w\":[]}",
         "{\"w\":[],\"z\":{\"x\":0,\"y\":{\"c\":{\"a\":3,\"b\":2},\"d\":1}}}"},
        {"[{\"b\":1,\"a\":2},{\"d\":3,\"c\":4}]",
         "[{\"a\":2,\"b\":1},{\"c\":4,\"d\":3}]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_accepts(table[i][0], table[i][1]);
}

/* The members beyond CSC_JSON_LOCAL_MEMBERS lie on the heap. */
static void
an_object_of_many_members_is_sorted(void **state)
{
    enum {
        COUNT = 1000
    };
    csc_buf text = {0};
    csc_buf expected = {0};

    (void)state;
    csc_buf_add_text(&text, "[{\"a\":1},{");
    csc_buf_add_text(&expected, "[{\"a\":1},{");
    for (int i = 0; i < COUNT; i++) {
        csc_buf_add_format(&text, "%s\"k%03d\":{\"b\":%d,\"a\":[1]}",
                           i > 0 ? "," : "", i * 7 % COUNT, i * 7 % COUNT);
        csc_buf_add_format(&expected, "%s\"k%03d\":{\"a\":[1],\"b\":%d}",
                           i > 0 ? "," : "", i, i);
    }
    csc_buf_add_text(&text, "},2]");
    csc_buf_add_text(&expected, "},2]");
    support_accepts(text.data, expected.data);
    csc_buf_fini(&text);
    csc_buf_fini(&expected);
}

static void
what_is_not_json_is_refused_with_its_place(void **state)
{
    static const char *const table[][2] = {
        {"", "byte 0: the text ends too early"},
        {" ", "byte 1: the text ends too early"},
        {"[", "byte 1: the text ends too early"},
        {"[1,", "byte 3: the text ends too early"},
        {"[1,]", "byte 3: no JSON value"},
        {"[,1]", "byte 1: no JSON value"},
        {"[1 2]", "byte 3: a comma or ] must follow"},
        {"[1}", "byte 2: a comma or ] must follow"},
        {"{\"a\":1]", "byte 6: a comma or } must follow"},
        {"{\"a\":1 \"b\":2}", "byte 7: a comma or } must follow"},
        {"{\"a\":1,}", "byte 7: no key"},
        {"{,}", "byte 1: no key"},
        {"{a:1}", "byte 1: no key"},
        {"{'a':1}", "byte 1: no key"},
        {"{1:1}", "byte 1: no key"},
        {"{\"a\"}", "byte 4: a colon must follow"},
        {"{\"a\" 1}", "byte 5: a colon must follow"},
        {"{\"a\":}", "byte 5: no JSON value"},
        {"{\"a\"", "byte 4: the text ends too early"},
        {"]", "byte 0: no JSON value"},
        {"1 2", "byte 2: something follows the value"},
        {"{}x", "byte 2: something follows the value"},
        {"null,", "byte 4: something follows the value"},
        {"truee", "byte 4: something follows the value"},
        {"tru", "byte 0: no JSON value"},
        {"True", "byte 0: no JSON value"},
        {"nulL", "byte 0: no JSON value"},
        {"NaN", "byte 0: no JSON value"},
        {"Infinity", "byte 0: no JSON value"},
        {"-Infinity", "byte 0: malformed number"},
        {"'a'", "byte 0: no JSON value"},
        {"/* */ 1", "byte 0: no JSON value"},
        {"1 // one", "byte 2: something follows"},
        {"\xef\xbb\xbf{}", "byte 0: it begins with a byte order mark"},
        {"\xc2\xa0"
         "1",
         "byte 0: no JSON value"},
        {"\v1", "byte 0: no JSON value"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_refuses(table[i][0], strlen(table[i][0]), CASCADE_ERR_JSON,
                        table[i][1]);
}

static void
malformed_numbers_are_refused(void **state)
{
    static const char *const table[] = {
        "01",    "-01", "00",  "+1",    ".5",    "1.",   "1.e1",
        "-",     "--1", "1e",  "1e+",   "1e-",   "1.5e", "0x10",
        "1_000", "1,5", "-.5", "1.2.3", "1e1.5", "1ee1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_refuses(table[i], strlen(table[i]), CASCADE_ERR_JSON, "byte");
}

static void
malformed_strings_are_refused(void **state)
{
    static const char *const table[][2] = {
        {"\"a", "byte 2: the text ends too early"},
        {"\"\\", "byte 2: the text ends too early"},
        {"\"\\\"", "byte 3: the text ends too early"},
        {"\"\\a\"", "byte 2: no such escape"},
        {"\"\\'\"", "byte 2: no such escape"},
        {"\"\\U0041\"", "byte 2: no such escape"},
        {"\"\\u004\"", "\\u needs four"},
        {"\"\\u00g0\"", "\\u needs four"},
        {"\"\\u+041\"", "\\u needs four"},
        {"\"\\u", "byte 3: the text ends too early"},
        {"\"\\u0000\"", "\\u0000 is not allowed"},
        {"\"\\ud800\"", "first half of a surrogate"},
        {"\"\\ud800x\"", "first half of a surrogate"},
        {"\"\\ud800\\n\"", "first half of a surrogate"},
        {"\"\\ud800\\ud800\"", "first half of a surrogate"},
        {"\"\\ud800\\u0041\"", "first half of a surrogate"},
        {"\"\\ud800\\udc0\"", "first half of a surrogate"},
        {"\"\\udc00\"", "second half of a surrogate"},
        {"\"\\udfff\\ud800\"", "second half of a surrogate"},
        {"\"\n\"", "byte 1: a control character"},
        {"\"\x01\"", "byte 1: a control character"},
        {"\"\x1f\"", "byte 1: a control character"},
        {"\"\x80\"", "byte 1: not valid UTF-8"},
        {"\"\xff\"", "byte 1: not valid UTF-8"},
        {"\"\xc0\x80\"", "byte 1: not valid UTF-8"},
        {"\"\xc1\xbf\"", "byte 1: not valid UTF-8"},
        {"\"\xe0\x9f\xbf\"", "byte 1: not valid UTF-8"},
        {"\"\xed\xa0\x80\"", "byte 1: not valid UTF-8"},
        {"\"\xed\xbf\xbf\"", "byte 1: not valid UTF-8"},
        {"\"\xf0\x8f\xbf\xbf\"", "byte 1: not valid UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "byte 1: not valid UTF-8"},
        {"\"\xf5\x80\x80\x80\"", "byte 1: not valid UTF-8"},
        {"\"a\xc3\"", "byte 2: not valid UTF-8"},
        {"\"\xe2\x82\"", "byte 1: not valid UTF-8"},
        {"\"\xe2\x82", "byte 1: not valid UTF-8"},
        {"\"\xf0\x9f\x98", "byte 1: not valid UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_refuses(table[i][0], strlen(table[i][0]), CASCADE_ERR_JSON,
                        table[i][1]);
}

static void
a_nul_byte_is_refused_everywhere(void **state)
{
    (void)state;
    support_refuses("\0", 1, CASCADE_ERR_JSON, "byte 0: no JSON value");
    support_refuses("{}\0", 3, CASCADE_ERR_JSON, "byte 2: something follows");
    support_refuses("\"a\0b\"", 5, CASCADE_ERR_JSON,
                    "byte 2: a control character");
    support_refuses("[\0]", 3, CASCADE_ERR_JSON, "byte 1: no JSON value");
    support_refuses("{\0}", 3, CASCADE_ERR_JSON, "byte 1: no key");
}

static void
equal_keys_are_refused_however_they_are_written(void **state)
{
    static const char *const table[] = {
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"b\":2,\"a\":3}",
        "{\"b\":1,\"a\":2,\"b\":3}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"\\n\":1,\"x\":2,\"\\u000A\":3}",
        "{\"\":1,\"\":2}",
        "{\"x\":{\"/\":1,\"\\/\":2}}",
        "[{\"\xc3\xa9\":1,\"z\":0,\"\\u00e9\":2}]",
        "{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":1}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_refuses(table[i], strlen(table[i]), CASCADE_ERR_JSON,
                        "has a key twice");
    support_accepts("{\"a\":{\"a\":{\"a\":1}},\"A\":2}",
                    "{\"A\":2,\"a\":{\"a\":{\"a\":1}}}");
}

/* `depth` containers, arrays and objects in turn. */
static char *
nested(size_t depth)
{
    csc_buf text = {0};

    for (size_t i = 0; i < depth; i++)
        csc_buf_add_text(&text, i % 2 == 0 ? "[" : "{\"a\":");
    csc_buf_add_text(&text, depth % 2 == 0 ? "1" : "");
    for (size_t i = depth; i > 0; i--)
        csc_buf_add_text(&text, (i - 1) % 2 == 0 ? "]" : "}");
    return csc_buf_take(&text);
}

static void
the_depth_is_limited_to_128(void **state)
{
    (void)state;
    for (size_t depth = 127; depth <= 129; depth++) {
        char *text = nested(depth);

        if (depth <= CSC_JSON_DEPTH_MAX)
            support_accepts(text, text);
        else
            support_refuses(text, strlen(text), CASCADE_ERR_JSON,
                            "more than 128 deep");
        csc_mem_free(text);
    }
}

/* Numbers that take `digits` digits written out, in each way to say so. */
static void
check_digits(size_t digits, bool accepted)
{
    char *nines = support_repeat("9", digits);
    csc_buf text[6] = {{0}};

    csc_buf_add_text(&text[0], nines);
    csc_buf_add_format(&text[1], "-%s", nines);
    csc_buf_add_format(&text[2], "9.%s", nines + 1);
    csc_buf_add_format(&text[3], "-5e%zu", digits - 1);
    csc_buf_add_format(&text[4], "1e-%zu", digits - 1);
    csc_buf_add_format(&text[5], "[12.5e%zu]", digits - 2);
    for (size_t i = 0; i < 6; i++) {
        csc_buf out = {0};
        const char *given = text[i].data;
        cascade_err err =
            csc_json_canon("n", given, strlen(given), SIZE_DEFAULT, &out);

        if ((err == CASCADE_OK) != accepted)
            fail_msg("%zu digits: %s", digits, given);
        if (!accepted)
            support_refuses(given, strlen(given), CASCADE_ERR_JSON,
                            "more than 400 digits");
        csc_buf_fini(&out);
        csc_buf_fini(&text[i]);
    }
    csc_mem_free(nines);
}

static void
numbers_are_limited_to_400_digits_written_out(void **state)
{
    static const char *const table[] = {
        "1e400",
        "1e131071",
        "1e-500",
        "1e-400",
        "1e999999999999999",
        "1e-99999999999999999999999",
        "0e-400",
        "0e1073741823",
        "0e99999999999999999999999",

        "-0e-1000000000000",
        "9223372036854775807e9223372036854775807",
    };

    (void)state;
    check_digits(399, true);
    check_digits(400, true);
    check_digits(401, false);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        support_refuses(table[i], strlen(table[i]), CASCADE_ERR_JSON,
                        "more than 400 digits");
}

/* A text of `len` bytes that stays as long, and one that grows to it. */
static void
the_size_is_limited_before_and_after(void **state)
{
    enum {
        MAX = 1000
    };
    char *a = support_repeat("a", MAX);

    (void)state;
    for (int size = MAX - 1; size <= MAX + 1; size++) {
        cascade_err expected = size <= MAX ? CASCADE_OK : CASCADE_ERR_TOO_LARGE;
        csc_buf text = {0};
        csc_buf grown = {0};
        csc_buf blank = {0};
        csc_buf out = {0};

        csc_buf_add_format(&text, "\"%.*s\"", size - 2, a);
        csc_buf_add_format(&grown, "[1e99,1e299,1e299,\"%.*s\"]", size - 707,
                           a);
        csc_buf_add_format(&blank, "1%*s", size - 1, "");
        assert_int_equal(csc_json_canon("x", text.data, text.len, MAX, &out),
                         expected);
        assert_int_equal(csc_json_canon("x", grown.data, grown.len, MAX, &out),
                         expected);
        assert_int_equal(csc_json_canon("x", blank.data, blank.len, MAX, &out),
                         expected);
        assert_int_equal(out.len, expected == CASCADE_OK ? 2 * size + 1 : 0);
        csc_buf_fini(&text);
        csc_buf_fini(&grown);
        csc_buf_fini(&blank);
        csc_buf_fini(&out);
    }
    csc_mem_free(a);
}

static void
the_error_names_the_payload_and_never_shows_it(void **state)
{
    const char *text = "{\"secret\":\"hunter2\",\"secret\":1}";
    csc_buf out = {0};

    (void)state;
    assert_int_equal(
        csc_json_canon("value of key", text, strlen(text), 1000, &out),
        CASCADE_ERR_JSON);
    assert_non_null(strstr(cascade_errmsg(), "value of key: "));
    assert_null(strstr(cascade_errmsg(), "secret"));
    assert_null(strstr(cascade_errmsg(), "hunter2"));
    csc_buf_fini(&out);
}

static void
texts_are_appended_to_what_the_buffer_holds(void **state)
{
    csc_buf out = {0};

    (void)state;
    csc_buf_add_text(&out, "{\"zz\":1,");
    assert_int_equal(csc_json_canon("x", "{\"b\":1,\"a\":2}", 13, 13, &out),
                     CASCADE_OK);
    assert_string_equal(out.data, "{\"zz\":1,{\"a\":2,\"b\":1}");
    out.failed = true;
    assert_int_equal(csc_json_canon("x", "1", 1, 13, &out),
                     CASCADE_ERR_NO_MEMORY);
    assert_true(out.failed);
    csc_buf_fini(&out);
}

/* Fails each allocation in turn until one run meets no more of them. */
static size_t
sweep(const char *text, int sticky)
{
    size_t live = csc_mem_live();
    size_t nth = 1;

    for (bool done = false; !done; nth++) {
        csc_buf out = {0};
        cascade_err err;

        csc_buf_add_text(&out, "before");
        (void)csc_mem_fail_at(nth, sticky);
        err = csc_json_canon("x", text, strlen(text), SIZE_DEFAULT, &out);
        done = csc_mem_fail_at(0, 0) < nth;
        assert_int_equal(err, done ? CASCADE_OK : CASCADE_ERR_NO_MEMORY);
        if (!done)
            assert_string_equal(out.data, "before");
        assert_false(out.failed);
        csc_buf_fini(&out);
        assert_int_equal(csc_mem_live(), live);
    }
    return nth - 2; /* allocations of a run */
}

static void
a_failed_allocation_leaves_the_output_as_it_was(void **state)
{
    csc_buf text = {0};

    (void)state;
    csc_buf_add_text(&text, "{\"b\":1,\"a\":[\"\\u00e9\"],\"c\":{");
    for (int i = 500; i > 0; i--)
        csc_buf_add_format(&text, "\"%d\":{\"b\":1,\"a\":2},", i);
    csc_buf_add_text(&text, "\"z\":1e300}}");
    assert_true(sweep(text.data, 0) >= 5);
    assert_true(sweep(text.data, 1) >= 5);
    /* nothing but the buffer notices */
    csc_buf_clear(&text);
    csc_buf_add_format(&text, "[%0*d]", 300, 0);
    text.data[1] = '1';
    assert_true(sweep(text.data, 0) >= 1);
    csc_buf_fini(&text);
}

/* That is the case of nearly every text the engine handles. */
static void
canonical_text_needs_no_allocation_but_the_output(void **state)
{
    const char *text =
        "{\"a\":[1,2.50,{\"b\":null,\"cc\":\"x\\ny\"}],\"bb\":{}}";
    csc_buf out = {0};

    (void)state;
    assert_int_equal(csc_json_canon("x", text, strlen(text), 100, &out),
                     CASCADE_OK);
    assert_string_equal(out.data, text);
    csc_buf_clear(&out);
    (void)csc_mem_fail_at(0, 0);
    assert_int_equal(csc_json_canon("x", text, strlen(text), 100, &out),
                     CASCADE_OK);
    assert_int_equal(csc_mem_fail_at(0, 0), 0);
    csc_buf_fini(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_out_in_canonical_form),
        cmocka_unit_test(numbers_are_written_out_as_numeric_prints_them),
        cmocka_unit_test(strings_keep_only_the_escapes_of_jsonb),
        cmocka_unit_test(members_are_ordered_by_length_and_then_bytes),
        cmocka_unit_test(an_object_of_many_members_is_sorted),
        cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
        cmocka_unit_test(malformed_numbers_are_refused),
        cmocka_unit_test(malformed_strings_are_refused),
        cmocka_unit_test(a_nul_byte_is_refused_everywhere),
        cmocka_unit_test(equal_keys_are_refused_however_they_are_written),
        cmocka_unit_test(the_depth_is_limited_to_128),
        cmocka_unit_test(numbers_are_limited_to_400_digits_written_out),
        cmocka_unit_test(the_size_is_limited_before_and_after),
        cmocka_unit_test(the_error_names_the_payload_and_never_shows_it),
        cmocka_unit_test(texts_are_appended_to_what_the_buffer_holds),
        cmocka_unit_test(a_failed_allocation_leaves_the_output_as_it_was),
        cmocka_unit_test(canonical_text_needs_no_allocation_but_the_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
