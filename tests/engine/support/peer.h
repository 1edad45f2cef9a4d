/* SPDX-License-Identifier: MIT
 *
 * Incarnations of processes elsewhere, which own and die as a test says.
 */
#ifndef TESTS_ENGINE_SUPPORT_PEER_H
#define TESTS_ENGINE_SUPPORT_PEER_H

#include "support/stores.h"

/* Longer than any test. */
#define PEER_NEVER_MS (INT64_C(60) * 60 * 1000)

/* One that will not renew. */
cascade_uuid peer_attach(cascade_store *store, int64_t lease_ms);
/* A new one that owns the one free run there is, of a cascade whose next node
 * is `node`; `takeovers` is what the run must have by then. */
cascade_uuid peer_own(cascade_store *store, const char *node,
                      int32_t takeovers);
/* It dies, and its one run is set free. */
void peer_remove(cascade_store *store, const cascade_uuid *peer);

/* How many incarnations there are, of engines and of peers. */
size_t peer_count_all(cascade_store *store);

#endif
