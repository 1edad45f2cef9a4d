/* SPDX-License-Identifier: MIT
 *
 * Dates and their text.
 */
#include <string.h>
#include <time.h>

#include "base/support.h"
#include "time/civil.h"

/* ---- Dates --------------------------------------------------------------- */

/* Against the calendar itself, day by day: 1 January of year 1 was a Monday. */
static void
days_are_those_of_the_calendar(void **state)
{
    int64_t days = csc_civil_days(1, 1, 1);
    int weekday = 1;

    (void)state;
    assert_int_equal(days, -719162);
    for (int year = 1; year <= 2400; year++) {
        for (int month = 1; month <= 12; month++) {
            int last = csc_civil_month_days(year, month);

            for (int day = 1; day <= last; day++) {
                csc_civil civil = {0};

                assert_int_equal(csc_civil_days(year, month, day), days);
                csc_civil_date(days, &civil);
                assert_int_equal(civil.year, year);
                assert_int_equal(civil.month, month);
                assert_int_equal(civil.day, day);
                assert_int_equal(csc_civil_weekday(days), weekday);
                weekday = (weekday + 1) % 7;
                days++;
            }
        }
    }
}

static void
leap_years_are_those_of_gregory(void **state)
{
    (void)state;
    assert_true(csc_civil_is_leap(2024));
    assert_true(csc_civil_is_leap(2000));
    assert_true(csc_civil_is_leap(0));
    assert_false(csc_civil_is_leap(2026));
    assert_false(csc_civil_is_leap(1900));
    assert_false(csc_civil_is_leap(2100));
    assert_int_equal(csc_civil_month_days(2024, 2), 29);
    assert_int_equal(csc_civil_month_days(2100, 2), 28);
}

/* The C library's own, over the years that are promised. */
static void
seconds_are_those_of_the_c_library(void **state)
{
    support_rng rng = support_rng_open("seconds_are_those_of_the_c_library");

    (void)state;
    for (int i = 0; i < 100000; i++) {
        time_t at = (time_t)support_rng_below(&rng, UINT64_C(7258118400));
        struct tm tm;
        csc_civil civil;

        assert_non_null(gmtime_r(&at, &tm));
        csc_civil_split(at, &civil);
        assert_int_equal(civil.year, tm.tm_year + 1900);
        assert_int_equal(civil.month, tm.tm_mon + 1);
        assert_int_equal(civil.day, tm.tm_mday);
        assert_int_equal(civil.hour, tm.tm_hour);
        assert_int_equal(civil.minute, tm.tm_min);
        assert_int_equal(civil.second, tm.tm_sec);
        assert_int_equal(csc_civil_seconds(&civil), at);
    }
}

static void
seconds_before_1970_are_of_the_day_before(void **state)
{
    csc_civil civil;

    (void)state;
    csc_civil_split(-1, &civil);
    assert_int_equal(civil.year, 1969);
    assert_int_equal(civil.month, 12);
    assert_int_equal(civil.day, 31);
    assert_int_equal(civil.hour, 23);
    assert_int_equal(civil.second, 59);
    assert_int_equal(csc_civil_seconds(&civil), -1);
}

static void
the_years_of_int32_are_no_limit(void **state)
{
    static const int32_t years[] = {INT32_MIN, INT32_MIN + 1, -400, -1, 0,
                                    1,         INT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(years) / sizeof(years[0]); i++) {
        csc_civil civil;

        csc_civil_date(csc_civil_days(years[i], 12, 31), &civil);
        assert_int_equal(civil.year, years[i]);
        assert_int_equal(civil.month, 12);
        assert_int_equal(civil.day, 31);
    }
}

/* ---- Text ---------------------------------------------------------------- */

static void
texts_come_back_as_they_were(void **state)
{
    static const char *const texts[] = {
        "2026-11-01T01:30:00-04:00[America/New_York]",
        "2026-11-01T05:30:00.250+00:00",
        "2026-11-01T05:30:00.000001+00:00",
        "1883-11-18T12:03:58-04:56:02[America/New_York]",
        "0001-01-01T00:00:00",
        "9999-12-31T23:59:59.999999+25:59:59",
        "2024-02-29T00:00:00[Etc/GMT+5]",
    };
    char back[CSC_CIVIL_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        csc_civil_stamp stamp;

        assert_int_equal(csc_civil_parse("t", texts[i], &stamp), CASCADE_OK);
        assert_string_equal(csc_civil_format(&stamp, back), texts[i]);
    }
}

static void
short_forms_are_read(void **state)
{
    static const struct {
        const char *given;
        const char *is;
    } table[] = {
        {"2026-01-31 23:59", "2026-01-31T23:59:00"},
        {"2026-01-31T23:59Z", "2026-01-31T23:59:00+00:00"},
        {"2026-01-31T23:59:01.5Z", "2026-01-31T23:59:01.500+00:00"},
        {"2026-01-31T23:59:01.12345+01:00", "2026-01-31T23:59:01.123450+01:00"},
    };
    char back[CSC_CIVIL_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        csc_civil_stamp stamp;

        assert_int_equal(csc_civil_parse("t", table[i].given, &stamp),
                         CASCADE_OK);
        assert_string_equal(csc_civil_format(&stamp, back), table[i].is);
    }
}

static void
what_is_no_time_is_refused_by_its_byte(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } table[] = {
        {"", "no date"},
        {"tomorrow", "no date"},
        {"2026-02-29T00:00", "no date"},
        {"2026-13-01T00:00", "no date"},
        {"0000-01-01T00:00", "no date"},
        {"2026-00-01T00:00", "no date"},
        {"2026-01-00T00:00", "no date"},
        {"26-01-01T00:00", "no date"},
        {"2026-01-31", "byte 11"},
        {"2026-01-31T24:00", "byte 12"},
        {"2026-01-31T23:60", "byte 15"},
        {"2026-01-31T23:59:60", "byte 18"},
        {"2026-01-31T23:59:59.", "byte 21"},
        {"2026-01-31T23:59:59.1234567", "byte 27"},
        {"2026-01-31T23:59:59+1", "byte 21"},
        {"2026-01-31T23:59:59[", "byte 20"},
        {"2026-01-31T23:59:59[]", "byte 20"},
        {"2026-01-31T23:59:59Z ", "byte 21"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        csc_civil_stamp stamp = {.offset_s = 42};

        assert_int_equal(csc_civil_parse("start", table[i].text, &stamp),
                         CASCADE_ERR_INVALID);
        assert_int_equal(stamp.offset_s, 42);
        assert_non_null(strstr(cascade_errmsg(), "start: "));
        if (strstr(cascade_errmsg(), table[i].why) == NULL)
            fail_msg("%s: %s", table[i].text, cascade_errmsg());
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_are_those_of_the_calendar),
        cmocka_unit_test(leap_years_are_those_of_gregory),
        cmocka_unit_test(seconds_are_those_of_the_c_library),
        cmocka_unit_test(seconds_before_1970_are_of_the_day_before),
        cmocka_unit_test(the_years_of_int32_are_no_limit),
        cmocka_unit_test(texts_come_back_as_they_were),
        cmocka_unit_test(short_forms_are_read),
        cmocka_unit_test(what_is_no_time_is_refused_by_its_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
