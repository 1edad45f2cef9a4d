/* SPDX-License-Identifier: MIT
 *
 * How a cascade leaves memory: see drop.c. All locked.
 */
#ifndef CSC_HELD_RUN_DROP_H
#define CSC_HELD_RUN_DROP_H

#include <stdbool.h>

#include "cascade/cascade.h"
#include "state/state.h"

typedef struct csc_reload csc_reload;
typedef struct csc_run csc_run;

/* Out of the map and of all lists; posts are dropped, their waiters told
 * `err`; freed when nothing refers to it any more. */
void csc_drop_run(cascade_engine *engine, csc_run *run, cascade_err err);
/* An execution of the run is neither ready nor in a function any more. A run
 * whose rows were refused is loaded anew when that was the last one. */
void csc_drop_let_go(cascade_engine *engine, csc_run *run);
/* Takes a ready execution out of the list. */
void csc_drop_unready(cascade_engine *engine, csc_exec *exec);
/* Drops every run, what was to be loaded, and what lanes were to commit. */
void csc_drop_all(cascade_engine *engine, cascade_err err);
/* Drops the run, its waiters are told `err`, and loads it anew once nothing of
 * it is in a function: the store refused what it had to record, or a retry or a
 * rerun has changed what counts. */
void csc_drop_expel(cascade_engine *engine, csc_run *run,
                    const csc_reload *reload, cascade_err err);
/* There was no memory for what the run has to do next (`err`): it is loaded
 * anew, once a commit of it that is in flight is applied, and nothing of it is
 * in a function. */
void csc_drop_load_anew(cascade_engine *engine, csc_run *run, cascade_err err);
/* Ownership is lost: drops everything; the housekeeper attaches anew. Whoever
 * waits for a start of which nothing was sent goes on without the engine. */
void csc_drop_lose(cascade_engine *engine, cascade_err err);
/* Whether nothing is in a function, in a lane or about to be. */
bool csc_drop_quiet(const cascade_engine *engine);

#endif
