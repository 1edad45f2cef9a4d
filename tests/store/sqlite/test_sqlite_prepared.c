/* SPDX-License-Identifier: MIT
 *
 * Statements are prepared once. SQLite prepares one anew, each time it is run,
 * where a value that is bound might make it choose another index: a partial
 * index with `column = 'literal'` beside a search by `column = ?` is enough.
 */
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/node.h"
#include "store/sqlite/sqlite_fixture.h"

#define CASCADES 12
#define LIMIT_MS 60000

static cascade_err
rest_and_hear(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_sleep(node, "rest", 20);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "word", -1, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_put(node, "heard", cJSON_CreateTrue());
    return err;
}

/* In a queue, and in one with limits. Each is parked as it rests. */
static void
run_some(cascade_store *store)
{
    cascade_started started[CASCADES];

    for (size_t i = 0; i < CASCADES; i++) {
        const cascade_start_options options = {
            .size = sizeof(options), .queue = i % 2 == 0 ? "free" : "narrow"};

        assert_int_equal(
            cascade_start(store, "rests", NULL, &options, &started[i]),
            CASCADE_OK);
    }
    for (size_t i = 0; i < CASCADES; i++) {
        assert_int_equal(
            cascade_signal(store, &started[i].id, "word", NULL, NULL),
            CASCADE_OK);
        assert_int_equal(cascade_wait(store, &started[i].id, LIMIT_MS, NULL),
                         CASCADE_OK);
    }
}

/* The statements of a connection that were prepared anew since the last look.
 */
static size_t
count_anew(const csc_sqlite_conn *conn, bool tell)
{
    size_t count = 0;

    if (conn->db == NULL)
        return 0;
    for (sqlite3_stmt *s = sqlite3_next_stmt(conn->db, NULL); s != NULL;
         s = sqlite3_next_stmt(conn->db, s)) {
        int anew = sqlite3_stmt_status(s, SQLITE_STMTSTATUS_REPREPARE, 1);

        if (anew > 0 && tell)
            print_error("prepared %d times: %s\n", anew, sqlite3_sql(s));
        count += anew > 0;
    }
    return count;
}

static size_t
count_all_anew(cascade_store *store, bool tell)
{
    const csc_sqlite *self = store->self;
    size_t count = count_anew(&self->writer, tell);

    for (size_t i = 0; i < CSC_SQLITE_READERS; i++)
        count += count_anew(&self->readers[i], tell);
    return count;
}

/* An engine for them, which is closed behind them: its threads use the
 * connections. */
static void
serve_some(cascade_store *store)
{
    const cascade_engine_options options = {
        .size = sizeof(options),
        .poll_interval_ms = 20,
        .park_after_ms = 1,
        .queues = (const char *[]){"free", "narrow"},
        .queue_count = 2};
    cascade_engine_stats stats = {.size = sizeof(stats)};
    cascade_engine *engine = NULL;

    assert_int_equal(cascade_engine_open(store, &options, &engine), CASCADE_OK);
    assert_int_equal(
        cascade_engine_register(engine, "rests", rest_and_hear, NULL, NULL),
        CASCADE_OK);
    assert_int_equal(cascade_engine_start(engine), CASCADE_OK);
    run_some(store);
    assert_int_equal(cascade_engine_get_stats(engine, &stats), CASCADE_OK);
    assert_in_range(stats.parked, CASCADES / 2, 100 * CASCADES);
    assert_in_range(stats.hydrations, CASCADES / 2, 100 * CASCADES);
    assert_int_equal(cascade_engine_stop(engine, LIMIT_MS), CASCADE_OK);
    assert_int_equal(cascade_engine_close(engine), CASCADE_OK);
}

static void
statements_are_prepared_once(void **state)
{
    const cascade_queue_limits limits = {.size = sizeof(limits),
                                         .running_max = 2};
    sqlite_fixture *it = *state;
    cascade_store *store = NULL;

    assert_int_equal(cascade_store_open(it->url, NULL, &store), CASCADE_OK);
    assert_int_equal(cascade_queue_set(store, "narrow", &limits, NULL),
                     CASCADE_OK);
    serve_some(store);
    (void)count_all_anew(store, false); /* the schema was made meanwhile */
    serve_some(store);
    assert_int_equal(count_all_anew(store, true), 0);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(statements_are_prepared_once,
                                        fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests_name("sqlite_prepared", tests, NULL, NULL);
}
