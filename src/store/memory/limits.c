/* SPDX-License-Identifier: MIT
 *
 * The limits of queues of the memory store, and what has a slot. They stand in
 * the queue itself, which is there for good; version 0 says that it has none.
 */
#include "store/memory/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/memory/text_map.h"

/* ---- Set and drop -------------------------------------------------------- */

/* `*about` becomes the queue's, or what was the queue's. */
static void
change(csc_memory_queue *queue, const cascade_limits_row *row, int64_t version,
       char **about)
{
    char *before = queue->limits_about;

    queue->version = version;
    queue->running_max = row->running_max;
    queue->key_running_max = row->key_running_max;
    queue->limits_about = *about;
    *about = before;
}

cascade_err
csc_memory_limits_set(void *self, const cascade_limits_row *row, bool *done,
                      int64_t *version)
{
    csc_memory *memory = self;
    char *about = csc_mem_strdup(row->about);
    csc_memory_queue *queue;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (about == NULL)
        return csc_fail_memory();
    csc_lock_take(&memory->model->mutex);
    queue = csc_memory_runs_queue(memory->model, row->queue);
    if (queue == NULL) {
        err = csc_fail_memory();
    } else {
        *done = row->version == CASCADE_LIMITS_ANY ||
                row->version == queue->version;
        if (*done)
            change(queue, row, queue->version + 1, &about);
        *version = queue->version;
    }
    csc_lock_give(&memory->model->mutex);
    csc_mem_free(about);
    return err;
}

cascade_err
csc_memory_limits_drop(void *self, const char *queue_name, bool *done)
{
    static const cascade_limits_row none = {.version = 0};
    csc_memory *memory = self;
    csc_memory_queue *queue;
    char *about = NULL;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    queue = csc_memory_names_get(&memory->model->queues, queue_name);
    *done = csc_memory_turns_is_kept(queue);
    if (*done)
        change(queue, &none, 0, &about);
    csc_lock_give(&memory->model->mutex);
    csc_mem_free(about);
    return CASCADE_OK;
}

/* ---- List ---------------------------------------------------------------- */

/* The kept queue that comes next by name; NULL: there is none. */
static const csc_memory_queue *
next_kept(const csc_memory_model *model, const char *after)
{
    const csc_memory_queue *next = NULL;
    size_t at = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (size_t i = 0; i < model->queues.count; i++) {
        const csc_memory_queue *queue =
            csc_memory_names_next(&model->queues, &at);

        if (csc_memory_turns_is_kept(queue) && strcmp(queue->name, after) > 0 &&
            (next == NULL || strcmp(queue->name, next->name) < 0))
            next = queue;
    }
    return next;
}

static cascade_err
give(const csc_memory_queue *queue, cascade_limits_sink sink, void *context)
{
    const cascade_limits_row row = {.queue = queue->name,
                                    .version = queue->version,
                                    .running_max = queue->running_max,
                                    .key_running_max = queue->key_running_max,
                                    .about = queue->limits_about};

    return sink(context, &row);
}

static cascade_err
give_page(const csc_memory_model *model, const char *after, size_t limit,
          cascade_limits_sink sink, void *context)
{
    const csc_memory_queue *queue = next_kept(model, after);
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < limit && queue != NULL && err == CASCADE_OK; i++) {
        err = give(queue, sink, context);
        queue = next_kept(model, queue->name);
    }
    return err;
}

/* Each is looked for anew, by a walk over all queues: there are few, and this
 * is on demand. */
cascade_err
csc_memory_limits_list(void *self, const char *only, const char *after,
                       size_t limit, cascade_limits_sink sink, void *context)
{
    csc_memory *memory = self;
    const csc_memory_queue *queue;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    if (only == NULL) {
        err = give_page(memory->model, after, limit, sink, context);
    } else {
        queue = csc_memory_names_get(&memory->model->queues, only);
        if (csc_memory_turns_is_kept(queue))
            err = give(queue, sink, context);
    }
    csc_lock_give(&memory->model->mutex);
    return err;
}

/* ---- Slots --------------------------------------------------------------- */

cascade_err
csc_memory_limits_slots(void *self, const char *queue_name, const char *key,
                        size_t limit, cascade_slot_sink sink, void *context)
{
    csc_memory *memory = self;
    const csc_memory_queue *queue;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    queue = csc_memory_names_get(&memory->model->queues, queue_name);
    if (queue != NULL)
        err = csc_memory_turns_slots(queue, key, limit, sink, context);
    csc_lock_give(&memory->model->mutex);
    return err;
}
