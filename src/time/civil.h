/* SPDX-License-Identifier: MIT
 *
 * The time floor: calendars and clocks as arithmetic. It stands on base/ alone,
 * knows no store and no engine, and asks neither the machine's clock nor its
 * locale nor TZ: the same arguments give the same result on every thread of
 * every machine. What varies comes in as bytes: zones (zone.h).
 *
 *   civil      dates, and their text
 *   tzrule     the rule for the years to come at the end of a zone file
 *   tzif       a zone file, read
 *   zone       instants <-> local times
 *   cron       patterns of local times
 *   dst        the instants of a pattern in a zone
 *   interval   instants that are equally far apart
 *   calendar   named days
 *   rules      the union of all these, less what is excluded
 *   describe   a pattern in plain English
 *   spec       rules as a text says them: cascade/schedule.h
 *
 * Two kinds of numbers are never mixed, and names tell them apart:
 *
 *   at_s       an instant: seconds (at_ms: milliseconds) since 1970-01-01
 *              00:00:00 UTC as POSIX counts them, without leap seconds
 *   local_s    what a clock on the wall shows, as if it were UTC:
 *              local_s = at_s + offset_s; some local times never happen, some
 *              happen twice
 *
 * The calendar is the proleptic Gregorian one. Rules are for the years 1970 to
 * 2199; dates are right for all years of int32_t, texts have four digits.
 */
#ifndef CSC_TIME_CIVIL_H
#define CSC_TIME_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_CIVIL_YEAR_MIN 1970
#define CSC_CIVIL_YEAR_MAX 2199
#define CSC_CIVIL_DAY_S 86400
#define CSC_CIVIL_SECOND_MS 1000

typedef struct csc_civil {
    int32_t year;
    int32_t month; /* 1-12 */
    int32_t day;   /* 1-31 */
    int32_t hour;
    int32_t minute;
    int32_t second;
    int32_t us; /* 0-999999 */
} csc_civil;

/* ---- Dates --------------------------------------------------------------- */

bool csc_civil_is_leap(int64_t year);
int csc_civil_month_days(int64_t year, int month);

/* Days since 1970-01-01; `day` may be any number, also 0 or 32. */
int64_t csc_civil_days(int32_t year, int month, int64_t day);
/* Sets year, month and day, and nothing else. */
void csc_civil_date(int64_t days, csc_civil *civil);
/* 0 is Sunday. */
int csc_civil_weekday(int64_t days);

/* The local time in seconds, without `us`. */
int64_t csc_civil_seconds(const csc_civil *civil);
/* Sets all; `us` becomes 0. */
void csc_civil_split(int64_t local_s, csc_civil *civil);

/* a / b and a mod b, rounded down; b > 0. */
int64_t csc_civil_div(int64_t a, int64_t b);
int64_t csc_civil_mod(int64_t a, int64_t b);

/* ---- Text ---------------------------------------------------------------- */

#define CSC_CIVIL_ZONE_SIZE 65

/* A time with what stands behind it (RFC 9557):
 *
 *   2026-11-01T01:30:00-04:00[America/New_York]
 *   2026-11-01T05:30:00.250Z
 *   2026-11-01T01:30:00 */
typedef struct csc_civil_stamp {
    csc_civil civil;
    bool has_offset;
    int32_t offset_s;               /* 0 without */
    char zone[CSC_CIVIL_ZONE_SIZE]; /* "" without */
} csc_civil_stamp;

#define CSC_CIVIL_TEXT_SIZE 112

/* The fraction has 0, 3 or 6 digits, whatever it needs; an offset of 0 is
 * +00:00; seconds of an offset are shown where there are any. Years 0 to
 * 9999. */
char *csc_civil_format(const csc_civil_stamp *stamp,
                       char text[CSC_CIVIL_TEXT_SIZE]);

/* Reads what csc_civil_format() writes, with 'T' or a blank, with or without
 * seconds, 1 to 6 digits of fraction, 'Z' for +00:00. There is no second 60 and
 * no hour 24. CASCADE_ERR_INVALID names `what` and the byte (the first is 1);
 * *stamp is written on success only. */
cascade_err csc_civil_parse(const char *what, const char *text,
                            csc_civil_stamp *stamp);

/* Reads "2026-11-01" at the start of `text` into year, month and day; the bytes
 * read, 0 when it is no date that exists. */
int csc_civil_parse_date(const char *text, csc_civil *civil);

#endif
