/* SPDX-License-Identifier: MIT
 *
 * One connection for everything: an INLINE engine on a store on the
 * application's own connection, polled beside the application's transactions on
 * that, with transactional nodes that get that same connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "cascade/sqlite.h"
#include "engine/support/mix.h"
#include "support/stores.h"

#define CASCADES 60
#define ROUNDS_BEFORE_CRASH 40

/* A small device. */
typedef struct device {
    test_db *test;
    sqlite3 *db;
    cascade_store *store;
    cascade_engine *engine;
    int failures;    /* attempts of a node that are to fail */
    int ended;       /* what a node is to do wrong */
    cascade_err met; /* by a node */
    cascade_uuid child;
} device;

static void
run(device *it, const char *sql)
{
    char *text = NULL;

    if (sqlite3_exec(it->db, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
}

static int
note_number(void *context, int count, char **values, char **names)
{
    (void)count;
    (void)names;
    *(int *)context = values[0] != NULL ? atoi(values[0]) : -1;
    return 0;
}

static int
count(device *it, const char *sql)
{
    int number = -1;

    if (sqlite3_exec(it->db, sql, note_number, &number, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(it->db));
    return number;
}

/* A quarter of the lease is what a transactional node has: so long that one in
 * a process that is stopped for a while has it still. */
static cascade_engine_options
inline_options(void)
{
    return (cascade_engine_options){.size = sizeof(cascade_engine_options),
                                    .mode = CASCADE_MODE_INLINE,
                                    .lease_ms = INT64_C(3600) * 1000,
                                    .poll_interval_ms = 20};
}

static void
switch_on(test_db *test, device *it)
{
    cascade_store_options options = db_store_options(test);
    cascade_engine_options engine = inline_options();

    it->test = test;
    assert_int_equal(SQLITE_OK,
                     sqlite3_open(strchr(test->url, ':') + 1, &it->db));
    assert_ok(cascade_sqlite_open(it->db, &options, &it->store));
    assert_ok(cascade_engine_open(it->store, &engine, &it->engine));
    run(it, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)");
}

static void
switch_off(device *it)
{
    assert_ok(cascade_engine_stop(it->engine, DB_WAIT_MS));
    assert_ok(cascade_engine_close(it->engine));
    assert_ok(cascade_store_close(it->store));
    assert_int_equal(SQLITE_OK, sqlite3_close(it->db));
}

/* One transaction of the application's, every other one taken back. */
static void
do_business(device *it, int round)
{
    run(it, "BEGIN IMMEDIATE; INSERT INTO orders DEFAULT VALUES");
    if (round % 2 == 0)
        (void)db_start(it->store, "idle");
    run(it, round % 4 < 2 ? "COMMIT" : "ROLLBACK");
}

typedef struct business {
    device *device;
    db_ends ends;
    int round;
} business;

static bool
all_ended(void *context)
{
    business *b = context;

    if (b->round < 200)
        do_business(b->device, b->round++);
    return db_all_ended(&b->ends) && b->round >= 200;
}

/* ---- A mix of cascades --------------------------------------------------- */

static void
register_all(device *it)
{
    mix_register(it->engine);
    assert_ok(cascade_engine_register(it->engine, "idle", stores_nothing, NULL,
                                      NULL));
}

static void
a_mix_runs_beside_the_application(test_db *db)
{
    cascade_uuid ids[CASCADES];
    device it = {0};
    business b = {.device = &it};

    mix_reset();
    switch_on(db, &it);
    register_all(&it);
    assert_ok(cascade_engine_start(it.engine));
    mix_start(it.store, ids, CASCADES);
    b.ends = (db_ends){.store = it.store, .ids = ids, .count = CASCADES};
    assert_true(db_poll_until(db, &it.engine, 1, all_ended, &b));
    assert_int_equal(count(&it, "SELECT count(*) FROM orders"), 100);
    assert_int_equal(count(&it, "SELECT count(*) FROM cascades"),
                     CASCADES + 50);
    switch_off(&it);
    (void)db_store(db); /* the rows are looked at */
}

static void
crash_in_the_middle(test_db *db)
{
    cascade_uuid ids[CASCADES];
    device it = {0};

    switch_on(db, &it);
    register_all(&it);
    assert_ok(cascade_engine_start(it.engine));
    mix_start(it.store, ids, CASCADES);
    for (int i = 0; i < ROUNDS_BEFORE_CRASH; i++) {
        do_business(&it, i);
        assert_ok(cascade_engine_poll(it.engine, 10, NULL));
    }
    run(&it, "BEGIN; INSERT INTO orders DEFAULT VALUES");
    (void)db_start(it.store, "idle");
    _exit(0);
}

static bool
none_runs(void *context)
{
    return count(context, "SELECT count(*) FROM cascades"
                          " WHERE status = 'RUNNING'") == 0;
}

/* The process dies within a transaction of the application's: the next one goes
 * on with what was committed. */
static void
the_next_process_goes_on(test_db *db)
{
    device it = {0};
    int status = -1;
    pid_t child;

    mix_reset();
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        crash_in_the_middle(db);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(status, 0);
    switch_on(db, &it);
    register_all(&it);
    assert_int_equal(count(&it, "SELECT count(*) FROM orders"),
                     ROUNDS_BEFORE_CRASH / 2);
    assert_false(none_runs(&it));
    assert_ok(cascade_engine_start(it.engine));
    assert_true(db_poll_until(db, &it.engine, 1, none_runs, &it));
    assert_int_equal(count(&it, "SELECT count(*) FROM cascades"),
                     CASCADES + ROUNDS_BEFORE_CRASH / 4);
    switch_off(&it);
    (void)db_store(db);
}

/* ---- Transactional nodes ------------------------------------------------- */

static cascade_err
sell(cascade_node *node, void *user)
{
    device *it = user;
    cascade_store *within = NULL;
    cascade_started started;
    sqlite3 *db = NULL;
    cascade_err err = cascade_node_sqlite(node, &db);

    expect(err == CASCADE_OK && db == it->db);
    if (sqlite3_exec(db, "INSERT INTO orders DEFAULT VALUES", NULL, NULL,
                     NULL) != SQLITE_OK)
        return CASCADE_ERR_FAILED;
    expect(cascade_node_store(node, &within) == CASCADE_OK);
    expect(cascade_start(within, "idle", NULL, NULL, &started) == CASCADE_OK);
    expect(cascade_start(it->store, "idle", NULL, NULL, &started) ==
           CASCADE_ERR_MISUSE);
    expect(cascade_node_put(node, "sold", cJSON_CreateNumber(1)) == CASCADE_OK);
    if (it->ended > 0 && --it->ended == 0)
        (void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return it->failures-- > 0 ? CASCADE_ERR_FAILED : CASCADE_OK;
}

static void
open_shop(test_db *db, device *it)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .transactional = true,
                                          .backoff_ms = 1,
                                          .attempts_max = 5};

    switch_on(db, it);
    assert_ok(cascade_engine_register(it->engine, "sell", sell, it, &options));
    assert_ok(cascade_engine_register(it->engine, "idle", stores_nothing, NULL,
                                      NULL));
    assert_ok(cascade_engine_start(it->engine));
}

/* What failed attempts wrote is gone; the last one's rows are there with the
 * completion. */
static void
transactional_nodes_get_the_connection(test_db *db)
{
    device it = {.failures = 3};
    cascade_uuid id;
    cascade_info *info = NULL;

    open_shop(db, &it);
    id = db_start(it.store, "sell");
    assert_true(db_poll_until(db, &it.engine, 1, none_runs, &it));
    assert_ok(cascade_get(it.store, &id, &info));
    assert_int_equal(info->status, CASCADE_COMPLETED);
    cascade_info_free(info);
    assert_int_equal(count(&it, "SELECT count(*) FROM orders"), 1);
    assert_int_equal(count(&it, "SELECT count(*) FROM cascades"), 2);
    switch_off(&it);
    (void)db_store(db);
}

/* In the application's transaction it is started, and runs after the commit. */
static void
a_transactional_node_is_started_within(test_db *db)
{
    device it = {0};

    open_shop(db, &it);
    run(&it, "BEGIN");
    (void)db_start(it.store, "sell");
    assert_fails(CASCADE_ERR_MISUSE, cascade_engine_poll(it.engine, 0, NULL));
    run(&it, "COMMIT");
    assert_true(db_poll_until(db, &it.engine, 1, none_runs, &it));
    assert_int_equal(count(&it, "SELECT count(*) FROM orders"), 1);
    switch_off(&it);
    (void)db_store(db);
}

/* The function commits by itself: seen, and the execution fails for good. */
static void
a_node_that_commits_is_found_out(test_db *db)
{
    device it = {.ended = 1};
    cascade_uuid id;
    cascade_info *info = NULL;

    open_shop(db, &it);
    id = db_start(it.store, "sell");
    assert_true(db_poll_until(db, &it.engine, 1, none_runs, &it));
    assert_ok(cascade_get(it.store, &id, &info));
    assert_int_equal(info->status, CASCADE_ERROR);
    cascade_info_free(info);
    assert_true(sqlite3_get_autocommit(it.db));
    switch_off(&it);
    (void)db_store(db);
}

/* Opens a store within once before the transaction is gone, and once behind. */
static cascade_err
sell_twice(cascade_node *node, void *user)
{
    device *it = user;
    cascade_store *within = NULL;
    cascade_info *info = NULL;
    cascade_started started;

    if (it->failures > 0)
        expect(cascade_node_store(node, &within) == CASCADE_OK);
    (void)sqlite3_exec(it->db,
                       "INSERT INTO orders DEFAULT VALUES;"
                       "INSERT OR ROLLBACK INTO orders SELECT id FROM orders",
                       NULL, NULL, NULL);
    expect(sqlite3_get_autocommit(it->db));
    if (it->failures-- > 0) {
        expect(cascade_start(within, "idle", NULL, NULL, &started) ==
               CASCADE_ERR_FAILED);
        expect(strstr(cascade_errmsg(), "return from the node") != NULL);
        expect(cascade_get(within, cascade_node_cascade_id(node), &info) ==
               CASCADE_ERR_FAILED);
    } else {
        expect(cascade_node_store(node, &within) == CASCADE_ERR_FAILED);
    }
    return CASCADE_OK;
}

/* SQLite has rolled the transaction of the node back: no call of the library
 * writes beside it, and the attempt has failed, which may be repeated. */
static void
a_transaction_that_is_gone_takes_no_more(test_db *db)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .transactional = true,
                                          .backoff_ms = 1,
                                          .attempts_max = 2};
    device it = {.failures = 1};
    cascade_uuid id;
    cascade_info *info = NULL;

    switch_on(db, &it);
    assert_ok(
        cascade_engine_register(it.engine, "sell", sell_twice, &it, &options));
    assert_ok(cascade_engine_start(it.engine));
    id = db_start(it.store, "sell");
    assert_true(db_poll_until(db, &it.engine, 1, none_runs, &it));
    assert_ok(cascade_get(it.store, &id, &info));
    assert_int_equal(info->status, CASCADE_ERROR);
    cascade_info_free(info);
    assert_int_equal(it.failures, -1); /* both attempts */
    assert_int_equal(count(&it, "SELECT count(*) FROM orders"), 0);
    assert_int_equal(count(&it, "SELECT count(*) FROM cascades"), 1);
    switch_off(&it);
    (void)db_store(db);
}

/* ---- Modes --------------------------------------------------------------- */

static void
other_modes_are_refused(test_db *db)
{
    cascade_engine_options options = inline_options();
    cascade_engine *engine = NULL;
    device it = {0};

    switch_on(db, &it);
    assert_ok(cascade_engine_start(it.engine));
    options.mode = CASCADE_MODE_THREADS;
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 cascade_engine_open(it.store, &options, &engine));
    options.mode = CASCADE_MODE_LOOP;
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 cascade_engine_open(it.store, &options, &engine));
    assert_null(engine);
    switch_off(&it);
}

/* There is nothing to stop that would commit. */
static void
one_that_was_never_started_is_closed_within(test_db *db)
{
    cascade_engine_options options = inline_options();
    cascade_engine *engine = NULL;
    device it = {0};

    switch_on(db, &it);
    run(&it, "BEGIN");
    assert_ok(cascade_engine_open(it.store, &options, &engine));
    assert_ok(cascade_engine_close(engine));
    run(&it, "COMMIT");
    switch_off(&it);
}

static const stores_test tests[] = {
    {"a_mix_runs_beside_the_application", a_mix_runs_beside_the_application,
     STORES_SQLITE},
    {"the_next_process_goes_on", the_next_process_goes_on, STORES_SQLITE},
    {"transactional_nodes_get_the_connection",
     transactional_nodes_get_the_connection, STORES_SQLITE},
    {"a_transactional_node_is_started_within",
     a_transactional_node_is_started_within, STORES_SQLITE},
    {"a_node_that_commits_is_found_out", a_node_that_commits_is_found_out,
     STORES_SQLITE},
    {"a_transaction_that_is_gone_takes_no_more",
     a_transaction_that_is_gone_takes_no_more, STORES_SQLITE},
    {"other_modes_are_refused", other_modes_are_refused, STORES_SQLITE},
    {"one_that_was_never_started_is_closed_within",
     one_that_was_never_started_is_closed_within, STORES_SQLITE},
};

int
main(int argc, char **argv)
{
    return stores_run("single", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
