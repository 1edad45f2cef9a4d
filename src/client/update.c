/* SPDX-License-Identifier: MIT
 *
 * Updates and queries from outside; the node's side, and the rows, are in
 * update.c.
 *
 *   update   submit: one message --> a node takes it and answers by a step
 *            look: the executions of the cascade --> its answer, or later
 *   query    look: the events of the cascade, and which of them count
 *
 * The answer is found by the path of the request, in the run that has received
 * it, or is to, or in one that this continued as: of a repeated request that
 * may be another run than it was sent to, also an earlier one. If the process
 * dies in the call, the request is there or not; repeated with the same request
 * id it gives the same answer.
 */
#include "cascade/cascade.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/op.h"
#include "client/signal.h"
#include "client/submit.h"
#include "query/link.h"
#include "query/run_chain.h"
#include "query/wait.h"
#include "state/full_output.h"
#include "state/state.h"
#include "state/supersede.h"
#include "store/move.h"
#include "store/store.h"

#define TIMEOUT_MS 10000

/* A call that waits for an answer. */
typedef struct call {
    cascade_store *store;
    const char *name;
    const char *path;   /* of the request */
    cascade_uuid run;   /* where to look */
    bool there;         /* the cascade of the last look; and what it was: */
    bool over;          /* it had ended */
    cascade_uuid next;  /* as what it continued, or all zero */
    csc_arena arena;    /* what was found */
    const char *answer; /* NULL: none */
    csc_watch watch;
} call;

/* ---- Sending ------------------------------------------------------------ */

static cascade_err
check_update(const char *name, const cascade_update_options *given,
             cascade_update_options *known)
{
    cascade_err err =
        csc_check_options("update options", given, known, sizeof(*known));

    if (err == CASCADE_OK)
        err = csc_check_name("update name", name);
    if (err == CASCADE_OK && known->request_id != NULL)
        err = csc_check_text("request id", known->request_id);
    if (err == CASCADE_OK && known->timeout_ms == 0)
        known->timeout_ms = TIMEOUT_MS;
    return err;
}

/* {"path":P,"request":...} */
static cascade_err
wrap_request(const call *c, csc_json_given request, csc_buf *payload)
{
    cascade_err err = CASCADE_OK;

    csc_buf_add_text(payload, "{\"path\":");
    csc_json_add_string(payload, c->path);
    csc_buf_add_text(payload, ",\"request\":");
    err = csc_json_given_canon("request", request, c->store->config.payload_max,
                               payload);
    csc_buf_add_char(payload, '}');
    if (err == CASCADE_OK && payload->failed)
        err = csc_fail_memory();
    return err;
}

static cascade_err
send_once(call *c, csc_json_given request, const char *request_id,
          cascade_sent *sent)
{
    cascade_message_row message = {.cascade_id = c->run,
                                   .kind = CSC_MESSAGE_SIGNAL};
    cascade_submission submission = {.message_count = 1, .sent = sent};
    csc_buf payload = {0};
    cascade_uuid root = c->run;
    cascade_err err = csc_store_get_now(c->store, &message.sent_at_ms);

    if (err == CASCADE_OK && request_id != NULL)
        err = csc_run_chain_root(c->store, &c->run, &root);
    if (err != CASCADE_OK)
        return err;
    c->path = csc_run_chain_signal_path(c->store, &c->arena, &root, "update",
                                        request_id, message.sent_at_ms);
    message.path = c->path;
    message.name = csc_arena_join(&c->arena, CSC_UPDATE_NAME, c->name);
    if (message.path == NULL || message.name == NULL)
        return csc_fail_memory();
    err = wrap_request(c, request, &payload);
    message.payload = payload.data;
    submission.messages = &message;
    if (err == CASCADE_OK)
        err = csc_submit(c->store, &submission, "update");
    csc_buf_fini(&payload);
    return err;
}

static cascade_err
send_request(call *c, csc_json_given request, const char *request_id,
             bool *repeated)
{
    cascade_sent sent = CASCADE_SENT_ABSENT;
    csc_link_way way = {.run = c->run};
    bool again = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && again) {
        c->run = way.run;
        err = send_once(c, request, request_id, &sent);
        err = csc_link_turn(c->store, err, sent, &way, &again);
    }
    csc_watch_move(&c->store->watches, &c->watch, &c->run);
    if (err == CASCADE_OK && sent == CASCADE_SENT_ABSENT)
        err = csc_signal_answer(sent, "update");
    *repeated = sent == CASCADE_SENT_REPEATED;
    return err;
}

/* ---- Looking for the answer --------------------------------------------- */

static cascade_err
on_cascade(void *context, const cascade_row *row)
{
    call *c = context;

    c->there = true;
    c->over = row->status != CASCADE_RUNNING;
    return CASCADE_OK;
}

/* Whether the recorded output of a step is the answer to the request. */
static cascade_err
find_answer(const call *c, const char *output, csc_json_span *answer,
            bool *same)
{
    csc_json_span span;
    char *path = NULL;

    *same = false;
    if (!csc_json_read_member(output, "path", &span) ||
        !csc_json_read_text(span, &path))
        return CASCADE_OK;
    if (path == NULL)
        return csc_fail_memory();
    *same = strcmp(path, c->path) == 0 &&
            csc_json_read_member(output, "answer", answer);
    csc_mem_free(path);
    return CASCADE_OK;
}

/* The first one counts, also where a rerun has superseded it: whoever asked was
 * told that one. */
static cascade_err
note_answer(call *c, csc_json_span output)
{
    csc_arena scratch = {0};
    const char *text = csc_arena_strndup(&scratch, output.data, output.len);
    csc_json_span answer;
    bool same = false;
    cascade_err err = text != NULL ? CASCADE_OK : csc_fail_memory();

    if (err == CASCADE_OK)
        err = find_answer(c, text, &answer, &same);
    if (err == CASCADE_OK && same) {
        c->answer = csc_arena_strndup(&c->arena, answer.data, answer.len);
        if (c->answer == NULL)
            err = csc_fail_memory();
    }
    csc_arena_fini(&scratch);
    return err;
}

static cascade_err
on_execution(void *context, const cascade_execution_row *row)
{
    static const char step[] = CSC_STEP_PREFIX CSC_ANSWER_NAME;
    call *c = context;
    csc_record record;

    if (row->status != CASCADE_EXECUTION_COMPLETED)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    if (!csc_uuid_is_nil(&record.continued_as))
        c->next = record.continued_as;
    if (c->answer != NULL || record.output.data == NULL ||
        strncmp(row->node_name, step, sizeof(step) - 1) != 0 ||
        strcmp(row->node_name + sizeof(step) - 1, c->name) != 0)
        return CASCADE_OK;
    return note_answer(c, record.output);
}

/* One look at the run, and at those that it continued as. */
static cascade_err
look_all(call *c)
{
    cascade_load_sink sink = {
        .context = c, .on_cascade = on_cascade, .on_execution = on_execution};
    cascade_err err = CASCADE_OK;
    bool again = true;

    while (again && err == CASCADE_OK) {
        c->there = false;
        c->next = (cascade_uuid){{0}};
        err =
            csc_move_load(c->store, &c->run, 1, CASCADE_LOAD_EXECUTIONS, &sink);
        again = c->answer == NULL && !csc_uuid_is_nil(&c->next);
        if (again) {
            c->run = c->next;
            csc_watch_move(&c->store->watches, &c->watch, &c->run);
        }
    }
    return err;
}

/* What one look has to say; CASCADE_ERR_AGAIN: nothing yet. */
static cascade_err
judge(const call *c)
{
    if (c->answer == NULL && !c->there)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "update %s: there is no such cascade", c->name);
    if (c->answer == NULL && c->over)
        return csc_fail(CASCADE_ERR_ENDED,
                        "update %s: the cascade has ended without an answer",
                        c->name);
    return c->answer != NULL ? CASCADE_OK : CASCADE_ERR_AGAIN;
}

/* The request is there whatever fails now: it may be answered. */
static cascade_err
fail_unread(const call *c, cascade_err err)
{
    if (err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND ||
        err == CASCADE_ERR_ENDED || err == CASCADE_ERR_AGAIN)
        return err;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "update %s: it was sent, and whether it is answered cannot "
                    "be read: %s",
                    c->name, cascade_errmsg());
}

static cascade_err
look(void *context, bool late)
{
    call *c = context;
    cascade_err err = look_all(c);

    (void)late;
    return fail_unread(c, err == CASCADE_OK ? judge(c) : err);
}

/* Where the first of the same has come to, its answer is, or will be. */
static cascade_err
go_to_first(call *c)
{
    bool gone = false;
    cascade_err err = csc_run_chain_path(c->store, c->path, &c->run, &gone);

    csc_watch_move(&c->store->watches, &c->watch, &c->run);
    if (err == CASCADE_OK && gone)
        err = csc_run_chain_fail_gone("update");
    return fail_unread(c, err);
}

static cascade_err
ask(call *c, csc_json_given request, const cascade_update_options *options)
{
    bool repeated = false;
    cascade_err err = csc_watch_begin(&c->store->watches, &c->watch, &c->run);

    if (err != CASCADE_OK)
        return err;
    err = send_request(c, request, options->request_id, &repeated);
    if (err == CASCADE_OK && repeated)
        err = go_to_first(c);
    if (err == CASCADE_OK)
        err = csc_get_until(c->store, &c->watch, options->timeout_ms, look, c);
    csc_watch_end(&c->store->watches, &c->watch);
    if (err == CASCADE_ERR_AGAIN)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "update %s: no answer within %lld ms; call again with "
                        "the same request id",
                        c->name, (long long)options->timeout_ms);
    return err;
}

/* What is known of the answer then is in the call's arena. */
static cascade_err
update(call *c, const cascade_uuid *id, csc_json_given request,
       const cascade_update_options *given)
{
    cascade_update_options options = {0};
    cascade_err err = CASCADE_OK;

    if (c->store == NULL || id == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "update: %s is NULL",
                       c->store == NULL ? "store" : "id");
    else
        err = csc_origin_check(c->store);
    if (err == CASCADE_OK)
        err = csc_store_refuse_within(c->store, "cascade_update()");
    if (err == CASCADE_OK)
        err = check_update(c->name, given, &options);
    if (err != CASCADE_OK)
        return err;
    c->run = *id;
    return ask(c, request, &options);
}

cascade_err
cascade_update(cascade_store *store, const cascade_uuid *id, const char *name,
               cJSON *request, const cascade_update_options *options,
               cJSON **answer)
{
    call c = {.store = store, .name = name};
    cJSON *tree = NULL;
    cascade_err err = update(&c, id, csc_json_given_tree(request), options);

    if (err == CASCADE_OK && answer != NULL) {
        tree = csc_json_tree_parse(c.answer);
        if (tree == NULL)
            err = fail_unread(&c, csc_fail_memory());
    }
    csc_arena_fini(&c.arena);
    cJSON_Delete(request);
    if (err != CASCADE_OK)
        return err;
    if (answer != NULL)
        *answer = tree;
    return csc_ok();
}

cascade_err
cascade_update_text(cascade_store *store, const cascade_uuid *id,
                    const char *name, const char *request,
                    const cascade_update_options *options, char **answer)
{
    call c = {.store = store, .name = name};
    char *text = NULL;
    cascade_err err = update(&c, id, csc_json_given_text(request), options);

    if (err == CASCADE_OK && answer != NULL) {
        text = csc_mem_strdup(c.answer);
        if (text == NULL)
            err = fail_unread(&c, csc_fail_memory());
    }
    csc_arena_fini(&c.arena);
    if (err != CASCADE_OK)
        return err;
    if (answer != NULL)
        *answer = text;
    return csc_ok();
}

/* ---- Queries ------------------------------------------------------------ */

typedef struct search {
    const char *key;
    int64_t id;        /* of the event */
    char *value;       /* as it is stored; NULL: none so far */
    csc_course course; /* what was superseded counts no more */
} search;

static cascade_err
note_course(void *context, const cascade_execution_row *row)
{
    search *s = context;
    csc_record record;

    csc_full_output_read(row, &record);
    return csc_supersede_note(&s->course, row, &record);
}

/* The one that was committed last: a node comes before its steps, and may end
 * after them. Executions come before events: the receipts are all known. */
static cascade_err
on_event(void *context, const cascade_event_row *row)
{
    search *s = context;
    cascade_err err = CASCADE_OK;

    if (s->course.grew)
        err = csc_supersede_settle(&s->course, CSC_COURSE_NOW);
    if (err != CASCADE_OK)
        return err;
    if (strcmp(row->key, s->key) != 0 ||
        (s->value != NULL && row->id < s->id) ||
        csc_supersede_by(&s->course, row->function_id) != CSC_COURSE_NONE)
        return CASCADE_OK;
    csc_mem_free(s->value);
    s->id = row->id;
    s->value = csc_mem_strdup(row->value);
    return s->value != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
query(cascade_store *store, const cascade_uuid *id, search *s)
{
    cascade_load_sink sink = {.context = s,
                              .on_cascade = csc_get_pass,
                              .on_execution = note_course,
                              .on_event = on_event};
    cascade_err err = csc_move_load(
        store, id, 1, CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &sink);

    csc_supersede_fini(&s->course);
    return err;
}

/* `*text` is freed with csc_mem_free(); `value` has to be there. */
static cascade_err
get_published(cascade_store *store, const cascade_uuid *id, const char *name,
              const void *value, char **text)
{
    csc_arena arena = {0};
    search s = {.key = NULL};
    cascade_err err = csc_origin_check(store);

    if (err == CASCADE_OK)
        err = csc_check_name("published name", name);
    if (err == CASCADE_OK && (store == NULL || id == NULL || value == NULL))
        err = csc_fail(CASCADE_ERR_INVALID, "query %s: an argument is NULL",
                       name);
    if (err != CASCADE_OK)
        return err;
    s.key = csc_arena_join(&arena, CSC_PUBLISHED_KEY, name);
    err = s.key != NULL ? query(store, id, &s) : csc_fail_memory();
    csc_arena_fini(&arena);
    if (err == CASCADE_OK && s.value == NULL)
        err = csc_fail(CASCADE_ERR_NOT_FOUND,
                       "query %s: nothing was published under that name", name);
    if (err != CASCADE_OK) {
        csc_mem_free(s.value);
        return err;
    }
    *text = s.value;
    return CASCADE_OK;
}

cascade_err
cascade_get_published(cascade_store *store, const cascade_uuid *id,
                      const char *name, cJSON **value)
{
    char *text = NULL;
    cJSON *tree = NULL;
    cascade_err err = get_published(store, id, name, value, &text);

    if (err != CASCADE_OK)
        return err;
    tree = csc_json_tree_parse(text);
    csc_mem_free(text);
    if (tree == NULL)
        return csc_fail_memory();
    *value = tree;
    return csc_ok();
}

cascade_err
cascade_get_published_text(cascade_store *store, const cascade_uuid *id,
                           const char *name, char **value)
{
    char *text = NULL;
    cascade_err err = get_published(store, id, name, value, &text);

    if (err != CASCADE_OK)
        return err;
    *value = text;
    return csc_ok();
}
