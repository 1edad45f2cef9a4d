/* SPDX-License-Identifier: MIT
 *
 * The keys of a store with integrity: the one that new seals are made with, and
 * those that old ones were. It does not change while the store is open.
 */
#ifndef CSC_STORE_RING_H
#define CSC_STORE_RING_H

#include <stdbool.h>

#include "cascade/cascade.h"
#include "cascade/integrity.h"
#include "cascade/rows.h"
#include "store/seal.h"

#define CSC_RING_MAX CASCADE_SECRETS_MAX

typedef struct csc_ring {
    csc_seal_key keys[CSC_RING_MAX]; /* the first one makes new seals */
    size_t count;
} csc_ring;

/* A ring of checksums; NULL when out of memory. */
csc_ring *csc_ring_create(void);
/* Adds a secret, the first one in the place of the checksum:
 * CASCADE_ERR_INVALID (csc_seal_key_secret(), or the id is there),
 * _TOO_LARGE. */
cascade_err csc_ring_add(csc_ring *ring, const char *id, const void *secret,
                         size_t len);
void csc_ring_free(csc_ring *ring); /* NULL is accepted */

const csc_seal_key *csc_ring_current(const csc_ring *ring);
/* The key that a text was made with: CASCADE_ERR_CORRUPT says which one is
 * missing. */
cascade_err csc_ring_find(const csc_ring *ring, const char *text,
                          const csc_seal_key **key);
/* Whether a text was made with a key that stands in front of that of another
 * one; false where either is not given. */
bool csc_ring_is_newer(const csc_ring *ring, const char *text,
                       const char *than);
/* Whether a message is as its sender has sealed it: CASCADE_ERR_CORRUPT. */
cascade_err csc_ring_check_message(const csc_ring *ring,
                                   const cascade_message_row *row);

#endif
