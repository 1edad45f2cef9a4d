/* SPDX-License-Identifier: MIT
 *
 * Stores with integrity: keys for a handle, and the check that each cascade of
 * a store has the seal of the rows that are there.
 */
#ifndef TESTS_SUPPORT_SEALED_H
#define TESTS_SUPPORT_SEALED_H

#include <stdbool.h>

#include "cascade/cascade.h"

/* What CASCADE_TEST_SEALED asks for: "hmac", "checksum"; else nothing is
 * sealed. */
bool sealed_is_wanted(void);
/* Gives the handle keys, before an engine is opened on it; `secret`: by a
 * secret. */
void sealed_open(cascade_store *store, bool secret);
/* The same as it is asked for. */
void sealed_open_wanted(cascade_store *store);

/* Reads every cascade whole. False, with lines on stderr, where one has no seal
 * or another one; `count` (may be NULL) tells how many there are. */
bool sealed_all(cascade_store *store, size_t *count);

#endif
