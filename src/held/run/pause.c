/* SPDX-License-Identifier: MIT
 *
 * What is paused: a cascade, by an execution of its own (state.h), or a queue,
 * by a row that claims tell of. What has no slot of a queue with limits
 * (store_limits.h) is as if its queue were paused: it was claimed for its
 * messages, or the limits are newer than its claim. So is what was revived into
 * a queue that this engine does not serve: no claim tells it of that one.
 *
 *   a commit records the pause, or a claim tells of that of the queue
 *     ready         taken back: queued again
 *     in a function it goes on; its next part that is not recorded makes it
 *                   leave (part.c), and it is queued again. What it
 *                   returns is recorded
 *     queued, waits stay so; only what is over its time fails
 *     (time_limit_call.c)
 *   nothing of it runs any more
 *     cascade       given up with `needs` = CSC_PAUSE_NAME, which no user's
 *                   node is called, and which all engines look for: it is
 *                   claimed when its next time limit comes, or for its messages
 *     queue         given up as if it were not paused: the store keeps it from
 *                   being claimed, but for its messages, or until its turn
 *
 * A slot that no worker comes to for a second is given back, so that another
 * engine may begin what waits: the run is then as one without. One that was
 * taken over keeps it.
 *
 * A cancellation ends a pause: what is cancelled is to be cleaned up. It waits
 * for a slot as all do.
 *
 * Limits of executions are known by their nodes (time_limit_call.c). An engine
 * that does not know them all gives the cascade up for an hour at most, so that
 * another one comes by it; one that lives for a single call, at once.
 *
 * If the process dies, whoever claims the cascade finds the pause in the rows;
 * with its queue paused nobody does, until that is over.
 */
#include "held/run/pause.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/data/map.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/node_def.h"
#include "held/room/room.h"
#include "held/run/advance.h"
#include "held/run/drop.h"
#include "held/run/op_queue.h"
#include "held/run/ready_queue.h"
#include "held/run/run.h"
#include "held/run/timer.h"
#include "state/state.h"

/* ---- Whether ------------------------------------------------------------ */

/* Names of queues need no escapes. `flags` NULL: any that is served here. */
static bool
is_among(const cascade_engine *engine, const bool *flags, const char *queue,
         size_t len)
{
    for (size_t i = 0; i < engine->options.queue_count; i++)
        if ((flags == NULL || flags[i]) && strlen(engine->queues[i]) == len &&
            memcmp(engine->queues[i], queue, len) == 0)
            return true;
    return false;
}

bool
csc_pause_is_on_queue(const cascade_engine *engine, const char *queue)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return is_among(engine, engine->queues_paused, queue, strlen(queue)) ||
           is_among(engine, engine->queues_kept, queue, strlen(queue));
}

static bool
has_any(const cascade_engine *engine, const bool *flags)
{
    for (size_t i = 0; i < engine->options.queue_count; i++)
        if (flags[i])
            return true;
    return false;
}

/* Whether the run's own queue, as csc_builder_queue() knows it, is one of
 * these. */
static bool
is_in_one_of(const cascade_engine *engine, const csc_state *state,
             const bool *flags)
{
    csc_json_span queue;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!has_any(engine, flags))
        return false;
    if (state->meta == NULL ||
        !csc_json_read_member(state->meta, "queue", &queue) || queue.len < 2)
        return is_among(engine, flags, CSC_QUEUE_DEFAULT,
                        strlen(CSC_QUEUE_DEFAULT));
    return is_among(engine, flags, queue.data + 1, queue.len - 2);
}

bool
csc_pause_lacks_slot(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return (!run->slot || run->yields) && !run->astray &&
           (run->foreign ||
            is_in_one_of(engine, &run->state, engine->queues_kept));
}

bool
csc_pause_is_on(const cascade_engine *engine, const csc_run *run)
{
    const csc_state *state = &run->state;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (csc_view_is_paused(state))
        return true;
    if (csc_view_status(state) != CASCADE_RUNNING)
        return false;
    return (state->cancel == CSC_NO_PARENT &&
            is_in_one_of(engine, state, engine->queues_paused)) ||
           csc_pause_lacks_slot(engine, run);
}

void
csc_pause_note_place(cascade_engine *engine, csc_run *run)
{
    const csc_state *state = &run->state;
    csc_json_span queue;
    bool served = true;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (state->meta != NULL &&
        csc_json_read_member(state->meta, "queue", &queue) && queue.len >= 2)
        served = is_among(engine, NULL, queue.data + 1, queue.len - 2);
    else if (state->meta != NULL)
        served = is_among(engine, NULL, CSC_QUEUE_DEFAULT,
                          strlen(CSC_QUEUE_DEFAULT));
    run->foreign = !served;
    run->astray = false;
}

void
csc_pause_note_claim(cascade_engine *engine, csc_run *run,
                     const cascade_claimed *claimed)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    run->astray = !claimed->slot && claimed->message_kind[0] == '\0' &&
                  is_in_one_of(engine, &run->state, engine->queues_kept);
}

bool
csc_pause_is_held_back(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return csc_pause_is_on(engine, run) || csc_room_must_leave(engine, run);
}

void
csc_pause_begin(cascade_engine *engine, const bool *kept)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(engine->runs.count == 0);
    memcpy(engine->queues_kept, kept,
           engine->options.queue_count * sizeof(*kept));
}

void
csc_pause_note_queues(cascade_engine *engine, const bool *paused,
                      const bool *kept)
{
    size_t size = engine->options.queue_count * sizeof(*paused);
    size_t at = 0;
    csc_run *run = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (memcmp(engine->queues_paused, paused, size) == 0 &&
        memcmp(engine->queues_kept, kept, size) == 0)
        return;
    memcpy(engine->queues_paused, paused, size);
    memcpy(engine->queues_kept, kept, size);
    run = csc_map_next(&engine->runs, &at);
    while (run != NULL && engine->incarnation.attached) {
        csc_advance_run(engine, run);
        run = csc_map_next(&engine->runs, &at);
    }
}

/* ---- Limits ------------------------------------------------------------- */

int64_t
csc_pause_until(const csc_run *run)
{
    const csc_state *state = &run->state;
    const csc_exec *first = csc_due_first_overdue(state);
    int64_t until_ms = state->deadline_ms;

    csc_assert(csc_lock_is_held(&run->engine->mutex));
    if (first != NULL &&
        (until_ms == CASCADE_TIME_NONE || csc_due_queue_time(first) < until_ms))
        until_ms = csc_due_queue_time(first);
    return until_ms;
}

/* Whether its limits can be told here. */
static bool
knows_all(const cascade_engine *engine, const csc_state *state)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    for (size_t i = 0; i < state->exec_count; i++) {
        const csc_exec *exec = state->execs[i].exec;

        if (exec != NULL && exec->status == CASCADE_EXECUTION_RUNNING &&
            exec->part == CSC_PART_NONE &&
            csc_node_def_find(engine, exec->name) == NULL)
            return false;
    }
    return true;
}

/* ---- Holding back ------------------------------------------------------- */

/* Of a list of its own that may run, or wait for a transaction. */
static cascade_err
take_back(cascade_engine *engine, csc_run *run, const csc_ready *list)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex) && !csc_run_is_gone(run));
    while (list->first != NULL && err == CASCADE_OK) {
        csc_exec *exec = list->first;

        csc_drop_unready(engine, exec);
        err = csc_due_queue_untake(&run->state, exec);
    }
    return err;
}

/* First what waits for a lane, which the others may leave to it. */
static cascade_err
take_all_back(cascade_engine *engine, csc_run *run)
{
    csc_exec *aside = run->aside;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex) && run->active > 0);
    if (aside != NULL) {
        csc_drop_unready(engine, aside);
        err = csc_due_queue_untake(&run->state, aside);
        csc_assert(run->aside == NULL);
    }
    if (err == CASCADE_OK)
        err = take_back(engine, run, &run->waiting);
    for (int p = 0; p < CSC_PRIORITIES && err == CASCADE_OK; p++)
        err = take_back(engine, run, &run->ready[p]);
    return err;
}

cascade_err
csc_pause_hold_back(cascade_engine *engine, csc_run *run)
{
    csc_state *state = &run->state;
    csc_exec *exec = NULL;
    cascade_err err = run->active > 0 ? take_all_back(engine, run) : CASCADE_OK;

    csc_assert(csc_lock_is_held(&engine->mutex) && !csc_run_is_committing(run));
    exec = csc_due_first_overdue(state);
    while (err == CASCADE_OK && exec != NULL &&
           csc_due_queue_time(exec) <= engine->clock.confirmed_ms) {
        csc_due_queue_dispatch(state, exec);
        err = csc_op_queue_add_overdue(engine, run, exec);
        exec = csc_due_first_overdue(state);
    }
    return err;
}

/* ---- Giving up ---------------------------------------------------------- */

/* When somebody is to claim a cascade that is paused. */
static int64_t
paused_wake_at(const cascade_engine *engine, const csc_run *run, int64_t now_ms,
               int64_t limit_ms)
{
    int64_t wake_at = csc_clock_add(now_ms, CSC_DELAY_MAX_MS);

    csc_assert(csc_view_is_paused(&run->state));
    if (!knows_all(engine, &run->state))
        wake_at = csc_clock_add(
            now_ms, engine->incarnation.brief ? 0 : CSC_IDLE_RUN_MS);
    return limit_ms != CASCADE_TIME_NONE && limit_ms < wake_at ? limit_ms
                                                               : wake_at;
}

/* What waits for its turn keeps its place among those of its key: a message
 * does not send it behind them. */
static int64_t
turn_at(const csc_run *run, int64_t wake_at_ms)
{
    return wake_at_ms > run->state.created_at_ms ? wake_at_ms
                                                 : run->state.created_at_ms;
}

/* When somebody is to claim one whose queue is, once that is over, or one that
 * leaves. */
static int64_t
later_at(const cascade_engine *engine, const csc_run *run, int64_t now_ms,
         int64_t limit_ms)
{
    int64_t wake_at = csc_due_queue_wake_at(&run->state);

    if (wake_at == CASCADE_TIME_NONE)
        wake_at = csc_clock_add(now_ms, CSC_IDLE_RUN_MS);
    if (limit_ms != CASCADE_TIME_NONE && limit_ms < wake_at)
        wake_at = limit_ms;
    if (wake_at > now_ms)
        return wake_at;
    return csc_pause_lacks_slot(engine, run) ? turn_at(run, wake_at) : now_ms;
}

cascade_err
csc_pause_rest_later(cascade_engine *engine, csc_run *run, int64_t limit_ms)
{
    int64_t now_ms = csc_clock_now_ms(engine);

    csc_assert(csc_lock_is_held(&engine->mutex) && run->active == 0);
    engine->stats.parked++;
    return csc_op_queue_add_free(engine, run,
                                 later_at(engine, run, now_ms, limit_ms), NULL);
}

cascade_err
csc_pause_rest_paused(cascade_engine *engine, csc_run *run, int64_t wake_at_ms)
{
    int64_t now_ms = csc_clock_now_ms(engine);

    csc_assert(csc_lock_is_held(&engine->mutex) && run->active == 0);
    if (wake_at_ms != CASCADE_TIME_NONE && wake_at_ms <= now_ms)
        return csc_timer_set(engine, run, wake_at_ms);
    if (!csc_view_is_paused(&run->state))
        return csc_pause_rest_later(engine, run, wake_at_ms);
    engine->stats.parked++;
    return csc_op_queue_add_free(
        engine, run, paused_wake_at(engine, run, now_ms, wake_at_ms),
        CSC_PAUSE_NAME);
}

/* ---- Slots that nobody uses --------------------------------------------- */

/* Nothing of it has begun here. What was taken over is kept: given back it
 * would be forgiven that (S47). */
static bool
waits_for_worker(const csc_run *run)
{
    size_t count = 0;

    csc_assert(csc_lock_is_held(&run->engine->mutex));
    if (run->takeovers > 0 || run->worked || run->first_post != NULL ||
        csc_run_is_committing(run) || csc_run_is_leaving(run) ||
        run->active == 0)
        return false;
    for (int p = 0; p < CSC_PRIORITIES; p++)
        for (const csc_exec *exec = run->ready[p].first; exec != NULL;
             exec = exec->ready_next)
            count++;
    return count == run->active;
}

void
csc_pause_yield(cascade_engine *engine, int64_t before_ns)
{
    size_t at = 0;
    csc_run *run = csc_map_next(&engine->runs, &at);

    csc_assert(csc_lock_is_held(&engine->mutex));
    while (run != NULL && engine->incarnation.attached) {
        if (run->slot && run->slot_at_ns < before_ns && waits_for_worker(run)) {
            run->yields = true;
            if (csc_pause_lacks_slot(engine, run))
                csc_advance_run(engine, run);
            else
                run->yields = false; /* its queue has no limits any more */
        }
        run = csc_map_next(&engine->runs, &at);
    }
}
