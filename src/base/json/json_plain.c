/* SPDX-License-Identifier: MIT
 *
 * The short cut of the text gate. Most texts are canonical already but for the
 * blanks that jsonb puts behind commas and colons: they come from a store, or
 * were put together by a program that sorts its keys. They are checked and
 * copied here in one pass, more than twice as fast as by the reader and writer.
 *
 * It is as strict as they are, and accepts less. Wherever it would have to
 * change a byte, compare keys by more than their bytes, or say what is wrong,
 * it gives up, and json.c starts anew:
 *
 *   keys       ascending by length, then by bytes (so none is there twice), and
 *              without escapes, for which that order is another
 *   strings    valid UTF-8; escapes of two characters, but \/; no \u
 *   numbers    no exponent, no -0, digits that are sure to fit
 *   depth      PLAIN_DEPTH; the frames lie on the stack
 *
 * What comes out is never longer than what went in.
 */
#include "base/json/json_internal.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/cascade.h"

#define PLAIN_DEPTH 16

typedef struct level {
    const char *key; /* the last one, in the output; NULL: none yet */
    size_t key_len;
    bool object;
} level;

typedef struct plain {
    const char *at;
    const char *end;
    char *to;
    size_t depth;
    bool value; /* a value is to come; else what follows one */
    level levels[PLAIN_DEPTH];
} plain;

static char
peek(const plain *p)
{
    return p->at < p->end ? *p->at : '\0';
}

static void
skip_blanks(plain *p)
{
    for (char c = peek(p); c == ' ' || c == '\n' || c == '\r' || c == '\t';
         c = peek(p))
        p->at++;
}

/* Copies what was read from p->at up to `to`. */
static void
copy_to(plain *p, const char *to)
{
    memcpy(p->to, p->at, (size_t)(to - p->at));
    p->to += to - p->at;
    p->at = to;
}

/* ---- Scalars ------------------------------------------------------------- */

/* Behind what is not a character that stands for itself; NULL: give up. */
static const char *
skip_special(const char *at, const char *end, bool key)
{
    static const char escaped[] = {'"', '\\', 'b', 'f', 'n', 'r', 't'};
    size_t len = 2;

    if (*at != '\\')
        len = (unsigned char)*at < 0x20
                  ? 0
                  : csc_json_utf8_len(at, (size_t)(end - at));
    else if (key || end - at < 2 ||
             memchr(escaped, at[1], sizeof(escaped)) == NULL)
        return NULL;
    return len == 0 ? NULL : at + len;
}

static bool
take_string(plain *p, bool key)
{
    const char *at = p->at + 1;

    while (at < p->end && *at != '"') {
        unsigned char c = (unsigned char)*at;

        if (c >= 0x20 && c < 0x80 && c != '\\') {
            at++;
            continue;
        }
        at = skip_special(at, p->end, key);
        if (at == NULL)
            return false;
    }
    if (at == p->end)
        return false;
    copy_to(p, at + 1);
    return true;
}

static const char *
skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* What follows the number is looked at as what follows a value. */
static bool
take_number(plain *p)
{
    const char *digits = p->at + (*p->at == '-' ? 1 : 0);
    const char *at = skip_digits(digits, p->end);

    if (at == digits || (*digits == '0' && (at - digits > 1 || *p->at == '-')))
        return false;
    if (at < p->end && *at == '.') {
        const char *fraction = at + 1;

        at = skip_digits(fraction, p->end);
        if (at == fraction)
            return false;
    }
    if (at - p->at > CSC_JSON_DIGITS_MAX)
        return false;
    copy_to(p, at);
    return true;
}

static bool
take_literal(plain *p, const char *literal)
{
    size_t len = strlen(literal);

    if ((size_t)(p->end - p->at) < len || memcmp(p->at, literal, len) != 0)
        return false;
    copy_to(p, p->at + len);
    return true;
}

/* ---- Structure ----------------------------------------------------------- */

/* A key greater than the last one of its object, and the colon. */
static bool
take_key(plain *p)
{
    level *in = &p->levels[p->depth - 1];
    const char *last = in->key;
    size_t last_len = in->key_len;

    if (peek(p) != '"')
        return false;
    in->key = p->to + 1;
    if (!take_string(p, true))
        return false;
    in->key_len = (size_t)(p->to - in->key) - 1;
    if (last != NULL &&
        (in->key_len < last_len ||
         (in->key_len == last_len && memcmp(last, in->key, last_len) >= 0)))
        return false;
    skip_blanks(p);
    if (peek(p) != ':')
        return false;
    copy_to(p, p->at + 1);
    return true;
}

static bool
take_close(plain *p)
{
    copy_to(p, p->at + 1);
    p->depth--;
    p->value = false;
    return true;
}

/* At a bracket. Behind it there is an element, a member, or the end. */
static bool
take_open(plain *p)
{
    bool object = *p->at == '{';

    if (p->depth == PLAIN_DEPTH)
        return false;
    copy_to(p, p->at + 1);
    p->levels[p->depth++] = (level){.object = object};
    skip_blanks(p);
    if (peek(p) == (object ? '}' : ']'))
        return take_close(p);
    return object ? take_key(p) : true;
}

static bool
take_value(plain *p)
{
    char c = peek(p);

    if (c == '{' || c == '[')
        return take_open(p);
    p->value = false;
    if (c == '"')
        return take_string(p, false);
    if (c == 't')
        return take_literal(p, "true");
    if (c == 'f')
        return take_literal(p, "false");
    if (c == 'n')
        return take_literal(p, "null");
    return p->at < p->end && take_number(p);
}

/* Behind a value that is not the whole text. */
static bool
take_after(plain *p)
{
    bool object = p->levels[p->depth - 1].object;

    if (peek(p) == (object ? '}' : ']'))
        return take_close(p);
    if (peek(p) != ',')
        return false;
    copy_to(p, p->at + 1);
    p->value = true;
    skip_blanks(p);
    return object ? take_key(p) : true;
}

static bool
take_all(plain *p)
{
    bool good = true;

    do {
        skip_blanks(p);
        good = p->value ? take_value(p) : take_after(p);
    } while (good && (p->value || p->depth > 0));
    skip_blanks(p);
    return good && p->at == p->end;
}

bool
csc_json_plain(const char *text, size_t len, csc_buf *out)
{
    plain p;
    bool good;

    p.at = text;
    p.end = text + len;
    p.to = out->data + out->len;
    p.depth = 0;
    p.value = true;
    good = take_all(&p);
    if (good)
        out->len = (size_t)(p.to - out->data);
    out->data[out->len] = '\0';
    return good;
}
