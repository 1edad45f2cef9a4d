/* SPDX-License-Identifier: MIT
 *
 * Every mutex and condition of the library is made and ended in this file, so
 * that a test can fail the Nth of them, as it can an allocation (mem.h), and
 * count those alive: glibc itself fails in neither.
 */
#ifndef CSC_BASE_LOCK_H
#define CSC_BASE_LOCK_H

#include <pthread.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* CASCADE_ERR_SYSTEM; then there is nothing to end. */
cascade_err csc_lock_init_mutex(pthread_mutex_t *mutex);

/* One that counts monotonic time: setting the clock must not end a wait. */
cascade_err csc_lock_init_cond(pthread_cond_t *cond);

/* Waits for the condition, `timeout_ms` at most; may end early. */
void csc_lock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                   int64_t timeout_ms);

void csc_lock_fini_mutex(pthread_mutex_t *mutex);
void csc_lock_fini_cond(pthread_cond_t *cond);

#ifdef CASCADE_FAULTS
#include <stddef.h>

/* Tests: the `nth` from now on fails to be made (1: the next); 0: none. Returns
 * how many were asked for since the last call. */
size_t csc_lock_fail_at(size_t nth);
/* Tests: mutexes and conditions alive now. */
size_t csc_lock_live(void);
#endif

#endif
