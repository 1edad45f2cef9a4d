/* SPDX-License-Identifier: MIT
 *
 * What engines and callers do about seals (store/seal.h) where the store has a
 * ring of keys; where it has none, each of these does nothing.
 *
 *   a start          sealed with the current key, as number 1, just before it
 *                    goes to the store
 *   a load           each row that is applied to the state counts for the seal
 *                    too; in the end they have to be those of the seal that
 *                    came with them, or the run is not held
 *   a commit         the change is sealed when it is built; the seal in memory
 *                    goes on when it was applied, as the state does
 *   a message        sealed with the current key as it is sent; one that is
 *                    received without a good seal is not recorded
 *
 * A change that is refused or never committed leaves the seal in memory alone.
 * If the process dies behind a commit, the seal is in the table beside the rows
 * it is of.
 */
#ifndef CSC_HELD_RUN_SEALING_H
#define CSC_HELD_RUN_SEALING_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"

typedef struct csc_run csc_run;

/* ---- Loading: in the place of csc_state_apply_*() ------------------------ */

cascade_err csc_sealing_take_cascade(csc_run *run, const cascade_row *row);
cascade_err csc_sealing_take_seal(csc_run *run, const cascade_seal_row *row);
cascade_err csc_sealing_take_execution(csc_run *run,
                                       const cascade_execution_row *row);
cascade_err csc_sealing_take_event(csc_run *run, const cascade_event_row *row);
/* All rows were given, or of a partial run those that are read of it:
 * CASCADE_ERR_CORRUPT. */
cascade_err csc_sealing_check(csc_run *run);
void csc_sealing_fini(csc_run *run);

/* What the seal takes in memory: counted with the state (room.h). */
size_t csc_sealing_bytes(const csc_run *run);

/* CASCADE_LOAD_SEALS where the store has seals, else 0. */
unsigned csc_sealing_part(const cascade_engine *engine);

/* ---- Writing ------------------------------------------------------------- */

/* Seals a change of the run, or a start (`run` is NULL), with what it sends. */
cascade_err csc_sealing_make(const cascade_store *store, csc_run *run,
                             csc_arena *arena, cascade_change *change);
/* The change of the run that was made last is applied. */
cascade_err csc_sealing_apply(csc_run *run);
/* The run was born with that start. */
cascade_err csc_sealing_born(csc_run *run, const cascade_change *start);
/* The store's move, with all that it brings sealed. */
cascade_err csc_sealing_submit(cascade_store *store,
                               const cascade_submission *submission);
/* The same by the pipeline of the handle: see csc_pipeline_submit(). */
cascade_err csc_sealing_share(cascade_store *store,
                              const cascade_submission *submission,
                              int64_t end_ms, bool *told);

/* Whether a message may be received; else the text says why not. */
cascade_err csc_sealing_check_message(const cascade_store *store,
                                      const cascade_message_row *row);

#endif
