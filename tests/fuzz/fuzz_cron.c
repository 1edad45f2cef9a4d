/* SPDX-License-Identifier: MIT
 *
 * Cron patterns, in both dialects. For any text there is a reason that says
 * where, and nothing written; or a pattern, of which must hold, from several
 * times on:
 *
 *   a match matches, the next is greater, the one before is less
 *   back from the next is no further than where it was looked for
 *   no second of those just before a match matches that was passed over
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "time/cron.h"

#define NEAR_S 90

static void
check_refusal(const csc_cron *cron)
{
    const char *why = cascade_errmsg();

    fuzz_check(strncmp(why, "rule: ", 6) == 0);
    fuzz_check(csc_json_is_utf8(why, strlen(why)));
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
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    size_t live = csc_mem_live();

    check_pattern(text, CSC_CRON_OCPS);
    check_pattern(text, CSC_CRON_QUARTZ);
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
