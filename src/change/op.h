/* SPDX-License-Identifier: MIT
 *
 * A post: what a worker hands to the committer about one execution. It owns
 * all its texts in one arena, so it is freed whole. Rows are made of it in
 * build.c, once the cascade's fn_id before the commit is known.
 */
#ifndef CSC_CHANGE_OP_H
#define CSC_CHANGE_OP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/arena.h"
#include "base/data/tree.h"
#include "cascade/cascade.h"
#include "cascade/node.h"

typedef struct csc_put {
    struct csc_put *next;
    csc_tree_node by_key;
    uint32_t nth; /* of all puts */
    const char *key;
    const char *value;
    const char *ui_value; /* or NULL */
} csc_put;

typedef struct csc_spawn {
    struct csc_spawn *next;
    csc_tree_node by_name;
    const char *name;
    const char *input; /* canonical */
    int64_t delay_ms;
    int32_t priority; /* 0: the cascade's */
    bool instead;     /* of the execution, which has failed */
    uint32_t nth;     /* among the spawns of that name */
    uint32_t *after;  /* numbers of earlier spawns, from 1, ascending */
    size_t after_count;
    uint32_t first;          /* 0: all of them */
    cascade_join on_failure; /* of one of them */
} csc_spawn;

/* What an execution or a step produced, in the order of the calls. */
typedef struct csc_effects {
    csc_put *first_put;
    csc_put *last_put;
    uint32_t put_count;
    csc_tree puts; /* by key, then in the order of the calls */
    csc_spawn *first_spawn;
    csc_spawn *last_spawn;
    uint32_t spawn_count;
    csc_tree spawns;    /* by name and nth */
    const char *output; /* canonical, or NULL */
    bool is_result;     /* the output is the cascade's */
    size_t bytes;       /* of all of it */
} csc_effects;

typedef enum csc_post_kind {
    CSC_POST_COMPLETE,     /* the node returned OK, or the wait is over */
    CSC_POST_FAIL,         /* it failed for good */
    CSC_POST_ATTEMPT,      /* it failed and has attempts left */
    CSC_POST_STEP,         /* a step ended, as COMPLETED or (failed) FAILED */
    CSC_POST_STEP_ATTEMPT, /* a step failed and has attempts left */
    CSC_POST_WAIT,         /* a wait of the node begins */
    CSC_POST_RECEIVE,      /* messages have come */
    CSC_POST_CHILDREN,     /* the node starts children */
    CSC_POST_EXTERNAL, /* it begins to wait for its completion from outside */
    CSC_POST_BEAT,     /* how far the node is; what of it follows in the same
                          commit makes this superfluous */
    CSC_POST_DEADLINE, /* the cascade has run out of its time */
    CSC_POST_SLICE,    /* the cancellation goes on: command.c; or the
                          end of the children: family_end.c */
    CSC_POST_FREE      /* nothing of the cascade can run here for now */
} csc_post_kind;

#define CSC_MESSAGE_SIGNAL "signal"
#define CSC_MESSAGE_CANCEL "cancel"
#define CSC_MESSAGE_TERMINATE "terminate"
#define CSC_MESSAGE_DELETE "delete"
#define CSC_ENDED_AT "ended_at" /* of its payload: see build.h */
#define CSC_MESSAGE_PAUSE "pause"
#define CSC_MESSAGE_RESUME "resume"
#define CSC_MESSAGE_RETRY "retry"
#define CSC_MESSAGE_RERUN "rerun"
#define CSC_MESSAGE_CHILD "child"
#define CSC_MESSAGE_COMPLETE "complete"
#define CSC_MESSAGE_FAMILY "family" /* to itself: family_end.c */
#define CSC_MESSAGE_POISON "poison" /* the engine's own: it is in no store */
/* The error of a receipt that came too late for its cascade. */
#define CSC_UNDELIVERED "undelivered: the cascade had ended"

/* What a cancellation, or the end of a family, ends in one commit, at most:
 * about 250 rows. */
#define CSC_SLICE_BYTES ((size_t)128 * 1024)
#define CSC_ROW_BYTES 512 /* of a row beside its payloads, roughly */

/* What the payload of a message "complete" says; see external.h. */
typedef struct csc_completion {
    cascade_uuid token;
    cascade_uuid by;
    const char *error; /* NULL: it completed */
    csc_effects effects;
} csc_completion;

/* How an external node waits: what is known of it by its name. */
typedef struct csc_waiting {
    int64_t timeout_ms; /* 0: none */
    bool continued;     /* as in csc_external */
    const char *instead;
} csc_waiting;

/* A message that is to be received. */
typedef struct csc_message {
    struct csc_message *next;
    int64_t id; /* in the store */
    const char *kind;
    const char *name;
    const char *path;
    const char *payload;
    csc_completion *completion; /* NULL: it tells of none */
    bool repeated;              /* it was received before: only to be deleted */
} csc_message;

/* A child to be started. */
typedef struct csc_child {
    struct csc_child *next;
    cascade_uuid id;
    const char *node;
    const char *input;
    uint32_t occurrence; /* of its part */
} csc_child;

/* What the children of one post have in common. */
typedef struct csc_family {
    csc_child *first;
    size_t count;
    const char *queue;
    int32_t priority;
    int32_t depth;
    int64_t delay_ms;
    int64_t deadline_ms; /* 0: none */
    cascade_child_end when_parent_ends;
} csc_family;

/* The run that the cascade continues as. */
typedef struct csc_next_run {
    cascade_uuid id;
    const char *node; /* NULL: it does not */
    const char *input;
    size_t bytes; /* of unread signals that it was to be given, about */
} csc_next_run;

typedef struct csc_post {
    struct csc_post *next;
    csc_arena arena;
    csc_post_kind kind;
    int32_t function_id;     /* of the node's execution; of a wait's own at
                                  its end */
    int32_t attempts;        /* what `attempts` of the record becomes */
    int32_t tried;           /* STEP_ATTEMPT: which attempt of the step it is */
    int64_t started_at_ms;   /* of a step */
    int64_t delay_ms;        /* _ATTEMPT: until the next one; WAIT */
    int64_t until_ms;        /* WAIT; CASCADE_TIME_NONE: after delay_ms */
    cascade_uuid cascade_id; /* RECEIVE */
    csc_message *messages;   /* RECEIVE: in the order of their ids */
    csc_message *last_message;
    bool cut;   /* there are more messages, or may be */
    bool apart; /* and that is since one of them is to be alone: receive.c */
    size_t message_count;
    size_t deletions;       /* among them */
    int64_t wake_at_ms;     /* FREE */
    const char *needs;      /* FREE: the node nobody here knows, or NULL */
    csc_family children;    /* CHILDREN */
    csc_waiting waiting;    /* EXTERNAL */
    const cascade_uuid *by; /* of a completion from outside, or NULL */
    csc_next_run next_run;  /* COMPLETE */
    const int32_t *gathers; /* WAIT: ascending ids of what it comes after */
    size_t gather_count;
    const char *error;         /* FAIL, _ATTEMPT, failed STEP, DEADLINE */
    const char *part_name;     /* STEP, STEP_ATTEMPT, WAIT: with the prefix */
    const char *step_attempts; /* _ATTEMPT kinds: member `steps`, or NULL */
    const char *progress;      /* BEAT, FAIL, _ATTEMPT kinds: new, or NULL */
    uint32_t part_occurrence;
    bool failed;    /* STEP */
    bool skipped;   /* COMPLETE: it was not run */
    bool continued; /* FAIL: the cascade goes on */
    bool reenter;   /* STEP, WAIT: the node left, and is entered again (unless
                       it waits then) */
    bool forever;   /* WAIT: no time ends it */
    bool overdue;   /* FAIL: its deadline has come */
    bool over;      /* ATTEMPT: from now on it is only undone */
    bool undoes;    /* _ATTEMPT kinds, WAIT: it has registered compensations */
    csc_effects effects;
    struct csc_waiter *waiter; /* who waits in this process, or NULL */
    /* BEAT: where this post is noted until it is freed, or NULL. */
    struct csc_post **under_way;
    atomic_size_t *backlog; /* what it adds to until it is freed, or NULL */
    size_t charged;         /* bytes of it */
} csc_post;

/* Most posts, and most of what a node keeps while it runs, are a few hundred
 * bytes. With its header a block is what allocators keep at hand for a thread
 * (1,032 bytes with glibc). */
#define CSC_POST_BLOCK_SIZE 960

/* A post with an arena of its own; NULL when out of memory. */
csc_post *csc_op_create(csc_post_kind kind, int32_t function_id);
void csc_op_free(csc_post *post); /* accepts NULL */
/* What it writes, about. */
size_t csc_op_bytes(const csc_post *post);
/* Counts it in `backlog`, which outlives it, until it is freed. */
void csc_op_charge(csc_post *post, atomic_size_t *backlog);
/* It counts there from now on. */
void csc_op_move_charge(csc_post *post, atomic_size_t *backlog);

/* The most puts, and the most spawns, of one execution. */
#define CSC_POST_EFFECTS_MAX 10000

/* The puts to a key: how many, and the nth of them, from 0. */
size_t csc_op_count_puts(const csc_effects *effects, const char *key);
const csc_put *csc_op_nth_put(const csc_effects *effects, const char *key,
                              size_t nth);

/* Adds to effects what is in the post's arena already; counts `nth`. */
void csc_op_add_put(csc_effects *effects, csc_put *put);
void csc_op_add_spawn(csc_effects *effects, csc_spawn *spawn);

#endif
