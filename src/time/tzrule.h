/* SPDX-License-Identifier: MIT
 *
 * The rule for all years behind the last change that a zone file lists: POSIX's
 * TZ string, "EST5EDT,M3.2.0,M11.1.0", with the extension of RFC 9636, 3.3.1
 * (hours of a change from -167 to 167).
 *
 * Daylight saving time lasts from each year's start to the end behind it. Where
 * an end is no earlier than the next start, it lasts all year: this is how
 * files write that, and how the reference implementation reads them.
 */
#ifndef CSC_TIME_TZRULE_H
#define CSC_TIME_TZRULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_TZRULE_NAME_SIZE 32

typedef struct csc_tzrule_side {
    char name[CSC_TZRULE_NAME_SIZE]; /* "EST" */
    int32_t offset_s;                /* east of UTC, unlike in the string */
} csc_tzrule_side;

typedef enum csc_tzrule_form {
    CSC_TZRULE_JULIAN, /* Jn: 1-365, 29 February is not counted */
    CSC_TZRULE_DAY,    /* n: 0-365 */
    CSC_TZRULE_MONTH   /* Mm.w.d: the w-th (5: last) weekday d of month m */
} csc_tzrule_form;

typedef struct csc_tzrule_date {
    csc_tzrule_form form;
    int32_t month;
    int32_t week;
    int32_t day;
    int32_t time_s; /* by the clock before the change */
} csc_tzrule_date;

typedef struct csc_tzrule {
    csc_tzrule_side standard;
    bool has_dst;
    csc_tzrule_side dst;
    csc_tzrule_date start;
    csc_tzrule_date end;
} csc_tzrule;

/* Reads `len` bytes; `extended`: with RFC 9636's hours. NULL, or what is wrong
 * (a static text); *rule is then of no use. */
const char *csc_tzrule_parse(const char *text, size_t len, bool extended,
                             csc_tzrule *rule);

/* The instants of a year's start and end; only with has_dst. */
int64_t csc_tzrule_start_s(const csc_tzrule *rule, int32_t year);
int64_t csc_tzrule_end_s(const csc_tzrule *rule, int32_t year);

/* Whether daylight saving time is in force. */
bool csc_tzrule_is_dst(const csc_tzrule *rule, int64_t at_s);

#endif
