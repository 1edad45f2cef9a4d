/* SPDX-License-Identifier: MIT
 *
 * What is particular to the PostgreSQL store, on the server that
 * CASCADE_TEST_PG names; what every store must do is the conformance suite's.
 */
#include <stdio.h>

#include "store/postgres_fixture.h"
#include "store/postgres_groups.h"

int
main(int argc, char **argv)
{
    static postgres_group (*const groups[])(void) = {
        postgres_schema,         postgres_faults,
        postgres_session,        postgres_messages,
        postgres_manage,         postgres_native,
        postgres_native_session, postgres_guest,
        postgres_functions,      postgres_held};
    int failed = 0;

    if (pg_conninfo()[0] == '\0') {
        fprintf(stderr, "CASCADE_TEST_PG is not set: give the conninfo of a "
                        "PostgreSQL database for tests\n");
        return 1;
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        postgres_group group = groups[i]();

        failed += _cmocka_run_group_tests(group.name, group.tests, group.count,
                                          NULL, NULL);
    }
    return failed == 0 ? 0 : 1;
}
