/* SPDX-License-Identifier: MIT
 *
 * Do the columns fit? Tables may have been made by another program, so what we
 * rely on is looked up in the catalogue: that each column is there, has a type
 * that keeps what we write, takes NULL where we write it, and that a row can be
 * inserted without the columns we do not know. Further, the labels of the two
 * enums, the functions for SQL, and the unique keys that ON CONFLICT and "one
 * row at most" stand on.
 *
 * Not looked at: further indexes and constraints, which only cost time or
 * refuse rows, and the names of ours; whether a role may call the functions;
 * and what is in them.
 */
#include "store/postgres/internal.h"

#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "store/store.h"

typedef enum column_type {
    TYPE_UUID,
    TYPE_STATUS,
    TYPE_EXECUTION_STATUS,
    TYPE_INT,
    TYPE_ID, /* int4 or int8 */
    TYPE_BIGINT,
    TYPE_TEXT,
    TYPE_JSONB,
    TYPE_TIME
} column_type;

typedef struct column_need {
    const char *table;
    const char *column;
    column_type type;
    unsigned rules; /* NEED_* */
} column_need;

#define NEED_NULL 1u  /* we write NULL there */
#define NEED_LATER 2u /* a migration adds it to a table of an earlier one */

/* Grouped by table. */
static const column_need needs[] = {
    {"cascades", "id", TYPE_UUID, 0},
    {"cascades", "status", TYPE_STATUS, 0},
    {"cascades", "fn_id", TYPE_INT, 0},
    {"cascades", "user_id", TYPE_TEXT, 0},
    {"cascades", "created_at", TYPE_TIME, 0},
    {"cascades", "updated_at", TYPE_TIME, 0},
    {"node_executions", "id", TYPE_UUID, 0},
    {"node_executions", "node_instance_id", TYPE_TEXT, 0},
    {"node_executions", "cascade_id", TYPE_UUID, 0},
    {"node_executions", "node_name", TYPE_TEXT, 0},
    {"node_executions", "function_id", TYPE_INT, 0},
    {"node_executions", "input_context", TYPE_JSONB, 0},
    {"node_executions", "full_output", TYPE_JSONB, NEED_NULL},
    {"node_executions", "location", TYPE_TEXT, 0},
    {"node_executions", "status", TYPE_EXECUTION_STATUS, 0},
    {"node_executions", "error", TYPE_TEXT, NEED_NULL},
    {"node_executions", "started_at", TYPE_TIME, 0},
    {"node_executions", "completed_at", TYPE_TIME, NEED_NULL},
    {"context_events", "id", TYPE_ID, 0},
    {"context_events", "key", TYPE_TEXT, 0},
    {"context_events", "value", TYPE_JSONB, 0},
    {"context_events", "ui_value", TYPE_JSONB, NEED_NULL},
    {"context_events", "function_id", TYPE_INT, 0},
    {"context_events", "cascade_id", TYPE_UUID, 0},
    {"context_events", "created_at", TYPE_TIME, 0},
    {"cascade_runs", "cascade_id", TYPE_UUID, 0},
    {"cascade_runs", "queue", TYPE_TEXT, 0},
    {"cascade_runs", "priority", TYPE_INT, 0},
    {"cascade_runs", "wake_at", TYPE_BIGINT, 0},
    {"cascade_runs", "engine_id", TYPE_UUID, NEED_NULL},
    {"cascade_runs", "claim_no", TYPE_BIGINT, 0},
    {"cascade_runs", "takeovers", TYPE_INT, 0},
    {"cascade_runs", "trial", TYPE_INT, NEED_LATER},
    {"cascade_runs", "needs", TYPE_TEXT, NEED_NULL},
    {"cascade_engines", "engine_id", TYPE_UUID, 0},
    {"cascade_engines", "host", TYPE_TEXT, 0},
    {"cascade_engines", "pid", TYPE_BIGINT, 0},
    {"cascade_engines", "process_start", TYPE_BIGINT, 0},
    {"cascade_engines", "lane_count", TYPE_INT, 0},
    {"cascade_engines", "lease_until", TYPE_BIGINT, 0},
    {"cascade_engines", "about", TYPE_TEXT, NEED_LATER},
    {"cascade_engines", "started_at", TYPE_BIGINT, NEED_LATER},
    {"cascade_lanes", "engine_id", TYPE_UUID, 0},
    {"cascade_lanes", "lane", TYPE_INT, 0},
    {"cascade_lanes", "batch", TYPE_BIGINT, 0},
    {"cascade_messages", "id", TYPE_BIGINT, 0},
    {"cascade_messages", "cascade_id", TYPE_UUID, 0},
    {"cascade_messages", "kind", TYPE_TEXT, 0},
    {"cascade_messages", "name", TYPE_TEXT, 0},
    {"cascade_messages", "path", TYPE_TEXT, 0},
    {"cascade_messages", "payload", TYPE_JSONB, 0},
    {"cascade_messages", "sent_at", TYPE_BIGINT, 0},
    {"cascade_messages", "seal", TYPE_TEXT, NEED_NULL | NEED_LATER},
    {"cascade_keys", "user_id", TYPE_TEXT, 0},
    {"cascade_keys", "key", TYPE_TEXT, 0},
    {"cascade_keys", "run_number", TYPE_INT, 0},
    {"cascade_queues", "queue", TYPE_TEXT, 0},
    {"cascade_queues", "paused_at", TYPE_BIGINT, 0},
    {"cascade_queues", "about", TYPE_TEXT, 0},
    {"cascade_erasures", "cascade_id", TYPE_UUID, 0},
    {"cascade_erasures", "engine_id", TYPE_UUID, NEED_NULL},
    {"cascade_erasures", "marked_at", TYPE_BIGINT, 0},
    {"cascade_links", "path", TYPE_TEXT, 0},
    {"cascade_links", "root", TYPE_UUID, 0},
    {"cascade_links", "next_id", TYPE_UUID, NEED_NULL},
    {"cascade_links", "number", TYPE_BIGINT, 0},
    {"cascade_links", "run_number", TYPE_INT, NEED_NULL | NEED_LATER},
    {"cascade_seals", "cascade_id", TYPE_UUID, 0},
    {"cascade_seals", "number", TYPE_BIGINT, 0},
    {"cascade_seals", "seal", TYPE_TEXT, 0},
    {"cascade_schema", "number", TYPE_INT, 0},
    {"cascade_schema", "name", TYPE_TEXT, 0},
    {"cascade_schema", "checksum", TYPE_TEXT, NEED_NULL},
    {"cascade_schema", "applied_at", TYPE_TIME, 0},
};

#define NEED_COUNT (sizeof(needs) / sizeof(needs[0]))

/* Columns sorted by name. */
static const char *const uniques[][3] = {
    {"cascades", "id", NULL},
    {"node_executions", "cascade_id", "function_id"},
    {"cascade_runs", "cascade_id", NULL},
    {"cascade_engines", "engine_id", NULL},
    {"cascade_lanes", "engine_id", "lane"},
    {"cascade_messages", "path", NULL},
    {"cascade_keys", "key", "user_id"},
    {"cascade_queues", "queue", NULL},
    {"cascade_erasures", "cascade_id", NULL},
    {"cascade_links", "path", NULL},
    {"cascade_seals", "cascade_id", NULL},
};

/* Those to be called, then those that they call, as an error names them. */
static const char *const functions[] = {
    "cascade_start(text, jsonb, text, text, text, integer, bigint)",
    "cascade_signal(uuid, text, jsonb, text)",
    "cascade_key_id(text, text, integer)",
    "cascade_wake()",
    ("cascade_start_run(uuid, text, jsonb, text, integer, text, text, integer, "
     "bigint)"),
    "cascade_next_run(uuid)",
    "cascade_is_there(uuid)",
    "cascade_root_run(uuid)",
    "cascade_last_run(uuid)",
    "cascade_is_known(text)",
    "cascade_random_id(bigint)",
    "cascade_check_name(text, text)",
    "cascade_check_text(text, text)",
    "cascade_check_payload(text, jsonb)",
    "cascade_check_sealed(text)",
};

/* ---- Columns ------------------------------------------------------------- */

static cascade_err
fail_column(const char *table, const char *column, const char *why)
{
    return csc_fail(CASCADE_ERR_SCHEMA, "table %s, column %.64s: %s", table,
                    column, why);
}

/* The result of LIST_COLUMNS, row by row. */
typedef struct found_columns {
    const PGresult *result;
    const char *schema;
} found_columns;

static const char *
found_text(const found_columns *found, int row, int column)
{
    return PQgetvalue(found->result, row, column);
}

static bool
found_flag(const found_columns *found, int row, int column)
{
    return PQgetvalue(found->result, row, column)[0] != 0;
}

static const char *
check_type(const found_columns *found, int row, column_type type)
{
    const char *name = found_text(found, row, 3);
    bool ours = strcmp(found_text(found, row, 2), found->schema) == 0;
    bool system = strcmp(found_text(found, row, 2), "pg_catalog") == 0;

    switch (type) {
    case TYPE_UUID:
        return system && strcmp(name, "uuid") == 0 ? NULL : "must be UUID";
    case TYPE_STATUS:
        return ours && strcmp(name, "cascade_status") == 0
                   ? NULL
                   : "must be the enum cascade_status of the same schema";
    case TYPE_EXECUTION_STATUS:
        return ours && strcmp(name, "execution_status") == 0
                   ? NULL
                   : "must be the enum execution_status of the same schema";
    case TYPE_INT:
        return system && strcmp(name, "int4") == 0 ? NULL : "must be INTEGER";
    case TYPE_ID:
        return system &&
                       (strcmp(name, "int4") == 0 || strcmp(name, "int8") == 0)
                   ? NULL
                   : "must be INTEGER or BIGINT";
    case TYPE_BIGINT:
        return system && strcmp(name, "int8") == 0 ? NULL : "must be BIGINT";
    case TYPE_TEXT:
        return system && (strcmp(name, "text") == 0 ||
                          strcmp(name, "varchar") == 0)
                   ? NULL
                   : "must be TEXT";
    case TYPE_JSONB:
        return system && strcmp(name, "jsonb") == 0 ? NULL : "must be JSONB";
    case TYPE_TIME:
        return system && strcmp(name, "timestamp") == 0
                   ? NULL
                   : "must be TIMESTAMP without time zone";
    }
    return "has an unknown type";
}

static cascade_err
check_known(const found_columns *found, int row, const column_need *need)
{
    const char *why = check_type(found, row, need->type);

    if (why == NULL && found_flag(found, row, 6))
        why = "is generated, so it cannot be written";
    if (why == NULL && (need->rules & NEED_NULL) != 0 &&
        found_flag(found, row, 4))
        why = "must take NULL";
    return why == NULL ? CASCADE_OK
                       : fail_column(need->table, need->column, why);
}

/* A column we do not know. */
static cascade_err
check_unknown(const found_columns *found, int row)
{
    if (!found_flag(found, row, 4) || found_flag(found, row, 5))
        return CASCADE_OK;
    return fail_column(found_text(found, row, 0), found_text(found, row, 1),
                       "is NOT NULL without a default, and unknown to this "
                       "library, which could insert no row");
}

static const column_need *
find_need(const char *table, const char *column)
{
    for (size_t i = 0; i < NEED_COUNT; i++) {
        if (strcmp(needs[i].table, table) == 0 &&
            strcmp(needs[i].column, column) == 0)
            return &needs[i];
    }
    return NULL;
}

static bool
has_table(const found_columns *found, const char *table)
{
    for (int row = 0; row < PQntuples(found->result); row++) {
        if (strcmp(found_text(found, row, 0), table) == 0)
            return true;
    }
    return false;
}

static cascade_err
check_missing(const found_columns *found, const bool seen[NEED_COUNT], bool all)
{
    for (size_t i = 0; i < NEED_COUNT; i++) {
        if (seen[i] || (!all && (needs[i].rules & NEED_LATER) != 0))
            continue;
        if (has_table(found, needs[i].table))
            return fail_column(needs[i].table, needs[i].column, "is missing");
        if (all)
            return csc_fail(CASCADE_ERR_SCHEMA,
                            "table %s is missing, although cascade_schema "
                            "tells that it was made",
                            needs[i].table);
    }
    return CASCADE_OK;
}

static cascade_err
check_columns(const found_columns *found, bool all)
{
    bool seen[NEED_COUNT] = {false};
    cascade_err err = CASCADE_OK;

    for (int row = 0; row < PQntuples(found->result) && err == CASCADE_OK;
         row++) {
        const column_need *need =
            find_need(found_text(found, row, 0), found_text(found, row, 1));

        if (need == NULL) {
            err = check_unknown(found, row);
        } else {
            seen[need - needs] = true;
            err = check_known(found, row, need);
        }
    }
    return err == CASCADE_OK ? check_missing(found, seen, all) : err;
}

static cascade_err
read_columns(csc_postgres_conn *conn, bool all)
{
    csc_postgres_rows tables = {.count = 0};
    csc_postgres_params params;
    found_columns found = {.schema = conn->store->config->schema};
    PGresult *result = NULL;
    cascade_err err;

    csc_postgres_rows_start(&tables, "s");
    for (size_t i = 0; i < NEED_COUNT; i++) {
        if (i == 0 || strcmp(needs[i - 1].table, needs[i].table) != 0)
            csc_postgres_rows_text(&tables, 0, needs[i].table);
    }
    if (!csc_postgres_rows_good(&tables)) {
        err = csc_fail_memory();
        goto out;
    }
    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, found.schema);
    csc_postgres_params_rows(&params, &tables);
    err = csc_postgres_conn_query(conn, "migrate",
                                  conn->store->sql[CSC_POSTGRES_LIST_COLUMNS],
                                  &params, &result);
    found.result = result;
    if (err == CASCADE_OK)
        err = check_columns(&found, all);
out:
    PQclear(result);
    csc_postgres_rows_fini(&tables);
    return err;
}

/* ---- Labels, functions and keys ------------------------------------------ */

static cascade_err
tell_others(const PGresult *result)
{
    if (csc_postgres_result_i64(result, 0, 0) != 2)
        return csc_fail(CASCADE_ERR_SCHEMA,
                        "the enums cascade_status and execution_status do not "
                        "have the labels RUNNING, COMPLETED, ERROR and "
                        "RUNNING, COMPLETED, FAILED");
    if (PQgetisnull(result, 0, 1))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_SCHEMA,
                    "function %s is missing, although cascade_schema tells "
                    "that it was made: run 005_functions.sql, then "
                    "006_erasures.sql, 008_links.sql and 011_sealed.sql, of "
                    "sql/postgres once more, with the schema first in the "
                    "search_path",
                    PQgetvalue(result, 0, 1));
}

static cascade_err
check_others(csc_postgres_conn *conn)
{
    csc_postgres_rows names = {.count = 0};
    csc_postgres_params params;
    PGresult *result = NULL;
    cascade_err err;

    csc_postgres_rows_start(&names, "s");
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        csc_postgres_rows_text(&names, 0, functions[i]);
    if (!csc_postgres_rows_good(&names)) {
        err = csc_fail_memory();
        goto out;
    }
    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, conn->store->config->schema);
    csc_postgres_params_rows(&params, &names);
    err = csc_postgres_conn_query(conn, "migrate",
                                  conn->store->sql[CSC_POSTGRES_FIND_OTHERS],
                                  &params, &result);
    if (err == CASCADE_OK)
        err = tell_others(result);
out:
    PQclear(result);
    csc_postgres_rows_fini(&names);
    return err;
}

static cascade_err
check_unique(csc_postgres_conn *conn, const char *const unique[3])
{
    csc_postgres_rows columns = {.count = 0};
    csc_postgres_params params;
    PGresult *result = NULL;
    cascade_err err;

    csc_postgres_rows_start(&columns, "s");
    for (int i = 1; i < 3 && unique[i] != NULL; i++)
        csc_postgres_rows_text(&columns, 0, unique[i]);
    if (!csc_postgres_rows_good(&columns)) {
        err = csc_fail_memory();
        goto out;
    }
    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, conn->store->config->schema);
    csc_postgres_params_text(&params, unique[0]);
    csc_postgres_params_rows(&params, &columns);
    err = csc_postgres_conn_query(conn, "migrate",
                                  conn->store->sql[CSC_POSTGRES_FIND_UNIQUE],
                                  &params, &result);
    if (err == CASCADE_OK && csc_postgres_result_i64(result, 0, 0) == 0)
        err = csc_fail(CASCADE_ERR_SCHEMA,
                       "table %s, column %s%s%s: must be PRIMARY KEY or UNIQUE",
                       unique[0], unique[1], unique[2] == NULL ? "" : ", ",
                       unique[2] == NULL ? "" : unique[2]);
out:
    PQclear(result);
    csc_postgres_rows_fini(&columns);
    return err;
}

cascade_err
csc_postgres_column_check(csc_postgres_conn *conn, bool all)
{
    const char *sequence;
    cascade_err err = read_columns(conn, all);

    if (err != CASCADE_OK || !all)
        return err;
    err = check_others(conn);
    for (size_t i = 0; i < sizeof(uniques) / sizeof(uniques[0]); i++) {
        if (err == CASCADE_OK)
            err = check_unique(conn, uniques[i]);
    }
    return err == CASCADE_OK ? csc_postgres_sequence(conn, &sequence) : err;
}
