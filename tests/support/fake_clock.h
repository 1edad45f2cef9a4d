/* SPDX-License-Identifier: MIT
 *
 * A clock that stands until a test moves it. Callable from any thread.
 */
#ifndef TESTS_SUPPORT_FAKE_CLOCK_H
#define TESTS_SUPPORT_FAKE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "cascade/cascade.h"

typedef struct fake_clock {
    cascade_clock clock; /* to be injected; points back here */
    _Atomic int64_t wall_ms;
    _Atomic int64_t monotonic_ms;
} fake_clock;

void fake_clock_init(fake_clock *fake, int64_t wall_ms);
/* Moves both clocks on. */
void fake_clock_advance(fake_clock *fake, int64_t ms);
/* Moves the time of day alone, as when somebody sets it. */
void fake_clock_set_wall(fake_clock *fake, int64_t wall_ms);

#endif
