/* SPDX-License-Identifier: MIT
 *
 * Integers of 64 bits in JSON. Part of cascade.h, whose head has the
 * words and the rules for threads, ownership and errors; including either of
 * the two is the same.
 *
 * INTEGERS
 *   No number is read on its way through the library: as text each digit stays,
 *   and as 1e2 is the same number as 100, that is what is kept of it.
 *   cJSON has a double for each number, which holds integers up to 2^53. So
 *   cJSON_Parse() has changed 9007199254740993 before the library sees it, and
 *   cJSON_Print() prints what the double is: use texts, or the calls
 *   below. A tree that the library hands out has, in the valuestring of such a
 *   number, its digits; they stay with it in cJSON_Duplicate(), and are what is
 *   kept when it is handed in again, as long as its double is not set to
 *   another.
 */
#ifndef CASCADE_TEXT_H
#define CASCADE_TEXT_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Integers ------------------------------------------------------------ */

/* A number of exactly that value, to be put into a tree; NULL when out of
 * memory. The caller frees it with cJSON_Delete(), or the tree does. */
CASCADE_API cJSON *cascade_json_create_int64(int64_t value);

/* Adds one to `object` under `name`. CASCADE_ERR_INVALID: `object` is none, or
 * `name` is NULL. */
CASCADE_API cascade_err cascade_json_add_int64(cJSON *object, const char *name,
                                               int64_t value);

/* Reads the integer that `item` is; any tree will do. CASCADE_ERR_NOT_FOUND:
 * `item` is NULL, as cJSON gives it for a member that is not there.
 * CASCADE_ERR_JSON: it is no number, or none that is an integer of 64 bits, or
 * it would have to be guessed: of a number beyond 2^53 only a double is left,
 * as cJSON_Parse() and cJSON_CreateNumber() leave it. */
CASCADE_API cascade_err cascade_json_get_int64(const cJSON *item,
                                               int64_t *value);

#ifdef __cplusplus
}
#endif

#endif
