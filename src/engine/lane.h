/* SPDX-License-Identifier: MIT
 *
 * The inside of a lane: what its files, and those of transactional nodes, do
 * for each other. What others do with one is in engine.h.
 */
#ifndef CSC_ENGINE_LANE_H
#define CSC_ENGINE_LANE_H

#include "engine/engine.h"

/* ---- lane.c ------------------------------------------------------------- */

/* The lane's items are its batch from now on, of which nothing was tried.
 * Locked. */
void csc_lane_begin_batch(csc_lane *lane);
/* What becomes of what the lane has just tried; csc_lane_apply() is the good
 * end. Not locked: the next of its items is refused for good; the incarnation
 * is gone; the outcome is not known, or there is no memory. */
void csc_lane_refuse(csc_lane *lane, cascade_err err);
void csc_lane_lose(csc_lane *lane, cascade_err err);
void csc_lane_try_later(csc_lane *lane, cascade_err err);
/* Its runs lose what they posted, as the incarnation is gone. Locked. */
void csc_lane_abandon(csc_lane *lane);
/* What was posted comes before all else of the run once more, which is the last
 * one of the lane then. Locked. */
void csc_lane_put_back(csc_lane *lane, csc_item *item);
/* The caller of a start goes on without the lane, if it is still there. Locked.
 */
void csc_lane_part_with(csc_lane *lane, csc_start *start);

/* ---- lane_apply.c ------------------------------------------------------- */

/* What the lane tried was committed: applies it. Not locked. */
void csc_lane_apply(csc_lane *lane);
/* So many more of the batch are decided: what is tried next. Locked. */
void csc_lane_go_on(csc_lane *lane, size_t decided);
/* All of its batch is decided. Locked. */
void csc_lane_end_batch(csc_lane *lane);

/* ---- lane_pace.c -------------------------------------------------------- */

/* Sizes the next batch, and the next slice of a cancellation, by what the lane
 * has just committed; before it is applied. */
void csc_lane_set_pace(csc_lane *lane);
/* How large a slice is. */
size_t csc_lane_slice_bytes(const csc_lane *lane);
/* How many items it tries at once. */
size_t csc_lane_items_max(const csc_lane *lane);
/* A run has committed: that counts against slow tries. Locked. */
void csc_lane_make_up(csc_run *run);
/* Whether the try that has ended so took too long. */
bool csc_lane_was_slow(csc_lane *lane, cascade_err err);
/* A slow try was not done, and will not be: it is divided, or what stands alone
 * is set aside. Not locked. */
void csc_lane_divide(csc_lane *lane);

/* ---- lane_build.c ------------------------------------------------------- */

/* Makes the changes of the lane's batch. An item whose rows cannot be built
 * has its error; CASCADE_ERR_NO_MEMORY. */
cascade_err csc_lane_build(csc_lane *lane);
/* The cascade of an item, the first one where there are several. */
const cascade_uuid *csc_lane_item_id(const csc_item *item);

#endif
