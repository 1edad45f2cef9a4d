/* SPDX-License-Identifier: MIT
 *
 * Texts made to be taken for something else, through every public entry and on
 * every store: each comes back as it was given, is found by itself alone, and
 * nothing beside it has changed. What the stores make of such texts in rows of
 * their own is told in tests/store; what is no text at all is refused at the
 * call, see tests/api.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/stores.h"

/* All of them within the rules for user ids and keys. */
static const char *const hostile[] = {
    "'; DROP TABLE cascades; --",
    "\"; DROP TABLE cascades; --",
    "\\'; DROP TABLE cascades; --",
    "x'); DELETE FROM cascade_runs WHERE ('1'='1",
    "' UNION SELECT value FROM context_events --",
    "$$; TRUNCATE cascades; $$",
    "/* cascades */ -- \\",
    "E'\\000'",
    "$1 ? ?1 :a @a #",
    "%s%n%x%%",
    "{1,NULL,\"a\"}",
    "NULL",
    "\\x00 \\u0000",
    "' host=203.0.113.1 password='p",
    "../../etc/passwd",
    "\xe2\x80\xae\xf0\x9f\x8c\x8a\xef\xbf\xbf",
    "''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''"
    "''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''"
    "''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''''"
    "'''''''''''''''''''''''''''''''''''''''",
};

#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

/* ---- A node that hands on what it was given ------------------------------ */

static cascade_err
give_back(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    *result = cJSON_CreateString(arg);
    return CASCADE_OK;
}

/* As key, value, ui value, step's result, output, input of another, and, in
 * the first attempt, as the text of an error. */
static cascade_err
hand_on(cascade_node *node, void *user)
{
    const char *text = cascade_node_user_id(node);
    cJSON *input = cJSON_CreateObject();
    cascade_err err = CASCADE_OK;

    (void)user;
    cJSON_AddStringToObject(input, text, text);
    err = cascade_node_put_ui(node, text, cJSON_CreateString(text),
                              cJSON_CreateString(text));
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "s", give_back, (char *)(uintptr_t)text,
                                NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "take", input, NULL);
    else
        cJSON_Delete(input);
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "%s", text);
    return err;
}

static cascade_err
take(cascade_node *node, void *user)
{
    const char *text = cascade_node_user_id(node);
    const cJSON *value = NULL;

    (void)user;
    expect(cascade_node_get(node, text, &value) == CASCADE_OK &&
           strcmp(cJSON_GetStringValue(value), text) == 0);
    value = cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), text);
    expect(value != NULL && strcmp(cJSON_GetStringValue(value), text) == 0);
    return cascade_node_output(node, cJSON_CreateString(text));
}

static cascade_engine *
run_nodes(test_db *db, cascade_store *store)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .backoff_ms = 1};
    const cascade_engine_options places = {.size = sizeof(places),
                                           .location = hostile[0]};
    cascade_engine *engine = db_engine(db, store, &places);

    assert_ok(
        cascade_engine_register(engine, "hand_on", hand_on, NULL, &options));
    assert_ok(cascade_engine_register(engine, "take", take, NULL, &options));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* ---- Looking ------------------------------------------------------------- */

/* How many cascades there are of a user; of any for NULL. */
static size_t
count_of(cascade_store *store, const char *user_id)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .user_id = user_id};
    cascade_page *page = NULL;
    size_t count = 0;

    assert_ok(cascade_list(store, &options, &page));
    count = cascade_page_count(page);
    for (size_t i = 0; user_id != NULL && i < count; i++)
        assert_string_equal(user_id, cascade_page_get(page, i)->user_id);
    cascade_page_free(page);
    return count;
}

/* Everything that can be seen of a cascade; the caller frees it. */
static char *
picture(cascade_store *store, const cascade_uuid *id)
{
    cascade_snapshot *snapshot = NULL;
    const char *result = NULL;
    char *text = NULL;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    result = cascade_snapshot_result(snapshot);
    assert_true(asprintf(&text, "%zu %s %s",
                         cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                         cascade_snapshot_context(snapshot),
                         result == NULL ? "-" : result) > 0);
    cascade_snapshot_free(snapshot);
    return text;
}

static void
expect_result(cascade_store *store, const cascade_uuid *id, const char *text)
{
    cascade_snapshot *snapshot = NULL;
    cJSON *wanted = cJSON_CreateString(text);
    cJSON *result = NULL;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    result = cJSON_Parse(cascade_snapshot_result(snapshot));
    assert_true(cJSON_IsString(result));
    assert_string_equal(wanted->valuestring, result->valuestring);
    cJSON_Delete(wanted);
    cJSON_Delete(result);
    cascade_snapshot_free(snapshot);
}

static cascade_started
start_with(cascade_store *store, const char *text)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = text, .key = text};
    cascade_started started;

    assert_ok(cascade_start(store, "hand_on", cJSON_CreateString(text),
                            &options, &started));
    return started;
}

/* ---- Tests --------------------------------------------------------------- */

static void
texts_come_back_and_change_nothing_else(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_started bystander;
    char *before = NULL;
    char *after = NULL;

    run_nodes(db, store);
    bystander = start_with(store, "bystander");
    db_await(store, &bystander.id, CASCADE_COMPLETED);
    before = picture(store, &bystander.id);
    for (size_t i = 0; i < HOSTILE; i++) {
        cascade_started started = {.existed = true};

        assert_int_equal(0, count_of(store, hostile[i]));
        started = start_with(store, hostile[i]);
        assert_false(started.existed);
        db_await(store, &started.id, CASCADE_COMPLETED);
        expect_result(store, &started.id, hostile[i]);
        assert_true(start_with(store, hostile[i]).existed);
        assert_int_equal(1, count_of(store, hostile[i]));
        assert_int_equal(i + 2, count_of(store, NULL));
    }
    after = picture(store, &bystander.id);
    assert_string_equal(before, after);
    free(before);
    free(after);
    /* Of each, and of the bystander, the first attempt fails. */
    assert_int_equal(HOSTILE + 1, db->warnings);
}

/* The tables are what they were: the next one who opens them finds so. */
static void
the_schema_is_intact_afterwards(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = db_store(db);
    cascade_store *again = NULL;

    for (size_t i = 0; i < HOSTILE; i++) {
        const cascade_list_options list = {
            .size = sizeof(list), .user_id = hostile[i], .node = "n"};
        cascade_page *page = NULL;

        (void)start_with(store, hostile[i]);
        assert_ok(cascade_list(store, &list, &page));
        assert_int_equal(0, cascade_page_count(page));
        cascade_page_free(page);
    }
    options.migrate = CASCADE_MIGRATE_CHECK;
    assert_ok(cascade_store_open(db->url, &options, &again));
    assert_int_equal(strncmp(db->url, "memory:", 8) == 0 ? 0 : HOSTILE,
                     count_of(again, NULL));
    assert_ok(cascade_store_close(again));
}

/* Names of nodes and queues are of few characters; none of these is one. */
static void
names_are_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);

    for (size_t i = 0; i < HOSTILE; i++) {
        const cascade_start_options queue = {.size = sizeof(queue),
                                             .queue = hostile[i]};
        cascade_started started;

        if (strcmp(hostile[i], "NULL") == 0)
            continue; /* is one */
        assert_fails(CASCADE_ERR_INVALID,
                     cascade_start(store, hostile[i], NULL, NULL, &started));
        assert_fails(CASCADE_ERR_INVALID,
                     cascade_start(store, "n", NULL, &queue, &started));
        assert_fails(CASCADE_ERR_INVALID,
                     cascade_engine_register(engine, hostile[i], stores_nothing,
                                             NULL, NULL));
    }
    assert_int_equal(0, count_of(store, NULL));
}

/* What known faults of cJSON were shown with goes through our own reader. */
static void
payloads_that_hurt_cjson_do_no_harm(test_db *db)
{
    static const char *const refused[] = {"{\"1\":1,", "{\"1\":1,\n", "[\"",
                                          "{",         "[\"\\",       "-",
                                          "[1.",       "{\"a\":1e"};
    static const char long_number[] =
        "{\"a\":true,\"b\":[null,999999999999999999999999999999999999999999999"
        "9912345678901234567]}";
    cascade_store *store = db_store(db);
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *info = NULL;
    cascade_uuid id;

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const cascade_first first = {
            .size = sizeof(first), .node = "n", .input_text = refused[i]};
        const cascade_start_spec spec = {
            .size = sizeof(spec), .first = &first, .first_count = 1};
        cascade_started started;

        assert_fails(CASCADE_ERR_JSON,
                     cascade_start_many(store, &spec, 1, &started));
    }
    id = db_start_text(store, "n", long_number);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    info = cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, 0);
    assert_non_null(info);
    assert_string_equal(long_number, info->input);
    cascade_snapshot_free(snapshot);
}

/* The texts of a store's own options. */
static void
places_are_taken_literally(test_db *db)
{
    const bool server = strcmp(db->backend->name, "postgres") == 0;

    for (size_t i = 0; i < HOSTILE; i++) {
        cascade_store_options options = db_store_options(db);
        cascade_store *store = NULL;

        if (strlen(hostile[i]) > 63)
            continue;
        options.application_name = hostile[i];
        assert_ok(cascade_store_open(db->url, &options, &store));
        (void)db_start(store, "n");
        assert_ok(cascade_store_close(store));
        options.schema = hostile[i];
        if (!server || strcmp(hostile[i], "NULL") == 0)
            continue;
        assert_fails(CASCADE_ERR_INVALID,
                     cascade_store_open(db->url, &options, &store));
        assert_null(strstr(cascade_errmsg(), hostile[i]));
    }
}

/* Of a URL all that follows the scheme is a path, or a name. */
static void
urls_are_taken_literally(test_db *db)
{
    const cascade_store_options options = db_store_options(db);
    const bool file = strcmp(db->backend->name, "sqlite") == 0;

    for (size_t i = 0; i < HOSTILE; i++) {
        cascade_store *store = NULL;
        char path[800];
        char url[900];

        if (strchr(hostile[i], '/') != NULL)
            continue; /* other folders */
        snprintf(path, sizeof(path), "%s/%s?mode=ro", db->folder, hostile[i]);
        snprintf(url, sizeof(url), "%s%s",
                 file ? "sqlite:" : "memory:", file ? path : hostile[i]);
        if (strlen(hostile[i]) > 200 && file)
            continue; /* longer than a file's name may be */
        assert_ok(cascade_store_open(url, &options, &store));
        (void)db_start(store, "n");
        assert_int_equal(1, count_of(store, NULL));
        assert_ok(cascade_store_close(store));
        if (file)
            assert_int_equal(0, access(path, F_OK));
    }
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"texts_come_back_and_change_nothing_else",
         texts_come_back_and_change_nothing_else, STORES_ALL},
        {"the_schema_is_intact_afterwards", the_schema_is_intact_afterwards,
         STORES_ALL},
        {"names_are_refused", names_are_refused, STORES_ALL},
        {"payloads_that_hurt_cjson_do_no_harm",
         payloads_that_hurt_cjson_do_no_harm, STORES_ALL},
        {"places_are_taken_literally", places_are_taken_literally, STORES_ALL},
        {"urls_are_taken_literally", urls_are_taken_literally, STORES_VIRTUAL},
    };

    return stores_run("texts", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
