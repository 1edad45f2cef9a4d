/* SPDX-License-Identifier: MIT
 *
 * Zone files. For any bytes there is a text that says why not, and nothing
 * left behind, or a zone, of which must hold, around each of its changes:
 *
 *   the spans of instants meet, from the beginning of time to its end
 *   a local time is in its piece, and happens at just the instants it names
 *   where it happens never, the change that the piece names jumps over it
 */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "time/tzif.h"
#include "time/zone.h"

#define NAME "Some/City"
#define SPANS_MAX 40 /* looked at, of a file */

static void
check_refusal(cascade_err err)
{
    const char *why = cascade_errmsg();

    fuzz_check(err == CASCADE_ERR_INVALID || err == CASCADE_ERR_UNSUPPORTED ||
               err == CASCADE_ERR_TOO_LARGE);
    fuzz_check(strstr(why, NAME) != NULL);
    fuzz_check(csc_json_utf8_is(why, strlen(why)));
}

static void
check_local(const csc_zone *zone, int64_t local_s)
{
    csc_zone_piece piece = csc_zone_local(zone, local_s);

    fuzz_check(piece.from_s <= local_s && local_s < piece.until_s);
    fuzz_check(piece.count <= CSC_ZONE_TIMES_MAX);
    for (size_t i = 0; i < piece.count; i++) {
        int64_t at_s = local_s - piece.offsets_s[i];

        fuzz_check(csc_zone_at(zone, at_s).offset_s == piece.offsets_s[i]);
        fuzz_check(i == 0 || at_s > local_s - piece.offsets_s[i - 1]);
    }
    if (piece.count > 0)
        return;
    fuzz_check(piece.gap_s + piece.gap_before_s <= local_s);
    fuzz_check(piece.gap_s + piece.gap_after_s > local_s);
    fuzz_check(csc_zone_at(zone, piece.gap_s).from_s == piece.gap_s);
}

static void
check_around(const csc_zone *zone, int64_t at_s, int32_t offset_s)
{
    static const int64_t steps_s[] = {-86400, -3600, -1, 0, 1, 1800, 86400};

    for (size_t i = 0; i < sizeof(steps_s) / sizeof(steps_s[0]); i++)
        check_local(zone, at_s + offset_s + steps_s[i]);
}

static void
check_zone(const csc_zone *zone)
{
    csc_zone_span span = csc_zone_at(zone, INT64_MIN);

    fuzz_check(span.from_s == INT64_MIN);
    for (int i = 0; i < SPANS_MAX && span.until_s != INT64_MAX; i++) {
        csc_zone_span next = csc_zone_at(zone, span.until_s);

        fuzz_check(next.from_s == span.until_s);
        fuzz_check(csc_zone_at(zone, next.from_s - 1).from_s == span.from_s);
        fuzz_check(next.offset_s >= csc_zone_offset_min_s(zone) &&
                   next.offset_s <= csc_zone_offset_max_s(zone));
        fuzz_check(strlen(next.name) < CSC_TZRULE_NAME_SIZE);
        check_around(zone, next.from_s, span.offset_s);
        check_around(zone, next.from_s, next.offset_s);
        span = next;
    }
    fuzz_check(csc_zone_at(zone, INT64_MAX).until_s == INT64_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    csc_zone *zone = NULL;
    size_t live = csc_mem_live();
    uint8_t *copy = malloc(len > 0 ? len : 1); /* a byte too far is noticed */
    cascade_err err;

    fuzz_check(copy != NULL);
    if (len > 0)
        memcpy(copy, bytes, len);
    err = csc_zone_create(NAME, copy, len, &zone);
    if (err == CASCADE_OK)
        check_zone(zone);
    else
        check_refusal(err);
    csc_zone_free(zone);
    fuzz_check(csc_mem_live() == live);
    free(copy);
    return 0;
}
