/* SPDX-License-Identifier: MIT
 *
 * Cascades that cannot be read in time: those that are read with them are not
 * held up by it (B3).
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/uuid.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define CROWD 40
#define GIANTS 3
#define LOADS_MAX 200

typedef struct bench {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid ids[CROWD]; /* the first ones are the giants */
    atomic_bool grown;       /* the deadline suffices for them */
    atomic_size_t loads;
    atomic_size_t alone; /* loads of one giant */
} bench;

static bool
is_giant(const bench *b, const cascade_uuid *id)
{
    for (size_t i = 0; i < GIANTS; i++)
        if (csc_uuid_equal(&b->ids[i], id))
            return true;
    return false;
}

static cascade_err
read_in_vain(void *context, const wrap_call *call)
{
    bench *b = context;

    if (call->move != WRAP_LOAD || atomic_load(&b->grown))
        return CASCADE_OK;
    atomic_fetch_add(&b->loads, 1);
    for (size_t i = 0; i < call->id_count; i++) {
        if (!is_giant(b, &call->ids[i]))
            continue;
        atomic_fetch_add(&b->alone, call->id_count == 1);
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE, "the deadline");
    }
    return CASCADE_OK;
}

static void
bench_open(bench *b, test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lease_ms = 60000,
                                            .poll_interval_ms = 20};
    cascade_store *starter = db_store(db);

    b->db = db;
    for (size_t i = 0; i < CROWD; i++)
        b->ids[(i + CROWD / 2) % CROWD] = db_start(starter, "work");
    b->wrap = wrap_store_create(db->url);
    assert_non_null(b->wrap);
    b->wrap->context = b;
    b->wrap->before = read_in_vain;
    b->store = db_wrapped(db, b->wrap);
    b->engine = db_engine(db, b->store, &options);
    assert_ok(
        cascade_engine_register(b->engine, "work", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(b->engine));
}

static bool
giants_were_alone(void *context)
{
    return atomic_load(&((bench *)context)->alone) >= GIANTS;
}

static void
those_too_large_for_the_deadline_hold_up_nobody(test_db *db)
{
    bench *b = calloc(1, sizeof(*b));

    assert_non_null(b);
    bench_open(b, db);
    for (size_t i = GIANTS; i < CROWD; i++)
        db_await(b->store, &b->ids[i], CASCADE_COMPLETED);
    assert_true(stores_until(giants_were_alone, b));
    assert_true(atomic_load(&b->loads) < LOADS_MAX);
    atomic_store(&b->grown, true);
    for (size_t i = 0; i < GIANTS; i++)
        db_await(b->store, &b->ids[i], CASCADE_COMPLETED);
    assert_int_equal(db_stats(b->engine).fences, 0);
    db_close_engine(db, b->engine);
    db_close_store(db, b->store);
    wrap_store_free(b->wrap);
    free(b);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"those_too_large_for_the_deadline_hold_up_nobody",
         those_too_large_for_the_deadline_hold_up_nobody, STORES_ALL},
    };

    return stores_run("engine_apart", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
