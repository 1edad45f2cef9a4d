/* SPDX-License-Identifier: MIT
 */
#include "state/result.h"

bool
csc_result_take(csc_result_rank *rank, bool set, int32_t function_id)
{
    if (rank->any &&
        (rank->set != set ? rank->set : rank->function_id > function_id))
        return false;
    *rank = (csc_result_rank){true, set, function_id};
    return true;
}
