/* SPDX-License-Identifier: MIT
 *
 * Random cron patterns, and a model of them that shares nothing with the
 * library: a table of what each field names, and the rules of the standard said
 * day by day.
 */
#ifndef TESTS_TIME_PATTERN_H
#define TESTS_TIME_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/support.h"
#include "time/civil.h"

#define PATTERN_SIZE 1024

typedef struct pattern_model {
    char text[PATTERN_SIZE];
    bool seconds[60];
    bool minutes[60];
    bool hours[24];
    bool dates[32];
    bool months[13];
    bool weekdays[8];
    bool years[2200];
    bool any_date;
    bool any_weekday;
    bool both;
    bool last_date;
    int nearest; /* 15 for 15W, 32 for LW, 0 for none */
    bool nth[6][7];
    bool last_weekday[7];
} pattern_model;

/* Of the standard's dialect; `seconds` and `years`: with fields for them. */
void pattern_random(support_rng *rng, bool seconds, bool years,
                    pattern_model *p);

bool pattern_matches(const pattern_model *p, const csc_civil *civil);
bool pattern_matches_day(const pattern_model *p, const csc_civil *civil);

#endif
