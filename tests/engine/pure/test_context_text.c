/* SPDX-License-Identifier: MIT
 *
 * The texts of a context, above all the one that Cascaide would build: what it
 * is expected to be was made by a JavaScript engine, by
 * `list[value.index] = value` and `list.push(value)`. ("length" fails there.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/tree.h"
#include "base/error.h"
#include "base/mem.h"
#include "query/context_text.h"
#include "support/stores.h"

/* Writes the values, as many as there are, under one key. */
static void
write_key(csc_tree *keys, csc_context_key *key, const char *name,
          const char **values)
{
    *key = (csc_context_key){.name = name};
    for (; *values != NULL; values++)
        assert_ok(csc_context_add(key, &(csc_context_value){.text = *values}));
    csc_context_put(keys, key);
}

static void
expect_list(const char **values, const char *wanted)
{
    csc_tree keys = {0};
    csc_context_key key;
    char *text = NULL;
    char *whole = NULL;

    write_key(&keys, &key, "k", values);
    assert_ok(csc_context_text_cascaide(&keys, &text));
    assert_true(asprintf(&whole, "{\"k\":%s}", wanted) > 0);
    assert_string_equal(text, whole);
    free(whole);
    csc_mem_free(text);
    csc_mem_free(key.values);
}

static void
slots_are_named_as_properties_are(void **state)
{
    static const char *const slots[] = {
        "{\"index\":1}",         "{\"index\":1.0}",
        "{\"index\":1.00}",      "{\"index\":\"1\"}",
        "{\"index\":[1]}",       "{\"index\":[\"1\"]}",
        "{\"index\":[[[1.0]]]}", "{\"index\":1.00000000000000000000001}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        const char *values[] = {"7", "8", "9", slots[i], NULL};
        char wanted[80];

        (void)snprintf(wanted, sizeof(wanted), "[7,%s,9]", slots[i]);
        expect_list(values, wanted);
    }
}

static void
zero_is_a_slot_in_every_form(void **state)
{
    static const char *const slots[] = {"{\"index\":0}", "{\"index\":0.0}",
                                        "{\"index\":\"0\"}", "{\"index\":[0]}"};

    (void)state;
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        const char *values[] = {"7", "8", slots[i], NULL};
        char wanted[80];

        (void)snprintf(wanted, sizeof(wanted), "[%s,8]", slots[i]);
        expect_list(values, wanted);
    }
}

static void
other_properties_are_not_shown(void **state)
{
    static const char *const others[] = {
        "{\"index\":\"01\"}",
        "{\"index\":\"00\"}",
        "{\"index\":\"foo\"}",
        "{\"index\":\"\"}",
        "{\"index\":\" 1\"}",
        "{\"index\":\"1.0\"}",
        "{\"index\":\"1e0\"}",
        "{\"index\":\"+1\"}",
        "{\"index\":\"-0\"}",
        "{\"index\":\"-1\"}",
        "{\"index\":\"4294967295\"}",
        "{\"index\":\"99999999999999999999\"}",
        "{\"index\":null}",
        "{\"index\":true}",
        "{\"index\":false}",
        "{\"index\":-1}",
        "{\"index\":1.5}",
        "{\"index\":4294967295}",
        "{\"index\":100000000000000000000}",
        "{\"index\":{}}",
        "{\"index\":{\"a\":1}}",
        "{\"index\":[]}",
        "{\"index\":[[]]}",
        "{\"index\":[null]}",
        "{\"index\":[true]}",
        "{\"index\":[1,2]}",
        "{\"index\":[[1,2]]}",
        "{\"index\":[\"01\"]}",
        "{\"index\":[{}]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const char *values[] = {"7", others[i], "8", NULL};

        expect_list(values, "[7,8]");
    }
}

/* No member of their own, or no object. */
static void
all_else_is_appended(void **state)
{
    const char *values[] = {"{}",   "[{\"index\":0}]", "{\"a\":{\"index\":0}}",
                            "null", "\"index\"",       "{\"Index\":0}",
                            NULL};

    (void)state;
    expect_list(values, "[{},[{\"index\":0}],{\"a\":{\"index\":0}},null,"
                        "\"index\",{\"Index\":0}]");
}

/* What comes next is pushed behind the highest slot so far. */
static void
slots_never_written_are_null(void **state)
{
    const char *values[] = {"{\"index\":3}", "5", "{\"index\":1}", NULL};

    (void)state;
    expect_list(values, "[null,{\"index\":1},null,{\"index\":3},5]");
}

static cascade_err
try_slots(const char *first, const char *second, char **text)
{
    csc_tree keys = {0};
    csc_context_key a;
    csc_context_key b;
    const char *one[] = {first, NULL};
    const char *two[] = {second, NULL};
    cascade_err err = CASCADE_OK;

    write_key(&keys, &a, "a", one);
    write_key(&keys, &b, "b", two);
    err = csc_context_text_cascaide(&keys, text);
    csc_mem_free(a.values);
    csc_mem_free(b.values);
    return err;
}

static void
empty_slots_are_bounded_in_all(void **state)
{
    char *text = NULL;

    (void)state;
    assert_ok(try_slots("{\"index\":600000}", "{\"index\":400000}", &text));
    assert_int_equal(strlen(text), CASCADE_SLOTS_MAX * strlen("null,") +
                                       strlen("{\"a\":[{\"index\":600000}],"
                                              "\"b\":[{\"index\":400000}]}"));
    csc_mem_free(text);
    text = NULL;
    assert_int_equal(
        try_slots("{\"index\":600000}", "{\"index\":400001}", &text),
        CASCADE_ERR_TOO_LARGE);
    assert_null(text);
    assert_non_null(strstr(cascade_errmsg(), "slot 400001 of key \"b\""));
    assert_int_equal(try_slots("{\"index\":4294967294}", "1", &text),
                     CASCADE_ERR_TOO_LARGE);
}

/* Values that take no slot, or the one of another, make no room; those that
 * come later and fill what is empty do. */
static void
what_is_empty_in_the_end_counts(void **state)
{
    static const char *const fillers[] = {"{\"index\":0}", "{\"index\":\"x\"}"};
    const char *values[10] = {NULL};
    csc_context_key key;
    char *text = NULL;

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        csc_tree keys = {0};

        for (size_t i = 0; i < 8; i++)
            values[i] = fillers[f];
        values[8] = "{\"index\":1000002}";
        write_key(&keys, &key, "k", values);
        assert_int_equal(csc_context_text_cascaide(&keys, &text),
                         CASCADE_ERR_TOO_LARGE);
        csc_mem_free(key.values);
    }
    {
        const char *filled[] = {"{\"index\":1000002}", "{\"index\":1}",
                                "{\"index\":2}", NULL};
        csc_tree keys = {0};

        write_key(&keys, &key, "k", filled);
        assert_ok(csc_context_text_cascaide(&keys, &text));
        csc_mem_free(text);
        csc_mem_free(key.values);
    }
}

/* Each key is looked for among all others. */
static void
keys_are_sorted_as_members_are(void **state)
{
    csc_tree keys = {0};
    csc_context_key made[4];
    const char *none[] = {NULL};
    const char *values[] = {"1", "{\"index\":0}", NULL};
    char *text = NULL;

    (void)state;
    write_key(&keys, &made[0], "zz", none);
    write_key(&keys, &made[1], "b", values);
    write_key(&keys, &made[2], "aa", none);
    write_key(&keys, &made[3], "\"", none);
    assert_true(csc_context_find(&keys, "aa") == &made[2]);
    assert_null(csc_context_find(&keys, "a"));
    assert_null(csc_context_find(&keys, "zzz"));
    assert_ok(csc_context_text(&keys, &text));
    assert_string_equal(text, "{\"\\\"\":[],\"b\":[1,{\"index\":0}],"
                              "\"aa\":[],\"zz\":[]}");
    csc_mem_free(text);
    csc_mem_free(made[1].values);
}

/* As Cascaide reads them: by the place of the writer, then by the time, then as
 * they came. */
static void
values_are_sorted_by_their_moments(void **state)
{
    static const csc_context_value came[] = {
        {{.function_id = -2, .created_at_us = 9}, "1"},
        {{.function_id = 3, .created_at_us = 5}, "4"},
        {{.function_id = 3, .created_at_us = -5}, "2"},
        {{.function_id = 3, .created_at_us = 5}, "5"},
        {{.function_id = 3, .created_at_us = 4}, "3"},
        {{.function_id = 4, .created_at_us = 0}, "6"}};
    csc_context_key key = {.name = "k"};
    csc_tree keys = {0};
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(came) / sizeof(came[0]); i++)
        assert_ok(csc_context_add(&key, &came[i]));
    csc_context_put(&keys, &key);
    csc_context_sort(&keys);
    assert_ok(csc_context_text(&keys, &text));
    assert_string_equal(text, "{\"k\":[1,2,3,4,5,6]}");
    csc_mem_free(text);
    csc_mem_free(key.values);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_named_as_properties_are),
        cmocka_unit_test(zero_is_a_slot_in_every_form),
        cmocka_unit_test(other_properties_are_not_shown),
        cmocka_unit_test(all_else_is_appended),
        cmocka_unit_test(slots_never_written_are_null),
        cmocka_unit_test(empty_slots_are_bounded_in_all),
        cmocka_unit_test(what_is_empty_in_the_end_counts),
        cmocka_unit_test(keys_are_sorted_as_members_are),
        cmocka_unit_test(values_are_sorted_by_their_moments),
    };

    return cmocka_run_group_tests_name("context texts", tests, NULL, NULL);
}
