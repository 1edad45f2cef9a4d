/* SPDX-License-Identifier: MIT
 *
 * What a transactional node may do with its connection on SQLite, what it may
 * not, and what is left of it afterwards.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cascade/cascade.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite_nodes.h"
#include "store/store.h"

#define ORDER "INSERT INTO orders VALUES ('tea')"

static void
assert_says(const char *word)
{
    if (strstr(cascade_errmsg(), word) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", word, cascade_errmsg());
}

static nodes_scene
open_scene(void **state)
{
    nodes_scene scene;

    assert_true(nodes_open(&scene, *state));
    return scene;
}

static void
begin(nodes_scene *scene)
{
    assert_int_equal(nodes_begin(scene), CASCADE_OK);
}

static void
expect_sql(const nodes_scene *scene, const char *sql, int code)
{
    int got = nodes_sql(scene, sql);

    if (got != code)
        fail_msg("%s: %d (%s), not %d", sql, got,
                 sqlite3_errmsg(nodes_db(scene)), code);
}

/* A transaction that is committed, so the store is as it should be. */
static void
assert_works(nodes_scene *scene)
{
    int64_t orders = nodes_count_orders(scene->it);
    int64_t completed = nodes_count_completed(scene->it);

    begin(scene);
    expect_sql(scene, ORDER, SQLITE_OK);
    assert_int_equal(nodes_finish(scene), CASCADE_OK);
    assert_int_equal(nodes_count_orders(scene->it), orders + 1);
    assert_int_equal(nodes_count_completed(scene->it), completed + 1);
}

/* ---- The authorizer ------------------------------------------------------ */

static const char *const denied[] = {
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA main.journal_mode = DELETE",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA synchronous = OFF",
    "PRAGMA wal_checkpoint",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA wal_autocheckpoint = 1",
    "PRAGMA wal_autocheckpoint",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA defer_foreign_keys = ON",
    "PRAGMA ignore_check_constraints = ON",
    "PRAGMA writable_schema = ON",
    "PRAGMA query_only = ON",
    "PRAGMA user_version = 7",
    "PRAGMA user_version(7)",
    "PRAGMA busy_timeout = 1",
    "PRAGMA incremental_vacuum",
    "PRAGMA optimize",
    "INSERT INTO cascades (id) VALUES ('x')",
    "INSERT OR REPLACE INTO cascade_engines (engine_id) VALUES ('x')",
    "REPLACE INTO main.Cascade_Lanes VALUES (1, 2, 3)",
    "UPDATE CASCADES SET fn_id = 7",
    "UPDATE node_executions SET status = 'RUNNING'",
    "DELETE FROM context_events",
    "DELETE FROM main.cascade_lanes",
    "DELETE FROM cascade_messages",
    "WITH x AS (SELECT 1) DELETE FROM \"cascade_keys\"",
    "DROP TABLE node_executions",
    "DROP TABLE cascade_schema",
    "ALTER TABLE cascades ADD COLUMN mine TEXT",
    "ALTER TABLE cascades RENAME TO mine",
    "CREATE INDEX mine ON cascades (fn_id)",
    "DROP INDEX cascades_user_id_status_idx",
    "CREATE TRIGGER mine AFTER UPDATE ON cascades BEGIN SELECT 1; END",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "INSERT INTO main.SQLITE_SEQUENCE VALUES ('cascade_messages', 7)",
    "CREATE TABLE cascade_mine (x)",
    "CREATE TABLE cascade_mine AS SELECT 1",
    "CREATE VIEW cascade_mine AS SELECT 1",
    "CREATE TEMP TABLE mine (x)",
    "CREATE TEMP VIEW mine AS SELECT 1",
    "CREATE TEMP TRIGGER mine AFTER INSERT ON orders BEGIN SELECT 1; END",
};

/* S31; the transaction goes on after each. */
static void
what_would_outlive_or_end_it_is_denied(void **state)
{
    nodes_scene scene = open_scene(state);

    begin(&scene);
    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
        expect_sql(&scene, denied[i], SQLITE_AUTH);
    expect_sql(&scene, ORDER, SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(nodes_count_orders(scene.it), 1);
    nodes_close(&scene);
}

static const char *const allowed[] = {
    "SELECT * FROM cascades, cascade_lanes, node_executions",
    "SAVEPOINT mine",
    "ROLLBACK TO mine",
    "RELEASE mine",
    "PRAGMA table_info(orders)",
    "PRAGMA foreign_key_list(node_executions)",
    "PRAGMA foreign_key_check",
    "PRAGMA quick_check",
    "PRAGMA user_version",
    "PRAGMA foreign_keys",
    "PRAGMA journal_mode",
    "SELECT * FROM pragma_table_info('cascades')",
    "CREATE TABLE bills (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT,"
    " cascade_id TEXT REFERENCES cascades (id) ON DELETE CASCADE)",
    "CREATE INDEX bills_what ON bills (what)",
    "CREATE VIEW teas AS SELECT * FROM orders WHERE what = 'tea'",
    "CREATE TRIGGER bill AFTER INSERT ON orders"
    " BEGIN INSERT INTO bills (what) VALUES (new.what); END",
    "INSERT INTO orders VALUES ('milk')",
    "UPDATE orders SET what = 'tea' WHERE what = 'milk'",
    "INSERT INTO bills (what, cascade_id) SELECT 'due', id FROM cascades",
    "ALTER TABLE bills ADD COLUMN due INTEGER",
    "ANALYZE",
    "DROP TRIGGER bill",
    "DROP INDEX bills_what",
    "DROP VIEW teas",
    "DELETE FROM bills WHERE what = 'milk'",
    "CREATE TABLE cascadeur (x)",
    "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT)",
    "INSERT INTO counted DEFAULT VALUES",
    "INSERT INTO counted VALUES (70)",
    "INSERT OR REPLACE INTO counted VALUES (80)",
    "SELECT seq FROM sqlite_sequence",
    "ALTER TABLE counted RENAME TO recounted",
    "DELETE FROM recounted",
    "DROP TABLE recounted",
};

static void
reading_and_tables_of_its_own_are_allowed(void **state)
{
    nodes_scene scene = open_scene(state);

    begin(&scene);
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        expect_sql(&scene, allowed[i], SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(nodes_count_orders(scene.it), 1);
    assert_int_equal(fixture_number(scene.it, "SELECT count(*) FROM bills"), 1);
    nodes_close(&scene);
}

/* The library's own deletes reach the application's rows all the same. */
static void
triggers_and_views_cannot_write_for_it(void **state)
{
    nodes_scene scene = open_scene(state);

    fixture_sql(scene.it, "CREATE TRIGGER sly AFTER INSERT ON orders"
                          " BEGIN UPDATE cascades SET fn_id = 7; END;"
                          "CREATE VIEW seen AS SELECT id FROM cascades;"
                          "CREATE TRIGGER slier INSTEAD OF DELETE ON seen"
                          " BEGIN DELETE FROM cascade_runs; END");
    begin(&scene);
    expect_sql(&scene, ORDER, SQLITE_AUTH);
    expect_sql(&scene, "DELETE FROM seen", SQLITE_AUTH);
    expect_sql(&scene, "SELECT * FROM seen", SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(fixture_number(scene.it, "SELECT count(*) FROM cascades"
                                              " WHERE fn_id = 7"),
                     0);
    nodes_close(&scene);
}

static int
allow_all(void *context, int action, const char *first, const char *second,
          const char *schema, const char *trigger)
{
    (void)context;
    (void)action;
    (void)first;
    (void)second;
    (void)schema;
    (void)trigger;
    return SQLITE_OK;
}

/* S31: the commit hook stands behind it; the next begin puts it back. */
static void
without_the_authorizer_commit_is_refused(void **state)
{
    nodes_scene scene = open_scene(state);

    begin(&scene);
    expect_sql(&scene, ORDER, SQLITE_OK);
    sqlite3_set_authorizer(nodes_db(&scene), allow_all, NULL);
    expect_sql(&scene, "COMMIT", SQLITE_CONSTRAINT);
    expect_sql(&scene, ORDER, SQLITE_CONSTRAINT);
    assert_int_equal(nodes_finish(&scene), CASCADE_ERR_MISUSE);
    assert_says("COMMIT");
    assert_int_equal(nodes_count_orders(scene.it), 0);
    assert_int_equal(nodes_count_completed(scene.it), 0);
    begin(&scene);
    expect_sql(&scene, "COMMIT", SQLITE_AUTH);
    nodes_abandon(&scene);
    assert_works(&scene);
    nodes_close(&scene);
}

static int
say_nothing(void *context)
{
    (void)context;
    return 0;
}

/* S31: not even then is anything of ours written that is not in the
 * transaction. */
static void
without_any_hook_it_is_still_told(void **state)
{
    nodes_scene scene = open_scene(state);

    begin(&scene);
    sqlite3_set_authorizer(nodes_db(&scene), NULL, NULL);
    sqlite3_commit_hook(nodes_db(&scene), say_nothing, NULL);
    expect_sql(&scene, ORDER, SQLITE_OK);
    expect_sql(&scene, "COMMIT", SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_ERR_MISUSE);
    assert_says("may be committed");
    assert_int_equal(nodes_count_orders(scene.it), 1);
    assert_int_equal(nodes_count_completed(scene.it), 0);
    assert_works(&scene);
    nodes_close(&scene);
}

/* ---- Rolled back by SQLite ----------------------------------------------- */

/* S31: the attempt has failed; what it runs afterwards does not slip through
 * as commits of their own. */
static void
an_error_that_rolled_back_fails_the_attempt(void **state)
{
    static const char *const ways[] = {
        "INSERT OR ROLLBACK INTO one VALUES (1)",
        "UPDATE one SET x = 2",
        "INSERT INTO strict_one VALUES (1)",
    };
    nodes_scene scene = open_scene(state);

    fixture_sql(scene.it, "CREATE TABLE one (x INTEGER PRIMARY KEY);"
                          "INSERT INTO one VALUES (1);"
                          "CREATE TRIGGER no BEFORE UPDATE ON one"
                          " BEGIN SELECT RAISE(ROLLBACK, 'no'); END;"
                          "CREATE TABLE strict_one"
                          " (x INTEGER PRIMARY KEY ON CONFLICT ROLLBACK);"
                          "INSERT INTO strict_one VALUES (1)");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        begin(&scene);
        expect_sql(&scene, ORDER, SQLITE_OK);
        expect_sql(&scene, ways[i], SQLITE_CONSTRAINT);
        assert_int_equal(sqlite3_get_autocommit(nodes_db(&scene)), 1);
        expect_sql(&scene, ORDER, SQLITE_CONSTRAINT);
        expect_sql(&scene, "BEGIN", SQLITE_AUTH);
        assert_int_equal(nodes_finish(&scene), CASCADE_ERR_FAILED);
        assert_says("rolled");
        assert_int_equal(nodes_count_orders(scene.it), 0);
        assert_int_equal(nodes_count_completed(scene.it), 0);
    }
    assert_works(&scene);
    nodes_close(&scene);
}

/* Nor does a call of the library, by cascade_node_store(). */
static void
calls_within_what_was_rolled_back_fail(void **state)
{
    const cascade_store_options options = {.size = sizeof(options)};
    nodes_scene scene = open_scene(state);
    cascade_store *within = NULL;
    cascade_started started;
    cascade_page *page = NULL;

    fixture_sql(scene.it, "CREATE TABLE one (x INTEGER PRIMARY KEY);"
                          "INSERT INTO one VALUES (1)");
    begin(&scene);
    assert_int_equal(csc_store_open_guest(csc_store_sqlite_guest(),
                                          nodes_db(&scene), &options,
                                          &scene.native, &within),
                     CASCADE_OK);
    expect_sql(&scene, "INSERT OR ROLLBACK INTO one VALUES (1)",
               SQLITE_CONSTRAINT);
    assert_int_equal(cascade_start(within, "ship", NULL, NULL, &started),
                     CASCADE_ERR_FAILED);
    assert_says("return from the node");
    assert_int_equal(cascade_list(within, NULL, &page), CASCADE_ERR_FAILED);
    csc_store_close_native(within);
    assert_int_equal(nodes_finish(&scene), CASCADE_ERR_FAILED);
    assert_works(&scene);
    nodes_close(&scene);
}

/* S31: past the limit, it is the limit that is told. */
static void
a_write_that_was_interrupted_is_a_timeout(void **state)
{
    nodes_scene scene = open_scene(state);
    int64_t limit_ms = nodes_begin_with(&scene, ORDER);

    expect_sql(&scene,
               "INSERT INTO orders WITH RECURSIVE n (i) AS (SELECT 1"
               " UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
               " WHERE i % 1000000 = 0",
               SQLITE_INTERRUPT);
    assert_int_equal(nodes_finish(&scene), CASCADE_ERR_TIMEOUT);
    assert_says(rows_text(&scene.it->rows, " %lld ms", (long long)limit_ms));
    assert_int_equal(nodes_count_orders(scene.it), 0);
    assert_works(&scene);
    nodes_close(&scene);
}

/* The fake clock stands still; the library's own statements in finish have the
 * store's deadline, not what is left of the limit. */
static void
a_limit_too_large_to_add_is_none(void **state)
{
    nodes_scene scene = open_scene(state);
    const csc_sqlite *sqlite = scene.store->self;

    assert_int_equal(scene.store->driver->node_txn->begin(
                         scene.store->self, INT64_MAX, &scene.native),
                     CASCADE_OK);
    assert_true(sqlite->native.conn.deadline_ns == INT64_MAX);
    expect_sql(&scene, ORDER, SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_true(sqlite->native.conn.deadline_ns < INT64_MAX);
    nodes_close(&scene);
}

/* ---- What it leaves ------------------------------------------------------ */

/* S30: statements under way hold neither the transaction nor a view of the
 * past; whoever has them may still finalize them. */
static void
statements_that_are_left_hold_nothing(void **state)
{
    nodes_scene scene = open_scene(state);
    sqlite3_stmt *reader = NULL;
    sqlite3_stmt *writer = NULL;
    sqlite3_stmt *idle = NULL;
    sqlite3 *db;

    begin(&scene);
    db = nodes_db(&scene);
    expect_sql(&scene, "INSERT INTO orders VALUES ('tea'), ('milk')",
               SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT * FROM orders", -1, &reader, NULL), 0);
    assert_int_equal(sqlite3_step(reader), SQLITE_ROW);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "INSERT INTO orders VALUES ('rum'),"
                                        " ('ale') RETURNING what",
                                        -1, &writer, NULL),
                     0);
    assert_int_equal(sqlite3_step(writer), SQLITE_ROW);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1", -1, &idle, NULL), 0);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
    assert_int_equal(nodes_count_orders(scene.it), 4);
    assert_int_equal(fixture_commit(scene.store, scene.engine, 2,
                                    rows_write(&scene.it->rows, scene.id, 1)),
                     CASCADE_OK);
    assert_works(&scene);
    sqlite3_finalize(reader);
    sqlite3_finalize(writer);
    assert_works(&scene);
    nodes_close(&scene);
    sqlite3_finalize(idle); /* the connection goes with it */
}

/* A blob is a statement too. */
static void
a_blob_that_is_left_holds_nothing(void **state)
{
    nodes_scene scene = open_scene(state);
    sqlite3_blob *blob = NULL;

    for (int i = 0; i < 2; i++) {
        begin(&scene);
        expect_sql(&scene, ORDER, SQLITE_OK);
        assert_int_equal(
            sqlite3_blob_open(nodes_db(&scene), "main", "orders", "what",
                              sqlite3_last_insert_rowid(nodes_db(&scene)), 0,
                              &blob),
            SQLITE_OK);
        if (i == 0)
            nodes_abandon(&scene);
        else
            assert_int_equal(nodes_finish(&scene), CASCADE_OK);
        assert_int_equal(sqlite3_txn_state(nodes_db(&scene), NULL),
                         SQLITE_TXN_NONE);
        sqlite3_blob_close(blob);
    }
    assert_works(&scene);
    nodes_close(&scene);
}

/* Full-text search keeps statements of its own on the connection. */
static void
statements_of_virtual_tables_are_left_alone(void **state)
{
    nodes_scene scene = open_scene(state);
    sqlite3_stmt *left = NULL;

    if (sqlite3_compileoption_used("ENABLE_FTS5") == 0) {
        nodes_close(&scene);
        return;
    }
    begin(&scene);
    expect_sql(&scene, "CREATE VIRTUAL TABLE notes USING fts5(text)",
               SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    for (int i = 0; i < 6; i++) {
        begin(&scene);
        expect_sql(&scene, "INSERT INTO notes VALUES ('so it goes')",
                   SQLITE_OK);
        expect_sql(&scene, "SELECT * FROM notes WHERE notes MATCH 'goes'",
                   SQLITE_OK);
        if (i == 3)
            assert_int_equal(
                sqlite3_prepare_v2(nodes_db(&scene),
                                   "SELECT * FROM notes WHERE notes MATCH 'so'",
                                   -1, &left, NULL),
                SQLITE_OK);
        if (i == 3)
            assert_int_equal(sqlite3_step(left), SQLITE_ROW);
        if (i % 2 == 0)
            nodes_abandon(&scene);
        else
            assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    }
    assert_int_equal(fixture_number(scene.it, "SELECT count(*) FROM notes"), 3);
    nodes_close(&scene);
    sqlite3_finalize(left);
}

static void
see_update(void *context, int action, const char *schema, const char *table,
           sqlite3_int64 rowid)
{
    (void)action;
    (void)schema;
    (void)table;
    (void)rowid;
    (*(int *)context)++;
}

/* S30: what it has installed is gone, what it has taken away is back. */
static void
callbacks_and_options_are_as_they_were(void **state)
{
    nodes_scene scene = open_scene(state);
    int updates = 0;
    int enabled = -1;
    sqlite3 *db;

    begin(&scene);
    db = nodes_db(&scene);
    sqlite3_update_hook(db, see_update, &updates);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_busy_timeout(db, 0);
    sqlite3_wal_autocheckpoint(db, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    expect_sql(&scene, ORDER, SQLITE_OK);
    assert_int_equal(updates, 1);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(updates, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, -1, &enabled);
    assert_int_equal(enabled, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &enabled);
    assert_int_equal(enabled, 1);
    nodes_begin_within(&scene, 50);
    expect_sql(&scene,
               "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL"
               " SELECT i + 1 FROM n) SELECT count(*) FROM n",
               SQLITE_INTERRUPT);
    nodes_abandon(&scene);
    assert_works(&scene);
    nodes_close(&scene);
}

/* A handle that is kept is of no use. */
static void
a_handle_that_is_kept_writes_nothing(void **state)
{
    nodes_scene scene = open_scene(state);

    begin(&scene);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_not_equal(nodes_sql(&scene, ORDER), SQLITE_OK);
    assert_int_equal(nodes_count_orders(scene.it), 0);
    assert_works(&scene);
    nodes_close(&scene);
}

static void
assert_guarded(const nodes_scene *scene)
{
    static const char *const ways[] = {
        "BEGIN",
        "BEGIN IMMEDIATE",
        "SAVEPOINT mine",
        "ATTACH ':memory:' AS other",
        "PRAGMA synchronous = OFF",
        "CREATE TEMP TABLE cascades (x)",
        "DELETE FROM cascade_lanes",
    };

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        expect_sql(scene, ways[i], SQLITE_AUTH);
}

/* S31: between transactions too, however the last one ended or could not
 * begin, and whatever was taken away in it. */
static void
a_handle_that_is_kept_is_guarded(void **state)
{
    sqlite_fixture *it = *state;
    nodes_scene scene = open_scene(state);
    nodes_scene other = scene;

    other.store = fixture_store(it);
    begin(&scene);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_guarded(&scene);
    begin(&scene);
    nodes_abandon(&scene);
    assert_guarded(&scene);
    begin(&scene);
    sqlite3_set_authorizer(nodes_db(&scene), NULL, NULL);
    nodes_abandon(&scene);
    assert_guarded(&scene);
    begin(&other);
    fixture_set_deadline(scene.store, 50);
    assert_int_equal(nodes_begin(&scene), CASCADE_ERR_UNAVAILABLE);
    fixture_set_deadline(scene.store, FIXTURE_WAIT_MS);
    assert_guarded(&scene);
    nodes_abandon(&other);
    assert_works(&scene);
    assert_int_equal(cascade_store_close(other.store), CASCADE_OK);
    nodes_close(&scene);
}

/* What gets past the guard between transactions does not last. */
static void
settings_between_transactions_are_put_back(void **state)
{
    nodes_scene scene = open_scene(state);
    sqlite3_stmt *level = NULL;
    sqlite3 *db;

    begin(&scene);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    db = nodes_db(&scene);
    sqlite3_set_authorizer(db, NULL, NULL);
    expect_sql(&scene, "PRAGMA synchronous = OFF", SQLITE_OK);
    expect_sql(&scene, "BEGIN IMMEDIATE", SQLITE_OK);
    expect_sql(&scene, "PRAGMA query_only = ON", SQLITE_OK);
    sqlite3_wal_autocheckpoint(db, 1);
    begin(&scene);
    assert_int_equal(
        sqlite3_prepare_v2(db, "PRAGMA synchronous", -1, &level, NULL), 0);
    assert_int_equal(sqlite3_step(level), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(level, 0), 2);
    sqlite3_finalize(level);
    expect_sql(&scene, ORDER, SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_works(&scene);
    nodes_close(&scene);
}

/* It would hold on to a state of the past. */
static void
a_statement_that_is_stepped_later_hinders_nobody(void **state)
{
    nodes_scene scene = open_scene(state);
    sqlite3_stmt *kept = NULL;

    begin(&scene);
    expect_sql(&scene, ORDER, SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(nodes_db(&scene),
                                        "SELECT * FROM orders", -1, &kept,
                                        NULL),
                     SQLITE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(sqlite3_step(kept), SQLITE_ROW);
    fixture_sql(scene.it, "INSERT INTO orders VALUES ('ale')");
    assert_works(&scene);
    assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    nodes_close(&scene);
}

/* ---- The lease ----------------------------------------------------------- */

static cascade_err
note_lease(void *context, const cascade_incarnation *row)
{
    *(int64_t *)context = row->lease_ms;
    return CASCADE_OK;
}

/* As commit does on this store: whoever holds the only writer's turn for long
 * keeps the renewals of its own engine waiting. Settling proves nothing. */
static void
finish_extends_the_lease(void **state)
{
    nodes_scene scene = open_scene(state);
    const cascade_store_driver *driver = scene.store->driver;
    void *self = scene.store->self;
    int64_t left_ms = 0;
    bool committed = false;

    begin(&scene);
    fake_clock_advance(&scene.it->clock, 100000);
    assert_int_equal(driver->engines(self, note_lease, &left_ms, NULL),
                     CASCADE_OK);
    assert_int_equal(left_ms, 500000);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(driver->engines(self, note_lease, &left_ms, NULL),
                     CASCADE_OK);
    assert_int_equal(left_ms, 600000);
    fake_clock_advance(&scene.it->clock, 100000);
    assert_int_equal(nodes_settle(&scene, &committed), CASCADE_OK);
    assert_int_equal(driver->engines(self, note_lease, &left_ms, NULL),
                     CASCADE_OK);
    assert_int_equal(left_ms, 500000);
    nodes_close(&scene);
}

/* ---- The library inside -------------------------------------------------- */

/* What cascade_node_store() does between enter and leave. */
static void
the_library_may_write_its_tables_meanwhile(void **state)
{
    static const char touch[] = "UPDATE cascades SET fn_id = 0";
    nodes_scene scene = open_scene(state);
    csc_sqlite_native *native;

    begin(&scene);
    native = scene.native.own;
    expect_sql(&scene, touch, SQLITE_AUTH);
    csc_sqlite_native_enter(native);
    expect_sql(&scene, touch, SQLITE_OK);
    csc_sqlite_native_enter(native);
    csc_sqlite_native_leave(native);
    expect_sql(&scene, touch, SQLITE_OK);
    expect_sql(&scene, "INSERT INTO cascades (id) VALUES (NULL)",
               SQLITE_CONSTRAINT_NOTNULL);
    csc_sqlite_native_leave(native);
    expect_sql(&scene, touch, SQLITE_AUTH);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    nodes_close(&scene);
}

/* ---- Those who wait ------------------------------------------------------ */

static bool
was_woken(cascade_store *store, cascade_waited *seen)
{
    assert_int_equal(store->driver->wait(store->self, -1, 0, seen), CASCADE_OK);
    return seen->woken;
}

/* S17: as after a commit, where others may claim what came of it. */
static void
finish_and_settle_tell_those_who_wait(void **state)
{
    nodes_scene scene = open_scene(state);
    cascade_store *other = fixture_store(scene.it);
    cascade_change *start =
        rows_start(&scene.it->rows, rows_id(&scene.it->rows));
    cascade_batch batch = {.engine_id = scene.engine,
                           .lane = NODES_LANE,
                           .changes = start,
                           .change_count = 1};
    cascade_waited seen = {0};
    bool flag = true;

    (void)was_woken(other, &seen);
    begin(&scene);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_false(was_woken(other, &seen));
    batch.number = scene.number;
    begin(&scene);
    assert_int_equal(scene.store->driver->node_txn->finish(
                         scene.store->self, &scene.native, &batch, &flag),
                     CASCADE_OK);
    assert_true(was_woken(other, &seen));
    assert_false(was_woken(other, &seen));
    assert_int_equal(nodes_settle(&scene, &flag), CASCADE_OK);
    assert_true(flag);
    assert_true(was_woken(other, &seen));
    scene.number++;
    assert_int_equal(nodes_settle(&scene, &flag), CASCADE_OK);
    assert_false(flag);
    assert_false(was_woken(other, &seen));
    assert_int_equal(cascade_store_close(other), CASCADE_OK);
    nodes_close(&scene);
}

/* ---- Others -------------------------------------------------------------- */

/* S15: those of this handle wait for their turn, those of another for SQLite's
 * lock, both up to the deadline. */
static void
others_wait_up_to_the_deadline(void **state)
{
    sqlite_fixture *it = *state;
    nodes_scene scene = open_scene(state);
    nodes_scene other = scene;

    other.store = fixture_store(it);
    fixture_set_deadline(scene.store, 100);
    nodes_begin_at_last(&scene);
    fixture_set_deadline(other.store, 100);
    assert_int_equal(nodes_begin(&other), CASCADE_ERR_UNAVAILABLE);
    fixture_set_deadline(other.store, FIXTURE_WAIT_MS);
    assert_int_equal(fixture_commit(scene.store, scene.engine, 2,
                                    rows_write(&it->rows, scene.id, 0)),
                     CASCADE_ERR_NOT_DONE);
    assert_says("other calls of this process");
    /* It is over by those two waits, and is not the limit. */
    expect_sql(&scene, ORDER, SQLITE_OK);
    fixture_set_deadline(scene.store, FIXTURE_WAIT_MS);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    nodes_close(&scene);
    scene.store = other.store;
    assert_works(&scene);
    nodes_close(&scene);
}

/* Those who only ask now and then whether the lock is free find it so. */
static void
a_gap_is_left_behind_a_long_one(void **state)
{
    nodes_scene scene = open_scene(state);
    csc_sqlite *sqlite = scene.store->self;
    int64_t ends_ns;
    int64_t ended_ns;

    begin(&scene);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    begin(&scene);
    ends_ns = csc_sqlite_conn_now_ns();
    sqlite->native.began_ns = ends_ns - 400 * CSC_MS_NS;
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_int_equal(fixture_commit(scene.store, scene.engine, 2,
                                    rows_write(&scene.it->rows, scene.id, 0)),
                     CASCADE_OK);
    begin(&scene);
    assert_true(sqlite->native.began_ns >= ends_ns + 40 * CSC_MS_NS);
    sqlite->native.began_ns -= 100000 * CSC_MS_NS;
    ends_ns = csc_sqlite_conn_now_ns();
    nodes_abandon(&scene);
    ended_ns = csc_sqlite_conn_now_ns();
    assert_true(sqlite->rest_until_ns <= ended_ns + 120 * CSC_MS_NS);
    begin(&scene);
    assert_true(sqlite->native.began_ns >= ends_ns + 120 * CSC_MS_NS);
    /* However long its end takes, it has held less than nothing. */
    sqlite->native.began_ns = csc_sqlite_conn_now_ns() + 3600000 * CSC_MS_NS;
    nodes_abandon(&scene);
    assert_true(sqlite->rest_until_ns == 0);
    assert_works(&scene);
    nodes_close(&scene);
}

typedef struct waiter {
    nodes_scene *scene;
    cascade_err err;
    _Atomic bool done;
} waiter;

static void *
commit_meanwhile(void *context)
{
    waiter *own = context;

    own->err =
        fixture_commit(own->scene->store, own->scene->engine, 2,
                       rows_write(&own->scene->it->rows, own->scene->id, 0));
    own->done = true;
    return NULL;
}

static bool
is_waited_for(csc_sqlite *sqlite)
{
    bool waiting;

    pthread_mutex_lock(&sqlite->mutex);
    waiting = sqlite->writer_waiting > 0;
    pthread_mutex_unlock(&sqlite->mutex);
    return waiting;
}

/* Also where there is no gap. */
static void
the_turn_goes_to_those_who_wait(void **state)
{
    nodes_scene scene = open_scene(state);
    csc_sqlite *sqlite = scene.store->self;
    waiter own = {.scene = &scene};
    pthread_t thread;

    begin(&scene);
    assert_int_equal(pthread_create(&thread, NULL, commit_meanwhile, &own), 0);
    while (!is_waited_for(sqlite) && !own.done)
        poll(NULL, 0, 1);
    sqlite->native.began_ns = csc_sqlite_conn_now_ns();
    nodes_abandon(&scene);
    begin(&scene);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(own.err, CASCADE_OK);
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_works(&scene);
    nodes_close(&scene);
}

/* Who waits in vain is not handed it. */
static void
a_turn_that_was_not_awaited_is_free(void **state)
{
    sqlite_fixture *it = *state;
    nodes_scene scene = open_scene(state);

    begin(&scene);
    fixture_set_deadline(scene.store, 50);
    assert_int_equal(fixture_commit(scene.store, scene.engine, 2,
                                    rows_write(&it->rows, scene.id, 0)),
                     CASCADE_ERR_NOT_DONE);
    fixture_set_deadline(scene.store, FIXTURE_WAIT_MS);
    nodes_abandon(&scene);
    assert_false(((csc_sqlite *)scene.store->self)->writer.busy);
    assert_works(&scene);
    nodes_close(&scene);
}

/* It holds the sidecar, so nobody runs a checkpoint under it; at its end it may
 * be the one. */
static void
checkpoints_come_behind_it(void **state)
{
    nodes_scene scene = open_scene(state);
    csc_sqlite *sqlite = scene.store->self;
    csc_sqlite_lock other = {.fd = -1};
    int64_t soon_ns;

    assert_int_equal(
        csc_sqlite_lock_open(&other, scene.it->path, false, INT64_MAX),
        CASCADE_OK);
    sqlite->checkpoint_pages = 1;
    begin(&scene);
    soon_ns = csc_sqlite_conn_now_ns() + 20 * CSC_MS_NS;
    assert_false(csc_sqlite_lock_exclude(&other, soon_ns));
    expect_sql(&scene, ORDER, SQLITE_OK);
    sqlite->checkpoint_at_pages = 1;
    assert_int_equal(nodes_finish(&scene), CASCADE_OK);
    assert_true(sqlite->checkpoint_at_pages > 1);
    soon_ns = csc_sqlite_conn_now_ns() + FIXTURE_WAIT_MS * CSC_MS_NS;
    assert_true(csc_sqlite_lock_exclude(&other, soon_ns));
    csc_sqlite_lock_close(&other);
    assert_works(&scene);
    nodes_close(&scene);
}

static void
a_database_that_is_only_read_has_none(void **state)
{
    nodes_scene scene = open_scene(state);
    csc_sqlite *sqlite = scene.store->self;
    bool committed = true;

    sqlite->read_only = true;
    assert_int_equal(nodes_begin(&scene), CASCADE_ERR_READ_ONLY);
    assert_int_equal(nodes_settle(&scene, &committed), CASCADE_ERR_READ_ONLY);
    sqlite->read_only = false;
    assert_works(&scene);
    nodes_close(&scene);
}

/* The process ends inside the function. */
static int
die_inside(sqlite_fixture *it)
{
    nodes_scene scene;

    if (!nodes_open(&scene, it) || nodes_begin(&scene) != CASCADE_OK)
        return 1;
    return nodes_sql(&scene, ORDER) == SQLITE_OK ? 0 : 2;
}

static void
a_process_that_dies_leaves_nothing(void **state)
{
    sqlite_fixture *it = *state;
    nodes_scene scene;

    fixture_fork(it, die_inside);
    scene = open_scene(state);
    assert_int_equal(nodes_count_orders(it), 0);
    assert_works(&scene);
    nodes_close(&scene);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(what_would_outlive_or_end_it_is_denied),
        ONE(reading_and_tables_of_its_own_are_allowed),
        ONE(triggers_and_views_cannot_write_for_it),
        ONE(without_the_authorizer_commit_is_refused),
        ONE(without_any_hook_it_is_still_told),
        ONE(an_error_that_rolled_back_fails_the_attempt),
        ONE(calls_within_what_was_rolled_back_fail),
        ONE(a_write_that_was_interrupted_is_a_timeout),
        ONE(a_limit_too_large_to_add_is_none),
        ONE(statements_that_are_left_hold_nothing),
        ONE(a_blob_that_is_left_holds_nothing),
        ONE(statements_of_virtual_tables_are_left_alone),
        ONE(callbacks_and_options_are_as_they_were),
        ONE(a_handle_that_is_kept_writes_nothing),
        ONE(a_handle_that_is_kept_is_guarded),
        ONE(settings_between_transactions_are_put_back),
        ONE(a_statement_that_is_stepped_later_hinders_nobody),
        ONE(finish_extends_the_lease),
        ONE(the_library_may_write_its_tables_meanwhile),
        ONE(finish_and_settle_tell_those_who_wait),
        ONE(others_wait_up_to_the_deadline),
        ONE(a_gap_is_left_behind_a_long_one),
        ONE(the_turn_goes_to_those_who_wait),
        ONE(a_turn_that_was_not_awaited_is_free),
        ONE(checkpoints_come_behind_it),
        ONE(a_database_that_is_only_read_has_none),
        ONE(a_process_that_dies_leaves_nothing),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite native", tests, NULL, NULL);
}
