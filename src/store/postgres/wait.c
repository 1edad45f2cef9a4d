/* SPDX-License-Identifier: MIT
 *
 * Waiting for work, and telling others that there is some.
 *
 * WAIT listens on a connection of its own. Several threads may wait at once;
 * one of them, the listener's keeper, polls the connection for all and rings
 * the others' eventfds:
 *
 *   keeper   poll(listener, own eventfd, wake_fd)
 *   others   poll(          own eventfd, wake_fd)
 *
 * A keeper that leaves rings one other waiter, which returns early; who waits
 * next becomes the keeper. Notifications that arrive while nobody waits stay in
 * the socket and end the next wait at once. A new listener ends all waits too:
 * what was told before it was there was not heard.
 *
 * The keeper also hears for those that do not wait just then. So the handle
 * counts what was heard (notifications and new listeners), each waiter keeps
 * the count that its last wait saw, and a wait that finds another count returns
 * at once:
 *
 *   heard      7      8                8
 *   keeper     waits  rings, returns   (seen 8) waits
 *   another    looks for runs          (seen 7) returns at once, seen 8
 *
 * Listening only shortens waiting. Behind a pooler, with a single connection,
 * or while the server is away, a wait is a sleep.
 *
 * WAKE sends a notification outside any transaction of the tables, since NOTIFY
 * makes transactions commit one after the other. Threads that call it while one
 * is on its way share the next:
 *
 *   asked 1 2 3 4 5       (3, 4 and 5 came while 2 was being sent)
 *   sent      2     5
 *
 * A submit that is alone sends its own behind its COMMIT (commit.c).
 */
#include "store/postgres/internal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define LISTEN_AGAIN_MS 1000

/* ---- Listening ----------------------------------------------------------- */

static cascade_err
listen_on(csc_postgres_conn *conn)
{
    csc_postgres_call call = {.statement = CSC_POSTGRES_LISTEN};
    cascade_err err;

    err = csc_postgres_conn_read(conn, "wait", &call, 1);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

/* Connects and listens, within `until_ms` and as long as wake_fd is silent. */
static csc_postgres_conn *
open_listener(csc_postgres *store, int wake_fd, int64_t until_ms)
{
    csc_postgres_conn *conn = NULL;

    if (!csc_postgres_pool_reserve(store))
        return NULL;
    if (csc_postgres_conn_open(store, until_ms, wake_fd, &conn) == CASCADE_OK) {
        conn->deadline_ms = until_ms;
        conn->cancel_fd = wake_fd;
        if (listen_on(conn) == CASCADE_OK)
            return conn;
        csc_postgres_conn_close(conn);
    }
    csc_postgres_pool_unreserve(store);
    return NULL;
}

static void
close_listener(csc_postgres *store)
{
    csc_postgres_conn *conn;

    csc_lock_take(&store->wait_mutex);
    conn = store->listener;
    store->listener = NULL;
    store->listen_after_ms = csc_postgres_now_ms() + LISTEN_AGAIN_MS;
    csc_lock_give(&store->wait_mutex);
    csc_postgres_conn_close(conn);
    csc_postgres_pool_unreserve(store);
}

/* What came in on the listener: *heard tells of a notification. False when the
 * connection is gone. */
static bool
take_notifications(csc_postgres_conn *conn, bool *heard)
{
    *heard = false;
    if (PQconsumeInput(conn->pg) != 1 || PQstatus(conn->pg) != CONNECTION_OK)
        return false;
    for (;;) {
        PGnotify *notification = PQnotifies(conn->pg);

        if (notification == NULL)
            return true;
        PQfreemem(notification);
        *heard = true;
    }
}

/* ---- Waiters ------------------------------------------------------------- */

static void
ring(int fd)
{
    uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        return; /* full: it rings already */
}

/* Tells those that wait, and those that will: under wait_mutex. */
static void
tell_all_locked(csc_postgres *store)
{
    csc_assert(csc_lock_is_held(&store->wait_mutex));
    store->heard++;
    for (csc_postgres_waiter *at = store->waiters; at != NULL; at = at->next)
        ring(at->fd);
}

/* Enters the list, unless something was heard that `result` has not seen;
 * *keeper tells that the caller is to keep the listener. */
static bool
enter(csc_postgres *store, csc_postgres_waiter *waiter,
      const cascade_waited *result, bool *keeper)
{
    bool entered;

    *keeper = false;
    csc_lock_take(&store->wait_mutex);
    entered = result == NULL || result->seen == store->heard;
    if (entered) {
        waiter->next = store->waiters;
        store->waiters = waiter;
        *keeper = !store->listening && !store->config->pooler;
        store->listening = store->listening || *keeper;
    }
    csc_lock_give(&store->wait_mutex);
    return entered;
}

static void
leave(csc_postgres *store, csc_postgres_waiter *waiter, bool keeper)
{
    csc_postgres_waiter **at = &store->waiters;

    csc_lock_take(&store->wait_mutex);
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    if (keeper) {
        store->listening = false;
        if (store->waiters != NULL)
            ring(store->waiters->fd);
    }
    csc_lock_give(&store->wait_mutex);
}

/* One poll: true when the wait is over. */
static bool
poll_once(csc_postgres *store, const csc_postgres_waiter *waiter, int wake_fd,
          csc_postgres_conn *listener, int64_t until_ms)
{
    struct pollfd fds[3] = {
        {.fd = wake_fd, .events = POLLIN},
        {.fd = waiter->fd, .events = POLLIN},
        {.fd = listener == NULL ? -1 : PQsocket(listener->pg),
         .events = POLLIN}};
    int64_t left_ms = until_ms - csc_postgres_now_ms();
    bool heard;

    if (left_ms < 0)
        left_ms = 0;
    if (poll(fds, 3, left_ms > INT_MAX ? INT_MAX : (int)left_ms) < 0)
        return errno != EINTR;
    if (listener != NULL && fds[2].fd < 0) {
        close_listener(store);
    } else if (listener != NULL && fds[2].revents != 0) {
        if (!take_notifications(listener, &heard)) {
            close_listener(store);
        } else if (heard) {
            csc_lock_take(&store->wait_mutex);
            tell_all_locked(store);
            csc_lock_give(&store->wait_mutex);
        }
    }
    return fds[0].revents != 0 || fds[1].revents != 0;
}

/* The listener, made when it is time to. */
static csc_postgres_conn *
get_listener(csc_postgres *store, int wake_fd, int64_t until_ms)
{
    csc_postgres_conn *conn;
    int64_t now_ms = csc_postgres_now_ms();
    int64_t limit_ms = now_ms + store->config->deadline_ms;
    bool due;

    csc_lock_take(&store->wait_mutex);
    conn = store->listener;
    due = conn == NULL && now_ms >= store->listen_after_ms;
    csc_lock_give(&store->wait_mutex);
    if (!due)
        return conn;
    conn = open_listener(store, wake_fd,
                         limit_ms < until_ms ? limit_ms : until_ms);
    csc_lock_take(&store->wait_mutex);
    store->listener = conn;
    if (conn == NULL)
        store->listen_after_ms = csc_postgres_now_ms() + LISTEN_AGAIN_MS;
    else
        tell_all_locked(store);
    csc_lock_give(&store->wait_mutex);
    return conn;
}

/* Without a listener the keeper wakes up to try again; one it has just got
 * rings its own eventfd too. */
static void
keep_until(csc_postgres *store, const csc_postgres_waiter *waiter, int wake_fd,
           bool keeper, int64_t until_ms)
{
    bool over = false;

    while (!over && csc_postgres_now_ms() < until_ms) {
        csc_postgres_conn *listener = NULL;
        int64_t next_ms = until_ms;

        if (keeper) {
            listener = get_listener(store, wake_fd, until_ms);
            if (listener == NULL &&
                csc_postgres_now_ms() + LISTEN_AGAIN_MS < until_ms)
                next_ms = csc_postgres_now_ms() + LISTEN_AGAIN_MS;
        }
        over = poll_once(store, waiter, wake_fd, listener, next_ms);
    }
}

static void
fill_result(csc_postgres *store, cascade_waited *result)
{
    csc_lock_take(&store->wait_mutex);
    result->woken = result->seen != store->heard;
    result->seen = store->heard;
    result->listening = store->listener != NULL;
    csc_lock_give(&store->wait_mutex);
}

cascade_err
csc_postgres_wait_for(void *self, int wake_fd, int64_t timeout_ms,
                      cascade_waited *result)
{
    csc_postgres *store = self;
    csc_postgres_waiter waiter;
    int64_t now_ms = csc_postgres_now_ms();
    int64_t until_ms;
    bool keeper;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (timeout_ms < 0 || timeout_ms > INT64_MAX - now_ms)
        until_ms = INT64_MAX;
    else
        until_ms = now_ms + timeout_ms;
    waiter.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waiter.fd < 0) {
        err =
            csc_fail(CASCADE_ERR_SYSTEM, "eventfd: %s", strerrorname_np(errno));
        goto out;
    }
    if (enter(store, &waiter, result, &keeper)) {
        keep_until(store, &waiter, wake_fd, keeper, until_ms);
        leave(store, &waiter, keeper);
    }
    close(waiter.fd);

out:
    if (result != NULL)
        fill_result(store, result);
    return err;
}

/* ---- Waking -------------------------------------------------------------- */

void
csc_postgres_wait_fill_notify(const csc_postgres *store,
                              csc_postgres_call *call,
                              csc_postgres_params *params)
{
    csc_postgres_params_init(params);
    csc_postgres_params_text(params, store->channel);
    *call =
        (csc_postgres_call){.statement = CSC_POSTGRES_NOTIFY, .params = params};
}

static cascade_err
notify(csc_postgres_conn *conn, void *context)
{
    csc_postgres_params params;
    csc_postgres_call call;
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    (void)context;
    csc_postgres_wait_fill_notify(conn->store, &call, &params);
    err = csc_postgres_conn_read(conn, "wake", &call, 1);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

/* The mutex is given up meanwhile. */
static cascade_err
send_for_all_locked(csc_postgres *store, int64_t deadline_ms)
{
    uint64_t asked = store->wakes_asked;
    cascade_err err;

    csc_assert(csc_lock_is_held(&store->wake_mutex));
    store->waking = true;
    csc_lock_give(&store->wake_mutex);
    err = csc_postgres_pool_run_until(store, deadline_ms, CSC_POSTGRES_ALWAYS,
                                      notify, NULL);
    csc_lock_take(&store->wake_mutex);
    store->waking = false;
    store->wakes_sent = asked;
    pthread_cond_broadcast(&store->woken);
    return err;
}

/* Those that share one share its fate: losing a notification costs no more
 * than a poll interval, so it is reported to one of them only. */
cascade_err
csc_postgres_wait_wake_until(csc_postgres *store, int64_t deadline_ms)
{
    cascade_err err = CASCADE_OK;
    uint64_t mine;

    csc_lock_take(&store->wake_mutex);
    mine = ++store->wakes_asked;
    while (store->wakes_sent < mine && store->waking && err == CASCADE_OK) {
        csc_postgres_pool_sleep(&store->woken, &store->wake_mutex, deadline_ms);
        if (csc_postgres_now_ms() >= deadline_ms)
            err = csc_fail(CASCADE_ERR_UNAVAILABLE,
                           "wake: the server was not reached in time");
    }
    if (store->wakes_sent < mine && err == CASCADE_OK)
        err = send_for_all_locked(store, deadline_ms);
    csc_lock_give(&store->wake_mutex);
    return err;
}

cascade_err
csc_postgres_wait_wake(void *self)
{
    csc_postgres *store = self;

    csc_assert(csc_lock_is_none_held());
    if (csc_postgres_guest_is_within(store))
        return csc_fail(CASCADE_ERR_MISUSE,
                        "wake: a transaction is open on the connection of this "
                        "store: call it after the COMMIT");
    return csc_postgres_wait_wake_until(store, csc_postgres_now_ms() +
                                                   store->config->deadline_ms);
}
