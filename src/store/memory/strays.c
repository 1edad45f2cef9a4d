/* SPDX-License-Identifier: MIT
 *
 * Strays of the memory store: S75. Rows hang on the records of their cascades
 * and incarnations here, so messages alone can lack theirs.
 */
#include "store/memory/internal.h"

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/memory/treap.h"
#include "store/store.h"

static bool
is_stray(const csc_memory_model *model, const csc_memory_box *box,
         int64_t before_ms)
{
    const csc_memory_message *first = csc_memory_messages_next(box, NULL);

    csc_assert(csc_lock_is_held(&model->mutex));
    return first != NULL && first->row.sent_at_ms < before_ms &&
           csc_map_get(&model->cascades, &box->cascade_id) == NULL &&
           !csc_memory_delete_is_marked(model, &box->cascade_id);
}

static cascade_err
look(const csc_memory *memory, csc_store_straying *s)
{
    const csc_memory_model *model = memory->model;
    int64_t before_ms =
        csc_clock_wall_ms(memory->config->clock) - CASCADE_STRAY_MESSAGE_MS;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&memory->model->mutex) &&
               s->looked <= s->limit);
    while (err == CASCADE_OK && s->looked < s->limit) {
        const csc_memory_order_node *node =
            csc_memory_order_next(model->named, 0, s->cursor);
        const csc_memory_box *box = NULL;

        if (node == NULL)
            break;
        box = node->item;
        err = csc_store_stray(s, &box->cascade_id,
                              is_stray(model, box, before_ms));
    }
    return err;
}

cascade_err
csc_memory_strays_list(void *self, cascade_stray kind, size_t limit,
                       cascade_uuid *cursor, cascade_fault_sink sink,
                       void *context, bool *more)
{
    csc_memory *memory = self;
    csc_store_straying s;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_store_begin_strays(&s, kind, limit, cursor, sink, context);
    csc_lock_take(&memory->model->mutex);
    if (kind == CASCADE_STRAY_MESSAGES)
        err = look(memory, &s);
    csc_lock_give(&memory->model->mutex);
    return csc_store_end_strays(&s, err, more);
}
