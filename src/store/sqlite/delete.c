/* SPDX-License-Identifier: MIT
 *
 * Deleting whole cascades: at once, or piece by piece (S39 to S42).
 *
 *   events        from the highest function_id down
 *   executions    the same, once there is no event any more; what they have
 *                 received of a run that leads on is entered with that (S83)
 *   messages
 *   the rest      the run, the cascade: with the last piece
 *
 *   commit, purge    a piece. Something is left: the run goes, and a row of
 *                    cascade_erasures tells that nothing of it is to be seen
 *   erase            the next piece of one that has such a row; with the last
 *                    goes the row too
 *
 * Who writes has the database alone. So a piece of `erase` takes no more rows
 * than are taken in the time of the commit that follows, or in WORK_NS where
 * that is shorter: how many these are is learned from piece to piece. Others
 * wait about as long for one as for a commit of anybody else.
 *
 * A piece is cut where the rows, or the bytes, of its transaction are used up.
 * The bytes are counted row by row, and no row is read behind the cut. Nothing
 * but the rows tells how far it is: if we die between two pieces, the mark is
 * there, and whoever erases next goes on. The foreign keys of the tables do not
 * let the cascade go first; so its row stays, and who reads looks for the mark.
 */
#include "store/sqlite/internal.h"

#include "base/clock.h"
#include "base/data/pace.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define CASCADE_ROWS 8 /* what an erasure counts for beside its rows */
#define WORK_NS INT64_C(150000)

cascade_err
csc_sqlite_delete_rows(csc_sqlite_conn *conn, csc_sqlite_statement id,
                       const cascade_uuid *cascade_id)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, id);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
delete_all(csc_sqlite_conn *conn, const cascade_uuid *cascade_id,
           const csc_sqlite_statement *ids, size_t count)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < count && err == CASCADE_OK; i++)
        err = csc_sqlite_delete_rows(conn, ids[i], cascade_id);
    return err;
}

static cascade_err
delete_seal(csc_sqlite_conn *conn, const cascade_uuid *cascade_id)
{
    if (!conn->store->config->sealed)
        return CASCADE_OK;
    return csc_sqlite_delete_rows(conn, CSC_SQLITE_DELETE_SEAL, cascade_id);
}

/* The cascade last: tables of other programs need not delete with it. */
cascade_err
csc_sqlite_delete_whole(csc_sqlite_conn *conn, const cascade_uuid *cascade_id)
{
    static const csc_sqlite_statement ids[] = {
        CSC_SQLITE_DELETE_MESSAGES, CSC_SQLITE_DELETE_RUN,
        CSC_SQLITE_DELETE_EVENTS, CSC_SQLITE_DELETE_EXECUTIONS,
        CSC_SQLITE_DELETE_CASCADE};
    cascade_err err = delete_seal(conn, cascade_id);

    if (err != CASCADE_OK)
        return err;
    return delete_all(conn, cascade_id, ids, sizeof(ids) / sizeof(ids[0]));
}

/* ---- Pieces -------------------------------------------------------------- */

typedef struct cut {
    csc_sqlite_statement size;
    csc_sqlite_statement rows;
} cut;

static const cut cuts[CSC_SQLITE_CUTS] = {
    {CSC_SQLITE_SIZE_EVENTS, CSC_SQLITE_CUT_EVENTS},
    {CSC_SQLITE_SIZE_EXECUTIONS, CSC_SQLITE_CUT_EXECUTIONS},
    {CSC_SQLITE_SIZE_MESSAGES, CSC_SQLITE_CUT_MESSAGES}};

void
csc_sqlite_delete_begin(csc_sqlite_room *room)
{
    for (size_t i = 0; i < CSC_SQLITE_CUTS; i++) {
        room->rows[i] = CASCADE_DELETE_ROWS_MAX;
        room->bytes[i] = CASCADE_DELETE_BYTES_MAX;
    }
}

static void
begin_cut(csc_sqlite_call *call, csc_sqlite_conn *conn, const cascade_uuid *id,
          csc_sqlite_statement sql, size_t count)
{
    csc_sqlite_call_begin(call, conn, sql);
    csc_sqlite_call_add_uuid(call, id);
    csc_sqlite_call_add_i64(call, (int64_t)count);
}

/* How many rows there is room for; the room is used up then. `*left`: there may
 * be more. */
static cascade_err
measure(csc_sqlite_conn *conn, const cascade_uuid *id, const cut *of,
        csc_sqlite_room *room, size_t *count, bool *left)
{
    size_t at = (size_t)(of - cuts);
    csc_sqlite_call call;
    bool row = true;
    cascade_err err = CASCADE_OK;

    *count = 0;
    begin_cut(&call, conn, id, of->size, room->rows[at] + 1);
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

/* What the executions that are cut have received outlives a run that leads on:
 * S83. */
static cascade_err
keep_receipts(csc_sqlite_conn *conn, const cascade_uuid *id, size_t count)
{
    csc_sqlite_call call;
    int kept = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    begin_cut(&call, conn, id, CSC_SQLITE_KEEP_RECEIPTS, count);
    err = csc_sqlite_call_run(&call, &kept);
    if (err != CASCADE_OK || kept == 0)
        return err;
    begin_cut(&call, conn, id, CSC_SQLITE_TRIM_RECEIPTS, CASCADE_LINKS_MAX);
    return csc_sqlite_call_run(&call, NULL);
}

/* Of one table. */
static cascade_err
cut_rows(csc_sqlite_conn *conn, const cascade_uuid *id, const cut *of,
         csc_sqlite_room *room, bool *left)
{
    csc_sqlite_call call;
    size_t count = 0;
    cascade_err err = measure(conn, id, of, room, &count, left);

    csc_assert(csc_sqlite_txn_may_write(conn));
    if (err == CASCADE_OK && of->rows == CSC_SQLITE_CUT_EXECUTIONS && count > 0)
        err = keep_receipts(conn, id, count);
    if (err != CASCADE_OK || count == 0)
        return err;
    begin_cut(&call, conn, id, of->rows, count);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
take_piece(csc_sqlite_conn *conn, const cascade_uuid *id, csc_sqlite_room *room,
           bool *left)
{
    cascade_err err = CASCADE_OK;

    *left = false;
    for (size_t i = 0; i < CSC_SQLITE_CUTS && err == CASCADE_OK && !*left; i++)
        err = cut_rows(conn, id, &cuts[i], room, left);
    if (err == CASCADE_OK)
        err = csc_sqlite_delete_rows(conn, CSC_SQLITE_DELETE_RUN, id);
    if (err == CASCADE_OK && !*left)
        err = csc_sqlite_delete_rows(conn, CSC_SQLITE_DELETE_CASCADE, id);
    return err;
}

/* ---- Marking ------------------------------------------------------------- */

cascade_err
csc_sqlite_delete_or_mark(csc_sqlite_conn *conn, const cascade_uuid *cascade_id,
                          csc_sqlite_room *room, bool *marked)
{
    csc_sqlite_call call;
    cascade_err err = take_piece(conn, cascade_id, room, marked);

    csc_assert(csc_sqlite_txn_may_write(conn));
    if (err == CASCADE_OK)
        err = delete_seal(conn, cascade_id);
    if (err != CASCADE_OK || !*marked)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_MARK);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    csc_sqlite_call_add_i64(&call,
                            csc_clock_wall_ms(conn->store->config->clock));
    return csc_sqlite_call_run(&call, NULL);
}

cascade_err
csc_sqlite_delete_is_marked(csc_sqlite_conn *conn,
                            const cascade_uuid *cascade_id, bool *marked)
{
    csc_sqlite_call call;
    cascade_err err;

    *marked = false;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_IS_MARKED);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    err = csc_sqlite_call_next(&call, marked);
    csc_sqlite_call_end(&call);
    return err;
}

/* Mostly there are none, which one statement tells. */
cascade_err
csc_sqlite_delete_pass_marked(csc_sqlite_conn *conn, cascade_uuid *ids,
                              size_t *count)
{
    csc_sqlite_call call;
    bool marked = false;
    size_t kept = 0;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_ANY_MARKED);
    err = csc_sqlite_call_next(&call, &marked);
    csc_sqlite_call_end(&call);
    if (err != CASCADE_OK || !marked)
        return err;
    for (size_t i = 0; i < *count && err == CASCADE_OK; i++) {
        err = csc_sqlite_delete_is_marked(conn, &ids[i], &marked);
        if (!marked)
            ids[kept++] = ids[i];
    }
    *count = kept;
    return err;
}

/* ---- Erasing ------------------------------------------------------------- */

static cascade_err
find_erasure(csc_sqlite_conn *conn, const cascade_uuid *engine_id,
             cascade_uuid *id, bool *found)
{
    csc_sqlite_call call;
    cascade_err err;

    *found = false;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_NEXT_ERASURE);
    csc_sqlite_call_add_uuid(&call, engine_id);
    err = csc_sqlite_call_next(&call, found);
    if (err == CASCADE_OK && *found)
        err = csc_sqlite_row_uuid(call.statement, 0, "cascade_erasures",
                                  "cascade_id", id);
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
claim_erasure(csc_sqlite_conn *conn, const cascade_uuid *engine_id,
              const cascade_uuid *id)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    if (engine_id == NULL)
        return CASCADE_OK;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_CLAIM_ERASURE);
    csc_sqlite_call_add_uuid(&call, id);
    csc_sqlite_call_add_uuid(&call, engine_id);
    return csc_sqlite_call_run(&call, NULL);
}

static cascade_err
erase_one(csc_sqlite_conn *conn, const cascade_uuid *engine_id,
          const cascade_uuid *id, csc_sqlite_room *room, bool *left)
{
    cascade_err err = claim_erasure(conn, engine_id, id);

    if (err == CASCADE_OK)
        err = take_piece(conn, id, room, left);
    if (err == CASCADE_OK && !*left)
        err = csc_sqlite_delete_rows(conn, CSC_SQLITE_DELETE_ERASURE, id);
    return err;
}

/* One after the other, as long as there is room. `*more`: it was used up. */
static cascade_err
erase_some(csc_sqlite_conn *conn, const cascade_uuid *engine_id, bool *more)
{
    size_t count = 1 + conn->store->piece_rows / CASCADE_ROWS;
    csc_sqlite_room room;
    bool left = false;
    cascade_err err = CASCADE_OK;

    csc_sqlite_delete_begin(&room);
    for (size_t i = 0; i < CSC_SQLITE_CUTS; i++)
        room.rows[i] = conn->store->piece_rows;
    *more = true;
    for (size_t i = 0; i < count && err == CASCADE_OK && *more && !left; i++) {
        cascade_uuid id;

        err = find_erasure(conn, engine_id, &id, more);
        if (err == CASCADE_OK && *more)
            err = erase_one(conn, engine_id, &id, &room, &left);
    }
    return err;
}

/* Of the next piece, by what this one has taken. */
static void
set_pace(csc_sqlite *store, int64_t work_ns, int64_t commit_ns, bool full)
{
    static const csc_pace_bounds bounds = {CASCADE_ERASE_ROWS_MIN,
                                           CASCADE_DELETE_ROWS_MAX};
    int64_t limit_ns = commit_ns > WORK_NS ? commit_ns : WORK_NS;

    store->piece_rows =
        csc_pace_next(store->piece_rows, work_ns, limit_ns, full, &bounds);
}

static cascade_err
commit_piece(csc_sqlite_conn *conn, int64_t begun_ns, bool full)
{
    int64_t done_ns = csc_sqlite_conn_now_ns();
    csc_sqlite_call call;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_COMMIT);
    err = csc_sqlite_call_run(&call, NULL);
    if (err == CASCADE_OK)
        set_pace(conn->store, done_ns - begun_ns,
                 csc_sqlite_conn_now_ns() - done_ns, full);
    conn->scatters = true;
    return csc_sqlite_txn_leave(conn, err);
}

static cascade_err
erase_piece(csc_sqlite_conn *conn, const cascade_uuid *engine_id, bool *more)
{
    int64_t begun_ns = csc_sqlite_conn_now_ns();
    cascade_err err = erase_some(conn, engine_id, more);

    if (err != CASCADE_OK || conn->store->guest.session != NULL)
        return csc_sqlite_txn_end(conn, err);
    return commit_piece(conn, begun_ns, *more);
}

/* Whether there is anything, before anybody is kept from writing. */
static cascade_err
look_for_erasures(csc_sqlite *store, const cascade_uuid *engine_id, bool *found)
{
    csc_sqlite_conn *conn = NULL;
    cascade_uuid id;
    cascade_err err = csc_sqlite_txn_begin_read(store, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = find_erasure(conn, engine_id, &id, found);
    return csc_sqlite_txn_end(conn, err);
}

cascade_err
csc_sqlite_delete_erase(void *self, const cascade_uuid *engine_id, bool *more)
{
    csc_sqlite_conn *conn = NULL;
    bool found = false;
    cascade_err err = look_for_erasures(self, engine_id, &found);

    csc_assert(csc_lock_is_none_held());
    *more = false;
    if (err == CASCADE_OK && found)
        err = csc_sqlite_txn_begin_write(self, &conn);
    if (err != CASCADE_OK || !found)
        return err;
    err = erase_piece(conn, engine_id, more);
    if (err != CASCADE_OK)
        *more = false;
    return err;
}
