/* SPDX-License-Identifier: MIT
 *
 * The records of the memory store. Each is one block: the struct, then its
 * texts, so a row costs one allocation to insert and one to update. Copying is
 * done before a commit takes the model's mutex.
 *
 * An execution is in its cascade, and is found in the model by its id, by its
 * path, and in the order of ids. Taking it out of these frees no room, so what
 * was taken out can be put back.
 */
#include "store/memory/internal.h"

#include <string.h>

#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "store/columns.h"
#include "store/memory/text_map.h"
#include "store/memory/treap.h"

/* The bytes of a text that is kept, 0 for NULL. */
static size_t
size_of(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

/* Copies a text of `size` bytes to *at and moves on; NULL stays NULL. */
static const char *
keep(char **at, const char *text, size_t size)
{
    char *kept = *at;

    if (text == NULL)
        return NULL;
    memcpy(kept, text, size);
    *at += size;
    return kept;
}

#define COPY(type, table, row)                                     \
    ((type *)csc_table_copy(&csc_table_##table, row, sizeof(type), \
                            offsetof(type, row)))

csc_memory_cascade *
csc_memory_rows_cascade(const cascade_row *row)
{
    csc_memory_cascade *cascade = COPY(csc_memory_cascade, cascades, row);

    if (cascade == NULL)
        return NULL;
    cascade->node.id = row->id;
    cascade->node.item = cascade;
    return cascade;
}

void
csc_memory_rows_free(csc_memory_cascade *cascade)
{
    csc_assert(cascade == NULL ||
               cascade->execution_count <= cascade->execution_room);
    if (cascade == NULL)
        return;
    for (size_t i = 0; i < cascade->execution_count; i++)
        csc_memory_rows_free_execution(cascade->executions[i]);
    for (size_t i = 0; i < cascade->event_count; i++)
        csc_mem_free(cascade->events[i]);
    csc_mem_free(cascade->executions);
    csc_mem_free(cascade->events);
    csc_mem_free(cascade->run);
    csc_mem_free(cascade->seal);
    csc_mem_free(cascade);
}

csc_memory_execution *
csc_memory_rows_execution(const cascade_execution_row *row)
{
    csc_memory_execution *execution =
        COPY(csc_memory_execution, executions, row);

    if (execution == NULL)
        return NULL;
    execution->row.reformed = 0;
    execution->node.id = row->id;
    execution->node.item = execution;
    return execution;
}

void
csc_memory_rows_free_execution(csc_memory_execution *execution)
{
    if (execution == NULL)
        return;
    csc_mem_free(execution->late);
    csc_mem_free(execution);
}

csc_memory_event *
csc_memory_rows_event(const cascade_event_row *row)
{
    csc_memory_event *event = COPY(csc_memory_event, events, row);

    if (event != NULL)
        event->row.reformed = 0;
    return event;
}

csc_memory_message *
csc_memory_rows_message(const cascade_message_row *row)
{
    return COPY(csc_memory_message, messages, row);
}

char *
csc_memory_rows_late(const cascade_execution_row *row)
{
    size_t output = size_of(row->full_output);
    size_t error = size_of(row->error);
    char *late = csc_mem_alloc(output + error + 1);
    char *at = late;

    if (late == NULL)
        return NULL;
    keep(&at, row->full_output, output);
    keep(&at, row->error, error);
    return late;
}

void
csc_memory_rows_update(csc_memory_execution *execution,
                       const cascade_execution_row *row, char *late)
{
    char *at = late;

    csc_assert(execution->row.function_id == row->function_id);
    csc_mem_free(execution->late);
    execution->late = late;
    execution->row.status = row->status;
    execution->row.completed_at_ms = row->completed_at_ms;
    execution->row.full_output = NULL;
    execution->row.error = NULL;
    if (row->full_output != NULL) {
        execution->row.full_output = at;
        at += strlen(at) + 1;
    }
    if (row->error != NULL)
        execution->row.error = at;
}

size_t
csc_memory_rows_find(const csc_memory_cascade *cascade, int32_t function_id)
{
    csc_memory_execution **executions = cascade->executions;
    size_t low = 0;
    size_t high = cascade->execution_count;

    /* Most come at the end. */
    if (high > 0 && executions[high - 1]->row.function_id < function_id)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (executions[middle]->row.function_id < function_id)
            low = middle + 1;
        else
            high = middle;
    }
    csc_assert(low == cascade->execution_count ||
               executions[low]->row.function_id >= function_id);
    return low;
}

void
csc_memory_rows_add_event(csc_memory_cascade *cascade, csc_memory_event *event)
{
    size_t at = cascade->event_count;

    csc_assert(cascade->event_count < cascade->event_room);
    while (at > 0 &&
           cascade->events[at - 1]->row.function_id > event->row.function_id) {
        cascade->events[at] = cascade->events[at - 1];
        at--;
    }
    cascade->events[at] = event;
    cascade->event_count++;
}

/* ---- In the model ------------------------------------------------------- */

int
csc_memory_rows_enter(csc_memory_model *model, csc_memory_execution *execution)
{
    const cascade_execution_row *row = &execution->row;

    csc_assert(csc_lock_is_held(&model->mutex) && execution->node.less == NULL);
    if (csc_map_put(&model->executions, &row->id, execution) != 0)
        return -1;
    if (csc_memory_names_put(&model->paths, row->node_instance_id, execution) !=
        0) {
        csc_map_remove(&model->executions, &row->id);
        return -1;
    }
    csc_memory_order_add(&model->by_id, &execution->node);
    return 0;
}

void
csc_memory_rows_withdraw(csc_memory_model *model,
                         csc_memory_execution *execution)
{
    csc_assert(csc_map_get(&model->executions, &execution->row.id) ==
               execution);
    csc_map_remove(&model->executions, &execution->row.id);
    csc_memory_names_remove(&model->paths, execution->row.node_instance_id);
    csc_memory_order_remove(&model->by_id, &execution->node);
}

void
csc_memory_rows_take(csc_memory_model *model, csc_memory_cascade *cascade)
{
    csc_assert(csc_map_get(&model->cascades, &cascade->row.id) == cascade);
    csc_map_remove(&model->cascades, &cascade->row.id);
    csc_memory_order_remove(&model->order, &cascade->node);
    for (size_t i = 0; i < cascade->execution_count; i++)
        csc_memory_rows_withdraw(model, cascade->executions[i]);
    if (cascade->run != NULL)
        csc_memory_runs_take(model, cascade->run);
}

/* The maps had room for all of it before. */
void
csc_memory_rows_put_back(csc_memory_model *model, csc_memory_cascade *cascade)
{
    int full = csc_map_put(&model->cascades, &cascade->row.id, cascade);

    csc_assert(csc_lock_is_held(&model->mutex));
    csc_memory_order_add(&model->order, &cascade->node);
    for (size_t i = 0; i < cascade->execution_count; i++)
        full |= csc_memory_rows_enter(model, cascade->executions[i]);
    csc_assert(full == 0);
    (void)full;
    if (cascade->run != NULL)
        csc_memory_runs_place(model, cascade->run);
}
