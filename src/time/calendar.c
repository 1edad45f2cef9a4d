/* SPDX-License-Identifier: MIT
 *
 * Days of one year are ranges, in order and apart, so that one search finds
 * them; those of each year are a bit each.
 */
#include "time/calendar.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "time/civil.h"

#define MONTHS 12
#define LEAP_YEAR 2000 /* a date of each year is one of this one */
#define LEAP_YEAR_DAYS 366

typedef struct range {
    int64_t first;
    int64_t last;
} range;

struct csc_calendar {
    uint32_t yearly[MONTHS + 1]; /* bit n of a month: its n-th */
    size_t count;
    range ranges[];
};

/* ---- Entries ------------------------------------------------------------- */

typedef struct entry {
    bool is_yearly; /* then of LEAP_YEAR; over New Year last < first */
    range days;
} entry;

/* "--12-25" as a date of a leap year; the bytes read, 0: it is none. */
static int
parse_yearly(const char *text, csc_civil *civil)
{
    char date[11] = "2000-";

    if (strncmp(text, "--", 2) != 0 || strnlen(text + 2, 5) != 5)
        return 0;
    memcpy(date + 5, text + 2, 5);
    return csc_civil_parse_date(date, civil) == 0 ? 0 : 7;
}

static const char *
parse_day(const char *text, bool is_yearly, int64_t *days)
{
    csc_civil civil;
    int len = is_yearly ? parse_yearly(text, &civil)
                        : csc_civil_parse_date(text, &civil);

    if (len == 0)
        return NULL;
    *days = csc_civil_days(civil.year, civil.month, civil.day);
    return text + len;
}

static bool
parse_entry(const char *text, entry *e)
{
    const char *at;

    e->is_yearly = text[0] == '-';
    at = parse_day(text, e->is_yearly, &e->days.first);
    if (at == NULL)
        return false;
    e->days.last = e->days.first;
    if (*at == '/')
        at = parse_day(at + 1, e->is_yearly, &e->days.last);
    return at != NULL && *at == '\0' &&
           (e->is_yearly || e->days.first <= e->days.last);
}

/* Of each year: `day` is of LEAP_YEAR. */
static bool
has_day(const entry *e, int64_t day)
{
    bool is_behind = day >= e->days.first;
    bool is_before = day <= e->days.last;

    return e->days.first <= e->days.last ? is_behind && is_before
                                         : is_behind || is_before;
}

static void
add_yearly(csc_calendar *calendar, const entry *e)
{
    int64_t first = csc_civil_days(LEAP_YEAR, 1, 1);

    for (int64_t day = first; day < first + LEAP_YEAR_DAYS; day++) {
        csc_civil civil;

        if (!has_day(e, day))
            continue;
        csc_civil_date(day, &civil);
        calendar->yearly[civil.month] |= UINT32_C(1) << civil.day;
    }
}

/* ---- Making -------------------------------------------------------------- */

static int
compare_ranges(const void *left, const void *right)
{
    const range *a = left;
    const range *b = right;

    return (a->first > b->first) - (a->first < b->first);
}

/* Makes one of those that meet. */
static void
merge(csc_calendar *calendar)
{
    size_t kept = 0;

    qsort(calendar->ranges, calendar->count, sizeof(range), compare_ranges);
    for (size_t i = 0; i < calendar->count; i++) {
        const range *next = &calendar->ranges[i];
        range *before = kept > 0 ? &calendar->ranges[kept - 1] : NULL;

        if (before == NULL || next->first > before->last + 1)
            calendar->ranges[kept++] = *next;
        else if (next->last > before->last)
            before->last = next->last;
    }
    calendar->count = kept;
}

static cascade_err
fill(csc_calendar *calendar, const char *what, const char *const *entries,
     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        entry e;

        if (!parse_entry(entries[i], &e))
            return csc_fail(CASCADE_ERR_INVALID,
                            "%s: entry %zu is neither a day like 2026-12-25 or "
                            "--12-25 (each year) nor days like "
                            "2026-12-24/2027-01-01, in this order, or "
                            "--12-24/--01-06",
                            what, i + 1);
        if (e.is_yearly)
            add_yearly(calendar, &e);
        else
            calendar->ranges[calendar->count++] = e.days;
    }
    merge(calendar);
    return CASCADE_OK;
}

cascade_err
csc_calendar_create(const char *what, const char *const *entries, size_t count,
                    csc_calendar **calendar)
{
    csc_calendar *made;
    cascade_err err;

    if (count > CSC_CALENDAR_ENTRIES_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "%s: a calendar has at most %d entries", what,
                        CSC_CALENDAR_ENTRIES_MAX);
    made = csc_mem_zalloc(1, sizeof(*made) + count * sizeof(range));
    if (made == NULL)
        return csc_fail_memory();
    err = fill(made, what, entries, count);
    if (err == CASCADE_OK)
        *calendar = made;
    else
        csc_calendar_free(made);
    return err;
}

void
csc_calendar_free(csc_calendar *calendar)
{
    csc_mem_free(calendar);
}

bool
csc_calendar_has(const csc_calendar *calendar, int64_t days)
{
    size_t low = 0;
    size_t high = calendar->count;
    csc_civil civil;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (calendar->ranges[middle].last < days)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < calendar->count && calendar->ranges[low].first <= days)
        return true;
    csc_civil_date(days, &civil);
    return calendar->yearly[civil.month] >> civil.day & 1;
}

bool
csc_calendar_entry_has(const char *text, int64_t days)
{
    int64_t day = days;
    csc_civil civil;
    entry e;

    if (!parse_entry(text, &e))
        return false;
    if (e.is_yearly) {
        csc_civil_date(days, &civil);
        day = csc_civil_days(LEAP_YEAR, civil.month, civil.day);
    }
    return has_day(&e, day);
}
