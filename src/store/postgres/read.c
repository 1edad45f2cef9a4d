/* SPDX-License-Identifier: MIT
 *
 * Reading: load, list, scan and totals.
 *
 * A load is one round trip in one snapshot (REPEATABLE READ, READ ONLY): what
 * it gives is the state of one moment, whatever commits meanwhile. Rows stream:
 * of a cascade with a million events one row at a time is in memory. When a
 * sink ends the load, the rest of the rows is still on its way, so the
 * connection is given up instead of reading them for nothing; but for that of a
 * guest, which is not ours to give up. Within the transaction of a guest its
 * isolation level holds.
 *
 * A page of a scan is one statement, and streams in the same way.
 *
 * A list is one statement. Its conditions are constant pieces put together, so
 * that the planner sees only those that are asked for. What is in a queue is
 * looked for from the runs, which are fewer than the cascades; what a user has,
 * status by status, as its index does. What is asked for besides (a node, a
 * time) is looked at in the rows that these lead to.
 */
#include "store/postgres/internal.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/status.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/store.h"

/* ---- Rows ---------------------------------------------------------------- */

/* Where rows go. */
typedef struct row_target {
    const cascade_load_sink *sink;
    csc_buf first; /* payloads of the row at hand */
    csc_buf second;
    bool begun; /* the sink has got a row, which cannot be taken back */
} row_target;

static void
fini_target(row_target *target)
{
    csc_buf_fini(&target->first);
    csc_buf_fini(&target->second);
}

static cascade_err
sink_cascade(void *context, const PGresult *result)
{
    row_target *target = context;
    csc_postgres_reader reader = {.result = result};
    cascade_row row;
    cascade_err err = csc_postgres_row_read(&reader, &csc_table_cascades, &row);

    return err == CASCADE_OK
               ? target->sink->on_cascade(target->sink->context, &row)
               : err;
}

/* jsonb has a form of its own, so nothing is reformed: S76. */
static cascade_err
sink_execution(void *context, const PGresult *result)
{
    row_target *target = context;
    csc_postgres_reader reader = {
        .result = result, .payloads = {&target->first, &target->second}};
    cascade_execution_row row = {.reformed = 0};
    cascade_err err =
        csc_postgres_row_read(&reader, &csc_table_executions, &row);

    return err == CASCADE_OK
               ? target->sink->on_execution(target->sink->context, &row)
               : err;
}

static cascade_err
sink_event(void *context, const PGresult *result)
{
    row_target *target = context;
    csc_postgres_reader reader = {
        .result = result, .payloads = {&target->first, &target->second}};
    cascade_event_row row = {.reformed = 0};
    cascade_err err = csc_postgres_row_read(&reader, &csc_table_events, &row);

    return err == CASCADE_OK
               ? target->sink->on_event(target->sink->context, &row)
               : err;
}

static cascade_err
sink_message(void *context, const PGresult *result)
{
    row_target *target = context;

    return csc_postgres_messages_sink(result, &target->first,
                                      target->sink->on_message,
                                      target->sink->context);
}

static cascade_err
sink_seal(void *context, const PGresult *result)
{
    row_target *target = context;

    return csc_postgres_seals_sink(result, 0, target->sink->on_seal,
                                   target->sink->context);
}

cascade_err
csc_postgres_read_stream(csc_postgres_conn *conn, const char *move,
                         csc_postgres_row_sink sink, void *context, bool *begun)
{
    cascade_err err = CASCADE_OK;
    PGresult *result = NULL;

    if (PQsetSingleRowMode(conn->pg) != 1)
        return csc_postgres_error_lost(conn);
    do {
        cascade_err got = csc_postgres_conn_next(conn, &result);

        if (got != CASCADE_OK)
            return got;
        if (PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
            *begun = true;
            if (err == CASCADE_OK)
                err = sink(context, result);
            if (err != CASCADE_OK && !conn->guest)
                conn->broken = true;
        } else if (result != NULL &&
                   PQresultStatus(result) != PGRES_TUPLES_OK &&
                   err == CASCADE_OK) {
            err = csc_postgres_error_result(conn, move, result);
        }
        PQclear(result);
    } while (result != NULL && !conn->broken);
    return err;
}

/* ---- Load ---------------------------------------------------------------- */

typedef struct load_state {
    const cascade_uuid *ids;
    size_t count;
    unsigned parts;
    row_target target;
} load_state;

/* What a load may be asked for, in this order; 0: always. */
static const struct {
    unsigned part;
    unsigned unless; /* that is asked for too */
    csc_postgres_statement statement;
    csc_postgres_row_sink sink;
} load_parts[] = {
    {0, 0, CSC_POSTGRES_LOAD_CASCADES, sink_cascade},
    {CASCADE_LOAD_SEALS, 0, CSC_POSTGRES_LOAD_SEALS, sink_seal},
    {CASCADE_LOAD_EXECUTIONS, 0, CSC_POSTGRES_LOAD_EXECUTIONS, sink_execution},
    {CASCADE_LOAD_FAMILY, CASCADE_LOAD_EXECUTIONS, CSC_POSTGRES_LOAD_FAMILY,
     sink_execution},
    {CASCADE_LOAD_EVENTS, 0, CSC_POSTGRES_LOAD_EVENTS, sink_event},
    {CASCADE_LOAD_MESSAGES, 0, CSC_POSTGRES_LOAD_MESSAGES, sink_message},
    {CASCADE_LOAD_ENDS, 0, CSC_POSTGRES_LOAD_ENDS, sink_message},
};

#define PARTS (sizeof(load_parts) / sizeof(load_parts[0]))

static bool
asked_for(const load_state *state, size_t i)
{
    return load_parts[i].part == 0 ||
           ((state->parts & load_parts[i].part) != 0 &&
            (state->parts & load_parts[i].unless) == 0);
}

static cascade_err
send_load(csc_postgres_conn *conn, const load_state *state,
          const csc_postgres_params *params)
{
    cascade_err err = CASCADE_OK;

    if (!conn->within)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_BEGIN_READ, NULL);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_path(conn);
    for (size_t i = 0; i < PARTS && err == CASCADE_OK; i++) {
        if (asked_for(state, i))
            err = csc_postgres_conn_send(conn, load_parts[i].statement, params);
    }
    if (err == CASCADE_OK && !conn->within)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_COMMIT, NULL);
    return err == CASCADE_OK ? csc_postgres_conn_send_sync(conn) : err;
}

static cascade_err
receive_begin(csc_postgres_conn *conn)
{
    PGresult *begun;
    cascade_err err = csc_postgres_conn_fetch(conn, &begun);

    if (err == CASCADE_OK && PQresultStatus(begun) != PGRES_COMMAND_OK)
        err = csc_postgres_error_result(conn, "load", begun);
    PQclear(begun);
    return err;
}

static cascade_err
receive_load(csc_postgres_conn *conn, load_state *state)
{
    cascade_err err = conn->within ? CASCADE_OK : receive_begin(conn);

    if (err == CASCADE_OK)
        err = csc_postgres_conn_receive_path(conn, "load");
    for (size_t i = 0; i < PARTS && err == CASCADE_OK; i++) {
        if (asked_for(state, i))
            err =
                csc_postgres_read_stream(conn, "load", load_parts[i].sink,
                                         &state->target, &state->target.begun);
    }
    return err;
}

static cascade_err
prepare_load(csc_postgres_conn *conn, const load_state *state)
{
    csc_postgres_statement statements[PARTS + 2] = {CSC_POSTGRES_BEGIN_READ,
                                                    CSC_POSTGRES_COMMIT};
    size_t count = 2;

    for (size_t i = 0; i < PARTS; i++)
        if (asked_for(state, i))
            statements[count++] = load_parts[i].statement;
    return csc_postgres_conn_prepare(conn, "load", statements, count);
}

static cascade_err
load_all(csc_postgres_conn *conn, load_state *state, csc_postgres_rows *ids)
{
    csc_postgres_params params;
    cascade_err err = prepare_load(conn, state);

    csc_postgres_params_init(&params);
    csc_postgres_params_rows(&params, ids);
    if (err == CASCADE_OK)
        err = send_load(conn, state, &params);
    if (err != CASCADE_OK)
        return err;
    err = receive_load(conn, state);
    if (err != CASCADE_OK)
        return csc_postgres_conn_recover(conn, err);
    return csc_postgres_conn_fetch_sync(conn);
}

static cascade_err
load(csc_postgres_conn *conn, void *context)
{
    load_state *state = context;
    csc_postgres_rows ids = {.count = 0};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_rows_start(&ids, "u");
    for (size_t i = 0; i < state->count; i++)
        csc_postgres_rows_uuid(&ids, 0, &state->ids[i]);
    err = csc_postgres_rows_good(&ids) ? load_all(conn, state, &ids)
                                       : csc_fail_memory();
    csc_postgres_rows_fini(&ids);
    conn->final = state->target.begun;
    return err;
}

cascade_err
csc_postgres_read_load(void *self, const cascade_uuid *ids, size_t count,
                       unsigned parts, const cascade_load_sink *sink)
{
    load_state state = {
        .ids = ids, .count = count, .parts = parts, .target = {.sink = sink}};
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, load, &state);
    fini_target(&state.target);
    return err;
}

/* ---- List ---------------------------------------------------------------- */

/* What a statement has at least, once a row could not be read: many of these
 * may stand side by side. */
#define LIST_PASS_MIN 100

/* A list: several passes, where there were rows that cannot be read. */
typedef struct list_state {
    const cascade_query *query;
    cascade_list_sink sink;
    void *context;
    const cascade_uuid *after; /* of the next pass */
    cascade_uuid last;         /* that was read */
    size_t given;
    size_t faults;
    bool early; /* S73 */
    PGresult *result;
} list_state;

static size_t
pass_limit(const list_state *state)
{
    const size_t left = state->query->limit - state->given;

    return state->faults > 0 && left < LIST_PASS_MIN ? LIST_PASS_MIN : left;
}

/* A statement, with what is its own of its conditions, and the parts for those
 * that it has in common with others: 0 where it has not. */
typedef struct list_kind {
    csc_postgres_statement id;
    unsigned (*add)(const list_state *state, csc_postgres_params *params);
    unsigned by_id;
    unsigned by_user;
    unsigned by_status;
    unsigned before;
    unsigned node;
} list_kind;

/* All ids are above the nil one. */
static unsigned
add_queue(const list_state *state, csc_postgres_params *params)
{
    static const cascade_uuid nil = {{0}};

    csc_postgres_params_uuid(params,
                             state->after != NULL ? state->after : &nil);
    csc_postgres_params_text(params, state->query->queue);
    return 0;
}

static unsigned
add_user(const list_state *state, csc_postgres_params *params)
{
    csc_postgres_params_text(params, state->query->user_id);
    if (state->after == NULL)
        return 0;
    csc_postgres_params_uuid(params, state->after);
    return CSC_POSTGRES_LIST_USER_IF_AFTER;
}

static unsigned
add_any(const list_state *state, csc_postgres_params *params)
{
    cascade_status status = state->query->status;
    unsigned parts = 0;

    if (status != 0 && status != CASCADE_COMPLETED)
        parts |= CSC_POSTGRES_LIST_IF_UNFINISHED;
    if (state->after != NULL) {
        csc_postgres_params_uuid(params, state->after);
        parts |= CSC_POSTGRES_LIST_IF_AFTER;
    }
    return parts;
}

static const list_kind list_any = {.id = CSC_POSTGRES_LIST,
                                   .add = add_any,
                                   .by_id = CSC_POSTGRES_LIST_IF_ID,
                                   .by_user = CSC_POSTGRES_LIST_IF_USER,
                                   .by_status = CSC_POSTGRES_LIST_IF_STATUS,
                                   .before = CSC_POSTGRES_LIST_IF_BEFORE,
                                   .node = CSC_POSTGRES_LIST_IF_NODE};
static const list_kind list_queue = {
    .id = CSC_POSTGRES_LIST_QUEUE,
    .add = add_queue,
    .by_id = CSC_POSTGRES_LIST_QUEUE_IF_ID,
    .by_user = CSC_POSTGRES_LIST_QUEUE_IF_USER,
    .by_status = CSC_POSTGRES_LIST_QUEUE_IF_STATUS,
    .before = CSC_POSTGRES_LIST_QUEUE_IF_BEFORE,
    .node = CSC_POSTGRES_LIST_QUEUE_IF_NODE};
static const list_kind list_user = {.id = CSC_POSTGRES_LIST_USER,
                                    .add = add_user,
                                    .before = CSC_POSTGRES_LIST_USER_IF_BEFORE,
                                    .node = CSC_POSTGRES_LIST_USER_IF_NODE};

/* The parameters of one query, in the order of its parts. Returns these. */
static unsigned
add_list(const list_state *state, const list_kind *kind,
         csc_postgres_params *params)
{
    const cascade_query *query = state->query;
    unsigned parts = 0;

    if (query->id != NULL && kind->by_id != 0) {
        csc_postgres_params_uuid(params, query->id);
        parts |= kind->by_id;
    }
    if (query->user_id != NULL && kind->by_user != 0) {
        csc_postgres_params_text(params, query->user_id);
        parts |= kind->by_user;
    }
    if (query->status != 0 && kind->by_status != 0) {
        csc_postgres_params_text(params, csc_status_word(query->status));
        parts |= kind->by_status;
    }
    parts |= kind->add(state, params);
    if (query->updated_before_ms != 0) {
        csc_postgres_params_bound(params, query->updated_before_ms);
        parts |= kind->before;
    }
    if (query->node != NULL) {
        csc_postgres_params_text(params, query->node);
        parts |= kind->node;
    }
    csc_postgres_params_i64(params, (int64_t)pass_limit(state));
    return parts;
}

static const list_kind *
kind_of(const cascade_query *query)
{
    if (query->queue != NULL)
        return &list_queue;
    return query->user_id != NULL && query->status == 0 && query->id == NULL
               ? &list_user
               : &list_any;
}

/* To be freed; NULL when out of memory. */
static char *
build_list(const csc_postgres *store, const list_state *state,
           csc_postgres_params *params)
{
    const list_kind *kind = kind_of(state->query);
    unsigned parts = 0;

    csc_postgres_params_init(params);
    parts = add_list(state, kind, params);
    return csc_statement_build(&csc_postgres_statements[kind->id], parts,
                               store->schema, store->channel);
}

/* It names one cascade, and no more. */
static bool
is_look(const list_state *state)
{
    const cascade_query *query = state->query;

    return query->id != NULL && query->user_id == NULL && query->status == 0 &&
           query->node == NULL && query->queue == NULL &&
           query->updated_before_ms == 0 && state->after == NULL;
}

static cascade_err
look(csc_postgres_conn *conn, list_state *state)
{
    csc_postgres_params params;
    csc_postgres_call call = {.statement = CSC_POSTGRES_LOOK,
                              .params = &params};
    cascade_err err = CASCADE_OK;

    csc_postgres_params_init(&params);
    csc_postgres_params_uuid(&params, state->query->id);
    err = csc_postgres_conn_read(conn, "list", &call, 1);
    state->result = call.result;
    return err;
}

static cascade_err
read_list(csc_postgres_conn *conn, void *context)
{
    list_state *state = context;
    csc_postgres_params params;
    char *sql;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    PQclear(state->result);
    state->result = NULL;
    if (is_look(state))
        return look(conn, state);
    sql = build_list(conn->store, state, &params);
    err = sql == NULL ? csc_fail_memory()
                      : csc_postgres_conn_query(conn, "list", sql, &params,
                                                &state->result);
    csc_mem_free(sql);
    return err;
}

#define LIST_RUN_AT ((int)csc_table_cascades.count)

static cascade_err
sink_listed(list_state *state, int at)
{
    csc_postgres_reader reader = {.result = state->result, .row = at};
    bool has_run = !PQgetisnull(state->result, at, LIST_RUN_AT);
    cascade_row row;
    cascade_run_row run;
    cascade_err err = csc_postgres_row_read(&reader, &csc_table_cascades, &row);

    reader.first = LIST_RUN_AT;
    if (err == CASCADE_OK && has_run)
        err = csc_postgres_row_read(&reader, &csc_table_runs, &run);
    state->last = row.id;
    if (err != CASCADE_OK) {
        state->faults++;
        return csc_store_tell_fault(state->query, state->context, &row.id, err);
    }
    state->given++;
    return state->sink(state->context, &row, has_run ? &run : NULL);
}

/* At most a thousand small rows: all are fetched before the first is handed
 * on, so no sink holds a connection. `*more`: some could not be read, and there
 * may be others in their place. */
static cascade_err
list_pass(csc_postgres *store, list_state *state, bool *more)
{
    const cascade_query *query = state->query;
    size_t wanted = pass_limit(state);
    cascade_err err =
        csc_postgres_pool_run(store, CSC_POSTGRES_ALWAYS, read_list, state);
    int count = err == CASCADE_OK ? PQntuples(state->result) : 0;

    for (int i = 0; err == CASCADE_OK && i < count && !state->early &&
                    state->given < query->limit;
         i++) {
        err = sink_listed(state, i);
        state->early = query->place != NULL && state->given < query->limit &&
                       state->faults >= CASCADE_LIST_FAULTS_MAX;
    }
    PQclear(state->result);
    state->result = NULL;
    state->after = &state->last;
    *more = err == CASCADE_OK && (size_t)count == wanted && !state->early &&
            state->given < query->limit;
    return err;
}

static void
tell_place(const list_state *state)
{
    cascade_place *place = state->query->place;

    if (place == NULL)
        return;
    *place = (cascade_place){.more = state->early};
    if (!state->early)
        return;
    place->size = sizeof(state->last);
    memcpy(place->key, &state->last, sizeof(state->last));
}

cascade_err
csc_postgres_read_list(void *self, const cascade_query *query,
                       cascade_list_sink sink, void *context)
{
    list_state state = {.query = query,
                        .sink = sink,
                        .context = context,
                        .after = query->after};
    bool more = true;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (query->place != NULL && query->place->more) {
        memcpy(&state.last, query->place->key, sizeof(state.last));
        state.after = &state.last;
    }
    while (err == CASCADE_OK && more)
        err = list_pass(self, &state, &more);
    if (err == CASCADE_OK)
        tell_place(&state);
    return err;
}

/* ---- Scan ---------------------------------------------------------------- */

typedef struct scan_state {
    const cascade_scan *scan;
    row_target target;
} scan_state;

static csc_postgres_statement
scan_statement(const cascade_scan *scan)
{
    if (scan->cascade_id == NULL)
        return CSC_POSTGRES_SCAN_ALL;
    if (scan->events)
        return CSC_POSTGRES_SCAN_EVENTS;
    return scan->children_only ? CSC_POSTGRES_SCAN_CHILDREN
                               : CSC_POSTGRES_SCAN_EXECUTIONS;
}

static void
fill_scan(const cascade_scan *scan, csc_postgres_params *params)
{
    static const cascade_uuid lowest;

    csc_postgres_params_init(params);
    if (scan->cascade_id == NULL) {
        csc_postgres_params_uuid(params,
                                 scan->after != NULL ? scan->after : &lowest);
        csc_postgres_params_bool(params, scan->after == NULL);
    } else {
        csc_postgres_params_uuid(params, scan->cascade_id);
        csc_postgres_params_i32(params, scan->from);
    }
    if (scan->events)
        csc_postgres_params_i64(params, scan->after_event);
    else
        csc_postgres_params_bool(params, scan->running_only);
    csc_postgres_params_i64(params, (int64_t)scan->limit);
    csc_postgres_params_i64(
        params, scan->bytes_max > 0 ? (int64_t)scan->bytes_max : INT64_MAX);
}

static cascade_err
send_scan(csc_postgres_conn *conn, const cascade_scan *scan)
{
    const csc_postgres_statement statement = scan_statement(scan);
    csc_postgres_params params;
    cascade_err err = csc_postgres_conn_prepare(conn, "scan", &statement, 1);

    fill_scan(scan, &params);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_path(conn);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, statement, &params);
    return err == CASCADE_OK ? csc_postgres_conn_send_sync(conn) : err;
}

static cascade_err
scan_page(csc_postgres_conn *conn, void *context)
{
    scan_state *state = context;
    cascade_err err = send_scan(conn, state->scan);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    err = csc_postgres_conn_receive_path(conn, "scan");
    if (err == CASCADE_OK)
        err = csc_postgres_read_stream(
            conn, "scan", state->scan->events ? sink_event : sink_execution,
            &state->target, &state->target.begun);
    conn->final = state->target.begun;
    if (err != CASCADE_OK)
        return csc_postgres_conn_recover(conn, err);
    return csc_postgres_conn_fetch_sync(conn);
}

cascade_err
csc_postgres_read_scan(void *self, const cascade_scan *scan,
                       const cascade_load_sink *sink)
{
    scan_state state = {.scan = scan, .target = {.sink = sink}};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, scan_page, &state);
    fini_target(&state.target);
    return err;
}

/* ---- Totals -------------------------------------------------------------- */

static cascade_err
read_totals(csc_postgres_conn *conn, void *context)
{
    cascade_totals *totals = context;
    csc_postgres_call call = {.statement = CSC_POSTGRES_COUNT_TOTALS};
    cascade_err err = csc_postgres_conn_read(conn, "totals", &call, 1);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        *totals = (cascade_totals){
            .running = csc_postgres_result_i64(call.result, 0, 0),
            .completed = csc_postgres_result_i64(call.result, 0, 1),
            .failed = csc_postgres_result_i64(call.result, 0, 2),
            .messages = csc_postgres_result_i64(call.result, 0, 3),
            .erasing = csc_postgres_result_i64(call.result, 0, 4)};
    csc_postgres_conn_clear(&call, 1);
    return err;
}

cascade_err
csc_postgres_read_totals(void *self, cascade_totals *totals)
{
    csc_assert(csc_lock_is_none_held());
    return csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_totals,
                                 totals);
}
