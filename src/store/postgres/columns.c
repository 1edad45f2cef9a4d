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

/* No number of one keeps the others from being listed. */
#define AT(member) offsetof(cascade_incarnation, member)
static const csc_column engine_columns[] = {
    {"engine_id", CSC_COLUMN_UUID, 0, AT(engine_id)},
    {"host", CSC_COLUMN_TEXT, 0, AT(host)},
    {"pid", CSC_COLUMN_I64, 0, AT(pid)},
    {"process_start", CSC_COLUMN_I64, 0, AT(process_start)},
    {"lease_until", CSC_COLUMN_I64, 0, AT(lease_ms)},
    {"lane_count", CSC_COLUMN_I32, 0, AT(lane_count)},
    {"about", CSC_COLUMN_TEXT, CSC_COLUMN_LATER, AT(about)},
    {"started_at", CSC_COLUMN_I64, CSC_COLUMN_LATER, AT(started_at_ms)},
};
#undef AT

const csc_table csc_postgres_table_engines = {"cascade_engines", engine_columns,
                                              sizeof(engine_columns) /
                                                  sizeof(engine_columns[0]),
                                              sizeof(cascade_incarnation)};

/* Columns sorted by name, as an error names them. */
static const char *const uniques[] = {
    "cascades, column id",
    "node_executions, column cascade_id, function_id",
    "cascade_runs, column cascade_id",
    "cascade_engines, column engine_id",
    "cascade_lanes, column engine_id, lane",
    "cascade_messages, column path",
    "cascade_keys, column key, user_id",
    "cascade_queues, column queue",
    "cascade_erasures, column cascade_id",
    "cascade_links, column path",
    "cascade_seals, column cascade_id",
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

static const csc_table *
get_table(size_t i)
{
    return i < csc_table_count ? csc_tables[i] : &csc_postgres_table_engines;
}

static size_t
count_tables(void)
{
    return csc_table_count + 1;
}

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

/* Names of the server's own schema, but for an enum: one or two that do. */
typedef struct wanted_type {
    const char *name;
    const char *or_name;
    bool ours;
    const char *why;
} wanted_type;

static const wanted_type *
want(csc_column_kind kind)
{
    static const wanted_type types[] = {
        [CSC_COLUMN_UUID] = {"uuid", NULL, false, "must be UUID"},
        [CSC_COLUMN_STATUS] = {"cascade_status", NULL, true,
                               "must be the enum cascade_status of the same "
                               "schema"},
        [CSC_COLUMN_EXECUTION_STATUS] = {"execution_status", NULL, true,
                                         "must be the enum execution_status of "
                                         "the same schema"},
        [CSC_COLUMN_I32] = {"int4", NULL, false, "must be INTEGER"},
        [CSC_COLUMN_I64] = {"int8", NULL, false, "must be BIGINT"},
        [CSC_COLUMN_SERIAL] = {"int4", "int8", false,
                               "must be INTEGER or BIGINT"},
        [CSC_COLUMN_TEXT] = {"text", "varchar", false, "must be TEXT"},
        [CSC_COLUMN_JSON] = {"jsonb", NULL, false, "must be JSONB"},
        [CSC_COLUMN_PAYLOAD] = {"jsonb", NULL, false, "must be JSONB"},
        [CSC_COLUMN_TIME] = {"timestamp", NULL, false,
                             "must be TIMESTAMP without time zone"},
        [CSC_COLUMN_TIME_US] = {"timestamp", NULL, false,
                                "must be TIMESTAMP without time zone"},
    };

    return &types[kind];
}

/* Why the column's type does not do; NULL: it does. */
static const char *
check_type(const found_columns *found, int row, csc_column_kind kind)
{
    const wanted_type *wanted = want(kind);
    const char *schema = wanted->ours ? found->schema : "pg_catalog";
    const char *name = found_text(found, row, 3);
    bool fits = strcmp(name, wanted->name) == 0 ||
                (wanted->or_name != NULL && strcmp(name, wanted->or_name) == 0);

    return fits && strcmp(found_text(found, row, 2), schema) == 0 ? NULL
                                                                  : wanted->why;
}

static cascade_err
check_known(const found_columns *found, int row, const csc_column *column)
{
    const char *why = check_type(found, row, column->kind);

    if (why == NULL && found_flag(found, row, 6))
        why = "is generated, so it cannot be written";
    if (why == NULL && (column->rules & CSC_COLUMN_NULL) != 0 &&
        found_flag(found, row, 4))
        why = "must take NULL";
    return why == NULL
               ? CASCADE_OK
               : fail_column(found_text(found, row, 0), column->name, why);
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

/* All that are there are known to fit before one is missed. */
static cascade_err
check_there(const found_columns *found, const csc_table *table,
            bool seen[CSC_COLUMNS_MAX], bool *there)
{
    cascade_err err = CASCADE_OK;

    memset(seen, 0, CSC_COLUMNS_MAX * sizeof(seen[0]));
    *there = false;
    for (int row = 0; row < PQntuples(found->result) && err == CASCADE_OK;
         row++) {
        const csc_column *column;

        if (strcmp(found_text(found, row, 0), table->name) != 0)
            continue;
        *there = true;
        column = csc_column_find(table, found_text(found, row, 1), strcmp);
        if (column != NULL)
            seen[column - table->columns] = true;
        err = column == NULL ? check_unknown(found, row)
                             : check_known(found, row, column);
    }
    return err;
}

static cascade_err
check_table(const found_columns *found, const csc_table *table, bool all)
{
    bool seen[CSC_COLUMNS_MAX];
    bool there = false;
    cascade_err err = check_there(found, table, seen, &there);

    if (err == CASCADE_OK && !there && all)
        return csc_fail(CASCADE_ERR_SCHEMA,
                        "table %s is missing, although cascade_schema tells "
                        "that it was made",
                        table->name);
    for (size_t i = 0; there && i < table->count && err == CASCADE_OK; i++) {
        if (!seen[i] &&
            (all || (table->columns[i].rules & CSC_COLUMN_LATER) == 0))
            err =
                fail_column(table->name, table->columns[i].name, "is missing");
    }
    return err;
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
    for (size_t i = 0; i < count_tables(); i++)
        csc_postgres_rows_text(&tables, 0, get_table(i)->name);
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
    for (size_t i = 0; i < count_tables() && err == CASCADE_OK; i++)
        err = check_table(&found, get_table(i), all);
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
    if (!PQgetisnull(result, 0, 1))
        return csc_fail(
            CASCADE_ERR_SCHEMA,
            "function %s is missing, although cascade_schema tells that it was "
            "made: run 005_functions.sql, then 006_erasures.sql, 008_links.sql "
            "and 011_sealed.sql, of sql/postgres once more, with the schema "
            "first in the search_path",
            PQgetvalue(result, 0, 1));
    if (!PQgetisnull(result, 0, 2))
        return csc_fail(CASCADE_ERR_SCHEMA,
                        "table %s: must be PRIMARY KEY or UNIQUE",
                        PQgetvalue(result, 0, 2));
    return CASCADE_OK;
}

static void
add_names(csc_postgres_rows *rows, const char *const *names, size_t count)
{
    csc_postgres_rows_start(rows, "s");
    for (size_t i = 0; i < count; i++)
        csc_postgres_rows_text(rows, 0, names[i]);
}

static cascade_err
check_others(csc_postgres_conn *conn)
{
    csc_postgres_rows wanted[] = {{.count = 0}, {.count = 0}};
    csc_postgres_params params;
    PGresult *result = NULL;
    cascade_err err = CASCADE_OK;

    add_names(&wanted[0], functions, sizeof(functions) / sizeof(functions[0]));
    add_names(&wanted[1], uniques, sizeof(uniques) / sizeof(uniques[0]));
    if (!csc_postgres_rows_good(&wanted[0]) ||
        !csc_postgres_rows_good(&wanted[1])) {
        err = csc_fail_memory();
        goto out;
    }
    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, conn->store->config->schema);
    csc_postgres_params_rows(&params, &wanted[0]);
    csc_postgres_params_rows(&params, &wanted[1]);
    err = csc_postgres_conn_query(conn, "migrate",
                                  conn->store->sql[CSC_POSTGRES_FIND_OTHERS],
                                  &params, &result);
    if (err == CASCADE_OK)
        err = tell_others(result);
out:
    PQclear(result);
    csc_postgres_rows_fini(&wanted[0]);
    csc_postgres_rows_fini(&wanted[1]);
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
    return err == CASCADE_OK ? csc_postgres_sequence(conn, &sequence) : err;
}
