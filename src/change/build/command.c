/* SPDX-License-Identifier: MIT
 *
 * Commands become rows; see cascade_cancel() and its neighbours.
 *
 *   terminate   an execution, FAILED: it ends the cascade
 *   poison      the same, of a cascade that cannot be read (end_unloaded.c)
 *   cancel      an execution, RUNNING. With it fail, as cancelled: waits, whose
 *               nodes are entered again; executions that have not begun. What
 *               has begun goes on: what is dispatched, and straight-line nodes
 *               with something recorded. The change that ends the last of all
 *               ends the cancellation as FAILED, and so the cascade. There may
 *               be many: see below.
 *   pause,      an execution, COMPLETED: the last one of them decides (state.h)
 *   resume
 *   delete      of a cascade that runs: as terminate, and the message stays;
 *               of one that has ended: the change deletes it, or marks it,
 *               and what is left is erased by and by (erasure.c)
 *
 * A CANCELLATION IN SLICES. What is to fail with it is below it in function_id,
 * and what one commit ends of it is bounded in bytes, each row counting for
 * some (env->slice_bytes):
 *
 *   received --> the row, RUNNING, {"from":n}; n is the lowest one left
 *      |           | the engine posts a SLICE, as often as there is something
 *      |           v left: run.c
 *      |         the next slice, {"from":m}, in one commit
 *      v           |
 *   nothing left: the record is empty
 *
 * With the first commit the cascade is cancelled, for all of it: nothing of it
 * begins from then on, and no signal or time ends a wait that is still to fail
 * (`doomed`); a time that comes fails it instead. If the process dies between
 * two slices, whoever claims the cascade next goes on where the record says. A
 * child that was asked before, in a slice that was lost, is asked by the same
 * path: once.
 *
 * What is dispatched is not in the rows. After a crash such an execution has
 * not begun, though its cascade is cancelled: then its engine fails it before
 * its function is called.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/build/end.h"
#include "change/join_cutoff.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/state.h"

int32_t
csc_command_cancel_id(const struct csc_builder *b)
{
    return b->cancel != NULL ? b->cancel->function_id : b->state->cancel;
}

/* "terminated", or "terminated: REASON" with what the payload says. So for
 * `what`. */
static const char *
write_error(struct csc_builder *b, const char *what, const char *payload)
{
    csc_json_span reason;
    char *text = NULL;

    csc_assert(b->text.len == 0);
    csc_buf_add_text(&b->text, what);
    if (csc_json_read_member(payload, "reason", &reason) &&
        csc_json_read_text(reason, &text)) {
        if (text == NULL)
            b->env->arena->failed = true;
        csc_buf_add_text(&b->text, ": ");
        csc_buf_add_text(&b->text, text != NULL ? text : "");
    }
    csc_mem_free(text);
    return csc_builder_text(b);
}

/* ---- Terminating -------------------------------------------------------- */

static void
terminate(struct csc_builder *b, const csc_message *message, const char *what)
{
    bool over = csc_builder_status(b) != CASCADE_RUNNING;
    cascade_execution_row *row = NULL;

    if (!csc_builder_has_ids(b, 1, !over)) {
        csc_last_ids_end_other(b, write_error(b, what, message->payload));
        return;
    }
    row = csc_builder_receipt(b, message, CSC_TERMINATE_NAME);
    if (over) {
        csc_builder_undelivered(b, row, CSC_UNDELIVERED);
        return;
    }
    row->status = CASCADE_EXECUTION_FAILED;
    row->error = write_error(b, what, message->payload);
    csc_builder_note_terminated(b, row);
}

/* One of those that are still to come may say that children are to be told, and
 * the cascade is not to go before. Where there are only deletions, so many that
 * they were cut, the others say no more than the first. */
static void
await_others(struct csc_builder *b, const csc_message *message)
{
    csc_assert(b->is_cut);
    if (b->only_deletions && b->awaits_others)
        b->received[b->received_count++] = message->id;
    b->awaits_others = true;
}

/* What ends the cascade comes first, in a commit of its own, which tells its
 * parent and its children; the message stays then, and is `repeated` when it is
 * received again. It goes with the cascade, once all children are told: until
 * then each commit sends something, or receives what may say so. */
void
csc_command_add_delete(struct csc_builder *b, const csc_message *message)
{
    bool running = csc_builder_status(b) == CASCADE_RUNNING;

    csc_assert(strcmp(message->kind, CSC_MESSAGE_DELETE) == 0);
    if (csc_next_run_keep(b, message))
        return;
    if (b->is_cut && b->state->recorded == CASCADE_ERROR)
        await_others(b, message);
    else if (!running && b->state->recorded != CASCADE_RUNNING)
        b->erases = true;
    else if (running && !message->repeated)
        terminate(b, message, "terminated");
    else if (running)
        b->received[b->received_count++] = message->id;
}

static const char *
write_cancelled(struct csc_builder *b, const csc_exec *exec)
{
    const csc_late_end end = {.status = CASCADE_EXECUTION_FAILED};
    csc_record record = csc_builder_record_of(b, exec);

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    record.at = b->state->fn_id;
    record.late = csc_builder_late(b, exec, &end);
    record.attempts = exec->attempts;
    record.continued = true;
    record.cancelled = true;
    if (csc_view_is_wait(exec) || exec->attempts == 0)
        record.not_before_ms = exec->not_before_ms;
    return csc_builder_record(b, &record);
}

void
csc_command_cancel_one(struct csc_builder *b, const csc_exec *exec)
{
    cascade_execution_row *row =
        csc_builder_update(b, exec, CASCADE_EXECUTION_FAILED);

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    row->error = "cancelled";
    row->full_output = write_cancelled(b, exec);
    csc_builder_note_ended(b, exec);
}

/* Whether it fails with the cancellation: see the head comment. */
static bool
is_cancelled_with(const struct csc_builder *b, const csc_exec *exec)
{
    csc_assert(csc_builder_is_cancelled(b));
    if (exec->part == CSC_PART_CANCEL || exec->part == CSC_PART_CHILD ||
        csc_view_has(&b->ended_early, exec->function_id))
        return false;
    return csc_view_is_wait(exec) ||
           (exec->stage != CSC_STAGE_DISPATCHED && exec->parts.count == 0);
}

/* It has something to clean up, and is to be entered again some time. */
static bool
is_put_off(const struct csc_builder *b, const csc_exec *exec)
{
    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    return exec->part == CSC_PART_NONE && exec->stage != CSC_STAGE_DISPATCHED &&
           exec->not_before_ms > b->env->now_ms;
}

/* It is entered again at once. */
static void
hurry(struct csc_builder *b, const csc_exec *exec)
{
    const csc_post post = {.kind = CSC_POST_ATTEMPT,
                           .attempts = exec->attempts};
    cascade_execution_row *row =
        csc_builder_update(b, exec, CASCADE_EXECUTION_RUNNING);

    csc_assert(is_put_off(b, exec));
    row->full_output = csc_end_attempt(b, &post, exec);
    row->error = exec->error;
}

static void
cancel_exec(struct csc_builder *b, const csc_exec *exec)
{
    if (exec == NULL || exec->status != CASCADE_EXECUTION_RUNNING)
        return;
    if (exec->part == CSC_PART_CHILD &&
        !csc_view_has(&b->ended_early, exec->function_id))
        csc_child_add_cancel(b, exec);
    else if (is_cancelled_with(b, exec))
        csc_command_cancel_one(b, exec);
    else if (is_put_off(b, exec))
        hurry(b, exec);
}

bool
csc_command_is_doomed(const struct csc_builder *b, const csc_exec *exec)
{
    return b->cancel_from != CSC_NO_PARENT &&
           exec->function_id >= b->cancel_from &&
           exec->function_id < csc_command_cancel_id(b) &&
           is_cancelled_with(b, exec);
}

/* The bytes of what it writes. Children are asked by messages. */
static size_t
cancel_counted(struct csc_builder *b, const csc_exec *exec)
{
    size_t updates = b->update_count;
    size_t sends = b->send_count;
    size_t bytes = 0;

    cancel_exec(b, exec);
    if (b->env->arena->failed)
        return 0;
    bytes = (b->update_count + b->send_count - updates - sends) * CSC_ROW_BYTES;
    if (b->update_count > updates)
        bytes += strlen(b->updates[updates].full_output);
    return bytes;
}

/* From b->cancel_from on, which moves. */
static void
cut_slice(struct csc_builder *b)
{
    const csc_state *state = b->state;
    size_t room = csc_builder_slice_room(b);
    size_t rows = 1 + room / CSC_ROW_BYTES;
    size_t bytes = 0;

    csc_assert(csc_builder_is_cancelled(b));
    csc_builder_more_updates(b, state->running < rows ? state->running : rows);
    for (size_t i = csc_view_place(state, b->cancel_from);
         i < state->exec_count &&
         state->execs[i].function_id < csc_command_cancel_id(b);
         i++) {
        b->cancel_from = state->execs[i].function_id;
        if (bytes >= room || b->env->arena->failed)
            return;
        bytes += cancel_counted(b, state->execs[i].exec);
    }
    b->cancel_from = CSC_NO_PARENT;
}

/* What is left, in the record of the cancellation. */
static void
write_left(struct csc_builder *b)
{
    csc_record record = csc_full_output_none;

    csc_assert(b->cancel != NULL);
    record.from = b->cancel_from;
    b->cancel->full_output =
        b->cancel_from != CSC_NO_PARENT ? csc_builder_record(b, &record) : NULL;
}

void
csc_command_add_slice(struct csc_builder *b)
{
    const csc_exec *exec = csc_view_find(b->state, b->state->cancel);

    csc_assert(b->state->cancel != CSC_NO_PARENT || b->cancel != NULL ||
               b->cancel_from == CSC_NO_PARENT);
    if (b->cancel_from == CSC_NO_PARENT || b->cancel != NULL ||
        csc_builder_status(b) != CASCADE_RUNNING)
        return;
    cut_slice(b);
    if (b->env->arena->failed)
        return;
    b->cancel = csc_builder_update(b, exec, CASCADE_EXECUTION_RUNNING);
    write_left(b);
}

static void
cancel(struct csc_builder *b, const csc_message *message)
{
    bool over = csc_builder_status(b) != CASCADE_RUNNING;
    bool again = csc_builder_is_cancelled(b);
    cascade_execution_row *row = NULL;

    csc_assert(strcmp(message->kind, CSC_MESSAGE_CANCEL) == 0);
    if (!csc_builder_has_ids(b, 1, !over && !again)) {
        if (!again)
            csc_last_ids_end_other(
                b, write_error(b, "cancelled", message->payload));
        return;
    }
    row = csc_builder_receipt(b, message, CSC_CANCEL_NAME);
    if (over)
        csc_builder_undelivered(b, row, CSC_UNDELIVERED);
    if (over || again)
        return;
    row->status = CASCADE_EXECUTION_RUNNING;
    row->completed_at_ms = CASCADE_TIME_NONE;
    b->running++;
    b->cancel = row;
    b->cancel_from = b->state->exec_count > 0 ? b->state->execs[0].function_id
                                              : CSC_NO_PARENT;
    cut_slice(b);
    write_left(b);
}

void
csc_command_close_cancel(struct csc_builder *b, const char *error)
{
    const csc_exec *exec = csc_view_find(b->state, b->state->cancel);
    cascade_execution_row *row = b->cancel;

    csc_assert(csc_builder_is_cancelled(b));
    if (row == NULL) {
        row = csc_builder_update(b, exec, CASCADE_EXECUTION_FAILED);
    } else {
        row->status = CASCADE_EXECUTION_FAILED;
        row->completed_at_ms = b->env->now_ms;
        if (exec == NULL) /* it is inserted, else updated, by this change */
            b->running--;
        else
            b->ended++;
    }
    row->error =
        error != NULL ? error : write_error(b, "cancelled", row->input);
    row->full_output = csc_builder_at(b, false);
    csc_builder_note_terminated(b, row);
}

void
csc_command_end_cancel(struct csc_builder *b)
{
    csc_assert(b->plan != NULL || b->state->running + b->running >= b->ended);
    if (csc_builder_is_cancelled(b) && !b->terminated && b->plan == NULL &&
        b->state->terminated == CSC_NOT_TERMINATED &&
        b->state->running - b->ended + b->running == 1)
        csc_command_close_cancel(b, NULL);
}

/* ---- Pausing ------------------------------------------------------------ */

static void
mark(struct csc_builder *b, const csc_message *message, const char *name)
{
    bool over = csc_builder_status(b) != CASCADE_RUNNING;
    cascade_execution_row *row = csc_builder_receipt(b, message, name);

    if (over)
        csc_builder_undelivered(b, row, CSC_UNDELIVERED);
}

/* ---- Which -------------------------------------------------------------- */

bool
csc_command_add(struct csc_builder *b, const csc_message *message)
{
    if (strcmp(message->kind, CSC_MESSAGE_CANCEL) == 0)
        cancel(b, message);
    else if (strcmp(message->kind, CSC_MESSAGE_TERMINATE) == 0)
        terminate(b, message, "terminated");
    else if (strcmp(message->kind, CSC_MESSAGE_POISON) == 0)
        terminate(b, message, "poisoned");
    else if (strcmp(message->kind, CSC_MESSAGE_PAUSE) == 0)
        mark(b, message, CSC_PAUSE_NAME);
    else if (strcmp(message->kind, CSC_MESSAGE_RESUME) == 0)
        mark(b, message, CSC_RESUME_NAME);
    else
        return false;
    return true;
}
