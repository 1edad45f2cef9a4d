/* SPDX-License-Identifier: MIT
 *
 * Threads of the library. Signals belong to the host's threads: ours block all
 * of them.
 */
#include "base/thread.h"

#include <signal.h>

#include "base/error.h"
#include "cascade/cascade.h"

cascade_err
csc_thread_create(pthread_t *thread, size_t stack_size, void *(*main)(void *),
                  void *context)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;
    int failed = pthread_attr_init(&attr);

    if (failed != 0)
        return csc_fail(CASCADE_ERR_SYSTEM, "cannot make thread attributes");
    if (stack_size > 0)
        failed = pthread_attr_setstacksize(&attr, stack_size);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failed == 0)
        failed = pthread_create(thread, &attr, main, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    if (failed != 0)
        return csc_fail(CASCADE_ERR_SYSTEM,
                        "cannot create a thread (error %d): use fewer workers, "
                        "smaller stacks, or raise the limit",
                        failed);
    return CASCADE_OK;
}
