/* SPDX-License-Identifier: MIT */
#include "time/rules.h"

#include "base/data/search.h"
#include "base/error.h"
#include "time/civil.h"

/* Behind all years. */
#define FAR_MS \
    (CSC_INTERVAL_END_MS + INT64_C(10) * CSC_CIVIL_DAY_S * CSC_CIVIL_SECOND_MS)

static csc_dst_rule
dst_of(const csc_rules *rules, size_t index)
{
    return (csc_dst_rule){&rules->crons[index], rules->zone, rules->gap,
                          rules->fold};
}

static int64_t
clamp(int64_t at_ms)
{
    return at_ms < -FAR_MS ? -FAR_MS : at_ms > FAR_MS ? FAR_MS : at_ms;
}

/* ---- Candidates ---------------------------------------------------------- */

/* The nearest candidate in one direction, so far. */
typedef struct search {
    bool is_back;
    bool is_there;
    csc_rules_fire *best;
} search;

static void
offer(search *s, const csc_rules_fire *fire)
{
    if (s->is_there && (s->is_back ? fire->at_ms <= s->best->at_ms
                                   : fire->at_ms >= s->best->at_ms))
        return;
    *s->best = *fire;
    s->is_there = true;
}

/* An instant as the zone's clock shows it. */
static csc_rules_fire
shown(const csc_rules *rules, int64_t at_ms, csc_rules_source source,
      size_t index)
{
    int64_t at_s = csc_civil_div(at_ms, CSC_CIVIL_SECOND_MS);
    int32_t offset_s = csc_zone_at(rules->zone, at_s).offset_s;

    return (csc_rules_fire){at_ms, at_s + offset_s, offset_s, source, index, 1};
}

static csc_rules_fire
of_cron(const csc_dst_fire *fire, size_t index)
{
    return (csc_rules_fire){fire->at_s * CSC_CIVIL_SECOND_MS,
                            fire->local_s,
                            fire->offset_s,
                            CSC_RULES_CRON,
                            index,
                            1};
}

/* How many instants are not behind at_ms. */
static size_t
instants_to(const csc_rules *rules, int64_t at_ms)
{
    return csc_search_i64_behind(rules->instants_ms, rules->instant_count,
                                 at_ms);
}

static bool
candidate_behind(const csc_rules *rules, int64_t after_ms, csc_rules_fire *best)
{
    search s = {.is_back = false, .best = best};
    size_t index = instants_to(rules, after_ms);
    int64_t at_ms;
    csc_rules_fire fire;

    for (size_t i = 0; i < rules->cron_count; i++) {
        csc_dst_rule rule = dst_of(rules, i);
        csc_dst_fire found;

        if (!csc_dst_next(&rule, csc_civil_div(after_ms, CSC_CIVIL_SECOND_MS),
                          &found))
            continue;
        fire = of_cron(&found, i);
        offer(&s, &fire);
    }
    for (size_t i = 0; i < rules->interval_count; i++) {
        if (!csc_interval_next(&rules->intervals[i], after_ms, &at_ms))
            continue;
        fire = shown(rules, at_ms, CSC_RULES_INTERVAL, i);
        offer(&s, &fire);
    }
    if (index < rules->instant_count) {
        at_ms = rules->instants_ms[index];
        fire = shown(rules, at_ms, CSC_RULES_INSTANT, index);
        offer(&s, &fire);
    }
    return s.is_there;
}

static bool
candidate_before(const csc_rules *rules, int64_t before_ms,
                 csc_rules_fire *best)
{
    search s = {.is_back = true, .best = best};
    size_t count = instants_to(rules, before_ms - 1);
    int64_t before_s = csc_civil_div(before_ms - 1, CSC_CIVIL_SECOND_MS) + 1;
    int64_t at_ms;
    csc_rules_fire fire;

    for (size_t i = 0; i < rules->cron_count; i++) {
        csc_dst_rule rule = dst_of(rules, i);
        csc_dst_fire found;

        if (!csc_dst_previous(&rule, before_s, &found))
            continue;
        fire = of_cron(&found, i);
        offer(&s, &fire);
    }
    for (size_t i = 0; i < rules->interval_count; i++) {
        if (!csc_interval_previous(&rules->intervals[i], before_ms, &at_ms))
            continue;
        fire = shown(rules, at_ms, CSC_RULES_INTERVAL, i);
        offer(&s, &fire);
    }
    if (count > 0) {
        at_ms = rules->instants_ms[count - 1];
        fire = shown(rules, at_ms, CSC_RULES_INSTANT, count - 1);
        offer(&s, &fire);
    }
    return s.is_there;
}

/* ---- Excludes ------------------------------------------------------------ */

static csc_rules_why
why_excluded(const csc_rules *rules, int64_t local_s, size_t *index)
{
    int64_t days = csc_civil_div(local_s, CSC_CIVIL_DAY_S);

    for (size_t i = 0; i < rules->exclude_cron_count; i++) {
        const csc_cron *cron = &rules->exclude_crons[i];
        int64_t second = cron->has_seconds ? 0 : csc_civil_mod(local_s, 60);

        *index = i;
        if (csc_cron_matches(cron, local_s - second))
            return CSC_RULES_EXCLUDED_BY_CRON;
    }
    for (size_t i = 0; i < rules->exclude_calendar_count; i++) {
        *index = i;
        if (csc_calendar_has(rules->exclude_calendars[i], days))
            return CSC_RULES_EXCLUDED_BY_CALENDAR;
    }
    return CSC_RULES_FIRES;
}

/* The last local time that what excludes this one excludes with it. */
static int64_t
excluded_to(const csc_rules *rules, csc_rules_why why, size_t index,
            int64_t local_s)
{
    int64_t length_s = CSC_CIVIL_DAY_S;

    if (why == CSC_RULES_EXCLUDED_BY_CRON)
        length_s = rules->exclude_crons[index].has_seconds ? 1 : 60;
    return local_s - csc_civil_mod(local_s, length_s) + length_s - 1;
}

/* The next nominal time of a pattern at this instant that is not excluded. */
static bool
next_nominal(const csc_rules *rules, size_t cron, int64_t at_ms,
             int64_t *local_s, size_t *steps)
{
    csc_dst_rule rule = dst_of(rules, cron);
    size_t index;

    while (csc_dst_nominal(&rule, at_ms / CSC_CIVIL_SECOND_MS, *local_s,
                           local_s, steps)) {
        csc_rules_why why = why_excluded(rules, *local_s, &index);

        if (why == CSC_RULES_FIRES)
            return true;
        *local_s = excluded_to(rules, why, index, *local_s);
    }
    return false;
}

/* Whether a pattern has one: *fire becomes that. */
static bool
other_nominal(const csc_rules *rules, size_t cron, csc_rules_fire *fire,
              size_t *steps)
{
    int64_t local_s = INT64_MIN;

    if (!next_nominal(rules, cron, fire->at_ms, &local_s, steps))
        return false;
    fire->local_s = local_s;
    fire->source = CSC_RULES_CRON;
    fire->index = cron;
    return true;
}

/* Counts those behind the one that the fire has. */
static void
count_nominals(const csc_rules *rules, csc_rules_fire *fire, size_t *steps)
{
    int64_t local_s = fire->local_s;

    while (fire->source == CSC_RULES_CRON &&
           next_nominal(rules, fire->index, fire->at_ms, &local_s, steps))
        fire->nominal_count++;
}

/* Whether any source has a nominal time here that is not excluded: *fire
 * becomes that. The one that the clock shows is the same for all. *steps grows
 * by what was looked at beside it. */
static bool
is_left(const csc_rules *rules, csc_rules_fire *fire, size_t *steps)
{
    size_t index;

    if (why_excluded(rules, fire->local_s, &index) == CSC_RULES_FIRES)
        return true;
    for (size_t i = 0; i < rules->cron_count; i++) {
        if (fire->at_ms % CSC_CIVIL_SECOND_MS == 0 &&
            other_nominal(rules, i, fire, steps))
            return true;
    }
    for (size_t i = 0; i < rules->interval_count; i++) {
        if (!csc_interval_matches(&rules->intervals[i], fire->at_ms))
            continue;
        *fire = shown(rules, fire->at_ms, CSC_RULES_INTERVAL, i);
        return why_excluded(rules, fire->local_s, &index) == CSC_RULES_FIRES;
    }
    index = instants_to(rules, fire->at_ms);
    if (index == 0 || rules->instants_ms[index - 1] != fire->at_ms)
        return false;
    *fire = shown(rules, fire->at_ms, CSC_RULES_INSTANT, index - 1);
    return why_excluded(rules, fire->local_s, &index) == CSC_RULES_FIRES;
}

/* ---- Searching ----------------------------------------------------------- */

static int64_t
end_of(const csc_rules *rules)
{
    return rules->end_ms != 0 ? clamp(rules->end_ms) : FAR_MS;
}

/* A candidate is looked at to its end, whatever is left of the budget: so each
 * search comes further. */
static void
spend(size_t *budget, size_t steps)
{
    *budget -= steps < *budget ? steps : *budget;
}

/* As csc_rules_next(); takes from *budget what it has looked at. */
static csc_rules_answer
take_next(const csc_rules *rules, int64_t after_ms, size_t *budget,
          csc_rules_fire *fire)
{
    int64_t from_ms = clamp(after_ms);
    csc_rules_fire found;

    csc_assert(*budget > 0);
    if (from_ms < clamp(rules->start_ms) - 1)
        from_ms = clamp(rules->start_ms) - 1;
    while (*budget > 0) {
        size_t steps = 1;
        bool is_fire;

        if (!candidate_behind(rules, from_ms, &found) ||
            found.at_ms >= end_of(rules))
            return CSC_RULES_NONE;
        from_ms = found.at_ms;
        is_fire = is_left(rules, &found, &steps);
        if (is_fire)
            count_nominals(rules, &found, &steps);
        spend(budget, steps);
        if (is_fire) {
            *fire = found;
            return CSC_RULES_FOUND;
        }
    }
    *fire = found;
    return CSC_RULES_SO_FAR;
}

csc_rules_answer
csc_rules_next(const csc_rules *rules, int64_t after_ms, size_t budget,
               csc_rules_fire *fire)
{
    return take_next(rules, after_ms, &budget, fire);
}

csc_rules_answer
csc_rules_previous(const csc_rules *rules, int64_t before_ms, size_t budget,
                   csc_rules_fire *fire)
{
    int64_t to_ms = clamp(before_ms);
    csc_rules_fire found;

    csc_assert(budget > 0);
    if (to_ms > end_of(rules))
        to_ms = end_of(rules);
    while (budget > 0) {
        size_t steps = 1;

        if (!candidate_before(rules, to_ms, &found) ||
            found.at_ms < clamp(rules->start_ms))
            return CSC_RULES_NONE;
        to_ms = found.at_ms;
        if (is_left(rules, &found, &steps)) {
            count_nominals(rules, &found, &steps);
            *fire = found;
            return CSC_RULES_FOUND;
        }
        spend(&budget, steps);
    }
    *fire = found;
    return CSC_RULES_SO_FAR;
}

size_t
csc_rules_between(const csc_rules *rules, int64_t from_ms, int64_t to_ms,
                  size_t *budget, csc_rules_fire *fires, size_t max,
                  int64_t *next_ms)
{
    int64_t after_ms = clamp(from_ms) - 1;
    size_t count = 0;

    *next_ms = to_ms;
    while (*budget > 0) {
        csc_rules_fire fire;
        csc_rules_answer answer = take_next(rules, after_ms, budget, &fire);

        if (answer == CSC_RULES_NONE || fire.at_ms >= to_ms)
            return count;
        if (count == max && answer == CSC_RULES_FOUND) {
            *next_ms = after_ms + 1;
            return count;
        }
        if (answer == CSC_RULES_SO_FAR) {
            *next_ms = fire.at_ms + 1;
            return count;
        }
        fires[count++] = fire;
        after_ms = fire.at_ms;
    }
    *next_ms = after_ms + 1;
    return count;
}

/* ---- One instant --------------------------------------------------------- */

csc_rules_why
csc_rules_explain(const csc_rules *rules, int64_t at_ms, int64_t *local_s,
                  size_t *index)
{
    csc_rules_fire fire;
    size_t steps = 0;

    if (at_ms < rules->start_ms)
        return CSC_RULES_BEFORE_START;
    if (rules->end_ms != 0 && at_ms >= rules->end_ms)
        return CSC_RULES_BEHIND_END;
    if (clamp(at_ms) != at_ms || !candidate_behind(rules, at_ms - 1, &fire) ||
        fire.at_ms != at_ms)
        return CSC_RULES_NO_CANDIDATE;
    *local_s = fire.local_s;
    if (is_left(rules, &fire, &steps))
        return CSC_RULES_FIRES;
    return why_excluded(rules, *local_s, index);
}

bool
csc_rules_matches(const csc_rules *rules, int64_t at_ms)
{
    int64_t local_s;
    size_t index;

    return csc_rules_explain(rules, at_ms, &local_s, &index) == CSC_RULES_FIRES;
}
