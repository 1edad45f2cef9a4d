/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes, of a store that has none. What it settles are commits:
 * see conformance_fence.c.
 */
#include "store/conformance/conformance.h"

static void
there_are_no_transactions_of_nodes(void **state)
{
    conformance_db *db = *state;
    cascade_native native = {NULL, NULL};
    cascade_batch batch = {.number = 1};
    bool flag = true;

    assert_null(db->driver->native);
    assert_int_equal(db->driver->native_max, 0);
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 db->driver->begin(db->self, CONFORMANCE_WAIT_MS, &native));
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 db->driver->finish(db->self, &native, &batch, &flag));
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 db->driver->abandon(db->self, &native));
    assert_true(flag);
}

conformance_group
conformance_native_none(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_no_transactions_of_nodes),
    };

    return (conformance_group){"native", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
