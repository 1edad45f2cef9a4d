/* SPDX-License-Identifier: MIT
 *
 * The gate against a real jsonb: what both accept comes out the same, and the
 * gate refuses what jsonb refuses. It also refuses more, for reasons it says:
 * equal keys (jsonb keeps the last), many digits, depth. The server is named by
 * CASCADE_TEST_PG.
 */
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json_random.h"
#include "base/mem.h"
#include "base/server.h"
#include "base/support.h"

/* jsonb prints a blank behind each comma and colon; takes them away. */
static char *
without_blanks(const char *text)
{
    csc_buf out = {0};
    bool in_string = false;

    for (const char *at = text; *at != '\0'; at++) {
        if (in_string && *at == '\\')
            csc_buf_add_char(&out, *at++);
        else if (*at == '"')
            in_string = !in_string;
        if (in_string || *at != ' ')
            csc_buf_add_char(&out, *at);
    }
    return csc_buf_take(&out);
}

/* Class 22 of SQLSTATE is what is wrong with data; anything else says nothing
 * about the text. */
static void
check_refusal(const PGresult *result)
{
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (code == NULL || strncmp(code, "22", 2) != 0)
        fail_msg("the server did not judge: %s", PQresultErrorMessage(result));
}

/* What a jsonb column gives back for `text`; NULL when it refuses it. */
static char *
ask_server(const char *text, size_t len)
{
    const char *values[] = {text};
    const int lens[] = {(int)len};
    const int formats[] = {1}; /* as bytes: a NUL must arrive */
    PGresult *result = PQexecParams(server_conn, "SELECT $1::text::jsonb::text",
                                    1, NULL, values, lens, formats, 0);
    char *given = NULL;

    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        given = without_blanks(PQgetvalue(result, 0, 0));
    else
        check_refusal(result);
    PQclear(result);
    return given;
}

static bool
is_stricter_on_purpose(void)
{
    const char *why = cascade_errmsg();

    return strstr(why, "has a key twice") != NULL ||
           strstr(why, "400 digits") != NULL || strstr(why, "128 deep") != NULL;
}

/* Returns whether the gate accepts it. */
static bool
compare(const char *text, size_t len)
{
    char *expected = ask_server(text, len);
    csc_buf out = {0};
    cascade_err err = csc_json_canon("x", text, len, SIZE_DEFAULT, &out);
    bool stricter = err != CASCADE_OK && is_stricter_on_purpose();

    if (err == CASCADE_OK && expected == NULL)
        fail_msg("jsonb refuses %.*s", (int)len, text);
    if (err != CASCADE_OK && !stricter && expected != NULL)
        fail_msg("jsonb accepts %.*s, but: %s", (int)len, text,
                 cascade_errmsg());
    if (err == CASCADE_OK)
        assert_string_equal(out.data, expected);
    csc_mem_free(expected);
    csc_buf_fini(&out);
    return err == CASCADE_OK;
}

/* The gate's form is a fixed point, of the gate and of jsonb. */
static void
check_fixed_point(const char *text, size_t len)
{
    csc_buf once = {0};
    csc_buf twice = {0};

    if (csc_json_canon("x", text, len, SIZE_DEFAULT, &once) == CASCADE_OK) {
        assert_int_equal(
            csc_json_canon("x", once.data, once.len, SIZE_DEFAULT, &twice),
            CASCADE_OK);
        assert_string_equal(once.data, twice.data);
    }
    csc_buf_fini(&once);
    csc_buf_fini(&twice);
}

/* Short when written out, however long it is as given. */
static void
check_long_fraction(void)
{
    char *zeros = support_repeat("0", 10000);
    csc_buf text = {0};

    csc_buf_add_format(&text, "[0.%s125e10001,1%se-10000]", zeros, zeros);
    assert_false(compare(text.data, text.len)); /* the second keeps its zeros */
    csc_buf_clear(&text);
    csc_buf_add_format(&text, "[0.%s125e10001,1.5]", zeros);
    assert_true(compare(text.data, text.len));
    csc_buf_fini(&text);
    csc_mem_free(zeros);
}

static const char *const texts[] = {
    "{\"bb\":1,\"a\":1e2,\"c\":-0,\"e\":1E-2}",
    "[0,-0,-0.0,0e5,0e-5,-0e-5,-0.00e1,0.0e-1,0E+300,-0e0]",
    "[1e2,1E+2,1e02,1.50,1.0e2,1.23e1,1.000e1,1.5e0,0.5e1,0.05e1]",
    "[0.0012e4,0.00e1,120e-1,120e-3,120e-4,-12.5e-1,10e-1,1e-1,100e-5]",
    "[1e399,1e-399,-1e399,123.456e10,123.456e-10,1e15,1e16,1e100]",
    "[9007199254740993,-9223372036854775808,18446744073709551616]",
    "[0.1,0.10,0.100000000000000000000000000000000000000000000001]",
    "\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\uffff\\ufffe\\u007f\\u0080\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u001F\\u0008\\u000b\"",
    "{\"b\":1,\"aa\":2,\"a\":3,\"\":4,\"\\n\":5,\"\\u0001\":6,\"\\\"\":7}",
    "{\"\xc3\xa9\":1,\"zz\":2,\"\x7f\x7f\":3,\"\\u00e8\":4,\"\\ta\":5}",
    "{\"z\":{\"y\":{\"d\":1,\"c\":{\"b\":2,\"a\":3}},\"x\":0},\"w\":[]}",
    " [ ] ",
    " { } ",
    "[[[[]]]]",
    "null",
    " true ",
    "false",
    "\"\"",
    "-1",
    "",
    " ",
    "[",
    "[1,]",
    "{,}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "]",
    "01",
    "-01",
    "+1",
    ".5",
    "1.",
    "1.e1",
    "-",
    "1e",
    "1e+",
    "0x10",
    "--1",
    "NaN",
    "Infinity",
    "-Infinity",
    "tru",
    "truee",
    "True",
    "nul",
    "'a'",
    "1 2",
    "{}x",
    "\xef\xbb\xbf{}",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800\\ud800\"",
    "\"\\u12\"",
    "\"\\x\"",
    "\"\n\"",
    "\"\x01\"",
    "\"\x1f\"",
    "\"\xff\"",
    "\"\xc0\x80\"",
    "\"\xed\xa0\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\"",
    "\"\\",
    "\v1",
    "\xc2\xa0",
    "1e131072",
    "1e-99999",
    "{\"a\":1,\"a\":2}",
    "1e401",
    "0e1073741822",
    "0e1073741823",
    "-0e-1073741823",
    "0e99999999999999999999",
};

static void
the_table_agrees_with_jsonb(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)compare(texts[i], strlen(texts[i]));
        check_fixed_point(texts[i], strlen(texts[i]));
    }
    check_long_fraction();
    assert_false(compare("\"a\0b\"", 5));
    assert_false(compare("1\0", 2));
}

static void
random_values_agree_with_jsonb(void **state)
{
    support_rng rng = support_rng_open("random_values_agree_with_jsonb");
    csc_buf text = {0};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        csc_buf_clear(&text);
        json_random_add(&text, &rng);
        if (!compare(text.data, text.len))
            fail_msg("refused %s: %s", text.data, cascade_errmsg());
        check_fixed_point(text.data, text.len);
    }
    csc_buf_fini(&text);
}

static void
spoiled_values_are_refused_where_jsonb_refuses_them(void **state)
{
    support_rng rng = support_rng_open("spoiled_values");
    csc_buf text = {0};
    int accepted = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        csc_buf_clear(&text);
        json_random_add(&text, &rng);
        json_random_spoil(&text, &rng);
        accepted += compare(text.data, text.len) ? 1 : 0;
    }
    print_message("%d of 20000 spoiled texts were still valid\n", accepted);
    assert_in_range(accepted, 1000, 15000); /* both sides were tried */
    csc_buf_fini(&text);
}

/* A tree written and parsed by cJSON takes the same form, where cJSON can read
 * the text at all. */
static void
random_trees_agree_with_their_text(void **state)
{
    support_rng rng = support_rng_open("random_trees_agree");
    csc_buf text = {0};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        csc_buf canonical = {0};
        csc_buf from_tree = {0};
        csc_buf again = {0};
        cJSON *tree;

        csc_buf_clear(&text);
        json_random_add(&text, &rng);
        assert_int_equal(
            csc_json_canon("x", text.data, text.len, SIZE_DEFAULT, &canonical),
            CASCADE_OK);
        tree = csc_json_tree_parse(canonical.data);
        assert_non_null(tree);
        assert_int_equal(
            csc_json_tree_canon("x", tree, SIZE_DEFAULT, &from_tree),
            CASCADE_OK);
        cJSON_Delete(tree);
        /* Numbers may have become doubles; from there on nothing changes. */
        tree = csc_json_tree_parse(from_tree.data);
        assert_int_equal(csc_json_tree_canon("x", tree, SIZE_DEFAULT, &again),
                         CASCADE_OK);
        assert_string_equal(from_tree.data, again.data);
        cJSON_Delete(tree);
        csc_buf_fini(&canonical);
        csc_buf_fini(&from_tree);
        csc_buf_fini(&again);
    }
    csc_buf_fini(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_agrees_with_jsonb),
        cmocka_unit_test(random_values_agree_with_jsonb),
        cmocka_unit_test(spoiled_values_are_refused_where_jsonb_refuses_them),
        cmocka_unit_test(random_trees_agree_with_their_text),
    };

    return cmocka_run_group_tests(tests, server_open, server_close);
}
