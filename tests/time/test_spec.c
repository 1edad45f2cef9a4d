/* SPDX-License-Identifier: MIT
 *
 * Specs by the public calls: what is read and what is refused, the canonical
 * text, plain English, the zones of the machine, and memory that runs out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/support.h"
#include "time/specs.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))

/* ---- Texts --------------------------------------------------------------- */

static void
a_spec_has_a_canonical_text(void **state)
{
    static const struct {
        const char *text;
        const char *canonical;
    } table[] = {
        {"{\"cron\": \"0 9 * * *\"}",
         "{\"cron\":[\"0 9 * * *\"],\"zone\":\"UTC\"}"},
        {"{\"zone\":\"UTC\",\"cron\":[\"0 9 * * *\", \"@hourly\"], "
         "\"dst_gap\":\"next\",\"dst_fold\":\"first\",\"dialect\":\"ocps\"}",
         "{\"cron\":[\"0 9 * * *\",\"@hourly\"],\"zone\":\"UTC\"}"},
        {"{\"cron\":\"0 0 9 ? * 2\",\"dialect\":\"quartz\",\"dst_gap\":"
         "\"shift\",\"dst_fold\":\"none\"}",
         "{\"cron\":[\"0 0 9 ? * 2\"],\"zone\":\"UTC\",\"dialect\":\"quartz\","
         "\"dst_gap\":\"shift\",\"dst_fold\":\"none\"}"},
        {"{\"every\":\"2w\"}", "{\"zone\":\"UTC\",\"every\":[\"14d\"]}"},
        {"{\"every\":[{\"every\":\"90m\",\"phase\":\"2h\"},{\"every\":\"1d\","
         "\"anchor\":\"2026-01-01T08:00:00+02:00\"},{\"every\":\"1h\","
         "\"phase\":\"0s\"}]}",
         "{\"zone\":\"UTC\",\"every\":[{\"every\":\"1h30m\",\"phase\":\"30m\"},"
         "{\"every\":\"1d\",\"anchor\":\"2026-01-01T06:00:00+00:00\"},\"1h\"]"
         "}"},
        {"{\"at\":[1000,\"1970-01-01T00:00:00.250Z\",\"1970-01-01T01:00:01"
         "+01:00\"]}",
         "{\"at\":[\"1970-01-01T00:00:00.250+00:00\","
         "\"1970-01-01T00:00:01+00:00\"],\"zone\":\"UTC\"}"},
        {"{\"at\":\"2026-01-01T00:00Z[UTC]\",\"cron\":[],\"start\":0,"
         "\"end\":\"2199-12-31T23:59:59.999Z\",\"exclude_days\":[]}",
         "{\"at\":[\"2026-01-01T00:00:00+00:00\"],"
         "\"end\":\"2199-12-31T23:59:59.999+00:00\",\"zone\":\"UTC\"}"},
        {"{\"every\":\"1d\",\"end\":\"2200-01-01T00:00Z\"}",
         "{\"end\":\"2200-01-01T00:00:00+00:00\",\"zone\":\"UTC\","
         "\"every\":[\"1d\"]}"},
        {"{\"every\":\"1s\",\"start\":\"2026-01-01T00:00Z\","
         "\"exclude_cron\":\"* 0-5 * * *\",\"exclude_days\":\"--12-25\"}",
         "{\"zone\":\"UTC\",\"every\":[\"1s\"],"
         "\"start\":\"2026-01-01T00:00:00+00:00\","
         "\"exclude_cron\":[\"* 0-5 * * *\"],\"exclude_days\":[\"--12-25\"]}"},
        {"{\"cron\":\"0\\u0020 9 * * *\"}",
         "{\"cron\":[\"0  9 * * *\"],\"zone\":\"UTC\"}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        cascade_spec *spec = specs_must(table[i].text, NULL);
        cascade_spec *again = specs_must(cascade_spec_text(spec), NULL);

        assert_string_equal(cascade_spec_text(spec), table[i].canonical);
        assert_string_equal(cascade_spec_text(again), table[i].canonical);
        cascade_spec_free(spec);
        cascade_spec_free(again);
    }
    cascade_spec_free(NULL);
    assert_null(cascade_spec_text(NULL));
}

static void
the_short_form_is_a_pattern_and_a_zone(void **state)
{
    cascade_spec *spec = NULL;

    (void)state;
    assert_int_equal(cascade_spec_create_cron("@daily", NULL, &spec),
                     CASCADE_OK);
    assert_string_equal(cascade_spec_text(spec),
                        "{\"cron\":[\"@daily\"],\"zone\":\"UTC\"}");
    cascade_spec_free(spec);
    spec = NULL;
    assert_int_equal(cascade_spec_create_cron("0 24 * * *", "UTC", &spec),
                     CASCADE_ERR_INVALID);
    assert_non_null(strstr(cascade_errmsg(), "cron 1: hour field, byte 3"));
    assert_int_equal(cascade_spec_create_cron("* * * * *", "../UTC", &spec),
                     CASCADE_ERR_INVALID);
    assert_int_equal(
        cascade_spec_create_cron(
            "@daily",
            "A123456789012345678901234567890123456789012345678901234567890/234",
            &spec),
        CASCADE_ERR_TOO_LARGE);
    assert_string_equal(cascade_errmsg(), "spec: zone: 64 bytes at most");
    assert_int_equal(cascade_spec_create_cron("\xff", NULL, &spec),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_create_cron("@daily", "\xff", &spec),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_create_cron("\"}", NULL, &spec),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_create_cron(NULL, NULL, &spec),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_create_cron("@daily", NULL, NULL),
                     CASCADE_ERR_INVALID);
    assert_null(spec);
}

static const struct {
    const char *text;
    cascade_err err;
    const char *why;
} refused[] = {
    {"", CASCADE_ERR_JSON, "spec"},
    {"{\"cron\":", CASCADE_ERR_JSON, "byte"},
    {"{\"every\":\"1h\",\"every\":\"1h\"}", CASCADE_ERR_JSON, "spec"},
    {"0 9 * * *", CASCADE_ERR_JSON, "spec"},
    {"\"0 9 * * *\"", CASCADE_ERR_INVALID, "an object like"},
    {"[]", CASCADE_ERR_INVALID, "an object like"},
    {"null", CASCADE_ERR_INVALID, "an object like"},
    {"{}", CASCADE_ERR_INVALID, "none of cron, every and at"},
    {"{\"cron\":[]}", CASCADE_ERR_INVALID, "none of cron, every and at"},
    {"{\"crom\":\"@daily\"}", CASCADE_ERR_INVALID,
     "spec: \"crom\" is none of zone, cron"},
    {"{\"\":1}", CASCADE_ERR_INVALID, "spec: \"\" is none of"},
    {"{\"a\\nb\":1}", CASCADE_ERR_INVALID, "spec: \"a\\nb\" is none of"},
    {"{\"123456789012345678901234567890123456789\u00e9\":1}",
     CASCADE_ERR_INVALID,
     "\"123456789012345678901234567890123456789...\" is none of"},
    {"{\"1234567890123456789012345678901234567890\":1}", CASCADE_ERR_INVALID,
     "\"1234567890123456789012345678901234567890\" is none of"},
    {"{\"cron\":5}", CASCADE_ERR_INVALID, "spec: cron 1: it is a pattern"},
    {"{\"cron\":null}", CASCADE_ERR_INVALID, "spec: cron 1: it is"},
    {"{\"cron\":{}}", CASCADE_ERR_INVALID, "spec: cron 1: it is"},
    {"{\"cron\":[\"@daily\",[]]}", CASCADE_ERR_INVALID, "spec: cron 2: it is"},
    {"{\"cron\":[\"@daily\",\"0 0 * *\"]}", CASCADE_ERR_INVALID,
     "spec: cron 2: a pattern has 5 fields"},
    {"{\"cron\":\"0 9 * * *\",\"dialect\":\"quartz\"}", CASCADE_ERR_INVALID,
     "spec: cron 1: the quartz dialect has"},
    {"{\"cron\":\"@daily\",\"exclude_cron\":[\"* * * * *\",\"x\"]}",
     CASCADE_ERR_INVALID, "spec: exclude_cron 2: "},
    {"{\"cron\":\"@daily\",\"dialect\":\"vixie\"}", CASCADE_ERR_INVALID,
     "spec: dialect: it is \"ocps\" or \"quartz\""},
    {"{\"cron\":\"@daily\",\"dialect\":1}", CASCADE_ERR_INVALID,
     "spec: dialect"},
    {"{\"cron\":\"@daily\",\"dst_gap\":\"first\"}", CASCADE_ERR_INVALID,
     "spec: dst_gap: it is \"next\", \"shift\" or \"skip\""},
    {"{\"cron\":\"@daily\",\"dst_fold\":\"next\"}", CASCADE_ERR_INVALID,
     "spec: dst_fold: it is \"first\", \"last\", \"both\" or \"none\""},
    {"{\"cron\":\"@daily\",\"dst_fold\":null}", CASCADE_ERR_INVALID,
     "spec: dst_fold"},
    {"{\"cron\":\"@daily\",\"zone\":7}", CASCADE_ERR_INVALID,
     "spec: zone: it is the name of a time zone"},
    {"{\"cron\":\"@daily\",\"zone\":\"/etc/passwd\"}", CASCADE_ERR_INVALID,
     "zone: not the name of a time zone"},
    {"{\"cron\":\"@daily\",\"zone\":\"a/../b\"}", CASCADE_ERR_INVALID,
     "zone: not the name of a time zone"},
    {"{\"cron\":[\"@daily\",\"@reboot\"]}", CASCADE_ERR_INVALID,
     "spec: cron 2: @reboot names no time: start the cascade"},
    {"{\"cron\":\"@daily\",\"exclude_cron\":\"@reboot\"}", CASCADE_ERR_INVALID,
     "spec: exclude_cron 1: @reboot names no time"},
    {"{\"cron\":\"@daily\",\"zone\":\"localtime\"}", CASCADE_ERR_INVALID,
     "spec: zone: localtime is another zone on each machine"},
    {"{\"cron\":\"@daily\",\"zone\":\"posixrules\"}", CASCADE_ERR_INVALID,
     "spec: zone: posixrules is another zone on each machine"},
    {"{\"cron\":\"@daily\",\"zone\":\"posix/Europe/Paris\"}",
     CASCADE_ERR_INVALID, "posix/Europe/Paris: give the name without posix/"},
    {"{\"cron\":\"@daily\",\"zone\":\"right/UTC\"}", CASCADE_ERR_INVALID,
     "not every machine has right/UTC: give the name without right/"},
    {"{\"every\":\"999ms\"}", CASCADE_ERR_INVALID,
     "spec: every 1: an interval is from 1000 ms"},
    {"{\"every\":\"0s\"}", CASCADE_ERR_INVALID, "spec: every 1: "},
    {"{\"every\":60}", CASCADE_ERR_INVALID,
     "spec: every 1: it is a length of time"},
    {"{\"every\":[\"1h\",\"1x\"]}", CASCADE_ERR_INVALID,
     "spec: every 2: no length of time at byte 2"},
    {"{\"every\":{\"phase\":\"1h\"}}", CASCADE_ERR_INVALID,
     "spec: every 1: an interval is a length"},
    {"{\"every\":{\"every\":\"1h\",\"faze\":\"1h\"}}", CASCADE_ERR_INVALID,
     "spec: every 1: an interval is a length"},
    {"{\"every\":{\"every\":\"1h\",\"phase\":\"1m\",\"anchor\":0}}",
     CASCADE_ERR_INVALID, "spec: every 1: an interval is a length"},
    {"{\"every\":{\"every\":\"1h\",\"phase\":60}}", CASCADE_ERR_INVALID,
     "spec: every 1: it is a length of time"},
    {"{\"every\":{\"every\":\"1h\",\"anchor\":\"soon\"}}", CASCADE_ERR_INVALID,
     "spec: every 1: no date"},
    {"{\"at\":\"2026-12-24T08:00\"}", CASCADE_ERR_INVALID,
     "spec: at 1: a time has an offset"},
    {"{\"at\":[0,\"2026-12-24T08:00:00.0001Z\"]}", CASCADE_ERR_INVALID,
     "spec: at 2: a time has three digits"},
    {"{\"at\":\"2026-12-24T08:00Z[Europe/Paris]\"}", CASCADE_ERR_INVALID,
     "spec: at 1: the zone in brackets"},
    {"{\"at\":\"1969-12-31T23:59:59Z\"}", CASCADE_ERR_INVALID,
     "spec: at 1: times are of the years 1970 to 2199"},
    {"{\"at\":\"2200-01-01T00:00Z\"}", CASCADE_ERR_INVALID,
     "spec: at 1: times are of the years"},
    {"{\"at\":5,\"end\":\"2200-01-01T00:00:00.001Z\"}", CASCADE_ERR_INVALID,
     "spec: end: times are of the years"},
    {"{\"at\":9223372036854775807}", CASCADE_ERR_INVALID,
     "spec: at 1: times are of the years"},
    {"{\"at\":-1}", CASCADE_ERR_INVALID, "spec: at 1: times are of"},
    {"{\"at\":1.5}", CASCADE_ERR_INVALID, "spec: at 1: it is a time like"},
    {"{\"at\":true}", CASCADE_ERR_INVALID, "spec: at 1: it is a time like"},
    {"{\"cron\":\"@daily\",\"start\":[]}", CASCADE_ERR_INVALID,
     "spec: start: it is a time like"},
    {"{\"cron\":\"@daily\",\"end\":0}", CASCADE_ERR_INVALID,
     "spec: end: it is not behind the start"},
    {"{\"cron\":\"@daily\",\"start\":5000,\"end\":5000}", CASCADE_ERR_INVALID,
     "spec: end: it is not behind the start"},
    {"{\"cron\":\"@daily\",\"exclude_days\":5}", CASCADE_ERR_INVALID,
     "spec: exclude_days 1: it is a day like"},
    {"{\"cron\":\"@daily\",\"exclude_days\":[\"--12-25\",\"--02-30\"]}",
     CASCADE_ERR_INVALID, "spec: exclude_days: entry 2 is neither"},
};

static void
what_is_no_spec_is_refused_by_its_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        cascade_spec *spec = NULL;
        size_t live = csc_mem_live();

        if (specs_create(refused[i].text, NULL, &spec) != refused[i].err)
            fail_msg("%s: %s", refused[i].text, cascade_errmsg());
        if (strstr(cascade_errmsg(), refused[i].why) == NULL)
            fail_msg("%s: %s", refused[i].text, cascade_errmsg());
        assert_null(spec);
        assert_int_equal(csc_mem_live(), live);
    }
}

/* The list may have that many, and no more. */
static void
check_most(const char *member, const char *entry, size_t most)
{
    for (size_t count = most; count <= most + 1; count++) {
        cascade_spec *spec = NULL;
        char *entries = support_repeat(entry, count);
        char *text = malloc(strlen(entries) + 100);

        assert_non_null(text);
        entries[strlen(entries) - 1] = '\0';
        sprintf(text, "{%s\"%s\":[%s]}",
                strncmp(member, "exclude", 7) == 0 ? "\"at\":5," : "", member,
                entries);
        if (specs_create(text, NULL, &spec) !=
            (count == most ? CASCADE_OK : CASCADE_ERR_TOO_LARGE))
            fail_msg("%zu of %s: %s", count, member, cascade_errmsg());
        if (count > most)
            assert_non_null(strstr(cascade_errmsg(), member));
        cascade_spec_free(spec);
        csc_mem_free(entries);
        free(text);
    }
}

static void
lists_are_bounded(void **state)
{
    (void)state;
    check_most("cron", "\"@daily\",", CASCADE_SPEC_CRON_MAX);
    check_most("exclude_cron", "\"@daily\",", CASCADE_SPEC_CRON_MAX);
    check_most("every", "\"1h\",", CASCADE_SPEC_EVERY_MAX);
    check_most("at", "7000,", CASCADE_SPEC_AT_MAX);
    check_most("exclude_days", "\"--12-25\",", CASCADE_SPEC_DAYS_MAX);
}

static void
a_text_is_bounded_as_given_and_as_kept(void **state)
{
    char *blanks = support_repeat(" ", CASCADE_SPEC_TEXT_MAX);
    char *entries = support_repeat("\"2026-12-24/2027-01-01\",", 10000);
    char *text = malloc(CASCADE_SPEC_TEXT_MAX + 1000);
    cascade_spec *spec = NULL;
    size_t len;

    (void)state;
    assert_non_null(text);
    sprintf(text, "{\"at\":5}%s", blanks);
    assert_int_equal(specs_create(text, NULL, &spec), CASCADE_ERR_TOO_LARGE);
    assert_string_equal(cascade_errmsg(), "spec: it has over 262144 bytes");
    text[CASCADE_SPEC_TEXT_MAX] = '\0';
    cascade_spec_free(specs_must(text, NULL));
    /* Numbers become times of 29 bytes. */
    entries[strlen(entries) - 1] = '\0';
    len = (size_t)sprintf(text, "{\"exclude_days\":[%s],\"at\":[1", entries);
    for (int i = 2; i < 900; i++)
        len += (size_t)sprintf(text + len, ",%d", i);
    sprintf(text + len, "]}");
    assert_int_equal(specs_create(text, NULL, &spec), CASCADE_ERR_TOO_LARGE);
    assert_non_null(strstr(cascade_errmsg(), "canonical text"));
    assert_null(spec);
    csc_mem_free(blanks);
    csc_mem_free(entries);
    free(text);
}

static void
options_are_checked(void **state)
{
    static const uint8_t bytes[] = "TZif";
    struct {
        cascade_spec_options options;
        int later;
    } longer = {.options = {.size = sizeof(longer)}, .later = 1};
    cascade_spec_options options = {.size = 0};
    cascade_spec *spec = NULL;

    (void)state;
    assert_int_equal(cascade_spec_create("{\"at\":5}", &options, &spec),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_create("{\"at\":5}", &longer.options, &spec),
                     CASCADE_ERR_INVALID);
    options = (cascade_spec_options){.size = sizeof(options), .zone_len = 5};
    assert_int_equal(cascade_spec_create("{\"at\":5}", &options, &spec),
                     CASCADE_ERR_INVALID);
    options.zone_bytes = bytes;
    assert_int_equal(cascade_spec_create("{\"at\":5}", &options, &spec),
                     CASCADE_ERR_INVALID);
    options =
        (cascade_spec_options){.size = sizeof(options), .interval_min_ms = 99};
    assert_int_equal(cascade_spec_create("{\"at\":5}", &options, &spec),
                     CASCADE_ERR_INVALID);
    options.interval_min_ms = 100;
    assert_int_equal(cascade_spec_create(NULL, &options, &spec),
                     CASCADE_ERR_INVALID);
    assert_int_equal(cascade_spec_create("{\"at\":5}", &options, NULL),
                     CASCADE_ERR_INVALID);
    assert_null(spec);
    assert_int_equal(
        cascade_spec_create("{\"every\":\"100ms\"}", &options, &spec),
        CASCADE_OK);
    cascade_spec_free(spec);
}

/* ---- English ------------------------------------------------------------- */

static void
a_spec_is_told_in_english(void **state)
{
    static const struct {
        const char *text;
        const char *told;
    } table[] = {
        {OF("0 9 * * MON-FRI", NY, ""),
         "at 09:00, on Monday to Friday\n"
         "in the zone America/New_York\n"
         "a time that clocks leave out: right behind it; one that they show "
         "twice: the first"},
        {OF("30 * * * *", NY, ""), "at minute 30 of every hour\n"
                                   "in the zone America/New_York\n"
                                   "follows real time when clocks change"},
        {"{\"cron\":[\"30 * * * *\",\"@daily\"],\"zone\":\"" NY "\","
         "\"dst_gap\":\"skip\",\"dst_fold\":\"both\"}",
         "at minute 30 of every hour\n"
         "at 00:00 every day\n"
         "in the zone America/New_York\n"
         "a time that clocks leave out: not at all; one that they show twice: "
         "both\n"
         "a pattern of every hour follows real time when clocks change"},
        {"{\"every\":[\"90m\",{\"every\":\"1d\",\"phase\":\"6h\"},{\"every\":"
         "\"1w\",\"anchor\":\"2026-01-05T09:00Z\"}]}",
         "every 1h30m\n"
         "every 1d, counted from 1970-01-01T06:00:00+00:00\n"
         "every 7d, counted from 2026-01-05T09:00:00+00:00\n"
         "in the zone UTC"},
        {"{\"at\":[0,1000,2000,3000,4000],\"exclude_cron\":\"* * * * SUN\","
         "\"exclude_days\":[\"--12-25\",\"--12-26\"],"
         "\"start\":\"2026-01-01T00:00Z\",\"end\":\"2027-01-01T00:00Z\"}",
         "at 1970-01-01T00:00:00+00:00, 1970-01-01T00:00:01+00:00, "
         "1970-01-01T00:00:02+00:00 and 2 later times\n"
         "except every minute, on Sunday\n"
         "not on 2 listed days or ranges\n"
         "from 2026-01-01T00:00:00+00:00 on\n"
         "before 2027-01-01T00:00:00+00:00\n"
         "in the zone UTC"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        bool is_utc = strstr(table[i].text, NY) == NULL;
        cascade_spec *spec =
            specs_must(table[i].text, is_utc ? NULL : NEW_YORK);
        char *told = NULL;

        assert_int_equal(cascade_spec_describe(spec, &told), CASCADE_OK);
        assert_string_equal(told, table[i].told);
        cascade_text_free(told);
        cascade_spec_free(spec);
    }
}

/* ---- The machine's zones ------------------------------------------------- */

static char folder[] = "/tmp/cascade-zones.XXXXXX";

static const char *
path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void
put_file(const char *name, const void *bytes, size_t len)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void
make_folder(void)
{
    uint8_t bytes[MADE_SIZE];
    static uint8_t large[CASCADE_SPEC_ZONE_LEN_MAX + 1];
    size_t len = specs_rule(NEW_YORK, bytes);

    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TZDIR", folder, 1), 0);
    assert_int_equal(mkdir(path_of("America"), 0700), 0);
    put_file("America/New_York", bytes, len);
    put_file("empty", bytes, 0);
    put_file("cut", bytes, len - 20);
    put_file("text", "# tzdata", 8);
    put_file("large", large, sizeof(large));
    put_file("UTC", "# tzdata", 8); /* is not asked for */
    assert_int_equal(symlink("America/New_York", path_of("Eastern")), 0);
    assert_int_equal(symlink("nowhere", path_of("dangling")), 0);
    assert_int_equal(symlink("loop", path_of("loop")), 0);
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
}

static void
remove_folder(void)
{
    static const char *const names[] = {
        "America/New_York", "empty", "cut",  "text",    "large", "UTC",
        "Eastern",          "loop",  "fifo", "dangling"};

    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(unlink(path_of(names[i])), 0);
    assert_int_equal(rmdir(path_of("America")), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unsetenv("TZDIR"), 0);
}

static void
check_zone(const char *zone, cascade_err err, const char *why)
{
    cascade_spec *spec = NULL;
    size_t live = csc_mem_live();

    if (cascade_spec_create_cron("@daily", zone, &spec) != err)
        fail_msg("%s: %s", zone, cascade_errmsg());
    if (strstr(cascade_errmsg(), why) == NULL)
        fail_msg("%s: %s", zone, cascade_errmsg());
    cascade_spec_free(spec);
    assert_int_equal(csc_mem_live(), live);
}

static void
zones_are_read_from_their_folder(void **state)
{
    cascade_spec *spec = NULL;
    cascade_spec_fire fire;

    (void)state;
    make_folder();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            cascade_spec_create_cron(
                "0 9 * * *", i == 0 ? "America/New_York" : "Eastern", &spec),
            CASCADE_OK);
        assert_int_equal(
            cascade_spec_next(spec, specs_ms("2026-07-01T00:00Z"), &fire),
            CASCADE_OK);
        assert_memory_equal(fire.local, "2026-07-01T09:00:00-04:00[", 26);
        cascade_spec_free(spec);
    }
    check_zone("UTC", CASCADE_OK, "");
    check_zone("Europe/Paris", CASCADE_ERR_NOT_FOUND,
               "zone Europe/Paris: there is none in /tmp/cascade-zones.");
    check_zone("America/New_York/x", CASCADE_ERR_NOT_FOUND, "there is none");
    check_zone("dangling", CASCADE_ERR_NOT_FOUND, "there is none");
    check_zone("America", CASCADE_ERR_INVALID, "is no file");
    check_zone("fifo", CASCADE_ERR_INVALID, "is no file");
    check_zone("loop", CASCADE_ERR_SYSTEM, "zone loop: its file in");
    check_zone("large", CASCADE_ERR_TOO_LARGE, "over 65536 bytes");
    check_zone("empty", CASCADE_ERR_INVALID, "zone empty");
    check_zone("cut", CASCADE_ERR_INVALID, "zone cut");
    check_zone("text", CASCADE_ERR_INVALID, "zone text");
    remove_folder();
}

/* ---- Memory -------------------------------------------------------------- */

static cascade_err
use_all(const cascade_spec_options *options)
{
    cascade_spec *spec = NULL;
    cascade_spec *brief = NULL;
    char *told = NULL;
    cascade_err err = cascade_spec_create(
        "{\"cron\":[\"0 9 * * *\"],\"every\":[{\"every\":\"1h\",\"phase\":"
        "\"1m\"}],\"at\":[\"2026-01-01T00:00Z\"],\"exclude_cron\":\"@hourly\","
        "\"exclude_days\":[\"--12-25\"],\"start\":5,\"zone\":\"Some/City\"}",
        options, &spec);

    if (err == CASCADE_OK)
        err = cascade_spec_describe(spec, &told);
    if (err == CASCADE_OK)
        err = cascade_spec_create_cron("@daily", NULL, &brief);
    assert_true(err == CASCADE_OK || brief == NULL);
    cascade_text_free(told);
    cascade_spec_free(spec);
    cascade_spec_free(brief);
    return err;
}

static void
memory_may_run_out_anywhere(void **state)
{
    uint8_t bytes[MADE_SIZE];
    cascade_spec_options options = {.size = sizeof(options),
                                    .zone_bytes = bytes,
                                    .zone_len = specs_rule(NEW_YORK, bytes)};
    size_t live = csc_mem_live();

    (void)state;
    for (int sticky = 0; sticky <= 1; sticky++) {
        size_t nth = 0;
        bool done = false;

        while (!done) {
            cascade_err err;

            (void)csc_mem_fail_at(++nth, sticky);
            err = use_all(&options);
            done = csc_mem_fail_at(0, 0) < nth;
            assert_int_equal(err, done ? CASCADE_OK : CASCADE_ERR_NO_MEMORY);
            assert_int_equal(csc_mem_live(), live);
        }
        assert_true(nth > 20);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_has_a_canonical_text),
        cmocka_unit_test(the_short_form_is_a_pattern_and_a_zone),
        cmocka_unit_test(what_is_no_spec_is_refused_by_its_member),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(a_text_is_bounded_as_given_and_as_kept),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(a_spec_is_told_in_english),
        cmocka_unit_test(zones_are_read_from_their_folder),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
