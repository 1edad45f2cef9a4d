/* SPDX-License-Identifier: MIT
 *
 * What becomes of a batch that was not committed: see outcome.c.
 */
#ifndef CSC_COMMIT_OUTCOME_H
#define CSC_COMMIT_OUTCOME_H

#include <stdint.h>

#include "cascade/cascade.h"
#include "held/lane/lane_queue.h"
#include "held/lane/start_request.h"

/* How long to wait before the next try; the last time it was `last_ms`, 0 for
 * none. */
int64_t csc_outcome_backoff_ms(int64_t last_ms);
/* What becomes of what the lane has just tried; csc_apply_batch() is the good
 * end. Not locked: the next of its items is refused for good; the incarnation
 * is gone; the outcome is not known, or there is no memory. */
void csc_outcome_refuse(csc_lane *lane, cascade_err err);
void csc_outcome_lose(csc_lane *lane, cascade_err err);
void csc_outcome_try_later(csc_lane *lane, cascade_err err);
/* Its runs lose what they posted, as the incarnation is gone. */
void csc_outcome_abandon_locked(csc_lane *lane);
/* What was posted comes before all else of the run once more, which is the last
 * one of the lane then. */
void csc_outcome_put_back_locked(csc_lane *lane, csc_item *item);
/* The caller of a start goes on without the lane, if it is still there. */
void csc_outcome_part_with_locked(csc_lane *lane, csc_start *start);

/* Tries again later. */
void csc_outcome_set_backoff_locked(csc_lane *lane);

/* Leaves only starts in the batch: the incarnation is gone. */
void csc_outcome_rescue(csc_lane *lane);

#endif
