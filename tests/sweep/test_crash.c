/* SPDX-License-Identifier: MIT
 *
 * The process ends, as by SIGKILL: before or after each call of the store, and
 * of SQLite or libpq. A child plays; its parent finds a dead engine on the same
 * machine, whose place it takes at once, and ends what it left.
 *
 * SQLite's state must not be carried over a fork(), so the parent opens the
 * database only when the child is gone.
 */
#include "sweep/events.h"
#include "sweep/sweep.h"

#define STORE_CRASH(text, where)                             \
    {                                                        \
        .name = text, .crash = true, .arm = sweep_arm_store, \
        .disarm = sweep_disarm_store, .when = where          \
    }
#define CALL_CRASH(text, where)                               \
    {                                                         \
        .name = text, .crash = true, .arm = sweep_arm_events, \
        .disarm = sweep_disarm_events, .variant = where       \
    }

static const sweep_fault store_faults[] = {
    STORE_CRASH("an end before a call of the store", WRAP_BEFORE),
    STORE_CRASH("an end after a call of the store", WRAP_AFTER),
};
static const sweep_fault call_faults[] = {
    CALL_CRASH("an end before a call of the library", EVENTS_CRASH_BEFORE),
    CALL_CRASH("an end after a call of the library", EVENTS_CRASH_AFTER),
};

#define PLAN(title, list, sqlite, postgres)                   \
    {                                                         \
        .name = title, .faults = list,                        \
        .fault_count = sizeof(list) / sizeof(list[0]),        \
        .points_sqlite = sqlite, .points_postgres = postgres, \
        .where = STORES_FILES                                 \
    }

int
main(int argc, char **argv)
{
    static const sweep_plan store =
        PLAN("sweep_crash_store", store_faults, 18, 3);
    static const sweep_plan calls =
        PLAN("sweep_crash_calls", call_faults, 12, 2);
    int failed = sweep_main(&store, argc, argv);

    return sweep_main(&calls, argc, argv) + failed;
}
