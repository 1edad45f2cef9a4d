/* SPDX-License-Identifier: MIT
 *
 * Span i of a zone lies between change i - 1 and change i; there is one more
 * span than changes. Every offset is within a range of SPREAD_S, so what a
 * local time may be lies that near to it, and so do those spans whose local
 * times can meet.
 */
#include "time/zone.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/search.h"
#include "base/error.h"
#include "base/mem.h"
#include "time/civil.h"
#include "time/tzif.h"

#define SPREAD_S (CSC_TZIF_OFFSET_MAX_S - CSC_TZIF_OFFSET_MIN_S)
#define KINDS_OF_RULE 2
#define CHANGES_OF_RULE \
    ((size_t)2 * (CSC_ZONE_YEAR_MAX - CSC_ZONE_YEAR_MIN + 1))

struct csc_zone {
    char name[CSC_ZONE_NAME_MAX + 1];
    size_t change_count;
    int64_t *changes_s;
    uint16_t *span_kinds; /* of change_count + 1 spans */
    csc_tzif_kind *kinds;
    size_t kind_count;
    int32_t offset_min_s;
    int32_t offset_max_s;
};

/* ---- Names --------------------------------------------------------------- */

static bool
is_name_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '+' ||
           c == '-';
}

/* The length of the part at `at`; 0 when it may not stand in a name. */
static size_t
name_part(const char *at)
{
    size_t len = 0;

    while (is_name_char(at[len]))
        len++;
    if ((len == 1 && at[0] == '.') || (len == 2 && memcmp(at, "..", 2) == 0))
        return 0;
    return len;
}

static bool
is_name(const char *name)
{
    const char *at = name;

    if (strnlen(name, CSC_ZONE_NAME_MAX + 1) > CSC_ZONE_NAME_MAX)
        return false;
    for (;;) {
        size_t len = name_part(at);

        if (len == 0)
            return false;
        at += len;
        if (*at == '\0')
            return true;
        if (*at != '/')
            return false;
        at++;
    }
}

cascade_err
csc_zone_check_name(const char *name)
{
    if (name == NULL || !is_name(name))
        return csc_fail(CASCADE_ERR_INVALID,
                        "zone: not the name of a time zone: 1 to %d bytes, "
                        "like Europe/Paris or UTC",
                        CSC_ZONE_NAME_MAX);
    return CASCADE_OK;
}

/* ---- Making -------------------------------------------------------------- */

void
csc_zone_free(csc_zone *zone)
{
    if (zone == NULL)
        return;
    csc_mem_free(zone->changes_s);
    csc_mem_free(zone->span_kinds);
    csc_mem_free(zone->kinds);
    csc_mem_free(zone);
}

/* A zone without changes, with room for that many. */
static cascade_err
create(const char *name, size_t changes_max, size_t kinds_max, csc_zone **zone)
{
    csc_zone *made;
    cascade_err err = csc_zone_check_name(name);

    if (err != CASCADE_OK)
        return err;
    made = csc_mem_zalloc(1, sizeof(*made));
    if (made == NULL)
        return csc_fail_memory();
    memcpy(made->name, name, strlen(name) + 1);
    made->changes_s = csc_mem_zalloc(changes_max + 1, sizeof(int64_t));
    made->span_kinds = csc_mem_zalloc(changes_max + 1, sizeof(uint16_t));
    made->kinds = csc_mem_zalloc(kinds_max, sizeof(csc_tzif_kind));
    if (made->changes_s == NULL || made->span_kinds == NULL ||
        made->kinds == NULL) {
        csc_zone_free(made);
        return csc_fail_memory();
    }
    *zone = made;
    return CASCADE_OK;
}

static const csc_tzif_kind *
kind_of(const csc_zone *zone, size_t span)
{
    return &zone->kinds[zone->span_kinds[span]];
}

static void
add_change(csc_zone *zone, int64_t change_s, size_t kind)
{
    zone->changes_s[zone->change_count] = change_s;
    zone->change_count++;
    zone->span_kinds[zone->change_count] = (uint16_t)kind;
}

static void
add_kind(csc_zone *zone, const csc_tzrule_side *side, bool is_dst)
{
    csc_tzif_kind *kind = &zone->kinds[zone->kind_count++];

    kind->offset_s = side->offset_s;
    kind->is_dst = is_dst;
    memcpy(kind->name, side->name, sizeof(kind->name));
}

/* The rule at one of its instants, if it is behind the last change and changes
 * something. */
static void
add_instant(csc_zone *zone, const csc_tzrule *rule, size_t kind_of_rule,
            int64_t at_s)
{
    size_t kind = kind_of_rule + csc_tzrule_is_dst(rule, at_s);

    if (zone->change_count > 0 &&
        at_s <= zone->changes_s[zone->change_count - 1])
        return;
    if (kind != zone->span_kinds[zone->change_count])
        add_change(zone, at_s, kind);
}

static int
compare_instants(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* A start or an end may fall into another year than its own, so they are put
 * in order first. */
static cascade_err
add_years(csc_zone *zone, const csc_tzrule *rule, size_t kind)
{
    int64_t *instants = csc_mem_zalloc(CHANGES_OF_RULE, sizeof(*instants));
    size_t count = 0;

    if (instants == NULL)
        return csc_fail_memory();
    for (int32_t year = CSC_ZONE_YEAR_MIN; year <= CSC_ZONE_YEAR_MAX; year++) {
        instants[count++] = csc_tzrule_start_s(rule, year);
        instants[count++] = csc_tzrule_end_s(rule, year);
    }
    qsort(instants, count, sizeof(*instants), compare_instants);
    for (size_t i = 0; i < count; i++)
        add_instant(zone, rule, kind, instants[i]);
    csc_mem_free(instants);
    return CASCADE_OK;
}

/* What the rule says from the last change on must be what that change says. */
static cascade_err
begin_rule(csc_zone *zone, const csc_tzrule *rule, size_t kind_of_rule)
{
    int64_t from_s = csc_civil_days(CSC_ZONE_YEAR_MIN, 1, 1) * CSC_CIVIL_DAY_S;
    size_t kind;

    if (zone->change_count > 0 &&
        zone->changes_s[zone->change_count - 1] > from_s)
        from_s = zone->changes_s[zone->change_count - 1];
    kind = kind_of_rule + csc_tzrule_is_dst(rule, from_s);
    if (zone->change_count > 0 &&
        zone->kinds[kind].offset_s !=
            kind_of(zone, zone->change_count)->offset_s)
        return csc_fail(CASCADE_ERR_INVALID,
                        "zone %s: its rule contradicts its last change",
                        zone->name);
    zone->span_kinds[zone->change_count] = (uint16_t)kind;
    return CASCADE_OK;
}

static cascade_err
add_rule(csc_zone *zone, const csc_tzrule *rule)
{
    size_t kind = zone->kind_count;
    int64_t end_s = csc_civil_days(CSC_ZONE_YEAR_MAX, 1, 1) * CSC_CIVIL_DAY_S;
    cascade_err err;

    if (zone->change_count > 0 &&
        zone->changes_s[zone->change_count - 1] >= end_s)
        return CASCADE_OK;
    add_kind(zone, &rule->standard, false);
    add_kind(zone, &rule->dst, true);
    err = begin_rule(zone, rule, kind);
    if (err != CASCADE_OK || !rule->has_dst)
        return err;
    return add_years(zone, rule, kind);
}

/* Those spans whose local times can meet have instants that are no further
 * apart than twice the spread. */
static cascade_err
check_density(const csc_zone *zone)
{
    for (size_t i = CSC_ZONE_TIMES_MAX - 1; i < zone->change_count; i++) {
        if (zone->changes_s[i] -
                zone->changes_s[i - (CSC_ZONE_TIMES_MAX - 1)] <=
            INT64_C(2) * SPREAD_S)
            return csc_fail(CASCADE_ERR_INVALID,
                            "zone %s: it has %d changes within some days",
                            zone->name, CSC_ZONE_TIMES_MAX);
    }
    return CASCADE_OK;
}

static void
find_offsets(csc_zone *zone)
{
    zone->offset_min_s = kind_of(zone, 0)->offset_s;
    zone->offset_max_s = zone->offset_min_s;
    for (size_t i = 1; i <= zone->change_count; i++) {
        int32_t offset_s = kind_of(zone, i)->offset_s;

        if (offset_s < zone->offset_min_s)
            zone->offset_min_s = offset_s;
        if (offset_s > zone->offset_max_s)
            zone->offset_max_s = offset_s;
    }
}

static cascade_err
fill(csc_zone *zone, const csc_tzif *tzif)
{
    cascade_err err = CASCADE_OK;

    memcpy(zone->kinds, tzif->kinds, tzif->kind_count * sizeof(*zone->kinds));
    zone->kind_count = tzif->kind_count;
    for (size_t i = 0; i < tzif->change_count; i++)
        add_change(zone, tzif->changes_s[i], tzif->change_kinds[i]);
    if (tzif->has_rule)
        err = add_rule(zone, &tzif->rule);
    if (err == CASCADE_OK)
        err = check_density(zone);
    if (err == CASCADE_OK)
        find_offsets(zone);
    return err;
}

cascade_err
csc_zone_create(const char *name, const void *bytes, size_t len,
                csc_zone **zone)
{
    csc_tzif tzif;
    csc_zone *made = NULL;
    cascade_err err = csc_zone_check_name(name);

    if (err != CASCADE_OK)
        return err;
    err = csc_tzif_init(&tzif, name, bytes, len);
    if (err != CASCADE_OK)
        return err;
    err = create(name, tzif.change_count + CHANGES_OF_RULE,
                 tzif.kind_count + KINDS_OF_RULE, &made);
    if (err == CASCADE_OK)
        err = fill(made, &tzif);
    csc_tzif_fini(&tzif);
    if (err == CASCADE_OK)
        *zone = made;
    else
        csc_zone_free(made);
    return err;
}

cascade_err
csc_zone_create_fixed(const char *name, int32_t offset_s, csc_zone **zone)
{
    csc_zone *made = NULL;
    cascade_err err;

    if (offset_s < CSC_TZIF_OFFSET_MIN_S || offset_s > CSC_TZIF_OFFSET_MAX_S)
        return csc_fail(CASCADE_ERR_INVALID,
                        "zone: an offset is from -24:59:59 to +25:59:59");
    err = create(name, 0, 1, &made);
    if (err != CASCADE_OK)
        return err;
    made->kinds[0].offset_s = offset_s;
    made->kind_count = 1;
    find_offsets(made);
    *zone = made;
    return CASCADE_OK;
}

const char *
csc_zone_name(const csc_zone *zone)
{
    return zone->name;
}

int32_t
csc_zone_offset_min_s(const csc_zone *zone)
{
    return zone->offset_min_s;
}

int32_t
csc_zone_offset_max_s(const csc_zone *zone)
{
    return zone->offset_max_s;
}

/* ---- Instants ------------------------------------------------------------ */

static int64_t
span_from(const csc_zone *zone, size_t span)
{
    return span == 0 ? INT64_MIN : zone->changes_s[span - 1];
}

static int64_t
span_until(const csc_zone *zone, size_t span)
{
    return span == zone->change_count ? INT64_MAX : zone->changes_s[span];
}

/* The number of changes that are not behind at_s. */
static size_t
span_at(const csc_zone *zone, int64_t at_s)
{
    return csc_search_i64_behind(zone->changes_s, zone->change_count, at_s);
}

csc_zone_span
csc_zone_at(const csc_zone *zone, int64_t at_s)
{
    size_t span = span_at(zone, at_s);
    const csc_tzif_kind *kind = kind_of(zone, span);

    return (csc_zone_span){.from_s = span_from(zone, span),
                           .until_s = span_until(zone, span),
                           .offset_s = kind->offset_s,
                           .is_dst = kind->is_dst,
                           .name = kind->name};
}

/* ---- Local times --------------------------------------------------------- */

static int64_t
local_of(int64_t at_s, int32_t offset_s)
{
    return at_s == INT64_MIN || at_s == INT64_MAX ? at_s : at_s + offset_s;
}

/* An edge of another span bounds the piece on the side where it lies. */
static void
bound(csc_zone_piece *piece, int64_t edge_s, int64_t local_s)
{
    if (edge_s <= local_s && edge_s > piece->from_s)
        piece->from_s = edge_s;
    if (edge_s > local_s && edge_s < piece->until_s)
        piece->until_s = edge_s;
}

/* One span: local_s is in it, or its edges bound the piece. In a gap, the last
 * change that jumps over local_s is the one that made it. */
static void
look_at(const csc_zone *zone, size_t span, int64_t local_s,
        csc_zone_piece *piece)
{
    int32_t offset_s = kind_of(zone, span)->offset_s;
    int64_t from_s = local_of(span_from(zone, span), offset_s);
    int64_t until_s = local_of(span_until(zone, span), offset_s);

    bound(piece, from_s, local_s);
    bound(piece, until_s, local_s);
    if (local_s >= from_s && local_s < until_s &&
        piece->count < CSC_ZONE_TIMES_MAX)
        piece->offsets_s[piece->count++] = offset_s;
    if (span < zone->change_count && until_s <= local_s) {
        int64_t at_s = zone->changes_s[span];
        int32_t after_s = kind_of(zone, span + 1)->offset_s;

        if (at_s + after_s > local_s) {
            piece->gap_s = at_s;
            piece->gap_before_s = offset_s;
            piece->gap_after_s = after_s;
        }
    }
}

csc_zone_piece
csc_zone_local(const csc_zone *zone, int64_t local_s)
{
    csc_zone_piece piece = {.from_s = INT64_MIN, .until_s = INT64_MAX};
    size_t first = span_at(zone, local_s - zone->offset_max_s);
    size_t last = span_at(zone, local_s - zone->offset_min_s);
    int64_t edge_s;

    /* Neighbours whose edges may lie in the same stretch. */
    edge_s = span_from(zone, first);
    while (first > 0 && edge_s - span_until(zone, first - 1) <= SPREAD_S)
        first--;
    edge_s = span_until(zone, last);
    while (last < zone->change_count &&
           span_from(zone, last + 1) - edge_s <= SPREAD_S)
        last++;
    for (size_t span = first; span <= last; span++)
        look_at(zone, span, local_s, &piece);
    return piece;
}
