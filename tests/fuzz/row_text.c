/* SPDX-License-Identifier: MIT
 *
 * Rows from a text; see row_text.h.
 */
#include "fuzz/row_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/json/json.h"
#include "fuzz/fuzz.h"

#define ID "01890000-0000-7000-8000-00000000abcd"
#define INDEX_MAX 1000
#define TIME_MS INT64_C(1700000000000)

typedef struct parse {
    dump_rows *rows;
    cascade_execution_row executions[ROW_TEXT_MAX];
    size_t execution_count;
    cascade_event_row events[ROW_TEXT_MAX];
    size_t event_count;
    csc_arena arena; /* of the texts until they are in `rows` */
} parse;

static const char *
keep(parse *it, const char *text, size_t len)
{
    const char *kept = csc_arena_strndup(&it->arena, text, len);

    fuzz_check(kept != NULL);
    return kept;
}

/* The next field of a line: up to a blank, the last one up to the end. */
static csc_json_span
next_field(const char **at, bool last)
{
    csc_json_span field = {*at, last ? strlen(*at) : strcspn(*at, " ")};

    *at += field.len;
    if (**at == ' ')
        (*at)++;
    return field;
}

static bool
next_id(const char **at, int32_t *id)
{
    csc_json_span field = next_field(at, false);
    char *end = NULL;
    long long number = strtoll(field.data, &end, 10);

    if (field.len == 0 || end != field.data + field.len || number < INT32_MIN ||
        number > INT32_MAX)
        return false;
    *id = (int32_t)number;
    return true;
}

/* 1 to 3, or 0. */
static int
next_word(const char **at, const char *const words[3])
{
    csc_json_span field = next_field(at, false);

    for (int i = 0; i < 3; i++) {
        if (csc_json_read_is(field, words[i]))
            return i + 1;
    }
    return 0;
}

/* NULL where the gate refuses it. */
static const char *
read_json(parse *it, const char *text)
{
    csc_buf out = {0};
    const char *kept = NULL;

    if (csc_json_canon_stored("x", text, strlen(text), &out) == CASCADE_OK)
        kept = keep(it, out.data, out.len);
    csc_buf_fini(&out);
    return kept;
}

/* With the cascade's id for @. */
static const char *
read_path(parse *it, csc_json_span field)
{
    csc_buf out = {0};
    const char *kept;

    csc_buf_add_text(&out, "");
    for (size_t i = 0; i < field.len; i++) {
        if (field.data[i] == '@')
            csc_buf_add_text(&out, ID);
        else
            csc_buf_add_char(&out, field.data[i]);
    }
    kept = keep(it, out.len > 0 ? out.data : "", out.len);
    csc_buf_fini(&out);
    return kept;
}

/* ---- Lines --------------------------------------------------------------- */

static void
read_cascade(parse *it, const char *at)
{
    static const char *const words[] = {"RUNNING", "COMPLETED", "ERROR"};
    int status = next_word(&at, words);

    if (status != 0 && next_id(&at, &it->rows->cascade.fn_id))
        it->rows->cascade.status = (cascade_status)status;
}

static void
read_exec(parse *it, const char *at)
{
    static const char *const words[] = {"RUNNING", "COMPLETED", "FAILED"};
    cascade_execution_row row = {.id = it->rows->cascade.id,
                                 .cascade_id = it->rows->cascade.id,
                                 .input = "{}",
                                 .location = "server",
                                 .started_at_ms = TIME_MS,
                                 .completed_at_ms = CASCADE_TIME_NONE};
    csc_json_span name;
    int status;

    if (it->execution_count == ROW_TEXT_MAX || !next_id(&at, &row.function_id))
        return;
    for (size_t i = 0; i < it->execution_count; i++) {
        if (it->executions[i].function_id == row.function_id)
            return;
    }
    status = next_word(&at, words);
    if (status == 0)
        return;
    row.status = (cascade_execution_status)status;
    row.node_instance_id = read_path(it, next_field(&at, false));
    name = next_field(&at, true);
    row.node_name = keep(it, name.data, name.len);
    it->executions[it->execution_count++] = row;
}

static void
read_event(parse *it, const char *at)
{
    cascade_event_row row = {.cascade_id = it->rows->cascade.id,
                             .value = "null",
                             .created_at_us = TIME_MS * 1000};
    csc_json_span key;

    if (it->event_count == ROW_TEXT_MAX || !next_id(&at, &row.function_id))
        return;
    key = next_field(&at, true);
    if (!csc_json_utf8_is(key.data, key.len))
        return;
    row.key = keep(it, key.data, key.len);
    it->events[it->event_count++] = row;
}

/* Cascaide's context has a slot for each number up to the index: legal, and too
 * slow for a fuzzer. */
static bool
has_large_index(const char *json)
{
    csc_json_span span;
    int64_t index = 0;

    return csc_json_read_member(json, "index", &span) &&
           csc_json_read_i64(span, &index) && index > INDEX_MAX;
}

static void
read_member(parse *it, const char *word, size_t len, const char *rest)
{
    csc_json_span name = {word, len};
    cascade_execution_row *execution =
        it->execution_count == 0 ? NULL
                                 : &it->executions[it->execution_count - 1];
    cascade_event_row *event =
        it->event_count == 0 ? NULL : &it->events[it->event_count - 1];
    const char *json = read_json(it, rest);

    if (execution != NULL && csc_json_read_is(name, "error"))
        execution->error = keep(it, rest, strlen(rest));
    if (json == NULL)
        return;
    if (execution != NULL && csc_json_read_is(name, "in"))
        execution->input = json;
    if (execution != NULL && csc_json_read_is(name, "out"))
        execution->full_output = json;
    if (event != NULL && has_large_index(json))
        return;
    if (event != NULL && csc_json_read_is(name, "value"))
        event->value = json;
    if (event != NULL && csc_json_read_is(name, "ui"))
        event->ui_value = json;
}

static void
read_line(parse *it, const char *line)
{
    size_t len = strcspn(line, " ");
    const char *rest = line[len] == ' ' ? line + len + 1 : line + len;
    csc_json_span word = {line, len};

    if (csc_json_read_is(word, "cascade"))
        read_cascade(it, rest);
    else if (csc_json_read_is(word, "exec"))
        read_exec(it, rest);
    else if (csc_json_read_is(word, "event"))
        read_event(it, rest);
    else
        read_member(it, line, len, rest);
}

void
row_text_read(const char *text, dump_rows *rows)
{
    static parse it;
    cascade_change all = {.run_action = CASCADE_RUN_START};

    dump_rows_fini(rows);
    memset(&it, 0, sizeof(it));
    it.rows = rows;
    (void)cascade_uuid_parse(ID, &rows->cascade.id);
    rows->cascade.status = CASCADE_RUNNING;
    rows->cascade.created_at_ms = TIME_MS;
    rows->cascade.updated_at_ms = TIME_MS;
    rows->cascade.user_id = "user";
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");

        read_line(&it, keep(&it, text, len));
        text += text[len] == '\n' ? len + 1 : len;
    }
    all.cascade = rows->cascade;
    all.inserts = it.executions;
    all.insert_count = it.execution_count;
    all.events = it.events;
    all.event_count = it.event_count;
    dump_rows_apply(rows, &all);
    csc_arena_fini(&it.arena);
}
