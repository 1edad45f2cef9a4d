/* SPDX-License-Identifier: MIT
 *
 * Reading a pattern: fields, their items, what an item is made of. Each part
 * takes what it reads off the front of the field and is false where something
 * else stands; whoever notices that first has said so.
 */
#include <string.h>

#include "base/error.h"
#include "time/cron.h"

#define NAME_LEN 3
#define NUMBER_MAX 99999 /* greater than what any field has */
#define WEEKDAYS 7
#define SUNDAY_AGAIN 7
#define BEFORE_LAST_MAX 30
#define ALL_HOURS UINT32_C(0xffffff)

typedef enum field_id {
    SECOND,
    MINUTE,
    HOUR,
    DATE,
    MONTH,
    WEEKDAY,
    YEAR,
    FIELD_COUNT
} field_id;

typedef struct field {
    const char *name;
    int low;
    int high;
    const char *names; /* of its values, three letters each, from `first` */
    int first;
    const char *allowed;
} field;

#define MONTH_NAMES "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"
#define WEEKDAY_NAMES "SUNMONTUEWEDTHUFRISAT"

static const field fields[2][FIELD_COUNT] = {
    [CSC_CRON_OCPS] =
        {
            {"second", 0, 59, "", 0, "0 to 59"},
            {"minute", 0, 59, "", 0, "0 to 59"},
            {"hour", 0, 23, "", 0, "0 to 23"},
            {"day of month", 1, 31, "", 0, "1 to 31, L, LW or 15W"},
            {"month", 1, 12, MONTH_NAMES, 1, "1 to 12 or JAN to DEC"},
            {"day of week", 0, 7, WEEKDAY_NAMES, 0,
             "0 to 7 or SUN to SAT, FRI#2 or FRI#L"},
            {"year", CSC_CIVIL_YEAR_MIN, CSC_CIVIL_YEAR_MAX, "", 0,
             "1970 to 2199"},
        },
    [CSC_CRON_QUARTZ] =
        {
            {"second", 0, 59, "", 0, "0 to 59"},
            {"minute", 0, 59, "", 0, "0 to 59"},
            {"hour", 0, 23, "", 0, "0 to 23"},
            {"day of month", 1, 31, "", 0, "1 to 31, ?, L, L-3, LW or 15W"},
            {"month", 1, 12, MONTH_NAMES, 1, "1 to 12 or JAN to DEC"},
            {"day of week", 1, 7, WEEKDAY_NAMES, 1,
             "1 to 7 or SUN to SAT, ?, FRI#2 or FRIL"},
            {"year", CSC_CIVIL_YEAR_MIN, CSC_CIVIL_YEAR_MAX, "", 0,
             "1970 to 2199"},
        },
};

typedef struct parser {
    const char *what;
    const char *text;
    csc_cron_dialect dialect;
    csc_cron cron;
    /* The field that is read. */
    field_id id;
    const char *from;
    const char *at;
    const char *end;
} parser;

static const field *
field_of(const parser *p)
{
    return &fields[p->dialect][p->id];
}

static bool
refuse(const parser *p, const char *at, const char *why)
{
    (void)csc_fail(CASCADE_ERR_INVALID,
                   "%s: %s field, byte %zu: %s: allowed "
                   "are %s, *, lists, ranges and steps",
                   p->what, field_of(p)->name, (size_t)(at - p->text) + 1, why,
                   field_of(p)->allowed);
    return false;
}

/* ---- What items are made of ---------------------------------------------- */

static char
peek(const parser *p)
{
    return p->at < p->end ? *p->at : '\0';
}

static char
upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
take(parser *p, char c)
{
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

/* L and W: Quartz does not mind their case, the standard does. */
static bool
take_letter(parser *p, char c)
{
    char is = p->dialect == CSC_CRON_QUARTZ ? upper(peek(p)) : peek(p);

    if (is != c)
        return false;
    p->at++;
    return true;
}

static bool
take_number(parser *p, int low, int high, int *number)
{
    const char *from = p->at;

    for (*number = 0; is_digit(peek(p)); p->at++) {
        if (*number <= NUMBER_MAX)
            *number = *number * 10 + (*p->at - '0');
    }
    if (p->at == from)
        return refuse(p, from, "there is no number");
    if (*number < low || *number > high)
        return refuse(p, from, "the number is too small or too great");
    return true;
}

/* Which of the field's names stands here; -1: none. */
static int
name_at(const parser *p)
{
    const char *names = field_of(p)->names;

    for (int i = 0; names[i] != '\0' && p->end - p->at >= NAME_LEN;
         i += NAME_LEN) {
        if (upper(p->at[0]) == names[i] && upper(p->at[1]) == names[i + 1] &&
            upper(p->at[2]) == names[i + 2])
            return field_of(p)->first + i / NAME_LEN;
    }
    return -1;
}

static bool
take_value(parser *p, int *value)
{
    int name = name_at(p);

    if (name >= 0) {
        p->at += NAME_LEN;
        *value = name;
        return true;
    }
    if (!is_digit(peek(p)))
        return refuse(p, p->at, "something else is here");
    return take_number(p, field_of(p)->low, field_of(p)->high, value);
}

/* ---- Sets ---------------------------------------------------------------- */

static int
weekday_of(const parser *p, int value)
{
    return p->dialect == CSC_CRON_QUARTZ ? value - 1 : value % SUNDAY_AGAIN;
}

static void
set_value(parser *p, int value)
{
    csc_cron *cron = &p->cron;
    int year = value - CSC_CIVIL_YEAR_MIN;

    switch (p->id) {
    case SECOND:
        cron->seconds |= UINT64_C(1) << value;
        break;
    case MINUTE:
        cron->minutes |= UINT64_C(1) << value;
        break;
    case HOUR:
        cron->hours |= UINT32_C(1) << value;
        break;
    case DATE:
        cron->days.dates |= UINT32_C(1) << value;
        break;
    case MONTH:
        cron->months |= UINT32_C(1) << value;
        break;
    case WEEKDAY:
        cron->days.weekdays |= (uint8_t)(1u << weekday_of(p, value));
        break;
    case YEAR:
        cron->years[year / 64] |= UINT64_C(1) << year % 64;
        break;
    case FIELD_COUNT:
        break;
    }
}

/* From `low` to `high`, over the end of the field where that is less. */
static void
set_range(parser *p, int low, int high, int step)
{
    int count = field_of(p)->high - field_of(p)->low + 1;
    int end = high < low ? high + count : high;

    for (int value = low; value <= end; value += step)
        set_value(p, value > field_of(p)->high ? value - count : value);
}

/* ---- Items --------------------------------------------------------------- */

/* [/n] behind a range */
static bool
take_step(parser *p, int low, int high)
{
    int count =
        p->id == WEEKDAY ? WEEKDAYS : field_of(p)->high - field_of(p)->low + 1;
    int step = 1;
    const char *at;

    if (take(p, '/')) {
        at = p->at;
        if (!take_number(p, 0, NUMBER_MAX, &step))
            return false;
        if (step == 0)
            return refuse(p, at, "a step is at least 1");
        if (step > count)
            return refuse(p, at,
                          "a step may not leave the field: it would "
                          "begin anew each time");
    }
    set_range(p, low, high, step);
    return true;
}

/* FRI-SUN: a name may be either number of Sunday. */
static bool
take_range(parser *p, int low)
{
    const char *at = p->at;
    bool is_named = name_at(p) >= 0;
    int high = 0;

    if (!take_value(p, &high))
        return false;
    if (p->dialect == CSC_CRON_OCPS && p->id == WEEKDAY && is_named &&
        high == 0 && low > 0)
        high = SUNDAY_AGAIN;
    if (high < low && (p->dialect == CSC_CRON_OCPS || p->id == YEAR))
        return refuse(p, at, "the range ends before it begins");
    return take_step(p, low, high);
}

/* W stands for one day, and that alone in the field. */
static bool
take_nearest(parser *p, const char *from, uint32_t *set, int bit)
{
    if (from != p->from || p->at != p->end)
        return refuse(p, p->at - 1, "W is for one day alone, no list or range");
    *set |= UINT32_C(1) << bit;
    return true;
}

/* L, LW, L-3, L-3W */
static bool
take_last_date(parser *p, const char *from)
{
    int before = 0;

    if (p->dialect == CSC_CRON_QUARTZ && take(p, '-') &&
        !take_number(p, 0, BEFORE_LAST_MAX, &before))
        return false;
    if (take_letter(p, 'W'))
        return take_nearest(p, from, &p->cron.days.nearest_before_last, before);
    p->cron.days.before_last |= UINT32_C(1) << before;
    return true;
}

/* #n, #L */
static bool
take_nth(parser *p, int weekday)
{
    int nth = 0;

    if (take_letter(p, 'L')) {
        p->cron.days.last_weekdays |= (uint8_t)(1u << weekday);
        return true;
    }
    if (!take_number(p, 1, CSC_CRON_NTH_MAX, &nth))
        return false;
    p->cron.days.nth_weekdays[nth] |= (uint8_t)(1u << weekday);
    return true;
}

/* What begins with a value, which has been taken. */
static bool
take_from_value(parser *p, const char *from, int value)
{
    if (take(p, '-'))
        return take_range(p, value);
    if (p->id == DATE && take_letter(p, 'W'))
        return take_nearest(p, from, &p->cron.days.nearest, value);
    if (p->id == WEEKDAY && take(p, '#'))
        return take_nth(p, weekday_of(p, value));
    if (p->id == WEEKDAY && take_letter(p, 'L')) {
        p->cron.days.last_weekdays |= (uint8_t)(1u << weekday_of(p, value));
        return true;
    }
    if (peek(p) == '/') {
        if (p->dialect == CSC_CRON_OCPS)
            return refuse(p, p->at, "a step stands behind * or a range");
        return take_step(p, value, field_of(p)->high);
    }
    set_value(p, value);
    return true;
}

static bool
take_item(parser *p)
{
    const field *f = field_of(p);
    const char *from = p->at;
    bool is_day = p->id == DATE || p->id == WEEKDAY;
    bool is_whole = p->end - p->from == 1;
    int value = 0;

    if (take(p, '*'))
        return take_step(p, f->low, f->high);
    if (peek(p) == '?' && is_day && (p->dialect == CSC_CRON_OCPS || is_whole)) {
        p->at++;
        return take_step(p, f->low, f->high);
    }
    if (peek(p) == '/' && p->dialect == CSC_CRON_QUARTZ)
        return take_step(p, f->low, f->high);
    if (p->id == DATE && take_letter(p, 'L'))
        return take_last_date(p, from);
    if (p->id == WEEKDAY && p->dialect == CSC_CRON_QUARTZ &&
        take_letter(p, 'L')) {
        set_value(p, f->high);
        return true;
    }
    return take_value(p, &value) && take_from_value(p, from, value);
}

static bool
take_items(parser *p)
{
    do {
        if (!take_item(p))
            return false;
    } while (take(p, ','));
    if (p->at < p->end)
        return refuse(p, p->at, "something else is here");
    return true;
}

/* ---- Fields -------------------------------------------------------------- */

static bool
is_any(const parser *p, const char *from)
{
    return p->end - from == 1 && (*from == '*' || *from == '?');
}

static bool
parse_field(parser *p, field_id id, const char *from, const char *end)
{
    p->id = id;
    p->from = from;
    p->at = from;
    p->end = end;
    if (id == WEEKDAY && p->dialect == CSC_CRON_OCPS && take(p, '+')) {
        p->cron.days.both = true;
        p->from = p->at;
    }
    if (!take_items(p))
        return false;
    if (id == DATE)
        p->cron.days.any_date = is_any(p, p->from);
    if (id == WEEKDAY)
        p->cron.days.any_weekday = is_any(p, p->from);
    if (id == HOUR)
        p->cron.is_periodic = *from == '*' || p->cron.hours == ALL_HOURS;
    return true;
}

/* What a field that is not there says. */
static void
set_absent(parser *p, field_id id)
{
    p->id = id;
    if (id == SECOND)
        set_value(p, 0);
    else
        set_range(p, field_of(p)->low, field_of(p)->high, 1);
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Finds the fields; how many there are, FIELD_COUNT + 1 for more. */
static size_t
split(const char *text, const char *from[FIELD_COUNT],
      const char *end[FIELD_COUNT])
{
    size_t count = 0;

    for (;;) {
        while (is_blank(*text))
            text++;
        if (*text == '\0')
            return count;
        if (count == FIELD_COUNT)
            return count + 1;
        from[count] = text;
        while (*text != '\0' && !is_blank(*text))
            text++;
        end[count++] = text;
    }
}

/* Quartz wants '?' in one day field, and the other one says which days. */
static bool
check_question_marks(parser *p, const char *date, const char *weekday)
{
    if (p->dialect == CSC_CRON_QUARTZ && (*date == '?') == (*weekday == '?')) {
        (void)csc_fail(CASCADE_ERR_INVALID,
                       "%s: the quartz dialect has ? in the day of month field "
                       "(byte %zu) or in the day of week field (byte %zu), in "
                       "one of them",
                       p->what, (size_t)(date - p->text) + 1,
                       (size_t)(weekday - p->text) + 1);
        return false;
    }
    return true;
}

static bool
refuse_count(const parser *p)
{
    if (p->dialect == CSC_CRON_QUARTZ)
        (void)csc_fail(CASCADE_ERR_INVALID,
                       "%s: the quartz dialect has 6 fields (second minute "
                       "hour day-of-month month day-of-week) or 7 (year last)",
                       p->what);
    else
        (void)csc_fail(CASCADE_ERR_INVALID,
                       "%s: a pattern has 5 fields (minute hour day-of-month "
                       "month day-of-week), 6 (second first) or 7 (year last)",
                       p->what);
    return false;
}

static bool
parse_fields(parser *p)
{
    const char *from[FIELD_COUNT] = {NULL};
    const char *end[FIELD_COUNT] = {NULL};
    size_t count = split(p->text, from, end);
    size_t least = p->dialect == CSC_CRON_QUARTZ ? 6 : 5;
    size_t first = count == 5 ? MINUTE : SECOND;

    if (count < least || count > FIELD_COUNT)
        return refuse_count(p);
    p->cron.has_seconds = first == SECOND;
    p->cron.has_years = count == FIELD_COUNT;
    if (!p->cron.has_seconds)
        set_absent(p, SECOND);
    for (size_t i = 0; i < count; i++) {
        if (!parse_field(p, (field_id)(first + i), from[i], end[i]))
            return false;
    }
    if (!p->cron.has_years)
        set_absent(p, YEAR);
    return check_question_marks(p, from[DATE - first], from[WEEKDAY - first]);
}

/* ---- Nicknames ----------------------------------------------------------- */

static const struct {
    const char *name;
    const char *pattern; /* NULL: none, @reboot */
} nicknames[] = {
    {"@yearly", "0 0 1 1 *"},  {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},  {"@reboot", NULL},
};

static bool
parse_nickname(parser *p, const char *at)
{
    size_t len = strcspn(at, " \t");

    for (size_t i = 0; i < sizeof(nicknames) / sizeof(nicknames[0]); i++) {
        if (strlen(nicknames[i].name) != len ||
            memcmp(nicknames[i].name, at, len) != 0 ||
            at[len + strspn(at + len, " \t")] != '\0')
            continue;
        p->cron.is_reboot = nicknames[i].pattern == NULL;
        p->text = nicknames[i].pattern;
        return p->cron.is_reboot || parse_fields(p);
    }
    (void)csc_fail(CASCADE_ERR_INVALID,
                   "%s: byte %zu: the names of patterns are @yearly, "
                   "@annually, @monthly, @weekly, @daily, @midnight, @hourly "
                   "and @reboot, in lower case and alone",
                   p->what, (size_t)(at - p->text) + 1);
    return false;
}

cascade_err
csc_cron_parse(const char *what, const char *text, csc_cron_dialect dialect,
               csc_cron *cron)
{
    parser p = {.what = what, .text = text, .dialect = dialect};
    const char *at = text + strspn(text, " \t");
    int64_t first_s;
    bool is_good;

    if (strnlen(text, CSC_CRON_TEXT_MAX + 1) > CSC_CRON_TEXT_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: a pattern has at most %d bytes", what,
                        CSC_CRON_TEXT_MAX);
    p.cron.dialect = dialect;
    if (*at == '@' && dialect == CSC_CRON_OCPS)
        is_good = parse_nickname(&p, at);
    else
        is_good = parse_fields(&p);
    if (!is_good)
        return CASCADE_ERR_INVALID;
    p.cron.is_never =
        p.cron.is_reboot || !csc_cron_next(&p.cron, INT64_MIN, &first_s);
    *cron = p.cron;
    return CASCADE_OK;
}
