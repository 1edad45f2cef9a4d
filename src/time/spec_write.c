/* SPDX-License-Identifier: MIT
 *
 * A spec as canonical text: members by length, then bytes; lists also of one;
 * defaults left out, but the zone; times in UTC. And as plain English.
 */
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json_object.h"
#include "time/civil.h"
#include "time/describe.h"
#include "time/spec.h"

#define TIMES_TOLD_MAX 3

char *
csc_spec_time(int64_t at_ms, char text[CSC_SPEC_TIME_SIZE])
{
    csc_civil_stamp stamp = {.has_offset = true};

    csc_civil_split(csc_civil_div(at_ms, CSC_CIVIL_SECOND_MS), &stamp.civil);
    stamp.civil.us = (int32_t)csc_civil_mod(at_ms, CSC_CIVIL_SECOND_MS) * 1000;
    return csc_civil_format(&stamp, text);
}

/* ---- Canonical text ------------------------------------------------------ */

/* A list as it stands, or a list of the one that stands alone. */
static void
add_list(csc_json_object *object, const char *name, size_t count,
         csc_json_span list)
{
    if (count == 0)
        return;
    if (list.data[0] == '[') {
        csc_json_object_add_span(object, name, list);
        return;
    }
    csc_json_object_add_json(object, name, "[");
    csc_buf_add(object->out, list.data, list.len);
    csc_buf_add_char(object->out, ']');
}

static void
add_times(csc_json_object *object, const cascade_spec *spec)
{
    char text[CSC_SPEC_TIME_SIZE];

    if (spec->instant_count == 0)
        return;
    csc_json_object_add_json(object, "at", "[");
    for (size_t i = 0; i < spec->instant_count; i++)
        csc_buf_add_format(object->out, "%s\"%s\"", i > 0 ? "," : "",
                           csc_spec_time(spec->instants_ms[i], text));
    csc_buf_add_char(object->out, ']');
}

static void
add_interval(csc_buf *out, const csc_interval *interval,
             const csc_spec_every *every)
{
    char length[CSC_INTERVAL_TEXT_SIZE];
    char phase[CSC_INTERVAL_TEXT_SIZE];
    char time[CSC_SPEC_TIME_SIZE];

    csc_interval_format(interval->every_ms, length);
    if (every->has_anchor)
        csc_buf_add_format(out, "{\"every\":\"%s\",\"anchor\":\"%s\"}", length,
                           csc_spec_time(every->anchor_ms, time));
    else if (interval->phase_ms != 0)
        csc_buf_add_format(out, "{\"every\":\"%s\",\"phase\":\"%s\"}", length,
                           csc_interval_format(interval->phase_ms, phase));
    else
        csc_buf_add_format(out, "\"%s\"", length);
}

static void
add_every(csc_json_object *object, const cascade_spec *spec)
{
    if (spec->interval_count == 0)
        return;
    csc_json_object_add_json(object, "every", "[");
    for (size_t i = 0; i < spec->interval_count; i++) {
        if (i > 0)
            csc_buf_add_char(object->out, ',');
        add_interval(object->out, &spec->intervals[i], &spec->every[i]);
    }
    csc_buf_add_char(object->out, ']');
}

static void
add_bound(csc_json_object *object, const char *name, int64_t at_ms)
{
    char text[CSC_SPEC_TIME_SIZE];

    if (at_ms != 0)
        csc_json_object_add_text(object, name, csc_spec_time(at_ms, text));
}

static void
add_policies(csc_json_object *object, const cascade_spec *spec)
{
    static const char *const gaps[] = {
        [CSC_DST_GAP_SHIFT] = "shift", [CSC_DST_GAP_SKIP] = "skip"};
    static const char *const folds[] = {[CSC_DST_FOLD_LAST] = "last",
                                        [CSC_DST_FOLD_BOTH] = "both",
                                        [CSC_DST_FOLD_NONE] = "none"};

    if (spec->dialect == CSC_CRON_QUARTZ)
        csc_json_object_add_text(object, "dialect", "quartz");
    csc_json_object_add_string(object, "dst_gap", gaps[spec->gap]);
    csc_json_object_add_string(object, "dst_fold", folds[spec->fold]);
}

void
csc_spec_write(const cascade_spec *spec, csc_buf *out)
{
    csc_json_object object;

    csc_json_object_begin(&object, out);
    add_times(&object, spec);
    add_bound(&object, "end", spec->end_ms);
    add_list(&object, "cron", spec->crons.count, spec->crons.list);
    csc_json_object_add_text(&object, "zone", spec->zone_name);
    add_every(&object, spec);
    add_bound(&object, "start", spec->start_ms);
    add_policies(&object, spec);
    add_list(&object, "exclude_cron", spec->exclude_crons.count,
             spec->exclude_crons.list);
    add_list(&object, "exclude_days", spec->day_count, spec->day_list);
    csc_json_object_end(&object);
}

/* ---- English ------------------------------------------------------------- */

static void
tell_crons(const csc_spec_crons *crons, const char *before, csc_buf *out)
{
    for (size_t i = 0; i < crons->count; i++) {
        csc_buf_add_text(out, before);
        csc_describe_cron(&crons->crons[i], out);
        csc_buf_add_char(out, '\n');
    }
}

static void
tell_intervals(const cascade_spec *spec, csc_buf *out)
{
    char text[CSC_SPEC_TIME_SIZE];

    for (size_t i = 0; i < spec->interval_count; i++) {
        const csc_interval *interval = &spec->intervals[i];

        csc_describe_interval(interval, out);
        if (spec->every[i].has_anchor)
            csc_buf_add_format(out, ", counted from %s",
                               csc_spec_time(spec->every[i].anchor_ms, text));
        else if (interval->phase_ms != 0)
            csc_buf_add_format(out, ", counted from %s",
                               csc_spec_time(interval->phase_ms, text));
        csc_buf_add_char(out, '\n');
    }
}

static void
tell_times(const cascade_spec *spec, csc_buf *out)
{
    char text[CSC_SPEC_TIME_SIZE];

    for (size_t i = 0; i < spec->instant_count && i < TIMES_TOLD_MAX; i++)
        csc_buf_add_format(out, "%s%s", i > 0 ? ", " : "at ",
                           csc_spec_time(spec->instants_ms[i], text));
    if (spec->instant_count > TIMES_TOLD_MAX)
        csc_buf_add_format(out, " and %zu later times",
                           spec->instant_count - TIMES_TOLD_MAX);
    if (spec->instant_count > 0)
        csc_buf_add_char(out, '\n');
}

static void
tell_bounds(const cascade_spec *spec, csc_buf *out)
{
    char text[CSC_SPEC_TIME_SIZE];

    if (spec->day_count > 0)
        csc_buf_add_format(out, "not on %zu listed day%s or range%s\n",
                           spec->day_count, spec->day_count > 1 ? "s" : "",
                           spec->day_count > 1 ? "s" : "");
    if (spec->start_ms != 0)
        csc_buf_add_format(out, "from %s on\n",
                           csc_spec_time(spec->start_ms, text));
    if (spec->end_ms != 0)
        csc_buf_add_format(out, "before %s\n",
                           csc_spec_time(spec->end_ms, text));
}

/* The first pattern that follows real time, or the first that does not. */
static const csc_cron *
cron_of_kind(const cascade_spec *spec, bool is_periodic)
{
    for (size_t i = 0; i < spec->crons.count; i++) {
        if (spec->crons.crons[i].is_periodic == is_periodic)
            return &spec->crons.crons[i];
    }
    return NULL;
}

static void
tell_zone(const cascade_spec *spec, csc_buf *out)
{
    csc_dst_rule rule = {NULL, spec->zone, spec->gap, spec->fold};

    csc_buf_add_format(out, "in the zone %s", spec->zone_name);
    if (csc_zone_offset_min_s(spec->zone) == csc_zone_offset_max_s(spec->zone))
        return;
    for (int periodic = 0; periodic <= 1; periodic++) {
        rule.cron = cron_of_kind(spec, periodic);
        if (rule.cron == NULL)
            continue;
        csc_buf_add_char(out, '\n');
        if (periodic && cron_of_kind(spec, false) != NULL)
            csc_buf_add_text(out, "a pattern of every hour ");
        csc_describe_changes(&rule, out);
    }
}

void
csc_spec_describe(const cascade_spec *spec, csc_buf *out)
{
    csc_assert(spec->zone != NULL);
    tell_crons(&spec->crons, "", out);
    tell_intervals(spec, out);
    tell_times(spec, out);
    tell_crons(&spec->exclude_crons, "except ", out);
    tell_bounds(spec, out);
    tell_zone(spec, out);
}
