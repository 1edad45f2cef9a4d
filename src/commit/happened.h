/* SPDX-License-Identifier: MIT
 *
 * What a commit has made happen: see held/event_queue.h.
 */
#ifndef CSC_COMMIT_HAPPENED_H
#define CSC_COMMIT_HAPPENED_H

#include <stdbool.h>

#include "cascade/store.h"

typedef struct csc_post csc_post;
typedef struct csc_run csc_run;

/* Of its executions, before they are applied: attempts that have failed, and
 * what has ended. */
void csc_happened_attempts_locked(const csc_run *run, const csc_post *posts,
                                  const cascade_change *change);
void csc_happened_ends_locked(const csc_run *run, const csc_post *posts,
                              const cascade_change *change);

/* Of the cascade, when the change is: `was` is its status before. */
void csc_happened_change_locked(const csc_run *run,
                                const cascade_change *change,
                                cascade_status was);

/* A cascade was started. */
void csc_happened_start_locked(cascade_engine *engine,
                               const cascade_change *change);

#endif
