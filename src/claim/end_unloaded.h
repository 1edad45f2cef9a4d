/* SPDX-License-Identifier: MIT
 *
 * Ending claimed cascades without loading them: see end_unloaded.c.
 */
#ifndef CSC_CLAIM_END_UNLOADED_H
#define CSC_CLAIM_END_UNLOADED_H

#include <stddef.h>

#include "cascade/cascade.h"
#include "held/room/reload.h"

/* Ends those of the runs that messages want ended, or whose load kills, without
 * loading them; how many are left, in front: these are to be loaded. What has
 * not been looked at is so once (`may_end`), what kills each time. Not locked.
 */
size_t csc_end_unloaded(cascade_engine *engine, csc_reload *wanted,
                        size_t count);

#endif
