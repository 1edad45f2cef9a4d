/* SPDX-License-Identifier: MIT */
#include "base/json_random.h"

#include <string.h>

#define MEMBERS_MAX 6
#define DEPTH_MAX 5

static void
add_blanks(csc_buf *out, support_rng *rng)
{
    static const char blanks[] = " \t\r\n";

    while (support_rng_below(rng, 4) == 0)
        csc_buf_add_char(out, blanks[support_rng_below(rng, 4)]);
}

static const char *
pick(support_rng *rng, const char *const *from, size_t count)
{
    return from[support_rng_below(rng, count)];
}

static void
add_digits(csc_buf *out, support_rng *rng, size_t max)
{
    size_t count = support_rng_below(rng, max) + 1;

    for (size_t i = 0; i < count; i++)
        csc_buf_add_char(out, support_rng_below(rng, 3) == 0
                                  ? '0'
                                  : (char)('0' + support_rng_below(rng, 10)));
}

static void
add_number(csc_buf *out, support_rng *rng)
{
    static const char *const exponents[] = {"e", "E", "e+", "E+", "e-", "E-"};

    if (support_rng_below(rng, 3) == 0)
        csc_buf_add_char(out, '-');
    if (support_rng_below(rng, 3) == 0) {
        csc_buf_add_char(out, '0');
    } else {
        csc_buf_add_char(out, (char)('1' + support_rng_below(rng, 9)));
        if (support_rng_below(rng, 2) == 0)
            add_digits(out, rng, 25);
    }
    if (support_rng_below(rng, 2) == 0) {
        csc_buf_add_char(out, '.');
        add_digits(out, rng, 12);
    }
    if (support_rng_below(rng, 3) == 0) {
        csc_buf_add_text(out, pick(rng, exponents, 6));
        add_digits(out, rng, 2);
    }
}

/* One unit of a string as it may be written, raw or as an escape. */
static void
add_unit(csc_buf *out, support_rng *rng)
{
    static const char *const units[] = {
        "a",
        "b",
        "A",
        "zz",
        "/",
        " ",
        "\x7f",
        "\xc2\x80",
        "\xc3\xa9",
        "\xe2\x82\xac",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\n",
        "\\r",
        "\\t",
        "\\u0001",
        "\\u001F",
        "\\u000b",
        "\\u0061",
        "\\u0041",
        "\\u002f",
        "\\u0022",
        "\\u005C",
        "\\u007f",
        "\\u00e9",
        "\\u20AC",
        "\\uffff",
        "\\ud83d\\ude00",
        "\xf0\x9f\x98\x80",
        "\xef\xbf\xbe",
        "\\uDBFF\\uDFFF",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "e1",
        "0",
    };

    csc_buf_add_text(out, pick(rng, units, sizeof(units) / sizeof(units[0])));
}

static void
add_string(csc_buf *out, support_rng *rng)
{
    csc_buf_add_char(out, '"');
    while (support_rng_below(rng, 4) != 0)
        add_unit(out, rng);
    csc_buf_add_char(out, '"');
}

/* Two keys of an object differ in their last byte at least. */
static void
add_key(csc_buf *out, support_rng *rng, size_t number)
{
    csc_buf_add_char(out, '"');
    while (support_rng_below(rng, 3) == 0)
        add_unit(out, rng);
    csc_buf_add_format(out, "%zu\"", number);
}

static void add_value(csc_buf *out, support_rng *rng, int depth);

static void
add_container(csc_buf *out, support_rng *rng, int depth, bool object)
{
    size_t count = support_rng_below(rng, MEMBERS_MAX);
    size_t first = support_rng_below(rng, 10);

    csc_buf_add_char(out, object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            csc_buf_add_char(out, ',');
        add_blanks(out, rng);
        if (object) {
            add_key(out, rng, (first + i * 7) % 10);
            add_blanks(out, rng);
            csc_buf_add_char(out, ':');
            add_blanks(out, rng);
        }
        add_value(out, rng, depth - 1);
        add_blanks(out, rng);
    }
    csc_buf_add_char(out, object ? '}' : ']');
}

static void
add_value(csc_buf *out, support_rng *rng, int depth)
{
    static const char *const literals[] = {"true", "false", "null"};
    size_t kind = support_rng_below(rng, depth > 0 ? 9 : 5);

    if (kind == 0)
        csc_buf_add_text(out, pick(rng, literals, 3));
    else if (kind <= 2)
        add_number(out, rng);
    else if (kind <= 4)
        add_string(out, rng);
    else
        add_container(out, rng, depth, kind <= 7);
}

void
json_random_add(csc_buf *out, support_rng *rng)
{
    add_blanks(out, rng);
    add_value(out, rng, DEPTH_MAX);
    add_blanks(out, rng);
}

void
json_random_spoil(csc_buf *text, support_rng *rng)
{
    static const char bytes[] = "{}[]\",:\\u0019adfn-+.eE \x01\x80\xc3\xed\xf4";
    size_t count = support_rng_below(rng, 3) + 1;

    for (size_t i = 0; i < count && text->len > 1; i++) {
        size_t at = support_rng_below(rng, text->len);
        char byte = bytes[support_rng_below(rng, sizeof(bytes) - 1)];

        switch (support_rng_below(rng, 3)) {
        case 0:
            text->data[at] = byte;
            break;
        case 1:
            memmove(text->data + at, text->data + at + 1, text->len - at);
            text->len--;
            break;
        default:
            csc_buf_add_char(text, byte);
            memmove(text->data + at + 1, text->data + at, text->len - at - 1);
            text->data[at] = byte;
        }
    }
}
