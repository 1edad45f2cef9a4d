/* SPDX-License-Identifier: MIT
 *
 * The executions that may run: see ready_queue.c. All locked.
 */
#ifndef CSC_HELD_RUN_READY_QUEUE_H
#define CSC_HELD_RUN_READY_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "held/run/carrier.h"
#include "state/state.h"

#define CSC_PRIORITIES 10

/* A list of executions that may run. */
typedef struct csc_ready {
    csc_exec *first;
    csc_exec *last;
    /* Of a cascade's, while it is not empty: its place in the round. */
    struct csc_ready *before;
    struct csc_ready *next;
    int64_t since_ns; /* when it came to its end; with ageing only */
} csc_ready;

/* The cascades that have executions ready of one priority: see
 * ready_queue.c. */
typedef struct csc_round {
    csc_ready *first;
    csc_ready *last;
} csc_round;

/* Where an execution goes among those of its priority. */
typedef enum csc_place {
    CSC_PLACE_LAST,  /* behind the others of its cascade */
    CSC_PLACE_FIRST, /* in front of them */
    CSC_PLACE_NEXT   /* and the turn is its cascade's */
} csc_place;

/* The executions that may run. Under the engine's mutex. */
typedef struct csc_ready_queue {
    csc_round rounds[CSC_PRIORITIES];
    size_t count;
    bool held_back; /* somebody waits as the backlog is full, to be told */
    pthread_cond_t work_cond; /* workers wait here */
    size_t waiting;
    csc_carriers carriers; /* with fibers: these wait, and not there */
} csc_ready_queue;

/* Where an execution waits (csc_turn, in state.h):
 *
 *           added                    taken out, popped
 *   NONE -----------> READY -----------------------------> NONE
 *    |                RESUMED ---------------------------->  ^
 *    |                  ^ resumed                            |
 *    +-- set aside --> ASIDE --- taken out ------------------+
 *
 *   added      csc_ready_queue_add()
 *   resumed    csc_txn_slot_resume_locked(): taken out and added
 *   set aside  csc_ready_queue_set_aside()
 *   taken out  csc_ready_queue_take_out() */
#ifdef CASCADE_ASSERTS
bool csc_ready_queue_is_sound(const csc_exec *exec);
#endif
int32_t csc_ready_queue_priority(const csc_exec *exec);
void csc_ready_queue_add(cascade_engine *engine, csc_exec *exec,
                         csc_place place);
/* Out of the list that it is in. */
void csc_ready_queue_take_out(cascade_engine *engine, csc_exec *exec);
/* Into a list of those that wait for a transaction: it does not count as ready
 * until it is added again. */
void csc_ready_queue_set_aside(cascade_engine *engine, csc_ready *list,
                               csc_exec *exec, bool first);
/* The next one, taken out; NULL without one. */
csc_exec *csc_ready_queue_pop(cascade_engine *engine);
/* The same, left where it is. */
const csc_exec *csc_ready_queue_first(const cascade_engine *engine);
/* One more of those that wait for work is woken, if there is need; all of
 * them. */
void csc_ready_queue_call(cascade_engine *engine);
void csc_ready_queue_call_all(cascade_engine *engine);

#endif
