/* SPDX-License-Identifier: MIT
 *
 * Seals: S78 to S81. A commit enters them beside the rows they are of, and
 * delete.c takes them out. What changes one by itself looks at it in the
 * write transaction, which nobody else can be in.
 */
#include "store/sqlite/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

static cascade_err
write_by(csc_sqlite_conn *conn, csc_sqlite_statement statement,
         const cascade_uuid *cascade_id, const cascade_seal_row *row,
         int *changes)
{
    csc_sqlite_call call;

    csc_sqlite_call_begin(&call, conn, statement);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    csc_sqlite_call_add_i64(&call, row->number);
    csc_sqlite_call_add_text(&call, row->seal);
    return csc_sqlite_call_run(&call, changes);
}

/* All but the first have one before them. */
cascade_err
csc_sqlite_seals_write(csc_sqlite_conn *conn, const cascade_uuid *cascade_id,
                       const cascade_seal_row *row)
{
    int changes = 0;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(conn));
    if (row->number > 1)
        err = write_by(conn, CSC_SQLITE_UPDATE_SEAL, cascade_id, row, &changes);
    if (err != CASCADE_OK || changes > 0)
        return err;
    return write_by(conn, CSC_SQLITE_WRITE_SEAL, cascade_id, row, NULL);
}

cascade_err
csc_sqlite_seals_look(csc_sqlite_conn *conn, const cascade_uuid *cascade_id,
                      const cascade_seal_row *was, bool *as_read)
{
    cascade_seal_row there;
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_SEAL);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    err = csc_sqlite_call_next(&call, &row);
    *as_read = !row && was == NULL;
    if (err == CASCADE_OK && row && was != NULL) {
        err = csc_sqlite_row_read(call.statement, 0, &csc_table_seals, &there);
        *as_read = err == CASCADE_OK && there.number == was->number &&
                   strcmp(there.seal, was->seal) == 0;
    }
    csc_sqlite_call_end(&call);
    return err;
}

/* ---- Changing ------------------------------------------------------------ */

/* Whether it may have a seal. */
static cascade_err
is_there(csc_sqlite_conn *conn, const cascade_uuid *id, bool *there)
{
    csc_sqlite_call call;
    cascade_err err;

    *there = true;
    if (csc_uuid_is_nil(id))
        return CASCADE_OK;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_STATUS);
    csc_sqlite_call_add_uuid(&call, id);
    err = csc_sqlite_call_next(&call, there);
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
change(csc_sqlite_conn *conn, const cascade_reseal *reseal, bool *done)
{
    bool as_read = false;
    cascade_err err = is_there(conn, &reseal->cascade_id, done);

    if (err == CASCADE_OK && *done)
        err = csc_sqlite_seals_look(conn, &reseal->cascade_id, reseal->was,
                                    &as_read);
    *done = *done && as_read;
    if (err != CASCADE_OK || !*done)
        return err;
    if (reseal->now == NULL)
        return csc_sqlite_delete_rows(conn, CSC_SQLITE_DELETE_SEAL,
                                      &reseal->cascade_id);
    return csc_sqlite_seals_write(conn, &reseal->cascade_id, reseal->now);
}

cascade_err
csc_sqlite_seals_change(void *self, const cascade_reseal *reseals, size_t count,
                        bool *done)
{
    csc_sqlite_conn *conn = NULL;
    cascade_err err = csc_sqlite_txn_begin_write(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = change(conn, &reseals[i], &done[i]);
    return csc_sqlite_txn_end(conn, err);
}

/* ---- Listing ------------------------------------------------------------- */

static cascade_err
list(csc_sqlite_conn *conn, const cascade_uuid *after, size_t limit,
     cascade_seal_sink sink, void *context)
{
    char text[CASCADE_UUID_TEXT_SIZE] = "";
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    if (after != NULL)
        (void)cascade_uuid_format(after, text);
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_SEALS);
    csc_sqlite_call_add_text(&call, text);
    csc_sqlite_call_add_i64(&call, (int64_t)limit);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        cascade_seal_row seal;

        err = csc_sqlite_row_read(call.statement, 0, &csc_table_seals, &seal);
        if (err == CASCADE_OK)
            err = sink(context, &seal);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_seals_list(void *self, const cascade_uuid *after, size_t limit,
                      cascade_seal_sink sink, void *context)
{
    csc_sqlite_conn *conn = NULL;
    cascade_err err = csc_sqlite_txn_begin_read(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    return csc_sqlite_txn_end(conn, list(conn, after, limit, sink, context));
}
