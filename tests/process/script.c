/* SPDX-License-Identifier: MIT
 *
 * The calls; see script.h. An answer that says that the call was made before is
 * none: what is there in the end tells whether it was heeded.
 */
#include "process/script.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"

#define LOOK_EVERY_MS 1
#define LOOKS_MAX 60000
#define LIMIT_MS 60000

/* ---- Calls --------------------------------------------------------------- */

static cascade_err
start(script_caller *c, const char *node)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = c->user, .key = SCRIPT_KEY};
    cascade_started started;
    cascade_err err = cascade_start(c->store, node, NULL, &options, &started);

    c->id = started.id;
    return err;
}

static cascade_err
unless_ended(cascade_err err)
{
    return err == CASCADE_ERR_ENDED ? CASCADE_OK : err;
}

static cJSON *
number(int n)
{
    cJSON *object = cJSON_CreateObject();

    (void)cJSON_AddNumberToObject(object, "n", n);
    return object;
}

#define REQUEST_ID 16 /* bytes */

static cascade_signal_options
request(int n, char request_id[REQUEST_ID])
{
    snprintf(request_id, REQUEST_ID, "news-%d", n);
    return (cascade_signal_options){.size = sizeof(cascade_signal_options),
                                    .request_id = request_id};
}

/* "news" with {"n":n}. */
static cascade_err
send(script_caller *c, int n)
{
    char request_id[REQUEST_ID];
    const cascade_signal_options options = request(n, request_id);

    return unless_ended(
        cascade_signal(c->store, &c->id, "news", number(n), &options));
}

/* The same to whatever run the key has by now. */
static cascade_err
send_by_key(script_caller *c, int n)
{
    char request_id[REQUEST_ID];
    const cascade_signal_options options = request(n, request_id);

    return unless_ended(cascade_signal_key(c->store, c->user, SCRIPT_KEY,
                                           "news", number(n), &options));
}

/* One of that name that waits: by a wait of its own, or with a token. */
static const cascade_execution_info *
find_waiting(const cascade_snapshot *snapshot, const char *name)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_ACTIVE);

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, i);

        if (strcmp(info->node_name, name) == 0 &&
            (info->token != NULL || strncmp(name, "cascade.", 8) == 0))
            return info;
    }
    return NULL;
}

/* The cascade when one of that name waits; NULL when it has ended, or is gone,
 * as it may be for one who makes his calls again. */
static cascade_snapshot *
await_waiting(cascade_store *store, const cascade_uuid *id, const char *name)
{
    cascade_snapshot *snapshot = NULL;

    for (int i = 0; i < LOOKS_MAX; i++) {
        bool runs = false;

        if (cascade_snapshot_load(store, id, NULL, &snapshot) != CASCADE_OK)
            return NULL;
        runs = cascade_snapshot_info(snapshot)->status == CASCADE_RUNNING;
        if (runs && find_waiting(snapshot, name) != NULL)
            return snapshot;
        cascade_snapshot_free(snapshot);
        if (!runs)
            return NULL;
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
    return NULL;
}

/* ---- Nodes alone --------------------------------------------------------- */

static cascade_err
call_join(script_caller *c)
{
    return start(c, "fork");
}

static cascade_err
call_spared(script_caller *c)
{
    return start(c, "spare");
}

static cascade_err
call_children(script_caller *c)
{
    return start(c, "breed");
}

static cascade_err
call_saga(script_caller *c)
{
    return start(c, "undoes");
}

/* ---- Signals ------------------------------------------------------------- */

/* The first twice, and once more behind the second. */
static cascade_err
call_signals(script_caller *c)
{
    static const int sent[] = {1, 1, 2, 1};
    cascade_err err = start(c, "hear.two");

    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
        if (err == CASCADE_OK)
            err = send(c, sent[i]);
    return err;
}

static cascade_err
call_start_with_signal(script_caller *c)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = c->user, .key = SCRIPT_KEY};
    char request_id[REQUEST_ID];
    const cascade_signal_options first = request(1, request_id);
    cascade_started started;
    cascade_err err = unless_ended(
        cascade_start_with_signal(c->store, "hear.two", NULL, &options, "news",
                                  number(1), &first, &started));

    c->id = started.id;
    return err == CASCADE_OK ? send(c, 2) : err;
}

/* Each run hears one of them, all sent to the first; those sent again by the
 * key find another run. */
static cascade_err
call_runs(script_caller *c)
{
    cascade_err err = start(c, "relay");

    if (err == CASCADE_OK)
        err = cascade_uuid_from_key(c->user, SCRIPT_KEY, &c->id);
    for (int n = 1; n <= 3 && err == CASCADE_OK; n++) {
        err = send(c, n);
        if (err == CASCADE_OK)
            err = send_by_key(c, n);
    }
    return err == CASCADE_OK ? send(c, 1) : err;
}

/* ---- Updates ------------------------------------------------------------- */

/* What two requests with one id are told is the same. */
static cascade_err
ask(script_caller *c, const char *request_id, int n)
{
    const cascade_update_options options = {.size = sizeof(options),
                                            .request_id = request_id,
                                            .timeout_ms = LIMIT_MS};
    cJSON *answer = NULL;
    const cJSON *told = NULL;
    cascade_err err = cascade_update(c->store, &c->id, "double", number(n),
                                     &options, &answer);

    told = cJSON_GetObjectItemCaseSensitive(answer, "n");
    if (err == CASCADE_OK && (told == NULL || told->valueint != 2 * n))
        err = CASCADE_ERR_CORRUPT;
    cJSON_Delete(answer);
    return err;
}

static cascade_err
call_updates(script_caller *c)
{
    cascade_err err = start(c, "answer");

    if (err == CASCADE_OK)
        err = ask(c, "ask-1", 1);
    if (err == CASCADE_OK)
        err = ask(c, "ask-2", 2);
    return err == CASCADE_OK ? ask(c, "ask-1", 1) : err;
}

/* ---- Commands ------------------------------------------------------------ */

typedef cascade_err (*command_fn)(cascade_store *store, const cascade_uuid *id,
                                  const cascade_request_options *options);

static cascade_err
command_as(script_caller *c, command_fn call, const char *request_id)
{
    const cascade_request_options options = {
        .size = sizeof(options), .request_id = request_id, .reason = "so"};

    return unless_ended(call(c->store, &c->id, &options));
}

static cascade_err
command(script_caller *c, command_fn call)
{
    return command_as(c, call, "command");
}

/* Twice, once its node waits. */
static cascade_err
command_tidy(script_caller *c, command_fn call)
{
    cascade_err err = start(c, "tidy");

    if (err == CASCADE_OK)
        cascade_snapshot_free(
            await_waiting(c->store, &c->id, "cascade.await:never"));
    if (err == CASCADE_OK)
        err = command(c, call);
    return err == CASCADE_OK ? command(c, call) : err;
}

/* The parent's, once it and its child wait. */
static cascade_err
command_parent(script_caller *c, command_fn call)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .user_id = c->user};
    cascade_page *page = NULL;
    cascade_err err = start(c, "rear");

    if (err == CASCADE_OK)
        cascade_snapshot_free(
            await_waiting(c->store, &c->id, "cascade.gather:one"));
    if (err == CASCADE_OK)
        err = cascade_list(c->store, &options, &page);
    for (size_t i = 0; i < 2 && err == CASCADE_OK; i++) {
        const cascade_info *info = cascade_page_get(page, i);

        if (info != NULL && !csc_uuid_equal(&info->id, &c->id))
            cascade_snapshot_free(
                await_waiting(c->store, &info->id, "cascade.await:never"));
    }
    cascade_page_free(page);
    return err == CASCADE_OK ? command(c, call) : err;
}

static cascade_err
call_cancel(script_caller *c)
{
    return command_tidy(c, cascade_cancel);
}

/* Paused twice, resumed twice, and then cancelled. */
static cascade_err
call_pause(script_caller *c)
{
    cascade_err err = command_tidy(c, cascade_pause);

    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = command_as(c, cascade_resume, "resume");
    return err == CASCADE_OK ? command_as(c, cascade_cancel, "end") : err;
}

static cascade_err
call_terminate(script_caller *c)
{
    return command_tidy(c, cascade_terminate);
}

/* What is gone has been deleted. */
static cascade_err
call_delete(script_caller *c)
{
    cascade_err err = command_tidy(c, cascade_delete);

    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

static cascade_err
call_cancel_parent(script_caller *c)
{
    return command_parent(c, cascade_cancel);
}

static cascade_err
call_terminate_parent(script_caller *c)
{
    return command_parent(c, cascade_terminate);
}

/* ---- Retry, rerun, fork -------------------------------------------------- */

/* Of a cascade that has ended, which it does once more then. */
static cascade_err
call_retry(script_caller *c)
{
    const cascade_request_options options = {
        .size = sizeof(options), .request_id = "again", .wait_ms = LIMIT_MS};
    cascade_err err = start(c, "end");

    if (err == CASCADE_OK)
        err = cascade_wait(c->store, &c->id, LIMIT_MS, NULL);
    return err == CASCADE_OK ? cascade_retry(c->store, &c->id, &options) : err;
}

static cascade_err
call_rerun(script_caller *c)
{
    const cascade_rerun_options options = {.size = sizeof(options),
                                           .request_id = "again",
                                           .wait_ms = LIMIT_MS,
                                           .from = 2};
    cascade_err err = start(c, "steps");

    if (err == CASCADE_OK)
        err = cascade_wait(c->store, &c->id, LIMIT_MS, NULL);
    return err == CASCADE_OK ? cascade_rerun(c->store, &c->id, &options) : err;
}

/* Twice, under one id. */
static cascade_err
call_fork(script_caller *c)
{
    const cascade_uuid id = csc_uuid_v8(c->user, "fork", 1);
    const cascade_fork_options options = {
        .size = sizeof(options), .id = &id, .from = 2};
    cascade_started started;
    cascade_err err = start(c, "steps");

    if (err == CASCADE_OK)
        err = cascade_wait(c->store, &c->id, LIMIT_MS, NULL);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = cascade_fork(c->store, &c->id, &options, &started);
    return err;
}

/* ---- Completions --------------------------------------------------------- */

static cascade_err
complete(script_caller *c, const cascade_execution_info *info)
{
    const cJSON *put = cJSON_CreateString("signed");
    const cascade_completion_put puts = {
        .size = sizeof(puts), .key = "form", .value = put};
    const cascade_completion_spawn spawn = {.size = sizeof(spawn),
                                            .node = "leaf"};
    const cascade_completion completion = {.size = sizeof(completion),
                                           .output_text = "[1]",
                                           .puts = &puts,
                                           .put_count = 1,
                                           .spawns = &spawn,
                                           .spawn_count = 1};
    cascade_err err = cascade_complete(c->store, &c->id, info->node_instance_id,
                                       info->token, &completion, NULL);

    cJSON_Delete((cJSON *)put);
    return err;
}

/* Twice: it was completed by then. */
static cascade_err
call_completion(script_caller *c)
{
    cascade_err err = start(c, "form");
    cascade_snapshot *snapshot = NULL;

    if (err == CASCADE_OK)
        snapshot = await_waiting(c->store, &c->id, "form");
    for (int i = 0; i < 2 && snapshot != NULL && err == CASCADE_OK; i++) {
        err = unless_ended(complete(c, find_waiting(snapshot, "form")));
        if (err == CASCADE_ERR_EXISTS)
            err = CASCADE_OK;
    }
    cascade_snapshot_free(snapshot);
    return err;
}

/* ---- The table ----------------------------------------------------------- */

#define SECOND_FIRST                                         \
    "undo:second#0: status 2, input {}, output -, error -\n" \
    "cascade.undo:first as */0/cascade.undo:first#0: status 2, "

const script scripts[] = {
    {"a join", call_join, "result [1]", 1, PICTURE_WHOLE},
    {"joins of what failed", call_spared, "result \"leaf\"", 1, PICTURE_WHOLE},
    {"children", call_children, "result \"bred\"", 3, PICTURE_WHOLE},
    {"a saga", call_saga, SECOND_FIRST, 1, PICTURE_WHOLE},
    {"signals", call_signals, "result [{\"n\":1},{\"n\":2}]", 1,
     PICTURE_SORTED},
    {"a start with its signal", call_start_with_signal,
     "result [{\"n\":1},{\"n\":2}]", 1, PICTURE_SORTED},
    {"runs that continue", call_runs, "result {\"n\":3}", 3, PICTURE_RUNS},
    {"updates", call_updates, "result \"two\"", 1, PICTURE_SORTED},
    {"a cancellation", call_cancel, "cancelled: so, context {\"seven\":[7]}", 1,
     PICTURE_WHOLE},
    {"a pause", call_pause, "cancelled: so, context {\"seven\":[7]}", 1,
     PICTURE_WHOLE},
    {"a termination", call_terminate, "error terminated", 1, PICTURE_WHOLE},
    {"a deletion", call_delete, "", 0, PICTURE_WHOLE},
    {"a cancelled parent", call_cancel_parent, "error cancelled", 2,
     PICTURE_WHOLE},
    {"a terminated parent", call_terminate_parent, "error terminated", 2,
     PICTURE_WHOLE},
    {"a retry", call_retry, "cascade.retry", 1, PICTURE_WHOLE},
    {"a rerun", call_rerun, "cascade.rerun", 1, PICTURE_WHOLE},
    {"a fork", call_fork, "result \"leaf\"", 2, PICTURE_WHOLE},
    {"a completion from outside", call_completion, "result \"leaf\"", 1,
     PICTURE_WHOLE},
};

const size_t script_count = sizeof(scripts) / sizeof(scripts[0]);
