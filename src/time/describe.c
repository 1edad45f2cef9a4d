/* SPDX-License-Identifier: MIT
 *
 * Lists are walked twice: the first time counts the items, so that the second
 * knows where "and" stands.
 */
#include "time/describe.h"

#include "base/error.h"

#define CLOCK_TIMES_MAX 6 /* written out; more are told by their parts */
#define SECONDS 60
#define MINUTES 60
#define HOURS 24
#define DATES 32
#define MONTHS 13
#define WEEKDAYS 7

/* ---- Lists --------------------------------------------------------------- */

typedef struct list {
    csc_buf *out; /* NULL: count only */
    const char *last;
    size_t count;
    size_t total;
} list;

/* Begins an item; false where only the number counts. */
static bool
next_item(list *l)
{
    size_t index = l->count++;

    if (l->out == NULL)
        return false;
    if (index > 0)
        csc_buf_add_text(l->out, index + 1 == l->total ? l->last : ", ");
    return true;
}

/* ---- Sets ---------------------------------------------------------------- */

/* Values from `low` up to `end` (not in it); bit n is `base` + n. */
typedef struct set {
    const uint64_t *bits;
    int base;
    int low;
    int end;
} set;

static bool
has(const set *s, int value)
{
    int bit = value - s->base;

    return s->bits[bit / 64] >> bit % 64 & 1;
}

static int
count_of(const set *s)
{
    int count = 0;

    for (int value = s->low; value < s->end; value++)
        count += has(s, value);
    return count;
}

static bool
is_all(const set *s)
{
    return count_of(s) == s->end - s->low;
}

static bool
is_only(const set *s, int value)
{
    return count_of(s) == 1 && has(s, value);
}

static int
first_of(const set *s)
{
    int value = s->low;

    while (value < s->end && !has(s, value))
        value++;
    return value;
}

static int
last_of(const set *s)
{
    int value = s->end - 1;

    while (value > s->low && !has(s, value))
        value--;
    return value;
}

/* How far apart the values are, where there are three or more and all are
 * equally far, two at least; 0: they are not. */
static int
step_of(const set *s)
{
    int before = first_of(s);
    int step = 0;

    for (int value = before + 1; value < s->end; value++) {
        if (!has(s, value))
            continue;
        if (step != 0 && value - before != step)
            return 0;
        step = value - before;
        before = value;
    }
    return count_of(s) < 3 || step < 2 ? 0 : step;
}

/* A step over all of the field, which comes out even: every `step` minutes. */
static int
round_step(const set *s)
{
    int step = step_of(s);
    int size = s->end - s->low;

    return step != 0 && first_of(s) == s->low && size % step == 0 &&
                   count_of(s) == size / step
               ? step
               : 0;
}

/* Adds one value, by its number. */
typedef void value_fn(csc_buf *out, int value);

static void
add_number(csc_buf *out, int value)
{
    csc_buf_add_i64(out, value);
}

static void
add_ordinal(csc_buf *out, int value)
{
    const char *end = "th";

    if (value % 100 < 11 || value % 100 > 13) {
        if (value % 10 == 1)
            end = "st";
        else if (value % 10 == 2)
            end = "nd";
        else if (value % 10 == 3)
            end = "rd";
    }
    csc_buf_add_format(out, "%d%s", value, end);
}

static void
add_month(csc_buf *out, int value)
{
    static const char *const names[] = {
        "",        "January",  "February", "March",  "April",
        "May",     "June",     "July",     "August", "September",
        "October", "November", "December"};

    csc_buf_add_text(out, names[value]);
}

/* Monday is 1, Sunday 7. */
static void
add_weekday(csc_buf *out, int value)
{
    static const char *const names[] = {"Sunday",    "Monday",   "Tuesday",
                                        "Wednesday", "Thursday", "Friday",
                                        "Saturday",  "Sunday"};

    csc_buf_add_text(out, names[value]);
}

/* "1, 5 and 20 to 25": two in a row are two. */
static void
list_runs(list *l, const set *s, value_fn *add)
{
    for (int value = s->low; value < s->end; value++) {
        int last = value;

        if (!has(s, value))
            continue;
        while (last + 1 < s->end && has(s, last + 1))
            last++;
        if (last == value + 1)
            last = value;
        if (next_item(l)) {
            add(l->out, value);
            if (last > value) {
                csc_buf_add_text(l->out, " to ");
                add(l->out, last);
            }
        }
        value = last;
    }
}

static void
add_runs(csc_buf *out, const set *s, value_fn *add)
{
    list l = {.last = " and "};

    list_runs(&l, s, add);
    l.total = l.count;
    l.count = 0;
    l.out = out;
    list_runs(&l, s, add);
}

/* ---- Times of the day ---------------------------------------------------- */

typedef struct clock_sets {
    set seconds;
    set minutes;
    set hours;
} clock_sets;

static bool
is_clock_times(const clock_sets *c)
{
    return !is_all(&c->hours) && count_of(&c->seconds) * count_of(&c->minutes) *
                                         count_of(&c->hours) <=
                                     CLOCK_TIMES_MAX;
}

static void
list_clock_times(list *l, const clock_sets *c)
{
    bool has_seconds = !is_only(&c->seconds, 0);

    for (int i = 0; i < HOURS * MINUTES * SECONDS; i++) {
        int hour = i / (MINUTES * SECONDS);
        int minute = i / SECONDS % MINUTES;

        if (!has(&c->hours, hour) || !has(&c->minutes, minute) ||
            !has(&c->seconds, i % SECONDS) || !next_item(l))
            continue;
        csc_buf_add_format(l->out, "%02d:%02d", hour, minute);
        if (has_seconds)
            csc_buf_add_format(l->out, ":%02d", i % SECONDS);
    }
}

static void
add_clock_times(csc_buf *out, const clock_sets *c)
{
    list l = {.last = " and "};

    list_clock_times(&l, c);
    l.total = l.count;
    l.count = 0;
    l.out = out;
    csc_buf_add_text(out, "at ");
    list_clock_times(&l, c);
}

/* "every minute", "every 15 minutes", "at minute 5", "at minutes 5 to 7": true
 * for the first two, behind which nothing more need be said. */
static bool
add_unit(csc_buf *out, const set *s, const char *unit)
{
    int step = round_step(s);

    if (is_all(s)) {
        csc_buf_add_format(out, "every %s", unit);
        return true;
    }
    if (step != 0) {
        csc_buf_add_format(out, "every %d %ss", step, unit);
        return true;
    }
    csc_buf_add_format(out, "at %s%s ", unit, count_of(s) > 1 ? "s" : "");
    add_runs(out, s, add_number);
    return false;
}

/* What the smaller unit is in: " of every hour", " in hour 5", " in every 2nd
 * hour from 0 to 22". */
static void
add_larger(csc_buf *out, const set *s, const char *unit, bool is_every)
{
    int step = step_of(s);

    if (is_all(s)) {
        if (!is_every)
            csc_buf_add_format(out, " of every %s", unit);
        return;
    }
    if (step != 0) {
        csc_buf_add_text(out, " in every ");
        add_ordinal(out, step);
        csc_buf_add_format(out, " %s from %d to %d", unit, first_of(s),
                           last_of(s));
        return;
    }
    csc_buf_add_format(out, " in %s%s ", unit, count_of(s) > 1 ? "s" : "");
    add_runs(out, s, add_number);
}

/* From 09:00 to 17:59, where the hours are in a row. */
static void
add_hours(csc_buf *out, const set *hours, bool is_every)
{
    int first = first_of(hours);
    int last = last_of(hours);

    if (is_every && !is_all(hours) && count_of(hours) == last - first + 1)
        csc_buf_add_format(out, " from %02d:00 to %02d:59", first, last);
    else
        add_larger(out, hours, "hour", is_every);
}

static void
add_time(csc_buf *out, const clock_sets *c)
{
    bool is_every;

    if (is_clock_times(c)) {
        add_clock_times(out, c);
        return;
    }
    if (!is_only(&c->seconds, 0)) {
        is_every = add_unit(out, &c->seconds, "second");
        add_larger(out, &c->minutes, "minute", is_every);
        is_every = is_all(&c->minutes);
    } else if (is_only(&c->minutes, 0) &&
               (is_all(&c->hours) || round_step(&c->hours) != 0)) {
        (void)add_unit(out, &c->hours, "hour");
        return;
    } else {
        is_every = add_unit(out, &c->minutes, "minute");
    }
    add_hours(out, &c->hours, is_every);
}

/* ---- Days ---------------------------------------------------------------- */

/* "the last day", "the 3rd day before the last". */
static void
add_before_last(csc_buf *out, int days)
{
    if (days == 0) {
        csc_buf_add_text(out, "the last day");
        return;
    }
    csc_buf_add_text(out, "the ");
    add_ordinal(out, days);
    csc_buf_add_text(out, " day before the last");
}

static void
list_dates(list *l, const csc_cron_days *days)
{
    const uint64_t dates = days->dates;
    set s = {&dates, 0, 1, DATES};

    list_runs(l, &s, add_ordinal);
    for (int n = 0; n < DATES; n++) {
        if ((days->before_last >> n & 1) && next_item(l))
            add_before_last(l->out, n);
    }
    for (int n = 0; n < DATES; n++) {
        if ((days->nearest >> n & 1) && next_item(l)) {
            csc_buf_add_text(l->out, "working day nearest to the ");
            add_ordinal(l->out, n);
        }
    }
    for (int n = 0; n < DATES; n++) {
        if (!(days->nearest_before_last >> n & 1) || !next_item(l))
            continue;
        csc_buf_add_text(l->out, n == 0 ? "last working day"
                                        : "working day nearest to ");
        if (n > 0)
            add_before_last(l->out, n);
    }
}

static void
add_dates(csc_buf *out, const csc_cron_days *days)
{
    list l = {.last = " and "};

    list_dates(&l, days);
    l.total = l.count;
    l.count = 0;
    l.out = out;
    if ((days->dates | days->nearest | days->nearest_before_last) != 0)
        csc_buf_add_text(out, "the ");
    list_dates(&l, days);
    csc_buf_add_text(out, " of the month");
}

/* Bit n for day n, Sunday as the seventh. */
static uint64_t
from_monday(uint8_t weekdays)
{
    return (uint64_t)(weekdays & 0x7e) | (uint64_t)(weekdays & 1) << WEEKDAYS;
}

static void
list_nth(list *l, uint8_t weekdays, const char *nth)
{
    uint64_t bits = from_monday(weekdays);

    for (int day = 1; day <= WEEKDAYS; day++) {
        if (!(bits >> day & 1) || !next_item(l))
            continue;
        csc_buf_add_format(l->out, "the %s ", nth);
        add_weekday(l->out, day);
        csc_buf_add_text(l->out, " of the month");
    }
}

static void
list_weekdays(list *l, const csc_cron_days *days)
{
    static const char *const names[] = {"",      "first",  "second",
                                        "third", "fourth", "fifth"};
    const uint64_t weekdays = from_monday(days->weekdays);
    set s = {&weekdays, 0, 1, WEEKDAYS + 1};

    list_runs(l, &s, add_weekday);
    for (int nth = 1; nth <= CSC_CRON_NTH_MAX; nth++)
        list_nth(l, days->nth_weekdays[nth], names[nth]);
    list_nth(l, days->last_weekdays, "last");
}

static void
add_weekdays(csc_buf *out, const csc_cron_days *days, const char *last)
{
    list l = {.last = last};

    list_weekdays(&l, days);
    l.total = l.count;
    l.count = 0;
    l.out = out;
    list_weekdays(&l, days);
}

static void
add_days(csc_buf *out, const csc_cron_days *days)
{
    if (days->any_date && days->any_weekday)
        return;
    csc_buf_add_text(out, ", on ");
    if (!days->any_date)
        add_dates(out, days);
    if (!days->any_date && !days->any_weekday)
        csc_buf_add_text(out, days->both ? " where that is " : " or on ");
    if (!days->any_weekday)
        add_weekdays(out, days, days->both ? " or " : " and ");
}

/* ---- Rules --------------------------------------------------------------- */

static void
add_months(csc_buf *out, const csc_cron *cron)
{
    const uint64_t months = cron->months;
    set s = {&months, 0, 1, MONTHS};

    if (is_all(&s))
        return;
    csc_buf_add_text(out, ", in ");
    add_runs(out, &s, add_month);
}

static void
add_years(csc_buf *out, const csc_cron *cron)
{
    set s = {cron->years, CSC_CIVIL_YEAR_MIN, CSC_CIVIL_YEAR_MIN,
             CSC_CIVIL_YEAR_MAX + 1};
    int step = step_of(&s);

    if (is_all(&s))
        return;
    csc_buf_add_text(out, ", in ");
    if (step == 0) {
        add_runs(out, &s, add_number);
        return;
    }
    csc_buf_add_text(out, "every ");
    add_ordinal(out, step);
    csc_buf_add_format(out, " year from %d to %d", first_of(&s), last_of(&s));
}

void
csc_describe_cron(const csc_cron *cron, csc_buf *out)
{
    const uint64_t hours = cron->hours;
    clock_sets c = {.seconds = {&cron->seconds, 0, 0, SECONDS},
                    .minutes = {&cron->minutes, 0, 0, MINUTES},
                    .hours = {&hours, 0, 0, HOURS}};
    int64_t local_s;

    if (cron->is_reboot) {
        csc_buf_add_text(out, "once, at the start");
        return;
    }
    add_time(out, &c);
    if (is_clock_times(&c) && cron->days.any_date && cron->days.any_weekday)
        csc_buf_add_text(out, " every day");
    add_days(out, &cron->days);
    add_months(out, cron);
    add_years(out, cron);
    if (!csc_cron_next(cron, INT64_MIN, &local_s))
        csc_buf_add_text(out, ", which never comes");
}

void
csc_describe_interval(const csc_interval *interval, csc_buf *out)
{
    char text[CSC_INTERVAL_TEXT_SIZE];

    csc_buf_add_format(out, "every %s",
                       csc_interval_format(interval->every_ms, text));
}

void
csc_describe_changes(const csc_dst_rule *rule, csc_buf *out)
{
    static const char *const gaps[] = {[CSC_DST_GAP_NEXT] = "right behind it",
                                       [CSC_DST_GAP_SHIFT] =
                                           "as much later as they leave out",
                                       [CSC_DST_GAP_SKIP] = "not at all"};
    static const char *const folds[] = {[CSC_DST_FOLD_FIRST] = "the first",
                                        [CSC_DST_FOLD_LAST] = "the last",
                                        [CSC_DST_FOLD_BOTH] = "both",
                                        [CSC_DST_FOLD_NONE] = "not at all"};

    if (rule->cron->is_periodic)
        csc_buf_add_text(out, "follows real time when clocks change");
    else
        csc_buf_add_format(out,
                           "a time that clocks leave out: %s; one that they "
                           "show twice: %s",
                           gaps[rule->gap], folds[rule->fold]);
}
