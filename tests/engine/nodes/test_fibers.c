/* SPDX-License-Identifier: MIT
 *
 * Nodes on fibers (see FIBERS in cascade.h): that a worker goes on with others
 * while a step waits for its commit, which nodes have a worker for themselves,
 * and what becomes of those that wait when the engine is fenced, or stops.
 *
 * The cascades are there before the engine: what it commits first are steps. A
 * test holds these up, or answers for the store.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/stores.h"

#define CROWD 20
#define NEVER_MS (INT64_C(60) * 60 * 1000)

typedef struct crowd {
    wrap_store wrap;
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid ids[CROWD];
    size_t count;
    atomic_bool holds; /* from its first step on */
    atomic_bool held;  /* commits wait, */
    atomic_int err;    /* or are answered so, unless OK */
    atomic_int entered;
    atomic_int stepped; /* steps that were called */
    atomic_int refused; /* of those that were not recorded */
    atomic_int left;
    atomic_int blocked; /* in a function, until `go` */
    atomic_bool go;
    uint64_t fibers[CROWD]; /* as each of one worker has seen */
} crowd;

/* ---- The store ----------------------------------------------------------- */

static bool
is_let_go(void *context)
{
    return !atomic_load(&((crowd *)context)->held);
}

static cascade_err
hold_up(void *context, const wrap_call *call)
{
    crowd *c = context;

    if (call->move != WRAP_COMMIT)
        return CASCADE_OK;
    expect(stores_until(is_let_go, c));
    return (cascade_err)atomic_load(&c->err);
}

static crowd *
open_crowd(test_db *db, const cascade_engine_options *given)
{
    cascade_engine_options options = *given;
    crowd *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    assert_int_equal(wrap_store_init(&c->wrap, db->url), 0);
    c->wrap.context = c;
    c->wrap.before = hold_up;
    c->db = db;
    c->store = db_wrapped(db, &c->wrap);
    options.size = sizeof(options);
    options.lease_ms = NEVER_MS;
    options.poll_interval_ms = 20;
    c->engine = db_engine(db, c->store, &options);
    return c;
}

static void
add_node(crowd *c, const char *name, cascade_node_fn fn,
         const cascade_node_options *given)
{
    cascade_node_options options = *given;

    options.size = sizeof(options);
    options.backoff_ms = 1;
    assert_ok(cascade_engine_register(c->engine, name, fn, c, &options));
}

static void
add_cascades(crowd *c, const char *node, size_t count)
{
    for (size_t i = 0; i < count; i++)
        c->ids[c->count++] = db_start(c->store, node);
}

static void
await_all(crowd *c, cascade_status status)
{
    for (size_t i = 0; i < c->count; i++)
        db_await(c->store, &c->ids[i], status);
}

static void
close_crowd(crowd *c)
{
    db_close_engine(c->db, c->engine);
    db_close_store(c->db, c->store);
    wrap_store_fini(&c->wrap);
    free(c);
}

/* ---- Nodes --------------------------------------------------------------- */

static cascade_err
count_step(cascade_node *node, void *arg, cJSON **result)
{
    crowd *c = arg;

    (void)node;
    if (atomic_exchange(&c->holds, false))
        atomic_store(&c->held, true);
    *result = cJSON_CreateNumber(atomic_fetch_add(&c->stepped, 1));
    return CASCADE_OK;
}

/* Two steps; it keeps on its stack what they gave. */
static cascade_err
two_steps(cascade_node *node, void *user)
{
    crowd *c = user;
    cascade_err err = CASCADE_OK;

    atomic_fetch_add(&c->entered, 1);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++) {
        cJSON *result = NULL;

        err = cascade_node_step(node, "step", count_step, c, NULL, &result);
        expect((err == CASCADE_OK) == (result != NULL));
        cJSON_Delete(result);
    }
    if (err != CASCADE_OK) {
        atomic_fetch_add(&c->refused, 1);
        expect(cascade_node_step(node, "more", count_step, c, NULL, NULL) !=
               CASCADE_OK);
        expect(cascade_node_sleep(node, "more", 1) != CASCADE_OK);
    }
    atomic_fetch_add(&c->left, 1);
    return err;
}

static bool
may_go(void *context)
{
    return atomic_load(&((crowd *)context)->go);
}

static cascade_err
block(cascade_node *node, void *user)
{
    crowd *c = user;

    (void)node;
    atomic_fetch_add(&c->blocked, 1);
    expect(stores_until(may_go, c));
    return CASCADE_OK;
}

/* ---- One worker ---------------------------------------------------------- */

static bool
all_are_in(void *context)
{
    crowd *c = context;

    return atomic_load(&c->stepped) == CROWD &&
           db_stats(c->engine).fibers == CROWD;
}

/* All of them are in their first step, as far as may be, which is held up. */
static crowd *
hold_crowd(test_db *db, const cascade_engine_options *options,
           bool (*are_in)(void *context))
{
    crowd *c = open_crowd(db, options);

    add_node(c, "steps", two_steps, &(cascade_node_options){0});
    add_cascades(c, "steps", CROWD);
    atomic_store(&c->held, true);
    assert_ok(cascade_engine_start(c->engine));
    assert_true(stores_until(are_in, c));
    return c;
}

static void
one_worker_carries_many_nodes(test_db *db)
{
    const cascade_engine_options options = {.worker_count = 1, .fibers = 1};
    crowd *c = hold_crowd(db, &options, all_are_in);

    assert_int_equal(db_stats(c->engine).running, CROWD);
    atomic_store(&c->held, false);
    await_all(c, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c->entered), CROWD);
    assert_int_equal(atomic_load(&c->stepped), 2 * CROWD);
    assert_int_equal(atomic_load(&c->left), CROWD);
    close_crowd(c);
}

/* Three have a worker, two a fiber. */
static bool
five_are_in(void *context)
{
    crowd *c = context;

    return atomic_load(&c->stepped) == 5 && db_stats(c->engine).fibers == 2 &&
           db_stats(c->engine).running == 5;
}

static void
beyond_fiber_max_a_node_has_its_worker(test_db *db)
{
    const cascade_engine_options options = {
        .worker_count = 3, .fibers = 1, .fiber_max = 2};
    crowd *c = hold_crowd(db, &options, five_are_in);

    atomic_store(&c->held, false);
    await_all(c, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c->stepped), 2 * CROWD);
    close_crowd(c);
}

/* ---- Which nodes have a worker for themselves ---------------------------- */

static bool
is_blocked(void *context)
{
    return atomic_load(&((crowd *)context)->blocked) == 1;
}

static void
a_node_with_thread_has_its_worker(test_db *db)
{
    const cascade_engine_options options = {.worker_count = 2, .fibers = 1};
    crowd *c = open_crowd(db, &options);

    add_node(c, "block", block, &(cascade_node_options){.thread = true});
    add_node(c, "steps", two_steps, &(cascade_node_options){0});
    add_cascades(c, "block", 1);
    assert_ok(cascade_engine_start(c->engine));
    assert_true(stores_until(is_blocked, c));
    assert_int_equal(db_stats(c->engine).fibers, 0);
    assert_int_equal(db_stats(c->engine).running, 1);
    add_cascades(c, "steps", 5);
    for (size_t i = 1; i < c->count; i++)
        db_await(c->store, &c->ids[i], CASCADE_COMPLETED);
    atomic_store(&c->go, true);
    await_all(c, CASCADE_COMPLETED);
    close_crowd(c);
}

/* Takes its time by the clock of the test. */
static cascade_err
take_long(cascade_node *node, void *user)
{
    crowd *c = user;

    (void)node;
    c->fibers[atomic_fetch_add(&c->entered, 1)] = db_stats(c->engine).fibers;
    fake_clock_advance(&c->db->clock, 6);
    return CASCADE_OK;
}

static void
a_node_that_holds_its_thread_gets_one(test_db *db)
{
    const cascade_engine_options options = {.worker_count = 1, .fibers = 1};
    crowd *c = NULL;

    db->fake_time = true;
    c = open_crowd(db, &options);
    add_node(c, "long", take_long, &(cascade_node_options){0});
    add_cascades(c, "long", 4);
    assert_ok(cascade_engine_start(c->engine));
    await_all(c, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c->entered), 4);
    assert_int_equal(c->fibers[0], 1);
    assert_int_equal(c->fibers[1], 1);
    assert_int_equal(c->fibers[2], 0);
    assert_int_equal(c->fibers[3], 0);
    close_crowd(c);
}

/* ---- What is not their own time ------------------------------------------ */

/* Behind the one that has spawned it. */
static bool
a_step_is_recorded(void *context)
{
    return db_stats(((crowd *)context)->engine).executions > 1;
}

/* The first is in its step when the other begins. */
static cascade_err
spawn_two(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(node, "steps", NULL, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_spawn(node, "block", NULL, NULL)
                             : err;
}

/* Its step is recorded, and its worker is in another function for longer than
 * its attempt may take. */
static void
waiting_for_its_worker_is_not_its_time(test_db *db)
{
    const cascade_engine_options options = {.worker_count = 1, .fibers = 1};
    crowd *c = NULL;

    db->fake_time = true;
    c = open_crowd(db, &options);
    add_node(
        c, "steps", two_steps,
        &(cascade_node_options){.attempt_timeout_ms = 1000, .attempts_max = 1});
    add_node(c, "block", block, &(cascade_node_options){0});
    add_node(c, "two", spawn_two, &(cascade_node_options){0});
    add_cascades(c, "two", 1);
    atomic_store(&c->holds, true);
    assert_ok(cascade_engine_start(c->engine));
    assert_true(stores_until(is_blocked, c));
    fake_clock_advance(&db->clock, 900);
    atomic_store(&c->held, false);
    assert_true(stores_until(a_step_is_recorded, c));
    fake_clock_advance(&db->clock, 5000);
    assert_ok(cascade_wake(c->store));
    db_pass_rounds(c->store, &c->wrap);
    atomic_store(&c->go, true);
    await_all(c, CASCADE_COMPLETED);
    assert_int_equal(atomic_load(&c->entered), 1);
    close_crowd(c);
}

/* ---- Ways out ------------------------------------------------------------ */

static bool
all_have_left(void *context)
{
    return atomic_load(&((crowd *)context)->left) >= CROWD;
}

static bool
no_fiber_is_left(void *context)
{
    return db_stats(((crowd *)context)->engine).fibers == 0;
}

static void
those_that_wait_are_told_of_a_fence(test_db *db)
{
    const cascade_engine_options options = {.worker_count = 2, .fibers = 1};
    crowd *c = hold_crowd(db, &options, all_are_in);

    atomic_store(&c->err, CASCADE_ERR_FENCED);
    atomic_store(&c->held, false);
    assert_true(stores_until(all_have_left, c));
    atomic_store(&c->err, CASCADE_OK);
    assert_true(atomic_load(&c->refused) >= CROWD);
    await_all(c, CASCADE_COMPLETED);
    close_crowd(c);
}

static void
those_that_wait_are_told_of_a_stop(test_db *db)
{
    const cascade_engine_options options = {.worker_count = 2, .fibers = 1};
    crowd *c = hold_crowd(db, &options, all_are_in);

    atomic_store(&c->err, CASCADE_ERR_UNAVAILABLE);
    atomic_store(&c->held, false);
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_engine_stop(c->engine, 0));
    assert_true(stores_until(no_fiber_is_left, c));
    assert_int_equal(atomic_load(&c->left), CROWD);
    assert_int_equal(atomic_load(&c->refused), CROWD);
    close_crowd(c);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"one_worker_carries_many_nodes", one_worker_carries_many_nodes,
         STORES_ALL},
        {"beyond_fiber_max_a_node_has_its_worker",
         beyond_fiber_max_a_node_has_its_worker, STORES_ALL},
        {"a_node_with_thread_has_its_worker", a_node_with_thread_has_its_worker,
         STORES_ALL},
        {"a_node_that_holds_its_thread_gets_one",
         a_node_that_holds_its_thread_gets_one, STORES_VIRTUAL},
        {"waiting_for_its_worker_is_not_its_time",
         waiting_for_its_worker_is_not_its_time, STORES_VIRTUAL},
        {"those_that_wait_are_told_of_a_fence",
         those_that_wait_are_told_of_a_fence, STORES_ALL},
        {"those_that_wait_are_told_of_a_stop",
         those_that_wait_are_told_of_a_stop, STORES_ALL},
    };

    return stores_run("fibers", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
