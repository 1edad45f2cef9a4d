/* SPDX-License-Identifier: MIT
 *
 * Stores with integrity: options for a handle, and the check that each cascade
 * of a store has the seal of the rows that are there.
 */
#ifndef TESTS_SUPPORT_SEALED_H
#define TESTS_SUPPORT_SEALED_H

#include <stdbool.h>

#include "cascade/cascade.h"

/* By a secret of the tests. */
const cascade_integrity *sealed_by_secret(void);
const cascade_integrity *sealed_by_checksum(void);
/* What CASCADE_TEST_SEALED asks for: "hmac", "checksum"; else NULL. */
const cascade_integrity *sealed_wanted(void);

/* Reads every cascade whole. False, with lines on stderr, where one has no seal
 * or another one; `count` (may be NULL) tells how many there are. */
bool sealed_all(cascade_store *store, size_t *count);

#endif
