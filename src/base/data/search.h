/* SPDX-License-Identifier: MIT
 *
 * Looking for a number among those of an array that ascend. For other keys, and
 * where only an equal one counts, there is bsearch().
 */
#ifndef CSC_BASE_DATA_SEARCH_H
#define CSC_BASE_DATA_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/count.h"

static inline int32_t
csc_search_number(const void *at)
{
    return *(const int32_t *)at;
}

/* The place of the first item whose number, an int32_t at `offset`, is not
 * below `number`; `count` without one. What is looked for often belongs behind
 * the last one, so that is looked at first. */
static inline size_t
csc_search_i32(const void *items, size_t count, size_t size, size_t offset,
               int64_t number)
{
    const char *numbers = items;
    size_t from = 0;
    size_t to = count;

    if (count == 0)
        return 0;
    numbers += offset;
    if (csc_search_number(numbers + (count - 1) * size) < number)
        return count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;

        csc_count_look();
        if (csc_search_number(numbers + middle * size) < number)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* How many of the numbers are not above `number`. */
static inline size_t
csc_search_i64_behind(const int64_t *numbers, size_t count, int64_t number)
{
    size_t from = 0;
    size_t to = count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (numbers[middle] <= number)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

#endif
