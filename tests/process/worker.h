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

#include "process/flow.h"
#include "process/place.h"

typedef enum watch_freeze_at {
    WATCH_NOWHERE,
    WATCH_COMMIT,
    WATCH_APART,
    WATCH_PIPELINE,
    WATCH_WRITE,
    WATCH_WRITTEN,
    WATCH_STOPPING /* about to, or stopped */
} watch_freeze_at;

/* How transfers are made. */
typedef struct worker_bank {
    int die_at;        /* at that crossing (strike.h), 0: nowhere, */
    int die_in;        /* of that transaction or a later one; from 1 */
    bool stop;         /* stops in the middle of the first, instead */
    bool alone;        /* by a connection of its own, not as it should be */
    bool serializable; /* at that isolation level, on PostgreSQL */
    bool disorder;     /* accounts are locked as they come */
    int64_t max_ms;    /* transaction_max_ms */
} worker_bank;

typedef struct worker_options {
    int64_t lease_ms; /* 0: 600 */
    int64_t poll_ms;  /* 0: 100 */
    int64_t work_us;  /* of every execution; 0: 1,000 */
    bool gated;       /* nodes wait at a gate, once so many have worked: */
    int gate_after;
    unsigned threads;  /* 0: 8 */
    int poison_limit;  /* 0: never: whoever kills from outside is not a node */
    size_t capacity;   /* cascades it holds; 0: the engine's default */
    int64_t park_ms;   /* longer waits are parked; 0: the engine's default */
    int64_t delay_ms;  /* before the last execution of a cascade */
    int64_t sleep_ms;  /* of the last execution; 0: the flow's own */
    char host[16];     /* pretends to be another machine; "": this one */
    char freeze[12];   /* stops in a commit by itself: "commit" or "pipeline",
                         see watch.h; "": it does not */
    char crash[8];     /* how the node "crash" ends the process: "abort", "exit"
                         or "segv"; "": there is no such node */
    cascade_uuid bomb; /* whoever reads that one whole is killed */
    cascade_mode mode;
    bool suspend_steps;
    unsigned lanes;   /* 0: the engine's default */
    bool pooler;      /* as behind one */
    bool relaxed;     /* durability, also where the place does not say so */
    bool ignorant;    /* does not know the last node: others must */
    size_t batch;     /* cascades in one commit at most; 0: the default */
    bool outsider;    /* no engine: it only starts cascades */
    int64_t start_us; /* starts some that often, see starter.h; 0: never */
    char key[16];     /* of the starts: KEY-NUMBER, numbers from key_from */
    uint64_t key_from;
    bool crowd;    /* knows the nodes of crowd.h, not the flow's */
    bool cast;     /* knows the nodes of support/nodes.h, not the flow's */
    int script;    /* an outsider calls what scripts[script - 1] says, as */
    char user[32]; /* this one, and ends; 0: it does not */
    watch_freeze_at stop; /* stops there, see watch.h, */
    int stop_behind;      /* behind so many commits */
    worker_bank bank;     /* of a worker of the bank (bank.h) */
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
    /* At once: */
    _Atomic uint64_t in_flight; /* commits and starts not answered yet */
    _Atomic uint64_t writes;    /* those answered */
    _Atomic uint64_t fenced;    /* incarnations lost: answers told so, */
    _Atomic uint64_t robbed;    /* of them: before their lease was over */
    _Atomic uint64_t attached;  /* it has one, as far as it was told */
    _Atomic uint64_t attaches;  /* so many had begun */
    _Atomic uint64_t looks;     /* at the other engines */
    _Atomic uint64_t rounds;    /* of the house: waits for what comes next */
    _Atomic uint64_t freed;     /* cascades, of engines that it removed, */
    _Atomic uint64_t freed_at;  /* for the first time in that round */
    _Atomic uint64_t key_next;  /* of the first key not acknowledged */
    _Atomic uint64_t doubtful;  /* starts without key, not acknowledged */
    _Atomic uint64_t starting;  /* it may start something, though paused */
    /* Of a worker of the bank: */
    _Atomic uint64_t transactions;    /* of nodes that came to their end */
    _Atomic uint64_t crossings_first; /* of the first of them */
    _Atomic uint64_t crossings_least; /* of any */
    _Atomic uint64_t died_at;         /* the crossing */
    _Atomic uint64_t conflicts;       /* statements that failed by another */
} worker_figures;

typedef struct worker_shared {
    test_place place;
    worker_options options;
    char name[16];
    worker_figures figures;
    flow_gate gate;
    _Atomic bool pause;             /* asked: start no cascades for now */
    _Atomic watch_freeze_at freeze; /* asked: see watch.h */
    _Atomic int behind;             /* so many that pass first */
    int statements;
} worker_shared;

typedef struct test_worker {
    pid_t pid; /* -1: ended */
    char name[16];
    unsigned threads;      /* of its engine, at most */
    size_t late;           /* lines excused by worker_may_be_late() */
    worker_shared *shared; /* until it has ended */
    worker_figures last;   /* when it has, and so: */
    int status;            /* what waitpid() told */
} test_worker;

/* Starts a process; returns when its engine runs. `options` may be NULL. */
void worker_start(test_worker *worker, const test_place *place,
                  const worker_options *options);
/* The same without waiting for the engine. */
void worker_spawn(test_worker *worker, const test_place *place,
                  const worker_options *options);

/* Waits until a node stands at the gate: its cascade cannot end before that is
 * open. */
void worker_await_gate(test_worker *worker);
void worker_open_gate(test_worker *worker);

void worker_kill(test_worker *worker); /* SIGKILL, and reaped */
void worker_stop(test_worker *worker); /* SIGSTOP, and seen stopped */
/* The same. False: it has ended before, and is reaped. */
bool worker_stop_living(test_worker *worker);
/* Waits until it has stopped by itself; fails the test when it does not. */
void worker_await_stop(test_worker *worker);
void worker_continue(test_worker *worker); /* SIGCONT */
/* SIGTERM; fails the test unless it ends well. */
void worker_end(test_worker *worker);
/* Whether the process has ended by itself; reaps it. */
bool worker_ended(test_worker *worker);

/* For ledger.may_be_late, of workers that have ended: a thread of an engine
 * that has lost its incarnation may begin one execution that others have
 * recorded meanwhile, and a step in it. */
typedef struct worker_crew {
    test_worker *workers;
    size_t count;
} worker_crew;
#define WORKER_LATE_LINES 2 /* of a thread, for each incarnation lost */
bool worker_may_be_late(void *crew, const char *who);

/* The process itself. */
int worker_main(const char *path);
/* In it: what the engine has counted by now. */
void worker_tell(cascade_engine *engine, worker_figures *figures);

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
