/* SPDX-License-Identifier: MIT
 *
 * To be preloaded into a test program (LD_PRELOAD): some of its calls take
 * longer, by chance, so that what usually comes first may come last.
 *
 *   CASCADE_SLOW_SYNC_MS   each fsync() and fdatasync() takes up to that much
 *                          longer, as on a slow disk; 0 or absent: no longer
 *   CASCADE_SLOW_ORDER_US  one in 256 locks, unlocks, wake-ups and waits for a
 *                          descriptor, and each first step of a thread, comes
 *                          up to that much later
 *   CASCADE_SLOW_SEED      other choices; absent: the time
 *
 * Nothing but time changes: a test that fails with it has gone by luck. The
 * choices are those of a thread: where threads do the same, they are repeated.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ONE_IN 256
#define NS_PER_US 1000
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

static int64_t sync_ns;
static int64_t order_ns;
static uint64_t seed;
static atomic_uint_fast64_t threads;
static _Thread_local uint64_t random_state;

static int64_t
number_in(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoll(text, NULL, 10);
}

__attribute__((constructor)) static void
read_settings(void)
{
    sync_ns = number_in("CASCADE_SLOW_SYNC_MS", 0) * NS_PER_MS;
    order_ns = number_in("CASCADE_SLOW_ORDER_US", 0) * NS_PER_US;
    seed = (uint64_t)number_in("CASCADE_SLOW_SEED", time(NULL));
}

/* SplitMix64, a sequence for each thread. */
static uint64_t
next_random(void)
{
    uint64_t mixed = 0;

    if (random_state == 0)
        random_state = (seed + atomic_fetch_add(&threads, 1) + 1) *
                       UINT64_C(0xbf58476d1ce4e5b9);
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    mixed =
        (random_state ^ (random_state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

static void
pause_up_to(int64_t most_ns)
{
    int64_t ns = most_ns <= 0 ? 0 : (int64_t)(next_random() >> 1) % most_ns;
    struct timespec left = {ns / NS_PER_S, ns % NS_PER_S};
    int kept = errno;

    while (ns > 0 && nanosleep(&left, &left) != 0)
        ;
    errno = kept;
}

static void
come_later(void)
{
    if (order_ns > 0 && next_random() % ONE_IN == 0)
        pause_up_to(order_ns);
}

/* ---- The calls ----------------------------------------------------------- */

/* What the C library calls so; the program ends where it knows none. */
static void *
find(_Atomic(void *) *found, const char *name)
{
    void *call = atomic_load(found);

    if (call != NULL)
        return call;
    call = dlsym(RTLD_NEXT, name);
    if (call == NULL)
        _exit(127);
    atomic_store(found, call);
    return call;
}

/* Defines a function with the name of one of the C library: `first`, then that
 * one. (dlsym() gives what is no pointer to a function.) */
#define SLOWER(name, parameters, arguments, first) \
    int name parameters                            \
    {                                              \
        static _Atomic(void *) found;              \
        int(*call) parameters = NULL;              \
                                                   \
        *(void **)&call = find(&found, #name);     \
        first;                                     \
        return call arguments;                     \
    }

SLOWER(fsync, (int fd), (fd), pause_up_to(sync_ns))
SLOWER(fdatasync, (int fd), (fd), pause_up_to(sync_ns))
SLOWER(pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), come_later())
SLOWER(pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex), come_later())
SLOWER(sem_post, (sem_t * sem), (sem), come_later())
SLOWER(poll, (struct pollfd * fds, nfds_t count, int timeout_ms),
       (fds, count, timeout_ms), come_later())

/* ---- Threads ------------------------------------------------------------- */

typedef struct beginning {
    void *(*run)(void *);
    void *argument;
} beginning;

static void *
begin_later(void *context)
{
    beginning wanted = *(beginning *)context;

    free(context);
    pause_up_to(order_ns);
    return wanted.run(wanted.argument);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*run)(void *), void *argument)
{
    static _Atomic(void *) found;
    int (*call)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                void *) = NULL;
    beginning *wanted = malloc(sizeof(*wanted));
    int failed = EAGAIN;

    *(void **)&call = find(&found, "pthread_create");
    if (wanted == NULL)
        return failed;
    *wanted = (beginning){run, argument};
    failed = call(thread, attributes, begin_later, wanted);
    if (failed != 0)
        free(wanted);
    return failed;
}
