/* SPDX-License-Identifier: MIT
 *
 * See postgres_node.h.
 */
#include "store/postgres/postgres_node.h"

#include <stdio.h>
#include <string.h>

node_test
node_open_on(pg_test *test, const char *url,
             const cascade_store_options *options)
{
    cascade_store_options named = options == NULL ? pg_options(test) : *options;
    node_test it = {.test = test};

    named.application_name = test->schema;
    it.store = pg_open(test, url, &named);
    it.engine = pg_attach(test, it.store, PG_LEASE_MS);
    it.id = rows_id(&test->rows);
    assert_ok(pg_commit_one(test, it.store, it.engine, 1,
                            rows_start_owned(&test->rows, it.id, it.engine)));
    pg_sql(test, "CREATE TABLE IF NOT EXISTS app (id int PRIMARY KEY,"
                 " n int DEFAULT 0)");
    return it;
}

node_test
node_open(pg_test *test)
{
    return node_open_on(test, NULL, NULL);
}

node_test
node_open_proxied(pg_test *test)
{
    pg_proxy *proxy = pg_proxy_start(pg_conninfo());
    node_test it;

    assert_non_null(proxy);
    it = node_open_on(test, pg_proxy_conninfo(proxy), NULL);
    it.proxy = proxy;
    return it;
}

void
node_begin_for(node_test *it, int64_t limit_ms)
{
    const cascade_store *store = it->store;
    int64_t deadline_ms = store->config.deadline_ms;
    pg_haste haste = pg_hurry(limit_ms < deadline_ms ? limit_ms : deadline_ms);
    cascade_err err = CASCADE_OK;

    do
        err =
            store->driver->node_txn->begin(store->self, limit_ms, &it->native);
    while (pg_again(&haste, err));
    assert_ok(err);
    it->conn = it->native.handle;
}

void
node_begin(node_test *it)
{
    node_begin_for(it, NODE_LIMIT_MS);
}

const char *
node_try(PGconn *conn, const char *sql)
{
    static char sqlstate[6];
    PGresult *result = PQexec(conn, sql);
    const char *got = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    snprintf(sqlstate, sizeof(sqlstate), "%s",
             got != NULL                                   ? got
             : PQresultStatus(result) == PGRES_FATAL_ERROR ? "lost"
                                                           : "");
    PQclear(result);
    return sqlstate;
}

void
node_run(PGconn *conn, const char *sql)
{
    const char *sqlstate = node_try(conn, sql);

    if (sqlstate[0] != '\0')
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
}

const char *
node_try_here(node_test *it, const char *sql)
{
    char text[1024];

    snprintf(text, sizeof(text), sql, it->test->schema);
    return node_try(it->conn, text);
}

void
node_run_here(node_test *it, const char *sql)
{
    const char *sqlstate = node_try_here(it, sql);

    if (sqlstate[0] != '\0')
        fail_msg("%s: %s", sql, PQerrorMessage(it->conn));
}

void
node_expect(PGconn *conn, const char *expression, const char *value)
{
    char sql[512];
    PGresult *result;

    snprintf(sql, sizeof(sql), "SELECT %s", expression);
    result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    if (strcmp(PQgetvalue(result, 0, 0), value) != 0)
        fail_msg("%s is %s, not %s", expression, PQgetvalue(result, 0, 0),
                 value);
    PQclear(result);
}

cascade_change *
node_record(node_test *it)
{
    cascade_change *change = rows_write(&it->test->rows, it->id, 1);

    rows_update(&it->test->rows, change, 0, "{\"output\":1}");
    rows_insert(&it->test->rows, change, 1, "second");
    rows_event(&it->test->rows, change, 0, "key", "1");
    return change;
}

cascade_err
node_finish_as(node_test *it, int64_t number, cascade_change *change)
{
    cascade_batch batch = {.engine_id = it->engine,
                           .lane = 0,
                           .number = number,
                           .changes = change,
                           .change_count = 1};
    bool existed = true;
    cascade_err err = it->store->driver->node_txn->finish(
        it->store->self, &it->native, &batch, &existed);

    if (err == CASCADE_OK)
        assert_false(existed);
    return err;
}

cascade_err
node_finish(node_test *it)
{
    return node_finish_as(it, 2, node_record(it));
}

void
node_abandon(node_test *it)
{
    it->store->driver->node_txn->abandon(it->store->self, &it->native);
}

cascade_err
node_settle(node_test *it, int64_t number, bool *committed)
{
    return it->store->driver->settle(it->store->self, &it->engine, 0, number,
                                     committed);
}

void
node_expect_rows(node_test *it, int64_t app, int64_t events)
{
    assert_int_equal(app, pg_number(it->test, "SELECT count(*) FROM app"));
    assert_int_equal(
        events, pg_number(it->test, "SELECT count(*) FROM context_events"));
}

int64_t
node_lane_shows(pg_test *test)
{
    return pg_number(test, "SELECT max(batch) FROM cascade_lanes");
}
