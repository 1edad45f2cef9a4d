/* SPDX-License-Identifier: MIT
 *
 * S33: a start that waits for a transaction which is not the store's. What is
 * given up soon, and what is not.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "store/postgres_fixture.h"
#include "store/postgres_proxy.h"
#include "support/rows.h"

#define DEADLINE_MS 4000
#define LOCK_MS 3000 /* is given up after that, elsewhere */
#define SOON_MS 1000

/* An engine that owns a cascade, and somebody with a transaction. */
typedef struct held {
    pg_test *test;
    cascade_store *store;
    cascade_uuid engine;
    cascade_uuid id;
    PGconn *other;
} held;

static void
run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
}

static held
open_held(pg_test *test)
{
    cascade_store_options options = pg_options(test);
    held it = {.test = test, .other = PQconnectdb(pg_conninfo())};

    options.deadline_ms = DEADLINE_MS;
    it.store = pg_open(test, NULL, &options);
    it.engine = pg_attach(test, it.store, PG_LEASE_MS);
    it.id = rows_id(&test->rows);
    assert_ok(pg_commit_one(test, it.store, it.engine, 1,
                            rows_start_owned(&test->rows, it.id, it.engine)));
    /* So that nothing hangs on a test that fails. */
    run(it.other, "SET idle_in_transaction_session_timeout = '20s'");
    run(it.other, "BEGIN");
    return it;
}

static void
close_held(held *it)
{
    PQfinish(it->other);
}

/* It starts a cascade, and leaves that open. */
static void
begin_start(held *it, cascade_uuid id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[512];

    snprintf(sql, sizeof(sql),
             "INSERT INTO %s.cascades VALUES ('%s', 'RUNNING', 0, 'user',"
             " now(), now())",
             it->test->schema, cascade_uuid_format(&id, text));
    run(it->other, sql);
}

/* The owned cascade goes on, with a message for itself. */
static cascade_change *
go_on(held *it, const char *path)
{
    test_rows *rows = &it->test->rows;
    cascade_change *write = rows_write(rows, it->id, 1);

    rows_update(rows, write, 0, "{}");
    rows_insert(rows, write, 1, "second");
    rows_send(rows, write, rows_message(rows, it->id, path));
    return write;
}

static int64_t
count(held *it, const char *table)
{
    return pg_number(it->test, "SELECT count(*) FROM %s", table);
}

static void
a_batch_does_not_wait_for_a_start_with(pg_test *test, const char *key)
{
    held it = open_held(test);
    cascade_uuid id = rows_id(&test->rows);
    cascade_change *changes[2] = {go_on(&it, "path"),
                                  rows_start(&test->rows, id)};
    bool existed[2] = {false, false};
    int64_t begun_ms = pg_now_ms();

    changes[1]->key = key;
    changes[1]->run_number = 1;
    begin_start(&it, id);
    assert_fails(CASCADE_ERR_AGAIN,
                 pg_commit(test, it.store, it.engine, 2, changes, 2, existed));
    assert_true(pg_now_ms() - begun_ms < LOCK_MS - 500);
    assert_int_equal(1, count(&it, "node_executions"));
    assert_int_equal(1, pg_number(test, "SELECT batch FROM cascade_lanes"));
    assert_ok(pg_commit_one(test, it.store, it.engine, 2, changes[0]));
    assert_int_equal(2, count(&it, "node_executions"));
    assert_fails(CASCADE_ERR_AGAIN,
                 pg_commit_one(test, it.store, it.engine, 3, changes[1]));
    run(it.other, "COMMIT");
    assert_ok(pg_commit(test, it.store, it.engine, 3, &changes[1], 1, existed));
    assert_true(existed[0]);
    close_held(&it);
}

/* S33, S2: nothing took effect, and the number is good for what is left. */
static void
a_batch_does_not_wait_for_a_start(void **state)
{
    a_batch_does_not_wait_for_a_start_with(*state, NULL);
}

static void
a_batch_does_not_wait_for_a_keyed_start(void **state)
{
    a_batch_does_not_wait_for_a_start_with(*state, "key");
}

/* S33, S16: nothing of it is under way once it has answered. */
static void
a_batch_given_up_leaves_nothing_behind(void **state)
{
    held it = open_held(*state);
    cascade_uuid id = rows_id(&it.test->rows);
    cascade_change *start = rows_start(&it.test->rows, id);

    begin_start(&it, id);
    for (int i = 0; i < 3; i++)
        assert_fails(CASCADE_ERR_AGAIN,
                     pg_commit_one(it.test, it.store, it.engine, 2, start));
    assert_int_equal(
        0, pg_number(it.test,
                     "SELECT count(*) FROM pg_locks AS l"
                     " JOIN pg_stat_activity AS a USING (pid)"
                     " WHERE l.relation = '%s.cascade_lanes'::regclass"
                     "  AND a.state LIKE 'idle in transaction%%'",
                     it.test->schema));
    run(it.other, "ROLLBACK");
    assert_ok(pg_commit_one(it.test, it.store, it.engine, 2, start));
    assert_int_equal(2, count(&it, "cascades"));
    close_held(&it);
}

/* ---- What else waits as long as ever ------------------------------------- */

typedef struct releaser {
    pthread_t thread;
    held *it;
} releaser;

/* Once somebody waits for it. */
static void *
release(void *context)
{
    releaser *r = context;
    PGconn *conn = r->it->other;
    int64_t begun_ms = pg_now_ms();

    while (pg_now_ms() - begun_ms < SOON_MS + 200)
        run(conn, "SELECT pg_sleep(0.1)");
    run(conn, "COMMIT");
    return NULL;
}

/* S3, S33: a first try that is unfinished elsewhere is waited for. */
static void
the_fence_waits_as_long_as_ever(void **state)
{
    held it = open_held(*state);
    releaser r = {.it = &it};
    cascade_change *start = rows_start(&it.test->rows, rows_id(&it.test->rows));
    int64_t begun_ms = pg_now_ms();
    char sql[200];

    snprintf(sql, sizeof(sql), "UPDATE %s.cascade_lanes SET batch = batch",
             it.test->schema);
    run(it.other, sql);
    assert_int_equal(0, pthread_create(&r.thread, NULL, release, &r));
    assert_ok(pg_commit_one(it.test, it.store, it.engine, 2, start));
    assert_true(pg_now_ms() - begun_ms >= SOON_MS);
    pthread_join(r.thread, NULL);
    close_held(&it);
}

/* S33: it is not the start that waits, so it is no AGAIN, and none too soon. */
static void
what_follows_a_start_waits_as_long_as_ever(void **state)
{
    held it = open_held(*state);
    cascade_change *changes[2] = {
        go_on(&it, "path"),
        rows_start(&it.test->rows, rows_id(&it.test->rows))};
    char text[CASCADE_UUID_TEXT_SIZE];
    int64_t begun_ms;
    char sql[400];

    snprintf(sql, sizeof(sql),
             "INSERT INTO %s.cascade_messages"
             "  (cascade_id, kind, name, path, payload, sent_at)"
             " VALUES ('%s', 'signal', 'go', 'path', '{}', 0)",
             it.test->schema, cascade_uuid_format(&it.id, text));
    run(it.other, sql);
    begun_ms = pg_now_ms();
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 pg_commit(it.test, it.store, it.engine, 2, changes, 2, NULL));
    assert_true(pg_now_ms() - begun_ms >= LOCK_MS - 500);
    run(it.other, "COMMIT");
    assert_ok(pg_commit(it.test, it.store, it.engine, 2, changes, 2, NULL));
    close_held(&it);
}

/* S33: nothing that is told of a session outlives the commit. */
static void
the_session_waits_as_long_as_ever(void **state)
{
    held it = open_held(*state);
    cascade_uuid id = rows_id(&it.test->rows);
    cascade_change *write = go_on(&it, "path");
    int64_t begun_ms;
    char sql[200];

    begin_start(&it, id);
    assert_fails(CASCADE_ERR_AGAIN,
                 pg_commit_one(it.test, it.store, it.engine, 2,
                               rows_start(&it.test->rows, id)));
    run(it.other, "ROLLBACK; BEGIN");
    assert_ok(pg_commit_one(it.test, it.store, it.engine, 2,
                            rows_start(&it.test->rows, id)));
    snprintf(sql, sizeof(sql), "UPDATE %s.cascades SET fn_id = fn_id",
             it.test->schema);
    run(it.other, sql);
    begun_ms = pg_now_ms();
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 pg_commit_one(it.test, it.store, it.engine, 3, write));
    assert_true(pg_now_ms() - begun_ms >= LOCK_MS - 500);
    run(it.other, "ROLLBACK");
    close_held(&it);
}

/* ---- Submits ------------------------------------------------------------- */

static cascade_err
submit(held *it, cascade_change *start, bool brief, bool *existed)
{
    const cascade_submission submission = {
        .starts = start, .start_count = 1, .existed = existed, .brief = brief};

    return it->store->driver->submit(it->store->self, &submission);
}

/* S33: only one that is brief is given up. */
static void
a_brief_submit_does_not_wait(void **state)
{
    held it = open_held(*state);
    cascade_uuid id = rows_id(&it.test->rows);
    cascade_change *start = rows_start(&it.test->rows, id);
    releaser r = {.it = &it};
    int64_t begun_ms = pg_now_ms();
    bool existed = false;

    begin_start(&it, id);
    assert_fails(CASCADE_ERR_AGAIN, submit(&it, start, true, &existed));
    assert_true(pg_now_ms() - begun_ms < LOCK_MS - 500);
    begun_ms = pg_now_ms();
    assert_int_equal(0, pthread_create(&r.thread, NULL, release, &r));
    assert_ok(submit(&it, start, false, &existed));
    assert_true(existed);
    assert_true(pg_now_ms() - begun_ms >= SOON_MS);
    pthread_join(r.thread, NULL);
    start = rows_start(&it.test->rows, rows_id(&it.test->rows));
    existed = true;
    assert_ok(submit(&it, start, true, &existed));
    assert_false(existed);
    close_held(&it);
}

/* ---- A submit whose first try is under way still ------------------------- */

#define GATE "770033" /* an advisory lock */

typedef struct submitter {
    pthread_t thread;
    held *it;
    cascade_store *store;
    cascade_change *start;
    cascade_err err;
} submitter;

static void *
submit_all_along(void *context)
{
    submitter *s = context;
    const cascade_submission submission = {.starts = s->start,
                                           .start_count = 1,
                                           .existed = &(bool){false},
                                           .brief = true};

    s->err = s->store->driver->submit(s->store->self, &submission);
    return NULL;
}

/* A COMMIT with starts waits at the gate, however short lock_timeout is. */
static void
build_gate(held *it)
{
    char sql[800];

    snprintf(sql, sizeof(sql),
             "CREATE FUNCTION %s.gate() RETURNS trigger LANGUAGE plpgsql AS $$"
             " BEGIN"
             "  PERFORM set_config('lock_timeout', '0', true);"
             "  PERFORM pg_advisory_xact_lock_shared(" GATE ");"
             "  RETURN NULL;"
             " END $$;"
             "CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON %s.cascades"
             " DEFERRABLE INITIALLY DEFERRED"
             " FOR EACH ROW EXECUTE FUNCTION %s.gate()",
             it->test->schema, it->test->schema, it->test->schema);
    run(it->other, "ROLLBACK");
    run(it->other, sql);
    run(it->other, "SELECT pg_advisory_lock(" GATE ")");
}

static bool
waits_at_gate(held *it)
{
    int64_t end_ms = pg_now_ms() + 10 * SOON_MS;
    bool waits = false;

    while (!waits && pg_now_ms() < end_ms)
        waits =
            pg_number(it->test, "SELECT count(*) FROM pg_locks"
                                " WHERE locktype = 'advisory' AND NOT granted"
                                "  AND objid = " GATE) > 0;
    return waits;
}

/* S33, G12: the first try's COMMIT is under way in a backend that nobody
 * listens to any more, and the second waits for that one: it does not say that
 * nothing will have taken effect. */
static void
an_undecided_try_is_not_hidden_by_a_later_one(void **state)
{
    held it = open_held(*state);
    cascade_store_options options = pg_options(it.test);
    pg_proxy *proxy = pg_proxy_start(pg_conninfo());
    submitter s = {.it = &it};
    bool existed = true;
    bool waited = false;

    assert_non_null(proxy);
    options.deadline_ms = DEADLINE_MS;
    s.store = pg_open(it.test, pg_proxy_conninfo(proxy), &options);
    s.start = rows_start(&it.test->rows, rows_id(&it.test->rows));
    build_gate(&it);
    assert_int_equal(0, pthread_create(&s.thread, NULL, submit_all_along, &s));
    waited = waits_at_gate(&it);
    pg_proxy_arm(proxy, PG_FAULT_REFUSE);
    PQfinish(PQconnectdb(pg_proxy_conninfo(proxy))); /* is behind the cut */
    pg_proxy_arm(proxy, PG_FAULT_NONE);
    pthread_join(s.thread, NULL);
    waited = waited && waits_at_gate(&it);
    run(it.other, "SELECT pg_advisory_unlock(" GATE ")");
    assert_true(waited);
    assert_int_equal(CASCADE_ERR_UNAVAILABLE, s.err);
    assert_ok(submit(&it, s.start, false, &existed));
    assert_false(existed);
    assert_int_equal(2, count(&it, "cascades"));
    pg_proxy_stop(proxy);
    close_held(&it);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(a_batch_does_not_wait_for_a_start),
        PG_TEST(a_batch_does_not_wait_for_a_keyed_start),
        PG_TEST(a_batch_given_up_leaves_nothing_behind),
        PG_TEST(the_fence_waits_as_long_as_ever),
        PG_TEST(what_follows_a_start_waits_as_long_as_ever),
        PG_TEST(the_session_waits_as_long_as_ever),
        PG_TEST(a_brief_submit_does_not_wait),
        PG_TEST(an_undecided_try_is_not_hidden_by_a_later_one),
    };

    return pg_main("postgres: starts that are held", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
