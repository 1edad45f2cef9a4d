/* SPDX-License-Identifier: MIT
 *
 * A store driver that forwards every move to a real one and lets a test stand
 * in between:
 *
 *     engine --> wrap_store --before()--> real store --after()--> engine
 *
 * `before` may block (a delay), and any error it returns is the answer without
 * the store being asked. `after` sees what the store answered and returns what
 * the engine is to be told: an error in place of OK is a reply that was lost
 * after the effect. Hooks are called in the thread that made the move, with no
 * lock of the engine held.
 *
 * `row` hears of each row that a read gives, before the engine does, and of its
 * bytes; an error of it ends the read there, and is its answer. The real store
 * may hold a mutex then: it must not be called.
 *
 * For the usual faults there are rules: "the next 3 commits: UNAVAILABLE after
 * the effect". A rule that `before` sets holds for that very move.
 *
 * Where the real store has no transactions of nodes a test may lend it some:
 * then these stand in its place for the four moves, with all that is around
 * them.
 */
#ifndef TESTS_SUPPORT_WRAP_STORE_H
#define TESTS_SUPPORT_WRAP_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "cascade/store.h"

typedef enum wrap_move {
    WRAP_NOW,
    WRAP_ATTACH,
    WRAP_RENEW,
    WRAP_DETACH,
    WRAP_ENGINES,
    WRAP_REMOVE,
    WRAP_CLAIM,
    WRAP_LOAD,
    WRAP_COMMIT,
    WRAP_SUBMIT,
    WRAP_RECEIVE,
    WRAP_KEY,
    WRAP_FIND,
    WRAP_LINK,
    WRAP_SWEEP,
    WRAP_STRAYS,
    WRAP_PAUSE,
    WRAP_QUEUES,
    WRAP_TOTALS,
    WRAP_SCHEMA,
    WRAP_SCAN,
    WRAP_REPAIR,
    WRAP_PURGE,
    WRAP_ERASE,
    WRAP_SEAL,
    WRAP_SEALS,
    WRAP_SET_LIMITS,
    WRAP_LIST_LIMITS,
    WRAP_DROP_LIMITS,
    WRAP_SLOTS,
    WRAP_LIST,
    WRAP_BEGIN,
    WRAP_FINISH,
    WRAP_ABANDON, /* has no answer, as CLOSE */
    WRAP_SETTLE,
    WRAP_WAIT,
    WRAP_WAKE,
    WRAP_OPEN, /* after a failure that `after` makes, it is closed again */
    WRAP_MIGRATE,
    WRAP_CLOSE, /* has no answer: only `before` and `after` are called */
    WRAP_MOVES  /* how many there are: every one of a store */
} wrap_move;

typedef struct wrap_call {
    wrap_move move;
    size_t number;                /* of the moves of that kind, from 1 */
    const cascade_batch *batch;   /* COMMIT, FINISH */
    const bool *existed;          /* COMMIT, FINISH, SUBMIT: after it */
    const cascade_change *starts; /* SUBMIT */
    size_t start_count;
    const cascade_submission *submission; /* SUBMIT: all of it */
    const cascade_uuid *ids;              /* LOAD */
    size_t id_count;                      /* LOAD */
    unsigned parts;                       /* LOAD */
    const cascade_scan *scan;             /* SCAN */
    const cascade_claim_result *claimed;  /* CLAIM: after it */
    const cascade_claimed *claims;        /* the runs of it */
    const size_t *freed;                  /* REMOVE: after it */
    const cascade_uuid *engine_id;        /* SETTLE: of whom; ATTACH */
    uint32_t lane;                        /* SETTLE */
    const bool *committed;                /* SETTLE: after it */
    const cascade_limits_row *limits;     /* SET_LIMITS */
    const char *queue;                    /* LIST_LIMITS, DROP_LIMITS,
                                             SLOTS */
    const bool *done;                     /* SET_, DROP_LIMITS: after it */
    void *self; /* the real store's; NULL before OPEN and after CLOSE */
} wrap_call;

typedef enum wrap_when {
    WRAP_BEFORE, /* the store is not asked */
    WRAP_AFTER   /* the store did it, the answer is lost */
} wrap_when;

typedef struct wrap_rule {
    size_t skip;  /* moves that pass first */
    size_t times; /* moves that fail then */
    wrap_when when;
    cascade_err err;
} wrap_rule;

/* Transactions of nodes that a test has: as the moves of store.h, with the
 * wrap's `context`, and the real store for what they do there. */
typedef struct wrap_inner {
    const cascade_store_driver *driver;
    void *self;
} wrap_inner;

typedef struct wrap_natives {
    const char *name; /* cascade_store_node_txn.native */
    uint32_t max;     /* native_max */
    cascade_err (*begin)(void *context, int64_t limit_ms,
                         cascade_native *native);
    cascade_err (*finish)(void *context, const wrap_inner *inner,
                          cascade_native *native, const cascade_batch *batch,
                          bool *existed);
    cascade_err (*abandon)(void *context, cascade_native *native);
    cascade_err (*settle)(void *context, const wrap_inner *inner,
                          const cascade_uuid *engine_id, uint32_t lane,
                          int64_t number, bool *committed);
} wrap_natives;

typedef struct wrap_store {
    cascade_store_driver driver; /* for cascade_store_open_driver() */
    cascade_store_node_txn node_txn;
    const cascade_store_driver *inner;
    const wrap_natives *natives; /* lent, or NULL */
    char inner_url[1024];
    int64_t inner_deadline_ms; /* of its moves; 0: as whoever opens it says */
    char url[64]; /* for cascade_store_open_driver(): names this object */
    void *context;
    cascade_err (*before)(void *context, const wrap_call *call);
    cascade_err (*after)(void *context, const wrap_call *call,
                         cascade_err answer);
    /* LOAD, SCAN, RECEIVE. */
    cascade_err (*row)(void *context, const wrap_call *call, size_t bytes);
    /* What the engine is told in the end, rules included. */
    void (*answered)(void *context, const wrap_call *call, cascade_err answer);
    /* Which cascades a list has, or NULL: all. */
    bool (*listed)(void *context, const cascade_uuid *id);
    atomic_size_t counts[WRAP_MOVES];
    atomic_size_t rows;    /* executions and events of loads and scans */
    atomic_size_t faults;  /* answers that a rule replaced */
    pthread_mutex_t mutex; /* guards rules */
    wrap_rule rules[WRAP_MOVES];
} wrap_store;

/* In front of the built-in store at `url`. Must outlive the stores opened on
 * it, also those a failed test leaves to be closed: never on the stack. 0, or
 * -1 when there is no such store. */
int wrap_store_init(wrap_store *wrap, const char *url);
void wrap_store_fini(wrap_store *wrap);
/* The same on the heap; NULL when there is no such store. */
wrap_store *wrap_store_create(const char *url);
void wrap_store_free(wrap_store *wrap);

/* Before it is opened; `natives` must outlive it. */
void wrap_store_lend(wrap_store *wrap, const wrap_natives *natives);

/* Replaces the rule of a move. */
void wrap_store_fail(wrap_store *wrap, wrap_move move, size_t skip,
                     size_t times, wrap_when when, cascade_err err);
size_t wrap_store_count(wrap_store *wrap, wrap_move move);

#endif
