/* SPDX-License-Identifier: MIT
 *
 * Queues of the memory store as whoever looks after them sees them. A queue is
 * there from the first run, or pause, on; what makes it paused is that it has a
 * text about that. Claims look at it in runs.c.
 *
 * Listing counts the runs anew, by a walk over all cascades: nothing has to be
 * kept right for it by the moves that matter.
 */
#include "store/memory/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/memory/text_map.h"

#define NOTHING "{}" /* about a pause that nothing is said of */

/* ---- Pause -------------------------------------------------------------- */

/* `*about` becomes the queue's, or what was the queue's. */
static void
swap_about(csc_memory_queue *queue, char **about, int64_t now_ms)
{
    char *before = queue->about;

    csc_assert((*about == NULL) == (queue->about != NULL));
    queue->about = *about;
    queue->paused_at_ms = now_ms;
    *about = before;
}

cascade_err
csc_memory_queues_pause(void *self, const char *queue_name, bool paused,
                        const char *about, bool *changed)
{
    csc_memory *memory = self;
    int64_t now_ms = csc_clock_wall_ms(memory->config->clock);
    csc_memory_queue *queue;
    char *kept = NULL;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (paused) {
        kept = csc_mem_strdup(about != NULL ? about : NOTHING);
        if (kept == NULL)
            return csc_fail_memory();
    }
    csc_lock_take(&memory->model->mutex);
    queue = csc_memory_runs_queue(memory->model, queue_name);
    if (queue == NULL) {
        err = csc_fail_memory();
    } else {
        *changed = (queue->about != NULL) != paused;
        if (*changed)
            swap_about(queue, &kept, now_ms);
    }
    csc_lock_give(&memory->model->mutex);
    csc_mem_free(kept);
    return err;
}

/* ---- List --------------------------------------------------------------- */

static int
compare_rows(const void *a, const void *b)
{
    const cascade_queue_row *left = a;
    const cascade_queue_row *right = b;

    return strcmp(left->queue, right->queue);
}

/* A row for each queue there ever was, by name; NULL when out of memory, and
 * for none. */
static cascade_queue_row *
make_rows(const csc_memory_model *model)
{
    cascade_queue_row *rows =
        csc_mem_zalloc(model->queues.count, sizeof(rows[0]));
    size_t at = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (size_t i = 0; rows != NULL && i < model->queues.count; i++) {
        const csc_memory_queue *queue =
            csc_memory_names_next(&model->queues, &at);
        bool paused = queue->about != NULL;

        rows[i] = (cascade_queue_row){
            .queue = queue->name,
            .paused = paused,
            .paused_at_ms = paused ? queue->paused_at_ms : CASCADE_TIME_NONE,
            .about = paused ? queue->about : NOTHING,
            .due_since_ms = CASCADE_TIME_NONE,
        };
    }
    if (rows != NULL)
        qsort(rows, model->queues.count, sizeof(rows[0]), compare_rows);
    return rows;
}

static void
count_run(cascade_queue_row *row, const cascade_run_row *run, int64_t now_ms)
{
    csc_assert(strcmp(row->queue, run->queue) == 0);
    if (!csc_uuid_is_nil(&run->engine_id)) {
        row->owned++;
        row->slots += run->slot > 0;
    } else if (run->needs != NULL && run->needs[0] != '\0' &&
               !csc_memory_turns_is_waiting(run)) {
        row->needing++;
    } else if (run->wake_at_ms > now_ms) {
        row->later++;
    } else {
        row->due++;
        if (row->due_since_ms == CASCADE_TIME_NONE ||
            run->wake_at_ms < row->due_since_ms)
            row->due_since_ms = run->wake_at_ms;
    }
}

static void
count_runs(const csc_memory_model *model, cascade_queue_row *rows,
           int64_t now_ms)
{
    size_t at = 0;

    csc_assert(csc_lock_is_held(&model->mutex));
    for (;;) {
        const csc_memory_cascade *cascade = csc_map_next(&model->cascades, &at);
        cascade_queue_row *row = NULL;
        cascade_queue_row asked;

        if (cascade == NULL)
            return;
        if (cascade->run == NULL)
            continue;
        asked.queue = cascade->run->row.queue;
        row = bsearch(&asked, rows, model->queues.count, sizeof(rows[0]),
                      compare_rows);
        csc_assert(row != NULL); /* each run has its queue */
        count_run(row, &cascade->run->row, now_ms);
    }
}

static bool
has_something(const cascade_queue_row *row)
{
    return row->paused || row->owned > 0 || row->due > 0 || row->later > 0 ||
           row->needing > 0;
}

static cascade_err
give_rows(const csc_memory_model *model, int64_t now_ms,
          cascade_queue_sink sink, void *context)
{
    cascade_queue_row *rows;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&model->mutex));
    if (model->queues.count == 0)
        return CASCADE_OK;
    rows = make_rows(model);
    if (rows == NULL)
        return csc_fail_memory();
    count_runs(model, rows, now_ms);
    for (size_t i = 0; i < model->queues.count && err == CASCADE_OK; i++) {
        if (has_something(&rows[i]))
            err = sink(context, &rows[i]);
    }
    csc_mem_free(rows);
    return err;
}

cascade_err
csc_memory_queues_list(void *self, cascade_queue_sink sink, void *context)
{
    csc_memory *memory = self;
    int64_t now_ms = csc_clock_wall_ms(memory->config->clock);
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    err = give_rows(memory->model, now_ms, sink, context);
    csc_lock_give(&memory->model->mutex);
    return err;
}
