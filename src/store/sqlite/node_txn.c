/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes: begin, finish, abandon, settle.
 *
 * A node's function is given the connection of the transaction that will record
 * its completion, and does with it what it likes. So it is a connection of its
 * own, which no other move uses: whatever the function leaves behind, commits
 * and claims do not meet it. It is opened at its first use, and kept.
 *
 *   begin     1. the handle's writer, the guard, the sidecar, BEGIN IMMEDIATE:
 *                as in transaction.c. SQLite has one writer for a file, so the
 *                turn is held until 5, and our own lanes queue for it instead
 *                of spinning in SQLITE_BUSY
 *             2. the guard is on (node_conn.c)
 *             -- the function --
 *   finish    3. is it the same transaction still, and in time?
 *             4. the changes, their messages, the lane row, the lease; COMMIT
 *             5. the guard's callbacks again, the sidecar and the writer given
 *                back, and now and then a checkpoint
 *   abandon   ROLLBACK, 5
 *
 * IF WE DIE
 *   before the COMMIT of 4: the frames in the WAL have no commit mark; nobody
 *             ever sees a row of the function's, or of ours.
 *   in it:    the mark is there, and all of both; or it is not, and nothing is.
 *   after it: both are there. The node's completion is among the rows, so
 *             nobody runs it again.
 *   If the process lives but does not know (an I/O error in COMMIT), settle
 *   asks the lane row, in a transaction of its own: this handle's transaction
 *   has ended by then in each case, so what settle finds stays so.
 *
 *             the lane row shows      settle makes it     the answer
 *             number - 1              number + 1          not committed
 *             number + 1              -                   not committed
 *             number                  -                   committed
 *             another number          -                   LOST
 *             (no row)                -                   FENCED
 *
 *   A finish of `number` that comes later (of a process that was stopped
 *   meanwhile, say) finds number + 1, and is LOST.
 */
#include "store/sqlite/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

cascade_err
csc_sqlite_native_begin(void *self, int64_t limit_ms, cascade_native *native)
{
    csc_sqlite *store = self;
    csc_sqlite_native *it = &store->native;
    csc_sqlite_conn *conn = NULL;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    if (store->guest.session != NULL)
        return store->guest.session->native_begin(store, limit_ms, native);
    err = csc_sqlite_txn_begin_native(store, &conn);
    if (err != CASCADE_OK)
        return err;
    it->end = CSC_SQLITE_NATIVE_OPEN;
    it->may_commit = false;
    it->began_ns = csc_sqlite_conn_now_ns();
    csc_sqlite_native_set_limit(it, limit_ms);
    csc_sqlite_native_leave(it);
    *native = (cascade_native){.handle = conn->db, .own = it};
    return CASCADE_OK;
}

/* The connection is the library's again. */
static cascade_err
take_back(csc_sqlite_native *it)
{
    csc_assert(it->conn.writes);
    it->conn.deadline_ns = csc_sqlite_txn_get_deadline(it->conn.store);
    csc_sqlite_native_enter(it);
    csc_sqlite_native_reset(it);
    return csc_sqlite_native_install(it);
}

/* Whether the transaction is the one that begin began. */
static cascade_err
check_open(const csc_sqlite_native *it)
{
    switch (it->end) {
    case CSC_SQLITE_NATIVE_OPEN:
        break;
    case CSC_SQLITE_NATIVE_COMMITTING:
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "finish: the node's function has run COMMIT "
                                  "itself, which was refused; leave that to "
                                  "the library");
    case CSC_SQLITE_NATIVE_ROLLED_BACK:
        return cascade_store_fail(CASCADE_ERR_FAILED,
                                  "finish: SQLite has rolled the transaction "
                                  "of the node back, for an error in one of "
                                  "its statements");
    }
    if (sqlite3_get_autocommit(it->conn.db))
        return cascade_store_fail(CASCADE_ERR_MISUSE,
                                  "finish: the node's function has ended its "
                                  "transaction and removed the hooks that tell "
                                  "of it; what it wrote may be committed");
    return CASCADE_OK;
}

/* A COMMIT that fails may have been made durable all the same. */
cascade_err
csc_sqlite_native_commit(csc_sqlite_conn *conn)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_COMMIT);
    err = csc_sqlite_call_run(&call, NULL);
    if (err == CASCADE_OK || call.code == SQLITE_OK) /* not run at all */
        return err;
    if (csc_sqlite_error_extend(conn->db, call.code) ==
        SQLITE_CONSTRAINT_COMMITHOOK)
        return cascade_store_fail(CASCADE_ERR_FAILED, "%s", cascade_errmsg());
    if ((call.code & 0xff) == SQLITE_CONSTRAINT)
        return cascade_store_fail(CASCADE_ERR_FAILED,
                                  "finish: what the node's function wrote "
                                  "violates a deferred constraint (code %d)",
                                  call.code);
    return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "%s", cascade_errmsg());
}

cascade_err
csc_sqlite_native_finish(void *self, cascade_native *native,
                         const cascade_batch *batch, bool *existed)
{
    const csc_sqlite *store = self;
    csc_sqlite_native *it = native->own;
    bool claimable = false;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    if (store->guest.session != NULL)
        return store->guest.session->native_finish(self, batch, existed);
    err = take_back(it);
    if (err == CASCADE_OK)
        err = csc_sqlite_native_check_time(it);
    if (err == CASCADE_OK)
        err = check_open(it);
    if (err == CASCADE_OK)
        err = csc_sqlite_commit_within(&it->conn, batch, existed, &claimable);
    if (err == CASCADE_OK) {
        it->may_commit = true;
        err = csc_sqlite_native_commit(&it->conn);
        it->may_commit = false;
    }
    err = csc_sqlite_txn_leave(&it->conn, err);
    if (err == CASCADE_OK && claimable)
        (void)csc_sqlite_wait_wake(self);
    return err;
}

cascade_err
csc_sqlite_native_abandon(void *self, cascade_native *native)
{
    csc_sqlite *store = self;
    csc_sqlite_native *it = native->own;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    if (store->guest.session != NULL)
        return store->guest.session->native_abandon(store);
    (void)take_back(it);
    err = check_open(it);
    (void)csc_sqlite_txn_leave(&it->conn, CASCADE_ERR_FAILED);
    return err == CASCADE_ERR_MISUSE ? err : CASCADE_OK;
}

/* ---- Settling ------------------------------------------------------------ */

static cascade_err
settle(csc_sqlite_conn *conn, const cascade_uuid *engine_id, uint32_t lane,
       int64_t number, bool *committed)
{
    csc_sqlite_call call;
    int64_t shown = number + 1;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_SETTLE_LANE);
    csc_sqlite_call_add_uuid(&call, engine_id);
    csc_sqlite_call_add_i64(&call, lane);
    csc_sqlite_call_add_i64(&call, number);
    err = csc_sqlite_call_run(&call, &changes);
    if (err == CASCADE_OK && changes == 0)
        err = csc_sqlite_commit_get_lane(conn, engine_id, lane, &shown);
    if (err != CASCADE_OK)
        return err;
    if (shown != number && shown != number + 1)
        return cascade_store_fail(
            CASCADE_ERR_LOST,
            "settle: lane %u shows batch %lld, which comes neither of batch "
            "%lld nor of settling it; the store lost commits, attach anew",
            (unsigned)lane, (long long)shown, (long long)number);
    *committed = shown == number;
    return CASCADE_OK;
}

/* Where it was committed, the others have not been told. */
cascade_err
csc_sqlite_native_settle(void *self, const cascade_uuid *engine_id,
                         uint32_t lane, int64_t number, bool *committed)
{
    csc_sqlite *store = self;
    csc_sqlite_conn *conn = NULL;
    bool found = false;
    cascade_err err = csc_sqlite_txn_begin_write(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = settle(conn, engine_id, lane, number, &found);
    err = csc_sqlite_txn_end(conn, err);
    if (err != CASCADE_OK)
        return err;
    if (found)
        (void)csc_sqlite_wait_wake(store);
    *committed = found;
    return CASCADE_OK;
}
