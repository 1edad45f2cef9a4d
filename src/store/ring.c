/* SPDX-License-Identifier: MIT
 *
 * A ring is made before anybody uses the store, and freed after: no lock.
 */
#include "store/ring.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "store/seal.h"

csc_ring *
csc_ring_create(void)
{
    csc_ring *ring = csc_mem_zalloc(1, sizeof(*ring));

    if (ring == NULL)
        return NULL;
    csc_seal_key_checksum(&ring->keys[0]);
    ring->count = 1;
    return ring;
}

static bool
has_secrets(const csc_ring *ring)
{
    return ring->keys[0].secret;
}

cascade_err
csc_ring_add(csc_ring *ring, const char *id, const void *secret, size_t len)
{
    size_t at = has_secrets(ring) ? ring->count : 0;
    cascade_err err = CASCADE_OK;

    if (at == CSC_RING_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "a store has %d keys at most: reseal, and leave out "
                        "those that nothing is sealed with any more",
                        CSC_RING_MAX);
    for (size_t i = 0; i < at; i++)
        if (strcmp(ring->keys[i].id, id) == 0)
            return csc_fail(CASCADE_ERR_INVALID, "key %s is given twice", id);
    err = csc_seal_key_secret(&ring->keys[at], id, secret, len);
    if (err == CASCADE_OK)
        ring->count = at + 1;
    return err;
}

void
csc_ring_free(csc_ring *ring)
{
    for (size_t i = 0; ring != NULL && i < ring->count; i++)
        csc_seal_key_fini(&ring->keys[i]);
    csc_mem_free(ring);
}

const csc_seal_key *
csc_ring_current(const csc_ring *ring)
{
    return &ring->keys[0];
}

cascade_err
csc_ring_find(const csc_ring *ring, const char *text, const csc_seal_key **key)
{
    char id[CSC_SEAL_KEY_ID_MAX + 1];
    bool secret = false;

    if (!csc_seal_text_key(text, &secret, id))
        return csc_fail(CASCADE_ERR_CORRUPT, "what is there is no seal");
    for (size_t i = 0; i < ring->count; i++) {
        *key = &ring->keys[i];
        if ((*key)->secret == secret && strcmp((*key)->id, id) == 0)
            return CASCADE_OK;
    }
    if (secret)
        return csc_fail(CASCADE_ERR_CORRUPT,
                        "it was sealed with key %s, which is not given", id);
    return csc_fail(CASCADE_ERR_CORRUPT,
                    "it has a checksum, and no seal by a secret");
}

bool
csc_ring_is_newer(const csc_ring *ring, const char *text, const char *than)
{
    const csc_seal_key *key = NULL;
    const csc_seal_key *other = NULL;

    return csc_ring_find(ring, text, &key) == CASCADE_OK &&
           csc_ring_find(ring, than, &other) == CASCADE_OK && key < other;
}

cascade_err
csc_ring_check_message(const csc_ring *ring, const cascade_message_row *row)
{
    const csc_seal_key *key = NULL;
    cascade_err err = CASCADE_OK;

    if (row->seal == NULL)
        return csc_fail(CASCADE_ERR_CORRUPT, "a message has no seal");
    err = csc_ring_find(ring, row->seal, &key);
    return err == CASCADE_OK ? csc_seal_check_message(key, row, row->seal)
                             : err;
}
