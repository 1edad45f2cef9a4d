/* SPDX-License-Identifier: MIT
 *
 * Payloads, texts and numbers come back as they were given, and none of them
 * can change what a statement does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance.h"

/* What a load of one cascade gave; texts are copies. */
typedef struct copied {
    cascade_row cascade;
    cascade_execution_row executions[8];
    size_t execution_count;
    cascade_event_row events[64];
    size_t event_count;
    cascade_run_row run;
    bool has_run;
    csc_arena arena;
} copied;

static cascade_err
copy_cascade(void *context, const cascade_row *row)
{
    copied *it = context;

    it->cascade = *row;
    it->cascade.user_id = csc_arena_strdup(&it->arena, row->user_id);
    return CASCADE_OK;
}

/* And none is told as made canonical while it was read: S76. */
static cascade_err
copy_execution(void *context, const cascade_execution_row *row)
{
    copied *it = context;
    cascade_execution_row *kept = &it->executions[it->execution_count++];

    assert_true(it->execution_count <= 8);
    assert_int_equal(0, row->reformed);
    *kept = *row;
    kept->node_instance_id =
        csc_arena_strdup(&it->arena, row->node_instance_id);
    kept->node_name = csc_arena_strdup(&it->arena, row->node_name);
    kept->input = csc_arena_strdup(&it->arena, row->input);
    kept->full_output = csc_arena_strdup(&it->arena, row->full_output);
    kept->location = csc_arena_strdup(&it->arena, row->location);
    kept->error = csc_arena_strdup(&it->arena, row->error);
    return CASCADE_OK;
}

static cascade_err
copy_event(void *context, const cascade_event_row *row)
{
    copied *it = context;
    cascade_event_row *kept = &it->events[it->event_count++];

    assert_true(it->event_count <= 64);
    assert_int_equal(0, row->reformed);
    *kept = *row;
    kept->key = csc_arena_strdup(&it->arena, row->key);
    kept->value = csc_arena_strdup(&it->arena, row->value);
    kept->ui_value = csc_arena_strdup(&it->arena, row->ui_value);
    return CASCADE_OK;
}

static cascade_err
copy_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    copied *it = context;

    (void)row;
    it->has_run = run != NULL;
    if (run == NULL)
        return CASCADE_OK;
    it->run = *run;
    it->run.queue = csc_arena_strdup(&it->arena, run->queue);
    it->run.needs = csc_arena_strdup(&it->arena, run->needs);
    return CASCADE_OK;
}

/* Free with free_copied(). */
static copied *
read_back(conformance_db *db, cascade_uuid id)
{
    copied *it = calloc(1, sizeof(*it));
    cascade_load_sink sink = {.context = it,
                              .on_cascade = copy_cascade,
                              .on_execution = copy_execution,
                              .on_event = copy_event};
    cascade_query query = {.id = &id, .limit = 1};

    assert_non_null(it);
    assert_ok(db->driver->load(db->self, &id, 1,
                               CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS,
                               &sink));
    assert_ok(db->driver->list(db->self, &query, copy_run, it));
    assert_false(it->arena.failed);
    return it;
}

static void
free_copied(copied *it)
{
    csc_arena_fini(&it->arena);
    free(it);
}

static void
assert_text(const char *got, const char *wanted)
{
    if (wanted == NULL)
        assert_null(got);
    else
        assert_string_equal(got, wanted);
}

/* ---- S13 ---------------------------------------------------------------- */

/* JSON with all that is hard to carry. */
static const char *const payloads[] = {
    "null",
    "true",
    "\"\"",
    "{}",
    "[]",
    "0",
    "-1",
    "1.50",
    "0.1000",
    "1e2",
    "1E-2",
    "9223372036854775807",
    "9223372036854775808",
    "-170141183460469231731687303715884105728",
    "3.14159265358979323846264338327950288419716939937510582097494459230781640",
    "1e399",
    "1e-300",
    "\"NULL\"",
    "\"null\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\\\\\\"\\\\\"",
    "\"it's; DROP TABLE cascades; --\"",
    "\"{1,2,\\\"x\\\",NULL}\"",
    "\"%s %d %n $1 ?1 :x @y #z\"",
    "\"\\u0001\\u0007\\b\\t\\n\\f\\r\\u001f\\u007f\"",
    "\"\\/ / \\u2028 \\u2029\"",
    "\"\xc3\xa4\xc3\xb6\xc3\xbc \xe6\x97\xa5\xe6\x9c\xac\"",
    "\"\\ud83d\\ude00 \xf0\x9f\x98\x80 \\uffff \\ue000\"",
    "\"e\\u0301 \\u00e9 \\u202e abc\"",
    "{\"\":\"\",\" \":\" \",\"'\":\"'\",\"\\\"\":1,\"\\\\\":2}",
    "{\"bb\":1,\"a\":1e2,\"c\":-0,\"e\":1E-2}",
    "{\"b\":{\"y\":1,\"x\":[{},[],[[]],{\"\":null}]},\"a\":[1,\"1\",1.0]}",
    "[null,true,false,0,\"\",{},[]]",
};

#define PAYLOADS (sizeof(payloads) / sizeof(payloads[0]))

/* The canonical form, which is what the library hands to stores. */
static const char *
canon(conformance_db *db, const char *text)
{
    csc_buf buf = {.data = NULL};
    char *kept;

    assert_ok(csc_json_canon("payload", text, strlen(text), 64u << 20, &buf));
    kept = csc_arena_strdup(&db->rows.arena, buf.data);
    csc_buf_fini(&buf);
    assert_non_null(kept);
    return kept;
}

/* S13, G7: in every column that holds JSON, at insertion and by update. */
static void
payloads_come_back_as_given(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);

    for (size_t i = 0; i < PAYLOADS; i++) {
        const char *payload = canon(db, payloads[i]);
        const char *next = canon(db, payloads[(i + 1) % PAYLOADS]);
        cascade_uuid id = rows_id(&db->rows);
        cascade_change *start = rows_start_owned(&db->rows, id, engine);
        cascade_change *write = rows_write(&db->rows, id, 1);
        cascade_execution_row *row = rows_insert(&db->rows, start, 1, "n");
        copied *it;

        row->input = payload;
        row->full_output = next;
        rows_event(&db->rows, start, 0, "k", payload)->ui_value = next;
        rows_event(&db->rows, start, 0, "k", next);
        assert_ok(db_commit_one(db, engine, (int64_t)(2 * i + 1), start));
        rows_update(&db->rows, write, 0, payload);
        rows_update(&db->rows, write, 1, next);
        assert_ok(db_commit_one(db, engine, (int64_t)(2 * i + 2), write));
        it = read_back(db, id);
        assert_string_equal(it->executions[1].input, payload);
        assert_string_equal(it->executions[0].full_output, payload);
        assert_string_equal(it->executions[1].full_output, next);
        assert_string_equal(it->events[0].value, payload);
        assert_text(it->events[0].ui_value, next);
        assert_string_equal(it->events[1].value, next);
        assert_text(it->events[1].ui_value, NULL);
        free_copied(it);
    }
}

/* S13: an update may take output and error away again: NULL is not the JSON
 * null, nor the word, nor an empty text. */
static void
a_missing_payload_is_not_null(void **state)
{
    static const char *const texts[] = {NULL, "null", "\"\"", NULL, "\"NULL\""};
    static const char *const errors[] = {"", NULL, "NULL", "failed", NULL};
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    cascade_uuid id = rows_id(&db->rows);

    assert_ok(
        db_commit_one(db, engine, 1, rows_start_owned(&db->rows, id, engine)));
    for (int i = 0; i < 5; i++) {
        cascade_change *write = rows_write(&db->rows, id, 0);
        cascade_execution_row *row = rows_update(&db->rows, write, 0, texts[i]);
        copied *it;

        row->status = CASCADE_EXECUTION_RUNNING;
        row->completed_at_ms = CASCADE_TIME_NONE;
        row->error = errors[i];
        assert_ok(db_commit_one(db, engine, i + 2, write));
        it = read_back(db, id);
        assert_text(it->executions[0].full_output, texts[i]);
        assert_text(it->executions[0].error, errors[i]);
        assert_true(it->executions[0].completed_at_ms == CASCADE_TIME_NONE);
        free_copied(it);
    }
}

/* S13: the largest payload of the default limit, and the deepest. */
static void
large_and_deep_payloads_come_back(void **state)
{
    enum {
        LARGE = 1024 * 1024
    };
    conformance_db *db = *state;
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    char *large = malloc(LARGE + 1);
    char deep[2 * CSC_JSON_DEPTH_MAX + 1] = "";
    copied *it;

    assert_non_null(large);
    for (int i = 0; i < LARGE; i++)
        large[i] = (char)('a' + i % 26);
    large[0] = '"';
    large[LARGE - 1] = '"';
    large[LARGE] = '\0';
    memset(deep, '[', CSC_JSON_DEPTH_MAX);
    memset(deep + CSC_JSON_DEPTH_MAX, ']', CSC_JSON_DEPTH_MAX);
    rows_event(&db->rows, start, 0, "large", large);
    rows_event(&db->rows, start, 0, "deep", deep);
    assert_ok(db_submit_one(db, start));
    it = read_back(db, start->cascade.id);
    assert_int_equal(strcmp(it->events[0].value, large), 0);
    assert_string_equal(it->events[1].value, deep);
    free_copied(it);
    free(large);
}

/* ---- Numbers and times -------------------------------------------------- */

/* S13: times to the millisecond, over all years that a TIMESTAMP text has. */
static void
times_come_back_to_the_millisecond(void **state)
{
    static const int64_t times_ms[] = {0,
                                       1,
                                       -1,
                                       999,
                                       -999,
                                       INT64_C(951782399999), /* 29 Feb 2000 */
                                       INT64_C(-2203891200001),
                                       INT64_C(4102444800000),
                                       INT64_C(253402300799999),
                                       INT64_C(-62135596800000)};
    conformance_db *db = *state;

    for (size_t i = 0; i < sizeof(times_ms) / sizeof(times_ms[0]); i++) {
        cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
        cascade_execution_row *row = rows_insert(&db->rows, start, 1, "n");
        int64_t time_ms = times_ms[i];
        copied *it;

        start->cascade.created_at_ms = time_ms;
        start->cascade.updated_at_ms = time_ms;
        start->run.wake_at_ms = time_ms;
        row->started_at_ms = time_ms;
        row->completed_at_ms = time_ms;
        row->status = CASCADE_EXECUTION_FAILED;
        rows_event(&db->rows, start, 0, "k", "1")->created_at_us =
            time_ms * 1000;
        assert_ok(db_submit_one(db, start));
        it = read_back(db, start->cascade.id);
        assert_int_equal(it->cascade.created_at_ms, time_ms);
        assert_int_equal(it->cascade.updated_at_ms, time_ms);
        assert_int_equal(it->run.wake_at_ms, time_ms);
        assert_int_equal(it->executions[1].started_at_ms, time_ms);
        assert_int_equal(it->executions[1].completed_at_ms, time_ms);
        assert_int_equal(it->executions[1].status, CASCADE_EXECUTION_FAILED);
        assert_int_equal(it->events[0].created_at_us, time_ms * 1000);
        free_copied(it);
    }
}

/* S67: those of events to the microsecond; and their order is that of ids. */
static void
times_of_events_come_back_to_the_microsecond(void **state)
{
    static const int64_t times_us[] = {1,
                                       -1,
                                       999,
                                       1000,
                                       999999,
                                       -999999,
                                       INT64_C(951782399999999),
                                       INT64_C(-2203891200000001),
                                       INT64_C(253402300799999999),
                                       INT64_C(-62135596800000000)};
    enum {
        COUNT = sizeof(times_us) / sizeof(times_us[0])
    };
    conformance_db *db = *state;
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    copied *it = NULL;

    for (size_t i = 0; i < COUNT; i++)
        rows_event(&db->rows, start, 0, "k", "1")->created_at_us = times_us[i];
    assert_ok(db_submit_one(db, start));
    it = read_back(db, start->cascade.id);
    assert_int_equal(it->event_count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(it->events[i].created_at_us, times_us[i]);
    free_copied(it);
}

/* S13: function_ids at the ends of their range; foreign programs write negative
 * ones. */
static void
numbers_come_back_at_their_limits(void **state)
{
    static const int32_t function_ids[] = {INT32_MIN, -1, 0, 1, INT32_MAX};
    conformance_db *db = *state;
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    copied *it;

    start->cascade.fn_id = INT32_MAX;
    start->run.claim_no = INT64_MAX - 1;
    start->run.takeovers = INT32_MAX - 1;
    for (int i = 0; i < 5; i++) {
        if (function_ids[i] != 0)
            rows_insert(&db->rows, start, function_ids[i], "n");
        rows_event(&db->rows, start, function_ids[i], "k", "1");
    }
    assert_ok(db_submit_one(db, start));
    it = read_back(db, start->cascade.id);
    assert_int_equal(it->cascade.fn_id, INT32_MAX);
    assert_int_equal(it->run.claim_no, INT64_MAX - 1);
    assert_int_equal(it->run.takeovers, INT32_MAX - 1);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(it->executions[i].function_id, function_ids[i]);
        assert_int_equal(it->events[i].function_id, function_ids[i]);
    }
    free_copied(it);
}

/* S5, G13: a priority outside 0-9 is refused on every store alike. */
static void
a_priority_out_of_range_is_refused(void **state)
{
    static const int32_t priorities[] = {-1, 10, INT32_MAX, INT32_MIN};
    conformance_db *db = *state;
    char *picture = db_picture(db);

    for (int i = 0; i < 4; i++) {
        cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));

        start->run.priority = priorities[i];
        assert_fails(CASCADE_ERR_REFUSED, db_submit_one(db, start));
    }
    db_assert_unchanged(db, picture);
}

/* ---- S18 ---------------------------------------------------------------- */

/* Names that would do harm if they were ever part of a statement, an array
 * literal, a pattern or a format. */
static const char *const hostile[] = {
    "'",
    "''",
    "\"",
    "`",
    "\\",
    "\\'",
    "\\\\",
    "%",
    "_",
    "%s%s%s%n",
    "'; DROP TABLE cascades; --",
    "'); DELETE FROM cascade_runs; --",
    "x' OR '1'='1",
    "/* */ --",
    "{",
    "}",
    "{}",
    "{NULL}",
    "NULL",
    "null",
    "a,b",
    "{a,b}",
    "\"a\",\"b\"",
    "(1,2)",
    "$1",
    "$$x$$",
    "?1",
    ":x",
    "@x",
    "#",
    " ",
    " leading and trailing ",
    "\t",
    "\n",
    "\r\n",
    "E'\\\\'",
    "U&'\\0041'",
    "\xc3\xa9\xe2\x80\xae\xf0\x9f\x98\x80",
    "0x00",
    "1",
    "true",
    "-",
};

#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

/* A start in which every text is `name`. */
static cascade_change *
start_hostile(conformance_db *db, const char *name)
{
    cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));
    cascade_execution_row *row = rows_insert(&db->rows, start, 1, name);
    csc_buf json = {.data = NULL};
    char *value;

    csc_json_add_string(&json, name);
    value = csc_arena_strdup(&db->rows.arena, json.data);
    csc_buf_fini(&json);
    assert_non_null(value);
    start->cascade.user_id = name;
    start->run.queue = name;
    start->run.needs = name;
    row->node_instance_id = name;
    row->input = value;
    row->full_output = value;
    row->location = name;
    row->error = name;
    rows_event(&db->rows, start, 0, name, value)->ui_value = value;
    return start;
}

static void
assert_hostile(conformance_db *db, const cascade_change *start,
               const char *name)
{
    copied *it = read_back(db, start->cascade.id);
    const cascade_execution_row *row = &it->executions[1];

    assert_int_equal(it->execution_count, 2);
    assert_string_equal(it->cascade.user_id, name);
    assert_string_equal(it->run.queue, name);
    assert_text(it->run.needs, name);
    assert_string_equal(row->node_instance_id, name);
    assert_string_equal(row->node_name, name);
    assert_string_equal(row->input, start->inserts[1].input);
    assert_text(row->full_output, start->inserts[1].input);
    assert_string_equal(row->location, name);
    assert_text(row->error, name);
    assert_string_equal(it->events[0].key, name);
    assert_string_equal(it->events[0].value, start->inserts[1].input);
    free_copied(it);
}

static cascade_err
count_rows(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    (void)run;
    (*(size_t *)context)++;
    return CASCADE_OK;
}

static size_t
count_listed(conformance_db *db, cascade_query query)
{
    size_t count = 0;

    query.limit = 1000;
    assert_ok(db->driver->list(db->self, &query, count_rows, &count));
    return count;
}

/* S18: every hostile text comes back from every column, all in one batch and
 * each by itself. */
static void
hostile_texts_come_back(void **state)
{
    conformance_db *db = *state;
    cascade_change *starts[HOSTILE];

    for (size_t i = 0; i < HOSTILE; i++)
        starts[i] = start_hostile(db, hostile[i]);
    assert_ok(db_submit(db, starts, HOSTILE / 2, NULL));
    for (size_t i = HOSTILE / 2; i < HOSTILE; i++)
        assert_ok(db_submit_one(db, starts[i]));
    for (size_t i = 0; i < HOSTILE; i++)
        assert_hostile(db, starts[i], hostile[i]);
    assert_int_equal(count_listed(db, (cascade_query){.id = NULL}), HOSTILE);
}

/* S18, S14: as a filter each finds its own cascade and no other. */
static void
hostile_filters_find_their_own(void **state)
{
    conformance_db *db = *state;
    cascade_change *starts[HOSTILE];

    for (size_t i = 0; i < HOSTILE; i++)
        starts[i] = start_hostile(db, hostile[i]);
    assert_ok(db_submit(db, starts, HOSTILE, NULL));
    for (size_t i = 0; i < HOSTILE; i++) {
        assert_int_equal(
            count_listed(db, (cascade_query){.user_id = hostile[i]}), 1);
        assert_int_equal(count_listed(db, (cascade_query){.node = hostile[i]}),
                         1);
    }
}

/* S18, S8: as queue and as node of a claim each gets its own run and no other;
 * in lists of several too. */
static void
hostile_claims_get_their_own(void **state)
{
    conformance_db *db = *state;
    cascade_claim claim = {.engine_id = db_attach(db, 1, DB_LONG_LEASE_MS),
                           .limit = 100,
                           .suspect_from = 3};
    cascade_change *starts[HOSTILE];
    cascade_claimed claimed[100];
    cascade_claim_result result = {0};

    for (size_t i = 0; i < HOSTILE; i++)
        starts[i] = start_hostile(db, hostile[i]);
    assert_ok(db_submit(db, starts, HOSTILE, NULL));
    for (size_t i = 0; i < HOSTILE / 2; i++) {
        claim.queues = &hostile[i];
        claim.queue_count = 1;
        claim.nodes = &hostile[(i + 1) % HOSTILE];
        claim.node_count = 1;
        assert_ok(db->driver->claim(db->self, &claim, claimed, &result));
        assert_int_equal(result.count, 0);
        claim.nodes = &hostile[i];
        assert_ok(db->driver->claim(db->self, &claim, claimed, &result));
        assert_int_equal(result.count, 1);
        assert_true(
            csc_uuid_equal(&claimed[0].cascade_id, &starts[i]->cascade.id));
    }
    claim.queues = hostile;
    claim.queue_count = HOSTILE;
    claim.nodes = hostile;
    claim.node_count = HOSTILE;
    assert_ok(db->driver->claim(db->self, &claim, claimed, &result));
    assert_int_equal(result.count, HOSTILE - HOSTILE / 2);
}

/* S18: through updates, FREE and attach as well. */
static void
hostile_texts_can_be_written_later(void **state)
{
    conformance_db *db = *state;
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);

    for (size_t i = 0; i < HOSTILE; i++) {
        cascade_uuid id = rows_id(&db->rows);
        cascade_change *write = rows_write(&db->rows, id, 0);
        cascade_execution_row *row = rows_update(&db->rows, write, 0, "{}");
        cascade_incarnation other =
            rows_incarnation(&db->rows, 1, DB_LONG_LEASE_MS);
        copied *it;

        assert_ok(db_commit_one(db, engine, (int64_t)(2 * i + 1),
                                rows_start_owned(&db->rows, id, engine)));
        row->error = hostile[i];
        write->run_action = CASCADE_RUN_FREE;
        write->run.needs = hostile[i];
        assert_ok(db_commit_one(db, engine, (int64_t)(2 * i + 2), write));
        it = read_back(db, id);
        assert_text(it->executions[0].error, hostile[i]);
        assert_text(it->run.needs, hostile[i]);
        free_copied(it);
        other.host = hostile[i];
        assert_ok(db->driver->attach(db->self, &other));
        assert_ok(db->driver->detach(db->self, &other.engine_id));
    }
}

/* S18: texts at their longest, and empty ones where they may be. */
static void
texts_come_back_at_their_limits(void **state)
{
    conformance_db *db = *state;
    cascade_change *start;
    cascade_change *empty = rows_start(&db->rows, rows_id(&db->rows));
    cascade_execution_row *row;
    char *path = malloc(1001);
    char name[256];
    copied *it;

    assert_non_null(path);
    memset(name, 'x', 255);
    name[255] = '\0';
    memset(path, 'p', 1000);
    path[1000] = '\0';
    start = start_hostile(db, name);
    row = (cascade_execution_row *)&start->inserts[1];
    row->node_instance_id = path;
    assert_ok(db_submit_one(db, start));
    it = read_back(db, start->cascade.id);
    assert_string_equal(it->cascade.user_id, name);
    assert_string_equal(it->run.queue, name);
    assert_string_equal(it->executions[1].node_instance_id, path);
    assert_string_equal(it->events[0].key, name);
    free_copied(it);
    row = rows_insert(&db->rows, empty, 1, "n");
    row->error = "";
    row->location = "";
    assert_ok(db_submit_one(db, empty));
    it = read_back(db, empty->cascade.id);
    assert_text(it->executions[0].error, NULL);
    assert_text(it->executions[1].error, "");
    assert_string_equal(it->executions[1].location, "");
    free_copied(it);
    free(path);
}

conformance_group
conformance_text(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads_come_back_as_given),
        cmocka_unit_test(a_missing_payload_is_not_null),
        cmocka_unit_test(large_and_deep_payloads_come_back),
        cmocka_unit_test(times_come_back_to_the_millisecond),
        cmocka_unit_test(times_of_events_come_back_to_the_microsecond),
        cmocka_unit_test(numbers_come_back_at_their_limits),
        cmocka_unit_test(a_priority_out_of_range_is_refused),
        cmocka_unit_test(hostile_texts_come_back),
        cmocka_unit_test(hostile_filters_find_their_own),
        cmocka_unit_test(hostile_claims_get_their_own),
        cmocka_unit_test(hostile_texts_can_be_written_later),
        cmocka_unit_test(texts_come_back_at_their_limits),
    };

    return (conformance_group){"text", tests, sizeof(tests) / sizeof(tests[0])};
}
