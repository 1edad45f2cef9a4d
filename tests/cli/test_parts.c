/* SPDX-License-Identifier: MIT
 *
 * The parts of the `cascade` command that turn one text into another: times and
 * durations, texts made harmless, their widths, JSON cut into its parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cascade/cascade.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "text/moment.h"
#include "text/scan.h"
#include "text/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
durations_are_short(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0ms"},          {999, "999ms"},
        {1000, "1.0s"},      {1299, "1.2s"},
        {59999, "59.9s"},    {60000, "1m00s"},
        {184000, "3m04s"},   {3599999, "59m59s"},
        {3600000, "1h00m"},  {86399999, "23h59m"},
        {86400000, "1d00h"}, {273600000, "3d04h"},
        {-1500, "-1.5s"},    {INT64_MIN, "-106751991167d07h"},
    };
    char text[MOMENT_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(moment_duration(cases[i].ms, text), cases[i].text);
}

static void
durations_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0", 0},           {"250ms", 250},     {"90s", 90000},
        {"5m", 300000},     {"2h", 7200000},    {"7d", 604800000},
        {"2w", 1209600000}, {"1h30m", 5400000}, {"36600d", 3162240000000},
    };
    static const char *const bad[] = {"",          "1",
                                      "s",         "1x",
                                      "-1s",       "1.5s",
                                      " 1s",       "1s ",
                                      "00",        "1ss",
                                      "36601d",    "9999999999999999s",
                                      "36600d1ms", "99999999999999999999s"};
    int64_t ms = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(moment_read_duration(cases[i].text, &ms));
        assert_int_equal(ms, cases[i].ms);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(moment_read_duration(bad[i], &ms));
}

static void
times_are_utc(void **state)
{
    char text[MOMENT_SIZE];

    (void)state;
    assert_string_equal(moment_text(0, text), "1970-01-01T00:00:00Z");
    assert_string_equal(moment_text(-1, text), "1969-12-31T23:59:59Z");
    assert_string_equal(moment_exact(-1, text), "1969-12-31T23:59:59.999Z");
    assert_string_equal(moment_exact(1769847300123, text),
                        "2026-01-31T08:15:00.123Z");
    assert_string_equal(moment_text(CASCADE_TIME_NONE, text), "-");
    assert_string_equal(moment_exact(INT64_MAX, text),
                        "292278994-08-17T07:12:55.807Z");
}

static void
texts_are_made_harmless(void **state)
{
    static const struct {
        const char *text;
        const char *people;
        const char *json;
    } cases[] = {
        {"plain \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80",
         "plain \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80",
         "plain \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80"},
        {"a\nb\tc\033[1m\r", "a\\nb\\tc\\x1b[1m\\x0d",
         "a\\u000ab\\u0009c\\u001b[1m\\u000d"},
        {"\x7f \xc2\x9b \xe2\x80\xae \xe2\x81\xa6 \xef\xbb\xbf",
         "\\x7f \\u009b \\u202e \\u2066 \\ufeff",
         "\\u007f \\u009b \\u202e \\u2066 \\ufeff"},
        /* no UTF-8: a lone byte, cut short, overlong, a surrogate, too high */
        {"\xff\x80 \xc3", "\\xff\\x80 \\xc3", "\\ufffd\\ufffd \\ufffd"},
        {"\xc0\xaf", "\\xc0\\xaf", "\\ufffd\\ufffd"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80",
         "\\ufffd\\ufffd\\ufffd\\ufffd"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *json = NULL;
        size_t len = 0;
        FILE *stream = open_memstream(&json, &len);
        char *people = text_escaped(cases[i].text);
        assert_non_null(stream);
        text_write_json(stream, cases[i].text);
        assert_int_equal(fclose(stream), 0);
        assert_string_equal(people, cases[i].people);
        assert_string_equal(json, cases[i].json);
        free(people);
        free(json);
    }
}

/* The UTF-8 of a code point. */
static void
encode(uint32_t point, char text[5])
{
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    memset(text, 0, 5);
    for (size_t i = len; i-- > 1; point >>= 6)
        text[i] = (char)(0x80 | (point & 0x3f));
    text[0] = (char)(len == 1 ? point : ((0xf00u >> len) & 0xffu) | point);
}

static char *
escaped_point(uint32_t point)
{
    char text[5];
    char *escaped = NULL;

    encode(point, text);
    escaped = text_escaped(text);
    assert_non_null(escaped);
    return escaped;
}

static void
what_shows_nothing_is_made_visible(void **state)
{
    static const uint32_t ranges[][2] = {
        {0x80, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},
        {0x61c, 0x61c},     {0x115f, 0x1160},   {0x180b, 0x180e},
        {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},
        {0x3000, 0x3000},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff9, 0xfffb},
        {0xe0000, 0xe007f}, {0xe0100, 0xe01ef},
    };
    static const uint32_t shown[] = {0x20,   0xa1,   0xe9,   0x4e2d,
                                     0xfe10, 0xfffd, 0x1f600};
    char expected[16];

    (void)state;
    for (size_t i = 0; i < COUNT(ranges); i++)
        for (uint32_t at = ranges[i][0]; at <= ranges[i][1]; at++) {
            char *escaped = escaped_point(at);
            snprintf(expected, sizeof(expected),
                     at < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)at);
            assert_string_equal(escaped, expected);
            free(escaped);
        }
    for (size_t i = 0; i < COUNT(shown); i++) {
        char *escaped = escaped_point(shown[i]);
        encode(shown[i], expected);
        assert_string_equal(escaped, expected);
        free(escaped);
    }
}

/* Each pair was alike on a terminal once. */
static void
texts_that_differ_look_different(void **state)
{
    static const char *const pairs[][2] = {
        {"a\nb", "a\\nb"},
        {"\033[1m", "\\x1b[1m"},
        {"\xe2\x80\xae", "\\u202e"},
        {"ann", "ann\xe2\x80\x8b"},
        {"ann", "a\xc2\xadnn"},
        {"\xc2\x9b", "\x9b"},
        {"\\", "\\\\"},
        {"a b", "a\xc2\xa0"
                "b"},
        {"\xf3\xa0\x81\x81", "\xee\x80\x84"
                             "1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char *one = text_escaped(pairs[i][0]);
        char *other = text_escaped(pairs[i][1]);
        assert_string_not_equal(one, other);
        free(one);
        free(other);
    }
}

/* The meaning of a payload is not changed: escapes of JSON alone are added. */
static void
a_payload_stays_json(void **state)
{
    char *json = text_escaped_json(
        "{\"a\\n\":\"\\\\u202e \xe2\x80\xae \xf3\xa0\x81\x81\"}");

    (void)state;
    assert_string_equal(json,
                        "{\"a\\n\":\"\\\\u202e \\u202e \\udb40\\udc41\"}");
    free(json);
}

static void
widths_are_those_of_a_terminal(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("abc"), 3);
    assert_int_equal(text_width("Zo\xc3\xab"), 3);
    assert_int_equal(text_width("Zoe\xcc\x88"), 3); /* a combining mark */
    assert_int_equal(text_width("\xe4\xb8\xad\xe6\x96\x87"), 4);
}

static void
an_address_is_not_repeated(void **state)
{
    (void)state;
    assert_string_equal(text_shown("nonsense"), "nonsense");
    assert_string_equal(text_shown("postgresql://a:b@c/d"), "(an address)");
    assert_string_equal(text_shown("host=a password=b"), "(an address)");
    /* with a mistake in it */
    assert_string_equal(text_shown("postgres:/a:b@c/d"), "(an address)");
    assert_string_equal(text_shown("//a:b@c/d"), "(an address)");
    assert_string_equal(text_shown("host=a pasword=b"), "(an address)");
    assert_string_equal(text_shown("PassWord b"), "(an address)");
    assert_string_equal(text_shown("a:b"), "(an address)");
}

/* The whole of a part is that text. */
static void
check_value(const struct scan_part *part, const char *text)
{
    assert_int_equal(part->value_len, strlen(text));
    assert_int_equal(strncmp(part->value, text, strlen(text)), 0);
}

static void
json_is_cut_into_its_parts(void **state)
{
    static const char object[] =
        "{\"a\":[1,[2,3],\"],\"],\"b\\\"}\":{\"c\":1e400},\"d\":null}";
    const char *at = object;
    struct scan_part part;

    (void)state;
    assert_int_equal(scan_value(object), strlen(object));
    assert_int_equal(scan_count(object), 3);
    assert_true(scan_next(&at, &part));
    assert_int_equal(part.name_len, 1);
    assert_int_equal(*part.name, 'a');
    check_value(&part, "[1,[2,3],\"],\"]");
    assert_int_equal(scan_count(part.value), 3);
    assert_true(scan_next(&at, &part));
    assert_int_equal(part.name_len, 4);
    check_value(&part, "{\"c\":1e400}");
    assert_true(scan_next(&at, &part));
    check_value(&part, "null");
    assert_false(scan_next(&at, &part));
}

static void
json_without_an_end_is_no_value(void **state)
{
    static const char *const bad[] = {"{", "[1,2", "{\"a\":\"", "\"\\", ""};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(scan_value(bad[i]), 0);
    assert_int_equal(scan_count("{}"), 0);
    assert_int_equal(scan_count("[]"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_short),
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(times_are_utc),
        cmocka_unit_test(texts_are_made_harmless),
        cmocka_unit_test(what_shows_nothing_is_made_visible),
        cmocka_unit_test(texts_that_differ_look_different),
        cmocka_unit_test(a_payload_stays_json),
        cmocka_unit_test(widths_are_those_of_a_terminal),
        cmocka_unit_test(an_address_is_not_repeated),
        cmocka_unit_test(json_is_cut_into_its_parts),
        cmocka_unit_test(json_without_an_end_is_no_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
