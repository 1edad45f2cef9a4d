/* SPDX-License-Identifier: MIT
 *
 * A worker: see worker.c.
 */
#ifndef CSC_NODE_WORKER_H
#define CSC_NODE_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "cascade/cascade.h"
#include "held/lane/lane_queue.h"
#include "held/run/carrier.h"
#include "node/strand.h"

#define CSC_WORKERS_MAX 4096
/* What a stack has beyond what the nodes may use: for a commit of the library,
 * connecting to the store included. */
#define CSC_WORKER_STACK_MORE ((size_t)256 * 1024)
#define CSC_FIBERS_MAX 30000 /* two mappings each, of 65,530 by default */

typedef struct csc_worker {
    cascade_engine *engine;
    pthread_t thread; /* in the poll modes: of the host, while in a node */
    bool started;
    bool ended;
    const char *node; /* the node it is in, or NULL */
    csc_lane *native; /* which that has, or NULL */
    csc_strand own;   /* on its own stack */
    csc_carrier carrier;
    /* Its thread's alone. */
    csc_strand *spare; /* with fibers that are free */
    size_t spare_count;
    bool begins; /* the next round begins a function, if one is ready */
} csc_worker;

/* The workers. Under the engine's mutex. */
typedef struct csc_workers {
    csc_worker *list;
    csc_worker looper;  /* the poll modes' one worker */
    size_t initialised; /* workers whose init hook is through */
    cascade_err err;
} csc_workers;

/* Whether the calling thread is inside a node of this engine. */
bool csc_worker_is_inside_locked(const cascade_engine *engine);

/* It is about to have a thread: CASCADE_ERR_SYSTEM. Not locked. */
cascade_err csc_worker_init(cascade_engine *engine, csc_worker *worker);
/* By its thread, at the end: no function of it is called any more. */
void csc_worker_free_stacks(csc_worker *worker);
/* The thread is gone. */
void csc_worker_fini(csc_worker *worker);

/* Whether a round of it would do something; else what is ready is left to
 * others, and they are told. */
bool csc_worker_has_work_locked(csc_worker *worker);

/* Runs one ready execution, or one that may go on, until it waits or has ended;
 * false when there is none. Sets `releases` when the engine is to be released
 * then. Not locked. */
bool csc_worker_round(cascade_engine *engine, csc_worker *worker,
                      bool *releases);

#endif
