/* SPDX-License-Identifier: MIT
 *
 * Posts of a cascade: what is to be recorded of it, in the order in which it
 * came. They wait in the cascade until its lane takes them.
 */
#include "held/run/op_queue.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/effects.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/node_def.h"
#include "held/run/run.h"
#include "held/run/timer.h"
#include "state/state.h"

void
csc_op_queue_add(cascade_engine *engine, csc_run *run, csc_post *post)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    post->next = NULL;
    if (csc_run_is_gone(run)) {
        csc_run_free_posts(post, CASCADE_ERR_FENCED);
        return;
    }
    if (run->last_post != NULL)
        run->last_post->next = post;
    else
        run->first_post = post;
    run->last_post = post;
    csc_op_charge(post, csc_txn_slot_holds_locked(engine, run)
                            ? &engine->backlog_behind
                            : &engine->backlog);
    if (!csc_run_is_committing(run) && !csc_txn_slot_holds_locked(engine, run))
        csc_lane_queue_add_run_locked(&engine->lanes[run->lane], run);
    csc_assert(csc_run_is_sound(run));
}

cascade_err
csc_op_queue_add_slice(cascade_engine *engine, csc_run *run,
                       int32_t function_id)
{
    csc_post *post = csc_op_create(CSC_POST_SLICE, function_id);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (post == NULL)
        return csc_fail_memory();
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}

/* A name that no node can have, as other programs' may be, is not told to the
 * store: it might not even be kept there. No engine knows the one in its place.
 */
static const char *
nameable(const char *needs)
{
    if (needs == NULL || strcmp(needs, CSC_PAUSE_NAME) == 0 ||
        csc_check_foreign_name("node name", needs) == CASCADE_OK)
        return needs;
    return CSC_NOBODY_NAME;
}

cascade_err
csc_op_queue_add_free(cascade_engine *engine, csc_run *run, int64_t wake_at_ms,
                      const char *needs)
{
    csc_post *post = csc_op_create(CSC_POST_FREE, -1);

    csc_assert(csc_lock_is_held(&engine->mutex) && !csc_run_is_leaving(run));
    if (post == NULL)
        return csc_fail_memory();
    post->wake_at_ms = wake_at_ms;
    post->needs = nameable(needs);
    csc_run_close(run, CSC_RUN_FREEING);
    csc_timer_remove(engine, run);
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}

cascade_err
csc_op_queue_add_failure(const cascade_engine *engine, const csc_exec *exec,
                         csc_post *post)
{
    const csc_node_def *node = csc_node_def_find(engine, exec->name);

    csc_assert(post->kind == CSC_POST_FAIL &&
               post->function_id == exec->function_id);
    if (exec->external != NULL)
        return csc_effects_fail(&post->arena, post, exec);
    post->continued =
        exec->part != CSC_PART_NONE || /* its node is told, and may go on */
        (node != NULL && node->final_failure != CASCADE_FINAL_ERROR);
    if (node == NULL || node->instead == NULL)
        return CASCADE_OK;
    return csc_effects_instead(&post->arena, post, exec, node->instead);
}

cascade_err
csc_op_queue_add_overdue(cascade_engine *engine, csc_run *run,
                         const csc_exec *exec)
{
    csc_post *post = csc_op_create(CSC_POST_FAIL, exec->function_id);

    csc_assert(csc_lock_is_held(&engine->mutex) && exec->external != NULL);
    if (post == NULL)
        return csc_fail_memory();
    post->attempts = exec->attempts + 1;
    post->overdue = true;
    post->error = "the deadline passed";
    if (csc_effects_fail(&post->arena, post, exec) != CASCADE_OK) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}
