/* SPDX-License-Identifier: MIT
 *
 * A lent connection is taken for a move, and given back as it was: what that
 * means is told in borrowed.c.
 */
#include "store/postgres/internal.h"

#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/postgres.h"
#include "store/store.h"

#define CUT_READS_MAX 1024

/* The connection of the store is lost. */
static cascade_err
fail_lost(void)
{
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "the connection of this store is lost: make it anew, and "
                    "open a new store on it");
}

static cascade_err
check_transaction(PGTransactionStatusType status)
{
    switch (status) {
    case PQTRANS_IDLE:
    case PQTRANS_INTRANS:
        return CASCADE_OK;
    case PQTRANS_ACTIVE:
        return csc_fail(CASCADE_ERR_MISUSE,
                        "the connection of this store is busy: a statement or "
                        "a COPY is under way, or results are not fetched; call "
                        "PQgetResult() until it gives NULL");
    case PQTRANS_INERROR:
        return csc_fail(CASCADE_ERR_MISUSE,
                        "the transaction on the connection of this store has "
                        "failed: roll it back, or back to a savepoint");
    case PQTRANS_UNKNOWN:
        break;
    }
    return fail_lost();
}

cascade_err
csc_postgres_guest_check(const PGconn *pg)
{
    int encoding = PQclientEncoding(pg);

    if (PQstatus(pg) != CONNECTION_OK)
        return fail_lost();
    if (PQpipelineStatus(pg) != PQ_PIPELINE_OFF)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "the connection of this store is in pipeline mode: "
                        "leave that first");
    if (encoding < 0 || strcmp(pg_encoding_to_char(encoding), "UTF8") != 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "the connection of this store has a client encoding "
                        "other than UTF8: set that with "
                        "PQsetClientEncoding()");
    return check_transaction(PQtransactionStatus(pg));
}

static void
forget_path(csc_postgres_conn *conn)
{
    PQclear(conn->path);
    conn->path = NULL;
}

/* The savepoint, and in it our search_path. */
static cascade_err
save(csc_postgres_conn *conn)
{
    csc_postgres_call calls[] = {{.statement = CSC_POSTGRES_GUEST_SAVE},
                                 {.statement = CSC_POSTGRES_GUEST_PATH},
                                 {.statement = CSC_POSTGRES_PATH}};
    cascade_err err = csc_postgres_conn_read(conn, "savepoint", calls, 3);

    if (err == CASCADE_OK) {
        conn->path = calls[1].result;
        calls[1].result = NULL;
    }
    csc_postgres_conn_clear(calls, 3);
    return err;
}

/* Back to the savepoint, and then one statement more. */
static cascade_err
undo_and(csc_postgres_conn *conn, csc_postgres_statement more)
{
    cascade_err err =
        csc_postgres_conn_send(conn, CSC_POSTGRES_GUEST_UNDO, NULL);

    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, more, NULL);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_sync(conn);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_fetch_sync(conn);
    if (err == CASCADE_OK && PQtransactionStatus(conn->pg) != PQTRANS_INTRANS)
        err = csc_postgres_error_lost(conn);
    return err;
}

/* In mid-move: what was set behind the savepoint is undone too. */
cascade_err
csc_postgres_guest_rollback(csc_postgres_conn *conn)
{
    return undo_and(conn, CSC_POSTGRES_PATH);
}

/* The application's search_path, and no savepoint any more. */
static cascade_err
release(csc_postgres_conn *conn)
{
    csc_postgres_params path;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_GUEST_RESTORE, .params = &path},
        {.statement = CSC_POSTGRES_GUEST_RELEASE}};
    cascade_err err;

    csc_postgres_params_init(&path);
    csc_postgres_params_text(&path, PQgetvalue(conn->path, 0, 0));
    err = csc_postgres_conn_read(conn, "savepoint", calls, 2);
    csc_postgres_conn_clear(calls, 2);
    return err;
}

/* Ends what save() has begun, after a move that ended with `err`. Returns that,
 * or what prevented it. */
static cascade_err
end_within(csc_postgres_conn *conn, cascade_err err)
{
    cascade_err more = CASCADE_OK;

    if (err == CASCADE_OK && !conn->broken)
        err = release(conn);
    if (err != CASCADE_OK && !conn->broken)
        more = undo_and(conn, CSC_POSTGRES_GUEST_RELEASE);
    forget_path(conn);
    return more != CASCADE_OK ? more : err;
}

/* Of two that use it at once the second is told so. */
static cascade_err
reserve(csc_postgres *store)
{
    bool taken;

    csc_lock_take(&store->mutex);
    taken = store->open_count > 0;
    store->open_count = 1;
    csc_lock_give(&store->mutex);
    if (!taken)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_MISUSE,
                    "the connection of this store is in use by another call: "
                    "one thread at a time may use it, and no callback of a "
                    "call");
}

static void
unreserve(csc_postgres *store)
{
    csc_lock_take(&store->mutex);
    store->open_count = 0;
    csc_lock_give(&store->mutex);
}

/* The server hears of it too, and rolls back. */
static void
cut_off(PGconn *pg)
{
    int fd = PQsocket(pg);

    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    for (int i = 0; i < CUT_READS_MAX && PQstatus(pg) == CONNECTION_OK; i++)
        (void)PQconsumeInput(pg);
}

static bool
enter(csc_postgres_conn *conn)
{
    conn->blocking = PQisnonblocking(conn->pg) == 0;
    conn->within = PQtransactionStatus(conn->pg) == PQTRANS_INTRANS;
    conn->broken = PQsetnonblocking(conn->pg, 1) != 0 ||
                   PQenterPipelineMode(conn->pg) != 1;
    return !conn->broken;
}

/* What is left of it when the connection is lost does not matter to anybody. */
static void
leave(csc_postgres_conn *conn)
{
    PGTransactionStatusType status =
        conn->within ? PQTRANS_INTRANS : PQTRANS_IDLE;

    if (conn->broken || PQexitPipelineMode(conn->pg) != 1 ||
        PQtransactionStatus(conn->pg) != status)
        cut_off(conn->pg);
    if (conn->blocking)
        (void)PQsetnonblocking(conn->pg, 0);
}

cascade_err
csc_postgres_guest_take(csc_postgres *store, int64_t deadline_ms,
                        csc_postgres_conn **conn)
{
    csc_postgres_conn *guest = store->guest;
    cascade_err err = reserve(store);

    if (err != CASCADE_OK)
        return err;
    guest->broken = false;
    err = csc_postgres_guest_check(guest->pg);
    if (err != CASCADE_OK) {
        unreserve(store);
        return err;
    }
    guest->deadline_ms = deadline_ms;
    err = enter(guest) ? CASCADE_OK : fail_lost();
    if (err == CASCADE_OK && guest->within) {
        err = save(guest);
        if (err != CASCADE_OK)
            err = end_within(guest, err);
    }
    if (err != CASCADE_OK) {
        leave(guest);
        unreserve(store);
        return err;
    }
    *conn = guest;
    return CASCADE_OK;
}

cascade_err
csc_postgres_guest_give_back(csc_postgres_conn *conn, cascade_err err)
{
    if (conn->within)
        err = end_within(conn, err);
    leave(conn);
    unreserve(conn->store);
    return err;
}

cascade_err
csc_postgres_guest_fail(const csc_postgres *store, cascade_err err)
{
    const csc_postgres_conn *conn = store->guest;

    if (!conn->broken || conn->within)
        return err;
    return csc_fail(CASCADE_ERR_OUTCOME_UNKNOWN,
                    "the connection of this store was lost on the way: it may "
                    "have taken effect, look it up on another: %s",
                    cascade_errmsg());
}

bool
csc_postgres_guest_is_within(const csc_postgres *store)
{
    PGTransactionStatusType status;

    if (store->guest == NULL)
        return false;
    status = PQtransactionStatus(store->guest->pg);
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}
