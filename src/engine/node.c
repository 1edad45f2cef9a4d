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
cascade_node_is_cancelled(const cascade_node *node)
{
    bool gone = false;

    pthread_mutex_lock(&node->engine->mutex);
    gone = node->run->gone;
    pthread_mutex_unlock(&node->engine->mutex);
    return gone || csc_node_is_cancelled(node);
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
    int32_t own = node->exec->function_id;

    if (csc_state_sees(event, own, &node->exec->seen))
        return true;
    return event->parent == own &&
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
    for (; i < count && events->events[i].function_id < node->exec->function_id;
         i++)
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
        return CASCADE_OK;
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

static csc_post *
target(cascade_node *node)
{
    return node->step != NULL ? node->step : node->post;
}

/* Copies the text in `text` to the target's arena and counts its bytes. */
static cascade_err
keep_text(cascade_node *node, const char *what, csc_buf *text,
          const char **copy)
{
    csc_post *post = target(node);
    size_t max = node->engine->options.execution_bytes_max;

    if (text->failed)
        return csc_fail_memory();
    if (post->effects.bytes > max || text->len > max - post->effects.bytes)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "%s: the execution would exceed %zu bytes of puts, "
                        "output and spawns; store less, or spread it over "
                        "several executions",
                        what, max);
    *copy = csc_arena_strndup(&post->arena, text->data, text->len);
    if (*copy == NULL)
        return csc_fail_memory();
    post->effects.bytes += text->len;
    return CASCADE_OK;
}

/* A tree of the user's becomes canonical text in the target's arena. */
static cascade_err
keep_tree(cascade_node *node, const char *what, const cJSON *tree,
          const char **copy)
{
    csc_buf text = {0};
    cascade_err err = csc_json_canon_tree(
        what, tree, node->engine->store->config.payload_max, &text);

    if (err == CASCADE_OK)
        err = keep_text(node, what, &text, copy);
    csc_buf_fini(&text);
    return err;
}

static cascade_err
keep_json(cascade_node *node, const char *what, const char *json,
          const char **copy)
{
    csc_buf text = {0};
    cascade_err err =
        csc_json_canon(what, json, strlen(json),
                       node->engine->store->config.payload_max, &text);

    if (err == CASCADE_OK)
        err = keep_text(node, what, &text, copy);
    csc_buf_fini(&text);
    return err;
}

static cascade_err
begin_put(cascade_node *node, const char *key, csc_put **put)
{
    csc_post *post = target(node);
    cascade_err err = csc_check_text("context key", key);

    if (err != CASCADE_OK)
        return err;
    if (post->effects.put_count >= CSC_POST_EFFECTS_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "an execution may put at most %d values; put lists, or "
                        "spread them over several executions",
                        CSC_POST_EFFECTS_MAX);
    *put = csc_arena_alloc(&post->arena, 1, sizeof(**put));
    if (*put != NULL)
        (*put)->key = csc_arena_strdup(&post->arena, key);
    if (*put == NULL || (*put)->key == NULL)
        return csc_fail_memory();
    post->effects.bytes += strlen(key);
    return CASCADE_OK;
}

/* The put is made, or leaves no trace: `bytes` is what was there before. */
static cascade_err
end_put(cascade_node *node, csc_put *put, size_t bytes, cascade_err err)
{
    csc_effects *effects = &target(node)->effects;

    if (err != CASCADE_OK) {
        effects->bytes = bytes;
        return err;
    }
    csc_post_add_put(effects, put);
    return csc_ok();
}

/* Either texts or trees. */
static cascade_err
put(cascade_node *node, const char *key, const cJSON *trees[2],
    const char *texts[2])
{
    size_t bytes = target(node)->effects.bytes;
    csc_put *made = NULL;
    cascade_err err = begin_put(node, key, &made);

    if (err == CASCADE_OK && trees[0] != NULL)
        err = keep_tree(node, "value of put", trees[0], &made->value);
    if (err == CASCADE_OK && trees[1] != NULL)
        err = keep_tree(node, "ui value of put", trees[1], &made->ui_value);
    if (err == CASCADE_OK && texts[0] != NULL)
        err = keep_json(node, "value of put", texts[0], &made->value);
    if (err == CASCADE_OK && texts[1] != NULL)
        err = keep_json(node, "ui value of put", texts[1], &made->ui_value);
    return end_put(node, made, bytes, err);
}

cascade_err
cascade_node_put_ui(cascade_node *node, const char *key, cJSON *value,
                    cJSON *ui_value)
{
    const cJSON *trees[2] = {value, ui_value};
    const char *texts[2] = {NULL, NULL};
    cascade_err err = check_call(node, "put", value);

    if (err == CASCADE_OK)
        err = put(node, key, trees, texts);
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
    const cJSON *trees[2] = {NULL, NULL};
    const char *texts[2] = {text, ui_text};
    cascade_err err = check_call(node, "put", text);

    return err == CASCADE_OK ? put(node, key, trees, texts) : err;
}

/* Only the last output counts, also against the bytes of the execution. */
static cascade_err
replace_output(cascade_node *node, const cJSON *output, const char **text)
{
    csc_effects *effects = &node->post->effects;
    size_t before = effects->bytes;
    cascade_err err = CASCADE_OK;

    if (effects->output != NULL)
        effects->bytes -= strlen(effects->output);
    err = keep_tree(node, "output", output, text);
    if (err != CASCADE_OK)
        effects->bytes = before;
    return err;
}

cascade_err
cascade_node_output(cascade_node *node, cJSON *output)
{
    const char *text = NULL;
    cascade_err err = check_call(node, "output", output);

    if (err == CASCADE_OK && node->step != NULL)
        err = csc_fail(CASCADE_ERR_MISUSE,
                       "cascade_node_output() inside a step: a step gives its "
                       "result through its last argument");
    if (err == CASCADE_OK)
        err = replace_output(node, output, &text);
    cJSON_Delete(output);
    if (err != CASCADE_OK)
        return err;
    node->post->effects.output = text;
    return csc_ok();
}

/* ---- Spawning ----------------------------------------------------------- */

/* Copies `after` in ascending order without repetitions. */
static cascade_err
keep_after(cascade_node *node, const cascade_spawn_options *options,
           csc_spawn *spawn)
{
    csc_post *post = target(node);

    if (options->after_count == 0)
        return CASCADE_OK;
    if (options->after == NULL || options->after_count > CSC_POST_EFFECTS_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spawn: after_count is %zu; `after` must hold that "
                        "many numbers, at most %d",
                        options->after_count, CSC_POST_EFFECTS_MAX);
    spawn->after = csc_arena_alloc(&post->arena, options->after_count,
                                   sizeof(*spawn->after));
    if (spawn->after == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < options->after_count; i++) {
        uint32_t number = options->after[i];
        size_t at = spawn->after_count;

        if (number < 1 || number > post->effects.spawn_count)
            return csc_fail(CASCADE_ERR_INVALID,
                            "spawn: after[%zu] is %u, but only spawns 1 to %u "
                            "were made before",
                            i, (unsigned)number,
                            (unsigned)post->effects.spawn_count);
        while (at > 0 && spawn->after[at - 1] > number)
            at--;
        if (at > 0 && spawn->after[at - 1] == number)
            continue;
        memmove(&spawn->after[at + 1], &spawn->after[at],
                (spawn->after_count - at) * sizeof(number));
        spawn->after[at] = number;
        spawn->after_count++;
    }
    return CASCADE_OK;
}

/* When all are waited for, and for nothing, nothing of it is recorded. */
static cascade_err
keep_join(const cascade_spawn_options *options, csc_spawn *spawn)
{
    if (options->first > spawn->after_count)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spawn: first is %u, but `after` names %zu spawns; "
                        "give no more than these, or 0 for all",
                        (unsigned)options->first, spawn->after_count);
    if (options->first < spawn->after_count)
        spawn->first = options->first;
    if (spawn->after_count > 0)
        spawn->on_failure = options->on_failure;
    return CASCADE_OK;
}

static cascade_err
check_spawn(const cascade_node *node, const csc_post *post, const char *name,
            const cascade_spawn_options *options)
{
    cascade_err err = csc_check_name("node name", name);

    (void)node;
    if (err != CASCADE_OK)
        return err;
    if (post->effects.spawn_count >= CSC_POST_EFFECTS_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "an execution may spawn at most %d others; let some "
                        "of them spawn the rest",
                        CSC_POST_EFFECTS_MAX);
    if (options->priority < 0 || options->priority > 9)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spawn: the priority is %d; give 1 to 9, or 0 for the "
                        "cascade's",
                        options->priority);
    if (options->delay_ms < 0)
        return csc_fail(CASCADE_ERR_INVALID, "spawn: delay_ms is negative");
    if (options->on_failure != CASCADE_JOIN_WAIT &&
        options->on_failure != CASCADE_JOIN_FAIL &&
        options->on_failure != CASCADE_JOIN_SKIP)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spawn: on_failure is %d; give a cascade_join",
                        (int)options->on_failure);
    return CASCADE_OK;
}

static cascade_err
fill_spawn(cascade_node *node, csc_spawn *spawn, const char *name,
           const cJSON *input, const cascade_spawn_options *options)
{
    csc_post *post = target(node);
    cascade_err err = CASCADE_OK;

    spawn->delay_ms = options->delay_ms;
    spawn->priority = options->priority;
    spawn->input = "{}";
    spawn->name = csc_arena_strdup(&post->arena, name);
    if (spawn->name == NULL)
        return csc_fail_memory();
    err = keep_after(node, options, spawn);
    if (err == CASCADE_OK)
        err = keep_join(options, spawn);
    if (err == CASCADE_OK && input != NULL)
        err = keep_tree(node, "input of spawn", input, &spawn->input);
    if (err == CASCADE_OK)
        post->effects.bytes += strlen(name);
    return err;
}

cascade_err
cascade_node_spawn(cascade_node *node, const char *node_name, cJSON *input,
                   const cascade_spawn_options *options)
{
    cascade_spawn_options known = {0};
    csc_post *post = NULL;
    csc_spawn *spawn = NULL;
    cascade_err err = check_call(node, "spawn", node_name);

    if (err == CASCADE_OK)
        err =
            csc_check_options("spawn options", options, &known, sizeof(known));
    if (err == CASCADE_OK) {
        post = target(node);
        err = check_spawn(node, post, node_name, &known);
    }
    if (err == CASCADE_OK) {
        spawn = csc_arena_alloc(&post->arena, 1, sizeof(*spawn));
        if (spawn == NULL)
            err = csc_fail_memory();
    }
    if (err == CASCADE_OK)
        err = fill_spawn(node, spawn, node_name, input, &known);
    cJSON_Delete(input);
    if (err != CASCADE_OK)
        return err;
    csc_post_add_spawn(&post->effects, spawn);
    return csc_ok();
}

uint32_t
cascade_node_spawned(const cascade_node *node)
{
    return node->step != NULL ? node->step->effects.spawn_count
                              : node->post->effects.spawn_count;
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
