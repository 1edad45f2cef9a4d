/* SPDX-License-Identifier: MIT
 *
 * Whose a record is. Other programs write into full_output what they like, and
 * members that are named like ours mean nothing there; of a cascade that was
 * taken in, what this library ends has a record of ours.
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"

#define ID "0190dddd-0000-4000-8000-000000000001"
#define OTHER "0190dddd-0000-4000-8000-0000000000ff"

/* Every member that counts in a record of ours. */
#define LOOKS_OURS                                                     \
    "{\"at\": 0, \"by\": \"" OTHER "\", \"output\": {\"paid\": true}," \
    " \"cascade\": {\"key\": \"k\", \"queue\": \"elsewhere\","         \
    " \"parent\": \"" OTHER "\", \"child\": \"" OTHER "\"},"           \
    " \"attempts\": 7, \"continue\": true, \"skipped\": true,"         \
    " \"continued_as\": \"" OTHER "\"}"

static cascade_uuid
insert_rows(test_db *db, const char *status)
{
    char sql[4000];
    cascade_uuid id;

    db->unsound = true; /* V15: numbers are missing */
    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO cascades (id, status, fn_id, user_id, created_at,"
        " updated_at) VALUES ('" ID "', 'RUNNING', 4, 'ann',"
        "  '2026-01-31 10:00:00', '2026-01-31 10:00:01')");
    raw_sql(db, sql);
    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO node_executions (id, node_instance_id, cascade_id,"
        " node_name, function_id, input_context, full_output, location, status,"
        " error, started_at, completed_at) VALUES"
        " ('0190dddd-0000-4000-8000-0000000000a0', 'plan_0190dddd_0', '" ID
        "', 'plan', 0, '{}', '" LOOKS_OURS "', 'server', 'COMPLETED', NULL,"
        "  '2026-01-31 10:00:00', '2026-01-31 10:00:00'),"
        " ('0190dddd-0000-4000-8000-0000000000a2', 'buy_0190dddd_0', '" ID
        "', 'buy', 2, '{}', '" LOOKS_OURS "', 'server', '%s', NULL,"
        "  '2026-01-31 10:00:00', '2026-01-31 10:00:00'),"
        " ('0190dddd-0000-4000-8000-0000000000a4', 'open_0190dddd_0', '" ID
        "', 'open', 4, '{}', '{\"not_before\": 99999999999999}', 'server',"
        "  'RUNNING', NULL, '2026-01-31 10:00:00', NULL)",
        status);
    raw_sql(db, sql);
    raw_sql(db, "INSERT INTO context_events (cascade_id, function_id, key,"
                " value, created_at) VALUES"
                " ('" ID "', 0, 'k', '0', '2026-01-31 10:00:00'),"
                " ('" ID "', 2, 'k', '2', '2026-01-31 10:00:00')");
    assert_ok(cascade_uuid_parse(ID, &id));
    return id;
}

static cascade_snapshot *
load(cascade_store *store, const cascade_uuid *id, int32_t as_of)
{
    const cascade_snapshot_options options = {.size = sizeof(options),
                                              .as_of = as_of};
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(store, id, &options, &snapshot));
    return snapshot;
}

static const cascade_execution_info *
nth(const cascade_snapshot *snapshot, size_t index)
{
    const cascade_execution_info *info =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, index);

    assert_non_null(info);
    return info;
}

static void
members_of_others_mean_nothing(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = insert_rows(db, "COMPLETED");
    cascade_snapshot *snapshot = load(store, &id, 0);

    assert_null(cascade_snapshot_result(snapshot));
    assert_null(cascade_snapshot_continued_as(snapshot));
    assert_null(nth(snapshot, 0)->output);
    assert_int_equal(nth(snapshot, 0)->attempts, 0);
    assert_non_null(strstr(nth(snapshot, 0)->full_output, "\"paid\":true"));
    assert_true(nth(snapshot, 2)->not_before_ms == CASCADE_TIME_NONE);
    cascade_snapshot_free(snapshot);
    /* That of 2 counts from 3 on, whatever `at` says. */
    snapshot = load(store, &id, 2);
    assert_string_equal(cascade_snapshot_context(snapshot), "{\"k\":[0]}");
    cascade_snapshot_free(snapshot);
}

/* By `continue` it would go on. */
static void
a_failure_of_others_is_one(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = insert_rows(db, "FAILED");
    cascade_check_report report = {.size = sizeof(report)};
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_adopt(store, NULL, &report));
    snapshot = load(store, &id, 0);
    assert_int_equal(cascade_snapshot_info(snapshot)->status, CASCADE_ERROR);
    cascade_snapshot_free(snapshot);
}

/* At the second attempt. */
static cascade_err
open_it(cascade_node *node, void *user)
{
    (void)user;
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "not yet");
    expect(cascade_node_put(node, "k", cJSON_CreateNumber(4)) == CASCADE_OK);
    expect(cascade_node_spawn(node, "last", NULL, NULL) == CASCADE_OK);
    return cascade_node_output(node, cJSON_CreateString("opened"));
}

/* It runs at once: what is not before was another's. */
static cascade_uuid
adopt_and_run(test_db *db, cascade_store *store)
{
    const cascade_node_options options = {
        .size = sizeof(options), .attempts_max = 3, .backoff_ms = 1};
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_check_report report = {.size = sizeof(report)};
    cascade_uuid id = insert_rows(db, "COMPLETED");

    assert_ok(cascade_adopt(store, NULL, &report));
    assert_ok(cascade_engine_register(engine, "open", open_it, NULL, &options));
    assert_ok(
        cascade_engine_register(engine, "last", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    return id;
}

static void
what_was_taken_in_is_ended_with_a_record_of_ours(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = adopt_and_run(db, store);
    cascade_snapshot *snapshot = load(store, &id, 0);

    assert_string_equal(nth(snapshot, 2)->output, "\"opened\"");
    assert_string_equal(cascade_snapshot_result(snapshot), "\"opened\"");
    assert_int_equal(nth(snapshot, 2)->attempts, 2);
    assert_string_equal(
        nth(snapshot, 2)->full_output,
        "{\"at\":4,\"keys\":[\"k\"],\"output\":\"opened\","
        "\"spawned\":[5],\"attempts\":2,\"written_by_libcascade\":{}}");
    assert_string_equal(cascade_snapshot_context(snapshot), "{\"k\":[0,2,4]}");
    cascade_snapshot_free(snapshot);
}

static void
expect_copy(cascade_store *store, const cascade_uuid *id)
{
    cascade_snapshot *snapshot = load(store, id, 0);

    assert_null(nth(snapshot, 1)->output);
    assert_int_equal(nth(snapshot, 1)->attempts, 0);
    assert_null(cascade_snapshot_continued_as(snapshot));
    assert_string_equal(nth(snapshot, 2)->output, "\"opened\"");
    assert_string_equal(cascade_snapshot_context(snapshot), "{\"k\":[0,2,4]}");
    cascade_snapshot_free(snapshot);
}

static void
a_document_changes_nothing_of_that(test_db *db)
{
    const cascade_import_options options = {.size = sizeof(options),
                                            .new_ids = true};
    cascade_store *store = db_store(db);
    cascade_uuid id = adopt_and_run(db, store);
    cascade_started started;
    char *document = NULL;

    assert_ok(cascade_export(store, &id, NULL, &document));
    assert_ok(cascade_import(store, document, &options, &started));
    expect_copy(store, &started.id);
    cascade_document_free(document);
}

/* Execution 0 gets a record, for the queue; what was there is its output. */
static void
a_fork_changes_nothing_of_that(test_db *db)
{
    const cascade_fork_output given = {
        .size = sizeof(given), .function_id = 2, .output = "\"given\""};
    cascade_fork_options options = {.size = sizeof(options), .from = 5};
    cascade_store *store = db_store(db);
    cascade_uuid id = adopt_and_run(db, store);
    cascade_snapshot *snapshot = NULL;
    cascade_started started;

    for (int round = 0; round < 2; round++) {
        assert_ok(cascade_fork(store, &id, &options, &started));
        snapshot = load(store, &started.id, 0);
        assert_int_equal(cascade_snapshot_info(snapshot)->status,
                         CASCADE_RUNNING);
        assert_string_equal(cascade_snapshot_info(snapshot)->queue, "default");
        assert_non_null(strstr(nth(snapshot, 0)->output, "\"paid\":true"));
        assert_null(cascade_snapshot_continued_as(snapshot));
        if (round == 0)
            assert_null(nth(snapshot, 1)->output);
        else
            assert_string_equal(nth(snapshot, 1)->output, "\"given\"");
        assert_string_equal(nth(snapshot, 2)->output, "\"opened\"");
        assert_int_equal(nth(snapshot, 3)->status, CASCADE_EXECUTION_RUNNING);
        assert_string_equal(cascade_snapshot_context(snapshot),
                            "{\"k\":[0,2,4]}");
        cascade_snapshot_free(snapshot);
        options.outputs = &given;
        options.output_count = 1;
    }
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"members_of_others_mean_nothing", members_of_others_mean_nothing,
         STORES_FILES},
        {"a_failure_of_others_is_one", a_failure_of_others_is_one,
         STORES_FILES},
        {"what_was_taken_in_is_ended_with_a_record_of_ours",
         what_was_taken_in_is_ended_with_a_record_of_ours, STORES_FILES},
        {"a_document_changes_nothing_of_that",
         a_document_changes_nothing_of_that, STORES_FILES},
        {"a_fork_changes_nothing_of_that", a_fork_changes_nothing_of_that,
         STORES_FILES},
    };

    return stores_run("marks", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
