/* SPDX-License-Identifier: MIT
 *
 * The commit of a transactional node: see node_txn.c.
 */
#ifndef CSC_COMMIT_NODE_TXN_H
#define CSC_COMMIT_NODE_TXN_H

#include <stdbool.h>

#include "cascade/cascade.h"
#include "change/op.h"
#include "held/lane/lane_queue.h"
#include "held/run/time_limit.h"

/* Begins the transaction. False when that is to be tried again later: then the
 * worker has nothing to do, and `*inside`, the node that it was to be in, is
 * NULL. Not locked. */
bool csc_node_txn_begin(cascade_engine *engine, csc_lane *lane, csc_call *call,
                        const char **inside);
/* It has returned, and `post` (or NULL) is to be posted: rolls back what is no
 * completion. What it had ended itself is not attempted again.
 * CASCADE_ERR_NO_MEMORY. Not locked. */
cascade_err csc_node_txn_returned(csc_lane *lane, csc_post *post);
/* Takes the post, to be committed with the transaction: from then on the
 * outcome of the commit counts. False when it is to be posted as others are
 * (NULL: nothing is); then what the run has posted waits no longer. */
bool csc_node_txn_keep_locked(csc_lane *lane, csc_post *post);
/* Commits what it keeps, or rolls back; frees the lane. True when a stop that
 * was in no time to wait for that has left the rest of it to whoever is out of
 * the lane: engine.c. Not locked. */
bool csc_node_txn_end(csc_lane *lane);
/* Decides what is undecided, if the store can be reached. Not locked. */
void csc_node_txn_settle(csc_lane *lane);

#endif
