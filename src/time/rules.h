/* SPDX-License-Identifier: MIT
 *
 * All that says when a schedule fires: the union of patterns, intervals and
 * single instants, between a start and an end, less what is excluded.
 *
 * Excludes are matched with the nominal local time, whatever made it: with a
 * pattern (one without seconds excludes all of its minutes) or a calendar (all
 * of its days). Of an interval and of an instant, the nominal time is what the
 * zone's clock shows. Where several nominal times are one fire (dst.h), it
 * fires while one of them is not excluded.
 *
 * Excludes can leave nothing over: each search looks at as many candidates as
 * its budget has, and may answer that there is none so far. That answer is
 * final for the time it names; the search goes on from there.
 */
#ifndef CSC_TIME_RULES_H
#define CSC_TIME_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "time/calendar.h"
#include "time/dst.h"
#include "time/interval.h"

/* Nothing here is owned; all is const while it is used. */
typedef struct csc_rules {
    const csc_zone *zone;
    csc_dst_gap gap;
    csc_dst_fold fold;
    const csc_cron *crons;
    size_t cron_count;
    const csc_interval *intervals;
    size_t interval_count;
    const int64_t *instants_ms; /* ascending */
    size_t instant_count;
    const csc_cron *exclude_crons;
    size_t exclude_cron_count;
    const csc_calendar *const *exclude_calendars;
    size_t exclude_calendar_count;
    int64_t start_ms; /* in it */
    int64_t end_ms;   /* not in it; 0: there is none */
} csc_rules;

typedef enum csc_rules_source {
    CSC_RULES_CRON,
    CSC_RULES_INTERVAL,
    CSC_RULES_INSTANT
} csc_rules_source;

typedef struct csc_rules_fire {
    int64_t at_ms;
    int64_t local_s;         /* the nominal local time, without milliseconds */
    int32_t offset_s;        /* the zone's at at_ms */
    csc_rules_source source; /* of several, the first in order */
    size_t index;            /* of the source */
    size_t nominal_count;    /* of that pattern, not excluded: local_s is the
                                least of them */
} csc_rules_fire;

typedef enum csc_rules_answer {
    CSC_RULES_FOUND,
    CSC_RULES_NONE,  /* and there never is */
    CSC_RULES_SO_FAR /* none up to fire->at_ms: it may be asked from there */
} csc_rules_answer;

/* The first fire behind after_ms. `budget` (at least 1): candidates that are
 * looked at, and nominal times that come to them out of gaps; the last one is
 * looked at to its end. *fire is written but for CSC_RULES_NONE. */
csc_rules_answer csc_rules_next(const csc_rules *rules, int64_t after_ms,
                                size_t budget, csc_rules_fire *fire);

/* The last fire before before_ms. CSC_RULES_SO_FAR: none from fire->at_ms
 * on. */
csc_rules_answer csc_rules_previous(const csc_rules *rules, int64_t before_ms,
                                    size_t budget, csc_rules_fire *fire);

bool csc_rules_matches(const csc_rules *rules, int64_t at_ms);

/* The fires at from_ms or later and before to_ms, in order, `max` at most; how
 * many. *next_ms becomes the time from which to ask for more, to_ms where these
 * are all: behind the last of `max`, or where the budget ended. It is one for
 * all of them, and what is left of it stays in *budget. */
size_t csc_rules_between(const csc_rules *rules, int64_t from_ms, int64_t to_ms,
                         size_t *budget, csc_rules_fire *fires, size_t max,
                         int64_t *next_ms);

/* Why nothing fires at at_ms, or that it does. */
typedef enum csc_rules_why {
    CSC_RULES_FIRES,
    CSC_RULES_NO_CANDIDATE,
    CSC_RULES_BEFORE_START,
    CSC_RULES_BEHIND_END,
    CSC_RULES_EXCLUDED_BY_CRON,
    CSC_RULES_EXCLUDED_BY_CALENDAR
} csc_rules_why;

/* Of the last two: *index is which exclude, *local_s the nominal local time
 * that it has. */
csc_rules_why csc_rules_explain(const csc_rules *rules, int64_t at_ms,
                                int64_t *local_s, size_t *index);

#endif
