/* SPDX-License-Identifier: MIT
 *
 * See postgres_app.h.
 */
#include "store/postgres/postgres_app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/postgres.h"

PGconn *app;

static void
app_drop_notice(void *context, const char *message)
{
    (void)message;
    ++*(int *)context;
}

int app_notice_count;

int
app_setup(void **state)
{
    pg_test *test = NULL;

    if (pg_setup_store(state) != 0)
        return -1;
    test = *state;
    app = PQconnectdb(pg_conninfo());
    app_notice_count = 0;
    PQsetNoticeProcessor(app, app_drop_notice, &app_notice_count);
    pg_sql(test, "CREATE TABLE orders (id int)");
    return PQstatus(app) == CONNECTION_OK ? 0 : -1;
}

/* Stores on it were opened after the fixture's, and are closed first. */
int
app_teardown(void **state)
{
    pg_test *test = *state;
    bool good = true;

    while (test->handle_count > 1)
        good = cascade_store_close(test->handles[--test->handle_count]) ==
                   CASCADE_OK &&
               good;
    PQfinish(app);
    return pg_teardown(state) == 0 && good ? 0 : -1;
}

/* The SQLSTATE, "" when it went well. */
const char *
app_try(const char *sql)
{
    static char sqlstate[6];
    PGresult *result = PQexec(app, sql);
    const char *got = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    snprintf(sqlstate, sizeof(sqlstate), "%s", got == NULL ? "" : got);
    PQclear(result);
    return sqlstate;
}

void
app_run(const char *sql)
{
    if (app_try(sql)[0] != '\0')
        fail_msg("%s: %s", sql, PQerrorMessage(app));
}

void
app_run_in(pg_test *test, const char *format)
{
    char sql[1024];

    snprintf(sql, sizeof(sql), format, test->schema);
    app_run(sql);
}

char *
app_text(const char *sql)
{
    PGresult *result = PQexec(app, sql);
    char *text;

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(app));
    text = strdup(PQgetisnull(result, 0, 0) ? "" : PQgetvalue(result, 0, 0));
    PQclear(result);
    return text;
}

void
app_expect(const char *sql, const char *value)
{
    char *got = app_text(sql);

    if (strcmp(got, value) != 0)
        fail_msg("%s: %s, not %s", sql, got, value);
    free(got);
}

/* As PQexec() left it. */
void
app_expect_state(PGTransactionStatusType status)
{
    assert_int_equal(CONNECTION_OK, PQstatus(app));
    assert_int_equal(PQ_PIPELINE_OFF, PQpipelineStatus(app));
    assert_int_equal(0, PQisnonblocking(app));
    assert_int_equal(status, PQtransactionStatus(app));
}

cascade_store *
app_open_with(pg_test *test, const cascade_store_options *options)
{
    cascade_store *store = NULL;

    assert_ok(cascade_postgres_open(app, options, &store));
    assert_true(test->handle_count < PG_HANDLES);
    test->handles[test->handle_count++] = store;
    return store;
}

cascade_store *
app_open(pg_test *test)
{
    cascade_store_options options = pg_options(test);

    return app_open_with(test, &options);
}

cascade_err
app_try_open(pg_test *test)
{
    cascade_store_options options = pg_options(test);
    cascade_store *store = NULL;
    cascade_err err = cascade_postgres_open(app, &options, &store);

    assert_true((err == CASCADE_OK) == (store != NULL));
    if (store != NULL)
        assert_ok(cascade_store_close(store));
    return err;
}

cascade_uuid
app_start(cascade_store *store)
{
    cascade_started started;

    assert_ok(cascade_start(store, "work", NULL, NULL, &started));
    assert_false(started.existed);
    return started.id;
}

cascade_err
app_try_start(cascade_store *store, const cascade_start_options *options)
{
    cascade_started started;

    return cascade_start(store, "work", NULL, options, &started);
}

int64_t
app_count(pg_test *test, const char *table)
{
    return pg_number(test, "SELECT count(*) FROM %s.%s", test->schema, table);
}

void
app_expect_said(const char *piece)
{
    if (strstr(cascade_errmsg(), piece) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", cascade_errmsg(), piece);
}
