/* SPDX-License-Identifier: MIT
 *
 * The lease: who renews it, when, and when nobody does.
 *
 *   attached, or renewed     half of it is over      an eighth more
 *     |------------------------|-----------------------|---------------> lost
 *                              housekeeper             keeper
 *
 * The housekeeper renews it in passing. Where it is late, as it works or waits
 * for the store, the keeper does: a thread that has nothing else to do, so that
 * nothing holds it up. In the mode INLINE there is none: there the housekeeper
 * renews between its pieces of work, each of which is bounded. Nor does the
 * keeper call the host's log function.
 *
 * SIGNS OF LIFE. A process whose pipeline hangs must lose its lease, or nobody
 * ever takes over what it owns. So nobody renews it unless each lane that has
 * something to do, and the housekeeper, have given a sign within the time of a
 * lease: at the beginning and end of a round, and amid what takes long, as
 * loading. It does not count how long the functions of nodes take. One that
 * comes to life again before the lease is lost keeps it.
 */
#include "engine/lease.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "commit/lane.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/incarnation.h"
#include "held/lane/lane_queue.h"
#include "held/log_queue.h"
#include "held/run/drop.h"
#include "held/run/ready_queue.h"
#include "held/vital.h"
#include "held/wakeup.h"
#include "store/move.h"

#define RETRY_MS 100
#define LATE_SHARE 8 /* of a lease: how late the housekeeper may be */
#define LOOK_SHARE 4 /* how often the keeper looks for signs of life */

static int64_t
lease_ns(const cascade_engine *engine)
{
    csc_assert(engine->options.lease_ms > 0);
    return engine->options.lease_ms * CSC_MS_NS;
}

/* Whether it has given a sign in time; one that `owes` none counts as alive. */
static bool
is_alive_locked(csc_vital *vital, bool owes, int64_t now_ns, int64_t max_ns)
{
    uint64_t signs = atomic_load_explicit(&vital->signs, memory_order_relaxed);

    csc_assert(max_ns > 0);
    if (!owes || signs != vital->seen || vital->alive_ns == 0)
        vital->alive_ns = now_ns;
    vital->seen = signs;
    return now_ns - vital->alive_ns <= max_ns;
}

/* That of a transactional node waits for a worker, while it is not in a round:
 * these may all be in functions. */
static bool
owes_sign(const csc_lane *lane)
{
    int64_t at_ns = 0;

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    return lane->in_round ||
           (!lane->native && csc_lane_pending_locked(lane, &at_ns));
}

/* What hangs, or NULL. */
static const char *
find_hung_locked(cascade_engine *engine)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    const char *hung = NULL;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->options.mode == CASCADE_MODE_INLINE)
        return NULL; /* whoever asks is all there is */
    if (!is_alive_locked(&engine->lease.house, true, now_ns, lease_ns(engine)))
        hung = "the housekeeper";
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++) {
        csc_lane *lane = &engine->lanes[i];

        if (!is_alive_locked(&lane->vital, owes_sign(lane), now_ns,
                             lease_ns(engine)))
            hung = "a lane";
    }
    return hung;
}

static void
begin_anew(csc_vital *vital)
{
    vital->alive_ns = 0;
}

/* ---- Renewing ------------------------------------------------------------ */

void
csc_lease_begin_locked(cascade_engine *engine, int64_t sent_ns)
{
    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->incarnation.attached);
    engine->lease.until_ns = sent_ns + lease_ns(engine);
    engine->lease.renew_at_ns = sent_ns + lease_ns(engine) / 2;
    engine->lease.withheld = false;
    begin_anew(&engine->lease.house);
    for (uint32_t i = 0; i < csc_lane_queue_lane_count(engine); i++)
        begin_anew(&engine->lanes[i].vital);
}

/* The lease was extended, unless it was lost meanwhile. */
static void
note_renewed_locked(cascade_engine *engine, int64_t sent_ns)
{
    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->incarnation.attached);
    if (sent_ns + lease_ns(engine) > engine->lease.until_ns) {
        engine->lease.until_ns = sent_ns + lease_ns(engine);
        engine->lease.renew_at_ns = sent_ns + lease_ns(engine) / 2;
    }
    if (engine->ready.count == 0)
        return;
    csc_ready_queue_call_all(engine);
    csc_wakeup_host_locked(engine);
}

static void
note_answer_locked(cascade_engine *engine, const cascade_uuid *id,
                   cascade_err err, int64_t sent_ns)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!engine->incarnation.attached ||
        !csc_uuid_equal(&engine->incarnation.id, id))
        return; /* it was that of an incarnation before */
    if (err == CASCADE_OK)
        note_renewed_locked(engine, sent_ns);
    else if (err == CASCADE_ERR_FENCED || err == CASCADE_ERR_LOST)
        csc_drop_lose(engine, err);
    else
        engine->lease.renew_at_ns =
            csc_clock_now_ns(engine) + RETRY_MS * CSC_MS_NS;
}

/* Told once for each time. */
static void
withhold_locked(cascade_engine *engine, const char *hung)
{
    csc_assert(csc_lock_is_held(&engine->mutex) &&
               engine->incarnation.attached);
    if (!engine->lease.withheld)
        csc_log_queue_add(engine, CASCADE_LOG_ERROR,
                          "the lease is not renewed: %s has given no sign of "
                          "life for the time of a lease",
                          hung);
    engine->lease.withheld = true;
    engine->lease.renew_at_ns = csc_clock_now_ns(engine) + RETRY_MS * CSC_MS_NS;
}

/* Whether it is to be renewed now, as `id`. */
static bool
is_due(cascade_engine *engine, cascade_uuid *id)
{
    const char *hung = NULL;
    bool due = false;

    csc_lock_take(&engine->mutex);
    hung = find_hung_locked(engine);
    *id = engine->incarnation.id;
    due = engine->incarnation.attached &&
          csc_clock_now_ns(engine) >= engine->lease.renew_at_ns;
    if (due && hung != NULL)
        withhold_locked(engine, hung);
    else if (due)
        engine->lease.withheld = false;
    csc_lock_give(&engine->mutex);
    return due && hung == NULL;
}

void
csc_lease_renew(cascade_engine *engine)
{
    int64_t sent_ns = csc_clock_now_ns(engine);
    cascade_err err = CASCADE_OK;
    cascade_uuid id;
    int64_t now_ms = 0;

    csc_assert(csc_lock_is_none_held());
    if (!is_due(engine, &id))
        return;
    err = csc_move_renew(engine->store, &id, engine->options.lease_ms, &now_ms);
    csc_lock_take(&engine->mutex);
    if (err == CASCADE_OK)
        csc_clock_note_now_locked(engine, sent_ns, now_ms);
    note_answer_locked(engine, &id, err, sent_ns);
    if (err != CASCADE_OK)
        csc_log_queue_add(engine, CASCADE_LOG_WARNING,
                          "renewing the lease failed: %s", cascade_errmsg());
    csc_lock_give(&engine->mutex);
}

/* ---- The keeper ---------------------------------------------------------- */

/* It calls no function of the host's, which might hold it up: others tell what
 * it has noted. But where the lease is withheld there may be no others, and
 * nothing to hold up. */
static void
tell_if_withheld(cascade_engine *engine)
{
    bool withheld = false;

    csc_lock_take(&engine->mutex);
    withheld = engine->lease.withheld;
    csc_lock_give(&engine->mutex);
    if (withheld)
        csc_log_queue_tell(engine);
}

int64_t
csc_lease_keep(cascade_engine *engine)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    int64_t wait_ns = lease_ns(engine) / LOOK_SHARE;
    int64_t late_ns = lease_ns(engine) / LATE_SHARE;
    int64_t left_ns = 0;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&engine->mutex);
    (void)find_hung_locked(engine); /* notes the signs there were */
    left_ns = engine->incarnation.attached
                  ? engine->lease.renew_at_ns + late_ns - now_ns
                  : INT64_MAX;
    csc_lock_give(&engine->mutex);
    if (left_ns <= 0) {
        csc_lease_renew(engine);
        tell_if_withheld(engine);
        left_ns = late_ns;
    }
    if (left_ns < wait_ns)
        wait_ns = left_ns;
    return wait_ns / CSC_MS_NS + 1;
}
