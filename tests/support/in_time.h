/* SPDX-License-Identifier: MIT
 *
 * An end for loops that wait:
 *
 *     int64_t end_ms = 0;
 *
 *     while (!done() && in_time(&end_ms, LIMIT_MS))
 *         poll(NULL, 0, 1);
 */
#ifndef TESTS_SUPPORT_IN_TIME_H
#define TESTS_SUPPORT_IN_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Whether it was asked first less than `limit_ms` ago: `*end_ms` is 0 then. */
static inline bool
in_time(int64_t *end_ms, int64_t limit_ms)
{
    int64_t now_ms = csc_clock_monotonic_ms(&csc_clock_system);

    if (*end_ms == 0)
        *end_ms = now_ms + limit_ms;
    return now_ms < *end_ms;
}

#endif
