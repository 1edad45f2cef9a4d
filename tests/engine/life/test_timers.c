/* SPDX-License-Identifier: MIT
 *
 * G8 for delays and backoff: nothing runs before its time by the store's clock,
 * and nothing that waits is lost. Waits that are long are parked: they cost no
 * memory, and wake on time in any process.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change/backoff.h"
#include "support/rows.h"
#include "support/stores.h"

/* ---- Nodes that look at the store's clock ------------------------------- */

typedef struct looker {
    cascade_store *store;
    bool jumps; /* the store's clock does: what the engine knows of it is old */
    atomic_int ran;
    _Atomic int64_t last_ms; /* of the last one that ran */
} looker;

/* The time that is recorded for an execution; it must be there. */
static int64_t
recorded_time(const looker *l, const cascade_node *node)
{
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *info = NULL;
    int64_t not_before_ms = INT64_MAX;

    if (!expect(cascade_snapshot_load(l->store, cascade_node_cascade_id(node),
                                      NULL, &snapshot) == CASCADE_OK))
        return not_before_ms;
    info = cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY,
                                (size_t)cascade_node_function_id(node));
    not_before_ms = info->not_before_ms;
    cascade_snapshot_free(snapshot);
    return not_before_ms;
}

/* Its input is the time that was asked for. */
static cascade_err
look(cascade_node *node, void *user)
{
    looker *l = user;
    int64_t now_ms = 0;
    int64_t recorded_ms = recorded_time(l, node);

    if (!expect(cascade_store_now(l->store, &now_ms) == CASCADE_OK))
        return CASCADE_ERR_FINAL;
    expect(now_ms >= recorded_ms);
    expect(l->jumps || recorded_ms >= atoll(cascade_node_input_text(node)));
    atomic_store(&l->last_ms, now_ms);
    atomic_fetch_add(&l->ran, 1);
    return CASCADE_OK;
}

/* Spawns `look` for later; its input is the delay. */
static cascade_err
later(cascade_node *node, void *user)
{
    looker *l = user;
    cascade_spawn_options options = {.size = sizeof(options)};
    int64_t now_ms = 0;

    options.delay_ms = atoll(cascade_node_input_text(node));
    if (!expect(cascade_store_now(l->store, &now_ms) == CASCADE_OK))
        return CASCADE_ERR_FINAL;
    return cascade_node_spawn(
        node, "look", cJSON_CreateNumber((double)(now_ms + options.delay_ms)),
        &options);
}

static cascade_engine *
open_engine(test_db *db, looker *l, const cascade_engine_options *options)
{
    cascade_engine *engine = NULL;

    l->store = db_store(db);
    engine = db_engine(db, l->store, options);
    assert_ok(cascade_engine_register(engine, "look", look, l, NULL));
    assert_ok(cascade_engine_register(engine, "later", later, l, NULL));
    assert_ok(cascade_engine_start(engine));
    return engine;
}

static cascade_uuid
start_later(looker *l, int64_t delay_ms)
{
    char input[32];

    snprintf(input, sizeof(input), "%lld", (long long)delay_ms);
    return db_start_text(l->store, "later", input);
}

/* ---- Real time, every store --------------------------------------------- */

#define SHORT 60
#define PARK_MS 100

static cascade_uuid
start_look(looker *l, int64_t delay_ms)
{
    char input[32];
    cascade_first first = {
        .size = sizeof(first), .node = "look", .input_text = input};
    cascade_start_options start = {.size = sizeof(start), .delay_ms = delay_ms};
    cascade_start_spec spec = {.size = sizeof(spec),
                               .first = &first,
                               .first_count = 1,
                               .options = &start};
    cascade_started started;
    int64_t now_ms = 0;

    assert_ok(cascade_store_now(l->store, &now_ms));
    snprintf(input, sizeof(input), "%lld", (long long)(now_ms + delay_ms));
    assert_ok(cascade_start_many(l->store, &spec, 1, &started));
    return started.id;
}

/* Some are parked, some wait in memory, some are delayed starts. False when
 * nothing was parked: the rest of the longest wait was short by then. */
static bool
delay_up_to(test_db *db, int64_t longest_ms)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 4,
                                      .park_after_ms = PARK_MS,
                                      .poll_interval_ms = 2000};
    looker l = {.store = NULL};
    cascade_engine *engine = open_engine(db, &l, &options);
    cascade_uuid ids[SHORT];
    bool parked = false;

    for (size_t i = 0; i < SHORT; i++) {
        int64_t delay_ms = (int64_t)(i * 7 % 200) * longest_ms / 200 + 1;

        ids[i] =
            i % 3 > 0 ? start_later(&l, delay_ms) : start_look(&l, delay_ms);
    }
    for (size_t i = 0; i < SHORT; i++)
        db_await(l.store, &ids[i], CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&l.ran), SHORT);
    parked = db_stats(engine).parked > 0;
    db_close_engine(db, engine);
    db_close_store(db, l.store);
    return parked;
}

static void
delays_never_end_early(test_db *db)
{
    int64_t longest_ms = 2 * PARK_MS;

    while (!delay_up_to(db, longest_ms)) {
        assert_true(longest_ms < DB_WAIT_MS);
        longest_ms *= 2;
    }
}

/* ---- Injected time ------------------------------------------------------ */

#define HOUR_MS (INT64_C(60) * 60 * 1000)

static bool
is_parked(cascade_engine *engine)
{
    return db_stats(engine).parked == 1 && db_stats(engine).held == 0;
}

static void
poll_some(cascade_engine *engine)
{
    for (int i = 0; i < 5; i++)
        assert_ok(cascade_engine_poll(engine, 0, NULL));
}

/* A long wait takes no memory, and ends to the millisecond. */
static void
a_long_wait_is_parked_and_wakes_on_time(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms = 5 * HOUR_MS};
    looker l = {.store = NULL};
    cascade_engine *engine = NULL;
    cascade_info *info = NULL;
    cascade_uuid id;
    int64_t begun_ms = 0;

    db->fake_time = true;
    engine = open_engine(db, &l, &options);
    assert_ok(cascade_store_now(l.store, &begun_ms));
    id = start_later(&l, HOUR_MS);
    poll_some(engine);
    assert_true(is_parked(engine));
    assert_ok(cascade_get(l.store, &id, &info));
    assert_false(info->owned);
    assert_int_equal(info->wake_at_ms, begun_ms + HOUR_MS);
    cascade_info_free(info);
    fake_clock_advance(&db->clock, HOUR_MS - 1);
    poll_some(engine);
    assert_int_equal(atomic_load(&l.ran), 0);
    fake_clock_advance(&db->clock, 1);
    poll_some(engine);
    assert_int_equal(atomic_load(&l.ran), 1);
    assert_int_equal(atomic_load(&l.last_ms), begun_ms + HOUR_MS);
    db_await(l.store, &id, CASCADE_COMPLETED);
}

/* What waits in memory ends to the millisecond too. */
static void
a_short_wait_stays_in_memory_and_wakes_on_time(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    looker l = {.store = NULL};
    cascade_engine *engine = NULL;
    cascade_uuid id;

    db->fake_time = true;
    engine = open_engine(db, &l, &options);
    id = start_later(&l, 1000);
    poll_some(engine);
    assert_int_equal(db_stats(engine).held, 1);
    assert_int_equal(db_stats(engine).waiting, 1);
    assert_true(cascade_engine_timeout_ms(engine) <= 1000);
    fake_clock_advance(&db->clock, 999);
    poll_some(engine);
    assert_int_equal(atomic_load(&l.ran), 0);
    fake_clock_advance(&db->clock, 1);
    poll_some(engine);
    assert_int_equal(atomic_load(&l.ran), 1);
    db_await(l.store, &id, CASCADE_COMPLETED);
    assert_int_equal(db_stats(engine).held, 0);
}

/* Whoever parked it may be gone: another engine wakes it. */
static void
a_parked_cascade_wakes_in_another_engine(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    looker l = {.store = NULL};
    cascade_engine *engine = NULL;
    cascade_uuid id;
    db_ends ends;

    db->fake_time = true;
    engine = open_engine(db, &l, &options);
    id = start_later(&l, HOUR_MS);
    poll_some(engine);
    assert_true(is_parked(engine));
    db_close_engine(db, engine);
    engine = open_engine(db, &l, &options);
    ends = (db_ends){l.store, &id, 1, 0};
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    assert_int_equal(atomic_load(&l.ran), 1);
}

/* Waits of any length under a clock that jumps, in steps of any length. */
static void
no_jump_of_the_clock_makes_a_timer_early(test_db *db)
{
    enum {
        COUNT = 100
    };
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .park_after_ms = 2000};
    test_rows random;
    looker l = {.jumps = true};
    cascade_engine *engine = NULL;
    cascade_uuid ids[COUNT];
    db_ends ends;

    db->fake_time = true;
    rows_init(&random, rows_seed(), 0);
    engine = open_engine(db, &l, &options);
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = start_later(&l, 1 + (int64_t)rows_below(&random, 6000));
    ends = (db_ends){l.store, ids, COUNT, 0};
    for (int i = 0; i < 20000 && !db_all_ended(&ends); i++) {
        int64_t wall_ms = atomic_load(&db->clock.wall_ms);

        fake_clock_advance(&db->clock, (int64_t)rows_below(&random, 40));
        if (rows_below(&random, 20) == 0)
            fake_clock_set_wall(
                &db->clock, wall_ms + (int64_t)rows_below(&random, 400) - 200);
        assert_ok(cascade_engine_poll(engine, 0, NULL));
    }
    assert_int_equal(atomic_load(&l.ran), COUNT);
    rows_fini(&random);
}

/* ---- Backoff ------------------------------------------------------------ */

typedef struct tries {
    cascade_store *store;
    int64_t at_ms[8];
    int count;
} tries;

static cascade_err
always_fails(cascade_node *node, void *user)
{
    tries *t = user;

    expect(cascade_store_now(t->store, &t->at_ms[t->count]) == CASCADE_OK);
    t->count++;
    expect(cascade_node_attempt(node) == t->count);
    return cascade_node_error(node, "no");
}

static void
run_tries(test_db *db, const cascade_node_options *node, tries *t)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    cascade_engine *engine = NULL;
    cascade_uuid id;
    db_ends ends;

    db->fake_time = true;
    t->store = db_store(db);
    engine = db_engine(db, t->store, &options);
    assert_ok(cascade_engine_register(engine, "f", always_fails, t, node));
    assert_ok(cascade_engine_start(engine));
    id = db_start(t->store, "f");
    ends = (db_ends){t->store, &id, 1, 0};
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    db_await(t->store, &id, CASCADE_ERROR);
    db_close_engine(db, engine);
    db_close_store(db, t->store);
}

/* Between attempts lie 100, 300, 900 and then, at the ceiling, 1,000 ms. */
static void
backoff_grows_up_to_its_ceiling(test_db *db)
{
    static const int64_t waits[] = {100, 300, 900, 1000, 1000};
    cascade_node_options node = {.size = sizeof(node),
                                 .attempts_max = 6,
                                 .backoff_ms = 100,
                                 .backoff_max_ms = 1000,
                                 .backoff_percent = 300,
                                 .jitter_percent = -1};
    tries t = {.count = 0};

    run_tries(db, &node, &t);
    assert_int_equal(t.count, 6);
    for (int i = 0; i < 5; i++)
        assert_int_equal(t.at_ms[i + 1] - t.at_ms[i], waits[i]);
}

/* Also where it grows by less than a millisecond, and whatever number of failed
 * attempts a row tells: that takes no time. */
static void
backoff_that_grows_slowly_grows(test_db *db)
{
    csc_attempts slow = {
        .backoff_ms = 5, .backoff_max_ms = 1000, .backoff_percent = 101};

    (void)db;
    assert_int_equal(csc_backoff_delay_ms(&slow, 1, NULL), 5);
    assert_int_equal(csc_backoff_delay_ms(&slow, 2, NULL), 6);
    assert_int_equal(csc_backoff_delay_ms(&slow, INT32_MAX, NULL), 1000);
    slow.backoff_percent = 100;
    assert_int_equal(csc_backoff_delay_ms(&slow, INT32_MAX, NULL), 5);
}

/* Jitter stays within its share, and is not always the same. */
static void
jitter_stays_within_its_share(test_db *db)
{
    cascade_node_options node = {.size = sizeof(node),
                                 .attempts_max = 8,
                                 .backoff_ms = 10000,
                                 .backoff_percent = 100,
                                 .jitter_percent = 25};
    tries t = {.count = 0};
    bool differ = false;

    run_tries(db, &node, &t);
    assert_int_equal(t.count, 8);
    for (int i = 0; i < 7; i++) {
        int64_t wait_ms = t.at_ms[i + 1] - t.at_ms[i];

        assert_in_range(wait_ms, 7500, 12500);
        differ = differ || wait_ms != t.at_ms[1] - t.at_ms[0];
    }
    assert_true(differ);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"delays_never_end_early", delays_never_end_early, STORES_ALL},
        {"a_long_wait_is_parked_and_wakes_on_time",
         a_long_wait_is_parked_and_wakes_on_time, STORES_VIRTUAL},
        {"a_short_wait_stays_in_memory_and_wakes_on_time",
         a_short_wait_stays_in_memory_and_wakes_on_time, STORES_VIRTUAL},
        {"a_parked_cascade_wakes_in_another_engine",
         a_parked_cascade_wakes_in_another_engine, STORES_VIRTUAL},
        {"no_jump_of_the_clock_makes_a_timer_early",
         no_jump_of_the_clock_makes_a_timer_early, STORES_VIRTUAL},
        {"backoff_grows_up_to_its_ceiling", backoff_grows_up_to_its_ceiling,
         STORES_VIRTUAL},
        {"backoff_that_grows_slowly_grows", backoff_that_grows_slowly_grows,
         STORES_MEMORY},
        {"jitter_stays_within_its_share", jitter_stays_within_its_share,
         STORES_VIRTUAL},
    };

    return stores_run("timers", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
