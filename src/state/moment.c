/* SPDX-License-Identifier: MIT
 *
 * See moment.h.
 */
#include "state/moment.h"

static int
compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int
csc_moment_order(const csc_moment *a, const csc_moment *b)
{
    int order = compare(a->function_id, b->function_id);

    if (order == 0)
        order = compare(a->created_at_us, b->created_at_us);
    return order != 0 ? order : compare(a->number, b->number);
}
