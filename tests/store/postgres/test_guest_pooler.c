/* SPDX-License-Identifier: MIT
 *
 * A store on a connection of the application's that comes from a pgbouncer in
 * transaction mode, with a single connection to the server: whatever is left on
 * that, whoever has it next meets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <libpq-fe.h>
#include <poll.h>

#include "cascade/postgres.h"
#include "faults/pooler.h"
#include "process/server.h"

#define CLIENTS 2
#define ROUNDS 20
#define LOOK_MS 10
#define LOOKS 6000

static test_server server;
static test_pooler pooler;

static int64_t
number(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    long long got = -1;

    if (PQresultStatus(result) != PGRES_TUPLES_OK ||
        sscanf(PQgetvalue(result, 0, 0), "%lld", &got) != 1)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
    return got;
}

static void
run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
}

static void
start(cascade_store *store)
{
    cascade_started started;

    if (cascade_start(store, "work", NULL, NULL, &started) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
    if (cascade_signal(store, &started.id, "go", NULL, NULL) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
}

/* Who made the server may be on his way out still. */
static void
await_one_session(PGconn *conn)
{
    for (int i = 0; i < LOOKS; i++) {
        if (number(conn, "SELECT count(DISTINCT pid) FROM pg_stat_activity"
                         " WHERE backend_type = 'client backend'") == 1)
            return;
        poll(NULL, 0, LOOK_MS);
    }
    fail_msg("the server has other sessions than the pooler's");
}

/* By turns, outside a transaction, in one that commits, in one that does not.
 */
static void
a_guest_leaves_nothing_on_a_pooled_connection(void **state)
{
    PGconn *clients[CLIENTS];
    cascade_store *stores[CLIENTS];

    (void)state;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = PQconnectdb(pooler.conninfo);
        if (cascade_postgres_open(clients[i], NULL, &stores[i]) != CASCADE_OK)
            fail_msg("%s", cascade_errmsg());
    }
    for (int i = 0; i < ROUNDS; i++) {
        PGconn *conn = clients[i % CLIENTS];
        cascade_store *store = stores[i % CLIENTS];

        start(store);
        run(conn, "BEGIN");
        start(store);
        run(conn, i % 3 == 0 ? "ROLLBACK" : "COMMIT");
        assert_int_equal(
            0, number(conn, "SELECT count(*) FROM pg_prepared_statements"));
        assert_int_equal(1, number(conn, "SELECT (current_setting("
                                         "'enable_seqscan') = 'on')::int"));
    }
    assert_int_equal(ROUNDS + ROUNDS - (ROUNDS + 2) / 3,
                     number(clients[0], "SELECT count(*) FROM cascades"));
    assert_int_equal(ROUNDS + ROUNDS - (ROUNDS + 2) / 3,
                     number(clients[0], "SELECT count(*) FROM "
                                        "cascade_messages"));
    await_one_session(clients[0]);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(CASCADE_OK, cascade_store_close(stores[i]));
        PQfinish(clients[i]);
    }
}

static int
setup(void **state)
{
    (void)state;
    server_create(&server, "");
    pooler_create(&pooler, &server, 1);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    if (pooler.folder[0] != '\0')
        pooler_remove(&pooler);
    if (server.folder[0] != '\0')
        server_remove(&server);
    return 0;
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_leaves_nothing_on_a_pooled_connection)};

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("guests behind a pooler", tests, 1, setup,
                                   teardown);
}
