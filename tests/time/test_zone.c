/* SPDX-License-Identifier: MIT
 *
 * Zones of files that the test writes: what is read, what is refused, rules,
 * gaps and folds.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/support.h"
#include "time/civil.h"
#include "time/made.h"

static const made_kind utc = {0, 0, "UTC"};

/* ---- Reading ------------------------------------------------------------- */

static const made_kind city_kinds[] = {
    {-17762, 0, "LMT"}, {-18000, 0, "EST"}, {-14400, 1, "EDT"}};
static const made_change city_changes[] = {
    {-1633280400, 1}, {1710054000, 2}, {1730613600, 1}};

static void
check_offset(const csc_zone *zone, const char *at, const char *local,
             const char *name)
{
    csc_zone_span span = csc_zone_at(zone, made_s(at));

    assert_int_equal(made_s(at) + span.offset_s, made_s(local));
    assert_string_equal(span.name, name);
    assert_true(span.from_s <= made_s(at) && made_s(at) < span.until_s);
}

static void
a_file_of_each_version_is_read(void **state)
{
    static const char versions[] = {'\0', '2', '3', '4'};

    (void)state;
    for (size_t i = 0; i < sizeof(versions); i++) {
        made_file file = {versions[i], city_kinds, 3, city_changes, 3, "EST5"};
        csc_zone *zone = made_zone_of("Some/City", &file);

        check_offset(zone, "1900-01-01T00:00Z", "1899-12-31T19:03:58", "LMT");
        check_offset(zone, "2024-03-10T06:59:59Z", "2024-03-10T01:59:59",
                     "EST");
        check_offset(zone, "2024-03-10T07:00:00Z", "2024-03-10T03:00:00",
                     "EDT");
        check_offset(zone, "2024-11-03T05:59:59Z", "2024-11-03T01:59:59",
                     "EDT");
        check_offset(zone, "2150-07-01T00:00Z", "2150-06-30T19:00", "EST");
        assert_string_equal(csc_zone_name(zone), "Some/City");
        assert_int_equal(csc_zone_offset_min_s(zone), -18000);
        assert_int_equal(csc_zone_offset_max_s(zone), -14400);
        csc_zone_free(zone);
    }
}

/* Without a rule the last offset stands. */
static void
a_file_without_a_rule_goes_on_as_it_ends(void **state)
{
    made_file file = {'2', city_kinds, 3, city_changes, 2, ""};
    csc_zone *zone = made_zone_of("Some/City", &file);

    (void)state;
    check_offset(zone, "2199-12-31T23:00Z", "2199-12-31T19:00", "EDT");
    csc_zone_free(zone);
}

static void
check_refused(const uint8_t *bytes, size_t len, cascade_err err,
              const char *why)
{
    size_t live = csc_mem_live();
    csc_zone *zone = NULL;

    assert_int_equal(csc_zone_create("Some/City", bytes, len, &zone), err);
    assert_null(zone);
    assert_int_equal(csc_mem_live(), live);
    if (strstr(cascade_errmsg(), why) == NULL)
        fail_msg("not for the reason '%s': %s", why, cascade_errmsg());
}

/* Each of a file's bytes set to a value that breaks a rule of the format. The
 * second header begins at byte 51, its block at 95: 3 times, 3 kinds of
 * changes, 3 kinds, 24 bytes of names. */
static void
what_breaks_a_rule_of_the_format_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
        const char *why;
    } table[] = {
        {0, 'X', "there is no header"},
        {51, 'X', "there is no header"},
        {55, '3', "different versions"},
        {32, 1, "ends early"}, /* very many changes */
        {51 + 32, 1, "ends early"},
        {51 + 23, 2, "flags for some kinds"},
        {51 + 27, 2, "flags for some kinds"},
        {51 + 39, 0, "no kind"},
        {51 + 43, 0, "no names"},
        {95, 0x80, "before or behind all time"},
        {95 + 16 + 4, 0, "do not ascend"},
        {95 + 24, 3, "a kind that is not there"},
        {95 + 27, 0x7f, "an offset is over a day"},
        {95 + 27 + 4, 2, "neither 0 nor 1"},
        {95 + 27 + 5, 24, "outside its names"},
        {95 + 27 + 18 + 1, 0x07, "no sign of ASCII"},
        {95 + 27 + 18 + 24, 'x', "two newlines"},
    };
    uint8_t bytes[MADE_SIZE];
    made_file file = {'2', city_kinds, 3, city_changes, 3, "EST5"};
    size_t len = made_bytes(&file, bytes);

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint8_t was = bytes[table[i].at];

        bytes[table[i].at] = table[i].byte;
        check_refused(bytes, len, CASCADE_ERR_INVALID, table[i].why);
        bytes[table[i].at] = was;
    }
    bytes[55] = bytes[4] = '5';
    check_refused(bytes, len, CASCADE_ERR_UNSUPPORTED, "version");
    bytes[55] = bytes[4] = '2';
    bytes[51 + 31] = 1;
    bytes[51 + 35] = 2; /* room for the leap second */
    check_refused(bytes, len, CASCADE_ERR_UNSUPPORTED, "leap seconds");
}

/* The flags of the three kinds, behind the block of a file of version 1: first
 * those for standard time, if there are any, then those for universal time. */
static void
check_flags(const char *standard, const char *universal, const char *why)
{
    uint8_t bytes[MADE_SIZE];
    made_file file = {'\0', city_kinds, 3, city_changes, 3, ""};
    size_t len = made_bytes(&file, bytes);
    csc_zone *zone = NULL;

    bytes[23] = (uint8_t)strlen(universal);
    bytes[27] = (uint8_t)strlen(standard);
    for (; *standard != '\0'; standard++)
        bytes[len++] = (uint8_t)(*standard - '0');
    for (; *universal != '\0'; universal++)
        bytes[len++] = (uint8_t)(*universal - '0');
    if (why != NULL) {
        check_refused(bytes, len, CASCADE_ERR_INVALID, why);
        return;
    }
    assert_int_equal(csc_zone_create("Some/City", bytes, len, &zone),
                     CASCADE_OK);
    csc_zone_free(zone);
}

static void
flags_of_kinds_are_checked(void **state)
{
    (void)state;
    check_flags("101", "100", NULL);
    check_flags("010", "", NULL);
    check_flags("", "000", NULL);
    check_flags("102", "", "neither 0 nor 1");
    check_flags("", "003", "neither 0 nor 1");
    check_flags("011", "110", "universal, not standard");
    check_flags("", "001", "universal, not standard");
}

static void
a_file_that_is_cut_or_goes_on_is_refused(void **state)
{
    uint8_t bytes[MADE_SIZE];
    made_file file = {'2', city_kinds, 3, city_changes, 3, "EST5"};
    size_t len = made_bytes(&file, bytes);
    csc_zone *zone = NULL;

    (void)state;
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(csc_zone_create("Some/City", bytes, cut, &zone),
                         CASCADE_ERR_INVALID);
    bytes[len] = 'x';
    check_refused(bytes, len + 1, CASCADE_ERR_INVALID, "two newlines");
    file.version = '\0';
    len = made_bytes(&file, bytes);
    bytes[len] = 'x';
    check_refused(bytes, len + 1, CASCADE_ERR_INVALID, "behind its end");
}

static void
a_file_of_any_size_is_bounded(void **state)
{
    uint8_t *bytes = csc_mem_zalloc(65537, 1);

    (void)state;
    assert_non_null(bytes);
    check_refused(bytes, 65537, CASCADE_ERR_TOO_LARGE, "65536");
    csc_mem_free(bytes);
}

static void
changes_that_are_too_dense_are_refused(void **state)
{
    made_change changes[9];
    uint8_t bytes[MADE_SIZE];
    made_file file = {'2', city_kinds, 3, changes, 8, ""};

    (void)state;
    for (size_t i = 0; i < 9; i++) {
        changes[i].at_s = (int64_t)i * 3600;
        changes[i].kind = (uint8_t)(i % 3);
    }
    check_refused(bytes, made_bytes(&file, bytes), CASCADE_ERR_INVALID,
                  "within some days");
    file.change_count = 7;
    csc_zone_free(made_zone_of("Some/City", &file));
}

static void
names_of_zones_are_checked(void **state)
{
    static const char *const good[] = {
        "UTC",       "Europe/Paris",           "America/Argentina/Ushuaia",
        "Etc/GMT+5", "America/Port-au-Prince", "a.b",
        "..."};
    static const char *const bad[] = {
        "",
        "/",
        "/etc/passwd",
        "Europe/",
        "../x",
        "a/../b",
        "a/./b",
        "a//b",
        "Europe/Par is",
        "a\nb",
        "Europe/Par\xc3\xads",
        "a2345678901234567890123456789012345678901234567890123456789012345"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(csc_zone_check_name(good[i]), CASCADE_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(csc_zone_check_name(bad[i]), CASCADE_ERR_INVALID);
    assert_int_equal(csc_zone_check_name(NULL), CASCADE_ERR_INVALID);
}

static void
every_allocation_may_fail(void **state)
{
    uint8_t bytes[MADE_SIZE];
    made_file file = {'2', &utc, 1, NULL, 0, "EST5EDT,M3.2.0,M11.1.0"};
    size_t len = made_bytes(&file, bytes);
    cascade_err err = CASCADE_ERR_NO_MEMORY;
    size_t live = csc_mem_live();
    size_t nth = 0;

    (void)state;
    while (err == CASCADE_ERR_NO_MEMORY) {
        csc_zone *zone = NULL;

        (void)csc_mem_fail_at(++nth, 0);
        err = csc_zone_create("Some/City", bytes, len, &zone);
        (void)csc_mem_fail_at(0, 0);
        csc_zone_free(zone);
        assert_int_equal(csc_mem_live(), live);
    }
    assert_int_equal(err, CASCADE_OK);
    assert_int_equal(nth, 9);
}

/* ---- Rules --------------------------------------------------------------- */

static void
check_year(const char *rule, const char *start, const char *end)
{
    csc_zone *zone = made_zone("Some/City", rule);
    int64_t start_s = made_s(start);
    int64_t end_s = made_s(end);

    if (csc_zone_at(zone, start_s).from_s != start_s ||
        csc_zone_at(zone, end_s).from_s != end_s)
        fail_msg("%s: no change at %s and at %s", rule, start, end);
    assert_true(csc_zone_at(zone, start_s).is_dst);
    assert_false(csc_zone_at(zone, start_s - 1).is_dst);
    assert_false(csc_zone_at(zone, end_s).is_dst);
    assert_true(csc_zone_at(zone, end_s - 1).is_dst);
    csc_zone_free(zone);
}

/* Of tzdata, and of RFC 9636's and POSIX's own examples. */
static void
rules_change_when_they_say(void **state)
{
    (void)state;
    check_year("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T02:00-05:00",
               "2026-11-01T02:00-04:00");
    check_year("CET-1CEST,M3.5.0,M10.5.0/3", "2150-03-29T01:00Z",
               "2150-10-25T01:00Z");
    check_year("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-10-04T02:00+10:30",
               "2026-04-05T02:00+11:00");
    check_year("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-10-25T01:00Z",
               "2026-03-29T01:00Z"); /* winter time is Dublin's DST */
    check_year("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T01:00Z",
               "2024-10-27T01:00Z"); /* Nuuk: Saturday, 22:00 */
    check_year("<-04>4<-03>,M9.1.6/24,M4.1.6/24", "2026-09-06T04:00Z",
               "2026-04-05T03:00Z"); /* Santiago: midnight */
    check_year("IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-27T02:00+02:00",
               "2026-10-25T02:00+03:00"); /* Jerusalem: Friday behind */
    check_year("AAA3BBB,J60/0,J300/0", "2024-03-01T00:00-03:00",
               "2024-10-27T00:00-02:00"); /* J60 is 1 March in each year */
    check_year("AAA3BBB,J60/0,J300/0", "2023-03-01T00:00-03:00",
               "2023-10-27T00:00-02:00");
    check_year("AAA3BBB,59/0,300/0", "2024-02-29T00:00-03:00",
               "2024-10-27T00:00-02:00"); /* 59 is not */
    check_year("AAA3BBB,J100/167,J200/-167", "2026-04-16T23:00-03:00",
               "2026-07-12T01:00-02:00");
    /* An end before New Year, by a start behind it, each of the year after. */
    check_year("AAA0BBB,J364/0,J1/-160", "2026-12-30T00:00Z",
               "2027-12-25T07:00Z");
}

static void
check_always_dst(const char *rule, int32_t offset_s)
{
    csc_zone *zone = made_zone("Some/City", rule);

    for (int32_t year = 1970; year <= 2199; year++) {
        int64_t at_s = csc_civil_days(year, 1, 1) * CSC_CIVIL_DAY_S;

        for (int hour = -30; hour <= 30; hour++) {
            csc_zone_span span = csc_zone_at(zone, at_s + hour * 3600);

            assert_true(span.is_dst);
            assert_int_equal(span.offset_s, offset_s);
        }
    }
    csc_zone_free(zone);
}

static void
daylight_saving_time_may_last_all_year(void **state)
{
    (void)state;
    check_always_dst("EST5EDT,0/0,J365/25", -14400);
    check_always_dst("CCC3EDT4,0/0,J365/23", -14400);
    check_always_dst("EST5EDT,J1/0,J365/25", -14400);
    check_always_dst("EST5EDT,J1/0,J365/100", -14400);
}

static void
check_rule_refused(char version, const char *rule, const char *why)
{
    uint8_t bytes[MADE_SIZE];
    made_file file = {version, &utc, 1, NULL, 0, rule};

    check_refused(bytes, made_bytes(&file, bytes), CASCADE_ERR_INVALID, why);
}

static void
rules_that_are_none_are_refused(void **state)
{
    (void)state;
    check_rule_refused('3', "E5", "the name of standard time");
    check_rule_refused('3', "<EST5", "the name of standard time");
    check_rule_refused('3', "EST", "the offset of standard time");
    check_rule_refused('3', "EST25", "the offset of standard time");
    check_rule_refused('3', "EST5:60", "the offset of standard time");
    check_rule_refused('3', "EST5EDT", "the start");
    check_rule_refused('3', "EST5ED,1,2", "the name of daylight");
    check_rule_refused('3', "EST5EDT4:,1,2", "the offset of daylight");
    check_rule_refused('3', "EST5EDT,M13.1.0,M11.1.0", "the start");
    check_rule_refused('3', "EST5EDT,M3.6.0,M11.1.0", "the start");
    check_rule_refused('3', "EST5EDT,M3.1.7,M11.1.0", "the start");
    check_rule_refused('3', "EST5EDT,J0,M11.1.0", "the start");
    check_rule_refused('3', "EST5EDT,J366,M11.1.0", "the start");
    check_rule_refused('3', "EST5EDT,366,M11.1.0", "the start");
    check_rule_refused('3', "EST5EDT,M3.2.0", "the end");
    check_rule_refused('3', "EST5EDT,M3.2.0,M11.1.0/168", "the end");
    check_rule_refused('2', "EST5EDT,M3.2.0,M11.1.0/25", "the end");
    check_rule_refused('2', "EST5EDT,M3.2.0/-1,M11.1.0", "the start");
    check_rule_refused('3', "EST5EDT,M3.2.0,M11.1.0,", "more behind");
    check_rule_refused('3', "EST5\nEST5", "the name of daylight");
}

static void
a_rule_must_go_on_from_the_last_change(void **state)
{
    uint8_t bytes[MADE_SIZE];
    made_file file = {'2', city_kinds, 3, city_changes, 3, "EST6"};

    (void)state;
    check_refused(bytes, made_bytes(&file, bytes), CASCADE_ERR_INVALID,
                  "contradicts its last change");
}

/* ---- Local times --------------------------------------------------------- */

static void
gaps_are_known_by_their_change(void **state)
{
    csc_zone *zone = made_zone("Some/City", "EST5EDT,M3.2.0,M11.1.0");
    csc_zone_piece piece = csc_zone_local(zone, made_s("2026-03-08T02:30"));

    (void)state;
    assert_int_equal(piece.count, 0);
    assert_int_equal(piece.from_s, made_s("2026-03-08T02:00"));
    assert_int_equal(piece.until_s, made_s("2026-03-08T03:00"));
    assert_int_equal(piece.gap_s, made_s("2026-03-08T07:00Z"));
    assert_int_equal(piece.gap_before_s, -18000);
    assert_int_equal(piece.gap_after_s, -14400);
    csc_zone_free(zone);
}

static void
folds_have_two_instants_in_order(void **state)
{
    csc_zone *zone = made_zone("Some/City", "EST5EDT,M3.2.0,M11.1.0");
    csc_zone_piece piece = csc_zone_local(zone, made_s("2026-11-01T01:00"));

    (void)state;
    assert_int_equal(piece.count, 2);
    assert_int_equal(piece.from_s, made_s("2026-11-01T01:00"));
    assert_int_equal(piece.until_s, made_s("2026-11-01T02:00"));
    assert_int_equal(piece.offsets_s[0], -14400);
    assert_int_equal(piece.offsets_s[1], -18000);
    piece = csc_zone_local(zone, made_s("2026-11-01T00:59:59"));
    assert_int_equal(piece.count, 1);
    assert_int_equal(piece.from_s, made_s("2026-03-08T03:00"));
    assert_int_equal(piece.until_s, made_s("2026-11-01T01:00"));
    csc_zone_free(zone);
}

static void
a_fixed_zone_has_one_piece(void **state)
{
    csc_zone *zone = NULL;
    csc_zone_piece piece;

    (void)state;
    assert_int_equal(csc_zone_create_fixed("UTC", 0, &zone), CASCADE_OK);
    piece = csc_zone_local(zone, 0);
    assert_int_equal(piece.count, 1);
    assert_int_equal(piece.from_s, INT64_MIN);
    assert_int_equal(piece.until_s, INT64_MAX);
    csc_zone_free(zone);
    assert_int_equal(csc_zone_create_fixed("UTC", 93600, &zone),
                     CASCADE_ERR_INVALID);
}

/* What a piece says of a local time is what the instants say: with every
 * offset of the zone. */
static void
check_local(const csc_zone *zone, const made_file *file, int64_t local_s,
            const csc_zone_piece *piece)
{
    size_t times = 0;

    for (int64_t back_s = csc_zone_offset_max_s(zone);
         back_s >= csc_zone_offset_min_s(zone); back_s -= 60) {
        if (csc_zone_at(zone, local_s - back_s).offset_s != back_s)
            continue;
        assert_true(times < piece->count);
        assert_int_equal(piece->offsets_s[times], back_s);
        times++;
    }
    assert_int_equal(times, piece->count);
    if (times == 0) {
        assert_true(piece->gap_s + piece->gap_before_s <= local_s);
        assert_true(piece->gap_s + piece->gap_after_s > local_s);
    }
    (void)file;
}

/* Changes by whole minutes, some minutes or days apart, up and down. */
static void
pieces_are_what_the_instants_say(void **state)
{
    support_rng rng = support_rng_open("pieces_are_what_the_instants_say");

    (void)state;
    for (int round = 0; round < 200; round++) {
        made_kind kinds[5];
        made_change changes[7];
        made_file file = {'2', kinds, 5, changes, 7, ""};
        int64_t at_s = 0;
        csc_zone *zone;

        for (size_t i = 0; i < 5; i++)
            kinds[i] = (made_kind){
                ((int32_t)support_rng_below(&rng, 360) - 180) * 60, 0, "AAA"};
        for (size_t i = 0; i < 7; i++) {
            at_s += 60 * (int64_t)(1 + support_rng_below(&rng, 240));
            changes[i] =
                (made_change){at_s, (uint8_t)support_rng_below(&rng, 5)};
        }
        zone = made_zone_of("Some/City", &file);
        for (int64_t local_s = -20000; local_s < at_s + 20000; local_s += 60) {
            csc_zone_piece piece = csc_zone_local(zone, local_s);

            assert_true(piece.from_s <= local_s && local_s < piece.until_s);
            check_local(zone, &file, local_s, &piece);
            if (piece.until_s != INT64_MAX)
                check_local(zone, &file, piece.until_s - 60, &piece);
            if (piece.from_s != INT64_MIN)
                check_local(zone, &file, piece.from_s, &piece);
        }
        csc_zone_free(zone);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_each_version_is_read),
        cmocka_unit_test(a_file_without_a_rule_goes_on_as_it_ends),
        cmocka_unit_test(what_breaks_a_rule_of_the_format_is_refused),
        cmocka_unit_test(flags_of_kinds_are_checked),
        cmocka_unit_test(a_file_that_is_cut_or_goes_on_is_refused),
        cmocka_unit_test(a_file_of_any_size_is_bounded),
        cmocka_unit_test(changes_that_are_too_dense_are_refused),
        cmocka_unit_test(names_of_zones_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(rules_change_when_they_say),
        cmocka_unit_test(daylight_saving_time_may_last_all_year),
        cmocka_unit_test(rules_that_are_none_are_refused),
        cmocka_unit_test(a_rule_must_go_on_from_the_last_change),
        cmocka_unit_test(gaps_are_known_by_their_change),
        cmocka_unit_test(folds_have_two_instants_in_order),
        cmocka_unit_test(a_fixed_zone_has_one_piece),
        cmocka_unit_test(pieces_are_what_the_instants_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
