/* SPDX-License-Identifier: MIT
 *
 * Each call of SQLite fails, in the ways in which SQLite can fail, once or from
 * one on. The log is checkpointed after every commit, so that this fails too.
 */
#include "sweep/calls_sqlite.h"
#include "sweep/sweep.h"

#define CALL(text, how, lasts)                                                \
    {                                                                         \
        .name = text, .arm = sweep_arm_events, .disarm = sweep_disarm_events, \
        .variant = how, .lasting = lasts                                      \
    }

static const sweep_fault faults[] = {
    CALL("a call is busy", CALLS_BUSY, false),
    CALL("a call finds the disk full", CALLS_FULL, false),
    CALL("a call cannot write", CALLS_IOERR, false),
    CALL("a call is out of memory", CALLS_NOMEM, false),
    CALL("a call finds a damaged file", CALLS_CORRUPT, false),
    CALL("a call fails and has rolled back", CALLS_ROLLED_BACK, false),
    CALL("a call fails after its effect", CALLS_HAD_EFFECT, false),
    CALL("calls are busy from one on", CALLS_BUSY, true),
    CALL("calls find the disk full from one on", CALLS_FULL, true),
    CALL("calls are out of memory from one on", CALLS_NOMEM, true),
    CALL("calls fail and have rolled back from one on", CALLS_ROLLED_BACK,
         true),
    CALL("calls have effect and fail from one on", CALLS_HAD_EFFECT, true),
};

int
main(int argc, char **argv)
{
    static const sweep_plan plan = {.name = "sweep_sqlite_calls",
                                    .faults = faults,
                                    .fault_count =
                                        sizeof(faults) / sizeof(faults[0]),
                                    .where = STORES_SQLITE,
                                    .points_sqlite = 40};

    return sweep_main(&plan, argc, argv);
}
