/* SPDX-License-Identifier: MIT
 *
 * Reading messages and keys. They are written by commit.c, and found
 * by claim.c.
 *
 * Receive is one statement, which takes no lock and changes nothing: a message
 * stays until the commit of its receipt. So a process that dies in between has
 * taken nothing, and who asks twice gets the same. Rows stream as those of a
 * load do.
 *
 * The statement counts rows that cannot be read among its limits, for it cannot
 * know them. So where it gave any it is repeated behind them, until the limits
 * are used up by what was given, or there is no more.
 */
#include "store/postgres/internal.h"

#include "base/data/buf.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

typedef struct receive_state {
    const cascade_receive *wanted;
    cascade_message_sink sink;
    void *context;
    csc_buf payload;
    bool begun;   /* the sink has got a row, which cannot be taken back */
    bool given;   /* so it has that of now */
    bool again;   /* it was asked before */
    bool met;     /* by now it gave one that cannot be read */
    size_t count; /* of those that were given */
    size_t bytes;
    cascade_uuid unreadable; /* the last cascade with a message that is */
    cascade_uuid last;       /* of the last row; its message */
    int64_t last_message;
    cascade_uuid before; /* the cascade in front of it */
} receive_state;

/* Behind the columns of the table. */
#define REPEATED_AT ((int)csc_table_messages.count)

cascade_err
csc_postgres_messages_sink(const PGresult *result, csc_buf *payload,
                           cascade_message_sink sink, void *context)
{
    csc_postgres_reader reader = {.result = result, .payloads = {payload}};
    cascade_message_row row;
    cascade_err err = csc_postgres_row_read(&reader, &csc_table_messages, &row);

    if (err != CASCADE_OK)
        return err;
    return sink(context, &row, PQgetvalue(result, 0, REPEATED_AT)[0] != 0);
}

static cascade_err
give(void *context, const cascade_message_row *row, bool repeated)
{
    receive_state *state = context;

    state->given = true;
    state->count++;
    state->bytes += csc_store_message_bytes(row);
    return state->sink(state->context, row, repeated);
}

static bool
is_full(const receive_state *state)
{
    return state->count >= state->wanted->limit ||
           csc_store_is_full(state->bytes, state->wanted->bytes_max);
}

/* Whether that row is behind all that were seen. */
static bool
note_place(receive_state *state, const cascade_uuid *id, int64_t message)
{
    int order = csc_uuid_compare(id, &state->last);

    if (order < 0 || (order == 0 && message <= state->last_message))
        return false;
    if (order > 0)
        state->before = state->last;
    state->last = *id;
    state->last_message = message;
    return true;
}

/* None behind one that cannot be read: S74. They are received in their order.
 */
static cascade_err
sink_received(void *context, const PGresult *result)
{
    receive_state *state = context;
    cascade_uuid id = csc_postgres_result_uuid(result, 0, 1);
    cascade_err err = CASCADE_OK;

    if (!note_place(state, &id, csc_postgres_result_i64(result, 0, 0)) ||
        csc_uuid_equal(&id, &state->unreadable) ||
        (state->again && is_full(state)))
        return CASCADE_OK;
    state->given = false;
    err = csc_postgres_messages_sink(result, &state->payload, give, state);
    if (err != CASCADE_ERR_CORRUPT || state->given)
        return err;
    state->unreadable = id;
    state->met = true;
    return csc_ok();
}

/* Whether to ask once more: of the last cascade, too, of which there may be
 * more messages than the statement's limits let through. */
static bool
goes_on(receive_state *state)
{
    bool more = state->met && !is_full(state);

    state->again = true;
    state->met = false;
    return more;
}

/* The cascade behind which to ask. */
static cascade_uuid
place_after(const receive_state *state)
{
    return csc_uuid_equal(&state->last, &state->unreadable) ? state->last
                                                            : state->before;
}

static cascade_err
send_receive(csc_postgres_conn *conn, const receive_state *state,
             csc_postgres_rows *except)
{
    const csc_postgres_statement statement = CSC_POSTGRES_RECEIVE;
    const cascade_receive *wanted = state->wanted;
    const cascade_uuid after = place_after(state);
    csc_postgres_params params;
    cascade_err err = csc_postgres_conn_prepare(conn, "receive", &statement, 1);

    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, &wanted->engine_id);
    csc_postgres_params_uuid(&params, &after);
    csc_postgres_params_rows(&params, except);
    csc_postgres_params_i64(&params, (int64_t)wanted->limit);
    csc_postgres_params_i64(&params, (int64_t)wanted->each);
    csc_postgres_params_i64(&params, wanted->bytes_max > 0
                                         ? (int64_t)wanted->bytes_max
                                         : INT64_MAX);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_path(conn);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, statement, &params);
    return err == CASCADE_OK ? csc_postgres_conn_send_sync(conn) : err;
}

static cascade_err
receive_except(csc_postgres_conn *conn, receive_state *state,
               csc_postgres_rows *except)
{
    cascade_err err = send_receive(conn, state, except);

    if (err != CASCADE_OK)
        return err;
    err = csc_postgres_conn_receive_path(conn, "receive");
    if (err == CASCADE_OK)
        err = csc_postgres_read_stream(conn, "receive", sink_received, state,
                                       &state->begun);
    conn->final = state->begun;
    if (err != CASCADE_OK)
        return csc_postgres_conn_recover(conn, err);
    return csc_postgres_conn_fetch_sync(conn);
}

static cascade_err
receive(csc_postgres_conn *conn, void *context)
{
    receive_state *state = context;
    csc_postgres_rows except = {.count = 0};
    cascade_err err;

    csc_postgres_rows_start(&except, "u");
    for (size_t i = 0; i < state->wanted->except_count; i++)
        csc_postgres_rows_uuid(&except, 0, &state->wanted->except[i]);
    err = csc_postgres_rows_good(&except) ? CASCADE_OK : csc_fail_memory();
    do {
        if (err == CASCADE_OK)
            err = receive_except(conn, state, &except);
    } while (err == CASCADE_OK && goes_on(state));
    csc_postgres_rows_fini(&except);
    return err;
}

cascade_err
csc_postgres_messages_receive(void *self, const cascade_receive *wanted,
                              cascade_message_sink sink, void *context)
{
    receive_state state = {.wanted = wanted,
                           .sink = sink,
                           .context = context,
                           .last = wanted->after,
                           .before = wanted->after};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, receive, &state);

    csc_assert(csc_lock_is_none_held());
    csc_buf_fini(&state.payload);
    return err;
}

/* ---- Keys ---------------------------------------------------------------- */

typedef struct key_state {
    const char *user_id;
    const char *key;
    int32_t run_number;
} key_state;

static cascade_err
read_key(csc_postgres_conn *conn, void *context)
{
    key_state *state = context;
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_READ_KEY,
                              .params = &params};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, state->user_id);
    csc_postgres_params_text(&params, state->key);
    err = csc_postgres_conn_read(conn, "key", &call, 1);
    if (err == CASCADE_OK && PQntuples(call.result) > 0)
        state->run_number = (int32_t)csc_postgres_result_i64(call.result, 0, 0);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

cascade_err
csc_postgres_messages_key(void *self, const char *user_id, const char *key,
                          int32_t *run_number)
{
    key_state state = {.user_id = user_id, .key = key, .run_number = 1};
    cascade_err err =
        csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_key, &state);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        *run_number = state.run_number;
    return err;
}
