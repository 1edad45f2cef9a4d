/* SPDX-License-Identifier: MIT
 *
 * The limits of queues, and what has a slot. They are columns of the row that a
 * paused queue has too. Claims take a lock on that row before they give slots
 * (turns.c), so what is set here is in force for all that come later.
 *
 * A set whose answer is lost is repeated, and finds the next version. It was
 * that set when what stands there is what it has written: then it is told as
 * done. So it would be if somebody else has set the very same, which makes no
 * difference.
 */
#include "store/postgres/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Set ----------------------------------------------------------------- */

typedef struct set_state {
    const cascade_limits_row *row;
    bool done;
    int64_t version;
    bool doubtful; /* a try before had no answer */
} set_state;

static void
fill_set(const cascade_limits_row *row, csc_postgres_params *params)
{
    csc_postgres_params_init(params);
    csc_postgres_params_text(params, row->queue);
    csc_postgres_params_i32(params, row->running_max);
    csc_postgres_params_i32(params, row->key_running_max);
    csc_postgres_params_text(params, row->about);
    if (row->version > 0)
        csc_postgres_params_i64(params, row->version);
    else
        csc_postgres_params_bool(params, row->version == CASCADE_LIMITS_ANY);
}

static bool
is_same(const cascade_limits_row *asked, const cascade_limits_row *there)
{
    return there->running_max == asked->running_max &&
           there->key_running_max == asked->key_running_max &&
           strcmp(there->about, asked->about) == 0 &&
           there->version == asked->version + 1;
}

/* The row as it is now: none is one of version 0. */
static cascade_err
note_there(set_state *state, const PGresult *result, bool done)
{
    csc_postgres_reader reader = {.result = result};
    cascade_limits_row there = {.version = 0};
    cascade_err err = CASCADE_OK;

    if (PQntuples(result) > 0)
        err = csc_postgres_row_read(&reader, &csc_table_limits_list, &there);
    if (err != CASCADE_OK)
        return err;
    state->done = done || (state->doubtful && there.version > 0 &&
                           is_same(state->row, &there));
    state->version = there.version;
    return CASCADE_OK;
}

static cascade_err
set_limits(csc_postgres_conn *conn, void *context)
{
    set_state *state = context;
    csc_postgres_params params;
    csc_postgres_params name;
    csc_postgres_call calls[] = {
        {.statement = state->row->version > 0 ? CSC_POSTGRES_CHANGE_LIMITS
                                              : CSC_POSTGRES_MAKE_LIMITS,
         .params = &params},
        {.statement = CSC_POSTGRES_READ_LIMITS, .params = &name},
        {.statement = CSC_POSTGRES_CONFIRM}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    fill_set(state->row, &params);
    csc_postgres_params_init(&name);
    csc_postgres_params_text(&name, state->row->queue);
    err = csc_postgres_conn_write(conn, "limits", calls, 3, NULL);
    if (err == CASCADE_OK)
        err =
            note_there(state, calls[1].result, PQntuples(calls[0].result) > 0);
    csc_postgres_conn_clear(calls, 3);
    state->doubtful = state->doubtful || (err != CASCADE_OK && conn->doubtful);
    return err;
}

cascade_err
csc_postgres_limits_set(void *self, const cascade_limits_row *row, bool *done,
                        int64_t *version)
{
    set_state state = {.row = row};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, set_limits, &state);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    *done = state.done;
    *version = state.version;
    return CASCADE_OK;
}

/* ---- List ---------------------------------------------------------------- */

typedef struct list_state {
    csc_postgres_call call;
    csc_postgres_params params;
} list_state;

static cascade_err
read_list(csc_postgres_conn *conn, void *context)
{
    list_state *state = context;

    csc_assert(csc_lock_is_none_held());
    PQclear(state->call.result);
    state->call.result = NULL;
    return csc_postgres_conn_read(conn, "limits", &state->call, 1);
}

static cascade_err
sink_limits(const PGresult *result, int at, cascade_limits_sink sink,
            void *context)
{
    csc_postgres_reader reader = {.result = result, .row = at};
    cascade_limits_row row;
    cascade_err err =
        csc_postgres_row_read(&reader, &csc_table_limits_list, &row);

    return err == CASCADE_OK ? sink(context, &row) : err;
}

/* All are fetched before the first is handed on, so no sink holds a
 * connection. */
cascade_err
csc_postgres_limits_list(void *self, const char *only, const char *after,
                         size_t limit, cascade_limits_sink sink, void *context)
{
    list_state state = {.call = {.statement = only != NULL
                                                  ? CSC_POSTGRES_READ_LIMITS
                                                  : CSC_POSTGRES_LIST_LIMITS}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&state.params);
    csc_postgres_params_text(&state.params, only != NULL ? only : after);
    if (only == NULL)
        csc_postgres_params_i64(&state.params, (int64_t)limit);
    state.call.params = &state.params;
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_list, &state);
    for (int i = 0; err == CASCADE_OK && i < PQntuples(state.call.result); i++)
        err = sink_limits(state.call.result, i, sink, context);
    PQclear(state.call.result);
    return err;
}

/* ---- Drop ---------------------------------------------------------------- */

typedef struct drop_state {
    const char *queue;
    bool done;
} drop_state;

static cascade_err
drop_limits(csc_postgres_conn *conn, void *context)
{
    drop_state *state = context;
    csc_postgres_params name;
    csc_postgres_call calls[] = {
        {.statement = CSC_POSTGRES_DROP_LIMITS, .params = &name},
        {.statement = CSC_POSTGRES_CLEAR_QUEUE, .params = &name},
        {.statement = CSC_POSTGRES_CONFIRM}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&name);
    csc_postgres_params_text(&name, state->queue);
    err = csc_postgres_conn_write(conn, "limits", calls, 3, NULL);
    if (err == CASCADE_OK)
        state->done = PQntuples(calls[0].result) > 0;
    csc_postgres_conn_clear(calls, 3);
    return err;
}

cascade_err
csc_postgres_limits_drop(void *self, const char *queue, bool *done)
{
    drop_state state = {.queue = queue};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, drop_limits, &state);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        *done = state.done;
    return err;
}

/* ---- Slots --------------------------------------------------------------- */

static cascade_err
sink_slot(const PGresult *result, int at, cascade_slot_sink sink, void *context)
{
    csc_postgres_reader reader = {.result = result, .row = at};
    cascade_slot_row row;
    cascade_err err =
        csc_postgres_row_read(&reader, &csc_table_slot_list, &row);

    return err == CASCADE_OK ? sink(context, &row) : err;
}

/* As the list is. */
cascade_err
csc_postgres_limits_slots(void *self, const char *queue, const char *key,
                          size_t limit, cascade_slot_sink sink, void *context)
{
    list_state state = {.call = {.statement = key != NULL
                                                  ? CSC_POSTGRES_LIST_KEY_SLOTS
                                                  : CSC_POSTGRES_LIST_SLOTS}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&state.params);
    csc_postgres_params_text(&state.params, queue);
    csc_postgres_params_i64(&state.params, (int64_t)limit);
    if (key != NULL)
        csc_postgres_params_text(&state.params, key);
    state.call.params = &state.params;
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_list, &state);
    for (int i = 0; err == CASCADE_OK && i < PQntuples(state.call.result); i++)
        err = sink_slot(state.call.result, i, sink, context);
    PQclear(state.call.result);
    return err;
}
