/* SPDX-License-Identifier: MIT
 *
 * Stores on a connection of the application's. `app` is that connection; what
 * others see is looked at through test->admin.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/postgres.h"
#include "store/postgres/postgres_app.h"
#include "store/store.h"
#include "support/in_time.h"

/* ---- Outside a transaction ----------------------------------------------- */

static void
outside_a_transaction_each_call_is_one_of_its_own(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    cascade_info *info = NULL;
    cascade_started first;
    cascade_started again;
    cascade_uuid id = app_start(store);

    assert_int_equal(1, app_count(test, "cascades"));
    assert_ok(cascade_get(store, &id, &info));
    assert_int_equal(CASCADE_RUNNING, info->status);
    cascade_info_free(info);
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    assert_int_equal(1, app_count(test, "cascade_messages"));
    assert_ok(cascade_start(store, "work", NULL, KEYED("k"), &first));
    assert_ok(cascade_start(store, "work", NULL, KEYED("k"), &again));
    assert_false(first.existed);
    assert_true(again.existed);
    assert_true(csc_uuid_equal(&first.id, &again.id));
    app_expect_state(PQTRANS_IDLE);
}

/* Every setting, statement, lock and channel; and blocking or not. */
static void
the_connection_is_left_as_it_was(void **state)
{
    static const char settings[] =
        "SELECT md5(string_agg(name || '=' || setting, ',' ORDER BY name))"
        " FROM pg_settings";
    pg_test *test = *state;
    cascade_store *store = NULL;
    char *before = NULL;

    app_run("SET search_path = pg_temp");
    app_run("SET enable_seqscan = on");
    app_run("PREPARE mine AS SELECT 41 + 1");
    before = app_text(settings);
    store = app_open(test);
    for (int within = 0; within < 2; within++) {
        if (within)
            app_run("BEGIN");
        app_start(store);
        app_expect_state(within ? PQTRANS_INTRANS : PQTRANS_IDLE);
        app_expect(settings, before);
        if (within)
            app_run("COMMIT");
    }
    assert_int_equal(0, PQsetnonblocking(app, 1));
    app_start(store);
    assert_int_equal(1, PQisnonblocking(app));
    assert_int_equal(0, PQsetnonblocking(app, 0));
    assert_ok(cascade_store_close(store));
    test->handle_count--;
    app_expect(settings, before);
    app_expect("EXECUTE mine", "42");
    app_expect("SELECT string_agg(name, ',') FROM pg_prepared_statements",
               "mine");
    app_expect("SELECT count(*) FROM pg_listening_channels()", "0");
    app_expect("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
               " AND pid = pg_backend_pid()",
               "0");
    app_run("DO 'BEGIN RAISE NOTICE ''x''; END'");
    assert_int_equal(1, app_notice_count);
    free(before);
}

static void
a_schema_is_made_on_it(void **state)
{
    pg_test *test = *state;
    cascade_store *store = NULL;

    assert_ok(cascade_store_close(test->handles[--test->handle_count]));
    pg_sql(test, "DROP SCHEMA %s CASCADE", test->schema);
    store = app_open(test);
    app_start(store);
    assert_int_equal(1, app_count(test, "cascades"));
    assert_int_equal(0, app_notice_count);
    app_expect_state(PQTRANS_IDLE);
}

/* ---- Within a transaction ------------------------------------------------ */

static void
a_start_takes_effect_with_the_commit(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    cascade_info *info = NULL;
    cascade_uuid id;

    app_run("BEGIN");
    app_run_in(test, "INSERT INTO %s.orders VALUES (1)");
    id = app_start(store);
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    assert_ok(cascade_get(store, &id, &info));
    cascade_info_free(info);
    app_expect_state(PQTRANS_INTRANS);
    assert_int_equal(0, app_count(test, "cascades"));
    app_run("COMMIT");
    assert_int_equal(1, app_count(test, "cascades"));
    assert_int_equal(1, app_count(test, "cascade_runs"));
    assert_int_equal(1, app_count(test, "cascade_messages"));
    assert_int_equal(1, app_count(test, "orders"));
}

static void
a_rollback_leaves_nothing(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    cascade_uuid id;

    app_run("BEGIN");
    id = app_start(store);
    assert_ok(app_try_start(store, KEYED("k")));
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    app_run("ROLLBACK");
    assert_int_equal(0, app_count(test, "cascades"));
    assert_int_equal(0, app_count(test, "cascade_runs"));
    assert_int_equal(0, app_count(test, "node_executions"));
    assert_int_equal(0, app_count(test, "cascade_messages"));
    assert_ok(app_try_start(store, KEYED("k")));
    assert_int_equal(1, app_count(test, "cascades"));
}

static void
savepoints_of_the_application_hold(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);

    app_run("BEGIN");
    app_start(store);
    app_run("SAVEPOINT cascade_guest"); /* ours has that name too */
    app_start(store);
    app_start(store);
    app_run("ROLLBACK TO SAVEPOINT cascade_guest");
    app_run("RELEASE SAVEPOINT cascade_guest");
    app_run("COMMIT");
    assert_int_equal(1, app_count(test, "cascades"));
}

/* Refused by the server, by a limit, by the server's mood. */
static void
an_error_leaves_the_transaction_usable(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    const cascade_start_options bad = {.size = sizeof(bad), .queue = "bad"};
    cascade_uuid none = {{0}};

    pg_sql(test, "ALTER TABLE cascade_runs ADD CHECK (queue <> 'bad')");
    app_run("BEGIN");
    app_run_in(test, "INSERT INTO %s.orders VALUES (1)");
    app_start(store);
    assert_fails(CASCADE_ERR_REFUSED, app_try_start(store, &bad));
    app_expect_state(PQTRANS_INTRANS);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_signal(store, &none, "go", NULL, NULL));
    app_expect_state(PQTRANS_INTRANS);
    app_start(store);
    app_run("COMMIT");
    assert_int_equal(2, app_count(test, "cascades"));
    assert_int_equal(2, app_count(test, "node_executions"));
    assert_int_equal(1, app_count(test, "orders"));
}

/* A table is taken away and comes back. */
static void
an_error_in_a_read_leaves_it_usable_too(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    cascade_uuid id = app_start(store);
    cascade_info *info = NULL;
    int32_t run_number = 0;

    app_run("BEGIN");
    app_run_in(test, "ALTER TABLE %s.cascade_keys RENAME TO away");
    app_run_in(test, "ALTER TABLE %s.cascades RENAME TO cascades_away");
    assert_fails(CASCADE_ERR_SCHEMA,
                 store->driver->chain->key(store->self, "u", "k", &run_number));
    app_expect_state(PQTRANS_INTRANS);
    assert_fails(CASCADE_ERR_SCHEMA, cascade_get(store, &id, &info));
    app_expect_state(PQTRANS_INTRANS);
    assert_fails(CASCADE_ERR_SCHEMA, app_try_start(store, NULL));
    app_expect_state(PQTRANS_INTRANS);
    app_run("ROLLBACK");
    assert_ok(cascade_get(store, &id, &info));
    cascade_info_free(info);
}

static void
a_transaction_that_only_reads_is_told(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);

    app_run("BEGIN READ ONLY");
    assert_fails(CASCADE_ERR_READ_ONLY, app_try_start(store, NULL));
    app_expect_state(PQTRANS_INTRANS);
    app_run("COMMIT");
    app_start(store);
}

/* One that tries again does so for longer than any test waits. */
static cascade_store *
open_patient(pg_test *test)
{
    cascade_store_options options = pg_options(test);

    options.deadline_ms = 10 * PG_UNTIL_MS;
    return app_open_with(test, &options);
}

/* Another has used the key since the snapshot was taken. */
static void
isolation_of_the_application_holds(void **state)
{
    static const char *const levels[] = {"REPEATABLE READ", "SERIALIZABLE"};
    pg_test *test = *state;
    cascade_store *store = open_patient(test);
    cascade_started started;
    int64_t begun_ms = 0;
    char sql[80];
    char key[8];

    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof(sql), "BEGIN ISOLATION LEVEL %s", levels[i]);
        snprintf(key, sizeof(key), "k%d", i);
        app_run(sql);
        app_run("SELECT 1");
        assert_ok(app_try_start(test->handles[0], KEYED(key)));
        begun_ms = pg_now_ms();
        assert_fails(CASCADE_ERR_UNAVAILABLE, app_try_start(store, KEYED(key)));
        assert_true(pg_now_ms() - begun_ms < PG_UNTIL_MS); /* once */
        app_expect_said("anew");
        app_expect_said("40001");
        app_expect_state(PQTRANS_INTRANS);
        app_expect("SHOW transaction_isolation",
                   i == 0 ? "repeatable read" : "serializable");
        app_run("ROLLBACK");
        app_run(sql);
        assert_ok(cascade_start(store, "work", NULL, KEYED(key), &started));
        assert_true(started.existed);
        app_run("COMMIT");
    }
    app_run("BEGIN");
    app_run("SELECT 1");
    assert_ok(app_try_start(test->handles[0], KEYED("k2")));
    assert_ok(cascade_start(store, "work", NULL, KEYED("k2"), &started));
    assert_true(started.existed);
    app_run("COMMIT");
    assert_int_equal(3, app_count(test, "cascades"));
}

/* Two transactions that start two keys crosswise: the server ends one. */
static void *
start_b(void *context)
{
    cascade_store *store = context;
    static cascade_err err;

    err = app_try_start(store, KEYED("b"));
    return &err;
}

static void
a_deadlock_is_told_once(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_store *store = app_open(test);
    cascade_store *other = NULL;
    PGconn *second = pg_connect(NULL);
    pthread_t thread;
    cascade_err here;
    void *there = NULL;

    pg_run(second, "SET deadlock_timeout = '10min'");
    app_run("SET deadlock_timeout = '200ms'");
    assert_ok(cascade_postgres_open(second, &options, &other));
    app_run("BEGIN");
    pg_run(second, "BEGIN");
    assert_ok(app_try_start(other, KEYED("a")));
    assert_ok(app_try_start(store, KEYED("b")));
    assert_int_equal(0, pthread_create(&thread, NULL, start_b, other));
    pg_until(test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE wait_event_type = 'Lock' AND pid = %d",
             PQbackendPID(second));
    here = app_try_start(store, KEYED("a"));
    assert_int_equal(CASCADE_ERR_UNAVAILABLE, here);
    app_expect_said("anew");
    app_expect_state(PQTRANS_INTRANS);
    app_run("ROLLBACK");
    pthread_join(thread, &there);
    assert_int_equal(CASCADE_OK, *(cascade_err *)there);
    pg_run(second, "COMMIT");
    assert_ok(cascade_store_close(other));
    PQfinish(second);
    assert_int_equal(2, app_count(test, "cascades"));
}

/* Tables of the session shadow those of the schema; ours are not meant. */
static void
temporary_tables_do_not_shadow(void **state)
{
    static const char *const tables[] = {"cascades",        "node_executions",
                                         "context_events",  "cascade_runs",
                                         "cascade_keys",    "cascade_messages",
                                         "cascade_engines", "cascade_schema"};
    pg_test *test = *state;
    cascade_store *store = NULL;
    cascade_uuid id;
    char sql[200];

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        snprintf(sql, sizeof(sql), "CREATE TEMP TABLE %s (id int)", tables[i]);
        app_run(sql);
    }
    snprintf(sql, sizeof(sql), "SET search_path = pg_temp, %s", test->schema);
    app_run(sql);
    store = app_open(test);
    app_run("BEGIN");
    id = app_start(store);
    assert_ok(app_try_start(store, KEYED("k")));
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    app_run("COMMIT");
    app_start(store);
    assert_int_equal(3, app_count(test, "cascades"));
    assert_int_equal(1, app_count(test, "cascade_messages"));
    app_expect("SELECT count(*) FROM pg_temp.cascades", "0");
}

/* ---- Telling others ------------------------------------------------------ */

static bool
told(pg_test *test)
{
    PGnotify *notify;
    bool any = false;

    pg_sql(test, "SELECT 1");
    PQconsumeInput(test->admin);
    for (;;) {
        notify = PQnotifies(test->admin);
        if (notify == NULL)
            return any;
        any = true;
        PQfreemem(notify);
    }
}

static void
others_are_told_by_wake_after_the_commit(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    char *channel = NULL;

    assert_ok(
        test->handles[0]->driver->wait(test->handles[0]->self, -1, 1, NULL));
    channel = pg_text(test,
                      "SELECT 'cascade_' || substr(encode(sha256("
                      "'%s'::bytea), 'hex'), 1, 16)",
                      test->schema);
    pg_sql(test, "LISTEN %s", channel);
    app_run("BEGIN");
    app_start(store);
    assert_fails(CASCADE_ERR_MISUSE, cascade_wake(store));
    app_expect_state(PQTRANS_INTRANS);
    app_run("COMMIT");
    assert_false(told(test));
    assert_ok(cascade_wake(store));
    assert_true(told(test));
    app_start(store);
    assert_true(told(test));
    free(channel);
}

static cascade_err
do_work(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

/* Found by polling, waited for by polling. */
static void
an_engine_on_another_store_runs_it(void **state)
{
    pg_test *test = *state;
    const cascade_engine_options fast = {
        .size = sizeof(fast), .worker_count = 1, .poll_interval_ms = 100};
    cascade_store *store = app_open(test);
    cascade_engine *engine = NULL;
    cascade_uuid id;
    cascade_status status = CASCADE_RUNNING;

    assert_ok(cascade_engine_open(test->handles[0], &fast, &engine));
    assert_ok(cascade_engine_register(engine, "work", do_work, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    app_run("BEGIN");
    id = app_start(store);
    app_run("COMMIT");
    assert_ok(cascade_wake(store));
    assert_ok(cascade_wait(store, &id, PG_UNTIL_MS, &status));
    assert_int_equal(CASCADE_COMPLETED, status);
    app_expect("SELECT count(*) FROM pg_listening_channels()", "0");
    assert_ok(cascade_engine_stop(engine, PG_UNTIL_MS));
    assert_ok(cascade_engine_close(engine));
}

static void
it_has_no_engines(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    const cascade_store_driver *driver = store->driver;
    cascade_incarnation row = rows_incarnation(&test->rows, 1, PG_LEASE_MS);
    cascade_engine *engine = NULL;
    size_t freed = 0;

    assert_null(driver->node_txn);
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 cascade_engine_open(store, NULL, &engine));
    assert_fails(CASCADE_ERR_UNSUPPORTED, driver->attach(store->self, &row));
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 driver->remove(store->self, NULL, 0, 1, &freed));
}

/* ---- A connection that is in no state for it ----------------------------- */

static void
a_busy_connection_is_told(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    PGresult *result;

    assert_int_equal(1, PQsendQuery(app, "SELECT 1"));
    assert_fails(CASCADE_ERR_MISUSE, app_try_start(store, NULL));
    app_expect_said("fetch");
    assert_fails(CASCADE_ERR_MISUSE, app_try_open(test));
    while ((result = PQgetResult(app)) != NULL)
        PQclear(result);
    app_run("CREATE TEMP TABLE t (id int)");
    PQclear(PQexec(app, "COPY t FROM STDIN"));
    assert_fails(CASCADE_ERR_MISUSE, app_try_start(store, NULL));
    app_expect_said("COPY");
    assert_int_equal(1, PQputCopyEnd(app, NULL));
    while ((result = PQgetResult(app)) != NULL)
        PQclear(result);
    assert_int_equal(1, PQenterPipelineMode(app));
    assert_fails(CASCADE_ERR_MISUSE, app_try_start(store, NULL));
    app_expect_said("pipeline");
    assert_fails(CASCADE_ERR_MISUSE, app_try_open(test));
    assert_int_equal(1, PQexitPipelineMode(app));
    app_expect_state(PQTRANS_IDLE);
    app_start(store);
}

static void
a_failed_transaction_takes_no_calls(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);

    app_run("BEGIN");
    app_run("SAVEPOINT before");
    assert_string_equal("22012", app_try("SELECT 1 / 0"));
    assert_fails(CASCADE_ERR_MISUSE, app_try_start(store, NULL));
    app_expect_said("failed");
    app_expect_state(PQTRANS_INERROR);
    assert_fails(CASCADE_ERR_MISUSE, app_try_open(test));
    app_run("ROLLBACK TO SAVEPOINT before");
    app_start(store);
    app_run("COMMIT");
    assert_int_equal(1, app_count(test, "cascades"));
}

static void
a_store_is_not_opened_in_a_transaction(void **state)
{
    pg_test *test = *state;

    app_run("BEGIN");
    assert_fails(CASCADE_ERR_MISUSE, app_try_open(test));
    app_expect_said("transaction");
    app_expect_state(PQTRANS_INTRANS);
    app_run("COMMIT");
    assert_ok(app_try_open(test));
    assert_fails(CASCADE_ERR_INVALID, cascade_postgres_open(NULL, NULL, NULL));
}

static void
another_client_encoding_is_refused(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);

    assert_int_equal(0, PQsetClientEncoding(app, "LATIN1"));
    assert_fails(CASCADE_ERR_INVALID, app_try_start(store, NULL));
    app_expect_said("UTF8");
    assert_fails(CASCADE_ERR_INVALID, app_try_open(test));
    assert_int_equal(0, PQsetClientEncoding(app, "UTF8"));
    app_start(store);
}

static cascade_err
call_again(void *context, const cascade_row *row)
{
    cascade_store *store = context;
    int64_t now_ms = 0;

    (void)row;
    return store->driver->now(store->self, &now_ms);
}

static cascade_err
give_up(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return cascade_store_fail(CASCADE_ERR_FAILED, "enough");
}

static cascade_err
load(cascade_store *store, const cascade_uuid *ids, size_t id_count,
     cascade_err (*sink)(void *, const cascade_row *))
{
    const cascade_load_sink to = {.context = store, .on_cascade = sink};

    return store->driver->load(store->self, ids, id_count, 0, &to);
}

/* A sink that calls the store is told; one that gives up costs the application
 * nothing. */
static void
a_sink_may_fail(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    cascade_uuid ids[3];

    for (int i = 0; i < 3; i++)
        ids[i] = app_start(store);
    for (int within = 0; within < 2; within++) {
        if (within)
            app_run("BEGIN");
        assert_fails(CASCADE_ERR_MISUSE, load(store, ids, 3, call_again));
        assert_fails(CASCADE_ERR_FAILED, load(store, ids, 3, give_up));
        app_expect_state(within ? PQTRANS_INTRANS : PQTRANS_IDLE);
        app_start(store);
    }
    app_run("COMMIT");
    assert_int_equal(5, app_count(test, "cascades"));
}

/* ---- Connections that end ------------------------------------------------ */

static void
await_end(pg_test *test, int pid)
{
    pg_until(test,
             "SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE pid = %d",
             pid);
}

static void
kill_app(pg_test *test)
{
    pg_sql(test, "SELECT pg_terminate_backend(%d)", PQbackendPID(app));
    await_end(test, PQbackendPID(app));
}

static void
a_lost_connection_is_not_made_anew(void **state)
{
    pg_test *test = *state;

    for (int within = 0; within < 2; within++) {
        cascade_store *store = app_open(test);

        if (within)
            app_run("BEGIN");
        kill_app(test);
        assert_fails(CASCADE_ERR_UNAVAILABLE, app_try_start(store, NULL));
        assert_int_equal(CONNECTION_BAD, PQstatus(app));
        assert_fails(CASCADE_ERR_UNAVAILABLE, app_try_start(store, NULL));
        app_expect_said("lost");
        assert_ok(cascade_store_close(store));
        test->handle_count--;
        PQreset(app);
        app_expect_state(PQTRANS_IDLE);
    }
    assert_int_equal(0, app_count(test, "cascades"));
    app_start(app_open(test));
}

/* The backend ends itself between the INSERT and the COMMIT. */
static void
a_connection_lost_on_the_way_is_told_for_what_it_is(void **state)
{
    pg_test *test = *state;
    cascade_store *store = open_patient(test);
    int64_t begun_ms = pg_now_ms();

    pg_sql(test, "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS"
                 " 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid());"
                 " RETURN NULL; END';"
                 "CREATE TRIGGER die AFTER INSERT ON cascade_runs"
                 " EXECUTE FUNCTION die()");
    assert_fails(CASCADE_ERR_OUTCOME_UNKNOWN, app_try_start(store, NULL));
    assert_int_equal(CONNECTION_BAD, PQstatus(app));
    assert_fails(CASCADE_ERR_UNAVAILABLE, app_try_start(store, NULL));
    assert_ok(cascade_store_close(store));
    test->handle_count--;
    PQreset(app);
    store = open_patient(test);
    app_run("BEGIN");
    assert_fails(CASCADE_ERR_UNAVAILABLE, app_try_start(store, NULL));
    assert_int_equal(CONNECTION_BAD, PQstatus(app));
    assert_true(pg_now_ms() - begun_ms < PG_UNTIL_MS);
    assert_int_equal(0, app_count(test, "cascades"));
}

static void
close_last(pg_test *test)
{
    assert_ok(cascade_store_close(test->handles[--test->handle_count]));
}

#define HASTY_MS 1200 /* of which a lock may take three quarters */

/* On a connection made anew where the one there was is lost: a machine may have
 * been too slow to open it in that time, and opening is not what is tested. */
static cascade_store *
open_hasty(pg_test *test)
{
    cascade_store_options options = pg_options(test);
    cascade_store *store = NULL;
    pg_haste haste = pg_hurry(HASTY_MS);
    cascade_err err = CASCADE_OK;

    options.deadline_ms = HASTY_MS;
    do {
        if (PQstatus(app) != CONNECTION_OK)
            PQreset(app);
        err = cascade_postgres_open(app, &options, &store);
    } while (pg_again(&haste, err));
    assert_ok(err);
    assert_true(test->handle_count < PG_HANDLES);
    test->handles[test->handle_count++] = store;
    return store;
}

/* Outside a transaction the server gives a lock up before we give up the
 * server, unless the machine is too slow for that: then once more. */
static void
lose_a_lock(pg_test *test)
{
    int64_t end_ms = 0;
    bool lost = true;

    while (lost && in_time(&end_ms, PG_UNTIL_MS)) {
        cascade_store *store = open_hasty(test);
        int pid = PQbackendPID(app);
        cascade_err err = CASCADE_OK;

        pg_sql(test, "BEGIN; LOCK TABLE cascades IN EXCLUSIVE MODE");
        err = app_try_start(store, NULL);
        lost = PQstatus(app) != CONNECTION_OK;
        if (lost) {
            await_end(test, pid);
        } else {
            assert_int_equal(CASCADE_ERR_UNAVAILABLE, err);
            app_expect_said("55P03");
        }
        pg_sql(test, "ROLLBACK");
        close_last(test);
    }
    app_expect_state(PQTRANS_IDLE);
}

/* In one the application's lock_timeout holds. */
static void
lose_a_lock_within(pg_test *test)
{
    cascade_store *store = app_open(test);

    pg_sql(test, "BEGIN; LOCK TABLE cascades IN EXCLUSIVE MODE");
    app_run("BEGIN");
    app_run("SET LOCAL lock_timeout = '100ms'");
    assert_fails(CASCADE_ERR_UNAVAILABLE, app_try_start(store, NULL));
    app_expect_said("55P03");
    app_expect_state(PQTRANS_INTRANS);
    app_run("COMMIT");
    pg_sql(test, "ROLLBACK");
    close_last(test);
}

/* Somebody has locked the table. In a transaction without a lock_timeout we
 * give up the server. */
static void
a_deadline_in_a_transaction_costs_the_connection(void **state)
{
    pg_test *test = *state;
    cascade_store *store = NULL;

    lose_a_lock(test);
    lose_a_lock_within(test);
    store = open_hasty(test);
    pg_sql(test, "BEGIN; LOCK TABLE cascades IN EXCLUSIVE MODE");
    app_run("BEGIN");
    assert_fails(CASCADE_ERR_UNAVAILABLE, app_try_start(store, NULL));
    app_expect_said("cut off");
    assert_int_equal(CONNECTION_BAD, PQstatus(app));
    assert_int_equal(PQTRANS_UNKNOWN, PQtransactionStatus(app));
    pg_sql(test, "ROLLBACK");
    close_last(test);
    PQreset(app);
    app_expect_state(PQTRANS_IDLE);
    app_start(app_open(test));
    assert_int_equal(1, app_count(test, "cascades"));
}

/* ---- Of a transactional node --------------------------------------------- */

static void
a_node_has_a_store_within_its_transaction(void **state)
{
    pg_test *test = *state;
    const cascade_native native = {.handle = app};
    cascade_store *store = NULL;

    assert_ok(csc_store_open_native(test->handles[0], &native, &store));
    assert_true(csc_store_is_within(store));
    csc_store_close_native(store);
    app_run("BEGIN");
    assert_ok(csc_store_open_native(test->handles[0], &native, &store));
    app_start(store);
    assert_int_equal(0, app_count(test, "cascades"));
    assert_true(csc_store_is_within(store));
    csc_store_close_native(store);
    app_expect_state(PQTRANS_INTRANS);
    app_run("COMMIT");
    assert_int_equal(1, app_count(test, "cascades"));
}

/* A row of its own, another cascade and a signal to that; the first attempt
 * fails after all of it. */
static cascade_err
order(cascade_node *node, void *user)
{
    const pg_test *test = user;
    cascade_store *store = NULL;
    PGconn *conn = NULL;
    PGresult *result = NULL;
    cascade_started child;
    char sql[128];
    cascade_err err = cascade_node_postgres(node, &conn);

    if (err == CASCADE_OK)
        err = cascade_node_store(node, &store);
    if (err != CASCADE_OK)
        return err;
    snprintf(sql, sizeof(sql), "INSERT INTO %s.orders VALUES (1)",
             test->schema);
    result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        err = cascade_node_fail(node, "%s", PQerrorMessage(conn));
    PQclear(result);
    if (err == CASCADE_OK)
        err = cascade_start(store, "work", NULL, KEYED("child"), &child);
    if (err == CASCADE_OK && child.existed)
        err = cascade_node_fail(node, "the child existed");
    if (err == CASCADE_OK)
        err = cascade_signal(store, &child.id, "go", NULL, NULL);
    if (err == CASCADE_OK &&
        cascade_signal(store, &child.id, "a b", NULL, NULL) == CASCADE_OK)
        err = cascade_node_fail(node, "not refused");
    if (err == CASCADE_OK && cascade_wake(store) != CASCADE_ERR_MISUSE)
        err = cascade_node_fail(node, "not refused");
    if (err == CASCADE_OK && PQtransactionStatus(conn) != PQTRANS_INTRANS)
        err = cascade_node_fail(node, "not as it was");
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        err = CASCADE_ERR_FAILED;
    return err;
}

static void
what_a_node_starts_is_part_of_its_commit(void **state)
{
    pg_test *test = *state;
    const cascade_engine_options fast = {
        .size = sizeof(fast), .worker_count = 2, .poll_interval_ms = 100};
    const cascade_node_options options = {
        .size = sizeof(options), .backoff_ms = 1, .transactional = true};
    cascade_store *store = test->handles[0];
    cascade_engine *engine = NULL;
    cascade_uuid child = csc_uuid_v8("anonymous", "child", 1);
    cascade_started started;
    cascade_status status = CASCADE_RUNNING;

    assert_ok(cascade_engine_open(store, &fast, &engine));
    assert_ok(cascade_engine_register(engine, "order", order, test, &options));
    assert_ok(cascade_engine_register(engine, "work", do_work, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_start(store, "order", NULL, NULL, &started));
    assert_ok(cascade_wait(store, &started.id, PG_UNTIL_MS, &status));
    if (status != CASCADE_COMPLETED)
        fail_msg("%s", pg_text(test, "SELECT error FROM node_executions"
                                     " WHERE error IS NOT NULL"));
    assert_ok(cascade_wait(store, &child, PG_UNTIL_MS, &status));
    assert_int_equal(CASCADE_COMPLETED, status);
    assert_int_equal(1, app_count(test, "orders"));
    assert_int_equal(2, app_count(test, "cascades"));
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM node_executions"
                                        " WHERE full_output @>"
                                        "  '{\"attempts\": 2}'"));
    assert_ok(cascade_engine_close(engine));
}

/* ---- Out of memory ------------------------------------------------------- */

static cascade_err
try_all(pg_test *test)
{
    cascade_store_options options = pg_options(test);
    cascade_store *store = NULL;
    cascade_uuid id = {{0}};
    cascade_started started;
    cascade_err err;

    options.migrate = CASCADE_MIGRATE_CHECK;
    err = cascade_postgres_open(app, &options, &store);
    if (err != CASCADE_OK)
        return err;
    app_run("BEGIN");
    err = cascade_start(store, "work", NULL, KEYED("k"), &started);
    if (err == CASCADE_OK) {
        id = started.id;
        err = cascade_signal(store, &id, "go", NULL, NULL);
    }
    app_expect_state(PQTRANS_INTRANS);
    app_run("ROLLBACK");
    assert_ok(cascade_store_close(store));
    return err;
}

static void
every_allocation_may_fail(void **state)
{
    pg_test *test = *state;
    size_t asked = 0;
    size_t failures = 0;

    for (size_t nth = 1; asked + 1 >= nth; nth++) {
        size_t live = csc_mem_live();
        cascade_err err;

        csc_mem_fail_at(nth, 0);
        err = try_all(test);
        asked = csc_mem_fail_at(0, 0);
        if (err != CASCADE_OK && err != CASCADE_ERR_NO_MEMORY &&
            err != CASCADE_ERR_OUTCOME_UNKNOWN)
            fail_msg("allocation %zu: %s", nth, cascade_errmsg());
        failures += err != CASCADE_OK;
        assert_int_equal(live, csc_mem_live());
        app_expect_state(PQTRANS_IDLE);
    }
    assert_true(failures > 20);
    assert_int_equal(0, app_count(test, "cascades"));
}

/* One start of a call is new; memory runs out as it looks at the other. */
static void
what_failed_halfway_is_taken_back(void **state)
{
    pg_test *test = *state;
    cascade_store *store = app_open(test);
    const cascade_first first = {.size = sizeof(first), .node = "work"};
    const cascade_start_spec specs[] = {
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1},
        {.size = sizeof(specs[0]),
         .first = &first,
         .first_count = 1,
         .options = KEYED("k")}};
    cascade_started started[2];
    size_t asked = 0;
    size_t seen = 0;

    app_run_in(test, "SET search_path = %s");
    for (size_t nth = 1; asked + 1 >= nth; nth++) {
        cascade_err err;

        app_run("BEGIN");
        assert_ok(app_try_start(store, KEYED("k")));
        csc_mem_fail_at(nth, 0);
        err = cascade_start_many(store, specs, 2, started);
        asked = csc_mem_fail_at(0, 0);
        if (err == CASCADE_ERR_UNAVAILABLE) {
            app_expect("SELECT count(*) FROM cascades", "1");
            app_expect_said("taken back");
            seen++;
        }
        app_run("ROLLBACK");
    }
    assert_true(seen > 0);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        APP_TEST(outside_a_transaction_each_call_is_one_of_its_own),
        APP_TEST(the_connection_is_left_as_it_was),
        APP_TEST(a_schema_is_made_on_it),
        APP_TEST(a_start_takes_effect_with_the_commit),
        APP_TEST(a_rollback_leaves_nothing),
        APP_TEST(savepoints_of_the_application_hold),
        APP_TEST(an_error_leaves_the_transaction_usable),
        APP_TEST(an_error_in_a_read_leaves_it_usable_too),
        APP_TEST(a_transaction_that_only_reads_is_told),
        APP_TEST(isolation_of_the_application_holds),
        APP_TEST(a_deadlock_is_told_once),
        APP_TEST(temporary_tables_do_not_shadow),
        APP_TEST(others_are_told_by_wake_after_the_commit),
        APP_TEST(an_engine_on_another_store_runs_it),
        APP_TEST(it_has_no_engines),
        APP_TEST(a_busy_connection_is_told),
        APP_TEST(a_failed_transaction_takes_no_calls),
        APP_TEST(a_store_is_not_opened_in_a_transaction),
        APP_TEST(another_client_encoding_is_refused),
        APP_TEST(a_sink_may_fail),
        APP_TEST(a_lost_connection_is_not_made_anew),
        APP_TEST(a_connection_lost_on_the_way_is_told_for_what_it_is),
        APP_TEST(a_deadline_in_a_transaction_costs_the_connection),
        APP_TEST(a_node_has_a_store_within_its_transaction),
        APP_TEST(what_a_node_starts_is_part_of_its_commit),
        APP_TEST(every_allocation_may_fail),
        APP_TEST(what_failed_halfway_is_taken_back),
    };

    return pg_main("postgres: guests", tests, sizeof(tests) / sizeof(tests[0]),
                   argc, argv);
}
