/* SPDX-License-Identifier: MIT
 *
 * Seals in the memory store. Each is with its cascade, and goes with it; the
 * store's own is in the model. There are none of cascades that are not there.
 */
#include "store/memory/internal.h"

#include <string.h>

#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/memory/treap.h"
#include "store/store.h"

csc_memory_seal *
csc_memory_seals_make(const cascade_seal_row *row)
{
    size_t size = strlen(row->seal) + 1;
    csc_memory_seal *seal = csc_mem_alloc(sizeof(*seal) + size);

    if (seal == NULL)
        return NULL;
    seal->number = row->number;
    memcpy(seal->text, row->seal, size);
    return seal;
}

cascade_err
csc_memory_seals_give(const cascade_uuid *id, const csc_memory_seal *seal,
                      cascade_seal_sink sink, void *context)
{
    cascade_seal_row row = {.cascade_id = *id};

    if (seal == NULL)
        return CASCADE_OK;
    row.number = seal->number;
    row.seal = seal->text;
    return sink(context, &row);
}

bool
csc_memory_seals_is(const csc_memory_seal *seal, const cascade_seal_row *was)
{
    if (seal == NULL || was == NULL)
        return seal == NULL && was == NULL;
    return seal->number == was->number && strcmp(seal->text, was->seal) == 0;
}

/* ---- Changing ------------------------------------------------------------ */

/* Where the seal is; NULL: nothing may have one. */
static csc_memory_seal **
find_place(csc_memory_model *model, const cascade_uuid *id)
{
    csc_memory_cascade *cascade;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (csc_uuid_is_nil(id))
        return &model->seal;
    cascade = csc_map_get(&model->cascades, id);
    return cascade != NULL ? &cascade->seal : NULL;
}

/* `*made` becomes the model's. */
static bool
change(csc_memory_model *model, const cascade_reseal *reseal,
       csc_memory_seal **made)
{
    csc_memory_seal **place = find_place(model, &reseal->cascade_id);

    csc_assert(csc_lock_is_held(&model->mutex));
    if (place == NULL || !csc_memory_seals_is(*place, reseal->was))
        return false;
    csc_mem_free(*place);
    *place = *made;
    *made = NULL;
    return true;
}

cascade_err
csc_memory_seals_change(void *self, const cascade_reseal *reseals, size_t count,
                        bool *done)
{
    csc_memory_model *model = ((csc_memory *)self)->model;
    csc_memory_seal **made = NULL;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    made = csc_mem_zalloc(count, sizeof(made[0]));
    if (made == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        if (reseals[i].now == NULL)
            continue;
        made[i] = csc_memory_seals_make(reseals[i].now);
        if (made[i] == NULL)
            err = csc_fail_memory();
    }
    if (err == CASCADE_OK) {
        csc_lock_take(&model->mutex);
        for (size_t i = 0; i < count; i++)
            done[i] = change(model, &reseals[i], &made[i]);
        csc_lock_give(&model->mutex);
    }
    for (size_t i = 0; i < count; i++)
        csc_mem_free(made[i]);
    csc_mem_free(made);
    return err;
}

/* ---- Listing ------------------------------------------------------------- */

cascade_err
csc_memory_seals_list(void *self, const cascade_uuid *after, size_t limit,
                      cascade_seal_sink sink, void *context)
{
    static const cascade_uuid own = {{0}};
    csc_memory_model *model = ((csc_memory *)self)->model;
    const csc_memory_order_node *node = NULL;
    size_t count = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&model->mutex);
    if (after == NULL && model->seal != NULL) {
        err = csc_memory_seals_give(&own, model->seal, sink, context);
        count++;
    }
    node = csc_memory_order_next(model->order, 0, after != NULL ? after : &own);
    while (node != NULL && count < limit && err == CASCADE_OK) {
        const csc_memory_cascade *cascade = node->item;

        count += cascade->seal != NULL;
        err = csc_memory_seals_give(&node->id, cascade->seal, sink, context);
        node = csc_memory_order_next(model->order, 0, &node->id);
    }
    csc_lock_give(&model->mutex);
    return err;
}
