/* SPDX-License-Identifier: MIT
 *
 * Out of memory, at each allocation in turn: of the library (base/mem.h), of
 * cJSON, of SQLite. The first two are failed by hooks that a host could set as
 * well; here the test is the host.
 */
#include <stdlib.h>

#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "base/mem.h"
#include "sweep/events.h"
#include "sweep/sweep.h"

/* ---- The library --------------------------------------------------------- */

static void
arm_library(scene *s, const sweep_fault *fault, size_t nth)
{
    (void)s;
    (void)csc_mem_fail_at(nth, fault->lasting);
}

static size_t
disarm_library(scene *s)
{
    (void)s;
    return csc_mem_fail_at(0, 0);
}

/* ---- cJSON and SQLite ---------------------------------------------------- */

enum {
    OF_CJSON,
    OF_SQLITE
};

static void *
cjson_malloc(size_t size)
{
    if (events_variant() == OF_CJSON && events_strike())
        return NULL;
    return malloc(size);
}

#ifdef CASCADE_HAVE_SQLITE
static sqlite3_mem_methods real;

static void *
sqlite_malloc(int size)
{
    if (events_variant() == OF_SQLITE && events_strike())
        return NULL;
    return real.xMalloc(size);
}

static void *
sqlite_realloc(void *memory, int size)
{
    if (events_variant() == OF_SQLITE && events_strike())
        return NULL;
    return real.xRealloc(memory, size);
}

static void
hook_sqlite(void)
{
    sqlite3_mem_methods hooked;

    (void)sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    hooked = real;
    hooked.xMalloc = sqlite_malloc;
    hooked.xRealloc = sqlite_realloc;
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &hooked);
}
#else
static void
hook_sqlite(void)
{
}
#endif

static void
hook_allocators(void)
{
    cJSON_Hooks hooks = {.malloc_fn = cjson_malloc, .free_fn = free};

    cJSON_InitHooks(&hooks);
    hook_sqlite();
}

/* ---- The plans ----------------------------------------------------------- */

static const sweep_fault faults[] = {
    {.name = "an allocation fails",
     .arm = arm_library,
     .ends = CASCADE_ERR_NO_MEMORY,
     .disarm = disarm_library},
    {.name = "allocations fail from one on",
     .arm = arm_library,
     .ends = CASCADE_ERR_NO_MEMORY,
     .disarm = disarm_library,
     .lasting = true},
    {.name = "an allocation of cJSON fails",
     .arm = sweep_arm_events,
     .ends = CASCADE_ERR_NO_MEMORY,
     .disarm = sweep_disarm_events,
     .variant = OF_CJSON},
    {.name = "allocations of cJSON fail from one on",
     .arm = sweep_arm_events,
     .ends = CASCADE_ERR_NO_MEMORY,
     .disarm = sweep_disarm_events,
     .lasting = true,
     .variant = OF_CJSON},
    {.name = "an allocation of SQLite fails",
     .arm = sweep_arm_events,
     .ends = CASCADE_ERR_NO_MEMORY,
     .disarm = sweep_disarm_events,
     .variant = OF_SQLITE,
     .only = "sqlite"},
    {.name = "allocations of SQLite fail from one on",
     .arm = sweep_arm_events,
     .ends = CASCADE_ERR_NO_MEMORY,
     .disarm = sweep_disarm_events,
     .lasting = true,
     .variant = OF_SQLITE,
     .only = "sqlite"},
};

int
main(int argc, char **argv)
{
    static const sweep_plan plan = {.name = "sweep_alloc",
                                    .faults = faults,
                                    .fault_count =
                                        sizeof(faults) / sizeof(faults[0]),
                                    .points_memory = SIZE_MAX,
                                    .points_sqlite = 40,
                                    .points_postgres = 3,
                                    .prepare = hook_allocators};

    return sweep_main(&plan, argc, argv);
}
