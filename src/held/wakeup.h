/* SPDX-License-Identifier: MIT
 *
 * Waking the housekeeper, the host's loop and threads.
 */
#ifndef CSC_HELD_WAKEUP_H
#define CSC_HELD_WAKEUP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_WAIT_MAX_MS 60000

/* Who waits for what, and how he is told. Under the engine's mutex. */
typedef struct csc_wakeup {
    pthread_cond_t quiet_cond; /* drain waits here */
    bool threads_end;          /* lanes, housekeeper and keeper leave */
    int house_fd;   /* eventfd: wakes the housekeeper (or I/O thread) */
    int poll_fd;    /* eventfd: wakes the host's loop; -1 in THREADS */
    int stop_fd;    /* eventfd: readable once a stop was requested */
    size_t callers; /* threads inside cascade_start() or _poll() */
    bool poll_signalled;
    bool house_signalled;
    bool told;      /* somebody said that there is work */
    bool listening; /* what others say is heard */
} csc_wakeup;
/* Ends a wait of the housekeeper, of the host's loop. */
void csc_wakeup_house_locked(cascade_engine *engine);
void csc_wakeup_host_locked(cascade_engine *engine);
/* Forgets that the housekeeper was woken: it is awake. */
void csc_wakeup_house_awake_locked(cascade_engine *engine);
/* A timed wait in real time. */
void csc_wakeup_wait_locked(cascade_engine *engine, pthread_cond_t *cond,
                            int64_t timeout_ms);
/* The same with another mutex, which is held. */
void csc_wakeup_wait_on(pthread_mutex_t *mutex, pthread_cond_t *cond,
                        int64_t timeout_ms);
/* Tells the engines of this process that there may be something for them. */
void csc_wakeup_tell_all(cascade_store *store);

/* Makes an eventfd readable. */
void csc_wakeup_signal(int fd);

/* It is not any more. */
void csc_wakeup_drain(int fd);

#endif
