/* SPDX-License-Identifier: MIT
 *
 * The functions for SQL: they refuse what the library refuses, write the rows
 * that it writes, and what they write runs. test->admin calls them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "store/migrations.h"
#include "store/postgres/postgres_fixture.h"
#include "support/in_time.h"
#include "support/sound.h"

#define SQL_SIZE 4096
#define DELAY_MAX_MS "3153600000000"

/* ---- Calling ------------------------------------------------------------- */

/* The SQLSTATE, "" when it went well. */
static const char *
try_sql(PGconn *conn, const char *sql)
{
    static char sqlstate[6];
    PGresult *result = PQexec(conn, sql);
    const char *got = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    snprintf(sqlstate, sizeof(sqlstate), "%s", got == NULL ? "" : got);
    PQclear(result);
    return sqlstate;
}

static cascade_uuid
id_of(char *text)
{
    cascade_uuid id;

    assert_int_equal(CASCADE_OK, cascade_uuid_parse(text, &id));
    free(text);
    return id;
}

#define sql_id(test, ...) id_of(pg_text(test, __VA_ARGS__))

static void
expect_freed(const char *value, char *got)
{
    if (strcmp(got, value) != 0)
        fail_msg("%s, not %s", got, value);
    free(got);
}

#define expect_answer(value, ...) expect_freed((value), pg_text(__VA_ARGS__))

static void
expect_text(pg_test *test, const char *sql, const char *value)
{
    char *got = pg_text(test, "%s", sql);

    if (strcmp(got, value) != 0)
        fail_msg("%s: %s, not %s", sql, got, value);
    free(got);
}

/* ---- The same rows ------------------------------------------------------- */

/* All that there is, but ids and times; the user for a key that is missing. */
static const char dump_sql[] =
    "SELECT jsonb_pretty(jsonb_build_object("
    " 'cascades', (SELECT jsonb_agg(replace(("
    "   to_jsonb(c) - 'id' - 'created_at' - 'updated_at')::text,"
    "   c.id::text, 'ID')) FROM cascades AS c),"
    " 'ids', (SELECT jsonb_agg(CASE WHEN c.id::text LIKE '%-8%-%'"
    "   AND substr(c.id::text, 15, 1) = '8' THEN c.id::text"
    "   ELSE substr(c.id::text, 15, 1) END) FROM cascades AS c),"
    " 'births', (SELECT jsonb_agg(substr(c.id::text, 15, 1) = '8' OR"
    "   abs(('x' || substr(replace(c.id::text, '-', ''), 1, 12))::bit(48)::int8"
    "    - extract(epoch FROM c.created_at) * 1000) < 100000)"
    "   FROM cascades AS c),"
    " 'runs', (SELECT jsonb_agg(to_jsonb(r) - 'cascade_id' - 'wake_at'"
    "   - 'limit_key' || jsonb_build_array(limit_key IN ('', user_id)))"
    "   FROM cascade_runs AS r JOIN cascades AS c ON c.id = r.cascade_id),"
    " 'executions', (SELECT jsonb_agg(replace((to_jsonb(n) - 'id'"
    "   - 'started_at' #- '{full_output,not_before}')::text,"
    "   n.cascade_id::text, 'ID') || substr(n.id::text, 15, 1))"
    "   FROM node_executions AS n),"
    " 'keys', (SELECT jsonb_agg(to_jsonb(k)) FROM cascade_keys AS k),"
    " 'events', (SELECT count(*) FROM context_events),"
    " 'messages', (SELECT jsonb_agg(replace((to_jsonb(m) - 'id' - 'sent_at')"
    "   ::text, m.cascade_id::text, 'ID')) FROM cascade_messages AS m),"
    " 'times', (SELECT jsonb_agg(jsonb_build_array("
    "   c.created_at = c.updated_at, c.created_at = n.started_at,"
    "   date_trunc('milliseconds', c.created_at) = c.created_at,"
    "   abs(extract(epoch FROM c.created_at)"
    "     - extract(epoch FROM now())) < 100,"
    "   r.wake_at - round(extract(epoch FROM c.created_at) * 1000),"
    "   n.full_output -> 'not_before' = to_jsonb(r.wake_at)))"
    "   FROM cascades AS c"
    "   JOIN cascade_runs AS r ON r.cascade_id = c.id"
    "   JOIN node_executions AS n ON n.cascade_id = c.id)))";

static void
clear(pg_test *test)
{
    pg_sql(test, "DELETE FROM cascade_messages; DELETE FROM cascade_keys;"
                 "DELETE FROM cascades");
}

/* Both, one after the other. */
static void
expect_same(pg_test *test, const char *node, const char *input,
            const cascade_start_options *options, const char *sql,
            const char *before)
{
    cascade_started started;
    char *by_library = NULL;
    char *by_function = NULL;

    clear(test);
    if (before != NULL)
        pg_sql(test, "%s", before);
    assert_ok(cascade_start(test->handles[0], node,
                            input == NULL ? NULL : cJSON_Parse(input), options,
                            &started));
    by_library = pg_text(test, "%s", dump_sql);
    clear(test);
    if (before != NULL)
        pg_sql(test, "%s", before);
    pg_sql(test, "%s", sql);
    by_function = pg_text(test, "%s", dump_sql);
    if (strcmp(by_library, by_function) != 0)
        fail_msg("%s\nthe library: %s\nthe function: %s", sql, by_library,
                 by_function);
    assert_non_null(strstr(by_library, "\"node_name"));
    free(by_library);
    free(by_function);
}

#define OPTIONS(...)                                       \
    &(cascade_start_options)                               \
    {                                                      \
        .size = sizeof(cascade_start_options), __VA_ARGS__ \
    }

static void
a_start_writes_what_the_library_writes(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "SET timezone = 'Asia/Kathmandu'");
    expect_same(test, "work", NULL, NULL, "SELECT cascade_start('work')", NULL);
    expect_same(test, "a.b:c-D_9",
                "{\"bb\": 1, \"a\": [1.50, -0, \"\\u0001\"]}", NULL,
                "SELECT cascade_start('a.b:c-D_9',"
                " '{\"bb\": 1, \"a\": [1.5, -0, \"\\u0001\"]}')",
                NULL);
    expect_same(test, "work", "null", NULL,
                "SELECT cascade_start('work', 'null')", NULL);
    expect_same(test, "work", NULL, OPTIONS(.key = "k \"\\ \xc3\xa9"),
                "SELECT cascade_start('work', key => 'k \"\\ \xc3\xa9')", NULL);
    expect_same(test, "work", NULL, OPTIONS(.user_id = "u", .key = "k"),
                "SELECT cascade_start('work', user_id => 'u', key => 'k')",
                NULL);
    expect_same(test, "work", NULL, OPTIONS(.queue = "q"),
                "SELECT cascade_start('work', queue => 'q')", NULL);
    expect_same(test, "work", NULL, OPTIONS(.priority = 9),
                "SELECT cascade_start('work', priority => 9)", NULL);
    expect_same(test, "work", NULL, OPTIONS(.delay_ms = 12345),
                "SELECT cascade_start('work', delay_ms => 12345)", NULL);
    expect_same(test, "work", NULL, OPTIONS(.delay_ms = INT64_C(3153600000000)),
                "SELECT cascade_start('work', delay_ms => " DELAY_MAX_MS ")",
                NULL);
    expect_same(test, "work", NULL,
                OPTIONS(.user_id = "u", .key = "k", .queue = "q", .priority = 3,
                        .delay_ms = 1),
                "SELECT cascade_start('work', NULL, 'k', 'u', 'q', 3, 1)",
                NULL);
    expect_same(test, "work", NULL, NULL,
                "SELECT cascade_start('work', NULL, NULL, NULL, NULL, NULL,"
                " NULL)",
                NULL);
}

/* Run 2 of the key was deleted: run 3 is next. Then run 3 is there. */
static void
runs_of_a_key_are_counted_as_the_library_counts(void **state)
{
    static const char before[] =
        "INSERT INTO cascade_keys VALUES ('anonymous', 'k', 2)";
    static const char call[] = "SELECT cascade_start('work', key => 'k')";
    pg_test *test = *state;
    cascade_started started;
    cascade_uuid id;

    expect_same(test, "work", NULL, OPTIONS(.key = "k"), call, before);
    assert_int_equal(3, pg_number(test, "SELECT run_number FROM cascade_keys"));
    id = csc_uuid_v8("anonymous", "k", 3);
    assert_ok(cascade_start(test->handles[0], "work", NULL, OPTIONS(.key = "k"),
                            &started));
    assert_true(started.existed);
    assert_true(csc_uuid_equal(&id, &started.id));
    started.id = sql_id(test, "%s", call);
    assert_true(csc_uuid_equal(&id, &started.id));
    pg_sql(test, "UPDATE cascades SET status = 'ERROR'");
    started.id = sql_id(test, "%s", call);
    assert_true(csc_uuid_equal(&id, &started.id));
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"));
    clear(test);
    id = csc_uuid_v8("anonymous", "k", 1);
    for (int i = 0; i < 3; i++) {
        started.id = sql_id(test, "%s", call);
        assert_true(csc_uuid_equal(&id, &started.id));
        if (i == 1)
            pg_sql(test, "DELETE FROM cascades");
    }
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascade_keys"));
}

/* S40: as where the cascade is gone, but that its id is taken. */
static void
what_is_marked_counts_as_deleted(void **state)
{
    static const char call[] = "SELECT cascade_start('work', key => 'k')";
    pg_test *test = *state;
    cascade_uuid first = sql_id(test, "%s", call);
    cascade_uuid second = csc_uuid_v8("anonymous", "k", 2);
    cascade_uuid id;

    assert_false(csc_uuid_equal(&first, &second));
    pg_sql(test, "UPDATE cascades SET status = 'ERROR'");
    pg_sql(test, "INSERT INTO cascade_erasures SELECT id, NULL, 0"
                 " FROM cascades");
    assert_string_equal("P0002",
                        try_sql(test->admin, "SELECT cascade_signal("
                                             "cascade_key_id('anonymous', 'k',"
                                             " 1), 'go')"));
    for (int i = 0; i < 2; i++) {
        id = sql_id(test, "%s", call);
        assert_true(csc_uuid_equal(&id, &second));
    }
    assert_int_equal(2, pg_number(test, "SELECT run_number FROM cascade_keys"));
}

static void
ids_of_keys_are_those_of_the_library(void **state)
{
    static const char *const texts[] = {
        "a", "order-7", "\xc3\xa9\xe2\x82\xac", "it''s \\ \"x\"", "1", "12"};
    pg_test *test = *state;

    for (size_t i = 0; i < 6; i++)
        for (int run = 1; run < 100; run += 49) {
            const char *user = texts[i];
            const char *key = texts[5 - i];
            cascade_uuid got = sql_id(
                test, "SELECT cascade_key_id('%s', '%s', %d)", user, key, run);
            cascade_uuid id =
                csc_uuid_v8(strchr(user, '\'') ? "it's \\ \"x\"" : user,
                            strchr(key, '\'') ? "it's \\ \"x\"" : key, run);

            assert_true(csc_uuid_equal(&id, &got));
        }
}

static void
a_signal_writes_what_the_library_writes(void **state)
{
    pg_test *test = *state;
    cascade_store *store = test->handles[0];
    cascade_signal_options named = {.size = sizeof(named),
                                    .request_id = "r \xc3\xa9"};
    cascade_uuid id = sql_id(test, "SELECT cascade_start('work')");
    char text[CASCADE_UUID_TEXT_SIZE];
    char *by_library = NULL;
    char *by_function = NULL;

    cascade_uuid_format(&id, text);
    assert_ok(cascade_signal(store, &id, "go", cJSON_Parse("{\"b\":1,\"a\":2}"),
                             &named));
    by_library = pg_text(test, "%s", dump_sql);
    pg_sql(test, "DELETE FROM cascade_messages");
    expect_text(test,
                "SELECT cascade_signal((SELECT id FROM cascades), 'go',"
                " '{\"a\":2, \"b\":1}', 'r \xc3\xa9')",
                "t");
    by_function = pg_text(test, "%s", dump_sql);
    assert_string_equal(by_library, by_function);
    free(by_library);
    free(by_function);
    pg_sql(test, "DELETE FROM cascade_messages");
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    expect_text(test, "SELECT cascade_signal((SELECT id FROM cascades), 'go')",
                "t");
    assert_int_equal(
        1, pg_number(test, "SELECT count(DISTINCT (payload, kind, name,"
                           " cascade_id, regexp_replace(path,"
                           " '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-.{17}$',"
                           " ''))) FROM cascade_messages"));
    assert_int_equal(2, pg_number(test, "SELECT count(*) FROM"
                                        " cascade_messages"));
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascade_messages"
                                        " WHERE abs(sent_at - extract(epoch"
                                        "  FROM now()) * 1000) > 100000"));
}

/* A later run records which one was started. */
static void
a_request_is_known_by_the_run_that_was_started(void **state)
{
    pg_test *test = *state;
    cascade_signal_options named = {.size = sizeof(named), .request_id = "r"};
    cascade_uuid id = sql_id(test, "SELECT cascade_start('work')");

    pg_sql(test, "UPDATE node_executions SET full_output = jsonb_set("
                 "full_output, '{cascade,root}',"
                 " '\"0190cccc-0000-4000-8000-000000000001\"')");
    expect_text(test,
                "SELECT cascade_signal((SELECT id FROM cascades), 'go', NULL,"
                " 'r')",
                "t");
    expect_text(test, "SELECT path FROM cascade_messages",
                "0190cccc-0000-4000-8000-000000000001/message/signal/r");
    assert_ok(cascade_signal(test->handles[0], &id, "go", NULL, &named));
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM"
                                        " cascade_messages"));
}

/* Of a run that is gone the last one is sent to, and what it has received is
 * known. */
static void
what_is_gone_leads_to_the_last_run(void **state)
{
    static const char call[] = "SELECT cascade_signal('%s', 'go', NULL, '%s')";
    static const char root[] = "0190cccc-0000-4000-8000-000000000001";
    static const char second[] = "0190cccc-0000-4000-8000-000000000002";
    pg_test *test = *state;
    cascade_uuid last = sql_id(test, "SELECT cascade_start('work')");
    char text[CASCADE_UUID_TEXT_SIZE];

    cascade_uuid_format(&last, text);
    pg_sql(test,
           "INSERT INTO cascade_links (path, root, next_id, number) VALUES"
           " ('%s', '%s', '%s', -3), ('%s', '%s', NULL, 1),"
           " ('%s/message/signal/old', '%s', NULL, 2)",
           root, root, text, second, root, root, root);
    expect_answer("f", test, call, root, "old");
    expect_answer("f", test, call, second, "old");
    expect_answer("t", test, call, second, "new");
    expect_answer("f", test, call, root, "new");
    expect_answer("t", test, call, root, "newer");
    assert_int_equal(2, pg_number(test,
                                  "SELECT count(*) FROM cascade_messages"
                                  " WHERE cascade_id = '%s' AND path LIKE"
                                  " '%s/message/signal/new%%'",
                                  text, root));
    pg_sql(test, "DELETE FROM cascade_messages; DELETE FROM cascades");
    assert_string_equal("P0002",
                        try_sql(test->admin, "SELECT cascade_signal("
                                             "'0190cccc-0000-4000-8000-"
                                             "000000000002', 'go')"));
    pg_sql(test, "DELETE FROM cascade_links");
}

/* Sent, known already, received already, ended, not there. */
static void
a_signal_tells_what_became_of_it(void **state)
{
    static const char call[] =
        "SELECT cascade_signal((SELECT id FROM cascades), 'go', NULL, '%s')";
    pg_test *test = *state;
    cascade_signal_options named = {.size = sizeof(named), .request_id = "c"};
    cascade_uuid id = sql_id(test, "SELECT cascade_start('work')");
    char text[CASCADE_UUID_TEXT_SIZE];

    cascade_uuid_format(&id, text);
    expect_answer("t", test, call, "a");
    expect_answer("f", test, call, "a");
    assert_ok(cascade_signal(test->handles[0], &id, "go", NULL, &named));
    expect_answer("f", test, call, "c");
    pg_sql(test,
           "INSERT INTO node_executions (node_instance_id, cascade_id,"
           " node_name, function_id, input_context, location) VALUES"
           " ('%s/message/signal/d', '%s', 'x', 1, '{}', 'server')",
           text, text);
    expect_answer("f", test, call, "d");
    assert_int_equal(2, pg_number(test, "SELECT count(*) FROM"
                                        " cascade_messages"));
    pg_sql(test, "UPDATE cascades SET status = 'COMPLETED'");
    expect_answer("f", test, call, "e");
    assert_int_equal(3, pg_number(test, "SELECT count(*) FROM"
                                        " cascade_messages"));
    assert_string_equal("P0002",
                        try_sql(test->admin, "SELECT cascade_signal("
                                             "gen_random_uuid(), 'go')"));
    assert_string_equal("P0002",
                        try_sql(test->admin, "SELECT cascade_signal(NULL,"
                                             " 'go')"));
}

/* ---- The same refusals --------------------------------------------------- */

typedef struct argument {
    const char *node;
    const char *key;
    const char *user_id;
    const char *queue;
    int priority;
    int64_t delay_ms;
    bool good;
} argument;

static void
add_text(char *sql, const char *name, const char *text)
{
    size_t len = strlen(sql);

    if (text == NULL)
        return;
    snprintf(sql + len, SQL_SIZE - len, "%s%s => '%s'",
             sql[len - 1] == '(' ? "" : ", ", name, text);
}

static void
expect_argument(pg_test *test, const argument *a)
{
    cascade_start_options options = {.size = sizeof(options),
                                     .key = a->key,
                                     .user_id = a->user_id,
                                     .queue = a->queue,
                                     .priority = a->priority,
                                     .delay_ms = a->delay_ms};
    cascade_started started;
    char sql[SQL_SIZE] = "SELECT cascade_start(";
    size_t len;

    clear(test);
    add_text(sql, "node", a->node);
    add_text(sql, "key", a->key);
    add_text(sql, "user_id", a->user_id);
    add_text(sql, "queue", a->queue);
    len = strlen(sql);
    snprintf(sql + len, sizeof(sql) - len,
             ", priority => %d, delay_ms => %lld)", a->priority,
             (long long)a->delay_ms);
    assert_fails(
        a->good ? CASCADE_OK : CASCADE_ERR_INVALID,
        cascade_start(test->handles[0], a->node, NULL, &options, &started));
    clear(test);
    if (strcmp(try_sql(test->admin, sql), a->good ? "" : "22023") != 0)
        fail_msg("%s: %s", sql, PQerrorMessage(test->admin));
}

static void
arguments_are_checked_as_the_library_does(void **state)
{
    char name[130];
    char text[257];
    char wide[260];
    const argument arguments[] = {
        {.node = "n", .good = true},
        {.node = ""},
        {.node = name + 1, .good = true}, /* 128 */
        {.node = name},
        {.node = "a b"},
        {.node = "a\n"},
        {.node = "\xc3\xa9"},
        {.node = "cascade.x"},
        {.node = "cascade.", .key = "k"},
        {.node = "cascade", .good = true},
        {.node = "Cascade.x", .good = true},
        {.node = "n", .queue = "q!"},
        {.node = "n", .queue = "cascade.q"},
        {.node = "n", .queue = ""},
        {.node = "n", .key = ""},
        {.node = "n", .key = text + 1, .good = true}, /* 255 */
        {.node = "n", .key = text},
        {.node = "n", .key = wide},
        {.node = "n", .user_id = text + 1, .good = true},
        {.node = "n", .user_id = text},
        {.node = "n", .user_id = ""},
        {.node = "n", .user_id = " ", .good = true},
        {.node = "n", .key = "a\tb"},
        {.node = "n", .key = "a\x7f"},
        {.node = "n", .key = "a\xc2\x80"},
        {.node = "n", .key = "a\xc2\x9f"},
        {.node = "n", .key = "a\xc2\xa0", .good = true},
        {.node = "n", .key = "\xf0\x9f\x98\x80", .good = true},
        {.node = "n", .priority = -1},
        {.node = "n", .priority = 10},
        {.node = "n", .priority = 9, .good = true},
        {.node = "n", .delay_ms = -1},
        {.node = "n", .delay_ms = INT64_C(3153600000001)},
        {.node = "n", .delay_ms = INT64_MAX},
        {.node = "n", .delay_ms = INT64_C(3153600000000), .good = true}};
    pg_test *test = *state;

    memset(name, 'x', sizeof(name));
    name[129] = '\0';
    memset(text, 'x', sizeof(text));
    text[256] = '\0';
    for (int i = 0; i < 128; i++)
        memcpy(wide + 2 * i, "\xc3\xa9", 2); /* 256 bytes, 128 characters */
    wide[256] = '\0';
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
        expect_argument(test, &arguments[i]);
    assert_string_equal("22023",
                        try_sql(test->admin, "SELECT cascade_start(NULL)"));
    pg_sql(test, "SELECT cascade_start('n', key => 'k')");
    assert_string_equal(
        "22023", try_sql(test->admin, "SELECT cascade_signal((SELECT max(id"
                                      "::text)::uuid FROM cascades), 'a b')"));
    assert_string_equal("22023", try_sql(test->admin,
                                         "SELECT cascade_signal((SELECT max(id"
                                         "::text)::uuid FROM cascades), 'a',"
                                         " NULL, '')"));
}

/* The text of an input, made by a term of SQL, goes both ways. */
static void
expect_input(pg_test *test, const char *term, bool good)
{
    char *input = pg_text(test, "SELECT %s", term);
    cascade_first first = {
        .size = sizeof(first), .node = "n", .input_text = input};
    cascade_start_spec spec = {
        .size = sizeof(spec), .first = &first, .first_count = 1};
    cascade_started started;
    char sql[SQL_SIZE];
    cascade_err err = cascade_start_many(test->handles[0], &spec, 1, &started);

    if ((err == CASCADE_OK) != good)
        fail_msg("%s: the library: %s", term, cascade_err_name(err));
    snprintf(sql, sizeof(sql), "SELECT cascade_start('n', (%s)::jsonb)", term);
    if (strcmp(try_sql(test->admin, sql), good ? "" : "22023") != 0)
        fail_msg("%s: the function: %s", term, PQerrorMessage(test->admin));
    snprintf(sql, sizeof(sql),
             "SELECT cascade_signal((SELECT id FROM cascades LIMIT 1), 'n',"
             " (%s)::jsonb)",
             term);
    if (strcmp(try_sql(test->admin, sql), good ? "" : "22023") != 0)
        fail_msg("%s: the signal: %s", term, PQerrorMessage(test->admin));
    free(input);
}

static void
payloads_are_bounded_as_the_library_does(void **state)
{
    static const struct {
        const char *expression;
        bool good;
    } inputs[] = {
        {"repeat('[', 128) || repeat(']', 128)", true},
        {"repeat('[', 129) || repeat(']', 129)", false},
        {"repeat('[', 128) || '1,\"x\",null' || repeat(']', 128)", true},
        {"repeat('{\"a\":', 128) || '1' || repeat('}', 128)", true},
        {"repeat('{\"a\":', 128) || '{}' || repeat('}', 128)", false},
        {"repeat('{\"a\":[', 64) || '[]' || repeat(']}', 64)", false},
        {"repeat('[', 2000) || repeat(']', 2000)", false},
        {"'[[[1]], ' || repeat('[', 127) || repeat(']', 127) || ']'", true},
        {"'[[[1]], ' || repeat('[', 128) || repeat(']', 128) || ']'", false},
        {"'1' || repeat('0', 399)", true},
        {"'1' || repeat('0', 400)", false},
        {"'-1' || repeat('0', 398) || '.5'", true},
        {"'-1' || repeat('0', 399) || '.5'", false},
        {"'0.' || repeat('1', 399)", true},
        {"'0.' || repeat('1', 400)", false},
        {"repeat('1', 200) || '.' || repeat('1', 200)", true},
        {"repeat('1', 201) || '.' || repeat('1', 200)", false},
        {"'1e399'", true},
        {"'1e400'", false},
        {"'1e-399'", true},
        {"'1e-400'", false},
        {"'{\"a\": [1, {\"b\": 1e400}]}'", false},
        {"'{\"' || repeat('1', 500) || '\": \"' || repeat('7', 500) || '\"}'",
         true},
        {"'[\"' || repeat('7', 500) || '\", 1e400]'", false},
        {"'\"' || repeat('x', 1048574) || '\"'", true},
        {"'\"' || repeat('x', 1048575) || '\"'", false},
        {"'{}'", true},
        {"'null'", true},
        {"'\"\"'", true},
    };
    pg_test *test = *state;

    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        expect_input(test, inputs[i].expression, inputs[i].good);
}

/* ---- In somebody's transaction ------------------------------------------- */

static void
a_trigger_starts_with_the_transaction(void **state)
{
    pg_test *test = *state;

    pg_sql(test,
           "CREATE TABLE orders (id int);"
           "CREATE FUNCTION ship() RETURNS trigger LANGUAGE plpgsql AS"
           " 'BEGIN PERFORM %s.cascade_start(''ship'', to_jsonb(NEW),"
           " key => ''order-'' || NEW.id); RETURN NULL; END';"
           "CREATE TRIGGER ship AFTER INSERT ON orders"
           " FOR EACH ROW EXECUTE FUNCTION ship()",
           test->schema);
    pg_sql(test, "BEGIN; INSERT INTO orders VALUES (1), (2)");
    assert_int_equal(2, pg_number(test, "SELECT count(*) FROM cascade_runs"));
    pg_sql(test, "ROLLBACK");
    assert_int_equal(0, pg_number(test, "SELECT count(*) FROM cascades"));
    assert_int_equal(0,
                     pg_number(test, "SELECT count(*) FROM node_executions"));
    pg_sql(test, "INSERT INTO orders VALUES (1), (2), (1)");
    assert_int_equal(2, pg_number(test, "SELECT count(*) FROM cascades"));
    expect_text(test,
                "SELECT string_agg(input_context::text, ',' ORDER BY"
                " input_context) FROM node_executions",
                "{\"id\": 1},{\"id\": 2}");
}

/* Whatever the caller's tables, path and settings are. */
static void
only_the_tables_of_the_schema_are_meant(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "CREATE TEMP TABLE cascades (id int);"
                 "CREATE TEMP TABLE cascade_keys (id int);"
                 "CREATE TEMP TABLE cascade_runs (id int);"
                 "CREATE TEMP TABLE cascade_messages (id int);"
                 "CREATE TEMP TABLE node_executions (id int);"
                 "SET search_path = pg_temp;"
                 "SET standard_conforming_strings = off;"
                 "SET escape_string_warning = off");
    pg_sql(test, "SELECT %s.cascade_start('n', key => 'k')", test->schema);
    expect_answer("t", test,
                  "SELECT %s.cascade_signal(%s.cascade_key_id('anonymous',"
                  " 'k', 1), 'go')",
                  test->schema, test->schema);
    assert_int_equal(
        1, pg_number(test, "SELECT count(*) FROM %s.cascades", test->schema));
    pg_sql(test, "SET search_path = %s", test->schema);
}

/* By hand, since the library takes none that has to be quoted so. */
static void
expect_functions_in(pg_test *test, const char *name)
{
    char *quoted = pg_text(test, "SELECT quote_ident('%s')", name);

    pg_sql(test, "CREATE SCHEMA %s", quoted);
    pg_sql(test, "SET search_path = %s; SET client_min_messages = error",
           quoted);
    for (size_t i = 0; i < csc_migrations_postgres_count; i++)
        pg_sql(test, "%s", csc_migrations_postgres[i].sql);
    pg_sql(test, "SET search_path = %s", test->schema);
    pg_sql(test, "SELECT %s.cascade_start('n', key => 'k')", quoted);
    expect_answer("t", test,
                  "SELECT %s.cascade_signal(%s.cascade_key_id('anonymous',"
                  " 'k', 1), 'go')",
                  quoted, quoted);
    pg_sql(test, "SELECT %s.cascade_wake()", quoted);
    assert_int_equal(1, pg_number(test,
                                  "SELECT count(*) FROM %s.cascades AS c"
                                  " JOIN %s.cascade_messages AS m"
                                  " ON m.cascade_id = c.id",
                                  quoted, quoted));
    pg_sql(test, "DROP SCHEMA %s CASCADE", quoted);
    free(quoted);
}

/* What stands for the schema in the file may be part of its name. */
static void
a_schema_may_have_any_name(void **state)
{
    static const char *const ends[] = {"_cascade_here", "_cascade_channel_here",
                                       "$function$", " cascade_here.cascade",
                                       "\" $function$ AS '' %"};
    pg_test *test = *state;

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char name[80];

        snprintf(name, sizeof(name), "%.32s%s", test->schema, ends[i]);
        expect_functions_in(test, name);
    }
}

/* Better matches than PostgreSQL's own, made by one who may create in the
 * schema, would run with the rights of whoever calls. */
static void
nothing_of_the_schema_is_taken_for_an_operator(void **state)
{
    static const char *const makes[] = {
        "CREATE FUNCTION evil(uuid, text) RETURNS text LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'evil'; END $$",
        "CREATE FUNCTION jsonb_path_exists(jsonb, text) RETURNS boolean"
        " LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil'; END $$",
        "CREATE FUNCTION starts_with(text, varchar) RETURNS boolean"
        " LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil'; END $$",
        "CREATE OPERATOR || (LEFTARG = uuid, RIGHTARG = text,"
        " FUNCTION = evil)"};
    pg_test *test = *state;

    for (size_t i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
        pg_sql(test, "%s", makes[i]);
        assert_string_equal("", try_sql(test->admin, "SELECT cascade_start("
                                                     "'n', '{}', key => 'k')"));
        assert_string_equal("", try_sql(test->admin,
                                        "SELECT cascade_signal("
                                        "cascade_key_id('anonymous', 'k', 1),"
                                        " 'go', '{}')"));
    }
    expect_text(test,
                "SELECT count(*)::text FROM pg_proc WHERE pronamespace ="
                " current_schema()::regnamespace AND proname LIKE 'cascade\\_%'"
                " AND (proconfig <> ARRAY['search_path=pg_catalog, pg_temp']"
                " OR proconfig IS NULL OR prosrc LIKE '%cascade\\_here%'"
                " OR prosrc LIKE '%channel%')",
                "0");
}

/* The channel is the one that engines listen to. */
static void
a_wake_from_sql_reaches_those_who_wait(void **state)
{
    pg_test *test = *state;
    cascade_store *store = pg_open(test, NULL, NULL);
    cascade_waited result = {0};
    int64_t end_ms = 0;

    while (!result.listening && in_time(&end_ms, PG_UNTIL_MS))
        assert_ok(store->driver->wait(store->self, -1, 1000, &result));
    assert_ok(store->driver->wait(store->self, -1, 1, &result));
    assert_true(result.listening && !result.woken);
    assert_string_equal("", try_sql(test->admin, "SELECT cascade_wake()"));
    assert_ok(store->driver->wait(store->self, -1, PG_UNTIL_MS, &result));
    assert_true(result.woken);
}

/* A loop of those, of whatever made it, must end. */
static void
a_signal_does_not_go_round_for_ever(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "SELECT cascade_start('n', key => 'k')");
    pg_sql(test, "UPDATE cascades SET status = 'COMPLETED'");
    pg_sql(test, "UPDATE node_executions SET status = 'COMPLETED',"
                 " full_output = jsonb_build_object('continued_as',"
                 " cascade_id)");
    assert_string_equal("54000", try_sql(test->admin,
                                         "SET statement_timeout = 60000;"
                                         "SELECT cascade_signal(cascade_key_id("
                                         "'anonymous', 'k', 1), 'go')"));
    pg_sql(test, "RESET statement_timeout");
}

/* Rights are the caller's. */
static void
they_give_nobody_more_rights(void **state)
{
    pg_test *test = *state;

    pg_make_role(test);
    pg_sql(test, "REVOKE INSERT ON cascade_runs FROM %s", test->role);
    pg_sql(test, "SET ROLE %s", test->role);
    assert_string_equal("42501",
                        try_sql(test->admin, "SELECT cascade_start('n')"));
    pg_sql(test, "RESET ROLE");
    pg_sql(test, "GRANT INSERT ON cascade_runs TO %s", test->role);
    pg_sql(test, "SET ROLE %s", test->role);
    pg_sql(test, "SELECT cascade_start('n', key => 'k')");
    pg_sql(test, "RESET ROLE");
}

/* ---- Two at once --------------------------------------------------------- */

typedef struct starter {
    pthread_t thread;
    PGconn *conn;         /* by the function, or */
    cascade_store *store; /* by the library */
    cascade_started started;
    cascade_err err;
    char sqlstate[6];
} starter;

static void
note_sqlstate(starter *s, const char *got)
{
    snprintf(s->sqlstate, sizeof(s->sqlstate), "%s", got == NULL ? "?" : got);
}

static void *
start_k(void *context)
{
    starter *s = context;
    PGresult *result;

    if (s->store != NULL) {
        s->err = cascade_start(s->store, "n", NULL, OPTIONS(.key = "k"),
                               &s->started);
        return NULL;
    }
    result = PQexec(s->conn, "SELECT cascade_start('n', key => 'k')");
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        s->err = cascade_uuid_parse(PQgetvalue(result, 0, 0), &s->started.id);
    else
        note_sqlstate(s, PQresultErrorField(result, PG_DIAG_SQLSTATE));
    PQclear(result);
    return NULL;
}

/* The admin starts; `other` waits for it; the admin ends so. What it says then
 * is `sqlstate`. */
static void
start_both(pg_test *test, starter *other, const char *end, const char *sqlstate)
{
    cascade_uuid id;

    clear(test);
    pg_sql(test, "BEGIN");
    id = sql_id(test, "SELECT cascade_start('n', key => 'k')");
    assert_int_equal(0, pthread_create(&other->thread, NULL, start_k, other));
    pg_until(test,
             "SELECT count(*) FROM pg_locks WHERE NOT granted AND"
             " pid = ANY (SELECT pid FROM pg_stat_activity"
             "  WHERE %d = ANY (pg_blocking_pids(pid)))",
             PQbackendPID(test->admin));
    pg_sql(test, "%s", end);
    pthread_join(other->thread, NULL);
    assert_string_equal(sqlstate, other->sqlstate);
    if (sqlstate[0] == '\0') {
        assert_int_equal(CASCADE_OK, other->err);
        assert_true(csc_uuid_equal(&id, &other->started.id));
        assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"));
        assert_int_equal(1, pg_number(test, "SELECT count(*) FROM"
                                            " node_executions"));
    }
}

static void
two_starts_at_once_make_one_cascade(void **state)
{
    pg_test *test = *state;
    starter library = {.store = test->handles[0]};
    starter function = {.conn = pg_connect(NULL)};
    char sql[128];

    snprintf(sql, sizeof(sql), "SET search_path = %s", test->schema);
    pg_run(function.conn, sql);
    start_both(test, &library, "COMMIT", "");
    assert_true(library.started.existed);
    start_both(test, &library, "ROLLBACK", "");
    assert_false(library.started.existed);
    start_both(test, &function, "COMMIT", "");
    start_both(test, &function, "ROLLBACK", "");
    pg_run(function.conn, "SET default_transaction_isolation ="
                          " 'repeatable read'");
    start_both(test, &function, "COMMIT", "40001");
    PQfinish(function.conn);
}

/* ---- What they write runs ------------------------------------------------ */

static cascade_err
await_twice(cascade_node *node, void *user)
{
    cJSON *payload = NULL;
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "go", -1, &payload);
    if (err != CASCADE_OK)
        return err;
    return cascade_node_output(node, payload);
}

/* The first run goes on as another, which waits. */
static cascade_err
go_on(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_continue_as_new(node, "await", NULL);
}

static cascade_engine *
run_engine(pg_test *test)
{
    const cascade_engine_options fast = {
        .size = sizeof(fast), .worker_count = 2, .poll_interval_ms = 50};
    cascade_engine *engine = NULL;

    assert_ok(cascade_engine_open(test->handles[0], &fast, &engine));
    assert_ok(
        cascade_engine_register(engine, "await", await_twice, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "go-on", go_on, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static void
expect_sound(pg_test *test)
{
    cascade_check_report report = {.size = sizeof(report)};

    assert_ok(cascade_verify(test->handles[0], NULL, &report));
    assert_true(report.cascades > 0);
    assert_true(sound_all(test->handles[0])); /* names what it finds */
    assert_int_equal(0, report.findings);
}

static void
what_they_write_runs_and_is_sound(void **state)
{
    pg_test *test = *state;
    cascade_store *store = test->handles[0];
    cascade_uuid id =
        sql_id(test, "SELECT cascade_start('await',"
                     " '{\"a\": 1}', 'k', 'u', 'default', 3, 50)");
    cascade_engine *engine = NULL;
    cascade_status status = 0;
    char text[CASCADE_UUID_TEXT_SIZE];

    cascade_uuid_format(&id, text);
    expect_sound(test);
    pg_sql(test, "SELECT cascade_signal('%s', 'go', NULL, 'r1')", text);
    engine = run_engine(test);
    pg_until(test,
             "SELECT count(*) FROM node_executions WHERE node_instance_id ="
             " '%s/message/signal/r1' AND status = 'COMPLETED'",
             text);
    expect_answer("f", test, "SELECT cascade_signal('%s', 'go', NULL, 'r1')",
                  text);
    pg_sql(test, "SELECT cascade_signal('%s', 'go', '{\"b\": 2}', 'r2')", text);
    assert_ok(cascade_wait(store, &id, PG_UNTIL_MS, &status));
    expect_text(test,
                "SELECT coalesce(string_agg(error, ';'), '') FROM"
                " node_executions",
                "");
    assert_int_equal(CASCADE_COMPLETED, status);
    expect_text(test,
                "SELECT full_output -> 'output' FROM node_executions"
                " WHERE function_id = 0",
                "{\"b\": 2}");
    expect_answer("f", test, "SELECT cascade_signal('%s', 'go', NULL, 'r3')",
                  text);
    assert_ok(cascade_engine_close(engine));
    expect_sound(test);
}

/* The run that the id names has ended, the next one goes on. */
static void
a_signal_follows_a_run_that_went_on(void **state)
{
    pg_test *test = *state;
    cascade_uuid id = sql_id(test, "SELECT cascade_start('go-on')");
    cascade_engine *engine = run_engine(test);
    char text[CASCADE_UUID_TEXT_SIZE];

    cascade_uuid_format(&id, text);
    pg_until(test, "SELECT count(*) - 1 FROM cascades");
    expect_answer("t", test, "SELECT cascade_signal('%s', 'go')", text);
    expect_answer("t", test, "SELECT cascade_signal('%s', 'go')", text);
    pg_until(test, "SELECT (count(*) = 0)::int FROM cascade_runs");
    expect_answer("f", test, "SELECT cascade_signal('%s', 'go')", text);
    assert_ok(cascade_engine_close(engine));
    expect_sound(test);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST(a_start_writes_what_the_library_writes),
        PG_TEST(runs_of_a_key_are_counted_as_the_library_counts),
        PG_TEST(what_is_marked_counts_as_deleted),
        PG_TEST(ids_of_keys_are_those_of_the_library),
        PG_TEST(a_signal_writes_what_the_library_writes),
        PG_TEST(a_request_is_known_by_the_run_that_was_started),
        PG_TEST(what_is_gone_leads_to_the_last_run),
        PG_TEST(a_signal_tells_what_became_of_it),
        PG_TEST(arguments_are_checked_as_the_library_does),
        PG_TEST(payloads_are_bounded_as_the_library_does),
        PG_TEST(a_trigger_starts_with_the_transaction),
        PG_TEST(only_the_tables_of_the_schema_are_meant),
        PG_TEST(a_schema_may_have_any_name),
        PG_TEST(nothing_of_the_schema_is_taken_for_an_operator),
        PG_TEST(a_wake_from_sql_reaches_those_who_wait),
        PG_TEST(a_signal_does_not_go_round_for_ever),
        PG_TEST(they_give_nobody_more_rights),
        PG_TEST(two_starts_at_once_make_one_cascade),
        PG_TEST(what_they_write_runs_and_is_sound),
        PG_TEST(a_signal_follows_a_run_that_went_on),
    };

    return pg_main("postgres: functions for SQL", tests,
                   sizeof(tests) / sizeof(tests[0]), argc, argv);
}
