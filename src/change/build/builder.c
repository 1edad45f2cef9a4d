/* SPDX-License-Identifier: MIT
 *
 * What every part of a change is made with: rows to insert and to update, the
 * receipts of messages, and what is sent with the commit.
 *
 *   builder      rows, texts, function_ids, messages: this file
 *   end          an execution ends, or fails and is tried again
 *   subjects     children, messages, commands, resets, the next run
 *   build        one change out of the posts of a cascade
 *
 * Calls go down this list only, but for a cascade whose last function_ids are
 * used up (last_ids.c): there an end may be that of the whole.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_object.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/join_cutoff.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/start_record.h"
#include "state/state.h"

typedef struct csc_builder builder;

const char *
csc_builder_text(builder *b)
{
    const char *copy = NULL;

    if (b->text.failed)
        b->env->arena->failed = true;
    else
        copy = csc_arena_strndup(b->env->arena, b->text.data, b->text.len);
    csc_buf_clear(&b->text);
    return copy;
}

/* <cascade>/<parent function_id>/<node_name>#<n> */
static const char *
write_path(builder *b, int32_t parent, const char *name, uint32_t occurrence)
{
    csc_assert(b->text.len == 0);
    csc_buf_add(&b->text, b->cascade_id, CASCADE_UUID_TEXT_SIZE - 1);
    csc_buf_add_char(&b->text, '/');
    if (parent == CSC_NO_PARENT)
        csc_buf_add_char(&b->text, '-');
    else
        csc_buf_add_i64(&b->text, parent);
    csc_buf_add_char(&b->text, '/');
    csc_buf_add_text(&b->text, name);
    csc_buf_add_char(&b->text, '#');
    csc_buf_add_i64(&b->text, occurrence);
    return csc_builder_text(b);
}

const char *
csc_builder_record(builder *b, const csc_record *record)
{
    csc_assert(b->text.len == 0);
    csc_full_output_write(record, &b->text);
    return csc_builder_text(b);
}

csc_json_span
csc_builder_ids(builder *b, const int32_t *ids, size_t count)
{
    csc_assert(b->text.len == 0);
    csc_json_add_ids(&b->text, ids, count);
    return csc_json_read_whole(count > 0 ? csc_builder_text(b) : NULL);
}

csc_record
csc_builder_record_of(builder *b, const csc_exec *exec)
{
    csc_record record = csc_full_output_none;

    record.after = csc_builder_ids(b, exec->after.items, exec->after.count);
    if (exec->join != NULL) {
        record.first = (int32_t)exec->join->first;
        record.on_failure = exec->join->on_failure;
    }
    if (exec->function_id == 0)
        record.meta = csc_json_read_whole(b->state->meta);
    record.resumes = exec->resumes;
    record.instead_of = exec->stands_for;
    if (exec->attempts > 0)
        record.attempts = exec->attempts;
    return record;
}

csc_json_span
csc_builder_late(builder *b, const csc_exec *exec, const csc_late_end *end)
{
    size_t count = 0;
    const int32_t *ids = csc_join_cutoff_find(&b->late, exec, end, &count);

    return csc_builder_ids(b, ids, count);
}

/* The next row, RUNNING with input {}, to be filled further. */
static cascade_execution_row *
insert_row(builder *b, const char *name, const char *path)
{
    cascade_execution_row *row = &b->inserts[b->insert_count];

    csc_assert(b->fn_id < CSC_FUNCTION_ID_MAX);
    csc_assert(b->insert_count < b->insert_room);
    row->id = b->ids[b->insert_count];
    b->insert_count++;
    b->fn_id++;
    row->cascade_id = b->state->id;
    row->function_id = b->fn_id;
    row->node_name = name != NULL ? name : ""; /* the arena has failed */
    row->node_instance_id = path;
    row->input = "{}";
    row->location = b->env->location;
    row->started_at_ms = b->env->now_ms;
    row->completed_at_ms = CASCADE_TIME_NONE;
    row->status = CASCADE_EXECUTION_RUNNING;
    return row;
}

cascade_execution_row *
csc_builder_part(builder *b, const char *name, int32_t parent,
                 uint32_t occurrence)
{
    return insert_row(b, name, write_path(b, parent, name, occurrence));
}

cascade_execution_row *
csc_builder_update(builder *b, const csc_exec *exec,
                   cascade_execution_status status)
{
    cascade_execution_row *row = &b->updates[b->update_count++];

    csc_assert(b->update_count <= b->update_room);
    b->marks = b->marks || exec->adopted || exec->early > 0;
    row->cascade_id = b->state->id;
    row->function_id = exec->function_id;
    row->status = status;
    row->node_name = exec->name;
    row->input = exec->input != NULL ? exec->input : "{}";
    row->location = b->env->location;
    row->completed_at_ms = CASCADE_TIME_NONE;
    if (status != CASCADE_EXECUTION_RUNNING) {
        row->completed_at_ms = b->env->now_ms;
        b->ended++;
    }
    return row;
}

void
csc_builder_more_updates(builder *b, size_t more)
{
    size_t room = b->update_room + more;
    cascade_execution_row *updates =
        csc_arena_alloc(b->env->arena, room, sizeof(*updates));

    if (updates == NULL)
        return; /* the arena has failed; nobody writes beyond the room */
    if (b->update_count > 0)
        memcpy(updates, b->updates, b->update_count * sizeof(*updates));
    b->updates = updates;
    b->update_room = room;
    csc_assert(b->update_count <= b->update_room);
}

void
csc_builder_note_terminated(builder *b, const cascade_execution_row *row)
{
    csc_assert(row->status == CASCADE_EXECUTION_FAILED);
    if (b->terminated && b->terminator < row->function_id)
        return;
    b->terminated = true;
    b->terminator = row->function_id;
    b->error = row->error;
}

cascade_status
csc_builder_status(const builder *b)
{
    if (b->slices != NULL)
        return b->told;
    if (b->terminated ||
        (b->plan == NULL && b->state->terminated != CSC_NOT_TERMINATED))
        return CASCADE_ERROR;
    csc_assert(b->state->running + b->running >= b->ended);
    return b->state->running - b->ended + b->running > 0 ? CASCADE_RUNNING
                                                         : CASCADE_COMPLETED;
}

#define SENDS_FIRST 4

const char *
csc_builder_child_ended(struct csc_builder *b, const cascade_uuid *child,
                        cascade_child_end policy, const char *result,
                        bool failed)
{
    csc_record record = csc_full_output_none;

    record.at = b->state->fn_id;
    record.child = *child;
    record.output = csc_json_read_whole(result);
    record.when_parent_ends = policy;
    record.continued = failed;
    return csc_builder_record(b, &record);
}

/* Twice the room. What there was before is the arena's. */
static void
grow_sends(struct csc_builder *b)
{
    size_t room = b->send_room > 0 ? 2 * b->send_room : SENDS_FIRST;
    cascade_message_row *sends =
        csc_arena_alloc(b->env->arena, room, sizeof(*sends));

    csc_assert(b->send_count == b->send_room);
    if (sends == NULL)
        return; /* the arena has failed */
    if (b->send_count > 0)
        memcpy(sends, b->sends, b->send_count * sizeof(*sends));
    b->sends = sends;
    b->send_room = room;
}

void
csc_builder_send(struct csc_builder *b, const cascade_message_row *message)
{
    if (b->send_count == b->send_room)
        grow_sends(b);
    if (b->send_count < b->send_room)
        b->sends[b->send_count++] = *message;
    csc_assert(b->send_count <= b->send_room);
}

const char *
csc_builder_meta_text(const csc_build_env *env, const csc_state *state,
                      const char *member)
{
    const char *found = NULL;
    csc_json_span span;
    char *text = NULL;

    if (state->meta == NULL ||
        !csc_json_read_member(state->meta, member, &span) ||
        !csc_json_read_text(span, &text))
        return NULL;
    if (text != NULL)
        found = csc_arena_strdup(env->arena, text);
    else
        env->arena->failed = true;
    csc_mem_free(text);
    return found;
}

const char *
csc_builder_limit_key(const csc_build_env *env, const csc_state *state)
{
    return csc_start_record_limit_key(
        csc_builder_meta_text(env, state, "limit_key"), state->user_id);
}

const char *
csc_builder_queue(const csc_build_env *env, const csc_state *state)
{
    const char *queue = csc_builder_meta_text(env, state, "queue");

    return queue != NULL ? queue : CSC_QUEUE_DEFAULT;
}

bool
csc_builder_is_cancelled(const struct csc_builder *b)
{
    return b->cancel != NULL || b->state->cancel != CSC_NO_PARENT;
}

/* The record of one that never begins. */
static const char *
write_stillborn(struct csc_builder *b)
{
    csc_record record = csc_full_output_none;

    record.at = b->state->fn_id;
    record.continued = true;
    record.cancelled = true;
    return csc_builder_record(b, &record);
}

size_t
csc_builder_slice_room(const struct csc_builder *b)
{
    return b->env->slice_bytes > 0 ? b->env->slice_bytes : CSC_SLICE_BYTES;
}

void
csc_builder_stillborn(struct csc_builder *b, cascade_execution_row *row)
{
    csc_assert(row->status == CASCADE_EXECUTION_RUNNING);
    row->status = CASCADE_EXECUTION_FAILED;
    row->error = "cancelled";
    row->completed_at_ms = b->env->now_ms;
    row->full_output = write_stillborn(b);
}

void
csc_builder_ask_child(struct csc_builder *b, const cascade_uuid *child,
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

    csc_assert(b->send_count <= b->send_room);
    if (policy == CASCADE_CHILD_ABANDON)
        return;
    message.path = csc_arena_format(b->env->arena, "%s/message/parent/%s",
                                    cascade_uuid_format(child, id),
                                    ended ? "ended" : "cancelled");
    csc_builder_send(b, &message);
}

int64_t
csc_builder_ids_left(const csc_state *state)
{
    int64_t left =
        CSC_FUNCTION_ID_MAX - CSC_FUNCTION_IDS_KEPT - (int64_t)state->fn_id;

    return left > 0 ? left : 0;
}

bool
csc_builder_has_ids(const struct csc_builder *b, size_t count, bool ends)
{
    int64_t max = CSC_FUNCTION_ID_MAX - (ends ? 0 : CSC_FUNCTION_IDS_KEPT);

    csc_assert(b->fn_id >= b->state->fn_id);
    return (int64_t)(count + b->promised) <= max - b->fn_id;
}

void
csc_builder_drop_spawns(csc_post *post)
{
    csc_assert(post->kind == CSC_POST_FAIL);
    post->effects.first_spawn = NULL;
    post->effects.last_spawn = NULL;
    post->effects.spawn_count = 0;
    post->continued = false;
}

const char *
csc_builder_at(struct csc_builder *b, bool continued)
{
    csc_record record = csc_full_output_none;

    record.at = b->state->fn_id;
    record.continued = continued;
    return csc_builder_record(b, &record);
}

void
csc_builder_note_ended(struct csc_builder *b, const csc_exec *exec)
{
    csc_assert(exec->status == CASCADE_EXECUTION_RUNNING);
    if (csc_state_add_id(&b->ended_early, exec->function_id) != CASCADE_OK)
        b->env->arena->failed = true;
}

/* What comes for one that has ended leaves it the time of its end: its age is
 * counted from there. Never before it was created, whatever the clocks say. */
int64_t
csc_builder_written_at(const struct csc_builder *b)
{
    const csc_state *state = b->state;
    int64_t created_at_ms = state->created_at_ms;

    if (state->recorded != CASCADE_RUNNING &&
        csc_builder_status(b) == state->recorded)
        return state->updated_at_ms;
    return b->env->now_ms > created_at_ms ? b->env->now_ms : created_at_ms;
}

cascade_execution_row *
csc_builder_receipt(struct csc_builder *b, const csc_message *message,
                    const char *name)
{
    cascade_execution_row *row = insert_row(b, name, message->path);

    row->input = message->payload;
    row->completed_at_ms = b->env->now_ms;
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->full_output = csc_builder_at(b, false);
    csc_assert(b->insert_count > 0 && row == &b->inserts[b->insert_count - 1]);
    return row;
}

void
csc_builder_undelivered(struct csc_builder *b, cascade_execution_row *row,
                        const char *error)
{
    csc_assert(row->completed_at_ms != CASCADE_TIME_NONE);
    row->status = CASCADE_EXECUTION_FAILED;
    row->error = error;
    row->full_output = csc_builder_at(b, true);
}
