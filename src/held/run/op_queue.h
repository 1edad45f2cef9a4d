/* SPDX-License-Identifier: MIT
 *
 * Posts of a cascade: see op_queue.c.
 */
#ifndef CSC_HELD_RUN_OP_QUEUE_H
#define CSC_HELD_RUN_OP_QUEUE_H

#include <stdint.h>

#include "cascade/cascade.h"
#include "change/op.h"
#include "state/state.h"

typedef struct csc_run csc_run;

/* Hands a post to the run's lane; takes it. A run that is gone drops it and
 * tells its waiter. */
void csc_op_queue_add(cascade_engine *engine, csc_run *run, csc_post *post);
/* What becomes of the cascade when this execution has failed for good, as its
 * FAIL `post` with the error tells: it ends, or goes on, or another node runs
 * instead. CASCADE_ERR_NO_MEMORY. Locked or not. */
cascade_err csc_op_queue_add_failure(const cascade_engine *engine,
                                     const csc_exec *exec, csc_post *post);
/* An external execution that nobody has completed, and whose deadline has come,
 * fails. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_op_queue_add_overdue(cascade_engine *engine, csc_run *run,
                                     const csc_exec *exec);
/* The next slice of what goes on in slices. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_op_queue_add_slice(cascade_engine *engine, csc_run *run,
                                   int32_t function_id);
/* Gives the run up. `needs` (or NULL) is CSC_PAUSE_NAME, or the name of an
 * execution that is RUNNING: nothing of the run ends before the post is
 * committed; one that no node can have becomes CSC_NOBODY_NAME.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_op_queue_add_free(cascade_engine *engine, csc_run *run,
                                  int64_t wake_at_ms, const char *needs);

#endif
