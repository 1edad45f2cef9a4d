/* SPDX-License-Identifier: MIT
 *
 * Stores on a connection of the application's, where they are particular to
 * SQLite: what is set on the connection and what is left alone, what holds the
 * sidecar and when others are told, what is in the way of a write, and settings
 * of an application that must make no difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cascade/sqlite.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite_fixture.h"

#define COUNT_CASCADES "SELECT count(*) FROM main.cascades"
#define SHORT_MS 50
#define FEW_PAGES 20

/* A connection of the application's, with a store. */
typedef struct guest {
    sqlite3 *db;
    cascade_store *store;
} guest;

static sqlite3 *
connect(const sqlite_fixture *it)
{
    sqlite3 *db = NULL;

    assert_int_equal(SQLITE_OK, sqlite3_open(it->path, &db));
    return db;
}

static cascade_err
open_on(const sqlite_fixture *it, sqlite3 *db, cascade_migrate mode,
        cascade_store **store)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .migrate = mode,
                                           .deadline_ms = it->deadline_ms};

    return cascade_sqlite_open(db, &options, store);
}

static guest
open_guest(const sqlite_fixture *it)
{
    guest own = {.db = connect(it)};

    if (open_on(it, own.db, CASCADE_MIGRATE_AUTO, &own.store) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
    return own;
}

static void
close_guest(guest *own)
{
    assert_int_equal(CASCADE_OK, cascade_store_close(own->store));
    assert_int_equal(SQLITE_OK, sqlite3_close(own->db));
}

static void
run(sqlite3 *db, const char *sql)
{
    char *text = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
}

static int
note_number(void *context, int count, char **values, char **names)
{
    (void)count;
    (void)names;
    *(int64_t *)context = values[0] != NULL ? atoll(values[0]) : -1;
    return 0;
}

static int64_t
get_number(sqlite3 *db, const char *sql)
{
    int64_t number = -1;

    if (sqlite3_exec(db, sql, note_number, &number, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return number;
}

static cascade_err
try_start(const guest *own, cascade_uuid *id)
{
    cascade_started started = {0};
    cascade_err err = cascade_start(own->store, "ship", NULL, NULL, &started);

    if (id != NULL)
        *id = started.id;
    return err;
}

static void
start(const guest *own)
{
    if (try_start(own, NULL) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
}

static void
check_fails(cascade_err wanted, cascade_err got, const char *part, int line)
{
    if (got != wanted || strstr(cascade_errmsg(), part) == NULL)
        fail_msg("line %d: %s, \"%s\"; wanted %s, \"%s\"", line,
                 cascade_err_text(got), cascade_errmsg(),
                 cascade_err_text(wanted), part);
}

#define fails(wanted, call, part) \
    check_fails((wanted), (call), (part), __LINE__)

/* ---- What is set --------------------------------------------------------- */

static void
opening_sets_what_must_hold_and_no_more(void **state)
{
    sqlite_fixture *it = *state;
    sqlite3 *db = connect(it);
    guest own = {.db = db};
    int on = -1;

    run(db, "PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 1234;"
            "PRAGMA cache_size = -777; PRAGMA temp_store = FILE;"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    assert_int_equal(CASCADE_OK,
                     open_on(it, db, CASCADE_MIGRATE_AUTO, &own.store));
    assert_int_equal(0, get_number(db, "PRAGMA wal_autocheckpoint"));
    assert_int_equal(1, get_number(db, "PRAGMA foreign_keys"));
    assert_int_equal(1, get_number(db, "PRAGMA synchronous"));
    assert_int_equal(1234, get_number(db, "PRAGMA busy_timeout"));
    assert_int_equal(-777, get_number(db, "PRAGMA cache_size"));
    assert_int_equal(1, get_number(db, "PRAGMA temp_store"));
    assert_int_equal(0, get_number(db, "PRAGMA query_only"));
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1, &on);
    assert_int_equal(on, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, -1, &on);
    assert_int_equal(on, 0);
    assert_int_equal(1, get_number(db, "SELECT count(*)"
                                       " FROM pragma_journal_mode"
                                       " WHERE journal_mode = 'wal'"));
    start(&own);
    run(db, "INSERT INTO orders VALUES (1)");
    assert_int_equal(
        SQLITE_CONSTRAINT,
        sqlite3_exec(db, "INSERT INTO orders VALUES (1)", NULL, NULL, NULL));
    close_guest(&own);
}

typedef struct hooks {
    int authorized;
    int progressed;
    int updated;
    int committed;
    int rolled_back;
    int deny; /* an action, or 0 */
} hooks;

static int
on_authorize(void *context, int action, const char *a, const char *b,
             const char *c, const char *d)
{
    hooks *seen = context;

    (void)a;
    (void)b;
    (void)c;
    (void)d;
    seen->authorized++;
    return action == seen->deny ? SQLITE_DENY : SQLITE_OK;
}

static int
on_progress(void *context)
{
    ((hooks *)context)->progressed++;
    return 0;
}

static void
on_update(void *context, int action, const char *schema, const char *table,
          sqlite3_int64 row)
{
    (void)action;
    (void)schema;
    (void)table;
    (void)row;
    ((hooks *)context)->updated++;
}

static int
on_commit(void *context)
{
    ((hooks *)context)->committed++;
    return 0;
}

static void
on_rollback(void *context)
{
    ((hooks *)context)->rolled_back++;
}

static void
install(sqlite3 *db, hooks *seen)
{
    sqlite3_set_authorizer(db, on_authorize, seen);
    sqlite3_progress_handler(db, 1, on_progress, seen);
    sqlite3_update_hook(db, on_update, seen);
    sqlite3_commit_hook(db, on_commit, seen);
    sqlite3_rollback_hook(db, on_rollback, seen);
}

static void
hooks_of_the_application_stay(void **state)
{
    hooks seen = {0};
    sqlite3 *db = connect(*state);
    guest own = {.db = db};

    install(db, &seen);
    assert_int_equal(CASCADE_OK,
                     open_on(*state, db, CASCADE_MIGRATE_AUTO, &own.store));
    start(&own);
    run(db, "BEGIN");
    start(&own);
    run(db, "ROLLBACK");
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    memset(&seen, 0, sizeof(seen));
    run(db, "CREATE TABLE orders (id INTEGER PRIMARY KEY);"
            "INSERT INTO orders VALUES (1);"
            "BEGIN; INSERT INTO orders VALUES (2); ROLLBACK");
    assert_true(seen.authorized > 0 && seen.progressed > 0);
    assert_int_equal(seen.updated, 2);
    assert_int_equal(seen.committed, 2);
    assert_int_equal(seen.rolled_back, 1);
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* What the application's authorizer denies is an error, and its transaction
 * goes on. */
static void
what_is_denied_is_an_error(void **state)
{
    hooks seen = {0};
    guest own = open_guest(*state);

    install(own.db, &seen);
    run(own.db, "CREATE TABLE orders (id INTEGER PRIMARY KEY); BEGIN;"
                "INSERT INTO orders VALUES (1)");
    seen.deny = SQLITE_INSERT;
    fails(CASCADE_ERR_READ_ONLY, try_start(&own, NULL), "not authorised");
    seen.deny = SQLITE_SAVEPOINT;
    install(own.db, &seen); /* compiled statements are asked for anew */
    fails(CASCADE_ERR_READ_ONLY, try_start(&own, NULL), "not authorised");
    seen.deny = 0;
    install(own.db, &seen);
    start(&own);
    run(own.db, "COMMIT");
    assert_int_equal(1, get_number(own.db, "SELECT count(*) FROM orders"));
    assert_int_equal(1, get_number(own.db, COUNT_CASCADES));
    run(own.db, "PRAGMA query_only = ON");
    fails(CASCADE_ERR_READ_ONLY, try_start(&own, NULL), "cannot be written");
    run(own.db, "PRAGMA query_only = OFF");
    start(&own);
    sqlite3_set_authorizer(own.db, NULL, NULL);
    close_guest(&own);
}

/* ---- Opening and closing ------------------------------------------------- */

static void
closing_finalizes_our_statements_alone(void **state)
{
    guest own = open_guest(*state);
    sqlite3_stmt *theirs = NULL;

    start(&own);
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(own.db, COUNT_CASCADES, -1,
                                                   &theirs, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(theirs));
    start(&own);
    assert_int_equal(SQLITE_BUSY, sqlite3_close(own.db));
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    assert_ptr_equal(theirs, sqlite3_next_stmt(own.db, NULL));
    assert_null(sqlite3_next_stmt(own.db, theirs));
    assert_int_equal(SQLITE_DONE, sqlite3_step(theirs));
    assert_int_equal(SQLITE_OK, sqlite3_finalize(theirs));
    assert_int_equal(SQLITE_OK, sqlite3_close(own.db));
}

static void
connections_that_will_not_do_are_refused(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = NULL;
    sqlite3 *db = NULL;
    guest own;

    fails(CASCADE_ERR_INVALID, open_on(it, NULL, 0, &store), "NULL");
    assert_int_equal(SQLITE_OK, sqlite3_open(":memory:", &db));
    fails(CASCADE_ERR_INVALID, open_on(it, db, 0, &store), "in memory");
    sqlite3_close(db);
    assert_int_equal(SQLITE_OK, sqlite3_open("", &db));
    fails(CASCADE_ERR_INVALID, open_on(it, db, 0, &store), "in memory");
    sqlite3_close(db);
    db = connect(it);
    run(db, "CREATE TABLE orders (id INTEGER); BEGIN");
    fails(CASCADE_ERR_MISUSE, open_on(it, db, 0, &store), "transaction");
    sqlite3_close(db);
    assert_int_equal(
        SQLITE_OK, sqlite3_open_v2(it->path, &db, SQLITE_OPEN_READONLY, NULL));
    fails(CASCADE_ERR_INVALID, open_on(it, db, 0, &store), "cannot write");
    sqlite3_close(db);
    assert_null(store);

    own = open_guest(it);
    fails(CASCADE_ERR_MISUSE, open_on(it, own.db, 0, &store), "already");
    start(&own);
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    assert_int_equal(CASCADE_OK, open_on(it, own.db, 0, &own.store));
    start(&own);
    close_guest(&own);
}

/* A schema that does not fit leaves connection and file as they were. */
static void
a_refused_schema_leaves_the_file_alone(void **state)
{
    sqlite_fixture *it = *state;
    sqlite3 *db = connect(it);
    cascade_store *store = NULL;

    run(db, "CREATE TABLE cascades (id TEXT PRIMARY KEY)");
    fails(CASCADE_ERR_SCHEMA, open_on(it, db, 0, &store), "cascades");
    fails(CASCADE_ERR_SCHEMA, open_on(it, db, CASCADE_MIGRATE_CHECK, &store),
          "");
    assert_int_equal(1, get_number(db, "SELECT count(*) FROM sqlite_schema"
                                       " WHERE type = 'table'"));
    assert_int_equal(0, get_number(db, "SELECT count(*)"
                                       " FROM pragma_journal_mode"
                                       " WHERE journal_mode = 'wal'"));
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* The application goes on without the library. */
static void
a_failed_open_leaves_the_settings(void **state)
{
    sqlite_fixture *it = *state;
    const cascade_store_options options = {.size = sizeof(options),
                                           .migrate = CASCADE_MIGRATE_CHECK};
    sqlite3 *db = connect(it);
    cascade_store *store = NULL;
    guest own;
    int on = -1;

    run(db, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 123;"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    fails(CASCADE_ERR_SCHEMA, open_on(it, db, CASCADE_MIGRATE_CHECK, &store),
          "");
    assert_int_equal(123, get_number(db, "PRAGMA wal_autocheckpoint"));
    assert_int_equal(0, get_number(db, "PRAGMA foreign_keys"));
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1, &on);
    assert_int_equal(on, 0);
    fails(CASCADE_ERR_SCHEMA, cascade_sqlite_functions(db, &options), "");
    assert_int_equal(123, get_number(db, "PRAGMA wal_autocheckpoint"));
    assert_int_equal(0, get_number(db, "PRAGMA foreign_keys"));
    assert_int_equal(SQLITE_OK, sqlite3_close(db));

    /* What another store there needs stays. */
    own = open_guest(it);
    run(own.db, "DROP TABLE cascade_keys");
    fails(CASCADE_ERR_SCHEMA, cascade_sqlite_functions(own.db, &options), "");
    assert_int_equal(0, get_number(own.db, "PRAGMA wal_autocheckpoint"));
    assert_int_equal(1, get_number(own.db, "PRAGMA foreign_keys"));
    close_guest(&own);
}

/* ---- Names --------------------------------------------------------------- */

static void
temporary_tables_do_not_stand_before_ours(void **state)
{
    sqlite_fixture *it = *state;
    sqlite3 *db = connect(it);
    guest own = {.db = db};
    cascade_page *page = NULL;

    run(db, "CREATE TEMP TABLE node_executions (id TEXT)");
    fails(CASCADE_ERR_MISUSE, open_on(it, db, 0, &own.store), "temporary");
    run(db, "DROP TABLE temp.node_executions");
    assert_int_equal(CASCADE_OK, open_on(it, db, 0, &own.store));
    run(db, "CREATE TEMP VIEW cascades AS SELECT 1 AS id;"
            "CREATE TEMP TABLE node_executions (id TEXT);"
            "CREATE TEMP TABLE cascade_runs (id TEXT);"
            "ATTACH ':memory:' AS other;"
            "CREATE TABLE other.cascade_messages (id TEXT)");
    start(&own);
    assert_int_equal(1, get_number(db, COUNT_CASCADES));
    assert_int_equal(1,
                     get_number(db, "SELECT count(*) FROM main.cascade_runs"));
    assert_int_equal(CASCADE_OK, cascade_list(own.store, NULL, &page));
    assert_int_equal(cascade_page_count(page), 1);
    cascade_page_free(page);
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    assert_int_equal(CASCADE_OK, open_on(it, db, 0, &own.store));
    close_guest(&own);
}

/* Whatever the application has set. */
static void
settings_make_no_difference(void **state)
{
    static const char *const settings[] = {
        "PRAGMA recursive_triggers = ON",
        "PRAGMA reverse_unordered_selects = ON",
        "PRAGMA case_sensitive_like = ON",
        "PRAGMA count_changes = ON",
        "PRAGMA full_column_names = ON",
        "PRAGMA short_column_names = OFF",
        "PRAGMA ignore_check_constraints = ON",
        "PRAGMA foreign_keys = OFF",
        "PRAGMA trusted_schema = OFF",
        "PRAGMA automatic_index = OFF",
        "PRAGMA legacy_alter_table = ON",
        "PRAGMA read_uncommitted = ON",
        "PRAGMA wal_autocheckpoint = 1000",
        "PRAGMA cell_size_check = ON",
        "PRAGMA defer_foreign_keys = ON",
        "PRAGMA locking_mode = EXCLUSIVE",
    };
    guest own = open_guest(*state);

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        cascade_uuid id;
        cascade_info *info = NULL;

        run(own.db, settings[i]);
        assert_int_equal(CASCADE_OK, try_start(&own, &id));
        run(own.db, "BEGIN");
        start(&own);
        if (cascade_signal(own.store, &id, "news", NULL, NULL) != CASCADE_OK)
            fail_msg("%s: %s", settings[i], cascade_errmsg());
        run(own.db, "COMMIT");
        assert_int_equal(CASCADE_OK, cascade_get(own.store, &id, &info));
        assert_int_equal(info->status, CASCADE_RUNNING);
        cascade_info_free(info);
        assert_int_equal((int64_t)(i + 1) * 2,
                         get_number(own.db, COUNT_CASCADES));
    }
    close_guest(&own);
}

static void
a_database_in_utf_16_will_do(void **state)
{
    sqlite3 *db = connect(*state);
    guest own = {.db = db};
    cascade_start_options options = {.size = sizeof(options),
                                     .user_id = "J\xc3\xbcrgen"};
    cascade_started started;
    cascade_info *info = NULL;

    run(db, "PRAGMA encoding = 'UTF-16le'; CREATE TABLE orders (id INTEGER)");
    assert_int_equal(CASCADE_OK, open_on(*state, db, 0, &own.store));
    assert_int_equal(CASCADE_OK,
                     cascade_start(own.store, "ship",
                                   cJSON_Parse("{\"to\":\"\xe2\x82\xac\"}"),
                                   &options, &started));
    assert_int_equal(CASCADE_OK, cascade_get(own.store, &started.id, &info));
    assert_string_equal(info->user_id, options.user_id);
    cascade_info_free(info);
    close_guest(&own);
}

/* ---- In the way of a write ----------------------------------------------- */

static int64_t
now_ms(void)
{
    return csc_clock_monotonic_ms(&csc_clock_system);
}

/* Without a handler as long as the store's deadline; with a timeout of the
 * application's, as that says. */
static void
waiting_for_the_lock_is_bounded(void **state)
{
    sqlite_fixture *it = *state;
    sqlite3 *other = connect(it);
    int64_t begun_ms;
    guest own;

    own = open_guest(it);
    fixture_set_deadline(own.store, SHORT_MS);
    run(other, "BEGIN IMMEDIATE");
    begun_ms = now_ms();
    fails(CASCADE_ERR_UNAVAILABLE, try_start(&own, NULL), "deadline");
    assert_true(now_ms() - begun_ms >= SHORT_MS - 5);
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));

    it->deadline_ms = 3600000;
    assert_int_equal(CASCADE_OK,
                     open_on(it, own.db, CASCADE_MIGRATE_CHECK, &own.store));
    run(own.db, "PRAGMA busy_timeout = 50");
    begun_ms = now_ms();
    fails(CASCADE_ERR_UNAVAILABLE, try_start(&own, NULL), "held");
    assert_true(now_ms() - begun_ms >= SHORT_MS - 5);
    run(own.db, "BEGIN");
    fails(CASCADE_ERR_UNAVAILABLE, try_start(&own, NULL), "held");
    run(own.db, "COMMIT");
    run(other, "COMMIT");
    start(&own);
    assert_int_equal(SQLITE_OK, sqlite3_close(other));
    close_guest(&own);
}

/* BEGIN DEFERRED, a look, and another one writes: SQLite lets nobody write
 * behind that, and no waiting helps. */
static void
a_transaction_that_has_read_may_not_write(void **state)
{
    guest own = open_guest(*state);
    guest other = open_guest(*state);
    sqlite3_stmt *look = NULL;

    run(own.db, "BEGIN");
    assert_int_equal(0, get_number(own.db, COUNT_CASCADES));
    start(&other);
    fails(CASCADE_ERR_UNAVAILABLE, try_start(&own, NULL), "517");
    assert_int_equal(0, sqlite3_get_autocommit(own.db));
    run(own.db, "ROLLBACK");
    start(&own);

    /* The same by a statement that is still being stepped. */
    assert_int_equal(
        SQLITE_OK,
        sqlite3_prepare_v2(own.db, "SELECT id FROM cascades", -1, &look, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(look));
    start(&own);
    start(&other);
    fails(CASCADE_ERR_MISUSE, try_start(&own, NULL), "still reading");
    assert_int_equal(SQLITE_OK, sqlite3_finalize(look));
    start(&own);
    assert_int_equal(5, get_number(own.db, COUNT_CASCADES));
    close_guest(&own);
    close_guest(&other);
}

/* The whole transaction may go with an error; then the text says so, nothing of
 * the call is left, and it is not tried again outside the transaction. */
static void
a_full_database_undoes_the_call_or_all(void **state)
{
    guest own = open_guest(*state);
    int64_t before;
    int64_t pages;
    char sql[100];
    cascade_err err = CASCADE_OK;
    cascade_started started;

    start(&own);
    run(own.db, "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    before = get_number(own.db, COUNT_CASCADES);
    pages = get_number(own.db, "PRAGMA page_count");
    run(own.db, "BEGIN IMMEDIATE; INSERT INTO orders VALUES (1)");
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", (int)pages + 1);
    run(own.db, sql);
    for (int i = 0; i < 100 && err == CASCADE_OK; i++) {
        cJSON *input = cJSON_CreateObject();
        char *filler = calloc(1, 20001);

        memset(filler, 'x', 20000);
        cJSON_AddStringToObject(input, "filler", filler);
        free(filler);
        err = cascade_start(own.store, "ship", input, NULL, &started);
    }
    assert_int_equal(err, CASCADE_ERR_UNAVAILABLE);
    assert_int_equal(sqlite3_get_autocommit(own.db) != 0,
                     strstr(cascade_errmsg(), "was rolled back") != NULL);
    if (!sqlite3_get_autocommit(own.db))
        run(own.db, "ROLLBACK");
    run(own.db, "PRAGMA max_page_count = 1000000");
    assert_int_equal(before, get_number(own.db, COUNT_CASCADES));
    assert_int_equal(before,
                     get_number(own.db, "SELECT count(*) FROM cascade_runs"));
    start(&own);
    close_guest(&own);
}

/* From a callback of a move that reads. */
static cascade_err
start_in_sink(void *context, const cascade_row *row, const cascade_run_row *r)
{
    (void)row;
    (void)r;
    return try_start(context, NULL);
}

static void
a_call_within_a_call_is_refused(void **state)
{
    guest own = open_guest(*state);
    const cascade_query all = {.limit = 10};

    start(&own);
    fails(CASCADE_ERR_MISUSE,
          own.store->driver->list(own.store->self, &all, start_in_sink, &own),
          "one at a time");
    start(&own);
    assert_int_equal(2, get_number(own.db, COUNT_CASCADES));
    close_guest(&own);
}

/* ---- The sidecar, and telling others ------------------------------------- */

/* Whether a checkpoint could begin. */
static bool
is_lock_free(const sqlite_fixture *it)
{
    csc_sqlite_lock lock = {.fd = -1};
    bool free_now;

    assert_int_equal(
        CASCADE_OK,
        csc_sqlite_lock_open(&lock, it->path, false, csc_sqlite_conn_now_ns()));
    free_now = csc_sqlite_lock_exclude(&lock, csc_sqlite_conn_now_ns());
    csc_sqlite_lock_close(&lock);
    return free_now;
}

/* From the first write of the library's until the end of the transaction. */
static void
no_checkpoint_runs_while_our_rows_are_uncommitted(void **state)
{
    sqlite_fixture *it = *state;
    const cascade_uuid nobody = {{7}};
    guest own = open_guest(it);

    assert_true(is_lock_free(it));
    run(own.db, "BEGIN; CREATE TABLE orders (id INTEGER)");
    assert_true(is_lock_free(it));
    assert_int_equal(CASCADE_ERR_NOT_FOUND,
                     cascade_get(own.store, &nobody, &(cascade_info *){NULL}));
    assert_true(is_lock_free(it));
    start(&own);
    assert_false(is_lock_free(it));
    start(&own);
    run(own.db, "COMMIT");
    assert_true(is_lock_free(it));

    run(own.db, "BEGIN");
    start(&own);
    run(own.db, "ROLLBACK");
    assert_false(is_lock_free(it)); /* until it hears of it */
    assert_int_equal(CASCADE_ERR_NOT_FOUND,
                     cascade_get(own.store, &nobody, &(cascade_info *){NULL}));
    assert_true(is_lock_free(it));

    run(own.db, "BEGIN");
    start(&own);
    run(own.db, "ROLLBACK; BEGIN; INSERT INTO orders VALUES (1); COMMIT");
    assert_true(is_lock_free(it));
    start(&own);
    assert_true(is_lock_free(it));
    close_guest(&own);
}

/* A call that fails within a transaction lets go, if it was the first. */
static void
a_failed_call_does_not_hold_the_lock(void **state)
{
    sqlite_fixture *it = *state;
    guest own = open_guest(it);
    guest other = open_guest(it);

    run(own.db, "BEGIN");
    assert_int_equal(0, get_number(own.db, COUNT_CASCADES));
    start(&other);
    fails(CASCADE_ERR_UNAVAILABLE, try_start(&own, NULL), "517");
    assert_true(is_lock_free(it));
    run(own.db, "ROLLBACK");
    close_guest(&own);
    close_guest(&other);
}

static bool
is_told(cascade_store *store, uint64_t *seen)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    cascade_waited result = {.seen = *seen};

    assert_int_equal(CASCADE_OK,
                     store->driver->wait(store->self, fd, 0, &result));
    close(fd);
    *seen = result.seen;
    return result.woken;
}

static void
others_are_told_at_the_commit(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *other = fixture_store(it);
    guest own = open_guest(it);
    uint64_t seen = 0;

    (void)is_told(other, &seen);
    run(own.db, "BEGIN");
    start(&own);
    assert_int_equal(CASCADE_OK, cascade_wake(own.store));
    assert_false(is_told(other, &seen));
    run(own.db, "COMMIT");
    assert_true(is_told(other, &seen));
    assert_false(is_told(other, &seen));

    run(own.db, "BEGIN");
    start(&own);
    run(own.db, "ROLLBACK; CREATE TABLE orders (id INTEGER);"
                "INSERT INTO orders VALUES (1)");
    start(&own);
    assert_true(is_told(other, &seen));
    run(own.db, "INSERT INTO orders VALUES (2)");
    assert_false(is_told(other, &seen));
    close_guest(&own);
    assert_int_equal(CASCADE_OK, cascade_store_close(other));
}

static void
give_one(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int(context, 1);
}

static int
replace_link(sqlite3 *db)
{
    return sqlite3_create_function(db, "cascade_link", 1, SQLITE_UTF8, NULL,
                                   give_one, NULL, NULL);
}

/* The function is the application's to replace: an open store does not need it,
 * and one cannot be opened then. */
static void
a_replaced_link_does_not_dangle(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *other = fixture_store(it);
    guest own = open_guest(it);
    cascade_store *second = NULL;
    uint64_t seen = 0;

    assert_int_equal(CASCADE_OK, cascade_sqlite_functions(own.db, NULL));
    (void)is_told(other, &seen);
    assert_int_equal(SQLITE_OK, replace_link(own.db));
    run(own.db, "BEGIN");
    start(&own);
    run(own.db, "SELECT cascade_start('ship', NULL)");
    assert_false(is_lock_free(it));
    run(own.db, "COMMIT");
    assert_true(is_lock_free(it));
    assert_true(is_told(other, &seen));
    fails(CASCADE_ERR_MISUSE, open_on(it, own.db, 0, &second), "cascade_link");
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    fails(CASCADE_ERR_MISUSE, open_on(it, own.db, 0, &second), "cascade_link");
    run(own.db, "SELECT cascade_start('ship', NULL)");
    run(own.db, "CREATE TABLE orders (id INTEGER)");
    assert_int_equal(SQLITE_OK, sqlite3_close(own.db));

    own = open_guest(it);
    assert_int_equal(SQLITE_OK, replace_link(own.db));
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    run(own.db, "CREATE TABLE bills (id INTEGER)");
    assert_int_equal(SQLITE_OK, sqlite3_close(own.db));
    assert_int_equal(CASCADE_OK, cascade_store_close(other));
}

static int
deny_functions(void *context, int action, const char *a, const char *b,
               const char *c, const char *d)
{
    (void)context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return action == SQLITE_FUNCTION ? SQLITE_DENY : SQLITE_OK;
}

/* Denied is not missing: a second link would take the first one's hook. */
static void
a_denied_link_is_not_made_anew(void **state)
{
    guest own = open_guest(*state);
    cascade_store *second = NULL;

    sqlite3_set_authorizer(own.db, deny_functions, NULL);
    fails(CASCADE_ERR_READ_ONLY, open_on(*state, own.db, 0, &second),
          "not authorised");
    sqlite3_set_authorizer(own.db, NULL, NULL);
    fails(CASCADE_ERR_MISUSE, open_on(*state, own.db, 0, &second), "already");
    close_guest(&own);
}

static off_t
get_file_size(const char *path)
{
    struct stat info;

    assert_int_equal(0, stat(path, &info));
    return info.st_size;
}

static void
fill(sqlite3 *db, const char *table)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "CREATE TABLE IF NOT EXISTS %s (x); BEGIN;"
             "INSERT INTO %s SELECT randomblob(4000)"
             " FROM generate WHERE n <= 1200; COMMIT",
             table, table);
    run(db, "CREATE TEMP TABLE IF NOT EXISTS generate AS"
            " WITH RECURSIVE c (n) AS"
            "    (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1200)"
            " SELECT n FROM c");
    run(db, sql);
}

/* The application's commits fill the log too: the library copies it, under its
 * lock, and copies that of attached databases as SQLite would. */
static void
commits_of_the_application_lead_to_checkpoints(void **state)
{
    sqlite_fixture *it = *state;
    csc_sqlite_lock lock = {.fd = -1};
    char attached[400];
    char sql[600];
    guest own = open_guest(it);

    ((csc_sqlite *)own.store->self)->checkpoint_pages = FEW_PAGES;
    ((csc_sqlite *)own.store->self)->checkpoint_at_pages = FEW_PAGES;
    assert_int_equal(
        CASCADE_OK,
        csc_sqlite_lock_open(&lock, it->path, false, csc_sqlite_conn_now_ns()));
    assert_int_equal(CASCADE_OK,
                     csc_sqlite_lock_share(&lock, csc_sqlite_conn_now_ns()));
    fill(own.db, "main.orders");
    assert_true(get_file_size(it->path) < 1000000);
    csc_sqlite_lock_close(&lock);
    run(own.db, "PRAGMA wal_autocheckpoint = 0"); /* takes the hook from us */
    start(&own);
    fill(own.db, "main.orders");
    assert_true(get_file_size(it->path) > 4000000);

    snprintf(attached, sizeof(attached), "%s-attached", it->path);
    snprintf(sql, sizeof(sql),
             "ATTACH '%s' AS other; PRAGMA other.journal_mode = WAL", attached);
    run(own.db, sql);
    fill(own.db, "other.orders");
    assert_true(get_file_size(attached) > 4000000);
    close_guest(&own);
}

/* The last one to close lets SQLite tidy up. */
static void
the_last_one_leaves_no_log(void **state)
{
    sqlite_fixture *it = *state;
    char log[300];
    guest own = open_guest(it);
    cascade_store *other = fixture_store(it);

    snprintf(log, sizeof(log), "%s-wal", it->path);
    start(&own);
    close_guest(&own);
    assert_int_equal(0, access(log, F_OK));
    own = open_guest(it);
    assert_int_equal(CASCADE_OK, cascade_store_close(other));
    start(&own);
    close_guest(&own);
    assert_int_equal(-1, access(log, F_OK));
}

int
main(int argc, char **argv)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(opening_sets_what_must_hold_and_no_more),
        TEST(hooks_of_the_application_stay),
        TEST(what_is_denied_is_an_error),
        TEST(closing_finalizes_our_statements_alone),
        TEST(connections_that_will_not_do_are_refused),
        TEST(a_refused_schema_leaves_the_file_alone),
        TEST(a_failed_open_leaves_the_settings),
        TEST(temporary_tables_do_not_stand_before_ours),
        TEST(settings_make_no_difference),
        TEST(a_database_in_utf_16_will_do),
        TEST(waiting_for_the_lock_is_bounded),
        TEST(a_transaction_that_has_read_may_not_write),
        TEST(a_full_database_undoes_the_call_or_all),
        TEST(a_call_within_a_call_is_refused),
        TEST(no_checkpoint_runs_while_our_rows_are_uncommitted),
        TEST(a_failed_call_does_not_hold_the_lock),
        TEST(others_are_told_at_the_commit),
        TEST(a_replaced_link_does_not_dangle),
        TEST(a_denied_link_is_not_made_anew),
        TEST(commits_of_the_application_lead_to_checkpoints),
        TEST(the_last_one_leaves_no_log),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
