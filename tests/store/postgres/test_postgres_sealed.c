/* SPDX-License-Identifier: MIT
 *
 * The functions for SQL where cascades have seals, which SQL cannot make: what
 * they wrote would not run.
 */
#include <stdio.h>
#include <string.h>

#include "cascade/integrity.h"
#include "store/postgres/postgres_fixture.h"
#include "support/sealed.h"

/* Says what to do instead. */
static void
expect_no_seals(pg_test *test, const char *sql)
{
    PGresult *result = PQexec(test->admin, sql);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    assert_non_null(state);
    assert_string_equal(state, "0A000");
    assert_non_null(strstr(PQresultErrorMessage(result),
                           "the cascades of this schema have seals, which SQL "
                           "cannot make; call the library"));
    PQclear(result);
}

static void
expect_refused(pg_test *test, const cascade_integrity *integrity)
{
    const cascade_start_options by_key = {.size = sizeof(by_key), .key = "k"};
    cascade_store_options options = pg_options(test);
    cascade_started started;
    cascade_store *store = NULL;
    char sql[100];
    char id[CASCADE_UUID_TEXT_SIZE];

    options.integrity = integrity;
    store = pg_open(test, NULL, &options);
    assert_ok(cascade_start(store, "n", NULL, &by_key, &started));
    (void)snprintf(sql, sizeof(sql), "SELECT cascade_signal('%s', 'go')",
                   cascade_uuid_format(&started.id, id));
    expect_no_seals(test, sql);
    expect_no_seals(test, "SELECT cascade_start('n')");
    expect_no_seals(test, "SELECT cascade_start('n', key => 'k')");
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"));
    assert_int_equal(0,
                     pg_number(test, "SELECT count(*) FROM cascade_messages"));
    assert_true(sealed_all(store, NULL));
}

static void
they_refuse_where_cascades_are_sealed(void **state)
{
    expect_refused(*state, sealed_by_secret());
}

static void
they_refuse_where_cascades_have_checksums(void **state)
{
    static const cascade_integrity checksum = {
        .size = sizeof(checksum), .mode = CASCADE_INTEGRITY_CHECKSUM};

    expect_refused(*state, &checksum);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(they_refuse_where_cascades_are_sealed),
        PG_TEST(they_refuse_where_cascades_have_checksums),
    };

    return pg_main("postgres: functions for SQL and seals", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
