/* SPDX-License-Identifier: MIT
 *
 * Commands from outside.
 *
 *   submit: one message --> an engine receives it, and carries it out
 *                           (command.c)
 *   no engine is alive  --> an engine without nodes, INLINE, for as long as it
 *                           takes to receive it
 *   look: the receipt   --> what came of it, for a caller who waits
 *
 * A look reads the row, and what executions there are since the one before, so
 * what it costs to wait does not grow with the history.
 *
 * The receipt is an execution with the path of the message, in the cascade or
 * in the run that this continued as. A request id holds for the runs that a
 * start continues as, as that of a signal does (signal.c), where it is sent on
 * from run to run; of a deletion, a retry and a rerun, which are of one run
 * alone, for that one. One that is FAILED and lets the cascade
 * go on is undelivered. A deletion has no receipt: the cascade is gone.
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
#include "client/command.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json_object.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/op.h"
#include "client/signal.h"
#include "client/submit.h"
#include "engine/lease.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "query/audit/erasure.h"
#include "query/execution_info.h"
#include "query/link.h"
#include "query/run_chain.h"
#include "query/wait.h"
#include "state/full_output.h"
#include "state/supersede.h"
#include "store/move.h"
#include "store/store.h"

#define ROUND_MS 1 /* between two looks whether it was received */
#define LOOK_PAGE 1000

/* ---- By oneself --------------------------------------------------------- */

static cascade_err
note_alive(void *context, const cascade_incarnation *row)
{
    bool *alive = context;

    if (row->lease_ms > 0 && !csc_uuid_is_brief(&row->engine_id))
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

/* Whether the cascade still has messages. */
static cascade_err
look(cascade_store *store, const cascade_uuid *id, bool *waits)
{
    cascade_load_sink sink = {.context = waits,
                              .on_cascade = csc_get_pass,
                              .on_message = note_message};

    *waits = false;
    return csc_move_load(store, id, 1, CASCADE_LOAD_MESSAGES, &sink);
}

/* Polls an engine of our own until the messages are received. */
static cascade_err
receive_alone(cascade_store *store, const cascade_uuid *id,
              cascade_engine *engine, int64_t end_ms)
{
    bool waits = true;
    cascade_err err = cascade_engine_start(engine);

    while (err == CASCADE_OK && waits && csc_clock_left_ms(end_ms) > 0) {
        err = cascade_engine_poll(engine, 0, NULL);
        if (err == CASCADE_OK)
            err = look(store, id, &waits);
        if (waits)
            csc_submit_sleep(ROUND_MS);
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
    queue = info->has_run ? info->queue : CSC_QUEUE_DEFAULT;
    if (cascade_engine_open(store, &options, &engine) == CASCADE_OK) {
        engine->incarnation.brief = true;
        (void)receive_alone(store, id, engine, end_ms);
        (void)cascade_engine_stop(engine, csc_clock_left_ms(end_ms));
    }
    (void)cascade_engine_close(engine);
    cascade_info_free(info);
    (void)csc_erasure_finish_all(store, end_ms);
}

static void
carry_out_alone(cascade_store *store, const cascade_uuid *id)
{
    bool waits = false;

    if (look(store, id, &waits) == CASCADE_OK && waits)
        open_alone(store, id);
}

bool
csc_command_is_alone(cascade_store *store)
{
    bool alive = false;
    cascade_err err = CASCADE_OK;

    if (csc_store_is_within(store))
        return false; /* the message takes effect later, if at all */
    if (csc_store_is_served(store))
        return false; /* the store need not be asked */
    err = csc_move_engines(store, note_alive, &alive, NULL);
    return err == CASCADE_OK && !alive;
}

/* In the runs that it continued as too, where `follow`. */
void
csc_command_carry_out(cascade_store *store, const cascade_uuid *id, bool follow)
{
    cascade_uuid run = *id;

    if (!csc_command_is_alone(store))
        return;
    carry_out_alone(store, &run);
    while (follow && csc_run_chain_next(store, &run, &run) == CASCADE_OK)
        carry_out_alone(store, &run);
}

/* ---- Asking ------------------------------------------------------------- */

static bool
deletes(const csc_command_spec *spec)
{
    return strcmp(spec->kind, CSC_MESSAGE_DELETE) == 0;
}

/* {"by":...,"from":...,"reason":...,"ended_at":...}, each where it is so. */
static cascade_err
write_payload(csc_arena *arena, const csc_command_spec *spec,
              const cascade_request_options *known, int32_t ended_at,
              const char **payload)
{
    csc_buf text = {0};
    csc_json_object writer;

    csc_json_object_begin(&writer, &text);
    csc_json_object_add_string(&writer, "by", known->by);
    if (spec->from != NULL)
        csc_json_object_add_number(&writer, "from", *spec->from);
    csc_json_object_add_string(&writer, "reason", known->reason);
    if (ended_at != CSC_FOLLOW_RUNS)
        csc_json_object_add_number(&writer, CSC_ENDED_AT, ended_at);
    csc_json_object_end(&writer);
    *payload =
        text.failed ? NULL : csc_arena_strndup(arena, text.data, text.len);
    csc_buf_fini(&text);
    return *payload != NULL ? CASCADE_OK : csc_fail_memory();
}

cascade_err
csc_command_check(const csc_command_spec *spec, cascade_request_options *known)
{
    cascade_err err = csc_check_options("request options", spec->options, known,
                                        sizeof(*known));

    if (err == CASCADE_OK && known->request_id != NULL)
        err = csc_check_text("request id", known->request_id);
    if (err == CASCADE_OK && known->reason != NULL)
        err = csc_check_text("reason", known->reason);
    if (err == CASCADE_OK && known->by != NULL)
        err = csc_check_text("by", known->by);
    if (err == CASCADE_OK)
        err = csc_get_check(spec->kind, known->wait_ms);
    return err;
}

cascade_err
csc_command_make(cascade_store *store, csc_arena *arena, const cascade_uuid *id,
                 const csc_command_spec *spec,
                 const cascade_request_options *known,
                 cascade_message_row *message)
{
    cascade_uuid root = *id;
    int64_t now_ms = 0;
    int32_t ended_at = CSC_FOLLOW_RUNS;
    cascade_link run = {.id = {{0}}};
    cascade_err err = csc_store_get_now(store, &now_ms);

    if (err == CASCADE_OK && deletes(spec))
        err = csc_run_chain_may_delete(store, id, &ended_at, &run);
    /* Within a transaction of the application's its chain would be locked for
     * as long as that is open, and so would be the commit of its next run. */
    if (err == CASCADE_OK && !csc_uuid_is_nil(&run.id) &&
        !csc_store_is_within(store))
        err = csc_link_keep_found(store, &run);
    if (err == CASCADE_OK && known->request_id != NULL && !spec->of_ended)
        err = csc_run_chain_root(store, id, &root);
    if (err != CASCADE_OK)
        return err;
    *message = (cascade_message_row){
        .cascade_id = *id,
        .kind = spec->kind,
        .name = "",
        .sent_at_ms = now_ms,
        .path = csc_run_chain_signal_path(store, arena, &root, spec->kind,
                                          known->request_id, now_ms)};
    if (message->path == NULL)
        return csc_fail_memory();
    return write_payload(arena, spec, known, ended_at, &message->payload);
}

/* A call that asks. */
typedef struct call {
    cascade_store *store;
    const csc_command_spec *spec;
    cascade_uuid run; /* where the receipt is looked for */
    const char *path; /* of the receipt */
    csc_arena arena;
    csc_watch watch;
    int32_t from; /* the receipt has no lower function_id */
    bool gone;    /* it was in a run that was deleted */
    /* What the looks saw: */
    size_t seen; /* executions of the last page */
    bool there;
    bool over;         /* the cascade has ended */
    int32_t open;      /* the receipt of one that is being carried out; or 0 */
    bool received;     /* there is a receipt */
    bool refused;      /* which is undelivered, */
    const char *error; /* as this says */
} call;

/* A request that is repeated is looked for where the first one has come to. */
static cascade_err
go_to_first(call *c, const char *path)
{
    cascade_err err = csc_run_chain_path(c->store, path, &c->run, &c->gone);

    if (err == CASCADE_OK)
        return err;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "%s: it was sent before, and what came of it cannot be "
                    "read: %s",
                    c->spec->kind, cascade_errmsg());
}

/* What is of one run alone does not go to another where that is gone. */
static cascade_err
submit(call *c, const cascade_request_options *options,
       cascade_message_row *message, cascade_sent *sent)
{
    const cascade_submission submission = {
        .messages = message, .message_count = 1, .sent = sent};
    csc_link_way way = {.run = c->run};
    bool again = true;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && again) {
        again = false;
        c->run = way.run;
        err = csc_command_make(c->store, &c->arena, &c->run, c->spec, options,
                               message);
        if (err == CASCADE_OK)
            err = csc_submit(c->store, &submission, c->spec->kind);
        if (!c->spec->of_ended)
            err = csc_link_turn(c->store, err, *sent, &way, &again);
        if (again)
            c->from = INT32_MIN;
    }
    return err;
}

static cascade_err
send(call *c, const cascade_request_options *options)
{
    cascade_message_row message = {.path = NULL};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    bool of_ended = c->spec->of_ended;
    cascade_err err = submit(c, options, &message, &sent);

    if (sent == CASCADE_SENT_REPEATED)
        c->from = INT32_MIN; /* it may have been received long ago */
    if (err == CASCADE_OK && !of_ended)
        err = csc_run_chain_sent(c->store, &c->run, message.path, &sent);
    if (err == CASCADE_OK && !of_ended && sent == CASCADE_SENT_REPEATED)
        err = go_to_first(c, message.path);
    if (err == CASCADE_OK && sent != CASCADE_SENT_ABSENT)
        csc_command_carry_out(c->store, &c->run, !of_ended);
    if (err != CASCADE_OK)
        return err;
    c->path = message.path;
    if (sent == CASCADE_SENT_ENDED && of_ended)
        return csc_ok();
    return csc_signal_answer(sent, c->spec->kind);
}

/* ---- What came of it ---------------------------------------------------- */

static cascade_err
see_execution(void *context, const cascade_execution_row *row)
{
    call *c = context;
    csc_record record;

    c->seen++;
    c->from = row->function_id;
    if (strcmp(row->node_instance_id, c->path) != 0)
        return CASCADE_OK;
    if (csc_supersede_is_receipt(row) &&
        row->status == CASCADE_EXECUTION_RUNNING) {
        c->open = row->function_id; /* it is being carried out */
        return CASCADE_OK;
    }
    csc_full_output_read(row, &record);
    c->received = true;
    c->refused = row->status == CASCADE_EXECUTION_FAILED && record.continued;
    c->error =
        csc_arena_strdup(&c->arena, row->error != NULL ? row->error : "");
    return c->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* The last one that was seen is read again: it tells nothing new. */
static cascade_err
look_for_receipt(call *c)
{
    cascade_load_sink sink = {.context = c, .on_execution = see_execution};
    cascade_scan scan = {.cascade_id = &c->run, .limit = LOOK_PAGE};
    cascade_err err = CASCADE_OK;

    do {
        c->seen = 0;
        scan.from = c->from;
        err = csc_move_scan(c->store, &scan, &sink);
    } while (err == CASCADE_OK && c->seen == LOOK_PAGE && !c->received &&
             c->open == 0);
    if (c->open > 0)
        c->from = c->open;
    c->open = 0;
    return err;
}

/* The row first: behind the end of a cascade there is the receipt, or the run
 * that it continued as has it. */
static cascade_err
look_at_run(call *c)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(c->store, &c->run, &info);

    c->there = err == CASCADE_OK;
    c->over = c->there && info->status != CASCADE_RUNNING;
    cascade_info_free(info);
    if (err == CASCADE_ERR_NOT_FOUND)
        return CASCADE_OK;
    return err == CASCADE_OK ? look_for_receipt(c) : err;
}

/* On to the run that this one continued as, of which nothing was seen so far;
 * `*on`: there is one. */
static cascade_err
move_on(call *c, bool *on)
{
    cascade_err err = csc_run_chain_next(c->store, &c->run, &c->run);

    *on = err == CASCADE_OK;
    if (!*on)
        return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
    c->from = INT32_MIN;
    csc_watch_move(&c->store->watches, &c->watch, &c->run);
    return CASCADE_OK;
}

cascade_err
csc_command_fail(const char *kind, const char *text)
{
    return csc_fail(strcmp(text, CSC_UNDELIVERED) == 0 ? CASCADE_ERR_ENDED
                                                       : CASCADE_ERR_REFUSED,
                    "%s: %s", kind, text);
}

/* What the last look has to say; CASCADE_ERR_AGAIN: nothing yet. */
static cascade_err
judge(const call *c)
{
    const csc_command_spec *spec = c->spec;

    if (!c->there && deletes(spec))
        return CASCADE_OK;
    if (!c->there)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "%s: the cascade was deleted before it was received",
                        spec->kind);
    if (c->refused)
        return spec->refusal != NULL ? spec->refusal(spec->kind, c->error)
                                     : csc_command_fail(spec->kind, c->error);
    return c->received && !deletes(spec) ? CASCADE_OK : CASCADE_ERR_AGAIN;
}

/* A receipt is in the run to which the message was sent on. An engine that was
 * alive may be so no more. */
static cascade_err
look_received(void *context, bool late)
{
    call *c = context;
    bool of_ended = c->spec->of_ended;
    bool on = true;
    cascade_err err = CASCADE_OK;

    if (late)
        csc_command_carry_out(c->store, &c->run, !of_ended);
    err = look_at_run(c);
    while (err == CASCADE_OK && !of_ended && c->over && !c->received && on) {
        err = move_on(c, &on);
        if (err == CASCADE_OK && on)
            err = look_at_run(c);
    }
    if (err == CASCADE_OK)
        return judge(c);
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "%s: it was sent, and what came of it cannot be read: %s",
                    c->spec->kind, cascade_errmsg());
}

static cascade_err
await_receipt(call *c, int64_t wait_ms)
{
    cascade_err err =
        csc_get_until(c->store, &c->watch, wait_ms, look_received, c);

    if (err != CASCADE_ERR_AGAIN)
        return err;
    return csc_fail(err,
                    "%s: sent, but not carried out within %lld ms; look at the "
                    "cascade later",
                    c->spec->kind, (long long)wait_ms);
}

/* Where the cascade is before it is asked: what it receives comes behind. Where
 * it is gone another may receive it. */
static cascade_err
note_place(call *c)
{
    cascade_info *info = NULL;
    cascade_err err = csc_get_read(c->store, &c->run, &info);

    c->from = err == CASCADE_OK ? info->fn_id : INT32_MIN;
    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

static cascade_err
send_and_wait(call *c, const cascade_request_options *options)
{
    cascade_err err = csc_watch_begin(&c->store->watches, &c->watch, &c->run);

    if (err != CASCADE_OK)
        return err;
    err = note_place(c);
    if (err == CASCADE_OK)
        err = send(c, options);
    csc_watch_move(&c->store->watches, &c->watch, &c->run);
    if (err == CASCADE_OK && c->gone)
        err = csc_run_chain_fail_gone(c->spec->kind);
    if (err == CASCADE_OK)
        err = await_receipt(c, options->wait_ms);
    csc_watch_end(&c->store->watches, &c->watch);
    return err;
}

/* Where the call would wait for a transaction that it is itself in. */
static cascade_err
refuse(const cascade_store *store, const char *kind, int64_t wait_ms)
{
    char what[64];

    (void)snprintf(what, sizeof(what), "%s%s", kind,
                   wait_ms != 0 ? " with wait_ms" : "");
    return wait_ms != 0 ? csc_store_refuse_within(store, what)
                        : csc_store_refuse_inside(store, what);
}

cascade_err
csc_command_request(cascade_store *store, const cascade_uuid *id,
                    const csc_command_spec *spec)
{
    cascade_request_options options = {0};
    call c = {.store = store, .spec = spec};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "%s: %s is NULL", spec->kind,
                        store == NULL ? "store" : "id");
    c.run = *id;
    err = csc_command_check(spec, &options);
    if (err == CASCADE_OK)
        err = refuse(store, spec->kind, options.wait_ms);
    if (err == CASCADE_OK)
        err = options.wait_ms != 0 ? send_and_wait(&c, &options)
                                   : send(&c, &options);
    csc_arena_fini(&c.arena);
    return err == CASCADE_OK ? csc_ok() : err;
}

/* ---- Public ------------------------------------------------------------- */

cascade_err
cascade_cancel(cascade_store *store, const cascade_uuid *id,
               const cascade_request_options *options)
{
    return csc_command_request(
        store, id,
        &(csc_command_spec){.kind = CSC_MESSAGE_CANCEL, .options = options});
}

cascade_err
cascade_terminate(cascade_store *store, const cascade_uuid *id,
                  const cascade_request_options *options)
{
    return csc_command_request(
        store, id,
        &(csc_command_spec){.kind = CSC_MESSAGE_TERMINATE, .options = options});
}

cascade_err
cascade_delete(cascade_store *store, const cascade_uuid *id,
               const cascade_request_options *options)
{
    return csc_command_request(store, id,
                               &(csc_command_spec){.kind = CSC_MESSAGE_DELETE,
                                                   .options = options,
                                                   .of_ended = true});
}

cascade_err
cascade_pause(cascade_store *store, const cascade_uuid *id,
              const cascade_request_options *options)
{
    return csc_command_request(
        store, id,
        &(csc_command_spec){.kind = CSC_MESSAGE_PAUSE, .options = options});
}

cascade_err
cascade_resume(cascade_store *store, const cascade_uuid *id,
               const cascade_request_options *options)
{
    return csc_command_request(
        store, id,
        &(csc_command_spec){.kind = CSC_MESSAGE_RESUME, .options = options});
}
