/* SPDX-License-Identifier: MIT
 *
 * UTF-8 is read by hand, strictly: the functions of libc follow the locale of
 * the terminal, the store's texts do not. Only the width of a character is
 * asked of libc, which knows it where main() has found a locale with UTF-8;
 * elsewhere each counts as one column.
 */
#include "text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* What stands for bytes that are no UTF-8. */
#define NO_POINT UINT32_MAX

/* Reads one character at `text`, which is not at its end; gives its length. Of
 * what is no UTF-8 one byte is taken. */
static size_t
read_point(const char *text, uint32_t *point)
{
    const unsigned char *bytes = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = bytes[0] < 0x80                        ? 1
                 : bytes[0] >= 0xc2 && bytes[0] < 0xe0  ? 2
                 : bytes[0] >= 0xe0 && bytes[0] < 0xf0  ? 3
                 : bytes[0] >= 0xf0 && bytes[0] <= 0xf4 ? 4
                                                        : 0;
    uint32_t value = len > 1 ? bytes[0] & (0x7fu >> len) : bytes[0];

    *point = NO_POINT;
    for (size_t i = 1; i < len; i++) {
        if ((bytes[i] & 0xc0) != 0x80) /* the NUL too */
            return 1;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (len == 0 || value < least[len] || value > 0x10ffff ||
        (value >= 0xd800 && value <= 0xdfff))
        return 1;
    *point = value;
    return len;
}

/* Above ASCII what shows nothing, or no more than a space does: controls, white
 * space, what joins, parts, varies or turns what stands beside it, fillers,
 * tags. By code point. */
static const struct range {
    uint32_t first;
    uint32_t last;
} hidden[] = {
    {0x80, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x61c, 0x61c},     {0x115f, 0x1160},   {0x1680, 0x1680},
    {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},
    {0x3000, 0x3000},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool
is_hidden(uint32_t point)
{
    if (point < 0x80)
        return point < 0x20 || point == 0x7f;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (point <= hidden[i].last)
            return point >= hidden[i].first;
    return false;
}

/* \x stands for what is one byte: below U+0080, and what is no UTF-8. */
static void
write_hidden(FILE *stream, uint32_t point)
{
    if (point == '\n')
        fputs("\\n", stream);
    else if (point == '\t')
        fputs("\\t", stream);
    else if (point < 0x80)
        fprintf(stream, "\\x%02" PRIx32, point);
    else if (point < 0x10000)
        fprintf(stream, "\\u%04" PRIx32, point);
    else
        fprintf(stream, "\\U%08" PRIx32, point);
}

void
text_write(FILE *stream, const char *text)
{
    while (*text != '\0') {
        uint32_t point = 0;
        size_t len = read_point(text, &point);
        if (point == NO_POINT)
            fprintf(stream, "\\x%02x", (unsigned)(unsigned char)*text);
        else if (point == '\\')
            fputs("\\\\", stream);
        else if (is_hidden(point))
            write_hidden(stream, point);
        else
            fwrite(text, 1, len, stream);
        text += len;
    }
}

/* JSON knows 16 bits behind \u: two of them for what is above. */
static void
write_hidden_json(FILE *stream, uint32_t point)
{
    if (point < 0x10000)
        fprintf(stream, "\\u%04" PRIx32, point);
    else
        fprintf(stream, "\\u%04" PRIx32 "\\u%04" PRIx32,
                0xd800 + ((point - 0x10000) >> 10),
                0xdc00 + ((point - 0x10000) & 0x3ff));
}

void
text_write_json(FILE *stream, const char *json)
{
    while (*json != '\0') {
        uint32_t point = 0;
        size_t len = read_point(json, &point);
        if (point == NO_POINT)
            fputs("\\ufffd", stream);
        else if (is_hidden(point))
            write_hidden_json(stream, point);
        else
            fwrite(json, 1, len, stream);
        json += len;
    }
}

/* What `write` makes of `text`. */
static char *
keep(void (*write)(FILE *stream, const char *text), const char *text)
{
    char *escaped = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&escaped, &len);

    if (stream == NULL)
        return NULL;
    write(stream, text);
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return escaped;
    free(escaped);
    return NULL;
}

char *
text_escaped(const char *text)
{
    return keep(text_write, text);
}

char *
text_escaped_json(const char *json)
{
    return keep(text_write_json, json);
}

size_t
text_width(const char *text)
{
    size_t width = 0;

    while (*text != '\0') {
        uint32_t point = 0;
        text += read_point(text, &point);
        int columns = point < 0x80 ? 1 : wcwidth((wchar_t)point);
        width += columns < 0 ? 1 : (size_t)columns;
    }
    return width;
}

const char *
text_shown(const char *text)
{
    return text[strcspn(text, ":@=")] != '\0' ||
                   strcasestr(text, "password") != NULL
               ? "(an address)"
               : text;
}
