/* SPDX-License-Identifier: MIT
 *
 * What a straight-line node is made of, whatever the kind: parts are counted as
 * they are asked for, found by kind, name and occurrence, and passed.
 */
#include "engine/node.h"

#include <string.h>

#include "base/error.h"

cascade_err
csc_node_count_part(cascade_node *node, csc_part *part)
{
    csc_asked *asked = node->asked;

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

const csc_exec *
csc_node_find_part(const cascade_node *node, const csc_part *part, bool *leave)
{
    cascade_engine *engine = node->engine;
    csc_run *run = node->run;
    const csc_exec *found = NULL;

    pthread_mutex_lock(&engine->mutex);
    found = csc_state_part(&run->state, node->exec, part, node->passed.count);
    *leave = found == NULL && (!csc_run_may_begin(engine) || run->gone);
    if (found == NULL && !*leave && part->kind == CSC_PART_STEP)
        engine->stats.attempts++;
    pthread_mutex_unlock(&engine->mutex);
    return found;
}

cascade_err
csc_node_pass_part(cascade_node *node, const csc_part *part,
                   const csc_exec *recorded)
{
    const char *error = recorded->error;

    if (recorded->status == CASCADE_EXECUTION_RUNNING)
        return csc_fail(CASCADE_ERR_CORRUPT,
                        "%s%s#%u is RUNNING, and its node runs too",
                        csc_state_prefix(part->kind), part->name,
                        (unsigned)part->occurrence);
    if (recorded->cancelled)
        return csc_node_cancelled(part);
    if (recorded->status != CASCADE_EXECUTION_FAILED)
        return csc_state_add_id(&node->passed, recorded->function_id);
    node->error_err = CASCADE_ERR_FINAL;
    node->error =
        csc_node_clean(&node->arena, error != NULL ? error : "it failed");
    return csc_fail(CASCADE_ERR_FINAL, "%s%s#%u failed for good",
                    csc_state_prefix(part->kind), part->name,
                    (unsigned)part->occurrence);
}

cascade_err
csc_node_cancelled(const csc_part *part)
{
    return csc_fail(CASCADE_ERR_CANCELLED,
                    "%s%s: the cascade is cancelled; clean up and return",
                    csc_state_prefix(part->kind), part->name);
}

cascade_err
csc_node_suspend(cascade_node *node, csc_post *pending)
{
    node->suspended = true;
    node->pending = pending;
    return csc_fail(CASCADE_SUSPENDED,
                    "the node waits; return CASCADE_SUSPENDED from it");
}
