/* SPDX-License-Identifier: MIT
 *
 * Time limits and heartbeats: of the function that runs (by the monotonic
 * clock), of an execution and of a cascade (by the store's). See
 * time_limit_call.c.
 */
#ifndef CSC_HELD_RUN_TIME_LIMIT_H
#define CSC_HELD_RUN_TIME_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

struct csc_exec;
struct csc_post;

/* Of a node, as registered; 0: none. */
typedef struct csc_limits {
    int64_t attempt_ms;
    int64_t heartbeat_ms;
    int64_t start_ms;
    int64_t deadline_ms;
} csc_limits;

struct csc_step_call;

/* Fills a post with what it means that a compensation is over its time:
 * another attempt, or its failure. CASCADE_ERR_NO_MEMORY. */
typedef cascade_err csc_limits_undo(const struct csc_step_call *undoing,
                                    struct csc_post *post);

/* A function that runs; each worker has one, and each fiber. Guarded by the
 * engine's mutex, but for `late`, which its own thread reads without. */
typedef struct csc_call {
    struct csc_call *next; /* of those that run */
    struct csc_call **link;
    struct csc_exec *exec; /* NULL: none runs */
    struct csc_run *run;
    const csc_limits *limits;
    int64_t open_ms;  /* of the transaction it runs in; 0: none */
    int64_t ids_left; /* for executions of its cascade, as last seen */
    int64_t begun_ns;
    int64_t beat_ns;         /* its last sign of life */
    int64_t ready_ns;        /* since when it could go on, and waits for its
                                worker; 0: it does not */
    int64_t save_ns;         /* when progress may be recorded again */
    char *progress;          /* as last told, NULL: not in this call */
    bool unsaved;            /* it is not on its way to the store */
    struct csc_post *saving; /* the BEAT post under way, or NULL */
    const struct csc_step_call *undoing; /* the compensation that runs */
    csc_limits_undo *time_out;           /* what its time-out is to post */
    atomic_bool late;                    /* its execution was taken from it */
} csc_call;

/* The functions that run. Under the engine's mutex. */
typedef struct csc_calls {
    size_t running;  /* executions in a function */
    size_t overdue;  /* of these: taken from it, see time_limit_call.c */
    csc_call *first; /* the functions that run */
    int64_t at_ns;   /* none of them is over its time before */
    bool has_limits; /* nodes have limits by the store's clock */
} csc_calls;

/* Applies nothing and checks all: names the limit that makes no sense. */
cascade_err csc_time_limit_init(csc_limits *limits, const char *node,
                                const cascade_node_options *options);

/* ---- The function that runs --------------------------------------------- */

/* It is called. */
void csc_time_limit_begin_locked(cascade_engine *engine, csc_call *call,
                                 struct csc_exec *exec);
/* It has returned, and `post` (or NULL) is to be posted next: progress that is
 * not recorded goes with it or before it. True when it is late: what it answers
 * is to be dropped, and the run has let go of it already. */
bool csc_time_limit_end_locked(cascade_engine *engine, csc_call *call,
                               struct csc_post *post);
/* It goes on; `progress` (canonical) or NULL. CASCADE_ERR_FENCED when it is
 * wanted no more. */
cascade_err csc_time_limit_beat_locked(cascade_engine *engine, csc_call *call,
                                       const char *progress);
/* It has registered a compensation. Not locked. */
void csc_time_limit_note_undo(cascade_engine *engine, csc_call *call);
/* A compensation begins, which has the time of an attempt, or (NULL, NULL) has
 * returned. Not locked. */
void csc_time_limit_note_undoing(cascade_engine *engine, csc_call *call,
                                 const struct csc_step_call *undoing,
                                 csc_limits_undo *what);
/* It goes on, once its worker had the time: that was not its own. */
void csc_time_limit_go_on_locked(cascade_engine *engine, csc_call *call);
/* CASCADE_OK, or CASCADE_ERR_FENCED for one that is late. Locked or not. */
cascade_err csc_time_limit_check_call(const csc_call *call);
/* Takes the executions from those that are over their time, and records
 * progress that is due. */
void csc_time_limit_watch_locked(cascade_engine *engine);
/* When to do that next (monotonic); INT64_MAX: never. */
int64_t csc_time_limit_next_ns_locked(const cascade_engine *engine);

/* ---- Executions and cascades -------------------------------------------- */

/* Takes note of executions that are new in the run, and ends the cascade when
 * its deadline has passed: then the run is FREEING. */
cascade_err csc_time_limit_look_locked(cascade_engine *engine,
                                       struct csc_run *run);
/* Takes note of one that may run now. */
void csc_time_limit_note_locked(const cascade_engine *engine,
                                struct csc_run *run, struct csc_exec *exec);
/* When the first of them may be over its time, no later; CASCADE_TIME_NONE:
 * none. */
int64_t csc_time_limit_first_ms_locked(const struct csc_run *run);
/* Whether it is known if a time is over: the store may have to be asked, by the
 * timer of the run. */
bool csc_time_limit_are_known_locked(const cascade_engine *engine,
                                     const struct csc_run *run);
/* Fails the executions of the run whose time is over. */
cascade_err csc_time_limit_fail_due_locked(cascade_engine *engine,
                                           struct csc_run *run);

#endif
