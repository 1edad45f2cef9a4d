/* SPDX-License-Identifier: MIT
 *
 * What the tests of transactions of nodes on PostgreSQL share: an engine with
 * one cascade, and the short forms of begin, finish and what a function does
 * between them. The table `app` is the application's.
 */
#ifndef TESTS_STORE_POSTGRES_POSTGRES_NODE_H
#define TESTS_STORE_POSTGRES_POSTGRES_NODE_H

#include "store/postgres/postgres_fixture.h"
#include "store/postgres/postgres_proxy.h"

#define NODE_LIMIT_MS 60000
#define NODE_INSERT "INSERT INTO %s.app VALUES (1)"

/* An engine with one cascade it owns, batch 1; and what was begun. */
typedef struct node_test {
    pg_test *test;
    cascade_store *store;
    pg_proxy *proxy; /* or NULL */
    cascade_uuid engine;
    cascade_uuid id;
    cascade_native native;
    PGconn *conn;
} node_test;

/* With a store of its own, which has the schema's name as application_name.
 * NULL stands for the server itself, and for pg_options(). */
node_test node_open_on(pg_test *test, const char *url,
                       const cascade_store_options *options);
node_test node_open(pg_test *test);
node_test node_open_proxied(pg_test *test); /* the caller stops the proxy */

/* Again where a short deadline, or limit, was too short. */
void node_begin(node_test *it);
void node_begin_for(node_test *it, int64_t limit_ms);

/* Statements of the function's. The SQLSTATE, "" where it went well. */
const char *node_try(PGconn *conn, const char *sql);
void node_run(PGconn *conn, const char *sql);
/* %s is the test's schema. */
void node_run_here(node_test *it, const char *sql);
const char *node_try_here(node_test *it, const char *sql);
/* What an expression is on that connection. */
void node_expect(PGconn *conn, const char *expression, const char *value);

/* Ends execution 0 of the cascade, begins another, and puts an event. */
cascade_change *node_record(node_test *it);
/* Batch `number` of lane 0. */
cascade_err node_finish_as(node_test *it, int64_t number,
                           cascade_change *change);
/* Batch 2, with node_record(). */
cascade_err node_finish(node_test *it);
void node_abandon(node_test *it);
cascade_err node_settle(node_test *it, int64_t number, bool *committed);

/* How many rows there are of the application and of context_events. */
void node_expect_rows(node_test *it, int64_t app, int64_t events);
int64_t node_lane_shows(pg_test *test);

#endif
