/* SPDX-License-Identifier: MIT
 *
 * Migrations on PostgreSQL: tables of another program, newer and changed
 * schemas, application by hand, roles with few rights, many at once.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/migrations.h"
#include "store/postgres/postgres_fixture.h"

/* The three tables as another program makes them, with a row of its own. */
static const char foreign_tables[] =
    "CREATE TYPE cascade_status AS ENUM ('RUNNING', 'COMPLETED', 'ERROR');"
    "CREATE TYPE execution_status AS ENUM ('RUNNING', 'COMPLETED', 'FAILED');"
    "CREATE TABLE cascades ("
    "  id UUID PRIMARY KEY DEFAULT gen_random_uuid(),"
    "  status cascade_status NOT NULL DEFAULT 'RUNNING',"
    "  fn_id INTEGER NOT NULL DEFAULT 0,"
    "  user_id TEXT NOT NULL,"
    "  created_at TIMESTAMP NOT NULL DEFAULT now(),"
    "  updated_at TIMESTAMP NOT NULL DEFAULT now());"
    "CREATE INDEX cascades_user_id_status_idx ON cascades (user_id, status);"
    "CREATE TABLE node_executions ("
    "  id UUID PRIMARY KEY DEFAULT gen_random_uuid(),"
    "  node_instance_id TEXT NOT NULL UNIQUE,"
    "  cascade_id UUID NOT NULL,"
    "  node_name TEXT NOT NULL,"
    "  function_id INTEGER NOT NULL,"
    "  input_context JSONB NOT NULL,"
    "  full_output JSONB,"
    "  location TEXT NOT NULL,"
    "  status execution_status NOT NULL DEFAULT 'RUNNING',"
    "  error TEXT,"
    "  started_at TIMESTAMP NOT NULL DEFAULT now(),"
    "  completed_at TIMESTAMP,"
    "  CONSTRAINT fk_node_executions_cascade FOREIGN KEY (cascade_id)"
    "    REFERENCES cascades(id) ON DELETE CASCADE,"
    "  CONSTRAINT node_executions_cascade_function_unique"
    "    UNIQUE (cascade_id, function_id));"
    "CREATE TABLE context_events ("
    "  id SERIAL PRIMARY KEY,"
    "  key TEXT NOT NULL,"
    "  value JSONB NOT NULL,"
    "  ui_value JSONB,"
    "  function_id INTEGER NOT NULL,"
    "  cascade_id UUID NOT NULL,"
    "  created_at TIMESTAMP NOT NULL DEFAULT now(),"
    "  CONSTRAINT fk_context_events_cascade FOREIGN KEY (cascade_id)"
    "    REFERENCES cascades(id) ON DELETE CASCADE);"
    "INSERT INTO cascades (id, user_id) VALUES"
    "  ('00000000-0000-4000-8000-000000000001', 'theirs');"
    "INSERT INTO node_executions (node_instance_id, cascade_id, node_name,"
    "  function_id, input_context, full_output, location) VALUES"
    "  ('n_1', '00000000-0000-4000-8000-000000000001', 'n', 0, '{}', '{}',"
    "   'x');"
    "INSERT INTO context_events (key, value, function_id, cascade_id) VALUES"
    "  ('k', '1', 0, '00000000-0000-4000-8000-000000000001');";

/* A hash of what another program's rows say. */
static const char theirs_sql[] =
    "SELECT md5(string_agg(t::text, ';')) FROM ("
    " SELECT c::text AS t FROM cascades AS c WHERE user_id = 'theirs'"
    " UNION ALL SELECT n::text FROM node_executions AS n WHERE location = 'x'"
    " UNION ALL SELECT e::text FROM context_events AS e WHERE key = 'k') AS a";

static int64_t
count_tables(pg_test *test)
{
    return pg_number(test,
                     "SELECT count(*) FROM pg_class"
                     " WHERE relnamespace = '%s'::regnamespace"
                     "   AND relkind = 'r'",
                     test->schema);
}

/* S1, design 3: tables of another program are used as they are. */
static void
tables_of_another_program_are_accepted(void **state)
{
    pg_test *test = *state;
    cascade_store *store;
    cascade_uuid engine;
    cascade_change *start;
    char *before;
    char *after;

    pg_sql(test, "%s", foreign_tables);
    before = pg_text(test, theirs_sql);
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    store = pg_open(test, NULL, NULL);
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    engine = pg_attach(test, store, PG_LEASE_MS);
    start = rows_start_owned(&test->rows, rows_id(&test->rows), engine);
    assert_ok(pg_commit_one(test, store, engine, 1, start));
    start = rows_write(&test->rows, start->cascade.id, 0);
    rows_event(&test->rows, start, 0, "a", "1");
    rows_event(&test->rows, start, 0, "b", "2");
    assert_ok(pg_commit_one(test, store, engine, 2, start));
    assert_int_equal(
        3, pg_number(test, "SELECT id FROM context_events WHERE key = 'b'"));
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM pg_attribute"
                                        " WHERE attrelid ="
                                        "   'context_events'::regclass"
                                        "   AND attname = 'id'"
                                        "   AND atttypid = 'int4'::regtype"));
    after = pg_text(test, theirs_sql);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* Opens after `change`, which must be refused with both words in the text. */
static void
expect_refused(pg_test *test, const char *change, const char *table,
               const char *column)
{
    int64_t tables;

    pg_sql(test, "%s", foreign_tables);
    pg_sql(test, "%s", change);
    tables = count_tables(test);
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    if (strstr(cascade_errmsg(), table) == NULL ||
        strstr(cascade_errmsg(), column) == NULL)
        fail_msg("'%s' names not %s and %s", cascade_errmsg(), table, column);
    assert_int_equal(tables, count_tables(test));
    pg_sql(test, "DROP SCHEMA %s CASCADE", test->schema);
    pg_sql(test, "CREATE SCHEMA %s", test->schema);
}

/* S1: whatever does not fit is named, and nothing is made. */
static void
other_columns_are_refused_and_named(void **state)
{
    pg_test *test = *state;

    expect_refused(test, "ALTER TABLE cascades DROP COLUMN user_id CASCADE",
                   "cascades", "user_id");
    expect_refused(test,
                   "ALTER TABLE node_executions ALTER error TYPE jsonb"
                   " USING to_jsonb(error)",
                   "node_executions", "error");
    expect_refused(test,
                   "ALTER TABLE context_events ALTER created_at"
                   " TYPE timestamptz",
                   "context_events", "created_at");
    expect_refused(test,
                   "ALTER TABLE cascades ADD extra int NOT NULL DEFAULT 1;"
                   "ALTER TABLE cascades ALTER extra DROP DEFAULT",
                   "cascades", "extra");
    expect_refused(test,
                   "ALTER TABLE node_executions ALTER full_output"
                   " SET NOT NULL",
                   "node_executions", "full_output");
    expect_refused(test,
                   "ALTER TABLE node_executions DROP CONSTRAINT"
                   " node_executions_cascade_function_unique",
                   "node_executions", "function_id");
    expect_refused(test,
                   "ALTER TABLE context_events ALTER id DROP DEFAULT;"
                   "DROP SEQUENCE context_events_id_seq",
                   "context_events", "sequence");
    expect_refused(test,
                   "CREATE TABLE cascade_messages (id BIGSERIAL PRIMARY KEY,"
                   " cascade_id UUID, kind TEXT, name TEXT, path TEXT UNIQUE,"
                   " payload TEXT, sent_at BIGINT)",
                   "cascade_messages", "payload");
    expect_refused(test,
                   "CREATE TABLE cascade_keys (user_id TEXT, key TEXT,"
                   " run_number INTEGER)",
                   "cascade_keys", "user_id");
    expect_refused(test,
                   "CREATE TABLE cascade_queues (queue TEXT PRIMARY KEY,"
                   " paused_at TIMESTAMP, about TEXT)",
                   "cascade_queues", "paused_at");
    expect_refused(test,
                   "ALTER TYPE cascade_status RENAME VALUE 'ERROR' TO"
                   " 'BROKEN'",
                   "cascade_status", "ERROR");
}

/* S1: further columns that may stay empty do not matter. */
static void
further_columns_are_accepted(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "%s", foreign_tables);
    pg_sql(test, "ALTER TABLE cascades ADD extra int,"
                 " ADD more int NOT NULL DEFAULT 3");
    pg_sql(test, "ALTER TABLE node_executions ALTER node_name TYPE varchar");
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
}

/* S1 */
static void
a_newer_schema_is_refused(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "INSERT INTO cascade_schema VALUES (99, '099_new', NULL,"
                 " now())");
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_NEVER));
}

/* S1 */
static void
a_changed_migration_is_refused(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "UPDATE cascade_schema SET checksum = repeat('0', 64)");
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
}

/* S1: a table that was made and is gone. */
static void
a_missing_table_is_refused(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "DROP TABLE cascade_lanes");
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    assert_non_null(strstr(cascade_errmsg(), "cascade_lanes"));
}

static void
refuse_keyless(pg_test *test, const char *table, const char *columns)
{
    char wanted[128];

    snprintf(wanted, sizeof(wanted),
             "table %s, column %s: must be PRIMARY KEY or UNIQUE", table,
             columns);
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    if (strstr(cascade_errmsg(), wanted) == NULL)
        fail_msg("'%s' is not '%s'", cascade_errmsg(), wanted);
}

/* Drops it; one of some rows is not taken for it, one of another name is. */
static void
miss_key(pg_test *test, const char *table, const char *columns)
{
    char *name = pg_text(
        test,
        "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c"
        " ON c.oid = i.indexrelid WHERE i.indrelid = '%s'::regclass"
        " AND i.indisunique AND (SELECT string_agg(a.attname, ', '"
        "  ORDER BY a.attname) FROM pg_attribute AS a WHERE a.attrelid ="
        "  i.indrelid AND a.attnum = ANY (i.indkey::int2[])) = '%s'",
        table, columns);

    pg_sql(test,
           "ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s CASCADE;"
           " DROP INDEX IF EXISTS %s",
           table, name, name);
    refuse_keyless(test, table, columns);
    pg_sql(test, "CREATE UNIQUE INDEX of_some ON %s (%s) WHERE false", table,
           columns);
    refuse_keyless(test, table, columns);
    pg_sql(test, "CREATE UNIQUE INDEX ON %s (%s); DROP INDEX of_some", table,
           columns);
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    free(name);
}

/* S1: what "one row at most" stands on. */
static void
a_missing_key_is_refused(void **state)
{
    static const char *const keys[][2] = {
        {"cascades", "id"},
        {"node_executions", "cascade_id, function_id"},
        {"cascade_runs", "cascade_id"},
        {"cascade_engines", "engine_id"},
        {"cascade_lanes", "engine_id, lane"},
        {"cascade_messages", "path"},
        {"cascade_keys", "key, user_id"},
        {"cascade_queues", "queue"},
        {"cascade_erasures", "cascade_id"},
        {"cascade_links", "path"},
        {"cascade_seals", "cascade_id"}};
    pg_test *test = *state;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        miss_key(test, keys[i][0], keys[i][1]);
}

/* Opens as the test's role. */
static cascade_err
try_as_role(pg_test *test, cascade_migrate mode)
{
    char url[1024];

    snprintf(url, sizeof(url), "%s user=%s", pg_conninfo(), test->role);
    return pg_try_open(test, url, mode);
}

/* Drops a function, and runs the file again as the text says. */
static void
miss_function(pg_test *test, const char *name)
{
    static const cascade_migrate modes[] = {CASCADE_MIGRATE_AUTO,
                                            CASCADE_MIGRATE_CHECK};

    pg_sql(test, "DROP FUNCTION %s", name);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_fails(CASCADE_ERR_SCHEMA, pg_try_open(test, NULL, modes[i]));
        if (strstr(cascade_errmsg(), name) == NULL ||
            strstr(cascade_errmsg(), "005_functions.sql") == NULL)
            fail_msg("'%s' says nothing of %s", cascade_errmsg(), name);
    }
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_NEVER));
    pg_sql(test, "%s", csc_migrations_postgres[4].sql);
    pg_sql(test, "%s", csc_migrations_postgres[5].sql);
    pg_sql(test, "%s", csc_migrations_postgres[7].sql);
    pg_sql(test, "%s", csc_migrations_postgres[10].sql);
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
}

/* S1: what a dump of the tables alone leaves out. */
static void
a_missing_function_is_refused(void **state)
{
    pg_test *test = *state;
    int64_t count = 0;

    pg_sql(test, "SET client_min_messages = error");
    assert_string_equal("005_functions", csc_migrations_postgres[4].name);
    count = pg_number(test,
                      "SELECT count(*) FROM pg_proc"
                      " WHERE pronamespace = '%s'::regnamespace",
                      test->schema);
    assert_true(count >= 4);
    for (int64_t i = 0; i < count; i++) {
        char *name = pg_text(test,
                             "SELECT format('%%s(%%s)', proname,"
                             "  oidvectortypes(proargtypes)) FROM pg_proc"
                             " WHERE pronamespace = '%s'::regnamespace"
                             " ORDER BY proname, oid OFFSET %lld LIMIT 1",
                             test->schema, (long long)i);

        miss_function(test, name);
        free(name);
    }
}

/* Another one of that name is not it. */
static void
a_function_with_other_arguments_is_not_taken_for_ours(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "DROP FUNCTION cascade_wake()");
    pg_sql(test, "CREATE FUNCTION cascade_wake(int) RETURNS int LANGUAGE sql"
                 " AS 'SELECT 1'");
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    assert_non_null(strstr(cascade_errmsg(), "cascade_wake()"));
}

/* S1, as above: to call one is another right. */
static void
functions_that_a_role_may_not_call_are_there(void **state)
{
    pg_test *test = *state;

    pg_make_role(test);
    pg_sql(test, "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %s FROM PUBLIC",
           test->schema);
    assert_int_equal(0, pg_number(test,
                                  "SELECT count(*) FROM pg_proc"
                                  " WHERE pronamespace = '%s'::regnamespace"
                                  "  AND has_function_privilege('%s', oid,"
                                  "   'EXECUTE')",
                                  test->schema, test->role));
    assert_ok(try_as_role(test, CASCADE_MIGRATE_AUTO));
    assert_ok(try_as_role(test, CASCADE_MIGRATE_CHECK));
    pg_sql(test, "DROP FUNCTION cascade_signal");
    assert_fails(CASCADE_ERR_SCHEMA, try_as_role(test, CASCADE_MIGRATE_CHECK));
    assert_non_null(strstr(cascade_errmsg(), "cascade_signal("));
}

/* Another program's in front in the search_path. */
static void
types_of_our_names_are_not_taken_for_the_built_in_ones(void **state)
{
    pg_test *test = *state;
    char url[700];

    pg_sql(test, "CREATE DOMAIN text AS pg_catalog.text");
    pg_sql(test, "CREATE DOMAIN jsonb AS pg_catalog.jsonb");
    pg_sql(test, "CREATE DOMAIN uuid AS pg_catalog.uuid");
    snprintf(url, sizeof(url), "%s options='-c search_path=%s,pg_catalog'",
             pg_conninfo(), test->schema);
    assert_ok(pg_try_open(test, url, CASCADE_MIGRATE_CHECK));
    pg_sql(test, "DROP FUNCTION cascade_next_run(pg_catalog.uuid)");
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, url, CASCADE_MIGRATE_CHECK));
    assert_non_null(strstr(cascade_errmsg(), "cascade_next_run(uuid)"));
}

static int64_t
count_signed(pg_test *test)
{
    return pg_number(test, "SELECT count(*) FROM cascade_schema"
                           " WHERE length(checksum) = 64");
}

/* S1: by hand first, twice even; then by the library. */
static void
a_schema_applied_by_hand_is_taken_over(void **state)
{
    pg_test *test = *state;
    size_t count = csc_migrations_postgres_count;

    pg_sql(test, "%s", "SET client_min_messages = error");
    for (size_t i = 0; i < 2 * count; i++)
        pg_sql(test, "%s", csc_migrations_postgres[i % count].sql);
    assert_int_equal(count,
                     pg_number(test, "SELECT count(*) FROM cascade_schema"
                                     " WHERE checksum IS NULL"));
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    assert_int_equal(0, count_signed(test));
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    assert_int_equal(count, count_signed(test));
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
}

/* S1: CHECK names the first that is missing, AUTO applies what is missing. */
static void
a_schema_of_an_older_library_is_upgraded(void **state)
{
    pg_test *test = *state;
    cascade_store *store;

    pg_sql(test, "SET client_min_messages = error");
    pg_sql(test, "%s", csc_migrations_postgres[0].sql);
    pg_sql(test, "INSERT INTO cascades (id, user_id) VALUES"
                 " ('00000000-0000-4000-8000-000000000001', 'old')");
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    assert_non_null(strstr(cascade_errmsg(), "002_messages"));
    store = pg_open(test, NULL, NULL);
    assert_int_equal(csc_migrations_postgres_count, count_signed(test));
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascades"));
    assert_ok(pg_submit_one(
        test, store, rows_start(&test->rows, rows_id(&test->rows)), NULL));
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
}

/* How a library of before migration 4 attaches. */
static void
attach_as_before(pg_test *test, int number)
{
    pg_sql(test,
           "INSERT INTO cascade_engines (engine_id, host, pid, process_start,"
           " lane_count, lease_until) SELECT"
           " ('00000000-0000-4000-8000-'||lpad('%d', 12, '0'))::uuid,"
           " 'host', 1, 1, 1, 4000000000000",
           number);
}

/* The statements of the release before name columns, none of them new: its
 * engines go on, with the rows they had and with new ones. */
static void
an_engine_of_the_release_before_goes_on(void **state)
{
    pg_test *test = *state;

    pg_sql(test, "SET client_min_messages = error");
    for (size_t i = 0; i < 3; i++)
        pg_sql(test, "%s", csc_migrations_postgres[i].sql);
    attach_as_before(test, 1);
    pg_sql(test, "INSERT INTO cascades (id, user_id) VALUES"
                 " ('00000000-0000-4000-8000-000000000001', 'old')");
    pg_sql(test, "INSERT INTO cascade_runs SELECT id, 'default', 5, 0,"
                 " '00000000-0000-4000-8000-000000000001', 1, 0, NULL"
                 " FROM cascades");
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    assert_non_null(strstr(cascade_errmsg(), "004_management"));
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    attach_as_before(test, 2);
    assert_int_equal(2, pg_number(test, "SELECT count(*) FROM cascade_engines"
                                        " WHERE about = '{}'"
                                        "  AND started_at = 0"
                                        "  AND lease_until = 4000000000000"));
    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM cascade_runs"
                                        " WHERE claim_no = 1"));
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
}

typedef struct listed {
    size_t count;
    size_t applied;
    int64_t latest_ms;
} listed;

static cascade_err
list_one(void *context, const cascade_migration_row *row)
{
    listed *it = context;

    assert_string_equal(csc_migrations_postgres[it->count].name, row->name);
    assert_int_equal(csc_migrations_postgres[it->count].number, row->number);
    it->count++;
    it->applied += row->applied_at_ms != CASCADE_TIME_NONE;
    if (it->latest_ms < row->applied_at_ms)
        it->latest_ms = row->applied_at_ms;
    return CASCADE_OK;
}

static listed
list_all(cascade_store *store)
{
    listed it = {.count = 0};

    assert_ok(store->driver->manage->schema(store->self, list_one, &it));
    assert_int_equal(csc_migrations_postgres_count, it.count);
    return it;
}

/* Also where there is nothing to list from: no schema, no table, a part. */
static void
migrations_are_listed_whatever_there_is(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_store *store;

    pg_sql(test, "SET client_min_messages = error");
    options.migrate = CASCADE_MIGRATE_NEVER;
    store = pg_open(test, NULL, &options);
    assert_int_equal(0, list_all(store).applied);
    pg_sql(test, "DROP SCHEMA %s", test->schema);
    assert_int_equal(0, list_all(store).applied);
    pg_sql(test, "CREATE SCHEMA %s", test->schema);
    for (size_t i = 0; i < 2; i++)
        pg_sql(test, "%s", csc_migrations_postgres[i].sql);
    assert_int_equal(2, list_all(store).applied);
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_AUTO));
    pg_sql(test, "UPDATE cascade_schema"
                 " SET applied_at = '2026-01-02 03:04:05.678'");
    pg_sql(test, "INSERT INTO cascade_schema VALUES (99, '099_new', NULL,"
                 " now())");
    assert_int_equal(csc_migrations_postgres_count, list_all(store).applied);
    assert_true(list_all(store).latest_ms == INT64_C(1767323045678));
}

/* psql itself, since its parser is another than the server's. */
static void
psql_applies_the_files(void **state)
{
    pg_test *test = *state;
    const char *source = getenv("CASCADE_SOURCE_DIR");
    char command[1024];

    if (source == NULL)
        fail_msg("CASCADE_SOURCE_DIR does not name the source tree");
    for (size_t i = 0; i < csc_migrations_postgres_count; i++) {
        snprintf(command, sizeof(command),
                 "PGOPTIONS='-c search_path=%s -c client_min_messages=error' "
                 "psql -X -q --single-transaction -v ON_ERROR_STOP=1 "
                 "-f '%s/sql/postgres/%s.sql' '%s'",
                 test->schema, source, csc_migrations_postgres[i].name,
                 pg_conninfo());
        assert_int_equal(0, system(command));
    }
    assert_ok(pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
}

/* S1 */
static void
a_role_that_may_not_create_can_open_a_current_schema(void **state)
{
    pg_test *test = *state;

    pg_make_role(test);
    assert_ok(try_as_role(test, CASCADE_MIGRATE_AUTO));
    assert_ok(try_as_role(test, CASCADE_MIGRATE_CHECK));
    /* By hand, and this role may not write the checksum. */
    pg_sql(test, "UPDATE cascade_schema SET checksum = NULL");
    pg_sql(test, "REVOKE UPDATE ON cascade_schema FROM %s", test->role);
    assert_ok(try_as_role(test, CASCADE_MIGRATE_AUTO));
    pg_sql(test, "DROP TABLE cascade_schema");
    assert_fails(CASCADE_ERR_SCHEMA, try_as_role(test, CASCADE_MIGRATE_AUTO));
    assert_non_null(strstr(cascade_errmsg(), "no right"));
}

typedef struct opener {
    pthread_t thread;
    pg_test *test;
    pthread_barrier_t *barrier;
    cascade_err err;
    char text[256];
} opener;

static void *
open_one(void *context)
{
    opener *it = context;

    pthread_barrier_wait(it->barrier);
    it->err = pg_try_open(it->test, NULL, CASCADE_MIGRATE_AUTO);
    snprintf(it->text, sizeof(it->text), "%s", cascade_errmsg());
    return NULL;
}

/* S1: the schema itself is missing, and eight want it at once. */
static void
eight_may_create_the_schema_at_once(void **state)
{
    pg_test *test = *state;
    opener openers[8];
    pthread_barrier_t barrier;

    pg_sql(test, "DROP SCHEMA %s CASCADE", test->schema);
    assert_fails(CASCADE_ERR_SCHEMA,
                 pg_try_open(test, NULL, CASCADE_MIGRATE_CHECK));
    assert_int_equal(0, pthread_barrier_init(&barrier, NULL, 8));
    for (int i = 0; i < 8; i++) {
        openers[i] = (opener){.test = test, .barrier = &barrier};
        assert_int_equal(
            0, pthread_create(&openers[i].thread, NULL, open_one, &openers[i]));
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(openers[i].thread, NULL);
        if (openers[i].err != CASCADE_OK)
            fail_msg("%s", openers[i].text);
    }
    pthread_barrier_destroy(&barrier);
    assert_int_equal(csc_migrations_postgres_count,
                     pg_number(test, "SELECT count(*) FROM cascade_schema"));
}

/* Who may connect may also take any advisory lock there is, and keep it. Those
 * of the schema's name stand for all. */
static void
advisory_locks_do_not_hold_a_migration_up(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    PGconn *other = pg_connect(NULL);
    char sql[512];

    options.deadline_ms = 2000;
    snprintf(sql, sizeof(sql),
             "SELECT pg_advisory_lock(('x' || left(encode(sha256(convert_to("
             "'cascade schema %s', 'UTF8')), 'hex'), 16))::bit(64)::bigint)",
             test->schema);
    pg_run(other, sql);
    (void)pg_open(test, NULL, &options);
    assert_int_equal(csc_migrations_postgres_count, count_signed(test));
    PQfinish(other);
}

/* Whom the other one waits for: a session that has begun to migrate. */
static void
await_blocked(pg_test *test, const PGconn *holder)
{
    pg_until(test,
             "SELECT count(*) FROM pg_stat_activity"
             " WHERE application_name = '%s'"
             "  AND %d = ANY (pg_blocking_pids(pid))",
             test->plain, PQbackendPID(holder));
}

/* One at a time, by a table that only those who may write it can lock: where
 * there is none yet, by the making of it. */
static void
expect_one_at_a_time(pg_test *test, const char *holds, const char *ends)
{
    PGconn *holder = pg_connect(NULL);
    pthread_barrier_t barrier;
    opener it = {.test = test, .barrier = &barrier};
    char path[100];

    snprintf(path, sizeof(path), "SET search_path = %s", test->schema);
    pg_run(holder, path);
    pg_run(holder, "BEGIN");
    pg_run(holder, holds);
    assert_int_equal(0, pthread_barrier_init(&barrier, NULL, 1));
    assert_int_equal(0, pthread_create(&it.thread, NULL, open_one, &it));
    await_blocked(test, holder);
    pg_run(holder, ends);
    pthread_join(it.thread, NULL);
    if (it.err != CASCADE_OK)
        fail_msg("after %s; %s: %s", holds, ends, it.text);
    assert_int_equal(csc_migrations_postgres_count, count_signed(test));
    pthread_barrier_destroy(&barrier);
    PQfinish(holder);
}

static void
a_migration_waits_for_another(void **state)
{
    static const char makes[] = "CREATE TABLE cascade_schema ("
                                "number INTEGER PRIMARY KEY,"
                                " name TEXT NOT NULL, checksum TEXT,"
                                " applied_at TIMESTAMP NOT NULL)";
    static const char locks[] =
        "LOCK TABLE cascade_schema IN SHARE ROW EXCLUSIVE MODE";
    pg_test *test = *state;

    pg_sql(test, "SET client_min_messages = error");
    expect_one_at_a_time(test, makes, "ROLLBACK");
    pg_sql(test, "DROP SCHEMA %s CASCADE", test->schema);
    pg_sql(test, "CREATE SCHEMA %s", test->schema);
    expect_one_at_a_time(test, makes, "COMMIT");
    pg_sql(test, "DELETE FROM cascade_schema WHERE number > 1");
    expect_one_at_a_time(test, locks, "COMMIT");
}

/* Of the table that is locked, a role that may only look reads. */
static void
who_only_reads_does_not_hold_a_migration_up(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    PGconn *reader;
    char sql[256];

    options.deadline_ms = 2000;
    pg_make_role(test);
    pg_sql(test, "REVOKE ALL ON cascade_schema FROM %s", test->role);
    pg_sql(test, "GRANT SELECT ON cascade_schema TO %s", test->role);
    pg_sql(test, "DELETE FROM cascade_schema WHERE number > 1");
    reader = pg_connect(NULL);
    snprintf(sql, sizeof(sql), "SET ROLE %s; SET search_path = %s", test->role,
             test->schema);
    pg_run(reader, sql);
    pg_run(reader, "BEGIN");
    pg_run(reader, "LOCK TABLE cascade_schema IN ACCESS SHARE MODE");
    (void)pg_open(test, NULL, &options);
    assert_int_equal(csc_migrations_postgres_count, count_signed(test));
    PQfinish(reader);
}

/* Design 3: what new tables have. */
static void
new_tables_have_wide_ids_and_room_on_their_pages(void **state)
{
    pg_test *test = *state;

    assert_int_equal(1, pg_number(test, "SELECT count(*) FROM pg_attribute"
                                        " WHERE attrelid ="
                                        "   'context_events'::regclass"
                                        "   AND attname = 'id'"
                                        "   AND atttypid = 'int8'::regtype"));
    assert_int_equal(2, pg_number(test,
                                  "SELECT count(*) FROM pg_class"
                                  " WHERE relnamespace = '%s'::regnamespace"
                                  "  AND relname IN ('cascades',"
                                  "   'node_executions')"
                                  "  AND 'fillfactor=70' = ANY (reloptions)",
                                  test->schema));
}

/* S18: a schema name is an identifier or nothing. */
static void
a_schema_name_that_is_none_is_refused(void **state)
{
    static const char *const names[] = {"a b", "a\"b", "a;b",
                                        "1a",  "a.b",  "\xc3\xa4"};
    pg_test *test = *state;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cascade_store_options options = pg_options(test);
        cascade_store *store = NULL;

        options.schema = names[i];
        assert_fails(CASCADE_ERR_INVALID,
                     cascade_store_open(pg_conninfo(), &options, &store));
    }
}

/* A schema name with capitals is that one and no other. */
static void
a_schema_name_keeps_its_case(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    char name[80];

    snprintf(name, sizeof(name), "Mixed_%s", test->schema);
    options.schema = name;
    assert_ok(pg_submit_one(test, pg_open(test, NULL, &options),
                            rows_start(&test->rows, rows_id(&test->rows)),
                            NULL));
    assert_int_equal(
        1, pg_number(test, "SELECT count(*) FROM \"%s\".cascades", name));
    pg_sql(test, "DROP SCHEMA \"%s\" CASCADE", name);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        PG_TEST_EMPTY(tables_of_another_program_are_accepted),
        PG_TEST_EMPTY(other_columns_are_refused_and_named),
        PG_TEST_EMPTY(further_columns_are_accepted),
        PG_TEST(a_newer_schema_is_refused),
        PG_TEST(a_changed_migration_is_refused),
        PG_TEST(a_missing_table_is_refused),
        PG_TEST(a_missing_key_is_refused),
        PG_TEST(a_missing_function_is_refused),
        PG_TEST(a_function_with_other_arguments_is_not_taken_for_ours),
        PG_TEST(functions_that_a_role_may_not_call_are_there),
        PG_TEST(types_of_our_names_are_not_taken_for_the_built_in_ones),
        PG_TEST_EMPTY(a_schema_applied_by_hand_is_taken_over),
        PG_TEST_EMPTY(a_schema_of_an_older_library_is_upgraded),
        PG_TEST_EMPTY(an_engine_of_the_release_before_goes_on),
        PG_TEST_EMPTY(migrations_are_listed_whatever_there_is),
        PG_TEST_EMPTY(psql_applies_the_files),
        PG_TEST(a_role_that_may_not_create_can_open_a_current_schema),
        PG_TEST_EMPTY(eight_may_create_the_schema_at_once),
        PG_TEST_EMPTY(advisory_locks_do_not_hold_a_migration_up),
        PG_TEST_EMPTY(a_migration_waits_for_another),
        PG_TEST(who_only_reads_does_not_hold_a_migration_up),
        PG_TEST(new_tables_have_wide_ids_and_room_on_their_pages),
        PG_TEST_EMPTY(a_schema_name_that_is_none_is_refused),
        PG_TEST_EMPTY(a_schema_name_keeps_its_case),
    };

    return pg_main("postgres: schema", tests, sizeof(tests) / sizeof(tests[0]),
                   argc, argv);
}
