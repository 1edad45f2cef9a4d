/* SPDX-License-Identifier: MIT
 *
 * Transactional nodes; see txn_slot.c.
 */
#ifndef CSC_HELD_LANE_TXN_SLOT_H
#define CSC_HELD_LANE_TXN_SLOT_H

#include "cascade/cascade.h"
#include "held/run/ready_queue.h"
#include "state/state.h"

typedef struct csc_lane csc_lane;
typedef struct csc_run csc_run;

/* Transactional executions and the lanes for them. Under the engine's mutex. */
typedef struct csc_txn_slots {
    csc_ready aside[CSC_PRIORITIES]; /* transactional ones: until a lane of
                                        theirs is free */
    size_t aside_count;              /* and those that wait in their runs */
    size_t resumed_count; /* ready again, each for a lane that is free */
    csc_run *turn; /* one of its begins next, and its posts wait; or NULL */
    int64_t begin_at_ns; /* none begins before; 0: as soon as one may */
    int64_t backoff_ms;
    bool put_off; /* by a stop: whoever is in a transactional node's lane is to
                     give up the rest, and has not done so */
} csc_txn_slots;

/* Makes their lanes, if such a node is registered: none is from then on. May be
 * repeated. CASCADE_ERR_NO_MEMORY, _SYSTEM. */
cascade_err csc_txn_slot_init(cascade_engine *engine);

/* ---- Who may begin ------------------------------------------------------ */

/* An execution, out of the ready list, is to begin. True when it may: then
 * `*taken` is the lane it has, NULL where it needs none. Else it waits. */
bool csc_txn_slot_take_locked(cascade_engine *engine, csc_exec *exec,
                              csc_lane **taken);
/* A commit of the run is done, and more is posted: where enough went before it,
 * one that waits has the turn, and begins first. Whether it has. */
bool csc_txn_slot_give_turn_locked(cascade_engine *engine, csc_run *run);
/* The run may be free: the first of those that wait for that goes on. */
void csc_txn_slot_go_on_locked(cascade_engine *engine, csc_run *run);
/* Whether what the run has posted stays there. */
bool csc_txn_slot_holds_locked(const cascade_engine *engine,
                               const csc_run *run);
/* A batch has ended, or somebody is out of the lane: it may be free. */
void csc_txn_slot_ended_locked(csc_lane *lane);
/* An execution has left the ready list, and has no lane: the next may. */
void csc_txn_slot_resume_locked(cascade_engine *engine);
/* None that has its turn begins at once: what waits for that is committed. */
void csc_txn_slot_end_turn_locked(cascade_engine *engine);
/* When the store could not be reached: tries again, once it is time. */
void csc_txn_slot_look_locked(cascade_engine *engine);
/* The execution was taken from its function. */
void csc_txn_slot_doom_locked(cascade_engine *engine, csc_run *run,
                              const csc_exec *exec);
/* The run is gone. */
void csc_txn_slot_drop_locked(cascade_engine *engine, csc_run *run);

/* ---- The lane ----------------------------------------------------------- */

/* Whether somebody has one for whose transaction all that write wait: that of a
 * store with one writer (native_max = 1, S29). */
bool csc_txn_slot_blocks_locked(const cascade_engine *engine);

/* Until a lane is free, or until its cascade is. */
void csc_txn_slot_set_aside_locked(cascade_engine *engine, csc_exec *exec,
                                   bool for_lane, bool first);

/* From now on the lane is the worker's alone. */
void csc_txn_slot_let_go_locked(cascade_engine *engine, csc_lane *lane);

#endif
