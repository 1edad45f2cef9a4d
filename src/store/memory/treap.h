/* SPDX-License-Identifier: MIT
 *
 * An ordered set of (time, id), linked through nodes that its users embed: the
 * memory store keeps cascades by id and free runs by wake_at in such sets.
 * Adding and removing allocate nothing, so they cannot fail.
 */
#ifndef CSC_STORE_MEMORY_TREAP_H
#define CSC_STORE_MEMORY_TREAP_H

#include <stdint.h>

#include "cascade/cascade.h"

typedef struct csc_memory_order_node {
    int64_t at; /* the key is (at, id) */
    cascade_uuid id;
    void *item; /* the user's */
    uint64_t weight;
    struct csc_memory_order_node *less;
    struct csc_memory_order_node *more;
} csc_memory_order_node;

/* A set is a pointer to its root; NULL is the empty set. Adds `node`, whose
 * key is not in the set. */
void csc_memory_order_add(csc_memory_order_node **root,
                          csc_memory_order_node *node);
/* Removes `node`, which is in the set. */
void csc_memory_order_remove(csc_memory_order_node **root,
                             csc_memory_order_node *node);

/* The smallest; NULL for none. */
csc_memory_order_node *csc_memory_order_first(csc_memory_order_node *root);
/* The largest below (at, *id); NULL for none. */
csc_memory_order_node *csc_memory_order_before(csc_memory_order_node *root,
                                               int64_t at,
                                               const cascade_uuid *id);
/* The smallest above (at, *id); NULL for none. */
csc_memory_order_node *csc_memory_order_next(csc_memory_order_node *root,
                                             int64_t at,
                                             const cascade_uuid *id);

#endif
