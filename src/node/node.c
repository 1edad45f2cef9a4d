/* SPDX-License-Identifier: MIT
 *
 * The node side: what a node asks, puts, spawns and answers. What it reads
 * of the context is in context.c, steps are in step.c.
 */
#include "node/node.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/data/digits.h"
#include "base/data/text.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "change/effects.h"
#include "change/op.h"
#include "commit/lane.h"
#include "held/engine_state.h"
#include "held/run/advance.h"
#include "held/run/time_limit.h"
#include "state/state.h"
#include "store/store.h"

cascade_err
csc_node_check_origin(const cascade_node *node)
{
    return csc_origin_check(node != NULL ? node->engine : NULL);
}

static bool
is_here(const cascade_node *node)
{
    return node != NULL && csc_origin_is_here(node->engine);
}

/* ---- Who and what ------------------------------------------------------- */

const cascade_uuid *
cascade_node_cascade_id(const cascade_node *node)
{
    return &node->run->state.id;
}

int32_t
cascade_node_function_id(const cascade_node *node)
{
    return node->exec->function_id;
}

int
cascade_node_attempt(const cascade_node *node)
{
    return node->step_attempt > 0 ? node->step_attempt
                                  : node->exec->attempts + 1;
}

const char *
cascade_node_name(const cascade_node *node)
{
    return node->exec->name;
}

const char *
cascade_node_user_id(const cascade_node *node)
{
    return node->run->state.user_id;
}

const char *
cascade_node_request_id(const cascade_node *node)
{
    return node->step != NULL ? node->step_request_id : node->request_id;
}

bool
csc_node_is_cancelled(const cascade_node *node)
{
    bool cancelled = false;

    csc_lock_take(&node->engine->mutex);
    cancelled = node->run->state.cancel != CSC_NO_PARENT;
    csc_lock_give(&node->engine->mutex);
    return cancelled;
}

bool
csc_node_is_gone(const cascade_node *node)
{
    bool gone = false;

    csc_lock_take(&node->engine->mutex);
    gone = csc_run_is_gone(node->run) || atomic_load(&node->call->late);
    csc_lock_give(&node->engine->mutex);
    return gone;
}

bool
cascade_node_is_cancelled(const cascade_node *node)
{
    return !is_here(node) || csc_node_is_gone(node) ||
           csc_node_is_cancelled(node);
}

const char *
csc_node_path(cascade_node *node, int32_t parent, const char *name,
              uint32_t occurrence)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char up[CSC_DIGITS_SIZE];
    char nth[CSC_DIGITS_SIZE];

    return csc_arena_join(
        &node->arena, cascade_uuid_format(&node->run->state.id, id), "/",
        parent == CSC_NO_PARENT ? "-" : csc_digits(parent, up), "/", name, "#",
        csc_digits(occurrence, nth));
}

const char *
cascade_node_input_text(const cascade_node *node)
{
    return node->exec->input != NULL ? node->exec->input : "{}";
}

const cJSON *
cascade_node_input(cascade_node *node)
{
    if (node == NULL || csc_node_check_origin(node) != CASCADE_OK)
        return NULL;
    if (node->input == NULL) {
        node->input = csc_json_tree_parse(cascade_node_input_text(node));
        if (node->input == NULL)
            (void)csc_fail_memory();
    }
    return node->input;
}

cJSON *
csc_node_keep(cascade_node *node, cJSON *tree)
{
    void *trees = node->trees;

    if (tree == NULL ||
        csc_mem_grow(&trees, &node->tree_room, node->tree_count + 1,
                     sizeof(cJSON *)) != 0) {
        cJSON_Delete(tree);
        (void)csc_fail_memory();
        return NULL;
    }
    node->trees = trees;
    node->trees[node->tree_count++] = tree;
    return tree;
}

cascade_err
csc_node_give(cascade_node *node, csc_node_out out, const char *text)
{
    const char *copy = NULL;
    cJSON *tree = NULL;

    if (text != NULL && out.text != NULL) {
        copy = csc_arena_strdup(&node->arena, text);
        if (copy == NULL)
            return csc_fail_memory();
    }
    if (text != NULL && (out.tree != NULL || out.kept != NULL)) {
        tree = csc_json_tree_parse(text);
        if (out.kept != NULL)
            tree = csc_node_keep(node, tree);
        if (tree == NULL)
            return csc_fail_memory();
    }
    if (out.tree != NULL)
        *out.tree = tree;
    if (out.kept != NULL)
        *out.kept = tree;
    if (out.text != NULL)
        *out.text = copy;
    return csc_ok();
}

/* ---- Producing ---------------------------------------------------------- */

cascade_err
csc_node_check(const cascade_node *node, const char *verb, const void *what)
{
    cascade_err err = csc_node_check_origin(node);

    if (err != CASCADE_OK)
        return err;
    if (node != NULL && what != NULL)
        return csc_time_limit_check_call(node->call);
    return csc_fail(CASCADE_ERR_INVALID, "%s: an argument is NULL", verb);
}

/* Inside a step what is put and spawned is the step's. */
static csc_gather
gather_into(const cascade_node *node)
{
    csc_post *post = node->step != NULL ? node->step : node->post;
    int64_t of_step = node->step != NULL ? 1 : 0;

    return (csc_gather){.arena = &post->arena,
                        .effects = &post->effects,
                        .payload_max = node->engine->store->config.payload_max,
                        .bytes_max = node->engine->options.execution_bytes_max,
                        .spawns_max = node->call->ids_left - of_step};
}

/* `value` has to be there. */
static cascade_err
put(cascade_node *node, const char *key, const void *value,
    const csc_json_given values[2])
{
    cascade_err err = csc_node_check(node, "put", value);

    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_put(&gather, key, values);
    }
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_put_ui(cascade_node *node, const char *key, cJSON *value,
                    cJSON *ui_value)
{
    const csc_json_given values[2] = {csc_json_given_tree(value),
                                      csc_json_given_tree(ui_value)};
    cascade_err err = put(node, key, value, values);

    if (ui_value != value)
        cJSON_Delete(ui_value);
    cJSON_Delete(value);
    return err;
}

cascade_err
cascade_node_put(cascade_node *node, const char *key, cJSON *value)
{
    return cascade_node_put_ui(node, key, value, NULL);
}

cascade_err
cascade_node_put_text(cascade_node *node, const char *key, const char *text,
                      const char *ui_text)
{
    csc_json_given values[2] = {csc_json_given_text(text),
                                csc_json_given_tree(NULL)};

    if (ui_text != NULL)
        values[1] = csc_json_given_text(ui_text);
    return put(node, key, text, values);
}

cascade_err
csc_node_refuse_step(const cascade_node *node, const char *what,
                     const char *name)
{
    if (node->step == NULL)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_MISUSE,
                    "%s %s is asked for inside step %s, which has not "
                    "returned; ask for it from the node",
                    what, name, node->step_name);
}

/* `value` has to be there. */
static cascade_err
give_output(cascade_node *node, const void *value, csc_json_given output)
{
    cascade_err err = csc_node_check(node, "output", value);

    if (err == CASCADE_OK && node->step != NULL)
        err = csc_fail(CASCADE_ERR_MISUSE,
                       "cascade_node_output() inside a step: a step gives its "
                       "result through its last argument");
    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_output(&gather, "output", output);
    }
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_output(cascade_node *node, cJSON *output)
{
    cascade_err err = give_output(node, output, csc_json_given_tree(output));

    cJSON_Delete(output);
    return err;
}

cascade_err
cascade_node_output_text(cascade_node *node, const char *output)
{
    return give_output(node, output, csc_json_given_text(output));
}

cascade_err
cascade_node_result(cascade_node *node, cJSON *result)
{
    cascade_err err = cascade_node_output(node, result);

    if (err == CASCADE_OK)
        node->post->effects.is_result = true;
    return err;
}

cascade_err
cascade_node_result_text(cascade_node *node, const char *result)
{
    cascade_err err = cascade_node_output_text(node, result);

    if (err == CASCADE_OK)
        node->post->effects.is_result = true;
    return err;
}

cascade_err
cascade_node_step_result_text(cascade_node *node, const char *result)
{
    cascade_err err = csc_node_check(node, "result of a step", result);

    if (err == CASCADE_OK && (node->step == NULL || !node->step_gives))
        err = csc_fail(CASCADE_ERR_MISUSE,
                       "cascade_node_step_result_text() outside of a step; a "
                       "node gives its output, and a compensation nothing");
    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_output(&gather, "result of a step",
                                 csc_json_given_text(result));
    }
    return err == CASCADE_OK ? csc_ok() : err;
}

static cascade_err
spawn(cascade_node *node, const char *node_name, csc_json_given input,
      const cascade_spawn_options *options)
{
    cascade_spawn_options known = {0};
    cascade_err err = csc_node_check(node, "spawn", node_name);

    if (err == CASCADE_OK)
        err =
            csc_check_options("spawn options", options, &known, sizeof(known));
    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_spawn(&gather, node_name, input, &known);
    }
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_spawn(cascade_node *node, const char *node_name, cJSON *input,
                   const cascade_spawn_options *options)
{
    cascade_err err =
        spawn(node, node_name, csc_json_given_tree(input), options);

    cJSON_Delete(input);
    return err;
}

cascade_err
cascade_node_spawn_text(cascade_node *node, const char *node_name,
                        const char *input, const cascade_spawn_options *options)
{
    return spawn(node, node_name, csc_json_given_text(input), options);
}

uint32_t
cascade_node_spawned(const cascade_node *node)
{
    return gather_into(node).effects->spawn_count;
}

/* ---- Heartbeats --------------------------------------------------------- */

/* With INLINE nobody else looks at the time, or commits. */
static cascade_err
tell_progress(cascade_node *node, const char *progress)
{
    cascade_engine *engine = node->engine;
    bool saving = false;
    bool alone = engine->options.mode == CASCADE_MODE_INLINE;
    cascade_err err = CASCADE_OK;

    if (alone)
        csc_advance_fire_due(engine);
    csc_lock_take(&engine->mutex);
    err = csc_time_limit_beat_locked(engine, node->call, progress);
    saving = node->call->saving != NULL;
    csc_lock_give(&engine->mutex);
    if (saving && alone)
        (void)csc_lane_round(&engine->lanes[node->run->lane]);
    return err == CASCADE_OK ? csc_ok() : err;
}

static cascade_err
beat(cascade_node *node, csc_json_given progress)
{
    csc_buf text = {0};
    bool any = !csc_json_given_is_none(progress);
    cascade_err err = csc_node_check(node, "heartbeat", node);

    if (err == CASCADE_OK)
        err = csc_txn_refuse(node, "a heartbeat");
    if (err == CASCADE_OK && any)
        err = csc_json_given_canon("progress", progress,
                                   node->engine->store->config.payload_max,
                                   &text);
    if (err == CASCADE_OK)
        err = tell_progress(node, any ? text.data : NULL);
    csc_buf_fini(&text);
    return err;
}

cascade_err
cascade_node_heartbeat(cascade_node *node, cJSON *progress)
{
    cascade_err err = beat(node, csc_json_given_tree(progress));

    cJSON_Delete(progress);
    return err;
}

cascade_err
cascade_node_heartbeat_text(cascade_node *node, const char *progress)
{
    return beat(node, csc_json_given_text(progress));
}

/* One of `out` has to be there. */
static cascade_err
read_progress(cascade_node *node, const void *what, csc_node_out out)
{
    const char *text = NULL;
    bool any = false;
    cascade_err err = csc_node_check(node, "progress", what);

    if (err != CASCADE_OK)
        return err;
    csc_lock_take(&node->engine->mutex);
    text = node->call->progress != NULL ? node->call->progress
                                        : node->exec->progress;
    any = text != NULL;
    text = csc_arena_strdup(&node->arena, text);
    csc_lock_give(&node->engine->mutex);
    if (!any)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "no heartbeat of execution %d has saved progress",
                        (int)node->exec->function_id);
    if (text == NULL)
        return csc_fail_memory();
    return csc_node_give(node, out, text);
}

cascade_err
cascade_node_progress(cascade_node *node, const cJSON **progress)
{
    return read_progress(node, progress, (csc_node_out){.kept = progress});
}

cascade_err
cascade_node_progress_text(cascade_node *node, const char **progress)
{
    return read_progress(node, progress, (csc_node_out){.text = progress});
}

static void
set_error(cascade_node *node, cascade_err err, const char *format, va_list args)
{
    char text[CSC_ERROR_TEXT_MAX + 1];

    (void)vsnprintf(text, sizeof(text), format, args);
    node->error = csc_text_clean(&node->arena, text);
    node->error_err = err;
}

cascade_err
cascade_node_fail(cascade_node *node, const char *format, ...)
{
    va_list args;

    if (csc_node_check_origin(node) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (node == NULL || format == NULL)
        return csc_node_check(node, "fail", format);
    va_start(args, format);
    set_error(node, CASCADE_ERR_FINAL, format, args);
    va_end(args);
    return csc_fail(CASCADE_ERR_FINAL, "the node failed for good");
}

cascade_err
cascade_node_error(cascade_node *node, const char *format, ...)
{
    va_list args;

    if (csc_node_check_origin(node) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (node == NULL || format == NULL)
        return csc_node_check(node, "error", format);
    va_start(args, format);
    set_error(node, CASCADE_ERR_FAILED, format, args);
    va_end(args);
    return csc_fail(CASCADE_ERR_FAILED, "the node failed");
}

const char *
csc_node_error_text(cascade_node *node, csc_arena *arena, cascade_err err)
{
    const char *text = node->error_err == err ? node->error : NULL;

    if (text == NULL && csc_error_last() == err)
        text = cascade_errmsg();
    if (text == NULL)
        text = cascade_err_text(err);
    text = csc_text_clean(arena, text);
    return text != NULL ? text : cascade_err_text(err);
}
