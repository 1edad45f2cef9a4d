/* SPDX-License-Identifier: MIT
 *
 * Reading claimed cascades into memory: see hydrate.c.
 */
#ifndef CSC_CLAIM_HYDRATE_H
#define CSC_CLAIM_HYDRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "change/op.h"
#include "held/room/reload.h"
#include "held/run/run.h"

/* The housekeeper's own. */
typedef struct csc_claims {
    bool *queues_told;   /* what a claim tells: which are paused, */
    bool *kept_told;     /* and which have limits */
    size_t turns_ahead;  /* runs with a slot, asked for beyond idle workers */
    bool turns_scarce;   /* the last claim of them got less than it asked for */
    size_t turns_pace;   /* slots left in some milliseconds, */
    uint64_t turns_left; /* counted from there, */
    int64_t turns_at_ns; /* and then */
    int64_t yield_at_ns; /* slots that are not used are given back */
    int64_t hydrate_ns;  /* spent in claiming and hydrating */
    bool suspects_due;   /* a suspect is to be looked for */
    bool suspect_more;   /* the last claim for one found a suspect */
    bool suspect_later;  /* one is due in a queue with limits, and had no room
                           for now, */
    bool suspect_slot;   /* and may have some since then: it is asked for */
    int64_t suspect_at_ns; /* not before that */
} csc_claims;
/* Loads what is to be loaded again. */
void csc_hydrate_reloads(cascade_engine *engine);
/* Whether what was read is too early: its cascade is held still, and the commit
 * that gives it up is not worked in yet. It is to be read again behind that. */
bool csc_hydrate_is_behind_locked(cascade_engine *engine,
                                  const csc_reload *reload);
/* Holds a run that was read. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_hydrate_hold_locked(cascade_engine *engine, csc_run *run);

/* Before the first row of a run that is read for a retry or a rerun.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_hydrate_plan(csc_run *run, const csc_reload *reload);

/* What a run that was read whole is made of its rows: without the lock, since
 * it may take long. */
cascade_err csc_hydrate_complete(csc_run *run);
/* What becomes of one run once it was read and completed; takes `messages`. */
void csc_hydrate_take_in_locked(cascade_engine *engine, csc_run *run,
                                const csc_reload *reload, csc_post *messages,
                                cascade_err err);
/* It could not be read now, for that reason. */
void csc_hydrate_later_locked(cascade_engine *engine, const csc_reload *reload,
                              cascade_err err);

/* Where there is no memory for what was claimed, it is to be read once there
 * is. Whether that is so. */
bool csc_hydrate_put_off(cascade_engine *engine, const csc_reload *wanted,
                         size_t count);

/* Reads what is wanted: together where that may be, else apart, or later. */
void csc_hydrate_load(cascade_engine *engine, const csc_reload *wanted,
                      size_t count);

#endif
