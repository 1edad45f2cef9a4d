/* SPDX-License-Identifier: MIT
 *
 * The order of a context's values: (function_id, created_at, id), as Cascaide
 * reads them. Its clocks step back, and its rows come in any order; what this
 * library writes is in that order by its ids too.
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"

#define ID "0190cccc-0000-4000-8000-000000000001"

/* What a node has read. */
typedef struct seen {
    char *history;
    char *last;
} seen;

static const char *const rows[] = {
    "INSERT INTO cascades (id, status, fn_id, user_id, created_at, updated_at)"
    " VALUES ('" ID "', 'RUNNING', 5, 'ann', '2026-01-31 10:00:00',"
    "  '2026-01-31 10:00:01')",
    "INSERT INTO node_executions (id, node_instance_id, cascade_id, node_name,"
    " function_id, input_context, full_output, location, status, error,"
    " started_at, completed_at) VALUES"
    " ('0190cccc-0000-4000-8000-0000000000a0', 'init_0190cccc_0', '" ID "',"
    "  'init', 0, '{}', '{}', 'server', 'COMPLETED', NULL,"
    "  '2026-01-31 10:00:00', '2026-01-31 10:00:00'),"
    " ('0190cccc-0000-4000-8000-0000000000a1', 'look_0190cccc_0', '" ID "',"
    "  'look', 5, '{}', NULL, 'server', 'RUNNING', NULL,"
    "  '2026-01-31 10:00:00', NULL)",
    /* In the order of their ids: 5 comes first, the second of a tie last. */
    "INSERT INTO context_events (id, cascade_id, function_id, key, value,"
    " ui_value, created_at) VALUES"
    " (11, '" ID "', 3, 'k', '5', NULL, '2026-01-31 09:00:00'),"
    " (12, '" ID "', 0, 'k', '4', NULL, '2026-01-31 10:00:00.5'),"
    " (13, '" ID "', 0, 'k', '2', '\"two\"', '2026-01-31 10:00:00.25'),"
    " (14, '" ID "', 0, 'other', '\"x\"', NULL, '2026-01-31 10:00:00.1'),"
    " (15, '" ID "', 0, 'k', '1', NULL, '2026-01-31 10:00:00.249999'),"
    " (16, '" ID "', 0, 'k', '3', NULL, '2026-01-31 10:00:00.25')"};

static cascade_uuid
insert_rows(test_db *db)
{
    cascade_uuid id;

    db->unsound = true; /* V12, V15: there are gaps, and lost writers */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        raw_sql(db, rows[i]);
    assert_ok(cascade_uuid_parse(ID, &id));
    return id;
}

static void
expect_context(cascade_store *store, const cascade_uuid *id, bool ui,
               const char *wanted)
{
    const cascade_snapshot_options options = {.size = sizeof(options),
                                              .ui = ui};
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_snapshot_load(store, id, &options, &snapshot));
    assert_string_equal(cascade_snapshot_context(snapshot), wanted);
    assert_string_equal(cascade_snapshot_cascaide_context(snapshot), wanted);
    cascade_snapshot_free(snapshot);
}

static void
values_are_in_the_order_of_time(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = insert_rows(db);

    expect_context(store, &id, false, "{\"k\":[1,2,3,4,5],\"other\":[\"x\"]}");
    expect_context(store, &id, true,
                   "{\"k\":[1,\"two\",3,4,5],\"other\":[\"x\"]}");
}

static cascade_err
look(cascade_node *node, void *user)
{
    seen *it = user;
    const cJSON *history = NULL;
    const cJSON *last = NULL;

    if (expect(cascade_node_history(node, "k", &history) == CASCADE_OK))
        it->history = cJSON_PrintUnformatted(history);
    if (expect(cascade_node_get(node, "k", &last) == CASCADE_OK))
        it->last = cJSON_PrintUnformatted(last);
    return CASCADE_OK;
}

static void
a_node_sees_them_in_that_order(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_check_report report = {.size = sizeof(report)};
    cascade_uuid id = insert_rows(db);
    seen it = {NULL, NULL};

    assert_ok(cascade_adopt(store, NULL, &report));
    assert_ok(cascade_engine_register(engine, "look", look, &it, NULL));
    assert_ok(cascade_engine_start(engine));
    db_await(store, &id, CASCADE_COMPLETED);
    assert_string_equal(it.history, "[1,2,3,4,5]");
    assert_string_equal(it.last, "5");
    cJSON_free(it.history);
    cJSON_free(it.last);
}

/* All times to the microsecond, in documents too; and the copy has the order,
 * whatever its ids are. */
static void
a_document_keeps_times_and_order(test_db *db)
{
    const cascade_import_options options = {.size = sizeof(options),
                                            .new_ids = true};
    cascade_store *store = db_store(db);
    cascade_uuid id = insert_rows(db);
    cascade_started started;
    char *first = NULL;
    char *second = NULL;
    const char *at = NULL;

    assert_ok(cascade_export(store, &id, NULL, &first));
    at = strstr(first, "{\"key\":\"other\"");
    assert_non_null(at);
    at = strstr(at, "\"value\":1,\"created_at\":"
                    "\"2026-01-31T10:00:00.249999Z\"");
    assert_non_null(at);
    at = strstr(at, "\"value\":2,\"ui_value\":\"two\",\"created_at\":"
                    "\"2026-01-31T10:00:00.250000Z\"");
    assert_non_null(at);
    at = strstr(at, "\"value\":3,");
    assert_non_null(at);
    assert_non_null(strstr(at, "\"value\":4,"));
    assert_ok(cascade_import(store, first, &options, &started));
    assert_ok(cascade_export(store, &started.id, NULL, &second));
    assert_memory_equal(first, second, (size_t)(at - first));
    expect_context(store, &started.id, false,
                   "{\"k\":[1,2,3,4,5],\"other\":[\"x\"]}");
    cascade_document_free(first);
    cascade_document_free(second);
}

static cascade_err
put_many(cascade_node *node, void *user)
{
    (void)user;
    for (int i = 0; i < 1200; i++)
        expect(cascade_node_put(node, "k", cJSON_CreateNumber(i)) ==
               CASCADE_OK);
    return CASCADE_OK;
}

/* As readers that sort by time alone need it. */
static void
events_of_one_execution_are_a_microsecond_apart(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_uuid id;
    char text[40];

    assert_ok(cascade_engine_register(engine, "put", put_many, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "put");
    db_await(store, &id, CASCADE_COMPLETED);
    raw_sql_text(db, "SELECT count(DISTINCT created_at) FROM context_events",
                 text, sizeof(text));
    assert_string_equal(text, "1200");
    raw_sql_text(db,
                 "SELECT count(*) FROM context_events AS a"
                 " JOIN context_events AS b ON b.id = a.id + 1"
                 " WHERE b.created_at > a.created_at",
                 text, sizeof(text));
    assert_string_equal(text, "1199");
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"values_are_in_the_order_of_time", values_are_in_the_order_of_time,
         STORES_FILES},
        {"a_node_sees_them_in_that_order", a_node_sees_them_in_that_order,
         STORES_FILES},
        {"a_document_keeps_times_and_order", a_document_keeps_times_and_order,
         STORES_FILES},
        {"events_of_one_execution_are_a_microsecond_apart",
         events_of_one_execution_are_a_microsecond_apart, STORES_FILES},
    };

    return stores_run("order", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
