/* SPDX-License-Identifier: MIT
 *
 * Beside what somebody else has made in the schema of the tables (hostile.h),
 * as a role that finds that before PostgreSQL's own: all that the library says
 * to PostgreSQL. What a store does behind a pooler is looked at by the
 * conformance suite too: test_hostile.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cascade/cascade.h"
#include "cascade/manage.h"
#include "cascade/postgres.h"
#include "store/postgres/hostile.h"
#include "store/postgres/internal.h"
#include "store/postgres/postgres_node.h"
#include "support/unique.h"

#define TABLES "tables"
#define PATH TABLES ", pg_catalog"

static char role[UNIQUE_SIZE];
static bool made;

/* ---- Setup --------------------------------------------------------------- */

static const char *
url(void)
{
    static char text[1200];

    snprintf(text, sizeof(text), "%s user=%s", pg_conninfo(), role);
    return text;
}

/* The enums are there before the migrations: a table of another program's may
 * have them, and so there are operators for them. */
static void
make_all(pg_test *test)
{
    pg_sql(test, "CREATE SCHEMA " TABLES);
    pg_sql(test, "CREATE TYPE " TABLES ".cascade_status AS"
                 " ENUM ('RUNNING', 'COMPLETED', 'ERROR')");
    pg_sql(test, "CREATE TYPE " TABLES ".execution_status AS"
                 " ENUM ('RUNNING', 'COMPLETED', 'FAILED')");
    assert_true(hostile_make(test->admin, TABLES));
    assert_true(hostile_make_role(test->admin, role, TABLES));
    made = true;
}

/* All tests have one schema, which the first handle of the first migrates. */
static int
setup(void **state)
{
    static uint64_t number;
    pg_test *test = calloc(1, sizeof(*test));

    if (test == NULL)
        return -1;
    *state = test;
    test->admin = pg_connect(NULL);
    rows_init(&test->rows, rows_seed() + number++, INT64_C(1767225600123));
    snprintf(test->schema, sizeof(test->schema), TABLES);
    snprintf(test->plain, sizeof(test->plain), "hostile");
    pg_sql(test, "SET client_min_messages = error");
    if (!made)
        make_all(test);
    pg_sql(test, "SET search_path = " TABLES);
    return 0;
}

static int
teardown(void **state)
{
    pg_test *test = *state;

    while (test->handle_count > 0) {
        if (cascade_store_close(test->handles[--test->handle_count]) !=
            CASCADE_OK)
            return -1;
    }
    PQfinish(test->admin);
    rows_fini(&test->rows);
    free(test);
    return 0;
}

/* What a session has for a search_path, said without a function. */
static void
expect_path(PGconn *conn, const char *path)
{
    PGresult *result = PQexec(conn, "SHOW search_path");

    assert_int_equal(PGRES_TUPLES_OK, PQresultStatus(result));
    assert_string_equal(path, PQgetvalue(result, 0, 0));
    PQclear(result);
}

/* ---- The table of statements --------------------------------------------- */

/* Without rows, and without what they would be about: names are looked up all
 * the same, and who may call what. */
static void
say(PGconn *conn, const char *sql, char sqlstate[6])
{
    const char *const values[CSC_POSTGRES_PARAMS_MAX] = {NULL};
    PGresult *result = PQprepare(conn, "", sql, 0, NULL);
    const char *got = NULL;

    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        int count;

        PQclear(result);
        result = PQdescribePrepared(conn, "");
        count = PQnparams(result);
        PQclear(result);
        result = PQexecPrepared(conn, "", count, values, NULL, NULL, 1);
    }
    got = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    snprintf(sqlstate, 6, "%s", got == NULL ? "" : got);
    PQclear(result);
}

/* Whether a statement takes a name for something of somebody's. */
static bool
is_misled(PGconn *conn, const char *before, const char *sql)
{
    char sqlstate[6];

    PQclear(PQexec(conn, "BEGIN"));
    pg_run(conn, before);
    say(conn, sql, sqlstate);
    PQclear(PQexec(conn, "ROLLBACK"));
    return strncmp(sqlstate, "42", 2) == 0 || strncmp(sqlstate, "P0", 2) == 0;
}

/* Those that are said before the search_path is set, or to set it; and those
 * without any name, or with none that is made here. */
static bool
is_for_any_path(int statement)
{
    switch (statement) {
    case CSC_POSTGRES_BEGIN:
    case CSC_POSTGRES_BEGIN_READ:
    case CSC_POSTGRES_COMMIT:
    case CSC_POSTGRES_ROLLBACK:
    case CSC_POSTGRES_SETTINGS:
    case CSC_POSTGRES_PATH:
    case CSC_POSTGRES_LISTEN:
    case CSC_POSTGRES_NATIVE_MARK:
    case CSC_POSTGRES_NATIVE_CONSTRAINTS:
    case CSC_POSTGRES_NATIVE_RESET:
    case CSC_POSTGRES_GUEST_SAVE:
    case CSC_POSTGRES_GUEST_PATH:
    case CSC_POSTGRES_GUEST_UNDO:
    case CSC_POSTGRES_GUEST_RESTORE:
    case CSC_POSTGRES_GUEST_RELEASE:
    case CSC_POSTGRES_LIST_QUEUE:
    case CSC_POSTGRES_WRITE_SEALS:
    case CSC_POSTGRES_PLACE:
    case CSC_POSTGRES_END_SILENT:
    case CSC_POSTGRES_CREATE_SCHEMA:
    case CSC_POSTGRES_CREATE_APPLIED:
    case CSC_POSTGRES_LOCK_APPLIED:
    case CSC_POSTGRES_ENTER_SCHEMA:
    case CSC_POSTGRES_LEAVE_SCHEMA:
        return true;
    default:
        return false;
    }
}

/* Several statements: sent as a text, and none of them is prepared. Their names
 * are of PostgreSQL's grammar, or with its schema. */
static bool
is_script(int statement)
{
    return statement == CSC_POSTGRES_NATIVE_CLEAN ||
           statement == CSC_POSTGRES_NATIVE_OPEN ||
           statement == CSC_POSTGRES_NATIVE_OPEN_DIRECT;
}

/* A statement that is new is among them. The others would be misled without
 * the search_path, so what is made would show. */
static void
no_statement_of_the_table_is_misled(void **state)
{
    char *texts[CSC_POSTGRES_STATEMENTS];
    PGconn *conn = NULL;

    pg_open(*state, url(), NULL);
    conn = pg_connect(url());
    PQclear(PQexec(conn, "SET client_min_messages = error"));
    assert_true(
        csc_postgres_sql_build("\"" TABLES "\"", "cascade_none", texts));
    for (int i = 0; i < CSC_POSTGRES_STATEMENTS; i++) {
        bool any = is_for_any_path(i);
        const char *path =
            any ? "SET LOCAL search_path = " PATH : texts[CSC_POSTGRES_PATH];

        if (is_script(i))
            continue;
        if (is_misled(conn, path, texts[i]))
            fail_msg("it means something else: %s", texts[i]);
        if (!any && !is_misled(conn, "SET LOCAL search_path = " PATH, texts[i]))
            fail_msg("nothing was made that would mislead: %s", texts[i]);
    }
    csc_postgres_sql_free(texts);
    PQfinish(conn);
}

/* ---- A store ------------------------------------------------------------- */

static cascade_err
work(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_uuid
start(cascade_store *store)
{
    cascade_started started;

    assert_ok(cascade_start(store, "work", NULL, NULL, &started));
    return started.id;
}

/* What who looks after a database does. */
static void
look_after(cascade_store *store, const cascade_uuid *id)
{
    cascade_check_report report = {.size = sizeof(report)};
    cascade_engine_list *engines = NULL;
    cascade_explanation *explanation = NULL;
    cascade_page *page = NULL;
    cascade_info *info = NULL;
    char *document = NULL;

    assert_ok(cascade_get(store, id, &info));
    cascade_info_free(info);
    assert_ok(cascade_list(store, NULL, &page));
    assert_true(cascade_page_count(page) > 0);
    cascade_page_free(page);
    assert_ok(cascade_engine_list_load(store, &engines));
    cascade_engine_list_free(engines);
    assert_ok(cascade_explain(store, id, &explanation));
    cascade_explanation_free(explanation);
    assert_ok(cascade_verify(store, NULL, &report));
    assert_int_equal(0, report.findings);
    assert_ok(cascade_adopt(store, NULL, &report));
    assert_ok(cascade_export(store, id, NULL, &document));
    cascade_document_free(document);
}

/* An engine runs a cascade, which is looked at before and after. */
static void
run_engine(cascade_store *store)
{
    const cascade_engine_options options = {.size = sizeof(options)};
    cascade_engine *engine = NULL;
    cascade_status status = CASCADE_RUNNING;
    cascade_uuid id = start(store);

    look_after(store, &id);
    assert_ok(cascade_engine_open(store, &options, &engine));
    assert_ok(cascade_engine_register(engine, "work", work, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_wait(store, &id, PG_UNTIL_MS, &status));
    assert_int_equal(CASCADE_COMPLETED, status);
    assert_ok(cascade_engine_close(engine));
    look_after(store, &id);
}

static void
a_store_and_an_engine_call_nothing_of_it(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);

    for (int pooler = 0; pooler < 2; pooler++) {
        options.pooler = pooler == 1;
        run_engine(pg_open(test, url(), &options));
    }
}

/* ---- Connections of others ----------------------------------------------- */

static void
use_guest(cascade_store *store)
{
    cascade_uuid id = start(store);
    cascade_info *info = NULL;
    cascade_page *page = NULL;

    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    assert_ok(cascade_get(store, &id, &info));
    cascade_info_free(info);
    assert_ok(cascade_list(store, NULL, &page));
    cascade_page_free(page);
}

/* Also where a call fails, after which the application goes on. */
static void
use_within(PGconn *app, cascade_store *store)
{
    const cascade_start_options bad = {.size = sizeof(bad), .queue = "bad"};
    cascade_started started;

    use_guest(store);
    expect_path(app, "pg_temp, " TABLES);
    assert_fails(CASCADE_ERR_REFUSED,
                 cascade_start(store, "work", NULL, &bad, &started));
    expect_path(app, "pg_temp, " TABLES);
    use_guest(store);
    expect_path(app, "pg_temp, " TABLES);
}

static void
a_guest_calls_nothing_of_it_and_leaves_the_search_path(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);
    cascade_store *store = NULL;
    PGconn *app = pg_connect(url());

    pg_sql(test, "ALTER TABLE cascade_runs ADD CONSTRAINT no_bad"
                 " CHECK (queue <> 'bad')");
    assert_ok(cascade_postgres_open(app, &options, &store));
    use_guest(store);
    expect_path(app, PATH);
    pg_run(app, "BEGIN; SET search_path = pg_temp, " TABLES);
    use_within(app, store);
    pg_run(app, "COMMIT");
    expect_path(app, "pg_temp, " TABLES);
    pg_run(app, "RESET search_path; BEGIN;"
                "SET LOCAL search_path = pg_temp, " TABLES);
    use_within(app, store);
    pg_run(app, "COMMIT");
    expect_path(app, PATH);
    assert_ok(cascade_store_close(store));
    PQfinish(app);
    pg_sql(test, "ALTER TABLE cascade_runs DROP CONSTRAINT no_bad");
}

/* What the function sees is its own, in each transaction. What is written with
 * it, and looked up when that fails, is not. */
static void
a_transaction_of_a_node_calls_nothing_of_it(void **state)
{
    pg_test *test = *state;
    cascade_store_options options = pg_options(test);

    for (int pooler = 0; pooler < 2; pooler++) {
        node_test it;

        options.pooler = pooler == 1;
        it = node_open_on(test, url(), &options);
        pg_sql(test, "GRANT ALL ON app TO %s", role);
        for (int i = 0; i < 2; i++) {
            node_begin(&it);
            expect_path(it.conn, PATH);
            node_run(it.conn, "DELETE FROM " TABLES ".app;"
                              "INSERT INTO " TABLES ".app VALUES (1)");
            assert_ok(node_finish_as(&it, i + 2,
                                     rows_write(&test->rows, it.id, i + 1)));
        }
        node_begin(&it);
        node_run(it.conn, "SET search_path = " PATH);
        assert_fails(CASCADE_ERR_LOST, node_finish(&it));
        node_begin(&it);
        expect_path(it.conn, PATH);
        node_abandon(&it);
    }
}

/* ---- By hand ------------------------------------------------------------- */

/* As a superuser, who may call everything: it raises. */
static void
run_file(const char *path, const char *options, const char *file)
{
    const char *source = getenv("CASCADE_SOURCE_DIR");
    char command[2048];

    if (source == NULL)
        fail_msg("CASCADE_SOURCE_DIR does not name the source tree");
    snprintf(command, sizeof(command),
             "PGOPTIONS='-c search_path=%s -c client_min_messages=error' "
             "psql -X -q -v ON_ERROR_STOP=1 %s -f '%s/sql/%s' '%s' >/dev/null",
             path, options, source, file, pg_conninfo());
    if (system(command) != 0)
        fail_msg("%s", command);
}

static void
files_that_are_run_by_hand_call_nothing_of_it(void **state)
{
    static const char *const migrations[] = {
        "postgres/001_initial.sql", "postgres/002_messages.sql",
        "postgres/003_children.sql", "postgres/004_management.sql",
        "postgres/005_functions.sql"};
    char roles[400];

    (void)state;
    for (size_t i = 0; i < sizeof(migrations) / sizeof(migrations[0]); i++)
        run_file(TABLES, "--single-transaction", migrations[i]);
    snprintf(roles, sizeof(roles),
             "-v schema=" TABLES " -v owner=%s -v worker=%s_w -v reader=%s_r",
             role, role, role);
    for (int i = 0; i < 2; i++)
        run_file(TABLES ",pg_catalog", roles, "roles.sql");
}

static void
functions_for_sql_call_nothing_of_it(void **state)
{
    PGconn *conn = pg_connect(url());

    pg_open(*state, url(), NULL);
    pg_run(conn, "SELECT " TABLES ".cascade_signal(" TABLES
                 ".cascade_start('work', key => 'one', delay_ms => 1), 'go',"
                 " request_id => 'first')");
    pg_run(conn, "SELECT " TABLES ".cascade_wake()");
    PQfinish(conn);
}

/* ---- The program --------------------------------------------------------- */

#define HOSTILE_TEST(test) \
    cmocka_unit_test_setup_teardown(test, setup, teardown)

static int
drop_roles(void)
{
    PGconn *conn = PQconnectdb(getenv("CASCADE_TEST_PG"));
    PGresult *result;
    char sql[300];
    bool good;

    snprintf(sql, sizeof(sql), "DROP ROLE IF EXISTS %s, %s_w, %s_r", role, role,
             role);
    result = PQexec(conn, sql);
    good = PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!good)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
    return good ? 0 : 1;
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        HOSTILE_TEST(no_statement_of_the_table_is_misled),
        HOSTILE_TEST(a_store_and_an_engine_call_nothing_of_it),
        HOSTILE_TEST(a_guest_calls_nothing_of_it_and_leaves_the_search_path),
        HOSTILE_TEST(a_transaction_of_a_node_calls_nothing_of_it),
        HOSTILE_TEST(functions_for_sql_call_nothing_of_it),
        HOSTILE_TEST(files_that_are_run_by_hand_call_nothing_of_it),
    };
    int status;

    unique_name(role, sizeof(role), "cascade_hostile");
    status = pg_main_apart("postgres: hostile", tests,
                           sizeof(tests) / sizeof(tests[0]), argc, argv);
    return drop_roles() == 0 ? status : 1;
}
