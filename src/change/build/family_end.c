/* SPDX-License-Identifier: MIT
 *
 * What the end of a cascade means to its children and its parent. The parent is
 * told in the commit that ends it. Children that are not to be abandoned are
 * asked to end; there may be many, and what one commit writes of them is
 * bounded in bytes (env->slice_bytes), each row and each message counting for
 * some.
 *
 * IT COMPLETES: nothing but children is RUNNING. Their rows become FAILED, and
 * it has ended with the last of them:
 *
 *   running == children --> as many as fit, from the lowest function_id on
 *      ^                         |
 *      +-- the engine posts a ---+--> none is left: COMPLETED
 *          SLICE: run.c
 *
 * That only children are RUNNING is true again after each commit, so whoever
 * claims the cascade next goes on without a record of where. What comes between
 * two commits is received as by any cascade that is RUNNING.
 *
 * IT ENDS IN ERROR, by whatever. It has ended at once, for all eyes, and its
 * rows that are RUNNING stay so: they ended with it. The rest is clean-up:
 *
 *   the end, children told --> message "family" to itself, {"from":n}, in the
 *      as many as fit             same commit
 *                                   | received by whoever claims it
 *                                   (end_unloaded.c v reads a page of the
 *                                   family from n on)
 *                    the next ones --> message "family", {"from":m}, or none
 *                                      is left
 *
 *   - It leaves no receipt. Its path names the message before it, so a chain
 *     never meets itself; a child that is asked again, by the same path, was
 *     asked once.
 *   - Until the last has been told there is a message for the cascade: it is
 *     not purged, and its deletion waits (csc_command_add_delete).
 *   - A cascade that goes on by a retry has no family to leave: the message is
 *     received for nothing. What a retry supersedes is told by it
 *     (reset.c), so no child is forgotten.
 *   - If the process dies between two commits, the message is there.
 *   - A deletion in front of which there are so many other messages that nobody
 *     has seen whether one of them is such a message does not wait for these
 *     (end_unloaded.c): it has all children told, from the first one on, once
 *     more, and deletes behind the last.
 *
 * Children that are born in the very commit of the end are told in it: the
 * commit has their rows anyway.
 */
#include "change/build/builder.h"

#include <inttypes.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_object.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/op.h"
#include "state/state.h"

/* ---- As many as fit ----------------------------------------------------- */

static bool
is_left(const struct csc_builder *b, const csc_exec *child)
{
    return child != NULL && child->part == CSC_PART_CHILD &&
           child->status == CASCADE_EXECUTION_RUNNING &&
           !csc_view_has(&b->ended_early, child->function_id);
}

static void
end_row(struct csc_builder *b, const csc_exec *child)
{
    cascade_execution_row *row =
        csc_builder_update(b, child, CASCADE_EXECUTION_FAILED);

    csc_assert(is_left(b, child));
    row->error = "the parent ended before the child";
    row->full_output = csc_builder_child_ended(
        b, &child->child, child->when_parent_ends, NULL, true);
}

/* From function_id `from` on, with their rows where `write`. Gives the first
 * that does not fit, 0 when all do. */
static int32_t
leave_children(struct csc_builder *b, int32_t from, bool write)
{
    const csc_state *state = b->state;
    size_t room = csc_builder_slice_room(b);
    size_t rows = 1 + room / CSC_ROW_BYTES;
    size_t bytes = 0;

    if (write)
        csc_builder_more_updates(b, state->children < rows ? state->children
                                                           : rows);
    for (size_t i = csc_view_place(state, from);
         i < state->exec_count && !b->env->arena->failed; i++) {
        const csc_exec *child = state->execs[i].exec;
        size_t sends = b->send_count;

        if (!is_left(b, child))
            continue;
        if (bytes >= room)
            return child->function_id;
        csc_builder_ask_child(b, &child->child, child->when_parent_ends, true);
        if (write)
            end_row(b, child);
        bytes += (b->send_count - sends + write) * CSC_ROW_BYTES;
    }
    return 0;
}

/* ---- One that ends in ERROR --------------------------------------------- */

/* To itself: there are more from `from` on. */
static void
keep_for_later(struct csc_builder *b, int32_t from)
{
    csc_json_object writer;
    cascade_message_row message = {.cascade_id = b->state->id,
                                   .kind = CSC_MESSAGE_FAMILY,
                                   .name = "",
                                   .sent_at_ms = b->env->now_ms};

    csc_assert(from > 0 && b->text.len == 0);
    message.path = csc_arena_format(b->env->arena,
                                    "%s/message/family/%" PRId32 "/%" PRId64,
                                    b->cascade_id, from, b->family_id);
    csc_json_object_begin(&writer, &b->text);
    csc_json_object_add_number(&writer, "from", from);
    csc_json_object_end(&writer);
    message.payload = csc_builder_text(b);
    csc_builder_send(b, &message);
}

/* From `from` on. Of a run that is not read whole there are those below
 * env->family_to. */
static void
tell_children(struct csc_builder *b, int32_t from)
{
    int32_t left = leave_children(b, from, false);

    if (left == 0)
        left = b->env->family_to;
    if (left != 0 && !b->env->arena->failed)
        keep_for_later(b, left);
}

int32_t
csc_family_end_from(const csc_message *message)
{
    csc_json_span span;
    int64_t from = 0;

    if (strcmp(message->kind, CSC_MESSAGE_FAMILY) != 0)
        return 0;
    if (!csc_json_read_member(message->payload, "from", &span) ||
        !csc_json_read_i64(span, &from) || from < 1 || from > INT32_MAX)
        return 1;
    return (int32_t)from;
}

bool
csc_family_end_add(struct csc_builder *b, const csc_message *message)
{
    int32_t from = csc_family_end_from(message);

    if (from == 0)
        return false;
    if (b->state->recorded == CASCADE_ERROR && b->plan == NULL &&
        (b->family_from == 0 || from < b->family_from)) {
        b->family_from = from;
        b->family_id = message->id;
    }
    return true;
}

/* Those that are born in the very change. */
static void
leave_births(struct csc_builder *b)
{
    csc_assert(csc_builder_status(b) == CASCADE_ERROR);
    for (const csc_post *p = b->posts; p != NULL; p = p->next)
        for (const csc_child *c = p->children.first; c != NULL; c = c->next)
            csc_builder_ask_child(b, &c->id, p->children.when_parent_ends,
                                  true);
}

/* ---- The parent --------------------------------------------------------- */

/* {"id":ID,"error":...} or {"id":ID,"result":...}; `error` NULL: none */
static const char *
write_end(struct csc_builder *b, const char *error)
{
    const char *result = b->result != NULL ? b->result : b->state->result;
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(b->text.len == 0);
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
    return csc_builder_text(b);
}

static void
tell_parent(struct csc_builder *b)
{
    const cascade_uuid *parent = &b->state->parent;
    bool failed = csc_builder_status(b) == CASCADE_ERROR;
    const char *error = b->error != NULL ? b->error : "it failed";
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(!csc_uuid_is_nil(&b->state->parent));
    cascade_message_row message = {
        .cascade_id = *parent,
        .kind = CSC_MESSAGE_CHILD,
        .name = "",
        .path =
            csc_arena_format(b->env->arena, "%s/message/child/%s",
                             cascade_uuid_format(parent, id), b->cascade_id),
        .payload = write_end(b, failed ? error : NULL),
        .sent_at_ms = b->env->now_ms};

    csc_builder_send(b, &message);
}

/* ---- The end ------------------------------------------------------------ */

static bool
ends(const struct csc_builder *b)
{
    return csc_builder_status(b) != CASCADE_RUNNING &&
           b->state->recorded == CASCADE_RUNNING;
}

static bool
has_only_children(const struct csc_builder *b)
{
    size_t running = b->state->running - b->ended + b->running;
    size_t children = b->state->children + b->children - b->children_gone;

    csc_assert(b->state->running + b->running >= b->ended);
    csc_assert(b->state->children + b->children >= b->children_gone);
    return running == children && children > 0 && b->children == 0;
}

void
csc_family_end_finish(struct csc_builder *b)
{
    bool deletes = b->env->deletes && b->state->recorded == CASCADE_ERROR;

    csc_assert(b->slices == NULL);
    if (deletes && b->family_from == 0)
        b->family_from = 1;
    if (b->family_from != 0)
        tell_children(b, b->family_from);
    if (deletes && b->send_count == 0)
        b->erases = true;
    if (b->state->recorded != CASCADE_RUNNING || b->plan != NULL)
        return;
    if (csc_builder_status(b) == CASCADE_ERROR) {
        tell_children(b, 0);
        leave_births(b);
    } else if (has_only_children(b)) {
        (void)leave_children(b, b->state->family_from, true);
    }
    if (ends(b) && b->next == NULL && !csc_uuid_is_nil(&b->state->parent))
        tell_parent(b);
}
