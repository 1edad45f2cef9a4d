/* SPDX-License-Identifier: MIT
 *
 * The inside of an engine.
 *
 * WHO DOES WHAT
 *
 *        cascade_start()                          the store
 *             |                                    ^     |
 *             v                                    |     | claim, load
 *   posts --> lane (dirty runs, starts) --commit---+     v
 *     ^                  |                            housekeeper
 *     |                  | apply what is durable         | hydrate
 *   worker <-- ready <---+-------------------------------+
 *
 *   worker       takes a ready execution, calls the node, posts what it did;
 *                a transactional one it commits itself, with the transaction in
 *                which the function ran (native.c)
 *   lane         collects posts of many cascades into one batch, commits it,
 *                applies it to the states, and makes ready what follows
 *   housekeeper  attaches, renews the lease, removes dead engines, claims,
 *                hydrates, receives messages, fires timers
 *   Each is a function of one round (csc_worker_round, csc_lane_round,
 *   csc_house_round). The THREADS mode calls each in threads of its own; LOOP
 *   calls lanes and housekeeper in one thread and workers in the host's; INLINE
 *   calls them all in cascade_engine_poll().
 *
 * THE LOCK
 *   engine->mutex guards everything here but what a comment gives to someone.
 *   It is never held across a node, a callback or a call of the store.
 *   A run with `committing` set is read by its lane without the lock while the
 *   batch is built: nobody else changes a state then, since states change only
 *   when a lane applies, or when a fence drops them, which waits for the lane.
 *
 * A RUN (one cascade in this process)
 *
 *   claimed and loaded, or born here
 *        |
 *        v          posts                    commit OK
 *      at rest  ------------> dirty --> committing --> at rest, or
 *        |                                 |            ended / freed: gone
 *        |                                 | refused
 *        |                                 v
 *        +-- fenced ------------------> gone <-- hydrated anew as another run
 *
 *   While a transactional execution has a lane (`native`) posts stay in the
 *   run, which is not dirty; it is `committing` when that commits.
 *
 *   `gone` runs are out of the map; what still refers to them (executions in a
 *   function, the ready list) holds `refs`, and late posts are dropped: that is
 *   how a late result of an earlier life is told apart, by the object itself.
 *
 * SHORT OF MEMORY
 *   A state in which a commit could not be worked in, or a run whose future
 *   could not be posted, is of no use: that one cascade is loaded anew, and
 *   nothing else is touched. What it takes to remember that is there before:
 *   see reload.h.
 */
#ifndef CSC_ENGINE_ENGINE_H
#define CSC_ENGINE_ENGINE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "engine/attempts.h"
#include "engine/limits.h"
#include "engine/post.h"
#include "engine/purge.h"
#include "engine/state.h"
#include "store/store.h"

#define CSC_PRIORITIES 10
#define CSC_LANES_MAX 16
#define CSC_NATIVES_MAX 16 /* transactional nodes at once */
#define CSC_CLAIM_MAX 256  /* runs claimed and loaded in one go */
#define CSC_SUSPECT_FROM 3 /* takeovers from which a run is claimed alone */
#define CSC_WORKERS_MAX 4096
#define CSC_PEERS_MAX 64   /* others are looked at every time */
#define CSC_LEASE_MS 10000 /* by default */
#define CSC_LEASE_MIN_MS 100
#define CSC_NOTE_SIZE 400
#define CSC_NOTES_MAX 64
#define CSC_FREE_LATER_MS 60000 /* until a run that failed to load is retried */
/* A run for which nothing is due is looked at again after that, unless only a
 * message can end what it waits for. */
#define CSC_IDLE_RUN_MS (INT64_C(60) * 60 * 1000)

/* ---- Nodes -------------------------------------------------------------- */

typedef struct csc_node_def {
    char *name;
    cascade_node_fn fn; /* NULL: completed from outside, as `waiting` says */
    void *user;
    csc_waiting waiting;
    csc_attempts attempts;
    csc_limits limits;
    bool transactional;
    int64_t transaction_ms; /* how long its transaction may be open */
    cascade_final_failure final_failure;
    char *instead; /* or NULL */
    void (*destroy)(void *user);
    cascade_guard_fn guard; /* or NULL: guard.c */
} csc_node_def;

/* ---- Runs --------------------------------------------------------------- */

/* Whether a part of the engine is alive: lease.c. */
typedef struct csc_vital {
    _Atomic uint64_t signs; /* counts them */
    uint64_t seen;          /* up to the last look */
    int64_t alive_ns;       /* when it last was, as far as looks tell; 0: there
                               was none */
} csc_vital;

/* One that is read in portions: stream.c. */
typedef struct csc_stream csc_stream;

/* A run that is owned but not in memory: to be loaded (again). */
typedef struct csc_reload {
    struct csc_reload *next;
    cascade_claimed claimed;
    int64_t at_ns;   /* not before */
    uint16_t slow;   /* as that of its run was, when it was set aside */
    uint16_t apart;  /* how often it could not be read in time: so often the
                        number of those that are read with it is halved */
    int32_t fail_id; /* the execution whose rows were refused, or -1 */
    bool give_up;    /* its failure was refused too */
    bool single;     /* messages were refused: one at a time */
    bool hopeless;   /* the first one was refused by itself: it is dropped */
    bool large;      /* it waits for the place of a large one: room.c */
    bool plans;      /* for a retry or a rerun, */
    int32_t from;    /* from there on, or CSC_COURSE_NONE */
} csc_reload;

/* A list of executions that may run. */
typedef struct csc_ready {
    csc_exec *first;
    csc_exec *last;
    /* Of a cascade's, while it is not empty: its place in the round. */
    struct csc_ready *before;
    struct csc_ready *next;
    int64_t since_ns; /* when it came to its end; with ageing only */
} csc_ready;

/* The cascades that have executions ready of one priority: see ready.c. */
typedef struct csc_round {
    csc_ready *first;
    csc_ready *last;
} csc_round;

typedef struct csc_sealing csc_sealing;

typedef struct csc_run {
    csc_state state;
    csc_sealing *sealing; /* beside it; NULL: the store has no integrity */
    uint32_t lane;
    int32_t takeovers;    /* as the run row has it */
    int32_t trials;       /* its `trial` */
    size_t refs;          /* the map, a lane, executions ready or running */
    size_t counted;       /* its bytes, as the engine counts them: room.c; */
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
                                noted (limits.c) */
    bool unknown;            /* a node is not registered here */
    bool dirty;              /* in its lane's list */
    bool committing;         /* in its lane's batch */
    uint16_t slow;           /* its tries alone that took too long, less one for
                                each of its commits: lane_pace.c */
    size_t receive_max;      /* messages in a commit: lane_pace.c; 0: any */
    bool one_by_one; /* a change was refused or too slow: one post a commit */
    bool held;       /* in the map */
    bool freeing;    /* a FREE post is under way: nothing begins any more */
    bool receiving;  /* a RECEIVE post is under way: no other is made */
    bool slicing;    /* a SLICE post is */
    bool more_messages; /* there are some besides: looked for once it is */
    uint64_t receipt;   /* the number of its last commit that received */
    uint64_t receives;  /* looks for messages, when its last commit began */
    bool expelled; /* to be loaded anew, as `reload` says, once inactive, */
    cascade_uuid expelled_by; /* by this incarnation */
    bool gone;
    struct csc_lane *native; /* that of its transactional execution, or NULL */
    csc_ready ready[CSC_PRIORITIES]; /* its executions that may run now */
    csc_ready waiting; /* transactional, until no commit is in flight */
    csc_exec *aside;   /* one that waits for a free lane, or NULL */
    unsigned passed;   /* commits that went before those that wait */
    bool partial; /* its state has only what its end is made of: dismiss.c */
    bool unread;  /* and is so since its load kills */
    bool deletes; /* it is to be deleted once its family is told */
    int32_t family_to; /* of its children it has those below; 0: all */
    csc_reload reload;
    struct cascade_engine *engine;
    struct csc_run *wreck_next;
    struct csc_plan *plan; /* it was loaded for this retry or rerun; or NULL */
    bool leaves; /* it is to be loaded anew, as `reload` says, once its commit
                    is done: nothing begins before */
    int64_t put_off; /* a retry or rerun that waits for the commit in flight */
    bool has_waited; /* it is done: that waits for no other */
} csc_run;

/* A worker that waits until its step is durable. Woken without the engine's
 * lock held, and going on without taking it. */
typedef struct csc_waiter {
    struct csc_waiter *next; /* of those about to be woken */
    sem_t woken;
    cascade_err err;
    const csc_exec *step; /* as recorded; NULL when it is not there */
} csc_waiter;

/* ---- Lanes -------------------------------------------------------------- */

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

    /* Of held.c, whose mutex guards the first three; and the caller's then. */
    struct csc_start *held_next;
    bool in_line;
    bool fresh;    /* it was not tried by itself yet */
    bool doubtful; /* it may have been made */
} csc_start;

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
    bool starts_first; /* it is their turn */
    bool busy;         /* a batch is in the lane: below is the lane's own */
    int64_t number;    /* of the last batch that is decided */
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
    bool built;    /* its changes are: from then on it stays the same */
    bool tried;    /* it was tried and its outcome is not known */
    bool settling; /* its number may have been used up: it is not tried again
                      before that is known, */
    bool slow;     /* nor if its try was slow: then it is to be divided */
    bool rescue;   /* the incarnation is gone: only starts are left in it */
    csc_vital vital;
    char trouble[CSC_TROUBLE_SIZE]; /* why its last try failed, or "" */

    /* Of a transactional node's: see native.c. */
    bool native;
    bool taken;   /* by a worker */
    csc_run *run; /* whose execution has it, while it is taken */
    csc_exec *exec;
    /* The worker's own. */
    cascade_native transaction;
    bool open;         /* there is one */
    cascade_err begun; /* what its beginning has answered */
    bool keeps;        /* a completion, to be committed with it */
    bool guest_used;   /* there may be messages of the function's */
} csc_lane;

/* ---- The engine --------------------------------------------------------- */

typedef enum csc_life {
    CSC_LIFE_NEW, /* nodes may be registered */
    CSC_LIFE_RUNNING,
    CSC_LIFE_DRAINING, /* nothing new is begun */
    CSC_LIFE_STOPPED
} csc_life;

typedef struct csc_worker {
    cascade_engine *engine;
    pthread_t thread; /* in the poll modes: of the host, while in a node */
    bool started;
    bool ended;
    const char *node; /* the node it is in, or NULL */
    csc_lane *native; /* which that has, or NULL */
    csc_call call;
} csc_worker;

#define CSC_SEQUELS 64

/* What a COMPLETED cascade continued as, all zero: nothing; with that fn_id. */
typedef struct csc_sequel {
    cascade_uuid id;
    cascade_uuid next;
    int32_t fn_id;
} csc_sequel;

/* Another engine on the store. */
typedef struct csc_peer {
    cascade_uuid engine_id;
    int64_t pid;
    int64_t process_start;
    bool local; /* on this machine */
} csc_peer;

/* A log line that waits to be told. */
typedef struct csc_note {
    struct csc_note *next;
    cascade_log_level level;
    char line[CSC_NOTE_SIZE];
} csc_note;

struct cascade_engine {
    csc_origin origin;
    cascade_store *store;
    const cascade_store_driver *driver;
    void *driver_self;
    cascade_engine_options options; /* with defaults applied, texts copied */
    char **queues;
    bool *queues_paused; /* beside `queues`: as the last claim told */
    bool *queues_told;   /* the housekeeper's own: what a claim tells */
    char *location;
    char host[CSC_HOST_SIZE];

    pthread_mutex_t mutex;
    csc_node_def *nodes;
    size_t node_count;
    size_t node_room;
    const char **node_names; /* of `nodes`, and CSC_PAUSE_NAME behind them:
                                every engine looks after what is paused. Fixed
                                once started */

    csc_life life;
    atomic_bool stop_requested;
    bool attached; /* `id` is alive as far as this side knows */
    bool has_dead_id;
    bool brief;             /* that of one call, see csc_house_is_brief() */
    cascade_uuid id;        /* the incarnation */
    cascade_uuid dead_id;   /* the one before, still to be detached */
    int64_t attach_at_ns;   /* monotonic; when not attached */
    int64_t renew_at_ns;    /* when attached */
    int64_t hold_until_ns;  /* see csc_house_hold() */
    int64_t lease_until_ns; /* as far as this side knows */
    /* store's clock - monotonic clock, at least and at most: the store read its
     * own at some time between question and answer, cut to the millisecond */
    _Atomic int64_t now_offset_ns;
    _Atomic int64_t now_offset_max_ns;
    int64_t now_confirmed_ms; /* the store's last word */

    csc_map runs;
    size_t births;      /* starts under way that count against capacity */
    size_t claiming;    /* and what claims may bring that are not loaded yet */
    size_t small_bytes; /* of all runs in memory that are not large, */
    size_t small_count;
    size_t large_bytes;     /* and of those that are */
    csc_run *large;         /* of these: that which has the place, or NULL; */
    int64_t large_since_ns; /* since then, */
    int64_t large_until_ns; /* and until then if others wait for it; INT64_MAX:
                               while it is read */
    size_t large_waiting;   /* so many do, in `reloads` */
    csc_round rounds[CSC_PRIORITIES];
    size_t ready_count;
    bool held_back; /* somebody waits as the backlog is full, to be told */
    csc_ready aside[CSC_PRIORITIES]; /* transactional ones: until a lane of
                                        theirs is free */
    size_t aside_count;              /* and those that wait in their runs */
    size_t resumed_count; /* ready again, each for a lane that is free */
    csc_run *turn; /* one of its begins next, and its posts wait; or NULL */
    int64_t native_at_ns; /* none begins before; 0: as soon as one may */
    int64_t native_backoff_ms;
    csc_run **timers; /* heap by timer_ms */
    size_t timer_count;
    size_t timer_room;
    csc_run *suspect;    /* held alone, or NULL */
    size_t suspects_out; /* that were expelled, and still are in a function */
    csc_reload *reloads; /* in the order in which they came; */
    csc_reload **reloads_end;
    csc_run *wrecks;     /* large ones, to be freed in portions */
    csc_stream *streams; /* those that are read in portions */
    size_t stream_count;
    size_t stream_suspects; /* of these */
    csc_reload *spares;     /* see reload.h */
    size_t spare_count;
    size_t in_hand;       /* owned, but neither held nor in `reloads`: being
                             loaded anew, or expelled and still in a function */
    int64_t reload_at_ns; /* when the first of them is due */
    size_t running;       /* executions in a function */
    size_t overdue;       /* of these: taken from it, see limits.c */
    csc_call *first_call; /* the functions that run */
    int64_t call_at_ns;   /* none of them is over its time before */
    bool has_limits;      /* nodes have limits by the store's clock */

    csc_lane lanes[CSC_LANES_MAX + CSC_NATIVES_MAX];
    uint32_t lane_count;
    uint32_t native_count; /* behind these: of transactional nodes */
    csc_worker *workers;
    csc_worker looper;        /* the poll modes' one worker */
    pthread_cond_t work_cond; /* workers wait here */
    size_t work_waiting;
    pthread_cond_t quiet_cond; /* drain waits here */
    pthread_t house_thread;
    bool house_started;
    pthread_t keeper_thread;
    bool keeper_started;
    pthread_cond_t keeper_cond;
    csc_vital house_vital;
    bool withheld;    /* the lease is not renewed, as something hangs */
    bool threads_end; /* lanes, housekeeper and keeper leave */
    int house_fd;     /* eventfd: wakes the housekeeper (or I/O thread) */
    int poll_fd;      /* eventfd: wakes the host's loop; -1 in THREADS */
    int stop_fd;      /* eventfd: readable once a stop was requested */
    size_t callers;   /* threads inside cascade_start() or _poll() */
    bool poll_signalled;
    bool house_signalled;
    bool put_off; /* by a stop: whoever is in a transactional node's lane is to
                     give up the rest, and has not done so */

    /* The housekeeper's own. */
    int64_t poll_at_ns;   /* when to look for work of others */
    uint64_t frees;       /* runs parked; a claim that overlaps one missed it */
    int64_t next_wake_ms; /* earliest wake_at in the store to come */
    int64_t attach_backoff_ms;
    int64_t hydrate_ns; /* spent in claiming and hydrating */
    bool claim_more;    /* the last claim was full */
    bool told;          /* somebody said that there is work */
    bool listening;     /* what others say is heard */
    uint64_t seen;      /* of that, by the last wait; its thread's alone */
    bool announced;     /* the others were woken since it attached */
    unsigned polls;     /* counts them */
    bool suspects_due;  /* a suspect is to be looked for */
    bool suspects_soon; /* at the next poll */
    bool suspect_more;  /* the last claim for one found a suspect */
    bool receive_due;   /* there may be messages for what is owned */
    cascade_uuid receive_after; /* where the walk over them goes on; all zero:
                                   there is none */
    size_t receive_rows;        /* in one look for them; 0: as many as may be */
    int64_t receive_pause_ms;   /* behind one that was too slow for one */
    int64_t receive_at_ns;      /* the next is no earlier */
    bool passed_over;           /* some were for a run that is not in memory */
    uint64_t receipts;          /* counts commits that received */
    uint64_t receives;          /* counts looks for messages that are over */
    uint64_t left;      /* counts runs that a commit has ended or given up, */
    uint64_t left_seen; /* up to the last claim's beginning */
    csc_sequel sequels[CSC_SEQUELS]; /* sequel.h; the oldest is at */
    size_t sequel_at;
    size_t initialised; /* workers whose init hook is through */
    cascade_err worker_err;

    /* Of retain.c. */
    csc_purge *pass;      /* the one under way, or NULL */
    int64_t retain_at_ns; /* when to go on with it, or to begin the next;
                               INT64_MAX: never */

    /* Of erase.c. */
    int64_t erase_at_ns; /* when to take the next piece, or to look for one */
    bool erase_due;      /* there may be more than the last piece told of */
    bool erase_paused;   /* a piece is under way, or the pause behind one */

    /* Of peers.c. */
    csc_peer peers[CSC_PEERS_MAX];
    size_t peer_count;
    int64_t looked_at_ns; /* when that was */
    int64_t look_at_ns;   /* when to look at the latest */
    unsigned looks;       /* counts them */

    cascade_engine_stats stats;

    /* Log lines born under the lock, to be told without it. */
    csc_note *notes;
    atomic_size_t note_count;
    /* Bytes of posts that are not decided: in lanes; behind a transaction. */
    atomic_size_t backlog;
    atomic_size_t backlog_behind;
};

/* ---- engine.c ----------------------------------------------------------- */

/* The store's time as far as this process knows it: never ahead of it, so that
 * nothing fires early; behind by as long as the last answer took. Locked or
 * not. */
int64_t csc_engine_now(const cascade_engine *engine);
/* The same, never behind it: what a delay counts from. */
int64_t csc_engine_now_max(const cascade_engine *engine);
int64_t csc_engine_monotonic_ns(const cascade_engine *engine);
const csc_node_def *csc_engine_node(const cascade_engine *engine,
                                    const char *name);
/* The same for what builds changes: how it waits, if it is completed from
 * outside. */
const csc_waiting *csc_engine_external(const void *engine, const char *name);
/* How many lanes the incarnation has, those of transactional nodes included. */
uint32_t csc_engine_lanes(const cascade_engine *engine);
/* Ends a wait of the housekeeper, of the host's loop. Locked. */
void csc_engine_wake_house(cascade_engine *engine);
void csc_engine_wake_host(cascade_engine *engine);
/* Forgets that the housekeeper was woken: it is awake. Locked. */
void csc_engine_house_awake(cascade_engine *engine);
/* A timed wait in real time. Locked. */
void csc_engine_wait(cascade_engine *engine, pthread_cond_t *cond,
                     int64_t timeout_ms);
/* The same with another mutex, which is held. */
void csc_engine_wait_on(pthread_mutex_t *mutex, pthread_cond_t *cond,
                        int64_t timeout_ms);
/* Ends lanes and housekeeper, drops what there is and detaches: what a stop
 * does in the end. Not locked. */
void csc_engine_release(cascade_engine *engine);
/* Runs one ready execution, and does what a stop has left to it; false when
 * there is none. Not locked. */
bool csc_engine_work(cascade_engine *engine, csc_worker *worker);
/* Frees what was made so far; nothing of it runs. */
void csc_open_free(cascade_engine *engine);
/* Logging under the lock: the line is told by the next csc_engine_tell(), which
 * is not locked. Beyond CSC_NOTES_MAX lines are lost. */
void csc_engine_note(cascade_engine *engine, cascade_log_level level,
                     const char *format, ...) CASCADE_PRINTF(3, 4);
void csc_engine_tell(cascade_engine *engine);

/* ---- run.c: runs, the ready list, timers. All locked. ------------------- */

csc_run *csc_run_create(cascade_engine *engine, const cascade_uuid *id);
/* The lane of a cascade: always the same one. */
uint32_t csc_run_lane(const cascade_engine *engine, const cascade_uuid *id);
/* Whether a node may begin now. */
bool csc_run_may_begin(const cascade_engine *engine);
/* Into the map; CASCADE_ERR_NO_MEMORY. */
cascade_err csc_run_add(cascade_engine *engine, csc_run *run);
/* Out of the map and of all lists; posts are dropped, their waiters told
 * `err`; freed when nothing refers to it any more. */
void csc_run_drop(cascade_engine *engine, csc_run *run, cascade_err err);
void csc_run_ref(csc_run *run);
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
/* Makes ready what may run; sets the timer; or, when nothing of it can run
 * here, posts that it is given up. */
void csc_run_advance(cascade_engine *engine, csc_run *run);
/* Hands a post to the run's lane; takes it. A run that is gone drops it and
 * tells its waiter. */
void csc_run_post(cascade_engine *engine, csc_run *run, csc_post *post);
/* Whether one of those that are ready may begin. */
bool csc_run_may_take(const cascade_engine *engine);
/* None may, and the caller is about to wait. True where only the backlog is in
 * the way: then csc_run_let_begin() tells when it is not any more; who has made
 * it smaller calls that. */
bool csc_run_note_wait(cascade_engine *engine);
void csc_run_let_begin(cascade_engine *engine);
/* Whether messages may be read: what waits for its commit is not too much
 * already. csc_run_let_begin() wakes the housekeeper when they may again. */
bool csc_run_may_receive(const cascade_engine *engine);
/* The next ready execution, which counts as running; NULL when there is none
 * or none may begin. `*native`: the lane it has, if it is transactional. */
csc_exec *csc_run_next(cascade_engine *engine, csc_lane **native);
/* The cascade is cancelled, and the execution has nothing to clean up: its
 * function is not called. */
bool csc_run_is_unwanted(const csc_exec *exec);
/* The function was left; `late` when the run had let go of it before. */
void csc_run_left(cascade_engine *engine, csc_run *run, bool late);
/* An execution of the run is neither ready nor in a function any more. A run
 * whose rows were refused is loaded anew when that was the last one. */
void csc_run_let_go(cascade_engine *engine, csc_run *run);
/* Takes a ready execution out of the list. */
void csc_run_unready(cascade_engine *engine, csc_exec *exec);
/* Advances the runs whose timers are due. */
void csc_run_fire(cascade_engine *engine, int64_t now_ms);
/* When the first timer is due: CASCADE_TIME_NONE without one. */
int64_t csc_run_next_timer(const cascade_engine *engine);
/* Drops every run, what was to be loaded, and what lanes were to commit. */
void csc_run_drop_all(cascade_engine *engine, cascade_err err);
/* Drops the run, its waiters are told `err`, and loads it anew once nothing of
 * it is in a function: the store refused what it had to record, or a retry or a
 * rerun has changed what counts. */
void csc_run_expel(cascade_engine *engine, csc_run *run,
                   const csc_reload *reload, cascade_err err);
/* There was no memory for what the run has to do next (`err`): it is loaded
 * anew, once a commit of it that is in flight is applied, and nothing of it is
 * in a function. */
void csc_run_load_anew(cascade_engine *engine, csc_run *run, cascade_err err);
/* What becomes of the cascade when this execution has failed for good, as its
 * FAIL `post` with the error tells: it ends, or goes on, or another node runs
 * instead. CASCADE_ERR_NO_MEMORY. Locked or not. */
cascade_err csc_run_fail(const cascade_engine *engine, const csc_exec *exec,
                         csc_post *post);
/* Records an execution whose verdict is not to run it: FAIL, by the policy of
 * its node, or SKIP. CASCADE_ERR_NO_MEMORY. (run_join.c) */
cascade_err csc_run_post_join(cascade_engine *engine, csc_run *run,
                              const csc_exec *exec);
/* An external execution that nobody has completed, and whose deadline has come,
 * fails. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_run_post_overdue(cascade_engine *engine, csc_run *run,
                                 const csc_exec *exec);
/* Gives the run up. `needs` (or NULL) is CSC_PAUSE_NAME, or the name of an
 * execution that is RUNNING: nothing of the run ends before the post is
 * committed; one that no node can have becomes CSC_NOBODY_NAME.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_run_post_free(cascade_engine *engine, csc_run *run,
                              int64_t wake_at_ms, const char *needs);
/* The run is looked at then. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_run_set_timer(cascade_engine *engine, csc_run *run,
                              int64_t at_ms);
void csc_run_remove_timer(cascade_engine *engine, csc_run *run);
/* Ownership is lost: drops everything; the housekeeper attaches anew. Whoever
 * waits for a start of which nothing was sent goes on without the engine. */
void csc_run_lose(cascade_engine *engine, cascade_err err);
/* Whether nothing is in a function, in a lane or about to be. */
bool csc_run_quiet(const cascade_engine *engine);

/* ---- ready.c: what may run. All locked. --------------------------------- */

/* Where an execution goes among those of its priority. */
typedef enum csc_place {
    CSC_PLACE_LAST,  /* behind the others of its cascade */
    CSC_PLACE_FIRST, /* in front of them */
    CSC_PLACE_NEXT   /* and the turn is its cascade's */
} csc_place;

int32_t csc_ready_priority(const csc_exec *exec);
void csc_ready_add(cascade_engine *engine, csc_exec *exec, csc_place place);
/* Out of the list that it is in. */
void csc_ready_take_out(cascade_engine *engine, csc_exec *exec);
/* Into a list of those that wait for a transaction: it does not count as ready
 * until it is added again. */
void csc_ready_set_aside(cascade_engine *engine, csc_ready *list,
                         csc_exec *exec, bool first);
/* The next one, taken out; NULL without one. */
csc_exec *csc_ready_pop(cascade_engine *engine);

/* ---- run_pause.c: what is paused. All locked. --------------------------- */

/* Whether nothing of it may begin, as the cascade or its queue is paused. */
bool csc_run_is_paused(const cascade_engine *engine, const csc_run *run);
/* When a time limit of it may pass: CASCADE_TIME_NONE without one. Those of
 * executions by their nodes (limits.c) are not among them. */
int64_t csc_run_paused_until(const csc_run *run);
/* Whether nothing of it may begin, for that or as it is to leave memory. */
bool csc_run_is_held_back(const cascade_engine *engine, const csc_run *run);
/* Takes back what was ready, and fails what is overdue.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_run_hold_back(cascade_engine *engine, csc_run *run);
/* Nothing of it is active or under way, and `wake_at_ms` its next time limit:
 * gives it up. CASCADE_ERR_NO_MEMORY. */
cascade_err csc_run_rest_paused(cascade_engine *engine, csc_run *run,
                                int64_t wake_at_ms);
/* The same where it goes on as soon as somebody claims it. */
cascade_err csc_run_rest_later(cascade_engine *engine, csc_run *run,
                               int64_t limit_ms);
/* What a claim has told of the engine's queues. */
void csc_run_note_queues(cascade_engine *engine, const bool *paused);
/* Whether the engine knows that queue, which it serves, as paused. */
bool csc_run_is_queue_paused(const cascade_engine *engine, const char *queue);

/* ---- lane.c ------------------------------------------------------------- */

/* Tries the batch of the lane once, a new one if there is none. True when it
 * did something. Not locked. */
bool csc_lane_round(csc_lane *lane);
/* Takes the lane for the calling thread, if nobody is in it and threads may
 * commit for themselves; then it adds what it has and calls csc_lane_serve(),
 * not locked, which tries one batch. Locked. */
bool csc_lane_enter(csc_lane *lane);
void csc_lane_serve(csc_lane *lane);
/* Whether there is something to do now, and if not when (monotonic,
 * INT64_MAX: when it is told). Locked. */
bool csc_lane_pending(const csc_lane *lane, int64_t *at_ns);
void csc_lane_add_run(csc_lane *lane, csc_run *run);       /* locked */
void csc_lane_add_start(csc_lane *lane, csc_start *start); /* locked */
/* Gives starts of which nothing was sent back to their callers, who go on
 * without the engine. Locked. */
void csc_lane_return_starts(csc_lane *lane);
/* Lets whoever runs the lane know. Locked. */
void csc_lane_wake(csc_lane *lane);
/* How long to wait before the next try; the last time it was `last_ms`, 0 for
 * none. */
int64_t csc_lane_backoff_ms(int64_t last_ms);
/* Lets go of runs that are gone from what is to be committed. Locked. */
void csc_lane_forget(csc_lane *lane);
void csc_lane_fini(csc_lane *lane);

/* ---- house.c ------------------------------------------------------------ */

/* One round of housekeeping; tells how long the next may wait. */
void csc_house_round(cascade_engine *engine, int64_t *wait_ms);
/* How long nothing is to be done, unless somebody says so. Locked. */
int64_t csc_house_wait_ms(const cascade_engine *engine);

/* Whether it has something large in hand, and does not wait for others: then it
 * only looks whether they have told something. Not locked. */
bool csc_house_is_busy(cascade_engine *engine);
/* Something failed: no claims, loads and timers for a moment. Not locked. */
void csc_house_hold(cascade_engine *engine);
/* Asks the store for its time. Not locked. */
cascade_err csc_house_sync(cascade_engine *engine);
/* Fires the timers that are due. Not locked. */
void csc_house_fire(cascade_engine *engine);
/* Attaches as a new incarnation. */
cascade_err csc_house_attach(cascade_engine *engine);
/* Whether an incarnation is of an engine that lives for one call: it does what
 * the call is for and goes, so nobody may leave anything else to it. Told by
 * the version of its id, 8 in place of 7. */
bool csc_house_is_brief(const cascade_uuid *engine_id);

/* What the store's clock has just shown to a question of `asked_ns`. Locked. */
void csc_house_note_now(cascade_engine *engine, int64_t asked_ns,
                        int64_t now_ms);

/* ---- lease.c ------------------------------------------------------------ */

/* The incarnation has a lease, asked for at `sent_ns`. Locked. */
void csc_lease_begin(cascade_engine *engine, int64_t sent_ns);
/* Renews it, when it is due and nothing hangs. Not locked. */
void csc_lease_renew(cascade_engine *engine);
/* A round of the keeper; in how many ms the next is due. Not locked. */
int64_t csc_lease_keep(cascade_engine *engine);
/* A sign of life. Locked or not. */
void csc_lease_sign(csc_vital *vital);

/* ---- peers.c ------------------------------------------------------------ */

/* Whether the other engines are to be looked at: `told` when somebody woke us,
 * `poll` when the poll interval is over. Locked. */
bool csc_peers_are_due(cascade_engine *engine, bool told, bool poll);
/* Looks at them, and removes those that are dead. Not locked. */
void csc_peers_look(cascade_engine *engine);

/* ---- retain.c ----------------------------------------------------------- */

void csc_retain_init(cascade_engine *engine);
/* A portion of a pass, when it is due. Not locked. */
void csc_retain_round(cascade_engine *engine);
void csc_retain_fini(cascade_engine *engine);

/* ---- erase.c ------------------------------------------------------------ */

/* Something may have been marked. Locked. */
void csc_erase_soon(cascade_engine *engine);
/* One piece, when it is due. Not locked. */
void csc_erase_round(cascade_engine *engine);

/* ---- hydrate.c ---------------------------------------------------------- */

/* Claims what is due, within the capacity, and loads it; when there is nothing,
 * and `suspects`, a suspect. */
void csc_hydrate_claim(cascade_engine *engine, bool suspects);
/* Asks the store which queues are paused, where there is no room for a claim:
 * by one that claims nothing. */
void csc_hydrate_ask(cascade_engine *engine);
/* Loads what is to be loaded again. */
void csc_hydrate_reloads(cascade_engine *engine);
/* How many more cascades may be held now: none while a suspect is, or when the
 * engine is not running. Locked. */
size_t csc_hydrate_room(const cascade_engine *engine);
/* Holds a run that was read. CASCADE_ERR_NO_MEMORY. Locked. */
cascade_err csc_hydrate_hold(cascade_engine *engine, csc_run *run);

/* What a run that was read whole is made of its rows: without the lock, since
 * it may take long. */
cascade_err csc_hydrate_complete(csc_run *run);
/* What becomes of one run once it was read and completed; takes `messages`.
 * Locked. */
void csc_hydrate_take_in(cascade_engine *engine, csc_run *run,
                         const csc_reload *reload, csc_post *messages,
                         cascade_err err);
/* It could not be read now, for that reason. Locked. */
void csc_hydrate_later(cascade_engine *engine, const csc_reload *reload,
                       cascade_err err);

/* ---- stream.c ----------------------------------------------------------- */

#define CSC_STREAMS_MAX 4 /* read by turns; others wait in `reloads` */

/* Begins to read one that is in hand. CASCADE_ERR_NO_MEMORY. Not locked. */
cascade_err csc_stream_begin(cascade_engine *engine, const csc_reload *reload);
/* A portion of one of them. Not locked. */
void csc_stream_round(cascade_engine *engine);
/* When the next portion may be read: INT64_MAX without one. Locked. */
int64_t csc_stream_next_ns(const cascade_engine *engine);
/* Which they are; how many. Locked. */
size_t csc_stream_ids(const cascade_engine *engine, cascade_uuid *ids,
                      size_t max);
void csc_stream_fini(cascade_engine *engine);

/* ---- dismiss.c ---------------------------------------------------------- */

/* Ends those of the claimed cascades that messages want ended, or whose load
 * kills, without loading them; how many are left, in front: these are to be
 * loaded. Not locked. */
size_t csc_dismiss_claimed(cascade_engine *engine, csc_reload *wanted,
                           size_t count);
/* The same for what is to be loaded again, where the load of one kills. */
size_t csc_dismiss_deadly(cascade_engine *engine, csc_reload *wanted,
                          size_t count);

/* ---- worker.c ----------------------------------------------------------- */

/* Whether the calling thread is inside a node of this engine. Locked. */
bool csc_worker_is_inside(const cascade_engine *engine);

/* Runs one ready execution; false when there is none. Sets `releases` when the
 * engine is to be released then. Not locked. */
bool csc_worker_round(cascade_engine *engine, csc_worker *worker,
                      bool *releases);

/* ---- threads.c ---------------------------------------------------------- */

cascade_err csc_threads_start(cascade_engine *engine);
/* A thread with all signals blocked; `stack_size` 0: the system's default. */
cascade_err csc_threads_create(pthread_t *thread, size_t stack_size,
                               void *(*main)(void *), void *context);
/* Tells lanes and housekeeper to end. Locked. */
void csc_threads_request_end(cascade_engine *engine);
/* The same; waits for them. */
void csc_threads_end(cascade_engine *engine);
/* Waits, until `end_ms`, for what a stop has left: functions that had not
 * returned, and whoever is to detach. Locked. */
void csc_threads_await_left(cascade_engine *engine, int64_t end_ms);
/* Joins the workers that have ended. The node that one is still in, or that the
 * host's thread is in, or whose transaction one waits for; NULL when all are
 * joined. Waits for what a stop has put off while no function is in its way. */
const char *csc_threads_join_workers(cascade_engine *engine);

/* ---- start.c ------------------------------------------------------------ */

/* The lane is done with a start. Locked. */
void csc_start_done(cascade_engine *engine, csc_start *start, cascade_err err);
void csc_start_unref(csc_start *start);
/* The place of the change that starts `id`, in changes that are sorted; their
 * count where none does. */
size_t csc_start_find(const csc_start *start, const cascade_uuid *id);

/* ---- held.c ------------------------------------------------------------- */

/* Starts that wait for a transaction which is not the library's. Each of these
 * leaves to the caller of the start that it calls csc_held_submit(). */
void csc_held_add(cascade_store *store, csc_start *start);
/* Adds it where another that waits starts the same cascade. */
bool csc_held_join(cascade_store *store, csc_start *start);
/* Tries the submission, a brief one, until `end_ms` (monotonic), and takes the
 * start out: CASCADE_ERR_UNAVAILABLE where it was not made by then,
 * CASCADE_ERR_OUTCOME_UNKNOWN where it may have been. */
cascade_err csc_held_submit(cascade_store *store, csc_start *start,
                            const cascade_submission *submission,
                            int64_t end_ms);
/* The same for one that no lane has had: added where its first try is held up,
 * or while others are. */
cascade_err csc_held_send(cascade_store *store, csc_start *start,
                          const cascade_submission *submission, int64_t end_ms);

/* ---- submit.c ----------------------------------------------------------- */

/* Submits, again while the store cannot be reached, up to its deadline: it is
 * the same submission. Tells the engines of this process. `what` names the call
 * in CASCADE_ERR_OUTCOME_UNKNOWN. */
cascade_err csc_submit(cascade_store *store,
                       const cascade_submission *submission, const char *what);
/* What to say of an error where a try before it had no answer: that nobody
 * knows, but for errors that tell that nothing is there. */
cascade_err csc_submit_doubt(cascade_err err, const char *what);
/* What to say when the store's deadline has passed and nobody knows. */
cascade_err csc_submit_undecided(const cascade_store *store, const char *what,
                                 const char *why);
/* Between two tries: nobody ends it early. */
void csc_submit_sleep(int64_t ms);
/* Tells the engines of this process that there may be something for them. */
void csc_submit_tell(cascade_store *store);

#endif
