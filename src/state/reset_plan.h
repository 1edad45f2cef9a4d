/* SPDX-License-Identifier: MIT
 *
 * What a retry, a rerun or a fork makes of a cascade: decided from its rows,
 * all of them, and from nothing else. A pure module.
 *
 *     rows --csc_reset_plan_add()--> items --csc_reset_plan_decide()-->
 *     a fate for each
 *
 * STATE AS OF k (exclusive), for a rerun and a fork
 *   An execution is there when its function_id lies before k, or when the
 *   commit that spawned it came before k: a commit is atomic, so the siblings
 *   of k are there though their ids are higher. It has ended when that commit
 *   came before k (at < k). What k itself ended, as the receipt of a message,
 *   has not: the await that took that signal, what was cancelled by that
 *   cancellation.
 *   Of earlier retries and reruns those count whose receipt lies before k.
 *   A retry takes the cascade as it is.
 *
 * FATES
 *   OUT        superseded before, or not there as of k
 *   KEEP       stands as it is
 *   AFRESH     is superseded, and runs again as another execution, its heir
 *   SUPERSEDE  is superseded without one
 *
 *   a node that            as of k                  of a retry
 *     is RUNNING           AFRESH                   AFRESH
 *     has COMPLETED        KEEP                     KEEP
 *     has FAILED           KEEP                     KEEP where the cascade went
 *                                                   on, and was not cancelled;
 *                                                   else AFRESH
 *   its parts, if it is    COMPLETED: KEEP, so that the heir has it; else, and
 *   AFRESH                 wherever compensations have undone it: SUPERSEDE
 *   what ends the cascade  SUPERSEDE a cancellation, also one under way, a
 *                          termination, the passing of the deadline
 *   what a superseded      SUPERSEDE: the heir does the step anew, and spawns
 *   step has spawned       anew
 *
 *   A child is kept as it is where it has COMPLETED. It goes on where its
 *   cascade runs and it was started before k. A fork has only those that had
 *   COMPLETED: others belong to the cascade that it is made of.
 *
 * The plan is made of rows that are read once the cascade is at rest, and
 * carried out in the next commits of its owner; nothing comes between. Where
 * these are several, and the owner dies, the next one makes it once more, of
 * the same rows: those before the receipt (reset_slice.c).
 */
#ifndef CSC_STATE_RESET_PLAN_H
#define CSC_STATE_RESET_PLAN_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "state/state.h"
#include "state/supersede.h"

typedef struct csc_state csc_state;

typedef enum csc_fate {
    CSC_FATE_OUT,
    CSC_FATE_KEEP,
    CSC_FATE_SUPERSEDE,
    CSC_FATE_AFRESH
} csc_fate;

/* Why a command is not carried out. */
typedef enum csc_refusal {
    CSC_REFUSAL_NONE,
    CSC_REFUSAL_RUNNING,
    CSC_REFUSAL_COMPLETED,
    CSC_REFUSAL_CONTINUED,
    CSC_REFUSAL_ABSENT,
    CSC_REFUSAL_SUPERSEDED,
    CSC_REFUSAL_ENDED,
    CSC_REFUSAL_TORN,
    CSC_REFUSAL_UNREAD, /* its load kills */
    CSC_REFUSAL_LATE,   /* its commits take too long */
    CSC_REFUSAL_STORE   /* the store refuses its rows */
} csc_refusal;

/* An execution; its texts are the plan's. */
typedef struct csc_plan_item {
    int32_t function_id;
    int32_t parent;     /* as in its path, or CSC_NO_PARENT */
    bool first;         /* a first node */
    bool node;          /* of a user's: no part, no receipt */
    csc_part_kind part; /* CSC_PART_CANCEL is a receipt */
    cascade_execution_status status;
    bool is_signal; /* the receipt of one, delivered or not */
    bool foreign;   /* its record is another program's */
    int32_t early;  /* events of others: so many, if they are there */
    bool continued;
    bool cancelled;
    int32_t at;
    int32_t attempts;
    int32_t first_count; /* member `first` */
    int32_t priority;
    int32_t instead_of;
    int32_t resumes;
    int32_t signal; /* that it has taken */
    int64_t not_before_ms;
    cascade_join on_failure;
    const int32_t *after;
    size_t after_count;
    const char *name;
    const char *input;    /* NULL where nobody needs it */
    const char *location; /* the same */
    csc_fate fate;
    bool undone;   /* compensations have begun to undo it */
    bool replaced; /* another runs instead */
    bool lost;     /* a superseded step has spawned it, or what spawned it */
    bool again;    /* a signal that is received once more */
    int32_t heir;  /* AFRESH: its function_id, once that is given out */
    uint32_t nth;  /* AFRESH: of those with that name */
} csc_plan_item;

/* How far it is carried out, in slices. */
typedef struct csc_plan_place {
    int32_t receipt; /* CSC_COURSE_NONE: nothing is recorded */
    size_t heir;     /* the first item whose heir may be to be inserted, */
    size_t signal;   /* and that may be to be received once more; */
    uint32_t nth;    /* so many were, by then */
    bool in_force;   /* the receipt is COMPLETED, */
    size_t exec;     /* and what is left to be closed begins there */
    bool done;
} csc_plan_place;

typedef struct csc_plan {
    csc_arena arena;
    csc_course course;
    csc_plan_item *items; /* by function_id */
    size_t count;
    size_t room;
    int32_t from; /* CSC_COURSE_NONE: a retry */
    bool forks;   /* it is for a fork */
    csc_refusal refusal;
    size_t afresh_count;
    size_t again_count;
    size_t close_count;  /* what is RUNNING, and to be closed */
    size_t bytes;        /* of the inputs that it writes */
    bool cut;            /* as a whole it was too slow */
    bool ended;          /* the cascade had ended */
    csc_plan_place at;   /* as recorded */
    csc_plan_place next; /* with the commit that is being made */
    int64_t message;     /* the message that asks for it; 0: it is not known */
    const char *input;   /* of the receipt, when that is there */
    csc_course own;      /* that receipt alone, COMPLETED */
    size_t inserted;     /* rows under it */
} csc_plan;

/* `from` is CSC_COURSE_NONE for a retry. NULL without memory. */
csc_plan *csc_reset_plan_create(int32_t from);
/* It is to be gone on with: the rows from that receipt on tell how far it was
 * carried out, and have no other part in it. Before the first row. */
void csc_reset_plan_go_on(csc_plan *plan, int32_t receipt);
void csc_reset_plan_free(csc_plan *plan); /* accepts NULL */
/* Forgets the rows. */
void csc_reset_plan_clear(csc_plan *plan);

/* By function_id, each once. */
cascade_err csc_reset_plan_add(csc_plan *plan,
                               const cascade_execution_row *row);

/* Gives each its fate, or `plan->refusal` says why not. `state` is that of the
 * same rows; NULL for a fork. */
cascade_err csc_reset_plan_decide(csc_plan *plan, const csc_state *state);

/* Gives out the function_ids of the heirs, which follow the receipt. */
void csc_reset_plan_number(csc_plan *plan, int32_t receipt);

/* Whether it is carried out, but not all of it. */
bool csc_reset_plan_goes_on(const csc_plan *plan);

/* How many rows it inserts beside the receipt; 0 for NULL. */
size_t csc_reset_plan_rows(const csc_plan *plan);

csc_plan_item *csc_reset_plan_find(const csc_plan *plan, int32_t function_id);

/* What the state alone says to a command. */
csc_refusal csc_reset_plan_refuse(const csc_state *state, int32_t from);

/* With what the receipt of a refused command begins, and what its caller is
 * told; CASCADE_ERR_REFUSED for other texts. */
const char *csc_reset_plan_refusal_text(csc_refusal refusal);
cascade_err csc_reset_plan_refusal_err(const char *text);

#endif
