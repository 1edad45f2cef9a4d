/* SPDX-License-Identifier: MIT
 *
 * What a play sends and asks, and how that is noted in its journal; see
 * scene.h.
 */
#include <stdio.h>
#include <string.h>

#include "cascade/manage.h"
#include "state/state.h"
#include "sweep/scene_internal.h"

#define ANSWER_MS 1 /* while nobody polls there can be none */

/* ---- Messages ------------------------------------------------------------ */

static void
note_message(scene *s, const cascade_uuid *id, const scene_message *message,
             bool sent, cascade_err err)
{
    const oracle_message told = {.to = id,
                                 .kind = message->kind,
                                 .name = message->name,
                                 .request_id = message->request_id};

    journal_message(s->journal, &told, sent, err);
}

/* What the caller did not know is no fault. */
static cascade_err
check_sent(scene *s, cascade_err err, const char *call)
{
    (void)scene_check(s, err, call);
    return err == CASCADE_ERR_ENDED ? CASCADE_OK : err;
}

static const struct {
    const char *kind;
    cascade_err (*call)(cascade_store *store, const cascade_uuid *id,
                        const cascade_request_options *options);
} commands[] = {{"cancel", cascade_cancel},
                {"terminate", cascade_terminate},
                {"retry", cascade_retry},
                {"pause", cascade_pause},
                {"resume", cascade_resume}};

static cascade_err
send_command(cascade_store *store, const cascade_uuid *id,
             const scene_message *message)
{
    const cascade_request_options options = {.size = sizeof(options),
                                             .request_id = message->request_id,
                                             .reason = "so it is played"};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(message->kind, commands[i].kind) == 0)
            return commands[i].call(store, id, &options);
    if (strcmp(message->kind, "rerun") == 0)
        return cascade_rerun(
            store, id,
            &(cascade_rerun_options){.size = sizeof(cascade_rerun_options),
                                     .request_id = message->request_id,
                                     .from = message->n});
    return cascade_delete(store, id, &options);
}

/* {"n":n}; without memory the call has failed. */
static cJSON *
make_payload(int n)
{
    cJSON *payload = cJSON_CreateObject();

    if (payload == NULL || cJSON_AddNumberToObject(payload, "n", n) == NULL) {
        cJSON_Delete(payload);
        return NULL;
    }
    return payload;
}

cascade_err
scene_send(scene *s, cascade_store *store, const cascade_uuid *id,
           const scene_message *message)
{
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = message->request_id};
    cJSON *payload = message->name != NULL ? make_payload(message->n) : NULL;
    cascade_err err = CASCADE_OK;

    if (message->name != NULL && payload == NULL)
        return CASCADE_ERR_NO_MEMORY;
    note_message(s, id, message, false, CASCADE_OK);
    scene_let_flow(s, true); /* a command may be carried out by the call */
    if (message->name != NULL)
        err = cascade_signal(store, id, message->name, payload, &options);
    else
        err = send_command(store, id, message);
    scene_let_flow(s, false);
    note_message(s, id, message, true, err);
    return check_sent(s, err, message->kind);
}

cascade_err
scene_start_with(scene *s, cascade_store *store, const char *key,
                 const scene_message *message)
{
    const cascade_start_options start = {
        .size = sizeof(start), .user_id = "u", .key = key};
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = message->request_id};
    const cascade_uuid id = scene_id_of(&start);
    cascade_started started;
    cJSON *payload = make_payload(message->n);
    cascade_err err = CASCADE_OK;

    if (payload == NULL)
        return CASCADE_ERR_NO_MEMORY;
    journal_starting(s->journal, &id);
    note_message(s, &id, message, false, CASCADE_OK);
    err = cascade_start_with_signal(store, "hear", NULL, &start, message->name,
                                    payload, &options, &started);
    note_message(s, &id, message, true, err);
    if (err == CASCADE_OK || err == CASCADE_ERR_ENDED)
        journal_started(s->journal, &started.id, started.existed);
    return check_sent(s, err, "start with signal");
}

cascade_err
scene_send_key(scene *s, cascade_store *store, const char *key,
               const scene_message *message)
{
    const cascade_start_options start = {.user_id = "u", .key = key};
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = message->request_id};
    const cascade_uuid id = scene_id_of(&start);
    cJSON *payload = make_payload(message->n);
    cascade_err err = CASCADE_OK;

    if (payload == NULL)
        return CASCADE_ERR_NO_MEMORY;
    note_message(s, &id, message, false, CASCADE_OK);
    err = cascade_signal_key(store, "u", key, message->name, payload, &options);
    note_message(s, &id, message, true, err);
    return check_sent(s, err, "signal by key");
}

static cascade_err
note_waiting(void *context, const cascade_message_row *row, bool repeated)
{
    (void)row;
    (void)repeated;
    *(bool *)context = true;
    return CASCADE_OK;
}

static cascade_err
pass_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

bool
scene_has_messages(const scene *s, const cascade_store *store,
                   const cascade_uuid *id)
{
    bool waits = false;
    const cascade_load_sink sink = {.context = &waits,
                                    .on_cascade = pass_cascade,
                                    .on_message = note_waiting};

    return journal_was_sent(s->journal, id, NULL) &&
           (store->driver->load(store->self, id, 1, CASCADE_LOAD_MESSAGES,
                                &sink) != CASCADE_OK ||
            waits);
}

/* ---- Updates ------------------------------------------------------------- */

static cascade_err
update(scene *s, cascade_store *store, const cascade_uuid *id,
       const scene_message *message, cJSON *request)
{
    const cascade_update_options options = {.size = sizeof(options),
                                            .request_id = message->request_id,
                                            .timeout_ms = ANSWER_MS};
    cJSON *answer = NULL;
    cascade_err err = CASCADE_OK;

    scene_let_flow(s, true);
    err = cascade_update(store, id, message->name, request, &options, &answer);
    scene_let_flow(s, false);
    if (err == CASCADE_OK)
        SCENE_EXPECT(s, cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(
                            answer, "n")) == 2.0 * message->n);
    cJSON_Delete(answer);
    return scene_check(s, err, "update");
}

/* To the oracle it is a signal. Without an answer it may have been sent. */
cascade_err
scene_ask_once(scene *s, cascade_store *store, const cascade_uuid *id,
               const scene_message *message)
{
    char name[JOURNAL_NAME];
    scene_message told = *message;
    cJSON *request = make_payload(message->n);
    cascade_err err = CASCADE_OK;

    if (request == NULL)
        return CASCADE_ERR_NO_MEMORY;
    snprintf(name, sizeof(name), "%s%s", CSC_UPDATE_NAME, message->name);
    told.name = name;
    note_message(s, id, &told, false, CASCADE_OK);
    err = update(s, store, id, message, request);
    note_message(s, id, &told, true,
                 err == CASCADE_ERR_TIMEOUT ? CASCADE_ERR_OUTCOME_UNKNOWN
                                            : err);
    return err;
}
