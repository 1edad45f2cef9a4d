/* SPDX-License-Identifier: MIT
 *
 * The handle of the execution that runs. It lives on the stack of whoever runs
 * the node, from the call of its function to the post of the outcome.
 *
 * What the node puts and spawns gathers in `post`; inside a step in `step`,
 * which is posted when the step ends. Threads: only the one that runs the node.
 */
#ifndef CSC_NODE_NODE_H
#define CSC_NODE_NODE_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "change/backoff.h"
#include "change/op.h"
#include "held/lane/lane_queue.h"
#include "held/node_def.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "state/state.h"

/* Where it goes what a call gives: to a tree of the caller's, to a tree or a
 * text of the node's, or nowhere. */
typedef struct csc_node_out {
    cJSON **tree;
    const cJSON **kept;
    const char **text;
} csc_node_out;

/* How often a part of that kind and name was asked for in this entry. */
typedef struct csc_asked {
    struct csc_asked *next;
    csc_part_kind kind;
    const char *name;
    uint32_t count;
} csc_asked;

/* A compensation that the node has registered. */
typedef struct csc_undo {
    struct csc_undo *next; /* registered before it */
    csc_part part;
    cascade_undo_fn fn;
    csc_attempts attempts;
    const char *input; /* canonical */
} csc_undo;

struct cascade_node {
    cascade_engine *engine;
    csc_run *run;
    csc_exec *exec;
    struct csc_strand *strand;
    csc_call *call;       /* the strand's */
    csc_lane *native;     /* of a transactional node that is called, or NULL */
    cascade_store *guest; /* on its transaction, once it was asked for */
    const csc_node_def *def;
    csc_post *post;    /* the outcome to be; never NULL */
    csc_post *step;    /* inside a step */
    csc_post *pending; /* to be posted once the node has left */
    bool suspended;    /* it was told to leave */
    bool used_up;      /* there is no id for the part that it asked for */
    bool unwound;      /* since it is being undone, and nothing new begins */
    int step_attempt;  /* inside a step with options, else 0 */
    bool step_gives;   /* and its function may give a result */
    bool step_barred;  /* it could not even begin: that is no attempt of it */
    int spared;        /* steps that began though it is to leave: part.c */
    csc_arena arena;   /* what belongs to the node until it returns */
    csc_asked *asked;
    csc_ids passed;  /* its parts that are behind it, ascending */
    size_t works;    /* of these: as csc_exec.works */
    csc_undo *undos; /* the newest first */
    size_t undo_count;
    size_t undo_bytes;
    const char *mismatch; /* why this build does not fit what is recorded, or
                             NULL; then it was told to leave */
    cJSON *input;
    cJSON **trees; /* handed out, freed at the end */
    size_t tree_count;
    size_t tree_room;
    const char *request_id;
    const char *step_request_id;
    const char *step_name; /* inside a step */
    const char *error;     /* as the node set it, for `error_err` only */
    cascade_err error_err;
};

/* The head of each public call with the handle; accepts NULL. */
cascade_err csc_node_check_origin(const cascade_node *node);

/* Whether the node may call `verb`. `what` must be there too: an argument that
 * the verb cannot do without. */
cascade_err csc_node_check(const cascade_node *node, const char *verb,
                           const void *what);

/* CASCADE_ERR_MISUSE inside a step, also where a jump has left it: `what` of
 * that name belongs in the node. */
cascade_err csc_node_refuse_step(const cascade_node *node, const char *what,
                                 const char *name);

/* The node's own tree: freed when it returns. NULL gives NULL and no memory. */
cJSON *csc_node_keep(cascade_node *node, cJSON *tree);

/* Gives canonical text there, or none (NULL). CASCADE_ERR_NO_MEMORY, and
 * nothing is written. The text is copied: what it lies in may go while the
 * function runs, when that is late. */
cascade_err csc_node_give(cascade_node *node, csc_node_out out,
                          const char *text);

/* <cascade>/<parent>/<name>#<n> in the node's arena; NULL without memory. */
const char *csc_node_path(cascade_node *node, int32_t parent, const char *name,
                          uint32_t occurrence);

/* ---- part.c: what steps and waits have in common ------------------- */

/* Which of the parts of its kind and name it is: counts it. */
cascade_err csc_part_count(cascade_node *node, csc_part *part);

/* The part as it is recorded; it stays in memory, unchanged, while its node
 * runs. Where it is NULL, `leave` tells whether it may not begin: a node that
 * is told to leave leaves before its next part; so does one that is undone, or
 * that asks for what does not fit what is recorded. */
const csc_exec *csc_part_find(cascade_node *node, const csc_part *part,
                              bool *leave);

/* Whether it leaves before a part that is not recorded, as the cascade is
 * paused or leaves memory. */
bool csc_part_is_held_back_locked(cascade_node *node, const csc_part *part);

/* It has recorded a part in this entry. */
void csc_part_note_recorded(cascade_node *node);

/* That part is behind it. */
cascade_err csc_part_pass(cascade_node *node, const csc_exec *part);

/* The node goes on behind a part that is recorded as ended; one that FAILED
 * gives CASCADE_ERR_FINAL, with the recorded text as the node's. One that is
 * RUNNING (of another program) gives CASCADE_ERR_CORRUPT. */
cascade_err csc_part_pass_one(cascade_node *node, const csc_part *part,
                              const csc_exec *recorded);

/* Whether another engine owns the cascade now, or it has ended. */
bool csc_node_is_gone(const cascade_node *node);

/* Whether a cancellation is recorded: the same on every later entry. */
bool csc_node_is_cancelled(const cascade_node *node);

/* CASCADE_ERR_CANCELLED, for a wait of a cascade that is. */
cascade_err csc_part_cancelled(const csc_part *part);

/* Tells the node to leave; then `pending` is posted (NULL: nothing). */
cascade_err csc_part_suspend(cascade_node *node, csc_post *pending);

/* Whether nothing new begins in it, as what it has done is undone. */
bool csc_part_is_undone(const cascade_node *node);

/* Tells it to leave since this build does not fit what is recorded, as the text
 * says; then it fails for good, and nothing is undone. */
cascade_err csc_part_mismatch(cascade_node *node, const char *format, ...)
    CASCADE_PRINTF(2, 3);

/* ---- guard.c ------------------------------------------------------------ */

/* Calls the function of the node, and of a step of it. What does not come back
 * by returning is the error of an attempt. */
cascade_err csc_guard_node(cascade_node *node);
cascade_err csc_guard_step(cascade_node *node, cascade_step_fn step, void *arg,
                           cJSON **result);

/* ---- step.c -------------------------------------------------------- */

/* Reads the options of a step, of which `name` is told in errors. */
cascade_err csc_step_read_attempts(const char *name,
                                   const cascade_step_options *options,
                                   csc_attempts *attempts);

/* Runs `fn` as a part that is not recorded yet, with attempts of its own, and
 * records it. Answers as cascade_node_step() does. */
cascade_err csc_step_run_part(cascade_node *node, const csc_part *part,
                              const csc_attempts *attempts, cascade_step_fn fn,
                              void *arg);

/* Hands over a part that has ended; takes `post`. CASCADE_OK once it is
 * durable: it is in `recorded` then; or CASCADE_SUSPENDED, and the node is
 * entered again when it is. */
cascade_err csc_step_record_part(cascade_node *node, const csc_part *part,
                                 csc_post *post, const csc_exec **recorded);

/* ---- continue_as_new.c --------------------------------------------------- */

/* The node has returned CASCADE_OK: fails it where it continues as new, and
 * others are to run. */
cascade_err csc_continue_as_new_check(cascade_node *node);

/* ---- compensate.c -------------------------------------------------------- */

/* Undoes a node that has failed for good with the text `error`, which is not
 * read where that is recorded already. CASCADE_OK: all is undone, or failed to
 * be, and *failure, in the arena of node->post, is what to record.
 * CASCADE_SUSPENDED: the node leaves, with `pending` to be posted.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_compensate_undo(cascade_node *node, const char *error,
                                const char **failure);
/* cascade_node_await() and cascade_node_step() for names that no user can give:
 * these are not checked. `*payload` is that of the record. */
cascade_err csc_wait_for(cascade_node *node, const char *name,
                         int64_t timeout_ms, const char **payload);
cascade_err csc_step_run(cascade_node *node, const char *name,
                         cascade_step_fn fn, void *arg,
                         const cascade_step_options *options, csc_node_out out);
/* The same for a name that is checked. */
cascade_err csc_step_call(cascade_node *node, const char *name,
                          cascade_step_fn fn, void *arg,
                          const cascade_step_options *options,
                          csc_node_out out);

/* ---- txn.c ------------------------------------------------------ */

/* CASCADE_ERR_MISUSE in a transactional node (NULL: none): `what` would be a
 * commit of its own. */
cascade_err csc_txn_refuse(const cascade_node *node, const char *what);

/* What to record when the user's function returned `err`. */
const char *csc_node_error_text(cascade_node *node, csc_arena *arena,
                                cascade_err err);

#endif
