/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4): for keyed ids and the checksums of migrations. No
 * package the library stands on has it.
 */
#ifndef CSC_BASE_DIGEST_SHA256_H
#define CSC_BASE_DIGEST_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_SHA256_SIZE 32

typedef struct csc_sha256 {
    uint32_t state[8];
    uint64_t byte_count;
    unsigned char block[64];
} csc_sha256;

void csc_sha256_init(csc_sha256 *hash);
void csc_sha256_add(csc_sha256 *hash, const void *bytes, size_t len);
void csc_sha256_end(csc_sha256 *hash, unsigned char digest[CSC_SHA256_SIZE]);

#endif
