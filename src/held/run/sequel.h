/* SPDX-License-Identifier: MIT
 *
 * Whether a cascade that is COMPLETED has continued as new, without reading it
 * whole: what comes for it is sent on to its next run, or is undelivered.
 *
 * One of its executions says so, any of them. Two things tell besides, both of
 * the cascade as it is with its fn_id, which each retry or rerun raises:
 *
 *   its last execution   a receipt that says that the cascade had ended:
 *                        whoever wrote it would have sent the message on
 *   what the engine      read whole, or ended, of late: a few large ones
 *   has had in memory
 *
 * So a large one is read whole once, whatever number of messages come for it.
 */
#ifndef CSC_HELD_RUN_SEQUEL_H
#define CSC_HELD_RUN_SEQUEL_H

#include "cascade/cascade.h"
#include "state/state.h"

/* Of a state that has the row of a cascade, COMPLETED: whether it is known, by
 * `*known`, and then as what it continued (`continued_as`). At most one read,
 * of one row. Not locked. */
cascade_err csc_sequel_find(cascade_engine *engine, csc_state *state,
                            bool *known);

/* Remembers what the state of one says that has just ended, or was read whole
 * for its messages: before these are received, since who claims it for more may
 * come before the answer of the commit that received them. */
void csc_sequel_note_locked(cascade_engine *engine, const csc_state *state);

#endif
