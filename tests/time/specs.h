/* SPDX-License-Identifier: MIT
 *
 * Specs for tests by the public calls, with zones that are written here.
 */
#ifndef TESTS_TIME_SPECS_H
#define TESTS_TIME_SPECS_H

#include "cascade/schedule.h"
#include "time/made.h"

#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define TROLL "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3"

/* A pattern in a zone, and further members. */
#define OF(cron, zone, more) \
    "{\"cron\":\"" cron "\",\"zone\":\"" zone "\"" more "}"
#define NY "America/New_York"

int64_t specs_ms(const char *text); /* made_s() in milliseconds */

/* The bytes of a zone file that has a rule and nothing else. */
size_t specs_rule(const char *rule, uint8_t bytes[MADE_SIZE]);

/* With the zone file of a rule; NULL: the machine's. */
cascade_err specs_create(const char *text, const char *rule,
                         cascade_spec **spec);

/* Fails the test where it is refused. */
cascade_spec *specs_must(const char *text, const char *rule);

#endif
