/* SPDX-License-Identifier: MIT
 *
 * Deleting whole cascades of the memory store, at once or piece by piece (S39
 * to S42).
 *
 *   stage     what there is room for is measured, and what outlives that is
 *             entered (S83; it stays where all else is undone, and does no harm
 *             beside the rows). All of it: the cascade is
 *             taken out of the model. Else it is marked: it goes from
 *             `cascades` to `erasures`, where nobody looks who reads, and its
 *             run is taken out
 *   undo      all of that is put back
 *   apply     what was taken out is freed; of what is marked, a piece. Nothing
 *             allocates, and nothing can fail
 *   erase     the next piece of what is marked
 *
 * The rows of a marked cascade are known by their ids and paths until they go.
 * What costs time here is rows, so bytes are not counted.
 */
#include "store/memory/internal.h"

#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "store/memory/treap.h"

#define ERASE_MAX 100 /* erasures in a piece */

void
csc_memory_delete_begin(const csc_memory_model *model, csc_memory_cut *room)
{
    csc_assert(model->piece_max > 0);
    *room =
        (csc_memory_cut){model->piece_max, model->piece_max, model->piece_max};
}

bool
csc_memory_delete_is_marked(const csc_memory_model *model,
                            const cascade_uuid *id)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    return model->erasures.count > 0 &&
           csc_map_get(&model->erasures, id) != NULL;
}

/* ---- Pieces -------------------------------------------------------------- */

/* What there is room for of `count`. */
static size_t
take_room(size_t *room, size_t count)
{
    size_t taken = count < *room ? count : *room;

    *room -= taken;
    return taken;
}

/* One more than there is room for is enough to know. */
static size_t
count_messages(const csc_memory_model *model, const cascade_uuid *id,
               size_t room)
{
    const csc_memory_box *box = csc_map_get(&model->boxes, id);
    const csc_memory_message *message = NULL;
    size_t count = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (box == NULL)
        return 0;
    message = csc_memory_messages_next(box, NULL);
    for (; message != NULL && count <= room; count++)
        message = csc_memory_messages_next(box, message);
    csc_assert(count <= room + 1);
    return count;
}

/* What may go, which uses the room up; true when that is all. */
static bool
measure(const csc_memory_model *model, const csc_memory_cascade *cascade,
        csc_memory_cut *room, csc_memory_cut *cut)
{
    size_t messages = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    *cut = (csc_memory_cut){0};
    cut->events = take_room(&room->events, cascade->event_count);
    if (cut->events < cascade->event_count)
        return false;
    cut->executions = take_room(&room->executions, cascade->execution_count);
    if (cut->executions < cascade->execution_count)
        return false;
    messages = count_messages(model, &cascade->row.id, room->messages);
    cut->messages = take_room(&room->messages, messages);
    csc_assert(cut->events == cascade->event_count &&
               cut->executions == cascade->execution_count);
    return cut->messages == messages;
}

static void
cut_messages(csc_memory_model *model, const cascade_uuid *id, size_t count)
{
    const csc_memory_box *box = csc_map_get(&model->boxes, id);

    csc_assert(csc_lock_is_held(&model->mutex));
    for (size_t i = 0; i < count; i++) {
        csc_memory_message *message = csc_memory_messages_next(box, NULL);

        csc_memory_messages_take(model, message);
        csc_memory_messages_free(model, message);
    }
}

static void
cut_rows(csc_memory_model *model, csc_memory_cascade *cascade,
         const csc_memory_cut *cut)
{
    csc_assert(cut->events <= cascade->event_count &&
               cut->executions <= cascade->execution_count);
    for (size_t i = 0; i < cut->events; i++)
        csc_mem_free(cascade->events[--cascade->event_count]);
    for (size_t i = 0; i < cut->executions; i++) {
        csc_memory_execution *execution =
            cascade->executions[--cascade->execution_count];

        csc_memory_rows_withdraw(model, execution);
        csc_memory_rows_free_execution(execution);
    }
    cut_messages(model, &cascade->row.id, cut->messages);
}

/* ---- Deletions ----------------------------------------------------------- */

static int
mark(csc_memory_model *model, csc_memory_cascade *cascade)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    if (csc_map_put(&model->erasures, &cascade->row.id, cascade) != 0)
        return -1;
    (void)csc_map_remove(&model->cascades, &cascade->row.id);
    csc_memory_order_remove(&model->order, &cascade->node);
    if (cascade->run != NULL)
        csc_memory_runs_take(model, cascade->run);
    return 0;
}

/* The map of cascades had room for it before. */
static void
unmark(csc_memory_model *model, csc_memory_cascade *cascade)
{
    int full = csc_map_put(&model->cascades, &cascade->row.id, cascade);

    csc_assert(csc_memory_delete_is_marked(model, &cascade->row.id));
    csc_assert(full == 0);
    (void)full;
    (void)csc_map_remove(&model->erasures, &cascade->row.id);
    csc_memory_order_add(&model->order, &cascade->node);
    if (cascade->run != NULL)
        csc_memory_runs_place(model, cascade->run);
}

int
csc_memory_delete_stage(csc_memory_model *model, const cascade_uuid *id,
                        csc_memory_cut *room, csc_memory_deletion *deletion)
{
    csc_memory_cascade *cascade = csc_map_get(&model->cascades, id);

    csc_assert(csc_lock_is_held(&model->mutex) && !deletion->staged);
    bool all = true;

    *deletion = (csc_memory_deletion){.cascade = cascade};
    if (cascade != NULL) {
        all = measure(model, cascade, room, &deletion->cut);
        if (csc_memory_links_keep(model, cascade, deletion->cut.executions) !=
            0)
            return -1;
    }
    if (!all && mark(model, cascade) != 0)
        return -1;
    deletion->staged = true;
    deletion->marked = !all;
    if (deletion->marked)
        return 0;
    deletion->box = csc_memory_messages_take_box(model, id);
    if (cascade != NULL)
        csc_memory_rows_take(model, cascade);
    return 0;
}

void
csc_memory_delete_undo(csc_memory_model *model, csc_memory_deletion *deletion)
{
    csc_assert(csc_lock_is_held(&model->mutex));
    if (!deletion->staged)
        return;
    deletion->staged = false;
    if (deletion->marked) {
        unmark(model, deletion->cascade);
        return;
    }
    csc_memory_messages_put_back_box(model, deletion->box);
    if (deletion->cascade != NULL)
        csc_memory_rows_put_back(model, deletion->cascade);
}

void
csc_memory_delete_apply(csc_memory_model *model, csc_memory_deletion *deletion)
{
    csc_memory_cascade *cascade = deletion->cascade;

    csc_assert(csc_lock_is_held(&model->mutex) && deletion->staged);
    if (deletion->marked) {
        csc_mem_free(cascade->run);
        cascade->run = NULL;
        cut_rows(model, cascade, &deletion->cut);
        return;
    }
    csc_memory_rows_free(cascade);
    csc_memory_messages_free_box(deletion->box);
}

/* ---- Erasing ------------------------------------------------------------- */

/* Whether the caller may work at it: S42. */
static bool
may_erase(const csc_memory_model *model, const csc_memory_cascade *cascade,
          const cascade_uuid *engine_id)
{
    const cascade_uuid *eraser = &cascade->eraser;

    csc_assert(csc_memory_delete_is_marked(model, &cascade->row.id));
    return csc_uuid_is_nil(eraser) ||
           (engine_id != NULL && csc_uuid_equal(eraser, engine_id)) ||
           csc_map_get(&model->engines, eraser) == NULL;
}

static csc_memory_cascade *
next_erasure(const csc_memory_model *model, const cascade_uuid *engine_id)
{
    csc_memory_cascade *cascade = NULL;
    size_t at = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    do {
        cascade = csc_map_next(&model->erasures, &at);
    } while (cascade != NULL && !may_erase(model, cascade, engine_id));
    return cascade;
}

/* `*all`: nothing of it is left. -1 when out of memory. */
static int
erase_one(csc_memory_model *model, csc_memory_cascade *cascade,
          const cascade_uuid *engine_id, csc_memory_cut *room, bool *all)
{
    csc_memory_cut cut;

    csc_assert(csc_memory_delete_is_marked(model, &cascade->row.id));
    *all = measure(model, cascade, room, &cut);
    if (csc_memory_links_keep(model, cascade, cut.executions) != 0)
        return -1;
    if (engine_id != NULL)
        cascade->eraser = *engine_id;
    cut_rows(model, cascade, &cut);
    if (!*all)
        return 0;
    (void)csc_map_remove(&model->erasures, &cascade->row.id);
    csc_memory_rows_free(cascade);
    return 0;
}

cascade_err
csc_memory_delete_erase(void *self, const cascade_uuid *engine_id, bool *more)
{
    csc_memory_model *model = ((csc_memory *)self)->model;
    csc_memory_cascade *cascade = NULL;
    csc_memory_cut room;
    bool all = true;
    int failed = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&model->mutex);
    csc_memory_delete_begin(model, &room);
    for (int i = 0; i < ERASE_MAX && all && failed == 0; i++) {
        cascade = next_erasure(model, engine_id);
        if (cascade == NULL)
            break;
        failed = erase_one(model, cascade, engine_id, &room, &all);
    }
    csc_lock_give(&model->mutex);
    *more = cascade != NULL && failed == 0;
    return failed == 0 ? CASCADE_OK : csc_fail_memory();
}
