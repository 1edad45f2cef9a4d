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
#include "engine/build_internal.h"

#include <string.h>

#include "base/check.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/uuid.h"

#define SENDS_FIRST 4
#define GOES_ON "cancelled: the child goes on by itself"

/* ---- Starting ----------------------------------------------------------- */

/* {"child":ID,"policy":"cancel"} */
static const char *
write_part(struct csc_builder *b, const cascade_uuid *child,
           cascade_child_end policy)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    csc_record_writer writer;

    csc_record_begin(&writer, &b->text);
    csc_record_add_text(&writer, "child", cascade_uuid_format(child, id));
    csc_record_add_text(&writer, "policy", csc_record_policy(policy));
    csc_record_end(&writer);
    return csc_build_text(b);
}

/* The record of a child that has ended; `result` may be NULL. */
static const char *
write_ended(struct csc_builder *b, const cascade_uuid *child,
            cascade_child_end policy, const char *result, bool failed)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    csc_record_writer writer;

    csc_record_begin(&writer, &b->text);
    csc_record_add_number(&writer, "at", b->state->fn_id);
    csc_record_add_text(&writer, "child", cascade_uuid_format(child, id));
    csc_record_add_json(&writer, "output", result);
    csc_record_add_text(&writer, "policy", csc_record_policy(policy));
    if (failed)
        csc_record_add_json(&writer, "continue", "true");
    csc_record_end(&writer);
    return csc_build_text(b);
}

static size_t
count_children(const csc_post *posts)
{
    size_t count = 0;

    for (; posts != NULL; posts = posts->next)
        count += posts->children.count;
    return count;
}

/* Twice the room. What there was before is the arena's. */
static void
grow_sends(struct csc_builder *b)
{
    size_t room = b->send_room > 0 ? 2 * b->send_room : SENDS_FIRST;
    cascade_message_row *sends =
        csc_arena_alloc(b->env->arena, room, sizeof(*sends));

    if (sends == NULL)
        return; /* the arena has failed */
    if (b->send_count > 0)
        memcpy(sends, b->sends, b->send_count * sizeof(*sends));
    b->sends = sends;
    b->send_room = room;
}

void
csc_build_send(struct csc_builder *b, const cascade_message_row *message)
{
    if (b->send_count == b->send_room)
        grow_sends(b);
    if (b->send_count < b->send_room)
        b->sends[b->send_count++] = *message;
}

/* A parent asks once when it is cancelled, and once when it ends. */
static void
ask_child(struct csc_builder *b, const cascade_uuid *child,
          cascade_child_end policy, bool ended)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    bool terminates = ended && policy == CASCADE_CHILD_TERMINATE;
    cascade_message_row message = {
        .cascade_id = *child,
        .kind = terminates ? CSC_MESSAGE_TERMINATE : CSC_MESSAGE_CANCEL,
        .name = "",
        .payload = ended ? "{\"reason\":\"its parent has ended\"}"
                         : "{\"reason\":\"its parent is cancelled\"}",
        .sent_at_ms = b->env->now_ms};

    if (policy == CASCADE_CHILD_ABANDON)
        return;
    message.path = csc_arena_format(b->env->arena, "%s/message/parent/%s",
                                    cascade_uuid_format(child, id),
                                    ended ? "ended" : "cancelled");
    csc_build_send(b, &message);
}

/* One that begins though the cascade is cancelled. */
static void
cancel_birth(struct csc_builder *b, const csc_family *family,
             const csc_child *child, cascade_execution_row *row)
{
    ask_child(b, &child->id, family->when_parent_ends, false);
    if (family->when_parent_ends != CASCADE_CHILD_ABANDON)
        return;
    csc_build_stillborn(b, row);
    row->error = GOES_ON;
    row->full_output =
        write_ended(b, &child->id, family->when_parent_ends, NULL, true);
    b->running--;
    b->children--;
}

void
csc_build_children(struct csc_builder *b, const csc_post *post,
                   const csc_exec *parent)
{
    const csc_family *family = &post->children;

    for (const csc_child *c = family->first; c != NULL; c = c->next) {
        cascade_execution_row *row = csc_build_part(
            b, post->part_name, parent->function_id, c->occurrence);

        row->input = c->input;
        row->full_output = write_part(b, &c->id, family->when_parent_ends);
        b->running++;
        b->children++;
        if (csc_build_is_cancelled(b))
            cancel_birth(b, family, c, row);
    }
}

size_t
csc_build_birth_count(const csc_state *state, const csc_post *posts)
{
    return count_children(posts) + (csc_build_next(state, posts) != NULL);
}

const char *
csc_build_queue(const csc_build_env *env, const csc_state *state)
{
    const char *queue = "default";
    csc_json_span span;
    char *text = NULL;

    if (state->meta == NULL || !csc_json_member(state->meta, "queue", &span) ||
        !csc_json_span_text(span, &text))
        return queue;
    if (text != NULL)
        queue = csc_arena_strdup(env->arena, text);
    else
        env->arena->failed = true;
    csc_mem_free(text);
    return queue;
}

cascade_err
csc_build_births(const csc_build_env *env, const csc_state *state,
                 const csc_post *posts, const cascade_change *own,
                 cascade_change *changes)
{
    const csc_post *next = csc_build_next(state, posts);
    cascade_err err = CASCADE_OK;

    for (const csc_post *p = posts; p != NULL; p = p->next) {
        const csc_family *family = &p->children;
        const char *queue = family->queue;

        if (queue == NULL && family->count > 0)
            queue = csc_build_queue(env, state);
        for (const csc_child *c = family->first; c != NULL && err == CASCADE_OK;
             c = c->next) {
            const csc_build_first first = {c->node, c->input};
            const csc_build_start start = {.id = c->id,
                                           .user_id = state->user_id,
                                           .queue = queue,
                                           .priority = family->priority != 0
                                                           ? family->priority
                                                           : state->priority,
                                           .depth = family->depth,
                                           .parent = &state->id,
                                           .delay_ms = family->delay_ms,
                                           .deadline_ms = family->deadline_ms,
                                           .first = &first,
                                           .first_count = 1};

            err = csc_build_new(env, &start, changes++);
        }
    }
    if (next != NULL && err == CASCADE_OK)
        err = csc_build_next_run(env, state, &next->next_run, own, changes);
    return err;
}

/* ---- A child has ended -------------------------------------------------- */

static const csc_exec *
find_child(const struct csc_builder *b, const cascade_uuid *id)
{
    const csc_exec *exec = csc_state_child(b->state, id, CSC_STATE_FIRST);

    while (exec != NULL && (exec->status != CASCADE_EXECUTION_RUNNING ||
                            csc_state_has(&b->ended_early, exec->function_id)))
        exec = csc_state_child(b->state, id, exec->function_id);
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

    if (!csc_json_span_text(span, &text))
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
    bool failed = csc_json_member(payload, "error", &span);
    const char *error = failed ? keep_error(b, span) : NULL;
    const char *result = NULL;
    cascade_execution_row *row = csc_build_update(
        b, child,
        failed ? CASCADE_EXECUTION_FAILED : CASCADE_EXECUTION_COMPLETED);

    if (csc_json_member(payload, "result", &span))
        result = keep_span(b, span);
    row->error = error;
    row->full_output =
        write_ended(b, &child->child, child->when_parent_ends, result, failed);
    csc_build_note_ended(b, child);
    b->children_gone++;
}

/* One whose part has ended, with its parent or else, is told of for nothing. */
bool
csc_build_child_end(struct csc_builder *b, const csc_message *message)
{
    const csc_exec *child = NULL;
    csc_json_span span;
    cascade_uuid id;

    if (strcmp(message->kind, CSC_MESSAGE_CHILD) != 0)
        return false;
    if (csc_build_status(b) == CASCADE_RUNNING &&
        csc_json_member(message->payload, "id", &span) &&
        csc_record_uuid(span, &id))
        child = find_child(b, &id);
    if (child != NULL)
        end_child(b, child, message->payload);
    return true;
}

/* ---- The parent is cancelled, or ends ----------------------------------- */

/* It goes on until the child has ended; one to be abandoned ends here. */
void
csc_build_cancel_child(struct csc_builder *b, const csc_exec *child)
{
    cascade_execution_row *row = NULL;

    if (child->when_parent_ends != CASCADE_CHILD_ABANDON) {
        ask_child(b, &child->child, child->when_parent_ends, false);
        return;
    }
    row = csc_build_update(b, child, CASCADE_EXECUTION_FAILED);
    row->error = GOES_ON;
    row->full_output =
        write_ended(b, &child->child, child->when_parent_ends, NULL, true);
    csc_build_note_ended(b, child);
    b->children_gone++;
}

static bool
ends(const struct csc_builder *b)
{
    return csc_build_status(b) != CASCADE_RUNNING &&
           b->state->recorded == CASCADE_RUNNING;
}

/* Those that were there before. A cascade that ends in ERROR leaves its RUNNING
 * rows: they ended with it. */
static void
leave_children(struct csc_builder *b, bool write)
{
    if (write)
        csc_build_more_updates(b, b->state->children);
    for (size_t i = 0; i < b->state->exec_count && !b->env->arena->failed;
         i++) {
        const csc_exec *child = b->state->execs[i].exec;
        cascade_execution_row *row = NULL;

        if (child == NULL || child->part != CSC_PART_CHILD ||
            child->status != CASCADE_EXECUTION_RUNNING ||
            csc_state_has(&b->ended_early, child->function_id))
            continue;
        ask_child(b, &child->child, child->when_parent_ends, true);
        if (!write)
            continue;
        row = csc_build_update(b, child, CASCADE_EXECUTION_FAILED);
        row->error = "the parent ended before the child";
        row->full_output =
            write_ended(b, &child->child, child->when_parent_ends, NULL, true);
    }
}

/* Those that are born in the very change. */
static void
leave_births(struct csc_builder *b)
{
    for (const csc_post *p = b->posts; p != NULL; p = p->next)
        for (const csc_child *c = p->children.first; c != NULL; c = c->next)
            ask_child(b, &c->id, p->children.when_parent_ends, true);
}

/* {"id":ID,"error":...} or {"id":ID,"result":...}; `error` NULL: none */
static const char *
write_end(struct csc_builder *b, const char *error)
{
    const char *result = b->result != NULL ? b->result : b->state->result;
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_buf_add_text(&b->text, "{\"id\":\"");
    csc_buf_add_text(&b->text, cascade_uuid_format(&b->state->child_id, id));
    csc_buf_add_char(&b->text, '"');
    if (error != NULL) {
        csc_buf_add_text(&b->text, ",\"error\":");
        csc_json_add_string(&b->text, error);
    } else if (result != NULL) {
        csc_buf_add_text(&b->text, ",\"result\":");
        csc_buf_add_text(&b->text, result);
    }
    csc_buf_add_char(&b->text, '}');
    return csc_build_text(b);
}

static void
tell_parent(struct csc_builder *b)
{
    const cascade_uuid *parent = &b->state->parent;
    bool failed = csc_build_status(b) == CASCADE_ERROR;
    const char *error = b->error != NULL ? b->error : "it failed";
    char id[CASCADE_UUID_TEXT_SIZE];

    cascade_message_row message = {
        .cascade_id = *parent,
        .kind = CSC_MESSAGE_CHILD,
        .name = "",
        .path =
            csc_arena_format(b->env->arena, "%s/message/child/%s",
                             cascade_uuid_format(parent, id), b->cascade_id),
        .payload = write_end(b, failed ? error : NULL),
        .sent_at_ms = b->env->now_ms};

    csc_build_send(b, &message);
}

/* When nothing but children is RUNNING, these end with the cascade. */
void
csc_build_end_family(struct csc_builder *b)
{
    size_t running = b->state->running - b->ended + b->running;
    size_t children = b->state->children + b->children - b->children_gone;

    if (b->state->recorded != CASCADE_RUNNING || b->plan != NULL)
        return;
    if (csc_build_status(b) == CASCADE_ERROR)
        leave_children(b, false);
    if (csc_build_status(b) == CASCADE_ERROR)
        leave_births(b);
    else if (running == children && children > 0 && b->children == 0)
        leave_children(b, true);
    if (ends(b) && b->next == NULL && !csc_uuid_is_nil(&b->state->parent))
        tell_parent(b);
}

void
csc_build_note_result(struct csc_builder *b, const csc_exec *exec,
                      const char *output)
{
    if (output == NULL || csc_uuid_is_nil(&b->state->parent) ||
        exec->part != CSC_PART_NONE ||
        (b->state->result != NULL && b->state->result_id > exec->function_id) ||
        (b->result != NULL && b->result_id > exec->function_id))
        return;
    b->result = output;
    b->result_id = exec->function_id;
}
