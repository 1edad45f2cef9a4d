/* SPDX-License-Identifier: MIT
 *
 * The table of the members of full_output: their order, who knows them, and
 * what is read of each. How they come to be written: test_records.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "state/full_output.h"

#define PATH "01890000-0000-7000-8000-00000000abcd/-/a#0"
#define KID "01890000-0000-7000-8000-000000000001"
#define TOKEN "01890000-0000-7000-8000-000000000002"
#define BY "01890000-0000-7000-8000-000000000003"
#define NEXT "01890000-0000-7000-8000-000000000004"

#define NAME(type, field, name, ...) name,

static const char *const members[] = {CSC_RECORD_MEMBERS(NAME)};

#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

/* ---- The table ---------------------------------------------------------- */

/* So no record needs to be sorted. */
static void
members_are_in_canonical_order(void **unused)
{
    (void)unused;
    for (size_t i = 1; i < MEMBER_COUNT; i++) {
        const char *before = members[i - 1];
        size_t len = strlen(before);

        assert_true(strlen(members[i]) >= len);
        if (strlen(members[i]) == len)
            assert_true(strcmp(before, members[i]) < 0);
    }
}

static char *
read_file(const char *path)
{
    static char text[16 * 1024];
    const char *root = getenv("CASCADE_SOURCE_DIR");
    char full_path[4096];
    FILE *file = NULL;
    size_t len = 0;

    assert_non_null(root);
    (void)snprintf(full_path, sizeof(full_path), "%s/%s", root, path);
    file = fopen(full_path, "r");
    assert_non_null(file);
    len = fread(text, 1, sizeof(text) - 1, file);
    assert_in_range(len, 1, sizeof(text) - 2);
    text[len] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static void
the_fuzzers_know_each_member(void **unused)
{
    const char *words = read_file("tests/fuzz/words.dict");

    (void)unused;
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        char word[64];

        (void)snprintf(word, sizeof(word), "\n\"\\\"%s\\\":", members[i]);
        if (strstr(words, word) == NULL)
            fail_msg("words.dict has no %s", members[i]);
    }
}

/* ---- Reading ------------------------------------------------------------ */

static csc_record
read(const char *path, const char *text)
{
    cascade_execution_row row = {.node_instance_id = path, .full_output = text};
    csc_record record;

    csc_full_output_read(&row, &record);
    return record;
}

static void
assert_span(csc_json_span span, const char *expected)
{
    assert_non_null(span.data);
    assert_int_equal(span.len, strlen(expected));
    assert_memory_equal(span.data, expected, span.len);
}

static void
assert_id(const cascade_uuid *id, const char *expected)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    assert_string_equal(cascade_uuid_format(id, text), expected);
}

static const char full[] =
    "{\"at\":1,\"by\":\"" BY "\",\"from\":2,\"keys\":[\"k\"],\"late\":[3],"
    "\"over\":true,\"undo\":true,\"after\":[4],\"child\":\"" KID "\","
    "\"first\":5,\"steps\":{\"x#0\":1},\"token\":\"" TOKEN "\",\"output\":6,"
    "\"policy\":\"abandon\",\"result\":true,\"signal\":7,\"cascade\":{},"
    "\"instead\":\"n\","
    "\"resumes\":8,\"skipped\":true,\"spawned\":[9],\"attempts\":10,"
    "\"continue\":true,\"deadline\":11,\"priority\":9,\"progress\":null,"
    "\"cancelled\":true,\"timed_out\":true,\"instead_of\":12,\"not_before\":-"
    "13,"
    "\"on_failure\":\"skip\",\"supersedes\":[14],\"continued_as\":\"" NEXT "\","
    "\"written_by_libcascade\":{\"early\":15}}";

static void
assert_full(const csc_record *r)
{
    assert_int_equal(r->at, 1);
    assert_id(&r->by, BY);
    assert_int_equal(r->from, 2);
    assert_span(r->late, "[3]");
    assert_true(r->over && r->undo);
    assert_span(r->after, "[4]");
    assert_id(&r->child, KID);
    assert_int_equal(r->first, 5);
    assert_span(r->steps, "{\"x#0\":1}");
    assert_id(&r->token, TOKEN);
    assert_span(r->output, "6");
    assert_int_equal(r->when_parent_ends, CASCADE_CHILD_ABANDON);
    assert_int_equal(r->signal, 7);
    assert_span(r->meta, "{}");
    assert_span(r->instead, "\"n\"");
    assert_int_equal(r->resumes, 8);
    assert_true(r->skipped);
    assert_int_equal(r->attempts, 10);
    assert_true(r->continued);
    assert_int_equal(r->deadline_ms, 11);
    assert_int_equal(r->priority, 9);
    assert_span(r->progress, "null");
    assert_true(r->cancelled && r->timed_out && r->is_result);
    assert_int_equal(r->instead_of, 12);
    assert_int_equal(r->not_before_ms, -13);
    assert_int_equal(r->on_failure, CASCADE_JOIN_SKIP);
    assert_span(r->supersedes, "[14]");
    assert_id(&r->continued_as, NEXT);
    assert_int_equal(r->early, 15);
}

/* In an execution of ours, and in one that was taken in. */
static void
each_member_is_read(void **unused)
{
    csc_record ours = read(PATH, full);
    csc_record taken = read("theirs", full);

    (void)unused;
    assert_full(&ours);
    assert_span(ours.keys, "[\"k\"]");
    assert_span(ours.spawned, "[9]");
    assert_false(ours.adopted || ours.foreign);
    assert_full(&taken);
    assert_true(taken.adopted && !taken.foreign);
}

/* But for the mark, which is added in one place only (mark.c). */
static void
what_was_read_is_written(void **unused)
{
    csc_record record = read(PATH, full);
    csc_buf text = {0};

    (void)unused;
    csc_full_output_write(&record, &text);
    assert_int_equal(text.len, strstr(full, ",\"written_by") - full + 1);
    assert_memory_equal(text.data, full, text.len - 1);
    csc_buf_fini(&text);
    csc_full_output_write(&csc_full_output_none, &text);
    assert_string_equal(text.data, "{}");
    csc_buf_fini(&text);
}

static void
assert_none(const csc_record *r)
{
    static const csc_json_span none = {0};

    assert_int_equal(r->at, CSC_RECORD_NO_AT);
    assert_int_equal(r->early, CSC_RECORD_NO_EARLY);
    assert_int_equal(r->from, CSC_RECORD_NO_ID);
    assert_int_equal(r->signal, CSC_RECORD_NO_ID);
    assert_int_equal(r->resumes, CSC_RECORD_NO_ID);
    assert_int_equal(r->instead_of, CSC_RECORD_NO_ID);
    assert_int_equal(r->first, 0);
    assert_int_equal(r->attempts, 0);
    assert_int_equal(r->priority, 0);
    assert_int_equal(r->not_before_ms, CASCADE_TIME_NONE);
    assert_int_equal(r->deadline_ms, CASCADE_TIME_NONE);
    assert_int_equal(r->when_parent_ends, CASCADE_CHILD_CANCEL);
    assert_int_equal(r->on_failure, CASCADE_JOIN_WAIT);
    assert_false(r->over || r->undo || r->skipped || r->continued ||
                 r->cancelled || r->timed_out || r->is_result);
    assert_true(csc_uuid_is_nil(&r->by) && csc_uuid_is_nil(&r->child) &&
                csc_uuid_is_nil(&r->token) &&
                csc_uuid_is_nil(&r->continued_as));
    assert_memory_equal(&r->late, &none, sizeof(none));
    assert_memory_equal(&r->after, &none, sizeof(none));
    assert_memory_equal(&r->steps, &none, sizeof(none));
    assert_memory_equal(&r->meta, &none, sizeof(none));
    assert_memory_equal(&r->instead, &none, sizeof(none));
    assert_memory_equal(&r->supersedes, &none, sizeof(none));
}

/* A member that makes no sense counts as absent. */
static void
nonsense_counts_as_absent(void **unused)
{
    csc_record none = read(PATH, NULL);
    csc_record odd = read(
        PATH, "{\"at\":-1,\"by\":\"x\",\"from\":\"2\",\"late\":{},\"over\":1,"
              "\"undo\":\"true\",\"after\":4,\"child\":null,\"first\":-5,"
              "\"steps\":[],\"token\":{},\"policy\":\"other\",\"result\":"
              "\"true\",\"signal\":1.5,"
              "\"cascade\":[],\"instead\":1,\"resumes\":2147483648,"
              "\"skipped\":false,\"attempts\":2147483647,\"continue\":[],"
              "\"deadline\":\"soon\",\"priority\":10,\"cancelled\":{},"
              "\"timed_out\":null,\"instead_of\":-1,\"not_before\":1e400,"
              "\"on_failure\":\"wait\",\"supersedes\":1,\"continued_as\":1,"
              "\"written_by_libcascade\":1}");

    (void)unused;
    assert_none(&none);
    assert_none(&odd);
}

/* Of another program's execution, without the mark. */
static void
what_others_have_written_says_nothing(void **unused)
{
    csc_record record = read("theirs", "{\"at\":1,\"after\":[2],\"output\":3}");

    (void)unused;
    assert_none(&record);
    assert_null(record.output.data);
    assert_true(record.adopted && record.foreign);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_in_canonical_order),
        cmocka_unit_test(the_fuzzers_know_each_member),
        cmocka_unit_test(each_member_is_read),
        cmocka_unit_test(what_was_read_is_written),
        cmocka_unit_test(nonsense_counts_as_absent),
        cmocka_unit_test(what_others_have_written_says_nothing),
    };

    return cmocka_run_group_tests_name("record members", tests, NULL, NULL);
}
