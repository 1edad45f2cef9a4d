/* SPDX-License-Identifier: MIT
 *
 * Two servers, the second following the first, and one connection string that
 * names both. The first dies under load and the second is promoted: the library
 * finds it by itself.
 *
 * With synchronous replication nothing that was acknowledged is lost, also
 * where the standby was away in between: then nothing is acknowledged.
 */
#include <stdio.h>
#include <string.h>

#include "faults/admin.h"
#include "faults/load.h"
#include "process/check.h"
#include "process/server.h"
#include "store/store.h"
#include "support/rows.h"

#define LIMIT_MS 90000
#define SOME_EXECUTIONS 200
#define SOME_STARTS 30
#define SHORT_DEADLINE_MS 1000
#define SLEEP_MS 500
#define UNFLUSHED "fsync=off" /* servers are killed: no power is cut */

typedef struct pair {
    test_server primary;
    test_server standby;
    test_place place;
} pair;

/* Of the test that runs: a failing one leaves its servers to clean_up(). */
static pair current;

static int
clean_up(void **state)
{
    (void)state;
    if (current.primary.folder[0] != '\0')
        server_remove(&current.primary);
    if (current.standby.folder[0] != '\0')
        server_remove(&current.standby);
    place_destroy(&current.place);
    return 0;
}

static pair *
open_pair(void)
{
    pair *it = &current;
    char conninfo[512];

    *it = (pair){.primary = {.folder = ""}};
    server_create(&it->primary, UNFLUSHED);
    server_create_standby(&it->standby, &it->primary, UNFLUSHED);
    snprintf(conninfo, sizeof(conninfo),
             "host=%.120s,%.120s user=cascade dbname=cascade",
             it->primary.folder, it->standby.folder);
    place_create_at(&it->place, conninfo);
    return it;
}

static void
await_standby(const pair *it)
{
    admin_until(it->primary.conninfo,
                "SELECT count(*) FROM pg_stat_replication "
                "WHERE sync_state = 'sync'");
}

/* Commits on the primary wait for the standby from now on. */
static void
replicate_synchronously(const pair *it)
{
    admin_sql(it->primary.conninfo,
              "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    admin_sql(it->primary.conninfo, "SELECT pg_reload_conf()");
    await_standby(it);
}

/* The standby shows what the primary shows now. */
static void
await_replayed(const pair *it)
{
    int64_t written = admin_number(
        it->primary.conninfo, "SELECT (pg_current_wal_lsn() - '0/0')::int8");
    char sql[128];

    snprintf(sql, sizeof(sql),
             "SELECT (pg_last_wal_replay_lsn() - '0/0' >= %lld)::int",
             (long long)written);
    admin_until(it->standby.conninfo, sql);
}

/* Where only reading is allowed nothing of it ends before we have looked. */
static void
assert_running(const test_server *server)
{
    assert_true(admin_number(server->conninfo,
                             "SELECT count(*) FROM cascades"
                             " WHERE status = 'RUNNING'") > 0);
}

/* Its cascades live for a while, so that there are some at any moment. */
static test_load *
open_load(const pair *it, const load_options *options)
{
    test_load *load = load_open(&it->place, options);

    load->flow.sleep_ms = SLEEP_MS;
    load_begin(load);
    load_await_executions(load, SOME_EXECUTIONS);
    return load;
}

static void
finish(test_load *load)
{
    load_settle(load, LIMIT_MS);
    load_check(load);
    load_close(load);
}

static void
assert_read_only(cascade_err err)
{
    assert_int_equal(CASCADE_ERR_READ_ONLY, err);
    assert_non_null(strstr(cascade_errmsg(), "the server only allows reading"));
}

/* Who names the standby alone is told what is wrong, with tables and without;
 * looking is fine. */
static void
a_standby_can_be_looked_at_and_says_that_it_cannot_be_written(void **state)
{
    const cascade_store_options empty = {.size = sizeof(empty),
                                         .schema = "empty"};
    pair *it = open_pair();
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_page *page = NULL;
    cascade_started started;

    (void)state;
    admin_sql(it->primary.conninfo, "CREATE SCHEMA empty");
    assert_ok(cascade_store_open(it->place.url, NULL, &store));
    assert_ok(cascade_store_close(store));
    await_replayed(it);
    assert_read_only(cascade_store_open(it->standby.conninfo, &empty, &store));
    assert_ok(cascade_store_open(it->standby.conninfo, NULL, &store));
    assert_ok(cascade_list(store, NULL, &page));
    cascade_page_free(page);
    assert_read_only(cascade_start(store, "root", NULL, NULL, &started));
    assert_ok(cascade_engine_open(store, NULL, &engine));
    assert_read_only(cascade_engine_start(engine));
    assert_ok(cascade_engine_close(engine));
    assert_ok(cascade_store_close(store));
}

static void
synchronous_failover_loses_nothing(void **state)
{
    pair *it = open_pair();
    test_load *load = NULL;

    (void)state;
    replicate_synchronously(it);
    load = open_load(it, NULL);
    ledger_mark(&load->ledger);
    server_crash(&it->primary);
    assert_running(&it->standby);
    server_promote(&it->standby);
    ledger_mark(&load->ledger);
    load_await_acknowledged(load, SOME_STARTS);
    load_end(load);
    finish(load);
}

/* Somebody's commits wait for the standby. */
static void
await_blocked(const pair *it)
{
    admin_until(it->primary.conninfo, "SELECT count(*) "
                                      "FROM pg_stat_activity "
                                      "WHERE wait_event = 'SyncRep'");
}

static void
cancel_blocked(const pair *it)
{
    admin_sql(it->primary.conninfo, "SELECT pg_cancel_backend(pid) "
                                    "FROM pg_stat_activity "
                                    "WHERE wait_event = 'SyncRep'");
}

/* One batch, one start and the end of another incarnation, the same each time
 * they are tried: by a store that gives up soon, or by one that does not. */
typedef struct attempt {
    cascade_store *hasty;
    cascade_store *store;
    cascade_uuid ending;
    cascade_batch batch;
    const cascade_change *start;
} attempt;

static attempt
open_attempt(const pair *it)
{
    const cascade_store_options soon = {.size = sizeof(soon),
                                        .deadline_ms = SHORT_DEADLINE_MS};

    attempt tried = {.batch = {.number = 1, .change_count = 1}};

    tried.store = load_open_store(it->place.url, NULL); /* makes the tables */
    tried.hasty = load_open_store(it->place.url, &soon);
    return tried;
}

static void
close_attempt(attempt *it)
{
    assert_ok(cascade_store_close(it->hasty));
    assert_ok(cascade_store_close(it->store));
}

static cascade_uuid
attach(const attempt *it, test_rows *rows)
{
    cascade_incarnation incarnation = rows_incarnation(rows, 1, LIMIT_MS);

    assert_ok(it->store->driver->attach(it->store->self, &incarnation));
    return incarnation.engine_id;
}

static void
assert_tried(const attempt *it, cascade_store *store, cascade_err wanted)
{
    const cascade_store_driver *driver = store->driver;
    bool existed = false;

    assert_int_equal(wanted, driver->commit(store->self, &it->batch, &existed));
    assert_int_equal(wanted,
                     rows_submit(driver, store->self, it->start, 1, &existed));
    assert_false(existed);
    assert_int_equal(wanted, driver->detach(store->self, &it->ending));
}

/* All three are written, and wait for the standby. */
static void
await_written(const pair *it)
{
    admin_until(it->primary.conninfo,
                "SELECT (count(*) >= 3)::int FROM pg_stat_activity"
                " WHERE wait_event = 'SyncRep'");
}

/* What a crash has shown to everybody, the standby may still not have. */
static void
try_until_replicated(pair *it, const attempt *tried)
{
    server_crash(&it->standby);
    assert_tried(tried, tried->hasty, CASCADE_ERR_UNAVAILABLE);
    await_written(it);
    server_crash(&it->primary);
    server_start(&it->primary);
    assert_int_equal(
        2, admin_number(it->primary.conninfo, "SELECT count(*) FROM cascades"));
    assert_int_equal(1, admin_number(it->primary.conninfo,
                                     "SELECT count(*) FROM cascade_engines"));
    assert_tried(tried, tried->hasty, CASCADE_ERR_UNAVAILABLE);
    server_start(&it->standby);
    await_standby(it);
    assert_tried(tried, tried->store, CASCADE_OK);
}

static void
what_the_standby_may_not_have_is_not_acknowledged(void **state)
{
    pair *it = open_pair();
    attempt tried;
    test_rows rows;

    (void)state;
    rows_init(&rows, rows_seed(), INT64_C(1767225600123));
    replicate_synchronously(it);
    tried = open_attempt(it);
    tried.batch.engine_id = attach(&tried, &rows);
    tried.ending = attach(&tried, &rows);
    tried.batch.changes =
        rows_start_owned(&rows, rows_id(&rows), tried.batch.engine_id);
    tried.start = rows_start(&rows, rows_id(&rows));
    try_until_replicated(it, &tried);
    close_attempt(&tried);
    rows_fini(&rows);
}

/* Until the standby has it. Nothing of what settle does may pass for that. */
static cascade_err
settle(const attempt *it, cascade_store *store, bool *committed)
{
    return store->driver->settle(store->self, &it->batch.engine_id,
                                 it->batch.lane, it->batch.number, committed);
}

static void
settle_until_replicated(pair *it, const attempt *tried)
{
    bool committed = false;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(CASCADE_ERR_UNAVAILABLE,
                         settle(tried, tried->hasty, &committed));
        await_blocked(it);
        cancel_blocked(it);
        admin_until(it->primary.conninfo,
                    "SELECT (max(batch) = 2)::int FROM cascade_lanes");
    }
    server_start(&it->standby);
    await_standby(it);
    assert_ok(settle(tried, tried->store, &committed));
    assert_true(committed);
}

typedef struct beginning {
    cascade_store *store;
    cascade_native *native;
} beginning;

static bool
has_begun(void *context)
{
    const beginning *it = context;

    return it->store->driver->node_txn->begin(it->store->self, LIMIT_MS,
                                              it->native) == CASCADE_OK;
}

/* The same of a node's transaction, which cannot be repeated. */
static void
a_transaction_is_settled_when_the_standby_has_it(void **state)
{
    pair *it = open_pair();
    attempt tried;
    cascade_native native;
    beginning begin = {.native = &native};
    const cascade_store_driver *driver;
    cascade_uuid id;
    bool existed;
    test_rows rows;

    (void)state;
    rows_init(&rows, rows_seed(), INT64_C(1767225600123));
    replicate_synchronously(it);
    tried = open_attempt(it);
    driver = tried.store->driver;
    tried.batch.engine_id = attach(&tried, &rows);
    id = rows_id(&rows);
    tried.batch.changes = rows_start_owned(&rows, id, tried.batch.engine_id);
    assert_ok(driver->commit(tried.store->self, &tried.batch, &existed));
    tried.batch.changes = rows_write(&rows, id, 1);
    tried.batch.number = 2;
    begin.store = tried.hasty;
    assert_true(place_wait(has_begun, &begin, LIMIT_MS));
    server_crash(&it->standby);
    assert_int_equal(CASCADE_ERR_UNAVAILABLE,
                     driver->node_txn->finish(tried.hasty->self, &native,
                                              &tried.batch, &existed));
    settle_until_replicated(it, &tried);
    close_attempt(&tried);
    rows_fini(&rows);
}

/* The standby is away, so commits wait for it. Neither a crash of
 * the primary nor an impatient human, both of whom show everybody what was not
 * replicated, must pass for an acknowledgement. Then the primary dies too. */
static void
nothing_is_acknowledged_while_the_standby_is_away(void **state)
{
    const load_options options = {.deadline_ms = SHORT_DEADLINE_MS};
    pair *it = open_pair();
    test_load *load = NULL;
    size_t acknowledged = 0;

    (void)state;
    replicate_synchronously(it);
    load = open_load(it, &options);
    server_crash(&it->standby);
    await_blocked(it);
    load_await_turns(load); /* what was under way has come by then */
    acknowledged = load->acknowledged;
    server_crash(&it->primary);
    server_start(&it->primary);
    await_blocked(it);
    cancel_blocked(it);
    await_blocked(it);
    load_await_failed(load, 1);
    load_await_turns(load);
    assert_int_equal(acknowledged, load->acknowledged);
    server_crash(&it->primary);
    server_start(&it->standby);
    server_promote(&it->standby);
    load_await_acknowledged(load, SOME_STARTS);
    load_end(load);
    finish(load);
}

/* It has seen cascades that run. */
static void
stop_standby_under_load(pair *it)
{
    admin_until(it->standby.conninfo,
                "SELECT count(*) FROM cascades WHERE status = 'RUNNING'");
    server_crash(&it->standby);
}

/* The primary dies, and the standby, which has stood still for a while, takes
 * its place: the commits of that while are gone. */
static void
lose_commits(pair *it, test_load *load)
{
    load->ledger.forgetful = true;
    server_crash(&it->primary);
    server_start(&it->standby);
    assert_running(&it->standby);
    server_promote(&it->standby);
}

static void
assert_loss_was_noticed(test_load *load)
{
    print_message("%zu acknowledged starts are gone, %llu losses noticed\n",
                  load_count_missing(load),
                  (unsigned long long)load_stats(load).losses);
    load_await_logged(load, "the store lost commits: all cascades in "
                            "memory are dropped");
    assert_true(load_stats(load).losses > 0);
}

static void
commits_lost_by_a_failover_are_noticed_and_made_again(void **state)
{
    pair *it = open_pair();
    test_load *load = open_load(it, NULL);

    (void)state;
    stop_standby_under_load(it);
    load_await_executions(load, SOME_EXECUTIONS);
    load_await_acknowledged(load, 1);
    lose_commits(it, load);
    load_await_acknowledged(load, SOME_STARTS);
    load_end(load);
    load_settle(load, LIMIT_MS);
    assert_true(load_count_missing(load) > 0);
    assert_loss_was_noticed(load);
    finish(load);
}

/* Nothing is left to do when it happens, so no commit finds out. */
static void
an_idle_engine_notices_lost_commits_too(void **state)
{
    pair *it = open_pair();
    test_load *load = open_load(it, NULL);

    (void)state;
    stop_standby_under_load(it);
    load_end(load);
    load_settle(load, LIMIT_MS);
    lose_commits(it, load);
    load_settle(load, LIMIT_MS);
    assert_loss_was_noticed(load);
    finish(load);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(
        a_standby_can_be_looked_at_and_says_that_it_cannot_be_written,
        clean_up),
    cmocka_unit_test_teardown(synchronous_failover_loses_nothing, clean_up),
    cmocka_unit_test_teardown(what_the_standby_may_not_have_is_not_acknowledged,
                              clean_up),
    cmocka_unit_test_teardown(a_transaction_is_settled_when_the_standby_has_it,
                              clean_up),
    cmocka_unit_test_teardown(nothing_is_acknowledged_while_the_standby_is_away,
                              clean_up),
    cmocka_unit_test_teardown(
        commits_lost_by_a_failover_are_noticed_and_made_again, clean_up),
    cmocka_unit_test_teardown(an_idle_engine_notices_lost_commits_too,
                              clean_up),
};

int
main(int argc, char **argv)
{
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
