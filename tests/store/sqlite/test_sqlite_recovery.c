/* SPDX-License-Identifier: MIT
 *
 * What SQLite says when it cannot begin to read for seconds, since another
 * process recovers the log: not seen here but played, for it takes ten of them.
 */
#include <string.h>

#include "store/sqlite/sqlite_fixture.h"

static int refusals; /* that are still to come */
static int refused;

/* The linker's names: see tests.cmake. */
int __real_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_step(sqlite3_stmt *statement);

int
__wrap_sqlite3_step(sqlite3_stmt *statement)
{
    if (refusals == 0)
        return __real_sqlite3_step(statement);
    refusals--;
    refused++;
    return SQLITE_PROTOCOL;
}

static void
refuse(int times)
{
    refusals = times;
    refused = 0;
}

static cascade_err
read_one(cascade_store *store)
{
    cascade_totals totals;

    return store->driver->manage->totals(store->self, &totals);
}

static void
a_recovery_of_the_log_is_waited_for(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);

    for (int times = 1; times <= 20; times++) {
        cascade_change *start = rows_start(&it->rows, rows_id(&it->rows));

        refuse(times);
        assert_int_equal(read_one(store), CASCADE_OK);
        assert_int_equal(refused, times);
        refuse(times);
        assert_int_equal(fixture_submit(store, start), CASCADE_OK);
        assert_int_equal(refused, times);
    }
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascades"), 20);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

static void
it_is_waited_for_until_the_deadline(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);

    fixture_set_deadline(store, 50);
    refuse(1000000);
    assert_int_equal(read_one(store), CASCADE_ERR_UNAVAILABLE);
    assert_non_null(strstr(cascade_errmsg(), "recovering"));
    assert_true(refused > 1);
    refuse(0);
    fixture_set_deadline(store, FIXTURE_WAIT_MS);
    assert_int_equal(read_one(store), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(a_recovery_of_the_log_is_waited_for),
        ONE(it_is_waited_for_until_the_deadline),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite recovery", tests, NULL, NULL);
}
