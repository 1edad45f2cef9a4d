/* SPDX-License-Identifier: MIT
 *
 * Commands from outside: cancel, terminate, delete.
 *
 *   submit: one message --> an engine receives it, and carries it out
 *                           (build_command.c)
 *   no engine is alive  --> an engine without nodes, INLINE, for as long as it
 *                           takes to receive it
 *
 * That of another call does not count as alive: it goes away with its own
 * message received, and ours would stay. So each call has one of its own, and
 * whichever claims a cascade first receives what there is for it.
 *
 * If the process dies in between, the message is there, and the next engine
 * receives it. If the process lives on, but is cut off from the store and
 * cannot detach, what its engine owned is held until the lease has passed. So
 * the lease is no longer than the deadline that ends the call.
 */
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/json.h"
#include "engine/signal.h"

#define ROUND_MS 1 /* between two looks whether it was received */

/* ---- By oneself --------------------------------------------------------- */

static cascade_err
note_alive(void *context, const cascade_incarnation *row)
{
    bool *alive = context;

    if (row->lease_ms > 0 && !csc_house_is_brief(&row->engine_id))
        *alive = true;
    return CASCADE_OK;
}

static cascade_err
note_message(void *context, const cascade_message_row *row, bool repeated)
{
    (void)row;
    (void)repeated;
    *(bool *)context = true;
    return CASCADE_OK;
}

static cascade_err
note_cascade(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

/* Whether the cascade still has messages. */
static cascade_err
look(cascade_store *store, const cascade_uuid *id, bool *waits)
{
    cascade_load_sink sink = {.context = waits,
                              .on_cascade = note_cascade,
                              .on_message = note_message};

    *waits = false;
    return store->driver->load(store->self, id, 1, CASCADE_LOAD_MESSAGES,
                               &sink);
}

static void
pause_round(void)
{
    struct timespec pause = {0, (long)ROUND_MS * 1000000};

    (void)nanosleep(&pause, NULL);
}

static int64_t
left_ms(int64_t end_ms)
{
    int64_t left = end_ms - csc_clock_monotonic_ms(&csc_clock_system);

    return left > 0 ? left : 0;
}

/* Polls an engine of our own until the messages are received. */
static cascade_err
receive_alone(cascade_store *store, const cascade_uuid *id,
              cascade_engine *engine, int64_t end_ms)
{
    bool waits = true;
    cascade_err err = cascade_engine_start(engine);

    while (err == CASCADE_OK && waits && left_ms(end_ms) > 0) {
        err = cascade_engine_poll(engine, 0, NULL);
        if (err == CASCADE_OK)
            err = look(store, id, &waits);
        if (waits)
            pause_round();
    }
    return err;
}

static int64_t
lease_ms(const cascade_store *store)
{
    int64_t deadline_ms = store->config.deadline_ms;

    if (deadline_ms < CSC_LEASE_MIN_MS)
        return CSC_LEASE_MIN_MS;
    return deadline_ms < CSC_LEASE_MS ? deadline_ms : CSC_LEASE_MS;
}

/* It stays with engines to come when that fails: the command stands. */
static void
open_alone(cascade_store *store, const cascade_uuid *id)
{
    int64_t end_ms =
        csc_clock_monotonic_ms(&csc_clock_system) + store->config.deadline_ms;
    const char *queue = NULL;
    cascade_info *info = NULL;
    cascade_engine *engine = NULL;
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = lease_ms(store),
                                      .poll_interval_ms = 10,
                                      .capacity = 1, /* messages come first */
                                      .queues = &queue,
                                      .queue_count = 1};

    if (cascade_get(store, id, &info) != CASCADE_OK)
        return;
    queue = info->has_run ? info->queue : "default";
    if (cascade_engine_open(store, &options, &engine) == CASCADE_OK) {
        engine->brief = true;
        (void)receive_alone(store, id, engine, end_ms);
        (void)cascade_engine_stop(engine, left_ms(end_ms));
    }
    (void)cascade_engine_close(engine);
    cascade_info_free(info);
}

static void
carry_out_alone(cascade_store *store, const cascade_uuid *id)
{
    bool waits = false;

    if (look(store, id, &waits) == CASCADE_OK && waits)
        open_alone(store, id);
}

/* In the runs that it continued as too, where `follow`. */
void
csc_command_carry_out(cascade_store *store, const cascade_uuid *id, bool follow)
{
    cascade_uuid run = *id;
    bool alive = false;

    if (store->driver->engines(store->self, note_alive, &alive, NULL) !=
            CASCADE_OK ||
        alive)
        return;
    carry_out_alone(store, &run);
    while (follow && csc_follow_next(store, &run, &run) == CASCADE_OK)
        carry_out_alone(store, &run);
}

/* ---- Asking ------------------------------------------------------------- */

/* {"reason":...,"continued":true}, each where it is so. */
static cascade_err
keep_reason(csc_arena *arena, const char *reason, bool continued,
            const char **payload)
{
    csc_buf text = {0};

    *payload = continued ? "{\"continued\":true}" : "{}";
    if (reason == NULL)
        return CASCADE_OK;
    csc_buf_add_text(&text, "{\"reason\":");
    csc_json_add_string(&text, reason);
    csc_buf_add_text(&text, continued ? ",\"continued\":true}" : "}");
    *payload =
        text.failed ? NULL : csc_arena_strndup(arena, text.data, text.len);
    csc_buf_fini(&text);
    return *payload != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
check_request(const cascade_request_options *given,
              cascade_request_options *known)
{
    cascade_err err =
        csc_check_options("request options", given, known, sizeof(*known));

    if (err == CASCADE_OK && known->request_id != NULL)
        err = csc_check_text("request id", known->request_id);
    if (err == CASCADE_OK && known->reason != NULL)
        err = csc_check_text("reason", known->reason);
    return err;
}

static cascade_err
make_request(cascade_store *store, csc_arena *arena, const cascade_uuid *id,
             const cascade_request_options *options,
             cascade_message_row *message)
{
    int64_t now_ms = 0;
    bool continued = false;
    cascade_err err = csc_store_get_now(store, &now_ms);

    if (err == CASCADE_OK && strcmp(message->kind, CSC_MESSAGE_DELETE) == 0)
        err = csc_follow_may_delete(store, id, &continued);
    if (err != CASCADE_OK)
        return err;
    message->cascade_id = *id;
    message->name = "";
    message->sent_at_ms = now_ms;
    message->path = csc_signal_path(store, arena, id, message->kind,
                                    options->request_id, now_ms);
    if (message->path == NULL)
        return csc_fail_memory();
    return keep_reason(arena, options->reason, continued, &message->payload);
}

static cascade_err
request(cascade_store *store, const cascade_uuid *id, const char *kind,
        const cascade_request_options *given)
{
    csc_arena arena = {0};
    cascade_request_options options = {0};
    cascade_message_row message = {.kind = kind};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    bool deletes = strcmp(kind, CSC_MESSAGE_DELETE) == 0;
    cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    cascade_err err = CASCADE_OK;

    if (store == NULL || id == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "%s: %s is NULL", kind,
                        store == NULL ? "store" : "id");
    err = check_request(given, &options);
    if (err == CASCADE_OK)
        err = make_request(store, &arena, id, &options, &message);
    if (err == CASCADE_OK)
        err = csc_submit(store, &submission, kind);
    if (err == CASCADE_OK && !deletes)
        err = csc_follow_sent(store, id, message.path, &sent);
    if (err == CASCADE_OK && sent != CASCADE_SENT_ABSENT)
        csc_command_carry_out(store, id, !deletes);
    csc_arena_fini(&arena);
    if (err != CASCADE_OK)
        return err;
    if (sent == CASCADE_SENT_ENDED && deletes)
        return csc_ok();
    return csc_signal_answer(sent, kind);
}

cascade_err
cascade_cancel(cascade_store *store, const cascade_uuid *id,
               const cascade_request_options *options)
{
    return request(store, id, CSC_MESSAGE_CANCEL, options);
}

cascade_err
cascade_terminate(cascade_store *store, const cascade_uuid *id,
                  const cascade_request_options *options)
{
    return request(store, id, CSC_MESSAGE_TERMINATE, options);
}

cascade_err
cascade_delete(cascade_store *store, const cascade_uuid *id,
               const cascade_request_options *options)
{
    return request(store, id, CSC_MESSAGE_DELETE, options);
}
