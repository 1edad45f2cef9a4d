/* SPDX-License-Identifier: MIT
 *
 * A number as text, without the locale and the cost of printf().
 */
#ifndef CSC_BASE_DATA_DIGITS_H
#define CSC_BASE_DATA_DIGITS_H

#include <stdint.h>

#define CSC_DIGITS_SIZE 21 /* "-9223372036854775808" and the NUL */

/* Writes it to the end of `text`; returns where it begins. */
static inline char *
csc_digits(int64_t number, char text[CSC_DIGITS_SIZE])
{
    char *at = text + CSC_DIGITS_SIZE - 1;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    *at = '\0';
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (number < 0)
        *--at = '-';
    return at;
}

#endif
