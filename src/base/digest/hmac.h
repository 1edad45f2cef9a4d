/* SPDX-License-Identifier: MIT
 *
 * HMAC-SHA-256 (RFC 2104, FIPS 198-1). A key is prepared once: what its two
 * padded forms do to the hash is kept, so each text costs only its own blocks
 * and two more.
 */
#ifndef CSC_BASE_DIGEST_HMAC_H
#define CSC_BASE_DIGEST_HMAC_H

#include <stdbool.h>

#include "base/digest/sha256.h"
#include "cascade/cascade.h"

#define CSC_HMAC_SIZE CSC_SHA256_SIZE

/* Holds a secret: csc_hmac_key_fini() when it is no longer needed. */
typedef struct csc_hmac_key {
    csc_sha256 inner;
    csc_sha256 outer;
} csc_hmac_key;

typedef struct csc_hmac {
    const csc_hmac_key *key;
    csc_sha256 hash;
} csc_hmac;

void csc_hmac_key_init(csc_hmac_key *key, const void *secret, size_t len);
/* Overwrites it. */
void csc_hmac_key_fini(csc_hmac_key *key);

/* `key` stays where it is until the end. */
void csc_hmac_init(csc_hmac *hmac, const csc_hmac_key *key);
void csc_hmac_add(csc_hmac *hmac, const void *bytes, size_t len);
void csc_hmac_end(csc_hmac *hmac, unsigned char tag[CSC_HMAC_SIZE]);

/* Whether they are the same; the time it takes does not tell where they differ.
 */
bool csc_hmac_equal(const void *a, const void *b, size_t len);

#endif
