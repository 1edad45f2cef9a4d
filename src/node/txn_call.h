/* SPDX-License-Identifier: MIT
 *
 * The call of a node in its transaction.
 */
#ifndef CSC_NODE_TXN_CALL_H
#define CSC_NODE_TXN_CALL_H

#include "cascade/cascade.h"

/* Calls the node's function in it. */
cascade_err csc_txn_call(cascade_node *node);

#endif
