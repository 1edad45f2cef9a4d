/* SPDX-License-Identifier: MIT
 *
 * A cascade that cannot be loaded, and has more messages than one look for
 * messages gives, keeps no other from its own; when it can be loaded it
 * receives all of them.
 */
#include <string.h>

#include "store/store.h"
#include "support/stores.h"

#define MESSAGES 1200
#define LOOKS 20 /* for messages, in which the other one's must be seen */
#define HOUR_MS (INT64_C(3600) * 1000)

typedef struct stuck_scene {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store; /* the engine's */
    cascade_store *other; /* the senders' */
    cascade_engine *engine;
    cascade_uuid stuck; /* cannot be loaded */
    cascade_uuid good;
} stuck_scene;

static cascade_err
wait_for_news(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "news", -1, NULL);
}

/* What it sends need not survive anything. */
static cascade_store *
hasty_store(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    options.durability = CASCADE_DURABILITY_RELAXED;
    assert_ok(cascade_store_open(db->url, &options, &store));
    assert_true(db->store_count < DB_HANDLES);
    db->stores[db->store_count++] = store;
    return store;
}

static void
stuck_open(stuck_scene *b, test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .poll_interval_ms =
                                                db->fake_time ? 1000 : 1,
                                            .park_after_ms = HOUR_MS,
                                            .lease_ms = HOUR_MS};

    *b = (stuck_scene){.db = db, .wrap = wrap_store_create(db->url)};
    assert_non_null(b->wrap);
    b->store = db_wrapped(db, b->wrap);
    b->other = hasty_store(db);
    b->engine = db_engine(db, b->store, &options);
    assert_ok(
        cascade_engine_register(b->engine, "waits", wait_for_news, b, NULL));
    assert_ok(cascade_engine_start(b->engine));
}

static void
stuck_close(stuck_scene *b)
{
    db_close_engine(b->db, b->engine);
    db_close_store(b->db, b->store);
    wrap_store_free(b->wrap);
}

static bool
good_waits(void *context)
{
    const stuck_scene *b = context;

    return db_stats(b->engine).attempts == 1 &&
           db_stats(b->engine).running == 0;
}

static bool
load_has_failed(void *context)
{
    return atomic_load(&((stuck_scene *)context)->wrap->faults) > 0;
}

/* The good one is held, the other one owned and not in memory. */
static void
begin(stuck_scene *b)
{
    b->good = db_start(b->store, "waits");
    assert_true(db_poll_until(b->db, &b->engine, 1, good_waits, b));
    b->stuck = db_start(b->other, "waits");
    wrap_store_fail(b->wrap, WRAP_LOAD, 0, SIZE_MAX, WRAP_BEFORE,
                    CASCADE_ERR_CORRUPT);
    assert_true(db_poll_until(b->db, &b->engine, 1, load_has_failed, b));
    for (int i = 0; i < MESSAGES; i++)
        assert_ok(cascade_signal(b->other, &b->stuck, "news", NULL, NULL));
}

static bool
good_has_ended(void *context)
{
    stuck_scene *b = context;

    return cascade_wait(b->other, &b->good, 0, NULL) == CASCADE_OK;
}

static bool
is_enough(void *context)
{
    stuck_scene *b = context;

    return good_has_ended(b) || wrap_store_count(b->wrap, WRAP_RECEIVE) > LOOKS;
}

static void
one_that_cannot_be_loaded_keeps_no_other_waiting(test_db *db)
{
    stuck_scene b;

    db->log_warnings = true;
    stuck_open(&b, db);
    begin(&b);
    assert_ok(cascade_signal(b.other, &b.good, "news", NULL, NULL));
    assert_true(db_poll_until(db, &b.engine, 1, is_enough, &b));
    assert_true(good_has_ended(&b));
    stuck_close(&b);
}

static bool
nothing_is_left(void *context)
{
    const stuck_scene *b = context;
    cascade_totals totals;

    assert_ok(b->other->driver->manage->totals(b->other->self, &totals));
    return totals.messages == 0;
}

static void
once_it_is_loaded_it_receives_all(test_db *db)
{
    stuck_scene b;

    db->fake_time = true;
    stuck_open(&b, db);
    begin(&b);
    wrap_store_fail(b.wrap, WRAP_LOAD, 0, 0, WRAP_BEFORE, CASCADE_OK);
    assert_true(db_poll_until(db, &b.engine, 1, nothing_is_left, &b));
    db_await(b.other, &b.stuck, CASCADE_COMPLETED);
    stuck_close(&b);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"one_that_cannot_be_loaded_keeps_no_other_waiting",
         one_that_cannot_be_loaded_keeps_no_other_waiting, STORES_ALL},
        {"once_it_is_loaded_it_receives_all", once_it_is_loaded_it_receives_all,
         STORES_VIRTUAL},
    };

    return stores_run("stuck", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
