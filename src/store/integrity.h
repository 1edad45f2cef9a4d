/* SPDX-License-Identifier: MIT
 *
 * Which integrity a store has: that of the options of its handle, and that of
 * the database, which the store's own row in cascade_seals tells. That row has
 * the id that is all zero, and the seal of a cascade without rows: so it tells
 * the mode, and whether a secret is the one that it was made with.
 *
 *   (no row) --the first handle with integrity, if no cascade is there--> row
 *
 * Two handles may enter it at once: one of them does (S80), and both read what
 * is there then. If the process dies behind that, the row is there and nothing
 * is sealed yet, which is what the next handle finds.
 *
 * Nothing is kept of handles that were open before it: what they write has no
 * seal, and is found.
 */
#ifndef CSC_STORE_INTEGRITY_H
#define CSC_STORE_INTEGRITY_H

#include "cascade/cascade.h"
#include "cascade/integrity.h"
#include "store/ring.h"

/* The keys that the options give, NULL for none (`integrity` may be NULL). Text
 * and CASCADE_ERR_INVALID, _TOO_LARGE, _NO_MEMORY, or what the callback gives.
 */
cascade_err csc_integrity_read(const cascade_integrity *integrity,
                               csc_ring **ring);

/* As the options say. */
cascade_integrity_begin csc_integrity_begin(const cascade_integrity *given);

/* Compares the handle's keys with the store's own row, which is entered where
 * it is missing and `begin` allows it. CASCADE_ERR_INVALID: another mode, or
 * none, a key that is not given, or cascades that have no seals; _CORRUPT: the
 * row is not by that key; _MISUSE: it would have to be entered in a transaction
 * that is not the library's. */
cascade_err csc_integrity_enter(cascade_store *store,
                                cascade_integrity_begin begin);

/* Seals the store's own row with the first key, where it has another. Whoever
 * else does so at the same time may be first. */
cascade_err csc_integrity_renew(cascade_store *store);

#endif
