/* SPDX-License-Identifier: MIT
 *
 * Intervals, calendars, and what rules make of them with patterns: unions,
 * excludes, bounds, budgets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/support.h"
#include "time/civil.h"
#include "time/made.h"
#include "time/rules.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))
#define HOUR_MS INT64_C(3600000)
#define ENOUGH 100000

static int64_t
made_ms(const char *text)
{
    return made_s(text) * 1000;
}

/* ---- Intervals ----------------------------------------------------------- */

static void
lengths_of_time_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } table[] = {
        {"5m", 300000},
        {"1h30m", 5400000},
        {"500ms", 500},
        {"2w", 1209600000},
        {"1d12h", 129600000},
        {"1m1ms", 60001},
        {"1s500ms", 1500},
        {"0s", 0},
        {"36525d", 3155760000000},
        {"1w1d1h1m1s1ms", 694861001},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        int64_t ms = -1;

        if (csc_interval_parse("every", table[i].text, &ms) != CASCADE_OK)
            fail_msg("%s: %s", table[i].text, cascade_errmsg());
        assert_int_equal(ms, table[i].ms);
    }
}

static void
lengths_of_time_are_written_as_they_are_read(void **state)
{
    static const int64_t table[] = {
        0, 1, 1000, 5400000, 60001, 86400000, 694861001, CSC_INTERVAL_MOST_MS};

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char text[CSC_INTERVAL_TEXT_SIZE];
        int64_t ms = -1;

        csc_interval_format(table[i], text);
        if (csc_interval_parse("every", text, &ms) != CASCADE_OK)
            fail_msg("%s: %s", text, cascade_errmsg());
        assert_int_equal(ms, table[i]);
    }
}

static void
what_is_no_length_of_time_is_refused(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } table[] = {
        {"", "byte 1"},       {"5", "byte 2"},
        {"m", "byte 1"},      {"5 m", "byte 2"},
        {"5m ", "byte 3"},    {"-5m", "byte 1"},
        {"5m1h", "byte 4"},   {"5m5m", "byte 4"},
        {"5min", "byte 2"},   {"1.5h", "byte 2"},
        {"36526d", "byte 1"}, {"36525d1ms", "byte 7"},
        {"5M", "byte 2"},     {"99999999999999999999999w", "byte 1"},
        {"1h5y", "byte 4"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        int64_t ms = 42;

        if (csc_interval_parse("every", table[i].text, &ms) !=
            CASCADE_ERR_INVALID)
            fail_msg("accepts %s", table[i].text);
        if (strstr(cascade_errmsg(), table[i].why) == NULL)
            fail_msg("%s: %s", table[i].text, cascade_errmsg());
        assert_int_equal(ms, 42);
    }
}

static void
intervals_are_bounded(void **state)
{
    csc_interval interval;

    (void)state;
    assert_int_equal(csc_interval_init(&interval, "every", 999, 0, 1000),
                     CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "from 1000 ms"));
    assert_int_equal(csc_interval_init(&interval, "every", 99, 0, 0),
                     CASCADE_ERR_INVALID);
    assert_int_equal(
        csc_interval_init(&interval, "every", CSC_INTERVAL_MOST_MS + 1, 0, 0),
        CASCADE_ERR_INVALID);
    assert_int_equal(csc_interval_init(&interval, "every", 100, 0, 100),
                     CASCADE_OK);
}

static void
intervals_go_on_from_their_anchor(void **state)
{
    static const int64_t anchors_ms[] = {
        0, 1, 999, -1, 1234567890123, INT64_MIN, INT64_MAX};
    static const int64_t every_ms[] = {100, 1000, 86400000, 7777777};

    (void)state;
    for (size_t i = 0; i < COUNT(anchors_ms) * COUNT(every_ms); i++) {
        int64_t anchor_ms = anchors_ms[i / COUNT(every_ms)];
        int64_t length_ms = every_ms[i % COUNT(every_ms)];
        int64_t at_ms = 1700000000000;
        csc_interval interval;

        assert_int_equal(
            csc_interval_init(&interval, "every", length_ms, anchor_ms, 100),
            CASCADE_OK);
        for (int n = 0; n < 10; n++) {
            int64_t was_ms = at_ms;
            int64_t back_ms = 0;

            assert_true(csc_interval_next(&interval, was_ms, &at_ms));
            assert_true(at_ms > was_ms && at_ms <= was_ms + length_ms);
            assert_int_equal(
                csc_civil_mod(at_ms % length_ms - anchor_ms % length_ms,
                              length_ms),
                0);
            assert_true(csc_interval_matches(&interval, at_ms));
            assert_false(csc_interval_matches(&interval, at_ms + 1));
            assert_true(csc_interval_previous(&interval, at_ms + 1, &back_ms));
            assert_int_equal(back_ms, at_ms);
            if (n > 0) {
                assert_true(csc_interval_previous(&interval, at_ms, &back_ms));
                assert_int_equal(back_ms, was_ms);
            }
        }
    }
}

static void
intervals_end_with_the_years(void **state)
{
    csc_interval interval;
    int64_t at_ms = 42;

    (void)state;
    assert_int_equal(csc_interval_init(&interval, "every", HOUR_MS, 5, 1000),
                     CASCADE_OK);
    assert_false(csc_interval_next(&interval, INT64_MAX, &at_ms));
    assert_false(csc_interval_previous(&interval, 5, &at_ms));
    assert_false(csc_interval_previous(&interval, INT64_MIN, &at_ms));
    assert_false(csc_interval_matches(&interval, 5 - HOUR_MS));
    assert_int_equal(at_ms, 42);
    assert_true(csc_interval_next(&interval, INT64_MIN, &at_ms));
    assert_int_equal(at_ms, 5);
    assert_true(csc_interval_previous(&interval, INT64_MAX, &at_ms));
    assert_int_equal(at_ms, made_ms("2199-12-31T23:00Z") + 5);
    assert_false(csc_interval_next(&interval, at_ms, &at_ms));
}

/* ---- Calendars ----------------------------------------------------------- */

static int64_t
days_of(const char *date)
{
    csc_civil civil;

    assert_int_equal(csc_civil_parse_date(date, &civil), 10);
    return csc_civil_days(civil.year, civil.month, civil.day);
}

static bool
has(const csc_calendar *calendar, const char *date)
{
    return csc_calendar_has(calendar, days_of(date));
}

static void
calendars_have_days_and_ranges(void **state)
{
    static const char *const entries[] = {"2026-12-24/2027-01-01",
                                          "2026-04-03",
                                          "--12-25",
                                          "2026-04-06",
                                          "2026-04-04/2026-04-05",
                                          "--02-29",
                                          "--05-01/--05-03",
                                          "2026-12-31/2027-01-02",
                                          "2026-08-01/2026-08-31",
                                          "2026-08-10",
                                          "2026-08-03",
                                          "2026-08-06",
                                          "2026-08-14",
                                          "2026-08-16"};
    csc_calendar *calendar = NULL;

    (void)state;
    assert_int_equal(
        csc_calendar_create("holidays", entries, COUNT(entries), &calendar),
        CASCADE_OK);
    assert_false(has(calendar, "2026-12-23"));
    assert_true(has(calendar, "2026-12-24"));
    assert_true(has(calendar, "2026-12-31"));
    assert_true(has(calendar, "2027-01-02"));
    assert_false(has(calendar, "2027-01-03"));
    assert_false(has(calendar, "2026-04-02"));
    for (int day = 3; day <= 6; day++)
        assert_true(csc_calendar_has(calendar, csc_civil_days(2026, 4, day)));
    assert_false(has(calendar, "2026-04-07"));
    assert_true(has(calendar, "2026-08-20"));
    assert_true(has(calendar, "1999-12-25"));
    assert_true(has(calendar, "2024-02-29"));
    assert_false(has(calendar, "2026-02-28"));
    assert_false(has(calendar, "2026-03-01"));
    assert_true(has(calendar, "2030-05-02"));
    assert_false(has(calendar, "2030-05-04"));
    csc_calendar_free(calendar);
}

/* By the list and by the entry alone. */
static void
days_of_each_year_may_go_over_new_year(void **state)
{
    static const struct {
        const char *day;
        bool is_in;
    } table[] = {{"2026-12-23", false}, {"2026-12-24", true},
                 {"2026-12-31", true},  {"2027-01-01", true},
                 {"2030-01-06", true},  {"2027-01-07", false},
                 {"2028-02-29", false}, {"2026-07-01", false}};
    const char *entry = "--12-24/--01-06";
    const char *all_but_a_day = "--03-01/--02-28";
    csc_calendar *calendar = NULL;

    (void)state;
    assert_int_equal(csc_calendar_create("c", &entry, 1, &calendar),
                     CASCADE_OK);
    for (size_t i = 0; i < COUNT(table); i++) {
        int64_t days = days_of(table[i].day);

        assert_int_equal(csc_calendar_has(calendar, days), table[i].is_in);
        assert_int_equal(csc_calendar_entry_has(entry, days), table[i].is_in);
    }
    csc_calendar_free(calendar);
    assert_int_equal(csc_calendar_create("c", &all_but_a_day, 1, &calendar),
                     CASCADE_OK);
    for (int64_t days = csc_civil_days(2028, 1, 1);
         days < csc_civil_days(2029, 1, 1); days++)
        assert_int_equal(csc_calendar_has(calendar, days),
                         days != csc_civil_days(2028, 2, 29));
    csc_calendar_free(calendar);
}

static void
a_calendar_may_be_empty(void **state)
{
    csc_calendar *calendar = NULL;

    (void)state;
    assert_int_equal(csc_calendar_create("none", NULL, 0, &calendar),
                     CASCADE_OK);
    assert_false(has(calendar, "2026-12-25"));
    csc_calendar_free(calendar);
    csc_calendar_free(NULL);
}

static void
an_entry_alone_tells_what_days_it_has(void **state)
{
    int64_t christmas = csc_civil_days(2026, 12, 25);

    (void)state;
    assert_true(csc_calendar_entry_has("2026-12-25", christmas));
    assert_true(csc_calendar_entry_has("--12-25", christmas));
    assert_true(csc_calendar_entry_has("--12-24/--12-26", christmas));
    assert_true(csc_calendar_entry_has("2026-12-25/2027-01-01", christmas));
    assert_true(csc_calendar_entry_has("2026-12-01/2026-12-25", christmas));
    assert_false(csc_calendar_entry_has("2025-12-25", christmas));
    assert_false(csc_calendar_entry_has("--12-26/--12-31", christmas));
    assert_false(csc_calendar_entry_has("--12-24", christmas));
    assert_false(csc_calendar_entry_has("Christmas", christmas));
    assert_true(csc_calendar_entry_has("--02-29", csc_civil_days(2024, 2, 29)));
    assert_false(csc_calendar_entry_has("--02-29", csc_civil_days(2026, 3, 1)));
}

static void
what_is_no_day_is_refused_by_its_entry(void **state)
{
    static const char *const bad[] = {"",
                                      "2026",
                                      "2026-02-29",
                                      "2026-12-25T00:00",
                                      "--02-30",
                                      "--12",
                                      "-12-25",
                                      "2026-12-25/",
                                      "2026-12-25/2026-12-24",
                                      "2026-12-25/--12-26",
                                      "--12-26/2026-12-25",
                                      "Christmas"};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *entries[] = {"2026-01-01", bad[i]};
        csc_calendar *calendar = NULL;
        size_t live = csc_mem_live();

        if (csc_calendar_create("holidays", entries, 2, &calendar) !=
            CASCADE_ERR_INVALID)
            fail_msg("accepts %s", bad[i]);
        assert_non_null(strstr(cascade_errmsg(), "holidays: entry 2 "));
        assert_null(calendar);
        assert_int_equal(csc_mem_live(), live);
    }
}

static void
a_calendar_of_any_size_is_bounded(void **state)
{
    static const char *entries[CSC_CALENDAR_ENTRIES_MAX + 1];
    csc_calendar *calendar = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT(entries); i++)
        entries[i] = "2026-01-01";
    assert_int_equal(
        csc_calendar_create("x", entries, COUNT(entries), &calendar),
        CASCADE_ERR_TOO_LARGE);
    (void)csc_mem_fail_at(1, 0);
    assert_int_equal(csc_calendar_create("x", entries, 1, &calendar),
                     CASCADE_ERR_NO_MEMORY);
    (void)csc_mem_fail_at(0, 0);
    assert_int_equal(
        csc_calendar_create("x", entries, COUNT(entries) - 1, &calendar),
        CASCADE_OK);
    csc_calendar_free(calendar);
}

/* ---- Rules --------------------------------------------------------------- */

static size_t
between(const csc_rules *rules, int64_t from_ms, int64_t to_ms, size_t budget,
        csc_rules_fire *fires, size_t max, int64_t *next_ms)
{
    return csc_rules_between(rules, from_ms, to_ms, &budget, fires, max,
                             next_ms);
}

static void
check_fires(const csc_rules *rules, const char *from, const char *to,
            const char *const *fires, size_t count)
{
    csc_rules_fire found[16];
    int64_t before_ms = made_ms(to);
    int64_t next_ms = 0;

    assert_int_equal(
        between(rules, made_ms(from), made_ms(to), ENOUGH, found, 16, &next_ms),
        count);
    assert_int_equal(next_ms, made_ms(to));
    for (size_t i = 0; i < count; i++) {
        if (found[i].at_ms != made_ms(fires[i]))
            fail_msg("%" PRId64 ", not %s", found[i].at_ms, fires[i]);
        assert_true(csc_rules_matches(rules, found[i].at_ms));
    }
    for (size_t i = count; i > 0; i--) {
        csc_rules_fire back;

        assert_int_equal(csc_rules_previous(rules, before_ms, ENOUGH, &back),
                         CSC_RULES_FOUND);
        assert_int_equal(back.at_ms, found[i - 1].at_ms);
        assert_int_equal(back.local_s, found[i - 1].local_s);
        before_ms = back.at_ms;
    }
}

static void
rules_are_the_union_of_their_sources(void **state)
{
    static const char *const fires[] = {
        "2026-06-01T09:00-04:00", "2026-06-01T10:00-04:00",
        "2026-06-01T11:17-04:00", "2026-06-01T12:00-04:00",
        "2026-06-01T15:00-04:00"};
    csc_zone *zone = made_zone("Some/City", NEW_YORK);
    csc_cron crons[] = {made_cron("0 9 * * *"), made_cron("0 12 * * MON")};
    csc_interval interval;
    int64_t instants_ms[] = {made_ms("2026-06-01T10:00-04:00"),
                             made_ms("2026-06-01T11:17-04:00"),
                             made_ms("2026-06-01T12:00-04:00")};
    csc_rules rules = {.zone = zone,
                       .crons = crons,
                       .cron_count = 2,
                       .intervals = &interval,
                       .interval_count = 1,
                       .instants_ms = instants_ms,
                       .instant_count = 3};
    csc_rules_fire fire;

    (void)state;
    assert_int_equal(csc_interval_init(&interval, "every", 3 * HOUR_MS,
                                       made_ms("2020-01-01T01:00Z"), 1000),
                     CASCADE_OK);
    check_fires(&rules, "2026-06-01T06:30-04:00", "2026-06-01T17:00-04:00",
                fires, 5);
    assert_int_equal(csc_rules_next(&rules, made_ms(fires[2]), 1, &fire),
                     CSC_RULES_FOUND);
    assert_int_equal(fire.source, CSC_RULES_CRON); /* of three that meet */
    assert_int_equal(fire.index, 1);
    assert_int_equal(csc_rules_next(&rules, made_ms(fires[1]), 1, &fire),
                     CSC_RULES_FOUND);
    assert_int_equal(fire.source, CSC_RULES_INSTANT);
    assert_int_equal(fire.index, 1);
    assert_int_equal(fire.local_s, made_s("2026-06-01T11:17"));
    assert_int_equal(fire.offset_s, -14400);
    csc_zone_free(zone);
}

static void
excludes_are_matched_with_the_nominal_time(void **state)
{
    static const char *const entries[] = {"--12-25", "2026-12-28"};
    static const char *const fires[] = {
        "2026-12-24T20:30-05:00", "2026-12-26T08:30-05:00",
        "2026-12-26T20:30-05:00", "2026-12-27T20:30-05:00"};
    csc_zone *zone = made_zone("Some/City", NEW_YORK);
    csc_cron cron = made_cron("30 8,20 * * *");
    csc_cron exclude = made_cron("* 0-11 * * SUN");
    csc_calendar *calendar = NULL;
    const csc_calendar *calendars[1];
    csc_rules rules = {.zone = zone,
                       .crons = &cron,
                       .cron_count = 1,
                       .exclude_crons = &exclude,
                       .exclude_cron_count = 1,
                       .exclude_calendars = calendars,
                       .exclude_calendar_count = 1};
    int64_t local_s = 0;
    size_t index = 9;

    (void)state;
    assert_int_equal(csc_calendar_create("c", entries, 2, &calendar),
                     CASCADE_OK);
    calendars[0] = calendar;
    check_fires(&rules, "2026-12-24T12:00-05:00", "2026-12-29T00:00-05:00",
                fires, 4);
    assert_int_equal(csc_rules_explain(&rules,
                                       made_ms("2026-12-25T08:30-05:00"),
                                       &local_s, &index),
                     CSC_RULES_EXCLUDED_BY_CALENDAR);
    assert_int_equal(csc_rules_explain(&rules,
                                       made_ms("2026-12-27T08:30-05:00"),
                                       &local_s, &index),
                     CSC_RULES_EXCLUDED_BY_CRON);
    assert_int_equal(index, 0);
    assert_int_equal(local_s, made_s("2026-12-27T08:30"));
    assert_int_equal(csc_rules_explain(&rules,
                                       made_ms("2026-12-27T08:31-05:00"),
                                       &local_s, &index),
                     CSC_RULES_NO_CANDIDATE);
    assert_int_equal(csc_rules_explain(&rules,
                                       made_ms("2026-12-26T08:30-05:00"),
                                       &local_s, &index),
                     CSC_RULES_FIRES);
    csc_calendar_free(calendar);
    csc_zone_free(zone);
}

/* A pattern without seconds excludes its minutes, one with seconds them. */
static void
excludes_without_seconds_are_of_minutes(void **state)
{
    static const char *const by_minute[] = {"2026-06-01T12:01:05Z"};
    static const char *const by_second[] = {"2026-06-01T12:00:05Z",
                                            "2026-06-01T12:01:05Z"};
    csc_zone *zone = made_zone("UTC", "UTC0");
    csc_cron cron = made_cron("5,30 * * * * *");
    csc_cron excludes[] = {made_cron("0 * * * *"), made_cron("30 * * * * *")};
    csc_rules rules = {.zone = zone,
                       .crons = &cron,
                       .cron_count = 1,
                       .exclude_crons = excludes,
                       .exclude_cron_count = 2};

    (void)state;
    check_fires(&rules, "2026-06-01T12:00Z", "2026-06-01T12:02Z", by_minute, 1);
    rules.exclude_crons = excludes + 1;
    rules.exclude_cron_count = 1;
    check_fires(&rules, "2026-06-01T12:00Z", "2026-06-01T12:02Z", by_second, 2);
    csc_zone_free(zone);
}

/* 02:30 and 03:00 are one fire on that day: it takes both to exclude it. */
static void
a_fire_stays_while_one_nominal_time_does(void **state)
{
    static const char *const fires[] = {"2026-03-08T03:00-04:00"};
    csc_zone *zone = made_zone("Some/City", NEW_YORK);
    csc_cron cron = made_cron("0,30 2,3 8 3 *");
    csc_cron excludes[] = {made_cron("* 2 * * *"), made_cron("30 3 * * *"),
                           made_cron("0 3 * * *")};
    csc_rules rules = {.zone = zone,
                       .crons = &cron,
                       .cron_count = 1,
                       .exclude_crons = excludes,
                       .exclude_cron_count = 2};
    csc_rules_fire fire;

    (void)state;
    check_fires(&rules, "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
                fires, 1);
    assert_int_equal(csc_rules_next(&rules, made_ms("2026-03-08T00:00-05:00"),
                                    ENOUGH, &fire),
                     CSC_RULES_FOUND);
    assert_int_equal(fire.local_s, made_s("2026-03-08T03:00"));
    rules.exclude_cron_count = 3;
    check_fires(&rules, "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
                NULL, 0);
    csc_zone_free(zone);
}

/* At 03:00 the clock shows 03:00 to what is no pattern, whatever 02:30 is. */
static void
other_sources_stay_at_a_fire_that_is_excluded(void **state)
{
    static const char *const fires[] = {"2026-03-08T03:00-04:00"};
    csc_zone *zone = made_zone("Some/City", NEW_YORK);
    csc_cron cron = made_cron("30 2 8 3 *");
    csc_cron exclude = made_cron("* 2 * * *");
    csc_interval interval;
    int64_t instant_ms = made_ms(fires[0]);
    csc_rules rules = {.zone = zone,
                       .crons = &cron,
                       .cron_count = 1,
                       .exclude_crons = &exclude,
                       .exclude_cron_count = 1};
    csc_rules_fire fire;

    (void)state;
    check_fires(&rules, "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
                NULL, 0);
    rules.instants_ms = &instant_ms;
    rules.instant_count = 1;
    check_fires(&rules, "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
                fires, 1);
    assert_int_equal(csc_rules_next(&rules, instant_ms - 1, 1, &fire),
                     CSC_RULES_FOUND);
    assert_int_equal(fire.source, CSC_RULES_INSTANT);
    rules.instant_count = 0;
    rules.intervals = &interval;
    rules.interval_count = 1;
    assert_int_equal(csc_interval_init(&interval, "every", 10000 * HOUR_MS,
                                       instant_ms, 1000),
                     CASCADE_OK);
    check_fires(&rules, "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
                fires, 1);
    assert_int_equal(csc_rules_next(&rules, instant_ms - 1, 1, &fire),
                     CSC_RULES_FOUND);
    assert_int_equal(fire.source, CSC_RULES_INTERVAL);
    csc_zone_free(zone);
}

/* A source that has ended leaves the others alone. */
static void
sources_end_on_their_own(void **state)
{
    csc_zone *zone = made_zone("UTC", "UTC0");
    csc_cron crons[] = {made_cron("0 0 0 1 1 * 2020"),
                        made_cron("0 0 0 1 1 * 2030")};
    csc_interval interval;
    csc_rules rules = {.zone = zone,
                       .crons = crons,
                       .cron_count = 2,
                       .intervals = &interval,
                       .interval_count = 1};
    csc_rules_fire fire;

    (void)state;
    assert_int_equal(csc_interval_init(&interval, "every", CSC_INTERVAL_MOST_MS,
                                       made_ms("2025-01-01T00:00Z"), 1000),
                     CASCADE_OK);
    assert_int_equal(
        csc_rules_next(&rules, made_ms("2025-06-01T00:00Z"), 1, &fire),
        CSC_RULES_FOUND);
    assert_int_equal(fire.at_ms, made_ms("2030-01-01T00:00Z"));
    assert_int_equal(
        csc_rules_next(&rules, made_ms("2125-06-01T00:00Z"), 1, &fire),
        CSC_RULES_NONE);
    assert_int_equal(
        csc_rules_previous(&rules, made_ms("2025-01-01T00:00Z"), 1, &fire),
        CSC_RULES_FOUND);
    assert_int_equal(fire.at_ms, made_ms("2020-01-01T00:00Z"));
    assert_int_equal(
        csc_rules_previous(&rules, made_ms("1970-01-01T00:00Z") + 1, 1, &fire),
        CSC_RULES_NONE);
    csc_zone_free(zone);
}

static void
start_is_in_and_end_is_not(void **state)
{
    static const char *const fires[] = {"2026-06-02T00:00Z",
                                        "2026-06-03T00:00Z"};
    csc_zone *zone = made_zone("UTC", "UTC0");
    csc_cron cron = made_cron("0 0 * * *");
    csc_rules rules = {.zone = zone,
                       .crons = &cron,
                       .cron_count = 1,
                       .start_ms = made_ms("2026-06-02T00:00Z"),
                       .end_ms = made_ms("2026-06-04T00:00Z")};
    csc_rules_fire fire;
    int64_t local_s;
    size_t index;

    (void)state;
    check_fires(&rules, "2026-01-01T00:00Z", "2027-01-01T00:00Z", fires, 2);
    assert_int_equal(csc_rules_next(&rules, INT64_MIN, 1, &fire),
                     CSC_RULES_FOUND);
    assert_int_equal(fire.at_ms, rules.start_ms);
    assert_int_equal(csc_rules_previous(&rules, INT64_MAX, 1, &fire),
                     CSC_RULES_FOUND);
    assert_int_equal(fire.at_ms, made_ms(fires[1]));
    assert_int_equal(csc_rules_next(&rules, fire.at_ms, 1, &fire),
                     CSC_RULES_NONE);
    assert_int_equal(csc_rules_previous(&rules, rules.start_ms, 1, &fire),
                     CSC_RULES_NONE);
    assert_int_equal(
        csc_rules_explain(&rules, rules.start_ms - 1, &local_s, &index),
        CSC_RULES_BEFORE_START);
    assert_int_equal(csc_rules_explain(&rules, rules.end_ms, &local_s, &index),
                     CSC_RULES_BEHIND_END);
    csc_zone_free(zone);
}

static void
a_budget_that_ends_says_so_far(void **state)
{
    csc_zone *zone = made_zone("UTC", "UTC0");
    csc_cron cron = made_cron("0 * * * *");
    csc_cron exclude = made_cron("* 0-22 * * *");
    csc_rules rules = {.zone = zone,
                       .crons = &cron,
                       .cron_count = 1,
                       .exclude_crons = &exclude,
                       .exclude_cron_count = 1};
    int64_t at_ms = made_ms("2026-06-01T00:30Z");
    csc_rules_fire fires[4];
    csc_rules_fire fire;
    int64_t next_ms = 0;
    int asked = 1;

    (void)state;
    assert_int_equal(csc_rules_next(&rules, at_ms, 10, &fire),
                     CSC_RULES_SO_FAR);
    assert_int_equal(fire.at_ms, made_ms("2026-06-01T10:00Z"));
    for (; csc_rules_next(&rules, fire.at_ms, 10, &fire) == CSC_RULES_SO_FAR;)
        asked++;
    assert_int_equal(asked, 2);
    assert_int_equal(fire.at_ms, made_ms("2026-06-01T23:00Z"));
    assert_int_equal(csc_rules_previous(&rules, fire.at_ms, 10, &fire),
                     CSC_RULES_SO_FAR);
    assert_int_equal(fire.at_ms, made_ms("2026-06-01T13:00Z"));
    assert_int_equal(
        between(&rules, at_ms, at_ms + 96 * HOUR_MS, 10, fires, 4, &next_ms),
        0);
    assert_int_equal(next_ms, made_ms("2026-06-01T10:00Z") + 1);
    assert_int_equal(
        between(&rules, at_ms, at_ms + 96 * HOUR_MS, 30, fires, 4, &next_ms),
        1);
    assert_int_equal(next_ms, made_ms("2026-06-02T06:00Z") + 1);
    assert_int_equal(
        between(&rules, at_ms, at_ms + 96 * HOUR_MS, 23, fires, 4, &next_ms),
        1);
    assert_int_equal(next_ms, fires[0].at_ms + 1);
    assert_int_equal(
        between(&rules, at_ms, at_ms + 96 * HOUR_MS, 100, fires, 2, &next_ms),
        2);
    assert_int_equal(fires[1].at_ms, made_ms("2026-06-02T23:00Z"));
    assert_int_equal(next_ms, fires[1].at_ms + 1);
    csc_zone_free(zone);
}

static void
rules_without_a_source_never_fire(void **state)
{
    csc_zone *zone = made_zone("UTC", "UTC0");
    csc_rules rules = {.zone = zone};
    csc_rules_fire fire;

    (void)state;
    assert_int_equal(csc_rules_next(&rules, INT64_MIN, 1, &fire),
                     CSC_RULES_NONE);
    assert_int_equal(csc_rules_previous(&rules, INT64_MAX, 1, &fire),
                     CSC_RULES_NONE);
    assert_false(csc_rules_matches(&rules, 0));
    csc_zone_free(zone);
}

/* ---- The laws ------------------------------------------------------------ */

/* Whether anything fires at a second, by what the parts say. */
static bool
fires_by_parts(const csc_rules *rules, int64_t at_s)
{
    int64_t at_ms = at_s * 1000;
    int64_t local_s = at_s + csc_zone_at(rules->zone, at_s).offset_s;
    int64_t locals_s[64] = {local_s};
    size_t count = csc_interval_matches(&rules->intervals[0], at_ms);

    for (size_t i = 0; i < rules->cron_count; i++) {
        csc_dst_rule rule = {&rules->crons[i], rules->zone, rules->gap,
                             rules->fold};

        count += csc_dst_nominals(&rule, at_s, locals_s + count, 30);
    }
    for (size_t i = 0; i < count; i++) {
        const csc_cron *exclude = rules->exclude_crons;

        if (!csc_cron_matches(exclude, locals_s[i] - locals_s[i] % 60))
            return true;
    }
    return false;
}

static void
fires_are_the_union_less_the_excludes(void **state)
{
    static const char *const patterns[] = {"*/15 2 * * *", "30 * * * *",
                                           "0 0-3/2 * * *", "7 1,2,3 * * 7",
                                           "0 2 8 3 *"};
    static const char *const excludes[] = {"* 2 * * *", "0-20 * * * *",
                                           "30 1-3 * * *", "* * 31 2 *"};
    support_rng rng = support_rng_open("fires_are_the_union");
    csc_zone *zone = made_zone("Some/City", NEW_YORK);

    (void)state;
    for (int round = 0; round < 60; round++) {
        csc_cron crons[2] = {
            made_cron(patterns[support_rng_below(&rng, COUNT(patterns))]),
            made_cron(patterns[support_rng_below(&rng, COUNT(patterns))])};
        csc_cron exclude =
            made_cron(excludes[support_rng_below(&rng, COUNT(excludes))]);
        csc_interval interval;
        csc_rules rules = {.zone = zone,
                           .gap = (csc_dst_gap)support_rng_below(&rng, 3),
                           .fold = (csc_dst_fold)support_rng_below(&rng, 4),
                           .crons = crons,
                           .cron_count = 2,
                           .intervals = &interval,
                           .interval_count = 1,
                           .exclude_crons = &exclude,
                           .exclude_cron_count = 1};
        int64_t from_s =
            made_s(round % 2 ? "2026-03-08T03:00Z" : "2026-11-01T02:00Z");
        csc_rules_fire fire = {.at_ms = from_s * 1000 - 1};
        csc_rules_fire back;

        assert_int_equal(
            csc_interval_init(&interval, "every", 7 * HOUR_MS,
                              (int64_t)support_rng_below(&rng, 420) * 60000,
                              1000),
            CASCADE_OK);
        for (int64_t at_s = from_s; at_s < from_s + 43200; at_s += 60) {
            if (!fires_by_parts(&rules, at_s))
                continue;
            assert_int_equal(csc_rules_next(&rules, fire.at_ms, ENOUGH, &fire),
                             CSC_RULES_FOUND);
            assert_int_equal(fire.at_ms, at_s * 1000);
            assert_int_equal(
                csc_rules_previous(&rules, fire.at_ms + 1, ENOUGH, &back),
                CSC_RULES_FOUND);
            assert_int_equal(back.at_ms, fire.at_ms);
            assert_int_equal(back.local_s, fire.local_s);
        }
        assert_true(csc_rules_next(&rules, fire.at_ms, ENOUGH, &fire) !=
                        CSC_RULES_FOUND ||
                    fire.at_ms >= (from_s + 43200) * 1000);
    }
    csc_zone_free(zone);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_of_time_are_read),
        cmocka_unit_test(lengths_of_time_are_written_as_they_are_read),
        cmocka_unit_test(what_is_no_length_of_time_is_refused),
        cmocka_unit_test(intervals_are_bounded),
        cmocka_unit_test(intervals_go_on_from_their_anchor),
        cmocka_unit_test(intervals_end_with_the_years),
        cmocka_unit_test(calendars_have_days_and_ranges),
        cmocka_unit_test(days_of_each_year_may_go_over_new_year),
        cmocka_unit_test(a_calendar_may_be_empty),
        cmocka_unit_test(an_entry_alone_tells_what_days_it_has),
        cmocka_unit_test(what_is_no_day_is_refused_by_its_entry),
        cmocka_unit_test(a_calendar_of_any_size_is_bounded),
        cmocka_unit_test(rules_are_the_union_of_their_sources),
        cmocka_unit_test(excludes_are_matched_with_the_nominal_time),
        cmocka_unit_test(excludes_without_seconds_are_of_minutes),
        cmocka_unit_test(a_fire_stays_while_one_nominal_time_does),
        cmocka_unit_test(other_sources_stay_at_a_fire_that_is_excluded),
        cmocka_unit_test(sources_end_on_their_own),
        cmocka_unit_test(start_is_in_and_end_is_not),
        cmocka_unit_test(a_budget_that_ends_says_so_far),
        cmocka_unit_test(rules_without_a_source_never_fire),
        cmocka_unit_test(fires_are_the_union_less_the_excludes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
