/* SPDX-License-Identifier: MIT
 *
 * What the tests of the PostgreSQL store share: a schema of its own for each
 * test in the database that CASCADE_TEST_PG names, a connection of libpq beside
 * the store to look and to interfere, and short forms of the moves.
 *
 *     PG_TEST(a_sentence)   a cmocka test with such a schema in *state
 */
#ifndef TESTS_STORE_POSTGRES_POSTGRES_FIXTURE_H
#define TESTS_STORE_POSTGRES_POSTGRES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <libpq-fe.h>

#include "base/error.h"
#include "base/uuid.h"
#include "store/store.h"
#include "support/rows.h"

#define PG_HANDLES 16
#define PG_LEASE_MS 600000
#define PG_UNTIL_MS 60000    /* until a test gives up waiting */
#define PG_DEADLINE_MS 60000 /* of stores that have none of their own */
#define PG_TRIES 5           /* where a machine may have stood still */

typedef struct pg_test {
    char schema[64];
    char plain[80]; /* the application_name of stores that have none of their
                       own */
    char role[80];  /* dropped at the end; "": none was made */
    PGconn *admin;  /* its search_path is the schema */
    cascade_store *handles[PG_HANDLES];
    size_t handle_count;
    test_rows rows;
} pg_test;

int pg_setup(void **state);       /* the schema is there, and empty */
int pg_setup_store(void **state); /* and migrated, with one handle */
int pg_teardown(void **state);

#define PG_TEST(test) \
    cmocka_unit_test_setup_teardown(test, pg_setup_store, pg_teardown)
#define PG_TEST_EMPTY(test) \
    cmocka_unit_test_setup_teardown(test, pg_setup, pg_teardown)

/* What main() returns: runs the tests, on the server that CASCADE_TEST_PG
 * names. A first argument is a filter of their names. */
int pg_main(const char *name, const struct CMUnitTest *tests, size_t count,
            int argc, char **argv);

/* The same in a database of their own: nobody else's sessions have a part in
 * its figures, or keep what is dead in it from being cleared away. */
int pg_main_apart(const char *name, const struct CMUnitTest *tests,
                  size_t count, int argc, char **argv);

const char *pg_conninfo(void);
int64_t pg_now_ms(void); /* monotonic */

/* ---- SQL ----------------------------------------------------------------- */

/* Statements on the admin connection; the test fails where they do, or where
 * they wait too long for a lock. */
void pg_sql(pg_test *test, const char *format, ...) CASCADE_PRINTF(2, 3);
/* The first value as a number, 0 for NULL and for no row. */
int64_t pg_number(pg_test *test, const char *format, ...) CASCADE_PRINTF(2, 3);
/* The first value as a text; the caller frees it with free(). */
char *pg_text(pg_test *test, const char *format, ...) CASCADE_PRINTF(2, 3);
/* Waits until the query gives a number that is not 0; the test fails when it
 * never does. */
void pg_until(pg_test *test, const char *format, ...) CASCADE_PRINTF(2, 3);
/* Until somebody has moved a lane on and waits for its client. The table alone
 * is locked before that, when the statement is planned. */
void pg_await_held_lane(pg_test *test);
/* Another connection, and what must go well on such a one. */
PGconn *pg_connect(const char *conninfo);
void pg_run(PGconn *conn, const char *sql);
/* Makes test->role, which can log in and use the schema's tables. */
void pg_make_role(pg_test *test);

/* ---- The store ----------------------------------------------------------- */

#define assert_ok(call) pg_check((call), CASCADE_OK, #call, __FILE__, __LINE__)
/* The call fails with `err` and leaves a text. */
#define assert_fails(err, call) \
    pg_check((call), (err), #call, __FILE__, __LINE__)
void pg_check(cascade_err got, cascade_err wanted, const char *call,
              const char *file, int line);

cascade_store_options pg_options(pg_test *test);
/* Calls that have `limit_ms`, again where that is a short time and was too
 * short for a machine that stood still:
 *
 *     pg_haste haste = pg_hurry(limit_ms);
 *
 *     do
 *         err = call();
 *     while (pg_again(&haste, err));
 *
 * That is so where more than half of it has passed: the server gives a lock up
 * after three quarters. Whatever else makes a call fail does so at once. */
typedef struct pg_haste {
    int64_t limit_ms;
    int64_t begun_ms; /* the call that is made */
    int64_t end_ms;
} pg_haste;
pg_haste pg_hurry(int64_t limit_ms);
bool pg_again(pg_haste *haste, cascade_err err);

/* Opens one more handle, closed by the teardown; again where a short deadline
 * was too short. NULL stands for the server itself, and for pg_options(). */
cascade_store *pg_open(pg_test *test, const char *url,
                       const cascade_store_options *options);
/* Opens and closes; how that ended. */
cascade_err pg_try_open(pg_test *test, const char *url, cascade_migrate mode);

/* Removes an incarnation, as an engine does that finds it dead: once more where
 * somebody has its rows for longer than a moment. */
cascade_err pg_remove(cascade_store *store, const cascade_uuid *dead,
                      size_t *freed);
/* Whether that takes less than `limit_ms`, once in a few tries: a machine may
 * stand still meanwhile. `limit_ms` is to leave a second and more for what is
 * done. */
bool pg_is_quick(void (*act)(void *context), void *context, int64_t limit_ms);

/* A figure of pg_stat_user_indexes, all indexes of a table together. A backend
 * tells its figures when it ends, or some time later: so all handles are closed
 * and `*store` is opened, anew where there is one already. */
int64_t pg_index_sum(pg_test *test, cascade_store **store, const char *figure,
                     const char *table);

cascade_uuid pg_attach(pg_test *test, cascade_store *store, int64_t lease_ms);
/* Batch `number` of lane 0. */
cascade_err pg_commit(pg_test *test, cascade_store *store,
                      cascade_uuid engine_id, int64_t number,
                      cascade_change **changes, size_t count, bool *existed);
cascade_err pg_commit_one(pg_test *test, cascade_store *store,
                          cascade_uuid engine_id, int64_t number,
                          cascade_change *change);
cascade_err pg_submit_one(pg_test *test, cascade_store *store,
                          cascade_change *start, bool *existed);

#endif
