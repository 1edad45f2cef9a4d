/* SPDX-License-Identifier: MIT
 */
#include "commit/happened.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/event.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "held/event_queue.h"
#include "held/run/run.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/state.h"

static const char *
or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static cascade_event
event_of(const csc_run *run, cascade_event_kind kind)
{
    return (cascade_event){.kind = kind,
                           .function_id = -1,
                           .cascade_id = run->state.id,
                           .node = "",
                           .step = "",
                           .error = ""};
}

/* What runs by itself, and the parts of it that take time. Others, as receipts
 * of messages, are not told. */
static bool
is_told(const char *full_name, csc_part_kind kind)
{
    if (kind == CSC_PART_NONE)
        return strncmp(full_name, CSC_RESERVED_PREFIX,
                       strlen(CSC_RESERVED_PREFIX)) != 0;
    return kind == CSC_PART_STEP || kind == CSC_PART_SLEEP ||
           kind == CSC_PART_AWAIT || kind == CSC_PART_CHILD ||
           kind == CSC_PART_UNDO;
}

/* A part is told by the name of its node, and its own. */
static void
name_event(const csc_run *run, const char *full_name, csc_part_kind kind,
           int32_t parent, cascade_event *event)
{
    const csc_exec *node = NULL;

    event->node = full_name;
    if (kind == CSC_PART_NONE)
        return;
    node = csc_view_find(&run->state, parent);
    event->function_id = parent;
    event->node = node != NULL ? node->name : "";
    event->step = full_name + strlen(csc_kind_prefix(kind));
}

/* ---- Attempts ------------------------------------------------------------ */

/* Where the cascade is cancelled, or what is there of a message, the attempt
 * was the last one. */
static bool
ends(const cascade_change *change, int32_t function_id)
{
    for (size_t i = 0; i < change->update_count; i++)
        if (change->updates[i].function_id == function_id &&
            change->updates[i].status != CASCADE_EXECUTION_RUNNING)
            return true;
    return false;
}

/* A row says only that there was one more. */
static void
note_attempt(const csc_run *run, const csc_post *post)
{
    const csc_exec *exec = csc_view_find(&run->state, post->function_id);
    bool of_step = post->kind == CSC_POST_STEP_ATTEMPT;
    cascade_event event = event_of(run, CASCADE_EVENT_ATTEMPT_FAILED);

    if (exec == NULL || exec->status != CASCADE_EXECUTION_RUNNING)
        return;
    event.function_id = post->function_id;
    event.attempt = of_step ? post->tried : post->attempts;
    event.delay_ms = post->delay_ms;
    event.error = or_empty(post->error);
    if (of_step)
        name_event(run, post->part_name, csc_kind_of(post->part_name),
                   post->function_id, &event);
    else
        event.node = exec->name;
    csc_event_queue_add_locked(run->engine, &event, false);
}

void
csc_happened_attempts_locked(const csc_run *run, const csc_post *posts,
                             const cascade_change *change)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex));
    if (!csc_event_queue_wants(run->engine, CASCADE_EVENT_ATTEMPT_FAILED,
                               false))
        return;
    for (const csc_post *p = posts; p != NULL; p = p->next)
        if ((p->kind == CSC_POST_ATTEMPT || p->kind == CSC_POST_STEP_ATTEMPT) &&
            !ends(change, p->function_id))
            note_attempt(run, p);
}

/* ---- Ends ---------------------------------------------------------------- */

/* A command has ended it, or it was told to end: that is no failure of its own.
 */
static bool
is_commanded(const csc_run *run, const csc_post *posts,
             const cascade_execution_row *row, const csc_record *record)
{
    if (run->state.cancel != CSC_NO_PARENT)
        return true;
    if (row->status != CASCADE_EXECUTION_FAILED ||
        !csc_uuid_is_nil(&record->by))
        return false;
    for (const csc_post *p = posts; p != NULL; p = p->next)
        if (p->kind == CSC_POST_FAIL && p->function_id == row->function_id)
            return false;
    return true;
}

static cascade_event_kind
kind_of(const cascade_execution_row *row)
{
    return row->status == CASCADE_EXECUTION_FAILED
               ? CASCADE_EVENT_EXECUTION_FAILED
               : CASCADE_EVENT_EXECUTION_COMPLETED;
}

/* Of a row that says how an execution has ended; `posts` NULL: its own. */
static void
note_end(const csc_run *run, const csc_post *posts,
         const cascade_execution_row *row, const char *full_name,
         int32_t parent)
{
    csc_part_kind kind = csc_kind_of(full_name);
    cascade_event event = event_of(run, kind_of(row));
    csc_record record;

    if (!is_told(full_name, kind))
        return;
    csc_full_output_read(row, &record);
    event.function_id = row->function_id;
    event.attempt = record.attempts > 0 ? record.attempts : 0;
    event.error = or_empty(row->error);
    name_event(run, full_name, kind, parent, &event);
    csc_event_queue_add_locked(run->engine, &event,
                               posts != NULL &&
                                   is_commanded(run, posts, row, &record));
}

static bool
is_wanted(const csc_run *run, const cascade_execution_row *row)
{
    return row->status != CASCADE_EXECUTION_RUNNING &&
           csc_event_queue_wants(run->engine, kind_of(row), false);
}

static void
note_part(const csc_run *run, const cascade_execution_row *row)
{
    int32_t parent = CSC_NO_PARENT;
    uint32_t occurrence = 0;

    if (csc_kind_path(row->node_instance_id, &run->state.id, &parent,
                      &occurrence))
        note_end(run, NULL, row, row->node_name, parent);
}

void
csc_happened_ends_locked(const csc_run *run, const csc_post *posts,
                         const cascade_change *change)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex));
    if (!csc_event_queue_wants(run->engine, CASCADE_EVENT_EXECUTION_FAILED,
                               false))
        return;
    for (size_t i = 0; i < change->insert_count; i++)
        if (is_wanted(run, &change->inserts[i]))
            note_part(run, &change->inserts[i]);
    for (size_t i = 0; i < change->update_count; i++) {
        const cascade_execution_row *row = &change->updates[i];
        const csc_exec *exec =
            is_wanted(run, row) ? csc_view_find(&run->state, row->function_id)
                                : NULL;

        if (exec != NULL)
            note_end(run, posts, row, exec->name, exec->parent);
    }
}

/* ---- Cascades ------------------------------------------------------------ */

/* Of a run that is gone the change alone tells. */
static const char *
error_of(const csc_run *run, const cascade_change *change)
{
    if (run->state.error != NULL)
        return run->state.error;
    for (size_t i = 0; i < change->update_count; i++)
        if (change->updates[i].status == CASCADE_EXECUTION_FAILED)
            return or_empty(change->updates[i].error);
    return "";
}

void
csc_happened_change_locked(const csc_run *run, const cascade_change *change,
                           cascade_status was)
{
    bool failed = change->cascade.status == CASCADE_ERROR;
    cascade_event event = event_of(run, CASCADE_EVENT_CASCADE_PARKED);

    csc_assert(csc_lock_is_held(&run->engine->mutex));
    if (change->run_action == CASCADE_RUN_END && was == CASCADE_RUNNING) {
        event.kind = failed ? CASCADE_EVENT_CASCADE_FAILED
                            : CASCADE_EVENT_CASCADE_COMPLETED;
        event.error = failed ? error_of(run, change) : "";
    } else if (change->run_action != CASCADE_RUN_FREE) {
        return;
    }
    csc_event_queue_add_locked(run->engine, &event, false);
}

void
csc_happened_start_locked(cascade_engine *engine, const cascade_change *change)
{
    const cascade_event event = {
        .kind = CASCADE_EVENT_CASCADE_STARTED,
        .cascade_id = change->cascade.id,
        .function_id = 0,
        .node = change->insert_count > 0 ? change->inserts[0].node_name : "",
        .step = "",
        .error = ""};

    csc_assert(change->run_action == CASCADE_RUN_START);
    csc_event_queue_add_locked(engine, &event, false);
}
