/* SPDX-License-Identifier: MIT
 *
 * Cron patterns, in both dialects. For any text there is a reason that says
 * where, and nothing written; or a pattern, of which must hold, from several
 * times on:
 *
 *   a match matches, the next is greater, the one before is less
 *   back from the next is no further than where it was looked for
 *   no second of those just before a match matches that was passed over
 *   it can be told in words
 *   its fires in a zone with daylight saving time are in order, both ways
 *
 * The same text is read as a time, a length of time and a calendar: what is
 * accepted is written back as it is, or within its bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "time/calendar.h"
#include "time/describe.h"

#define NEAR_S 90

static void
check_refusal(const csc_cron *cron)
{
    const char *why = cascade_errmsg();

    fuzz_check(strncmp(why, "rule: ", 6) == 0);
    fuzz_check(csc_json_utf8_is(why, strlen(why)));
    fuzz_check(cron->minutes == 42);
}

/* Between a time and the match behind it nothing matches. */
static void
check_between(const csc_cron *cron, int64_t from_s, int64_t to_s)
{
    int64_t low_s = from_s < to_s - NEAR_S ? to_s - NEAR_S : from_s + 1;

    for (int64_t at_s = low_s; at_s < to_s; at_s++)
        fuzz_check(!csc_cron_matches(cron, at_s));
}

static void
check_from(const csc_cron *cron, int64_t at_s)
{
    int64_t next_s = 0;
    int64_t back_s = 0;

    if (csc_cron_next(cron, at_s, &next_s)) {
        fuzz_check(next_s > at_s && csc_cron_matches(cron, next_s));
        check_between(cron, at_s, next_s);
        if (csc_cron_previous(cron, next_s, &back_s))
            fuzz_check(back_s <= at_s);
        fuzz_check(csc_cron_previous(cron, next_s + 1, &back_s));
        fuzz_check(back_s == next_s);
    }
    if (csc_cron_previous(cron, at_s, &back_s)) {
        fuzz_check(back_s < at_s && csc_cron_matches(cron, back_s));
        check_between(cron, back_s, at_s);
        if (csc_cron_next(cron, back_s, &next_s))
            fuzz_check(next_s >= at_s);
    }
}

static void
check_words(const csc_cron *cron)
{
    csc_buf out = {0};

    csc_describe_cron(cron, &out);
    fuzz_check(!out.failed && out.len > 0);
    fuzz_check(csc_json_utf8_is(out.data, out.len));
    csc_buf_fini(&out);
}

/* ---- In a zone ----------------------------------------------------------- */

#define ZONE                                                            \
    "TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0"                                  \
    "TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\1\0\0\0\4\0\0\0\0\0\0UTC\0"                               \
    "\n<-02>2<-01>,M3.5.0/-1,M10.5.0/0\n"

static const csc_zone *
zone(void)
{
    static csc_zone *made;

    if (made == NULL)
        fuzz_check(csc_zone_create("America/Nuuk", ZONE, sizeof(ZONE) - 1,
                                   &made) == CASCADE_OK);
    return made;
}

static void
check_fires(const csc_cron *cron, size_t seed)
{
    csc_dst_rule rule = {cron, zone(), (csc_dst_gap)(seed % 3),
                         (csc_dst_fold)(seed % 4)};
    csc_dst_fire fire = {.at_s = 1774700000}; /* a day before the gap */
    csc_dst_fire back;

    for (int i = 0; i < 20; i++) {
        int64_t was_s = fire.at_s;

        if (!csc_dst_next(&rule, was_s, &fire))
            return;
        fuzz_check(fire.at_s > was_s);
        fuzz_check(csc_cron_matches(cron, fire.local_s));
        fuzz_check(csc_dst_previous(&rule, fire.at_s + 1, &back));
        fuzz_check(back.at_s == fire.at_s && back.local_s == fire.local_s);
        if (csc_dst_previous(&rule, fire.at_s, &back))
            fuzz_check(back.at_s <= was_s);
    }
}

/* ---- Other texts --------------------------------------------------------- */

static void
check_time(const char *text)
{
    csc_civil_stamp stamp;
    csc_civil_stamp again;
    char back[CSC_CIVIL_TEXT_SIZE];

    if (csc_civil_parse("rule", text, &stamp) != CASCADE_OK)
        return;
    fuzz_check(csc_civil_parse("rule", csc_civil_format(&stamp, back),
                               &again) == CASCADE_OK);
    fuzz_check(csc_civil_seconds(&stamp.civil) ==
               csc_civil_seconds(&again.civil));
    fuzz_check(stamp.civil.us == again.civil.us);
    fuzz_check(stamp.offset_s == again.offset_s);
    fuzz_check(strcmp(stamp.zone, again.zone) == 0);
}

static void
check_length(const char *text)
{
    int64_t length_ms = -1;

    if (csc_interval_parse("rule", text, &length_ms) == CASCADE_OK)
        fuzz_check(length_ms >= 0 && length_ms <= CSC_INTERVAL_MOST_MS);
    else
        fuzz_check(length_ms == -1);
}

static void
check_calendar(const char *text)
{
    const char *const entries[] = {text, "2026-06-05", text};
    csc_calendar *calendar = NULL;

    if (csc_calendar_create("rule", entries, 3, &calendar) == CASCADE_OK)
        fuzz_check(csc_calendar_has(calendar, csc_civil_days(2026, 6, 5)));
    csc_calendar_free(calendar);
}

static void
check_pattern(const char *text, csc_cron_dialect dialect)
{
    static const int64_t from_s[] = {INT64_MIN,  -1,         0,
                                     951782399,  1772928000, 1793500000,
                                     4107542399, 7258118399, INT64_MAX};
    csc_cron cron = {.minutes = 42};

    if (csc_cron_parse("rule", text, dialect, &cron) != CASCADE_OK) {
        check_refusal(&cron);
        return;
    }
    fuzz_check(strlen(text) <= CSC_CRON_TEXT_MAX);
    for (size_t i = 0; i < sizeof(from_s) / sizeof(from_s[0]); i++)
        check_from(&cron, from_s[i]);
    check_words(&cron);
    check_fires(&cron, strlen(text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    const csc_zone *made = zone();
    size_t live = csc_mem_live();

    fuzz_check(made != NULL);
    check_pattern(text, CSC_CRON_OCPS);
    check_pattern(text, CSC_CRON_QUARTZ);
    check_time(text);
    check_length(text);
    check_calendar(text);
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
