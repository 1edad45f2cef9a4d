/* SPDX-License-Identifier: MIT
 *
 * Specs for tests by the public calls, with zones that are written here.
 */
#ifndef TESTS_TIME_SPECS_H
#define TESTS_TIME_SPECS_H

#include "cascade/schedule.h"
#include "time/made.h"

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
