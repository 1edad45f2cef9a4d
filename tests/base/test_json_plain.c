/* SPDX-License-Identifier: MIT
 *
 * The short cut of the gate: whatever it accepts, the reader and writer behind
 * it accept too and turn into the same bytes. It may give up anywhere.
 */
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_internal.h"
#include "base/json_random.h"
#include "base/mem.h"
#include "base/support.h"

#define ROUNDS 100000

static cascade_err
slowly(const csc_buf *text, csc_buf *out)
{
    csc_buf_clear(out);
    return csc_json_canon_slowly("x", text->data, text->len, SIZE_DEFAULT,
                                 CSC_JSON_DEPTH_MAX, out);
}

/* True when the short cut took it; then the long way must agree. */
static bool
agrees(const csc_buf *text, csc_buf *quick, csc_buf *slow)
{
    csc_buf_clear(quick);
    csc_buf_add_text(quick, "before");
    assert_true(csc_buf_reserve(quick, text->len));
    if (!csc_json_plain(text->data, text->len, quick)) {
        assert_string_equal(quick->data, "before");
        assert_int_equal(quick->len, strlen("before"));
        return false;
    }
    if (slowly(text, slow) != CASCADE_OK)
        fail_msg("only the short cut takes %s: %s", text->data,
                 cascade_errmsg());
    assert_string_equal(quick->data + strlen("before"), slow->data);
    assert_int_equal(quick->len, strlen("before") + slow->len);
    return true;
}

/* Canonical text as jsonb prints it. */
static void
add_blanks(csc_buf *out, const csc_buf *canonical)
{
    bool in_string = false;

    csc_buf_clear(out);
    for (const char *at = canonical->data; *at != '\0'; at++) {
        csc_buf_add_char(out, *at);
        if (in_string && *at == '\\')
            csc_buf_add_char(out, *++at);
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string && (*at == ',' || *at == ':'))
            csc_buf_add_char(out, ' ');
    }
}

typedef struct texts {
    csc_buf text;
    csc_buf quick;
    csc_buf slow;
    csc_buf canonical;
} texts;

static void
fini(texts *t)
{
    csc_buf_fini(&t->text);
    csc_buf_fini(&t->quick);
    csc_buf_fini(&t->slow);
    csc_buf_fini(&t->canonical);
}

static void
random_texts_come_out_as_on_the_long_way(void **state)
{
    support_rng rng = support_rng_open("random");
    texts t = {.text = {0}};
    size_t took = 0;

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        csc_buf_clear(&t.text);
        json_random_add(&t.text, &rng);
        (void)agrees(&t.text, &t.quick, &t.slow);
        if (slowly(&t.text, &t.canonical) != CASCADE_OK)
            continue;
        add_blanks(&t.text, &t.canonical);
        if (!agrees(&t.text, &t.quick, &t.slow))
            continue;
        assert_string_equal(t.slow.data, t.canonical.data);
        took++;
    }
    assert_true(took > ROUNDS / 2);
    fini(&t);
}

static void
spoilt_texts_come_out_as_on_the_long_way(void **state)
{
    support_rng rng = support_rng_open("spoilt");
    texts t = {.text = {0}};
    size_t took = 0;

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        csc_buf_clear(&t.text);
        json_random_add(&t.text, &rng);
        if (slowly(&t.text, &t.canonical) != CASCADE_OK)
            continue;
        add_blanks(&t.text, &t.canonical);
        json_random_spoil(&t.text, &rng);
        took += agrees(&t.text, &t.quick, &t.slow) ? 1 : 0;
    }
    assert_true(took > ROUNDS / 20);
    fini(&t);
}

static void
every_beginning_of_a_text_is_read_within_its_bounds(void **state)
{
    static const char whole[] =
        "{\"a\": [1, -2.50, true, null, \"\\n\xe2\x82\xac\xf0\x9f\x98\x80\"], "
        "\"bb\": {\"c\": false, \"d\": {}}}";
    texts t = {.text = {0}};

    (void)state;
    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        char *piece = csc_mem_alloc(len + 1); /* of this size, for ASan */

        assert_non_null(piece);
        memcpy(piece, whole, len);
        csc_buf_clear(&t.quick);
        assert_true(csc_buf_reserve(&t.quick, len));
        assert_false(csc_json_plain(piece, len, &t.quick));
        csc_mem_free(piece);
    }
    csc_buf_clear(&t.text);
    csc_buf_add_text(&t.text, whole);
    assert_true(agrees(&t.text, &t.quick, &t.slow));
    fini(&t);
}

static void
takes(const char *text, bool expected)
{
    texts t = {.text = {0}};

    csc_buf_add_text(&t.text, text);
    if (agrees(&t.text, &t.quick, &t.slow) != expected)
        fail_msg("%s: %s", expected ? "gave up" : "took", text);
    fini(&t);
}

static void
what_is_canonical_but_for_blanks_is_taken(void **state)
{
    static const char *const table[] = {
        "{}",
        " [ ] ",
        "0",
        "-1",
        "10.50",
        "\"\"",
        "null",
        "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", /* 16 deep */
        "\t{\"b\" :\r\n1 , \"aa\": {\"aa\": 2}, \"ab\": [{}, {}]}",
        "\"\\\"\\\\\\b\\f\\n\\r\\t/\x7f\xc3\xa9\"",
        "{\"\": 1, \"\xc3\xa9\": 2, \"\xc3\xaa\": 3}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        takes(table[i], true);
}

static void
what_must_change_or_be_refused_is_left_to_the_long_way(void **state)
{
    static const char *const table[] = {
        "",
        " ",
        "\xef\xbb\xbf{}",
        "{} {}",
        "{}]",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{1:1}",
        "[1 2]",
        "[1}",
        "tru",
        "truee",
        "-",
        "01",
        "-0",
        "-0.5",
        "1.",
        ".5",
        "1e2",
        "+1",
        "1.5.5",
        "\"a",
        "\"a\nb\"",
        "\"\\/\"",
        "\"\\u0061\"",
        "\"\\u0000\"",
        "\"\\",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xe2\x82",
        "{\"a\":1,\"a\":2}",
        "{\"b\":1,\"a\":2}",
        "{\"aa\":1,\"b\":2}",
        "{\"a\\n\":1}",
        "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", /* 17 deep */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        takes(table[i], false);
}

static void
more_digits_than_numeric_takes_are_left_to_the_long_way(void **state)
{
    char *digits = support_repeat("1", CSC_JSON_DIGITS_MAX + 1);

    (void)state;
    takes(digits, false);
    takes(digits + 1, true);
    csc_mem_free(digits);
}

static void
a_text_over_the_limit_is_refused_though_it_is_plain(void **state)
{
    csc_buf out = {0};

    (void)state;
    assert_int_equal(csc_json_canon("x", "[1, 2]", 6, 6, &out), CASCADE_OK);
    assert_string_equal(out.data, "[1,2]");
    assert_int_equal(csc_json_canon("x", "[1, 2]", 6, 5, &out),
                     CASCADE_ERR_TOO_LARGE);
    csc_buf_fini(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts_come_out_as_on_the_long_way),
        cmocka_unit_test(spoilt_texts_come_out_as_on_the_long_way),
        cmocka_unit_test(every_beginning_of_a_text_is_read_within_its_bounds),
        cmocka_unit_test(what_is_canonical_but_for_blanks_is_taken),
        cmocka_unit_test(
            what_must_change_or_be_refused_is_left_to_the_long_way),
        cmocka_unit_test(
            more_digits_than_numeric_takes_are_left_to_the_long_way),
        cmocka_unit_test(a_text_over_the_limit_is_refused_though_it_is_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
