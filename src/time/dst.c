/* SPDX-License-Identifier: MIT */
#include "time/dst.h"

#include "base/error.h"
#include "time/civil.h"

/* Beyond these nothing fires, whatever the offset; sums with them are safe. */
#define AT_MIN_S (INT64_C(-10) * CSC_CIVIL_DAY_S)
#define AT_MAX_S (INT64_C(84020) * CSC_CIVIL_DAY_S)

static int64_t
clamp(int64_t at_s)
{
    return at_s < AT_MIN_S ? AT_MIN_S : at_s > AT_MAX_S ? AT_MAX_S : at_s;
}

/* ---- Where a piece goes -------------------------------------------------- */

/* Local times go to local_s - offsets_s[i], each; or all to one instant. */
typedef struct image {
    csc_dst_fate fate;
    bool is_point;
    int64_t point_s;
    size_t count;
    const int32_t *offsets_s; /* the piece's */
} image;

static image
image_of_gap(const csc_dst_rule *rule, const csc_zone_piece *piece)
{
    image to = {.fate = CSC_DST_IN_GAP};

    if (rule->cron->is_periodic)
        return to;
    if (piece->gap_after_s - piece->gap_before_s >= CSC_DST_GAP_MAX_S) {
        to.fate = CSC_DST_NO_SUCH_DAY;
        return to;
    }
    switch (rule->gap) {
    case CSC_DST_GAP_NEXT:
        to.fate = CSC_DST_FIRES;
        to.is_point = true;
        to.point_s = piece->gap_s;
        break;
    case CSC_DST_GAP_SHIFT:
        to.fate = CSC_DST_FIRES;
        to.count = 1;
        to.offsets_s = &piece->gap_before_s;
        break;
    case CSC_DST_GAP_SKIP:
        break;
    }
    return to;
}

static image
image_of(const csc_dst_rule *rule, const csc_zone_piece *piece)
{
    image to = {.fate = CSC_DST_FIRES,
                .count = piece->count,
                .offsets_s = piece->offsets_s};

    if (piece->count == 0)
        return image_of_gap(rule, piece);
    if (piece->count == 1 || rule->cron->is_periodic)
        return to;
    switch (rule->fold) {
    case CSC_DST_FOLD_FIRST:
        to.count = 1;
        break;
    case CSC_DST_FOLD_LAST:
        to.count = 1;
        to.offsets_s += piece->count - 1;
        break;
    case CSC_DST_FOLD_BOTH:
        break;
    case CSC_DST_FOLD_NONE:
        to.fate = CSC_DST_IN_FOLD;
        to.count = 0;
        break;
    }
    return to;
}

/* ---- Searching ----------------------------------------------------------- */

typedef struct search {
    const csc_dst_rule *rule;
    bool is_found;
    int64_t at_s;
    int64_t local_s;
} search;

static void
fill(const search *s, csc_dst_fire *fire)
{
    fire->at_s = s->at_s;
    fire->local_s = s->local_s;
    fire->offset_s = csc_zone_at(s->rule->zone, s->at_s).offset_s;
}

static void
offer(search *s, bool is_better, int64_t at_s, int64_t local_s)
{
    bool is_same = s->is_found && at_s == s->at_s && local_s < s->local_s;

    if (s->is_found && !is_better && !is_same)
        return;
    s->is_found = true;
    s->at_s = at_s;
    s->local_s = local_s;
}

/* The least instant of a piece that is behind after_s. */
static void
look_forward(search *s, const csc_zone_piece *piece, int64_t match_s,
             int64_t after_s)
{
    image to = image_of(s->rule, piece);

    if (to.is_point && to.point_s > after_s)
        offer(s, to.point_s < s->at_s, to.point_s, match_s);
    for (size_t i = 0; i < to.count; i++) {
        int64_t from_s = after_s + to.offsets_s[i];
        int64_t local_s;

        if (piece->from_s > from_s)
            from_s = piece->from_s - 1;
        if (csc_cron_next(s->rule->cron, from_s, &local_s) &&
            local_s < piece->until_s)
            offer(s, local_s - to.offsets_s[i] < s->at_s,
                  local_s - to.offsets_s[i], local_s);
    }
}

bool
csc_dst_next(const csc_dst_rule *rule, int64_t after_s, csc_dst_fire *fire)
{
    search s = {.rule = rule};
    int64_t from_s = clamp(after_s);
    int64_t local_s = from_s + csc_zone_offset_min_s(rule->zone);
    int64_t match_s;

    while (csc_cron_next(rule->cron, local_s, &match_s)) {
        csc_zone_piece piece;

        if (s.is_found && match_s - csc_zone_offset_max_s(rule->zone) > s.at_s)
            break;
        piece = csc_zone_local(rule->zone, match_s);
        look_forward(&s, &piece, match_s, from_s);
        if (piece.until_s == INT64_MAX)
            break;
        local_s = piece.until_s - 1;
    }
    if (s.is_found)
        fill(&s, fire);
    return s.is_found;
}

/* The greatest that is before before_s. */
static void
look_backward(search *s, const csc_zone_piece *piece, int64_t before_s)
{
    image to = image_of(s->rule, piece);
    int64_t local_s;

    if (to.is_point && to.point_s < before_s &&
        csc_cron_next(s->rule->cron, piece->from_s - 1, &local_s))
        offer(s, to.point_s > s->at_s, to.point_s, local_s);
    for (size_t i = 0; i < to.count; i++) {
        int64_t until_s = before_s + to.offsets_s[i];

        if (piece->until_s < until_s)
            until_s = piece->until_s;
        if (csc_cron_previous(s->rule->cron, until_s, &local_s) &&
            local_s >= piece->from_s)
            offer(s, local_s - to.offsets_s[i] > s->at_s,
                  local_s - to.offsets_s[i], local_s);
    }
}

bool
csc_dst_previous(const csc_dst_rule *rule, int64_t before_s, csc_dst_fire *fire)
{
    search s = {.rule = rule};
    int64_t until_s = clamp(before_s);
    int64_t local_s = until_s + csc_zone_offset_max_s(rule->zone);
    int64_t match_s;

    while (csc_cron_previous(rule->cron, local_s, &match_s)) {
        csc_zone_piece piece;

        if (s.is_found && match_s - csc_zone_offset_min_s(rule->zone) < s.at_s)
            break;
        piece = csc_zone_local(rule->zone, match_s);
        look_backward(&s, &piece, until_s);
        if (piece.from_s == INT64_MIN)
            break;
        local_s = piece.from_s;
    }
    if (s.is_found)
        fill(&s, fire);
    return s.is_found;
}

bool
csc_dst_matches(const csc_dst_rule *rule, int64_t at_s, csc_dst_fire *fire)
{
    csc_dst_fire found;

    if (at_s == INT64_MIN || !csc_dst_next(rule, at_s - 1, &found) ||
        found.at_s != at_s)
        return false;
    *fire = found;
    return true;
}

size_t
csc_dst_between(const csc_dst_rule *rule, int64_t from_s, int64_t to_s,
                csc_dst_fire *fires, size_t max)
{
    int64_t after_s = clamp(from_s) - 1;
    size_t count = 0;

    while (count < max && csc_dst_next(rule, after_s, &fires[count]) &&
           fires[count].at_s < to_s)
        after_s = fires[count++].at_s;
    return count;
}

/* ---- Nominal times ------------------------------------------------------- */

static csc_dst_outcome
outcome_of(const csc_dst_rule *rule, const csc_zone_piece *piece,
           int64_t local_s)
{
    image to = image_of(rule, piece);
    csc_dst_outcome out = {.fate = to.fate};

    if (to.is_point)
        out.at_s[out.count++] = to.point_s;
    for (size_t i = 0; i < to.count; i++)
        out.at_s[out.count++] = local_s - to.offsets_s[i];
    return out;
}

csc_dst_outcome
csc_dst_explain(const csc_dst_rule *rule, int64_t local_s)
{
    csc_zone_piece piece;

    if (!csc_cron_matches(rule->cron, local_s))
        return (csc_dst_outcome){.fate = CSC_DST_NO_MATCH};
    piece = csc_zone_local(rule->zone, local_s);
    return outcome_of(rule, &piece, local_s);
}

static bool
has_instant(const csc_dst_outcome *out, int64_t at_s)
{
    for (size_t i = 0; i < out->count; i++) {
        if (out->at_s[i] == at_s)
            return true;
    }
    return false;
}

/* The least nominal time that was found, of those behind after_s. */
typedef struct nominal {
    const csc_dst_rule *rule;
    int64_t at_s;
    int64_t after_s;
    bool is_found;
    int64_t local_s;
} nominal;

static void
offer_nominal(nominal *n, int64_t local_s)
{
    csc_dst_outcome out;

    if (local_s <= n->after_s || (n->is_found && local_s >= n->local_s))
        return;
    out = csc_dst_explain(n->rule, local_s);
    if (!has_instant(&out, n->at_s))
        return;
    n->is_found = true;
    n->local_s = local_s;
}

/* By next: the first match in the gap that ends with `span`, where it begins at
 * this instant. Clocks may show a part of it, before or behind. */
static void
look_left_out(nominal *n, const csc_zone_span *span, size_t *steps)
{
    const csc_zone *zone = n->rule->zone;
    int64_t end_s = n->at_s + span->offset_s;
    int64_t local_s;

    if (span->from_s != n->at_s)
        return;
    local_s = n->at_s + csc_zone_at(zone, n->at_s - 1).offset_s;
    if (end_s - local_s >= CSC_DST_GAP_MAX_S)
        return;
    local_s = n->after_s >= local_s ? n->after_s : local_s - 1;
    while (local_s < end_s && csc_cron_next(n->rule->cron, local_s, &local_s) &&
           local_s < end_s) {
        csc_zone_piece piece = csc_zone_local(zone, local_s);

        ++*steps;
        if (piece.count == 0 && piece.gap_s == n->at_s) {
            offer_nominal(n, local_s);
            return;
        }
        local_s = piece.until_s - 1;
    }
}

/* By shift: those that a gap has moved here which began less than its length
 * ago. */
static void
look_shifted(nominal *n, csc_zone_span span, size_t *steps)
{
    while (span.from_s > n->at_s - CSC_DST_GAP_MAX_S) {
        ++*steps;
        span = csc_zone_at(n->rule->zone, span.from_s - 1);
        offer_nominal(n, n->at_s + span.offset_s);
    }
}

bool
csc_dst_nominal(const csc_dst_rule *rule, int64_t at_s, int64_t after_local_s,
                int64_t *local_s, size_t *steps)
{
    nominal n = {.rule = rule, .at_s = at_s, .after_s = after_local_s};
    csc_zone_span span;

    if (clamp(at_s) != at_s)
        return false;
    span = csc_zone_at(rule->zone, at_s);
    offer_nominal(&n, at_s + span.offset_s);
    if (!rule->cron->is_periodic && rule->gap == CSC_DST_GAP_NEXT)
        look_left_out(&n, &span, steps);
    if (!rule->cron->is_periodic && rule->gap == CSC_DST_GAP_SHIFT)
        look_shifted(&n, span, steps);
    if (n.is_found)
        *local_s = n.local_s;
    return n.is_found;
}

size_t
csc_dst_nominals(const csc_dst_rule *rule, int64_t at_s, int64_t *locals_s,
                 size_t max)
{
    int64_t local_s = INT64_MIN;
    size_t steps = 0;
    size_t count = 0;

    while (count < max &&
           csc_dst_nominal(rule, at_s, local_s, &local_s, &steps))
        locals_s[count++] = local_s;
    return count;
}
