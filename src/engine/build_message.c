/* SPDX-License-Identifier: MIT
 *
 * Messages become rows.
 *
 *   signal          an execution, COMPLETED; an await of its name that is
 *                   RUNNING is COMPLETED with it, else it is unread
 *   its cascade     an execution, FAILED as undelivered, which leaves the
 *   has ended       status as it is
 *   the same, but   the message is sent on to the next run, with its path:
 *   continued as    there is one receipt, in whichever run it is received
 *   new
 *   command         build_command.c; of a retry or a rerun, build_course.c
 *   end of a child  build_child.c
 *   completion      build_external.c
 *   repeated        nothing: an execution has its path
 *   unknown kind    an execution, FAILED: a newer library sent it
 *
 * In each case but that of a deletion, which takes two commits, the message is
 * deleted with this one. If the process dies before it, the message is there
 * and is received by whoever owns the cascade next; after it, the execution is
 * there, and its path tells a repeated request.
 */
#include "engine/build_internal.h"

#include <string.h>

const char *
csc_build_at(struct csc_builder *b, bool continued)
{
    csc_record_writer writer;

    csc_record_begin(&writer, &b->text);
    csc_record_add_number(&writer, "at", b->state->fn_id);
    if (continued)
        csc_record_add_json(&writer, "continue", "true");
    csc_record_end(&writer);
    return csc_build_text(b);
}

/* The record of an await that has taken a signal. */
static const char *
write_taking(struct csc_builder *b, int32_t signal, int64_t not_before_ms)
{
    csc_record_writer writer;

    csc_record_begin(&writer, &b->text);
    csc_record_add_number(&writer, "at", b->state->fn_id);
    csc_record_add_number(&writer, "signal", signal);
    csc_record_add_number(&writer, "attempts", 1);
    if (not_before_ms != CASCADE_TIME_NONE)
        csc_record_add_number(&writer, "not_before", not_before_ms);
    csc_record_end(&writer);
    return csc_build_text(b);
}

static void
note_id(struct csc_builder *b, csc_ids *ids, int32_t id)
{
    if (csc_state_add_id(ids, id) != CASCADE_OK)
        b->env->arena->failed = true;
}

void
csc_build_note_ended(struct csc_builder *b, const csc_exec *exec)
{
    note_id(b, &b->ended_early, exec->function_id);
}

/* ---- Signals ------------------------------------------------------------ */

/* The first await of that name that still waits, NULL without one. */
static const csc_exec *
find_await(const struct csc_builder *b, const char *name)
{
    for (size_t i = 0; i < b->state->exec_count; i++) {
        const csc_exec *exec = b->state->execs[i].exec;

        if (exec != NULL && exec->part == CSC_PART_AWAIT &&
            exec->status == CASCADE_EXECUTION_RUNNING &&
            strcmp(exec->name + strlen(CSC_AWAIT_PREFIX), name) == 0 &&
            !csc_state_has(&b->ended_early, exec->function_id))
            return exec;
    }
    return NULL;
}

static void
end_await(struct csc_builder *b, const csc_exec *await, int32_t signal)
{
    cascade_execution_row *row =
        csc_build_update(b, await, CASCADE_EXECUTION_COMPLETED);

    row->full_output = write_taking(b, signal, await->not_before_ms);
    note_id(b, &b->taken, signal);
    csc_build_note_ended(b, await);
}

/* The lowest unread signal of that name, of before or of this change. */
static int32_t
find_signal(const struct csc_builder *b, const char *name)
{
    const csc_signal *signal = NULL;
    size_t at = 0;

    do {
        signal = csc_state_signal(b->state, name, &at);
    } while (signal != NULL && csc_state_has(&b->taken, signal->function_id));
    if (signal != NULL)
        return signal->function_id;
    for (size_t i = 0; i < b->insert_count; i++) {
        const cascade_execution_row *row = &b->inserts[i];

        if (csc_state_is_signal(row) &&
            strcmp(row->node_name + strlen(CSC_SIGNAL_PREFIX), name) == 0 &&
            !csc_state_has(&b->taken, row->function_id))
            return row->function_id;
    }
    return CSC_NO_PARENT;
}

bool
csc_build_take_signal(struct csc_builder *b, cascade_execution_row *row)
{
    size_t prefix = strlen(CSC_AWAIT_PREFIX);
    int32_t signal = CSC_NO_PARENT;

    if (strncmp(row->node_name, CSC_AWAIT_PREFIX, prefix) == 0)
        signal = find_signal(b, row->node_name + prefix);
    if (signal == CSC_NO_PARENT)
        return false;
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->completed_at_ms = b->env->now_ms;
    row->full_output = write_taking(b, signal, CASCADE_TIME_NONE);
    note_id(b, &b->taken, signal);
    return true;
}

bool
csc_build_is_late(const struct csc_builder *b, const csc_post *post,
                  const csc_exec *exec)
{
    if (exec == NULL) /* a wait, or an external execution, long over */
        return post->kind == CSC_POST_COMPLETE ||
               post->kind == CSC_POST_EXTERNAL || post->overdue;
    if (csc_state_has(&b->ended_early, exec->function_id))
        return true;
    return (csc_state_is_wait(exec) || post->overdue) &&
           exec->status != CASCADE_EXECUTION_RUNNING;
}

/* ---- Messages ----------------------------------------------------------- */

cascade_execution_row *
csc_build_receipt(struct csc_builder *b, const csc_message *message,
                  const char *name)
{
    cascade_execution_row *row = csc_build_insert(b, name, message->path);

    row->input = message->payload;
    row->completed_at_ms = b->env->now_ms;
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->full_output = csc_build_at(b, false);
    return row;
}

static const char *
prefixed(struct csc_builder *b, const char *prefix, const char *name)
{
    csc_buf_add_text(&b->text, prefix);
    csc_buf_add_text(&b->text, name);
    return csc_build_text(b);
}

void
csc_build_undelivered(struct csc_builder *b, cascade_execution_row *row,
                      const char *error)
{
    row->status = CASCADE_EXECUTION_FAILED;
    row->error = error;
    row->full_output = csc_build_at(b, true);
}

static void
add_signal(struct csc_builder *b, const csc_message *message)
{
    bool over = csc_build_status(b) != CASCADE_RUNNING;
    const csc_exec *await = over ? NULL : find_await(b, message->name);
    cascade_execution_row *row = csc_build_receipt(
        b, message, prefixed(b, CSC_SIGNAL_PREFIX, message->name));

    if (over)
        csc_build_undelivered(b, row, CSC_UNDELIVERED);
    else if (await != NULL)
        end_await(b, await, row->function_id);
}

static void
add_unknown(struct csc_builder *b, const csc_message *message)
{
    cascade_execution_row *row = csc_build_receipt(
        b, message, prefixed(b, CSC_MESSAGE_PREFIX, message->kind));

    csc_build_undelivered(
        b, row,
        "undelivered: this version of the library does not know messages of "
        "this kind");
}

static void
add_message(struct csc_builder *b, const csc_message *message)
{
    if (strcmp(message->kind, CSC_MESSAGE_DELETE) == 0) {
        csc_build_delete(b, message);
        return;
    }
    b->received[b->received_count++] = message->id;
    if (message->repeated || csc_build_forward(b, message))
        return;
    if (strcmp(message->kind, CSC_MESSAGE_SIGNAL) == 0)
        add_signal(b, message);
    else if (!csc_build_child_end(b, message) &&
             !csc_build_completion(b, message) &&
             !csc_build_course(b, message) && !csc_build_command(b, message))
        add_unknown(b, message);
}

void
csc_build_receive(struct csc_builder *b, const csc_post *post)
{
    for (const csc_message *m = post->messages; m != NULL; m = m->next)
        add_message(b, m);
}
