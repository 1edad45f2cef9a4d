/* SPDX-License-Identifier: MIT
 *
 * Deleting whole cascades: S39 to S42.
 *
 *   mark        a row of cascade_erasures: from then on nothing of it is to be
 *               seen, and its run is gone
 *   cut         events, executions, messages, from the highest function_id
 *               down, as many as one piece may; the next table when there is
 *               nothing of the cascade in the one before. Who takes executions
 *               enters what they have received of a run that leads on (S83);
 *               then goes what is too much of that
 *   the rest    the cascade, when there is nothing in any; then its mark
 *
 * A commit and a purge mark, and cut a piece, in their own transactions
 * (commit.c, repair.c): of a small cascade all of it goes
 * there. What is left goes by `erase`, piece by piece:
 *
 *   take        up to a hundred erasures become the engine's, unless it has
 *               some; they are told
 *   BEGIN
 *   lock        those erasures
 *   cut         as above, in the marked ones of them alone
 *   COMMIT
 *
 * If the process dies between two pieces the mark tells whoever erases next: an
 * erasure of an incarnation that is gone is anybody's. A piece whose answer is
 * lost may be made once more: it takes what comes next. One that comes when all
 * is done finds no erasure, also where a cascade of that id is there anew, for
 * that was inserted when the old row was gone, and the erasure with it.
 *
 * Others wait for a piece only as far as they want the same processors, disk,
 * and log: measured beside the largest ones, hardly at all. So it is as large
 * as S39 lets it be, unless it takes long: longer than PIECE_NS, commit
 * included, and than a few small transactions. Then the next one has fewer
 * rows, and half as many behind one that failed, which may have been too long.
 *
 * The foreign keys of the tables do not let the cascade go first; so its row
 * stays, and who reads looks for the mark. What else locks marked rows is a
 * claim that drops messages: who waits gives in after a tenth of a second.
 */
#include "store/postgres/internal.h"

#include "base/clock.h"
#include "base/data/pace.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define PIECE_NS (25 * CSC_MS_NS)
#define PIECE_SHARE 4 /* as many small transactions may take longer */
#define CUTS 3        /* pieces that take rows, so many at most */

static const csc_postgres_statement pieces[CSC_POSTGRES_PIECES] = {
    CSC_POSTGRES_CUT_EVENTS,   CSC_POSTGRES_CUT_EXECUTIONS,
    CSC_POSTGRES_CUT_MESSAGES, CSC_POSTGRES_TRIM_RECEIPTS,
    CSC_POSTGRES_CUT_CASCADES, CSC_POSTGRES_CUT_ERASURES};

void
csc_postgres_delete_fill(csc_postgres_call calls[CSC_POSTGRES_PIECES],
                         const csc_postgres_params *ids,
                         csc_postgres_params *cut, size_t rows)
{
    *cut = *ids;
    csc_postgres_params_i64(cut, (int64_t)rows);
    for (size_t i = 0; i < CSC_POSTGRES_PIECES; i++)
        calls[i] = (csc_postgres_call){.statement = pieces[i],
                                       .params = i < CUTS ? cut : ids};
}

/* ---- The pace ------------------------------------------------------------ */

static const csc_pace_bounds bounds = {CASCADE_ERASE_ROWS_MIN,
                                       CASCADE_DELETE_ROWS_MAX};

static int64_t
now_ns(void)
{
    return csc_clock_system.monotonic_ns(csc_clock_system.context);
}

static size_t
get_rows(csc_postgres *store)
{
    size_t rows = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    rows = store->piece_rows > 0 ? store->piece_rows : CASCADE_DELETE_ROWS_MAX;
    csc_lock_give(&store->mutex);
    return rows;
}

/* Of the next piece, by what one of `rows` has taken, where a transaction that
 * wrote little took `least_ns`. */
static void
set_pace(csc_postgres *store, size_t rows, int64_t took_ns, int64_t least_ns)
{
    int64_t limit_ns = PIECE_SHARE * least_ns;

    csc_assert(csc_lock_is_none_held());
    if (limit_ns < PIECE_NS)
        limit_ns = PIECE_NS;
    csc_lock_take(&store->mutex);
    store->piece_rows = csc_pace_next(rows, took_ns, limit_ns, true, &bounds);
    csc_lock_give(&store->mutex);
}

/* ---- Erasing ------------------------------------------------------------- */

typedef struct erase_state {
    const cascade_uuid *engine_id; /* or NULL */
    csc_postgres_rows ids;
    int64_t take_ns; /* how long it took to take them */
} erase_state;

static cascade_err
take(csc_postgres_conn *conn, erase_state *state)
{
    int64_t begun_ns = now_ns();
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_ERASE_TAKE,
                              .params = &params};
    cascade_err err;

    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, state->engine_id);
    err = csc_postgres_conn_write(conn, "erase", &call, 1, NULL);
    state->take_ns = now_ns() - begun_ns;
    csc_postgres_rows_start(&state->ids, "u");
    for (int i = 0; err == CASCADE_OK && i < PQntuples(call.result); i++) {
        cascade_uuid id = csc_postgres_result_uuid(call.result, i, 0);

        csc_postgres_rows_uuid(&state->ids, 0, &id);
        state->ids.count++;
    }
    csc_postgres_conn_clear(&call, 1);
    if (err == CASCADE_OK && !csc_postgres_rows_good(&state->ids))
        err = csc_fail_memory();
    return err;
}

static cascade_err
cut(csc_postgres_conn *conn, erase_state *state)
{
    size_t rows = get_rows(conn->store);
    int64_t begun_ns = now_ns();
    csc_postgres_params timeout;
    csc_postgres_params ids;
    csc_postgres_params few;
    csc_postgres_call calls[2 + CSC_POSTGRES_PIECES] = {
        {.statement = CSC_POSTGRES_LOCK_TIMEOUT, .params = &timeout},
        {.statement = CSC_POSTGRES_ERASE_LOCK, .params = &ids}};
    size_t count = sizeof(calls) / sizeof(calls[0]);
    cascade_err err;

    csc_postgres_params_init(&timeout);
    csc_postgres_params_text(&timeout, CSC_POSTGRES_GIVE_IN_MS);
    csc_postgres_params_init(&ids);
    csc_postgres_params_rows(&ids, &state->ids);
    csc_postgres_delete_fill(&calls[2], &ids, &few, rows);
    err = csc_postgres_conn_write(conn, "erase", calls, count, NULL);
    csc_postgres_conn_clear(calls, count);
    if (err == CASCADE_OK)
        set_pace(conn->store, rows, now_ns() - begun_ns, state->take_ns);
    else
        set_pace(conn->store, rows, INT64_MAX, 0);
    return err;
}

static cascade_err
erase(csc_postgres_conn *conn, void *context)
{
    erase_state *state = context;
    cascade_err err = take(conn, state);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK && state->ids.count > 0)
        err = cut(conn, state);
    return err;
}

cascade_err
csc_postgres_delete_erase(void *self, const cascade_uuid *engine_id, bool *more)
{
    erase_state state = {.engine_id = engine_id};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, erase, &state);

    csc_assert(csc_lock_is_none_held());
    *more = err == CASCADE_OK && state.ids.count > 0;
    csc_postgres_rows_fini(&state.ids);
    return err;
}
