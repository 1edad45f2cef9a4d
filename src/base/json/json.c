/* SPDX-License-Identifier: MIT
 *
 * The text gate: a strict reader of RFC 8259 that hands what it reads to the
 * writer (json_writer.c). It is a loop over five states, so its stack is the
 * writer's array of frames and no input can exhaust ours:
 *
 *              +---------- '{' -----------+
 *              v                          |
 *     FIRST_KEY --key--> VALUE <--key-- NEXT_KEY
 *              \           |  \           ^
 *               '}'     scalar '['        | ','  in an object
 *                 \        v     v        |
 *                  +--> AFTER   FIRST_ELEMENT
 *                        |  ^      |
 *                        |  +-']'--+   ',' in an array: VALUE
 *                        +--> the end, at depth 0
 *
 * cJSON is not trusted with this: it takes duplicate keys, invalid UTF-8, raw
 * control characters, 01, and bytes behind the end, cuts a string at \u0000,
 * and recurses.
 *
 * A byte position in an error text counts from 0. The text itself never
 * appears in one.
 */
#include "base/json/json.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json_internal.h"
#include "cascade/cascade.h"

typedef enum expect {
    FIRST_KEY,     /* a key or '}' */
    NEXT_KEY,      /* a key, behind a comma */
    FIRST_ELEMENT, /* a value or ']' */
    VALUE,
    AFTER /* ',' or a closing bracket; at depth 0 the end */
} expect;

typedef struct reader {
    csc_json_writer writer;
    const char *text;
    size_t len;
    size_t at;
    expect expect;
} reader;

static cascade_err
refuse(const reader *from, const char *why)
{
    if (from->at >= from->len)
        why = "the text ends too early";
    return csc_json_writer_refuse(&from->writer, why);
}

/* The byte at the position, 0 at the end: nowhere is NUL acceptable. */
static char
peek(const reader *from)
{
    return from->at < from->len ? from->text[from->at] : '\0';
}

static void
skip_blanks(reader *from)
{
    for (char c = peek(from); c == ' ' || c == '\n' || c == '\r' || c == '\t';
         c = peek(from))
        from->at++;
}

/* ---- Strings ------------------------------------------------------------ */

/* The four hex digits at the position; false when they are none. */
static bool
read_hex(reader *from, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, from->at++) {
        char c = peek(from);

        if (c >= '0' && c <= '9')
            *unit = *unit << 4 | (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *unit = *unit << 4 | (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            *unit = *unit << 4 | (uint32_t)(c - 'A' + 10);
        else
            return false;
    }
    return true;
}

static bool
is_surrogate(uint32_t unit, uint32_t first)
{
    return unit >= first && unit < first + 0x400;
}

/* Behind "\u": one code unit, or two that are a pair of surrogates. */
static cascade_err
read_unicode(reader *from, uint32_t *code)
{
    uint32_t low = 0;

    if (!read_hex(from, code))
        return refuse(from, "\\u needs four hexadecimal digits");
    if (*code == 0)
        return refuse(from, "\\u0000 is not allowed in a string");
    if (is_surrogate(*code, 0xdc00))
        return refuse(from, "the second half of a surrogate pair stands alone");
    if (!is_surrogate(*code, 0xd800))
        return CASCADE_OK;
    if (from->len - from->at < 6 || from->text[from->at] != '\\' ||
        from->text[from->at + 1] != 'u')
        return refuse(from, "the first half of a surrogate pair stands alone");
    from->at += 2;
    if (!read_hex(from, &low) || !is_surrogate(low, 0xdc00))
        return refuse(from, "the first half of a surrogate pair stands alone");
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return CASCADE_OK;
}

/* What a letter behind a backslash stands for; 0 when it is no escape. */
static uint32_t
short_escape(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return (uint32_t)c;
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
    default:
        return 0;
    }
}

/* At a backslash. Adds the unescaped length to *key_len. */
static cascade_err
read_escape(reader *from, size_t *key_len)
{
    uint32_t code;
    cascade_err err = CASCADE_OK;

    from->at++;
    code = short_escape(peek(from));
    if (code == 0 && peek(from) != 'u')
        return refuse(from, "no such escape; use \\\" \\\\ \\/ \\b \\f \\n \\r "
                            "\\t or \\u1234");
    from->at++;
    if (code == 0)
        err = read_unicode(from, &code);
    if (err == CASCADE_OK)
        *key_len += csc_json_utf8_add(from->writer.out, code);
    return err;
}

/* Copies characters that stand for themselves; returns how many bytes. Stops at
 * a quote, a backslash and at what is not acceptable. */
static size_t
copy_plain(reader *from)
{
    size_t begin = from->at;
    size_t step;

    while (from->at < from->len) {
        unsigned char c = (unsigned char)from->text[from->at];

        if (c < 0x20 || c == '"' || c == '\\')
            break;
        step = c < 0x80 ? 1
                        : csc_json_utf8_len(from->text + from->at,
                                            from->len - from->at);
        if (step == 0)
            break;
        from->at += step;
    }
    csc_buf_add(from->writer.out, from->text + begin, from->at - begin);
    return from->at - begin;
}

/* At the opening quote. *len is the length of the string unescaped. */
static cascade_err
read_string(reader *from, size_t *len)
{
    *len = 0;
    from->at++;
    csc_buf_add_char(from->writer.out, '"');
    for (;;) {
        cascade_err err = CASCADE_OK;
        char c;

        *len += copy_plain(from);
        c = peek(from);
        if (c == '"')
            break;
        if (c == '\\')
            err = read_escape(from, len);
        else if ((unsigned char)c < 0x20)
            err = refuse(from, "a control character in a string; write it as "
                               "\\u00XX");
        else
            err = refuse(from, "not valid UTF-8");
        if (err != CASCADE_OK)
            return err;
    }
    from->at++;
    csc_buf_add_char(from->writer.out, '"');
    return CASCADE_OK;
}

/* ---- Values ------------------------------------------------------------- */

static cascade_err
read_number(reader *from)
{
    csc_json_number number;
    size_t len = csc_json_number_read(from->text + from->at,
                                      from->len - from->at, &number);

    if (len == 0)
        return csc_json_writer_refuse(
            &from->writer, "malformed number; write it as 0, -1, 2.5 or 1e-3");
    if (!csc_json_number_add(from->writer.out, &number))
        return csc_json_writer_refuse(
            &from->writer,
            "a number of more than 400 digits when written out, or "
            "an exponent over 1073741822; pass it as a string");
    from->at += len;
    return CASCADE_OK;
}

static cascade_err
read_literal(reader *from, const char *literal)
{
    size_t len = strlen(literal);

    if (from->len - from->at < len ||
        memcmp(from->text + from->at, literal, len) != 0)
        return csc_json_writer_refuse(
            &from->writer, "no JSON value; use an object, an array, a string "
                           "in double quotes, a number, true, false or null");
    csc_buf_add(from->writer.out, literal, len);
    from->at += len;
    return CASCADE_OK;
}

static cascade_err
read_open(reader *from, bool object)
{
    cascade_err err = csc_json_writer_open(&from->writer, object);

    from->at++;
    from->expect = object ? FIRST_KEY : FIRST_ELEMENT;
    return err;
}

static cascade_err
read_value(reader *from)
{
    size_t len = 0;
    char c = peek(from);

    if (from->writer.depth > 0 &&
        !from->writer.frames[from->writer.depth - 1].object)
        csc_json_writer_element(&from->writer);
    from->expect = AFTER;
    if (c == '{' || c == '[')
        return read_open(from, c == '{');
    if (c == '"')
        return read_string(from, &len);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(from);
    if (c == 't')
        return read_literal(from, "true");
    if (c == 'f')
        return read_literal(from, "false");
    if (c == 'n')
        return read_literal(from, "null");
    return refuse(from, "no JSON value; use an object, an array, a string in "
                        "double quotes, a number, true, false or null");
}

static cascade_err
read_close(reader *from)
{
    cascade_err err = csc_json_writer_close(&from->writer);

    from->at++;
    from->expect = AFTER;
    return err;
}

static cascade_err
read_key(reader *from)
{
    size_t len = 0;
    cascade_err err;

    if (peek(from) != '"')
        return refuse(from, "no key; write it in double quotes");
    err = csc_json_writer_key_begin(&from->writer);
    if (err == CASCADE_OK)
        err = read_string(from, &len);
    if (err == CASCADE_OK)
        err = csc_json_writer_key_end(&from->writer, len);
    if (err != CASCADE_OK)
        return err;
    skip_blanks(from);
    if (peek(from) != ':')
        return refuse(from, "a colon must follow the key");
    from->at++;
    from->expect = VALUE;
    return CASCADE_OK;
}

/* Behind a value, at depth > 0. */
static cascade_err
read_after(reader *from)
{
    bool object = from->writer.frames[from->writer.depth - 1].object;

    if (peek(from) == (object ? '}' : ']'))
        return read_close(from);
    if (peek(from) != ',')
        return refuse(from, object ? "a comma or } must follow"
                                   : "a comma or ] must follow");
    from->at++;
    from->expect = object ? NEXT_KEY : VALUE;
    return csc_json_writer_check_size(&from->writer);
}

static cascade_err
read_next(reader *from)
{
    switch (from->expect) {
    case FIRST_KEY:
        if (peek(from) == '}')
            return read_close(from);
        return read_key(from);
    case NEXT_KEY:
        return read_key(from);
    case FIRST_ELEMENT:
        if (peek(from) == ']')
            return read_close(from);
        return read_value(from);
    case VALUE:
        return read_value(from);
    case AFTER:
        break;
    }
    return read_after(from);
}

static cascade_err
read_all(reader *from)
{
    cascade_err err = CASCADE_OK;

    if (from->len > from->writer.max)
        return csc_json_writer_too_large(&from->writer);
    if (from->len >= 3 && memcmp(from->text, "\xef\xbb\xbf", 3) == 0)
        return refuse(from, "it begins with a byte order mark; leave it out");
    do {
        skip_blanks(from);
        err = read_next(from);
    } while (err == CASCADE_OK &&
             (from->expect != AFTER || from->writer.depth > 0));
    if (err != CASCADE_OK)
        return err;
    skip_blanks(from);
    if (from->at < from->len)
        return refuse(from, "something follows the value; give one value only");
    return csc_json_writer_check_size(&from->writer);
}

cascade_err
csc_json_canon_slowly(const char *what, const char *text, size_t len,
                      size_t max, size_t depth_max, csc_buf *out)
{
    reader from;
    cascade_err err = csc_json_writer_init(&from.writer, what, max, out);

    if (err != CASCADE_OK)
        return err;
    from.writer.position = &from.at;
    from.writer.depth_max = depth_max;
    from.text = text;
    from.len = len;
    from.at = 0;
    from.expect = VALUE;
    return csc_json_writer_fini(&from.writer, read_all(&from));
}

/* The output of the short cut is no longer than the text, nor is it deeper than
 * either limit. */
static cascade_err
canon(const char *what, const char *text, size_t len, size_t max,
      size_t depth_max, csc_buf *out)
{
    if (len <= max && len <= CSC_JSON_SIZE_MAX && !out->failed) {
        if (!csc_buf_reserve(out, len)) {
            out->failed = false;
            return csc_fail_memory();
        }
        if (csc_json_plain(text, len, out))
            return CASCADE_OK;
    }
    return csc_json_canon_slowly(what, text, len, max, depth_max, out);
}

cascade_err
csc_json_canon(const char *what, const char *text, size_t len, size_t max,
               csc_buf *out)
{
    return canon(what, text, len, max, CSC_JSON_DEPTH_MAX, out);
}

cascade_err
csc_json_canon_stored(const char *what, const char *text, size_t len,
                      csc_buf *out)
{
    return canon(what, text, len, CSC_JSON_SIZE_MAX, CSC_JSON_NESTED_MAX, out);
}

const char *
csc_json_why(const char *what)
{
    const char *text = cascade_errmsg();
    size_t len = strlen(what);

    return strncmp(text, what, len) == 0 && strncmp(text + len, ": ", 2) == 0
               ? text + len + 2
               : text;
}

cascade_err
csc_json_canon_document(const char *what, const char *text, size_t len,
                        size_t max, csc_buf *out)
{
    return canon(what, text, len, max, CSC_JSON_DOCUMENT_MAX, out);
}
