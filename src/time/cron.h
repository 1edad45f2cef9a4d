/* SPDX-License-Identifier: MIT
 *
 * Cron patterns: which local times match. No zone is known here (dst.h has
 * them); a pattern is a few sets of bits, and the next match is found by
 * looking for bits, a month at a time where days do not match.
 *
 * Two dialects:
 *
 *   OCPS     the Open Cron Pattern Specification, 1.0 to 1.4
 *            (github.com/open-source-cron/ocps), complete:
 *              [second] minute hour day-of-month month day-of-week [year]
 *            5 fields, 6 with the second, 7 with second and year; or one of
 *            @yearly @annually @monthly @weekly @daily @midnight @hourly
 *            @reboot.
 *   QUARTZ   the Java scheduler's, 6 fields or 7 with the year:
 *              second minute hour day-of-month month day-of-week [year]
 *
 * What stands in a field, as lists with ',' between:
 *
 *             OCPS                         QUARTZ
 *   all       *, and ? in day fields       *; ? in just one of the day fields
 *   range     a-b, a <= b                  a-b, also over the end: 22-2
 *   step      * or a-b before it: 5-59/15  also a/n, to the end; and /n
 *   weekday   0-7, 0 and 7 are Sunday      1-7, 1 is Sunday
 *   names     JAN-DEC, SUN-SAT, in any case
 *   L         last day of the month        also L-n, n days before it; as a
 *                                          weekday alone: Saturday
 *   nW        weekday (Monday to Friday) that is nearest to day n and in its
 *             month, alone in its field; LW: the last of the month
 *   dL, d#L   the last weekday d of the month
 *   d#n       the n-th, 1-5
 *   +         before all of the weekdays: both day fields must match
 *
 * Where the standard leaves something open:
 *
 * - Both day fields restricted: either may match (OCPS 1.0, 6.1). A field is
 *   unrestricted just where it is "*" or "?": not "1-31", and not "*" with a
 *   step. QUARTZ has one of the two only.
 * - Years are 1970 to 2199.
 * - A step greater than the field has values is refused: every 90 minutes is
 *   nothing that a pattern can say, and not every hour, which it would be.
 * - FRI-SUN is 5-7.
 * - LW is read in both dialects, L-n is not: it looks like a range.
 * - What the month does not have does not match in it: 31W in June.
 * - @reboot is read and never matches.
 *
 * A pattern that never matches (31 February) is a good one, as the standard has
 * it: csc_cron_next() finds nothing. All years are looked through for that, so
 * it is done once, when the pattern is parsed: a search asks each of 64
 * patterns for each candidate.
 */
#ifndef CSC_TIME_CRON_H
#define CSC_TIME_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "time/civil.h"

#define CSC_CRON_TEXT_MAX 1024
#define CSC_CRON_NTH_MAX 5
#define CSC_CRON_YEAR_WORDS 4

typedef enum csc_cron_dialect {
    CSC_CRON_OCPS,
    CSC_CRON_QUARTZ
} csc_cron_dialect;

/* Which days of a month match. Bit n of a set of dates is the n-th, bit n of
 * a set of weekdays is n days behind Sunday. */
typedef struct csc_cron_days {
    bool any_date; /* the field is "*" or "?" */
    bool any_weekday;
    bool both; /* else either, where both are restricted */
    uint32_t dates;
    uint32_t before_last; /* bit n: n days before the month's last */
    uint32_t nearest;     /* nW */
    uint32_t nearest_before_last;
    uint8_t weekdays;
    uint8_t last_weekdays;
    uint8_t nth_weekdays[CSC_CRON_NTH_MAX + 1]; /* [1] are the first */
} csc_cron_days;

typedef struct csc_cron {
    csc_cron_dialect dialect;
    bool is_reboot;   /* @reboot */
    bool is_never;    /* nothing matches, @reboot too */
    bool is_periodic; /* see dst.h */
    bool has_seconds; /* a field for them */
    bool has_years;
    uint64_t seconds;
    uint64_t minutes;
    uint32_t hours;
    csc_cron_days days;
    uint32_t months;                     /* bits 1-12 */
    uint64_t years[CSC_CRON_YEAR_WORDS]; /* bit n: 1970 + n */
} csc_cron;

/* CASCADE_ERR_INVALID names `what`, the field, the byte (the first of the text
 * is 1) and what may stand there; *cron is written on success only. */
cascade_err csc_cron_parse(const char *what, const char *text,
                           csc_cron_dialect dialect, csc_cron *cron);

bool csc_cron_matches(const csc_cron *cron, int64_t local_s);

/* The least match that is greater than after_s, the greatest that is less than
 * before_s; false, and *local_s as it was, where there is none. They look at
 * each month of 230 years at most once. */
bool csc_cron_next(const csc_cron *cron, int64_t after_s, int64_t *local_s);
bool csc_cron_previous(const csc_cron *cron, int64_t before_s,
                       int64_t *local_s);

#endif
