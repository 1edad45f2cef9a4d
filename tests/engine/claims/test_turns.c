/* SPDX-License-Identifier: MIT
 *
 * Who is next: cascades of one priority take turns, however many executions of
 * one are ready, and ageing lets none starve behind a higher priority. What is
 * asserted is the order in which nodes are entered, by an engine that enters
 * one at a time.
 */
#include <string.h>

#include "support/stores.h"

#define LEAVES 120
#define FEW 3 /* nodes of others that one turn may have to wait for */
#define HOUR_MS (INT64_C(3600) * 1000)
#define LEAF_MS 1000 /* which a leaf takes, by the test's clock */

typedef struct turns {
    test_db *db;
    cascade_store *store;
    cascade_engine *engine;
    cascade_engine_options options;
    int leaf_priority;  /* of those that are spawned; 0: their cascade's */
    char entered[1024]; /* what was entered: a letter each */
    size_t count;
} turns;

static void
note(turns *t, char letter)
{
    assert_true(t->count < sizeof(t->entered) - 1);
    t->entered[t->count++] = letter;
}

static cascade_err
leaf(cascade_node *node, void *user)
{
    turns *t = user;

    note(t, cascade_node_input_text(node)[1]);
    if (t->db->fake_time)
        fake_clock_advance(&t->db->clock, LEAF_MS);
    return CASCADE_OK;
}

static cascade_err
small(cascade_node *node, void *user)
{
    (void)node;
    note(user, 's');
    return CASCADE_OK;
}

/* Comes back when the time is over. */
static cascade_err
sleeper(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    note(user, 's');
    err = cascade_node_sleep(node, "nap", LEAF_MS / 2);
    if (err == CASCADE_OK)
        note(user, 'S');
    return err;
}

static cascade_err
fails_once(cascade_node *node, void *user)
{
    note(user, cascade_node_attempt(node) == 1 ? 's' : 'S');
    return cascade_node_attempt(node) == 1 ? CASCADE_ERR_FAILED : CASCADE_OK;
}

static cascade_err
fan(cascade_node *node, void *user, const char *name)
{
    const turns *t = user;
    const cascade_spawn_options options = {.size = sizeof(options),
                                           .priority = t->leaf_priority};
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < LEAVES && err == CASCADE_OK; i++)
        err = cascade_node_spawn(
            node, name, cJSON_Duplicate(cascade_node_input(node), true),
            &options);
    return err;
}

static cascade_err
fan_out(cascade_node *node, void *user)
{
    return fan(node, user, "leaf");
}

static cascade_err
fan_out_paying(cascade_node *node, void *user)
{
    return fan(node, user, "pay");
}

/* The first commit of a leaf makes those that pay wait for it. */
static cascade_err
fan_out_both(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_spawn(
        node, "leaf", cJSON_Duplicate(cascade_node_input(node), true), NULL);

    return err == CASCADE_OK ? fan(node, user, "pay") : err;
}

static void
turns_open(turns *t, test_db *db)
{
    const cascade_node_options pays = {.size = sizeof(pays),
                                       .transactional = true};
    const cascade_node_options soon = {
        .size = sizeof(soon), .backoff_ms = 1, .jitter_percent = -1};

    t->db = db;
    t->options.size = sizeof(t->options);
    t->options.mode = CASCADE_MODE_INLINE;
    t->options.lease_ms = HOUR_MS;
    t->store = db_store(db);
    t->engine = db_engine(db, t->store, &t->options);
    assert_ok(cascade_engine_register(t->engine, "fan", fan_out, t, NULL));
    assert_ok(cascade_engine_register(t->engine, "leaf", leaf, t, NULL));
    assert_ok(cascade_engine_register(t->engine, "small", small, t, NULL));
    assert_ok(cascade_engine_register(t->engine, "sleeper", sleeper, t, NULL));
    assert_ok(
        cascade_engine_register(t->engine, "fails", fails_once, t, &soon));
    if (strcmp(db->backend->name, "memory") != 0) {
        assert_ok(cascade_engine_register(t->engine, "pays", fan_out_paying, t,
                                          NULL));
        assert_ok(
            cascade_engine_register(t->engine, "both", fan_out_both, t, NULL));
        assert_ok(cascade_engine_register(t->engine, "pay", leaf, t, &pays));
    }
    assert_ok(cascade_engine_start(t->engine));
}

static void
turns_start(const turns *t, const char *node, const char *input, int priority)
{
    const cascade_first first = {
        .size = sizeof(first), .node = node, .input_text = input};
    const cascade_start_options options = {.size = sizeof(options),
                                           .priority = priority};
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &first,
                                     .first_count = 1,
                                     .options = &options};
    cascade_started started;

    assert_ok(cascade_start_many(t->store, &spec, 1, &started));
}

/* Polls, one node at a time, until so many are ready. */
static void
until_ready(const turns *t, uint64_t count)
{
    for (int i = 0; db_stats(t->engine).ready < count; i++) {
        assert_true(i < 1000);
        assert_ok(cascade_engine_poll(t->engine, 1, NULL));
    }
}

/* The leaves of one cascade are ready, and none was entered. */
static void
turns_fan(turns *t, const char *node, const char *input, int priority)
{
    const uint64_t before = db_stats(t->engine).ready;

    turns_start(t, node, input, priority);
    if (before == 0)
        until_ready(t, LEAVES);
    t->count = 0;
}

/* Polls until `letter` was entered; gives how many were before. */
static size_t
until_entered(turns *t, char letter)
{
    const char *at = NULL;

    while (at == NULL && t->count < 4 * LEAVES) {
        assert_ok(cascade_engine_poll(t->engine, 1, NULL));
        t->entered[t->count] = '\0';
        at = strchr(t->entered, letter);
    }
    assert_non_null(at);
    return (size_t)(at - t->entered);
}

/* `other` is started when all leaves of `fan` are ready. */
static void
turns_meet(turns *t, test_db *db, const char *fan, const char *other,
           int priority)
{
    turns_open(t, db);
    turns_fan(t, fan, "\"a\"", 0);
    turns_start(t, other, "{}", priority);
}

/* ---- Turns -------------------------------------------------------------- */

static void
a_small_cascade_does_not_wait_for_a_fan_out(test_db *db)
{
    turns t = {.count = 0};

    turns_meet(&t, db, "fan", "small", 0);
    assert_in_range(until_entered(&t, 's'), 0, FEW);
}

static void
a_small_cascade_does_not_wait_for_transactions(test_db *db)
{
    turns t = {.count = 0};

    turns_meet(&t, db, "pays", "small", 0);
    assert_in_range(until_entered(&t, 's'), 0, FEW);
}

/* All those that pay have waited for the leaf's commit. */
static void
a_small_cascade_does_not_wait_for_what_has_waited(test_db *db)
{
    turns t = {.count = 0};

    turns_open(&t, db);
    turns_fan(&t, "both", "\"a\"", 0);
    assert_ok(cascade_engine_poll(t.engine, 2, NULL));
    assert_int_equal(t.count, 1);
    assert_int_equal(db_stats(t.engine).ready, LEAVES);
    turns_start(&t, "small", "{}", 0);
    assert_in_range(until_entered(&t, 's'), 0, FEW);
}

static void
a_priority_of_its_own_is_no_way_past_the_turns(test_db *db)
{
    turns t = {.leaf_priority = 5};

    turns_meet(&t, db, "fan", "small", 5);
    assert_in_range(until_entered(&t, 's'), 0, FEW);
}

static void
what_has_slept_takes_its_turn(test_db *db)
{
    turns t = {.count = 0};

    db->fake_time = true;
    turns_meet(&t, db, "fan", "sleeper", 0);
    assert_in_range(until_entered(&t, 's'), 0, FEW);
    t.count = 0;
    assert_in_range(until_entered(&t, 'S'), 0, FEW);
}

static void
what_is_tried_again_takes_its_turn(test_db *db)
{
    turns t = {.count = 0};

    db->fake_time = true;
    turns_meet(&t, db, "fan", "fails", 0);
    assert_in_range(until_entered(&t, 's'), 0, FEW);
    t.count = 0;
    assert_in_range(until_entered(&t, 'S'), 0, FEW);
}

/* Three of them: each is entered every third time. */
static void
fan_outs_take_turns(test_db *db)
{
    turns t = {.count = 0};

    turns_open(&t, db);
    turns_fan(&t, "fan", "\"a\"", 1);
    turns_start(&t, "fan", "\"b\"", 2); /* its first node, before any leaf */
    turns_start(&t, "fan", "\"c\"", 2);
    t.leaf_priority = 1;
    until_ready(&t, (uint64_t)3 * LEAVES - FEW);
    assert_ok(cascade_engine_poll(t.engine, 60, NULL));
    assert_true(t.count >= 60);
    for (size_t i = 12; i < t.count; i++)
        assert_int_equal(t.entered[i], t.entered[i - 3]);
    for (size_t i = 12; i < t.count; i++)
        assert_int_not_equal(t.entered[i], t.entered[i - 1]);
}

/* ---- Ageing ------------------------------------------------------------- */

static void
without_ageing_a_higher_priority_goes_first(test_db *db)
{
    turns t = {.count = 0};

    db->fake_time = true;
    turns_open(&t, db);
    turns_fan(&t, "fan", "\"a\"", 9);
    turns_start(&t, "small", "{}", 0);
    assert_int_equal(until_entered(&t, 's'), LEAVES);
}

/* It waits for nine levels, a leaf each. */
static void
what_waits_goes_up_by_ageing(test_db *db)
{
    turns t = {.options = {.priority_age_ms = LEAF_MS}};

    db->fake_time = true;
    turns_open(&t, db);
    turns_fan(&t, "fan", "\"a\"", 9);
    turns_start(&t, "small", "{}", 0);
    assert_in_range(until_entered(&t, 's'), 9, 9 + FEW);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_small_cascade_does_not_wait_for_a_fan_out",
         a_small_cascade_does_not_wait_for_a_fan_out, STORES_ALL},
        {"a_small_cascade_does_not_wait_for_transactions",
         a_small_cascade_does_not_wait_for_transactions, STORES_FILES},
        {"a_small_cascade_does_not_wait_for_what_has_waited",
         a_small_cascade_does_not_wait_for_what_has_waited, STORES_FILES},
        {"a_priority_of_its_own_is_no_way_past_the_turns",
         a_priority_of_its_own_is_no_way_past_the_turns, STORES_ALL},
        {"what_has_slept_takes_its_turn", what_has_slept_takes_its_turn,
         STORES_VIRTUAL},
        {"what_is_tried_again_takes_its_turn",
         what_is_tried_again_takes_its_turn, STORES_VIRTUAL},
        {"fan_outs_take_turns", fan_outs_take_turns, STORES_ALL},
        {"without_ageing_a_higher_priority_goes_first",
         without_ageing_a_higher_priority_goes_first, STORES_VIRTUAL},
        {"what_waits_goes_up_by_ageing", what_waits_goes_up_by_ageing,
         STORES_VIRTUAL},
    };

    return stores_run("turns", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
