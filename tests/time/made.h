/* SPDX-License-Identifier: MIT
 *
 * Zone files that tests write themselves, so that no result hangs on what a
 * machine has; and times and patterns, read.
 */
#ifndef TESTS_TIME_MADE_H
#define TESTS_TIME_MADE_H

#include <stddef.h>
#include <stdint.h>

#include "time/cron.h"
#include "time/zone.h"

#define MADE_SIZE 8192

/* Rules of zones, for made_zone(). */
#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"
#define SANTIAGO "<-04>4<-03>,M9.1.6/24,M4.1.6/24"
#define CAIRO "EET-2EEST,M4.5.5/0,M10.5.4/24"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define TROLL "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3"
#define DUBLIN "IST-1GMT0,M10.5.0,M3.5.0/1"

typedef struct made_kind {
    int32_t offset_s;
    uint8_t is_dst;
    const char *name; /* up to 7 bytes */
} made_kind;

typedef struct made_change {
    int64_t at_s;
    uint8_t kind;
} made_change;

typedef struct made_file {
    char version; /* '\0', '2', '3', '4' */
    const made_kind *kinds;
    size_t kind_count;
    const made_change *changes;
    size_t change_count;
    const char *rule;
} made_file;

/* The file's bytes; how many there are. */
size_t made_bytes(const made_file *file, uint8_t bytes[MADE_SIZE]);

/* A zone of a file of version 3 that has a rule and nothing else. */
csc_zone *made_zone(const char *name, const char *rule);

/* The zone of such a file; fails the test when it is refused. */
csc_zone *made_zone_of(const char *name, const made_file *file);

/* "2026-11-01T01:30:00-04:00" as an instant; without an offset as a local
 * time. */
int64_t made_s(const char *text);

/* A pattern of dialect OCPS; fails the test when it is refused. */
csc_cron made_cron(const char *text);

#endif
