/* SPDX-License-Identifier: MIT
 *
 * What a store has besides cascades, as whoever looks after it sees it: the
 * engines with what they say about themselves, the queues, counts, the schema.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "engine/support/peer.h"
#include "store/store.h"

#define HOUR_MS (INT64_C(3600) * 1000)

/* ---- Engines ------------------------------------------------------------ */

static cascade_engine_list *
list_engines(cascade_store *store, size_t count)
{
    cascade_engine_list *list = NULL;

    assert_ok(cascade_engine_list_load(store, &list));
    assert_int_equal(cascade_engine_list_count(list), count);
    assert_null(cascade_engine_list_get(list, count));
    return list;
}

/* An engine of the queues x and y that knows `node`. */
static cascade_engine *
start_engine(test_db *db, cascade_store *store, const char *node)
{
    static const char *const queues[] = {"x", "y"};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .queues = queues,
                                            .queue_count = 2,
                                            .lane_count = 1,
                                            .lease_ms = HOUR_MS};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register(engine, "b", stores_nothing, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, node, stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static void
engines_tell_what_they_serve(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = start_engine(db, store, "a");
    cascade_engine_list *list = list_engines(store, 1);
    const cascade_engine_info *info = cascade_engine_list_get(list, 0);
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(store, &now_ms));
    assert_false(csc_uuid_is_nil(&info->engine_id));
    assert_int_equal(info->pid, getpid());
    assert_true(strlen(info->host) > 0);
    assert_true(info->started_at_ms <= now_ms);
    assert_true(info->started_at_ms > now_ms - HOUR_MS);
    assert_true(info->lease_left_ms > 0);
    assert_true(info->lease_left_ms <= HOUR_MS);
    assert_int_equal(info->lane_count, 1);
    assert_string_equal(info->version, cascade_version());
    assert_int_equal(info->queue_count, 2);
    assert_string_equal(info->queues[0], "x");
    assert_string_equal(info->queues[1], "y");
    assert_int_equal(info->node_count, 2);
    assert_string_equal(info->nodes[0], "a");
    assert_string_equal(info->nodes[1], "b");
    cascade_engine_list_free(list);
    db_close_engine(db, engine);
    cascade_engine_list_free(list_engines(store, 0));
}

/* And who attached first is listed first. */
static void
who_says_nothing_is_listed(test_db *db)
{
    cascade_store *store = NULL;
    cascade_uuid peer;
    cascade_engine_list *list = NULL;
    const cascade_engine_info *first = NULL;
    const cascade_engine_info *second = NULL;

    db->fake_time = db->backend->virtual_time;
    store = db_store(db);
    peer = peer_attach(store, HOUR_MS);
    fake_clock_advance(&db->clock, 1);
    (void)start_engine(db, store, "a");
    list = list_engines(store, 2);
    first = cascade_engine_list_get(list, 0);
    second = cascade_engine_list_get(list, 1);
    assert_true(first->started_at_ms <= second->started_at_ms);
    if (!csc_uuid_equal(&first->engine_id, &peer)) {
        assert_int_equal(first->started_at_ms, second->started_at_ms);
        second = first;
        first = cascade_engine_list_get(list, 1);
    }
    assert_true(csc_uuid_equal(&first->engine_id, &peer));
    assert_string_equal(first->host, "elsewhere");
    assert_string_equal(first->version, "");
    assert_int_equal(first->queue_count, 0);
    assert_int_equal(first->node_count, 0);
    assert_string_equal(second->version, cascade_version());
    cascade_engine_list_free(list);
}

static void
those_of_single_calls_are_left_out(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_incarnation single = {
        .host = "h", .lease_ms = HOUR_MS, .lane_count = 1};

    single.engine_id = csc_uuid_v8("a", "call", 1);
    assert_ok(store->driver->attach(store->self, &single));
    cascade_engine_list_free(list_engines(store, 0));
    assert_int_equal(peer_count_all(store), 1);
}

/* ---- Queues ------------------------------------------------------------- */

static cascade_queue_list *
list_queues(cascade_store *store, size_t count)
{
    cascade_queue_list *list = NULL;

    assert_ok(cascade_queue_list_load(store, &list));
    assert_int_equal(cascade_queue_list_count(list), count);
    assert_null(cascade_queue_list_get(list, count));
    return list;
}

static void
start_in(cascade_store *store, const char *queue, const char *node,
         int64_t delay_ms)
{
    const cascade_start_options options = {
        .size = sizeof(options), .queue = queue, .delay_ms = delay_ms};
    cascade_started started;

    assert_ok(cascade_start(store, node, NULL, &options, &started));
}

static bool
has_left_one(void *context)
{
    return db_stats(context).unknown_nodes > 0 && db_stats(context).held == 0;
}

static void
queues_tell_what_they_hold(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = start_engine(db, store, "a");
    cascade_queue_list *list = NULL;
    const cascade_queue_info *info = NULL;

    cascade_queue_list_free(list_queues(store, 0));
    start_in(store, "y", "unknown", 0);
    assert_true(db_poll_until(db, &engine, 1, has_left_one, engine));
    db_close_engine(db, engine);
    start_in(store, "y", "a", 0);
    start_in(store, "y", "a", HOUR_MS);
    start_in(store, "default", "a", 0);
    (void)peer_own(store, "a", 0);
    list = list_queues(store, 2);
    info = cascade_queue_list_get(list, 0);
    assert_string_equal(info->name, "default");
    assert_int_equal(info->owned, 1);
    assert_int_equal(info->due + info->later + info->needing, 0);
    assert_true(info->due_since_ms == CASCADE_TIME_NONE);
    info = cascade_queue_list_get(list, 1);
    assert_string_equal(info->name, "y");
    assert_int_equal(info->owned, 0);
    assert_int_equal(info->due, 1);
    assert_int_equal(info->later, 1);
    assert_int_equal(info->needing, 1);
    assert_true(info->due_since_ms > 0);
    assert_false(info->paused);
    assert_true(info->paused_at_ms == CASCADE_TIME_NONE);
    assert_string_equal(info->pause_request, "");
    assert_string_equal(info->pause_reason, "");
    cascade_queue_list_free(list);
}

static void
queues_tell_who_paused_them_and_why(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_queue_list *list = NULL;
    const cascade_queue_info *info = NULL;
    bool changed = false;

    assert_ok(store->driver->manage->pause(store->self, "q", true,
                                           "{\"reason\":\"it \\\"burns\\\"\","
                                           "\"request\":\"r-1\"}",
                                           &changed));
    assert_ok(
        store->driver->manage->pause(store->self, "r", true, "{}", &changed));
    list = list_queues(store, 2);
    info = cascade_queue_list_get(list, 0);
    assert_string_equal(info->name, "q");
    assert_true(info->paused);
    assert_true(info->paused_at_ms > 0);
    assert_string_equal(info->pause_request, "r-1");
    assert_string_equal(info->pause_reason, "it \"burns\"");
    info = cascade_queue_list_get(list, 1);
    assert_true(info->paused);
    assert_string_equal(info->pause_request, "");
    assert_string_equal(info->pause_reason, "");
    cascade_queue_list_free(list);
    assert_ok(
        store->driver->manage->pause(store->self, "q", false, NULL, &changed));
    list = list_queues(store, 1);
    assert_string_equal(cascade_queue_list_get(list, 0)->name, "r");
    cascade_queue_list_free(list);
}

/* ---- Counts ------------------------------------------------------------- */

static bool
one_is_completed(void *store)
{
    cascade_counts counts = {.size = sizeof(counts)};

    assert_ok(cascade_counts_load(store, &counts));
    return counts.completed == 1;
}

static void
cascades_and_messages_are_counted(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = start_engine(db, store, "a");
    cascade_uuid waiting = db_start(store, "unknown");
    cascade_counts counts = {.size = sizeof(counts)};
    cascade_counts first = {.size = offsetof(cascade_counts, completed)};

    start_in(store, "x", "a", 0);
    assert_true(db_poll_until(db, &engine, 1, one_is_completed, store));
    assert_ok(cascade_signal(store, &waiting, "s", NULL, NULL));
    assert_ok(cascade_signal(store, &waiting, "s", NULL, NULL));
    assert_ok(cascade_counts_load(store, &counts));
    assert_int_equal(counts.size, sizeof(counts));
    assert_int_equal(counts.running, 1);
    assert_int_equal(counts.completed, 1);
    assert_int_equal(counts.failed, 0);
    assert_int_equal(counts.messages, 2);
    first.completed = -1;
    assert_ok(cascade_counts_load(store, &first));
    assert_int_equal(first.running, 1);
    assert_int_equal(first.completed, -1);
}

/* ---- The schema --------------------------------------------------------- */

static void
the_schema_is_listed_and_brought_up_to_date(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;
    cascade_migration all[64];
    cascade_migration one[1];
    size_t count = 0;
    size_t again = 0;

    db_clear(db);
    options.migrate = CASCADE_MIGRATE_NEVER;
    assert_ok(cascade_store_open(db->url, &options, &store));
    assert_ok(cascade_migration_list(store, all, 64, &count));
    assert_true(count > 0 && count < 64);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].number, (int)i + 1);
        assert_true(strlen(all[i].name) > 4);
        assert_true(all[i].applied_at_ms == CASCADE_TIME_NONE);
    }
    assert_ok(cascade_store_migrate(store));
    assert_ok(cascade_migration_list(store, all, 64, &again));
    assert_int_equal(again, count);
    for (size_t i = 0; i < count; i++)
        assert_true(all[i].applied_at_ms > 0);
    assert_ok(cascade_migration_list(store, one, 1, &again));
    assert_int_equal(again, count);
    assert_ok(cascade_migration_list(store, NULL, 0, &again));
    assert_int_equal(again, count);
    assert_ok(cascade_store_close(store));
}

/* ---- Mistakes ----------------------------------------------------------- */

static void
missing_arguments_are_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine_list *engines = NULL;
    cascade_queue_list *queues = NULL;
    cascade_counts counts = {0};
    size_t count = 0;

    assert_fails(CASCADE_ERR_INVALID, cascade_engine_list_load(NULL, &engines));
    assert_fails(CASCADE_ERR_INVALID, cascade_engine_list_load(store, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_queue_list_load(NULL, &queues));
    assert_fails(CASCADE_ERR_INVALID, cascade_queue_list_load(store, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_counts_load(NULL, &counts));
    assert_fails(CASCADE_ERR_INVALID, cascade_counts_load(store, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_counts_load(store, &counts));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_migration_list(store, NULL, 1, &count));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_migration_list(store, NULL, 0, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_store_migrate(NULL));
    cascade_engine_list_free(NULL);
    cascade_queue_list_free(NULL);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"engines_tell_what_they_serve", engines_tell_what_they_serve,
         STORES_ALL},
        {"who_says_nothing_is_listed", who_says_nothing_is_listed, STORES_ALL},
        {"those_of_single_calls_are_left_out",
         those_of_single_calls_are_left_out, STORES_ALL},
        {"queues_tell_what_they_hold", queues_tell_what_they_hold, STORES_ALL},
        {"queues_tell_who_paused_them_and_why",
         queues_tell_who_paused_them_and_why, STORES_ALL},
        {"cascades_and_messages_are_counted", cascades_and_messages_are_counted,
         STORES_ALL},
        {"the_schema_is_listed_and_brought_up_to_date",
         the_schema_is_listed_and_brought_up_to_date, STORES_FILES},
        {"missing_arguments_are_refused", missing_arguments_are_refused,
         STORES_MEMORY},
    };

    return stores_run("lists", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
