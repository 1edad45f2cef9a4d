/* SPDX-License-Identifier: MIT
 *
 * Export and import: what comes back is what was there, to the byte, also in
 * another store; it goes on from where it was; with other ids it is another
 * cascade; and what is no such document is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/raw_sql.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/manage.h"
#include "store/store.h"
#include "support/keyed.h"
#include "support/must.h"
#include "support/rows.h"

#define BRIEF_MS 1
#define SLOW_MS 300 /* has to be seen; or twice that, and so on */
#define MANY 20000
#define BIG_PAYLOAD ((size_t)1024 * 1024)

/* ---- A play -------------------------------------------------------------- */

static cascade_err
pay(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    *result = cJSON_CreateNumber(7.5);
    return *result != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;
}

static cascade_err
check_last(cascade_node *node, void *user)
{
    const cJSON *value = NULL;
    cascade_err err = cascade_node_get(node, "news", &value);

    (void)user;
    return err == CASCADE_OK
               ? cascade_node_output(node, cJSON_Duplicate(value, true))
               : err;
}

/* A step, a sleep as long as the input says, and a signal that has to come. */
static cascade_err
play(cascade_node *node, void *user)
{
    const cJSON *rest = cJSON_GetObjectItem(cascade_node_input(node), "rest");
    cJSON *receipt = NULL;
    cJSON *news = NULL;
    cascade_err err = cascade_node_step(node, "pay", pay, NULL, NULL, &receipt);

    (void)user;
    cJSON_Delete(receipt);
    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "rest",
                                 rest != NULL ? rest->valueint : BRIEF_MS);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "news", -1, &news);
    if (err == CASCADE_OK)
        err = cascade_node_put_ui(node, "news", news,
                                  cJSON_CreateString("\xc3\xa9 \"ui\""));
    return err == CASCADE_OK ? cascade_node_spawn(node, "last", NULL, NULL)
                             : err;
}

/* Fails, and is tried again a little later. */
static cascade_err
fail_once(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_attempt(node) == 1
               ? cascade_node_error(node, "no \"luck\"\n")
               : CASCADE_OK;
}

static cascade_err
fail_for_good(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "never");
}

static cascade_engine *
open_engine(test_db *db, cascade_store *store, int64_t backoff_ms)
{
    const cascade_node_options slow = {.size = sizeof(slow),
                                       .backoff_ms = backoff_ms};
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(cascade_engine_register(engine, "play", play, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "last", check_last, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "luck", fail_once, NULL, &slow));
    assert_ok(
        cascade_engine_register(engine, "never", fail_for_good, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, "plain", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

typedef struct progress {
    cascade_store *store;
    cascade_uuid id;
    const char *node; /* an execution of it is RUNNING, */
    int attempts;     /* with so many behind it */
    const char *next; /* it is over once that one is RUNNING, or all is */
} progress;

static bool
has_active(const cascade_snapshot *snapshot, const char *node, int attempts)
{
    const cascade_execution_info *e =
        cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, 0);

    for (size_t i = 1; e != NULL; i++) {
        if (strcmp(e->node_name, node) == 0 && e->attempts >= attempts)
            return true;
        e = cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, i);
    }
    return false;
}

static bool
is_there(const progress *p, bool *over)
{
    cascade_snapshot *snapshot = NULL;
    bool there = false;

    assert_ok(cascade_snapshot_load(p->store, &p->id, NULL, &snapshot));
    there = has_active(snapshot, p->node, p->attempts);
    *over = cascade_snapshot_info(snapshot)->status != CASCADE_RUNNING ||
            (p->next != NULL && has_active(snapshot, p->next, 0));
    cascade_snapshot_free(snapshot);
    return there;
}

static bool
has_come_or_gone(void *context)
{
    bool over = false;

    return is_there(context, &over) || over;
}

/* Whether it is there still: false when it has gone on. */
static bool
await_progress(progress *p)
{
    bool over = false;

    assert_true(stores_until(has_come_or_gone, p));
    return is_there(p, &over);
}

static void
await_waiting(cascade_store *store, const cascade_uuid *id, const char *part)
{
    progress p = {.store = store, .id = *id, .node = part};

    assert_true(await_progress(&p));
}

static void
send_news(cascade_store *store, const cascade_uuid *id)
{
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = "r1"};

    assert_ok(cascade_signal(store, id, "news",
                             cJSON_Parse("{\"bb\":[1.50],\"a\":\"\\u0001\"}"),
                             &options));
}

/* ---- There and back ------------------------------------------------------ */

static char *
export_text(cascade_store *store, const cascade_uuid *id)
{
    char *text = NULL;

    assert_ok(cascade_export(store, id, NULL, &text));
    assert_non_null(text);
    return text;
}

static cascade_started
import_text(cascade_store *store, const char *text, bool new_ids)
{
    const cascade_import_options options = {.size = sizeof(options),
                                            .new_ids = new_ids};
    cascade_started started = {.existed = true};

    assert_ok(cascade_import(store, text, &options, &started));
    return started;
}

static void
check_same(cascade_store *store, const cascade_uuid *id, const char *text)
{
    char *again = export_text(store, id);

    assert_string_equal(text, again);
    cascade_document_free(again);
}

static void
delete_cascade(cascade_store *store, const cascade_uuid *id)
{
    cascade_info *info = NULL;

    assert_ok(cascade_delete(store, id, NULL));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_get(store, id, &info));
}

static size_t
count_messages(const char *text)
{
    cJSON *tree = cJSON_Parse(text);
    int count = cJSON_GetArraySize(cJSON_GetObjectItem(tree, "messages"));

    cJSON_Delete(tree);
    return (size_t)count;
}

/* Out of its store, through another, and back. Nobody may be alive on it. */
static void
move_there_and_back(cascade_store *store, const cascade_uuid *id)
{
    cascade_store *other = NULL;
    char *text = export_text(store, id);
    cascade_started started;

    assert_ok(cascade_store_open("memory:", NULL, &other));
    started = import_text(other, text, false);
    assert_memory_equal(id, &started.id, sizeof(*id));
    assert_false(started.existed);
    check_same(other, id, text);
    delete_cascade(store, id);
    started = import_text(store, text, false);
    assert_false(started.existed);
    check_same(store, id, text);
    cascade_document_free(text);
    assert_ok(cascade_store_close(other));
}

static void
what_has_ended_comes_back_as_it_was(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = open_engine(db, store, BRIEF_MS);
    cascade_uuid done = db_start_text(store, "luck", "[1,{\"z\":null}]");
    cascade_uuid failed = db_start(store, "never");
    cascade_info *info = NULL;

    db_await(store, &done, CASCADE_COMPLETED);
    db_await(store, &failed, CASCADE_ERROR);
    db_close_engine(db, engine);
    move_there_and_back(store, &done);
    move_there_and_back(store, &failed);
    assert_ok(cascade_get(store, &failed, &info));
    assert_int_equal(CASCADE_ERROR, info->status);
    assert_false(info->has_run);
    cascade_info_free(info);
}

/* What waits, sleeps and is to be tried again. */
typedef struct places {
    cascade_uuid waiting;
    progress asleep;
    progress failing;
} places;

/* Brings them there, and leaves them without an engine. False when one has gone
 * on before. */
static bool
leave_waiting(test_db *db, cascade_store *store, int64_t slow_ms, places *p)
{
    cascade_engine *engine = open_engine(db, store, slow_ms);
    char input[64];
    bool there = false;

    p->waiting = db_start(store, "play");
    await_waiting(store, &p->waiting, "cascade.await:news");
    snprintf(input, sizeof(input), "{\"rest\":%lld}", (long long)slow_ms);
    p->asleep = (progress){.store = store,
                           .id = db_start_text(store, "play", input),
                           .node = "cascade.sleep:rest",
                           .next = "cascade.await:news"};
    p->failing = (progress){.store = store,
                            .id = db_start(store, "luck"),
                            .node = "luck",
                            .attempts = 1};
    there = await_progress(&p->asleep) && await_progress(&p->failing);
    db_close_engine(db, engine);
    return there && await_progress(&p->asleep) && await_progress(&p->failing);
}

static void
what_waits_goes_on_where_it_was(test_db *db)
{
    cascade_store *store = db_store(db);
    places p;
    cascade_uuid fresh;

    for (int64_t ms = SLOW_MS; !leave_waiting(db, store, ms, &p); ms *= 2)
        assert_true(ms < DB_WAIT_MS);
    fresh = db_start(store, "plain");
    move_there_and_back(store, &p.asleep.id);
    move_there_and_back(store, &p.waiting);
    move_there_and_back(store, &p.failing.id);
    move_there_and_back(store, &fresh);
    (void)open_engine(db, store, BRIEF_MS);
    send_news(store, &p.asleep.id);
    send_news(store, &p.waiting);
    db_await(store, &p.asleep.id, CASCADE_COMPLETED);
    db_await(store, &p.waiting, CASCADE_COMPLETED);
    db_await(store, &p.failing.id, CASCADE_COMPLETED);
    db_await(store, &fresh, CASCADE_COMPLETED);
}

/* What was sent and not received yet. A repeated request is told from a new
 * one, as before. */
static void
messages_come_along(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "play");
    char *text = NULL;

    send_news(store, &id);
    text = export_text(store, &id);
    assert_non_null(strstr(text, "/message/signal/r1\""));
    assert_non_null(strstr(text, "{\"a\":\"\\u0001\",\"bb\":[1.5]}"));
    cascade_document_free(text);
    move_there_and_back(store, &id);
    send_news(store, &id);
    text = export_text(store, &id);
    assert_int_equal(1, count_messages(text));
    cascade_document_free(text);
    (void)open_engine(db, store, BRIEF_MS);
    db_await(store, &id, CASCADE_COMPLETED);
}

static void
a_document_is_canonical(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = open_engine(db, store, BRIEF_MS);
    cascade_uuid id = db_start_text(store, "plain", "{\"b\":1e2,\"a\":[]}");
    csc_buf canonical = {0};
    char *text = NULL;

    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    text = export_text(store, &id);
    assert_ok(
        csc_json_canon("text", text, strlen(text), SIZE_MAX / 4, &canonical));
    assert_string_equal(canonical.data, text);
    csc_buf_fini(&canonical);
    cascade_document_free(text);
}

/* A document that another program has written anew, with other blanks and
 * another order of members, is the same one. */
static void
the_form_of_a_document_does_not_matter(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start_text(store, "plain", "{\"b\":1,\"a\":[]}");
    char *text = export_text(store, &id);
    cJSON *tree = cJSON_Parse(text);
    char *pretty = NULL;

    assert_non_null(tree);
    cJSON_AddItemToObject(tree, "cascade",
                          cJSON_DetachItemFromObject(tree, "cascade"));
    pretty = cJSON_Print(tree);
    assert_non_null(pretty);
    delete_cascade(store, &id);
    (void)import_text(store, pretty, false);
    check_same(store, &id, text);
    cJSON_free(pretty);
    cJSON_Delete(tree);
    cascade_document_free(text);
}

static void
what_is_there_stays_as_it_is(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "play");
    char *before = export_text(store, &id);
    char *after = NULL;
    cascade_started started;

    send_news(store, &id);
    after = export_text(store, &id);
    started = import_text(store, before, false);
    assert_true(started.existed);
    assert_memory_equal(&id, &started.id, sizeof(id));
    check_same(store, &id, after);
    cascade_document_free(before);
    cascade_document_free(after);
}

/* ---- Another cascade ----------------------------------------------------- */

static void
with_new_ids_it_is_another_cascade(test_db *db)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = "u", .key = "k", .priority = 3};
    cascade_store *store = db_store(db);
    cascade_engine *engine = open_engine(db, store, BRIEF_MS);
    cascade_started first;
    cascade_started second;
    char *text = NULL;
    char *copy = NULL;
    cascade_info *info = NULL;

    assert_ok(cascade_start(store, "play", NULL, &options, &first));
    await_waiting(store, &first.id, "cascade.await:news");
    db_close_engine(db, engine);
    text = export_text(store, &first.id);
    second = import_text(store, text, true);
    assert_false(second.existed);
    assert_memory_not_equal(&first.id, &second.id, sizeof(first.id));
    check_same(store, &first.id, text);
    copy = export_text(store, &second.id);
    assert_non_null(strstr(text, "\"key\":\"k\""));
    assert_null(strstr(copy, "\"key\":\"k\""));
    assert_int_equal(strlen(text) - strlen("\"key\":\"k\","), strlen(copy));
    assert_ok(cascade_get(store, &second.id, &info));
    assert_int_equal(3, info->priority);
    cascade_info_free(info);
    (void)open_engine(db, store, BRIEF_MS);
    send_news(store, &second.id);
    db_await(store, &second.id, CASCADE_COMPLETED);
    send_news(store, &first.id);
    db_await(store, &first.id, CASCADE_COMPLETED);
    cascade_document_free(text);
    cascade_document_free(copy);
}

static cascade_err
parent(cascade_node *node, void *user)
{
    cascade_uuid id;
    cascade_err err =
        cascade_node_start_child(node, "c", "play", NULL, NULL, &id);

    (void)user;
    return err == CASCADE_OK ? cascade_node_await_child(node, &id, NULL) : err;
}

/* The one that the document names. */
static cascade_uuid
child_of(const char *text)
{
    static const char member[] = "\"child\":\"";
    char name[CASCADE_UUID_TEXT_SIZE] = "";
    const char *at = strstr(text, member);
    cascade_uuid id;

    assert_non_null(at);
    memcpy(name, at + strlen(member), sizeof(name) - 1);
    assert_ok(cascade_uuid_parse(name, &id));
    return id;
}

/* It is the old one that they are told of when it ends. */
static void
another_cascade_leaves_the_children_alone(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_uuid id;
    cascade_uuid child;
    cascade_started copy;
    char *text = NULL;

    assert_ok(cascade_engine_register(engine, "parent", parent, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "play", play, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "last", check_last, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "parent");
    await_waiting(store, &id, "cascade.child:c");
    text = export_text(store, &id);
    child = child_of(text);
    await_waiting(store, &child, "cascade.await:news");
    copy = import_text(store, text, true);
    assert_ok(cascade_cancel(store, &copy.id, NULL));
    db_await(store, &copy.id, CASCADE_ERROR);
    copy = import_text(store, text, true);
    assert_ok(cascade_terminate(store, &copy.id, NULL));
    db_await(store, &copy.id, CASCADE_ERROR);
    send_news(store, &child);
    db_await(store, &child, CASCADE_COMPLETED);
    db_await(store, &id, CASCADE_COMPLETED);
    cascade_document_free(text);
}

static void
it_may_come_into_another_queue(test_db *db)
{
    const cascade_import_options options = {
        .size = sizeof(options), .new_ids = true, .queue = "side"};
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "plain");
    char *text = export_text(store, &id);
    char *copy = NULL;
    cascade_started started;
    cascade_info *info = NULL;

    assert_ok(cascade_import(store, text, &options, &started));
    assert_ok(cascade_get(store, &started.id, &info));
    assert_string_equal("side", info->queue);
    cascade_info_free(info);
    copy = export_text(store, &started.id);
    assert_non_null(strstr(copy, "\"queue\":\"side\",\"priority\":0}"));
    cascade_document_free(copy);
    cascade_document_free(text);
}

/* ---- Keys ---------------------------------------------------------------- */

/* Starting it again gives its current run. */
static void
check_current(cascade_store *store, const cascade_uuid *run)
{
    cascade_started started;

    assert_ok(cascade_start(store, "plain", NULL, &keyed_options, &started));
    assert_true(started.existed);
    assert_memory_equal(run, &started.id, sizeof(*run));
}

/* In the store that it came from the key's row is ahead; elsewhere the runs
 * bring it with them, one after the other. */
static void
a_key_leads_to_its_current_run(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_store *other = NULL;
    cascade_uuid runs[3];
    char *texts[3];
    cascade_started started;

    keyed_run_three(db, store, runs);
    assert_ok(cascade_store_open("memory:", NULL, &other));
    for (int i = 0; i < 3; i++)
        texts[i] = export_text(store, &runs[i]);
    assert_fails(CASCADE_ERR_REFUSED,
                 cascade_import(other, texts[2], NULL, &started));
    for (int i = 0; i < 3; i++) {
        started = import_text(other, texts[i], false);
        assert_false(started.existed);
        check_same(other, &runs[i], texts[i]);
        check_current(other, &runs[i]);
        delete_cascade(store, &runs[i]);
        (void)import_text(store, texts[i], false);
        check_same(store, &runs[i], texts[i]);
        check_current(store, &runs[2]);
        cascade_document_free(texts[i]);
    }
    assert_ok(cascade_store_close(other));
}

/* ---- Rows of others ------------------------------------------------------ */

#define ID "0190aaaa-0000-4000-8000-000000000001"

static const char *const foreign_cascade =
    "INSERT INTO cascades (id, status, fn_id, user_id, created_at, updated_at)"
    " VALUES ('" ID "', 'RUNNING', 2, 'ann', '2026-01-31 10:00:00.123',"
    "  '2026-01-31 10:00:01')";

static const char *const foreign_rows =
    "INSERT INTO node_executions (id, node_instance_id, cascade_id, node_name,"
    " function_id, input_context, full_output, location, status, error,"
    " started_at, completed_at) VALUES"
    " ('0190aaaa-0000-4000-8000-0000000000a0', 'init_0190aaaa_x', '" ID "',"
    "  'init', -1, '{}', NULL, 'server', 'COMPLETED', NULL,"
    "  '2026-01-31 10:00:00', '2026-01-31 10:00:00.5'),"
    " ('0190aaaa-0000-4000-8000-0000000000a1', 'plan_0190aaaa_0', '" ID "',"
    "  'plan', 0, '{\"b\": 1, \"a\": [1, 2.50]}', 'null', 'client',"
    "  'COMPLETED', NULL, '2026-01-31 10:00:00', '2026-01-31 10:00:00.5'),"
    " ('0190aaaa-0000-4000-8000-0000000000a3', 'plain_0190aaaa_3', '" ID "',"
    "  'plain', 5, '{}', NULL, 'server', 'RUNNING', NULL,"
    "  '2026-01-31 10:00:00', NULL);"
    "INSERT INTO context_events (cascade_id, function_id, key, value, ui_value,"
    " created_at) VALUES"
    " ('" ID "', 2, '" ID "', '\"appended\"', NULL, '2026-01-31 10:00:03'),"
    " ('" ID "', 0, 'list', '{\"v\": \"c\"}', 'null', '2026-01-31 10:00:01'),"
    " ('" ID "', -1, 'first', 'null', NULL, '2026-01-31 09:00:00')";

static void
rows_of_others_come_back_too(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_uuid id;
    cascade_started copy;
    char *text = NULL;

    db->unsound = true; /* V12, V15: writers and numbers are missing */
    raw_sql(db, foreign_cascade);
    raw_sql(db, foreign_rows);
    assert_ok(cascade_uuid_parse(ID, &id));
    text = export_text(store, &id);
    copy = import_text(store, text, true);
    raw_sql(db, "DELETE FROM context_events WHERE cascade_id = '" ID "'");
    raw_sql(db, "DELETE FROM node_executions WHERE cascade_id = '" ID "'");
    raw_sql(db, "DELETE FROM cascades WHERE id = '" ID "'");
    assert_false(import_text(store, text, false).existed);
    check_same(store, &id, text);
    (void)open_engine(db, store, BRIEF_MS);
    db_await(store, &id, CASCADE_COMPLETED);
    db_await(store, &copy.id, CASCADE_COMPLETED);
    cascade_document_free(text);
}

/* ---- What is refused ----------------------------------------------------- */

#define BAD_ID "0190bbbb-0000-4000-8000-000000000001"
#define E_ID "0190bbbb-0000-4000-8000-0000000000e"

/* A sound document in pieces: a case puts another piece in one's place. */
static const char *const sound[] = {
    "{\"format\":\"libcascade\",\"version\":1,",
    "\"cascade\":{\"id\":\"" BAD_ID "\",\"fn_id\":1,\"status\":\"RUNNING\","
    "\"user_id\":\"ann\",\"created_at\":1,\"updated_at\":2},",
    "\"executions\":[",
    "{\"id\":\"" E_ID "0\",\"status\":\"COMPLETED\",\"location\":\"server\","
    "\"node_name\":\"plain\",\"started_at\":1,\"completed_at\":2,"
    "\"function_id\":0,\"input_context\":{},\"full_output\":{\"at\":0,"
    "\"cascade\":{\"queue\":\"default\",\"priority\":0}},"
    "\"node_instance_id\":\"" BAD_ID "/-/plain#0\"}",
    ",{\"id\":\"" E_ID "1\",\"status\":\"RUNNING\",\"location\":\"server\","
    "\"node_name\":\"plain\",\"started_at\":1,\"function_id\":1,"
    "\"input_context\":{},\"node_instance_id\":\"" BAD_ID "/0/plain#0\"}",
    "],",
    "\"events\":[{\"key\":\"k\",\"value\":1,\"created_at\":2,"
    "\"function_id\":0}],",
    "\"messages\":[{\"kind\":\"signal\",\"name\":\"go\",\"path\":\"" BAD_ID
    "/message/signal/1\",\"payload\":{},\"sent_at\":3}]}",
};

enum {
    HEAD,
    CASCADE,
    OPEN,
    FIRST,
    SECOND,
    SHUT,
    EVENTS,
    MESSAGES,
    PIECES
};

typedef struct bad_case {
    int piece;
    const char *from; /* NULL: the piece is `to` */
    const char *to;
    cascade_err err;
    const char *told; /* in the error text */
} bad_case;

#define JSON CASCADE_ERR_JSON
#define INVALID CASCADE_ERR_INVALID
#define REFUSED CASCADE_ERR_REFUSED

static const bad_case bad_cases[] = {
    {HEAD, NULL, "", JSON, ""},
    {MESSAGES, NULL, "\"messages\":[]", JSON, ""},
    {HEAD, "1,", "1,\"version\":1,", JSON, ""},
    {HEAD, "libcascade", "other", INVALID, "format"},
    {HEAD, "\"format\":\"libcascade\",", "", INVALID, "format is missing"},
    {HEAD, ":1,", ":0,", INVALID, "version"},
    {HEAD, ":1,", ":3,", INVALID, "version"},
    {HEAD, ":1,", ":1,\"more\":1,", INVALID, "the document has a member"},
    {CASCADE, NULL, "", INVALID, "cascade is missing"},
    {CASCADE, NULL, "\"cascade\":[],", INVALID, "cascade is no object"},
    {CASCADE, "\"fn_id\":1,", "", INVALID, "cascade.fn_id is missing"},
    {CASCADE, "\"fn_id\":1,", "\"fn_id\":1.5,", INVALID, "cascade.fn_id"},
    {CASCADE, "\"fn_id\":1,", "\"fn_id\":2147483647,", INVALID, "fn_id"},
    {CASCADE, "RUNNING", "running", INVALID, "cascade.status"},
    {CASCADE, "0190bbbb-", "0190bbbb", INVALID, "cascade.id is no uuid"},
    {FIRST, "0190bbbb-", "0190Bbbb-", INVALID, "executions[0].id is no uuid"},
    {CASCADE, "\"ann\"", "7", INVALID, "cascade.user_id is no string"},
    {CASCADE, "\"ann\"", "\"a\\u0000\"", JSON, ""},
    {CASCADE, "\"created_at\":1", "\"created_at\":-62135596800001", INVALID,
     "cascade.created_at is no time"},
    {CASCADE, "\"fn_id\":1", "\"fn_id\":0", REFUSED, "V3 fn_id"},
    {OPEN, "[", "[7,", INVALID, "executions[0] is no row"},
    {OPEN, "[", "[[],", INVALID, "executions[0] is no row"},
    {FIRST, "completed_at", "started_at", JSON, ""},
    {FIRST, "\"completed_at\":2,", "", REFUSED, "V6 completed_at"},
    {FIRST, "\"completed_at\":2,", "\"completed_at\":null,", INVALID,
     "executions[0].completed_at"},
    {FIRST, "\"input_context\":{},", "", INVALID,
     "executions[0].input_context is missing"},
    {FIRST, "\"location\"", "\"place\"", INVALID, "executions[0] has a member"},
    {FIRST, "\"default\"", "\"a b\"", INVALID, "queue"},
    {FIRST, "\"priority\":0", "\"priority\":0,\"key\":\"k\"", REFUSED,
     "V13 key"},
    {SECOND, "\"function_id\":1", "\"function_id\":0", REFUSED,
     "executions[1] has the function_id"},
    {SECOND, "\"function_id\":1", "\"function_id\":-1", REFUSED,
     "executions[1] has a negative"},
    {SECOND, "\"function_id\":1", "\"function_id\":9999999999", INVALID,
     "executions[1].function_id"},
    {SECOND, E_ID "1", E_ID "0", REFUSED, "same id"},
    {SECOND, "/0/plain", "/-/plain", REFUSED, "twice"},
    {SECOND, BAD_ID "/0/", "0190bbbb-0000-4000-8000-000000000002/0/", REFUSED,
     "executions[1] has the node_instance_id of another"},
    {SECOND, "\"started_at\":1", "\"started_at\":1,\"completed_at\":2", REFUSED,
     "executions[1] is RUNNING"},
    {SECOND, NULL, "", REFUSED, "V2 status"},
    {EVENTS, "\"function_id\":0", "\"function_id\":2", REFUSED, "V12 writer"},
    {EVENTS, "[",
     "[{\"key\":\"k\",\"value\":1,\"created_at\":2,"
     "\"function_id\":1},",
     REFUSED, "events[1] is out of order"},
    {EVENTS, "[{", "{", JSON, ""},
    {EVENTS, ":2,", ":\"2026-01-31T23:59:59.999000+01\",", INVALID,
     "events[0].created_at is no time: give it as \"2026"},
    {EVENTS, ":2,", ":\"2026-01-31T23:59:59.999000Z, or much later\",", INVALID,
     "events[0].created_at"},
    {EVENTS, ":2,", ":99999999999999999,", INVALID, "events[0].created_at"},
    {CASCADE, "RUNNING", "COMPLETED", REFUSED, "V2 status"},
    {SECOND, "/0/plain", "/7/plain", REFUSED, "V8 parent"},
    {FIRST, "\"at\":0", "\"at\":9", REFUSED, "V9 record"},
    {FIRST, "\"at\":0", "\"at\":0,\"spawned\":[2]", REFUSED, "V10 reference"},
    {EVENTS, NULL, "\"events\":{},", INVALID, "events is no array"},
    {MESSAGES, "message/signal/1", "0/plain#0", REFUSED, "twice"},
    {MESSAGES, "\"kind\":\"signal\"", "\"kind\":\"\"", INVALID,
     "messages[0].kind"},
    {MESSAGES, "\"kind\":\"signal\"",
     "\"kind\":\"0123456789012345678901234567890123\"", INVALID,
     "messages[0].kind is too long"},
};

/* The pieces, with what the case says; to be freed. */
static char *
make_document(const bad_case *c)
{
    csc_buf out = {0};

    for (int i = 0; i < PIECES; i++) {
        const char *at = sound[i];
        const char *from = NULL;

        if (c != NULL && c->piece == i && c->from == NULL) {
            csc_buf_add_text(&out, c->to);
            continue;
        }
        if (c != NULL && c->piece == i) {
            from = strstr(at, c->from);
            assert_non_null(from);
            csc_buf_add(&out, at, (size_t)(from - at));
            csc_buf_add_text(&out, c->to);
            at = from + strlen(c->from);
        }
        csc_buf_add_text(&out, at);
    }
    return csc_buf_take(&out);
}

static void
what_is_no_document_is_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_started started = {.existed = true};
    char *text = NULL;

    for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
        const bad_case *c = &bad_cases[i];

        text = make_document(c);
        stores_check(cascade_import(store, text, NULL, &started), c->err, text,
                     __FILE__, __LINE__);
        if (strstr(cascade_errmsg(), c->told) == NULL)
            fail_msg("case %zu says: %s", i, cascade_errmsg());
        assert_true(started.existed); /* nothing was written */
        cascade_document_free(text);
    }
    text = make_document(NULL);
    assert_false(import_text(store, text, false).existed);
    cascade_document_free(text);
}

/* Other cascades have rows that the document's may not have as well. */
static void
rows_that_are_taken_are_refused(test_db *db)
{
    const bad_case other = {CASCADE, "000001", "000002", CASCADE_OK, ""};
    cascade_store *store = db_store(db);
    cascade_started started;
    char *text = make_document(NULL);
    char *second = make_document(&other);

    (void)import_text(store, text, false);
    assert_fails(REFUSED, cascade_import(store, second, NULL, &started));
    cascade_document_free(text);
    cascade_document_free(second);
}

static void
wrong_arguments_are_refused(test_db *db)
{
    const cascade_import_options queue = {.size = sizeof(queue),
                                          .queue = "a b"};
    const cascade_import_options size = {.size = 0};
    const cascade_uuid nobody = {{7}};
    cascade_store *store = db_store(db);
    cascade_uuid id = db_start(store, "plain");
    cascade_started started;
    char *text = NULL;

    assert_fails(INVALID, cascade_export(NULL, &id, NULL, &text));
    assert_fails(INVALID, cascade_export(store, NULL, NULL, &text));
    assert_fails(INVALID, cascade_export(store, &id, NULL, NULL));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_export(store, &nobody, NULL, &text));
    assert_null(text);
    text = export_text(store, &id);
    assert_fails(INVALID, cascade_import(NULL, text, NULL, &started));
    assert_fails(INVALID, cascade_import(store, NULL, NULL, &started));
    assert_fails(INVALID, cascade_import(store, text, NULL, NULL));
    assert_fails(INVALID, cascade_import(store, text, &queue, &started));
    assert_fails(INVALID, cascade_import(store, text, &size, &started));
    cascade_document_free(text);
    cascade_document_free(NULL);
}

/* ---- Sizes --------------------------------------------------------------- */

/* `[[[...]]]`, as deep as a payload may be. */
static void
the_deepest_payload_comes_back(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = open_engine(db, store, BRIEF_MS);
    char deep[2 * CSC_JSON_DEPTH_MAX + 1];
    cascade_uuid id;

    memset(deep, '[', CSC_JSON_DEPTH_MAX);
    memset(deep + CSC_JSON_DEPTH_MAX, ']', CSC_JSON_DEPTH_MAX);
    deep[sizeof(deep) - 1] = '\0';
    id = db_start_text(store, "plain", deep);
    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    move_there_and_back(store, &id);
}

/* A cascade of many executions, written at once. */
static cascade_uuid
submit_many(cascade_store *store, size_t count, const char *input)
{
    test_rows rows;
    cascade_change *change = NULL;
    cascade_uuid id;
    bool existed = true;

    rows_init(&rows, rows_seed(), 1700000000000);
    id = rows_id(&rows);
    change = rows_start(&rows, id);
    for (size_t i = 1; i < count; i++)
        rows_insert(&rows, change, (int32_t)i, "plain")->input = input;
    change->cascade.fn_id = (int32_t)count - 1;
    assert_ok(rows_submit(store->driver, store->self, change, 1, &existed));
    assert_false(existed);
    rows_fini(&rows);
    return id;
}

static void
many_executions_come_back(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_store *other = NULL;
    cascade_uuid id = submit_many(store, MANY, "{}");
    char *text = export_text(store, &id);

    assert_ok(cascade_store_open("memory:", NULL, &other));
    (void)import_text(other, text, false);
    check_same(other, &id, text);
    assert_false(import_text(store, text, true).existed);
    assert_ok(cascade_store_close(other));
    cascade_document_free(text);
}

static void
a_cascade_of_too_many_bytes_is_not_exported(test_db *db)
{
    cascade_store *store = db_store(db);
    char *input = must(malloc(BIG_PAYLOAD));
    cascade_uuid id;
    char *text = NULL;

    memset(input, 'x', BIG_PAYLOAD);
    input[0] = input[BIG_PAYLOAD - 2] = '"';
    input[BIG_PAYLOAD - 1] = '\0';
    id = submit_many(store, 67, input);
    assert_fails(CASCADE_ERR_TOO_LARGE,
                 cascade_export(store, &id, NULL, &text));
    assert_null(text);
    free(input);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_has_ended_comes_back_as_it_was",
         what_has_ended_comes_back_as_it_was, STORES_ALL},
        {"what_waits_goes_on_where_it_was", what_waits_goes_on_where_it_was,
         STORES_ALL},
        {"messages_come_along", messages_come_along, STORES_ALL},
        {"a_document_is_canonical", a_document_is_canonical, STORES_ALL},
        {"the_form_of_a_document_does_not_matter",
         the_form_of_a_document_does_not_matter, STORES_ALL},
        {"what_is_there_stays_as_it_is", what_is_there_stays_as_it_is,
         STORES_ALL},
        {"with_new_ids_it_is_another_cascade",
         with_new_ids_it_is_another_cascade, STORES_ALL},
        {"another_cascade_leaves_the_children_alone",
         another_cascade_leaves_the_children_alone, STORES_ALL},
        {"it_may_come_into_another_queue", it_may_come_into_another_queue,
         STORES_ALL},
        {"a_key_leads_to_its_current_run", a_key_leads_to_its_current_run,
         STORES_ALL},
        {"rows_of_others_come_back_too", rows_of_others_come_back_too,
         STORES_FILES},
        {"what_is_no_document_is_refused", what_is_no_document_is_refused,
         STORES_ALL},
        {"rows_that_are_taken_are_refused", rows_that_are_taken_are_refused,
         STORES_ALL},
        {"wrong_arguments_are_refused", wrong_arguments_are_refused,
         STORES_ALL},
        {"the_deepest_payload_comes_back", the_deepest_payload_comes_back,
         STORES_ALL},
        {"many_executions_come_back", many_executions_come_back, STORES_ALL},
        {"a_cascade_of_too_many_bytes_is_not_exported",
         a_cascade_of_too_many_bytes_is_not_exported, STORES_MEMORY},
    };

    return stores_run("documents", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
