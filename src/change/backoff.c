/* SPDX-License-Identifier: MIT
 *
 * Exponential backoff with a ceiling, then jitter: a uniformly random share of
 * up to +- jitter_percent, so that what failed together does not come back
 * together. The product is formed step by step and stops at the ceiling, so it
 * cannot overflow.
 */
#include "change/backoff.h"

#include "base/clock.h"
#include "base/error.h"
#include "cascade/cascade.h"

#define ATTEMPTS_MAX 5
#define BACKOFF_MS 1000
#define BACKOFF_MAX_MS 60000
#define BACKOFF_PERCENT 200
#define JITTER_PERCENT 20
#define DELAY_LIMIT_MS (INT64_C(1000) * 60 * 60 * 24 * 365)
#define PERCENT_LIMIT 10000

static cascade_err
check(const csc_attempts *a, const char *what)
{
    if (a->max < -1)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: attempts_max is %d; give 1 or more, 0 for the "
                        "default, -1 for no limit",
                        what, a->max);
    if (a->backoff_ms < 0 || a->backoff_ms > DELAY_LIMIT_MS ||
        a->backoff_max_ms < 0 || a->backoff_max_ms > DELAY_LIMIT_MS)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: backoff_ms and backoff_max_ms must lie between 0 "
                        "and one year",
                        what);
    if (a->backoff_percent < 100 || a->backoff_percent > PERCENT_LIMIT)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: backoff_percent is %d; give 100 to %d", what,
                        a->backoff_percent, PERCENT_LIMIT);
    if (a->jitter_percent < 0 || a->jitter_percent > 100)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: jitter_percent is %d; give 1 to 100, or -1 for "
                        "none",
                        what, a->jitter_percent);
    return CASCADE_OK;
}

cascade_err
csc_backoff_init(csc_attempts *attempts, const char *what,
                 const csc_attempts *given)
{
    csc_attempts a = *given;
    cascade_err err = CASCADE_OK;

    if (a.max == 0)
        a.max = ATTEMPTS_MAX;
    if (a.backoff_ms == 0)
        a.backoff_ms = BACKOFF_MS;
    if (a.backoff_max_ms == 0)
        a.backoff_max_ms =
            a.backoff_ms > BACKOFF_MAX_MS ? a.backoff_ms : BACKOFF_MAX_MS;
    if (a.backoff_percent == 0)
        a.backoff_percent = BACKOFF_PERCENT;
    if (a.jitter_percent == 0)
        a.jitter_percent = JITTER_PERCENT;
    else if (a.jitter_percent == -1)
        a.jitter_percent = 0;
    err = check(&a, what);
    if (err == CASCADE_OK)
        *attempts = a;
    return err;
}

bool
csc_backoff_left(const csc_attempts *attempts, int32_t failed)
{
    csc_assert(failed >= 0);
    return attempts->max < 0 || failed < attempts->max;
}

int64_t
csc_backoff_delay_ms(const csc_attempts *attempts, int32_t failed,
                     const cascade_random *random)
{
    int64_t delay = attempts->backoff_ms;
    int64_t spread = 0;

    csc_assert(attempts->backoff_percent >= 100 &&
               attempts->jitter_percent <= 100);
    if (attempts->backoff_percent == 100)
        failed = 1;
    for (int32_t i = 1; i < failed && delay < attempts->backoff_max_ms; i++) {
        int64_t next = delay / 100 * attempts->backoff_percent +
                       delay % 100 * attempts->backoff_percent / 100;

        delay = next > delay ? next : delay + 1; /* less than a millisecond */
    }
    if (delay > attempts->backoff_max_ms)
        delay = attempts->backoff_max_ms;
    spread = delay / 100 * attempts->jitter_percent +
             delay % 100 * attempts->jitter_percent / 100;
    if (spread > 0)
        delay += (int64_t)(csc_clock_random_u64(random) %
                           (uint64_t)(2 * spread + 1)) -
                 spread;
    return delay;
}
