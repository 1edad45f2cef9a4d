/* SPDX-License-Identifier: MIT
 *
 * Strays: S75. Each statement steps from one id to the next in an index, one
 * seek each, however many rows there are of it, and looks whether there is what
 * they belong to. A statement sees one moment.
 */
#include "store/postgres/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

static const csc_postgres_statement statements[] = {
    [CASCADE_STRAY_EXECUTIONS] = CSC_POSTGRES_STRAY_EXECUTIONS,
    [CASCADE_STRAY_EVENTS] = CSC_POSTGRES_STRAY_EVENTS,
    [CASCADE_STRAY_RUNS] = CSC_POSTGRES_STRAY_RUNS,
    [CASCADE_STRAY_MESSAGES] = CSC_POSTGRES_STRAY_MESSAGES,
    [CASCADE_STRAY_ERASURES] = CSC_POSTGRES_STRAY_ERASURES,
    [CASCADE_STRAY_LANES] = CSC_POSTGRES_STRAY_LANES,
    [CASCADE_STRAY_ENGINES] = CSC_POSTGRES_STRAY_ENGINES,
};

typedef struct stray_state {
    csc_store_straying straying;
    PGresult *result;
} stray_state;

static cascade_err
read_strays(csc_postgres_conn *conn, void *context)
{
    stray_state *state = context;
    const csc_store_straying *s = &state->straying;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = statements[s->kind],
                              .params = &params};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, s->cursor);
    csc_postgres_params_i64(&params, (int64_t)s->limit);
    if (s->kind == CASCADE_STRAY_MESSAGES)
        csc_postgres_params_i64(&params, CASCADE_STRAY_MESSAGE_MS);
    err = csc_postgres_conn_read(conn, "strays", &call, 1);
    PQclear(state->result);
    state->result = call.result;
    call.result = NULL;
    csc_postgres_conn_clear(&call, 1);
    return err;
}

static cascade_err
give_all(stray_state *state)
{
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < PQntuples(state->result) && err == CASCADE_OK; i++) {
        const cascade_uuid id = csc_postgres_result_uuid(state->result, i, 0);

        err = csc_store_stray(&state->straying, &id,
                              PQgetvalue(state->result, i, 1)[0] != 0);
    }
    return err;
}

cascade_err
csc_postgres_strays_list(void *self, cascade_stray kind, size_t limit,
                         cascade_uuid *cursor, cascade_fault_sink sink,
                         void *context, bool *more)
{
    stray_state state = {.result = NULL};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_store_begin_strays(&state.straying, kind, limit, cursor, sink, context);
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_strays, &state);
    if (err == CASCADE_OK)
        err = give_all(&state);
    PQclear(state.result);
    return csc_store_end_strays(&state.straying, err, more);
}
