/* SPDX-License-Identifier: MIT
 *
 * Carriers: workers that run nodes on fibers, as far as they sleep and are
 * woken. See carrier.c. All locked, unless it says otherwise.
 */
#ifndef CSC_HELD_RUN_CARRIER_H
#define CSC_HELD_RUN_CARRIER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

#include "cascade/cascade.h"

struct csc_call;
struct csc_exec;
struct csc_strand;
typedef struct csc_carrier csc_carrier;

/* Who waits until its step is durable: a fiber of a carrier, or a thread. */
typedef struct csc_waiter {
    struct csc_waiter *next;   /* of those about to be woken */
    csc_carrier *carrier;      /* NULL: a thread */
    struct csc_strand *strand; /* its fiber's */
    struct csc_call *call;     /* of the function that waits */
    sem_t woken;               /* a thread's */
    cascade_err err;
    const struct csc_exec *step; /* as recorded; NULL when it is not there */
} csc_waiter;

struct csc_carrier {
    cascade_engine *engine;
    pthread_cond_t cond; /* it sleeps here */
    bool asleep;
    bool called;       /* and has not looked yet */
    size_t fibers;     /* in functions: they wait, but for one at most */
    csc_waiter *first; /* of those that wait no more */
    csc_waiter *last;
    csc_carrier *before; /* of those asleep, who fell asleep later */
    csc_carrier *next;
};

/* Of an engine. */
typedef struct csc_carriers {
    csc_carrier *idle; /* asleep, without fibers; the last to fall asleep */
    csc_carrier *busy; /* asleep, with fibers */
    size_t called;     /* woken, and have not looked yet */
    size_t fibers;     /* in functions */
} csc_carriers;

/* Those to be woken once the lock is let go: each would run into it otherwise.
 */
#define CSC_TOLD_MAX 64
typedef struct csc_told {
    csc_waiter *threads;
    csc_carrier *carriers[CSC_TOLD_MAX];
    size_t count;
} csc_told;

cascade_err csc_carrier_init(cascade_engine *engine, csc_carrier *carrier);
void csc_carrier_fini(csc_carrier *carrier);

/* Sleeps until it is called. */
void csc_carrier_sleep(csc_carrier *carrier);
/* Of the fibers that may go on the first, taken out; NULL without one. */
csc_waiter *csc_carrier_next(csc_carrier *carrier);

/* Something is ready that none of those called will take: calls one, of those
 * without fibers where it `blocks`. */
void csc_carrier_call(cascade_engine *engine, bool blocks);
/* All that sleep are to look. */
void csc_carrier_call_all(cascade_engine *engine);

/* The waiter goes on, with what is set in it: now, or with `told` (not NULL) by
 * csc_carrier_tell(). */
void csc_carrier_release(csc_waiter *waiter, csc_told *told);
/* Not locked. */
void csc_carrier_tell(const csc_told *told);

#endif
