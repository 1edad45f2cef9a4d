/* SPDX-License-Identifier: MIT
 *
 * A server that has no connection left, a role with hostile settings, other
 * sessions that hold locks for long, and that make the engines' batches the
 * victims of deadlocks and serialization failures.
 */
#include "faults/postgres_siege.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define CONNECTIONS 20
/* Beside three that are reserved for superusers, and ours, who is one. */
#define FILLERS (CONNECTIONS - 4)
/* A batch that waits for a lock looks for a deadlock after that time. */
#define SERVER "max_connections=20 deadlock_timeout=100"
#define PROGRESS 80
#define ROUNDS 6
#define TRIES_MAX 60
#define LONG_MS 250

static pg_siege siege;
static PGconn *fillers[CONNECTIONS];
static PGconn *other;

static int
set_up(void **state)
{
    (void)state;
    stage_create(SERVER);
    return 0;
}

/* ---- Too many connections ------------------------------------------------ */

/* Takes what the server has left; how many we have then. */
static size_t
fill_server(void)
{
    size_t count = 0;

    for (int i = 0; i < CONNECTIONS; i++) {
        if (fillers[i] == NULL)
            fillers[i] = PQconnectdb(stage.conninfo);
        if (PQstatus(fillers[i]) == CONNECTION_OK) {
            count++;
            continue;
        }
        PQfinish(fillers[i]);
        fillers[i] = NULL;
        break;
    }
    return count;
}

/* A session that has ended keeps its place a moment longer than it is shown. */
static bool
is_full(void *context)
{
    (void)context;
    return fill_server() == FILLERS;
}

static void
empty_server(void)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        PQfinish(fillers[i]);
        fillers[i] = NULL;
    }
}

static int
clean_up(void **state)
{
    (void)state;
    empty_server();
    PQfinish(other);
    other = NULL;
    siege_abandon(&siege);
    return 0;
}

/* A busy server may not even come to say so in time. */
static void
await_refusal(cascade_err (*call)(void *context), void *context)
{
    int64_t until_ms = place_now_ms() + SIEGE_LIMIT_MS;

    do {
        assert_fails(CASCADE_ERR_UNAVAILABLE, call(context));
        if (strstr(cascade_errmsg(), "the server has no connection left"))
            return;
    } while (place_now_ms() < until_ms);
    fail_msg("it is not told: %s", cascade_errmsg());
}

static void
await_success(cascade_err (*call)(void *context), void *context)
{
    int64_t until_ms = place_now_ms() + SIEGE_LIMIT_MS;
    cascade_err err = call(context);

    while (err != CASCADE_OK && place_now_ms() < until_ms) {
        assert_int_equal(CASCADE_ERR_UNAVAILABLE, err);
        assert_string_not_equal("", cascade_errmsg());
        err = call(context);
    }
    assert_ok(err);
}

static cascade_err
try_to_open(void *context)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .deadline_ms = 500};

    return cascade_store_open(stage.conninfo, &options, context);
}

/* Which may take longer than that. */
static void
make_tables(void)
{
    cascade_store *store = NULL;

    assert_ok(cascade_store_open(stage.conninfo, NULL, &store));
    assert_ok(cascade_store_close(store));
}

static cascade_err
try_to_start(void *context)
{
    return cascade_engine_start(context);
}

static void
a_full_server_is_told_clearly(void **state)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;

    (void)state;
    stage_new_database();
    make_tables();
    assert_true(place_wait(is_full, NULL, SIEGE_LIMIT_MS));
    await_refusal(try_to_open, &store);
    assert_null(store);
    empty_server();
    pg_until(&stage.sql, "SELECT (count(*) = 0)::int FROM pg_stat_activity"
                         " WHERE usename = '" STAGE_ROLE "'");
    await_success(try_to_open, &store);
    assert_ok(cascade_engine_open(store, NULL, &engine));
    pg_sql(&stage.sql, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                       " WHERE application_name = 'libcascade'");
    pg_until(&stage.sql, "SELECT (count(*) = 0)::int FROM pg_stat_activity"
                         " WHERE application_name = 'libcascade'");
    assert_true(place_wait(is_full, NULL, SIEGE_LIMIT_MS));
    await_refusal(try_to_start, engine);
    empty_server();
    await_success(try_to_start, engine);
    assert_ok(cascade_engine_close(engine));
    assert_ok(cascade_store_close(store));
}

/* Ends the connections of the stores and takes their place, until two starts
 * have failed. */
static void
push_out(void)
{
    int64_t until_ms = place_now_ms() + SIEGE_LIMIT_MS;
    size_t failed = siege.load->failed;

    do {
        assert_true(place_now_ms() < until_ms);
        pg_sql(&stage.sql,
               "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
               " WHERE application_name = '%s'",
               siege.name);
        siege.strikes++;
        (void)fill_server();
    } while (siege.load->failed < failed + 2);
}

/* It goes on with the connections it has; when those are ended and others take
 * their place, it comes back once there is room. */
static void
engines_go_on_on_a_full_server(void **state)
{
    const siege_options options = {.deadline_ms = 400};

    (void)state;
    stage_new_database();
    siege_open(&siege, &options);
    for (size_t i = 0; siege_is_due(&siege, i, 3, SIEGE_NO_ROOM) ||
                       siege_is_due(&siege, i, 3, SIEGE_STRUCK);
         i++) {
        siege_goes_on(&siege, PROGRESS);
        (void)fill_server();
        siege_goes_on(&siege, PROGRESS);
        push_out();
        empty_server();
        siege_mark(&siege);
    }
    siege_goes_on(&siege, PROGRESS);
    siege_end(&siege);
}

/* ---- Timeouts ------------------------------------------------------------ */

static void
set_role(const char *name, const char *value)
{
    pg_sql(&stage.sql, "ALTER ROLE " STAGE_ROLE " SET %s = '%s'", name, value);
}

/* Rows that every batch needs are locked, and one waits for them. */
static void
hold_rows(const char *rows)
{
    pg_sql(&stage.sql, "BEGIN; SELECT 1 FROM %s FOR NO KEY UPDATE", rows);
    pg_until(&stage.sql,
             "SELECT count(*) FROM pg_stat_activity WHERE"
             " application_name = '%s' AND wait_event_type = 'Lock'",
             siege.name);
    siege.strikes++;
}

/* For longer than the limits of the role. */
static void
hold_long(const char *rows)
{
    hold_rows(rows);
    poll(NULL, 0, LONG_MS);
    pg_sql(&stage.sql, "COMMIT");
}

/* The role's own limits are far below what the locks last; a session of the
 * library has those of its deadline. */
static void
limits_of_the_role_do_not_matter(void **state)
{
    const siege_options options = {.deadline_ms = 60000};

    (void)state;
    stage_new_database();
    set_role("statement_timeout", "100ms");
    set_role("lock_timeout", "10ms");
    set_role("idle_in_transaction_session_timeout", "1ms");
    siege_open(&siege, &options);
    for (int i = 0; i < 2; i++) {
        hold_long("cascade_lanes");
        siege_goes_on(&siege, PROGRESS);
        hold_long("cascades ORDER BY id");
        siege_goes_on(&siege, PROGRESS);
    }
    assert_int_equal(0, siege_told(&siege, SIEGE_STRUCK));
    assert_int_equal(0, siege_told(&siege, SIEGE_CANCELLED));
    assert_int_equal(0, siege_told(&siege, SIEGE_LOCK_TIMEOUT));
    siege_end(&siege);
}

/* For longer than a batch waits, however long that takes to be told. */
static void
hold_too_long(const char *rows)
{
    size_t struck = siege_told(&siege, SIEGE_STRUCK);
    size_t given_up = siege_told(&siege, SIEGE_LOCK_TIMEOUT);

    hold_rows(rows);
    siege_await_word(&siege, SIEGE_STRUCK, struck + 1);
    siege_await_word(&siege, SIEGE_LOCK_TIMEOUT, given_up + 1);
    pg_sql(&stage.sql, "COMMIT");
    siege_goes_on(&siege, PROGRESS);
    siege_mark(&siege);
}

/* Locks that last longer than the deadline. */
static void
locks_are_given_up_and_asked_for_again(void **state)
{
    const siege_options options = {.deadline_ms = 400};

    (void)state;
    stage_new_database();
    siege_open(&siege, &options);
    for (int i = 0; i < 2; i++) {
        hold_too_long("cascade_lanes");
        hold_too_long("cascades ORDER BY id");
    }
    siege_end(&siege);
}

/* ---- Deadlocks and serialization failures -------------------------------- */

/* In its middle a batch has written executions, and not yet cascades: there it
 * has to pass the gate, which whoever has the lock exclusively keeps closed. */
static void
build_gate(void)
{
    pg_sql(&stage.sql,
           "CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$"
           " BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END"
           " $$");
    pg_sql(&stage.sql, "CREATE TRIGGER pass AFTER INSERT ON context_events"
                       " FOR EACH ROW EXECUTE FUNCTION pass()");
}

/* A session that never looks for a deadlock itself. */
static void
connect_other(void)
{
    other = PQsetdbLogin(stage.server.folder, NULL, "-c deadlock_timeout=10min",
                         NULL, stage.database, "cascade", NULL);
    if (PQstatus(other) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(other));
}

static void
run_other(const char *sql)
{
    PGresult *result = PQexec(other, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(other));
    PQclear(result);
}

/* With whatever it holds and waits for. */
static void
end_other(void)
{
    int pid = PQbackendPID(other);

    pg_sql(&stage.sql, "SELECT pg_terminate_backend(%d)", pid);
    pg_until(&stage.sql,
             "SELECT (count(*) = 0)::int FROM pg_stat_activity"
             " WHERE pid = %d",
             pid);
    PQfinish(other);
    other = NULL;
}

static bool
is_other_waiting(void)
{
    return pg_number(&stage.sql,
                     "SELECT count(*) FROM pg_stat_activity"
                     " WHERE pid = %d AND wait_event_type = 'Lock'",
                     PQbackendPID(other)) > 0;
}

static bool
is_other_done(void)
{
    assert_int_equal(1, PQconsumeInput(other));
    return PQisBusy(other) == 0;
}

static bool
has_other_come(void *context)
{
    (void)context;
    return is_other_waiting() || is_other_done();
}

static bool
is_deadlock_over(void *told)
{
    return siege_told(&siege, SIEGE_DEADLOCK) > *(size_t *)told ||
           is_other_done();
}

/* The other session has the rows of cascades, which a batch writes last, and
 * wants those of executions that batches at the gate have written. There is no
 * deadlock where those have written new ones only, or on a machine that stands
 * still: it is to be made again. */
static void
make_deadlock(void)
{
    size_t told = siege_told(&siege, SIEGE_DEADLOCK);

    connect_other();
    pg_sql(&stage.sql, "BEGIN; SELECT pg_advisory_xact_lock(1)");
    pg_until(&stage.sql,
             "SELECT count(*) FROM pg_stat_activity WHERE"
             " application_name = '%s' AND wait_event = 'advisory'",
             siege.name);
    run_other("BEGIN; SELECT 1 FROM cascades WHERE status = 'RUNNING'"
              " ORDER BY id FOR NO KEY UPDATE");
    run_other("SET LOCAL lock_timeout = '5s'");
    assert_int_equal(1, PQsendQuery(other, "SELECT 1 FROM node_executions"
                                           " WHERE status = 'RUNNING'"
                                           " FOR UPDATE"));
    if (!place_wait(has_other_come, NULL, SIEGE_LIMIT_MS))
        fail_msg("the other session neither waits nor goes on");
    pg_sql(&stage.sql, "COMMIT");
    if (!place_wait(is_deadlock_over, &told, SIEGE_LIMIT_MS))
        fail_msg("the other session waits, and nobody ends it");
    end_other();
}

static void
victims_of_deadlocks_try_again(void **state)
{
    const siege_options options = {.deadline_ms = 60000};
    size_t tries = 0;

    (void)state;
    stage_new_database();
    siege_open(&siege, &options);
    build_gate();
    while (siege_told(&siege, SIEGE_DEADLOCK) < ROUNDS) {
        assert_true(tries++ < TRIES_MAX);
        make_deadlock();
        siege_goes_on(&siege, PROGRESS);
        siege_mark(&siege);
    }
    siege.strikes = siege_told(&siege, SIEGE_DEADLOCK);
    assert_true(siege_told(&siege, SIEGE_STRUCK) >= ROUNDS);
    siege_end(&siege);
}

/* A role whose transactions are to be serializable, and another session whose
 * are: the library's are what it says, and never fail for it. */
static void
defaults_of_the_role_make_no_failures(void **state)
{
    const siege_options options = {.deadline_ms = 60000};

    (void)state;
    stage_new_database();
    set_role("default_transaction_isolation", "serializable");
    set_role("default_transaction_deferrable", "on");
    siege_open(&siege, &options);
    for (int i = 0; i < 20; i++) {
        pg_sql(&stage.sql,
               "BEGIN ISOLATION LEVEL SERIALIZABLE;"
               "SELECT count(*) FROM cascades WHERE status = 'RUNNING'");
        siege_goes_on(&siege, 5);
        pg_sql(&stage.sql, "ROLLBACK");
    }
    assert_int_equal(0, siege_told(&siege, SIEGE_SERIALIZATION));
    assert_int_equal(0, siege_told(&siege, SIEGE_STRUCK));
    siege_end(&siege);
}

/* What a server would say that repeats transactions of its own accord. */
static void
serialization_failures_are_repeated(void **state)
{
    const siege_options options = {.deadline_ms = 1000};

    (void)state;
    stage_new_database();
    siege_open(&siege, &options);
    siege_goes_on(&siege, PROGRESS);
    pg_sql(&stage.sql,
           "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$"
           " BEGIN IF random() < 0.2 THEN"
           " RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;"
           " RETURN NULL; END $$");
    pg_sql(&stage.sql, "CREATE TRIGGER fail AFTER INSERT ON context_events"
                       " FOR EACH STATEMENT EXECUTE FUNCTION fail()");
    siege_await_word(&siege, SIEGE_SERIALIZATION, ROUNDS);
    siege_goes_on(&siege, PROGRESS);
    siege_mark(&siege);
    pg_sql(&stage.sql, "DROP TRIGGER fail ON context_events");
    assert_true(siege_told(&siege, SIEGE_STRUCK) >= ROUNDS);
    siege.strikes = siege_told(&siege, SIEGE_SERIALIZATION);
    siege_end(&siege);
}

#define TEST(test) cmocka_unit_test_teardown(test, clean_up)

static const struct CMUnitTest tests[] = {
    TEST(a_full_server_is_told_clearly),
    TEST(engines_go_on_on_a_full_server),
    TEST(limits_of_the_role_do_not_matter),
    TEST(locks_are_given_up_and_asked_for_again),
    TEST(victims_of_deadlocks_try_again),
    TEST(defaults_of_the_role_make_no_failures),
    TEST(serialization_failures_are_repeated),
};

int
main(int argc, char **argv)
{
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, set_up, stage_remove);
}
