/* SPDX-License-Identifier: MIT
 *
 * The limits of queues, and what has a slot. They are columns of the row that a
 * paused queue has too; claims look at it in the transaction that gives slots
 * (turns.c). Set and drop are one write transaction each, which nobody else can
 * be in: what is read there stands until it is written.
 */
#include "store/sqlite/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Set and drop -------------------------------------------------------- */

/* The version of a queue's limits; 0: it has none. */
static cascade_err
read_version(csc_sqlite_conn *conn, const char *queue, int64_t *version)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    *version = 0;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_LIMITS);
    csc_sqlite_call_add_text(&call, queue);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row)
        *version = sqlite3_column_int64(call.statement, 1);
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
write_limits(csc_sqlite_conn *conn, const cascade_limits_row *row,
             int64_t version)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_SET_LIMITS);
    csc_sqlite_call_add_text(&call, row->queue);
    csc_sqlite_call_add_i64(&call, version);
    csc_sqlite_call_add_i64(&call, row->running_max);
    csc_sqlite_call_add_i64(&call, row->key_running_max);
    csc_sqlite_call_add_text(&call, row->about);
    return csc_sqlite_call_run(&call, NULL);
}

cascade_err
csc_sqlite_limits_set(void *self, const cascade_limits_row *row, bool *done,
                      int64_t *version)
{
    csc_sqlite_conn *conn = NULL;
    int64_t there = 0;
    bool fits = false;
    cascade_err err = csc_sqlite_txn_begin_write(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = read_version(conn, row->queue, &there);
    fits = row->version == CASCADE_LIMITS_ANY || row->version == there;
    if (err == CASCADE_OK && fits)
        err = write_limits(conn, row, ++there);
    err = csc_sqlite_txn_end(conn, err);
    if (err != CASCADE_OK)
        return err;
    *done = fits;
    *version = there;
    return CASCADE_OK;
}

static cascade_err
run_for(csc_sqlite_conn *conn, csc_sqlite_statement id, const char *queue)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, id);
    csc_sqlite_call_add_text(&call, queue);
    return csc_sqlite_call_run(&call, NULL);
}

cascade_err
csc_sqlite_limits_drop(void *self, const char *queue, bool *done)
{
    csc_sqlite_conn *conn = NULL;
    int64_t there = 0;
    cascade_err err = csc_sqlite_txn_begin_write(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = read_version(conn, queue, &there);
    if (err == CASCADE_OK)
        err = run_for(conn, CSC_SQLITE_DROP_LIMITS, queue);
    if (err == CASCADE_OK)
        err = run_for(conn, CSC_SQLITE_CLEAR_QUEUE, queue);
    err = csc_sqlite_txn_end(conn, err);
    if (err == CASCADE_OK)
        *done = there != 0;
    return err;
}

/* ---- List ---------------------------------------------------------------- */

static cascade_err
give_rows(csc_sqlite_call *call, cascade_limits_sink sink, void *context)
{
    bool found = false;
    cascade_err err = csc_sqlite_call_next(call, &found);

    while (err == CASCADE_OK && found) {
        cascade_limits_row row;

        err = csc_sqlite_row_read(call->statement, 0, &csc_table_limits_list,
                                  &row);
        if (err == CASCADE_OK)
            err = sink(context, &row);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(call, &found);
    }
    return err;
}

cascade_err
csc_sqlite_limits_list(void *self, const char *only, const char *after,
                       size_t limit, cascade_limits_sink sink, void *context)
{
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    cascade_err err = csc_sqlite_txn_begin_read(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn,
                          only != NULL ? CSC_SQLITE_GET_LIMITS
                                       : CSC_SQLITE_LIST_LIMITS);
    csc_sqlite_call_add_text(&call, only != NULL ? only : after);
    if (only == NULL)
        csc_sqlite_call_add_i64(&call, (int64_t)limit);
    err = give_rows(&call, sink, context);
    csc_sqlite_call_end(&call);
    return csc_sqlite_txn_end(conn, err);
}

/* ---- Slots --------------------------------------------------------------- */

static cascade_err
give_slots(csc_sqlite_call *call, cascade_slot_sink sink, void *context)
{
    bool found = false;
    cascade_err err = csc_sqlite_call_next(call, &found);

    while (err == CASCADE_OK && found) {
        cascade_slot_row row;

        err =
            csc_sqlite_row_read(call->statement, 0, &csc_table_slot_list, &row);
        if (err == CASCADE_OK)
            err = sink(context, &row);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(call, &found);
    }
    return err;
}

cascade_err
csc_sqlite_limits_slots(void *self, const char *queue, const char *key,
                        size_t limit, cascade_slot_sink sink, void *context)
{
    csc_sqlite_conn *conn = NULL;
    csc_sqlite_call call;
    cascade_err err = csc_sqlite_txn_begin_read(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_sqlite_call_begin(&call, conn,
                          key != NULL ? CSC_SQLITE_LIST_KEY_SLOTS
                                      : CSC_SQLITE_LIST_SLOTS);
    csc_sqlite_call_add_text(&call, queue);
    csc_sqlite_call_add_i64(&call, (int64_t)limit);
    if (key != NULL)
        csc_sqlite_call_add_text(&call, key);
    err = give_slots(&call, sink, context);
    csc_sqlite_call_end(&call);
    return csc_sqlite_txn_end(conn, err);
}
