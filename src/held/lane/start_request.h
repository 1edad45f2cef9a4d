/* SPDX-License-Identifier: MIT
 *
 * The starts of one call: see start_request.c.
 */
#ifndef CSC_HELD_LANE_START_REQUEST_H
#define CSC_HELD_LANE_START_REQUEST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

/* Starts of one call, committed in one batch. Shared by the caller and the
 * lane; whoever leaves last frees it. */
typedef struct csc_start {
    struct csc_start *next;
    csc_arena arena;         /* owns everything below */
    cascade_change *changes; /* owned by nobody; the lane's copies are */
    bool *existed;
    size_t count;
    size_t bytes; /* of its inputs */
    atomic_int refs;
    bool queued;  /* still in the lane's list: can be taken back */
    bool entered; /* the caller is in the lane */
    bool left;    /* the caller is not: it has told that nobody knows */
    bool done;
    cascade_err err; /* once done */
    pthread_cond_t cond;

    /* Of blocked_start.c, whose mutex guards the first three; and the
     * caller's then. */
    struct csc_start *held_next;
    bool in_line;
    bool fresh;    /* it was not tried by itself yet */
    bool doubtful; /* it may have been made */
} csc_start;

/* The lane is done with a start. */
void csc_start_request_done_locked(cascade_engine *engine, csc_start *start,
                                   cascade_err err);
void csc_start_request_unref(csc_start *start);
/* The place of the change that starts `id`, in changes that are sorted; their
 * count where none does. */
size_t csc_start_request_find(const csc_start *start, const cascade_uuid *id);

#endif
