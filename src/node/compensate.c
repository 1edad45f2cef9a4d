/* SPDX-License-Identifier: MIT
 *
 * Sagas: what a node has done is undone when it fails for good.
 *
 *   the node runs, and registers compensations as it goes
 *        |  it fails for good (or its time is over: then it is entered once
 *        |  more first, where nothing new begins, to register them)
 *        v
 *   one INSERT, cascade.saga:fail, COMPLETED: {"undo":[...],"error":"..."}; the
 *        |  decision, with what is to be undone, in that order, each with its
 *        |  input: the node never goes on forward from here
 *        v
 *   for each of them, the newest first: called, then one INSERT
 *        |  cascade.undo:NAME, as a step of its own, with its attempts
 *        v
 *   the node's row: FAILED, with the recorded error
 *
 * In between the node may leave, and the process may die. It is entered again
 * from the top then, since the functions to be called are known by its calls
 * only: what is recorded returns its result, what is not tells it to leave (see
 * csc_part_find), and what it returns counts for nothing. A compensation
 * that is listed but was not registered this time fails, as an attempt of that
 * compensation: another entry, or another build, may know it.
 *
 * If the process dies before the decision is recorded, the node is entered
 * again as after any crash, and may succeed this time. If it dies after it, the
 * compensations that are recorded are not called again (G3), and the others are
 * (G4), in the same order, with the same inputs and request ids.
 */
#include "cascade/node.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/data/text.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/run/time_limit.h"
#include "node/node.h"
#include "state/state.h"
#include "store/store.h"

#define UNDO_MAX 1000    /* compensations of one execution */
#define SAGA_NAME "fail" /* of the part that is the decision */
#define ERROR_KEPT_MAX \
    1400              /* bytes of the node's own error, if others follow */
#define NAMES_MAX 400 /* and of the names of those */

/* A node that is undone. */
typedef struct saga {
    cascade_node *node;
    const cJSON *list;  /* as recorded */
    const char *error;  /* as recorded */
    const csc_undo *at; /* where the next one is likely to be */
    csc_buf names;      /* of those that failed */
    size_t failed;
} saga;

/* ---- Registering -------------------------------------------------------- */

static cascade_err
check_compensate(const cascade_node *node, const char *name,
                 cascade_undo_fn undo)
{
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("compensation name", name);
    if (err == CASCADE_OK && (node == NULL || undo == NULL))
        err = csc_fail(CASCADE_ERR_INVALID, "compensation %s: %s is NULL", name,
                       node == NULL ? "node" : "undo");
    if (err == CASCADE_OK)
        err = csc_node_refuse_step(node, "compensation", name);
    if (err == CASCADE_OK && node->undo_count >= UNDO_MAX)
        err = csc_fail(CASCADE_ERR_TOO_LARGE,
                       "an execution may register at most %d compensations; "
                       "spread them over several executions",
                       UNDO_MAX);
    return err == CASCADE_OK ? csc_txn_refuse(node, "a compensation") : err;
}

static cascade_err
keep_input(cascade_node *node, csc_undo *undo, csc_json_given input)
{
    size_t max = node->engine->options.execution_bytes_max;
    size_t len = 0;
    cascade_err err =
        csc_json_given_keep("input of a compensation", input,
                            node->engine->store->config.payload_max,
                            &node->arena, &undo->input, &len);

    if (err == CASCADE_OK && len > max - node->undo_bytes)
        err = csc_fail(CASCADE_ERR_TOO_LARGE,
                       "compensation %s: the inputs of all would exceed %zu "
                       "bytes",
                       undo->part.name, max);
    if (err == CASCADE_OK)
        node->undo_bytes += len;
    return err;
}

static cascade_err
add_undo(cascade_node *node, const csc_undo *given, csc_json_given input)
{
    csc_undo *undo = csc_arena_alloc(&node->arena, 1, sizeof(*undo));
    cascade_err err = CASCADE_OK;

    if (undo == NULL)
        return csc_fail_memory();
    *undo = *given;
    undo->part.name = csc_arena_strdup(&node->arena, given->part.name);
    if (undo->part.name == NULL)
        return csc_fail_memory();
    err = keep_input(node, undo, input);
    if (err == CASCADE_OK)
        err = csc_part_count(node, &undo->part);
    if (err != CASCADE_OK)
        return err;
    undo->next = node->undos;
    node->undos = undo;
    node->undo_count++;
    csc_time_limit_note_undo(node->engine, node->call);
    return csc_ok();
}

static cascade_err
compensate(cascade_node *node, const char *name, cascade_undo_fn undo,
           csc_json_given input, const cascade_step_options *options)
{
    csc_undo made = {.part = {.kind = CSC_PART_UNDO, .name = name}, .fn = undo};
    cascade_err err = check_compensate(node, name, undo);

    if (err == CASCADE_OK && options == NULL)
        made.attempts = node->def->attempts;
    else if (err == CASCADE_OK)
        err = csc_step_read_attempts(name, options, &made.attempts);
    if (err == CASCADE_OK && node->suspended)
        err = csc_part_suspend(node, node->pending);
    return err == CASCADE_OK ? add_undo(node, &made, input) : err;
}

cascade_err
cascade_node_compensate(cascade_node *node, const char *name,
                        cascade_undo_fn undo, cJSON *input,
                        const cascade_step_options *options)
{
    cascade_err err =
        compensate(node, name, undo, csc_json_given_tree(input), options);

    cJSON_Delete(input);
    return err;
}

cascade_err
cascade_node_compensate_text(cascade_node *node, const char *name,
                             cascade_undo_fn undo, const char *input,
                             const cascade_step_options *options)
{
    return compensate(node, name, undo, csc_json_given_text(input), options);
}

/* ---- The decision ------------------------------------------------------- */

/* Canonical; in the order in which they are to run. */
static const char *
write_decision(const cascade_node *node, csc_arena *arena, const char *error)
{
    const char *copy = NULL;
    csc_buf text;

    csc_buf_init(&text);
    csc_buf_add_text(&text, "{\"undo\":[");
    for (const csc_undo *u = node->undos; u != NULL; u = u->next) {
        csc_buf_add_text(&text, u == node->undos ? "{\"nth\":" : ",{\"nth\":");
        csc_buf_add_i64(&text, u->part.occurrence);
        csc_buf_add_text(&text, ",\"name\":");
        csc_json_add_string(&text, u->part.name);
        csc_buf_add_text(&text, ",\"input\":");
        csc_buf_add_text(&text, u->input);
        csc_buf_add_char(&text, '}');
    }
    csc_buf_add_text(&text, "],\"error\":");
    csc_json_add_string(&text, error);
    csc_buf_add_char(&text, '}');
    if (!text.failed)
        copy = csc_arena_strndup(arena, text.data, text.len);
    csc_buf_fini(&text);
    return copy;
}

static cascade_err
record_decision(cascade_node *node, const char *error)
{
    csc_part part = {.kind = CSC_PART_SAGA, .name = SAGA_NAME};
    csc_post *post = csc_op_create(CSC_POST_STEP, node->exec->function_id);
    const csc_exec *recorded = NULL;

    if (post == NULL)
        return csc_fail_memory();
    post->started_at_ms = csc_clock_now_ms(node->engine);
    post->attempts = 1;
    post->effects.output = write_decision(node, &post->arena, error);
    if (post->effects.output == NULL) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    post->effects.bytes = strlen(post->effects.output);
    return csc_step_record_part(node, &part, post, &recorded);
}

static cascade_err
read_decision(saga *s)
{
    cascade_node *node = s->node;
    const csc_exec *decision = NULL;
    const cJSON *tree = NULL;

    csc_lock_take(&node->engine->mutex);
    decision = csc_view_find(&node->run->state, node->exec->undone_by);
    csc_lock_give(&node->engine->mutex);
    tree = csc_node_keep(
        node, csc_json_tree_parse(decision != NULL && decision->output != NULL
                                      ? decision->output
                                      : "{}"));
    if (tree == NULL)
        return CASCADE_ERR_NO_MEMORY;
    s->list = cJSON_GetObjectItemCaseSensitive(tree, "undo");
    s->error =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tree, "error"));
    if (s->error == NULL)
        s->error = cascade_err_text(CASCADE_ERR_FINAL);
    s->at = node->undos;
    return csc_state_add_id(&node->passed, node->exec->undone_by);
}

/* ---- Undoing ------------------------------------------------------------ */

/* A compensation that is called. */
typedef struct undo_call {
    const csc_undo *undo; /* NULL: it was not registered this time */
    const cJSON *input;
} undo_call;

static cascade_err
call_undo(cascade_node *node, void *arg, cJSON **result)
{
    const undo_call *call = arg;
    cascade_err err = CASCADE_OK;

    (void)result;
    if (call->undo == NULL)
        return cascade_node_error(node,
                                  "it was not registered when the node was "
                                  "entered again to be undone");
    err = call->undo->fn(node, node->def->user, call->input);
    if (err != CASCADE_SUSPENDED && err != CASCADE_ERR_FENCED)
        return err;
    return cascade_node_error(node, "it returned %s", cascade_err_name(err));
}

static const csc_undo *
find_undo(const csc_undo *from, const csc_part *part)
{
    while (from != NULL && (from->part.occurrence != part->occurrence ||
                            strcmp(from->part.name, part->name) != 0))
        from = from->next;
    return from;
}

static void
note_failed(saga *s, const csc_part *part)
{
    s->failed++;
    if (s->names.len > NAMES_MAX)
        return;
    if (s->names.len > 0)
        csc_buf_add_text(&s->names, ", ");
    csc_buf_add_text(&s->names, part->name);
    if (s->names.len > NAMES_MAX)
        csc_buf_add_text(&s->names, " ...");
}

/* Calls one that is not recorded. */
static cascade_err
run_undo(saga *s, const csc_part *part, const cJSON *input)
{
    cascade_node *node = s->node;
    undo_call call = {.undo = find_undo(s->at, part), .input = input};

    if (call.undo == NULL)
        call.undo = find_undo(node->undos, part);
    else
        s->at = call.undo->next;
    return csc_step_run_part(node, part,
                             call.undo != NULL ? &call.undo->attempts
                                               : &node->def->attempts,
                             call_undo, &call);
}

/* CASCADE_OK: it is behind the node, well or not. */
static cascade_err
undo_one(saga *s, const cJSON *item)
{
    cascade_node *node = s->node;
    const cJSON *nth = cJSON_GetObjectItemCaseSensitive(item, "nth");
    csc_part part = {.kind = CSC_PART_UNDO,
                     .name = cJSON_GetStringValue(
                         cJSON_GetObjectItemCaseSensitive(item, "name")),
                     .occurrence =
                         cJSON_IsNumber(nth) ? (uint32_t)nth->valueint : 0};
    const csc_exec *recorded = NULL;
    bool leave = false;
    cascade_err err = CASCADE_OK;

    if (part.name == NULL)
        return CASCADE_OK; /* no list of ours */
    recorded = csc_part_find(node, &part, &leave);
    if (recorded != NULL)
        err = csc_part_pass_one(node, &part, recorded);
    else if (leave)
        err = csc_part_suspend(node, NULL);
    else
        err =
            run_undo(s, &part, cJSON_GetObjectItemCaseSensitive(item, "input"));
    if (err == CASCADE_OK || err == CASCADE_SUSPENDED ||
        err == CASCADE_ERR_NO_MEMORY)
        return err;
    if (csc_node_is_gone(node))
        return csc_part_suspend(node, NULL);
    note_failed(s, &part);
    return CASCADE_OK;
}

/* What the node fails with. */
static cascade_err
write_failure(const saga *s, const char **failure)
{
    csc_arena *arena = &s->node->post->arena;
    const char *text = s->error != NULL ? s->error : "it failed";
    size_t len = strlen(text);

    if (s->failed > 0 && len > ERROR_KEPT_MAX)
        len = csc_check_cut(text, ERROR_KEPT_MAX);
    if (s->failed > 0)
        text = csc_arena_format(
            arena, "%.*s; of %d compensations %zu failed: %s", (int)len, text,
            cJSON_GetArraySize(s->list), s->failed, s->names.data);
    if (text != NULL && !s->names.failed)
        text = csc_text_clean(arena, text);
    if (text == NULL || s->names.failed)
        return csc_fail_memory();
    *failure = text;
    return CASCADE_OK;
}

/* It had registered none before its time was over. */
static cascade_err
keep_error(const cascade_node *node, const char *error, const char **failure)
{
    *failure = csc_text_clean(&node->post->arena, error);
    return *failure != NULL ? CASCADE_OK : csc_fail_memory();
}

/* What was told to the node is over: it has left. */
static void
begin_undoing(cascade_node *node)
{
    csc_op_free(node->pending);
    node->pending = NULL;
    node->suspended = false;
    node->post->effects = (csc_effects){0};
}

cascade_err
csc_compensate_undo(cascade_node *node, const char *error, const char **failure)
{
    saga s = {.node = node};
    const cJSON *item = NULL;
    cascade_err err = CASCADE_OK;

    begin_undoing(node);
    if (csc_time_limit_check_call(node->call) != CASCADE_OK)
        return csc_part_suspend(node, NULL);
    if (node->exec->undone_by == 0 && node->exec->over) {
        error =
            node->exec->error != NULL ? node->exec->error : "its time is over";
        if (node->undos == NULL)
            return keep_error(node, error, failure);
    }
    if (node->exec->undone_by == 0)
        err = record_decision(node, error);
    if (err == CASCADE_OK)
        err = read_decision(&s);
    else if (err != CASCADE_SUSPENDED && err != CASCADE_ERR_NO_MEMORY)
        err = csc_part_suspend(node, NULL); /* it belongs to another one */
    if (err == CASCADE_OK)
        cJSON_ArrayForEach(item, s.list)
        {
            err = undo_one(&s, item);
            if (err != CASCADE_OK)
                break;
        }
    if (err == CASCADE_OK)
        err = write_failure(&s, failure);
    csc_buf_fini(&s.names);
    return err;
}
