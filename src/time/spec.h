/* SPDX-License-Identifier: MIT
 *
 * A spec: when something fires, made from a JSON text (cascade/schedule.h has
 * its members). Here is what is pure of it; the zone's bytes come from whoever
 * makes it, in two steps, as the text names the zone:
 *
 *   csc_spec_create()     reads the text; the zone is still to come
 *   csc_spec_take_zone()  completes it; from then on nothing changes
 *
 *   spec_read    text -> spec
 *   spec_write   spec -> canonical text, plain English
 *   spec         what is between: memory, and asking
 */
#ifndef CSC_TIME_SPEC_H
#define CSC_TIME_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/arena.h"
#include "base/json/json.h"
#include "cascade/schedule.h"
#include "time/rules.h"

typedef struct csc_buf csc_buf;

/* Patterns, and the JSON list of their texts as it was given. */
typedef struct csc_spec_crons {
    csc_cron *crons;
    size_t count;
    csc_json_span list;
} csc_spec_crons;

typedef struct csc_spec_every {
    bool has_anchor;
    int64_t anchor_ms;
} csc_spec_every;

struct cascade_spec {
    csc_arena arena; /* all that is behind pointers, but what is freed apart */
    char zone_name[CSC_ZONE_NAME_MAX + 1];
    csc_zone *zone; /* NULL until it is taken */
    csc_cron_dialect dialect;
    csc_dst_gap gap;
    csc_dst_fold fold;
    csc_spec_crons crons;
    csc_interval *intervals;
    csc_spec_every *every; /* of each interval */
    size_t interval_count;
    int64_t *instants_ms; /* ascending, each once */
    size_t instant_count;
    csc_spec_crons exclude_crons;
    csc_calendar *days; /* NULL: none */
    size_t day_count;
    csc_json_span day_list;
    int64_t start_ms;
    int64_t end_ms; /* 0: none */
    char *text;     /* canonical */
    csc_rules rules;
};

/* `least_ms` is the shortest interval. Errors of cascade_spec_create(), but for
 * the zone's. */
cascade_err csc_spec_create(const char *text, int64_t least_ms,
                            cascade_spec **spec);
void csc_spec_free(cascade_spec *spec);

/* Completes the spec with the zone of its name, which it then owns. */
void csc_spec_take_zone(cascade_spec *spec, csc_zone *zone);

/* How many candidates a search may look at: the more sources have to be asked
 * for each, the fewer. */
size_t csc_spec_budget(const cascade_spec *spec);

/* What the clocks do with the nominal time of a fire. */
cascade_spec_clock csc_spec_clock(const cascade_spec *spec,
                                  const csc_rules_fire *fire);

/* The first entry of exclude_days, from 0, that has the day of a local time;
 * one of them has. */
size_t csc_spec_day_entry(const cascade_spec *spec, int64_t local_s);

/* ---- spec_read.c, spec_write.c ------------------------------------------- */

/* Fills a spec that is all zero from a canonical text, into which its lists
 * point from then on. */
cascade_err csc_spec_read(cascade_spec *spec, const char *canonical,
                          int64_t least_ms);

/* "2026-12-24T07:00:00+00:00" */
#define CSC_SPEC_TIME_SIZE CSC_CIVIL_TEXT_SIZE
char *csc_spec_time(int64_t at_ms, char text[CSC_SPEC_TIME_SIZE]);

void csc_spec_write(const cascade_spec *spec, csc_buf *out);

/* Of a complete one: a line for each thing, newlines between. */
void csc_spec_describe(const cascade_spec *spec, csc_buf *out);

#endif
