/* SPDX-License-Identifier: MIT
 *
 * Sending signals from outside.
 *
 *   cascade_signal --> submit: one message --> an engine receives it
 *
 * A signal is one row, inserted in a transaction of its own; nothing else is
 * touched, so a cascade that parks, ends or changes hands at the same moment
 * cannot lose it. Its path is made of the request id: a repeated one is told
 * from a new one as long as the message or its receipt is there, or what
 * outlives that (link.h). A run that has continued as new sends it on, with its
 * path; where that run is gone the sender does.
 *
 *   run 1 (started) --> run 2 --> run 3    run 4 (started) --> run 5
 *   \_______ the path is run 1's _______/  \__ it is run 4's __/
 *
 * Whichever run of them it is sent to, by its id or as the key's current one,
 * the path is that of the run that was started, which each later one records.
 * So a request id holds for the runs that a start continues as, and another
 * start of the key begins anew. Updates and commands that are sent on do the
 * same.
 *
 * If the process dies in the call, the signal is there or not; with a request
 * id of its own the caller may send it again.
 */
#include "client/signal.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/op.h"
#include "client/submit.h"
#include "query/link.h"
#include "query/run_chain.h"
#include "store/move.h"
#include "store/store.h"

static cascade_err
check_signal(const char *name, const cascade_signal_options *given,
             cascade_signal_options *known)
{
    cascade_err err =
        csc_check_options("signal options", given, known, sizeof(*known));

    if (err == CASCADE_OK)
        err = csc_check_name("signal name", name);
    if (err == CASCADE_OK && known->request_id != NULL)
        err = csc_check_text("request id", known->request_id);
    return err;
}

cascade_err
csc_signal_check(const cascade_store *store, const csc_signal_spec *spec)
{
    cascade_signal_options options = {0};
    csc_buf scratch = {0};
    cascade_err err = check_signal(spec->name, spec->options, &options);

    if (err == CASCADE_OK)
        err = csc_json_given_canon("payload", spec->payload,
                                   store->config.payload_max, &scratch);
    csc_buf_fini(&scratch);
    return err;
}

cascade_err
csc_signal_make(cascade_store *store, csc_arena *arena,
                const csc_signal_spec *spec, const cascade_uuid *id,
                cascade_message_row *message)
{
    cascade_signal_options options = {0};
    cascade_err err = check_signal(spec->name, spec->options, &options);
    cascade_uuid root = *id;
    int64_t now_ms = 0;

    if (err == CASCADE_OK)
        err = csc_store_get_now(store, &now_ms);
    if (err == CASCADE_OK && options.request_id != NULL)
        err = csc_run_chain_root(store, id, &root);
    if (err != CASCADE_OK)
        return err;
    *message =
        (cascade_message_row){.cascade_id = *id,
                              .kind = CSC_MESSAGE_SIGNAL,
                              .name = csc_arena_strdup(arena, spec->name),
                              .path = csc_run_chain_signal_path(
                                  store, arena, &root, CSC_MESSAGE_SIGNAL,
                                  options.request_id, now_ms),
                              .sent_at_ms = now_ms};
    if (message->name == NULL || message->path == NULL)
        return csc_fail_memory();
    return csc_json_given_keep("payload", spec->payload,
                               store->config.payload_max, arena,
                               &message->payload, NULL);
}

cascade_err
csc_signal_answer(cascade_sent sent, const char *what)
{
    switch (sent) {
    case CASCADE_SENT:
    case CASCADE_SENT_REPEATED:
        return csc_ok();
    case CASCADE_SENT_ENDED:
        return csc_fail(CASCADE_ERR_ENDED,
                        "%s: the cascade has ended; that it was asked for is "
                        "recorded there",
                        what);
    case CASCADE_SENT_ABSENT:
        break;
    }
    return csc_fail(CASCADE_ERR_NOT_FOUND, "%s: there is no such cascade",
                    what);
}

static cascade_err
send_signal(cascade_store *store, const cascade_uuid *id,
            const csc_signal_spec *spec)
{
    csc_arena arena = {0};
    cascade_message_row message = {0};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    csc_link_way way = {.run = *id};
    bool again = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && again) {
        err = csc_signal_make(store, &arena, spec, &way.run, &message);
        if (err == CASCADE_OK)
            err = csc_submit(store, &submission, "signal");
        err = csc_link_turn(store, err, sent, &way, &again);
    }
    if (err == CASCADE_OK)
        err = csc_run_chain_sent(store, &way.run, message.path, &sent);
    if (err == CASCADE_OK)
        err = csc_signal_answer(sent, "signal");
    csc_arena_fini(&arena);
    return err;
}

static cascade_err
signal_id(cascade_store *store, const cascade_uuid *id,
          const csc_signal_spec *spec)
{
    cascade_err err = CASCADE_OK;

    if (store == NULL || id == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "signal: %s is NULL",
                       store == NULL ? "store" : "id");
    else
        err = csc_origin_check(store);
    if (err == CASCADE_OK)
        err = csc_store_refuse_inside(store, "cascade_signal()");
    return err == CASCADE_OK ? send_signal(store, id, spec) : err;
}

cascade_err
cascade_signal(cascade_store *store, const cascade_uuid *id, const char *name,
               cJSON *payload, const cascade_signal_options *options)
{
    const csc_signal_spec spec = {name, csc_json_given_tree(payload), options};
    cascade_err err = signal_id(store, id, &spec);

    cJSON_Delete(payload);
    return err;
}

cascade_err
cascade_signal_text(cascade_store *store, const cascade_uuid *id,
                    const char *name, const char *payload,
                    const cascade_signal_options *options)
{
    const csc_signal_spec spec = {name, csc_json_given_text(payload), options};

    return signal_id(store, id, &spec);
}

/* The current run of a key. */
static cascade_err
find_key(cascade_store *store, const char *user_id, const char *key,
         cascade_uuid *id)
{
    int32_t run_number = 1;
    cascade_err err = csc_check_text("user id", user_id);

    if (err == CASCADE_OK)
        err = csc_check_text("key", key);
    if (err == CASCADE_OK)
        err = csc_move_key(store, user_id, key, &run_number);
    if (err != CASCADE_OK)
        return err;
    *id = csc_uuid_v8(user_id, key, run_number);
    return CASCADE_OK;
}

cascade_err
cascade_key_current(cascade_store *store, const char *user_id, const char *key,
                    cascade_uuid *id)
{
    cascade_uuid found;
    cascade_err err;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "key current: %s is NULL",
                        store == NULL ? "store" : "id");
    err = find_key(store, user_id != NULL ? user_id : CSC_USER_DEFAULT, key,
                   &found);
    if (err != CASCADE_OK)
        return err;
    *id = found;
    return csc_ok();
}

static cascade_err
signal_key(cascade_store *store, const char *user_id, const char *key,
           const csc_signal_spec *spec)
{
    cascade_uuid id;
    cascade_err err = CASCADE_OK;

    if (store == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "signal: store is NULL");
    else
        err = csc_origin_check(store);
    if (err == CASCADE_OK)
        err = csc_store_refuse_inside(store, "cascade_signal_key()");
    if (err == CASCADE_OK)
        err = find_key(store, user_id != NULL ? user_id : CSC_USER_DEFAULT, key,
                       &id);
    return err == CASCADE_OK ? send_signal(store, &id, spec) : err;
}

cascade_err
cascade_signal_key(cascade_store *store, const char *user_id, const char *key,
                   const char *name, cJSON *payload,
                   const cascade_signal_options *options)
{
    const csc_signal_spec spec = {name, csc_json_given_tree(payload), options};
    cascade_err err = signal_key(store, user_id, key, &spec);

    cJSON_Delete(payload);
    return err;
}

cascade_err
cascade_signal_key_text(cascade_store *store, const char *user_id,
                        const char *key, const char *name, const char *payload,
                        const cascade_signal_options *options)
{
    const csc_signal_spec spec = {name, csc_json_given_text(payload), options};

    return signal_key(store, user_id, key, &spec);
}
