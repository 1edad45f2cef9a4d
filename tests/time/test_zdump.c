/* SPDX-License-Identifier: MIT
 *
 *   test_time_zdump [ZONE...]
 *
 * Zones as the machine's C library reads them (zdump -v) and as we do: each
 * change, with the offset, the name and whether it is daylight saving time on
 * both sides, and no other. All zones below /usr/share/zoneinfo; or every
 * CASCADE_ZONES_SHARE-th (1: all), since zdump takes its time.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/support.h"
#include "time/civil.h"
#include "time/tzif.h"
#include "time/zone.h"

#define ROOT "/usr/share/zoneinfo"
#define SHARE_DEFAULT 12
#define CHANGES_MAX 4096
#define YEARS "1850,2200"

typedef struct seen_changes {
    int64_t changes_s[CHANGES_MAX];
    size_t count;
} seen_changes;

static size_t zones_met;
static size_t zones_compared;
static size_t changes_compared;

/* ---- One zone ------------------------------------------------------------ */

/* NULL for a file that is none. */
static csc_zone *
read_zone(const char *name)
{
    static uint8_t bytes[CSC_TZIF_SIZE_MAX];
    char path[512];
    csc_zone *zone = NULL;
    size_t len;
    FILE *file;

    (void)snprintf(path, sizeof(path), ROOT "/%s", name);
    file = fopen(path, "rb");
    assert_non_null(file);
    len = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    if (len < 4 || memcmp(bytes, "TZif", 4) != 0)
        return NULL;
    if (csc_zone_create(name, bytes, len, &zone) != CASCADE_OK)
        fail_msg("%s", cascade_errmsg());
    return zone;
}

/* "... Sun Mar  8 06:59:59 2026 UT = Sun Mar ... EST isdst=0 gmtoff=-18000";
 * false for the lines about the ends of time. */
static bool
parse_line(const char *line, int64_t *at_s, csc_zone_span *span, char name[32])
{
    const char *is = strstr(line, " UT = ");
    const char *text = strstr(line, "  ");
    struct tm tm = {0};
    int is_dst = 0;

    if (is == NULL || text == NULL ||
        strptime(text + 2, "%a %b %d %H:%M:%S %Y", &tm) == NULL)
        return false;
    *at_s = csc_civil_days(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday) *
                CSC_CIVIL_DAY_S +
            tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec;
    if (sscanf(is + 6, "%*s %*s %*d %*s %*d %31s isdst=%d gmtoff=%" SCNd32,
               name, &is_dst, &span->offset_s) != 3)
        return false;
    span->is_dst = is_dst != 0;
    return true;
}

static void
compare_line(const csc_zone *zone, const char *line, seen_changes *seen)
{
    int64_t at_s = 0;
    csc_zone_span theirs = {0};
    csc_zone_span ours;
    char name[32];

    if (!parse_line(line, &at_s, &theirs, name))
        return;
    ours = csc_zone_at(zone, at_s);
    if (ours.offset_s != theirs.offset_s || ours.is_dst != theirs.is_dst ||
        strcmp(ours.name, name) != 0)
        fail_msg("%sours: %s isdst=%d gmtoff=%d", line, ours.name, ours.is_dst,
                 ours.offset_s);
    assert_true(seen->count < CHANGES_MAX);
    seen->changes_s[seen->count++] = at_s;
}

static bool
is_seen(const seen_changes *seen, int64_t at_s)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->changes_s[i] == at_s)
            return true;
    }
    return false;
}

/* Each of our changes that changes something is one that zdump has shown. */
static void
compare_changes(const csc_zone *zone, const seen_changes *seen)
{
    int64_t end_s = csc_civil_days(2200, 1, 1) * CSC_CIVIL_DAY_S;
    csc_zone_span span =
        csc_zone_at(zone, csc_civil_days(1850, 1, 1) * CSC_CIVIL_DAY_S);

    while (span.until_s < end_s) {
        csc_zone_span next = csc_zone_at(zone, span.until_s);

        if (next.offset_s != span.offset_s || next.is_dst != span.is_dst ||
            strcmp(next.name, span.name) != 0) {
            if (!is_seen(seen, next.from_s))
                fail_msg("%s: zdump knows no change at %" PRId64,
                         csc_zone_name(zone), next.from_s);
            changes_compared++;
        }
        span = next;
    }
}

static void
compare_zone(const char *name)
{
    static seen_changes seen;
    csc_zone *zone = read_zone(name);
    char line[512];
    FILE *dump;

    if (zone == NULL)
        return;
    (void)snprintf(line, sizeof(line), "zdump -v -c " YEARS " " ROOT "/%s",
                   name);
    dump = popen(line, "r");
    assert_non_null(dump);
    seen.count = 0;
    while (fgets(line, sizeof(line), dump) != NULL)
        compare_line(zone, line, &seen);
    assert_int_equal(pclose(dump), 0);
    compare_changes(zone, &seen);
    csc_zone_free(zone);
    zones_compared++;
}

/* ---- All ----------------------------------------------------------------- */

static size_t
share(void)
{
    const char *given = getenv("CASCADE_ZONES_SHARE");

    return given != NULL ? (size_t)atoi(given) : SHARE_DEFAULT;
}

/* right/ counts leap seconds, posix/ is all of it again. */
static bool
is_left_out(const char *name)
{
    return name[0] == '.' || strcmp(name, "right") == 0 ||
           strcmp(name, "posix") == 0;
}

static void
compare_folder(const char *prefix)
{
    char path[512];
    struct dirent *entry;
    DIR *folder;

    (void)snprintf(path, sizeof(path), ROOT "/%s", prefix);
    folder = opendir(path);
    assert_non_null(folder);
    for (entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char name[300];
        struct stat status;

        if (is_left_out(entry->d_name))
            continue;
        (void)snprintf(name, sizeof(name), "%s%s", prefix, entry->d_name);
        (void)snprintf(path, sizeof(path), ROOT "/%s", name);
        assert_int_equal(stat(path, &status), 0);
        if (S_ISDIR(status.st_mode)) {
            (void)snprintf(name, sizeof(name), "%s%s/", prefix, entry->d_name);
            compare_folder(name);
        } else if (zones_met++ % share() == 0) {
            compare_zone(name);
        }
    }
    (void)closedir(folder);
}

static void
changes_are_those_that_zdump_shows(void **state)
{
    (void)state;
    compare_folder("");
    print_message("%zu of %zu files, %zu changes\n", zones_compared, zones_met,
                  changes_compared);
    assert_true(zones_compared > 10);
    assert_true(changes_compared > 1000);
}

static void
zones_that_count_leap_seconds_are_refused(void **state)
{
    csc_zone *zone = NULL;
    uint8_t bytes[16384];
    FILE *file = fopen(ROOT "/right/Europe/Paris", "rb");
    size_t len;

    (void)state;
    if (file == NULL)
        return; /* not every machine has them: test_zone.c makes its own */
    len = fread(bytes, 1, sizeof(bytes), file);
    (void)fclose(file);
    assert_int_equal(csc_zone_create("right/Europe/Paris", bytes, len, &zone),
                     CASCADE_ERR_UNSUPPORTED);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_those_that_zdump_shows),
        cmocka_unit_test(zones_that_count_leap_seconds_are_refused),
    };

    for (int i = 1; i < argc; i++)
        compare_zone(argv[i]);
    if (argc > 1)
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
