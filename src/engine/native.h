/* SPDX-License-Identifier: MIT
 *
 * Transactional nodes; see native.c.
 */
#ifndef CSC_ENGINE_NATIVE_H
#define CSC_ENGINE_NATIVE_H

#include "engine/engine.h"

/* Makes their lanes, if such a node is registered: none is from then on. May be
 * repeated. CASCADE_ERR_NO_MEMORY, _SYSTEM. */
cascade_err csc_native_init(cascade_engine *engine);

/* ---- Who may begin. All locked. ----------------------------------------- */

/* An execution, out of the ready list, is to begin. True when it may: then
 * `*taken` is the lane it has, NULL where it needs none. Else it waits. */
bool csc_native_take(cascade_engine *engine, csc_exec *exec, csc_lane **taken);
/* A commit of the run is done, and more is posted: where enough went before it,
 * one that waits has the turn, and begins first. Whether it has. */
bool csc_native_give_turn(cascade_engine *engine, csc_run *run);
/* The run may be free: the first of those that wait for that goes on. */
void csc_native_go_on(cascade_engine *engine, csc_run *run);
/* Whether what the run has posted stays there. */
bool csc_native_holds(const cascade_engine *engine, const csc_run *run);
/* A batch has ended, or somebody is out of the lane: it may be free. */
void csc_native_ended(csc_lane *lane);
/* An execution has left the ready list, and has no lane: the next may. */
void csc_native_resume(cascade_engine *engine);
/* None that has its turn begins at once: what waits for that is committed. */
void csc_native_end_turn(cascade_engine *engine);
/* When the store could not be reached: tries again, once it is time. */
void csc_native_look(cascade_engine *engine);
/* The execution was taken from its function. */
void csc_native_doom(cascade_engine *engine, csc_run *run,
                     const csc_exec *exec);
/* The run is gone. */
void csc_native_drop(cascade_engine *engine, csc_run *run);

/* ---- The worker that has a lane ----------------------------------------- */

/* Begins the transaction. False when that is to be tried again later: then the
 * worker has nothing to do. Not locked. */
bool csc_native_begin(cascade_engine *engine, csc_lane *lane, csc_call *call);
/* Calls the node's function in it. */
cascade_err csc_native_call(cascade_node *node);
/* It has returned, and `post` (or NULL) is to be posted: rolls back what is no
 * completion. What it had ended itself is not attempted again.
 * CASCADE_ERR_NO_MEMORY. Not locked. */
cascade_err csc_native_returned(csc_lane *lane, csc_post *post);
/* Takes the post, to be committed with the transaction: from then on the
 * outcome of the commit counts. False when it is to be posted as others are
 * (NULL: nothing is); then what the run has posted waits no longer. Locked. */
bool csc_native_keep(csc_lane *lane, csc_post *post);
/* Commits what it keeps, or rolls back; frees the lane. True when a stop that
 * was in no time to wait for that has left the rest of it to whoever is out of
 * the lane: csc_engine_release(). Not locked. */
bool csc_native_end(csc_lane *lane);

/* ---- The lane ----------------------------------------------------------- */

/* Whether somebody has one for whose transaction all that write wait: that of a
 * store with one writer (native_max = 1, S29). Locked. */
bool csc_native_blocks(const cascade_engine *engine);
/* Decides what is undecided, if the store can be reached. Not locked. */
void csc_native_settle(csc_lane *lane);

#endif
