/* SPDX-License-Identifier: MIT */
#include "time/spec.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "time/civil.h"

/* Sources that one search asks, in all. */
#define LOOKS_MAX 10000

/* "2026-12-24/2027-01-01" */
#define DAY_ENTRY_SIZE 24

/* Most specs are one pattern. */
#define BLOCK_SIZE 1024

/* ---- Making -------------------------------------------------------------- */

/* The spec keeps the given text, in canonical JSON: its lists point there. */
static cascade_err
keep_given(cascade_spec *spec, const char *text, char **given)
{
    csc_buf canonical = {0};
    cascade_err err = csc_json_canon("spec", text, strlen(text),
                                     CASCADE_SPEC_TEXT_MAX, &canonical);

    if (err == CASCADE_ERR_TOO_LARGE)
        err = csc_fail(CASCADE_ERR_TOO_LARGE, "spec: it has over %d bytes",
                       CASCADE_SPEC_TEXT_MAX);
    if (err == CASCADE_OK) {
        *given = csc_arena_strndup(&spec->arena, canonical.data, canonical.len);
        if (*given == NULL)
            err = csc_fail_memory();
    }
    csc_buf_fini(&canonical);
    return err;
}

static cascade_err
keep_text(cascade_spec *spec)
{
    csc_buf out = {0};

    csc_spec_write(spec, &out);
    if (out.len > CASCADE_SPEC_TEXT_MAX) {
        csc_buf_fini(&out);
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "spec: its canonical text has over %d bytes",
                        CASCADE_SPEC_TEXT_MAX);
    }
    spec->text = csc_buf_take(&out);
    return spec->text != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
fill(cascade_spec *spec, const char *text, int64_t least_ms)
{
    char *given = NULL;
    cascade_err err = keep_given(spec, text, &given);

    if (err == CASCADE_OK)
        err = csc_spec_read(spec, given, least_ms);
    if (err == CASCADE_OK)
        err = keep_text(spec);
    return err;
}

cascade_err
csc_spec_create(const char *text, int64_t least_ms, cascade_spec **spec)
{
    cascade_spec *made = csc_mem_zalloc(1, sizeof(*made));
    cascade_err err;

    if (made == NULL)
        return csc_fail_memory();
    made->arena.block_size = BLOCK_SIZE;
    err = fill(made, text, least_ms);
    if (err == CASCADE_OK)
        *spec = made;
    else
        csc_spec_free(made);
    return err;
}

void
csc_spec_free(cascade_spec *spec)
{
    if (spec == NULL)
        return;
    csc_calendar_free(spec->days);
    csc_zone_free(spec->zone);
    csc_mem_free(spec->text);
    csc_arena_fini(&spec->arena);
    csc_mem_free(spec);
}

void
csc_spec_take_zone(cascade_spec *spec, csc_zone *zone)
{
    csc_assert(spec->zone == NULL);
    spec->zone = zone;
    spec->rules = (csc_rules){.zone = zone,
                              .gap = spec->gap,
                              .fold = spec->fold,
                              .crons = spec->crons.crons,
                              .cron_count = spec->crons.count,
                              .intervals = spec->intervals,
                              .interval_count = spec->interval_count,
                              .instants_ms = spec->instants_ms,
                              .instant_count = spec->instant_count,
                              .exclude_crons = spec->exclude_crons.crons,
                              .exclude_cron_count = spec->exclude_crons.count,
                              .exclude_calendars =
                                  (const csc_calendar *const *)&spec->days,
                              .exclude_calendar_count = spec->days != NULL,
                              .start_ms = spec->start_ms,
                              .end_ms = spec->end_ms};
}

/* ---- Asking -------------------------------------------------------------- */

size_t
csc_spec_budget(const cascade_spec *spec)
{
    return LOOKS_MAX / (1 + spec->crons.count + spec->interval_count);
}

cascade_spec_clock
csc_spec_clock(const cascade_spec *spec, const csc_rules_fire *fire)
{
    int64_t at_s = csc_civil_div(fire->at_ms, CSC_CIVIL_SECOND_MS);

    if (at_s + fire->offset_s != fire->local_s)
        return CASCADE_SPEC_CLOCK_GAP;
    return csc_zone_local(spec->zone, fire->local_s).count > 1
               ? CASCADE_SPEC_CLOCK_FOLD
               : CASCADE_SPEC_CLOCK_ONCE;
}

/* An entry as it stands in the list, with its quotes. It was read before, so it
 * has no escapes. */
static bool
has_day(csc_json_span entry, int64_t days)
{
    char text[DAY_ENTRY_SIZE];

    if (entry.len < 2 || entry.len - 2 >= sizeof(text))
        return false;
    memcpy(text, entry.data + 1, entry.len - 2);
    text[entry.len - 2] = '\0';
    return csc_calendar_entry_has(text, days);
}

size_t
csc_spec_day_entry(const cascade_spec *spec, int64_t local_s)
{
    int64_t days = csc_civil_div(local_s, CSC_CIVIL_DAY_S);
    csc_json_iter iter;
    size_t entry = 0;

    csc_json_read_iter_init(&iter, spec->day_list.data, spec->day_list.len);
    while (csc_json_read_next(&iter) && !has_day(iter.value, days))
        entry++;
    return entry < spec->day_count ? entry : 0;
}
