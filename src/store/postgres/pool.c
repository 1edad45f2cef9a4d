/* SPDX-License-Identifier: MIT
 *
 * The connections of a store: at most config->connection_max, made when they
 * are needed, kept in a list of idle ones, the last used first. A move that
 * finds none waits for one, up to the deadline. Only the renewal of a lease
 * does not: where all are in use, it makes one more, and the next one that is
 * given back is closed.
 *
 *   take: idle and alive? -> it          \
 *         room for one more? -> connect   >- the move -> give back, or close
 *         else wait                      /               when it is broken
 *
 * A server that went away is met by every move at once. Attempts to connect are
 * therefore spaced for the whole store: after a failure nobody tries again for
 * 10 ms, doubling up to a second; the first success ends that. Within its
 * deadline a move goes on trying, since a connection that was not made has done
 * nothing. What was sent over a connection that then broke is repeated only
 * where the move says so.
 *
 * A CONNECTION THAT FALLS SILENT is given up before all of the call's time is
 * over: an eighth of it is left to repeat the move on another, which tells what
 * became of the first try, or takes its place. That one may still be under way
 * in its backend, with its locks, since nobody tells a server that the network
 * is gone: so before anything else is done the backend is ended (`silent`). It
 * is known by its number and by when it began, on the server's clock: where the
 * number has passed to another since, or the server is another one, nothing
 * fits, and none is ended. Nor is it where that clock was set meanwhile, behind
 * a pooler, where it waits for a standby, and where the role may not: then the
 * repetition waits for it as for anybody, and what is not found out in time
 * stays UNAVAILABLE.
 *
 * The store of a guest has one connection, which is neither made nor closed
 * here: see borrowed.c.
 */
#include "store/postgres/internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define BACKOFF_FIRST_MS 10
#define BACKOFF_MAX_MS 1000
#define SPARE_SHARE 8    /* of a call's time */
#define CLOCK_OFF_MS 500 /* by which two clocks may differ, in a moment */
#define DRIFT_SHARE 1000 /* and of what has passed since */
#define LISTENER_FROM 2  /* connections there must be to spend one on LISTEN */

static cascade_err
init_conds(csc_postgres *store)
{
    cascade_err err = csc_lock_init_cond(&store->changed);

    if (err != CASCADE_OK)
        return err;
    err = csc_lock_init_cond(&store->woken);
    if (err != CASCADE_OK)
        csc_lock_fini_cond(&store->changed);
    return err;
}

static cascade_err
init_mutexes(csc_postgres *store)
{
    cascade_err err = csc_lock_init_mutex(&store->mutex);

    if (err != CASCADE_OK)
        return err;
    err = csc_lock_init_mutex(&store->wait_mutex);
    if (err != CASCADE_OK)
        goto no_wait_mutex;
    err = csc_lock_init_mutex(&store->wake_mutex);
    if (err == CASCADE_OK)
        return CASCADE_OK;
    csc_lock_fini_mutex(&store->wait_mutex);
no_wait_mutex:
    csc_lock_fini_mutex(&store->mutex);
    return err;
}

static void
fini_conds(csc_postgres *store)
{
    csc_lock_fini_cond(&store->changed);
    csc_lock_fini_cond(&store->woken);
}

cascade_err
csc_postgres_pool_init(csc_postgres *store)
{
    cascade_err err = init_conds(store);

    if (err != CASCADE_OK)
        return err;
    err = init_mutexes(store);
    if (err != CASCADE_OK)
        fini_conds(store);
    return err;
}

static void
close_all(csc_postgres_conn *conns)
{
    while (conns != NULL) {
        csc_postgres_conn *conn = conns;

        conns = conn->next;
        csc_postgres_conn_close(conn);
    }
}

void
csc_postgres_pool_fini(csc_postgres *store)
{
    close_all(store->idle);
    close_all(store->native_idle);
    fini_conds(store);
    csc_lock_fini_mutex(&store->mutex);
    csc_lock_fini_mutex(&store->wait_mutex);
    csc_lock_fini_mutex(&store->wake_mutex);
}

/* Sleeps on a condition until `until_ms`; spurious ends are welcome. */
void
csc_postgres_pool_sleep(pthread_cond_t *cond, pthread_mutex_t *mutex,
                        int64_t until_ms)
{
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};

    csc_assert(csc_lock_is_held(mutex));
    pthread_cond_timedwait(cond, mutex, &until);
}

/* ---- Connecting ---------------------------------------------------------- */

static void
note_connected(csc_postgres *store, bool good)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    if (good) {
        store->backoff_ms = 0;
        store->connect_after_ms = 0;
    } else {
        store->backoff_ms =
            store->backoff_ms == 0 ? BACKOFF_FIRST_MS : store->backoff_ms * 2;
        if (store->backoff_ms > BACKOFF_MAX_MS)
            store->backoff_ms = BACKOFF_MAX_MS;
        store->connect_after_ms = csc_postgres_now_ms() + store->backoff_ms;
    }
    pthread_cond_broadcast(&store->changed);
    csc_lock_give(&store->mutex);
}

/* What take() found to do. */
typedef enum next_step {
    STEP_USE,
    STEP_CONNECT,
    STEP_WAIT
} next_step;

/* Connections that ended while they were idle are
 * collected in `*dead`, to be closed without it. */
static next_step
look_locked(csc_postgres *store, bool urgent, csc_postgres_conn **conn,
            csc_postgres_conn **dead, int64_t *until_ms)
{
    csc_assert(csc_lock_is_held(&store->mutex));
    while (store->idle != NULL) {
        csc_postgres_conn *first = store->idle;

        store->idle = first->next;
        first->next = NULL;
        if (csc_postgres_conn_alive(first)) {
            *conn = first;
            return STEP_USE;
        }
        first->next = *dead;
        *dead = first;
        store->open_count--;
    }
    if (store->open_count >= store->config->connection_max + urgent)
        return STEP_WAIT;
    if (csc_postgres_now_ms() < store->connect_after_ms) {
        if (store->connect_after_ms < *until_ms)
            *until_ms = store->connect_after_ms;
        return STEP_WAIT;
    }
    store->open_count++;
    return STEP_CONNECT;
}

static cascade_err
connect_one(csc_postgres *store, int64_t deadline_ms, csc_postgres_conn **conn)
{
    cascade_err err = csc_postgres_conn_open(store, deadline_ms, -1, conn);

    csc_assert(csc_lock_is_none_held());
    note_connected(store, err == CASCADE_OK);
    if (err == CASCADE_OK)
        csc_log_add(&store->log, CASCADE_LOG_DEBUG, "postgres: connected");
    else
        csc_log_add(&store->log, CASCADE_LOG_WARNING, "postgres: %s",
                    cascade_errmsg());
    return err;
}

static void
wait_for_turn(csc_postgres *store, int64_t deadline_ms)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    while (csc_postgres_now_ms() < store->connect_after_ms &&
           csc_postgres_now_ms() < deadline_ms)
        csc_postgres_pool_sleep(&store->changed, &store->mutex,
                                store->connect_after_ms < deadline_ms
                                    ? store->connect_after_ms
                                    : deadline_ms);
    csc_lock_give(&store->mutex);
}

cascade_err
csc_postgres_pool_connect(csc_postgres *store, int64_t deadline_ms,
                          csc_postgres_conn **conn)
{
    cascade_err err;

    csc_assert(csc_lock_is_none_held());
    do {
        wait_for_turn(store, deadline_ms);
        err = connect_one(store, deadline_ms, conn);
    } while (err == CASCADE_ERR_UNAVAILABLE &&
             csc_postgres_now_ms() < deadline_ms);
    return err;
}

/* `last` is how the last attempt to connect failed; its text still stands. */
static cascade_err
fail_busy(const csc_postgres *store, cascade_err last)
{
    if (last != CASCADE_OK)
        return last;
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "all %zu connections to PostgreSQL were in use for %lld ms",
                    store->config->connection_max,
                    (long long)store->config->deadline_ms);
}

static cascade_err
take(csc_postgres *store, bool urgent, int64_t deadline_ms,
     csc_postgres_conn **conn)
{
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (store->guest != NULL)
        return csc_postgres_guest_take(store, deadline_ms, conn);
    for (;;) {
        csc_postgres_conn *dead = NULL;
        int64_t until_ms = deadline_ms;
        next_step step;

        csc_lock_take(&store->mutex);
        step = look_locked(store, urgent, conn, &dead, &until_ms);
        if (step == STEP_WAIT && dead == NULL)
            csc_postgres_pool_sleep(&store->changed, &store->mutex, until_ms);
        csc_lock_give(&store->mutex);
        close_all(dead);
        if (step == STEP_USE)
            return CASCADE_OK;
        if (step == STEP_CONNECT) {
            err = connect_one(store, deadline_ms, conn);
            if (err != CASCADE_OK)
                csc_postgres_pool_unreserve(store);
            if (err != CASCADE_ERR_UNAVAILABLE)
                return err;
        }
        if (csc_postgres_now_ms() >= deadline_ms)
            return fail_busy(store, err);
    }
}

/* ---- Connections that fell silent ---------------------------------------- */

static void
add_silent_locked(csc_postgres *store, const csc_postgres_silent *one)
{
    csc_assert(csc_lock_is_held(&store->mutex));
    if (store->silent_count == CSC_POSTGRES_SILENT_MAX) {
        store->silent_count--;
        memmove(store->silent, store->silent + 1,
                store->silent_count * sizeof(store->silent[0]));
    }
    store->silent[store->silent_count++] = *one;
}

static bool
take_silent(csc_postgres *store, csc_postgres_silent *one)
{
    bool any;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    any = store->silent_count > 0;
    if (any)
        *one = store->silent[--store->silent_count];
    csc_lock_give(&store->mutex);
    return any;
}

static void
add_age(csc_postgres_params *params, int64_t ms, char text[40])
{
    (void)snprintf(text, 40, "%lld milliseconds", (long long)ms);
    csc_postgres_params_text(params, text);
}

static void
end_one(csc_postgres_conn *conn, const csc_postgres_silent *one)
{
    int64_t now_ms = csc_postgres_now_ms();
    int64_t off_ms = CLOCK_OFF_MS + (now_ms - one->opening_ms) / DRIFT_SHARE;
    csc_postgres_params params;
    PGresult *result;
    char least[40];
    char most[40];

    csc_assert(csc_lock_is_none_held());
    csc_postgres_params_init(&params);
    csc_postgres_params_i32(&params, one->pid);
    add_age(&params, now_ms - one->opened_ms - off_ms, least);
    add_age(&params, now_ms - one->opening_ms + off_ms, most);
    if (csc_postgres_conn_query(conn, "end",
                                conn->store->sql[CSC_POSTGRES_END_SILENT],
                                &params, &result) == CASCADE_OK &&
        csc_postgres_result_i64(result, 0, 0) > 0)
        csc_log_add(&conn->store->log, CASCADE_LOG_WARNING,
                    "postgres: ended a backend that had fallen silent");
    PQclear(result);
}

/* That one cannot be ended is no reason to fail, but that we cannot ask is: it
 * is asked for again. */
static cascade_err
end_silent(csc_postgres *store, csc_postgres_conn *conn)
{
    csc_postgres_silent one;

    csc_assert(csc_lock_is_none_held());
    while (!conn->guest && take_silent(store, &one)) {
        end_one(conn, &one);
        if (conn->broken) {
            csc_lock_take(&store->mutex);
            add_silent_locked(store, &one);
            csc_lock_give(&store->mutex);
            return csc_postgres_error_lost(conn);
        }
    }
    return CASCADE_OK;
}

/* ---- Giving back --------------------------------------------------------- */

/* Of one that is closed. */
static void
note_silent_locked(csc_postgres *store, const csc_postgres_conn *conn)
{
    const csc_postgres_silent one = {.pid = PQbackendPID(conn->pg),
                                     .opening_ms = conn->opening_ms,
                                     .opened_ms = conn->opened_ms};

    csc_assert(csc_lock_is_held(&store->mutex));
    if (conn->silent && !store->config->pooler)
        add_silent_locked(store, &one);
}

/* After a move that ended with `err`; returns that. */
static cascade_err
give_back(csc_postgres *store, csc_postgres_conn *conn, cascade_err err)
{
    bool close;

    csc_assert(csc_lock_is_none_held());
    if (conn->guest)
        return csc_postgres_guest_give_back(conn, err);
    close = conn->broken || PQstatus(conn->pg) != CONNECTION_OK ||
            (PQtransactionStatus(conn->pg) != PQTRANS_IDLE && !conn->owed);

    csc_lock_take(&store->mutex);
    close = close || store->open_count > store->config->connection_max;
    if (close) {
        store->open_count--;
        note_silent_locked(store, conn);
    } else {
        conn->next = store->idle;
        store->idle = conn;
    }
    pthread_cond_broadcast(&store->changed);
    csc_lock_give(&store->mutex);
    if (close)
        csc_postgres_conn_close(conn);
    return err;
}

/* An idle connection makes room where there is none. */
bool
csc_postgres_pool_reserve(csc_postgres *store)
{
    csc_postgres_conn *idle = NULL;
    bool good = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    if (store->config->connection_max >= LISTENER_FROM) {
        good = store->open_count < store->config->connection_max;
        if (good) {
            store->open_count++;
        } else if (store->idle != NULL) {
            idle = store->idle;
            store->idle = idle->next;
            good = true;
        }
    }
    csc_lock_give(&store->mutex);
    csc_postgres_conn_close(idle);
    return good;
}

void
csc_postgres_pool_unreserve(csc_postgres *store)
{
    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    csc_assert(store->open_count > 0);
    store->open_count--;
    pthread_cond_broadcast(&store->changed);
    csc_lock_give(&store->mutex);
}

/* ---- Running a move ------------------------------------------------------ */

static void
pause_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                             .tv_nsec = (long)(ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
}

/* Whether it must not be repeated, whatever it said. */
static bool
is_final(const csc_postgres_conn *conn, csc_postgres_again again)
{
    csc_assert(!conn->within || conn->guest);
    if (conn->broken && (conn->guest || again == CSC_POSTGRES_IF_UNDONE))
        return true;
    return conn->final || conn->within;
}

cascade_err
csc_postgres_pool_run(csc_postgres *store, csc_postgres_again again,
                      csc_postgres_move move, void *context)
{
    return csc_postgres_pool_run_until(
        store, csc_postgres_now_ms() + store->config->deadline_ms, again, move,
        context);
}

int64_t
csc_postgres_pool_spare_ms(const cascade_store_config *config)
{
    return config->deadline_ms / SPARE_SHARE;
}

/* When a try is given up that another may follow. */
static int64_t
give_up_at(const csc_postgres *store, csc_postgres_again again,
           int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - csc_postgres_now_ms();

    if (store->guest != NULL || again < CSC_POSTGRES_ALWAYS || left_ms <= 0)
        return deadline_ms;
    return deadline_ms - left_ms / SPARE_SHARE;
}

/* A guest's connection must outlive the move: so it is repeated only while the
 * server would give up a lock before we give up the server. */
cascade_err
csc_postgres_pool_run_until(csc_postgres *store, int64_t deadline_ms,
                            csc_postgres_again again, csc_postgres_move move,
                            void *context)
{
    int64_t backoff_ms = BACKOFF_FIRST_MS;
    int64_t spare_ms =
        store->guest == NULL ? 0 : csc_postgres_lock_ms(store->config);

    csc_assert(csc_lock_is_none_held());
    for (;;) {
        csc_postgres_conn *conn;
        bool final;
        cascade_err err =
            take(store, again == CSC_POSTGRES_URGENT, deadline_ms, &conn);

        if (err != CASCADE_OK)
            return err;
        conn->deadline_ms = give_up_at(store, again, deadline_ms);
        conn->final = again == CSC_POSTGRES_ONCE;
        conn->doubtful = false;
        err = end_silent(store, conn);
        if (err == CASCADE_OK)
            err = move(conn, context);
        final = is_final(conn, again);
        err = give_back(store, conn, err);
        if (err != CASCADE_ERR_UNAVAILABLE || final ||
            csc_postgres_now_ms() + backoff_ms + spare_ms >= deadline_ms)
            return err;
        pause_ms(backoff_ms);
        backoff_ms =
            backoff_ms * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : backoff_ms * 2;
    }
}
