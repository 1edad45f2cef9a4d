/* SPDX-License-Identifier: MIT
 *
 * The node side: what a node asks, puts, spawns and answers. Steps are in
 * node_step.c.
 *
 * WHAT A NODE SEES OF THE CONTEXT, in this order:
 *   - the events its execution sees (state.h), the same on every attempt;
 *   - what it has put itself, in this attempt;
 *   - what its steps put, those that are behind it in this entry.
 * That is the order of (function_id, id) which the events will have in the
 * tables, since steps come after the node they belong to.
 */
#include "engine/node.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/json.h"
#include "engine/effects.h"

#define ERROR_TEXT_MAX 2000

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

    pthread_mutex_lock(&node->engine->mutex);
    cancelled = node->run->state.cancel != CSC_NO_PARENT;
    pthread_mutex_unlock(&node->engine->mutex);
    return cancelled;
}

bool
csc_node_is_gone(const cascade_node *node)
{
    bool gone = false;

    pthread_mutex_lock(&node->engine->mutex);
    gone = node->run->gone || atomic_load(&node->call->late);
    pthread_mutex_unlock(&node->engine->mutex);
    return gone;
}

bool
cascade_node_is_cancelled(const cascade_node *node)
{
    return csc_node_is_gone(node) || csc_node_is_cancelled(node);
}

const char *
csc_node_path(cascade_node *node, int32_t parent, const char *name,
              uint32_t occurrence)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    cascade_uuid_format(&node->run->state.id, id);
    if (parent == CSC_NO_PARENT)
        return csc_arena_format(&node->arena, "%s/-/%s#%u", id, name,
                                (unsigned)occurrence);
    return csc_arena_format(&node->arena, "%s/%d/%s#%u", id, (int)parent, name,
                            (unsigned)occurrence);
}

const char *
cascade_node_input_text(const cascade_node *node)
{
    return node->exec->input != NULL ? node->exec->input : "{}";
}

const cJSON *
cascade_node_input(cascade_node *node)
{
    if (node->input == NULL) {
        node->input = csc_json_parse(cascade_node_input_text(node));
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

/* ---- Reading the context ------------------------------------------------ */

static bool
sees(const cascade_node *node, const csc_event *event)
{
    const csc_exec *exec = node->exec;

    if (csc_state_sees(event, exec->place, &exec->seen))
        return true;
    return event->parent == exec->function_id &&
           csc_state_has(&node->passed, event->function_id);
}

/* Calls `found` for each visible value of `key`, oldest first. Locked: the
 * arrays may grow meanwhile, the values stay where they are. */
static void
each_value(const cascade_node *node, const char *key,
           void (*found)(void *context, const char *value), void *context)
{
    const csc_key *events = csc_state_key(&node->run->state, key);
    size_t count = events != NULL ? events->count : 0;
    size_t i = 0;

    /* A joined execution may see steps with a higher place than its own. */
    for (; i < count && events->events[i].function_id < node->exec->place; i++)
        if (sees(node, &events->events[i]))
            found(context, events->events[i].value);
    for (const csc_put *p = node->post->effects.first_put; p != NULL;
         p = p->next)
        if (strcmp(p->key, key) == 0)
            found(context, p->value);
    for (; i < count; i++)
        if (sees(node, &events->events[i]))
            found(context, events->events[i].value);
    if (node->step == NULL)
        return;
    for (const csc_put *p = node->step->effects.first_put; p != NULL;
         p = p->next)
        if (strcmp(p->key, key) == 0)
            found(context, p->value);
}

static void
found_last(void *context, const char *value)
{
    const char **last = context;

    *last = value;
}

static void
found_any(void *context, const char *value)
{
    csc_buf *list = context;

    csc_buf_add_char(list, list->len == 0 ? '[' : ',');
    csc_buf_add_text(list, value);
}

/* `what` must be there too: an argument that the verb cannot do without. */
static cascade_err
check_call(const cascade_node *node, const char *verb, const void *what)
{
    if (node != NULL && what != NULL)
        return csc_limits_check_call(node->call);
    return csc_fail(CASCADE_ERR_INVALID, "%s: an argument is NULL", verb);
}

cascade_err
cascade_node_get(cascade_node *node, const char *key, const cJSON **value)
{
    const char *last = NULL;
    const cJSON *tree = NULL;
    cascade_err err = check_call(node, "get", value);

    if (err == CASCADE_OK)
        err = csc_check_text("context key", key);
    if (err != CASCADE_OK)
        return err;
    pthread_mutex_lock(&node->engine->mutex);
    each_value(node, key, found_last, &last);
    pthread_mutex_unlock(&node->engine->mutex);
    if (last == NULL)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "the context has no value for that key that execution "
                        "%d can see",
                        (int)node->exec->function_id);
    tree = csc_node_keep(node, csc_json_parse(last));
    if (tree == NULL)
        return CASCADE_ERR_NO_MEMORY;
    *value = tree;
    return csc_ok();
}

cascade_err
cascade_node_history(cascade_node *node, const char *key, const cJSON **values)
{
    csc_buf list = {0};
    const cJSON *tree = NULL;
    cascade_err err = check_call(node, "history", values);

    if (err == CASCADE_OK)
        err = csc_check_text("context key", key);
    if (err != CASCADE_OK)
        return err;
    pthread_mutex_lock(&node->engine->mutex);
    each_value(node, key, found_any, &list);
    pthread_mutex_unlock(&node->engine->mutex);
    csc_buf_add_text(&list, list.len == 0 ? "[]" : "]");
    if (!list.failed)
        tree = csc_node_keep(node, csc_json_parse(list.data));
    csc_buf_fini(&list);
    if (tree == NULL)
        return csc_fail_memory();
    *values = tree;
    return csc_ok();
}

/* ---- Producing ---------------------------------------------------------- */

/* Inside a step what is put and spawned is the step's. */
static csc_gather
gather_into(const cascade_node *node)
{
    csc_post *post = node->step != NULL ? node->step : node->post;

    return (csc_gather){.arena = &post->arena,
                        .effects = &post->effects,
                        .payload_max = node->engine->store->config.payload_max,
                        .bytes_max = node->engine->options.execution_bytes_max};
}

cascade_err
cascade_node_put_ui(cascade_node *node, const char *key, cJSON *value,
                    cJSON *ui_value)
{
    const cJSON *const trees[2] = {value, ui_value};
    const char *const texts[2] = {NULL, NULL};
    cascade_err err = check_call(node, "put", value);

    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_put(&gather, key, trees, texts);
    }
    if (ui_value != value)
        cJSON_Delete(ui_value);
    cJSON_Delete(value);
    return err == CASCADE_OK ? csc_ok() : err;
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
    const cJSON *const trees[2] = {NULL, NULL};
    const char *const texts[2] = {text, ui_text};
    cascade_err err = check_call(node, "put", text);

    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_put(&gather, key, trees, texts);
    }
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_output(cascade_node *node, cJSON *output)
{
    cascade_err err = check_call(node, "output", output);

    if (err == CASCADE_OK && node->step != NULL)
        err = csc_fail(CASCADE_ERR_MISUSE,
                       "cascade_node_output() inside a step: a step gives its "
                       "result through its last argument");
    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_output(&gather, output, NULL);
    }
    cJSON_Delete(output);
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_spawn(cascade_node *node, const char *node_name, cJSON *input,
                   const cascade_spawn_options *options)
{
    cascade_spawn_options known = {0};
    cascade_err err = check_call(node, "spawn", node_name);

    if (err == CASCADE_OK)
        err =
            csc_check_options("spawn options", options, &known, sizeof(known));
    if (err == CASCADE_OK) {
        csc_gather gather = gather_into(node);

        err = csc_effects_spawn(&gather, node_name, input, &known);
    }
    cJSON_Delete(input);
    return err == CASCADE_OK ? csc_ok() : err;
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
        csc_house_fire(engine);
    pthread_mutex_lock(&engine->mutex);
    err = csc_limits_beat(engine, node->call, progress);
    saving = node->call->saving != NULL;
    pthread_mutex_unlock(&engine->mutex);
    if (saving && alone)
        (void)csc_lane_round(&engine->lanes[node->run->lane]);
    return err == CASCADE_OK ? csc_ok() : err;
}

cascade_err
cascade_node_heartbeat(cascade_node *node, cJSON *progress)
{
    csc_buf text = {0};
    cascade_err err = check_call(node, "heartbeat", node);

    if (err == CASCADE_OK)
        err = csc_node_refuse_native(node, "a heartbeat");
    if (err == CASCADE_OK && progress != NULL)
        err =
            csc_json_canon_tree("progress", progress,
                                node->engine->store->config.payload_max, &text);
    if (err == CASCADE_OK)
        err = tell_progress(node, progress != NULL ? text.data : NULL);
    csc_buf_fini(&text);
    cJSON_Delete(progress);
    return err;
}

cascade_err
cascade_node_progress(cascade_node *node, const cJSON **progress)
{
    const cJSON *tree = NULL;
    const char *text = NULL;
    bool any = false;
    cascade_err err = check_call(node, "progress", progress);

    if (err != CASCADE_OK)
        return err;
    pthread_mutex_lock(&node->engine->mutex);
    text = node->call->progress != NULL ? node->call->progress
                                        : node->exec->progress;
    any = text != NULL;
    text = csc_arena_strdup(&node->arena, text);
    pthread_mutex_unlock(&node->engine->mutex);
    if (!any)
        return csc_fail(CASCADE_ERR_NOT_FOUND,
                        "no heartbeat of execution %d has saved progress",
                        (int)node->exec->function_id);
    tree = text != NULL ? csc_node_keep(node, csc_json_parse(text)) : NULL;
    if (tree == NULL)
        return csc_fail_memory();
    *progress = tree;
    return csc_ok();
}

/* ---- Failing ------------------------------------------------------------ */

const char *
csc_node_clean(csc_arena *arena, const char *text)
{
    size_t len = strnlen(text, ERROR_TEXT_MAX);
    char *copy = csc_arena_strndup(arena, text, csc_check_cut(text, len));

    if (copy == NULL)
        return NULL;
    if (!csc_json_is_utf8(copy, strlen(copy)))
        for (char *c = copy; *c != '\0'; c++)
            if ((unsigned char)*c >= 0x80)
                *c = '?';
    return copy;
}

static void
set_error(cascade_node *node, cascade_err err, const char *format, va_list args)
{
    char text[ERROR_TEXT_MAX + 1];

    (void)vsnprintf(text, sizeof(text), format, args);
    node->error = csc_node_clean(&node->arena, text);
    node->error_err = err;
}

cascade_err
cascade_node_fail(cascade_node *node, const char *format, ...)
{
    va_list args;

    if (node == NULL || format == NULL)
        return check_call(node, "fail", format);
    va_start(args, format);
    set_error(node, CASCADE_ERR_FINAL, format, args);
    va_end(args);
    return csc_fail(CASCADE_ERR_FINAL, "the node failed for good");
}

cascade_err
cascade_node_error(cascade_node *node, const char *format, ...)
{
    va_list args;

    if (node == NULL || format == NULL)
        return check_call(node, "error", format);
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
    text = csc_node_clean(arena, text);
    return text != NULL ? text : cascade_err_text(err);
}
