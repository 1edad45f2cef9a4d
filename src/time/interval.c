/* SPDX-License-Identifier: MIT */
#include "time/interval.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "time/civil.h"

cascade_err
csc_interval_init(csc_interval *interval, const char *what, int64_t every_ms,
                  int64_t anchor_ms, int64_t least_ms)
{
    int64_t least =
        least_ms > CSC_INTERVAL_LEAST_MS ? least_ms : CSC_INTERVAL_LEAST_MS;

    if (every_ms < least || every_ms > CSC_INTERVAL_MOST_MS)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: an interval is from %" PRId64 " ms to 100 years",
                        what, least);
    interval->every_ms = every_ms;
    interval->phase_ms = csc_civil_mod(anchor_ms, every_ms);
    return CASCADE_OK;
}

/* ---- Text ---------------------------------------------------------------- */

static const struct {
    const char *name;
    int64_t ms;
} units[] = {
    {"w", 604800000}, {"d", 86400000}, {"h", 3600000},
    {"m", 60000},     {"s", 1000},     {"ms", 1},
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

/* The unit that the text begins with; UNIT_COUNT: none. */
static size_t
unit_at(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz");

    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (strlen(units[i].name) == len &&
            memcmp(units[i].name, text, len) == 0)
            return i;
    }
    return UNIT_COUNT;
}

/* A number with its unit, which is behind `*last` in the table; false, with *at
 * where something else stands. */
static bool
take_part(const char **at, size_t *last, int64_t *sum_ms)
{
    int64_t number = 0;
    const char *from = *at;
    size_t unit;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (number <= CSC_INTERVAL_MOST_MS)
            number = number * 10 + (**at - '0');
    }
    unit = unit_at(*at);
    if (*at == from || unit == UNIT_COUNT || unit < *last)
        return false;
    *at = from;
    if (number > (CSC_INTERVAL_MOST_MS - *sum_ms) / units[unit].ms)
        return false;
    *sum_ms += number * units[unit].ms;
    *last = unit + 1;
    *at += strspn(*at, "0123456789") + strlen(units[unit].name);
    return true;
}

cascade_err
csc_interval_parse(const char *what, const char *text, int64_t *length_ms)
{
    const char *at = text;
    size_t last = 0;
    int64_t sum_ms = 0;

    do {
        if (!take_part(&at, &last, &sum_ms))
            return csc_fail(CASCADE_ERR_INVALID,
                            "%s: no length of time at byte %zu: numbers with "
                            "w, d, h, m, s or ms in this order, like 1h30m, "
                            "100 years at most",
                            what, (size_t)(at - text) + 1);
    } while (*at != '\0');
    *length_ms = sum_ms;
    return CASCADE_OK;
}

char *
csc_interval_format(int64_t length_ms, char text[CSC_INTERVAL_TEXT_SIZE])
{
    int64_t left_ms = length_ms;
    size_t len = 0;

    csc_assert(length_ms >= 0 && length_ms <= CSC_INTERVAL_MOST_MS);
    for (size_t i = 1; i < UNIT_COUNT; i++) {
        if (left_ms >= units[i].ms || (i + 1 == UNIT_COUNT && len == 0))
            len += (size_t)snprintf(text + len, CSC_INTERVAL_TEXT_SIZE - len,
                                    "%" PRId64 "%s", left_ms / units[i].ms,
                                    units[i].name);
        left_ms %= units[i].ms;
    }
    return text;
}

/* ---- Instants ------------------------------------------------------------ */

bool
csc_interval_matches(const csc_interval *interval, int64_t at_ms)
{
    return at_ms >= 0 && at_ms < CSC_INTERVAL_END_MS &&
           at_ms % interval->every_ms == interval->phase_ms;
}

bool
csc_interval_next(const csc_interval *interval, int64_t after_ms,
                  int64_t *at_ms)
{
    int64_t found_ms = interval->phase_ms;

    if (after_ms >= CSC_INTERVAL_END_MS)
        return false;
    if (after_ms >= found_ms)
        found_ms += ((after_ms - found_ms) / interval->every_ms + 1) *
                    interval->every_ms;
    if (found_ms >= CSC_INTERVAL_END_MS)
        return false;
    *at_ms = found_ms;
    return true;
}

bool
csc_interval_previous(const csc_interval *interval, int64_t before_ms,
                      int64_t *at_ms)
{
    int64_t to_ms =
        before_ms > CSC_INTERVAL_END_MS ? CSC_INTERVAL_END_MS : before_ms;

    if (to_ms <= interval->phase_ms)
        return false;
    *at_ms = interval->phase_ms + (to_ms - 1 - interval->phase_ms) /
                                      interval->every_ms * interval->every_ms;
    return true;
}
