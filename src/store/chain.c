/* SPDX-License-Identifier: MIT
 *
 * Numbers and ranges of the links between the runs of a chain, the same on
 * every store.
 */
#include "store/chain.h"

#include <string.h>

#include "cascade/cascade.h"
#include "store/store.h"

int64_t
csc_store_link_number(int32_t run_number, int32_t function_id)
{
    return ((int64_t)run_number << 31) + function_id + 1;
}

int64_t
csc_store_link_beside(int64_t number, int32_t function_id)
{
    int64_t first = csc_store_link_number(1, 0);
    int64_t own = csc_store_link_number(0, CSC_STORE_LINK_ID);

    if (number == CSC_STORE_LINK_CHAIN)
        return first + function_id;
    return number - own + function_id + 1;
}

void
csc_store_sweep_range(const cascade_uuid *root, const cascade_uuid *cursor,
                      cascade_uuid *after, cascade_uuid *to)
{
    size_t at = sizeof(after->bytes);

    *after = *cursor;
    memset(to->bytes, 0xff, sizeof(to->bytes));
    if (root == NULL)
        return;
    *to = *root;
    *after = *root;
    while (at-- > 0 && after->bytes[at]-- == 0)
        ; /* the id before it */
}
