/* SPDX-License-Identifier: MIT
 *
 * The other engines on the store: which there are, when to look at them again,
 * and what to do about those that are dead (G6).
 *
 *   looked at      the store's list: each incarnation, and when its lease ends
 *   look again     when the first of those leases ends, when the process of
 *                  one on this machine is gone, after `lease_ms` at the latest,
 *                  and when somebody has woken us, since who attaches does
 *   dead           the lease has ended by the store's clock, or the process is
 *                  gone. Removed, and its runs freed in portions; between two
 *                  portions what is free is claimed
 *
 * An engine that lives renews long before its lease ends, so at that moment the
 * list shows another end; one that died shows the same, and is taken over then
 * and there. Where wakes are not heard (behind a pooler) somebody may have come
 * whom we do not know, so we look every poll interval.
 *
 * Runs may be left behind by whoever removed their engine: he died over it, or
 * somebody held their locks. The look at the list tells of them, and they are
 * freed like those of the dead; until then every poll looks again.
 */
#include "claim/peers.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "claim/hydrate.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/erasure_due.h"
#include "held/incarnation.h"
#include "held/wakeup.h"
#include "store/move.h"
#include "store/store.h"

#define FREE_PORTION 1000 /* runs freed by one call */
#define SUSPECT_LOOKS 6   /* every how many looks suspects are looked for */

/* What a look finds. */
typedef struct look {
    cascade_engine *engine;
    csc_peer peers[CSC_PEERS_MAX];
    size_t count;
    size_t total; /* those that did not fit too */
    cascade_uuid dead[CSC_PEERS_MAX];
    size_t dead_count;
    int64_t lease_ms; /* the shortest that is left of any */
    bool orphans;     /* there are runs of owners that are gone */
} look;

/* On this machine a process can be seen to be gone. */
static bool
is_gone(const csc_peer *peer)
{
    return peer->local &&
           csc_clock_process_start(peer->pid) != peer->process_start;
}

static cascade_err
note_engine(void *context, const cascade_incarnation *row)
{
    look *l = context;
    csc_peer peer = {.engine_id = row->engine_id,
                     .pid = row->pid,
                     .process_start = row->process_start,
                     .local = l->engine->host[0] != '\0' &&
                              strcmp(row->host, l->engine->host) == 0};

    csc_assert(l->count <= l->total && l->count <= CSC_PEERS_MAX);
    if (csc_uuid_equal(&row->engine_id, &l->engine->incarnation.id))
        return CASCADE_OK;
    l->total++;
    if (row->lease_ms < l->lease_ms)
        l->lease_ms = row->lease_ms;
    if (l->count < CSC_PEERS_MAX)
        l->peers[l->count++] = peer;
    if (is_gone(&peer) && l->dead_count < CSC_PEERS_MAX)
        l->dead[l->dead_count++] = row->engine_id;
    return CASCADE_OK;
}

static bool
is_same(const cascade_engine *engine, const look *l)
{
    bool same = engine->peers->count == l->count && l->total == l->count;

    csc_assert(csc_lock_is_held(&engine->mutex) && l->count <= CSC_PEERS_MAX);
    for (size_t i = 0; i < l->count && same; i++)
        same = csc_uuid_equal(&engine->peers->list[i].engine_id,
                              &l->peers[i].engine_id);
    return same;
}

/* Whether there is something to remove, or to free, perhaps. */
static bool
note_look(cascade_engine *engine, const look *l)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    bool changed = false;
    bool remove = false;

    csc_lock_take(&engine->mutex);
    changed = !is_same(engine, l);
    memcpy(engine->peers->list, l->peers, sizeof(engine->peers->list));
    engine->peers->count = l->count;
    engine->peers->looked_at_ns = now_ns;
    engine->peers->look_at_ns = now_ns + (l->lease_ms < engine->options.lease_ms
                                              ? l->lease_ms + 1
                                              : engine->options.lease_ms) *
                                             CSC_MS_NS;
    remove = l->orphans || l->dead_count > 0 || l->lease_ms <= 0;
    if (changed)
        engine->wakeup.told =
            true; /* who is gone may have parked what is due */
    csc_lock_give(&engine->mutex);
    return remove;
}

/* In so long at the latest. */
static void
look_again_locked(cascade_engine *engine, int64_t in_ms)
{
    int64_t at_ns = csc_clock_now_ns(engine) + in_ms * CSC_MS_NS;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (at_ns < engine->peers->look_at_ns)
        engine->peers->look_at_ns = at_ns;
}

/* Looked at again after the poll interval: something may have been in the way,
 * of an error or of the removal. */
static void
remove_dead(cascade_engine *engine, const look *l)
{
    size_t freed = 0;
    cascade_err err = csc_move_remove(engine->store, l->dead, l->dead_count,
                                      FREE_PORTION, &freed);

    csc_assert(csc_lock_is_none_held() && l->dead_count <= CSC_PEERS_MAX);
    if (err != CASCADE_OK)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "removing dead engines failed: %s", cascade_errmsg());
    csc_lock_take(&engine->mutex);
    look_again_locked(
        engine, freed == FREE_PORTION ? 0 : engine->options.poll_interval_ms);
    csc_erasure_due_soon_locked(engine);
    if (freed > 0) {
        engine->wakeup.told = true;
        engine->claims->suspects_due = true;
        engine->stats.takeovers += freed;
    }
    csc_lock_give(&engine->mutex);
    if (freed > 0)
        (void)csc_move_wake(engine->store);
}

/* Who wakes us may have attached: looked at then, but not at every wake. */
bool
csc_peers_are_due_locked(cascade_engine *engine, bool told, bool poll)
{
    int64_t now_ns = csc_clock_now_ns(engine);
    int64_t soon_ns = engine->peers->looked_at_ns +
                      engine->options.poll_interval_ms * CSC_MS_NS;
    bool gone = false;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (told && soon_ns < engine->peers->look_at_ns)
        engine->peers->look_at_ns = soon_ns;
    for (size_t i = 0; poll && i < engine->peers->count && !gone; i++)
        gone = is_gone(&engine->peers->list[i]);
    return gone || now_ns >= engine->peers->look_at_ns ||
           (poll && !engine->wakeup.listening);
}

void
csc_peers_look(cascade_engine *engine)
{
    look l = {.engine = engine, .lease_ms = INT64_MAX};
    cascade_err err =
        csc_move_engines(engine->store, note_engine, &l, &l.orphans);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK) {
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "looking for dead engines failed: %s", cascade_errmsg());
        csc_lock_take(&engine->mutex);
        engine->peers->look_at_ns = INT64_MAX;
        look_again_locked(engine, engine->options.poll_interval_ms);
        csc_lock_give(&engine->mutex);
        return;
    }
    if (note_look(engine, &l))
        remove_dead(engine, &l);
    csc_lock_take(&engine->mutex);
    if (++engine->peers->looks % SUSPECT_LOOKS == 0)
        engine->claims->suspects_due = true;
    csc_lock_give(&engine->mutex);
}
