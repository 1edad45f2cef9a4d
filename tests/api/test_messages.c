/* SPDX-License-Identifier: MIT
 *
 * Signals and commands at the edge: a wrong argument is an error with a text,
 * sends nothing, starts nothing, leaves the outputs alone and frees what the
 * call takes (which the sanitizers watch); limits are kept to the byte; no text
 * tells a payload or a reason.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "support/dump.h"
#include "support/stores.h"

#define SECRET "hunter2"
#define NAME_MAX_LEN 128
#define TEXT_MAX_LEN 255
#define SMALL_PAYLOAD 1024
#define TAIL 32
#define INVALID CASCADE_ERR_INVALID

/* ---- What is sent ------------------------------------------------------- */

static cascade_uuid
start(cascade_store *store)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = "u", .key = "k"};
    cascade_started started;

    assert_ok(cascade_start(store, "waits", NULL, &options, &started));
    return started.id;
}

static size_t
messages_of(cascade_store *store, const cascade_uuid *id)
{
    dump_rows rows = {0};
    size_t count = 0;

    assert_ok(dump_rows_load(&rows, store->driver, store->self, id));
    assert_true(rows.found);
    count = rows.message_count;
    dump_rows_fini(&rows);
    return count;
}

static cJSON *
payload(void)
{
    cJSON *object = cJSON_CreateObject();

    assert_non_null(cJSON_AddStringToObject(object, "password", SECRET));
    return object;
}

static void
check_refused(cascade_err got, cascade_err wanted, const char *call, int line)
{
    stores_check(got, wanted, call, __FILE__, line);
    assert_null(strstr(cascade_errmsg(), SECRET));
}

#define refuses(wanted, call) check_refused((call), (wanted), #call, __LINE__)

/* ---- Wrong arguments ---------------------------------------------------- */

static void
signals_with_wrong_arguments(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = start(store);
    const cascade_uuid nobody = {{7}};
    const cascade_signal_options none = {.size = 0};
    const cascade_signal_options empty = {.size = sizeof(empty),
                                          .request_id = ""};

    refuses(INVALID, cascade_signal(NULL, &id, "news", payload(), NULL));
    refuses(INVALID, cascade_signal(store, NULL, "news", payload(), NULL));
    refuses(INVALID, cascade_signal(store, &id, NULL, payload(), NULL));
    refuses(INVALID, cascade_signal(store, &id, "", payload(), NULL));
    refuses(INVALID, cascade_signal(store, &id, "a b", payload(), NULL));
    refuses(INVALID, cascade_signal(store, &id, "cascade.x", payload(), NULL));
    refuses(INVALID, cascade_signal(store, &id, "news", payload(), &none));
    refuses(INVALID, cascade_signal(store, &id, "news", payload(), &empty));
    refuses(CASCADE_ERR_NOT_FOUND,
            cascade_signal(store, &nobody, "news", payload(), NULL));
    refuses(INVALID,
            cascade_signal_key(NULL, "u", "k", "news", payload(), NULL));
    refuses(INVALID,
            cascade_signal_key(store, "u", NULL, "news", payload(), NULL));
    refuses(INVALID,
            cascade_signal_key(store, "", "k", "news", payload(), NULL));
    refuses(INVALID,
            cascade_signal_key(store, "u", "k", NULL, payload(), NULL));
    refuses(INVALID,
            cascade_signal_key(store, "u", "k", "news", payload(), &none));
    refuses(CASCADE_ERR_NOT_FOUND,
            cascade_signal_key(store, NULL, "k", "news", payload(), NULL));
    assert_int_equal(messages_of(store, &id), 0);
    assert_ok(cascade_signal_key(store, "u", "k", "news", payload(), NULL));
    assert_int_equal(messages_of(store, &id), 1);
    db_close_store(db, store);
}

/* Both are done, or neither. */
static void
starts_with_signals_with_wrong_arguments(test_db *db)
{
    cascade_store *store = db_store(db);
    const cascade_start_options plain = {.size = sizeof(plain), .key = "k"};
    const cascade_start_options wrong = {
        .size = sizeof(wrong), .key = "k", .priority = 10};
    const cascade_signal_options empty = {.size = sizeof(empty),
                                          .request_id = ""};
    cascade_started started;
    cascade_started untouched;
    cascade_page *page = NULL;

    memset(&untouched, 0x5a, sizeof(untouched));
    started = untouched;
    refuses(INVALID,
            cascade_start_with_signal(NULL, "n", payload(), &plain, "news",
                                      payload(), NULL, &started));
    refuses(INVALID,
            cascade_start_with_signal(store, NULL, payload(), &plain, "news",
                                      payload(), NULL, &started));
    refuses(INVALID,
            cascade_start_with_signal(store, "n", payload(), &wrong, "news",
                                      payload(), NULL, &started));
    refuses(INVALID,
            cascade_start_with_signal(store, "n", payload(), &plain, NULL,
                                      payload(), NULL, &started));
    refuses(INVALID,
            cascade_start_with_signal(store, "n", payload(), &plain, "a b",
                                      payload(), NULL, &started));
    refuses(INVALID,
            cascade_start_with_signal(store, "n", payload(), &plain, "news",
                                      payload(), &empty, &started));
    refuses(INVALID, cascade_start_with_signal(store, "n", payload(), &plain,
                                               "news", payload(), NULL, NULL));
    assert_memory_equal(&started, &untouched, sizeof(started));
    assert_ok(cascade_list(store, NULL, &page));
    assert_int_equal(cascade_page_count(page), 0);
    cascade_page_free(page);
    db_close_store(db, store);
}

typedef cascade_err (*command)(cascade_store *store, const cascade_uuid *id,
                               const cascade_request_options *options);

static const command commands[] = {cascade_cancel, cascade_terminate,
                                   cascade_delete};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
commands_with_wrong_arguments(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = start(store);
    const cascade_uuid nobody = {{7}};
    const cascade_request_options bad[] = {
        {.size = 0},
        {.size = sizeof(bad[0]), .request_id = ""},
        {.size = sizeof(bad[0]), .request_id = "a\nb"},
        {.size = sizeof(bad[0]), .reason = ""},
        {.size = sizeof(bad[0]), .reason = SECRET "\t"},
        {.size = sizeof(bad[0]), .reason = SECRET "\xff"}};

    for (size_t i = 0; i < COMMANDS; i++) {
        refuses(INVALID, commands[i](NULL, &id, NULL));
        refuses(INVALID, commands[i](store, NULL, NULL));
        for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
            refuses(INVALID, commands[i](store, &id, &bad[k]));
        refuses(CASCADE_ERR_NOT_FOUND, commands[i](store, &nobody, NULL));
    }
    assert_int_equal(messages_of(store, &id), 0);
    db_close_store(db, store);
}

/* ---- Limits ------------------------------------------------------------- */

/* `len` bytes, the last of them `last`. */
static const char *
text_of(char *room, size_t len, char last)
{
    memset(room, 'x', len);
    room[len - 1] = last;
    room[len] = '\0';
    return room;
}

static void
names_and_request_ids_are_bounded(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = start(store);
    char room[TEXT_MAX_LEN + 2];
    cascade_signal_options options = {.size = sizeof(options)};

    assert_ok(cascade_signal(store, &id, text_of(room, NAME_MAX_LEN, 'n'), NULL,
                             NULL));
    refuses(INVALID,
            cascade_signal(store, &id, text_of(room, NAME_MAX_LEN + 1, 'n'),
                           NULL, NULL));
    options.request_id = text_of(room, TEXT_MAX_LEN, 'r');
    assert_ok(cascade_signal(store, &id, "news", NULL, &options));
    options.request_id = text_of(room, TEXT_MAX_LEN, '\x01');
    refuses(INVALID, cascade_signal(store, &id, "news", NULL, &options));
    options.request_id = text_of(room, TEXT_MAX_LEN + 1, 'r');
    refuses(INVALID, cascade_signal(store, &id, "news", NULL, &options));
    assert_int_equal(messages_of(store, &id), 2);
    db_close_store(db, store);
}

/* An object of `len` bytes in canonical form. */
static cJSON *
object_of(size_t len)
{
    char *text = calloc(1, len + 1);
    cJSON *object = cJSON_CreateObject();

    assert_non_null(text);
    assert_true(len > strlen("{\"s\":\"\"}") + strlen(SECRET));
    len -= strlen("{\"s\":\"\"}");
    memset(text, 'x', len);
    memcpy(text, SECRET, strlen(SECRET));
    assert_non_null(cJSON_AddStringToObject(object, "s", text));
    free(text);
    return object;
}

static void
payloads_are_bounded(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;
    cascade_started started;
    cascade_uuid id;
    cJSON *deep = cJSON_CreateNumber(1);

    options.payload_max = SMALL_PAYLOAD;
    assert_ok(cascade_store_open(db->url, &options, &store));
    id = start(store);
    assert_ok(
        cascade_signal(store, &id, "news", object_of(SMALL_PAYLOAD), NULL));
    assert_true(cascade_signal(store, &id, "news", object_of(SMALL_PAYLOAD + 1),
                               NULL) != CASCADE_OK);
    assert_null(strstr(cascade_errmsg(), SECRET));
    assert_string_not_equal("", cascade_errmsg());
    assert_true(cascade_start_with_signal(store, "n", NULL, NULL, "news",
                                          object_of(SMALL_PAYLOAD + 1), NULL,
                                          &started) != CASCADE_OK);
    for (int i = 0; i < 200; i++) {
        cJSON *outer = cJSON_CreateArray();

        cJSON_AddItemToArray(outer, deep);
        deep = outer;
    }
    refuses(CASCADE_ERR_JSON, cascade_signal(store, &id, "news", deep, NULL));
    assert_int_equal(messages_of(store, &id), 1);
    assert_ok(cascade_store_close(store));
}

static void
reasons_are_bounded_and_any_text(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = start(store);
    char room[TEXT_MAX_LEN + 2];
    char expected[TEXT_MAX_LEN + 20];
    cascade_request_options options = {.size = sizeof(options)};
    cascade_snapshot *snapshot = NULL;

    options.reason = text_of(room, TEXT_MAX_LEN + 1, 'r');
    refuses(INVALID, cascade_terminate(store, &id, &options));
    options.reason = text_of(room, TEXT_MAX_LEN, '"');
    assert_ok(cascade_terminate(store, &id, &options));
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    snprintf(expected, sizeof(expected), "terminated: %s", room);
    assert_string_equal(cascade_snapshot_error(snapshot), expected);
    cascade_snapshot_free(snapshot);
    db_close_store(db, store);
}

/* ---- Options of other releases ------------------------------------------ */

static cascade_err
use_signal_options(cascade_store *store, const cascade_uuid *id,
                   const void *options)
{
    return cascade_signal(store, id, "news", NULL, options);
}

static cascade_err
use_request_options(cascade_store *store, const cascade_uuid *id,
                    const void *options)
{
    cascade_err err = cascade_cancel(store, id, options);

    return err == CASCADE_ERR_ENDED ? CASCADE_OK : err;
}

static void
check_sizes(cascade_store *store,
            cascade_err (*use)(cascade_store *store, const cascade_uuid *id,
                               const void *options),
            size_t known)
{
    unsigned char *bytes = calloc(1, known + TAIL);
    const size_t good[] = {known, sizeof(size_t), known + TAIL};
    const size_t bad[] = {0, 1, sizeof(size_t) - 1, SIZE_MAX};
    cascade_uuid id = start(store);

    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memcpy(bytes, &bad[i], sizeof(size_t));
        assert_int_equal(INVALID, use(store, &id, bytes));
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        memcpy(bytes, &good[i], sizeof(size_t));
        assert_int_equal(CASCADE_OK, use(store, &id, bytes));
    }
    bytes[known] = 1; /* known + TAIL bytes, of which one says something */
    assert_int_equal(INVALID, use(store, &id, bytes));
    free(bytes);
}

static void
options_tell_their_size(test_db *db)
{
    cascade_store *store = db_store(db);

    check_sizes(store, use_signal_options, sizeof(cascade_signal_options));
    check_sizes(store, use_request_options, sizeof(cascade_request_options));
    db_close_store(db, store);
}

/* ---- Inside a node ------------------------------------------------------ */

static atomic_int wrong_count;

#define count_wrong(condition) (wrong_count += !(condition))

static bool
is_refused(cascade_err err, cascade_err wanted)
{
    return err == wanted && cascade_errmsg()[0] != '\0';
}

static cascade_err
await_in_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)result;
    count_wrong(is_refused(cascade_node_await(node, "news", 0, NULL),
                           CASCADE_ERR_MISUSE));
    (void)arg;
    return CASCADE_OK;
}

static cascade_err
await_wrongly(cascade_node *node, void *user)
{
    cJSON *const untouched = (cJSON *)node;
    cJSON *payload = untouched;

    (void)user;
    count_wrong(
        is_refused(cascade_node_await(NULL, "news", -1, &payload), INVALID));
    count_wrong(
        is_refused(cascade_node_await(node, NULL, -1, &payload), INVALID));
    count_wrong(
        is_refused(cascade_node_await(node, "", -1, &payload), INVALID));
    count_wrong(
        is_refused(cascade_node_await(node, "a b", -1, &payload), INVALID));
    count_wrong(is_refused(cascade_node_await(node, "cascade.x", -1, &payload),
                           INVALID));
    count_wrong(is_refused(
        cascade_node_await(node, "news", INT64_MAX, &payload), INVALID));
    count_wrong(payload == untouched);
    return cascade_node_step(node, "s", await_in_step, NULL, NULL, NULL);
}

static void
awaits_with_wrong_arguments(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_uuid id;

    wrong_count = 0;
    assert_ok(
        cascade_engine_register(engine, "wrong", await_wrongly, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "wrong");
    db_await(store, &id, CASCADE_COMPLETED);
    assert_int_equal(wrong_count, 0);
    db_close_engine(db, engine);
    db_close_store(db, store);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"signals_with_wrong_arguments", signals_with_wrong_arguments,
         STORES_ALL},
        {"starts_with_signals_with_wrong_arguments",
         starts_with_signals_with_wrong_arguments, STORES_ALL},
        {"commands_with_wrong_arguments", commands_with_wrong_arguments,
         STORES_ALL},
        {"names_and_request_ids_are_bounded", names_and_request_ids_are_bounded,
         STORES_ALL},
        {"payloads_are_bounded", payloads_are_bounded, STORES_ALL},
        {"reasons_are_bounded_and_any_text", reasons_are_bounded_and_any_text,
         STORES_ALL},
        {"options_tell_their_size", options_tell_their_size, STORES_MEMORY},
        {"awaits_with_wrong_arguments", awaits_with_wrong_arguments,
         STORES_ALL},
    };

    return stores_run("messages", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
