/* SPDX-License-Identifier: MIT
 *
 * UTF-8 (RFC 3629) and the escapes of canonical strings, which are jsonb's:
 * \" \\ \b \f \n \r \t, and \u00xx in lower case for the other characters below
 * U+0020. Everything else stands for itself, '/' and DEL too. Each escape
 * stands for exactly one byte, so a canonical string is unescaped byte by byte.
 */
#include "base/json/json_internal.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/cascade.h"

static bool
is_tail(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* RFC 3629, section 4: the second byte's range depends on the first. */
static bool
is_second(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf; /* not overlong */
    case 0xed:
        return second >= 0x80 && second <= 0x9f; /* no surrogate */
    case 0xf0:
        return second >= 0x90 && second <= 0xbf; /* not overlong */
    case 0xf4:
        return second >= 0x80 && second <= 0x8f; /* <= U+10FFFF */
    default:
        return second >= 0x80 && second <= 0xbf;
    }
}

size_t
csc_json_utf8_len(const char *at, size_t room)
{
    unsigned char first = (unsigned char)at[0];
    size_t len;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (room < len || !is_second(first, (unsigned char)at[1]))
        return 0;
    for (size_t i = 2; i < len; i++) {
        if (!is_tail(at[i]))
            return 0;
    }
    return len;
}

bool
csc_json_utf8_is(const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t step = csc_json_utf8_len(bytes + at, len - at);

        if (step == 0 || bytes[at] == '\0')
            return false;
        at += step;
    }
    return true;
}

/* The letter behind the backslash of a short escape; 0 when `c` has none. */
static char
short_escape(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

static bool
is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

static void
add_escape(csc_buf *out, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    char text[6] = {'\\', short_escape(c), '0', '0', 0, 0};

    if (text[1] != 0) {
        csc_buf_add(out, text, 2);
        return;
    }
    text[1] = 'u';
    text[4] = digits[c >> 4];
    text[5] = digits[c & 15];
    csc_buf_add(out, text, 6);
}

/* Encodes one code point; returns its length. */
static size_t
encode(uint32_t code, char to[4])
{
    static const unsigned char mark[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = len - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(mark[len] | code);
    return len;
}

size_t
csc_json_utf8_add(csc_buf *out, uint32_t code)
{
    char bytes[4];
    size_t len = encode(code, bytes);

    if (len == 1 && !is_plain((unsigned char)bytes[0]))
        add_escape(out, (unsigned char)bytes[0]);
    else
        csc_buf_add(out, bytes, len);
    return len;
}

void
csc_json_utf8_add_string(csc_buf *out, const char *text, size_t len)
{
    size_t run = 0; /* where the bytes not yet added begin */

    csc_buf_add_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        if (is_plain((unsigned char)text[i]))
            continue;
        csc_buf_add(out, text + run, i - run);
        add_escape(out, (unsigned char)text[i]);
        run = i + 1;
    }
    csc_buf_add(out, text + run, len - run);
    csc_buf_add_char(out, '"');
}

void
csc_json_add_string(csc_buf *out, const char *text)
{
    csc_json_utf8_add_string(out, text, strlen(text));
}

static unsigned
hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

char
csc_json_utf8_take(const char **at, const char *end)
{
    const char *from = *at;
    size_t len = from[0] != '\\' ? 1 : end - from > 1 && from[1] == 'u' ? 6 : 2;

    if ((size_t)(end - from) < len) {
        *at = end; /* not canonical */
        return '\0';
    }
    *at += len;
    if (len == 1)
        return from[0];
    switch (from[1]) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'u':
        return (char)(hex_value(from[4]) << 4 | hex_value(from[5]));
    default:
        return from[1];
    }
}

size_t
csc_json_utf8_unescape(csc_json_span text, char *to)
{
    const char *at = text.data;
    const char *end = text.data + text.len;
    size_t len = 0;

    while (at < end)
        to[len++] = csc_json_utf8_take(&at, end);
    to[len] = '\0';
    return len;
}

/* The bytes of one valid character of `len` bytes in a canonical string. */
static size_t
escaped_len(unsigned char first, size_t len)
{
    if (short_escape(first) != 0)
        return 2;
    return first < 0x20 ? sizeof("\\u0000") - 1 : len;
}

bool
csc_json_utf8_clean(csc_buf *out, const char *bytes, size_t len, size_t max)
{
    static const char instead[] = "\xef\xbf\xbd"; /* U+FFFD */
    size_t used = 0;
    size_t at = 0;

    while (at < len) {
        size_t taken = csc_json_utf8_len(bytes + at, len - at);
        bool good = taken != 0 && bytes[at] != '\0';
        const char *text = good ? bytes + at : instead;
        size_t text_len = good ? taken : sizeof(instead) - 1;
        size_t cost = escaped_len((unsigned char)text[0], text_len);

        if (cost > max - used)
            return false;
        csc_buf_add(out, text, text_len);
        used += cost;
        at += good ? taken : 1;
    }
    return true;
}
