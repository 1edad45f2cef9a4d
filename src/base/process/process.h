/* SPDX-License-Identifier: MIT
 *
 * Another program, run to its end: started without a shell, its output kept up
 * to a limit, ended when it is wanted no more, reaped.
 *
 *   process_plan.c    what is to be run, made ready in memory
 *   process_child.c   from the call of vfork() to that of execve()
 *   process.c         reading, waiting, ending, reaping
 *
 * The program leads a session and process group of its own. It inherits
 * descriptors 0, 1 and 2 alone, every signal at its default and none blocked.
 * When csc_process_run() returns, the program is gone and reaped, and what was
 * left of its group has been sent SIGKILL.
 *
 * When this process dies, the kernel kills the program (not what the program
 * has started); a set-user-ID program takes that order back.
 */
#ifndef CSC_BASE_PROCESS_PROCESS_H
#define CSC_BASE_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/buf.h"
#include "cascade/cascade.h"

/* 0 in each: as this process has it. What this process may not exceed itself
 * stays the limit. */
typedef struct csc_process_limits {
    int64_t cpu_s;
    int64_t memory_bytes; /* of address space */
    int64_t file_bytes;
    int64_t open_files;
} csc_process_limits;

typedef struct csc_process_spec {
    const char *const *argv; /* ends in NULL; [0] is looked up in PATH when it
                                has no slash */
    const char *const *env;  /* ends in NULL; NULL: that of this process */
    const char *extra;       /* "NAME=value", in place of any such; or NULL */
    const char *folder;      /* NULL: that of this process */
    const char *input;       /* NULL: /dev/null */
    size_t output_max;       /* bytes kept of each of the two outputs */
    int64_t timeout_ms;      /* 0: none */
    int64_t grace_ms;        /* between SIGTERM and SIGKILL; and how long what
                                the program started may keep its output open */
    csc_process_limits limits;
    bool (*cancelled)(void *context); /* asked now and then; or NULL */
    void *context;
} csc_process_spec;

typedef struct csc_process_end {
    int exit_code; /* -1: ended by `signal` */
    int signal;    /* 0: ended by itself */
    bool timed_out;
    bool cancelled;
    int64_t elapsed_ms;
    csc_buf output[2]; /* standard output, standard error */
    bool truncated[2]; /* there was more */
} csc_process_end;

/* Runs the program and waits for its end, in real time whatever clock is
 * injected. `*end` is zeroed; free it with csc_process_free_end(), also after
 * an error. That the program failed, was cancelled or took too long is no error
 * here. CASCADE_ERR_SYSTEM when it could not be started (the text names the
 * program or the folder, and why) or when its exit status was lost, because
 * others wait for children that are not theirs; CASCADE_ERR_MISUSE, with
 * nothing started, where the disposition of SIGCHLD lets the kernel drop it;
 * CASCADE_ERR_TOO_LARGE for an input larger than this process may make a file;
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_process_run(const csc_process_spec *spec, csc_process_end *end);

void csc_process_free_end(csc_process_end *end);

#endif
