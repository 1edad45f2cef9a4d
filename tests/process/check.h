/* SPDX-License-Identifier: MIT
 *
 * cmocka, and the check that a call of the library is OK, telling why not.
 */
#ifndef TESTS_PROCESS_CHECK_H
#define TESTS_PROCESS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cascade/cascade.h"

#define assert_ok(call) check_ok((call), #call, __FILE__, __LINE__)

static inline void
check_ok(cascade_err err, const char *call, const char *file, int line)
{
    if (err == CASCADE_OK)
        return;
    print_error("%s\n  gave %s: %s\n", call, cascade_err_name(err),
                cascade_errmsg());
    _fail(file, line);
}

#endif
