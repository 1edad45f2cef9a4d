/* SPDX-License-Identifier: MIT
 *
 * The database of a conformance test on PostgreSQL: a schema of its own, made
 * and dropped on a connection to `conninfo` that lasts as long as the program.
 */
#ifndef TESTS_STORE_SCHEMA_FIXTURE_H
#define TESTS_STORE_SCHEMA_FIXTURE_H

#include "store/conformance/conformance.h"

/* Names it `prefix`_<process>_<number>. 0, or -1 with a line on stderr. */
int schema_create(conformance_place *place, const char *conninfo,
                  const char *prefix);
void schema_destroy(const conformance_place *place, const char *conninfo);

#endif
