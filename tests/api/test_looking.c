/* SPDX-License-Identifier: MIT
 *
 * Looking at cascades from outside: get, pages, wait, snapshots as of every
 * place, and ids that SQL can compute too.
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "base/clock.h"

#define PAGES_COUNT 25

/* ---- A cascade to be looked at ------------------------------------------- */

static cascade_err
one(cascade_node *node, void *user)
{
    (void)user;
    if (cascade_node_put_ui(node, "k", cJSON_CreateString("raw"),
                            cJSON_CreateString("shown")) != CASCADE_OK)
        return CASCADE_ERR_FAILED;
    if (cascade_node_output(node, cJSON_CreateNumber(1)) != CASCADE_OK)
        return CASCADE_ERR_FAILED;
    return cascade_node_spawn(node, "two", cJSON_CreateTrue(), NULL);
}

static cascade_err
two(cascade_node *node, void *user)
{
    (void)user;
    if (cascade_node_put_text(node, "k", "\"second\"", NULL) != CASCADE_OK)
        return CASCADE_ERR_FAILED;
    if (cascade_node_output(node, cJSON_CreateNumber(2)) != CASCADE_OK)
        return CASCADE_ERR_FAILED;
    return cascade_node_spawn(node, "three", NULL, NULL);
}

static cascade_err
three(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "out of %s", "stock");
}

static cascade_engine *
start_engine(test_db *db, cascade_store *store)
{
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(cascade_engine_register(engine, "one", one, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "two", two, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "three", three, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* ---- Snapshots ----------------------------------------------------------- */

typedef struct picture {
    int32_t as_of;
    bool ui;
    size_t history;
    size_t active;
    size_t errors;
    const char *context;
    const char *result; /* or NULL */
    const char *error;  /* or NULL */
} picture;

static const char *
text(const char *given)
{
    return given != NULL ? given : "(none)";
}

static void
expect_picture(cascade_store *store, const cascade_uuid *id,
               const picture *wanted)
{
    const cascade_snapshot_options options = {
        .size = sizeof(options), .as_of = wanted->as_of, .ui = wanted->ui};
    cascade_snapshot *got = NULL;

    assert_ok(cascade_snapshot_load(store, id, &options, &got));
    assert_int_equal(wanted->history,
                     cascade_snapshot_count(got, CASCADE_PART_HISTORY));
    assert_int_equal(wanted->active,
                     cascade_snapshot_count(got, CASCADE_PART_ACTIVE));
    assert_int_equal(wanted->errors,
                     cascade_snapshot_count(got, CASCADE_PART_ERRORS));
    assert_string_equal(wanted->context, cascade_snapshot_context(got));
    assert_string_equal(wanted->context,
                        cascade_snapshot_cascaide_context(got));
    assert_string_equal(text(wanted->result),
                        text(cascade_snapshot_result(got)));
    assert_string_equal(text(wanted->error), text(cascade_snapshot_error(got)));
    assert_null(
        cascade_snapshot_get(got, CASCADE_PART_HISTORY, wanted->history));
    cascade_snapshot_free(got);
}

static void
snapshots_as_of_every_place(test_db *db)
{
    static const picture wanted[] = {
        {0, false, 3, 0, 1, "{\"k\":[\"raw\",\"second\"]}", "2",
         "out of stock"},
        {0, true, 3, 0, 1, "{\"k\":[\"shown\",\"second\"]}", "2",
         "out of stock"},
        {1, false, 1, 0, 0, "{\"k\":[\"raw\"]}", "1", NULL},
        {1, true, 1, 0, 0, "{\"k\":[\"shown\"]}", "1", NULL},
        {2, false, 2, 0, 0, "{\"k\":[\"raw\",\"second\"]}", "2", NULL},
        {3, false, 3, 0, 1, "{\"k\":[\"raw\",\"second\"]}", "2",
         "out of stock"},
        {99, false, 3, 0, 1, "{\"k\":[\"raw\",\"second\"]}", "2",
         "out of stock"},
    };
    cascade_store *store = db_store(db);
    cascade_uuid id;

    start_engine(db, store);
    id = db_start(store, "one");
    db_await(store, &id, CASCADE_ERROR);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        expect_picture(store, &id, &wanted[i]);
}

static void
executions_tell_where_they_came_from(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *second = NULL;
    cascade_uuid id;

    start_engine(db, store);
    id = db_start_text(store, "one", "{\"b\": 1.50, \"a\": [ ]}");
    db_await(store, &id, CASCADE_ERROR);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    assert_string_equal(
        "{\"a\":[],\"b\":1.50}",
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 0)->input);
    second = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, 1);
    assert_int_equal(1, second->function_id);
    assert_int_equal(0, second->parent_function_id);
    assert_int_equal(1, second->attempts);
    assert_string_equal("two", second->node_name);
    assert_string_equal("true", second->input);
    assert_string_equal("2", second->output);
    assert_string_equal("server", second->location);
    assert_true(second->completed_at_ms >= second->started_at_ms);
    assert_string_equal(
        "out of stock",
        cascade_snapshot_get(snapshot, CASCADE_PART_ERRORS, 0)->error);
    cascade_snapshot_free(snapshot);
}

/* ---- Pages --------------------------------------------------------------- */

/* Walks all pages of `limit` and counts; the ids must ascend. */
static size_t
walk(cascade_store *store, cascade_list_options options)
{
    cascade_uuid last = {{0}};
    size_t total = 0;
    size_t count = 0;

    do {
        cascade_page *page = NULL;

        assert_ok(cascade_list(store, &options, &page));
        count = cascade_page_count(page);
        assert_true(count <= options.limit);
        assert_null(cascade_page_get(page, count));
        for (size_t i = 0; i < count; i++) {
            const cascade_info *info = cascade_page_get(page, i);

            assert_true(memcmp(&last, &info->id, sizeof(last)) < 0);
            last = info->id;
        }
        options.after = &last;
        total += count;
        cascade_page_free(page);
    } while (count == options.limit);
    return total;
}

static void
pages_neither_skip_nor_repeat(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_list_options all = {.size = sizeof(all)};
    cascade_list_options ann = {.size = sizeof(ann), .user_id = "ann"};
    cascade_list_options ended = {.size = sizeof(ended),
                                  .status = CASCADE_ERROR};
    cascade_list_options node = {.size = sizeof(node), .node = "two"};
    const cascade_start_options by_ann = {.size = sizeof(by_ann),
                                          .user_id = "ann"};
    const size_t limits[] = {1, 7, PAGES_COUNT, PAGES_COUNT + 2, 1000};
    cascade_started started;
    cascade_uuid id;

    for (int i = 0; i < PAGES_COUNT; i++)
        assert_ok(cascade_start(store, "unknown", NULL,
                                i % 5 == 0 ? &by_ann : NULL, &started));
    start_engine(db, store);
    id = db_start(store, "one");
    db_await(store, &id, CASCADE_ERROR);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        all.limit = ann.limit = ended.limit = node.limit = limits[i];
        assert_int_equal(PAGES_COUNT + 1, walk(store, all));
        assert_int_equal(PAGES_COUNT / 5, walk(store, ann));
        assert_int_equal(1, walk(store, ended));
        assert_int_equal(1, walk(store, node));
    }
}

static void
info_tells_of_the_run(test_db *db)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .user_id = "zo\xc3\xab",
                                           .queue = "slow",
                                           .priority = 7,
                                           .delay_ms = 3600000};
    cascade_store *store = db_store(db);
    cascade_started started;
    cascade_info *info = NULL;
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(store, &now_ms));
    assert_ok(cascade_start(store, "one", NULL, &options, &started));
    assert_false(started.existed);
    assert_ok(cascade_get(store, &started.id, &info));
    assert_memory_equal(&started.id, &info->id, sizeof(info->id));
    assert_int_equal(CASCADE_RUNNING, info->status);
    assert_int_equal(0, info->fn_id);
    assert_string_equal("zo\xc3\xab", info->user_id);
    assert_true(info->has_run);
    assert_string_equal("slow", info->queue);
    assert_int_equal(7, info->priority);
    assert_true(info->wake_at_ms >= now_ms + 3600000);
    assert_false(info->owned);
    assert_int_equal(0, info->takeovers);
    assert_string_equal("", info->needs);
    cascade_info_free(info);
}

static void
wait_gives_up_in_time(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "unknown");
    cascade_status status = CASCADE_ERROR;
    int64_t begun_ms = csc_clock_monotonic_ms(&csc_clock_system);

    assert_fails(CASCADE_ERR_TIMEOUT, cascade_wait(store, &id, 0, &status));
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_wait(store, &id, 30, &status));
    assert_true(csc_clock_monotonic_ms(&csc_clock_system) - begun_ms >= 30);
    assert_int_equal(CASCADE_ERROR, status);
}

/* ---- Ids ----------------------------------------------------------------- */

static void
expect_keyed(cascade_store *store, const char *user, const char *key)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = user, .key = key};
    cascade_started first;
    cascade_started second;
    cascade_uuid id;

    assert_ok(cascade_uuid_from_key(user, key, &id));
    assert_ok(cascade_start(store, "unknown", NULL, &options, &first));
    assert_ok(cascade_start(store, "unknown", NULL, &options, &second));
    assert_memory_equal(&id, &first.id, sizeof(id));
    assert_memory_equal(&id, &second.id, sizeof(id));
    assert_false(first.existed);
    assert_true(second.existed);
    assert_int_equal(0x80, id.bytes[6] & 0xf0);
    assert_int_equal(0x80, id.bytes[8] & 0xc0);
}

/* G10: the second start finds the first; other users' keys are other keys. */
static void
keyed_starts_have_the_id_of_their_key(test_db *db)
{
    cascade_store *store = db_store(db);

    expect_keyed(store, "ann", "order 1");
    expect_keyed(store, "bob", "order 1");
    expect_keyed(store, "ann", "order 10");
    expect_keyed(store, "\xc3\xa9", "\xf0\x9f\x8c\x8a'; --");
}

/* PostgreSQL has sha256(); SQLite has no hash of its own. */
static void
sql_computes_the_id_of_a_key(test_db *db)
{
    char computed[64];
    char formatted[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id;

    raw_sql_text(
        db,
        "SELECT encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128), 8,"
        " get_byte(h, 8) & 63 | 128), 'hex')::uuid FROM (SELECT substr(sha256("
        "convert_to('ann', 'UTF8') || '\\x00' || convert_to('order \xc3\xa9',"
        " 'UTF8') || '\\x00' || '1'), 1, 16) AS h) AS hashed",
        computed, sizeof(computed));
    assert_ok(cascade_uuid_from_key("ann", "order \xc3\xa9", &id));
    assert_string_equal(computed, cascade_uuid_format(&id, formatted));
}

/* The same id by another implementation: sha256sum of "ann\0order\0" "1". */
static void
id_of_a_key_is_a_fixed_one(test_db *db)
{
    char formatted[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id;

    (void)db;
    assert_ok(cascade_uuid_from_key("ann", "order", &id));
    assert_string_equal("a4e4ece3-1b68-81de-adf0-317abef20815",
                        cascade_uuid_format(&id, formatted));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"snapshots_as_of_every_place", snapshots_as_of_every_place,
         STORES_ALL},
        {"executions_tell_where_they_came_from",
         executions_tell_where_they_came_from, STORES_ALL},
        {"pages_neither_skip_nor_repeat", pages_neither_skip_nor_repeat,
         STORES_ALL},
        {"info_tells_of_the_run", info_tells_of_the_run, STORES_ALL},
        {"wait_gives_up_in_time", wait_gives_up_in_time, STORES_ALL},
        {"keyed_starts_have_the_id_of_their_key",
         keyed_starts_have_the_id_of_their_key, STORES_ALL},
        {"sql_computes_the_id_of_a_key", sql_computes_the_id_of_a_key,
         STORES_POSTGRES},
        {"id_of_a_key_is_a_fixed_one", id_of_a_key_is_a_fixed_one,
         STORES_MEMORY},
    };

    return stores_run("looking", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
