/* SPDX-License-Identifier: MIT
 *
 * A burst: more cascades are due than one claim brings. One batch is loaded
 * beside the next claim; each cascade is taken in once, within the capacity,
 * whatever fails on the way.
 */
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "claim/claim.h"
#include "support/stores.h"

#define COUNT (4 * CSC_CLAIM_MAX + 10)
#define LEASE_MS (INT64_C(60) * 60 * 1000)

typedef struct bursting {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *_Atomic engine; /* NULL: it is not looked at */
    cascade_uuid ids[COUNT];
    atomic_size_t overlapped; /* claims seen while a load waited for one */
    atomic_bool waits;        /* the next load waits for a claim */
    atomic_size_t full;       /* the number of the first claim that was */
    cascade_engine *to_stop;  /* by the second load */
    size_t capacity;          /* of the engine */
} bursting;

static bool
has_claimed_again(void *context)
{
    bursting *b = context;

    return wrap_store_count(&b->wrap, WRAP_CLAIM) > atomic_load(&b->full);
}

/* What the first load waits for can only come from another thread. */
static void
await_claim(bursting *b)
{
    if (stores_until(has_claimed_again, b))
        atomic_fetch_add(&b->overlapped, 1);
}

static cascade_err
before(void *context, const wrap_call *call)
{
    bursting *b = context;

    if (b->engine != NULL)
        expect(db_stats(b->engine).held <= b->capacity);
    if (call->move != WRAP_LOAD)
        return CASCADE_OK;
    if (b->to_stop != NULL && call->number == 2)
        cascade_engine_request_stop(b->to_stop);
    if (atomic_exchange(&b->waits, false))
        await_claim(b);
    return CASCADE_OK;
}

static cascade_err
after(void *context, const wrap_call *call, cascade_err answer)
{
    bursting *b = context;

    if (call->move == WRAP_CLAIM && answer == CASCADE_OK &&
        call->claimed->count == CSC_CLAIM_MAX && atomic_load(&b->full) == 0)
        atomic_store(&b->full, call->number);
    return answer;
}

static cascade_err
pass(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static void
open_engine(test_db *db, bursting *b, size_t capacity)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_THREADS,
                                      .capacity = capacity,
                                      .worker_count = 2,
                                      .lease_ms = LEASE_MS};

    b->capacity = capacity;
    b->engine = db_engine(db, b->store, &options);
    assert_ok(cascade_engine_register(b->engine, "pass", pass, b, NULL));
}

/* All of them are due and nobody runs them. A burst is over after a while: with
 * `endless` the engine's clock stands. */
static bursting *
bursting_create(test_db *db, bool endless)
{
    static const cascade_first first = {.size = sizeof(first), .node = "pass"};
    bursting *b = calloc(1, sizeof(*b));
    cascade_start_spec *specs = calloc(COUNT, sizeof(*specs));
    cascade_started *started = calloc(COUNT, sizeof(*started));

    assert_true(b != NULL && specs != NULL && started != NULL);
    assert_int_equal(wrap_store_init(&b->wrap, db->url), 0);
    b->wrap.context = b;
    b->wrap.before = before;
    b->wrap.after = after;
    db->fake_time = endless;
    b->store = db_wrapped(db, &b->wrap);
    for (size_t i = 0; i < COUNT; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1};
    assert_ok(cascade_start_many(b->store, specs, COUNT, started));
    for (size_t i = 0; i < COUNT; i++)
        b->ids[i] = started[i].id;
    free(specs);
    free(started);
    return b;
}

static void
await_all(bursting *b)
{
    db_ends ends = {b->store, b->ids, COUNT, 0};

    assert_true(stores_until(db_all_ended, &ends));
}

static void
bursting_free(test_db *db, bursting *b)
{
    cascade_engine *engine = b->engine;

    b->engine = NULL;
    db_close_engine(db, engine);
    db_close_store(db, b->store);
    wrap_store_fini(&b->wrap);
    free(b);
}

static void
the_next_claim_goes_on_while_a_batch_is_loaded(test_db *db)
{
    bursting *b = bursting_create(db, true);

    atomic_store(&b->waits, true);
    open_engine(db, b, 2 * COUNT);
    assert_ok(cascade_engine_start(b->engine));
    await_all(b);
    assert_int_equal(atomic_load(&b->overlapped), 1);
    assert_int_equal(db_stats(b->engine).hydrations, COUNT);
    bursting_free(db, b);
}

static void
a_burst_keeps_within_the_capacity(test_db *db)
{
    bursting *b = bursting_create(db, false);

    open_engine(db, b, CSC_CLAIM_MAX + 20);
    assert_ok(cascade_engine_start(b->engine));
    await_all(b);
    assert_int_equal(db_stats(b->engine).hydrations, COUNT);
    bursting_free(db, b);
}

static void
what_cannot_be_loaded_in_a_burst_is_loaded_later(test_db *db)
{
    bursting *b = bursting_create(db, false);

    wrap_store_fail(&b->wrap, WRAP_LOAD, 1, 2, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    open_engine(db, b, 2 * COUNT);
    assert_ok(cascade_engine_start(b->engine));
    await_all(b);
    assert_int_equal(atomic_load(&b->wrap.faults), 2);
    assert_int_equal(db_stats(b->engine).hydrations, COUNT);
    bursting_free(db, b);
}

static bool
has_loaded_twice(void *context)
{
    return wrap_store_count(&((bursting *)context)->wrap, WRAP_LOAD) >= 2;
}

/* Two batches are being loaded then, one may wait and one be on its way. */
static void
a_burst_ends_when_a_stop_is_requested(test_db *db)
{
    bursting *b = bursting_create(db, true);
    cascade_engine *first = NULL;

    open_engine(db, b, 2 * COUNT);
    b->to_stop = b->engine;
    assert_ok(cascade_engine_start(b->engine));
    assert_true(stores_until(has_loaded_twice, b));
    assert_ok(cascade_engine_stop(b->engine, -1));
    assert_in_range(db_stats(b->engine).hydrations, 1, 4 * CSC_CLAIM_MAX);
    b->to_stop = NULL;
    first = b->engine;
    b->engine = NULL;
    db_close_engine(db, first);
    open_engine(db, b, 2 * COUNT);
    assert_ok(cascade_engine_start(b->engine));
    await_all(b);
    bursting_free(db, b);
}

/* Its mutex cannot be made, then its condition. */
static void
without_locks_a_burst_loads_one_batch_at_a_time(test_db *db)
{
    for (size_t nth = 1; nth <= 2; nth++) {
        bursting *b = bursting_create(db, false);
        size_t live = 0;

        open_engine(db, b, 2 * COUNT);
        live = csc_lock_live();
        (void)csc_lock_fail_at(nth);
        assert_ok(cascade_engine_start(b->engine));
        await_all(b);
        assert_ok(cascade_engine_stop(b->engine, -1));
        assert_true(csc_lock_fail_at(0) >= nth);
        assert_int_equal(db_stats(b->engine).hydrations, COUNT);
        assert_int_equal(csc_lock_live(), live);
        bursting_free(db, b);
    }
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_next_claim_goes_on_while_a_batch_is_loaded",
         the_next_claim_goes_on_while_a_batch_is_loaded, STORES_ALL},
        {"a_burst_keeps_within_the_capacity", a_burst_keeps_within_the_capacity,
         STORES_ALL},
        {"what_cannot_be_loaded_in_a_burst_is_loaded_later",
         what_cannot_be_loaded_in_a_burst_is_loaded_later, STORES_ALL},
        {"without_locks_a_burst_loads_one_batch_at_a_time",
         without_locks_a_burst_loads_one_batch_at_a_time, STORES_ALL},
        {"a_burst_ends_when_a_stop_is_requested",
         a_burst_ends_when_a_stop_is_requested, STORES_ALL},
    };

    return stores_run("burst", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
