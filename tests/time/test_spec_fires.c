/* SPDX-License-Identifier: MIT
 *
 * When specs fire, by the public calls: around changes of clocks, with
 * excludes, one instant and many.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/support.h"
#include "time/specs.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))
#define FIRES_MAX 12

/* ---- Fires --------------------------------------------------------------- */

typedef struct expected {
    const char *local;
    const char *nominal;
    cascade_spec_clock clock;
    size_t more; /* nominal times */
} expected;

typedef struct day {
    const char *text;
    const char *rule;
    const char *from;
    const char *to;
    expected fires[FIRES_MAX];
} day;

static void
check_fire(const cascade_spec_fire *fire, const expected *wanted)
{
    static const int64_t zero[4];

    assert_string_equal(fire->local, wanted->local);
    if (wanted->nominal != NULL)
        assert_string_equal(fire->nominal, wanted->nominal);
    else
        assert_memory_equal(fire->nominal, fire->local, strlen(fire->nominal));
    assert_int_equal(fire->clock, wanted->clock);
    assert_int_equal(fire->nominal_count, 1 + wanted->more);
    assert_int_equal(fire->at_ms, specs_ms(fire->local));
    assert_memory_equal(fire->reserved, zero, sizeof(zero));
}

/* The list, step by step and backwards, with what is said of each. */
static void
check_day(const day *d)
{
    cascade_spec *spec = specs_must(d->text, d->rule);
    cascade_spec_fire fires[FIRES_MAX];
    cascade_spec_fire fire = {.at_ms = specs_ms(d->from) - 1};
    cascade_spec_fire back = {.at_ms = specs_ms(d->to)};
    int64_t more_ms = 0;
    size_t count = 0;

    assert_int_equal(cascade_spec_list(spec, specs_ms(d->from), specs_ms(d->to),
                                       fires, FIRES_MAX, &count, &more_ms),
                     CASCADE_OK);
    assert_int_equal(more_ms, specs_ms(d->to));
    for (size_t i = 0; i < count; i++) {
        if (d->fires[i].local == NULL)
            fail_msg("%s: %s too many", d->text, fires[i].local);
        check_fire(&fires[i], &d->fires[i]);
        assert_int_equal(cascade_spec_next(spec, fire.at_ms, &fire),
                         CASCADE_OK);
        assert_memory_equal(&fire, &fires[i], sizeof(fire));
        assert_true(cascade_spec_matches(spec, fire.at_ms));
        assert_false(cascade_spec_matches(spec, fire.at_ms + 1));
    }
    for (size_t i = count; i > 0; i--) {
        assert_int_equal(cascade_spec_previous(spec, back.at_ms, &back),
                         CASCADE_OK);
        assert_memory_equal(&back, &fires[i - 1], sizeof(back));
    }
    if (count < FIRES_MAX && d->fires[count].local != NULL)
        fail_msg("%s: no %s", d->text, d->fires[count].local);
    cascade_spec_free(spec);
}

#define GAP CASCADE_SPEC_CLOCK_GAP
#define FOLD CASCADE_SPEC_CLOCK_FOLD
#define IN_NY "[America/New_York]"

static void
fires_tell_what_the_clocks_of_new_york_do(void **state)
{
    static const day days[] = {
        {OF("30 2 * * *", NY, ""),
         NEW_YORK,
         "2026-03-07T00:00-05:00",
         "2026-03-10T00:00-04:00",
         {{"2026-03-07T02:30:00-05:00" IN_NY, NULL, 0, 0},
          {"2026-03-08T03:00:00-04:00" IN_NY, "2026-03-08T02:30:00", GAP, 0},
          {"2026-03-09T02:30:00-04:00" IN_NY, NULL, 0, 0}}},
        {OF("30 2 * * *", NY, ",\"dst_gap\":\"shift\""),
         NEW_YORK,
         "2026-03-08T00:00-05:00",
         "2026-03-09T00:00-04:00",
         {{"2026-03-08T03:30:00-04:00" IN_NY, "2026-03-08T02:30:00", GAP, 0}}},
        {OF("30 2 * * *", NY, ",\"dst_gap\":\"skip\""),
         NEW_YORK,
         "2026-03-08T00:00-05:00",
         "2026-03-09T00:00-04:00",
         {{NULL, NULL, 0, 0}}},
        {OF("30 1 * * *", NY, ""),
         NEW_YORK,
         "2026-11-01T00:00-04:00",
         "2026-11-03T00:00-05:00",
         {{"2026-11-01T01:30:00-04:00" IN_NY, NULL, FOLD, 0},
          {"2026-11-02T01:30:00-05:00" IN_NY, NULL, 0, 0}}},
        {OF("30 1 * * *", NY, ",\"dst_fold\":\"last\""),
         NEW_YORK,
         "2026-11-01T00:00-04:00",
         "2026-11-02T00:00-05:00",
         {{"2026-11-01T01:30:00-05:00" IN_NY, NULL, FOLD, 0}}},
        {OF("30 1 * * *", NY, ",\"dst_fold\":\"both\""),
         NEW_YORK,
         "2026-11-01T00:00-04:00",
         "2026-11-02T00:00-05:00",
         {{"2026-11-01T01:30:00-04:00" IN_NY, NULL, FOLD, 0},
          {"2026-11-01T01:30:00-05:00" IN_NY, NULL, FOLD, 0}}},
        {OF("30 1 * * *", NY, ",\"dst_fold\":\"none\""),
         NEW_YORK,
         "2026-11-01T00:00-04:00",
         "2026-11-02T00:00-05:00",
         {{NULL, NULL, 0, 0}}},
        {"{\"every\":\"30m\",\"zone\":\"" NY "\"}",
         NEW_YORK,
         "2026-11-01T01:30-04:00",
         "2026-11-01T02:30-05:00",
         {{"2026-11-01T01:30:00-04:00" IN_NY, NULL, FOLD, 0},
          {"2026-11-01T01:00:00-05:00" IN_NY, NULL, FOLD, 0},
          {"2026-11-01T01:30:00-05:00" IN_NY, NULL, FOLD, 0},
          {"2026-11-01T02:00:00-05:00" IN_NY, NULL, 0, 0}}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(days); i++)
        check_day(&days[i]);
}

/* What clocks leave out falls together with what they show behind it. */
static void
a_fire_tells_how_many_times_it_stands_for(void **state)
{
#define MERGED(cron, more)                                  \
    OF(cron, NY, more), NEW_YORK, "2026-03-08T00:00-05:00", \
        "2026-03-08T03:20-04:00"
#define AT_THREE "2026-03-08T03:00:00-04:00" IN_NY
    static const day days[] = {
        {MERGED("0,30 2-3 * * *", ""),
         {{AT_THREE, "2026-03-08T02:00:00", GAP, 2}}},
        {MERGED("* * 2,3 * * *", ",\"end\":\"2026-03-08T03:00:01-04:00\""),
         {{AT_THREE, "2026-03-08T02:00:00", GAP, 3600}}},
        {MERGED("0,30 2-3 * * *", ",\"exclude_cron\":\"0 2 * * *\""),
         {{AT_THREE, "2026-03-08T02:30:00", GAP, 1}}},
        {MERGED("0,30 2-3 * * *", ",\"exclude_cron\":\"30 2 * * *\""),
         {{AT_THREE, "2026-03-08T02:00:00", GAP, 1}}},
        {MERGED("0,30 2-3 * * *", ",\"exclude_cron\":\"* 2 * * *\""),
         {{AT_THREE, NULL, 0, 0}}},
        {MERGED("0,20 2-3 * * *", ",\"dst_gap\":\"shift\""),
         {{AT_THREE, "2026-03-08T02:00:00", GAP, 1}}},
        {MERGED("0,30 2-3 * * *", ",\"dst_gap\":\"skip\""),
         {{AT_THREE, NULL, 0, 0}}},
        {MERGED("0 * * * *", ",\"start\":\"2026-03-08T01:30-05:00\""),
         {{AT_THREE, NULL, 0, 0}}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(days); i++)
        check_day(&days[i]);
}

/* Each entry has its own; the first of those at an instant is told. */
static void
nominal_times_are_those_of_an_entry(void **state)
{
    cascade_spec *spec = specs_must(
        "{\"cron\":[\"0 3 * * *\",\"0,30 2 * * *\"],\"zone\":\"" NY "\"}",
        NEW_YORK);
    cascade_spec_fire fire;

    (void)state;
    assert_int_equal(
        cascade_spec_next(spec, specs_ms("2026-03-08T00:00-05:00"), &fire),
        CASCADE_OK);
    assert_int_equal(fire.entry, 0);
    assert_int_equal(fire.nominal_count, 1);
    assert_int_equal(fire.clock, CASCADE_SPEC_CLOCK_ONCE);
    assert_string_equal(fire.nominal, "2026-03-08T03:00:00");
    cascade_spec_free(spec);
}

static void
fires_tell_what_other_clocks_do(void **state)
{
    static const day days[] = {
        {OF("15 2 * * *", "Australia/Lord_Howe", ""),
         LORD_HOWE,
         "2026-10-04T00:00+10:30",
         "2026-10-05T00:00+11:00",
         {{"2026-10-04T02:30:00+11:00[Australia/Lord_Howe]",
           "2026-10-04T02:15:00", GAP, 0}}},
        {OF("45 1 * * *", "Australia/Lord_Howe", ",\"dst_fold\":\"both\""),
         LORD_HOWE,
         "2026-04-05T00:00+11:00",
         "2026-04-06T00:00+10:30",
         {{"2026-04-05T01:45:00+11:00[Australia/Lord_Howe]", NULL, FOLD, 0},
          {"2026-04-05T01:45:00+10:30[Australia/Lord_Howe]", NULL, FOLD, 0}}},
        {OF("30 2 * * *", "Antarctica/Troll", ",\"dst_gap\":\"shift\""),
         TROLL,
         "2026-03-29T00:00+00:00",
         "2026-03-30T00:00+02:00",
         {{"2026-03-29T04:30:00+02:00[Antarctica/Troll]", "2026-03-29T02:30:00",
           GAP, 0}}},
        {OF("30 1,2 * * *", "Antarctica/Troll", ""),
         TROLL,
         "2026-03-29T00:00+00:00",
         "2026-03-30T00:00+02:00",
         {{"2026-03-29T03:00:00+02:00[Antarctica/Troll]", "2026-03-29T01:30:00",
           GAP, 1}}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(days); i++)
        check_day(&days[i]);
}

/* Samoa went from 29 to 31 December 2011. */
static void
a_day_that_never_was_has_no_fire(void **state)
{
    static const made_kind kinds[] = {{-36000, 1, "-10"}, {50400, 1, "+14"}};
    static const made_change changes[] = {{1325239200, 1}};
    made_file file = {'2', kinds, 2, changes, 1, ""};
    uint8_t bytes[MADE_SIZE];
    cascade_spec_options options = {.size = sizeof(options),
                                    .zone_bytes = bytes,
                                    .zone_len = made_bytes(&file, bytes)};
    cascade_spec *spec = NULL;
    cascade_spec_fire fire;

    (void)state;
    assert_int_equal(cascade_spec_create(OF("0 12 * * *", "Pacific/Apia", ""),
                                         &options, &spec),
                     CASCADE_OK);
    assert_int_equal(
        cascade_spec_next(spec, specs_ms("2011-12-29T12:00-10:00"), &fire),
        CASCADE_OK);
    assert_string_equal(fire.local, "2011-12-31T12:00:00+14:00[Pacific/Apia]");
    assert_int_equal(fire.clock, CASCADE_SPEC_CLOCK_ONCE);
    cascade_spec_free(spec);
}

static void
a_fire_tells_its_source_and_milliseconds(void **state)
{
    cascade_spec *spec =
        specs_must("{\"cron\":[\"0 9 * * *\",\"0 10 * * *\"],\"every\":[\"1d\","
                   "{\"every\":\"1d\",\"phase\":\"11h250ms\"}],"
                   "\"at\":[\"2026-01-01T12:00Z\",\"2026-01-01T11:30Z\"]}",
                   NULL);
    static const struct {
        const char *nominal;
        cascade_spec_source source;
        size_t entry;
    } wanted[] = {
        {"2026-01-01T00:00:00", CASCADE_SPEC_SOURCE_EVERY, 0},
        {"2026-01-01T09:00:00", CASCADE_SPEC_SOURCE_CRON, 0},
        {"2026-01-01T10:00:00", CASCADE_SPEC_SOURCE_CRON, 1},
        {"2026-01-01T11:00:00.250", CASCADE_SPEC_SOURCE_EVERY, 1},
        {"2026-01-01T11:30:00", CASCADE_SPEC_SOURCE_AT, 0},
        {"2026-01-01T12:00:00", CASCADE_SPEC_SOURCE_AT, 1},
    };
    cascade_spec_fire fire = {.at_ms = specs_ms("2026-01-01T00:00Z") - 1};

    (void)state;
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_int_equal(cascade_spec_next(spec, fire.at_ms, &fire),
                         CASCADE_OK);
        assert_string_equal(fire.nominal, wanted[i].nominal);
        assert_int_equal(fire.source, wanted[i].source);
        assert_int_equal(fire.entry, wanted[i].entry);
    }
    cascade_spec_free(spec);
}

static void
patterns_that_never_match_keep_their_place(void **state)
{
    cascade_spec *spec =
        specs_must("{\"cron\":[\"0 0 31 2 *\",\"0 9 * * *\"]}", NULL);
    cascade_spec_fire fire;

    (void)state;
    assert_int_equal(cascade_spec_next(spec, 0, &fire), CASCADE_OK);
    assert_string_equal(fire.nominal, "1970-01-01T09:00:00");
    assert_int_equal(fire.entry, 1);
    cascade_spec_free(spec);
}

static void
a_spec_that_never_fires_says_so(void **state)
{
    static const char *const never[] = {
        "{\"cron\":\"0 0 31 2 *\"}",
        "{\"at\":\"2026-01-01T00:00Z\",\"end\":\"2025-01-01T00:00Z\"}",
        "{\"at\":\"2026-01-01T00:00Z\",\"exclude_days\":\"--01-01\"}",
        "{\"at\":\"2026-01-01T00:00Z\",\"start\":\"2026-01-01T00:00:00.001Z\"}",
    };
    cascade_spec_fire fire = {.at_ms = 42};

    (void)state;
    for (size_t i = 0; i < COUNT(never); i++) {
        cascade_spec *spec = specs_must(never[i], NULL);

        assert_int_equal(cascade_spec_next(spec, INT64_MIN, &fire),
                         CASCADE_ERR_NOT_FOUND);
        assert_non_null(strstr(cascade_errmsg(), "never fires"));
        assert_int_equal(cascade_spec_previous(spec, INT64_MAX, &fire),
                         CASCADE_ERR_NOT_FOUND);
        assert_int_equal(fire.at_ms, 42);
        cascade_spec_free(spec);
    }
}

static void
excludes_that_leave_nothing_say_so_far(void **state)
{
    cascade_spec *spec = specs_must(
        "{\"every\":\"1s\",\"exclude_days\":\"2026-01-01/2026-01-03\"}", NULL);
    int64_t from_ms = specs_ms("2026-01-01T00:00Z");
    cascade_spec_fire fire = {.at_ms = from_ms - 1};
    cascade_err err = CASCADE_ERR_AGAIN;
    int64_t more_ms = 0;
    size_t count = 9;
    int asked = 0;

    (void)state;
    assert_int_equal(
        cascade_spec_list(spec, from_ms, INT64_MAX, &fire, 1, &count, &more_ms),
        CASCADE_OK);
    assert_int_equal(count, 0);
    assert_true(more_ms > from_ms && more_ms < specs_ms("2026-01-04T00:00Z"));
    for (; err == CASCADE_ERR_AGAIN; asked++) {
        int64_t was_ms = fire.at_ms;

        err = cascade_spec_next(spec, was_ms, &fire);
        assert_true(fire.at_ms > was_ms);
        assert_true(err == CASCADE_OK || fire.local[0] == '\0');
    }
    assert_int_equal(err, CASCADE_OK);
    assert_int_equal(fire.at_ms, specs_ms("2026-01-04T00:00Z"));
    assert_in_range(asked, 10, 100);
    assert_int_equal(cascade_spec_previous(spec, fire.at_ms, &fire),
                     CASCADE_ERR_AGAIN);
    assert_true(fire.at_ms < specs_ms("2026-01-04T00:00Z"));
    cascade_spec_free(spec);
}

static void
a_list_may_be_long_and_goes_on(void **state)
{
    char *more = support_repeat(",\"1s\"", CASCADE_SPEC_EVERY_MAX - 1);
    char text[CASCADE_SPEC_EVERY_MAX * 8];
    cascade_spec_fire *fires =
        calloc(CASCADE_SPEC_LIST_MAX + 1, sizeof(cascade_spec_fire));
    cascade_spec *spec;
    int64_t more_ms = 0;
    size_t count = 0;

    (void)state;
    assert_non_null(fires);
    snprintf(text, sizeof(text), "{\"every\":[\"1s\"%s]}", more);
    csc_mem_free(more);
    spec = specs_must(text, NULL);
    assert_int_equal(cascade_spec_list(spec, 0, INT64_MAX, fires,
                                       CASCADE_SPEC_LIST_MAX + 1, &count,
                                       &more_ms),
                     CASCADE_OK);
    assert_int_equal(count, CASCADE_SPEC_LIST_MAX);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fires[i].at_ms, (int64_t)i * 1000);
    assert_int_equal(more_ms, fires[count - 1].at_ms + 1);
    assert_int_equal(cascade_spec_list(spec, more_ms, more_ms + 129000, fires,
                                       200, &count, &more_ms),
                     CASCADE_OK);
    assert_int_equal(count, 129);
    assert_int_equal(cascade_spec_list(spec, 5, 5, NULL, 0, &count, NULL),
                     CASCADE_OK);
    assert_int_equal(count, 0);
    free(fires);
    cascade_spec_free(spec);
}

static void
an_instant_is_explained(void **state)
{
    static const struct {
        const char *at;
        cascade_spec_why why;
        size_t entry;
        const char *text;
    } table[] = {
        {"2026-06-01T09:00Z", CASCADE_SPEC_FIRES, 0, "it fires"},
        {"2026-06-01T09:01Z", CASCADE_SPEC_NO_SOURCE, 0, "no pattern"},
        {"2025-12-31T09:00Z", CASCADE_SPEC_BEFORE_START, 0,
         "before the start, 2026-01-01T00:00:00+00:00"},
        {"2027-01-01T00:00Z", CASCADE_SPEC_BEHIND_END, 0,
         "at the end or behind it, 2027-01-01T00:00:00+00:00"},
        {"2026-06-07T09:00Z", CASCADE_SPEC_EXCLUDED_BY_CRON, 1,
         "entry 2 of exclude_cron"},
        {"2026-12-25T09:00Z", CASCADE_SPEC_EXCLUDED_BY_DAYS, 1,
         "entry 2 of exclude_days"},
    };
    cascade_spec *spec =
        specs_must("{\"cron\":\"0 9 * * *\",\"start\":\"2026-01-01T00:00Z\","
                   "\"end\":\"2027-01-01T00:00Z\",\"exclude_days\":"
                   "[\"--12-23\",\"--12-24/--12-26\",\"--12-25\"],"
                   "\"exclude_cron\":[\"* * * * SAT\",\"* * * * SUN\"]}",
                   NULL);
    cascade_spec_answer answer;

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        assert_int_equal(
            cascade_spec_explain(spec, specs_ms(table[i].at), &answer),
            CASCADE_OK);
        assert_int_equal(answer.why, table[i].why);
        assert_int_equal(answer.entry, table[i].entry);
        if (strstr(answer.text, table[i].text) == NULL)
            fail_msg("%s: %s", table[i].at, answer.text);
        assert_int_equal(cascade_spec_matches(spec, specs_ms(table[i].at)),
                         table[i].why == CASCADE_SPEC_FIRES);
    }
    assert_int_equal(cascade_spec_explain(spec, INT64_MIN, &answer),
                     CASCADE_OK);
    assert_int_equal(cascade_spec_explain(spec, INT64_MAX, &answer),
                     CASCADE_OK);
    assert_int_equal(answer.why, CASCADE_SPEC_BEHIND_END);
    cascade_spec_free(spec);
}

static void
years_end_where_specs_do(void **state)
{
    cascade_spec *spec =
        specs_must("{\"every\":\"1d\",\"end\":\"2200-01-01T00:00Z\"}", NULL);
    cascade_spec_answer answer;
    cascade_spec_fire fire;

    (void)state;
    assert_int_equal(cascade_spec_previous(spec, INT64_MAX, &fire), CASCADE_OK);
    assert_string_equal(fire.nominal, "2199-12-31T00:00:00");
    assert_int_equal(cascade_spec_explain(spec, -1, &answer), CASCADE_OK);
    assert_int_equal(answer.why, CASCADE_SPEC_BEFORE_START);
    assert_string_equal(answer.text, "nothing fires before the year 1970");
    cascade_spec_free(spec);
}

static void
null_is_refused_everywhere(void **state)
{
    cascade_spec *spec = specs_must("{\"at\":5}", NULL);
    cascade_spec_answer answer;
    cascade_spec_fire fire;
    char *text = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(cascade_spec_next(NULL, 0, &fire), CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_next(spec, 0, NULL), CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_previous(NULL, 0, &fire),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_previous(spec, 0, NULL), CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_list(NULL, 0, 9, &fire, 1, &count, NULL),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_list(spec, 0, 9, NULL, 1, &count, NULL),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_list(spec, 0, 9, &fire, 1, NULL, NULL),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_explain(NULL, 0, &answer),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_explain(spec, 0, NULL), CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_describe(NULL, &text), CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_describe(spec, NULL), CASCADE_ERR_INVALID);
    assert_false(cascade_spec_matches(NULL, 5));
    assert_null(text);
    cascade_spec_free(spec);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_tell_what_the_clocks_of_new_york_do),
        cmocka_unit_test(a_fire_tells_how_many_times_it_stands_for),
        cmocka_unit_test(nominal_times_are_those_of_an_entry),
        cmocka_unit_test(fires_tell_what_other_clocks_do),
        cmocka_unit_test(a_day_that_never_was_has_no_fire),
        cmocka_unit_test(a_fire_tells_its_source_and_milliseconds),
        cmocka_unit_test(patterns_that_never_match_keep_their_place),
        cmocka_unit_test(a_spec_that_never_fires_says_so),
        cmocka_unit_test(excludes_that_leave_nothing_say_so_far),
        cmocka_unit_test(a_list_may_be_long_and_goes_on),
        cmocka_unit_test(an_instant_is_explained),
        cmocka_unit_test(years_end_where_specs_do),
        cmocka_unit_test(null_is_refused_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
