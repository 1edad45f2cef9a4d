/* SPDX-License-Identifier: MIT
 *
 * Reading from the memory store. Sinks are called with the model's mutex held
 * (they must not call the store), so the rows are those of one moment and need
 * no copy.
 */
#include "store/memory/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/memory/treap.h"
#include "store/store.h"

/* ---- Load --------------------------------------------------------------- */

typedef struct load_state {
    csc_memory_cascade *found[CASCADE_STORE_PAGE_MAX]; /* by id, each once */
    size_t count;
} load_state;

static int
compare_found(const void *a, const void *b)
{
    const csc_memory_cascade *const *left = a;
    const csc_memory_cascade *const *right = b;

    return csc_uuid_compare(&(*left)->row.id, &(*right)->row.id);
}

static void
find_cascades(const csc_memory_model *model, const cascade_uuid *ids,
              size_t count, load_state *loading)
{
    size_t kept = 0;

    csc_assert(csc_lock_is_held(&model->mutex) &&
               count <= CASCADE_STORE_PAGE_MAX);
    for (size_t i = 0; i < count; i++) {
        csc_memory_cascade *cascade = csc_map_get(&model->cascades, &ids[i]);

        if (cascade != NULL)
            loading->found[loading->count++] = cascade;
    }
    qsort(loading->found, loading->count, sizeof(loading->found[0]),
          compare_found);
    for (size_t i = 0; i < loading->count; i++) {
        if (kept == 0 || loading->found[kept - 1] != loading->found[i])
            loading->found[kept++] = loading->found[i];
    }
    loading->count = kept;
}

static cascade_err
give_cascades(const load_state *loading, const cascade_load_sink *sink)
{
    cascade_err err = CASCADE_OK;

    csc_assert(loading->count <= CASCADE_STORE_PAGE_MAX);
    for (size_t i = 0; i < loading->count && err == CASCADE_OK; i++)
        err = sink->on_cascade(sink->context, &loading->found[i]->row);
    return err;
}

static cascade_err
give_seals(const load_state *loading, const cascade_load_sink *sink)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < loading->count && err == CASCADE_OK; i++)
        err = csc_memory_seals_give(&loading->found[i]->row.id,
                                    loading->found[i]->seal, sink->on_seal,
                                    sink->context);
    return err;
}

bool
csc_memory_read_is_child(const cascade_execution_row *row)
{
    return row->function_id > 0 && row->status == CASCADE_EXECUTION_RUNNING &&
           strncmp(row->node_name, CASCADE_CHILD_PREFIX,
                   strlen(CASCADE_CHILD_PREFIX)) == 0;
}

/* The first, and so many children. */
static bool
is_family(const cascade_execution_row *row, int *children)
{
    csc_assert(*children >= 0);
    if (row->function_id == 0)
        return true;
    return csc_memory_read_is_child(row) &&
           (*children)++ < CASCADE_LOAD_FAMILY_MAX;
}

/* Here all are looked at, but the family alone is given. */
static cascade_err
give_executions(const load_state *loading, bool all,
                const cascade_load_sink *sink)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < loading->count; i++) {
        const csc_memory_cascade *cascade = loading->found[i];
        int children = 0;

        for (size_t k = 0; k < cascade->execution_count && err == CASCADE_OK;
             k++) {
            const cascade_execution_row *row = &cascade->executions[k]->row;

            if (all || is_family(row, &children))
                err = sink->on_execution(sink->context, row);
        }
    }
    return err;
}

static cascade_err
give_events(const load_state *loading, const cascade_load_sink *sink)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < loading->count; i++) {
        const csc_memory_cascade *cascade = loading->found[i];

        for (size_t k = 0; k < cascade->event_count && err == CASCADE_OK; k++)
            err = sink->on_event(sink->context, &cascade->events[k]->row);
    }
    return err;
}

static cascade_err
give_box(const csc_memory_model *model, const csc_memory_box *box,
         const cascade_load_sink *sink)
{
    const csc_memory_message *message = NULL;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (int i = 0; i < CASCADE_LOAD_MESSAGES_MAX && err == CASCADE_OK; i++) {
        message = csc_memory_messages_next(box, message);
        if (message == NULL)
            break;
        err = sink->on_message(
            sink->context, &message->row,
            csc_memory_messages_was_received(model, message->row.path));
    }
    return err;
}

static cascade_err
give_ends(const csc_memory_model *model, const csc_memory_box *box,
          const cascade_load_sink *sink)
{
    const csc_memory_message *message =
        csc_memory_messages_last(box, CASCADE_LOAD_ENDS_MAX);
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (; message != NULL && err == CASCADE_OK;
         message = csc_memory_messages_next(box, message))
        if (csc_store_message_ends(message->row.kind))
            err = sink->on_message(
                sink->context, &message->row,
                csc_memory_messages_was_received(model, message->row.path));
    return err;
}

static cascade_err
give_messages(const csc_memory_model *model, const load_state *loading,
              const cascade_load_sink *sink,
              cascade_err (*give)(const csc_memory_model *model,
                                  const csc_memory_box *box,
                                  const cascade_load_sink *sink))
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (size_t i = 0; i < loading->count && err == CASCADE_OK; i++) {
        const csc_memory_box *box =
            csc_map_get(&model->boxes, &loading->found[i]->row.id);

        if (box != NULL)
            err = give(model, box, sink);
    }
    return err;
}

cascade_err
csc_memory_read_load(void *self, const cascade_uuid *ids, size_t count,
                     unsigned parts, const cascade_load_sink *sink)
{
    csc_memory *memory = self;
    load_state loading;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    loading.count = 0;
    csc_lock_take(&memory->model->mutex);
    find_cascades(memory->model, ids, count, &loading);
    err = give_cascades(&loading, sink);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_SEALS) != 0)
        err = give_seals(&loading, sink);
    if (err == CASCADE_OK &&
        (parts & (CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_FAMILY)) != 0)
        err = give_executions(&loading, (parts & CASCADE_LOAD_EXECUTIONS) != 0,
                              sink);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_EVENTS) != 0)
        err = give_events(&loading, sink);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_MESSAGES) != 0)
        err = give_messages(memory->model, &loading, sink, give_box);
    if (err == CASCADE_OK && (parts & CASCADE_LOAD_ENDS) != 0)
        err = give_messages(memory->model, &loading, sink, give_ends);
    csc_lock_give(&memory->model->mutex);
    return err;
}

/* ---- List --------------------------------------------------------------- */

static bool
has_node(const csc_memory_cascade *cascade, const char *node)
{
    for (size_t i = 0; i < cascade->execution_count; i++) {
        if (strcmp(cascade->executions[i]->row.node_name, node) == 0)
            return true;
    }
    return false;
}

static bool
is_asked_for(const csc_memory_cascade *cascade, const cascade_query *query)
{
    const cascade_row *row = &cascade->row;

    if (query->id != NULL && !csc_uuid_equal(query->id, &row->id))
        return false;
    if (query->user_id != NULL && strcmp(query->user_id, row->user_id) != 0)
        return false;
    if (query->status != 0 && query->status != row->status)
        return false;
    if (query->updated_before_ms != 0 &&
        row->updated_at_ms >= query->updated_before_ms)
        return false;
    if (query->queue != NULL &&
        (cascade->run == NULL ||
         strcmp(query->queue, cascade->run->row.queue) != 0))
        return false;
    return query->node == NULL || has_node(cascade, query->node);
}

/* The cascade to look at after `node`; NULL `node`: the first one. */
static csc_memory_order_node *
advance(const csc_memory_model *model, const cascade_query *query,
        const csc_memory_order_node *node)
{
    const csc_memory_cascade *only;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (node != NULL)
        return query->id != NULL
                   ? NULL
                   : csc_memory_order_next(model->order, 0, &node->id);
    if (query->id != NULL) {
        only = csc_map_get(&model->cascades, query->id);
        if (only == NULL || (query->after != NULL &&
                             csc_uuid_compare(query->id, query->after) <= 0))
            return NULL;
        return (csc_memory_order_node *)&only->node;
    }
    if (query->after != NULL)
        return csc_memory_order_next(model->order, 0, query->after);
    return csc_memory_order_first(model->order);
}

cascade_err
csc_memory_read_list(void *self, const cascade_query *query,
                     cascade_list_sink sink, void *context)
{
    csc_memory *memory = self;
    const csc_memory_order_node *node = NULL;
    cascade_err err = CASCADE_OK;
    size_t count = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    while (err == CASCADE_OK && count < query->limit) {
        const csc_memory_cascade *cascade;

        node = advance(memory->model, query, node);
        if (node == NULL)
            break;
        cascade = node->item;
        if (!is_asked_for(cascade, query))
            continue;
        err = sink(context, &cascade->row,
                   cascade->run == NULL ? NULL : &cascade->run->row);
        count++;
    }
    csc_lock_give(&memory->model->mutex);
    csc_assert(count <= query->limit);
    if (err == CASCADE_OK && query->place != NULL)
        *query->place = (cascade_place){.more = false};
    return err;
}
