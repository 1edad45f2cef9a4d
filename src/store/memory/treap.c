/* SPDX-License-Identifier: MIT
 *
 * A treap: a search tree by key that is at the same time a heap by weight.
 *
 *            (k4, w9)            key:    less < node < more
 *            /      \            weight: no child outweighs its parent
 *       (k2, w7)   (k7, w8)
 *       /     \
 *   (k1, w3) (k3, w6)
 *
 * The weights are hashes of the ids, as good as random, so the depth is
 * logarithmic whatever order the keys come in (times mostly come ascending,
 * which ruins a plain tree). Two loops without recursion are all there is:
 * split a tree at a key, and merge two trees of which one is all below the
 * other. A balanced tree would be no faster here and three times the code.
 */
#include "store/memory/treap.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"

static uint64_t
weigh(const cascade_uuid *id)
{
    uint64_t half[2];
    uint64_t mixed;

    memcpy(half, id->bytes, sizeof(half));
    mixed = half[0] * UINT64_C(0x9e3779b97f4a7c15) ^ half[1];
    mixed = (mixed ^ (mixed >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
    return mixed ^ (mixed >> 29);
}

static int
compare(const csc_memory_order_node *node, int64_t at, const cascade_uuid *id)
{
    if (node->at != at)
        return node->at < at ? -1 : 1;
    return memcmp(node->id.bytes, id->bytes, sizeof(id->bytes));
}

/* Hangs what is below the key of `by` under its `less`, the rest under its
 * `more`. */
static void
split(csc_memory_order_node *tree, csc_memory_order_node *by)
{
    csc_memory_order_node **less = &by->less;
    csc_memory_order_node **more = &by->more;

    csc_assert(by->less == NULL && by->more == NULL);
    while (tree != NULL) {
        if (compare(tree, by->at, &by->id) < 0) {
            *less = tree;
            less = &tree->more;
            tree = tree->more;
        } else {
            *more = tree;
            more = &tree->less;
            tree = tree->less;
        }
    }
    *less = NULL;
    *more = NULL;
}

/* One tree of two; every key of `a` is below every key of `b`. */
static csc_memory_order_node *
merge(csc_memory_order_node *a, csc_memory_order_node *b)
{
    csc_memory_order_node *root = NULL;
    csc_memory_order_node **at = &root;

    csc_assert(a == NULL || b == NULL || compare(a, b->at, &b->id) < 0);
    while (a != NULL && b != NULL) {
        if (a->weight > b->weight) {
            *at = a;
            at = &a->more;
            a = a->more;
        } else {
            *at = b;
            at = &b->less;
            b = b->less;
        }
    }
    *at = a != NULL ? a : b;
    return root;
}

void
csc_memory_order_add(csc_memory_order_node **root, csc_memory_order_node *node)
{
    csc_assert(node->less == NULL && node->more == NULL);
    node->weight = weigh(&node->id);
    while (*root != NULL && (*root)->weight >= node->weight) {
        if (compare(*root, node->at, &node->id) < 0)
            root = &(*root)->more;
        else
            root = &(*root)->less;
    }
    split(*root, node);
    *root = node;
}

void
csc_memory_order_remove(csc_memory_order_node **root,
                        csc_memory_order_node *node)
{
    while (*root != node) {
        if (compare(*root, node->at, &node->id) < 0)
            root = &(*root)->more;
        else
            root = &(*root)->less;
    }
    *root = merge(node->less, node->more);
    node->less = NULL;
    node->more = NULL;
}

csc_memory_order_node *
csc_memory_order_first(csc_memory_order_node *root)
{
    while (root != NULL && root->less != NULL)
        root = root->less;
    return root;
}

csc_memory_order_node *
csc_memory_order_next(csc_memory_order_node *root, int64_t at,
                      const cascade_uuid *id)
{
    csc_memory_order_node *best = NULL;

    while (root != NULL) {
        if (compare(root, at, id) > 0) {
            best = root;
            root = root->less;
        } else {
            root = root->more;
        }
    }
    return best;
}

csc_memory_order_node *
csc_memory_order_before(csc_memory_order_node *root, int64_t at,
                        const cascade_uuid *id)
{
    csc_memory_order_node *best = NULL;

    while (root != NULL) {
        if (compare(root, at, id) < 0) {
            best = root;
            root = root->more;
        } else {
            root = root->less;
        }
    }
    return best;
}
