/* SPDX-License-Identifier: MIT
 *
 * Whether what a database has under the names of our tables may be used.
 *
 * A database file is data, and may come from anybody; its schema is a program
 * that runs inside our statements. A view or a virtual table in the place of a
 * table, a generated column, a trigger, an index on an expression or a CHECK
 * may build hundreds of megabytes by one call of a function, or take minutes in
 * it, and neither the deadline nor a limit of ours is looked at meanwhile. So
 * before anything else is done with a file:
 *
 *   the object         an ordinary table
 *   its text           CHECKs and DEFAULTs of what is harmless: ddl.c
 *   its columns        none is generated
 *   its triggers       none
 *   its indexes        on columns; their WHERE as a CHECK
 *
 * What else is in the file is its owner's, and we do not touch it: other
 * tables, views and triggers, with foreign keys to our tables too, and plain
 * indexes on these. Connections of ours have views and triggers switched off
 * besides, and limits (conn.c); all but that of transactional nodes, on
 * which the application's own statements run.
 *
 * It is looked at once for a handle, at its first transaction. Whoever changes
 * the schema later has the database open to write, and is trusted with that.
 *
 * The order matters: what asks SQLite for columns or indexes makes it expand a
 * view, or start a virtual table.
 */
#include "store/sqlite/internal.h"

#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

static const char *const tables[] = {
    "cascades",        "node_executions",  "context_events",   "cascade_runs",
    "cascade_engines", "cascade_lanes",    "cascade_messages", "cascade_keys",
    "cascade_queues",  "cascade_erasures", "cascade_links",    "cascade_seals",
    "cascade_schema"};

static cascade_err
refuse(const char *table, const char *why)
{
    return cascade_store_fail(CASCADE_ERR_SCHEMA,
                              "table %s: %s; the library uses no such table",
                              table, why);
}

/* The statement must find nothing. */
static cascade_err
check_none(csc_sqlite_conn *conn, csc_sqlite_statement id, const char *table,
           const char *why)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, id);
    csc_sqlite_call_add_text(&call, table);
    err = csc_sqlite_call_next(&call, &row);
    if (err == CASCADE_OK && row)
        err = refuse(table, why);
    csc_sqlite_call_end(&call);
    return err;
}

/* `*there`: something has the name. */
static cascade_err
check_object(csc_sqlite_conn *conn, const char *table, bool *there)
{
    csc_sqlite_call call;
    const char *type = NULL;
    const char *sql = NULL;
    const char *why = NULL;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_FIND_TABLE);
    csc_sqlite_call_add_text(&call, table);
    err = csc_sqlite_call_next(&call, there);
    if (err == CASCADE_OK && *there)
        err = csc_sqlite_call_text(call.statement, 0, &type);
    if (err == CASCADE_OK && *there)
        err = csc_sqlite_call_text(call.statement, 1, &sql);
    if (err == CASCADE_OK && *there) {
        if (type == NULL || sql == NULL || sqlite3_stricmp(type, "table") != 0)
            why = "it is not an ordinary table (a view?)";
        else
            why = csc_sqlite_ddl_check_table(sql, table);
        if (why != NULL)
            err = refuse(table, why);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
check_indexes(csc_sqlite_conn *conn, const char *table)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_INDEXES);
    csc_sqlite_call_add_text(&call, table);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        const char *sql = NULL;
        const char *why = NULL;

        err = csc_sqlite_call_text(call.statement, 0, &sql);
        if (sql != NULL)
            why = csc_sqlite_ddl_check_index(sql);
        if (why != NULL)
            err = refuse(table, why);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
check_table(csc_sqlite_conn *conn, const char *table)
{
    bool there = false;
    cascade_err err = check_object(conn, table, &there);

    if (err != CASCADE_OK || !there)
        return err;
    err = check_none(conn, CSC_SQLITE_FIND_GENERATED, table,
                     "it has a generated column");
    if (err == CASCADE_OK)
        err = check_none(conn, CSC_SQLITE_FIND_TRIGGER, table,
                         "it has a trigger");
    if (err == CASCADE_OK)
        err = check_none(conn, CSC_SQLITE_FIND_COMPUTED, table,
                         "it has an index on an expression");
    if (err == CASCADE_OK)
        err = check_indexes(conn, table);
    return err;
}

cascade_err
csc_sqlite_trust_look(csc_sqlite_conn *conn)
{
    csc_sqlite *store = conn->store;
    cascade_err err = CASCADE_OK;

    if (atomic_load(&store->trusted))
        return CASCADE_OK;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (err == CASCADE_OK)
            err = check_table(conn, tables[i]);
    }
    if (err == CASCADE_OK)
        atomic_store(&store->trusted, true);
    return err;
}
