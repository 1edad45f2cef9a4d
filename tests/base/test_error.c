/* SPDX-License-Identifier: MIT
 *
 * Errors, and the checks and log lines that stand beside them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/support.h"

/* ---- Errors ------------------------------------------------------------- */

static const cascade_err all_errors[] = {
#define ERROR(name, value, text) name,
    CASCADE_ERRORS(ERROR)
#undef ERROR
};

#define ERROR_COUNT (sizeof(all_errors) / sizeof(all_errors[0]))

static void
every_error_has_a_name_and_a_text_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < ERROR_COUNT; i++) {
        const char *name = cascade_err_name(all_errors[i]);
        const char *text = cascade_err_text(all_errors[i]);

        assert_int_equal(strncmp(name, "CASCADE_", 8), 0);
        assert_true(strlen(text) > 3);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(all_errors[i], all_errors[j]);
            assert_string_not_equal(name, cascade_err_name(all_errors[j]));
            assert_string_not_equal(text, cascade_err_text(all_errors[j]));
        }
    }
    assert_string_equal(cascade_err_name(CASCADE_ERR_JSON), "CASCADE_ERR_JSON");
    assert_string_equal(cascade_err_name((cascade_err)9999),
                        "CASCADE_ERR_UNKNOWN");
    assert_string_equal(cascade_err_text((cascade_err)9999), "unknown error");
}

static void
the_version_is_that_of_the_header(void **state)
{
    char text[32];

    (void)state;
    (void)snprintf(text, sizeof(text), "%d.%d.%d", CASCADE_VERSION_MAJOR,
                   CASCADE_VERSION_MINOR, CASCADE_VERSION_PATCH);
    assert_string_equal(cascade_version(), text);
}

static void
a_failure_leaves_text_and_a_success_none(void **state)
{
    (void)state;
    assert_int_equal(csc_fail(CASCADE_ERR_EXISTS, "number %d", 7),
                     CASCADE_ERR_EXISTS);
    assert_string_equal(cascade_errmsg(), "number 7");
    assert_int_equal(csc_error_last(), CASCADE_ERR_EXISTS);
    assert_int_equal(csc_ok(), CASCADE_OK);
    assert_string_equal(cascade_errmsg(), "");
    assert_int_equal(csc_error_last(), CASCADE_OK);
    assert_int_equal(csc_fail_memory(), CASCADE_ERR_NO_MEMORY);
    assert_string_equal(cascade_errmsg(), "out of memory");
    (void)csc_fail(CASCADE_ERR_LOST, "%s", "x");
    assert_string_equal(cascade_errmsg(), "x");
    /* an empty text would look like a success */
    assert_int_equal(csc_fail(CASCADE_ERR_LOST, "%s", ""), CASCADE_ERR_LOST);
    assert_string_equal(cascade_errmsg(), cascade_err_text(CASCADE_ERR_LOST));
}

static void
a_text_may_be_built_from_the_one_before(void **state)
{
    (void)state;
    (void)csc_fail(CASCADE_ERR_JSON, "inner");
    (void)csc_fail(CASCADE_ERR_INVALID, "outer: %s", cascade_errmsg());
    assert_string_equal(cascade_errmsg(), "outer: inner");
}

/* Cut where a character ends, whatever the length. */
static void
an_error_is_kept_while_another_is_made(void **state)
{
    csc_error_kept kept;
    csc_error_kept none;

    (void)state;
    (void)csc_ok();
    csc_error_keep(&none, CASCADE_OK);
    (void)csc_fail(CASCADE_ERR_JSON, "first");
    csc_error_keep(&kept, CASCADE_ERR_JSON);
    (void)csc_fail(CASCADE_ERR_INVALID, "second");
    assert_int_equal(csc_error_restore(&kept), CASCADE_ERR_JSON);
    assert_int_equal(csc_error_last(), CASCADE_ERR_JSON);
    assert_string_equal(cascade_errmsg(), "first");
    assert_int_equal(csc_error_restore(&none), CASCADE_OK);
    assert_string_equal(cascade_errmsg(), "");
}

static void
a_long_text_is_cut_between_characters(void **state)
{
    char *two = support_repeat("\xc3\xa9", 400);
    char *three = support_repeat("\xe2\x82\xac", 400);
    char *four = support_repeat("\xf0\x9f\x98\x80", 400);
    const char *const texts[] = {two, three, four};
    const size_t sizes[] = {2, 3, 4};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (int pad = 0; pad < 5; pad++) {
            (void)csc_fail(CASCADE_ERR_INVALID, "%*s%s", pad, "", texts[i]);
            assert_int_equal(
                (strlen(cascade_errmsg()) - (size_t)pad) % sizes[i], 0);
            assert_in_range(strlen(cascade_errmsg()), CSC_ERRMSG_SIZE - 4,
                            CSC_ERRMSG_SIZE - 1);
        }
    }
    csc_mem_free(two);
    csc_mem_free(three);
    csc_mem_free(four);
}

static void *
fail_elsewhere(void *arg)
{
    *(bool *)arg = strcmp(cascade_errmsg(), "") == 0;
    (void)csc_fail(CASCADE_ERR_TIMEOUT, "elsewhere");
    return NULL;
}

static void
each_thread_has_its_own_text(void **state)
{
    pthread_t thread;
    bool began_clean = false;

    (void)state;
    (void)csc_fail(CASCADE_ERR_JSON, "here");
    assert_int_equal(
        pthread_create(&thread, NULL, fail_elsewhere, &began_clean), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(began_clean);
    assert_string_equal(cascade_errmsg(), "here");
}

/* ---- Checks ------------------------------------------------------------- */

static void
expect_invalid(cascade_err err, const char *what, const char *why)
{
    assert_int_equal(err, CASCADE_ERR_INVALID);
    assert_int_equal(csc_error_last(), CASCADE_ERR_INVALID);
    if (strstr(cascade_errmsg(), what) == NULL ||
        strstr(cascade_errmsg(), why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", cascade_errmsg(), why);
    (void)csc_ok();
}

static void
names_are_checked_at_their_limits(void **state)
{
    static const char *const good[] = {
        "a",       "Z",         "0",          "charge-card", "a.b_c:d-e",
        "cascade", "Cascade.x", "cascadex.y", ".",           "x.cascade.y",
    };
    static const char *const bad[] = {
        "a b", "a/b", "\xc3\xa9", "a\n", "a@b", "[", "`", "{", "a\x7f", "/",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(csc_check_name("node", good[i]), CASCADE_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_invalid(csc_check_name("node", bad[i]), "node",
                       "[A-Za-z0-9._:-]");
    expect_invalid(csc_check_name("queue", NULL), "queue", "NULL");
    expect_invalid(csc_check_name("queue", ""), "queue", "empty");
    expect_invalid(csc_check_name("step", "cascade."), "step", "reserved");
    expect_invalid(csc_check_name("step", "cascade.sleep"), "step", "reserved");
    for (size_t len = 127; len <= 129; len++) {
        char *name = support_repeat("n", len);

        if (len <= CSC_NAME_MAX)
            assert_int_equal(csc_check_name("node", name), CASCADE_OK);
        else
            expect_invalid(csc_check_name("node", name), "node", "128 bytes");
        csc_mem_free(name);
    }
}

/* A name is any byte of the allowed ones and no other. */
static void
names_allow_exactly_their_characters(void **state)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";

    (void)state;
    for (int c = 1; c < 256; c++) {
        const char name[] = {'n', (char)c, '\0'};
        bool is_allowed = strchr(allowed, c) != NULL;

        assert_int_equal(csc_check_name("node", name) == CASCADE_OK,
                         is_allowed);
    }
}

static void
texts_are_checked_at_their_limits(void **state)
{
    static const char *const good[] = {
        " ",         "a b",   "\xc3\xa9",     "\xc2\xa0", "\xf0\x9f\x98\x80",
        "cascade.x", "!\"#~", "\xe2\x80\xa8",
    };
    static const char *const controls[] = {
        "\n", "a\tb", "\x01", "\x1f", "\x7f", "\xc2\x80", "a\xc2\x9f",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(csc_check_text("key", good[i]), CASCADE_OK);
    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
        expect_invalid(csc_check_text("key", controls[i]), "key",
                       "control character");
    expect_invalid(csc_check_text("key", NULL), "key", "NULL");
    expect_invalid(csc_check_text("key", ""), "key", "empty");
    expect_invalid(csc_check_text("user_id", "\xff"), "user_id", "UTF-8");
    expect_invalid(csc_check_text("user_id", "a\xc3"), "user_id", "UTF-8");
    for (size_t len = 254; len <= 256; len++) {
        char *text = support_repeat("x", len);

        if (len <= CSC_TEXT_MAX)
            assert_int_equal(csc_check_text("key", text), CASCADE_OK);
        else
            expect_invalid(csc_check_text("key", text), "key", "255 bytes");
        csc_mem_free(text);
    }
}

typedef struct options_old {
    size_t size;
    int64_t a;
} options_old;

typedef struct options_ours {
    size_t size;
    int64_t a;
    int64_t b;
} options_ours;

typedef struct options_new {
    size_t size;
    int64_t a;
    int64_t b;
    char c[3];
} options_new;

static void
options_of_every_header_are_copied(void **state)
{
    options_old older = {sizeof(older), 1};
    options_ours same = {sizeof(same), 2, 3};
    options_new newer = {.size = sizeof(newer), .a = 4, .b = 5};
    const void *const given[] = {NULL, &older, &same, &newer};
    static const int64_t a[] = {0, 1, 2, 4};
    static const int64_t b[] = {0, 0, 3, 5};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        options_ours copy;

        memset(&copy, 0x55, sizeof(copy));
        assert_int_equal(
            csc_check_options("options", given[i], &copy, sizeof(copy)),
            CASCADE_OK);
        assert_int_equal(copy.size, sizeof(copy));
        assert_int_equal(copy.a, a[i]);
        assert_int_equal(copy.b, b[i]);
    }
}

static void
options_that_cannot_be_understood_are_refused(void **state)
{
    options_new newer = {.size = sizeof(newer)};
    options_ours ours = {.size = 0};
    options_ours copy;

    (void)state;
    for (size_t i = 0; i < sizeof(newer.c); i++) {
        newer.c[i] = 1;
        expect_invalid(
            csc_check_options("start options", &newer, &copy, sizeof(copy)),
            "start options", "newer library");
        newer.c[i] = 0;
    }
    expect_invalid(csc_check_options("o", &ours, &copy, sizeof(copy)), "o",
                   ".size = sizeof");
    ours.size = sizeof(size_t) - 1;
    expect_invalid(csc_check_options("o", &ours, &copy, sizeof(copy)), "o",
                   ".size = sizeof");
    ours.size = SIZE_MAX; /* never set: must not be followed */
    expect_invalid(csc_check_options("o", &ours, &copy, sizeof(copy)), "o",
                   ".size = sizeof");
    ours.size = sizeof(size_t);
    assert_int_equal(csc_check_options("o", &ours, &copy, sizeof(copy)),
                     CASCADE_OK);
}

/* The step is the caller's: what lies between is never taken for an element. */
static void
elements_of_every_header_are_found(void **state)
{
    const options_old older[] = {{sizeof(older[0]), 1}, {sizeof(older[0]), 2}};
    const options_ours same[] = {{sizeof(same[0]), 1, 7},
                                 {sizeof(same[0]), 2, 7}};
    const options_new newer[] = {{.size = sizeof(newer[0]), .a = 1, .b = 7},
                                 {.size = sizeof(newer[0]), .a = 2, .b = 7}};
    const void *const given[] = {older, same, newer};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t at = 0; at < 2; at++) {
            options_ours copy;

            memset(&copy, 0x55, sizeof(copy));
            assert_int_equal(
                csc_check_item("items", given[i], at, &copy, sizeof(copy)),
                CASCADE_OK);
            assert_int_equal(copy.size, sizeof(copy));
            assert_int_equal(copy.a, at + 1);
            assert_int_equal(copy.b, i == 0 ? 0 : 7);
        }
}

static void
elements_that_cannot_be_understood_are_refused(void **state)
{
    options_ours items[2] = {{sizeof(items[0]), 1, 1}, {0, 2, 2}};
    options_new newer[2] = {{.size = sizeof(newer[0])},
                            {.size = sizeof(newer[0]), .c = {0, 0, 1}}};
    options_ours copy;

    (void)state;
    expect_invalid(csc_check_item("items", items, 1, &copy, sizeof(copy)),
                   "items[1]: size is 0", "items[0]");
    items[0].size = SIZE_MAX; /* is not stepped by */
    expect_invalid(csc_check_item("items", items, 1, &copy, sizeof(copy)),
                   "items[0]", ".size = sizeof");
    expect_invalid(csc_check_item("items", newer, 1, &copy, sizeof(copy)),
                   "items[1]", "newer library");
}

/* ---- Log ---------------------------------------------------------------- */

static char logged[2000];
static int logged_count;
static cascade_log_level logged_level;

static void
keep_line(void *context, cascade_log_level level, const char *line)
{
    assert_ptr_equal(context, &logged_count);
    logged_count++;
    logged_level = level;
    (void)snprintf(logged, sizeof(logged), "%s", line);
}

static void
lines_of_the_wanted_levels_are_handed_on(void **state)
{
    csc_log log = {keep_line, &logged_count, CASCADE_LOG_WARNING};

    (void)state;
    logged_count = 0;
    csc_log_add(&log, CASCADE_LOG_ERROR, "cascade %d", 1);
    assert_string_equal(logged, "cascade 1");
    csc_log_add(&log, CASCADE_LOG_WARNING, "cascade %d", 2);
    assert_string_equal(logged, "cascade 2");
    assert_int_equal(logged_level, CASCADE_LOG_WARNING);
    csc_log_add(&log, CASCADE_LOG_INFO, "cascade %d", 3);
    assert_int_equal(logged_count, 2);
    log.fn = NULL;
    csc_log_add(&log, CASCADE_LOG_ERROR, "silent");
    csc_log_add(NULL, CASCADE_LOG_ERROR, "silent");
    assert_int_equal(logged_count, 2);
}

static void
a_line_is_one_line_and_leaves_the_error_alone(void **state)
{
    csc_log log = {keep_line, &logged_count, CASCADE_LOG_DEBUG};
    char *text = support_repeat("\xc3\xa9", 600);

    (void)state;
    (void)csc_fail(CASCADE_ERR_JSON, "kept");
    csc_log_add(&log, CASCADE_LOG_DEBUG, "a\nb\x1b[31m\x7f%s", "c\r");
    assert_string_equal(logged, "a b [31m c ");
    csc_log_add(&log, CASCADE_LOG_DEBUG, "%s", text);
    assert_int_equal(strlen(logged), 1000);
    csc_log_add(&log, CASCADE_LOG_DEBUG, "x%s", text);
    assert_int_equal(strlen(logged), 999);
    assert_string_equal(cascade_errmsg(), "kept");
    csc_mem_free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_a_name_and_a_text_of_its_own),
        cmocka_unit_test(the_version_is_that_of_the_header),
        cmocka_unit_test(a_failure_leaves_text_and_a_success_none),
        cmocka_unit_test(a_text_may_be_built_from_the_one_before),
        cmocka_unit_test(an_error_is_kept_while_another_is_made),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(each_thread_has_its_own_text),
        cmocka_unit_test(names_are_checked_at_their_limits),
        cmocka_unit_test(names_allow_exactly_their_characters),
        cmocka_unit_test(texts_are_checked_at_their_limits),
        cmocka_unit_test(options_of_every_header_are_copied),
        cmocka_unit_test(options_that_cannot_be_understood_are_refused),
        cmocka_unit_test(elements_of_every_header_are_found),
        cmocka_unit_test(elements_that_cannot_be_understood_are_refused),
        cmocka_unit_test(lines_of_the_wanted_levels_are_handed_on),
        cmocka_unit_test(a_line_is_one_line_and_leaves_the_error_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
