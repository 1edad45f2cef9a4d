/* SPDX-License-Identifier: MIT
 *
 * Deleting whole cascades: at once, or piece by piece in the commits of their
 * owner (S39).
 *
 *   events        from the highest function_id down
 *   executions    the same, once there is no event any more
 *   messages      but the one that asked for it
 *   the rest      that message, the run, the cascade: with the last piece
 *
 * A piece is cut where the rows, or the bytes, of its batch are used up. The
 * bytes are counted row by row, and no row is read behind the cut. Nothing but
 * the rows tells how far it is: if we die between two pieces, the run and the
 * message are there, and whoever claims the run goes on.
 */
#include "base/error.h"
#include "base/uuid.h"
#include "store/sqlite_internal.h"
#include "store/store.h"

cascade_err
csc_sqlite_delete_rows(csc_sqlite_conn *conn, csc_sqlite_sql_id id,
                       const cascade_uuid *cascade_id)
{
    csc_sqlite_call call;

    csc_sqlite_call_begin(&call, conn, id);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
delete_all(csc_sqlite_conn *conn, const cascade_uuid *cascade_id,
           const csc_sqlite_sql_id *ids, size_t count)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = csc_sqlite_delete_rows(conn, ids[i], cascade_id);
    return err;
}

/* The cascade last: tables of other programs need not delete with it. */
cascade_err
csc_sqlite_delete_whole(csc_sqlite_conn *conn, const cascade_uuid *cascade_id)
{
    static const csc_sqlite_sql_id ids[] = {
        CSC_SQLITE_DELETE_MESSAGES, CSC_SQLITE_DELETE_RUN,
        CSC_SQLITE_DELETE_EVENTS, CSC_SQLITE_DELETE_EXECUTIONS,
        CSC_SQLITE_DELETE_CASCADE};

    return delete_all(conn, cascade_id, ids, sizeof(ids) / sizeof(ids[0]));
}

/* ---- Pieces -------------------------------------------------------------- */

typedef struct cut {
    csc_sqlite_sql_id size;
    csc_sqlite_sql_id rows;
    bool keeps; /* a message */
} cut;

static const cut cuts[CSC_SQLITE_CUTS] = {
    {CSC_SQLITE_SIZE_EVENTS, CSC_SQLITE_CUT_EVENTS, false},
    {CSC_SQLITE_SIZE_EXECUTIONS, CSC_SQLITE_CUT_EXECUTIONS, false},
    {CSC_SQLITE_SIZE_MESSAGES, CSC_SQLITE_CUT_MESSAGES, true}};

void
csc_sqlite_delete_begin(csc_sqlite_room *room)
{
    for (size_t i = 0; i < CSC_SQLITE_CUTS; i++) {
        room->rows[i] = CASCADE_DELETE_ROWS_MAX;
        room->bytes[i] = CASCADE_DELETE_BYTES_MAX;
    }
}

static void
begin_cut(csc_sqlite_call *call, csc_sqlite_conn *conn,
          const cascade_change *change, csc_sqlite_sql_id id, size_t count,
          bool keeps)
{
    csc_sqlite_call_begin(call, conn, id);
    csc_sqlite_call_add_uuid(call, &change->cascade.id);
    csc_sqlite_call_add_i64(call, (int64_t)count);
    if (keeps)
        csc_sqlite_call_add_i64(
            call, change->received_count > 0 ? change->received[0] : 0);
}

/* How many rows there is room for; the room is used up then. `*left`: there may
 * be more. */
static cascade_err
measure(csc_sqlite_conn *conn, const cascade_change *change, const cut *of,
        csc_sqlite_room *room, size_t *count, bool *left)
{
    size_t at = (size_t)(of - cuts);
    csc_sqlite_call call;
    bool row = true;
    cascade_err err = CASCADE_OK;

    *count = 0;
    begin_cut(&call, conn, change, of->size, room->rows[at] + 1, of->keeps);
    while (err == CASCADE_OK && row && room->rows[at] > *count &&
           room->bytes[at] > 0) {
        err = csc_sqlite_call_next(&call, &row);
        if (err == CASCADE_OK && row) {
            int64_t bytes = sqlite3_column_int64(call.statement, 0);

            room->bytes[at] -=
                bytes < room->bytes[at] ? bytes : room->bytes[at];
            ++*count;
        }
    }
    if (err == CASCADE_OK && row)
        err = csc_sqlite_call_next(&call, &row);
    csc_sqlite_call_end(&call);
    room->rows[at] -= *count;
    *left = row;
    return err;
}

/* Of one table. */
static cascade_err
cut_rows(csc_sqlite_conn *conn, const cascade_change *change, const cut *of,
         csc_sqlite_room *room, bool *left)
{
    csc_sqlite_call call;
    size_t count = 0;
    cascade_err err = measure(conn, change, of, room, &count, left);

    if (err != CASCADE_OK || count == 0)
        return err;
    begin_cut(&call, conn, change, of->rows, count, of->keeps);
    return csc_sqlite_call_run(&call, NULL);
}

cascade_err
csc_sqlite_delete_piece(csc_sqlite_conn *conn, const cascade_change *change,
                        csc_sqlite_room *room, bool *left)
{
    static const csc_sqlite_sql_id rest[] = {CSC_SQLITE_DELETE_MESSAGES,
                                             CSC_SQLITE_DELETE_RUN,
                                             CSC_SQLITE_DELETE_CASCADE};
    cascade_err err = CASCADE_OK;

    *left = false;
    for (size_t i = 0; i < CSC_SQLITE_CUTS && err == CASCADE_OK && !*left; i++)
        err = cut_rows(conn, change, &cuts[i], room, left);
    if (err != CASCADE_OK || *left)
        return err;
    return delete_all(conn, &change->cascade.id, rest,
                      sizeof(rest) / sizeof(rest[0]));
}

cascade_err
csc_sqlite_delete_left(csc_sqlite_conn *conn, const cascade_change *change,
                       bool *left)
{
    csc_sqlite_call call;
    cascade_err err;

    *left = false;
    if (change->received_count == 0)
        return CASCADE_OK;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_FIND_MESSAGE);
    csc_sqlite_call_add_i64(&call, change->received[0]);
    csc_sqlite_call_add_uuid(&call, &change->cascade.id);
    err = csc_sqlite_call_next(&call, left);
    csc_sqlite_call_end(&call);
    return err;
}
