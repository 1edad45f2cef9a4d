/* SPDX-License-Identifier: MIT
 *
 * The batch of a lane: which posts are in it, and what is written of them.
 */
#ifndef CSC_COMMIT_BATCH_H
#define CSC_COMMIT_BATCH_H

#include "held/lane/lane_queue.h"

/* The lane's items are its batch from now on, of which nothing was tried. */
void csc_batch_begin_locked(csc_lane *lane);

#endif
