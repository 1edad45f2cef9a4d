/* SPDX-License-Identifier: MIT
 *
 * What may run: for each priority a round of the cascades that have any, and
 * for each of these a list, first come, first served. One execution of the
 * first cascade is taken, and that goes to the end of the round: so a cascade
 * of one node waits for one of each other, and not for all that a fan-out has.
 *
 *   round of priority p     first --> A <--> B <--> C <-- last
 *                                     |      |      |
 *   their lists of p                  1      1      1
 *                                     2             2
 *
 * The lists are in the runs, so nothing is allocated here. Those that wait for
 * a transaction (txn_slot.c) are in lists of their own meanwhile, in no round.
 *
 * AGEING (priority_age_ms). Of the rounds the highest goes first, which may
 * starve the others. With ageing a cascade that has waited for its turn n times
 * that long counts as of a priority n higher. Who comes into a round goes to
 * its end, so the first one of each has waited longest: only these are
 * compared. One that is let in at the front counts as long as whom it passes.
 *
 * A suspect goes in front of everything: nothing else is claimed until it has
 * shown what it does.
 */
#include "held/run/ready_queue.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/txn_slot.h"
#include "held/node_def.h"
#include "held/room/reload.h"
#include "held/run/run.h"
#include "held/wakeup.h"
#include "state/state.h"

#define SINCE_EVER INT64_MIN /* a suspect's */

/* ---- Lists --------------------------------------------------------------- */

#ifdef CASCADE_ASSERTS
static bool
is_of_run(const csc_run *run, const csc_ready *list)
{
    return list >= run->ready && list < run->ready + CSC_PRIORITIES;
}

static bool
is_linked(const csc_exec *exec)
{
    const csc_ready *list = exec->ready_list;

    return (exec->ready_before != NULL ? exec->ready_before->ready_next == exec
                                       : list->first == exec) &&
           (exec->ready_next != NULL ? exec->ready_next->ready_before == exec
                                     : list->last == exec);
}

bool
csc_ready_queue_is_sound(const csc_exec *exec)
{
    switch (exec->turn) {
    case CSC_TURN_NONE:
        return exec->ready_list == NULL;
    case CSC_TURN_READY:
    case CSC_TURN_RESUMED:
        return is_of_run(exec->run, exec->ready_list) && is_linked(exec) &&
               exec->call == NULL;
    case CSC_TURN_ASIDE:
        return !is_of_run(exec->run, exec->ready_list) && is_linked(exec) &&
               exec->call == NULL;
    }
    return false;
}
#endif

static void
put(csc_ready *list, csc_exec *exec, bool first)
{
    csc_exec *before = first ? NULL : list->last;
    csc_exec *next = first ? list->first : NULL;

    csc_assert(exec->turn == CSC_TURN_NONE && exec->ready_list == NULL);
    exec->ready_list = list;
    exec->ready_before = before;
    exec->ready_next = next;
    if (before != NULL)
        before->ready_next = exec;
    else
        list->first = exec;
    if (next != NULL)
        next->ready_before = exec;
    else
        list->last = exec;
}

static void
take_out(csc_exec *exec)
{
    csc_ready *list = exec->ready_list;

    csc_assert(csc_ready_queue_is_sound(exec));
    if (exec->ready_before != NULL)
        exec->ready_before->ready_next = exec->ready_next;
    else
        list->first = exec->ready_next;
    if (exec->ready_next != NULL)
        exec->ready_next->ready_before = exec->ready_before;
    else
        list->last = exec->ready_before;
    exec->ready_list = NULL;
    exec->turn = CSC_TURN_NONE;
}

/* ---- Rounds -------------------------------------------------------------- */

static csc_round *
round_of(cascade_engine *engine, const csc_run *run, const csc_ready *list)
{
    csc_assert(is_of_run(run, list));
    return &engine->ready.rounds[list - run->ready];
}

static void
leave(csc_round *round, csc_ready *list)
{
    csc_assert(list->before != NULL ? list->before->next == list
                                    : round->first == list);
    if (list->before != NULL)
        list->before->next = list->next;
    else
        round->first = list->next;
    if (list->next != NULL)
        list->next->before = list->before;
    else
        round->last = list->before;
}

static void
join_last(cascade_engine *engine, csc_round *round, csc_ready *list)
{
    csc_assert((round->first == NULL) == (round->last == NULL));
    if (engine->options.priority_age_ms > 0)
        list->since_ns = csc_clock_now_ns(engine);
    list->before = round->last;
    list->next = NULL;
    if (round->last != NULL)
        round->last->next = list;
    else
        round->first = list;
    round->last = list;
}

static void
join_first(cascade_engine *engine, csc_round *round, csc_ready *list)
{
    csc_assert(round->first == NULL || round->first->before == NULL);
    if (round->first == NULL) {
        join_last(engine, round, list);
        return;
    }
    list->since_ns = round->first->since_ns;
    list->before = NULL;
    list->next = round->first;
    round->first->before = list;
    round->first = list;
}

/* What the first of that round counts as. */
static int64_t
rank(const cascade_engine *engine, int priority, int64_t now_ns)
{
    const csc_ready *list = engine->ready.rounds[priority].first;
    int64_t age_ns = engine->options.priority_age_ms * CSC_MS_NS;

    csc_assert(engine->ready.rounds[priority].first != NULL);
    if (list->since_ns == SINCE_EVER)
        return INT64_MAX;
    return age_ns > 0 ? priority + (now_ns - list->since_ns) / age_ns
                      : priority;
}

/* The list whose turn it is; NULL without one. */
static csc_ready *
choose(const cascade_engine *engine)
{
    bool ages = engine->options.priority_age_ms > 0;
    int64_t now_ns = ages ? csc_clock_now_ns(engine) : 0;
    int64_t highest = 0;
    csc_ready *chosen = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex));
    for (int p = CSC_PRIORITIES - 1; p >= 0 && (chosen == NULL || ages); p--) {
        csc_ready *list = engine->ready.rounds[p].first;

        if (list == NULL ||
            (chosen != NULL && rank(engine, p, now_ns) <= highest))
            continue;
        chosen = list;
        highest = rank(engine, p, now_ns);
    }
    return chosen;
}

/* ---- What may run -------------------------------------------------------- */

int32_t
csc_ready_queue_priority(const csc_exec *exec)
{
    csc_assert(exec->run != NULL);
    return exec->priority != 0 ? exec->priority : exec->run->state.priority;
}

static void
enter(cascade_engine *engine, int32_t priority, csc_exec *exec, csc_place place)
{
    csc_round *round = NULL;
    csc_ready *list = NULL;
    bool waits = false;

    csc_assert(priority >= 0 && priority < CSC_PRIORITIES);
    round = &engine->ready.rounds[priority];
    list = &exec->run->ready[priority];
    waits = list->first != NULL;
    put(list, exec, place != CSC_PLACE_LAST);
    if (place == CSC_PLACE_NEXT && waits)
        leave(round, list);
    if (place == CSC_PLACE_NEXT)
        join_first(engine, round, list);
    else if (!waits)
        join_last(engine, round, list);
}

const csc_exec *
csc_ready_queue_first(const cascade_engine *engine)
{
    const csc_ready *list = choose(engine);

    return list != NULL ? list->first : NULL;
}

void
csc_ready_queue_call(cascade_engine *engine)
{
    const csc_exec *exec = NULL;

    if (engine->ready.waiting == 0)
        return;
    if (!csc_node_def_has_fibers(engine)) {
        pthread_cond_signal(&engine->ready.work_cond);
        return;
    }
    exec = csc_ready_queue_first(engine);
    if (exec != NULL)
        csc_carrier_call(engine,
                         !csc_node_def_goes_on_fiber_locked(
                             engine, csc_node_def_find(engine, exec->name)));
}

void
csc_ready_queue_call_all(cascade_engine *engine)
{
    pthread_cond_broadcast(&engine->ready.work_cond);
    csc_carrier_call_all(engine);
}

void
csc_ready_queue_add(cascade_engine *engine, csc_exec *exec, csc_place place)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->reloads.suspect == exec->run) {
        enter(engine, CSC_PRIORITIES - 1, exec, CSC_PLACE_NEXT);
        exec->ready_list->since_ns = SINCE_EVER;
    } else {
        enter(engine, csc_ready_queue_priority(exec), exec, place);
    }
    exec->turn = CSC_TURN_READY;
    engine->ready.count++;
    csc_assert(csc_ready_queue_is_sound(exec));
    csc_ready_queue_call(engine);
    csc_wakeup_host_locked(engine);
}

void
csc_ready_queue_set_aside(cascade_engine *engine, csc_ready *list,
                          csc_exec *exec, bool first)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    put(list, exec, first);
    exec->turn = CSC_TURN_ASIDE;
    engine->txn.aside_count++;
    csc_assert(csc_ready_queue_is_sound(exec));
}

void
csc_ready_queue_take_out(cascade_engine *engine, csc_exec *exec)
{
    csc_ready *list = exec->ready_list;
    csc_turn turn = exec->turn;

    csc_assert(csc_lock_is_held(&engine->mutex));
    csc_assert(turn != CSC_TURN_NONE);
    take_out(exec);
    if (turn == CSC_TURN_ASIDE) {
        csc_assert(engine->txn.aside_count > 0);
        engine->txn.aside_count--;
        if (exec->run->aside == exec)
            exec->run->aside = NULL;
        return;
    }
    csc_assert(engine->ready.count > 0);
    if (list->first == NULL)
        leave(round_of(engine, exec->run, list), list);
    engine->ready.count--;
    if (turn == CSC_TURN_RESUMED)
        engine->txn.resumed_count--;
}

csc_exec *
csc_ready_queue_pop(cascade_engine *engine)
{
    csc_ready *list = choose(engine);
    csc_exec *exec = NULL;
    bool more = false;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (list == NULL)
        return NULL;
    exec = list->first;
    more = exec->ready_next != NULL;
    csc_ready_queue_take_out(engine, exec);
    if (more) {
        csc_round *round = round_of(engine, exec->run, list);

        leave(round, list);
        join_last(engine, round, list);
    }
    csc_assert(exec->turn == CSC_TURN_NONE);
    return exec;
}
