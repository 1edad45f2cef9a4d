/* SPDX-License-Identifier: MIT
 *
 * See tree.h. A tree that is balanced by weight (Adams; the parameters are
 * those that Hirai and Yamamoto proved sound): with weight = count + 1, no side
 * of a node weighs more than three times the other. A side that does is turned:
 *
 *        a                   c                   a                 b
 *      .   c     once      a   .               .   c    twice    a   c
 *         b .    ---->    . b                     b .   ---->   . . . .
 *                                                . .
 *
 * twice when its inner part b weighs twice its outer one or more. A node keeps
 * three quarters of its parent's weight at most, so the height is below 2.5
 * times the logarithm (to 2) of the count: CSC_TREE_HEIGHT_MAX is enough for as
 * many nodes as a size_t can count.
 */
#include "base/data/tree.h"

#include <stdint.h>

#include "base/count.h"
#include "base/error.h"
#include "cascade/cascade.h"

#define HEAVY 3
#define INNER 2

/* ---- Balance ------------------------------------------------------------ */

static size_t
count_of(const csc_tree_node *node)
{
    return node != NULL ? node->count : 0;
}

static size_t
weight(const csc_tree_node *node)
{
    return count_of(node) + 1;
}

static void
renew(csc_tree_node *node, csc_tree_sum *sum)
{
    node->count = count_of(node->left) + count_of(node->right) + 1;
    if (sum != NULL)
        sum(node);
}

static csc_tree_node *
turn_left(csc_tree_node *node, csc_tree_sum *sum)
{
    csc_tree_node *up = node->right;

    csc_assert(up != NULL);
    node->right = up->left;
    up->left = node;
    renew(node, sum);
    renew(up, sum);
    return up;
}

static csc_tree_node *
turn_right(csc_tree_node *node, csc_tree_sum *sum)
{
    csc_tree_node *up = node->left;

    csc_assert(up != NULL);
    node->left = up->right;
    up->right = node;
    renew(node, sum);
    renew(up, sum);
    return up;
}

/* What stands in its place then. */
static csc_tree_node *
balance(csc_tree_node *node, csc_tree_sum *sum)
{
    csc_tree_node *left = node->left;
    csc_tree_node *right = node->right;

    if (weight(right) > HEAVY * weight(left)) {
        if (weight(right->left) >= INNER * weight(right->right))
            node->right = turn_right(right, sum);
        return turn_left(node, sum);
    }
    if (weight(left) > HEAVY * weight(right)) {
        if (weight(left->right) >= INNER * weight(left->left))
            node->left = turn_left(left, sum);
        return turn_right(node, sum);
    }
    renew(node, sum);
    return node;
}

/* From below upward: what is turned stands in the same place of the path. */
static void
balance_path(csc_tree_node ***path, size_t count, csc_tree_sum *sum)
{
    while (count > 0) {
        csc_tree_node **place = path[--count];

        *place = balance(*place, sum);
    }
}

/* ---- Putting in and taking out ------------------------------------------ */

void
csc_tree_put(csc_tree *tree, csc_tree_node *node, csc_tree_order *order,
             csc_tree_sum *sum)
{
    csc_tree_node **path[CSC_TREE_HEIGHT_MAX];
    csc_tree_node **place = &tree->root;
    size_t count = 0;

    csc_assert(node->count == 0);
    while (*place != NULL) {
        csc_assert(count < CSC_TREE_HEIGHT_MAX);
        path[count++] = place;
        csc_count_look();
        place = order(node, *place) < 0 ? &(*place)->left : &(*place)->right;
    }
    *node = (csc_tree_node){0};
    renew(node, sum);
    *place = node;
    balance_path(path, count, sum);
}

/* Puts the one that comes next into the place of `node`, which has both sides;
 * the path goes on to where that one was. */
static size_t
put_next(csc_tree_node **place, csc_tree_node ***path, size_t count)
{
    csc_tree_node *node = *place;
    csc_tree_node **from = &node->right;
    csc_tree_node *next = NULL;
    size_t at = count;

    path[count++] = place;
    while ((*from)->left != NULL) {
        csc_assert(count < CSC_TREE_HEIGHT_MAX);
        path[count++] = from;
        csc_count_look();
        from = &(*from)->left;
    }
    next = *from;
    *from = next->right;
    next->left = node->left;
    next->right = node->right;
    *place = next;
    if (count > at + 1)
        path[at + 1] = &next->right;
    return count;
}

void
csc_tree_take(csc_tree *tree, csc_tree_node *node, csc_tree_order *order,
              csc_tree_sum *sum)
{
    csc_tree_node **path[CSC_TREE_HEIGHT_MAX];
    csc_tree_node **place = &tree->root;
    size_t count = 0;

    if (node->count == 0)
        return;
    while (*place != node) {
        csc_assert(*place != NULL && count < CSC_TREE_HEIGHT_MAX);
        path[count++] = place;
        csc_count_look();
        place = order(node, *place) < 0 ? &(*place)->left : &(*place)->right;
    }
    if (node->left != NULL && node->right != NULL)
        count = put_next(place, path, count);
    else
        *place = node->left != NULL ? node->left : node->right;
    *node = (csc_tree_node){0};
    balance_path(path, count, sum);
}

csc_tree_node *
csc_tree_pluck(csc_tree *tree)
{
    csc_tree_node *node = tree->root;

    if (node == NULL)
        return NULL;
    while (node->left != NULL) { /* turned without care: all of it goes */
        csc_tree_node *up = node->left;

        node->left = up->right;
        up->right = node;
        node = up;
    }
    tree->root = node->right;
    *node = (csc_tree_node){0};
    return node;
}

/* ---- Looking ------------------------------------------------------------ */

size_t
csc_tree_count(const csc_tree *tree)
{
    return count_of(tree->root);
}

csc_tree_node *
csc_tree_at(const csc_tree *tree, size_t nth)
{
    csc_tree_node *node = tree->root;

    while (node != NULL && count_of(node->left) != nth) {
        csc_count_look();
        if (count_of(node->left) > nth) {
            node = node->left;
        } else {
            nth -= count_of(node->left) + 1;
            node = node->right;
        }
    }
    return node;
}

size_t
csc_tree_before(const csc_tree *tree, const void *key, csc_tree_side *side)
{
    const csc_tree_node *node = tree->root;
    size_t count = 0;

    while (node != NULL) {
        csc_count_look();
        if (side(key, node) > 0) {
            count += count_of(node->left) + 1;
            node = node->right;
        } else {
            node = node->left;
        }
    }
    return count;
}

csc_tree_node *
csc_tree_from(const csc_tree *tree, const void *key, csc_tree_side *side)
{
    csc_tree_node *node = tree->root;
    csc_tree_node *found = NULL;

    while (node != NULL) {
        csc_count_look();
        if (side(key, node) > 0) {
            node = node->right;
        } else {
            found = node;
            node = node->left;
        }
    }
    return found;
}
