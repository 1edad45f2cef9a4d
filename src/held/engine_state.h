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
 *                which the function ran (txn_slot.c)
 *   lane         collects posts of many cascades into one batch, commits it,
 *                applies it to the states, and makes ready what follows
 *   housekeeper  attaches, renews the lease, removes dead engines, claims,
 *                hydrates, receives messages, fires timers
 *   Each is a function of one round (csc_worker_round, csc_lane_round,
 *   csc_housekeeper_round). The THREADS mode calls each in threads of its own;
 *   LOOP calls lanes and housekeeper in one thread and workers in the host's;
 *   INLINE calls them all in cascade_engine_poll().
 *
 * THE LOCK
 *   engine->mutex guards everything here but what a comment gives to someone.
 *   It is never held across a node, a callback or a call of the store.
 *   A run whose commit has BEGUN is read by its lane without the lock while the
 *   batch is built: nobody else changes a state then, since states change only
 *   when a lane applies, or when a fence drops them, which waits for the lane.
 *
 * A RUN (one cascade in this process)
 *   Its states are drawn in run.h: whether it is held, where its first post is.
 *
 *   While a transactional execution has a lane (`native`) posts stay in the
 *   run, which is not in its lane's list; their commit begins when that ends.
 *
 *   Runs that are GONE are out of the map; what still refers to them
 *   (executions in a function, the ready list) holds `refs`, and late posts are
 *   dropped: that is how a late result of an earlier life is told apart, by the
 *   object itself.
 *
 * SHORT OF MEMORY
 *   A state in which a commit could not be worked in, or a run whose future
 *   could not be posted, is of no use: that one cascade is loaded anew, and
 *   nothing else is touched. What it takes to remember that is there before:
 *   see reload.h.
 */
#ifndef CSC_HELD_ENGINE_STATE_H
#define CSC_HELD_ENGINE_STATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/data/map.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "held/clock.h"
#include "held/erasure_due.h"
#include "held/event_queue.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/lane/txn_slot.h"
#include "held/log_queue.h"
#include "held/room/mailbox.h"
#include "held/room/reload.h"
#include "held/room/room.h"
#include "held/run/ready_queue.h"
#include "held/run/time_limit.h"
#include "held/run/timer.h"
#include "held/vital.h"
#include "held/wakeup.h"

typedef struct csc_node_def csc_node_def;

/* ---- The engine --------------------------------------------------------- */

typedef enum csc_life {
    CSC_LIFE_NEW, /* nodes may be registered */
    CSC_LIFE_RUNNING,
    CSC_LIFE_DRAINING, /* nothing new is begun */
    CSC_LIFE_STOPPED
} csc_life;

#define CSC_SEQUELS 64

/* What a COMPLETED cascade continued as, all zero: nothing; with that fn_id. */
typedef struct csc_sequel {
    cascade_uuid id;
    cascade_uuid next;
    int32_t fn_id;
} csc_sequel;

struct cascade_engine {
    csc_origin origin;
    cascade_store *store;
    cascade_engine_options options; /* with defaults applied, texts copied */
    char **queues;
    bool *queues_paused; /* beside `queues`: as the last claim told, */
    bool *queues_kept;   /* and whether it has limits (store_limits.h) */
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

    csc_map runs;

    csc_lane lanes[CSC_LANES_MAX + CSC_NATIVES_MAX];
    uint32_t lane_count;
    uint32_t native_count;           /* behind these: of transactional nodes */
    csc_sequel sequels[CSC_SEQUELS]; /* sequel.h; the oldest is at */
    size_t sequel_at;

    cascade_engine_stats stats;
    /* Bytes of posts that are not decided: in lanes; behind a transaction. */
    atomic_size_t backlog;
    atomic_size_t backlog_behind;
    csc_clock_offset clock;
    csc_incarnation incarnation;
    csc_lease lease;
    csc_room room;
    csc_ready_queue ready;
    csc_txn_slots txn;
    csc_timers timers;
    csc_reloads reloads;
    csc_calls calls;
    struct csc_workers *workers;
    struct csc_threads *threads;
    csc_wakeup wakeup;
    csc_mailbox mailbox;
    struct csc_claims *claims;
    struct csc_house *house;
    struct csc_retention *retention;
    csc_erasure_due erasure;
    struct csc_peers *peers;
    csc_log_queue log;
    csc_event_queue events;
};

#endif
