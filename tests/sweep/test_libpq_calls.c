/* SPDX-License-Identifier: MIT
 *
 * Each call of libpq fails, or the connection is cut before or after it.
 */
#include "sweep/calls_libpq.h"
#include "sweep/sweep.h"

#define CALL(text, how)                                                       \
    {                                                                         \
        .name = text, .arm = sweep_arm_events, .disarm = sweep_disarm_events, \
        .variant = how                                                        \
    }

static const sweep_fault faults[] = {
    CALL("a call fails", CALLS_FAIL),
    CALL("the connection is cut before a call", CALLS_CUT_BEFORE),
    CALL("the connection is cut after a call", CALLS_CUT_AFTER),
};

int
main(int argc, char **argv)
{
    static const sweep_plan plan = {.name = "sweep_libpq_calls",
                                    .faults = faults,
                                    .fault_count =
                                        sizeof(faults) / sizeof(faults[0]),
                                    .where = STORES_POSTGRES,
                                    .points_postgres = 8};

    return sweep_main(&plan, argc, argv);
}
