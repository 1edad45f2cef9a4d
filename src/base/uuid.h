/* SPDX-License-Identifier: MIT
 *
 * UUIDs: version 7 (RFC 9562: time-ordered, so that inserts go to the right
 * edge of an index) and version 8 (name-based by SHA-256, for idempotency
 * keys). cascade_uuid_parse() and _format() live here too.
 */
#ifndef CSC_BASE_UUID_H
#define CSC_BASE_UUID_H

#include <stdbool.h>

#include "base/digest/sha256.h"
#include "cascade/cascade.h"

/* A new version 7 id at `now_ms`, with 74 random bits of `random`. */
cascade_uuid csc_uuid_v7(int64_t now_ms, const cascade_random *random);

/* `count` of them, with one draw of random bytes for all; those of one call
 * ascend strictly. */
void csc_uuid_v7_many(int64_t now_ms, const cascade_random *random,
                      cascade_uuid *ids, size_t count);

/* See cascade_uuid_from_key(). `run` is the run number of the key. */
cascade_uuid csc_uuid_v8(const char *user_id, const char *key, int64_t run);

/* Version 8 as well, of what somebody else has hashed. */
cascade_uuid csc_uuid_of_digest(const unsigned char digest[CSC_SHA256_SIZE]);

bool csc_uuid_is_nil(const cascade_uuid *id);
bool csc_uuid_equal(const cascade_uuid *a, const cascade_uuid *b);
int csc_uuid_compare(const cascade_uuid *a, const cascade_uuid *b);
/* The same order of what must not be guessed, tokens: it takes as long wherever
 * they differ. */
int csc_uuid_compare_secret(const cascade_uuid *a, const cascade_uuid *b);
/* Whether an incarnation is of an engine that lives for one call: it does what
 * the call is for and goes, so nobody may leave anything else to it. Told by
 * the version of its id, 8 in place of 7. */
bool csc_uuid_is_brief(const cascade_uuid *engine_id);

/* Makes an id that of an engine that lives for one call. */
void csc_uuid_mark_brief(cascade_uuid *id);

#endif
