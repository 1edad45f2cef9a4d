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
#include "held/run/time_limit.h"

#define CSC_WORKERS_MAX 4096

typedef struct csc_worker {
    cascade_engine *engine;
    pthread_t thread; /* in the poll modes: of the host, while in a node */
    bool started;
    bool ended;
    const char *node; /* the node it is in, or NULL */
    csc_lane *native; /* which that has, or NULL */
    csc_call call;
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

/* Runs one ready execution; false when there is none. Sets `releases` when the
 * engine is to be released then. Not locked. */
bool csc_worker_round(cascade_engine *engine, csc_worker *worker,
                      bool *releases);

#endif
