/* SPDX-License-Identifier: MIT
 *
 * Starts that wait for a transaction which is not ours.
 *
 * An application may have started a cascade in a transaction of its own, by its
 * key or its id, and leave that open. Whoever starts the same one has to wait
 * for how it ends. A lane must not: all that it commits would wait too. So the
 * store gives up such a batch soon (S33), the lane takes the starts out of it,
 * and each caller goes on here, in its own thread:
 *
 *   lane --AGAIN--> held --one try--> made, or existed: answered
 *                    ^       |
 *                    +-rest--+ AGAIN
 *
 * A try is a submit of its own, owned by nobody; the engines are told, and one
 * claims it. It is brief, since it has a connection all the while; and of all
 * the callers that wait here only a few try at a time, in turn, so that most of
 * the connections are left to the engines whatever number of callers there is:
 * a quarter of them at most, but one try at least. Where there are fewer than
 * four connections, that one is more than a quarter.
 *
 * The turn goes from one to the next. Those that have not been tried alone yet
 * are first: a batch that is given up has one start that is held, as a rule,
 * and the others would pass at once.
 *
 * While one waits here, whoever starts a cascade of the same id joins it
 * without going through a lane: a lane is held up once for a transaction, not
 * once for each call.
 *
 * No try has taken effect where the last one was AGAIN, unless one before it
 * was UNAVAILABLE, or the lane had met that (`doubtful`): then its caller is
 * told CASCADE_ERR_OUTCOME_UNKNOWN when its time is over, or when the store
 * fails otherwise, else CASCADE_ERR_UNAVAILABLE. If we die, the start is there
 * or it is not, as any other (start.c). The last try may begin just before the
 * caller's time is over, and has the store's whole deadline.
 *
 * What goes by a submit from the beginning (start.c) comes here at once, where
 * an engine of this process needs the connections.
 *
 * LOCKS. store->held.mutex guards the list and the members of a csc_start that
 * engine_state.h says it does. It is taken last: a lane adds with its engine
 * locked.
 */
#include "client/blocked_start.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "client/submit.h"
#include "held/lane/blocked.h"
#include "held/lane/start_request.h"
#include "held/run/sealing.h"
#include "held/wakeup.h"
#include "store/store.h"

#define REST_FIRST_MS 10
#define REST_MAX_MS 100
#define CONNECTIONS_PER_TRY 4 /* there are, for each that tries */

static void
take_out(csc_store_held *held, csc_start *start)
{
    csc_start *previous = NULL;
    csc_start *at = held->first;

    csc_assert(csc_lock_is_held(&held->mutex));
    while (at != start) {
        previous = at;
        at = at->held_next;
    }
    if (previous != NULL)
        previous->held_next = start->held_next;
    else
        held->first = start->held_next;
    if (held->last == start)
        held->last = previous;
}

/* ---- Taking turns ------------------------------------------------------- */

static size_t
tries_max(const cascade_store *store)
{
    size_t max = store->config.connection_max / CONNECTIONS_PER_TRY;

    return max > 0 ? max : 1;
}

/* False: its time was over before its turn came. */
static bool
enter(cascade_store *store, csc_start *start, int64_t end_ms)
{
    csc_store_held *held = &store->held;
    int64_t left = csc_clock_left_ms(end_ms);
    bool entered = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&held->mutex);
    start->in_line = held->tries >= tries_max(store);
    if (!start->in_line)
        held->tries++;
    while (start->in_line && left > 0) {
        csc_wakeup_wait_on(&held->mutex, &start->cond, left);
        left = csc_clock_left_ms(end_ms);
    }
    entered = !start->in_line;
    start->in_line = false;
    csc_lock_give(&held->mutex);
    return entered;
}

/* The next in line has this one's turn, and nobody else can take it; this one
 * is last from now on. */
static void
leave(cascade_store *store, csc_start *start)
{
    csc_store_held *held = &store->held;
    csc_start *next = NULL;

    csc_lock_take(&held->mutex);
    take_out(held, start);
    start->fresh = false;
    csc_blocked_append(held, start);
    next = held->first;
    while (next != NULL && !next->in_line)
        next = next->held_next;
    if (next != NULL) {
        next->in_line = false;
        pthread_cond_signal(&next->cond);
    } else {
        held->tries--;
    }
    csc_lock_give(&held->mutex);
}

/* ---- Trying ------------------------------------------------------------- */

static cascade_err
try_until(cascade_store *store, csc_start *start,
          const cascade_submission *submission, int64_t end_ms)
{
    int64_t rest_ms = REST_FIRST_MS;
    cascade_err err = CASCADE_ERR_AGAIN;

    while (enter(store, start, end_ms)) {
        err = csc_sealing_submit(store, submission);
        leave(store, start);
        start->doubtful = start->doubtful || err == CASCADE_ERR_UNAVAILABLE;
        if (err != CASCADE_ERR_AGAIN && err != CASCADE_ERR_UNAVAILABLE)
            return err;
        if (csc_clock_left_ms(end_ms) <= rest_ms)
            return err;
        csc_submit_sleep(rest_ms);
        rest_ms = rest_ms * 2 < REST_MAX_MS ? rest_ms * 2 : REST_MAX_MS;
    }
    return err;
}

static cascade_err
fail_late(const cascade_store *store, const csc_start *start, cascade_err err)
{
    const char *why = err == CASCADE_ERR_AGAIN
                          ? "it waits for another transaction, such as one "
                            "that starts the same cascade"
                          : cascade_errmsg();

    if (start->doubtful)
        return csc_submit_undecided(store, "start", why);
    return csc_fail(CASCADE_ERR_UNAVAILABLE,
                    "start: not made within %lld ms: %s",
                    (long long)store->config.deadline_ms, why);
}

/* What the caller is told, once there is no try to come. */
static cascade_err
answer(cascade_store *store, const csc_start *start, cascade_err err)
{
    if (err == CASCADE_OK)
        csc_wakeup_tell_all(store);
    if (err == CASCADE_ERR_AGAIN || err == CASCADE_ERR_UNAVAILABLE)
        return fail_late(store, start, err);
    return start->doubtful ? csc_error_in_doubt(err, "start") : err;
}

cascade_err
csc_blocked_start_submit(cascade_store *store, csc_start *start,
                         const cascade_submission *submission, int64_t end_ms)
{
    cascade_err err = try_until(store, start, submission, end_ms);

    csc_lock_take(&store->held.mutex);
    take_out(&store->held, start);
    csc_lock_give(&store->held.mutex);
    return answer(store, start, err);
}

static bool
is_anybody_held(cascade_store *store)
{
    bool is = false;

    csc_lock_take(&store->held.mutex);
    is = store->held.first != NULL;
    csc_lock_give(&store->held.mutex);
    return is;
}

cascade_err
csc_blocked_start_send(cascade_store *store, csc_start *start,
                       const cascade_submission *submission, int64_t end_ms)
{
    cascade_err err;

    if (!is_anybody_held(store)) {
        err = csc_submit_shared(store, submission, end_ms);
        start->doubtful = err == CASCADE_ERR_UNAVAILABLE;
        if (err == CASCADE_ERR_NOT_DONE)
            return fail_late(store, start, err);
        if (err != CASCADE_ERR_AGAIN && err != CASCADE_ERR_UNAVAILABLE)
            return err;
    }
    if (!csc_blocked_join(store, start))
        csc_blocked_add(store, start);
    return csc_blocked_start_submit(store, start, submission, end_ms);
}
