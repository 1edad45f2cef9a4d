/* SPDX-License-Identifier: MIT
 *
 * Incarnations: attach, renew, detach, engines, remove.
 *
 * A lease is a point of the machine's monotonic clock, with the boot that the
 * clock belongs to. A wall clock may jump, this one cannot; and after a reboot
 * no process of before is alive, so a lease of another boot has expired. Leases
 * are compared by processes of one machine only: a SQLite file is not shared
 * over a network.
 *
 * Expiry by itself means nothing. Whoever finds a lease expired deletes the
 * incarnation and its lanes in a transaction of its own, looking again inside
 * it: a renewal that came first wins, and one that comes later finds no row. A
 * run whose engine_id names no incarnation is as good as free; `remove` sets
 * such runs free in portions. If we die between the two, the next one goes on.
 *
 * A process that is stopped inside a write transaction keeps SQLite's write
 * lock: everybody waits for it, up to the deadline, until it goes on or dies.
 * There is no cure on this store; its transactions last for milliseconds.
 */
#include "store/sqlite/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

static int64_t
get_monotonic_ms(const csc_sqlite *store)
{
    return csc_clock_monotonic_ms(store->config->clock);
}

/* ---- Attach, renew, engines ---------------------------------------------- */

static cascade_err
insert_lanes(csc_sqlite_conn *conn, const cascade_incarnation *incarnation)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(conn));
    for (uint32_t i = 0; i < incarnation->lane_count && err == CASCADE_OK;
         i++) {
        csc_sqlite_call call;

        csc_sqlite_call_begin(&call, conn, CSC_SQLITE_INSERT_LANE);
        csc_sqlite_call_add_uuid(&call, &incarnation->engine_id);
        csc_sqlite_call_add_i64(&call, i);
        err = csc_sqlite_call_run(&call, NULL);
    }
    return err;
}

cascade_err
csc_sqlite_lease_attach(void *self, const cascade_incarnation *incarnation)
{
    csc_sqlite *store = self;
    int64_t until_ms =
        csc_clock_add(get_monotonic_ms(store), incarnation->lease_ms);
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    cascade_err err = csc_sqlite_txn_begin_write(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_INSERT_ENGINE);
    csc_sqlite_call_add_uuid(&call, &incarnation->engine_id);
    csc_sqlite_call_add_text(&call, incarnation->host);
    csc_sqlite_call_add_i64(&call, incarnation->pid);
    csc_sqlite_call_add_i64(&call, incarnation->process_start);
    csc_sqlite_call_add_text(&call, store->boot);
    csc_sqlite_call_add_i64(&call, incarnation->lease_ms);
    csc_sqlite_call_add_i64(&call, until_ms);
    csc_sqlite_call_add_i64(&call, csc_clock_wall_ms(store->config->clock));
    csc_sqlite_call_add_text(
        &call, incarnation->about != NULL ? incarnation->about : "{}");
    err = csc_sqlite_call_run(&call, NULL);
    if (err == CASCADE_OK)
        err = insert_lanes(conn, incarnation);
    return csc_sqlite_txn_end(conn, err);
}

cascade_err
csc_sqlite_lease_renew(void *self, const cascade_uuid *engine_id,
                       int64_t lease_ms, int64_t *now_ms)
{
    csc_sqlite *store = self;
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err = csc_sqlite_txn_begin_write(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_RENEW_ENGINE);
    csc_sqlite_call_add_uuid(&call, engine_id);
    csc_sqlite_call_add_i64(&call, lease_ms);
    csc_sqlite_call_add_i64(&call,
                            csc_clock_add(get_monotonic_ms(store), lease_ms));
    csc_sqlite_call_add_text(&call, store->boot);
    err = csc_sqlite_call_run(&call, &changes);
    if (err == CASCADE_OK && changes == 0)
        err = cascade_store_fail(CASCADE_ERR_FENCED,
                                 "renew: this incarnation was removed; attach "
                                 "a new one");
    err = csc_sqlite_txn_end(conn, err);
    if (err == CASCADE_OK && now_ms != NULL)
        *now_ms = csc_clock_wall_ms(store->config->clock);
    return err;
}

/* The first owner that is no incarnation. Owners are few, so they are walked
 * one seek each. */
static cascade_err
find_absent_owner(csc_sqlite_conn *conn, cascade_uuid *owner, bool *found)
{
    bool alive = true;
    cascade_err err = CASCADE_OK;

    memset(owner, 0, sizeof(*owner));
    *found = true;
    while (err == CASCADE_OK && *found && alive) {
        csc_sqlite_call call;

        csc_sqlite_call_begin(&call, conn, CSC_SQLITE_NEXT_OWNER);
        csc_sqlite_call_add_uuid(&call, owner);
        err = csc_sqlite_call_next(&call, found);
        if (err == CASCADE_OK && *found) {
            alive = sqlite3_column_int(call.statement, 1) != 0;
            err = csc_sqlite_row_uuid(call.statement, 0, "cascade_runs",
                                      "engine_id", owner);
        }
        csc_sqlite_call_end(&call);
    }
    return err;
}

cascade_err
csc_sqlite_lease_engines(void *self, cascade_engine_sink sink, void *context,
                         bool *orphans)
{
    csc_sqlite *store = self;
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    cascade_uuid owner;
    bool row = false;
    cascade_err err = csc_sqlite_txn_begin_read(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_ENGINES);
    csc_sqlite_call_add_text(&call, store->boot);
    csc_sqlite_call_add_i64(&call, get_monotonic_ms(store));
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        cascade_incarnation incarnation;

        err = csc_sqlite_row_engine(call.statement, &incarnation);
        if (err == CASCADE_OK)
            err = sink(context, &incarnation);
        else if (err == CASCADE_ERR_CORRUPT)
            err = csc_ok(); /* it is passed over: S74 */
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    if (err == CASCADE_OK && orphans != NULL)
        err = find_absent_owner(conn, &owner, orphans);
    return csc_sqlite_txn_end(conn, err);
}

/* ---- Detach -------------------------------------------------------------- */

static cascade_err
delete_rows(csc_sqlite_conn *conn, csc_sqlite_statement id,
            const cascade_uuid *engine_id)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, id);
    csc_sqlite_call_add_uuid(&call, engine_id);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
delete_engine(csc_sqlite_conn *conn, const cascade_uuid *engine_id)
{
    cascade_err err = delete_rows(conn, CSC_SQLITE_DELETE_LANES, engine_id);

    if (err == CASCADE_OK)
        err = delete_rows(conn, CSC_SQLITE_DELETE_ENGINE, engine_id);
    return err;
}

cascade_err
csc_sqlite_lease_detach(void *self, const cascade_uuid *engine_id)
{
    csc_sqlite *store = self;
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    cascade_err err = csc_sqlite_txn_begin_write(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_RELEASE_RUNS);
    csc_sqlite_call_add_uuid(&call, engine_id);
    csc_sqlite_call_add_i64(&call, csc_clock_wall_ms(store->config->clock));
    err = csc_sqlite_call_run(&call, NULL);
    if (err == CASCADE_OK)
        err = delete_engine(conn, engine_id);
    return csc_sqlite_txn_end(conn, err);
}

/* ---- Remove -------------------------------------------------------------- */

/* The first incarnation whose lease has expired. */
static cascade_err
find_expired(csc_sqlite_conn *conn, cascade_uuid *engine_id, bool *found)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_EXPIRED);
    csc_sqlite_call_add_text(&call, conn->store->boot);
    csc_sqlite_call_add_i64(&call, get_monotonic_ms(conn->store));
    err = csc_sqlite_call_next(&call, found);
    if (err == CASCADE_OK && *found)
        err = csc_sqlite_row_uuid(call.statement, 0, "cascade_engines",
                                  "engine_id", engine_id);
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
delete_dead(csc_sqlite_conn *conn, const cascade_uuid *dead, size_t dead_count)
{
    cascade_uuid engine_id;
    bool found = false;
    cascade_err err = find_expired(conn, &engine_id, &found);

    while (err == CASCADE_OK && found) {
        err = delete_engine(conn, &engine_id);
        if (err == CASCADE_OK)
            err = find_expired(conn, &engine_id, &found);
    }
    for (size_t i = 0; i < dead_count && err == CASCADE_OK; i++)
        err = delete_engine(conn, &dead[i]);
    return err;
}

static cascade_err
free_runs(csc_sqlite_conn *conn, size_t limit, size_t *freed)
{
    int64_t now_ms = csc_clock_wall_ms(conn->store->config->clock);
    bool found = true;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(conn));
    *freed = 0;
    while (err == CASCADE_OK && found && *freed < limit) {
        csc_sqlite_call call;
        cascade_uuid owner;
        int changes = 0;

        err = find_absent_owner(conn, &owner, &found);
        if (err != CASCADE_OK || !found)
            break;
        csc_sqlite_call_begin(&call, conn, CSC_SQLITE_FREE_RUNS);
        csc_sqlite_call_add_uuid(&call, &owner);
        csc_sqlite_call_add_i64(&call, now_ms);
        csc_sqlite_call_add_i64(&call, (int64_t)(limit - *freed));
        err = csc_sqlite_call_run(&call, &changes);
        *freed += (size_t)changes;
    }
    return err;
}

/* A look without the write lock: mostly there is nothing to do, and every
 * engine asks again and again. */
static cascade_err
is_needed(csc_sqlite *store, bool *needed)
{
    csc_sqlite_conn *conn = NULL;
    cascade_uuid id;
    cascade_err err = csc_sqlite_txn_begin_read(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = find_expired(conn, &id, needed);
    if (err == CASCADE_OK && !*needed)
        err = find_absent_owner(conn, &id, needed);
    return csc_sqlite_txn_end(conn, err);
}

cascade_err
csc_sqlite_lease_remove(void *self, const cascade_uuid *dead, size_t dead_count,
                        size_t limit, size_t *freed)
{
    csc_sqlite *store = self;
    csc_sqlite_conn *conn = NULL;
    bool needed = dead_count > 0;
    size_t count = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (!needed)
        err = is_needed(store, &needed);
    if (err == CASCADE_OK && needed) {
        err = csc_sqlite_txn_begin_write(store, &conn);
        if (err != CASCADE_OK)
            return err;
        err = delete_dead(conn, dead, dead_count);
        if (err == CASCADE_OK)
            err = free_runs(conn, limit, &count);
        err = csc_sqlite_txn_end(conn, err);
    }
    if (err != CASCADE_OK)
        return err;
    *freed = count;
    if (count > 0)
        (void)csc_sqlite_wait_wake(store); /* a hint: the runs are free */
    return CASCADE_OK;
}
