/* SPDX-License-Identifier: MIT
 *
 * Posts become the rows of one change. Pure, like the state: it reads the state
 * as it is before the commit and writes rows into an arena; the state changes
 * only when these rows are applied, after the commit.
 *
 *   posts of one cascade --csc_build_change()--> cascade_change
 *                                                   | store commits it
 *                                                   v
 *                             csc_build_apply(): the same rows, to the state
 *
 * Function ids are given out here, and nowhere else but at the start of a
 * cascade: fn_id + 1, + 2, ... in the order of the posts. A cascade has at most
 * one commit in flight, so fn_id cannot move in between, and a change that is
 * not committed leaves no trace: its ids are given out again.
 */
#ifndef CSC_ENGINE_BUILD_H
#define CSC_ENGINE_BUILD_H

#include "base/arena.h"
#include "cascade/store.h"
#include "engine/post.h"
#include "engine/state.h"

typedef struct csc_build_env {
    csc_arena *arena; /* of the rows; outlives the change */
    const cascade_random *random;
    const char *location;
    int64_t now_ms;        /* by the store's clock, not ahead of it */
    int64_t delay_from_ms; /* the same, not behind it */
    bool reset;            /* the run has takeovers to forget */
    /* How executions of that node wait for their completion from outside; NULL
     * where the node does not, or is not known. NULL: none is. */
    const csc_waiting *(*find_external)(const void *context, const char *name);
    const void *find_context;
} csc_build_env;

/* CASCADE_ERR_NO_MEMORY; CASCADE_ERR_TOO_LARGE when the cascade has used up
 * its function ids. */
cascade_err csc_build_change(const csc_build_env *env, const csc_state *state,
                             const csc_post *posts, cascade_change *change);

/* How many cascades these posts start besides. */
size_t csc_build_birth_count(const csc_state *state, const csc_post *posts);
/* The changes that start them, as many; `own` is what csc_build_change() made
 * of the same posts. */
cascade_err csc_build_births(const csc_build_env *env, const csc_state *state,
                             const csc_post *posts, const cascade_change *own,
                             cascade_change *changes);

/* Applies all rows of a change that is durable, and settles. */
cascade_err csc_build_apply(csc_state *state, const cascade_change *change);

/* A cascade to be started. */
typedef struct csc_build_first {
    const char *name;
    const char *input; /* canonical */
} csc_build_first;

/* A signal that it begins with: received by the run before. */
typedef struct csc_build_signal {
    const char *name;
    const char *payload; /* canonical */
} csc_build_signal;

typedef struct csc_build_start {
    cascade_uuid id;
    const char *user_id;
    const char *queue;
    const char *key;    /* or NULL */
    int32_t run_number; /* 0 stands for 1 */
    int32_t priority;
    int32_t depth;
    const cascade_uuid *parent;   /* or NULL */
    const cascade_uuid *child_id; /* as which the parent knows it; NULL: `id` */
    const cascade_uuid *previous; /* the run before, or NULL */
    int64_t delay_ms;
    int64_t deadline_ms;    /* 0: none */
    cascade_uuid engine_id; /* owner from birth; all zero: free */
    const csc_build_first *first;
    size_t first_count;
    const csc_build_signal *signals;
    size_t signal_count;
} csc_build_start;

cascade_err csc_build_new(const csc_build_env *env,
                          const csc_build_start *start, cascade_change *change);

#endif
