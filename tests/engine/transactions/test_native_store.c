/* SPDX-License-Identifier: MIT
 *
 * What a transactional node asks of other cascades by cascade_node_store() is
 * part of the commit that records it: with it, or never.
 */
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/till.h"

#define NAME "started-by-pay"

static cascade_err
hear(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    if (err == CASCADE_OK)
        atomic_fetch_add(&((till *)user)->other, 1);
    return err;
}

/* Starts a cascade, signals it and another one, then fails as often as it is
 * to. */
static cascade_err
pay_and_ask(cascade_node *node, void *user)
{
    till *t = user;
    const cascade_start_options key = {.size = sizeof(key), .key = NAME};
    cascade_store *store = NULL;
    cascade_store *again = NULL;
    cascade_started started;
    cascade_err err = cascade_node_store(node, &store);

    if (err == CASCADE_OK)
        err = cascade_node_store(node, &again);
    expect(err != CASCADE_OK || again == store);
    if (err == CASCADE_OK)
        err = cascade_start(store, "hear", NULL, &key, &started);
    expect(err != CASCADE_OK || !started.existed);
    if (err == CASCADE_OK)
        err = cascade_signal(store, &started.id, "go", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_signal(store, &t->id, "go", NULL, NULL);
    expect(err == CASCADE_OK);
    return err == CASCADE_OK ? till_pay(node, t) : err;
}

static const till_node asking[] = {
    {"pay", pay_and_ask, {.transactional = true, .backoff_ms = 1}},
    {"hear", hear, {0}}};

static bool
both_have_heard(void *context)
{
    return atomic_load(&((till *)context)->other) == 2;
}

/* Without the watch, which does not see what is started so. */
static till *
open_unwatched(test_db *db, cascade_mode mode)
{
    till *t = till_create(db, mode, asking, 2);

    t->w.wrap.before = NULL;
    t->w.wrap.after = NULL;
    t->w.wrap.answered = NULL;
    (void)till_engine(t);
    return t;
}

static void
close_unwatched(till *t)
{
    for (size_t i = 0; i < t->engine_count; i++) {
        db_close_engine(t->db, t->engine[i]);
        db_close_store(t->db, t->store[i]);
    }
    watch_fini(&t->w);
    free(t);
}

static void
what_it_asks_is_part_of_the_commit(test_db *db, cascade_mode mode)
{
    till *t = open_unwatched(db, mode);
    cascade_uuid paying;

    atomic_store(&t->fails, 2);
    t->id = db_start(t->store[0], "hear");
    paying = db_start(t->store[0], "pay");
    till_await(t, &paying, CASCADE_COMPLETED);
    till_until(t, both_have_heard, t);
    till_await(t, &t->id, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 1);
    assert_int_equal(atomic_load(&t->entered), 3);
    close_unwatched(t);
}
TILL_MODES(what_it_asks_is_part_of_the_commit)

static void
what_it_asks_in_vain_never_happens(test_db *db, cascade_mode mode)
{
    till *t = open_unwatched(db, mode);
    cascade_counts counts = {.size = sizeof(counts)};
    cascade_uuid paying;

    atomic_store(&t->fails, 100);
    t->id = db_start(t->store[0], "hear");
    paying = db_start(t->store[0], "pay");
    till_await(t, &paying, CASCADE_ERROR);
    assert_ok(cascade_counts_load(t->store[0], &counts));
    assert_int_equal(counts.running, 1);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(counts.completed, 0);
    assert_int_equal(counts.messages, 0);
    assert_int_equal(ledger_count(db, NULL), 0);
    close_unwatched(t);
}
TILL_MODES(what_it_asks_in_vain_never_happens)

static cascade_err
ask_too_much(cascade_node *node, void *user)
{
    till *t = user;
    const cascade_request_options waits = {.size = sizeof(waits),
                                           .wait_ms = 10};
    cascade_store *store = NULL;
    cJSON *answer = NULL;
    cascade_err err = cascade_node_store(node, &store);
    cascade_info *info = NULL;

    expect(err == CASCADE_OK);
    if (err != CASCADE_OK)
        return err;
    expect(cascade_wait(store, &t->id, 0, NULL) == CASCADE_ERR_MISUSE);
    expect(cascade_update(store, &t->id, "u", NULL, NULL, &answer) ==
           CASCADE_ERR_MISUSE);
    expect(cascade_cancel(store, &t->id, &waits) == CASCADE_ERR_MISUSE);
    expect(cascade_cancel(store, &t->id, NULL) == CASCADE_OK);
    expect(cascade_get(store, cascade_node_cascade_id(node), &info) ==
           CASCADE_OK);
    cascade_info_free(info);
    return till_pay(node, t);
}

/* A command that does not wait is sent; it takes effect with the commit. */
static void
what_waits_is_refused(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", ask_too_much, {.transactional = true}}, {"hear", hear, {0}}};
    till *t = till_create(db, CASCADE_MODE_THREADS, nodes, 2);
    cascade_uuid paying;

    (void)till_engine(t);
    t->id = db_start(t->store[0], "hear");
    paying = db_start(t->store[0], "pay");
    till_await(t, &paying, CASCADE_COMPLETED);
    till_await(t, &t->id, CASCADE_ERROR);
    assert_int_equal(ledger_count(db, NULL), 1);
    till_close(t, 2);
}

/* It is closed when the function has returned, and by nobody else. */
static cascade_err
close_it(cascade_node *node, void *user)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_err err = cascade_node_store(node, &store);
    cascade_started started;

    if (!expect(err == CASCADE_OK))
        return err;
    expect(cascade_store_close(store) == CASCADE_ERR_MISUSE);
    expect(cascade_engine_open(store, &options, &engine) != CASCADE_OK);
    expect(engine == NULL);
    err = cascade_start(store, "hear", NULL, NULL, &started);
    return err == CASCADE_OK ? till_pay(node, user) : err;
}

static void
it_belongs_to_the_node(test_db *db)
{
    static const till_node nodes[] = {
        {"pay", close_it, {.transactional = true}}, {"hear", hear, {0}}};
    till *t = till_create(db, CASCADE_MODE_INLINE, nodes, 2);
    cascade_uuid paying;

    t->w.wrap.before = NULL;
    t->w.wrap.after = NULL;
    t->w.wrap.answered = NULL;
    (void)till_engine(t);
    paying = db_start(t->store[0], "pay");
    till_await(t, &paying, CASCADE_COMPLETED);
    assert_int_equal(ledger_count(db, NULL), 1);
    close_unwatched(t);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        TILL_TESTS(what_it_asks_is_part_of_the_commit),
        TILL_TESTS(what_it_asks_in_vain_never_happens),
        {"it_belongs_to_the_node", it_belongs_to_the_node, STORES_FILES},
        {"what_waits_is_refused", what_waits_is_refused, STORES_FILES},
    };

    return stores_run("native_store", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
