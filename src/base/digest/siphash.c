/* SPDX-License-Identifier: MIT
 *
 * SipHash as its paper writes it; the names are the paper's. Bytes gather in
 * `word`, the lowest first, and each full word is mixed in by two rounds. The
 * last one has the length in its highest byte.
 */
#include "base/digest/siphash.h"

#include "cascade/cascade.h"

static uint64_t
load_le64(const unsigned char *at)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void
store_le64(unsigned char *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t
rotl(uint64_t x, unsigned n)
{
    return (x << n) | (x >> (64 - n));
}

static void
mix(uint64_t v[4], unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[1] = rotl(v[1], 13) ^ v[0];
        v[0] = rotl(v[0], 32);
        v[2] += v[3];
        v[3] = rotl(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotl(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotl(v[1], 17) ^ v[2];
        v[2] = rotl(v[2], 32);
    }
}

static void
take_word(csc_siphash *hash, uint64_t word)
{
    hash->v[3] ^= word;
    mix(hash->v, 2);
    hash->v[0] ^= word;
}

void
csc_siphash_init(csc_siphash *hash,
                 const unsigned char key[CSC_SIPHASH_KEY_SIZE])
{
    uint64_t k0 = load_le64(key);
    uint64_t k1 = load_le64(key + 8);

    hash->v[0] = 0x736f6d6570736575 ^ k0;
    hash->v[1] = 0x646f72616e646f6d ^ k1 ^ 0xee;
    hash->v[2] = 0x6c7967656e657261 ^ k0;
    hash->v[3] = 0x7465646279746573 ^ k1;
    hash->word = 0;
    hash->byte_count = 0;
}

void
csc_siphash_add(csc_siphash *hash, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    unsigned used = (unsigned)(hash->byte_count % 8);

    hash->byte_count += len;
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word = load_le64(at);

        take_word(hash, hash->word | word << (8 * used));
        hash->word = used > 0 ? word >> (64 - 8 * used) : 0;
    }
    for (; len > 0; len--) {
        hash->word |= (uint64_t)*at++ << (8 * used);
        used = (used + 1) % 8;
        if (used == 0) {
            take_word(hash, hash->word);
            hash->word = 0;
        }
    }
}

void
csc_siphash_end(csc_siphash *hash, unsigned char tag[CSC_SIPHASH_SIZE])
{
    uint64_t *v = hash->v;

    take_word(hash, hash->word | hash->byte_count << 56);
    v[2] ^= 0xee;
    mix(v, 4);
    store_le64(tag, v[0] ^ v[1] ^ v[2] ^ v[3]);
    v[1] ^= 0xdd;
    mix(v, 4);
    store_le64(tag + 8, v[0] ^ v[1] ^ v[2] ^ v[3]);
}
