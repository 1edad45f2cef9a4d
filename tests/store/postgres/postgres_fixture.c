/* SPDX-License-Identifier: MIT
 *
 * See postgres_fixture.h.
 */
#include "store/postgres/postgres_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/in_time.h"
#include "support/unique.h"

#define SQL_SIZE 32768
#define FREE_MAX 10 /* runs that one removal frees */

/* With a database of the program's own; "": it has none. */
static char conninfo_apart[1024];

static const char *
conninfo_given(void)
{
    const char *conninfo = getenv("CASCADE_TEST_PG");

    return conninfo == NULL ? "" : conninfo;
}

const char *
pg_conninfo(void)
{
    return conninfo_apart[0] == '\0' ? conninfo_given() : conninfo_apart;
}

int64_t
pg_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
pause_a_moment(void)
{
    (void)nanosleep(&(struct timespec){0, 2000000}, NULL);
}

/* ---- SQL ----------------------------------------------------------------- */

static PGresult *
run_on(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    return result;
}

static PGresult *
run(pg_test *test, const char *format, va_list args)
{
    char sql[SQL_SIZE];
    int length = vsnprintf(sql, sizeof(sql), format, args);

    assert_in_range(length, 1, sizeof(sql) - 1);
    return run_on(test->admin, sql);
}

PGconn *
pg_connect(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo == NULL ? pg_conninfo() : conninfo);

    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(conn));
    return conn;
}

void
pg_run(PGconn *conn, const char *sql)
{
    PQclear(run_on(conn, sql));
}

void
pg_sql(pg_test *test, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    PQclear(run(test, format, args));
    va_end(args);
}

static int64_t
number_of(const PGresult *result)
{
    if (PQntuples(result) == 0 || PQgetisnull(result, 0, 0))
        return 0;
    return strtoll(PQgetvalue(result, 0, 0), NULL, 10);
}

int64_t
pg_number(pg_test *test, const char *format, ...)
{
    PGresult *result;
    int64_t number;
    va_list args;

    va_start(args, format);
    result = run(test, format, args);
    va_end(args);
    number = number_of(result);
    PQclear(result);
    return number;
}

char *
pg_text(pg_test *test, const char *format, ...)
{
    PGresult *result;
    char *text;
    va_list args;

    va_start(args, format);
    result = run(test, format, args);
    va_end(args);
    assert_true(PQntuples(result) > 0);
    text = strdup(PQgetvalue(result, 0, 0));
    PQclear(result);
    assert_non_null(text);
    return text;
}

void
pg_until(pg_test *test, const char *format, ...)
{
    int64_t end_ms = 0;
    char sql[SQL_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof(sql), format, args);
    va_end(args);
    while (pg_number(test, "%s", sql) == 0) {
        if (!in_time(&end_ms, PG_UNTIL_MS))
            fail_msg("never came true: %s", sql);
        pause_a_moment();
        /* Inside a transaction the server shows the sessions as they were when
         * it was first asked. */
        pg_sql(test, "SELECT pg_stat_clear_snapshot()");
    }
}

void
pg_await_held_lane(pg_test *test)
{
    pg_until(test, "SELECT count(*) FROM cascade_lanes AS l"
                   " JOIN pg_stat_activity AS a"
                   "  ON a.backend_xid::text = l.xmax::text"
                   " WHERE a.wait_event_type = 'Client'");
}

void
pg_make_role(pg_test *test)
{
    snprintf(test->role, sizeof(test->role), "%s_role", test->schema);
    pg_sql(test, "CREATE ROLE %s LOGIN", test->role);
    pg_sql(test, "GRANT USAGE ON SCHEMA %s TO %s", test->schema, test->role);
    pg_sql(test,
           "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s "
           "TO %s",
           test->schema, test->role);
    pg_sql(test, "GRANT USAGE ON ALL SEQUENCES IN SCHEMA %s TO %s",
           test->schema, test->role);
}

/* ---- Setup --------------------------------------------------------------- */

int
pg_setup(void **state)
{
    static uint64_t number;
    pg_test *test = calloc(1, sizeof(*test));

    if (test == NULL)
        return -1;
    test->admin = PQconnectdb(pg_conninfo());
    if (PQstatus(test->admin) != CONNECTION_OK) {
        fprintf(stderr, "CASCADE_TEST_PG: %s", PQerrorMessage(test->admin));
        PQfinish(test->admin);
        free(test);
        return -1;
    }
    rows_init(&test->rows, rows_seed() + number++, INT64_C(1767225600123));
    unique_name(test->schema, sizeof(test->schema), "cascade_server");
    snprintf(test->plain, sizeof(test->plain), "%s plain", test->schema);
    *state = test;
    pg_sql(test, "SET client_min_messages = error; SET lock_timeout = '60s'");
    pg_sql(test, "CREATE SCHEMA %s", test->schema);
    pg_sql(test, "SET search_path = %s", test->schema);
    return 0;
}

int
pg_setup_store(void **state)
{
    if (pg_setup(state) != 0)
        return -1;
    pg_open(*state, NULL, NULL);
    return 0;
}

int
pg_teardown(void **state)
{
    pg_test *test = *state;
    bool good = true;

    for (size_t i = 0; i < test->handle_count; i++)
        good = cascade_store_close(test->handles[i]) == CASCADE_OK && good;
    PQclear(PQexec(test->admin, "ROLLBACK"));
    pg_sql(test, "DROP SCHEMA IF EXISTS %s CASCADE", test->schema);
    if (test->role[0] != '\0') {
        pg_sql(test, "DROP OWNED BY %s CASCADE", test->role);
        pg_sql(test, "DROP ROLE %s", test->role);
    }
    PQfinish(test->admin);
    rows_fini(&test->rows);
    free(test);
    return good ? 0 : -1;
}

/* ---- The store ----------------------------------------------------------- */

void
pg_check(cascade_err got, cascade_err wanted, const char *call,
         const char *file, int line)
{
    if (got != wanted) {
        print_error("%s\n  gave %s (%s), not %s\n", call, cascade_err_name(got),
                    got == CASCADE_OK ? "" : cascade_errmsg(),
                    cascade_err_name(wanted));
        _fail(file, line);
    }
    if (got != CASCADE_OK && csc_error_last() != got) {
        print_error("%s\n  gave %s without its text\n", call,
                    cascade_err_name(got));
        _fail(file, line);
    }
}

cascade_store_options
pg_options(pg_test *test)
{
    return (cascade_store_options){.size = sizeof(cascade_store_options),
                                   .schema = test->schema,
                                   .application_name = test->plain,
                                   .deadline_ms = PG_DEADLINE_MS};
}

pg_haste
pg_hurry(int64_t limit_ms)
{
    int64_t now_ms = pg_now_ms();

    return (pg_haste){.limit_ms = limit_ms,
                      .begun_ms = now_ms,
                      .end_ms = now_ms + PG_UNTIL_MS};
}

bool
pg_again(pg_haste *haste, cascade_err err)
{
    int64_t now_ms = pg_now_ms();
    int64_t took_ms = now_ms - haste->begun_ms;

    haste->begun_ms = now_ms;
    return err == CASCADE_ERR_UNAVAILABLE && haste->limit_ms < PG_DEADLINE_MS &&
           took_ms > haste->limit_ms / 2 && now_ms < haste->end_ms;
}

cascade_store *
pg_open(pg_test *test, const char *url, const cascade_store_options *options)
{
    cascade_store_options plain = pg_options(test);
    const cascade_store_options *used = options == NULL ? &plain : options;
    pg_haste haste = pg_hurry(used->deadline_ms);
    cascade_store *store = NULL;
    cascade_err err = CASCADE_OK;

    assert_true(test->handle_count < PG_HANDLES);
    do
        err =
            cascade_store_open(url == NULL ? pg_conninfo() : url, used, &store);
    while (pg_again(&haste, err));
    assert_ok(err);
    test->handles[test->handle_count++] = store;
    return store;
}

cascade_err
pg_try_open(pg_test *test, const char *url, cascade_migrate mode)
{
    cascade_store_options options = pg_options(test);
    cascade_store *store = NULL;
    cascade_err err;

    options.migrate = mode;
    err =
        cascade_store_open(url == NULL ? pg_conninfo() : url, &options, &store);
    if (err == CASCADE_OK)
        assert_ok(cascade_store_close(store));
    return err;
}

cascade_uuid
pg_attach(pg_test *test, cascade_store *store, int64_t lease_ms)
{
    cascade_incarnation row = rows_incarnation(&test->rows, 1, lease_ms);

    assert_ok(store->driver->attach(store->self, &row));
    return row.engine_id;
}

cascade_err
pg_commit(pg_test *test, cascade_store *store, cascade_uuid engine_id,
          int64_t number, cascade_change **changes, size_t count, bool *existed)
{
    cascade_batch batch = {.engine_id = engine_id,
                           .lane = 0,
                           .number = number,
                           .changes = rows_changes(&test->rows, changes, count),
                           .change_count = count};
    bool *told = calloc(count + 1, sizeof(*told));
    cascade_err err;

    assert_non_null(told);
    err = store->driver->commit(store->self, &batch, told);
    if (err == CASCADE_OK && existed != NULL)
        memcpy(existed, told, count * sizeof(*told));
    free(told);
    return err;
}

cascade_err
pg_commit_one(pg_test *test, cascade_store *store, cascade_uuid engine_id,
              int64_t number, cascade_change *change)
{
    return pg_commit(test, store, engine_id, number, &change, 1, NULL);
}

cascade_err
pg_submit_one(pg_test *test, cascade_store *store, cascade_change *start,
              bool *existed)
{
    bool told;
    cascade_err err;

    (void)test;
    err = rows_submit(store->driver, store->self, start, 1, &told);
    if (err == CASCADE_OK && existed != NULL)
        *existed = told;
    return err;
}

cascade_err
pg_remove(cascade_store *store, const cascade_uuid *dead, size_t *freed)
{
    int64_t end_ms = 0;
    cascade_err err = CASCADE_OK;

    do
        err = store->driver->remove(store->self, dead, 1, FREE_MAX, freed);
    while (err == CASCADE_ERR_UNAVAILABLE && in_time(&end_ms, PG_UNTIL_MS));
    return err;
}

bool
pg_is_quick(void (*act)(void *context), void *context, int64_t limit_ms)
{
    for (int i = 0; i < PG_TRIES; i++) {
        int64_t begun_ms = pg_now_ms();

        act(context);
        if (pg_now_ms() - begun_ms < limit_ms)
            return true;
    }
    return false;
}

int64_t
pg_index_sum(pg_test *test, cascade_store **store, const char *figure,
             const char *table)
{
    cascade_store_options options = pg_options(test);

    options.application_name = test->schema;
    while (test->handle_count > 0)
        assert_ok(cascade_store_close(test->handles[--test->handle_count]));
    pg_until(test,
             "SELECT (count(*) = 0)::int FROM pg_stat_activity"
             " WHERE application_name IN ('%s', '%s')",
             test->schema, test->plain);
    *store = pg_open(test, NULL, &options);
    /* A session tells what it did once a second, unless it is made to; and what
     * this one inserted has been looked up for foreign keys. */
    (void)pg_number(test, "SELECT 1 FROM pg_stat_force_next_flush()");
    return pg_number(test,
                     "SELECT sum(%s) FROM pg_stat_user_indexes"
                     " WHERE relid = '%s.%s'::regclass",
                     figure, test->schema, table);
}

/* ---- The program --------------------------------------------------------- */

static bool
is_server_given(void)
{
    if (conninfo_given()[0] != '\0')
        return true;
    fprintf(stderr, "CASCADE_TEST_PG is not set: give the conninfo of a "
                    "PostgreSQL database for tests\n");
    return false;
}

static int
run_sql(const char *format, const char *database)
{
    PGconn *conn = PQconnectdb(conninfo_given());
    PGresult *result;
    char sql[200];
    bool good;

    snprintf(sql, sizeof(sql), format, database);
    result = PQexec(conn, sql);
    good = PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!good)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
    return good ? 0 : -1;
}

int
pg_main_apart(const char *name, const struct CMUnitTest *tests, size_t count,
              int argc, char **argv)
{
    char database[UNIQUE_SIZE];
    int status = 1;

    if (!is_server_given())
        return 1;
    unique_name(database, sizeof(database), "cascade_apart");
    if (run_sql("CREATE DATABASE %s TEMPLATE template0", database) != 0)
        return 1;
    snprintf(conninfo_apart, sizeof(conninfo_apart), "%s dbname=%s",
             conninfo_given(), database);
    status = pg_main(name, tests, count, argc, argv);
    return run_sql("DROP DATABASE %s WITH (FORCE)", database) == 0 ? status : 1;
}

int
pg_main(const char *name, const struct CMUnitTest *tests, size_t count,
        int argc, char **argv)
{
    if (!is_server_given())
        return 1;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL) == 0 ? 0 : 1;
}
