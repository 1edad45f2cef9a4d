/* SPDX-License-Identifier: MIT
 *
 * Where several processes meet: a database and a folder. The folder holds the
 * SQLite file, the log of side effects and the figures of the workers; on
 * PostgreSQL the tables lie in a schema of their own. Both are gone at the end.
 */
#ifndef TESTS_PROCESS_PLACE_H
#define TESTS_PROCESS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

typedef enum place_kind {
    PLACE_SQLITE,
    PLACE_POSTGRES
} place_kind;

typedef struct test_place {
    place_kind kind;
    char folder[128];
    char url[512];
    char schema[64]; /* "": the default */
    bool relaxed;    /* opened with relaxed durability */
} test_place;

extern const char *const place_names[2]; /* "sqlite", "postgres" */

/* Makes an empty database; fails the test when it cannot. */
void place_create(test_place *place, place_kind kind);
/* On a server of the test's own: `conninfo`, in the default schema. */
void place_create_at(test_place *place, const char *conninfo);
void place_destroy(test_place *place);

/* Opens it in this process; fails the test when it cannot. */
cascade_store *place_open(const test_place *place);

/* A file in the folder. `path` has PLACE_PATH bytes. */
#define PLACE_PATH 192
char *place_path(const test_place *place, const char *name,
                 char path[PLACE_PATH]);

/* The conninfo of the server for tests; fails the test without one. */
const char *place_server(void);

/* A test of each kind: its name with the kind's behind, and the kind as its
 * state. To be used in a table of struct CMUnitTest. */
extern place_kind place_kinds[2];
#define PLACE_TEST(test, kind, suffix) \
    {#test suffix, test, NULL, NULL, &place_kinds[kind]},
#ifdef CASCADE_HAVE_SQLITE
#define PLACE_SQLITE_TEST(test) PLACE_TEST(test, PLACE_SQLITE, "_on_sqlite")
#else
#define PLACE_SQLITE_TEST(test)
#endif
#ifdef CASCADE_HAVE_POSTGRES
#define PLACE_POSTGRES_TEST(test) \
    PLACE_TEST(test, PLACE_POSTGRES, "_on_postgres")
#else
#define PLACE_POSTGRES_TEST(test)
#endif
#define PLACE_EACH(test) PLACE_SQLITE_TEST(test) PLACE_POSTGRES_TEST(test)
place_kind place_of(void **state);

/* ---- Waiting ------------------------------------------------------------- */

int64_t place_now_ms(void); /* monotonic */

/* Waits until `condition` holds: true; false when `limit_ms` passes first. */
bool place_wait(bool (*condition)(void *context), void *context,
                int64_t limit_ms);

/* ---- Chance -------------------------------------------------------------- */

/* Seeded once from CASCADE_TEST_SEED or the clock, and printed. 0 to
 * below - 1. */
uint64_t place_random(uint64_t below);

#endif
