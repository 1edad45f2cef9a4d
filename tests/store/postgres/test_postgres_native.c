/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes on PostgreSQL: whatever a function does with its
 * transaction, and whenever a connection ends, what it wrote and what records
 * it are there both or neither. test_postgres_native_session.c is about what
 * it does with the session.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "store/postgres/postgres_node.h"
#include "support/in_time.h"

/* ---- Both or neither ----------------------------------------------------- */

/* S29, G11 */
static void
both_are_committed(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_expect_rows(&it, 0, 0);
    assert_ok(node_finish(&it));
    node_expect_rows(&it, 1, 1);
    assert_int_equal(2, node_lane_shows(it.test));
    assert_int_equal(1,
                     pg_number(it.test, "SELECT count(*) FROM node_executions"
                                        " WHERE status = 'COMPLETED'"));
}

/* S30 */
static void
what_is_abandoned_is_rolled_back(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_abandon(&it);
    node_expect_rows(&it, 0, 0);
    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    assert_ok(node_finish(&it));
    node_expect_rows(&it, 1, 1);
}

/* ---- Transactions that the function ended -------------------------------- */

/* S31: what it committed stays; what records it is not written. */
static void
a_function_that_commits_is_told(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_run(it.conn, "COMMIT");
    assert_fails(CASCADE_ERR_MISUSE, node_finish(&it));
    node_expect_rows(&it, 1, 0);
    assert_int_equal(1, node_lane_shows(it.test));
}

/* S31: the connection is as it was, the transaction is not. */
static void
a_function_that_commits_and_begins_anew_is_told(void **state)
{
    static const char *const ends[] = {
        "COMMIT; BEGIN", "COMMIT AND CHAIN", "ROLLBACK; BEGIN",
        "COMMIT; BEGIN ISOLATION LEVEL SERIALIZABLE"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        node_test it = node_open(*state);

        node_begin(&it);
        node_run(it.conn, ends[i]);
        node_run_here(&it, NODE_INSERT);
        assert_fails(CASCADE_ERR_MISUSE, node_finish(&it));
        node_expect_rows(&it, 0, 0);
    }
}

static void
a_function_that_rolls_back_is_told(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_run(it.conn, "ROLLBACK");
    assert_fails(CASCADE_ERR_MISUSE, node_finish(&it));
    node_expect_rows(&it, 0, 0);
}

/* It is told where the function fails as well, and its connection not kept. */
static void
a_function_that_commits_and_fails_is_told(void **state)
{
    static const char *const ends[] = {"COMMIT", "COMMIT; BEGIN", "ROLLBACK"};
    node_test it = node_open(*state);

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int pid;

        node_begin(&it);
        pid = PQbackendPID(it.conn);
        node_run(it.conn, ends[i]);
        assert_fails(CASCADE_ERR_MISUSE, it.store->driver->node_txn->abandon(
                                             it.store->self, &it.native));
        node_begin(&it);
        assert_int_not_equal(pid, PQbackendPID(it.conn));
        assert_ok(
            it.store->driver->node_txn->abandon(it.store->self, &it.native));
    }
    node_begin(&it);
    PQreset(it.conn);
    assert_fails(CASCADE_ERR_MISUSE, it.store->driver->node_txn->abandon(
                                         it.store->self, &it.native));
}

/* S31: the COMMIT was seen, though nothing can be asked any more. */
static void
a_commit_is_told_whatever_follows_it(void **state)
{
    pg_test *test = *state;

    for (int i = 0; i < 4; i++) {
        node_test it = node_open(test);

        node_begin(&it);
        node_run(it.conn, "COMMIT; BEGIN");
        if (i == 0)
            node_try(it.conn, "SELECT 1 / 0");
        else if (i == 1)
            PQclear(PQexec(it.conn, "COPY (SELECT 1) TO STDOUT"));
        else if (i == 2)
            node_try(it.conn, "SELECT pg_terminate_backend(pg_backend_pid())");
        else
            PQreset(it.conn);
        assert_fails(CASCADE_ERR_MISUSE, node_finish(&it));
        node_expect_rows(&it, 0, 0);
    }
}

/* It cannot be told from a ROLLBACK and a BEGIN; the text says so. */
static void
a_mark_that_was_taken_away_is_told(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_run(it.conn, "RESET ALL");
    assert_fails(CASCADE_ERR_MISUSE, node_finish(&it));
    assert_non_null(strstr(cascade_errmsg(), "RESET ALL"));
    node_expect_rows(&it, 0, 0);
}

/* Where there are several servers, one that failed may write no more. */
static void
a_connection_among_several_hosts_is_not_kept_when_it_failed(void **state)
{
    char url[512];
    pg_test *test = *state;
    PGconn *admin = test->admin;
    node_test it;

    snprintf(url, sizeof(url), "%s host=%s,%s", pg_conninfo(), PQhost(admin),
             PQhost(admin));
    it = node_open_on(test, url, NULL);
    for (int i = 0; i < 2; i++) {
        int pid;

        node_begin(&it);
        pid = PQbackendPID(it.conn);
        if (i == 0) {
            node_abandon(&it);
        } else {
            node_try(it.conn, "SELECT 1 / 0");
            assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
        }
        node_begin(&it);
        assert_int_not_equal(pid, PQbackendPID(it.conn));
        node_abandon(&it);
    }
}

static void
leave_commit(PGconn *conn, int way)
{
    if (way == 0) {
        assert_int_equal(1, PQsendQuery(conn, "COMMIT"));
        return;
    }
    if (way == 1) {
        assert_int_equal(1, PQsendQuery(conn, "SELECT 1; COMMIT; BEGIN"));
        return;
    }
    assert_int_equal(1, PQenterPipelineMode(conn));
    assert_int_equal(
        1, PQsendQueryParams(conn, "COMMIT", 0, NULL, NULL, NULL, NULL, 0));
    if (way == 3)
        assert_int_equal(1, PQpipelineSync(conn));
    assert_int_equal(
        1, PQsendQueryParams(conn, "SELECT 1", 0, NULL, NULL, NULL, NULL, 0));
}

/* The server has answered: of what was sent without a Sync nothing comes. */
static void
await_answer(const PGconn *conn)
{
    struct pollfd fd = {.fd = PQsocket(conn), .events = POLLIN};

    assert_int_equal(1, poll(&fd, 1, PG_UNTIL_MS));
}

/* S31: one whose result nobody has fetched, too. */
static void
a_commit_that_is_not_fetched_is_told(void **state)
{
    for (int i = 0; i < 8; i++) {
        node_test it = node_open(*state);

        node_begin(&it);
        node_run_here(&it, NODE_INSERT);
        leave_commit(it.conn, i / 2);
        if (i / 2 != 2)
            await_answer(it.conn);
        if (i % 2 == 0)
            assert_fails(CASCADE_ERR_MISUSE, node_finish(&it));
        else
            assert_fails(CASCADE_ERR_MISUSE,
                         it.store->driver->node_txn->abandon(it.store->self,
                                                             &it.native));
        node_expect_rows(&it, 1, 0);
        node_begin(&it);
        node_run_here(&it, "DELETE FROM %s.app");
        node_run(it.conn, "COMMIT");
        node_abandon(&it);
    }
}

/* ---- Statements that failed ---------------------------------------------- */

static void
a_failed_statement_fails_the_transaction(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    assert_string_equal("22012", node_try(it.conn, "SELECT 1 / 0"));
    assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
    node_expect_rows(&it, 0, 0);
    assert_int_equal(1, node_lane_shows(it.test));
}

static void
a_savepoint_saves_it(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_run(it.conn, "SAVEPOINT here");
    assert_string_equal("22012", node_try(it.conn, "SELECT 1 / 0"));
    node_run(it.conn, "ROLLBACK TO here");
    assert_ok(node_finish(&it));
    node_expect_rows(&it, 1, 1);
}

/* S31: nothing of what is left open on the connection is committed. */
static void
what_is_left_open_fails_the_transaction(void **state)
{
    pg_test *test = *state;

    for (int i = 0; i < 4; i++) {
        node_test it = node_open(test);

        node_begin(&it);
        node_run_here(&it, NODE_INSERT);
        if (i == 0)
            PQclear(PQexec(it.conn, "COPY (SELECT 1) TO STDOUT"));
        else if (i == 1)
            PQclear(PQexec(it.conn, "CREATE TEMP TABLE t (n int);"
                                    "COPY t FROM STDIN"));
        else if (i == 2)
            assert_int_equal(1, PQsendQuery(it.conn, "SELECT 1"));
        else
            assert_int_equal(1, PQenterPipelineMode(it.conn));
        assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
        node_expect_rows(&it, 0, 0);
        node_begin(&it);
        if (i == 0)
            PQclear(PQexec(it.conn, "COPY (SELECT 1) TO STDOUT"));
        node_abandon(&it);
    }
    pg_until(test,
             "SELECT (count(*) <= 2)::int FROM pg_stat_activity"
             " WHERE application_name = '%s' AND state <> 'idle'",
             test->schema);
}

/* Leaves a statement running, for longer than anybody waits. The backend. */
static int
leave_running(node_test *it)
{
    node_begin_for(it, 10 * PG_UNTIL_MS);
    node_run_here(it, "LOCK TABLE %s.app IN ACCESS EXCLUSIVE MODE");
    assert_int_equal(1, PQsendQuery(it->conn, "SELECT pg_sleep(3600)"));
    pg_until(it->test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE application_name = '%s' AND wait_event = 'PgSleep'",
             it->test->schema);
    return PQbackendPID(it->conn);
}

#define ENDING_MS 2000 /* the deadline, and the most that one try has */
#define ENDED_MS 5000

/* Whether that backend ends. The library reads what is left until the deadline,
 * and tries to end the backend for as long again: only where that has passed
 * too, on a machine that stood still, it may have come to nothing, and the
 * backend is ended here. */
static bool
has_ended(pg_test *test, int pid, int64_t took_ms)
{
    static const char gone[] =
        "SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE pid = %d";
    int64_t end_ms = 0;

    if (took_ms < 2 * ENDING_MS) {
        pg_until(test, gone, pid);
        return true;
    }
    while (in_time(&end_ms, ENDED_MS))
        if (pg_number(test, gone, pid) != 0)
            return true;
    pg_sql(test, "SELECT pg_terminate_backend(%d)", pid);
    return false;
}

/* S30: a statement that nobody waits for does not keep its locks. How long it
 * is waited for depends on the deadline. */
static void
a_statement_left_running_is_ended(void **state)
{
    node_test it = node_open(*state);
    cascade_store_options options = pg_options(it.test);
    int ended = 0;
    int missed = 0;

    options.deadline_ms = ENDING_MS;
    options.application_name = it.test->schema;
    it.store = pg_open(it.test, NULL, &options);
    while (ended < 2) {
        int pid = leave_running(&it);
        int64_t begun_ms = pg_now_ms();

        if (ended == 0)
            assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
        else
            node_abandon(&it);
        if (has_ended(it.test, pid, pg_now_ms() - begun_ms))
            ended++;
        else
            missed++;
        assert_in_range(missed, 0, 1);
        node_expect_rows(&it, 0, 0);
    }
}

static void
a_read_only_transaction_fails(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run(it.conn, "SET TRANSACTION READ ONLY");
    assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
    assert_non_null(strstr(cascade_errmsg(), "read-only"));
    node_expect_rows(&it, 0, 0);
    node_begin(&it);
    assert_ok(node_finish(&it));
}

/* ---- What cannot be committed -------------------------------------------- */

/* The first statement may say so: nothing has taken a snapshot yet. */
static void
the_function_may_choose_its_isolation(void **state)
{
    static const char *const levels[] = {"READ COMMITTED", "REPEATABLE READ",
                                         "SERIALIZABLE"};

    node_test it = node_open(*state);

    for (int i = 0; i < 3; i++) {
        char sql[100];

        node_begin(&it);
        node_expect(it.conn, "current_setting('transaction_isolation')",
                    "read committed");
        node_abandon(&it);
        node_begin(&it);
        snprintf(sql, sizeof(sql), "SET TRANSACTION ISOLATION LEVEL %s",
                 levels[i]);
        node_run(it.conn, sql);
        snprintf(sql, sizeof(sql), "INSERT INTO %s.app VALUES (%d)",
                 it.test->schema, i);
        node_run(it.conn, sql);
        assert_ok(pg_commit_one(
            it.test, it.store, pg_attach(it.test, it.store, PG_LEASE_MS), 1,
            rows_start(&it.test->rows, rows_id(&it.test->rows))));
        assert_ok(node_finish_as(
            &it, i + 2,
            i == 0 ? node_record(&it) : rows_write(&it.test->rows, it.id, 1)));
        node_expect_rows(&it, i + 1, 1);
    }
}

/* Of two that read what the other writes, one fails; its connection serves the
 * next attempt. */
static void
a_serialization_failure_fails_one_of_two(void **state)
{
    pg_test *test = *state;
    node_test its[2] = {node_open(test), node_open(test)};
    static const char serializable[] =
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";

    for (int i = 0; i < 2; i++) {
        node_begin(&its[i]);
        node_run(its[i].conn, serializable);
        node_run_here(&its[i], "SELECT sum(n) FROM %s.app");
    }
    node_run_here(&its[0], NODE_INSERT);
    node_run_here(&its[1], "INSERT INTO %s.app VALUES (2)");
    assert_ok(node_finish(&its[0]));
    assert_fails(CASCADE_ERR_FAILED, node_finish(&its[1]));
    assert_non_null(strstr(cascade_errmsg(), "40001"));
    node_expect_rows(&its[0], 1, 1);
    node_begin(&its[1]);
    node_run_here(&its[1], "INSERT INTO %s.app VALUES (2)");
    assert_ok(node_finish(&its[1]));
    node_expect_rows(&its[0], 2, 2);
}

/* What others have done to rows of ours since the snapshot. */
static void
an_old_snapshot_fails_the_attempt(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run(it.conn, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    node_run_here(&it, NODE_INSERT);
    pg_sql(it.test, "UPDATE cascades SET updated_at = now()");
    assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
    node_expect_rows(&it, 0, 0);
    node_begin(&it);
    assert_ok(node_finish(&it));
}

typedef struct finisher {
    pthread_t thread;
    node_test *it;
    cascade_change *change;
    cascade_err err;
    char text[256];
} finisher;

static void *
finish_apart(void *context)
{
    finisher *it = context;

    it->err = node_finish_as(it->it, 2, it->change);
    snprintf(it->text, sizeof(it->text), "%s", cascade_errmsg());
    return NULL;
}

static void
start_finish(finisher *it, node_test *node)
{
    it->it = node;
    it->change = node_record(node);
    assert_int_equal(0, pthread_create(&it->thread, NULL, finish_apart, it));
}

/* An outside session has our cascade's row and wants the function's. */
static void
a_deadlock_with_an_outside_session_ends(void **state)
{
    node_test it = node_open(*state);
    PGconn *outside = pg_connect(NULL);
    finisher finishing;
    char sql[300];

    pg_sql(it.test, "INSERT INTO app VALUES (7)");
    node_begin(&it);
    node_run(it.conn, "SET LOCAL deadlock_timeout = 20");
    node_run_here(&it, "UPDATE %s.app SET n = 1");
    snprintf(sql, sizeof(sql),
             "SET deadlock_timeout = '10min'; BEGIN;"
             "UPDATE %s.cascades SET updated_at = now()",
             it.test->schema);
    node_run(outside, sql);
    snprintf(sql, sizeof(sql), "UPDATE %s.app SET n = 2", it.test->schema);
    assert_int_equal(1, PQsendQuery(outside, sql));
    pg_until(it.test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE pid = %d AND wait_event_type = 'Lock'",
             PQbackendPID(outside));
    start_finish(&finishing, &it);
    pthread_join(finishing.thread, NULL);
    if (finishing.err != CASCADE_ERR_FAILED)
        fail_msg("%s", finishing.text);
    assert_non_null(strstr(finishing.text, "40P01"));
    PQfinish(outside);
    node_begin(&it);
    assert_ok(node_finish(&it));
}

typedef struct detacher {
    pthread_t thread;
    const cascade_store *store;
    const cascade_uuid *engine;
    cascade_err err;
    char text[256];
} detacher;

static void *
detach_apart(void *context)
{
    detacher *it = context;

    it->err = it->store->driver->detach(it->store->self, it->engine);
    snprintf(it->text, sizeof(it->text), "%s", cascade_errmsg());
    return NULL;
}

/* Between its lanes and its runs a detachment waits for us. Sequences keep what
 * is rolled back: `tries` counts each time it came so far. */
static void
hold_detachments(pg_test *test)
{
    pg_sql(test, "CREATE SEQUENCE tries");
    pg_sql(
        test,
        "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN PERFORM nextval('%s.tries');"
        " PERFORM pg_advisory_xact_lock(hashtext('%s')); RETURN NULL; END $$",
        test->schema, test->schema);
    pg_sql(test, "CREATE TRIGGER held AFTER DELETE ON cascade_lanes"
                 " FOR EACH STATEMENT EXECUTE FUNCTION held()");
    pg_sql(test, "SELECT pg_advisory_lock(hashtext('%s'))", test->schema);
}

/* One that waits looks once whether it waits for itself, after so long. */
static const char *
conninfo_with(const char *deadlock_timeout)
{
    static char conninfo[1024];

    snprintf(conninfo, sizeof(conninfo), "%s options='-c deadlock_timeout=%s'",
             pg_conninfo(), deadlock_timeout);
    return conninfo;
}

static void
until_waiting(pg_test *test, const char *for_what)
{
    pg_until(test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE application_name = '%s' AND wait_event_type = 'Lock'"
             "  AND wait_event = '%s'",
             test->schema, for_what);
}

/* Design 7: the finish has its run and wants its lane, the detachment the other
 * way round. The server ends the one that closes the circle, here the
 * detachment, which is repeated when the other is through. */
static void
a_detachment_crosswise_to_a_finish_is_repeated(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    finisher finishing = {.it = NULL};
    detacher detaching = {.store = NULL};
    node_test it;

    options.deadline_ms = NODE_LIMIT_MS;
    options.application_name = test->schema;
    it = node_open_on(test, conninfo_with("10min"), &options);
    detaching.store = pg_open(test, conninfo_with("50ms"), &options);
    detaching.engine = &it.engine;
    hold_detachments(test);
    node_begin(&it);
    assert_int_equal(
        0, pthread_create(&detaching.thread, NULL, detach_apart, &detaching));
    until_waiting(test, "advisory");
    finishing.it = &it;
    finishing.change = node_record(&it);
    finishing.change->run_action = CASCADE_RUN_RESET;
    assert_int_equal(
        0, pthread_create(&finishing.thread, NULL, finish_apart, &finishing));
    until_waiting(test, "transactionid");
    pg_sql(test, "SELECT pg_advisory_unlock(hashtext('%s'))", test->schema);
    pthread_join(finishing.thread, NULL);
    pthread_join(detaching.thread, NULL);
    if (finishing.err != CASCADE_OK || detaching.err != CASCADE_OK)
        fail_msg("%s; %s", finishing.text, detaching.text);
    assert_true(pg_number(test, "SELECT last_value FROM tries") >= 2);
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascade_lanes"));
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascade_runs"
                                        " WHERE engine_id IS NULL"));
    node_expect_rows(&it, 0, 1);
}

/* Told by the constraint's name, without its values. */
static void
a_deferred_constraint_fails_the_attempt(void **state)
{
    node_test it = node_open(*state);

    pg_sql(it.test, "CREATE TABLE child (id int CONSTRAINT has_parent"
                    " REFERENCES app DEFERRABLE INITIALLY DEFERRED)");
    node_begin(&it);
    node_run_here(&it, "INSERT INTO %s.child VALUES (424242)");
    assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
    assert_non_null(strstr(cascade_errmsg(), "23503"));
    assert_non_null(strstr(cascade_errmsg(), "has_parent"));
    assert_null(strstr(cascade_errmsg(), "424242"));
    assert_int_equal(1, node_lane_shows(it.test));
    node_begin(&it);
    node_run_here(&it, "INSERT INTO %s.child VALUES (1)");
    node_run_here(&it, NODE_INSERT);
    assert_ok(node_finish(&it));
    node_expect_rows(&it, 1, 1);
}

/* What is deferred belongs to the function: it runs with the function's
 * settings, and before the lane is locked. */
static void
deferred_triggers_run_as_the_functions(void **state)
{
    node_test it = node_open(*state);

    pg_sql(it.test, "CREATE TABLE noted (path text, locked bigint)");
    pg_sql(it.test,
           "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$"
           " BEGIN INSERT INTO noted SELECT current_setting('search_path'),"
           "  (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()"
           "    AND relation = '%s.cascade_lanes'::regclass);"
           " RETURN NULL; END $$",
           it.test->schema);
    pg_sql(it.test, "CREATE CONSTRAINT TRIGGER noting AFTER INSERT ON app"
                    " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
                    " EXECUTE FUNCTION note()");
    node_begin(&it);
    node_run_here(&it, "SET LOCAL search_path = %s");
    node_run_here(&it, NODE_INSERT);
    assert_ok(node_finish(&it));
    assert_int_equal(1, pg_number(it.test,
                                  "SELECT count(*) FROM noted"
                                  " WHERE path = '%s' AND locked = 0",
                                  it.test->schema));
}

/* ---- Lost replies -------------------------------------------------------- */

/* S32: the server never saw the COMMIT. */
static void
a_finish_cut_before_its_commit_is_settled_as_nothing(void **state)
{
    node_test it = node_open_proxied(*state);
    bool committed = true;

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    pg_proxy_arm(it.proxy, PG_FAULT_CUT_BEFORE_COMMIT);
    assert_fails(CASCADE_ERR_UNAVAILABLE, node_finish(&it));
    assert_int_equal(1, pg_proxy_struck(it.proxy));
    for (int i = 0; i < 2; i++) {
        assert_ok(node_settle(&it, 2, &committed));
        assert_false(committed);
        assert_int_equal(3, node_lane_shows(it.test));
    }
    node_expect_rows(&it, 0, 0);
    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    assert_ok(node_finish_as(&it, 4, node_record(&it)));
    node_expect_rows(&it, 1, 1);
    pg_proxy_stop(it.proxy);
}

/* S32: it took effect, and nobody heard of it. */
static void
a_finish_whose_reply_is_lost_is_settled_as_committed(void **state)
{
    static const pg_fault faults[] = {PG_FAULT_CUT_BEFORE_REPLY,
                                      PG_FAULT_TEAR_REPLY};
    node_test it = node_open_proxied(*state);

    for (int i = 0; i < 2; i++) {
        cascade_change *change =
            i == 0 ? node_record(&it) : rows_write(&it.test->rows, it.id, 1);
        bool committed = false;

        node_begin(&it);
        node_run_here(&it,
                      i == 0 ? NODE_INSERT : "INSERT INTO %s.app VALUES (2)");
        pg_proxy_arm(it.proxy, faults[i]);
        assert_fails(CASCADE_ERR_UNAVAILABLE,
                     node_finish_as(&it, i + 2, change));
        assert_int_equal(i + 1, pg_proxy_struck(it.proxy));
        for (int k = 0; k < 2; k++) {
            assert_ok(node_settle(&it, i + 2, &committed));
            assert_true(committed);
        }
        assert_int_equal(i + 2, node_lane_shows(it.test));
        node_expect_rows(&it, i + 1, 1);
    }
    pg_proxy_stop(it.proxy);
}

/* S32: the lane's lock makes it wait for a finish that is under way. */
static void
settle_waits_for_a_finish_under_way(void **state)
{
    node_test it = node_open_proxied(*state);
    cascade_store_options hasty = pg_options(it.test);
    node_test other = it;
    finisher stalled;
    bool committed = false;

    hasty.deadline_ms = 500;
    other.store = pg_open(it.test, NULL, &hasty);
    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    pg_proxy_arm(it.proxy, PG_FAULT_STALL_AT_COMMIT);
    start_finish(&stalled, &it);
    pg_await_held_lane(it.test);
    assert_fails(CASCADE_ERR_UNAVAILABLE, node_settle(&other, 2, &committed));
    assert_int_equal(1, node_lane_shows(it.test));
    pg_proxy_arm(it.proxy, PG_FAULT_NONE);
    other.store = it.test->handles[0];
    assert_ok(node_settle(&other, 2, &committed));
    assert_true(committed);
    pthread_join(stalled.thread, NULL);
    assert_int_equal(CASCADE_OK, stalled.err);
    node_expect_rows(&it, 1, 1);
    pg_proxy_stop(it.proxy);
}

/* S32: one that comes to the server after it was settled. */
static void
a_finish_that_comes_late_is_fenced(void **state)
{
    node_test it = node_open(*state);
    bool committed = true;

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    assert_ok(node_settle(&it, 2, &committed));
    assert_false(committed);
    assert_fails(CASCADE_ERR_LOST, node_finish(&it));
    node_expect_rows(&it, 0, 0);
    assert_int_equal(3, node_lane_shows(it.test));
}

/* S10, S29: who removes the incarnation does not wait for the function, and
 * what came of the cascade since does not hide that it was removed. */
static void
a_removal_does_not_wait_for_the_function(void **state)
{
    node_test it = node_open(*state);
    cascade_store *other = it.test->handles[0];
    static const char *const queues[] = {"default"};
    cascade_claim claim = {
        .queues = queues, .queue_count = 1, .limit = 10, .suspect_from = 1000};
    cascade_claimed claimed[10];
    cascade_claim_result result = {0};
    size_t freed = 0;

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    assert_ok(pg_remove(other, &it.engine, &freed));
    assert_int_equal(1, freed);
    node_expect(it.conn, "1", "1"); /* it was not ended either */
    claim.engine_id = pg_attach(it.test, other, PG_LEASE_MS);
    assert_ok(other->driver->claim(other->self, &claim, claimed, &result));
    assert_int_equal(1, result.count);
    assert_ok(
        pg_commit_one(it.test, other, claim.engine_id, 1, node_record(&it)));
    assert_fails(CASCADE_ERR_FENCED, node_finish(&it));
    node_expect_rows(&it, 0, 1);
}

/* The same with a snapshot that still shows the lane. */
static void
a_removal_is_seen_past_an_old_snapshot(void **state)
{
    node_test it = node_open(*state);
    cascade_store *other = it.test->handles[0];
    size_t freed = 0;

    node_begin(&it);
    node_run(it.conn, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    node_run_here(&it, NODE_INSERT);
    assert_ok(pg_remove(other, &it.engine, &freed));
    assert_fails(CASCADE_ERR_FENCED, node_finish(&it));
    node_expect_rows(&it, 0, 0);
}

/* S10: a process that was stopped between the fence and the COMMIT. */
static void
a_stopped_finish_does_not_stop_the_removal(void **state)
{
    node_test it = node_open_proxied(*state);
    cascade_store *other = it.test->handles[0];
    finisher stopped;
    bool committed;
    size_t freed = 0;

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    pg_proxy_arm(it.proxy, PG_FAULT_STALL_AT_COMMIT);
    start_finish(&stopped, &it);
    pg_await_held_lane(it.test);
    assert_ok(pg_remove(other, &it.engine, &freed));
    assert_int_equal(1, freed);
    pg_proxy_arm(it.proxy, PG_FAULT_NONE);
    pthread_join(stopped.thread, NULL);
    assert_int_equal(CASCADE_ERR_UNAVAILABLE, stopped.err);
    assert_fails(CASCADE_ERR_FENCED, node_settle(&it, 2, &committed));
    node_expect_rows(&it, 0, 0);
    pg_proxy_stop(it.proxy);
}

/* ---- Connections that end ------------------------------------------------ */

/* S16: while it waits for the next; nobody notices. */
static void
connections_that_died_idle_are_replaced(void **state)
{
    node_test it = node_open(*state);

    for (int i = 0; i < 5; i++) {
        node_begin(&it);
        if (i == 0)
            node_run_here(&it, NODE_INSERT);
        assert_ok(node_finish_as(
            &it, i + 2,
            i == 0 ? node_record(&it) : rows_write(&it.test->rows, it.id, 1)));
        pg_sql(it.test,
               "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
               " WHERE application_name = '%s'",
               it.test->schema);
        if (i % 2 == 0)
            pg_until(it.test,
                     "SELECT (count(*) = 0)::int FROM pg_stat_activity"
                     " WHERE application_name = '%s'",
                     it.test->schema);
    }
    node_expect_rows(&it, 1, 1);
}

/* While the function has it: nothing was sent that could have committed. */
static void
a_connection_that_died_with_the_function_fails_it(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_try(it.conn, "SELECT pg_terminate_backend(pg_backend_pid())");
    assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
    assert_int_equal(1, node_lane_shows(it.test));
    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    node_try(it.conn, "SELECT pg_terminate_backend(pg_backend_pid())");
    node_abandon(&it);
    node_expect_rows(&it, 0, 0);
    node_begin(&it);
    assert_ok(node_finish(&it));
}

/* In the middle of finishing: settle tells. */
static void
a_backend_that_dies_in_a_finish_is_settled(void **state)
{
    node_test it = node_open(*state);
    bool committed = true;

    pg_sql(it.test, "CREATE FUNCTION suicide() RETURNS trigger"
                    " LANGUAGE plpgsql AS $$ BEGIN"
                    " PERFORM pg_terminate_backend(pg_backend_pid());"
                    " RETURN NEW; END $$");
    pg_sql(it.test, "CREATE TRIGGER suicide AFTER INSERT ON context_events"
                    " FOR EACH ROW EXECUTE FUNCTION suicide()");
    node_begin(&it);
    node_run_here(&it, NODE_INSERT);
    assert_fails(CASCADE_ERR_UNAVAILABLE, node_finish(&it));
    assert_ok(node_settle(&it, 2, &committed));
    assert_false(committed);
    node_expect_rows(&it, 0, 0);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(both_are_committed),
        PG_TEST(what_is_abandoned_is_rolled_back),
        PG_TEST(a_function_that_commits_is_told),
        PG_TEST(a_function_that_commits_and_begins_anew_is_told),
        PG_TEST(a_function_that_rolls_back_is_told),
        PG_TEST(a_function_that_commits_and_fails_is_told),
        PG_TEST(a_commit_is_told_whatever_follows_it),
        PG_TEST(a_mark_that_was_taken_away_is_told),
        PG_TEST(a_connection_among_several_hosts_is_not_kept_when_it_failed),
        PG_TEST(a_commit_that_is_not_fetched_is_told),
        PG_TEST(a_failed_statement_fails_the_transaction),
        PG_TEST(a_savepoint_saves_it),
        PG_TEST(what_is_left_open_fails_the_transaction),
        PG_TEST(a_statement_left_running_is_ended),
        PG_TEST(a_read_only_transaction_fails),
        PG_TEST(the_function_may_choose_its_isolation),
        PG_TEST(a_serialization_failure_fails_one_of_two),
        PG_TEST(an_old_snapshot_fails_the_attempt),
        PG_TEST(a_deadlock_with_an_outside_session_ends),
        PG_TEST(a_detachment_crosswise_to_a_finish_is_repeated),
        PG_TEST(a_deferred_constraint_fails_the_attempt),
        PG_TEST(deferred_triggers_run_as_the_functions),
        PG_TEST(a_finish_cut_before_its_commit_is_settled_as_nothing),
        PG_TEST(a_finish_whose_reply_is_lost_is_settled_as_committed),
        PG_TEST(settle_waits_for_a_finish_under_way),
        PG_TEST(a_finish_that_comes_late_is_fenced),
        PG_TEST(a_removal_does_not_wait_for_the_function),
        PG_TEST(a_removal_is_seen_past_an_old_snapshot),
        PG_TEST(a_stopped_finish_does_not_stop_the_removal),
        PG_TEST(connections_that_died_idle_are_replaced),
        PG_TEST(a_connection_that_died_with_the_function_fails_it),
        PG_TEST(a_backend_that_dies_in_a_finish_is_settled),
    };

    return pg_main("postgres: transactions of nodes", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
