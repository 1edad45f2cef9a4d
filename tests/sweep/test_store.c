/* SPDX-License-Identifier: MIT
 *
 * Each call of the store fails once: before it took effect, after it, for want
 * of memory, or because ownership is said to be lost; or it and all that follow
 * fail.
 */
#include "sweep/sweep.h"

/* The moves that may tell that the incarnation is gone. */
#define MOVE(name) (UINT64_C(1) << WRAP_##name)
#define FENCED_MOVES \
    (MOVE(RENEW) | MOVE(CLAIM) | MOVE(COMMIT) | MOVE(FINISH) | MOVE(SETTLE))

#define STORE_FAULT(called, ...)                                              \
    {                                                                         \
        .name = called, .arm = sweep_arm_store, .disarm = sweep_disarm_store, \
        __VA_ARGS__                                                           \
    }

static const sweep_fault faults[] = {
    STORE_FAULT("a call fails before its effect", .when = WRAP_BEFORE,
                .err = CASCADE_ERR_UNAVAILABLE),
    STORE_FAULT("a call fails after its effect", .when = WRAP_AFTER,
                .err = CASCADE_ERR_UNAVAILABLE),
    STORE_FAULT("a call is out of memory", .when = WRAP_BEFORE,
                .err = CASCADE_ERR_NO_MEMORY),
    STORE_FAULT("a call is fenced", .when = WRAP_BEFORE,
                .err = CASCADE_ERR_FENCED, .moves = FENCED_MOVES),
    STORE_FAULT("calls fail from one on", .when = WRAP_BEFORE,
                .err = CASCADE_ERR_UNAVAILABLE, .lasting = true),
    STORE_FAULT("calls have effect and fail from one on", .when = WRAP_AFTER,
                .err = CASCADE_ERR_UNAVAILABLE, .lasting = true),
};

int
main(int argc, char **argv)
{
    static const sweep_plan plan = {.name = "sweep_store",
                                    .faults = faults,
                                    .fault_count =
                                        sizeof(faults) / sizeof(faults[0]),
                                    .points_memory = SIZE_MAX,
                                    .points_sqlite = 40,
                                    .points_postgres = 5};

    return sweep_main(&plan, argc, argv);
}
