/* SPDX-License-Identifier: MIT
 *
 * Forking: a new cascade with the past of another one.
 *
 *   load: all rows of the other one, of one moment
 *     |
 *   reset_plan.h: what was there just before function_id k, and what of it had
 *   ended
 *     |
 *   submit: one start, owned by nobody, with all of it (fork.c)
 *
 * The other cascade is only read, so it may run meanwhile. If the process dies
 * in between, the new one is there whole, or not at all; with an id of the
 * caller's own the call may be repeated, and is told that it existed.
 */
#include "cascade/manage.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "client/submit.h"
#include "query/link.h"
#include "state/full_output.h"
#include "state/reset_plan.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/store.h"

#define PAST_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define ROW_BYTES 512 /* of a row beside its texts, roughly */

/* A call. */
typedef struct call {
    cascade_store *store;
    cascade_fork_options options;
    cascade_uuid origin;
    csc_arena arena;
    csc_plan *plan;
    char *user_id; /* NULL: there is no such cascade */
    cascade_execution_row *rows;
    size_t row_count;
    size_t row_room;
    cascade_event_row *events;
    size_t event_count;
    size_t event_room;
    const char **outputs;
    csc_meta meta;
    size_t bytes;
} call;

/* ---- Reading ------------------------------------------------------------ */

static const char *
keep(call *c, const char *text)
{
    c->bytes += text != NULL ? strlen(text) : 0;
    return csc_arena_strdup(&c->arena, text);
}

static cascade_err
check_size(call *c)
{
    c->bytes += ROW_BYTES;
    if (c->arena.failed)
        return csc_fail_memory();
    if (c->bytes <= PAST_BYTES_MAX)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_TOO_LARGE,
                    "fork: the rows of the cascade have more than %zu bytes: "
                    "it cannot be forked",
                    PAST_BYTES_MAX);
}

static cascade_err
keep_cascade(void *context, const cascade_row *row)
{
    call *c = context;

    c->user_id = csc_arena_strdup(&c->arena, row->user_id);
    return c->user_id != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
keep_meta(call *c, const cascade_execution_row *row)
{
    csc_record record;

    if (row->function_id != 0)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    csc_start_record_fini(&c->meta);
    return csc_start_record_read(record.meta, &c->meta);
}

static cascade_err
keep_execution(void *context, const cascade_execution_row *row)
{
    call *c = context;
    void *rows = c->rows;
    cascade_execution_row *copy = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_mem_grow(&rows, &c->row_room, c->row_count + 1, sizeof(*copy)) != 0)
        return csc_fail_memory();
    c->rows = rows;
    copy = &c->rows[c->row_count++];
    *copy = *row;
    copy->node_instance_id = keep(c, row->node_instance_id);
    copy->node_name = keep(c, row->node_name);
    copy->input = keep(c, row->input);
    copy->full_output = keep(c, row->full_output);
    copy->location = keep(c, row->location);
    copy->error = keep(c, row->error);
    err = keep_meta(c, row);
    return err == CASCADE_OK ? check_size(c) : err;
}

static cascade_err
keep_event(void *context, const cascade_event_row *row)
{
    call *c = context;
    void *events = c->events;
    cascade_event_row *copy = NULL;

    if (csc_mem_grow(&events, &c->event_room, c->event_count + 1,
                     sizeof(*copy)) != 0)
        return csc_fail_memory();
    c->events = events;
    copy = &c->events[c->event_count++];
    *copy = *row;
    copy->key = keep(c, row->key);
    copy->value = keep(c, row->value);
    copy->ui_value = keep(c, row->ui_value);
    return check_size(c);
}

static cascade_err
read_all(call *c)
{
    cascade_load_sink sink = {.context = c,
                              .on_cascade = keep_cascade,
                              .on_execution = keep_execution,
                              .on_event = keep_event};
    cascade_err err =
        csc_move_load(c->store, &c->origin, 1,
                      CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &sink);

    if (err == CASCADE_OK && c->user_id == NULL)
        err = csc_fail(CASCADE_ERR_NOT_FOUND, "fork: there is no such cascade");
    return err;
}

/* ---- Planning ----------------------------------------------------------- */

static cascade_err
make_plan(call *c)
{
    int32_t from = c->options.from;
    cascade_err err = CASCADE_OK;

    c->plan = csc_reset_plan_create(from);
    if (c->plan == NULL)
        return csc_fail_memory();
    c->plan->forks = true;
    for (size_t i = 0; i < c->row_count && err == CASCADE_OK; i++)
        err = csc_reset_plan_add(c->plan, &c->rows[i]);
    if (err == CASCADE_OK && csc_reset_plan_find(c->plan, from) == NULL)
        err = csc_fail(CASCADE_ERR_INVALID,
                       "fork: the cascade has no function_id %d", (int)from);
    if (err == CASCADE_OK)
        err = csc_reset_plan_decide(c->plan, NULL);
    if (err == CASCADE_OK && c->plan->refusal != CSC_REFUSAL_NONE)
        err = csc_fail(CASCADE_ERR_INVALID,
                       "fork: just before function_id %d the cascade had ended "
                       "already, and nothing is to be run",
                       (int)from);
    return err;
}

/* ---- Outputs ------------------------------------------------------------ */

static bool
is_meant(const csc_plan_item *item, const cascade_fork_output *output)
{
    if (item->fate != CSC_FATE_KEEP ||
        item->status != CASCADE_EXECUTION_COMPLETED)
        return false;
    return output->node != NULL
               ? item->node && strcmp(item->name, output->node) == 0
               : item->function_id == output->function_id;
}

static cascade_err
place_output(call *c, const cascade_fork_output *output, const char *text)
{
    size_t found = 0;

    for (size_t i = 0; i < c->plan->count; i++) {
        if (!is_meant(&c->plan->items[i], output))
            continue;
        c->outputs[i] = text;
        found++;
    }
    if (found > 0)
        return CASCADE_OK;
    if (output->node != NULL)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "fork: an output is given of node %s, of which no "
                        "execution had completed by then",
                        output->node);
    return csc_fail(CASCADE_ERR_NOT_FOUND,
                    "fork: an output is given of function_id %d, which had not "
                    "completed by then",
                    (int)output->function_id);
}

static cascade_err
take_output(call *c, const cascade_fork_output *output)
{
    csc_buf text = {0};
    const char *copy = NULL;
    cascade_err err = CASCADE_OK;

    if (output->output == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "fork: an output is NULL");
    err = csc_json_canon("output", output->output, strlen(output->output),
                         c->store->config.payload_max, &text);
    if (err == CASCADE_OK) {
        copy = csc_arena_strndup(&c->arena, text.data, text.len);
        err = copy != NULL ? place_output(c, output, copy) : csc_fail_memory();
    }
    csc_buf_fini(&text);
    return err;
}

static cascade_err
take_outputs(call *c)
{
    cascade_err err = CASCADE_OK;

    c->outputs = csc_arena_alloc(&c->arena, c->row_count, sizeof(*c->outputs));
    if (c->outputs == NULL)
        return csc_fail_memory();
    if (c->options.outputs == NULL && c->options.output_count > 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "fork: output_count is given, but outputs is NULL");
    for (size_t i = 0; i < c->options.output_count && err == CASCADE_OK; i++) {
        cascade_fork_output output = {0};

        err = csc_check_item("outputs", c->options.outputs, i, &output,
                             sizeof(output));
        if (err == CASCADE_OK)
            err = take_output(c, &output);
    }
    return err;
}

/* ---- Making ------------------------------------------------------------- */

static const char *
choose_queue(const call *c)
{
    if (c->options.queue != NULL)
        return c->options.queue;
    return csc_start_record_queue(&c->meta);
}

static cascade_err
make_change(call *c, cascade_change *change)
{
    csc_build_env env = {
        .arena = &c->arena, .random = &c->store->random, .location = "server"};
    csc_build_copy copy = {
        .origin = c->origin,
        .user_id = c->options.user_id != NULL ? c->options.user_id : c->user_id,
        .by = c->options.by,
        .reason = c->options.reason,
        .queue = choose_queue(c),
        .limit_key = c->meta.limit_key,
        .priority = c->meta.priority,
        .depth = c->meta.depth,
        .plan = c->plan,
        .rows = c->rows,
        .outputs = c->outputs,
        .events = c->events,
        .event_count = c->event_count};
    cascade_err err = csc_store_get_now(c->store, &env.now_ms);

    env.delay_from_ms = env.now_ms;
    if (err != CASCADE_OK)
        return err;
    copy.id = c->options.id != NULL
                  ? *c->options.id
                  : csc_uuid_v7(env.now_ms, &c->store->random);
    return csc_fork_add_rows(&env, &copy, change);
}

static cascade_err
send(call *c, cascade_started *started)
{
    cascade_change change;
    bool existed = false;
    cascade_submission submission = {
        .starts = &change, .start_count = 1, .existed = &existed};
    cascade_err err = make_change(c, &change);

    if (err == CASCADE_OK && c->options.id != NULL)
        err = csc_link_begin_first(c->store, c->options.id, "fork");
    if (err != CASCADE_OK)
        return err;
    err = csc_submit(c->store, &submission, "fork");
    if (err == CASCADE_OK || err == CASCADE_ERR_OUTCOME_UNKNOWN)
        *started =
            (cascade_started){.id = change.cascade.id, .existed = existed};
    return err;
}

/* ---- Public ------------------------------------------------------------- */

static cascade_err
check_fork(const cascade_fork_options *given, cascade_fork_options *known)
{
    cascade_err err =
        csc_check_options("fork options", given, known, sizeof(*known));

    if (err == CASCADE_OK && known->user_id != NULL)
        err = csc_check_text("user id", known->user_id);
    if (err == CASCADE_OK && known->queue != NULL)
        err = csc_check_name("queue", known->queue);
    if (err == CASCADE_OK && known->reason != NULL)
        err = csc_check_text("reason", known->reason);
    if (err == CASCADE_OK && known->by != NULL)
        err = csc_check_text("by", known->by);
    if (err == CASCADE_OK && known->from < 0)
        err =
            csc_fail(CASCADE_ERR_INVALID,
                     "fork: from is %d; give a function_id", (int)known->from);
    return err;
}

cascade_err
cascade_fork(cascade_store *store, const cascade_uuid *id,
             const cascade_fork_options *options, cascade_started *started)
{
    call c = {.store = store};
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || id == NULL || started == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "fork: an argument is NULL");
    c.origin = *id;
    err = check_fork(options, &c.options);
    if (err == CASCADE_OK)
        err = csc_store_refuse_inside(store, "cascade_fork()");
    if (err == CASCADE_OK)
        err = read_all(&c);
    if (err == CASCADE_OK)
        err = make_plan(&c);
    if (err == CASCADE_OK)
        err = take_outputs(&c);
    if (err == CASCADE_OK)
        err = send(&c, started);
    csc_reset_plan_free(c.plan);
    csc_start_record_fini(&c.meta);
    csc_mem_free(c.rows);
    csc_mem_free(c.events);
    csc_arena_fini(&c.arena);
    return err == CASCADE_OK ? csc_ok() : err;
}
