/* SPDX-License-Identifier: MIT
 *
 * Random JSON texts: valid, far from canonical, full of what jsonb treats in a
 * special way.
 */
#ifndef TESTS_BASE_JSON_RANDOM_H
#define TESTS_BASE_JSON_RANDOM_H

#include "base/support.h"

/* Appends a value; the keys of one object differ. */
void json_random_add(csc_buf *out, support_rng *rng);

/* Replaces, removes, doubles or inserts a few bytes of `text`. */
void json_random_spoil(csc_buf *text, support_rng *rng);

#endif
