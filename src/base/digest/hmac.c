/* SPDX-License-Identifier: MIT
 *
 * H((K ^ opad) || H((K ^ ipad) || text)), as RFC 2104 writes it: K is the
 * secret, or its hash where it is longer than a block, with zeros behind it.
 */
#include "base/digest/hmac.h"

#include <string.h>

#include "base/digest/sha256.h"
#include "cascade/cascade.h"

#define BLOCK_SIZE 64
#define INNER_PAD 0x36
#define OUTER_PAD 0x5c

/* Not left out by the compiler, as a memset() might be. */
static void
wipe(void *bytes, size_t len)
{
    explicit_bzero(bytes, len);
}

static void
begin(csc_sha256 *hash, const unsigned char padded[BLOCK_SIZE],
      unsigned char pad)
{
    unsigned char block[BLOCK_SIZE];

    for (size_t i = 0; i < BLOCK_SIZE; i++)
        block[i] = padded[i] ^ pad;
    csc_sha256_init(hash);
    csc_sha256_add(hash, block, BLOCK_SIZE);
    wipe(block, sizeof(block));
}

void
csc_hmac_key_init(csc_hmac_key *key, const void *secret, size_t len)
{
    unsigned char padded[BLOCK_SIZE] = {0};

    if (len > BLOCK_SIZE) {
        csc_sha256 hash;

        csc_sha256_init(&hash);
        csc_sha256_add(&hash, secret, len);
        csc_sha256_end(&hash, padded);
        wipe(&hash, sizeof(hash));
    } else if (len > 0) {
        memcpy(padded, secret, len);
    }
    begin(&key->inner, padded, INNER_PAD);
    begin(&key->outer, padded, OUTER_PAD);
    wipe(padded, sizeof(padded));
}

void
csc_hmac_key_fini(csc_hmac_key *key)
{
    wipe(key, sizeof(*key));
}

void
csc_hmac_init(csc_hmac *hmac, const csc_hmac_key *key)
{
    hmac->key = key;
    hmac->hash = key->inner;
}

void
csc_hmac_add(csc_hmac *hmac, const void *bytes, size_t len)
{
    csc_sha256_add(&hmac->hash, bytes, len);
}

void
csc_hmac_end(csc_hmac *hmac, unsigned char tag[CSC_HMAC_SIZE])
{
    unsigned char digest[CSC_SHA256_SIZE];

    csc_sha256_end(&hmac->hash, digest);
    hmac->hash = hmac->key->outer;
    csc_sha256_add(&hmac->hash, digest, sizeof(digest));
    csc_sha256_end(&hmac->hash, tag);
    wipe(digest, sizeof(digest));
    wipe(hmac, sizeof(*hmac));
}

bool
csc_hmac_equal(const void *a, const void *b, size_t len)
{
    const unsigned char *left = a;
    const unsigned char *right = b;
    unsigned char differ = 0;

    for (size_t i = 0; i < len; i++)
        differ |= (unsigned char)(left[i] ^ right[i]);
    return differ == 0;
}
