/* SPDX-License-Identifier: MIT
 *
 * What the files of the state share with one another only.
 */
#ifndef CSC_ENGINE_STATE_INTERNAL_H
#define CSC_ENGINE_STATE_INTERNAL_H

#include "engine/state.h"

/* The slot of an id, also when its execution was freed; NULL without one. */
csc_slot *csc_state_slot(const csc_state *state, int32_t function_id);

/* Into the queue, unless blocked or dispatched; out of it, if in it. */
cascade_err csc_state_enqueue(csc_state *state, csc_exec *exec);
void csc_state_dequeue(csc_state *state, csc_exec *exec);

#endif
