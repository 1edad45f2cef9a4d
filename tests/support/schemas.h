/* SPDX-License-Identifier: MIT
 *
 * Schemas of PostgreSQL for the tests of a program, one test after another. To
 * make one, with all migrations, and to drop it takes longer than most tests.
 * So the next test gets that of the one before it, emptied, where nothing but
 * rows was changed in it: what is in the catalogue must be as it was made.
 *
 *   take --> made and migrated, or the one that was kept
 *     |
 *   the test, and whatever it does
 *     |
 *   give --+-- as it was made: all rows go, sequences begin anew; kept
 *          +-- else: dropped
 *
 * One thread at a time.
 */
#ifndef TESTS_SUPPORT_SCHEMAS_H
#define TESTS_SUPPORT_SCHEMAS_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

/* To the server that CASCADE_TEST_PG names; NULL without one. */
PGconn *schemas_connect(void);
/* Runs it, again where it stood crosswise with others. 0, or -1 and a line on
 * stderr. */
int schemas_run(PGconn *connection, const char *sql);

/* The name of a schema, of at most 63 bytes: 0, or -1. */
int schemas_take(char *name, size_t size);
/* It is made anew, without a migration. */
int schemas_clear(const char *name);
/* `used`: somebody may still use it. */
void schemas_give(const char *name, bool used);
/* Drops what was kept, and ends the connection. */
void schemas_end(void);

#endif
