/* SPDX-License-Identifier: MIT
 *
 * Stores on a connection of the application's that the application is busy
 * with: it interrupts, at each place where SQLite asks; its commit hook
 * refuses; a statement of its own is under way. What fails says what it was,
 * and leaves neither rows nor a transaction nor settings.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cascade/sqlite.h"
#include "store/sqlite/sqlite_fixture.h"

#define PLACES_MAX 20000
#define COUNT_CASCADES "SELECT count(*) FROM main.cascades"
#define COUNT_MESSAGES "SELECT count(*) FROM main.cascade_messages"
/* 1 where each cascade has its run and its execution. */
#define ARE_WHOLE                                 \
    "SELECT (SELECT count(*) FROM cascades) ="    \
    "        (SELECT count(*) FROM cascade_runs)" \
    "    AND (SELECT count(*) FROM cascades) ="   \
    "        (SELECT count(*) FROM node_executions)"

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

static void
run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static int64_t
get_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t number;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static cascade_err
open_on(sqlite3 *db, cascade_migrate mode, cascade_store **store)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .migrate = mode};

    return cascade_sqlite_open(db, &options, store);
}

/* With the functions too, and a table of the application's. */
static guest
open_guest(const sqlite_fixture *it)
{
    guest own = {.db = connect(it)};

    run(own.db, "PRAGMA synchronous = OFF;"
                "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY);"
                "INSERT INTO orders VALUES (1), (2), (3)");
    if (open_on(own.db, CASCADE_MIGRATE_AUTO, &own.store) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
    if (cascade_sqlite_functions(own.db, NULL) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
    return own;
}

static void
close_guest(guest *own)
{
    assert_int_equal(CASCADE_OK, cascade_store_close(own->store));
    assert_int_equal(SQLITE_OK, sqlite3_close(own->db));
}

static cascade_err
try_start(const guest *own)
{
    cascade_started started;
    cascade_err err = cascade_start(own->store, "ship", NULL, NULL, &started);

    assert_int_equal(err == CASCADE_OK, cascade_errmsg()[0] == '\0');
    return err;
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

/* A statement of the application's that is under way. */
static sqlite3_stmt *
step_once(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    assert_int_equal(SQLITE_OK,
                     sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(statement));
    return statement;
}

/* What the application has set, for check_settings(). */
static void
change_settings(sqlite3 *db)
{
    run(db, "PRAGMA wal_autocheckpoint = 123; PRAGMA foreign_keys = OFF");
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static bool
is_checkpointed_on_close(sqlite3 *db)
{
    int off = -1;

    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1, &off);
    return off == 0;
}

static void
check_settings(sqlite3 *db)
{
    assert_int_equal(123, get_number(db, "PRAGMA wal_autocheckpoint"));
    assert_int_equal(0, get_number(db, "PRAGMA foreign_keys"));
    assert_false(is_checkpointed_on_close(db));
}

/* ---- Interrupted --------------------------------------------------------- */

typedef enum manner {
    MANNER_ONCE,   /* the progress handler says so once */
    MANNER_ALWAYS, /* from then on */
    MANNER_CALL,   /* sqlite3_interrupt() */
    MANNER_COUNT
} manner;

/* Interrupts at the nth place where SQLite asks. */
typedef struct breaker {
    sqlite3 *db;
    manner how;
    int nth;
    int seen;
} breaker;

static int
on_progress(void *context)
{
    breaker *it = context;

    it->seen++;
    if (it->seen < it->nth || (it->how != MANNER_ALWAYS && it->seen > it->nth))
        return 0;
    if (it->how == MANNER_CALL) {
        sqlite3_interrupt(it->db);
        return 0;
    }
    return 1;
}

static void
arm(breaker *it)
{
    sqlite3_progress_handler(it->db, 1, on_progress, it);
}

static void
disarm(breaker *it)
{
    sqlite3_progress_handler(it->db, 0, NULL, NULL);
}

/* Once for each place, until there are no more. */
static void
sweep(const guest *own, void (*play)(const guest *own, breaker *it))
{
    for (int how = 0; how < MANNER_COUNT; how++) {
        breaker it = {.db = own->db, .how = (manner)how};
        int places = 0;

        do {
            it.nth++;
            it.seen = 0;
            play(own, &it);
            places += it.seen >= it.nth;
            assert_int_equal(1, get_number(own->db, ARE_WHOLE));
        } while (it.seen >= it.nth && it.nth < PLACES_MAX);
        assert_in_range(places, 10, PLACES_MAX - 1);
    }
}

static void
check_interrupted(cascade_err err)
{
    fails(CASCADE_ERR_UNAVAILABLE, err, "application interrupted it");
    assert_null(strstr(cascade_errmsg(), "do not COMMIT"));
}

/* A call by itself, or behind a statement that is under way: what it says is
 * what is there. */
static void
play_behind(const guest *own, breaker *it, const char *sql)
{
    int64_t before = get_number(own->db, COUNT_CASCADES);
    sqlite3_stmt *look = sql == NULL ? NULL : step_once(own->db, sql);
    cascade_err err;

    arm(it);
    err = try_start(own);
    disarm(it);
    if (err != CASCADE_OK)
        check_interrupted(err);
    assert_true(sqlite3_get_autocommit(own->db));
    sqlite3_finalize(look);
    assert_int_equal(before + (err == CASCADE_OK),
                     get_number(own->db, COUNT_CASCADES));
}

static void
play_alone(const guest *own, breaker *it)
{
    play_behind(own, it, NULL);
}

static void
an_interrupted_call_leaves_nothing(void **state)
{
    guest own = open_guest(*state);

    sweep(&own, play_alone);
    close_guest(&own);
}

/* It runs statements of its own in our COMMIT, and an interruption of these
 * takes everything back. */
static void
an_interrupted_commit_of_an_index_is_none(void **state)
{
    guest own = open_guest(*state);

    assert_true(sqlite3_compileoption_used("ENABLE_FTS4") ||
                sqlite3_compileoption_used("ENABLE_FTS3"));
    run(own.db, "CREATE VIRTUAL TABLE found USING fts4(id);"
                "CREATE TRIGGER find AFTER INSERT ON cascades BEGIN"
                " INSERT INTO found VALUES (NEW.id); END");
    sweep(&own, play_alone);
    close_guest(&own);
}

/* As long as that is under way an interruption holds, for ROLLBACK too. */
static void
play_behind_a_select(const guest *own, breaker *it)
{
    play_behind(own, it, "SELECT id FROM orders");
}

static void
an_interrupted_call_behind_a_select_leaves_nothing(void **state)
{
    guest own = open_guest(*state);

    sweep(&own, play_behind_a_select);
    close_guest(&own);
}

/* What only reads has a transaction as well. */
static void
play_reading(const guest *own, breaker *it)
{
    sqlite3_stmt *look = step_once(own->db, "SELECT id FROM orders");
    const cascade_list_options all = {.size = sizeof(all)};
    cascade_page *page = NULL;
    cascade_err err;

    arm(it);
    err = cascade_list(own->store, &all, &page);
    disarm(it);
    if (err != CASCADE_OK)
        check_interrupted(err);
    cascade_page_free(page);
    assert_true(sqlite3_get_autocommit(own->db));
    sqlite3_finalize(look);
}

static void
an_interrupted_look_leaves_no_transaction(void **state)
{
    guest own = open_guest(*state);

    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    assert_int_equal(CASCADE_OK,
                     open_on(own.db, CASCADE_MIGRATE_CHECK, &own.store));
    sweep(&own, play_reading);
    close_guest(&own);
}

/* The application's transaction goes on, with nothing of the call in it, or it
 * is gone and the text says so. */
static void
check_transaction(const guest *own, cascade_err err, int64_t before)
{
    if (err != CASCADE_OK)
        check_interrupted(err);
    if (sqlite3_get_autocommit(own->db)) {
        assert_int_not_equal(CASCADE_OK, err);
        assert_non_null(strstr(cascade_errmsg(), "rolled back"));
        return;
    }
    assert_int_equal(before + (err == CASCADE_OK),
                     get_number(own->db, COUNT_CASCADES));
    assert_int_equal(4, get_number(own->db, "SELECT count(*) FROM orders"));
    assert_int_equal(
        SQLITE_ERROR,
        sqlite3_exec(own->db, "RELEASE cascade_guest", NULL, NULL, NULL));
    assert_int_equal(1, get_number(own->db, ARE_WHOLE));
    run(own->db, "ROLLBACK");
}

static void
play_within(const guest *own, breaker *it)
{
    int64_t before = get_number(own->db, COUNT_CASCADES);
    cascade_err err;

    run(own->db, "BEGIN IMMEDIATE; INSERT INTO orders VALUES (4)");
    arm(it);
    err = try_start(own);
    disarm(it);
    check_transaction(own, err, before);
    assert_int_equal(before, get_number(own->db, COUNT_CASCADES));
}

static void
an_interrupted_call_in_a_transaction_leaves_nothing(void **state)
{
    guest own = open_guest(*state);

    sweep(&own, play_within);
    close_guest(&own);
}

/* By a function, in a statement that writes, too: trying again is no remedy for
 * what the application wanted, so it is not SQLITE_BUSY. */
static void
play_statement(const guest *own, breaker *it, const char *sql)
{
    int code;

    arm(it);
    code = sqlite3_exec(own->db, sql, NULL, NULL, NULL);
    disarm(it);
    if (code != SQLITE_OK)
        assert_int_equal(SQLITE_INTERRUPT, code);
    assert_true(sqlite3_get_autocommit(own->db));
    run(own->db, "DELETE FROM orders WHERE id = 4");
}

static void
play_select(const guest *own, breaker *it)
{
    play_statement(own, it, "SELECT cascade_start('ship', NULL)");
}

static void
play_insert(const guest *own, breaker *it)
{
    play_statement(own, it,
                   "INSERT INTO orders"
                   " SELECT 4 WHERE cascade_start('ship', NULL) > ''");
}

static void
an_interrupted_function_is_an_interrupted_statement(void **state)
{
    guest own = open_guest(*state);

    sweep(&own, play_select);
    sweep(&own, play_insert);
    close_guest(&own);
}

/* A function of the application's own, which makes nothing of an error. */
typedef struct caller {
    const guest *own;
    const cascade_uuid *id; /* of the cascade that it signals; NULL: starts */
    cascade_err err;
    char text[CSC_ERRMSG_SIZE];
    bool locked; /* the sidecar, behind it */
} caller;

static bool
is_locked(const guest *own)
{
    const csc_sqlite *store = own->store->self;

    return store->writer.locked;
}

static void
call_here(sqlite3_context *context, int count, sqlite3_value **values)
{
    caller *it = sqlite3_user_data(context);

    (void)count;
    (void)values;
    it->err = it->id == NULL
                  ? try_start(it->own)
                  : cascade_signal(it->own->store, it->id, "go", NULL, NULL);
    snprintf(it->text, sizeof(it->text), "%s", cascade_errmsg());
    it->locked = is_locked(it->own);
    sqlite3_result_int(context, 1);
}

/* Within a statement that writes. */
static int
call_within(caller *it, breaker *by)
{
    sqlite3 *db = it->own->db;
    int code;

    it->err = CASCADE_ERR_SYSTEM; /* where it is not called */
    it->locked = true;
    assert_int_equal(SQLITE_OK,
                     sqlite3_create_function(db, "call_here", 0, SQLITE_UTF8,
                                             it, call_here, NULL, NULL));
    arm(by);
    code = sqlite3_exec(db, "INSERT INTO orders SELECT 4 WHERE call_here() = 1",
                        NULL, NULL, NULL);
    disarm(by);
    return code;
}

/* What the call said is there, if the statement is. */
static void
play_swallowed(const guest *own, breaker *it, const cascade_uuid *id)
{
    const char *sql = id == NULL ? COUNT_CASCADES : COUNT_MESSAGES;
    caller by = {.own = own, .id = id};
    int64_t before = get_number(own->db, sql);
    int64_t there;

    (void)call_within(&by, it);
    assert_true(sqlite3_get_autocommit(own->db));
    there = get_number(own->db, "SELECT count(*) FROM orders WHERE id = 4");
    assert_int_equal(before + (there == 1 && by.err == CASCADE_OK),
                     get_number(own->db, sql));
    run(own->db, "DELETE FROM orders WHERE id = 4");
}

static void
play_start_within_a_statement(const guest *own, breaker *it)
{
    play_swallowed(own, it, NULL);
}

static void
play_signal_within_a_statement(const guest *own, breaker *it)
{
    static cascade_started started;

    if (get_number(own->db, COUNT_CASCADES) == 0)
        assert_int_equal(CASCADE_OK, cascade_start(own->store, "ship", NULL,
                                                   NULL, &started));
    play_swallowed(own, it, &started.id);
}

static void
an_interrupted_call_in_a_statement_is_whole_or_not_there(void **state)
{
    guest own = open_guest(*state);

    sweep(&own, play_start_within_a_statement);
    run(own.db, "DELETE FROM cascade_runs; DELETE FROM context_events;"
                "DELETE FROM node_executions; DELETE FROM cascades");
    sweep(&own, play_signal_within_a_statement);
    close_guest(&own);
}

/* SQLite calls the hook of a COMMIT that was interrupted when it was done with
 * the next statement that is, which may be one of ours within a write. */
static void
play_late_hook(const guest *own, breaker *it)
{
    caller by = {.own = own};
    breaker never = {.db = own->db, .nth = PLACES_MAX};

    arm(it);
    (void)try_start(own);
    disarm(it);
    assert_int_equal(SQLITE_OK, call_within(&by, &never));
    assert_int_equal(CASCADE_OK, by.err);
    assert_true(by.locked);
    assert_false(is_locked(own));
    run(own->db, "DELETE FROM orders WHERE id = 4");
}

static void
a_late_hook_takes_no_lock_from_a_write(void **state)
{
    guest own = open_guest(*state);

    sweep(&own, play_late_hook);
    close_guest(&own);
}

static uint64_t
get_token(const guest *own)
{
    const csc_sqlite *store = own->store->self;

    return csc_sqlite_lock_get_token(&store->lock);
}

/* Also where its COMMIT was interrupted when it was done. */
static void
what_the_application_has_committed_is_told(void **state)
{
    const cascade_list_options all = {.size = sizeof(all)};
    guest own = open_guest(*state);
    breaker it = {.db = own.db};
    cascade_page *page = NULL;
    int done = 0;

    do {
        int64_t before = get_number(own.db, COUNT_CASCADES);
        uint64_t token = get_token(&own);
        int code;

        run(own.db, "BEGIN IMMEDIATE");
        assert_int_equal(CASCADE_OK, try_start(&own));
        it.nth++;
        it.seen = 0;
        arm(&it);
        code = sqlite3_exec(own.db, "COMMIT", NULL, NULL, NULL);
        disarm(&it);
        (void)sqlite3_exec(own.db, "ROLLBACK", NULL, NULL, NULL);
        assert_int_equal(CASCADE_OK, cascade_list(own.store, &all, &page));
        cascade_page_free(page);
        if (get_number(own.db, COUNT_CASCADES) == before)
            continue;
        assert_true(get_token(&own) != token);
        done += code == SQLITE_INTERRUPT;
    } while (it.seen >= it.nth && it.nth < PLACES_MAX);
    assert_int_not_equal(0, done);
    close_guest(&own);
}

/* What cannot be taken back is the statement's to take back; a transaction is
 * said to be over where it is. */
static void
what_is_left_in_a_statement_is_told(void **state)
{
    guest own = open_guest(*state);
    caller by = {.own = &own};
    breaker never = {.db = own.db, .nth = PLACES_MAX};

    run(own.db, "CREATE TRIGGER no_run BEFORE INSERT ON cascade_runs BEGIN"
                " SELECT RAISE(ABORT, 'no'); END;"
                "CREATE TRIGGER no_end BEFORE DELETE ON cascades BEGIN"
                " SELECT RAISE(ABORT, 'no'); END");
    (void)call_within(&by, &never);
    assert_int_not_equal(CASCADE_OK, by.err);
    assert_non_null(strstr(by.text, "let this statement fail"));
    assert_null(strstr(by.text, "rolled back"));
    run(own.db, "BEGIN IMMEDIATE");
    (void)call_within(&by, &never);
    assert_true(sqlite3_get_autocommit(own.db));
    assert_non_null(strstr(by.text, "was rolled back with it"));
    close_guest(&own);
}

/* Nothing of the library's is kept ready there from one call to the next. */
static void
play_function_within(const guest *own, breaker *it)
{
    int code;

    run(own->db, "BEGIN IMMEDIATE; INSERT INTO orders VALUES (4)");
    arm(it);
    code = sqlite3_exec(own->db, "SELECT cascade_start('ship', NULL)", NULL,
                        NULL, NULL);
    disarm(it);
    if (code != SQLITE_OK) {
        assert_int_equal(SQLITE_INTERRUPT, code);
        assert_null(strstr(sqlite3_errmsg(own->db), "do not COMMIT"));
    }
    if (sqlite3_get_autocommit(own->db))
        return;
    assert_int_equal(1, get_number(own->db, ARE_WHOLE));
    run(own->db, "ROLLBACK");
}

static void
an_interrupted_function_in_a_transaction_leaves_no_half(void **state)
{
    guest own = open_guest(*state);

    sweep(&own, play_function_within);
    close_guest(&own);
}

typedef cascade_err (*opening)(sqlite3 *db, cascade_store **store);

static cascade_err
open_store(sqlite3 *db, cascade_store **store)
{
    return open_on(db, CASCADE_MIGRATE_AUTO, store);
}

static cascade_err
open_functions(sqlite3 *db, cascade_store **store)
{
    (void)store;
    return cascade_sqlite_functions(db, NULL);
}

/* Some places are asked when all is done: then it is. */
static void
play_open(const sqlite_fixture *it, breaker *by, opening open)
{
    static const char *const files[] = {"", "-wal", "-shm", "-lock"};
    cascade_store *store = NULL;
    cascade_err err;
    char path[300];

    by->db = connect(it);
    by->seen = 0;
    run(by->db, "PRAGMA synchronous = OFF");
    change_settings(by->db);
    arm(by);
    err = open(by->db, &store);
    disarm(by);
    if (err != CASCADE_OK) {
        check_interrupted(err);
        assert_true(sqlite3_get_autocommit(by->db));
        check_settings(by->db);
    }
    assert_int_equal(CASCADE_OK, cascade_store_close(store));
    assert_int_equal(SQLITE_OK, sqlite3_close(by->db));
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", it->path, files[i]);
        (void)remove(path);
    }
}

/* Of a schema that is to be made, on a file without a log. */
static void
sweep_open(const sqlite_fixture *it, opening open)
{
    for (int how = 0; how < MANNER_COUNT; how++) {
        breaker by = {.how = (manner)how};

        do {
            by.nth += by.nth < 100 ? 1 : 97;
            play_open(it, &by, open);
        } while (by.seen >= by.nth && by.nth < PLACES_MAX);
        assert_in_range(by.nth, 100, PLACES_MAX - 1);
    }
}

static void
an_interrupted_open_leaves_the_settings(void **state)
{
    sweep_open(*state, open_store);
    sweep_open(*state, open_functions);
}

/* A folder in the place of its sidecar. */
static void
an_open_without_its_sidecar_leaves_the_settings(void **state)
{
    sqlite_fixture *it = *state;
    sqlite3 *db = connect(it);
    cascade_store *store = NULL;
    char path[300];

    snprintf(path, sizeof(path), "%s-lock", it->path);
    run(db, "PRAGMA journal_mode = WAL");
    assert_int_equal(0, mkdir(path, 0700));
    change_settings(db);
    assert_int_not_equal(CASCADE_OK, open_on(db, CASCADE_MIGRATE_AUTO, &store));
    check_settings(db);
    assert_int_not_equal(CASCADE_OK, cascade_sqlite_functions(db, NULL));
    check_settings(db);
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* Whether the file is still used by others or not. */
static void
a_failed_open_leaves_the_checkpoint_on_close(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *other = fixture_store(it);
    cascade_store *store = NULL;
    sqlite3 *db = connect(it);

    run(db, "DROP TABLE cascade_keys");
    fails(CASCADE_ERR_SCHEMA, open_on(db, CASCADE_MIGRATE_CHECK, &store), "");
    assert_true(is_checkpointed_on_close(db));
    assert_int_equal(CASCADE_OK, cascade_store_close(other));
    change_settings(db);
    fails(CASCADE_ERR_SCHEMA, open_on(db, CASCADE_MIGRATE_CHECK, &store), "");
    assert_false(is_checkpointed_on_close(db));
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

/* ---- Refused by the commit hook ------------------------------------------ */

static int
on_commit(void *context)
{
    return *(int *)context;
}

static void
a_commit_that_the_hook_refuses_is_told(void **state)
{
    int refuse = 1;
    guest own = open_guest(*state);

    sqlite3_commit_hook(own.db, on_commit, &refuse);
    fails(CASCADE_ERR_UNAVAILABLE, try_start(&own), "commit hook");
    assert_true(sqlite3_get_autocommit(own.db));
    assert_int_not_equal(
        SQLITE_OK, sqlite3_exec(own.db, "SELECT cascade_start('ship', NULL)",
                                NULL, NULL, NULL));
    assert_non_null(strstr(sqlite3_errmsg(own.db), "commit hook"));
    run(own.db, "BEGIN IMMEDIATE");
    assert_int_equal(CASCADE_OK, try_start(&own));
    assert_int_equal(SQLITE_CONSTRAINT,
                     sqlite3_exec(own.db, "COMMIT", NULL, NULL, NULL));
    assert_true(sqlite3_get_autocommit(own.db));
    refuse = 0;
    assert_int_equal(0, get_number(own.db, COUNT_CASCADES));
    assert_int_equal(CASCADE_OK, try_start(&own));
    assert_int_equal(1, get_number(own.db, COUNT_CASCADES));
    close_guest(&own);
}

static void
an_open_that_the_hook_refuses_leaves_the_settings(void **state)
{
    int refuse = 1;
    sqlite3 *db = connect(*state);
    cascade_store *store = NULL;

    change_settings(db);
    sqlite3_commit_hook(db, on_commit, &refuse);
    fails(CASCADE_ERR_UNAVAILABLE, open_on(db, CASCADE_MIGRATE_AUTO, &store),
          "commit hook");
    check_settings(db);
    assert_int_equal(0, get_number(db, "SELECT count(*) FROM sqlite_schema"));
    refuse = 0;
    assert_int_equal(CASCADE_OK, open_on(db, CASCADE_MIGRATE_AUTO, &store));
    assert_int_equal(CASCADE_OK, cascade_store_close(store));
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

#define REFUSALS 3

typedef struct moody {
    int refusals; /* to come */
    int ran;
} moody;

static int
on_moody_commit(void *context)
{
    moody *it = context;

    if (it->refusals == 0)
        return 0;
    it->refusals--;
    return 1;
}

static cascade_err
run_moody(cascade_node *node, void *user)
{
    moody *it = user;

    (void)node;
    it->ran++;
    it->refusals = REFUSALS;
    return CASCADE_OK;
}

/* It has nothing to do with what is committed. */
static void
an_engine_repeats_what_the_hook_refuses(void **state)
{
    const cascade_engine_options inside = {.size = sizeof(inside),
                                           .mode = CASCADE_MODE_INLINE,
                                           .lease_ms = 10 * FIXTURE_WAIT_MS,
                                           .poll_interval_ms = 10};
    static const char ended[] =
        "SELECT count(*) FROM cascades WHERE status <> 'RUNNING'";
    guest own = open_guest(*state);
    cascade_engine *engine = NULL;
    int64_t until_ns = csc_sqlite_conn_now_ns() + FIXTURE_WAIT_MS * CSC_MS_NS;
    moody it = {0};

    assert_int_equal(CASCADE_OK,
                     cascade_engine_open(own.store, &inside, &engine));
    assert_int_equal(CASCADE_OK, cascade_engine_register(engine, "ship",
                                                         run_moody, &it, NULL));
    assert_int_equal(CASCADE_OK, cascade_engine_start(engine));
    sqlite3_commit_hook(own.db, on_moody_commit, &it);
    for (int i = 0; i < 3; i++)
        assert_int_equal(CASCADE_OK, try_start(&own));
    while (get_number(own.db, ended) < 3 &&
           csc_sqlite_conn_now_ns() < until_ns) {
        (void)poll(NULL, 0, 5); /* a beat, whatever it says it waits for */
        (void)cascade_engine_poll(engine, 0, NULL);
    }
    assert_int_equal(3, get_number(own.db, "SELECT count(*) FROM cascades"
                                           " WHERE status = 'COMPLETED'"));
    assert_int_equal(3, it.ran);
    assert_int_equal(0, it.refusals);
    assert_int_equal(CASCADE_OK, cascade_engine_close(engine));
    close_guest(&own);
}

/* The finish of a transactional node on that connection. */
static void
a_node_that_the_hook_refuses_has_failed(void **state)
{
    sqlite_fixture *it = *state;
    guest own = open_guest(it);
    cascade_store *store = own.store;
    cascade_uuid engine = fixture_attach(it, store);
    cascade_uuid id = rows_id(&it->rows);
    cascade_change *change = rows_start_owned(&it->rows, id, engine);
    cascade_batch batch = {.engine_id = engine, .number = 2, .change_count = 1};
    cascade_native native = {0};
    bool existed = false;
    int refuse = 1;

    assert_int_equal(CASCADE_OK, fixture_commit(store, engine, 1, change));
    change = rows_write(&it->rows, id, 1);
    rows_update(&it->rows, change, 0, "{}");
    batch.changes = change;
    assert_int_equal(CASCADE_OK, store->driver->node_txn->begin(
                                     store->self, 60000, &native));
    run(own.db, "INSERT INTO orders VALUES (4)");
    sqlite3_commit_hook(own.db, on_commit, &refuse);
    fails(
        CASCADE_ERR_FAILED,
        store->driver->node_txn->finish(store->self, &native, &batch, &existed),
        "commit hook");
    assert_true(sqlite3_get_autocommit(own.db));
    assert_int_equal(3, get_number(own.db, "SELECT count(*) FROM orders"));
    close_guest(&own);
}

/* ---- A statement under way ----------------------------------------------- */

static void
refuse_while(sqlite3 *db, cascade_migrate mode, const char *sql,
             const char *part)
{
    sqlite3_stmt *statement = step_once(db, sql);
    cascade_store *store = NULL;

    fails(CASCADE_ERR_MISUSE, open_on(db, mode, &store), part);
    assert_null(store);
    check_settings(db);
    assert_true(sqlite3_stmt_busy(statement));
    assert_int_equal(SQLITE_ROW, sqlite3_step(statement));
    sqlite3_finalize(statement);
}

/* Where the journal is to be changed; what it is doing is not disturbed. */
static void
no_log_is_begun_while_a_select_is_under_way(void **state)
{
    static const char select[] = "SELECT id FROM orders";
    sqlite_fixture *it = *state;
    sqlite3 *db = connect(it);
    sqlite3_stmt *look = NULL;
    guest own = {.db = db};

    run(db, "CREATE TABLE orders (id INTEGER PRIMARY KEY);"
            "INSERT INTO orders VALUES (1), (2), (3)");
    change_settings(db);
    refuse_while(db, CASCADE_MIGRATE_AUTO, select, "SELECT");
    refuse_while(db, CASCADE_MIGRATE_AUTO,
                 "INSERT INTO orders VALUES (4), (5) RETURNING id", "writing");
    assert_int_equal(CASCADE_OK, open_on(db, CASCADE_MIGRATE_AUTO, &own.store));
    assert_int_equal(CASCADE_OK, cascade_store_close(own.store));
    run(db, "PRAGMA journal_mode = DELETE");
    change_settings(db);
    refuse_while(db, CASCADE_MIGRATE_CHECK, select, "SELECT");
    assert_int_equal(CASCADE_OK,
                     open_on(db, CASCADE_MIGRATE_NEVER, &own.store));
    look = step_once(db, select);
    fails(CASCADE_ERR_MISUSE, try_start(&own), "SELECT");
    assert_true(sqlite3_get_autocommit(db));
    sqlite3_reset(look);
    assert_int_equal(CASCADE_OK, try_start(&own));
    assert_int_equal(SQLITE_ROW, sqlite3_step(look));
    assert_int_equal(CASCADE_OK, try_start(&own));
    sqlite3_finalize(look);
    close_guest(&own);
}

static void
give_seven(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_int(context, 7);
}

/* SQLite would add those that are new, and neither replace the application's
 * nor remove ours again. */
static void
functions_are_not_added_by_halves(void **state)
{
    sqlite_fixture *it = *state;
    sqlite3 *db = connect(it);
    sqlite3_stmt *look = NULL;

    assert_int_equal(CASCADE_OK, fixture_try(it, CASCADE_MIGRATE_AUTO));
    assert_int_equal(
        SQLITE_OK, sqlite3_create_function(db, "cascade_signal", 4, SQLITE_UTF8,
                                           NULL, give_seven, NULL, NULL));
    change_settings(db);
    look = step_once(db, COUNT_CASCADES);
    fails(CASCADE_ERR_MISUSE, cascade_sqlite_functions(db, NULL), "under way");
    check_settings(db);
    assert_int_equal(SQLITE_ERROR,
                     sqlite3_exec(db, "SELECT cascade_start('ship', NULL)",
                                  NULL, NULL, NULL));
    assert_int_equal(7, get_number(db, "SELECT cascade_signal(1, 2, 3, 4)"));
    assert_int_equal(SQLITE_DONE, sqlite3_step(look));
    assert_int_equal(CASCADE_OK, cascade_sqlite_functions(db, NULL));
    run(db, "SELECT cascade_start('ship', NULL)");
    sqlite3_finalize(look);
    assert_int_equal(SQLITE_OK, sqlite3_close(db));
}

int
main(int argc, char **argv)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(an_interrupted_call_leaves_nothing),
        TEST(an_interrupted_commit_of_an_index_is_none),
        TEST(an_interrupted_call_behind_a_select_leaves_nothing),
        TEST(an_interrupted_look_leaves_no_transaction),
        TEST(an_interrupted_call_in_a_transaction_leaves_nothing),
        TEST(an_interrupted_function_is_an_interrupted_statement),
        TEST(an_interrupted_call_in_a_statement_is_whole_or_not_there),
        TEST(a_late_hook_takes_no_lock_from_a_write),
        TEST(what_the_application_has_committed_is_told),
        TEST(what_is_left_in_a_statement_is_told),
        TEST(an_interrupted_function_in_a_transaction_leaves_no_half),
        TEST(an_interrupted_open_leaves_the_settings),
        TEST(a_failed_open_leaves_the_checkpoint_on_close),
        TEST(an_open_without_its_sidecar_leaves_the_settings),
        TEST(a_commit_that_the_hook_refuses_is_told),
        TEST(an_engine_repeats_what_the_hook_refuses),
        TEST(an_open_that_the_hook_refuses_leaves_the_settings),
        TEST(a_node_that_the_hook_refuses_has_failed),
        TEST(no_log_is_begun_while_a_select_is_under_way),
        TEST(functions_are_not_added_by_halves),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
