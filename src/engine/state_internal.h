/* SPDX-License-Identifier: MIT
 *
 * What the files of the state share with one another only.
 */
#ifndef CSC_ENGINE_STATE_INTERNAL_H
#define CSC_ENGINE_STATE_INTERNAL_H

#include "base/json.h"
#include "engine/state.h"

/* The slot of an id, also when its execution was freed; NULL without one. */
csc_slot *csc_state_slot(const csc_state *state, int32_t function_id);

/* Into the queue, unless blocked or dispatched; out of it, if in it. */
cascade_err csc_state_enqueue(csc_state *state, csc_exec *exec);
void csc_state_dequeue(csc_state *state, csc_exec *exec);

/* ---- state_signal.c ----------------------------------------------------- */

/* A signal was received: its row, which has just been inserted. */
cascade_err csc_state_add_signal(csc_state *state,
                                 const cascade_execution_row *row);

/* An await has ended by taking that signal. */
cascade_err csc_state_take_signal(csc_state *state, csc_exec *await,
                                  int32_t signal);

/* Whether the row is that of a received signal. */
bool csc_state_is_signal(const cascade_execution_row *row);

void csc_state_free_signals(csc_state *state);

/* ---- state_join.c ------------------------------------------------------- */

/* Reads `after` of a row that is inserted, and ties a RUNNING one to those it
 * still waits for. Ids that are not in memory have ended long ago. */
cascade_err csc_state_insert_after(csc_state *state, csc_exec *exec,
                                   csc_json_span after);

/* `exec` has ended: those that wait for it go on. */
cascade_err csc_state_release_waiters(csc_state *state, csc_exec *exec);

/* A new execution may run in the place of one that has failed. Those that come
 * after it have smaller ids, as it was spawned when they were there; on
 * hydration some of them have ended already, and others came after these. */
cascade_err csc_state_stand_in(csc_state *state, csc_exec *exec);

#endif
