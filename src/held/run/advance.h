/* SPDX-License-Identifier: MIT
 *
 * What a cascade in memory does next: see advance.c. All locked, but for
 * csc_advance_fire_due().
 */
#ifndef CSC_HELD_RUN_ADVANCE_H
#define CSC_HELD_RUN_ADVANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "state/state.h"

typedef struct csc_lane csc_lane;
typedef struct csc_run csc_run;

/* Makes ready what may run; sets the timer; or, when nothing of it can run
 * here, posts that it is given up. */
void csc_advance_run(cascade_engine *engine, csc_run *run);
/* The next ready execution, which counts as running; NULL when there is none
 * or none may begin. `*native`: the lane it has, if it is transactional. */
csc_exec *csc_advance_next(cascade_engine *engine, csc_lane **native);
/* The function was left; `late` when the run had let go of it before. */
void csc_advance_left(cascade_engine *engine, csc_run *run, bool late);
/* Fires the timers that are due. Not locked. */
void csc_advance_fire_due(cascade_engine *engine);

#endif
