/* SPDX-License-Identifier: MIT
 *
 * Runs in memory: what is ready, what waits for a time, what is given up.
 *
 * csc_advance_run() is where a run's future is decided, after every change of
 * its state and whenever nothing of it is active any more:
 *
 *   something may run now             -> ready list
 *   a wait is over                    -> its end is posted
 *   a join is not to be run           -> its record is posted (skipped_join.c)
 *   it is completed from outside      -> that it waits is posted, or that its
 *                                        deadline has come
 *   its time is over                  -> its failure is posted
 *   it waits for a time soon          -> timer heap
 *   it waits for long                 -> FREE with wake_at (parked); for a
 *                                        signal not at once
 *   only nodes nobody here knows      -> FREE with needs
 *   all has ended (found so on load)  -> FREE, which the builder makes an END
 *
 * Of what is paused nothing begins, and no time ends a wait (pause.c).
 *
 * Nothing begins while a commit of the run is in flight: that may be about to
 * end it, as a cancellation does with what has not begun. The run advances once
 * the commit is done.
 *
 * A run taken over three times without a commit is a suspect, and no more: an
 * engine that dies takes all that it holds with it. A suspect is the only one
 * the engine claims, and its executions run one at a time, so that when it
 * takes the process down once more, it is known which one did it. Such a claim
 * is a trial (S47), and the deaths in trial are what is held against it:
 *
 *   takeovers 0 to 2      claimed with others; a death is takeovers + 1
 *   from 3 on             a suspect, claimed alone: trial + 1
 *     trial 1 to limit    it runs
 *     trial limit + 1     so many trials ended in a death: it is loaded, and
 *                         what is to run fails instead
 *     beyond              that took an engine down too: it is not even loaded,
 *                         and ended unread (end_unloaded.c)
 *
 * A commit of it makes both 0; a clean stop takes its own trial back. A claim
 * whose answer was lost, and a lease that was lost by a stall, count: from
 * outside they are no different from a death, and what makes a process hang
 * long enough to lose its lease is no better than what kills it.
 */
#include "held/run/run.h"

#include <string.h>

#include "base/data/map.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/run/carrier.h"
#include "held/run/sealing.h"
#include "held/wakeup.h"
#include "state/reset_plan.h"
#include "state/state.h"

#define WRECK_BYTES ((size_t)4 * 1024 * 1024) /* that are freed at once */
#define WRECK_PORTION 10000 /* of what is more; executions and events */

/* ---- Life --------------------------------------------------------------- */

csc_run *
csc_run_create(cascade_engine *engine, const cascade_uuid *id)
{
    csc_run *run = csc_mem_zalloc(1, sizeof(*run));

    if (run == NULL)
        return NULL;
    csc_state_init(&run->state, id);
    run->engine = engine;
    run->lane = csc_run_lane(engine, id);
    run->limits_to = -1;
    run->refs = 1;
    csc_assert(run->life == CSC_RUN_LOADING && run->lane < engine->lane_count);
    return run;
}

uint32_t
csc_run_lane(const cascade_engine *engine, const cascade_uuid *id)
{
    csc_assert(engine->lane_count > 0);
    return id->bytes[15] % engine->lane_count;
}

void
csc_run_note_claim(csc_run *run, const cascade_claimed *claimed)
{
    csc_assert(run->life == CSC_RUN_LOADING ||
               csc_lock_is_held(&run->engine->mutex));
    run->takeovers = claimed->takeovers;
    run->trials = claimed->trials;
    if (csc_run_is_held(run) && run->slot != claimed->slot)
        run->engine->mailbox.slots_held += claimed->slot ? 1 : (size_t)-1;
    run->slot = claimed->slot;
    run->yields = false;
    run->slot_at_ns = csc_clock_now_ns(run->engine);
}

cascade_claimed
csc_run_claimed(const csc_run *run)
{
    return (cascade_claimed){.cascade_id = run->state.id,
                             .takeovers = run->takeovers,
                             .trials = run->trials,
                             .slot = run->slot};
}

void
csc_run_ref(csc_run *run)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex) && run->refs > 0);
    run->refs++;
}

static void
free_run(csc_run *run)
{
    csc_assert(run->refs == 0);
    csc_sealing_fini(run);
    csc_state_fini(&run->state);
    csc_reset_plan_free(run->plan);
    csc_mem_free(run);
}

/* What is large is freed by the housekeeper, in portions, without the lock. */
void
csc_run_unref(csc_run *run)
{
    cascade_engine *engine = run->engine;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(run->refs > 0);
    run->refs--;
    if (run->refs > 0)
        return;
    csc_assert(run->life == CSC_RUN_LOADING || csc_run_is_gone(run));
    csc_run_free_posts(run->first_post, CASCADE_ERR_FENCED);
    csc_room_give_place(engine, run);
    if (csc_state_bytes(&run->state) <= WRECK_BYTES) {
        csc_room_leave(engine, run);
        free_run(run);
        return;
    }
    run->wreck_next = engine->reloads.wrecks;
    engine->reloads.wrecks = run;
    csc_wakeup_house_locked(engine);
}

void
csc_run_clear_wreck(cascade_engine *engine)
{
    csc_run *run = NULL;
    bool freed = false;

    csc_lock_take(&engine->mutex);
    run = engine->reloads.wrecks;
    if (run != NULL)
        engine->reloads.wrecks = run->wreck_next;
    csc_lock_give(&engine->mutex);
    if (run == NULL)
        return;
    freed = csc_state_free_some(&run->state, WRECK_PORTION);
    csc_lock_take(&engine->mutex);
    if (freed) {
        csc_room_leave(engine, run);
    } else {
        run->wreck_next = engine->reloads.wrecks;
        engine->reloads.wrecks = run;
    }
    csc_lock_give(&engine->mutex);
    if (freed)
        free_run(run);
}

void
csc_run_clear_wrecks(cascade_engine *engine)
{
    csc_assert(engine->calls.running == 0);
    while (engine->reloads.wrecks != NULL) {
        csc_run *next = engine->reloads.wrecks->wreck_next;

        free_run(engine->reloads.wrecks);
        engine->reloads.wrecks = next;
    }
}

cascade_err
csc_run_add(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (csc_map_put(&engine->runs, &run->state.id, run) != 0)
        return csc_fail_memory();
    csc_assert(run->life == CSC_RUN_LOADING);
    run->life = CSC_RUN_HELD;
    engine->mailbox.slots_held += run->slot;
    csc_run_ref(run);
    csc_room_count(engine, run);
    csc_room_begin_turn(engine, run);
    return CASCADE_OK;
}

void
csc_run_close(csc_run *run, csc_run_life life)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex) && life < CSC_RUN_GONE);
    csc_assert(csc_run_is_held(run) && life > run->life);
    run->life = life;
}

void
csc_run_end_commit(csc_run *run)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex));
    csc_assert(run->commit == CSC_COMMIT_BEGUN);
    run->commit = CSC_COMMIT_NONE;
}

#ifdef CASCADE_ASSERTS
/* In a list, in a batch, or held back by a transaction. */
static bool
has_commit(const csc_run *run)
{
    return run->commit != CSC_COMMIT_NONE || run->native != NULL ||
           run->engine->txn.turn == run;
}

static bool
is_idle(const csc_run *run)
{
    return run->first_post == NULL && run->timer_at == 0 &&
           run->native == NULL && run->in_hand_at == NULL;
}

static bool
is_out(const csc_run *run)
{
    return is_idle(run) && run->engine->txn.turn != run &&
           run->engine->room.large != run && run->aside == NULL &&
           run->waiting.first == NULL;
}

/* One of mailbox.in_hand receives, and has more. */
static bool
is_mail_sound(const csc_run *run)
{
    return run->in_hand_at == NULL ||
           (*run->in_hand_at == run && run->mail == CSC_MAIL_RECEIVING_MORE);
}

static bool
is_place_sound(const csc_run *run)
{
    if ((run->first_post == NULL) != (run->last_post == NULL) ||
        (run->last_post != NULL && run->last_post->next != NULL))
        return false;
    if (run->commit == CSC_COMMIT_QUEUED && run->native != NULL)
        return false;
    return run->extent == CSC_EXTENT_WHOLE || run->active == 0;
}

bool
csc_run_is_sound(const csc_run *run)
{
    if (run->refs == 0 || !is_place_sound(run) || !is_mail_sound(run))
        return false;
    switch (run->life) {
    case CSC_RUN_LOADING:
        return is_idle(run) && run->commit == CSC_COMMIT_NONE;
    case CSC_RUN_HELD:
        return run->first_post == NULL || has_commit(run);
    case CSC_RUN_FREEING:
    case CSC_RUN_RELOADING:
        return has_commit(run);
    case CSC_RUN_GONE:
        return is_out(run);
    case CSC_RUN_EXPELLED:
        return is_out(run) && run->active > 0;
    }
    return false;
}
#endif

void
csc_run_free_posts(csc_post *posts, cascade_err err)
{
    while (posts != NULL) {
        csc_post *next = posts->next;

        if (posts->waiter != NULL) {
            posts->waiter->err = err;
            csc_carrier_release(posts->waiter, NULL);
        }
        csc_op_free(posts);
        posts = next;
    }
}

bool
csc_run_is_unwanted(const csc_exec *exec)
{
    csc_assert(csc_lock_is_held(&exec->run->engine->mutex));
    return exec->run->state.cancel != CSC_NO_PARENT && exec->parts.count == 0 &&
           !exec->over;
}
