/* SPDX-License-Identifier: MIT
 *
 * Guests: a store on a connection that the application has, or that a
 * transactional node was given.
 *
 * Such a store has that one connection and never makes or closes any. Each move
 * takes it, and gives it back as it was:
 *
 *   take       checks: connected, out of pipeline mode and COPY, nothing left
 *              to fetch, no failed transaction, UTF8
 *              nonblocking, pipeline mode
 *              in a transaction: SAVEPOINT, and our search_path
 *   the move   what it does on any connection, see below
 *   give back  in a transaction: the search_path as before, RELEASE; after an
 *              error ROLLBACK TO, RELEASE
 *              out of pipeline mode, nonblocking or not as before
 *
 * OUTSIDE A TRANSACTION a move is as behind a pooler: its own BEGIN ... COMMIT,
 * unnamed statements only, and settings that end with the transaction.
 *
 * IN A TRANSACTION there is no BEGIN, COMMIT or ROLLBACK, nor a setting but the
 * search_path, which says what the names in our statements mean:
 *
 *   BEGIN, [settings], call, ..., COMMIT     outside
 *          call, ...                         between SAVEPOINT and RELEASE
 *   ROLLBACK                                 ROLLBACK TO, and on in the same
 *                                            transaction
 *
 * The savepoint spans the whole move, whatever that is: so a statement that
 * fails takes back all of the move and nothing else, and the transaction is
 * usable afterwards, and ROLLBACK TO also brings the application's search_path
 * back. That costs two round trips. A move is not repeated there:
 * what made it fail for now (a serialization failure, a deadlock) goes away
 * with the transaction only, so it is UNAVAILABLE at once. Nobody is told of
 * what was written, since it is not there yet, and a NOTIFY in the transaction
 * would make commits wait for one another.
 *
 * IF WE DIE in between, the server rolls all of the transaction back.
 *
 * A CONNECTION THAT IS LOST, or that has not answered within the deadline, is
 * cut off: nobody knows what it would say next. libpq then tells of it by
 * CONNECTION_BAD, as of any that is lost. Outside a transaction what was sent
 * may have been committed; there is no other connection to find that out on, so
 * a submit says OUTCOME_UNKNOWN. In a transaction nothing took effect.
 *
 * NOTICES go to the application's receiver, which stays, as libpq does not tell
 * how to put it back (its argument cannot be asked for). What the store's own
 * receiver hears elsewhere is heard otherwise or not at all: that an idle
 * connection has ended shows in the first exchange; that a COMMIT did not wait
 * for the standby is told only to the application, whose COMMIT it is in a
 * transaction. Notifications that arrive meanwhile are kept by libpq.
 */
#include "store/store.h"

#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/postgres.h"
#include "cascade/store.h"
#include "store/postgres/internal.h"

static bool
is_within(const void *self)
{
    const csc_postgres *store = self;

    return store->always_within || csc_postgres_guest_is_within(store);
}

/* ---- Opening ------------------------------------------------------------- */

static cascade_err
check_open(const PGconn *pg, bool within)
{
    cascade_err err = csc_postgres_guest_check(pg);

    if (err != CASCADE_OK)
        return err;
    if (PQtransactionStatus(pg) == PQTRANS_INTRANS && !within)
        return csc_fail(CASCADE_ERR_MISUSE,
                        "opening a store: a transaction is open on the "
                        "connection; open the store before that begins");
    return csc_postgres_conn_check_server(pg);
}

static cascade_err
open_guest(void *handle, const cascade_native *native,
           const cascade_store_config *config, void **self)
{
    csc_postgres_conn *conn;
    csc_postgres *store = NULL;
    cascade_err err = check_open(handle, native != NULL);

    if (err != CASCADE_OK)
        return err;
    conn = csc_mem_zalloc(1, sizeof(*conn));
    if (conn == NULL)
        return csc_fail_memory();
    err = csc_postgres_create(NULL, config, &store);
    if (err != CASCADE_OK) {
        csc_mem_free(conn);
        return err;
    }
    store->guest_config = *config;
    store->guest_config.pooler = true;
    store->guest_config.durability = CASCADE_DURABILITY_FULL;
    store->config = &store->guest_config;
    store->always_within = native != NULL;
    *conn = (csc_postgres_conn){
        .store = store, .pg = handle, .cancel_fd = -1, .guest = true};
    store->guest = conn;
    *self = store;
    return CASCADE_OK;
}

/* ---- Moves that a guest has not ------------------------------------------ */

static cascade_err
fail_engine(void)
{
    return csc_fail(CASCADE_ERR_UNSUPPORTED,
                    "a store on a connection of the application's has no "
                    "engines: open one with cascade_store_open() for them");
}

static cascade_err
attach(void *self, const cascade_incarnation *incarnation)
{
    (void)self;
    (void)incarnation;
    return fail_engine();
}

static cascade_err
renew(void *self, const cascade_uuid *engine_id, int64_t lease_ms,
      int64_t *now_ms)
{
    (void)self;
    (void)engine_id;
    (void)lease_ms;
    (void)now_ms;
    return fail_engine();
}

static cascade_err
detach(void *self, const cascade_uuid *engine_id)
{
    (void)self;
    (void)engine_id;
    return fail_engine();
}

static cascade_err
remove_dead(void *self, const cascade_uuid *dead, size_t dead_count,
            size_t limit, size_t *freed)
{
    (void)self;
    (void)dead;
    (void)dead_count;
    (void)limit;
    (void)freed;
    return fail_engine();
}

static cascade_err
claim_runs(void *self, const cascade_claim *claim, cascade_claimed *claimed,
           cascade_claim_result *result)
{
    (void)self;
    (void)claim;
    (void)claimed;
    (void)result;
    return fail_engine();
}

static cascade_err
commit_batch(void *self, const cascade_batch *batch, bool *existed)
{
    (void)self;
    (void)batch;
    (void)existed;
    return fail_engine();
}

static cascade_err
receive(void *self, const cascade_receive *receive, cascade_message_sink sink,
        void *context)
{
    (void)self;
    (void)receive;
    (void)sink;
    (void)context;
    return fail_engine();
}

static cascade_err
settle(void *self, const cascade_uuid *engine_id, uint32_t lane, int64_t number,
       bool *committed)
{
    (void)self;
    (void)engine_id;
    (void)lane;
    (void)number;
    (void)committed;
    return fail_engine();
}

/* ---- The driver ---------------------------------------------------------- */

static cascade_err
open_by_url(const char *url, const cascade_store_config *config, void **self)
{
    (void)url;
    (void)config;
    (void)self;
    return fail_engine();
}

static const cascade_store_driver driver = {
    .abi = CASCADE_STORE_ABI,
    .size = sizeof(cascade_store_driver),
    .name = "postgres",
    .lane_max = 1,
    .server_clock = true,
    .open = open_by_url,
    .migrate = csc_postgres_schema_migrate,
    .now = csc_postgres_now,
    .attach = attach,
    .renew = renew,
    .detach = detach,
    .engines = csc_postgres_engine_list,
    .remove = remove_dead,
    .claim = claim_runs,
    .load = csc_postgres_read_load,
    .receive = receive,
    .scan = csc_postgres_read_scan,
    .list = csc_postgres_read_list,
    .commit = commit_batch,
    .submit = csc_postgres_commit_submit,
    .settle = settle,
    .wait = csc_postgres_wait_for,
    .wake = csc_postgres_wait_wake,
    .close = csc_postgres_close,
    .chain = &csc_postgres_chain,
    .manage = &csc_postgres_manage,
    .integrity = &csc_postgres_integrity,
    .limits = &csc_postgres_limits,
};

const csc_store_guest *
csc_store_postgres_guest(void)
{
    static const csc_store_guest guest = {
        .driver = &driver, .open = open_guest, .within = is_within};

    return &guest;
}
