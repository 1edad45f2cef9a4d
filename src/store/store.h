/* SPDX-License-Identifier: MIT
 *
 * The store handle: a driver, what is injected, and which engines of this
 * process run on it. Dispatch by URL is here; the moves are in the backends.
 */
#ifndef CSC_STORE_STORE_H
#define CSC_STORE_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/driver.h"
#include "store/pipeline.h"
#include "store/watch.h"

typedef struct csc_ring csc_ring;

#define CSC_STORE_ENGINES_MAX 64

typedef struct csc_store_guest csc_store_guest;

/* What an engine of this handle has set aside, as its commits take too long. */
typedef struct csc_aside {
    int32_t tries;   /* that took too long; 0: it is not set aside */
    int64_t left_ms; /* until it is loaded anew */
} csc_aside;

/* What calls ask of the engines of their handle. Not locked. */
typedef struct csc_store_answers {
    csc_aside (*find_aside)(cascade_store *store, const cascade_uuid *id);
    /* One of them has the cascade in memory, running, with a lease: it will
     * tell its end to those that watch it, or lose it. */
    bool (*is_held)(cascade_store *store, const cascade_uuid *id);
    /* One of them lives, with a lease, and is no call's own: it receives. */
    bool (*is_served)(cascade_store *store);
} csc_store_answers;

/* Starts that wait for a transaction which is not the library's
 * (blocked_start.c). */
typedef struct csc_store_held {
    pthread_mutex_t mutex; /* guards what follows */
    struct csc_start *first;
    struct csc_start *last;
    size_t tries; /* of them that try now */
} csc_store_held;

struct cascade_store {
    csc_origin origin;
    csc_driver moves;
    const cascade_store_driver *driver; /* of `moves`; called by move.c */
    void *self;                         /* the backend's */
    const csc_store_guest *guest;       /* NULL: connections of its own */
    bool native;                        /* of a node, which closes it itself */
    cascade_store_config config; /* its texts and tables are the handle's */
    cascade_clock clock;
    cascade_random random;
    csc_log log;
    csc_watches watches;
    pthread_mutex_t mutex; /* guards engines, engine_count, answers, now_* */
    cascade_engine *engines[CSC_STORE_ENGINES_MAX];
    size_t engine_count;
    const csc_store_answers *answers; /* NULL: there was no engine yet */
    int64_t now_offset_ns;            /* see csc_store_get_now() */
    int64_t now_read_at_ns;
    csc_store_held held;
    csc_pipeline pipeline;
    csc_ring *ring; /* its keys; NULL: it has no integrity. Of a node: those of
                       the engine's store, which outlives it */
};

/* A store that is opened on `self`, which open makes; it is not migrated. */
typedef struct csc_store_opener {
    const cascade_store_driver *driver;
    const char *url;              /* for driver->open, or NULL: */
    const csc_store_guest *guest; /* for that one's */
    void *handle;
    const cascade_native *native; /* of which `handle` is, or NULL */
    csc_ring *ring;               /* with `native`: lent to the store */
} csc_store_opener;

#define CSC_SUSPECT_FROM 3 /* takeovers from which a run is claimed alone */

/* Checks the options, makes the store and migrates it, if it is to be. */
cascade_err csc_store_open(const csc_store_opener *opener,
                           const cascade_store_options *options,
                           cascade_store **store);
#define CSC_STORE_LINK_ID INT32_MAX

/* The drivers built in; NULL when that backend is not. */
const cascade_store_driver *csc_store_memory_driver(void);
const cascade_store_driver *csc_store_sqlite_driver(void);
const cascade_store_driver *csc_store_postgres_driver(void);

/* What a backend does over a fork() of this process: see open.c. */
typedef struct csc_store_forking {
    void (*before)(void);
    void (*after)(bool child);
} csc_store_forking;

/* NULL when that backend is not built in. */
const csc_store_forking *csc_store_memory_forking(void);
const csc_store_forking *csc_store_sqlite_forking(void);

/* The driver for a URL; CASCADE_ERR_INVALID for none, _UNSUPPORTED for one
 * that is not built in. The URL itself (it may hold a password) is in no error
 * text. */
cascade_err csc_store_driver_find(const char *url,
                                  const cascade_store_driver **driver);

/* ---- Guests: stores on a connection of somebody else's ------------------- */

/* What a backend has for them. */
struct csc_store_guest {
    const cascade_store_driver *driver; /* its moves, for such a connection */
    /* Instead of driver->open. `native`: the transaction of a node that is open
     * on it, and stays so for as long as the store is; NULL for a connection of
     * the application's. */
    cascade_err (*open)(void *handle, const cascade_native *native,
                        const cascade_store_config *config, void **self);
    /* Whether a transaction that is not the library's is open on it now. */
    bool (*within)(const void *self);
    /* The store could not be opened, and is closed next: what was set on the
     * connection is put back then. NULL: nothing is. */
    void (*refuse)(void *self);
};

/* NULL when that backend is not built in. */
const csc_store_guest *csc_store_sqlite_guest(void);
const csc_store_guest *csc_store_postgres_guest(void);

/* Opens a store on a connection that the caller has: options as of
 * cascade_store_open(); the schema is seen to as they say, unless it is that of
 * `native`. */
cascade_err csc_store_open_guest(const csc_store_guest *guest, void *handle,
                                 const cascade_store_options *options,
                                 const cascade_native *native,
                                 cascade_store **store);

/* The same on the transaction of a transactional node of an engine on `store`,
 * with that one's options and keys. */
cascade_err csc_store_open_native(const cascade_store *store,
                                  const cascade_native *native,
                                  cascade_store **guest);

/* Closes that. cascade_store_close() refuses to: it is the node's. */
void csc_store_close_native(cascade_store *guest);

/* Whether calls of this store are part of a transaction that is not the
 * library's, now. False for other stores. */
bool csc_store_is_within(const cascade_store *store);

/* CASCADE_ERR_MISUSE where they are, or where the thread is in a transactional
 * node on this store: for what waits, or commits by itself. `what` names the
 * call. */
cascade_err csc_store_refuse_within(const cascade_store *store,
                                    const char *what);
/* The second of these alone: for what commits here, and would wait for the
 * node's own transaction. */
cascade_err csc_store_refuse_inside(const cascade_store *store,
                                    const char *what);

/* The calling thread is in a transactional node of an engine on this store from
 * now on; NULL: in none. Gives what was so before. */
const cascade_store *csc_store_set_inside(const cascade_store *store);

/* ---- words.c: what all backends have in common --------------------------- */

/* Of reading a row that is listed: what cannot be read is told, where the query
 * asks for that: S73. `id`: as far as it is known, else all zero. */
cascade_err csc_store_tell_fault(const cascade_query *query, void *context,
                                 const cascade_uuid *id, cascade_err err);
/* A page of strays: S75. */
typedef struct csc_store_straying {
    cascade_stray kind;
    size_t limit;
    size_t looked; /* at so many ids */
    cascade_uuid *cursor;
    cascade_uuid began; /* what that was */
    cascade_fault_sink sink;
    void *context;
} csc_store_straying;

void csc_store_begin_strays(csc_store_straying *s, cascade_stray kind,
                            size_t limit, cascade_uuid *cursor,
                            cascade_fault_sink sink, void *context);
/* The next id, and whether there is not what it names. */
cascade_err csc_store_stray(csc_store_straying *s, const cascade_uuid *id,
                            bool stray);
/* An id that cannot be read, told by the thread's error, names nothing. */
cascade_err csc_store_stray_fault(csc_store_straying *s);
cascade_err csc_store_end_strays(const csc_store_straying *s, cascade_err err,
                                 bool *more);
/* The table that rows of the kind are in. */
const char *csc_store_stray_table(cascade_stray kind);
/* What a row counts against the bytes_max of `scan`, of `receive`. */
size_t csc_store_execution_bytes(const cascade_execution_row *row);
size_t csc_store_event_bytes(const cascade_event_row *row);
size_t csc_store_message_bytes(const cascade_message_row *row);
/* Whether a message of that kind is to end its cascade: S59. */
bool csc_store_message_ends(const char *kind);
/* Whether a page of so many bytes ends: S45, S46. */
bool csc_store_is_full(size_t bytes, size_t bytes_max);
/* An error of a move of which nothing has taken effect, nor will: S34. */
cascade_err csc_store_undone(cascade_err err);

/* Ask the engines of the handle; without any: nothing, and false. */
csc_aside csc_store_find_aside(cascade_store *store, const cascade_uuid *id);
bool csc_store_is_held(cascade_store *store, const cascade_uuid *id);
bool csc_store_is_served(cascade_store *store);

/* Adds and removes an engine of this process. All have the same `answers`.
 * _add: CASCADE_ERR_TOO_LARGE. */
cascade_err csc_store_add_engine(cascade_store *store, cascade_engine *engine,
                                 const csc_store_answers *answers);
void csc_store_remove_engine(cascade_store *store, cascade_engine *engine);

/* The store's time, never ahead of it. Where a server keeps the clock it is
 * asked once a second at most: in between, its last answer (which was cut to
 * the millisecond, and given before it came) goes on by the system's monotonic
 * clock, a thousandth slower. Only a clock that is set back shows within that
 * second. */
cascade_err csc_store_get_now(cascade_store *store, int64_t *now_ms);

#endif
