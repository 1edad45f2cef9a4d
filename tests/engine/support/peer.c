/* SPDX-License-Identifier: MIT
 *
 * Incarnations that are rows and nothing else; see peer.h.
 */
#include "engine/support/peer.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "store/store.h"

#define SUSPECT_FROM 3

cascade_uuid
peer_attach(cascade_store *store, int64_t lease_ms)
{
    cascade_incarnation peer = {.host = "elsewhere",
                                .pid = 1,
                                .process_start = 1,
                                .lease_ms = lease_ms,
                                .lane_count = 1};

    peer.engine_id =
        csc_uuid_v7(csc_clock_wall_ms(&csc_clock_system), &store->random);
    assert_ok(store->driver->attach(store->self, &peer));
    assert_ok(store->driver->wake(store->self));
    return peer.engine_id;
}

cascade_uuid
peer_own(cascade_store *store, const char *node, int32_t takeovers)
{
    static const char *const queues[] = {"default"};
    cascade_claimed claimed;
    cascade_claim_result result = {0};
    cascade_claim claim = {.queues = queues,
                           .queue_count = 1,
                           .nodes = &node,
                           .node_count = 1,
                           .limit = 1,
                           .suspect_from = SUSPECT_FROM,
                           .suspects = takeovers >= SUSPECT_FROM};

    claim.engine_id = peer_attach(store, PEER_NEVER_MS);
    assert_ok(store->driver->claim(store->self, &claim, &claimed, &result));
    assert_int_equal(result.count, 1);
    assert_int_equal(claimed.takeovers, takeovers);
    return claim.engine_id;
}

void
peer_remove(cascade_store *store, const cascade_uuid *peer)
{
    size_t freed = 0;

    /* Not always one: an engine that looks may free it first. */
    assert_ok(store->driver->remove(store->self, peer, 1, 10, &freed));
    assert_in_range(freed, 0, 1);
    assert_ok(store->driver->wake(store->self));
}

static cascade_err
count_row(void *context, const cascade_incarnation *row)
{
    (void)row;
    (*(size_t *)context)++;
    return CASCADE_OK;
}

size_t
peer_count_all(cascade_store *store)
{
    size_t count = 0;

    expect(store->driver->engines(store->self, count_row, &count, NULL) ==
           CASCADE_OK);
    return count;
}
