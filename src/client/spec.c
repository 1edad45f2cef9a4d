/* SPDX-License-Identifier: MIT
 *
 * The public calls of schedule.h: they find the zone that a spec names, and
 * hand out what the floor of time finds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/zoneinfo.h"
#include "cascade/schedule.h"
#include "time/civil.h"
#include "time/spec.h"
#include "time/tzif.h"

#define INTERVAL_MIN_MS 1000
#define LIST_PART 64 /* fires that are looked for at once */

_Static_assert(CASCADE_SPEC_ZONE_LEN_MAX == CSC_TZIF_SIZE_MAX,
               "the limit of a zone file is that of its reader");
_Static_assert(CASCADE_SPEC_DAYS_MAX == CSC_CALENDAR_ENTRIES_MAX,
               "the limit of a calendar is that of its maker");
_Static_assert(CASCADE_SPEC_FIRE_TEXT_SIZE >= CSC_CIVIL_TEXT_SIZE,
               "a fire has room for any time");

/* ---- Making -------------------------------------------------------------- */

static cascade_err
load_zone(const char *name, csc_zone **zone)
{
    csc_buf bytes = {0};
    cascade_err err = csc_zoneinfo_read(name, CSC_TZIF_SIZE_MAX, &bytes);

    if (err == CASCADE_OK)
        err = csc_zone_create(name, bytes.data, bytes.len, zone);
    csc_buf_fini(&bytes);
    return err;
}

static cascade_err
find_zone(const char *name, const cascade_spec_options *options,
          csc_zone **zone)
{
    if (options->zone_bytes != NULL)
        return csc_zone_create(name, options->zone_bytes, options->zone_len,
                               zone);
    if (strcmp(name, "UTC") == 0)
        return csc_zone_create_fixed(name, 0, zone);
    return load_zone(name, zone);
}

static cascade_err
check_create_options(const cascade_spec_options *given,
                     cascade_spec_options *known)
{
    cascade_err err =
        csc_check_options("spec options", given, known, sizeof(*known));

    if (err != CASCADE_OK)
        return err;
    if (known->zone_bytes == NULL && known->zone_len != 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec options: zone_len without zone_bytes");
    if (known->interval_min_ms == 0)
        known->interval_min_ms = INTERVAL_MIN_MS;
    if (known->interval_min_ms < CSC_INTERVAL_LEAST_MS ||
        known->interval_min_ms > CSC_INTERVAL_MOST_MS)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec options: interval_min_ms is 0 or %d ms at least, "
                        "100 years at most",
                        CSC_INTERVAL_LEAST_MS);
    return CASCADE_OK;
}

static cascade_err
create(const char *text, const cascade_spec_options *options,
       cascade_spec **spec)
{
    cascade_spec *made = NULL;
    csc_zone *zone = NULL;
    cascade_err err = csc_spec_create(text, options->interval_min_ms, &made);

    if (err == CASCADE_OK)
        err = find_zone(made->zone_name, options, &zone);
    if (err != CASCADE_OK) {
        csc_spec_free(made);
        return err;
    }
    csc_spec_take_zone(made, zone);
    *spec = made;
    return csc_ok();
}

cascade_err
cascade_spec_create(const char *text, const cascade_spec_options *options,
                    cascade_spec **spec)
{
    cascade_spec_options known;
    cascade_err err = check_create_options(options, &known);

    if (err != CASCADE_OK)
        return err;
    if (text == NULL || spec == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: the text, or where it goes, is NULL");
    return create(text, &known, spec);
}

/* A text of the caller's as a JSON string. */
static cascade_err
add_string(const char *what, const char *text, size_t max, csc_buf *out)
{
    size_t len = strnlen(text, max + 1);

    if (len > max)
        return csc_fail(CASCADE_ERR_TOO_LARGE, "spec: %s: %zu bytes at most",
                        what, max);
    if (!csc_json_utf8_is(text, len))
        return csc_fail(CASCADE_ERR_INVALID, "spec: %s: it is no UTF-8", what);
    csc_json_add_string(out, text);
    return CASCADE_OK;
}

static cascade_err
write_cron(const char *cron, const char *zone, csc_buf *out)
{
    cascade_err err;

    csc_buf_add_text(out, "{\"cron\":");
    err = add_string("cron", cron, CSC_CRON_TEXT_MAX, out);
    if (err == CASCADE_OK && zone != NULL) {
        csc_buf_add_text(out, ",\"zone\":");
        err = add_string("zone", zone, CSC_ZONE_NAME_MAX, out);
    }
    csc_buf_add_char(out, '}');
    return err == CASCADE_OK && out->failed ? csc_fail_memory() : err;
}

cascade_err
cascade_spec_create_cron(const char *cron, const char *zone,
                         cascade_spec **spec)
{
    cascade_spec_options defaults;
    csc_buf text = {0};
    cascade_err err = check_create_options(NULL, &defaults);

    if (cron == NULL || spec == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: the pattern, or where it goes, is NULL");
    if (err == CASCADE_OK)
        err = write_cron(cron, zone, &text);
    if (err == CASCADE_OK)
        err = create(text.data, &defaults, spec);
    csc_buf_fini(&text);
    return err;
}

void
cascade_spec_free(cascade_spec *spec)
{
    csc_spec_free(spec);
}

/* ---- Texts --------------------------------------------------------------- */

const char *
cascade_spec_text(const cascade_spec *spec)
{
    return spec != NULL ? spec->text : NULL;
}

cascade_err
cascade_spec_describe(const cascade_spec *spec, char **text)
{
    csc_buf out = {0};
    char *made;

    if (spec == NULL || text == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: it, or where its description goes, is NULL");
    csc_spec_describe(spec, &out);
    made = csc_buf_take(&out);
    if (made == NULL)
        return csc_fail_memory();
    *text = made;
    return csc_ok();
}

/* ---- Fires --------------------------------------------------------------- */

static void
write_fire(const cascade_spec *spec, const csc_rules_fire *found,
           cascade_spec_fire *fire)
{
    int64_t at_s = csc_civil_div(found->at_ms, CSC_CIVIL_SECOND_MS);
    csc_civil_stamp local = {.has_offset = true, .offset_s = found->offset_s};
    csc_civil_stamp nominal = {.has_offset = false};

    *fire = (cascade_spec_fire){.at_ms = found->at_ms,
                                .clock = csc_spec_clock(spec, found),
                                .source = (cascade_spec_source)found->source,
                                .entry = found->index,
                                .nominal_count = found->nominal_count};
    csc_civil_split(at_s + found->offset_s, &local.civil);
    csc_civil_split(found->local_s, &nominal.civil);
    local.civil.us =
        (int32_t)(found->at_ms - at_s * CSC_CIVIL_SECOND_MS) * 1000;
    nominal.civil.us = local.civil.us;
    (void)snprintf(local.zone, sizeof(local.zone), "%s", spec->zone_name);
    csc_civil_format(&local, fire->local);
    csc_civil_format(&nominal, fire->nominal);
}

static cascade_err
check_search(const cascade_spec *spec, const cascade_spec_fire *fire)
{
    if (spec == NULL || fire == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: it, or where the fire goes, is NULL");
    return CASCADE_OK;
}

/* What a search found; `none` says that there is nothing. */
static cascade_err
answer(const cascade_spec *spec, csc_rules_answer found,
       const csc_rules_fire *last, const char *none, cascade_spec_fire *fire)
{
    switch (found) {
    case CSC_RULES_FOUND:
        write_fire(spec, last, fire);
        return csc_ok();
    case CSC_RULES_SO_FAR:
        *fire = (cascade_spec_fire){.at_ms = last->at_ms};
        return csc_fail(CASCADE_ERR_AGAIN,
                        "spec: all the times that were looked at are excluded; "
                        "go on from the last of them");
    case CSC_RULES_NONE:
        break;
    }
    return csc_fail(CASCADE_ERR_NOT_FOUND, "spec: %s", none);
}

cascade_err
cascade_spec_next(const cascade_spec *spec, int64_t after_ms,
                  cascade_spec_fire *fire)
{
    csc_rules_fire last = {0};
    csc_rules_answer found;
    cascade_err err = check_search(spec, fire);

    if (err != CASCADE_OK)
        return err;
    found =
        csc_rules_next(&spec->rules, after_ms, csc_spec_budget(spec), &last);
    return answer(spec, found, &last,
                  after_ms == INT64_MIN ? "it never fires"
                                        : "it does not fire behind this time",
                  fire);
}

cascade_err
cascade_spec_previous(const cascade_spec *spec, int64_t before_ms,
                      cascade_spec_fire *fire)
{
    csc_rules_fire last = {0};
    csc_rules_answer found;
    cascade_err err = check_search(spec, fire);

    if (err != CASCADE_OK)
        return err;
    found = csc_rules_previous(&spec->rules, before_ms, csc_spec_budget(spec),
                               &last);
    return answer(spec, found, &last,
                  before_ms == INT64_MAX ? "it never fires"
                                         : "it does not fire before this time",
                  fire);
}

/* Up to `most` fires from *next_ms on, which becomes the time to go on from;
 * how many. What fires counts apart from what is excluded; and one in each
 * part. A part that is not full has come to to_ms, or to the budget's end. */
static size_t
fill_list(const cascade_spec *spec, int64_t *next_ms, int64_t to_ms,
          cascade_spec_fire *fires, size_t most)
{
    size_t budget = csc_spec_budget(spec) + most + most / LIST_PART;
    size_t count = 0;

    while (count < most && *next_ms < to_ms && budget > 0) {
        csc_rules_fire part[LIST_PART];
        size_t room = most - count < LIST_PART ? most - count : LIST_PART;
        size_t found = csc_rules_between(&spec->rules, *next_ms, to_ms, &budget,
                                         part, room, next_ms);

        for (size_t i = 0; i < found; i++)
            write_fire(spec, &part[i], &fires[count++]);
    }
    return count;
}

cascade_err
cascade_spec_list(const cascade_spec *spec, int64_t from_ms, int64_t to_ms,
                  cascade_spec_fire *fires, size_t max, size_t *count,
                  int64_t *more_ms)
{
    int64_t next_ms = from_ms;

    if (spec == NULL || count == NULL || (fires == NULL && max > 0))
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: it, or where the fires go, is NULL");
    *count =
        fill_list(spec, &next_ms, to_ms, fires,
                  max < CASCADE_SPEC_LIST_MAX ? max : CASCADE_SPEC_LIST_MAX);
    if (more_ms != NULL)
        *more_ms = next_ms < to_ms ? next_ms : to_ms;
    return csc_ok();
}

/* ---- One instant --------------------------------------------------------- */

bool
cascade_spec_matches(const cascade_spec *spec, int64_t at_ms)
{
    return spec != NULL && csc_rules_matches(&spec->rules, at_ms);
}

static void
tell_why(const cascade_spec *spec, cascade_spec_answer *answer)
{
    char time[CSC_SPEC_TIME_SIZE];
    char *text = answer->text;

    switch (answer->why) {
    case CASCADE_SPEC_FIRES:
        (void)snprintf(text, CASCADE_SPEC_ANSWER_SIZE, "it fires");
        break;
    case CASCADE_SPEC_NO_SOURCE:
        (void)snprintf(text, CASCADE_SPEC_ANSWER_SIZE,
                       "no pattern, interval or time names this instant");
        break;
    case CASCADE_SPEC_BEFORE_START:
        if (spec->start_ms == 0)
            (void)snprintf(text, CASCADE_SPEC_ANSWER_SIZE,
                           "nothing fires before the year 1970");
        else
            (void)snprintf(text, CASCADE_SPEC_ANSWER_SIZE,
                           "it is before the start, %s",
                           csc_spec_time(spec->start_ms, time));
        break;
    case CASCADE_SPEC_BEHIND_END:
        (void)snprintf(text, CASCADE_SPEC_ANSWER_SIZE,
                       "it is at the end or behind it, %s",
                       csc_spec_time(spec->end_ms, time));
        break;
    case CASCADE_SPEC_EXCLUDED_BY_CRON:
        (void)snprintf(text, CASCADE_SPEC_ANSWER_SIZE,
                       "it is excluded by entry %zu of exclude_cron",
                       answer->entry + 1);
        break;
    case CASCADE_SPEC_EXCLUDED_BY_DAYS:
        (void)snprintf(text, CASCADE_SPEC_ANSWER_SIZE,
                       "its day is excluded by entry %zu of exclude_days",
                       answer->entry + 1);
        break;
    }
}

cascade_err
cascade_spec_explain(const cascade_spec *spec, int64_t at_ms,
                     cascade_spec_answer *answer)
{
    static const cascade_spec_why whys[] = {
        [CSC_RULES_FIRES] = CASCADE_SPEC_FIRES,
        [CSC_RULES_NO_CANDIDATE] = CASCADE_SPEC_NO_SOURCE,
        [CSC_RULES_BEFORE_START] = CASCADE_SPEC_BEFORE_START,
        [CSC_RULES_BEHIND_END] = CASCADE_SPEC_BEHIND_END,
        [CSC_RULES_EXCLUDED_BY_CRON] = CASCADE_SPEC_EXCLUDED_BY_CRON,
        [CSC_RULES_EXCLUDED_BY_CALENDAR] = CASCADE_SPEC_EXCLUDED_BY_DAYS};
    csc_rules_why why;
    int64_t local_s = 0;
    size_t entry = 0;

    if (spec == NULL || answer == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "spec: it, or where the answer goes, is NULL");
    why = csc_rules_explain(&spec->rules, at_ms, &local_s, &entry);
    *answer = (cascade_spec_answer){.why = whys[why]};
    if (answer->why == CASCADE_SPEC_EXCLUDED_BY_CRON)
        answer->entry = entry;
    if (answer->why == CASCADE_SPEC_EXCLUDED_BY_DAYS)
        answer->entry = csc_spec_day_entry(spec, local_s);
    tell_why(spec, answer);
    return csc_ok();
}
