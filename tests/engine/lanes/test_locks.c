/* SPDX-License-Identifier: MIT
 *
 * Each mutex and each condition that a life of an engine needs fails to be made
 * once: the call that needs it says so, and nothing that was made stays.
 */
#include <string.h>

#include "base/lock.h"
#include "support/stores.h"

#define LOCKS_MAX 64

static cascade_err
pass(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
run_one(cascade_store *store, cascade_engine *engine, bool transactional)
{
    cascade_node_options options = {.size = sizeof(options),
                                    .transactional = transactional};
    cascade_started started = {.existed = false};
    cascade_err err =
        cascade_engine_register(engine, "pass", pass, NULL, &options);

    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    if (err == CASCADE_OK)
        err = cascade_start(store, "pass", NULL, NULL, &started);
    if (err == CASCADE_OK)
        err = cascade_wait(store, &started.id, DB_WAIT_MS, NULL);
    return err;
}

static cascade_err
live_with(cascade_store *store, bool transactional, int fibers)
{
    cascade_engine_options options = {
        .size = sizeof(options), .worker_count = 2, .fibers = fibers};
    cascade_engine *engine = NULL;
    cascade_err err = cascade_engine_open(store, &options, &engine);

    if (err != CASCADE_OK)
        return err;
    err = run_one(store, engine, transactional);
    if (err != CASCADE_OK)
        assert_string_not_equal(cascade_errmsg(), "");
    assert_ok(cascade_engine_close(engine));
    return err;
}

static cascade_err
live(test_db *db, int fibers)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;
    cascade_err err = cascade_store_open(db->url, &options, &store);

    if (err != CASCADE_OK)
        return err;
    err = live_with(store, strcmp(db->backend->name, "memory") != 0, fibers);
    assert_ok(cascade_store_close(store));
    return err;
}

static void
fail_each_lock(test_db *db, int fibers)
{
    cascade_store *kept = db_store(db); /* the tables are there from here on */
    size_t locks = csc_lock_live();
    size_t failed = 0;
    size_t nth = 0;

    assert_non_null(kept);
    do {
        nth++;
        (void)csc_lock_fail_at(nth);
        failed += live(db, fibers) != CASCADE_OK;
        assert_int_equal(csc_lock_live(), locks);
    } while (csc_lock_fail_at(0) >= nth && nth < LOCKS_MAX);
    assert_true(failed > 4 && nth < LOCKS_MAX);
    assert_ok(live(db, fibers));
}

static void
what_cannot_be_locked_is_refused_and_leaves_nothing(test_db *db)
{
    fail_each_lock(db, -1);
}

static void
with_fibers_it_leaves_nothing_either(test_db *db)
{
    fail_each_lock(db, 1);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_cannot_be_locked_is_refused_and_leaves_nothing",
         what_cannot_be_locked_is_refused_and_leaves_nothing, STORES_ALL},
        {"with_fibers_it_leaves_nothing_either",
         with_fibers_it_leaves_nothing_either, STORES_ALL},
    };

    return stores_run("locks", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
