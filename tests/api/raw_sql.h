/* SPDX-License-Identifier: MIT
 *
 * SQL past the library, as another program would run it.
 */
#ifndef TESTS_API_RAW_SQL_H
#define TESTS_API_RAW_SQL_H

#include "support/stores.h"

/* Runs statements in the test's database, which is not one in memory; fails the
 * test when one fails. */
void raw_sql(const test_db *db, const char *sql);

/* The first column of the first row; "" without one. */
void raw_sql_text(const test_db *db, const char *sql, char *text, size_t size);

#endif
