/* SPDX-License-Identifier: MIT
 *
 * Calls that wait until something has come of a cascade, and the engines of
 * their handle, which tell them.
 *
 *   begin -> look -> wait -> look -> ... -> end
 *
 * A watch lies on its caller's stack. Who begins it before the first look
 * misses nothing. The lock of the watches is the last that anybody takes.
 */
#ifndef CSC_STORE_WATCH_H
#define CSC_STORE_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cascade/cascade.h"

#define CSC_WATCH_LISTS 64
#define CSC_WATCH_LOOK_MAX 256 /* cascades in one look for all */

/* What a look for all has found of one. */
typedef enum csc_watch_look {
    CSC_WATCH_NO_LOOK, /* none is wanted */
    CSC_WATCH_WANTED,
    CSC_WATCH_UNDER_WAY,
    CSC_WATCH_FOUND, /* `status` */
    CSC_WATCH_ABSENT,
    CSC_WATCH_FAILED
} csc_watch_look;

typedef struct csc_watch {
    cascade_uuid id;
    bool told;
    cascade_status ended; /* as it was told; 0: it was not */
    csc_watch_look look;
    cascade_status status;
    pthread_cond_t cond;
    struct csc_watch *next;
} csc_watch;

/* Those of a handle. */
typedef struct csc_watches {
    pthread_mutex_t mutex;
    csc_watch *lists[CSC_WATCH_LISTS]; /* by their ids */
    bool looking;                      /* somebody does, for all */
    size_t next;          /* of the lists: the first for the next look */
    csc_error_kept error; /* of the last look that failed */
} csc_watches;

cascade_err csc_watch_init(csc_watches *watches);
void csc_watch_fini(csc_watches *watches);

/* From now on `watch` is told what comes of that cascade, until _end. */
cascade_err csc_watch_begin(csc_watches *watches, csc_watch *watch,
                            const cascade_uuid *id);
void csc_watch_end(csc_watches *watches, csc_watch *watch);
/* From now on it is told of that one instead. */
void csc_watch_move(csc_watches *watches, csc_watch *watch,
                    const cascade_uuid *id);

/* Tells those in this process that watch the cascade, and nobody else: its end
 * is committed, as `ended`; or (0) to look, as something is recorded that they
 * may wait for. */
void csc_watch_tell(csc_watches *watches, const cascade_uuid *id,
                    cascade_status ended);

/* Sleeps until it is told, or was since the last time: true; or `timeout_ms`
 * passes: false. */
bool csc_watch_wait(csc_watches *watches, csc_watch *watch, int64_t timeout_ms);
/* The status that it was told that its cascade ended with; 0: none. */
cascade_status csc_watch_ended(csc_watches *watches, const csc_watch *watch);

/* Looks that are wanted at once become one. WANTED: nobody looks, and the
 * caller is to, for all of `ids`: it gives what it finds of each, is done with
 * all, and takes its own answer. Otherwise it has slept until somebody had
 * looked: FOUND with its `*status`, ABSENT, or FAILED; NO_LOOK: none has begun
 * within `timeout_ms`. */
csc_watch_look csc_watch_join(csc_watches *watches, csc_watch *watch,
                              int64_t timeout_ms,
                              cascade_uuid ids[CSC_WATCH_LOOK_MAX],
                              size_t *count, cascade_status *status);
void csc_watch_give(csc_watches *watches, const cascade_uuid *id,
                    cascade_status status);
/* Those that were not given are absent, or FAILED on an error, which is this
 * thread's last. */
void csc_watch_done(csc_watches *watches, cascade_err err);
csc_watch_look csc_watch_take(csc_watches *watches, csc_watch *watch,
                              cascade_status *status);
/* The error of a look that FAILED, once more for this thread. */
cascade_err csc_watch_fail(csc_watches *watches);

#endif
