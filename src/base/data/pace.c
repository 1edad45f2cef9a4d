/* SPDX-License-Identifier: MIT */
#include "base/data/pace.h"

#include "cascade/cascade.h"

#define STEP 8 /* by the how manieth part it changes */

size_t
csc_pace_next(size_t size, int64_t took_ns, int64_t limit_ns, bool full,
              const csc_pace_bounds *bounds)
{
    if (took_ns > 2 * limit_ns)
        size /= 2;
    else if (took_ns > limit_ns)
        size -= size / STEP;
    else if (full && took_ns < limit_ns / 4 * 3)
        size += size / STEP + 1;
    if (size < bounds->least)
        return bounds->least;
    return size < bounds->most ? size : bounds->most;
}
