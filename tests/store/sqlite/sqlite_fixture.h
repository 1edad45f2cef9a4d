/* SPDX-License-Identifier: MIT
 *
 * For tests of what is particular to SQLite: a folder of its own for each test,
 * a database in it, and a way around the library (plain SQL on the file).
 */
#ifndef TESTS_STORE_SQLITE_SQLITE_FIXTURE_H
#define TESTS_STORE_SQLITE_SQLITE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "base/error.h"
#include "base/uuid.h"
#include "store/migrate.h"
#include "store/sqlite/internal.h"
#include "store/store.h"
#include "support/fake_clock.h"
#include "support/rows.h"

/* Until a test gives up on what must come. */
#define FIXTURE_WAIT_MS 90000

typedef struct sqlite_fixture {
    char folder[200];
    char path[256];
    char url[512];
    int64_t deadline_ms; /* of stores opened here; FIXTURE_WAIT_MS at first */
    fake_clock clock;
    test_rows rows;
} sqlite_fixture;

/* For cmocka: *state is a sqlite_fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Opens the database through the library. */
cascade_err fixture_open(sqlite_fixture *it, cascade_migrate mode,
                         cascade_store **store);
/* The same, which must succeed. */
cascade_store *fixture_store(sqlite_fixture *it);
/* The deadline of the moves that follow: a short one for those that are to meet
 * it, and FIXTURE_WAIT_MS again for what must succeed. */
void fixture_set_deadline(cascade_store *store, int64_t ms);
/* Opens and closes. */
cascade_err fixture_try(sqlite_fixture *it, cascade_migrate mode);

/* Plain SQL on the file, which must succeed. */
void fixture_sql(sqlite_fixture *it, const char *sql);
/* The first column of its first row. */
int64_t fixture_number(sqlite_fixture *it, const char *sql);
void fixture_word(sqlite_fixture *it, const char *sql, char text[256]);
/* The text of the first migration, as a person would feed it to sqlite3. */
const char *fixture_migration(void);

cascade_uuid fixture_attach(sqlite_fixture *it, cascade_store *store);
/* As a library did that knew no migration but the first; without a lease. */
cascade_uuid fixture_attach_old(sqlite_fixture *it);
/* A cascade as the first release wrote it, due, with a run of that engine;
 * NULL: with a free one. */
cascade_uuid fixture_insert_old(sqlite_fixture *it,
                                const cascade_uuid *engine_id);
cascade_err fixture_submit(cascade_store *store, cascade_change *start);
cascade_err fixture_commit(cascade_store *store, cascade_uuid engine_id,
                           int64_t number, cascade_change *change);

/* fork(), whose child ends where an assertion fails: it must not go on with the
 * tests behind it. */
pid_t fixture_start(void);
/* Runs `child` in a forked process, which must exit with 0. */
void fixture_fork(sqlite_fixture *it, int (*child)(sqlite_fixture *it));

/* Columns that migrations add, by their numbers. */
#define FIXTURE_ADDITIONS 10

typedef struct fixture_addition {
    size_t number;
    const char *table;
    const char *column;
} fixture_addition;

extern const fixture_addition fixture_additions[FIXTURE_ADDITIONS];

#endif
