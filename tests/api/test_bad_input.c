/* SPDX-License-Identifier: MIT
 *
 * Bad input (G13) is refused at the call, alike on every store, with an error
 * that says what is wrong and repeats nothing of it; and nothing is written.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/stores.h"

#define MARKER "s3cret"

/* ---- What is refused ----------------------------------------------------- */

typedef struct bad_payload {
    const char *text;
    cascade_err err;
} bad_payload;

/* One of each kind; every rule and limit of the gate is swept in its own
 * tests. Most carry the marker, which must not come back. */
static const bad_payload bad_payloads[] = {
    {"", CASCADE_ERR_JSON},
    {"{\"" MARKER "\":1", CASCADE_ERR_JSON},
    {"{\"" MARKER "\":1}x", CASCADE_ERR_JSON},
    {"{\"" MARKER "\":1,\"" MARKER "\":2}", CASCADE_ERR_JSON},
    {"[\"" MARKER "\xff\"]", CASCADE_ERR_JSON},
    {"[\"" MARKER "\\u0000\"]", CASCADE_ERR_JSON},
    {"[\"" MARKER "\\ud800\"]", CASCADE_ERR_JSON},
    {"[\"" MARKER "\n\"]", CASCADE_ERR_JSON},
    {"['" MARKER "']", CASCADE_ERR_JSON},
    {"[" MARKER "]", CASCADE_ERR_JSON},
    {"[01]", CASCADE_ERR_JSON},
    {"[1,]", CASCADE_ERR_JSON},
    {"[NaN]", CASCADE_ERR_JSON},
    {"[1e131071]", CASCADE_ERR_JSON},
    {"[1e-131071]", CASCADE_ERR_JSON},
};

#define BAD_PAYLOADS (sizeof(bad_payloads) / sizeof(bad_payloads[0]))

static void
assert_says_nothing(void)
{
    assert_null(strstr(cascade_errmsg(), MARKER));
}

static size_t
count_cascades(cascade_store *store)
{
    cascade_page *page = NULL;
    size_t count = 0;

    assert_ok(cascade_list(store, NULL, &page));
    count = cascade_page_count(page);
    cascade_page_free(page);
    return count;
}

/* A start with what is given, and with nothing bad beside it. */
static cascade_err
try_start(cascade_store *store, const char *node, const char *input,
          const cascade_start_options *options)
{
    const cascade_first firsts[] = {
        {.size = sizeof(firsts[0]), .node = "fine"},
        {.size = sizeof(firsts[0]), .node = node, .input_text = input}};
    const cascade_first fine = {.size = sizeof(fine), .node = "fine"};
    const cascade_start_spec specs[] = {
        {.size = sizeof(specs[0]), .first = &fine, .first_count = 1},
        {.size = sizeof(specs[0]),
         .first = firsts,
         .first_count = 2,
         .options = options}};
    cascade_started started[2];
    cascade_started untouched[2];
    cascade_err err = CASCADE_OK;

    memset(started, 0x5a, sizeof(started));
    memcpy(untouched, started, sizeof(started));
    err = cascade_start_many(store, specs, 2, started);
    if (err != CASCADE_OK) {
        assert_string_not_equal("", cascade_errmsg());
        assert_says_nothing();
        assert_memory_equal(untouched, started, sizeof(started));
        assert_int_equal(0, count_cascades(store));
    }
    return err;
}

static void
payloads_that_the_gate_refuses(test_db *db)
{
    cascade_store *store = db_store(db);

    for (size_t i = 0; i < BAD_PAYLOADS; i++) {
        cascade_err err = try_start(store, "n", bad_payloads[i].text, NULL);

        if (err != bad_payloads[i].err)
            fail_msg("%s is %s", bad_payloads[i].text, cascade_err_name(err));
    }
    assert_int_equal(0, db->warnings);
}

/* An array of `depth` arrays; a string of `bytes` bytes with its quotes. */
static char *
nested(size_t depth)
{
    char *text = calloc(2 * depth + 1, 1);

    assert_non_null(text);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    return text;
}

static char *
filled(size_t bytes, char quote)
{
    char *text = calloc(bytes + 1, 1);

    assert_non_null(text);
    memset(text, 'x', bytes);
    if (quote != '\0') {
        text[0] = quote;
        text[bytes - 1] = quote;
    }
    return text;
}

static void
expect_payload(cascade_store *store, char *text, cascade_err wanted)
{
    cascade_started started;
    const cascade_first first = {
        .size = sizeof(first), .node = "n", .input_text = text};
    const cascade_start_spec spec = {
        .size = sizeof(spec), .first = &first, .first_count = 1};
    cascade_err err = cascade_start_many(store, &spec, 1, &started);

    free(text);
    assert_int_equal(wanted, err);
}

static void
payloads_at_the_limits_of_size_and_depth(test_db *db)
{
    cascade_store *store = db_store(db);
    const size_t max = 1024 * 1024;

    expect_payload(store, nested(127), CASCADE_OK);
    expect_payload(store, nested(128), CASCADE_OK);
    expect_payload(store, nested(129), CASCADE_ERR_JSON);
    expect_payload(store, filled(max - 1, '"'), CASCADE_OK);
    expect_payload(store, filled(max, '"'), CASCADE_OK);
    expect_payload(store, filled(max + 1, '"'), CASCADE_ERR_TOO_LARGE);
    assert_int_equal(4, count_cascades(store));
}

/* Trees of cJSON that no text could be: taken, refused, freed. */
static void
trees_that_are_no_json(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_started started;
    cJSON *trees[] = {cJSON_CreateNumber((double)NAN),
                      cJSON_CreateNumber((double)INFINITY),
                      cJSON_CreateRaw("{\"" MARKER "\":"),
                      cJSON_CreateString("\xc3\x28"),
                      cJSON_CreateObject(),
                      cJSON_CreateStringReference(NULL)};

    cJSON_AddTrueToObject(trees[4], MARKER);
    cJSON_AddTrueToObject(trees[4], MARKER);
    for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
        assert_fails(CASCADE_ERR_JSON,
                     cascade_start(store, "n", trees[i], NULL, &started));
        assert_says_nothing();
    }
    assert_int_equal(0, count_cascades(store));
}

/* ---- Names --------------------------------------------------------------- */

typedef cascade_err (*name_user)(cascade_store *store, const char *text);

static cascade_err
as_node(cascade_store *store, const char *text)
{
    return try_start(store, text, NULL, NULL);
}

static cascade_err
as_queue(cascade_store *store, const char *text)
{
    const cascade_start_options o = {.size = sizeof(o), .queue = text};

    return try_start(store, "n", NULL, &o);
}

static cascade_err
as_served_queue(cascade_store *store, const char *text)
{
    const cascade_engine_options o = {
        .size = sizeof(o), .queues = &text, .queue_count = 1};
    cascade_engine *engine = NULL;
    cascade_err err = cascade_engine_open(store, &o, &engine);

    if (err != CASCADE_OK)
        return err;
    return cascade_engine_close(engine);
}

static cascade_err
do_nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
as_registered(cascade_store *store, const char *text)
{
    cascade_engine *engine = NULL;
    cascade_err err = CASCADE_OK;

    assert_ok(cascade_engine_open(store, NULL, &engine));
    err = cascade_engine_register(engine, text, do_nothing, NULL, NULL);
    if (err != CASCADE_OK)
        assert_string_not_equal("", cascade_errmsg());
    assert_int_equal(CASCADE_OK, cascade_engine_close(engine));
    return err;
}

static cascade_err
as_user(cascade_store *store, const char *text)
{
    const cascade_start_options o = {.size = sizeof(o), .user_id = text};

    return try_start(store, "n", NULL, &o);
}

static cascade_err
as_key(cascade_store *store, const char *text)
{
    const cascade_start_options o = {.size = sizeof(o), .key = text};

    return try_start(store, "n", NULL, &o);
}

static void
expect_name(cascade_store *store, name_user use, const char *text,
            cascade_err wanted)
{
    cascade_err err = use(store, text);

    if (err != wanted)
        fail_msg("\"%.40s\" (%zu bytes) is %s", text, strlen(text),
                 cascade_err_name(err));
    assert_says_nothing();
}

static void
expect_length(cascade_store *store, name_user use, size_t bytes,
              cascade_err wanted)
{
    char *text = filled(bytes, '\0');

    expect_name(store, use, text, wanted);
    free(text);
}

static void
names_out_of_their_rules(test_db *db)
{
    static const name_user uses[] = {as_node, as_queue, as_served_queue,
                                     as_registered};
    static const char *const bad[] = {"",
                                      MARKER " ",
                                      MARKER "/x",
                                      "cascade.",
                                      MARKER ";",
                                      "\xc3\xa9",
                                      "cascade.step:" MARKER,
                                      MARKER "\n"};
    cascade_store *store = db_store(db);

    for (size_t use = 0; use < sizeof(uses) / sizeof(uses[0]); use++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            expect_name(store, uses[use], bad[i], CASCADE_ERR_INVALID);
        expect_length(store, uses[use], 129, CASCADE_ERR_INVALID);
    }
}

static void
user_ids_and_keys_out_of_their_rules(test_db *db)
{
    static const name_user uses[] = {as_user, as_key};
    static const char *const bad[] = {"", MARKER "\n", "\x7f" MARKER,
                                      MARKER "\xff", MARKER "\xc2\x85"};
    cascade_store *store = db_store(db);

    for (size_t use = 0; use < sizeof(uses) / sizeof(uses[0]); use++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
            expect_name(store, uses[use], bad[i], CASCADE_ERR_INVALID);
        expect_length(store, uses[use], 256, CASCADE_ERR_INVALID);
    }
}

/* L - 1 and L are good everywhere; so are the characters at the edges. */
static void
names_at_their_limits_are_good(test_db *db)
{
    static const name_user names[] = {as_node, as_queue, as_served_queue,
                                      as_registered};
    static const name_user texts[] = {as_user, as_key};
    cascade_store *store = db_store(db);

    for (size_t use = 0; use < sizeof(names) / sizeof(names[0]); use++) {
        expect_length(store, names[use], 127, CASCADE_OK);
        expect_length(store, names[use], 128, CASCADE_OK);
        expect_name(store, names[use], "cascade", CASCADE_OK);
        expect_name(store, names[use], "azAZ09._:-", CASCADE_OK);
    }
    for (size_t use = 0; use < sizeof(texts) / sizeof(texts[0]); use++) {
        expect_length(store, texts[use], 254, CASCADE_OK);
        expect_length(store, texts[use], 255, CASCADE_OK);
        expect_name(store, texts[use], "' OR 1=1; -- \xf0\x9f\x8c\x8a",
                    CASCADE_OK);
    }
}

/* ---- The rest ------------------------------------------------------------ */

static void
options_of_a_start_out_of_range(test_db *db)
{
    const cascade_uuid id = {{1}};
    const cascade_start_options bad[] = {
        {.size = sizeof(bad[0]), .priority = -1},
        {.size = sizeof(bad[0]), .priority = 10},
        {.size = sizeof(bad[0]), .delay_ms = -1},
        {.size = sizeof(bad[0]), .delay_ms = INT64_MAX},
        {.size = sizeof(bad[0]), .key = "k", .id = &id},
        {.size = sizeof(bad[0]), .deadline_ms = -1},
        {.size = sizeof(bad[0]), .deadline_ms = INT64_MAX},
        {.size = sizeof(bad[0]), .deadline_ms = 5, .delay_ms = 5},
    };
    cascade_store *store = db_store(db);

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(CASCADE_ERR_INVALID,
                         try_start(store, "n", NULL, &bad[i]));
}

static void
numbers_of_cascades_and_first_nodes(test_db *db)
{
    static cascade_first firsts[1001];
    static cascade_start_spec specs[10001];
    static cascade_started started[10001];
    cascade_store *store = db_store(db);
    cascade_start_spec spec = {.size = sizeof(spec), .first = firsts};

    for (size_t i = 0; i < 1001; i++)
        firsts[i] = (cascade_first){.size = sizeof(firsts[i]), .node = "n"};
    for (size_t i = 0; i < 10001; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = firsts,
                                        .first_count = 1};
    assert_true(cascade_start_many(store, &spec, 1, started) != CASCADE_OK);
    spec.first_count = 1001;
    assert_true(cascade_start_many(store, &spec, 1, started) != CASCADE_OK);
    assert_true(cascade_start_many(store, specs, 0, started) != CASCADE_OK);
    assert_true(cascade_start_many(store, specs, 10001, started) != CASCADE_OK);
    assert_int_equal(0, count_cascades(store));
    spec.first_count = 1000;
    assert_ok(cascade_start_many(store, &spec, 1, started));
}

static void
a_name_registered_twice(test_db *db)
{
    cascade_engine *engine = db_engine(db, db_store(db), NULL);
    int user = 0;

    assert_ok(cascade_engine_register(engine, "n", do_nothing, NULL, NULL));
    assert_fails(CASCADE_ERR_EXISTS,
                 cascade_engine_register(engine, "n", do_nothing, &user, NULL));
    assert_ok(cascade_engine_register(engine, "N", do_nothing, NULL, NULL));
}

static void
malformed_uuids(test_db *db)
{
    static const char *const bad[] = {
        "",
        MARKER,
        "01a1fb1a-df26-7e6e-85b0-78a7a9d40ab",
        "01a1fb1a-df26-7e6e-85b0-78a7a9d40abbb",
        "01a1fb1a-df26-7e6e-85b0-78a7a9d40abg",
        "01a1fb1adf26-7e6e-85b0-78a7a9d40abb0-",
        "01a1fb1adf267e6e85b078a7a9d40abb",
        "{01a1fb1a-df26-7e6e-85b0-78a7a9d40abb}",
        " 01a1fb1a-df26-7e6e-85b0-78a7a9d40abb",
        "+1a1fb1a-df26-7e6e-85b0-78a7a9d40abb",
    };
    cascade_uuid id = {{7}};

    (void)db;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (cascade_uuid_parse(bad[i], &id) != CASCADE_ERR_INVALID)
            fail_msg("\"%s\" is accepted", bad[i]);
        assert_says_nothing();
        assert_int_equal(7, id.bytes[0]);
    }
}

/* What a node puts, spawns and gives out is refused in the node, and a node
 * that ignores that has lost nothing but what was bad. */
static cascade_err
misuse(cascade_node *node, void *user)
{
    char *long_key = filled(256, '\0');

    (void)user;
    for (size_t i = 0; i < BAD_PAYLOADS; i++) {
        expect(cascade_node_put_text(node, "k", bad_payloads[i].text, NULL) ==
               bad_payloads[i].err);
        expect(cascade_node_put_text(node, "k", "1", bad_payloads[i].text) ==
               bad_payloads[i].err);
        expect(strstr(cascade_errmsg(), MARKER) == NULL);
    }
    expect(cascade_node_put_text(node, long_key, "1", NULL) ==
           CASCADE_ERR_INVALID);
    long_key[255] = '\0';
    expect(cascade_node_put_text(node, long_key, "1", NULL) == CASCADE_OK);
    expect(cascade_node_put(node, "", cJSON_CreateTrue()) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_put(node, "k", cJSON_CreateNumber((double)NAN)) ==
           CASCADE_ERR_JSON);
    expect(cascade_node_output(node, cJSON_CreateRaw(MARKER)) ==
           CASCADE_ERR_JSON);
    expect(cascade_node_spawn(node, "cascade.x", cJSON_CreateTrue(), NULL) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_spawn(node, "n", cJSON_CreateRaw(MARKER), NULL) ==
           CASCADE_ERR_JSON);
    expect(strstr(cascade_errmsg(), MARKER) == NULL);
    expect(cascade_node_spawned(node) == 0);
    free(long_key);
    return cascade_node_put_text(node, "k", "2", NULL);
}

static void
what_a_node_puts_out_of_the_rules(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;

    assert_ok(cascade_engine_register(engine, "misuse", misuse, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "misuse");
    db_await(store, &id, CASCADE_COMPLETED);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    assert_int_equal(1, cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY));
    assert_memory_equal("{\"k\":[2],", cascade_snapshot_context(snapshot), 9);
    assert_null(cascade_snapshot_result(snapshot));
    cascade_snapshot_free(snapshot);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"payloads_that_the_gate_refuses", payloads_that_the_gate_refuses,
         STORES_ALL},
        {"payloads_at_the_limits_of_size_and_depth",
         payloads_at_the_limits_of_size_and_depth, STORES_ALL},
        {"trees_that_are_no_json", trees_that_are_no_json, STORES_ALL},
        {"names_out_of_their_rules", names_out_of_their_rules, STORES_ALL},
        {"user_ids_and_keys_out_of_their_rules",
         user_ids_and_keys_out_of_their_rules, STORES_ALL},
        {"names_at_their_limits_are_good", names_at_their_limits_are_good,
         STORES_ALL},
        {"options_of_a_start_out_of_range", options_of_a_start_out_of_range,
         STORES_ALL},
        {"numbers_of_cascades_and_first_nodes",
         numbers_of_cascades_and_first_nodes, STORES_ALL},
        {"a_name_registered_twice", a_name_registered_twice, STORES_ALL},
        {"malformed_uuids", malformed_uuids, STORES_ALL},
        {"what_a_node_puts_out_of_the_rules", what_a_node_puts_out_of_the_rules,
         STORES_ALL},
    };

    return stores_run("bad input", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
