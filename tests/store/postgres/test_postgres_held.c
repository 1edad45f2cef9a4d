/* SPDX-License-Identifier: MIT
 *
 * S33: a start that waits for a transaction which is not the store's. What is
 * given up soon, and what is not.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "store/postgres/postgres_fixture.h"
#include "store/postgres/postgres_proxy.h"
#include "support/rows.h"

/* Of a store whose waits for locks, three quarters of that, no test waits for;
 * and of one that gives up while the test looks on. */
#define PATIENT_MS (2 * PG_UNTIL_MS)
#define HASTY_MS 1600
#define LOCK_MS (HASTY_MS * 3 / 4)
#define SLACK_MS 200
#define SOON_MS "500" /* a start is given up before that */

/* An engine that owns a cascade, and somebody with a transaction. */
typedef struct held {
    pg_test *test;
    cascade_store *store;
    cascade_uuid engine;
    cascade_uuid id;
    PGconn *other;
} held;

static cascade_store *
open_store(pg_test *test, const char *url, int64_t deadline_ms)
{
    cascade_store_options options = pg_options(test);

    options.deadline_ms = deadline_ms;
    options.application_name = test->schema;
    return pg_open(test, url, &options);
}

static held
open_held(pg_test *test)
{
    held it = {.test = test, .other = pg_connect(NULL)};

    it.store = open_store(test, NULL, PATIENT_MS);
    it.engine = pg_attach(test, it.store, PG_LEASE_MS);
    it.id = rows_id(&test->rows);
    assert_ok(pg_commit_one(test, it.store, it.engine, 1,
                            rows_start_owned(&test->rows, it.id, it.engine)));
    /* So that nothing hangs on a test that fails. */
    pg_run(it.other, "SET idle_in_transaction_session_timeout = '120s'");
    pg_run(it.other, "BEGIN");
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
    pg_run(it->other, sql);
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
    assert_true(pg_now_ms() - begun_ms < PG_UNTIL_MS);
    assert_int_equal(1, count(&it, "node_executions"));
    assert_int_equal(1, pg_number(test, "SELECT batch FROM cascade_lanes"));
    assert_ok(pg_commit_one(test, it.store, it.engine, 2, changes[0]));
    assert_int_equal(2, count(&it, "node_executions"));
    assert_fails(CASCADE_ERR_AGAIN,
                 pg_commit_one(test, it.store, it.engine, 3, changes[1]));
    pg_run(it.other, "COMMIT");
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
    pg_run(it.other, "ROLLBACK");
    assert_ok(pg_commit_one(it.test, it.store, it.engine, 2, start));
    assert_int_equal(2, count(&it, "cascades"));
    close_held(&it);
}

/* ---- What else waits as long as ever ------------------------------------- */

/* A move in a thread of its own: a batch, or a submit. */
typedef struct mover {
    pthread_t thread;
    held *it;
    cascade_change *start;
    bool submits;
    bool brief;
    bool existed;
    cascade_store *store;
    cascade_err err;
    char text[256];
} mover;

static cascade_err
submit(cascade_store *store, cascade_change *start, bool brief, bool *existed)
{
    const cascade_submission submission = {
        .starts = start, .start_count = 1, .existed = existed, .brief = brief};

    return store->driver->submit(store->self, &submission);
}

static void *
move(void *context)
{
    mover *m = context;
    held *it = m->it;

    m->err = m->submits
                 ? submit(m->store, m->start, m->brief, &m->existed)
                 : pg_commit_one(it->test, m->store, it->engine, 2, m->start);
    snprintf(m->text, sizeof(m->text), "%s", cascade_errmsg());
    return NULL;
}

static void
begin_move(mover *m)
{
    assert_int_equal(0, pthread_create(&m->thread, NULL, move, m));
}

/* It goes well, though it has to wait until somebody lets go, for longer than a
 * start of a batch would. */
static void
expect_patience(mover *m)
{
    begin_move(m);
    pg_until(m->it->test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE application_name = '%s' AND wait_event_type = 'Lock'"
             "  AND clock_timestamp() - query_start > '" SOON_MS " ms'",
             m->it->test->schema);
    pg_run(m->it->other, "COMMIT");
    pthread_join(m->thread, NULL);
    if (m->err != CASCADE_OK)
        fail_msg("%s", m->text);
}

/* S3, S33: a first try that is unfinished elsewhere is waited for. */
static void
the_fence_waits_as_long_as_ever(void **state)
{
    held it = open_held(*state);
    mover m = {.it = &it,
               .store = it.store,
               .start = rows_start(&it.test->rows, rows_id(&it.test->rows))};
    char sql[200];

    snprintf(sql, sizeof(sql), "UPDATE %s.cascade_lanes SET batch = batch",
             it.test->schema);
    pg_run(it.other, sql);
    expect_patience(&m);
    close_held(&it);
}

/* What takes effect, or is given up, by a store that has little time for it. */
static cascade_err
commit_by(cascade_store *store, held *it, int64_t number,
          cascade_change *change)
{
    pg_haste haste = pg_hurry(store->config.deadline_ms);
    cascade_err err = CASCADE_OK;

    do
        err = pg_commit_one(it->test, store, it->engine, number, change);
    while (pg_again(&haste, err));
    return err;
}

/* S33: it is not the start that waits, so it is no AGAIN, and none too soon. */
static void
what_follows_a_start_waits_as_long_as_ever(void **state)
{
    held it = open_held(*state);
    cascade_store *hasty = open_store(it.test, NULL, HASTY_MS);
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
    pg_run(it.other, sql);
    begun_ms = pg_now_ms();
    assert_fails(CASCADE_ERR_NOT_DONE,
                 pg_commit(it.test, hasty, it.engine, 2, changes, 2, NULL));
    assert_true(pg_now_ms() - begun_ms >= LOCK_MS - SLACK_MS);
    pg_run(it.other, "COMMIT");
    assert_ok(pg_commit(it.test, it.store, it.engine, 2, changes, 2, NULL));
    close_held(&it);
}

/* S33: nothing that is told of a session outlives the commit. */
static void
the_session_waits_as_long_as_ever(void **state)
{
    held it = open_held(*state);
    cascade_store *hasty = open_store(it.test, NULL, HASTY_MS);
    cascade_uuid id = rows_id(&it.test->rows);
    cascade_change *write = go_on(&it, "path");
    int64_t begun_ms;
    char sql[200];

    begin_start(&it, id);
    assert_fails(CASCADE_ERR_AGAIN,
                 commit_by(hasty, &it, 2, rows_start(&it.test->rows, id)));
    pg_run(it.other, "ROLLBACK; BEGIN");
    assert_ok(commit_by(hasty, &it, 2, rows_start(&it.test->rows, id)));
    snprintf(sql, sizeof(sql), "UPDATE %s.cascades SET fn_id = fn_id",
             it.test->schema);
    pg_run(it.other, sql);
    begun_ms = pg_now_ms();
    assert_fails(CASCADE_ERR_NOT_DONE,
                 pg_commit_one(it.test, hasty, it.engine, 3, write));
    assert_true(pg_now_ms() - begun_ms >= LOCK_MS - SLACK_MS);
    pg_run(it.other, "ROLLBACK");
    close_held(&it);
}

/* ---- Submits ------------------------------------------------------------- */

/* S33: only one that is brief is given up. */
static void
a_brief_submit_does_not_wait(void **state)
{
    held it = open_held(*state);
    cascade_uuid id = rows_id(&it.test->rows);
    cascade_change *start = rows_start(&it.test->rows, id);
    mover m = {.it = &it, .store = it.store, .start = start, .submits = true};
    int64_t begun_ms = pg_now_ms();
    bool existed = false;

    begin_start(&it, id);
    assert_fails(CASCADE_ERR_AGAIN, submit(it.store, start, true, &existed));
    assert_true(pg_now_ms() - begun_ms < PG_UNTIL_MS);
    expect_patience(&m);
    assert_true(m.existed);
    start = rows_start(&it.test->rows, rows_id(&it.test->rows));
    existed = true;
    assert_ok(submit(it.store, start, true, &existed));
    assert_false(existed);
    close_held(&it);
}

/* S93: nor does it for a path; one that is not brief does. */
static void
a_brief_submit_does_not_wait_for_a_path(void **state)
{
    held it = open_held(*state);
    cascade_message_row row = *rows_message(&it.test->rows, it.id, "path");
    cascade_sent sent = CASCADE_SENT;
    cascade_submission submission = {
        .messages = &row, .message_count = 1, .sent = &sent, .brief = true};
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[400];

    snprintf(sql, sizeof(sql),
             "INSERT INTO %s.cascade_messages"
             "  (cascade_id, kind, name, path, payload, sent_at)"
             " VALUES ('%s', 'signal', 'go', 'path', '{}', 0)",
             it.test->schema, cascade_uuid_format(&it.id, text));
    pg_run(it.other, sql);
    assert_fails(CASCADE_ERR_AGAIN,
                 it.store->driver->submit(it.store->self, &submission));
    pg_run(it.other, "COMMIT");
    assert_ok(it.store->driver->submit(it.store->self, &submission));
    assert_int_equal(sent, CASCADE_SENT_REPEATED);
    close_held(&it);
}

/* ---- A submit whose first try is under way still ------------------------- */

/* A COMMIT with starts waits at the gate, however short lock_timeout is. */
static void
build_gate(held *it)
{
    const char *schema = it->test->schema;
    char sql[800];

    snprintf(sql, sizeof(sql),
             "CREATE FUNCTION %s.gate() RETURNS trigger LANGUAGE plpgsql AS $$"
             " BEGIN"
             "  PERFORM set_config('lock_timeout', '0', true);"
             "  PERFORM pg_advisory_xact_lock_shared(hashtext('%s'));"
             "  RETURN NULL;"
             " END $$;"
             "CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON %s.cascades"
             " DEFERRABLE INITIALLY DEFERRED"
             " FOR EACH ROW EXECUTE FUNCTION %s.gate()",
             schema, schema, schema, schema);
    pg_run(it->other, "ROLLBACK");
    pg_run(it->other, sql);
    snprintf(sql, sizeof(sql), "SELECT pg_advisory_lock(hashtext('%s'))",
             schema);
    pg_run(it->other, sql);
}

static void
open_gate(held *it)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT pg_advisory_unlock(hashtext('%s'))",
             it->test->schema);
    pg_run(it->other, sql);
}

static void
await_at_gate(held *it)
{
    pg_until(it->test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE application_name = '%s' AND wait_event = 'advisory'",
             it->test->schema);
}

/* S33, G12: the first try's COMMIT is under way in a backend that nobody
 * listens to any more, and the second waits for that one: it does not say that
 * nothing will have taken effect. */
static void
an_undecided_try_is_not_hidden_by_a_later_one(void **state)
{
    held it = open_held(*state);
    pg_proxy *proxy = pg_proxy_start(pg_conninfo());
    mover m = {.it = &it, .submits = true, .brief = true};
    bool existed = true;

    assert_non_null(proxy);
    m.store = open_store(it.test, pg_proxy_conninfo(proxy), PATIENT_MS);
    m.start = rows_start(&it.test->rows, rows_id(&it.test->rows));
    build_gate(&it);
    begin_move(&m);
    await_at_gate(&it);
    pg_proxy_arm(proxy, PG_FAULT_REFUSE);
    PQfinish(PQconnectdb(pg_proxy_conninfo(proxy))); /* is behind the cut */
    pg_proxy_arm(proxy, PG_FAULT_NONE);
    pthread_join(m.thread, NULL);
    await_at_gate(&it);
    open_gate(&it);
    assert_int_equal(CASCADE_ERR_UNAVAILABLE, m.err);
    assert_ok(submit(it.store, m.start, false, &existed));
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
        PG_TEST(a_brief_submit_does_not_wait_for_a_path),
        PG_TEST(an_undecided_try_is_not_hidden_by_a_later_one),
    };

    return pg_main("postgres: starts that are held", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
