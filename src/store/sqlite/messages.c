/* SPDX-License-Identifier: MIT
 *
 * Messages and keys.
 *
 * A message is a row of cascade_messages and nothing else: who sends one does
 * not touch the run, so no run that changes at the same time can lose it.
 * Claims (claim.c) find the cascades that messages name, load and
 * receive read the messages, and the commit that records what came of them
 * deletes them. If we die before that commit they are there still, and whoever
 * owns the cascade next reads them; after it they are gone, with their paths in
 * node_executions.
 *
 * A path is looked up in both tables inside the transaction that inserts. Only
 * one transaction writes at a time, so a message is on its way, received, or
 * not there; never two of them.
 *
 * The row of a key is written by the starts from run 2 on, in their own
 * transaction: the number and the cascade of that number come together.
 */
#include "store/sqlite/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Sending ------------------------------------------------------------- */

cascade_err
csc_sqlite_messages_insert(csc_sqlite_conn *conn,
                           const cascade_message_row *row, bool *inserted)
{
    csc_sqlite_call call;
    int changes = 0;
    cascade_err err;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_INSERT_MESSAGE);
    csc_sqlite_call_add_row(&call, &csc_table_messages, row);
    err = csc_sqlite_call_run(&call, &changes);
    *inserted = changes == 1;
    return err;
}

/* What a message to this cascade comes to: SENT, ENDED or ABSENT. */
static cascade_err
look_up_receiver(csc_sqlite_conn *conn, const cascade_uuid *cascade_id,
                 cascade_sent *sent)
{
    csc_sqlite_call call;
    const char *status = NULL;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_STATUS);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    err = csc_sqlite_call_next(&call, &row);
    *sent = CASCADE_SENT_ABSENT;
    if (err == CASCADE_OK && row) {
        err = csc_sqlite_call_text(call.statement, 0, &status);
        *sent = status != NULL && strcmp(status, "RUNNING") == 0
                    ? CASCADE_SENT
                    : CASCADE_SENT_ENDED;
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
is_taken(csc_sqlite_conn *conn, const cascade_message_row *row, bool *taken)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_FIND_PATH);
    csc_sqlite_call_add_text(&call, row->path);
    csc_sqlite_call_add_uuid(&call, &row->cascade_id);
    err = csc_sqlite_call_next(&call, taken);
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_messages_submit(csc_sqlite_conn *conn,
                           const cascade_message_row *row, cascade_sent *sent)
{
    bool inserted = false;
    bool taken = false;
    cascade_err err = look_up_receiver(conn, &row->cascade_id, sent);

    if (err == CASCADE_OK && *sent == CASCADE_SENT_ABSENT) {
        err = is_taken(conn, row, &taken);
    } else if (err == CASCADE_OK) {
        err = csc_sqlite_messages_insert(conn, row, &inserted);
        taken = !inserted;
    }
    if (taken)
        *sent = CASCADE_SENT_REPEATED;
    return err;
}

/* ---- Receiving ----------------------------------------------------------- */

cascade_err
csc_sqlite_messages_delete(csc_sqlite_conn *conn,
                           const cascade_uuid *cascade_id, int64_t id)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_DELETE_MESSAGE);
    csc_sqlite_call_add_i64(&call, id);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    return csc_sqlite_call_run(&call, NULL);
}

typedef struct receive_state {
    csc_sqlite_conn *conn;
    const cascade_receive *receive;
    cascade_message_sink sink;
    void *context;
    csc_sqlite_row_room room;
    size_t left;
    size_t bytes; /* of those that were given */
} receive_state;

static bool
is_full(const receive_state *state)
{
    return state->left == 0 ||
           csc_store_is_full(state->bytes, state->receive->bytes_max);
}

/* `*readable`: it was given. */
static cascade_err
give(receive_state *state, sqlite3_stmt *statement, bool *readable)
{
    cascade_message_row row;
    bool repeated = false;
    cascade_err err =
        csc_sqlite_row_message(statement, &state->room, &row, &repeated);

    *readable = err == CASCADE_OK;
    if (err == CASCADE_ERR_CORRUPT)
        return csc_ok();
    if (err != CASCADE_OK)
        return err;
    state->left--;
    state->bytes += csc_store_message_bytes(&row);
    return state->sink(state->context, &row, repeated);
}

/* The first ones for a cascade; none behind one that cannot be read (S74), as
 * they are received in their order. */
static cascade_err
give_first(receive_state *state, const cascade_uuid *cascade_id)
{
    size_t each = state->receive->each;
    csc_sqlite_call call;
    bool row = false;
    bool readable = true;
    cascade_err err;

    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_RECEIVE_MESSAGES);
    csc_sqlite_call_add_uuid(&call, cascade_id);
    csc_sqlite_call_add_i64(&call,
                            (int64_t)(state->left < each ? state->left : each));
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        err = give(state, call.statement, &readable);
        if (!readable || is_full(state))
            break;
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

/* Whether the cascade of that row of CSC_SQLITE_NEXT_NAMED is to be given. */
static cascade_err
is_wanted(const cascade_receive *receive, sqlite3_stmt *statement,
          const cascade_uuid *cascade_id, bool *wanted)
{
    cascade_uuid owner;
    cascade_err err = CASCADE_OK;

    *wanted = false;
    if (sqlite3_column_type(statement, 6) == SQLITE_NULL)
        return CASCADE_OK;
    for (size_t i = 0; i < receive->except_count; i++)
        if (csc_uuid_equal(&receive->except[i], cascade_id))
            return CASCADE_OK;
    err =
        csc_sqlite_row_uuid(statement, 6, "cascade_runs", "engine_id", &owner);
    *wanted = err == CASCADE_OK && csc_uuid_equal(&owner, &receive->engine_id);
    return err == CASCADE_ERR_CORRUPT ? csc_ok() : err; /* S74 */
}

/* The next cascade behind `*id` that messages name: one seek, however many
 * there are for the one before. */
static cascade_err
find_next(const receive_state *state, cascade_uuid *id, bool *found,
          bool *wanted)
{
    char behind[CASCADE_UUID_TEXT_SIZE] = "";
    csc_sqlite_call call;
    cascade_err err;

    if (!csc_uuid_is_nil(id))
        (void)cascade_uuid_format(id, behind);
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_NEXT_NAMED);
    csc_sqlite_call_add_text(&call, behind);
    err = csc_sqlite_call_next(&call, found);
    *found = *found && sqlite3_column_type(call.statement, 0) != SQLITE_NULL;
    if (err == CASCADE_OK && *found)
        err = csc_sqlite_row_uuid(call.statement, 0, "cascade_messages",
                                  "cascade_id", id);
    if (err == CASCADE_OK && *found)
        err = is_wanted(state->receive, call.statement, id, wanted);
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_messages_receive(void *self, const cascade_receive *receive,
                            cascade_message_sink sink, void *context)
{
    receive_state state = {.receive = receive,
                           .sink = sink,
                           .context = context,
                           .left = receive->limit};
    cascade_uuid id = receive->after;
    bool found = true;
    cascade_err err = csc_sqlite_txn_begin_read(self, &state.conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    while (err == CASCADE_OK && found && !is_full(&state)) {
        bool wanted = false;

        err = find_next(&state, &id, &found, &wanted);
        if (err == CASCADE_OK && found && wanted)
            err = give_first(&state, &id);
    }
    csc_sqlite_row_fini(&state.room);
    return csc_sqlite_txn_end(state.conn, err);
}

/* ---- Keys ---------------------------------------------------------------- */

/* `*number` is 0 where there is no row. */
static cascade_err
get_key(csc_sqlite_conn *conn, const char *user_id, const char *key,
        int64_t *number)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    *number = 0;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_GET_KEY);
    csc_sqlite_call_add_text(&call, user_id);
    csc_sqlite_call_add_text(&call, key);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row) {
        *number = sqlite3_column_int64(call.statement, 0);
        if (*number < 1 || *number > INT32_MAX)
            err = cascade_store_fail(CASCADE_ERR_CORRUPT,
                                     "table cascade_keys, column run_number: "
                                     "a number out of range");
    }
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_messages_is_next(csc_sqlite_conn *conn, const cascade_change *start,
                            bool *next)
{
    int64_t number = 0;
    cascade_err err =
        get_key(conn, start->cascade.user_id, start->key, &number);

    *next = start->run_number == number + 1 ||
            (start->run_number == 2 && number == 0);
    return err;
}

cascade_err
csc_sqlite_messages_set_key(csc_sqlite_conn *conn, const cascade_change *start)
{
    csc_sqlite_call call;

    csc_assert(csc_sqlite_txn_may_write(conn));
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_SET_KEY);
    csc_sqlite_call_add_text(&call, start->cascade.user_id);
    csc_sqlite_call_add_text(&call, start->key);
    csc_sqlite_call_add_i64(&call, start->run_number);
    return csc_sqlite_call_run(&call, NULL);
}

cascade_err
csc_sqlite_messages_key(void *self, const char *user_id, const char *key,
                        int32_t *run_number)
{
    csc_sqlite_conn *conn = NULL;
    int64_t number = 0;
    cascade_err err = csc_sqlite_txn_begin_read(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = csc_sqlite_txn_end(conn, get_key(conn, user_id, key, &number));
    if (err == CASCADE_OK)
        *run_number = number == 0 ? 1 : (int32_t)number;
    return err;
}
