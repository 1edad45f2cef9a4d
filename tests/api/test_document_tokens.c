/* SPDX-License-Identifier: MIT
 *
 * Tokens in documents: they are there where they were asked for, and else what
 * is imported waits as before, with a token that neither the document nor the
 * old cascade knows; a completion that was under way arrives.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "support/must.h"
#include "support/stores.h"

#define TASK "approve"
#define TIMEOUT_MS INT64_C(3600000)

/* What waits for its completion. */
typedef struct task {
    char path[300];
    char token[CASCADE_UUID_TEXT_SIZE];
    int64_t deadline_ms;
} task;

static bool
read_task(cascade_store *store, const cascade_uuid *id, task *it)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *info = NULL;
    bool waits = false;

    assert_ok(cascade_snapshot_load(store, id, NULL, &snapshot));
    info = cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, 0);
    waits = info != NULL && info->token != NULL;
    if (waits) {
        (void)snprintf(it->path, sizeof(it->path), "%s",
                       info->node_instance_id);
        (void)snprintf(it->token, sizeof(it->token), "%s", info->token);
        it->deadline_ms = info->deadline_ms;
    }
    cascade_snapshot_free(snapshot);
    return waits;
}

typedef struct place {
    cascade_store *store;
    cascade_uuid id;
    task task;
} place;

static bool
is_waiting(void *context)
{
    place *p = context;

    return read_task(p->store, &p->id, &p->task);
}

/* A cascade that waits, on a store on which nobody is alive. */
static place
leave_waiting(test_db *db)
{
    const cascade_external_options options = {.size = sizeof(options),
                                              .timeout_ms = TIMEOUT_MS};
    place p = {.store = db_store(db)};
    cascade_engine *engine = db_engine(db, p.store, NULL);

    assert_ok(cascade_engine_register_external(engine, TASK, &options));
    assert_ok(cascade_engine_start(engine));
    p.id = db_start(p.store, TASK);
    assert_true(stores_until(is_waiting, &p));
    db_close_engine(db, engine);
    return p;
}

static char *
export_text(cascade_store *store, const cascade_uuid *id, bool tokens)
{
    const cascade_export_options options = {.size = sizeof(options),
                                            .tokens = tokens};
    char *document = NULL;
    char *text = NULL;

    assert_ok(cascade_export(store, id, &options, &document));
    text = must(strdup(document));
    cascade_document_free(document);
    return text;
}

/* Made of the document, in a store of its own. */
static place
import_text(const char *text)
{
    cascade_started started = {.existed = true};
    place p = {.store = NULL};

    assert_ok(cascade_store_open("memory:", NULL, &p.store));
    assert_ok(cascade_import(p.store, text, NULL, &started));
    assert_false(started.existed);
    p.id = started.id;
    return p;
}

/* A cascade that waits, the text of it (which a test may put a row into), and
 * what was made of that. */
typedef struct course {
    place old;
    char *text;
    place made;
} course;

typedef char *change_text(const char *text, const place *p, const char *token);

static course
course_open(test_db *db, bool tokens, change_text *change, const char *token)
{
    course c = {.old = leave_waiting(db)};
    char *plain = export_text(c.old.store, &c.old.id, tokens);

    c.text = plain;
    if (change != NULL) {
        c.text =
            change(plain, &c.old, token != NULL ? token : c.old.task.token);
        free(plain);
    }
    c.made = import_text(c.text);
    return c;
}

static void
course_close(course *c)
{
    free(c->text);
    assert_ok(cascade_store_close(c->made.store));
}

static cascade_err
complete(const place *p, const char *token)
{
    const cascade_completion yes = {.size = sizeof(yes),
                                    .output_text = "\"yes\""};
    const cascade_complete_options waits = {.size = sizeof(waits),
                                            .wait_ms = -1};

    return cascade_complete(p->store, &p->id, p->task.path, token, &yes,
                            &waits);
}

static void
a_document_holds_no_token(test_db *db)
{
    course c = course_open(db, false, NULL, NULL);
    char *again = export_text(c.made.store, &c.made.id, false);

    assert_null(strstr(c.text, c.old.task.token));
    assert_string_equal(c.text, again);
    assert_true(is_waiting(&c.made));
    assert_string_equal(c.old.task.path, c.made.task.path);
    assert_true(c.old.task.deadline_ms == c.made.task.deadline_ms);
    assert_null(strstr(c.text, c.made.task.token));
    assert_fails(CASCADE_ERR_REFUSED, complete(&c.made, c.old.task.token));
    assert_fails(CASCADE_ERR_REFUSED,
                 complete(&c.made, "00000000-0000-0000-0000-000100000000"));
    assert_fails(CASCADE_ERR_REFUSED, complete(&c.old, c.made.task.token));
    assert_ok(complete(&c.made, c.made.task.token));
    db_await(c.made.store, &c.made.id, CASCADE_COMPLETED);
    assert_ok(complete(&c.old, c.old.task.token));
    free(again);
    course_close(&c);
}

static void
with_tokens_they_go_on(test_db *db)
{
    course c = course_open(db, true, NULL, NULL);

    assert_non_null(strstr(c.text, c.old.task.token));
    assert_true(is_waiting(&c.made));
    assert_string_equal(c.old.task.token, c.made.task.token);
    assert_ok(complete(&c.made, c.old.task.token));
    db_await(c.made.store, &c.made.id, CASCADE_COMPLETED);
    course_close(&c);
}

/* The document with a completion that nobody has received yet. */
static char *
with_completion(const char *text, const place *p, const char *token)
{
    static const char empty[] = "\"messages\":[]";
    const char *at = strstr(text, empty);
    char id[CASCADE_UUID_TEXT_SIZE];
    char *made = NULL;

    assert_non_null(at);
    (void)cascade_uuid_format(&p->id, id);
    assert_true(
        asprintf(&made,
                 "%.*s\"messages\":[{\"kind\":\"complete\",\"name\":\"\","
                 "\"path\":\"%s/message/complete/%s\",\"payload\":"
                 "{\"by\":\"01890000-0000-7000-8000-00000000abcd\","
                 "\"token\":\"%s\",\"output\":\"late\"},\"sent_at\":1}]%s",
                 (int)(at - text), text, id, token, token,
                 at + strlen(empty)) > 0);
    return made;
}

static void
a_completion_under_way_arrives(test_db *db)
{
    course c = course_open(db, true, with_completion, NULL);
    char *hidden = export_text(c.made.store, &c.made.id, false);
    place second = import_text(hidden);
    cascade_engine *engine = db_engine(db, second.store, NULL);

    assert_non_null(strstr(hidden, "\"late\""));
    assert_null(strstr(hidden, c.old.task.token));
    assert_ok(cascade_engine_start(engine));
    db_await(second.store, &second.id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    free(hidden);
    assert_ok(cascade_store_close(second.store));
    course_close(&c);
}

/* A completion that came to a cascade that had ended: its receipt has the token
 * of an execution that may go on with it. */
static char *
with_receipt(const char *text, const place *p, const char *token)
{
    static const char none[] = "\"fn_id\":0";
    const char *at = strstr(text, none);
    char id[CASCADE_UUID_TEXT_SIZE];
    char *made = NULL;

    assert_non_null(at);
    (void)cascade_uuid_format(&p->id, id);
    at += strlen(none);
    assert_true(
        asprintf(&made,
                 "%.*s1%.*s,{\"id\":\"01890000-0000-7000-8000-00000000abce\","
                 "\"error\":\"undelivered\",\"status\":\"FAILED\","
                 "\"location\":\"server\",\"node_name\":"
                 "\"cascade.message:complete\",\"started_at\":1,"
                 "\"full_output\":{\"at\":1,\"continue\":true},"
                 "\"function_id\":1,\"completed_at\":1,\"input_context\":"
                 "{\"token\":\"%s\"},\"node_instance_id\":"
                 "\"%s/message/complete/%s\"}]}",
                 (int)(at - 1 - text), text, (int)(strlen(at) - 2), at, token,
                 id, token) > 0);
    return made;
}

static void
receipts_hold_no_token(test_db *db)
{
    course c = course_open(db, true, with_receipt, NULL);
    char *hidden = export_text(c.made.store, &c.made.id, false);
    place second = import_text(hidden);
    char *shown = export_text(second.store, &second.id, true);

    assert_null(strstr(hidden, c.old.task.token));
    assert_null(strstr(shown, "00000000-0000-0000-0000-0001"));
    assert_true(is_waiting(&second));
    assert_non_null(
        strstr(strstr(shown, "/message/complete/"), second.task.token));
    free(shown);
    free(hidden);
    assert_ok(cascade_store_close(second.store));
    course_close(&c);
}

/* What a document of somebody else's says is nothing to rely on. */
static void
placeholders_out_of_place_are_harmless(test_db *db)
{
    static const char nobodys[] = "00000000-0000-0000-0000-00010000ffff";
    course c = course_open(db, false, with_completion, nobodys);
    char *text = export_text(c.made.store, &c.made.id, false);

    assert_true(is_waiting(&c.made));
    assert_null(strstr(text, nobodys));
    assert_null(strstr(text, c.made.task.token));
    free(text);
    course_close(&c);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_document_holds_no_token", a_document_holds_no_token, STORES_ALL},
        {"with_tokens_they_go_on", with_tokens_they_go_on, STORES_ALL},
        {"a_completion_under_way_arrives", a_completion_under_way_arrives,
         STORES_ALL},
        {"receipts_hold_no_token", receipts_hold_no_token, STORES_ALL},
        {"placeholders_out_of_place_are_harmless",
         placeholders_out_of_place_are_harmless, STORES_ALL},
    };

    return stores_run("document_tokens", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
