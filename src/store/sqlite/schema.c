/* SPDX-License-Identifier: MIT
 *
 * The schema: applying migrations and checking columns.
 *
 *   look, without a lock   what was applied, and the columns of the tables that
 *                          are there: a file written by another program is
 *                          accepted or left as it is. Current? Done: opening
 *                          needs no right to write
 *   BEGIN IMMEDIATE        one process at a time
 *   look again             another may have been first
 *   apply, record          the file's statements, then its checksum
 *   check the columns      of all tables
 *   COMMIT                 all of it or nothing
 *
 * The file of a migration records itself, without a checksum, so that it can be
 * applied by hand; the library adds the checksum when it may write.
 *
 * A file that is fed twice, or was cut short, does no harm: 001-003, 005 and
 * 007 make what is not there; 004, 006 and 008 add a column, which SQLite does
 * once, and are savepoints of their own, so that the column is there just when
 * that is recorded.
 *
 * What is checked of a column is what we rely on: that it is there, that its
 * affinity does not change what we put into it, and that a row can be inserted
 * without the columns we do not know.
 */
#include "store/sqlite/internal.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/migrate.h"
#include "store/migrations.h"
#include "store/store.h"

#define APPLIED_MAX 1000

/* ---- What we rely on ----------------------------------------------------- */

/* Other programs have no such table. */
static const csc_column engine_columns[] = {
    {"engine_id", CSC_COLUMN_UUID, 0, 0},
    {"host", CSC_COLUMN_TEXT, 0, 0},
    {"pid", CSC_COLUMN_I64, 0, 0},
    {"process_start", CSC_COLUMN_I64, 0, 0},
    {"boot", CSC_COLUMN_TEXT, 0, 0},
    {"lease_ms", CSC_COLUMN_I64, 0, 0},
    {"lease_until_ms", CSC_COLUMN_I64, 0, 0},
    {"attached_at", CSC_COLUMN_I64, 0, 0},
    {"about", CSC_COLUMN_TEXT, 0, 0},
};

static const csc_table engines = {
    "cascade_engines", engine_columns,
    sizeof(engine_columns) / sizeof(engine_columns[0]), 0};

/* Of one table: which columns are there. */
typedef struct found_columns {
    const csc_table *table;
    bool seen[CSC_COLUMNS_MAX];
    bool there; /* the table itself */
} found_columns;

/* Columns that came later than their tables. */
static const struct {
    const char *table;
    const char *column;
    size_t migration;
} additions[] = {
    {"cascade_engines", "about", 4},
    {"cascade_runs", "trial", 6},
    {"cascade_links", "run_number", 8},
    {"cascade_messages", "seal", 9},
    {"cascade_queues", "version", 11},
    {"cascade_queues", "running_max", 11},
    {"cascade_queues", "key_running_max", 11},
    {"cascade_queues", "limits_about", 11},
    {"cascade_runs", "limit_key", 11},
    {"cascade_runs", "slot", 11},
};

/* What ON CONFLICT and the order of reading stand on. */
static const struct {
    const char *table;
    const char *columns; /* sorted */
} uniques[] = {
    {"cascades", "id"},
    {"node_executions", "id"},
    {"node_executions", "node_instance_id"},
    {"node_executions", "cascade_id,function_id"},
    {"cascade_messages", "path"},
    {"cascade_keys", "key,user_id"},
    {"cascade_queues", "queue"},
    {"cascade_erasures", "cascade_id"},
    {"cascade_links", "path"},
    {"cascade_seals", "cascade_id"},
};

/* ---- Checking columns ---------------------------------------------------- */

static cascade_err
fail_column(const char *table, const char *column, const char *why)
{
    return cascade_store_fail(CASCADE_ERR_SCHEMA, "table %s, column %.64s: %s",
                              table, column, why);
}

static bool
contains(const char *type, const char *word)
{
    return strcasestr(type, word) != NULL;
}

/* SQLite's rules for the affinity of a declared type, in its order. */
static char
get_affinity(const char *type)
{
    if (contains(type, "INT"))
        return 'i';
    if (contains(type, "CHAR") || contains(type, "CLOB") ||
        contains(type, "TEXT"))
        return 't';
    if (type[0] == '\0' || contains(type, "BLOB"))
        return 'b';
    if (contains(type, "REAL") || contains(type, "FLOA") ||
        contains(type, "DOUB"))
        return 'r';
    return 'n';
}

/* To SQLite a type JSON or JSONB means NUMERIC: a text that is a number is
 * turned into one. Other programs declare their columns so. */
static bool
is_numeric_json(const char *type)
{
    return get_affinity(type) == 'n' && contains(type, "JSON");
}

static bool
keeps_integers(char affinity)
{
    return affinity == 'i' || affinity == 'n' || affinity == 'b';
}

/* Ids, words and times never look like a number. */
static bool
keeps_texts(const csc_column *column, const char *type)
{
    char affinity = get_affinity(type);

    switch (column->kind) {
    case CSC_COLUMN_TEXT:
    case CSC_COLUMN_PAYLOAD:
        return affinity == 't' || affinity == 'b';
    case CSC_COLUMN_JSON:
        return affinity == 't' || affinity == 'b' || is_numeric_json(type);
    default:
        return affinity != 'r';
    }
}

/* Why the column cannot keep what we write; NULL: it can. */
static const char *
find_fault(const csc_column *column, const char *type, int primary)
{
    bool is_rowid = primary == 1 && sqlite3_stricmp(type, "INTEGER") == 0;

    switch (column->kind) {
    case CSC_COLUMN_I32:
    case CSC_COLUMN_I64:
    case CSC_COLUMN_SERIAL:
        if (column->kind != CSC_COLUMN_I32 &&
            (column->rules & CSC_COLUMN_GIVEN) != 0)
            return is_rowid ? NULL : "must be INTEGER PRIMARY KEY";
        return keeps_integers(get_affinity(type))
                   ? NULL
                   : "its type does not keep integers";
    default:
        return keeps_texts(column, type)
                   ? NULL
                   : "its type does not keep texts as they are";
    }
}

/* One row of table_info: name, type, notnull, has a default, place in the
 * primary key. */
static cascade_err
check_column(csc_sqlite *store, sqlite3_stmt *statement, found_columns *found)
{
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    const char *type = (const char *)sqlite3_column_text(statement, 1);
    const char *table = found->table->name;
    const csc_column *column;
    const char *why;

    if (name == NULL || type == NULL)
        return csc_fail_memory();
    column = csc_column_find(found->table, name, sqlite3_stricmp);
    if (column == NULL) {
        bool must_be_set = sqlite3_column_int(statement, 2) != 0 &&
                           sqlite3_column_int(statement, 3) == 0;

        return must_be_set
                   ? fail_column(table, name,
                                 "is NOT NULL without a default, and unknown "
                                 "to this library, which could insert no row")
                   : CASCADE_OK;
    }
    found->seen[column - found->table->columns] = true;
    if (column->kind == CSC_COLUMN_JSON && is_numeric_json(type))
        atomic_store(&store->numeric_json, true);
    why = find_fault(column, type, sqlite3_column_int(statement, 4));
    return why == NULL ? CASCADE_OK : fail_column(table, name, why);
}

static cascade_err
look_at_columns(csc_sqlite_conn *conn, const csc_table *table,
                found_columns *found)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    *found = (found_columns){.table = table};
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_COLUMNS);
    csc_sqlite_call_add_text(&call, table->name);
    err = csc_sqlite_call_next(&call, &row);
    found->there = row;
    while (err == CASCADE_OK && row) {
        err = check_column(conn->store, call.statement, found);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
check_unique(csc_sqlite_conn *conn, const char *table, const char *columns)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_FIND_UNIQUE);
    csc_sqlite_call_add_text(&call, table);
    csc_sqlite_call_add_text(&call, columns);
    err = csc_sqlite_call_next(&call, &row);
    csc_sqlite_call_end(&call);
    if (err == CASCADE_OK && !row)
        err = fail_column(table, columns, "must be PRIMARY KEY or UNIQUE");
    return err;
}

/* Whether the column must be there when so many migrations are applied. */
static bool
is_due(const char *table, const char *column, size_t applied)
{
    for (size_t i = 0; i < sizeof(additions) / sizeof(additions[0]); i++) {
        if (strcmp(additions[i].table, table) == 0 &&
            strcmp(additions[i].column, column) == 0)
            return additions[i].migration <= applied;
    }
    return true;
}

/* `applied` migrations are: a table or column that is not there is no error
 * where another may still make it. */
static cascade_err
check_table(csc_sqlite_conn *conn, const csc_table *table, size_t applied)
{
    bool partly = applied < csc_migrations_sqlite_count;
    found_columns found;
    cascade_err err = look_at_columns(conn, table, &found);

    if (err != CASCADE_OK || (!found.there && partly))
        return err;
    if (!found.there)
        return cascade_store_fail(CASCADE_ERR_SCHEMA,
                                  "table %s is missing, although "
                                  "cascade_schema tells that it was made",
                                  table->name);
    for (size_t i = 0; i < table->count && err == CASCADE_OK; i++) {
        const char *column = table->columns[i].name;

        if (!found.seen[i] && is_due(table->name, column, applied))
            err = fail_column(table->name, column, "is missing");
    }
    return err;
}

static cascade_err
check_tables(csc_sqlite_conn *conn, size_t applied)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < csc_table_count && err == CASCADE_OK; i++)
        err = check_table(conn, csc_tables[i], applied);
    if (err == CASCADE_OK)
        err = check_table(conn, &engines, applied);
    for (size_t i = 0; i < sizeof(uniques) / sizeof(uniques[0]); i++) {
        if (err == CASCADE_OK)
            err = check_unique(conn, uniques[i].table, uniques[i].columns);
    }
    return err;
}

cascade_err
csc_sqlite_schema_look(csc_sqlite_conn *conn)
{
    found_columns found;
    cascade_err err = look_at_columns(conn, &csc_table_executions, &found);

    return err == CASCADE_OK ? look_at_columns(conn, &csc_table_events, &found)
                             : err;
}

/* ---- What was applied ---------------------------------------------------- */

typedef struct applied_list {
    csc_applied *rows; /* its texts are the list's */
    size_t count;
    size_t room;
} applied_list;

static void
free_applied(applied_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        csc_mem_free((char *)list->rows[i].name);
        csc_mem_free((char *)list->rows[i].checksum);
    }
    csc_mem_free(list->rows);
    memset(list, 0, sizeof(*list));
}

static cascade_err
add_applied(applied_list *list, sqlite3_stmt *statement)
{
    const char *name = NULL;
    const char *checksum = NULL;
    csc_applied *row;

    if (csc_sqlite_call_text(statement, 1, &name) != CASCADE_OK ||
        csc_sqlite_call_text(statement, 2, &checksum) != CASCADE_OK)
        return CASCADE_ERR_NO_MEMORY;
    if (list->count == APPLIED_MAX)
        return cascade_store_fail(
            CASCADE_ERR_SCHEMA, "cascade_schema has over %d rows", APPLIED_MAX);
    if (csc_mem_grow((void **)&list->rows, &list->room, list->count + 1,
                     sizeof(*row)) != 0)
        return csc_fail_memory();
    row = &list->rows[list->count++];
    row->number = sqlite3_column_int64(statement, 0);
    row->name = csc_mem_strdup(name);
    row->checksum = csc_mem_strdup(checksum);
    if ((name != NULL && row->name == NULL) ||
        (checksum != NULL && row->checksum == NULL))
        return csc_fail_memory();
    return CASCADE_OK;
}

static cascade_err
has_schema_table(csc_sqlite_conn *conn, bool *there)
{
    csc_sqlite_call call;
    cascade_err err;

    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_COLUMNS);
    csc_sqlite_call_add_text(&call, "cascade_schema");
    err = csc_sqlite_call_next(&call, there);
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
read_applied(csc_sqlite_conn *conn, applied_list *list)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err = has_schema_table(conn, &row);

    if (err != CASCADE_OK || !row)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_APPLIED);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        err = add_applied(list, call.statement);
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

/* What is to be done. `*unsigned_count`: applied by hand, without checksum. */
static cascade_err
look(csc_sqlite_conn *conn, cascade_migrate mode, size_t *from,
     size_t *unsigned_count)
{
    applied_list list = {0};
    cascade_err err = csc_sqlite_trust_look(conn); /* before its columns */

    if (err == CASCADE_OK)
        err = read_applied(conn, &list);
    if (err == CASCADE_OK)
        err =
            csc_migrate_plan(csc_migrations_sqlite, csc_migrations_sqlite_count,
                             list.rows, list.count, mode, from);
    *unsigned_count = 0;
    for (size_t i = 0; i < list.count; i++)
        *unsigned_count += list.rows[i].checksum == NULL;
    if (err == CASCADE_OK)
        err = check_tables(conn, *from);
    free_applied(&list);
    return err;
}

/* When each of the migrations that we know was applied. */
static cascade_err
read_times(csc_sqlite_conn *conn, int64_t *applied_at_ms)
{
    csc_sqlite_call call;
    bool row = false;
    cascade_err err = has_schema_table(conn, &row);

    if (err != CASCADE_OK || !row)
        return err;
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_LIST_APPLIED_AT);
    err = csc_sqlite_call_next(&call, &row);
    while (err == CASCADE_OK && row) {
        int64_t number = 0;
        int64_t time_ms = 0;

        err = csc_sqlite_row_applied(call.statement, &number, &time_ms);
        if (number >= 1 && number <= (int64_t)csc_migrations_sqlite_count)
            applied_at_ms[number - 1] = time_ms;
        if (err == CASCADE_OK)
            err = csc_sqlite_call_next(&call, &row);
    }
    csc_sqlite_call_end(&call);
    return err;
}

static cascade_err
give_migrations(const int64_t *applied_at_ms, cascade_migration_sink sink,
                void *context)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < csc_migrations_sqlite_count && err == CASCADE_OK;
         i++) {
        const cascade_migration_row row = {
            .number = csc_migrations_sqlite[i].number,
            .name = csc_migrations_sqlite[i].name,
            .applied_at_ms = applied_at_ms[i],
        };

        err = sink(context, &row);
    }
    return err;
}

cascade_err
csc_sqlite_schema_list(void *self, cascade_migration_sink sink, void *context)
{
    csc_sqlite_conn *conn = NULL;
    int64_t *applied_at_ms =
        csc_mem_alloc(csc_migrations_sqlite_count * sizeof(*applied_at_ms));
    cascade_err err;

    if (applied_at_ms == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < csc_migrations_sqlite_count; i++)
        applied_at_ms[i] = CASCADE_TIME_NONE;
    err = csc_sqlite_txn_begin_read(self, &conn);
    if (err == CASCADE_OK)
        err = csc_sqlite_txn_end(conn, read_times(conn, applied_at_ms));
    if (err == CASCADE_OK)
        err = give_migrations(applied_at_ms, sink, context);
    csc_mem_free(applied_at_ms);
    return err;
}

/* ---- Applying ------------------------------------------------------------ */

/* `now`: it was applied by this transaction, and that is told by the store's
 * clock; else by hand. */
static cascade_err
record(csc_sqlite_conn *conn, const csc_migration *migration, bool now)
{
    int64_t applied_at_ms = CASCADE_TIME_NONE;
    char checksum[CSC_MIGRATE_CHECKSUM_SIZE];
    csc_sqlite_call call;

    if (now)
        applied_at_ms = csc_clock_wall_ms(conn->store->config->clock);
    csc_sqlite_call_begin(&call, conn, CSC_SQLITE_RECORD_APPLIED);
    csc_sqlite_call_add_i64(&call, migration->number);
    csc_sqlite_call_add_text(&call, csc_migrate_checksum(migration, checksum));
    csc_sqlite_call_add_time(&call, applied_at_ms);
    return csc_sqlite_call_run(&call, NULL);
}

/* The migrations from `from` on, and the checksums that are missing. */
static cascade_err
apply(csc_sqlite_conn *conn, size_t from)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < csc_migrations_sqlite_count && err == CASCADE_OK;
         i++) {
        const csc_migration *migration = &csc_migrations_sqlite[i];

        if (i >= from)
            err =
                csc_sqlite_conn_exec(conn, "apply a migration", migration->sql);
        if (err == CASCADE_OK)
            err = record(conn, migration, i >= from);
    }
    if (err == CASCADE_OK && from < csc_migrations_sqlite_count)
        err = check_tables(conn, csc_migrations_sqlite_count);
    return err;
}

static cascade_err
migrate_with_lock(csc_sqlite *store)
{
    csc_sqlite_conn *conn = NULL;
    size_t from = 0;
    size_t unsigned_count = 0;
    cascade_err err = csc_sqlite_txn_begin_write(store, &conn);

    if (err != CASCADE_OK)
        return err;
    err = look(conn, CASCADE_MIGRATE_AUTO, &from, &unsigned_count);
    if (err == CASCADE_OK && store->guest.session != NULL)
        err = conn->store->guest.session->check_shadows(conn);
    if (err == CASCADE_OK &&
        (from < csc_migrations_sqlite_count || unsigned_count > 0))
        err = apply(conn, from);
    return csc_sqlite_txn_end(conn, err);
}

static cascade_err
migrate(csc_sqlite *store, cascade_migrate mode)
{
    csc_sqlite_conn *conn = NULL;
    size_t from = 0;
    size_t unsigned_count = 0;
    cascade_err err;

    err = csc_sqlite_txn_begin_read(store, &conn);
    if (err != CASCADE_OK)
        return err;
    err = csc_sqlite_txn_end(conn, look(conn, mode, &from, &unsigned_count));
    if (err != CASCADE_OK || mode != CASCADE_MIGRATE_AUTO)
        return err;
    if (from < csc_migrations_sqlite_count ||
        (unsigned_count > 0 && !store->read_only))
        err = migrate_with_lock(store);
    return err;
}

cascade_err
csc_sqlite_schema_migrate(void *self, cascade_migrate mode)
{
    csc_sqlite *store = self;
    cascade_err err;

    if (mode == CASCADE_MIGRATE_NEVER)
        return CASCADE_OK;
    err = migrate(store, mode);
    if (err == CASCADE_OK && store->guest.session != NULL)
        err = store->guest.session->enter_wal(store);
    if (err != CASCADE_OK && store->guest.session != NULL)
        store->guest.session->refuse(store);
    return err;
}
