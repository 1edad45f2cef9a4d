/* SPDX-License-Identifier: MIT
 *
 * Seals: S78 to S81. A commit enters them (commit.c), a start with the
 * very statement that finds its cascade new. What changes one by itself locks
 * its cascade first, as a repair does (repair.c), so that it is neither
 * deleted nor marked meanwhile; the owner's next commit waits for that, and
 * then writes its own.
 */
#include "store/postgres/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

cascade_err
csc_postgres_seals_sink(const PGresult *result, int row, cascade_seal_sink sink,
                        void *context)
{
    csc_postgres_reader reader = {.result = result, .row = row};
    cascade_seal_row seal;
    cascade_err err = csc_postgres_row_read(&reader, &csc_table_seals, &seal);

    return err == CASCADE_OK ? sink(context, &seal) : err;
}

/* ---- Changing ------------------------------------------------------------ */

typedef struct change_state {
    csc_postgres_rows ids;
    csc_postgres_rows rows;
    bool *done;
} change_state;

void
csc_postgres_seals_side(csc_postgres_rows *rows, size_t column,
                        const cascade_seal_row *side)
{
    csc_postgres_rows_i64(rows, column, side != NULL ? side->number : 0);
    csc_postgres_rows_text(rows, column + 1, side != NULL ? side->seal : NULL);
}

static cascade_err
change(csc_postgres_conn *conn, void *context)
{
    change_state *state = context;
    csc_postgres_params timeout;
    csc_postgres_params lock;
    csc_postgres_params rows;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_LOCK_TIMEOUT, .params = &timeout},
        {.statement = CSC_POSTGRES_LOCK_CASCADES, .params = &lock},
        {.statement = CSC_POSTGRES_CHANGE_SEALS, .params = &rows},
        {.statement = CSC_POSTGRES_CONFIRM}};
    size_t count = sizeof(calls) / sizeof(calls[0]);
    const PGresult *changed;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&timeout);
    csc_postgres_params_text(&timeout, CSC_POSTGRES_GIVE_IN_MS);
    csc_postgres_params_init(&lock);
    csc_postgres_params_rows(&lock, &state->ids);
    csc_postgres_params_init(&rows);
    csc_postgres_params_rows(&rows, &state->rows);
    err = csc_postgres_conn_write(conn, "seal", calls, count, NULL);
    changed = calls[2].result;
    for (int i = 0; err == CASCADE_OK && i < PQntuples(changed); i++)
        state->done[csc_postgres_result_i64(changed, i, 0) - 1] = true;
    csc_postgres_conn_clear(calls, count);
    return err;
}

cascade_err
csc_postgres_seals_change(void *self, const cascade_reseal *reseals,
                          size_t count, bool *done)
{
    change_state state = {.done = done};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_rows_start(&state.ids, "u");
    csc_postgres_rows_start(&state.rows, "ulsls");
    for (size_t i = 0; i < count; i++) {
        done[i] = false;
        csc_postgres_rows_uuid(&state.ids, 0, &reseals[i].cascade_id);
        csc_postgres_rows_uuid(&state.rows, 0, &reseals[i].cascade_id);
        csc_postgres_seals_side(&state.rows, 1, reseals[i].was);
        csc_postgres_seals_side(&state.rows, 3, reseals[i].now);
    }
    if (!csc_postgres_rows_good(&state.ids) ||
        !csc_postgres_rows_good(&state.rows))
        err = csc_fail_memory();
    else
        err =
            csc_postgres_pool_run(self, CSC_POSTGRES_IF_UNDONE, change, &state);
    csc_postgres_rows_fini(&state.ids);
    csc_postgres_rows_fini(&state.rows);
    return err;
}

/* ---- Listing ------------------------------------------------------------- */

typedef struct list_state {
    const cascade_uuid *after;
    size_t limit;
    cascade_seal_sink sink;
    void *context;
} list_state;

static cascade_err
list(csc_postgres_conn *conn, void *context)
{
    list_state *state = context;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_LIST_SEALS,
                              .params = &params};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, state->after);
    csc_postgres_params_i64(&params, (int64_t)state->limit);
    err = csc_postgres_conn_read(conn, "seals", &call, 1);
    for (int i = 0; err == CASCADE_OK && i < PQntuples(call.result); i++) {
        conn->final = true;
        err = csc_postgres_seals_sink(call.result, i, state->sink,
                                      state->context);
    }
    csc_postgres_conn_clear(&call, 1);
    return err;
}

cascade_err
csc_postgres_seals_list(void *self, const cascade_uuid *after, size_t limit,
                        cascade_seal_sink sink, void *context)
{
    list_state state = {
        .after = after, .limit = limit, .sink = sink, .context = context};

    csc_assert(csc_lock_is_none_held());
    return csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, list, &state);
}
