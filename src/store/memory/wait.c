/* SPDX-License-Identifier: MIT
 *
 * Waiting and waking in the memory store. A waiter brings an eventfd, hangs it
 * into the model's list and polls it together with the caller's wake_fd; a
 * wake writes to all of them.
 *
 * A wake that comes when an engine is not waiting (it is just looking for runs,
 * and may have looked too early) must not be lost: the model counts wakes, each
 * waiter keeps the count that its last wait saw, and a wait that finds another
 * count returns at once. Several engines on one handle do not take wakes from
 * each other: what is seen is the waiter's, in its result.
 *
 * Waiters without a result share one count in the handle. Those who are woken
 * while they wait do not touch it: another may not have seen that wake yet. The
 * price is one wait that ends early for nothing.
 *
 * Waiting is in real time, also when the injected clock is not.
 */
#include "store/memory/internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

/* Enters the waiter, unless there was a wake that is not in `*seen`. */
static bool
enter(csc_memory_model *model, csc_memory_waiter *waiter, uint64_t *seen)
{
    bool entered = false;

    csc_assert(waiter->next == NULL);
    csc_lock_take(&model->mutex);
    if (*seen == model->wakes) {
        waiter->next = model->waiters;
        model->waiters = waiter;
        entered = true;
    }
    *seen = model->wakes;
    csc_lock_give(&model->mutex);
    return entered;
}

/* How many wakes there were by now. */
static uint64_t
leave(csc_memory_model *model, const csc_memory_waiter *waiter)
{
    csc_memory_waiter **at = &model->waiters;
    uint64_t wakes;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&model->mutex);
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    wakes = model->wakes;
    csc_lock_give(&model->mutex);
    return wakes;
}

/* Polls until one of the two is readable or the time has passed. */
static cascade_err
wait_readable(int own_fd, int wake_fd, int64_t timeout_ms)
{
    struct pollfd fds[2] = {{.fd = own_fd, .events = POLLIN},
                            {.fd = wake_fd, .events = POLLIN}};
    int64_t until_ms =
        csc_clock_add(csc_clock_monotonic_ms(&csc_clock_system), timeout_ms);

    for (;;) {
        int64_t left_ms = until_ms - csc_clock_monotonic_ms(&csc_clock_system);
        int timeout = left_ms <= 0          ? 0
                      : left_ms > INT32_MAX ? INT32_MAX
                                            : (int)left_ms;
        int ready = poll(fds, 2, timeout);

        if (ready > 0 || (ready == 0 && left_ms <= timeout))
            return CASCADE_OK;
        if (ready < 0 && errno != EINTR)
            return csc_fail(CASCADE_ERR_SYSTEM, "wait: poll failed: %s",
                            strerrordesc_np(errno));
    }
}

cascade_err
csc_memory_wait_for(void *self, int wake_fd, int64_t timeout_ms,
                    cascade_waited *result)
{
    csc_memory *memory = self;
    csc_memory_waiter waiter = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    uint64_t before = result != NULL ? result->seen : 0;
    uint64_t seen = before;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (waiter.fd < 0) {
        err = csc_fail(CASCADE_ERR_SYSTEM, "wait: eventfd failed: %s",
                       strerrordesc_np(errno));
        goto out;
    }
    if (enter(memory->model, &waiter, result != NULL ? &seen : &memory->seen)) {
        err = wait_readable(waiter.fd, wake_fd, timeout_ms);
        seen = leave(memory->model, &waiter);
    }
    close(waiter.fd);

out:
    if (result != NULL)
        *result = (cascade_waited){
            .seen = seen, .woken = seen != before, .listening = true};
    return err;
}

cascade_err
csc_memory_wait_wake(void *self)
{
    csc_memory *memory = self;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&memory->model->mutex);
    memory->model->wakes++;
    for (const csc_memory_waiter *waiter = memory->model->waiters;
         waiter != NULL; waiter = waiter->next) {
        /* Fails only when the counter is full: then it is readable. */
        (void)eventfd_write(waiter->fd, 1);
    }
    csc_lock_give(&memory->model->mutex);
    return CASCADE_OK;
}
