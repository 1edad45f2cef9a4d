/* SPDX-License-Identifier: MIT
 *
 * All times are UTC, so that what two people read on two machines is the same.
 */
#include "text/moment.h"

#include <cascade/cascade.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (INT64_C(60) * SECOND_MS)
#define HOUR_MS (INT64_C(60) * MINUTE_MS)
#define DAY_MS (INT64_C(24) * HOUR_MS)
#define DURATION_MAX_MS (INT64_C(36600) * DAY_MS)

/* Splits into seconds, rounded down, and the milliseconds behind them. */
static bool
split(int64_t at_ms, struct tm *parts, int *ms)
{
    int64_t rest = at_ms % SECOND_MS;
    time_t seconds = (time_t)(at_ms / SECOND_MS);

    if (rest < 0) {
        rest += SECOND_MS;
        seconds--;
    }
    *ms = (int)rest;
    return gmtime_r(&seconds, parts) != NULL;
}

const char *
moment_text(int64_t at_ms, char text[MOMENT_SIZE])
{
    struct tm parts;
    int ms = 0;

    snprintf(text, MOMENT_SIZE, "-");
    if (at_ms != CASCADE_TIME_NONE && split(at_ms, &parts, &ms))
        strftime(text, MOMENT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

const char *
moment_exact(int64_t at_ms, char text[MOMENT_SIZE])
{
    struct tm parts;
    int ms = 0;
    size_t len = 0;

    snprintf(text, MOMENT_SIZE, "-");
    if (split(at_ms, &parts, &ms))
        len = strftime(text, MOMENT_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    if (len > 0)
        snprintf(text + len, MOMENT_SIZE - len, ".%03dZ", ms);
    return text;
}

const char *
moment_duration(int64_t ms, char text[MOMENT_SIZE])
{
    const char *sign = ms < 0 ? "-" : "";
    int64_t left = ms == INT64_MIN ? INT64_MAX : ms < 0 ? -ms : ms;

    if (left < SECOND_MS)
        snprintf(text, MOMENT_SIZE, "%s%" PRId64 "ms", sign, left);
    else if (left < MINUTE_MS)
        snprintf(text, MOMENT_SIZE, "%s%" PRId64 ".%" PRId64 "s", sign,
                 left / SECOND_MS, left % SECOND_MS / 100);
    else if (left < HOUR_MS)
        snprintf(text, MOMENT_SIZE, "%s%" PRId64 "m%02" PRId64 "s", sign,
                 left / MINUTE_MS, left % MINUTE_MS / SECOND_MS);
    else if (left < DAY_MS)
        snprintf(text, MOMENT_SIZE, "%s%" PRId64 "h%02" PRId64 "m", sign,
                 left / HOUR_MS, left % HOUR_MS / MINUTE_MS);
    else
        snprintf(text, MOMENT_SIZE, "%s%" PRId64 "d%02" PRId64 "h", sign,
                 left / DAY_MS, left % DAY_MS / HOUR_MS);
    return text;
}

/* The unit at `text`, whose length it gives; 0 for none. */
static int64_t
unit_ms(const char *text, size_t *len)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1},      {"s", SECOND_MS}, {"m", MINUTE_MS},
                 {"h", HOUR_MS}, {"d", DAY_MS},    {"w", 7 * DAY_MS}};
    *len = strspn(text, "dhmsw");
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == *len &&
            strncmp(units[i].name, text, *len) == 0)
            return units[i].ms;
    return 0;
}

/* Reads one number with its unit, and moves on behind it. */
static bool
read_part(const char **text, int64_t *ms)
{
    size_t digits = strspn(*text, "0123456789");
    size_t len = 0;
    int64_t number = 0;
    int64_t unit = unit_ms(*text + digits, &len);

    if (digits == 0 || digits > 15 || unit == 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        number = number * 10 + ((*text)[i] - '0');
    if (number > DURATION_MAX_MS / unit)
        return false;
    *text += digits + len;
    *ms += number * unit;
    return *ms <= DURATION_MAX_MS;
}

bool
moment_read_duration(const char *text, int64_t *ms)
{
    int64_t sum = 0;

    if (*text == '\0')
        return false;
    if (strcmp(text, "0") != 0)
        while (*text != '\0')
            if (!read_part(&text, &sum))
                return false;
    *ms = sum;
    return true;
}
