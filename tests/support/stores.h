/* SPDX-License-Identifier: MIT
 *
 * The stores that tests of the engine run on, and what one test gets: a fresh
 * database, with the store handles and engines it opens closed after it.
 *
 *     static void
 *     a_sentence(test_db *db)
 *     {
 *         cascade_store *store = db_store(db);
 *         ...
 *     }
 *     static const stores_test tests[] = {{"a_sentence", a_sentence}};
 *     return stores_run("group", tests, 1, argc, argv);
 *
 * runs it once on memory, once on a SQLite file in a folder of its own, once in
 * a PostgreSQL schema that nobody else uses (schemas.h). There all migrations
 * have been applied. PostgreSQL is the database that CASCADE_TEST_PG names (a
 * conninfo). Where that is missing though the backend is built in, its tests
 * fail; where it is "none" they are left out, and whoever has said so tells
 * that they were skipped (tests/lib/needs.sh). Where CASCADE_TEST_STORES is
 * "turns", a test runs on memory and on one of the two others, with "others" on
 * memory and the other one: for a build whose tests are slow, beside another
 * that runs what is left. How many were left out is told. An argument is a
 * filter of names ("*sqlite*").
 *
 * After each test, and where it closes the last of its handles, what is in the
 * database must be sound (sound.h), unless the test says that it has broken it.
 *
 * Nodes run in threads of the library, where a failing assertion of cmocka
 * would jump out of its frames: there it is expect(), which notes what failed;
 * the end of the test looks.
 */
#ifndef TESTS_SUPPORT_STORES_H
#define TESTS_SUPPORT_STORES_H

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cascade/cascade.h"
#include "support/fake_clock.h"
#include "support/wrap_store.h"

#define DB_HANDLES 32
#define DB_WAIT_MS 120000    /* until a test gives up waiting */
#define DB_DEADLINE_MS 60000 /* of the handles' calls */

typedef struct test_db test_db;

typedef struct test_backend {
    const char *name;
    bool virtual_time; /* the store's clock is the injected one */
    int (*create)(test_db *db);
    void (*destroy)(test_db *db);
    int (*run_sql)(test_db *db, const char *sql); /* NULL: there is none */
} test_backend;

struct test_db {
    const test_backend *backend;
    char url[1024];
    char schema[64];
    char folder[256];
    fake_clock clock;
    bool fake_time; /* set before a store is opened: it gets `clock` */
    const cascade_integrity *integrity; /* of its stores; NULL: as
                                           CASCADE_TEST_SEALED says */
    bool log_warnings;                  /* kept in `log`, else only counted */
    bool unsound; /* the test breaks rows: they are not verified after it */
    bool used;    /* some handle of it could not be closed */
    _Atomic uint64_t random;
    _Atomic size_t warnings;
    cascade_store *stores[DB_HANDLES];
    size_t store_count;
    cascade_engine *engines[DB_HANDLES];
    size_t engine_count;
};

typedef enum stores_where {
    STORES_ALL = 0,
    STORES_VIRTUAL, /* those whose clock can be injected */
    STORES_MEMORY,
    STORES_SQLITE,
    STORES_POSTGRES,
    STORES_FILES /* all but memory: those that outlive a process */
} stores_where;

typedef struct stores_test {
    const char *name;
    void (*run)(test_db *db);
    stores_where where;
} stores_test;

int stores_run(const char *group, const stores_test *tests, size_t count,
               int argc, char **argv);

/* ---- Handles ------------------------------------------------------------ */

/* One more handle, as another process would have. */
cascade_store *db_store(test_db *db);
/* One that goes through `wrap`, which must have been made for db->url. */
cascade_store *db_wrapped(test_db *db, wrap_store *wrap);
cascade_store_options db_store_options(test_db *db);
/* An engine that is closed at the end. */
cascade_engine *db_engine(test_db *db, cascade_store *store,
                          const cascade_engine_options *options);
/* Stops and closes it now. */
void db_close_engine(test_db *db, cascade_engine *engine);
void db_close_store(test_db *db, cascade_store *store);

/* Whether other programs can write the database, and SQL by one of those
 * (several statements; on PostgreSQL in the test's schema): 0, or -1. */
bool db_has_sql(const test_db *db);
int db_sql(test_db *db, const char *sql);
/* Nothing is there then, no table either: what migrations have made goes. */
void db_clear(test_db *db);

/* Keeps a copy of the whole database (SQLite only), and puts it back under
 * whoever has it open: 0, or -1. */
int db_keep_copy(test_db *db);
int db_restore_copy(test_db *db);

/* ---- Checks ------------------------------------------------------------- */

#define assert_ok(call) \
    stores_check((call), CASCADE_OK, #call, __FILE__, __LINE__)
/* It fails with `err` and leaves a text. */
#define assert_fails(err, call) \
    stores_check((call), (err), #call, __FILE__, __LINE__)
void stores_check(cascade_err got, cascade_err wanted, const char *call,
                  const char *file, int line);

/* For any thread: gives `condition` back. */
#define expect(condition) \
    stores_expect((condition), #condition, __FILE__, __LINE__)
bool stores_expect(bool condition, const char *text, const char *file,
                   int line);

/* Waits for a semaphore, whatever signals come. */
void stores_await(sem_t *sem);

/* Waits until `done`; false after DB_WAIT_MS. */
bool stores_until(bool (*done)(void *context), void *context);

/* Waits for the end of a cascade, which must end in `status`. */
void db_await(cascade_store *store, const cascade_uuid *id,
              cascade_status status);

/* Starts a cascade of one node without input. */
cascade_uuid db_start(cascade_store *store, const char *node);
/* The same with an input as JSON text. */
cascade_uuid db_start_text(cascade_store *store, const char *node,
                           const char *input);

/* Polls engines of the modes LOOP and INLINE in turn until `done`, sleeping on
 * their descriptors, or, with the test's clock, moving it on to the next time
 * that anything is due. False after DB_WAIT_MS. */
bool db_poll_until(test_db *db, cascade_engine *const *engines, size_t count,
                   bool (*done)(void *context), void *context);

/* For stores_until() and db_poll_until(): whether all of these have ended. */
typedef struct db_ends {
    cascade_store *store;
    const cascade_uuid *ids;
    size_t count;
    size_t ended; /* begins at 0 */
} db_ends;
bool db_all_ended(void *context);

cascade_engine_stats db_stats(cascade_engine *engine);

/* Returns when the housekeeper of the one engine on `wrap` has gone through a
 * whole round; `store` goes through it too. For any thread but his. */
void db_pass_rounds(cascade_store *store, wrap_store *wrap);

/* Returns when the handle hears wake-ups. Before an engine is on it: one that
 * polls often, or is woken, may not find the time to connect for that. */
void db_hear_wakes(cascade_store *store);

/* A node that does nothing. */
cascade_err stores_nothing(cascade_node *node, void *user);

/* A number that depends on `text` alone (FNV-1a, mixed). */
uint64_t stores_hash(const char *text, uint64_t salt);

#endif
