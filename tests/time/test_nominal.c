/* SPDX-License-Identifier: MIT
 *
 * The nominal times of an instant: against a search of all local times that any
 * offset of the zone could bring there, and how little is looked at for them.
 * Zones are parts of tzdata, written here, and made up.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/support.h"
#include "time/made.h"
#include "time/rules.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))
#define HOUR_S 3600
#define NOMINALS_MAX 4000

/* ---- Zones --------------------------------------------------------------- */

static csc_zone *
paris(void)
{
    static const made_kind kinds[] = {{561, 0, "LMT"},   {0, 0, "WET"},
                                      {3600, 1, "WEST"}, {7200, 1, "CEST"},
                                      {3600, 0, "CET"},  {7200, 1, "WEMT"}};
    static const made_change changes[] = {
        {-1855958961, 1}, {-950490000, 2}, {-932432400, 3}, {-857257200, 4},
        {-766616400, 5},  {-766000000, 4}, {-1, 4}};
    made_file file = {'3', kinds, 6, changes, 7, "CET-1CEST,M3.5.0,M10.5.0/3"};

    return made_zone_of("Europe/Paris", &file);
}

/* A day that came twice, and one that never was. */
static csc_zone *
apia(void)
{
    static const made_kind kinds[] = {{45184, 0, "LMT"},    {-41216, 0, "LMT"},
                                      {-41400, 0, "-1130"}, {-39600, 0, "-11"},
                                      {-36000, 1, "-10"},   {50400, 1, "+14"},
                                      {46800, 0, "+13"}};
    static const made_change changes[] = {
        {-2445424384, 1}, {-1861878784, 2}, {-631110600, 3}, {1285498800, 4},
        {1301752800, 3},  {1316872800, 4},  {1325239200, 5}, {1333202400, 6}};
    made_file file = {'2', kinds, 7, changes, 8, ""};

    return made_zone_of("Pacific/Apia", &file);
}

static csc_zone *
manila(void)
{
    static const made_kind kinds[] = {{-57360, 0, "LMT"},
                                      {29040, 0, "LMT"},
                                      {28800, 0, "PST"},
                                      {32400, 1, "PDT"}};
    static const made_change changes[] = {
        {-3944621040, 1}, {-2229321840, 2}, {-1046678400, 3}, {-1040115600, 2}};
    made_file file = {'2', kinds, 4, changes, 4, ""};

    return made_zone_of("Asia/Manila", &file);
}

static csc_zone *
new_york(void)
{
    return made_zone("America/New_York", NEW_YORK);
}

static csc_zone *
santiago(void)
{
    return made_zone("America/Santiago", SANTIAGO);
}

static csc_zone *
lord_howe(void)
{
    return made_zone("Australia/Lord_Howe", LORD_HOWE);
}

static csc_zone *
troll(void)
{
    return made_zone("Antarctica/Troll", TROLL);
}

/* Several changes within hours, of any size; *at_s is the last. */
static csc_zone *
made_up(support_rng *rng, int64_t *at_s)
{
    made_kind kinds[5];
    made_change changes[6];
    made_file file = {'2', kinds, 5, changes, 6, ""};

    for (size_t i = 0; i < 5; i++)
        kinds[i] = (made_kind){((int32_t)support_rng_below(rng, 32) - 16) * 900,
                               0, "AAA"};
    *at_s = made_s("2026-05-01T00:00Z");
    for (size_t i = 0; i < 6; i++) {
        *at_s += 900 * (int64_t)(1 + support_rng_below(rng, 12));
        changes[i] = (made_change){*at_s, (uint8_t)support_rng_below(rng, 5)};
    }
    return made_zone_of("Some/City", &file);
}

/* ---- The oracle ---------------------------------------------------------- */

static bool
has_instant(const csc_dst_outcome *out, int64_t at_s)
{
    for (size_t i = 0; i < out->count; i++) {
        if (out->at_s[i] == at_s)
            return true;
    }
    return false;
}

/* All matches between the least and the greatest offset of the zone. */
static bool
nominal_of_all(const csc_dst_rule *rule, int64_t at_s, int64_t after_local_s,
               int64_t *local_s)
{
    int64_t found_s = at_s + csc_zone_offset_min_s(rule->zone) - 1;
    int64_t end_s = at_s + csc_zone_offset_max_s(rule->zone);

    if (after_local_s > found_s)
        found_s = after_local_s;
    while (csc_cron_next(rule->cron, found_s, &found_s) && found_s <= end_s) {
        csc_dst_outcome out = csc_dst_explain(rule, found_s);

        if (has_instant(&out, at_s)) {
            *local_s = found_s;
            return true;
        }
    }
    return false;
}

static size_t compared; /* nominal times */

static void
compare_instant(const csc_dst_rule *rule, const char *text, int64_t at_s)
{
    static int64_t locals_s[NOMINALS_MAX];
    size_t count = csc_dst_nominals(rule, at_s, locals_s, NOMINALS_MAX);
    int64_t local_s = INT64_MIN;
    size_t wanted = 0;

    while (nominal_of_all(rule, at_s, local_s, &local_s)) {
        if (wanted == count || locals_s[wanted] != local_s)
            fail_msg("%s, %s (gap %d, fold %d) at %" PRId64 ": not %" PRId64,
                     csc_zone_name(rule->zone), text, rule->gap, rule->fold,
                     at_s, local_s);
        wanted++;
    }
    assert_int_equal(count, wanted);
    compared += count;
}

static void
compare_around(const csc_dst_rule *rule, const char *text, int64_t change_s)
{
    for (int64_t by_s = -5 * HOUR_S; by_s <= 5 * HOUR_S; by_s += 300)
        compare_instant(rule, text, change_s + by_s);
    compare_instant(rule, text, change_s - 1);
    compare_instant(rule, text, change_s + 1);
}

static void
compare_policies(const csc_zone *zone, const char *text, int64_t change_s)
{
    csc_cron cron = made_cron(text);

    for (int policy = 0; policy < 12; policy++) {
        csc_dst_rule rule = {&cron, zone, (csc_dst_gap)(policy / 4),
                             (csc_dst_fold)(policy % 4)};

        compare_around(&rule, text, change_s);
    }
}

/* ---- Comparisons --------------------------------------------------------- */

static const char *const patterns[] = {
    "0,30 2-3 * * *", "*/15 0-4,22,23 * * *", "30 * * * *",
    "0 0 * * *",      "0-59/15 1-3 * * *",    "15 */3 * * *"};

static void
nominals_are_those_of_the_whole_search(void **state)
{
    static const struct {
        csc_zone *(*make)(void);
        int64_t changes_s[4];
    } zones[] = {
        {paris, {-1855958961, -932432400, 1774746000, 1792890000}},
        {apia, {-1861878784, 1285498800, 1325239200, 1333202400}},
        {manila, {-2229321840, -1046678400, -1040115600, 0}},
        {new_york, {1772953200, 1793512800, 0, 0}},
        {santiago, {1775358000, 1788667200, 0, 0}},
        {lord_howe, {1775314800, 1791041400, 0, 0}},
        {troll, {1774746000, 1792890000, 0, 0}},
    };

    (void)state;
    compared = 0;
    for (size_t i = 0; i < COUNT(zones); i++) {
        csc_zone *zone = zones[i].make();

        for (size_t c = 0; c < 4 && zones[i].changes_s[c] != 0; c++) {
            for (size_t p = 0; p < COUNT(patterns); p++)
                compare_policies(zone, patterns[p], zones[i].changes_s[c]);
        }
        csc_zone_free(zone);
    }
    assert_in_range(compared, 5000, SIZE_MAX);
}

/* Each second, also of the gap's own. */
static void
seconds_are_no_exception(void **state)
{
    csc_zone *zone = new_york();

    (void)state;
    for (int gap = 0; gap < 3; gap++) {
        const char *text = "*/7 * 1-3 * * *";
        csc_cron cron = made_cron(text);
        csc_dst_rule rule = {&cron, zone, (csc_dst_gap)gap, CSC_DST_FOLD_BOTH};

        for (int64_t by_s = -30; by_s < 30; by_s++) {
            compare_instant(&rule, text, 1772953200 + by_s);
            compare_instant(&rule, text, 1772953200 + HOUR_S + by_s);
            compare_instant(&rule, text, 1793512800 + by_s);
        }
    }
    csc_zone_free(zone);
}

static void
dense_changes_are_no_exception(void **state)
{
    support_rng rng = support_rng_open("dense_changes_are_no_exception");

    (void)state;
    compared = 0;
    for (int round = 0; round < 300; round++) {
        int64_t at_s = 0;
        csc_zone *zone = made_up(&rng, &at_s);
        size_t p = support_rng_below(&rng, COUNT(patterns));

        compare_policies(zone, patterns[p], at_s);
        compare_policies(zone, patterns[p], at_s - 6 * HOUR_S);
        csc_zone_free(zone);
    }
    assert_in_range(compared, 10000, SIZE_MAX);
}

static void
there_is_nothing_at_the_ends(void **state)
{
    static const int64_t ends_s[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1,
                                     INT64_MAX};
    csc_zone *zone = apia();
    csc_cron cron = made_cron("* * 0-22 * * *");

    (void)state;
    for (size_t i = 0; i < COUNT(ends_s) * 3; i++) {
        csc_dst_rule rule = {&cron, zone, (csc_dst_gap)(i % 3),
                             CSC_DST_FOLD_FIRST};
        int64_t local_s = 42;
        size_t steps = 0;

        assert_false(
            csc_dst_nominal(&rule, ends_s[i / 3], INT64_MIN, &local_s, &steps));
        assert_int_equal(local_s, 42);
        assert_int_equal(steps, 0);
    }
    csc_zone_free(zone);
}

/* ---- What is looked at --------------------------------------------------- */

/* All nominal times of a day's seconds; the steps that they take. */
static size_t
steps_of_day(const csc_zone *zone, const char *text, csc_dst_gap gap,
             int64_t from_s)
{
    csc_cron cron = made_cron(text);
    csc_dst_rule rule = {&cron, zone, gap, CSC_DST_FOLD_FIRST};
    size_t steps = 0;

    for (int64_t at_s = from_s; at_s < from_s + 24 * HOUR_S; at_s += 10) {
        int64_t local_s = INT64_MIN;

        while (csc_dst_nominal(&rule, at_s, local_s, &local_s, &steps))
            continue;
    }
    return steps;
}

static void
no_other_year_is_looked_at(void **state)
{
    static csc_zone *(*const zones[])(void) = {paris, apia, manila};
    int64_t june_s = made_s("2026-06-01T00:00Z");

    (void)state;
    for (size_t i = 0; i < COUNT(zones); i++) {
        csc_zone *zone = zones[i]();

        for (int gap = 0; gap < 3; gap++) {
            assert_int_equal(
                steps_of_day(zone, "* * * * * *", (csc_dst_gap)gap, june_s), 0);
            assert_int_equal(
                steps_of_day(zone, "* * 0-22 * * *", (csc_dst_gap)gap, june_s),
                0);
        }
        csc_zone_free(zone);
    }
}

/* Paris leaves out an hour. By next its seconds all come to one instant; by
 * shift there is one more look at each instant of the three hours behind. */
static void
a_gap_is_looked_at_once(void **state)
{
    int64_t day_s = made_s("2026-03-29T00:00+01:00");
    csc_zone *zone = paris();

    (void)state;
    assert_int_equal(
        steps_of_day(zone, "* * 0-22 * * *", CSC_DST_GAP_NEXT, day_s), HOUR_S);
    assert_in_range(
        steps_of_day(zone, "* * 0-22 * * *", CSC_DST_GAP_SHIFT, day_s), 1,
        3 * 3 * HOUR_S / 10);
    assert_int_equal(
        steps_of_day(zone, "* * 0-22 * * *", CSC_DST_GAP_SKIP, day_s), 0);
    assert_int_equal(steps_of_day(zone, "* * * * * *", CSC_DST_GAP_NEXT, day_s),
                     0);
    csc_zone_free(zone);
    zone = apia(); /* a day that never was */
    assert_int_equal(steps_of_day(zone, "* * 0-22 * * *", CSC_DST_GAP_NEXT,
                                  1325239200 - 12 * HOUR_S),
                     0);
    csc_zone_free(zone);
}

/* A search ends where its budget does, in every zone. */
static void
a_budget_is_one_of_candidates(void **state)
{
    static csc_zone *(*const zones[])(void) = {paris, apia, manila};
    int64_t from_ms = made_s("2026-06-01T00:00Z") * 1000;
    csc_cron cron = made_cron("* * * * * *");
    csc_cron exclude = made_cron("* * * * *");

    (void)state;
    for (size_t i = 0; i < COUNT(zones); i++) {
        csc_rules rules = {.zone = zones[i](),
                           .crons = &cron,
                           .cron_count = 1,
                           .exclude_crons = &exclude,
                           .exclude_cron_count = 1};
        csc_rules_fire fire;

        assert_int_equal(csc_rules_next(&rules, from_ms, 5000, &fire),
                         CSC_RULES_SO_FAR);
        assert_int_equal(fire.at_ms, from_ms + 5000 * 1000);
        assert_int_equal(csc_rules_previous(&rules, from_ms, 5000, &fire),
                         CSC_RULES_SO_FAR);
        assert_int_equal(fire.at_ms, from_ms - 5000 * 1000);
        csc_zone_free((csc_zone *)rules.zone);
    }
}

/* What comes out of a gap is of the budget too: each of its seconds where one
 * is excluded alone, the first of each minute where that is. */
static void
nominal_times_are_of_the_budget(void **state)
{
    int64_t gap_ms = made_s("2026-03-29T03:00+02:00") * 1000;
    csc_cron cron = made_cron("* * 1,2 * * *");
    csc_cron excludes[] = {made_cron("* * * * * *"), made_cron("* * * * *")};
    csc_rules rules = {.zone = paris(),
                       .crons = &cron,
                       .cron_count = 1,
                       .exclude_crons = excludes,
                       .exclude_cron_count = 1};
    csc_rules_fire fire;

    (void)state;
    assert_int_equal(csc_rules_next(&rules, gap_ms - 10001, HOUR_S, &fire),
                     CSC_RULES_SO_FAR);
    assert_int_equal(fire.at_ms, gap_ms);
    rules.exclude_crons = excludes + 1;
    assert_int_equal(csc_rules_next(&rules, gap_ms - 10001, 72, &fire),
                     CSC_RULES_SO_FAR);
    assert_true(fire.at_ms > gap_ms);
    assert_int_equal(csc_rules_next(&rules, gap_ms - 10001, 70, &fire),
                     CSC_RULES_SO_FAR);
    assert_int_equal(fire.at_ms, gap_ms);
    csc_zone_free((csc_zone *)rules.zone);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nominals_are_those_of_the_whole_search),
        cmocka_unit_test(seconds_are_no_exception),
        cmocka_unit_test(dense_changes_are_no_exception),
        cmocka_unit_test(there_is_nothing_at_the_ends),
        cmocka_unit_test(no_other_year_is_looked_at),
        cmocka_unit_test(a_gap_is_looked_at_once),
        cmocka_unit_test(a_budget_is_one_of_candidates),
        cmocka_unit_test(nominal_times_are_of_the_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
