/* SPDX-License-Identifier: MIT
 *
 * Carriers. A worker of an engine with `fibers` runs many nodes in turn: where
 * one waits for a commit the next begins, or goes on. Only where there is none
 * it sleeps.
 *
 *                  nothing to do
 *     AWAKE ------------------------> asleep: idle, or busy if it has fibers
 *       ^ looks                          |
 *       +--------- called <--------------+  something is ready; a fiber of its
 *                                           own may go on; the engine stops
 *
 * Who has made something ready calls one that sleeps, but not more of them than
 * there is ready: one that was called and has not looked yet will take it. A
 * called one may find a fiber of its own to go on with, which may take long. So
 * each, before it enters a function, looks whether more is ready than were
 * called, and calls the next (csc_worker_round). What is ready never waits for
 * a function to return while somebody sleeps.
 *
 * The last to fall asleep is called first, and those with fibers before those
 * without: few threads do the work if few can. But for a node that is known to
 * block its thread: its fibers would wait behind it.
 */
#include "held/run/carrier.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/run/time_limit.h"
#include "held/wakeup.h"

cascade_err
csc_carrier_init(cascade_engine *engine, csc_carrier *carrier)
{
    cascade_err err = csc_lock_init_cond(&carrier->cond);

    if (err == CASCADE_OK)
        carrier->engine = engine;
    return err;
}

void
csc_carrier_fini(csc_carrier *carrier)
{
    csc_assert(carrier->fibers == 0 && carrier->first == NULL);
    csc_lock_fini_cond(&carrier->cond);
}

/* ---- Sleeping ------------------------------------------------------------ */

static csc_carrier **
list_of(const csc_carrier *carrier)
{
    csc_carriers *carriers = &carrier->engine->ready.carriers;

    return carrier->fibers > 0 ? &carriers->busy : &carriers->idle;
}

void
csc_carrier_sleep(csc_carrier *carrier)
{
    cascade_engine *engine = carrier->engine;
    csc_carrier **first = list_of(carrier);

    csc_assert(!carrier->asleep && !carrier->called && carrier->first == NULL);
    carrier->asleep = true;
    carrier->before = NULL;
    carrier->next = *first;
    if (*first != NULL)
        (*first)->before = carrier;
    *first = carrier;
    engine->ready.waiting++;
    while (!carrier->called)
        csc_wakeup_wait_locked(engine, &carrier->cond, -1);
    carrier->called = false;
    csc_assert(engine->ready.carriers.called > 0);
    engine->ready.carriers.called--;
}

/* Out of the list of those asleep; it is still to be signalled. */
static void
call(csc_carrier *carrier)
{
    cascade_engine *engine = carrier->engine;

    csc_assert(carrier->asleep && !carrier->called);
    if (carrier->before != NULL)
        carrier->before->next = carrier->next;
    else
        *list_of(carrier) = carrier->next;
    if (carrier->next != NULL)
        carrier->next->before = carrier->before;
    carrier->asleep = false;
    carrier->called = true;
    engine->ready.waiting--;
    engine->ready.carriers.called++;
}

void
csc_carrier_call(cascade_engine *engine, bool blocks)
{
    csc_carriers *carriers = &engine->ready.carriers;
    csc_carrier *carrier = carriers->busy;

    if (engine->ready.count <= carriers->called)
        return;
    if (carrier == NULL || (blocks && carriers->idle != NULL))
        carrier = carriers->idle;
    if (carrier == NULL)
        return;
    call(carrier);
    pthread_cond_signal(&carrier->cond);
}

void
csc_carrier_call_all(cascade_engine *engine)
{
    csc_carriers *carriers = &engine->ready.carriers;

    while (carriers->idle != NULL || carriers->busy != NULL) {
        csc_carrier *carrier =
            carriers->idle != NULL ? carriers->idle : carriers->busy;

        call(carrier);
        pthread_cond_signal(&carrier->cond);
    }
}

/* ---- Fibers that may go on ----------------------------------------------- */

csc_waiter *
csc_carrier_next(csc_carrier *carrier)
{
    csc_waiter *waiter = carrier->first;

    if (waiter == NULL)
        return NULL;
    carrier->first = waiter->next;
    if (carrier->first == NULL)
        carrier->last = NULL;
    return waiter;
}

/* From now on it waits for its worker, which is not its own time. */
static void
note_ready(const cascade_engine *engine, csc_call *call)
{
    if (call->limits->attempt_ms > 0 || call->limits->heartbeat_ms > 0)
        call->ready_ns = csc_clock_now_ns(engine);
}

void
csc_carrier_release(csc_waiter *waiter, csc_told *told)
{
    csc_carrier *carrier = waiter->carrier;

    waiter->next = NULL;
    if (carrier == NULL) {
        if (told == NULL) {
            (void)sem_post(&waiter->woken);
            return;
        }
        waiter->next = told->threads;
        told->threads = waiter;
        return;
    }
    note_ready(carrier->engine, waiter->call);
    if (carrier->last != NULL)
        carrier->last->next = waiter;
    else
        carrier->first = waiter;
    carrier->last = waiter;
    if (!carrier->asleep)
        return;
    call(carrier);
    if (told != NULL && told->count < CSC_TOLD_MAX)
        told->carriers[told->count++] = carrier;
    else
        pthread_cond_signal(&carrier->cond);
}

void
csc_carrier_tell(const csc_told *told)
{
    csc_waiter *waiter = told->threads;

    while (waiter != NULL) {
        csc_waiter *next = waiter->next; /* it is gone once it is woken */

        (void)sem_post(&waiter->woken);
        waiter = next;
    }
    for (size_t i = 0; i < told->count; i++)
        pthread_cond_signal(&told->carriers[i]->cond);
}
