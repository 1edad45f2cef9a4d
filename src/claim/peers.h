/* SPDX-License-Identifier: MIT
 *
 * The other engines on the store: see peers.c.
 */
#ifndef CSC_CLAIM_PEERS_H
#define CSC_CLAIM_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_PEERS_MAX 64 /* others are looked at every time */

/* Another engine on the store. */
typedef struct csc_peer {
    cascade_uuid engine_id;
    int64_t pid;
    int64_t process_start;
    bool local; /* on this machine */
} csc_peer;

/* The other engines on the store. The housekeeper's own. */
typedef struct csc_peers {
    /* Of peers.c. */
    csc_peer list[CSC_PEERS_MAX];
    size_t count;
    int64_t looked_at_ns; /* when that was */
    int64_t look_at_ns;   /* when to look at the latest */
    unsigned looks;       /* counts them */
} csc_peers;

/* Whether the other engines are to be looked at: `told` when somebody woke us,
 * `poll` when the poll interval is over. */
bool csc_peers_are_due_locked(cascade_engine *engine, bool told, bool poll);
/* Looks at them, and removes those that are dead. Not locked. */
void csc_peers_look(cascade_engine *engine);

#endif
