/* SPDX-License-Identifier: MIT
 *
 * Reading canonical text in place. The text has passed the gate: it is valid,
 * has no blanks, and its strings only canonical escapes. So finding the end of
 * a value is counting brackets outside strings, and no value is copied until
 * somebody asks for it. Every step is bounded by the end all the same.
 */
#include "base/json/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json_internal.h"
#include "base/mem.h"
#include "cascade/cascade.h"

csc_json_span
csc_json_read_whole(const char *text)
{
    return (csc_json_span){text, text != NULL ? strlen(text) : 0};
}

bool
csc_json_read_string(const char **at, const char *end, csc_json_span *text)
{
    const char *close = *at + 1;

    if (*at >= end || **at != '"')
        return false;
    while (close < end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= end)
        return false;
    *text = (csc_json_span){*at + 1, (size_t)(close - *at) - 1};
    *at = close + 1;
    return true;
}

/* Behind the value at `at`. */
static const char *
skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    csc_json_span string;

    while (at < end) {
        char c = *at;

        if (c == '"' && csc_json_read_string(&at, end, &string))
            continue;
        if (c == '{' || c == '[')
            depth++;
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            break;
        if (c == '}' || c == ']')
            depth--;
        at++;
    }
    return at;
}

void
csc_json_read_iter_init(csc_json_iter *iter, const char *text, size_t len)
{
    bool container = len >= 2 && (text[0] == '{' || text[0] == '[');

    *iter = (csc_json_iter){
        .at = container ? text + 1 : text,
        .end = container ? text + len - 1 : text,
        .object = container && text[0] == '{',
    };
}

bool
csc_json_read_next(csc_json_iter *iter)
{
    const char *at = iter->at;

    if (at >= iter->end)
        return false;
    iter->key = (csc_json_span){at, 0};
    if (iter->object) {
        if (!csc_json_read_string(&at, iter->end, &iter->key))
            return false;
        at += at < iter->end ? 1 : 0; /* the colon */
    }
    iter->value.data = at;
    at = skip_value(at, iter->end);
    iter->value.len = (size_t)(at - iter->value.data);
    iter->at = at < iter->end ? at + 1 : at; /* the comma */
    return true;
}

static bool
is_key(csc_json_span span, const char *key, size_t len)
{
    const char *at = span.data;
    const char *end = span.data + span.len;

    if (memchr(span.data, '\\', span.len) == NULL)
        return span.len == len && memcmp(span.data, key, len) == 0;
    for (size_t i = 0; i < len; i++) {
        if (at >= end || csc_json_utf8_take(&at, end) != key[i])
            return false;
    }
    return at == end;
}

bool
csc_json_read_member(const char *text, const char *key, csc_json_span *value)
{
    size_t len = strlen(key);
    csc_json_iter iter;

    csc_json_read_iter_init(&iter, text, strlen(text));
    while (iter.object && csc_json_read_next(&iter)) {
        if (is_key(iter.key, key, len)) {
            *value = iter.value;
            return true;
        }
    }
    return false;
}

bool
csc_json_read_i64(csc_json_span span, int64_t *number)
{
    bool negative = span.len > 0 && span.data[0] == '-';
    size_t at = negative ? 1 : 0;
    int64_t value = 0; /* kept negative, where there is one number more */

    if (at == span.len)
        return false;
    for (; at < span.len; at++) {
        char c = span.data[at];

        if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, c - '0', &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *number = negative ? value : -value;
    return true;
}

bool
csc_json_read_double(csc_json_span span, double *number)
{
    char c = span.len > 0 ? span.data[0] : '\0';

    if (c != '-' && (c < '0' || c > '9'))
        return false;
    *number = csc_json_number_to_double(span.data, span.len);
    return true;
}

bool
csc_json_read_text(csc_json_span span, char **text)
{
    csc_json_span inner = {span.data + 1, span.len - 2};

    if (span.len < 2 || span.data[0] != '"')
        return false;
    *text = csc_mem_alloc(inner.len + 1);
    if (*text != NULL)
        (void)csc_json_utf8_unescape(inner, *text);
    return true;
}

bool
csc_json_read_is(csc_json_span span, const char *literal)
{
    return span.len == strlen(literal) &&
           memcmp(span.data, literal, span.len) == 0;
}
