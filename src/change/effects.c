/* SPDX-License-Identifier: MIT
 *
 * See effects.h. Texts are copied into the arena of whoever gathers, in their
 * canonical form, and their bytes counted. Nothing here is durable: if the
 * process dies, what was gathered is gone, and is gathered anew.
 */
#include "change/effects.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "change/build/build.h"
#include "change/op.h"
#include "state/state.h"

/* Of one number in `after`, with what stands between two, as it is recorded. */
#define AFTER_BYTES 11

static cascade_err
count_bytes(const csc_gather *g, const char *what, size_t bytes)
{
    csc_effects *effects = g->effects;

    if (effects->bytes > g->bytes_max || bytes > g->bytes_max - effects->bytes)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "%s: the execution would exceed %zu bytes of puts, "
                        "output and spawns; store less, or spread it over "
                        "several executions",
                        what, g->bytes_max);
    effects->bytes += bytes;
    return CASCADE_OK;
}

/* Copies the text to the arena and counts its bytes. */
static cascade_err
keep_text(const csc_gather *g, const char *what, const csc_buf *text,
          const char **copy)
{
    const char *kept = NULL;
    cascade_err err = CASCADE_OK;

    if (text->failed)
        return csc_fail_memory();
    err = count_bytes(g, what, text->len);
    if (err != CASCADE_OK)
        return err;
    kept = csc_arena_strndup(g->arena, text->data, text->len);
    if (kept == NULL) {
        g->effects->bytes -= text->len;
        return csc_fail_memory();
    }
    *copy = kept;
    return CASCADE_OK;
}

/* What the user gave becomes canonical text in the arena; nothing where there
 * is none. */
static cascade_err
keep(const csc_gather *g, const char *what, csc_json_given given,
     const char **copy)
{
    csc_buf text = {0};
    cascade_err err = CASCADE_OK;

    if (csc_json_given_is_none(given))
        return CASCADE_OK;
    err = csc_json_given_canon(what, given, g->payload_max, &text);
    if (err == CASCADE_OK)
        err = keep_text(g, what, &text, copy);
    csc_buf_fini(&text);
    return err;
}

/* ---- Puts --------------------------------------------------------------- */

static cascade_err
begin_put(const csc_gather *g, const char *key, csc_put **put)
{
    cascade_err err = csc_check_text("context key", key);

    csc_assert(g->effects->put_count <= CSC_POST_EFFECTS_MAX);
    if (err != CASCADE_OK)
        return err;
    if (g->effects->put_count >= CSC_POST_EFFECTS_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "an execution may put at most %d values; put lists, or "
                        "spread them over several executions",
                        CSC_POST_EFFECTS_MAX);
    *put = csc_arena_alloc(g->arena, 1, sizeof(**put));
    if (*put != NULL)
        (*put)->key = csc_arena_strdup(g->arena, key);
    if (*put == NULL || (*put)->key == NULL)
        return csc_fail_memory();
    g->effects->bytes += strlen(key);
    return CASCADE_OK;
}

cascade_err
csc_effects_put(const csc_gather *g, const char *key,
                const csc_json_given values[2])
{
    size_t bytes = g->effects->bytes;
    csc_put *put = NULL;
    cascade_err err = begin_put(g, key, &put);

    if (err == CASCADE_OK)
        err = keep(g, "value of put", values[0], &put->value);
    if (err == CASCADE_OK)
        err = keep(g, "ui value of put", values[1], &put->ui_value);
    if (err != CASCADE_OK) {
        g->effects->bytes = bytes;
        return err;
    }
    csc_op_add_put(g->effects, put);
    return CASCADE_OK;
}

/* ---- The output --------------------------------------------------------- */

cascade_err
csc_effects_output(const csc_gather *g, const char *what, csc_json_given output)
{
    csc_effects *effects = g->effects;
    size_t before = effects->bytes;
    const char *kept = NULL;
    cascade_err err = CASCADE_OK;

    if (effects->output != NULL)
        effects->bytes -= strlen(effects->output);
    err = keep(g, what, output, &kept);
    if (err == CASCADE_OK)
        effects->output = kept;
    else
        effects->bytes = before;
    return err;
}

/* ---- Spawns ------------------------------------------------------------- */

/* Copies `after` in ascending order without repetitions. */
static cascade_err
sort_after(const csc_gather *g, const cascade_spawn_options *options,
           csc_spawn *spawn)
{
    uint32_t before = g->effects->spawn_count;

    csc_assert(spawn->after_count == 0);
    spawn->after =
        csc_arena_alloc(g->arena, options->after_count, sizeof(*spawn->after));
    if (spawn->after == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < options->after_count; i++) {
        uint32_t number = options->after[i];
        size_t at = spawn->after_count;

        if (number < 1 || number > before)
            return csc_fail(CASCADE_ERR_INVALID,
                            "spawn: after[%zu] is %u, but only spawns 1 to %u "
                            "were made before",
                            i, (unsigned)number, (unsigned)before);
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

/* Each number is recorded with the join, and counts: many joins after many
 * would be more than a store takes in one commit. */
static cascade_err
keep_after(const csc_gather *g, const cascade_spawn_options *options,
           csc_spawn *spawn)
{
    cascade_err err = CASCADE_OK;

    if (options->after_count == 0)
        return CASCADE_OK;
    if (options->after == NULL || options->after_count > CSC_POST_EFFECTS_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spawn: after_count is %zu; `after` must hold that "
                        "many numbers, at most %d",
                        options->after_count, CSC_POST_EFFECTS_MAX);
    err =
        count_bytes(g, "`after` of spawn", options->after_count * AFTER_BYTES);
    return err == CASCADE_OK ? sort_after(g, options, spawn) : err;
}

static cascade_err
check_spawn(const csc_gather *g, const char *name,
            const cascade_spawn_options *options)
{
    cascade_err err = csc_check_name("node name", name);

    csc_assert(g->effects->spawn_count <= CSC_POST_EFFECTS_MAX);
    if (err != CASCADE_OK)
        return err;
    if (g->effects->spawn_count >= CSC_POST_EFFECTS_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "an execution may spawn at most %d others; let some "
                        "of them spawn the rest",
                        CSC_POST_EFFECTS_MAX);
    if (g->effects->spawn_count >= g->spawns_max)
        return csc_fail(CASCADE_ERR_TOO_LARGE, "spawn %s: " CSC_USED_UP, name);
    if (!csc_check_is_priority(options->priority))
        return csc_fail(CASCADE_ERR_INVALID,
                        "spawn: the priority is %d; give 1 to 9, or 0 for the "
                        "cascade's",
                        options->priority);
    if (options->on_failure != CASCADE_JOIN_WAIT &&
        options->on_failure != CASCADE_JOIN_FAIL &&
        options->on_failure != CASCADE_JOIN_SKIP)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spawn: on_failure is %d; give a cascade_join",
                        (int)options->on_failure);
    return csc_check_start_limits("spawn", options->delay_ms, 0);
}

/* When all are waited for, and for nothing, nothing of it is recorded. */
static cascade_err
keep_join(const cascade_spawn_options *options, csc_spawn *spawn)
{
    csc_assert(spawn->first == 0);
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

cascade_err
csc_effects_spawn(const csc_gather *g, const char *node_name,
                  csc_json_given input, const cascade_spawn_options *options)
{
    size_t bytes = g->effects->bytes;
    csc_spawn *spawn = NULL;
    cascade_err err = check_spawn(g, node_name, options);

    if (err != CASCADE_OK)
        return err;
    spawn = csc_arena_alloc(g->arena, 1, sizeof(*spawn));
    if (spawn == NULL)
        return csc_fail_memory();
    spawn->delay_ms = options->delay_ms;
    spawn->priority = options->priority;
    spawn->input = "{}";
    spawn->name = csc_arena_strdup(g->arena, node_name);
    if (spawn->name == NULL)
        return csc_fail_memory();
    err = keep_after(g, options, spawn);
    if (err == CASCADE_OK)
        err = keep_join(options, spawn);
    if (err == CASCADE_OK)
        err = keep(g, "input of spawn", input, &spawn->input);
    if (err != CASCADE_OK) {
        g->effects->bytes = bytes;
        return err;
    }
    g->effects->bytes += strlen(node_name);
    csc_op_add_spawn(g->effects, spawn);
    return CASCADE_OK;
}

/* ---- Failing ------------------------------------------------------------ */

/* What the first in line was given: the input of one that runs instead of
 * another holds it, and that of the next in line is no larger. */
static csc_json_span
first_input(const csc_exec *exec)
{
    const char *input = exec->input != NULL ? exec->input : "{}";
    csc_json_span span = {input, strlen(input)};
    csc_json_span inner;

    if (exec->stands_for != CSC_NO_PARENT &&
        csc_json_read_member(input, "input", &inner))
        span = inner;
    return span;
}

/* What a node that runs instead of another is handed: canonical. */
static const char *
write_failure(csc_arena *arena, const csc_exec *exec, const char *error)
{
    csc_json_span input = first_input(exec);
    const char *copy = NULL;
    csc_buf text;

    csc_buf_init(&text);
    csc_buf_add_text(&text, "{\"node\":");
    csc_json_add_string(&text, exec->name);
    csc_buf_add_text(&text, ",\"error\":");
    csc_json_add_string(&text, error);
    csc_buf_add_text(&text, ",\"input\":");
    csc_buf_add(&text, input.data, input.len);
    csc_buf_add_char(&text, '}');
    if (!text.failed)
        copy = csc_arena_strndup(arena, text.data, text.len);
    csc_buf_fini(&text);
    return copy;
}

cascade_err
csc_effects_instead(csc_arena *arena, csc_post *post, const csc_exec *exec,
                    const char *node)
{
    csc_spawn *spawn = csc_arena_alloc(arena, 1, sizeof(*spawn));

    csc_assert(post->kind == CSC_POST_FAIL);
    if (spawn == NULL)
        return csc_fail_memory();
    *spawn = (csc_spawn){.name = csc_arena_strdup(arena, node),
                         .input = write_failure(arena, exec, post->error),
                         .priority = exec->priority,
                         .instead = true};
    if (spawn->name == NULL || spawn->input == NULL)
        return csc_fail_memory();
    csc_op_add_spawn(&post->effects, spawn);
    return CASCADE_OK;
}

cascade_err
csc_effects_fail(csc_arena *arena, csc_post *post, const csc_exec *exec)
{
    const csc_external *external = exec->external;

    csc_assert(exec->external != NULL);
    post->continued = external->continued;
    return external->instead == NULL
               ? CASCADE_OK
               : csc_effects_instead(arena, post, exec, external->instead);
}
