/* SPDX-License-Identifier: MIT
 *
 * Transactions: whose turn it is, begin, end, and the checkpoint.
 *
 * ONE WRITE
 *
 *   1. the handle's writer       a mutex and a condition, up to the deadline
 *   2. the sidecar, shared       no checkpoint runs: see lock_file.c
 *   3. BEGIN IMMEDIATE           SQLite's own write lock: one writer for the
 *                                file, over all handles and processes
 *   4. the changes
 *   5. COMMIT                    appends to the WAL and, with FULL, flushes it
 *   6. the sidecar is let go
 *   7. now and then: a checkpoint, the sidecar held exclusively
 *   8. the writer is given back
 *
 *   Before 1 and behind 5 it is looked whether the file is still what lies at
 *   the path (path.c): a COMMIT into one that is gone is not
 *   acknowledged. So it is of whatever begins and ends here, on connections of
 *   the application's (borrowed.c) and for nodes (node_txn.c) too;
 *   what only reads is looked after when it begins.
 *
 * IF WE DIE
 *   before 5: the frames in the WAL have no commit mark; nobody ever sees them.
 *   in 5:     the mark is there, whole and with the right checksum, or it is
 *             not: the next to open the file decides alike for all.
 *   after 5:  the transaction is there. The caller was not told; it repeats,
 *             and the lane row (commit.c) tells that it took effect.
 *   in 7:     a checkpoint copies pages that stay in the WAL until all of them
 *             are flushed to the database: whoever comes next does it again.
 *   Locks of 2 and 3 go with the process.
 *
 * ROLLBACK
 *   SQLite may have rolled back by itself (disk full, out of memory), and a
 *   ROLLBACK may fail halfway when memory is out. The only thing that tells is
 *   sqlite3_get_autocommit(); where a transaction is still open the connection
 *   is closed, which ends it, and opened anew by its next user.
 *
 * TURNS
 *   Transactions of nodes may be long, and come one behind the other, while
 *   those of other handles and processes only ask for SQLite's lock now and
 *   then: some each 5 ms (ours), others each 100 ms (SQLite's own timeout). So
 *   behind one that has held it for 10 ms or more, the next one of this handle
 *   begins after a tenth of that time, of 120 ms at most. Within the handle it
 *   hands the turn to one of those who wait, if any.
 *
 * CHECKPOINT
 *   Every CSC_SQLITE_CHECKPOINT_PAGES pages, by the connection that has just
 *   committed. Copying rarely is what makes commits cheap: a page that was
 *   written often is copied once. PASSIVE is enough: nobody writes meanwhile,
 *   and it never waits for a reader. Once all is copied the next commit begins
 *   the log anew; where a reader looks at an old state, the log goes on, and a
 *   tenth of those pages later it is tried again.
 *   What an erasure writes, or a slice of a cancellation, is mostly another
 *   page each time, so nothing is gained by waiting, and all that others wait
 *   for is how many there are: behind one of these SCATTERED_PAGES are enough.
 */
#include "store/sqlite/internal.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define CHECKPOINT_RETRIES 10
#define SCATTERED_PAGES 250
#define CHECKPOINT_WAIT_NS INT64_C(200000000)
#define REST_FROM_NS INT64_C(10000000)
#define REST_PART 10
#define REST_MAX_NS INT64_C(120000000)

/* ---- Whose turn ---------------------------------------------------------- */

int64_t
csc_sqlite_txn_get_deadline(const csc_sqlite *store)
{
    return csc_sqlite_conn_end_ns(store->config->deadline_ms);
}

static csc_sqlite_conn *
find_idle(csc_sqlite *store, bool writer)
{
    csc_sqlite_conn *found = NULL;

    csc_assert(csc_lock_is_held(&store->mutex));
    if (writer)
        return store->writer.busy ? NULL : &store->writer;
    for (size_t i = 0; i < CSC_SQLITE_READERS; i++) {
        csc_sqlite_conn *reader = &store->readers[i];

        if (!reader->busy && (found == NULL || reader->db != NULL))
            found = reader;
        if (found != NULL && found->db != NULL)
            break;
    }
    return found;
}

/* Each kind has a condition of its own, and who gives one back wakes one of
 * those who wait: woken all together, but one would go back to sleep. */
static pthread_cond_t *
get_freed(csc_sqlite *store, bool writer)
{
    return writer ? &store->writer_freed : &store->reader_freed;
}

/* Not busy, or handed over to those who wait for it. */
static csc_sqlite_conn *
find_waited(csc_sqlite *store, bool writer)
{
    csc_assert(csc_lock_is_held(&store->mutex));
    if (!writer || !store->writer_handed)
        return find_idle(store, writer);
    store->writer_handed = false;
    return &store->writer;
}

/* NULL when the deadline passes. */
static csc_sqlite_conn *
take(csc_sqlite *store, bool writer, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                             .tv_nsec = (long)(deadline_ns % 1000000000)};
    csc_sqlite_conn *conn;
    int error = 0;

    csc_assert(csc_lock_is_none_held() && deadline_ns > 0);
    csc_lock_take(&store->mutex);
    conn = find_idle(store, writer);
    store->writer_waiting += writer ? 1 : 0;
    while (conn == NULL && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(get_freed(store, writer), &store->mutex,
                                       &until);
        conn = find_waited(store, writer);
    }
    store->writer_waiting -= writer ? 1 : 0;
    if (conn != NULL)
        conn->busy = true;
    csc_lock_give(&store->mutex);
    return conn;
}

/* A transaction of a node may have held the lock for long, and the next one be
 * about to begin: it leaves a gap, and the turn to those who wait for it. */
static void
rest_behind(csc_sqlite *store, csc_sqlite_native *it)
{
    int64_t now_ns = csc_sqlite_conn_now_ns();
    int64_t held_ns = it->began_ns == 0 ? 0 : now_ns - it->began_ns;

    csc_assert(csc_lock_is_held(&store->mutex));
    store->writer_handed = store->writer_waiting > 0;
    it->began_ns = 0; /* one that could not begin holds nothing */
    store->rest_until_ns = 0;
    if (held_ns >= REST_FROM_NS)
        store->rest_until_ns =
            now_ns + (held_ns / REST_PART < REST_MAX_NS ? held_ns / REST_PART
                                                        : REST_MAX_NS);
}

static void
rest(csc_sqlite *store)
{
    int64_t until_ns;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    until_ns = store->rest_until_ns;
    csc_lock_give(&store->mutex);
    for (unsigned round = 0; csc_sqlite_conn_pause(until_ns, round); round++) {
    }
}

/* Whoever writes has the writer's turn, also on another connection. */
static void
give_back(csc_sqlite_conn *conn)
{
    csc_sqlite *store = conn->store;
    csc_sqlite_conn *turn = conn->writer ? &store->writer : conn;

    csc_assert(csc_lock_is_none_held() && !conn->locked);
    if (conn == &store->native.conn)
        csc_sqlite_native_give_back(&store->native);
    csc_lock_take(&store->mutex);
    if (conn == &store->native.conn)
        rest_behind(store, &store->native);
    turn->busy = conn->writer && store->writer_handed;
    (void)pthread_cond_signal(get_freed(store, conn->writer));
    csc_lock_give(&store->mutex);
}

/* ---- Begin and end ------------------------------------------------------- */

static cascade_err
run(csc_sqlite_conn *conn, csc_sqlite_statement id)
{
    csc_sqlite_call call;

    csc_sqlite_call_begin(&call, conn, id);
    return csc_sqlite_call_run(&call, NULL);
}

static void
roll_back(csc_sqlite_conn *conn)
{
    csc_assert(conn->store->guest.session == NULL);
    if (conn->db == NULL || sqlite3_get_autocommit(conn->db))
        return;
    conn->deadline_ns = INT64_MAX; /* this must not be interrupted */
    (void)sqlite3_exec(conn->db,
                       csc_sqlite_statements[CSC_SQLITE_ROLL_BACK].sql, NULL,
                       NULL, NULL);
    if (!sqlite3_get_autocommit(conn->db)) {
        csc_log_add(&conn->store->log, CASCADE_LOG_WARNING,
                    "sqlite: a transaction could not be rolled back; the "
                    "connection is opened anew");
        csc_sqlite_conn_close(conn);
    }
}

/* `apart`: on that connection, instead of the one whose turn it is; or NULL. */
static cascade_err
begin_own(csc_sqlite *store, bool writer, csc_sqlite_conn *apart,
          csc_sqlite_conn **out)
{
    int64_t deadline_ns = csc_sqlite_txn_get_deadline(store);
    csc_sqlite_conn *conn = take(store, writer, deadline_ns);
    cascade_err err;

    csc_assert(csc_lock_is_none_held() && (apart == NULL || writer));
    if (conn == NULL)
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                                  "SQLite: other calls of this process kept "
                                  "the database busy beyond the deadline");
    if (apart != NULL)
        conn = apart;
    conn->deadline_ns = deadline_ns;
    err = csc_sqlite_conn_ready(conn);
    if (err == CASCADE_OK && apart != NULL)
        err = csc_sqlite_native_take(&store->native);
    if (err == CASCADE_OK && writer) {
        err = csc_sqlite_lock_share(&store->lock, deadline_ns);
        conn->locked = err == CASCADE_OK;
    }
    if (err == CASCADE_OK && writer)
        err = csc_sqlite_conn_enter_wal(conn);
    if (err == CASCADE_OK)
        err =
            run(conn, writer ? CSC_SQLITE_BEGIN_WRITE : CSC_SQLITE_BEGIN_READ);
    if (err == CASCADE_OK)
        err = csc_sqlite_trust_look(conn);
    if (err != CASCADE_OK)
        return csc_sqlite_txn_end(conn, err);
    *out = conn;
    return CASCADE_OK;
}

static cascade_err
begin(csc_sqlite *store, bool writes, csc_sqlite_conn *apart,
      csc_sqlite_conn **conn)
{
    cascade_err err = csc_sqlite_path_check_there(store, writes);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (store->guest.session != NULL)
        err = store->guest.session->begin(store, writes, conn);
    else if (writes && store->read_only)
        err = cascade_store_fail(CASCADE_ERR_READ_ONLY,
                                 "SQLite: the database file cannot be "
                                 "written by this process");
    else
        err = begin_own(store, writes, apart, conn);
    if (err == CASCADE_OK)
        (*conn)->writes = writes;
    return err;
}

cascade_err
csc_sqlite_txn_begin_read(csc_sqlite *store, csc_sqlite_conn **conn)
{
    return begin(store, false, NULL, conn);
}

cascade_err
csc_sqlite_txn_begin_write(csc_sqlite *store, csc_sqlite_conn **conn)
{
    return begin(store, true, NULL, conn);
}

cascade_err
csc_sqlite_txn_begin_native(csc_sqlite *store, csc_sqlite_conn **conn)
{
    rest(store);
    return begin(store, true, &store->native.conn, conn);
}

#ifdef CASCADE_ASSERTS
/* Not whether it still goes on: SQLite ends it where a statement fails. */
bool
csc_sqlite_txn_may_write(const csc_sqlite_conn *conn)
{
    return conn->writes &&
           (conn->store->guest.session == NULL || conn->store->guest.open);
}
#endif

/* Never fails the move that it follows. */
static void
checkpoint(csc_sqlite_conn *conn)
{
    csc_sqlite *store = conn->store;
    int64_t until_ns = csc_sqlite_conn_now_ns() + CHECKPOINT_WAIT_NS;
    int code = SQLITE_BUSY;

    csc_assert(csc_lock_is_none_held() && conn->writer);
    if (csc_sqlite_lock_exclude(&store->lock, until_ns)) {
        code = sqlite3_wal_checkpoint_v2(conn->db, "main",
                                         SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        csc_sqlite_lock_release(&store->lock);
    }
    store->copied_pages = conn->wal_pages;
    store->checkpoint_at_pages =
        conn->wal_pages + store->checkpoint_pages / CHECKPOINT_RETRIES;
    if (code != SQLITE_OK && code != SQLITE_BUSY)
        csc_log_add(&store->log, CASCADE_LOG_WARNING,
                    "sqlite: a checkpoint failed (code %d); it is tried again",
                    code);
}

void
csc_sqlite_txn_tend_log(csc_sqlite_conn *conn)
{
    csc_sqlite *store = conn->store;

    csc_assert(csc_lock_is_none_held());
    if (conn->wal_pages < store->checkpoint_pages) /* it was begun anew */
        store->checkpoint_at_pages = store->checkpoint_pages;
    if (conn->wal_pages < store->copied_pages)
        store->copied_pages = 0;
    if (conn->wal_pages >= store->checkpoint_at_pages ||
        (conn->scatters &&
         conn->wal_pages - store->copied_pages >= SCATTERED_PAGES))
        checkpoint(conn);
}

static void
leave_own(csc_sqlite_conn *conn, cascade_err err)
{
    csc_sqlite *store = conn->store;

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        roll_back(conn);
    if (conn->locked)
        csc_sqlite_lock_release(&store->lock);
    conn->locked = false;
    if (conn->writer && err == CASCADE_OK)
        csc_sqlite_txn_tend_log(conn);
    conn->scatters = false;
    give_back(conn);
}

cascade_err
csc_sqlite_txn_leave(csc_sqlite_conn *conn, cascade_err err)
{
    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK && conn->writes)
        err = csc_sqlite_path_check_there(conn->store, true);
    if (conn->store->guest.session != NULL)
        return conn->store->guest.session->leave_own(conn, err);
    leave_own(conn, err);
    return err;
}

cascade_err
csc_sqlite_txn_end(csc_sqlite_conn *conn, cascade_err err)
{
    if (conn->store->guest.session != NULL)
        return conn->store->guest.session->end(conn, err);
    if (err == CASCADE_OK)
        err = run(conn, CSC_SQLITE_COMMIT);
    return csc_sqlite_txn_leave(conn, err);
}

/* Until COMMIT nothing is done, however the transaction ends. */
cascade_err
csc_sqlite_txn_end_told(csc_sqlite_conn *conn, cascade_err err)
{
    if (err == CASCADE_OK)
        return csc_sqlite_txn_end(conn, err);
    return csc_store_undone(csc_sqlite_txn_end(conn, err));
}
