/* SPDX-License-Identifier: MIT
 *
 * The schema: applying migrations, and listing them.
 *
 *   look, without a lock    current? check the columns, done: that needs no
 *                           right to create, and costs nothing where nothing is
 *                           to be done
 *   BEGIN
 *   CREATE SCHEMA, TABLE    where the schema, or cascade_schema, is missing
 *   LOCK cascade_schema     one at a time, whatever opens this schema
 *   look again              another may have been first
 *   check the columns       of tables that are there already
 *   apply, record           the file's statements, then its checksum
 *   check the columns       of all tables
 *   COMMIT                  all of it or nothing
 *
 * The lock is that of a table, which only those can take who may write it; an
 * advisory lock is anybody's who may connect. Where there is no table yet, the
 * making of it is the lock: another who makes it too waits until we are done,
 * and is told then that it is there. That is no failure: where something of it
 * is there that was not, all begins anew (UNAVAILABLE, which is repeated).
 *
 * The files name no schema: they go to the first of the search_path, which is
 * theirs for each of them only: what others have made in the schema is not to
 * be taken for PostgreSQL's own in any statement of ours. A file records
 * itself, without a checksum, so that it can be applied by hand; the library
 * adds the checksum when it may.
 */
#include "store/postgres/internal.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/migrate.h"
#include "store/migrations.h"
#include "store/store.h"

#define APPLIED_MAX 1000

/* What a look at the schema told. */
typedef struct schema_state {
    size_t from;           /* the first migration to be applied */
    size_t unsigned_count; /* applied by hand */
} schema_state;

/* Whether the schema is there, and the table of what was applied. */
typedef struct place {
    bool schema;
    bool table;
} place;

/* ---- Looking ------------------------------------------------------------- */

static cascade_err
query(csc_postgres_conn *conn, const char *move,
      csc_postgres_statement statement, const csc_postgres_params *params,
      PGresult **result)
{
    return csc_postgres_conn_query(conn, move, conn->store->sql[statement],
                                   params, result);
}

static cascade_err
find_place(csc_postgres_conn *conn, const char *move, place *here)
{
    csc_postgres_params params;
    PGresult *result;
    cascade_err err;

    csc_postgres_params_init(&params);
    csc_postgres_params_text(&params, conn->store->config->schema);
    err = query(conn, move, CSC_POSTGRES_FIND_SCHEMA, &params, &result);
    if (err == CASCADE_OK)
        *here = (place){.schema = csc_postgres_result_i64(result, 0, 0) > 0,
                        .table = csc_postgres_result_i64(result, 0, 1) > 0};
    PQclear(result);
    return err;
}

/* What was applied; `*result` is NULL without a table of that. */
static cascade_err
read_applied(csc_postgres_conn *conn, const char *move, PGresult **result)
{
    csc_postgres_params params;
    place here = {false, false};
    cascade_err err = find_place(conn, move, &here);

    *result = NULL;
    if (err != CASCADE_OK || !here.table)
        return err;
    csc_postgres_params_init(&params);
    csc_postgres_params_i64(&params, APPLIED_MAX);
    return query(conn, move, CSC_POSTGRES_LIST_APPLIED, &params, result);
}

static cascade_err
plan(const PGresult *result, cascade_migrate mode, schema_state *state)
{
    size_t count = result == NULL ? 0 : (size_t)PQntuples(result);
    csc_applied *applied = csc_mem_zalloc(count + 1, sizeof(*applied));
    cascade_err err;

    if (applied == NULL)
        return csc_fail_memory();
    state->unsigned_count = 0;
    for (size_t i = 0; i < count; i++) {
        int row = (int)i;

        applied[i].number = csc_postgres_result_i64(result, row, 0);
        applied[i].name = PQgetvalue(result, row, 1);
        if (!PQgetisnull(result, row, 2))
            applied[i].checksum = PQgetvalue(result, row, 2);
        else
            state->unsigned_count++;
    }
    err =
        csc_migrate_plan(csc_migrations_postgres, csc_migrations_postgres_count,
                         applied, count, mode, &state->from);
    csc_mem_free(applied);
    return err;
}

static cascade_err
look(csc_postgres_conn *conn, cascade_migrate mode, schema_state *state)
{
    PGresult *result;
    cascade_err err = read_applied(conn, "migrate", &result);

    if (err == CASCADE_OK)
        err = plan(result, mode, state);
    PQclear(result);
    return err;
}

static bool
is_current(const schema_state *state)
{
    return state->from == csc_migrations_postgres_count;
}

/* ---- Applying ------------------------------------------------------------ */

static cascade_err
run(csc_postgres_conn *conn, csc_postgres_statement statement,
    const csc_postgres_params *params)
{
    PGresult *result;
    cascade_err err = query(conn, "migrate", statement, params, &result);

    PQclear(result);
    return err;
}

static cascade_err
begin(csc_postgres_conn *conn)
{
    cascade_err err = csc_postgres_conn_send_begin(conn);

    if (err == CASCADE_OK)
        err = csc_postgres_conn_send_sync(conn);
    if (err == CASCADE_OK)
        err = csc_postgres_conn_fetch_sync(conn);
    if (err == CASCADE_OK && PQtransactionStatus(conn->pg) != PQTRANS_INTRANS)
        err = csc_postgres_error_lost(conn);
    return err;
}

static cascade_err
create_schema(csc_postgres_conn *conn)
{
    return csc_postgres_conn_script(
        conn, "create the schema",
        conn->store->sql[CSC_POSTGRES_CREATE_SCHEMA]);
}

static cascade_err
run_file(csc_postgres_conn *conn, const csc_migration *migration)
{
    csc_buf sql;
    cascade_err err;

    csc_buf_init(&sql);
    csc_buf_add_format(
        &sql, "%s;\n%s;\n%s", conn->store->sql[CSC_POSTGRES_ENTER_SCHEMA],
        migration->sql, conn->store->sql[CSC_POSTGRES_LEAVE_SCHEMA]);
    err = sql.failed
              ? csc_fail_memory()
              : csc_postgres_conn_script(conn, migration->name, sql.data);
    csc_buf_fini(&sql);
    return err;
}

static cascade_err
sign(csc_postgres_conn *conn, const csc_migration *migration)
{
    char checksum[CSC_MIGRATE_CHECKSUM_SIZE];
    csc_postgres_params params;

    csc_postgres_params_init(&params);
    csc_postgres_params_i32(&params, migration->number);
    csc_postgres_params_text(&params,
                             csc_migrate_checksum(migration, checksum));
    return run(conn, CSC_POSTGRES_SIGN_APPLIED, &params);
}

/* In the transaction, with the lock. */
static cascade_err
apply(csc_postgres_conn *conn)
{
    schema_state state = {0};
    cascade_err err = look(conn, CASCADE_MIGRATE_AUTO, &state);

    if (err == CASCADE_OK && !is_current(&state))
        err = csc_postgres_column_check(conn, false);
    for (size_t i = 0; i < csc_migrations_postgres_count && err == CASCADE_OK;
         i++) {
        const csc_migration *migration = &csc_migrations_postgres[i];

        if (i >= state.from)
            err = run_file(conn, migration);
        if (err == CASCADE_OK)
            err = sign(conn, migration);
    }
    return err == CASCADE_OK ? csc_postgres_column_check(conn, true) : err;
}

static cascade_err
commit(csc_postgres_conn *conn)
{
    PGresult *result = NULL;
    cascade_err err =
        query(conn, "migrate", CSC_POSTGRES_COMMIT, NULL, &result);

    PQclear(result);
    if (err == CASCADE_OK && PQtransactionStatus(conn->pg) != PQTRANS_IDLE)
        err = csc_postgres_error_lost(conn);
    return err;
}

/* Waits for others that make it, or hold it. */
static cascade_err
lock(csc_postgres_conn *conn, const place *was)
{
    cascade_err err = was->schema ? CASCADE_OK : create_schema(conn);

    if (err == CASCADE_OK && !was->table)
        err = run(conn, CSC_POSTGRES_CREATE_APPLIED, NULL);
    return err == CASCADE_OK ? run(conn, CSC_POSTGRES_LOCK_APPLIED, NULL) : err;
}

/* It has failed, and is rolled back: because another was first? */
static cascade_err
judge(csc_postgres_conn *conn, const place *was, cascade_err failed)
{
    csc_error_kept kept;
    place is;
    cascade_err err;

    if (failed != CASCADE_ERR_REFUSED && failed != CASCADE_ERR_SCHEMA)
        return failed;
    csc_error_keep(&kept, failed);
    err = find_place(conn, "migrate", &is);
    if (err != CASCADE_OK)
        return err;
    if (is.schema == was->schema && is.table == was->table)
        return csc_error_restore(&kept);
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "migrate: another has made the schema at the same time");
}

static cascade_err
apply_all(csc_postgres_conn *conn)
{
    place was = {false, false};
    cascade_err err = begin(conn);
    cascade_err undone = CASCADE_OK;

    if (err == CASCADE_OK)
        err = find_place(conn, "migrate", &was);
    if (err == CASCADE_OK)
        err = lock(conn, &was);
    if (err == CASCADE_OK)
        err = apply(conn);
    if (err == CASCADE_OK)
        err = commit(conn);
    if (err == CASCADE_OK || conn->broken)
        return err;
    undone = csc_postgres_conn_rollback(conn);
    return undone == CASCADE_OK ? judge(conn, &was, err) : undone;
}

/* A migration by hand gets its checksum as soon as somebody may write it; that
 * this role may not is no reason to fail. */
static cascade_err
sign_all(csc_postgres_conn *conn)
{
    for (size_t i = 0; i < csc_migrations_postgres_count && !conn->broken; i++)
        sign(conn, &csc_migrations_postgres[i]);
    return conn->broken ? csc_postgres_error_lost(conn) : CASCADE_OK;
}

static cascade_err
migrate(csc_postgres_conn *conn, void *context)
{
    cascade_migrate mode = *(const cascade_migrate *)context;
    schema_state state = {0};
    cascade_err err = look(conn, mode, &state);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    if (!is_current(&state))
        return apply_all(conn);
    err = csc_postgres_column_check(conn, true);
    if (err == CASCADE_OK && state.unsigned_count > 0 &&
        mode == CASCADE_MIGRATE_AUTO)
        err = sign_all(conn);
    return err;
}

cascade_err
csc_postgres_schema_migrate(void *self, cascade_migrate mode)
{
    csc_assert(csc_lock_is_none_held());
    if (mode == CASCADE_MIGRATE_NEVER)
        return CASCADE_OK;
    return csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, migrate, &mode);
}

/* ---- Listing ------------------------------------------------------------- */

static cascade_err
read_migrations(csc_postgres_conn *conn, void *context)
{
    PGresult **result = context;

    csc_assert(csc_lock_is_none_held());
    PQclear(*result);
    return read_applied(conn, "schema", result);
}

/* When a migration was applied; CASCADE_TIME_NONE: not at all. */
static cascade_err
find_applied(const PGresult *result, int number, int64_t *applied_at_ms)
{
    static const csc_column columns[] = {{.name = "number"},
                                         {.name = "name"},
                                         {.name = "checksum"},
                                         {.name = "applied_at"}};
    csc_postgres_reader reader = {
        .result = result, .table = "cascade_schema", .columns = columns};

    *applied_at_ms = CASCADE_TIME_NONE;
    for (int row = 0; result != NULL && row < PQntuples(result); row++) {
        reader.row = row;
        if (csc_postgres_result_i64(result, row, 0) == number)
            *applied_at_ms = csc_postgres_row_time(&reader, 3);
    }
    return reader.err;
}

cascade_err
csc_postgres_schema_list(void *self, cascade_migration_sink sink, void *context)
{
    PGresult *result = NULL;
    cascade_err err = csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS,
                                            read_migrations, &result);

    csc_assert(csc_lock_is_none_held());
    for (size_t i = 0; i < csc_migrations_postgres_count && err == CASCADE_OK;
         i++) {
        cascade_migration_row row = {.number =
                                         csc_migrations_postgres[i].number,
                                     .name = csc_migrations_postgres[i].name};

        err = find_applied(result, row.number, &row.applied_at_ms);
        if (err == CASCADE_OK)
            err = sink(context, &row);
    }
    PQclear(result);
    return err;
}
