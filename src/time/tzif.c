/* SPDX-License-Identifier: MIT
 *
 * A file is one block (version 1), or two, the second with times of 64 bits,
 * and the rule between two newlines:
 *
 *   header   "TZif", version, 15 bytes of nothing, six counts
 *   block    times of changes, kind of each, kinds, names, leap seconds,
 *            two kinds of flags, which nobody needs who has the rule
 *
 * The size of a block follows from its counts; it is compared with what is
 * there once, and no byte is read before.
 */
#include "time/tzif.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define HEADER_SIZE 44
#define COUNTS_AT 20
#define KIND_SIZE 6
#define CHANGE_MAX_S (INT64_C(1) << 59) /* what RFC 9636 calls the big bang */

/* In the order of the file. */
typedef struct header {
    uint8_t version; /* 1-4 */
    uint32_t isut_count;
    uint32_t isstd_count;
    uint32_t leap_count;
    uint32_t change_count;
    uint32_t kind_count;
    uint32_t name_bytes;
} header;

typedef struct reader {
    const char *zone;
    const uint8_t *at;
    const uint8_t *end;
} reader;

static size_t
left(const reader *in)
{
    return (size_t)(in->end - in->at);
}

static cascade_err
refuse(const reader *in, const char *why)
{
    return csc_fail(CASCADE_ERR_INVALID, "zone %s: its data is no TZif: %s",
                    in->zone, why);
}

static uint32_t
u32_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | at[3];
}

/* Two's complement, without a conversion that C leaves open. */
static int32_t
i32_at(const uint8_t *at)
{
    uint32_t bits = u32_at(at);

    return bits <= INT32_MAX ? (int32_t)bits
                             : -(int32_t)(UINT32_MAX - bits) - 1;
}

static int64_t
i64_at(const uint8_t *at)
{
    return (int64_t)i32_at(at) * (INT64_C(1) << 32) + u32_at(at + 4);
}

/* ---- Headers ------------------------------------------------------------- */

static cascade_err
read_version(const reader *in, header *head)
{
    uint8_t version = in->at[4];

    if (version == 0)
        head->version = 1;
    else if (version >= '2' && version <= '4')
        head->version = (uint8_t)(version - '0');
    else
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "zone %s: its data is TZif of a version that is not "
                        "known: 1 to 4 are",
                        in->zone);
    return CASCADE_OK;
}

static cascade_err
read_header(reader *in, header *head)
{
    const uint8_t *counts = in->at + COUNTS_AT;
    cascade_err err;

    if (left(in) < HEADER_SIZE || memcmp(in->at, "TZif", 4) != 0)
        return refuse(in, "there is no header");
    err = read_version(in, head);
    if (err != CASCADE_OK)
        return err;
    head->isut_count = u32_at(counts);
    head->isstd_count = u32_at(counts + 4);
    head->leap_count = u32_at(counts + 8);
    head->change_count = u32_at(counts + 12);
    head->kind_count = u32_at(counts + 16);
    head->name_bytes = u32_at(counts + 20);
    in->at += HEADER_SIZE;
    return CASCADE_OK;
}

static uint64_t
block_size(const header *head, uint64_t time_size)
{
    return head->change_count * (time_size + 1) +
           (uint64_t)head->kind_count * KIND_SIZE + head->name_bytes +
           head->leap_count * (time_size + 4) + head->isstd_count +
           head->isut_count;
}

static cascade_err
check_block(const reader *in, const header *head, uint64_t time_size)
{
    if (block_size(head, time_size) > left(in))
        return refuse(in, "it ends early");
    if (head->leap_count != 0)
        return csc_fail(CASCADE_ERR_UNSUPPORTED,
                        "zone %s: it counts leap seconds: take the zone of "
                        "that name that is not below right/",
                        in->zone);
    if (head->kind_count == 0 || head->kind_count > CSC_TZIF_KINDS_MAX)
        return refuse(in, "it has no kind of local time, or over 256");
    if (head->name_bytes == 0)
        return refuse(in, "it has no names");
    if ((head->isut_count != 0 && head->isut_count != head->kind_count) ||
        (head->isstd_count != 0 && head->isstd_count != head->kind_count))
        return refuse(in, "it has flags for some kinds of local time only");
    return CASCADE_OK;
}

/* ---- The block ----------------------------------------------------------- */

static cascade_err
read_changes(reader *in, csc_tzif *tzif, size_t time_size)
{
    const uint8_t *kinds = in->at + tzif->change_count * time_size;

    for (size_t i = 0; i < tzif->change_count; i++) {
        const uint8_t *at = in->at + i * time_size;
        int64_t change_s = time_size == 4 ? i32_at(at) : i64_at(at);

        if (change_s < -CHANGE_MAX_S || change_s > CHANGE_MAX_S)
            return refuse(in, "a change is before or behind all time");
        if (i > 0 && change_s <= tzif->changes_s[i - 1])
            return refuse(in, "its changes do not ascend");
        if (kinds[i] >= tzif->kind_count)
            return refuse(in, "a change is to a kind that is not there");
        tzif->changes_s[i] = change_s;
        tzif->change_kinds[i] = kinds[i];
    }
    in->at = kinds + tzif->change_count;
    return CASCADE_OK;
}

static cascade_err
read_name(const reader *in, const uint8_t *names, size_t len, size_t at,
          csc_tzif_kind *kind)
{
    const uint8_t *end = at < len ? memchr(names + at, 0, len - at) : NULL;
    size_t size;

    if (end == NULL)
        return refuse(in, "a name is outside its names");
    size = (size_t)(end - names) - at;
    for (size_t i = 0; i < size; i++) {
        if (names[at + i] <= ' ' || names[at + i] > '~')
            return refuse(in, "a name has a byte that is no sign of ASCII");
    }
    if (size >= sizeof(kind->name))
        size = sizeof(kind->name) - 1;
    memcpy(kind->name, names + at, size);
    kind->name[size] = '\0';
    return CASCADE_OK;
}

static cascade_err
read_kinds(reader *in, csc_tzif *tzif, size_t name_bytes)
{
    const uint8_t *names = in->at + tzif->kind_count * KIND_SIZE;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < tzif->kind_count && err == CASCADE_OK; i++) {
        const uint8_t *at = in->at + i * KIND_SIZE;
        csc_tzif_kind *kind = &tzif->kinds[i];

        kind->offset_s = i32_at(at);
        kind->is_dst = at[4] == 1;
        if (kind->offset_s < CSC_TZIF_OFFSET_MIN_S ||
            kind->offset_s > CSC_TZIF_OFFSET_MAX_S)
            return refuse(in, "an offset is over a day");
        if (at[4] > 1)
            return refuse(in, "a flag is neither 0 nor 1");
        err = read_name(in, names, name_bytes, at[5], kind);
    }
    in->at = names + name_bytes;
    return err;
}

/* A kind whose changes are by universal time has them by standard time. */
static cascade_err
check_flags(reader *in, const header *head)
{
    const uint8_t *isstd = in->at;
    const uint8_t *isut = isstd + head->isstd_count;

    for (size_t i = 0; i < head->isstd_count; i++) {
        if (isstd[i] > 1)
            return refuse(in, "a flag is neither 0 nor 1");
    }
    for (size_t i = 0; i < head->isut_count; i++) {
        if (isut[i] > 1)
            return refuse(in, "a flag is neither 0 nor 1");
        if (isut[i] == 1 && (head->isstd_count == 0 || isstd[i] == 0))
            return refuse(in, "a flag is for universal, not standard time");
    }
    in->at = isut + head->isut_count;
    return CASCADE_OK;
}

static cascade_err
read_block(reader *in, const header *head, size_t time_size, csc_tzif *tzif)
{
    cascade_err err = check_block(in, head, time_size);

    if (err != CASCADE_OK)
        return err;
    tzif->change_count = head->change_count;
    tzif->kind_count = head->kind_count;
    tzif->changes_s = csc_mem_zalloc(tzif->change_count + 1, sizeof(int64_t));
    tzif->change_kinds = csc_mem_zalloc(tzif->change_count + 1, 1);
    tzif->kinds = csc_mem_zalloc(tzif->kind_count, sizeof(csc_tzif_kind));
    if (tzif->changes_s == NULL || tzif->change_kinds == NULL ||
        tzif->kinds == NULL)
        return csc_fail_memory();
    err = read_changes(in, tzif, time_size);
    if (err == CASCADE_OK)
        err = read_kinds(in, tzif, head->name_bytes);
    if (err == CASCADE_OK)
        err = check_flags(in, head);
    return err;
}

/* ---- The rule ------------------------------------------------------------ */

static cascade_err
read_rule(reader *in, uint8_t version, csc_tzif *tzif)
{
    const char *text = (const char *)in->at + 1;
    const char *why;
    size_t len;

    if (left(in) < 2 || in->at[0] != '\n' || in->end[-1] != '\n')
        return refuse(in, "its rule is not between two newlines");
    len = left(in) - 2;
    if (len == 0)
        return CASCADE_OK;
    why = csc_tzrule_parse(text, len, version >= 3, &tzif->rule);
    if (why != NULL)
        return csc_fail(CASCADE_ERR_INVALID, "zone %s: in its rule %s",
                        in->zone, why);
    tzif->has_rule = true;
    return CASCADE_OK;
}

/* The first block of two says nothing that the second does not. */
static cascade_err
read_second(reader *in, const header *first, csc_tzif *tzif)
{
    uint64_t size = block_size(first, 4);
    header head = {0};
    cascade_err err;

    if (size > left(in))
        return refuse(in, "it ends early");
    in->at += size;
    err = read_header(in, &head);
    if (err != CASCADE_OK)
        return err;
    if (head.version != first->version)
        return refuse(in, "its blocks are of different versions");
    err = read_block(in, &head, 8, tzif);
    return err != CASCADE_OK ? err : read_rule(in, head.version, tzif);
}

static cascade_err
read_file(reader *in, csc_tzif *tzif)
{
    header head = {0};
    cascade_err err = read_header(in, &head);

    if (err != CASCADE_OK)
        return err;
    if (head.version > 1)
        return read_second(in, &head, tzif);
    err = read_block(in, &head, 4, tzif);
    if (err == CASCADE_OK && left(in) > 0)
        err = refuse(in, "there is more behind its end");
    return err;
}

cascade_err
csc_tzif_init(csc_tzif *tzif, const char *name, const void *bytes, size_t len)
{
    reader in = {name, bytes, (const uint8_t *)bytes + len};
    cascade_err err;

    memset(tzif, 0, sizeof(*tzif));
    if (len > CSC_TZIF_SIZE_MAX)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "zone %s: its data has %zu bytes, at most %d are read",
                        name, len, CSC_TZIF_SIZE_MAX);
    err = read_file(&in, tzif);
    if (err != CASCADE_OK)
        csc_tzif_fini(tzif);
    return err;
}

void
csc_tzif_fini(csc_tzif *tzif)
{
    csc_mem_free(tzif->changes_s);
    csc_mem_free(tzif->change_kinds);
    csc_mem_free(tzif->kinds);
    memset(tzif, 0, sizeof(*tzif));
}
