/* SPDX-License-Identifier: MIT
 *
 * A lane, and what waits for it: see lane_queue.c.
 */
#ifndef CSC_HELD_LANE_LANE_QUEUE_H
#define CSC_HELD_LANE_LANE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/op.h"
#include "held/vital.h"
#include "state/state.h"

typedef struct csc_run csc_run;
typedef struct csc_start csc_start;

#define CSC_LANES_MAX 16
#define CSC_NATIVES_MAX 16 /* transactional nodes at once */

/* What one batch writes for one run, or one csc_start. */
typedef struct csc_item {
    csc_run *run;     /* or NULL */
    csc_start *start; /* or NULL */
    csc_post *posts;  /* of the run, taken from it */
    size_t first;     /* its changes: [first, first + count) */
    size_t count;
    cascade_err err; /* building it failed */
    bool tells;      /* somebody outside may wait for what is recorded */
} csc_item;

/* The batch of a lane.
 *
 *           begun                 built
 *   IDLE --------------> FILLED --------------> BUILT <-------+
 *     ^                    ^                     |  |         | settled
 *     |                    |  starts are taken   |  | slow,   |
 *     |                    |  out                |  | or      |
 *     |                    +---------------------+  | refused |
 *     |                                          |  | with a  |
 *     |   all of it is decided:                  |  v past    |
 *     +--- ended <-------------------------------+ SETTLING --+
 *     |
 *     +--- rescued <--- RESCUE <--- abandoned, of any but IDLE
 *
 *   begun      csc_batch_begin_locked()
 *   built      csc_batch_build()
 *   ended      csc_apply_end_batch_locked()
 *   abandoned  csc_outcome_abandon_locked()
 *   rescued    csc_outcome_rescue()
 *
 * csc_lane_queue_is_sound_locked() says what is true of each. */
typedef enum csc_lane_state {
    CSC_LANE_IDLE,     /* there is none */
    CSC_LANE_FILLED,   /* what is in it is known, its changes are to be made */
    CSC_LANE_BUILT,    /* its changes are made, and stay the same */
    CSC_LANE_SETTLING, /* its number may have been used up: it is not tried
                          again before that is known */
    CSC_LANE_RESCUE    /* the incarnation is gone: only starts are left in it */
} csc_lane_state;

/* The transaction of a transactional node's lane. It is the worker's that has
 * taken the lane: nobody else looks.
 *
 *           begun            kept
 *   NONE ----------> OPEN ----------> KEPT
 *     ^               |                 |
 *     +- rolled back -+--- finished ----+
 *
 *   begun        csc_node_txn_begin(): the function is called in it
 *   kept         csc_node_txn_keep_locked(): a completion is in the batch
 *   finished     finish() of node_txn.c: committed, or it is to be settled
 *   rolled back  roll_back() there */
typedef enum csc_txn_state {
    CSC_TXN_NONE,
    CSC_TXN_OPEN, /* to be rolled back, unless it is kept */
    CSC_TXN_KEPT  /* to be committed with the completion */
} csc_txn_state;

#define CSC_TROUBLE_SIZE 160

typedef struct csc_lane {
    cascade_engine *engine;
    uint32_t index;
    pthread_t thread;
    bool thread_started;
    pthread_cond_t cond;
    csc_run *first_dirty;
    csc_run *last_dirty;
    csc_run *first_slicing; /* runs that have nothing but the next slice of */
    csc_run *last_slicing;  /* their cancellation to commit */
    int64_t slice_at_ns;    /* one of these is next no earlier */
    size_t slice_bytes;     /* of it; 0: not known yet */
    int64_t usual_ns;       /* what commits without one take of late, */
    int64_t slice_ns;       /* and with one */
    int64_t begun_ns;       /* when the commit that is tried was, */
    int64_t took_ns;        /* and how long it took, if it has failed */
    csc_start *first_start;
    csc_start *last_start;
    bool starts_first;    /* it is their turn */
    csc_lane_state state; /* unless IDLE, below is the lane's own */
    int64_t number;       /* of the last batch that is decided */
    csc_arena arena;
    unsigned char random[512]; /* of which the first `random_left` are unused */
    size_t random_left;
    size_t births; /* cascades that its runs start */
    csc_item *items;
    size_t item_count;
    size_t item_room;
    cascade_change *changes;
    bool *existed;
    size_t change_room;
    size_t from;      /* items decided so far */
    size_t slice;     /* items tried at once; shrinks when the store refuses */
    size_t items_max; /* as many at most, as more were too slow; 0: any */
    int64_t retry_at_ns; /* 0: now */
    int64_t backoff_ms;
    bool in_round; /* a thread is in it: nobody else tries its batch */
    bool tried;    /* a try of the batch has had no answer */
    bool slow;     /* SETTLING for a slow try: it is to be divided then */
    csc_vital vital;
    char trouble[CSC_TROUBLE_SIZE]; /* why its last try failed, or "" */

    /* Of a transactional node's: see txn_slot.c. */
    bool native;
    bool taken;   /* by a worker */
    csc_run *run; /* whose execution has it, while it is taken */
    csc_exec *exec;
    /* The worker's own. */
    csc_txn_state txn;
    cascade_native transaction; /* unless NONE */
    cascade_err begun;          /* what its beginning has answered */
    bool guest_used;            /* there may be messages of the function's */
} csc_lane;

/* Whether it has a batch; and one that is of the incarnation. */
bool csc_lane_queue_is_busy_locked(const csc_lane *lane);
bool csc_lane_queue_is_owned_locked(const csc_lane *lane);
#ifdef CASCADE_ASSERTS
/* Whether all is true that goes with its state: for assertions. */
bool csc_lane_queue_is_sound_locked(const csc_lane *lane);
#endif
/* How many lanes the incarnation has, those of transactional nodes included. */
uint32_t csc_lane_queue_lane_count(const cascade_engine *engine);
void csc_lane_queue_add_run_locked(csc_lane *lane, csc_run *run);
void csc_lane_queue_add_start_locked(csc_lane *lane, csc_start *start);
/* Gives starts of which nothing was sent back to their callers, who go on
 * without the engine. */
void csc_lane_queue_return_starts_locked(csc_lane *lane);
/* Lets whoever runs the lane know. */
void csc_lane_queue_wake_locked(csc_lane *lane);
/* Lets go of runs that are gone from what is to be committed. */
void csc_lane_queue_forget_locked(csc_lane *lane);

/* Lets the first of those that have only a slice to commit into the next
 * batch. */
void csc_lane_queue_let_slice_in_locked(csc_lane *lane);

/* All of them. */
void csc_lane_queue_let_slices_in_locked(csc_lane *lane);

/* Takes the first start out of the list. */
void csc_lane_queue_take_start_locked(csc_lane *lane, csc_item *item);

#endif
