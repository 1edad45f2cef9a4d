/* SPDX-License-Identifier: MIT
 *
 * Numbers, written out as PostgreSQL's numeric prints them, because that is
 * what a jsonb column gives back. With i digits before the point, f behind it
 * and exponent e, numeric keeps max(0, f - e) digits behind the point:
 *
 *     1e2   -> 100       1.50  -> 1.50      1.23e1   -> 12.3
 *     1E-2  -> 0.01      -0.0  -> 0.0       1.000e1  -> 10.00
 *     0e5   -> 0         0e-5  -> 0.00000   0.5e1    -> 5
 *
 * Eight bytes of text can ask for gigabytes (1e131071), so the digits are
 * counted before they are written.
 *
 * printf() and strtod() use the decimal point of the host's locale. So doubles
 * are printed and the point put right, and read without a point: 1.5 as 15e-1.
 */
#include "base/json/json_internal.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/cascade.h"

/* numeric takes no exponent from half of INT_MAX on, not even that of a zero.
 * Digits beyond that do not count: all are refused alike. */
#define EXPONENT_MAX INT64_C(1073741822)

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t
digits_len(const char *text, size_t len)
{
    size_t count = 0;

    while (count < len && is_digit(text[count]))
        count++;
    return count;
}

/* Reads "e+10" at the start of `text`; returns its length, 0 when malformed. */
static size_t
read_exponent(const char *text, size_t len, csc_json_number *number)
{
    bool negative = len > 1 && text[1] == '-';
    size_t at = len > 1 && (text[1] == '-' || text[1] == '+') ? 2 : 1;
    size_t count = digits_len(text + at, len - at);

    if (count == 0)
        return 0;
    number->has_exponent = true;
    for (size_t i = 0; i < count; i++) {
        number->exponent = number->exponent * 10 + (text[at + i] - '0');
        if (number->exponent > EXPONENT_MAX)
            number->exponent = EXPONENT_MAX + 1;
    }
    if (negative)
        number->exponent = -number->exponent;
    return at + count;
}

size_t
csc_json_number_read(const char *text, size_t len, csc_json_number *number)
{
    size_t at = len > 0 && text[0] == '-' ? 1 : 0;
    size_t count = digits_len(text + at, len - at);

    *number = (csc_json_number){.negative = at == 1,
                                .integer = text + at,
                                .integer_len = count,
                                .fraction = text};
    if (count == 0 || (count > 1 && text[at] == '0'))
        return 0;
    at += count;
    if (at < len && text[at] == '.') {
        count = digits_len(text + at + 1, len - at - 1);
        number->fraction = text + at + 1;
        number->fraction_len = count;
        if (count == 0)
            return 0;
        at += 1 + count;
    }
    if (at < len && (text[at] == 'e' || text[at] == 'E')) {
        count = read_exponent(text + at, len - at, number);
        if (count == 0)
            return 0;
        at += count;
    }
    return at;
}

/* The digits before and behind the point are one row, with zeros without end on
 * both sides. */
static char
digit_at(const csc_json_number *number, int64_t index)
{
    int64_t integer_len = (int64_t)number->integer_len;

    if (index < 0)
        return '0';
    if (index < integer_len)
        return number->integer[index];
    if (index < integer_len + (int64_t)number->fraction_len)
        return number->fraction[index - integer_len];
    return '0';
}

/* The index of the first digit that is not zero, -1 when all are. */
static int64_t
first_digit(const csc_json_number *number)
{
    int64_t count = (int64_t)(number->integer_len + number->fraction_len);

    for (int64_t i = 0; i < count; i++) {
        if (digit_at(number, i) != '0')
            return i;
    }
    return -1;
}

/* Written out already. */
static bool
add_plain(csc_buf *out, const csc_json_number *number)
{
    if (number->integer_len + number->fraction_len > CSC_JSON_DIGITS_MAX)
        return false;
    if (number->negative && first_digit(number) >= 0)
        csc_buf_add_char(out, '-');
    csc_buf_add(out, number->integer, number->integer_len);
    if (number->fraction_len > 0)
        csc_buf_add_char(out, '.');
    csc_buf_add(out, number->fraction, number->fraction_len);
    return true;
}

/* With an exponent: `point` is the index of the first digit behind the point,
 * `scale` counts the digits from there on. */
static bool
add_shifted(csc_buf *out, const csc_json_number *number)
{
    char text[CSC_JSON_DIGITS_MAX + 2]; /* and the sign and the point */
    size_t len = 0;
    int64_t first = first_digit(number);
    int64_t point = (int64_t)number->integer_len + number->exponent;
    int64_t scale = (int64_t)number->fraction_len - number->exponent;
    bool whole = first >= 0 && first < point; /* not just "0." */

    if (scale < 0)
        scale = 0;
    if (llabs(number->exponent) > EXPONENT_MAX)
        return false;
    if ((whole ? point - first : 1) > CSC_JSON_DIGITS_MAX - scale)
        return false;
    if (number->negative && first >= 0)
        text[len++] = '-';
    if (!whole)
        text[len++] = '0';
    for (int64_t i = first; whole && i < point; i++)
        text[len++] = digit_at(number, i);
    if (scale > 0)
        text[len++] = '.';
    for (int64_t i = 0; i < scale; i++)
        text[len++] = digit_at(number, point + i);
    csc_buf_add(out, text, len);
    return true;
}

bool
csc_json_number_add(csc_buf *out, const csc_json_number *number)
{
    if (number->has_exponent)
        return add_shifted(out, number);
    return add_plain(out, number);
}

/* Replaces what the locale wrote as decimal point, which may be several bytes;
 * returns the length. */
static size_t
mend_point(char *text)
{
    size_t len = 0;

    for (const char *at = text; *at != '\0'; at++) {
        bool point = strchr("0123456789+-eE", *at) == NULL;

        if (!point)
            text[len++] = *at;
        else if (len > 0 && text[len - 1] != '.')
            text[len++] = '.';
    }
    return len;
}

bool
csc_json_number_add_double(csc_buf *out, double number)
{
    char text[40];
    csc_json_number parts;
    size_t len;

    if (number > -1e15 && number < 1e15 && (double)(int64_t)number == number) {
        csc_buf_add_i64(out, (int64_t)number);
        return true;
    }
    for (int digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    len = mend_point(text);
    return csc_json_number_read(text, len, &parts) == len &&
           csc_json_number_add(out, &parts);
}

/* An integer that a double holds exactly. */
static double
small_integer(const csc_json_number *number)
{
    int64_t value = 0;

    for (size_t i = 0; i < number->integer_len; i++)
        value = value * 10 + (number->integer[i] - '0');
    return (double)(number->negative ? -value : value);
}

double
csc_json_number_to_double(const char *text, size_t len)
{
    char plain[CSC_JSON_DIGITS_MAX + 8] = "";
    csc_json_number parts;
    size_t at = 0;

    if (csc_json_number_read(text, len, &parts) != len || parts.has_exponent ||
        parts.integer_len + parts.fraction_len > CSC_JSON_DIGITS_MAX)
        return 0; /* not canonical */
    if (parts.fraction_len == 0 && parts.integer_len <= DBL_DIG)
        return small_integer(&parts);
    if (parts.negative)
        plain[at++] = '-';
    memcpy(plain + at, parts.integer, parts.integer_len);
    at += parts.integer_len;
    memcpy(plain + at, parts.fraction, parts.fraction_len);
    at += parts.fraction_len;
    plain[at++] = 'e';
    plain[at++] = '-';
    plain[at++] = (char)('0' + parts.fraction_len / 100);
    plain[at++] = (char)('0' + parts.fraction_len / 10 % 10);
    plain[at++] = (char)('0' + parts.fraction_len % 10);
    return strtod(plain, NULL);
}
