/* SPDX-License-Identifier: MIT
 *
 * Queues, as whoever looks after them sees them: pause and list. A queue is
 * paused while it has a row in cascade_queues with a time; claims look for
 * that, see claim.c. The row may have its limits too (limits.c): who resumes a
 * queue without any deletes the row, in a second statement of the transaction,
 * which sees what the first has waited for.
 *
 * Pausing is one statement that tells whether it has changed anything. Asked
 * again it tells that nothing had to be changed. So after a lost answer it is
 * told as a change that the queue is as was asked for: paused, with the very
 * words of the call, or not paused. Who has made it so, that try or somebody
 * else at the same time, nobody can tell, and it does not matter. That it was
 * so before may be news of another transaction, and is told when a standby has
 * that too.
 */
#include "store/postgres/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Pause --------------------------------------------------------------- */

typedef struct pause_state {
    const char *queue;
    const char *about;
    bool paused;
    bool changed;
    bool doubtful; /* a try before had no answer */
} pause_state;

/* Nothing had to be changed, behind a try without an answer. */
static cascade_err
look_paused(csc_postgres_conn *conn, pause_state *state)
{
    csc_postgres_params params;
    PGresult *result = NULL;
    cascade_err err;

    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, state->queue);
    csc_postgres_params_text(&params, state->about);
    err = csc_postgres_conn_query(conn, "pause",
                                  conn->store->sql[CSC_POSTGRES_LOOK_PAUSED],
                                  &params, &result);
    if (err == CASCADE_OK)
        state->changed = csc_postgres_result_i64(result, 0, 0) > 0;
    PQclear(result);
    return err;
}

static cascade_err
set_pause(csc_postgres_conn *conn, void *context)
{
    pause_state *state = context;
    csc_postgres_params params;
    csc_postgres_params name;
    csc_postgres_call calls[] = {
        {.statement = state->paused ? CSC_POSTGRES_PAUSE_QUEUE
                                    : CSC_POSTGRES_RESUME_QUEUE,
         .params = &params},
        {.statement = CSC_POSTGRES_CONFIRM},
        {.statement = CSC_POSTGRES_CLEAR_QUEUE, .params = &name}};
    size_t count = state->paused ? 2 : 3;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, state->queue);
    if (state->paused)
        csc_postgres_params_text(&params, state->about);
    csc_postgres_params_init(&name);
    csc_postgres_params_text(&name, state->queue);
    err = csc_postgres_conn_write(conn, "pause", calls, count, NULL);
    if (err == CASCADE_OK)
        state->changed = PQntuples(calls[0].result) > 0;
    csc_postgres_conn_clear(calls, count);
    if (err == CASCADE_OK && !state->changed && state->doubtful) {
        state->changed = true;
        err = state->paused ? look_paused(conn, state) : CASCADE_OK;
    }
    state->doubtful = state->doubtful || (err != CASCADE_OK && conn->doubtful);
    return err;
}

cascade_err
csc_postgres_queues_pause(void *self, const char *queue, bool paused,
                          const char *about, bool *changed)
{
    pause_state state = {.queue = queue,
                         .about = about != NULL ? about : CSC_POSTGRES_NOTHING,
                         .paused = paused};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, set_pause, &state);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        *changed = state.changed;
    return err;
}

/* ---- List ---------------------------------------------------------------- */

static cascade_err
read_queues(csc_postgres_conn *conn, void *context)
{
    csc_postgres_call *call = context;

    csc_assert(csc_lock_is_none_held());
    PQclear(call->result);
    call->result = NULL;
    return csc_postgres_conn_read(conn, "queues", call, 1);
}

static cascade_err
sink_queue(const PGresult *result, int at, cascade_queue_sink sink,
           void *context)
{
    csc_postgres_reader reader = {.result = result, .row = at};
    cascade_queue_row row;
    cascade_err err =
        csc_postgres_row_read(&reader, &csc_table_queue_list, &row);

    row.paused = row.paused_at_ms != CASCADE_TIME_NONE;
    return err == CASCADE_OK ? sink(context, &row) : err;
}

/* One row for each queue: all are fetched before the first is handed on, so no
 * sink holds a connection. */
cascade_err
csc_postgres_queues_list(void *self, cascade_queue_sink sink, void *context)
{
    csc_postgres_call call = {.statement = CSC_POSTGRES_LIST_QUEUES};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_queues, &call);

    csc_assert(csc_lock_is_none_held());
    for (int i = 0; err == CASCADE_OK && i < PQntuples(call.result); i++)
        err = sink_queue(call.result, i, sink, context);
    PQclear(call.result);
    return err;
}
