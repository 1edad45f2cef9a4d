/* SPDX-License-Identifier: MIT
 *
 * Waiting for something to claim, and waking those who wait: of other handles
 * and other processes alike.
 *
 *   wake   writes a new random token into the sidecar file
 *   wait   watches that file with inotify and compares the token
 *
 * So an idle process costs nothing at all: no polling, no query. Whoever makes
 * something claimable wakes: a commit or submit with a free run, and remove, by
 * themselves; everybody else calls the move. A process that dies between its
 * commit and the wake costs the others one poll interval of theirs.
 *
 * A wake that comes while an engine is not waiting (it is just looking, perhaps
 * too early) must not be lost: each waiter keeps the token that it saw last, in
 * its result, and a wait that finds another returns at once. The watch is there
 * before the token is read, so nothing falls in between.
 *
 * Waiters without a result share what the handle saw. Those who are woken while
 * they wait do not touch it: another may not have looked yet. The price is one
 * wait that ends early for nothing.
 *
 * An inotify descriptor serves one wait at a time and is kept for the next one
 * (to close one takes the kernel milliseconds). Where there is none to be had
 * the token is looked at every POLL_MIN_MS to POLL_MAX_MS. Waiting is in real
 * time, also when the injected clock is not.
 */
#include "store/sqlite/internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define POLL_MIN_MS 20
#define POLL_MAX_MS 200

/* ---- Watches ------------------------------------------------------------- */

static int
open_watch(const csc_sqlite *store)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        return -1;
    if (inotify_add_watch(fd, store->lock.path, IN_MODIFY | IN_DONT_FOLLOW) <
        0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int
take_watch(csc_sqlite *store)
{
    int fd = -1;

    if (store->lock.fd < 0)
        return -1;
    csc_lock_take(&store->mutex);
    for (size_t i = 0; i < CSC_SQLITE_WATCHES && fd < 0; i++) {
        fd = store->watches[i];
        store->watches[i] = -1;
    }
    csc_lock_give(&store->mutex);
    return fd >= 0 ? fd : open_watch(store);
}

static void
give_watch_back(csc_sqlite *store, int fd)
{
    if (fd < 0)
        return;
    csc_lock_take(&store->mutex);
    for (size_t i = 0; i < CSC_SQLITE_WATCHES && fd >= 0; i++) {
        if (store->watches[i] < 0) {
            store->watches[i] = fd;
            fd = -1;
        }
    }
    csc_lock_give(&store->mutex);
    if (fd >= 0)
        (void)close(fd);
}

void
csc_sqlite_wait_fini(csc_sqlite *store)
{
    for (size_t i = 0; i < CSC_SQLITE_WATCHES; i++) {
        if (store->watches[i] >= 0)
            (void)close(store->watches[i]);
        store->watches[i] = -1;
    }
}

/* Events that are in the descriptor already; what they tell is the token. */
static void
drain(int fd)
{
    char events[4096];
    ssize_t len = 1;

    while (fd >= 0 && len > 0)
        len = read(fd, events, sizeof(events));
}

/* ---- Waiting ------------------------------------------------------------- */

/* True when the token is another than the one the waiters without a result saw
 * last. */
static bool
was_handle_woken(csc_sqlite *store, uint64_t token)
{
    bool woken;

    csc_lock_take(&store->mutex);
    woken = token != store->seen_wake;
    store->seen_wake = token;
    csc_lock_give(&store->mutex);
    return woken;
}

static int
get_timeout_ms(int64_t left_ms, int watch, unsigned round)
{
    int64_t step_ms = INT32_MAX;

    if (watch < 0) {
        step_ms = POLL_MIN_MS * ((int64_t)round + 1);
        if (step_ms > POLL_MAX_MS)
            step_ms = POLL_MAX_MS;
    }
    if (left_ms > step_ms)
        left_ms = step_ms;
    return left_ms < 0 ? 0 : (int)left_ms;
}

/* Until the time is over, wake_fd is readable, or the token is not `before` any
 * more. */
static cascade_err
wait_readable(csc_sqlite *store, int watch, int wake_fd, int64_t timeout_ms,
              uint64_t before)
{
    struct pollfd fds[2] = {{.fd = wake_fd, .events = POLLIN},
                            {.fd = watch, .events = POLLIN}};
    int64_t until_ms =
        csc_clock_add(csc_clock_monotonic_ms(&csc_clock_system), timeout_ms);

    for (unsigned round = 0;; round++) {
        int64_t left_ms = until_ms - csc_clock_monotonic_ms(&csc_clock_system);
        int timeout = get_timeout_ms(left_ms, watch, round);
        int ready = poll(fds, 2, timeout);

        if (ready < 0 && errno != EINTR)
            return cascade_store_fail(CASCADE_ERR_SYSTEM,
                                      "wait: poll failed (errno %d)", errno);
        if (ready > 0 && fds[0].revents != 0)
            return CASCADE_OK;
        drain(ready > 0 ? watch : -1);
        if (csc_sqlite_lock_get_token(&store->lock) != before)
            return CASCADE_OK;
        if (left_ms <= timeout && ready <= 0)
            return CASCADE_OK;
    }
}

cascade_err
csc_sqlite_wait_for(void *self, int wake_fd, int64_t timeout_ms,
                    cascade_waited *result)
{
    csc_sqlite *store = self;
    int watch = take_watch(store);
    uint64_t before = result != NULL ? result->seen : 0;
    uint64_t token;
    bool woken;
    cascade_err err = CASCADE_OK;

    drain(watch);
    token = csc_sqlite_lock_get_token(&store->lock);
    woken = result != NULL ? token != before : was_handle_woken(store, token);
    if (!woken) {
        err = wait_readable(store, watch, wake_fd, timeout_ms, token);
        token = csc_sqlite_lock_get_token(&store->lock);
    }
    give_watch_back(store, watch);
    if (result != NULL)
        *result = (cascade_waited){.seen = token,
                                   .woken = token != before,
                                   .listening = store->lock.fd >= 0};
    return err;
}

cascade_err
csc_sqlite_wait_wake(void *self)
{
    csc_sqlite *store = self;
    uint64_t token;

    if (store->guest.session != NULL &&
        store->guest.session->put_off_wake(store))
        return CASCADE_OK;
    if (store->read_only)
        return CASCADE_OK; /* nothing became claimable through this handle */
    token = csc_sqlite_lock_get_token(&store->lock);
    token += csc_clock_random_u64(store->config->random) | 1; /* another one */
    return csc_sqlite_lock_set_token(&store->lock, token);
}
