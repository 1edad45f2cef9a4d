/* SPDX-License-Identifier: MIT
 *
 * Loading, listing, scanning, receiving.
 */
#include "file.h"

#include <stdlib.h>
#include <string.h>

#define ROW_BYTES 100 /* of a row without payloads, about */

/* ---- Reading ------------------------------------------------------------- */

static int
compare_for_sort(const void *a, const void *b)
{
    return compare_ids(a, b);
}

static bool
is_child(const cascade_execution_row *row)
{
    return row->status == CASCADE_EXECUTION_RUNNING &&
           strncmp(row->node_name, CASCADE_CHILD_PREFIX,
                   strlen(CASCADE_CHILD_PREFIX)) == 0;
}

static cascade_err
give_executions(const state *s, const cascade_uuid *id, unsigned parts,
                const cascade_load_sink *sink)
{
    size_t at = first_of(s, EXECUTIONS, id);
    const cascade_execution_row *row = next_of(s, EXECUTIONS, id, &at);
    cascade_err err = CASCADE_OK;
    int children = 0;

    for (; row != NULL && err == CASCADE_OK;
         row = next_of(s, EXECUTIONS, id, &at)) {
        bool all = (parts & CASCADE_LOAD_EXECUTIONS) != 0;
        bool family = row->function_id == 0 ||
                      (is_child(row) && children++ < CASCADE_LOAD_FAMILY_MAX);

        if (all || family)
            err = sink->on_execution(sink->context, row);
    }
    return err;
}

static cascade_err
give_events(const state *s, const cascade_uuid *id,
            const cascade_load_sink *sink)
{
    size_t at = first_of(s, EVENTS, id);
    const cascade_event_row *row = next_of(s, EVENTS, id, &at);
    cascade_err err = CASCADE_OK;

    for (; row != NULL && err == CASCADE_OK; row = next_of(s, EVENTS, id, &at))
        err = sink->on_event(sink->context, row);
    return err;
}

static cascade_err
give_messages(const state *s, const cascade_uuid *id, bool ends,
              const cascade_load_sink *sink)
{
    size_t from = first_of(s, MESSAGES, id);
    size_t to = state_place(s, MESSAGES, file_key(id, INT64_MAX, 0));
    size_t max = ends ? CASCADE_LOAD_ENDS_MAX : CASCADE_LOAD_MESSAGES_MAX;
    cascade_err err = CASCADE_OK;

    if (to - from > max && ends)
        from = to - max;
    else if (to - from > max)
        to = from + max;
    for (size_t at = from; at < to && err == CASCADE_OK; at++) {
        const cascade_message_row *row = state_row(s, MESSAGES, at);

        if (!ends || strcmp(row->kind, "delete") == 0 ||
            strcmp(row->kind, "family") == 0)
            err = sink->on_message(sink->context, row,
                                   has_execution(s, row->path));
    }
    return err;
}

/* One part of all cascades that are there. */
static cascade_err
give_part(const state *s, const cascade_uuid *ids, size_t count, unsigned part,
          const cascade_load_sink *sink)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        const cascade_row *row = find_cascade(s, &ids[i]);

        if (row == NULL || (i > 0 && compare_ids(&ids[i - 1], &ids[i]) == 0))
            continue;
        if (part == 0)
            err = sink->on_cascade(sink->context, row);
        else if (part == CASCADE_LOAD_EVENTS)
            err = give_events(s, &ids[i], sink);
        else if (part == CASCADE_LOAD_MESSAGES || part == CASCADE_LOAD_ENDS)
            err = give_messages(s, &ids[i], part == CASCADE_LOAD_ENDS, sink);
        else
            err = give_executions(s, &ids[i], part, sink);
    }
    return err;
}

cascade_err
file_load(void *self, const cascade_uuid *ids, size_t count, unsigned parts,
          const cascade_load_sink *sink)
{
    static const unsigned order[] = {0,
                                     CASCADE_LOAD_EXECUTIONS,
                                     CASCADE_LOAD_FAMILY,
                                     CASCADE_LOAD_EVENTS,
                                     CASCADE_LOAD_MESSAGES,
                                     CASCADE_LOAD_ENDS};
    file_store *f = self;
    cascade_uuid *sorted = calloc(count, sizeof(*sorted));
    cascade_err err = CASCADE_OK;

    if (sorted == NULL)
        return cascade_store_fail(CASCADE_ERR_NO_MEMORY, "out of memory");
    err = file_begin_read(f);
    if (err != CASCADE_OK) {
        free(sorted);
        return err;
    }
    memcpy(sorted, ids, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_for_sort);
    if ((parts & CASCADE_LOAD_EXECUTIONS) != 0)
        parts &= ~CASCADE_LOAD_FAMILY;
    for (size_t i = 0; i < 6 && err == CASCADE_OK; i++)
        if (order[i] == 0 || (parts & order[i]) != 0)
            err = give_part(&f->rows, sorted, count, order[i], sink);
    free(sorted);
    return file_end_read(f, err);
}

static bool
has_node(const state *s, const cascade_uuid *id, const char *node)
{
    size_t at = first_of(s, EXECUTIONS, id);
    const cascade_execution_row *row = next_of(s, EXECUTIONS, id, &at);

    while (row != NULL && strcmp(row->node_name, node) != 0)
        row = next_of(s, EXECUTIONS, id, &at);
    return row != NULL;
}

static bool
is_listed(const state *s, const cascade_query *q, const cascade_row *row,
          const cascade_run_row *run)
{
    return (q->id == NULL || compare_ids(q->id, &row->id) == 0) &&
           (q->after == NULL || compare_ids(&row->id, q->after) > 0) &&
           (q->user_id == NULL || strcmp(q->user_id, row->user_id) == 0) &&
           (q->status == 0 || q->status == row->status) &&
           (q->updated_before_ms == 0 ||
            row->updated_at_ms < q->updated_before_ms) &&
           (q->queue == NULL ||
            (run != NULL && strcmp(q->queue, run->queue) == 0)) &&
           (q->node == NULL || has_node(s, &row->id, q->node));
}

cascade_err
file_list(void *self, const cascade_query *query, cascade_list_sink sink,
          void *context)
{
    file_store *f = self;
    size_t count = 0;
    cascade_err err = file_begin_read(f);

    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < f->rows.tables[CASCADES].count; i++) {
        const cascade_row *row = state_row(&f->rows, CASCADES, i);
        const cascade_run_row *run = find_run(&f->rows, &row->id);

        if (err != CASCADE_OK || count == query->limit)
            break;
        if (!is_listed(&f->rows, query, row, run))
            continue;
        err = sink(context, row, run);
        count++;
    }
    if (err == CASCADE_OK && query->place != NULL)
        memset(query->place, 0, sizeof(*query->place));
    return file_end_read(f, err);
}

/* A page of a scan or a receive: S45, S46. */
typedef struct page {
    size_t limit;
    size_t bytes_max;
    size_t count;
    size_t bytes;
} page;

static bool
is_full(const page *p)
{
    return p->count >= p->limit ||
           (p->bytes_max > 0 && p->bytes >= p->bytes_max);
}

static void
note(page *p, size_t bytes)
{
    p->count++;
    p->bytes += ROW_BYTES + bytes;
}

static bool
is_scanned(const cascade_scan *scan, const cascade_execution_row *row)
{
    if (scan->children_only)
        return is_child(row);
    return !scan->running_only || row->status == CASCADE_EXECUTION_RUNNING;
}

/* The execution with the lowest id above that. */
static const cascade_execution_row *
next_by_id(const state *s, const cascade_uuid *after)
{
    const cascade_execution_row *next = NULL;

    for (size_t i = 0; i < s->tables[EXECUTIONS].count; i++) {
        const cascade_execution_row *row = state_row(s, EXECUTIONS, i);

        if ((after == NULL || compare_ids(&row->id, after) > 0) &&
            (next == NULL || compare_ids(&row->id, &next->id) < 0))
            next = row;
    }
    return next;
}

static cascade_err
scan_executions(const state *s, const cascade_scan *scan,
                const cascade_load_sink *sink)
{
    page p = {.limit = scan->limit, .bytes_max = scan->bytes_max};
    const cascade_uuid *id = scan->cascade_id;
    size_t at = id != NULL
                    ? state_place(s, EXECUTIONS, file_key(id, scan->from, 0))
                    : 0;
    const cascade_execution_row *row = id != NULL
                                           ? next_of(s, EXECUTIONS, id, &at)
                                           : next_by_id(s, scan->after);
    cascade_err err = CASCADE_OK;

    while (row != NULL && !is_full(&p) && err == CASCADE_OK) {
        if (is_scanned(scan, row)) {
            note(&p, length(row->input) + length(row->full_output) +
                         length(row->error));
            err = sink->on_execution(sink->context, row);
        }
        row = id != NULL ? next_of(s, EXECUTIONS, id, &at)
                         : next_by_id(s, &row->id);
    }
    return err;
}

static cascade_err
scan_events(const state *s, const cascade_scan *scan,
            const cascade_load_sink *sink)
{
    page p = {.limit = scan->limit, .bytes_max = scan->bytes_max};
    const cascade_uuid *id = scan->cascade_id;
    size_t at =
        state_place(s, EVENTS, file_key(id, scan->from, scan->after_event + 1));
    const cascade_event_row *row = next_of(s, EVENTS, id, &at);
    cascade_err err = CASCADE_OK;

    for (; row != NULL && !is_full(&p) && err == CASCADE_OK;
         row = next_of(s, EVENTS, id, &at)) {
        note(&p, length(row->value) + length(row->ui_value));
        err = sink->on_event(sink->context, row);
    }
    return err;
}

cascade_err
file_scan(void *self, const cascade_scan *scan, const cascade_load_sink *sink)
{
    file_store *f = self;
    cascade_err err = file_begin_read(f);

    if (err != CASCADE_OK)
        return err;
    return file_end_read(f, scan->events
                                ? scan_events(&f->rows, scan, sink)
                                : scan_executions(&f->rows, scan, sink));
}

static bool
is_received(const cascade_receive *receive, const cascade_run_row *run)
{
    for (size_t i = 0; i < receive->except_count; i++)
        if (compare_ids(&receive->except[i], &run->cascade_id) == 0)
            return false;
    return !is_nil(&run->engine_id) &&
           compare_ids(&run->engine_id, &receive->engine_id) == 0 &&
           compare_ids(&run->cascade_id, &receive->after) > 0;
}

cascade_err
file_receive(void *self, const cascade_receive *receive,
             cascade_message_sink sink, void *context)
{
    page p = {.limit = receive->limit, .bytes_max = receive->bytes_max};
    file_store *f = self;
    const state *s = &f->rows;
    cascade_err err = file_begin_read(f);

    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < s->tables[RUNS].count; i++) {
        const cascade_run_row *run = state_row(s, RUNS, i);
        size_t at = first_of(s, MESSAGES, &run->cascade_id);

        if (!is_received(receive, run))
            continue;
        for (size_t k = 0; k < receive->each && !is_full(&p); k++) {
            const cascade_message_row *row =
                next_of(s, MESSAGES, &run->cascade_id, &at);

            if (row == NULL)
                break;
            note(&p, length(row->payload));
            err = sink(context, row, has_execution(s, row->path));
            if (err != CASCADE_OK)
                return file_end_read(f, err);
        }
    }
    return file_end_read(f, CASCADE_OK);
}
