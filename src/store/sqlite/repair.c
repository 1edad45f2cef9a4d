/* SPDX-License-Identifier: MIT
 *
 * Looking after what is stored: pause, queues, totals, repair, purge.
 *
 *   pause   a row of cascade_queues, which claims look at (claim.c) in
 *           the transaction that takes: a claim that begins after the pause
 *           has been committed sees it. The row may have limits too: then it
 *           stays when the queue goes on
 *   repair  S27. What must not be touched is looked at by the UPDATE itself,
 *           inside the transaction that nobody else can be in; its count tells
 *   purge   S26. A cascade is looked at, and deleted or marked, in that
 *           transaction: delete.c
 *
 * Each of them is one write transaction. If we die before its commit nothing
 * has happened; after it all has, and a caller that was not told repeats: the
 * queue is as it was asked for, what was repaired is not as it was read, and
 * what was purged is gone.
 *
 * Others write these tables too, and a time may stand there in several forms.
 * So it is not compared in SQL, where only our own sorts as it should.
 */
#include "store/sqlite/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Queues -------------------------------------------------------------- */

static cascade_err
set_paused(csc_sqlite_conn *conn, const char *queue, bool paused,
           const char *about, int *changes)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(
        &call, conn, paused ? CSC_SQLITE_PAUSE_QUEUE : CSC_SQLITE_RESUME_QUEUE);
    csc_sqlite_call_add_text(&call, queue);
    if (paused) {
        csc_sqlite_call_add_i64(&call,
                                csc_clock_wall_ms(conn->store->config->clock));
        csc_sqlite_call_add_text(&call, about != NULL ? about : "{}");
    }
    return csc_sqlite_call_run(&call, changes);
}

static cascade_err
clear_queue(csc_sqlite_conn *conn, const char *queue)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_CLEAR_QUEUE);
    csc_sqlite_call_add_text(&call, queue);
    return csc_sqlite_call_run(&call, NULL);
}

cascade_err
csc_sqlite_manage_pause(void *self, const char *queue, bool paused,
                        const char *about, bool *changed)
{
    csc_sqlite_conn *conn = NULL;
    int changes = 0;
    cascade_err err = csc_sqlite_txn_begin_write(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = set_paused(conn, queue, paused, about, &changes);
    if (err == CASCADE_OK && !paused)
        err = clear_queue(conn, queue);
    err = csc_sqlite_txn_end(conn, err);
    if (err != CASCADE_OK)
        return err;
    *changed = changes == 1;
    return CASCADE_OK;
}

cascade_err
csc_sqlite_manage_queues(void *self, cascade_queue_sink sink, void *context)
{
    csc_sqlite *store = self;
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    bool found = false;
    cascade_err err = csc_sqlite_txn_begin_read(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_QUEUES);
    csc_sqlite_call_add_i64(&call, csc_clock_wall_ms(store->config->clock));
    err = csc_sqlite_call_next(&call, &found);
    while (err == CASCADE_OK && found) {
        cascade_queue_row row;

        err = csc_sqlite_row_queue(call.statement, &row);
        if (err == CASCADE_OK)
            err = sink(context, &row);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &found);
    }
    csc_sqlite_call_end(&call);
    return csc_sqlite_txn_end(conn, err);
}

cascade_err
csc_sqlite_manage_totals(void *self, cascade_totals *totals)
{
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    cascade_totals found = {.running = 0};
    bool row = false;
    cascade_err err = csc_sqlite_txn_begin_read(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_COUNT_ALL);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK) {
        csc_assert(row);
        found.running = sqlite3_column_int64(call.statement, 0);
        found.completed = sqlite3_column_int64(call.statement, 1);
        found.failed = sqlite3_column_int64(call.statement, 2);
        found.messages = sqlite3_column_int64(call.statement, 3);
        found.erasing = sqlite3_column_int64(call.statement, 4);
    }
    csc_sqlite_call_end(&call);
    err = csc_sqlite_txn_end(conn, err);
    if (err == CASCADE_OK)
        *totals = found;
    return err;
}

/* ---- Repair -------------------------------------------------------------- */

static cascade_err
set_cascade(csc_sqlite_conn *conn, const cascade_repair *repair, bool *done)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_REPAIR_CASCADE);
    csc_sqlite_call_add_uuid(&call, &repair->was.id);
    csc_sqlite_call_add_status(&call, repair->was.status);
    csc_sqlite_call_add_i64(&call, repair->was.fn_id);
    csc_sqlite_call_add_status(&call, repair->status);
    csc_sqlite_call_add_i64(&call, repair->fn_id);
    err = csc_sqlite_call_run(&call, &changes);
    *done = changes == 1;
    return err;
}

static cascade_err
insert_run(csc_sqlite_conn *conn, const cascade_repair *repair)
{
    cascade_run_row run = {.queue = repair->run.queue,
                           .priority = repair->run.priority,
                           .limit_key = repair->run.limit_key,
                           .wake_at_ms = repair->run.wake_at_ms};

    return csc_sqlite_commit_insert_run(conn, &repair->was.id, &run);
}

/* A key whose first run is the current one has no row. */
static cascade_err
raise_key(csc_sqlite_conn *conn, const cascade_repair *repair)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    if (repair->key == NULL || repair->run_number < 2)
        return CASCADE_OK;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_RAISE_KEY);
    csc_sqlite_call_add_uuid(&call, &repair->was.id);
    csc_sqlite_call_add_text(&call, repair->key);
    csc_sqlite_call_add_i64(&call, repair->run_number);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
repair_one(csc_sqlite_conn *conn, const cascade_repair *repair, bool *done)
{
    bool as_read = true;
    cascade_err err = CASCADE_OK;

    *done = false;
    if (repair->seal != NULL)
        err = csc_sqlite_seals_look(conn, &repair->was.id, repair->was_seal,
                                    &as_read);
    if (err == CASCADE_OK && as_read)
        err = set_cascade(conn, repair, done);
    if (err != CASCADE_OK || !*done)
        return err;
    if (repair->seal != NULL)
        err = csc_sqlite_seals_write(conn, &repair->was.id, repair->seal);
    if (err == CASCADE_OK && repair->starts)
        err = insert_run(conn, repair);
    if (err == CASCADE_OK)
        err = raise_key(conn, repair);
    return err;
}

cascade_err
csc_sqlite_manage_repair(void *self, const cascade_repair *repairs,
                         size_t count, bool *done)
{
    csc_sqlite_conn *conn = NULL;
    cascade_err err = csc_sqlite_txn_begin_write(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = repair_one(conn, &repairs[i], &done[i]);
    return csc_sqlite_txn_end(conn, err);
}

/* ---- Purge --------------------------------------------------------------- */

static cascade_err
is_spent(csc_sqlite_conn *conn, const cascade_uuid *id,
         int64_t updated_before_ms, bool *spent)
{
    csc_sqlite_call call;
    cascade_row cascade;
    bool row = false;
    cascade_err err;

    *spent = false;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_SPENT);
    csc_sqlite_call_add_uuid(&call, id);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row) {
        err = csc_sqlite_row_read(call.statement, 0, &csc_table_cascades,
                                  &cascade);
        *spent = err == CASCADE_OK && cascade.updated_at_ms < updated_before_ms;
    }
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_manage_purge(void *self, const cascade_uuid *ids, size_t count,
                        int64_t updated_before_ms, size_t *deleted)
{
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_room room;
    size_t purged = 0;
    cascade_err err = csc_sqlite_txn_begin_write(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_delete_begin(&room);
    for (size_t i = 0; i < count && err == CASCADE_OK; i++) {
        bool spent = false;
        bool marked = false;

        err = is_spent(conn, &ids[i], updated_before_ms, &spent);
        if (spent)
            err = csc_sqlite_delete_or_mark(conn, &ids[i], &room, &marked);
        purged += spent;
    }
    err = csc_sqlite_txn_end(conn, err);
    if (err == CASCADE_OK)
        *deleted = purged;
    return err;
}
