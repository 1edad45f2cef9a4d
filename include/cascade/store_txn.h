/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes: the sub-table `node_txn` of a store, see store.h.
 *
 *   A transactional node runs inside a transaction on a connection of the
 *   store's, apart from those of its other moves, and is given the connection
 *   itself (`handle`). Its lanes are the last ones of the incarnation:
 *
 *     begin --> open --the function--> finish --> committed
 *                 |                      |\--> nothing took effect: an error
 *                 |                      \---> UNAVAILABLE: settle decides
 *                 \--> abandon
 *
 *   A batch of such a lane cannot be repeated, since what the function wrote is
 *   gone with the transaction. So its outcome is decided by `settle`, which
 *   moves the lane row from number - 1 to number + 1 unless it shows `number`:
 *   the row lock makes it wait for a finish that is under way, and one that
 *   comes later finds the row moved.
 *
 *   A store without the sub-table refuses to register a transactional node
 *   (CASCADE_ERR_UNSUPPORTED). What it settles are commits: S53. A backend on
 *   which nothing is settled answers that with CASCADE_ERR_UNSUPPORTED; then a
 *   commit that is UNAVAILABLE each time for its length is never divided.
 */
#ifndef CASCADE_STORE_TXN_H
#define CASCADE_STORE_TXN_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CASCADE_NATIVE_SQLITE "sqlite3"  /* handle is a sqlite3 * */
#define CASCADE_NATIVE_POSTGRES "PGconn" /* handle is a PGconn * */

/* An open transaction: between begin and finish or abandon. */
typedef struct cascade_native {
    void *handle; /* what the function is given */
    void *own;    /* the backend's */
} cascade_native;

typedef struct cascade_batch cascade_batch;

typedef struct cascade_store_node_txn {
    size_t size;         /* sizeof(cascade_store_node_txn) */
    const char *native;  /* CASCADE_NATIVE_*: what `begin` gives */
    uint32_t native_max; /* of them at once in one handle; 1: all that write
                            wait for it (S29) */

    /* Begins a transaction for a node's function, which may use the handle
     * until finish or abandon. From `limit_ms` on, in real time, its statements
     * are interrupted where the backend can, and finish answers
     * CASCADE_ERR_TIMEOUT. */
    cascade_err (*begin)(void *self, int64_t limit_ms, cascade_native *native);

    /* Writes the batch (one change, with what it starts) into the transaction,
     * its fence last, and commits: S29 to S32. A lane that shows `number`
     * already is CASCADE_ERR_LOST. Besides what `commit` answers:
     * CASCADE_ERR_MISUSE  the function has ended the transaction itself
     * CASCADE_ERR_TIMEOUT it took longer than its limit
     * CASCADE_ERR_FAILED  nothing took effect: a statement of the function had
     *                     failed and left the transaction so, or it has left
     *                     the handle in no state to commit (results not
     *                     fetched, the connection lost), or what it wrote
     *                     cannot be committed (serialization failure,
     *                     deadlock, deferred constraint)
     * CASCADE_ERR_UNAVAILABLE: the outcome is not known, see settle. */
    cascade_err (*finish)(void *self, cascade_native *native,
                          const cascade_batch *batch, bool *existed);

    /* Rolls it back. CASCADE_ERR_MISUSE where the function had ended the
     * transaction itself, so that what it wrote may be committed. */
    cascade_err (*abandon)(void *self, cascade_native *native);
} cascade_store_node_txn;

#ifdef __cplusplus
}
#endif

#endif
