/* SPDX-License-Identifier: MIT
 *
 * Suspects: cascades that several owners in turn have died with. One of them is
 * on trial at a time, so that it is known which execution to blame; see the
 * head of run.c. All locked.
 */
#ifndef CSC_HELD_ROOM_SUSPECT_H
#define CSC_HELD_ROOM_SUSPECT_H

#include "cascade/cascade.h"
#include "cascade/store.h"

typedef struct csc_run csc_run;

/* Takeovers from which a run is claimed alone. Where nothing is ever poisoned
 * nobody is blamed. */
int32_t csc_suspect_from(const cascade_engine *engine);
bool csc_suspect_is_one(const cascade_engine *engine,
                        const cascade_claimed *claimed);
/* Whether one is held, read, or in a function though it was expelled: then
 * nothing else is claimed. */
bool csc_suspect_is_alone(const cascade_engine *engine);
/* Whether a suspect is owned that is to be loaded (again): no other is claimed
 * meanwhile, or both would be on trial. */
bool csc_suspect_is_awaited(const cascade_engine *engine);
/* Whether so many of its trials have ended in a death that what is to run
 * fails instead. */
bool csc_suspect_is_poisoned(const cascade_engine *engine, const csc_run *run);
/* Whether one more has: it is not even to be loaded. */
bool csc_suspect_is_deadly(const cascade_engine *engine, int32_t trials);

#endif
