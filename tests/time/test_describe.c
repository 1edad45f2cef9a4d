/* SPDX-License-Identifier: MIT
 *
 * Rules in plain English.
 */
#include <string.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "base/support.h"
#include "time/describe.h"
#include "time/made.h"
#include "time/pattern.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))

typedef struct told {
    const char *pattern;
    const char *text;
} told;

static void
check(const told *table, size_t count, csc_cron_dialect dialect)
{
    for (size_t i = 0; i < count; i++) {
        csc_cron cron;
        csc_buf out = {0};

        if (csc_cron_parse("cron", table[i].pattern, dialect, &cron) !=
            CASCADE_OK)
            fail_msg("%s: %s", table[i].pattern, cascade_errmsg());
        csc_describe_cron(&cron, &out);
        assert_false(out.failed);
        if (strcmp(out.data, table[i].text) != 0)
            fail_msg("%s:\n%s, not\n%s", table[i].pattern, out.data,
                     table[i].text);
        csc_buf_fini(&out);
    }
}

static const told ocps[] = {
    {"* * * * *", "every minute"},
    {"*/15 * * * *", "every 15 minutes"},
    {"*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every "
                    "hour"},
    {"5-59/15 * * * *", "at minutes 5, 20, 35 and 50 of every hour"},
    {"30 * * * *", "at minute 30 of every hour"},
    {"0 * * * *", "every hour"},
    {"0 */2 * * *", "every 2 hours"},
    {"0 1-23/2 * * *", "at minute 0 in every 2nd hour from 1 to 23"},
    {"30 */8 * * *", "at 00:30, 08:30 and 16:30 every day"},
    {"@daily", "at 00:00 every day"},
    {"@reboot", "once, at the start"},
    {"0 9 * * MON-FRI", "at 09:00, on Monday to Friday"},
    {"0 9 * * SAT,SUN", "at 09:00, on Saturday and Sunday"},
    {"0 9 * * 0,2-4", "at 09:00, on Tuesday to Thursday and Sunday"},
    {"0,30 9,17 * * *", "at 09:00, 09:30, 17:00 and 17:30 every day"},
    {"*/15 9-17 * * 1-5",
     "every 15 minutes from 09:00 to 17:59, on Monday to Friday"},
    {"* 0-8,20-23 * * *", "every minute in hours 0 to 8 and 20 to 23"},
    {"10-12 9-17 * * *", "at minutes 10 to 12 in hours 9 to 17"},
    {"0 0 1,2,15,20-25 * *",
     "at 00:00, on the 1st, 2nd, 15th and 20th to 25th of the month"},
    {"0 0 3,11,12,13,21,22,23,31 * *",
     "at 00:00, on the 3rd, 11th to 13th, 21st to 23rd and 31st of the month"},
    {"0 0 L * *", "at 00:00, on the last day of the month"},
    {"0 0 1,L * *", "at 00:00, on the 1st and the last day of the month"},
    {"0 12 15W * *",
     "at 12:00, on the working day nearest to the 15th of the month"},
    {"0 12 LW * *", "at 12:00, on the last working day of the month"},
    {"0 0 * * TUE#2", "at 00:00, on the second Tuesday of the month"},
    {"0 0 * * MON#1,FRI#L,WED",
     "at 00:00, on Wednesday, the first Monday of the month and the last "
     "Friday of the month"},
    {"0 12 13 * FRI", "at 12:00, on the 13th of the month or on Friday"},
    {"0 12 13 * +FRI",
     "at 12:00, on the 13th of the month where that is Friday"},
    {"0 12 1 * +MON,WED",
     "at 12:00, on the 1st of the month where that is Monday or Wednesday"},
    {"0 0 1 JAN,MAR-MAY *",
     "at 00:00, on the 1st of the month, in January and March to May"},
    {"0 0 * 6 *", "at 00:00 every day, in June"},
    {"0 0 31 2 *",
     "at 00:00, on the 31st of the month, in February, which never comes"},
    {"* * * * * *", "every second"},
    {"*/10 * * * * *", "every 10 seconds"},
    {"*/10 */5 * * * *",
     "every 10 seconds in every 5th minute from 0 to 55 of every hour"},
    {"30 * * * * *", "at second 30 of every minute"},
    {"5,7 30 * * * *", "at seconds 5 and 7 in minute 30 of every hour"},
    {"15 30 9 * * *", "at 09:30:15 every day"},
    {"* * 9 * * *", "every second from 09:00 to 09:59"},
    {"0 0 0 1 1 * 2027,2028-2030",
     "at 00:00, on the 1st of the month, in January, in 2027 to 2030"},
    {"0 0 0 1 1 * */2", "at 00:00, on the 1st of the month, in January, in "
                        "every 2nd year from 1970 to 2198"},
};

static const told quartz[] = {
    {"0 0/5 14 * * ?", "every 5 minutes from 14:00 to 14:59"},
    {"0 15 10 L-3 * ?",
     "at 10:15, on the 3rd day before the last of the month"},
    {"0 15 10 L-1W * ?",
     "at 10:15, on the working day nearest to the 1st day before "
     "the last of the month"},
    {"0 15 10 ? * 6#3", "at 10:15, on the third Friday of the month"},
};

static void
patterns_are_told_as_they_are_understood(void **state)
{
    (void)state;
    check(ocps, COUNT(ocps), CSC_CRON_OCPS);
    check(quartz, COUNT(quartz), CSC_CRON_QUARTZ);
}

static void
intervals_are_told_in_units(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } table[] = {{100, "every 100ms"},
                 {5400000, "every 1h30m"},
                 {90061001, "every 1d1h1m1s1ms"},
                 {604800000, "every 7d"}};

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        csc_interval interval;
        csc_buf out = {0};

        assert_int_equal(
            csc_interval_init(&interval, "every", table[i].ms, 0, 0),
            CASCADE_OK);
        csc_describe_interval(&interval, &out);
        assert_string_equal(out.data, table[i].text);
        csc_buf_fini(&out);
    }
}

static void
changes_of_the_clock_are_told(void **state)
{
    csc_cron cron;
    csc_dst_rule rule = {&cron, NULL, CSC_DST_GAP_SHIFT, CSC_DST_FOLD_BOTH};
    csc_buf out = {0};

    (void)state;
    assert_int_equal(csc_cron_parse("cron", "30 2 * * *", CSC_CRON_OCPS, &cron),
                     CASCADE_OK);
    csc_describe_changes(&rule, &out);
    assert_string_equal(out.data, "a time that clocks leave out: as much later "
                                  "as they leave out; one that they show "
                                  "twice: both");
    csc_buf_clear(&out);
    assert_int_equal(csc_cron_parse("cron", "30 * * * *", CSC_CRON_OCPS, &cron),
                     CASCADE_OK);
    csc_describe_changes(&rule, &out);
    assert_string_equal(out.data, "follows real time when clocks change");
    csc_buf_fini(&out);
}

/* Whatever is read can be told, and nothing leaks when memory ends. */
static void
any_pattern_can_be_told(void **state)
{
    support_rng rng = support_rng_open("any_pattern_can_be_told");
    size_t live = csc_mem_live();

    (void)state;
    for (int i = 0; i < 2000; i++) {
        pattern_model p;
        csc_cron cron;
        csc_buf out = {0};

        pattern_random(&rng, i % 2 == 0, i % 4 == 0, &p);
        assert_int_equal(csc_cron_parse("cron", p.text, CSC_CRON_OCPS, &cron),
                         CASCADE_OK);
        if (i % 5 == 0)
            (void)csc_mem_fail_at(1, 0);
        csc_describe_cron(&cron, &out);
        (void)csc_mem_fail_at(0, 0);
        assert_int_equal(out.failed, i % 5 == 0);
        assert_true(out.failed || strstr(out.data, "  ") == NULL);
        csc_buf_fini(&out);
        assert_int_equal(csc_mem_live(), live);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_told_as_they_are_understood),
        cmocka_unit_test(intervals_are_told_in_units),
        cmocka_unit_test(changes_of_the_clock_are_told),
        cmocka_unit_test(any_pattern_can_be_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
