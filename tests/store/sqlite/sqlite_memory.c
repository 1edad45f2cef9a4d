/* SPDX-License-Identifier: MIT
 *
 * The failing allocator; see sqlite_memory.h.
 */
#include "store/sqlite/sqlite_memory.h"

#include <stddef.h>

#include <sqlite3.h>

static sqlite3_mem_methods real_memory;
static long fail_in; /* 0: never */
static bool fail_on;

static bool
fails(void)
{
    if (fail_in == 0)
        return false;
    if (fail_in == 1) {
        if (!fail_on)
            fail_in = 0;
        return true;
    }
    fail_in--;
    return false;
}

static void *
failing_alloc(int size)
{
    return fails() ? NULL : real_memory.xMalloc(size);
}

static void *
failing_realloc(void *old, int size)
{
    return fails() ? NULL : real_memory.xRealloc(old, size);
}

int
sqlite_memory_install(void)
{
    sqlite3_mem_methods failing;
    int code = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);

    if (code != SQLITE_OK)
        return code;
    failing = real_memory;
    failing.xMalloc = failing_alloc;
    failing.xRealloc = failing_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
}

void
sqlite_memory_last(bool all)
{
    fail_on = all;
}

void
sqlite_memory_fail(long nth)
{
    fail_in = nth;
}

bool
sqlite_memory_stop(void)
{
    bool reached = fail_in <= 1;

    fail_in = 0;
    return reached;
}
