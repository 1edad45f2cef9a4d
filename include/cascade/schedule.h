/* SPDX-License-Identifier: MIT
 *
 * libcascade: when something fires. A cascade_spec is made from a text and
 * answers: when next, when before, does it at this instant, and why not. It
 * needs no store, no engine and no clock: the same text, zone and time give the
 * same answer everywhere.
 *
 *   cascade_spec *spec;
 *   cascade_spec_fire fire;
 *
 *   cascade_spec_create_cron("0 9 * * MON-FRI", "Europe/Paris", &spec);
 *   cascade_spec_next(spec, now_ms, &fire);      fire.at_ms is to be waited for
 *   cascade_spec_free(spec);
 *
 * There are no schedules in the store yet that do this by themselves: a node
 * sleeps until the next time (docs/recurring.md).
 *
 * A SPEC is a JSON object. It fires at what `cron`, `every` and `at` name, at
 * least one of which is there, less what is excluded:
 *
 *   cron          patterns, one or a list: "0 9 * * MON-FRI"
 *   dialect       of all patterns: "ocps" (default: 5 fields, 6 with seconds
 *                 before, 7 with years behind; L W # +; @daily ..., but not
 *                 @reboot, which names no time) or "quartz"
 *   every         intervals, one or a list: "1h30m", or {"every": "1d"} with
 *                 "phase": "6h" (behind 1970-01-01 UTC) or "anchor": a time at
 *                 which one fires. They follow real time; a day is 24 hours.
 *                 1 s to 100 years
 *   at            times, one or a list
 *   zone          of the patterns, the excludes and the texts: a name of IANA
 *                 as in "America/New_York"; default: "UTC". Not "localtime",
 *                 "posixrules", "posix/...", "right/...": they mean another
 *                 zone on another machine, or nothing
 *   exclude_cron  patterns, one or a list: no fire whose nominal local time
 *                 matches; one without seconds is for all of its minutes
 *   exclude_days  days, one or a list: "2026-12-25", "2026-12-24/2027-01-01",
 *                 "--12-25" (each year), "--12-24/--01-06"
 *   start, end    nothing fires before `start`, nor at `end` and later
 *   dst_gap       for a nominal time that the clocks leave out: "next" (right
 *                 behind; default), "shift" (as much later as they leave out)
 *                 or "skip"
 *   dst_fold      for one that they show twice: "first" (default), "last",
 *                 "both", "none"
 *
 * A time is "2026-12-24T08:00:00+01:00", "...Z", or a number: milliseconds
 * since 1970-01-01 UTC. Years are 1970 to 2199.
 *
 * dst_gap and dst_fold are for patterns that name hours. One whose hour field
 * begins with * follows real time: it fires whenever the clock shows a match.
 * In a gap of three hours or more (a day that never was) nothing fires.
 *
 * THE CANONICAL TEXT, cascade_spec_text(), is what to store: with the same
 * options (zone_bytes, interval_min_ms) it gives the same spec again, in this
 * release and later ones. What it leaves out has its default of above, which
 * never changes. Without zone_bytes the zone is what the machine knows then.
 *
 * THREADS: a spec never changes; any thread may use it. It has no connection to
 * a process: after fork() the child may use its copy. Making one may read TZDIR
 * of the environment: no other thread may change that meanwhile (setenv()). A
 * program that has more rights than its user does not read it.
 */
#ifndef CASCADE_SCHEDULE_H
#define CASCADE_SCHEDULE_H

#include "cascade/cascade.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CASCADE_SPEC_TEXT_MAX 262144    /* bytes of the JSON text */
#define CASCADE_SPEC_CRON_MAX 64        /* patterns, and excluding ones */
#define CASCADE_SPEC_EVERY_MAX 64       /* intervals */
#define CASCADE_SPEC_AT_MAX 4000        /* times */
#define CASCADE_SPEC_DAYS_MAX 10000     /* entries of exclude_days */
#define CASCADE_SPEC_ZONE_LEN_MAX 65536 /* bytes of a zone file */

typedef struct cascade_spec cascade_spec;

typedef struct cascade_spec_options {
    size_t size;
    const void *zone_bytes;  /* the zone file (TZif, RFC 9636) of the spec's
                                zone; NULL: the machine's */
    size_t zone_len;         /* of zone_bytes */
    int64_t interval_min_ms; /* the shortest of `every`; 0: 1,000; at least
                                100 */
} cascade_spec_options;

/* Makes a spec of a JSON text. Without zone_bytes, the zone is read from the
 * folder TZDIR of the environment, else /usr/share/zoneinfo; of UTC no file is
 * needed. A spec that never fires is accepted: cascade_spec_next() tells.
 *   CASCADE_ERR_JSON         it is no JSON
 *   CASCADE_ERR_INVALID      a member is unknown, or not what may stand there;
 *                            or the zone's bytes are no zone file
 *   CASCADE_ERR_TOO_LARGE    more than the limits of above
 *   CASCADE_ERR_NOT_FOUND    the machine does not have the zone
 *   CASCADE_ERR_UNSUPPORTED  a zone file with leap seconds, or a later version
 *   CASCADE_ERR_SYSTEM       the zone's file cannot be read
 * The text of the error names the member and its entry (the first is 1). The
 * caller frees `*spec` with cascade_spec_free(). */
CASCADE_API cascade_err cascade_spec_create(const char *text,
                                            const cascade_spec_options *options,
                                            cascade_spec **spec);

/* The short form: one pattern of dialect ocps, in `zone` (NULL: UTC), as the
 * machine has it. */
CASCADE_API cascade_err cascade_spec_create_cron(const char *cron,
                                                 const char *zone,
                                                 cascade_spec **spec);

/* NULL is accepted. */
CASCADE_API void cascade_spec_free(cascade_spec *spec);

/* The canonical text; the spec's. NULL for NULL. */
CASCADE_API const char *cascade_spec_text(const cascade_spec *spec);

/* What was understood, in plain English: a line for each pattern and interval,
 * for what bounds and excludes them, and for the zone; newlines between. The
 * caller frees `*text` with cascade_text_free(). */
CASCADE_API cascade_err cascade_spec_describe(const cascade_spec *spec,
                                              char **text);

/* ---- Fires --------------------------------------------------------------- */

#define CASCADE_SPEC_FIRE_TEXT_SIZE 112
#define CASCADE_SPEC_LIST_MAX 10000 /* fires of one call */

/* What the clocks of the zone do with `nominal`. A fire that stands for several
 * (nominal_count) is GAP where the least of them is left out; so ONCE where all
 * of those are excluded, and where the entry names 03:00 alone, whatever other
 * entries have moved there. Of `every` and `at` nothing is moved: never GAP. */
typedef enum cascade_spec_clock {
    /* They show it once: an ordinary fire. */
    CASCADE_SPEC_CLOCK_ONCE = 0,
    /* They leave it out: the fire was moved behind the gap, by dst_gap. */
    CASCADE_SPEC_CLOCK_GAP,
    /* They show it more than once: the offset says which it is. */
    CASCADE_SPEC_CLOCK_FOLD
} cascade_spec_clock;

/* What made it; of several, the first in this order. */
typedef enum cascade_spec_source {
    CASCADE_SPEC_SOURCE_CRON = 0,
    CASCADE_SPEC_SOURCE_EVERY,
    CASCADE_SPEC_SOURCE_AT
} cascade_spec_source;

typedef struct cascade_spec_fire {
    int64_t at_ms;
    cascade_spec_clock clock;
    cascade_spec_source source;
    size_t entry; /* of the source, the first is 0; times count as they stand
                     in the canonical text */
    /* What the zone's clock shows then (RFC 9557):
     * "2026-03-08T03:00:00-04:00[America/New_York]". */
    char local[CASCADE_SPEC_FIRE_TEXT_SIZE];
    /* The local time that was asked for: "2026-03-08T02:30:00". It is another
     * than that of `local` in a gap only. Of several it is the least. */
    char nominal[CASCADE_SPEC_FIRE_TEXT_SIZE];
    /* How many nominal times of this entry it stands for: in a spring of New
     * York "0,30 2-3 * * *" has 02:00, 02:30 and 03:00 at one instant. Excluded
     * ones do not count. More than 1 only where a gap moves them together. */
    size_t nominal_count;
    int64_t reserved[4];
} cascade_spec_fire;

/* The first fire behind after_ms. It looks at a bounded number of times, of
 * which excludes may leave none:
 *   CASCADE_ERR_NOT_FOUND  there is none, and never will be. With INT64_MIN for
 *                          after_ms: the spec never fires
 *   CASCADE_ERR_AGAIN      none so far, up to and with fire->at_ms, which is
 *                          set (the rest is zero): to go on, call it with that
 *                          for after_ms. The same call gives the same again
 * NOT_FOUND comes at once only where cron, every and at have nothing more.
 * Where excludes leave nothing of very many times, AGAIN comes first, maybe a
 * million times: so bound how often you go on, or go on when fire->at_ms has
 * come, since nothing fires until then. */
CASCADE_API cascade_err cascade_spec_next(const cascade_spec *spec,
                                          int64_t after_ms,
                                          cascade_spec_fire *fire);

/* The last fire before before_ms. CASCADE_ERR_NOT_FOUND: there is none.
 * CASCADE_ERR_AGAIN: none so far, from fire->at_ms on. */
CASCADE_API cascade_err cascade_spec_previous(const cascade_spec *spec,
                                              int64_t before_ms,
                                              cascade_spec_fire *fire);

/* The fires at from_ms or later and before to_ms (INT64_MAX: all), in order, at
 * most `max`: writes them to `fires`, how many to `*count`, and to `*more_ms`
 * (may be NULL) the time from which to ask for more: to_ms where these are all.
 * There may be more where `*count` is less than `max`: it looks at a bounded
 * number of times that are excluded, and gives at most CASCADE_SPEC_LIST_MAX.
 */
CASCADE_API cascade_err cascade_spec_list(const cascade_spec *spec,
                                          int64_t from_ms, int64_t to_ms,
                                          cascade_spec_fire *fires, size_t max,
                                          size_t *count, int64_t *more_ms);

/* Whether it fires at this instant; false for NULL. */
CASCADE_API bool cascade_spec_matches(const cascade_spec *spec, int64_t at_ms);

typedef enum cascade_spec_why {
    CASCADE_SPEC_FIRES = 0,
    CASCADE_SPEC_NO_SOURCE,        /* no pattern, interval or time names it */
    CASCADE_SPEC_BEFORE_START,     /* nothing fires so early */
    CASCADE_SPEC_BEHIND_END,       /* nothing fires so late */
    CASCADE_SPEC_EXCLUDED_BY_CRON, /* by entry `entry` of exclude_cron */
    CASCADE_SPEC_EXCLUDED_BY_DAYS  /* by entry `entry` of exclude_days */
} cascade_spec_why;

#define CASCADE_SPEC_ANSWER_SIZE 256

typedef struct cascade_spec_answer {
    cascade_spec_why why;
    size_t entry;                        /* the first is 0 */
    char text[CASCADE_SPEC_ANSWER_SIZE]; /* the same in English */
    int64_t reserved[4];
} cascade_spec_answer;

/* Why it fires at this instant, or does not. */
CASCADE_API cascade_err cascade_spec_explain(const cascade_spec *spec,
                                             int64_t at_ms,
                                             cascade_spec_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
