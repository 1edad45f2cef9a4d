/* SPDX-License-Identifier: MIT
 *
 * The groups of tests of the PostgreSQL store: each file is one.
 */
#ifndef TESTS_STORE_POSTGRES_GROUPS_H
#define TESTS_STORE_POSTGRES_GROUPS_H

#include "store/postgres_fixture.h"

typedef struct postgres_group {
    const char *name;
    const struct CMUnitTest *tests;
    size_t count;
} postgres_group;

postgres_group postgres_schema(void);
postgres_group postgres_faults(void);
postgres_group postgres_session(void);
postgres_group postgres_messages(void);
postgres_group postgres_manage(void);
postgres_group postgres_native(void);
postgres_group postgres_native_session(void);
postgres_group postgres_guest(void);
postgres_group postgres_functions(void);
postgres_group postgres_held(void);

#endif
