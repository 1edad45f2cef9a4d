/* SPDX-License-Identifier: MIT
 *
 * The clock of tests whose time is injected; see fake_clock.h.
 */
#include "support/fake_clock.h"

#define START_MONOTONIC_MS 1000000

static int64_t
wall_ms(void *context)
{
    return atomic_load(&((fake_clock *)context)->wall_ms);
}

static int64_t
monotonic_ns(void *context)
{
    return atomic_load(&((fake_clock *)context)->monotonic_ms) * 1000000;
}

void
fake_clock_init(fake_clock *fake, int64_t start_ms)
{
    fake->clock = (cascade_clock){fake, wall_ms, monotonic_ns};
    atomic_store(&fake->wall_ms, start_ms);
    atomic_store(&fake->monotonic_ms, START_MONOTONIC_MS);
}

void
fake_clock_advance(fake_clock *fake, int64_t ms)
{
    atomic_fetch_add(&fake->wall_ms, ms);
    atomic_fetch_add(&fake->monotonic_ms, ms);
}

void
fake_clock_set_wall(fake_clock *fake, int64_t set_ms)
{
    atomic_store(&fake->wall_ms, set_ms);
}
