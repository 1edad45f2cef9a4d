/* SPDX-License-Identifier: MIT
 *
 * Transactions of nodes, of a store that has none.
 */
#include "store/conformance.h"

static void
there_are_no_transactions_of_nodes(void **state)
{
    conformance_db *db = *state;
    cascade_native native = {NULL, NULL};
    cascade_batch batch = {.number = 1};
    cascade_uuid engine = db_attach(db, 1, DB_LONG_LEASE_MS);
    bool flag = true;

    assert_null(db->driver->native);
    assert_int_equal(db->driver->native_max, 0);
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 db->driver->begin(db->self, CONFORMANCE_WAIT_MS, &native));
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 db->driver->finish(db->self, &native, &batch, &flag));
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 db->driver->settle(db->self, &engine, 0, 1, &flag));
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
