/* SPDX-License-Identifier: MIT
 *
 * See count.h.
 */
#include "base/count.h"

#if CASCADE_FAULTS
static _Thread_local size_t looks;

void
csc_count_look(void)
{
    looks++;
}

size_t
csc_count_looks(void)
{
    size_t count = looks;

    looks = 0;
    return count;
}
#endif
