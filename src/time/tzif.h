/* SPDX-License-Identifier: MIT
 *
 * A zone file (TZif: RFC 9636, which RFC 8536 was before; versions 1 to 4), as
 * it stands in /usr/share/zoneinfo. Bytes are untrusted: what breaks a rule of
 * the format is refused with a text that names the rule.
 *
 * Of a file with version 2 or later the second block is read, that of 64 bits,
 * and the rule behind it. Refused too, though well-formed:
 *
 *   leap seconds   such a file ("right/...") counts instants on another scale
 *                  than POSIX does. To ignore its records would put each change
 *                  up to 27 seconds off, silently.
 *   a later version   may mean something else by the same bytes.
 */
#ifndef CSC_TIME_TZIF_H
#define CSC_TIME_TZIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "time/tzrule.h"

#define CSC_TZIF_SIZE_MAX 65536 /* the largest of 2026 have 4,000 bytes */
#define CSC_TZIF_KINDS_MAX 256
#define CSC_TZIF_OFFSET_MIN_S (-89999) /* RFC 9636, 3.2: utoff */
#define CSC_TZIF_OFFSET_MAX_S 93599

/* One kind of local time. */
typedef struct csc_tzif_kind {
    int32_t offset_s;
    bool is_dst;
    char name[CSC_TZRULE_NAME_SIZE]; /* "EST"; longer ones are cut */
} csc_tzif_kind;

typedef struct csc_tzif {
    size_t change_count;
    int64_t *changes_s; /* ascending */
    uint8_t *change_kinds;
    size_t kind_count; /* at least 1; kinds[0] is before the first change */
    csc_tzif_kind *kinds;
    bool has_rule;
    csc_tzrule rule;
} csc_tzif;

/* `name` is for the error text. CASCADE_ERR_INVALID, CASCADE_ERR_TOO_LARGE,
 * CASCADE_ERR_UNSUPPORTED (leap seconds, version) or CASCADE_ERR_NO_MEMORY;
 * *tzif is then empty. */
cascade_err csc_tzif_init(csc_tzif *tzif, const char *name, const void *bytes,
                          size_t len);
void csc_tzif_fini(csc_tzif *tzif); /* one that is all zero too */

#endif
