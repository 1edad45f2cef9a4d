/* SPDX-License-Identifier: MIT
 *
 * A test that goes on for a time that its command line gives:
 *
 *     PROGRAM --seconds N [--seed S] [--store sqlite|postgres]
 *
 * and that takes the stores in turn, of those that there are.
 */
#ifndef TESTS_PROCESS_LONG_RUN_H
#define TESTS_PROCESS_LONG_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "process/place.h"

typedef struct long_run {
    int64_t seconds;
    bool stores[2]; /* by place_kind */
} long_run;

/* Whether the command line asks for one. */
bool long_run_asked(int argc, char **argv);

/* Runs `test`, whose state is the long_run, and behind it `teardown` (NULL:
 * nothing); returns what main() is to return, 2 where the command line is none
 * of those above. */
int long_run_main(const char *program, int argc, char **argv,
                  CMUnitTestFunction test, CMFixtureFunction teardown);

#endif
