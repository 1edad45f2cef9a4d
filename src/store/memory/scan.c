/* SPDX-License-Identifier: MIT
 *
 * Pages of rows of the memory store, and counts. As in read.c, sinks are
 * called with the model's mutex held. Each page is found by a search for where
 * it begins, so a scan to the end costs what its rows cost.
 */
#include "store/memory/internal.h"

#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/memory/treap.h"
#include "store/store.h"

/* ---- Scan --------------------------------------------------------------- */

static bool
is_asked_for(const cascade_scan *scan, const csc_memory_execution *execution)
{
    if (scan->children_only)
        return csc_memory_read_is_child(&execution->row);
    return !scan->running_only ||
           execution->row.status == CASCADE_EXECUTION_RUNNING;
}

/* What a page has given. */
typedef struct page {
    size_t count;
    size_t bytes;
} page;

static bool
is_full(const cascade_scan *scan, const page *given)
{
    csc_assert(given->count <= scan->limit);
    return given->count >= scan->limit ||
           csc_store_is_full(given->bytes, scan->bytes_max);
}

static cascade_err
give_execution(const cascade_load_sink *sink, const cascade_execution_row *row,
               page *given)
{
    given->count++;
    given->bytes += csc_store_execution_bytes(row);
    return sink->on_execution(sink->context, row);
}

static cascade_err
scan_all(csc_memory_model *model, const cascade_scan *scan,
         const cascade_load_sink *sink)
{
    const csc_memory_order_node *node =
        scan->after == NULL
            ? csc_memory_order_first(model->by_id)
            : csc_memory_order_next(model->by_id, 0, scan->after);
    cascade_err err = CASCADE_OK;
    page given = {0, 0};

    csc_assert(csc_lock_is_held(&model->mutex) && scan->cascade_id == NULL);
    while (node != NULL && !is_full(scan, &given) && err == CASCADE_OK) {
        const csc_memory_execution *execution = node->item;

        if (is_asked_for(scan, execution) &&
            !csc_memory_delete_is_marked(model, &execution->row.cascade_id))
            err = give_execution(sink, &execution->row, &given);
        node = csc_memory_order_next(model->by_id, 0, &node->id);
    }
    return err;
}

static cascade_err
scan_executions(const csc_memory_cascade *cascade, const cascade_scan *scan,
                const cascade_load_sink *sink)
{
    cascade_err err = CASCADE_OK;
    page given = {0, 0};

    csc_assert(!scan->events);
    for (size_t i = csc_memory_rows_find(cascade, scan->from);
         i < cascade->execution_count && !is_full(scan, &given) &&
         err == CASCADE_OK;
         i++) {
        const csc_memory_execution *execution = cascade->executions[i];

        if (is_asked_for(scan, execution))
            err = give_execution(sink, &execution->row, &given);
    }
    return err;
}

/* The place of the first event that the page may give. */
static size_t
find_event(const csc_memory_cascade *cascade, const cascade_scan *scan)
{
    size_t low = 0;
    size_t high = cascade->event_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const cascade_event_row *row = &cascade->events[middle]->row;

        if (row->function_id < scan->from ||
            (row->function_id == scan->from && row->id <= scan->after_event))
            low = middle + 1;
        else
            high = middle;
    }
    csc_assert(low <= cascade->event_count);
    return low;
}

static cascade_err
scan_events(const csc_memory_cascade *cascade, const cascade_scan *scan,
            const cascade_load_sink *sink)
{
    page given = {0, 0};
    cascade_err err = CASCADE_OK;

    csc_assert(scan->events);
    for (size_t i = find_event(cascade, scan);
         i < cascade->event_count && !is_full(scan, &given) &&
         err == CASCADE_OK;
         i++) {
        const cascade_event_row *row = &cascade->events[i]->row;

        given.count++;
        given.bytes += csc_store_event_bytes(row);
        err = sink->on_event(sink->context, row);
    }
    return err;
}

static cascade_err
scan_one(const csc_memory_model *model, const cascade_scan *scan,
         const cascade_load_sink *sink)
{
    const csc_memory_cascade *cascade =
        csc_map_get(&model->cascades, scan->cascade_id);

    csc_assert(csc_lock_is_held(&model->mutex));
    if (cascade == NULL)
        return CASCADE_OK;
    return scan->events ? scan_events(cascade, scan, sink)
                        : scan_executions(cascade, scan, sink);
}

cascade_err
csc_memory_scan_rows(void *self, const cascade_scan *scan,
                     const cascade_load_sink *sink)
{
    csc_memory *memory = self;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    err = scan->cascade_id == NULL ? scan_all(memory->model, scan, sink)
                                   : scan_one(memory->model, scan, sink);
    csc_lock_give(&memory->model->mutex);
    return err;
}

/* ---- Totals ------------------------------------------------------------- */

static void
count_cascade(cascade_totals *totals, cascade_status status)
{
    switch (status) {
    case CASCADE_RUNNING:
        totals->running++;
        return;
    case CASCADE_COMPLETED:
        totals->completed++;
        return;
    case CASCADE_ERROR:
        totals->failed++;
        return;
    }
}

cascade_err
csc_memory_scan_totals(void *self, cascade_totals *totals)
{
    csc_memory *memory = self;
    cascade_totals counted = {0};
    size_t at = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    for (;;) {
        const csc_memory_cascade *cascade =
            csc_map_next(&memory->model->cascades, &at);

        if (cascade == NULL)
            break;
        count_cascade(&counted, cascade->row.status);
    }
    counted.messages = (int64_t)memory->model->letters.count;
    counted.erasing = (int64_t)memory->model->erasures.count;
    csc_lock_give(&memory->model->mutex);
    *totals = counted;
    return CASCADE_OK;
}
