/* SPDX-License-Identifier: MIT
 *
 * Engines that know of one another: how seldom an idle one asks the store, when
 * it notices that another is dead (G6), and how fast it takes over much.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "claim/hydrate.h"
#include "claim/peers.h"
#include "engine/housekeeper.h"
#include "engine/support/peer.h"
#include "held/engine_state.h"
#include "store/store.h"
#include "support/stores.h"

static cascade_engine *
start_engine(test_db *db, cascade_store *store, int64_t poll_interval_ms,
             int64_t lease_ms)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 2,
                                      .poll_interval_ms = poll_interval_ms,
                                      .lease_ms = lease_ms};
    cascade_engine *engine = db_engine(db, store, &options);

    assert_ok(cascade_engine_register(engine, "n", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static bool
is_alone(void *context)
{
    return peer_count_all(context) == 1;
}

/* ---- Idle --------------------------------------------------------------- */

typedef struct watched {
    wrap_store *wrap;
    size_t renewals;
} watched;

static bool
has_renewed(void *context)
{
    watched *w = context;

    return wrap_store_count(w->wrap, WRAP_RENEW) >= w->renewals;
}

static bool
is_listening(void *context)
{
    cascade_engine *engine = context;
    bool listening = false;

    pthread_mutex_lock(&engine->mutex);
    listening = engine->wakeup.listening;
    pthread_mutex_unlock(&engine->mutex);
    return listening;
}

#define POLL_MS 50
#define LEASE_MS 250 /* as long as five polls, of which one asks */

/* Some 20 poll intervals go by. Where wakes are heard, most of them ask for
 * nothing; the store's time comes with the renewals. With every sixth look at
 * the others it looks for suspects too. */
static void
an_idle_engine_asks_seldom(test_db *db)
{
    static const wrap_move moves[] = {WRAP_CLAIM, WRAP_ENGINES, WRAP_REMOVE,
                                      WRAP_NOW};
    watched w = {.wrap = wrap_store_create(db->url), .renewals = 2};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    int64_t begun_ms = 0;
    size_t counts[4];
    size_t leases = 0;

    assert_non_null(w.wrap);
    store = db_wrapped(db, w.wrap);
    db_hear_wakes(store);
    engine = start_engine(db, store, POLL_MS, LEASE_MS);
    assert_true(stores_until(is_listening, engine));
    w.renewals += wrap_store_count(w.wrap, WRAP_RENEW);
    assert_true(stores_until(has_renewed, &w));
    begun_ms = csc_clock_monotonic_ms(&csc_clock_system);
    for (size_t i = 0; i < 4; i++)
        counts[i] = wrap_store_count(w.wrap, moves[i]);
    w.renewals = wrap_store_count(w.wrap, WRAP_RENEW) + 8;
    assert_true(stores_until(has_renewed, &w));
    for (size_t i = 0; i < 4; i++)
        counts[i] = wrap_store_count(w.wrap, moves[i]) - counts[i];
    leases = (size_t)(csc_clock_monotonic_ms(&csc_clock_system) - begun_ms) /
             LEASE_MS;
    assert_true(counts[0] <= leases + leases / 6 + 4);
    assert_true(counts[1] <= leases + 2);
    assert_int_equal(counts[2], 0);
    assert_int_equal(counts[3], 0);
    db_close_engine(db, engine);
    db_close_store(db, store);
    wrap_store_free(w.wrap);
}

/* ---- The dead ----------------------------------------------------------- */

/* At the others. */
static bool
has_looked(void *context)
{
    cascade_engine *engine = context;
    bool looked = false;

    pthread_mutex_lock(&engine->mutex);
    looked = engine->peers->looks > 0;
    pthread_mutex_unlock(&engine->mutex);
    return looked;
}

/* False when the lease had ended before the engine looked at all. */
static bool
is_removed_at_the_end_of_its_lease(test_db *db, cascade_store *store,
                                   int64_t lease_ms)
{
    cascade_engine *engine = NULL;
    bool seen = false;

    (void)peer_attach(store, lease_ms);
    engine = start_engine(db, store, PEER_NEVER_MS, PEER_NEVER_MS);
    assert_true(stores_until(has_looked, engine));
    seen = !is_alone(store);
    assert_true(stores_until(is_alone, store));
    db_close_engine(db, engine);
    return seen;
}

/* No poll comes to help: it looks when the lease that it knows of ends. */
static void
a_peer_is_removed_when_its_lease_ends(test_db *db)
{
    cascade_store *store = db_store(db);
    int64_t lease_ms = 100;

    while (!is_removed_at_the_end_of_its_lease(db, store, lease_ms)) {
        assert_true(lease_ms < DB_WAIT_MS);
        lease_ms *= 2;
    }
}

static bool
is_ready(void *context)
{
    return is_listening(context) && has_looked(context);
}

/* Nor here, where polls look for work alone: whoever attaches wakes the others,
 * and they look at him. */
static void
a_peer_that_attaches_is_noticed(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_store *other = db_store(db);
    cascade_engine *engine = NULL;

    db_hear_wakes(store);
    engine = start_engine(db, store, POLL_MS, PEER_NEVER_MS);
    assert_true(stores_until(is_ready, engine));
    (void)peer_attach(other, 100);
    assert_true(stores_until(is_alone, store));
}

/* ---- Much --------------------------------------------------------------- */

#define MUCH 2500
#define PORTION 250

static void
claim_all(cascade_store *store, const cascade_uuid *engine_id)
{
    static const char *const queues[] = {"default"};
    static const char *const nodes[] = {"n"};
    static cascade_claimed claimed[1000];
    cascade_claim claim = {.engine_id = *engine_id,
                           .queues = queues,
                           .queue_count = 1,
                           .nodes = nodes,
                           .node_count = 1,
                           .limit = 1000,
                           .suspect_from = 3};
    cascade_claim_result result = {0};
    size_t count = 0;

    while (count < MUCH) {
        assert_ok(store->driver->claim(store->self, &claim, claimed, &result));
        assert_true(result.count > 0);
        count += result.count;
    }
}

/* In portions, as each must be committed within the store's deadline. */
static void
start_all(cascade_store *store, cascade_uuid *ids)
{
    static cascade_start_spec specs[PORTION];
    static cascade_started started[PORTION];
    const cascade_first first = {.size = sizeof(first), .node = "n"};

    for (size_t i = 0; i < PORTION; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    for (size_t i = 0; i < MUCH; i++) {
        if (i % PORTION == 0)
            assert_ok(cascade_start_many(store, specs, PORTION, started));
        ids[i] = started[i % PORTION].id;
    }
}

/* What one call of remove frees does not set the pace: neither a poll nor a
 * wake comes between. */
static void
much_is_taken_over_in_one_go(test_db *db)
{
    static cascade_uuid ids[MUCH];
    cascade_store *store = db_store(db);
    cascade_engine *engine = NULL;
    cascade_uuid peer = peer_attach(store, PEER_NEVER_MS);
    db_ends ends = {store, ids, MUCH, 0};

    start_all(store, ids);
    claim_all(store, &peer);
    assert_ok(store->driver->renew(store->self, &peer, 1, NULL));
    engine = start_engine(db, store, PEER_NEVER_MS, PEER_NEVER_MS);
    assert_true(stores_until(db_all_ended, &ends));
    assert_int_equal(db_stats(engine).takeovers, MUCH);
}

/* ---- Suspects ----------------------------------------------------------- */

/* It has looked for everything that its start gave reason to. */
static bool
has_settled(void *context)
{
    cascade_engine *engine = context;
    bool settled = false;

    pthread_mutex_lock(&engine->mutex);
    settled = engine->wakeup.listening && engine->house->polls > 10 &&
              !engine->claims->suspects_due && !engine->house->suspects_soon;
    pthread_mutex_unlock(&engine->mutex);
    return settled;
}

/* Whoever removed its owner may not be able to run it: the wake is enough for
 * others to look for suspects too. */
static void
a_suspect_that_another_freed_is_found(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_store *other = db_store(db);
    cascade_uuid id = db_start(other, "n");
    db_ends ends = {store, &id, 1, 0};
    cascade_uuid peer = peer_own(other, "n", 0);
    cascade_engine *engine = NULL;

    for (int32_t takeovers = 1; takeovers <= 3; takeovers++) {
        peer_remove(other, &peer);
        peer = peer_own(other, "n", takeovers);
    }
    db_hear_wakes(store);
    engine = start_engine(db, store, 20, PEER_NEVER_MS);
    assert_true(stores_until(has_settled, engine));
    peer_remove(other, &peer);
    assert_true(stores_until(db_all_ended, &ends));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"an_idle_engine_asks_seldom", an_idle_engine_asks_seldom, STORES_ALL},
        {"a_peer_is_removed_when_its_lease_ends",
         a_peer_is_removed_when_its_lease_ends, STORES_ALL},
        {"a_peer_that_attaches_is_noticed", a_peer_that_attaches_is_noticed,
         STORES_ALL},
        {"much_is_taken_over_in_one_go", much_is_taken_over_in_one_go,
         STORES_ALL},
        {"a_suspect_that_another_freed_is_found",
         a_suspect_that_another_freed_is_found, STORES_ALL},
    };

    return stores_run("engine_peers", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
