/* SPDX-License-Identifier: MIT
 *
 * A store on the application's own connection: each of the library's calls of
 * SQLite fails, in the ways in which SQLite can fail, once or from one on. The
 * application's own do not. Whatever fails: a call that says so has left
 * nothing, in a transaction at once; a transaction that is gone is told of; no
 * half of a start is ever committed; and the connection can be closed.
 *
 * Not struck is "after its effect" within a transaction: SQLite knows that of a
 * COMMIT alone.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cascade/sqlite.h"
#include "sweep/calls_sqlite.h"
#include "sweep/events.h"

#define POINTS 60 /* of a fault; CASCADE_SWEEP=full: all */
#define TRIGGER                                                              \
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, started TEXT);"            \
    "CREATE TABLE asked (id INTEGER PRIMARY KEY);"                           \
    "CREATE TRIGGER ask AFTER INSERT ON asked BEGIN"                         \
    "    INSERT INTO orders (started) VALUES (cascade_start('ship', '{}'));" \
    " END"

/* SQLite's own, which do not count. */
int __real_sqlite3_exec(sqlite3 *, const char *,
                        int (*)(void *, int, char **, char **), void *,
                        char **);

typedef struct fault {
    const char *name;
    int variant;
    bool lasting;
} fault;

/* One life of a connection. */
typedef struct life {
    char folder[200];
    char path[256];
    sqlite3 *db;
    cascade_store *store;
    int sure;    /* starts that must be there */
    int perhaps; /* and those that may */
} life;

static bool
run(const life *it, const char *sql)
{
    return __real_sqlite3_exec(it->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static int
note_number(void *context, int count, char **values, char **names)
{
    (void)count;
    (void)names;
    *(int *)context = atoi(values[0]);
    return 0;
}

static int
get_number(const life *it, const char *sql)
{
    int number = -1;

    if (__real_sqlite3_exec(it->db, sql, note_number, &number, NULL) !=
        SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(it->db));
    return number;
}

static bool
start(const life *it, cascade_uuid *id)
{
    cascade_started started = {0};
    const cascade_err err =
        cascade_start(it->store, "ship", NULL, NULL, &started);

    assert_int_equal(err == CASCADE_OK, cascade_errmsg()[0] == '\0');
    *id = started.id;
    return err == CASCADE_OK;
}

/* False when the transaction is over. */
static bool
is_still_open(const life *it)
{
    bool open = !sqlite3_get_autocommit(it->db);

    if (!open && strstr(cascade_errmsg(), "rolled back") == NULL)
        fail_msg("the transaction is gone: \"%s\"", cascade_errmsg());
    return open;
}

/* Where nothing works any more the text says so. */
static bool
must_be_rolled_back(const life *it)
{
    if (strstr(cascade_errmsg(), "do not COMMIT") == NULL)
        return false;
    assert_true(run(it, "ROLLBACK"));
    return true;
}

static void
live_in_a_transaction(life *it)
{
    cascade_uuid id;
    int made = 0;

    assert_true(run(it, "BEGIN IMMEDIATE"));
    assert_true(run(it, "INSERT INTO orders DEFAULT VALUES"));
    for (int i = 0; i < 2; i++) {
        if (start(it, &id)) {
            made++;
            (void)cascade_signal(it->store, &id, "news", NULL, NULL);
        }
        if (!is_still_open(it) || must_be_rolled_back(it))
            return;
        assert_int_equal(get_number(it, "SELECT count(*) FROM cascades"),
                         made + it->sure);
    }
    assert_true(run(it, "COMMIT"));
    it->sure += made;
}

static void
live_alone(life *it)
{
    cascade_uuid id;

    if (start(it, &id))
        it->sure++;
    else
        it->perhaps++;
    assert_true(must_be_rolled_back(it) || sqlite3_get_autocommit(it->db));
}

/* By a SELECT, and by a trigger in a transaction. */
static void
live_by_functions(life *it)
{
    const cascade_store_options options = {.size = sizeof(options)};
    int before;
    bool done;

    if (cascade_sqlite_functions(it->db, &options) != CASCADE_OK)
        return;
    if (run(it, "SELECT cascade_start('ship', NULL)"))
        it->sure++;
    else
        it->perhaps++;
    assert_true(must_be_rolled_back(it) || sqlite3_get_autocommit(it->db));
    assert_true(run(it, "BEGIN IMMEDIATE"));
    before = get_number(it, "SELECT count(*) FROM cascades");
    done = run(it, "INSERT INTO asked DEFAULT VALUES");
    if (sqlite3_get_autocommit(it->db) || must_be_rolled_back(it))
        return;
    assert_int_equal(get_number(it, "SELECT count(*) FROM cascades"),
                     before + done);
    assert_true(run(it, "COMMIT"));
    it->sure += done;
}

static void
live(life *it)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .deadline_ms = 60000};

    if (cascade_sqlite_open(it->db, &options, &it->store) == CASCADE_OK) {
        live_in_a_transaction(it);
        live_alone(it);
    }
    live_by_functions(it);
}

static void
connect(life *it)
{
    assert_int_equal(SQLITE_OK, sqlite3_open(it->path, &it->db));
    assert_true(run(it, "PRAGMA synchronous = OFF"));
}

static void
look_at_what_is_left(const life *it)
{
    int there = 0;

    if (get_number(it, "SELECT count(*) FROM sqlite_schema"
                       " WHERE name = 'cascade_runs'") > 0) {
        there = get_number(it, "SELECT count(*) FROM cascades");
        assert_int_equal(there,
                         get_number(it, "SELECT count(*) FROM cascade_runs"));
        assert_int_equal(
            there, get_number(it, "SELECT count(*) FROM node_executions"));
    }
    assert_in_range(there, it->sure, it->sure + it->perhaps);
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

/* How many calls there were. */
static size_t
play(const fault *how, size_t nth)
{
    const char *base = getenv("TMPDIR");
    life it = {.sure = 0};
    size_t seen = 0;

    snprintf(it.folder, sizeof(it.folder), "%s/cascade-guest.XXXXXX",
             base == NULL ? "/tmp" : base);
    assert_non_null(mkdtemp(it.folder));
    snprintf(it.path, sizeof(it.path), "%s/cascade.db", it.folder);
    connect(&it);
    assert_true(run(&it, TRIGGER));
    events_arm(nth, how->lasting, how->variant, &seen);
    live(&it);
    events_disarm();
    assert_int_equal(CASCADE_OK, cascade_store_close(it.store));
    if (!sqlite3_get_autocommit(it.db))
        (void)run(&it, "ROLLBACK");
    assert_int_equal(SQLITE_OK, sqlite3_close(it.db));
    connect(&it);
    look_at_what_is_left(&it);
    assert_int_equal(SQLITE_OK, sqlite3_close(it.db));
    nftw(it.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return seen;
}

static void
whatever_fails_leaves_no_half(void **state)
{
    static const fault faults[] = {
        {"a call is busy", CALLS_BUSY, false},
        {"a call finds the disk full", CALLS_FULL, false},
        {"a call cannot write", CALLS_IOERR, false},
        {"a call is out of memory", CALLS_NOMEM, false},
        {"a call finds a damaged file", CALLS_CORRUPT, false},
        {"a call fails and has rolled back", CALLS_ROLLED_BACK, false},
        {"calls are out of memory from one on", CALLS_NOMEM, true},
        {"calls fail and have rolled back from one on", CALLS_ROLLED_BACK,
         true},
    };
    const char *full = getenv("CASCADE_SWEEP");
    size_t calls = play(&faults[0], 0);

    (void)state;
    assert_true(calls > POINTS);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        size_t step = full != NULL ? 1 : calls / POINTS;
        size_t nth = 1 + i % step;

        for (; nth <= calls; nth += step) {
            if (getenv("CASCADE_TEST_LOG") != NULL)
                print_message("%s: %zu of %zu\n", faults[i].name, nth, calls);
            (void)play(&faults[i], nth);
        }
    }
}

/* The functions alone, on a connection without a store. */
static size_t
add_functions(const char *path, size_t nth, bool *added)
{
    const cascade_store_options options = {.size = sizeof(options)};
    life it = {.sure = 0};
    size_t seen = 0;
    bool there;

    snprintf(it.path, sizeof(it.path), "%s", path);
    connect(&it);
    events_arm(nth, false, CALLS_NOMEM, &seen);
    *added = cascade_sqlite_functions(it.db, &options) == CASCADE_OK;
    events_disarm();
    assert_int_equal(*added, cascade_errmsg()[0] == '\0');
    for (int count = 2; count <= 7; count++) {
        char sql[100];

        snprintf(sql, sizeof(sql),
                 "SELECT count(*) FROM pragma_function_list"
                 " WHERE name = 'cascade_start' AND narg = %d",
                 count);
        there = get_number(&it, sql) == 1;
        assert_int_equal(*added, there);
    }
    if (!*added) {
        assert_int_equal(1000, get_number(&it, "PRAGMA wal_autocheckpoint"));
        assert_int_equal(0, get_number(&it, "PRAGMA foreign_keys"));
    }
    assert_int_equal(SQLITE_OK, sqlite3_close(it.db));
    return seen;
}

static void
functions_are_added_all_or_none(void **state)
{
    const char *base = getenv("TMPDIR");
    char folder[200];
    char path[256];
    bool added = false;
    size_t calls;

    (void)state;
    snprintf(folder, sizeof(folder), "%s/cascade-guest.XXXXXX",
             base == NULL ? "/tmp" : base);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/cascade.db", folder);
    (void)add_functions(path, 0, &added); /* makes the schema */
    assert_true(added);
    calls = add_functions(path, 0, &added);
    assert_true(calls > 10);
    for (size_t nth = 1; nth <= calls; nth++)
        (void)add_functions(path, nth, &added);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_fails_leaves_no_half),
        cmocka_unit_test(functions_are_added_all_or_none),
    };

    return cmocka_run_group_tests_name("sweep_sqlite_guest", tests, NULL, NULL);
}
