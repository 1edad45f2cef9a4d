/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes on PostgreSQL: whatever a function does with the
 * session it is lent, its batch is written as any other, and who comes next
 * finds the session as new. And how many there are, and for how long.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "store/postgres/postgres_node.h"
#include "support/in_time.h"

#define MANY 16 /* what the driver says */

/* ---- What it sets -------------------------------------------------------- */

/* Makes the statements of ours fail, or mean something else, if they were said
 * under it. %s is the schema, or the role. */
static const char *const spoilers[] = {
    "SET LOCAL search_path = pg_temp",
    "SET search_path = pg_temp",
    "SET LOCAL client_encoding = 'LATIN1'",
    "SET client_encoding = 'LATIN1'",
    "SET LOCAL session_replication_role = replica",
    "SET LOCAL row_security = off",
    "SET LOCAL ROLE %s",
    "SET ROLE %s",
    "SET LOCAL SESSION AUTHORIZATION %s",
    "SET SESSION AUTHORIZATION %s",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL lock_timeout = 1",
    "SET LOCAL synchronous_commit = off",
    "SET LOCAL standard_conforming_strings = off",
    "SET LOCAL datestyle = 'SQL, DMY'",
    "SET LOCAL timezone = 'Asia/Kathmandu'",
    "SET LOCAL bytea_output = 'escape'",
    "SET LOCAL enable_indexscan = off",
    "SAVEPOINT open_one; SET LOCAL search_path = pg_temp",
    "DECLARE open_one CURSOR FOR SELECT 1",
};

static void
note_settings(pg_test *test)
{
    pg_sql(test, "CREATE TABLE spied (value text)");
    pg_sql(test, "GRANT ALL ON spied TO public");
    pg_sql(test,
           "CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$"
           " BEGIN INSERT INTO %s.spied VALUES (concat_ws(' ',"
           "  current_setting('synchronous_commit'),"
           "  current_setting('client_encoding'),"
           "  current_setting('search_path'), current_user, session_user,"
           "  current_setting('enable_seqscan')));"
           " RETURN NULL; END $$",
           test->schema);
    pg_sql(test, "CREATE TRIGGER spy AFTER INSERT ON context_events"
                 " FOR EACH STATEMENT EXECUTE FUNCTION spy()");
}

/* The batch is written as by a commit, whatever the function has set; what the
 * next one finds is as new. */
static void
no_setting_changes_what_is_written(void **state)
{
    pg_test *test = *state;
    node_test it = node_open(test);
    cascade_change *change;

    pg_make_role(test);
    pg_sql(test, "REVOKE ALL ON ALL TABLES IN SCHEMA %s FROM %s", test->schema,
           test->role);
    pg_sql(test, "GRANT ALL ON app TO %s", test->role);
    note_settings(test);
    for (size_t i = 0; i < sizeof(spoilers) / sizeof(spoilers[0]); i++) {
        char sql[200];

        node_begin(&it);
        node_expect(it.conn,
                    "concat_ws(' ', current_user, session_user,"
                    " current_setting('client_encoding'),"
                    " current_setting('enable_seqscan'))",
                    "cascade cascade UTF8 on");
        snprintf(sql, sizeof(sql), spoilers[i], test->role);
        node_run(it.conn, sql);
        change = rows_write(&test->rows, it.id, 1);
        rows_event(&test->rows, change, 0, "key", "\"\u00e4\u20ac\"");
        assert_ok(node_finish_as(&it, (int64_t)i + 2, change));
        assert_int_equal(i + 1,
                         pg_number(test, "SELECT count(*) FROM context_events"
                                         " WHERE value = '\"\u00e4\u20ac\"'"));
    }
    assert_int_equal(
        1, pg_number(test, "SELECT count(DISTINCT value) FROM spied"));
    assert_int_equal(
        1, pg_number(test, "SELECT count(*) FROM (SELECT DISTINCT value"
                           " FROM spied) AS s WHERE value LIKE 'on UTF8 %%'"
                           " AND value LIKE '%% cascade cascade off'"));
}

/* Foreign keys too: with replication's role they would not be looked at. */
static void
the_batch_is_checked_whatever_is_set(void **state)
{
    node_test it = node_open(*state);
    test_rows *rows = &it.test->rows;
    cascade_change *change = rows_write(rows, rows_id(rows), 1);

    rows_insert(rows, change, 1, "second");
    node_begin(&it);
    node_run(it.conn, "SET LOCAL session_replication_role = replica");
    assert_fails(CASCADE_ERR_REFUSED, node_finish_as(&it, 2, change));
    if (strstr(cascade_errmsg(), "23503") == NULL)
        fail_msg("%s", cascade_errmsg());
}

/* What ends a transaction: it commits, or not. */
typedef cascade_err (*ending_fn)(node_test *it);

static cascade_err
end_well(node_test *it)
{
    int64_t number = node_lane_shows(it->test) + 1;

    return node_finish_as(it, number, rows_write(&it->test->rows, it->id, 1));
}

static cascade_err
end_failed(node_test *it)
{
    node_try(it->conn, "SELECT 1 / 0");
    assert_fails(CASCADE_ERR_FAILED, end_well(it));
    return CASCADE_OK;
}

static cascade_err
end_abandoned(node_test *it)
{
    node_abandon(it);
    return CASCADE_OK;
}

static const ending_fn endings[] = {end_well, end_failed, end_abandoned};

static void
ignore_notice(void *context, const PGresult *notice)
{
    (void)context;
    (void)notice;
}

#define ENDING_MS 2000 /* what the driver gives a ROLLBACK */

typedef struct left_session {
    int pid;
    PQnoticeReceiver receiver; /* whom its notices went to before */
    bool late; /* it took so long to end that it may not be kept */
} left_session;

/* Leaves much on a session, and ends. */
static left_session
leave_much(node_test *it, ending_fn ending)
{
    left_session left;
    int64_t begun_ms;

    node_begin(it);
    left.pid = PQbackendPID(it->conn);
    left.receiver = PQsetNoticeReceiver(it->conn, ignore_notice, NULL);
    node_run(it->conn, "SET work_mem = '7MB'; SET application_name = 'me';"
                       "SET client_encoding = 'LATIN1';"
                       "SET default_transaction_isolation = serializable");
    node_run(it->conn, "CREATE TEMP TABLE scratch (n int)");
    node_run(it->conn, "LISTEN somebody; NOTIFY somebody");
    node_run_here(it, "SELECT pg_advisory_lock(hashtext('%s'))");
    node_run(it->conn, "DECLARE kept CURSOR WITH HOLD FOR SELECT 1");
    node_run_here(it, "SELECT nextval('%s.context_events_id_seq')");
    PQsetnonblocking(it->conn, 1);
    begun_ms = pg_now_ms();
    assert_ok(ending(it));
    left.late = pg_now_ms() - begun_ms >= ENDING_MS;
    /* Nobody has to begin anew for this. */
    pg_until(it->test,
             "SELECT (pg_try_advisory_lock(hashtext('%s'))"
             " AND pg_advisory_unlock(hashtext('%s')))::int",
             it->test->schema, it->test->schema);
    return left;
}

/* The same, and begins anew: on that session, unless the machine stood still
 * while it ended. */
static left_session
leave_and_begin(node_test *it, ending_fn ending)
{
    for (int i = 0; i < PG_TRIES; i++) {
        left_session left = leave_much(it, ending);

        node_begin(it);
        if (!left.late || PQbackendPID(it->conn) == left.pid)
            return left;
        node_abandon(it);
    }
    fail_msg("no session is ended within %d ms", ENDING_MS);
    return (left_session){.pid = 0};
}

/* S30: it is the same session, and nothing is left of it. */
static void
the_next_finds_the_session_as_new(void **state)
{
    pg_test *test = *state;
    node_test it = node_open(test);

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        left_session left = leave_and_begin(&it, endings[i]);

        assert_int_equal(left.pid, PQbackendPID(it.conn));
        assert_false(PQisnonblocking(it.conn));
        assert_ptr_equal(left.receiver,
                         PQsetNoticeReceiver(it.conn, NULL, NULL));
        assert_null(PQnotifies(it.conn));
        node_expect(it.conn, "current_setting('work_mem')", "4MB");
        node_expect(it.conn, "current_setting('application_name')",
                    test->schema);
        node_expect(it.conn, "current_setting('client_encoding')", "UTF8");
        node_expect(it.conn, "current_setting('transaction_isolation')",
                    "read committed");
        node_expect(it.conn, "to_regclass('pg_temp.scratch') IS NULL", "t");
        node_expect(it.conn, "count(*) FROM pg_listening_channels()", "0");
        node_expect(it.conn, "count(*) FROM pg_cursors", "0");
        node_expect(it.conn,
                    "count(*) FROM pg_locks WHERE locktype = 'advisory'"
                    " AND pid = pg_backend_pid()",
                    "0");
        assert_string_equal("55000", node_try(it.conn, "SELECT lastval()"));
        node_abandon(&it);
    }
}

/* What makes our own statements fast makes others slow. */
static void
the_function_has_the_settings_of_its_role(void **state)
{
    pg_test *test = *state;
    node_test it;
    char url[1024];

    pg_make_role(test);
    pg_sql(test, "ALTER ROLE %s SET work_mem = '3MB'", test->role);
    pg_sql(test, "ALTER ROLE %s SET search_path = 'theirs'", test->role);
    snprintf(url, sizeof(url), "%s user=%s", pg_conninfo(), test->role);
    it = node_open_on(test, url, NULL);
    for (int i = 0; i < 2; i++) {
        node_begin(&it);
        node_expect(it.conn, "current_setting('enable_hashjoin')", "on");
        node_expect(it.conn, "current_setting('enable_seqscan')", "on");
        node_expect(it.conn, "current_setting('plan_cache_mode')", "auto");
        node_expect(it.conn, "current_setting('work_mem')", "3MB");
        node_expect(it.conn, "current_setting('search_path')", "theirs");
        assert_ok(end_well(&it));
    }
}

/* A role that policies hold for: with row_security off ours would raise. */
static void
policies_hold_whatever_is_set(void **state)
{
    pg_test *test = *state;
    node_test it;
    char url[1024];

    pg_make_role(test);
    pg_sql(test, "ALTER TABLE cascades ENABLE ROW LEVEL SECURITY");
    pg_sql(test, "CREATE POLICY users ON cascades USING (user_id = 'user')");
    snprintf(url, sizeof(url), "%s user=%s", pg_conninfo(), test->role);
    it = node_open_on(test, url, NULL);
    node_begin(&it);
    node_run(it.conn, "SET LOCAL row_security = off");
    assert_ok(node_finish(&it));
}

/* Statements of the function's that took ours away: the next has new ones. */
static void
what_it_deallocates_costs_one_connection(void **state)
{
    node_test it = node_open(*state);
    bool committed = true;

    node_begin(&it);
    node_run(it.conn, "DEALLOCATE ALL");
    assert_fails(CASCADE_ERR_UNAVAILABLE, node_finish(&it));
    assert_ok(node_settle(&it, 2, &committed));
    assert_false(committed);
    node_begin(&it);
    assert_ok(node_finish_as(&it, 4, node_record(&it)));
}

/* ---- Behind a pooler ----------------------------------------------------- */

/* The session is somebody else's: nothing is prepared, set or reset in it. */
static void
behind_a_pooler_the_session_is_let_alone(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    node_test it;

    options.pooler = true;
    it = node_open_on(test, NULL, &options);
    note_settings(test);
    node_begin(&it);
    node_run(it.conn, "SET work_mem = '7MB'");
    node_run_here(&it, NODE_INSERT);
    assert_ok(node_finish(&it));
    node_expect_rows(&it, 1, 1);
    node_begin(&it);
    node_expect(it.conn, "current_setting('work_mem')", "7MB");
    node_expect(it.conn, "count(*) FROM pg_prepared_statements", "0");
    node_expect(it.conn, "current_setting('tcp_keepalives_idle')", "0");
    node_abandon(&it);
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM spied"
                                        " WHERE value LIKE 'on %% off'"));
}

/* ---- Limits -------------------------------------------------------------- */

#define SHORT_MS 500

/* Begins with that limit and runs something until it ends with `sqlstate`: the
 * limit may be over before, on a machine that stands still. Tells when it is
 * over. */
static int64_t
begin_shortly(node_test *it, const char *sql, const char *sqlstate)
{
    int64_t end_ms = 0;
    int64_t late_ms = 0;
    const char *got = NULL;

    for (;;) {
        node_begin_for(it, SHORT_MS);
        late_ms = pg_now_ms() + SHORT_MS;
        got = node_try_here(it, sql);
        if (strcmp(got, sqlstate) == 0)
            return late_ms;
        if (!in_time(&end_ms, PG_UNTIL_MS))
            fail_msg("%s gives %s, not %s", sql, got, sqlstate);
        node_abandon(it);
    }
}

/* S31 */
static void
a_statement_past_the_limit_is_interrupted(void **state)
{
    node_test it = node_open(*state);

    begin_shortly(&it, NODE_INSERT "; SELECT pg_sleep(30)", "57014");
    assert_fails(CASCADE_ERR_TIMEOUT, node_finish(&it));
    node_expect_rows(&it, 0, 0);
}

static void
wait_until(int64_t end_ms)
{
    while (pg_now_ms() < end_ms)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* S31: also when it does nothing, and then the server has ended it. */
static void
a_function_past_the_limit_is_not_committed(void **state)
{
    node_test it = node_open(*state);
    int64_t late_ms = begin_shortly(&it, NODE_INSERT, "");

    pg_until(it.test,
             "SELECT (count(*) = 0)::int FROM pg_stat_activity"
             " WHERE application_name = '%s'"
             "  AND state = 'idle in transaction'",
             it.test->schema);
    wait_until(late_ms + 50);
    assert_fails(CASCADE_ERR_TIMEOUT, node_finish(&it));
    node_expect_rows(&it, 0, 0);
    node_begin(&it);
    assert_ok(node_finish(&it));
}

/* What it sets for itself does not take the limit away. */
static void
the_limit_counts_whatever_is_set(void **state)
{
    node_test it = node_open(*state);
    int64_t late_ms = begin_shortly(
        &it, "SET LOCAL idle_in_transaction_session_timeout = 0; " NODE_INSERT,
        "");

    wait_until(late_ms + 50);
    assert_fails(CASCADE_ERR_TIMEOUT, node_finish(&it));
    node_expect_rows(&it, 0, 0);
    assert_int_equal(1, node_lane_shows(it.test));
}

/* An hour and more is none of the server's business, and no error. */
static void
any_limit_is_one(void **state)
{
    static const int64_t limits[] = {60000, INT64_MAX, INT64_C(1) << 40};
    node_test it = node_open(*state);

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        node_begin_for(&it, limits[i]);
        node_expect(it.conn, "current_setting('statement_timeout')",
                    i == 0 ? "1min" : "2147483647ms");
        node_abandon(&it);
    }
}

/* An operator cancels a statement: the attempt has failed, in time. */
static void
a_cancelled_statement_fails_the_attempt(void **state)
{
    node_test it = node_open(*state);

    node_begin(&it);
    assert_string_equal("57014",
                        node_try(it.conn, "SELECT pg_cancel_backend("
                                          "pg_backend_pid()), pg_sleep(30)"));
    assert_fails(CASCADE_ERR_FAILED, node_finish(&it));
}

/* ---- How many ------------------------------------------------------------ */

#define HASTY_MS 1000

static void
lend_all(node_test *it, cascade_native *lent)
{
    for (int i = 0; i < MANY; i++) {
        node_begin(it);
        lent[i] = it->native;
    }
    pg_until(it->test,
             "SELECT (count(*) = %d)::int FROM pg_stat_activity"
             " WHERE application_name = '%s'",
             MANY + 1, it->test->schema);
}

static void
take_all_back(node_test *it, cascade_native *lent)
{
    const cascade_store *store = it->store;

    for (int i = 0; i < MANY; i++)
        assert_ok(store->driver->node_txn->abandon(store->self, &lent[i]));
}

/* Beside connection_max, up to native_max; one more waits, up to the deadline.
 */
static void
there_are_as_many_as_the_driver_says(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    node_test it = {.test = test};
    cascade_native lent[MANY];
    cascade_native more;
    const cascade_store *store;
    int64_t begun_ms;

    options.connection_max = 1;
    options.deadline_ms = HASTY_MS;
    options.application_name = test->schema;
    it.store = pg_open(test, NULL, &options);
    store = it.store;
    assert_int_equal(MANY, store->driver->node_txn->native_max);
    lend_all(&it, lent);
    begun_ms = pg_now_ms();
    assert_fails(
        CASCADE_ERR_UNAVAILABLE,
        store->driver->node_txn->begin(store->self, NODE_LIMIT_MS, &more));
    assert_in_range(pg_now_ms() - begun_ms, HASTY_MS, PG_UNTIL_MS);
    take_all_back(&it, lent);
    lend_all(&it, lent);
    take_all_back(&it, lent);
}

/* ---- Memory -------------------------------------------------------------- */

#if CASCADE_FAULTS
/* S16: whichever allocation fails, the next try does it. */
static void
running_out_of_memory_leaves_nothing(void **state)
{
    node_test it = node_open(*state);
    cascade_change *change = node_record(&it);
    const cascade_store_driver *driver = it.store->driver;
    bool done = false;
    size_t failures = 0;

    for (size_t nth = 1; !done; nth++) {
        cascade_err err;

        csc_mem_fail_at(nth, 0);
        err =
            driver->node_txn->begin(it.store->self, NODE_LIMIT_MS, &it.native);
        if (err == CASCADE_OK) {
            it.conn = it.native.handle;
            node_run_here(&it, NODE_INSERT);
            err = node_finish_as(&it, 2, change);
        }
        done = csc_mem_fail_at(0, 0) < nth;
        failures += err != CASCADE_OK;
        if (err != CASCADE_OK)
            assert_int_equal(CASCADE_ERR_NO_MEMORY, err);
        assert_int_equal(done, err == CASCADE_OK);
        node_expect_rows(&it, done, done);
    }
    assert_true(failures > 3);
}
#endif

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(no_setting_changes_what_is_written),
        PG_TEST(the_batch_is_checked_whatever_is_set),
        PG_TEST(the_next_finds_the_session_as_new),
        PG_TEST(the_function_has_the_settings_of_its_role),
        PG_TEST(policies_hold_whatever_is_set),
        PG_TEST(what_it_deallocates_costs_one_connection),
        PG_TEST(behind_a_pooler_the_session_is_let_alone),
        PG_TEST(a_statement_past_the_limit_is_interrupted),
        PG_TEST(a_function_past_the_limit_is_not_committed),
        PG_TEST(the_limit_counts_whatever_is_set),
        PG_TEST(any_limit_is_one),
        PG_TEST(a_cancelled_statement_fails_the_attempt),
        PG_TEST(there_are_as_many_as_the_driver_says),
#if CASCADE_FAULTS
        PG_TEST(running_out_of_memory_leaves_nothing),
#endif
    };

    return pg_main("postgres: sessions of nodes", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
