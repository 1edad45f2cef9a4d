/* SPDX-License-Identifier: MIT
 *
 * A cascade in memory: see run.c. All locked, unless it says otherwise.
 */
#ifndef CSC_HELD_RUN_RUN_H
#define CSC_HELD_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "cascade/store.h"
#include "change/op.h"
#include "held/room/reload.h"
#include "held/run/ready_queue.h"
#include "state/state.h"

struct csc_lane;
struct csc_plan;

typedef struct csc_sealing csc_sealing;

#define CSC_FREE_LATER_MS 60000 /* until a run that failed to load is retried */
/* A run for which nothing is due is looked at again after that, unless only a
 * message can end what it waits for. */
#define CSC_IDLE_RUN_MS (INT64_C(60) * 60 * 1000)

/* Where a run is between its load and the last reference to it.
 *
 *   LOADING --added--> HELD --closed--> FREEING ---+
 *      |                | |                |       |
 *      |                | +----closed------+--> RELOADING
 *      |                |                  |       |
 *      +----dropped-----+-----dropped------+-------+
 *      |
 *      v     expelled, in a function
 *     GONE ------------------------> EXPELLED
 *       ^                               |
 *       +---- its last function is out -+
 *
 *   added     csc_run_add()
 *   closed    csc_run_close()
 *   dropped   csc_drop_run()
 *   expelled  csc_drop_expel()
 *   out       csc_drop_let_go()
 *
 * The order counts: nothing of it begins from FREEING on, and from GONE on
 * posts are dropped. csc_run_is_sound() says what is true of each. */
typedef enum csc_run_life {
    CSC_RUN_LOADING,   /* it is read, or born, and in no map */
    CSC_RUN_HELD,      /* in the map */
    CSC_RUN_FREEING,   /* and its last post is under way */
    CSC_RUN_RELOADING, /* and it is to be loaded anew, as `reload` says, once
                          its commit is done */
    CSC_RUN_GONE,      /* out of the map */
    CSC_RUN_EXPELLED   /* and to be loaded anew, as `reload` says, once nothing
                          of it is in a function */
} csc_run_life;

/* Where its first post is.
 *
 *            queued                taken
 *   NONE ----------------> QUEUED -------> BEGUN ---decided---> NONE
 *    | ^                     | ^             |
 *    | +------ forgotten ----+ +- put back --+
 *    |                                       ^
 *    +------ kept by its transaction --------+
 *
 *   queued     csc_lane_queue_add_run_locked()
 *   forgotten  csc_lane_queue_forget_locked()
 *   taken      collect_locked() of lane.c
 *   kept       csc_node_txn_keep_locked()
 *   decided    csc_run_end_commit(): applied, failed, abandoned
 *   put back   csc_outcome_put_back_locked() */
typedef enum csc_run_commit {
    CSC_COMMIT_NONE,   /* there is none, or a transaction holds it here */
    CSC_COMMIT_QUEUED, /* the run is in its lane's list */
    CSC_COMMIT_BEGUN   /* and here in the batch of a lane */
} csc_run_commit;

/* How much of it was read. */
typedef enum csc_run_extent {
    CSC_EXTENT_WHOLE,
    CSC_EXTENT_PARTIAL, /* what its end is made of: end_unloaded.c */
    CSC_EXTENT_UNREAD   /* no more than that, since its load kills */
} csc_run_extent;

/* Its messages, between a look for them and the commit that receives them.
 *
 *                 posted
 *   NONE ------------------------> RECEIVING
 *    |  ^ <------- done -----------    |
 *    |  |                              |
 *   more again                        more
 *    v  |                              v
 *   MORE ---------- posted -------> RECEIVING_MORE
 *        <--------- done ----------
 *
 *   posted   csc_mailbox_post(); where there are more, RECEIVING_MORE at once
 *   more     csc_mailbox_note_more()
 *   done     csc_mailbox_done(): the commit is
 *   again    csc_mailbox_again(): they are looked for
 *
 * Of a run that leaves memory the messages are looked for at once, and a post
 * that is in flight is RECEIVING until that is decided. */
typedef enum csc_run_mail {
    CSC_MAIL_NONE,      /* none is known of */
    CSC_MAIL_MORE,      /* some were passed over: looked for behind a commit */
    CSC_MAIL_RECEIVING, /* a RECEIVE post is under way: no other is made */
    CSC_MAIL_RECEIVING_MORE /* and some besides; in mailbox.in_hand if held */
} csc_run_mail;

typedef struct csc_run {
    csc_state state;
    csc_run_life life;
    csc_run_commit commit;
    csc_run_extent extent;
    csc_run_mail mail;
    csc_sealing *sealing; /* beside it; NULL: the store has no integrity */
    uint32_t lane;
    int32_t takeovers;    /* as the run row has it */
    int32_t trials;       /* its `trial` */
    bool claimed_anew;    /* given up by the commit in flight, it was claimed
                             again: loaded behind that, as `reload` says */
    bool slot;            /* it has one of its queue: begins where that is kept
                             (store_limits.h) only with it */
    bool yields;          /* which it gives back, as no worker came to it */
    int64_t slot_at_ns;   /* since then it is held, with or without one */
    bool foreign;         /* its queue is not served here: it was revived */
    bool astray;          /* it is in another queue than it was started in */
    size_t refs;          /* the map, a lane, executions ready or running */
    size_t counted;       /* its bytes, as the engine counts them: room.c; */
    int64_t read_ns;      /* what it took to read it, by portions */
    bool large;           /* among those of the large ones */
    bool worked;          /* it has recorded something since it is held */
    size_t active;        /* executions ready or in a function */
    csc_post *first_post; /* waiting to be committed */
    csc_post *last_post;
    struct csc_run *dirty_next;
    size_t timer_at; /* place in the timer heap + 1; 0: none */
    int64_t timer_ms;
    int64_t linger_until_ms; /* while it waits for a signal; 0: not set */
    int32_t limits_to;       /* the time limits of executions up to that one are
                                noted (time_limit_call.c) */
    bool unknown;            /* a node is not registered here */
    uint16_t slow;           /* its tries alone that took too long, less one for
                                each of its commits: pace.c */
    size_t receive_max;      /* messages in a commit: pace.c; 0: any */
    bool one_by_one; /* a change was refused or too slow: one post a commit */
    bool slicing;    /* a SLICE post is under way */
    struct csc_run *in_hand_next; /* of mailbox.in_hand; */
    struct csc_run **in_hand_at;  /* what leads to it there; NULL: nothing */
    uint64_t receipt;  /* the number of its last commit that received */
    uint64_t receives; /* looks for messages, when its last commit began */
    cascade_uuid expelled_by; /* EXPELLED by this incarnation */
    struct csc_lane *native;  /* that of its transactional execution, or NULL */
    csc_ready ready[CSC_PRIORITIES]; /* its executions that may run now */
    csc_ready waiting; /* transactional, until no commit is in flight */
    csc_exec *aside;   /* one that waits for a free lane, or NULL */
    unsigned passed;   /* commits that went before those that wait */
    bool deletes;      /* it is to be deleted once its family is told */
    int32_t family_to; /* of its children it has those below; 0: all */
    csc_reload reload;
    struct cascade_engine *engine;
    struct csc_run *wreck_next;
    struct csc_plan *plan; /* it was loaded for this retry or rerun; or NULL */
    int64_t put_off; /* a retry or rerun that waits for the commit in flight */
    bool has_waited; /* it is done: that waits for no other */
} csc_run;

static inline bool
csc_run_is_held(const csc_run *run)
{
    return run->life > CSC_RUN_LOADING && run->life < CSC_RUN_GONE;
}

/* Nothing of it begins any more. */
static inline bool
csc_run_is_leaving(const csc_run *run)
{
    return run->life >= CSC_RUN_FREEING;
}

static inline bool
csc_run_is_gone(const csc_run *run)
{
    return run->life >= CSC_RUN_GONE;
}

static inline bool
csc_run_is_receiving(const csc_run *run)
{
    return run->mail >= CSC_MAIL_RECEIVING;
}

static inline bool
csc_run_has_more_mail(const csc_run *run)
{
    return run->mail == CSC_MAIL_MORE || run->mail == CSC_MAIL_RECEIVING_MORE;
}

static inline bool
csc_run_is_committing(const csc_run *run)
{
    return run->commit == CSC_COMMIT_BEGUN;
}

csc_run *csc_run_create(cascade_engine *engine, const cascade_uuid *id);
/* The lane of a cascade: always the same one. */
uint32_t csc_run_lane(const cascade_engine *engine, const cascade_uuid *id);
/* Into the map; CASCADE_ERR_NO_MEMORY. */
cascade_err csc_run_add(cascade_engine *engine, csc_run *run);
void csc_run_ref(csc_run *run);
/* Nothing of it begins from now on: FREEING, once its last post is queued, or
 * RELOADING. */
void csc_run_close(csc_run *run, csc_run_life life);
/* Its post is in no batch any more. */
void csc_run_end_commit(csc_run *run);
#ifdef CASCADE_ASSERTS
/* Whether all is true that goes with where it is: for assertions. */
bool csc_run_is_sound(const csc_run *run);
#endif
/* What its claim has told of the run row. */
void csc_run_note_claim(csc_run *run, const cascade_claimed *claimed);
/* The same once more, as the row is now, for a load. */
cascade_claimed csc_run_claimed(const csc_run *run);
void csc_run_unref(csc_run *run);
/* Frees a portion of what nothing refers to any more. Not locked. */
void csc_run_clear_wreck(cascade_engine *engine);
/* All of it: nothing of the engine runs. */
void csc_run_clear_wrecks(cascade_engine *engine);
/* Frees posts and tells their waiters. */
void csc_run_free_posts(csc_post *posts, cascade_err err);
/* The cascade is cancelled, and the execution has nothing to clean up: its
 * function is not called. */
bool csc_run_is_unwanted(const csc_exec *exec);
#endif
