/* SPDX-License-Identifier: MIT
 *
 * SQL from outside, each statement on a connection of its own: servers come and
 * go in these tests. The test fails where the statement does.
 */
#ifndef TESTS_FAULTS_ADMIN_H
#define TESTS_FAULTS_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

void admin_sql(const char *conninfo, const char *sql);
/* Whether it could be done. */
bool admin_try(const char *conninfo, const char *sql);
/* The first value as a number; 0 for NULL and for no row. */
int64_t admin_number(const char *conninfo, const char *sql);
/* Waits until that is not 0. A server that cannot be reached yet counts as 0.
 */
void admin_until(const char *conninfo, const char *sql);

#endif
