/* SPDX-License-Identifier: MIT
 *
 * The members are found first, in one walk that refuses those it does not know;
 * then they are read in the order in which they need each other: the dialect
 * before patterns, the zone before times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "time/civil.h"
#include "time/spec.h"

#define US_OF_MS 1000
#define WHAT_SIZE 64
#define NAME_TOLD_MAX 40 /* bytes */

enum member {
    AT,
    END,
    CRON,
    ZONE,
    EVERY,
    START,
    DIALECT,
    DST_GAP,
    DST_FOLD,
    EXCLUDE_CRON,
    EXCLUDE_DAYS,
    MEMBER_COUNT
};

static const char *const names[MEMBER_COUNT] = {[AT] = "at",
                                                [END] = "end",
                                                [CRON] = "cron",
                                                [ZONE] = "zone",
                                                [EVERY] = "every",
                                                [START] = "start",
                                                [DIALECT] = "dialect",
                                                [DST_GAP] = "dst_gap",
                                                [DST_FOLD] = "dst_fold",
                                                [EXCLUDE_CRON] = "exclude_cron",
                                                [EXCLUDE_DAYS] =
                                                    "exclude_days"};

typedef struct reader {
    cascade_spec *spec;
    csc_arena scratch;
    int64_t least_ms;
    csc_json_span members[MEMBER_COUNT]; /* no data: not there */
} reader;

static bool
has(const reader *r, enum member member)
{
    return r->members[member].data != NULL;
}

/* ---- Values -------------------------------------------------------------- */

/* A string; `what` tells what may stand there. */
static cascade_err
read_string(reader *r, const char *what, const char *form, csc_json_span span,
            const char **text)
{
    char *copy = NULL;

    if (!csc_json_read_text(span, &copy))
        return csc_fail(CASCADE_ERR_INVALID, "%s: it is %s", what, form);
    if (copy == NULL)
        return csc_fail_memory();
    *text = csc_arena_strdup(&r->scratch, copy);
    csc_mem_free(copy);
    return *text != NULL ? CASCADE_OK : csc_fail_memory();
}

/* One of the words; its place. */
static cascade_err
read_word(reader *r, enum member member, const char *const *words, size_t count,
          const char *form, int *place)
{
    *place = 0;
    if (!has(r, member))
        return CASCADE_OK;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(words[i]);
        csc_json_span span = r->members[member];

        *place = (int)i;
        if (span.len == len + 2 && span.data[0] == '"' &&
            memcmp(span.data + 1, words[i], len) == 0)
            return CASCADE_OK;
    }
    return csc_fail(CASCADE_ERR_INVALID, "spec: %s: it is %s", names[member],
                    form);
}

/* A time with its offset, to the millisecond; in brackets there may be the
 * spec's own zone, as its fires have it. */
static cascade_err
parse_time(const reader *r, const char *what, const char *text, int64_t *at_ms)
{
    csc_civil_stamp stamp;
    cascade_err err = csc_civil_parse(what, text, &stamp);

    if (err != CASCADE_OK)
        return err;
    if (!stamp.has_offset)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: a time has an offset from UTC, as in "
                        "2026-01-31T23:59:59+01:00 or 2026-01-31T22:59:59Z",
                        what);
    if (stamp.zone[0] != '\0' && strcmp(stamp.zone, r->spec->zone_name) != 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: the zone in brackets is not the spec's", what);
    if (stamp.civil.us % US_OF_MS != 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: a time has three digits of a second at most",
                        what);
    *at_ms = (csc_civil_seconds(&stamp.civil) - stamp.offset_s) *
                 CSC_CIVIL_SECOND_MS +
             stamp.civil.us / US_OF_MS;
    return CASCADE_OK;
}

/* `last_ms` is the greatest that may stand there. */
static cascade_err
read_time_to(reader *r, const char *what, csc_json_span span, int64_t last_ms,
             int64_t *at_ms)
{
    const char *text = NULL;
    cascade_err err = CASCADE_OK;
    int64_t read_ms = 0;

    if (!csc_json_read_i64(span, &read_ms)) {
        err = read_string(r, what,
                          "a time like 2026-01-31T23:59:59+01:00, or "
                          "milliseconds since 1970-01-01 UTC",
                          span, &text);
        if (err == CASCADE_OK)
            err = parse_time(r, what, text, &read_ms);
    }
    if (err != CASCADE_OK)
        return err;
    if (read_ms < 0 || read_ms > last_ms)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: times are of the years 1970 to 2199", what);
    *at_ms = read_ms;
    return CASCADE_OK;
}

static cascade_err
read_time(reader *r, const char *what, csc_json_span span, int64_t *at_ms)
{
    return read_time_to(r, what, span, CSC_INTERVAL_END_MS - 1, at_ms);
}

static cascade_err
read_length(reader *r, const char *what, csc_json_span span, int64_t *length_ms)
{
    const char *text = NULL;
    cascade_err err =
        read_string(r, what, "a length of time like \"1h30m\"", span, &text);

    return err == CASCADE_OK ? csc_interval_parse(what, text, length_ms) : err;
}

/* ---- Lists --------------------------------------------------------------- */

/* Walks a list, or one value that stands alone. */
typedef struct list {
    csc_json_iter iter;
    csc_json_span alone; /* no data: none, or walked */
    csc_json_span value;
    size_t count; /* walked so far */
} list;

static void
list_begin(list *l, csc_json_span span)
{
    *l = (list){.value = {NULL, 0}};
    if (span.len > 0 && span.data[0] == '[')
        csc_json_read_iter_init(&l->iter, span.data, span.len);
    else
        l->alone = span;
}

static bool
list_next(list *l)
{
    if (l->alone.data != NULL) {
        l->value = l->alone;
        l->alone.data = NULL;
    } else if (l->iter.at != NULL && csc_json_read_next(&l->iter)) {
        l->value = l->iter.value;
    } else {
        return false;
    }
    l->count++;
    return true;
}

/* How many there are; CASCADE_ERR_TOO_LARGE over `max`. */
static cascade_err
count_list(const reader *r, enum member member, size_t max, size_t *count)
{
    list l;

    list_begin(&l, r->members[member]);
    while (list_next(&l))
        continue;
    if (l.count > max)
        return csc_fail(CASCADE_ERR_TOO_LARGE, "spec: %s: %zu entries at most",
                        names[member], max);
    *count = l.count;
    return CASCADE_OK;
}

/* "spec: cron 2": the entry that the list is at. */
static const char *
entry_name(enum member member, const list *l, char what[WHAT_SIZE])
{
    (void)snprintf(what, WHAT_SIZE, "spec: %s %zu", names[member], l->count);
    return what;
}

/* ---- Members ------------------------------------------------------------- */

/* Names of files that mean something else on each machine, or that only some
 * have beside the zone's own name. */
static cascade_err
check_zone_name(const char *name)
{
    if (strcmp(name, "localtime") == 0 || strcmp(name, "posixrules") == 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: zone: %s is another zone on each machine: give "
                        "its name, like Europe/Paris",
                        name);
    if (strncmp(name, "posix/", 6) == 0 || strncmp(name, "right/", 6) == 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: zone: not every machine has %s: give the name "
                        "without %.6s",
                        name, name);
    return CASCADE_OK;
}

static cascade_err
read_zone(reader *r)
{
    const char *name = "UTC";
    cascade_err err = CASCADE_OK;

    if (has(r, ZONE))
        err = read_string(r, "spec: zone",
                          "the name of a time zone, like \"Europe/Paris\"",
                          r->members[ZONE], &name);
    if (err == CASCADE_OK)
        err = csc_zone_check_name(name);
    if (err == CASCADE_OK)
        err = check_zone_name(name);
    if (err == CASCADE_OK)
        memcpy(r->spec->zone_name, name, strlen(name) + 1);
    return err;
}

static cascade_err
read_words(reader *r)
{
    static const char *const dialects[] = {"ocps", "quartz"};
    static const char *const gaps[] = {"next", "shift", "skip"};
    static const char *const folds[] = {"first", "last", "both", "none"};
    int place = 0;
    cascade_err err =
        read_word(r, DIALECT, dialects, 2, "\"ocps\" or \"quartz\"", &place);

    r->spec->dialect = (csc_cron_dialect)place;
    if (err == CASCADE_OK)
        err = read_word(r, DST_GAP, gaps, 3, "\"next\", \"shift\" or \"skip\"",
                        &place);
    r->spec->gap = (csc_dst_gap)place;
    if (err == CASCADE_OK)
        err = read_word(r, DST_FOLD, folds, 4,
                        "\"first\", \"last\", \"both\" or \"none\"", &place);
    r->spec->fold = (csc_dst_fold)place;
    return err;
}

static cascade_err
read_cron(reader *r, const char *what, csc_json_span span, csc_cron *cron)
{
    const char *text = NULL;
    cascade_err err =
        read_string(r, what, "a pattern like \"0 9 * * MON-FRI\"", span, &text);

    if (err == CASCADE_OK)
        err = csc_cron_parse(what, text, r->spec->dialect, cron);
    if (err == CASCADE_OK && cron->is_reboot)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: @reboot names no time: start the cascade when "
                        "your program begins",
                        what);
    return err;
}

static cascade_err
read_crons(reader *r, enum member member, csc_spec_crons *crons)
{
    char what[WHAT_SIZE];
    list l;
    cascade_err err =
        count_list(r, member, CASCADE_SPEC_CRON_MAX, &crons->count);

    if (err != CASCADE_OK)
        return err;
    crons->list = r->members[member];
    crons->crons = csc_arena_alloc(&r->spec->arena, crons->count + 1,
                                   sizeof(*crons->crons));
    if (crons->crons == NULL)
        return csc_fail_memory();
    list_begin(&l, r->members[member]);
    while (err == CASCADE_OK && list_next(&l))
        err = read_cron(r, entry_name(member, &l, what), l.value,
                        &crons->crons[l.count - 1]);
    return err;
}

/* What an object of `every` holds. */
typedef struct every_parts {
    csc_json_span every;
    csc_json_span phase;
    csc_json_span anchor;
} every_parts;

static cascade_err
find_every_parts(const char *what, csc_json_span span, every_parts *parts)
{
    csc_json_iter iter;
    bool is_known = true;

    csc_json_read_iter_init(&iter, span.data, span.len);
    while (is_known && csc_json_read_next(&iter)) {
        if (csc_json_read_is(iter.key, "every"))
            parts->every = iter.value;
        else if (csc_json_read_is(iter.key, "phase"))
            parts->phase = iter.value;
        else if (csc_json_read_is(iter.key, "anchor"))
            parts->anchor = iter.value;
        else
            is_known = false;
    }
    if (!is_known || parts->every.data == NULL ||
        (parts->phase.data != NULL && parts->anchor.data != NULL))
        return csc_fail(
            CASCADE_ERR_INVALID,
            "%s: an interval is a length of time like \"1h30m\", "
            "or {\"every\": \"1h30m\"} with \"phase\" or \"anchor\"",
            what);
    return CASCADE_OK;
}

static cascade_err
read_interval(reader *r, const char *what, csc_json_span span, size_t index)
{
    every_parts parts = {.every = span};
    csc_spec_every *every = &r->spec->every[index];
    int64_t every_ms = 0;
    int64_t from_ms = 0;
    cascade_err err = CASCADE_OK;

    if (span.data[0] == '{') {
        parts.every.data = NULL;
        err = find_every_parts(what, span, &parts);
    }
    if (err == CASCADE_OK)
        err = read_length(r, what, parts.every, &every_ms);
    if (err == CASCADE_OK && parts.phase.data != NULL)
        err = read_length(r, what, parts.phase, &from_ms);
    if (err == CASCADE_OK && parts.anchor.data != NULL)
        err = read_time(r, what, parts.anchor, &from_ms);
    if (err != CASCADE_OK)
        return err;
    every->has_anchor = parts.anchor.data != NULL;
    every->anchor_ms = from_ms;
    return csc_interval_init(&r->spec->intervals[index], what, every_ms,
                             from_ms, r->least_ms);
}

static cascade_err
read_every(reader *r)
{
    cascade_spec *spec = r->spec;
    char what[WHAT_SIZE];
    list l;
    cascade_err err =
        count_list(r, EVERY, CASCADE_SPEC_EVERY_MAX, &spec->interval_count);

    if (err != CASCADE_OK)
        return err;
    spec->intervals = csc_arena_alloc(&spec->arena, spec->interval_count + 1,
                                      sizeof(*spec->intervals));
    spec->every = csc_arena_alloc(&spec->arena, spec->interval_count + 1,
                                  sizeof(*spec->every));
    if (spec->intervals == NULL || spec->every == NULL)
        return csc_fail_memory();
    list_begin(&l, r->members[EVERY]);
    while (err == CASCADE_OK && list_next(&l))
        err =
            read_interval(r, entry_name(EVERY, &l, what), l.value, l.count - 1);
    return err;
}

static int
compare_instants(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static size_t
sort_instants(int64_t *instants_ms, size_t count)
{
    size_t kept = 0;

    if (count > 1)
        qsort(instants_ms, count, sizeof(*instants_ms), compare_instants);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || instants_ms[i] != instants_ms[kept - 1])
            instants_ms[kept++] = instants_ms[i];
    }
    return kept;
}

static cascade_err
read_at(reader *r)
{
    cascade_spec *spec = r->spec;
    char what[WHAT_SIZE];
    size_t count = 0;
    list l;
    cascade_err err = count_list(r, AT, CASCADE_SPEC_AT_MAX, &count);

    if (err != CASCADE_OK)
        return err;
    spec->instants_ms =
        csc_arena_alloc(&spec->arena, count + 1, sizeof(*spec->instants_ms));
    if (spec->instants_ms == NULL)
        return csc_fail_memory();
    list_begin(&l, r->members[AT]);
    while (err == CASCADE_OK && list_next(&l))
        err = read_time(r, entry_name(AT, &l, what), l.value,
                        &spec->instants_ms[l.count - 1]);
    if (err == CASCADE_OK)
        spec->instant_count = sort_instants(spec->instants_ms, count);
    return err;
}

static cascade_err
read_days(reader *r)
{
    cascade_spec *spec = r->spec;
    char what[WHAT_SIZE];
    const char **entries;
    list l;
    cascade_err err =
        count_list(r, EXCLUDE_DAYS, CASCADE_SPEC_DAYS_MAX, &spec->day_count);

    if (err != CASCADE_OK || spec->day_count == 0)
        return err;
    spec->day_list = r->members[EXCLUDE_DAYS];
    entries = csc_arena_alloc(&r->scratch, spec->day_count, sizeof(*entries));
    if (entries == NULL)
        return csc_fail_memory();
    list_begin(&l, spec->day_list);
    while (err == CASCADE_OK && list_next(&l))
        err = read_string(r, entry_name(EXCLUDE_DAYS, &l, what),
                          "a day like \"2026-12-25\" or \"--12-25\"", l.value,
                          &entries[l.count - 1]);
    if (err != CASCADE_OK)
        return err;
    return csc_calendar_create("spec: exclude_days", entries, spec->day_count,
                               &spec->days);
}

static cascade_err
read_bounds(reader *r)
{
    cascade_spec *spec = r->spec;
    cascade_err err = CASCADE_OK;

    if (has(r, START))
        err = read_time(r, "spec: start", r->members[START], &spec->start_ms);
    if (err == CASCADE_OK && has(r, END))
        err = read_time_to(r, "spec: end", r->members[END], CSC_INTERVAL_END_MS,
                           &spec->end_ms);
    if (err == CASCADE_OK && has(r, END) && spec->end_ms <= spec->start_ms)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: end: it is not behind the start");
    return err;
}

/* ---- The whole ----------------------------------------------------------- */

/* The name is as it stands in canonical JSON: escaped. It is cut between
 * characters. */
static cascade_err
fail_member(csc_json_span name)
{
    size_t len = name.len < NAME_TOLD_MAX ? name.len : NAME_TOLD_MAX;

    while (len < name.len && (name.data[len] & 0xc0) == 0x80)
        len--;
    return csc_fail(CASCADE_ERR_INVALID,
                    "spec: \"%.*s%s\" is none of zone, cron, dialect, every, "
                    "at, exclude_cron, exclude_days, start, end, dst_gap, "
                    "dst_fold",
                    (int)len, name.data, len < name.len ? "..." : "");
}

static cascade_err
find_members(reader *r, const char *canonical)
{
    csc_json_iter iter;

    if (canonical[0] != '{')
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: it is an object like {\"cron\": \"0 9 * * *\", "
                        "\"zone\": \"Europe/Paris\"}");
    csc_json_read_iter_init(&iter, canonical, strlen(canonical));
    while (csc_json_read_next(&iter)) {
        size_t member = 0;

        while (member < MEMBER_COUNT &&
               !csc_json_read_is(iter.key, names[member]))
            member++;
        if (member == MEMBER_COUNT)
            return fail_member(iter.key);
        r->members[member] = iter.value;
    }
    return CASCADE_OK;
}

static cascade_err
read_members(reader *r)
{
    cascade_spec *spec = r->spec;
    cascade_err err = read_zone(r);

    if (err == CASCADE_OK)
        err = read_words(r);
    if (err == CASCADE_OK)
        err = read_crons(r, CRON, &spec->crons);
    if (err == CASCADE_OK)
        err = read_every(r);
    if (err == CASCADE_OK)
        err = read_at(r);
    if (err == CASCADE_OK &&
        spec->crons.count + spec->interval_count + spec->instant_count == 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: it has none of cron, every and at");
    if (err == CASCADE_OK)
        err = read_crons(r, EXCLUDE_CRON, &spec->exclude_crons);
    if (err == CASCADE_OK)
        err = read_days(r);
    if (err == CASCADE_OK)
        err = read_bounds(r);
    return err;
}

cascade_err
csc_spec_read(cascade_spec *spec, const char *canonical, int64_t least_ms)
{
    reader r = {.spec = spec, .least_ms = least_ms};
    cascade_err err = find_members(&r, canonical);

    if (err == CASCADE_OK)
        err = read_members(&r);
    csc_arena_fini(&r.scratch);
    return err;
}
