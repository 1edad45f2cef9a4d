/* SPDX-License-Identifier: MIT
 *
 * Joins that are not to be run: their record is posted in their stead. If the
 * process dies before it is committed, the verdict follows from the rows again.
 */
#include "held/run/skipped_join.h"

#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/op.h"
#include "held/engine_state.h"
#include "held/run/op_queue.h"
#include "held/run/run.h"
#include "state/state.h"

static csc_post *
make_skip(const csc_exec *exec)
{
    csc_post *post = csc_op_create(CSC_POST_COMPLETE, exec->function_id);

    csc_assert(csc_join_verdict(exec) == CSC_VERDICT_SKIP);
    if (post != NULL)
        post->skipped = true;
    return post;
}

/* The first in its slots that ended badly. */
static const csc_exec *
find_culprit(const csc_state *state, const csc_exec *exec)
{
    csc_assert(exec->join != NULL);
    for (size_t i = 0; i < exec->after.count; i++)
        if (exec->join->slots[i].bad)
            return csc_view_find(state, exec->join->slots[i].function_id);
    return NULL;
}

static csc_post *
make_failure(const cascade_engine *engine, const csc_run *run,
             const csc_exec *exec)
{
    const csc_exec *culprit = find_culprit(&run->state, exec);
    csc_post *post = csc_op_create(CSC_POST_FAIL, exec->function_id);

    csc_assert(csc_join_verdict(exec) == CSC_VERDICT_FAIL);
    if (post == NULL || culprit == NULL) {
        csc_op_free(post);
        return NULL;
    }
    post->error = csc_arena_format(
        &post->arena,
        "not run: execution %d (node %s), which it comes after, "
        "has failed",
        (int)culprit->function_id, culprit->name);
    if (post->error == NULL ||
        csc_op_queue_add_failure(engine, exec, post) != CASCADE_OK) {
        csc_op_free(post);
        return NULL;
    }
    return post;
}

cascade_err
csc_skipped_join_post(cascade_engine *engine, csc_run *run,
                      const csc_exec *exec)
{
    csc_post *post = csc_join_verdict(exec) == CSC_VERDICT_SKIP
                         ? make_skip(exec)
                         : make_failure(engine, run, exec);

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (post == NULL)
        return csc_fail_memory();
    post->attempts = exec->attempts;
    csc_op_queue_add(engine, run, post);
    return CASCADE_OK;
}
