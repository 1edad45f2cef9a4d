/* SPDX-License-Identifier: MIT
 *
 * Reading canonical text in place: the iterator, members, spans, and the
 * string helpers.
 */
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/support.h"

static csc_json_span
span(const char *text)
{
    return (csc_json_span){text, strlen(text)};
}

/* "key=value;" for each member. */
static void
check_walk(const char *text, const char *expected)
{
    csc_json_iter iter;
    csc_buf seen = {0};

    csc_buf_add_text(&seen, "");
    csc_json_read_iter_init(&iter, text, strlen(text));
    while (csc_json_read_next(&iter)) {
        csc_buf_add(&seen, iter.key.data, iter.key.len);
        csc_buf_add_char(&seen, '=');
        csc_buf_add(&seen, iter.value.data, iter.value.len);
        csc_buf_add_char(&seen, ';');
    }
    assert_false(csc_json_read_next(&iter));
    assert_string_equal(seen.data, expected);
    csc_buf_fini(&seen);
}

static void
the_iterator_walks_members_and_elements(void **state)
{
    static const char *const table[][2] = {
        {"{}", ""},
        {"[]", ""},
        {"1", ""},
        {"\"{}\"", ""},
        {"", ""},
        {"{\"a\":1}", "a=1;"},
        {"{\"\":\"\",\"a\":null,\"bb\":[1,{\"c\":2}]}",
         "=\"\";a=null;bb=[1,{\"c\":2}];"},
        {"[1,\"x\",[],{},[[]],{\"a\":[1,2]},true]",
         "=1;=\"x\";=[];={};=[[]];={\"a\":[1,2]};=true;"},
        {"{\"\\\"}\":\"]},\\\\\",\"b\\\\\":\"\\\"\"}",
         "\\\"}=\"]},\\\\\";b\\\\=\"\\\"\";"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        check_walk(table[i][0], table[i][1]);
}

/* Exact copies on the heap, so that the address sanitizer sees a step too far.
 */
static void
every_step_is_bounded_by_the_end(void **state)
{
    const char *text = "{\"a\\u0001\":[1,\"b\\n\"],\"\\\"\":{\"c\":true}}";

    (void)state;
    for (size_t len = 0; len <= strlen(text); len++) {
        char *cut = csc_mem_strndup(text, len);
        csc_json_iter iter;
        csc_json_span value;

        csc_json_read_iter_init(&iter, cut, len);
        while (csc_json_read_next(&iter)) {
            char *copy = NULL;

            (void)csc_json_read_text(iter.value, &copy);
            csc_mem_free(copy);
        }
        (void)csc_json_read_member(cut, "zz", &value);
        cJSON_Delete(csc_json_tree_parse(cut));
        csc_mem_free(cut);
    }
}

static void
a_member_is_found_by_its_unescaped_key(void **state)
{
    const char *text =
        "{\"\":0,\"\\n\":1,\"a\":2,\"\\\"x\":3,\"aa\":{\"b\":4}}";
    static const char *const keys[] = {"", "\n", "a", "\"x", "aa"};
    static const char *const values[] = {"0", "1", "2", "3", "{\"b\":4}"};
    static const char *const missing[] = {"b", "\\n", "n", "aaa", "\"", "A"};
    csc_json_span value = {NULL, 0};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_true(csc_json_read_member(text, keys[i], &value));
        assert_true(csc_json_read_is(value, values[i]));
    }
    for (size_t i = 0; i < 6; i++)
        assert_false(csc_json_read_member(text, missing[i], &value));
    assert_false(csc_json_read_member("[\"a\"]", "a", &value));
    assert_false(csc_json_read_member("[1]", "", &value));
    assert_false(csc_json_read_member("\"a\"", "a", &value));
}

static void
integers_are_read_up_to_their_limits(void **state)
{
    static const struct {
        const char *text;
        int64_t number;
    } table[] = {
        {"0", 0},
        {"-1", -1},
        {"42", 42},
        {"9223372036854775806", INT64_MAX - 1},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807", INT64_MIN + 1},
        {"-9223372036854775808", INT64_MIN},
    };
    static const char *const none[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
        "1.0",
        "1.5",
        "",
        "-",
        "\"1\"",
        "true",
        "1e2",
        "+1",
        " 1",
    };
    int64_t number = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        assert_true(csc_json_read_i64(span(table[i].text), &number));
        assert_true(number == table[i].number);
    }
    number = 77;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(csc_json_read_i64(span(none[i]), &number));
    assert_int_equal(number, 77);
}

static void
texts_are_unescaped(void **state)
{
    static const char *const table[][2] = {
        {"\"\"", ""},
        {"\"abc\"", "abc"},
        {"\"\\\"\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0001\\u001f\\u000b\"", "\x01\x1f\x0b"},
        {"\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80"},
    };
    static const char *const none[] = {"1", "null", "{}", "[\"a\"]", ""};
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        assert_true(csc_json_read_text(span(table[i][0]), &text));
        assert_string_equal(text, table[i][1]);
        csc_mem_free(text);
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(csc_json_read_text(span(none[i]), &text));
    (void)csc_mem_fail_at(1, 0);
    assert_true(csc_json_read_text(span("\"a\""), &text));
    (void)csc_mem_fail_at(0, 0);
    assert_null(text);
}

static void
a_span_is_compared_as_a_whole(void **state)
{
    (void)state;
    assert_true(csc_json_read_is(span("true"), "true"));
    assert_false(csc_json_read_is(span("true"), "tru"));
    assert_false(csc_json_read_is(span("tru"), "true"));
    assert_false(csc_json_read_is(span("\"a\""), "a"));
}

/* Every byte but NUL, through our writer, the gate and our reader. */
static void
an_added_string_reads_back_the_same(void **state)
{
    (void)state;
    for (unsigned code = 1; code < 0x80; code++) {
        const char text[] = {'x', (char)code, (char)code, '\0'};
        csc_buf out = {0};
        char *back = NULL;

        csc_json_add_string(&out, text);
        support_accepts(out.data, out.data);
        assert_true(
            csc_json_read_text((csc_json_span){out.data, out.len}, &back));
        assert_string_equal(back, text);
        csc_mem_free(back);
        csc_buf_fini(&out);
    }
}

static void
utf8_is_checked_by_the_rules_of_rfc_3629(void **state)
{
    static const char *const valid[] = {
        "",
        "a",
        "\x7f",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
    };
    static const char *const invalid[] = {
        "\x80",
        "\xbf",
        "\xc0\xaf",
        "\xc1\xbf",
        "\xc2",
        "\xc2\x7f",
        "\xc2\xc0",
        "\xe0\x9f\xbf",
        "\xe0\xa0",
        "\xe1\x80\x7f",
        "\xed\xa0\x80",
        "\xef\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf0\x90\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xfe",
        "\xff",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
        assert_true(csc_json_utf8_is(valid[i], strlen(valid[i])));
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
        assert_false(csc_json_utf8_is(invalid[i], strlen(invalid[i])));
    assert_false(csc_json_utf8_is("a\0b", 3));
    /* the rest of a character lies behind the end */
    assert_false(csc_json_utf8_is("abc\xc3\xa9", 4));
    assert_false(csc_json_utf8_is("a\xf0\x9f\x98\x80", 4));
}

/* All two-byte and many three- and four-byte beginnings against a plain
 * decoder that knows nothing of tables. */
static bool
decodes(const unsigned char *at, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = at[0] >= 0xf8   ? 0
                  : at[0] >= 0xf0 ? 4
                  : at[0] >= 0xe0 ? 3
                  : at[0] >= 0xc0 ? 2
                                  : 0;
    uint32_t code;

    if (need != len)
        return false;
    code = at[0] & (0x7fu >> need);
    for (size_t i = 1; i < len; i++) {
        if (at[i] >> 6 != 2)
            return false;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code >= least[len] && code <= 0x10ffff &&
           (code < 0xd800 || code > 0xdfff);
}

static void
utf8_agrees_with_a_plain_decoder(void **state)
{
    static const unsigned char third[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff};

    (void)state;
    for (unsigned first = 0x80; first <= 0xff; first++) {
        for (unsigned second = 0; second <= 0xff; second++) {
            for (size_t i = 0; i < 36; i++) {
                unsigned char bytes[4] = {(unsigned char)first,
                                          (unsigned char)second, third[i / 6],
                                          third[i % 6]};

                for (size_t len = 2; len <= 4; len++) {
                    /* a shorter sequence followed by another character */
                    if (memchr(bytes + 1, 0x00, len - 1) != NULL ||
                        memchr(bytes + 1, 0x7f, len - 1) != NULL)
                        continue;
                    if (len > 2 && decodes(bytes, 2))
                        continue;
                    if (len > 3 && decodes(bytes, 3))
                        continue;
                    assert_int_equal(csc_json_utf8_is((const char *)bytes, len),
                                     decodes(bytes, len));
                }
            }
        }
    }
}

/* The text that is made of `bytes`, with room for `max` bytes as JSON. */
static void
check_clean(const char *bytes, size_t len, size_t max, bool whole,
            const char *expected)
{
    csc_buf text = {0};

    csc_buf_add(&text, "", 0);
    assert_int_equal(csc_json_utf8_clean(&text, bytes, len, max), whole);
    assert_string_equal(text.data, expected);
    assert_true(csc_json_utf8_is(text.data, text.len));
    csc_buf_fini(&text);
}

static void
any_bytes_become_utf8_of_bounded_length(void **state)
{
    (void)state;
    check_clean(NULL, 0, 0, true, "");
    check_clean("a\xc3\xa4\"", 4, 5, true, "a\xc3\xa4\"");
    check_clean("a\xc3\xa4\"", 4, 4, false, "a\xc3\xa4");
    check_clean("a\xc3\xa4", 3, 2, false, "a");
    check_clean("\0\n\x01", 3, 11, true, "\xef\xbf\xbd\n\x01");
    check_clean("\0\n\x01", 3, 10, false, "\xef\xbf\xbd\n");
    check_clean("\0\n", 2, 2, false, "");
    /* A surrogate, an overlong form, a cut sequence: byte by byte. */
    check_clean("\xed\xa0\x80", 3, 9, true,
                "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check_clean("\xc0\x80z", 3, 99, true, "\xef\xbf\xbd\xef\xbf\xbdz");
    check_clean("z\xf0\x9f", 3, 99, true, "z\xef\xbf\xbd\xef\xbf\xbd");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_iterator_walks_members_and_elements),
        cmocka_unit_test(every_step_is_bounded_by_the_end),
        cmocka_unit_test(a_member_is_found_by_its_unescaped_key),
        cmocka_unit_test(integers_are_read_up_to_their_limits),
        cmocka_unit_test(texts_are_unescaped),
        cmocka_unit_test(a_span_is_compared_as_a_whole),
        cmocka_unit_test(an_added_string_reads_back_the_same),
        cmocka_unit_test(utf8_is_checked_by_the_rules_of_rfc_3629),
        cmocka_unit_test(utf8_agrees_with_a_plain_decoder),
        cmocka_unit_test(any_bytes_become_utf8_of_bounded_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
