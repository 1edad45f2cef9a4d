/* SPDX-License-Identifier: MIT
 *
 * What the end of a cascade means to its children and its parent.
 *
 *   nothing but children is RUNNING   it COMPLETES: their rows become FAILED
 *   it ends in ERROR                  RUNNING rows stay: they end with it
 *   both                              children that are not to be abandoned are
 *                                     asked to end, the parent is told
 */
#include "engine/build_internal.h"

#include "base/json.h"
#include "base/uuid.h"

void
csc_build_ask_child(struct csc_builder *b, const cascade_uuid *child,
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
        csc_build_ask_child(b, &child->child, child->when_parent_ends, true);
        if (!write)
            continue;
        row = csc_build_update(b, child, CASCADE_EXECUTION_FAILED);
        row->error = "the parent ended before the child";
        row->full_output = csc_build_child_ended(
            b, &child->child, child->when_parent_ends, NULL, true);
    }
}

/* Those that are born in the very change. */
static void
leave_births(struct csc_builder *b)
{
    for (const csc_post *p = b->posts; p != NULL; p = p->next)
        for (const csc_child *c = p->children.first; c != NULL; c = c->next)
            csc_build_ask_child(b, &c->id, p->children.when_parent_ends, true);
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
