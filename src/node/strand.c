/* SPDX-License-Identifier: MIT
 *
 * Waiting for a commit, in the middle of a function.
 *
 *   on a fiber         the fiber is left, and the worker goes on with others;
 *                      whoever has recorded the post, or drops it, hands the
 *                      fiber back to its worker (carrier.c), which enters it
 *   on its own stack   the thread waits
 *
 * Where the lane is idle, and the worker would only wait, it commits itself:
 * then nobody has to be woken. That is done on the worker's own stack.
 */
#include "node/strand.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "commit/lane.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/run/op_queue.h"
#include "held/run/run.h"
#include "node/worker.h"

/* Whether its worker has nothing else to do meanwhile. */
static bool
is_alone_locked(const csc_strand *strand)
{
    const csc_worker *worker = strand->worker;

    return strand->fiber == NULL ||
           (worker->carrier.fibers == 1 && worker->engine->ready.count == 0);
}

/* Hands it to the lane, unless the function is late. */
static cascade_err
hand_over(csc_strand *strand, csc_post *post)
{
    cascade_engine *engine = strand->worker->engine;
    csc_lane *lane = &engine->lanes[strand->run->lane];
    cascade_err err = CASCADE_OK;

    strand->lane = NULL;
    csc_lock_take(&engine->mutex);
    err = csc_time_limit_check_call(&strand->call);
    if (err == CASCADE_OK) {
        if (is_alone_locked(strand) && csc_lane_enter_locked(lane))
            strand->lane = lane;
        csc_op_queue_add(engine, strand->run, post);
        if (strand->fiber != NULL)
            strand->worker->node = NULL;
    }
    csc_lock_give(&engine->mutex);
    return err;
}

/* On its own stack. */
static void
wait_here(csc_strand *strand)
{
    if (strand->lane != NULL)
        csc_lane_serve(strand->lane);
    while (sem_wait(&strand->waiter.woken) != 0)
        continue; /* a signal came */
}

cascade_err
csc_strand_wait(csc_strand *strand, csc_post *post, const csc_exec **step)
{
    csc_waiter *waiter = &strand->waiter;
    bool own = strand->fiber == NULL;
    cascade_err err = CASCADE_OK;

    *waiter = (csc_waiter){.carrier = own ? NULL : &strand->worker->carrier,
                           .strand = strand,
                           .call = &strand->call};
    (void)sem_init(&waiter->woken, 0, 0);
    post->waiter = waiter;
    err = hand_over(strand, post);
    if (err != CASCADE_OK)
        csc_op_free(post);
    else if (own)
        wait_here(strand);
    else
        csc_fiber_leave(strand->fiber);
    (void)sem_destroy(&waiter->woken);
    if (err != CASCADE_OK)
        return err;
    if (waiter->err != CASCADE_OK)
        return csc_fail(waiter->err, "the step was not recorded: %s",
                        cascade_err_text(waiter->err));
    if (waiter->step == NULL)
        return csc_fail(CASCADE_ERR_FENCED, "the cascade has ended or is owned "
                                            "by another engine");
    *step = waiter->step;
    return CASCADE_OK;
}
