/* SPDX-License-Identifier: MIT
 *
 * Pages of rows: S28. Each is one read transaction, so it sees one moment, and
 * walks an index in the order asked for from the row behind the last page:
 * nothing is sorted, and rows that come or go between two pages move no other.
 *
 *   executions of all      by their ids
 *   executions of one      by function_id
 *   events of one          those left of the execution that the last page ended
 *                          in, then those of the following executions
 *
 * Pages of what is RUNNING walk over what is not.
 */
#include "store/sqlite/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

typedef struct scan_state {
    csc_sqlite_conn *conn;
    const cascade_scan *scan;
    const cascade_load_sink *sink;
    csc_sqlite_row_room room;
    size_t given;
    size_t bytes; /* of these */
} scan_state;

static cascade_err
give_execution(void *context, const cascade_execution_row *row)
{
    scan_state *state = context;

    state->bytes += csc_store_execution_bytes(row);
    return state->sink->on_execution(state->sink->context, row);
}

static cascade_err
give_event(void *context, const cascade_event_row *row)
{
    scan_state *state = context;

    state->bytes += csc_store_event_bytes(row);
    return state->sink->on_event(state->sink->context, row);
}

static cascade_err
give_row(scan_state *state, sqlite3_stmt *statement)
{
    const cascade_load_sink counted = {.context = state,
                                       .on_execution = give_execution,
                                       .on_event = give_event};

    return state->scan->events
               ? csc_sqlite_row_give_event(statement, &state->room, &counted)
               : csc_sqlite_row_give_execution(statement, &state->room,
                                               &counted);
}

static bool
is_full(const scan_state *state)
{
    return state->given == state->scan->limit ||
           csc_store_is_full(state->bytes, state->scan->bytes_max);
}

/* Runs a call whose last parameter, the limit, is still to come; ends it. */
static cascade_err
give_rows(scan_state *state, csc_sqlite_call *call)
{
    bool row = false;
    cascade_err err;

    csc_sqlite_call_add_i64(call, (int64_t)(state->scan->limit - state->given));
    err = csc_sqlite_call_next(call, &row);
    while (err == CASCADE_OK && row) {
        err = give_row(state, call->statement);
        state->given++;
        if (err == CASCADE_OK && is_full(state))
            break;
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(call, &row);
    }
    csc_sqlite_call_end(call);
    return err;
}

static cascade_err
scan_all(scan_state *state)
{
    csc_sqlite_call call;

    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_SCAN_ALL);
    if (state->scan->after != NULL)
        csc_sqlite_call_add_uuid(&call, state->scan->after);
    else
        csc_sqlite_call_add_text(&call, "");
    csc_sqlite_call_add_i64(&call, state->scan->running_only);
    return give_rows(state, &call);
}

static cascade_err
scan_children(scan_state *state)
{
    csc_sqlite_call call;

    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_SCAN_CHILDREN);
    csc_sqlite_call_add_uuid(&call, state->scan->cascade_id);
    csc_sqlite_call_add_i64(&call, state->scan->from);
    return give_rows(state, &call);
}

static cascade_err
scan_executions(scan_state *state)
{
    csc_sqlite_call call;

    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_SCAN_EXECUTIONS);
    csc_sqlite_call_add_uuid(&call, state->scan->cascade_id);
    csc_sqlite_call_add_i64(&call, state->scan->from);
    csc_sqlite_call_add_i64(&call, state->scan->running_only);
    return give_rows(state, &call);
}

static cascade_err
scan_events(scan_state *state)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_SCAN_EVENTS);
    csc_sqlite_call_add_uuid(&call, state->scan->cascade_id);
    csc_sqlite_call_add_i64(&call, state->scan->from);
    csc_sqlite_call_add_i64(&call, state->scan->after_event);
    err = give_rows(state, &call);
    if (err != CASCADE_OK || is_full(state))
        return err;
    csc_sqlite_call_begin(&call, state->conn, CSC_SQLITE_SCAN_EVENTS_BEHIND);
    csc_sqlite_call_add_uuid(&call, state->scan->cascade_id);
    csc_sqlite_call_add_i64(&call, state->scan->from);
    return give_rows(state, &call);
}

static cascade_err
scan_one(scan_state *state)
{
    bool marked = false;
    cascade_err err = csc_sqlite_delete_is_marked(
        state->conn, state->scan->cascade_id, &marked);

    if (err != CASCADE_OK || marked)
        return err;
    if (state->scan->events)
        return scan_events(state);
    return state->scan->children_only ? scan_children(state)
                                      : scan_executions(state);
}

cascade_err
csc_sqlite_scan_page(void *self, const cascade_scan *scan,
                     const cascade_load_sink *sink)
{
    scan_state state = {.scan = scan, .sink = sink};
    cascade_err err = csc_sqlite_txn_begin_read(self, &state.conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (scan->cascade_id == NULL)
        err = scan_all(&state);
    else
        err = scan_one(&state);
    csc_sqlite_row_fini(&state.room);
    return csc_sqlite_txn_end(state.conn, err);
}
