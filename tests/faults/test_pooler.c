/* SPDX-License-Identifier: MIT
 *
 * Two engines behind a pgbouncer in transaction mode that has fewer connections
 * to the server than they have to it: whoever sends a transaction gets any of
 * those. Nothing may be left in a session that the next one would meet, and
 * nothing expected there.
 */
#include <libpq-fe.h>

#include "faults/admin.h"
#include "faults/load.h"
#include "faults/pooler.h"
#include "process/check.h"

#define LIMIT_MS 90000
#define SOME_EXECUTIONS 200
#define SOME_STARTS 20
#define POOL 3
#define CONNECTIONS 8
#define ROUNDS 3

/* Of the test that runs: a failing one leaves them to clean_up(). */
static test_server server;
static test_pooler pooler;
static test_place place;

static int
clean_up(void **state)
{
    (void)state;
    if (pooler.folder[0] != '\0')
        pooler_remove(&pooler);
    if (server.folder[0] != '\0')
        server_remove(&server);
    place_destroy(&place);
    pooler.folder[0] = '\0';
    server.folder[0] = '\0';
    return 0;
}

static test_load *
open_load(void)
{
    load_options options = {.pooler = true, .connection_max = CONNECTIONS};

    server_create(&server, "");
    pooler_create(&pooler, &server, POOL);
    place_create_at(&place, server.conninfo);
    options.url = pooler.conninfo;
    return load_open(&place, &options);
}

static void
finish(test_load *load)
{
    load_end(load);
    load_settle(load, LIMIT_MS);
    assert_int_equal(0, load_stats(load).refusals);
    assert_int_equal(0, load_stats(load).losses);
    load_check(load);
    load_close(load);
}

/* ---- Sessions ------------------------------------------------------------ */

/* What a session holds that outlives a transaction. */
static void
check_session(PGconn *connection)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM pg_prepared_statements),"
        " (SELECT count(*) FROM pg_listening_channels()),"
        " (SELECT count(*) FROM pg_settings"
        "  WHERE source = 'session' AND (name LIKE 'enable%'"
        "   OR name LIKE '%timeout' OR name LIKE '%commit'"
        "   OR name LIKE '%messages' OR name LIKE '%isolation'))";
    PGresult *result = PQexec(connection, sql);

    assert_int_equal(PGRES_TUPLES_OK, PQresultStatus(result));
    assert_string_equal("0", PQgetvalue(result, 0, 0));
    assert_string_equal("0", PQgetvalue(result, 0, 1));
    assert_string_equal("0", PQgetvalue(result, 0, 2));
    PQclear(result);
}

/* Each of these transactions has a connection to the server for itself, so
 * together they have all. */
static void
check_all_sessions(void)
{
    PGconn *connections[POOL];

    for (int i = 0; i < POOL; i++) {
        PGresult *result = NULL;

        connections[i] = PQconnectdb(pooler.conninfo);
        result = PQexec(connections[i], "BEGIN");
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            fail_msg("%s", PQerrorMessage(connections[i]));
        PQclear(result);
        check_session(connections[i]);
    }
    for (int i = 0; i < POOL; i++)
        PQfinish(connections[i]);
}

static void
engines_share_few_sessions_and_leave_nothing_in_them(void **state)
{
    test_load *load = open_load();

    (void)state;
    load_begin(load);
    load_await_executions(load, SOME_EXECUTIONS);
    check_all_sessions();
    load_await_executions(load, SOME_EXECUTIONS);
    check_all_sessions();
    finish(load);
}

/* ---- Faults -------------------------------------------------------------- */

static void
kill_sessions(void)
{
    admin_sql(server.conninfo,
              "SELECT count(pg_terminate_backend(pid)) "
              "FROM pg_stat_activity WHERE backend_type = 'client backend' "
              "AND pid <> pg_backend_pid()");
}

static void
what_dies_around_the_pooler_loses_nothing(void **state)
{
    test_load *load = open_load();

    (void)state;
    load_begin(load);
    for (int i = 0; i < ROUNDS; i++) {
        load_await_executions(load, SOME_EXECUTIONS);
        kill_sessions();
        load_await_acknowledged(load, SOME_STARTS);
        pooler_reload(&pooler);
        load_await_acknowledged(load, SOME_STARTS);
        pooler_kill(&pooler);
        pooler_start(&pooler);
        ledger_mark(&load->ledger);
    }
    server_crash(&server);
    server_start(&server);
    ledger_mark(&load->ledger);
    load_await_acknowledged(load, SOME_STARTS);
    check_all_sessions();
    finish(load);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(
        engines_share_few_sessions_and_leave_nothing_in_them, clean_up),
    cmocka_unit_test_teardown(what_dies_around_the_pooler_loses_nothing,
                              clean_up),
};

int
main(int argc, char **argv)
{
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
