/* SPDX-License-Identifier: MIT
 *
 * Writing and reading what an incarnation says about itself: see
 * capabilities.h.
 *
 * What is read may be anything. It passes the gate of json.h first, so that the
 * walk through it meets canonical text; of the members those count that are of
 * the expected form, of the lists the elements that are texts.
 */
#include "query/capabilities.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"

static void
add_names(csc_buf *out, const char *const *names, size_t count)
{
    csc_buf_add_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            csc_buf_add_char(out, ',');
        csc_json_add_string(out, names[i]);
    }
    csc_buf_add_char(out, ']');
}

char *
csc_capabilities_encode(const csc_about *about)
{
    csc_buf out = {0};
    char *text = NULL;

    csc_buf_add_char(&out, '{');
    if (about->brief)
        csc_buf_add_text(&out, "\"brief\":true,");
    csc_buf_add_text(&out, "\"nodes\":");
    add_names(&out, about->nodes, about->node_count);
    csc_buf_add_text(&out, ",\"queues\":");
    add_names(&out, about->queues, about->queue_count);
    csc_buf_add_text(&out, ",\"version\":");
    csc_json_add_string(&out, about->version);
    csc_buf_add_char(&out, '}');
    text = csc_buf_take(&out);
    csc_buf_fini(&out);
    return text;
}

/* NULL when it is no text; out of memory shows in the arena. */
static const char *
read_text(csc_arena *arena, csc_json_span span)
{
    char *text = NULL;
    const char *kept = NULL;

    if (!csc_json_read_text(span, &text))
        return NULL;
    arena->failed = arena->failed || text == NULL;
    kept = csc_arena_strdup(arena, text);
    csc_mem_free(text);
    return kept;
}

static size_t
read_names(csc_arena *arena, csc_json_span span, const char *const **names)
{
    const char **list = NULL;
    csc_json_iter iter;
    size_t room = 0;
    size_t count = 0;

    csc_json_read_iter_init(&iter, span.data, span.len);
    while (csc_json_read_next(&iter))
        room++;
    if (room == 0 || iter.object)
        return 0;
    list = csc_arena_alloc(arena, room, sizeof(*list));
    csc_json_read_iter_init(&iter, span.data, span.len);
    while (list != NULL && csc_json_read_next(&iter)) {
        list[count] = read_text(arena, iter.value);
        if (list[count] != NULL)
            count++;
    }
    *names = list;
    return count;
}

static const char *
read_member(csc_arena *arena, const char *text, const char *name)
{
    csc_json_span span;
    const char *member = NULL;

    if (csc_json_read_member(text, name, &span))
        member = read_text(arena, span);
    return member != NULL ? member : "";
}

static void
read_members(csc_arena *arena, const char *text, csc_about *about)
{
    csc_json_span span;

    about->version = read_member(arena, text, "version");
    if (csc_json_read_member(text, "brief", &span))
        about->brief = csc_json_read_is(span, "true");
    if (csc_json_read_member(text, "queues", &span))
        about->queue_count = read_names(arena, span, &about->queues);
    if (csc_json_read_member(text, "nodes", &span))
        about->node_count = read_names(arena, span, &about->nodes);
}

/* The canonical form of `text`, {} where it has none. */
static void
make_canonical(csc_arena *arena, const char *text, csc_buf *canonical)
{
    cascade_err err = CASCADE_ERR_JSON;

    if (text != NULL)
        err = csc_json_canon_stored("about", text, strlen(text), canonical);
    if (err != CASCADE_OK)
        csc_buf_add_text(canonical, "{}");
    arena->failed =
        arena->failed || err == CASCADE_ERR_NO_MEMORY || canonical->failed;
}

bool
csc_capabilities_decode(csc_arena *arena, const char *text, csc_about *about)
{
    csc_buf canonical = {0};

    *about = (csc_about){.version = ""};
    make_canonical(arena, text, &canonical);
    if (!arena->failed)
        read_members(arena, canonical.data, about);
    csc_buf_fini(&canonical);
    return !arena->failed;
}

const char *
csc_capabilities_member(csc_arena *arena, const char *text, const char *name)
{
    csc_buf canonical = {0};
    const char *member = "";

    make_canonical(arena, text, &canonical);
    if (!arena->failed)
        member = read_member(arena, canonical.data, name);
    csc_buf_fini(&canonical);
    return member;
}
