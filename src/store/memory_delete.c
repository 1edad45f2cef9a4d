/* SPDX-License-Identifier: MIT
 *
 * Deleting whole cascades of the memory store in pieces (S39). A batch first
 * measures what it may take of each, which changes nothing, and takes it when
 * all of the batch is staged: that allocates nothing and cannot fail. A cascade
 * of which all may go is taken out whole (memory_commit.c).
 *
 * What costs time here is rows, so bytes are not counted.
 */
#include "base/mem.h"
#include "store/memory.h"

void
csc_memory_delete_begin(csc_memory_cut *room)
{
    *room = (csc_memory_cut){CASCADE_DELETE_ROWS_MAX, CASCADE_DELETE_ROWS_MAX,
                             CASCADE_DELETE_ROWS_MAX};
}

/* What there is room for of `count`. */
static size_t
take_room(size_t *room, size_t count)
{
    size_t taken = count < *room ? count : *room;

    *room -= taken;
    return taken;
}

static bool
goes_last(const cascade_change *change, const csc_memory_message *message)
{
    return change->received_count > 0 && message->row.id == change->received[0];
}

/* The message behind `message` that does not go last; NULL: the first. */
static csc_memory_message *
next_message(const csc_memory_box *box, const cascade_change *change,
             const csc_memory_message *message)
{
    csc_memory_message *next = NULL;

    if (box == NULL)
        return NULL;
    next = csc_memory_messages_next(box, message);
    if (next != NULL && goes_last(change, next))
        next = csc_memory_messages_next(box, next);
    return next;
}

/* One more than there is room for is enough to know. */
static size_t
count_messages(const csc_memory_box *box, const cascade_change *change,
               size_t room)
{
    const csc_memory_message *message = next_message(box, change, NULL);
    size_t count = 0;

    for (; message != NULL && count <= room; count++)
        message = next_message(box, change, message);
    return count;
}

bool
csc_memory_delete_measure(const csc_memory_model *model,
                          const csc_memory_cascade *cascade,
                          const cascade_change *change, csc_memory_cut *room,
                          csc_memory_cut *cut)
{
    const csc_memory_box *box = csc_map_get(&model->boxes, &change->cascade.id);
    size_t messages = 0;

    *cut = (csc_memory_cut){0};
    if (cascade == NULL)
        return true;
    cut->events = take_room(&room->events, cascade->event_count);
    if (cut->events < cascade->event_count)
        return false;
    cut->executions = take_room(&room->executions, cascade->execution_count);
    if (cut->executions < cascade->execution_count)
        return false;
    messages = count_messages(box, change, room->messages);
    cut->messages = take_room(&room->messages, messages);
    return cut->messages == messages;
}

bool
csc_memory_delete_left(const csc_memory_model *model,
                       const cascade_change *change)
{
    return change->received_count > 0 &&
           csc_memory_messages_find(model, &change->cascade.id,
                                    change->received[0]) != NULL;
}

static void
cut_messages(csc_memory_model *model, const cascade_change *change,
             size_t count)
{
    const csc_memory_box *box = csc_map_get(&model->boxes, &change->cascade.id);

    for (size_t i = 0; i < count; i++) {
        csc_memory_message *message = next_message(box, change, NULL);

        csc_memory_messages_take(model, message);
        csc_memory_messages_free(model, message);
    }
}

void
csc_memory_delete_cut(csc_memory_model *model, csc_memory_cascade *cascade,
                      const cascade_change *change, const csc_memory_cut *cut)
{
    for (size_t i = 0; i < cut->events; i++)
        csc_mem_free(cascade->events[--cascade->event_count]);
    for (size_t i = 0; i < cut->executions; i++) {
        csc_memory_execution *execution =
            cascade->executions[--cascade->execution_count];

        csc_memory_rows_withdraw(model, execution);
        csc_memory_rows_free_execution(execution);
    }
    cut_messages(model, change, cut->messages);
}
