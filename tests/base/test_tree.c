/* SPDX-License-Identifier: MIT
 *
 * The ordered tree against a plain array of what is in it, and how many nodes
 * an operation looks at.
 */
#include <string.h>

#include "base/count.h"
#include "base/data/tree.h"
#include "base/support.h"

#define MODEL_SIZE 700
#define MANY 100000
#define LOOKS_MAX 42 /* 2.5 times the logarithm of MANY */

/* Thing i has number i; `low` is its own, `lowest` that of all below it. */
typedef struct thing {
    csc_tree_node node;
    int number;
    int low;
    int lowest;
} thing;

static thing things[MANY];
static bool present[MODEL_SIZE];

static thing *
thing_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, thing, node);
}

static int
by_number(const csc_tree_node *a, const csc_tree_node *b)
{
    return thing_of(a)->number - thing_of(b)->number;
}

static int
side_of_number(const void *key, const csc_tree_node *node)
{
    return *(const int *)key - thing_of(node)->number;
}

static void
sum_lowest(csc_tree_node *node)
{
    thing *t = thing_of(node);
    const csc_tree_node *const sides[2] = {node->left, node->right};

    t->lowest = t->low;
    for (int i = 0; i < 2; i++)
        if (sides[i] != NULL && thing_of(sides[i])->lowest < t->lowest)
            t->lowest = thing_of(sides[i])->lowest;
}

static void
prepare(size_t count)
{
    memset(things, 0, sizeof(things));
    memset(present, 0, sizeof(present));
    for (size_t i = 0; i < count; i++) {
        things[i].number = (int)i;
        things[i].low = (int)(i * 7919 % 1000);
    }
    (void)csc_count_looks();
}

/* All questions, against the model. */
static void
check_all(const csc_tree *tree)
{
    size_t before = 0;
    int lowest = 1000;

    for (int i = 0; i < MODEL_SIZE; i++) {
        const csc_tree_node *from =
            csc_tree_from(tree, &things[i].number, side_of_number);

        assert_int_equal(
            csc_tree_before(tree, &things[i].number, side_of_number), before);
        assert_ptr_equal(csc_tree_at(tree, before), from);
        if (!present[i])
            continue;
        assert_ptr_equal(from, &things[i].node);
        lowest = things[i].low < lowest ? things[i].low : lowest;
        before++;
    }
    assert_int_equal(csc_tree_count(tree), before);
    assert_null(csc_tree_at(tree, before));
    if (tree->root != NULL)
        assert_int_equal(thing_of(tree->root)->lowest, lowest);
}

static void
agrees_with_a_plain_array(void **unused)
{
    csc_tree tree = {0};
    support_rng rng = support_rng_open("tree");

    (void)unused;
    prepare(MODEL_SIZE);
    for (int round = 0; round < 40000; round++) {
        size_t i = support_rng_below(&rng, MODEL_SIZE);
        size_t fill = (size_t)(round / 4000) % 2 == 0 ? 3 : 1; /* of four */

        if (support_rng_below(&rng, 4) >= fill)
            csc_tree_take(&tree, &things[i].node, by_number, sum_lowest);
        else if (!present[i])
            csc_tree_put(&tree, &things[i].node, by_number, sum_lowest);
        present[i] = things[i].node.count > 0;
        if (round % 100 == 0)
            check_all(&tree);
    }
    check_all(&tree);
}

/* Ascending, descending, and from both ends: the orders that would make a list
 * of a tree that is not balanced. */
static void
any_order_of_puts_keeps_it_low(void **unused)
{
    (void)unused;
    for (int order = 0; order < 3; order++) {
        csc_tree tree = {0};

        prepare(MANY);
        for (size_t i = 0; i < MANY; i++) {
            size_t at = order == 0 ? i : MANY - 1 - i;

            if (order == 2)
                at = i % 2 == 0 ? i / 2 : MANY - 1 - i / 2;
            csc_tree_put(&tree, &things[at].node, by_number, NULL);
            assert_true(csc_count_looks() <= LOOKS_MAX);
        }
        for (size_t i = 0; i < MANY; i++) {
            assert_ptr_equal(csc_tree_at(&tree, i), &things[i].node);
            assert_true(csc_count_looks() <= LOOKS_MAX);
        }
        for (size_t i = 0; i < MANY; i++) {
            csc_tree_take(&tree, &things[i].node, by_number, NULL);
            assert_true(csc_count_looks() <= LOOKS_MAX);
        }
        assert_null(tree.root);
    }
}

static void
plucking_takes_each_once(void **unused)
{
    csc_tree tree = {0};
    size_t count = 0;

    (void)unused;
    prepare(MODEL_SIZE);
    for (size_t i = 0; i < MODEL_SIZE; i++)
        csc_tree_put(&tree, &things[i].node, by_number, NULL);
    for (csc_tree_node *node = csc_tree_pluck(&tree); node != NULL;
         node = csc_tree_pluck(&tree)) {
        assert_false(present[thing_of(node)->number]);
        present[thing_of(node)->number] = true;
        count++;
    }
    assert_int_equal(count, MODEL_SIZE);
    assert_null(tree.root);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_plain_array),
        cmocka_unit_test(any_order_of_puts_keeps_it_low),
        cmocka_unit_test(plucking_takes_each_once),
    };

    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
