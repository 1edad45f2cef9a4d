/* SPDX-License-Identifier: MIT
 *
 * Children become rows.
 *
 *   parent                                      child
 *     part, RUNNING, {"child":ID} -- START --->   born in the same commit
 *        |                                        |
 *        |  <--- message "child", its result ---  END: sent in its last commit
 *        v
 *     part COMPLETED with the result, or FAILED with the error
 *
 *   the parent ends, or is cancelled -- message "cancel" or "terminate" -->
 *
 * Both sides write and tell in one commit, so each end is told once. A message
 * for a parent, or a child, that is no more is of no use, and is dropped by the
 * store.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "change/build/build.h"
#include "change/build/start.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/result.h"
#include "state/state.h"

#define GOES_ON "cancelled: the child goes on by itself"

/* ---- Starting ----------------------------------------------------------- */

/* {"child":ID,"policy":"cancel"} */
static const char *
write_part(struct csc_builder *b, const cascade_uuid *child,
           cascade_child_end policy)
{
    csc_record record = csc_full_output_none;

    record.child = *child;
    record.when_parent_ends = policy;
    return csc_builder_record(b, &record);
}

static size_t
count_children(const csc_post *posts)
{
    size_t count = 0;

    for (; posts != NULL; posts = posts->next)
        count += posts->children.count;
    return count;
}

/* One that begins though the cascade is cancelled. */
static void
cancel_birth(struct csc_builder *b, const csc_family *family,
             const csc_child *child, cascade_execution_row *row)
{
    csc_assert(row->status == CASCADE_EXECUTION_RUNNING && b->children > 0);
    csc_builder_ask_child(b, &child->id, family->when_parent_ends, false);
    if (family->when_parent_ends != CASCADE_CHILD_ABANDON)
        return;
    csc_builder_stillborn(b, row);
    row->error = GOES_ON;
    row->full_output = csc_builder_child_ended(
        b, &child->id, family->when_parent_ends, NULL, true);
    b->running--;
    b->children--;
}

void
csc_child_add_starts(struct csc_builder *b, const csc_post *post,
                     const csc_exec *parent)
{
    const csc_family *family = &post->children;

    csc_assert(post->kind == CSC_POST_CHILDREN);
    for (const csc_child *c = family->first; c != NULL; c = c->next) {
        cascade_execution_row *row = csc_builder_part(
            b, post->part_name, parent->function_id, c->occurrence);

        row->input = c->input;
        row->full_output = write_part(b, &c->id, family->when_parent_ends);
        b->running++;
        b->children++;
        if (csc_builder_is_cancelled(b))
            cancel_birth(b, family, c, row);
    }
}

size_t
csc_child_birth_count(const csc_state *state, const csc_post *posts)
{
    return count_children(posts) + (csc_next_run_add(state, posts) != NULL);
}

cascade_err
csc_child_births(const csc_build_env *env, const csc_state *state,
                 const csc_post *posts, const cascade_change *own,
                 cascade_change *changes)
{
    const csc_post *next = csc_next_run_add(state, posts);
    cascade_err err = CASCADE_OK;

    for (const csc_post *p = posts; p != NULL; p = p->next) {
        const csc_family *family = &p->children;
        const char *queue = family->queue;
        const char *limit_key = NULL;

        if (queue == NULL && family->count > 0)
            queue = csc_builder_queue(env, state);
        if (family->count > 0)
            limit_key = csc_builder_meta_text(env, state, "limit_key");
        for (const csc_child *c = family->first; c != NULL && err == CASCADE_OK;
             c = c->next) {
            const csc_build_first first = {c->node, c->input};
            const csc_build_start start = {.id = c->id,
                                           .user_id = state->user_id,
                                           .queue = queue,
                                           .limit_key = limit_key,
                                           .priority = family->priority != 0
                                                           ? family->priority
                                                           : state->priority,
                                           .depth = family->depth,
                                           .parent = &state->id,
                                           .delay_ms = family->delay_ms,
                                           .deadline_ms = family->deadline_ms,
                                           .first = &first,
                                           .first_count = 1};

            err = csc_start_add_rows(env, &start, changes++);
        }
    }
    if (next != NULL && err == CASCADE_OK)
        err = csc_next_run_of(env, state, &next->next_run, own, changes);
    return err;
}

/* ---- A child has ended -------------------------------------------------- */

static const csc_exec *
find_child(const struct csc_builder *b, const cascade_uuid *id)
{
    const csc_exec *exec = csc_index_child(b->state, id, CSC_STATE_FIRST);

    while (exec != NULL && (exec->status != CASCADE_EXECUTION_RUNNING ||
                            csc_view_has(&b->ended_early, exec->function_id)))
        exec = csc_index_child(b->state, id, exec->function_id);
    return exec;
}

static const char *
keep_span(struct csc_builder *b, csc_json_span span)
{
    return csc_arena_strndup(b->env->arena, span.data, span.len);
}

static const char *
keep_error(struct csc_builder *b, csc_json_span span)
{
    char *text = NULL;
    const char *copy = "the child failed";

    if (!csc_json_read_text(span, &text))
        return copy;
    if (text != NULL)
        copy = csc_arena_strdup(b->env->arena, text);
    else
        b->env->arena->failed = true;
    csc_mem_free(text);
    return copy;
}

static void
end_child(struct csc_builder *b, const csc_exec *child, const char *payload)
{
    csc_json_span span;
    bool failed = csc_json_read_member(payload, "error", &span);
    const char *error = failed ? keep_error(b, span) : NULL;
    const char *result = NULL;
    cascade_execution_row *row = csc_builder_update(
        b, child,
        failed ? CASCADE_EXECUTION_FAILED : CASCADE_EXECUTION_COMPLETED);

    csc_assert(child->part == CSC_PART_CHILD &&
               child->status == CASCADE_EXECUTION_RUNNING);
    if (csc_json_read_member(payload, "result", &span))
        result = keep_span(b, span);
    row->error = error;
    row->full_output = csc_builder_child_ended(
        b, &child->child, child->when_parent_ends, result, failed);
    csc_builder_note_ended(b, child);
    b->children_gone++;
}

/* One whose part has ended, with its parent or else, is told of for nothing. */
bool
csc_child_add_end(struct csc_builder *b, const csc_message *message)
{
    const csc_exec *child = NULL;
    csc_json_span span;
    cascade_uuid id;

    if (strcmp(message->kind, CSC_MESSAGE_CHILD) != 0)
        return false;
    if (csc_builder_status(b) == CASCADE_RUNNING &&
        csc_json_read_member(message->payload, "id", &span) &&
        csc_full_output_uuid(span, &id))
        child = find_child(b, &id);
    if (child != NULL)
        end_child(b, child, message->payload);
    return true;
}

/* ---- The parent is cancelled --------------------------------------------- */

/* It goes on until the child has ended; one to be abandoned ends here. */
void
csc_child_add_cancel(struct csc_builder *b, const csc_exec *child)
{
    cascade_execution_row *row = NULL;

    csc_assert(child->part == CSC_PART_CHILD &&
               child->status == CASCADE_EXECUTION_RUNNING);
    if (child->when_parent_ends != CASCADE_CHILD_ABANDON) {
        csc_builder_ask_child(b, &child->child, child->when_parent_ends, false);
        return;
    }
    row = csc_builder_update(b, child, CASCADE_EXECUTION_FAILED);
    row->error = GOES_ON;
    row->full_output = csc_builder_child_ended(
        b, &child->child, child->when_parent_ends, NULL, true);
    csc_builder_note_ended(b, child);
    b->children_gone++;
}

void
csc_child_note_result(struct csc_builder *b, const csc_exec *exec,
                      const csc_effects *effects)
{
    csc_result_rank rank =
        b->result_rank.any ? b->result_rank : b->state->result_rank;

    csc_assert((b->result == NULL) == !b->result_rank.any);
    if (effects->output == NULL || csc_uuid_is_nil(&b->state->parent) ||
        exec->part != CSC_PART_NONE ||
        !csc_result_take(&rank, effects->is_result, exec->function_id))
        return;
    b->result = effects->output;
    b->result_rank = rank;
}
