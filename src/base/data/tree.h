/* SPDX-License-Identifier: MIT
 *
 * An ordered tree whose nodes are part of what it orders: putting in and taking
 * out need no memory, so they cannot fail, and what stays in the tree keeps its
 * address. Each node counts what is below it; so the tree also answers how many
 * come before a place, and which is the nth.
 *
 *   typedef struct thing {
 *       csc_tree_node by_name;
 *       const char *name;
 *   } thing;
 *
 *   thing *t = CSC_TREE_ITEM(node, thing, by_name);
 *
 * All operations take time in the logarithm of the count. What decides the
 * order of an item does not change while it is in a tree, and no two are equal:
 * where names may be, a number in the item decides.
 */
#ifndef CSC_BASE_DATA_TREE_H
#define CSC_BASE_DATA_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "cascade/cascade.h"

typedef struct csc_tree_node {
    struct csc_tree_node *left;
    struct csc_tree_node *right;
    size_t count; /* of this one and all below; 0: in no tree */
} csc_tree_node;

/* No tree is higher: room for a path. */
#define CSC_TREE_HEIGHT_MAX 160

/* All zero: empty. */
typedef struct csc_tree {
    csc_tree_node *root;
} csc_tree;

#define CSC_TREE_ITEM(node, type, member) \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Which of the two comes first: negative where it is `a`. */
typedef int csc_tree_order(const csc_tree_node *a, const csc_tree_node *b);
/* Where a key stands: positive when the node comes before it. */
typedef int csc_tree_side(const void *key, const csc_tree_node *node);
/* A sum over a node and those right below it, renewed whenever these change;
 * NULL where none is kept. */
typedef void csc_tree_sum(csc_tree_node *node);

void csc_tree_put(csc_tree *tree, csc_tree_node *node, csc_tree_order *order,
                  csc_tree_sum *sum);
/* Nothing for one that is in no tree. */
void csc_tree_take(csc_tree *tree, csc_tree_node *node, csc_tree_order *order,
                   csc_tree_sum *sum);

size_t csc_tree_count(const csc_tree *tree);
/* The nth, from 0; NULL beyond the last. */
csc_tree_node *csc_tree_at(const csc_tree *tree, size_t nth);
/* How many come before the key. */
size_t csc_tree_before(const csc_tree *tree, const void *key,
                       csc_tree_side *side);
/* The first that does not; NULL without one. */
csc_tree_node *csc_tree_from(const csc_tree *tree, const void *key,
                             csc_tree_side *side);

/* Takes all out, in no order that tells: NULL once it is empty. For freeing
 * them. */
csc_tree_node *csc_tree_pluck(csc_tree *tree);

#endif
