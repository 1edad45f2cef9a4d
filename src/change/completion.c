/* SPDX-License-Identifier: MIT
 *
 * See completion.h. Pure: if the process dies here nothing was written.
 */
#include "change/completion.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "state/full_output.h"

/* ---- Writing ------------------------------------------------------------ */

static void
add_puts(csc_buf *text, const csc_effects *effects)
{
    const char *before = "\"puts\":[";

    for (const csc_put *p = effects->first_put; p != NULL; p = p->next) {
        csc_buf_add_text(text, before);
        csc_buf_add_text(text, p->ui_value != NULL ? "2," : "1,");
        csc_json_add_string(text, p->key);
        csc_buf_add_char(text, ',');
        csc_buf_add_text(text, p->value);
        if (p->ui_value != NULL) {
            csc_buf_add_char(text, ',');
            csc_buf_add_text(text, p->ui_value);
        }
        before = ",";
    }
    if (effects->first_put != NULL)
        csc_buf_add_text(text, "],");
}

static void
add_spawns(csc_buf *text, const csc_effects *effects)
{
    const char *before = ",\"spawns\":[";

    for (const csc_spawn *s = effects->first_spawn; s != NULL; s = s->next) {
        csc_buf_add_text(text, before);
        csc_json_add_string(text, s->name);
        csc_buf_add_char(text, ',');
        csc_buf_add_text(text, s->input);
        csc_buf_add_char(text, ',');
        csc_buf_add_i64(text, s->delay_ms);
        csc_buf_add_char(text, ',');
        csc_buf_add_i64(text, s->priority);
        before = ",";
    }
    if (effects->first_spawn != NULL)
        csc_buf_add_char(text, ']');
}

const char *
csc_completion_write(csc_arena *arena, const csc_completion *completion)
{
    const csc_effects *effects = &completion->effects;
    char id[CASCADE_UUID_TEXT_SIZE];
    const char *copy = NULL;
    csc_buf text = {0};

    csc_buf_add_text(&text, "{\"by\":\"");
    csc_buf_add_text(&text, cascade_uuid_format(&completion->by, id));
    csc_buf_add_text(&text, "\",");
    add_puts(&text, effects);
    if (completion->error != NULL) {
        csc_buf_add_text(&text, "\"error\":");
        csc_json_add_string(&text, completion->error);
        csc_buf_add_char(&text, ',');
    }
    csc_buf_add_text(&text, "\"token\":\"");
    csc_buf_add_text(&text, cascade_uuid_format(&completion->token, id));
    csc_buf_add_char(&text, '"');
    if (effects->output != NULL) {
        csc_buf_add_text(&text, ",\"output\":");
        csc_buf_add_text(&text, effects->output);
    }
    add_spawns(&text, effects);
    csc_buf_add_char(&text, '}');
    if (!text.failed)
        copy = csc_arena_strndup(arena, text.data, text.len);
    csc_buf_fini(&text);
    return copy;
}

/* ---- Reading ------------------------------------------------------------ */

/* NULL for what is no string, and without memory: the arena tells then. */
static const char *
read_text(csc_arena *arena, csc_json_span span)
{
    char *text = NULL;
    const char *copy = NULL;

    if (!csc_json_read_text(span, &text))
        return NULL;
    if (text == NULL)
        arena->failed = true;
    else
        copy = csc_arena_strdup(arena, text);
    csc_mem_free(text);
    return copy;
}

static const char *
read_json(csc_arena *arena, csc_json_span span)
{
    return csc_arena_strndup(arena, span.data, span.len);
}

static bool
next_number(csc_json_iter *iter, int64_t max, int64_t *number)
{
    return csc_json_read_next(iter) && csc_json_read_i64(iter->value, number) &&
           *number >= 0 && *number <= max;
}

static bool
read_put(csc_arena *arena, csc_json_iter *iter, int64_t values, csc_put *put)
{
    if (values < 1 || values > 2 || !csc_json_read_next(iter))
        return false;
    put->key = read_text(arena, iter->value);
    if (csc_check_text("context key", put->key) != CASCADE_OK ||
        !csc_json_read_next(iter))
        return false;
    put->value = read_json(arena, iter->value);
    if (values == 1)
        return true;
    if (!csc_json_read_next(iter))
        return false;
    put->ui_value = read_json(arena, iter->value);
    return true;
}

static bool
read_puts(csc_arena *arena, csc_json_span list, csc_effects *effects)
{
    csc_json_iter iter;

    csc_json_read_iter_init(&iter, list.data, list.len);
    while (csc_json_read_next(&iter)) {
        csc_put *put = csc_arena_alloc(arena, 1, sizeof(*put));
        int64_t values = 0;

        if (put == NULL || effects->put_count >= CSC_POST_EFFECTS_MAX ||
            !csc_json_read_i64(iter.value, &values) ||
            !read_put(arena, &iter, values, put))
            return false;
        csc_op_add_put(effects, put);
    }
    return true;
}

static bool
read_spawn(csc_arena *arena, csc_json_iter *iter, csc_spawn *spawn)
{
    int64_t priority = 0;

    spawn->name = read_text(arena, iter->value);
    if (csc_check_name("node name", spawn->name) != CASCADE_OK ||
        !csc_json_read_next(iter))
        return false;
    spawn->input = read_json(arena, iter->value);
    if (!next_number(iter, CSC_DELAY_MAX_MS, &spawn->delay_ms) ||
        !next_number(iter, CSC_PRIORITY_MAX, &priority))
        return false;
    spawn->priority = (int32_t)priority;
    return true;
}

static bool
read_spawns(csc_arena *arena, csc_json_span list, csc_effects *effects)
{
    csc_json_iter iter;

    csc_json_read_iter_init(&iter, list.data, list.len);
    while (csc_json_read_next(&iter)) {
        csc_spawn *spawn = csc_arena_alloc(arena, 1, sizeof(*spawn));

        if (spawn == NULL || effects->spawn_count >= CSC_POST_EFFECTS_MAX ||
            !read_spawn(arena, &iter, spawn))
            return false;
        csc_op_add_spawn(effects, spawn);
    }
    return true;
}

static bool
read_id(const char *payload, const char *name, cascade_uuid *id)
{
    csc_json_span span;

    return csc_json_read_member(payload, name, &span) &&
           csc_full_output_uuid(span, id);
}

static bool
read_members(csc_arena *arena, const char *payload, csc_completion *completion)
{
    csc_effects *effects = &completion->effects;
    csc_json_span span;

    if (!read_id(payload, "token", &completion->token) ||
        !read_id(payload, "by", &completion->by))
        return false;
    if (csc_json_read_member(payload, "error", &span)) {
        completion->error = read_text(arena, span);
        return completion->error != NULL;
    }
    if (csc_json_read_member(payload, "output", &span))
        effects->output = read_json(arena, span);
    if (csc_json_read_member(payload, "puts", &span) &&
        !read_puts(arena, span, effects))
        return false;
    return !csc_json_read_member(payload, "spawns", &span) ||
           read_spawns(arena, span, effects);
}

cascade_err
csc_completion_read(csc_arena *arena, const char *payload,
                    csc_completion **completion)
{
    csc_completion *made = csc_arena_alloc(arena, 1, sizeof(*made));
    bool sense = made != NULL && read_members(arena, payload, made);

    if (arena->failed)
        return csc_fail_memory();
    *completion = sense ? made : NULL;
    return CASCADE_OK;
}
