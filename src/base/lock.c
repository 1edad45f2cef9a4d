/* SPDX-License-Identifier: MIT
 *
 * A thin layer without state in a normal build; with CASCADE_FAULTS, which is 1
 * for our tests alone, it counts what is alive and can let the Nth fail.
 *
 * The owner of a mutex is what an error-checking one of POSIX keeps: to ask for
 * such a mutex until a time that has passed is answered with EDEADLK to its
 * owner, and to nobody else. So the answer is right while a condition is waited
 * for, and where a test locks one by itself. How many a thread has is counted
 * beside it, and does not know of those.
 */
#include "base/lock.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "cascade/cascade.h"

#if CASCADE_FAULTS
#include <stdatomic.h>

static atomic_size_t asked;
static atomic_size_t fail_nth;
static atomic_size_t live;

size_t
csc_lock_fail_at(size_t nth)
{
    size_t before = 0;

    atomic_store(&fail_nth, 0);
    before = atomic_exchange(&asked, 0);
    atomic_store(&fail_nth, nth);
    return before;
}

size_t
csc_lock_live(void)
{
    return atomic_load(&live);
}

static bool
is_failing(void)
{
    size_t number = atomic_fetch_add(&asked, 1) + 1;

    return number == atomic_load(&fail_nth);
}

static void
count_made(void)
{
    atomic_fetch_add(&live, 1);
}

static void
count_ended(void)
{
    atomic_fetch_sub(&live, 1);
}
#else
#define is_failing() false
#define count_made() ((void)0)
#define count_ended() ((void)0)
#endif

static cascade_err
made(const char *what, int failed)
{
    if (failed != 0)
        return csc_fail(CASCADE_ERR_SYSTEM, "cannot make a %s (error %d)", what,
                        failed);
    count_made();
    return CASCADE_OK;
}

#ifdef CASCADE_ASSERTS
static _Thread_local int held_count; /* taken here, and not given back */

static int
make_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;
    int failed = pthread_mutexattr_init(&attr);

    if (failed == 0) {
        failed = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
        if (failed == 0)
            failed = pthread_mutex_init(mutex, &attr);
        (void)pthread_mutexattr_destroy(&attr);
    }
    return failed;
}

void
csc_lock_take(pthread_mutex_t *mutex)
{
    int failed = pthread_mutex_lock(mutex);

    csc_assert(failed == 0); /* EDEADLK: this thread has it already */
    held_count++;
}

void
csc_lock_give(pthread_mutex_t *mutex)
{
    int failed = pthread_mutex_unlock(mutex);

    csc_assert(failed == 0); /* EPERM: this thread does not have it */
    held_count--;
}

bool
csc_lock_is_held(const pthread_mutex_t *mutex)
{
    const struct timespec passed = {0};
    pthread_mutex_t *one = NULL; /* asked by trying: it is not changed */
    int answer = 0;

    memcpy(&one, &mutex, sizeof(one));
    answer = pthread_mutex_timedlock(one, &passed);
    if (answer == 0)
        (void)pthread_mutex_unlock(one);
    return answer == EDEADLK;
}

bool
csc_lock_is_none_held(void)
{
    return held_count <= 0; /* below 0: a test has locked it by itself */
}
#else
static int
make_mutex(pthread_mutex_t *mutex)
{
    return pthread_mutex_init(mutex, NULL);
}
#endif

cascade_err
csc_lock_init_mutex(pthread_mutex_t *mutex)
{
    int failed = is_failing() ? EAGAIN : make_mutex(mutex);

    return made("mutex", failed);
}

cascade_err
csc_lock_init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    int failed = is_failing() ? EAGAIN : pthread_condattr_init(&attr);

    if (failed == 0) {
        failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        if (failed == 0)
            failed = pthread_cond_init(cond, &attr);
        (void)pthread_condattr_destroy(&attr);
    }
    return made("condition variable", failed);
}

void
csc_lock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t timeout_ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_cond_timedwait(cond, mutex, &until);
}

void
csc_lock_fini_mutex(pthread_mutex_t *mutex)
{
    (void)pthread_mutex_destroy(mutex);
    count_ended();
}

void
csc_lock_fini_cond(pthread_cond_t *cond)
{
    (void)pthread_cond_destroy(cond);
    count_ended();
}
