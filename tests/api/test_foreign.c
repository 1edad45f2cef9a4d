/* SPDX-License-Identifier: MIT
 *
 * Rows that another program (Cascaide) wrote into the three tables are read as
 * what they are, value by value: gaps in function_id, negative ones, a
 * full_output of its own form, events filed under executions that are not
 * there, RUNNING rows that a crash left behind, fn_id below the highest place.
 */
#include <string.h>

#include "api/raw_sql.h"

#define ID "0190aaaa-0000-4000-8000-000000000001"
#define OTHER "0190aaaa-0000-4000-8000-000000000002"

static const char *const cascades =
    "INSERT INTO cascades (id, status, fn_id, user_id, created_at, updated_at)"
    " VALUES ('" ID "', 'COMPLETED', 2, 'ann', '2026-01-31 10:00:00.123',"
    "  '2026-01-31 10:00:01'),"
    " ('" OTHER "', 'RUNNING', 1, 'bob', '2026-01-31 11:00:00.5',"
    "  '2026-01-31 11:00:00.5')";

static const char *const executions =
    "INSERT INTO node_executions (id, node_instance_id, cascade_id, node_name,"
    " function_id, input_context, full_output, location, status, error,"
    " started_at, completed_at) VALUES"
    " ('0190aaaa-0000-4000-8000-0000000000a0', 'init_0190aaaa_x', '" ID "',"
    "  'init', -1, '{}', NULL, 'server', 'COMPLETED', NULL,"
    "  '2026-01-31 10:00:00', '2026-01-31 10:00:00.5'),"
    " ('0190aaaa-0000-4000-8000-0000000000a1', 'plan_0190aaaa_0', '" ID "',"
    "  'plan', 0, '{\"b\": 1, \"a\": [1, 2.50]}',"
    "  '{\"list\": [\"its own form\"], \"at\": \"noon\"}', 'client',"
    "  'COMPLETED', NULL, '2026-01-31 10:00:00', '2026-01-31 10:00:00.5'),"
    " ('0190aaaa-0000-4000-8000-0000000000a2',"
    "  '0190aaaa-0000-4000-8000-0000000000ff', '" ID "', 'buy', 2, '{}',"
    "  '[1, 2]', 'server', 'FAILED', 'no stock', '2026-01-31 10:00:00',"
    "  '2026-01-31 10:00:00.75'),"
    " ('0190aaaa-0000-4000-8000-0000000000a3', 'left_0190aaaa_3', '" ID "',"
    "  'left', 5, '{}', NULL, 'server', 'RUNNING', NULL,"
    "  '2026-01-31 10:00:00', NULL),"
    " ('0190aaaa-0000-4000-8000-0000000000a4', 'open_0190aaaa_0', '" OTHER "',"
    "  'open', 1, '{}', NULL, 'server', 'RUNNING', NULL,"
    "  '2026-01-31 10:00:00', NULL)";

static const char *const events =
    "INSERT INTO context_events (cascade_id, function_id, key, value, ui_value,"
    " created_at) VALUES"
    " ('" ID "', 2, 'list', '\"appended\"', NULL, '2026-01-31 10:00:03'),"
    " ('" ID "', 0, 'list', '{\"v\": \"c\", \"index\": 2}', NULL,"
    "  '2026-01-31 10:00:01'),"
    " ('" ID "', 0, 'list', '{\"v\": \"a\", \"index\": 0}', NULL,"
    "  '2026-01-31 10:00:02'),"
    " ('" ID "', 2, 'list', '{\"index\": 1.5}', NULL, '2026-01-31 10:00:03'),"
    " ('" ID "', 2, 'list', '{\"index\": \"1\"}', NULL, '2026-01-31 10:00:03'),"
    " ('" ID "', 2, 'list', '{\"v\": \"b\", \"index\": 1}', '\"ui b\"',"
    "  '2026-01-31 10:00:03'),"
    " ('" ID "', 7, 'late', '1', '{\"index\": 1}', '2026-01-31 10:00:09'),"
    " ('" ID "', -1, 'first', 'null', NULL, '2026-01-31 09:00:00'),"
    " ('" OTHER "', 0, 'list', '\"of another\"', NULL, '2026-01-31 10:00:00')";

static void
insert_rows(test_db *db)
{
    db->unsound = true; /* V12, V15: writers are not there, numbers neither */
    raw_sql(db, cascades);
    raw_sql(db, executions);
    raw_sql(db, events);
}

static cascade_snapshot *
load(cascade_store *store, const char *text, int32_t as_of, bool ui)
{
    const cascade_snapshot_options options = {
        .size = sizeof(options), .as_of = as_of, .ui = ui};
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;

    assert_ok(cascade_uuid_parse(text, &id));
    assert_ok(cascade_snapshot_load(store, &id, &options, &snapshot));
    return snapshot;
}

/* The context in both forms. */
static void
expect_context(cascade_store *store, int32_t as_of, bool ui, const char *ours,
               const char *theirs)
{
    cascade_snapshot *snapshot = load(store, ID, as_of, ui);

    assert_string_equal(ours, cascade_snapshot_context(snapshot));
    assert_string_equal(theirs, cascade_snapshot_cascaide_context(snapshot));
    cascade_snapshot_free(snapshot);
}

#define SLOT_A "{\"v\":\"a\",\"index\":0}"
#define SLOT_B "{\"v\":\"b\",\"index\":1}"
#define SLOT_C "{\"v\":\"c\",\"index\":2}"
#define TAIL "\"appended\",{\"index\":1.5},{\"index\":\"1\"}"
#define AS_NAME "{\"index\":\"1\"}" /* as good as a number; 1.5 is no slot */

static void
context_follows_the_index_rule(test_db *db)
{
    cascade_store *store = db_store(db);

    insert_rows(db);
    expect_context(store, 0, false,
                   "{\"late\":[1],\"list\":[" SLOT_C "," SLOT_A "," TAIL
                   "," SLOT_B "],\"first\":[null]}",
                   "{\"late\":[1],\"list\":[" SLOT_A "," SLOT_B "," SLOT_C
                   ",\"appended\"],\"first\":[null]}");
    expect_context(store, 0, true,
                   "{\"late\":[{\"index\":1}],\"list\":[" SLOT_C "," SLOT_A
                   "," TAIL ",\"ui b\"],\"first\":[null]}",
                   "{\"late\":[null,{\"index\":1}],\"list\":[" SLOT_A
                   "," AS_NAME "," SLOT_C
                   ",\"appended\",\"ui b\"],\"first\":[null]}");
}

static void
bound_of_a_context_is_exclusive(test_db *db)
{
    cascade_store *store = db_store(db);

    insert_rows(db);
    expect_context(store, 2, false,
                   "{\"list\":[" SLOT_C "," SLOT_A "],\"first\":[null]}",
                   "{\"list\":[" SLOT_A ",null," SLOT_C "],\"first\":[null]}");
    expect_context(store, 7, false,
                   "{\"list\":[" SLOT_C "," SLOT_A "," TAIL "," SLOT_B
                   "],\"first\":[null]}",
                   "{\"list\":[" SLOT_A "," SLOT_B "," SLOT_C
                   ",\"appended\"],\"first\":[null]}");
    expect_context(store, INT32_MAX, false,
                   "{\"late\":[1],\"list\":[" SLOT_C "," SLOT_A "," TAIL
                   "," SLOT_B "],\"first\":[null]}",
                   "{\"late\":[1],\"list\":[" SLOT_A "," SLOT_B "," SLOT_C
                   ",\"appended\"],\"first\":[null]}");
}

/* 0 and less are bounds too, where that is said. */
static void
every_bound_may_be_asked_for(test_db *db)
{
    static const struct {
        int32_t as_of;
        size_t executions;
        const char *context;
    } cases[] = {
        {INT32_MIN, 0, "{}"},
        {-1, 0, "{}"},
        {0, 1, "{\"first\":[null]}"},
        {1, 2, "{\"list\":[" SLOT_C "," SLOT_A "],\"first\":[null]}"},
    };
    cascade_store *store = db_store(db);
    cascade_snapshot_options options = {.size = sizeof(options)};
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;

    insert_rows(db);
    assert_ok(cascade_uuid_parse(ID, &id));
    options.bounded = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        options.as_of = cases[i].as_of;
        assert_ok(cascade_snapshot_load(store, &id, &options, &snapshot));
        assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                         cases[i].executions);
        assert_string_equal(cascade_snapshot_context(snapshot),
                            cases[i].context);
        cascade_snapshot_free(snapshot);
    }
    id.bytes[15] ^= 0xff;
    assert_int_equal(cascade_snapshot_load(store, &id, &options, &snapshot),
                     CASCADE_ERR_NOT_FOUND);
    options = (cascade_snapshot_options){.size = sizeof(options), .as_of = -1};
    assert_int_equal(cascade_snapshot_load(store, &id, &options, &snapshot),
                     CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "bounded"));
}

static void
expect_execution(const cascade_snapshot *snapshot, size_t index,
                 const cascade_execution_info *wanted)
{
    const cascade_execution_info *got =
        cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, index);

    assert_non_null(got);
    assert_int_equal(wanted->function_id, got->function_id);
    assert_int_equal(wanted->status, got->status);
    assert_string_equal(wanted->node_name, got->node_name);
    assert_string_equal(wanted->node_instance_id, got->node_instance_id);
    assert_string_equal(wanted->location, got->location);
    assert_string_equal(wanted->input, got->input);
    assert_int_equal(-1, got->parent_function_id);
    if (wanted->full_output == NULL)
        assert_null(got->full_output);
    else
        assert_string_equal(wanted->full_output, got->full_output);
    if (wanted->error == NULL)
        assert_null(got->error);
    else
        assert_string_equal(wanted->error, got->error);
    assert_true(wanted->completed_at_ms == got->completed_at_ms);
}

/* 2026-01-31 10:00:00 UTC. */
#define TEN_MS INT64_C(1769853600000)

static void
executions_are_read_value_by_value(test_db *db)
{
    static const cascade_execution_info wanted[] = {
        {.function_id = -1,
         .status = CASCADE_EXECUTION_COMPLETED,
         .node_name = "init",
         .node_instance_id = "init_0190aaaa_x",
         .location = "server",
         .input = "{}",
         .completed_at_ms = TEN_MS + 500},
        {.function_id = 0,
         .status = CASCADE_EXECUTION_COMPLETED,
         .node_name = "plan",
         .node_instance_id = "plan_0190aaaa_0",
         .location = "client",
         .input = "{\"a\":[1,2.50],\"b\":1}",
         .full_output = "{\"at\":\"noon\",\"list\":[\"its own form\"]}",
         .completed_at_ms = TEN_MS + 500},
        {.function_id = 2,
         .status = CASCADE_EXECUTION_FAILED,
         .node_name = "buy",
         .node_instance_id = "0190aaaa-0000-4000-8000-0000000000ff",
         .location = "server",
         .input = "{}",
         .full_output = "[1,2]",
         .error = "no stock",
         .completed_at_ms = TEN_MS + 750},
        {.function_id = 5,
         .status = CASCADE_EXECUTION_RUNNING,
         .node_name = "left",
         .node_instance_id = "left_0190aaaa_3",
         .location = "server",
         .input = "{}",
         .completed_at_ms = CASCADE_TIME_NONE},
    };
    cascade_store *store = db_store(db);
    cascade_snapshot *snapshot = NULL;

    insert_rows(db);
    snapshot = load(store, ID, 0, false);
    assert_int_equal(4, cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY));
    for (size_t i = 0; i < 4; i++)
        expect_execution(snapshot, i, &wanted[i]);
    assert_int_equal(0, cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE));
    assert_int_equal(1, cascade_snapshot_count(snapshot, CASCADE_PART_ERRORS));
    assert_null(cascade_snapshot_result(snapshot));
    cascade_snapshot_free(snapshot);
}

static void
cascades_are_read_value_by_value(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_snapshot *snapshot = NULL;
    const cascade_info *info = NULL;

    insert_rows(db);
    snapshot = load(store, ID, 0, false);
    info = cascade_snapshot_info(snapshot);
    assert_int_equal(CASCADE_COMPLETED, info->status);
    assert_int_equal(2, info->fn_id);
    assert_string_equal("ann", info->user_id);
    assert_true(info->created_at_ms == TEN_MS + 123);
    assert_true(info->updated_at_ms == TEN_MS + 1000);
    assert_false(info->has_run);
    cascade_snapshot_free(snapshot);
    snapshot = load(store, OTHER, 0, false);
    assert_int_equal(1, cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE));
    assert_string_equal("{\"list\":[\"of another\"]}",
                        cascade_snapshot_context(snapshot));
    cascade_snapshot_free(snapshot);
}

/* JavaScript writes times as 2026-01-31T10:00:00.123Z, which is text in
 * SQLite. */
static void
times_of_javascript_are_read(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_snapshot *snapshot = NULL;

    insert_rows(db);
    raw_sql(db, "UPDATE cascades SET created_at = '2026-01-31T10:00:00.123Z'");
    snapshot = load(store, ID, 0, false);
    assert_true(cascade_snapshot_info(snapshot)->created_at_ms == TEN_MS + 123);
    cascade_snapshot_free(snapshot);
}

/* Which rule it breaks, and where; nothing of what it says. */
static void
json_that_is_not_accepted_is_told(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_snapshot *snapshot = NULL;
    char sql[600] = "UPDATE node_executions SET input_context = '[";
    size_t len = strlen(sql);
    cascade_uuid id;

    db->unsound = true;
    insert_rows(db);
    memset(sql + len, '7', 450);
    strcpy(sql + len + 450, "]' WHERE function_id = 0");
    raw_sql(db, sql);
    assert_ok(cascade_uuid_parse(ID, &id));
    assert_int_equal(cascade_snapshot_load(store, &id, NULL, &snapshot),
                     CASCADE_ERR_CORRUPT);
    assert_non_null(strstr(cascade_errmsg(), "input_context"));
    assert_non_null(strstr(cascade_errmsg(), "at byte 1"));
    assert_non_null(strstr(cascade_errmsg(), "more than 400 digits"));
    assert_null(strstr(cascade_errmsg(), "777"));
}

static cascade_err
do_nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

/* An engine leaves alone what it did not start: there is no run to claim. */
static void
engines_leave_foreign_cascades_alone(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_snapshot *snapshot = NULL;
    cascade_uuid own;

    insert_rows(db);
    assert_ok(cascade_engine_register(engine, "open", do_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    own = db_start(store, "open");
    db_await(store, &own, CASCADE_COMPLETED);
    snapshot = load(store, OTHER, 0, false);
    assert_int_equal(CASCADE_RUNNING, cascade_snapshot_info(snapshot)->status);
    cascade_snapshot_free(snapshot);
}

/* A number that is no priority is none: the ready list has ten places. */
static void
an_odd_priority_does_no_harm(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_uuid id;

    id = db_start(store, "nothing");
    raw_sql(db, "UPDATE node_executions"
                " SET full_output = '{\"priority\":77000000}'");
    assert_ok(
        cascade_engine_register(engine, "nothing", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    db_await(store, &id, CASCADE_COMPLETED);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"context_follows_the_index_rule", context_follows_the_index_rule,
         STORES_FILES},
        {"bound_of_a_context_is_exclusive", bound_of_a_context_is_exclusive,
         STORES_FILES},
        {"every_bound_may_be_asked_for", every_bound_may_be_asked_for,
         STORES_FILES},
        {"executions_are_read_value_by_value",
         executions_are_read_value_by_value, STORES_FILES},
        {"cascades_are_read_value_by_value", cascades_are_read_value_by_value,
         STORES_FILES},
        {"times_of_javascript_are_read", times_of_javascript_are_read,
         STORES_FILES},
        {"json_that_is_not_accepted_is_told", json_that_is_not_accepted_is_told,
         STORES_FILES},
        {"an_odd_priority_does_no_harm", an_odd_priority_does_no_harm,
         STORES_FILES},
        {"engines_leave_foreign_cascades_alone",
         engines_leave_foreign_cascades_alone, STORES_FILES},
    };

    return stores_run("foreign rows", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
