/* SPDX-License-Identifier: MIT
 *
 * cascade_start() and cascade_signal() in SQL: what they write goes with the
 * statement and the transaction that they are in; what is wrong is the error of
 * the statement, and leaves nothing; the connection closes as if they were not
 * there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/uuid.h"
#include "cascade/sqlite.h"
#include "support/stores.h"

#define ORDERS                                                          \
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, node TEXT, key TEXT," \
    "    started TEXT)"
#define COUNT_CASCADES "SELECT count(*) FROM cascades"
#define COUNT_RUNS "SELECT count(*) FROM cascade_runs"
#define COUNT_MESSAGES "SELECT count(*) FROM cascade_messages"

/* A connection with the functions. */
static sqlite3 *
open_connection(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    sqlite3 *own = NULL;

    assert_int_equal(SQLITE_OK, sqlite3_open(strchr(db->url, ':') + 1, &own));
    /* engines write too */
    assert_int_equal(SQLITE_OK, sqlite3_busy_timeout(own, DB_WAIT_MS));
    assert_ok(cascade_sqlite_functions(own, &options));
    return own;
}

static int
run_statement(sqlite3 *own, const char *sql, char *first, size_t size)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(own, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW && first != NULL &&
        sqlite3_column_text(statement, 0) != NULL)
        snprintf(first, size, "%s",
                 (const char *)sqlite3_column_text(statement, 0));
    while (code == SQLITE_ROW)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code;
}

static void
run(sqlite3 *own, const char *sql)
{
    if (run_statement(own, sql, NULL, 0) != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(own));
}

static int
count_rows(sqlite3 *own, const char *sql)
{
    char text[64] = "";

    if (run_statement(own, sql, text, sizeof(text)) != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(own));
    return atoi(text);
}

/* The statement fails with a text that has `part` in it. */
static void
fails(sqlite3 *own, const char *sql, const char *part)
{
    int code = run_statement(own, sql, NULL, 0);

    if (code == SQLITE_DONE || strstr(sqlite3_errmsg(own), part) == NULL)
        fail_msg("%s: %d, %s; wanted \"%s\"", sql, code, sqlite3_errmsg(own),
                 part);
}

static void
close_connection(sqlite3 *own)
{
    assert_int_equal(SQLITE_OK, sqlite3_close(own));
}

static cascade_uuid
start_by_sql(sqlite3 *own, const char *sql)
{
    char text[CASCADE_UUID_TEXT_SIZE] = "";
    cascade_uuid id;

    if (run_statement(own, sql, text, sizeof(text)) != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(own));
    assert_ok(cascade_uuid_parse(text, &id));
    return id;
}

/* As many cascades, each with its run and its execution. */
static void
check_cascades(sqlite3 *own, int count)
{
    assert_int_equal(count_rows(own, COUNT_CASCADES), count);
    assert_int_equal(count_rows(own, COUNT_RUNS), count);
    assert_int_equal(count_rows(own, "SELECT count(*) FROM node_executions"),
                     count);
}

/* ---- One statement ------------------------------------------------------ */

/* By a plain SELECT, and an engine on a handle of its own runs it. */
static void
a_select_starts_a_cascade_that_runs(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    sqlite3 *own = open_connection(db);
    cascade_uuid id;
    cascade_uuid keyed;
    cascade_uuid again;

    assert_ok(
        cascade_engine_register(engine, "echo", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = start_by_sql(own, "SELECT cascade_start('echo', '{\"a\": 1}')");
    db_await(store, &id, CASCADE_COMPLETED);
    id = start_by_sql(own, "SELECT cascade_start('echo', NULL)");
    db_await(store, &id, CASCADE_COMPLETED);
    keyed = start_by_sql(own, "SELECT cascade_start('echo', 5, 'k', 'me')");
    again = start_by_sql(own, "SELECT cascade_start('echo', '{}', 'k', 'me')");
    assert_true(csc_uuid_equal(&keyed, &again));
    again = start_by_sql(own, "SELECT cascade_start('echo', NULL, 'k', NULL)");
    assert_false(csc_uuid_equal(&keyed, &again));
    db_await(store, &keyed, CASCADE_COMPLETED);
    close_connection(own);
}

static void
options_are_those_of_the_call_in_c(test_db *db)
{
    cascade_store *store = db_store(db);
    sqlite3 *own = open_connection(db);
    cascade_info *info = NULL;
    cascade_uuid id = start_by_sql(
        own, "SELECT cascade_start('ship', '[1.50]', NULL, 'me', 'slow', 3,"
             "    3600000)");

    assert_ok(cascade_get(store, &id, &info));
    assert_string_equal(info->user_id, "me");
    assert_string_equal(info->queue, "slow");
    assert_int_equal(info->priority, 3);
    cascade_info_free(info);
    assert_int_equal(count_rows(own, "SELECT count(*) FROM node_executions"
                                     " WHERE input_context = '[1.50]'"),
                     1);
    assert_int_equal(count_rows(own, "SELECT count(*) FROM cascade_runs"
                                     " WHERE wake_at > 3500000 + 1000 *"
                                     "    strftime('%s', 'now')"),
                     1);
    close_connection(own);
}

static void
signals_tell_whether_they_were_accepted(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    sqlite3 *own = open_connection(db);
    char id[CASCADE_UUID_TEXT_SIZE] = "";
    char sql[256];
    cascade_uuid ended;

    assert_int_equal(SQLITE_DONE,
                     run_statement(own,
                                   "SELECT cascade_start('waits', NULL, NULL,"
                                   "    NULL, 'unserved')",
                                   id, sizeof(id)));
    snprintf(sql, sizeof(sql),
             "SELECT cascade_signal('%s', 'news', '{\"x\": 9007199254740993}',"
             "    'r1')",
             id);
    assert_int_equal(count_rows(own, sql), 1);
    assert_int_equal(count_rows(own, sql), 0);
    assert_int_equal(count_rows(own, COUNT_MESSAGES
                                " WHERE payload = '{\"x\":9007199254740993}'"),
                     1);
    snprintf(sql, sizeof(sql), "SELECT cascade_signal('%s', 'news', NULL)", id);
    assert_int_equal(count_rows(own, sql), 1);
    assert_int_equal(count_rows(own, COUNT_MESSAGES), 2);
    fails(own,
          "SELECT cascade_signal('00000000-0000-4000-8000-000000000000',"
          "    'news', NULL)",
          "no such cascade");

    assert_ok(
        cascade_engine_register(engine, "ends", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    ended = start_by_sql(own, "SELECT cascade_start('ends', NULL)");
    db_await(store, &ended, CASCADE_COMPLETED);
    snprintf(sql, sizeof(sql), "SELECT cascade_signal('%s', 'news', NULL)",
             cascade_uuid_format(&ended, id));
    assert_int_equal(count_rows(own, sql), 0);
    close_connection(own);
}

/* ---- In transactions, statements and triggers ---------------------------- */

static void
they_go_with_the_transaction(test_db *db)
{
    cascade_store *store = db_store(db);
    sqlite3 *own = open_connection(db);
    cascade_list_options all = {.size = sizeof(all)};
    cascade_page *page = NULL;

    run(own, "BEGIN");
    (void)start_by_sql(own, "SELECT cascade_start('ship', NULL)");
    (void)start_by_sql(own, "SELECT cascade_start('ship', NULL, 'k')");
    check_cascades(own, 2);
    assert_ok(cascade_list(store, &all, &page));
    assert_int_equal(cascade_page_count(page), 0);
    cascade_page_free(page);
    run(own, "ROLLBACK");
    check_cascades(own, 0);
    run(own, "BEGIN IMMEDIATE");
    (void)start_by_sql(own, "SELECT cascade_start('ship', NULL, 'k')");
    run(own, "COMMIT");
    check_cascades(own, 1);
    close_connection(own);
}

static void
fill_orders(sqlite3 *own)
{
    run(own, ORDERS);
    run(own, "INSERT INTO orders (node, key) VALUES"
             " ('ship', 'a'), ('ship', 'b'), ('ship', 'c')");
}

/* A statement that writes, and calls them for each row. */
static void
they_go_with_the_statement(test_db *db)
{
    cascade_store *store = db_store(db);
    sqlite3 *own = open_connection(db);

    (void)store;
    fill_orders(own);
    run(own, "UPDATE orders SET started = cascade_start(node, NULL, key)");
    check_cascades(own, 3);
    assert_int_equal(count_rows(own,
                                "SELECT count(*) FROM orders WHERE started IN"
                                "    (SELECT id FROM cascades)"),
                     3);
    run(own, "CREATE TABLE copies AS SELECT cascade_start(node, '{}') AS id"
             " FROM orders");
    check_cascades(own, 6);
    run(own, "BEGIN");
    run(own, "INSERT INTO copies"
             " SELECT cascade_start(node, NULL) FROM orders");
    check_cascades(own, 9);
    run(own, "ROLLBACK");
    check_cascades(own, 6);
    close_connection(own);
}

/* In the middle of a statement: what it did before goes too. */
static void
an_error_in_a_statement_undoes_all_of_it(test_db *db)
{
    cascade_store *store = db_store(db);
    sqlite3 *own = open_connection(db);
    static const char *const statements[] = {
        "UPDATE orders SET started = cascade_start("
        "    CASE key WHEN 'c' THEN 'a b' ELSE node END, NULL)",
        "INSERT INTO orders (node, key, started)"
        " SELECT node, key, cascade_start(node,"
        "    CASE key WHEN 'c' THEN '{' ELSE '{}' END) FROM orders",
    };

    (void)store;
    fill_orders(own);
    for (size_t i = 0; i < 2; i++) {
        fails(own, statements[i], i == 0 ? "node name" : "input");
        check_cascades(own, 0);
        assert_int_equal(count_rows(own, "SELECT count(started) FROM orders"),
                         0);
        run(own, "BEGIN");
        run(own, "UPDATE orders SET node = 'other' WHERE key = 'a'");
        (void)start_by_sql(own, "SELECT cascade_start('ship', NULL)");
        fails(own, statements[i], i == 0 ? "node name" : "input");
        check_cascades(own, 1);
        assert_int_equal(count_rows(own, "SELECT count(started) FROM orders"),
                         0);
        run(own, "ROLLBACK");
        check_cascades(own, 0);
    }
    close_connection(own);
}

/* SQLite keeps no journal of these: what earlier calls did stays, in the
 * transaction if there is one. */
static void
an_error_leaves_earlier_calls_of_a_select(test_db *db)
{
    static const char select[] =
        "SELECT cascade_start(CASE key WHEN 'c' THEN 'a b' ELSE node END, '{}')"
        " FROM orders";
    cascade_store *store = db_store(db);
    sqlite3 *own = open_connection(db);

    (void)store;
    fill_orders(own);
    fails(own, select, "node name");
    check_cascades(own, 2);
    run(own, "BEGIN");
    fails(own, select, "node name");
    fails(own,
          "INSERT INTO orders (node, key)"
          " VALUES (cascade_start('ship', NULL), cascade_start('a b', NULL))",
          "node name");
    check_cascades(own, 5);
    run(own, "ROLLBACK");
    check_cascades(own, 2);
    close_connection(own);
}

/* In its middle, within a statement of one row, for which SQLite keeps no
 * journal: what was written is taken back. */
static void
a_start_that_is_refused_midway_is_taken_back(test_db *db)
{
    cascade_store *store = db_store(db);
    sqlite3 *own = open_connection(db);
    const cascade_uuid v8 = csc_uuid_v8("anonymous", "k", 1);
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[256];

    db->unsound = true;
    (void)db_start(store, "ship");
    run(own, ORDERS);
    snprintf(sql, sizeof(sql),
             "UPDATE node_executions SET node_instance_id = '%s/-/ship#0'",
             cascade_uuid_format(&v8, text));
    run(own, sql);
    fails(own, "SELECT cascade_start('ship', NULL, 'k')", "");
    check_cascades(own, 1);
    fails(own,
          "INSERT INTO orders (started)"
          " VALUES (cascade_start('ship', NULL, 'k'))",
          "");
    check_cascades(own, 1);
    run(own, "BEGIN");
    run(own, "INSERT INTO orders (node) VALUES ('before')");
    fails(own,
          "INSERT INTO orders (started)"
          " VALUES (cascade_start('ship', NULL, 'k'))",
          "");
    check_cascades(own, 1);
    assert_false(sqlite3_get_autocommit(own));
    run(own, "COMMIT");
    check_cascades(own, 1);
    assert_int_equal(count_rows(own, "SELECT count(*) FROM orders"), 1);
    close_connection(own);
}

static void
triggers_start_and_signal(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    sqlite3 *own = open_connection(db);
    char id[CASCADE_UUID_TEXT_SIZE] = "";
    cascade_uuid started;

    assert_ok(
        cascade_engine_register(engine, "ship", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    run(own, ORDERS);
    run(own, "CREATE TRIGGER ship AFTER INSERT ON orders BEGIN"
             "    UPDATE orders SET started = cascade_start(new.node,"
             "        json_object('order', new.id), 'order-' || new.id)"
             "    WHERE id = new.id;"
             " END");
    run(own, "INSERT INTO orders (node) VALUES ('ship')");
    assert_int_equal(
        SQLITE_DONE,
        run_statement(own, "SELECT started FROM orders", id, sizeof(id)));
    assert_ok(cascade_uuid_parse(id, &started));
    db_await(store, &started, CASCADE_COMPLETED);
    run(own, "BEGIN");
    run(own, "INSERT INTO orders (node) VALUES ('ship'), ('ship')");
    run(own, "ROLLBACK");
    assert_int_equal(count_rows(own, COUNT_CASCADES), 1);
    fails(own, "INSERT INTO orders (node) VALUES ('ship'), ('a b')",
          "node name");
    assert_int_equal(count_rows(own, COUNT_CASCADES), 1);
    assert_int_equal(count_rows(own, "SELECT count(*) FROM orders"), 1);
    close_connection(own);
}

/* ---- What is refused ----------------------------------------------------- */

static void
what_is_wrong_is_the_error_of_the_statement(test_db *db)
{
    static const char *const statements[][2] = {
        {"SELECT cascade_start(NULL, NULL)", "node name"},
        {"SELECT cascade_start('', NULL)", "node name"},
        {"SELECT cascade_start('cascade.x', NULL)", "node name"},
        {"SELECT cascade_start('ship', '{')", "input"},
        {"SELECT cascade_start('ship', x'7b7d')", "BLOB"},
        {"SELECT cascade_start('ship' || char(0) || 'x', NULL)", "NUL"},
        {"SELECT cascade_start('ship', NULL, '')", "key"},
        {"SELECT cascade_start('ship', NULL, printf('%.300c', 'k'))", "key"},
        {"SELECT cascade_start('ship', NULL, NULL, NULL, 'a b')", "queue"},
        {"SELECT cascade_start('ship', NULL, NULL, NULL, NULL, 10)",
         "priority"},
        {"SELECT cascade_start('ship', NULL, NULL, NULL, NULL, NULL, 'soon')",
         "delay_ms"},
        {"SELECT cascade_start('ship', NULL, NULL, NULL, NULL, NULL, -1)",
         "delay"},
        {"SELECT cascade_start('ship', json_array(printf('%.1100000c', 'x')))",
         "input"},
        {"SELECT cascade_start('ship')", "wrong number of arguments"},
        {"SELECT cascade_signal(NULL, 'news', NULL)", "cascade_id"},
        {"SELECT cascade_signal('x', 'news', NULL)", ""},
        {"SELECT cascade_signal('00000000-0000-4000-8000-000000000000', 'a b',"
         "    NULL)",
         "signal"},
        {"SELECT cascade_signal('00000000-0000-4000-8000-000000000000',"
         "    'news', 'x')",
         "payload"},
    };
    cascade_store *store = db_store(db);
    sqlite3 *own = open_connection(db);

    (void)store;
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        fails(own, statements[i][0], statements[i][1]);
    check_cascades(own, 0);
    assert_int_equal(count_rows(own, COUNT_MESSAGES), 0);
    close_connection(own);
}

static void
they_are_added_once(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;
    sqlite3 *own = open_connection(db);
    sqlite3 *memory = NULL;

    assert_fails(CASCADE_ERR_MISUSE, cascade_sqlite_functions(own, &options));
    (void)start_by_sql(own, "SELECT cascade_start('ship', NULL)");
    assert_ok(cascade_sqlite_open(own, &options, &store));
    (void)db_start(store, "ship");
    (void)start_by_sql(own, "SELECT cascade_start('ship', NULL)");
    assert_ok(cascade_store_close(store));
    (void)start_by_sql(own, "SELECT cascade_start('ship', NULL)");
    check_cascades(own, 4);
    close_connection(own);

    assert_fails(CASCADE_ERR_INVALID, cascade_sqlite_functions(NULL, &options));
    assert_int_equal(SQLITE_OK, sqlite3_open(":memory:", &memory));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_sqlite_functions(memory, &options));
    fails(memory, "SELECT cascade_start('ship', NULL)", "no such function");
    close_connection(memory);
}

static const stores_test tests[] = {
    {"a_select_starts_a_cascade_that_runs", a_select_starts_a_cascade_that_runs,
     STORES_SQLITE},
    {"options_are_those_of_the_call_in_c", options_are_those_of_the_call_in_c,
     STORES_SQLITE},
    {"signals_tell_whether_they_were_accepted",
     signals_tell_whether_they_were_accepted, STORES_SQLITE},
    {"they_go_with_the_transaction", they_go_with_the_transaction,
     STORES_SQLITE},
    {"they_go_with_the_statement", they_go_with_the_statement, STORES_SQLITE},
    {"an_error_in_a_statement_undoes_all_of_it",
     an_error_in_a_statement_undoes_all_of_it, STORES_SQLITE},
    {"an_error_leaves_earlier_calls_of_a_select",
     an_error_leaves_earlier_calls_of_a_select, STORES_SQLITE},
    {"a_start_that_is_refused_midway_is_taken_back",
     a_start_that_is_refused_midway_is_taken_back, STORES_SQLITE},
    {"triggers_start_and_signal", triggers_start_and_signal, STORES_SQLITE},
    {"what_is_wrong_is_the_error_of_the_statement",
     what_is_wrong_is_the_error_of_the_statement, STORES_SQLITE},
    {"they_are_added_once", they_are_added_once, STORES_SQLITE},
};

int
main(int argc, char **argv)
{
    return stores_run("sqlite_functions", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
