/* SPDX-License-Identifier: MIT
 *
 * A time zone: what its clocks show at every instant, and back. A zone is made
 * from the bytes of a zone file and never changes: any thread may read it.
 *
 * Instants go to local times in stretches of one offset. Where the offset grows
 * (spring) local times are left out, where it shrinks (autumn) they come again:
 *
 *   local          gap                      fold
 *     |            . . /                      /| /
 *     |           .   /                      / |/
 *     |          .   /                      /  /
 *     |         /                          /
 *     +---------|------------- instants --------|---------
 *
 * The rule at a file's end is written out up to the year 2201 when the zone is
 * made, so both ways are one search in one table: at most some 700 entries.
 * Behind 2201 the last offset stands, before the first change the first.
 */
#ifndef CSC_TIME_ZONE_H
#define CSC_TIME_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_ZONE_NAME_MAX 64
/* The years between which a rule is written out. */
#define CSC_ZONE_YEAR_MIN 1900
#define CSC_ZONE_YEAR_MAX 2201

typedef struct csc_zone csc_zone;

/* 1-64 bytes as IANA names zones ("America/Argentina/Ushuaia", "Etc/GMT+5"):
 * parts of [A-Za-z0-9._+-], between them one '/', none of them "." or "..".
 * CASCADE_ERR_INVALID. */
cascade_err csc_zone_check_name(const char *name);

/* Reads a zone file: tzif.h has what is refused. Refused too: a rule whose
 * offset is not that of the last change, and changes so dense that a local
 * time happens more than CSC_ZONE_TIMES_MAX times. */
cascade_err csc_zone_create(const char *name, const void *bytes, size_t len,
                            csc_zone **zone);
/* One offset for ever: "UTC", 0. */
cascade_err csc_zone_create_fixed(const char *name, int32_t offset_s,
                                  csc_zone **zone);
void csc_zone_free(csc_zone *zone);

const char *csc_zone_name(const csc_zone *zone); /* the zone's */

/* No offset of the zone is less, none is greater. */
int32_t csc_zone_offset_min_s(const csc_zone *zone);
int32_t csc_zone_offset_max_s(const csc_zone *zone);

/* ---- Instants ------------------------------------------------------------ */

/* A stretch of time with one offset; from INT64_MIN, until INT64_MAX where
 * there is no change. Neighbours may have the same offset. */
typedef struct csc_zone_span {
    int64_t from_s;
    int64_t until_s; /* not in it */
    int32_t offset_s;
    bool is_dst;
    const char *name; /* "EST"; the zone's */
} csc_zone_span;

csc_zone_span csc_zone_at(const csc_zone *zone, int64_t at_s);

/* ---- Local times --------------------------------------------------------- */

#define CSC_ZONE_TIMES_MAX 8

/* A stretch of local times that all happen equally: `count` times, at
 * local_s - offsets_s[i], in that order. Of a gap the count is 0: there the
 * clocks go, at instant gap_s, from an offset to a greater. */
typedef struct csc_zone_piece {
    int64_t from_s;  /* INT64_MIN: from the beginning */
    int64_t until_s; /* not in it; INT64_MAX: to the end */
    size_t count;
    int32_t offsets_s[CSC_ZONE_TIMES_MAX];
    int64_t gap_s;
    int32_t gap_before_s;
    int32_t gap_after_s;
} csc_zone_piece;

/* The piece that local_s is in. |local_s| is at most 2^60. */
csc_zone_piece csc_zone_local(const csc_zone *zone, int64_t local_s);

#endif
