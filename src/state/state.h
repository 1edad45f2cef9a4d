/* SPDX-License-Identifier: MIT
 *
 * The state of one cascade in memory. A pure module: no I/O, no clock, no
 * threads. It holds the seed's four parts (context, active executions, history
 * as far as it is still needed, errors) plus what awaits what.
 *
 * ONE DOOR
 *   csc_state_apply_*() applies a row. Live execution builds the rows of a
 *   commit (build.h) and applies them once they are durable; hydration applies
 *   the rows it read. Both call csc_state_settle() at the end. So a hydrated
 *   state equals the live one (G7) because there is no other way to change it.
 *
 * STATUS, in one place (csc_view_status)
 *   ERROR as soon as a terminating execution is recorded; else RUNNING while
 *   any execution is RUNNING; else COMPLETED.
 *
 * AN EXECUTION
 *
 *   inserted RUNNING --> blocked: a join that is not decided
 *        |                   | enough of its `after` set have ended
 *        v                   v
 *      queued (heap by the time it is due, function_id)
 *        |  csc_due_queue_take(): not_before has come
 *        v
 *      dispatched --update RUNNING (failed attempt)--> queued again
 *        |        --update RUNNING (heartbeat: nothing failed)--> as it is
 *        |
 *        +-- update COMPLETED / FAILED --> ended: freed by
 *            csc_state_settle(), but for a part (step, sleep), which is kept
 *            while its straight-line parent is RUNNING
 *
 *   A wait (sleep, await) is a part that is inserted RUNNING. It blocks its
 *   parent, which is no longer dispatched, and is itself queued until its time
 *   comes; an await without a time is not queued.
 *
 *   An external execution waits for its completion from outside once that is
 *   recorded: it is queued until its deadline, and not at all without one.
 *
 *   Only that it is dispatched is not in the rows: after a crash it is queued
 *   again (G4). The stages are drawn at csc_stage.
 *
 * SIGNALS
 *   A received signal is an execution that is inserted COMPLETED. It is unread
 *   until an await of its name takes it: the record of that await names it.
 *   Awaits take the signals of a name in the order of their function_ids, and
 *   of several awaits the one with the lowest function_id takes first. Which
 *   takes which is decided when a change is built, and recorded.
 *
 * CANCELLATION
 *   A cancellation is an execution that is RUNNING, and never queued, while any
 *   other is; the commit that ends the last other one ends it as FAILED, which
 *   is what ends the cascade.
 *   It reaches what was there before it in slices, in the order of function_ids
 *   (command.c); its record says where the next one begins (`from`).
 *
 * PAUSE
 *   Of the executions that pause and resume the last one decides. A pause is in
 *   force until then, or until the cascade is cancelled or ends; when it goes
 *   on by a retry it is not paused. Nothing is to begin meanwhile (run.c); the
 *   state only says so.
 *
 * CHILDREN
 *   A child cascade is an execution of its parent, RUNNING until the parent is
 *   told of its end; it blocks nobody. A gather is a wait that comes after some
 *   of them. Children do not keep their parent RUNNING: the commit that ends
 *   the last other execution ends them too.
 *
 * JOINS (join.c)
 *   A join has a slot for each of its `after` set. In the slot stands the one
 *   that is named there, and when that has failed and another runs instead,
 *   that other one (INSTEAD). From what has ended in the slots follows the
 *   verdict, csc_join_judge():
 *
 *     PENDING --> RUN    `first` of them (0: all) have ended, well where
 *        |               on_failure tells good from bad
 *        +------> FAIL   more ended badly than it can do without: it is queued
 *        +------> SKIP   at once, to be recorded, and not run
 *
 *   A decided join stays as it is. Which ends came before and which after its
 *   decision does not follow from `at`, since commits that spawn nothing share
 *   theirs: so one that ends too late for a join says so in its record (`late`,
 *   written by join_cutoff.h), in the very commit that ends it. Whoever was
 *   RUNNING when a join was decided remains RUNNING to that join. A limit may
 *   end a join that is PENDING (time_limit_call.c): then that was its decision.
 *
 *   While a join is RUNNING those in its slots stay in memory with their
 *   outputs, for cascade_node_outcomes(). On hydration nobody knows yet whether
 *   a join is still to come, which can only be among the same parent's
 *   children: the outputs of one parent's children at a time are kept for it.
 *   (After a retry or a rerun heirs may be joined with others: then all are.)
 *
 *   A node comes after nodes, and only a node runs instead of one; a gather
 *   comes after children, and after all of those it names: no other end says
 *   for whom it is too late. Rows that name others make no sense, and these are
 *   passed over.
 *
 * CONTINUE AS NEW
 *   The record of the execution that ended a run names the next run, begun in
 *   that commit: whatever comes for this one later is sent on to that one.
 *
 * HELD
 *   A function may run on after its execution was taken from it
 *   (time_limit_call.c), and reads it without a lock. While one does
 *   (csc_state_hold), nothing it can see is changed or freed: what is updated
 *   is replaced by a copy in the state, and what leaves the state is kept in
 *   `kept` until it returns.
 *
 * INSTEAD
 *   An execution that fails may spawn one that runs in its place (stands_for),
 *   and that one another: who comes after the first comes after all of them,
 *   and sees what they wrote. What comes too late for a join is too late with
 *   all that runs instead of it.
 *
 * RETRY AND RERUN (supersede.h)
 *   What is superseded is passed over as if it had no row; but its function_ids
 *   are used up, and execution 0 tells what holds for the cascade. The heir of
 *   a superseded execution has the parts of that one which count, and it sees
 *   of the context what that one saw: its node goes on from there as it would
 *   have gone on. A state that meets a receipt is loaded anew, live too: the
 *   engine drops it after such a commit. No deadline of the cascade holds any
 *   more.
 *
 * WHAT AN EXECUTION SEES
 *   k sees the event of writer f when f's commit came before k was spawned
 *   (for an heir: before the first of those was whose place it takes):
 *   at(f) < k, where `at` is the cascade's fn_id before the commit that ended
 *   f. (Foreign rows without `at`: their own function_id.) A joined execution
 *   sees besides what its predecessors wrote, themselves or in their steps, and
 *   what these joined: its `seen` set, fixed once it is decided.
 *   Nothing of this depends on the order of arrival, so k sees the same on
 *   every attempt, in every process.
 *   Events of a key are kept in the order of (function_id, created_at, id); how
 *   they are found is in context.h.
 *
 * EVENTS OF OTHERS
 *   Other programs write events of an execution before it has ended: what it
 *   had done when its process died, what a user has sent to it. These are
 *   `early`: they count as of just before it, so that it sees them itself, and
 *   so does who comes after it; now, when it has ended, and when a retry or a
 *   rerun supersedes it. How many there are is recorded with the first row of
 *   it that is written here; they come before all else of that execution (ids,
 *   created_at). What others write after that counts from its end on.
 */
#ifndef CSC_STATE_STATE_H
#define CSC_STATE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/data/tree.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"
#include "state/moment.h"
#include "state/result.h"
#include "state/supersede.h"

/* Every built-in kind of execution: the beginning of its reserved name. */
#define CSC_STEP_PREFIX "cascade.step:"
#define CSC_SLEEP_PREFIX "cascade.sleep:"
#define CSC_AWAIT_PREFIX "cascade.await:"
#define CSC_SIGNAL_PREFIX "cascade.signal:"
#define CSC_CHILD_PREFIX "cascade.child:"
#define CSC_GATHER_PREFIX "cascade.gather:"
#define CSC_MESSAGE_PREFIX "cascade.message:"
#define CSC_CANCEL_NAME "cascade.cancel"
#define CSC_TERMINATE_NAME "cascade.terminate"
#define CSC_PAUSE_NAME "cascade.pause" /* a paused run needs it: run.c */
#define CSC_RESUME_NAME "cascade.resume"
#define CSC_NOBODY_NAME CSC_RESERVED_PREFIX "nobody" /* a need: run.c */
#define CSC_VERSION_PREFIX "cascade.version:"
#define CSC_SAGA_PREFIX "cascade.saga:"
#define CSC_UNDO_PREFIX "cascade.undo:"
#define CSC_DEADLINE_NAME "cascade.deadline" /* that of the cascade passed */
#define CSC_KINDS                                                    \
    {                                                                \
        CSC_STEP_PREFIX, CSC_SLEEP_PREFIX, CSC_AWAIT_PREFIX,         \
            CSC_SIGNAL_PREFIX, CSC_MESSAGE_PREFIX, CSC_CANCEL_NAME,  \
            CSC_TERMINATE_NAME, CSC_CHILD_PREFIX, CSC_GATHER_PREFIX, \
            CSC_VERSION_PREFIX, CSC_SAGA_PREFIX, CSC_UNDO_PREFIX,    \
            CSC_DEADLINE_NAME, CSC_PAUSE_NAME, CSC_RESUME_NAME,      \
            CSC_RETRY_NAME, CSC_RERUN_NAME                           \
    }
/* What an update is made of: a signal and the step that answers it. No user's
 * name has a slash. */
#define CSC_UPDATE_NAME "update/"
#define CSC_ANSWER_NAME "answer/"
/* And one that records a time. */
#define CSC_NOW_NAME "now/"
/* The context key of a published value: a user's own may begin so too. */
#define CSC_PUBLISHED_KEY "published:"
#define CSC_NO_PARENT (-1)
/* Beyond every function_id; those of others may be negative. */
#define CSC_NOT_TERMINATED INT64_MAX
/* Before every one. */
#define CSC_STATE_FIRST INT64_MIN

typedef struct csc_ids {
    int32_t *items; /* ascending where it says so */
    size_t count;
    size_t room;
} csc_ids;

/* What a node is made of when it is a straight line. */
typedef enum csc_part_kind {
    CSC_PART_NONE, /* no part: a node */
    CSC_PART_STEP,
    CSC_PART_SLEEP,
    CSC_PART_AWAIT,
    CSC_PART_CHILD,   /* RUNNING as long as the child is */
    CSC_PART_GATHER,  /* waits for children: those in its `after` */
    CSC_PART_VERSION, /* which branch it took */
    CSC_PART_SAGA,    /* it has failed for good, and is undone */
    CSC_PART_UNDO,    /* a compensation */
    CSC_PART_CANCEL   /* of the cascade: RUNNING until all else has ended */
} csc_part_kind;

/* A part as a node asks for it: the nth of that kind and name. */
typedef struct csc_part {
    csc_part_kind kind;
    const char *name; /* without prefix */
    uint32_t occurrence;
} csc_part;

/* What is to become of a join. */
typedef enum csc_verdict {
    CSC_VERDICT_PENDING,
    CSC_VERDICT_RUN,
    CSC_VERDICT_FAIL,
    CSC_VERDICT_SKIP
} csc_verdict;

typedef struct csc_join_slot {
    csc_tree_node by_after; /* in the state's `slots`: (after, join) */
    int32_t after;          /* whom it was made for */
    int32_t join;           /* whose it is */
    int32_t function_id;    /* who stands there */
    bool ended;             /* in time */
    bool bad;               /* and badly, as on_failure sees it */
    bool late;              /* too late */
} csc_join_slot;

typedef struct csc_join {
    uint32_t first; /* 0: all */
    cascade_join on_failure;
    uint32_t good; /* slots that ended well */
    uint32_t bad;
    uint32_t late;
    csc_verdict verdict;
    int64_t not_before_ms; /* as recorded: holds unless it is not to be run */
    csc_join_slot *slots;  /* one for each of `after` */
} csc_join;
/* What an execution that waits for its completion from outside has besides. */
typedef struct csc_external {
    cascade_uuid token;
    int64_t deadline_ms; /* CASCADE_TIME_NONE: none */
    bool continued;      /* if it fails the cascade goes on */
    char *instead;       /* the node that runs in its place then, or NULL */
    csc_tree_node as_overdue;
    struct csc_exec *exec; /* while that is in a tree: whose this is */
} csc_external;

/* Whether it may run, or does: see AN EXECUTION above.
 *
 *     RESTING <--------- dequeued --------- QUEUED
 *      |   ^ ^---- rests ----+                ^  |
 *      |   |                 |                |  | taken, dispatched
 *      |   +--- rests --- DISPATCHED <--------|--+
 *      |                     |                |
 *      +------- queued ------|----------------+
 *                            +-- untaken: rests, and is queued
 *
 *   queued      csc_due_queue_enqueue()
 *   dequeued    csc_due_queue_dequeue()
 *   taken       csc_due_queue_take()
 *   dispatched  csc_due_queue_dispatch(), out of turn, RESTING ones too
 *   rests       csc_due_queue_rest()
 *   untaken     csc_due_queue_untake()
 *
 * csc_due_queue_is_sound() says what is true of each. */
typedef enum csc_stage {
    CSC_STAGE_RESTING,   /* blocked, ended, or what no time ends; or its node
                            is not known here */
    CSC_STAGE_QUEUED,    /* in the heap */
    CSC_STAGE_DISPATCHED /* whoever keeps the state has it: `turn` says where */
} csc_stage;

/* Where one that is dispatched waits for its function: ready_queue.h. */
typedef enum csc_turn {
    CSC_TURN_NONE,    /* in no list */
    CSC_TURN_READY,   /* among those that may run now */
    CSC_TURN_RESUMED, /* there again, as a lane for its transaction is free */
    CSC_TURN_ASIDE    /* among those that wait for a transaction */
} csc_turn;

typedef struct csc_exec {
    int32_t function_id;
    int32_t parent;      /* CSC_NO_PARENT: a first node, or a foreign row */
    uint32_t occurrence; /* the n of name#n under its parent */
    int32_t stands_for;  /* the failed one in whose place it runs, or
                            CSC_NO_PARENT */
    int32_t resumes;     /* the superseded one in whose place it runs, or
                            CSC_NO_PARENT */
    int32_t place;       /* of what it sees of the context: its function_id, or
                            that of the first one in whose place it runs */
    int32_t at;          /* ended: fn_id before the commit that ended it */
    int32_t early;       /* events of others, so far, */
    int32_t early_max;   /* and how many there can be */
    int64_t early_us;    /* created_at of the latest of them */
    cascade_execution_status status;
    csc_part_kind part;
    int32_t attempts; /* failed attempts so far; ended: all attempts */
    int32_t priority; /* 0: the cascade's */
    bool continued;   /* FAILED, but the cascade goes on */
    bool skipped;     /* COMPLETED, but never run */
    bool timed_out;   /* an await that no signal has ended */
    bool cancelled;   /* a wait that the cascade's cancellation ended */
    cascade_child_end when_parent_ends; /* of a child */
    cascade_uuid child;                 /* its id */
    int64_t not_before_ms;              /* CASCADE_TIME_NONE: at once */
    int64_t recorded_ms;                /* when it was inserted */
    int64_t since_ms; /* when the last that counted of what it comes after had
                         ended, at least recorded_ms; ended: recorded_ms */
    int64_t ended_ms; /* CASCADE_TIME_NONE while it is RUNNING */
    char *name;
    char *input;            /* NULL: {} */
    char *output;           /* of an ended part, or for joins; NULL: none; of an
                            await, what the signal brought */
    char *error;            /* the last one, NULL: none */
    char *step_attempts;    /* member `steps`: failed attempts of its steps */
    char *progress;         /* saved by its heartbeats, NULL: none */
    csc_external *external; /* while it waits from outside, else NULL */
    csc_ids after;          /* what it comes after, as recorded, ascending */
    csc_join *join;         /* NULL: it comes after nothing */
    csc_ids seen;           /* ascending; see the head comment */
    csc_ids waiters;        /* those that are to be told when it ends */
    csc_ids late;  /* joins in which its end does not count, ascending */
    csc_ids parts; /* recorded parts, while it is RUNNING */
    size_t works;  /* of these: steps, waits by name and children */
    csc_tree_node as_part;     /* in the state's `parts`, while it is in its
                              parent's */
    csc_tree_node as_stand_in; /* while it stands for one that has failed */
    csc_tree_node as_told;     /* in one of the state's other indices */
    csc_tree_node as_limited;  /* among those whose time is looked at, */
    int64_t limit_ms;          /* then; CASCADE_TIME_NONE: never */
    int32_t undone_by;         /* its part of kind SAGA; 0: none */
    uint32_t blocked; /* how many of its waits are RUNNING; one more for a
                            join that is PENDING */
    int32_t siblings; /* the first of its parent's children in a row */
    uint32_t holders; /* in how many slots of RUNNING joins it stands */
    uint32_t wanted;  /* and in how many whose joins may ask its output */
    csc_stage stage;
    size_t queued_at; /* QUEUED: its place in the heap + 1; else 0 */
    bool undated;     /* it has events that count from its end on */
    bool adopted;     /* another program has inserted it: full_output.h */
    bool held;        /* by a function that runs on */
    bool over;        /* out of its time: entered only to be undone */
    bool
        undoes; /* it may have registered compensations; for a wait, its node */
    struct csc_exec *kept_next;
    /* The engine's own: the ready list, and the function it is in. */
    struct csc_run *run;
    struct csc_exec *ready_next;
    struct csc_exec *ready_before;
    struct csc_ready *ready_list; /* NULL: in none */
    struct csc_call *call;        /* NULL: in none */
    csc_turn turn;
    bool was_begun; /* it may have been, though no row tells of it */
    bool waited;    /* it was ASIDE since it became ready first */
    bool turned;    /* it has had its turn, and no lane */
} csc_exec;

typedef struct csc_slot {
    int32_t function_id;
    csc_exec *exec; /* NULL: freed */
} csc_slot;

typedef struct csc_event {
    csc_tree_node by_writer; /* by its moment */
    csc_tree_node by_parent; /* of a part: by its parent, then its moment */
    csc_moment when;
    int32_t at_min; /* of it and all below it in the first tree */
    int32_t at_max;
    int32_t parent; /* of the writer when that is a part, else NO_PARENT */
    int32_t at;
    char *value;
    char *ui_value; /* NULL: the same */
} csc_event;

typedef struct csc_key {
    csc_tree_node by_name;
    char *name;
    csc_tree events;
    csc_tree of_parts; /* of these, those of parts */
    uint32_t last_number;
} csc_key;

/* A signal that was received, and that no await has taken. */
typedef struct csc_signal {
    csc_tree_node by_id;
    csc_tree_node by_name;
    int32_t function_id;
    char *name;    /* without prefix */
    char *payload; /* NULL: {} */
} csc_signal;

/* An await that has taken a signal whose row is still to be applied. */
typedef struct csc_taking {
    csc_tree_node by_signal;
    int32_t await;
    int32_t signal;
} csc_taking;

/* So many events of others still to come of an execution. */
typedef struct csc_early {
    int32_t function_id;
    int32_t left;
} csc_early;

typedef struct csc_state {
    cascade_uuid id;
    cascade_status recorded; /* as the table has it */
    int32_t fn_id;
    int32_t highest; /* function_id of the rows that were applied */
    bool torn;       /* see csc_view_find_torn() */
    char *user_id;
    int64_t created_at_ms;
    int64_t updated_at_ms;
    char *meta; /* member `cascade` of execution 0's full_output, or NULL */
    int32_t priority;          /* as the meta says */
    int32_t depth;             /* how far below the first cascade; as it says */
    cascade_uuid parent;       /* all zero: none; as it says */
    cascade_uuid child_id;     /* as which the parent knows it; as it says */
    int32_t run_number;        /* 1 where it says nothing */
    int64_t deadline_ms;       /* as it says; CASCADE_TIME_NONE without one */
    cascade_uuid continued_as; /* all zero: not, or not yet */
    char *first_node;          /* name of execution 0, once that is freed */
    csc_result_rank result_rank; /* with a parent, of: */
    char *result;                /* the cascade's; NULL: none so far */
    csc_slot *execs;             /* by function_id */
    size_t exec_count;
    size_t exec_room;
    size_t exec_freed; /* slots without an execution */
    csc_exec **queue;  /* heap */
    size_t queue_count;
    size_t queue_room;
    csc_tree keys;    /* by name */
    size_t running;   /* executions RUNNING */
    size_t awaiting;  /* awaits and gathers among them */
    size_t children;  /* children among them */
    size_t externals; /* those among them that wait from outside */
    csc_tree parts;   /* see index.c */
    csc_tree awaits;
    csc_tree by_child;
    csc_tree outside;
    csc_tree stand_ins;
    csc_tree slots;
    csc_tree limits; /* see due.c */
    csc_tree overdue;
    csc_tree signals; /* unread, by function_id */
    csc_tree signals_by_name;
    size_t signal_bytes; /* of their payloads */
    csc_tree takings;
    csc_ids ended;         /* since csc_state_settle() */
    size_t settled;        /* of these: done with already */
    size_t held;           /* functions that run on */
    csc_exec *kept;        /* for them */
    int32_t siblings_of;   /* the parent whose children's outputs are kept, */
    int32_t siblings_from; /* and the first of these children */
    int64_t terminated;    /* function_id of the terminating one */
    int32_t cancel;        /* that of the cancellation, or CSC_NO_PARENT */
    int32_t cancel_from;   /* what it has still to look at: from that one to
                              its own; CSC_NO_PARENT: nothing */
    int32_t family_from;   /* where only children are RUNNING: the first */
    int32_t paused;        /* that of the pause, unless it was resumed since, or
                       CSC_NO_PARENT; see csc_view_is_paused() */
    char *error;           /* its text */
    int64_t bytes;         /* see csc_state_bytes() */
    csc_course course;     /* what retries and reruns have superseded */
    int64_t as_of;         /* rows from that one on have no part in it, set
                              before the first; 0: all have */
    int32_t unclosed;      /* a command that is done but for the ends of what it
                              supersedes: its receipt, or CSC_COURSE_NONE */
    csc_early *earlies;    /* of that: events of others */
    size_t early_count;
    size_t early_room;
} csc_state;

void csc_state_init(csc_state *state, const cascade_uuid *id);
void csc_state_fini(csc_state *state);

/* Apply one row. An execution that is there is updated (status, full_output,
 * error, completed_at), else inserted; one that ended stays as it is. Events
 * come after the executions of the same commit or load. On an error
 * (CASCADE_ERR_NO_MEMORY, _CORRUPT) the state is no longer of use: free it and
 * hydrate anew. */
cascade_err csc_state_apply_cascade(csc_state *state, const cascade_row *row);
cascade_err csc_state_apply_execution(csc_state *state,
                                      const cascade_execution_row *row);
cascade_err csc_events_apply_event(csc_state *state,
                                   const cascade_event_row *row);

/* After the rows of a whole load: where there were receipts of retries or
 * reruns among them that the state had not known, it is empty again, but knows
 * them now, and `*again` tells to load it once more. */
cascade_err csc_state_begin_again(csc_state *state, bool *again);

/* The receipt of a retry or a rerun that is being carried out, and with which
 * whoever holds the cascade goes on first; CSC_COURSE_NONE without one. */
int32_t csc_view_unfinished(const csc_state *state);

/* The memory it takes: what its rows have made it allocate. */
size_t csc_state_bytes(const csc_state *state);
/* Frees about so many executions, events and signals of a state that nobody
 * reads any more; true when csc_state_fini() has little left to do. */
bool csc_state_free_some(csc_state *state, size_t max);

/* After the rows of one commit, or of a whole load: frees what has ended and
 * is not needed any more. */
void csc_state_settle(csc_state *state);
/* The same in portions of so many executions; true when all is done. No row is
 * applied in between. */
bool csc_state_settle_some(csc_state *state, size_t max);

/* After a whole load: where the cascade has ended, and rows are missing at its
 * end, an engine of a release that knew no marks was deleting it. Then it has
 * ended as it is recorded, whatever the rows that are left say. */
void csc_view_find_torn(csc_state *state);

cascade_status csc_view_status(const csc_state *state);

#ifdef CASCADE_ASSERTS
/* Whether its counts and lists go together, as they do before and behind each
 * row: for assertions. */
bool csc_view_is_sound(const csc_state *state);
#endif

/* Whether a pause is in force. */
bool csc_view_is_paused(const csc_state *state);

/* What a row says about the cascade being paused, where it is that of a pause
 * or a resume: writes `paused`. */
void csc_state_read_pause(const cascade_execution_row *row, bool *paused);

/* The place in `execs` of the first with that function_id or a higher one. */
size_t csc_view_place(const csc_state *state, int64_t function_id);

/* Whether children are RUNNING, and nothing else is. */
bool csc_view_has_only_children(const csc_state *state);

/* NULL when it is not (any more) in memory. */
csc_exec *csc_view_find(const csc_state *state, int32_t function_id);

/* The next execution that may run at `now_ms`, which becomes dispatched; NULL
 * when there is none. */
csc_exec *csc_due_queue_take(csc_state *state, int64_t now_ms);

/* Dispatches a certain execution, out of turn. */
void csc_due_queue_dispatch(csc_state *state, csc_exec *exec);

/* Puts a dispatched execution back into the queue. */
cascade_err csc_due_queue_untake(csc_state *state, csc_exec *exec);

/* Neither queued nor dispatched from now on. */
void csc_due_queue_rest(csc_state *state, csc_exec *exec);
#ifdef CASCADE_ASSERTS
/* Whether all is true that goes with its stage: for assertions. */
bool csc_due_queue_is_sound(const csc_state *state, const csc_exec *exec);
#endif

/* When it may run; while it waits from outside, when its deadline comes. */
int64_t csc_due_queue_time(const csc_exec *exec);

/* The time of `exec` may be over at `at_ms`, or never (CASCADE_TIME_NONE): it
 * is to be looked at then. */
void csc_due_limit(csc_state *state, csc_exec *exec, int64_t at_ms);
/* The first of those that are to be looked at; NULL without one. */
csc_exec *csc_due_first_limit(const csc_state *state);
/* Takes it out, as a post of it is under way; and puts it in again, as it is
 * dispatched no more, or in a function. */
void csc_due_pass_limit(csc_state *state, csc_exec *exec);
void csc_due_limit_again(csc_state *state, csc_exec *exec);
/* Of those that wait from outside, and are queued, the one whose deadline comes
 * first; NULL without one. */
csc_exec *csc_due_first_overdue(const csc_state *state);

/* When the first of the queue may run, or the cascade's deadline passes:
 * CASCADE_TIME_NONE when there is neither, 0 for at once. */
int64_t csc_due_queue_wake_at(const csc_state *state);

/* A dispatched execution is taken from its function, which runs on: what that
 * can see stays as it is until it is released. `exec` is what was held. */
void csc_state_hold(csc_state *state, csc_exec *exec);
void csc_state_release(csc_state *state, csc_exec *exec);

/* From now on nothing of it is freed before its end. */
void csc_state_keep_all(csc_state *state);

/* The recorded part of execution `parent`; NULL when it was not recorded. */
const csc_exec *csc_view_part(const csc_state *state, const csc_exec *parent,
                              const csc_part *part);

/* A recorded part of another kind that has the name and the occurrence of
 * `part`, and that the node has not passed: NULL when there is none. */
const csc_exec *csc_view_rival(const csc_state *state, const csc_exec *parent,
                               const csc_part *part, const csc_ids *passed);

/* What a node asks for in the course of its work, one kind in the place of
 * another only by mistake. */
bool csc_view_is_work(csc_part_kind kind);

/* Whether it is a part that blocks its parent while it is RUNNING. */
bool csc_view_is_wait(const csc_exec *exec);

/* Whether the row is that of a received signal. */
bool csc_signals_is_signal(const cascade_execution_row *row);

/* The first with a function_id above `after` (CSC_STATE_FIRST: of all), NULL
 * without one: an await of that name that is RUNNING, a child's part, whoever
 * waits outside with that token, an unread signal of that name. */
const csc_exec *csc_index_await(const csc_state *state, const char *name,
                                int64_t after);
const csc_exec *csc_index_child(const csc_state *state, const cascade_uuid *id,
                                int64_t after);
const csc_exec *csc_index_outside(const csc_state *state,
                                  const cascade_uuid *token, int64_t after);
const csc_signal *csc_signals_signal(const csc_state *state, const char *name,
                                     int64_t after);

/* The nth unread signal, from 0, by function_id. */
const csc_signal *csc_signals_nth_signal(const csc_state *state, size_t nth);

/* The key's events, NULL without any. */
const csc_key *csc_events_key(const csc_state *state, const char *name);

/* The nth key by name, and the nth event of a key, from 0. */
const csc_key *csc_events_nth_key(const csc_state *state, size_t nth);
const csc_event *csc_events_nth_event(const csc_key *key, size_t nth);

/* Whether `event` is visible to execution `function_id`, whose `seen` set is
 * given (NULL: none). */
bool csc_view_sees(const csc_event *event, int32_t function_id,
                   const csc_ids *seen);

/* The verdict on a join of `count` slots, of which so many have ended. */
csc_verdict csc_join_judge(const csc_join *join, size_t count, uint32_t good,
                           uint32_t bad);

/* Whether an end like that is a bad one to the join. */
bool csc_join_is_bad(const csc_join *join, cascade_execution_status status,
                     bool skipped);

/* The verdict on an execution that is no join: RUN. */
csc_verdict csc_join_verdict(const csc_exec *exec);

/* Whether it is a join that is not to be run: FAIL or SKIP. */
bool csc_join_is_dead(const csc_exec *exec);

/* Adds `id` to ascending `ids`, once. */
cascade_err csc_state_add_id(csc_ids *ids, int32_t id);

/* The place in ascending `ids` of the first that is not below `id`. */
size_t csc_view_id_place(const csc_ids *ids, int32_t id);

/* Whether ascending `ids` hold `id`. */
bool csc_view_has(const csc_ids *ids, int32_t id);

#endif
