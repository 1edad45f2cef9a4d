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

struct cascade_store {
    const cascade_store_driver *driver;
    void *self;                  /* the backend's */
    cascade_store_config config; /* its texts and tables are the handle's */
    cascade_clock clock;
    cascade_random random;
    csc_log log;
    pthread_mutex_t mutex; /* guards engines, engine_count, ended, now_* */
    pthread_cond_t ended_cond;
    uint64_t ended; /* counts the ends of cascades seen by local engines */
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

/* Tells cascade_wait() in this process that some cascade has ended. */
void csc_store_note_ended(cascade_store *store);

/* Sleeps until csc_store_note_ended() was called after `*seen` was read, or
 * `timeout_ms` passes; updates `*seen`. */
void csc_store_wait_ended(cascade_store *store, uint64_t *seen,
                          int64_t timeout_ms);

#endif
