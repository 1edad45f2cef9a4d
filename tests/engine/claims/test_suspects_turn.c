/* SPDX-License-Identifier: MIT
 *
 * A suspect in a queue with limits that is full, with others behind it: it has
 * the first slot that is given up.
 */
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/peer.h"
#include "store/store.h"
#include "support/stores.h"

#define SUSPECT_FROM 3
#define BACKLOG 3
#define POLL_MS 600000 /* longer than the test: nothing is found by chance */

/* Which cascades have run, in their order. */
typedef struct order {
    cascade_uuid ids[BACKLOG + 2];
    size_t count;
} order;

static cascade_err
note_run(cascade_node *node, void *context)
{
    order *o = context;

    assert_true(o->count < BACKLOG + 2);
    o->ids[o->count++] = *cascade_node_cascade_id(node);
    return CASCADE_OK;
}

static bool
has_one(void *context)
{
    return ((const order *)context)->count > 0;
}

static bool
has_all(void *context)
{
    return ((const order *)context)->count == BACKLOG + 2;
}

/* Its engines have died, one after the other. */
static cascade_uuid
make_suspect(cascade_store *store)
{
    cascade_uuid id = db_start(store, "n");

    for (int32_t i = 0; i < SUSPECT_FROM; i++) {
        cascade_uuid peer = peer_own(store, "n", i);

        peer_remove(store, &peer);
    }
    return id;
}

/* The one slot is that of another incarnation, for the run of `id`. */
static cascade_uuid
take_slot(cascade_store *store, const cascade_uuid *id)
{
    static const char *const names[] = {"default", "n"};
    const cascade_uuid peer = peer_attach(store, PEER_NEVER_MS);
    const cascade_claim claim = {.engine_id = peer,
                                 .queues = names,
                                 .queue_count = 1,
                                 .nodes = names + 1,
                                 .node_count = 1,
                                 .limit = 5,
                                 .suspect_from = SUSPECT_FROM,
                                 .slots = 5};
    cascade_claimed claimed[5];
    cascade_claim_result result = {0};

    assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
    assert_int_equal(result.count, 1);
    assert_memory_equal(&claimed[0].cascade_id, id, sizeof(*id));
    return peer;
}

static void
a_suspect_has_the_first_slot_that_is_given_up(test_db *db)
{
    const cascade_queue_limits limits = {.size = sizeof(limits),
                                         .running_max = 1};
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .poll_interval_ms = POLL_MS};
    cascade_store *store = db_store(db);
    cascade_uuid suspect = make_suspect(store);
    cascade_engine *engine = db_engine(db, db_store(db), &options);
    cascade_uuid peer;
    cascade_uuid first;
    order o = {.count = 0};

    assert_ok(cascade_queue_set(store, "default", &limits, NULL));
    first = db_start(store, "n");
    peer = take_slot(store, &first);
    for (int i = 0; i < BACKLOG; i++)
        (void)db_start(store, "n");
    assert_ok(cascade_engine_register(engine, "n", note_run, &o, NULL));
    assert_ok(cascade_engine_start(engine));
    for (int i = 0; i < 5; i++)
        assert_ok(cascade_engine_poll(engine, 0, NULL));
    assert_int_equal(o.count, 0);
    peer_remove(store, &peer);
    assert_true(db_poll_until(db, &engine, 1, has_one, &o));
    assert_memory_equal(&o.ids[0], &suspect, sizeof(suspect));
    assert_true(db_poll_until(db, &engine, 1, has_all, &o));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_suspect_has_the_first_slot_that_is_given_up",
         a_suspect_has_the_first_slot_that_is_given_up, STORES_ALL},
    };

    return stores_run("suspects_turn", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
