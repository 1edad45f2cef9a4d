/* SPDX-License-Identifier: MIT
 *
 * Many at once: executions fanned out and joined, cascades in flight, starts in
 * one commit, one key from many threads (G10), and what bounds them: capacity,
 * queues, priorities.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/store.h"
#include "support/stores.h"

/* ---- What an engine has done -------------------------------------------- */

#define NEVER_MS (INT64_C(3600) * 1000) /* no lease ends during a test */

typedef struct done_so_far {
    cascade_engine *engine;
    uint64_t executions;
} done_so_far;

static bool
has_done(void *context)
{
    const done_so_far *d = context;
    cascade_engine_stats stats = db_stats(d->engine);

    return stats.executions >= d->executions && stats.held == 0;
}

/* The rows are there a little before the engine counts them. */
static void
check_executions(cascade_engine *engine, uint64_t executions)
{
    done_so_far d = {engine, executions};

    assert_true(stores_until(has_done, &d));
    assert_int_equal(db_stats(engine).executions, executions);
}

/* What is much may take a slow machine longer than a store waits. */
static cascade_store *
patient_store(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    options.deadline_ms = DB_WAIT_MS;
    assert_ok(cascade_store_open(db->url, &options, &store));
    assert_true(db->store_count < DB_HANDLES);
    db->stores[db->store_count++] = store;
    return store;
}

/* ---- Fan out and join --------------------------------------------------- */

#define LEAVES 1000

static cascade_err
fan(cascade_node *node, void *user)
{
    uint32_t after[LEAVES];
    cascade_spawn_options options = {
        .size = sizeof(options), .after = after, .after_count = LEAVES};
    cascade_err err = CASCADE_OK;

    (void)user;
    for (uint32_t i = 0; i < LEAVES && err == CASCADE_OK; i++) {
        cJSON *input = cJSON_CreateObject();

        cJSON_AddNumberToObject(input, "n", i);
        err = cascade_node_spawn(node, "leaf", input, NULL);
        after[i] = cascade_node_spawned(node);
    }
    return err == CASCADE_OK ? cascade_node_spawn(node, "join", NULL, &options)
                             : err;
}

static cascade_err
leaf(cascade_node *node, void *user)
{
    const cJSON *n =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "n");

    (void)user;
    return cascade_node_put(node, "n", cJSON_CreateNumber(n->valueint));
}

/* Sees what all of them wrote, in the order of their places. */
static cascade_err
join(cascade_node *node, void *user)
{
    const cJSON *values = NULL;
    const cJSON *value = NULL;
    int count = 0;
    cascade_err err = cascade_node_history(node, "n", &values);

    (void)user;
    if (err != CASCADE_OK)
        return err;
    cJSON_ArrayForEach(value, values)
    {
        expect(value->valueint == count);
        count++;
    }
    return cascade_node_output(node, cJSON_CreateNumber(count));
}

static void
a_thousand_executions_are_fanned_out_and_joined(test_db *db)
{
    cascade_store *store = patient_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;

    assert_ok(cascade_engine_register(engine, "fan", fan, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "leaf", leaf, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "join", join, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    id = db_start(store, "fan");
    db_await(store, &id, CASCADE_COMPLETED);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    assert_string_equal(cascade_snapshot_result(snapshot), "1000");
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY),
                     LEAVES + 2);
    cascade_snapshot_free(snapshot);
    check_executions(engine, LEAVES + 2);
}

/* ---- Cascades in flight ------------------------------------------------- */

#define MANY 10000

static atomic_bool gate_open;

/* Comes again until the gate is open. */
static cascade_err
gate(cascade_node *node, void *user)
{
    cascade_spawn_options options = {.size = sizeof(options), .delay_ms = 1000};

    (void)user;
    if (atomic_load(&gate_open))
        return CASCADE_OK;
    return cascade_node_spawn(node, "gate", NULL, &options);
}

static void
start_many(cascade_store *store, const char *node, cascade_started *started,
           size_t count)
{
    cascade_first first = {.size = sizeof(first), .node = node};
    cascade_start_spec *specs = calloc(count, sizeof(*specs));

    assert_non_null(specs);
    for (size_t i = 0; i < count; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    assert_ok(cascade_start_many(store, specs, count, started));
    free(specs);
}

static bool
holds_all(void *engine)
{
    return db_stats(engine).held == MANY;
}

static void
ten_thousand_cascades_are_in_flight_in_one_process(test_db *db)
{
    cascade_engine_options options = {
        .size = sizeof(options), .worker_count = 8, .park_after_ms = 60000};
    cascade_store *store = patient_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_started *started = calloc(MANY, sizeof(*started));

    assert_non_null(started);
    atomic_store(&gate_open, false);
    assert_ok(cascade_engine_register(engine, "gate", gate, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    start_many(store, "gate", started, MANY);
    assert_true(stores_until(holds_all, engine));
    atomic_store(&gate_open, true);
    for (size_t i = 0; i < MANY; i++) {
        assert_false(started[i].existed);
        db_await(store, &started[i].id, CASCADE_COMPLETED);
    }
    assert_true(stores_until(has_done, &(done_so_far){engine, MANY}));
    free(started);
}

/* ---- Start many --------------------------------------------------------- */

static void
starts_of_one_call_are_all_or_none(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_first good = {.size = sizeof(good), .node = "nothing"};
    cascade_first bad = {
        .size = sizeof(bad), .node = "nothing", .input_text = "{\"a\":"};
    cascade_start_spec specs[3] = {
        {.size = sizeof(specs[0]), .first = &good, .first_count = 1},
        {.size = sizeof(specs[0]), .first = &good, .first_count = 1},
        {.size = sizeof(specs[0]), .first = &bad, .first_count = 1}};
    cascade_started started[3] = {{.existed = true}};
    cascade_page *page = NULL;

    assert_fails(CASCADE_ERR_JSON,
                 cascade_start_many(store, specs, 3, started));
    assert_ok(cascade_list(store, NULL, &page));
    assert_int_equal(cascade_page_count(page), 0);
    cascade_page_free(page);
    assert_ok(cascade_start_many(store, specs, 2, started));
    assert_ok(cascade_list(store, NULL, &page));
    assert_int_equal(cascade_page_count(page), 2);
    cascade_page_free(page);
}

/* A key twice in one call is one cascade, and the second mention is told. */
static void
a_key_twice_in_one_call_is_one_cascade(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_first first = {.size = sizeof(first), .node = "nothing"};
    cascade_start_options keyed = {.size = sizeof(keyed), .key = "k"};
    cascade_start_spec specs[4] = {
        {.size = sizeof(specs[0]),
         .first = &first,
         .first_count = 1,
         .options = &keyed},
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1},
        {.size = sizeof(specs[0]),
         .first = &first,
         .first_count = 1,
         .options = &keyed},
        {.size = sizeof(specs[0]), .first = &first, .first_count = 1}};
    cascade_started started[4];

    assert_ok(cascade_start_many(store, specs, 4, started));
    assert_false(started[0].existed);
    assert_false(started[1].existed);
    assert_true(started[2].existed);
    assert_false(started[3].existed);
    assert_true(csc_uuid_equal(&started[0].id, &started[2].id));
    assert_ok(cascade_start_many(store, specs, 4, started));
    assert_true(started[0].existed);
    assert_false(started[1].existed);
    assert_true(started[2].existed);
}

/* ---- One key from many threads ------------------------------------------ */

#define THREADS 16
#define KEYS 40

typedef struct starter {
    cascade_store *store;
    pthread_barrier_t *barrier;
    cascade_started started[KEYS];
} starter;

static void *
start_keys(void *context)
{
    starter *s = context;

    (void)pthread_barrier_wait(s->barrier);
    for (size_t i = 0; i < KEYS; i++) {
        char key[32];
        cascade_start_options options = {
            .size = sizeof(options), .user_id = "somebody", .key = key};

        snprintf(key, sizeof(key), "order-%zu", i);
        expect(cascade_start(s->store, "nothing", NULL, &options,
                             &s->started[i]) == CASCADE_OK);
    }
    return NULL;
}

static void
race_for_keys(cascade_store *const *stores, size_t store_count)
{
    starter *starters = calloc(THREADS, sizeof(*starters));
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;

    assert_non_null(starters);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++) {
        starters[i].store = stores[i % store_count];
        starters[i].barrier = &barrier;
        assert_int_equal(
            pthread_create(&threads[i], NULL, start_keys, &starters[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)pthread_barrier_destroy(&barrier);
    for (size_t k = 0; k < KEYS; k++) {
        size_t first = 0;

        for (size_t i = 0; i < THREADS; i++) {
            first += starters[i].started[k].existed ? 0 : 1;
            assert_true(csc_uuid_equal(&starters[i].started[k].id,
                                       &starters[0].started[k].id));
        }
        assert_int_equal(first, 1);
        db_await(stores[0], &starters[0].started[k].id, CASCADE_COMPLETED);
    }
    free(starters);
}

/* G10, through the lanes of an engine and by transactions of their own. */
static void
one_key_from_sixteen_threads_is_one_cascade(test_db *db)
{
    cascade_store *stores[2] = {db_store(db), db_store(db)};
    cascade_engine *engine = db_engine(db, stores[0], NULL);

    assert_ok(
        cascade_engine_register(engine, "nothing", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    race_for_keys(stores, 2);
    check_executions(engine, KEYS);
}

/* ---- Capacity, queues, priorities --------------------------------------- */

static cascade_err
look_at_held(cascade_node *node, void *engine)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    (void)node;
    expect(cascade_engine_get_stats(engine, &stats) == CASCADE_OK);
    expect(stats.held >= 1 && stats.held <= 10);
    return CASCADE_OK;
}

static void
an_engine_never_holds_more_than_its_capacity(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 4,
                                      .capacity = 10,
                                      .poll_interval_ms = 50};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_started started[200];

    assert_ok(
        cascade_engine_register(engine, "look", look_at_held, engine, NULL));
    assert_ok(cascade_engine_start(engine));
    start_many(store, "look", started, 100);
    for (size_t i = 100; i < 200; i++)
        started[i].id = db_start(store, "look");
    for (size_t i = 0; i < 200; i++)
        db_await(store, &started[i].id, CASCADE_COMPLETED);
    check_executions(engine, 200);
}

static cascade_err
count_here(cascade_node *node, void *count)
{
    (void)node;
    atomic_fetch_add((atomic_int *)count, 1);
    return CASCADE_OK;
}

static void
an_engine_serves_its_queues_only(test_db *db)
{
    static const char *const names[] = {"red", "blue", "green"};
    cascade_store *store = db_store(db);
    atomic_int counts[2] = {0, 0};
    cascade_uuid ids[30];

    for (size_t i = 0; i < 2; i++) {
        cascade_engine_options options = {.size = sizeof(options),
                                          .queues = &names[i],
                                          .queue_count = 1,
                                          .worker_count = 2,
                                          .lease_ms = NEVER_MS,
                                          .poll_interval_ms = 20};
        cascade_engine *engine = db_engine(db, store, &options);

        assert_ok(
            cascade_engine_register(engine, "n", count_here, &counts[i], NULL));
        assert_ok(cascade_engine_start(engine));
    }
    for (size_t i = 0; i < 30; i++) {
        cascade_start_options options = {.size = sizeof(options),
                                         .queue = names[i % 3]};
        cascade_started started;

        assert_ok(cascade_start(store, "n", NULL, &options, &started));
        ids[i] = started.id;
    }
    for (size_t i = 0; i < 30; i++) {
        if (i % 3 < 2)
            db_await(store, &ids[i], CASCADE_COMPLETED);
        else
            assert_fails(CASCADE_ERR_TIMEOUT,
                         cascade_wait(store, &ids[i], 0, NULL));
    }
    assert_int_equal(atomic_load(&counts[0]), 10);
    assert_int_equal(atomic_load(&counts[1]), 10);
}

typedef struct order {
    int priorities[64];
    size_t count;
} order;

/* The user pointer is the list, the input the priority. */
static cascade_err
note_order(cascade_node *node, void *user)
{
    order *o = user;

    o->priorities[o->count++] = atoi(cascade_node_input_text(node));
    return CASCADE_OK;
}

static void
higher_priorities_run_first(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, &options);
    order o = {.count = 0};
    cascade_uuid ids[40];
    db_ends ends = {store, ids, 40, 0};

    assert_ok(cascade_engine_register(engine, "n", note_order, &o, NULL));
    for (size_t i = 0; i < 40; i++) {
        char input[8];
        cascade_first first = {
            .size = sizeof(first), .node = "n", .input_text = input};
        cascade_start_options start = {.size = sizeof(start),
                                       .priority = (int)(i * 7 % 10)};
        cascade_start_spec spec = {.size = sizeof(spec),
                                   .first = &first,
                                   .first_count = 1,
                                   .options = &start};
        cascade_started started;

        snprintf(input, sizeof(input), "%d", start.priority);
        assert_ok(cascade_start_many(store, &spec, 1, &started));
        ids[i] = started.id;
    }
    assert_ok(cascade_engine_start(engine));
    assert_true(db_poll_until(db, &engine, 1, db_all_ended, &ends));
    assert_int_equal(o.count, 40);
    for (size_t i = 1; i < o.count; i++)
        assert_true(o.priorities[i - 1] >= o.priorities[i]);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_thousand_executions_are_fanned_out_and_joined",
         a_thousand_executions_are_fanned_out_and_joined, STORES_ALL},
        {"ten_thousand_cascades_are_in_flight_in_one_process",
         ten_thousand_cascades_are_in_flight_in_one_process, STORES_ALL},
        {"starts_of_one_call_are_all_or_none",
         starts_of_one_call_are_all_or_none, STORES_ALL},
        {"a_key_twice_in_one_call_is_one_cascade",
         a_key_twice_in_one_call_is_one_cascade, STORES_ALL},
        {"one_key_from_sixteen_threads_is_one_cascade",
         one_key_from_sixteen_threads_is_one_cascade, STORES_ALL},
        {"an_engine_never_holds_more_than_its_capacity",
         an_engine_never_holds_more_than_its_capacity, STORES_ALL},
        {"an_engine_serves_its_queues_only", an_engine_serves_its_queues_only,
         STORES_ALL},
        {"higher_priorities_run_first", higher_priorities_run_first,
         STORES_ALL},
    };

    return stores_run("scale", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
