/* SPDX-License-Identifier: MIT
 *
 * What is to be run, made ready before the child exists: between vfork() and
 * execve() nothing may be allocated. Internal to process*.c.
 */
#ifndef CSC_BASE_PROCESS_PROCESS_PLAN_H
#define CSC_BASE_PROCESS_PROCESS_PLAN_H

#include <sys/resource.h>
#include <sys/types.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"

typedef struct csc_process_spec csc_process_spec;

#define CSC_PROCESS_LIMITS 4

typedef struct csc_process_limit {
    int resource; /* RLIMIT_... */
    struct rlimit value;
} csc_process_limit;

typedef struct csc_process_plan {
    csc_arena arena;
    char *const *argv;
    char *const *env;
    const char *const *paths; /* tried in turn; ends in NULL */
    const char *folder;
    csc_process_limit limits[CSC_PROCESS_LIMITS];
    size_t limit_count;
    int fds[3]; /* to become 0, 1 and 2; above those themselves */
    int report; /* where the child tells what failed; closed by execve() */
} csc_process_plan;

/* What the child could not do. */
typedef enum csc_process_stage {
    CSC_PROCESS_SETUP = 1,
    CSC_PROCESS_LIMIT,
    CSC_PROCESS_FOLDER,
    CSC_PROCESS_PROGRAM
} csc_process_stage;

typedef struct csc_process_failure {
    int stage;
    int error; /* errno */
} csc_process_failure;

/* Everything but the descriptors. CASCADE_ERR_NO_MEMORY; fini() either way. */
cascade_err csc_process_plan_init(csc_process_plan *plan,
                                  const csc_process_spec *spec);
void csc_process_plan_fini(csc_process_plan *plan);

/* ---- process_child.c ---------------------------------------------------- */

/* Whether the kernel keeps exit statuses for this process: not where SIGCHLD
 * is ignored or has SA_NOCLDWAIT. */
bool csc_process_child_is_kept(void);

/* Starts the child; 0, or errno. What fails in the child itself it reports. */
int csc_process_child_start(const csc_process_plan *plan, pid_t *pid);

#endif
