/* SPDX-License-Identifier: MIT
 *
 * Patterns: what is read and refused, by the sentences of the standard and by
 * Quartz' documentation; which local times match, by tables, and by a model on
 * random patterns (pattern.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/support.h"
#include "time/cron.h"
#include "time/made.h"
#include "time/pattern.h"

#define MATCHES_MAX 8

/* From a time on (not including it), the matches; NULL where there are no
 * more. */
typedef struct matches {
    const char *pattern;
    const char *after;
    const char *are[MATCHES_MAX];
} matches;

static csc_cron
parsed(const char *pattern, csc_cron_dialect dialect)
{
    csc_cron cron;

    if (csc_cron_parse("cron", pattern, dialect, &cron) != CASCADE_OK)
        fail_msg("%s: %s", pattern, cascade_errmsg());
    return cron;
}

static void
fail_match(const char *pattern, const char *is, int64_t local_s)
{
    csc_civil_stamp stamp = {0};
    char text[CSC_CIVIL_TEXT_SIZE];

    csc_civil_split(local_s, &stamp.civil);
    fail_msg("%s: %s, not %s", pattern, csc_civil_format(&stamp, text), is);
}

/* Forwards, and the same way back. */
static void
check_matches(const matches *m, csc_cron_dialect dialect)
{
    csc_cron cron = parsed(m->pattern, dialect);
    int64_t at_s = made_s(m->after);

    for (size_t i = 0; i < MATCHES_MAX && m->are[i] != NULL; i++) {
        int64_t was_s = at_s;
        int64_t back_s = 0;

        if (!csc_cron_next(&cron, was_s, &at_s))
            fail_msg("%s: none after %" PRId64, m->pattern, was_s);
        if (at_s != made_s(m->are[i]))
            fail_match(m->pattern, m->are[i], at_s);
        assert_true(csc_cron_matches(&cron, at_s));
        assert_true(csc_cron_previous(&cron, at_s + 1, &back_s));
        assert_int_equal(back_s, at_s);
        if (i > 0) {
            assert_true(csc_cron_previous(&cron, at_s, &back_s));
            assert_int_equal(back_s, was_s);
        }
    }
}

static void
check_all(const matches *table, size_t count, csc_cron_dialect dialect)
{
    for (size_t i = 0; i < count; i++)
        check_matches(&table[i], dialect);
}

static void
check_never(const char *pattern, csc_cron_dialect dialect)
{
    csc_cron cron = parsed(pattern, dialect);
    int64_t at_s = 42;

    if (csc_cron_next(&cron, INT64_MIN, &at_s) ||
        csc_cron_previous(&cron, INT64_MAX, &at_s))
        fail_match(pattern, "never", at_s);
    assert_int_equal(at_s, 42);
    assert_true(cron.is_never);
}

typedef struct refused {
    const char *pattern;
    const char *why; /* "field, byte n" */
} refused;

static void
check_refused(const refused *table, size_t count, csc_cron_dialect dialect)
{
    for (size_t i = 0; i < count; i++) {
        csc_cron cron = {.minutes = 42};

        if (csc_cron_parse("cron", table[i].pattern, dialect, &cron) !=
            CASCADE_ERR_INVALID)
            fail_msg("accepts '%s'", table[i].pattern);
        if (strstr(cascade_errmsg(), table[i].why) == NULL ||
            strncmp(cascade_errmsg(), "cron: ", 6) != 0)
            fail_msg("'%s' for another reason than '%s': %s", table[i].pattern,
                     table[i].why, cascade_errmsg());
        assert_int_equal(cron.minutes, 42);
    }
}

#define COUNT(table) (sizeof(table) / sizeof(table[0]))

/* ---- OCPS 1.0 ------------------------------------------------------------ */

static const matches ocps_1_0_matches_table[] = {
    {"0 0 * * *", "2026-01-01 00:00", {"2026-01-02 00:00", "2026-01-03 00:00"}},
    {"  0\t0 \t *    *     *  ", "2026-01-01 00:00", {"2026-01-02 00:00"}},
    {"* * * * *", "2026-01-01 00:00:59", {"2026-01-01 00:01"}},
    {"0,15,30,45 * * * *",
     "2025-01-01 10:59",
     {"2025-01-01 11:00", "2025-01-01 11:15", "2025-01-01 11:30",
      "2025-01-01 11:45", "2025-01-01 12:00"}},
    {"0 9-11 * * *",
     "2026-01-01 09:30",
     {"2026-01-01 10:00", "2026-01-01 11:00", "2026-01-02 09:00"}},
    {"5-59/15 * * * *",
     "2026-01-01 00:00",
     {"2026-01-01 00:05", "2026-01-01 00:20", "2026-01-01 00:35",
      "2026-01-01 00:50", "2026-01-01 01:05"}},
    {"0 0-20/5 * * *",
     "2026-01-01 00:30",
     {"2026-01-01 05:00", "2026-01-01 10:00", "2026-01-01 15:00",
      "2026-01-01 20:00", "2026-01-02 00:00"}},
    {"0 1-3,10-12,*/20 * * *",
     "2026-01-01 03:00",
     {"2026-01-01 10:00", "2026-01-01 11:00", "2026-01-01 12:00",
      "2026-01-01 20:00", "2026-01-02 00:00"}},
    {"0 0 31 * *",
     "2026-01-31 00:00",
     {"2026-03-31 00:00", "2026-05-31 00:00", "2026-07-31 00:00",
      "2026-08-31 00:00"}},
    {"0 0 29 2 *",
     "2026-01-01 00:00",
     {"2028-02-29 00:00", "2032-02-29 00:00"}},
    {"0 0 29 FEB *", "2096-03-01 00:00", {"2104-02-29 00:00"}},
    {"0 0 1 jan,Jul *",
     "2026-01-01 00:00",
     {"2026-07-01 00:00", "2027-01-01 00:00"}},
    {"0 0 * * 0", "2026-01-01 00:00", {"2026-01-04 00:00", "2026-01-11 00:00"}},
    {"0 0 * * 7", "2026-01-01 00:00", {"2026-01-04 00:00", "2026-01-11 00:00"}},
    {"0 0 * * sun", "2026-01-01 00:00", {"2026-01-04 00:00"}},
    {"0 0 * * 5-7",
     "2026-01-01 00:00",
     {"2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00",
      "2026-01-09 00:00"}},
    {"0 0 * * FRI-SUN",
     "2026-01-01 00:00",
     {"2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00",
      "2026-01-09 00:00"}},
    {"0 0 * * SUN-MON",
     "2026-01-01 00:00",
     {"2026-01-04 00:00", "2026-01-05 00:00", "2026-01-11 00:00"}},
    {"0 0 * * MON-FRI/2",
     "2026-01-01 00:00",
     {"2026-01-02 00:00", "2026-01-05 00:00", "2026-01-07 00:00"}},
    {"0 0 * * 1-7/3",
     "2026-01-01 00:00",
     {"2026-01-04 00:00", "2026-01-05 00:00", "2026-01-08 00:00"}},
    {"0 0 * * */7",
     "2026-01-01 00:00",
     {"2026-01-04 00:00", "2026-01-11 00:00"}},
    {"*/60 */24 * * *", "2026-01-01 00:00", {"2026-01-02 00:00"}},
    {"00005 007 * * *", "2026-01-01 00:00", {"2026-01-01 07:05"}},
};

static void
ocps_1_0_matches(void **state)
{
    (void)state;
    check_all(ocps_1_0_matches_table, COUNT(ocps_1_0_matches_table),
              CSC_CRON_OCPS);
    check_never("0 0 31 2 *", CSC_CRON_OCPS);
    check_never("* * 30-31 FEB *", CSC_CRON_OCPS);
    check_never("0 0 31 4,6,9,11 *", CSC_CRON_OCPS);
}

/* 6.1: either day field; a field is restricted unless it is "*". */
static void
day_fields_are_either_or(void **state)
{
    static const matches table[] = {
        {"0 12 1 * MON",
         "2026-06-27 00:00",
         {"2026-06-29 12:00", "2026-07-01 12:00", "2026-07-06 12:00"}},
        {"0 12 31 2 MON",
         "2026-01-01 00:00",
         {"2026-02-02 12:00", "2026-02-09 12:00"}},
        {"0 12 */2 * MON",
         "2026-06-27 00:00",
         {"2026-06-27 12:00", "2026-06-29 12:00", "2026-07-01 12:00",
          "2026-07-03 12:00", "2026-07-05 12:00", "2026-07-06 12:00"}},
        {"0 12 1-31 * MON",
         "2026-06-27 13:00",
         {"2026-06-28 12:00", "2026-06-29 12:00"}},
        {"0 12 1 * *",
         "2026-06-27 00:00",
         {"2026-07-01 12:00", "2026-08-01 12:00"}},
        {"0 12 * * MON",
         "2026-06-27 00:00",
         {"2026-06-29 12:00", "2026-07-06 12:00"}},
    };

    (void)state;
    check_all(table, COUNT(table), CSC_CRON_OCPS);
}

static const refused ocps_1_0_refuses_by_field_and_byte_table[] = {
    {"60 * * * *", "minute field, byte 1: "},
    {"0 24 * * *", "hour field, byte 3: "},
    {"0 0 32 * *", "day of month field, byte 5: "},
    {"0 0 0 * *", "day of month field, byte 5: "},
    {"0 0 1 13 *", "month field, byte 7: "},
    {"0 0 1 0 *", "month field, byte 7: "},
    {"0 0 * * 8", "day of week field, byte 9: "},
    {"0 17-9 * * *", "hour field, byte 6: the range ends"},
    {"0 0 * * FRI-MON", "day of week field, byte 13: the range ends"},
    {"0 */0 * * *", "hour field, byte 5: a step is at least 1"},
    {"1-5/0 * * * *", "minute field, byte 5: a step is at least 1"},
    {"10/10 * * * *", "minute field, byte 3: a step stands behind"},
    {"0/15 * * * *", "minute field, byte 2: a step stands behind"},
    {"/30 * * * *", "minute field, byte 1: "},
    {"*/ * * * *", "minute field, byte 3: there is no number"},
    {"*/2/3 * * * *", "minute field, byte 4: "},
    {"*/90 * * * *", "minute field, byte 3: a step may not"},
    {"* */25 * * *", "hour field, byte 5: a step may not"},
    {"* * * * */8", "day of week field, byte 11: a step may not"},
    {"5, * * * *", "minute field, byte 3: "},
    {",5 * * * *", "minute field, byte 1: "},
    {"5,,6 * * * *", "minute field, byte 3: "},
    {"1- * * * *", "minute field, byte 3: "},
    {"-1 * * * *", "minute field, byte 1: "},
    {"1-2-3 * * * *", "minute field, byte 4: "},
    {"*5 * * * *", "minute field, byte 2: "},
    {"5* * * * *", "minute field, byte 2: "},
    {"** * * * *", "minute field, byte 2: "},
    {"*-5 * * * *", "minute field, byte 2: "},
    {"0x1 * * * *", "minute field, byte 2: "},
    {"1.5 * * * *", "minute field, byte 2: "},
    {"MON * * * *", "minute field, byte 1: "},
    {"* * * * MONDAY", "day of week field, byte 12: "},
    {"* * * JANUARY *", "month field, byte 10: "},
    {"* * * MON *", "month field, byte 7: "},
    {"* * * * JA", "day of week field, byte 9: "},
    {"99999999999999999999 * * * *", "minute field, byte 1: "},
    {"0 0 * * *\n", "day of week field, byte 10: "},
    {"0 0 * * \xc3\xa9", "day of week field, byte 9: "},
    {"", "5 fields"},
    {" \t ", "5 fields"},
    {"* * * *", "5 fields"},
    {"* * * * * * * *", "5 fields"},
    {"every five minutes, please", "5 fields"},
};

static void
ocps_1_0_refuses_by_field_and_byte(void **state)
{
    char *text = support_repeat("* ", 600);
    csc_cron cron;

    (void)state;
    check_refused(ocps_1_0_refuses_by_field_and_byte_table,
                  COUNT(ocps_1_0_refuses_by_field_and_byte_table),
                  CSC_CRON_OCPS);
    assert_int_equal(csc_cron_parse("cron", text, CSC_CRON_OCPS, &cron),
                     CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "at most 1024 bytes"));
    csc_mem_free(text);
}

/* ---- OCPS 1.1 ------------------------------------------------------------ */

static void
ocps_1_1_has_nicknames(void **state)
{
    static const matches table[] = {
        {"@yearly",
         "2026-06-15 12:30",
         {"2027-01-01 00:00", "2028-01-01 00:00"}},
        {"@annually", "2026-06-15 12:30", {"2027-01-01 00:00"}},
        {"@monthly",
         "2026-06-15 12:30",
         {"2026-07-01 00:00", "2026-08-01 00:00"}},
        {"@weekly",
         "2026-06-15 12:30",
         {"2026-06-21 00:00", "2026-06-28 00:00"}},
        {"@daily", "2026-06-15 12:30", {"2026-06-16 00:00"}},
        {"@midnight", "2026-06-15 12:30", {"2026-06-16 00:00"}},
        {"@hourly",
         "2026-06-15 12:30",
         {"2026-06-15 13:00", "2026-06-15 14:00"}},
        {" \t@hourly\t ", "2026-06-15 12:30", {"2026-06-15 13:00"}},
    };
    static const refused bad[] = {
        {"@YEARLY", "byte 1: the names"},  {"  @Yearly", "byte 3: the names"},
        {"@unknown", "byte 1: the names"}, {"@", "byte 1: the names"},
        {"@daily *", "byte 1: the names"}, {"@daily * * * *", "the names"},
        {"@dailyx", "byte 1: the names"},  {"* @daily * * *", "hour field, "},
    };
    csc_cron cron = parsed("@reboot", CSC_CRON_OCPS);

    (void)state;
    check_all(table, COUNT(table), CSC_CRON_OCPS);
    check_refused(bad, COUNT(bad), CSC_CRON_OCPS);
    assert_true(cron.is_reboot && cron.is_never);
    assert_false(csc_cron_matches(&cron, 0));
    check_never("@reboot", CSC_CRON_OCPS);
}

/* ---- OCPS 1.2 ------------------------------------------------------------ */

static void
ocps_1_2_has_seconds_and_years(void **state)
{
    static const matches table[] = {
        {"* * * * * *",
         "2026-12-31 23:59:58",
         {"2026-12-31 23:59:59", "2027-01-01 00:00:00"}},
        {"30 0 0 * * *",
         "2026-01-01 00:00",
         {"2026-01-01 00:00:30", "2026-01-02 00:00:30"}},
        {"0,15-17,*/30 * * * * *",
         "2026-01-01 00:00",
         {"2026-01-01 00:00:15", "2026-01-01 00:00:16", "2026-01-01 00:00:17",
          "2026-01-01 00:00:30", "2026-01-01 00:01:00"}},
        {"0 15 10 * * * 2027",
         "2026-01-01 00:00",
         {"2027-01-01 10:15", "2027-01-02 10:15"}},
        {"0 0 12 1 1 * 2025-2027",
         "2025-06-01 00:00",
         {"2026-01-01 12:00", "2027-01-01 12:00"}},
        {"0 0 0 1 1 * 2027,2030",
         "2025-06-01 00:00",
         {"2027-01-01 00:00", "2030-01-01 00:00"}},
        {"0 0 0 1 1 * */2",
         "2025-06-01 00:00",
         {"2026-01-01 00:00", "2028-01-01 00:00"}},
        {"0 0 0 1 1 * 1971-2199/2",
         "2026-06-01 00:00",
         {"2027-01-01 00:00", "2029-01-01 00:00"}},
        {"0 0 0 1 1 * */2", "1969-06-01 00:00", {"1970-01-01 00:00"}},
        {"59 59 23 31 12 * 2199", "2025-06-01 00:00", {"2199-12-31 23:59:59"}},
        {"0 0 0 1 1 * 1970,2033,2034,2097,2098,2161,2162",
         "1970-01-01 00:00",
         {"2033-01-01 00:00", "2034-01-01 00:00", "2097-01-01 00:00",
          "2098-01-01 00:00", "2161-01-01 00:00", "2162-01-01 00:00"}},
    };
    static const refused bad[] = {
        {"60 * * * * *", "second field, byte 1: "},
        {"0 0 0 1 1 * 1969", "year field, byte 13: "},
        {"0 0 0 1 1 * 2200", "year field, byte 13: "},
        {"0 0 0 1 1 * 2030-2029", "year field, byte 18: the range ends"},
        {"0 0 * * * 2025", "day of week field, byte 11: "},
    };
    csc_cron cron = parsed("* * * * * *", CSC_CRON_OCPS);
    int64_t at_s = 0;

    (void)state;
    check_all(table, COUNT(table), CSC_CRON_OCPS);
    check_refused(bad, COUNT(bad), CSC_CRON_OCPS);
    assert_false(csc_cron_next(&cron, made_s("2199-12-31 23:59:59"), &at_s));
    assert_false(csc_cron_previous(&cron, made_s("1970-01-01 00:00"), &at_s));
    assert_true(csc_cron_next(&cron, INT64_MIN, &at_s));
    assert_int_equal(at_s, 0);
    assert_true(csc_cron_previous(&cron, INT64_MAX, &at_s));
    assert_int_equal(at_s, made_s("2199-12-31 23:59:59"));
    assert_false(csc_cron_next(&cron, INT64_MAX, &at_s));
    assert_false(csc_cron_previous(&cron, INT64_MIN, &at_s));
    assert_false(csc_cron_matches(&cron, INT64_MAX));
    assert_false(csc_cron_matches(&cron, INT64_MIN));
}

/* ---- OCPS 1.3 ------------------------------------------------------------ */

static const matches ocps_1_3_has_last_nth_and_nearest_days_table[] = {
    {"0 0 L * *",
     "2026-01-01 00:00",
     {"2026-01-31 00:00", "2026-02-28 00:00", "2026-03-31 00:00",
      "2026-04-30 00:00"}},
    {"0 0 L 2 *", "2026-06-01 00:00", {"2027-02-28 00:00", "2028-02-29 00:00"}},
    {"0 0 1,L * *",
     "2026-01-15 00:00",
     {"2026-01-31 00:00", "2026-02-01 00:00", "2026-02-28 00:00"}},
    {"0 0 * * FRI#L",
     "2026-01-01 00:00",
     {"2026-01-30 00:00", "2026-02-27 00:00", "2026-03-27 00:00"}},
    {"0 0 * * 5L", "2026-01-01 00:00", {"2026-01-30 00:00"}},
    {"0 0 * * FRIL", "2026-01-01 00:00", {"2026-01-30 00:00"}},
    {"0 0 * * 7#L", "2026-01-01 00:00", {"2026-01-25 00:00"}},
    {"0 0 * * 0L,3",
     "2026-01-20 00:00",
     {"2026-01-21 00:00", "2026-01-25 00:00", "2026-01-28 00:00"}},
    {"0 0 * * TUE#2",
     "2026-01-01 00:00",
     {"2026-01-13 00:00", "2026-02-10 00:00"}},
    {"0 0 * * 2#3", "2026-01-01 00:00", {"2026-01-20 00:00"}},
    {"0 0 * * 0#1",
     "2026-01-01 00:00",
     {"2026-01-04 00:00", "2026-02-01 00:00"}},
    {"0 0 * * 7#1", "2026-01-01 00:00", {"2026-01-04 00:00"}},
    {"0 0 * * MON#5",
     "2026-01-01 00:00",
     {"2026-03-30 00:00", "2026-06-29 00:00"}},
    {"0 0 * * MON#1,wed#2",
     "2026-01-01 00:00",
     {"2026-01-05 00:00", "2026-01-14 00:00", "2026-02-02 00:00"}},
    {"0 12 15W * *",
     "2026-06-16 00:00", /* Wednesday, Saturday, Tuesday */
     {"2026-07-15 12:00", "2026-08-14 12:00", "2026-09-15 12:00"}},
    {"0 12 19W 3 *", "2022-01-01 00:00", {"2022-03-18 12:00"}},
    {"0 12 16W * *", "2026-08-01 00:00", {"2026-08-17 12:00"}},
    {"0 12 1W * *", "2026-07-31 00:00", {"2026-08-03 12:00"}},
    {"0 12 1W * *", "2026-02-01 00:00", {"2026-02-02 12:00"}},
    {"0 12 31W * *",
     "2026-05-01 00:00", /* a Sunday; none in June */
     {"2026-05-29 12:00", "2026-07-31 12:00", "2026-08-31 12:00"}},
    {"0 12 LW * *",
     "2026-01-01 00:00",
     {"2026-01-30 12:00", "2026-02-27 12:00", "2026-03-31 12:00"}},
    {"0 0 L 2 FRI#L",
     "2026-02-01 00:00",
     {"2026-02-27 00:00", "2026-02-28 00:00", "2027-02-26 00:00"}},
};

static void
ocps_1_3_has_last_nth_and_nearest_days(void **state)
{
    static const refused bad[] = {
        {"0 12 1-15W * *", "day of month field, byte 10: "},
        {"0 12 1W,15 * *", "day of month field, byte 7: W is for one day"},
        {"0 12 15,1W * *", "day of month field, byte 10: W is for one day"},
        {"0 12 LW,15 * *", "day of month field, byte 7: W is for one day"},
        {"0 12 W * *", "day of month field, byte 6: "},
        {"0 12 0W * *", "day of month field, byte 6: "},
        {"0 12 32W * *", "day of month field, byte 6: "},
        {"0 12 15w * *", "day of month field, byte 8: "},
        {"0 12 l * *", "day of month field, byte 6: "},
        {"0 12 L-3 * *", "day of month field, byte 7: "},
        {"0 12 5-L * *", "day of month field, byte 8: "},
        {"0 12 L/2 * *", "day of month field, byte 7: "},
        {"0 12 5L * *", "day of month field, byte 7: "},
        {"0 12 * * fri#l", "day of week field, byte 14: "},
        {"0 12 * * L", "day of week field, byte 10: "},
        {"0 12 * * MON#0", "day of week field, byte 14: "},
        {"0 12 * * MON#6", "day of week field, byte 14: "},
        {"0 12 * * MON#", "day of week field, byte 14: "},
        {"0 12 * * #2", "day of week field, byte 10: "},
        {"0 12 * * 1-5#1", "day of week field, byte 13: "},
        {"0 12 * * *#2", "day of week field, byte 11: "},
        {"0 L * * *", "hour field, byte 3: "},
        {"0 12 * 15W *", "month field, byte 8: "},
        {"0 12 * * 15W", "day of week field, byte 10: "},
        {"0 12 1#2 * *", "day of month field, byte 7: "},
    };

    (void)state;
    check_all(ocps_1_3_has_last_nth_and_nearest_days_table,
              COUNT(ocps_1_3_has_last_nth_and_nearest_days_table),
              CSC_CRON_OCPS);
    check_refused(bad, COUNT(bad), CSC_CRON_OCPS);
}

/* ---- OCPS 1.4 ------------------------------------------------------------ */

static void
ocps_1_4_has_and_and_question_marks(void **state)
{
    static const matches table[] = {
        {"0 12 1 * +MON",
         "2026-01-01 00:00",
         {"2026-06-01 12:00", "2027-02-01 12:00", "2027-03-01 12:00"}},
        {"0 12 15 * +5",
         "2026-01-01 00:00",
         {"2026-05-15 12:00", "2027-01-15 12:00"}},
        {"0 12 1 * +MON-FRI",
         "2026-01-02 00:00",
         {"2026-04-01 12:00", "2026-05-01 12:00", "2026-06-01 12:00"}},
        {"0 12 13 * +FRI",
         "2026-01-01 00:00",
         {"2026-02-13 12:00", "2026-03-13 12:00", "2026-11-13 12:00"}},
        {"0 12 29 2 +MON",
         "2026-01-01 00:00",
         {"2044-02-29 12:00", "2072-02-29 12:00", "2112-02-29 12:00"}},
        {"0 12 1 * +*", "2026-01-02 00:00", {"2026-02-01 12:00"}},
        {"0 12 * * +MON", "2026-01-02 00:00", {"2026-01-05 12:00"}},
        {"0 12 L * +FRI#L", "2026-01-01 00:00", {"2026-07-31 12:00"}},
        {"0 12 ? * MON", "2026-01-02 00:00", {"2026-01-05 12:00"}},
        {"0 12 1 * ?", "2026-01-02 00:00", {"2026-02-01 12:00"}},
        {"0 12 ? * ?", "2026-01-02 00:00", {"2026-01-02 12:00"}},
        {"0 12 1 * +?", "2026-01-02 00:00", {"2026-02-01 12:00"}},
    };
    static const refused bad[] = {
        {"0 12 1 * +", "day of week field, byte 11: "},
        {"0 12 1 * MON+", "day of week field, byte 13: "},
        {"0 12 1 * ++1", "day of week field, byte 11: "},
        {"0 12 1 * 1,+2", "day of week field, byte 12: "},
        {"0 12 +1 * *", "day of month field, byte 6: "},
        {"0 +12 * * *", "hour field, byte 3: "},
        {"? 12 * * *", "minute field, byte 1: "},
        {"0 ? * * *", "hour field, byte 3: "},
        {"0 12 * ? *", "month field, byte 8: "},
        {"? 0 12 * * *", "second field, byte 1: "},
        {"0 0 12 * * * ?", "year field, byte 14: "},
    };

    (void)state;
    check_all(table, COUNT(table), CSC_CRON_OCPS);
    check_refused(bad, COUNT(bad), CSC_CRON_OCPS);
}

/* ---- Quartz -------------------------------------------------------------- */

/* The examples of its documentation, and what DolphinScheduler's tests use. */
static const matches quartz_matches_table[] = {
    {"0 0 12 * * ?",
     "2026-01-01 00:00",
     {"2026-01-01 12:00", "2026-01-02 12:00"}},
    {"0 15 10 ? * *", "2026-01-01 00:00", {"2026-01-01 10:15"}},
    {"0 15 10 * * ? *", "2026-01-01 00:00", {"2026-01-01 10:15"}},
    {"0 15 10 * * ? 2027", "2026-01-01 00:00", {"2027-01-01 10:15"}},
    {"0 * 14 * * ?",
     "2026-01-01 14:58",
     {"2026-01-01 14:59", "2026-01-02 14:00"}},
    {"0 0/5 14 * * ?",
     "2026-01-01 14:50",
     {"2026-01-01 14:55", "2026-01-02 14:00"}},
    {"0 0/5 14,18 * * ?",
     "2026-01-01 14:50",
     {"2026-01-01 14:55", "2026-01-01 18:00"}},
    {"0 0-5 14 * * ?",
     "2026-01-01 14:04",
     {"2026-01-01 14:05", "2026-01-02 14:00"}},
    {"0 10,44 14 ? 3 WED",
     "2026-01-01 00:00",
     {"2026-03-04 14:10", "2026-03-04 14:44", "2026-03-11 14:10"}},
    {"0 15 10 ? * MON-FRI", "2026-01-02 11:00", {"2026-01-05 10:15"}},
    {"0 15 10 15 * ?", "2026-01-01 00:00", {"2026-01-15 10:15"}},
    {"0 15 10 L * ?", "2026-02-01 00:00", {"2026-02-28 10:15"}},
    {"0 15 10 L-2 * ?",
     "2026-02-01 00:00",
     {"2026-02-26 10:15", "2026-03-29 10:15"}},
    {"0 15 10 L-30 * ?", "2026-01-02 00:00", {"2026-03-01 10:15"}},
    {"0 15 10 LW * ?", "2026-02-01 00:00", {"2026-02-27 10:15"}},
    {"0 15 10 L-3W * ?",
     "2026-02-01 00:00", /* the 25th; Saturday */
     {"2026-02-25 10:15", "2026-03-27 10:15"}},
    {"0 15 10 ? * 6L",
     "2026-01-01 00:00",
     {"2026-01-30 10:15", "2026-02-27 10:15"}},
    {"0 15 10 ? * fril", "2026-01-01 00:00", {"2026-01-30 10:15"}},
    {"0 15 10 ? * 6L 2026-2028", "2026-12-31 00:00", {"2027-01-29 10:15"}},
    {"0 15 10 ? * 6#3", "2026-01-01 00:00", {"2026-01-16 10:15"}},
    {"0 0 12 1/5 * ?",
     "2026-01-27 00:00",
     {"2026-01-31 12:00", "2026-02-01 12:00", "2026-02-06 12:00"}},
    {"0 11 11 11 11 ?", "2026-01-01 00:00", {"2026-11-11 11:11"}},
    {"0 0 0 ? * L",
     "2026-01-01 00:00",
     {"2026-01-03 00:00", "2026-01-10 00:00"}},
    {"0 0 0 ? * 1", "2026-01-01 00:00", {"2026-01-04 00:00"}},
    {"0 0 0 ? * 7", "2026-01-01 00:00", {"2026-01-03 00:00"}},
    {"0 0 0 15w * ?", "2026-08-01 00:00", {"2026-08-14 00:00"}},
    {"0 0 22-2/2 * * ?",
     "2026-01-01 03:00",
     {"2026-01-01 22:00", "2026-01-02 00:00", "2026-01-02 02:00"}},
    {"0 0 0 ? * FRI-MON",
     "2026-01-01 00:00",
     {"2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00",
      "2026-01-05 00:00", "2026-01-09 00:00"}},
    {"0 0 0 1 NOV-FEB ?",
     "2026-01-15 00:00",
     {"2026-02-01 00:00", "2026-11-01 00:00", "2026-12-01 00:00"}},
    {"0 /20 * * * ?",
     "2026-01-01 00:00",
     {"2026-01-01 00:20", "2026-01-01 00:40", "2026-01-01 01:00"}},
    {"0 0 0 1 1 ? 2026/2",
     "2026-06-15 00:00",
     {"2028-01-01 00:00", "2030-01-01 00:00"}},
    {"0 */5 * * * ? *", "2026-01-01 00:00", {"2026-01-01 00:05"}},
    {"0 1 2 3 * ? *", "2026-01-01 00:00", {"2026-01-03 02:01"}},
    {"* 5 * * 3/5 ? *", "2026-01-01 00:00", {"2026-03-01 00:05:00"}},
    {"0 0 0 * * ? ", "2020-01-30 00:00", {"2020-01-31 00:00"}},
};

static void
quartz_matches(void **state)
{
    (void)state;
    check_all(quartz_matches_table, COUNT(quartz_matches_table),
              CSC_CRON_QUARTZ);
    check_never("0 0 0 31 2 ?", CSC_CRON_QUARTZ);
}

static void
quartz_refuses_by_field_and_byte(void **state)
{
    static const refused table[] = {
        {"0 0 0 * *", "the quartz dialect has 6 fields"},
        {"0 0 0 * * ? * *", "the quartz dialect has 6 fields"},
        {"0 0 0 * * *", "the quartz dialect has ?"},
        {"0 0 0 ? * ?", "the quartz dialect has ?"},
        {"0 0 0 1 * MON", "field (byte 7) or in the day of week"},
        {"0 0 0 ? * 0", "day of week field, byte 11: "},
        {"0 0 0 ? * 8", "day of week field, byte 11: "},
        {"0 0 0 ?,1 * MON", "day of month field, byte 7: "},
        {"0 0 0 L-31 * ?", "day of month field, byte 9: "},
        {"0 0 0 L- * ?", "day of month field, byte 9: "},
        {"0 0 0 1W,2 * ?", "day of month field, byte 8: W is for one day"},
        {"0 0 0 ? * +MON", "day of week field, byte 11: "},
        {"0 ? 0 * * ?", "minute field, byte 3: "},
        {"0 0/0 0 * * ?", "minute field, byte 5: a step is at least 1"},
        {"0 0/61 0 * * ?", "minute field, byte 5: a step may not"},
        {"0 0 0 * * ? 2030-2029", "year field, byte 18: the range ends"},
        {"@daily", "the quartz dialect has 6 fields"},
    };

    (void)state;
    check_refused(table, COUNT(table), CSC_CRON_QUARTZ);
}

/* ---- Periodic ------------------------------------------------------------ */

static void
the_hour_field_tells_what_is_periodic(void **state)
{
    static const struct {
        const char *pattern;
        bool is_periodic;
    } table[] = {
        {"* * * * *", true},       {"30 * * * *", true},
        {"0 */2 * * *", true},     {"0 *,5 * * *", true},
        {"0 0-23 * * *", true},    {"0 0-11,12-23 * * *", true},
        {"0 0-23/2 * * *", false}, {"*/15 2 * * *", false},
        {"30 1-2 * * *", false},   {"0 1-23 * * *", false},
        {"@hourly", true},         {"@daily", false},
        {"0 5,* * * *", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        if (parsed(table[i].pattern, CSC_CRON_OCPS).is_periodic !=
            table[i].is_periodic)
            fail_msg("%s", table[i].pattern);
    }
    assert_true(parsed("0 0 0/1 * * ?", CSC_CRON_QUARTZ).is_periodic);
    assert_true(parsed("0 0 /2 * * ?", CSC_CRON_QUARTZ).is_periodic == false);
}

/* ---- The model ----------------------------------------------------------- */

/* The first or the last second of the model's day that is in from .. to; -1. */
static int
model_second(const pattern_model *p, int from, int to, bool backward)
{
    for (int i = 0; i <= to - from; i++) {
        int second = backward ? to - i : from + i;

        if (!p->hours[second / 3600])
            i += backward ? second % 3600 : 3599 - second % 3600;
        else if (!p->minutes[second / 60 % 60])
            i += backward ? second % 60 : 59 - second % 60;
        else if (p->seconds[second % 60])
            return second;
    }
    return -1;
}

static bool
model_find(const pattern_model *p, int64_t local_s, bool backward,
           int64_t *found_s)
{
    int64_t from_s = backward ? local_s - 1 : local_s + 1;
    int64_t day = csc_civil_div(from_s, CSC_CIVIL_DAY_S);
    int second = (int)csc_civil_mod(from_s, CSC_CIVIL_DAY_S);

    for (int far = 0; day >= 0 && day < 84006; far++) {
        csc_civil civil = {0};
        int low = far == 0 && !backward ? second : 0;
        int high = far == 0 && backward ? second : CSC_CIVIL_DAY_S - 1;
        int match = -1;

        csc_civil_date(day, &civil);
        if (pattern_matches_day(p, &civil))
            match = model_second(p, low, high, backward);
        if (match >= 0) {
            *found_s = day * CSC_CIVIL_DAY_S + match;
            return true;
        }
        day += backward ? -1 : 1;
    }
    return false;
}

static void
compare(const pattern_model *p, const csc_cron *cron, int64_t at_s,
        bool backward)
{
    int64_t ours_s = 0;
    int64_t theirs_s = 0;
    bool is_theirs = model_find(p, at_s, backward, &theirs_s);
    bool is_ours = backward ? csc_cron_previous(cron, at_s, &ours_s)
                            : csc_cron_next(cron, at_s, &ours_s);
    csc_civil civil;

    if (is_ours != is_theirs || ours_s != theirs_s)
        fail_msg("%s: %s %" PRId64 " is %" PRId64 ", by the model %" PRId64,
                 p->text, backward ? "before" : "after", at_s, ours_s,
                 theirs_s);
    for (int i = -1; is_ours && i <= 1; i++) {
        csc_civil_split(ours_s + i, &civil);
        assert_int_equal(csc_cron_matches(cron, ours_s + i),
                         pattern_matches(p, &civil));
    }
}

static void
matches_are_those_of_the_model(void **state)
{
    support_rng rng = support_rng_open("matches_are_those_of_the_model");

    (void)state;
    for (int i = 0; i < 1500; i++) {
        bool seconds = support_rng_below(&rng, 2) == 0;
        bool years = support_rng_below(&rng, 4) == 0;
        pattern_model p;
        csc_cron cron;

        pattern_random(&rng, seconds, years, &p);
        cron = parsed(p.text, CSC_CRON_OCPS);
        for (int j = 0; j < 4; j++) {
            int64_t at_s =
                (int64_t)support_rng_below(&rng, UINT64_C(7258118400));

            compare(&p, &cron, at_s, false);
            compare(&p, &cron, at_s, true);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ocps_1_0_matches),
        cmocka_unit_test(day_fields_are_either_or),
        cmocka_unit_test(ocps_1_0_refuses_by_field_and_byte),
        cmocka_unit_test(ocps_1_1_has_nicknames),
        cmocka_unit_test(ocps_1_2_has_seconds_and_years),
        cmocka_unit_test(ocps_1_3_has_last_nth_and_nearest_days),
        cmocka_unit_test(ocps_1_4_has_and_and_question_marks),
        cmocka_unit_test(quartz_matches),
        cmocka_unit_test(quartz_refuses_by_field_and_byte),
        cmocka_unit_test(the_hour_field_tells_what_is_periodic),
        cmocka_unit_test(matches_are_those_of_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
