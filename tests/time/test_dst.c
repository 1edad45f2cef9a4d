/* SPDX-License-Identifier: MIT
 *
 * Patterns in zones whose clocks change. The zones are rules and changes of
 * tzdata, written here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/support.h"
#include "time/dst.h"
#include "time/made.h"
#include "time/pattern.h"

#define FIRES_MAX 12

/* A day's fires, as the clock shows them, with offset; NULL ends them. */
typedef struct day {
    const char *zone;
    const char *pattern;
    csc_dst_gap gap;
    csc_dst_fold fold;
    const char *from; /* local, with offset */
    const char *to;
    const char *fires[FIRES_MAX];
} day;

static void
fail_fire(const day *d, const char *is, const csc_dst_fire *fire)
{
    csc_civil_stamp stamp = {.has_offset = true, .offset_s = fire->offset_s};
    char text[CSC_CIVIL_TEXT_SIZE];

    csc_civil_split(fire->at_s + fire->offset_s, &stamp.civil);
    fail_msg("%s in %s: %s, not %s", d->pattern, d->zone,
             csc_civil_format(&stamp, text), is);
}

static void
check_same(const csc_dst_fire *fire, const csc_dst_fire *other)
{
    assert_int_equal(fire->at_s, other->at_s);
    assert_int_equal(fire->local_s, other->local_s);
    assert_int_equal(fire->offset_s, other->offset_s);
}

static void
check_day(const day *d)
{
    csc_cron cron = made_cron(d->pattern);
    csc_zone *zone = made_zone("Some/City", d->zone);
    csc_dst_rule rule = {&cron, zone, d->gap, d->fold};
    csc_dst_fire fires[FIRES_MAX + 1];
    csc_dst_fire back;
    int64_t to_s = made_s(d->to);
    size_t count =
        csc_dst_between(&rule, made_s(d->from), to_s, fires, FIRES_MAX + 1);

    for (size_t i = 0; i < count; i++) {
        if (i == FIRES_MAX || d->fires[i] == NULL)
            fail_fire(d, "nothing", &fires[i]);
        else if (fires[i].at_s != made_s(d->fires[i]))
            fail_fire(d, d->fires[i], &fires[i]);
        assert_true(csc_dst_matches(&rule, fires[i].at_s, &back));
        check_same(&back, &fires[i]);
    }
    if (count < FIRES_MAX && d->fires[count] != NULL)
        fail_msg("%s in %s: nothing, not %s", d->pattern, d->zone,
                 d->fires[count]);
    for (size_t i = count; i > 0; i--) {
        assert_true(csc_dst_previous(&rule, to_s, &back));
        check_same(&back, &fires[i - 1]);
        to_s = back.at_s;
    }
    csc_zone_free(zone);
}

static void
check_days(const day *days, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_day(&days[i]);
}

#define COUNT(table) (sizeof(table) / sizeof(table[0]))
#define DEFAULTS CSC_DST_GAP_NEXT, CSC_DST_FOLD_FIRST
#define SHIFT CSC_DST_GAP_SHIFT, CSC_DST_FOLD_FIRST
#define SKIP CSC_DST_GAP_SKIP, CSC_DST_FOLD_FIRST
#define LAST CSC_DST_GAP_NEXT, CSC_DST_FOLD_LAST
#define BOTH CSC_DST_GAP_NEXT, CSC_DST_FOLD_BOTH
#define NONE CSC_DST_GAP_NEXT, CSC_DST_FOLD_NONE
#define SPRING "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"
#define AUTUMN "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"

/* ---- Gaps ---------------------------------------------------------------- */

static const day fixed_patterns_fire_behind_a_gap_days[] = {
    {NEW_YORK, "30 2 * * *", DEFAULTS, SPRING, {"2026-03-08T03:00-04:00"}},
    {NEW_YORK, "30 2 * * *", SHIFT, SPRING, {"2026-03-08T03:30-04:00"}},
    {NEW_YORK, "30 2 * * *", SKIP, SPRING, {NULL}},
    {NEW_YORK,
     "30 2,14 * * *",
     DEFAULTS,
     SPRING,
     {"2026-03-08T03:00-04:00", "2026-03-08T14:30-04:00"}},
    {NEW_YORK, "*/15 2 * * *", DEFAULTS, SPRING, {"2026-03-08T03:00-04:00"}},
    {NEW_YORK,
     "*/15 2 * * *",
     SHIFT,
     SPRING,
     {"2026-03-08T03:00-04:00", "2026-03-08T03:15-04:00",
      "2026-03-08T03:30-04:00", "2026-03-08T03:45-04:00"}},
    {NEW_YORK,
     "30 1-3 * * *",
     DEFAULTS,
     SPRING,
     {"2026-03-08T01:30-05:00", "2026-03-08T03:00-04:00",
      "2026-03-08T03:30-04:00"}},
    {NEW_YORK, /* what is shifted comes behind what is not */
     "30 2 * * *",
     SHIFT,
     "2026-03-08T03:00-04:00",
     "2026-03-08T04:00-04:00",
     {"2026-03-08T03:30-04:00"}},
    {NEW_YORK, "0 3 * * *", DEFAULTS, SPRING, {"2026-03-08T03:00-04:00"}},
    {NEW_YORK, /* 2:30 and 3:00 are one */
     "0,30 2,3 * * *",
     DEFAULTS,
     SPRING,
     {"2026-03-08T03:00-04:00", "2026-03-08T03:30-04:00"}},
    {SANTIAGO,
     "0 0 * * *",
     DEFAULTS,
     "2026-09-05T12:00-04:00",
     "2026-09-06T12:00-03:00",
     {"2026-09-06T01:00-03:00"}},
    {CAIRO,
     "0 0 * * *",
     DEFAULTS,
     "2026-04-23T12:00+02:00",
     "2026-04-24T12:00+03:00",
     {"2026-04-24T01:00+03:00"}},
    {LORD_HOWE,
     "15 2 * * *",
     DEFAULTS,
     "2026-10-04T00:00+10:30",
     "2026-10-04T12:00+11:00",
     {"2026-10-04T02:30+11:00"}},
    {LORD_HOWE,
     "15 2 * * *",
     SHIFT,
     "2026-10-04T00:00+10:30",
     "2026-10-04T12:00+11:00",
     {"2026-10-04T02:45+11:00"}},
    {TROLL,
     "30 2 * * *",
     DEFAULTS,
     "2026-03-29T00:00+00:00",
     "2026-03-29T12:00+02:00",
     {"2026-03-29T03:00+02:00"}},
    {TROLL,
     "30 2 * * *",
     SHIFT,
     "2026-03-29T00:00+00:00",
     "2026-03-29T12:00+02:00",
     {"2026-03-29T04:30+02:00"}},
    {DUBLIN, /* its daylight saving time is winter: the gap is its end */
     "30 1 * * *",
     DEFAULTS,
     "2026-03-29T00:00+00:00",
     "2026-03-29T12:00+01:00",
     {"2026-03-29T02:00+01:00"}},
};

static void
fixed_patterns_fire_behind_a_gap(void **state)
{
    (void)state;
    check_days(fixed_patterns_fire_behind_a_gap_days,
               COUNT(fixed_patterns_fire_behind_a_gap_days));
}

static void
periodic_patterns_pass_over_a_gap(void **state)
{
    static const day days[] = {
        {NEW_YORK,
         "*/30 * * * *",
         DEFAULTS,
         "2026-03-08T01:00-05:00",
         "2026-03-08T04:00-04:00",
         {"2026-03-08T01:00-05:00", "2026-03-08T01:30-05:00",
          "2026-03-08T03:00-04:00", "2026-03-08T03:30-04:00"}},
        {NEW_YORK,
         "30 * * * *",
         SHIFT,
         "2026-03-08T01:00-05:00",
         "2026-03-08T04:00-04:00",
         {"2026-03-08T01:30-05:00", "2026-03-08T03:30-04:00"}},
        {NEW_YORK,
         "0 */2 * * *",
         DEFAULTS,
         "2026-03-08T00:00-05:00",
         "2026-03-08T07:00-04:00",
         {"2026-03-08T00:00-05:00", "2026-03-08T04:00-04:00",
          "2026-03-08T06:00-04:00"}},
        {NEW_YORK,
         "30 0-23 * * *",
         DEFAULTS,
         "2026-03-08T01:00-05:00",
         "2026-03-08T04:00-04:00",
         {"2026-03-08T01:30-05:00", "2026-03-08T03:30-04:00"}},
    };

    (void)state;
    check_days(days, COUNT(days));
}

/* Samoa went from 29 to 31 December 2011: a gap of a day. */
static void
a_day_that_never_was_is_skipped(void **state)
{
    static const made_kind kinds[] = {{-36000, 1, "-10"}, {50400, 1, "+14"}};
    static const made_change changes[] = {{1325239200, 1}};
    made_file file = {'2', kinds, 2, changes, 1, ""};
    csc_zone *zone = made_zone_of("Pacific/Apia", &file);
    csc_cron cron = made_cron("0 12 * * *");
    csc_dst_outcome out;

    (void)state;
    for (int gap = CSC_DST_GAP_NEXT; gap <= CSC_DST_GAP_SKIP; gap++) {
        csc_dst_rule rule = {&cron, zone, (csc_dst_gap)gap, CSC_DST_FOLD_FIRST};
        csc_dst_fire fire;

        assert_true(
            csc_dst_next(&rule, made_s("2011-12-29T12:00-10:00"), &fire));
        assert_int_equal(fire.at_s, made_s("2011-12-31T12:00+14:00"));
        out = csc_dst_explain(&rule, made_s("2011-12-30T12:00"));
        assert_int_equal(out.fate, CSC_DST_NO_SUCH_DAY);
        assert_int_equal(out.count, 0);
    }
    csc_zone_free(zone);
}

/* ---- Folds --------------------------------------------------------------- */

static void
fixed_patterns_fire_once_in_a_fold(void **state)
{
    static const day days[] = {
        {NEW_YORK, "30 1 * * *", DEFAULTS, AUTUMN, {"2026-11-01T01:30-04:00"}},
        {NEW_YORK, "30 1 * * *", LAST, AUTUMN, {"2026-11-01T01:30-05:00"}},
        {NEW_YORK,
         "30 1 * * *",
         BOTH,
         AUTUMN,
         {"2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00"}},
        {NEW_YORK, "30 1 * * *", NONE, AUTUMN, {NULL}},
        {NEW_YORK, "30 1,2 * * *", NONE, AUTUMN, {"2026-11-01T02:30-05:00"}},
        {NEW_YORK,
         "*/15 1 * * *",
         DEFAULTS,
         AUTUMN,
         {"2026-11-01T01:00-04:00", "2026-11-01T01:15-04:00",
          "2026-11-01T01:30-04:00", "2026-11-01T01:45-04:00"}},
        {NEW_YORK,
         "0,30 1 * * *",
         BOTH,
         AUTUMN,
         {"2026-11-01T01:00-04:00", "2026-11-01T01:30-04:00",
          "2026-11-01T01:00-05:00", "2026-11-01T01:30-05:00"}},
        {NEW_YORK,
         "30 1-2 * * *",
         DEFAULTS,
         AUTUMN,
         {"2026-11-01T01:30-04:00", "2026-11-01T02:30-05:00"}},
        {NEW_YORK, /* first and last of it are no part of it */
         "0 1,2 * * *",
         LAST,
         AUTUMN,
         {"2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"}},
        {LORD_HOWE,
         "45 1 * * *",
         LAST,
         "2026-04-05T00:00+11:00",
         "2026-04-05T12:00+10:30",
         {"2026-04-05T01:45+10:30"}},
        {SANTIAGO, /* 23:00 to 24:00 comes again */
         "30 23 * * *",
         BOTH,
         "2026-04-04T12:00-03:00",
         "2026-04-05T12:00-04:00",
         {"2026-04-04T23:30-03:00", "2026-04-04T23:30-04:00"}},
    };

    (void)state;
    check_days(days, COUNT(days));
}

static void
periodic_patterns_fire_all_through_a_fold(void **state)
{
    static const day days[] = {
        {NEW_YORK,
         "*/30 * * * *",
         DEFAULTS,
         "2026-11-01T01:00-04:00",
         "2026-11-01T02:00-05:00",
         {"2026-11-01T01:00-04:00", "2026-11-01T01:30-04:00",
          "2026-11-01T01:00-05:00", "2026-11-01T01:30-05:00"}},
        {NEW_YORK,
         "*/30 * * * *",
         NONE,
         "2026-11-01T01:00-04:00",
         "2026-11-01T02:00-05:00",
         {"2026-11-01T01:00-04:00", "2026-11-01T01:30-04:00",
          "2026-11-01T01:00-05:00", "2026-11-01T01:30-05:00"}},
        {NEW_YORK,
         "0 */2 * * *",
         DEFAULTS,
         AUTUMN,
         {"2026-11-01T00:00-04:00", "2026-11-01T02:00-05:00",
          "2026-11-01T04:00-05:00", "2026-11-01T06:00-05:00",
          "2026-11-01T08:00-05:00", "2026-11-01T10:00-05:00",
          "2026-11-01T12:00-05:00", "2026-11-01T14:00-05:00",
          "2026-11-01T16:00-05:00", "2026-11-01T18:00-05:00",
          "2026-11-01T20:00-05:00", "2026-11-01T22:00-05:00"}},
    };

    (void)state;
    check_days(days, COUNT(days));
}

/* The day after is as every day: croniter ran an hour late. */
static void
the_day_after_is_as_every_day(void **state)
{
    static const day days[] = {
        {NEW_YORK,
         "30 1 * * *",
         DEFAULTS,
         "2026-10-31T00:00-04:00",
         "2026-11-03T00:00-05:00",
         {"2026-10-31T01:30-04:00", "2026-11-01T01:30-04:00",
          "2026-11-02T01:30-05:00"}},
        {NEW_YORK,
         "30 2 * * *",
         DEFAULTS,
         "2026-03-07T00:00-05:00",
         "2026-03-10T00:00-04:00",
         {"2026-03-07T02:30-05:00", "2026-03-08T03:00-04:00",
          "2026-03-09T02:30-04:00"}},
    };

    (void)state;
    check_days(days, COUNT(days));
}

/* ---- Nominal times ------------------------------------------------------- */

static void
a_fire_names_all_its_nominal_times(void **state)
{
    csc_zone *zone = made_zone("Some/City", NEW_YORK);
    csc_cron cron = made_cron("0,30 2,3 * * *");
    csc_dst_rule rule = {&cron, zone, DEFAULTS};
    csc_dst_fire fire;
    int64_t locals_s[4];

    (void)state;
    assert_true(csc_dst_next(&rule, made_s("2026-03-08T00:00-05:00"), &fire));
    assert_int_equal(fire.local_s, made_s("2026-03-08T02:00"));
    assert_int_equal(fire.offset_s, -14400);
    assert_int_equal(csc_dst_nominals(&rule, fire.at_s, locals_s, 4), 3);
    assert_int_equal(locals_s[0], made_s("2026-03-08T02:00"));
    assert_int_equal(locals_s[1], made_s("2026-03-08T02:30"));
    assert_int_equal(locals_s[2], made_s("2026-03-08T03:00"));
    assert_int_equal(csc_dst_nominals(&rule, fire.at_s, locals_s, 2), 2);
    assert_int_equal(csc_dst_nominals(&rule, fire.at_s + 1, locals_s, 4), 0);
    csc_zone_free(zone);
}

static void
what_becomes_of_a_nominal_time_is_told(void **state)
{
    csc_zone *zone = made_zone("Some/City", NEW_YORK);
    csc_cron fixed = made_cron("30 1,2 * * *");
    csc_cron periodic = made_cron("30 * * * *");
    csc_dst_rule rule = {&fixed, zone, SKIP};
    csc_dst_outcome out;

    (void)state;
    assert_int_equal(csc_dst_explain(&rule, made_s("2026-03-08T02:30")).fate,
                     CSC_DST_IN_GAP);
    assert_int_equal(csc_dst_explain(&rule, made_s("2026-03-08T02:31")).fate,
                     CSC_DST_NO_MATCH);
    rule.fold = CSC_DST_FOLD_NONE;
    assert_int_equal(csc_dst_explain(&rule, made_s("2026-11-01T01:30")).fate,
                     CSC_DST_IN_FOLD);
    rule.fold = CSC_DST_FOLD_BOTH;
    out = csc_dst_explain(&rule, made_s("2026-11-01T01:30"));
    assert_int_equal(out.fate, CSC_DST_FIRES);
    assert_int_equal(out.count, 2);
    assert_int_equal(out.at_s[0], made_s("2026-11-01T01:30-04:00"));
    assert_int_equal(out.at_s[1], made_s("2026-11-01T01:30-05:00"));
    rule.gap = CSC_DST_GAP_NEXT;
    rule.cron = &periodic;
    assert_int_equal(csc_dst_explain(&rule, made_s("2026-03-08T02:30")).fate,
                     CSC_DST_IN_GAP);
    csc_zone_free(zone);
}

/* ---- Ends ---------------------------------------------------------------- */

static void
there_is_nothing_beyond_the_years(void **state)
{
    csc_zone *zone = made_zone("Some/City", NEW_YORK);
    csc_cron cron = made_cron("0 0 * * *");
    csc_cron never = made_cron("30 2 8-14 3 +SUN");
    csc_dst_rule rule = {&cron, zone, SKIP};
    csc_dst_fire fire = {.at_s = 42};

    (void)state;
    assert_true(csc_dst_next(&rule, INT64_MIN, &fire));
    assert_int_equal(fire.at_s, made_s("1970-01-01T00:00-05:00"));
    assert_true(csc_dst_previous(&rule, INT64_MAX, &fire));
    assert_int_equal(fire.at_s, made_s("2199-12-31T00:00-05:00"));
    assert_false(csc_dst_next(&rule, fire.at_s, &fire));
    assert_false(csc_dst_next(&rule, INT64_MAX, &fire));
    assert_false(csc_dst_previous(&rule, INT64_MIN, &fire));
    assert_false(csc_dst_matches(&rule, INT64_MIN, &fire));
    assert_false(csc_dst_matches(&rule, INT64_MAX, &fire));
    rule.cron = &never; /* always in the gap */
    assert_false(csc_dst_next(&rule, INT64_MIN, &fire));
    assert_false(csc_dst_previous(&rule, INT64_MAX, &fire));
    rule.gap = CSC_DST_GAP_NEXT;
    assert_true(csc_dst_next(&rule, made_s("2026-01-01T00:00Z"), &fire));
    assert_int_equal(fire.at_s, made_s("2026-03-08T03:00-04:00"));
    csc_zone_free(zone);
}

/* Each day's nominal time fires once, whatever the zone. */
static void
a_year_has_as_many_fires_as_days(void **state)
{
    static const char *const zones[] = {NEW_YORK, SANTIAGO,  CAIRO,
                                        TROLL,    LORD_HOWE, DUBLIN};

    (void)state;
    for (size_t i = 0; i < COUNT(zones); i++) {
        csc_zone *zone = made_zone("Some/City", zones[i]);

        for (int hour = 0; hour < 24; hour++) {
            static csc_dst_fire fires[400];
            char text[32];
            csc_cron cron;
            csc_dst_rule rule = {&cron, zone, DEFAULTS};

            (void)snprintf(text, sizeof(text), "30 %d * * *", hour);
            cron = made_cron(text);
            assert_int_equal(
                csc_dst_between(&rule, made_s("2026-01-01T00:00+10:30"),
                                made_s("2027-01-01T00:00+10:30"), fires, 400),
                365);
        }
        csc_zone_free(zone);
    }
}

/* ---- The definition ------------------------------------------------------ */

#define WINDOW_S (40 * 3600)
#define INSTANTS_MAX 20000

typedef struct instants {
    int64_t at_s[INSTANTS_MAX];
    size_t count;
} instants;

static void
add_instant(instants *all, int64_t at_s)
{
    assert_true(all->count < INSTANTS_MAX);
    all->at_s[all->count++] = at_s;
}

/* A nominal time by the words of dst.h, with nothing but UTC -> local. */
static void
add_nominal(const csc_dst_rule *rule, int64_t local_s, instants *all)
{
    int64_t times_s[8];
    size_t count = 0;
    int64_t before_s = local_s - csc_zone_offset_max_s(rule->zone) - 1;

    for (int64_t off_s = csc_zone_offset_max_s(rule->zone);
         off_s >= csc_zone_offset_min_s(rule->zone); off_s -= 900) {
        if (csc_zone_at(rule->zone, local_s - off_s).offset_s == off_s)
            times_s[count++] = local_s - off_s;
    }
    if (count == 1 || (count > 1 && (rule->cron->is_periodic ||
                                     rule->fold == CSC_DST_FOLD_BOTH))) {
        for (size_t i = 0; i < count; i++)
            add_instant(all, times_s[i]);
    } else if (count > 1 && rule->fold == CSC_DST_FOLD_FIRST) {
        add_instant(all, times_s[0]);
    } else if (count > 1 && rule->fold == CSC_DST_FOLD_LAST) {
        add_instant(all, times_s[count - 1]);
    } else if (count == 0 && !rule->cron->is_periodic) {
        csc_zone_span span = csc_zone_at(rule->zone, before_s);
        csc_zone_span next = csc_zone_at(rule->zone, span.until_s);

        while (span.until_s + span.offset_s > local_s ||
               next.from_s + next.offset_s <= local_s) {
            span = next;
            next = csc_zone_at(rule->zone, span.until_s);
        }
        if (next.offset_s - span.offset_s >= CSC_DST_GAP_MAX_S)
            return;
        if (rule->gap == CSC_DST_GAP_NEXT)
            add_instant(all, next.from_s);
        else if (rule->gap == CSC_DST_GAP_SHIFT)
            add_instant(all, local_s - span.offset_s);
    }
}

static int
compare_instants(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* All fires around a change, in order, each once. */
static void
fires_by_definition(const csc_dst_rule *rule, int64_t from_s, int64_t to_s,
                    instants *all)
{
    size_t kept = 0;
    int64_t spread_s = 26 * INT64_C(3600);

    all->count = 0;
    for (int64_t local_s = from_s - spread_s; local_s < to_s + spread_s;
         local_s += 60) {
        if (csc_cron_matches(rule->cron, local_s))
            add_nominal(rule, local_s, all);
    }
    qsort(all->at_s, all->count, sizeof(all->at_s[0]), compare_instants);
    for (size_t i = 0; i < all->count; i++) {
        if (all->at_s[i] >= from_s && all->at_s[i] < to_s &&
            (kept == 0 || all->at_s[kept - 1] != all->at_s[i]))
            all->at_s[kept++] = all->at_s[i];
    }
    all->count = kept;
}

static void
compare_fires(const csc_dst_rule *rule, const char *text, int64_t from_s,
              int64_t to_s)
{
    static instants all;
    int64_t after_s = from_s - 1;
    int64_t before_s = to_s;
    csc_dst_fire fire;

    fires_by_definition(rule, from_s, to_s, &all);
    for (size_t i = 0; i < all.count; i++) {
        assert_true(csc_dst_next(rule, after_s, &fire));
        if (fire.at_s != all.at_s[i])
            fail_msg("%s (gap %d, fold %d): %" PRId64 ", not %" PRId64, text,
                     rule->gap, rule->fold, fire.at_s, all.at_s[i]);
        after_s = fire.at_s;
    }
    assert_true(!csc_dst_next(rule, after_s, &fire) || fire.at_s >= to_s);
    for (size_t i = all.count; i > 0; i--) {
        int64_t local_s = 0;

        assert_true(csc_dst_previous(rule, before_s, &fire));
        if (fire.at_s != all.at_s[i - 1])
            fail_msg("%s (gap %d, fold %d): back %" PRId64 ", not %" PRId64,
                     text, rule->gap, rule->fold, fire.at_s, all.at_s[i - 1]);
        assert_int_equal(csc_dst_nominals(rule, fire.at_s, &local_s, 1), 1);
        assert_int_equal(local_s, fire.local_s);
        before_s = fire.at_s;
    }
    assert_true(!csc_dst_previous(rule, before_s, &fire) || fire.at_s < from_s);
}

/* A pattern that fires now and then within two days. */
static void
random_pattern(support_rng *rng, char text[64])
{
    static const char *const minutes[] = {"0", "*/15",    "30",
                                          "*", "45-59/7", "1,31"};
    static const char *const hours[] = {"*",  "2",    "1-3", "*/2",   "0",
                                        "23", "0-23", "1,2", "0-4/2", "1"};

    (void)snprintf(text, 64, "%s %s * * *",
                   minutes[support_rng_below(rng, COUNT(minutes))],
                   hours[support_rng_below(rng, COUNT(hours))]);
}

static void
fires_are_those_of_the_definition(void **state)
{
    static const char *const zones[] = {NEW_YORK, SANTIAGO,  CAIRO,
                                        TROLL,    LORD_HOWE, DUBLIN};
    support_rng rng = support_rng_open("fires_are_those_of_the_definition");

    (void)state;
    for (int round = 0; round < 120; round++) {
        const char *rule_text = zones[support_rng_below(&rng, COUNT(zones))];
        csc_zone *zone = made_zone("Some/City", rule_text);
        int64_t year_s = (int64_t)support_rng_below(&rng, 200) * 31556952;
        int64_t change_s = csc_zone_at(zone, year_s).until_s;
        char text[64];
        csc_cron cron;
        csc_dst_rule rule = {&cron, zone,
                             (csc_dst_gap)support_rng_below(&rng, 3),
                             (csc_dst_fold)support_rng_below(&rng, 4)};

        random_pattern(&rng, text);
        cron = made_cron(text);
        compare_fires(&rule, text, change_s - WINDOW_S, change_s + WINDOW_S);
        csc_zone_free(zone);
    }
}

/* Several changes within hours, of any size. */
static void
dense_changes_are_no_exception(void **state)
{
    support_rng rng = support_rng_open("dense_changes_are_no_exception");

    (void)state;
    for (int round = 0; round < 120; round++) {
        made_kind kinds[4];
        made_change changes[5];
        made_file file = {'2', kinds, 4, changes, 5, ""};
        int64_t at_s = made_s("2026-05-01T00:00Z");
        char text[64];
        csc_cron cron;
        csc_zone *zone;
        csc_dst_rule rule = {&cron, NULL,
                             (csc_dst_gap)support_rng_below(&rng, 3),
                             (csc_dst_fold)support_rng_below(&rng, 4)};

        for (size_t i = 0; i < 4; i++)
            kinds[i] = (made_kind){
                ((int32_t)support_rng_below(&rng, 32) - 16) * 900, 0, "AAA"};
        for (size_t i = 0; i < 5; i++) {
            at_s += 900 * (int64_t)(1 + support_rng_below(&rng, 40));
            changes[i] =
                (made_change){at_s, (uint8_t)support_rng_below(&rng, 4)};
        }
        zone = made_zone_of("Some/City", &file);
        rule.zone = zone;
        random_pattern(&rng, text);
        cron = made_cron(text);
        compare_fires(&rule, text, at_s - WINDOW_S, at_s + WINDOW_S);
        csc_zone_free(zone);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_patterns_fire_behind_a_gap),
        cmocka_unit_test(periodic_patterns_pass_over_a_gap),
        cmocka_unit_test(a_day_that_never_was_is_skipped),
        cmocka_unit_test(fixed_patterns_fire_once_in_a_fold),
        cmocka_unit_test(periodic_patterns_fire_all_through_a_fold),
        cmocka_unit_test(the_day_after_is_as_every_day),
        cmocka_unit_test(a_fire_names_all_its_nominal_times),
        cmocka_unit_test(what_becomes_of_a_nominal_time_is_told),
        cmocka_unit_test(there_is_nothing_beyond_the_years),
        cmocka_unit_test(a_year_has_as_many_fires_as_days),
        cmocka_unit_test(fires_are_those_of_the_definition),
        cmocka_unit_test(dense_changes_are_no_exception),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
