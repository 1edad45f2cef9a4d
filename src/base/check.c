/* SPDX-License-Identifier: MIT
 *
 * Checks at the edge of the API; see check.h for the rules.
 *
 * An options struct tells its own size. The compiler of a caller with a newer
 * header made it longer than ours: what we do not know must then be zero, or we
 * would ignore a wish. One with an older header made it shorter: what it does
 * not know stays zero, which means the default. A size beyond any sense is
 * uninitialised memory and must not be followed.
 *
 * The elements of an array are such structs, one behind the other as the
 * caller's compiler laid them out. So the library steps by the size that the
 * first one tells, never by its own, and an element that tells another one
 * shows that the step is wrong, or that it was not initialised.
 */
#include "base/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "cascade/cascade.h"

/* How much longer than ours the struct of a newer header can be. */
#define UNKNOWN_TAIL_MAX 4096
#define ITEM_NAME_SIZE 48

static bool
is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == ':' ||
           c == '-';
}

/* The length of `text`, checked to be 1 to `max`. */
static cascade_err
check_len(const char *what, const char *text, size_t max, size_t *len)
{
    if (text == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s is NULL; give a text of 1 to %zu bytes", what, max);
    *len = strnlen(text, max + 1);
    if (*len == 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s is empty; give a text of 1 to %zu bytes", what,
                        max);
    if (*len > max)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s is longer than %zu bytes; give a shorter one", what,
                        max);
    return CASCADE_OK;
}

static cascade_err
check_free(const char *what, const char *name)
{
    if (strncmp(name, CSC_RESERVED_PREFIX, strlen(CSC_RESERVED_PREFIX)) == 0)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s begins with \"" CSC_RESERVED_PREFIX
                        "\", which is reserved; choose another name",
                        what);
    return CASCADE_OK;
}

cascade_err
csc_check_name(const char *what, const char *name)
{
    size_t len = 0;
    cascade_err err = check_len(what, name, CSC_NAME_MAX, &len);

    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; i < len; i++) {
        if (!is_name_char(name[i]))
            return csc_fail(CASCADE_ERR_INVALID,
                            "%s: byte %zu is none of [A-Za-z0-9._:-]; use only "
                            "these, at most %d",
                            what, i, CSC_NAME_MAX);
    }
    return check_free(what, name);
}

/* C0, DEL and, two bytes long in UTF-8, C1. */
static bool
is_control(const unsigned char *at)
{
    return at[0] < 0x20 || at[0] == 0x7f ||
           (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f);
}

static cascade_err
check_text(const char *what, const char *text, size_t max)
{
    size_t len = 0;
    cascade_err err = check_len(what, text, max, &len);

    if (err != CASCADE_OK)
        return err;
    if (!csc_json_utf8_is(text, len))
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s is not valid UTF-8; give 1 to %zu bytes of UTF-8",
                        what, max);
    for (size_t i = 0; i < len; i++) {
        if (is_control((const unsigned char *)text + i))
            return csc_fail(CASCADE_ERR_INVALID,
                            "%s has a control character at byte %zu; leave "
                            "control characters out",
                            what, i);
    }
    return CASCADE_OK;
}

cascade_err
csc_check_text(const char *what, const char *text)
{
    return check_text(what, text, CSC_TEXT_MAX);
}

cascade_err
csc_check_foreign_name(const char *what, const char *name)
{
    cascade_err err = check_text(what, name, CSC_NAME_MAX);

    return err == CASCADE_OK ? check_free(what, name) : err;
}

static bool
is_zero(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

/* The size that a caller's struct begins with, wherever that lies. */
static size_t
size_of(const void *given)
{
    size_t size = 0;

    memcpy(&size, given, sizeof(size));
    return size;
}

static cascade_err
check_size(const char *what, size_t size, size_t known_size)
{
    if (size >= sizeof(size) && size <= known_size + UNKNOWN_TAIL_MAX)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "%s: size is %zu, which is no size of it; begin it with "
                    "{ .size = sizeof(its type) }",
                    what, size);
}

cascade_err
csc_check_options(const char *what, const void *given, void *copy,
                  size_t known_size)
{
    const unsigned char *bytes = given;
    size_t size = given != NULL ? size_of(given) : known_size;
    cascade_err err = check_size(what, size, known_size);

    memset(copy, 0, known_size);
    if (err != CASCADE_OK)
        return err;
    if (size > known_size && !is_zero(bytes + known_size, size - known_size))
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: a member beyond the %zu bytes that this library "
                        "knows is set; leave it zero or use a newer library",
                        what, known_size);
    if (given != NULL)
        memcpy(copy, given, size < known_size ? size : known_size);
    memcpy(copy, &known_size, sizeof(known_size));
    return CASCADE_OK;
}

cascade_err
csc_check_item(const char *what, const void *items, size_t at, void *copy,
               size_t known_size)
{
    size_t step = size_of(items);
    char name[ITEM_NAME_SIZE];
    const unsigned char *item = items;
    cascade_err err = CASCADE_OK;

    (void)snprintf(name, sizeof(name), "%s[0]", what);
    err = check_size(name, step, known_size);
    if (err != CASCADE_OK)
        return err;
    item += at * step;
    (void)snprintf(name, sizeof(name), "%s[%zu]", what, at);
    if (size_of(item) != step)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: size is %zu, but that of %s[0] is %zu; begin each "
                        "with { .size = sizeof(its type) }",
                        name, size_of(item), what, step);
    return csc_check_options(name, item, copy, known_size);
}

bool
csc_check_is_priority(int64_t priority)
{
    return priority >= 0 && priority <= CSC_PRIORITY_MAX;
}

size_t
csc_check_cut(const char *text, size_t len)
{
    size_t at = len;

    while (at > 0 && len - at < 4) {
        unsigned char c = (unsigned char)text[at - 1];
        size_t need = c < 0x80   ? 1
                      : c < 0xc0 ? 0
                      : c < 0xe0 ? 2
                      : c < 0xf0 ? 3
                                 : 4;

        at--;
        if (need != 0)
            return len - at < need ? at : len;
    }
    return len;
}

cascade_err
csc_check_start_limits(const char *what, int64_t delay_ms, int64_t deadline_ms)
{
    if (delay_ms < 0 || delay_ms > CSC_DELAY_MAX_MS)
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: delay_ms must lie between 0 and 100 years", what);
    if (deadline_ms < 0 || deadline_ms > CSC_DELAY_MAX_MS ||
        (deadline_ms > 0 && deadline_ms <= delay_ms))
        return csc_fail(CASCADE_ERR_INVALID,
                        "%s: deadline_ms must lie between delay_ms and 100 "
                        "years; 0 for no limit",
                        what);
    return CASCADE_OK;
}
