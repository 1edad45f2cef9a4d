/* SPDX-License-Identifier: MIT
 *
 * A retry and a rerun become rows, as the plan says (reset_plan.h).
 *
 *   the receipt          COMPLETED, {"at":n,"from":k,"supersedes":[ids]}
 *   what runs AFRESH     an execution of the receipt for each, RUNNING, with
 *                        the same name and input: {"resumes":id}. What it comes
 *                        after is made afresh with it, or stands
 *   signals from k on    received once more, under the receipt, in their order:
 *                        {"at":n,"resumes":id}; also the requests of updates,
 *                        whose callers were answered before, and are told that
 *                        answer. Not where what one was received for anew
 *                        counts again, since this command makes the one that
 *                        did so void
 *   RUNNING rows that    FAILED, so that no row is RUNNING that will never end
 *   are superseded
 *   children of those    a message "terminate"; that they were to end with the
 *                        cascade, if it had ended: not all may have been told
 *                        (family_end.c)
 *   a cascade that had   its run row goes on, with the queue and the priority
 *   ended                of its start
 *
 * So it is in one commit; what is too much for one is in several, which make
 * the same rows: reset_slice.c.
 *
 * The change has nothing else in it: the message stands alone (receive.c), and
 * what was posted before was committed or dropped. Functions that ran when the
 * command came have returned by then.
 *
 * If the process dies before the commit the message is there, and nothing else;
 * after it the cascade goes on wherever it is loaded. A parent that was told of
 * the end has recorded it: what comes of a second message of that child is
 * nothing (child.c).
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/reset_plan.h"
#include "state/state.h"
#include "state/supersede.h"

/* ---- The receipt -------------------------------------------------------- */

/* {"at":n,"from":k,"supersedes":[ids]}, ids below k. */
const char *
csc_reset_write_receipt(struct csc_builder *b, const csc_plan *plan,
                        int32_t receipt)
{
    csc_record record = csc_full_output_none;
    size_t count = 0;
    int32_t *ids = csc_arena_alloc(b->env->arena, plan->count, sizeof(*ids));

    csc_assert(receipt > 0 && plan->refusal == CSC_REFUSAL_NONE);
    for (size_t i = 0; i < plan->count && ids != NULL; i++) {
        const csc_plan_item *item = &plan->items[i];

        if (item->fate != CSC_FATE_SUPERSEDE && item->fate != CSC_FATE_AFRESH)
            continue;
        if (plan->from == CSC_COURSE_NONE || item->function_id < plan->from)
            ids[count++] = item->function_id;
    }
    record.at = receipt - 1;
    record.from = plan->from;
    record.supersedes = csc_builder_ids(b, ids, count);
    return csc_builder_record(b, &record);
}

const char *
csc_reset_name(const csc_plan *plan)
{
    return plan->from == CSC_COURSE_NONE ? CSC_RETRY_NAME : CSC_RERUN_NAME;
}

const char *
csc_reset_refusal_text(struct csc_builder *b, csc_refusal refusal)
{
    char next[CASCADE_UUID_TEXT_SIZE];
    const char *text = csc_reset_plan_refusal_text(refusal);

    csc_assert(refusal != CSC_REFUSAL_NONE);
    if (refusal != CSC_REFUSAL_CONTINUED)
        return text;
    return csc_arena_join(b->env->arena, text,
                          cascade_uuid_format(&b->state->continued_as, next));
}

/* ---- Heirs -------------------------------------------------------------- */

/* What a join comes after: heirs where there are some. They have no lower ids
 * than what was there, so the list is to be sorted anew. */
static const int32_t *
map_after(struct csc_builder *b, const csc_plan *plan,
          const csc_plan_item *item)
{
    int32_t *after =
        csc_arena_alloc(b->env->arena, item->after_count, sizeof(*after));

    for (size_t i = 0; i < item->after_count && after != NULL; i++) {
        int32_t id = csc_supersede_heir_of(&plan->course, item->after[i]);
        const csc_plan_item *other = csc_reset_plan_find(plan, id);
        size_t at = i;

        if (other != NULL && other->fate == CSC_FATE_AFRESH)
            id = other->heir;
        for (; at > 0 && after[at - 1] > id; at--)
            after[at] = after[at - 1];
        after[at] = id;
    }
    return after;
}

const char *
csc_reset_afresh(struct csc_builder *b, const csc_plan *plan,
                 const csc_plan_item *item, int32_t resumes, const char *meta)
{
    csc_record record = csc_full_output_none;
    const int32_t *after = map_after(b, plan, item);

    csc_assert(item->fate == CSC_FATE_AFRESH);
    if (after != NULL)
        record.after = csc_builder_ids(b, after, item->after_count);
    record.first = item->first_count;
    record.on_failure = item->on_failure;
    record.meta = csc_json_read_whole(meta);
    record.resumes = resumes;
    record.priority = item->priority;
    record.instead_of = item->instead_of;
    if (item->attempts == 0)
        record.not_before_ms = item->not_before_ms;
    return csc_builder_record(b, &record);
}

void
csc_reset_add_heir(struct csc_builder *b, const csc_plan *plan,
                   const csc_plan_item *item, int32_t receipt)
{
    cascade_execution_row *row =
        csc_builder_part(b, item->name, receipt, item->nth);

    csc_assert(item->fate == CSC_FATE_AFRESH);
    csc_assert(row->function_id == item->heir);
    row->input = item->input;
    row->location = item->location;
    row->full_output = csc_reset_afresh(b, plan, item, item->function_id, NULL);
    b->running++;
}

/* Ids are given out first: a join names others. */
static void
add_heirs(struct csc_builder *b, csc_plan *plan, int32_t receipt)
{
    csc_assert(plan->refusal == CSC_REFUSAL_NONE);
    csc_reset_plan_number(plan, receipt);
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].fate == CSC_FATE_AFRESH)
            csc_reset_add_heir(b, plan, &plan->items[i], receipt);
}

void
csc_reset_add_signal(struct csc_builder *b, const csc_plan_item *item,
                     int32_t receipt, uint32_t nth)
{
    cascade_execution_row *row = csc_builder_part(b, item->name, receipt, nth);
    csc_record record = csc_full_output_none;

    csc_assert(item->again && item->is_signal);
    record.at = receipt - 1;
    record.resumes = item->function_id;
    row->input = item->input;
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->completed_at_ms = b->env->now_ms;
    row->full_output = csc_builder_record(b, &record);
}

static void
add_signals(struct csc_builder *b, const csc_plan *plan, int32_t receipt)
{
    uint32_t nth = 0;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].again)
            csc_reset_add_signal(b, &plan->items[i], receipt, nth++);
}

/* ---- What is closed ----------------------------------------------------- */

static const char *
write_closed(struct csc_builder *b, const csc_exec *exec, int32_t receipt)
{
    csc_record record = csc_builder_record_of(b, exec);

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    record.at = receipt;
    if (exec->part == CSC_PART_CHILD) {
        record.child = exec->child;
        record.when_parent_ends = exec->when_parent_ends;
    }
    record.continued = true;
    record.priority = exec->priority;
    if (exec->join == NULL)
        record.not_before_ms = exec->not_before_ms;
    return csc_builder_record(b, &record);
}

static void
terminate_child(struct csc_builder *b, const csc_exec *child)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_message_row message = {
        .cascade_id = child->child,
        .kind = CSC_MESSAGE_TERMINATE,
        .name = "",
        .path = csc_arena_format(b->env->arena, "%s/message/parent/superseded",
                                 cascade_uuid_format(&child->child, id)),
        .payload = "{\"reason\":\"its parent begins anew\"}",
        .sent_at_ms = b->env->now_ms};

    csc_assert(child->part == CSC_PART_CHILD);
    csc_builder_send(b, &message);
}

/* Whether the child would do what its parent's heir does again. */
static bool
is_repeated(const csc_plan *plan, const csc_plan_item *child)
{
    const csc_plan_item *node =
        child != NULL
            ? csc_reset_plan_find(
                  plan, csc_supersede_heir_of(&plan->course, child->parent))
            : NULL;

    return node == NULL || node->fate != CSC_FATE_KEEP;
}

void
csc_reset_close(struct csc_builder *b, const csc_plan *plan,
                const csc_exec *exec, int32_t receipt)
{
    const csc_plan_item *item = csc_reset_plan_find(plan, exec->function_id);
    cascade_execution_row *row = NULL;

    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    if (item != NULL && item->fate == CSC_FATE_KEEP)
        return;
    row = csc_builder_update(b, exec, CASCADE_EXECUTION_FAILED);
    row->error = csc_arena_format(b->env->arena, "superseded by %s (%d)",
                                  csc_reset_name(plan), (int)receipt);
    row->full_output = write_closed(b, exec, receipt);
    if (exec->part != CSC_PART_CHILD)
        return;
    b->children_gone++;
    if (plan->ended)
        csc_builder_ask_child(b, &exec->child, exec->when_parent_ends, true);
    if (is_repeated(plan, item) &&
        exec->when_parent_ends != CASCADE_CHILD_ABANDON)
        terminate_child(b, exec);
}

static void
close_running(struct csc_builder *b, const csc_plan *plan, int32_t receipt)
{
    csc_builder_more_updates(b, b->state->running);
    for (size_t i = 0; i < b->state->exec_count && !b->env->arena->failed;
         i++) {
        const csc_exec *exec = b->state->execs[i].exec;

        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING)
            csc_reset_close(b, plan, exec, receipt);
    }
}

/* ---- The command -------------------------------------------------------- */

bool
csc_reset_is(const csc_message *message)
{
    return strcmp(message->kind, CSC_MESSAGE_RETRY) == 0 ||
           strcmp(message->kind, CSC_MESSAGE_RERUN) == 0;
}

int32_t
csc_reset_from(const csc_message *message)
{
    csc_json_span span;
    int64_t from = 0;

    if (strcmp(message->kind, CSC_MESSAGE_RETRY) == 0)
        return CSC_COURSE_NONE;
    if (!csc_json_read_member(message->payload, "from", &span) ||
        !csc_json_read_i64(span, &from) || from < 0 || from > INT32_MAX)
        return INT32_MAX; /* there is no such function_id */
    return (int32_t)from;
}

/* Without a plan it is one that the state alone refuses. */
static csc_refusal
refuse(const struct csc_builder *b, const csc_message *message)
{
    csc_refusal refusal = CSC_REFUSAL_NONE;

    csc_assert(csc_reset_is(message));
    if (b->env->unread)
        return CSC_REFUSAL_UNREAD;
    if (b->env->plan != NULL)
        return b->env->plan->refusal;
    refusal = csc_reset_plan_refuse(b->state, csc_reset_from(message));
    return refusal != CSC_REFUSAL_NONE ? refusal : CSC_REFUSAL_ABSENT;
}

bool
csc_reset_add(struct csc_builder *b, const csc_message *message)
{
    csc_refusal refusal = CSC_REFUSAL_NONE;
    cascade_execution_row *row = NULL;

    if (!csc_reset_is(message))
        return false;
    row = csc_builder_receipt(b, message,
                              strcmp(message->kind, CSC_MESSAGE_RETRY) == 0
                                  ? CSC_RETRY_NAME
                                  : CSC_RERUN_NAME);
    refusal = refuse(b, message);
    if (refusal != CSC_REFUSAL_NONE ||
        !csc_builder_has_ids(b, csc_reset_plan_rows(b->env->plan), false)) {
        csc_builder_undelivered(b, row,
                                refusal != CSC_REFUSAL_NONE
                                    ? csc_reset_refusal_text(b, refusal)
                                    : "undelivered: " CSC_USED_UP);
        return true;
    }
    b->plan = b->env->plan;
    row->full_output = csc_reset_write_receipt(b, b->plan, row->function_id);
    add_heirs(b, b->env->plan, row->function_id);
    add_signals(b, b->plan, row->function_id);
    close_running(b, b->plan, row->function_id);
    return true;
}
