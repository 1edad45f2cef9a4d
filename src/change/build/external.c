/* SPDX-License-Identifier: MIT
 *
 * Executions that are completed from outside become rows.
 *
 *   spawned, by an engine that knows its node    RUNNING with a token
 *   taken from the queue: started from outside,  UPDATE: RUNNING with a token
 *   or after others, or with a delay
 *   a message "complete" with that token         COMPLETED, or FAILED, with all
 *                                                that the completion produced
 *   the deadline comes                           FAILED
 *   the token is that of none that waits         a receipt, FAILED: undelivered
 *
 * What was received comes first in a change, so a completion that is there when
 * the deadline comes counts. Which of the two it was is in the record: `by`, or
 * `timed_out`. The completion has no row of its own; the message goes with the
 * commit that records what came of it. If the process dies before that, the
 * execution still waits and the message is still there.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/build/end.h"
#include "change/effects.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/state.h"

#define CLIENT "client"

static csc_json_span
quoted(struct csc_builder *b, const char *name)
{
    return csc_json_read_whole(
        name != NULL ? csc_arena_format(b->env->arena, "\"%s\"", name) : NULL);
}

/* The record of an execution that waits; `exec` is NULL for a new one. */
static const char *
write_external(struct csc_builder *b, const csc_waiting *waiting,
               const csc_exec *exec, int32_t priority, int32_t instead_of)
{
    csc_record record =
        exec != NULL ? csc_builder_record_of(b, exec) : csc_full_output_none;

    record.token = csc_uuid_v7(b->env->now_ms, b->env->random);
    record.instead = quoted(b, waiting->instead);
    record.continued = waiting->continued;
    if (waiting->timeout_ms > 0)
        record.deadline_ms =
            csc_clock_add(b->env->delay_from_ms, waiting->timeout_ms);
    record.priority = priority;
    record.instead_of = instead_of;
    return csc_builder_record(b, &record);
}

const char *
csc_external_spawn(struct csc_builder *b, const csc_spawn *spawn,
                   cascade_execution_row *row)
{
    const csc_waiting *waiting =
        b->env->find_external != NULL
            ? b->env->find_external(b->env->find_context, spawn->name)
            : NULL;

    csc_assert(row->status == CASCADE_EXECUTION_RUNNING);
    if (waiting == NULL)
        return NULL;
    row->location = CLIENT;
    if (spawn->after_count > 0 || spawn->delay_ms > 0)
        return NULL;
    return write_external(b, waiting, NULL, spawn->priority,
                          spawn->instead ? b->instead_of : CSC_NO_PARENT);
}

void
csc_external_wait(struct csc_builder *b, const csc_post *post,
                  const csc_exec *exec)
{
    cascade_execution_row *row = NULL;

    csc_assert(post->kind == CSC_POST_EXTERNAL && exec->external == NULL);
    if (csc_builder_is_cancelled(b)) {
        csc_command_cancel_one(b, exec);
        return;
    }
    row = csc_builder_update(b, exec, CASCADE_EXECUTION_RUNNING);
    row->full_output = write_external(b, &post->waiting, exec, exec->priority,
                                      exec->stands_for);
    row->error = exec->error;
}

/* ---- Completions -------------------------------------------------------- */

size_t
csc_external_message_room(const csc_message *messages, size_t *events)
{
    size_t inserts = 0;

    for (const csc_message *m = messages; m != NULL; m = m->next) {
        if (m->completion == NULL)
            continue;
        inserts += m->completion->effects.spawn_count;
        inserts += m->completion->error != NULL; /* what runs instead */
        *events += m->completion->effects.put_count;
    }
    return inserts;
}

/* The execution that waits with that token, NULL without one. */
static const csc_exec *
find_waiting(const struct csc_builder *b, const cascade_uuid *token)
{
    const csc_exec *exec = csc_index_outside(b->state, token, CSC_STATE_FIRST);

    while (exec != NULL && csc_view_has(&b->ended_early, exec->function_id))
        exec = csc_index_outside(b->state, token, exec->function_id);
    return exec;
}

static void
end_waiting(struct csc_builder *b, const csc_exec *exec,
            const csc_completion *completion)
{
    csc_post post = {.kind = completion->error != NULL ? CSC_POST_FAIL
                                                       : CSC_POST_COMPLETE,
                     .function_id = exec->function_id,
                     .attempts = exec->attempts + 1,
                     .error = completion->error,
                     .by = &completion->by,
                     .effects = completion->effects};

    csc_assert(exec->external != NULL &&
               exec->status == CASCADE_EXECUTION_RUNNING);
    if (post.error == NULL &&
        !csc_builder_has_ids(b, post.effects.spawn_count, false)) {
        post.kind = CSC_POST_FAIL;
        post.error = CSC_USED_UP;
        post.effects = (csc_effects){0};
        csc_end_fail(b, &post, exec);
    } else if (post.error == NULL) {
        csc_end_complete(b, &post, exec);
    } else {
        if (csc_effects_fail(b->env->arena, &post, exec) != CASCADE_OK)
            b->env->arena->failed = true;
        if (!csc_builder_has_ids(b, post.effects.spawn_count, false))
            csc_builder_drop_spawns(&post);
        csc_end_fail(b, &post, exec);
    }
    csc_builder_note_ended(b, exec);
}

bool
csc_external_completion(struct csc_builder *b, const csc_message *message)
{
    const csc_completion *completion = message->completion;
    const csc_exec *exec = NULL;

    if (completion == NULL)
        return false;
    if (csc_builder_status(b) == CASCADE_RUNNING)
        exec = find_waiting(b, &completion->token);
    if (exec != NULL)
        end_waiting(b, exec, completion);
    else if (csc_builder_has_ids(b, 1, false))
        csc_builder_undelivered(
            b,
            csc_builder_receipt(b, message,
                                CSC_MESSAGE_PREFIX CSC_MESSAGE_COMPLETE),
            "undelivered: the execution had ended");
    return true;
}
