/* SPDX-License-Identifier: MIT
 *
 * What a straight-line node is made of, whatever the kind: parts are counted as
 * they are asked for, found by kind, name and occurrence, and passed.
 */
#include "node/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/text.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/build/build.h"
#include "change/build/builder.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "held/room/backlog.h"
#include "held/room/room.h"
#include "held/run/pause.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "state/kind.h"
#include "state/state.h"

#define MISMATCH_MAX 1000
#define SPARED_MAX 16 /* steps of an entry that has recorded nothing */

cascade_err
csc_part_count(cascade_node *node, csc_part *part)
{
    csc_asked *asked = node->asked;
    cascade_err err = csc_time_limit_check_call(node->call);

    if (err != CASCADE_OK)
        return err;
    while (asked != NULL &&
           (asked->kind != part->kind || strcmp(asked->name, part->name) != 0))
        asked = asked->next;
    if (asked == NULL) {
        asked = csc_arena_alloc(&node->arena, 1, sizeof(*asked));
        if (asked == NULL)
            return csc_fail_memory();
        asked->kind = part->kind;
        asked->name = csc_arena_strdup(&node->arena, part->name);
        asked->next = node->asked;
        node->asked = asked;
    }
    part->occurrence = asked->count++;
    return node->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* ---- What does not fit -------------------------------------------------- */

cascade_err
csc_part_mismatch(cascade_node *node, const char *format, ...)
{
    char text[MISMATCH_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    node->mismatch = csc_arena_strdup(&node->arena, text);
    if (node->mismatch == NULL)
        node->mismatch = "this build does not fit what is recorded";
    return csc_part_suspend(node, NULL);
}

static const char *
kind_word(csc_part_kind kind)
{
    switch (kind) {
    case CSC_PART_STEP:
        return "step";
    case CSC_PART_SLEEP:
        return "sleep";
    case CSC_PART_AWAIT:
        return "await";
    case CSC_PART_CHILD:
        return "child";
    case CSC_PART_NONE:
    case CSC_PART_GATHER:
    case CSC_PART_CANCEL:
    case CSC_PART_VERSION:
    case CSC_PART_SAGA:
    case CSC_PART_UNDO:
        break;
    }
    return "part";
}

bool
csc_part_is_undone(const cascade_node *node)
{
    return node->exec->undone_by != 0 || node->exec->over;
}

static const char *
article(csc_part_kind kind)
{
    return kind == CSC_PART_AWAIT ? "an" : "a";
}

/* Whether a part that is not recorded may not begin. A part of its name and
 * occurrence but of another kind that is still ahead was made by other code. */
static bool
is_refused(cascade_node *node, const csc_part *part)
{
    const csc_exec *rival = NULL;

    csc_assert(csc_lock_is_held(&node->engine->mutex));
    if (part->kind == CSC_PART_UNDO)
        return false;
    if (csc_part_is_undone(node)) {
        node->unwound = true;
        return true;
    }
    rival = csc_view_rival(&node->run->state, node->exec, part, &node->passed);
    if (rival == NULL)
        return false;
    (void)csc_part_mismatch(
        node,
        "%s \"%s\" (#%u) of node %s (function_id %d): recorded is %s %s of "
        "that "
        "name (function_id %d), this build asks for %s %s; register the code "
        "that recorded it under the node's name, give the new %s another name, "
        "or mark the change with cascade_node_version()",
        kind_word(part->kind), part->name, (unsigned)part->occurrence,
        node->exec->name, (int)node->exec->function_id, article(rival->part),
        kind_word(rival->part), (int)rival->function_id, article(part->kind),
        kind_word(part->kind), kind_word(part->kind));
    return true;
}

/* ---- Leaving ------------------------------------------------------------ */

/* Where the cascade leaves memory, an entry that has recorded nothing is not in
 * vain: its next part may begin. If that is a step that fails and is not
 * recorded, so may some that follow, not as many as there are: a function may
 * try one again and again. */
bool
csc_part_is_held_back_locked(cascade_node *node, const csc_part *part)
{
    csc_assert(csc_lock_is_held(&node->engine->mutex));
    if (csc_pause_is_on(node->engine, node->run))
        return true;
    if (!csc_room_must_leave(node->engine, node->run))
        return false;
    if (node->spared >= SPARED_MAX)
        return true;
    node->spared += part->kind == CSC_PART_STEP || part->kind == CSC_PART_UNDO;
    return false;
}

void
csc_part_note_recorded(cascade_node *node)
{
    node->spared = SPARED_MAX;
}

/* ---- Finding and passing ------------------------------------------------ */

const csc_exec *
csc_part_find(cascade_node *node, const csc_part *part, bool *leave)
{
    cascade_engine *engine = node->engine;
    csc_run *run = node->run;
    const csc_exec *found = NULL;
    bool late = false;

    csc_lock_take(&engine->mutex);
    /* What is late may be the copy that knows of no parts: see HELD in state.h.
     */
    late = atomic_load(&node->call->late);
    if (!late)
        found = csc_view_part(&run->state, node->exec, part);
    node->call->ids_left = csc_builder_ids_left(&run->state);
    *leave = late || (found == NULL &&
                      (!csc_backlog_may_begin(engine) || csc_run_is_gone(run) ||
                       csc_part_is_held_back_locked(node, part) ||
                       is_refused(node, part)));
    node->used_up = found == NULL && !*leave && node->call->ids_left == 0;
    *leave = *leave || node->used_up;
    if (found == NULL && !*leave &&
        (part->kind == CSC_PART_STEP || part->kind == CSC_PART_UNDO))
        engine->stats.attempts++;
    csc_lock_give(&engine->mutex);
    return found;
}

cascade_err
csc_part_pass(cascade_node *node, const csc_exec *part)
{
    size_t before = node->passed.count;
    cascade_err err = csc_state_add_id(&node->passed, part->function_id);

    if (node->passed.count > before && csc_view_is_work(part->part))
        node->works++;
    return err;
}

cascade_err
csc_part_pass_one(cascade_node *node, const csc_part *part,
                  const csc_exec *recorded)
{
    const char *error = recorded->error;
    cascade_err err = CASCADE_OK;

    if (recorded->status == CASCADE_EXECUTION_RUNNING)
        return csc_fail(CASCADE_ERR_CORRUPT,
                        "%s%s#%u is RUNNING, and its node runs too",
                        csc_kind_prefix(part->kind), part->name,
                        (unsigned)part->occurrence);
    err = csc_part_pass(node, recorded);
    if (err == CASCADE_OK && recorded->cancelled)
        return csc_part_cancelled(part);
    if (err != CASCADE_OK || recorded->status != CASCADE_EXECUTION_FAILED)
        return err;
    node->error_err = CASCADE_ERR_FINAL;
    node->error =
        csc_text_clean(&node->arena, error != NULL ? error : "it failed");
    return csc_fail(CASCADE_ERR_FINAL, "%s%s#%u failed for good",
                    csc_kind_prefix(part->kind), part->name,
                    (unsigned)part->occurrence);
}

cascade_err
csc_part_cancelled(const csc_part *part)
{
    return csc_fail(CASCADE_ERR_CANCELLED,
                    "%s%s: the cascade is cancelled; clean up and return",
                    csc_kind_prefix(part->kind), part->name);
}

/* Of a node that is to leave as there is no id for a part, the call fails. */
cascade_err
csc_part_suspend(cascade_node *node, csc_post *pending)
{
    if (node->used_up)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "a part of node %s: " CSC_USED_UP, node->exec->name);
    node->suspended = true;
    node->pending = pending;
    return csc_fail(CASCADE_SUSPENDED, "%s; return CASCADE_SUSPENDED from it",
                    node->mismatch != NULL ? node->mismatch : "the node waits");
}
