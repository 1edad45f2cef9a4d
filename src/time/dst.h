/* SPDX-License-Identifier: MIT
 *
 * When a pattern of local times fires in a zone.
 *
 * A pattern is periodic when its hour field begins with '*' or names all 24
 * hours: it follows real time, so it fires at each instant at which the clock
 * shows a match, and at no other. Else it is fixed: it names hours, and each
 * nominal time (a local time that matches) fires once, also where the clock
 * does not show it, or shows it twice:
 *
 *   gap    the clock jumps over it. next (the default): right behind the gap;
 *          shift: as much later as the gap is long; skip: not at all. A gap of
 *          three hours or more is a day that never was (Apia left out 30
 *          December 2011): skipped, whatever the policy.
 *   fold   the clock shows it again. first (the default), last, both, none.
 *
 *   New York, 8 March 2026       30 2 * * *   03:00, 03:30 or never
 *                                30 * * * *   01:30, 03:30 (periodic)
 *   New York, 1 November 2026    30 1 * * *   01:30-04:00, 01:30-05:00, ...
 *                                30 * * * *   both (periodic)
 *
 * Nominal times that fall on one instant (02:30 and 03:00, by next) are one
 * fire; csc_dst_nominals() names them all.
 *
 * How the next one is found: pieces of local times that all happen equally
 * (zone.h) go to instants in one way each: moved by an offset, more than one,
 * or all to one instant. So the least instant behind some time is the least
 * of a piece, and no piece need be looked at whose local times are more than
 * the zone's greatest offset behind what was found.
 */
#ifndef CSC_TIME_DST_H
#define CSC_TIME_DST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "time/cron.h"
#include "time/zone.h"

/* A gap that long is never moved out of. */
#define CSC_DST_GAP_MAX_S (INT64_C(3) * 3600)

typedef enum csc_dst_gap {
    CSC_DST_GAP_NEXT,
    CSC_DST_GAP_SHIFT,
    CSC_DST_GAP_SKIP
} csc_dst_gap;

typedef enum csc_dst_fold {
    CSC_DST_FOLD_FIRST,
    CSC_DST_FOLD_LAST,
    CSC_DST_FOLD_BOTH,
    CSC_DST_FOLD_NONE
} csc_dst_fold;

typedef struct csc_dst_rule {
    const csc_cron *cron;
    const csc_zone *zone;
    csc_dst_gap gap;
    csc_dst_fold fold;
} csc_dst_rule;

typedef struct csc_dst_fire {
    int64_t at_s;
    int64_t local_s;  /* the nominal time; of several the least */
    int32_t offset_s; /* the zone's at at_s: at_s + offset_s is not local_s
                         where a gap was left */
} csc_dst_fire;

/* The first fire behind after_s, the last before before_s, the one at at_s;
 * false, and *fire as it was, where there is none. */
bool csc_dst_next(const csc_dst_rule *rule, int64_t after_s,
                  csc_dst_fire *fire);
bool csc_dst_previous(const csc_dst_rule *rule, int64_t before_s,
                      csc_dst_fire *fire);
bool csc_dst_matches(const csc_dst_rule *rule, int64_t at_s,
                     csc_dst_fire *fire);

/* The fires at from_s or later and before to_s, in order, `max` at most; how
 * many there are. */
size_t csc_dst_between(const csc_dst_rule *rule, int64_t from_s, int64_t to_s,
                       csc_dst_fire *fires, size_t max);

/* The least nominal time that is greater than after_local_s and fires at at_s;
 * false where there is none. Mostly it is what the clock shows. Only from gaps
 * that ended less than three hours ago others may come: *steps grows by what is
 * looked at there, and so not by what the zone was in other years. */
bool csc_dst_nominal(const csc_dst_rule *rule, int64_t at_s,
                     int64_t after_local_s, int64_t *local_s, size_t *steps);

/* All of them, in order, `max` at most; how many. */
size_t csc_dst_nominals(const csc_dst_rule *rule, int64_t at_s,
                        int64_t *locals_s, size_t max);

/* What becomes of a nominal time. */
typedef enum csc_dst_fate {
    CSC_DST_FIRES,
    CSC_DST_NO_MATCH,    /* local_s is none of the pattern's */
    CSC_DST_IN_GAP,      /* skipped: by policy, or the rule is periodic */
    CSC_DST_IN_FOLD,     /* skipped by policy */
    CSC_DST_NO_SUCH_DAY, /* in a gap of three hours or more */
} csc_dst_fate;

typedef struct csc_dst_outcome {
    csc_dst_fate fate;
    size_t count; /* of instants; 0 unless it fires */
    int64_t at_s[CSC_ZONE_TIMES_MAX];
} csc_dst_outcome;

csc_dst_outcome csc_dst_explain(const csc_dst_rule *rule, int64_t local_s);

#endif
