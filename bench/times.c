/* SPDX-License-Identifier: MIT
 *
 *   times
 *
 * How long the next fire of a schedule takes to find: ordinary patterns in a
 * zone with daylight saving time, one after another as a schedule has them; and
 * patterns that match late or never, each from the beginning of time. To reach:
 * 1,000,000 a second of the first, 1 ms for the worst of the others.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "time/dst.h"

#define ROUNDS 1000000
#define ROUNDS_HARD 200
#define FROM_S INT64_C(1767225600) /* 2026-01-01 */

static const char *const ordinary[] = {
    "* * * * *",          "*/15 * * * *",     "0 * * * *", "30 2 * * *",
    "0 9-17 * * MON-FRI", "*/5 9-17 * * 1-5", "0 0 1 * *", "0 12 L * *",
    "0 12 * * FRI#2",     "15 10 15W * *",    "0 0 1 1 *", "* * * * * *",
    "*/10 * 2 * * *",
};

static const char *const hard[] = {
    "0 0 31 2 *",
    "0 0 31 2,4,6,9,11 *",
    "0 0 29 2 +MON",
    "0 12 31W 2,4,6,9,11 *",
    "0 12 1W * +SUN",
    "* * 31W 4 *",
    "0 0 0 31 12 * 2199",
    "30 2 8-14 3 +SUN", /* always in the gap, which is skipped */
    "* * 2 8-14 3 +SUN",
    "* * 30 2 *",
};

static double
seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* New York's rule, in the smallest file there is. */
static csc_zone *
open_zone(void)
{
    static const char file[] =
        "TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1"
        "\0\0\0\0\0\0\0"
        "TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
        "\0\0\0\0\0\0UTC\0"
        "\nEST5EDT,M3.2.0,M11.1.0\n";
    csc_zone *zone = NULL;

    if (csc_zone_create("America/New_York", file, sizeof(file) - 1, &zone) !=
        CASCADE_OK) {
        fprintf(stderr, "%s\n", cascade_errmsg());
        exit(1);
    }
    return zone;
}

static bool
parse(const char *text, csc_cron *cron)
{
    if (csc_cron_parse("pattern", text, CSC_CRON_OCPS, cron) == CASCADE_OK)
        return true;
    fprintf(stderr, "%s: %s\n", text, cascade_errmsg());
    return false;
}

static void
measure_ordinary(const csc_zone *zone, const char *text)
{
    csc_cron cron;
    csc_dst_rule rule = {&cron, zone, CSC_DST_GAP_NEXT, CSC_DST_FOLD_FIRST};
    csc_dst_fire fire = {.at_s = FROM_S};
    double begin_s = seconds_now();

    if (!parse(text, &cron))
        return;
    for (int i = 0; i < ROUNDS; i++) {
        if (!csc_dst_next(&rule, fire.at_s, &fire))
            fire.at_s = FROM_S;
    }
    printf("%-24s %12.0f a second\n", text, ROUNDS / (seconds_now() - begin_s));
}

static void
measure_hard(const csc_zone *zone, const char *text)
{
    csc_cron cron;
    csc_dst_rule rule = {&cron, zone, CSC_DST_GAP_SKIP, CSC_DST_FOLD_FIRST};
    csc_dst_fire fire;
    int found = 0;
    double begin_s = seconds_now();

    if (!parse(text, &cron))
        return;
    for (int i = 0; i < ROUNDS_HARD; i++) {
        found += csc_dst_next(&rule, INT64_MIN, &fire);
        found += csc_dst_previous(&rule, INT64_MAX, &fire);
    }
    printf("%-24s %9.1f us%s\n", text,
           (seconds_now() - begin_s) * 1e6 / (2 * ROUNDS_HARD),
           found == 0 ? ", never" : "");
}

int
main(void)
{
    csc_zone *zone = open_zone();

    for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++)
        measure_ordinary(zone, ordinary[i]);
    for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++)
        measure_hard(zone, hard[i]);
    csc_zone_free(zone);
    return 0;
}
