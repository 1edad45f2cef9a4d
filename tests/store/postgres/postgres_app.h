/* SPDX-License-Identifier: MIT
 *
 * An application with a connection of its own, for the tests of stores on that:
 *
 *     APP_TEST(a_sentence)   a cmocka test as PG_TEST() makes, with `app`
 */
#ifndef TESTS_STORE_POSTGRES_POSTGRES_APP_H
#define TESTS_STORE_POSTGRES_POSTGRES_APP_H

#include "store/postgres/postgres_fixture.h"

#define KEYED(name)                                        \
    &(cascade_start_options)                               \
    {                                                      \
        .size = sizeof(cascade_start_options), .key = name \
    }

#define APP_TEST(test) \
    cmocka_unit_test_setup_teardown(test, app_setup, app_teardown)

extern PGconn *app;
extern int app_notice_count; /* how many notices it has got */

int app_setup(void **state); /* there is a table `orders` too */
int app_teardown(void **state);

/* Statements on it: the SQLSTATE ("": it went well); or the test fails. */
const char *app_try(const char *sql);
void app_run(const char *sql);
/* The same with the schema for %s. */
void app_run_in(pg_test *test, const char *format);
/* The first value; the caller frees it with free(). */
char *app_text(const char *sql);
void app_expect(const char *sql, const char *value);
/* It is as PQexec() leaves it, in a transaction or not. */
void app_expect_state(PGTransactionStatusType status);

/* A store on it, closed by the teardown. */
cascade_store *app_open_with(pg_test *test,
                             const cascade_store_options *options);
cascade_store *app_open(pg_test *test);
/* Opens and closes; how that ended. */
cascade_err app_try_open(pg_test *test);

cascade_uuid app_start(cascade_store *store);
cascade_err app_try_start(cascade_store *store,
                          const cascade_start_options *options);
/* Rows of a table, as others see it. */
int64_t app_count(pg_test *test, const char *table);
/* The last error's text has that piece. */
void app_expect_said(const char *piece);

#endif
