/* SPDX-License-Identifier: MIT
 *
 * Every mutex and condition of the library is made and ended in this file, so
 * that a test can fail the Nth of them, as it can an allocation (mem.h), and
 * count those alive: glibc itself fails in neither.
 *
 * With CASCADE_ASSERTS a mutex knows its owner: taking it twice, giving back
 * what another thread has, and a function that is called without the lock it
 * needs stop the program where they happen. A wait for a condition gives the
 * mutex back meanwhile, and has it again when it returns. So the first line of
 * a function that is called under a lock says under which:
 *
 *     csc_assert(csc_lock_is_held(&engine->mutex));
 *
 * and one that may wait for others, or calls the host, says that there is none:
 *
 *     csc_assert(csc_lock_is_none_held());
 */
#ifndef CSC_BASE_LOCK_H
#define CSC_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"

/* CASCADE_ERR_SYSTEM; then there is nothing to end. */
cascade_err csc_lock_init_mutex(pthread_mutex_t *mutex);

/* One that counts monotonic time: setting the clock must not end a wait. */
cascade_err csc_lock_init_cond(pthread_cond_t *cond);

/* Waits for the condition, `timeout_ms` at most; may end early. */
void csc_lock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                   int64_t timeout_ms);

#ifdef CASCADE_ASSERTS
void csc_lock_take(pthread_mutex_t *mutex);
void csc_lock_give(pthread_mutex_t *mutex);

/* Whether this thread has it; not of one with a static initialiser. For
 * assertions: where it has not, the answer may take the mutex for a moment. */
bool csc_lock_is_held(const pthread_mutex_t *mutex);

/* Whether this thread has none of those that csc_lock_take() gave it. */
bool csc_lock_is_none_held(void);
#else
static inline void
csc_lock_take(pthread_mutex_t *mutex)
{
    (void)pthread_mutex_lock(mutex);
}

static inline void
csc_lock_give(pthread_mutex_t *mutex)
{
    (void)pthread_mutex_unlock(mutex);
}
#endif

void csc_lock_fini_mutex(pthread_mutex_t *mutex);
void csc_lock_fini_cond(pthread_cond_t *cond);

#if CASCADE_FAULTS
#include <stddef.h>

/* Tests: the `nth` from now on fails to be made (1: the next); 0: none. Returns
 * how many were asked for since the last call. */
size_t csc_lock_fail_at(size_t nth);
/* Tests: mutexes and conditions alive now. */
size_t csc_lock_live(void);
#endif

#endif
