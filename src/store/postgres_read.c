/* SPDX-License-Identifier: MIT
 *
 * Reading: load and list.
 *
 * A load is one round trip in one snapshot (REPEATABLE READ, READ ONLY): what
 * it gives is the state of one moment, whatever commits meanwhile. Rows stream:
 * of a cascade with a million events one row at a time is in memory. When a
 * sink ends the load, the rest of the rows is still on its way, so the
 * connection is given up instead of reading them for nothing.
 *
 * A list is one statement. Its conditions are constant pieces put together, so
 * that the planner sees only those that are asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/postgres_internal.h"

#define IDS_MAX 1000
#define LIMIT_MAX 1000

/* ---- Load ---------------------------------------------------------------- */

typedef struct load_state {
    const cascade_uuid *ids;
    size_t count;
    unsigned parts;
    const cascade_load_sink *sink;
    csc_buf first; /* payloads of the row at hand */
    csc_buf second;
    bool begun; /* the sink has got a row, which cannot be taken back */
} load_state;

static cascade_err
sink_cascade(void *context, const PGresult *result)
{
    load_state *state = context;
    static const char *const columns[] = {
        "id", "status", "fn_id", "user_id", "created_at", "updated_at"};
    csc_postgres_reader reader = {
        .result = result, .table = "cascades", .columns = columns};
    cascade_row row;

    row.id = csc_postgres_row_uuid(&reader, 0);
    row.status = csc_postgres_row_status(&reader, 1);
    row.fn_id = csc_postgres_row_i32(&reader, 2);
    row.user_id = csc_postgres_row_text(&reader, 3);
    row.created_at_ms = csc_postgres_row_time(&reader, 4);
    row.updated_at_ms = csc_postgres_row_time(&reader, 5);
    if (reader.err != CASCADE_OK)
        return reader.err;
    return state->sink->on_cascade(state->sink->context, &row);
}

static cascade_err
sink_execution(void *context, const PGresult *result)
{
    load_state *state = context;
    static const char *const columns[] = {"id",
                                          "cascade_id",
                                          "function_id",
                                          "status",
                                          "node_instance_id",
                                          "node_name",
                                          "input_context",
                                          "full_output",
                                          "location",
                                          "error",
                                          "started_at",
                                          "completed_at"};
    csc_postgres_reader reader = {
        .result = result, .table = "node_executions", .columns = columns};
    cascade_execution_row row;

    row.id = csc_postgres_row_uuid(&reader, 0);
    row.cascade_id = csc_postgres_row_uuid(&reader, 1);
    row.function_id = csc_postgres_row_i32(&reader, 2);
    row.status = csc_postgres_row_execution_status(&reader, 3);
    row.node_instance_id = csc_postgres_row_text(&reader, 4);
    row.node_name = csc_postgres_row_text(&reader, 5);
    row.input = csc_postgres_row_json(&reader, 6, &state->first);
    row.full_output = csc_postgres_row_json(&reader, 7, &state->second);
    row.location = csc_postgres_row_text(&reader, 8);
    row.error = csc_postgres_row_text_or_null(&reader, 9);
    row.started_at_ms = csc_postgres_row_time(&reader, 10);
    row.completed_at_ms = csc_postgres_row_time_or_none(&reader, 11);
    if (row.input == NULL)
        csc_postgres_row_corrupt(&reader, 6, "is NULL");
    if (reader.err != CASCADE_OK)
        return reader.err;
    return state->sink->on_execution(state->sink->context, &row);
}

static cascade_err
sink_event(void *context, const PGresult *result)
{
    load_state *state = context;
    static const char *const columns[] = {
        "id",    "cascade_id", "function_id", "key",
        "value", "ui_value",   "created_at"};
    csc_postgres_reader reader = {
        .result = result, .table = "context_events", .columns = columns};
    cascade_event_row row;

    row.id = csc_postgres_row_i64(&reader, 0);
    (void)snprintf(reader.id, sizeof(reader.id), "%" PRId64, row.id);
    row.cascade_id = csc_postgres_row_uuid(&reader, 1);
    row.function_id = csc_postgres_row_i32(&reader, 2);
    row.key = csc_postgres_row_text(&reader, 3);
    row.value = csc_postgres_row_json(&reader, 4, &state->first);
    row.ui_value = csc_postgres_row_json(&reader, 5, &state->second);
    row.created_at_ms = csc_postgres_row_time(&reader, 6);
    if (row.value == NULL)
        csc_postgres_row_corrupt(&reader, 4, "is NULL");
    if (reader.err != CASCADE_OK)
        return reader.err;
    return state->sink->on_event(state->sink->context, &row);
}

static cascade_err
sink_message(void *context, const PGresult *result)
{
    load_state *state = context;

    return csc_postgres_messages_sink(
        result, &state->first, state->sink->on_message, state->sink->context);
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
            err = sink(context, result);
            if (err != CASCADE_OK)
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

/* What a load may be asked for, in this order; 0: always. */
static const struct {
    unsigned part;
    unsigned unless; /* that is asked for too */
    csc_postgres_statement statement;
    csc_postgres_row_sink sink;
} load_parts[] = {
    {0, 0, CSC_POSTGRES_LOAD_CASCADES, sink_cascade},
    {CASCADE_LOAD_EXECUTIONS, 0, CSC_POSTGRES_LOAD_EXECUTIONS, sink_execution},
    {CASCADE_LOAD_FAMILY, CASCADE_LOAD_EXECUTIONS, CSC_POSTGRES_LOAD_FAMILY,
     sink_execution},
    {CASCADE_LOAD_EVENTS, 0, CSC_POSTGRES_LOAD_EVENTS, sink_event},
    {CASCADE_LOAD_MESSAGES, 0, CSC_POSTGRES_LOAD_MESSAGES, sink_message},
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
    cascade_err err =
        csc_postgres_conn_send(conn, CSC_POSTGRES_BEGIN_READ, NULL);

    for (size_t i = 0; i < PARTS && err == CASCADE_OK; i++) {
        if (asked_for(state, i))
            err = csc_postgres_conn_send(conn, load_parts[i].statement, params);
    }
    if (err == CASCADE_OK)
        err = csc_postgres_conn_send(conn, CSC_POSTGRES_COMMIT, NULL);
    return err == CASCADE_OK ? csc_postgres_conn_send_sync(conn) : err;
}

static cascade_err
receive_load(csc_postgres_conn *conn, load_state *state)
{
    PGresult *begun;
    cascade_err err = csc_postgres_conn_fetch(conn, &begun);

    if (err == CASCADE_OK && PQresultStatus(begun) != PGRES_COMMAND_OK)
        err = csc_postgres_error_result(conn, "load", begun);
    PQclear(begun);
    for (size_t i = 0; i < PARTS && err == CASCADE_OK; i++) {
        if (asked_for(state, i))
            err = csc_postgres_read_stream(conn, "load", load_parts[i].sink,
                                           state, &state->begun);
    }
    return err;
}

static cascade_err
load_all(csc_postgres_conn *conn, load_state *state, csc_postgres_rows *ids)
{
    static const csc_postgres_statement statements[] = {
        CSC_POSTGRES_BEGIN_READ,      CSC_POSTGRES_LOAD_CASCADES,
        CSC_POSTGRES_LOAD_EXECUTIONS, CSC_POSTGRES_LOAD_FAMILY,
        CSC_POSTGRES_LOAD_EVENTS,     CSC_POSTGRES_LOAD_MESSAGES,
        CSC_POSTGRES_COMMIT};
    csc_postgres_params params;
    cascade_err err = csc_postgres_conn_prepare(
        conn, "load", statements, sizeof(statements) / sizeof(statements[0]));

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

    csc_postgres_rows_start(&ids, "u");
    for (size_t i = 0; i < state->count; i++)
        csc_postgres_rows_uuid(&ids, 0, &state->ids[i]);
    err = csc_postgres_rows_good(&ids) ? load_all(conn, state, &ids)
                                       : csc_fail_memory();
    csc_postgres_rows_fini(&ids);
    conn->final = state->begun;
    return err;
}

cascade_err
csc_postgres_read_load(void *self, const cascade_uuid *ids, size_t count,
                       unsigned parts, const cascade_load_sink *sink)
{
    load_state state = {
        .ids = ids, .count = count, .parts = parts, .sink = sink};
    cascade_err err;

    if (count < 1 || count > IDS_MAX)
        return csc_fail(CASCADE_ERR_INVALID, "load: %zu ids; give 1 to %d",
                        count, IDS_MAX);
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, load, &state);
    csc_buf_fini(&state.first);
    csc_buf_fini(&state.second);
    return err;
}

/* ---- List ---------------------------------------------------------------- */

typedef struct list_state {
    const cascade_query *query;
    PGresult *result;
} list_state;

static void
add_condition(csc_buf *sql, const csc_postgres_params *params,
              const char *before, const char *after)
{
    csc_buf_add_format(sql, "\n  AND %s$%d%s", before, params->count, after);
}

/* The text and the parameters of one query. */
static void
build_list(const cascade_query *query, csc_buf *sql,
           csc_postgres_params *params)
{
    csc_postgres_params_init(params);
    csc_buf_add_text(
        sql, "SELECT c.id, c.status::text, c.fn_id, c.user_id::text,\n"
             "  c.created_at, c.updated_at, r.queue, r.priority, r.wake_at,\n"
             "  r.engine_id, r.claim_no, r.takeovers, r.needs\n"
             "FROM @cascades AS c\n"
             "LEFT JOIN @cascade_runs AS r ON r.cascade_id = c.id\n"
             "WHERE true");
    if (query->id != NULL) {
        csc_postgres_params_uuid(params, query->id);
        add_condition(sql, params, "c.id = ", "::uuid");
    }
    if (query->user_id != NULL) {
        csc_postgres_params_text(params, query->user_id);
        add_condition(sql, params, "c.user_id = ", "::text");
    }
    if (query->status != 0) {
        csc_postgres_params_text(params,
                                 csc_postgres_row_status_text(query->status));
        add_condition(sql, params, "c.status = ", "::text::@cascade_status");
    }
    if (query->after != NULL) {
        csc_postgres_params_uuid(params, query->after);
        add_condition(sql, params, "c.id > ", "::uuid");
    }
    if (query->node != NULL) {
        csc_postgres_params_text(params, query->node);
        add_condition(sql, params,
                      "EXISTS (SELECT 1 FROM @node_executions AS n\n"
                      "    WHERE n.cascade_id = c.id AND n.node_name = ",
                      "::text)");
    }
    csc_postgres_params_i64(params, (int64_t)query->limit);
    csc_buf_add_format(sql, "\nORDER BY c.id\nLIMIT $%d::int8", params->count);
}

static cascade_err
read_list(csc_postgres_conn *conn, void *context)
{
    list_state *state = context;
    csc_postgres_params params;
    csc_buf pieces;
    char *sql = NULL;
    cascade_err err;

    PQclear(state->result);
    state->result = NULL;
    csc_buf_init(&pieces);
    build_list(state->query, &pieces, &params);
    if (!pieces.failed)
        sql = csc_postgres_sql_expand(pieces.data, conn->store->prefix);
    err = sql == NULL ? csc_fail_memory()
                      : csc_postgres_conn_query(conn, "list", sql, &params,
                                                &state->result);
    csc_buf_fini(&pieces);
    csc_mem_free(sql);
    return err;
}

static cascade_err
sink_listed(const PGresult *result, int at, cascade_list_sink sink,
            void *context)
{
    static const char *const columns[] = {
        "id",         "status",    "fn_id",    "user_id", "created_at",
        "updated_at", "queue",     "priority", "wake_at", "engine_id",
        "claim_no",   "takeovers", "needs"};
    csc_postgres_reader reader = {
        .result = result, .row = at, .table = "cascades", .columns = columns};
    bool has_run = !PQgetisnull(result, at, 6);
    cascade_row row;
    cascade_run_row run;

    memset(&run, 0, sizeof(run));
    row.id = csc_postgres_row_uuid(&reader, 0);
    row.status = csc_postgres_row_status(&reader, 1);
    row.fn_id = csc_postgres_row_i32(&reader, 2);
    row.user_id = csc_postgres_row_text(&reader, 3);
    row.created_at_ms = csc_postgres_row_time(&reader, 4);
    row.updated_at_ms = csc_postgres_row_time(&reader, 5);
    if (has_run) {
        reader.table = "cascade_runs";
        run.cascade_id = row.id;
        run.queue = csc_postgres_row_text(&reader, 6);
        run.priority = csc_postgres_row_i32(&reader, 7);
        run.wake_at_ms = csc_postgres_row_i64(&reader, 8);
        if (!PQgetisnull(result, at, 9))
            run.engine_id = csc_postgres_row_uuid(&reader, 9);
        run.claim_no = csc_postgres_row_i64(&reader, 10);
        run.takeovers = csc_postgres_row_i32(&reader, 11);
        run.needs = csc_postgres_row_text_or_null(&reader, 12);
    }
    if (reader.err != CASCADE_OK)
        return reader.err;
    return sink(context, &row, has_run ? &run : NULL);
}

/* At most a thousand small rows: all are fetched before the first is handed
 * on, so no sink holds a connection. */
cascade_err
csc_postgres_read_list(void *self, const cascade_query *query,
                       cascade_list_sink sink, void *context)
{
    list_state state = {.query = query};
    cascade_err err;

    if (query->limit < 1 || query->limit > LIMIT_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "list: the limit is %zu; give 1 to %d", query->limit,
                        LIMIT_MAX);
    err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_list, &state);
    for (int i = 0; err == CASCADE_OK && i < PQntuples(state.result); i++)
        err = sink_listed(state.result, i, sink, context);
    PQclear(state.result);
    return err;
}
