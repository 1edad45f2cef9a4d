/* SPDX-License-Identifier: MIT
 *
 * A command to every cascade that a list names.
 *
 *   list: a page of 1,000 --> submit: one message to each that admits it
 *     ^                         |
 *     +--- behind the last id --+-- no engine is alive: one by one, as a single
 *                                   command does it (command.c)
 *
 * A fork is no message: it is made here, one after another, of those that were
 * there when the call began: all their ids are read first, or forks would be
 * forked. Those that a call with the same request id has made are left out.
 *
 * A transaction is one page. If the process dies, the messages of the pages
 * before are there; with a request id the call may be repeated, as the path of
 * each message is made of it. Cascades that are started meanwhile have higher
 * ids: those that the pages come to are asked too.
 */
#include "cascade/manage.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/op.h"
#include "client/command.h"
#include "client/submit.h"
#include "query/link.h"
#include "query/run_chain.h"
#include "query/wait.h"
#include "state/full_output.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/store.h"

#define PAGE_MAX 1000

/* What a command is to the many. */
typedef struct form {
    const char *kind;
    cascade_status status; /* of those that admit it; 0: of any */
    bool of_ended;         /* what has ended is meant too */
} form;

static const form forms[] = {
    [CASCADE_REQUEST_CANCEL] = {CSC_MESSAGE_CANCEL, CASCADE_RUNNING, false},
    [CASCADE_REQUEST_TERMINATE] = {CSC_MESSAGE_TERMINATE, CASCADE_RUNNING,
                                   false},
    [CASCADE_REQUEST_DELETE] = {CSC_MESSAGE_DELETE, 0, true},
    [CASCADE_REQUEST_PAUSE] = {CSC_MESSAGE_PAUSE, CASCADE_RUNNING, false},
    [CASCADE_REQUEST_RESUME] = {CSC_MESSAGE_RESUME, CASCADE_RUNNING, false},
    [CASCADE_REQUEST_RETRY] = {CSC_MESSAGE_RETRY, CASCADE_ERROR, true},
    [CASCADE_REQUEST_RERUN] = {CSC_MESSAGE_RERUN, 0, true},
    [CASCADE_REQUEST_FORK] = {"fork", 0, true},
};

/* A cascade of the page. */
typedef struct target {
    cascade_uuid id;
    cascade_status status;
} target;

typedef struct call {
    cascade_store *store;
    const form *form;
    cascade_many_options options;
    csc_command_spec spec;
    cascade_request_options known;
    cascade_progress total;
    target targets[PAGE_MAX];
    size_t count;
    cascade_place place;   /* of the list */
    cascade_uuid *origins; /* of forks */
    size_t origin_count;
    size_t origin_room;
    /* Of the page: */
    csc_arena arena;
    cascade_message_row messages[PAGE_MAX];
    cascade_sent sent[PAGE_MAX];
    size_t message_count;
} call;

/* ---- Checking ----------------------------------------------------------- */

static cascade_err
check_call(call *c, cascade_request request,
           const cascade_many_options *options)
{
    cascade_request_options asked = {.size = sizeof(asked)};
    cascade_err err = csc_check_options("many options", options, &c->options,
                                        sizeof(c->options));

    if (err == CASCADE_OK &&
        (request < CASCADE_REQUEST_CANCEL || request > CASCADE_REQUEST_FORK))
        err = csc_fail(CASCADE_ERR_INVALID, "many: there is no such request");
    if (err == CASCADE_OK && request >= CASCADE_REQUEST_RERUN &&
        c->options.from < 0)
        err = csc_fail(CASCADE_ERR_INVALID,
                       "many: from is %d; give a function_id",
                       (int)c->options.from);
    if (err == CASCADE_OK)
        err = csc_get_check_filter("many", c->options.user_id, c->options.node,
                                   c->options.queue, c->options.status);
    if (err != CASCADE_OK)
        return err;
    c->form = &forms[request];
    asked.request_id = c->options.request_id;
    asked.reason = c->options.reason;
    asked.by = c->options.by;
    c->spec = (csc_command_spec){.kind = c->form->kind,
                                 .options = &asked,
                                 .of_ended = c->form->of_ended};
    if (request == CASCADE_REQUEST_RERUN)
        c->spec.from = &c->options.from;
    err = csc_command_check(&c->spec, &c->known);
    c->spec.options = NULL; /* they are in `known` from now on */
    return err;
}

/* ---- A page ------------------------------------------------------------- */

static cascade_err
add_target(void *context, const cascade_row *row, const cascade_run_row *run)
{
    call *c = context;

    (void)run;
    c->targets[c->count++] = (target){row->id, row->status};
    return CASCADE_OK;
}

static cascade_err
note_fault(void *context, const cascade_fault *fault)
{
    call *c = context;

    (void)fault;
    c->total.seen++;
    c->total.failed++;
    return CASCADE_OK;
}

static cascade_err
read_page(call *c, const cascade_uuid *after)
{
    const cascade_many_options *o = &c->options;
    const cascade_query query = {.user_id = o->user_id,
                                 .status = o->status != 0 ? o->status
                                                          : c->form->status,
                                 .node = o->node,
                                 .queue = o->queue,
                                 .updated_before_ms = o->updated_before_ms,
                                 .after = after,
                                 .limit = PAGE_MAX,
                                 .on_fault = note_fault,
                                 .place = &c->place};

    c->count = 0;
    return csc_move_list(c->store, &query, add_target, c);
}

static cascade_err
tell(const call *c)
{
    if (c->options.progress == NULL ||
        c->options.progress(c->options.context, &c->total))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_STOPPED,
                    "many: ended by its caller; what was asked for stays so");
}

/* ---- Forks -------------------------------------------------------------- */

/* The id of the fork: the same for the same request. No user is called so. */
static cascade_uuid
fork_id(const call *c, const cascade_uuid *origin)
{
    char user[sizeof("\nfork ") + CASCADE_UUID_TEXT_SIZE];
    char id[CASCADE_UUID_TEXT_SIZE];

    (void)snprintf(user, sizeof(user), "\nfork %s",
                   cascade_uuid_format(origin, id));
    return csc_uuid_v8(user, c->options.request_id, c->options.from);
}

static cascade_err
note_origin(void *context, const cascade_execution_row *row)
{
    cascade_uuid *origin = context;
    csc_record record;
    csc_meta meta;
    cascade_err err = CASCADE_OK;

    csc_full_output_read(row, &record);
    err = csc_start_record_read(record.meta, &meta);
    *origin = meta.origin;
    csc_start_record_fini(&meta);
    return err;
}

/* Whether it is what this very request has made before. */
static cascade_err
is_own_fork(const call *c, const cascade_uuid *id, bool *own)
{
    cascade_uuid origin = {{0}};
    cascade_uuid fork;
    cascade_load_sink sink = {.context = &origin, .on_execution = note_origin};
    const cascade_scan scan = {.cascade_id = id, .limit = 1};
    cascade_err err = csc_move_scan(c->store, &scan, &sink);

    *own = false;
    if (err != CASCADE_OK || csc_uuid_is_nil(&origin))
        return err;
    fork = fork_id(c, &origin);
    *own = csc_uuid_equal(&fork, id);
    return CASCADE_OK;
}

/* One that is gone, or has no such function_id, counts as failed. */
static cascade_err
fork_one(call *c, const cascade_uuid *origin)
{
    const bool named = c->options.request_id != NULL;
    bool own = false;
    cascade_uuid id = {{0}};
    cascade_fork_options options = {.size = sizeof(options),
                                    .from = c->options.from,
                                    .id = named ? &id : NULL,
                                    .reason = c->options.reason,
                                    .by = c->options.by};
    cascade_started started;
    cascade_err err = CASCADE_OK;

    if (named) {
        id = fork_id(c, origin);
        err = is_own_fork(c, origin, &own);
    }
    if (err != CASCADE_OK || own)
        return err;
    c->total.seen++;
    err = cascade_fork(c->store, origin, &options, &started);
    if (err == CASCADE_OK)
        c->total.done++;
    else if (err == CASCADE_ERR_INVALID || err == CASCADE_ERR_NOT_FOUND ||
             err == CASCADE_ERR_TOO_LARGE)
        c->total.failed++;
    else
        return err;
    return tell(c);
}

static cascade_err
keep_page(call *c)
{
    void *origins = c->origins;

    if (csc_mem_grow(&origins, &c->origin_room, c->origin_count + c->count,
                     sizeof(*c->origins)) != 0)
        return csc_fail_memory();
    c->origins = origins;
    for (size_t i = 0; i < c->count; i++)
        c->origins[c->origin_count++] = c->targets[i].id;
    return CASCADE_OK;
}

/* ---- Messages ----------------------------------------------------------- */

static bool
admits(const call *c, const target *t)
{
    return c->form->status == 0 || c->form->status == t->status;
}

/* One that may not be deleted yet is left out. */
static cascade_err
add_message(call *c, const target *t)
{
    cascade_err err = CASCADE_OK;

    if (!admits(c, t)) {
        c->total.failed++;
        return CASCADE_OK;
    }
    err = csc_command_make(c->store, &c->arena, &t->id, &c->spec, &c->known,
                           &c->messages[c->message_count]);
    if (err == CASCADE_OK)
        c->message_count++;
    else if (err == CASCADE_ERR_AGAIN)
        c->total.failed++;
    return err == CASCADE_ERR_AGAIN ? CASCADE_OK : err;
}

/* One that was there when it was listed may have continued, and be gone by now:
 * as a call that asks one alone, this one turns to the last run. */
static cascade_err
send_after(call *c, cascade_message_row *message, cascade_sent *sent)
{
    const cascade_submission submission = {
        .messages = message, .message_count = 1, .sent = sent};
    csc_link_way way = {.run = message->cascade_id};
    bool again = false;
    cascade_err err = csc_link_turn(c->store, CASCADE_OK, *sent, &way, &again);

    while (err == CASCADE_OK && again) {
        err = csc_command_make(c->store, &c->arena, &way.run, &c->spec,
                               &c->known, message);
        if (err == CASCADE_OK)
            err = csc_submit(c->store, &submission, c->form->kind);
        err = csc_link_turn(c->store, err, *sent, &way, &again);
    }
    return err;
}

/* What became of message `at`, once it is sent. */
static cascade_err
count_sent(call *c, size_t at)
{
    cascade_message_row *message = &c->messages[at];
    cascade_sent *sent = &c->sent[at];
    cascade_err err = CASCADE_OK;

    if (!c->form->of_ended && *sent == CASCADE_SENT_ABSENT)
        err = send_after(c, message, sent);
    if (err == CASCADE_OK && !c->form->of_ended)
        err = csc_run_chain_sent(c->store, &message->cascade_id, message->path,
                                 sent);
    if (err != CASCADE_OK)
        return err;
    if (*sent == CASCADE_SENT || *sent == CASCADE_SENT_REPEATED ||
        (*sent == CASCADE_SENT_ENDED && c->form->of_ended))
        c->total.done++;
    else
        c->total.failed++;
    return CASCADE_OK;
}

static cascade_err
carry_out(const call *c)
{
    cascade_err err = CASCADE_OK;

    if (!csc_command_is_alone(c->store))
        return CASCADE_OK;
    for (size_t i = 0; i < c->message_count && err == CASCADE_OK; i++) {
        csc_command_carry_out(c->store, &c->messages[i].cascade_id,
                              !c->form->of_ended);
        err = tell(c);
    }
    return err;
}

static cascade_err
send_page(call *c)
{
    const cascade_submission submission = {.messages = c->messages,
                                           .message_count = c->message_count,
                                           .sent = c->sent};
    cascade_err err = CASCADE_OK;

    if (c->message_count > 0)
        err = csc_submit(c->store, &submission, c->form->kind);
    for (size_t i = 0; i < c->message_count && err == CASCADE_OK; i++)
        err = count_sent(c, i);
    return err == CASCADE_OK ? carry_out(c) : err;
}

static cascade_err
ask_page(call *c)
{
    cascade_err err = CASCADE_OK;

    c->message_count = 0;
    csc_arena_clear(&c->arena);
    for (size_t i = 0; i < c->count && err == CASCADE_OK; i++)
        err = add_message(c, &c->targets[i]);
    c->total.seen += (int64_t)c->count;
    if (err == CASCADE_OK)
        err = send_page(c);
    return err == CASCADE_OK ? tell(c) : err;
}

/* ---- Pages -------------------------------------------------------------- */

/* Page by page. */
static cascade_err
for_all(call *c, cascade_err (*each)(call *c))
{
    cascade_uuid last = {{0}};
    cascade_err err = read_page(c, NULL);

    while (err == CASCADE_OK && (c->count > 0 || c->place.more)) {
        if (c->count > 0)
            last = c->targets[c->count - 1].id;
        err = each(c);
        if (err == CASCADE_OK && c->count < PAGE_MAX && !c->place.more)
            break;
        if (err == CASCADE_OK)
            err = read_page(c, &last);
    }
    return err;
}

static cascade_err
fork_all(call *c)
{
    cascade_err err = for_all(c, keep_page);

    for (size_t i = 0; i < c->origin_count && err == CASCADE_OK; i++)
        err = fork_one(c, &c->origins[i]);
    return err;
}

/* ---- Public ------------------------------------------------------------- */

cascade_err
cascade_request_many(cascade_store *store, cascade_request request,
                     const cascade_many_options *options,
                     cascade_progress *total)
{
    call *c = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "many: store is NULL");
    c = csc_mem_zalloc(1, sizeof(*c));
    if (c == NULL)
        return csc_fail_memory();
    c->store = store;
    err = check_call(c, request, options);
    if (err == CASCADE_OK)
        err = c->options.progress != NULL
                  ? csc_store_refuse_within(store, "many with progress")
                  : csc_store_refuse_inside(store, "cascade_request_many()");
    if (err == CASCADE_OK)
        err = request == CASCADE_REQUEST_FORK ? fork_all(c)
                                              : for_all(c, ask_page);
    if (total != NULL)
        *total = c->total;
    csc_arena_fini(&c->arena);
    csc_mem_free(c->origins);
    csc_mem_free(c);
    return err == CASCADE_OK ? csc_ok() : err;
}
