/* SPDX-License-Identifier: MIT
 *
 * Dates are counted from March of year 0, so that the day that comes and goes
 * is a year's last; 400 years have 146,097 days, whatever year they begin with.
 */
#include "time/civil.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define ERA_YEARS 400
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* 0000-03-01 to 1970-01-01 */

int64_t
csc_civil_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t
csc_civil_mod(int64_t a, int64_t b)
{
    int64_t rest = a % b;

    return rest < 0 ? rest + b : rest;
}

/* ---- Dates --------------------------------------------------------------- */

bool
csc_civil_is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int
csc_civil_month_days(int64_t year, int month)
{
    static const int8_t days[] = {31, 28, 31, 30, 31, 30,
                                  31, 31, 30, 31, 30, 31};

    csc_assert(month >= 1 && month <= 12);
    return month == 2 && csc_civil_is_leap(year) ? 29 : days[month - 1];
}

int64_t
csc_civil_days(int32_t year, int month, int64_t day)
{
    int64_t from_march = month > 2 ? month - 3 : month + 9;
    int64_t years = (int64_t)year - (month <= 2);
    int64_t era = csc_civil_div(years, ERA_YEARS);
    int64_t of_era = years - era * ERA_YEARS;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 +
           (153 * from_march + 2) / 5 + day - 1 - EPOCH_DAYS;
}

void
csc_civil_date(int64_t days, csc_civil *civil)
{
    int64_t era = csc_civil_div(days + EPOCH_DAYS, ERA_DAYS);
    int64_t day = days + EPOCH_DAYS - era * ERA_DAYS;
    int64_t year =
        (day - day / 1460 + day / 36524 - day / (ERA_DAYS - 1)) / 365;
    int64_t from_march;

    day -= 365 * year + year / 4 - year / 100;
    from_march = (5 * day + 2) / 153;
    civil->day = (int32_t)(day - (153 * from_march + 2) / 5 + 1);
    civil->month = (int32_t)(from_march < 10 ? from_march + 3 : from_march - 9);
    civil->year = (int32_t)(era * ERA_YEARS + year + (civil->month <= 2));
}

int
csc_civil_weekday(int64_t days)
{
    return (int)csc_civil_mod(days + 4, 7); /* 1970-01-01 was a Thursday */
}

int64_t
csc_civil_seconds(const csc_civil *civil)
{
    return csc_civil_days(civil->year, civil->month, civil->day) *
               CSC_CIVIL_DAY_S +
           civil->hour * INT64_C(3600) + civil->minute * INT64_C(60) +
           civil->second;
}

void
csc_civil_split(int64_t local_s, csc_civil *civil)
{
    int64_t days = csc_civil_div(local_s, CSC_CIVIL_DAY_S);
    int32_t second = (int32_t)(local_s - days * CSC_CIVIL_DAY_S);

    csc_civil_date(days, civil);
    civil->hour = second / 3600;
    civil->minute = second / 60 % 60;
    civil->second = second % 60;
    civil->us = 0;
}

/* ---- Writing ------------------------------------------------------------- */

/* Each part goes behind what is there, and stays within the text. */
static void
add(char *text, const char *part)
{
    size_t len = strlen(text);

    (void)snprintf(text + len, CSC_CIVIL_TEXT_SIZE - len, "%s", part);
}

static void
add_fraction(char *text, int32_t us)
{
    char part[16];

    if (us == 0)
        return;
    if (us % 1000 == 0)
        (void)snprintf(part, sizeof(part), ".%03d", us / 1000);
    else
        (void)snprintf(part, sizeof(part), ".%06d", us);
    add(text, part);
}

static void
add_offset(char *text, int32_t offset_s)
{
    char sign = offset_s < 0 ? '-' : '+';
    int32_t size = offset_s < 0 ? -offset_s : offset_s;
    char part[32];

    (void)snprintf(part, sizeof(part), "%c%02d:%02d", sign, size / 3600,
                   size / 60 % 60);
    add(text, part);
    if (size % 60 != 0) {
        (void)snprintf(part, sizeof(part), ":%02d", size % 60);
        add(text, part);
    }
}

char *
csc_civil_format(const csc_civil_stamp *stamp, char text[CSC_CIVIL_TEXT_SIZE])
{
    const csc_civil *civil = &stamp->civil;

    (void)snprintf(text, CSC_CIVIL_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d",
                   civil->year, civil->month, civil->day, civil->hour,
                   civil->minute, civil->second);
    add_fraction(text, civil->us);
    if (stamp->has_offset)
        add_offset(text, stamp->offset_s);
    if (stamp->zone[0] != '\0') {
        add(text, "[");
        add(text, stamp->zone);
        add(text, "]");
    }
    return text;
}

/* ---- Reading ------------------------------------------------------------- */

/* `digits` digits of a number up to `max`; -1 when they are not there. */
static int32_t
number_at(const char *at, int digits, int32_t max)
{
    int32_t number = 0;

    for (int i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '9')
            return -1;
        number = number * 10 + (at[i] - '0');
    }
    return number <= max ? number : -1;
}

int
csc_civil_parse_date(const char *text, csc_civil *civil)
{
    int32_t year = number_at(text, 4, 9999);
    int32_t month = -1;
    int32_t day = -1;

    if (year >= 1 && text[4] == '-')
        month = number_at(text + 5, 2, 12);
    if (month >= 1 && text[7] == '-')
        day = number_at(text + 8, 2, 31);
    if (day < 1 || day > csc_civil_month_days(year, month))
        return 0;
    civil->year = year;
    civil->month = month;
    civil->day = day;
    return 10;
}

/* The parts that follow: each moves *at behind what it has read, and is false
 * where that is not as it must be. */

static bool
take_number(const char **at, char before, int32_t max, int32_t *number)
{
    if (before != '\0') {
        if (**at != before)
            return false;
        (*at)++;
    }
    *number = number_at(*at, 2, max);
    if (*number < 0)
        return false;
    *at += 2;
    return true;
}

static bool
take_fraction(const char **at, int32_t *us)
{
    int32_t unit = 100000;

    (*at)++;
    if (number_at(*at, 1, 9) < 0)
        return false;
    for (; unit > 0 && number_at(*at, 1, 9) >= 0; unit /= 10, (*at)++)
        *us += (**at - '0') * unit;
    return true;
}

static bool
take_time(const char **at, csc_civil *civil)
{
    if (**at != 'T' && **at != ' ')
        return false;
    (*at)++;
    if (!take_number(at, '\0', 23, &civil->hour) ||
        !take_number(at, ':', 59, &civil->minute))
        return false;
    if (**at != ':')
        return true;
    if (!take_number(at, ':', 59, &civil->second))
        return false;
    return **at != '.' || take_fraction(at, &civil->us);
}

static bool
take_offset(const char **at, csc_civil_stamp *stamp)
{
    int32_t hours = 0;
    int32_t minutes = 0;
    int32_t seconds = 0;
    char sign = **at;

    if (sign != 'Z' && sign != '+' && sign != '-')
        return true;
    (*at)++;
    stamp->has_offset = true;
    if (sign == 'Z')
        return true;
    if (!take_number(at, '\0', 25, &hours) ||
        !take_number(at, ':', 59, &minutes))
        return false;
    if (**at == ':' && !take_number(at, ':', 59, &seconds))
        return false;
    stamp->offset_s = hours * 3600 + minutes * 60 + seconds;
    if (sign == '-')
        stamp->offset_s = -stamp->offset_s;
    return true;
}

static bool
take_zone(const char **at, csc_civil_stamp *stamp)
{
    const char *end;
    size_t len;

    if (**at != '[')
        return true;
    end = strchr(*at, ']');
    len = end != NULL ? (size_t)(end - *at - 1) : 0;
    if (len == 0 || len >= sizeof(stamp->zone))
        return false;
    memcpy(stamp->zone, *at + 1, len);
    *at = end + 1;
    return true;
}

cascade_err
csc_civil_parse(const char *what, const char *text, csc_civil_stamp *stamp)
{
    csc_civil_stamp read = {0};
    const char *at = text + csc_civil_parse_date(text, &read.civil);

    if (at == text)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: no date of the years 1 to 9999 at its beginning: "
                        "write it like 2026-01-31T23:59:59+01:00",
                        what);
    if (!take_time(&at, &read.civil) || !take_offset(&at, &read) ||
        !take_zone(&at, &read) || *at != '\0')
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: not a time at byte %zu: write it like "
                        "2026-01-31T23:59:59+01:00[Europe/Paris]",
                        what, (size_t)(at - text) + 1);
    *stamp = read;
    return CASCADE_OK;
}
