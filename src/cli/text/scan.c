/* SPDX-License-Identifier: MIT
 *
 * Brackets are counted, those in strings are not. No recursion: a text that is
 * nested deeply costs no more than a long one.
 */
#include "text/scan.h"

#include <string.h>

/* The length of the string at `text`, with its quotes; 0 when it has no end. */
static size_t
string_len(const char *text)
{
    size_t at = 1;

    while (text[at] != '"') {
        if (text[at] == '\\')
            at++;
        if (text[at] == '\0')
            return 0;
        at++;
    }
    return at + 1;
}

size_t
scan_value(const char *text)
{
    size_t at = 0;
    size_t depth = 0;

    if (*text != '{' && *text != '[' && *text != '"')
        return strcspn(text, ",:]} \t\r\n");
    do {
        char here = text[at];
        size_t len = here == '"' ? string_len(text + at) : 1;
        if (here == '\0' || len == 0)
            return 0;
        if (here == '{' || here == '[')
            depth++;
        else if (here == '}' || here == ']')
            depth--;
        at += len;
    } while (depth > 0);
    return at;
}

size_t
scan_blanks(const char *text)
{
    return strspn(text, " \t\r\n");
}

bool
scan_next(const char **text, struct scan_part *part)
{
    const char *at = *text + 1; /* behind the bracket, or the comma */

    *part = (struct scan_part){.value = at, .value_len = scan_value(at)};
    if (part->value_len == 0)
        return false;
    if (*at == '"' && at[part->value_len] == ':') {
        part->name = at + 1;
        part->name_len = part->value_len - 2;
        part->value = at + part->value_len + 1;
        part->value_len = scan_value(part->value);
    }
    *text = part->value + part->value_len;
    return part->value_len > 0;
}

size_t
scan_count(const char *text)
{
    struct scan_part part;
    size_t count = 0;

    while (scan_next(&text, &part))
        count++;
    return count;
}
