/* SPDX-License-Identifier: MIT
 *
 * Matching. A day is looked for in three sets, years, months and the dates of
 * one month, and a second of it in three more; what is greater in one is least
 * in those below it.
 *
 *   12:59:30 -> hour 12? minute 59? second >= 30?      else
 *               hour 12? minute > 59?  first second    else
 *               hour > 12?  first minute, first second else the next day
 */
#include "time/cron.h"

#include "base/error.h"

#define MONTHS 12
#define SATURDAY 6
#define ALL_DATES UINT32_C(0xfffffffe)
#define YEARS (CSC_CIVIL_YEAR_MAX - CSC_CIVIL_YEAR_MIN + 1)

/* ---- Bits ---------------------------------------------------------------- */

/* The least bit that is `from` or more; -1 when there is none. */
static int
bit_from(uint64_t bits, int from)
{
    uint64_t rest = from > 63 ? 0 : bits >> from;

    return rest == 0 ? -1 : from + __builtin_ctzll(rest);
}

/* The greatest bit that is `to` or less. */
static int
bit_to(uint64_t bits, int to)
{
    uint64_t rest = to < 0 ? 0 : bits << (63 - to);

    return rest == 0 ? -1 : to - __builtin_clzll(rest);
}

/* ---- Days of a month ----------------------------------------------------- */

typedef struct month {
    int32_t year;
    int month;
    int days;
    int first_weekday;
} month;

static void
month_init(month *m, int32_t year, int number)
{
    m->year = year;
    m->month = number;
    m->days = csc_civil_month_days(year, number);
    m->first_weekday = csc_civil_weekday(csc_civil_days(year, number, 1));
}

/* The dates that fall on these weekdays: six weeks in a row, from the Sunday
 * before or on the first of the month. */
static uint32_t
dates_of(const month *m, uint32_t weekdays)
{
    uint64_t weeks = weekdays * UINT64_C(0x810204081);

    return (uint32_t)(weeks >> m->first_weekday << 1);
}

/* The weekday from Monday to Friday that is nearest to a date. */
static int
nearest_to(const month *m, int date)
{
    int weekday = (m->first_weekday + date - 1) % 7;

    if (weekday == SATURDAY)
        return date > 1 ? date - 1 : date + 2;
    if (weekday == 0)
        return date < m->days ? date + 1 : date - 2;
    return date;
}

static uint32_t
dates_by_date(const csc_cron_days *days, const month *m)
{
    uint32_t dates = days->dates;

    for (uint32_t left = days->before_last; left != 0; left &= left - 1) {
        int date = m->days - __builtin_ctz(left);

        if (date >= 1)
            dates |= UINT32_C(1) << date;
    }
    for (uint32_t left = days->nearest; left != 0; left &= left - 1) {
        int date = __builtin_ctz(left);

        if (date <= m->days)
            dates |= UINT32_C(1) << nearest_to(m, date);
    }
    for (uint32_t left = days->nearest_before_last; left != 0;
         left &= left - 1) {
        int date = m->days - __builtin_ctz(left);

        if (date >= 1)
            dates |= UINT32_C(1) << nearest_to(m, date);
    }
    return dates;
}

static uint32_t
dates_by_weekday(const csc_cron_days *days, const month *m)
{
    uint32_t dates = dates_of(m, days->weekdays);

    for (int nth = 1; nth <= CSC_CRON_NTH_MAX; nth++) {
        uint32_t week = UINT32_C(0xfe) << (7 * (nth - 1));

        if (days->nth_weekdays[nth] != 0)
            dates |= dates_of(m, days->nth_weekdays[nth]) & week;
    }
    dates |= dates_of(m, days->last_weekdays) & (ALL_DATES << (m->days - 7));
    return dates;
}

static uint32_t
dates_of_month(const csc_cron_days *days, const month *m)
{
    uint32_t exist = ALL_DATES >> (31 - m->days) & ALL_DATES;

    if (days->any_date && days->any_weekday)
        return exist;
    if (days->any_date)
        return dates_by_weekday(days, m) & exist;
    if (days->any_weekday)
        return dates_by_date(days, m) & exist;
    if (days->both)
        return dates_by_date(days, m) & dates_by_weekday(days, m) & exist;
    return (dates_by_date(days, m) | dates_by_weekday(days, m)) & exist;
}

/* ---- Seconds of a day ---------------------------------------------------- */

/* The least that is `from` or more; -1 when there is none. */
static int32_t
second_from(const csc_cron *cron, int32_t from)
{
    int hour = from / 3600;
    int minute = from / 60 % 60;
    int second = bit_from(cron->seconds, from % 60);

    if (bit_from(cron->hours, hour) != hour) {
        minute = -1;
    } else if (bit_from(cron->minutes, minute) != minute || second < 0) {
        minute = bit_from(cron->minutes, minute + 1);
        second = -1;
    }
    if (minute < 0) {
        hour = bit_from(cron->hours, hour + 1);
        minute = bit_from(cron->minutes, 0);
        second = -1;
    }
    if (second < 0)
        second = bit_from(cron->seconds, 0);
    return hour < 0 ? -1 : hour * 3600 + minute * 60 + second;
}

/* The greatest that is `to` or less. */
static int32_t
second_to(const csc_cron *cron, int32_t to)
{
    int hour = to / 3600;
    int minute = to / 60 % 60;
    int second = bit_to(cron->seconds, to % 60);

    if (bit_from(cron->hours, hour) != hour) {
        minute = -1;
    } else if (bit_from(cron->minutes, minute) != minute || second < 0) {
        minute = bit_to(cron->minutes, minute - 1);
        second = -1;
    }
    if (minute < 0) {
        hour = bit_to(cron->hours, hour - 1);
        minute = bit_to(cron->minutes, 59);
        second = -1;
    }
    if (second < 0)
        second = bit_to(cron->seconds, 59);
    return hour < 0 ? -1 : hour * 3600 + minute * 60 + second;
}

/* ---- Years --------------------------------------------------------------- */

static bool
has_year(const csc_cron *cron, int32_t year)
{
    int bit = year - CSC_CIVIL_YEAR_MIN;

    return bit >= 0 && bit < YEARS && (cron->years[bit / 64] >> bit % 64 & 1);
}

/* The least year that is `year` or more; CSC_CIVIL_YEAR_MAX + 1 when there is
 * none. */
static int32_t
year_from(const csc_cron *cron, int32_t year)
{
    int bit = year - CSC_CIVIL_YEAR_MIN;
    int word = bit / 64;
    int found;

    if (bit >= YEARS)
        return CSC_CIVIL_YEAR_MAX + 1;
    found = bit_from(cron->years[word], bit % 64);
    while (found < 0 && ++word < CSC_CRON_YEAR_WORDS)
        found = bit_from(cron->years[word], 0);
    return found < 0 ? CSC_CIVIL_YEAR_MAX + 1
                     : CSC_CIVIL_YEAR_MIN + word * 64 + found;
}

/* The greatest; CSC_CIVIL_YEAR_MIN - 1. */
static int32_t
year_to(const csc_cron *cron, int32_t year)
{
    int bit = year - CSC_CIVIL_YEAR_MIN;
    int word = bit / 64;
    int found;

    if (bit < 0)
        return CSC_CIVIL_YEAR_MIN - 1;
    found = bit_to(cron->years[word], bit % 64);
    while (found < 0 && --word >= 0)
        found = bit_to(cron->years[word], 63);
    return found < 0 ? CSC_CIVIL_YEAR_MIN - 1
                     : CSC_CIVIL_YEAR_MIN + word * 64 + found;
}

/* ---- Days ---------------------------------------------------------------- */

/* The first month that matches, `m` of `year` or behind it; false without. */
static bool
month_from(const csc_cron *cron, int32_t *year, int *number)
{
    int32_t found = year_from(cron, *year);

    if (found != *year)
        *number = 1;
    *number = bit_from(cron->months, *number);
    if (*number < 0) {
        found = year_from(cron, found + 1);
        *number = bit_from(cron->months, 1);
    }
    *year = found;
    return found <= CSC_CIVIL_YEAR_MAX;
}

static bool
month_to(const csc_cron *cron, int32_t *year, int *number)
{
    int32_t found = year_to(cron, *year);

    if (found != *year)
        *number = MONTHS;
    *number = bit_to(cron->months, *number);
    if (*number < 1) {
        found = year_to(cron, found - 1);
        *number = bit_to(cron->months, MONTHS);
    }
    *year = found;
    return found >= CSC_CIVIL_YEAR_MIN;
}

/* The first day that matches, `from` or behind it. */
static bool
day_from(const csc_cron *cron, const csc_civil *from, int64_t *days)
{
    int32_t year = from->year;
    int number = from->month;

    while (month_from(cron, &year, &number)) {
        bool is_first = year == from->year && number == from->month;
        month m;
        int date;

        month_init(&m, year, number);
        date =
            bit_from(dates_of_month(&cron->days, &m), is_first ? from->day : 1);
        if (date > 0) {
            *days = csc_civil_days(year, number, date);
            return true;
        }
        number++;
    }
    return false;
}

static bool
day_to(const csc_cron *cron, const csc_civil *to, int64_t *days)
{
    int32_t year = to->year;
    int number = to->month;

    while (month_to(cron, &year, &number)) {
        bool is_first = year == to->year && number == to->month;
        month m;
        int date;

        month_init(&m, year, number);
        date = bit_to(dates_of_month(&cron->days, &m),
                      is_first ? to->day : m.days);
        if (date > 0) {
            *days = csc_civil_days(year, number, date);
            return true;
        }
        number--;
    }
    return false;
}

/* ---- Matches ------------------------------------------------------------- */

static int64_t
first_s(void)
{
    return csc_civil_days(CSC_CIVIL_YEAR_MIN, 1, 1) * CSC_CIVIL_DAY_S;
}

static int64_t
last_s(void)
{
    return csc_civil_days(CSC_CIVIL_YEAR_MAX + 1, 1, 1) * CSC_CIVIL_DAY_S - 1;
}

static bool
day_matches(const csc_cron *cron, const csc_civil *civil)
{
    month m;

    if (!has_year(cron, civil->year) || !(cron->months >> civil->month & 1))
        return false;
    month_init(&m, civil->year, civil->month);
    return dates_of_month(&cron->days, &m) >> civil->day & 1;
}

bool
csc_cron_matches(const csc_cron *cron, int64_t local_s)
{
    csc_civil civil;

    if (cron->is_reboot || local_s < first_s() || local_s > last_s())
        return false;
    csc_civil_split(local_s, &civil);
    return (cron->hours >> civil.hour & 1) &&
           (cron->minutes >> civil.minute & 1) &&
           (cron->seconds >> civil.second & 1) && day_matches(cron, &civil);
}

bool
csc_cron_next(const csc_cron *cron, int64_t after_s, int64_t *local_s)
{
    int64_t from_s;
    int64_t days;
    int32_t second;
    csc_civil civil;

    if (cron->is_never || after_s >= last_s())
        return false;
    from_s = after_s < first_s() ? first_s() : after_s + 1;
    days = csc_civil_div(from_s, CSC_CIVIL_DAY_S);
    second = second_from(cron, (int32_t)(from_s - days * CSC_CIVIL_DAY_S));
    csc_civil_date(days, &civil);
    if (second < 0 || !day_matches(cron, &civil)) {
        csc_civil_date(days + 1, &civil);
        if (!day_from(cron, &civil, &days))
            return false;
        second = second_from(cron, 0);
    }
    *local_s = days * CSC_CIVIL_DAY_S + second;
    return true;
}

bool
csc_cron_previous(const csc_cron *cron, int64_t before_s, int64_t *local_s)
{
    int64_t to_s;
    int64_t days;
    int32_t second;
    csc_civil civil;

    if (cron->is_never || before_s <= first_s())
        return false;
    to_s = before_s > last_s() ? last_s() : before_s - 1;
    days = csc_civil_div(to_s, CSC_CIVIL_DAY_S);
    second = second_to(cron, (int32_t)(to_s - days * CSC_CIVIL_DAY_S));
    csc_civil_date(days, &civil);
    if (second < 0 || !day_matches(cron, &civil)) {
        csc_civil_date(days - 1, &civil);
        if (!day_to(cron, &civil, &days))
            return false;
        second = second_to(cron, CSC_CIVIL_DAY_S - 1);
    }
    *local_s = days * CSC_CIVIL_DAY_S + second;
    return true;
}
