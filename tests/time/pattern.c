/* SPDX-License-Identifier: MIT */
#include "time/pattern.h"

#include <stdio.h>
#include <string.h>

typedef struct writer {
    support_rng *rng;
    pattern_model *p;
} writer;

static size_t
below(writer *w, size_t limit)
{
    return support_rng_below(w->rng, limit);
}

static void
add(writer *w, const char *format, int number)
{
    size_t len = strlen(w->p->text);

    (void)snprintf(w->p->text + len, PATTERN_SIZE - len, format, number);
}

/* ---- Writing ------------------------------------------------------------- */

static void
add_value(writer *w, int value, const char *const *names)
{
    if (names != NULL && below(w, 3) == 0)
        add(w, names[value], 0);
    else
        add(w, below(w, 8) == 0 ? "%02d" : "%d", value);
}

static void
add_range(writer *w, bool *set, int low, int high, const char *const *names)
{
    int from = low + (int)below(w, (size_t)(high - low + 1));
    int to = from + (int)below(w, (size_t)(high - from + 1));
    int step = 1 + (int)below(w, (size_t)(high - low));

    add_value(w, from, names);
    add(w, "-", 0);
    add_value(w, to, names);
    if (below(w, 2) == 0)
        add(w, "/%d", step);
    else
        step = 1;
    for (int value = from; value <= to; value += step)
        set[value] = true;
}

static void
add_star(writer *w, bool *set, int low, int high)
{
    int step = below(w, 2) == 0 ? 1 + (int)below(w, (size_t)(high - low)) : 1;

    add(w, "*", 0);
    if (step > 1 || below(w, 4) == 0)
        add(w, "/%d", step);
    for (int value = low; value <= high; value += step)
        set[value] = true;
}

static void
add_item(writer *w, bool *set, int low, int high, const char *const *names)
{
    size_t kind = below(w, 6);
    int value = low + (int)below(w, (size_t)(high - low + 1));

    if (kind == 0) {
        add_star(w, set, low, high);
    } else if (kind <= 2) {
        add_range(w, set, low, high, names);
    } else {
        add_value(w, value, names);
        set[value] = true;
    }
}

static void
add_list(writer *w, bool *set, int low, int high, const char *const *names)
{
    size_t count = below(w, 3) == 0 ? 1 + below(w, 4) : 1;

    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            add(w, ",", 0);
        add_item(w, set, low, high, names);
    }
}

static void
add_field(writer *w, bool *set, int low, int high, const char *const *names)
{
    if (below(w, 3) == 0) {
        add(w, "*", 0);
        for (int value = low; value <= high; value++)
            set[value] = true;
    } else {
        add_list(w, set, low, high, names);
    }
}

/* ---- Days ---------------------------------------------------------------- */

static const char *const month_names[] = {"",    "JAN", "FEB", "MAR", "apr",
                                          "May", "JUN", "jul", "AUG", "SEP",
                                          "OCT", "NOV", "DEC"};
static const char *const weekday_names[] = {"SUN", "mon", "TUE", "WED",
                                            "Thu", "FRI", "SAT"};

static bool
is_alone(const char *field)
{
    return strcmp(field, "*") == 0 || strcmp(field, "?") == 0;
}

static void
add_dates(writer *w)
{
    pattern_model *p = w->p;
    size_t from = strlen(p->text);

    switch (below(w, 6)) {
    case 0:
        add(w, below(w, 4) == 0 ? "?" : "*", 0);
        break;
    case 1:
        p->last_date = true;
        add(w, "L", 0);
        if (below(w, 2) == 0) {
            add(w, ",", 0);
            add_list(w, p->dates, 1, 31, NULL);
        }
        break;
    case 2:
        p->nearest = 1 + (int)below(w, 31);
        add(w, "%dW", p->nearest);
        break;
    default:
        add_list(w, p->dates, 1, 31, NULL);
    }
    p->any_date = is_alone(p->text + from);
}

static void
add_weekday_item(writer *w)
{
    pattern_model *p = w->p;
    int day = (int)below(w, 7);
    int nth = 1 + (int)below(w, 5);

    switch (below(w, 4)) {
    case 0:
        add_value(w, day, weekday_names);
        add(w, "#%d", nth);
        p->nth[nth][day] = true;
        break;
    case 1:
        add_value(w, day, weekday_names);
        add(w, "#L", 0);
        p->last_weekday[day] = true;
        break;
    case 2:
        add(w, "7", 0);
        p->weekdays[7] = true;
        break;
    default:
        add_item(w, p->weekdays, 0, 6, weekday_names);
    }
}

static void
add_weekdays(writer *w)
{
    pattern_model *p = w->p;
    size_t count = 1 + below(w, 2);
    size_t from;

    p->both = below(w, 3) == 0;
    if (p->both)
        add(w, "+", 0);
    from = strlen(p->text);
    if (below(w, 3) == 0)
        add(w, below(w, 4) == 0 ? "?" : "*", 0);
    else
        for (size_t i = 0; i < count; i++) {
            if (i > 0)
                add(w, ",", 0);
            add_weekday_item(w);
        }
    p->any_weekday = is_alone(p->text + from);
    p->weekdays[0] = p->weekdays[0] || p->weekdays[7];
}

static void
add_blank(writer *w)
{
    add(w, below(w, 8) == 0 ? " \t " : " ", 0);
}

void
pattern_random(support_rng *rng, bool seconds, bool years, pattern_model *p)
{
    writer w = {rng, p};

    memset(p, 0, sizeof(*p));
    if (seconds || years) {
        add_field(&w, p->seconds, 0, 59, NULL);
        add_blank(&w);
    } else {
        p->seconds[0] = true;
    }
    add_field(&w, p->minutes, 0, 59, NULL);
    add_blank(&w);
    add_field(&w, p->hours, 0, 23, NULL);
    add_blank(&w);
    add_dates(&w);
    add_blank(&w);
    add_field(&w, p->months, 1, 12, month_names);
    add_blank(&w);
    add_weekdays(&w);
    if (years) {
        add_blank(&w);
        add_field(&w, p->years, 1970, 2199, NULL);
    } else {
        memset(p->years + 1970, true, 230);
    }
}

/* ---- The model ----------------------------------------------------------- */

static int
weekday_of(const csc_civil *civil, int day)
{
    return csc_civil_weekday(csc_civil_days(civil->year, civil->month, day));
}

/* The day that nW is, in its month. */
static int
nearest_day(const csc_civil *civil, int n, int last)
{
    int best = 0;

    if (n > last)
        return 0;
    for (int far = 0; far <= 2 && best == 0; far++) {
        int before = n - far;
        int behind = n + far;

        if (before >= 1 && weekday_of(civil, before) % 6 != 0)
            best = before;
        else if (behind <= last && weekday_of(civil, behind) % 6 != 0)
            best = behind;
    }
    return best;
}

static bool
matches_date(const pattern_model *p, const csc_civil *civil)
{
    int last = csc_civil_month_days(civil->year, civil->month);
    int n = p->nearest == 32 ? last : p->nearest;

    return p->any_date || p->dates[civil->day] ||
           (p->last_date && civil->day == last) ||
           (n > 0 && nearest_day(civil, n, last) == civil->day);
}

static bool
matches_weekday(const pattern_model *p, const csc_civil *civil)
{
    int last = csc_civil_month_days(civil->year, civil->month);
    int weekday = weekday_of(civil, civil->day);
    int nth = (civil->day + 6) / 7;

    return p->any_weekday || p->weekdays[weekday] || p->nth[nth][weekday] ||
           (p->last_weekday[weekday] && civil->day + 7 > last);
}

bool
pattern_matches_day(const pattern_model *p, const csc_civil *civil)
{
    bool date = matches_date(p, civil);
    bool weekday = matches_weekday(p, civil);

    if (civil->year < 1970 || civil->year > 2199 || !p->years[civil->year] ||
        !p->months[civil->month])
        return false;
    if (p->both || p->any_date || p->any_weekday)
        return date && weekday;
    return date || weekday;
}

bool
pattern_matches(const pattern_model *p, const csc_civil *civil)
{
    return p->seconds[civil->second] && p->minutes[civil->minute] &&
           p->hours[civil->hour] && pattern_matches_day(p, civil);
}
