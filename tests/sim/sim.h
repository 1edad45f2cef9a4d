/* SPDX-License-Identifier: MIT
 *
 * What the files of the simulation share. test_sim.c tells the whole story.
 *
 *   test_sim.c      the program: seeds, the essay
 *   sim_plan.c      what a seed means: faults, cascades, processes
 *   sim_world.c     one run: phases, turns, virtual time
 *   sim_process.c   processes: born, polled, killed, stopped, closed
 *   sim_fault.c     between engines and store: every call passes here
 *   sim_cost.c      what a call takes, by its rows and bytes
 *   sim_giant.c     cascades that are large, and how the small ones fare
 *   sim_key.c       one key, started, written to and purged again and again
 *   sim_slots.c     queues with limits, and who has a slot of one
 *   sim_ledger.c    transactions of nodes: what they write, and where
 *   sim_lease.c     who is removed, and when
 *   sim_client.c    what comes from outside: starts, looks
 *   sim_mail.c      and messages
 *   sim_node.c      what all nodes have in common
 *   sim_shrink.c    a failing seed made smaller
 *   work_*.c        workloads
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/buf.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "sim/sim_count.h"
#include "sim/sim_key.h"
#include "sim/sim_ledger.h"
#include "sim/sim_random.h"
#include "sim/sim_slots.h"
#include "support/oracle.h"
#include "support/wrap_store.h"

#define SIM_PROCESSES_MAX 4
#define SIM_ENGINES_MAX 2 /* in one process, on one store handle */
#define SIM_FAULTS_MAX 48
#define SIM_CASCADES_MAX 24
#define SIM_NODES_MAX 40
#define SIM_INPUT_MAX 1200
#define SIM_GIANTS_MAX 3
#define SIM_GIANT_CHILDREN_MAX 1000
#define SIM_LETTERS_MAX 16  /* messages to one cascade */
#define SIM_RUNS_MAX 5      /* of a cascade that continues as new */
#define SIM_NODE_ATTEMPTS 4 /* of nodes that fail on purpose */
#define SIM_POISON_LIMIT 5
#define SIM_LEASES_MAX 64
#define SIM_CALLS_MAX 300000 /* of the store in one run: more is a hang */
#define SIM_LATE "zz"        /* in an input: it may run so many ms later */
#define SIM_KILLS_ALWAYS 1000000u
#define SIM_DEADLY "die"   /* in an input: it kills its process */
#define SIM_CURSE "cursed" /* in a payload: the store refuses its row */

typedef struct sim sim;
typedef struct sim_process sim_process;
typedef struct sim_planned sim_planned;

/* ---- The plan: what a seed means ---------------------------------------- */

typedef enum sim_fault_kind {
    FAULT_DELAY,       /* the call takes long */
    FAULT_LOSE_BEFORE, /* `times` calls fail before the effect */
    FAULT_LOSE_AFTER,  /* `times` calls fail after it */
    FAULT_KILL_BEFORE, /* the process dies before the effect */
    FAULT_KILL_AFTER,
    FAULT_KILL_IDLE,    /* some process dies, not inside a call */
    FAULT_STALL_BEFORE, /* the call takes so long that others go on meanwhile */
    FAULT_STALL_AFTER,
    FAULT_STOP,     /* some process is not run for a while */
    FAULT_LEAVE,    /* some process stops in good order; with a move: that which
                       makes it, and in vain */
    FAULT_REMOVE,   /* an engine that lives is removed by another */
    FAULT_FORGET,   /* a commit is told CASCADE_ERR_LOST */
    FAULT_LATE,     /* a finish comes to the store when it is settled; or it
                       takes that long, and is not in doubt */
    FAULT_HOLD,     /* one with starts from outside, or of children, is told
                       CASCADE_ERR_AGAIN; no submit is */
    FAULT_UNDONE,   /* a call is told CASCADE_ERR_NOT_DONE */
    FAULT_DROP,     /* the connection is down for a while */
    FAULT_DROP_ALL, /* the store is down for all */
    FAULT_JUMP,     /* somebody sets the wall clock */
    FAULT_SKEW,     /* the clock of one process */
    FAULT_KINDS
} sim_fault_kind;

typedef struct sim_fault {
    sim_fault_kind kind;
    int move;         /* wrap_move it waits for; -1: any */
    uint64_t at_call; /* not before that store call */
    int64_t amount_ms;
    unsigned times;
    bool off;   /* left out, by the shrinker */
    bool fired; /* in this run */
} sim_fault;

/* A message to a cascade. */
typedef struct sim_letter {
    char kind[12];
    char name[8]; /* of a signal; "": a command */
    char request_id[16];
    char payload[24]; /* "": none */
    bool unnamed;     /* it is sent without its request id */
    bool with_start;  /* the first one may be sent with the start */
    bool by_key;
    unsigned after; /* not before it is known what became of that one (its
                       place + 1); 0: at any time */
    unsigned times; /* at least so many calls */
    int64_t at_ms;  /* after the beginning of the run */
    /* In a run: */
    unsigned sent; /* calls made */
    bool decided;  /* one of them said what became of it */
    bool under_way;
    int64_t next_ms; /* of the next call */
} sim_letter;

/* What kind of work a cascade does: see work.h. */
struct sim_workload;

struct sim_planned {
    const struct sim_workload *work;
    unsigned index; /* in the plan */
    sim_random random;
    char input[SIM_INPUT_MAX]; /* of its first node */
    unsigned first_count;      /* first nodes, all with that input */
    cascade_status expected;   /* 0: the workload's check says */
    char key[40];              /* "": an explicit or no id */
    bool explicit_id;
    const char *queue;
    const char *limit_key; /* NULL: none */
    int priority;
    int64_t delay_ms;
    int64_t deadline_ms; /* 0: none */
    int64_t start_ms;    /* after the beginning of the run */
    unsigned together;   /* that many planned ones in one call, from this on */
    unsigned starts;     /* keyed: from so many callers */
    sim_letter letters[SIM_LETTERS_MAX];
    unsigned letter_count;
    unsigned kills; /* loads of it that kill who loads; 0: none */
    bool off;
    /* In a run: */
    unsigned killed; /* in loads */
    cascade_uuid id;
    bool has_id;
    bool answered; /* a start has returned */
    bool acknowledged;
    unsigned started; /* calls made */
    int64_t next_ms;  /* of the next call */
    int64_t begun_ms; /* small ones: when it was there; -1: not yet */
    int64_t ended_ms; /* the same of its end */
};

/* ---- Size: few seeds ---------------------------------------------------- */

/* What is large in a giant, besides a few rows. */
typedef enum sim_giant_kind {
    GIANT_PAST,     /* executions that have ended */
    GIANT_SLEEPERS, /* executions that are to begin in a year */
    GIANT_CONTEXT,  /* events */
    GIANT_PAYLOAD,  /* outputs */
    GIANT_MAIL,     /* messages */
    GIANT_FAMILY,   /* children, which run for a year unless it ends them */
    GIANT_KINDS
} sim_giant_kind;

typedef struct sim_giant {
    sim_giant_kind kind;
    unsigned rows;
    int64_t at_ms;         /* when it is there */
    const char *command;   /* what is asked of it, or NULL: its last execution
                              is due, and ends it */
    int64_t command_at_ms; /* at that time or later */
    bool off;
    /* In a run: */
    cascade_uuid id;
    bool there;
    bool asked;
    cascade_uuid children[SIM_GIANT_CHILDREN_MAX];
} sim_giant;

/* What becomes of a call that has more to write than can be done in time. */
typedef enum sim_late_end {
    LATE_UNKNOWN,  /* CASCADE_ERR_UNAVAILABLE, and it was not done */
    LATE_NOT_DONE, /* CASCADE_ERR_NOT_DONE */
    LATE_DONE      /* CASCADE_ERR_UNAVAILABLE, though it was done */
} sim_late_end;

typedef struct sim_size {
    bool on;
    int64_t row_ns; /* what a row takes; */
    int64_t kib_ns; /* and each KiB of it */
    int64_t deadline_ms;
    sim_late_end late;
    bool keeper; /* the lease is renewed amid calls too, as engines with threads
                    do */
    int64_t lease_ms;
    size_t piece_rows; /* of an erasure, as a store with such costs has them */
    sim_giant giants[SIM_GIANTS_MAX];
    size_t giant_count;
} sim_size;

typedef struct sim_plan {
    uint64_t seed;
    bool sqlite;
    const cascade_integrity *integrity; /* NULL: cascades have no seals */
    unsigned process_count;
    unsigned engine_count[SIM_PROCESSES_MAX];
    int64_t lease_max_ms;
    int64_t safety_ms; /* length of the safety phase */
    uint64_t calls;    /* or so many store calls */
    sim_fault faults[SIM_FAULTS_MAX + SIM_LIMIT_FAULTS_MAX];
    size_t fault_count;
    sim_planned cascades[SIM_CASCADES_MAX];
    size_t cascade_count;
    sim_size size;
    sim_key key;
    sim_limits limits;
} sim_plan;

void sim_plan_make(sim_plan *plan, uint64_t seed);
/* What is left of it, for people. */
void sim_plan_print(const sim_plan *plan);
const char *sim_fault_name(sim_fault_kind kind);
const char *sim_move_name(int move);

/* Leaves out of a failing plan what it fails without. */
void sim_shrink(sim_plan *plan);

/* ---- The world: one run ------------------------------------------------- */

typedef enum sim_phase {
    SIM_SAFETY,
    SIM_LIVENESS
} sim_phase;

/* What leases are left: before and after a removal of the dead. */
typedef struct sim_leases {
    cascade_uuid ids[SIM_LEASES_MAX];
    int64_t left_ms[SIM_LEASES_MAX];
    size_t count;
    bool orphans;
} sim_leases;

typedef struct sim_engine {
    sim_process *process;
    cascade_engine *engine;
    unsigned index;
    cascade_uuid incarnation; /* as last seen */
    bool attached;            /* once */
    bool holds_left;          /* claimed what others left behind */
    cascade_uuid removed;     /* the incarnation that a fault removed */
    bool kept[SIM_QUEUES];    /* it knows that the queue has limits */
} sim_engine;

/* A process of the simulated machines: a store handle and engines on it. */
struct sim_process {
    sim *s;
    unsigned slot;   /* its place; SIM_PROCESSES_MAX: the client */
    unsigned number; /* how many there were before */
    wrap_store *wrap;
    cascade_store *store;
    cascade_clock clock;
    int64_t skew_ms;
    int64_t wall_max_ms; /* the highest time its clock has shown */
    bool alive;          /* there is one */
    bool dead;           /* its calls reach no store any more */
    bool busy;           /* on the stack */
    bool leaving;        /* stops in good order */
    int64_t stopped_until_ms;
    int64_t down_until_ms; /* its connection */
    int64_t born_at_ms;    /* when the next one is born */
    int64_t polled_ms;     /* when it was polled last, or born */
    sim_random random;     /* of its options */
    sim_engine engines[SIM_ENGINES_MAX];
    unsigned engine_count;
    sim_engine *current; /* that is polled, or was last */
    int64_t spent_ns;    /* by the rows of the call that is made */
    wrap_move rule_move;
    unsigned rule_times; /* so many more calls of rule_move fail */
    bool rule_after;
    const sim_fault *after;   /* to strike when this call is done */
    cascade_uuid open_engine; /* the last commit whose reply was lost */
    uint32_t open_lane;
    int64_t open_number;
    sim_doubts doubts; /* transactions of unknown outcome */
    bool sending;      /* in a call that sends a message */
    int key_act;       /* in an act of sim_key.c: which, from 1 */
    bool starting;     /* in a start, whose submits are these */
    cascade_uuid submitted[SIM_CASCADES_MAX];
    size_t submitted_count;
    bool submit_done;           /* one took effect */
    sim_leases leases;          /* before the removal that is on the way */
    bool kept_told[SIM_QUEUES]; /* by the claim that is on the way */
};

struct sim {
    sim_plan *plan;
    sim_phase phase;
    sim_random turns; /* the scheduler's */
    sim_random ids;   /* of the library */
    sim_random chaos; /* of faults, when they fire */
    cascade_random random;
    char url[200];
    char folder[120]; /* of SQLite */
    cascade_clock eye_clock;
    cascade_store *eye; /* the oracle's own look at the store, never faulty */
    oracle *o;
    sim_ledger ledger; /* the application's */
    sim_slots slots;
    sim_process processes[SIM_PROCESSES_MAX];
    sim_process client;
    int64_t now_ms;        /* virtual, from 0; monotonic */
    int64_t jump_ms;       /* of the wall clock */
    int64_t jump_max_ms;   /* how far it ever was off, either way */
    int64_t down_until_ms; /* the store, for all */
    int64_t safety_end_ms;
    int64_t mended_ms; /* when the liveness phase began */
    bool clock_moved;  /* somebody's wall clock was set */
    bool lossy;        /* an engine may have lost its cascades for another
                              reason than a node that killed it */
    int64_t orphans_since_ms; /* runs of owners that are gone; -1: none */
    uint64_t calls;           /* of the store */
    uint64_t turn_count;
    int64_t cost_ns;     /* of calls, below a millisecond */
    size_t rows_before;  /* in the store, before the call */
    bool keeping;        /* somebody's keeper is at work */
    unsigned depth;      /* of polls inside polls */
    int64_t pass_end_ms; /* of the innermost of them */
    uint64_t hash;       /* of everything that happened */
    bool verbose;
    csc_buf failure; /* empty: none */
};

/* Runs a plan. False, with `failure` filled in: the caller clears it. The hash
 * of the trace and the virtual time are given where asked for. */
typedef struct sim_outcome {
    bool failed;
    csc_buf failure;
    uint64_t hash;
    int64_t virtual_ms;
    uint64_t calls;
} sim_outcome;
void sim_run(sim_plan *plan, bool verbose, sim_outcome *outcome);

void sim_fail(sim *s, const char *format, ...) CASCADE_PRINTF(2, 3);
bool sim_failed(const sim *s);
/* One line of the trace: hashed, and printed when verbose. */
void sim_trace(sim *s, const char *format, ...) CASCADE_PRINTF(2, 3);

/* Lets virtual time pass, in which all that is not on the stack goes on. */
void sim_pass(sim *s, int64_t ms);
/* One turn: something happens, or time goes on. */
void sim_turn(sim *s);

/* ---- Processes ---------------------------------------------------------- */

void sim_process_init(sim *s, sim_process *p, unsigned slot);
/* Opens its store and engines; false, with the time of the next try set, when
 * a fault is in the way. */
bool sim_process_birth(sim *s, sim_process *p);
void sim_process_poll(sim *s, sim_process *p);
/* From now on it reaches no store. */
void sim_process_kill(sim *s, sim_process *p, sim_count why);
/* Closes one that is dead or leaving. */
void sim_process_bury(sim *s, sim_process *p);
bool sim_process_may_run(const sim *s, const sim_process *p);
/* It was removed though it lived, and cannot know yet: what it enters is late,
 * and must have no effect. */
bool sim_engine_is_removed(const sim_engine *e);
/* In how many ms it wants to be polled. */
int64_t sim_process_timeout(sim_process *p);
cascade_store_options sim_store_options(sim *s, const cascade_clock *clock,
                                        int64_t deadline_ms);

/* ---- Faults ------------------------------------------------------------- */

cascade_err sim_fault_before(void *context, const wrap_call *call);
cascade_err sim_fault_after(void *context, const wrap_call *call,
                            cascade_err answer);
/* Those that befall somebody between calls. */
void sim_fault_idle(sim *s);

/* ---- Size --------------------------------------------------------------- */

/* Draws whether this seed has giants, and which. */
void sim_size_plan(sim_plan *plan);
void sim_size_print(const sim_plan *plan);
/* Leaves it out of all plans, to see what is found without. */
void sim_size_leave_out(void);
/* So that a run begins. */
void sim_size_forget(sim_plan *plan);

/* A call that is to be made: an error where it takes too long and is not done.
 */
cascade_err sim_cost_before(sim_process *p, const wrap_call *call);
cascade_err sim_cost_row(void *context, const wrap_call *call, size_t bytes);
/* It was made, with that answer: what is told. */
cascade_err sim_cost_after(sim_process *p, const wrap_call *call,
                           cascade_err answer);

/* Between calls: the keepers' turn. */
void sim_cost_turn(sim *s);

/* Makes what is due of giants; true when something was. */
bool sim_giant_act(sim *s);
/* When the next of it is due; INT64_MAX: none. */
int64_t sim_giant_next(const sim *s);
bool sim_giant_done(const sim *s);
void sim_giant_check(sim *s);
/* G15: whether one waits for longer than it may. */
void sim_small_watch(sim *s);
/* G15: that engine lives, and was told that it is no more. */
void sim_small_fenced(sim_process *p, const wrap_call *call);

void sim_leases_read(sim *s, sim_leases *leases);
/* False when there is none of that id. */
bool sim_leases_find(const sim_leases *leases, const cascade_uuid *id,
                     int64_t *left_ms);
void sim_leases_check_removal(sim *s, const sim_leases *before);
void sim_leases_check_poll(sim *s, const sim_engine *e,
                           const sim_leases *before);

/* ---- From outside ------------------------------------------------------- */

/* Makes what is due; true when something was. */
bool sim_client_act(sim *s);
/* When the next start is due; INT64_MAX: none. */
int64_t sim_client_next(const sim *s);
/* Whether all starts were made and those with a key acknowledged. */
bool sim_client_done(const sim *s);
/* The same of messages, through the handle of `p`. */
bool sim_mail_act(sim *s, sim_process *p);
int64_t sim_mail_next(const sim *s);
bool sim_mail_done(const sim *s);
/* A start with the first message of `c`, which has a key. */
cascade_err sim_mail_start(sim *s, sim_process *p, sim_planned *c,
                           const cascade_start_options *options,
                           cascade_started *started);
/* Whether its deletion was asked for. */
bool sim_mail_deletes(const sim_planned *c);
/* Whether it may be asked to go on after its end. */
bool sim_mail_restarts(const sim_planned *c);
/* Before a run. */
void sim_mail_forget(sim_planned *c);
/* A start of `p` reaches the store; after it, that it took effect. */
void sim_client_submit(sim_process *p, const wrap_call *call);
void sim_client_submitted(sim_process *p, const wrap_call *call);
/* Looks at something. */
void sim_client_look(sim *s);

#endif
