/* SPDX-License-Identifier: MIT
 *
 * Leases, as the store has them: nobody may be removed before his has run out
 * (S10), and nobody whose lease has run out may stay for longer than another
 * engine needs to look (G6). Neither can be seen in the rows of cascades.
 */
#include "base/uuid.h"
#include "held/engine_state.h"
#include "sim/sim.h"
#include "store/store.h"

/* An engine looks at the others with each poll interval, and not sooner. */
#define LATE_MS 200

static cascade_err
note_lease(void *context, const cascade_incarnation *row)
{
    sim_leases *leases = context;

    if (leases->count < SIM_LEASES_MAX) {
        leases->ids[leases->count] = row->engine_id;
        leases->left_ms[leases->count++] = row->lease_ms;
    }
    return CASCADE_OK;
}

void
sim_leases_read(sim *s, sim_leases *leases)
{
    leases->count = 0;
    if (s->eye->driver->engines(s->eye->self, note_lease, leases,
                                &leases->orphans) != CASCADE_OK)
        sim_fail(s, "engines: %s", cascade_errmsg());
}

bool
sim_leases_find(const sim_leases *leases, const cascade_uuid *id,
                int64_t *left_ms)
{
    for (size_t i = 0; i < leases->count; i++)
        if (csc_uuid_equal(&leases->ids[i], id)) {
            *left_ms = leases->left_ms[i];
            return true;
        }
    return false;
}

void
sim_leases_check_removal(sim *s, const sim_leases *before)
{
    sim_leases after;
    int64_t left_ms = 0;

    sim_leases_read(s, &after);
    for (size_t i = 0; i < before->count; i++)
        if (before->left_ms[i] > 0 &&
            !sim_leases_find(&after, &before->ids[i], &left_ms))
            sim_fail(s,
                     "S10: an engine was removed %lld ms before its lease "
                     "had run out",
                     (long long)before->left_ms[i]);
}

/* After a poll of `e`, which began with `before`, without faults. */
void
sim_leases_check_poll(sim *s, const sim_engine *e, const sim_leases *before)
{
    int64_t late_ms = e->engine->options.poll_interval_ms + LATE_MS;
    sim_leases after;
    int64_t left_ms = 0;

    if (s->now_ms - s->mended_ms < 2 * late_ms)
        return; /* the look before may have failed */
    sim_leases_read(s, &after);
    if (!after.orphans)
        s->orphans_since_ms = -1;
    else if (s->orphans_since_ms < 0)
        s->orphans_since_ms = s->now_ms;
    else if (s->now_ms - s->orphans_since_ms > 2 * late_ms)
        sim_fail(s, "G6: what an engine left behind is not set free");
    for (size_t i = 0; i < before->count; i++)
        if (before->left_ms[i] < -late_ms &&
            !csc_uuid_equal(&before->ids[i], &e->engine->incarnation.id) &&
            sim_leases_find(&after, &before->ids[i], &left_ms))
            sim_fail(s,
                     "G6: an engine is not removed %lld ms after its lease "
                     "has run out",
                     (long long)-left_ms);
}
