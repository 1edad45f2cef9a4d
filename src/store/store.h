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
#include "cascade/cascade.h"
#include "cascade/store.h"

#define CSC_STORE_ENGINES_MAX 64
#define CSC_STORE_WATCH_LISTS 64

/* A call that waits until something has come of a cascade; it lies on the
 * caller's stack. */
typedef struct csc_store_watch {
    cascade_uuid id;
    bool told;
    pthread_cond_t cond;
    struct csc_store_watch *next;
} csc_store_watch;

struct cascade_store {
    const cascade_store_driver *driver;
    void *self;                  /* the backend's */
    cascade_store_config config; /* its texts and tables are the handle's */
    cascade_clock clock;
    cascade_random random;
    csc_log log;
    pthread_mutex_t mutex; /* guards engines, engine_count, watches, now_* */
    csc_store_watch *watches[CSC_STORE_WATCH_LISTS]; /* by their ids */
    cascade_engine *engines[CSC_STORE_ENGINES_MAX];
    size_t engine_count;
    int64_t now_offset_ns; /* see csc_store_get_now() */
    int64_t now_read_at_ns;
};

/* The drivers built in; NULL when that backend is not. */
const cascade_store_driver *csc_store_memory_driver(void);
const cascade_store_driver *csc_store_sqlite_driver(void);
const cascade_store_driver *csc_store_postgres_driver(void);

/* The driver for a URL; CASCADE_ERR_INVALID for none, _UNSUPPORTED for one
 * that is not built in. The URL itself (it may hold a password) is in no error
 * text. */
cascade_err csc_store_driver_find(const char *url,
                                  const cascade_store_driver **driver);

/* Adds and removes an engine of this process. _add: CASCADE_ERR_TOO_LARGE. */
cascade_err csc_store_add_engine(cascade_store *store, cascade_engine *engine);
void csc_store_remove_engine(cascade_store *store, cascade_engine *engine);

/* The store's time, never ahead of it. Where a server keeps the clock it is
 * asked once a second at most: in between, its last answer (which was cut to
 * the millisecond, and given before it came) goes on by the system's monotonic
 * clock, a thousandth slower. Only a clock that is set back shows within that
 * second. */
cascade_err csc_store_get_now(cascade_store *store, int64_t *now_ms);

/* From now on `watch` is told what comes of that cascade, until _end. Begin it
 * before the first look. */
cascade_err csc_store_watch_begin(cascade_store *store, csc_store_watch *watch,
                                  const cascade_uuid *id);
void csc_store_watch_end(cascade_store *store, csc_store_watch *watch);
/* From now on it is told of that one instead. */
void csc_store_watch_move(cascade_store *store, csc_store_watch *watch,
                          const cascade_uuid *id);

/* Sleeps until it is told, or was since the last time: true; or `timeout_ms`
 * passes: false. */
bool csc_store_watch_wait(cascade_store *store, csc_store_watch *watch,
                          int64_t timeout_ms);

/* Tells those in this process that watch the cascade, and nobody else, to look:
 * an engine has recorded its end, or what else they may wait for. */
void csc_store_watch_tell(cascade_store *store, const cascade_uuid *id);

#endif
