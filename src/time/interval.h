/* SPDX-License-Identifier: MIT
 *
 * Instants that are equally far apart: anchor + n * every, for all n, also
 * before the anchor. They follow real time; no zone is known here, and a day is
 * 24 hours. Only the years 1970 to 2199 (by UTC) have any.
 */
#ifndef CSC_TIME_INTERVAL_H
#define CSC_TIME_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_INTERVAL_LEAST_MS 100
#define CSC_INTERVAL_MOST_MS (INT64_C(36525) * 86400000) /* 100 years */

/* Instants are at_ms >= 0 and less than this: 2200-01-01. */
#define CSC_INTERVAL_END_MS (INT64_C(84006) * 86400000)

typedef struct csc_interval {
    int64_t every_ms;
    int64_t phase_ms; /* 0 to every_ms - 1, behind 1970-01-01 */
} csc_interval;

/* CASCADE_ERR_INVALID unless every_ms is from `least_ms` (at least
 * CSC_INTERVAL_LEAST_MS) to CSC_INTERVAL_MOST_MS. */
cascade_err csc_interval_init(csc_interval *interval, const char *what,
                              int64_t every_ms, int64_t anchor_ms,
                              int64_t least_ms);

/* Reads a length of time: numbers with w, d, h, m, s or ms behind each, in this
 * order, none twice: "1h30m", "500ms", "2w". CASCADE_ERR_INVALID names `what`
 * and the byte; *length_ms is written on success only, and is at most
 * CSC_INTERVAL_MOST_MS. */
cascade_err csc_interval_parse(const char *what, const char *text,
                               int64_t *length_ms);

#define CSC_INTERVAL_TEXT_SIZE 32

/* "1h30m", without weeks; "0ms". From 0 to CSC_INTERVAL_MOST_MS. */
char *csc_interval_format(int64_t length_ms, char text[CSC_INTERVAL_TEXT_SIZE]);

bool csc_interval_matches(const csc_interval *interval, int64_t at_ms);
/* The least instant behind after_ms, the greatest before before_ms; false where
 * there is none. */
bool csc_interval_next(const csc_interval *interval, int64_t after_ms,
                       int64_t *at_ms);
bool csc_interval_previous(const csc_interval *interval, int64_t before_ms,
                           int64_t *at_ms);

#endif
