/* SPDX-License-Identifier: MIT
 *
 * Messages become rows.
 *
 *   signal          an execution, COMPLETED; an await of its name that is
 *                   RUNNING is COMPLETED with it, else it is unread
 *   its cascade     an execution, FAILED as undelivered, which leaves the
 *   has ended       status as it is, and updated_at
 *   the same, but   the message is sent on to the next run, with its path:
 *   continued as    there is one receipt, in whichever run it is received
 *   new
 *   command         command.c; of a retry or a rerun, reset.c
 *   end of a child  child.c
 *   rest of a       family_end.c
 *   family
 *   completion      external.c
 *   repeated        nothing: an execution has its path
 *   unknown kind    an execution, FAILED: a newer library sent it
 *   no id is left   last_ids.c
 *
 * In each case but that of a deletion, which takes two commits, the message is
 * deleted with this one. If the process dies before it, the message is there
 * and is received by whoever owns the cascade next; after it, the execution is
 * there, and its path tells a repeated request.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "change/op.h"
#include "state/full_output.h"
#include "state/state.h"

/* The record of an await that has taken a signal. */
static const char *
write_taking(struct csc_builder *b, int32_t signal, int64_t not_before_ms)
{
    csc_record record = csc_full_output_none;

    record.at = b->state->fn_id;
    record.signal = signal;
    record.attempts = 1;
    record.not_before_ms = not_before_ms;
    return csc_builder_record(b, &record);
}

/* ---- Signals ------------------------------------------------------------ */

/* What of a name is settled in this change: its signals go to its awaits in the
 * order of their function_ids, so each look begins behind the one before. */
typedef struct csc_build_name {
    csc_tree_node node;
    const char *name;
    int64_t awaits;  /* up to there they have ended */
    int64_t signals; /* up to there they are taken */
} csc_build_name;

/* A signal of this change that nobody has taken. */
typedef struct csc_build_unread {
    csc_tree_node node;
    const char *name;
    int32_t function_id;
} csc_build_unread;

static int
side_of_name(const void *key, const csc_tree_node *node)
{
    return strcmp(key, CSC_TREE_ITEM(node, csc_build_name, node)->name);
}

static int
order_names(const csc_tree_node *a, const csc_tree_node *b)
{
    return side_of_name(CSC_TREE_ITEM(a, csc_build_name, node)->name, b);
}

static int
order_unread(const csc_tree_node *a, const csc_tree_node *b)
{
    const csc_build_unread *x = CSC_TREE_ITEM(a, csc_build_unread, node);
    const csc_build_unread *y = CSC_TREE_ITEM(b, csc_build_unread, node);
    int order = strcmp(x->name, y->name);

    if (order != 0)
        return order;
    return (x->function_id > y->function_id) -
           (x->function_id < y->function_id);
}

static int
side_of_unread(const void *key, const csc_tree_node *node)
{
    const csc_build_unread *unread =
        CSC_TREE_ITEM(node, csc_build_unread, node);
    int order = strcmp(key, unread->name);

    return order != 0 ? order : -1; /* the first of that name */
}

/* NULL when the arena has failed. */
static csc_build_name *
find_name(struct csc_builder *b, const char *name)
{
    csc_tree_node *node = csc_tree_from(&b->names, name, side_of_name);
    csc_build_name *found =
        node != NULL ? CSC_TREE_ITEM(node, csc_build_name, node) : NULL;

    if (found != NULL && strcmp(found->name, name) == 0)
        return found;
    found = csc_arena_alloc(b->env->arena, 1, sizeof(*found));
    if (found == NULL)
        return NULL;
    found->name = name;
    found->awaits = CSC_STATE_FIRST;
    found->signals = CSC_STATE_FIRST;
    csc_tree_put(&b->names, &found->node, order_names, NULL);
    return found;
}

/* The first await of that name that still waits, NULL without one. */
static const csc_exec *
find_await(struct csc_builder *b, const char *name)
{
    csc_build_name *place = find_name(b, name);
    const csc_exec *exec = NULL;

    if (place == NULL)
        return NULL;
    exec = csc_index_await(b->state, name, place->awaits);
    while (exec != NULL && (csc_command_is_doomed(b, exec) ||
                            csc_view_has(&b->ended_early, exec->function_id))) {
        place->awaits = csc_command_is_doomed(b, exec)
                            ? csc_command_cancel_id(b)
                            : exec->function_id;
        exec = csc_index_await(b->state, name, place->awaits);
    }
    return exec;
}

static void
end_await(struct csc_builder *b, const csc_exec *await, int32_t signal)
{
    cascade_execution_row *row =
        csc_builder_update(b, await, CASCADE_EXECUTION_COMPLETED);

    csc_assert(await->part == CSC_PART_AWAIT &&
               await->status == CASCADE_EXECUTION_RUNNING);
    row->full_output = write_taking(b, signal, await->not_before_ms);
    csc_builder_note_ended(b, await);
}

static void
keep_unread(struct csc_builder *b, const char *name, int32_t function_id)
{
    csc_build_unread *unread =
        csc_arena_alloc(b->env->arena, 1, sizeof(*unread));

    if (unread == NULL)
        return; /* the arena has failed */
    unread->name = name;
    unread->function_id = function_id;
    csc_tree_put(&b->unread, &unread->node, order_unread, NULL);
}

/* Takes the lowest unread signal of that name, of before or of this change. */
static int32_t
take_signal(struct csc_builder *b, const char *name)
{
    csc_build_name *place = find_name(b, name);
    const csc_signal *signal = NULL;
    csc_build_unread *unread = NULL;
    csc_tree_node *node = NULL;

    if (place == NULL)
        return CSC_NO_PARENT;
    signal = csc_signals_signal(b->state, name, place->signals);
    if (signal != NULL) {
        place->signals = signal->function_id;
        return signal->function_id;
    }
    node = csc_tree_from(&b->unread, name, side_of_unread);
    unread = node != NULL ? CSC_TREE_ITEM(node, csc_build_unread, node) : NULL;
    if (unread == NULL || strcmp(unread->name, name) != 0)
        return CSC_NO_PARENT;
    csc_tree_take(&b->unread, node, order_unread, NULL);
    return unread->function_id;
}

bool
csc_message_take_signal(struct csc_builder *b, cascade_execution_row *row)
{
    size_t prefix = strlen(CSC_AWAIT_PREFIX);
    int32_t signal = CSC_NO_PARENT;

    csc_assert(row->status == CASCADE_EXECUTION_RUNNING);
    if (strncmp(row->node_name, CSC_AWAIT_PREFIX, prefix) == 0)
        signal = take_signal(b, row->node_name + prefix);
    if (signal == CSC_NO_PARENT)
        return false;
    row->status = CASCADE_EXECUTION_COMPLETED;
    row->completed_at_ms = b->env->now_ms;
    row->full_output = write_taking(b, signal, CASCADE_TIME_NONE);
    return true;
}

bool
csc_message_is_late(const struct csc_builder *b, const csc_post *post,
                    const csc_exec *exec)
{
    if (exec == NULL) /* a wait, or an external execution, long over */
        return post->kind == CSC_POST_COMPLETE ||
               post->kind == CSC_POST_EXTERNAL || post->overdue;
    if (csc_view_has(&b->ended_early, exec->function_id))
        return true;
    return (csc_view_is_wait(exec) || post->overdue) &&
           exec->status != CASCADE_EXECUTION_RUNNING;
}

static const char *
prefixed(struct csc_builder *b, const char *prefix, const char *name)
{
    csc_assert(b->text.len == 0);
    csc_buf_add_text(&b->text, prefix);
    csc_buf_add_text(&b->text, name);
    return csc_builder_text(b);
}

static void
add_signal(struct csc_builder *b, const csc_message *message)
{
    bool over = csc_builder_status(b) != CASCADE_RUNNING;
    const csc_exec *await = over ? NULL : find_await(b, message->name);
    cascade_execution_row *row = csc_builder_receipt(
        b, message, prefixed(b, CSC_SIGNAL_PREFIX, message->name));

    csc_assert(strcmp(message->kind, CSC_MESSAGE_SIGNAL) == 0);
    if (over)
        csc_builder_undelivered(b, row, CSC_UNDELIVERED);
    else if (await != NULL)
        end_await(b, await, row->function_id);
    else
        keep_unread(b, message->name, row->function_id);
}

static void
add_unknown(struct csc_builder *b, const csc_message *message)
{
    cascade_execution_row *row = csc_builder_receipt(
        b, message, prefixed(b, CSC_MESSAGE_PREFIX, message->kind));

    csc_builder_undelivered(
        b, row,
        "undelivered: this version of the library does not know messages of "
        "this kind");
}

static void
add_message(struct csc_builder *b, const csc_message *message)
{
    if (strcmp(message->kind, CSC_MESSAGE_DELETE) == 0) {
        csc_command_add_delete(b, message);
        return;
    }
    if (csc_reset_begin(b, message))
        return;
    b->received[b->received_count++] = message->id;
    if (message->repeated || csc_next_run_forward(b, message) ||
        csc_last_ids_lack(b, message))
        return;
    if (strcmp(message->kind, CSC_MESSAGE_SIGNAL) == 0)
        add_signal(b, message);
    else if (!csc_child_add_end(b, message) &&
             !csc_family_end_add(b, message) &&
             !csc_external_completion(b, message) &&
             !csc_reset_add(b, message) && !csc_command_add(b, message))
        add_unknown(b, message);
}

void
csc_message_receive(struct csc_builder *b, const csc_post *post)
{
    csc_assert(post->deletions <= post->message_count);
    csc_assert(post->kind == CSC_POST_RECEIVE || post->messages == NULL);
    b->is_cut = b->is_cut || (post->cut && !post->apart);
    b->only_deletions = post->deletions == post->message_count;
    for (const csc_message *m = post->messages; m != NULL; m = m->next)
        add_message(b, m);
}
