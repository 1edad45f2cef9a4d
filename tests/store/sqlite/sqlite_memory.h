/* SPDX-License-Identifier: MIT
 *
 * SQLite's allocator with a wish to fail: the count-th allocation from now, or
 * all from there on. For the whole process.
 */
#ifndef TESTS_STORE_SQLITE_SQLITE_MEMORY_H
#define TESTS_STORE_SQLITE_SQLITE_MEMORY_H

#include <stdbool.h>

/* Before SQLite is used, or after sqlite3_shutdown(). An SQLITE_* code. */
int sqlite_memory_install(void);
/* From now on a failure is that of one, or of all from there on. */
void sqlite_memory_last(bool all);
/* The nth from now fails, from 1. */
void sqlite_memory_fail(long nth);
/* Ends it: whether the nth was reached. */
bool sqlite_memory_stop(void);

#endif
