/* SPDX-License-Identifier: MIT
 *
 * SipHash-2-4 with 128 bits (Aumasson and Bernstein): several times as fast as
 * SHA-256. With a key that everybody knows it finds accidents, and no
 * attackers.
 */
#ifndef CSC_BASE_DIGEST_SIPHASH_H
#define CSC_BASE_DIGEST_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_SIPHASH_SIZE 16
#define CSC_SIPHASH_KEY_SIZE 16

typedef struct csc_siphash {
    uint64_t v[4];
    uint64_t word; /* the bytes of one that is not full */
    uint64_t byte_count;
} csc_siphash;

void csc_siphash_init(csc_siphash *hash,
                      const unsigned char key[CSC_SIPHASH_KEY_SIZE]);
void csc_siphash_add(csc_siphash *hash, const void *bytes, size_t len);
void csc_siphash_end(csc_siphash *hash, unsigned char tag[CSC_SIPHASH_SIZE]);

#endif
