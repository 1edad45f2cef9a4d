/* SPDX-License-Identifier: MIT
 *
 * What the base layer computes and PostgreSQL can compute too: keyed ids by the
 * formula of the public header, and times as text. The server is named by
 * CASCADE_TEST_PG. (For JSON see test_json_jsonb.c.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/server.h"
#include "base/support.h"
#include "base/uuid.h"

/* The one value that `sql` gives for up to three texts. */
static void
ask(const char *sql, const char *const values[3], int count, char answer[64])
{
    PGresult *result =
        PQexecParams(server_conn, sql, count, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s", PQerrorMessage(server_conn));
    (void)snprintf(answer, 64, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}

static const char formula[] =
    "WITH hash AS ("
    "  SELECT substring(sha256(convert_to($1::text, 'UTF8') || '\\x00'::bytea"
    "      || convert_to($2::text, 'UTF8') || '\\x00'::bytea"
    "      || convert_to($3::text, 'UTF8')) FROM 1 FOR 16) AS b)"
    " SELECT encode(set_byte(set_byte(b,"
    "      6, get_byte(b, 6) & 15 | 128),"
    "      8, get_byte(b, 8) & 63 | 128), 'hex')::uuid"
    " FROM hash";

static void
check_key(const char *user_id, const char *key, int64_t run)
{
    char run_text[32];
    const char *values[3] = {user_id, key, run_text};
    char expected[64];
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id = csc_uuid_v8(user_id, key, run);

    (void)snprintf(run_text, sizeof(run_text), "%" PRId64, run);
    ask(formula, values, 3, expected);
    assert_string_equal(cascade_uuid_format(&id, text), expected);
    if (run == 1) {
        assert_int_equal(cascade_uuid_from_key(user_id, key, &id), CASCADE_OK);
        assert_string_equal(cascade_uuid_format(&id, text), expected);
    }
}

static void
keyed_ids_are_those_of_the_sql_formula(void **state)
{
    support_rng rng = support_rng_open("keyed_ids_are_those");

    (void)state;
    check_key("anonymous", "order-1", 1);
    check_key("anonymous", "order-1", 2);
    check_key("\xc3\xa9", "\xf0\x9f\x98\x80 \\x00", 1);
    check_key("u", "k", INT64_MAX);
    for (int i = 0; i < 1000; i++) {
        char user_id[32];
        char key[256];
        size_t len = support_rng_below(&rng, sizeof(key) - 1) + 1;

        (void)snprintf(user_id, sizeof(user_id), "user %zu",
                       support_rng_below(&rng, 100));
        for (size_t at = 0; at < len; at++)
            key[at] = (char)(' ' + support_rng_below(&rng, 95));
        key[len] = '\0';
        check_key(user_id, key, (int64_t)support_rng_below(&rng, 3) + 1);
    }
}

/* to_char always prints the milliseconds, as we do. */
static void
times_are_those_of_timestamp(void **state)
{
    static const char sql[] =
        "SELECT to_char(timestamp 'epoch' + ($1::text || ' ms')::interval,"
        " 'YYYY-MM-DD HH24:MI:SS.MS')";
    const int64_t first = INT64_C(-62135596800000);
    const uint64_t range = UINT64_C(315537897600000);
    support_rng rng = support_rng_open("times_are_those_of_timestamp");

    (void)state;
    for (int i = 0; i < 2000; i++) {
        int64_t ms = first + (int64_t)(support_rng_next(&rng) % range);
        char number[32];
        const char *values[3] = {number};
        char expected[64];
        char text[CSC_TIME_TEXT_SIZE];

        (void)snprintf(number, sizeof(number), "%" PRId64, ms);
        ask(sql, values, 1, expected);
        assert_string_equal(csc_clock_format(ms, text), expected);
    }
}

/* As the server prints it by itself: without zeros at the end. */
static void
timestamps_of_the_server_are_read(void **state)
{
    support_rng rng = support_rng_open("timestamps_of_the_server_are_read");
    static const char sql[] = "SELECT $1::text::timestamp";

    (void)state;
    for (int i = 0; i < 2000; i++) {
        int64_t ms = (int64_t)support_rng_below(&rng, (size_t)1 << 42);
        char text[CSC_TIME_TEXT_SIZE];
        const char *values[3] = {text};
        char given[64];
        int64_t read = -1;

        if (i % 2 == 0)
            ms -= ms % 100;
        if (i % 4 == 0)
            ms -= ms % 1000;
        (void)csc_clock_format(ms, text);
        ask(sql, values, 1, given);
        assert_int_equal(csc_clock_parse(given, &read), 0);
        assert_true(read == ms);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keyed_ids_are_those_of_the_sql_formula),
        cmocka_unit_test(times_are_those_of_timestamp),
        cmocka_unit_test(timestamps_of_the_server_are_read),
    };

    return cmocka_run_group_tests(tests, server_open, server_close);
}
