/* SPDX-License-Identifier: MIT
 *
 * cJSON trees through the gate, and canonical text back into trees.
 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/support.h"

/* Takes `tree`. */
static void
accepts(cJSON *tree, const char *expected)
{
    csc_buf out = {0};

    if (csc_json_tree_canon("input", tree, SIZE_DEFAULT, &out) != CASCADE_OK)
        fail_msg("refused %s: %s", expected, cascade_errmsg());
    assert_string_equal(out.data, expected);
    csc_buf_fini(&out);
    cJSON_Delete(tree);
}

static void
refuses_borrowed(const cJSON *tree, size_t max, cascade_err err,
                 const char *why)
{
    csc_buf out = {0};

    csc_buf_add_text(&out, "before");
    (void)csc_ok();
    assert_int_equal(csc_json_tree_canon("input", tree, max, &out), err);
    assert_int_equal(csc_error_last(), err);
    if (strstr(cascade_errmsg(), why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", cascade_errmsg(), why);
    assert_string_equal(out.data, "before");
    assert_int_equal(out.len, 6);
    csc_buf_fini(&out);
}

/* Takes `tree`. */
static void
refuses(cJSON *tree, const char *why)
{
    refuses_borrowed(tree, SIZE_DEFAULT, CASCADE_ERR_JSON, why);
    cJSON_Delete(tree);
}

static void
trees_come_out_in_canonical_form(void **state)
{
    static const char *const table[][2] = {
        {"{}", "{}"},
        {"[]", "[]"},
        {"null", "null"},
        {"[true,false,null,\"\",0]", "[true,false,null,\"\",0]"},
        {"{\"bb\":[{}],\"a\":{\"d\":[[]],\"c\":1}}",
         "{\"a\":{\"c\":1,\"d\":[[]]},\"bb\":[{}]}"},
        {"{\"b\":\"\\u0001\\n\\\"\",\"\\n\":2}",
         "{\"\\n\":2,\"b\":\"\\u0001\\n\\\"\"}"},
        {"[[1,[2,{\"x\":3}],4],5]", "[[1,[2,{\"x\":3}],4],5]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        accepts(cJSON_Parse(table[i][0]), table[i][1]);
}

static void
doubles_are_written_in_their_shortest_form(void **state)
{
    static const struct {
        double number;
        const char *text;
    } table[] = {
        {0.0, "0"},
        {-0.0, "0"},
        {1.0, "1"},
        {-1.0, "-1"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1.0 / 3.0, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e-7, "0.0000001"},
        {999999999999999.0, "999999999999999"},
        {-999999999999999.0, "-999999999999999"},
        {1e15, "1000000000000000"},
        {1e21, "1000000000000000000000"},
        {9007199254740991.0, "9007199254740991"},
        {9007199254740993.0, "9007199254740992"},
        {123456789.125, "123456789.125"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        accepts(cJSON_CreateNumber(table[i].number), table[i].text);
}

/* The bits come back, and the text passes the text gate unchanged. */
static void
check_round_trip(double number)
{
    cJSON *tree = cJSON_CreateNumber(number);
    cJSON *again;
    csc_buf out = {0};

    assert_int_equal(csc_json_tree_canon("x", tree, 1000, &out), CASCADE_OK);
    support_accepts(out.data, out.data);
    again = csc_json_tree_parse(out.data);
    assert_non_null(again);
    if (again->valuedouble < number || again->valuedouble > number)
        fail_msg("%.17g became %.17g by %s", number, again->valuedouble,
                 out.data);
    cJSON_Delete(tree);
    cJSON_Delete(again);
    csc_buf_fini(&out);
}

static void
every_finite_double_reads_back_the_same(void **state)
{
    static const double table[] = {
        DBL_MAX,
        -DBL_MAX,
        DBL_MIN,
        DBL_TRUE_MIN,
        -DBL_TRUE_MIN,
        DBL_EPSILON,
        1e22,
        1e23,
        2.2250738585072011e-308,
        1.7976931348623155e308,
        4.9406564584124654e-324,
        5e-324,
        9007199254740992.0,
        9007199254740994.0,
        0.5,
        1e100,
    };
    support_rng rng = support_rng_open("every_finite_double");

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        check_round_trip(table[i]);
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = support_rng_next(&rng);
        double number;

        memcpy(&number, &bits, sizeof(number));
        if (isfinite(number))
            check_round_trip(number);
        check_round_trip((double)(int64_t)bits);
        check_round_trip((double)(int64_t)(bits >> 20) / 100);
    }
}

/* A locale with a decimal comma, made here because none may be installed: the
 * source and an ASCII character map, compiled by localedef of libc-bin. */
static void
make_comma_locale(const char *folder)
{
    char command[256];
    FILE *file;

    assert_int_equal(chdir(folder), 0);
    file = fopen("source", "w");
    assert_non_null(file);
    (void)fputs("LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"\"\n"
                "grouping -1\nEND LC_NUMERIC\n",
                file);
    assert_int_equal(fclose(file), 0);
    file = fopen("map", "w");
    assert_non_null(file);
    (void)fputs("<code_set_name> TEST\n<escape_char> /\n<mb_cur_max> 1\n"
                "CHARMAP\n",
                file);
    for (unsigned i = 0; i < 128; i++)
        (void)fprintf(file, "<U%04X> /x%02x C\n", i, i);
    (void)fputs("END CHARMAP\n", file);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(command, sizeof(command),
                   "localedef -c -i ./source -f ./map '%s/comma' >log 2>&1",
                   folder);
    (void)!system(command); /* it warns; setlocale() tells whether it worked */
    assert_int_equal(chdir("/"), 0);
}

static void
the_locale_of_the_host_changes_nothing(void **state)
{
    char folder[] = "/tmp/cascade-locale.XXXXXX";
    char command[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    make_comma_locale(folder);
    assert_int_equal(setenv("LOCPATH", folder, 1), 0);
    assert_non_null(setlocale(LC_NUMERIC, "comma"));
    assert_string_equal(localeconv()->decimal_point, ",");
    accepts(cJSON_CreateNumber(-2.5), "-2.5");
    check_round_trip(0.30000000000000004);
    check_round_trip(1e-7);
    check_round_trip(1.25e300);
    (void)setlocale(LC_NUMERIC, "C");
    (void)snprintf(command, sizeof(command), "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void
numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    refuses(cJSON_CreateNumber((double)NAN), "infinite or not a number");
    refuses(cJSON_CreateNumber((double)INFINITY), "infinite or not a number");
    refuses(cJSON_CreateNumber((double)-INFINITY), "infinite or not a number");
}

static cJSON *
object_with(const char *name, cJSON *value)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddItemToObject(object, name, value);
    return object;
}

static void
items_of_no_json_type_are_refused(void **state)
{
    static const int types[] = {
        cJSON_Invalid,
        cJSON_Raw,
        cJSON_True | cJSON_False,
        cJSON_Object | cJSON_Array,
        cJSON_Number | 1024,
        cJSON_Number | (int)0x80000000,
        0xff,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        cJSON item = {.type = types[i], .valuestring = NULL};
        cJSON array = {.type = cJSON_Array, .child = &item};

        refuses_borrowed(&item, SIZE_DEFAULT, CASCADE_ERR_JSON, "an item ");
        refuses_borrowed(&array, SIZE_DEFAULT, CASCADE_ERR_JSON, "an item ");
    }
    refuses(object_with("a", cJSON_CreateRaw("1")), "raw text");
    refuses_borrowed(NULL, SIZE_DEFAULT, CASCADE_ERR_JSON, "NULL");
}

static void
missing_and_malformed_strings_are_refused(void **state)
{
    cJSON string = {.type = cJSON_String};
    cJSON unnamed = {.type = cJSON_True};
    cJSON object = {.type = cJSON_Object, .child = &unnamed};

    (void)state;
    refuses_borrowed(&string, SIZE_DEFAULT, CASCADE_ERR_JSON, "is NULL");
    refuses_borrowed(&object, SIZE_DEFAULT, CASCADE_ERR_JSON, "is NULL");
    refuses(cJSON_CreateString("\xff"), "not valid UTF-8");
    refuses(cJSON_CreateString("a\xed\xa0\x80"), "not valid UTF-8");
    refuses(object_with("\xc0\x80", cJSON_CreateTrue()), "not valid UTF-8");
}

static void
duplicate_names_are_refused(void **state)
{
    cJSON *next = object_with("a", cJSON_CreateTrue());
    cJSON *apart = object_with("a", cJSON_CreateTrue());
    cJSON *other_case = object_with("a", cJSON_CreateTrue());

    (void)state;
    cJSON_AddItemToObject(next, "a", cJSON_CreateTrue());
    refuses(next, "has a key twice");
    cJSON_AddItemToObject(apart, "b", cJSON_CreateTrue());
    cJSON_AddItemToObject(apart, "a", cJSON_CreateNull());
    refuses(apart, "has a key twice");
    cJSON_AddItemToObject(other_case, "A", cJSON_CreateNull());
    accepts(other_case, "{\"A\":null,\"a\":true}");
}

static cJSON *
nested(size_t depth)
{
    cJSON *tree = cJSON_CreateArray();

    for (size_t i = 1; i < depth; i++) {
        cJSON *outer = cJSON_CreateArray();

        cJSON_AddItemToArray(outer, tree);
        tree = outer;
    }
    return tree;
}

static void
the_depth_is_limited_to_128(void **state)
{
    (void)state;
    for (size_t depth = 127; depth <= 128; depth++) {
        char *open = support_repeat("[", depth);
        char *close = support_repeat("]", depth);
        csc_buf both = {0};

        csc_buf_add_format(&both, "%s%s", open, close);
        accepts(nested(depth), both.data);
        csc_buf_fini(&both);
        csc_mem_free(open);
        csc_mem_free(close);
    }
    refuses(nested(129), "more than 128 deep");
}

static void
cycles_end_at_a_limit(void **state)
{
    cJSON child = {.type = cJSON_Array};
    cJSON parent = {.type = cJSON_Array, .child = &child};
    cJSON first = {.type = cJSON_Number, .valuedouble = 1};
    cJSON second = {.type = cJSON_Number, .next = &first, .valuedouble = 2};
    cJSON ring = {.type = cJSON_Array, .child = &first};

    (void)state;
    child.child = &parent;
    refuses_borrowed(&parent, SIZE_DEFAULT, CASCADE_ERR_JSON,
                     "more than 128 deep");
    first.next = &second;
    refuses_borrowed(&ring, SIZE_DEFAULT, CASCADE_ERR_TOO_LARGE,
                     "larger than 1048576 bytes");
    first.type = cJSON_Object;
    second.type = cJSON_Object;
    refuses_borrowed(&ring, SIZE_DEFAULT, CASCADE_ERR_TOO_LARGE, "larger than");
}

/* Each level holds the one below twice: 2^100 leaves. */
static void
shared_branches_end_at_the_limit_of_bytes(void **state)
{
    enum {
        LEVELS = 100
    };
    cJSON pair[LEVELS][2];
    cJSON root = {.type = cJSON_Array, .child = &pair[0][0]};

    (void)state;
    memset(pair, 0, sizeof(pair));
    for (size_t i = 0; i < LEVELS; i++) {
        pair[i][0].type = pair[i][1].type = cJSON_Array;
        pair[i][0].next = &pair[i][1];
        if (i + 1 < LEVELS)
            pair[i][0].child = pair[i][1].child = &pair[i + 1][0];
    }
    refuses_borrowed(&root, SIZE_DEFAULT, CASCADE_ERR_TOO_LARGE, "larger than");
}

static void
references_and_constant_names_are_accepted(void **state)
{
    cJSON *shared = cJSON_Parse("{\"b\":[1],\"a\":2}");
    cJSON *tree = cJSON_CreateArray();

    (void)state;
    cJSON_AddItemReferenceToArray(tree, shared);
    cJSON_AddItemReferenceToArray(tree, shared);
    cJSON_AddItemToArray(tree, cJSON_CreateStringReference("text"));
    cJSON_AddItemToArray(tree, cJSON_CreateObject());
    cJSON_AddItemToObjectCS(cJSON_GetArrayItem(tree, 3), "name",
                            cJSON_CreateNull());
    accepts(tree, "[{\"a\":2,\"b\":[1]},{\"a\":2,\"b\":[1]},\"text\","
                  "{\"name\":null}]");
    cJSON_Delete(shared);
}

static void
the_size_is_limited(void **state)
{
    cJSON *tree = cJSON_CreateString("12345678");

    (void)state;
    refuses_borrowed(tree, 9, CASCADE_ERR_TOO_LARGE, "larger than 9 bytes");
    refuses_borrowed(tree, 7, CASCADE_ERR_TOO_LARGE, "larger than 7 bytes");
    for (size_t max = 10; max <= 11; max++) {
        csc_buf out = {0};

        assert_int_equal(csc_json_tree_canon("x", tree, max, &out), CASCADE_OK);
        csc_buf_fini(&out);
    }
    cJSON_Delete(tree);
}

static void
a_failed_allocation_leaves_the_output_as_it_was(void **state)
{
    cJSON *tree = cJSON_CreateObject();
    size_t live = csc_mem_live();
    size_t nth = 1;

    (void)state;
    for (int i = 200; i > 0; i--) {
        char name[16];

        (void)snprintf(name, sizeof(name), "%d", i);
        cJSON_AddNumberToObject(tree, name, i / 7.0);
    }
    for (bool done = false; !done; nth++) {
        csc_buf out = {0};
        cascade_err err;

        (void)csc_mem_fail_at(nth, 0);
        err = csc_json_tree_canon("x", tree, SIZE_DEFAULT, &out);
        done = csc_mem_fail_at(0, 0) < nth;
        assert_int_equal(err, done ? CASCADE_OK : CASCADE_ERR_NO_MEMORY);
        assert_int_equal(out.len > 0, done);
        csc_buf_fini(&out);
        assert_int_equal(csc_mem_live(), live);
    }
    assert_true(nth > 6);
    cJSON_Delete(tree);
}

/* ---- Canonical text into a tree ----------------------------------------- */

static void
canonical_text_comes_back_as_the_same_tree(void **state)
{
    static const char *const table[] = {
        "{}",
        "[]",
        "null",
        "true",
        "false",
        "-12",
        "1.5",
        "\"\"",
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xf0\x9f\x98\x80\"",
        "[[],[[]],{},[{}],1,[2,[3]],\"x\"]",
        "{\"\":1,\"a\":{\"b\":[true,{\"c\":null}],\"d\":{}},\"\\n\\\"\":\"v\"}",
        "{\"a\":\"longer than its name\",\"longer than its text\":\"a\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        csc_buf canonical = {0};

        assert_int_equal(
            csc_json_canon("x", table[i], strlen(table[i]), 1000, &canonical),
            CASCADE_OK);
        accepts(csc_json_tree_parse(canonical.data), canonical.data);
        csc_buf_fini(&canonical);
    }
}

/* cJSON's own parser gives up on these. */
static void
long_numbers_come_back_from_text(void **state)
{
    cJSON *tree;
    char *digits = support_repeat("1", 400);

    (void)state;
    check_round_trip(1e300);
    check_round_trip(-5e-324);
    tree = csc_json_tree_parse(digits);
    assert_true(isinf(tree->valuedouble));
    cJSON_Delete(tree);
    csc_mem_free(digits);
    tree = csc_json_tree_parse("[9223372036854775807,-9999999999999999,0.50]");
    assert_int_equal(cJSON_GetArraySize(tree), 3);
    assert_true(cJSON_GetArrayItem(tree, 0)->valuedouble >= 9.2233720368547e18);
    assert_true(cJSON_GetArrayItem(tree, 1)->valuedouble <=
                -9999999999999998.0);
    assert_true(cJSON_GetArrayItem(tree, 2)->valuedouble >= 0.5);
    cJSON_Delete(tree);
}

static void
deep_text_comes_back_from_text(void **state)
{
    char *open = support_repeat("[", CSC_JSON_DEPTH_MAX);
    char *close = support_repeat("]", CSC_JSON_DEPTH_MAX);
    csc_buf both = {0};

    (void)state;
    csc_buf_add_format(&both, "%s%s", open, close);
    accepts(csc_json_tree_parse(both.data), both.data);
    csc_buf_fini(&both);
    csc_mem_free(open);
    csc_mem_free(close);
}

/* What never passed the gate must not crash us either. */
static void
text_that_is_not_canonical_gives_no_tree(void **state)
{
    static const char *const table[] = {
        "",    "[",  "[1",  "[1,",  "{",        "{\"a\"", "{\"a\":", "x", "[x]",
        "tru", "\"", "\"a", "[\"a", "{\"a\":1", "{\"",    "{a:1}",   "]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        cJSON *tree = csc_json_tree_parse(table[i]);

        if (tree != NULL)
            fail_msg("a tree out of %s", table[i]);
    }
}

static size_t cjson_left;

static void *
failing_malloc(size_t size)
{
    if (cjson_left == 0)
        return NULL;
    cjson_left--;
    return malloc(size);
}

static void
no_memory_gives_no_tree(void **state)
{
    const char *text = "{\"a\":[1,\"x\",{\"b\":true}],\"c\":\"y\"}";
    cJSON_Hooks hooks = {failing_malloc, free};
    cJSON *tree = NULL;
    size_t room = 0;

    (void)state;
    (void)csc_mem_fail_at(1, 0);
    assert_null(csc_json_tree_parse(text));
    (void)csc_mem_fail_at(0, 0);
    cJSON_InitHooks(&hooks);
    for (; tree == NULL; room++) {
        cjson_left = room;
        tree = csc_json_tree_parse(text);
    }
    cJSON_InitHooks(NULL);
    assert_true(room > 10);
    accepts(tree, text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_come_out_in_canonical_form),
        cmocka_unit_test(doubles_are_written_in_their_shortest_form),
        cmocka_unit_test(every_finite_double_reads_back_the_same),
        cmocka_unit_test(the_locale_of_the_host_changes_nothing),
        cmocka_unit_test(numbers_that_are_none_are_refused),
        cmocka_unit_test(items_of_no_json_type_are_refused),
        cmocka_unit_test(missing_and_malformed_strings_are_refused),
        cmocka_unit_test(duplicate_names_are_refused),
        cmocka_unit_test(the_depth_is_limited_to_128),
        cmocka_unit_test(cycles_end_at_a_limit),
        cmocka_unit_test(shared_branches_end_at_the_limit_of_bytes),
        cmocka_unit_test(references_and_constant_names_are_accepted),
        cmocka_unit_test(the_size_is_limited),
        cmocka_unit_test(a_failed_allocation_leaves_the_output_as_it_was),
        cmocka_unit_test(canonical_text_comes_back_as_the_same_tree),
        cmocka_unit_test(long_numbers_come_back_from_text),
        cmocka_unit_test(deep_text_comes_back_from_text),
        cmocka_unit_test(text_that_is_not_canonical_gives_no_tree),
        cmocka_unit_test(no_memory_gives_no_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
