/* SPDX-License-Identifier: MIT
 *
 * The times an engine knows.
 */
#ifndef CSC_HELD_CLOCK_H
#define CSC_HELD_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* The store's clock, as far as this process knows it. Under the engine's mutex;
 * the offsets are read without it. */
typedef struct csc_clock_offset {
    int64_t hold_until_ns; /* see csc_clock_hold() */
    /* store's clock - monotonic clock, at least and at most: the store read its
     * own at some time between question and answer, cut to the millisecond */
    _Atomic int64_t min_ns;
    _Atomic int64_t max_ns;
    int64_t confirmed_ms; /* the store's last word */
} csc_clock_offset;

/* The store's time as far as this process knows it: never ahead of it, so that
 * nothing fires early; behind by as long as the last answer took. Locked or
 * not. */
int64_t csc_clock_now_ms(const cascade_engine *engine);
/* The same, never behind it: what a delay counts from. */
int64_t csc_clock_now_max_ms(const cascade_engine *engine);
int64_t csc_clock_now_ns(const cascade_engine *engine);
/* Something failed: no claims, loads and timers for a moment. Not locked. */
void csc_clock_hold(cascade_engine *engine);
/* Asks the store for its time. Not locked. */
cascade_err csc_clock_sync(cascade_engine *engine);

/* What the store's clock has just shown to a question of `asked_ns`. */
void csc_clock_note_now_locked(cascade_engine *engine, int64_t asked_ns,
                               int64_t now_ms);

/* Whether the engine is there, as far as it knows, and its lease is not over.
 */
bool csc_clock_has_lease_locked(const cascade_engine *engine);

/* The monotonic time in so many milliseconds. */
int64_t csc_clock_after_ms(const cascade_engine *engine, int64_t ms);

#endif
