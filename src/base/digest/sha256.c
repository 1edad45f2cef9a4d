/* SPDX-License-Identifier: MIT
 *
 * SHA-256 as FIPS 180-4 writes it; the names are the standard's. Bytes gather
 * in `block` and each full block of 64 is mixed into `state`. The end adds one
 * bit, zeros, and the length in bits, so that the last block is full too.
 */
#include "base/digest/sha256.h"

#include <string.h>

#include "cascade/cascade.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64
 * primes (FIPS 180-4, 4.2.2). */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
rotr(uint32_t x, unsigned n)
{
    return (x >> n) | (x << (32 - n));
}

static uint32_t
load_be32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | (uint32_t)at[3];
}

static void
store_be32(unsigned char *at, uint32_t value)
{
    at[0] = (unsigned char)(value >> 24);
    at[1] = (unsigned char)(value >> 16);
    at[2] = (unsigned char)(value >> 8);
    at[3] = (unsigned char)value;
}

/* The message schedule W (FIPS 180-4, 6.2.2, step 1). */
static void
schedule(uint32_t w[64], const unsigned char block[64])
{
    for (size_t t = 0; t < 16; t++)
        w[t] = load_be32(block + 4 * t);
    for (size_t t = 16; t < 64; t++) {
        uint32_t s0 =
            rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
        uint32_t s1 =
            rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);

        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

/* Mixes one block into the state (6.2.2, steps 2 to 4). v[0..7] is a..h. */
static void
mix(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64] = {0};
    uint32_t v[8];

    schedule(w, block);
    memcpy(v, state, sizeof(v));
    for (size_t t = 0; t < 64; t++) {
        uint32_t sum1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
        uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + sum1 + ch + k[t] + w[t];
        uint32_t sum0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
        uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + sum0 + maj;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

void
csc_sha256_init(csc_sha256 *hash)
{
    /* The square roots of the first 8 primes (5.3.3). */
    static const uint32_t first[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };

    memset(hash, 0, sizeof(*hash));
    memcpy(hash->state, first, sizeof(first));
}

void
csc_sha256_add(csc_sha256 *hash, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    while (len > 0) {
        size_t used = hash->byte_count % sizeof(hash->block);
        size_t part = sizeof(hash->block) - used;

        if (part > len)
            part = len;
        memcpy(hash->block + used, at, part);
        hash->byte_count += part;
        if (used + part == sizeof(hash->block))
            mix(hash->state, hash->block);
        at += part;
        len -= part;
    }
}

void
csc_sha256_end(csc_sha256 *hash, unsigned char digest[CSC_SHA256_SIZE])
{
    static const unsigned char pad[64] = {0x80};
    uint64_t bit_count = hash->byte_count * 8;
    size_t used = hash->byte_count % 64;
    unsigned char length[8];

    csc_sha256_add(hash, pad, used < 56 ? 56 - used : 120 - used);
    store_be32(length, (uint32_t)(bit_count >> 32));
    store_be32(length + 4, (uint32_t)bit_count);
    csc_sha256_add(hash, length, sizeof(length));
    for (size_t i = 0; i < 8; i++)
        store_be32(digest + 4 * i, hash->state[i]);
}
