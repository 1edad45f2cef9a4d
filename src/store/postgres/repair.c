/* SPDX-License-Identifier: MIT
 *
 * Mending: repair and purge. Each is one transaction and one round trip:
 *
 *   BEGIN
 *   lock      the cascades that are named, in the order of their ids
 *   judge     which of them may be changed, in a snapshot taken behind the
 *             locks, and change those; to be purged, that is to be marked
 *   cut       of what is marked, a piece (delete.c)
 *   COMMIT
 *
 * Why locking comes first. Nobody writes a cascade without a run before it has
 * got one, and a run refers to its cascade: who inserts one locks that row, in
 * a way that does not go together with ours. So either the run was there first,
 * and the judging statement sees it, or its insertion waits for us: then the
 * claim finds the cascade gone, or as we have left it. A message refers to
 * nothing. One that was there before the locks were taken is seen. One that
 * comes while its cascade is being purged may be lost with it, as with any
 * deletion: some claim deletes it.
 *
 * DEADLOCKS. Commits lock rows of cascades too, where they insert what refers
 * to them, and not always in the order of ids. But they do not wait for long:
 * it is this side that gives in, after a tenth of a second, before the server
 * looks for deadlocks, and begins anew until the deadline. So does a claim,
 * which may be inserting the very run that a repair inserts.
 *
 * If the process dies, or the answer is lost, all of it was done or nothing.
 * Repeating it does no harm: what was repaired is not as it was read any more,
 * and what was purged is not there.
 */
#include "store/postgres/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/status.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

typedef struct mend_state {
    const char *move;
    csc_postgres_statement statement; /* that judges and changes */
    csc_postgres_rows ids;
    csc_postgres_rows repairs;
    int64_t updated_before_ms;
    PGresult *result; /* of the statement */
} mend_state;

static void
fill_change(mend_state *state, csc_postgres_params *params)
{
    csc_postgres_params_init(params);
    if (state->statement == CSC_POSTGRES_REPAIR) {
        csc_postgres_params_rows(params, &state->repairs);
        return;
    }
    csc_postgres_params_rows(params, &state->ids);
    csc_postgres_params_bound(params, state->updated_before_ms);
}

static cascade_err
mend(csc_postgres_conn *conn, void *context)
{
    mend_state *state = context;
    csc_postgres_params timeout;
    csc_postgres_params lock;
    csc_postgres_params change;
    csc_postgres_params cut;
    csc_postgres_call calls[5 + CSC_POSTGRES_PIECES] = {
        {.statement = CSC_POSTGRES_LOCK_TIMEOUT, .params = &timeout},
        {.statement = CSC_POSTGRES_LOCK_CASCADES, .params = &lock},
        {.statement = state->statement, .params = &change}};
    size_t count = 3;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&timeout);
    csc_postgres_params_text(&timeout, CSC_POSTGRES_GIVE_IN_MS);
    csc_postgres_params_init(&lock);
    csc_postgres_params_rows(&lock, &state->ids);
    fill_change(state, &change);
    if (state->statement == CSC_POSTGRES_PURGE && conn->store->config->sealed)
        calls[count++] = (csc_postgres_call){
            .statement = CSC_POSTGRES_DELETE_SEALS, .params = &lock};
    if (state->statement == CSC_POSTGRES_PURGE) {
        csc_postgres_delete_fill(&calls[count], &lock, &cut,
                                 CASCADE_DELETE_ROWS_MAX);
        count += CSC_POSTGRES_PIECES;
    }
    calls[count++].statement = CSC_POSTGRES_CONFIRM;
    err = csc_postgres_conn_write(conn, state->move, calls, count, NULL);
    if (err == CASCADE_OK) {
        state->result = calls[2].result;
        calls[2].result = NULL;
    }
    csc_postgres_conn_clear(calls, count);
    return err;
}

static cascade_err
run_mend(csc_postgres *store, mend_state *state)
{
    if (!csc_postgres_rows_good(&state->ids) ||
        !csc_postgres_rows_good(&state->repairs))
        return csc_fail_memory();
    return csc_postgres_pool_run(store, CSC_POSTGRES_IF_UNDONE, mend, state);
}

static void
fini_mend(mend_state *state)
{
    PQclear(state->result);
    csc_postgres_rows_fini(&state->ids);
    csc_postgres_rows_fini(&state->repairs);
}

/* ---- Repair -------------------------------------------------------------- */

static void
add_repair(mend_state *state, const cascade_repair *repair)
{
    csc_postgres_rows *rows = &state->repairs;
    const cascade_row *was = &repair->was;

    csc_postgres_rows_uuid(&state->ids, 0, &was->id);
    csc_postgres_rows_uuid(rows, 0, &was->id);
    csc_postgres_rows_text(rows, 1, csc_status_word(was->status));
    csc_postgres_rows_i32(rows, 2, was->fn_id);
    csc_postgres_rows_text(rows, 3, csc_status_word(repair->status));
    csc_postgres_rows_i32(rows, 4, repair->fn_id);
    csc_postgres_rows_text(rows, 5, repair->starts ? repair->run.queue : NULL);
    csc_postgres_rows_i32(rows, 6, repair->run.priority);
    csc_postgres_rows_i64(rows, 7, repair->run.wake_at_ms);
    csc_postgres_rows_text(rows, 8, repair->key);
    csc_postgres_rows_i32(rows, 9, repair->run_number);
    csc_postgres_seals_side(rows, 10, repair->was_seal);
    csc_postgres_seals_side(rows, 12, repair->seal);
    csc_postgres_rows_text(rows, 14, repair->run.limit_key);
}

cascade_err
csc_postgres_mend_repair(void *self, const cascade_repair *repairs,
                         size_t count, bool *done)
{
    mend_state state = {.move = "repair", .statement = CSC_POSTGRES_REPAIR};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_rows_start(&state.ids, "u");
    csc_postgres_rows_start(&state.repairs, "usisisilsilslss");
    for (size_t i = 0; i < count; i++)
        add_repair(&state, &repairs[i]);
    err = run_mend(self, &state);
    for (size_t i = 0; err == CASCADE_OK && i < count; i++)
        done[i] = false;
    for (int i = 0; err == CASCADE_OK && i < PQntuples(state.result); i++)
        done[csc_postgres_result_i64(state.result, i, 0) - 1] = true;
    fini_mend(&state);
    return err;
}

/* ---- Purge --------------------------------------------------------------- */

cascade_err
csc_postgres_mend_purge(void *self, const cascade_uuid *ids, size_t count,
                        int64_t updated_before_ms, size_t *deleted)
{
    mend_state state = {.move = "purge",
                        .statement = CSC_POSTGRES_PURGE,
                        .updated_before_ms = updated_before_ms};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_rows_start(&state.ids, "u");
    for (size_t i = 0; i < count; i++)
        csc_postgres_rows_uuid(&state.ids, 0, &ids[i]);
    err = run_mend(self, &state);
    if (err == CASCADE_OK)
        *deleted = (size_t)csc_postgres_result_i64(state.result, 0, 0);
    fini_mend(&state);
    return err;
}
