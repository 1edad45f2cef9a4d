/* SPDX-License-Identifier: MIT
 *
 * When to look at a cascade again. All locked.
 */
#ifndef CSC_HELD_RUN_TIMER_H
#define CSC_HELD_RUN_TIMER_H

#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

typedef struct csc_run csc_run;

/* The runs for which something is due, in a heap. Under the engine's mutex. */
typedef struct csc_timers {
    csc_run **heap; /* heap by timer_ms */
    size_t count;
    size_t room;
} csc_timers;
/* When the first timer is due: CASCADE_TIME_NONE without one. */
int64_t csc_timer_next_ms(const cascade_engine *engine);
/* The run is looked at then. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_timer_set(cascade_engine *engine, csc_run *run, int64_t at_ms);
void csc_timer_remove(cascade_engine *engine, csc_run *run);

#endif
