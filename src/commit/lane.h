/* SPDX-License-Identifier: MIT
 *
 * The inside of a lane: what its files, and those of transactional nodes, do
 * for each other. What others do with one is in engine_state.h.
 */
#ifndef CSC_COMMIT_LANE_H
#define CSC_COMMIT_LANE_H

#include "cascade/cascade.h"
#include "held/lane/lane_queue.h"
#include "held/run/run.h"

/* ---- apply.c ------------------------------------------------------- */

/* What the lane tried was committed: applies it. Not locked. */
void csc_apply_batch(csc_lane *lane);
/* So many more of the batch are decided: what is tried next. */
void csc_apply_go_on_locked(csc_lane *lane, size_t decided);
/* All of its batch is decided. */
void csc_apply_end_batch_locked(csc_lane *lane);

/* ---- pace.c -------------------------------------------------------- */

/* Sizes the next batch, and the next slice of a cancellation, by what the lane
 * has just committed; before it is applied. */
void csc_pace_set(csc_lane *lane);
/* How large a slice is. */
size_t csc_pace_slice_bytes(const csc_lane *lane);
/* How many items it tries at once. */
size_t csc_pace_items_max(const csc_lane *lane);
/* A run has committed: that counts against slow tries. */
void csc_pace_make_up_locked(csc_run *run);
/* Whether the try that has ended so took too long. */
bool csc_pace_was_slow(csc_lane *lane, cascade_err err);
/* A slow try was not done, and will not be: it is divided, or what stands alone
 * is set aside. Not locked. */
void csc_pace_divide(csc_lane *lane);

/* ---- batch.c ------------------------------------------------------- */

/* Makes the changes of the lane's batch. An item whose rows cannot be built
 * has its error; CASCADE_ERR_NO_MEMORY. */
cascade_err csc_batch_build(csc_lane *lane);
/* The cascade of an item, the first one where there are several. */
const cascade_uuid *csc_batch_item_id(const csc_item *item);

/* Tries the batch of the lane once, a new one if there is none. True when it
 * did something. Not locked. */
bool csc_lane_round(csc_lane *lane);
/* Takes the lane for the calling thread, if nobody is in it and threads may
 * commit for themselves; then it adds what it has and calls csc_lane_serve(),
 * not locked, which tries one batch. */
bool csc_lane_enter_locked(csc_lane *lane);
void csc_lane_serve(csc_lane *lane);
/* Whether there is something to do now, and if not when (monotonic,
 * INT64_MAX: when it is told). */
bool csc_lane_pending_locked(const csc_lane *lane, int64_t *at_ns);
void csc_lane_fini(csc_lane *lane);

#endif
