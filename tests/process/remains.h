/* SPDX-License-Identifier: MIT
 *
 * What must not be left when everything has ended and everybody is gone. Looked
 * at with plain SQL, beside the library.
 */
#ifndef TESTS_PROCESS_REMAINS_H
#define TESTS_PROCESS_REMAINS_H

#include "process/place.h"

/* No run, incarnation or lane is there; the rows of the three tables, and a
 * SQLite file, are sound. Fails the test and names what is not otherwise. */
void remains_check(const test_place *place);

/* How many rows there are, as `table` says: its name, or "NAME WHERE ...". */
int64_t remains_rows(const test_place *place, const char *table);

/* How many connections of workers the server has; 0 without a server. */
int64_t remains_backends(const test_place *place);

/* How many messages wait to be received, and cascades have not ended. */
int64_t remains_open(const test_place *place);

/* How many incarnations there are. */
int64_t remains_engines(const test_place *place);

#endif
