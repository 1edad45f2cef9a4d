/* SPDX-License-Identifier: MIT
 *
 * A retry or a rerun of a large cascade, in slices. What one commit writes of
 * it is bounded in bytes, each row counting for some (env->slice_bytes). One
 * whose rows fit into a slice of the largest size, all of them, stays one
 * commit (reset.c), unless that was too slow; so does one that runs nothing
 * again.
 *
 *   received       the receipt, RUNNING, {"from":k}, and the first heirs;
 *      |           the message stays
 *      v           the engine posts a SLICE, as often as something is left:
 *   PREPARING      apply.c
 *      |           the next heirs, then the next signals that come again,
 *      |           {"resumes":id}, all under the receipt: what reset.c would
 *      |           insert, in the same order, so with the same function_ids
 *      v
 *   IN FORCE       the receipt becomes COMPLETED, as reset.c writes it; the run
 *      |           goes on with it (RESET, REVIVE)
 *      v
 *   CLOSING        the next of what is superseded and RUNNING: FAILED, and its
 *      |           children are told
 *      v
 *   done           the message goes. The rows are those of one commit
 *
 * TO OTHERS it is one moment, that commit IN FORCE. Before it the receipt and
 * what stands under it count for nobody who reads (supersede.h), and nothing
 * else is written: the cascade is what it was, ended or RUNNING. Behind it all
 * of what is superseded is so, RUNNING or not. Meanwhile nothing of the cascade
 * begins and nothing is received: what comes in between (a cancellation, a
 * second retry, a deletion) waits in its messages, and comes behind.
 *
 * IF THE PROCESS DIES behind any of them, the message is still there. So the
 * cascade is claimed for it where it has ended, and never ended unread: it is
 * loaded whole (end_unloaded.c). Who has loaded it goes on with that before all
 * else (receive.c):
 *
 *   a receipt that is    it is loaded once more as of that receipt: with the
 *   RUNNING, and has     rows before it and no others. These are as they were
 *   nothing behind       then, so the plan is the same, and the number of rows
 *   its rows             under the receipt tells where it goes on
 *   one that is          the same. The plan is what the receipt says, and what
 *   COMPLETED, and the   is left are the superseded rows that are RUNNING
 *   message is there
 *
 * A slice whose answer was lost is there or not, as every commit is: the rows
 * tell. Children that were told before are told by the same path, once.
 *
 * GIVEN UP it becomes FAILED, undelivered, and what stands under it counts for
 * nobody ever: where no slice can be made in time, though it has few rows, or
 * the store refuses one. An engine that cannot load the cascade and live
 * (CSC_EXTENT_UNREAD) drops the message, and ends the cascade if it is RUNNING:
 * then the receipt stays RUNNING with something behind it, which is no more
 * gone on with. A later retry makes all anew.
 *
 * The one row that cannot be cut is the receipt, as it names what it
 * supersedes.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/reset_plan.h"
#include "state/state.h"

/* ---- Which -------------------------------------------------------------- */

bool
csc_reset_is_divisible(const csc_plan *plan, size_t bytes)
{
    size_t rows =
        plan != NULL ? csc_reset_plan_rows(plan) + plan->close_count : 0;

    return plan != NULL && plan->refusal == CSC_REFUSAL_NONE &&
           plan->afresh_count > 0 && rows * CSC_ROW_BYTES + plan->bytes > bytes;
}

/* Whether it is carried out in slices. */
static bool
is_cut(const csc_build_env *env)
{
    size_t whole =
        env->whole_bytes > 0 ? env->whole_bytes : (size_t)CSC_SLICE_BYTES;

    if (env->plan == NULL)
        return false;
    return env->plan->at.receipt != CSC_COURSE_NONE || env->plan->cut ||
           csc_reset_is_divisible(env->plan, whole);
}

/* The most rows of each kind that fit into a slice. */
static size_t
rows_max(size_t slice_bytes)
{
    csc_assert(slice_bytes > 0);
    return 2 + slice_bytes / CSC_ROW_BYTES;
}

size_t
csc_reset_room(const csc_build_env *env)
{
    size_t slice =
        env->slice_bytes > 0 ? env->slice_bytes : (size_t)CSC_SLICE_BYTES;
    size_t rows = csc_reset_plan_rows(env->plan);

    return is_cut(env) && rows > rows_max(slice) ? rows_max(slice) : rows;
}

/* ---- One slice ---------------------------------------------------------- */

static size_t
written(const struct csc_builder *b, size_t inserts)
{
    size_t bytes = 0;

    csc_assert(inserts <= b->insert_count);
    for (size_t i = inserts; i < b->insert_count && !b->env->arena->failed; i++)
        bytes += CSC_ROW_BYTES + strlen(b->inserts[i].input) +
                 strlen(b->inserts[i].full_output);
    return bytes;
}

/* Heirs, then signals, until there are so many bytes. How many there are. */
static size_t
prepare(struct csc_builder *b, const csc_plan *plan, csc_plan_place *at,
        size_t room)
{
    size_t bytes = 0;

    csc_assert(at->receipt != CSC_COURSE_NONE && !at->in_force);
    for (; at->heir < plan->count && bytes < room && !b->env->arena->failed;
         at->heir++) {
        size_t before = b->insert_count;

        if (plan->items[at->heir].fate == CSC_FATE_AFRESH)
            csc_reset_add_heir(b, plan, &plan->items[at->heir], at->receipt);
        bytes += written(b, before);
    }
    for (; at->heir == plan->count && at->signal < plan->count &&
           bytes < room && !b->env->arena->failed;
         at->signal++) {
        size_t before = b->insert_count;

        if (plan->items[at->signal].again)
            csc_reset_add_signal(b, &plan->items[at->signal], at->receipt,
                                 at->nth++);
        bytes += written(b, before);
    }
    return bytes;
}

/* The row of the receipt, as this change leaves it. */
static cascade_execution_row *
update_receipt(struct csc_builder *b, const csc_plan *plan,
               cascade_execution_status status)
{
    const csc_exec exec = {.function_id = plan->at.receipt};
    cascade_execution_row *row = csc_builder_update(b, &exec, status);

    csc_assert(plan->at.receipt != CSC_COURSE_NONE);
    row->node_name = csc_reset_name(plan);
    row->input = plan->input;
    return row;
}

static size_t
put_in_force(struct csc_builder *b, const csc_plan *plan, csc_plan_place *at)
{
    cascade_execution_row *row =
        update_receipt(b, plan, CASCADE_EXECUTION_COMPLETED);

    csc_assert(!at->in_force && at->signal == plan->count);
    row->full_output = csc_reset_write_receipt(b, plan, at->receipt);
    at->in_force = true;
    b->plan = plan;
    b->told = CASCADE_RUNNING;
    return row->full_output != NULL ? strlen(row->full_output) : 0;
}

static size_t
close_counted(struct csc_builder *b, const csc_plan *plan, const csc_exec *exec,
              int32_t receipt)
{
    size_t updates = b->update_count;
    size_t sends = b->send_count;
    size_t bytes = 0;

    csc_reset_close(b, plan, exec, receipt);
    if (b->env->arena->failed)
        return 0;
    bytes = (b->update_count + b->send_count - updates - sends) * CSC_ROW_BYTES;
    if (b->update_count > updates)
        bytes += strlen(b->updates[updates].full_output);
    return bytes;
}

/* What is superseded and RUNNING. The state stays as it was before. */
static void
close_some(struct csc_builder *b, const csc_plan *plan, csc_plan_place *at,
           size_t room)
{
    const csc_state *state = b->state;
    size_t bytes = 0;

    csc_assert(at->in_force && !at->done);
    csc_builder_more_updates(b, rows_max(room));
    for (; at->exec < state->exec_count && bytes < room; at->exec++) {
        const csc_exec *exec = state->execs[at->exec].exec;

        if (b->env->arena->failed)
            return;
        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING)
            bytes += close_counted(b, plan, exec, at->receipt);
    }
    at->done = at->exec == state->exec_count;
}

static void
give_up(struct csc_builder *b, const csc_plan *plan, csc_plan_place *at)
{
    cascade_execution_row *row =
        update_receipt(b, plan, CASCADE_EXECUTION_FAILED);

    csc_assert(plan->refusal != CSC_REFUSAL_NONE);
    csc_builder_undelivered(b, row, csc_reset_refusal_text(b, plan->refusal));
    at->done = true;
}

static void
add_rows(struct csc_builder *b, const csc_plan *plan, csc_plan_place *at)
{
    size_t room = csc_builder_slice_room(b);
    size_t bytes = 0;

    csc_assert(b->slices == plan);
    if (!at->in_force)
        bytes = prepare(b, plan, at, room);
    if (!at->in_force && at->signal == plan->count && bytes < room &&
        plan->at.receipt != CSC_COURSE_NONE)
        bytes += put_in_force(b, plan, at);
    if (at->in_force && bytes < room)
        close_some(b, plan, at, room - bytes);
}

/* ---- The slices --------------------------------------------------------- */

bool
csc_reset_begin(struct csc_builder *b, const csc_message *message)
{
    csc_plan *plan = b->env->plan;
    csc_record record = csc_full_output_none;
    cascade_execution_row *row = NULL;

    if (message->repeated || !csc_reset_is(message) || !is_cut(b->env) ||
        !csc_builder_has_ids(b, 1 + csc_reset_plan_rows(plan), false))
        return false;
    row = csc_builder_receipt(b, message, csc_reset_name(plan));
    record.from = plan->from;
    row->full_output = csc_builder_record(b, &record);
    row->status = CASCADE_EXECUTION_RUNNING;
    row->completed_at_ms = CASCADE_TIME_NONE;
    plan->input = csc_arena_strdup(&plan->arena, message->payload);
    if (plan->input == NULL) {
        b->env->arena->failed = true;
        return true;
    }
    plan->message = message->id;
    plan->next = (csc_plan_place){.receipt = row->function_id};
    csc_reset_plan_number(plan, row->function_id);
    b->slices = plan;
    b->told = b->state->recorded;
    add_rows(b, plan, &plan->next);
    return true;
}

void
csc_reset_go_on(struct csc_builder *b)
{
    csc_plan *plan = b->env->plan;

    csc_assert(plan->at.receipt != CSC_COURSE_NONE && !plan->at.done);
    plan->next = plan->at;
    b->slices = plan;
    b->told = b->state->recorded;
    if (plan->refusal == CSC_REFUSAL_NONE)
        add_rows(b, plan, &plan->next);
    else
        give_up(b, plan, &plan->next);
    if (plan->next.done && plan->message != 0)
        b->received[b->received_count++] = plan->message;
}
