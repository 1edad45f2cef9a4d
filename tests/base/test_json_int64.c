/* SPDX-License-Identifier: MIT
 *
 * Integers of 64 bits in trees: those that no double holds have their digits,
 * and what would have to be guessed is refused.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/support.h"

static const int64_t table[] = {
    0,
    1,
    -1,
    999999999999999,
    -999999999999999,
    1000000000000000,
    9007199254740991,
    9007199254740992,
    9007199254740993,
    -9007199254740991,
    -9007199254740992,
    -9007199254740993,
    1152921504606846976,
    INT64_MAX - 1,
    INT64_MAX,
    INT64_MIN,
    INT64_MIN + 1,
};

#define COUNT (sizeof(table) / sizeof(table[0]))

static void
expect_text(const cJSON *tree, const char *text)
{
    csc_buf out = {0};

    assert_int_equal(csc_json_tree_canon("x", tree, SIZE_DEFAULT, &out),
                     CASCADE_OK);
    assert_string_equal(out.data, text);
    csc_buf_fini(&out);
}

static void
expect_integer(const cJSON *item, int64_t value)
{
    int64_t read = 7;

    if (cascade_json_get_int64(item, &read) != CASCADE_OK || read != value)
        fail_msg("%lld became %lld: %s", (long long)value, (long long)read,
                 cascade_errmsg());
}

/* Takes `item`. */
static void
refuses(cJSON *item, cascade_err err, const char *why)
{
    int64_t read = 7;

    assert_int_equal(cascade_json_get_int64(item, &read), err);
    if (strstr(cascade_errmsg(), why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", cascade_errmsg(), why);
    assert_int_equal(read, 7);
    cJSON_Delete(item);
}

/* Made, written, read, copied, written again. */
static void
every_integer_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        csc_buf text = {0};
        cJSON *tree = cJSON_CreateObject();
        cJSON *again = NULL;
        cJSON *twin = NULL;

        csc_buf_add_text(&text, "{\"n\":");
        csc_buf_add_i64(&text, table[i]);
        csc_buf_add_char(&text, '}');
        assert_int_equal(cascade_json_add_int64(tree, "n", table[i]),
                         CASCADE_OK);
        assert_string_equal(cascade_errmsg(), "");
        expect_text(tree, text.data);
        expect_integer(cJSON_GetObjectItem(tree, "n"), table[i]);
        again = csc_json_tree_parse(text.data);
        expect_text(again, text.data);
        expect_integer(cJSON_GetObjectItem(again, "n"), table[i]);
        twin = cJSON_Duplicate(again, 1);
        expect_text(twin, text.data);
        expect_integer(cJSON_GetObjectItem(twin, "n"), table[i]);
        cJSON_Delete(tree);
        cJSON_Delete(again);
        cJSON_Delete(twin);
        csc_buf_fini(&text);
    }
}

static void
elements_of_arrays_are_created(void **state)
{
    cJSON *tree = cJSON_CreateArray();

    (void)state;
    cJSON_AddItemToArray(tree, cascade_json_create_int64(INT64_MIN));
    cJSON_AddItemToArray(tree, cascade_json_create_int64(INT64_MAX));
    expect_text(tree, "[-9223372036854775808,9223372036854775807]");
    assert_int_equal(cJSON_GetArrayItem(tree, 0)->valueint, INT32_MIN);
    assert_int_equal(cJSON_GetArrayItem(tree, 1)->valueint, INT32_MAX);
    assert_null(cJSON_GetStringValue(cJSON_GetArrayItem(tree, 1)));
    cJSON_Delete(tree);
}

static void
what_would_be_guessed_is_refused(void **state)
{
    int64_t read = 0;
    cJSON *changed = cascade_json_create_int64(9007199254740993);

    (void)state;
    refuses(cJSON_Parse("9007199254740993"), CASCADE_ERR_JSON, "beyond 2^53");
    refuses(cJSON_CreateNumber(-9007199254740992.0), CASCADE_ERR_JSON,
            "beyond 2^53");
    refuses(cJSON_CreateNumber(1.5), CASCADE_ERR_JSON, "no integer");
    refuses(cJSON_CreateNumber(-0.5), CASCADE_ERR_JSON, "no integer");
    refuses(cJSON_CreateNumber(1e300), CASCADE_ERR_JSON, "beyond 2^53");
    refuses(cJSON_CreateNumber((double)NAN), CASCADE_ERR_JSON, "no integer");
    refuses(cJSON_CreateNumber((double)INFINITY), CASCADE_ERR_JSON,
            "no integer");
    refuses(csc_json_tree_parse("9223372036854775808"), CASCADE_ERR_JSON,
            "64 bits");
    refuses(csc_json_tree_parse("-9223372036854775809"), CASCADE_ERR_JSON,
            "64 bits");
    refuses(csc_json_tree_parse("9007199254740993.5"), CASCADE_ERR_JSON,
            "64 bits");
    refuses(cJSON_CreateString("1"), CASCADE_ERR_JSON, "no number");
    refuses(NULL, CASCADE_ERR_NOT_FOUND, "no such item");
    /* whoever sets another double means that one */
    (void)cJSON_SetNumberValue(changed, 12);
    expect_integer(changed, 12);
    expect_text(changed, "12");
    assert_int_equal(cascade_json_get_int64(changed, NULL),
                     CASCADE_ERR_INVALID);
    cJSON_Delete(changed);
    assert_int_equal(cascade_json_get_int64(NULL, &read),
                     CASCADE_ERR_NOT_FOUND);
    assert_int_equal(read, 0);
}

/* 12.00 is 12. */
static void
a_fraction_of_zeros_is_none(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } texts[] = {
        {"12.00", 12},
        {"-0.0", 0},
        {"9007199254740993.0", 9007199254740993},
        {"-9223372036854775808.000", INT64_MIN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cJSON *item = csc_json_tree_parse(texts[i].text);

        expect_integer(item, texts[i].value);
        cJSON_Delete(item);
    }
}

static void
wrong_arguments_are_refused(void **state)
{
    cJSON *array = cJSON_CreateArray();
    cJSON *object = cJSON_CreateObject();

    (void)state;
    assert_int_equal(cascade_json_add_int64(NULL, "n", 1), CASCADE_ERR_INVALID);
    assert_int_equal(cascade_json_add_int64(array, "n", 1),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_json_add_int64(object, NULL, 1),
                     CASCADE_ERR_INVALID);
    expect_text(object, "{}");
    cJSON_Delete(array);
    cJSON_Delete(object);
}

/* What stands in valuestring counts only where it is the number. */
static void
a_string_that_is_not_the_number_does_not_count(void **state)
{
    static const char *const strings[] = {"",    "x",   "1e1", "12 ", " 12",
                                          "012", "12.", "13",  "0x0c"};
    char digits[] = "12.0";
    cJSON item = {.type = cJSON_Number, .valuedouble = 12};

    (void)state;
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        char copy[8];

        (void)snprintf(copy, sizeof(copy), "%s", strings[i]);
        item.valuestring = copy;
        expect_text(&item, "12");
        expect_integer(&item, 12);
    }
    item.valuestring = digits;
    expect_text(&item, "12.0");
    item.valuedouble = (double)INFINITY;
    refuses(cJSON_Duplicate(&item, 1), CASCADE_ERR_JSON, "no integer");
}

static void
every_number_comes_back_as_its_text(void **state)
{
    static const char *const texts[] = {
        "0.0",
        "1.50",
        "-0.001000",
        "123456789012345",
        "-123456789012345",
        "1234567890123456789012345678901234567890",
        "0.1234567890123456789",
        "0.00000000000000000000000000000000000000000000001",
        "100000000000000000000000000000000000000000000000000",
    };
    char *digits = support_repeat("9", CSC_JSON_DIGITS_MAX);
    cJSON *tree = csc_json_tree_parse(digits);

    (void)state;
    expect_text(tree, digits); /* its double is infinite */
    cJSON_Delete(tree);
    csc_mem_free(digits);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tree = csc_json_tree_parse(texts[i]);
        expect_text(tree, texts[i]);
        cJSON_Delete(tree);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_integer_comes_back),
        cmocka_unit_test(elements_of_arrays_are_created),
        cmocka_unit_test(what_would_be_guessed_is_refused),
        cmocka_unit_test(a_fraction_of_zeros_is_none),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(a_string_that_is_not_the_number_does_not_count),
        cmocka_unit_test(every_number_comes_back_as_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
