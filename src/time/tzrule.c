/* SPDX-License-Identifier: MIT */
#include "time/tzrule.h"

#include <string.h>

#include "time/civil.h"

#define HOURS_MAX 24
#define HOURS_EXTENDED_MAX 167
#define HOUR_S 3600
#define TIME_DEFAULT_S (2 * HOUR_S)
#define NAME_MIN 3

/* ---- Reading ------------------------------------------------------------- */

typedef struct reader {
    const char *at;
    const char *end;
} reader;

static char
peek(const reader *in)
{
    return in->at < in->end ? *in->at : '\0';
}

static bool
take(reader *in, char c)
{
    if (peek(in) != c || c == '\0')
        return false;
    in->at++;
    return true;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* One to three digits of a number between `min` and `max`. */
static bool
take_number(reader *in, int32_t min, int32_t max, int32_t *number)
{
    int digits = 0;

    for (*number = 0; is_digit(peek(in)) && digits < 3; digits++, in->at++)
        *number = *number * 10 + (*in->at - '0');
    return digits > 0 && !is_digit(peek(in)) && *number >= min &&
           *number <= max;
}

/* "EST", or "<+1245>". */
static bool
take_name(reader *in, char name[CSC_TZRULE_NAME_SIZE])
{
    bool quoted = take(in, '<');
    const char *from = in->at;
    size_t len;

    while (
        is_letter(peek(in)) ||
        (quoted && (is_digit(peek(in)) || peek(in) == '+' || peek(in) == '-')))
        in->at++;
    len = (size_t)(in->at - from);
    if (len < NAME_MIN || len >= CSC_TZRULE_NAME_SIZE)
        return false;
    memcpy(name, from, len);
    name[len] = '\0';
    return !quoted || take(in, '>');
}

/* "[+-]h[:mm[:ss]]" */
static bool
take_time(reader *in, int32_t hours_max, bool is_signed, int32_t *time_s)
{
    bool minus = is_signed && peek(in) == '-';
    int32_t hours = 0;
    int32_t minutes = 0;
    int32_t seconds = 0;

    if (minus || (is_signed && peek(in) == '+'))
        in->at++;
    if (!take_number(in, 0, hours_max, &hours))
        return false;
    if (take(in, ':')) {
        if (!take_number(in, 0, 59, &minutes))
            return false;
        if (take(in, ':') && !take_number(in, 0, 59, &seconds))
            return false;
    }
    *time_s = hours * HOUR_S + minutes * 60 + seconds;
    if (minus)
        *time_s = -*time_s;
    return true;
}

/* POSIX counts west of UTC. */
static bool
take_offset(reader *in, int32_t *offset_s)
{
    int32_t west_s = 0;

    if (!take_time(in, HOURS_MAX, true, &west_s))
        return false;
    *offset_s = -west_s;
    return true;
}

static bool
take_day(reader *in, csc_tzrule_date *date)
{
    if (take(in, 'J')) {
        date->form = CSC_TZRULE_JULIAN;
        return take_number(in, 1, 365, &date->day);
    }
    if (!take(in, 'M')) {
        date->form = CSC_TZRULE_DAY;
        return take_number(in, 0, 365, &date->day);
    }
    date->form = CSC_TZRULE_MONTH;
    return take_number(in, 1, 12, &date->month) && take(in, '.') &&
           take_number(in, 1, 5, &date->week) && take(in, '.') &&
           take_number(in, 0, 6, &date->day);
}

static bool
take_date(reader *in, bool extended, csc_tzrule_date *date)
{
    int32_t hours_max = extended ? HOURS_EXTENDED_MAX : HOURS_MAX;

    date->time_s = TIME_DEFAULT_S;
    return take(in, ',') && take_day(in, date) &&
           (!take(in, '/') ||
            take_time(in, hours_max, extended, &date->time_s));
}

const char *
csc_tzrule_parse(const char *text, size_t len, bool extended, csc_tzrule *rule)
{
    reader in = {text, text + len};

    memset(rule, 0, sizeof(*rule));
    if (!take_name(&in, rule->standard.name))
        return "the name of standard time is not 3 to 31 letters";
    if (!take_offset(&in, &rule->standard.offset_s))
        return "the offset of standard time is not hh[:mm[:ss]], up to 24";
    if (in.at == in.end)
        return NULL;
    rule->has_dst = true;
    if (!take_name(&in, rule->dst.name))
        return "the name of daylight saving time is not 3 to 31 letters";
    rule->dst.offset_s = rule->standard.offset_s + HOUR_S;
    if (in.at < in.end && peek(&in) != ',' &&
        !take_offset(&in, &rule->dst.offset_s))
        return "the offset of daylight saving time is not hh[:mm[:ss]]";
    if (!take_date(&in, extended, &rule->start))
        return "the start of daylight saving time is no date of POSIX";
    if (!take_date(&in, extended, &rule->end))
        return "the end of daylight saving time is no date of POSIX";
    return in.at == in.end ? NULL : "there is more behind its end";
}

/* ---- Evaluating ---------------------------------------------------------- */

static int64_t
month_days(const csc_tzrule_date *date, int32_t year)
{
    int64_t first = csc_civil_days(year, date->month, 1);
    int64_t to_weekday = csc_civil_mod(date->day - csc_civil_weekday(first), 7);
    int64_t day = to_weekday + (int64_t)(date->week - 1) * 7;

    if (day >= csc_civil_month_days(year, date->month))
        day -= 7;
    return first + day;
}

static int64_t
date_s(const csc_tzrule_date *date, int32_t year)
{
    int64_t days = csc_civil_days(year, 1, 1);

    switch (date->form) {
    case CSC_TZRULE_JULIAN:
        days += date->day - 1;
        if (date->day >= 60 && csc_civil_is_leap(year))
            days++;
        break;
    case CSC_TZRULE_DAY:
        days += date->day;
        break;
    case CSC_TZRULE_MONTH:
        days = month_days(date, year);
        break;
    }
    return days * CSC_CIVIL_DAY_S + date->time_s;
}

int64_t
csc_tzrule_start_s(const csc_tzrule *rule, int32_t year)
{
    return date_s(&rule->start, year) - rule->standard.offset_s;
}

int64_t
csc_tzrule_end_s(const csc_tzrule *rule, int32_t year)
{
    return date_s(&rule->end, year) - rule->dst.offset_s;
}

/* The end of the daylight saving time that starts in that year. Where it falls
 * into the next one by the calendar, that may be the end of two years on. */
static int64_t
end_behind(const csc_tzrule *rule, int64_t start_s, int32_t year)
{
    int64_t end_s = csc_tzrule_end_s(rule, year);

    for (int32_t later = 1; end_s <= start_s && later <= 2; later++)
        end_s = csc_tzrule_end_s(rule, year + later);
    return end_s;
}

/* A year's daylight saving time may begin a week before it, and end a week
 * behind the next. */
bool
csc_tzrule_is_dst(const csc_tzrule *rule, int64_t at_s)
{
    csc_civil civil;

    if (!rule->has_dst)
        return false;
    csc_civil_split(at_s, &civil);
    for (int32_t year = civil.year - 2; year <= civil.year + 1; year++) {
        int64_t start_s = csc_tzrule_start_s(rule, year);

        if (at_s >= start_s && at_s < end_behind(rule, start_s, year))
            return true;
    }
    return false;
}
