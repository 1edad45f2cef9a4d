/* SPDX-License-Identifier: MIT
 *
 * A calendar: a set of days, made once from a list of texts. Holidays, mostly,
 * which schedules exclude.
 *
 *   2026-12-25               a day
 *   2026-12-24/2027-01-01    days from one to another, both in it
 *   --12-25                  a day of each year
 *   --12-24/--01-06          days of each year, both in it, also over New Year
 *
 * 29 February of each year is only where it is.
 */
#ifndef CSC_TIME_CALENDAR_H
#define CSC_TIME_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_CALENDAR_ENTRIES_MAX 10000

typedef struct csc_calendar csc_calendar;

/* CASCADE_ERR_INVALID names `what`, the entry (the first is 1) and what it may
 * be; CASCADE_ERR_TOO_LARGE; CASCADE_ERR_NO_MEMORY. */
cascade_err csc_calendar_create(const char *what, const char *const *entries,
                                size_t count, csc_calendar **calendar);
void csc_calendar_free(csc_calendar *calendar);

/* Days since 1970-01-01. */
bool csc_calendar_has(const csc_calendar *calendar, int64_t days);

/* Whether the entry alone has the day; false for what is none. */
bool csc_calendar_entry_has(const char *entry, int64_t days);

#endif
