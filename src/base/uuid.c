/* SPDX-License-Identifier: MIT
 *
 * UUIDs of RFC 9562, 16 bytes in network order:
 *
 *   version 7   48 bits Unix ms | 7 | 12 random | 10 | 62 random
 *   version 8   60 bits of the hash (48 | 8 | 12) | 10 | 62 bits of the hash
 *
 * Version 7 sorts by time of birth, so a new row goes to the right edge of the
 * index and its page is in memory. Within one call csc_uuid_v7_many() counts up
 * from a random 74-bit start in random steps: ordered, and still not guessable.
 */
#include "base/uuid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/digest/sha256.h"
#include "base/error.h"
#include "cascade/cascade.h"

/* 74 bits behind the time: a step below 2^48 and a start below 2^73 leave room
 * for 2^25 ids. */
#define STEP_MASK UINT64_C(0xffffffffffff)
#define MANY_MAX ((size_t)1 << 24)
#define LOW_BITS 62
#define LOW_MASK ((UINT64_C(1) << LOW_BITS) - 1)
#define HIGH_MASK UINT64_C(0xfff)

/* The value of a hexadecimal digit, plus one; 0 for everything else. */
static const unsigned char digit_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
    ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Before which bytes the text has a hyphen. */
static bool
is_group(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

/* Not uuid_parse(), which takes the digits in five pieces through strtoul():
 * every id of every row that SQLite gives back comes through here. */
static bool
decode(const char *text, cascade_uuid *id)
{
    for (size_t i = 0; i < sizeof(id->bytes); i++) {
        unsigned high;
        unsigned low;

        if (is_group(i) && *text++ != '-')
            return false;
        high = digit_values[(unsigned char)text[0]];
        low = high == 0 ? 0 : digit_values[(unsigned char)text[1]];
        if (low == 0)
            return false;
        id->bytes[i] = (unsigned char)((high - 1) << 4 | (low - 1));
        text += 2;
    }
    return *text == '\0';
}

cascade_err
cascade_uuid_parse(const char *text, cascade_uuid *id)
{
    cascade_uuid read;

    if (id == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "id is NULL; give a cascade_uuid to write to");
    if (text == NULL || !decode(text, &read))
        return csc_fail(CASCADE_ERR_INVALID,
                        "not a UUID; give 36 characters of the form "
                        "01234567-89ab-cdef-0123-456789abcdef");
    *id = read;
    return csc_ok();
}

char *
cascade_uuid_format(const cascade_uuid *id, char text[CASCADE_UUID_TEXT_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    char *at = text;

    for (size_t i = 0; i < sizeof(id->bytes); i++) {
        if (is_group(i))
            *at++ = '-';
        *at++ = digits[id->bytes[i] >> 4];
        *at++ = digits[id->bytes[i] & 15];
    }
    *at = '\0';
    return text;
}

cascade_err
cascade_uuid_from_key(const char *user_id, const char *key, cascade_uuid *id)
{
    cascade_err err = CASCADE_OK;

    if (user_id != NULL)
        err = csc_check_text("user_id", user_id);
    else
        user_id = CSC_USER_DEFAULT;
    if (err == CASCADE_OK)
        err = csc_check_text("key", key);
    if (err != CASCADE_OK)
        return err;
    if (id == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "id is NULL; give a cascade_uuid to write to");
    *id = csc_uuid_v8(user_id, key, 1);
    return csc_ok();
}

static void
set_version(cascade_uuid *id, unsigned version)
{
    id->bytes[6] = (unsigned char)((id->bytes[6] & 0x0f) | version << 4);
    id->bytes[8] = (unsigned char)((id->bytes[8] & 0x3f) | 0x80);
}

static void
set_time(cascade_uuid *id, int64_t time_ms)
{
    for (size_t i = 0; i < 6; i++)
        id->bytes[i] = (unsigned char)((uint64_t)time_ms >> (40 - 8 * i));
}

cascade_uuid
csc_uuid_v7(int64_t now_ms, const cascade_random *random)
{
    cascade_uuid id;

    random->fill(random->context, id.bytes + 6, sizeof(id.bytes) - 6);
    set_time(&id, now_ms);
    set_version(&id, 7);
    return id;
}

/* The 74 bits behind the time, as 12 high and 62 low ones. */
static void
set_tail(cascade_uuid *id, uint64_t high, uint64_t low)
{
    id->bytes[6] = (unsigned char)(high >> 8);
    id->bytes[7] = (unsigned char)high;
    for (size_t i = 0; i < 8; i++)
        id->bytes[8 + i] = (unsigned char)(low >> (56 - 8 * i));
}

void
csc_uuid_v7_many(int64_t now_ms, const cascade_random *random,
                 cascade_uuid *ids, size_t count)
{
    uint64_t high = 0;
    uint64_t low = 0;

    csc_assert(count <= MANY_MAX);
    if (count == 0)
        return;
    random->fill(random->context, ids, count * sizeof(ids[0]));
    for (size_t i = 0; i < count; i++) {
        uint64_t words[2];

        memcpy(words, ids[i].bytes, sizeof(words));
        if (i == 0) {
            high = words[0] & (HIGH_MASK >> 1); /* room to count up */
            low = words[1] & LOW_MASK;
        } else {
            low += (words[0] & STEP_MASK) + 1;
            high += low >> LOW_BITS;
            low &= LOW_MASK;
        }
        set_tail(&ids[i], high, low);
        set_time(&ids[i], now_ms);
        set_version(&ids[i], 7);
    }
}

cascade_uuid
csc_uuid_of_digest(const unsigned char digest[CSC_SHA256_SIZE])
{
    cascade_uuid id;

    memcpy(id.bytes, digest, sizeof(id.bytes));
    set_version(&id, 8);
    return id;
}

cascade_uuid
csc_uuid_v8(const char *user_id, const char *key, int64_t run)
{
    unsigned char digest[CSC_SHA256_SIZE];
    char number[24];
    int number_len = snprintf(number, sizeof(number), "%" PRId64, run);
    csc_sha256 hash;

    csc_sha256_init(&hash);
    csc_sha256_add(&hash, user_id, strlen(user_id) + 1); /* with its NUL */
    csc_sha256_add(&hash, key, strlen(key) + 1);
    csc_sha256_add(&hash, number, (size_t)number_len);
    csc_sha256_end(&hash, digest);
    return csc_uuid_of_digest(digest);
}

bool
csc_uuid_is_nil(const cascade_uuid *id)
{
    static const cascade_uuid nil;

    return csc_uuid_equal(id, &nil);
}

bool
csc_uuid_equal(const cascade_uuid *a, const cascade_uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* From the last byte on, so that the first that differs decides. */
int
csc_uuid_compare_secret(const cascade_uuid *a, const cascade_uuid *b)
{
    volatile int order = 0;

    for (size_t i = sizeof(a->bytes); i-- > 0;) {
        int difference = a->bytes[i] - b->bytes[i];
        unsigned differs =
            ((unsigned)difference | (0u - (unsigned)difference)) >> 31;
        int kept = (int)differs - 1; /* all bits where they are the same */

        order = (order & kept) | difference;
    }
    return order;
}

int
csc_uuid_compare(const cascade_uuid *a, const cascade_uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

#define VERSION_BYTE 6 /* of a uuid: in its upper half */
#define VERSION_BRIEF 8

void
csc_uuid_mark_brief(cascade_uuid *id)
{
    id->bytes[VERSION_BYTE] =
        (unsigned char)((id->bytes[VERSION_BYTE] & 0xf) | VERSION_BRIEF << 4);
}

bool
csc_uuid_is_brief(const cascade_uuid *engine_id)
{
    return engine_id->bytes[VERSION_BYTE] >> 4 == VERSION_BRIEF;
}
