/* SPDX-License-Identifier: MIT
 *
 * A blocked signal stays pending until sigtimedwait() takes it: no handler and
 * no global variable.
 */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static sigset_t
only_sigint(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    return set;
}

void
interrupt_hold(void)
{
    const sigset_t set = only_sigint();

    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

bool
interrupt_wait(int64_t ms)
{
    const sigset_t set = only_sigint();
    const struct timespec limit = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000) * 1000000};

    return sigtimedwait(&set, NULL, &limit) == SIGINT;
}
