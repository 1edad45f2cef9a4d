/* SPDX-License-Identifier: MIT
 *
 * Ending claimed cascades without loading them: see end_unloaded.c.
 */
#ifndef CSC_CLAIM_END_UNLOADED_H
#define CSC_CLAIM_END_UNLOADED_H

#include <stddef.h>

#include "cascade/cascade.h"
#include "held/room/reload.h"

/* Ends those of the claimed cascades that messages want ended, or whose load
 * kills, without loading them; how many are left, in front: these are to be
 * loaded. Not locked. */
size_t csc_end_unloaded_claimed(cascade_engine *engine, csc_reload *wanted,
                                size_t count);
/* The same for what is to be loaded again, where the load of one kills. */
size_t csc_end_unloaded_deadly(cascade_engine *engine, csc_reload *wanted,
                               size_t count);

#endif
