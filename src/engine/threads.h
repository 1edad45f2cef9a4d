/* SPDX-License-Identifier: MIT
 *
 * The threads of an engine: see threads.c.
 */
#ifndef CSC_ENGINE_THREADS_H
#define CSC_ENGINE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* The other threads. Under the engine's mutex. */
typedef struct csc_threads {
    pthread_t house_thread;
    bool house_started;
    pthread_t keeper_thread;
    bool keeper_started;
    pthread_cond_t keeper_cond;
    uint64_t seen; /* of that, by the last wait; its thread's alone */
} csc_threads;

cascade_err csc_threads_start(cascade_engine *engine);
/* Tells lanes and housekeeper to end. */
void csc_threads_request_end_locked(cascade_engine *engine);
/* The same; waits for them. */
void csc_threads_end(cascade_engine *engine);
/* Waits, until `end_ms`, for what a stop has left: functions that had not
 * returned, and whoever is to detach. */
void csc_threads_await_left_locked(cascade_engine *engine, int64_t end_ms);
/* Joins the workers that have ended. The node that one is still in, or that the
 * host's thread is in, or whose transaction one waits for; NULL when all are
 * joined. Waits for what a stop has put off while no function is in its way. */
const char *csc_threads_join_workers(cascade_engine *engine);

#endif
