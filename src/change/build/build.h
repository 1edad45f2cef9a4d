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
#ifndef CSC_CHANGE_BUILD_BUILD_H
#define CSC_CHANGE_BUILD_BUILD_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "state/state.h"

typedef struct csc_message csc_message;
typedef struct csc_post csc_post;
typedef struct csc_waiting csc_waiting;

typedef struct csc_build_env {
    csc_arena *arena; /* of the rows; outlives the change */
    const cascade_random *random;
    const char *location;
    int64_t now_ms;        /* by the store's clock, not ahead of it */
    int64_t delay_from_ms; /* the same, not behind it */
    bool reset;            /* the run has takeovers to forget */
    bool unread;           /* it is not known, nor to be: no retry, no rerun */
    bool deletes;          /* it has ended in ERROR, and is to be deleted once
                              all its children are told: its deletion is there,
                              and needs not be among the messages */
    size_t slice_bytes;    /* of a cancellation, and of the children at an end;
                              0: CSC_SLICE_BYTES */
    size_t whole_bytes;    /* a retry or a rerun that writes more is cut into
                              slices; 0: CSC_SLICE_BYTES */
    int32_t family_to;     /* children are known below that one; 0: all are */
    /* How executions of that node wait for their completion from outside; NULL
     * where the node does not, or is not known. NULL: none is. */
    const csc_waiting *(*find_external)(const void *context, const char *name);
    const void *find_context;
    /* Of a retry or a rerun, which is the only post then; else NULL. The heirs'
     * function_ids are noted in it. */
    struct csc_plan *plan;
} csc_build_env;

/* The bound behind it (state as of k, exclusive) is an int32_t too. */
#define CSC_FUNCTION_ID_MAX ((int64_t)INT32_MAX - 1)
#define CSC_FUNCTION_IDS_KEPT 16 /* for what ends the cascade: last_ids.c */
#define CSC_USED_UP \
    "the cascade has used up its function_ids, and can only be ended"

/* CASCADE_ERR_NO_MEMORY; CASCADE_ERR_TOO_LARGE when the cascade has used up
 * its function ids. */
cascade_err csc_build_change(const csc_build_env *env, const csc_state *state,
                             const csc_post *posts, cascade_change *change);

/* How many cascades these posts start besides. */
size_t csc_child_birth_count(const csc_state *state, const csc_post *posts);
/* The changes that start them, as many; `own` is what csc_build_change() made
 * of the same posts. */
cascade_err csc_child_births(const csc_build_env *env, const csc_state *state,
                             const csc_post *posts, const cascade_change *own,
                             cascade_change *changes);

/* Whether a retry or a rerun (NULL: none) that was not begun yet can be made in
 * slices of that many bytes. (reset_slice.c) */
bool csc_reset_is_divisible(const struct csc_plan *plan, size_t bytes);

/* Whether the message is a retry or a rerun, and from where on: CSC_COURSE_NONE
 * for a retry. (reset.c) */
bool csc_reset_is(const csc_message *message);
/* Kinds of messages that are of one run alone: no other gets them. */
#define CSC_BUILD_OWN_KINDS 5
extern const char *const csc_build_own_kinds[CSC_BUILD_OWN_KINDS];

/* From which function_id on children are still to be told of the end of the
 * cascade; 0 when the message says nothing of that. (family_end.c) */
int32_t csc_family_end_from(const csc_message *message);

/* Whether the run, when its deletion was asked for, had ended as it has now. */
bool csc_next_run_is_unchanged(const csc_state *state,
                               const csc_message *message);
int32_t csc_reset_from(const csc_message *message);

/* Applies all rows of a change that is durable, and settles. Not for one that
 * carries out a retry or a rerun: the cascade is loaded anew. */
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
    const char *key;       /* or NULL */
    const char *limit_key; /* NULL: the user's id */
    int32_t run_number;    /* 0 stands for 1 */
    int32_t priority;
    int32_t depth;
    const cascade_uuid *parent;   /* or NULL */
    const cascade_uuid *child_id; /* as which the parent knows it; NULL: `id` */
    const cascade_uuid *previous; /* the run before, or NULL */
    const cascade_uuid *root;     /* the run that was started, of which it is a
                                     later one, or NULL */
    int64_t after_ms; /* the end of the run of its key before, whose clock may
                         have been ahead; 0: none is known */
    int64_t delay_ms;
    int64_t deadline_ms;    /* 0: none */
    cascade_uuid engine_id; /* owner from birth; all zero: free */
    const csc_build_first *first;
    size_t first_count;
    const csc_build_signal *signals;
    size_t signal_count;
    bool paused; /* as the run before was */
} csc_build_start;

/* A cascade that begins with the past of another one (fork.c). */
typedef struct csc_build_copy {
    cascade_uuid id;
    cascade_uuid origin;
    const char *user_id;
    const char *queue;
    const char *limit_key; /* NULL: the user's id */
    const char *by;        /* or NULL, as the reason */
    const char *reason;
    int32_t priority;
    int32_t depth;
    const struct csc_plan *plan;       /* of the rows */
    const cascade_execution_row *rows; /* one for each of its items */
    const char *const *outputs; /* beside them: instead of the recorded one, or
                                   NULL */
    const cascade_event_row *events; /* all of the other one */
    size_t event_count;
} csc_build_copy;

cascade_err csc_fork_add_rows(const csc_build_env *env,
                              const csc_build_copy *copy,
                              cascade_change *change);

#endif
