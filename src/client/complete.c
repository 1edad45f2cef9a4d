/* SPDX-License-Identifier: MIT
 *
 * Completing an execution from outside.
 *
 *   look: does it wait, with that token? --> submit: one message "complete"
 *     | no: refused, nothing is written        |
 *                                              v
 *                       an engine receives it (external.c); where none is
 *                       alive, an engine of our own (command.c)
 *
 * A token is compared in constant time, here and where the message is received.
 * The path of the message is made of it, and it is the right one by then, so of
 * two that are under way one is taken. The look comes before the message, not
 * with it, and the execution may end in between; therefore a second look
 * follows, which sees every end that was recorded before the message was there:
 * another completion is told from this one. What remains is that the deadline,
 * or the cascade's end, is recorded after that look and before the message is
 * received. Whoever receives it decides, once; a caller who must know waits.
 *
 * A submit whose reply was lost is repeated, so the message that is in the way,
 * or the end that was quicker, may be of this very completion: `by` tells.
 *
 * If the process dies in the call, the message is there or not; the caller may
 * call again, and is told when it was.
 */
#include "cascade/cascade.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/text.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/completion.h"
#include "change/effects.h"
#include "change/op.h"
#include "client/command.h"
#include "client/signal.h"
#include "client/submit.h"
#include "query/wait.h"
#include "state/full_output.h"
#include "store/move.h"
#include "store/store.h"

#define BYTES_MAX ((size_t)4 * 1024 * 1024)

/* ---- Looking ------------------------------------------------------------ */

/* The execution, as the store has it. */
typedef struct sight {
    const char *path;
    bool cascade_there;
    bool there;
    cascade_status cascade_status;
    cascade_execution_status status;
    csc_record record; /* but for its spans */
} sight;

static cascade_err
note_cascade(void *context, const cascade_row *row)
{
    sight *seen = context;

    seen->cascade_there = true;
    seen->cascade_status = row->status;
    return CASCADE_OK;
}

static cascade_err
note_execution(void *context, const cascade_execution_row *row)
{
    sight *seen = context;

    if (strcmp(row->node_instance_id, seen->path) != 0)
        return CASCADE_OK;
    seen->there = true;
    seen->status = row->status;
    csc_full_output_read(row, &seen->record);
    return CASCADE_OK;
}

static cascade_err
look(cascade_store *store, const cascade_uuid *id, const char *path,
     sight *seen)
{
    cascade_load_sink sink = {.context = seen,
                              .on_cascade = note_cascade,
                              .on_execution = note_execution};
    cascade_err err = CASCADE_OK;

    *seen = (sight){.path = path};
    err = csc_move_load(store, id, 1, CASCADE_LOAD_EXECUTIONS, &sink);
    if (err != CASCADE_OK || seen->there)
        return err;
    return csc_fail(CASCADE_ERR_NOT_FOUND,
                    seen->cascade_there
                        ? "complete: the cascade has no execution with that "
                          "node_instance_id"
                        : "complete: there is no such cascade");
}

/* What the end of the execution means to completion `by`. */
static cascade_err
judge_end(const sight *seen, const cascade_uuid *by)
{
    const csc_record *record = &seen->record;

    if (!csc_uuid_is_nil(&record->by))
        return csc_uuid_equal(&record->by, by)
                   ? CASCADE_OK
                   : csc_fail(CASCADE_ERR_EXISTS,
                              "complete: the execution was completed before");
    if (record->timed_out)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "complete: the deadline of the execution has passed");
    if (record->cancelled)
        return csc_fail(CASCADE_ERR_CANCELLED,
                        "complete: the cascade was cancelled");
    return csc_fail(CASCADE_ERR_MISUSE,
                    "complete: the execution has ended, or is superseded, and "
                    "does not wait for its completion from outside");
}

/* Whether it may be completed. */
static cascade_err
judge_waiting(cascade_store *store, const sight *seen,
              const csc_completion *completion)
{
    const csc_record *record = &seen->record;
    int64_t now_ms = 0;
    cascade_err err = CASCADE_OK;

    if (seen->status != CASCADE_EXECUTION_RUNNING)
        return judge_end(seen, &completion->by);
    if (seen->cascade_status != CASCADE_RUNNING)
        return csc_fail(CASCADE_ERR_ENDED, "complete: the cascade has ended");
    if (csc_uuid_is_nil(&record->token))
        return csc_fail(CASCADE_ERR_MISUSE,
                        "complete: the execution does not wait for its "
                        "completion from outside, or does not yet");
    if (csc_uuid_compare_secret(&record->token, &completion->token) != 0)
        return csc_fail(CASCADE_ERR_REFUSED,
                        "complete: the token is not that of the execution as "
                        "it waits; load a snapshot for the one it has now");
    if (record->deadline_ms == CASCADE_TIME_NONE)
        return CASCADE_OK;
    err = csc_store_get_now(store, &now_ms);
    if (err == CASCADE_OK && now_ms >= record->deadline_ms)
        err = csc_fail(CASCADE_ERR_TIMEOUT,
                       "complete: the deadline of the execution has passed");
    return err;
}

/* ---- What is to be recorded --------------------------------------------- */

static cascade_err
gather_put(const csc_gather *gather, const cascade_completion_put *put,
           size_t at)
{
    csc_json_given values[2];
    cascade_err err = csc_json_given_either(
        "complete: value of a put", put->value, put->value_text, &values[0]);

    if (err == CASCADE_OK)
        err =
            csc_json_given_either("complete: ui_value of a put", put->ui_value,
                                  put->ui_value_text, &values[1]);
    if (err == CASCADE_OK && csc_json_given_is_none(values[0]))
        err = csc_fail(CASCADE_ERR_INVALID, "complete: puts[%zu].value is NULL",
                       at);
    return err == CASCADE_OK ? csc_effects_put(gather, put->key, values) : err;
}

static cascade_err
gather_puts(const csc_gather *gather, const cascade_completion *given)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < given->put_count && err == CASCADE_OK; i++) {
        cascade_completion_put put = {0};

        err = csc_check_item("puts", given->puts, i, &put, sizeof(put));
        if (err == CASCADE_OK)
            err = gather_put(gather, &put, i);
    }
    return err;
}

static cascade_err
gather_spawns(const csc_gather *gather, const cascade_completion *given)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < given->spawn_count && err == CASCADE_OK; i++) {
        cascade_completion_spawn spawn = {0};
        cascade_spawn_options options = {.size = sizeof(options)};
        csc_json_given input = {0};

        err = csc_check_item("spawns", given->spawns, i, &spawn, sizeof(spawn));
        options.delay_ms = spawn.delay_ms;
        options.priority = spawn.priority;
        if (err == CASCADE_OK)
            err = csc_json_given_either("complete: input of a spawn",
                                        spawn.input, spawn.input_text, &input);
        if (err == CASCADE_OK)
            err = csc_effects_spawn(gather, spawn.node, input, &options);
    }
    return err;
}

static cascade_err
check_completion(const cascade_completion *given)
{
    bool produces = given->output != NULL || given->output_text != NULL ||
                    given->put_count > 0 || given->spawn_count > 0;

    if (given->error != NULL && (given->error[0] == '\0' || produces))
        return csc_fail(CASCADE_ERR_INVALID,
                        "complete: with `error`, which must not be empty, "
                        "nothing else is given");
    if ((given->puts == NULL && given->put_count > 0) ||
        (given->spawns == NULL && given->spawn_count > 0))
        return csc_fail(CASCADE_ERR_INVALID,
                        "complete: a count is given, but its list is NULL");
    return CASCADE_OK;
}

static cascade_err
gather_all(cascade_store *store, csc_arena *arena,
           const cascade_completion *given, csc_completion *completion)
{
    const csc_gather gather = {.arena = arena,
                               .effects = &completion->effects,
                               .payload_max = store->config.payload_max,
                               .bytes_max = BYTES_MAX,
                               .spawns_max = INT64_MAX};
    csc_json_given output = {0};
    cascade_err err = check_completion(given);

    if (err == CASCADE_OK)
        err = csc_json_given_either("complete: output", given->output,
                                    given->output_text, &output);
    if (err == CASCADE_OK && given->error != NULL) {
        completion->error = csc_text_clean(arena, given->error);
        if (completion->error == NULL)
            err = csc_fail_memory();
    }
    if (err == CASCADE_OK)
        err = csc_effects_output(&gather, "output", output);
    if (err == CASCADE_OK)
        err = gather_puts(&gather, given);
    if (err == CASCADE_OK)
        err = gather_spawns(&gather, given);
    return err;
}

/* ---- Sending ------------------------------------------------------------ */

static cascade_err
make_message(cascade_store *store, csc_arena *arena, const cascade_uuid *id,
             const csc_completion *completion, cascade_message_row *message)
{
    char cascade[CASCADE_UUID_TEXT_SIZE];
    char token[CASCADE_UUID_TEXT_SIZE];

    *message = (cascade_message_row){
        .cascade_id = *id,
        .kind = CSC_MESSAGE_COMPLETE,
        .name = "",
        .path = csc_arena_format(
            arena, "%s/message/complete/%s", cascade_uuid_format(id, cascade),
            cascade_uuid_format(&completion->token, token)),
        .payload = csc_completion_write(arena, completion)};
    if (message->path == NULL || message->payload == NULL)
        return csc_fail_memory();
    return csc_store_get_now(store, &message->sent_at_ms);
}

/* A message that waits: `by` is the completion it brings, nil where it was not
 * seen. */
typedef struct pending {
    const char *path;
    cascade_uuid by;
} pending;

static cascade_err
note_pending(void *context, const cascade_message_row *row, bool repeated)
{
    pending *p = context;
    csc_json_span span;

    (void)repeated;
    if (strcmp(row->path, p->path) == 0 &&
        csc_json_read_member(row->payload, "by", &span))
        (void)csc_full_output_uuid(span, &p->by);
    return CASCADE_OK;
}

/* The path was taken: by the message that waits, or that has been received by
 * now. Of many that wait only the first are seen. */
static cascade_err
look_pending(cascade_store *store, const cascade_uuid *id, const char *path,
             const cascade_uuid *by, bool *mine)
{
    pending seen = {.path = path};
    cascade_load_sink sink = {.context = &seen,
                              .on_cascade = csc_get_pass,
                              .on_message = note_pending};
    cascade_err err = csc_move_load(store, id, 1, CASCADE_LOAD_MESSAGES, &sink);

    if (err != CASCADE_OK)
        return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                        "complete: a completion was sent, and whether it was "
                        "this one cannot be read: %s",
                        cascade_errmsg());
    *mine = csc_uuid_equal(&seen.by, by);
    if (*mine || csc_uuid_is_nil(&seen.by))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_EXISTS,
                    "complete: the execution was completed before");
}

/* `mine` tells whether what is there now, or was, is this completion. */
static cascade_err
send(cascade_store *store, csc_arena *arena, const cascade_uuid *id,
     const csc_completion *completion, bool *mine)
{
    cascade_sent sent = CASCADE_SENT_ABSENT;
    cascade_message_row message;
    cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    cascade_err err = make_message(store, arena, id, completion, &message);

    if (err == CASCADE_OK)
        err = csc_submit(store, &submission, "complete");
    if (err != CASCADE_OK)
        return err;
    if (sent == CASCADE_SENT_ABSENT)
        return csc_signal_answer(sent, "complete");
    *mine = true;
    csc_command_carry_out(store, id, false);
    if (sent == CASCADE_SENT_REPEATED)
        err = look_pending(store, id, message.path, &completion->by, mine);
    return err;
}

/* What one look has to say of it; CASCADE_ERR_AGAIN: nothing yet. */
static cascade_err
judge_sent(const sight *seen, const cascade_uuid *by)
{
    if (seen->status != CASCADE_EXECUTION_RUNNING)
        return judge_end(seen, by);
    if (seen->cascade_status != CASCADE_RUNNING)
        return csc_fail(CASCADE_ERR_ENDED, "complete: the cascade ended first");
    return CASCADE_ERR_AGAIN;
}

/* ---- Public ------------------------------------------------------------- */

/* A call of cascade_complete(). */
typedef struct call {
    cascade_store *store;
    const cascade_uuid *id;
    const char *path;
    csc_arena arena;
    csc_completion completion;
    cascade_complete_options options;
    csc_watch watch;
} call;

static cascade_err
check_call(call *c, const char *token, const cascade_completion *given,
           const cascade_complete_options *options)
{
    cascade_completion known = {0};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(c->store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (c->store == NULL || c->id == NULL || c->path == NULL || token == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "complete: an argument is NULL");
    err = csc_check_options("completion", given, &known, sizeof(known));
    if (err == CASCADE_OK)
        err = csc_check_options("complete options", options, &c->options,
                                sizeof(c->options));
    if (err == CASCADE_OK)
        err = csc_get_check("complete", c->options.wait_ms);
    if (err == CASCADE_OK)
        err = c->options.wait_ms != 0
                  ? csc_store_refuse_within(c->store, "complete with wait_ms")
                  : csc_store_refuse_inside(c->store, "cascade_complete()");
    if (err == CASCADE_OK &&
        cascade_uuid_parse(token, &c->completion.token) != CASCADE_OK)
        err = csc_fail(CASCADE_ERR_INVALID,
                       "complete: that is no token; give the one of "
                       "cascade_execution_info");
    if (err == CASCADE_OK)
        err = gather_all(c->store, &c->arena, &known, &c->completion);
    return err;
}

/* An engine that was alive may be so no more. */
static cascade_err
look_decided(void *context, bool late)
{
    call *c = context;
    sight seen;
    cascade_err err = CASCADE_OK;

    if (late)
        csc_command_carry_out(c->store, c->id, false);
    err = look(c->store, c->id, c->path, &seen);
    if (err == CASCADE_ERR_UNAVAILABLE)
        return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                        "complete: sent, but what came of it cannot be read: "
                        "%s",
                        cascade_errmsg());
    return err == CASCADE_OK ? judge_sent(&seen, &c->completion.by) : err;
}

/* What came of it: looks once, and as long as the caller waits. */
static cascade_err
await_decision(call *c, bool mine)
{
    int64_t wait_ms = c->options.wait_ms;
    cascade_err err =
        csc_get_until(c->store, &c->watch, wait_ms, look_decided, c);

    if (err != CASCADE_ERR_AGAIN)
        return err;
    if (wait_ms != 0)
        return csc_fail(CASCADE_ERR_AGAIN,
                        "complete: sent, but not received within %lld ms; look "
                        "at the execution later",
                        (long long)wait_ms);
    if (mine)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "complete: a completion is under way, this one or another; "
                    "look at the execution later");
}

static cascade_err
complete(call *c)
{
    sight seen;
    bool mine = false;
    int64_t now_ms = 0;
    cascade_err err = csc_store_get_now(c->store, &now_ms);

    if (err == CASCADE_OK) {
        c->completion.by = csc_uuid_v7(now_ms, &c->store->random);
        err = look(c->store, c->id, c->path, &seen);
    }
    if (err == CASCADE_OK)
        err = judge_waiting(c->store, &seen, &c->completion);
    if (err == CASCADE_OK)
        err = send(c->store, &c->arena, c->id, &c->completion, &mine);
    return err == CASCADE_OK ? await_decision(c, mine) : err;
}

static cascade_err
watch_and_complete(call *c)
{
    cascade_err err = csc_watch_begin(&c->store->watches, &c->watch, c->id);

    if (err != CASCADE_OK)
        return err;
    err = complete(c);
    csc_watch_end(&c->store->watches, &c->watch);
    return err;
}

cascade_err
cascade_complete(cascade_store *store, const cascade_uuid *cascade_id,
                 const char *node_instance_id, const char *token,
                 const cascade_completion *completion,
                 const cascade_complete_options *options)
{
    call c = {.store = store, .id = cascade_id, .path = node_instance_id};
    cascade_err err = check_call(&c, token, completion, options);

    if (err == CASCADE_OK)
        err = watch_and_complete(&c);
    csc_arena_fini(&c.arena);
    return err == CASCADE_OK ? csc_ok() : err;
}
