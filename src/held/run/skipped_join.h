/* SPDX-License-Identifier: MIT
 *
 * An execution whose verdict is not to run it.
 */
#ifndef CSC_HELD_RUN_SKIPPED_JOIN_H
#define CSC_HELD_RUN_SKIPPED_JOIN_H

#include "cascade/cascade.h"
#include "state/state.h"

typedef struct csc_run csc_run;

/* Records an execution whose verdict is not to run it: FAIL, by the policy of
 * its node, or SKIP. CASCADE_ERR_NO_MEMORY. (skipped_join.c) */
cascade_err csc_skipped_join_post(cascade_engine *engine, csc_run *run,
                                  const csc_exec *exec);

#endif
