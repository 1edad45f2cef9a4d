/* SPDX-License-Identifier: MIT
 *
 * What an execution must see of the context, worked out from the rows alone.
 * See oracle.h.
 *
 * Execution k sees the events of writer f when f is before k, and the commit
 * that ended f came before k was made: f < k and at(f) < k. One that came after
 * others sees besides what those wrote, themselves and in their steps, and what
 * they came after in turn. What runs in the place of another sees what that one
 * did, and its recorded steps are its own; what is superseded nobody sees.
 * The order is that of (function_id, id), and of time too (oracle_rows.c).
 */
#include <stdlib.h>
#include <string.h>

#include "support/oracle_internal.h"

#define STEP_PREFIX "cascade.step:"
#define UNDO_PREFIX "cascade.undo:"

static const cascade_execution_row *
row_at(const dump_rows *rows, int64_t function_id)
{
    if (function_id < 0 || function_id >= (int64_t)rows->execution_count)
        return NULL;
    return &rows->executions[function_id];
}

static const cascade_execution_row *
row_of(const dump_rows *rows, const char *path)
{
    for (size_t i = 0; i < rows->execution_count; i++)
        if (strcmp(rows->executions[i].node_instance_id, path) == 0)
            return &rows->executions[i];
    return NULL;
}

/* A step stands under the first of those in whose place its node runs. */
static void
mark_line(const dump_rows *rows, const cascade_execution_row *row, bool *joined)
{
    for (; row != NULL; row = row_at(rows, oracle_resumed_by(row)))
        joined[row->function_id] = true;
}

static void mark_joined(const dump_rows *rows, const cascade_execution_row *row,
                        bool *joined);

/* Marks one that `join` came after, and what ran instead of it; not what was
 * too late for it. */
static void
mark(const dump_rows *rows, int64_t id, int64_t join, bool *joined)
{
    const cascade_execution_row *row = row_at(rows, id);

    if (row == NULL || oracle_is_late(row, join))
        return;
    if (!joined[id]) {
        mark_line(rows, row, joined);
        mark_joined(rows, row, joined);
    } /* else what ran instead may be new: it was too late for another join */
    if (row->status != CASCADE_EXECUTION_FAILED)
        return;
    for (size_t i = 0; i < rows->execution_count; i++)
        if (oracle_parent_of(rows->executions[i].node_instance_id) == id)
            mark(rows, (int64_t)i, join, joined);
}

/* Marks what `row` came after, and what that came after. */
static void
mark_joined(const dump_rows *rows, const cascade_execution_row *row,
            bool *joined)
{
    csc_json_iter iter;
    csc_json_span after;
    int64_t id = 0;

    if (row->full_output == NULL ||
        !csc_json_read_member(row->full_output, "after", &after))
        return;
    csc_json_read_iter_init(&iter, after.data, after.len);
    while (csc_json_read_next(&iter)) {
        if (csc_json_read_i64(iter.value, &id))
            mark(rows, id, row->function_id, joined);
    }
}

/* The node that a step belongs to; -1 when it is none. */
static int64_t
node_of(const cascade_execution_row *row)
{
    if (strncmp(row->node_name, STEP_PREFIX, strlen(STEP_PREFIX)) != 0 &&
        strncmp(row->node_name, UNDO_PREFIX, strlen(UNDO_PREFIX)) != 0)
        return -1;
    return oracle_parent_of(row->node_instance_id);
}

static bool
is_seen(const dump_rows *rows, int32_t writer, int32_t reader,
        const bool *joined)
{
    const cascade_execution_row *row = row_at(rows, writer);
    csc_json_span span;
    int64_t at = -1;
    int64_t node = -1;

    if (row == NULL || row->status == CASCADE_EXECUTION_RUNNING)
        return false;
    if (row->full_output != NULL &&
        csc_json_read_member(row->full_output, "at", &span) &&
        csc_json_read_i64(span, &at) && at < reader && writer < reader)
        return true;
    node = node_of(row);
    return joined[writer] || (node >= 0 && joined[node]);
}

static void
collect(const dump_rows *rows, int32_t reader, const char *key,
        const bool *joined, csc_buf *out)
{
    bool *counts = oracle_find_counting(rows);

    csc_buf_add_char(out, '[');
    for (size_t i = 0; i < rows->event_count; i++) {
        const cascade_event_row *event = &rows->events[i];

        if (strcmp(event->key, key) != 0 || !counts[event->function_id] ||
            !is_seen(rows, event->function_id, reader, joined))
            continue;
        if (out->len > 1)
            csc_buf_add_char(out, ',');
        csc_buf_add_text(out, event->value);
    }
    csc_buf_add_char(out, ']');
    free(counts);
}

static void
judge(oracle *o, const oracle_cascade *c, const cascade_execution_row *row,
      const char *key, const char *values)
{
    bool *joined = calloc(c->rows.execution_count, sizeof(*joined));
    csc_buf expected = {0};

    if (joined == NULL)
        abort();
    mark_joined(&c->rows, row, joined);
    collect(&c->rows, oracle_origin_of(&c->rows, row), key, joined, &expected);
    if (strcmp(expected.data, values) != 0)
        oracle_fail(o, "G7", &c->id, row->function_id,
                    "sees %s of key %s, by the rows it must be %s", values, key,
                    expected.data);
    csc_buf_fini(&expected);
    free(joined);
}

/* The row and its cascade as of the last look, if that is followed. Locked. */
static const cascade_execution_row *
followed(const oracle *o, const char *request_id, const oracle_cascade **c)
{
    char text[CASCADE_UUID_TEXT_SIZE] = {0};
    cascade_uuid id;

    memcpy(text, request_id, CASCADE_UUID_TEXT_SIZE - 1);
    if (!o->follow || cascade_uuid_parse(text, &id) != CASCADE_OK)
        return NULL;
    *c = csc_map_get(&o->cascades, &id);
    return *c != NULL ? row_of(&(*c)->rows, request_id) : NULL;
}

void
oracle_saw(oracle *o, const char *request_id, const char *key,
           const char *values)
{
    const cascade_execution_row *row = NULL;
    const oracle_cascade *c = NULL;

    pthread_mutex_lock(&o->mutex);
    row = followed(o, request_id, &c);
    if (row != NULL)
        judge(o, c, row, key, values);
    pthread_mutex_unlock(&o->mutex);
}

/* ---- Outcomes ----------------------------------------------------------- */

static void
add_outcome(csc_buf *out, const dump_rows *rows, int64_t head, int64_t join)
{
    static const char *const words[] = {"RUNNING", "COMPLETED", "FAILED",
                                        "SKIPPED"};
    oracle_place place = oracle_place_of(rows, head, join);
    csc_json_span output;

    if (place.row == NULL)
        return;
    csc_buf_add_format(out, "%s{\"function_id\":%d,\"node\":\"%s\",",
                       out->len > 1 ? "," : "", (int)place.row->function_id,
                       place.row->node_name);
    csc_buf_add_format(out, "\"status\":\"%s\"", words[place.end]);
    if (place.end == ORACLE_WELL &&
        csc_json_read_member(place.row->full_output, "output", &output)) {
        csc_buf_add_text(out, ",\"output\":");
        csc_buf_add(out, output.data, output.len);
    }
    if (place.end == ORACLE_BADLY) {
        csc_buf_add_text(out, ",\"error\":");
        csc_json_add_string(out, place.row->error);
    }
    csc_buf_add_char(out, '}');
}

static void
judge_outcomes(oracle *o, const oracle_cascade *c,
               const cascade_execution_row *row, const char *outcomes)
{
    csc_json_iter iter;
    csc_json_span after;
    csc_buf expected = {0};
    int64_t id = 0;

    csc_buf_add_char(&expected, '[');
    if (row->full_output != NULL &&
        csc_json_read_member(row->full_output, "after", &after)) {
        csc_json_read_iter_init(&iter, after.data, after.len);
        while (csc_json_read_next(&iter))
            if (csc_json_read_i64(iter.value, &id))
                add_outcome(&expected, &c->rows, id, row->function_id);
    }
    csc_buf_add_char(&expected, ']');
    if (strcmp(expected.data, outcomes) != 0)
        oracle_fail(o, "G7", &c->id, row->function_id,
                    "was told %s, by the rows it must be %s", outcomes,
                    expected.data);
    csc_buf_fini(&expected);
}

void
oracle_told(oracle *o, const char *request_id, const char *outcomes)
{
    const cascade_execution_row *row = NULL;
    const oracle_cascade *c = NULL;

    pthread_mutex_lock(&o->mutex);
    row = followed(o, request_id, &c);
    if (row != NULL)
        judge_outcomes(o, c, row, outcomes);
    pthread_mutex_unlock(&o->mutex);
}
