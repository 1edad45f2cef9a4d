/* SPDX-License-Identifier: MIT
 *
 * Incarnations: attach, renew, detach, and the list of them. Each is one
 * transaction and may be repeated; see reap.c for how an incarnation
 * ends that did not say goodbye.
 *
 * If a process dies between the server's commit and its answer, a repeated
 * attach finds its rows and extends the lease, a repeated detach finds nothing
 * to do, and a repeated renew renews once more.
 */
#include "store/postgres/internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

static cascade_err
attach(csc_postgres_conn *conn, void *context)
{
    const cascade_incarnation *row = context;
    csc_postgres_params engine;
    csc_postgres_params lanes;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_ATTACH_ENGINE, .params = &engine},
        {.statement = CSC_POSTGRES_ATTACH_LANES, .params = &lanes},
    };
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&engine);
    csc_postgres_params_uuid(&engine, &row->engine_id);
    csc_postgres_params_text(&engine, row->host);
    csc_postgres_params_i64(&engine, row->pid);
    csc_postgres_params_i64(&engine, row->process_start);
    csc_postgres_params_i32(&engine, (int32_t)row->lane_count);
    csc_postgres_params_i64(&engine, row->lease_ms);
    csc_postgres_params_text(
        &engine, row->about != NULL ? row->about : CSC_POSTGRES_NOTHING);
    csc_postgres_params_init(&lanes);
    csc_postgres_params_uuid(&lanes, &row->engine_id);
    csc_postgres_params_i32(&lanes, (int32_t)row->lane_count);
    err = csc_postgres_conn_write(conn, "attach", calls, 2, NULL);
    csc_postgres_conn_clear(calls, 2);
    return err;
}

cascade_err
csc_postgres_engine_attach(void *self, const cascade_incarnation *incarnation)
{
    cascade_incarnation row = *incarnation;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, attach, &row);
    return err == CASCADE_OK ? csc_postgres_place_attach(self, &row.engine_id)
                             : err;
}

typedef struct renew_state {
    const cascade_uuid *engine_id;
    int64_t lease_ms;
    int64_t now_ms;
} renew_state;

/* One statement, and so a transaction by itself. */
static cascade_err
renew(csc_postgres_conn *conn, void *context)
{
    renew_state *state = context;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_RENEW,
                              .params = &params};
    bool there = false;
    cascade_err err = csc_postgres_place_check(conn->store, state->engine_id);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, state->engine_id);
    csc_postgres_params_i64(&params, state->lease_ms);
    err = csc_postgres_conn_read(conn, "renew", &call, 1);
    if (err == CASCADE_OK) {
        there = csc_postgres_result_i64(call.result, 0, 0) > 0;
        state->now_ms = csc_postgres_result_i64(call.result, 0, 1);
    }
    csc_postgres_conn_clear(&call, 1);
    if (err == CASCADE_OK && !there)
        return csc_fail(CASCADE_ERR_FENCED,
                        "renew: this incarnation was removed; attach a new "
                        "one");
    if (err == CASCADE_OK)
        err = csc_postgres_place_note(conn);
    return err;
}

cascade_err
csc_postgres_engine_renew(void *self, const cascade_uuid *engine_id,
                          int64_t lease_ms, int64_t *now_ms)
{
    renew_state state = {.engine_id = engine_id, .lease_ms = lease_ms};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_URGENT, renew, &state);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK && now_ms != NULL)
        *now_ms = state.now_ms;
    return err;
}

/* The engine's row goes first: that is the order of locks in which it is
 * removed by others. A repetition that finds it gone is told so when the
 * standby has that too (commit.c): after a failover the row would be
 * back, and nobody would free its runs before the lease ends. */
static cascade_err
detach(csc_postgres_conn *conn, void *context)
{
    csc_assert(csc_lock_is_none_held());
    const cascade_uuid *const *engine_id = context;
    csc_postgres_params params;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_DELETE_ENGINE, .params = &params},
        {.statement = CSC_POSTGRES_DELETE_LANES, .params = &params},
        {.statement = CSC_POSTGRES_DETACH_RUNS, .params = &params},
        {.statement = CSC_POSTGRES_CONFIRM},
    };
    cascade_err err;

    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, *engine_id);
    err = csc_postgres_conn_write(conn, "detach", calls, 4, NULL);
    csc_postgres_conn_clear(calls, 4);
    return err;
}

cascade_err
csc_postgres_engine_detach(void *self, const cascade_uuid *engine_id)
{
    csc_assert(csc_lock_is_none_held());
    csc_postgres_place_detach(self, engine_id);
    return csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, detach,
                                 (void *)&engine_id);
}

static cascade_err
read_engines(csc_postgres_conn *conn, void *context)
{
    csc_postgres_call *call = context;

    csc_assert(csc_lock_is_none_held());
    PQclear(call->result);
    call->result = NULL;
    return csc_postgres_conn_read(conn, "engines", call, 1);
}

/* Few rows: all of them are fetched before the first is handed on. */
cascade_err
csc_postgres_engine_list(void *self, cascade_engine_sink sink, void *context,
                         bool *orphans)
{
    csc_postgres_call call = {.statement = CSC_POSTGRES_LIST_ENGINES};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_engines, &call);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK && orphans != NULL)
        *orphans = PQntuples(call.result) > 0 &&
                   csc_postgres_result_i64(call.result, 0, 8) > 0;
    for (int i = 0; err == CASCADE_OK && i < PQntuples(call.result); i++) {
        csc_postgres_reader reader = {.result = call.result, .row = i};
        cascade_incarnation row;

        err = csc_postgres_row_read(&reader, &csc_postgres_table_engines, &row);
        if (err == CASCADE_OK)
            err = sink(context, &row);
    }
    PQclear(call.result);
    return err;
}
