/* SPDX-License-Identifier: MIT
 *
 * Running one execution: from the ready list, through the node's function, to
 * the post of what came of it.
 *
 *   OK                    COMPLETE, with what the node put and spawned
 *   CASCADE_SUSPENDED     what the step left to be posted; nothing of the node
 *   FINAL, last attempt   FAIL; first what it registered to undo it, if any
 *                         (compensate.c)
 *   anything else         ATTEMPT: the row remembers the count and the time
 *                         of the next one
 *   the cascade is cancelled, and it has not begun   FAIL, without a call
 *   a build that does not fit what is recorded: FAIL, whatever it returned
 *   the run is gone       nothing: another engine owns the cascade, or it has
 *                         ended; the result is late
 *   its time is over      nothing: that is recorded already (time_limit_call.c)
 *   it has forked, and    nothing, and no lock is taken: all that is the
 *   returns in the child  parent's
 *   transactional         COMPLETE is committed with its transaction, all else
 *                         behind that (txn_slot.c)
 *
 * With fibers the function runs on one of the worker's, and where it waits for
 * a commit the worker goes on with others (strand.c). What holds its thread
 * runs on the worker's own stack; so does what is beyond fiber_max. One that
 * has fibers leaves that to one that has none, if such a one sleeps: they would
 * wait behind it.
 */
#include "node/worker.h"

#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/text.h"
#include "base/error.h"
#include "base/fiber.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "change/backoff.h"
#include "change/op.h"
#include "commit/lane.h"
#include "commit/node_txn.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/log_queue.h"
#include "held/node_def.h"
#include "held/room/backlog.h"
#include "held/run/advance.h"
#include "held/run/carrier.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/ready_queue.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "node/node.h"
#include "node/strand.h"
#include "node/txn_call.h"
#include "state/state.h"
#include "store/store.h"

#define SPARE_MAX 32 /* fibers that a worker keeps */

static bool
init_node(cascade_node *node, csc_strand *strand)
{
    csc_exec *exec = strand->call.exec;

    *node = (cascade_node){.engine = strand->worker->engine,
                           .run = strand->run,
                           .exec = exec,
                           .strand = strand,
                           .call = &strand->call,
                           .def = strand->def};
    node->arena.block_size = CSC_POST_BLOCK_SIZE;
    node->post = csc_op_create(CSC_POST_COMPLETE, exec->function_id);
    node->request_id =
        csc_node_path(node, exec->parent, exec->name, exec->occurrence);
    return node->post != NULL && node->request_id != NULL;
}

static void
fini_node(cascade_node *node)
{
    cJSON_Delete(node->input);
    for (size_t i = 0; i < node->tree_count; i++)
        cJSON_Delete(node->trees[i]);
    csc_mem_free(node->trees);
    csc_mem_free(node->passed.items);
    csc_arena_fini(&node->arena);
    csc_op_free(node->post);
    csc_op_free(node->pending);
}

static csc_post *
take_post(cascade_node *node)
{
    csc_post *post = node->post;

    node->post = NULL;
    return post;
}

static csc_post *
take_pending(cascade_node *node)
{
    csc_post *post = node->pending;

    node->pending = NULL;
    if (post != NULL)
        post->undoes = node->undos != NULL;
    return post;
}

/* It has failed for good, and all that it wanted undone is. */
static csc_post *
fail(cascade_node *node, const char *text, cascade_err *err)
{
    csc_post *post = node->post;

    post->kind = CSC_POST_FAIL;
    post->effects = (csc_effects){0};
    post->next_run = (csc_next_run){.node = NULL};
    post->attempts = node->exec->attempts + (node->exec->over ? 0 : 1);
    post->error = text;
    *err = csc_op_queue_add_failure(node->engine, node->exec, post);
    return *err == CASCADE_OK ? take_post(node) : NULL;
}

/* The first time with the `error` it has failed with; or that is recorded. */
static csc_post *
undo(cascade_node *node, const char *error, cascade_err *err)
{
    const char *failure = NULL;

    *err = csc_compensate_undo(node, error, &failure);
    if (*err == CASCADE_OK)
        return fail(node, failure, err);
    return *err == CASCADE_SUSPENDED ? take_pending(node) : NULL;
}

/* The node's post becomes a failure: what it produced is not recorded. */
static csc_post *
make_failure(cascade_node *node, cascade_err *err, bool final)
{
    csc_post *post = node->post;
    const csc_attempts *attempts = &node->def->attempts;
    int32_t failed = node->exec->attempts + 1;
    const char *text = csc_node_error_text(node, &post->arena, *err);

    if (final || !csc_backoff_left(attempts, failed))
        return node->undos != NULL ? undo(node, text, err)
                                   : fail(node, text, err);
    post->kind = CSC_POST_ATTEMPT;
    post->effects = (csc_effects){0};
    post->next_run = (csc_next_run){.node = NULL};
    post->attempts = failed;
    post->undoes = node->undos != NULL;
    post->error = text;
    post->delay_ms =
        csc_backoff_delay_ms(attempts, failed, &node->engine->store->random);
    *err = CASCADE_OK;
    return take_post(node);
}

/* What a build that does not fit has done is not undone by it. */
static csc_post *
mismatch_outcome(cascade_node *node, cascade_err *err)
{
    const char *text = csc_text_clean(&node->post->arena, node->mismatch);

    if (text != NULL)
        return fail(node, text, err);
    *err = CASCADE_ERR_NO_MEMORY;
    return NULL;
}

/* That it has failed is recorded: whatever it returns now, it has registered
 * what it could, unless something else made it leave. */
static csc_post *
undone_outcome(cascade_node *node, cascade_err *err)
{
    if (!node->suspended || node->unwound)
        return undo(node, NULL, err);
    *err = CASCADE_SUSPENDED;
    return NULL;
}

/* The node was told to leave, and did; or it went on, against the contract. */
static csc_post *
suspended_outcome(cascade_node *node, cascade_err *err)
{
    if (*err == CASCADE_SUSPENDED || node->pending == NULL)
        return take_pending(node);
    *err = CASCADE_ERR_FINAL;
    node->error_err = *err;
    node->error = "the node did not return CASCADE_SUSPENDED after a step or a "
                  "wait had returned it";
    return make_failure(node, err, true);
}

/* What to post: NULL for nothing; then `err` tells whether for want of memory.
 */
static csc_post *
outcome(cascade_node *node, cascade_err *err)
{
    if (node->mismatch != NULL)
        return mismatch_outcome(node, err);
    if (csc_part_is_undone(node))
        return undone_outcome(node, err);
    if (node->suspended)
        return suspended_outcome(node, err);
    if (*err == CASCADE_SUSPENDED) {
        node->error_err = CASCADE_ERR_FAILED;
        node->error = "the node returned CASCADE_SUSPENDED, though nothing had "
                      "suspended it";
        *err = CASCADE_ERR_FAILED;
    }
    if (*err == CASCADE_OK)
        *err = csc_continue_as_new_check(node);
    if (*err != CASCADE_OK)
        return make_failure(node, err,
                            *err == CASCADE_ERR_FINAL ||
                                csc_node_is_cancelled(node));
    node->post->attempts = node->exec->attempts + 1;
    return take_post(node);
}

static bool
is_in_node(const csc_worker *worker)
{
    return worker->node != NULL &&
           pthread_equal(worker->thread, pthread_self());
}

bool
csc_worker_is_inside_locked(const cascade_engine *engine)
{
    bool inside = is_in_node(&engine->workers->looper);

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (size_t i = 0;
         engine->workers->list != NULL && i < engine->options.worker_count; i++)
        inside = inside || is_in_node(&engine->workers->list[i]);
    return inside;
}

/* ---- Its stacks ---------------------------------------------------------- */

cascade_err
csc_worker_init(cascade_engine *engine, csc_worker *worker)
{
    worker->engine = engine;
    worker->own.worker = worker;
    return csc_node_def_has_fibers(engine)
               ? csc_carrier_init(engine, &worker->carrier)
               : CASCADE_OK;
}

static void
free_strand(csc_strand *strand)
{
    csc_fiber_free(strand->fiber);
    csc_mem_free(strand);
}

void
csc_worker_free_stacks(csc_worker *worker)
{
    while (worker->spare != NULL) {
        csc_strand *next = worker->spare->next;

        free_strand(worker->spare);
        worker->spare = next;
    }
    worker->spare_count = 0;
}

void
csc_worker_fini(csc_worker *worker)
{
    if (worker->carrier.engine != NULL)
        csc_carrier_fini(&worker->carrier);
}

/* A fiber for the next function. Without one that runs on the worker's own
 * stack. */
static void
prepare(const cascade_engine *engine, csc_worker *worker)
{
    csc_strand *strand = NULL;

    if (worker->spare != NULL || !csc_node_def_has_fibers(engine))
        return;
    strand = csc_mem_zalloc(1, sizeof(*strand));
    if (strand == NULL)
        return;
    if (csc_fiber_create(engine->options.worker_stack_size +
                             CSC_WORKER_STACK_MORE,
                         &strand->fiber) != CASCADE_OK) {
        csc_mem_free(strand);
        return;
    }
    strand->worker = worker;
    worker->spare = strand;
    worker->spare_count = 1;
}

static void
give_back(csc_worker *worker, csc_strand *strand)
{
    if (worker->spare_count >= SPARE_MAX) {
        free_strand(strand);
        return;
    }
    strand->next = worker->spare;
    worker->spare = strand;
    worker->spare_count++;
}

/* ---- Beginning, and going on --------------------------------------------- */

static csc_strand *
choose_stack(cascade_engine *engine, csc_worker *worker,
             const csc_node_def *def)
{
    csc_strand *strand = worker->spare;

    if (strand == NULL || !csc_node_def_goes_on_fiber_locked(engine, def))
        return &worker->own;
    worker->spare = strand->next;
    worker->spare_count--;
    worker->carrier.fibers++;
    engine->ready.carriers.fibers++;
    return strand;
}

/* The next execution, which is in its function from now on; a transactional one
 * once its transaction has begun. */
static csc_strand *
begin_locked(cascade_engine *engine, csc_worker *worker)
{
    csc_exec *exec = csc_advance_next(engine, &worker->native);
    const csc_node_def *def = NULL;
    csc_strand *strand = NULL;

    if (exec == NULL)
        return NULL;
    def = csc_node_def_find(engine, exec->name);
    strand = choose_stack(engine, worker, def);
    strand->left = false;
    strand->run = exec->run;
    strand->def = def;
    strand->native = worker->native;
    strand->unwanted = csc_run_is_unwanted(exec);
    strand->releases = false;
    strand->lane = NULL;
    if (strand->native == NULL)
        csc_time_limit_begin_locked(engine, &strand->call, exec);
    return strand;
}

static csc_strand *
go_on_locked(cascade_engine *engine, csc_worker *worker)
{
    csc_waiter *waiter = csc_carrier_next(&worker->carrier);

    if (waiter == NULL)
        return NULL;
    worker->native = NULL;
    csc_time_limit_go_on_locked(engine, waiter->call);
    return waiter->strand;
}

/* What would hold its thread is left to one whose fibers do not wait for it. */
static bool
leaves_locked(const csc_worker *worker)
{
    const cascade_engine *engine = worker->engine;
    const csc_exec *exec = NULL;

    if (worker->carrier.fibers == 0 || engine->ready.carriers.idle == NULL)
        return false;
    exec = csc_ready_queue_first(engine);
    return exec != NULL && !csc_node_def_goes_on_fiber_locked(
                               engine, csc_node_def_find(engine, exec->name));
}

bool
csc_worker_has_work_locked(csc_worker *worker)
{
    cascade_engine *engine = worker->engine;

    if (worker->carrier.first != NULL)
        return true;
    if (!csc_backlog_may_take(engine))
        return false;
    if (!leaves_locked(worker))
        return true;
    csc_ready_queue_call(engine);
    return false;
}

/* In turn one of its fibers goes on, and one begins; where there is no other,
 * always the one. */
static csc_strand *
choose_strand(cascade_engine *engine, csc_worker *worker)
{
    csc_strand *strand = NULL;

    csc_lock_take(&engine->mutex);
    worker->begins = !worker->begins;
    if (!worker->begins)
        strand = go_on_locked(engine, worker);
    if (strand == NULL && !leaves_locked(worker))
        strand = begin_locked(engine, worker);
    if (strand == NULL)
        strand = go_on_locked(engine, worker);
    if (strand != NULL) {
        worker->node = strand->def->name;
        if (csc_node_def_has_fibers(engine))
            csc_ready_queue_call(engine);
    }
    csc_lock_give(&engine->mutex);
    return strand;
}

/* ---- Running ------------------------------------------------------------- */

/* It has come as far as what is recorded. Behind what it has done just now it
 * may be about to register more: the next entry tells. */
static bool
may_undo(const cascade_node *node, const csc_post *post)
{
    return node->undos != NULL ||
           (post != NULL &&
            (post->kind == CSC_POST_STEP || post->kind == CSC_POST_CHILDREN));
}

/* The function has returned: takes what is to be posted. True when the thread
 * has entered the lane. */
static bool
leave_locked(cascade_engine *engine, csc_strand *strand,
             const cascade_node *node, csc_post *post, cascade_err err)
{
    csc_worker *worker = strand->worker;
    csc_run *run = strand->run;
    bool entered = false;
    bool late = csc_time_limit_end_locked(engine, &strand->call, post);
    bool kept = strand->native != NULL &&
                csc_node_txn_keep_locked(strand->native, late ? NULL : post);

    csc_assert(csc_lock_is_held(&engine->mutex) && strand->call.exec == NULL);
    worker->node = NULL;
    if (strand->fiber != NULL) {
        worker->carrier.fibers--;
        engine->ready.carriers.fibers--;
    }
    if (!late && node->suspended)
        node->exec->undoes = may_undo(node, post);
    if (late)
        csc_op_free(post);
    else if (post != NULL && !kept) {
        entered = engine->ready.count == 0 && worker->carrier.fibers == 0 &&
                  csc_lane_enter_locked(&engine->lanes[run->lane]);
        csc_op_queue_add(engine, run, post);
    } else if (node->suspended && !csc_run_is_gone(run)) {
        err = csc_due_queue_untake(&run->state, node->exec);
    }
    if (post == NULL && err == CASCADE_ERR_NO_MEMORY && !late &&
        !csc_run_is_gone(run))
        csc_drop_load_anew(engine, run, err);
    csc_advance_left(engine, run, late);
    return entered;
}

static cascade_err
call_node(cascade_node *node)
{
    csc_assert(csc_lock_is_none_held());
    (void)csc_ok();
    if (node->native != NULL)
        return csc_txn_call(node);
    csc_assert(!node->def->transactional);
    return csc_guard_node(node);
}

/* From the call of the function to the post of what came of it; on a fiber, or
 * on the worker's own stack. */
static void
run_strand(void *context)
{
    csc_strand *strand = context;
    cascade_engine *engine = strand->worker->engine;
    csc_lane *lane = &engine->lanes[strand->run->lane];
    csc_lane *native = strand->native;
    csc_post *post = NULL;
    cascade_node node;
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    if (native != NULL && !csc_node_txn_begin(engine, native, &strand->call,
                                              &strand->worker->node))
        return;
    if (init_node(&node, strand)) {
        node.native = native;
        err = strand->unwanted ? CASCADE_ERR_CANCELLED : call_node(&node);
        if (csc_origin_is_here(engine))
            post = outcome(&node, &err);
    }
    if (!csc_origin_is_here(engine))
        return;
    if (native != NULL && csc_node_txn_returned(native, post) != CASCADE_OK) {
        csc_op_free(post);
        post = NULL;
        err = CASCADE_ERR_NO_MEMORY;
    }
    if (engine->options.mode == CASCADE_MODE_INLINE)
        csc_advance_fire_due(engine); /* nobody did meanwhile */
    csc_lock_take(&engine->mutex);
    strand->lane = leave_locked(engine, strand, &node, post, err) ? lane : NULL;
    csc_lock_give(&engine->mutex);
    fini_node(&node);
    if (native != NULL)
        strand->releases = csc_node_txn_end(native);
}

/* Until it waits, or has ended: true. */
static bool
run_on_fiber(cascade_engine *engine, csc_strand *strand)
{
    int64_t begun_ns = csc_clock_now_ns(engine);
    bool ended = strand->left
                     ? csc_fiber_enter(strand->fiber)
                     : csc_fiber_begin(strand->fiber, run_strand, strand);

    strand->left = !ended;
    if (csc_origin_is_here(engine))
        csc_node_def_note_held(engine, strand->def,
                               csc_clock_now_ns(engine) - begun_ns);
    return ended;
}

bool
csc_worker_round(cascade_engine *engine, csc_worker *worker, bool *releases)
{
    csc_strand *strand = NULL;
    csc_lane *lane = NULL;
    bool ended = true;

    prepare(engine, worker);
    strand = choose_strand(engine, worker);
    if (strand == NULL)
        return false;
    if (strand->fiber != NULL)
        ended = run_on_fiber(engine, strand);
    else
        run_strand(strand);
    if (!csc_origin_is_here(engine))
        return false;
    lane = strand->lane;
    *releases = strand->releases;
    if (ended && strand->fiber != NULL)
        give_back(worker, strand);
    if (lane != NULL)
        csc_lane_serve(lane);
    else
        csc_log_queue_tell(engine);
    return true;
}
