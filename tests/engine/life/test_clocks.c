/* SPDX-License-Identifier: MIT
 *
 * Clocks that are wrong, or are set while timers wait (G8) and leases run (G5,
 * G6). Where the store takes its time from the database, the clock of this
 * process does not count. Where it takes it from the process, a timer waits for
 * the clock to show its time, and leases do not look at the time of day at all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/support/peer.h"
#include "store/store.h"
#include "support/rows.h"
#include "support/stores.h"

#define HOUR_MS (INT64_C(60) * 60 * 1000)
#define DAY_MS (24 * HOUR_MS)
#define HELD_MS 3000 /* not long enough to be parked */
#define LEASE_MS 10000
#define POLL_MS 2000

/* ---- Every kind of timer ------------------------------------------------ */

static const char *const kinds[] = {"starts", "spawns", "tries", "sleeps",
                                    "until"};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

typedef struct timers {
    cascade_store *clock; /* whose time is right */
    int64_t ms;           /* of each */
    atomic_size_t fired;
    _Atomic int64_t last_ms; /* when the last one did */
} timers;

/* A timer of execution `function_id` is over: not before the time that is
 * recorded for it. */
static cascade_err
note_fired(timers *t, const cascade_node *node, int32_t function_id)
{
    cascade_snapshot *snapshot = NULL;
    int64_t now_ms = 0;

    if (!expect(cascade_store_now(t->clock, &now_ms) == CASCADE_OK) ||
        !expect(cascade_snapshot_load(t->clock, cascade_node_cascade_id(node),
                                      NULL, &snapshot) == CASCADE_OK))
        return CASCADE_ERR_FINAL;
    expect(now_ms >= cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY,
                                          (size_t)function_id)
                         ->not_before_ms);
    cascade_snapshot_free(snapshot);
    atomic_store(&t->last_ms, now_ms);
    atomic_fetch_add(&t->fired, 1);
    return CASCADE_OK;
}

/* A first node that was started, or spawned, for later. */
static cascade_err
starts(cascade_node *node, void *user)
{
    return note_fired(user, node, cascade_node_function_id(node));
}

static cascade_err
spawns(cascade_node *node, void *user)
{
    timers *t = user;
    cascade_spawn_options later = {.size = sizeof(later), .delay_ms = t->ms};

    return cascade_node_spawn(node, "starts", NULL, &later);
}

static cascade_err
tries(cascade_node *node, void *user)
{
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "the first attempt fails");
    return note_fired(user, node, 0);
}

static cascade_err
sleeps(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_sleep(node, "nap", ((timers *)user)->ms);

    return err == CASCADE_OK ? note_fired(user, node, 1) : err;
}

static cascade_err
until(cascade_node *node, void *user)
{
    timers *t = user;
    int64_t now_ms = 0;
    cascade_err err = CASCADE_OK;

    expect(cascade_store_now(t->clock, &now_ms) == CASCADE_OK);
    err = cascade_node_sleep_until(node, "nap", now_ms + t->ms);
    return err == CASCADE_OK ? note_fired(t, node, 1) : err;
}

static cascade_engine *
open_engine(test_db *db, timers *t, cascade_store *store,
            const cascade_engine_options *options)
{
    static const cascade_node_fn functions[KINDS] = {starts, spawns, tries,
                                                     sleeps, until};
    cascade_node_options node = {.size = sizeof(node),
                                 .backoff_ms = t->ms,
                                 .backoff_max_ms = t->ms,
                                 .jitter_percent = -1};
    cascade_engine *engine = db_engine(db, store, options);

    for (size_t i = 0; i < KINDS; i++)
        assert_ok(
            cascade_engine_register(engine, kinds[i], functions[i], t, &node));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

/* One of each kind. */
static void
start_kinds(cascade_store *store, const timers *t, cascade_uuid ids[KINDS])
{
    for (size_t i = 0; i < KINDS; i++) {
        cascade_start_options options = {.size = sizeof(options),
                                         .delay_ms = i == 0 ? t->ms : 0};
        cascade_started started;

        assert_ok(cascade_start(store, kinds[i], NULL, &options, &started));
        ids[i] = started.id;
    }
}

/* ---- The database's clock counts ---------------------------------------- */

static int64_t
wall_ahead(void *context)
{
    return csc_clock_wall_ms(&csc_clock_system) + *(const int64_t *)context;
}

static int64_t
monotonic(void *context)
{
    (void)context;
    return csc_clock_system.monotonic_ns(csc_clock_system.context);
}

/* A handle whose process has its clock off. */
static cascade_store *
open_off(test_db *db, int64_t *ahead_ms)
{
    cascade_store *store = NULL;

    db->clock.clock = (cascade_clock){ahead_ms, wall_ahead, monotonic};
    db->fake_time = true;
    store = db_store(db);
    db->fake_time = false;
    return store;
}

/* Nobody's lease has expired in the eyes of that handle. */
static void
check_leases(cascade_store *store, size_t engines)
{
    size_t freed = 0;

    assert_ok(store->driver->remove(store->self, NULL, 0, 10, &freed));
    assert_int_equal(freed, 0);
    assert_int_equal(peer_count_all(store), engines);
}

/* One engine whose clock is an hour fast, one whose clock is an hour slow. */
static void
the_clock_of_a_process_does_not_count(test_db *db)
{
    enum {
        ROUNDS = 8
    };
    static int64_t ahead_ms[2] = {HOUR_MS, -HOUR_MS};
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 4,
                                      .park_after_ms = 100,
                                      .poll_interval_ms = 50,
                                      .lease_ms = HOUR_MS};
    timers t = {.clock = db_store(db), .ms = 200};
    cascade_store *stores[2];
    cascade_engine *engines[2];
    cascade_uuid ids[ROUNDS * KINDS];

    for (size_t i = 0; i < 2; i++) {
        stores[i] = open_off(db, &ahead_ms[i]);
        options.park_after_ms *= 10; /* the other one holds what waits */
        engines[i] = open_engine(db, &t, stores[i], &options);
    }
    for (size_t i = 0; i < ROUNDS; i++)
        start_kinds(stores[i % 2], &t, &ids[i * KINDS]);
    for (size_t i = 0; i < 2; i++)
        check_leases(stores[i], 2);
    for (size_t i = 0; i < ROUNDS * KINDS; i++)
        db_await(t.clock, &ids[i], CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&t.fired), ROUNDS * KINDS);
    for (size_t i = 0; i < 2; i++) {
        check_leases(stores[i], 2);
        assert_int_equal(db_stats(engines[i]).fences, 0);
        assert_int_equal(db_stats(engines[i]).takeovers, 0);
    }
}

/* ---- The clock of the process is set ------------------------------------ */

static const cascade_engine_options set_options = {.size = sizeof(set_options),
                                                   .mode = CASCADE_MODE_INLINE,
                                                   .lease_ms = LEASE_MS,
                                                   .poll_interval_ms = POLL_MS};

static void
poll_some(cascade_engine *engine)
{
    for (int i = 0; i < 6; i++)
        assert_ok(cascade_engine_poll(engine, 0, NULL));
}

static void
set_ahead(test_db *db, int64_t ms)
{
    fake_clock_set_wall(&db->clock, atomic_load(&db->clock.wall_ms) + ms);
}

/* Timers of every kind, all due in `ms`; when that is. */
static cascade_engine *
begin_timers(test_db *db, timers *t, cascade_uuid ids[KINDS], int64_t *due_ms)
{
    cascade_engine *engine = NULL;

    db->fake_time = true;
    t->clock = db_store(db);
    engine = open_engine(db, t, t->clock, &set_options);
    start_kinds(t->clock, t, ids);
    poll_some(engine);
    *due_ms = atomic_load(&db->clock.wall_ms) + t->ms;
    return engine;
}

/* An hour is shown twice: none fires the first time, all do the second. */
static void
set_back(test_db *db, int64_t ms)
{
    timers t = {.ms = ms};
    cascade_uuid ids[KINDS];
    db_ends ends = {NULL, ids, KINDS, 0};
    int64_t due_ms = 0;
    cascade_engine *engine = begin_timers(db, &t, ids, &due_ms);

    ends.store = t.clock;
    set_ahead(db, -HOUR_MS);
    fake_clock_advance(&db->clock, ms);
    poll_some(engine);
    fake_clock_advance(&db->clock, HOUR_MS - 1);
    poll_some(engine);
    assert_int_equal(atomic_load(&t.fired), 0);
    fake_clock_advance(&db->clock, 1);
    poll_some(engine);
    assert_int_equal(atomic_load(&t.fired), KINDS);
    assert_int_equal(atomic_load(&t.last_ms), due_ms);
    assert_true(db_all_ended(&ends));
}

static void
a_clock_set_back_is_waited_for_by_held_timers(test_db *db)
{
    set_back(db, HELD_MS);
}

static void
a_clock_set_back_is_waited_for_by_parked_timers(test_db *db)
{
    set_back(db, HOUR_MS);
}

/* What is due all at once is noticed with the next renewal, or the next look
 * for work. */
static void
set_forward(test_db *db, int64_t ms)
{
    timers t = {.ms = ms};
    cascade_uuid ids[KINDS];
    db_ends ends = {NULL, ids, KINDS, 0};
    int64_t due_ms = 0;
    cascade_engine *engine = begin_timers(db, &t, ids, &due_ms);
    int64_t set_ms = atomic_load(&db->clock.monotonic_ms);

    ends.store = t.clock;
    set_ahead(db, DAY_MS);
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    assert_int_equal(atomic_load(&t.fired), KINDS);
    assert_true(atomic_load(&db->clock.monotonic_ms) - set_ms <=
                LEASE_MS / 2 + POLL_MS);
}

static void
a_clock_set_forward_fires_held_timers(test_db *db)
{
    set_forward(db, HELD_MS);
}

static void
a_clock_set_forward_fires_parked_timers(test_db *db)
{
    set_forward(db, HOUR_MS);
}

/* ---- Leases ------------------------------------------------------------- */

typedef struct pair {
    timers t;
    cascade_engine *engines[2];
} pair;

/* The first holds a cascade that sleeps for `ms`; the second is idle. */
static void
open_pair(test_db *db, pair *p, int64_t ms)
{
    cascade_engine_options options = set_options;

    options.park_after_ms = 2 * HOUR_MS;
    db->fake_time = true;
    p->t = (timers){.clock = db_store(db), .ms = ms};
    for (size_t i = 0; i < 2; i++)
        p->engines[i] = open_engine(db, &p->t, db_store(db), &options);
}

static cascade_uuid
start_held(pair *p)
{
    cascade_uuid id = db_start(p->t.clock, "sleeps");

    poll_some(p->engines[0]);
    assert_int_equal(db_stats(p->engines[0]).waiting, 1);
    return id;
}

/* By a day at a time, there and back; nobody takes the other for dead. */
static void
no_engine_is_removed_when_the_clock_is_set(test_db *db)
{
    pair p;
    test_rows random;

    open_pair(db, &p, HOUR_MS);
    (void)start_held(&p);
    rows_init(&random, rows_seed(), 0);
    for (int i = 0; i < 400; i++) {
        set_ahead(db, (i % 2 == 0 ? DAY_MS : -DAY_MS) +
                          (int64_t)rows_below(&random, 1000) - 500);
        fake_clock_advance(&db->clock, (int64_t)rows_below(&random, 500));
        for (size_t e = 0; e < 2; e++)
            assert_ok(cascade_engine_poll(p.engines[e], 0, NULL));
    }
    rows_fini(&random);
    for (size_t e = 0; e < 2; e++) {
        assert_int_equal(db_stats(p.engines[e]).fences, 0);
        assert_int_equal(db_stats(p.engines[e]).takeovers, 0);
    }
}

/* Its lease ends in time by the clock that nobody sets. */
static void
a_dead_engine_is_removed_though_the_clock_was_set_back(test_db *db)
{
    pair p;
    cascade_uuid id;
    db_ends ends = {NULL, &id, 1, 0};

    open_pair(db, &p, 6 * LEASE_MS);
    id = start_held(&p);
    poll_some(p.engines[1]);
    set_ahead(db, -DAY_MS);
    for (int64_t ms = 0; ms < LEASE_MS + POLL_MS; ms += 500) {
        fake_clock_advance(&db->clock, 500);
        poll_some(p.engines[1]);
    }
    assert_int_equal(db_stats(p.engines[1]).takeovers, 1);
    set_ahead(db, DAY_MS);
    ends.store = p.t.clock;
    assert_true(db_poll_until(db, p.engines, 2, db_all_ended, &ends));
    assert_int_equal(db_stats(p.engines[0]).fences, 1);
    assert_int_equal(atomic_load(&p.t.fired), 1);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_clock_of_a_process_does_not_count",
         the_clock_of_a_process_does_not_count, STORES_POSTGRES},
        {"a_clock_set_back_is_waited_for_by_held_timers",
         a_clock_set_back_is_waited_for_by_held_timers, STORES_VIRTUAL},
        {"a_clock_set_back_is_waited_for_by_parked_timers",
         a_clock_set_back_is_waited_for_by_parked_timers, STORES_VIRTUAL},
        {"a_clock_set_forward_fires_held_timers",
         a_clock_set_forward_fires_held_timers, STORES_VIRTUAL},
        {"a_clock_set_forward_fires_parked_timers",
         a_clock_set_forward_fires_parked_timers, STORES_VIRTUAL},
        {"no_engine_is_removed_when_the_clock_is_set",
         no_engine_is_removed_when_the_clock_is_set, STORES_VIRTUAL},
        {"a_dead_engine_is_removed_though_the_clock_was_set_back",
         a_dead_engine_is_removed_though_the_clock_was_set_back,
         STORES_VIRTUAL},
    };

    return stores_run("clocks", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
