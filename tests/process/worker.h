/* SPDX-License-Identifier: MIT
 *
 * Worker processes: the test program executed again with "worker" as its first
 * argument runs one engine until SIGTERM, or until it is killed. What it is
 * told and what it tells lie in a file that both sides map, which outlives it.
 */
#ifndef TESTS_PROCESS_WORKER_H
#define TESTS_PROCESS_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/place.h"

typedef struct worker_options {
    int64_t lease_ms; /* 0: 600 */
    int64_t poll_ms;  /* 0: 100 */
    int64_t work_us;  /* of every execution; 0: 1,000 */
    unsigned threads; /* 0: 8 */
    int poison_limit; /* 0: never: whoever kills from outside is not a node */
    char host[16];    /* pretends to be another machine; "": this one */
    char freeze[12];  /* stops in a commit, see freeze.h; "": it does not */
    char crash[8];    /* how the node "crash" ends the process: "abort", "exit"
                         or "segv"; "": there is no such node */
} worker_options;

/* What a worker tells, as of a few milliseconds ago. */
typedef struct worker_figures {
    _Atomic uint64_t started; /* its engine runs */
    _Atomic uint64_t executions;
    _Atomic uint64_t attempts;
    _Atomic uint64_t fences;
    _Atomic uint64_t losses;
    _Atomic uint64_t takeovers;
    _Atomic uint64_t held;
    _Atomic uint64_t refusals;
} worker_figures;

typedef struct worker_shared {
    test_place place;
    worker_options options;
    char name[16];
    worker_figures figures;
} worker_shared;

typedef struct test_worker {
    pid_t pid;             /* -1: ended */
    worker_shared *shared; /* until it has ended */
} test_worker;

/* Starts a process; returns when its engine runs. `options` may be NULL. */
void worker_start(test_worker *worker, const test_place *place,
                  const worker_options *options);
/* The same without waiting for the engine. */
void worker_spawn(test_worker *worker, const test_place *place,
                  const worker_options *options);

void worker_kill(test_worker *worker); /* SIGKILL, and reaped */
void worker_stop(test_worker *worker); /* SIGSTOP, and seen stopped */
/* Waits until it has stopped by itself (worker_options.freeze). */
void worker_await_stop(test_worker *worker);
void worker_continue(test_worker *worker); /* SIGCONT */
/* SIGTERM; fails the test unless it ends well. */
void worker_end(test_worker *worker);
/* Whether the process has ended by itself; reaps it. */
bool worker_ended(test_worker *worker);

/* The process itself. */
int worker_main(const char *path);

/* What every main() of these tests does: runs the tests, or the worker. */
#define WORKER_MAIN(tests)                                \
    int main(int argc, char **argv)                       \
    {                                                     \
        if (argc == 3 && strcmp(argv[1], "worker") == 0)  \
            return worker_main(argv[2]);                  \
        if (argc == 2)                                    \
            cmocka_set_test_filter(argv[1]);              \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }

#endif
